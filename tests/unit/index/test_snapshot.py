from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.tokens import query_tokens, term_counts
from hybrid.index.analysis import NAME_FIELDS
from hybrid.index.backend import Filter
from hybrid.models.registry import HashingEmbedder
from hybrid.types import Chunk, Chunked, Definition, LineSpan
from tests.support.builders import ListSource, build_index, definitions_of, open_index, place_in, recipe, terms_of
from tests.support.cases import Case, cases, read
from tests.support.examples import examples
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.backend import Leg
    from hybrid.index.segment import Segment
    from hybrid.index.snapshot import Snapshot
    from hybrid.types import ChunkLimits, Document

PATHS = [
    "README.md",
    "app/[id]/page.py",
    "app/i/page.py",
    "docs/a b.md",
    "src/one.py",
    "src/sub/two.py",
    "src2/three.py",
    "weird/$^+(x).py",
    "weird/new\nline.py",
    "weird/\udce4.py",
]


def _texts(word: str = "shared") -> dict[str, str]:
    return {path: f"{word} text number{number}\n" for number, path in enumerate(PATHS)}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """An index of files with odd paths, in two segments."""
    place = place_in(tmp_path_factory.mktemp("paths"))
    source = ListSource({path: text for path, text in _texts().items() if not path.startswith("src")})
    build_index(place, source, max_segments=100)
    for path, text in _texts().items():
        source.texts.setdefault(path, text)
    build_index(place, source, max_segments=100)
    return open_index(place)


def _paths(snapshot: Snapshot, leg: Leg) -> list[str]:
    return [snapshot.get(entry.row).path for entry in ranking(leg)]


def _found(snapshot: Snapshot, only: Filter) -> list[str]:
    """Paths that both legs find under a filter, which must be the same."""
    lexical = sorted(_paths(snapshot, snapshot.lexical(query_tokens("shared"), 100, only)))
    dense = sorted(_paths(snapshot, snapshot.dense(HashingEmbedder().embed_query("shared"), 100, only)))
    assert lexical == dense
    return lexical


WHOLE = dict.fromkeys((".", "./", "*"), PATHS)
"""Paths that stand for the whole project."""
NAMED = frozenset({"src/one.py", "docs/a b.md", "gone.py"})


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        *((Filter(path=case.given()), case.json()) for case in read("index/filters.txt")),
        *((Filter(path=path), expected) for path, expected in WHOLE.items()),
        (Filter(kinds=()), PATHS),
        (Filter(kinds=("doc",)), ["README.md", "docs/a b.md"]),
        (Filter(kinds=("code",)), [path for path in PATHS if path.endswith(".py")]),
        (Filter(kinds=("code", "doc")), PATHS),
        (Filter(kinds=("lesson",)), []),
        (Filter(documents=NAMED), ["docs/a b.md", "src/one.py"]),
        (Filter(documents=frozenset()), []),
        (Filter(kinds=("code",), documents=NAMED), ["src/one.py"]),
        (Filter(kinds=("doc",), path="docs"), ["docs/a b.md"]),
        (Filter(kinds=("doc",), path="src"), []),
    ],
)
def test_a_filter(snapshot: Snapshot, only: Filter, expected: list[str]) -> None:
    """By path, by kind and by exactly the documents named, alone and together: it restricts both legs alike."""
    assert sorted(expected) == _found(snapshot, only)


def test_a_filter_restricts_before_the_best_are_taken(snapshot: Snapshot) -> None:
    """With depth 1 a filter still finds what lies far below in the whole ranking, with the same score."""
    query = HashingEmbedder().embed_query("shared text number0")
    only = Filter(path="src2")

    (entry,) = ranking(snapshot.dense(query, 1, only))
    everything = {entry.row: entry.raw for entry in ranking(snapshot.dense(query, 100))}
    assert ("src2/three.py", everything[entry.row]) == (snapshot.get(entry.row).path, entry.raw)


