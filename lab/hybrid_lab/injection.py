"""The share of injections that hold the right file: prompts with judged files through the whole decision of the hook.

`hybrid eval injection` calls it. Each prompt is asked in a session of its own, so nothing was given before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from hybrid.answer.decide import decide
from hybrid.answer.turn import Turn
from hybrid.evaluation.results import interval
from hybrid.evaluation.trees import WHOLE, Configuration, Tree, TreeOpener, repositories
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.types import HookEvent
from hybrid_lab.records.setup import GivenFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.evaluation.trees import Load
    from hybrid.search.searcher import Searcher
    from hybrid.workspace import Workspace
    from hybrid_lab.judged_prompts import JudgedPrompt

IN_FORCE = Configuration("in force")
PLAIN = (
    Configuration("fusion alone", ("search.ranker=rrf",)),
    Configuration("bm25 alone", ("search.ranker=rrf", "search.dense_weight=0", "search.symbol_dense_weight=0")),
    Configuration("cosine alone", ("search.ranker=rrf", "search.lexical_weight=0", "search.symbol_lexical_weight=0")),
)
"""What the settings in force are compared with: what each leg, and their fusion, would inject."""

_COLUMNS = 5


class InjectionRow(Struct, frozen=True):
    """The injections of one configuration; means of the repositories' means.

    Attributes:
        label: Of the configuration.
        prompts: Asked.
        gold: Share of the prompts whose injection holds a judged file, in [0, 1]; silence holds none.
        first: Share whose first item lies in one.
        precision: Share of the items that lie in one.
        items: Of an injection, silence left out.
        chars: The same.
        gain: Gold of the settings in force less this one; 0 for themselves.
        low: Lower end of the 95 % interval of the gain.
        high: Upper end.
    """

    label: str
    prompts: int
    gold: float
    first: float
    precision: float
    items: float
    chars: float
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
                rows = [_ask(workspace, searcher, prompt) for prompt in of_set if prompt.repo == repo]
                if rows:
                    asked.setdefault((name, way.label), {})[repo] = rows
    return {
        name: [_row(way.label, asked[name, way.label], asked[name, IN_FORCE.label]) for way in ways]
        for name in judged
        if (name, IN_FORCE.label) in asked
    }


def _is_judged(prompt: JudgedPrompt) -> bool:
    return prompt.is_wanted and bool(prompt.files) and prompt.repo is not None


def _ask(workspace: Workspace, searcher: Searcher, prompt: JudgedPrompt) -> list[float]:
    """Gold, first, precision, items, characters; the last three NaN for silence."""
    root = str(workspace.require_project().root)
    fields = {"client": "evaluation", "event": "UserPromptSubmit", "session_id": prompt.id, "cwd": root}
    event = HookEvent.of({**fields, "prompt": prompt.text})
    decision = decide(Turn(workspace, event, OpenKinds({}, GivenFiles(searcher)), {}))
    right = [item.hit.path in prompt.files for item in decision.items]
    if not right:
        return [0.0, 0.0, np.nan, np.nan, np.nan]
    return [float(any(right)), float(right[0]), sum(right) / len(right), len(right), len(decision.text)]


def _row(
    label: str, of_way: Mapping[str, list[list[float]]], in_force: Mapping[str, list[list[float]]]
) -> InjectionRow:
    found = [np.array(rows, np.float64) for rows in of_way.values()]
    base = [np.array(rows, np.float64) for rows in in_force.values()]
    gains: list[NDArray[np.float64]] = [ours[:, :1] - rows[:, :1] for ours, rows in zip(base, found, strict=True)]
    low, high = interval(gains)
    gold, first, precision, items, chars = (_mean([rows[:, column] for rows in found]) for column in range(_COLUMNS))
    n_prompts = sum(len(rows) for rows in found)
    gain = _mean([rows[:, 0] for rows in gains])
    return InjectionRow(
        label, n_prompts, gold, first, precision, items, chars, gain=gain, low=float(low[0]), high=float(high[0])
    )


def _mean(values: Sequence[NDArray[np.float64]]) -> float:
    """The mean of the means, without what is NaN; NaN when nothing is left."""
    means = [float(rows[~np.isnan(rows)].mean()) for rows in values if not np.isnan(rows).all()]
    return sum(means) / len(means) if means else float("nan")
