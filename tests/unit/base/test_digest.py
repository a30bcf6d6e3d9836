from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.text import chunk_digest, digest8, normalise, sha256_hex, topic_id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a  \nb\t\n", "a\nb"),
        ("\n\n  a\n\n", "  a"),
        ("\n \n\t\n", ""),
        ("a\n\n\nb", "a\n\n\nb"),
        ("", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    """Line ends become LF, trailing white space and outer blank lines go; indents and inner blank lines stay."""

    assert expected == normalise(text)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    """A normalised text is its own normal form."""

    assert normalise(text) == normalise(normalise(text))


@given(st.text(alphabet="ab \t\n"))
def test_chunks_that_differ_in_trailing_space_are_the_same(text: str) -> None:
    """Windows line ends, trailing blanks and blank lines around a chunk do not change its digest."""
    other = "\n\n" + text.replace("\n", " \r\n") + "\r\n"

    assert chunk_digest(text) == chunk_digest(other)


@pytest.mark.parametrize(
    ("first", "second"), [("a", "b"), ("a", " a"), ("a\nb", "a\n\nb"), ("a b", "a  b"), ("\ud800", "\ud801")]
)
def test_chunks_that_read_differently_are_different(first: str, second: str) -> None:
    """Other words, indents and blank lines between give another digest."""

    assert chunk_digest(first) != chunk_digest(second)


def test_chunk_digest_is_the_beginning_of_sha256() -> None:
    """A chunk's digest is 16 bytes of the SHA-256 of its normalised text."""

    assert hashlib.sha256(b"a\nb").digest()[:16] == chunk_digest("a \r\nb\n")


def test_short_forms() -> None:
    """`digest8` shows four bytes, `sha256_hex` all."""

    assert "0001ff10" == digest8(bytes([0, 1, 255, 16, 99]))
    assert hashlib.sha256(b"x").hexdigest() == sha256_hex(b"x")


def test_topic_id_by_hand() -> None:
    """The topic id is the SHA-256 of the sorted keys joined by pipes, 16 hex digits of it; without results there is none."""
    keys = ["b.py:1:2:ffffffff", "a.py:1:2:00000000"]

    assert hashlib.sha256(b"a.py:1:2:00000000|b.py:1:2:ffffffff").hexdigest()[:16] == topic_id(keys)
    assert "" == topic_id([])


@given(st.lists(st.text(max_size=5), max_size=8), st.randoms(use_true_random=False))
def test_topic_id_does_not_depend_on_order(keys: list[str], random: object) -> None:
    """The order of the results does not change their topic id."""
    shuffled = list(keys)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert topic_id(keys) == topic_id(iter(shuffled))
