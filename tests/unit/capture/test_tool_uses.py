from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.capture.tools import MAX_JSON_BYTES, Edit, PathRoots, ToolUse, is_skipped, tool_use
from hybrid.types import ToolCall
from tests.support.cases import cases
from tests.support.uses import use_of

if TYPE_CHECKING:
    from tests.support.cases import Case

HOOKS = Path(__file__).parents[2] / "fixtures" / "hooks"
SKIPPED = ["TodoWrite", "LS"]

AS_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["command", "file_path", "content", "edits", "file", "stdout", "filenames", "pattern", "path"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def use(tool: str, given: object, answer: object = "", error: str = "", **more: str) -> ToolUse:
    """A use in the project /shop."""
    roots = PathRoots(**{"root": "/shop", "cwd": "/shop", "home": "/home/ann", **more})
    return tool_use(ToolCall(tool, given, answer, error), roots)


def recorded(name: str) -> ToolUse:
    """The use in a captured input of a client."""
    event = json.loads((HOOKS / name).read_text("utf-8"))
    if "input" in event:
        return use(event["input"]["tool"], event["input"]["args"], event["output"])
    tool = event.get("tool_name", event.get("toolName"))
    answer = event.get("tool_response", event.get("tool_result", event.get("toolResult")))
    return use(
        tool,
        event.get("tool_input", event.get("toolArgs")),
        answer,
        event.get("error", ""),
        root="$PROJECT",
        cwd="$PROJECT",
    )


@pytest.mark.parametrize(
    "name",
    [
        "claude-2.1.330/PostToolUse.Bash.json",
        "codex-0.169.0/PostToolUse.json",
        "copilot-1.0.102-camel/postToolUse.json",
        "copilot-1.0.102-pascal/PostToolUse.json",
        "gemini-0.61.0/AfterTool.json",
        "opencode-1.18.33/tool.execute.after.json",
        "qwen-0.24.4/PostToolUse.json",
    ],
)
def test_a_command_reads_alike_from_every_client(name: str) -> None:
    """Whatever a client puts around a command's output, the use holds the command and what it printed."""
    if not (HOOKS / name).exists():
        pytest.skip("this client's input was not captured")
    found = recorded(name)

    assert ("command", False) == (found.kind, found.is_failed)
    assert found.command in ("echo mock-bash-output", "echo sub-bash")
    assert found.output == "mock-bash-output"


def test_a_failure_is_told_with_its_exit_code() -> None:
    """The event of a failure gives error, exit code and the mark that it failed."""
    found = recorded("claude-2.1.330/PostToolUseFailure.Bash.json")

    assert (True, 3) == (found.is_failed, found.exit_code)
    assert "oops" in found.error


@cases("capture/edit_dialects.txt")
def test_an_edit_reads_alike_from_every_dialect(case: Case) -> None:
    """Old and new text and the file's relative path come out the same, however a client spells the edit."""
    found = use(*use_of(case.text))

    assert ("edit", (Edit("a.py", "x", "y"),), ("a.py",)) == (found.kind, found.edits, found.files_written)


@cases("capture/kinds.txt")
def test_kinds_of_tools(case: Case) -> None:
    """The kind follows the tool's name in any client's spelling."""
    assert case.expected == use(case.text, {}).kind


def test_a_new_file_is_an_edit_of_nothing() -> None:
    """Writing a file gives an edit from nothing, marked as new; writing over one gives its hunks."""
    made = use("Write", {"file_path": "/shop/a.py", "content": "x = 1\n"}, {"type": "create", "originalFile": None})
    patch = [{"lines": [" a", "-b", "+c"]}]
    over = use(
        "Write", {"file_path": "/shop/a.py", "content": "a\nc"}, {"originalFile": "a\nb", "structuredPatch": patch}
    )

    assert (Edit("a.py", "", "x = 1\n", "", True),) == made.edits
    assert (Edit("a.py", "a\nb", "a\nc"),) == over.edits


def test_an_edit_knows_the_function_around_it() -> None:
    """The file as it was, where the client gives it, names what the edit belongs to."""
    before = "class Client:\n    def send(self):\n        limit = 3\n        return limit\n"
    answer = {"originalFile": before}
    found = use("Edit", {"file_path": "a.py", "old_string": "limit = 3", "new_string": "limit = 5"}, answer)

    assert "Client.send" == found.edits[0].where


def test_paths_are_relative_and_the_home_is_hidden() -> None:
    """Inside the project paths are relative, outside absolute, below the home with a tilde; in texts too."""
    found = use(
        "Bash", {"command": "cat src/a.py /etc/x.conf /home/ann/notes.txt > /shop/out.txt"}, "at /shop/src/a.py:1"
    )

    assert ("src/a.py", "/etc/x.conf", "~/notes.txt") == found.files_read
    assert ("out.txt",) == found.files_written
    assert "at src/a.py:1" == found.output


def test_a_read_knows_its_lines() -> None:
    """First, last and total lines come from the result."""
    file = {"filePath": "/shop/a.py", "content": "x", "startLine": 50, "numLines": 10, "totalLines": 200}
    found = use("Read", {"file_path": "/shop/a.py"}, {"type": "text", "file": file})

    assert (50, 59, 200, "x") == (found.start_line, found.end_line, found.total_lines, found.output)


def test_colours_and_progress_are_left_out() -> None:
    """Escape codes and what was overwritten on its line are no text."""
    assert "ok" == use("Bash", {"command": "make"}, "\x1b[32m10%\r50%\rok\x1b[0m").output


@given(
    AS_JSON,
    AS_JSON,
    st.sampled_from(["Bash", "Edit", "Write", "Read", "Grep", "apply_patch", "Task", "x"]),
    st.text(max_size=20),
)
def test_any_input_gives_a_use_that_goes_to_json_and_back(given_: Any, answer: Any, tool: str, error: str) -> None:
    """No input breaks it, and a stored use is the same when it is read again."""
    found = use(tool, given_, answer, error)

    assert found == ToolUse.from_json(found.as_json())


@pytest.mark.parametrize(
    "text",
    ["error line\n" * 100_000, "é\x01" * 300_000, "def f(x):\n    pass\n" * 20_000],
    ids=["lines", "escapes", "code"],
)
@pytest.mark.parametrize("tool", ["Bash", "Read", "Write"])
def test_a_use_stays_below_its_size_and_keeps_the_end(tool: str, text: str) -> None:
    """However long the texts are, a stored use is below its bound; of an output the end is kept."""
    given_ = {"command": "make", "file_path": "a.py", "content": text}
    found = use(tool, given_, text + "\nTHE END")

    assert len(found.as_json().encode()) < MAX_JSON_BYTES
    assert tool != "Bash" or found.output.endswith("THE END")


def test_of_a_long_file_the_definitions_are_kept() -> None:
    """What is left of a long file is what it defines, in order."""
    text = "\n".join(f"def step_{n}():\n" + "        filler = 1\n" * 60 for n in range(100))
    found = use("Read", {"file_path": "a.py"}, text)

    assert all(f"def step_{n}()" in found.output for n in range(100))


EARLIER = (
    '{"tool":"E","kind":"edit","files_read":[],"files_written":[],"command":"","description":"","query":"",'
    '"edits":[{"file":"é.py","old":"a","new":"b","where":"f","is_new":false}],"output":"","error":"",'
    '"is_failed":false,"exit_code":null,"start_line":0,"end_line":0,"total_lines":0}'
)
"""A row of a memory as versions until November 2026 wrote it."""


def test_unknown_keys_of_a_stored_use_are_passed_over() -> None:
    """A use that another version stored is still read; what is no use is refused."""
    assert ToolUse("X", "other") == ToolUse.from_json('{"tool":"X","later":1}')
    assert ToolUse("E", "edit", edits=(Edit("é.py", "a", "b", "f"),)) == ToolUse.from_json(EARLIER)
    with pytest.raises(ValueError, match="Expected `object`"):
        ToolUse.from_json("[]")


@pytest.mark.parametrize(
    ("tool", "n_chars", "skipped"),
    [
        ("TodoWrite", 900, True),
        ("todowrite", 900, False),
        ("Bash", 49, True),
        ("Bash", 50, False),
        ("mcp__hybrid__search", 900, True),
    ],
)
def test_which_uses_are_skipped(tool: str, n_chars: int, skipped: bool) -> None:
    """Tools of the list by their exact name, what is shorter than 50 characters, and our own tools."""
    assert skipped == is_skipped(tool, n_chars, SKIPPED)
