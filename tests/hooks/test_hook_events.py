from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from hybrid.base.clients import clients
from hybrid.capture.cleaning import MAX_CHARS
from hybrid.hooks.event import MAX_PATHS, EventError, parse_event
from hybrid.hooks.service import EVENTS
from hybrid.types import HookEvent, ToolCall
from tests.support.builders import CHECKOUT
from tests.support.cases import Case, cases, read
from tests.support.recorded import recorded

CAPTURED = "hooks/captured.txt"


def _parse(fields: dict[str, Any], *, client: str = "claude", event: str = "") -> HookEvent:
    return parse_event(json.dumps(fields).encode(), client=client, event=event, cwd="/elsewhere")


SAMPLES = {each.name: each for each in recorded()}


def test_every_captured_input_stands_in_the_table() -> None:
    """No captured input is forgotten; files that begin with an underscore and the status line are no events."""
    assert {case.text for case in read(CAPTURED)} == set(SAMPLES)
    assert {each.client for each in SAMPLES.values()} == {name for name, client in clients().items() if client.events}


@cases(CAPTURED)
def test_a_captured_input_becomes_neutral_fields(case: Case) -> None:
    """Whatever a client calls its fields, the same ones come out; what hybrid does not answer is an error."""
    sample, wanted = SAMPLES[case.text], case.json()
    data, client = sample.path.read_bytes(), sample.client
    if wanted is None:
        with pytest.raises(EventError, match="no event that hybrid knows"):
            parse_event(data, client=client, event=sample.event, cwd="/elsewhere")
        return

    event = parse_event(data, client=client, event=sample.event, cwd="/elsewhere")

    rest = {"client": client, "agent_id": "", "cwd": "$PROJECT", "prompt": "", "source": "", "tool": "", "report": ""}
    assert rest | {"paths": []} | wanted == {
        "tool": event.call.tool if event.call else "",
        "prompt": event.prompt.typed,
        "report": event.report.text,
        "paths": list(event.paths),
        **{name: getattr(event, name) for name in ("client", "event", "agent_id", "cwd", "source")},
    }
    assert len(event.session_id) > 20
    assert event.event == EVENTS[event.name.lower()]


@pytest.mark.parametrize(
    ("sample", "command", "told"),
    [
        ("claude-2.1.330/PostToolUse.Bash", "echo mock-bash-output", "mock-bash-output"),
        ("codex-0.169.0/PostToolUse", "echo mock-bash-output", "mock-bash-output"),
        ("gemini-0.61.0/AfterTool", "echo mock-bash-output", "mock-bash-output"),
        ("copilot-1.0.102-camel/postToolUse", "echo mock-bash-output", "mock-bash-output"),
        ("opencode-1.18.33/tool.execute.after", "echo mock-bash-output", "mock-bash-output"),
    ],
)
def test_a_use_of_a_tool_brings_what_it_was_given_and_what_it_answered(sample: str, command: str, told: str) -> None:
    """As the client has them, whatever it calls them; only with the event of a tool."""
    data, event = SAMPLES[sample].path.read_bytes(), SAMPLES[sample].event

    call = parse_event(data, client="x", event=event, cwd="/elsewhere").call

    assert call is not None
    assert command in json.dumps(call.arguments)
    assert told in json.dumps(call.result)


def test_a_tool_that_failed_tells_its_error() -> None:
    """The event that some clients have for it is the same event to us, with an error."""
    given = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "t1"}
    data = json.dumps({**given, "error": "Exit code 1\nboom"}).encode()

    event = parse_event(data, client="claude", event="PostToolUseFailure", cwd="/")

    assert ("PostToolUse", "PostToolUseFailure") == (event.event, event.name)
    assert "t1" == event.tool_use_id
    assert ToolCall("Bash", {"command": "x"}, None, "Exit code 1\nboom") == event.call


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ("claude-2.1.330/Stop", "The subagent is done. [mock reply]"),
        ("codex-0.169.0/Stop", "I ran it. [mock reply]"),
        ("qwen-0.24.4/Stop", "I ran it. [mock reply]"),
        ("gemini-0.61.0/AfterAgent", "I ran it. [mock reply]"),
        ("copilot-1.0.102-camel/agentStop", ""),
    ],
)
def test_the_end_of_a_turn_brings_the_agents_last_text_and_its_transcript(sample: str, message: str) -> None:
    """Each client has names of its own for both; Copilot names the transcript alone."""
    recorded_event = SAMPLES[sample]
    data, client = recorded_event.path.read_bytes(), recorded_event.client

    fields = parse_event(data, client=client, event=recorded_event.event, cwd="/elsewhere")

    assert message == fields.message
    assert fields.transcript.endswith(".jsonl")


