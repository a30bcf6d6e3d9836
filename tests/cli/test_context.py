from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.builders import Shop

FITS = "How does the payment client retry?"
STRANGE = "Which wine goes with grilled salmon tonight?"


def test_context_is_what_the_hook_gives(own_shop: Shop) -> None:
    """The text of `context`, its JSON form and the hook's are the same; `context` records nothing."""
    printed, form = own_shop.out("context", FITS), own_shop.json("context", FITS)
    before = own_shop.reasons()
    hooked = own_shop.hook(FITS)

    assert printed == form["text"] + "\n" == hooked + "\n"
    assert ([], ["injected"]) == (before, own_shop.reasons())


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
    gate = form["steps"]["gate"]
    assert [form["bar"], form["score"]] == [gate["bar"], round(gate["score"], 4)]
    assert form["parts"] == {name: round(value, 4) for name, value in gate["parts"].items()}
    assert "floor" in {entry["reason"] for entry in form["withheld"]}


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
