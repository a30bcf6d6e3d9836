from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.atomic import locked
from hybrid.knowledge.lessons_intake import without_captures
from hybrid.knowledge.stores import open_stores
from hybrid.records.lessons.store import LessonFiles
from tests.support.builders import Shop, python_process
from tests.support.cases import read
from tests.support.records import LESSONS, Talk, accept_tree, headers, ids, lesson_file, new_talk, shop_with_records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hybrid.records.lessons.counters import Counters
    from hybrid.records.lessons.document import LessonsChange, LessonsDocument
    from hybrid.records.lessons.types import Lesson

FILE = ".hybrid/LESSONS.md"
COMMITS = "How should I format the git commits of this change?"
RULE = "LESSON: gotcha: Rounding of prices - Round the price of an order once, at the end"
ASK = "How do I round the price of an order?"


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A session in a project whose lessons its owner accepted."""
    return new_talk(tmp_path, {FILE: LESSONS})


def _lessons(talk: Talk, *, level: str = "project") -> dict[str, Lesson]:
    """Id → lesson, as they stand in the file."""
    stores = open_stores(talk.workspace())
    store = stores.system if level == "system" else stores.project
    assert store is not None
    return {lesson.id: lesson for lesson in store.read().lessons}


def _changes(monkeypatch: pytest.MonkeyPatch) -> list[LessonFiles]:
    """The files that are changed from now on, one entry for each time that their lock is taken."""
    changed: list[LessonFiles] = []
    change = LessonFiles.change

    def noted(self: LessonFiles, step: Callable[[LessonsDocument, Counters], LessonsChange]) -> None:
        changed.append(self)
        change(self, step)

    monkeypatch.setattr(LessonFiles, "change", noted)
    return changed


# --- from a prompt -------------------------------------------------------------------------------------------


def test_a_lesson_in_a_prompt_is_written_down(tmp_path: Path) -> None:
    """Through the command: the lesson stands in the file, the user is told its id in one line, the agent gets nothing."""
    shop = shop_with_records(tmp_path, is_indexed=False)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(shop.root), "prompt": RULE}
    answer = json.loads(shop.out("hook", "inject-context", stdin=json.dumps(event).encode()))

    assert {"systemMessage": "LESSON RECORDED: [L004] Rounding of prices"} == answer
    text = (shop.root / FILE).read_text()
    assert text.startswith(LESSONS.split("### [L003]")[0])
    assert "### [L004] Rounding of prices\n" in text
    assert "> Round the price of an order once, at the end\n" in text


def test_a_new_lesson_is_given_at_once(talk: Talk) -> None:
    """The next session gets a lesson that was just written down; the one that wrote it has it already."""
    talk.ask(RULE)

    assert [] == ids(talk.ask(ASK))
    assert ["[lesson] L004 Rounding of prices"] == [
        line.split(" (")[0] for line in headers(replace(talk, session_id="s2").ask(ASK))
    ]


def test_forms_of_a_lesson(talk: Talk) -> None:
    """Any case, with and without category, for all projects, never to be promoted; the rest of the prompt is asked."""
    prompt = "\n".join(
        [
            COMMITS,
            "lesson: Keep ids stable - An id is never used twice",
            "System Lesson: preference: Be brief - Answer in one sentence",
            "LESSON: (no-promote) decision: Ports - The shop listens on 8200",
        ]
    )
    reply = talk.ask(prompt)

    assert (
        "LESSON RECORDED: [L004] Keep ids stable\nLESSON RECORDED: [S001] Be brief\nLESSON RECORDED: [L005] Ports"
    ) == reply.notice(0)
    assert ["L001"] == ids(reply)
    found = _lessons(talk)
    assert ("correction", "decision", False) == (
        found["L004"].category,
        found["L005"].category,
        found["L005"].is_promotable,
    )
    assert ["S001"] == list(_lessons(talk, level="system"))


def test_nearly_the_same_is_reported(talk: Talk) -> None:
    """A near duplicate is not added; the user is told which lesson says it."""
    talk.ask(RULE)
    reply = talk.ask(RULE.replace("Round the price", "round the prices").replace("prices of", "price of"))

    assert "LESSON KNOWN ALREADY: [L004] Rounding of prices" == reply.notice(0)
    assert 4 == len(_lessons(talk))


def test_what_is_known_for_all_projects_is_not_repeated_for_one(talk: Talk) -> None:
    """Near duplicates are looked for among the lessons of the project and of all projects, whichever is meant."""
    talk.ask(f"SYSTEM {RULE}")
    again = talk.ask(RULE)
    talk.ask("LESSON: Ports of the shop - It listens on 8200 and 8300")
    other = talk.ask("SYSTEM LESSON: Ports of the shop - It listens on 8200 and 8300")

    assert "LESSON KNOWN ALREADY: [S001] Rounding of prices" == again.notice(0)
    assert "LESSON KNOWN ALREADY: [L004] Ports of the shop" == other.notice(0)


def test_all_lessons_of_a_prompt_are_written_in_one_step(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, each file is locked once; of two that say the same the first is written."""
    changed = _changes(monkeypatch)
    rules = ["alpha reads alpha", "beta writes beta", "alpha reads alpha!", "gamma sends gamma"]
    reply = talk.ask("\n".join([*(f"LESSON: {rule} - {rule}" for rule in rules), f"SYSTEM {RULE}"]))

    assert 2 == len(changed)
    assert [
        "LESSON RECORDED: [L004] alpha reads alpha",
        "LESSON RECORDED: [L005] beta writes beta",
        "LESSON KNOWN ALREADY: [L004] alpha reads alpha",
        "LESSON RECORDED: [L006] gamma sends gamma",
        "LESSON RECORDED: [S001] Rounding of prices",
    ] == reply.notice(0).split("\n")


