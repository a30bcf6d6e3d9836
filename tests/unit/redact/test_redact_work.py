"""The work of redaction on texts that repeat one short piece, counted: it grows with the length and no faster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.base import text
from hybrid.redact import redact
from tests.support.cases import cases

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from tests.support.cases import Case

WORDS = (
    *("password", "_pass", "pass", "pwd", "pw", "secret", "token", "api_key", "key", "auth", "cred", "salt", "seed"),
    *("curl -u ", "login", "cookie", "authorization", "mysql -p", "://", "sshpass -p", "echo ", "recovery code"),
)
"""Words that a secret may stand beside."""


class _Work:
    """What was asked of patterns."""

    n_calls = 0
    n_chars = 0


class _Counting:
    """A pattern that counts how often it is asked, and the characters that a search goes through."""

    def __init__(self, pattern: re.Pattern[str], work: _Work) -> None:
        self._pattern = pattern
        self._work = work

    def _count(self, found: re.Match[str] | None, text: str, pos: int, endpos: int) -> re.Match[str] | None:
        self._work.n_calls += 1
        self._work.n_chars += max(0, (min(endpos, len(text)) if found is None else found.end()) - pos)
        return found

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._count(self._pattern.search(text, pos, endpos), text, pos, endpos)

    def match(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        found = self._pattern.match(text, pos, endpos)
        return self._count(found, text, pos, pos if found is None else endpos)

    def fullmatch(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        found = self._pattern.fullmatch(text, pos, endpos)
        return self._count(found, text, pos, pos if found is None else endpos)

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        self._work.n_chars += max(0, min(endpos, len(text)) - pos)
        for found in self._pattern.finditer(text, pos, endpos):
            self._work.n_calls += 1
            yield found

    def __getattr__(self, name: str) -> object:
        return getattr(self._pattern, name)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> _Work:
    """Counters of the patterns that redaction asks."""
    work = _Work()
    for name, module in list(sys.modules.items()):
        if name.startswith("hybrid.redact") and hasattr(module, "compiled"):
            monkeypatch.setattr(
                module, "compiled", lambda pattern, flags=0: _Counting(text.compiled(pattern, flags), work)
            )
    return work


def _assert_it_grows_with_the_length(piece: str, size: int, work: _Work, before: str = "") -> None:
    """Assert that patterns are asked once for each character at most, and search it a few times."""

    def counted(size: int) -> tuple[int, int]:
        work.n_calls = work.n_chars = 0
        redact(before + (piece * (size // len(piece) + 1))[:size])
        return work.n_calls, work.n_chars

    counted(size // 2)  # Values that are judged once are remembered.
    (calls, chars), (more_calls, more_chars) = counted(size), counted(2 * size)

    assert calls <= size + 4_000
    assert chars <= 20 * size + 100_000
    assert more_calls <= 2.2 * calls + 50
    assert more_chars <= 2.2 * chars + size


@cases("redaction/repeated.txt")
def test_repeated_pieces_are_looked_at_a_few_times(case: Case, work: _Work) -> None:
    """Beginnings of secrets, marks, commands and names, in one long run, also where a private key may be."""
    for before in ("", "PRIVATE KEY "):
        _assert_it_grows_with_the_length(case.text, 6_000, work, before)


@pytest.mark.parametrize("between", ["", " ", "=", ": ", "='", '"', ",\n", "\n", "(", " is ", "/", ";"])
def test_repeated_words_cost_no_more_than_other_text(between: str, work: _Work) -> None:
    """Each word that a secret may stand beside, whatever stands between one and the next."""
    for word in WORDS:
        _assert_it_grows_with_the_length(f"{word}{between}", 4_000, work)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (a, password) VALUES (" + "'" * 2_001,
        "INSERT INTO t (a, password) VALUES (" + " " * 1_900 + "'a' 'b')",
        "password: |\n  x" + " " * 20_000 + "x",
        "the password:\n" + " " * 60_000 + "x",
        "-----BEGIN PRIVATE KEY-----\n" + " " * 60_000 + "\n-----END PRIVATE KEY-----",
    ],
    ids=["quotes", "spaces in a row", "spaces in a block", "spaces below a name", "spaces in a key"],
)
def test_what_fits_no_pattern_is_given_up(text: str) -> None:
    """A long run that may be taken apart in many ways ends the search; it once went on for ever."""
    assert text is redact(text)
