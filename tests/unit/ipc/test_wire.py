"""Messages on a connection, with a socket that gives what it is told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.wire import LARGE_BYTES, Connection, WireError, pairs, read_pairs

if TYPE_CHECKING:
    from pathlib import Path


class Stalling:
    """A socket that gives some bytes and no more."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.timeout_s = 0.0

    def settimeout(self, seconds: float) -> None:
        """Keep the time limit."""
        self.timeout_s = seconds

    def recv_into(self, view: memoryview) -> int:
        """Give the next bytes."""
        if not self._data:
            raise TimeoutError
        given = self._data[: len(view)]
        self._data = self._data[len(given) :]
        view[: len(given)] = given
        return len(given)


@pytest.mark.parametrize(
    ("n_bytes", "longest_s"), [(LARGE_BYTES * 6 // 5, 1.0), (LARGE_BYTES // 2, 60.0)], ids=["begun", "not begun"]
)
def test_a_large_message_that_stalls_is_given_up_at_once(n_bytes: int, longest_s: float) -> None:
    """Others wait for the rest of a message, so it must go on coming; none waits for its first bytes."""
    sock = Stalling((40 * LARGE_BYTES).to_bytes(4, "big") + b"x" * n_bytes)

    with pytest.raises(WireError) as caught:
        Connection(sock).receive(timeout_s=60.0)

    assert caught.value.is_timeout
    assert longest_s - 1 < sock.timeout_s <= longest_s


def test_values_of_small_files_come_back_as_they_were(tmp_path: Path) -> None:
    """What is written in pairs is read back, line ends and percent signs too."""
    values = {"socket": "/a\nb/%0A%25%/c d.sock", "port": "1"}
    (tmp_path / "pairs").write_bytes(pairs(values))
    (tmp_path / "pairs").chmod(0o600)

    assert values == read_pairs(str(tmp_path / "pairs"))
