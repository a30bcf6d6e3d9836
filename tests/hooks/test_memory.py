"""The memory through the hooks: what tools did in one session is known in the next, and nothing else is."""

from __future__ import annotations

import json
import re
import subprocess
import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.knowledge.collections import AskingSession
from hybrid.knowledge.memory_intake import MOST_AT_ONCE, keep_small
from hybrid.prompting.query import make_query
from hybrid.records.memory.types import Extracted, Observation, Owner, RowFilter, SessionSummary, Summarised
from tests.support.records import HANDOFF, SESSION, Talk, accept_tree, new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row
    from tests.support.builders import Shop

OLD = """    def retry(self, request):
        while True:
            self.send(request)
"""
NEW = """    def retry(self, request):
        for attempt in range(MAX_ATTEMPTS):
            self.send(request)
"""
ASKED = "Fix the endless retry loop of the payment client: stop after some attempts"
LATER = "Why does the retry loop of the payment client stop after MAX_ATTEMPTS, what was wrong with it?"
WINE = "Which wine goes with grilled salmon tonight?"
SAID = "## Summary\n\nThe retry loop of the payment client stops after MAX_ATTEMPTS attempts.\n\n## Next steps\n\n- log each attempt"
TOKEN = "ghp_" + "a1B2" * 9


def edit(talk: Talk, old: str = OLD, new: str = NEW, **fields: Any) -> None:
    """An edit of the client, by an agent's tool."""
    given = {"file_path": str(talk.root / "src/payments/client.py"), "old_string": old, "new_string": new}
    talk.tell("PostToolUse", tool="Edit", tool_input=given, tool_response={"filePath": "client.py"}, **fields)


def run(talk: Talk, command: str, output: str = "", error: str = "", **fields: Any) -> None:
    """A command, by an agent's tool."""
    response = {"stdout": output, "stderr": ""} if output else None
    talk.tell(
        "PostToolUse", tool="Bash", tool_input={"command": command}, tool_response=response, error=error, **fields
    )


def work(talk: Talk) -> None:
    """A short session: asked, edited, tested in vain, tested, told."""
    talk.ask(ASKED)
    edit(talk)
    run(
        talk,
        "pytest tests/test_client.py",
        error="Exit code 1\nFAILED tests/test_client.py::test_retry - NameError: MAX_ATTEMPTS",
    )
    run(talk, "pytest tests/test_client.py -q", output="....                              [100%]\n4 passed in 0.12s")
    talk.stop(SAID)
    talk.tell("SessionEnd", source="other")


def store_of(talk: Talk) -> MemoryStore:
    """The memory behind a session."""
    return talk.kinds.stores.memory(talk.workspace())


def rows_of(talk: Talk, **wanted: Any) -> list[Row]:
    """What is remembered, newest first."""
    return store_of(talk).newest(RowFilter(**wanted), 100)


def titles(talk: Talk) -> list[str]:
    """Titles of the observations, oldest first."""
    return [row.told.title for row in reversed(rows_of(talk)) if isinstance(row, Observation)]


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """The payments project without records or index; every use of a tool is an observation of its own."""
    return new_talk(tmp_path, {}, memory_batch_window_ms=0)


def next_session(talk: Talk, name: str = "s2", **flags: object) -> Talk:
    """Another session in the same project."""
    return replace(talk, session_id=name, flags={**talk.flags, **flags})


def test_what_was_done_in_one_session_is_known_in_the_next(talk: Talk) -> None:
    """A prompt about earlier work gets its record, with what was done in which file; an unrelated one gets nothing."""
    work(talk)
    later = next_session(talk)

    reply = later.ask(LATER)
    assert reply.decision.is_injected
    assert all(re.match(r"\[memory\] [os]\d+ ", line) for line in reply.text.split("\n") if line.startswith("["))
    assert "MAX_ATTEMPTS" in reply.text
    assert "" == next_session(talk, "s3").ask(WINE).text


def test_nothing_is_given_twice_in_a_session(talk: Talk) -> None:
    """The same prompt again gets nothing more; after a compaction it may."""
    work(talk)
    later = next_session(talk)
    first = later.ask(LATER).text

    assert first
    assert "" == later.ask(LATER).text
    later.start("compact")
    assert later.ask(LATER).decision.is_injected or later.log()[0]["reason"] in ("same_topic", "all_seen")


