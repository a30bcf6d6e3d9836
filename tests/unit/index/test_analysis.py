from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.text import chunk_digest
from hybrid.chunking.chunker import chunk_document
from hybrid.index.analysis import (
    CHUNK_FIELDS,
    FIELDS,
    ChunkRecord,
    analysed,
    decode_record,
    encode_detail,
    head_line,
    input_key,
    path_terms,
    recipe,
)
from hybrid.types import Chunk, ChunkLimits, Definition, Document, LineSpan
from tests.support.builders import LIMITS
from tests.support.cases import Case, cases

CODE = '''class Client:
    """Sends requests."""

    attempts = 5

    def retry(self):
        # Try again later.
        return send(self)
'''


def _definition(name: str, *, is_value: bool = False) -> Definition:
    return Definition(name, "function", 1, 2, "", "", 0, is_value)


def _document(text: str, path: str = "src/client.py", language: str = "python") -> Document:
    return Document(path, "code", language, text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


def _record(*definitions: Definition, comments: tuple[LineSpan, ...] = (), scope: str = "Client") -> ChunkRecord:
    chunk = Chunk(1, 8, "Client", "class", "class Client", scope, definitions, comments)
    return analysed(_document(CODE), [chunk])[0][0]


@pytest.mark.parametrize(
    ("scope", "names", "expected"),
    [
        ("", [], "src/a.py"),
        ("Client", ["retry"], "src/a.py Client retry"),
        ("", ["a", "b"], "src/a.py a b"),
        ("Guide > Setup", [], "src/a.py Guide > Setup"),
        ("", list("abcdefgh"), "src/a.py a b c d e f"),
    ],
    ids=["path", "scope and name", "names", "headings", "six names"],
)
def test_head_line(scope: str, names: list[str], expected: str) -> None:
    """The head line is path, scope and at most six names."""

    assert expected == head_line("src/a.py", scope, [_definition(name) for name in names])


def test_values_are_not_in_the_head_line() -> None:
    """Constants and fields do not take the place of functions in the head line."""

    assert "a.py f" == head_line("a.py", "", [_definition("LIMIT", is_value=True), _definition("f")])


def test_input_key_by_hand() -> None:
    """The key of a vector is 16 bytes of the SHA-256 of head line, a zero byte and the chunk's digest."""

    assert hashlib.sha256("a.py ü".encode() + b"\0" + b"d" * 16).digest()[:16] == input_key("a.py ü", b"d" * 16)


def test_input_keys_differ_with_head_and_digest() -> None:
    """Another head line or another text is another input; paths with lone surrogates have keys too."""
    keys = {input_key(head, digest) for head in ("a.py", "b.py", "\udce4.py") for digest in (b"1" * 16, b"2" * 16)}

    assert 6 == len(keys)


@cases("index/path_terms.txt")
def test_terms_of_a_path(case: Case) -> None:
    """A path gives the terms of its file's name without the suffix, and of its last three folders."""

    assert case.json() == path_terms(case.given())


def test_record_of_a_chunk() -> None:
    """A record has the digest of the normalised text, its terms, and those of names, scope, values and comments."""
    record = _record(
        _definition("Client"),
        _definition("attempts", is_value=True),
        _definition("retry"),
        comments=(LineSpan(2, 2), LineSpan(7, 7)),
        scope="http",
    )

    assert chunk_digest(CODE) == record.digest
    assert (1, 8, "Client", "class", "http") == (
        record.start_line,
        record.end_line,
        record.name,
        record.kind,
        record.scope,
    )
    assert {"client": 1, "retri": 1} == record.fields["name"]
    assert {"http": 1} == record.fields["scope"]
    assert {"attempt": 1} == record.fields["value"]
    assert {"send": 1, "request": 1, "try": 1, "again": 1, "later": 1} == record.fields["comment"]
    assert 2 == record.body["self"]
    assert set(CHUNK_FIELDS) == set(record.fields)


def test_fields_keep_their_columns() -> None:
    """The order of the fields is part of the format."""

    assert ("stem", "dir", "name", "scope", "value", "comment") == FIELDS


def test_a_secret_is_not_indexed() -> None:
    """A secret in text, comment, heading or signature is neither a term nor a name of a record."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"# Token {secret}\n\nUse {secret} to deploy.\n"
    document = Document("a.md", "doc", "markdown", text, b"0" * 32)
    definition = Definition(f"Token {secret}", "heading", 1, 3, f"# Token {secret}", "", 0, False)
    chunk = Chunk(
        1, 3, f"Token {secret}", "section", f"# Token {secret}", f"Token {secret}", (definition,), (LineSpan(1, 3),)
    )

    (record,) = analysed(document, [chunk])[0]

    assert secret not in repr(record)
    assert secret.lower() not in repr(record)
    assert "Token [redacted:github_token]" == record.name


_names = st.text(max_size=6)
_definitions = st.builds(
    Definition,
    _names,
    st.sampled_from(["function", "class", "constant"]),
    st.integers(1, 9),
    st.integers(1, 9),
    _names,
    _names,
    st.integers(0, 300),
    st.booleans(),
)
_counts = st.dictionaries(st.text(min_size=1, max_size=6), st.integers(1, 10**6), max_size=5)
_records = st.builds(
    ChunkRecord,
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.binary(min_size=16, max_size=16),
    _names,
    _names,
    _names,
    _names,
    _counts,
    st.fixed_dictionaries(dict.fromkeys(CHUNK_FIELDS, _counts)),
    st.lists(_definitions, max_size=3).map(tuple),
    st.lists(st.builds(LineSpan, st.integers(1, 9), st.integers(1, 9)), max_size=3).map(tuple),
)


@given(_records)
def test_a_record_survives_the_catalog(record: ChunkRecord) -> None:
    """What is encoded for the catalog is decoded to the same record, terms in the same order."""
    r = record
    back = decode_record((r.start_line, r.end_line, r.digest, r.name, r.kind, r.signature, r.scope, encode_detail(r)))

    assert record == back
    assert list(record.body.items()) == list(back.body.items())


def test_real_chunks_survive_the_catalog() -> None:
    """The same for the chunks of a real file with odd characters."""
    document = _document(CODE + "\n# \ud800 再試行 \u2028\n", "\udce4.py")
    for record in analysed(document, chunk_document(document, LIMITS).chunks)[0]:
        r = record
        row = (r.start_line, r.end_line, r.digest, r.name, r.kind, r.signature, r.scope, encode_detail(r))

        assert record == decode_record(row)


def test_the_recipe_names_all_that_chunks_depend_on() -> None:
    """Another chunker or another limit is another recipe."""
    limits = [
        ChunkLimits(1500, 750, 1000),
        ChunkLimits(1501, 750, 1000),
        ChunkLimits(1500, 751, 1000),
        ChunkLimits(1500, 750, 1001),
    ]
    recipes = {recipe(version, limit) for version in ("1", "2") for limit in limits}

    assert 8 == len(recipes)
