"""Looks at many files in processes of their own, in the order of the files; `documents` calls it.

Whatever happens to a worker costs time only: from the first answer that does not come, this process goes on alone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybrid.index.worker import read_message, serve_forked, unpack, write_message

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import IO

    from hybrid.index.reading import Looked, Task
    from hybrid.types import Found, Skipped

MANY_BYTES = 1_500_000
"""Bytes of files from which on other processes are worth their start: a tenth of a second each, next to one and a half
for this much text."""
SOME_BYTES = 500_000
"""Bytes of files from which on forks of this process are worth it: they start at once, but must send what they make."""

_MOST_WORKERS = 4
_BATCH_BYTES = 150_000
_SMALL_BATCH_BYTES = 10_000
_BATCHES_EACH = 6
"""Batches that each worker's share of few files is cut into, so that all workers end at about the same time."""
_BATCH_FILES = 32
_PIPE_BYTES = 1 << 20
_BATCHES_AHEAD = 4
"""Batches a worker that are asked for and not yet taken, at most; this bounds the memory of waiting answers."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybrid.index.worker import main; main()"
_WITHOUT_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)


def automatic_workers() -> int:
    """Return the number of cores that may be used, at most 4: more workers would wait for the build."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST_WORKERS)


def are_worth_it(size_bytes: int) -> bool:
    """Return whether other processes make up for their start, when files of so many bytes are to be looked at."""
    return size_bytes >= (SOME_BYTES if _may_fork() else MANY_BYTES)


def _may_fork() -> bool:
    """Return whether this process may be forked: only on Linux, and while it has a single thread.

    Another thread may hold a lock that the fork could never get, and macOS's own libraries do not survive a fork.
    """
    return sys.platform == "linux" and threading.active_count() == 1


def look_in_processes(
    task: Task,
    files: Sequence[Found],
    *,
    n_workers: int,
    now_ns: Callable[[], int],
    meanwhile: Callable[[], None],
) -> Generator[tuple[Found, int, Looked | Skipped]]:
    """Yield every file in order, with the time when it was asked for (nanoseconds) and what was read of it.

    When a worker is lost, this process looks at the remaining files itself. The workers end with the generator, so
    close it if it is not read to its end.

    Args:
        task: How to look at a file; sent to the workers.
        files: The files to look at.
        n_workers: Processes beside this one.
        now_ns: Clock, nanoseconds since the epoch.
        meanwhile: Called once, while the workers start.
    """
    taken = 0
    with contextlib.suppress(_WorkerLostError), contextlib.ExitStack() as stack:
        workers = _start(task, n_workers, stack)
        for found, checked_ns, looked in _answers(workers, list(_batches(files, n_workers)), now_ns, meanwhile):
            yield found, checked_ns, looked
            taken += 1
    for found in files[taken:]:
        checked_ns = now_ns()
        yield found, checked_ns, task.look(found)


class _WorkerLostError(Exception):
    """A worker did not start, or ended before its work was done."""


def _answers(
    workers: Sequence[_Worker],
    batches: Sequence[Sequence[Found]],
    now_ns: Callable[[], int],
    meanwhile: Callable[[], None],
) -> Iterator[tuple[Found, int, Looked | Skipped]]:
    """Yield what `look_in_processes` does, of batches; each batch goes to the worker with the fewest bytes to do."""
    asked: deque[tuple[_Worker, int, int]] = deque()
    waiting = dict.fromkeys(workers, 0)
    for number, batch in enumerate(batches):
        while len(asked) < min(_BATCHES_AHEAD * len(workers), len(batches) - number):
            to_ask = batches[number + len(asked)]
            worker, size_bytes = min(workers, key=waiting.__getitem__), _size_of(to_ask)
            asked.append((worker, size_bytes, now_ns()))
            waiting[worker] += size_bytes
            worker.ask(to_ask)
        if number == 0:
            meanwhile()
        worker, size_bytes, checked_ns = asked.popleft()
        for found, looked in zip(batch, worker.answer(), strict=True):
            yield found, checked_ns, looked
        waiting[worker] -= size_bytes


