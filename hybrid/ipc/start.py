"""Starts the service so that nothing of the caller clings to it: no pipe, no socket, no terminal, no working directory.

Standard library only; a hook imports it only when there is no service.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

from hybrid.ipc.endpoint import run_folder

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping

_AGAIN_S = 5.0
"""Seconds before another start is tried: a service that cannot live must not be started by every prompt. One that
listens takes the mark away."""

_KEPT = (
    "ANTHROPIC_API_KEY",
    "APPDATA",
    "COMSPEC",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HOME",
    "HYBRID_HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "LOCALAPPDATA",
    "LOGNAME",
    "MILVUS_TOKEN",
    "PATH",
    "PATHEXT",
    "SENTENCE_TRANSFORMERS_HOME",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "USERPROFILE",
    "WINDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
)
"""Environment variables that the service gets; it outlives the session, whose secrets are none of its business."""


def entry_script() -> str:
    """Return the path of the script that starts any command of this installation, run by `python -I -S`."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is 6 ms
    return os.path.join(package, "entry.py")  # noqa: PTH118


def start_command(*arguments: str) -> list[str]:
    """Return a command line of this installation that neither the environment nor the working directory can change."""
    return [sys.executable, "-I", "-S", entry_script(), *arguments]


def kept_environment(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the environment that the service and its builds get."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    # A query is one small matrix-vector product: a second thread costs more than it gives.
    return kept | {"HYBRID_HOME": home, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def start_service(home: str, environ: Mapping[str, str], *, cwd: str = "") -> bool:
    """Start a service unless one was started moments ago; it may find that another one is there, and goes.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment of the caller.
        cwd: A directory of the project to look after first.

    Returns:
        Whether a process was started.
    """
    if not sys.executable or not _may_start(home):
        return False
    command = start_command("daemon", "run", "--marked", *(["--project", cwd] if cwd else []))
    with contextlib.suppress(OSError, ValueError):
        start_detached(command, kept_environment(environ, home))
        return True
    return False


def starting_mark(home: str) -> str:
    """Return the path of a file whose age tells when a service was last started; one that listens deletes it."""
    return os.path.join(run_folder(home), "starting")  # noqa: PTH118


def _may_start(home: str) -> bool:
    """Return True, and mark the start, for one caller in five seconds; False where the mark cannot be written."""
    folder, marker = run_folder(home), starting_mark(home)
    try:
        if -1 < time.time() - os.stat(marker).st_mtime < _AGAIN_S:  # noqa: PTH116
            return False
    except OSError:
        with contextlib.suppress(OSError):
            os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    try:
        os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        os.utime(marker)
    except OSError:
        return False
    return True


if sys.platform == "win32":

    def start_detached(command: list[str], environ: dict[str, str]) -> None:
        """Start the command without a window, outside of the caller's job where that is allowed."""
        import subprocess

        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        # A client that ends its job would end the service with it; not every job lets a process leave.
        for extra in (subprocess.CREATE_BREAKAWAY_FROM_JOB, 0):
            with contextlib.suppress(OSError):
                subprocess.Popen(
                    command,
                    env=environ,
                    cwd=environ.get("SYSTEMROOT"),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    creationflags=flags | extra,
                    close_fds=True,
                )
                return
        raise OSError("the service could not be started")

else:

    def start_detached(command: list[str], environ: dict[str, str]) -> None:
        """Start the command in a session of its own; the service itself closes file descriptors left open for it."""
        streams = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        try:
            os.posix_spawn(command[0], command, environ, file_actions=streams, setsid=True)
        except (NotImplementedError, AttributeError):
            import subprocess

            subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