def test_a_session_is_not_told_what_it_did_itself(talk: Talk) -> None:
    """Its agent has that in its context."""
    talk.ask(ASKED)
    edit(talk)
    talk.stop(SAID)

    assert "[memory]" not in talk.ask(LATER).text


def test_what_it_did_before_a_compaction_is_listed_after_it(talk: Talk) -> None:
    """The list of what the session did, and the files that it touched."""
    talk.ask(ASKED)
    edit(talk)
    talk.stop(SAID)

    text = talk.start("compact").text
    assert "this session, before its conversation was shortened" in text
    assert "Files: src/payments/client.py" in text
    assert titles(talk)[0][:40] in text


def test_a_session_starts_with_the_last_lines_of_the_log(talk: Talk) -> None:
    """The last summary and what was done, newest first; the first session of a project gets nothing of that."""
    assert "earlier sessions" not in talk.start("startup").text
    work(talk)
    text = next_session(talk).start("startup").text

    assert "shop: earlier sessions" in text
    assert ASKED in text
    assert "  Completed: " in text
    assert "  Next steps: " in text
    assert all(title in text for title in titles(talk))


def _started(talk: Talk, **flags: object) -> list[str]:
    """The memory's lines at the start of a session."""
    dotted = {name.replace("_", ".", 1): value for name, value in flags.items()}
    text = next_session(talk, f"later {flags}", **dotted).start("startup").text
    lines = text.split("shop: earlier sessions", 1)[-1].split("hybrid memory show", 1)[0].split("\n")[1:]
    return [line.removeprefix("   ") for line in lines if line.strip()]


def test_a_session_starts_with_one_summary_and_so_many_rows(talk: Talk) -> None:
    """The last summary as a whole; at most twenty others a line each, newest first, and as many as the settings say."""
    for number in range(3):
        told = Summarised(
            f"Request {number} " + "and more " * 20, learned="It never ended. " * 30, completed="Done. " * 60
        )
        store_of(talk).add_summary(
            Owner(f"old{number}", talk.workspace().require_project().key, "shop"), told, 1_000 + number
        )
    for number in range(30):
        put(talk, talk.workspace().require_project().key, "shop", f"Fix part {number}", session=f"work{number}")

    lines = _started(talk, hooks_budget_chars=9000)
    few = _started(talk, hooks_budget_chars=9000, memory_session_start=4)
    tight = _started(talk, hooks_budget_chars=1600)

    rows = [[line for line in found if " bugfix Fix part " in line] for found in (lines, few, tight)]
    assert [20, 4] == [len(found) for found in rows[:2]]
    assert 2 <= len(rows[2]) < 20
    assert "Request 2" in lines[0]
    assert all(f"Request {number}" not in "\n".join(lines) for number in (0, 1))
    assert sum(len(line) for line in tight) <= 800
    assert [] == _started(talk, memory_session_start=0)


def test_what_many_killed_sessions_left_keeps_no_start_waiting(tmp_path: Path) -> None:
    """An event tells so many batches of others and no more; the next one goes on, and none is lost."""
    talk = new_talk(tmp_path, {}, memory_batch_window_ms=1)
    for number in range(MOST_AT_ONCE + 3):
        run(
            next_session(talk, f"killed{number}"),
            f"pytest tests/test_part{number}.py",
            output=f"{number + 1} passed in 0.12s",
        )
    time.sleep(0.01)

    counts: list[int] = []
    for name in ("s2", "s3"):
        next_session(talk, name).tell("SessionStart", source="startup")
        counts.append(len(rows_of(talk)))

    assert [MOST_AT_ONCE, MOST_AT_ONCE + 3] == counts


def test_a_use_is_stored_before_its_hook_is_answered(talk: Talk) -> None:
    """An answer that was never delivered or recorded changes nothing: the use is in the database."""
    given = {"command": "pytest tests/test_client.py::test_retry_is_bounded"}
    talk.reply("PostToolUse", tool="Bash", tool_input=given, tool_response={"stdout": "1 passed in 0.1s", "stderr": ""})

    assert 1 == store_of(talk).stats().n_pending + store_of(talk).stats().n_observations


