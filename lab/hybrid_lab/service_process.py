"""A service of its own for measuring, in a scratch home, asked by hook processes and directly; `speed` uses it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.hooks.service import environment_of
from hybrid.ipc.start import daemon_status, start_command, stop
from hybrid.ipc.wire import connect, read_endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from hybrid.evaluation.timing import Runner

_STARTED_S = 20.0
_ANSWER_S = 10.0
BARE_CLIENT = ("-I", "-S", "-c", "import json,socket")
"""Arguments of an interpreter that only imports what any client of a service needs."""


class ServiceProcess:
    """The service of a runner's home.

    Args:
        runner: With the home.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._home = runner.environ["HYBRID_HOME"]

    @contextlib.contextmanager
    def running(self, project: Path) -> Generator[float]:
        """Start the service for the block; gives the seconds until it answered a first event.

        Raises:
            HybridError: It did not start.
        """
        started_s = time.perf_counter()
        process = subprocess.Popen(
            start_command("daemon", "run", "--project", str(project)),
            env=dict(self._runner.environ),
            cwd=self._runner.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # As hooks start it: systems share the processor between sessions before they share it within one.
            start_new_session=True,
        )
        try:
            self._wait(lambda: read_endpoint(self._home) is not None)
            self.ask(project, "what does the first prompt after a start cost?", session="start")
            yield time.perf_counter() - started_s
        finally:
            stop(self._home, timeout_s=_ANSWER_S)
            process.terminate()
            process.wait(_ANSWER_S)

    def ask(self, project: Path, prompt: str, *, session: str) -> bool:
        """One prompt, sent by this process: what the service and the wire alone cost; was there an answer?

        Raises:
            HybridError: No service answers.
        """
        return self.tell(project, "UserPromptSubmit", {"prompt": prompt}, session=session)

    def tell(
        self, project: Path, name: str, fields: Mapping[str, object], *, session: str, environ: Mapping[str, str] = {}
    ) -> bool:
        """One event, sent by this process; was there an answer?

        Args:
            project: Its folder.
            name: Of the event.
            fields: Of the event, beside session and folder.
            session: Of the agent.
            environ: The client's environment; what is meant for hybrid is sent.

        Raises:
            HybridError: No service answers.
        """
        endpoint = read_endpoint(self._home)
        if endpoint is None:
            raise HybridError("the service of the measurement is gone")
        connection = connect(endpoint, timeout_s=_ANSWER_S)
        event = json.dumps({"session_id": session, "cwd": str(project), "hook_event_name": name, **fields}).encode()
        sent = environment_of(environ)
        named = (b"event", b"claude", name.encode(), os.fsencode(project), b"0", b"10000", sent)
        try:
            connection.receive(timeout_s=_ANSWER_S)
            connection.send(*named, event, timeout_s=_ANSWER_S)
            printed = connection.receive(timeout_s=_ANSWER_S)[0]
            if printed:
                connection.send(b"0", timeout_s=_ANSWER_S)
            return bool(printed)
        finally:
            connection.close()

    def hook(self, project: Path, prompt: str, *, session: str, **environ: str) -> str:
        """One prompt through a hook process as clients start it; gives what the agent got.

        Raises:
            HybridError: The hook failed, or printed what it must not.
        """
        done = subprocess.run(
            start_command("hook", "run", "--client", "claude", "--event", "UserPromptSubmit"),
            input=json.dumps({"session_id": session, "cwd": str(project), "prompt": prompt}).encode(),
            env=dict(self._runner.environ) | environ,
            capture_output=True,
            check=False,
        )
        if done.returncode or done.stderr:
            raise HybridError(f"a hook ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:300]}")
        return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""

    def bare(self) -> None:
        """Start and end the process that a hook is compared with."""
        subprocess.run([sys.executable, *BARE_CLIENT], env=dict(self._runner.environ), check=True)

    def status(self) -> dict[str, Any]:
        """Figures of the service."""
        return daemon_status(self._home)

    def cpu_s(self) -> float | None:
        """Processor seconds that the service used until now; None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.status()['pid']}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _wait(self, is_so: Callable[[], bool]) -> None:
        until_s = time.monotonic() + _STARTED_S
        while not is_so():
            if time.monotonic() > until_s:
                raise HybridError(f"the service did not start within {_STARTED_S:g} s; `hybrid daemon run` shows why")
            time.sleep(0.005)
