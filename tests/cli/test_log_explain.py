from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.builders import Shop

FITS = "How does the payment client retry?"


def test_log_shows_each_decision_newest_first(own_shop: Shop) -> None:
    """One line each: id, time, reason with the numbers of the gate, the prompt, and what was given or why not."""
    own_shop.hook(FITS)
    own_shop.hook(FITS)
    own_shop.hook("thanks a lot, that is all")
    own_shop.hook("Which wine goes with grilled salmon tonight?")

    lines = own_shop.out("log").splitlines()

    patterns = [
        r'gate 0\.\d\d/0\.\d\d  "Which wine goes with grilled salmon tonight\?"  ',
        r'prompt  "thanks a lot, that is all"  \w+',
        rf'same_topic 0\.\d\d/0\.\d\d  "{re.escape(FITS)}"  ',
        rf'injected 0\.\d\d/0\.\d\d  "{re.escape(FITS)}"  src/payments/client\.py:1, src/payments/client\.py:25',
    ]
    stamp = r"[0-9a-f]{10}  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d  "
    assert len(patterns) == len(lines)
    for pattern, line in zip(patterns, lines, strict=True):
        assert re.fullmatch(stamp + pattern, line), line
    assert 2 == len(own_shop.out("log", "--limit", "2").splitlines())
    assert ["gate", "prompt", "same_topic", "injected"] == [event["reason"] for event in own_shop.json("log")["events"]]


def test_log_of_another_project_is_shown_on_request(own_shop: Shop) -> None:
    """`log` shows this project's decisions, `--all` those of every project."""
    own_shop.hook(FITS)
    outside = {"cwd": str(own_shop.root.parent), "prompt": FITS}
    own_shop.out("hook", "inject-context", stdin=json.dumps(outside).encode())

    assert ["injected"] == [event["reason"] for event in own_shop.json("log")["events"]]
    assert ["no_project", "injected"] == [event["reason"] for event in own_shop.json("log", "--all")["events"]]


def test_explain_tells_the_last_decision_in_full(own_shop: Shop) -> None:
    """Reason in words, prompt, gate, each item with its numbers, what was held back, latency."""
    own_shop.hook(FITS, "--client", "claude")

    shown = own_shop.out("explain", "--last")
    form = own_shop.json("explain")["event"]

    assert f"{form['id']}  {form['at']}  injected" == shown.splitlines()[0]
    assert "The gate was open and these records fitted." == shown.splitlines()[1]
    assert "  client     claude (session s1)" in shown
    assert f"  prompt     {FITS}" in shown
    assert re.search(r"^  gate       raw top cosine 0\.\d+, opens from 0\.\d+ \(auto\)$", shown, re.MULTILINE)
    assert "  full       src/payments/client.py:1-22 PaymentClient" in shown
    assert "  held back  3 floor" in shown
    assert re.search(r"^  latency    \d+\.\d+ ms, \d+ bytes$", shown, re.MULTILINE)
    assert {
        "id",
        "at",
        "project",
        "client",
        "session",
        "reason",
        "top_cosine",
        "threshold",
        "topic_id",
        "items",
    } <= set(form)


def test_explain_finds_an_event_by_the_beginning_of_its_id(own_shop: Shop) -> None:
    """The beginning of an id from `log` is enough; an unknown one ends with code 1."""
    own_shop.hook(FITS)
    own_shop.hook("thanks a lot, that is all")
    first = own_shop.json("log")["events"][1]

    assert first == own_shop.json("explain", first["id"][:8])["event"]
    assert "No event ffffffffff.\n" == own_shop.out("explain", "ffffffffff", code=1)
    assert {"event": None} == own_shop.json("explain", "ffffffffff", code=1)


def test_before_the_first_prompt_there_is_nothing(shop: Shop) -> None:
    """Without events both commands say so with code 1; the JSON forms keep their keys."""
    assert "Nothing was recorded yet.\n" == shop.out("log", code=1) == shop.out("explain", code=1)
    assert {"events": []} == shop.json("log", code=1)
    assert {"event": None} == shop.json("explain", code=1)


def test_half_a_line_in_the_log_is_passed_over(own_shop: Shop) -> None:
    """A line that was cut by a crash, and bytes that are no text, hide no other event."""
    own_shop.hook(FITS)
    with (own_shop.home / "log" / "events.jsonl").open("ab") as log:
        log.write(b'\xff\xfe{"id": "1", "reason": "inj\n[]\n')
    own_shop.hook("thanks a lot, that is all")

    assert ["prompt", "injected"] == [event["reason"] for event in own_shop.json("log")["events"]]


def test_private_text_and_secrets_stay_out_of_the_log(own_shop: Shop) -> None:
    """Private spans, secrets and prompts that opted out are not kept; `log_prompts` hides the rest."""
    secret = "AKIA" + "Q3EXAMPLEKEY7ZZZ"
    own_shop.hook(f"thanks <private>hunter2</private> a lot {secret}")
    own_shop.hook(f"How does the payment client retry with {secret}? <private>hunter2</private>")
    own_shop.hook("How does the payment client keep the word swordfish? [no-hybrid]")
    own_shop.hook(FITS, HYBRID_PRIVACY_LOG_PROMPTS="hash")
    own_shop.hook(FITS, HYBRID_PRIVACY_LOG_PROMPTS="none")

    kept = (own_shop.home / "log" / "events.jsonl").read_text()
    prompts = [event["prompt"] for event in own_shop.json("log")["events"]]
    assert not any(word in kept for word in ("hunter2", secret, "swordfish"))
    assert (None, "sha256:") == (prompts[0], prompts[1][:7])
    assert "" == prompts[2]
