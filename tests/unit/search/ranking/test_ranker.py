from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.index.backend import Filter
from hybrid.index.columns import ScannedLeg
from hybrid.prompting.query import make_query
from hybrid.search.ranking.ranker import Ranker
from tests.support.examples import examples
from tests.unit.search.ranking.projects import only, paths, places, rank, snapshot_of, weights

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.constants import RankingConfig
    from hybrid.index.snapshot import Snapshot

FILLER = "one two three four five six seven eight nine ten\n"


def _section(word: str, more: str = "") -> str:
    """A section too long to be merged with the next."""
    return f"# {word}\n\n" + f"{word} {more}\n" * 120 + "\n"


BIRDS = {
    "birds/heron.py": '"""Herons of the lake."""\n\n\ndef find_heron(lake):\n    """Find a heron."""\n    return lake.heron\n',
    "birds/stork.py": "def find_stork(roof):\n    # Storks like roofs more than herons do.\n    return roof.stork\n",
    "tests/test_heron.py": "def test_find_heron():\n    assert find_heron(None) is None\n",
    "docs/birds.md": "# Birds\n\nThe heron stands in the reed.\n\n# Roofs\n\nThe stork stands on the roof.\n",
    "other.txt": FILLER,
}


@pytest.fixture
def birds(tmp_path: Path) -> Snapshot:
    """A small project."""
    return snapshot_of(tmp_path / "birds", BIRDS)


def test_the_best_file_first(tmp_path: Path, birds: Snapshot) -> None:
    """The file whose name, definition and text say what is asked stands first, its test below it."""
    found = paths(birds, rank(birds, "where is a heron found", weights(tmp_path)))

    assert "birds/heron.py" == found[0]
    assert found.index("birds/stork.py") > found.index("tests/test_heron.py")


@pytest.mark.parametrize("query", ["find_heron", "how do storks stand", "a test of birds/heron.py", "roof"])
def test_pieces_add_up(tmp_path: Path, birds: Snapshot, query: str) -> None:
    """The share of a chunk is the sum of its pieces through that of the best file, and first chunks stand in its order."""
    ranked = rank(birds, query, weights(tmp_path))
    sums = [sum(chunk.evidence.values()) for chunk in ranked]

    assert sums[0] == max(sums) > 0
    assert [max(value / sums[0], 0) for value in sums] == pytest.approx([chunk.relevance for chunk in ranked], abs=1e-3)
    firsts = list(dict.fromkeys(paths(birds, ranked)))
    of_path = dict(zip(paths(birds, ranked), sums, strict=True))
    assert sorted(firsts, key=lambda path: -of_path[path]) == firsts


def test_one_chunk_a_file_then_next_ones(tmp_path: Path) -> None:
    """A file far ahead shows its second and third chunk at half and a quarter of its worth, and never a fourth."""
    far = "".join(_section("heron", f"lake{i}") for i in range(5))
    snapshot = snapshot_of(
        tmp_path, {"heron.md": far, "a.md": _section("heron", FILLER), "b.md": FILLER * 40, "c.md": _section("reed")}
    )
    ranked = rank(snapshot, "heron", weights(tmp_path))

    found = paths(snapshot, ranked)
    assert 3 == found.count("heron.md")
    assert "heron.md" == found[0]
    assert len(ranked) == len({chunk.row for chunk in ranked})
    value = {path: sum(chunk.evidence.values()) for path, chunk in zip(found, ranked, strict=True)}
    worth = [value[path] / 2 ** found[:at].count(path) for at, path in enumerate(found)]
    assert sorted(worth, reverse=True) == pytest.approx(worth, rel=0.5)


def test_a_next_chunk_is_nearly_as_good(tmp_path: Path) -> None:
    """A second chunk that says much less of what is asked than the first is not shown."""
    texts = {"heron.md": _section("heron", "lake") + _section("mountain", FILLER), "other.txt": FILLER}
    ranked = rank(snapshot_of(tmp_path, texts), "heron at the lake", weights(tmp_path))

    snapshot = snapshot_of(tmp_path / "again", texts)
    assert [("heron.md", 1)] == [place for place in places(snapshot, ranked) if place[0] == "heron.md"]


def test_the_chunk_that_stands_for_a_file(tmp_path: Path) -> None:
    """Of a file its chunk that defines what is asked for is shown, or the one that holds the line that is named."""
    text = "".join(
        f"def bird_{name}():\n" + f"    call('{name} lake')\n" * 60 + "\n\n" for name in ("heron", "stork", "crane")
    )
    snapshot = snapshot_of(tmp_path, {"birds.py": text, "other.txt": FILLER})

    for query, line in (
        ("bird_stork", 64),
        ("bird_crane", 127),
        ("birds.py:70 fails", 64),
        ("birds.py:130 fails", 127),
    ):
        assert ("birds.py", line) == places(snapshot, rank(snapshot, query, weights(tmp_path)))[0], query


