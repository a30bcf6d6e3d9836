from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid.records.lore.patterns import PatternDraft, new_pattern, read_patterns, with_deprecated, with_new
from hybrid.records.types import LoreWriteError, NoRecordError
from tests.support.cases import project

FILE = project("lore/patterns.txt")["patterns.yaml"]
NEW = new_pattern("pat-000009-dddddddd", PatternDraft("New", "Do it"), created_at="2026-02-10T00:00:00Z", project="")


def _ids(data: bytes) -> list[str]:
    found = read_patterns(data, "f")
    return [one.id for one in (*found.patterns, *found.anti_patterns)]


def test_all_keys_are_read_and_dates_stay_text() -> None:
    """Known keys are attributes, unknown ones live in `fields`; a number that is none counts as the default."""
    found = read_patterns(FILE.encode(), "patterns.yaml")
    new, old = found.patterns

    assert () == found.problems
    assert ("Quote the path", "", 'Write "$path"', 0.85, "2026-02-09") == (
        new.name,
        new.problem,
        new.solution,
        new.confidence,
        new.created_at,
    )
    assert ["1", {"a": "b"}] == new.fields["unheard_of"]
    assert [{"bad": "rm $path"}, {"good": 'rm "$path"'}] == new.fields["examples"]
    assert ("Use x=$((x + 1)) instead", 0.5, "general") == (old.solution, old.confidence, old.category)
    (anti,) = found.anti_patterns
    assert ("names with spaces split", "use a glob", "medium") == (anti.symptom, anti.fix, anti.severity)


@pytest.mark.parametrize(
    ("good", "bad", "line"),
    [
        ("name: 'Quote the path'", "name: 'Quote the path", 7),
        ("      context: Always", "\t- context: Always", 8),
        ('      problem: ""', "      problem: a: b: c", 9),
        ('      problem: ""', "     problem: less indented", 9),
    ],
    ids=["unclosed-quote", "tab", "colons", "indentation"],
)
def test_a_malformed_record_hides_no_other(good: str, bad: str, line: int) -> None:
    """The others are read, the broken one is a problem with its line."""
    found = read_patterns(FILE.replace(good, bad).encode(), "patterns.yaml")

    assert ["pat-000001-aaaaaaaa"] == [one.id for one in found.patterns]
    assert ["anti-000001-cccccccc"] == [one.id for one in found.anti_patterns]
    assert [("patterns.yaml", line)] == [(problem.file, problem.line) for problem in found.problems]


def test_a_file_of_broken_records_is_not_read_to_its_end() -> None:
    """After 500 broken ones the rest is named once: a file that is something else must not hold up a prompt."""
    found = read_patterns(b"patterns:\n" + b"- id: [\n" * 2_000 + b"- {id: a, name: b}\n", "f")

    assert (501, 502) == (len(found.problems), found.problems[-1].line)
    assert "the rest was not read" in found.problems[-1].message


def test_marks_of_a_merge_hide_no_record() -> None:
    """What git leaves in a conflict is named; the records on both sides are read."""
    text = FILE.replace("    - id: pat-000001", "<<<<<<< ours\n    - id: pat-000001").replace(
        "anti_patterns:", ">>>>>>> theirs\nanti_patterns:"
    )
    found = read_patterns(text.encode(), "f")

    assert 3 == len(found.patterns) + len(found.anti_patterns)
    assert ["no part of a record: '<<<<<<< ours'", "no part of a record: '>>>>>>> theirs'"] == [
        problem.message for problem in found.problems
    ]


@pytest.mark.parametrize(
    "text",
    [
        "patterns: " + "[" * 100_000,
        "patterns:\n  - id: a\n    name: " + "{a: " * 30 + "b" + "}" * 30 + "\n",
        "a: &x [1]\nb: &y [*x, *x]\npatterns:\n  - id: a\n    name: *y\n",
        "patterns:\n  - id: a\n    name: !!python/object/apply:os.system ['true']\n",
        "patterns:\n  - id: a\n    name: !evil x\n",
    ],
    ids=["nested-flow", "too-deep", "growing-aliases", "python-object", "own-tag"],
)
def test_what_asks_for_more_than_text_is_refused(text: str) -> None:
    """Depth, aliases and tags are bounded; such a record is a problem."""
    found = read_patterns(text.encode(), "f")

    assert () == found.patterns
    assert found.problems