NOT_TYPED = {case.name: case.text.replace("{RULE}", RULE) for case in read("lessons/not_typed.txt")} | {
    "many elements": "<a></a>\n" + "\n".join(f"<a{n}></a{n}>" for n in range(60)) + f"\n{RULE}"
}


def test_what_nobody_typed_makes_no_lesson(talk: Talk) -> None:
    """Machine-made, private, injected, quoted and opted-out text never makes a lesson."""
    for case, prompt in NOT_TYPED.items():
        assert ("", LESSONS) == (talk.ask(prompt).notice(0), (talk.root / FILE).read_text()), case


def test_other_events_make_no_lesson(talk: Talk) -> None:
    """Neither a subagent's prompt nor the result of a tool, a report, or the end of a subagent makes a lesson."""
    talk.ask(COMMITS)
    replace(talk, agent_id="a7").ask(RULE)
    talk.tell("PostToolUse", tool="Agent", report=f"The work is done, and everything passes.\n{RULE}\nAI {RULE}")
    talk.tell("PostToolUse", tool="Bash", report="", prompt=RULE)
    replace(talk, agent_id="a7").stop(f"AI {RULE}\nI applied [L001].")
    talk.tell("SessionStart", source="startup", prompt=RULE)
    talk.stop(f"{RULE}\nSYSTEM {RULE}", prompt=RULE)

    assert LESSONS == (talk.root / FILE).read_text()
    assert {} == _lessons(talk, level="system")
    assert 0 == _lessons(talk)["L001"].citations


@pytest.mark.parametrize("setting", ["lessons_capture", "lessons_enabled"])
def test_capture_can_be_switched_off(talk: Talk, setting: str) -> None:
    """With either setting off nothing is written down, neither from prompts nor from answers."""
    off = {setting: False}
    reply = talk.ask(RULE, flags=off)
    talk.stop(f"AI {RULE}", flags=off)

    assert ("", LESSONS) == (reply.notice(0), (talk.root / FILE).read_text())


def test_without_lessons_nothing_counts_and_nothing_fades(talk: Talk) -> None:
    """With lessons switched off their counters stay as they are."""
    _used(talk, L001=12)
    before = _lessons(talk)
    off = replace(talk, flags={"lessons.enabled": False})
    off.start("startup")
    off.ask(COMMITS)
    off.stop("By [L001].")

    assert before == _lessons(talk)


def test_what_is_not_written_down_is_asked(talk: Talk) -> None:
    """Only the lines that become lessons leave the query: not one in a code block, nor with capture switched off."""
    fenced = f"{COMMITS}\n{RULE}\n```\nLESSON: ports - kept in code\n```\n<a>\nLESSON: x - of a file\n</a>"
    asked, off = talk.ask(fenced), replace(talk, session_id="s2").ask(fenced, flags={"lessons_capture": False})

    assert "Rounding" not in asked.decision.query
    assert "kept in code" in asked.decision.query
    assert "Rounding" in off.decision.query


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Ask\r\n{RULE}\r\nmore", "Ask\nmore"),
        (f"Ask\n> {RULE}\n{RULE}", f"Ask\n> {RULE}"),
        (f"```\n{RULE}\n```\n{RULE}", f"```\n{RULE}\n```"),
        (f"<a>\n{RULE}\n</a>\nAsk\n{RULE}\n", f"<a>\n{RULE}\n</a>\nAsk"),
        ("Ask about the lesson", "Ask about the lesson"),
        (
            "\n".join(f"LESSON: rule {n} - is {n}" for n in range(12)),
            "LESSON: rule 10 - is 10\nLESSON: rule 11 - is 11",
        ),
    ],
    ids=["line ends", "quote", "fence", "element", "none", "twelve"],
)
def test_a_query_is_a_prompt_without_its_lessons(text: str, left: str) -> None:
    """The very lines that are captured are left out, wherever the same words stand besides."""
    assert left == without_captures(text)


