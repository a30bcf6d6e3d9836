"""The process that looks at files for a build: batches of files come on stdin, what is made of them goes to stdout.

`workers` starts it, as a fork or as an interpreter of its own. It ends when its stdin closes, even in the middle of a
file: then the build is over, or gone.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import signal
import struct
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from hybrid.index.reading import known_by
from hybrid.index.transport import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.index.reading import Reader
    from hybrid.types import Found

LENGTH = struct.Struct("<Q")
"""Stands before every message: how many bytes it has."""


def read_message(stream: IO[bytes]) -> bytes | None:
    """The next message; None when the stream ended before it was whole."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Send a message.

    Raises:
        OSError: Nobody reads any more.
    """
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def main() -> None:
    """Serve until stdin closes; the first message says how files are looked at."""
    _serve(None)


def serve_forked(requests: int, answers: int, task: tuple[Reader, frozenset[tuple[bytes, str]]]) -> NoReturn:
    """Serve in a fork of the build; never returns into its code.

    Args:
        requests: Descriptor that batches come from.
        answers: Descriptor that what is made of them goes to.
        task: How files are looked at, and the texts that need no cutting.
    """
    try:
        # What the build left for its garbage collector is the build's to finish.
        gc.freeze()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number, descriptor in enumerate((requests, answers, nowhere)):
            os.dup2(descriptor, number)
        _close_all_else()
        _serve(task)
    finally:
        os._exit(1)


def _close_all_else() -> None:
    """Close what a fork inherits: with the lock of a build that is gone, the next one could not begin."""
    for name in sorted(entry.name for entry in Path("/proc/self/fd").iterdir()):
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _serve(task: tuple[Reader, frozenset[tuple[bytes, str]]] | None) -> NoReturn:
    # Ctrl-C in a terminal reaches every process there; the build decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints must not mix with the answers.
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, asked), daemon=True).start()
    done: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_send, args=(done, answers), daemon=True).start()
    try:
        reader, known = task or _trusted(requests.get())
        while True:
            done.put(_look(reader, known, _trusted(requests.get())))
    finally:
        # Whatever it is, the build meets it again by itself and can say so. Nothing here needs an orderly end.
        os._exit(1)


def _look(reader: Reader, known: frozenset[tuple[bytes, str]], batch: Sequence[Found]) -> bytes:
    is_known = known_by(known)
    return pack([reader.look(found, is_known) for found in batch])


def _trusted(data: bytes) -> Any:
    """Return what our own parent sent."""
    return pickle.loads(data)


def _receive(requests: queue.SimpleQueue[bytes], asked: IO[bytes]) -> None:
    """Takes in requests while a file is looked at; ends the process when there are no more to come."""
    while (data := read_message(asked)) is not None:
        requests.put(data)
    os._exit(0)


def _send(done: queue.SimpleQueue[bytes], answers: IO[bytes]) -> None:
    """Gives answers while the next file is looked at: a pipe holds less than one of them."""
    try:
        while True:
            write_message(answers, done.get())
    except OSError:
        os._exit(0)
