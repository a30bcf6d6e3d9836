"""Asks judged queries of indexed repositories and scores the rankings; `hybrid eval` and the laboratory call it.

A repository is any folder: neither git nor `.hybrid/` has to be there. It is opened once for all configurations in
which it will be searched. The index lies in a scratch home, and nothing is written into the tree.

A figure is comparable with the semble benchmark when only the code files of each repository's benchmark folder are
indexed; the whole repository, docs and tests included, is what a user has.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from hybrid.base.errors import ConfigError
from hybrid.config import load, parse_text
from hybrid.evaluation.measures import DEPTH, TOKENS, FilePassage, QrelsError, score, tokens_to_hit
from hybrid.evaluation.results import Answered, Configuration, Results
from hybrid.evaluation.timing import BARE, Runner, time_ms, timed
from hybrid.index.analysis import DATA_LANGUAGES
from hybrid.index.build import build
from hybrid.index.history_build import known_at
from hybrid.index.plan import BuildTask, BuildTools
from hybrid.models.registry import load_embedder
from hybrid.project.find import FOLDER_NAME, Project, hybrid_home
from hybrid.prompting.query import make_query
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.searcher import Searcher, open_searcher
from hybrid.sources.git import GitUnavailableError, ancestors, cleaned, newest, read_commits
from hybrid.types import Skipped
from hybrid.upkeep.indexing import file_source, recipe_of
from hybrid.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from hybrid.config import Config, Loaded
    from hybrid.evaluation.measures import JudgedQuery
    from hybrid.index.history import History
    from hybrid.index.plan import Summary
    from hybrid.search.searcher import Mode
    from hybrid.sources.git import CommitLog
    from hybrid.types import Document, Embedder, Found, Source

    Load = Callable[[Sequence[str]], Loaded]
    """The settings in force with `section.key=value` assignments on top."""


class IndexScope(Struct, frozen=True):
    """The part of a repository that is indexed.

    Attributes:
        folder: Only files in this folder, relative to the repository; empty for all.
        code_only: Leave out documents of the kind doc, and data and configuration (JSON, YAML, XML, …).
        held_out: Lines that are blank for the index; the other lines keep their numbers.
        left_out: Paths of files that are no documents here.
        variant: A text that tells indexes of one scope apart that are built differently.
    """

    folder: str = ""
    code_only: bool = False
    held_out: tuple[FilePassage, ...] = ()
    left_out: tuple[str, ...] = ()
    variant: str = ""

    @property
    def label(self) -> str:
        """A text that tells scopes of one repository apart, so that one home can hold an index of each."""
        label = f"{self.folder}|{'code' if self.code_only else 'all'}"
        more = [part for part in (self.held_out, self.left_out, self.variant) if part]
        return "|".join([label, *map(repr, more)])


WHOLE = IndexScope()


@contextlib.contextmanager
def scratch_home(chosen: Path | None) -> Generator[Path]:
    """Give a folder for the indexes: the chosen one, which stays, or a temporary one, which is removed."""
    if chosen is not None:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="hybrid-eval-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


def repositories(names: Iterable[str], folder: Path, only: Iterable[str] = ()) -> dict[str, Path]:
    """Return those of the named repositories that lie in a folder, in order of name.

    Args:
        names: Names of repositories; one with a slash lies in a folder of its last part.
        folder: The folder that holds one folder for each.
        only: Restricts the names; empty for all.

    Raises:
        QrelsError: None of them is there.
    """
    wanted = set(names) & set(only) if only else set(names)
    paths = {name: folder / name.rpartition("/")[2] for name in sorted(wanted)}
    paths = {name: path for name, path in paths.items() if path.is_dir()}
    if not paths:
        shown = ", ".join(sorted(wanted)[:5]) or "no name is left"
        raise QrelsError(f"{folder} holds none of the judged repositories ({shown}); --repos names their parent folder")
    return paths


def settings_by_key(assignments: Iterable[str]) -> dict[str, object]:
    """Return key → value of `section.key=value` assignments, as on a command line.

    Raises:
        ConfigError: An assignment is none, or its value is none of the setting.
    """
    values: dict[str, object] = {}
    for assignment in assignments:
        key, sign, text = assignment.partition("=")
        if not sign:
            raise ConfigError(f"{assignment!r}: a setting is given as section.key=value")
        values[key.strip()] = parse_text(key.strip(), text.strip())
    return values


def settings_in_force(
    assignments: Iterable[str] = (), *, environ: Mapping[str, str] = os.environ, folder: Path | None = None
) -> Loaded:
    """Return the user's settings with `section.key=value` assignments on top.

    Args:
        assignments: Assignments, as on a command line.
        environ: Environment variables.
        folder: `.hybrid/` of a project whose own settings count too.

    Raises:
        ConfigError: An assignment or the user's settings are wrong.
    """
    flags = settings_by_key(assignments)
    loaded = load(home=hybrid_home(environ), project_folder=folder, is_accepted=True, environ=environ, flags=flags)
    if loaded.own_problems:
        raise ConfigError("; ".join(loaded.own_problems))
    return loaded


def workspace_at(root: Path, home: Path, loaded: Loaded, scope: IndexScope = WHOLE) -> Workspace:
    """Return a workspace in which a folder is the top of a project, with an index of its own for the scope."""
    root = root.resolve()
    key, tree = (hashlib.sha256(text.encode()).hexdigest()[:16] for text in (str(root), f"{root}|{scope.label}"))
    project = Project(
        root=root,
        name=root.name,
        key=key,
        worktree=False,
        tree=tree,
        is_git=(root / ".git").exists(),
        main_root=root,
        has_folder=(root / FOLDER_NAME).is_dir(),
        reason="evaluation",
    )
    return Workspace(home, project, loaded)


def build_index(workspace: Workspace, scope: IndexScope = WHOLE, *, embedder: Embedder | None = None) -> Summary:
    """Bring the index of a workspace up to date, restricted to a scope.

    The restriction is made before indexing, so that statistics come from what is in the scope and nothing else.

    Raises:
        ModelError: The embedder cannot be loaded.
        BusyError: Another process builds in the same home.
    """
    settings = workspace.config.index
    source: Source = file_source(workspace.require_project().root, settings, workspace.home)
    if scope != WHOLE:
        source = ScopedSource(source, scope)
    embedder = embedder or load_embedder(workspace.config.model.name, home=workspace.home)
    annotator = GateAnnotator(embedder, workspace.home)
    tools = BuildTools(source, embedder, recipe_of(settings), annotator, settings.workers)
    return build(workspace.place, tools, BuildTask(max_segments=settings.max_segments))


def _is_program(document: Document) -> bool:
    return document.kind == "code" and document.language not in DATA_LANGUAGES


class ScopedSource:
    """The documents of another source that lie in a scope; fulfils `hybrid.types.Source`."""

    def __init__(self, source: Source, scope: IndexScope) -> None:
        self._source = source
        self._scope = scope

    def scan(self) -> Iterator[Found]:
        """Yield the files of the scope, as `Source.scan` does."""
        prefix = f"{self._scope.folder}/" if self._scope.folder else ""
        left_out = self._scope.left_out
        files = self._source.scan()
        return (each for each in files if each.path.startswith(prefix) and each.path not in left_out)

    def read(self, found: Found) -> Document | Skipped:
        """Read a file as `Source.read` does: other kinds are skipped as `out_of_scope`, held-out lines are blank."""
        document = self._source.read(found)
        if isinstance(document, Skipped):
            return document
        if self._scope.code_only and not _is_program(document):
            return Skipped(found.path, "out_of_scope")
        held_out = [passage for passage in self._scope.held_out if passage.path == found.path]
        return _without(document, held_out) if held_out else document

    @property
    def skipped(self) -> Mapping[str, int]:
        """Return the counts of skipped files, as `Source.skipped` does."""
        return self._source.skipped


def _without(document: Document, held_out: Sequence[FilePassage]) -> Document:
    """Return the document with the held-out lines blank."""
    lines = document.text.split("\n")
    for passage in held_out:
        start, end = passage.start_line or 1, min(passage.end_line or len(lines), len(lines))
        lines[start - 1 : end] = [""] * max(0, end - start + 1)
    text = "\n".join(lines)
    return replace(document, text=text, digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


# --- configurations ---------------------------------------------------------------------------------------


MODES: tuple[Mode, ...] = ("dense", "lexical", "hybrid")
"""The modes of search: each leg alone, then both."""

_KINDS = {
    "bm25 at all": ("best_words", "sum_words", "file_words", "definition_words", "remarks", "opening"),
    "cosine at all": ("best_sense", "sum_sense", "file_sense", "feedback"),
}
"""Pieces of evidence that come from one leg's way to compare; names and paths are left on."""


