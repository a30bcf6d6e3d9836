"""The process of the service: one at a time, replaced by a newer version, gone when it is told to stop or nobody asks.

It listens where only the owner can connect, and answers hooks and commands, one thread a connection. The socket has a
short path; a port with a token stands in where there are no Unix sockets.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hybrid
from hybrid.base.atomic import locked, make_private_folder, read_regular, write_atomic
from hybrid.ipc.loopback import listening
from hybrid.ipc.start import reached, starting_mark
from hybrid.ipc.wire import (
    PROTOCOL,
    SERVICE,
    Connection,
    Greeting,
    WireError,
    endpoint_path,
    is_newer,
    pairs,
    proof,
    run_folder,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hybrid.daemon.service import Service


_BACKLOG = 1024
"""Connections that may wait: an agent that runs many tools at once starts a hook for each."""
_PATH_BYTES = 100
"""Bytes of a socket's path at most; Linux allows 108, macOS 104."""
_PROOF_S = 2.0
"""Seconds for each step of the proof that a connection by port must give."""
_PROOF_BYTES = 1000
"""Bytes of a message at most, from a client that has not proved yet that it may connect."""


class Listener:
    """Listens on a socket or a port, and writes its address to `run/daemon`.

    Args:
        home: `$HYBRID_HOME`.
        environ: `XDG_RUNTIME_DIR` is a place for the socket when the home's path is too long.
        is_tcp: Use a port although there are Unix sockets.
        name: Who listens, and the name of the file in place of `daemon`.

    Raises:
        OSError: Nowhere to listen, or the home is read-only.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], *, is_tcp: bool = False, name: str = SERVICE) -> None:
        self._name = name
        self._file = Path(endpoint_path(str(home), name))
        self._token = ""
        self._path: Path | None = None
        self._announcement = b""
        self._code = _code_stamp()
        self._greeting = [str(PROTOCOL).encode(), hybrid.__version__.encode(), str(os.getpid()).encode()]
        # Newer versions of Windows have such sockets too, but no rights of files that would guard them.
        is_tcp = is_tcp or sys.platform == "win32" or not hasattr(socket, "AF_UNIX")
        self.socket = self._bound(home, environ, is_tcp=is_tcp)
        try:
            self.socket.listen(_BACKLOG)
            self.socket.setblocking(False)
            self._announcement = self._announce()
        except BaseException:
            self.close()
            raise

    def is_current(self) -> bool:
        """Return whether socket and file stand as they were made, and the version that runs is the one installed."""
        if _code_stamp() != self._code:
            return False
        try:
            return read_regular(self._file, len(self._announcement)) == self._announcement and (
                self._path is None or self._path.is_socket()
            )
        except OSError as error:
            # With too many files open nobody can look: that passes, and ending would end all sessions.
            return error.errno in (errno.EMFILE, errno.ENFILE)

    def accepted(self) -> Connection | None:
        """Return the next connection, not admitted yet (`admit`); None when it cannot be taken."""
        try:
            sock, _ = self.socket.accept()
        except OSError:
            return None
        sock.setblocking(True)
        return Connection(sock)

    def admit(self, connection: Connection) -> None:
        """Greet a client; of the port it must prove that it can read the owner's files, a Unix socket needs no proof.

        Raises:
            WireError: The proof is missing or wrong.
        """
        if self._path is None:
            challenge = connection.receive(timeout_s=_PROOF_S, most_bytes=_PROOF_BYTES)[0]
            nonce = os.urandom(16).hex().encode()
            connection.send(proof(self._token, b"service", challenge), nonce, timeout_s=_PROOF_S)
            theirs = connection.receive(timeout_s=_PROOF_S, most_bytes=_PROOF_BYTES)[0]
            if theirs != proof(self._token, b"hook", nonce + challenge):
                raise WireError("the token is wrong")
        connection.send(*self._greeting, timeout_s=_SEND_S)

    def turn_away(self, connection: Connection) -> None:
        """Close a connection that there is no room for; greeted, since one who hears nothing takes us for hung."""
        if self._path is not None:
            with contextlib.suppress(WireError):
                connection.send(*self._greeting, timeout_s=_NONE_S)
        connection.close()

    def close(self) -> None:
        """Stop listening, and remove the socket and, unless another service wrote it, the file `run/daemon`."""
        with contextlib.suppress(OSError):
            if read_regular(self._file, len(self._announcement)) == self._announcement:
                self._file.unlink()
        self.socket.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _bound(self, home: Path, environ: Mapping[str, str], *, is_tcp: bool) -> socket.socket:
        if not is_tcp:
            beginning = "" if self._name == SERVICE else f"{self._name}-"
            for left in self._file.parent.glob(f"{beginning}[0-9a-f]*.sock"):
                # Of those that were killed: of one name there is no other one beside us.
                with contextlib.suppress(OSError):
                    left.unlink()
            for folder in _folders(home, environ):
                path = folder / f"{beginning}{os.getpid():x}.sock"
                with contextlib.suppress(OSError):
                    if len(os.fsencode(path)) <= _PATH_BYTES and _is_private(folder):
                        return self._bound_to(path)
        self._token = os.urandom(32).hex()
        return listening(0, _BACKLOG)

    def _bound_to(self, path: Path) -> socket.socket:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(str(path))
        except OSError:
            sock.close()
            raise
        self._path = path
        return sock

    def _announce(self) -> bytes:
        where = {"socket": str(self._path)} if self._path else {"port": str(self.socket.getsockname()[1])}
        if self._token:
            where["token"] = self._token
        data = pairs({"pid": str(os.getpid()), "protocol": str(PROTOCOL), "version": hybrid.__version__, **where})
        # A file that is replaced keeps its rights, and those may have let others write it.
        self._file.unlink(missing_ok=True)
        write_atomic(self._file, data, durable=False)
        return data


def _code_stamp() -> tuple[int, int]:
    """Return values that change when another version is installed, whose modules would not fit the loaded ones."""
    try:
        status = Path(hybrid.__file__).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def _folders(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders in which a socket may lie, best first."""
    yield Path(run_folder(str(home)))
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        yield Path(runtime) / "hybrid"
    yield Path(tempfile.gettempdir()) / f"hybrid-{os.getuid()}" if sys.platform != "win32" else home


