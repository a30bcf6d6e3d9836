"""One session of a client: where it works, and how it asks the service.

A question waits for a service that starts and for a first build of the index, and tells how far that is.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct, field

from hybrid.ipc.start import NoServiceError, exchange, start_service
from hybrid.ipc.wire import WireError
from hybrid.render.marks import harmless

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Progress = Callable[[float, float | None, str | None], Awaitable[None]]

_ANSWER_S = 60.0
_START_S = 20.0
"""Seconds in which a service must be there that was started now."""
_BUSY_S = 10.0
"""Seconds for which a store or a model in use is waited for."""
_BUILD_S = 20.0
"""Seconds for which a first build is waited for by a client that hears of no progress: many give up after a minute."""
_LONG_BUILD_S = 1800.0
"""The same for a client that hears of progress."""
_AT_ONCE = 4
"""Questions of a session at a time; the others wait, and those of other sessions do not wait for them."""
_LOOK_S = 0.05
_LOOK_AT_BUILD_S = 0.5


class ToolError(Exception):
    """A question that was not answered; the message is for the agent."""

    def __init__(self, message: str) -> None:
        super().__init__(harmless(message))


class Session(Struct):
    """A session of a client.

    Attributes:
        home: `$HYBRID_HOME`.
        cwd: A directory of the project.
        client: Name of the client; empty until it is known.
        environ: Variables of the client that are meant for hybrid.
        session: Id of the connection, the same as long as the client runs.
        has_asked_roots: The client was asked which folder it works in.
    """

    home: str
    cwd: str
    client: str = ""
    environ: dict[str, str] = {}
    session: str = ""
    has_asked_roots: bool = False
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, "ask"))
    """A question that was cancelled keeps its thread until it is answered: else a client that asks and cancels, again
    and again, would take all connections of the service."""

    async def ask(self, name: str, arguments: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """Return the answer of an operation: `result` and `text`.

        Args:
            name: Name of the operation.
            arguments: Its arguments.
            progress: Hears of a first build; None when nobody wants to.

        Raises:
            ToolError: There is none; the message says why.
        """
        until_s = time.monotonic()
        limits = {"busy": _BUSY_S, "building": _LONG_BUILD_S if progress else _BUILD_S}
        while True:
            answer = await asyncio.wrap_future(self._threads.submit(self._exchange, name, arguments))
            error = answer.get("error")
            if error is None:
                return answer
            kind = error["kind"]
            if time.monotonic() - until_s > limits.get(kind, 0.0):
                raise ToolError(_told(error))
            if kind == "building" and progress is not None:
                await progress(*_heard(error.get("progress")))
            await anyio.sleep(_LOOK_AT_BUILD_S if kind == "building" else _LOOK_S)

    def _exchange(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        question = {
            "cwd": self.cwd,
            "client": self.client or "mcp",
            "connection": self.session,
            "environ": self.environ,
            "arguments": arguments,
        }
        data = json.dumps(question).encode()
        until_s = time.monotonic() + _START_S
        while True:
            try:
                return exchange(self.home, "perform", name.encode(), data, timeout_s=_ANSWER_S)
            except NoServiceError as error:
                if time.monotonic() > until_s:
                    raise ToolError(f"the service of hybrid cannot be reached: {error}") from error
                start_service(self.home, os.environ, cwd=self.cwd)
            except WireError as error:
                raise ToolError(f"the service of hybrid gave no answer: {error}") from error
            time.sleep(_LOOK_S)


def _heard(holder: dict[str, Any] | None) -> tuple[float, float | None, str | None]:
    """Return progress, total and a sentence on a build, from what it says of itself."""
    if not holder:
        return 0.0, 1.0, "the index is going to be built"
    left_s = holder.get("seconds_left")
    rest = f", about {left_s:.0f} s left" if left_s else ""
    files = f" ({holder['done']:,} of {holder['total']:,} files)" if holder.get("total") else ""
    return float(holder.get("share") or 0.0), 1.0, f"building the index: {holder.get('step') or 'begins'}{files}{rest}"


def _told(error: dict[str, Any]) -> str:
    progress: dict[str, Any] = error.get("progress") or {}
    share = progress.get("share")
    return f"{error['message']}{f' ({share:.0%} done)' if share else ''}"
