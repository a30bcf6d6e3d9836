"""Asks the service how it is, or to stop: for commands, which may wait longer than a hook."""

from __future__ import annotations

import json
import time
from typing import Any

from hybrid.ipc.endpoint import Greeting, connect, read_endpoint
from hybrid.ipc.wire import WireError

_ASK_S = 2.0
_LOOK_S = 0.02
"""Seconds between two looks whether the service has gone."""


def ask(home: str, operation: str, *, timeout_s: float = _ASK_S) -> dict[str, Any] | None:
    """Return the answer to an operation (`status`, `stop`), or None when no service answers in time.

    Args:
        home: `$HYBRID_HOME`.
        operation: Name of the operation.
        timeout_s: Seconds for each step.
    """
    return request(home, operation, timeout_s=timeout_s)


def request(home: str, operation: str, *parts: bytes, timeout_s: float) -> dict[str, Any] | None:
    """Return the answer to an operation that has more parts than its name; else as `ask`."""
    try:
        return exchange(home, operation, *parts, timeout_s=timeout_s)
    except WireError:
        return None


class NoServiceError(WireError):
    """Nobody heard the question: there is no service, or none that can be asked."""


def exchange(home: str, operation: str, *parts: bytes, timeout_s: float) -> dict[str, Any]:
    """Return the answer to an operation, with the service's `pid` and `version`.

    Raises:
        NoServiceError: Nobody heard the question.
        WireError: It was heard, and no answer came in time.
    """
    step_s = min(timeout_s, _ASK_S)
    endpoint = read_endpoint(home)
    if endpoint is None:
        raise NoServiceError("there is no service")
    try:
        connection = connect(endpoint, timeout_s=step_s)
    except WireError as error:
        raise NoServiceError(str(error)) from error
    try:
        try:
            greeting = Greeting(connection.receive(timeout_s=step_s))
        except WireError as error:
            raise NoServiceError(str(error)) from error
        connection.send(operation.encode(), *parts, timeout_s=step_s)
        answer = json.loads(connection.receive(timeout_s=timeout_s)[0])
    except ValueError as error:
        raise WireError(f"no JSON: {error}") from error
    finally:
        connection.close()
    if not isinstance(answer, dict):
        raise WireError("no JSON object")
    return {"pid": greeting.pid, "version": greeting.version, **answer}


def daemon_status(home: str, *, timeout_s: float = _ASK_S) -> dict[str, Any]:
    """Return the `daemon` part of the status: `running`, `pid`, `uptime_s`, `rss_bytes`, and what the service adds.

    Args:
        home: `$HYBRID_HOME`.
        timeout_s: Seconds for each step.
    """
    absent = {"running": False, "pid": None, "uptime_s": None, "rss_bytes": None}
    answer = ask(home, "status", timeout_s=timeout_s)
    return absent if answer is None else absent | answer | {"running": True}


def stop(home: str, *, timeout_s: float) -> bool:
    """Ask the service to stop, and wait until nobody answers any more; True when nobody does."""
    until_s = time.monotonic() + timeout_s
    while ask(home, "stop") is not None:
        while read_endpoint(home) is not None and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        if time.monotonic() >= until_s:
            return False
    return True
