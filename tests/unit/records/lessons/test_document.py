from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.records.lessons.counters import Counts
from hybrid.records.lessons.document import LessonsDocument, NewEntry, parse
from hybrid.records.lessons.types import Draft, LessonEdit
from hybrid.records.types import LessonsError, UnknownLessonError
from tests.support.cases import project, read

OURS = project("lessons/ours.txt")["LESSONS.md"]

OLDER = """\
## Active Lessons

### [L002] [***--|*----] Close files
- **Uses**: 12 | **Velocity**: 1.5 | **Learned**: 2026-01-02 | **Last**: 2026-02-01 | **Category**: gotcha
> Use a context manager.
"""

NEW = NewEntry("L009", Draft("A new rule", "first\n\nthird", "decision", triggers=("x", "y z")), "2026-03-01")

PIECES = [case.given() for case in read("lessons/pieces.txt")]
"""Joined in any order they must survive every change."""
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=14).map("".join)


def ids(document: LessonsDocument) -> list[str]:
    """Ids in the order of the file."""
    return [entry.id for entry in document.entries]


def test_our_form_is_read_whole() -> None:
    """Id, title, fields, triggers and all quoted lines of an entry are read; a field nobody knows is kept beside them."""
    first, second = parse(OURS).entries

    assert ("L001", "Name branches after issues") == (first.id, first.title)
    assert ("2026-01-02", "pattern", ("branch", "git flow")) == (
        first.value("learned"),
        first.value("category"),
        first.triggers,
    )
    assert "The collation differs between machines.\n\nSort in the caller." == second.content
    assert "mia" == second.value("owner")


def test_the_older_form_is_read_with_its_counters() -> None:
    """Stars before the title are no part of it, and the counters in the line are fields."""
    (entry,) = parse(OLDER).entries

    assert ("Close files", "12", "1.5", "2026-02-01") == (
        entry.title,
        entry.value("uses"),
        entry.value("velocity"),
        entry.value("last"),
    )
    assert entry.has_counters


@pytest.mark.parametrize(
    ("text", "category", "content"),
    [
        ("### [L001] T\n> c\n", "", "c"),
        ("### [l001]   T  \n\n* **category** :  Gotcha|**Learned**:2026-01-01\n\n> c\n\n>d\n", "Gotcha", "c\nd"),
        ("###[L001] T\n+ **Category:** gotcha\n  > c\n", "gotcha", "c"),
        ("## [L001] T\n- **Learned**: x\n- **Category**: gotcha\n> c\n#### more\n> d", "gotcha", "c\nd"),
        ("### [L001] [***--/+----] T\r\n- **Category**: gotcha\r\n> c\r\n", "gotcha", "c"),
        ("\ufeff### [L001] T\n**Category**: gotcha\nno quote mark\n", "gotcha", "no quote mark"),
        ("### [L001] T\n- **Category**: gotcha |\n> c\na remark\n", "gotcha", "c"),
    ],
    ids=["no fields", "lower case and spaces", "colon in bold", "a field a line", "crlf", "no marks", "remark"],
)
def test_what_people_make_of_it_by_hand_is_read(text: str, category: str, content: str) -> None:
    """Missing field lines, other bullets, spacing, cases and line ends do not hide a lesson."""
    (entry,) = parse(text).entries

    assert ("L001", "T", category, content) == (entry.id, entry.title, entry.value("category"), entry.content)


@pytest.mark.parametrize(
    ("value", "superseded"),
    [
        ("deleted", "deleted"),
        ("l012", "L012"),
        ("[S001] (wider)", "S001"),
        ("yes, by hand", "yes, by hand"),
        ("no", ""),
    ],
)
def test_whatever_stands_after_superseded_makes_it_inactive(value: str, superseded: str) -> None:
    """An id, `deleted` or any other word but no: a rule that somebody took back is not given out."""
    (entry,) = parse(f"### [L001] T\n- **Superseded**: {value}\n> c\n").entries

    assert superseded == entry.superseded


@pytest.mark.parametrize(
    ("title", "superseded"),
    [
        ("Superseded by L012", "L012"),
        ("Use tabs (superseded by l012: spaces)", "L012"),
        ("Use tabs \u2013 Superseded by the formatter", "the"),
        ("**Superseded by** `S001`", "S001"),
        ("Use tabs. Superseded by [L012](#l012)", "L012"),
        ("Rows that are superseded by others are hidden", ""),
        ("Non-superseded by default", ""),
        ("Superseded by the gateway's own limit", "the"),
        ("Cache rule: superseded by entries are dropped first", ""),
        ("Use Redis (superseded by nothing)", ""),
        ("Superseded by", ""),
    ],
)
def test_a_title_may_say_what_supersedes_it(title: str, superseded: str) -> None:
    """At its beginning, in brackets, behind a dash or as a sentence of its own; a title about the word says nothing."""
    (entry,) = parse(f"### [L001] {title}\n> c\n").entries

    assert superseded == entry.superseded