def test_a_turn_is_summed_up_at_its_end(talk: Talk) -> None:
    """What was asked for, what was done and what is left, of the prompt that it belongs to."""
    work(talk)

    (row,) = [row for row in rows_of(talk) if isinstance(row, SessionSummary)]
    assert ASKED == row.told.request
    assert "MAX_ATTEMPTS" in row.told.completed
    assert "log each attempt" in row.told.next_steps
    session = store_of(talk).session("s1")
    assert session is not None
    assert ("completed", ASKED, 1) == (session.status, session.user_prompt, session.prompt_counter)


def test_a_turn_without_a_message_is_summed_up_from_its_transcript(talk: Talk, tmp_path: Path) -> None:
    """From its end, over a line that is no JSON and one that is half written."""
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": ASKED}}),
        "no json",
        json.dumps(
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": SAID}]}}
        ),
        '{"type": "assistant", "mess',
    ]
    (tmp_path / "transcript.jsonl").write_text("\n".join(lines))
    talk.ask(ASKED)
    edit(talk)
    talk.tell("Stop", transcript=str(tmp_path / "transcript.jsonl"))

    [summary] = [row for row in rows_of(talk) if isinstance(row, SessionSummary)]
    assert "stops after MAX_ATTEMPTS" in summary.told.learned
    assert "log each attempt" in summary.told.next_steps


@pytest.mark.parametrize("name", ["bank.py", "user.py"])
def test_what_touched_the_files_of_the_session_comes_first(talk: Talk, name: str) -> None:
    """Of two rows that fit alike, the one about a file that this session works on."""
    key = talk.workspace().require_project().key
    for path in ("src/bank.py", "src/user.py"):
        told = Extracted("bugfix", "Cap the attempts", narrative=path, files_modified=(path,))
        assert store_of(talk).add_observation(Owner("old", key, "shop"), told, 1_780_000_000_000)
    now = next_session(talk, "now")
    given = {"file_path": str(talk.root / "src" / name), "old_string": OLD, "new_string": NEW}
    now.tell("PostToolUse", tool="Edit", tool_input=given, tool_response={"filePath": name})
    now.tell("SessionEnd", source="other")
    collection = now.kinds.memory(now.workspace(), session=AskingSession("now"))
    assert collection is not None

    query = make_query("cap the attempts")
    hits = collection.ordered(collection.searcher.search(query, top_k=10).hits, query)

    assert name in (collection.text(hits[0]) or "")


def test_nothing_private_is_stored(talk: Talk) -> None:
    """Private spans and secrets are cut out of prompts, inputs, results and messages before anything is written."""
    talk.ask(f"{ASKED} <private>codename walrus</private> with {TOKEN}")
    run(
        talk,
        f"curl -H 'Authorization: token {TOKEN}' https://example.org/payments",
        output=f"<private>walrus</private> {TOKEN} done",
    )
    edit(talk, new=NEW.replace("MAX_ATTEMPTS", f'"{TOKEN}"'))
    talk.stop(f"The token {TOKEN} works. <private>walrus</private>")

    found = b"".join(path.read_bytes() for path in talk.home.rglob("*") if path.is_file())
    assert TOKEN.encode() not in found
    assert b"walrus" not in found
    assert titles(talk)


@pytest.mark.parametrize(
    "flags",
    [
        {"memory.capture": False},
        {"memory.enabled": False},
        {"memory.exclude_projects": ("sho*",)},
        {"memory.exclude_projects": ("*/shop",)},
    ],
    ids=["capture off", "memory off", "project by name", "project by path"],
)
def test_nothing_is_kept_where_it_is_not_wanted(talk: Talk, flags: dict[str, object]) -> None:
    """Switched off, or of a project that is left out: no row at all."""
    work(replace(talk, flags={**talk.flags, **flags}))

    assert not store_of(talk).exists


def test_a_list_of_ones_own_replaces_the_tools_that_are_passed_over(talk: Talk) -> None:
    """What is named is passed over, what is no longer named is kept."""
    own = replace(talk, flags={**talk.flags, "memory.skip_tools": ("Bash",)})
    run(own, "pytest tests/test_client.py", output="4 passed in 0.12s and more words than fifty characters")
    own.tell(
        "PostToolUse",
        tool="Skill",
        tool_input={"query": "release notes"},
        tool_response="Write what users see, newest first.",
    )
    own.tell("SessionEnd", source="other")

    assert 1 == len(titles(talk))
    assert "Skill" in titles(talk)[0]


