"""An agent that searches in vain, or whose command fails in the project, is given places: seldom, and once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.answer.need import trouble_of, words_of
from hybrid.session.ledger import LedgerStore
from hybrid.types import HookEvent
from tests.support.records import Talk, headers, ids, new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.answer.events import Reply

CLIENT = "src/payments/client.py"
STORE = "src/users/store.py"
TRACE = """Traceback (most recent call last):
  File "/tmp/shop/src/payments/client.py", line 22, in retry
    return self.session.post("/charges", request)
ConnectionError: the provider is not there"""


@pytest.fixture
def again(talk: Talk) -> Talk:
    """The session, which is given again what it has: a small project has few topics."""
    return replace(talk, flags={**talk.flags, "hooks.dedup_enabled": False})


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A session in the project of payments, with an index, an open gate, and help on need."""
    return new_talk(tmp_path, {}, is_indexed=True, hooks_gate_threshold=0.0, hooks_on_need=True)


def grep(talk: Talk, pattern: str, *found: str, **fields: Any) -> Reply:
    """A search by the agent's tool, recorded."""
    given = {"pattern": pattern, "output_mode": "files_with_matches"}
    answer = {"mode": "files_with_matches", "filenames": list(found), "numFiles": len(found)}
    return talk.tell("PostToolUse", tool="Grep", tool_input=given, tool_response=answer, **fields)


def fail(talk: Talk, output: str, command: str = "pytest -q") -> Reply:
    """A command that failed, recorded."""
    return talk.tell("PostToolUse", tool="Bash", tool_input={"command": command}, error=f"Exit code 1\n{output}")


def in_need(talk: Talk, about: str = "resend") -> Reply:
    """Two searches in vain; returns the answer to the second one."""
    grep(talk, f"{about}_charge")
    return grep(talk, f"{about}.*timeout|{about}_attempt")


def test_the_second_search_in_vain_brings_places(talk: Talk) -> None:
    """The first one brings nothing; the second one brings a few places without text."""
    first = grep(talk, "resend_charge")
    second = grep(talk, "repeatPayment.*timeout")

    assert ("ignored", "") == (first.decision.reason, first.text)
    assert ("injected", "search") == (second.decision.reason, second.decision.need)
    assert CLIENT in ids(second)
    assert {"pointer"} == {item.form for item in second.decision.items}
    assert "def " not in second.text
    assert "Nearest to what was searched for in vain\n[code] " in second.text


def test_the_log_tells_why(talk: Talk) -> None:
    """The line in the log says that nobody asked."""
    in_need(talk)

    line = talk.log()[-1]
    assert ("PostToolUse", "search", "injected") == (line["event"], line["need"], line["reason"])


def test_what_the_prompt_was_given_is_not_repeated(talk: Talk) -> None:
    """A file that the session has, in whatever form, is no help."""
    given = ids(talk.ask("How does the payment client retry a charge request after a timeout?"))
    reply = in_need(talk)

    assert CLIENT in given
    assert CLIENT not in ids(reply)


def test_a_file_that_was_opened_is_no_help(talk: Talk) -> None:
    """The agent knows a file of which a tool showed it a line."""
    text = (talk.root / CLIENT).read_text().split("\n")
    file = {"filePath": str(talk.root / CLIENT), "content": "\n".join(text[:8]), "startLine": 1, "numLines": 8}
    given = {"file_path": str(talk.root / CLIENT)}
    talk.tell("PostToolUse", tool="Read", tool_input=given, tool_response={"type": "text", "file": file})
    reply = in_need(talk)

    assert CLIENT not in ids(reply)


def test_a_search_with_a_result_is_no_need(talk: Talk) -> None:
    """What found something does not count, however often."""
    replies = [grep(talk, "retry", CLIENT) for _ in range(3)]

    assert {"ignored"} == {reply.decision.reason for reply in replies}
    assert talk.ledger().in_vain == ()


def test_the_same_search_again_is_no_second_one(talk: Talk) -> None:
    """A search that is repeated counts once."""
    grep(talk, "resend_charge")

    assert "ignored" == grep(talk, "resend_charge").decision.reason


def test_a_failure_that_names_the_project(talk: Talk) -> None:
    """The places that the output names are given at once, and nothing else."""
    reply = fail(talk, TRACE)

    assert ("injected", "failure") == (reply.decision.reason, reply.decision.need)
    assert [CLIENT] == ids(reply)
    assert all(" (" in line for line in headers(reply))


@pytest.mark.parametrize(
    "output",
    [
        "error: externally-managed-environment\n\nTo install packages system-wide, use apt install python3-xyz",
        'Traceback (most recent call last):\n  File "/usr/lib/python3/dist-packages/pip/cli.py", line 3, in main\nOSError',
    ],
)
def test_a_failure_of_something_else_is_silent(talk: Talk, output: str) -> None:
    """A command that fails outside of the project is no need, though its words may be near to something."""
    reply = fail(talk, output)

    assert ("unnamed", "") == (reply.decision.reason, reply.text)


