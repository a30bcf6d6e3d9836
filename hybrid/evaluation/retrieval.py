"""Asks judged queries of indexed repositories and scores the rankings; `hybrid eval retrieval` and `run` call it.

A figure is comparable with the semble benchmark when only the code files of each repository's benchmark folder are
indexed; the whole repository, docs and tests included, is what a user has.
"""

from __future__ import annotations

import json
import os
import sys
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict

from hybrid.evaluation.measures import DEPTH, TOKENS, FilePassage, score, tokens_to_hit
from hybrid.evaluation.qrels import QrelsError
from hybrid.evaluation.results import Answered, Results
from hybrid.evaluation.timing import BARE, Runner, time_ms, timed
from hybrid.evaluation.trees import WHOLE, IndexScope, Tree, TreeOpener, repositories
from hybrid.index.reading_history import known_at
from hybrid.prompting.query import make_query
from hybrid.sources.git import GitUnavailableError, ancestors, cleaned, newest, read_commits
from hybrid.upkeep.indexing import file_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.evaluation.qrels import JudgedQuery
    from hybrid.evaluation.trees import Configuration, Load
    from hybrid.index.history import History
    from hybrid.index.plan import Summary
    from hybrid.search.searcher import Searcher
    from hybrid.sources.git import CommitLog
    from hybrid.workspace import Workspace

RANKED = 50
"""Number of chunks asked for: enough for the first ten files of nearly every ranking."""
_BARE_STARTS = 3
"""Number of bare interpreter starts that are timed beside the queries of each repository."""


class Plan(Struct, frozen=True):
    """The queries, repositories and configurations of an evaluation.

    Attributes:
        judged: Queries by the name of their set; at least one.
        trees: Repository → its folder and the part of it that is indexed.
        configurations: Ways to search; at least one.
        only: Repositories whose absence is told; empty for all that are judged.
    """

    judged: Mapping[str, Sequence[JudgedQuery]]
    trees: Mapping[str, Tree]
    configurations: Sequence[Configuration]
    only: tuple[str, ...] = ()


class Evaluation(Struct):
    """The results of an evaluation.

    Attributes:
        results: Name of the set → its results.
        builds: Repository → summary of the build with the settings in force.
        model: Key of the embedder of the settings in force.
        bare_ms: Wall times of bare interpreter starts between the queries, to compare their times with.
    """

    results: dict[str, Results]
    builds: dict[str, Summary] = field(default_factory=dict[str, "Summary"])
    model: str = ""
    bare_ms: list[float] = field(default_factory=list[float])


def trees_of(
    judged: Iterable[JudgedQuery],
    folder: Path,
    *,
    roots: Mapping[str, str] | None = MappingProxyType({}),
    only: Sequence[str] = (),
    history: Path | None = None,
) -> dict[str, Tree]:
    """Return those of the queries' repositories that are on disk.

    Args:
        judged: Queries of any sets.
        folder: Holds a folder for each repository.
        roots: Repository → folder that comparable figures index, code alone; all code of a repository that is absent.
            None to index everything, docs too.
        only: Names of repositories; empty for all.
        history: Holds a clone for each repository whose commits tell; None when the repositories are such clones.

    Raises:
        QrelsError: None is there.
    """
    paths = repositories({query.repo for query in judged}, folder, only)
    return {
        name: Tree(
            path,
            WHOLE if roots is None else IndexScope(roots.get(name, ""), code_only=True),
            history / path.name if history else None,
        )
        for name, path in paths.items()
    }


def evaluate_retrieval(
    plan: Plan, home: Path, load: Load, *, report_repo: Callable[[str], None] = lambda _: None
) -> Evaluation:
    """Index each repository once and ask its queries in every configuration.

    Args:
        plan: The queries, repositories and configurations.
        home: Folder of the indexes.
        load: Gives the settings in force with assignments on top.
        report_repo: Called with the name of each repository before it is built.

    Raises:
        QrelsError: No query is about any of the repositories, or one names a commit that is not there.
        ModelError: The embedder cannot be loaded.
        ConfigError: The settings of a configuration are wrong.
    """
    opener = TreeOpener(plan.configurations, home, load)
    evaluation = Evaluation({name: Results(plan.configurations) for name in plan.judged}, model=opener.model)
    for repo, tree in plan.trees.items():
        asked = {name: [query for query in queries if query.repo == repo] for name, queries in plan.judged.items()}
        if not any(asked.values()):
            continue
        report_repo(repo)
        opened = opener.open(tree)
        evaluation.builds[repo] = opened.built
        evaluation.bare_ms += [time_ms(lambda: Runner(os.environ, home).run(*BARE)) for _ in range(_BARE_STARTS)]
        n_chars = _Sizes(opened.workspace)
        histories = _Histories(tree.history or tree.root)
        for name, queries in asked.items():
            evaluation.results[name].answered += _ask_all(
                opened.searchers, plan.configurations, queries, n_chars, histories
            )
    if not evaluation.builds:
        raise QrelsError("no query is about any of the repositories that are there")
    for name, queries in plan.judged.items():
        wanted = set(plan.only) or {query.repo for query in queries}
        evaluation.results[name].missing = tuple(sorted(wanted - evaluation.builds.keys()))
    return evaluation


