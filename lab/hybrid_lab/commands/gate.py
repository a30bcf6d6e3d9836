"""`hybrid eval gate`: how often judged prompts get something, rightly and wrongly, and what each part is worth."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluate import add_marks, add_shared, marked_report, percent, print_marked, print_table, teller
from hybrid_lab.commands.records import print_gate_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.evaluation.decisions import MarkedReport
    from hybrid.evaluation.plot import Margins
    from hybrid_lab.gate.ablation import AblationRow
    from hybrid_lab.gate.prompts import GateReport, Variant
    from hybrid_lab.gate.with_records import RecordsGateRow

ABOUT = "how often judged prompts get something, rightly and wrongly"
_PROMPTS, _CHATTY = "prompts", "chatty"
_OF_PROMPTS = ("chatty", "run", "plot", "ablation", "halves", "records")
"""Options that say nothing of marks."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval gate gate.jsonl --repos ~/checkouts --chatty gate_chatty.jsonl")
    parser.add_argument("prompts", type=Path, nargs="?", metavar="GATE.jsonl", help="judged prompts; needs --repos")
    add_marks(parser)
    add_shared(parser, needs_repos=False)
    parser.add_argument("--chatty", type=Path, metavar="FILE", help="the same for prompts in chatty wording")
    parser.add_argument("--threshold", type=float, metavar="COSINE", help="of the raw top cosine, with all parts off")
    parser.add_argument("--ablation", action="store_true", help="what each part of the gate is worth")
    parser.add_argument(
        "--halves", type=positive, metavar="N", help="count again on N random halves: how sure the figures are"
    )
    parser.add_argument(
        "--records", type=Path, metavar="FILE", help="ask again with these records accepted in every repository"
    )
    parser.add_argument("--run", type=Path, metavar="OUT.jsonl", help="write the scores")
    parser.add_argument("--plot", type=Path, metavar="OUT.svg|OUT.png", help="draw the ROC curve")


def run(args: argparse.Namespace) -> int:
    """Run it."""
    _check(args)
    reports, rows, records = _judged(args) if args.prompts else ({}, [], [])
    marked = marked_report() if args.marks else None
    _write(args, reports, rows)
    forms = _forms(args, reports, rows, marked) | ({"records": [row.as_json() for row in records]} if records else {})
    if args.json:
        print_json(forms)
    else:
        _print(forms)
    return 0 if reports or (marked and marked.decisions) else 1


def _check(args: argparse.Namespace) -> None:
    """Find out before minutes of work whether its results can be written.

    Raises:
        HybridError: Nothing judged is named, or something that an option needs is missing.
    """
    from hybrid.base.errors import HybridError
    from hybrid.evaluation.plot import check_plot

    if args.prompts is None:
        if not args.marks:
            raise HybridError("`hybrid eval gate` needs GATE.jsonl, or --marks for what you judged with `hybrid mark`")
        named = [option for option in _OF_PROMPTS if getattr(args, option)]
        if named:
            raise HybridError(f"--{named[0]} needs GATE.jsonl, the judged prompts")
    elif args.repos is None:
        raise HybridError("GATE.jsonl needs --repos, the folder that holds a folder for each repository")
    if args.ablation and args.threshold is not None:
        raise HybridError("--ablation compares the parts of the gate, and --threshold switches all of them off")
    if args.ablation and args.records:
        raise HybridError("--ablation and --records both compare with the settings in force; ask for one at a time")
    if args.plot:
        check_plot(args.plot)


