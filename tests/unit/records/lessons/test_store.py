from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from datetime import date
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.atomic import locked
from hybrid.records.lessons.store import MAX_BYTES, LessonStore
from hybrid.records.lessons.types import Draft, LessonEdit, title_form
from hybrid.records.lessons.writing import CitingMessage, Elsewhere, Offer
from hybrid.records.types import LessonsBusyError, LessonsError, LessonsFileError, UnknownLessonError
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

TODAY = date(2026, 3, 1)

OLDER = """\
## Active Lessons

### [L001] [***--|*----] Close files
- **Uses**: 12 | **Velocity**: 1.5 | **Learned**: 2026-01-02 | **Last**: 2026-02-01 | **Category**: gotcha
> Use a context manager.
"""


def new_store(folder: Path, text: str | None = None, *, keeps_inline: bool = False) -> LessonStore:
    """A project's store below a folder, with a file of this text."""
    file = folder / "tree" / ".hybrid" / "LESSONS.md"
    if text is not None:
        file.parent.mkdir(parents=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    return LessonStore(
        file, folder / "home" / "lessons.stats.json", level="project", keeps_inline=keeps_inline, lock_s=0.2
    )


def new_system(folder: Path) -> LessonStore:
    """A store for all projects."""
    return LessonStore(
        folder / "home" / "LESSONS.md", folder / "home" / "system.json", level="system", keeps_inline=False
    )


def draft(number: int = 1) -> Draft:
    """A rule that resembles no other."""
    return Draft(f"Rule{number} about thing{number}", f"because of cause{number} and effect{number}", "pattern")


def test_a_missing_file_holds_no_lessons(tmp_path: Path) -> None:
    """Reading makes nothing."""
    store = new_store(tmp_path)

    assert ((), ()) == (store.read().lessons, store.read().problems)
    assert [] == list(tmp_path.iterdir())


def test_an_added_lesson_is_read_back(tmp_path: Path) -> None:
    """With an id, the day and everything that the draft said; its record has id and title as header, content as lines."""
    store = new_store(tmp_path)
    added = store.add(Draft("T", "a\nb", "gotcha", type="constraint", source="ai", triggers=("x", "y")), today=TODAY)
    lesson = new_store(tmp_path).find("L001")
    record = lesson.record()

    assert added.lesson == lesson
    assert ("T", "a\nb", "gotcha", "constraint") == (lesson.title, lesson.content, lesson.category, lesson.type)
    assert ("ai", ("x", "y"), "2026-03-01") == (lesson.source, lesson.triggers, lesson.learned)
    assert ("T 🤖", "L001 T 🤖") == (lesson.shown_title, record.shown)
    assert ("lesson:L001", ("a", "b")) == (record.key, record.lines)
    assert ("a\nb\ngotcha", ("x", "y")) == (record.text, record.triggers)


def test_a_near_duplicate_is_reported_not_added(tmp_path: Path) -> None:
    """More than four fifths of the words in common with an active lesson; `is_forced` writes it all the same."""
    store = new_store(tmp_path)
    store.add(Draft("Git commit format", "Use conventional commits: type(scope): description"), today=TODAY)
    again = Draft("Git commit format!", "use conventional commits - type scope description")

    assert "L001" == getattr(store.add(again, today=TODAY).duplicate_of, "id", None)
    assert 1 == len(store.read().lessons)
    assert "L002" == getattr(store.add(again, today=TODAY, is_forced=True).lesson, "id", None)
    store.delete("L001")
    store.delete("L002")
    assert "L003" == getattr(store.add(again, today=TODAY).lesson, "id", None)


def test_ids_are_never_used_twice(tmp_path: Path) -> None:
    """Tombstones keep theirs, and one that was removed from the file by hand is remembered beside it."""
    store = new_store(tmp_path)
    for number in range(3):
        store.add(draft(number), today=TODAY)
    store.delete("L003")
    text = store.file.read_text(encoding="utf-8")
    store.file.write_text(text[: text.index("### [L002]")], encoding="utf-8")

    assert "L004" == getattr(store.add(draft(9), today=TODAY).lesson, "id", None)


@pytest.mark.parametrize(
    ("given_title", "title"),
    [
        ("# > Title\nof two lines", "Title of two lines"),
        ("[***--|*----] starred 🤖", "starred"),
        ("  tabs\tand\u200b such ", "tabs and such"),
        ("C#", "C#"),
        ("x" * 500, "x" * 199 + "…"),
    ],
    ids=["marks", "stars", "invisible", "sharp", "long"],
)
def test_titles_are_brought_into_the_form_of_the_file(tmp_path: Path, given_title: str, title: str) -> None:
    """One line that says the same when it is read again."""
    store = new_store(tmp_path)

    store.add(Draft(given_title, "c"), today=TODAY)

    assert title == store.find("L001").title


@given(st.text(max_size=60), st.text(max_size=80))
@examples(60)
def test_no_text_breaks_the_file(tmp_path_factory: pytest.TempPathFactory, title: str, content: str) -> None:
    """Whatever is added, one lesson is added, and the one before it stays as it was."""
    store = new_store(tmp_path_factory.mktemp("s"))
    first = store.add(draft(), today=TODAY).lesson
    with contextlib.suppress(LessonsError):  # Nothing but marks is no title.
        store.add(Draft(title, content), today=TODAY, is_forced=True)
    if len(store.read().lessons) == 1:
        with pytest.raises(LessonsError, match="is no title"):
            title_form(title)
        return

    assert ["L001", "L002"] == [lesson.id for lesson in store.read().lessons]
    assert first == store.read().lessons[0]
    assert [] == [problem for problem in store.read().problems if "no content" not in problem.message]


def test_secrets_are_replaced_before_anything_is_stored(tmp_path: Path) -> None:
    """In title, content and triggers, of a new lesson and of a changed one."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    store = new_store(tmp_path)
    store.add(Draft(f"use {token}", f"it is {token}", triggers=(token,)), today=TODAY)
    store.edit("L001", LessonEdit(content=f"now {token}"))

    assert token not in store.file.read_text(encoding="utf-8")
    assert "[redacted:" in store.find("L001").content


def test_bytes_that_are_no_text_survive_every_change(tmp_path: Path) -> None:
    """Invalid UTF-8, a byte order mark and CRLF stay byte for byte; a lesson shows them as U+FFFD."""
    text = "\ufeff## Active Lessons\r\n### [L001] caf\udce9\r\n> c\udcff\r\n\x0b\u2028odd\r\n"
    store = new_store(tmp_path, text)
    before = store.file.read_bytes()

    store.add(draft(), today=TODAY)

    assert store.file.read_bytes().startswith(before)
    assert ("caf\ufffd", "c\ufffd") == (store.find("L001").title, store.find("L001").content)


@pytest.mark.parametrize("data", [b"\xff\xfe#\x00", b"### [L001] T\n> c\n\x00\x01"], ids=["utf-16", "binary"])
def test_a_file_that_is_no_text_is_neither_read_nor_written(tmp_path: Path, data: bytes) -> None:
    """It is told as a problem; a change is an error, and the file stays."""
    store = new_store(tmp_path, "")
    store.file.write_bytes(data)

    assert () == store.read().lessons
    assert "no UTF-8" in store.read().problems[0].message
    with pytest.raises(LessonsFileError, match="no UTF-8"):
        store.add(draft(), today=TODAY)
    assert data == store.file.read_bytes()


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    """The error names file and limit."""
    store = new_store(tmp_path, "x" * (MAX_BYTES + 1))

    with pytest.raises(LessonsFileError, match=r"LESSONS.md is longer than 5 MB"):
        store.read()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_within_the_tree_is_written_through(tmp_path: Path) -> None:
    """The link stays, its target gets the lesson."""
    store = new_store(tmp_path, "")
    target = tmp_path / "tree" / "docs" / "lessons.md"
    target.parent.mkdir()
    target.write_text("# Kept\n", encoding="utf-8")
    store.file.unlink()
    store.file.symlink_to(target)

    store.add(draft(), today=TODAY)

    assert store.file.is_symlink()
    assert target.read_text(encoding="utf-8").startswith("# Kept\n\n## Active Lessons\n\n### [L001]")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("place", ["outside.md", "tree/.git/notes.md", "tree/main.py"])
def test_a_link_to_anything_else_is_refused(tmp_path: Path, place: str) -> None:
    """A cloned repository's link neither shows nor changes a file elsewhere."""
    store = new_store(tmp_path, "")
    target = tmp_path / place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("### [L001] T\n> secret\n", encoding="utf-8")
    store.file.unlink()
    store.file.symlink_to(target)

    with pytest.raises(LessonsFileError, match="replace the link"):
        store.read()
    with pytest.raises(LessonsFileError, match="replace the link"):
        store.add(draft(), today=TODAY)
    assert "### [L001] T\n> secret\n" == target.read_text(encoding="utf-8")


def test_a_lesson_added_by_hand_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that saves between reading and replacing is noticed, and the change is made anew on its text."""
    store = new_store(tmp_path, OLDER)
    by_hand = "\n### [L002] By hand\n> saved just now\n"
    fsync, saves = os.fsync, [by_hand]

    def save_in_between(descriptor: int) -> None:
        fsync(descriptor)
        if saves and store.counters.exists():
            with store.file.open("a", encoding="utf-8") as file:
                file.write(saves.pop())

    store.note_injected(["L001"])
    monkeypatch.setattr(os, "fsync", save_in_between)
    added = store.add(draft(), today=TODAY).lesson

    assert [] == saves
    assert ["L001", "L002", "L003"] == [lesson.id for lesson in store.read().lessons]
    assert added is not None
    assert "L003" == added.id


def test_counters_move_beside_our_file_at_the_first_write(tmp_path: Path) -> None:
    """Until then they count from the file; after it they are what they were, and the file has none."""
    store = new_store(tmp_path, OLDER)
    before = store.find("L001")
    store.cite(["L001"], TODAY)

    assert OLDER == store.file.read_text(encoding="utf-8")
    store.add(draft(), today=TODAY)
    after = store.find("L001")
    assert (before.uses, before.velocity, before.citations) == (12, 1.5, 0)
    assert (after.uses, after.velocity, after.citations, after.last) == (13, 2.5, 1, "2026-03-01")
    assert "### [L001] Close files\n- **Learned**: 2026-01-02 | **Category**: gotcha\n" in store.file.read_text(
        encoding="utf-8"
    )


def test_counters_of_another_tools_file_stay_in_it(tmp_path: Path) -> None:
    """Uses, velocity, last use and stars are rewritten there; a new lesson gets its form."""
    store = new_store(tmp_path, OLDER, keeps_inline=True)
    store.note_injected(["L001"])
    store.cite(["L001"], TODAY)
    store.add(Draft("New", "rule", source="ai"), today=TODAY)

    expected = (
        OLDER.replace("[***--|*----]", "[***--|****-]")
        .replace("12 | **Velocity**: 1.5", "13 | **Velocity**: 2.5")
        .replace("2026-02-01", "2026-03-01")
        + "\n### [L002] [-----|-----] New 🤖\n"
        "- **Uses**: 0 | **Velocity**: 0 | **Learned**: 2026-03-01 | **Last**: 2026-03-01 | **Category**: correction"
        " | **Source**: ai\n> rule\n"
    )
    assert expected == store.file.read_text(encoding="utf-8")
    assert {"injections": 1, "citations": 1} == json.loads(store.counters.read_text(encoding="utf-8"))["L001"]
    assert (13, 1, 1) == (store.find("L001").uses, store.find("L001").injections, store.find("L001").citations)


def test_counting_does_not_touch_our_file(tmp_path: Path) -> None:
    """It is committed: what is counted stands beside it."""
    store = new_store(tmp_path)
    store.add(draft(), today=TODAY)
    stamp = store.stamps()[0]

    store.note_injected(["L001", "L001", "S001", "L999"])
    store.cite(["L001"], TODAY)
    store.decay(TODAY, is_forced=True)

    assert stamp == store.stamps()[0]
    assert (1, 0.5, 1, 1) == tuple(
        getattr(store.find("L001"), name) for name in ("uses", "velocity", "injections", "citations")
    )


def test_a_message_counts_once(tmp_path: Path) -> None:
    """Each lesson once in it, and the same message never again; unknown and superseded ones count nothing."""
    store = new_store(tmp_path)
    for number in range(3):
        store.add(draft(number), today=TODAY)
    store.supersede("L002", "L003")

    assert ("L001",) == store.cite(["L001", "L001", "L002", "L009"], TODAY, message="m1")
    assert () == store.cite(["L001"], TODAY, message="m1")
    assert ("L001",) == store.cite(["L001"], TODAY, message="m2")
    assert 2 == store.find("L001").uses


def test_decay_runs_at_most_once_a_week(tmp_path: Path) -> None:
    """The first time a week after the first lesson; missed weeks count as one; force does not ask."""
    store = new_store(tmp_path)
    assert store.decay(TODAY) is None
    store.add(draft(), today=TODAY)
    store.cite(["L001"], TODAY)

    assert store.decay(date(2026, 3, 7)) is None
    assert ("L001",) == store.decay(date(2026, 5, 1))
    assert 0.5 == store.find("L001").velocity
    assert store.decay(date(2026, 5, 7)) is None
    assert store.decay(date(2026, 5, 7), is_forced=True) is not None
    assert 0.25 == store.find("L001").velocity


def test_decay_rewrites_another_tools_file(tmp_path: Path) -> None:
    """Its counters are in it; the first look only begins the week, so that what is taken over keeps its stars."""
    text = OLDER.replace("1.5", "0.8")
    store = new_store(tmp_path, text, keeps_inline=True)

    assert [None, None] == [store.decay(TODAY), store.decay(date(2026, 3, 7))]
    assert text == store.file.read_text(encoding="utf-8")
    assert store.decay(date(2026, 3, 8)) is not None
    assert "**Uses**: 11 | **Velocity**: 0.4 |" in store.file.read_text(encoding="utf-8")


def test_edit_changes_what_is_named(tmp_path: Path) -> None:
    """The other fields and all other lines stay."""
    store = new_store(tmp_path, "intro\n\n### [L001] T\n- **Category**: gotcha | **Mood**: good\n> c\n\noutro\n")

    lesson = store.edit("L001", LessonEdit(title="U", is_promotable=False))

    assert ("U", "gotcha", False, "c") == (lesson.title, lesson.category, lesson.is_promotable, lesson.content)
    expected = "intro\n\n### [L001] U\n- **Category**: gotcha | **Mood**: good | **Promotable**: no\n> c\n\noutro\n"
    assert expected == store.file.read_text(encoding="utf-8")


def test_superseded_and_deleted_lessons_are_not_active(tmp_path: Path) -> None:
    """They stay in the file, with what replaced them."""
    store = new_store(tmp_path)
    for number in range(3):
        store.add(draft(number), today=TODAY)

    assert "L002" == store.supersede("L001", "L002").superseded
    assert "deleted" == store.delete("L003").superseded
    assert ["L002"] == [lesson.id for lesson in store.read().active]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("L001", "L001", "itself"), ("L001", "L009", "no lesson L009"), ("L001", "L002", "active"), ("L8", "L001", "L8")],
)
def test_a_supersession_that_makes_no_sense_is_an_error(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Nothing is written then."""
    store = new_store(tmp_path)
    store.add(draft(1), today=TODAY)
    store.add(draft(2), today=TODAY)
    store.delete("L002")
    before = store.file.read_bytes()

    with pytest.raises(LessonsError, match=message):
        store.supersede(old, new)
    assert before == store.file.read_bytes()


def test_promotion_copies_with_counters_and_supersedes(tmp_path: Path) -> None:
    """It is offered from 50 uses; the copy has an id of its own, and a second try finds it."""
    text = OLDER.replace("**Uses**: 12", "**Uses**: 50")
    store, system = new_store(tmp_path, text), new_system(tmp_path)
    assert store.find("L001").is_promotion_due

    copy = store.promote("L001", system, TODAY)

    assert ("S001", "Close files", 50, "2026-01-02") == (copy.id, copy.title, copy.uses, copy.learned)
    assert "S001" == store.find("L001").superseded
    with pytest.raises(LessonsError, match="superseded"):
        store.promote("L001", system, TODAY)


def test_a_lesson_that_says_no_is_not_promoted(tmp_path: Path) -> None:
    """Neither offered nor copied."""
    store = new_store(tmp_path, OLDER.replace("**Uses**: 12", "**Uses**: 90 | **Promotable**: no"))

    assert not store.find("L001").is_promotion_due
    with pytest.raises(LessonsError, match="Promotable"):
        store.promote("L001", new_system(tmp_path), TODAY)


def test_the_newer_of_two_entries_with_one_id_gets_another(tmp_path: Path) -> None:
    """The one learned first keeps it; both count and are read meanwhile, but neither can be changed."""
    text = (
        "### [L003] Later\n- **Learned**: 2026-02-02\n> b\n\n"
        "### [L003] First\n- **Learned**: 2026-01-01\n> a\n\n### [L004] Other\n> c\n"
    )
    store = new_store(tmp_path, text)

    assert 3 == len(store.read().active)
    with pytest.raises(UnknownLessonError, match="renumber"):
        store.delete("L003")
    assert ("L005",) == store.renumber("L003")
    assert ["L005", "L003", "L004"] == [lesson.id for lesson in store.read().lessons]
    assert "Later" == store.find("L005").title


def test_ids_of_the_other_level_are_told_not_read(tmp_path: Path) -> None:
    """A project's file cannot stand in for a lesson of all projects."""
    store = new_store(tmp_path, "### [S001] T\n> c\n### [L001] U\n> d\n")

    assert ["L001"] == [lesson.id for lesson in store.read().lessons]
    assert [1] == [problem.line for problem in store.read().problems]


def test_reading_again_parses_only_what_changed(tmp_path: Path) -> None:
    """The same bytes give the same object; a change of either file is seen at once."""
    store = new_store(tmp_path, OLDER)
    first = store.read()

    assert first is store.read()
    store.note_injected(["L001"])
    assert 1 == store.read().lessons[0].injections
    store.file.write_text(OLDER.replace("Close", "Shut!"), encoding="utf-8")
    assert "Shut! files" == store.read().lessons[0].title


def test_damaged_counters_are_told_and_begun_anew(tmp_path: Path) -> None:
    """The lessons are read without them; the next count sets the file aside."""
    store = new_store(tmp_path, "### [L001] T\n> c\n")
    store.counters.parent.mkdir()
    store.counters.write_text("{", encoding="utf-8")

    assert ["is damaged"] == [problem.message[:10] for problem in store.read().problems]
    store.cite(["L001"], TODAY)
    assert 1 == store.find("L001").uses
    assert 1 == len(list(store.counters.parent.glob("*.corrupt-*")))


def test_a_held_lock_is_an_error_that_says_so(tmp_path: Path) -> None:
    """A change waits, then gives up; reading needs no lock."""
    store = new_store(tmp_path, OLDER)
    with locked(store.counters.with_name(f"{store.counters.name}.lock"), 0) as is_held:
        assert is_held
        with pytest.raises(LessonsBusyError, match="cannot be locked"):
            store.delete("L001")

        assert 1 == len(store.read().lessons)


def test_counters_that_another_tool_keeps_beside_its_file_count(tmp_path: Path) -> None:
    """Until we count a lesson ourselves; its file is never written."""
    store = new_store(tmp_path, "### [L001] T\n> c\n### [L002] U\n> d\n", keeps_inline=True)
    theirs = store.file.with_name("stats.json")
    theirs.write_text('{"L001": {"uses": 7, "velocity": 1.5, "last": "2026-02-01"}}', encoding="utf-8")
    before = theirs.read_bytes()
    store.note_injected(["L001"])

    assert (7, 1.5, 1) == (store.find("L001").uses, store.find("L001").velocity, store.find("L001").injections)
    store.cite(["L001"], TODAY)
    assert (8, 2.5, "2026-03-01") == (store.find("L001").uses, store.find("L001").velocity, store.find("L001").last)
    assert before == theirs.read_bytes()
    assert "### [L001] T\n> c\n### [L002] U\n> d\n" == store.file.read_text(encoding="utf-8")


def test_new_ids_do_not_go_on_from_a_slip(tmp_path: Path) -> None:
    """A number of nine digits in the file, as an id or in a rule, must not become one of ten."""
    store = new_store(tmp_path, "### [L999999999] T\n> ### [L555555555] c\n\n### [L003] U\n> d\n")
    store.cite(["L999999999"], TODAY)

    assert ["L004", "L005"] == [getattr(store.add(draft(n), today=TODAY).lesson, "id", None) for n in range(2)]


def test_the_last_id_is_the_last(tmp_path: Path) -> None:
    """Then adding and renumbering are errors that say so, and nothing is written."""
    store = new_store(tmp_path, "### [L99999] T\n> c\n### [L001] U\n> d\n### [L001] V\n> e\n")
    before = store.file.read_bytes()

    with pytest.raises(LessonsError, match="no id is left"):
        store.add(draft(), today=TODAY)
    with pytest.raises(LessonsError, match="no id is left"):
        store.renumber("L001")
    assert before == store.file.read_bytes()


def test_messages_of_a_turn_count_as_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message once; the counters are written once for all of them."""
    store = new_store(tmp_path)
    for number in range(2):
        store.add(draft(number), today=TODAY)
    change = store.change
    calls: list[object] = []
    monkeypatch.setattr(store, "change", lambda step: (calls.append(step), change(step)))
    said = [
        CitingMessage(("L001", "L001"), "m1"),
        CitingMessage(("L001", "L002", "L009"), "m2"),
        CitingMessage(("L002",), "m1"),
    ]

    assert ("L001", "L001", "L002") == store.cite_messages(said, TODAY)
    assert () == store.cite_messages(said, TODAY)
    assert () == store.cite_messages([CitingMessage((), "m3")], TODAY)
    assert 2 == len(calls)
    assert {"L001": (2, 2.0), "L002": (1, 1.0)} == {one.id: (one.uses, one.velocity) for one in store.read().lessons}


MESSAGES = {
    "by its id": ([CitingMessage(("L001",), "m1", ("t",))], [CitingMessage(("L001",), "m1", ("u",))], 1),
    "two with one text": ([CitingMessage(("L001",), "m1", ("t",))], [CitingMessage(("L001",), "m2", ("t",))], 2),
    "the event again": ([CitingMessage(("L001",), "m1", ("t",))], [CitingMessage(("L001",), "", ("t",))], 1),
    "the event twice": ([CitingMessage(("L001",), "", ("t",))], [CitingMessage(("L001",), "", ("t",))], 1),
    "the transcript late": ([CitingMessage(("L001",), "", ("t",))], [CitingMessage(("L001",), "m1", ("t",))], 1),
    "late, then one more": (
        [CitingMessage(("L001",), "", ("t",))],
        [CitingMessage(("L001",), "m1", ("t",)), CitingMessage(("L001",), "m2", ("t",))],
        2,
    ),
    "a part of it": ([CitingMessage(("L001",), "m1", ("t", "part"))], [CitingMessage(("L001",), "", ("part",))], 1),
    "without a name": ([CitingMessage(("L001",))], [CitingMessage(("L001",))], 2),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_which_messages_count(tmp_path: Path, case: str) -> None:
    """By the id that the transcript gives, else by the text that came with the event; never both for one message."""
    first, second, uses = MESSAGES[case]
    store = new_store(tmp_path)
    store.add(draft(), today=TODAY)
    store.cite_messages(first, TODAY)
    store.cite_messages(second, TODAY)

    assert uses == store.find("L001").uses
    store.cite_messages([*first, *second] if first[0].message or first[0].texts else [], TODAY)
    assert uses == store.find("L001").uses


def test_lessons_of_another_store_count_as_known(tmp_path: Path) -> None:
    """What resembles an active one of them is not added; one that was deleted there is no reason."""
    store, system = new_store(tmp_path), new_system(tmp_path)
    system.add(draft(), today=TODAY)

    (found,) = store.adopt([Offer(draft())], today=TODAY, elsewhere=Elsewhere(lessons=system.read().lessons))
    assert (None, "S001") == (found.lesson_id, getattr(found.duplicate_of, "id", None))
    system.delete("S001")
    (found,) = store.adopt([Offer(draft())], today=TODAY, elsewhere=Elsewhere(lessons=system.read().lessons))
    assert "L001" == found.lesson_id


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
def test_a_file_of_a_tree_has_ordinary_rights(tmp_path: Path) -> None:
    """It is committed, so others may read it as far as the umask lets them; what lies in the home stays private."""
    store, system = new_store(tmp_path), new_system(tmp_path)
    before = os.umask(0o027)
    try:
        store.add(draft(), today=TODAY)
        system.add(draft(), today=TODAY)
    finally:
        os.umask(before)

    assert 0o640 == store.file.stat().st_mode & 0o777
    assert 0o600 == system.file.stat().st_mode & 0o777
    store.file.chmod(0o604)
    store.add(draft(2), today=TODAY)
    assert 0o604 == store.file.stat().st_mode & 0o777


@pytest.mark.skipif(sys.platform == "win32", reason="the time of a change is that of the creation there")
def test_a_change_shows_although_its_time_was_set_back(tmp_path: Path) -> None:
    """Tools that unpack or synchronise files keep size and time of the last write."""
    store = new_store(tmp_path, OLDER)
    before, times = store.stamps(), store.file.stat()
    time.sleep(0.02)  # More than the grain of a file system's clock.
    with store.file.open("r+", encoding="utf-8") as file:
        file.write(OLDER.replace("Close", "Shut!"))
    os.utime(store.file, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert before != store.stamps()


def test_counters_of_another_tool_show_in_the_stamps(tmp_path: Path) -> None:
    """They are read with a file that is shared with it, and only then."""
    shared, ours = (new_store(tmp_path / name, OLDER, keeps_inline=name == "shared") for name in ("shared", "ours"))
    before = shared.stamps(), ours.stamps()
    for store in (shared, ours):
        store.file.with_name("stats.json").write_text("{}", encoding="utf-8")

    assert before[0] != shared.stamps()
    assert before[1] == ours.stamps()
