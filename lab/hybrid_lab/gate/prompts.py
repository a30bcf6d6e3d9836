"""Puts judged prompts through the whole decision of the hook and counts when it speaks; `hybrid eval gate` calls it.

A prompt without a repository of its own is asked of every index. What rules silence has the score −∞. The score is the
margin, so that prompts of several repositories, each with bars of its own, can be counted together.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from functools import cache
from statistics import median_low
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.answer.decide import Turn, decide
from hybrid.evaluation.decisions import Rates, auc, finite, open_rate, usual_rates
from hybrid.evaluation.retrieval import build_index, repositories, scratch_home, settings_in_force, workspace_at
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.models.registry import load_embedder
from hybrid.prompting.clean import clean, prompt_event
from hybrid.prompting.query import make_query
from hybrid.search.searcher import Judging, open_searcher
from hybrid_lab.records.setup import GivenEverywhere, GivenFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.config import Loaded
    from hybrid.search.gate.background import Calibration
    from hybrid.search.scores import Verdict
    from hybrid.search.searcher import Searcher
    from hybrid.types import Embedder, EmbedderInfo
    from hybrid.workspace import Workspace
    from hybrid_lab.judged_prompts import JudgedPrompt
    from hybrid_lab.records.setup import GivenRecord

OTHER_TASKS = "other_repo"
"""Kind of prompts that are tasks of another project: strict, and so much harder than talk that they are told apart."""

_SILENCED = -2.0
"""Stands for −∞ in a run file: below every cosine."""


class Variant(Struct, frozen=True):
    """One way to decide.

    Attributes:
        label: Unique among those that are compared.
        settings: `section.key=value`, on top of the plan's.
        has_rules: False leaves out the prompt rules, and what comes after the gate: what opens counts as injected.
        has_records: The plan's records may be given beside the files.
    """

    label: str
    settings: tuple[str, ...] = ()
    has_rules: bool = True
    has_records: bool = False


IN_FORCE = Variant("all parts")


class GatePlan(Struct, frozen=True):
    """The prompts, the repositories that they are asked of, and the variants of the gate.

    Attributes:
        judged: Prompts by the name of their set.
        repos: Folder that holds a folder for each repository.
        settings: `section.key=value`, on top of the settings in force.
        only: Names of repositories; empty for all.
        variants: Ways to decide, in the order in which they are tried.
        records: Accepted in every repository, for the variants that have them.
    """

    judged: Mapping[str, Sequence[JudgedPrompt]]
    repos: Path
    settings: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = (IN_FORCE,)
    records: tuple[GivenRecord, ...] = ()


class Asked(Struct, frozen=True):
    """One prompt, asked of one repository.

    Attributes:
        prompt: Judged.
        repo: Where it was asked.
        score: What the gate compared minus its threshold; −∞ when a rule silenced the prompt or it has no vector.
        is_open: The gate opened.
        reason: Why it was silent, or `injected`.
        detail: More about it, for example the prompt rule.
        threshold: That was in force; None when nothing was compared.
        top_cosine: The raw one; None when nothing was compared.
        given: Kinds of what it got: code, doc, lesson, decision, …
    """

    prompt: JudgedPrompt
    repo: str
    score: float
    is_open: bool
    reason: str
    detail: str
    threshold: float | None
    top_cosine: float | None
    given: tuple[str, ...] = ()

    @property
    def is_injected(self) -> bool:
        """The agent got a text."""
        return self.reason == "injected"


class KindRow(Struct, frozen=True):
    """The decisions on the prompts of one kind.

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


