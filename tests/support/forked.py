"""Runs the real command in a process of its own that is forked from one which has imported everything.

A start costs a tenth of what `hybrid_command` costs, so that hundreds of small tests can use the command line: modules,
shipped models, the gate's backgrounds and the grammars of most samples are there already. What a start itself does
(imports, the installed script) is tried by `tests/cli/test_main.py`, `tests/contracts` and `tests/docs`. So is a service
that a forked command starts; one that a hook starts (`Agent`) comes in the usual way, as all do where processes cannot be
forked.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CAN_FORK = hasattr(os, "fork")
_TIMEOUT_S = 120.0

_SERVER = """
import contextlib, gc, importlib, json, os, pkgutil, select, signal, sys, traceback

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import hybrid.chunking.grammars, pathspec, rich.progress, rich.table, tomlkit, yaml
for module in pkgutil.walk_packages(hybrid.__path__, "hybrid."):
    # A script, one that needs torch, and those that bring the library of MCP, which no forked command needs.
    if module.name not in ("hybrid.entry", "hybrid.models.weighted_bag", "hybrid.mcp_server.server", "hybrid.mcp_server.http"):
        with contextlib.suppress(Exception):  # What is broken shall fail where it is used, not here for everybody.
            importlib.import_module(module.name)
import tests.support.backgrounds, tests.support.forked
tests.support.backgrounds.remember_backgrounds()
tests.support.backgrounds.remember_models()
tests.support.backgrounds.make_backgrounds("hashing", "static-v1")
for language in ("python", "markdown"):
    hybrid.chunking.grammars.grammar_of(language)
with contextlib.suppress(Exception):
    tests.support.forked.run_some()
# What is there now is no garbage of a command: looking through all of it costs more than a small command does.
gc.collect()
gc.freeze()


def command(request):
    os.chdir(request["cwd"])
    streams = ("in", os.O_RDONLY), ("out", os.O_WRONLY | os.O_CREAT), ("err", os.O_WRONLY | os.O_CREAT)
    run(request["args"], request["environ"], [(os.path.join(request["folder"], name), flags) for name, flags in streams])


def start_detached(command, environ):
    if command[:3] != start_command("daemon")[:3] or command[4:6] != ["daemon", "run"]:
        start_afresh(command, environ)
    elif os.fork() == 0:
        os.setsid()
        run(command[4:], environ, [(os.devnull, os.O_RDWR)] * 3)


start_command, start_afresh = hybrid.ipc.start.start_command, hybrid.ipc.start.start_detached
hybrid.ipc.start.start_detached = start_detached


def run(args, environ, streams):
    os.environ.clear()
    os.environ.update(environ)
    for number, (name, flags) in enumerate(streams):
        os.dup2(os.open(name, flags, 0o600), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)
    sys.argv = ["hybrid", *args]
    try:
        code = hybrid.__main__.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    gc.collect()
    sys.stdout.flush()
    os._exit(code)


commands = {}


def begin(request):
    child = os.fork()
    if child:
        commands[child] = request["folder"]
        return
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        command(request)
    finally:
        os._exit(70)


def reap():
    while commands and (ended := os.waitpid(-1, os.WNOHANG))[0]:
        done = os.path.join(commands.pop(ended[0]), "code")
        with open(done + ".part", "w") as file:
            file.write(str(os.waitstatus_to_exitcode(ended[1])))
        os.rename(done + ".part", done)


# The signal alone would be missed where it comes just before the wait for a line.
wake, waking = os.pipe()
os.set_blocking(waking, False)
signal.set_wakeup_fd(waking)
signal.signal(signal.SIGCHLD, lambda *_: None)
read = b""
while True:
    ready = select.select([0, wake], [], [])[0]
    if wake in ready:
        os.read(wake, 4096)
        reap()
    if 0 in ready:
        more = os.read(0, 65536)
        if not more:
            break
        *lines, read = (read + more).split(b"\\n")
        for line in lines:
            begin(json.loads(line))
"""


_USUAL = (
    ("reindex", "--quiet"),
    ("context", "How does the client retry a payment?", "--json"),
    ("search", "retry", "--explain"),
    ("lessons", "add", "Retry payments", "Cap attempts at five"),
    ("lessons", "list"),
    ("doctor", "--no-trial"),
)


def run_some() -> None:
    """Run some commands in this process: what they import, compile and read for the first time is there for others."""
    from hybrid.cli.main import run

    kept = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="hybrid-test-") as name, Path(os.devnull).open("w") as nothing:
        root = Path(name) / "shop"
        (root / ".hybrid").mkdir(parents=True)
        (root / "client.py").write_text('def retry(payment: int) -> None:\n    """The client tries again."""\n')
        os.chdir(root)
        os.environ |= {"HYBRID_HOME": f"{name}/home", "HOME": f"{name}/user", "HYBRID_DAEMON_ENABLED": "false"}
        with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
            for line in _USUAL:
                run(line, started_s=time.perf_counter())
        os.chdir(CHECKOUT)
    os.environ.clear()
    os.environ.update(kept)


class _Server:
    """The process that others are forked from; started by the first command, ended with the tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def send(self, request: dict[str, object]) -> None:
        with self._lock:
            if self._process is None:
                # It outlives the test that starts it, and must not look like a process of that test's home.
                kept = {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_")}
                environ = kept | {"PYTHONPATH": str(CHECKOUT), "PYTHONWARNINGS": "default"}
                self._process = subprocess.Popen(
                    # As the command line of a service, by which others know that it is one.
                    [sys.executable, "-c", _SERVER, "daemon", "run"],
                    stdin=subprocess.PIPE,
                    text=True,
                    env=environ,
                    cwd=CHECKOUT,
                )
                atexit.register(self.close)
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(timeout=120)


_SERVER_PROCESS = _Server()


def forked_command(
    args: tuple[str, ...], *, cwd: Path, environ: dict[str, str], stdin: bytes
) -> subprocess.CompletedProcess[bytes]:
    """One command line as a process; returns what `subprocess.run` would."""
    with tempfile.TemporaryDirectory(prefix="hybrid-test-") as name:
        folder = Path(name)
        (folder / "in").write_bytes(stdin)
        _SERVER_PROCESS.send({"args": args, "cwd": str(cwd), "environ": environ, "folder": name})
        until = time.monotonic() + _TIMEOUT_S
        while not (folder / "code").exists():
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(["hybrid", *args], _TIMEOUT_S)
            time.sleep(0.002)
        out, err = ((folder / part).read_bytes() for part in ("out", "err"))
        return subprocess.CompletedProcess(["hybrid", *args], int((folder / "code").read_text()), out, err)