def _is_private(folder: Path) -> bool:
    """Make the folder if missing, and private; return whether it belongs to this user and is no link."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    status = folder.lstat()
    if sys.platform == "win32":
        return True
    if folder.is_symlink() or status.st_uid != os.getuid():
        return False
    if status.st_mode & 0o077:
        folder.chmod(0o700)
    return True


# --- the server -------------------------------------------------------------------------------------------


# Makes the C library give memory back to the system after a large event; does nothing where it cannot be asked.

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""Parameters of `mallopt`, as glibc's `malloc.h` numbers them."""

_KEPT_BYTES = 4_000_000
"""Bytes of a block from which it goes back as soon as it is free, and bytes that stay at the end of each heap. By
itself glibc learns to keep 64 MB in the heap of every thread, which `malloc_trim` does not touch."""


@cache
def keep_little_memory() -> None:
    """Make the C library give large blocks back to the system as soon as they are free; works once and for all."""
    glibc = _glibc()
    if glibc is not None:
        glibc.mallopt(_MMAP_THRESHOLD, _KEPT_BYTES)
        glibc.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def give_back_memory() -> None:
    """Give free memory between used blocks back to the system; takes a few milliseconds."""
    glibc = _glibc()
    if glibc is not None:
        glibc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    """Return the C library on Linux systems with glibc, else None: others give memory back, or cannot be asked."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


_TICK_S = 2.0
"""Seconds between two calls of `Service.tick`, each of which costs a few `stat`."""
_SEND_S = 2.0
_REQUEST_S = 5.0
"""Seconds in which a request must have arrived."""
_MOST_CONNECTIONS = 512
"""Connections at a time, a thread each; the hook of one more answers by itself."""
_NONE_S = 0.05
"""Seconds of rest when a waiting connection cannot be taken, for want of file descriptors for example."""
_STACK_BYTES = 1 << 20
"""Bytes of the stack of each thread; the usual 8 MB would be reserved for each of them."""


class Server:
    """The loop that accepts connections; each has a thread of its own, so that a slow client delays no other."""

    def __init__(self, listener: Listener, service: Service) -> None:
        self._listener = listener
        self._service = service
        self._started_s = time.monotonic()
        self._wake, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._n_busy = 0
        self._busy = threading.Condition()
        self._large = threading.Lock()
        self._is_stopping = False
        self._operations: dict[bytes, Callable[[list[bytes], Connection], None]] = {
            b"event": service.event,
            b"perform": service.perform,
            b"status": self._status,
            b"stop": self._stop,
        }

    def stop(self) -> None:
        """Make `serve` return soon; may be called from a signal handler and from any thread."""
        self._is_stopping = True
        with contextlib.suppress(OSError):
            self._waker.send(b"x")

    def close(self) -> None:
        """Release what `stop` wakes the loop with; afterwards `stop` does nothing."""
        self._wake.close()
        self._waker.close()

    def serve(self) -> None:
        """Accept connections until `stop` is called or the service's `tick` returns False."""
        threading.stack_size(_STACK_BYTES)
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener.socket, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            next_tick_s = time.monotonic() + _TICK_S
            while not self._is_stopping:
                ready = selector.select(max(next_tick_s - time.monotonic(), 0))
                if any(key.fileobj is self._listener.socket for key, _ in ready):
                    self._accept()
                if time.monotonic() >= next_tick_s:
                    next_tick_s = time.monotonic() + _TICK_S
                    if not self._service.tick():
                        return

    def wait_for_answers(self, timeout_s: float) -> None:
        """Wait until no connection is being answered, or the time is over."""
        with self._busy:
            self._busy.wait_for(lambda: self._n_busy == 0, timeout_s)

    def _accept(self) -> None:
        connection = self._listener.accepted()
        if connection is None:
            time.sleep(_NONE_S)
            return
        if not self._places.acquire(blocking=False):
            self._listener.turn_away(connection)
            return
        with self._busy:
            self._n_busy += 1
        try:
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()
        except RuntimeError:  # The system has no room for a thread: this hook answers by itself.
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        connection.close()
        self._places.release()
        with self._busy:
            self._n_busy -= 1
            self._busy.notify_all()

    def _serve(self, connection: Connection) -> None:
        try:
            self._listener.admit(connection)
            with contextlib.ExitStack() as stack:
                self._answer(connection, stack)
        except WireError:
            pass  # A client that hung up, or that only wanted to know whether we are there.
        finally:
            self._end(connection)

    def _answer(self, connection: Connection, stack: contextlib.ExitStack) -> None:
        """Receive and answer one message; an unknown operation gets no answer. The caller then closes the stack."""
        message = connection.receive(timeout_s=_REQUEST_S, before=lambda: self._wait_for_large(stack))
        operation = self._operations.get(message[0])
        if operation is not None:
            operation(message, connection)

    def _wait_for_large(self, stack: contextlib.ExitStack) -> None:
        """Wait until no other large message is in memory; closing the stack gives the memory of this one back."""
        stack.enter_context(self._large)
        keep_little_memory()
        stack.callback(give_back_memory)

    def _status(self, _message: list[bytes], connection: Connection) -> None:
        figures = {"uptime_s": round(time.monotonic() - self._started_s, 1), **self._service.status()}
        connection.send(json.dumps(figures).encode(), timeout_s=_SEND_S)

    def _stop(self, _message: list[bytes], connection: Connection) -> None:
        with contextlib.suppress(WireError):
            connection.send(b"{}", timeout_s=_SEND_S)
        self.stop()


