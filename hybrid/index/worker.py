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
from array import array
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from msgspec.structs import astuple, replace

from hybrid.index.analysis import CHUNK_FIELDS, ChunkRecord, Vocabulary
from hybrid.index.reading import Looked
from hybrid.types import Definition, LineSpan, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid.index.reading import Task

LENGTH = struct.Struct("<Q")
"""The head of every message: the number of bytes that follow."""


def read_message(stream: IO[bytes]) -> bytes | None:
    """Read the next message; return None when the stream ends before the message is whole."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Send a message.

    Raises:
        OSError: The reader of the stream is gone.
    """
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def main() -> None:
    """Serve until stdin closes, then end the process; the first message is the `Task`, the others are files."""
    _serve(None)


def serve_forked(requests: int, answers: int, task: Task) -> NoReturn:
    """Serve in a fork of the build, then end the process; never returns into the code of the build.

    Args:
        requests: Descriptor that batches of files come from.
        answers: Descriptor that answers are written to.
        task: How to look at a file.
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
    """Close all descriptors above 2 that a fork inherits, so that it does not hold the lock of a build that is gone."""
    for name in sorted(entry.name for entry in Path("/proc/self/fd").iterdir()):
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _serve(task: Task | None) -> NoReturn:
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
        # A pickle, but one that our own parent sent.
        look = (task or pickle.loads(requests.get())).look
        while True:
            done.put(pack([look(found) for found in pickle.loads(requests.get())]))
    finally:
        # Whatever it is, the build meets it again by itself and can say so. Nothing here needs an orderly end.
        os._exit(1)


def _receive(requests: queue.SimpleQueue[bytes], asked: IO[bytes]) -> None:
    """Queue requests as they arrive, while files are looked at; end the process when the stream ends."""
    while (data := read_message(asked)) is not None:
        requests.put(data)
    os._exit(0)


def _send(done: queue.SimpleQueue[bytes], answers: IO[bytes]) -> None:
    """Write answers while the next file is looked at, since a pipe holds less than an answer; never returns."""
    try:
        while True:
            write_message(answers, done.get())
    except OSError:
        os._exit(0)


# Looked-at files as bytes and back. Terms are by far the most of them: a batch has one vocabulary, and each chunk
# numbers into it, which takes a sixth of the time of pickling records as they are.


def pack(looked: Sequence[Looked | Skipped]) -> bytes:
    """Return looked-at files as bytes; the text of a document is left out where there is an analysis."""
    vocabulary = Vocabulary()
    packed = [_packed(one, vocabulary) for one in looked]
    return pickle.dumps((list(vocabulary), packed), pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes) -> Iterator[Looked | Skipped]:
    """The inverse of `pack`.

    Args:
        data: Bytes from a worker of our own; no others may come here, since they are unpickled.
    """
    vocabulary, packed = pickle.loads(data)
    for looked, records in packed:
        if isinstance(looked, Looked) and looked.analysis is not None:
            restored = [_restored(record, vocabulary) for record in records]
            yield Looked(looked.document, replace(looked.analysis, records=restored))
        else:
            yield looked


def _packed(looked: Looked | Skipped, vocabulary: Vocabulary) -> tuple[Looked | Skipped, Sequence[Any]]:
    """Return a looked-at file without text and records where it was cut, and the records by themselves."""
    if isinstance(looked, Skipped) or looked.analysis is None:
        return looked, ()
    records = [_packed_record(record, vocabulary) for record in looked.analysis.records]
    return Looked(replace(looked.document, text=""), replace(looked.analysis, records=())), records


def _packed_record(record: ChunkRecord, vocabulary: Vocabulary) -> tuple[Any, ...]:
    *plain, body, fields, definitions, comments, masked = astuple(record)
    return (
        *plain,
        _packed_counts(body, vocabulary),
        [_packed_counts(fields[name], vocabulary) for name in CHUNK_FIELDS],
        list(map(astuple, definitions)),
        list(map(astuple, comments)),
        masked,
    )


def _restored(packed: Sequence[Any], vocabulary: Sequence[str]) -> ChunkRecord:
    *plain, body, fields, definitions, comments, masked = packed
    return ChunkRecord(
        *plain,
        body=_restored_counts(body, vocabulary),
        fields={name: _restored_counts(counts, vocabulary) for name, counts in zip(CHUNK_FIELDS, fields, strict=True)},
        definitions=tuple([Definition(*definition) for definition in definitions]),
        comments=tuple([LineSpan(*span) for span in comments]),
        masked=masked,
    )


def _packed_counts(counts: Mapping[str, int], vocabulary: Vocabulary) -> bytes:
    """Return the numbers of the terms, then the frequencies, as the bytes of 32-bit integers."""
    if not counts:
        return b""
    return array("I", chain(map(vocabulary.__getitem__, counts), counts.values())).tobytes()


def _restored_counts(data: bytes, vocabulary: Sequence[str]) -> dict[str, int]:
    if not data:
        return {}
    numbers = array("I", data)
    half = len(numbers) // 2
    return dict(zip(map(vocabulary.__getitem__, numbers[:half]), numbers[half:], strict=True))
