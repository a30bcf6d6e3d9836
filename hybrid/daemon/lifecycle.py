"""The life of the service process: one at a time, detached, replaced by a newer version, gone when nobody needs it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid import __version__
from hybrid.base.atomic import locked, make_private_folder, write_atomic
from hybrid.ipc.endpoint import Greeting, connect, is_newer, read_endpoint, run_folder
from hybrid.ipc.start import starting_mark
from hybrid.ipc.wire import WireError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    from hybrid.daemon.server import Listener, Server
    from hybrid.daemon.service import Service

    _allow_files()
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
            if not is_newer(__version__, greeting.version):
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
        return int((run / "daemon.pid").read_bytes()[:20])
    except (OSError, ValueError):
        return 0


def _greeting(home: Path, timeout_s: float) -> Greeting | None:
    endpoint = read_endpoint(str(home))
    if endpoint is None:
        return None
    try:
        connection = connect(endpoint, timeout_s=timeout_s)
    except WireError:
        return None
    try:
        return Greeting(connection.receive(timeout_s=timeout_s))
    except WireError:
        return None
    finally:
        connection.close()


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


def _allow_files() -> None:
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(OSError, ValueError):
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
            if 0 <= soft < wanted:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
