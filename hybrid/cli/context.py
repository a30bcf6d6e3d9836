"""`hybrid context`: exactly what would be injected for a prompt, without recording it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hybrid.answer.recording import english_part
from hybrid.cli.common import add_common, number_in, print_json, say, say_raw, workspace_of
from hybrid.health.explaining import gate_rows, kind_rows
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import evidence_line

if TYPE_CHECKING:
    from hybrid.answer.decide import Decision
    from hybrid.answer.select import Selection
    from hybrid.search.gate.threshold import Verdict
    from hybrid.types import Hit

_HEADS = {"files": "chunk"}
"""Kind of records → the heading of the last column of its table; `record` for kinds that are not named here."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example='hybrid context "how does the payment client retry?" --explain')
    parser.add_argument("prompt", nargs="+", metavar="PROMPT", help="as one would type it to an agent")
    about = "compare the raw top cosine with this"
    parser.add_argument("--gate-threshold", type=number_in(-1, 1), default=None, help=about)
    parser.add_argument("--client", default="manual", help="whose session (default: manual)")
    parser.add_argument("--session", default="", metavar="ID", help="leave out what this session already got")
    parser.add_argument("--explain", action="store_true", help="show legs, fusion, gate, floor and what was held back")


def run(args: argparse.Namespace) -> int:
    """Print what would be injected for the prompt; exit code 1 when nothing would be."""
    from hybrid.answer.decide import Turn, decide
    from hybrid.ask.json_output import context_json
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.prompting.clean import prompt_event
    from hybrid.records.types import Record

    workspace = workspace_of(
        args,
        {
            "hooks.gate_threshold": args.gate_threshold,
            # Without a session there is nothing that was given before.
            "hooks.dedup_enabled": None if args.session else False,
        },
    )
    event = prompt_event(args.client, args.session, args.project or "", " ".join(args.prompt))
    kinds = OpenKinds()
    decision = decide(Turn(workspace, event, kinds))
    if args.json:
        name = workspace.project.name if workspace.project else None
        has_records = any(item.hit.is_record for item in decision.items)
        records = kinds.by_path(workspace) if has_records else dict[str, Record]()
        form = context_json(decision, project=name, is_explained=args.explain, records=records)
        print_json(form | _gate_form(decision.verdict), frame=decision.text)
    else:
        if decision.is_injected:
            say_raw(decision.text)
        else:
            say(decision.debug_line)
        if args.explain:
            say("\n".join(explanation(decision)))
    return 0 if decision.is_injected else 1


def _gate_form(verdict: Verdict | None) -> dict[str, Any]:
    """Return what the gate compared, with the keys of the event log; every value is None when it was not asked."""
    return {
        "top_cosine": verdict and verdict.top_cosine,
        "threshold": verdict and verdict.threshold,
        "threshold_source": verdict and verdict.source,
        "score": verdict and verdict.score,
        "bar": (verdict and verdict.bar) or None,
        "parts": (verdict and dict(verdict.parts)) or None,
    }


def explanation(decision: Decision) -> list[str]:
    """Return the numbers behind a decision, a line each: first those of the whole, then each kind with its hits."""
    lines = ["", f"reason      {decision.reason}{f' ({decision.detail})' if decision.detail else ''}"]
    if decision.query:
        lines.append(f"query       {decision.query}")
    if said := english_part(decision, "text")["english"]:
        lines.append(f"in English  {said}")
    if decision.kinds:
        lines.append(f"topic id    {decision.topic_id or 'none'}")
    lines += [f"problem     {problem}" for problem in decision.problems]
    for kind in decision.kinds:
        lines += ["", *_of_kind(kind, decision)]
    return lines


def _of_kind(kind: Selection, decision: Decision) -> list[str]:
    """Return the lines on one kind: what its gate compared, how its lists were fused, and what became of each hit."""
    from hybrid.ask.json_output import fate_of, fates_of, hits_of

    compared = _gate_form(kind.verdict) | {"is_open": kind.verdict.is_open}
    rows = gate_rows(compared) if kind.kind == "files" else kind_rows(kind.kind, compared)
    lines = [f"{label:<11} {text}" for label, text in rows]
    hits, fates = hits_of(kind, decision), fates_of(decision)
    if not hits:
        return lines
    searched = kind.searched
    dense_weight, lexical_weight = searched.weights
    lines += [
        f"fusion      {searched.n_candidates} candidates, weights dense {dense_weight} lexical {lexical_weight}",
        "",
        f"rank  cosine (rank)   bm25 (rank)     rrf      relevance  fate         {_HEADS.get(kind.kind, 'record')}",
    ]
    shown = {item.hit.key for item in decision.items}
    for hit in hits:
        lines.append(_row(hit, fate_of(hit, kind, fates)))
        if hit.evidence and hit.key in shown:
            lines.append(f"      {evidence_line(hit.evidence)}")
    return lines


def _row(hit: Hit, fate: str) -> str:
    from hybrid.sources.records import record_id

    cosine = "–" if hit.cosine is None else f"{hit.cosine:.3f}"
    bm25 = "–" if hit.bm25 is None else f"{hit.bm25:.2f}"
    legs = f"{cosine:>6} ({hit.cosine_rank or '–':>3})  {bm25:>6} ({hit.bm25_rank or '–':>3})"
    place = record_id(hit.path) if hit.is_record else f"{hit.path}:{hit.start_line}-{hit.end_line}"
    named = harmless_line(f"{place} {hit.name}")
    return f"{hit.rank or '–':>4}  {legs}  {hit.rrf:.5f}  {hit.relevance:>9.2f}  {fate:<11}  {named}"
