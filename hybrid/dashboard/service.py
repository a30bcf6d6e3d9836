"""Asks the service for the operations of the page, starts it when it is not there, and runs two commands for reports.

The page opens no index and no store of its own, so that it stays small and nothing is loaded twice. What is told by
`hybrid status` and `hybrid doctor` is asked of them: they look at the service from outside, as a person would.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.hooks.service import MARKS
from hybrid.ipc.start import ask, start_command, start_service
from hybrid.ipc.wire import read_endpoint
from hybrid.operations.table import PAGES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_Result = TypeVar("_Result", bound=Struct)

_WAIT_S = 10.0
"""Seconds to wait for a service to start."""
_LOOK_S = 0.05
_ASK_S = 60.0
"""Seconds for an answer: forgetting writes indexes anew."""
_BUSY_S = 5.0
"""Seconds for which a question is asked again while the service is busy with what it needs."""
_AGAIN_S = 0.2
_REPORT_S = 120.0
_FRESH_S = 5.0
"""Seconds for which a report is shown again without asking."""


class PageError(HybridError):
    """Something that a page says in place of its content.

    Args:
        message: A sentence.
        kind: usage, no_project, no_index, building, busy, failed or no_service.
        progress: Of a build that is waited for.
    """

    def __init__(self, message: str, kind: str = "failed", progress: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.progress = progress


class Service:
    """The service of a `$HYBRID_HOME`.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment of the page; the service gets what is meant for hybrid.
    """

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._home = str(home)
        self._environ = dict(environ)
        self._sent = {name: value for name, value in environ.items() if name.startswith("HYBRID_") or name in MARKS}
        self._reports: dict[tuple[str, ...], tuple[float, dict[str, Any]]] = {}
        self._reporting = threading.Lock()

    @property
    def is_there(self) -> bool:
        """True if a service told where it listens; it is not asked whether it does."""
        return read_endpoint(self._home) is not None

    def ask(self, name: str, root: str, arguments: Struct, result: type[_Result]) -> _Result:
        """Return the answer to an operation in a project.

        Args:
            name: Name of the operation.
            root: Root of the project; empty for none.
            arguments: Its arguments.
            result: Type of the answer.

        Raises:
            PageError: It cannot be done, or no service answers.
        """
        assert PAGES[name].result is result, name
        question = {"cwd": root, "environ": self._sent, "arguments": msgspec.to_builtins(arguments)}
        data = json.dumps(question).encode()
        until_s = time.monotonic() + _BUSY_S
        while True:
            answer = self._answer(name, data)
            error = answer.get("error")
            if not error or error.get("kind") != "busy" or time.monotonic() > until_s:
                break
            time.sleep(_AGAIN_S)
        if error:
            raise PageError(str(error.get("message")), str(error.get("kind")), error.get("progress"))
        if "result" not in answer:
            message = (
                f"the service is of version {answer.get('version')}, which knows no page: `hybrid daemon stop` ends it"
            )
            raise PageError(message, "no_service")
        return msgspec.convert(answer["result"], result)

    def _answer(self, name: str, data: bytes) -> dict[str, Any]:
        answer = ask(self._home, "perform", name.encode(), data, timeout_s=_ASK_S)
        if answer is None:
            if ask(self._home, "status") is not None:
                raise PageError(f"the service did not answer within {_ASK_S:g} s", "no_service")
            self.start()
            answer = ask(self._home, "perform", name.encode(), data, timeout_s=_ASK_S)
        if answer is None:
            raise PageError("the service does not answer; `hybrid daemon run` shows why", "no_service")
        return answer

    def start(self, root: str = "") -> bool:
        """Start the service unless it runs, and return whether it answers within ten seconds."""
        until_s = time.monotonic() + _WAIT_S
        while ask(self._home, "status") is None:
            start_service(self._home, self._environ, cwd=root)
            if time.monotonic() > until_s:
                return False
            time.sleep(_LOOK_S)
        return True

    def report(self, root: str, *words: str) -> dict[str, Any]:
        """Return the JSON that a command of this installation prints about a project, at most five seconds old.

        Raises:
            PageError: The command cannot be run, or prints no JSON.
        """
        key = (root, *words)
        with self._reporting:
            made_s, known = self._reports.get(key, (float("-inf"), {}))
            if time.monotonic() - made_s < _FRESH_S:
                return known
            command = start_command(*words, "--json", "--project", root)
            try:
                done = subprocess.run(command, capture_output=True, env=self._environ, timeout=_REPORT_S, check=False)
                found: object = json.loads(done.stdout)
            except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                raise PageError(f"`hybrid {' '.join(words)}` failed: {error}") from error
            if not isinstance(found, dict):
                raise PageError(f"`hybrid {' '.join(words)}` printed no object")
            report = cast("dict[str, Any]", found)
            self._reports[key] = (time.monotonic(), report)
            return report

    def forget_reports(self) -> None:
        """Have the next reports made anew."""
        with self._reporting:
            self._reports.clear()
