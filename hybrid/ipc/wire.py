"""The wire between a hook and the service, and with the web process: addresses, connections, messages.

The addresses of a `$HYBRID_HOME` stand in `run/daemon` of the service, which every hook reads, and `run/web`;
these files and the folder of the socket belong to their owner alone. A message is a list of byte strings, each with its
length before it, in both directions. Standard library only and cheap to import: there is no `json`, which would cost
every prompt seven milliseconds.
"""

from __future__ import annotations

import os
import time

try:
    # The C module behind `socket`, which alone saves a hook five milliseconds; only what `socket` documents is used.
    import _socket as sockets
except ImportError:  # An interpreter that has no such module.
    import socket as sockets

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PROTOCOL = 1
"""Version of the messages; a service of another version is not asked."""

MAX_BYTES = 64_000_000
"""Bytes of the longest message that is taken; a longer one is a mistake or an attack."""

LARGE_BYTES = 1_000_000
"""Bytes from which on a service reads messages one after the other: each takes several times its length of memory."""

_STALL_S = 1.0
"""Seconds without a byte after which the rest of such a message is given up: others wait for it to be there."""

_HEAD = 4
"""Bytes of a length before a part or message."""


class WireError(OSError):
    """The other side is gone, too slow (`is_timeout`), or speaks something else."""

    def __init__(self, message: str, *, is_timeout: bool = False) -> None:
        super().__init__(message)
        self.is_timeout = is_timeout


def packed(parts: tuple[bytes, ...]) -> bytes:
    """Return the bytes of a message: the length of all that follows, then each part after its own length."""
    body = b"".join(len(part).to_bytes(_HEAD, "big") + part for part in parts)
    return len(body).to_bytes(_HEAD, "big") + body


def unpacked(body: bytes | bytearray) -> list[bytes]:
    """Return the parts of a message without its first length.

    Raises:
        WireError: The lengths do not fit.
    """
    parts: list[bytes] = []
    view = memoryview(body)
    at = 0
    while at < len(body):
        end = at + _HEAD + int.from_bytes(view[at : at + _HEAD], "big")
        if at + _HEAD > len(body) or end > len(body):
            raise WireError("not a message: the lengths do not fit")
        parts.append(bytes(view[at + _HEAD : end]))
        at = end
    return parts


class Connection:
    """One connection; every call has a time limit of its own.

    Args:
        sock: Connected; it belongs to the connection from here on.
    """

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def send(self, *parts: bytes, timeout_s: float) -> None:
        """Send these parts as one message; `receive` gives them apart again.

        Raises:
            WireError: Not taken within the time (`is_timeout`), or the other side is gone.
        """
        n_bytes = sum(_HEAD + len(part) for part in parts)
        try:
            if n_bytes < LARGE_BYTES:
                _send_all(self._sock, packed(parts), timeout_s)
                return
            # A large message is not put together: that would take its length of memory twice.
            until_s = time.monotonic() + timeout_s
            _send_all(self._sock, n_bytes.to_bytes(_HEAD, "big"), timeout_s)
            for part in parts:
                _send_all(self._sock, len(part).to_bytes(_HEAD, "big"), until_s - time.monotonic())
                _send_all(self._sock, part, until_s - time.monotonic())
        except OSError as error:
            raise WireError(f"not sent: {error}", is_timeout=isinstance(error, TimeoutError)) from error

    def receive(
        self,
        *,
        timeout_s: float,
        least: int = 1,
        most_bytes: int = MAX_BYTES,
        before: Callable[[], None] = lambda: None,
    ) -> list[bytes]:
        """Return the next message.

        Args:
            timeout_s: Seconds for the length of the message, again for its first `LARGE_BYTES`, and for the rest of it.
            least: Number of parts that the message must have at least.
            most_bytes: Bytes of the longest message that is read; a longer one is an error.
            before: Called once the first `LARGE_BYTES` of a longer message are there, so that a client that says that
                much is coming and sends little keeps nobody waiting. It may wait, which the time limit does not count.

        Raises:
            WireError: None came within the time, or what came is none.
        """
        length = int.from_bytes(self._filled(bytearray(_HEAD), 0, timeout_s), "big")
        if length > most_bytes:
            raise WireError(f"a message of {length} bytes is not read")
        body = self._filled(bytearray(min(length, LARGE_BYTES)), 0, timeout_s)
        if length > LARGE_BYTES:
            before()
            # Only now, since the room for a message is taken as a whole.
            body = self._filled(body.ljust(length, b"\0"), LARGE_BYTES, timeout_s, stall_s=_STALL_S)
        parts = unpacked(body)
        if len(parts) < least:
            raise WireError(f"not a message: {len(parts)} parts of {least}")
        return parts

    def detach(self) -> Any:
        """Return the socket, for bytes that are no messages; it belongs to the caller from here on."""
        return self._sock

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._sock.close()

    def _filled(self, data: bytearray, begin: int, timeout_s: float, *, stall_s: float | None = None) -> bytearray:
        """Return the data, filled from a position to its end with bytes that arrive within the time.

        Args:
            data: The data, of its whole length.
            begin: Position of the first byte to fill.
            timeout_s: Seconds for all of it.
            stall_s: Seconds for the next bytes; None for all that are left.
        """
        view = memoryview(data)[begin:]
        until_s = time.monotonic() + timeout_s
        while view:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise WireError("no answer in time", is_timeout=True)
            try:
                self._sock.settimeout(min(left_s, stall_s or left_s))
                n_bytes = self._sock.recv_into(view[: 1 << 20])
            except OSError as error:
                raise WireError(f"no answer: {error}", is_timeout=isinstance(error, TimeoutError)) from error
            if not n_bytes:
                raise WireError("closed by the other side")
            view = view[n_bytes:]
        return data