def _judged(args: argparse.Namespace) -> tuple[dict[str, GateReport], list[AblationRow], list[RecordsGateRow]]:
    """A report of each file of judged prompts, by `prompts` and `chatty`; rows of the ablation and of the records."""
    from hybrid.evaluation.retrieval import scratch_home
    from hybrid_lab.gate.ablation import ablation
    from hybrid_lab.gate.prompts import IN_FORCE, GatePlan, evaluate_gate
    from hybrid_lab.gate.with_records import WITH_RECORDS, compare_records
    from hybrid_lab.judged_prompts import read_prompts
    from hybrid_lab.records.setup import read_records

    settings = list(args.settings)
    if args.threshold is not None:
        settings.append(f"hooks.gate_threshold={args.threshold}")
    files: dict[str, Path] = {_PROMPTS: args.prompts} | ({_CHATTY: args.chatty} if args.chatty else {})
    plan = GatePlan(
        judged={name: read_prompts(path) for name, path in files.items()},
        repos=args.repos,
        settings=tuple(settings),
        only=tuple(args.only),
        variants=_variants(settings) if args.ablation else (IN_FORCE, WITH_RECORDS) if args.records else (IN_FORCE,),
        records=tuple(read_records(args.records)) if args.records else (),
    )
    with scratch_home(args.home) as home:
        found = evaluate_gate(plan, home, report_repo=teller(args))
    reports = found[IN_FORCE.label]
    rows = ablation(found, prompts=_PROMPTS, chatty=_CHATTY) if args.ablation else []
    beside = compare_records(reports[_PROMPTS], found[WITH_RECORDS.label][_PROMPTS]) if args.records else []
    return reports, rows, beside


def _variants(settings: Sequence[str]) -> tuple[Variant, ...]:
    """The ways to decide that an ablation compares.

    Raises:
        HybridError: A threshold is fixed, so that no part has a say.
    """
    from hybrid.base.errors import HybridError
    from hybrid.evaluation.retrieval import settings_in_force
    from hybrid_lab.gate.ablation import variants

    config = settings_in_force(settings).config
    if config.hooks.gate_threshold != "auto":
        raise HybridError("--ablation compares the parts of the gate; hooks.gate_threshold must be auto")
    return variants()


def _write(args: argparse.Namespace, reports: Mapping[str, GateReport], rows: Sequence[AblationRow]) -> None:
    """Write the files that were asked for."""
    if args.run:
        from hybrid_lab.gate.prompts import write_run

        write_run(args.run, reports[_PROMPTS].asked)
    if args.plot:
        from hybrid.evaluation.plot import write_roc

        write_roc(args.plot, {row.label: (row.wanted, row.unwanted) for row in rows} or _curves(reports))


def _curves(reports: Mapping[str, GateReport]) -> dict[str, Margins]:
    """A curve of each file; chatty prompts that hold only wanted ones are set against the unwanted of the others."""
    _, unwanted = reports[_PROMPTS].scores
    return {name: (report.scores[0], report.scores[1] or unwanted) for name, report in reports.items()}


def _forms(
    args: argparse.Namespace,
    reports: Mapping[str, GateReport],
    rows: Sequence[AblationRow],
    marked: MarkedReport | None,
) -> dict[str, Any]:
    """All that was found, as JSON knows it."""
    from hybrid_lab.gate.halves import as_json, halves

    chatty = reports[_CHATTY].scores[0] if _CHATTY in reports else []
    forms: dict[str, Any] = {
        name: report.as_json(chatty if name == _PROMPTS else ()) for name, report in reports.items()
    }
    if args.halves:
        forms[_PROMPTS]["halves"] = as_json(halves(reports[_PROMPTS], args.halves), args.halves)
    if rows:
        forms["ablation"] = [row.as_json() for row in rows]
    if marked:
        forms["marks"] = marked.as_json()
    return forms


# --- output ------------------------------------------------------------------------------------------------


def _print(forms: Mapping[str, Any]) -> None:
    if _PROMPTS in forms:
        _print_prompts(forms[_PROMPTS], forms.get(_CHATTY))
    if _CHATTY in forms:
        chatty = forms[_CHATTY]
        say(f"chatty: {chatty['n_wanted']} wanted, {chatty['n_unwanted']} unwanted (strict)")
        _print_kinds(chatty)
    if "records" in forms:
        print_gate_rows(forms["records"])
    if "ablation" in forms:
        _print_ablation(forms["ablation"])
    if "marks" in forms:
        print_marked(forms["marks"])