def test_twice_a_turn_at_most(again: Talk) -> None:
    """A third need in a turn is silent; the next prompt begins a new turn, also after an interrupted one."""
    helped = [in_need(again, about).decision.reason for about in ("resend", "mailbox")]
    third = grep(again, "vault_password").decision.reason, grep(again, "worker_restart").decision.reason
    again.ask("And how do we roll back a release with the down migrations?")

    assert ["injected", "injected"] == helped
    assert ("ignored", "ignored") == third
    assert 0 == again.ledger().n_helped


def test_it_backs_off_while_help_goes_unused(again: Talk) -> None:
    """After a turn in which nobody looked at the files the next need is passed over, and the one after it is not."""
    in_need(again)
    again.stop("Nothing found.")
    passed = in_need(again, "mailbox").decision
    spoken = in_need(again, "address").decision.reason

    assert ("unused", "search") == (passed.reason, passed.need)
    assert "injected" == spoken
    assert "unused" in [line["reason"] for line in again.log()]


def test_help_that_was_used_keeps_it_speaking(talk: Talk) -> None:
    """A tool that shows one of the files before the turn ends makes the help used."""
    first = in_need(talk)
    path = ids(first)[0]
    file = {"filePath": str(talk.root / path), "content": (talk.root / path).read_text(), "startLine": 1}
    given = {"file_path": str(talk.root / path)}
    talk.tell("PostToolUse", tool="Read", tool_input=given, tool_response={"type": "text", "file": file})
    talk.stop("Found it.")

    assert 0 == talk.ledger().n_unused
    assert "unused" != in_need(talk, "mailbox").decision.reason


def test_the_pause_grows_with_every_unused_help(talk: Talk) -> None:
    """One need is passed over after the first unused help, three after the second."""
    ledgers, key = talk.workspace().ledgers, talk.reply("Stop").turn.key
    n_passed: list[int] = []
    for _ in range(3):
        n = 0
        while ledgers.read(key).is_backing_off:
            ledgers.note_need(key, [])
            n += 1
        n_passed.append(n)
        ledgers.note_need(key, [CLIENT])
        ledgers.stop(key)

    assert [0, 1, 3] == n_passed


def test_a_subagent_has_needs_of_its_own(talk: Talk) -> None:
    """Searches of a subagent do not add up with those of the main conversation."""
    grep(talk, "resend_charge")

    assert "ignored" == grep(replace(talk, agent_id="a7"), "repeatPayment").decision.reason


def test_a_private_turn_is_left_alone(talk: Talk) -> None:
    """For a prompt with `[no-hybrid]` nothing is searched, given or noted."""
    talk.ask("[no-hybrid] find the retry of a charge")
    reply = in_need(talk)

    assert ("ignored", ()) == (reply.decision.reason, talk.ledger().in_vain)


def test_it_can_be_switched_off(talk: Talk) -> None:
    """`hooks.on_need` off gives nothing and notes nothing of searches."""
    off = {"hooks_on_need": False}
    replies = [grep(talk, pattern, flags=off) for pattern in ("resend_charge", "repeatPayment.*timeout")]

    assert {"ignored"} == {reply.decision.reason for reply in replies}
    assert (0, ()) == (talk.ledger().n_helped, talk.ledger().in_vain)


@pytest.mark.parametrize("is_on", [True, False])
def test_a_use_that_went_well_waits_for_nothing(talk: Talk, monkeypatch: pytest.MonkeyPatch, is_on: bool) -> None:
    """Before its answer such a use reads no ledger and holds none, with and without the setting."""
    work: list[str] = []
    for name in ("read", "hold"):
        monkeypatch.setattr(LedgerStore, name, lambda *_, name=name, **__: work.append(name))
    flags = {"hooks_on_need": is_on}
    given = {"pattern": "retry", "output_mode": "files_with_matches"}
    talk.reply("PostToolUse", flags=flags, tool="Grep", tool_input=given, tool_response={"filenames": [CLIENT]})
    talk.reply("PostToolUse", flags=flags, tool="Bash", tool_input={"command": "ls"}, tool_response={"stdout": "src"})
    talk.reply("PostToolUse", flags=flags, tool="Edit", tool_input={"file_path": CLIENT}, error="no such text")

    assert [] == work


# --- what counts as a trouble -----------------------------------------------------------------------------


def trouble(client: str, tool: str, given: object, answer: object, error: str = "") -> tuple[str, str] | None:
    """Cause and text of the trouble of a use."""
    event = HookEvent(client, "PostToolUse", "s1", "", "/shop", "")
    used = {"tool": tool, "tool_input": given, "tool_response": answer, "error": error}
    fields = {name: getattr(event, name) for name in HookEvent.__struct_fields__} | used
    found = trouble_of(HookEvent(**fields))
    return (found.cause, found.text) if found else None


