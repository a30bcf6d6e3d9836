"""The reports on a project: its status, and doctor's checks of all that must be right for an agent to be answered.

They look at the service from outside, as a person would, so they run where they are asked for: in the process of a
command or of the page. `hybrid.health` checks what is below the program; here are the checks of the service, of the
hooks of every client, and of the command that they call.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from msgspec import Struct
from msgspec.structs import asdict

from hybrid import __version__
from hybrid.base.clients import clients
from hybrid.base.lasting import how_to_add
from hybrid.health.doctor import (
    Finding,
    check_all,
    check_memory,
    check_own_texts,
    check_records,
    check_waiting,
    guarded,
    renumber_twins,
    repair_rights,
)
from hybrid.health.explaining import typeset
from hybrid.health.status import indexed_in_words, left_out_in_words, refusals
from hybrid.health.status import status as make_status
from hybrid.log import outcomes
from hybrid.operations.asking import OperationError, Outcome, operation
from hybrid.operations.types import Arguments, Nothing, option
from hybrid.render.numbers import amount, build_in_words, local_time, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid.hooks.install.found import Foreign, Install
    from hybrid.hooks.install.parts import SettingsRoots
    from hybrid.operations.asking import Asking
    from hybrid.workspace import Workspace


@operation("status", "how the project's index, gate and hooks are", "--json", is_tolerant=True)
def status(asking: Asking, wanted: Nothing) -> Outcome:
    """Return the state of a project."""
    figures = status_of(asking.workspace)
    told = rows_of(figures)
    return Outcome("\n".join(f"{label}: {text}" for label, text in told), data=figures, found=told)


class Doctor(Arguments, frozen=True):
    """The clients that are looked at, and what is mended before."""

    client: Annotated[str, option("look at the hooks of this client only", "NAME")] = ""
    fix: Annotated[
        bool,
        option(
            "take the rights of others from hybrid's own files, and give the newer of two lessons with one id a new one"
        ),
    ] = False
    fix_foreign: Annotated[bool, option("switch off hooks of systems that hybrid replaces; copies are kept")] = False
    no_trial: Annotated[bool, option("do not run the hook's command on a sample prompt")] = False
    quiet: bool = False


@operation(
    "doctor",
    "check installation, hooks, service, index, model and rights, with a remedy for each finding",
    "--client claude",
    is_writing=True,
    is_tolerant=True,
)
def doctor(asking: Asking, wanted: Doctor) -> Outcome:
    """Return every finding, after mending what was asked for; not found when one of them is a problem.

    Raises:
        OperationError: There is no such client.
    """
    if wanted.client and wanted.client not in clients():
        raise OperationError(f"{wanted.client!r} is no client; hybrid knows {', '.join(clients())}")
    mended, lines, findings = _mended(asking.workspace, wanted), list[str](), list[Finding]()
    for finding in findings_of(asking.workspace, wanted.client or None, has_trial=not wanted.no_trial):
        findings.append(finding)
        if not (wanted.quiet and finding.level == "ok"):
            (asking.tell or lines.append)(line_of(finding))
    n_problems, n_warnings = (sum(each.level == level for each in findings) for level in ("problem", "warning"))
    forms = [asdict(finding) | {"remedy": finding.remedy or None} for finding in findings]
    data = {"findings": forms, "problems": n_problems, "warnings": n_warnings, "fixed": mended}
    if not wanted.quiet:
        lines += [f"fixed    {line}" for line in mended]
        counts = f"{amount(n_problems, 'problem')}, {amount(n_warnings, 'warning')}."
        lines.append(counts if n_problems or n_warnings else _WELL)
    return Outcome("\n".join(lines), data=data, is_found=not n_problems)


_WELL = "All is well."
_MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def line_of(finding: Finding) -> str:
    """Return a finding in one line, and its remedy in a second one."""
    line = f"{_MARKS[finding.level]}  {finding.area:<9}{finding.what}"
    return f"{line}\n{'':<18}→ {finding.remedy}" if finding.remedy else line


def _mended(workspace: Workspace, wanted: Doctor) -> list[str]:
    """Mend what was asked for; returns what was done, a line each."""
    lines: list[str] = []
    if wanted.fix and (count := repair_rights(workspace.home)):
        taken = amount(count, "file or folder", "files or folders")
        lines.append(f"took the rights of others from {taken} in {workspace.home}")
    if wanted.fix:
        lines += renumber_twins(workspace)
    foreign = foreign_of(workspace, wanted.client or None) if wanted.fix_foreign else []
    if foreign:
        from hybrid.hooks.install.found import switch_off

        copies = switch_off(foreign, roots=settings_roots(workspace), home=workspace.home)
        lines += [f"switched off {hook}" for hook in foreign]
        lines += [f"hybrid hook uninstall puts that back; a copy from before: {copy}" for copy in copies]
    return lines


def status_of(workspace: Workspace) -> dict[str, Any]:
    """Return the state of a project, with the places where settings of clients call us."""
    return make_status(workspace, installed=installed(workspace))


def installed(workspace: Workspace) -> dict[str, Any]:
    """Return client → the places where its settings call us, as a part of the status."""
    from hybrid.hooks.install.found import find_installs, installed_part

    return installed_part(find_installs(settings_roots(workspace)))


def findings_of(workspace: Workspace, client: str | None = None, *, has_trial: bool) -> Iterator[Finding]:
    """Yield every finding on a project, in the order in which doctor looks.

    Args:
        workspace: The workspace of the project.
        client: Look at the hooks of this client alone; None for those of all.
        has_trial: Run the hook's command on a sample prompt.
    """
    yield from check_all(workspace, os.environ)
    yield from guarded("records", lambda: check_records(workspace, os.environ))
    yield from guarded("memory", lambda: check_memory(workspace))
    yield from guarded("memory", lambda: check_waiting(workspace))
    yield from guarded("secrets", lambda: check_own_texts(workspace, os.environ))
    yield from guarded("service", lambda: check_service(workspace))
    yield from guarded("hooks", lambda: check_hooks(workspace, client))
    if has_trial:
        yield from guarded("trial", lambda: check_command(installs_of(workspace, client)))


# --- the status in words ----------------------------------------------------------------------------------


def _inner(index: dict[str, Any]) -> str:
    """Return in words which repositories inside are part of the index, and which are left out."""
    parts = [indexed_in_words(index["inner_repositories"]), left_out_in_words(index["inner_left_out"])]
    return "; left out: ".join(parts) if all(parts) else parts[0] or f"left out: {parts[1]}"


def _team(team: dict[str, Any]) -> str:
    held = f"commit {team['commit'][:12]}, {amount(team['files'], 'file')}" if team["commit"] else "none was found yet"
    if team["problem"]:
        return f"{held}; {team['uri']} is not asked since {local_time(team['down_since'])}: {team['problem']}"
    return f"{held}, at {team['uri']}"


def rows_of(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the status as (label, text) for people."""
    project, index, gate, hooks, health = (figures[key] for key in ("project", "index", "gate", "hooks", "health"))
    use = figures["use"]
    latency = health["latency_ms"]["p50"]
    decided = local_time(health["last_success"] or "none")
    indexed = f"{amount(index['documents'], 'document')}, {amount(index['chunks'], 'chunk')}"
    is_searched = index["chunks"] or index["stands_in"] or index["team"]
    shown = [
        ("Project", f"{project['name']} ({project['root']})"),
        *(((f"Last {use['days']} days", outcomes.in_words(use["total"])),) if use["by_day"] else ()),
        ("Index", f"{index['state']}: {'another index answers' if index['stands_in'] else indexed}"),
        *((("Building", build_in_words(index["progress"])),) if index["progress"] else ()),
        ("Size", f"{index['size_bytes'] / 1e6:.1f} MB"),
        ("Last built", local_time(index["last_built_at"] or "never: run `hybrid reindex`")),
        ("Stale documents", str(index["stale_documents"])),
        *((("Inner repositories", _inner(index)),) if index["inner_repositories"] or index["inner_left_out"] else ()),
        *(("Git", f"{what}; {remedy}") for what, remedy in refusals(index["git_refused"], Path(project["root"]))),
        ("Languages", ", ".join(f"{name} {count}" for name, count in list(index["languages"].items())[:8]) or "–"),
        ("Model", _model(figures["model"])),
        *((("Team's index", _team(index["team"])),) if index["team"] else ()),
        *((("Re-embedding", _reembedding(index, figures["model"])),) if index["reembedding"] else ()),
        ("Gate", _gate(gate) if is_searched else "closed: nothing is indexed"),
        ("Injections", f"{hooks['injection_count']}, last {local_time(hooks['last_injection_time'] or 'never')}"),
        ("Records", _records(figures["records"])),
        ("Memory", _memory(figures["memory"])),
        ("Last decision", f"{decided}, median {latency:.0f} ms" if latency else "none"),
        *(("Paused", _paused(pause)) for pause in figures["paused"]),
        *(("Not watched", problem) for problem in _unwatched(figures["daemon"], project["root"])),
    ]
    if index["error"]:
        shown.append(("Index error", index["error"]))
    if health["last_error"]:
        error, n = health["last_error"], health["consecutive_failures"]
        shown.append(("Last error", f"{local_time(error['at'])}: {error['message']} ({n} in a row)"))
    shown += [("Settings", problem) for problem in figures["config_problems"]]
    if figures["config_waiting"]:
        shown.append(("Settings", f"wait for `hybrid trust`: {', '.join(figures['config_waiting'])}"))
    set_aside = [*index["set_aside"], *hooks["set_aside"]]
    if set_aside:
        shown.append(("Set aside", ", ".join(set_aside)))
    return shown


