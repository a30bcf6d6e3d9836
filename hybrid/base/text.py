"""Texts: patterns that are looked for in them, on one line, cut, in their normal form, and digests of it.

A text that was cut ends with `…`. Two chunks with the same digest count as the same, for index, ledger and topic id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path


def one_line(text: str) -> str:
    """Return a text with all white space as single spaces."""
    return " ".join(text.split())


def cut(text: str, max_chars: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def cut_at_word(text: str, max_chars: int) -> str:
    """Return a text of at most so many characters, cut before a word; a word longer than half of them is cut itself."""
    if len(text) <= max_chars:
        return text
    border = text.rfind(" ", max_chars // 2, max_chars)
    return f"{text[: border if border > 0 else max_chars - 1].rstrip()}…"


# --- Digests ---------------------------------------------------------------------------------------------------------


DIGEST_BYTES = 16
"""Bytes of a chunk digest that are kept: 128 bits of SHA-256, enough for 2^60 chunks without a likely clash."""


def normalise(text: str) -> str:
    """Text with LF line ends, no trailing white space on a line and no blank lines around it.

    Two chunks that differ only in these are the same to a reader.
    """
    return normalised_lines(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def normalised_lines(lines: Sequence[str]) -> str:
    """`normalise` of the text that these lines are of; in one of them a CR may still end a line."""
    text = "\n".join(lines)
    return normalise(text) if "\r" in text else "\n".join(map(str.rstrip, lines)).strip("\n")


def document_digest(text: str) -> bytes:
    """The SHA-256 of a document's decoded text, 32 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def chunk_digest(text: str) -> bytes:
    """The first 16 bytes of the SHA-256 of the normalised text."""
    return digest_of_normalised(normalise(text))


def digest_of_normalised(text: str) -> bytes:
    """The `chunk_digest` of a text that is normalised already."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


def digest8(digest: bytes) -> str:
    """The eight hex digits of a digest that stand in keys and topic ids."""
    return digest[:4].hex()


def sha256_hex(data: bytes) -> str:
    """The full SHA-256 of bytes in hex."""
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(file: Path) -> str:
    """The full SHA-256 of a file in hex, read block by block; raises OSError."""
    digest = hashlib.sha256()
    with file.open("rb") as data:
        while block := data.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def topic_id(keys: Iterable[str]) -> str:
    """The topic id of result keys: 16 hex digits of the SHA-256 of the sorted keys joined by ``|``.

    Args:
        keys: ``path:start:end:digest8`` for files, ``kind:id:digest8`` for records; order does not matter.

    Returns:
        16 hex digits, or an empty string when there are no keys.
    """
    ordered = sorted(keys)
    if not ordered:
        return ""
    return hashlib.sha256("|".join(ordered).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern, which is kept: compiling all at import takes longer than a cold prompt may."""
    return re.compile(pattern, flags)
