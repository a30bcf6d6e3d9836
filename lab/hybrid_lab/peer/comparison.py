"""Runs another retriever beside hybrid, on the same files, queries and vectors; `hybrid eval peer` calls it.

Each build and each round of queries is a process of its own, ours and theirs in turn. Before a tree, a process indexes
one file of it, which takes the cost of a start. Both sides answer the same jobs,
a JSON file named on the command line, with one line of JSON:

    describe → name, version, python
    build    → load_s, start_s, build_s, files, chunks, index_bytes
    query    → load_s, open_s, times_ms, rankings: [[path, start_line, end_line], …] of each query

`hybrid_side` answers for hybrid, `semble_side` for semble. This module asks, scores and sums up.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field

import hybrid
from hybrid.base.errors import HybridError
from hybrid.evaluation.measures import DEPTH, FilePassage, mean_of, score
from hybrid.evaluation.retrieval import repositories
from hybrid.evaluation.timing import BARE, Runner, machine, runner
from hybrid_lab.peer.figures import PeerReport, RepoFigures, Round, side_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.config import Loaded
    from hybrid.evaluation.measures import JudgedQuery

PEER_SCRIPT = Path(__file__).with_name("semble_side.py")
WARM_UP = (
    "where is the configuration read",
    "how are errors reported to the caller",
    "parse_arguments",
    "Client",
    "which part writes the output file",
    "close the connection when the timeout has passed",
    "HttpRequest.send",
    "tests of the command line",
)
"""Asked before the clock starts: what loads on first use is loaded, and no judged query was heard before."""

_EXPECTED = {
    "describe": ("name", "version", "python"),
    "build": ("start_s", "build_s", "files", "chunks", "index_bytes"),
    "query": ("open_s", "times_ms", "rankings"),
}
"""What the answer to each job must hold."""

_PACKAGE = Path(hybrid.__file__).resolve().parent
_THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""As the product runs: with more, the answer to one query comes no sooner."""


class PeerError(HybridError):
    """The peer cannot be run, or does not answer as it should."""


class PeerPlan(Struct, frozen=True):
    """The repositories and settings of a comparison.

    Attributes:
        queries: Judged.
        repos: Folder that holds a folder for each repository.
        python: Interpreter in whose environment the peer is installed.
        roots: Repository → folder that is indexed, code files only; a repository that is absent is taken whole.
        only: Names of repositories; empty for all.
        rounds: Builds of each repository by each side, and processes that ask its queries.
        script: Answers the jobs with the peer.
    """

    queries: Sequence[JudgedQuery]
    repos: Path
    python: str
    roots: Mapping[str, str] = field(default_factory=dict[str, str])
    only: tuple[str, ...] = ()
    rounds: int = 3
    script: Path = PEER_SCRIPT


class Side(Struct, frozen=True):
    """One of the two that are compared.

    Attributes:
        name: Of the product.
        version: Of it.
        python: Version of its interpreter.
        runner: Starts that interpreter.
        command: Its arguments, the job's file left out.
        bare_peak_bytes: Of that interpreter doing nothing; None where the system does not tell.
    """

    name: str
    version: str
    python: str
    runner: Runner
    command: tuple[str, ...]
    bare_peak_bytes: int | None

    def ask(self, job: Mapping[str, Any], folder: Path) -> Round:
        """Its answer to a job, whose file is written into a folder.

        Raises:
            HybridError: The process failed, or the answer is not of the form that is expected.
        """
        watched = self.runner.watch(*self.command, str(_write_job(folder, job)))
        answer = _parse(watched.output, job["action"], self.runner.python)
        above = None
        if watched.peak_bytes is not None and self.bare_peak_bytes is not None:
            above = watched.peak_bytes - self.bare_peak_bytes
        return Round(answer, watched.seconds, above)


def evaluate_peer(
    plan: PeerPlan, scratch: Path, loaded: Loaded, *, report_repo: Callable[[str], None] = lambda _: None
) -> PeerReport:
    """Build and ask every repository with both sides.

    Args:
        plan: What to do.
        scratch: Folder for indexes, which are removed after each round.
        loaded: Settings in force; both sides load the model that they name.
        report_repo: Hears the name of each repository before it is built.

    Raises:
        QrelsError: No judged repository is there.
        PeerError: The peer cannot be run.
        HybridError: A process failed.
    """
    judged = {query.repo for query in plan.queries}
    found = repositories(judged, plan.repos, plan.only)
    theirs, ours = _their_side(plan, scratch), _our_side(scratch, loaded)
    figures: dict[str, RepoFigures] = {}
    for name, root in found.items():
        report_repo(name)
        queries = [query for query in plan.queries if query.repo == name]
        job = {
            "root": str(root.resolve()),
            "folder": plan.roots.get(name, ""),
            "source": str(_PACKAGE),
            "model": loaded.config.model.name,
            "queries": [query.text for query in queries],
            "warm_up": WARM_UP,
            "top_k": DEPTH,
            "constants": ours.runner.constants,
        }
        figures[name] = _compare(ours, theirs, job, queries, scratch, plan.rounds)
    return PeerReport(
        repositories=figures,
        ours=f"{ours.name} {ours.version}",
        theirs=f"{theirs.name} {theirs.version}",
        pythons=(ours.python, theirs.python),
        model=loaded.config.model.name,
        ranker=loaded.config.search.ranker,
        rounds=plan.rounds,
        machine=machine(),
        missing=tuple(sorted((set(plan.only) or judged) - found.keys())),
    )