def _send_all(sock: Any, data: bytes, timeout_s: float) -> None:
    """Send all bytes, as `sendall` does, with one time limit for all of them."""
    until_s = time.monotonic() + timeout_s
    view = memoryview(data)
    while view:
        sock.settimeout(max(until_s - time.monotonic(), 0.001))
        view = view[sock.send(view[: 1 << 20]) :]


def proof(token: str, role: bytes, challenge: bytes) -> bytes:
    """Return a proof that one knows the token without sending it; for ports, which lack the rights that sockets have.

    Args:
        token: Token of the service.
        role: `service` or `hook`: what one side says is of no use to somebody who plays the other.
        challenge: Random text from the other side.
    """
    import hmac

    return hmac.new(token.encode(), role + b":" + challenge, "sha256").hexdigest().encode()


def read_pairs(path: str) -> dict[str, str]:
    """Return the names and values of a file that `pairs` made; empty when missing, damaged, or not surely ours."""
    try:
        # A pipe in its place is not waited for.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            if not is_own(os.fstat(file.fileno())):
                return {}
            lines = os.fsdecode(file.read(10_000) or b"").split("\n")
    except OSError:
        return {}
    # The last line is `end`: a half-written file is none.
    if len(lines) < 2 or lines[-2:] != ["end", ""]:
        return {}
    values = dict(line.split(" ", 1) for line in lines[:-2] if " " in line)
    return {name: value.replace("%0A", "\n").replace("%25", "%") for name, value in values.items()}


def pairs(values: dict[str, str]) -> bytes:
    """Return the bytes of a small file of names and values, one pair a line, that is read without any parser.

    A path may hold a line end: it stands as `%0A`, and `%` as `%25`.
    """
    lines = (f"{name} {value.replace('%', '%25').replace(chr(10), '%0A')}\n" for name, value in values.items())
    return os.fsencode("".join(lines)) + b"end\n"


def is_own(status: os.stat_result) -> bool:
    """Return whether only we can write a file or folder, so that no stranger says where prompts go."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


# --- addresses --------------------------------------------------------------------------------------------


def run_folder(home: str) -> str:
    """Return the folder of the files that last only as long as the service."""
    return os.path.join(home, "run")  # noqa: PTH118 - pathlib costs a hook 6 ms


SERVICE = "daemon"
"""Name of the service among those that listen; `mcp` is the other one."""


def endpoint_path(home: str, name: str = SERVICE) -> str:
    """Return the file that tells where the service, or another of its name, listens."""
    return os.path.join(run_folder(home), name)  # noqa: PTH118


def read_endpoint(home: str, name: str = SERVICE) -> dict[str, str] | None:
    """Return a listener's `pid`, `version`, `protocol`, `socket` or `port`, and `token`; None without a valid file."""
    return read_pairs(endpoint_path(home, name)) or None


def connect(endpoint: dict[str, str], *, timeout_s: float) -> Connection:
    """Connect to the service; that alone proves little, since a stopped process has a queue of connections too.

    Args:
        endpoint: The address that `read_endpoint` returned.
        timeout_s: Seconds for each step of connecting.

    Raises:
        WireError: Nobody listens, or another program does.
    """
    try:
        connection = Connection(_connected(endpoint, timeout_s))
    except (AttributeError, OSError, OverflowError, TypeError, ValueError) as error:
        raise WireError(f"no service: {error}") from error
    try:
        if "socket" not in endpoint:
            _exchange_proofs(connection, endpoint.get("token", ""), timeout_s)
    except BaseException:
        connection.close()
        raise
    return connection


class Greeting:
    """The first message on a connection: it proves that the service is alive.

    Args:
        parts: The parts of the message: protocol, version, process.
    """

    def __init__(self, parts: list[bytes]) -> None:
        texts = [part.decode("utf-8", "replace") for part in parts]
        self.protocol, self.version, pid = (*texts, "", "", "")[:3]
        self.pid = int(pid) if pid.isascii() and pid.isdigit() else 0

    def is_usable(self, version: str) -> bool:
        """Return whether a hook of this version may use the service; a service of an older version is replaced."""
        return self.protocol == str(PROTOCOL) and not is_newer(version, self.version)


def is_newer(version: str, than: str) -> bool:
    """Return whether a version is newer than another, number by number; what follows a number does not count."""
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> list[int]:
    return [int(part[: len(part) - len(part.lstrip("0123456789"))] or 0) for part in version.split(".")[:3]]


def _connected(endpoint: dict[str, str], timeout_s: float) -> Any:
    if "socket" in endpoint:
        sock, address = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM), endpoint["socket"]
    else:
        address = ("127.0.0.1", int(endpoint.get("port", "")))
        sock = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock


def _exchange_proofs(connection: Connection, token: str, timeout_s: float) -> None:
    """Exchange proofs that both sides know the token, on a port that anyone on the machine may reach or take over."""
    nonce = os.urandom(16).hex().encode()
    connection.send(nonce, timeout_s=timeout_s)
    theirs, challenge = connection.receive(timeout_s=timeout_s, least=2)[:2]
    if not token or theirs != proof(token, b"service", nonce):
        raise WireError("another program listens in the place of the service")
    connection.send(proof(token, b"hook", challenge + nonce), timeout_s=timeout_s)
