"""Looks at many files in processes of their own, in the order of the files; `build` calls it.

Whatever happens to a worker costs time only: from the first answer that does not come, this process goes on alone.
A worker is a fork, or an interpreter of its own: batches of files come on its stdin, what is made of them goes to its
stdout. It ends when its stdin closes, even in the middle of a file: then the build is over, or gone.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import warnings
from collections import deque
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, cast

from msgspec.structs import astuple, replace

from hybrid.index.analysis import ChunkRecord, Looked, TermColumns, Vocabulary, postings_of
from hybrid.types import Definition, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from hybrid.index.analysis import Task
    from hybrid.types import Found


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

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybrid.index.workers import main; main()"
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
    """A process that runs `hybrid.index.workers`.

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


# --- in the worker -------------------------------------------------------------------------------------------

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


# Looked-at files as bytes and back. Terms are by far the most of them: they go as `TermColumns` with one vocabulary for
# a batch, and the build makes no dictionaries of them again.


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
    for looked, records, columns in packed:
        if isinstance(looked, Looked) and looked.analysis is not None:
            analysis = replace(looked.analysis, records=list(map(_restored, records)))
            yield Looked(looked.document, replace(analysis, postings=TermColumns(vocabulary, columns)))
        else:
            yield looked


def _packed(looked: Looked | Skipped, vocabulary: Vocabulary) -> tuple[Looked | Skipped, Sequence[Any], Sequence[Any]]:
    """Return a looked-at file, without text and records if it was cut, its records, and the columns of their terms."""
    if isinstance(looked, Skipped) or looked.analysis is None:
        return looked, (), ()
    records = looked.analysis.records
    bare = Looked(replace(looked.document, text=""), replace(looked.analysis, records=()))
    return bare, list(map(_packed_record, records)), postings_of(records, vocabulary).columns


def _packed_record(record: ChunkRecord) -> tuple[Any, ...]:
    *plain, _body, _fields, definitions, _comments, masked, literals = astuple(record)
    return *plain, list(map(astuple, definitions)), masked, literals


def _restored(packed: Sequence[Any]) -> ChunkRecord:
    *plain, definitions, masked, literals = packed
    return ChunkRecord(
        *plain,
        body={},
        fields={},
        definitions=tuple([Definition(*definition) for definition in definitions]),
        comments=(),
        masked=masked,
        literals=literals,
    )
