"""What is read of the events that real clients sent when their agents read, searched, edited, wrote and failed.

`tests/clients/test_at_the_tool.py` recorded them; the agents of all clients did the same, each with its own tools.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.base.clients import clients
from hybrid.capture.shown import shown_lines, trouble_of, use_of
from hybrid.capture.tools import PathRoots, tool_use
from hybrid.hooks.event import parse_event
from tests.support.builders import PAYMENTS
from tests.support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import HookEvent, ToolCall
    from tests.support.recorded import Recorded

READ, EDITED, WRITTEN = "src/payments/client.py", "src/users/store.py", "docs/refunds.md"
TEXT = "# Refunds\n\nPress the button twice."
ROOTS = PathRoots("$PROJECT", "$PROJECT")
ALL = ("read-file", "search", "edit-file", "new-file", "failed-command")
CLIENTS = [name for name, each in clients().items() if each.events]


def samples(kind: str) -> list[Recorded]:
    """The events of all clients for one kind of use; those of subagents end with a word of their own."""
    return [each for each in recorded() if each.path.stem.removesuffix(".in_subagent").endswith(f".{kind}")]


def names(kind: str) -> list[object]:
    """The same as parameters of a test."""
    return [pytest.param(each, id=each.name) for each in samples(kind)]


def parsed(sample: Recorded) -> HookEvent:
    """The event as hybrid reads it, with the end of the transcript that was kept beside it."""
    data = json.loads(sample.path.read_text("utf-8")) | {
        "transcript_path": str(sample.path.parent / "_transcript.jsonl")
    }
    return parse_event(json.dumps(data).encode(), client=sample.client, event=sample.event, cwd="/elsewhere")


def call_of(sample: Recorded) -> ToolCall:
    """The use of a tool in it."""
    call = parsed(sample).call
    assert call
    return call


def _touched(call: ToolCall) -> tuple[list[str], list[str]]:
    """The files that it read or found, and those that it wrote."""
    use = use_of(call, ROOTS, 0.0)
    assert use
    return list(use.read), list(use.written)


def shown(call: ToolCall) -> dict[str, set[int]]:
    """File → lines that the use put before the agent, in the project as it was left."""
    files = PAYMENTS | {EDITED: PAYMENTS[EDITED].replace("or None.", "or nothing."), WRITTEN: f"{TEXT}\n"}
    found = shown_lines(call, ROOTS, lambda path: files[path].split("\n") if path in files else None)
    return {path: file.numbers for path, file in found.items()}


def test_every_client_was_recorded_at_every_kind_of_use() -> None:
    """Main agent: all of them; subagent: a read and an edit; what they say of it stands in the clients' files."""
    for kind in ALL:
        assert set(CLIENTS) == {each.client for each in samples(kind) if "in_subagent" not in each.name}, kind
    for kind in ("read-file", "edit-file"):
        assert set(CLIENTS) == {each.client for each in samples(kind) if "in_subagent" in each.name}, kind


@pytest.mark.parametrize("name", CLIENTS)
def test_what_the_client_file_says_is_what_was_recorded(name: str) -> None:
    """The events that take a text, the one that tells a failure, and whether a subagent is named."""
    at_tool = clients()[name].at_tool
    own = [each for kind in ALL for each in samples(kind) if each.client == name]
    failed = [
        each.event
        for each in samples("failed-command")
        if each.client == name and tool_use(call_of(each), ROOTS).is_failed
    ]

    assert set(at_tool.takes) == {each.event for each in own}
    assert [at_tool.failed] * bool(at_tool.failed) == failed
    agents = {bool(parsed(each).agent_id) for each in own if "in_subagent" in each.name}
    assert {at_tool.names_agent} == agents
    assert {""} == {parsed(each).agent_id for each in own if "in_subagent" not in each.name}


