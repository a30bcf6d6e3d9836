"""The share of injections that hold the right file: prompts with judged files through the whole decision of the hook.

`hybrid eval injection` calls it. Each prompt is asked in a session of its own, so nothing was given before. Beside the
settings in force stand plain searches, and two plain rules of packing: the same hits in as many characters as the
injection of that prompt has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from hybrid.answer.decide import decide, span_reader
from hybrid.answer.turn import Turn
from hybrid.evaluation.results import interval
from hybrid.evaluation.trees import WHOLE, Configuration, Tree, TreeOpener, repositories
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.render.frame import file_entry, render_entry
from hybrid.types import HookEvent, Item
from hybrid_lab.records.setup import GivenFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.answer.turn import Decision
    from hybrid.evaluation.trees import Load
    from hybrid.search.searcher import Searcher
    from hybrid.types import Form, Hit
    from hybrid.workspace import Workspace
    from hybrid_lab.judged_prompts import JudgedPrompt

IN_FORCE = Configuration("in force")
PLAIN = (
    Configuration("fusion alone", ("search.ranker=rrf",)),
    Configuration("bm25 alone", ("search.ranker=rrf", "search.dense_weight=0", "search.symbol_dense_weight=0")),
    Configuration("cosine alone", ("search.ranker=rrf", "search.lexical_weight=0", "search.symbol_lexical_weight=0")),
)
"""What the settings in force are compared with: what each leg, and their fusion, would inject."""

TWO_WHOLE = "two files whole, others by place"
WHILE_IT_FITS = "whole as long as they fit"
RULES = (TWO_WHOLE, WHILE_IT_FITS)
"""What the packing in force is compared with."""

_BY_TEXT = 2
"""Items, from the first, that may show their text: the others are looked at last."""
_CHARS = 5
_COLUMNS = 7
"""Figures of one injection; `_CHARS` is the place of its characters among them."""


class InjectionRow(Struct, frozen=True):
    """The injections of one configuration; means of the repositories' means.

    Attributes:
        label: Of the configuration.
        prompts: Asked.
        gold: Share of the prompts whose injection holds a judged file, in [0, 1]; silence holds none.
        first: Share whose first item lies in one.
        early: Share of which one of the first two items lies in one and shows text of it.
        precision: Share of the items that lie in one.
        items: Of an injection, silence left out.
        chars: Characters of the median injection, silence left out; of a rule those of its entries.
        until: Characters of the entries before the first right one, where there is one.
        gain: Gold of the settings in force less this one; 0 for themselves.
        low: Lower end of the 95 % interval of the gain.
        high: Upper end.
    """

    label: str
    prompts: int
    gold: float
    first: float
    early: float
    precision: float
    items: float
    chars: float
    until: float
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return asdict(self)


def evaluate_injections(
    prompts: Mapping[str, Sequence[JudgedPrompt]],
    repos: Path,
    home: Path,
    load: Load,
    *,
    against: Sequence[Configuration] = PLAIN,
    only: Iterable[str] = (),
    report_repo: Callable[[str], None] = lambda _: None,
) -> dict[str, list[InjectionRow]]:
    """Inject for the wanted prompts that have judged files, and compare.

    Args:
        prompts: Set → prompts; those without a repository or without judged files are passed over.
        repos: Folder that holds a folder for each repository.
        home: Where the indexes lie.
        load: Gives settings.
        against: Compared with the settings in force.
        only: Names of repositories; empty for all.
        report_repo: Hears the name of each repository before it is built.

    Returns:
        Set → a row for each configuration, the settings in force first; a set without such prompts has none.

    Raises:
        QrelsError: No judged repository is there.
        ModelError: The embedder cannot be loaded.
    """
    ways = [IN_FORCE, *against]
    opener = TreeOpener(ways, home, load)
    judged = {name: [prompt for prompt in of_set if _is_judged(prompt)] for name, of_set in prompts.items()}
    names = {prompt.repo for of_set in judged.values() for prompt in of_set if prompt.repo}
    asked: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    for repo, root in repositories(names, repos, only).items():
        report_repo(repo)
        opened = opener.open(Tree(root, WHOLE))
        for name, of_set in judged.items():
            for way in ways:
                workspace, searcher = opened.workspaces[way.label], opened.searchers[way.label]
                for prompt in (prompt for prompt in of_set if prompt.repo == repo):
                    decision = _decided(workspace, searcher, prompt)
                    rows = {way.label: _measure(decision.items, prompt, len(decision.text))}
                    if way is IN_FORCE:
                        rows |= dict(_by_rules(workspace, decision, prompt))
                    for label, row in rows.items():
                        asked.setdefault((name, label), {}).setdefault(repo, []).append(row)
    labels = [IN_FORCE.label, *RULES, *(way.label for way in against)]
    return {
        name: [_row(label, asked[name, label], asked[name, IN_FORCE.label]) for label in labels]
        for name in judged
        if (name, IN_FORCE.label) in asked
    }


def _is_judged(prompt: JudgedPrompt) -> bool:
    return prompt.is_wanted and bool(prompt.files) and prompt.repo is not None


def _decided(workspace: Workspace, searcher: Searcher, prompt: JudgedPrompt) -> Decision:
    root = str(workspace.require_project().root)
    fields = {"client": "evaluation", "event": "UserPromptSubmit", "session_id": prompt.id, "cwd": root}
    event = HookEvent.of({**fields, "prompt": prompt.text})
    return decide(Turn(workspace, event, OpenKinds({}, GivenFiles(searcher)), {}))


def _measure(items: Sequence[Item], prompt: JudgedPrompt, chars: float) -> list[float]:
    """Return gold, first, early, precision, items, characters, characters until; the last four NaN for silence."""
    right = [item.hit.path in prompt.files for item in items]
    if not right:
        return [0.0, 0.0, 0.0, *[np.nan] * (_COLUMNS - 3)]
    early = any(is_right and item.body for is_right, item in zip(right[:_BY_TEXT], items, strict=False))
    before = items[: right.index(True)] if any(right) else ()
    until = sum(map(_chars, before)) if any(right) else np.nan
    return [float(any(right)), float(right[0]), float(early), sum(right) / len(right), len(right), chars, until]


def _by_rules(workspace: Workspace, decision: Decision, prompt: JudgedPrompt) -> Iterator[tuple[str, list[float]]]:
    """Yield the name of each rule and what it would have given of the same hits in as many characters."""
    of_items = [hit for item in decision.items for hit, _ in item.given]
    left_out = [held.hit for held in decision.withheld if held.reason in ("adds_nothing", "budget")]
    hits = sorted([*of_items, *left_out], key=lambda hit: hit.rank)
    reader = span_reader(workspace)
    room = sum(map(_chars, decision.items))
    for label in RULES:
        items = _packed(hits, reader.text, room, is_two_whole=label == TWO_WHOLE)
        yield label, _measure(items, prompt, sum(map(_chars, items)) if items else np.nan)


def _packed(hits: Sequence[Hit], read: Callable[[Hit], str | None], room: int, *, is_two_whole: bool) -> list[Item]:
    """Return hits, best first, as long as there is room: whole, else by place; of `is_two_whole` a file once."""
    items: list[Item] = []
    files: set[str] = set()
    for hit in hits:
        if is_two_whole and hit.path in files:
            continue
        files.add(hit.path)
        text = read(hit) or ""
        forms: tuple[Form, ...] = ("pointer",) if is_two_whole and len(files) > _BY_TEXT else ("full", "pointer")
        tried = (Item(hit, text, form, text if form == "full" else "") for form in forms)
        item = next((one for one in tried if _chars(one) <= room), None)
        if item is None:
            break
        room -= _chars(item)
        items.append(item)
    return items


def _chars(item: Item) -> int:
    return len(render_entry(file_entry(item))) + 1


def _row(
    label: str, of_way: Mapping[str, list[list[float]]], in_force: Mapping[str, list[list[float]]]
) -> InjectionRow:
    found = [np.array(rows, np.float64) for rows in of_way.values()]
    base = [np.array(rows, np.float64) for rows in in_force.values()]
    gains: list[NDArray[np.float64]] = [ours[:, :1] - rows[:, :1] for ours, rows in zip(base, found, strict=True)]
    low, high = interval(gains)
    gold, first, early, precision, items, _, until = (
        _mean([rows[:, column] for rows in found]) for column in range(_COLUMNS)
    )
    of_all = np.concatenate([rows[:, _CHARS] for rows in found])
    chars = float(np.median(of_all[~np.isnan(of_all)])) if not np.isnan(of_all).all() else float("nan")
    n_prompts = sum(len(rows) for rows in found)
    gain = _mean([rows[:, 0] for rows in gains])
    return InjectionRow(
        label=label,
        prompts=n_prompts,
        gold=gold,
        first=first,
        early=early,
        precision=precision,
        items=items,
        chars=chars,
        until=until,
        gain=gain,
        low=float(low[0]),
        high=float(high[0]),
    )


def _mean(values: Sequence[NDArray[np.float64]]) -> float:
    """The mean of the means, without what is NaN; NaN when nothing is left."""
    means = [float(rows[~np.isnan(rows)].mean()) for rows in values if not np.isnan(rows).all()]
    return sum(means) / len(means) if means else float("nan")