def test_long_prompts_are_read_in_one_pass() -> None:
    """Four hundred thousand characters of lines that look like lessons: ten are taken, the others stay."""
    lines = [f"LESSON: rule {n} - is {n}" for n in range(20_000)]

    assert lines[10:] == without_captures("\n".join(lines)).split("\n")


def test_nothing_is_learned_while_switched_off(tmp_path: Path) -> None:
    """A client that switched hybrid off has nothing written down."""
    shop = shop_with_records(tmp_path, is_indexed=False)

    assert "" == shop.hook(RULE, HYBRID_DISABLE="1")
    assert LESSONS == (shop.root / FILE).read_text()


def test_a_tree_that_nobody_accepted_is_not_written_to(tmp_path: Path) -> None:
    """There a lesson is kept in the home, and given from there; the tree's own lessons stay foreign."""
    talk = new_talk(tmp_path, {FILE: LESSONS}, is_accepted=False)
    reply = talk.ask(RULE)
    given = replace(talk, session_id="s2").ask(ASK)

    assert "LESSON RECORDED: [L001] Rounding of prices" == reply.notice(0)
    assert LESSONS == (talk.root / FILE).read_text()
    assert ["[lesson] L001 Rounding of prices"] == [line.split(" (")[0] for line in headers(given)]
    assert [] == ids(replace(talk, session_id="s3").ask(COMMITS))


def test_a_lessons_file_that_cannot_be_written(tmp_path: Path) -> None:
    """The user is told in one line that a lesson was not written down, and why; the file stays as it is."""
    talk = new_talk(tmp_path, {FILE: LESSONS})
    binary = b"\x00\x01" * 50
    talk.write(FILE, binary)
    [line] = talk.ask(RULE).notice(0).split("\n")

    assert line.startswith("LESSON NOT RECORDED: Rounding of prices (")
    assert binary == (talk.root / FILE).read_bytes()


_HOLDER = """
import sys
from pathlib import Path
from hybrid.base.atomic import locked
with locked(Path(sys.argv[1]), 5.0) as held:
    print(held, flush=True)
    sys.stdin.read()
"""


def test_a_hook_does_not_wait_long_for_another_process(tmp_path: Path) -> None:
    """While a process keeps the lessons locked, the prompt is answered before its deadline, and the user is told.

    The next event of anybody writes the lesson down, and the session's user is told that.
    """
    shop = shop_with_records(tmp_path, is_indexed=False)
    [lock] = _locks(shop)
    event = json.dumps({"session_id": "s1", "cwd": str(shop.root), "prompt": f"{COMMITS}\n{RULE}"}).encode()
    holder = python_process(_HOLDER, lock)
    try:
        assert holder.stdout is not None
        assert b"True" == holder.stdout.readline().strip()
        answer = json.loads(shop.out("hook", "inject-context", stdin=event, HYBRID_HOOKS_DEADLINE_MS="8000"))
    finally:
        holder.communicate(timeout=120)

    assert answer["systemMessage"].startswith("LESSON NOT RECORDED YET: Rounding of prices (")
    assert "[lesson] L001 Git commit format" in answer["hookSpecificOutput"]["additionalContext"]

    event = json.dumps({"session_id": "s1", "cwd": str(shop.root), "prompt": "thanks, go on"}).encode()
    later = json.loads(shop.out("hook", "inject-context", stdin=event))

    assert {"systemMessage": "LESSON RECORDED: [L004] Rounding of prices"} == later


def _locks(shop: Shop) -> list[Path]:
    """The lock of the project's lessons, which the first change makes."""
    shop.out("lessons", "cite", "L001")
    return sorted((shop.home / "projects").rglob("lessons.stats.json.lock"))


# --- from the agent's answer ---------------------------------------------------------------------------------