def test_a_filter(tmp_path: Path, birds: Snapshot) -> None:
    """What may not be shown is left out; the rest keeps its order and its evidence."""
    everything = rank(birds, "find_heron", weights(tmp_path))
    only_tests = rank(birds, "find_heron", weights(tmp_path), kept=Filter(path="tests"))
    nothing = rank(birds, "find_heron", weights(tmp_path), kept=Filter(path="nowhere"))

    assert ["tests/test_heron.py"] == paths(birds, only_tests)
    (unfiltered,) = [chunk for chunk in everything if chunk.row == only_tests[0].row]
    assert (unfiltered.evidence, 1.0) == (only_tests[0].evidence, only_tests[0].relevance)
    assert [] == nothing


def test_a_filter_of_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of which only some chunks may be shown is shown with the best of those."""
    snapshot = snapshot_of(tmp_path, {"heron.md": _section("heron") + _section("reed")})
    rows = {snapshot.get(row).start_line: row for row in snapshot.live_rows()}
    last = rows[max(rows)]
    monkeypatch.setattr(snapshot, "allows", lambda _, asked: asked == last)

    assert [last] == [chunk.row for chunk in rank(snapshot, "heron", weights(tmp_path))]


def test_what_is_gone_is_not_found(tmp_path: Path) -> None:
    """Chunks of removed and replaced files never come back, even as candidates that nothing is said of."""
    after = {path: text for path, text in BIRDS.items() if path != "birds/heron.py"}
    snapshot = snapshot_of(tmp_path / "index", BIRDS, after | {"birds/stork.py": "stork = 1\n"})

    assert snapshot.n_rows > snapshot.n_chunks
    for query in ("find_heron", "find_stork", "birds/heron.py", "zzz", ""):
        found = rank(snapshot, query, weights(tmp_path))
        assert {chunk.row for chunk in found} <= set(snapshot.live_rows())
        assert "birds/heron.py" not in paths(snapshot, found)


def test_equal_evidence_in_order_of_paths(tmp_path: Path) -> None:
    """Files with the same evidence stand in order of their paths, however the index came to be and however many are asked for."""
    names = ["e/heron.txt", "a/heron.txt", "d/heron.txt", "b/heron.txt", "c/heron.txt"]
    states = [dict.fromkeys(names[: n + 1], "a heron") for n in range(len(names))]
    one, two = snapshot_of(tmp_path / "one", states[-1]), snapshot_of(tmp_path / "two", *states)
    settings = only(tmp_path, "best_words", "file_name")

    assert 5 == len(two.segments)
    for snapshot in (one, two):
        for top_k in (1, 3, 9):
            assert sorted(names)[:top_k] == paths(snapshot, rank(snapshot, "heron", settings, top_k=top_k))


def test_negative_evidence(tmp_path: Path) -> None:
    """Files that only speak against themselves come last, the worst at the end, with a share of 0."""
    texts = {
        "plain.txt": "heron",
        "tests/heron.md": _section("heron", "a") + _section("heron", "b"),
        "tests/dist/heron.txt": "heron",
    }
    snapshot = snapshot_of(tmp_path, texts)
    shipped = weights(tmp_path)
    settings = weights(tmp_path, **(dict.fromkeys(shipped.__struct_fields__, 0.0) | {"test": -1.0, "generated": -1.0}))
    ranked = rank(snapshot, "heron", settings)

    assert ["plain.txt", "tests/heron.md", "tests/dist/heron.txt"] == list(dict.fromkeys(paths(snapshot, ranked)))
    assert {0.0} == {chunk.relevance for chunk in ranked}
    assert [0.0, -1.0, -2.0] == sorted({sum(chunk.evidence.values()) for chunk in ranked}, reverse=True)


def test_what_a_query_names_is_a_candidate(tmp_path: Path) -> None:
    """A file that defines what is named, or whose path is named, is found even when no leg ranks it."""
    texts = {f"{i}.txt": "find heron " * 9 for i in range(9)} | {"src/deep/odd.py": "class FindHeron:\n    size = 1\n"}
    snapshot = snapshot_of(tmp_path, texts)

    assert "src/deep/odd.py" not in paths(snapshot, rank(snapshot, "find heron", only(tmp_path, "defines"), depth=2))
    for query in ("find_heron", "why does src/deep/odd.py fail to find a heron"):
        named = only(tmp_path, "defines", "path")
        assert "src/deep/odd.py" == paths(snapshot, rank(snapshot, query, named, depth=2))[0], query


def test_an_empty_file_that_is_named(tmp_path: Path) -> None:
    """A file without a chunk cannot be shown, and what is said of it is said of no other file."""
    snapshot = snapshot_of(tmp_path, {"a.txt": "stork", "pkg/__init__.py": "", "pkg/bird.py": "heron = 1\n"})

    for chunk in rank(snapshot, "the heron of pkg/__init__.py", weights(tmp_path)):
        assert 0 == chunk.evidence["path"] == chunk.evidence["file_name"]


@pytest.mark.parametrize("query", ["", "?!", "zzzz"])
def test_a_query_that_says_nothing(tmp_path: Path, birds: Snapshot, query: str) -> None:
    """Without a word that is known there is no evidence by words, and whatever is given is finite."""
    for chunk in rank(birds, query, weights(tmp_path)):
        assert 0 == chunk.evidence["best_words"] == chunk.evidence["file_words"] == chunk.evidence["defines"]
        assert np.isfinite(list(chunk.evidence.values())).all()


def test_the_dead_have_no_cosine(tmp_path: Path) -> None:
    """When every chunk points away from the query, the nearest living one still has the whole evidence by sense."""
    texts = {f"{i}.txt": f"bird number {i}" for i in range(3)}
    snapshot = snapshot_of(tmp_path, texts | {"gone.txt": "bird"}, texts)
    rows = sorted(snapshot.live_rows(), key=lambda row: snapshot.get(row).path)
    scores = np.full(snapshot.n_rows, np.nan)
    scores[rows] = [-0.5, -0.2, -0.8]
    dense = ScannedLeg(np.array([rows[1], rows[0], rows[2]]), scores, snapshot.fields)
    nothing = ScannedLeg(np.zeros(0, np.int64), np.full(snapshot.n_rows, np.nan), snapshot.fields)

    ranker = Ranker(snapshot, only(tmp_path, "best_sense", "file_sense"))
    ranked = ranker.rank(make_query("zzz"), (dense, nothing), depth=9, top_k=9)

    assert snapshot.n_rows > len(rows)
    assert ("1.txt", {"best_sense": 1.0, "file_sense": 1.0}) == (paths(snapshot, ranked)[0], dict(ranked[0].evidence))


# --- an index that grew is one that was built anew ---------------------------------------------------------------

_WORDS = ["heron", "herons", "heronry", "stork", "nest", "nesting", "find_heron", "Stork", "reed", "REED_LIMIT"]
_LINES = st.one_of(
    st.sampled_from(_WORDS).map(
        lambda word: f"def {word}(lake):\n    # The {word} of a lake.\n    return lake.{word}\n\n"
    ),
    st.sampled_from(_WORDS).map(
        lambda word: f"class {word}Nest:\n    {word} = 1\n\n    def show_{word}(self):\n        pass\n\n"
    ),
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6).map(lambda words: "# " + " ".join(words)),
    st.tuples(st.sampled_from(_WORDS), st.integers(40, 140)).map(
        lambda pair: f"# {pair[0]}\n\n" + f"{pair[0]}\n" * pair[1]
    ),
)
_STATE = st.dictionaries(
    st.sampled_from(
        [
            "heron.py", "src/nest.py", "src/heron/find.py", "tests/test_nest.py", "v1/reed.py", "v2/reed.py",
            "docs/stork.md", "docs/heron.md", "vendor/stork.py", "_.txt",
        ]
    ),
    st.lists(_LINES, max_size=4).map("\n".join),
    max_size=7,
)  # fmt: skip
_QUERY = st.lists(
    st.sampled_from([*_WORDS, "unknown", "src/nest.py", "docs/heron.md:50", "test", "v1", "the", "Nest", "crane"]),
    max_size=6,
).map(" ".join)


def _same(anew: Snapshot, grown: Snapshot, query: str, settings: RankingConfig, top_k: int) -> None:
    expected, found = (rank(snapshot, query, settings, top_k=top_k) for snapshot in (anew, grown))
    assert places(anew, expected) == places(grown, found), query
    for one, other in zip(expected, found, strict=True):
        assert dict(one.evidence) == pytest.approx(dict(other.evidence), abs=1e-4), (query, places(anew, [one]))
        assert one.relevance == pytest.approx(other.relevance, abs=1e-3)


@examples(30)
@given(
    st.lists(_STATE, min_size=2, max_size=4),
    st.lists(_QUERY, min_size=1, max_size=4),
    st.sampled_from([1, 2, 100]),
    st.sampled_from([3, 1000]),
)
def test_an_index_that_grew_ranks_as_one_built_anew(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[dict[str, str]],
    queries: list[str],
    max_segments: int,
    top_k: int,
) -> None:
    """After any edits, with segments, tombstones and merges, the same chunks stand in the same order on the same evidence."""
    folder = tmp_path_factory.mktemp("grown")
    anew = snapshot_of(folder / "anew", history[-1])
    grown = snapshot_of(folder / "grown", *history, max_segments=max_segments)

    for query in queries:
        _same(anew, grown, query, weights(folder), top_k)