def _unwatched(daemon: dict[str, Any], root: str) -> list[str]:
    """Return why the service does not watch this project, if it should."""
    known = (one for one in daemon.get("projects", ()) if one["root"] == root)
    return [one["watch_problem"] for one in known if one.get("watch_problem")]


def _model(model: dict[str, Any]) -> str:
    """Return in words the model of the settings, or why it cannot be used."""
    return f"cannot be used: {model['error']}" if model["error"] else f"{model['name']}, {model['dim']} dimensions"


def _reembedding(index: dict[str, Any], model: dict[str, Any]) -> str:
    """Return in words how far the embedding with another model is, and what answers until it is whole."""
    told = index["reembedding"]
    answers = (
        f"{told['answers']} answers until it is whole"
        if told["answers"]
        else f"{told['from']} is gone: no prompt is answered until it is whole, and `hybrid search` finds by words"
    )
    if model["error"]:
        return f"from {told['from']} to {told['to']} once that model is there; {answers}"
    begun = "" if index["state"] == "building" else "; the service does it at the next event, `hybrid reindex` at once"
    return f"from {told['from']} to {told['to']}, {_percent(told['share'])} done; {answers}{begun}"


def _paused(pause: dict[str, Any]) -> str:
    """Return in words the pause's scope and name, and until when it lasts."""
    what = f"{pause['scope']} {pause['name'] or ''}".rstrip()
    return f"{what}, until `hybrid resume`" if pause["is_endless"] else f"{what}, until {pause['until']}"