def test_the_agent_writes_a_lesson_down(talk: Talk) -> None:
    """A line `AI LESSON [constraint]:` in the agent's last message becomes a lesson with its type and its source."""
    talk.stop("Done, and all tests pass.\n\nAI LESSON [constraint]: Ports in tests - Never bind a fixed port in a test")
    lesson = _lessons(talk)["L004"]

    assert ("Ports in tests", "Never bind a fixed port in a test", "pattern", "constraint", "ai") == (
        lesson.title,
        lesson.content,
        lesson.category,
        lesson.type,
        lesson.source,
    )
    assert "**Type**: constraint | **Source**: ai" in (talk.root / FILE).read_text()


@pytest.mark.parametrize("has_memory", [True, False], ids=["with memory", "without"])
def test_a_private_turn_teaches_nothing(talk: Talk, has_memory: bool) -> None:
    """Of the turn of a prompt that opts out no lesson is written down, and none counts as used (#16)."""
    flags = {"memory.enabled": has_memory}
    talk.ask(COMMITS, flags=flags)
    talk.ask("[no-hybrid] Bind the port, please.", flags=flags)
    said = "By [L001].\nAI LESSON: Ports in tests - Never bind a fixed port in a test"
    talk.stop(said, flags=flags)

    assert LESSONS == (talk.root / FILE).read_text()
    assert 0 == _lessons(talk)["L001"].citations

    replace(talk, session_id="s2").stop(said.replace("By [L001].", "Done."), flags=flags)

    assert ["L001", "L002", "L003", "L004"] == sorted(_lessons(talk))


def test_a_report_in_a_private_turn_is_not_searched_for(talk: Talk) -> None:
    """It would stand in the log; the next turn's reports are answered as ever (#16)."""
    report = "The commits of this change follow no format; how should I format the git commits?"
    talk.ask("[no-hybrid] Look at my commits, please.")
    n_logged = len(talk.log())
    private = talk.tell("PostToolUse", tool="Agent", report=report)

    assert ("", n_logged) == (private.text, len(talk.log()))

    talk.ask("Look at my commits, please, and tell what you see.")

    assert talk.tell("PostToolUse", tool="Agent", report=report).text


def test_the_agents_lesson_is_written_once(talk: Talk, tmp_path: Path) -> None:
    """The same message in the event and in the transcript, at two ends of a turn, is one lesson."""
    text = "AI LESSON: Ports in tests - Never bind a fixed port in a test"
    talk.ask(COMMITS)
    for _ in range(2):
        talk.stop(text, transcript=_transcript(tmp_path, _said("m1", text)))

    assert ["L001", "L002", "L003", "L004"] == list(_lessons(talk))


# --- citations -----------------------------------------------------------------------------------------------


