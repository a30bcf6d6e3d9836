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

from hybrid.answer.decide import Turn, decide, span_reader
from hybrid.evaluation.results import Configuration, interval
from hybrid.evaluation.retrieval import WHOLE, JudgedTree, TreeOpener, repositories
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.prompting.clean import prompt_event
from hybrid.render.frame import file_entry, render_entry
from hybrid.types import Item
from hybrid_lab.records.setup import GivenFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.answer.decide import Decision
    from hybrid.evaluation.retrieval import Load
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
_SHOWN_CHARS = 150
"""Characters by which a shown line is known again: a longer one may be cut."""
_LENGTHS = (100, 400, 1_500)
"""Characters of a prompt up to which it belongs to a group of its own."""


class _Injected(Struct, frozen=True):
    """What one prompt got; NaN where there is nothing to count.

    Attributes:
        gold: 1 when an item lies in a judged file; silence has none.
        first: 1 when the first item lies in one.
        early: 1 when one of the first two items lies in one and shows text of it.
        right: Items that lie in one.
        files: Judged files that are named.
        items: Of the injection; NaN for silence.
        chars: Of the injection, of a rule those of its entries; NaN for silence.
        entries: Characters of the entries alone.
        until: Characters of the entries before the first right one.
        named: Share of the judged definitions whose signature stands in the injection.
        lines: Share of the lines that matter that do.
    """

    gold: float = 0.0
    first: float = 0.0
    early: float = 0.0
    right: float = 0.0
    files: float = 0.0
    items: float = np.nan
    chars: float = np.nan
    entries: float = 0.0
    until: float = np.nan
    named: float = np.nan
    lines: float = np.nan


class InjectionRow(Struct, frozen=True):
    """The injections of one configuration; means of the repositories' means, if nothing else is said.

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
        per_thousand: Judged files that are named for 1,000 characters of entries, over all prompts together.
        named: Share of the judged definitions whose signature is shown; NaN when the prompts name none.
        lines: Share of the lines that matter of such definitions that are shown.
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
    per_thousand: float
    named: float
    lines: float
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return asdict(self)


class GroupRow(Struct, frozen=True):
    """The injections of the settings in force for prompts of one length or kind; shares are of these prompts.

    Attributes:
        label: Of the group.
        prompts: In it.
        gold: Share whose injection holds a judged file.
        low: Lower end of its 95 % interval.
        high: Upper end.
        early: Share of which one of the first two items lies in one and shows text of it.
        chars: Characters of the median injection.
        per_thousand: Judged files that are named for 1,000 characters of entries.
    """

    label: str
    prompts: int
    gold: float
    low: float
    high: float
    early: float
    chars: float
    per_thousand: float

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return asdict(self)


class InjectionReport(Struct, frozen=True):
    """The injections for one set of prompts.

    Attributes:
        rows: One for each configuration, the settings in force first.
        groups: One for each length and kind of prompt in the set.
    """

    rows: list[InjectionRow]
    groups: list[GroupRow]


def evaluate_injections(
    prompts: Mapping[str, Sequence[JudgedPrompt]],
    repos: Path,
    home: Path,
    load: Load,
    *,
    against: Sequence[Configuration] = PLAIN,
    only: Iterable[str] = (),
    report_repo: Callable[[str], None] = lambda _: None,
) -> dict[str, InjectionReport]:
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
        Set → its report; a set without such prompts has none.

    Raises:
        QrelsError: No judged repository is there.
        ModelError: The embedder cannot be loaded.
    """
    ways = [IN_FORCE, *against]
    opener = TreeOpener(ways, home, load)
    judged = {name: [prompt for prompt in of_set if _is_judged(prompt)] for name, of_set in prompts.items()}
    names = {prompt.repo for of_set in judged.values() for prompt in of_set if prompt.repo}
    asked: dict[tuple[str, str], dict[str, list[_Injected]]] = {}
    of_prompts: dict[str, list[tuple[JudgedPrompt, _Injected]]] = {}
    for repo, root in repositories(names, repos, only).items():
        report_repo(repo)
        opened = opener.open(JudgedTree(root, WHOLE))
        for name, of_set in judged.items():
            for way in ways:
                workspace, searcher = opened.workspaces[way.label], opened.searchers[way.label]
                for prompt in (prompt for prompt in of_set if prompt.repo == repo):
                    decision = decided(workspace, searcher, prompt)
                    rows = {way.label: _measure(decision.items, prompt, len(decision.text), root)}
                    if way is IN_FORCE:
                        of_prompts.setdefault(name, []).append((prompt, rows[way.label]))
                        rows |= dict(_by_rules(workspace, decision, prompt))
                    for label, row in rows.items():
                        asked.setdefault((name, label), {}).setdefault(repo, []).append(row)
    labels = [IN_FORCE.label, *RULES, *(way.label for way in against)]
    return {
        name: InjectionReport(
            [_row(label, asked[name, label], asked[name, IN_FORCE.label]) for label in labels],
            _groups(of_prompts[name]),
        )
        for name in of_prompts
    }


