"""What all clients have in common: a conversation in one session, and what was printed in it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.clients.desk import Desk

KEY = "dummy-key"
ANSWER_S = 300.0
"""Seconds that one process of a client may take; Kilo Code takes 70 and more on cores that others use too."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What a client printed in one conversation."""

    stdout: str
    stderr: str
    code: int

    @property
    def shown(self) -> str:
        """All of it."""
        return self.stdout + self.stderr


class Agent(Protocol):
    """One client."""

    @property
    def name(self) -> str:
        """As `--client` takes it."""
        ...

    def prepare(self, desk: Desk) -> None:
        """Write the settings that point it at the mock; none of them is about hooks."""
        ...

    def environ(self, desk: Desk) -> dict[str, str]:
        """What it needs besides the desk's environment."""
        ...

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """A conversation in one session, until the last answer."""
        ...


def write_json(path: Path, value: object) -> None:
    """Write a settings file as a person would: indented, with a line end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def one_by_one(desk: Desk, commands: Sequence[Sequence[str]], environ: Mapping[str, str]) -> Talk:
    """A conversation of clients that take one prompt a process."""
    talks: list[Talk] = []
    for command in commands:
        done = subprocess.run(
            command,
            cwd=desk.project,
            env=desk.environ | dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=ANSWER_S,
            check=False,
        )
        talks.append(Talk(done.stdout, done.stderr, done.returncode))
    return Talk("".join(t.stdout for t in talks), "".join(t.stderr for t in talks), max(t.code for t in talks))
