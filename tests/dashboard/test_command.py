"""The command: options, the missing extra, a taken port, its end by a signal and by itself, the service that it starts."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from hybrid.cli.serving import _in_browser
from hybrid.ipc.start import daemon_status
from tests.support.agent import Agent, until
from tests.support.builders import Shop, new_shop
from tests.support.pages import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Shop]:
    """A project whose service ends with the test."""
    shop = new_shop(tmp_path)
    yield shop
    Agent(shop).stop_service()


def test_an_interrupt_ends_it_with_code_zero(small: Shop) -> None:
    """Ctrl-C is how it is ended: no error, also while a page follows the log; nobody listens afterwards."""
    page = Served(small)
    browser = page.log_in()
    follower = socket.create_connection(("127.0.0.1", browser.port))
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    lines = f"GET {page.base}/now/events?& HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\nCookie: {cookies}\r\n\r\n"
    follower.sendall(lines.encode())
    assert follower.recv(100)
    code = page.end()
    follower.close()

    assert 0 == code
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", browser.port), timeout=1):
        pass


def test_it_starts_the_service_and_leaves_it(small: Shop) -> None:
    """The page asks the service, which goes on for agents when the page ends."""
    page = Served(small)
    is_running = daemon_status(str(small.home))["running"]
    page.end()

    assert is_running
    assert daemon_status(str(small.home))["running"]


def test_it_ends_by_itself_when_nobody_asks(small: Shop) -> None:
    """After `dashboard.idle_minutes` without a request the process is gone."""
    page = Served(small, HYBRID_DASHBOARD_IDLE_MINUTES="0.02")
    until(lambda: page.process.poll() is not None)

    assert 0 == page.end()


def test_a_port_can_be_chosen_and_may_be_taken(small: Shop) -> None:
    """`--port` is listened on; a taken one is an error in one line."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        error = small.error("dashboard", "--port", str(port))
    page = Served(small, "--port", str(port))
    chosen = page.told["port"]
    page.end()

    assert f"port {port} cannot be listened on" in error
    assert port == chosen
    assert "must be a whole number from 0 to 65,535" in small.error("dashboard", "--port", "x")


def test_the_browser_is_opened_through_a_file_of_the_user(tmp_path: Path) -> None:
    """No token stands among the arguments of the browser, which everybody on the machine can read."""
    opened: list[str] = []
    seen: list[tuple[int, str]] = []

    def look(address: str) -> None:
        opened.append(address)
        path = next((tmp_path / "run").glob("dashboard-*.html"))
        seen.append((path.stat().st_mode & 0o077, path.read_text()))

    with _in_browser(tmp_path, "http://127.0.0.1:1/#TOKEN", look):
        pass

    assert opened[0].startswith("file://")
    assert "TOKEN" not in opened[0]
    assert 'url=http://127.0.0.1:1/#TOKEN"' in seen[0][1]
    assert 0 == seen[0][0] or os.name == "nt"
    assert [] == list((tmp_path / "run").glob("*.html"))