@given(st.text(max_size=8))
def test_any_text_is_a_path_filter(snapshot: Snapshot, path: str) -> None:
    """No text raises as a filter, and a path found by a glob without special signs lies in that folder."""
    rows = np.flatnonzero(snapshot.mask(Filter(path=path)))

    if not set("*?[.") & set(path) and path.strip("/"):
        assert all((snapshot.get(int(row)).path + "/").startswith(path.rstrip("/") + "/") for row in rows)


@pytest.mark.parametrize("depth", [1, 3, 9, 10, 11, 1000])
def test_depth(snapshot: Snapshot, depth: int) -> None:
    """A ranking has at most `depth` entries with ranks from 1, and is the beginning of a deeper one."""
    query = HashingEmbedder().embed_query("text number3")
    for deep, leg in (
        (snapshot.dense(query, 1000), snapshot.dense(query, depth)),
        (snapshot.lexical(["text", "number3"], 1000), snapshot.lexical(["text", "number3"], depth)),
    ):
        assert ranking(deep)[:depth] == ranking(leg)
        assert list(range(1, len(ranking(leg)) + 1)) == [entry.rank for entry in ranking(leg)]
        raw = [entry.raw for entry in ranking(leg)]
        assert sorted(raw, reverse=True) == raw


def test_ties_are_deterministic(tmp_path: Path) -> None:
    """Equal scores stand in order of digest, path and line, however the index came to be and however deep one looks."""
    texts = {
        f"{folder}/f.txt": f"equal {word}" for folder, word in zip("edcba", ["x", "y", "x", "z", "y"], strict=True)
    }
    build_index(place_in(tmp_path / "one"), ListSource(dict(texts)))
    source = ListSource({})
    for path, text in sorted(texts.items()):
        source.put(path, text)
        build_index(place_in(tmp_path / "two"), source, max_segments=100)
    one, two = (open_index(place_in(tmp_path / name)) for name in ("one", "two"))

    orders = [_paths(index, index.lexical(["equal"], depth)) for index in (one, two) for depth in (5, 100)]
    assert [orders[0]] * 4 == orders
    assert orders[0][:2] == _paths(two, two.lexical(["equal"], 2))
    keys = [one.tie_key(entry.row) for entry in ranking(one.lexical(["equal"], 5))]
    assert sorted(keys) == keys
    assert 3 == len({digest for digest, _, _ in keys})


def test_a_leg_tells_the_score_of_any_row(snapshot: Snapshot) -> None:
    """A row that is not among the best still has its score; one that holds no query term has none."""
    leg = snapshot.lexical(["number4"], 1)

    (best,) = ranking(leg)
    assert "src/one.py" == snapshot.get(best.row).path
    assert best.raw == leg.raw(best.row) == leg.top
    assert [None] * (snapshot.n_rows - 1) == [leg.raw(row) for row in range(snapshot.n_rows) if row != best.row]


def test_the_top_of_a_leg_is_that_of_the_whole_collection(snapshot: Snapshot) -> None:
    """A filter does not change the top score, which the gate reads."""
    query = HashingEmbedder().embed_query("number4 one")

    assert snapshot.dense(query, 5).top == snapshot.dense(query, 5, Filter(path="docs")).top
    assert snapshot.dense(query, 5, Filter(path="none")).top is not None


def test_a_chunk_without_a_vector_is_not_ranked_by_dense(tmp_path: Path) -> None:
    """A text without a known token has no vector: the dense leg leaves it out and figures count it."""
    place = place_in(tmp_path)
    build_index(place, ListSource({"a.txt": "words", "_": "+++"}))
    index = open_index(place)

    assert 2 == index.n_chunks
    assert ["a.txt"] == _paths(index, index.dense(HashingEmbedder().embed_query("words"), 10))
    assert (0, 1) == _vector_figures(index)


def _vector_figures(index: Snapshot) -> tuple[int, int]:
    """Chunks that the model read in part, and those without a vector."""
    figures = index.figures()
    return figures.n_cut, figures.n_without_vector


