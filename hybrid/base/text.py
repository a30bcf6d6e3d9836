"""Puts texts on one line and cuts them to a number of characters; a text that was cut ends with `…`."""

from __future__ import annotations


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
