"""The addresses of a `$HYBRID_HOME`: `run/daemon` of the service, which every hook reads, and `run/mcp` of tools.

Standard library only and cheap to import. The file and the folder of the socket belong to their owner alone.
"""

from __future__ import annotations

import os

from hybrid.ipc.wire import PROTOCOL, Connection, WireError, proof, read_pairs

try:
    # The C module behind `socket`, which alone saves a hook five milliseconds; only what `socket` documents is used.
    import _socket as sockets
except ImportError:  # An interpreter that has no such module.
    import socket as sockets

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from typing import Any


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
