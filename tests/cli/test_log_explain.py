from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.health.explaining import advice, gate_rows
from hybrid.operations.sessions import lines_of_event
from tests.support.builders import command_environment, default_config, hear_interrupts
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

UNCALIBRATED = {
    "reason": "gate",
    "threshold_source": "auto",
    "threshold": 0.29,
    "top_cosine": 0.2,
    "score": 0.2,
    "bar": None,
}
BEST = {"key": "src/a.py:1:2:aaaa", "cosine": None}
CLOSED = {"reason": "gate", "top_cosine": 0.41, "threshold": 0.25, "score": 0.2}
FITS = "How does the payment client retry?"
WINE = "Which wine goes with grilled salmon tonight?"


def test_log_shows_each_decision_newest_first(own_shop: Shop) -> None:
    """One line each: id, time, client, reason with the numbers of the gate, time taken, prompt, what was given or why not."""
    own_shop.hook(FITS, "--client", "claude")
    own_shop.hook(FITS, "--client", "claude")
    own_shop.hook("thanks a lot, that is all")
    own_shop.hook(WINE)

    lines = own_shop.out("log").splitlines()

    took = r" +\d+ ms  "
    patterns = [
        rf'manual    gate -?0\.\d\d/0\.\d\d {took}"{re.escape(WINE)}"',
        rf'manual    prompt {took}"thanks a lot, that is all"  \w+',
        rf'claude    same_topic 0\.\d\d/0\.\d\d {took}"{re.escape(FITS)}"',
        rf'claude    injected 0\.\d\d/0\.\d\d {took}"{re.escape(FITS)}"  src/payments/client\.py:4',
    ]
    stamp = r"[0-9a-f]{10}  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  "
    assert len(patterns) == len(lines)
    for pattern, line in zip(patterns, lines, strict=True):
        assert re.fullmatch(stamp + pattern, line), line
    assert 2 == len(own_shop.out("log", "--limit", "2").splitlines())
    assert ["gate", "prompt", "same_topic", "injected"] == [event["reason"] for event in own_shop.json("log")["events"]]


def test_log_shows_what_is_asked_for(own_shop: Shop) -> None:
    """Session, client, reason and age choose events; a choice that nothing meets ends with code 1."""
    own_shop.hook(FITS, "--client", "claude", session="s1")
    own_shop.hook(WINE, "--client", "codex", session="s2")

    def reasons(*args: str, **environ: str) -> list[str]:
        return [event["reason"] for event in own_shop.json("log", *args, **environ)["events"]]

    assert (
        ["injected"] == reasons("--session", "s1") == reasons("--client", "claude") == reasons("--reason", "injected")
    )
    assert ["gate"] == reasons("--session", CLAUDE_CODE_SESSION_ID="s2")
    assert ["gate", "injected"] == reasons("--since", "1h")
    assert "No such event was recorded.\n" == own_shop.out("log", "--reason", "budget", code=1)
    assert {"events": []} == own_shop.json("log", "--since", "0s", code=1)


