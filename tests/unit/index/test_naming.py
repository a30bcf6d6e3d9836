from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.arrays import unpack_strings, write_arrays
from hybrid.base.tokens import folded, part_terms
from hybrid.index.drafting import encode_segment, name_arrays, path_arrays
from hybrid.index.segment import Segment
from hybrid.index.vectors import quantise
from tests.support.builders import ListSource, build_index, open_index, place_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]


def _strings(arrays: Arrays, name: str) -> list[str]:
    return unpack_strings(arrays[f"{name}_text"], arrays[f"{name}_at"])


def _lists(arrays: Arrays, name: str) -> list[list[int]]:
    """The lists of numbers of an array."""
    starts = arrays[f"{name}_start"].tolist()
    return [arrays[name][start:end].tolist() for start, end in itertools.pairwise(starts)]


def _table(arrays: Arrays, strings: str, lists: str) -> dict[str, list[int]]:
    return dict(zip(_strings(arrays, strings), _lists(arrays, lists), strict=True))


NAMES = ["HttpServer", "Router::add", "send", "httpserver", "add", "send", "MAX_LIMIT", "a.b.c", "λ", "__init__", ""]


def test_names_and_their_definitions() -> None:
    """Each distinct name lists the definitions that bear it, a qualified one under its last part too."""

    assert {
        "HttpServer": [0],
        "httpserver": [3],
        "Router::add": [1],
        "add": [1, 4],
        "send": [2, 5],
        "MAX_LIMIT": [6],
        "a.b.c": [7],
        "c": [7],
        "λ": [8],
        "__init__": [9],
        "": [10],
    } == _table(name_arrays(NAMES), "name", "name_definition")


def test_names_are_in_order_of_their_folded_form() -> None:
    """Names that differ in case and underscores only stand side by side."""
    arrays = name_arrays(NAMES)
    folds = _strings(arrays, "name_fold")

    assert [folded(name) for name in _strings(arrays, "name")] == folds
    assert sorted(folds, key=str.encode) == folds
    assert ["HttpServer", "httpserver"] == [n for n in _strings(arrays, "name") if folded(n) == "httpserver"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("HttpServer", "httpserver"), ("http_server", "httpserver"), ("__init__", "init"), ("MAX", "max"), ("_", "")],
)
def test_folded(name: str, expected: str) -> None:
    """What is left of a name without case and underscores."""

    assert expected == folded(name)


def test_words_of_names() -> None:
    """Each word lists the names that hold it, and each name the letters of its distinct words."""
    arrays = name_arrays(["retry_count", "retryRetry", "count"])
    names = _strings(arrays, "name")

    by_word = {word: [names[i] for i in of] for word, of in _table(arrays, "name_word", "name_word_name").items()}
    assert {"count": ["count", "retry_count"], "retri": ["retry_count", "retryRetry"]} == by_word
    assert {"count": 5, "retry_count": 10, "retryRetry": 5} == dict(
        zip(names, arrays["name_letters"].tolist(), strict=True)
    )


def test_words_of_paths() -> None:
    """Words of the name stand apart from those of the whole path; a word said twice is one."""
    arrays = path_arrays(["http_pool", "pool", "__"], ["http/pool", "", "src/http"])

    assert {"http": [0], "pool": [0, 1]} == _table(arrays, "stem_word", "stem_word_doc")
    assert {"http": [0, 2], "pool": [0, 1], "src": [2]} == _table(arrays, "path_word", "path_word_doc")
    assert [8, 4, 0] == arrays["doc_stem_letters"].tolist()


_NAMES = st.lists(st.text(alphabet="aAbB_1.:é", max_size=8), max_size=12)


@given(_NAMES)
def test_tables_of_any_names(names: list[str]) -> None:
    """Every definition is found under its name, every name under its words, and tables are sorted by bytes."""
    arrays = name_arrays(names)
    table = _table(arrays, "name", "name_definition")
    spelled = _strings(arrays, "name")

    assert all(number in table[name] for number, name in enumerate(names))
    assert all(sorted(set(numbers)) == numbers for numbers in table.values())
    words = _table(arrays, "name_word", "name_word_name")
    assert {word: [i for i, name in enumerate(spelled) if word in part_terms(name)] for word in words} == words
    assert sorted(words, key=str.encode) == list(words)
    assert {word for name in spelled for word in part_terms(name)} == set(words)


