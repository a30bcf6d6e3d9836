"""Shows characters that a terminal obeys, or that nobody can see, as visible marks.

The command line writes all text for people through `visible`, and all JSON through `json_escaped`. A mark is the escape
that Python and JSON use for the character, such as ESC as a backslash and `x1b`. What an agent gets goes through
`hybrid.render.marks`, which removes such characters.
"""

from __future__ import annotations

# `re` and `typing` cost a status line four milliseconds each, so neither is imported here.

HIDDEN = (
    (0x00, 0x08),
    (0x0B, 0x1F),  # All controls of ASCII but tab and line end.
    (0x7F, 0x9F),  # Delete, and the controls that begin a terminal command with one byte of Latin-1.
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # Bytes of a file name that are not UTF-8.
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF9, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x13430, 0x1345F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""First and last number of each range of characters that nobody sees, or that a terminal obeys."""
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
"""Joiners and selectors that emoji and several scripts need; they stay between characters that need them."""


class _Marks(dict[int, "int | str"]):
    """Character number → what is shown for it; filled as characters occur."""

    def __missing__(self, number: int) -> int | str:
        is_hidden = any(first <= number <= last for first, last in HIDDEN)
        self[number] = shown = escape(number) if is_hidden else number
        return shown


def escape(number: int) -> str:
    r"""Return the escape of a character: `\x1b`, `\u202e` or `\U000e0041`."""
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


_MARKS = _Marks()
_LINE_MARKS = {9: escape(9), 10: escape(10)}


def visible(text: str) -> str:
    """Return text that no terminal obeys: controls, bidirectional and invisible characters become marks.

    Tabs, line ends and the joiners within emoji and words of non-ASCII scripts stay. Linear in the length; a second
    pass changes nothing.
    """
    if text.replace("\n", "").replace("\t", "").isprintable() and text.isascii():
        return text
    if not any(joiner in text for joiner in _JOINERS):
        return text.translate(_MARKS)
    return "".join(
        char if char in _JOINERS and _is_joined(text, place) else char.translate(_MARKS)
        for place, char in enumerate(text)
    )


def visible_line(text: str) -> str:
    """Return text as `visible` does, for a name that must stay on its line: tabs and line ends are marked too."""
    return visible(text).translate(_LINE_MARKS)


def json_escaped(text: str) -> str:
    """Return JSON in which the characters that `visible` marks are escaped, which does not change its meaning."""
    if text.isascii() and "\x7f" not in text:
        return text
    parts = (char if _MARKS[ord(char)] == ord(char) else _json_escape(ord(char)) for char in text)
    return "".join(parts)


def _json_escape(number: int) -> str:
    if number < 0x10000:
        return f"\\u{number:04x}"
    high, low = divmod(number - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def _is_joined(text: str, place: int) -> bool:
    """Return whether the joiner at a place follows a visible character that is not ASCII, or makes a keycap.

    A joiner of two characters also needs one that follows.
    """
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if text[place] in "\ufe0e\ufe0f":
        return after == "\u20e3" or _is_foreign(before)
    return (_is_foreign(before) or before == "\ufe0f") and _is_foreign(after)


def _is_foreign(char: str) -> bool:
    return char > "\x7f" and _MARKS[ord(char)] == ord(char)
