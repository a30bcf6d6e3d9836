from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import CHECKOUT, Shop

if TYPE_CHECKING:
    from pathlib import Path

FITS = "How does the payment client retry?"
OTHER = "How do I rotate the database password?"


def _state(shop: Shop) -> dict[str, Any]:
    return json.loads((shop.root / ".hybrid" / "hook_state.json").read_text())


def test_gate_state_and_dedup_of_one_session(own_shop: Shop) -> None:
    """A gate of 0.99 is silent, 0.0 injects and counts, the same prompt is silent, another injects, --no-dedup forces."""
    closed = own_shop.hook(FITS, "--gate-threshold", "0.99")
    untouched = (own_shop.root / ".hybrid" / "hook_state.json").exists()
    first = own_shop.hook(FITS, "--gate-threshold", "0.0")
    state = _state(own_shop)
    again = own_shop.hook(FITS, "--gate-threshold", "0.0")
    other = own_shop.hook(OTHER, "--gate-threshold", "0.0")
    forced = own_shop.hook(OTHER, "--gate-threshold", "0.0", "--no-dedup")

    assert ("", False, "") == (closed, untouched, again)
    assert first.startswith("--- hybrid context (auto-injected, 1 item; ")
    assert first.endswith("\n--- end hybrid context ---")
    assert "docs/deploy.md" in other
    assert other == forced
    assert ["gate", "injected", "same_topic", "injected", "injected"] == own_shop.reasons()
    assert 3 == _state(own_shop)["injection_count"]
    assert 1 == state["injection_count"]
    assert 16 == len(state["last_session_id"])
    assert {"src/payments/client.py": 1} == state["file_frequencies"]
    assert state["last_injected_chunks"] == list(state["chunk_frequencies"])
    first_key = state["last_injected_chunks"][0]
    assert first_key.startswith("src/payments/client.py:4:22:")
    assert {"count": 1, "file": "src/payments/client.py", "name": "retry"} == state["chunk_frequencies"][first_key]


def test_hot_topics_are_written_after_ten_injections(own_shop: Shop) -> None:
    """The tenth injection writes hot-topics.md; by hand it is written on request, and with --force at any time."""
    path = own_shop.root / ".hybrid" / "hot-topics.md"
    empty = own_shop.out("hook", "hot-topics", "--force")
    without_data = path.read_text()
    path.unlink()
    own_shop.hook(FITS, "--no-dedup")
    _count_on(own_shop, 7)
    own_shop.hook(FITS, "--no-dedup")
    after_nine = path.exists()
    own_shop.hook(FITS, "--no-dedup")
    after_ten = path.read_text()
    up_to_date = own_shop.out("hook", "hot-topics")
    form = own_shop.json("hook", "hot-topics", "--force")

    assert f"wrote {path}\n" == empty
    assert "Based on 0 context injections." in without_data
    assert not after_nine
    assert "Based on 10 context injections." in after_ten
    assert "| src/payments/client.py | retry | 10 |" in after_ten
    assert "| src/payments/client.py | 10 |" in after_ten
    assert f"{path} is up to date; --force writes it all the same\n" == up_to_date
    assert {"written": True, "path": str(path), "injection_count": 10} == form
    assert 10 == _state(own_shop)["hot_topics_generated_at"]


def _count_on(shop: Shop, n_more: int) -> None:
    """Let as many more have been like the one injection so far."""
    state = _state(shop)
    state["injection_count"] += n_more
    for key in state["file_frequencies"]:
        state["file_frequencies"][key] += n_more
    for entry in state["chunk_frequencies"].values():
        entry["count"] += n_more
    (shop.root / ".hybrid" / "hook_state.json").write_text(json.dumps(state))


def test_flags_shape_the_injection(shop: Shop) -> None:
    """Budget in lines and characters, content mode, format and length limit apply to this one call."""
    forced = ("--no-dedup", "--gate-threshold", "0.0")
    lines = shop.hook(FITS, *forced, "--budget", "10")
    chars = shop.hook(FITS, *forced, "--budget-chars", "500")
    headers = shop.hook(FITS, *forced, "--content-mode", "none")
    preview = shop.hook(FITS, *forced, "--content-mode", "preview")
    as_json = shop.hook(FITS, *forced, "--format", "json")
    as_xml = shop.hook(FITS, *forced, "--format", "xml")

    assert 0 < len(lines.splitlines()) <= 10
    assert 0 < len(chars) <= 500
    assert "def retry" not in headers
    assert "[code] src/payments/client.py:1-22 class PaymentClient" in headers
    assert "..." in preview
    assert json.loads(as_json)
    assert as_xml.startswith("<")
    assert "" == shop.hook(FITS, *forced, "--threshold", "0.5", HYBRID_DISABLE="1")


BAD_INPUT = {
    "empty": b"",
    "blank": b" \n\t ",
    "not JSON": b"hello",
    "half": b'{"prompt": "How does the pay',
    "array": b"[1, 2]",
    "number": b"7",
    "null": b"null",
    "text": b'"How does the payment client retry?"',
    "NUL bytes": b"\0" * 100,
    "deep": b"[" * 200_000,
    "huge": b"a" * 32_000_001,
}


