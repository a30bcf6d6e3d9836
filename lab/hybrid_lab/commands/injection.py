"""`hybrid eval injection`: whether what is injected holds the right file, beside what plain searches would inject."""

from __future__ import annotations

import argparse
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, add_repeated, print_json, say
from hybrid.cli.evaluate import add_shared, percent, print_table, teller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_lab.injection import GroupRow, InjectionReport, InjectionRow

ABOUT = "whether what is injected holds the right file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval injection prompts.jsonl --repos ~/checkouts")
    parser.add_argument(
        "prompts", nargs="+", type=Path, metavar="PROMPTS.jsonl", help="judged prompts; each file is reported apart"
    )
    add_shared(parser)
    about = "compare with this setting too, on top of those in force; repeated ones act together"
    add_repeated(parser, "--against", "KEY=VALUE", about)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no prompt has judged files."""
    from hybrid.evaluation.retrieval import against, scratch_home, settings_in_force
    from hybrid_lab.injection import PLAIN, evaluate_injections
    from hybrid_lab.judged_prompts import read_prompts

    def load(assignments: Sequence[str]) -> Any:
        return settings_in_force([*args.settings, *assignments])

    ways = [*PLAIN, *([against(args.against, "hybrid")] if args.against else [])]
    sets = {path.stem: read_prompts(path) for path in args.prompts}
    with scratch_home(args.home) as home:
        found = evaluate_injections(
            sets, args.repos, home, load, against=ways, only=args.only, report_repo=teller(args)
        )
    if args.json:
        print_json({"sets": {name: _as_json(report) for name, report in found.items()}})
        return 0 if found else 1
    for name, report in found.items():
        _print_rows(name, report.rows)
        _print_groups(name, report.groups)
    if not found:
        say("no prompt is about a repository that is there and says which file is right")
    return 0 if found else 1


def _as_json(report: InjectionReport) -> dict[str, list[dict[str, Any]]]:
    from hybrid.evaluation.decisions import finite

    listed = {"rows": report.rows, "groups": report.groups}
    return {
        name: [
            {key: finite(value) if isinstance(value, float) else value for key, value in row.as_json().items()}
            for row in rows
        ]
        for name, rows in listed.items()
    }


def _print_rows(name: str, rows: Sequence[InjectionRow]) -> None:
    heads = ["", "right file", "first", "text in first two", "of items", "items", "characters", "until right"]
    heads += ["files per 1,000"]
    has_places = not isnan(rows[0].named)
    heads += ["signatures", "lines"] if has_places else []
    table = [
        [
            row.label,
            percent(row.gold),
            percent(row.first),
            percent(row.early),
            percent(row.precision),
            f"{row.items:.1f}",
            f"{row.chars:.0f}",
            f"{row.until:.0f}",
            f"{row.per_thousand:.2f}",
            *([percent(row.named), percent(row.lines)] if has_places else []),
            f"{row.gain:+.1%} [{row.low:+.1%}, {row.high:+.1%}]" if number else "",
        ]
        for number, row in enumerate(rows)
    ]
    print_table(f"{name}: {rows[0].prompts} prompts", [*heads, "settings in force are better by"], table)


def _print_groups(name: str, groups: Sequence[GroupRow]) -> None:
    heads = ["", "prompts", "right file", "95 % interval", "text in first two", "characters", "files per 1,000"]
    table = [
        [
            row.label,
            str(row.prompts),
            percent(row.gold),
            f"[{row.low:.1%}, {row.high:.1%}]",
            percent(row.early),
            f"{row.chars:.0f}",
            f"{row.per_thousand:.2f}",
        ]
        for row in groups
    ]
    print_table(f"{name}: settings in force, by length and kind of prompt", heads, table)