def _records(records: dict[str, Any]) -> str:
    """Return in words what agents may get, what is switched off, what waits to be accepted, and how much to mend."""
    from hybrid.knowledge.stores import in_words

    lessons, lore = records["lessons"], records["lore"]
    counts = in_words({"lessons": lessons["project"] + lessons["system"], **lore})
    verbs = {"lessons": "are", "lore": "is"}
    off = [f"{name} {verb} switched off" for name, verb in verbs.items() if not records[name]["enabled"]]
    waiting = in_words(records["waiting"] or {})
    parts = [counts or "none", *off]
    reader = records["reader"]
    if counts and reader["model"] and not {"lessons", "lore"}.intersection(reader["read"]):
        parts.append(f"judged without a reader: {reader['problem']}" if reader["problem"] else "not read yet")
    if waiting:
        parts.append(f"{waiting} in the tree not accepted: `hybrid trust`")
    if records["problems"]:
        parts.append(f"{records['problems']} to mend: `hybrid doctor`")
    return "; ".join(parts)


def _memory(memory: dict[str, Any]) -> str:
    """Return in words the counts and size of the memory, and its problems."""
    from hybrid.knowledge.stores import rows_in_words

    n = memory["sessions"]
    counted = f"{rows_in_words(memory['observations'], memory['summaries'])} of {amount(n, 'session')}"
    parts = [counted if memory["sessions"] else "none yet"]
    if memory["size_bytes"]:
        parts.append(f"{memory['size_bytes'] / 1e6:.1f} MB")
    if not memory["enabled"]:
        parts.append("switched off")
    elif not memory["capture"]:
        parts.append("nothing new is kept")
    return "; ".join([*parts, *memory["problems"]])


def _gate(gate: dict[str, Any]) -> str:
    """Return in words both bars of a calibrated index, else the one threshold in force."""
    bars, allowed, expected = gate["thresholds"], gate["allowed_rates"], gate["expected_rates"]
    if bars is None:
        return _without_bars(gate["threshold"], gate["source"])
    return (
        f"opens above {_bar(bars['tasks'])} (tasks), {_bar(bars['talk'])} (talk); {gate['source']}, "
        f"{gate['background_prompts']} background prompts: at most {_percent(allowed['talk'])} of talk, "
        f"{_percent(allowed['tasks'])} of other projects' tasks; expected {_percent(expected['talk'])} and "
        f"{_percent(expected['tasks'])}"
    )