def test_bad_input_is_silent_and_leaves_one_line_in_the_log(shop: Shop) -> None:
    """Input that is no event: code 0, no output, exactly one line in the log that says what was wrong."""
    for name, data in BAD_INPUT.items():
        before = len(shop.reasons())

        done = shop.run("hook", "inject-context", stdin=data)

        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr), name
        assert ["error"] == shop.reasons()[before:], name


def test_odd_input_is_tolerated(shop: Shop) -> None:
    """A byte order mark, invalid UTF-8, lone surrogates, NULs and wrong types of other fields do not matter."""
    root = json.dumps(str(shop.root)).encode()
    odd = {
        "byte order mark": b'\xef\xbb\xbf{"prompt": "%s", "cwd": %s}' % (FITS.encode(), root),
        "invalid UTF-8": b'{"prompt": "%s \xff\xfe", "cwd": %s}' % (FITS.encode(), root),
        "lone surrogates": b'{"prompt": "%s \\ud83d", "session_id": "\\udc00", "cwd": %s}' % (FITS.encode(), root),
        "NUL in the prompt": b'{"prompt": "%s \\u0000", "cwd": %s}' % (FITS.encode(), root),
        "wrong types": b'{"prompt": "%s", "session_id": 7, "agent_id": [], "cwd": %s}' % (FITS.encode(), root),
        "no directory": b'{"prompt": "%s"}' % FITS.encode(),
        "unknown fields": b'{"prompt": "%s", "cwd": %s, "new": {"a": [1]}}' % (FITS.encode(), root),
    }
    for name, data in odd.items():
        answer = json.loads(shop.out("hook", "inject-context", "--no-dedup", stdin=data))

        assert "PaymentClient" in answer["hookSpecificOutput"]["additionalContext"], name


def test_prompts_that_ask_for_nothing_are_silent(shop: Shop) -> None:
    """Wrong types, directories that are gone, NULs in them, and machine-made prompts give nothing, with code 0."""
    silent = [
        {"prompt": 5},
        {"prompt": None},
        {},
        {"prompt": FITS, "cwd": "/no/such/folder"},
        {"prompt": FITS, "cwd": "a\0b"},
        {"prompt": f"<system-reminder>{FITS}</system-reminder>"},
        {"prompt": f"<task-notification>{FITS}</task-notification>"},
        {"prompt": f"{FITS} [no-hybrid]"},
        {"prompt": "ok"},
        {"prompt": FITS, "hook_event_name": "PostCompact"},
    ]
    for fields in silent:
        assert "" == shop.out("hook", "inject-context", "--no-dedup", stdin=json.dumps(fields).encode()), fields


def test_the_session_of_the_environment_is_ignored(own_shop: Shop) -> None:
    """The session is the event's, whatever variables the client sets."""
    own_shop.hook(FITS, session="s1")

    again = own_shop.hook(FITS, session="s1", CLAUDE_SESSION_ID="s9", GEMINI_SESSION_ID="s9", HYBRID_SESSION_ID="s9")
    other = own_shop.hook(FITS, session="s2", CLAUDE_SESSION_ID="s1", SESSION_ID="s1")

    assert "" == again
    assert other


WRONG_VALUES = {
    "--threshold": "abc",
    "--gate-threshold": "abc",
    "--budget": "99999999",
    "--budget-chars": "4.5",
    "--content-mode": "all",
    "--format": "yaml",
}


def test_a_wrong_value_of_a_flag_is_left_out(shop: Shop) -> None:
    """With a value that no setting can have the default is taken, and the log says so."""
    arguments = [part for pair in WRONG_VALUES.items() for part in ("=".join(pair),)]

    assert shop.hook(FITS, *arguments, "--no-dedup")
    problems = shop.json("log")["events"][0]["config_problems"]
    assert len(WRONG_VALUES) == len([problem for problem in problems if problem.startswith("command line: hooks.")])


@pytest.mark.parametrize("arguments", [("--no-such-flag",), ("--budget",), ("extra",)], ids=" ".join)
def test_a_wrong_flag_never_blocks_a_prompt(shop: Shop, arguments: tuple[str, ...]) -> None:
    """A mistake in an installed command is left out, and stands in the log: code 2 would eat the prompt."""
    assert shop.hook(FITS, *arguments, "--no-dedup")
    (problem,) = shop.json("log")["events"][0]["config_problems"]
    assert problem.startswith("command line: ")


def test_debug_says_what_was_decided(shop: Shop) -> None:
    """With `--debug`, for people, the decision stands on standard error; the answer is the same."""
    event = json.dumps({"prompt": FITS, "cwd": str(shop.root)}).encode()

    closed = shop.run("hook", "inject-context", "--gate-threshold", "0.99", "--debug", stdin=event)
    opened = shop.run("hook", "inject-context", "--no-dedup", "--debug", stdin=event)

    assert re.fullmatch(rb"hybrid: skipped \(semantic=0\.[3-9]\d < gate=0\.99\)\n", closed.stderr)
    assert opened.stderr.startswith(b"hybrid: injected 1 item, ")
    assert json.loads(opened.stdout)


