"""`hybrid eval memory`: whether questions and prompts about earlier sessions get the record that answers them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluate import add_settings, percent, print_table, teller

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from hybrid.evaluation.timing import Runner

ABOUT = "whether questions about earlier sessions find their record"
_EXAMPLE = """hybrid eval memory questions.jsonl --sessions ~/recorded --explain
  hybrid eval memory questions.jsonl --sessions ~/recorded --prompts prompts.jsonl --only ruff cargo"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example=_EXAMPLE)
    parser.add_argument(
        "questions",
        type=Path,
        metavar="QUESTIONS.jsonl",
        help="a line each: id, project, question, kind, gold (FILE:LINE of events, lines from 0)",
    )
    parser.add_argument(
        "--sessions",
        type=Path,
        required=True,
        metavar="DIR",
        help="recorded sessions PROJECT-….jsonl, a hook event a line; $PROJECT and $HOME stand for paths",
    )
    parser.add_argument(
        "--prompts", type=Path, metavar="PROMPTS.jsonl", help="a line each: id, project, prompt, gold (may be empty)"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="PROJECT", help="only these; other files stay unread")
    parser.add_argument("--explain", action="store_true", help="every question and prompt that went wrong, and why")
    parser.add_argument("--home", type=Path, metavar="DIR", help="an empty folder to keep memory and index in")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no question is left to ask."""
    from hybrid.evaluation.retrieval import scratch_home, settings_by_key
    from hybrid.workspace import open_workspace
    from hybrid_lab.memory.judged import read_memory_prompts, read_memory_questions
    from hybrid_lab.memory.questions import evaluate_memory
    from hybrid_lab.memory.replay import read_recordings, replay

    _check(args.home)
    questions = read_memory_questions(args.questions, args.only)
    prompts = read_memory_prompts(args.prompts, args.only) if args.prompts else []
    recordings = read_recordings(args.sessions, args.only)
    with scratch_home(args.home) as scratch:
        runner = _runner(args, scratch)
        environ, constants = runner.environ, settings_by_key(runner.constants)
        tell, now_ms = teller(args), time.time_ns() // 1_000_000
        replayed = replay(recordings, scratch, environ, now_ms=now_ms, report_file=tell)
        opened = {
            name: open_workspace(one.require_project().root, environ=environ, flags=constants)
            for name, one in replayed.workspaces.items()
        }
        replayed = replace(replayed, workspaces=opened)
        report = evaluate_memory(replayed, questions, prompts, environ, report_id=tell)
    form = report.as_json(is_explained=args.explain)
    if args.json:
        print_json(form)
    else:
        _print(form)
    return 0 if questions or prompts else 1


def _check(home: Path | None) -> None:
    """Refuse a folder that is not empty: its content would be remembered too.

    Raises:
        HybridError: It is not empty.
    """
    from hybrid.base.errors import HybridError

    if home and home.exists() and any(home.iterdir()):
        raise HybridError(f"{home} is not empty; what it remembers would count too")


def _runner(args: argparse.Namespace, scratch: Path) -> Runner:
    """Environment with a home of its own, without the user's lore and memory."""
    from hybrid.evaluation.retrieval import settings_in_force
    from hybrid.evaluation.timing import runner
    from hybrid_lab.records.setup import ALONE

    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    found = runner(home, settings_in_force([*ALONE, "memory.path=", *args.settings]), takes_constants=True)
    return replace(found, environ={**found.environ, "LORE_DATA_DIR": "", "HYBRID_MEMORY_DB": ""})


# --- output ------------------------------------------------------------------------------------------------


def _print(form: Mapping[str, Any]) -> None:
    for project, counts in form["counts"].items():
        say(f"{project}: {counts['events']} events, {counts['rows']} rows, no row tells of {counts['untold']} events")
    say("")
    for group in dict.fromkeys(row["group"] for row in form["rows"]):
        rows = [row for row in form["rows"] if row["group"] == group]
        heads = ["", "R@5", "95 % from", "to", "R@10", "RR", "95 % from", "to"]
        print_table(f"{group}: {rows[0]['n']} questions", heads, [_way_cells(row) for row in rows])
    for way, gain in form["gains"].items():
        say(f"above {way}: R@5 {gain['r5']:+.1%} [{gain['low']:+.1%}, {gain['high']:+.1%}]")
    if form["gains"]:
        say("")
    _print_prompts(form["prompts"])
    for problem in form["problems"]:
        say(f"problem: {problem}")
    for asked in form.get("asked", ()):
        if asked["is_missed"]:
            _print_missed(asked)
    for asked in form.get("asked_prompts", ()):
        if asked["missed"] or (not asked["is_wanted"] and asked["given"]):
            _print_wrong(asked)


def _way_cells(row: Mapping[str, Any]) -> list[str]:
    shares = [percent(row[name]) for name in ("r5", "low", "high", "r10")]
    return [row["way"], *shares, *(f"{row[name]:.3f}" for name in ("rr", "rr_low", "rr_high"))]


def _print_prompts(rows: Sequence[Mapping[str, Any]]) -> None:
    for is_wanted, title, head in (
        (True, "prompts that a row fits", "got it"),
        (False, "prompts that no row fits", "got something"),
    ):
        chosen = [row for row in rows if row["is_wanted"] is is_wanted]
        table = [
            [
                row["project"],
                str(row["n"]),
                *(percent(row[name]) for name in ("given", "low", "high", "opened")),
                ", ".join(f"{n} × {why}" for why, n in row["missed"].items()),
            ]
            for row in chosen
        ]
        if table:
            print_table(title, ["", "n", head, "95 % from", "to", "gate open", "missed by"], table)


def _print_missed(asked: Mapping[str, Any]) -> None:
    ranks = ", ".join(f"{way} {rank or '–'}" for way, rank in asked["ranks"].items())
    say(f"{asked['id']} {asked['project']} {asked['kind']}: {asked['question']}")
    say(f"    ranks: {ranks}")
    for row in asked["gold"] or [None]:
        say(f"    wanted {_line(row)}" if row else "    wanted nothing that was kept")
    for row in asked["top"]:
        parts = " ".join(f"{name}={value:.2f}" for name, value in row["parts"].items())
        say(f"    found  {_line(row)}  [{parts}]")


def _print_wrong(asked: Mapping[str, Any]) -> None:
    what = f"missed by {asked['missed']}" if asked["missed"] else "got something"
    margin = "–" if asked["margin"] is None else f"{asked['margin']:+.4f}"
    detail = f" ({asked['detail']})" if asked["detail"] else ""
    say(f"{asked['id']} {asked['project']}: {what}, {asked['reason']}{detail}, margin {margin}")
    say(f"    {' '.join(asked['prompt'].split())[:150]}")
    for row in asked["gold"][:5]:
        say(f"    wanted {_line(row)}")
    for row in asked["given"]:
        say(f"    given  {_line(row)}")


def _line(row: Mapping[str, Any]) -> str:
    return f"{row['id']} {row['project']}: {row['title']}"
