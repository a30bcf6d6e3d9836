"""`hybrid daemon`: the service that answers agents; it starts and stops by itself, these commands are for people."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import print_json, say
from hybrid.home import home_path
from hybrid.resources import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

_WAIT_S = 10.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    parser.epilog = "example:\n  hybrid daemon status"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, about in (
        ("start", "start the service, unless it runs"),
        ("stop", "stop it"),
        ("status", "is it running, with how much memory, for which projects"),
        ("run", "be the service, in the foreground"),
        ("schema", "the JSON schema of what it answers over HTTP"),
    ):
        action = actions.add_parser(name, help=about, description=about, epilog=f"example:\n  hybrid daemon {name}")
        action.formatter_class = argparse.RawDescriptionHelpFormatter
        action.add_argument("--json", action="store_true", help="print one JSON object")
        action.add_argument("-q", "--quiet", action="store_true", help="print nothing")
        action.add_argument("--debug", action="store_true", help="show where an internal error happened")
        if name in ("start", "run"):
            action.add_argument("--project", metavar="DIR", default="", help="a project to look after first")
        if name == "run":
            action.add_argument("--marked", action="store_true", help=argparse.SUPPRESS)
            action.add_argument("--tcp", action="store_true", help="listen on a port of loopback, not on a Unix socket")


def run(args: argparse.Namespace) -> int:
    """Run it; exit code 1 when no service runs."""
    home = Path(home_path(os.environ))
    if args.action == "schema":
        sys.stdout.write(shipped("index", "schema", "http.json").read_text(encoding="utf-8"))
        return 0
    if args.action == "run":
        return _run(args, home)
    if args.action == "start":
        found = _start(args, home)
    elif args.action == "stop":
        found = _stop(home)
    else:
        found = _status(home)
    if args.json:
        print_json(found)
    elif not args.quiet:
        _show(found)
    return 0 if found["running"] == (args.action != "stop") else 1


def _run(args: argparse.Namespace, home: Path) -> int:
    from hybrid.daemon.lifecycle import detach_from_caller, run_service

    project = str(Path(args.project).absolute()) if args.project else ""
    if not sys.stdin.isatty():
        detach_from_caller()
    return run_service(home, os.environ, project=project, is_tcp=args.tcp, is_marked=args.marked)


def _start(args: argparse.Namespace, home: Path) -> dict[str, Any]:
    from hybrid.errors import HybridError
    from hybrid.ipc.start import start_service

    until_s = time.monotonic() + _WAIT_S
    project = str(Path(args.project).absolute()) if args.project else ""
    while not (found := _status(home))["running"]:
        start_service(str(home), os.environ, cwd=project)
        if time.monotonic() > until_s:
            raise HybridError(f"the service did not start within {_WAIT_S:g} s; `hybrid daemon run` shows why")
        time.sleep(0.05)
    return found


def _stop(home: Path) -> dict[str, Any]:
    from hybrid.daemon.lifecycle import end_service, wait_for_end
    from hybrid.errors import HybridError
    from hybrid.ipc.control import stop

    before = _status(home)
    was_there = before["running"] or before["hung_pid"] is not None
    pid = int(before["pid"] or before.get("hung_pid") or 0)
    stop(str(home), timeout_s=_WAIT_S)
    if not (end_service(home) and wait_for_end(pid, _WAIT_S)):
        raise HybridError("the service does not end; `run/daemon.pid` in `HYBRID_HOME` names its process")
    return _status(home) | {"stopped": was_there}


def _status(home: Path) -> dict[str, Any]:
    from hybrid.daemon.lifecycle import hung_process
    from hybrid.ipc.control import daemon_status

    found = daemon_status(str(home))
    return found if found["running"] else found | {"hung_pid": hung_process(home)}


def _show(found: Mapping[str, Any]) -> None:
    if not found["running"]:
        if found["hung_pid"]:
            say(f"The service does not answer (process {found['hung_pid']}): the next prompt replaces it.")
        elif found.get("stopped"):
            say("The service was stopped; the next prompt of an agent starts it again.")
        else:
            say("The service does not run; the next prompt of an agent starts it.")
        return
    memory = f", {found['rss_bytes'] / 1e6:.0f} MB" if found["rss_bytes"] else ""
    say(f"The service runs (process {found['pid']}, {found['uptime_s']:.0f} s{memory}, {found['answers']} answers).")
    http: dict[str, Any] = found.get("http") or {}
    if http.get("port") or http.get("error"):
        where = f"on port {http['port']} of 127.0.0.1" if http["port"] else f"not answered: {http['error']}"
        say(f"  HTTP {where}")
    for project in found["projects"]:
        state = ["watched" if project["is_watched"] else "not watched"]
        if project["is_building"]:
            state.append("indexing")
        say(f"  {project['root']}: {project['sessions']} sessions, {', '.join(state)}")