def test_machine_made_prompts_are_not_remembered(talk: Talk) -> None:
    """Nor those that opt out; each begins a turn all the same."""
    talk.ask("<task-notification><result>done</result></task-notification> and quite some words")
    talk.ask(f"{ASKED} [no-hybrid]")

    assert ["", "[no-hybrid]"] == [prompt.text for prompt in store_of(talk).prompts("s1")]


def test_nothing_of_a_turn_that_opts_out_is_kept(talk: Talk) -> None:
    """Neither what its agent does nor what it says, and the turn before keeps its summary."""
    work(talk)
    before = rows_of(talk)
    talk.ask("[no-hybrid] write my letter of resignation to the director, please")
    talk.tell(
        "PostToolUse",
        tool="Write",
        tool_input={"file_path": "letter.md", "content": "Dear director, " * 9},
        tool_response={"ok": "x" * 50},
    )
    talk.stop("Wrote the letter of resignation.")

    assert before == rows_of(talk)


def test_a_machine_made_turn_is_a_turn_of_its_own(talk: Talk) -> None:
    """Its work is part of the session's summary, its prompt is not; what was said before stays."""
    work(talk)
    talk.ask("<task-notification><result>the build is done</result></task-notification>")
    edit(talk, old="a = 1\n", new="a = 2\n")
    talk.stop("## Summary\n\nLooked at the build.")

    [summary] = [row for row in rows_of(talk, kinds=("summary",)) if isinstance(row, SessionSummary)]
    assert {1, 2} == summary.prompt_numbers
    assert ASKED == summary.told.request
    assert "stops after MAX_ATTEMPTS attempts. Looked at the build." in summary.told.learned


def test_an_empty_prompt_ends_no_batch(tmp_path: Path) -> None:
    """Some clients send one after every tool's result."""
    talk = new_talk(tmp_path, {}, memory_batch_window_ms=600_000)
    run(talk, "pytest tests/test_client.py -q", output="....                  [100%]\n4 passed in 0.12s")
    talk.ask("")

    assert [] == titles(talk)


def test_an_extractor_that_cannot_be_found_loses_nothing(talk: Talk) -> None:
    """The use is kept bare, and the log says what is wrong."""
    broken = replace(talk, flags={**talk.flags, "memory.extractor": "nowhere.to_be:found"})
    run(broken, "pytest tests/test_client.py -q", output="....                  [100%]\n4 passed in 0.12s")
    broken.stop("")

    assert ["Use Bash"] == titles(talk)
    assert any("nowhere.to_be" in str(line.get("error")) for line in broken.log())


def test_summaries_of_other_projects_are_not_given(talk: Talk) -> None:
    """What was asked for elsewhere is nobody's business here."""
    owner = Owner("b1", "b" * 16, "billing")
    store_of(talk).add_prompt(owner, ASKED, 1_780_000_000_000)
    store_of(talk).add_summary(
        owner, Summarised(request=ASKED, completed="It stops after MAX_ATTEMPTS."), 1_780_000_000_000
    )

    assert "" == talk.ask(LATER).text


def test_a_session_whose_directory_is_gone_ends(talk: Talk, tmp_path: Path) -> None:
    """It is known by its id alone; what waits is told."""
    talk.ask(ASKED)
    edit(talk)
    nowhere = replace(talk, root=tmp_path / "gone")
    nowhere.tell("SessionEnd", source="other")

    session = store_of(talk).session("s1")
    assert session is not None
    assert "completed" == session.status
    assert titles(talk)


def test_a_forgotten_title_is_in_no_log_and_no_ledger(talk: Talk) -> None:
    """What was given is noted by its number; its text is kept apart, where forgetting deletes it, or not at all."""
    work(talk)
    assert next_session(talk, **{"log.text_days": 0}).ask(LATER).text

    kept = b"".join(
        path.read_bytes() for name in ("log", "sessions") for path in (talk.home / name).rglob("*") if path.is_file()
    )
    assert b'"o' in kept or b"observation:o" in kept or b"summary:s" in kept
    assert [] == [title for title in titles(talk) if title.encode() in kept]