def _without_bars(threshold: float | None, source: str) -> str:
    """Return in words the threshold on the raw top cosine, of a setting or in place of bars that an index lacks."""
    if source != "auto":
        return f"opens from a raw top cosine of {threshold} ({source})"
    if threshold is None:
        return "closed: not calibrated: run `hybrid reindex`; nobody measured a threshold for this model"
    return f"not calibrated: run `hybrid reindex`; until then it opens from a raw top cosine of {threshold} ({source})"


def _bar(value: float | None) -> str:
    return "always" if value is None else typeset(number(value))


def _percent(rate: float) -> str:
    return f"{round(rate * 100, 1):g} %"


# --- a trial of the hook's command ------------------------------------------------------------------------


_TIMEOUT_S = 30
_SLOW_MS = 2_000
_PROMPT = "How does the payment client retry a request after a timeout?"
_SAMPLE = """\
# Payment client

The payment client sends charges to the provider.

## Retry after a timeout

The payment client sends a request again after a timeout, at most five times. It waits twice as long before each retry.
"""
_KEPT = "HYBRID_HOOKS_DEADLINE_MS"


class Ran(Struct, frozen=True):
    """The outcome of a command.

    Attributes:
        code: Exit code; None when it did not end in time.
        out: Standard output.
        err: Standard error.
        took_ms: Milliseconds from start to end of the process.
    """

    code: int | None
    out: bytes
    err: bytes
    took_ms: float


def try_commands(commands: Sequence[Sequence[str]], environ: Mapping[str, str]) -> Iterator[Finding]:
    """Run each command on the sample event and judge it.

    Args:
        commands: Argument lists, without `--client` and `--event`: those of Claude Code's prompt event are added.
        environ: Environment variables; those of hybrid and of the calling client are left out.

    Raises:
        HybridError: The sample project cannot be indexed.
        OSError: No temporary files can be made.
    """
    with tempfile.TemporaryDirectory(prefix="hybrid-doctor-", ignore_cleanup_errors=True) as name:
        project = _sample_project(Path(name))
        settings = _environment(environ, Path(name) / "home")
        event = {"session_id": "hybrid-doctor", "cwd": str(project), "hook_event_name": "UserPromptSubmit"}
        for command in commands:
            full = [*command, "--client", "claude", "--event", "UserPromptSubmit"]
            ran = _run(full, json.dumps(event | {"prompt": _PROMPT}).encode(), settings, project)
            yield judge(" ".join(command), ran)


def judge(command: str, ran: Ran) -> Finding:
    """Judge a run: a problem unless it ends with 0, says nothing on standard error and gives one JSON answer.

    Silence, and an answer after more than two seconds, are warnings.
    """
    what = f"`{command}` on a sample prompt"
    remedy = "hybrid hook install --client NAME again; or report it with the output of `hybrid doctor --json`"
    if ran.code is None:
        return Finding("problem", "trial", f"{what} did not end within {_TIMEOUT_S} s", remedy)
    if ran.code != 0:
        return Finding("problem", "trial", f"{what} ended with code {ran.code}: {_last_line(ran.err)}", remedy)
    if ran.err.strip():
        return Finding("problem", "trial", f"{what} wrote to standard error: {_last_line(ran.err)}", remedy)
    if not ran.out.strip():
        slow = "hybrid config set hooks.deadline_ms 3000 gives it more time; the service answers faster"
        return Finding("warning", "trial", f"{what} stayed silent after {ran.took_ms:.0f} ms", slow)
    if not _is_answer(ran.out):
        return Finding("problem", "trial", f"{what} printed something else than one JSON answer", remedy)
    if ran.took_ms > _SLOW_MS:
        return Finding("warning", "trial", f"{what} took {ran.took_ms:.0f} ms", "hybrid daemon start")
    return Finding("ok", "trial", f"{what} answered in {ran.took_ms:.0f} ms, without the service")


def _is_answer(out: bytes) -> bool:
    try:
        value: object = json.loads(out)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    answer = cast("dict[str, Any]", value).get("hookSpecificOutput")
    return isinstance(answer, dict) and bool(cast("dict[str, Any]", answer).get("additionalContext"))