def test_an_alias_of_a_text_is_read() -> None:
    """People who write YAML by hand may name a text once and use it again; a record cannot be repeated so."""
    repeated = read_patterns(b"patterns:\n  - &a {id: a, name: b}\n  - *a\n", "f")
    assert (["a"], 1) == ([one.id for one in repeated.patterns], len(repeated.problems))
    text = "patterns:\n  - {id: a, name: &n Twice, solution: *n}\n"

    assert "Twice" == read_patterns(text.encode(), "f").patterns[0].solution


@pytest.mark.parametrize(
    "text",
    ["", "\n", "# nothing\n", "patterns:\n", "patterns: []\n", "patterns: ~\nanti_patterns:\n", "---\n...\n"],
)
def test_an_empty_file_is_no_problem(text: str) -> None:
    """No records, no problems."""
    found = read_patterns(text.encode(), "f")

    assert ((), (), ()) == (found.patterns, found.anti_patterns, found.problems)


@given(st.binary(max_size=300))
@example(b"\xff\xfe\x00")
@example(b"patterns:\n - \n -\n  - id: a\n")
def test_any_bytes_can_be_read(data: bytes) -> None:
    """Nothing raises."""
    read_patterns(data, "f")


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bom", ["", "\ufeff"], ids=["plain", "bom"])
def test_adding_keeps_every_other_byte(end: str, bom: str) -> None:
    """The new record stands first, in the file's indentation and with its line ends."""
    before = (bom + FILE.replace("\n", end)).encode() + b"# \xff\xfe\n"
    after = with_new(before, "patterns", [NEW], "f")

    at = before.index(b'    - id: "pat-000002')
    assert before[:at] == after[:at]
    assert after.endswith(before[at:])
    added = after[at : len(after) - len(before) + at].decode()
    assert f'    - id: "pat-000009-dddddddd"{end}      name: "New"{end}' == added[: 48 + 2 * len(end)]
    assert ["pat-000009-dddddddd", *_ids(before)] == _ids(after)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "# Patterns and anti-patterns of this project.\n\npatterns:\n    - id: a\n"),
        ("patterns: []  # none\nanti_patterns:\n", "patterns:  # none\n    - id: a\nanti_patterns:\n"),
        ("patterns:\nanti_patterns: []\n", "patterns:\n    - id: a\nanti_patterns: []\n"),
        ("anti_patterns:\n- id: b\n  name: c", "anti_patterns:\n- id: b\n  name: c\n\npatterns:\n    - id: a\n"),
        ("patterns:\n- id: b\n  name: c\n", "patterns:\n- id: a\n- id: b\n  name: c\n"),
        ("patterns:\n  -   id: b\n      name: c\n", "patterns:\n  -   id: a\n  -   id: b\n      name: c\n"),
    ],
    ids=["no-file", "empty-list", "null", "no-section", "not-indented", "wide-dash"],
)
def test_adding_follows_the_form_of_the_file(text: str, expected: str) -> None:
    """Where there is no record yet, the list is begun; where there is one, its indentation is taken."""
    after = with_new(text.encode(), "patterns", [{"id": "a"}], "f").decode()

    assert expected == after.replace('"a"', "a")


def test_a_form_that_cannot_be_added_to_is_refused() -> None:
    """A list in one line is left alone, and the message says what to do."""
    with pytest.raises(LoreWriteError, match="add the record by hand"):
        with_new(b"patterns: [{id: a, name: b}]\n", "patterns", [NEW], "f")