def _is_judged(prompt: JudgedPrompt) -> bool:
    return prompt.is_wanted and bool(prompt.files) and prompt.repo is not None


def decided(workspace: Workspace, searcher: Searcher, prompt: JudgedPrompt) -> Decision:
    """Return the decision on a prompt in a session of its own, by the index of the files alone."""
    root = str(workspace.require_project().root)
    event = prompt_event("evaluation", prompt.id, root, prompt.text)
    return decide(Turn(workspace, event, OpenKinds({}, GivenFiles(searcher)), {}))


def _measure(items: Sequence[Item], prompt: JudgedPrompt, chars: float, root: Path) -> _Injected:
    named, lines = _shown(items, prompt, root)
    right = [item.hit.path in prompt.files for item in items]
    if not right:
        return _Injected(named=named, lines=lines)
    early = any(is_right and item.body for is_right, item in zip(right[:_BY_TEXT], items, strict=False))
    before = items[: right.index(True)] if any(right) else ()
    return _Injected(
        gold=float(any(right)),
        first=float(right[0]),
        early=float(early),
        right=float(sum(right)),
        files=float(len({item.hit.path for item, is_right in zip(items, right, strict=True) if is_right})),
        items=float(len(right)),
        chars=chars,
        entries=float(sum(map(_chars, items))),
        until=float(sum(map(_chars, before))) if any(right) else np.nan,
        named=named,
        lines=lines,
    )


def _shown(items: Sequence[Item], prompt: JudgedPrompt, root: Path) -> tuple[float, float]:
    """Return the shares of the judged definitions whose signature is shown, and of the lines that matter; NaN if none.

    A signature is shown when its line is, or when an entry of the file tells the name.
    """
    named: list[float] = []
    lines: list[float] = []
    for place in prompt.places:
        file = (root / place.path).read_text(encoding="utf-8", errors="replace").split("\n")
        entries = [file_entry(item) for item in items if item.hit.path == place.path]
        body = {_known_by(line) for entry in entries for line in entry.lines}
        matter = [line for number in place.lines if (line := _known_by(file[number - 1]))]
        name = place.name.rpartition(".")[2]
        of_place = file[place.start_line - 1 : place.end_line]
        signature = _known_by(next((line for line in of_place if name in line), of_place[0]))
        is_told = bool(name) and any(name in entry.title for entry in entries)
        named.append(float(is_told or (bool(signature) and signature in body)))
        if matter:
            lines.append(sum(line in body for line in matter) / len(matter))
    return (float(np.mean(named)) if named else np.nan), (float(np.mean(lines)) if lines else np.nan)


def _known_by(line: str) -> str:
    return line.strip()[:_SHOWN_CHARS]


