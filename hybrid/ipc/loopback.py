"""The rules of the HTTP servers of hybrid: the service, and MCP and the page, which the web process serves.

They listen on loopback, where other users of the machine and every page in a browser reach them too. A name that leads
here (DNS rebinding) stands in `Host`, another page in `Origin` or `Sec-Fetch-Site`; a program proves by a token that it
may read the owner's files. A problem is a sentence, and empty when there is none. Standard library only.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import socket
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hybrid.base.atomic import locked, make_private_folder, write_atomic
from hybrid.base.errors import HybridError
from hybrid.ipc.wire import run_folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    Headers = Mapping[str, Sequence[str]]

HOST = "127.0.0.1"
NAMES = (HOST, "localhost", "[::1]")
"""The names of loopback that a request may ask for; with the port."""

MOST_HEAD = 32_768
"""Bytes of request line and headers together."""
SILENT_S = 15.0
"""Seconds after which a connection is cut off on which no request came, or not to its end."""
MOST_SILENT = 32
"""Such connections at a time: beyond that those are cut off that were silent longest."""
MOST_BEGUN = 96
"""Such connections at a time between two looks: each one more cuts off the oldest at once."""
BACKLOG = 32
"""Connections that may wait, and that uvicorn takes at once: with those above they stay below 256 open files."""
LOOK_S = 1.0
"""Seconds between two looks at connections that take too long."""

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="hybrid"'}
"""The header that goes with status 401."""

_TOKEN_BYTES = 32
_LOCK_S = 3.0

_Connection = TypeVar("_Connection")


# --- who asks ---------------------------------------------------------------------------------------------


def grouped(pairs: Iterable[tuple[str, str] | tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """Return the headers of a request: each name in lower case → its values in order, without space around them."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, value = (part.decode("latin-1") if isinstance(part, bytes) else part for part in pair)
        found.setdefault(name.lower(), []).append(value.strip())
    return found


def host_problem(headers: Headers, port: int) -> str:
    """Return why a request is not addressed to this port of loopback."""
    hosts = headers.get("host", ())
    is_right = len(hosts) == 1 and hosts[0].lower() in [f"{name}:{port}" for name in NAMES]
    return "" if is_right else "the Host must be 127.0.0.1, localhost or [::1], with the port"


def page_problem(headers: Headers, *, is_form: bool = False) -> str:
    """Return why a request, whose `Host` is right, comes from a page of another origin.

    Args:
        headers: Its headers.
        is_form: It is a form of the page: without a referrer that has the origin `null`, and the browser vouches for it
            in `Sec-Fetch-Site`.
    """
    sites = {site.lower() for site in headers.get("sec-fetch-site", ())}
    origins = {origin.lower() for origin in headers.get("origin", ())}
    own = {"null"} if is_form and sites == {"same-origin"} else set[str]()
    is_own = origins <= own | {f"http://{headers['host'][0].lower()}"}
    return "" if is_own and sites <= {"none", "same-origin"} else "pages of other origins get nothing"


def place_problem(headers: Headers, port: int) -> str:
    """Return why a request gets nothing for where it goes to or comes from, whoever sends it."""
    return host_problem(headers, port) or page_problem(headers)


# --- the token --------------------------------------------------------------------------------------------


def token_file(home: str | Path) -> Path:
    """Return the file that proves to servers who may read it: only the owner's programs can."""
    return Path(run_folder(str(home))) / "token"


def token_of(home: str | Path) -> str:
    """Return the token of this home; empty when there is none, and when others could read or write it."""
    path = token_file(home)
    with contextlib.suppress(OSError):
        status = path.lstat()
        is_ours = os.name != "posix" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
        if is_ours and stat.S_ISREG(status.st_mode):
            return path.read_text("ascii", "replace").strip()
    return ""


def made_token(home: str | Path) -> str:
    """Return the token of this home, which is made when there is none; it stays until somebody deletes the file.

    Raises:
        HybridError: A folder stands in its place.
        OSError: The home is read-only.
    """
    path = token_file(home)
    make_private_folder(path.parent)
    with locked(path.with_suffix(".lock"), _LOCK_S):
        token = token_of(home)
        if not token:
            token = os.urandom(_TOKEN_BYTES).hex()
            write_secret(path, token.encode())
    return token


def write_secret(path: Path, data: bytes) -> None:
    """Write a file that the owner alone can read.

    Raises:
        HybridError: A folder stands in its place.
        OSError: The home is read-only.
    """
    if path.is_dir() and not path.is_symlink():
        raise HybridError(f"a folder stands in the place of the file {path}: remove it")
    # A file that is replaced keeps its rights, and those may have let others read it.
    path.unlink(missing_ok=True)
    write_atomic(path, data, durable=False)