def _said(message_id: str, text: str) -> dict[str, Any]:
    """A line of Claude Code's transcript in which the agent says something."""
    message = {"id": message_id, "role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "message": message, "isSidechain": False}


def _typed(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def _transcript(folder: Path, *lines: dict[str, Any]) -> str:
    path = folder / "transcript.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return str(path)


def _uses(talk: Talk) -> dict[str, tuple[int, int]]:
    """Id → uses and citations of the lessons that were cited."""
    return {name: (one.uses, one.citations) for name, one in _lessons(talk).items() if one.uses}


def test_a_citation_counts_once(talk: Talk, tmp_path: Path) -> None:
    """A message that comes with the event and stands in the transcript too counts once, at the second end as well."""
    talk.ask(COMMITS)
    transcript = _transcript(tmp_path, _typed(COMMITS), _said("m1", "I follow [L001] and [L001] here."))
    for _ in range(2):
        talk.stop("I follow [L001] and [L001] here.", transcript=transcript)
    lesson = _lessons(talk)["L001"]

    assert {"L001": (1, 1)} == _uses(talk)
    assert (1.0, True) == (lesson.velocity, bool(lesson.last))


def test_a_citation_counts_once_when_the_transcript_comes_late(talk: Talk, tmp_path: Path) -> None:
    """A client that writes a message down after the event: the next end of a turn does not count it again."""
    talk.ask(COMMITS)
    transcript = _transcript(tmp_path, _typed(COMMITS))
    talk.stop("I follow [L001].", transcript=transcript)
    _transcript(tmp_path, _said("m1", "I follow [L001].\n"), _typed("And now?"), _said("m2", "Now it is [L002]."))
    talk.stop("Now it is [L002].", transcript=transcript)

    assert {"L001": (1, 1), "L002": (1, 1)} == _uses(talk)


def test_citations_that_could_not_be_counted_are_counted_later(talk: Talk, tmp_path: Path) -> None:
    """While another process holds the lock nothing counts, and the log says so; the next end of a turn makes it up."""
    talk.ask(COMMITS)
    transcript = _transcript(tmp_path, _said("m1", "By [L001]."))
    store = open_stores(talk.workspace()).project
    assert store is not None
    with locked(store.counters.with_name(f"{store.counters.name}.lock"), 1.0) as is_held:
        assert is_held
        talk.stop("By [L001].", transcript=transcript)
    before = _uses(talk)
    problem = next(talk.workspace().log.newest())
    _transcript(tmp_path, _said("m2", "By [L002]."))
    talk.stop("By [L002].", transcript=transcript)

    assert ({}, {"L001": (1, 1), "L002": (1, 1)}) == (before, _uses(talk))
    assert problem["error"].startswith("citations were not counted: ")


def test_what_a_turn_taught_is_logged(talk: Talk, tmp_path: Path) -> None:
    """One line names the lessons that were cited, each as often as it counted, and those that are new; else none."""
    talk.ask(COMMITS)
    talk.stop("Done.")
    quiet = next(talk.workspace().log.newest())["reason"]
    last = "By [L001, L002].\nAI LESSON: Ports in tests - Never bind a fixed port"
    talk.stop(last, transcript=_transcript(tmp_path, _said("m1", "By [L001]."), _said("m2", last)))
    event = next(talk.workspace().log.newest())

    assert "learned" != quiet
    assert ("Stop", "learned", "claude", "s1") == tuple(event[key] for key in ("event", "reason", "client", "session"))
    assert {"L001": 2, "L002": 1} == {name: event["cited"].count(name) for name in ("L001", "L002")}
    assert ["L004"] == event["recorded"]
    assert talk.workspace().is_here(event)


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_resumed_session_does_not_count_its_past(talk: Talk, tmp_path: Path, source: str) -> None:
    """A session that goes on with an old transcript counts what is cited from then on."""
    transcript = _transcript(tmp_path, _said("m1", "I follow [L001]."))
    talk.start(source, transcript=transcript)
    talk.ask(COMMITS)
    _transcript(tmp_path, _typed(COMMITS), _said("m2", "I follow [L002]."))
    talk.stop("I follow [L002].", transcript=transcript)

    assert {"L002": (1, 1)} == _uses(talk)


def test_a_system_lesson_is_cited(talk: Talk) -> None:
    """Ids of lessons for all projects count in their own file."""
    talk.ask("SYSTEM LESSON: preference: Be brief - Answer in one sentence")
    talk.stop("By [S001].")

    assert 1 == _lessons(talk, level="system")["S001"].citations


# --- fading, and the start of a session ----------------------------------------------------------------------


def _used(talk: Talk, **uses: int) -> None:
    """Counters of lessons that were used, and that faded last in the distant past."""
    store = open_stores(talk.workspace()).project
    assert store is not None
    counts = {name: {"uses": n, "velocity": 0.25, "last": "2026-01-05"} for name, n in uses.items()}
    store.counters.parent.mkdir(parents=True, exist_ok=True)
    store.counters.write_text(json.dumps(counts | {"meta": {"decayed": "2026-01-05"}}))


def test_a_session_starts_with_the_lessons_used_most(tmp_path: Path) -> None:
    """Five of seven lessons, those with most uses first, under a heading; system lessons among them."""
    rules = [(f"L{n:03d}", f"Rule {n}", f"Content of rule {n}") for n in range(1, 8)]
    talk = new_talk(tmp_path, {FILE: lesson_file(*rules)})
    _used(talk, L002=3, L005=50, L006=7, L007=2)
    (talk.home / "LESSONS.md").write_text(lesson_file(("S001", "Be brief", "Answer in one sentence")))
    reply = talk.start("startup")

    assert reply.text.startswith(
        "--- hybrid context (auto-injected, 5 items; reference notes, not instructions) ---\n\n"
        "## Recent Lessons\n[lesson] L005 Rule 5\n  Content of rule 5\n[lesson] L006 Rule 6\n"
    )
    assert ["L005", "L006", "L002", "L007"] == ids(reply)[:4]
    assert reply.text.endswith("\nCite a lesson you apply as [L005].\n--- end hybrid context ---")


def test_a_session_gets_its_lessons_once(talk: Talk) -> None:
    """What a session began with is given neither by a later start of it nor by a prompt that fits; `clear` forgets."""
    first = talk.start("startup")
    _age(talk)
    again = talk.start("startup")
    prompt = talk.ask(COMMITS)
    cleared = talk.start("clear")

    assert {"L001", "L002"} == set(ids(first)) == set(ids(cleared))
    assert ([], []) == (ids(again), ids(prompt))


def _age(talk: Talk) -> None:
    """Let a minute pass for the ledger."""
    [path] = (talk.home / "sessions").glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"t": line["t"] - 60}) + "\n" for line in lines))


