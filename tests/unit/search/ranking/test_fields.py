from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.search.ranking.corpus import Corpus
from hybrid.search.ranking.fields import FileWords, WordScores
from tests.support.cases import project
from tests.support.examples import examples
from tests.unit.search.ranking.projects import Words, by_path, by_place, corpus_of, every_file, snapshot_of, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_B = 0.75
_K = TypeVar("_K")


class Expected(NamedTuple):
    """What `WordScores` must give, by place and by path."""

    chunks: dict[tuple[str, int], float]
    remarks: dict[tuple[str, int], float]
    files: dict[str, float]
    names: dict[str, float]


def reference(chunks: Sequence[Words], terms: Mapping[str, float]) -> Expected:
    """The scores from the formulas, chunk by chunk over the texts."""
    paths = sorted({chunk.path for chunk in chunks})
    mean_body = _mean([sum(chunk.body.values()) for chunk in chunks])
    mean_remark = _mean([sum(chunk.fields["comment"].values()) for chunk in chunks])
    mean_file = _mean([_of_file(chunks, path, lambda c: sum(c.body.values())) for path in paths])
    found = Expected(
        {c.place: 0.0 for c in chunks},
        {c.place: 0.0 for c in chunks},
        dict.fromkeys(paths, 0.0),
        dict.fromkeys(paths, 0.0),
    )

    def of_chunk(chunk: Words, term: str) -> float:
        long = sum(chunk.body.values())
        fields = {name: counts.get(term, 0) for name, counts in chunk.fields.items()}
        in_fields = 4 * fields["stem"] + 2 * fields["dir"] + 4 * fields["name"] + 2 * fields["scope"]
        return chunk.body.get(term, 0) / _norm(long, mean_body) + in_fields

    def of_remark(chunk: Words, term: str) -> float:
        long = sum(chunk.fields["comment"].values())
        return chunk.fields["comment"].get(term, 0) / _norm(long, mean_remark)

    def of_file(path: str, term: str) -> float:
        long = _of_file(chunks, path, lambda c: sum(c.body.values()))
        body = _of_file(chunks, path, lambda c: c.body.get(term, 0)) / _norm(long, mean_file)
        names = _of_file(chunks, path, lambda c: c.fields["name"].get(term, 0))
        first = next(chunk for chunk in chunks if chunk.path == path)
        return body + 3 * names + 8 * first.fields["stem"].get(term, 0) + 4 * first.fields["dir"].get(term, 0)

    def of_names(path: str, term: str) -> float:
        names = _of_file(chunks, path, lambda c: c.fields["name"].get(term, 0))
        return names + 0.3 * _of_file(chunks, path, lambda c: c.fields["value"].get(term, 0))

    for term, count in terms.items():
        variants = {term: 1.0} | dict.fromkeys(_kin(term, {t for c in chunks for t in c.vocabulary}), 0.4)
        holding = [c for c in chunks if c.vocabulary & variants.keys()]
        _add(
            found.chunks,
            {c.place: sum(w * of_chunk(c, v) for v, w in variants.items()) for c in holding},
            len(chunks),
            count,
            3,
        )
        said = [c for c in chunks if c.fields["comment"].get(term)]
        _add(found.remarks, {c.place: of_remark(c, term) for c in said}, len(chunks), count, 1.5)
        files = [path for path in paths if any(c.path == path and term in c.vocabulary for c in chunks)]
        _add(found.files, {path: of_file(path, term) for path in files}, len(paths), count, 3)
        named = {path: of_names(path, term) for path in paths}
        _add(found.names, {path: tf for path, tf in named.items() if tf}, len(paths), count, 2)
    return Expected(_by_best(found.chunks), _by_best(found.remarks), _by_best(found.files), _by_best(found.names))


def _add(scores: dict[_K, float], frequencies: Mapping[_K, float], n: int, count: float, k1: float) -> None:
    df = len(frequencies)
    for key, tf in frequencies.items():
        scores[key] += count * math.log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1)


def _of_file(chunks: Sequence[Words], path: str, count: Callable[[Words], int]) -> int:
    return sum(count(chunk) for chunk in chunks if chunk.path == path)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _norm(length: float, mean: float) -> float:
    return 1 - _B + _B * length / (mean or 1e-9)