def _widen(pipe: IO[bytes]) -> None:
    """Enlarge a pipe to hold a whole answer, on Linux, so that neither side waits in the middle of one."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _size_of(files: Sequence[Found]) -> int:
    return sum(found.stamp.size_bytes for found in files)


def _batches(files: Sequence[Found], n_workers: int) -> Iterator[Sequence[Found]]:
    """Yield files that go to a worker together, so many bytes that the way there and back costs little beside."""
    enough = min(max(_size_of(files) // (n_workers * _BATCHES_EACH), _SMALL_BATCH_BYTES), _BATCH_BYTES)
    start, size_bytes = 0, 0
    for at, found in enumerate(files):
        size_bytes += found.stamp.size_bytes
        if size_bytes >= enough or at + 1 - start >= _BATCH_FILES:
            yield files[start : at + 1]
            start, size_bytes = at + 1, 0
    if start < len(files):
        yield files[start:]


def _start(task: Task, n_workers: int, stack: contextlib.ExitStack) -> list[_Worker]:
    """Start workers, by fork if possible, that have the task; the stack ends them.

    Raises:
        _WorkerLostError: A worker cannot be started, or the task cannot be sent.
    """
    may_fork = _may_fork()
    try:
        message = b"" if may_fork else pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise _WorkerLostError from error
    workers: list[_Worker] = []
    for _ in range(n_workers):
        workers.append(_forked(task) if may_fork else _spawned())
        stack.callback(workers[-1].end)
    for worker in workers if message else ():
        worker.send(message)
    return workers


def _forked(task: Task) -> _Worker:
    """A worker that is a fork of this process, and so has everything that is imported here.

    Raises:
        _WorkerLostError: The system gives no process.
    """
    try:
        (asked, requests), (answers, given) = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads that are not its own, as of a linear algebra library, which provide for it.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError as error:
        raise _WorkerLostError from error
    if pid == 0:
        serve_forked(asked, given, task)
    os.close(asked)
    os.close(given)
    return _Worker(_Fork(pid), os.fdopen(requests, "wb"), os.fdopen(answers, "rb"))


class _Fork:
    """A forked process, with the two methods of `Popen` that a worker needs."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _spawned() -> _Worker:
    """A worker with an interpreter of its own.

    Raises:
        _WorkerLostError: It cannot be started.
    """
    package = Path(__file__).resolve().parent.parent.parent
    # An isolated interpreter with the places that this one imports from, but for a relative one.
    places = [place for place in sys.path if Path(place).is_absolute()]
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, *places, str(package)],
            cwd=str(package),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=_WITHOUT_WINDOW,
        )
    except (OSError, ValueError) as error:
        raise _WorkerLostError from error
    return _Worker(process, cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout))


class _Worker:
    """A process that runs `hybrid.index.worker`.

    Raises whenever it does not answer:
        _WorkerLostError: It has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes] | _Fork, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._process = process
        self._requests = requests
        self._answers = answers
        _widen(self._answers)

    def send(self, message: bytes) -> None:
        """Send a message; the worker takes it in at once, even while it looks at a file."""
        try:
            write_message(self._requests, message)
        except OSError as error:
            raise _WorkerLostError from error

    def ask(self, batch: Sequence[Found]) -> None:
        """Send a batch of files to be looked at; `answer` gives the result."""
        self.send(pickle.dumps(batch, pickle.HIGHEST_PROTOCOL))

    def answer(self) -> Iterator[Looked | Skipped]:
        """Wait for the answer to the oldest batch without one, and return what was made of its files, in order."""
        data = read_message(self._answers)
        if data is None:
            raise _WorkerLostError
        return unpack(data)

    def end(self) -> None:
        """Kill the process and wait until it is gone; it holds nothing that must be kept."""
        self._process.kill()
        for stream in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                stream.close()
        self._process.wait()