def test_a_query_without_a_vector_ranks_nothing(snapshot: Snapshot) -> None:
    """A query of zeros has no cosine to anything."""
    leg = snapshot.dense(HashingEmbedder().embed_query("?!"), 10)

    assert ((), None) == (ranking(leg), leg.top)


@pytest.mark.parametrize("tokens", [[], ["zzz"], ["zzz", "yyy", "zzz"], [""], ["\ud800"]], ids=ascii)
def test_unknown_tokens_rank_nothing(snapshot: Snapshot, tokens: list[str]) -> None:
    """A query of unknown tokens only, or of none, has no lexical hit and no scores."""
    leg = snapshot.lexical(tokens, 10)

    assert ((), None) == (ranking(leg), leg.top)
    assert [None] * snapshot.n_rows == [leg.raw(row) for row in range(snapshot.n_rows)]


@pytest.mark.parametrize("texts", [{}, {"a.py": ""}, {"a.py": "\n\n"}], ids=["no file", "empty", "blank"])
def test_an_empty_index(tmp_path: Path, texts: dict[str, str]) -> None:
    """An index without a chunk opens and answers with nothing."""
    place = place_in(tmp_path)
    build_index(place, ListSource(texts))
    index = open_index(place)

    assert (0, []) == (index.n_chunks, list(index.live_rows()))
    assert () == ranking(index.dense(HashingEmbedder().embed_query("a"), 10, Filter(path="src")))
    assert () == ranking(index.lexical(["a"], 10, Filter(kinds=("doc",))))
    assert (0, 0) == _vector_figures(index)


def test_an_index_whose_files_all_went(tmp_path: Path) -> None:
    """When every document is gone nothing is found, and what comes back is found again."""
    place = place_in(tmp_path)
    source = ListSource(_texts())
    build_index(place, source)
    source.texts.clear()
    build_index(place, source)
    assert 0 == open_index(place).n_chunks

    source.put("a.py", "shared")
    build_index(place, source)

    assert ["a.py"] == _found(open_index(place), Filter())


def test_blocks_smaller_than_the_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a block changes no cosine."""
    place = place_in(tmp_path)
    build_index(place, ListSource(_texts()))
    query = HashingEmbedder().embed_query("shared number3")
    whole = open_index(place).dense(query, 100)
    monkeypatch.setattr("hybrid.index.vectors._BLOCK_ROWS", 3)

    np.testing.assert_allclose(whole.scores, open_index(place).dense(query, 100).scores, atol=1e-6)


@examples(25)
@given(st.text(alphabet="abcde ", min_size=1))
def test_cosines_are_those_of_the_embedder(snapshot: Snapshot, text: str) -> None:
    """Cosines lie in −1 to 1 and differ from those of the unquantised vectors by less than 5e-3."""
    from hybrid.types import EmbedInput

    embedder = HashingEmbedder()
    query = embedder.embed_query(f"shared {text}")
    for entry in ranking(snapshot.dense(query, 100)):
        path = snapshot.get(entry.row).path
        (exact,) = embedder.embed_documents([EmbedInput(path, _texts()[path])]) @ query
        assert -1 <= entry.raw <= 1
        assert float(exact) == pytest.approx(entry.raw, abs=5e-3)


# --- what stands in a segment ----------------------------------------------------------------------------------

HAND_MADE = """class HttpClient:
    limit = 3

    def send(self):
        # Send again.
        return self.limit
