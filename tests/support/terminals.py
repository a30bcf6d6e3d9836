"""A terminal for tests: a process at one end, a person who types and looks at the other."""

from __future__ import annotations

import contextlib
import os
import re
import select
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import hear_interrupts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_WAIT_S = 60.0
"""Seconds without a word from the process after which a test gives up; a busy machine is slow."""


class Terminal:
    """A process whose three streams are one terminal; a context manager that ends the process.

    Args:
        command: The words of the command.
        cwd: Its directory.
        environ: Its whole environment; `TERM` is added.
        columns: Width of the terminal.
        rows: Height of the terminal.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str], columns: int = 100, rows: int = 30
    ) -> None:
        pty = pytest.importorskip("pty", reason="there are no pseudo terminals here")
        fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.shown = ""

        def take_terminal() -> None:
            hear_interrupts()
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={"TERM": "xterm-256color", **environ},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=take_terminal,
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        self.process.kill()
        self.process.wait()

    def type(self, keys: str) -> None:
        """Type some keys."""
        os.write(self._ours, keys.encode())

    def until(self, pattern: str) -> re.Match[str]:
        """Read what is shown until a pattern is found in what was not looked at yet; the match, whose text is gone."""
        while (found := re.search(pattern, self.shown)) is None:
            assert self._read(), f"{pattern} was not shown: {self.shown!r}"
        self.shown = self.shown[found.end() :]
        return found

    def rest(self) -> str:
        """What is shown until the process ends, and what was shown and not looked at yet."""
        while self._read():
            pass
        return self.shown

    def code(self) -> int:
        """Return the exit code, once the process ends."""
        self.rest()
        return self.process.wait(_WAIT_S)

    def hang_up(self) -> None:
        """Close the terminal, as a person who closes its window."""
        with contextlib.suppress(OSError):
            os.close(self._ours)

    def _read(self) -> bool:
        """Read what comes; False when the process closed its end, or says nothing for long."""
        if not select.select([self._ours], [], [], _WAIT_S)[0]:
            return False
        try:
            part = os.read(self._ours, 65536)
        except OSError:
            return False
        self.shown += part.decode(errors="replace")
        return bool(part)