def test_without_an_index_the_hook_is_silent(new_project: Shop) -> None:
    """No index and no project are silence with a reason."""
    assert "" == new_project.hook(FITS)
    assert "" == new_project.hook(FITS, cwd=new_project.root.parent)
    assert ["no_index", "no_index"] == new_project.reasons()


def test_places_that_cannot_be_written_do_not_matter(own_shop: Shop) -> None:
    """Files where folders should be (counters, ledgers, log): the answer is given all the same, and nothing else said."""
    for name in ("sessions", "log"):
        (own_shop.home / name).write_text("in the way")
    (own_shop.root / ".hybrid" / "hook_state.json").mkdir()

    assert own_shop.hook(FITS)


def test_a_home_that_is_a_file_is_silent(shop: Shop, tmp_path: Path) -> None:
    """Where `HYBRID_HOME` is a file there is no index and no log: silence with code 0."""
    home = tmp_path / "home"
    home.write_text("a file")

    assert "" == Shop(shop.root, home).hook(FITS, HOME=str(tmp_path))


def _environment(shop: Shop, **more: str) -> dict[str, str]:
    settings = {"HYBRID_HOME": str(shop.home), "PYTHONPATH": str(CHECKOUT), "HYBRID_HOOKS_DEADLINE_MS": "60000"}
    return os.environ | settings | more


def _start(shop: Shop, stdin: Any, stdout: Any = subprocess.PIPE, **more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "hybrid", "hook", "inject-context", "--no-dedup"]
    return subprocess.Popen(
        command, cwd=shop.root, env=_environment(shop, **more), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE
    )


def test_a_client_that_never_sends_does_not_hang_the_process(own_shop: Shop) -> None:
    """Input that does not end: the process ends at the hard stop with code 0, silent, and the log says so."""
    read, write = os.pipe()
    os.write(write, b'{"prompt": "How does')
    with _start(own_shop, read, HYBRID_HOOKS_DEADLINE_MS="1500") as process:
        out, err = process.communicate(timeout=60)
    os.close(read)
    os.close(write)

    assert (0, b"", b"") == (process.returncode, out, err)
    assert "not done after 1.5 s" == own_shop.json("log", "--all")["events"][0]["error"]


def test_a_deadline_that_cannot_be_met_is_silence(own_shop: Shop) -> None:
    """With a deadline too short for any answer the hook gives none, with code 0, and the log says so."""
    event = json.dumps({"prompt": FITS, "cwd": str(own_shop.root)}).encode()

    done = own_shop.run("hook", "inject-context", stdin=event, HYBRID_HOOKS_DEADLINE_MS="50")

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    said = "not done after 0.05 s; the event is kept and taken in later"
    assert said == own_shop.json("log", "--all")["events"][0]["error"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_log_that_hangs_does_not_hold_the_agent(own_shop: Shop) -> None:
    """The answer is out at once; a disk that does not answer ends the recording, not the prompt."""
    (own_shop.home / "log").mkdir()
    os.mkfifo(own_shop.home / "log" / "events.jsonl")
    event = json.dumps({"prompt": FITS, "cwd": str(own_shop.root)}).encode()
    done = own_shop.run("hook", "inject-context", stdin=event)

    assert (0, b"") == (done.returncode, done.stderr)
    assert json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_an_index_that_hangs_is_silence(own_shop: Shop) -> None:
    """Where reading the index does not return, the process ends at its deadline with code 0."""
    [manifest] = own_shop.home.rglob("manifest.json")
    manifest.unlink()
    os.mkfifo(manifest)
    event = json.dumps({"prompt": FITS, "cwd": str(own_shop.root)}).encode()
    done = own_shop.run("hook", "inject-context", stdin=event, HYBRID_HOOKS_DEADLINE_MS="1500")

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_a_client_that_has_gone_got_nothing(own_shop: Shop) -> None:
    """An answer that nobody reads is no error of the process, and is not counted as given."""
    read, write = os.pipe()
    os.close(read)
    event = json.dumps({"prompt": FITS, "session_id": "s1", "cwd": str(own_shop.root)}).encode()

    with _start(own_shop, subprocess.PIPE, stdout=write) as process:
        os.close(write)
        _, err = process.communicate(event, timeout=20)

    assert (0, b"") == (process.returncode, err)
    assert ["error"] == own_shop.reasons()
    assert own_shop.hook(FITS, session="s1")


def test_hot_topics_say_how_they_are_refreshed_and_pinned(own_shop: Shop) -> None:
    """The file named neither the command nor the place where agents read it."""
    own_shop.out("hook", "hot-topics", "--force")

    text = (own_shop.root / ".hybrid" / "hot-topics.md").read_text()

    assert "`hybrid hook hot-topics --force`" in text
    assert "`@.hybrid/hot-topics.md` in `CLAUDE.md`" in text