def in_force(modes: Sequence[Mode]) -> list[Configuration]:
    """Return a configuration with the settings in force for each mode, labelled with the mode."""
    return [Configuration(mode, (), mode) for mode in modes]


def against(settings: Sequence[str], mode: Mode) -> Configuration:
    """Return a configuration with settings on top of those in force, labelled with these settings."""
    return Configuration(", ".join(settings), tuple(settings), mode)


def ablations(config: Config, mode: Mode) -> list[Configuration]:
    """Return configurations with one thing off each: a leg, the ranker, a kind of evidence, a weighted piece of it.

    Args:
        config: The settings in force; without the evidence ranker its pieces have no say, and only the legs are left.
        mode: Mode of what they are compared with; a leg can only be switched off where both take part.
    """
    configurations: list[Configuration] = []
    if mode == "hybrid":
        configurations += [
            Configuration("lexical leg alone", (), "lexical"),
            Configuration("dense leg alone", (), "dense"),
        ]
    if config.search.ranker != "evidence":
        return configurations
    configurations.append(Configuration("fusion alone", ("search.ranker=rrf",), mode))
    weighted = [name for name, weight in asdict(config.ranking).items() if weight]
    off = {name: tuple(f"ranking.{piece}=0" for piece in pieces) for name, pieces in _KINDS.items()}
    off |= {name: (f"ranking.{name}=0",) for name in weighted}
    return [*configurations, *(Configuration(f"no {name}", settings, mode) for name, settings in off.items())]


