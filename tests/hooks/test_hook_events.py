from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from hybrid.hooks.event import MAX_PATHS, MAX_PROMPT_CHARS, EventError, parse_event
from hybrid.hooks.names import EVENTS
from hybrid.types import HookEvent
from tests.support.builders import CHECKOUT

FIXTURES = CHECKOUT / "tests" / "fixtures" / "hooks"
QUESTION = "How does the payment client retry?"
CLAUDE = "claude_code-2.1.330"
REPORT = "Subagent report, second version (continued after the stop hook)."

CAPTURED: dict[str, dict[str, Any] | None] = {
    f"{CLAUDE}/MessageDisplay": None,
    f"{CLAUDE}/PostCompact": None,
    f"{CLAUDE}/PostToolBatch.Agent": None,
    f"{CLAUDE}/PostToolBatch": None,
    f"{CLAUDE}/PostToolUse.Agent.background": {"event": "PostToolUse", "tool": "Agent"},
    f"{CLAUDE}/PostToolUse.Agent": {"event": "PostToolUse", "tool": "Agent", "report": REPORT},
    f"{CLAUDE}/PostToolUse.Bash.in_subagent": {
        "event": "PostToolUse",
        "tool": "Bash",
        "agent_id": "aadff08052d480c3d",
    },
    f"{CLAUDE}/PostToolUse.Bash": {"event": "PostToolUse", "tool": "Bash"},
    f"{CLAUDE}/PostToolUse.Read": {"event": "PostToolUse", "tool": "Read"},
    f"{CLAUDE}/PostToolUse.Write": {
        "event": "PostToolUse",
        "tool": "Write",
        "paths": ["$PROJECT/mock_written.py"],
    },
    f"{CLAUDE}/PostToolUseFailure.Bash": {"event": "PostToolUse", "tool": "Bash"},
    f"{CLAUDE}/PreCompact": {"event": "PreCompact", "source": "manual"},
    f"{CLAUDE}/PreToolUse.Agent": None,
    f"{CLAUDE}/SessionEnd": {"event": "SessionEnd", "source": "other"},
    f"{CLAUDE}/SessionStart.clear": {"event": "SessionStart", "source": "clear"},
    f"{CLAUDE}/SessionStart.compact": {"event": "SessionStart", "source": "compact"},
    f"{CLAUDE}/SessionStart.resume": {"event": "SessionStart", "source": "resume"},
    f"{CLAUDE}/SessionStart.startup": {"event": "SessionStart", "source": "startup"},
    f"{CLAUDE}/Stop": {"event": "Stop"},
    f"{CLAUDE}/SubagentStart": {"event": "SubagentStart", "agent_id": "a0ceaae925a8b4e55"},
    f"{CLAUDE}/SubagentStop.background": None,
    f"{CLAUDE}/SubagentStop.first": None,
    f"{CLAUDE}/SubagentStop.stop_hook_active": None,
    f"{CLAUDE}/UserPromptExpansion": None,
    f"{CLAUDE}/UserPromptSubmit": {"event": "UserPromptSubmit", "prompt": QUESTION},
    f"{CLAUDE}/UserPromptSubmit.slash_command": {"event": "UserPromptSubmit", "prompt": "/why payments"},
    f"{CLAUDE}/UserPromptSubmit.task_notification": {
        "event": "UserPromptSubmit",
        "prompt": json.loads((FIXTURES / CLAUDE / "UserPromptSubmit.task_notification.json").read_text())["prompt"],
    },
    "codex-0.169.0/PostToolUse": {"event": "PostToolUse", "tool": "Bash"},
    "codex-0.169.0/PreToolUse": None,
    "codex-0.169.0/SessionEnd": {"event": "SessionEnd", "source": "other"},
    "codex-0.169.0/SessionStart": {"event": "SessionStart", "source": "startup"},
    "codex-0.169.0/Stop": {"event": "Stop"},
    "codex-0.169.0/UserPromptSubmit": {"event": "UserPromptSubmit", "prompt": QUESTION},
    "copilot-1.0.102-camel/agentStop": {"event": "Stop"},
    "copilot-1.0.102-camel/postToolUse": {"event": "PostToolUse", "tool": "bash"},
    "copilot-1.0.102-camel/preToolUse": None,
    "copilot-1.0.102-camel/sessionEnd": {"event": "SessionEnd", "source": "complete"},
    "copilot-1.0.102-camel/sessionStart": {"event": "SessionStart", "source": "new"},
    "copilot-1.0.102-camel/userPromptSubmitted": {"event": "UserPromptSubmit", "prompt": QUESTION},
    "copilot-1.0.102-pascal/PostToolUse": {"event": "PostToolUse", "tool": "Bash"},
    "copilot-1.0.102-pascal/PreToolUse": None,
    "copilot-1.0.102-pascal/SessionEnd": {"event": "SessionEnd", "source": "complete"},
    "copilot-1.0.102-pascal/SessionStart": {"event": "SessionStart", "source": "new"},
    "copilot-1.0.102-pascal/Stop": {"event": "Stop"},
    "copilot-1.0.102-pascal/UserPromptSubmit": {"event": "UserPromptSubmit", "prompt": QUESTION},
    "gemini-0.61.0/AfterAgent": {
        "event": "Stop",
        "prompt": f"<hook_context>PROBE-SessionStart-MARKER</hook_context>\n\n{QUESTION}",
    },
    "gemini-0.61.0/AfterTool": {"event": "PostToolUse", "tool": "run_shell_command"},
    "gemini-0.61.0/BeforeAgent": {
        "event": "UserPromptSubmit",
        "prompt": f"<hook_context>PROBE-SessionStart-MARKER</hook_context>\n\n{QUESTION}",
    },
    "gemini-0.61.0/BeforeTool": None,
    "gemini-0.61.0/PreCompress.2": {"event": "PreCompact", "source": "auto"},
    "gemini-0.61.0/PreCompress": {"event": "PreCompact", "source": "auto"},
    "gemini-0.61.0/SessionEnd": {"event": "SessionEnd", "source": "exit"},
    "gemini-0.61.0/SessionStart": {"event": "SessionStart", "source": "startup"},
    "opencode-1.18.33/chat.message": {"event": "UserPromptSubmit", "prompt": f'"{QUESTION}"', "cwd": "/elsewhere"},
    "opencode-1.18.33/event.session.created": {"event": "SessionStart"},
    "opencode-1.18.33/event.session.idle": {"event": "Stop", "cwd": "/elsewhere"},
    "opencode-1.18.33/init": None,
    "opencode-1.18.33/tool.execute.after": {"event": "PostToolUse", "tool": "bash", "cwd": "/elsewhere"},
    "qwen-0.24.4/Notification": None,
    "qwen-0.24.4/PostToolUse": {"event": "PostToolUse", "tool": "run_shell_command"},
    "qwen-0.24.4/PreToolUse": None,
    "qwen-0.24.4/SessionStart": {"event": "SessionStart", "source": "startup"},
    "qwen-0.24.4/Stop": {"event": "Stop"},
    "qwen-0.24.4/UserPromptSubmit.2": {"event": "UserPromptSubmit"},
    "qwen-0.24.4/UserPromptSubmit": {"event": "UserPromptSubmit", "prompt": QUESTION},
}
"""Captured input → the fields that are not empty; None where hybrid registers nothing and answers nothing."""


