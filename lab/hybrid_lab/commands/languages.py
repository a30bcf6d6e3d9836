"""`hybrid eval languages`: the same prompts in several languages, beside the first."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, add_repeated, print_json
from hybrid.cli.evaluate import add_shared, percent, print_table, teller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_lab.languages import LanguageRow

ABOUT = "what prompts in other languages find"

_HEADS = (
    "",
    "nDCG@10",
    "of the first",
    "meaning alone",
    "opened",
    "right file",
    "of the first",
    "opened without cause",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval languages english.jsonl german.jsonl --repos ~/checkouts")
    about = "judged prompts, one file a language; the shares compare each with the first"
    parser.add_argument("prompts", nargs="+", type=Path, metavar="LANGUAGE.jsonl", help=about)
    add_shared(parser)
    about = "compare with this setting too, on top of those in force; repeated ones act together"
    add_repeated(parser, "--against", "KEY=VALUE", about)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when no prompt has judged files."""
    from hybrid.evaluation.retrieval import against, scratch_home, settings_in_force
    from hybrid_lab.judged_prompts import read_prompts
    from hybrid_lab.languages import evaluate_languages

    def load(assignments: Sequence[str]) -> Any:
        return settings_in_force([*args.settings, *assignments])

    ways = [against(args.against, "hybrid")] if args.against else []
    prompts = {path.stem: read_prompts(path) for path in args.prompts}
    with scratch_home(args.home) as home:
        rows = evaluate_languages(
            prompts, args.repos, home, load, against=ways, only=args.only, report_repo=teller(args)
        )
    if args.json:
        print_json({"rows": [row.as_json() for row in rows]})
    else:
        for label in dict.fromkeys(row.label for row in rows):
            _print_rows([row for row in rows if row.label == label])
    return 0 if any(row.prompts for row in rows) else 1


def _print_rows(rows: Sequence[LanguageRow]) -> None:
    first = rows[0]
    table = [
        [
            row.language,
            *(f"{row.ndcg:.3f}", _share(row.ndcg, first.ndcg), f"{row.dense:.3f}", percent(row.opened)),
            *(percent(row.right), _share(row.right, first.right), percent(row.false)),
        ]
        for row in rows
    ]
    title = f"{first.label}: {first.prompts} prompts, {first.silent} times one that deserves nothing"
    print_table(title, _HEADS, table)


def _share(value: float, of: float) -> str:
    return percent(value / of if of else None)