def test_adding_works_beside_a_malformed_record() -> None:
    """The malformed lines stay as they are."""
    before = FILE.replace("'Quote the path'", '"Quote the path').encode()
    after = with_new(before, "patterns", [NEW], "f")

    assert ["pat-000009-dddddddd", *_ids(before)] == _ids(after)
    assert b'name: "Quote the path\n' in after


_TEXTS = st.text(max_size=40) | st.sampled_from(
    ["yes", "null", "0x1", "- a", "a: b", "#", "'", '"', "\\", "\u2028", "\ufeff"]
)
_FILES = st.sampled_from(
    [FILE, FILE.replace("\n", "\r\n"), FILE.replace("    - ", "- ").replace("      ", "  "), "", "\ufeff# c", "a: 1\n"]
)


@given(_FILES, _TEXTS, _TEXTS, st.binary(max_size=20))
def test_whatever_is_written_is_read_again(text: str, name: str, solution: str, tail: bytes) -> None:
    """A record of any text is read as it was given, the others stay, and every old byte is still there in order."""
    before = text.encode() + b"\n# " + tail.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
    record = new_pattern(
        "pat-000009-dddddddd", PatternDraft(f"n{name}", solution, problem=name), created_at="", project=""
    )
    try:
        after = with_new(before, "patterns", [record], "f")
    except LoreWriteError:
        # Only where the tail makes a file of records into something that is none.
        assert read_patterns(before, "f").problems
        return
    (new, *_) = read_patterns(after, "f").patterns

    assert (f"n{name}", solution) == (new.fields["name"], new.fields["solution"])
    rest = iter(after)
    assert all(byte in rest for byte in before)


@given(_TEXTS)
def test_withdrawing_changes_two_values(name: str) -> None:
    """The name gets its mark, the confidence becomes 0; all other bytes and records stay."""
    record = new_pattern("pat-000009-dddddddd", PatternDraft(f"n{name}", "Do it"), created_at="", project="")
    before = with_new(FILE.encode(), "patterns", [record], "f")
    after = with_deprecated(before, "pat-000009-dddddddd", "f")
    new, *others = read_patterns(after, "f").patterns

    assert not new.is_active
    assert f"[DEPRECATED] n{name}" == new.fields["name"]
    assert [(one.id, one.is_active) for one in others] == [
        ("pat-000002-bbbbbbbb", True),
        ("pat-000001-aaaaaaaa", True),
    ]
    assert (
        before.replace(b'name: "n', b'name: "[DEPRECATED] n').replace(b"confidence: 0.5", b"confidence: 0.0") == after
    )


@pytest.mark.parametrize(
    ("identity", "line", "expected"),
    [
        ("pat-000002-bbbbbbbb", "name: 'Quote the path'", "name: '[DEPRECATED] Quote the path'"),
        ("pat-000001-aaaaaaaa", "name: Arithmetic   # an old one", 'name: "[DEPRECATED] Arithmetic"   # an old one'),
        ("anti-000001-cccccccc", "name: Parsing ls", 'name: "[DEPRECATED] Parsing ls"'),
    ],
    ids=["quoted", "plain-with-comment", "anti-pattern"],
)
def test_withdrawing_keeps_quotes_and_comments(identity: str, line: str, expected: str) -> None:
    """Only the value changes, and doing it again changes nothing."""
    after = with_deprecated(FILE.encode(), identity, "f")

    assert f"      {expected}\n" in after.decode()
    assert f"      {line}\n" not in after.decode()
    assert after == with_deprecated(after, identity, "f")


def test_withdrawing_keeps_bytes_that_are_no_text() -> None:
    """A name that is not UTF-8 keeps its bytes behind the mark."""
    before = FILE.encode().replace(b"Parsing ls", b"Parsing \xff\xfe ls")

    assert b'name: "[DEPRECATED] Parsing \xff\xfe ls"\n' in with_deprecated(before, "anti-000001-cccccccc", "f")


def test_an_unknown_id_cannot_be_withdrawn() -> None:
    """The message names the command that shows ids."""
    with pytest.raises(NoRecordError, match="hybrid lore list"):
        with_deprecated(FILE.encode(), "pat-0", "f")