# --- opening ----------------------------------------------------------------------------------------------


class JudgedTree(Struct, frozen=True):
    """A repository on disk, and what of it is indexed.

    Attributes:
        root: Its folder.
        scope: What is indexed.
        history: A clone whose commits tell about files, up to the commit that a query names, checked out where `root`
            is; None for `root`.
    """

    root: Path
    scope: IndexScope
    history: Path | None = None


class Opened(Struct, frozen=True):
    """A repository that can be searched.

    Attributes:
        searchers: Label of a configuration → its searcher.
        workspaces: Label of a configuration → the workspace with its settings.
        built: Summary of the build with the settings in force.
        workspace: The workspace with the settings in force.
    """

    searchers: dict[str, Searcher]
    workspaces: dict[str, Workspace]
    built: Summary
    workspace: Workspace


class TreeOpener:
    """Opens repositories for a fixed list of configurations; an embedder is loaded once."""

    def __init__(self, configurations: Sequence[Configuration], home: Path, load: Load) -> None:
        """Make an opener.

        Args:
            configurations: At least one.
            home: Folder of the indexes.
            load: Gives the settings in force with assignments on top.

        Raises:
            ConfigError: The settings in force or those of a configuration are wrong.
        """
        self._home = home
        self._in_force = load(())
        self._loaded = {each.label: load(each.settings) for each in configurations}
        self._embedder = cache(_load_embedder)

    @property
    def model(self) -> str:
        """Key of the embedder that the settings in force name."""
        return self._embedder(self._in_force.config.model.name, self._home).info.key

    def open(self, tree: JudgedTree) -> Opened:
        """Build each index that the configurations need, and open it once.

        Raises:
            ModelError: An embedder cannot be loaded.
            BusyError: Another process builds in the same home.
        """
        workspace = self._workspace(tree, self._in_force)
        built = self._build(tree, workspace)
        indexes = {_index_key(self._in_force): workspace}
        opened: dict[tuple[str, float, float], Searcher] = {}
        searchers: dict[str, Searcher] = {}
        workspaces: dict[str, Workspace] = {}
        for label, loaded in self._loaded.items():
            key, search = _index_key(loaded), loaded.config.search
            if key not in indexes:
                indexes[key] = self._workspace(tree, loaded)
                self._build(tree, indexes[key])
            searched = workspaces[label] = replace(indexes[key], loaded=loaded)
            place = (key, search.bm25_k1, search.bm25_b)
            if place not in opened:
                opened[place] = open_searcher(searched, load=self._embedder)
            first = opened[place]
            # The same open index, with the settings of this configuration.
            searchers[label] = Searcher(first.backend, first.embedder, search, first.gate, loaded.config.ranking)
        return Opened(searchers, workspaces, built, workspace)

    def _workspace(self, tree: JudgedTree, loaded: Loaded) -> Workspace:
        return workspace_at(tree.root, self._home, loaded, self._scope(tree, loaded))

    def _build(self, tree: JudgedTree, workspace: Workspace) -> Summary:
        embedder = self._embedder(workspace.config.model.name, self._home)
        return build_index(workspace, self._scope(tree, workspace.loaded), embedder=embedder)

    def _scope(self, tree: JudgedTree, loaded: Loaded) -> IndexScope:
        key = _index_key(loaded)
        return tree.scope if key == _index_key(self._in_force) else replace(tree.scope, variant=key)


def _load_embedder(name: str, home: Path) -> Embedder:
    return load_embedder(name, home=home)


def _index_key(loaded: Loaded) -> str:
    """Return a digest of the settings that determine the content of an index."""
    config = loaded.config
    index = replace(config.index, workers=0, auto=True, auto_max_files=0, watch=True, quota_mb=1)
    content = replace(index, roots=())  # They order hits.
    return hashlib.sha256(repr((content, config.model)).encode()).hexdigest()[:16]


# --- asking -------------------------------------------------------------------------------------------------


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
    trees: Mapping[str, JudgedTree]
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
) -> dict[str, JudgedTree]:
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
        name: JudgedTree(
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