def test_a_very_long_name() -> None:
    """Letters beyond 65,535 are cut, so that a generated name does not overflow."""
    name = " ".join("abcdefgh" + "abcdefghij"[i % 10] * (i % 40) + "xyz"[i % 3] * (i // 40 % 20) for i in range(9000))

    assert [65_535] == name_arrays([name])["name_letters"].tolist()


def test_no_names() -> None:
    """Without definitions and documents the tables are empty, with one start."""
    arrays = name_arrays([]) | path_arrays([], [])

    assert [] == _strings(arrays, "name") == _strings(arrays, "stem_word") == _lists(arrays, "name_word_name")
    assert [0] == arrays["name_definition_start"].tolist()


# --- looking names up in a segment -------------------------------------------------------------------------------


def _segment(path: Path, strings: Sequence[str], lists: Sequence[Sequence[int]] = ()) -> Segment:
    """A segment without chunks, with one sorted table of strings and a list for each."""
    from hybrid.base.arrays import pack_strings

    blob, offsets = pack_strings(list(strings))
    numbers = [number for one in lists for number in one]
    arrays = encode_segment([], quantise(np.zeros((0, 4), np.float32), np.zeros(0, np.bool_))) | {
        "word_text": blob,
        "word_at": offsets,
        "of_word": np.array(numbers, np.int32),
        "of_word_start": np.cumsum([0, *map(len, lists)]).astype(np.uint32),
    }
    write_arrays(path, arrays)
    return Segment(path)


def test_lists_of_numbers(tmp_path: Path) -> None:
    """A string of a table gives its list of numbers, an unknown one an empty list."""
    segment = _segment(tmp_path / "s", ["a", "b", "c"], [[3, 1], [], [7]])

    assert [[3, 1], [], [7], []] == [segment.numbers("word", "of_word", word).tolist() for word in ("a", "b", "c", "d")]
    assert [[3, 1], [], [7]] == [segment.entries("of_word", number).tolist() for number in range(3)]
    assert segment.numbers("word", "of_word", "nothing").dtype == np.int32


@given(st.lists(st.text(max_size=4), max_size=12), st.text(max_size=4))
def test_look_ups_of_any_strings(tmp_path_factory: pytest.TempPathFactory, words: list[str], wanted: str) -> None:
    """Binary search finds what looking at every string finds."""
    words.sort(key=lambda word: word.encode("utf-8", "surrogatepass"))
    segment = _segment(tmp_path_factory.mktemp("s") / "s", words)

    assert [i for i, word in enumerate(words) if word == wanted] == list(segment.numbers_of_equal("word", wanted))
    found = [word for word in words if word.startswith(wanted)]
    for longest in (0, 2, 4):
        kept = [word for word in found if len(word) <= longest]
        assert kept == segment.strings("word").beginning_with(wanted, longest)


def test_names_of_an_index(tmp_path: Path) -> None:
    """In an index a name leads to its definition, and that to its chunk; a word of a path to its documents."""
    texts = {
        "lib/http_client.py": "class HttpClient:\n    def send(self):\n        pass\n",
        "lib/other.py": "def send():\n    pass\n",
    }
    place = place_in(tmp_path)
    build_index(place, ListSource(texts))
    (segment,) = open_index(place).segments

    def defined_in(name: str) -> list[str]:
        numbers = segment.numbers_of_equal("name_fold", folded(name))
        definitions = [d for number in numbers for d in segment.entries("name_definition", number).tolist()]
        return sorted(segment.paths[segment.chunk_doc[segment.arrays["def_chunk"][d]]] for d in definitions)

    assert ["lib/http_client.py"] == defined_in("http_client")
    assert ["lib/http_client.py", "lib/other.py"] == defined_in("send")
    assert [] == defined_in("receive")
    assert [0, 1] == segment.numbers("path_word", "path_word_doc", "lib").tolist()
    assert [0] == segment.numbers("stem_word", "stem_word_doc", "client").tolist()
