"""`lessons.stats.json`: the counters of lessons, beside LESSONS.md so that this does not change with every use.

One object: id → uses, velocity, last, injections, citations; `meta` holds what concerns the store as a whole. Keys and
entries that are not known here stay. A damaged file is set aside and begun anew: its lessons are worth more than it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from hybrid.base.atomic import set_aside, write_atomic
from hybrid.records.lessons.types import MAX_NUMBER, MAX_USES, is_date, is_id, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

META = "meta"
HALF = 0.5
LEAST_VELOCITY = 0.01
_SHOWN_CHARS = 40
_MOST_MARKS = 1_000
"""The most marks of messages that are kept, the newest: their citations were counted; a message has two or three."""


class Counts(Struct, frozen=True):
    """The counters of one lesson; see `Lesson`."""

    uses: int = 0
    velocity: float = 0.0
    last: str = ""
    injections: int = 0
    citations: int = 0

    def cited(self, today: str) -> Counts:
        """Return the counters after one more citation on a day (ISO date), which becomes the last use."""
        return replace(
            self,
            uses=min(self.uses + 1, MAX_USES),
            velocity=round(self.velocity + 1, 4),
            last=today,
            citations=self.citations + 1,
        )

    def decayed(self) -> Counts:
        """Return the counters after a week: velocity halves, a tiny one becomes 0; at a low one uses fall by 1."""
        velocity = round(self.velocity * HALF, 4)
        velocity = 0.0 if velocity < LEAST_VELOCITY else velocity
        fades = velocity < HALF and self.uses > 1
        return replace(self, velocity=velocity, uses=self.uses - 1 if fades else self.uses)


class Counters(Struct, frozen=True):
    """The content of `lessons.stats.json`.

    Attributes:
        raw: The whole object of the file, unknown keys too.
        is_damaged: True if the file could not be read, so that it is set aside by the next write.
    """

    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_damaged: bool = False

    def counts(self, lesson_id: str, inline: Counts | None = None, *, is_inline_first: bool = False) -> Counts:
        """Return the counters of a lesson: those of this file, else `inline`, else zeros.

        Args:
            lesson_id: The id of the lesson.
            inline: The counters in LESSONS.md itself; None without.
            is_inline_first: True if uses, velocity and last of `inline` count before those of this file.
        """
        entry = self._entry(lesson_id)
        if entry is None:
            return inline or Counts()
        counts = counts_in(entry)
        if inline and (is_inline_first or "uses" not in entry):
            return replace(counts, uses=inline.uses, velocity=inline.velocity, last=inline.last)
        return counts

    @property
    def ids(self) -> list[str]:
        """The ids of the lessons that have an entry in this file, in its order."""
        return [name for name in self.raw if is_id(name)]

    def has(self, lesson_id: str) -> bool:
        """Return whether uses of a lesson are counted here."""
        entry = self._entry(lesson_id)
        return entry is not None and "uses" in entry

    def seeded(self, others: Counters) -> Counters:
        """Return these counters with those of another file for each lesson whose uses are not counted here yet."""
        new = {name: others.counts(name) for name in others.ids if not self.has(name)}
        known = {name: self.counts(name) for name in new}
        both = {
            name: replace(counts, injections=known[name].injections, citations=known[name].citations)
            for name, counts in new.items()
        }
        return self.with_counts(both) if both else self

    def largest_number(self, letter: str) -> int:
        """Return the largest number, up to `MAX_NUMBER`, that an id with this letter ever had here; 0 without one."""
        highest: Any = self._meta.get("highest")
        known = _count(cast("dict[str, Any]", highest).get(letter)) if isinstance(highest, dict) else 0
        numbers = (number_of(name) for name in self.ids if name[0] == letter)
        return max([known if known <= MAX_NUMBER else 0, *numbers])

    @property
    def wrong(self) -> list[str]:
        """A message for each counter of a wrong form; such a counter is read as 0 or empty."""
        found: list[str] = []
        for name in self.ids:
            entry = self._entry(name)
            if entry is None:
                found.append(f"{name} stands for no counters, which are an object")
                continue
            for key, has_form in _FORMS.items():
                if key in entry and not has_form(entry[key]):
                    wanted = "date as 2026-02-14" if key == "last" else "number from 0"
                    found.append(f"{name} has {key} {json.dumps(entry[key])[:_SHOWN_CHARS]}, which is no {wanted}")
        return found

    @property
    def decayed_on(self) -> str:
        """ISO date of the last decay; empty before the first."""
        return _text(self._meta.get("decayed"))

    @property
    def messages(self) -> tuple[str, ...]:
        """The marks of messages whose citations were counted, the newest last."""
        marks = self._meta.get("messages")
        return tuple(str(mark) for mark in cast("list[object]", marks)) if isinstance(marks, list) else ()

    def with_counts(self, changed: Mapping[str, Counts], *, is_partial: bool = False) -> Counters:
        """Return the file with the counters of some lessons replaced.

        Args:
            changed: Id → counters.
            is_partial: Replace injections and citations only; the other counters stand in LESSONS.md.
        """
        raw = dict(self.raw)
        for lesson_id, counts in changed.items():
            kept = {"injections": counts.injections, "citations": counts.citations}
            used = {} if is_partial else {"uses": counts.uses, "velocity": counts.velocity, "last": counts.last}
            raw[lesson_id] = {**(self._entry(lesson_id) or {}), **used, **kept}
        return replace(self, raw=raw)

    def with_decay(self, today: str) -> Counters:
        """Return the file with the date of the last decay replaced."""
        return self._with_meta("decayed", today)

    def with_messages(self, marks: Sequence[str]) -> Counters:
        """Return the file with the marks of counted messages replaced, the newest last; only 1,000 are kept."""
        return self._with_meta("messages", list(marks[-_MOST_MARKS:]))

    def with_numbers(self, ids: Iterable[str]) -> Counters:
        """Return the file with ids noted as used: no new lesson gets one, even if its entry is removed by hand."""
        letters = {letter: self.largest_number(letter) for letter in "LS"}
        for lesson_id in ids:
            letters[lesson_id[0]] = max(letters[lesson_id[0]], number_of(lesson_id))
        return self._with_meta("highest", letters)

    @property
    def _meta(self) -> dict[str, Any]:
        meta = self.raw.get(META)
        return cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}

    def _with_meta(self, name: str, value: object) -> Counters:
        return replace(self, raw={**self.raw, META: {**self._meta, name: value}})

    def _entry(self, lesson_id: str) -> dict[str, Any] | None:
        entry = self.raw.get(lesson_id)
        return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None


def parse_counters(data: bytes | None) -> Counters:
    """Return the bytes of `store.read_counters` as a value; damaged bytes give empty counters that say so."""
    if data is not None and not data.strip():
        return Counters()
    try:
        raw: Any = json.loads(data or b"")
    except (ValueError, RecursionError):
        return Counters(is_damaged=True)
    return Counters(cast("dict[str, Any]", raw)) if isinstance(raw, dict) else Counters(is_damaged=True)


def save_counters(path: Path, counters: Counters, *, durable: bool = False) -> None:
    """Replace the file of counters; the caller holds the lock. A damaged file is set aside first.

    Raises:
        OSError: The folder is read-only or the disk is full.
    """
    if counters.is_damaged:
        set_aside(path)
    lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in counters.raw.items())
    write_atomic(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii"), durable=durable)


def counts_in(entry: Mapping[str, Any]) -> Counts:
    """Return the counters that an entry holds; one that is missing or of a wrong form is 0 or empty."""
    return Counts(
        uses=min(_count(entry.get("uses")), MAX_USES),
        velocity=_number(entry.get("velocity")) or 0.0,
        last=_text(entry.get("last")),
        injections=_count(entry.get("injections")),
        citations=_count(entry.get("citations")),
    )


def _number(value: object) -> float | None:
    """Return a value of the file as a finite number from 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


_FORMS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("uses", "velocity", "injections", "citations"), lambda value: _number(value) is not None),
    "last": lambda value: isinstance(value, str) and (not value or is_date(value)),  # Empty: not cited yet.
}
"""Name of a counter → whether a value has its form."""


def _count(value: object) -> int:
    return int(_number(value) or 0)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