def test_log_follows_what_comes(own_shop: Shop) -> None:
    """`--follow` shows the last events oldest first, then each new one once, until it is interrupted."""
    own_shop.hook(FITS, session="s1")
    own_shop.hook(WINE, session="s2")
    command = [sys.executable, "-m", "hybrid", "log", "--follow", "--limit", "1"]
    environ = command_environment(own_shop.home) | {"HOME": str(own_shop.home / "user")}
    with subprocess.Popen(
        command, cwd=own_shop.root, env=environ, stdout=subprocess.PIPE, preexec_fn=hear_interrupts
    ) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline().decode()]
        own_shop.hook("thanks a lot, that is all", session="s3")
        own_shop.hook(FITS, session="s1")
        shown += [process.stdout.readline().decode() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        left, _ = process.communicate(timeout=120)

    assert ["gate", "prompt", "same_topic"] == [line.split()[4] for line in shown]
    assert (0, b"") == (process.returncode, left)


PARTS = {"cosine": 0.422, "null": -0.051, "lexical": 0.06, "names": 0.0, "chat": -0.2, "probe": 0.03}


@cases("events/gates.txt")
def test_the_gate_in_words(case: Case) -> None:
    """What was compared and, for a calibrated gate, each part that changed something; a near miss gets more digits."""
    assert case.expected == "\n".join(" | ".join(row) for row in gate_rows(case.given()))


def test_explain_tells_the_passages_of_a_bug_report(own_shop: Shop) -> None:
    """A prompt that was searched for by its title shows which passages stand below it; others have no such line."""
    report = "The payment client retries a request too often\n\n```python\nClient().retry()\n```\n\nIt worked before."
    own_shop.hook(report)
    told = own_shop.out("explain")
    passages = own_shop.json("explain")["event"]["passages"]
    own_shop.hook(FITS)

    assert "  by title   its first line counts most; the prompt has 2 prose, 1 code\n" in told
    assert {"prose": 2, "code": 1} == passages
    assert "by title" not in own_shop.out("explain")


def test_explain_of_an_event_of_an_earlier_version() -> None:
    """A line that has no score compared the raw top cosine."""
    event = {"id": "a1", "reason": "gate", "top_cosine": 0.21, "threshold": 0.29, "threshold_source": "auto"}

    assert "  gate       raw top cosine 0.2100, opens from 0.29 (auto)" in lines_of_event(event)


def test_before_the_first_prompt_there_is_nothing(shop: Shop) -> None:
    """Without events both commands say so with code 1; the JSON forms keep their keys."""
    assert "Nothing was recorded yet.\n" == shop.out("log", code=1) == shop.out("explain", code=1)
    assert {"events": []} == shop.json("log", code=1)
    assert {"event": None, "advice": []} == shop.json("explain", code=1)


def test_explain_of_a_closed_gate_tells_what_would_have_opened_it(own_shop: Shop) -> None:
    """By how much it missed which bar, a raw threshold that opens it (and does), a mark, and the best candidate."""
    own_shop.hook(WINE)
    event = own_shop.json("explain")["event"]

    shown = own_shop.out("explain")

    missed = event["threshold"] - event["score"]
    assert f"It missed by {missed:.2f} what {event['bar']} may reach here by chance." in shown
    assert f"`hybrid mark {event['id']} good`" in shown
    found = re.search(r"`hooks\.gate_threshold` of (-?0\.\d\d) or less would have opened it", shown)
    assert found, shown
    assert re.search(r"The best candidate it held back: \S+:\d+-\d+ .*\(cosine 0\.\d+\)\.", shown)
    opened = own_shop.run("context", WINE, "--gate-threshold", found.group(1), "--json")
    assert "gate" != json.loads(opened.stdout)["reason"]


def test_explain_names_when_the_same_was_given(own_shop: Shop) -> None:
    """For a repeated topic and for results that were all seen, the earlier event is named and how to get them again."""
    own_shop.hook(FITS)
    first = own_shop.json("log")["events"][0]["id"]
    own_shop.hook(FITS)
    same = own_shop.out("explain")
    own_shop.hook("How does the payment client retry a charge request after a timeout?")
    after = own_shop.json("log")["events"][0]["reason"]
    seen = own_shop.out("explain")

    assert f"src/payments/client.py:4 (`hybrid explain {first}`)." in same
    assert "--no-dedup" in same
    assert after in ("all_seen", "same_topic")
    assert f"`hybrid explain {first}`" in seen


def test_explain_names_what_else_the_topic_had(own_shop: Shop) -> None:
    """A hit that the first answer had no room for is named when the same prompt comes again."""
    own_shop.out("config", "set", "hooks.content_mode", "full")
    own_shop.out("config", "set", "hooks.budget", "30")
    own_shop.hook(FITS)
    own_shop.hook(FITS)

    shown = own_shop.out("explain", "--last")

    assert re.search(r"1 seen, 1 topic\n {13}\S+:\d+:\d+\n", shown)


def test_explain_names_what_the_agent_read_itself(own_shop: Shop) -> None:
    """A part that the agent's own tool showed it is named with its lines, marked as read, and with the setting."""
    path = "src/payments/client.py"
    event = {
        "session_id": "s1",
        "cwd": str(own_shop.root),
        "tool_name": "Read",
        "tool_input": {"file_path": str(own_shop.root / path)},
        "tool_response": {"type": "text", "file": {"content": (own_shop.root / path).read_text(), "startLine": 1}},
    }
    command = ("hook", "run", "--client", "claude", "--event", "PostToolUse")
    own_shop.out(*command, stdin=json.dumps(event).encode(), HYBRID_DAEMON_ENABLED="false")
    own_shop.hook(FITS, "--client", "claude")

    shown = own_shop.out("explain", "--last")

    assert re.search(
        rf"  held back  .*\b2 read\b.*\n {{13}}{path}:1:22 \(read\)\n {{13}}{path}:25:33 \(read\)\n", shown
    )


def test_explain_names_the_rule_that_silenced_a_prompt(own_shop: Shop) -> None:
    """Each rule about prompts comes with the setting, or the wording, that would have let it through."""
    expected = {
        "caching please": "One plain word says too little",
        "please go on with the next step then": "It is a turn of the conversation: name the file",
        "Where is the retry of payments? [no-hybrid]": "It holds `[no-hybrid]`: leave that out.",
        "<task-notification>x</task-notification>": "The client made it, nobody typed it",
    }
    for prompt, advice_of_it in expected.items():
        own_shop.hook(prompt)

        assert advice_of_it in own_shop.out("explain")


@pytest.mark.parametrize("kept", ["hash", "none"])
def test_a_prompt_that_was_not_kept_is_not_shown(own_shop: Shop, kept: str) -> None:
    """`log` and `explain` show its digest where `privacy.log_prompts` keeps one, and never a word of it."""
    own_shop.hook(FITS, HYBRID_PRIVACY_LOG_PROMPTS=kept)
    digest = own_shop.json("log")["events"][0]["prompt_digest"]
    log, explained = own_shop.out("log"), own_shop.out("explain")

    assert FITS not in log + explained
    assert (kept == "hash") == (digest is not None) == (f"  prompt {digest}  " in log)
    assert f"  prompt     not kept{f' (digest {digest})' if digest else ''}\n" in explained


def test_explain_finds_an_event_by_the_beginning_of_its_id(own_shop: Shop) -> None:
    """Also an earlier one; an unknown id ends with code 1."""
    own_shop.hook(FITS)
    own_shop.hook("thanks a lot, that is all")
    first = own_shop.json("log")["events"][1]

    assert first == own_shop.json("explain", first["id"][:8])["event"]
    assert "No event ffffffffff.\n" == own_shop.out("explain", "ffffffffff", code=1)
    assert {"event": None, "advice": []} == own_shop.json("explain", "ffffffffff", code=1)


def test_explain_names_settings_and_commands(own_shop: Shop) -> None:
    """Budget, floor, a missing index, a switch and an error each come with what to set or type."""
    own_shop.hook(FITS, HYBRID_HOOKS_BUDGET="4")
    budget = own_shop.json("explain")
    own_shop.hook(FITS, HYBRID_DISABLE="1")
    disabled = own_shop.json("explain")
    own_shop.out("hook", "inject-context", stdin=b"not json")
    error = own_shop.json("explain")

    assert "budget" == budget["event"]["reason"]
    assert "`hooks.budget` (150 lines)" in budget["advice"][0]
    assert ["Take HYBRID_DISABLE out of the environment that the client was started in."] == disabled["advice"]
    assert ["`hybrid doctor` looks for the cause."] == error["advice"]


def test_explain_of_a_project_without_an_index_names_the_command(new_project: Shop) -> None:
    """Without an index the advice is the command that makes one."""
    new_project.hook(FITS)

    assert "  try        Run `hybrid reindex`; then ask again." in new_project.out("explain")


@cases("events/advice.txt")
def test_advice_names_what_decides(tmp_path: Path, case: Case) -> None:
    """For each reason: the setting, option or command that would have changed it; nothing for what needs no change."""
    expected, found = case.json(), advice(case.given(), [], default_config(tmp_path))

    assert len(expected) == len(found)
    assert all(part in line for part, line in zip(expected, found, strict=True)), found


@pytest.mark.parametrize(
    ("parts", "said"), [({"reader": 0.1}, " times 0.4, since the reader judges too,"), ({"cosine": 0.1}, "")]
)
def test_the_bar_of_records_that_were_read_is_a_share(tmp_path: Path, parts: dict[str, float], said: str) -> None:
    """A reader takes a share of the rate of its kind; without one the rate alone sets the bar."""
    event = CLOSED | {"bar": "talk", "kinds": {"lessons": CLOSED | {"bar": "tasks", "parts": parts}}}
    found = advice(event, [], default_config(tmp_path))

    assert any(f"`lessons.max_other_task_rate` (0.15){said} sets that bar" in line for line in found)


def test_all_seen_names_every_event_that_gave_a_result(tmp_path: Path) -> None:
    """Results that were given at different times are traced to each of those events, the newest first."""
    item = {"path": "a.py", "start_line": 1}
    earlier = [
        {"id": "e3", "at": "2026-11-22T10:00:03", "items": [item | {"key": "b.py:1:2:bbbb"}]},
        {"id": "e2", "at": "2026-11-22T10:00:02", "items": [item | {"key": "moved.py:4:5:aaaa"}]},
        {"id": "e1", "at": "2026-11-22T10:00:01", "items": [item | {"key": "c.py:1:2:cccc"}]},
    ]
    held = [{"key": "a.py:1:2:aaaa", "reason": "seen"}, {"key": "b.py:1:2:bbbb", "reason": "seen"}]

    found = advice({"reason": "all_seen", "held_back": held}, earlier, default_config(tmp_path))

    assert ["e3", "e2"] == [line.rsplit("`hybrid explain ", 1)[1].rstrip("`).") for line in found[:-1]]


def test_each_project_shows_its_own_events(own_shop: Shop, tmp_path: Path) -> None:
    """Outside of a project `log` shows what belongs to none; a hook that had no time left its directory alone."""
    log = own_shop.home / "log" / "events.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    late = {"at": "2026-01-01T00:00:00+00:00", "client": "claude", "reason": "error", "error": "not done after 1.5 s"}
    lines = [
        late | {"id": "aaaaaaaaaa", "cwd": str(own_shop.root / "src")},
        late | {"id": "bbbbbbbbbb", "cwd": str(tmp_path / "elsewhere")},
        late | {"id": "cccccccccc", "project": "0123456789abcdef"},
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outside = tmp_path / "outside"
    outside.mkdir()
    here, none, every = (
        [event["id"][0] for event in own_shop.json("log", *options, cwd=cwd)["events"]]
        for options, cwd in (((), own_shop.root), ((), outside), (("--all",), outside))
    )

    assert (["a"], ["b", "a"], ["c", "b", "a"]) == (here, none, every)
    assert 1 == own_shop.json("status")["health"]["consecutive_failures"]


def test_the_text_of_an_injection_is_shown_as_the_agent_saw_it(own_shop: Shop) -> None:
    """Whole, with its frame; a silence has none, and what is forgotten is gone."""
    given = own_shop.hook(FITS)
    own_shop.hook(WINE)

    own_shop.out("explain", "--text", code=1)
    shown = next(event["id"] for event in own_shop.json("log")["events"] if event["reason"] == "injected")
    assert given == own_shop.out("explain", shown, "--text").rstrip("\n")

    own_shop.out("projects", "forget", "shop")
    assert not (own_shop.home / "log" / "given.jsonl").read_text(encoding="utf-8")


def test_what_became_of_it_is_shown(own_shop: Shop) -> None:
    """By the decision and in the status, once the turn has ended."""
    own_shop.hook(FITS, "--client", "claude")
    assert "outcome" not in own_shop.out("explain")
    assert not own_shop.json("status")["use"]["by_day"]
    read = {"tool_name": "Read", "tool_input": {"file_path": "src/payments/client.py"}, "tool_response": "x"}
    for name, fields in (("PostToolUse", read), ("Stop", {})):
        event = {"session_id": "s1", "cwd": str(own_shop.root), "hook_event_name": name, **fields}
        own_shop.out("hook", "inject-context", "--client", "claude", "--event", name, stdin=json.dumps(event).encode())

    assert "  outcome    opened src/payments/client.py" in own_shop.out("explain")
    assert 1 == own_shop.json("status")["use"]["by_kind"]["code"]["used"]
