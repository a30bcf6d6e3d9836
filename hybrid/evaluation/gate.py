"""Puts judged prompts through the whole decision of the hook and counts when it speaks; `hybrid eval gate` calls it.

A prompt without a repository of its own is asked of every index. What rules silence has the score −∞.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Any

from hybrid.engine.injecting import decide
from hybrid.engine.searching import open_searcher
from hybrid.evaluation.rates import Rates, at_false_rate, auc, best_rates
from hybrid.evaluation.trees import build_index, repositories, settings_in_force, workspace_at
from hybrid.types import HookEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from hybrid.config import Loaded
    from hybrid.engine.searching import Searcher
    from hybrid.engine.workspace import Workspace
    from hybrid.evaluation.qrels import JudgedPrompt

FALSE_RATES = (0.02, 0.05, 0.10, 0.15)
_SILENCED = -2.0
"""Stands for −∞ in a run file: below every cosine."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt, asked of one repository.

    Attributes:
        prompt: Judged.
        repo: Where it was asked.
        score: The raw top cosine; −∞ when a rule silenced the prompt or it has no vector.
        is_open: The gate opened.
        reason: Why it was silent, or `injected`.
        detail: More about it, for example the prompt rule.
        threshold: That the score was compared with; None when it was not compared.
    """

    prompt: JudgedPrompt
    repo: str
    score: float
    is_open: bool
    reason: str
    detail: str
    threshold: float | None

    @property
    def is_injected(self) -> bool:
        """The agent got a text."""
        return self.reason == "injected"


@dataclass(frozen=True, slots=True)
class KindRow:
    """What happened to the prompts of one kind.

    Attributes:
        is_wanted: Whether they deserve context.
        kind: Of the prompts.
        is_strict: Counted in the false rate.
        n_asked: Prompts × repositories.
        injected: Share that got a text, in [0, 1].
        opened: Share for which the gate opened, in [0, 1].
        silenced: Share that a prompt rule silenced, in [0, 1].
        median_score: Of all; −∞ when most were silenced.
    """

    is_wanted: bool
    kind: str
    is_strict: bool
    n_asked: int
    injected: float
    opened: float
    silenced: float
    median_score: float


@dataclass(frozen=True, slots=True)
class GateReport:
    """What an evaluation found.

    Attributes:
        asked: Every decision.
        repos: Repositories that were asked.
        missing: Repositories of prompts that are not there.
        model: Key of the embedder.
    """

    asked: tuple[Asked, ...]
    repos: tuple[str, ...]
    missing: tuple[str, ...]
    model: str

    @property
    def wanted(self) -> list[Asked]:
        """Those that deserve context."""
        return [asked for asked in self.asked if asked.prompt.is_wanted]

    @property
    def unwanted(self) -> list[Asked]:
        """Those that do not, strict ones only."""
        return [asked for asked in self.asked if not asked.prompt.is_wanted and asked.prompt.is_strict]

    @property
    def true_rate(self) -> float:
        """Share of the wanted that got a text; NaN without any."""
        return _share(asked.is_injected for asked in self.wanted)

    @property
    def false_rate(self) -> float:
        """Share of the strict unwanted that got a text; NaN without any."""
        return _share(asked.is_injected for asked in self.unwanted)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The thresholds that were in force, ascending; one unless repositories are calibrated one by one."""
        return tuple(sorted({asked.threshold for asked in self.asked if asked.threshold is not None}))

    @property
    def scores(self) -> tuple[list[float], list[float]]:
        """Scores of the wanted and of the strict unwanted."""
        return [asked.score for asked in self.wanted], [asked.score for asked in self.unwanted]

    def sweep(self) -> list[tuple[str, Rates]]:
        """The thresholds for the usual false rates and the best one, with what each does."""
        wanted, unwanted = self.scores
        rows = [(f"{rate:.0%} false", at_false_rate(rate, wanted, unwanted)) for rate in FALSE_RATES]
        return [*rows, ("largest true - false", best_rates(wanted, unwanted))]

    def kinds(self) -> list[KindRow]:
        """By kind, the wanted first."""
        groups: dict[tuple[bool, str, bool], list[Asked]] = defaultdict(list)
        for asked in self.asked:
            groups[not asked.prompt.is_wanted, asked.prompt.kind, asked.prompt.is_strict].append(asked)
        return [_kind_row(groups[key]) for key in sorted(groups)]

    def as_json(self) -> dict[str, Any]:
        """Stable keys; an infinite score or threshold is None."""
        wanted, unwanted = self.scores
        return {
            "model": self.model,
            "repositories": list(self.repos),
            "missing": list(self.missing),
            "n_wanted": len(wanted),
            "n_unwanted": len(unwanted),
            "thresholds": list(self.thresholds),
            "true_rate": _finite(self.true_rate),
            "false_rate": _finite(self.false_rate),
            "auc": _finite(auc(wanted, unwanted)),
            "at": [
                {
                    "label": label,
                    "threshold": _finite(rates.threshold),
                    "true_rate": rates.true_rate,
                    "false_rate": rates.false_rate,
                }
                for label, rates in self.sweep()
            ],
            "kinds": [
                {name: getattr(row, name) for name in row.__slots__} | {"median_score": _finite(row.median_score)}
                for row in self.kinds()
            ],
        }