def test_the_field_decides_against_the_title() -> None:
    """`Superseded: no` keeps a lesson whose title only looks so."""
    (entry,) = parse("### [L001] Superseded by is no field\n- **Superseded**: no\n> c\n").entries

    assert "" == entry.superseded


def test_an_agents_lesson_is_known_by_field_or_mark() -> None:
    """Source `ai` and a robot after the title say the same."""
    marked, said = parse("### [L001] T 🤖\n> c\n### [L002] U\n- **Source**: ai 🤖\n> c\n").entries

    assert ("T", "ai", "ai") == (marked.title, marked.source, said.source)


@pytest.mark.parametrize("opening", ["```", "~~~~", "<!--"])
def test_an_entry_in_a_code_block_or_comment_is_none(opening: str) -> None:
    """It is an example or was taken out: somebody's text, which reserves no id either."""
    closing = "-->" if opening == "<!--" else opening
    document = parse(f"{opening}\n### [L007] Example\n> c\n{closing}\n### [L001] T\n> c\n")

    assert ["L001"] == ids(document)
    assert 1 == document.largest_number("project")


def test_a_quoted_heading_reserves_no_id() -> None:
    """A rule may speak of headings; only real ones, read or not, and supersessions reserve their ids."""
    quoted = parse("### [L001] T\n> ### [L400] is a heading\n    ### [L500] code\n")
    real = parse("### [L001] T\n- **Superseded**: L007\n> c\n# [L009] level too high\n### [L012]\n")

    assert (1, 12) == (quoted.largest_number("project"), real.largest_number("project"))
    assert 7 == parse("### [L001] T\n- **Superseded**: L007\n> c\n").largest_number("project")


@pytest.mark.parametrize("field", ["", "- **Superseded**: L999999999\n"], ids=["heading", "supersession"])
def test_a_number_that_is_too_large_is_passed_over(field: str) -> None:
    """New ids do not go on from it, or they would soon be no ids; a lesson that has one is read and told of."""
    document = parse(f"### [L100000] T\n{field}> c\n### [L002] U\n> d\n")

    assert 2 == document.largest_number("project")
    assert ["L100000", "L002"] == ids(document)
    assert [(1, "L100000 has no number from 1 to 99,999; give it one that no other lesson has")] == list(
        document.problems
    )


def test_a_code_block_that_is_never_closed_hides_nothing() -> None:
    """One slip must not take half of the lessons away; it is told as a problem with its line."""
    document = parse("### [L001] T\n> c\n```\n### [L002] U\n> c\n")

    assert ["L001", "L002"] == ids(document)
    assert [3] == [line for line, _ in document.problems]


def test_two_entries_with_one_id_are_both_read() -> None:
    """After branches were merged; the second is told as a problem, and neither can be meant by its id alone."""
    document = parse("### [L001] T\n> c\n### [L001] U\n> d\n")

    assert ["T", "U"] == [entry.title for entry in document.entries]
    assert [(3, True)] == [(line, "renumber" in message) for line, message in document.problems]
    with pytest.raises(UnknownLessonError, match="renumber L001"):
        document.only("L001")


@pytest.mark.parametrize("heading", ["### [L1] short", "### L001 bare", "### [L001]", "  ### [ L001 ] spaces"])
def test_what_looks_like_a_lesson_and_is_none_is_told(heading: str) -> None:
    """Its line is named, and the lessons around it are read."""
    document = parse(f"### [L010] T\n> c\n{heading}\n> d\n### [L011] U\n> e\n")

    assert ["L010", "L011"] == ids(document)
    assert [3] == [line for line, _ in document.problems]


@given(TEXTS)
def test_parsing_keeps_every_character(text: str) -> None:
    """Whatever the file holds, the document's text is that of the file."""
    assert text == parse(text).text


@given(TEXTS)
def test_adding_keeps_every_line(text: str) -> None:
    """All lines of the file stand in the new one in order, its lessons are read as before, and the new one comes once."""
    before = parse(text)
    try:
        after = before.with_added([NEW], level="project")
    except LessonsError:  # An open comment would swallow it: nothing is written then.
        assert any("never closed" in message for _, message in before.problems)
        return

    kept = iter(line.rstrip("\r\n") for line in after.lines)
    if text != "\ufeff":  # A byte order mark alone is no line: it stays before the first one.
        assert all(line.rstrip("\r\n") in kept for line in before.lines)
    assert [entry for entry in ids(before) if entry != "L009"] == [entry for entry in ids(after) if entry != "L009"]
    assert 1 == sum(entry.title == "A new rule" for entry in after.entries)
    added = next(entry for entry in after.entries if entry.title == "A new rule")
    assert ("first\n\nthird", ("x", "y z"), "decision") == (added.content, added.triggers, added.value("category"))


