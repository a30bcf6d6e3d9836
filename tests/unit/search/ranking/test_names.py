from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.tokens import part_terms
from hybrid.prompting.query import make_query
from hybrid.search.ranking.corpus import Corpus
from hybrid.search.ranking.evidence import fit_of_names, named_files, score_names, shares, words_of_paths
from hybrid.search.ranking.query_terms import take_apart
from hybrid.types import Chunk, Chunked, Definition
from tests.support.builders import build_index, open_index, place_in, recipe
from tests.support.cases import Case, cases
from tests.support.examples import examples
from tests.unit.search.ranking.projects import (
    EMBEDDER,
    Texts,
    best_of_files,
    by_path,
    by_place,
    corpus_of,
    every_file,
    numbers_in,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hybrid.types import ChunkLimits, Document

DEFINITIONS = {
    "router.cpp": ("Router::add", "function", 0, False),
    "router.h": ("Router::add", "prototype", 0, False),
    "server.py": ("HttpServer", "class", 0, False),
    "serve.py": ("serve_forever", "method", 1, False),
    "limits.py": ("MAX_LIMIT", "constant", 0, True),
    "field.py": ("maxLimit", "field", 2, True),
    "same.py": ("httpserver", "function", 0, False),
}
"""Path → name, kind, depth and whether it is a value, of the one definition there."""


def _one_definition(document: Document, limits: ChunkLimits) -> Chunked:
    """One chunk with the definition that the table says."""
    del limits
    name, kind, depth, is_value = DEFINITIONS[document.path]
    definition = Definition(name, kind, 1, 1, name, "", depth, is_value)
    return Chunked((Chunk(1, 1, name, kind, name, "", (definition,)),), "definitions")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """One definition a file, in two segments."""
    place, source = place_in(tmp_path_factory.mktemp("names")), Texts({})
    for number, path in enumerate(sorted(DEFINITIONS)):
        source.put(path, f"text {number}")
        if number == 3:
            build_index(place, source, EMBEDDER, how=recipe(chunk=_one_definition), max_segments=100)
    build_index(place, source, EMBEDDER, how=recipe(chunk=_one_definition), max_segments=100)
    return Corpus(open_index(place, EMBEDDER))


def _defines(corpus: Corpus, text: str) -> dict[str, float]:
    """Path → how surely it defines what a query names, without zeros."""
    asked = take_apart(make_query(text))
    files = every_file(corpus)
    found = by_path(corpus, files.best(score_names(corpus, asked).of_rows(files.rows)))
    return {path: value for path, value in found.items() if value}


@cases("ranking/definitions.txt")
def test_the_definition_of_a_named_symbol(corpus: Corpus, case: Case) -> None:
    """Exact spelling 1, other case or underscores 0.7; values and prototypes × 0.3, nested × 0.8, a capital word × 0.5."""
    assert pytest.approx(numbers_in(case.expected)) == _defines(corpus, case.text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Admin.get_rows", {"admin.py": 0.8, "inline.py": 0.4}, id="one owner"),
        pytest.param("InlineAdmin.get_rows", {"admin.py": 0.4, "inline.py": 0.8}, id="the other"),
        pytest.param("Other.get_rows", {"admin.py": 0.8, "inline.py": 0.8}, id="inherited"),
        pytest.param("get_rows", {"admin.py": 0.8, "inline.py": 0.8}, id="no owner"),
    ],
)
def test_the_owner_of_a_named_method_decides(tmp_path: Path, text: str, expected: dict[str, float]) -> None:
    """Of methods of one name the one of the owner that is named comes first; an owner without it decides nothing."""
    body = "class {0}:\n    def get_rows(self):\n        return []\n"
    place = place_in(tmp_path)
    build_index(place, Texts({"admin.py": body.format("Admin"), "inline.py": body.format("InlineAdmin")}), EMBEDDER)

    found = _defines(Corpus(open_index(place, EMBEDDER)), text)

    assert expected == pytest.approx({path: found[path] for path in expected})


def _fit(of_query: float, of_name: float) -> float:
    return 2 * of_query * of_name / (of_query + of_name)


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ({"http": 0.5, "server": 0.5}, {"server.py": 1.0}),
        ({"server": 0.25, "stop": 0.75}, {"server.py": _fit(0.25, 6 / 10)}),
        ({"httpserver": 1.0}, {"same.py": 1.0}),
        ({"serv": 0.5, "forever": 0.5}, {"serve.py": 1.0}),
        ({"max": 0.2, "limit": 0.8}, {"limits.py": 0.5, "field.py": 0.5}),
        ({"add": 0.4, "rout": 0.6}, {"router.cpp": _fit(0.4, 1), "router.h": 0.5 * _fit(0.4, 1)}),
        ({"router": 0.4, "add": 0.6}, {"router.cpp": 1.0, "router.h": 0.5}),
        ({"stop": 1.0}, {}),
        ({}, {}),
    ],
)
def test_agreement_of_a_name_with_the_words(
    corpus: Corpus, share: dict[str, float], expected: dict[str, float]
) -> None:
    """The harmonic mean of the covered shares of query and name; the last part of a qualified name is a name too."""
    fit = fit_of_names(corpus, share, every_file(corpus))
    found = by_path(corpus, best_of_files(corpus, fit))

    assert {path: pytest.approx(value) for path, value in expected.items()} == {p: v for p, v in found.items() if v}


