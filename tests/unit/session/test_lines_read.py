from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from hybrid.session.ledger import lines_in, ranges_of, standing, telling_in

LINES = """def first():
    return 1


def second():
    token = "kept"
    return token

    # the end
}""".split("\n")
FILES = st.lists(st.sampled_from(["", "a = 1", "b = 2", "}", "c = 3"]), min_size=1, max_size=20)


def ranges(*numbers: int) -> list[str]:
    """The ranges of some lines of the file."""
    return ranges_of(LINES, set(numbers), LINES)


def are_read(lines: list[str], places: Collection[str], start: int, end: int) -> bool:
    """Return whether all that a part tells stands in the context."""
    return telling_in(lines, start, end) <= standing(lines, places, start, end)


def test_a_range_is_a_run_of_lines_that_were_read() -> None:
    """A range ends at a blank line and where reading ended; brackets behind it belong to it; no text is in it."""
    found = ranges(1, 2, 5, 6, 9)

    assert [range(1, 3), range(5, 7), range(9, 11)] == [lines_in(place) for place in found]
    assert all(len("1-2:") + 16 <= len(place) <= len("9-10:") + 16 for place in found)


def test_a_range_with_a_secret_is_not_noted() -> None:
    """What masking changes leaves no digest that a secret could be tried on."""
    masked = [line.replace("kept", "[redacted]") for line in LINES]

    assert [range(1, 3)] == [lines_in(place) for place in ranges_of(LINES, {1, 2, 5, 6, 7}, masked)]


def test_a_part_is_read_when_all_that_it_tells_was() -> None:
    """One line that was not shown makes the part unread; blank lines and brackets do not."""

    assert are_read(LINES, ranges(1, 2), 1, 4)
    assert are_read(LINES, [*ranges(5, 6), *ranges(7)], 5, 8)
    assert are_read(LINES, ranges(9), 9, 10)
    assert not are_read(LINES, ranges(5, 7), 5, 7)
    assert not are_read(LINES, ranges(1, 2), 1, 5)
    assert not are_read(LINES, (), 1, 2)


def test_what_changed_is_unread_and_what_moved_is_not() -> None:
    """Lines inserted above move whole paragraphs that stay read; a changed line makes its range unread."""
    moved = ["import os", "", *LINES]
    changed = [line.replace("return 1", "return 2") for line in LINES]

    assert are_read(moved, ranges(1, 2), 3, 4)
    assert not are_read(changed, ranges(1, 2), 1, 2)
    assert not are_read(moved, ranges(6), 8, 8)


def test_a_damaged_range_counts_for_nothing() -> None:
    """Whatever stands in a ledger is read."""
    damaged = ["", "1-2", "x-y:00", "2-1:00", "0-3:00", "1-99:00", "-:"]

    assert set() == standing(LINES, damaged, 1, len(LINES))


@given(FILES, FILES, st.data())
def test_what_stands_was_read(before: list[str], after: list[str], data: st.DataObject) -> None:
    """After any change a line stands only when a line of the same text was read, and without one all that was read."""
    read = data.draw(st.sets(st.integers(1, len(before))))
    read = {n for n in read if before[n - 1]}
    noted = ranges_of(before, read, before)
    texts = {before[n - 1] for n in read} | {"}", ""}

    assert {after[n - 1] for n in standing(after, noted, 1, len(after))} <= texts
    assert read <= standing(before, noted, 1, len(before))