@pytest.mark.parametrize("sample", names("read-file"))
def test_a_read(sample: Recorded) -> None:
    """The file, and its lines: all, or as Codex's agent asked for them the first twelve."""
    call = call_of(sample)

    assert (READ,) == tool_use(call, ROOTS).files_read
    assert ([READ], []) == _touched(call)
    assert set(shown(call)) == {READ}
    assert {4, 11, 12} <= shown(call)[READ]


@pytest.mark.parametrize("sample", names("search"))
def test_a_search(sample: Recorded) -> None:
    """The file that it found, with the lines that hold the word, whether a tool or a shell searched."""
    call = call_of(sample)

    assert ([READ], []) == _touched(call)
    assert set(shown(call)) == {READ}
    assert {21, 29} <= shown(call)[READ]
    assert trouble_of(call) is None


@pytest.mark.parametrize("sample", names("edit-file"))
def test_an_edit(sample: Recorded) -> None:
    """The file, old and new text, and the line as it is now."""
    call = call_of(sample)
    use = tool_use(call, ROOTS)
    [edit] = use.edits

    assert (False, (EDITED,), EDITED, False) == (use.is_failed, use.files_written, edit.file, edit.is_new)
    assert ("or None." in edit.old, "or nothing." in edit.new) == (True, True)
    assert ([], [EDITED]) == _touched(call)
    assert [EDITED] == [path.removeprefix("$PROJECT/") for path in parsed(sample).paths]
    assert 11 in shown(call)[EDITED]


@pytest.mark.parametrize("sample", names("new-file"))
def test_a_new_file(sample: Recorded) -> None:
    """It is an edit of nothing."""
    call = call_of(sample)
    [edit] = tool_use(call, ROOTS).edits

    assert (WRITTEN, "", TEXT, True) == (edit.file, edit.old, edit.new.strip("\n"), edit.is_new)
    assert ([], [WRITTEN]) == _touched(call)
    assert {1, 3} <= shown(call)[WRITTEN]


@pytest.mark.parametrize("sample", names("failed-command"))
def test_a_command_that_failed(sample: Recorded) -> None:
    """It is a failure with its exit code and output; Codex has the code in its transcript alone."""
    call = call_of(sample)
    use = tool_use(call, ROOTS)
    trouble = trouble_of(call)

    assert "echo oops >&2; exit 3" == use.command
    assert "oops" in (use.error or use.output)
    assert (True, 3) == (use.is_failed, use.exit_code)
    assert trouble
    assert ("failure", True) == (trouble.cause, "oops" in trouble.text)


@pytest.mark.parametrize(
    "lines", ["", "{broken call_18\n", '{"payload": {"item": {"id": "call_1", "exit_code": 3}}}\n', None]
)
def test_without_its_line_in_the_transcript_a_command_of_codex_is_as_it_was(tmp_path: Path, lines: str | None) -> None:
    """No transcript, one that is broken, or that tells of another command."""
    [sample] = [each for each in samples("failed-command") if each.client == "codex"]
    path = tmp_path / "transcript.jsonl"
    if lines is not None:
        path.write_text(lines, encoding="utf-8")
    data = json.loads(sample.path.read_text("utf-8")) | {"transcript_path": str(path)}
    call = parse_event(json.dumps(data).encode(), client="codex", event="PostToolUse", cwd="/").call

    assert call
    assert ("oops\n", None) == (call.result, trouble_of(call))


@pytest.mark.parametrize("sample", names("refused-edit"))
def test_a_refused_edit_changed_nothing(sample: Recorded) -> None:
    """It failed, touched no file, and what it was to write was not shown, though the file has that text by now."""
    call = call_of(sample)

    assert tool_use(call, ROOTS).is_failed
    assert ([], []) == _touched(call)
    assert {} == shown(call)


@pytest.mark.parametrize("sample", names("report"))
def test_the_report_of_a_subagent(sample: Recorded) -> None:
    """It is the subagent's last text alone, for the search and for the memory."""
    event = parsed(sample)
    assert event.call

    assert "Done." == event.report.text
    assert ("subagent", "Done.") == (tool_use(event.call, ROOTS).kind, tool_use(event.call, ROOTS).output)
