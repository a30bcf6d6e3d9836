"""Reads what is added to the event log, for who looks on: each look costs what was added since the last one."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hybrid.feedback.events import part_name

if TYPE_CHECKING:
    from typing import BinaryIO


class LogTail:
    """The end of the log of one `$HYBRID_HOME`, followed through rotations, of which one is expected between two looks.

    Args:
        folder: Folder of the log, as of an `EventLog`.
        max_bytes: So much of its end is read at first.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._file: tuple[int, int] | None = None
        """Device and number of the file that was read last; None before the first."""
        self._offset = 0
        self._last = b""
        """The last line that was read."""

    def read(self) -> list[dict[str, Any]]:
        """Return the events since the last call, oldest first; at first those at the end of the log."""
        lines: list[bytes] = []
        with contextlib.suppress(OSError), self._path(0).open("rb") as file:
            found = os.fstat(file.fileno())
            identity = (found.st_dev, found.st_ino)
            if self._file is None:
                lines = self._begun(file, found.st_size)
            elif identity == self._file and found.st_size >= self._offset:
                lines = self._from(file, self._offset)
            else:
                lines = [*self._left(), *self._anew(file)]
            self._file = identity
        if lines:
            self._last = lines[-1]
        return [event for line in lines if (event := _parsed(line)) is not None]

    def _begun(self, file: BinaryIO, size: int) -> list[bytes]:
        """Return the last lines of the log, of the part before too when the newest was just begun."""
        begin = max(size - self._max_bytes, 0)
        lines = self._from(file, begin)
        if begin:
            return lines[1:]
        with contextlib.suppress(OSError), self._path(1).open("rb") as before:
            size_before = os.fstat(before.fileno()).st_size
            before.seek(max(size_before - (self._max_bytes - size), 0))
            earlier = before.read().splitlines()
            return [*(earlier if size_before <= self._max_bytes - size else earlier[1:]), *lines]
        return lines

    def _left(self) -> list[bytes]:
        """Return what was added to the part that was read last before the log was rotated."""
        with contextlib.suppress(OSError), self._path(1).open("rb") as file:
            found = os.fstat(file.fileno())
            if (found.st_dev, found.st_ino) == self._file:
                file.seek(self._offset)
                return file.read().splitlines()
        return []

    def _anew(self, file: BinaryIO) -> list[bytes]:
        """Return the lines of a new file; of one that was written anew in place of the other those that are new."""
        lines = self._from(file, 0)
        return lines[lines.index(self._last) + 1 :] if self._last in lines else lines

    def _from(self, file: BinaryIO, offset: int) -> list[bytes]:
        """Return the whole lines from an offset on; one that is being written is left for the next time."""
        file.seek(offset)
        data = file.read()
        whole = data.rpartition(b"\n")[0]
        self._offset = offset + (len(whole) + 1 if whole or data.startswith(b"\n") else 0)
        return whole.splitlines()

    def _path(self, number: int) -> Path:
        return self._folder / part_name(number)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", event) if isinstance(event, dict) else None