def _parse(fields: dict[str, Any], *, client: str = "claude", event: str = "") -> dict[str, Any]:
    return parse_event(json.dumps(fields).encode(), client=client, event=event, cwd="/elsewhere")


def _name_of(sample: str) -> str:
    """The name on the command line, for clients whose input does not hold it."""
    folder, name = sample.split("/")
    return name.removeprefix("event.") if folder.startswith(("opencode", "copilot-1.0.102-camel")) else ""


def test_every_captured_input_stands_in_the_table() -> None:
    """No captured input is forgotten; files that begin with an underscore and the status line are no events."""
    captured = {str(path.relative_to(FIXTURES))[: -len(".json")] for path in FIXTURES.rglob("*.json")}

    assert set(CAPTURED) == {name for name in captured if "/_" not in name and not name.endswith("/statusLine")}


@pytest.mark.parametrize("sample", CAPTURED)
def test_a_captured_input_becomes_neutral_fields(sample: str) -> None:
    """Whatever a client calls its fields, the same ones come out; what hybrid does not answer is an error."""
    data = (FIXTURES / f"{sample}.json").read_bytes()
    client = sample.split("-")[0].split("_")[0]
    wanted = CAPTURED[sample]
    if wanted is None:
        with pytest.raises(EventError, match="no event that hybrid knows"):
            parse_event(data, client=client, event=_name_of(sample), cwd="/elsewhere")
        return

    fields = parse_event(data, client=client, event=_name_of(sample), cwd="/elsewhere")

    rest = {"client": client, "agent_id": "", "cwd": "$PROJECT", "prompt": "", "source": "", "tool": "", "report": ""}
    of_turns = ("message", "transcript", "tool_use_id", "tool_input", "tool_response", "error")
    assert rest | {"paths": []} | wanted == {
        k: v for k, v in fields.items() if k not in ("session_id", "name", *of_turns)
    }
    assert len(fields["session_id"]) > 20
    assert fields["name"].lower() in {name.lower() for name in EVENTS[fields["event"]]}
    assert fields == json.loads(json.dumps(fields))
    assert wanted["event"] == HookEvent.of(fields).event