"""


def _hand_chunked(document: Document, limits: ChunkLimits) -> Chunked:
    """One chunk of the whole document, described by hand."""
    del limits
    definitions = (
        Definition("HttpClient", "class", 1, 6, "class HttpClient", "net", 0, False),
        Definition("limit", "field", 2, 2, "limit = 3", "net.HttpClient", 1, True),
        Definition("send", "method", 4, 6, "def send(self)", "net.HttpClient", 300, False),
    )
    chunk = Chunk(
        1, document.text.count("\n"), "HttpClient", "class", "class HttpClient", "net", definitions, (LineSpan(5, 5),)
    )
    return Chunked((chunk,), "definitions")


@pytest.fixture
def hand_made(tmp_path: Path) -> Snapshot:
    """An index of one chunk whose every field is known."""
    place = place_in(tmp_path)
    build_index(place, ListSource({"lib/net/http_client.py": HAND_MADE}), how=recipe(chunk=_hand_chunked))
    return open_index(place)


def _fields(segment: Segment, term: str) -> tuple[int, dict[str, int]]:
    """Frequency of a term in the one chunk, in all and in each field."""
    span = segment.postings(term)
    (total,) = segment.post_tf[span].tolist()
    number = segment.term_numbers(term)
    assert number is not None
    columns = segment.arrays["field_tf"][:, segment.span("field_start", number)]
    remarks = segment.arrays["remark_tf"][segment.span("remark_start", number)].tolist()
    named = dict(zip(NAME_FIELDS, columns.sum(axis=1).tolist(), strict=True)) | {"comment": sum(remarks)}
    return total, {field: n for field, n in named.items() if n}


@cases("index/fields.txt")
def test_frequencies_per_field(hand_made: Snapshot, case: Case) -> None:
    """A posting counts the body and the names, scope, stem and folders; values and comments stand in the body already."""
    n, _, named = str(case.expected).partition(" ")

    assert (int(n), json.loads(named)) == _fields(hand_made.segments[0], case.text)


def test_terms_and_length_of_a_chunk(hand_made: Snapshot) -> None:
    """The terms of a row are those of its postings, and its length is their sum."""
    terms = terms_of(hand_made, 0)

    assert 3 == terms["http"]
    assert sum(terms.values()) == hand_made.segments[0].chunk_length[0]
    assert "py" not in terms


def test_terms_are_sorted_and_every_one_is_found(hand_made: Snapshot) -> None:
    """The vocabulary is sorted by bytes, and a look-up finds each term and nothing between them."""
    segment = hand_made.segments[0]
    terms = segment.texts("term")

    assert sorted(terms, key=str.encode) == terms
    assert [1] * len(terms) == [len(segment.post_row[segment.postings(term)]) for term in terms]
    assert [slice(0, 0)] * len(terms) == [segment.postings(term + "!") for term in terms]
    assert slice(0, 0) == segment.postings("") == segment.postings("\uffff")


def test_definitions_table(hand_made: Snapshot) -> None:
    """The definitions of a chunk come back without their signatures; a depth beyond 255 is cut."""
    segment = hand_made.segments[0]

    assert [
        Definition("HttpClient", "class", 1, 6, "", "net", 0, False),
        Definition("limit", "field", 2, 2, "", "net.HttpClient", 1, True),
        Definition("send", "method", 4, 6, "", "net.HttpClient", 255, False),
    ] == definitions_of(segment, 0)


def test_definitions_belong_to_their_chunk(tmp_path: Path) -> None:
    """In a segment of many chunks each has the definitions that start in it, and chunks of prose have headings only."""
    place = place_in(tmp_path)
    texts = {f"m{i}.py": f"def first_{i}():\n    pass\n\n\ndef second_{i}():\n    pass\n" for i in range(5)}
    build_index(place, ListSource(texts | {"a.txt": "nothing defined here"}))
    (segment,) = open_index(place).segments

    names = {
        segment.paths[int(segment.chunk_doc[row])]: [d.name for d in definitions_of(segment, row)]
        for row in range(segment.n_chunks)
    }
    assert {f"m{i}.py": [f"first_{i}", f"second_{i}"] for i in range(5)} | {"a.txt": []} == names


def test_view_of_a_chunk(hand_made: Snapshot) -> None:
    """A row shows everything a result needs."""
    view = hand_made.get(0)

    assert ("code", "lib/net/http_client.py", 1, 6, "HttpClient", "class", "net", "class HttpClient", "python", 16) == (
        view.kind,
        view.path,
        view.start_line,
        view.end_line,
        view.name,
        view.chunk_kind,
        view.scope,
        view.signature,
        view.language,
        len(view.digest),
    )


def test_sums_of_vectors(tmp_path: Path) -> None:
    """A segment keeps the sum of its vectors, and of each document the length of the sum of its own."""
    place = place_in(tmp_path)
    two = "# One\n\n" + "heron\n" * 200 + "\n# Two\n\n" + "stork\n" * 200
    build_index(place, ListSource({"a.txt": "one two", "_": "+++", "two.md": two, "empty.txt": ""}))
    (segment,) = open_index(place).segments
    vectors = segment.vector.astype(np.float32) * segment.vector_scale[:, None]

    expected = {path: np.zeros(vectors.shape[1], np.float32) for path in segment.paths}
    for row, doc in enumerate(segment.chunk_doc.tolist()):
        expected[segment.paths[doc]] += vectors[row]
    lengths = dict(zip(segment.paths, segment.arrays["doc_vector_length"].tolist(), strict=True))
    assert {path: pytest.approx(np.linalg.norm(total), abs=1e-5) for path, total in expected.items()} == lengths
    assert {"a.txt": pytest.approx(1, abs=1e-5), "_": 0.0, "empty.txt": 0.0} == {
        p: n for p, n in lengths.items() if p != "two.md"
    }
    assert 1 < lengths["two.md"] < np.count_nonzero(segment.chunk_doc == segment.paths.index("two.md"))
    np.testing.assert_allclose(vectors.sum(axis=0), segment.arrays["vector_sum"], atol=1e-5)


def test_lengths_of_text_and_comments(hand_made: Snapshot) -> None:
    """The lengths that the ranker divides by are those of the text and of its comments, without names and paths."""
    segment = hand_made.segments[0]

    assert [sum(term_counts(HAND_MADE).values())] == segment.arrays["chunk_body_length"].tolist()
    assert [2.0] == segment.arrays["chunk_remark_length"].tolist()
    assert segment.arrays["chunk_body_length"][0] < segment.chunk_length[0]


def test_full_definitions(hand_made: Snapshot) -> None:
    """Values are not full definitions, and neither is what is only announced."""

    assert [1, 0, 1] == hand_made.segments[0].arrays["def_is_full"].tolist()
    assert not Definition("send", "prototype", 1, 1, "", "", 0, False).is_full


def test_rows_of_vectors(snapshot: Snapshot) -> None:
    """Vectors are given for any rows of any segment, in the order that was asked for."""
    rows = np.array([snapshot.n_rows - 1, 0, 3, 0])
    found = snapshot.vectors(rows)

    assert 2 == len(snapshot.segments)
    for row, vector in zip(rows.tolist(), found, strict=True):
        assert row == snapshot.dense(vector, 1).rows[0]
    assert (0, snapshot.manifest.dim) == snapshot.vectors(rows[:0]).shape


def test_ranks_of_a_leg(snapshot: Snapshot) -> None:
    """The ranks of a leg are those of its ranking, and its best score is that of rank 1."""
    leg = snapshot.lexical(["text", "number3"], 4)

    assert {entry.row: entry.rank for entry in ranking(leg)} == leg.ranks
    assert ranking(leg)[0].raw == leg.best == leg.top
    assert ({}, 0.0) == (snapshot.lexical([], 4).ranks, snapshot.lexical([], 4).best)


def test_a_lone_surrogate_in_a_path_survives_a_rebuild(tmp_path: Path) -> None:
    """A file whose name is not UTF-8 is found, stays unchanged on the next run, and can be removed."""
    place, source = place_in(tmp_path), ListSource({"\udce4/\udcff.py": "def odd():\n    pass\n"})
    build_index(place, source)
    again = build_index(place, source)

    assert (0, 0, 0) == (again.added, again.changed, again.removed)
    assert ["\udce4/\udcff.py"] == _paths(open_index(place), open_index(place).lexical(["odd"], 5))
    source.texts.clear()
    assert 1 == build_index(place, source).removed
