"""The service's HTTP interface: on loopback, read only, for its owner's own programs; the routes stand beside it.

Who may ask: it takes the token that only the owner can read, made at each start. A page in a browser has none, and is
turned away for its `Host` or `Origin` before that. Every connection carries one request, is bounded in bytes and in
time, and keeps nobody waiting at the end of the service.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import socketserver
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.atomic import write_atomic
from hybrid.daemon.http_handler import NAME, Door, Handler
from hybrid.ipc.endpoint import run_folder

if TYPE_CHECKING:
    from hybrid.daemon.http_handler import Answers

HOST = "127.0.0.1"

_TOKEN_BYTES = 32
_MOST_CONNECTIONS = 16
_ALL_S = 15.0
"""Seconds after which a connection ends, whatever it does: one byte a second is no reason to wait."""
_LOOK_S = 1.0
_BACKLOG = 16


class HttpInterface:
    """Listens, tells where in `run/http.json`, and answers until it is closed.

    Args:
        home: `$HYBRID_HOME`.
        port: 0 for one that is free.
        answers: Answer the requests.

    Raises:
        OSError: The port is taken, or the home is read-only.
    """

    def __init__(self, home: Path, port: int, answers: Answers) -> None:
        self._path = Path(run_folder(str(home))) / NAME
        self._server = _Server(port, answers)
        self._wake, self._waker = socket.socketpair()
        self._is_stopping = False
        try:
            self._announcement = self._announce()
        except BaseException:
            self._server.server_close()
            raise
        self._thread = threading.Thread(target=self._serve, daemon=True, name="http")
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    def close(self) -> None:
        """Stop at once: who is being answered is cut off."""
        self._is_stopping = True
        with contextlib.suppress(OSError):
            if self._path.read_bytes() == self._announcement:
                self._path.unlink()
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        self._thread.join(_LOOK_S)
        self._server.server_close()
        self._server.cut_off(older_than_s=0.0)
        self._wake.close()
        self._waker.close()

    def _announce(self) -> bytes:
        found = {"port": self.port, "token": self._server.door.token, "pid": os.getpid()}
        data = json.dumps(found).encode() + b"\n"
        # A file that is replaced keeps its rights, and those may have let others read it.
        self._path.unlink(missing_ok=True)
        write_atomic(self._path, data, durable=False)
        return data

    def _serve(self) -> None:
        """Sleep until somebody connects; while anybody is connected, look now and then who takes too long."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._server, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while not self._is_stopping:
                ready = selector.select(_LOOK_S if self._server.is_busy else None)
                if any(key.fileobj is self._server for key, _ in ready) and not self._is_stopping:
                    self._server.handle_request()
                self._server.cut_off(older_than_s=_ALL_S)


class _Server(ThreadingHTTPServer):
    """A thread for each connection, of which there are few."""

    timeout = 0
    request_queue_size = _BACKLOG
    daemon_threads = True
    block_on_close = False
    # On Windows, that would let another program take the port over.
    allow_reuse_address = os.name == "posix"

    def __init__(self, port: int, answers: Answers) -> None:
        self._answers = answers
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        super().__init__((HOST, port), Handler)

    def server_bind(self) -> None:
        # That of the base class asks the network for the name of this machine.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])
        hosts = frozenset(f"{name}:{self.server_port}" for name in (HOST, "localhost", "[::1]"))
        origins = frozenset(f"http://{host}" for host in hosts)
        self.door = Door(os.urandom(_TOKEN_BYTES).hex(), hosts, origins, self._answers)

    @property
    def is_busy(self) -> bool:
        return bool(self._open)

    def cut_off(self, *, older_than_s: float) -> None:
        """End connections that are older; their threads notice."""
        limit_s = time.monotonic() - older_than_s
        with self._lock:
            late = [sock for sock, since_s in self._open.items() if since_s <= limit_s]
        for sock in late:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            is_full = len(self._open) >= _MOST_CONNECTIONS
            if not is_full:
                self._open[request] = time.monotonic()
        if is_full:
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # The system has no room for a thread.
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client hung up, or an answer failed, which was said to it."""
