"""An agent that reads, searches, edits, writes and fails, with the tools of each client; and who answers its hooks.

Tools and arguments are what each client offered its model in the version of its package. Codex has none of its own to
read and to search, only a shell.
"""

from __future__ import annotations

import json
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.clients.mock_api import Called, Rule, Said
from tests.clients.talking import write_json

if TYPE_CHECKING:
    from tests.clients.mock_api import Request
    from tests.clients.seat import Seat

ACT = "Please do now what we spoke about yesterday."
DELEGATE = "Please have a helper of yours do it."
TASK = "SUBTASK: do what was spoken about yesterday."
"""Prompts that no record fits."""

READ, EDITED, WRITTEN = "src/payments/client.py", "src/users/store.py", "docs/refunds.md"
_TEXT = "# Refunds\n\nPress the button twice.\n"
_OLD, _NEW = "or None.", "or nothing."
_PATTERN = "wait_before_retry"
_FAILING = "echo oops >&2; exit 3"
_LINE = '        """The user with an e-mail address, '
_PATCH = f'*** Begin Patch\n*** Update File: {EDITED}\n@@\n-{_LINE}{_OLD}"""\n+{_LINE}{_NEW}"""\n*** End Patch'
_ADDED = "".join(f"+{line}\n" for line in _TEXT.splitlines())
_ADDING = f"*** Begin Patch\n*** Add File: {WRITTEN}\n{_ADDED}*** End Patch"


class Step(NamedTuple):
    """One use of a tool.

    Attributes:
        name: What it is for; empty for one that the client wants before another.
        call: What the model asks for.
    """

    name: str
    call: Called


def steps(seat: Seat) -> list[Step]:
    """What the agent does, in order; the refused edit asks for what the edit before took away."""
    client, project = seat.agent.name, seat.desk.project
    read, edited, written = (str(project / name) for name in (READ, EDITED, WRITTEN))

    def does(name: str, tool: str, **arguments: object) -> Step:
        return Step(name, Called(tool, arguments))

    if client == "codex":
        return [
            does("read-file", "exec_command", cmd=f"sed -n 1,12p {READ}"),
            does("search", "exec_command", cmd=f"grep -rn {_PATTERN} src"),
            does("edit-file", "apply_patch", input=_PATCH),
            does("refused-edit", "apply_patch", input=_PATCH),
            does("new-file", "apply_patch", input=_ADDING),
            does("failed-command", "exec_command", cmd=_FAILING),
        ]
    if client == "claude":
        edit = {"file_path": edited, "old_string": _OLD, "new_string": _NEW}
        return [
            does("read-file", "Read", file_path=read),
            does("search", "Bash", command=f"grep -rn {_PATTERN} src", description="find it"),
            does("", "Read", file_path=edited),
            does("edit-file", "Edit", **edit),
            does("refused-edit", "Edit", **edit),
            does("new-file", "Write", file_path=written, content=_TEXT),
            does("failed-command", "Bash", command=_FAILING, description="fail"),
        ]
    if client in ("gemini", "qwen"):
        tool, why = ("replace", {"instruction": "say nothing"}) if client == "gemini" else ("edit", {})
        edit = {"file_path": edited, "old_string": _OLD, "new_string": _NEW, **why}
        return [
            does("read-file", "read_file", file_path=read),
            does("search", "grep_search", pattern=_PATTERN),
            does("", "read_file", file_path=edited),
            does("edit-file", tool, **edit),
            does("refused-edit", tool, **edit),
            does("new-file", "write_file", file_path=written, content=_TEXT),
            does("failed-command", "run_shell_command", command=_FAILING, description="fail", is_background=False),
        ]
    if client == "copilot":
        edit = {"path": edited, "old_str": _OLD, "new_str": _NEW}
        return [
            does("read-file", "view", path=read),
            does("search", "grep", pattern=_PATTERN, paths="src", output_mode="content", **{"-n": True}),
            does("edit-file", "edit", **edit),
            does("refused-edit", "edit", **edit),
            does("new-file", "create", path=written, file_text=_TEXT),
            does("failed-command", "bash", command=_FAILING, description="fail"),
        ]
    edit = {"filePath": edited, "oldString": _OLD, "newString": _NEW}
    return [
        does("read-file", "read", filePath=read),
        # It would fetch its program for this.
        *([does("search", "grep", pattern=_PATTERN)] if _ripgrep() else []),
        does("", "read", filePath=edited),
        does("edit-file", "edit", **edit),
        does("refused-edit", "edit", **edit),
        does("new-file", "write", filePath=written, content=_TEXT),
        does("failed-command", "bash", command=_FAILING, description="fail"),
    ]


