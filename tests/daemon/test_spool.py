"""What a hook took is not lost: at its deadline the event is kept, and has its effects once, soon, and without a text."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError
from hybrid.daemon.service import Service
from hybrid.hooks import taking
from hybrid.hooks.keeping import keep_event
from hybrid.ipc.spool import MAX_EVENTS, Spool, Worth, new_key
from hybrid.ipc.wire import Connection
from tests.support.agent import Agent, kill, until
from tests.support.memories import fill_memory

if TYPE_CHECKING:
    from tests.support.builders import Shop

LESSON = "LESSON: gotcha: Clear the plan cache after a migration - stale plans are served otherwise"
RECORDED = "LESSON RECORDED: [L001] Clear the plan cache after a migration"
OTHER = "what should I cook for dinner tonight?"
HASTY_MS = 50
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the faults are made with signals of POSIX")


def hasty(agent: Agent, **environ: str) -> Agent:
    """The same client with a deadline that no hook can meet without a service."""
    return Agent(agent.shop, agent.client, agent.environ | environ, HASTY_MS)


def keep(agent: Agent, event: str = "UserPromptSubmit", session: str = "s1", **fields: Any) -> None:
    """Keep an event as a hook does at its deadline."""
    data = {"hook_event_name": event, "session_id": session, "cwd": str(agent.shop.root), **fields}
    parts = (b"claude", event.encode(), b"/", b"", json.dumps(data).encode())
    Spool(str(agent.shop.home)).keep(new_key(), *parts)


def waiting(shop: Shop) -> int:
    """Events that wait."""
    return len(Spool(str(shop.home)).waiting())


def lessons(shop: Shop) -> list[str]:
    """Titles of the lessons that were written down."""
    files = [*shop.home.rglob("LESSONS.md"), *shop.root.rglob("LESSONS.md")]
    return [line for file in files for line in file.read_text().splitlines() if line.startswith("### ")]


def rows(shop: Shop, sql: str) -> list[tuple[Any, ...]]:
    """Of the memory, read by hand."""
    path = shop.home / "memory.db"
    if not path.exists():
        return []
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def prompts(shop: Shop) -> list[str]:
    """The prompts that are remembered."""
    return [row[0] for row in rows(shop, "SELECT prompt_text FROM user_prompts ORDER BY created_at_epoch")]


def uses(shop: Shop) -> int:
    """Uses of tools that wait or were told, each once."""
    if not (shop.home / "memory.db").exists():
        return 0
    # In one statement: one that is told between two of them would count twice.
    told = "SELECT count(*) FROM seen_events WHERE observation_id IS NOT -1"
    ((n_uses,),) = rows(shop, f"SELECT (SELECT count(*) FROM pending_events) + ({told})")
    return n_uses


USE: dict[str, Any] = {
    "tool_name": "Edit",
    "tool_use_id": "toolu_1",
    "tool_input": {"file_path": "src/payments/client.py", "old_string": "a" * 40, "new_string": "b"},
    "tool_response": {"filePath": "client.py"},
}


def use(agent: Agent) -> Any:
    """One use of a tool through the hook."""
    return agent.send("PostToolUse", **USE)


def log(shop: Shop) -> str:
    """The event log."""
    return (shop.home / "log/events.jsonl").read_text()


def test_what_comes_at_the_deadline_has_its_effects_later(served: Agent) -> None:
    """The events are kept, and the log says so; the service takes them in; the next answer tells the user, once."""
    served.prompt(OTHER)
    pid = served.wait_for_service()
    kill(pid, signal.SIGSTOP)
    answer = hasty(served).prompt(LESSON)
    use(hasty(served))

    assert ("", 2) == (answer.text, waiting(served.shop))
    assert 2 == log(served.shop).count("the event is kept and taken in later")

    kill(pid, signal.SIGCONT)
    until(lambda: not waiting(served.shop))

    assert (1, 1) == (len(lessons(served.shop)), uses(served.shop))
    assert [OTHER, LESSON] == prompts(served.shop)
    assert {"systemMessage": RECORDED} == json.loads(served.prompt(OTHER).out)
    assert b"" == served.prompt(OTHER).out


def test_a_service_that_starts_takes_in_what_waits(agent: Agent) -> None:
    """Whoever kept it may be long gone."""
    keep(agent, prompt=LESSON)
    keep(agent, "PostToolUse", **USE)
    agent.shop.out("daemon", "start", "--quiet")
    until(lambda: not waiting(agent.shop))

    assert (1, 1) == (len(lessons(agent.shop)), uses(agent.shop))


def test_without_a_service_the_next_event_of_any_session_takes_it_in(agent: Agent) -> None:
    """It does so before it is answered, since it may depend on it."""
    alone = Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"})
    keep(agent, prompt=LESSON)
    keep(agent, "PostToolUse", **USE)

    assert b"" == alone.prompt(OTHER, "another").out
    assert (0, 1, 1) == (waiting(agent.shop), len(lessons(agent.shop)), uses(agent.shop))
    assert {"systemMessage": RECORDED} == json.loads(alone.prompt(OTHER).out)


def test_what_a_suspended_service_and_its_hook_both_have_counts_once(served: Agent) -> None:
    """The hook gave up and kept the event; the service goes on with it when it wakes up."""
    pid = served.wait_for_service()
    served.prompt(OTHER)
    patient = Agent(served.shop, deadline_ms=1000)
    kill(pid, signal.SIGSTOP)
    patient.prompt(LESSON)
    use(patient)
    kill(pid, signal.SIGCONT)
    until(lambda: not waiting(served.shop) and uses(served.shop))

    assert 1 == len(lessons(served.shop))
    assert [OTHER, LESSON] == prompts(served.shop)
    assert 1 == uses(served.shop)


def test_what_was_taken_in_before_a_kill_is_not_taken_in_twice(agent: Agent) -> None:
    """An event that is kept again under its name, after another process took it in, leaves nothing new."""
    keep(agent, prompt=LESSON)
    spool = Spool(str(agent.shop.home))
    [kept] = spool.waiting()
    parts = spool.read(kept)
    assert parts is not None
    alone = Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"})
    alone.prompt(OTHER)
    before = (lessons(agent.shop), len(prompts(agent.shop)))
    spool.keep(kept.key, *parts)
    alone.prompt("thanks")

    assert (before[0], before[1] + 1, 0) == (lessons(agent.shop), len(prompts(agent.shop)), waiting(agent.shop))


@pytest.mark.parametrize("how", ["disabled", "paused", "project_file"])
def test_nothing_is_kept_where_its_owner_wants_nothing_kept(agent: Agent, how: str) -> None:
    """No file appears, and nothing is taken in."""
    shop = agent.shop
    if how == "paused":
        shop.out("pause")
    elif how == "project_file":
        (shop.root / ".hybrid" / "config.toml").write_text("[memory]\nenabled = false\n[lessons]\nenabled = false\n")
    answer = hasty(agent, **({"HYBRID_DISABLE": "1"} if how == "disabled" else {})).prompt(LESSON)

    assert (b"", 0) == (answer.out, waiting(shop))
    shop.out("resume", "--all", code=0 if how == "paused" else 1)
    Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false"}).prompt(OTHER)

    assert [] == lessons(shop)


def test_a_private_turn_stays_private(agent: Agent) -> None:
    """What a tool did for a prompt that wants to be left alone is not remembered, though both were kept."""
    keep(agent, prompt=f"[no-hybrid] {LESSON}")
    keep(agent, "PostToolUse", **USE)
    Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"}).prompt(OTHER)

    assert (0, 0, []) == (waiting(agent.shop), uses(agent.shop), lessons(agent.shop))
    assert "plan cache" not in str(prompts(agent.shop))


def test_nothing_of_a_private_turn_lies_in_the_spool(agent: Agent) -> None:
    """Neither what a tool did nor what the agent said; the next prompt ends such a turn (#16)."""
    late = hasty(agent, HYBRID_DAEMON_ENABLED="false")
    late.prompt(f"[no-hybrid] {LESSON}")
    use(late)
    late.send("Stop", last_assistant_message=f"AI {LESSON}")

    later = [line for line in log(agent.shop).splitlines() if '"event":"UserPromptSubmit"' not in line]

    assert 1 == waiting(agent.shop)
    assert any("its prompt wants to be left alone" in line for line in later)
    assert not any("is kept" in line for line in later)

    late.prompt(OTHER)
    use(late)

    assert 3 == waiting(agent.shop)


@pytest.mark.parametrize("with_memory", ["true", "false"])
def test_what_was_said_in_a_private_turn_is_no_lesson_later(agent: Agent, with_memory: str) -> None:
    """The end of such a turn is taken in after the next prompt was answered (#16)."""
    alone = Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false", "HYBRID_MEMORY_ENABLED": with_memory})
    alone.prompt("[no-hybrid] Clear the plan cache, please.")
    keep(agent, "Stop", last_assistant_message=f"AI {LESSON}")
    time.sleep(0.01)
    hasty(alone).prompt(OTHER)
    alone.prompt("How does the payment client retry?")

    assert (0, []) == (waiting(agent.shop), lessons(agent.shop))

    alone.send("Stop", last_assistant_message=f"AI {LESSON}")

    assert 1 == len(lessons(agent.shop))


@pytest.mark.parametrize("with_memory", ["true", "false"])
def test_a_service_learns_nothing_of_a_private_turn(served: Agent, with_memory: str) -> None:
    """Nor is it kept for later; the next turn teaches as ever (#16)."""
    client = Agent(served.shop, environ={"HYBRID_MEMORY_ENABLED": with_memory})
    client.prompt("[no-hybrid] Clear the plan cache, please.")
    client.send("Stop", last_assistant_message=f"AI {LESSON}")
    until(lambda: not waiting(served.shop))

    assert [] == lessons(served.shop)

    client.prompt(OTHER)
    client.send("Stop", last_assistant_message=f"AI {LESSON}")

    assert 1 == len(lessons(served.shop))


@pytest.mark.parametrize("ahead_ms", [0, 86_400_000], ids=["an hour ago", "tomorrow"])
def test_a_clock_set_back_tells_nothing_of_a_private_turn(agent: Agent, ahead_ms: int) -> None:
    """The last prompt by its time may be another than the one that is answered; either of them may be private (#16)."""
    alone = Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"})
    alone.prompt("How does the payment client retry?")
    alone.prompt(f"[no-hybrid] {LESSON}")
    set_times(agent.shop, ahead_ms - 3_600_000, ahead_ms - 7_200_000)
    alone.send("PostToolUse", **USE)
    alone.send("Stop", last_assistant_message="The plan cache was cleared.")
    alone.prompt(OTHER, "s2")
    summaries = rows(agent.shop, "SELECT 1 FROM session_summaries")

    assert (0, []) == (uses(agent.shop), summaries)


def set_times(shop: Shop, *from_now_ms: int) -> None:
    """Let the prompts have been stored at these times, in the order in which they were typed."""
    with contextlib.closing(sqlite3.connect(shop.home / "memory.db")) as db, db:
        for number, ms in enumerate(from_now_ms, 1):
            at_ms = int(time.time() * 1000) + ms
            db.execute("UPDATE user_prompts SET created_at_epoch = ? WHERE id = ?", (at_ms, number))


def test_what_cannot_be_read_is_dropped_with_a_line(agent: Agent) -> None:
    """It keeps nobody busy for ever."""
    spool = Spool(str(agent.shop.home))
    spool.keep(new_key(), b"claude", b"UserPromptSubmit", b"/", b"", b"no JSON")
    spool.keep(new_key(), b"too", b"few")
    Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"}).prompt(OTHER)

    assert 0 == waiting(agent.shop)
    assert 2 == log(agent.shop).count("dropped and without effect")


def test_an_event_that_is_lost_is_said(agent: Agent) -> None:
    """Where only lessons wait and no more have room, a use of a tool is lost, and the log says so; a lesson is kept."""
    spool = Spool(str(agent.shop.home))
    for _ in range(MAX_EVENTS - 1):
        spool.keep(new_key(), b"claude", b"UserPromptSubmit", b"/", b"", b"{}", worth=Worth.LESSON)
    spool.keep(new_key(), b"claude", b"PostToolUse", b"/", b"", b"{}", worth=Worth.TOOL)
    late = hasty(agent, HYBRID_DAEMON_ENABLED="false")
    late.prompt(LESSON)
    use(late)

    assert {Worth.LESSON} == {kept.worth for kept in spool.waiting()}
    assert 1 == log(agent.shop).count("the spool is full: an event was dropped")
    assert 1 == log(agent.shop).count("the event is lost: it cannot be kept")


def test_what_waited_too_long_is_dropped_with_a_line(agent: Agent) -> None:
    """An event of last month has no effect any more."""
    spool = Spool(str(agent.shop.home))
    event = {"session_id": "s1", "cwd": str(agent.shop.root), "prompt": LESSON}
    spool.keep("1700000000000-abcdefabcdef", b"claude", b"UserPromptSubmit", b"/", b"", json.dumps(event).encode())
    Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"}).prompt(OTHER)

    assert ([], 0) == (lessons(agent.shop), waiting(agent.shop))
    assert "too old" in log(agent.shop)


@pytest.mark.parametrize(
    ("command", "n_left"),
    [
        (("memory", "forget", "--session", "s1"), 1),
        (("memory", "forget", "--everything"), 0),
        (("projects", "forget", "shop"), 0),
    ],
    ids=["session", "everything", "project"],
)
def test_what_waits_is_forgotten_with_the_rest(agent: Agent, command: tuple[str, ...], n_left: int) -> None:
    """It has no effect any more, and neither doctor nor status counts it."""
    keep(agent, prompt=LESSON)
    keep(agent, session="other", prompt="How is the password rotated?")

    assert 2 == agent.shop.json("status")["hooks"]["waiting_events"]
    assert "2 events wait in" in agent.shop.run("doctor", "--no-trial").stdout.decode()

    agent.shop.out(*command, *(["--yes"] if command[0] == "memory" else []))

    assert n_left == waiting(agent.shop)
    Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"}).prompt(OTHER)
    assert [] == lessons(agent.shop)


@pytest.mark.parametrize(
    "text",
    [f"[no-hybrid] {LESSON}", f"a <private>{LESSON}</private> b", f"a <private> {LESSON}"],
    ids=["opted out", "span", "never closed"],
)
def test_private_text_never_lies_in_the_spool(agent: Agent, text: str) -> None:
    """What the user wants kept from everything is cut out of the event before its file is written."""
    hasty(agent, HYBRID_DAEMON_ENABLED="false").prompt(text)
    files = [path for path in (agent.shop.home / "spool").iterdir() if path.is_file()]

    assert 1 == waiting(agent.shop)
    assert not any(b"plan cache" in path.read_bytes() for path in files)


def test_a_private_span_over_two_fields_never_lies_in_the_spool(agent: Agent) -> None:
    """It is cut to the end of the field where it begins, and from the start of the field where it ends."""
    hasty(agent, HYBRID_DAEMON_ENABLED="false").send(
        "PostToolUse",
        tool_name="Bash",
        tool_use_id="toolu_1",
        tool_input={"command": "make release # <private>walrus one", "description": "Release"},
        tool_response={"stdout": "walrus two</private> done with 17 files\n", "stderr": "", "interrupted": False},
    )
    kept = b"".join(path.read_bytes() for path in (agent.shop.home / "spool").iterdir() if path.is_file())

    assert (True, False) == (b"done with 17 files" in kept, b"walrus" in kept)


def test_half_a_file_of_a_killed_hook_goes(agent: Agent) -> None:
    """It may hold a whole prompt; no event need wait beside it."""
    folder = agent.shop.home / "spool"
    folder.mkdir(mode=0o700, parents=True)
    half = folder / ".1700000000000-abcdefabcdef.1.1.tmp"
    half.write_text(LESSON)
    os.utime(half, (1, 1))
    Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"}).prompt(OTHER)

    assert not half.exists()


def test_forgetting_waits_for_who_takes_events_in(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process is about to store would come after the forgetting, so nothing is said to be forgotten."""
    keep(agent, prompt=LESSON)
    monkeypatch.setattr(taking, "_FORGET_S", 0.05)
    with locked(Path(Spool(str(agent.shop.home)).lock_path), 1.0) as held, pytest.raises(BusyError):
        taking.forget_waiting(agent.shop.home, {}, lambda _workspace, _event: True)

    assert held
    assert 1 == waiting(agent.shop)


DAY_S = 86_400


def test_a_session_that_started_tomorrow_starts_again(agent: Agent) -> None:
    """Its start is answered as any other, not taken for a second registration of the hook (#16)."""
    shop = agent.shop
    alone = Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false"})
    alone.prompt("How does the payment client retry?")
    alone.send("SessionStart", source="compact")
    [ledger] = (path for path in shop.home.rglob("*.jsonl") if b'"start"' in path.read_bytes())
    ahead = re.sub(r'"t":(\d+)', lambda match: f'"t":{int(match[1]) + DAY_S}', ledger.read_text())
    ledger.write_text(ahead)
    alone.send("SessionStart", source="compact")

    assert "repeated" not in shop.reasons()


def test_an_event_of_tomorrow_is_taken_in_today(agent: Agent) -> None:
    """What was kept, tried and marked before the clock was set back has its effects, and a service starts (#16)."""
    shop = agent.shop
    spool = Spool(str(shop.home))
    ahead_s = time.time() + DAY_S
    data = json.dumps({"session_id": "s1", "cwd": str(shop.root), "prompt": LESSON}).encode()
    key = f"{int(ahead_s * 1000):013d}-abcdefabcdef"
    spool.keep(key, b"claude", b"UserPromptSubmit", b"/", b"", data)
    begun = spool.begin(spool.waiting()[0])
    (shop.home / "run").mkdir(exist_ok=True)
    (shop.home / "run/starting").touch()
    for path in shop.home.rglob("*"):
        os.utime(path, (ahead_s, ahead_s))
    agent.prompt("How does the payment client retry?", "s2")
    until(lambda: not spool.waiting())
    files = [*shop.home.rglob("LESSONS.md"), *shop.root.rglob("LESSONS.md")]

    assert begun is not None
    assert agent.wait_for_service()
    assert 1 == sum(file.read_text().count("\n### ") for file in files)


BASH: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "tool_response": {"stdout": "LESSON: " * 999},
}


def test_a_hook_that_had_no_turn_until_its_deadline_reads_its_event(agent: Agent) -> None:
    """On a machine too busy for the process its event would be lost, and nothing would say so."""
    shop = agent.shop
    hasty = Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false"}, deadline_ms=HASTY_MS)
    shop.out("config", "get", "hooks.deadline_ms")
    hasty.prompt("what should I cook for dinner tonight?")
    process = hasty.start(after_s=0.3, prompt=LESSON)

    assert (b"", b"") == process.communicate(timeout=60)
    assert LESSON.encode() in b"".join(path.read_bytes() for path in (shop.home / "spool").glob("*.event"))


def test_what_a_hook_kept_stays_when_its_service_can_keep_nothing(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk became full between the two: the service said that the event is lost, and deleted the hook's copy."""
    shop = agent.shop
    monkeypatch.setattr("hybrid.base.sqlite._BUSY_TIMEOUT_MS", 50)
    fill_memory(shop).close()
    service = Service(shop.home, {"HYBRID_HOME": str(shop.home)}, lambda: True)
    spool, key = Spool(str(shop.home)), new_key()
    event = {"session_id": "s1", "cwd": str(shop.root), "tool_use_id": "t1"} | BASH
    parts = [b"claude", b"PostToolUse", str(shop.root).encode(), b"", json.dumps(event).encode()]
    keep_event(spool, key, parts)
    ours, theirs = (Connection(sock) for sock in socket.socketpair())
    with closing(ours), closing(theirs), closing(service):
        with closing(sqlite3.connect(shop.home / "memory.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            monkeypatch.setattr("hybrid.daemon.service.keep_event", lambda *_, **__: False)
            service.event(_message(parts, key), theirs)
        waiting = [kept.key for kept in spool.waiting()]
        service.event(_message([*parts[:4], b'{"session_id": "s2"}'], new_key()), theirs)

    assert [key] == waiting
    assert [] == spool.waiting()
    with closing(sqlite3.connect(shop.home / "memory.db")) as memory:
        assert [("Bash",)] == memory.execute("SELECT tool FROM pending_events").fetchall()


def _message(parts: list[bytes], key: str) -> list[bytes]:
    """An event as a hook sends it."""
    return [b"event", *parts[:3], b"1", b"60000", *parts[3:], key.encode()]
