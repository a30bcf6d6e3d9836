"""How Claude Code is run without a screen: one process a conversation, prompts as lines on its standard input."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.clients.talking import ANSWER_S, KEY, Talk, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.clients.desk import Desk


@dataclass(frozen=True)
class Claude:
    """Claude Code; an empty model is the one it takes by itself."""

    program: tuple[str, ...]
    model: str = ""
    name: str = "claude"
    prefix: str = "mcp__hybrid__"
    namespace: str = ""

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        write_json(desk.home / ".claude.json", {"hasCompletedOnboarding": True, "numStartups": 3})

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {
            "ANTHROPIC_BASE_URL": desk.api.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def command(self, *args: str) -> list[str]:
        """A command line of the client."""
        return [*self.program, *args]

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`; a prompt is sent when the one before has its result."""
        args = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-hook-events",
        ]
        model = ["--model", self.model] if self.model else []
        with subprocess.Popen(
            self.command(*args, *model, "--allowedTools", "Agent,Task,Bash,Edit,Write,Read,Grep,mcp__hybrid"),
            cwd=desk.project,
            env=desk.environ | self.environ(desk) | environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            return _converse(process, prompts)


def _converse(process: subprocess.Popen[str], prompts: Sequence[str]) -> Talk:
    assert process.stdin
    lines: queue.Queue[str] = queue.Queue()
    errors: list[str] = []
    readers = [
        threading.Thread(target=_pass_lines, args=[process, lines], daemon=True),
        threading.Thread(target=lambda: errors.append(process.stderr.read() if process.stderr else ""), daemon=True),
    ]
    for reader in readers:
        reader.start()
    shown: list[str] = []
    try:
        for prompt in prompts:
            message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
            process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
            process.stdin.flush()
            shown += _until_result(lines)
        process.stdin.close()
        code = process.wait(ANSWER_S)
    finally:
        process.kill()
    for reader in readers:
        reader.join()
    while not lines.empty():
        shown.append(lines.get())
    return Talk("".join(shown), "".join(errors), code)


def _pass_lines(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout
    for line in process.stdout:
        lines.put(line)
    lines.put("")


def _until_result(lines: queue.Queue[str]) -> list[str]:
    """The lines up to the result of a prompt; an empty one is the end of the output."""
    shown: list[str] = []
    while True:
        line = lines.get(timeout=ANSWER_S)
        shown.append(line)
        if not line or json.loads(line).get("type") == "result":
            return shown
