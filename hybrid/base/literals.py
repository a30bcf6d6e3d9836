"""String literals of code, and what a prompt says of them word for word: a message, an option, a setting, a route.

A literal is cut where it has a placeholder, and each piece is a run of words. The index keeps the key of a run and not
its text; a run of a prompt with the same key is the same run.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

DATA_LANGUAGES = frozenset({"json", "xml", "yaml", "toml", "ini", "properties", "csv", "dtd", "gitignore", "gomod"})
"""Languages of files that are data, and hold no literals of a program."""

_LITERAL = re.compile(
    r"\"{3}|'{3}"  # A docstring or a text block: what it says is prose.
    r"|\"((?:\\.|[^\"\\\n]){2,300})\"|'((?:\\.|[^'\\\n]){2,300})'|`((?:\\.|[^`\\\n]){2,300})`"
)
_PLACEHOLDER = re.compile(r"%(?:\(\w{1,40}\))?[-+ #0-9.]{0,8}[sdrifgxcqv]|[$#]?\{[^{}\n]{0,80}\}|\\[nrt\"'0]")
_TOKEN = re.compile(r"-{0,2}[^\W_](?:[\w.\-/:]{0,120}\w)?")
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|(?<!\w)'([^'\n]{2,80})'(?!\w)")
_TELLING = re.compile(r"-{1,2}\w|\w[-_/]\w|_|(?<![A-Za-z])[A-Z]{1,8}\d")
"""A word that is spelled as no word of prose is: `--keep-stale`, `MAX_AGE`, `/users/me`, `E501`."""
_LEAST_WORD, _LEAST_RUN, _LONGEST_RUN = 3, 3, 12
"""Letters of a single word, and words of a run, at least and at most; shorter runs are said by chance."""
_MOST_TOKENS = 400
"""Words of a prompt that are looked at: what follows is a log."""
_FACTOR = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def keys_in_code(text: str) -> tuple[int, ...]:
    """Return the key of each run of words in the literals of some code, each once, ascending; in [0, 2**63)."""
    found: set[int] = set()
    for match in _LITERAL.finditer(text):
        literal = match[1] or match[2] or match[3]
        for piece in _PLACEHOLDER.split(literal) if literal else ():
            tokens = _TOKEN.findall(piece)
            if (len(tokens) == 1 and len(tokens[0]) >= _LEAST_WORD) or _LEAST_RUN <= len(tokens) <= _LONGEST_RUN:
                found.add(_key(tokens) >> 1)
    return tuple(sorted(found))


def keys_said(text: str) -> NDArray[np.uint64]:
    """Return the keys of the runs of a prompt that may be literals, in no order: shape (n,).

    These are words that are quoted or spelled as no word of prose is, and all runs of three to twelve words of a line.
    """
    import numpy as np  # A prompt that is not searched needs none.

    words = {token for token in _TOKEN.findall(text) if _TELLING.search(token)}
    for match in _QUOTED.finditer(text):
        words.update(_TOKEN.findall(match[1] or match[2] or match[3]))
    keys = [np.array([_key((word,)) for word in words if len(word) >= _LEAST_WORD], np.uint64)]
    left = _MOST_TOKENS
    for line in text.split("\n"):
        tokens = _TOKEN.findall(line)[:left]
        left -= len(tokens)
        hashes = np.array([_hash(token.lower()) for token in tokens], np.uint64)
        run = hashes
        for length in range(2, min(len(hashes), _LONGEST_RUN) + 1):
            run = run[:-1] * np.uint64(_FACTOR) + hashes[length - 1 :]
            if length >= _LEAST_RUN:
                keys.append(run)
    found = np.sort(np.concatenate(keys) >> np.uint64(1))  # `np.unique` would import `numpy.ma`, 20 ms of a prompt.
    is_new = np.ones(len(found), np.bool_)
    np.not_equal(found[1:], found[:-1], out=is_new[1:])
    return found[is_new]


def _key(tokens: Sequence[str]) -> int:
    key = 0
    for token in tokens:
        key = (key * _FACTOR + _hash(token.lower())) & _MASK
    return key


@lru_cache(1 << 14)
def _hash(token: str) -> int:
    return int.from_bytes(hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