@pytest.mark.parametrize(
    ("sample", "command", "told"),
    [
        ("claude_code-2.1.330/PostToolUse.Bash", "echo mock-bash-output", "mock-bash-output"),
        ("codex-0.169.0/PostToolUse", "echo mock-bash-output", "mock-bash-output"),
        ("gemini-0.61.0/AfterTool", "echo mock-bash-output", "mock-bash-output"),
        ("copilot-1.0.102-camel/postToolUse", "echo mock-bash-output", "mock-bash-output"),
        ("opencode-1.18.33/tool.execute.after", "echo mock-bash-output", "mock-bash-output"),
    ],
)
def test_a_use_of_a_tool_brings_what_it_was_given_and_what_it_answered(sample: str, command: str, told: str) -> None:
    """As the client has them, whatever it calls them; only with the event of a tool."""
    data = (FIXTURES / f"{sample}.json").read_bytes()

    fields = parse_event(data, client="x", event=_name_of(sample), cwd="/elsewhere")

    event = HookEvent.of(fields)
    assert command in json.dumps(event.tool_input)
    assert told in json.dumps(event.tool_response)


def test_a_tool_that_failed_tells_its_error() -> None:
    """The event that some clients have for it is the same event to us, with an error."""
    given = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "t1"}
    data = json.dumps({**given, "error": "Exit code 1\nboom"}).encode()

    event = HookEvent.of(parse_event(data, client="claude", event="PostToolUseFailure", cwd="/"))

    assert ("PostToolUse", "PostToolUseFailure") == (event.event, event.name)
    assert ("Exit code 1\nboom", "t1", {"command": "x"}, None) == (
        event.error,
        event.tool_use_id,
        event.tool_input,
        event.tool_response,
    )


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ("claude_code-2.1.330/Stop", "The subagent is done. [mock reply]"),
        ("codex-0.169.0/Stop", "I ran it. [mock reply]"),
        ("qwen-0.24.4/Stop", "I ran it. [mock reply]"),
        ("gemini-0.61.0/AfterAgent", "I ran it. [mock reply]"),
        ("copilot-1.0.102-camel/agentStop", ""),
    ],
)
def test_the_end_of_a_turn_brings_the_agents_last_text_and_its_transcript(sample: str, message: str) -> None:
    """Each client has names of its own for both; Copilot names the transcript alone."""
    data = (FIXTURES / f"{sample}.json").read_bytes()

    fields = parse_event(data, client=sample.split("-")[0], event=_name_of(sample), cwd="/elsewhere")

    assert message == fields["message"]
    assert fields["transcript"].endswith(".jsonl")


