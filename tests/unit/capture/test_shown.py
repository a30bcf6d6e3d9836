from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hybrid.capture.shown import before_edits, shown_lines
from hybrid.capture.tools import PathRoots
from hybrid.types import ToolCall
from tests.support.cases import cases
from tests.support.uses import use_of

if TYPE_CHECKING:
    from tests.support.cases import Case

PAY = """import time


class Client:
    def retry(self, request):
        for attempt in range(5):
            self.send(request)

    def close(self):
        return None
"""
TREE = {"src/pay.py": PAY, "src/other.py": "def other():\n    return None\n", "twice.py": "a = 1\nb = 2\n\na = 1\n"}
ROOTS = PathRoots("/shop", "/shop")


def lines_of(path: str) -> list[str] | None:
    """The lines of a file of the made tree."""
    return TREE[path].split("\n") if path in TREE else None


def shown(tool: str, given_: object, answer: object = "", error: str = "") -> dict[str, set[int]]:
    """Path → numbers of the lines that a use in /shop showed."""
    found = shown_lines(ToolCall(tool, given_, answer, error), ROOTS, lines_of)
    return {path: file.numbers for path, file in found.items()}


@cases("capture/shown.txt")
def test_the_lines_that_a_use_showed(case: Case) -> None:
    """Printed lines with their context count, and those that an edit wrote; names, files elsewhere and other talk do not.

    One bare line counts where the file has it once only: it does not say which of two it is.
    """
    found = shown(*use_of(case.text))

    assert case.expected == "\n".join(f"{path}: {' '.join(map(str, sorted(lines)))}" for path, lines in found.items())


def test_a_written_file_is_shown_whole() -> None:
    """What an agent wrote as a whole stands in its context."""
    found = shown("Write", {"file_path": "/shop/src/pay.py", "content": PAY}, {"type": "create"})

    assert set(range(1, 11)) == found["src/pay.py"]


def test_of_a_long_output_only_the_beginning_is_sure() -> None:
    """Clients cut what a command printed before their agent gets it; what a reading tool returned is what it gets."""
    long = "x" * 30 + "\n"
    first, last = (
        shown("Bash", {"command": "cat src/pay.py x"}, text) for text in (PAY + long * 900, long * 900 + PAY)
    )
    whole = shown("Read", {"file_path": "/shop/src/pay.py"}, long * 900 + PAY)

    assert (set(range(1, 11)) - {2, 3, 8}, {}) == (first["src/pay.py"], last)
    assert first == whole


def test_the_file_before_an_edit() -> None:
    """The old text stands where the new one was; lines outside of it know where they are now."""
    edit = {"file_path": "/shop/src/pay.py", "old_string": "import os\nimport time\n", "new_string": "import time\n"}
    found = shown_lines(ToolCall("Edit", edit, ""), ROOTS, lines_of)["src/pay.py"]

    lines, now = before_edits(found)

    assert "import os\n" + PAY == "\n".join(lines)
    assert (4, 5, 10) == (now[5], now[6], now[11])
    assert not {1, 2} & set(now)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_output_is_read(output: str, path: str) -> None:
    """Whatever a tool prints, the numbers are those of lines that the file has."""
    for tool, arguments in (
        ("Read", {"file_path": path}),
        ("Bash", {"command": f"cat {path}"}),
        ("Edit", {"path": path}),
    ):
        for name, numbers in shown(tool, arguments, output).items():
            assert numbers <= set(range(1, len(TREE[name].split("\n")) + 1))
