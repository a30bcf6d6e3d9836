"""The same prompts in several languages: how well their files are ranked, and how often the gate opens for them.

`hybrid eval languages` calls it. Each prompt goes through the whole decision of the hook in a session of its own, and
is searched for beside that, so that the ranking is measured where the gate is closed too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.evaluation.measures import FilePassage, score
from hybrid.evaluation.results import Configuration
from hybrid.evaluation.retrieval import RANKED, WHOLE, JudgedTree, TreeOpener, repositories
from hybrid.prompting.query import make_query
from hybrid_lab.injection import IN_FORCE, decided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.evaluation.retrieval import Load, Opened
    from hybrid_lab.judged_prompts import JudgedPrompt

_NDCG = "nDCG@10"


class LanguageRow(Struct, frozen=True):
    """The prompts of one language in one configuration; shares and means are over prompts.

    Attributes:
        language: Name of the file that holds them.
        label: Of the configuration.
        prompts: With judged files.
        ndcg: Mean nDCG@10 of the search.
        dense: The same of the search by meaning alone.
        opened: Share that got something.
        right: Share that got a judged file.
        silent: Prompts that deserve nothing, each asked of every repository.
        false: Share of these that got something.
    """

    language: str
    label: str
    prompts: int
    ndcg: float
    dense: float
    opened: float
    right: float
    silent: int
    false: float

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return asdict(self)


class _Asked(Struct, frozen=True):
    ndcg: float = 0.0
    dense: float = 0.0
    is_open: bool = False
    is_right: bool = False


def evaluate_languages(
    prompts: Mapping[str, Sequence[JudgedPrompt]],
    repos: Path,
    home: Path,
    load: Load,
    *,
    against: Sequence[Configuration] = (),
    only: Iterable[str] = (),
    report_repo: Callable[[str], None] = lambda _: None,
) -> list[LanguageRow]:
    """Ask the prompts of every language.

    Args:
        prompts: Language → prompts; those without a repository deserve nothing and are asked of all of them.
        repos: Folder that holds a folder for each repository.
        home: Where the indexes lie.
        load: Gives settings.
        against: Compared with the settings in force.
        only: Names of repositories; empty for all.
        report_repo: Hears the name of each repository before it is built.

    Returns:
        For each configuration a row of every language, in the order given.

    Raises:
        QrelsError: No judged repository is there.
        ModelError: The embedder cannot be loaded.
    """
    ways = [IN_FORCE, *against]
    opener = TreeOpener(ways, home, load)
    names = {prompt.repo for of_language in prompts.values() for prompt in of_language if prompt.repo}
    wanted: dict[tuple[str, str], list[_Asked]] = {(way.label, language): [] for way in ways for language in prompts}
    silent: dict[tuple[str, str], list[_Asked]] = {key: [] for key in wanted}
    for repo, root in repositories(names, repos, only).items():
        report_repo(repo)
        opened = opener.open(JudgedTree(root, WHOLE))
        for way, language in wanted:
            here = [prompt for prompt in prompts[language] if prompt.repo in (repo, None)]
            wanted[way, language] += [_ask(opened, way, prompt) for prompt in here if prompt.is_wanted]
            silent[way, language] += [_ask(opened, way, prompt) for prompt in here if not prompt.is_wanted]
    return [_row(way, language, asked, silent[way, language]) for (way, language), asked in wanted.items()]


def _ask(opened: Opened, way: str, prompt: JudgedPrompt) -> _Asked:
    searcher = opened.searchers[way]
    decision = decided(opened.workspaces[way], searcher, prompt)
    is_right = any(item.hit.path in prompt.files for item in decision.items)
    if not prompt.files:
        return _Asked(is_open=bool(decision.items), is_right=is_right)
    targets = [FilePassage(path) for path in prompt.files]
    query = make_query(prompt.text)
    found = (searcher.search(query, top_k=RANKED, mode=mode) for mode in ("hybrid", "dense"))
    rankings = ([FilePassage(hit.path, hit.start_line, hit.end_line) for hit in one.hits] for one in found)
    ndcg, dense = (score(ranking, targets)[_NDCG] for ranking in rankings)
    return _Asked(ndcg, dense, bool(decision.items), is_right)


def _row(way: str, language: str, wanted: Sequence[_Asked], silent: Sequence[_Asked]) -> LanguageRow:
    return LanguageRow(
        language=language,
        label=way,
        prompts=len(wanted),
        ndcg=_mean([one.ndcg for one in wanted]),
        dense=_mean([one.dense for one in wanted]),
        opened=_mean([one.is_open for one in wanted]),
        right=_mean([one.is_right for one in wanted]),
        silent=len(silent),
        false=_mean([one.is_open for one in silent]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)
