"""`hybrid daemon`: the service that answers agents; it starts and stops by itself, these commands are for people."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.base.home import home_path
from hybrid.base.resources import shipped
from hybrid.cli.common import Action, add_actions, print_json, say
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Mapping

_WAIT_S = 10.0
"""Seconds to wait for a service to start or to stop."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = "example:\n  hybrid daemon status"
    parsers = add_actions(parser, {name: Action(about, "", run, _OPTIONS) for name, about in _ACTIONS.items()})
    for part in parsers.values():
        part.add_argument("-q", "--quiet", action="store_true", help="print nothing")
    for name in ("start", "run"):
        parsers[name].add_argument("--project", metavar="DIR", default="", help="a project to look after first")
    parsers["run"].add_argument("--marked", action="store_true", help=argparse.SUPPRESS)
    about = "listen on a port of loopback, not on a Unix socket"
    parsers["run"].add_argument("--tcp", action="store_true", help=about)


_OPTIONS = ("--json", "--debug")
_ACTIONS = {
    "start": "start the service, unless it runs",
    "stop": "stop it",
    "status": "is it running, with how much memory, for which projects",
    "run": "be the service, in the foreground",
    "schema": "the JSON schema of what it answers over HTTP",
}


def run(args: argparse.Namespace) -> int:
    """Run the action; exit code 1 when no service runs afterwards, after `stop` when one still does."""
    home = Path(home_path(os.environ))
    if args.action == "schema":
        sys.stdout.write(shipped("index", "schema", "http.json").read_text(encoding="utf-8"))
        return 0
    project = str(Path(args.project).absolute()) if args.project else ""
    if args.action == "run":
        return _run(args, home, project)
    if args.action == "start":
        status = _start(home, project)
    else:
        status = _stop(home) if args.action == "stop" else _status(home)
    if args.json:
        print_json(status)
    elif not args.quiet:
        from hybrid.config import load

        # The user's settings say whether prompts use a service; a project's settings are not read for this.
        _show(status, is_enabled=load(home=home).config.daemon.enabled)
    return 0 if status["running"] == (args.action != "stop") else 1


def _run(args: argparse.Namespace, home: Path, project: str) -> int:
    from hybrid.daemon.server import detach_from_caller, run_service

    if not sys.stdin.isatty():
        detach_from_caller()
    return run_service(home, os.environ, project=project, is_tcp=args.tcp, is_marked=args.marked)


def _start(home: Path, project: str) -> dict[str, Any]:
    from hybrid.ipc.start import start_service

    until_s = time.monotonic() + _WAIT_S
    status = _status(home)
    if not _is_current(status):
        _require_writable(home)
    while not _is_current(status):
        start_service(str(home), os.environ, cwd=project)
        if time.monotonic() > until_s:
            raise HybridError(f"the service did not start within {_WAIT_S:g} s; `hybrid daemon run` shows why")
        time.sleep(0.05)
        status = _status(home)
    return status


def _is_current(status: Mapping[str, Any]) -> bool:
    """Return whether a service runs and is no older than this program, which would replace an older one."""
    from hybrid import __version__
    from hybrid.ipc.wire import is_newer

    return status["running"] and not is_newer(__version__, status["version"] or "")


def _require_writable(home: Path) -> None:
    """Make the folder of the service's files, and try whether it takes one.

    Raises:
        HybridError: The folder takes no file, so no service can live there.
    """
    from tempfile import TemporaryFile

    from hybrid.base.atomic import make_private_folder
    from hybrid.ipc.wire import run_folder

    folder = Path(run_folder(str(home)))
    try:
        make_private_folder(folder)
        with TemporaryFile(dir=folder) as file:
            file.write(b"1")
    except OSError as error:
        raise HybridError(f"the service cannot start: {folder} cannot be written ({error.strerror})") from error


def _stop(home: Path) -> dict[str, Any]:
    from hybrid.daemon.server import end_service, wait_for_end
    from hybrid.ipc.start import rest_web, stop

    rest_web(str(home))
    before = _status(home)
    was_there = before["running"] or before["hung_pid"] is not None
    pid = int(before["pid"] or before.get("hung_pid") or 0)
    stop(str(home), timeout_s=_WAIT_S)
    if not (end_service(home) and wait_for_end(pid, _WAIT_S)):
        raise HybridError("the service does not end; `run/daemon.pid` in `HYBRID_HOME` names its process")
    return _status(home) | {"stopped": was_there}


def _status(home: Path) -> dict[str, Any]:
    from hybrid.ipc.start import daemon_status

    status = daemon_status(str(home))
    if status["running"]:
        return status
    from hybrid.daemon.server import hung_process  # It brings the whole server.

    return status | {"hung_pid": hung_process(home)}


def _show(status: Mapping[str, Any], *, is_enabled: bool) -> None:
    if not status["running"]:
        if not is_enabled and not status["hung_pid"]:
            state = "was stopped" if status.get("stopped") else "does not run"
            say(f"The service {state}, and `daemon.enabled = false`: no prompt starts it, each opens the index anew.")
        elif status["hung_pid"]:
            say(f"The service does not answer (process {status['hung_pid']}): the next prompt replaces it.")
        elif status.get("stopped"):
            say("The service was stopped; the next prompt of an agent starts it again.")
        else:
            say("The service does not run; the next prompt of an agent starts it.")
        return
    memory = f", {status['rss_bytes'] / 1e6:.0f} MB" if status["rss_bytes"] else ""
    answers = amount(status["answers"], "answer")
    say(f"The service runs (process {status['pid']}, {status['uptime_s']:.0f} s{memory}, {answers}).")
    http: dict[str, Any] = status.get("http") or {}
    if http.get("port") or http.get("error"):
        where = f"on port {http['port']} of 127.0.0.1" if http["port"] else f"not answered: {http['error']}"
        say(f"  HTTP {where}")
    for project in status["projects"]:
        state = ["watched" if project["is_watched"] else "not watched"]
        if project["is_building"]:
            state.append("indexing")
        say(f"  {project['root']}: {amount(project['sessions'], 'session')}, {', '.join(state)}")
        if project["watch_problem"]:
            say(f"    changes are looked for at prompts, for {project['watch_problem']}")