def _by_best(scores: dict[_K, float]) -> dict[_K, float]:
    top = max(scores.values(), default=0.0)
    return {key: value / top if top else 0.0 for key, value in scores.items()}


def _kin(term: str, vocabulary: set[str]) -> list[str]:
    """The relatives by their definition: a beginning of at least four letters, or five letters and ¾ in common."""
    if len(term) < 4 or not term.isalpha():
        return []
    found: list[str] = []
    for other in vocabulary - {term}:
        if not other.isalpha() or len(other) > len(term) + 5:
            continue
        short = min(len(term), len(other))
        shared = next((i for i, (x, y) in enumerate(zip(term, other, strict=False)) if x != y), short)
        if (short >= 4 and shared == short) or (shared >= 5 and shared >= 0.75 * short):
            found.append(other)
    return sorted(found, key=lambda other: (abs(len(other) - len(term)), other))[:8]


def _agrees(corpus: Corpus, terms: Mapping[str, float], expected: Expected) -> FileWords:
    files = WordScores(corpus, terms).of_files(every_file(corpus), 100)
    for name, found in (("chunks", by_place(corpus, files.chunks)), ("remarks", by_place(corpus, files.remarks))):
        assert getattr(expected, name) == pytest.approx(found, abs=1e-5), name
    for name, found in (("files", by_path(corpus, files.files)), ("names", by_path(corpus, files.names))):
        assert getattr(expected, name) == pytest.approx(found, abs=1e-5), name
    return files


PROJECT = project("projects/router.txt")
QUERIES = {
    "one word": {"rout": 1.0},
    "a word nobody wrote": {"submarin": 1.0},
    "kin alone": {"session": 1.0, "sessionwis": 1.0},
    "a word as often as said": {"request": 1.7, "handler": 0.4},
    "a compound": {"add_rout": 1.0, "open_session": 1.0},
    "a folder": {"src": 1.0},
    "a constant": {"limit": 1.0},
    "none": {},
}


@pytest.mark.parametrize("terms", QUERIES.values(), ids=QUERIES)
def test_scores_after_edits(tmp_path: Path, terms: dict[str, float]) -> None:
    """Scores are those of the formulas; tombstoned chunks count neither for lengths nor frequencies, and a word that only they hold is nobody's kin."""
    before = PROJECT | {
        "src/router.py": "def routine():\n    return 'routeless routines of a routinely routed route'\n" * 9,
        "src/gone.py": "# A request for a submarine session.\ndef request_submarine(session):\n    return LIMIT\n" * 5,
    }
    corpus = corpus_of(tmp_path, before, PROJECT)

    assert corpus.backend.figures().n_segments > 1
    assert corpus.n_live < corpus.n_rows
    _agrees(corpus, terms, reference(words_of(PROJECT), terms))


_WORDS = ["alpha", "alphas", "alphabet", "beta", "betaField", "gamma_ray", "gammas", "x"]
_LINES = st.one_of(
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(lambda words: "print('" + " ".join(words) + "')"),
    st.sampled_from(_WORDS).map(lambda word: f"def {word}():\n    # About {word}.\n    return 1\n\n"),
    st.sampled_from(_WORDS).map(lambda word: f"{word.upper()} = 1"),
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(lambda words: "# " + " ".join(words)),
)
_FILES = st.dictionaries(
    st.sampled_from(["alpha.py", "beta/alpha.py", "beta/gamma_ray.py", "a/b/c/alphabet/x.py", "tests/test_beta.py"]),
    st.lists(_LINES, min_size=1, max_size=6).map("\n".join),
    max_size=5,
)
_TERMS = st.dictionaries(
    st.sampled_from(["alpha", "alphabet", "beta", "betafield", "field", "gamma", "gamma_rai", "rai", "x", "test", "q"]),
    st.sampled_from([0.2, 1.0, 2.3]),
    max_size=4,
)