class GateReport(Struct, frozen=True):
    """The figures of an evaluation.

    Attributes:
        asked: Every decision.
        repos: Repositories that were asked.
        missing: Repositories of prompts that are not there.
        model: Key of the embedder.
        model_threshold: Its measured default for the raw top cosine, or None.
        bars: Of every repository whose calibration decided.
    """

    asked: tuple[Asked, ...]
    repos: tuple[str, ...]
    missing: tuple[str, ...]
    model: str
    model_threshold: float | None
    bars: Mapping[str, Calibration]

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
    def other_tasks(self) -> list[Asked]:
        """Those of the strict unwanted that are tasks of other projects."""
        return [asked for asked in self.unwanted if asked.prompt.kind == OTHER_TASKS]

    @property
    def other_rate(self) -> float:
        """Share of the tasks of other projects that got a text; NaN without any."""
        return _share(asked.is_injected for asked in self.other_tasks)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The thresholds that were in force, ascending; one unless repositories are calibrated one by one."""
        return tuple(sorted({asked.threshold for asked in self.asked if asked.threshold is not None}))

    @property
    def scores(self) -> tuple[list[float], list[float]]:
        """Scores of the wanted and of the strict unwanted."""
        return [asked.score for asked in self.wanted], [asked.score for asked in self.unwanted]

    def sweep(self) -> list[tuple[str, Rates]]:
        """Return the common shifts of all thresholds that give the usual false rates, and the best, with effects."""
        return usual_rates(*self.scores)

    def kinds(self) -> list[KindRow]:
        """By kind, the wanted first."""
        groups: dict[tuple[bool, str, bool], list[Asked]] = defaultdict(list)
        for asked in self.asked:
            groups[not asked.prompt.is_wanted, asked.prompt.kind, asked.prompt.is_strict].append(asked)
        return [_kind_row(groups[key]) for key in sorted(groups)]

    def as_json(self, chatty: Sequence[float] = ()) -> dict[str, Any]:
        """Stable keys; an infinite score or threshold is None.

        Args:
            chatty: Scores of the wanted prompts in chatty wording, to tell what a shift of the thresholds does to them.
        """
        wanted, unwanted = self.scores
        return {
            "model": self.model,
            "repositories": list(self.repos),
            "missing": list(self.missing),
            "n_wanted": len(wanted),
            "n_unwanted": len(unwanted),
            "n_other_repo": len(self.other_tasks),
            "thresholds": list(self.thresholds),
            "bars": {
                repo: {"talk": finite(bars.talk), "tasks": finite(bars.tasks)} for repo, bars in self.bars.items()
            },
            "true_rate": finite(self.true_rate),
            "false_rate": finite(self.false_rate),
            "other_repo_rate": finite(self.other_rate),
            "auc": finite(auc(wanted, unwanted)),
            "at": [self._at(label, rates, chatty) for label, rates in self.sweep()],
            "kinds": [asdict(row) | {"median_score": finite(row.median_score)} for row in self.kinds()],
        }

    def _at(self, label: str, rates: Rates, chatty: Sequence[float]) -> dict[str, Any]:
        """One row of the sweep; `threshold` is a number only where one threshold is in force everywhere."""
        fixed = self.thresholds[0] if len(self.thresholds) == 1 else math.nan
        others = [asked.score for asked in self.other_tasks]
        return {
            "label": label,
            "shift": finite(rates.threshold),
            "threshold": finite(fixed + rates.threshold),
            "true_rate": rates.true_rate,
            "false_rate": rates.false_rate,
            "other_repo_rate": finite(open_rate(others, rates.threshold)),
            "chatty_rate": finite(open_rate(chatty, rates.threshold)),
        }


def evaluate_gate(
    plan: GatePlan, home: Path, *, report_repo: Callable[[str], None] = lambda _: None
) -> dict[str, dict[str, GateReport]]:
    """Ask every prompt of its repository, or of all of them; each repository is indexed whole.

    Where no prompt has a repository of its own, these are all folders of `plan.repos`. An index is built once, and once
    more for variants that keep other numbers of each chunk; none is embedded twice.

    Args:
        plan: What to ask.
        home: Where the indexes lie.
        report_repo: Hears the name of each repository before it is built.

    Returns:
        By the label of the variant, then by the name of the set.

    Raises:
        QrelsError: No repository is there.
        ModelError: The embedder cannot be loaded.
    """
    named = {prompt.repo for prompts in plan.judged.values() for prompt in prompts if prompt.repo is not None}
    judged = named or {path.name for path in plan.repos.iterdir()}
    found = repositories(judged, plan.repos, plan.only)
    missing = tuple(sorted((set(plan.only) or judged) - found.keys()))
    tallies = {variant.label: _Tally() for variant in plan.variants}
    load = cache(_load)
    with scratch_home(None) as records_home:
        given = GivenEverywhere(plan.records, records_home)
        for name, root in found.items():
            report_repo(name)
            for variant, workspace, searcher in _opened(plan, root, home, load):
                tally, place = tallies[variant.label], given.at(workspace) if variant.has_records else workspace
                kinds = OpenKinds({}, GivenFiles(searcher))
                tally.add(plan.judged, name, place, kinds, has_rules=variant.has_rules)
    return {label: tally.reports(tuple(found), missing) for label, tally in tallies.items()}


class _Tally:
    """The decisions of one variant, repository after repository."""

    def __init__(self) -> None:
        self._asked: dict[str, list[Asked]] = defaultdict(list)
        self._bars: dict[str, Calibration] = {}
        self._models: list[EmbedderInfo] = []

    def add(
        self,
        judged: Mapping[str, Sequence[JudgedPrompt]],
        repo: str,
        workspace: Workspace,
        kinds: OpenKinds,
        *,
        has_rules: bool,
    ) -> None:
        searcher = kinds.searcher(workspace)
        self._models.append(searcher.embedder.info)
        if searcher.gate and workspace.config.hooks.gate_threshold == "auto":
            self._bars[repo] = searcher.gate.calibration
        ask = _ask if has_rules else _ask_without_rules
        for name, prompts in judged.items():
            chosen = [prompt for prompt in prompts if prompt.repo in (None, repo)]
            self._asked[name] += [ask(workspace, kinds, prompt, repo) for prompt in chosen]

    def reports(self, repos: tuple[str, ...], missing: tuple[str, ...]) -> dict[str, GateReport]:
        model = self._models[-1]
        return {
            name: GateReport(tuple(asked), repos, missing, model.key, model.gate_threshold, self._bars)
            for name, asked in self._asked.items()
        }


def _opened(
    plan: GatePlan, root: Path, home: Path, load: Callable[[str, Path], Embedder]
) -> Iterator[tuple[Variant, Workspace, Searcher]]:
    """The searcher of a repository for each variant, all of the same index."""
    for number, variant in enumerate(plan.variants):
        workspace = workspace_at(root, home, _settings_at(root, (*plan.settings, *variant.settings)))
        if not number:
            build_index(workspace, embedder=load(workspace.config.model.name, home))
        yield variant, workspace, open_searcher(workspace, load=load)


def _load(name: str, home: Path) -> Embedder:
    return load_embedder(name, home=home)


def _settings_at(root: Path, settings: Sequence[str]) -> Loaded:
    """A user's project has its own settings, which the decision takes into account; the session is always fresh."""
    folder = root / ".hybrid"
    return settings_in_force([*settings, "hooks.dedup_enabled=false"], folder=folder if folder.is_dir() else None)


