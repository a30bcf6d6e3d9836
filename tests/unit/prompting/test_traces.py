from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.prompting.content import MAX_PLACES, SourceLine, is_frame, parts_of_path, places
from tests.support.cases import cases, read

if TYPE_CHECKING:
    from tests.support.cases import Case

TRACES = {case.name: case.text for case in read("prompting/places.txt")}


@cases("prompting/places.txt")
def test_the_frame_that_failed_comes_first(case: Case) -> None:
    """Traces of every language give path, line and function; calls, addresses, versions and times are no places."""
    told = (f"{place.path}:{place.line} {place.name}".rstrip() for place in places(case.text))

    assert case.expected == "\n".join(told)


@cases("prompting/parts_of_path.txt")
def test_paths_lose_what_one_machine_has(case: Case) -> None:
    """A path is told from where its package begins."""
    assert case.expected == "/".join(parts_of_path(case.text)[0])


def test_frames_know_their_trace() -> None:
    """Two traces with a story in between are two, and a frame of a package knows that it was installed."""
    story = "\n".join(["And then I changed something else, which took me a while."] * 6)
    found = places(f"{TRACES['python']}\n{story}\n{TRACES['php']}")

    assert [0, 0, 0, 1, 1] == [place.trace for place in found]
    assert SourceLine("taxes/rates.py", 7, "tax", 0, True) == found[0]
    assert not found[1].is_installed


def test_a_log_gives_a_bounded_number_of_places() -> None:
    """However long a log is, so many places are kept."""
    log = "\n".join(f"src/file{number}.py:{number}: error" for number in range(1, 600))

    assert MAX_PLACES == len(places(log))


def test_a_line_is_a_frame_or_not() -> None:
    """Frames of standard libraries are frames, too."""

    assert is_frame("             at /rustc/84c8/library/core/src/panicking.rs:64:14")
    assert not is_frame("    return RATES[country]")


@pytest.mark.parametrize(
    "line",
    [
        "a.py " * 4_000,
        ".py in " * 3_000,
        "/blob/" + "a.b" * 6_000,
        "at a() in " * 2_000 + ".py:",
        " #1 " + "a." * 9_000,
        'File "' * 3_000,
        " " * 20_000,
    ],
    ids=["py", "in", "word", "dotnet", "native", "file", "blanks"],
)
def test_a_long_line_hides_no_place(line: str) -> None:
    """What looks like the beginning of a frame over and over is none, and the place after it is found."""

    assert ("src/cart.py", 41) in [(place.path, place.line) for place in places(f"{line}\nsrc/cart.py:41")]
    assert not is_frame(line)


def test_a_header_of_a_cell_is_a_frame() -> None:
    """A path and `in` begin a frame in notebooks, with the link that some write; `.py` elsewhere does not."""

    assert is_frame("~/shop/cart.py in total(self)")
    assert is_frame("[~/shop/cart.py](file:///shop/cart.py) in total(self)")
    assert not is_frame("the total of cart.py (old) is in euros")