def test_only_the_end_of_a_turn_has_a_message() -> None:
    """A prompt that quotes the field of another event brings no words of the agent."""
    fields = _parse(
        {"hook_event_name": "UserPromptSubmit", "prompt": "x", "last_assistant_message": "AI LESSON: a - b"}
    )

    assert fields.message == ""


def test_the_command_line_names_the_event() -> None:
    """`--event` prevails over the input, and stays as the client spells it."""
    fields = _parse({"hook_event_name": "Stop", "prompt": "x"}, event="userPromptSubmitted")

    assert ("UserPromptSubmit", "userPromptSubmitted") == (fields.event, fields.name)


def test_what_was_typed_prevails() -> None:
    """Qwen tells what was really typed beside the prompt it made of it."""

    assert "typed" == _parse({"prompt": "made", "submitted_prompt": "typed"}, client="qwen").prompt.text


def test_opencode_prompts_leave_out_what_modules_added() -> None:
    """A prompt of OpenCode is its text parts, without those that a module pushed and without files."""
    parts = [
        {"type": "text", "text": "How do"},
        {"type": "text", "text": "added", "synthetic": True},
        {"type": "file", "url": "file:///x"},
        {"type": "text", "text": "retries work?"},
    ]
    fields = _parse({"input": {"sessionID": "s1"}, "output": {"parts": parts}, "directory": "/p"}, event="chat.message")

    assert ("How do\n\nretries work?", "s1", "/p") == (fields.prompt.text, fields.session_id, fields.cwd)


@cases("hooks/written.txt")
def test_files_that_a_tool_wrote(case: Case) -> None:
    """Written files are told under whatever name a client gives them; read ones are not."""
    assert case.json() == list(_parse(case.given(), event="PostToolUse").paths)


def test_a_patch_of_thousands_of_files_is_cut() -> None:
    """Beyond a limit the next sweep finds the files."""
    patch = "*** Begin Patch\n" + "".join(f"*** Add File: {number}.py\n+x\n" for number in range(3 * MAX_PATHS))

    assert MAX_PATHS == len(
        _parse({"tool_name": "apply_patch", "tool_input": {"input": patch}}, event="PostToolUse").paths
    )


@cases("hooks/reported.txt")
def test_reports_of_subagents(case: Case) -> None:
    """The final text of a subagent is found wherever its client puts it; other tools have none."""
    assert case.json() == _parse(case.given(), event="PostToolUse").report.text


def test_a_long_report_is_cut() -> None:
    """As every result of a tool: whole lines of both ends stay."""
    fields = _parse({"tool_name": "Agent", "tool_response": "It works.\n" * 50_000}, event="PostToolUse")

    assert 190_000 < len(fields.report.text) <= MAX_CHARS + 2


@pytest.mark.parametrize(
    "data",
    [b"", b" \n", b"hello", b"[1]", b"7", b"null", b'{"prompt": "a', b"[" * 200_000],
    ids=lambda data: repr(data[:12]),
)
def test_input_that_is_no_event(data: bytes) -> None:
    """What is no JSON object is an error that says so."""
    with pytest.raises(EventError, match="hook input is"):
        parse_event(data, client="claude", event="", cwd="/elsewhere")


@pytest.mark.parametrize("odd", [None, 7, [], {}, "", [[]], {"content": {}}, {"parts": 3}])
def test_fields_of_wrong_types_are_empty(odd: object) -> None:
    """A field that is not what it should be counts as missing."""
    names = ("prompt", "session_id", "agent_id", "cwd", "source", "tool_input", "tool_response", "input", "output")
    fields = _parse(dict.fromkeys(names, odd) | {"tool_name": "Agent"}, event="PostToolUse")

    assert ("/elsewhere", (), True, True) == (fields.cwd, fields.paths, fields.prompt.is_blank, fields.report.is_blank)


def test_a_hook_imports_next_to_nothing() -> None:
    """A hook process pays for what it imports: none of the costly modules of the standard library is among it."""
    script = "import hybrid.hooks.run, hybrid.hooks.keeping, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); {script}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert not {"typing", "dataclasses", "pathlib", "inspect", "hashlib", "subprocess"} & set(done.stdout.split())
