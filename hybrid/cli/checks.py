"""Checks of what lies around this program, for `hybrid doctor`: the service, hooks in every client, their command."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hybrid import __version__
from hybrid.health.doctor import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid.hooks.install.client import Places
    from hybrid.hooks.install.foreign import Foreign
    from hybrid.hooks.install.found import Install
    from hybrid.workspace import Workspace

_PING_S = 1.0
_SLOW_PING_MS = 250
_LOG_BYTES = 2_000_000
_ENABLE = "hybrid config set daemon.enabled true"


def places_of(workspace: Workspace) -> Places:
    """Where the settings of clients are looked for."""
    from hybrid.hooks.install.client import Places

    return Places(Path.home(), workspace.project.root if workspace.project else None, os.environ)


def installs_of(workspace: Workspace, client: str | None) -> list[Install]:
    """Where hybrid is registered, in one client or in all."""
    from hybrid.hooks.install.found import find_installs

    places = places_of(workspace)
    found = find_installs(places.user_home, places.project_root, places.environ)
    return [install for install in found if client in (None, install.client)]


def foreign_of(workspace: Workspace, client: str | None) -> list[Foreign]:
    """Hooks of the systems that hybrid replaces."""
    from hybrid.hooks.install.foreign import find_foreign

    return [found for found in find_foreign(places_of(workspace)) if client in (None, found.client)]


def check_service(workspace: Workspace) -> Iterator[Finding]:
    """Return whether the service answers. That none runs is normal: the next prompt starts it."""
    from hybrid.ipc.control import ask
    from hybrid.ipc.endpoint import endpoint_path, read_endpoint

    home = str(workspace.home)
    if not workspace.config.daemon.enabled:
        yield Finding("warning", "service", "switched off: each prompt opens the index anew", _ENABLE)
        return
    endpoint = read_endpoint(home)
    if endpoint is None:
        yield Finding("ok", "service", "not running; the next prompt starts it")
        return
    started_s = time.perf_counter()
    answer = ask(home, "status", timeout_s=_PING_S)
    if answer is None:
        what = f"{endpoint_path(home)} names process {endpoint.get('pid')}, which does not answer"
        yield Finding("warning", "service", what, "hybrid daemon start replaces it, as the next prompt does")
        return
    yield _answered(answer.get("version"), answer.get("pid"), (time.perf_counter() - started_s) * 1000)
    yield from build_findings(answer.get("projects"))
    yield from _socket_rights(endpoint.get("socket"))


def check_hooks(workspace: Workspace, client: str | None) -> Iterator[Finding]:
    """Where hooks of ours and of the systems we replace are registered, and what stands in their way."""
    from hybrid.hooks.install.found import doubled, switched_off, unreadable

    installs = installs_of(workspace, client)
    callers = _callers(workspace)
    for install in installs:
        yield _installed(install, install.client in callers)
    if not installs:
        which = client or "claude"
        yield Finding("warning", "hooks", "no client calls hybrid", f"hybrid hook install --client {which}")
    for double in doubled(installs):
        yield Finding("problem", "hooks", double.what, double.remedy)
    if any(install.client == "claude" for install in installs):
        for path, member in switched_off(places_of(workspace)):
            what = f"`{member}` in {path} switches off the hooks of Claude Code"
            yield Finding("problem", "hooks", what, f"take `{member}` out of that file")
    for what in unreadable(places_of(workspace)):
        yield Finding("warning", "hooks", what, "mend the file: its client reads no hook of it either")
    for found in foreign_of(workspace, client):
        yield Finding("warning", "hooks", f"also adds to prompts: {found}", "hybrid doctor --fix-foreign")


def check_command(installs: Sequence[Install]) -> Iterator[Finding]:
    """Run what the hooks run: this installation's own command, and `hybrid` on the PATH where a hook calls that."""
    from hybrid.cli.trial import try_commands
    from hybrid.ipc.start import start_command

    commands = [start_command("hook", "run")]
    on_path = shutil.which("hybrid")
    if on_path is not None and any(install.program == "hybrid" for install in installs):
        commands.append([on_path, "hook", "run"])
    yield from try_commands(commands, os.environ)


def _answered(version: object, pid: object, took_ms: float) -> Finding:
    what = f"version {version}, process {pid}, answers in {took_ms:.0f} ms"
    if version != __version__:
        return Finding("warning", "service", f"{what}; this is version {__version__}", "hybrid daemon stop")
    if took_ms > _SLOW_PING_MS:
        return Finding("warning", "service", what, "is the machine busy? otherwise: hybrid daemon stop")
    return Finding("ok", "service", what)


def build_findings(projects: object) -> Iterator[Finding]:
    """Projects whose last build in the background failed."""
    for project in cast("list[dict[str, Any]]", projects if isinstance(projects, list) else []):
        build = cast("dict[str, Any]", project.get("last_build") or {})
        if build.get("state") == "failed":
            what = f"the last build of {project.get('root')} in the background failed: {build.get('reason')}"
            yield Finding("problem", "service", what, f"hybrid reindex --project '{project.get('root')}' shows why")


def _socket_rights(socket: object) -> Iterator[Finding]:
    if not isinstance(socket, str) or sys.platform == "win32":
        return
    folder = Path(socket).parent
    status = folder.stat()
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        yield Finding("problem", "service", f"others may reach the socket in {folder}", f"chmod 700 '{folder}'")


def _callers(workspace: Workspace) -> set[object]:
    """Clients that the end of the event log knows."""
    from hybrid.feedback.events import log_folder, newest_events

    return {event.get("client") for event in newest_events(log_folder(workspace.home), max_bytes=_LOG_BYTES)}


def _installed(install: Install, has_called: bool) -> Finding:
    """One registration: does what it calls exist, is it this installation, and has the client ever called?"""
    what = f"{install.client} ({install.scope}) in {install.path}: {', '.join(install.events)}"
    again = f"hybrid hook install --client {install.client} --scope {install.scope}"
    if install.scope in ("config", "managed"):
        again = f"mend it in {install.path} by hand"
    if not install.is_runnable and install.program == "hybrid":
        # The form that colleagues share; it is silent where hybrid is missing, so nothing breaks.
        return Finding(
            "warning", "hooks", f"{what}; hybrid is not on the PATH", "uv tool install, or pipx install, hybrid"
        )
    if not install.is_runnable:
        return Finding("problem", "hooks", f"{what}; {install.program} is not there", again)
    if install.program not in ("hybrid", sys.executable):
        return Finding("warning", "hooks", f"{what}; calls another installation, {install.program}", again)
    if install.outdated:
        return Finding("warning", "hooks", f"{what}; {install.outdated}", install.renewal)
    if has_called:
        return Finding("ok", "hooks", what)
    if install.client == "codex":
        return Finding("warning", "hooks", f"{what}; never called yet", "approve the hooks in Codex: type /hooks")
    return Finding("ok", "hooks", f"{what}; never called yet")
