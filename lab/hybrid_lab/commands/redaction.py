"""`hybrid eval redaction`: how many made-up secrets are found, and how often something is taken for one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluate import percent, print_table, teller

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from hybrid_lab.redaction.corpus import Sample

ABOUT = "how many made-up secrets are found, how often wrongly"
_EXAMPLE = "hybrid eval redaction ~/src/payments --explain"
_SHOWN = 40


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example=_EXAMPLE)
    parser.add_argument("repos", nargs="*", type=Path, metavar="REPO", help="count replacements in its files too")
    parser.add_argument(
        "--corpus",
        choices=("first", "second", "all"),
        default="first",
        help="first is written with the rules; second is written without them, from what tools print (default: first)",
    )
    parser.add_argument(
        "--samples", type=positive, default=60, metavar="N", help="of each kind of the first corpus (default: 60)"
    )
    parser.add_argument("--seed", default="1", help="of the made-up secrets (default: 1)")
    parser.add_argument("--misses", action="store_true", help="show the line of each miss and of each false alarm")
    parser.add_argument("--explain", action="store_true", help="name what was missed and every replacement")


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from hybrid.base.errors import ProjectError
    from hybrid_lab.redaction.corpus import innocent_samples, secret_samples
    from hybrid_lab.redaction.measure import evaluate_corpus
    from hybrid_lab.redaction.second import second_innocent_samples, second_secret_samples
    from hybrid_lab.redaction.trees import evaluate_tree

    for repo in args.repos:
        if not repo.is_dir():
            raise ProjectError(f"{repo} is not a directory")
    secrets: list[Sample] = []
    innocent: list[Sample] = []
    if args.corpus != "second":
        secrets, innocent = secret_samples(args.samples, args.seed), innocent_samples(args.samples, args.seed)
    if args.corpus != "first":
        secrets += second_secret_samples(args.seed)
        innocent += second_innocent_samples(args.seed)
    report = evaluate_corpus(secrets, innocent)
    form = report.as_json()
    if args.misses:
        form |= {
            "misses": [slip.as_text() for slip in report.misses],
            "alarm_texts": [slip.as_text() for slip in report.false_alarms],
        }
    tell = teller(args)
    trees: list[dict[str, Any]] = []
    for repo in args.repos:
        tell(repo.name)
        trees.append(evaluate_tree(repo, os.environ).as_json())
    if args.json:
        print_json({**form, "repositories": trees})
    else:
        _print(form, trees, is_explained=args.explain)
    return 0


def _print(form: Mapping[str, Any], trees: list[dict[str, Any]], *, is_explained: bool) -> None:
    total = ["all", str(form["secrets"]), percent(form["detected"]), percent(form["chars_left"]), ""]
    heads = ["", "n", "found", "characters left", "taken besides"]
    print_table("made-up secrets", heads, [*map(_found_cells, form["kinds"]), total])
    if form["places"]:
        print_table("places of secrets", heads, map(_found_cells, form["places"]))
    rows = [
        [row["kind"], str(row["n"]), str(row["alarms"]), percent(row["alarms"] / row["n"])]
        for row in form["innocent_kinds"]
    ]
    n_alarms = sum(row["alarms"] for row in form["innocent_kinds"])
    total = ["all", str(form["innocent"]), str(n_alarms), percent(form["false_alarms"])]
    print_table("texts without a secret", ["", "n", "false alarms", "share"], [*rows, total])
    if is_explained:
        for name in ("missed", "alarmed"):
            for kind, context in form[name]:
                say(f"{name}: {kind}: {context}")
    for name in ("misses", "alarm_texts"):
        for line in form.get(name, ()):
            say(f"{'missed' if name == 'misses' else 'false alarm'}: {line}")
    for tree in trees:
        _print_tree(tree, is_explained=is_explained)


def _found_cells(row: Mapping[str, Any]) -> list[str]:
    left = percent(row["chars_left"] / row["chars"])
    return [row["kind"], str(row["n"]), percent(row["detected"]), left, str(row["chars_beside"])]


def _print_tree(tree: Mapping[str, Any], *, is_explained: bool) -> None:
    kinds = ", ".join(f"{n} × {kind}" for kind, n in tree["kinds"].items())
    rates = (
        f"{tree['per_1000_lines']:.3f} per 1,000 lines, {tree['per_megabyte']:.1f} per MB"
        if tree["lines"]
        else "no text"
    )
    say(f"{tree['name']}: {tree['replaced']} replaced in {tree['files_with']} of {tree['files']} files ({rates})")
    say(f"  {kinds or 'nothing'}")
    shown = tree["samples"] if is_explained else tree["samples"][:_SHOWN]
    for one in shown:
        say(f"  {one['path']}:{one['line']}  {one['kind']}, {one['n_chars']} characters  {one['shown']}")
    if len(shown) < len(tree["samples"]):
        say(f"  and {len(tree['samples']) - len(shown)} more; --explain shows all")