def _print_prompts(form: Mapping[str, Any], chatty: Mapping[str, Any] | None) -> None:
    counts = f"{form['n_wanted']} wanted, {form['n_unwanted']} unwanted (strict)"
    say(f"prompts: {counts}, repositories: {len(form['repositories'])}")
    _print_bars(form)
    if form["auc"] is not None:
        say(f"  AUC of the margin, score - threshold: {form['auc']:.4f}")
    say("")
    _print_operating_point(form, chatty)
    if form["auc"] is not None:
        _print_sweep(form["at"])
    if "halves" in form:
        _print_halves(form["halves"])
    _print_kinds(form)
    if form["missing"]:
        say(f"not there: {', '.join(form['missing'])}")


def _print_bars(form: Mapping[str, Any]) -> None:
    """The bars of calibrated repositories, else the one threshold."""
    bars = form["bars"].values()
    for name, what in (("talk", "small talk"), ("tasks", "tasks of other projects")):
        found = [of[name] for of in bars if of[name] is not None]
        if found:
            say(f"  bar for {what} {_range(found)}, found without labels for each repository")
    if not bars:
        say(f"  threshold {_range(form['thresholds']) if form['thresholds'] else 'none'} of the raw top cosine")


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.4f}" if low == high else f"{low:.4f} to {high:.4f}"


def _print_operating_point(form: Mapping[str, Any], chatty: Mapping[str, Any] | None) -> None:
    rows = [["wanted", str(form["n_wanted"]), percent(form["true_rate"])]]
    if chatty:
        rows.append(["wanted, in chatty wording", str(chatty["n_wanted"]), percent(chatty["true_rate"])])
    rows.append(["unwanted (strict)", str(form["n_unwanted"]), percent(form["false_rate"])])
    if form["n_other_repo"]:
        rows.append(["  of these tasks of other projects", str(form["n_other_repo"]), percent(form["other_repo_rate"])])
    soft = [kind for kind in form["kinds"] if not kind["is_strict"]]
    rows += [[f"{kind['kind']} (soft)", str(kind["n_asked"]), percent(kind["injected"])] for kind in soft]
    print_table("with the thresholds in force, whole decision", ["", "n", "injected"], rows)


def _print_sweep(rows: Sequence[Mapping[str, Any]]) -> None:
    table = [
        [
            row["label"],
            "–" if row["shift"] is None else f"{row['shift']:+.4f}",
            *(percent(row[column]) for column in ("true_rate", "false_rate", "chatty_rate", "other_repo_rate")),
        ]
        for row in rows
    ]
    print_table("with all thresholds moved", ["", "by", "true", "false", "chatty", "other projects"], table)


def _print_halves(form: Mapping[str, Any]) -> None:
    table = [[name, *(percent(of[column]) for column in ("mean", "low", "high"))] for name, of in form["of"].items()]
    print_table(f"on {form['n']} random halves", ["", "mean", "5 %", "95 %"], table)


def _print_kinds(form: Mapping[str, Any]) -> None:
    table = [
        [
            f"{'wanted' if kind['is_wanted'] else 'unwanted'} {kind['kind']}{'' if kind['is_strict'] else ' (soft)'}",
            str(kind["n_asked"]),
            *(percent(kind[column]) for column in ("injected", "opened", "silenced")),
            "–" if kind["median_score"] is None else f"{kind['median_score']:+.4f}",
        ]
        for kind in form["kinds"]
    ]
    print_table("by kind", ["", "n", "injected", "opened", "by rule", "median margin"], table)


def _print_ablation(rows: Sequence[Mapping[str, Any]]) -> None:
    table = [
        [
            row["label"],
            "–" if row["auc"] is None else f"{row['auc']:.4f}",
            *(percent(at["true_rate"]) for at in row["at"]),
            *(percent(row[column]) for column in ("chatty_rate", "true_rate", "false_rate", "other_repo_rate")),
        ]
        for row in rows
    ]
    at = [f"true at {entry['label']}" for entry in rows[0]["at"]]
    heads = ["", "AUC", *at, "chatty at 2% false", "injected: true", "false", "other projects"]
    print_table("ablation", heads, table)