def _last_line(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1][:200]


def _sample_project(folder: Path) -> Path:
    from hybrid.upkeep.indexing import reindex
    from hybrid.workspace import open_workspace

    project = folder / "sample"
    (project / ".hybrid").mkdir(parents=True)
    (project / "payments.md").write_text(_SAMPLE, encoding="utf-8")
    environ = {"HYBRID_HOME": str(folder / "home")}
    reindex(open_workspace(project, environ=environ, user_home=folder / "user"))
    return project


def _environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    # The trial names its client itself.
    marks = {client.mark for client in clients().values()}
    kept = {
        name: value
        for name, value in environ.items()
        if (not name.startswith("HYBRID_") or name == _KEPT) and name not in marks
    }
    return kept | {"HYBRID_HOME": str(home), "HYBRID_DAEMON_ENABLED": "false", "HYBRID_INDEX_AUTO": "false"}


def _run(command: Sequence[str], stdin: bytes, environ: Mapping[str, str], cwd: Path) -> Ran:
    started_s = time.perf_counter()
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environ, cwd=cwd, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Ran(None, b"", b"", _TIMEOUT_S * 1000.0)
    except OSError as error:
        return Ran(127, b"", os.fsencode(str(error)), 0.0)
    return Ran(done.returncode, done.stdout, done.stderr, (time.perf_counter() - started_s) * 1000)


# --- service and hooks ------------------------------------------------------------------------------------


_PING_S = 1.0
_SLOW_PING_MS = 250
_LOG_BYTES = 2_000_000
_ENABLE = "hybrid config set daemon.enabled true"


def settings_roots(workspace: Workspace) -> SettingsRoots:
    """Return the folders below which settings of clients lie."""
    from hybrid.hooks.install.parts import SettingsRoots

    return SettingsRoots(Path.home(), workspace.project.root if workspace.project else None, os.environ)


def installs_of(workspace: Workspace, client: str | None) -> list[Install]:
    """Return the places in which hybrid is registered, for one client, or for all when the client is None."""
    from hybrid.hooks.install.found import find_installs

    installs = find_installs(settings_roots(workspace))
    return [install for install in installs if client in (None, install.client)]


def foreign_of(workspace: Workspace, client: str | None) -> list[Foreign]:
    """Return the hooks of systems that hybrid replaces, for one client, or for all when the client is None."""
    from hybrid.hooks.install.found import find_foreign

    return [hook for hook in find_foreign(settings_roots(workspace)) if client in (None, hook.client)]


def check_service(workspace: Workspace) -> Iterator[Finding]:
    """Report whether the service answers. That none runs is normal: the next prompt starts it."""
    from hybrid.ipc.start import ask
    from hybrid.ipc.wire import endpoint_path, read_endpoint

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
    yield _service_answered(answer.get("version"), answer.get("pid"), (time.perf_counter() - started_s) * 1000)
    yield from build_findings(answer.get("projects"))
    yield from _socket_rights(endpoint.get("socket"))


def check_hooks(workspace: Workspace, client: str | None) -> Iterator[Finding]:
    """Report hooks of ours and of the systems we replace, and what stands in their way."""
    from hybrid.hooks.install.found import doubled, switched_off, unreadable

    installs = installs_of(workspace, client)
    callers = _callers(workspace)
    for install in installs:
        yield _installed(install, install.client in callers)
    if not installs:
        which = client or "claude"
        yield Finding("warning", "hooks", "no client calls hybrid", f"hybrid hook install --client {which}")
    if any(install.kind == "mcp" for install in installs) and find_spec("mcp") is None:
        what = "the MCP server is registered, and the package that it needs is not installed: it does not start"
        command = how_to_add("mcp")
        yield Finding(
            "problem", "hooks", what, f"install the extra `mcp` with `{command}`, or `hybrid hook uninstall --mcp`"
        )
    for double in doubled(installs):
        yield Finding("problem", "hooks", double.what, double.remedy)
    yield from _unseen_failures(installs)
    if any(install.client == "claude" for install in installs):
        for path, member in switched_off(settings_roots(workspace)):
            what = f"`{member}` in {path} switches off the hooks of Claude Code"
            yield Finding("problem", "hooks", what, f"take `{member}` out of that file")
    for what in unreadable(settings_roots(workspace)):
        yield Finding("warning", "hooks", what, "mend the file: its client reads no hook of it either")
    for hook in foreign_of(workspace, client):
        yield Finding("warning", "hooks", f"also adds to prompts: {hook}", "hybrid doctor --fix-foreign")