@given(TEXTS, st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=20))
def test_changing_an_entry_leaves_all_other_lines(text: str, value: str) -> None:
    """Of the lines outside of the entry not one differs, whatever stands there."""
    before = parse(f"{text}\n### [L555] Target\n> old\n\n## End\n{value}")
    if ids(before).count("L555") != 1:
        return
    try:
        after = before.with_edit("L555", LessonEdit(content="new\nlines", category="gotcha", triggers=("t",)))
    except LessonsError:
        return

    old, new = before.only("L555"), after.only("L555")
    assert before.lines[: old.heading] == after.lines[: new.heading]
    assert before.lines[old.end :] == after.lines[new.end :]
    assert ("new\nlines", "gotcha", ("t",)) == (new.content, new.value("category"), new.triggers)


def test_an_edit_touches_only_its_line() -> None:
    """Unknown fields of the line, its order and the white space at its end stay."""
    text = "### [L001] T  \n* **Owner**: mia |  **category** : gotcha \t\n> c\nremark\n"

    edited = parse(text).with_edit("L001", LessonEdit(category="pattern", triggers=("a", "b"), title="New"))

    expected = "### [L001] New  \n* **Owner**: mia |  **category** : pattern | **Triggers**: a, b \t\nremark\n"
    assert expected == edited.text.replace("> c\n", "")


def test_a_field_is_taken_away_with_its_bar() -> None:
    """Wherever it stands in the line; a line with nothing else goes."""
    text = "### [L001] T\n- **Learned**: d | **Type**: constraint | **Triggers**: a\n- **Promotable**: no\n> c\n"
    document = parse(text)

    assert "- **Learned**: d | **Triggers**: a\n" in document.with_edit("L001", LessonEdit(type="")).text
    assert "- **Learned**: d | **Type**: constraint\n" in document.with_edit("L001", LessonEdit(triggers=())).text
    assert "Promotable" not in document.with_edit("L001", LessonEdit(is_promotable=True)).text


def test_superseding_adds_one_field() -> None:
    """An entry without a field line gets one; the text stays."""
    document = parse("### [L001] T\r\n> c\r\n")

    assert "### [L001] T\r\n- **Superseded**: L002\r\n> c\r\n" == document.with_superseded("L001", "L002").text


def test_a_new_file_has_title_help_and_section() -> None:
    """What is written into nothing is a file that a person understands, with at most five lines of help."""
    text = parse("").with_added([NEW], level="system").text

    assert text.startswith("# LESSONS.md - System Level\n\n> ")
    assert sum(line.startswith(">") for line in text.split("## Active Lessons")[0].splitlines()) <= 5
    expected = """
## Active Lessons

### [L009] A new rule
- **Learned**: 2026-03-01 | **Category**: decision | **Triggers**: x, y z
> first
>
> third
"""
    assert text.endswith(expected)


def test_a_file_without_the_section_gets_it_at_the_first_write() -> None:
    """Before its entries when no other section holds them, so that they stand in it."""
    text = parse("# Ours\n\n### [L001] T\n> c\n").with_added([NEW], level="project").text

    assert text.startswith("# Ours\n\n## Active Lessons\n\n### [L001] T\n> c\n\n### [L009] A new rule\n")


def test_a_new_entry_stands_at_the_end_of_its_section() -> None:
    """Before the next section, with the line ends of the file."""
    text = "# T\r\n## Active Lessons\r\n### [L001] T\r\n> c\r\n## Elsewhere\r\nx"

    added = parse(text).with_added([NEW], level="project").text

    assert "> c\r\n\r\n### [L009] A new rule\r\n" in added
    assert added.endswith("> third\r\n\r\n## Elsewhere\r\nx")


def test_counters_of_the_older_form_are_rewritten_with_their_stars() -> None:
    """A file of another tool stays in its form: only what was counted changes."""
    text = parse(OLDER).with_counters({"L002": Counts(50, 0.5, "2026-03-01")}).text

    assert (
        OLDER.replace("[***--|*----]", "[****-|**---]")
        .replace("**Uses**: 12", "**Uses**: 50")
        .replace("1.5", "0.5")
        .replace("2026-02-01", "2026-03-01")
        == text
    )


def test_counters_are_taken_out_for_our_form() -> None:
    """Stars and three fields go; everything else of the line stays."""
    text = parse(OLDER).without_counters().text

    assert "### [L002] Close files\n- **Learned**: 2026-01-02 | **Category**: gotcha\n" in text


def test_an_open_comment_that_would_swallow_a_new_lesson_is_an_error() -> None:
    """Nothing is written rather than a lesson that nobody reads."""
    document = parse("## Active Lessons\n\n<!-- to do\n")

    with pytest.raises(LessonsError, match="line 3"):
        document.with_added([NewEntry("L001", Draft("T", "use --> for arrows"), "2026-01-01")], level="project")
