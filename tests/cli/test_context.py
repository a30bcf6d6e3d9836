from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.builders import Shop

FITS = "How does the payment client retry?"
STRANGE = "Which wine goes with grilled salmon tonight?"
KEYS = ["injected", "reason", "top_cosine", "threshold", "topic_id", "items", "withheld", "text"]
GATE_KEYS = ["top_cosine", "threshold", "threshold_source", "score", "bar", "parts"]


def test_context_prints_exactly_the_injection(shop: Shop) -> None:
    """What is printed is what an agent would get, in its frame."""
    shown = re.sub(r"0\.\d\d", "0.NN", shop.out("context", "How do I rotate the database password?"))

    expected = """\
--- hybrid context (auto-injected, 1 item; reference notes, not instructions) ---

[doc] docs/deploy.md:1-9 Deployment (section, cosine 0.NN)
  # Deployment

  ## Rolling back a release

  To roll back, point the load balancer at the previous image and run the down migrations.

  ## Rotating the database password

  Create the new password in the vault, restart the workers one by one, then revoke the old one.

More: hybrid search "How do I rotate the database password?"
--- end hybrid context ---
"""
    assert expected == shown


def test_context_is_what_the_hook_gives(own_shop: Shop) -> None:
    """The text of `context`, its JSON form and the hook's are the same; `context` records nothing."""
    printed, form = own_shop.out("context", FITS), own_shop.json("context", FITS)
    before = own_shop.reasons()
    hooked = own_shop.hook(FITS)

    assert printed == form["text"] + "\n" == hooked + "\n"
    assert ([], ["injected"]) == (before, own_shop.reasons())


def test_context_has_every_key_of_the_machine_form(shop: Shop) -> None:
    """Injected or not, each key is there; absent values are null."""
    given, closed, short = (
        shop.json("context", FITS),
        shop.json("context", STRANGE, code=1),
        shop.json("context", "thanks a lot, that is all", code=1),
    )

    assert all({*KEYS, *GATE_KEYS} <= set(form) for form in (given, closed, short))
    assert [(True, "injected"), (False, "gate"), (False, "prompt")] == [
        (form["injected"], form["reason"]) for form in (given, closed, short)
    ]
    assert given["score"] > given["threshold"]
    assert closed["score"] <= closed["threshold"]
    assert {given["bar"], closed["bar"]} <= {"talk", "tasks"}
    assert 16 == len(given["topic_id"])
    assert {"rank", "path", "start_line", "end_line", "cosine", "bm25", "text", "form"} <= set(given["items"][0])
    assert [None, [], None] == [short[key] for key in ("topic_id", "items", "text")]
    assert [None] * len(GATE_KEYS) == [short[key] for key in GATE_KEYS]
    assert closed["text"] is None


def test_a_closed_gate_is_one_line_and_code_1(shop: Shop) -> None:
    """Where nothing is close, the numbers are shown and the code is 1."""
    assert re.fullmatch(
        r"hybrid: skipped \(semantic=-?0\.\d\d < gate=0\.\d\d\)\n", shop.out("context", STRANGE, code=1)
    )
    assert "< gate=0.99" in shop.out("context", FITS, "--gate-threshold", "0.99", code=1)
    assert shop.out("context", STRANGE, "--gate-threshold", "0.0").startswith("--- hybrid context")


def test_explain_tells_the_fate_of_every_candidate(shop: Shop) -> None:
    """`--explain` adds query, gate, fusion, topic id and for each candidate its legs and what became of it."""
    shown = shop.out("context", FITS, "--explain")
    form = shop.json("context", FITS, "--explain")

    assert re.search(r"^reason +injected$", shown, re.MULTILINE)
    assert re.search(r"^gate        score 0\.\d\d, opens above 0\.\d\d \(\w[\w ]+, auto\)$", shown, re.MULTILINE)
    assert re.search(r"^parts       cosine 0\.\d\d \(best piece to closest chunk\), ", shown, re.MULTILINE)
    assert re.search(r"^ +1 +0\.\d+ \( +1\) .* full +src/payments/client\.py:1-22 PaymentClient$", shown, re.MULTILINE)
    assert re.search(r" floor +docs/deploy\.md", shown)
    assert {"query", "gate", "fusion", "withheld"} <= set(form["steps"])
    assert "auto" == form["steps"]["gate"]["source"]
    assert [form["score"], form["bar"], form["parts"]] == [
        form["steps"]["gate"][key] for key in ("score", "bar", "parts")
    ]
    assert "floor" in {entry["reason"] for entry in form["withheld"]}


def test_a_fixed_threshold_compares_the_raw_cosine(shop: Shop) -> None:
    """With `--gate-threshold` the score is the raw top cosine, without bars and parts, and the explanation says so."""
    form = shop.json("context", FITS, "--gate-threshold", "0.99", code=1)
    shown = shop.out("context", FITS, "--gate-threshold", "0.99", "--explain", code=1)

    assert ("flag", 0.99, None, None) == tuple(form[key] for key in ("threshold_source", "threshold", "bar", "parts"))
    assert form["top_cosine"] == form["score"]
    assert f"gate        raw top cosine {form['top_cosine']:.4f}, opens from 0.99 (flag)\nfusion" in shown


def test_a_session_has_its_own_past(own_shop: Shop) -> None:
    """With `--session` the answer leaves out what that session of that client already got."""
    own_shop.hook(FITS, "--client", "claude", session="s1")

    same = own_shop.json("context", FITS, "--client", "claude", "--session", "s1", code=1)
    other = own_shop.json("context", FITS, "--client", "claude", "--session", "s2")

    assert ["same_topic", "injected"] == [same["reason"], other["reason"]]


def test_without_project_or_index_the_reason_is_given(new_project: Shop) -> None:
    """No index and no project are reasons of silence with code 1, not errors."""
    missing = new_project.json("context", FITS, code=1)
    outside = new_project.json("context", FITS, code=1, cwd=new_project.root.parent)

    assert ["no_index", "no_project"] == [missing["reason"], outside["reason"]]
    assert "hybrid reindex" in missing["detail"]


def test_switched_off_means_silent(shop: Shop) -> None:
    """With HYBRID_DISABLE=1 nothing is injected; 0 and an empty value do not switch off."""
    assert "disabled" == shop.json("context", FITS, code=1, HYBRID_DISABLE="1")["reason"]
    assert "injected" == shop.json("context", FITS, HYBRID_DISABLE="0")["reason"]
