"""Which messages of an agent still count: a client tells of a message with its event, its transcript, or both. Pure.

A message of a transcript has an id, one that came with an event only its text. The event's last message is often in the
transcript already, or comes there a moment later; it counts once all the same, and two messages with one text count
twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_AWAITED = "?"
"""Before the mark of a text that was counted, but was not found in the transcript yet."""


class Citing(Struct, frozen=True):
    """A message that cites lessons.

    Attributes:
        ids: Of the lessons, in any order; each counts once.
        message: Names the message in the transcript; empty for one that came with an event alone.
        texts: Name its text, or the parts of it that were told. Without any name at all it always counts.
    """

    ids: tuple[str, ...]
    message: str = ""
    texts: tuple[str, ...] = ()


def counting(said: Iterable[Citing], marks: Iterable[str], known: Collection[str]) -> tuple[dict[str, int], list[str]]:
    """How often each lesson counts now, and the marks of all messages that count no more.

    Args:
        said: Messages in order.
        marks: Those that were returned last time.
        known: Ids of the lessons that can be cited.
    """
    counted: dict[str, int] = {}
    after = dict.fromkeys(marks)
    for one in said:
        ids = [name for name in dict.fromkeys(one.ids) if name in known]
        if ids and _is_new(one, after):
            for name in ids:
                counted[name] = counted.get(name, 0) + 1
    return counted, list(after)


def _is_new(one: Citing, marks: dict[str, None]) -> bool:
    """Return whether a message was not counted yet; it is noted in the marks."""
    if not one.message:
        awaited = [f"{_AWAITED}{text}" for text in one.texts]
        if any(mark in marks for mark in (*one.texts, *awaited)):
            return False
        marks.update(dict.fromkeys(awaited))
        return True
    if one.message in marks:
        return False
    awaited = [mark for text in one.texts if (mark := f"{_AWAITED}{text}") in marks]
    for mark in awaited:
        del marks[mark]
    marks.update(dict.fromkeys((one.message, *one.texts)))
    return not awaited
