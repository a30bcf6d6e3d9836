"""The socket that the service listens on: owner-only, with a short path; a port with a token where there are none."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid import __version__
from hybrid.base.atomic import write_atomic
from hybrid.ipc.endpoint import endpoint_path, run_folder
from hybrid.ipc.wire import PROTOCOL, Connection, WireError, pairs, proof

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BACKLOG = 1024
_PATH_BYTES = 100
"""A socket's path may have 108 bytes on Linux, 104 on macOS."""
_PROOF_S = 2.0
_PROOF_BYTES = 1000
"""More is not read of somebody who has not proved anything."""


class Listener:
    """Listens, and tells where in `run/daemon`.

    Args:
        home: `$HYBRID_HOME`.
        environ: `XDG_RUNTIME_DIR` is a place for the socket when the home's path is too long.
        is_tcp: Use a port although there are Unix sockets.

    Raises:
        OSError: Nowhere to listen, or the home is read-only.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], *, is_tcp: bool = False) -> None:
        self._home = home
        self._token = ""
        self._path: Path | None = None
        self._announcement = b""
        self.socket = self._bound(environ, is_tcp=is_tcp or not hasattr(socket, "AF_UNIX"))
        try:
            self.socket.listen(_BACKLOG)
            self.socket.setblocking(False)
            self._announcement = self._announce()
        except BaseException:
            self.close()
            raise

    def is_reachable(self) -> bool:
        """Do the socket and the file that tells of it still stand as they were made?"""
        path = Path(endpoint_path(str(self._home)))
        try:
            return path.read_bytes() == self._announcement and (self._path is None or self._path.is_socket())
        except OSError:
            return False

    def accepted(self) -> Connection | None:
        """The next connection, or None when it was given up meanwhile; what comes by port must prove itself later."""
        try:
            sock, _ = self.socket.accept()
        except OSError:
            return None
        sock.setblocking(True)
        return Connection(sock)

    def admit(self, connection: Connection) -> None:
        """Let the other side prove that it may read the owner's files; a Unix socket shows that by itself.

        Raises:
            WireError: It cannot.
        """
        if self._path is not None:
            return
        challenge = connection.receive(timeout_s=_PROOF_S, most_bytes=_PROOF_BYTES)[0]
        nonce = os.urandom(16).hex().encode()
        connection.send(proof(self._token, b"service", challenge), nonce, timeout_s=_PROOF_S)
        theirs = connection.receive(timeout_s=_PROOF_S, most_bytes=_PROOF_BYTES)[0]
        if theirs != proof(self._token, b"hook", nonce + challenge):
            raise WireError("the token is wrong")

    def close(self) -> None:
        """Stop listening; what tells of it goes, unless another service has taken its place."""
        path = Path(endpoint_path(str(self._home)))
        with contextlib.suppress(OSError):
            if path.read_bytes() == self._announcement:
                path.unlink()
        self.socket.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _bound(self, environ: Mapping[str, str], *, is_tcp: bool) -> socket.socket:
        if not is_tcp:
            for left in Path(run_folder(str(self._home))).glob("*.sock"):
                # Of services that were killed: there is no other one beside us.
                with contextlib.suppress(OSError):
                    left.unlink()
            for folder in _folders(self._home, environ):
                path = folder / f"{os.getpid():x}.sock"
                with contextlib.suppress(OSError):
                    if len(os.fsencode(path)) <= _PATH_BYTES and _is_private(folder):
                        return self._bound_to(path)
        self._token = os.urandom(32).hex()
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.bind(("127.0.0.1", 0))
        return sock

    def _bound_to(self, path: Path) -> socket.socket:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(str(path))
        except OSError:
            sock.close()
            raise
        self._path = path
        return sock

    def _announce(self) -> bytes:
        where = {"socket": str(self._path)} if self._path else {"port": str(self.socket.getsockname()[1])}
        if self._token:
            where["token"] = self._token
        data = pairs({"pid": str(os.getpid()), "protocol": str(PROTOCOL), "version": __version__, **where})
        path = Path(endpoint_path(str(self._home)))
        # A file that is replaced keeps its rights, and those may have let others write it.
        path.unlink(missing_ok=True)
        write_atomic(path, data, durable=False)
        return data


def _folders(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where a socket may lie, best first."""
    yield Path(run_folder(str(home)))
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        yield Path(runtime) / "hybrid"
    yield Path(tempfile.gettempdir()) / f"hybrid-{os.getuid()}" if sys.platform != "win32" else home


def _is_private(folder: Path) -> bool:
    """Make the folder; is it a folder of ours that nobody else can look into?"""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    status = folder.lstat()
    if sys.platform == "win32":
        return True
    if folder.is_symlink() or status.st_uid != os.getuid():
        return False
    if status.st_mode & 0o077:
        folder.chmod(0o700)
    return True
