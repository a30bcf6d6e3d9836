"""One search through the pipeline: query, both legs, fusion; the same for commands, hooks and evaluation."""

from __future__ import annotations

import contextlib
import math
from copy import copy
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.errors import HybridError, IndexMismatchError, IndexMissingError, IndexUnavailableError, ModelError
from hybrid.base.tokens import query_tokens
from hybrid.index.backend import EVERYTHING, Filter
from hybrid.index.history import open_history
from hybrid.index.manifest import read_manifest
from hybrid.index.snapshot import open_snapshot
from hybrid.models.registry import embedder_info, embedder_of_key, load_embedder
from hybrid.prompting.project_questions import topic_of
from hybrid.prompting.query import narrowed, said_in_english
from hybrid.search.file_parts import FileParts
from hybrid.search.gate.verdict import open_gate
from hybrid.search.ranking.query_terms import most_telling, take_apart
from hybrid.search.ranking.ranker import Ranker
from hybrid.search.scores import fuse, relevance, rrf
from hybrid.types import EmbedderInfo
from hybrid.workspace import stand_ins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.config import Config
    from hybrid.constants import GateConfig, RankingConfig, SearchConfig
    from hybrid.index.backend import DenseLeg, Leg, SearchBackend
    from hybrid.index.history import History, Together
    from hybrid.index.manifest import Place
    from hybrid.prompting.query import Query
    from hybrid.search.gate.background import RecordReader
    from hybrid.search.gate.verdict import Gate, PromptPieces
    from hybrid.search.scores import Verdict
    from hybrid.types import Embedder, EmbedInput, Hit
    from hybrid.workspace import Workspace

Mode = Literal["hybrid", "dense", "lexical"]

_BELOW_TITLE = 0.5
"""Weight of the focus of a prompt in its vector, beside 1 for its title. Chosen by hand: 0 to 1 do alike."""
_CLEARLY = 1.5
"""How many times as near as its English words a prompt must be as it was typed, to be searched for as typed."""


class Searched(Struct, frozen=True):
    """The answer of one search, before gate and floor.

    Attributes:
        query: The query as it was given, before the gate narrowed it.
        mode: The legs that took part.
        n_candidates: Number of rows that a leg of a weight above 0 ranked.
        top_cosine: The raw top cosine of the query, or of the part searched for, in the whole collection; None when no
            chunk or not the query has a vector.
        top_bm25: The bm25 of the best ranked row; 0 when none holds a query term, or when a closed gate stopped.
        weights: Weights of the dense and the lexical leg in the fusion.
        hits: The hits, best first.
        verdict: Verdict of the calibrated gate; None when it was not asked, or the index has no calibration.
        parts: Tells the parts of the files that were found; None where nothing was looked for.
    """

    query: Query
    mode: Mode
    n_candidates: int
    top_cosine: float | None
    top_bm25: float
    weights: tuple[float, float]
    hits: tuple[Hit, ...]
    verdict: Verdict | None = None
    parts: FileParts | None = None


class Judging(Struct, frozen=True):
    """A request that the calibrated gate judges the prompt, in the same pass over the vectors as the search.

    Attributes:
        prompt: The prompt as the gate compares it, made for another collection of the same model; None to make it here.
        stops_when_closed: Look for no hits when the gate is closed.
        names_fitting: As of `Gate.judge`.
    """

    prompt: PromptPieces | None = None
    stops_when_closed: bool = False
    names_fitting: Callable[[int], bool] | None = None


