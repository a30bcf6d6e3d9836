"""Listens on loopback and serves the page until it is interrupted, told to end, or nobody has asked for long."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from html import escape
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hybrid.base.atomic import make_private_folder, write_atomic
from hybrid.dashboard.app import application
from hybrid.dashboard.guard import Sessions
from hybrid.ipc.endpoint import run_folder
from hybrid.ipc.loopback import BACKLOG, HOST, LOOK_S, MOST_HEAD, bounded, cutting_off, listening

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from hybrid.dashboard.desk import Desk

_END_S = 2.0
"""Seconds for requests that are being answered when the page ends."""


class Dashboard:
    """The page on a port.

    Args:
        desk: The parts that every view has.
        port: 0 for one that is free.
        idle_s: Seconds without any request after which it ends.
        clock: Gives monotonic seconds.

    Raises:
        OSError: The port is taken.
    """

    def __init__(self, desk: Desk, port: int, idle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._desk = desk
        self._idle_s = idle_s
        self._clock = clock
        self._asked_s = clock()
        self._socket = listening(port, BACKLOG)
        self.port: int = self._socket.getsockname()[1]
        self.sessions = Sessions()
        app = application(desk, self.sessions, self.port, self._asked)
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            http=bounded(H11Protocol),
            backlog=BACKLOG,
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MOST_HEAD,
            timeout_graceful_shutdown=int(_END_S),
            timeout_notify=int(LOOK_S),
        )
        self._server = uvicorn.Server(config)
        config.callback_notify = cutting_off(self._server.server_state.connections, clock)
        desk.heard = self._asked

    @property
    def address(self) -> str:
        """The address of the page, without a token."""
        return f"http://{HOST}:{self.port}/"

    def run(self) -> None:
        """Serve until the end; an interrupt is raised again after everything is closed."""
        threading.Thread(target=self._desk.log.refresh, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._desk.stopping.set()
            self._socket.close()

    def end(self) -> None:
        """Have `run` return soon."""
        self._desk.stopping.set()
        self._server.should_exit = True

    def _asked(self) -> None:
        self._asked_s = self._clock()

    def _watch(self) -> None:
        """End the page when nobody has asked for long, and live rows as soon as it is to end."""
        while not self._desk.stopping.wait(LOOK_S):
            if self._server.should_exit or self._clock() - self._asked_s > self._idle_s:
                self.end()


@contextlib.contextmanager
def in_browser(home: Path, address: str, open_page: Callable[[str], object]) -> Generator[None]:
    """Open an address in the browser for the block, through a file that only the user can read.

    The arguments of a program can be read by everybody on the machine, so the token is not among those of the browser.
    """
    folder = home / run_folder("")
    path = folder / f"dashboard-{os.getpid()}.html"
    page = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}"><title>hybrid</title>\n'
    make_private_folder(folder)
    write_atomic(path, page.encode(), durable=False)
    try:
        open_page(path.as_uri())
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