@pytest.mark.parametrize(
    ("client", "tool", "given", "answer", "error"),
    [
        ("claude", "Grep", {"pattern": "max_tries"}, {"mode": "content", "filenames": [], "numFiles": 0}, ""),
        ("claude", "Grep", {"pattern": "max_tries"}, {"content": "No files found"}, ""),
        ("claude", "Glob", {"pattern": "**/max_tries*"}, {"filenames": [], "numFiles": 0, "truncated": False}, ""),
        ("claude", "Bash", {"command": "rg max_tries src"}, None, "Exit code 1"),
        ("claude", "Bash", {"command": "grep -rn 'max_tries' . | head"}, {"stdout": "", "stderr": ""}, ""),
        ("codex", "Bash", {"command": ["bash", "-lc", "rg -n max_tries"]}, "", ""),
        (
            "gemini",
            "search_file_content",
            {"pattern": "max_tries"},
            {"llmContent": 'No matches found for pattern "max_tries" in path "."', "returnDisplay": "No matches found"},
            "",
        ),
        (
            "qwen",
            "run_shell_command",
            {"command": "git grep -n max_tries"},
            {"llmContent": "Command: git grep\nOutput: (empty)\nError: (none)\nExit Code: 1\nProcess Group PGID: 7"},
            "",
        ),
        (
            "copilot",
            "bash",
            {"command": "find . -name '*max_tries*'"},
            {"resultType": "success", "textResultForLlm": "<shellId: 0 completed with exit code 0>"},
            "",
        ),
        ("opencode", "grep", {"pattern": "max_tries"}, {"output": "No files found", "exit": None}, ""),
        ("opencode", "bash", {"command": "rg max_tries"}, {"output": "", "exit": 1}, ""),
    ],
)
def test_searches_in_vain_of_every_client(client: str, tool: str, given: object, answer: object, error: str) -> None:
    """Empty output, the clients' own sentences and exit code 1 of a search all say that nothing was found."""
    assert ("search", "max_tries") == trouble(client, tool, given, answer, error)


@pytest.mark.parametrize(
    ("tool", "given", "answer", "error"),
    [
        ("Grep", {"pattern": "retry"}, {"content": "src/a.py:3:    retry()"}, ""),
        ("Grep", {"pattern": "("}, None, "regex parse error: unclosed group"),
        ("Bash", {"command": "rg '('"}, None, "Exit code 2\nregex parse error"),
        ("Bash", {"command": "mkdir build"}, {"stdout": "", "stderr": ""}, ""),
        ("Bash", {"command": "git push"}, None, "Exit code 1\nfatal: no upstream src/a.py"),
        ("Bash", {"command": "hybrid search retry"}, None, "Exit code 1\nNothing found in src/a.py"),
        ("Bash", {"command": "grep -rn '.*' ."}, {"stdout": ""}, ""),
        ("Read", {"file_path": "a.py"}, None, "File does not exist."),
    ],
)
def test_what_is_no_trouble(tool: str, given: object, answer: object, error: str) -> None:
    """Results, mistakes in a pattern, commands that print nothing, and tools of other kinds are no trouble."""
    assert trouble("claude", tool, given, answer, error) is None


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("concat_str.*sort", "concat_str sort"),
        (r"\bfn\s+retry\(", "fn retry"),
        ("**/test_*except*.py", "test_ except py"),
        (r"macro_rules! assert_\w+|Modules::", "macro_rules assert_ Modules"),
        ("[A-Z]{2,}.*", ""),
    ],
)
def test_words_of_a_pattern(pattern: str, words: str) -> None:
    """Words and names stay, what only patterns have goes."""
    assert words == words_of(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["https://bob:s3cr3tpwXY@host/x", "key ghp_" + "a1B2" * 9, "Authorization: Bearer s3cr3tabcdefghij0123456789"],
)
def test_a_search_for_a_secret_is_no_need(talk: Talk, pattern: str) -> None:
    """Words of it alone would not be known as a secret any more."""
    grep(talk, pattern)
    grep(talk, pattern)

    assert () == talk.ledger().in_vain
    assert not any(secret in str(talk.log()) for secret in ("s3cr3t", "a1B2"))


@pytest.mark.parametrize(
    "output", ["No files found.\n" * 12 + "src: E501", "no files " * 20 + "\nfoo", "No files found\nfoo"]
)
def test_an_output_is_read_line_by_line(output: str) -> None:
    """A line that says something else ends the look: nothing is tried again and again."""
    event = HookEvent.of(
        {"event": "PostToolUse", "tool": "Bash", "tool_input": {"command": "rg a"}, "tool_response": output}
    )

    assert trouble_of(event) is None


def test_a_foreign_failure_takes_no_turn_of_the_pause(talk: Talk) -> None:
    """Help went unused; a failure of something else is no need that could be passed over."""
    in_need(talk)
    talk.stop("Nothing found.")
    fail(talk, "npm ERR! network timeout at registry")

    assert 0 == talk.ledger().n_passed