class Searcher:
    """Searches one open index with the embedder it was built with; many queries, no state between them.

    Attributes:
        is_whole: Its backend holds all that can be found, not only figures of it.
        problem: Why the last search went without a part of what can be found; empty when it did not.
    """

    is_whole = True
    problem = ""

    def __init__(
        self,
        backend: SearchBackend,
        embedder: Embedder,
        settings: SearchConfig,
        gate: Gate | None = None,
        ranking: RankingConfig | None = None,
    ) -> None:
        """Take the parts of a search; without `ranking`, the weights of the evidence, the fused order stays.

        Earlier commits tell it nothing: see `with_history`.
        """
        self.backend = backend
        self.embedder = embedder
        self.gate = gate
        self.history: History | None = None
        self.lender: Path | None = None
        """The folder of another tree's index, when that one stands in for an index that is missing."""
        self._within, self._documents = "", frozenset[str]()
        self._settings = settings
        self._ranker = Ranker(backend, ranking) if ranking and settings.ranker == "evidence" else None
        self._lexical = self._lexical_leg()

    @property
    def stands_in(self) -> str:
        """A sentence on the index that answers in place of one that is missing; empty for the tree's own index."""
        whose = "the project around this one" if self._within else "another working tree of this project"
        return f"files: the index of {whose} answers until this one is indexed" if self.lender else ""

    def restricted(self, folder: str) -> Searcher:
        """Return a searcher of the files below a folder alone, whose hits have paths relative to that folder."""
        other = copy(self)
        other._within = f"{folder}/"
        live = self.backend.live_documents()
        other._documents = frozenset(path for path in live if path.startswith(other._within))
        return other

    def with_history(self, history: History | None) -> Searcher:
        """Return a searcher that is the same but for what earlier commits tell it; None tells nothing."""
        other = copy(self)
        other.history = history
        other._ranker = self._ranker.with_history(history) if self._ranker else None
        return other

    def with_reader(self, reader: RecordReader | None) -> Searcher:
        """Return a searcher whose gate counts what a sentence transformer read of the records; as it is with None."""
        if reader is None or self.gate is None:
            return self
        other = copy(self)
        other.gate = self.gate.with_reader(reader)
        return other

    def companions(self, path: str) -> tuple[int, list[Together]]:
        """Return the number of a file's commits and what changes with it, as `History.companions`; 0 untold.

        Files that are not searched are left out.
        """
        if self.history is None:
            return 0, []
        path, names = f"{self._within}{path}", self.backend.names
        found = [
            one._replace(path=one.path.removeprefix(self._within))
            for one in self.history.companions(path)
            if one.path.startswith(self._within)
            and any(known == one.path for _, known in names.files_called(one.path.split("/")))
        ]
        return self.history.n_commits_of(path), found

    def search(
        self,
        query: Query,
        *,
        top_k: int,
        mode: Mode = "hybrid",
        only: Filter = EVERYTHING,
        judging: Judging | None = None,
    ) -> Searched:
        """Search the collection.

        Args:
            query: Cleaned text.
            top_k: Hits to return at most.
            mode: `dense` or `lexical` leave the other leg out.
            only: Restricts the hits; the top cosine stays that of the whole collection.
            judging: Ask the calibrated gate too; None does not. When a part of the prompt opens the gate, that part is
                searched for: the rest is greetings, stories and deadlines. A prompt with a title is searched for whole.
        """
        settings = self._settings
        if self._within:
            path = f"{self._within}{only.path}" if only.path else ""
            only = replace(only, path=path, documents=self._documents)
        if not settings.languages:
            query = replace(query, english="")
        asked, query = query, said_in_english(query)
        if not settings.titles:
            query = replace(query, title="")
        vector = self._vector(query)
        dense, verdict = self._dense(asked, vector, only, judging)
        if asked.english and verdict is None:
            dense = self._nearer(dense, asked, only)
        if judging and judging.stops_when_closed and verdict and not verdict.is_open:
            return Searched(asked, mode, 0, dense.top, 0.0, self._weights(query, mode), (), verdict)
        if verdict and self.gate and (topic := topic_of(query.text)) and self._tells_of_project(topic):
            verdict = self.gate.opened(verdict)
        subject = query
        if verdict and verdict.subject and not query.title:
            subject = narrowed(query, verdict.subject)
            vector = self.embedder.embed_query(subject.focus)
            dense = self.backend.dense(vector, settings.depth, only)
        lexical = self._lexical(query_tokens(subject.text), settings.depth, only)
        weights, legs = self._weights(query, mode), (dense, lexical)
        ranked: Sequence[Hit] = ()
        if self._ranker and mode == "hybrid":
            ranked = self._ranker.rank(subject, legs, depth=settings.depth, top_k=top_k, only=only)
        found = {hit.row: hit for hit in ranked}
        more: list[int] = []
        if len(found) < top_k:
            fused = fuse(
                (dense.ranks, lexical.ranks), weights=weights, rrf_k=settings.rrf_k, tie_key=self.backend.tie_key
            )
            more = [row for row in fused if row not in found][: top_k - len(found)]
        if verdict and verdict.rows and only == EVERYTHING:  # What opened the gate is a hit, ranked by a leg or not.
            more = list(dict.fromkeys([*more, *(row for row in verdict.rows if row not in found)]))
        hits = [
            self._measured(hit, rank, legs, weights, is_ranked=bool(ranked))
            for rank, hit in enumerate([*ranked, *map(self.backend.get, more)], 1)
        ]
        n_candidates = len({*(dense.ranks if weights[0] > 0 else ()), *(lexical.ranks if weights[1] > 0 else ())})
        parts = FileParts(self.backend, dense, lexical, self._within)
        return Searched(asked, mode, n_candidates, dense.top, lexical.best, weights, tuple(hits), verdict, parts)

    def _tells_of_project(self, topic: str) -> bool:
        """Return whether a file answers questions of a topic about the project itself, if all of it is searched."""
        return self._ranker is not None and not self._within and self._ranker.tells_of_project(topic)

    def term_weights(self, query: Query) -> dict[str, float]:
        """Return term of a query → its worth, above 0: how much the query says it, times its idf over the chunks.

        Terms that no chunk holds are left out, and of a long query all but the most telling ones.
        """
        n_chunks, frequency = self.backend.n_chunks, self.backend.terms.document_frequency
        asked = most_telling(take_apart(said_in_english(query) if self.english(query) else query), n_chunks, frequency)
        return {term: said * math.log(1 + n_chunks / n) for term, said in asked.terms.items() if (n := frequency(term))}

    def english(self, query: Query) -> str:
        """Return a query in English words, if it is in another language and the settings let it be searched so."""
        return query.english if self._settings.languages else ""

    def _vector(self, query: Query) -> NDArray[np.float32]:
        """Return the vector of a query, of length 1 or 0: of its focus, and twice as much of its title, if it has one.

        Shape (dimensions,).
        """
        vector = self.embedder.embed_query(query.focus)
        if not query.title:
            return vector
        title = self.embedder.embed_query(query.title)
        both = np.add(title, vector * np.float32(_BELOW_TITLE), dtype=np.float32)
        length = float(np.linalg.norm(both))
        return np.divide(both, length, dtype=np.float32) if length > 0 else vector

    def _dense(
        self,
        query: Query,
        vector: NDArray[np.float32],
        only: Filter,
        judging: Judging | None,
    ) -> tuple[DenseLeg, Verdict | None]:
        depth = self._settings.depth
        if self.gate is None or judging is None:
            return self.backend.dense(vector, depth, only), None
        prompt = judging.prompt or self.gate.ask(query.text, self.english(query))
        leg, closest = self.backend.dense_with_pieces(vector, prompt.vectors, depth, only)
        return leg, self.gate.judge(prompt, closest, leg.top, judging.names_fitting)

    def _nearer(self, dense: DenseLeg, asked: Query, only: Filter) -> DenseLeg:
        """Return the leg of the words as they were typed, if clearly nearer: a project may speak their language.

        Loan words alone bring a prompt near to something in English code, too: so by half at least.
        """
        typed = self.backend.dense(self._vector(asked), self._settings.depth, only)
        return typed if (typed.top or 0.0) > _CLEARLY * (dense.top or 0.0) else dense

    def _weights(self, query: Query, mode: Mode) -> tuple[float, float]:
        settings = self._settings
        if mode != "hybrid":
            return (1.0, 0.0) if mode == "dense" else (0.0, 1.0)
        if query.is_symbol_like:
            return settings.symbol_dense_weight, settings.symbol_lexical_weight
        return settings.dense_weight, settings.lexical_weight

    def _lexical_leg(self) -> Callable[[Sequence[str], int, Filter], Leg]:
        if self._settings.lexical_engine == "postings":
            return self.backend.lexical
        from hybrid.search.reference import ReferenceLexical

        return ReferenceLexical(self.backend, k1=self._settings.bm25_k1, b=self._settings.bm25_b).lexical

    def _measured(
        self, hit: Hit, rank: int, legs: tuple[DenseLeg, Leg], weights: Sequence[float], *, is_ranked: bool
    ) -> Hit:
        """Return a hit with its figures in both legs; `is_ranked`: the ranker gave the share of the evidence."""
        cosine, bm25 = (leg.raw(hit.row) for leg in legs)
        ranks = [leg.ranks.get(hit.row) if weight > 0 else None for leg, weight in zip(legs, weights, strict=True)]
        share = hit.relevance
        if not is_ranked:
            share = relevance(cosine, bm25, top_cosine=legs[0].best, top_bm25=legs[1].best)
        return replace(
            hit,
            rank=rank,
            path=hit.path.removeprefix(self._within),
            cosine=cosine,
            cosine_rank=ranks[0],
            bm25=bm25,
            bm25_rank=ranks[1],
            rrf=rrf(ranks, weights=weights, rrf_k=self._settings.rrf_k),
            relevance=share,
        )


