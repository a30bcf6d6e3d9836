"""`hybrid eval injection`: whether what is injected holds the right file, beside what plain searches would inject."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, print_json, say
from hybrid.cli.evaluating import add_shared, percent, print_table, teller

if TYPE_CHECKING:
    from collections.abc import Sequence

ABOUT = "whether what is injected holds the right file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval injection prompts.jsonl --repos ~/checkouts")
    parser.add_argument(
        "prompts", nargs="+", type=Path, metavar="PROMPTS.jsonl", help="judged prompts; each file is reported apart"
    )
    add_shared(parser)
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="compare with this setting too, on top of those in force; repeated ones act together",
    )


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no prompt has judged files."""
    from hybrid.evaluation.decisions import finite
    from hybrid.evaluation.trees import against, scratch_home, settings_in_force
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
        rows = {name: [row.as_json() for row in of_set] for name, of_set in found.items()}
        for row in (row for of_set in rows.values() for row in of_set):
            row.update({key: finite(value) for key, value in row.items() if isinstance(value, float)})
        print_json({"sets": rows})
        return 0 if found else 1
    for name, of_set in found.items():
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
            ]
            + ([f"{row.gain:+.1%} [{row.low:+.1%}, {row.high:+.1%}]"] if number else [""])
            for number, row in enumerate(of_set)
        ]
        heads = ["", "right file", "first", "text in first two", "of items", "items", "characters", "until right"]
        heads.append("settings in force are better by")
        print_table(f"{name}: {of_set[0].prompts} prompts", heads, table)
    if not found:
        say("no prompt is about a repository that is there and says which file is right")
    return 0 if found else 1