def evaluate_gate(
    prompts: Sequence[JudgedPrompt],
    repos: Path,
    home: Path,
    *,
    settings: Sequence[str] = (),
    only: Sequence[str] = (),
    report_repo: Callable[[str], None] = lambda _: None,
) -> GateReport:
    """Ask every prompt of its repository, or of all of them; each repository is indexed whole and opened once.

    Args:
        prompts: Judged.
        repos: Folder that holds a folder for each repository.
        home: Where the indexes lie.
        settings: `section.key=value`, on top of the settings in force.
        only: Names of repositories; empty for all.
        report_repo: Hears the name of each repository before it is built.

    Raises:
        QrelsError: No repository is there.
        ModelError: The embedder cannot be loaded.
    """
    judged = {prompt.repo for prompt in prompts if prompt.repo is not None}
    found = repositories(judged, repos, only)
    asked: list[Asked] = []
    model = ""
    for name, root in found.items():
        report_repo(name)
        workspace = workspace_at(root, home, _settings_at(root, settings))
        build_index(workspace)
        searcher = open_searcher(workspace)
        model = searcher.embedder.info.key
        asked += [_ask(workspace, searcher, prompt, name) for prompt in prompts if prompt.repo in (None, name)]
    return GateReport(tuple(asked), tuple(found), tuple(sorted((set(only) or judged) - found.keys())), model)


def _settings_at(root: Path, settings: Sequence[str]) -> Loaded:
    """A user's project has its own settings, which the decision takes into account; the session is always fresh."""
    folder = root / ".hybrid"
    return settings_in_force([*settings, "hooks.dedup_enabled=false"], folder=folder if folder.is_dir() else None)


def _ask(workspace: Workspace, searcher: Searcher, prompt: JudgedPrompt, repo: str) -> Asked:
    root = str(workspace.require_project().root)
    event = HookEvent("manual", "UserPromptSubmit", session_id="", agent_id="", cwd=root, prompt=prompt.text)
    decision = decide(workspace, event, open_searcher=lambda _: searcher, environ={})
    said = decision.verdict
    top_cosine = said.top_cosine if said else None
    return Asked(
        prompt=prompt,
        repo=repo,
        score=-math.inf if top_cosine is None else top_cosine,
        is_open=said is not None and said.is_open,
        reason=decision.reason,
        detail=decision.detail,
        threshold=said.threshold if said else None,
    )


def write_run(path: Path, asked: Iterable[Asked]) -> None:
    """Write scores as a run file: a line `{id, repo, score}` each; −2 stands for what a rule silenced."""
    lines = [
        json.dumps(
            {"id": one.prompt.id, "repo": one.repo, "score": one.score if math.isfinite(one.score) else _SILENCED}
        )
        for one in asked
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _kind_row(group: Sequence[Asked]) -> KindRow:
    first = group[0].prompt
    return KindRow(
        is_wanted=first.is_wanted,
        kind=first.kind,
        is_strict=first.is_strict,
        n_asked=len(group),
        injected=_share(asked.is_injected for asked in group),
        opened=_share(asked.is_open for asked in group),
        silenced=_share(asked.reason == "prompt" for asked in group),
        median_score=median_low(asked.score for asked in group),
    )


def _share(claims: Iterable[bool]) -> float:
    listed = list(claims)
    return sum(listed) / len(listed) if listed else math.nan


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