class _NoModel(Struct, frozen=True):
    """Stands for a model that is gone: no text has a vector, so that a search finds by words alone.

    Attributes:
        info: The identity of the model, as far as it is known.
    """

    info: EmbedderInfo

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return zeros, shape (dim,), for any text."""
        return self.embed_queries([text])[0][0]

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], None]:
        """Return zeros, shape (n_texts, dim), and no lengths."""
        return np.zeros((len(texts), self.info.dim), np.float32), None

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return zeros, shape (n_inputs, dim)."""
        return np.zeros((len(inputs), self.info.dim), np.float32)

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return that no input is too long, shape (n_inputs,)."""
        return np.zeros(len(inputs), np.bool_)


def open_by_words(workspace: Workspace) -> Searcher:
    """Open the index of a workspace for searching by words alone, whatever model it was built with; it has no gate.

    For a person who searches while the index waits to be embedded with another model. No prompt is answered by it.

    Raises:
        ProjectError: There is no project here.
        IndexUnavailableError: The index is missing, damaged, or of another format.
    """
    folder, search = workspace.place.folder, workspace.config.search
    backend = open_snapshot(folder, model=None, k1=search.bm25_k1, b=search.bm25_b, n_compared=search.compared)
    gone = EmbedderInfo(backend.manifest.model, backend.dim, "", 0, None, None)
    searcher = Searcher(backend, _NoModel(gone), search, None, workspace.config.ranking)
    return searcher.with_history(open_history(folder))


def open_searcher(workspace: Workspace, *, load: Callable[[str, Path], Embedder] | None = None) -> Searcher:
    """Open the index of a workspace for searching.

    A working tree without an index is searched through the newest of the project's other trees, or through the index of
    a project around it (`Searcher.lender`), until its own is built: a hit is read in the files of this tree.

    Args:
        workspace: A workspace with a project.
        load: Called with the name of a model and `$HYBRID_HOME`, returns the embedder; by default it is loaded anew.

    Raises:
        ProjectError: There is no project here.
        ModelError: The embedder cannot be loaded.
        IndexUnavailableError: The index is missing, damaged, or of another format or model.
    """
    config, home = workspace.config, workspace.home
    try:
        return open_collection(workspace.place, config, home, load=load)
    except IndexMissingError:
        for lender, folder in stand_ins(workspace):
            with contextlib.suppress(IndexUnavailableError, ModelError):
                searcher = open_collection(lender, config, home, load=load)
                searcher.lender = lender.folder
                return searcher.restricted(folder) if folder else searcher
        raise


def open_collection(
    place: Place,
    config: Config,
    home: Path,
    *,
    gate: GateConfig | None = None,
    load: Callable[[str, Path], Embedder] | None = None,
) -> Searcher:
    """Open any collection for searching: the files of a project, or its records.

    An index of another model than that of the settings is searched with its own model, as long as that very model can
    be loaded: until a build has made the new one whole, the old one answers, also when the new one is not there.

    Args:
        place: The paths of the collection's index.
        config: Settings in force.
        home: `$HYBRID_HOME`.
        gate: Rates and weights of the collection's gate; by default those of the settings.
        load: As in `open_searcher`.

    Raises:
        ModelError: The embedder cannot be loaded.
        IndexUnavailableError: The index is missing, damaged, or of another format or model.
    """

    def searcher(model: EmbedderInfo) -> Searcher:
        search = config.search
        backend = open_snapshot(
            place.folder, model=model.key, k1=search.bm25_k1, b=search.bm25_b, n_compared=search.compared
        )
        embedder = load(model.name, home) if load else load_embedder(model.name, home=home)
        if embedder.info.key != model.key:
            raise HybridError(f"model {model.name} changed while it was loaded; try again")
        opened = open_gate(backend, embedder, home, gate or config.gate)
        found = Searcher(backend, embedder, search, opened, config.ranking)
        return found.with_history(open_history(place.folder))

    try:
        return searcher(embedder_info(config.model.name, home=home))
    except (IndexMismatchError, ModelError):
        # What the own model needs may be uninstalled, too; and without an index nothing can be searched.
        with contextlib.suppress(ModelError, IndexMissingError):
            # A build that ends just now makes this the model of the settings: then this is the second try.
            own = embedder_of_key(read_manifest(place.folder).model, home)
            if own is not None:
                return searcher(own)
        raise