def token_problem(headers: Headers, home: str | Path) -> str:
    """Return why a request does not carry the token of the home; in place of one that is gone or void one is made.

    It is read for each request: who deletes it shuts everybody out who had it.
    """
    given = headers.get("authorization", ())
    scheme, _, secret = (given[0] if len(given) == 1 else "").partition(" ")
    # Compared whatever the scheme: how long it takes tells nothing.
    token = token_of(home)
    if is_same(secret.strip(), token) and scheme.lower() == "bearer":
        return ""
    if not token:  # To make one takes a lock, which a flood of wrong requests must not wait for.
        with contextlib.suppress(HybridError, OSError):
            made_token(home)
    return "a token is needed: `Authorization: Bearer TOKEN`, with the token of run/token in HYBRID_HOME"


def is_same(given: str, secret: str) -> bool:
    """Return whether a text is a secret, in a time that does not tell how much of it is right; never when empty."""
    is_right = hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode("utf-8", "replace"))
    return is_right and bool(secret)


# --- what is served ------------------------------------------------------------------------------------------


class Site:
    """Something that the web process serves on a port, as long as the command lives that asked for it.

    Attributes:
        app: An application of ASGI.
        answer: What the command is told beside the port.
    """

    def __init__(self, app: Any, answer: Mapping[str, Any]) -> None:
        self.app = app
        self.answer = answer

    def is_over(self) -> bool:
        """Return whether it is to end though the command lives."""
        return False

    def kept(self) -> object:
        """Return what the command keeps for the next process, as JSON can hold it."""
        return None

    def end(self) -> None:
        """Have requests end that wait for something."""


# --- the port and its connections -------------------------------------------------------------------------


def keep_port(sock: socket.socket) -> None:
    """Let no other program bind the port of a socket that is bound next: Windows allows that unless it is asked."""
    option: int | None = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
    if option is not None:
        sock.setsockopt(socket.SOL_SOCKET, option, 1)


def listening(port: int, backlog: int) -> socket.socket:
    """Return a socket that listens on a port of loopback, 0 for one that is free.

    Raises:
        OSError: The port is taken.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # Where it means: though old connections linger. On Windows others could take the port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keep_port(sock)
        sock.bind((HOST, port))
        sock.listen(backlog)
    except BaseException:
        sock.close()
        raise
    return sock


class Silence(Generic[_Connection]):
    """Knows since when connections are silent.

    Args:
        clock: Gives monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since_s: dict[_Connection, float] = {}

    def late(self, silent: Iterable[_Connection]) -> list[_Connection]:
        """Return which of the connections that are silent now are to be cut off, the longest silent ones first.

        One counts as silent from the first call that names it, and anew after a call that does not.
        """
        now_s = self._clock()
        self._since_s = {one: self._since_s.get(one, now_s) for one in silent}
        by_age = sorted(self._since_s, key=lambda one: self._since_s[one])
        n_beyond = max(len(by_age) - MOST_SILENT, 0)
        return [one for at, one in enumerate(by_age) if at < n_beyond or now_s - self._since_s[one] >= SILENT_S]


def cutting_off(connections: Iterable[Any], clock: Callable[[], float]) -> Callable[[], Awaitable[None]]:
    """Return what uvicorn calls each `LOOK_S` (`callback_notify`): it cuts off silent connections.

    A `limit_concurrency` of uvicorn must not come on top: it refuses those who ask for the many that say nothing.

    Args:
        connections: The connections of the server: each has a `transport`, and as `cycle` its last request.
        clock: Gives monotonic seconds.
    """
    silence: Silence[Any] = Silence(clock)

    async def cut_off() -> None:
        # With its request: a program that asks again and again is met between two requests each time.
        for connection, _ in silence.late([(one, one.cycle) for one in connections if _is_silent(one)]):
            connection.transport.abort()

    return cut_off


def bounded(protocol: type[Any]) -> type[Any]:
    """Return a protocol for one server of uvicorn, whose oldest silent connection gives way beyond `MOST_BEGUN`.

    Between two looks a program can begin more connections than a process may have open, and then nobody is taken.
    """
    begun: dict[Any, None] = {}  # In the order in which they came.

    class Bounded(protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            begun[self] = None
            silent = [one for one in begun if _is_silent(one) and not one.transport.is_closing()]
            if len(silent) > MOST_BEGUN:
                silent[0].transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            begun.pop(self, None)
            super().connection_lost(exc)

    return Bounded


def _is_silent(connection: Any) -> bool:
    """Return whether nothing is asked on a connection, not all of it, or more before the answer is there or taken."""
    cycle, flow = connection.cycle, connection.flow
    return cycle is None or cycle.response_complete or cycle.more_body or flow.read_paused or flow.write_paused