# --- the life of the process ------------------------------------------------------------------------------


_HUNG_S = 5.0
"""Seconds without a greeting after which a service that holds the lock is taken for hung."""
_END_S = 3.0
"""Seconds after each signal in which an older service must end; also the seconds to wait for its lock."""
_HUNG_END_S = 0.5
"""Seconds after each signal in which a hung service must end: it will hardly heed a signal that it may ignore."""
_STOP_S = 4.0
"""Seconds after each signal in which a service must end that a person stops, so that answers can be finished."""
_LOOK_S = 0.02
_ANSWERS_S = 2.0
"""Seconds that answers on their way get when the service ends."""
_END_ALL_S = 12.0
"""Seconds in which all services of a home must end: one may end slowly, and another may have waited for its lock."""
_MOST_FILES = 4096
"""Open files that a service may need: connections, and one for each segment of an open index; macOS gives 256."""


def run_service(
    home: Path, environ: Mapping[str, str], *, project: str = "", is_tcp: bool = False, is_marked: bool = False
) -> int:
    """Run the service of a `$HYBRID_HOME` until it is time to stop; return the exit code.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment variables.
        project: A directory of the project to look after first.
        is_tcp: Listen on a port although there are Unix sockets.
        is_marked: End without serving when the mark of the start is gone: a stop removes it, so that a service about
            to start or to take over does not.

    Returns:
        0, also when another service is there already.
    """
    run = Path(run_folder(str(home)))
    make_private_folder(run)
    mark = Path(starting_mark(str(home)))
    if not _is_own(run) or not _has_room(home, run):
        return 0
    with locked(run / "daemon.lock", _END_S) as is_mine:
        if not is_mine or (is_marked and not mark.exists()):
            return 0
        write_atomic(run / "daemon.pid", str(os.getpid()).encode(), durable=False)
        try:
            _serve(home, environ, project=project, is_tcp=is_tcp)
        finally:
            with contextlib.suppress(OSError):
                (run / "daemon.pid").unlink()
    return 0


def end_service(home: Path) -> bool:
    """End every service of a home by signals, also one that is starting; return whether none lives any more.

    For a service that does not answer or cannot be found; takes some twelve seconds at most.
    """
    run = Path(run_folder(str(home)))
    with contextlib.suppress(OSError):
        Path(starting_mark(str(home))).unlink()
    until_s = time.monotonic() + _END_ALL_S
    while _is_held(run):
        # One that starts just now has not written its number yet, and one that waited for the lock may have it next.
        if _is_service(pid := _holder(run)) and _is_alive(pid):
            _end(run, pid, wait_s=_STOP_S)
        if time.monotonic() >= until_s:
            return False
        time.sleep(_LOOK_S)
    return True


