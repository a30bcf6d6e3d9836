"""What the service does otherwise on Windows, with values that stand for it."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.daemon.server import Listener
from hybrid.ipc.loopback import keep_port

if TYPE_CHECKING:
    from pathlib import Path


def test_a_port_is_kept_where_the_system_would_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option of Windows is set before binding; an option that is here stands for it."""
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        before = sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        keep_port(sock)
        after = sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

    assert (0, True) == (before, after != 0)


def test_a_system_without_the_option_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere a bound port is not shared, and nothing is set."""
    monkeypatch.delattr(socket, "SO_EXCLUSIVEADDRUSE", raising=False)

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        keep_port(sock)
        sock.bind(("127.0.0.1", 0))

        assert sock.getsockname()[1] > 0


def test_windows_listens_on_a_port_with_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a Windows that has Unix sockets gets the port, since no rights of files guard a socket there."""
    monkeypatch.setattr(sys, "platform", "win32")

    listener = Listener(tmp_path / "home", {})
    try:
        announced = (tmp_path / "home" / "run" / "daemon").read_text(encoding="utf-8")

        assert socket.AF_INET == listener.socket.family
        assert "\ntoken " in announced
        assert "\nsocket " not in announced
    finally:
        listener.close()
