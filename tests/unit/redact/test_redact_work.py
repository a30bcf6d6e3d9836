"""The work of redaction on texts that repeat one short piece, counted: it grows with the length and no faster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.base import patterns
from hybrid.redact import redact

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

SHAPES = [
    # Literals of tokens, alone and in one long run, and literals that are joined on and on.
    *("Q~", "7Q~", "-us", "-us ", ":AA", "_v1_", "k_live_", "sk-", "sk-=", "sk-ant-", "SK", "AC", "whsec_", "glpat-"),
    *(".atlasv1.", "/api/webhooks/", "eyJ", "eyJa.", "sig=", "AccountKey=", 'ghp_abcdefghijk" + "', 'SK"+"SKSKSKSKSK'),
    # The marks of keys, on one line and on many.
    *("-----END PRIVATE KEY-----", "-----END PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\\n"),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY----- x -----END PRIVATE KEY-----", "LS0tLS1CRUdJTi"),
    # Commands and statements.
    *("$sqlplus -", "rabbitmqctl -", "login:", "login:-", "login ", "az login -p ", "assword:", "echo '", "curl -b "),
    # Lists that stand in lists, and names that come again and again.
    *("pwd:\n  - ", "pw:\n  - =", "passwords:\n- ", 'passwords = ["', "pw", "key&", "--pass ", '"k": [', "auth, "),
    # Fields of structures, options in lists, here-documents, encoded text, lines of users, calls.
    *(
        '"password": {"value": ',
        "value: x\nname: password\n",
        "password:\n  value: ",
        '"tokens": {"a": "',
        "<password>",
    ),
    *('"--password", ', "- --password\n", "--password x ", "secret <<EOF\nx\nEOF\n", ">secret <<EOF\n", "<<EOF\n"),
    *("%3D", "password%3D", "%253D%3A", "users\n", "passwd\na:b\n", 'connect("a", ', '.connect("a",\n', "sessionid="),
    *("_session=", "sk_live_", "-live-", "tvly-", "://h/t/", "otpauth://secret=", "bw unlock\n", "-----END OpenVPN"),
    # Names in other languages.
    *("密码", "密码是", "密码是：", "пароль: ", "пароль", "пароль_", "mot de passe ", "api キー", "パスワードはx"),
]


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
                module, "compiled", lambda pattern, flags=0: _Counting(patterns.compiled(pattern, flags), work)
            )
    return work


def _of(shape: str, size: int) -> str:
    return (shape * (size // len(shape) + 1))[:size]


def _counted(text: str, work: _Work) -> tuple[int, int]:
    work.n_calls = work.n_chars = 0
    redact(text)
    return work.n_calls, work.n_chars


@pytest.mark.parametrize("shape", SHAPES)
def test_repeated_pieces_are_looked_at_a_few_times(shape: str, work: _Work) -> None:
    """Patterns are asked once for each character at most, and search it a few times, however long the text is."""
    size = 30_000
    _counted(_of(shape, 1_000), work)  # Values that are judged once are remembered.

    calls, chars = _counted(_of(shape, size), work)
    more_calls, more_chars = _counted(_of(shape, 2 * size), work)

    assert calls <= size
    assert chars <= 20 * size
    assert more_calls <= 2.2 * calls + 50
    assert more_chars <= 2.2 * chars + size


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
