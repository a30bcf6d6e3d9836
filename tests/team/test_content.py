from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from hybrid.base.errors import IndexCorruptError
from hybrid.team import store
from hybrid.team.pushing import stored_file
from hybrid.team.store import (
    StoredText,
    decode_file,
    decode_files,
    decode_text,
    encode_file,
    encode_files,
    encode_text,
    file_id,
    split_id,
    texts_of,
    words_of,
)
from hybrid.types import Definition
from tests.team.conftest import tree_of

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.team.store import StoredFile


@pytest.fixture
def stored(tmp_path: Path) -> StoredFile:
    """A file as it is stored."""
    with tree_of(tmp_path) as tree:
        path, row = next(iter(tree.catalog.indexed().items()))
        return stored_file(tree, path, row)


def test_a_file_has_the_same_bytes_for_everyone(stored: StoredFile) -> None:
    """Encoding is the same each time and gives the file back."""
    assert encode_file(stored) == encode_file(decode_file(encode_file(stored)))
    assert stored == decode_file(encode_file(stored))


def test_an_id_follows_from_everything_that_a_file_is() -> None:
    """Repository, path, text, kind and language each change the id; a chunk's id leads back to the file."""
    parts = ("shop", "a.py", b"1", "code", "python")
    others = [("bank", *parts[1:]), ("shop", "b.py", *parts[2:]), (*parts[:2], b"2", *parts[3:])]
    others += [(*parts[:3], "doc", "python"), (*parts[:4], "text")]

    assert 6 == len({file_id(*one) for one in (parts, *others)})
    assert (file_id(*parts), 12) == split_id(store.chunk_id(file_id(*parts), 12))


def test_paths_of_any_bytes_survive() -> None:
    """A generation lists paths that are not valid UTF-8 as well."""
    files = {"src/ä.py": "0" * 32, "src/not-utf8-\udcff.py": "f" * 32}

    assert files == decode_files(encode_files(files))


def test_a_text_has_the_same_bytes_for_everyone() -> None:
    """Encoding is the same each time and gives path and text back, whatever they hold."""
    stored = StoredText("src/not-utf8-\udcff.py", "größe = '\ud800'\n\n")

    assert stored == decode_text(encode_text(stored))
    assert encode_text(stored) == encode_text(decode_text(encode_text(stored)))


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"nothing",
        *map(zlib.compress, (b"\xc1", msgspec.msgpack.encode([1]), msgspec.msgpack.encode((b"\xff", b"")))),
    ],
)
def test_what_is_damaged_is_told(damage: bytes) -> None:
    """Whatever stands in the store, reading it ends in one kind of error."""
    with pytest.raises(IndexCorruptError, match="push it again"):
        decode_file(damage)
    with pytest.raises(IndexCorruptError, match="push it again"):
        decode_files(damage)
    with pytest.raises(IndexCorruptError, match="push it again"):
        decode_text(damage)


@pytest.mark.parametrize(
    "change",
    [
        {"start_line": 2**40},
        {"end_line": -1},
        {"body": {"x": 2**40}},
        {"body": {"x": -1}},
        {"digest": b"abc"},
        {"masked": b"abc"},
        {"fields": {}},
        {"fields": {"name": {}, "scope": {}, "value": {}, "comment": {"x": -1}}},
        {"definitions": (Definition("a", "function", 1, 2**40, "", "", 0, False),)},
        {"definitions": (Definition("a", "function", 1, 1, "", "", -1, False),)},
    ],
)
def test_chunks_that_cannot_be_are_told(stored: StoredFile, change: dict[str, Any]) -> None:
    """A file that decodes, and of which no segment can be made, counts as damaged."""
    first, *others = stored.records
    with pytest.raises(IndexCorruptError, match="push it again"):
        decode_file(encode_file(replace(stored, records=(replace(first, **change), *others))))


def test_a_payload_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What unpacks to more than a file can have is refused before it is unpacked."""
    monkeypatch.setattr(store, "_MOST_BYTES", 1_000)
    with pytest.raises(IndexCorruptError, match="more than 1000 bytes"):
        decode_file(zlib.compress(bytes(10_000)))


def test_vectors_of_another_length_are_none(stored: StoredFile) -> None:
    """Numbers that do not fit the chunks, or are of no unit vector, count as chunks without a vector."""
    dim = len(stored.data) // len(stored.records)
    cut = replace(stored, data=stored.data[1:])
    odd = [np.full(len(stored.records), number, "<f4").tobytes() for number in (np.nan, np.inf, -1, 1)]

    assert stored.vectors(dim).scale.any()
    assert not any(one.vectors(dim).scale.any() for one in (cut, *(replace(stored, scale=scale) for scale in odd)))
    assert (len(stored.records), dim) == cut.vectors(dim).data.shape
    assert np.allclose(1, np.linalg.norm(store.floats_of(stored, dim), axis=1), atol=1e-3)


def test_words_hold_nothing_that_an_analyzer_could_change() -> None:
    """Only small Latin letters, digits and blanks: other terms become words of their digest, each its own."""
    found = words_of(["retry_count", "retri", "größe", "größen", "a" * 60, "日本"]).split(" ")

    assert "retri" == found[1]
    assert 6 == len(set(found))
    assert all(word.isascii() and word.isalnum() and word == word.lower() and len(word) <= 40 for word in found)


def test_texts_repeat_a_term_as_often_as_okapi_counts_it(tmp_path: Path) -> None:
    """The words of text, names, scope and path of each chunk, in the frequencies that the index has."""
    with tree_of(tmp_path, {"src/retry.py": "def wait():\n    wait()\n    return 1\n"}) as tree:
        file = stored_file(tree, "src/retry.py", tree.catalog.indexed()["src/retry.py"])
    words = next(texts_of(file)).split(" ")

    assert 3 == words.count("wait")  # Twice in the text, once as a name.
    assert 1 == words.count("retri")
    assert 1 == words.count("src")
