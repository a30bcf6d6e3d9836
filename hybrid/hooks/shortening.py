"""Shortens the JSON of a large event before it is parsed, so that no event costs more than some megabytes.

Works on bytes with the fast searches of the standard library, in time and memory that grow with the length alone; every
hook event passes here. JSON that is not valid may come out as other JSON that is not valid.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SMALL_BYTES = 1_000_000
"""Up to this an event is parsed as it is."""

MAX_VALUES = 100_000
"""Values of an event; of one with more the beginning is read. A list of as many numbers is no use to anybody."""

_LIMITS = (600_000, 100_000, 20_000, 2_000, 200)
"""Bytes that a text may have, tried one after the other until all texts together fit."""

_ROOM_BYTES = 2_500_000
"""For all texts together: of a prompt 400,000 characters are read, of what tools say 200,000."""

_TAIL = 4
"""The last part of a text gets a quarter: its beginning says what it is."""

_GAP = b"\\n[...]\\n"
_BEGINNING_BYTES = 300_000
_CLOSING = {ord("{"): b"}", ord("["): b"]"}


def shortened(data: bytes) -> bytes:
    """An event whose long texts are cut in their middle, and which has no more values than are read.

    Args:
        data: JSON in UTF-8.
    """
    if len(data) <= SMALL_BYTES:
        return data
    # Escapes give way to bytes that no JSON holds: then every quote begins or ends a text, and no length changes.
    plain = data.replace(b"\\\\", b"\0\1").replace(b'\\"', b"\0\1")
    if plain.count(b'"') > 4 * MAX_VALUES:
        return _beginning(data, plain)
    pieces = plain.split(b'"')
    if sum(piece.count(b",") + piece.count(b"[") + piece.count(b"{") for piece in pieces[::2]) > MAX_VALUES:
        return _beginning(data, plain)
    sizes = [len(piece) for piece in pieces[1::2]]
    limit = next((most for most in _LIMITS if sum(min(size, most) for size in sizes) <= _ROOM_BYTES), _LIMITS[-1])
    return b"".join(_parts(data, plain, pieces, limit))


def _parts(data: bytes, plain: bytes, pieces: Sequence[bytes], limit: int) -> Iterator[bytes]:
    """The event piece by piece; long texts without their middle."""
    kept_to = at = 0
    for number, piece in enumerate(pieces):
        end = at + len(piece)
        if number % 2 and len(piece) > limit:
            tail = limit // _TAIL
            yield data[kept_to : _before_escape(plain, at + limit - tail)]
            yield _GAP
            kept_to = _before_escape(plain, end - tail)
        at = end + 1
    yield data[kept_to:]


def _before_escape(plain: bytes, at: int) -> int:
    """A place to cut at or shortly before one, where no escape is torn apart."""
    begin = max(plain.rfind(b"\\", at - 5, at), plain.rfind(b"\0", at - 1, at))
    return begin if begin >= 0 and begin + (6 if plain[begin + 1 : begin + 2] == b"u" else 2) > at else at


def _beginning(data: bytes, plain: bytes) -> bytes:
    """The beginning of an event, with whatever it opens closed again; an empty one when not one value fits."""
    open_marks = bytearray()
    end, closing = 0, b""
    is_text = False
    for at, byte in enumerate(plain[:_BEGINNING_BYTES]):
        if byte == _QUOTE:
            is_text = not is_text
        elif is_text:
            continue
        elif byte in _CLOSING:
            open_marks.append(byte)
        elif byte in _ENDS and open_marks:
            open_marks.pop()
        elif byte == _COMMA:
            end, closing = at, bytes(open_marks)
    return data[:end] + b"".join(_CLOSING[mark] for mark in reversed(closing)) if end else b"{}"


_QUOTE, _COMMA = ord('"'), ord(",")
_ENDS = (ord("}"), ord("]"))