def _ask(workspace: Workspace, kinds: OpenKinds, prompt: JudgedPrompt, repo: str) -> Asked:
    root = str(workspace.require_project().root)
    event = prompt_event("manual", "", root, prompt.text)
    decision = decide(Turn(workspace, event, kinds, {}))
    given = tuple(dict.fromkeys(item.hit.kind for item in decision.items))
    return _asked(prompt, repo, decision.verdict, decision.reason, decision.detail, given)


def _ask_without_rules(workspace: Workspace, kinds: OpenKinds, prompt: JudgedPrompt, repo: str) -> Asked:
    searched = kinds.searcher(workspace).search(make_query(clean(prompt.text).text), top_k=1, judging=Judging())
    is_open = searched.verdict is not None and searched.verdict.is_open
    return _asked(prompt, repo, searched.verdict, "injected" if is_open else "gate", "")


def _asked(
    prompt: JudgedPrompt, repo: str, said: Verdict | None, reason: str, detail: str, given: tuple[str, ...] = ()
) -> Asked:
    margin = said.margin if said else None
    return Asked(
        prompt=prompt,
        repo=repo,
        score=-math.inf if margin is None else margin,
        is_open=said is not None and said.is_open,
        reason=reason,
        detail=detail,
        threshold=said.threshold if said else None,
        top_cosine=said.top_cosine if said else None,
        given=given,
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