def wait_for_end(pid: int, timeout_s: float) -> bool:
    """Wait until the process of a service is gone; kill it when the time is over.

    Args:
        pid: Number of the process; 0 for none.
        timeout_s: Seconds that it may take by itself.

    Returns:
        True when it is gone, and always on Windows, where a look would end the process.
    """
    if sys.platform == "win32":
        return True
    until_s = time.monotonic() + timeout_s
    while _is_alive(pid) and time.monotonic() < until_s:
        time.sleep(_LOOK_S)
    if _is_service(pid) and _is_alive(pid):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)
    return not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    """Return whether a process of this user lives; one that has ended and waits for its parent does not.

    True on Windows for every number: there a look would end the process.
    """
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except OSError:  # None, or a stranger's, to whom the number was given anew.
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return not Path("/proc/self").exists()


def hung_process(home: Path) -> int | None:
    """Return the number of the process that holds the service's lock, hung or not; None without one."""
    run = Path(run_folder(str(home)))
    return (_holder(run) or None) if _is_held(run) else None


def detach_from_caller() -> None:
    """Close files that the caller left open, keep new files private (umask), and change to the root folder."""
    if sys.platform != "win32":
        os.closerange(3, 4096)
        os.umask(0o077)
    with contextlib.suppress(OSError):
        os.chdir(Path(sys.executable).anchor or "/")


def _serve(home: Path, environ: Mapping[str, str], *, project: str, is_tcp: bool) -> None:
    from hybrid.daemon.service import Service

    allow_files()
    listener = Listener(home, environ, is_tcp=is_tcp)
    with contextlib.suppress(OSError):
        Path(starting_mark(str(home))).unlink()
    service, server = Service(home, environ, listener.is_current), None
    try:
        server = Server(listener, service)
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda _number, _frame, server=server: server.stop())
        service.start(project)
        server.serve()
        listener.close()
        server.wait_for_answers(_ANSWERS_S)
    finally:
        listener.close()
        if server is not None:
            server.close()
        service.close()


def _has_room(home: Path, run: Path) -> bool:
    """End a service that is older or hung; return whether no other one is left. Waits up to ten seconds."""
    until_s = time.monotonic() + _HUNG_S
    pid = _holder(run)
    while _is_held(run):
        greeting = _greeting(home, max(until_s - time.monotonic(), 0.05))
        if greeting is not None:
            if not is_newer(hybrid.__version__, greeting.version):
                return False
            return _end(run, greeting.pid, wait_s=_END_S)
        if time.monotonic() >= until_s:
            # The lock is held, so its holder lives; the number has not changed in all that time, so it is the holder's.
            return pid > 0 and pid == _holder(run) and _end(run, pid, wait_s=_HUNG_END_S)
        time.sleep(0.05)
        pid = pid or _holder(run)
    return True


def _is_own(run: Path) -> bool:
    """Return whether the folder belongs to this user; take it from others first if they could write there.

    Whoever can write there can tell hooks where to send prompts.
    """
    if sys.platform == "win32":
        return True
    try:
        status = run.stat()
        if status.st_uid == os.getuid() and status.st_mode & 0o022:
            run.chmod(0o700)
    except OSError:
        return False
    return status.st_uid == os.getuid()


def _is_held(run: Path) -> bool:
    """Return whether a process holds the service's lock; False when the lock cannot be opened."""
    path = run / "daemon.lock"
    if path.is_symlink() or not os.access(path, os.W_OK):
        return False
    with locked(path, 0) as held:
        return not held


def _holder(run: Path) -> int:
    try:
        return int(read_regular(run / "daemon.pid", 20))
    except (OSError, ValueError):
        return 0


def _greeting(home: Path, timeout_s: float) -> Greeting | None:
    with contextlib.suppress(WireError):
        connection, greeting = reached(str(home), SERVICE, timeout_s)
        connection.close()
        return greeting
    return None


def _end(run: Path, pid: int, *, wait_s: float) -> bool:
    """End one process of a service by SIGTERM, then SIGKILL; return whether it is gone or the lock is free."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if _is_service(pid):
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s:
            if not _is_alive(pid) or not _is_held(run):
                return True
            time.sleep(_LOOK_S)
    return False


def _is_service(pid: int) -> bool:
    """Return whether a process is a service and not this one; without /proc True for every other number.

    The number may have been given to another program since.
    """
    if pid <= 0 or pid == os.getpid():
        return False
    try:
        return b"\0daemon\0run\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return not Path("/proc/self").exists()


def allow_files() -> None:
    """Allow this process as many open files as many connections need."""
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(OSError, ValueError):
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
            if 0 <= soft < wanted:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