def first_tree(root: Path, queries: Sequence[JudgedQuery], target: Path) -> Path:
    """Make a folder with one file of a repository: of those that the queries ask for, the middle one by size.

    Both sides can read such a file, while most of a tree may be data that one of them leaves out. It stays empty when
    none of the files is there.
    """
    asked_for = {root / wanted.path for query in queries for wanted in query.targets}
    files = sorted((path for path in asked_for if path.is_file()), key=lambda path: (path.stat().st_size, path))
    target.mkdir()
    for path in files[len(files) // 2 :][:1]:
        shutil.copy(path, target)
    return target.resolve()


def _compare(
    ours: Side, theirs: Side, job: Mapping[str, Any], queries: Sequence[JudgedQuery], scratch: Path, rounds: int
) -> RepoFigures:
    """Both sides in turn; who begins changes from round to round."""
    built: tuple[list[Round], list[Round]] = ([], [])
    asked: tuple[list[Round], list[Round]] = ([], [])
    for number in range(rounds):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        with tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as folder:
            homes = (Path(folder) / "ours", Path(folder) / "theirs")
            first = str(first_tree(Path(job["root"]), queries, Path(folder) / "first"))
            for action, answers in (("build", built), ("query", asked)):
                for which in order:
                    homes[which].mkdir(exist_ok=True)
                    places = {"home": str(homes[which]), "index": str(homes[which] / "index")}
                    asked_for = {**job, **places, "action": action, "first": first}
                    answers[which].append((ours, theirs)[which].ask(asked_for, Path(folder)))
    mine, peer = (
        side_figures(built[which], asked[which], _scores(asked[which][0], queries, side.name))
        for which, side in enumerate((ours, theirs))
    )
    return RepoFigures(n_queries=len(queries), ours=mine, theirs=peer)


def _scores(asked: Round, queries: Sequence[JudgedQuery], name: str) -> dict[str, float]:
    """The mean of each measure over the queries of a repository."""
    rankings = asked.answer["rankings"]
    if len(rankings) != len(queries):
        raise PeerError(f"{name} answered {len(rankings)} of {len(queries)} queries")
    ranked = [tuple(FilePassage(*place) for place in ranking) for ranking in rankings]
    return mean_of([score(ranking, query.targets) for ranking, query in zip(ranked, queries, strict=True)])


# --- the two sides -----------------------------------------------------------------------------------------


def _our_side(scratch: Path, loaded: Loaded) -> Side:
    home = scratch / "settings"
    home.mkdir(exist_ok=True)
    own = runner(home, loaded, {**os.environ, **_THREADS}, takes_constants=True)
    return _introduced(own, ("-m", "hybrid_lab.peer.hybrid_side"), scratch)


def _their_side(plan: PeerPlan, scratch: Path) -> Side:
    """The peer, which must not see packages of this environment, write into its user's folders, or use the network.

    Raises:
        PeerError: The interpreter cannot be started, or the peer is not installed there.
    """
    cache = scratch / "cache"
    cache.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    own = {"SEMBLE_CACHE_LOCATION": str(cache), "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"}
    # Sets of strings come in another order in each process; scores that are equal would be ranked anew each time.
    environ = {**kept, **_THREADS, **own, "PYTHONHASHSEED": "0"}
    theirs = Runner(environ, cwd=cache, python=_interpreter(plan.python))
    return _introduced(theirs, (str(plan.script.resolve()),), scratch)


def _interpreter(python: str) -> str:
    """The absolute path of an interpreter; links stay, since the one of an environment is a link out of it.

    Raises:
        PeerError: There is none of this name.
    """
    found = shutil.which(python)
    if found is None:
        raise PeerError(
            f"there is no interpreter {python}; --peer-python names one in whose environment the peer is installed"
        )
    return str(Path(found).absolute())


def _introduced(own: Runner, command: tuple[str, ...], scratch: Path) -> Side:
    bare = own.watch(*BARE).peak_bytes
    who = _parse(own.run(*command, str(_write_job(scratch, {"action": "describe"}))), "describe", own.python)
    return Side(str(who["name"]), str(who["version"]), str(who["python"]), own, command, bare)


def _write_job(folder: Path, job: Mapping[str, Any]) -> Path:
    path = folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    return path


def _parse(output: str, action: str, who: str) -> dict[str, Any]:
    """The last line of an output as an object.

    Raises:
        PeerError: It is none, says that a package is missing, or lacks what the job asks for.
    """
    line = (output.strip().splitlines() or [""])[-1]
    try:
        parsed: object = json.loads(line)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise PeerError(f"{who} answered {line[:100]!r} where one line of JSON was expected")
    answer = cast("dict[str, Any]", parsed)
    if missing := answer.get("missing"):
        raise PeerError(f"{missing} is not installed for {who}; `{who} -m pip install {missing}` does it")
    if lacking := [key for key in _EXPECTED[action] if key not in answer]:
        raise PeerError(f"{who} answered the job {action} without {', '.join(lacking)}")
    return answer