def test_lessons_without_bearings(talk: Talk) -> None:
    """With the bearings switched off the lessons are given alone."""
    reply = talk.start("startup", flags={"hooks_session_start": False})

    assert "[project]" not in reply.text
    assert {"L001", "L002"} == set(ids(reply))


def test_no_lessons_at_the_start(talk: Talk) -> None:
    """With the setting at 0 a session begins without lessons."""
    assert [] == ids(talk.start("startup", flags={"lessons_session_start": 0}))


# --- reports, trust ------------------------------------------------------------------------------------------

REPORT = "I changed the git commits of this branch: each follows the commit rule, and the format of the subject fits."


def _rules(n: int) -> str:
    return lesson_file(
        *[(f"L{i:03d}", f"Git commit rule {i}", f"Format git commits by rule {i}") for i in range(1, n + 1)]
    )


@pytest.mark.parametrize("form", ["tool", "notification"])
def test_a_report_gets_at_most_three_lessons(tmp_path: Path, form: str) -> None:
    """What fits a subagent's report is given with a note; three lessons at most, and not again with a prompt."""
    talk = new_talk(tmp_path, {FILE: _rules(6)}, hooks_gate_threshold=0.0, lessons_threshold=0.0)
    if form == "tool":
        reply = talk.tell("PostToolUse", tool="Agent", report=REPORT)
    else:
        reply = talk.ask(f"<task-notification><result>{REPORT}</result></task-notification>")
    later = talk.ask(COMMITS)

    assert 3 == len(ids(reply))
    assert "\n\nRelevant lessons after subagent work" in reply.text
    assert "\nCite a lesson you apply as [L00" in reply.text
    assert not set(ids(reply)) & set(ids(later))


def test_a_short_report_gets_no_lesson(tmp_path: Path) -> None:
    """A report of fewer than 50 characters says too little for a lesson."""
    talk = new_talk(tmp_path, {FILE: _rules(2)}, hooks_gate_threshold=0.0)
    report = "The git commits are formatted by rule."

    assert [] == ids(talk.tell("PostToolUse", tool="Agent", report=report))
    assert ids(talk.tell("PostToolUse", tool="Agent", report=f"{report} All of them were checked."))


def test_a_report_is_read_at_its_beginning(tmp_path: Path) -> None:
    """The first 2,000 characters of a report are searched with."""
    talk = new_talk(tmp_path, {FILE: _rules(2)}, hooks_gate_threshold=0.0)
    long = "Nothing of this is about the matter. " * 80
    late = talk.tell("PostToolUse", tool="Agent", report=long + REPORT)
    early = talk.tell("PostToolUse", tool="Agent", report=f"{REPORT} {long}")

    assert [] == ids(late)
    assert (["L001", "L002"], 2_000) == (sorted(ids(early)), len(early.decision.query))


def test_lessons_that_are_given_are_counted(talk: Talk) -> None:
    """Each lesson of an injection counts as given; those of a session's start, which nobody asked for, do not."""
    replace(talk, session_id="s2").start("startup")
    talk.ask(COMMITS)
    talk.ask(COMMITS)

    assert {"L001": 1, "L002": 0, "L003": 0} == {name: one.injections for name, one in _lessons(talk).items()}


def test_worktrees_share_their_counters(talk: Talk, tmp_path: Path) -> None:
    """Two working trees of one project count together, each with a lesson file of its own."""
    second = tmp_path / "second"
    second.mkdir()
    git = talk.root / ".git" / "worktrees" / "second"
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..\n")
    (git / "gitdir").write_text(f"{second / '.git'}\n")
    (git / "HEAD").write_text("ref: refs/heads/second\n")
    (second / ".git").write_text(f"gitdir: {git}\n")
    other = replace(talk, root=second)
    other.write(FILE, LESSONS)
    accept_tree(second, talk.home)
    other.ask(COMMITS)
    other.stop("By [L001].")

    assert 1 == _lessons(talk)["L001"].citations
