"""Turns the bytes of a file into text; `files` calls it. It never raises and never guesses beyond what bytes show."""

from __future__ import annotations

import codecs

BINARY_PROBE_BYTES = 8192
"""Bytes looked at for a NUL; git looks at 8,000."""

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_binary(data: bytes) -> bool:
    """Whether the first 8 KiB hold a NUL and no byte order mark explains it."""
    return b"\0" in data[:BINARY_PROBE_BYTES] and not any(data.startswith(mark) for mark, _ in _MARKS)


def decode(data: bytes) -> str:
    """Text of bytes: by byte order mark, else UTF-8, else Windows-1252, else Latin-1.

    The mark is dropped, and CR LF and lone CR become LF. Never raises: after a UTF-16 or UTF-32 mark, what cannot
    be decoded becomes U+FFFD; Latin-1 knows every byte.
    """
    return normalise_line_ends(_decode(data))


def normalise_line_ends(text: str) -> str:
    """Text with LF as its only line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decode(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    body = data.removeprefix(codecs.BOM_UTF8)
    for encoding in ("utf-8", "cp1252"):
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    return body.decode("latin-1")
