from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.capture.shown import before_edits, shown_lines
from hybrid.capture.tools import PathRoots, ToolCall

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


def part(first: int, last: int, form: str = "{line}") -> str:
    """Some lines of src/pay.py, each in a form."""
    lines = PAY.split("\n")
    return "\n".join(form.format(n=n, line=lines[n - 1]) for n in range(first, last + 1))


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("Read", {"file_path": "/shop/src/pay.py"}, {"type": "text", "file": {"content": part(4, 7), "startLine": 4}}),
        ("Read", {"file_path": "/shop/src/pay.py", "offset": 4}, part(4, 7, "{n:6}→{line}")),
        ("Read", {"file_path": "/shop/src/pay.py"}, part(4, 7, "{n}\t{line}") + "\n<system-reminder>x</system-reminder>"),
        ("read", {"filePath": "/shop/src/pay.py"}, {"output": "<file>\n" + part(4, 7, "{n:05}| {line}") + "\n</file>"}),
        ("read_file", {"absolute_path": "/shop/src/pay.py"}, {"llmContent": "Showing lines 4-7 of 11.\n" + part(4, 7)}),
        ("view", {"path": "src/pay.py"}, {"textResultForLlm": part(4, 7, "{n}. {line}")}),
        ("Bash", {"command": "sed -n '4,7p' src/pay.py"}, {"stdout": part(4, 7), "stderr": ""}),
        ("shell", {"command": ["bash", "-lc", "cat src/pay.py | head -7 | tail -4"]}, json.dumps({"output": part(4, 7)})),
        ("Grep", {"pattern": "x", "path": "/shop/src"}, {"content": part(4, 7, "src/pay.py:{n}:{line}")}),
        ("Grep", {"pattern": "x", "path": "/shop/src/pay.py"}, {"content": part(4, 7, "{n}:{line}")}),
        ("run_shell_command", {"command": "rg -n x"}, {"llmContent": "<untrusted_context>\nOutput: src/pay.py\n" + part(4, 7, "{n}:{line}") + "\nProcess Group PGID: 137\n</untrusted_context>"}),
        ("search_file_content", {"pattern": "x"}, {"llmContent": "File: src/pay.py\n" + part(4, 7, "L{n}: {line}")}),
        ("grep", {"pattern": "x"}, {"output": "/shop/src/pay.py:\n" + part(4, 7, "  Line {n}: {line}")}),
    ],
)  # fmt: skip
def test_the_lines_that_a_tool_printed(tool: str, arguments: object, answer: object) -> None:
    """Whatever the client puts before its lines, those that it printed count and no other."""

    assert {"src/pay.py": {4, 5, 6, 7}} == shown(tool, arguments, answer)


def test_a_search_shows_its_lines_and_those_around_them() -> None:
    """Of a search the printed lines count, with the context that it printed, in each file by itself."""
    printed = "src/pay.py-5-    def retry(self, request):\nsrc/pay.py:6:        for attempt in range(5):\n--\n"
    printed += "src/other.py:1:def other():"

    assert {"src/pay.py": {5, 6}, "src/other.py": {1}} == shown("Bash", {"command": "grep -rn -B1 r ."}, printed)


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("Glob", {"pattern": "**/*.py"}, {"filenames": ["/shop/src/pay.py"]}),
        ("Grep", {"pattern": "def", "output_mode": "files_with_matches"}, {"filenames": ["src/pay.py"]}),
        ("Grep", {"pattern": "def", "output_mode": "count"}, {"content": "src/pay.py:2"}),
        ("Read", {"file_path": "/shop/gone.py"}, {"file": {"content": PAY}}),
        ("Read", {"file_path": "/elsewhere/src/pay.py"}, {"file": {"content": PAY}}),
        ("Read", {"file_path": "/shop/src/pay.py"}, "   5→    def retry(self, other):"),
        ("Task", {"prompt": "look at src/pay.py"}, {"content": [{"type": "text", "text": PAY}]}),
        ("TodoWrite", {"todos": [{"content": "src/pay.py:1:import time"}]}, "src/pay.py:1:import time"),
    ],
)
def test_what_shows_no_line(tool: str, arguments: object, answer: object) -> None:
    """Names of files, files elsewhere, lines that the file does not have, and other tools' talk show nothing."""

    assert not shown(tool, arguments, answer)


def test_an_edit_shows_what_it_wrote() -> None:
    """The lines that hold the new text count, also where it is a part of a line, wherever it stands."""
    given_ = {"file_path": "/shop/src/pay.py", "old_string": "range(3)", "new_string": "range(5)"}
    patch = "*** Begin Patch\n*** Update File: src/pay.py\n@@\n     def close(self):\n-        pass\n+        return None\n*** End Patch"

    assert {"src/pay.py": {6}} == shown("Edit", given_, "done")
    assert {"src/pay.py": {9, 10}} == shown("apply_patch", {"input": patch}, "Success")


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


def test_a_line_that_stands_twice_is_not_told_by_itself() -> None:
    """One bare line counts where the file has it once only: it does not say which of two it is."""
    once, twice = (shown("Bash", {"command": "grep 1 twice.py"}, line) for line in ("b = 2", "a = 1"))

    assert ({"twice.py": {2}}, {}) == (once, twice)


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