def test_only_the_end_of_a_turn_has_a_message() -> None:
    """A prompt that quotes the field of another event brings no words of the agent."""
    fields = _parse(
        {"hook_event_name": "UserPromptSubmit", "prompt": "x", "last_assistant_message": "AI LESSON: a - b"}
    )

    assert fields["message"] == ""


def test_the_command_line_names_the_event() -> None:
    """`--event` prevails over the input, and stays as the client spells it."""
    fields = _parse({"hook_event_name": "Stop", "prompt": "x"}, event="userPromptSubmitted")

    assert ("UserPromptSubmit", "userPromptSubmitted") == (fields["event"], fields["name"])


def test_what_was_typed_prevails() -> None:
    """Qwen tells what was really typed beside the prompt it made of it."""

    assert "typed" == _parse({"prompt": "made", "submitted_prompt": "typed"})["prompt"]


def test_opencode_prompts_leave_out_what_modules_added() -> None:
    """A prompt of OpenCode is its text parts, without those that a module pushed and without files."""
    parts = [
        {"type": "text", "text": "How do"},
        {"type": "text", "text": "added", "synthetic": True},
        {"type": "file", "url": "file:///x"},
        {"type": "text", "text": "retries work?"},
    ]
    fields = _parse({"input": {"sessionID": "s1"}, "output": {"parts": parts}, "directory": "/p"}, event="chat.message")

    assert ("How do\n\nretries work?", "s1", "/p") == (fields["prompt"], fields["session_id"], fields["cwd"])


WRITTEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "Claude edit": ({"tool_name": "Edit", "tool_input": {"file_path": "/p/a.py", "old_string": "x"}}, ["/p/a.py"]),
    "Claude notebook": ({"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/p/a.ipynb"}}, ["/p/a.ipynb"]),
    "Claude read": ({"tool_name": "Read", "tool_input": {"file_path": "/p/a.py"}}, []),
    "Claude search": ({"tool_name": "Grep", "tool_input": {"path": "/p", "pattern": "x"}}, []),
    "Gemini write": ({"tool_name": "write_file", "tool_input": {"file_path": "a.py"}}, ["a.py"]),
    "Gemini replace": ({"tool_name": "replace", "tool_input": {"file_path": "a.py"}}, ["a.py"]),
    "Gemini list": ({"tool_name": "list_directory", "tool_input": {"path": "src"}}, []),
    "Copilot create": ({"toolName": "create", "toolArgs": {"path": "a.py", "file_text": ""}}, ["a.py"]),
    "Copilot edit as text": ({"toolName": "edit", "toolArgs": '{"path": "a.py"}'}, ["a.py"]),
    "broken arguments": ({"toolName": "edit", "toolArgs": '{"path": "a'}, []),
    "OpenCode edit": ({"input": {"tool": "edit", "args": {"filePath": "/p/a.ts"}}, "output": {}}, ["/p/a.ts"]),
    "MCP": ({"tool_name": "mcp__files__write_file", "tool_input": {"path": "a.py"}}, ["a.py"]),
    "patch": (
        {
            "tool_name": "apply_patch",
            "tool_input": {
                "command": "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n@@\n-x\n+y\n"
                "*** Add File: c.md\n+*** Add File: no.md\n*** Delete File: d.md\n*** Update File: c.md\n*** End Patch"
            },
        },
        ["src/a.py", "src/b.py", "c.md", "d.md"],
    ),
    "patch in a shell": (
        {
            "tool_name": "Bash",
            "tool_input": {
                "command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\nEOF"
            },
        },
        ["a.py"],
    ),
    "patch as text": ({"tool_name": "apply_patch", "tool_input": "*** Begin Patch\n*** Add File: a.py\n+x"}, ["a.py"]),
    "wrong types": ({"tool_name": "Edit", "tool_input": {"file_path": 7, "path": ["a"]}}, []),
    "no arguments": ({"tool_name": "Edit"}, []),
    "no tool": ({"tool_input": {"file_path": "a.py"}}, []),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_files_that_a_tool_wrote(case: str) -> None:
    """Written files are told under whatever name a client gives them; read ones are not."""
    fields, paths = WRITTEN[case]

    assert paths == _parse(fields, event="PostToolUse")["paths"]