def _wait_for_agent(request: Request) -> Called:
    """Wait for the subagent that the newest result names."""
    [agent] = re.findall(r'"agent_id":\s*"([^"]+)"', request.newest.text)
    return Called("wait_agent", {"targets": [agent], "timeout_ms": 60_000}, "multi_agent_v1")


_ASKED = {"description": "look", "prompt": TASK}
_AWAITED = {**_ASKED, "subagent_type": "general-purpose", "run_in_background": False}
_SUBAGENTS: dict[str, tuple[Called, ...]] = {
    "claude": (Called("Agent", _AWAITED),),
    "codex": (Called("spawn_agent", {"message": TASK}, "multi_agent_v1"),),
    "gemini": (Called("invoke_agent", {"agent_name": "generalist", "prompt": TASK}),),
    "qwen": (Called("agent", _AWAITED),),
    "copilot": (Called("task", {**_ASKED, "name": "looker", "agent_type": "general-purpose", "mode": "sync"}),),
    "opencode": (Called("task", {**_ASKED, "subagent_type": "general"}),),
}


def rules(seat: Seat) -> tuple[Rule, ...]:
    """The model's answers: to `ACT` and `TASK` all steps one after the other, to `DELEGATE` a subagent."""
    first, *later = (step.call for step in steps(seat))
    [delegated] = _SUBAGENTS[seat.agent.name]
    waits = (_wait_for_agent,) if seat.agent.name == "codex" else ()
    done = Said("Done.")
    # A subagent of Gemini's ends with a tool.
    ended = Called("complete_task", {"result": {"response": "Done."}}) if seat.agent.name == "gemini" else done
    return (Rule(TASK, first, (*later, ended)), Rule(DELEGATE, delegated, waits), Rule(ACT, first, (*later, done)))


@cache
def _ripgrep() -> Path | None:
    """The program that OpenCode searches with: on the PATH, or the one that Codex brings."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path(os.environ.get("HYBRID_CLIENTS_DIR", "")).resolve().glob("codex-*/**/codex-path"))
    return next((path for folder in folders if os.access(path := folder / "rg", os.X_OK)), None)


TEXT = "--- hybrid context (a stand-in) ---\n{}\n--- end hybrid context ---"
FAILED = "that command failed"

_PROGRAM = """\
#!{python}
import os, sys, time
sys.path.insert(0, {checkout!r})
from hybrid.capture.shown import trouble_of
from hybrid.hooks.answer import write_answer
from hybrid.hooks.event import parse_event
from hybrid.hooks.service import event_of
name, data = sys.argv[sys.argv.index("--event") + 1], sys.stdin.buffer.read()
with open(f"{folder}/{{time.time_ns()}} {{name}}", "wb") as file:
    file.write(data)
if event_of(name) == "PostToolUse":
    call = parse_event(data, client={client!r}, event=name, cwd="").call
    text = {text!r}.format({failed!r} if trouble_of(call) else "about this file")
    print(write_answer(text, client={client!r}, name=name, event="PostToolUse"))
"""


class StandIn:
    """A program `hybrid` that keeps the input of each hook, and answers the use of any tool with `TEXT`.

    The text says whether hybrid would see that a command failed.

    Args:
        seat: Whose client calls it, by hooks of the project that our installer wrote.
    """

    def __init__(self, seat: Seat) -> None:
        folder = seat.desk.folder / "stand-in"
        self._events = folder / "events"
        self._events.mkdir(parents=True)
        program = folder / "hybrid"
        values = {"checkout": str(Path(__file__).parents[2]), "folder": self._events, "client": seat.agent.name}
        program.write_text(_PROGRAM.format(python=sys.executable, text=TEXT, failed=FAILED, **values), encoding="utf-8")
        program.chmod(0o755)
        if found := _ripgrep():
            (folder / "rg").symlink_to(found)
        self.path = os.pathsep.join((str(folder), seat.desk.environ["PATH"]))

    def heard(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and input of each event, in order."""
        paths = sorted(self._events.iterdir())
        return [(path.name.partition(" ")[2], json.loads(path.read_text("utf-8") or "{}")) for path in paths]


def tell_failures(seat: Seat) -> None:
    """Register the event of a failed tool beside ours, which the installer leaves out of files that others share."""
    handler = {"type": "command", "command": "hybrid hook run --client claude --event PostToolUseFailure"}
    write_json(
        seat.desk.project / ".claude" / "settings.local.json", {"hooks": {"PostToolUseFailure": [{"hooks": [handler]}]}}
    )
