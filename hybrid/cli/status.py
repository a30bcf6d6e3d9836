"""`hybrid status` and `hybrid doctor`: how it is here, and what is wrong with it, each finding with its remedy.

The status is JSON with `--json` or when standard output is not a terminal, a table otherwise.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from hybrid.cli.common import add_common, print_json, print_table, say, workspace_of
from hybrid.health.doctor import renumber_twins, repair_rights
from hybrid.health.explaining import typeset
from hybrid.health.status import indexed_in_words, left_out_in_words, refusals
from hybrid.operations.doctor import findings_of, foreign_of, settings_roots, status_of
from hybrid.render.numbers import amount, build_in_words, local_time, number

if TYPE_CHECKING:
    from hybrid.health.doctor import Finding
    from hybrid.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid status --json")
    parser.add_argument("--table", action="store_true", help="print the table in a pipe too")


def run(args: argparse.Namespace) -> int:
    """Print the state of the project, as JSON or as a table; returns 0."""
    # A mistake in a settings file is part of the status, not a reason to give none.
    figures = status_of(workspace_of(args, is_strict=False))
    if args.json or not (sys.stdout.isatty() or args.table):
        print_json(figures)
    else:
        print_table(rows(figures))
    return 0


def _inner(index: dict[str, Any]) -> str:
    """Return in words which repositories inside are part of the index, and which are left out."""
    parts = [indexed_in_words(index["inner_repositories"]), left_out_in_words(index["inner_left_out"])]
    return "; left out: ".join(parts) if all(parts) else parts[0] or f"left out: {parts[1]}"


def _team(team: dict[str, Any]) -> str:
    held = f"commit {team['commit'][:12]}, {amount(team['files'], 'file')}" if team["commit"] else "none was found yet"
    if team["problem"]:
        return f"{held}; {team['uri']} is not asked since {local_time(team['down_since'])}: {team['problem']}"
    return f"{held}, at {team['uri']}"


def rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the status as (label, text) for people."""
    project, index, gate, hooks, health = (figures[key] for key in ("project", "index", "gate", "hooks", "health"))
    latency = health["latency_ms"]["p50"]
    decided = local_time(health["last_success"] or "none")
    indexed = f"{amount(index['documents'], 'document')}, {amount(index['chunks'], 'chunk')}"
    is_searched = index["chunks"] or index["stands_in"] or index["team"]
    shown = [
        ("Project", f"{project['name']} ({project['root']})"),
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


# --- doctor -------------------------------------------------------------------------------------------------


_WELL = "All is well."
_MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hybrid doctor`."""
    parser.set_defaults(run_action=_doctor)
    add_common(parser, example="hybrid doctor --client claude")
    parser.add_argument("--client", metavar="NAME", help="look at the hooks of this client only")
    about = "take the rights of others from hybrid's own files, and give the newer of two lessons with one id a new one"
    parser.add_argument("--fix", action="store_true", help=about)
    about = "switch off hooks of systems that hybrid replaces; copies are kept"
    parser.add_argument("--fix-foreign", action="store_true", help=about)
    parser.add_argument("--no-trial", action="store_true", help="do not run the hook's command on a sample prompt")


def _doctor(args: argparse.Namespace) -> int:
    """Print every finding, after mending what was asked for; exit code 1 when one of them is a problem."""
    if args.client:
        from hybrid.cli.installing import client_named

        client_named(args.client)
    workspace = workspace_of(args, is_strict=False)
    mended = _mended(args, workspace)
    findings: list[Finding] = []
    for finding in findings_of(workspace, args.client, has_trial=not args.no_trial):
        findings.append(finding)
        if not args.json and not (args.quiet and finding.level == "ok"):
            say(line_of(finding))
            sys.stdout.flush()
    n_problems, n_warnings = (sum(each.level == level for each in findings) for level in ("problem", "warning"))
    if args.json:
        forms = [asdict(finding) | {"remedy": finding.remedy or None} for finding in findings]
        print_json({"findings": forms, "problems": n_problems, "warnings": n_warnings, "fixed": mended})
    elif not args.quiet:
        for line in mended:
            say(f"fixed    {line}")
        say(f"{amount(n_problems, 'problem')}, {amount(n_warnings, 'warning')}." if n_problems or n_warnings else _WELL)
    return 1 if n_problems else 0


def line_of(finding: Finding) -> str:
    """Return a finding in one line, and its remedy in a second one."""
    line = f"{_MARKS[finding.level]}  {finding.area:<9}{finding.what}"
    return f"{line}\n{'':<18}→ {finding.remedy}" if finding.remedy else line


def _mended(args: argparse.Namespace, workspace: Workspace) -> list[str]:
    """Mend what was asked for; returns what was done, a line each."""
    lines: list[str] = []
    if args.fix and (count := repair_rights(workspace.home)):
        taken = amount(count, "file or folder", "files or folders")
        lines.append(f"took the rights of others from {taken} in {workspace.home}")
    if args.fix:
        lines += renumber_twins(workspace)
    foreign = foreign_of(workspace, args.client) if args.fix_foreign else []
    if foreign:
        from hybrid.hooks.install.found import switch_off

        copies = switch_off(foreign, roots=settings_roots(workspace), home=workspace.home)
        lines += [f"switched off {hook}" for hook in foreign]
        lines += [f"hybrid hook uninstall puts that back; a copy from before: {copy}" for copy in copies]
    return lines