def _ask_all(
    searchers: Mapping[str, Searcher],
    configurations: Sequence[Configuration],
    queries: Sequence[JudgedQuery],
    n_chars: _Sizes,
    histories: _Histories,
) -> list[Answered]:
    """Return every query's answer in every configuration; these take turns at being first, as warmth helps."""
    answered: list[Answered] = []
    for number, query in enumerate(queries):
        first = number % len(configurations)
        history = histories.before(query)
        for configuration in (*configurations[first:], *configurations[:first]):
            searcher = searchers[configuration.label].with_history(history)
            if number == 0 or history:  # What is made once for an open index or history is not part of a query.
                _search(searcher, query, configuration)
            answered.append(_ask(searcher, query, configuration, n_chars))
    return answered


def _ask(searcher: Searcher, query: JudgedQuery, configuration: Configuration, n_chars: _Sizes) -> Answered:
    ranking, latency_ms = timed(lambda: _search(searcher, query, configuration))
    scores = score(ranking, query.targets)
    scores[TOKENS] = tokens_to_hit(ranking, query.targets, [n_chars.of(passage) for passage in ranking[:DEPTH]])
    return Answered(query, configuration.label, ranking, scores, latency_ms)


def _search(searcher: Searcher, query: JudgedQuery, configuration: Configuration) -> tuple[FilePassage, ...]:
    result = searcher.search(make_query(query.text), top_k=RANKED, mode=configuration.mode)
    return tuple(FilePassage(hit.path, hit.start_line, hit.end_line) for hit in result.hits)


class _Histories:
    """The history of a repository as it was when a query was asked: without its own commit and later ones."""

    def __init__(self, root: Path) -> None:
        self._root = str(root.resolve())
        self._log = lru_cache(maxsize=1)(self._read)
        self._ancestors = lru_cache(maxsize=8)(ancestors)

    def before(self, query: JudgedQuery) -> History | None:
        """Return the history up to the commit that a query names; None when it names none.

        A commit whose subject is the query tells nothing: it may be the same change on another branch.

        Raises:
            QrelsError: There is no such commit, or no git.
        """
        if not query.known_at:
            return None
        try:
            commit = newest(self._root, query.known_at)
            if not commit:
                raise QrelsError(f"query {query.id}: {self._root} has no commit {query.known_at}")
            return known_at(self._log(), self._ancestors(self._root, commit), cleaned(query.text))
        except GitUnavailableError as error:
            raise QrelsError(f"query {query.id} names a commit, but in {self._root} {error}") from error

    def _read(self) -> CommitLog:
        """Return the whole log: names of files are those of its newest commit, to which the tree belongs."""
        return read_commits(self._root, newest(self._root), most=sys.maxsize)


class _Sizes:
    """The number of characters of passages as they stand in the files; 0 for a passage that is gone."""

    def __init__(self, workspace: Workspace) -> None:
        project = workspace.require_project()
        self._source = file_source(project.root, workspace.config.index, workspace.home)
        self._ends = lru_cache(maxsize=None)(self._read)

    def of(self, passage: FilePassage) -> int:
        ends = self._ends(passage.path)
        start, end = (passage.start_line or 1) - 1, min(passage.end_line or len(ends) - 1, len(ends) - 1)
        return ends[end] - ends[start] if start < end else 0

    def _read(self, path: str) -> list[int]:
        """Return 0 and, for each line, the number of characters up to its end, line ends counted."""
        ends = [0]
        for line in (self._source.read_text(path) or "").split("\n"):
            ends.append(ends[-1] + len(line) + 1)
        return ends


def write_run(path: Path, answered: Sequence[Answered]) -> None:
    """Write rankings as a run file: a line `{id, results: [{path, start_line, end_line}]}` for each query."""
    rows = ({"id": answer.query.id, "results": list(map(asdict, answer.ranking))} for answer in answered)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
