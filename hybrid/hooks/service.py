"""Asks the service for the answer to one event, and knows the clients' words for their events.

The hook process uses it before anything else: standard library only and cheap to import.
"""

from __future__ import annotations

import time

from hybrid import __version__
from hybrid.ipc.wire import LARGE_BYTES, Greeting, WireError, connect, is_newer, read_endpoint

# made: `make docs` makes these from `hooks/clients`, since a hook reads no file for them.
EVENTS = {
    "afteragent": "Stop",
    "aftertool": "PostToolUse",
    "agentstop": "Stop",
    "beforeagent": "UserPromptSubmit",
    "beforesubmitprompt": "UserPromptSubmit",
    "chat.message": "UserPromptSubmit",
    "experimental.session.compacting": "PreCompact",
    "posttooluse": "PostToolUse",
    "posttoolusefailure": "PostToolUse",
    "precompact": "PreCompact",
    "precompress": "PreCompact",
    "session.created": "SessionStart",
    "session.deleted": "SessionEnd",
    "session.idle": "Stop",
    "sessionend": "SessionEnd",
    "sessionstart": "SessionStart",
    "stop": "Stop",
    "subagentstart": "SubagentStart",
    "tool.execute.after": "PostToolUse",
    "userpromptsubmit": "UserPromptSubmit",
    "userpromptsubmitted": "UserPromptSubmit",
}
"""A client's word for an event, in lower case → ours. An answer to an event that takes none is shown as an error, or
reaches the agent as text that nobody meant for it."""

MARKS = (
    "CLAUDECODE",
    "COPILOT_CLI",
    "GEMINI_SESSION_ID",
    "LORE_DATA_DIR",
    "QWEN_CODE_SESSION_ID",
)
"""Variables that tell which client runs the hook, whoever's settings it stands in."""
# made: end


def event_of(name: str) -> str | None:
    """Return our word for an event from any client's word for it; None for an event that is not known."""
    return EVENTS.get(name.lower())


TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.ipc.wire import Connection

_AGAIN_S = 0.05
_SEND_S = 0.5
_GRACE_S = 1.0
"""An error at the deadline would be written to the log the long way; the deadline itself ends the process at once."""


class Input:
    """An event as it came, unread: the service reads it, which spares every hook the import of a parser.

    Attributes:
        key: Name of the event, however often it is sent or kept.
        client: The client from the command line.
        name: Name of the event from the command line.
        cwd: Working directory of the hook process.
        data: The bytes of standard input.
    """

    def __init__(self, key: str, client: str, name: str, cwd: str, data: bytes) -> None:
        self.key = key
        self.client = client
        self.name = name
        self.cwd = cwd
        self.data = data

    def parts(self, environ: bytes) -> tuple[bytes, ...]:
        """Return the parts that are sent and kept: client, name, directory, environment, input."""
        texts = (self.client, self.name, self.cwd)
        return (*(text.encode("utf-8", "surrogateescape") for text in texts), environ, self.data)


def environment_of(environ: Mapping[str, str]) -> bytes:
    """Return the variables of a client that hybrid needs, as they are sent and kept."""
    variables = (f"{name}={value}" for name, value in environ.items() if name.startswith("HYBRID_") or name in MARKS)
    return "\0".join(variables).encode("utf-8", "surrogateescape")


class Call:
    """A connection to the service of a `$HYBRID_HOME` that asks it for the answer to one event.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment of the client; the service gets what is meant for hybrid.
    """

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self._home = home
        self._environ = environment_of(environ)
        self._connection: Connection | None = None
        self._is_greeted = False

    def reach(self, timeout_s: float) -> bool:
        """Return whether a service can answer; one that is older than this program is told to end, and gives False."""
        try:
            if self._connection is None:
                endpoint = read_endpoint(self._home)
                if endpoint is None:
                    return False
                self._connection = connect(endpoint, timeout_s=timeout_s)
            greeting = Greeting(self._connection.receive(timeout_s=timeout_s))
        except WireError as error:
            if not error.is_timeout:
                self.close()
            return False
        if greeting.is_usable(__version__):
            self._is_greeted = True
            return True
        if is_newer(__version__, greeting.version):
            self._connection.send(b"stop", timeout_s=_SEND_S)
        self.close()
        return False

    def wait(self, timeout_s: float) -> None:
        """Wait until a service greets that is busy, or that starts just now.

        Raises:
            WireError: None greeted in time.
        """
        until_s = time.monotonic() + timeout_s + _GRACE_S
        while not self._is_greeted:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise WireError("the service did not answer in time", is_timeout=True)
            if not self.reach(left_s):
                time.sleep(_AGAIN_S)

    def ask(self, event: Input, *, elapsed_ms: float, left_s: float) -> tuple[bytes, str]:
        """Ask for the answer; return the bytes to print and one line for a person.

        Args:
            event: The event as it came.
            elapsed_ms: Milliseconds since the hook started.
            left_s: Until the deadline, which ends the process before this call gives up.

        Raises:
            WireError: The service ended meanwhile, or needs longer.
        """
        if self._connection is None:
            raise WireError("not connected")
        texts = (event.client, event.name, event.cwd, str(elapsed_ms), str(left_s * 1000))
        self._connection.send(
            b"event",
            *(text.encode("utf-8", "surrogateescape") for text in texts),
            self._environ,
            event.data,
            event.key.encode(),
            # The service takes large events one after the other.
            timeout_s=_SEND_S if len(event.data) < LARGE_BYTES else max(left_s, _SEND_S),
        )
        printed, line = self._connection.receive(timeout_s=left_s + _GRACE_S, least=2)[:2]
        return printed, line.decode("utf-8", "replace")

    def delivered(self, latency_ms: float) -> None:
        """Tell the service that the agent has the text, since only then it counts as given."""
        if self._connection is not None:
            self._connection.send(str(latency_ms).encode(), timeout_s=_SEND_S)

    def close(self) -> None:
        """Close the connection to the service."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._is_greeted = False