def _unseen_failures(installs: Sequence[Install]) -> Iterator[Finding]:
    """Yield the clients whose hooks do not tell that a command failed, so that nothing is learned of it."""
    told = [(each.client, event) for each in installs for event in each.events]
    for name in dict.fromkeys(name for name, _ in told):
        failed = clients()[name].at_tool.failed
        # Files that others share go without it: an older version of Claude Code drops all hooks of a file for it.
        again = f"`hybrid hook install --client {name}` registers it in your own files for a version that knows it"
        if failed and (name, failed) not in told:
            what = f"{name}: failed commands are not seen: {failed} is not registered; {again}"
            yield Finding("ok", "hooks", what)


def check_command(installs: Sequence[Install]) -> Iterator[Finding]:
    """Run what the hooks run: this installation's own command, and `hybrid` on the PATH where a hook calls that."""
    from hybrid.ipc.start import start_command

    commands = [start_command("hook", "run")]
    on_path = shutil.which("hybrid")
    if on_path is not None and any(each.program == "hybrid" and each.kind == "hooks" for each in installs):
        commands.append([on_path, "hook", "run"])
    yield from try_commands(commands, os.environ)


def _service_answered(version: object, pid: object, took_ms: float) -> Finding:
    what = f"version {version}, process {pid}, answers in {took_ms:.0f} ms"
    if version != __version__:
        return Finding("warning", "service", f"{what}; this is version {__version__}", "hybrid daemon stop")
    if took_ms > _SLOW_PING_MS:
        return Finding("warning", "service", what, "is the machine busy? otherwise: hybrid daemon stop")
    return Finding("ok", "service", what)


def build_findings(projects: object) -> Iterator[Finding]:
    """Yield the projects whose last build in the background failed, and those that are not watched."""
    for project in cast("list[dict[str, Any]]", projects if isinstance(projects, list) else []):
        build = cast("dict[str, Any]", project.get("last_build") or {})
        if build.get("state") == "failed":
            what = f"the last build of {project.get('root')} in the background failed: {build.get('reason')}"
            yield Finding("problem", "service", what, f"hybrid reindex --project '{project.get('root')}' shows why")
        if project.get("watch_problem"):
            what = f"{project.get('root')} is not watched: {project['watch_problem']}"
            yield Finding("warning", "service", what, "until then changes are looked for at prompts, every 30 s")


def _socket_rights(socket: object) -> Iterator[Finding]:
    if not isinstance(socket, str) or sys.platform == "win32":
        return
    folder = Path(socket).parent
    status = folder.stat()
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        yield Finding("problem", "service", f"others may reach the socket in {folder}", f"chmod 700 '{folder}'")


def _callers(workspace: Workspace) -> set[object]:
    """Return the names of the clients that called, by the events at the end of the log."""
    from hybrid.log.events import log_folder, newest_events

    return {event.get("client") for event in newest_events(log_folder(workspace.home), max_bytes=_LOG_BYTES)}


def _installed(install: Install, has_called: bool) -> Finding:
    """Judge one registration: its program exists, is this installation and up to date, and the client has called it."""
    what = f"{install.client} ({install.scope}) in {install.path}: {install.part}"
    again = f"hybrid hook install --client {install.client} --scope {install.scope}"
    if install.kind != "hooks" or install.scope in ("config", "managed"):
        again = install.renewal
    if not install.is_runnable and install.program == "hybrid":
        # The form that colleagues share; it is silent where hybrid is missing, so nothing breaks.
        remedy = "uv tool install, or pipx install, hybrid"
        return Finding("warning", "hooks", f"{what}; hybrid is not on the PATH", remedy)
    if not install.is_runnable:
        return Finding("problem", "hooks", f"{what}; {install.missing} is not there", again)
    if install.program not in ("", "hybrid", sys.executable):
        return Finding("warning", "hooks", f"{what}; calls another installation, {install.program}", again)
    if install.outdated:
        return Finding("warning", "hooks", f"{what}; {install.outdated}", install.renewal)
    if has_called or install.kind != "hooks":
        return Finding("ok", "hooks", what)
    client = clients()[install.client]
    if client.hooks and client.hooks.approve:
        remedy = f"approve the hooks in {client.label}: type {client.hooks.approve}"
        return Finding("warning", "hooks", f"{what}; never called yet", remedy)
    return Finding("ok", "hooks", f"{what}; never called yet")