def _by_rules(workspace: Workspace, decision: Decision, prompt: JudgedPrompt) -> Iterator[tuple[str, _Injected]]:
    """Yield the name of each rule and what it would have given of the same hits in as many characters."""
    of_items = [hit for item in decision.items for hit, _ in item.given]
    left_out = [held.hit for held in decision.withheld if held.reason in ("adds_nothing", "budget")]
    hits = sorted([*of_items, *left_out], key=lambda hit: hit.rank)
    reader = span_reader(workspace)
    room = sum(map(_chars, decision.items))
    for label in RULES:
        items = _packed(hits, reader.text, room, is_two_whole=label == TWO_WHOLE)
        yield label, _measure(items, prompt, sum(map(_chars, items)), workspace.require_project().root)


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


def _row(label: str, of_way: Mapping[str, list[_Injected]], in_force: Mapping[str, list[_Injected]]) -> InjectionRow:
    gains = [
        _column("gold", ours)[:, None] - _column("gold", rows)[:, None]
        for ours, rows in zip(in_force.values(), of_way.values(), strict=True)
    ]
    low, high = interval(gains)
    together = [one for rows in of_way.values() for one in rows]
    mean = {name: _mean([_column(name, rows) for rows in of_way.values()]) for name in _Injected.__struct_fields__}
    return InjectionRow(
        label=label,
        prompts=len(together),
        gold=mean["gold"],
        first=mean["first"],
        early=mean["early"],
        precision=_mean([_column("right", rows) / _column("items", rows) for rows in of_way.values()]),
        items=mean["items"],
        chars=_median_chars(together),
        until=mean["until"],
        per_thousand=_per_thousand(together),
        named=mean["named"],
        lines=mean["lines"],
        gain=_mean([rows[:, 0] for rows in gains]),
        low=float(low[0]),
        high=float(high[0]),
    )


def _groups(asked: Sequence[tuple[JudgedPrompt, _Injected]]) -> list[GroupRow]:
    """Return the rows of the groups by length, then of those by kind where there are several."""
    by_length: dict[str, list[_Injected]] = {_length_group(limit): [] for limit in (*_LENGTHS, None)}
    by_kind: dict[str, list[_Injected]] = {}
    for prompt, injected in asked:
        limit = next((limit for limit in _LENGTHS if len(prompt.text) <= limit), None)
        by_length[_length_group(limit)].append(injected)
        by_kind.setdefault(prompt.kind, []).append(injected)
    groups = by_length | (by_kind if len(by_kind) > 1 else {})
    return [_group(label, rows) for label, rows in groups.items() if rows]


def _length_group(limit: int | None) -> str:
    return f"over {_LENGTHS[-1]:,} characters" if limit is None else f"up to {limit:,} characters"


def _group(label: str, rows: Sequence[_Injected]) -> GroupRow:
    gold = _column("gold", rows)
    low, high = interval([gold[:, None]])
    return GroupRow(
        label=label,
        prompts=len(rows),
        gold=float(gold.mean()),
        low=float(low[0]),
        high=float(high[0]),
        early=float(_column("early", rows).mean()),
        chars=_median_chars(rows),
        per_thousand=_per_thousand(rows),
    )


def _column(name: str, rows: Sequence[_Injected]) -> NDArray[np.float64]:
    """Return one figure of each prompt, shape (n_prompts,)."""
    return np.array([getattr(row, name) for row in rows], np.float64)


def _median_chars(rows: Sequence[_Injected]) -> float:
    chars = _column("chars", rows)
    chars = chars[~np.isnan(chars)]
    return float(np.median(chars)) if len(chars) else float("nan")


def _per_thousand(rows: Sequence[_Injected]) -> float:
    chars = float(_column("entries", rows).sum())
    return 1_000 * float(_column("files", rows).sum()) / chars if chars else float("nan")


def _mean(values: Sequence[NDArray[np.float64]]) -> float:
    """The mean of the means, without what is NaN; NaN when nothing is left."""
    means = [float(rows[~np.isnan(rows)].mean()) for rows in values if not np.isnan(rows).all()]
    return sum(means) / len(means) if means else float("nan")
