"""Looks at many files in processes of their own, in the order of the files; `documents` calls it.

Whatever happens to a worker costs time only: from the first answer that does not come, this process goes on alone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybrid.index.reading import known_by
from hybrid.index.transport import unpack
from hybrid.index.worker import read_message, write_message

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import IO

    from hybrid.index.reading import Looked, Reader
    from hybrid.types import Found, Skipped

MANY_BYTES = 1_500_000
"""Size of the files to look at from which on other processes are worth their start: a tenth of a second each, next to
one and a half for this much text."""

_MOST_WORKERS = 4
_BATCH_BYTES = 150_000
_BATCH_FILES = 32
_PIPE_BYTES = 1 << 20
_BATCHES_AHEAD = 4
"""Batches of a worker that are asked for and not taken yet; they bound the memory of answers in flight."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybrid.index.worker import main; main()"
_WITHOUT_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)


def automatic_workers() -> int:
    """As many as cores may be used, at most 4: more would wait for the build, which takes in what they make."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST_WORKERS)


def look_in_processes(
    reader: Reader,
    files: Sequence[Found],
    known: frozenset[tuple[bytes, str]],
    *,
    n_workers: int,
    now_ns: Callable[[], int],
    meanwhile: Callable[[], None],
) -> Generator[tuple[Found, int, Looked | Skipped]]:
    """Every file in order, with when it was asked for and what was made of it.

    Args:
        reader: Looks at a file; sent to the workers.
        files: To look at.
        known: Digest and language of texts that need no cutting.
        n_workers: Processes beside this one.
        now_ns: Clock, nanoseconds since the epoch.
        meanwhile: What can be done here while the workers start.
    """
    taken = 0
    with contextlib.suppress(_WorkerLostError), contextlib.ExitStack() as stack:
        workers = _start(reader, known, n_workers, stack)
        for found, checked_ns, looked in _answers(workers, list(_batches(files)), now_ns, meanwhile):
            yield found, checked_ns, looked
            taken += 1
    for found in files[taken:]:
        checked_ns = now_ns()
        yield found, checked_ns, reader.look(found, known_by(known))


class _WorkerLostError(Exception):
    """A worker did not start, or ended before its work was done."""


def _answers(
    workers: Sequence[_Worker],
    batches: Sequence[Sequence[Found]],
    now_ns: Callable[[], int],
    meanwhile: Callable[[], None],
) -> Iterator[tuple[Found, int, Looked | Skipped]]:
    """What the workers make of the batches, which go to each in turn."""
    asked: deque[int] = deque()
    for number, batch in enumerate(batches):
        while len(asked) < min(_BATCHES_AHEAD * len(workers), len(batches) - number):
            next_number = number + len(asked)
            asked.append(now_ns())
            workers[next_number % len(workers)].ask(batches[next_number])
        if number == 0:
            meanwhile()
        checked_ns = asked.popleft()
        for found, looked in zip(batch, workers[number % len(workers)].answer(), strict=True):
            yield found, checked_ns, looked


def _widen(pipe: IO[bytes]) -> None:
    """Let a pipe hold a whole answer where the system can: neither side then waits for the other within one."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _batches(files: Sequence[Found]) -> Iterator[Sequence[Found]]:
    """Files that go to a worker together: so many bytes that the way there and back costs little beside them."""
    start, size_bytes = 0, 0
    for at, found in enumerate(files):
        size_bytes += found.stamp.size_bytes
        if size_bytes >= _BATCH_BYTES or at + 1 - start >= _BATCH_FILES:
            yield files[start : at + 1]
            start, size_bytes = at + 1, 0
    if start < len(files):
        yield files[start:]


def _start(
    reader: Reader, known: frozenset[tuple[bytes, str]], n_workers: int, stack: contextlib.ExitStack
) -> list[_Worker]:
    """Workers that know how to look at files; the stack ends them."""
    try:
        task = pickle.dumps((reader, known), pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise _WorkerLostError from error
    workers: list[_Worker] = []
    for _ in range(n_workers):
        worker = _Worker()
        stack.callback(worker.end)
        workers.append(worker)
    for worker in workers:
        worker.send(task)
    return workers


class _Worker:
    """A process that runs `hybrid.index.worker`.

    Raises on construction, and whenever it does not answer:
        _WorkerLostError: It cannot be started, or has ended.
    """

    def __init__(self) -> None:
        package = Path(__file__).resolve().parent.parent.parent
        # An isolated interpreter with the places that this one imports from, but for a relative one.
        places = [place for place in sys.path if Path(place).is_absolute()]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, *places, str(package)],
                cwd=str(package),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=_WITHOUT_WINDOW,
            )
        except (OSError, ValueError) as error:
            raise _WorkerLostError from error
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        _widen(self._answers)

    def send(self, message: bytes) -> None:
        """Send a message; the worker takes it in at once, whatever it does."""
        try:
            write_message(self._requests, message)
        except OSError as error:
            raise _WorkerLostError from error

    def ask(self, batch: Sequence[Found]) -> None:
        """Have a batch looked at."""
        self.send(pickle.dumps(batch, pickle.HIGHEST_PROTOCOL))

    def answer(self) -> Iterator[Looked | Skipped]:
        """What was made of the oldest batch that was asked for and not answered."""
        data = read_message(self._answers)
        if data is None:
            raise _WorkerLostError
        return unpack(data)

    def end(self) -> None:
        """End the process; it holds nothing that must be kept."""
        self._process.kill()
        for stream in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                stream.close()
        self._process.wait()