_NAMES = ["add_route", "addRoute", "Router", "route_table", "LIMIT", "routeLimit", "x", "add"]
_FILES = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "c/d.py"]),
    st.lists(
        st.tuples(st.sampled_from(_NAMES), st.booleans()).map(
            lambda pair: f"{pair[0]} = 1\n" if pair[1] else f"def {pair[0]}():\n    return {pair[0]}\n\n"
        ),
        min_size=1,
        max_size=4,
    ).map("".join),
    max_size=3,
)


def _best_fit(texts: Mapping[str, str], share: Mapping[str, float]) -> dict[str, float]:
    """Path → the best agreement among its definitions, one after the other."""
    from hybrid.chunking.chunker import chunk_document
    from tests.support.builders import LIMITS

    found: dict[str, float] = {}
    source = Texts(dict(texts))
    for entry in source.scan():
        found[entry.path] = 0.0
        for chunk in chunk_document(source.read(entry), LIMITS).chunks:
            for definition in chunk.definitions:
                terms = set(part_terms(definition.name))
                said = terms & share.keys()
                if said:
                    of_name = sum(map(len, said)) / sum(map(len, terms))
                    value = _fit(sum(share[term] for term in said), of_name)
                    found[entry.path] = max(found[entry.path], value if definition.is_full else 0.5 * value)
    return found


@examples(25)
@given(
    st.lists(_FILES, min_size=1, max_size=2),
    st.sets(st.sampled_from(["add", "rout", "router", "limit", "tabl"]), min_size=1),
)
def test_agreement_in_any_project(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]], words: set[str]
) -> None:
    """The best agreement of each file is what comparing every name with the query gives, after edits too."""
    share = {word: 1 / len(words) for word in sorted(words)}
    corpus = corpus_of(tmp_path_factory.mktemp("fit"), *history)
    fit = fit_of_names(corpus, share, every_file(corpus))

    assert _best_fit(history[-1], share) == pytest.approx(by_path(corpus, best_of_files(corpus, fit)), abs=1e-5)
    assert all(0 <= value <= 1 for value in by_place(corpus, fit).values())


@cases("ranking/named_files.txt")
def test_a_file_that_is_named(tmp_path: Path, case: Case) -> None:
    """Each word of its name is a word of the query, its kin or an abbreviation, each said once; folders do not count."""
    names = "session_manager.py session.py cfg.py logger.go pkg/__init__.py msgParser.ts __.py ab.py route_path.py"
    corpus = corpus_of(tmp_path, dict.fromkeys(names.split(), "text"))
    found = by_path(corpus, named_files(corpus, case.text.split(), every_file(corpus)))

    assert {0.0, 1.0} >= set(found.values())
    assert case.expected == " ".join(path for path in names.split() if found.get(path))


def test_words_of_paths(tmp_path: Path) -> None:
    """The share of the query that folders and name of a file cover together, each word once."""
    texts = dict.fromkeys(["http/server/http_pool.py", "http/client.py", "docs/a.md"], "text")
    corpus = corpus_of(tmp_path, texts)
    share = {"http": 0.5, "pool": 0.125, "server": 0.25, "never": 0.125}

    assert {"http/server/http_pool.py": 0.875, "http/client.py": 0.5, "docs/a.md": 0.0} == by_path(
        corpus, words_of_paths(corpus, share, every_file(corpus))
    )


def test_names_of_files_after_edits(tmp_path: Path) -> None:
    """Over several segments each file keeps its own name; those of dead files are not among what can be found."""
    before = {"pool.py": "one", "gone/pool.py": "two", "server.py": "three"}
    after = {"pool.py": "other", "server.py": "three", "new/pool.py": "four"}
    corpus = corpus_of(tmp_path, before, after)

    assert {"pool.py": 1.0, "new/pool.py": 1.0, "server.py": 0.0} == by_path(
        corpus, named_files(corpus, ["pool"], every_file(corpus))
    )
    assert {"pool.py": 0.0, "new/pool.py": 0.5, "server.py": 0.0} == by_path(
        corpus, words_of_paths(corpus, {"new": 0.5}, every_file(corpus))
    )


def test_shares_of_a_query() -> None:
    """Words weigh by their rarity and add up to 1; one that occurs nowhere is the rarest."""
    found = shares(["a", "b", "c"], {"a": 1.0, "b": 2.0}, 7)

    assert 1 == pytest.approx(sum(found.values()))
    assert 2 == pytest.approx(found["b"] / found["a"])
    assert found["c"] / found["a"] == pytest.approx(np.log(8))
    assert ({}, {"a": 0.0}) == (shares([], {}, 7), shares(["a"], {"a": 0.0}, 7))
