"""`hybrid eval records`: whether prompts get the lessons and the lore that fit them, and others get nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluate import add_settings, percent, print_table, teller

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from hybrid.evaluation.timing import Runner
    from hybrid_lab.records.report import RecordsReport
    from hybrid_lab.records.sets import RecordSet

ABOUT = "whether prompts get the lessons and lore that fit them"
_EXAMPLE = """hybrid eval records prompts.jsonl --lessons .hybrid/LESSONS.md --lore ~/.local/share/hybrid/lore
  hybrid eval records prompts.jsonl --records records.jsonl --explain
  hybrid eval records lab/data/records --half dev --curve"""

_RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Allowed rates of a curve."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example=_EXAMPLE)
    parser.add_argument(
        "prompts",
        type=Path,
        metavar="PROMPTS",
        help="a JSONL file, a line each: id, prompt, gold (ids of records), kind, and how, set, half if known; or a "
        "folder of one project with prompts.jsonl, LESSONS.md and lore/, or of several such folders",
    )
    parser.add_argument("--lessons", type=Path, metavar="LESSONS.md", help="lessons of the project, in either form")
    parser.add_argument("--lore", type=Path, metavar="DIR", help="a data folder of lore; it is copied")
    parser.add_argument(
        "--records", type=Path, metavar="FILE", help="instead of both, a line each: kind, id, name, text, triggers"
    )
    parser.add_argument("--name", default="", help="of the project, for lore that names projects")
    parser.add_argument("--half", default="", metavar="NAME", help="only the prompts of this half, for example dev")
    parser.add_argument(
        "--through",
        choices=("engine", "hook"),
        default="engine",
        help="ask in this process (default), or a hook process and a service for each prompt",
    )
    parser.add_argument(
        "--curve",
        action="store_true",
        help="what fitting prompts and others get as max_other_task_rate of lessons and lore goes from 0.02 to 0.5",
    )
    parser.add_argument("--explain", action="store_true", help="every prompt that went wrong, and why")
    parser.add_argument("--home", type=Path, metavar="DIR", help="an empty folder to keep project and index in")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no record may be given."""
    from hybrid.evaluation.retrieval import scratch_home
    from hybrid_lab.records.report import joined

    _check(args)
    sets = _sets(args)
    with scratch_home(args.home) as scratch:
        runner = _runner(args, scratch)
        roots = [one.make(scratch / "projects", runner.environ) for one in sets]
        reports = _asked(args, sets, roots, runner)
        form = joined(reports).as_json(is_explained=args.explain)
        if len(sets) > 1:
            form["projects"] = {one.name: report.as_json()["rows"] for one, report in zip(sets, reports, strict=True)}
        if args.curve:
            form["curve"] = [_point(args, rate, sets, roots, scratch) for rate in _RATES]
    if args.json:
        print_json(form)
    else:
        _print(form, {prompt.id: prompt.text for one in sets for prompt in one.prompts})
    return 0 if form["records"] else 1


def _sets(args: argparse.Namespace) -> list[RecordSet]:
    from hybrid_lab.records.report import read_record_prompts
    from hybrid_lab.records.sets import RecordSet, of_half, sets_of_folder
    from hybrid_lab.records.setup import read_records

    if args.prompts.is_dir():
        return of_half(sets_of_folder(args.prompts), args.half)
    records = tuple(read_records(args.records)) if args.records else ()
    prompts = tuple(read_record_prompts(args.prompts))
    return of_half([RecordSet(args.name or "evaluated", prompts, args.lessons, args.lore, records)], args.half)


def _asked(
    args: argparse.Namespace, sets: Sequence[RecordSet], roots: Sequence[Path], runner: Runner
) -> list[RecordsReport]:
    """Ask the prompts of every set; return a report for each."""
    from hybrid.evaluation.retrieval import settings_by_key
    from hybrid.workspace import open_workspace
    from hybrid_lab.records.prompts import evaluate_records

    constants = settings_by_key(runner.constants)
    return [
        evaluate_records(
            one.prompts,
            open_workspace(root, environ=runner.environ, flags=constants),
            runner,
            through_hook=args.through == "hook",
            report_prompt=teller(args),
        )
        for one, root in zip(sets, roots, strict=True)
    ]


def _point(
    args: argparse.Namespace, rate: float, sets: Sequence[RecordSet], roots: Sequence[Path], scratch: Path
) -> dict[str, Any]:
    """The shares at one allowed rate: of the fitting prompts that got their record, of each other kind that got any."""
    from hybrid_lab.records.report import ALL, joined

    settings = [f"{kind}.max_other_task_rate={rate}" for kind in ("lessons", "lore")]
    rows = joined(_asked(args, sets, roots, _runner(args, scratch, settings))).rows()
    wanted = [row for row in rows if row.is_wanted and row.kind == ALL]
    return {
        "rate": rate,
        "fits": wanted[0].given if wanted else None,
        "precision": wanted[0].as_json()["precision"] if wanted else None,
        **{row.kind: row.given for row in rows if not row.is_wanted},
    }


