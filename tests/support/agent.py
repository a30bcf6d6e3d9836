"""Plays a coding agent: runs the installed form of the hook command as a process, as a client would."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.daemon.server import end_service
from hybrid.ipc.start import daemon_status, rest_web, start_command, stop
from tests.support.builders import command_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.builders import Shop

PATIENT_MS = 60_000
"""Deadline where a test asks what is answered, not how fast: machines that run tests are slow at times."""


@dataclass(frozen=True)
class Answer:
    """What one hook process did."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def text(self) -> str:
        """What the agent got; empty for silence. Fails where the hook was not as a hook must be."""
        assert (0, b"") == (self.code, self.err), self.err.decode()
        if not self.out:
            return ""
        found = json.loads(self.out)
        return found["hookSpecificOutput"]["additionalContext"]


@dataclass
class Agent:
    """One client on one project; the service is that of the project's `HYBRID_HOME`."""

    shop: Shop
    client: str = "claude"
    environ: dict[str, str] = field(default_factory=dict)
    deadline_ms: int = PATIENT_MS
    session: str = "s1"

    def start(self, event: str = "UserPromptSubmit", *, after_s: float = 0.0, **fields: Any) -> subprocess.Popen[bytes]:
        """Start one hook process and give it its event, after so many seconds."""
        settings = command_environment(self.shop.home) | {
            "HOME": str(self.shop.home / "user"),
            "HYBRID_HOOKS_DEADLINE_MS": str(self.deadline_ms),
        }
        data = {"hook_event_name": event, "session_id": self.session, "cwd": str(self.shop.root), **fields}
        process = subprocess.Popen(
            start_command("hook", "run", "--client", self.client, "--event", event),
            cwd=self.shop.root,
            env=settings | self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        time.sleep(after_s)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(data).encode())
            process.stdin.close()
        process.stdin = None
        return process

    def send(self, event: str = "UserPromptSubmit", **fields: Any) -> Answer:
        """One event through the hook."""
        started_s = time.monotonic()
        process = self.start(event, **fields)
        out, err = process.communicate(timeout=120)
        return Answer(process.returncode, out, err, time.monotonic() - started_s)

    def prompt(self, prompt: str, session: str = "") -> Answer:
        """One prompt of a user."""
        return self.send(prompt=prompt, session_id=session or self.session)

    def status(self) -> dict[str, Any]:
        """How the service is."""
        return daemon_status(str(self.shop.home))

    def wait_for_service(self) -> int:
        """Its process number, as soon as it answers."""
        until(lambda: self.status()["running"])
        return int(self.status()["pid"])

    def stop_service(self) -> None:
        """End the service, however it is, and wait until its process is gone, with all that hooks left behind.

        A hook that answered by itself has a child, which starts a service once the agent has its answer: it may come
        after the end of the service that is known here.
        """
        pid = _number(self.shop.home / "run" / "daemon.pid")
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._end_service()
        if pid:
            until(lambda: not is_alive(pid))
        until(self._is_alone)

    def _end_service(self) -> None:
        rest_web(str(self.shop.home))
        stop(str(self.shop.home), timeout_s=10)
        assert end_service(self.shop.home), "the service does not end"

    def _is_alone(self) -> bool:
        """Is no process left with this home? A service that was started meanwhile is ended."""
        if not _processes_of(self.shop.home):
            return True
        self._end_service()
        return False


def _processes_of(home: Path) -> list[int]:
    """The processes that were started with a `HYBRID_HOME`; elsewhere than on Linux none is known."""
    setting = b"\0HYBRID_HOME=" + os.fsencode(home) + b"\0"
    numbers: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended meanwhile.
            if setting in b"\0" + (folder / "environ").read_bytes() + b"\0" and is_alive(int(folder.name)):
                numbers.append(int(folder.name))
    return numbers


def _number(path: Path) -> int:
    try:
        return int(path.read_bytes())
    except (OSError, ValueError):
        return 0


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """End a process that a test knows by its number."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def is_alive(pid: int) -> bool:
    """Does a process live? One that has ended and waits for its parent does not."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return sys.platform != "linux"


def until(is_so: Callable[[], object], timeout_s: float = 120.0) -> None:
    """Wait for something that happens soon."""
    limit_s = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < limit_s, "did not happen in time"
        time.sleep(0.02)