@examples(60)
@given(st.lists(_FILES, min_size=1, max_size=3), st.lists(_TERMS, min_size=1, max_size=3))
def test_scores_of_any_history(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[dict[str, str]],
    queries: list[dict[str, float]],
) -> None:
    """After any edits, over several segments with dead documents, the scores are those of the final texts."""
    corpus = corpus_of(tmp_path_factory.mktemp("fields"), *history)
    chunks = words_of(history[-1])

    for terms in queries:
        files = _agrees(corpus, terms, reference(chunks, terms))
        for values in (files.shares, files.chunks, files.remarks, files.files, files.names):
            assert not len(values) or (0 <= values.min() and values.max() <= 1)


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_the_best_chunks(tmp_path: Path, depth: int) -> None:
    """`best` holds the rows with the highest scores, best first, none that nothing was found in."""
    corpus = corpus_of(tmp_path, PROJECT)
    every = every_file(corpus)
    files = WordScores(corpus, {"handler": 1.0, "close": 1.0}).of_files(every, depth)

    values = files.shares.tolist()
    assert sorted(values, reverse=True) == values == files.chunks[np.searchsorted(every.rows, files.best)].tolist()
    assert min(depth, int((files.chunks > 0).sum())) == len(values)
    assert 1.0 == values[0] == files.chunks.max()


def test_rarity_is_that_of_live_chunks(tmp_path: Path) -> None:
    """The idf of a term counts the chunks that can be found, and a term nobody wrote has the highest."""
    texts = {f"{i}.txt": "common seldom" if i == 0 else "common" for i in range(4)}
    dead = {f"dead{i}.txt": "common seldom" for i in range(3)}
    corpus = corpus_of(tmp_path, texts | dead, texts)
    idf = WordScores(corpus, {"common": 1.0, "seldom": 1.0, "never": 1.0}).idf

    assert corpus.n_rows > corpus.n_live == 4
    assert {
        "common": pytest.approx(math.log(1 + 0.5 / 4.5)),
        "seldom": pytest.approx(math.log(1 + 3.5 / 1.5)),
        "never": pytest.approx(math.log(1 + 4.5 / 0.5)),
    } == idf


def test_removed_files_of_a_large_segment_make_no_weight_negative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the files that hold a word are counted with those that were removed: a word of all files adds little."""
    monkeypatch.setattr("hybrid.index.drafting.LEAST_ROWS", 50)
    monkeypatch.setattr("hybrid.index.lookup.LEAST_ROWS", 50)
    texts = {f"src/f{n}.py": f"def harbour():\n    return ship{n}\n" for n in range(100)}
    kept = {path: text for n, (path, text) in enumerate(texts.items()) if n >= 45}
    corpus = corpus_of(tmp_path, texts, kept | {"src/x.py": "nothing = 1\n"})
    files = WordScores(corpus, {"harbour": 1.0}).of_files(every_file(corpus), 9)
    by = by_path(corpus, files.files), by_path(corpus, files.names)

    assert 100 == corpus.n_rows - 1 > corpus.n_live
    for found in by:
        assert 0 == found["src/x.py"] < min(found[path] for path in kept)
        assert 1 >= max(found.values())


def test_a_corpus_without_a_chunk(tmp_path: Path) -> None:
    """An empty project and one whose files all went give empty scores, and no division by zero."""
    nothing: dict[str, str] = {}
    for name, history in (("empty", [nothing]), ("gone", [PROJECT, nothing])):
        corpus = Corpus(snapshot_of(tmp_path / name, *history))
        files = WordScores(corpus, {"rout": 1.0}).of_files(every_file(corpus), 9)
        assert 0 == np.count_nonzero(files.chunks) == np.count_nonzero(files.files) == len(files.best)


def test_at_most_eight_relatives_the_nearest_first(tmp_path: Path) -> None:
    """Of many relatives the eight nearest in length count; one that only a dead file holds takes nobody's place."""
    kin = [f"stream{'abcdefghijklmno'[i] * (1 + i // 4)}" for i in range(14)]
    texts = {f"{word}.txt": f"{word} {word}" for word in kin}
    corpus = corpus_of(tmp_path, texts | {"streama.txt": "streamz", "gone.txt": "streamy"}, texts)

    terms = {"stream": 1.0}
    files = _agrees(corpus, terms, reference(words_of(texts), terms))
    assert 8 == np.count_nonzero(list(by_place(corpus, files.chunks).values()))