def test_a_worktree_of_a_project_that_is_left_out_is_left_out(talk: Talk, tmp_path: Path) -> None:
    """The pattern names the main tree; the other one lies elsewhere."""
    linked = tmp_path / "linked"
    git = ("git", "-C", str(talk.root), "-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("commit", "-q", "--allow-empty", "-m", "first"), ("worktree", "add", "-q", str(linked))):
        subprocess.run([*git, *words], check=True, capture_output=True)
    there = replace(talk, root=linked, flags={**talk.flags, "memory.exclude_projects": (str(talk.root),)})
    work(there)

    assert not store_of(there).exists


def put(talk: Talk, key: str, name: str, title: str, narrative: str = "", session: str = "old") -> None:
    """An observation of any project."""
    told = Extracted("bugfix", title, narrative=narrative or title)
    assert store_of(talk).add_observation(Owner(session, key, name), told, 1_780_000_000_000) is not None


def test_other_projects_are_marked(talk: Talk) -> None:
    """A row of another project comes only where the settings want it, and tells whose it is."""
    put(
        talk,
        "b" * 16,
        "billing",
        "Fix the endless retry loop of the payment client",
        "It stops after MAX_ATTEMPTS attempts.",
    )

    assert "" == talk.ask(LATER).text
    assert " [from: billing]" in next_session(talk, **{"memory.cross_project": True}).ask(LATER).text


def test_a_damaged_database_costs_the_memory_alone(talk: Talk) -> None:
    """The hook goes on, says so in the log, and starts a new database beside the damaged one."""
    work(talk)
    store = store_of(talk)
    store.close()
    store.path.write_bytes(b"no database at all" * 500)
    fresh = replace(talk, session_id="s9", kinds=type(talk.kinds)({}))
    work(fresh)

    assert titles(fresh)
    assert list(store.path.parent.glob("memory.db.*"))


def test_what_is_too_old_goes(talk: Talk) -> None:
    """Where the settings name an age, rows beyond it are deleted; without it nothing is."""
    work(talk)
    store, workspace = store_of(talk), talk.workspace()
    later_ms = time.time_ns() // 1_000_000 + 40 * 86_400_000

    assert 0 == keep_small(workspace, store, later_ms)
    assert 0 < keep_small(talk.workspace(memory_retention_days=30), store, later_ms)
    assert [] == rows_of(talk)


@pytest.mark.parametrize(
    "prompt", ["where did we stop last time?", "Continue where the last session left off.", "what did we do last time"]
)
def test_a_prompt_that_looks_back_gets_the_last_summaries(talk: Talk, prompt: str) -> None:
    """It holds no word that anything could be found by, and some read like small talk; other sessions' work alone."""
    work(talk)

    text = next_session(talk).ask(prompt).text
    assert f"summary {ASKED}" in text
    assert "log each attempt" in text
    assert "" == talk.ask(prompt).text


def test_a_prompt_that_looks_back_in_a_new_project_gets_nothing(talk: Talk) -> None:
    """There is nothing to look back on, and nothing of other projects is given for it."""
    put(talk, "b" * 16, "billing", "Fix the endless retry loop of the payment client")

    assert "" == talk.ask("where did we stop last time?").text


def test_a_prompt_that_looks_back_gets_the_latest_handoff_too(tmp_path: Path) -> None:
    """What was left off on purpose answers it, with or without a memory."""
    talk = new_talk(tmp_path, {})
    session = {**SESSION, "handoff": {**SESSION["handoff"], "created_at": datetime.now().isoformat()}}
    talk.write(f".hybrid/lore/transfer/data/sessions/{HANDOFF}.json", json.dumps(session))
    accept_tree(talk.root, talk.home)

    assert "OAuth login works, token refresh is missing" in talk.ask("where did we stop last time?").text


def test_one_package_of_a_test_run_is_told_in_the_singular(own_shop: Shop) -> None:
    """A title of an observation said "1 packages ok"."""
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "s1",
        "cwd": str(own_shop.root),
        "tool_name": "Bash",
        "tool_input": {"command": "go test ./..."},
        "tool_response": {"stdout": "ok  \tshop/pay\t0.010s"},
    }
    window = {"HYBRID_MEMORY_BATCH_WINDOW_MS": "0", "HYBRID_DAEMON_ENABLED": "false"}
    words = ("hook", "run", "--client", "claude", "--event", "PostToolUse")
    own_shop.out(*words, stdin=json.dumps(event).encode(), **window)

    assert "1 package ok" in own_shop.out("memory", "recent", **window)