def test_a_patch_of_thousands_of_files_is_cut() -> None:
    """Beyond a limit the next sweep finds the files."""
    patch = "*** Begin Patch\n" + "".join(f"*** Add File: {number}.py\n+x\n" for number in range(3 * MAX_PATHS))

    assert MAX_PATHS == len(
        _parse({"tool_name": "apply_patch", "tool_input": {"input": patch}}, event="PostToolUse")["paths"]
    )


REPORTED: dict[str, tuple[dict[str, Any], str]] = {
    "blocks": (
        {
            "tool_name": "Task",
            "tool_response": {
                "content": [
                    {"type": "text", "text": "First."},
                    {"type": "image", "data": "…"},
                    {"type": "text", "text": "Second."},
                    {"type": "text", "text": "agentId: a1 (use SendMessage to continue)\n<usage>total: 3</usage>"},
                ]
            },
        },
        "First.\n\nSecond.",
    ),
    "list": ({"tool_name": "agent", "tool_response": [{"type": "text", "text": "Found."}]}, "Found."),
    "text": ({"tool_name": "task", "tool_response": "Found."}, "Found."),
    "Qwen": ({"tool_name": "task", "tool_response": {"llmContent": [{"text": "Found."}]}}, "Found."),
    "Copilot camel": ({"toolName": "task", "toolResult": {"textResultForLlm": "Found."}}, "Found."),
    "Copilot pascal": ({"tool_name": "Task", "tool_result": {"text_result_for_llm": "Found."}}, "Found."),
    "OpenCode": ({"input": {"tool": "task"}, "output": {"output": "Found."}}, "Found."),
    "launched": (
        {"tool_name": "Agent", "tool_response": {"status": "async_launched", "content": [{"text": "later"}]}},
        "",
    ),
    "another tool": ({"tool_name": "Bash", "tool_response": {"content": [{"text": "no"}]}}, ""),
    "nothing": ({"tool_name": "Agent"}, ""),
    "wrong types": ({"tool_name": "Agent", "tool_response": {"content": [1, {"text": 2}, None]}}, ""),
    "long": ({"tool_name": "Agent", "tool_response": "x" * 500_000}, "x" * MAX_PROMPT_CHARS),
    "surrogate": ({"tool_name": "Agent", "tool_response": "half \ud83d"}, "half ?"),
}


@pytest.mark.parametrize("case", REPORTED)
def test_reports_of_subagents(case: str) -> None:
    """The final text of a subagent is found wherever its client puts it; other tools have none."""
    fields, report = REPORTED[case]

    assert report == _parse(fields, event="PostToolUse")["report"]


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

    assert ("", "/elsewhere", [], "") == (fields["prompt"], fields["cwd"], fields["paths"], fields["report"])


def test_reading_and_answering_imports_next_to_nothing() -> None:
    """A hook process pays for what it imports: none of the costly modules of the standard library is among it."""
    script = "import hybrid.hooks.event, hybrid.hooks.answer, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); {script}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert not {"typing", "dataclasses", "pathlib", "inspect", "hashlib", "subprocess"} & set(done.stdout.split())