def _check(args: argparse.Namespace) -> None:
    """Find out before a project is made whether there is anything to ask it.

    Raises:
        HybridError: The options do not fit together, or the folder is in use.
    """
    from hybrid.base.errors import HybridError

    named = bool(args.records) + bool(args.lessons or args.lore)
    if args.prompts.is_dir():
        if named or args.name:
            raise HybridError(f"{args.prompts} is a folder that holds prompts and records: name no other records")
    elif named != 1:
        raise HybridError("records come from --lessons and --lore, or from --records FILE: name one of the two")
    if (args.name and Path(args.name).name != args.name) or args.name in (".", ".."):
        raise HybridError(f"{args.name!r} is no name of a project")
    if args.home and args.home.exists() and any(args.home.iterdir()):
        raise HybridError(f"{args.home} is not empty; its records would count too")


def _runner(args: argparse.Namespace, scratch: Path, settings: Sequence[str] = ()) -> Runner:
    """Processes and environment with a home of their own, without the user's lore."""
    from hybrid.evaluation.retrieval import settings_in_force
    from hybrid.evaluation.timing import runner
    from hybrid_lab.records.setup import ALONE

    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    in_force = settings_in_force([*ALONE, *args.settings, *settings])
    found = runner(home, in_force, takes_constants=args.through != "hook")
    return replace(found, environ={**found.environ, "LORE_DATA_DIR": ""})


# --- output ------------------------------------------------------------------------------------------------


def _print(form: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    counts = ", ".join(f"{n} × {kind}" for kind, n in form["records"].items())
    say(f"records: {counts or 'none that may be given'}")
    wanted = [row for row in form["rows"] if row["is_wanted"]]
    unwanted = [row for row in form["rows"] if not row["is_wanted"]]
    if wanted:
        table = [
            [
                row["kind"],
                str(row["n"]),
                *_shares(row),
                percent(row["recall"]),
                "–" if row["precision"] is None else percent(row["precision"]),
                percent(row["first"]),
                f"{row['reciprocal']:.3f}",
            ]
            for row in wanted
        ]
        heads = ["", "n", "got it", "95 % from", "to", "gate open", "recall", "precision", "ranked first", "1 / rank"]
        print_table("prompts that a record fits", heads, table)
    if unwanted:
        table = [[row["kind"], str(row["n"]), *_shares(row)] for row in unwanted]
        heads = ["", "n", "got something", "95 % from", "to", "a gate open"]
        print_table("prompts that no record fits", heads, table)
    if curve := form.get("curve"):
        kinds = [name for name in curve[0] if name != "rate"]
        table = [
            [f"{one['rate']:g}", *("–" if one[kind] is None else percent(one[kind]) for kind in kinds)] for one in curve
        ]
        print_table("as more may pass: max_other_task_rate of lessons and lore", ["rate", *kinds], table)
    for problem in form["problems"]:
        say(f"left out: {problem}")
    if form["differs"]:
        say(f"the hook gave other records than the engine here: {', '.join(form['differs'])}")
    for asked in form.get("asked", ()):
        if asked["missed"] or (not asked["gold"] and asked["given"]):
            _print_wrong(asked, texts[asked["id"]])


def _shares(row: Mapping[str, Any]) -> list[str]:
    return [percent(row[key]) for key in ("given", "low", "high", "opened")]


def _print_wrong(asked: Mapping[str, Any], text: str) -> None:
    """A prompt that missed its record, or got one for nothing."""
    margins = ", ".join(f"{kind} {_signed(margin)}" for kind, margin in asked["margins"].items())
    what = f"missed by {asked['missed']}" if asked["missed"] else "got something"
    more = [f"({asked['detail']})"] if asked["missed"] == "rule" else []
    say(" ".join([f"{asked['id']} {asked['kind']}: {what}", *more]))
    say(f"    {' '.join(text.split())[:150]}")
    given = ", ".join(asked["given"]) or "nothing"
    place = f"rank {asked['rank']}, {_of_best(asked)}" if asked["rank"] else "not among the hits"
    wanted = f"wanted {', '.join(asked['gold'])} ({place}); " if asked["gold"] else ""
    say(f"    {wanted}given {given}; margins {margins or 'none'}")


def _of_best(asked: Mapping[str, Any]) -> str:
    cosine = "no cosine" if asked["cosine"] is None else f"cosine {asked['cosine']:.2f}"
    return f"relevance {asked['relevance']:.2f}, {cosine}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def print_gate_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the change that records make to the decisions of `hybrid eval gate --records`."""
    table = [
        [
            f"{'wanted' if row['is_wanted'] else 'unwanted'} {row['kind']}{'' if row['is_strict'] else ' (soft)'}",
            str(row["n"]),
            str(row["without"]),
            str(row["with"]),
            str(row["lessons"]),
            str(row["lore"]),
            percent(row["without_rate"]),
            percent(row["with_rate"]),
            f"{row['prompts_given']} of {row['prompts']}",
        ]
        for row in rows
    ]
    heads = ["", "n", "without", "with", "got lessons", "got lore", "without", "with", "prompts with a record"]
    print_table("prompts that got something, without and with the records", heads, table)
