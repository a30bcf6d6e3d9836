"""What citations, injections and decay do to a document and its counters. Pure; `store` writes the outcome."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.records.lessons.counters import Counters, Counts
from hybrid.records.lessons.editing import Counted
from hybrid.records.lessons.reading import counts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.records.lessons.document import LessonsDocument

DECAY_DAYS = 7


class Change(Struct, frozen=True):
    """A change that is to be written: the document first, then the counters."""

    document: LessonsDocument
    counters: Counters


def counted(
    document: LessonsDocument,
    counters: Counters,
    step: Callable[[Counts], Counts],
    ids: Iterable[str],
    *,
    keeps_inline: bool,
) -> Change:
    """Both files with the counters of some lessons moved on by one step.

    Args:
        document: The file of lessons.
        counters: Those beside it.
        step: Counters of a lesson → its next ones.
        ids: The lessons.
        keeps_inline: Counters of the older form are rewritten in the document; only the others stand beside it.
    """
    inline = _inline(document)
    after = {name: step(counters.counts(name, inline.get(name), is_inline_first=keeps_inline)) for name in ids}
    here = {name for name in after if keeps_inline and name in inline}
    whole = {name: counts for name, counts in after.items() if name not in here}
    partly = {name: counts for name, counts in after.items() if name in here}
    moved_on = {name: Counted(counts.uses, counts.velocity, counts.last) for name, counts in partly.items()}
    return Change(
        document.with_counters(moved_on) if moved_on else document,
        counters.with_counts(whole).with_counts(partly, is_partial=True),
    )


def cited_often(
    document: LessonsDocument, counters: Counters, cited: Mapping[str, int], today: date, *, keeps_inline: bool
) -> Change:
    """Both files after lessons were cited; `cited` says how often each."""
    change = Change(document, counters)
    for times in sorted(set(cited.values())):

        def step(counts: Counts, times: int = times) -> Counts:
            for _ in range(times):
                counts = counts.cited(today.isoformat())
            return counts

        ids = [name for name, n in cited.items() if n == times]
        change = counted(change.document, change.counters, step, ids, keeps_inline=keeps_inline)
    return change


def given(document: LessonsDocument, counters: Counters, ids: Sequence[str], *, keeps_inline: bool) -> Change:
    """Counters beside the file after lessons were given once more; ids that are not in the document count nothing."""
    known = {entry.id for entry in document.entries}

    def step(counts: Counts) -> Counts:
        return replace(counts, injections=counts.injections + 1)

    changed = counted(document, counters, step, [name for name in ids if name in known], keeps_inline=keeps_inline)
    return replace(changed, document=document)


def decayed(
    document: LessonsDocument, counters: Counters, today: date, *, keeps_inline: bool
) -> tuple[Change, list[str]]:
    """Both files a week later, and the ids that changed; lessons of other working trees that share them decay too."""
    inline = _inline(document)
    ids = dict.fromkeys([*(entry.id for entry in document.entries), *counters.ids])
    before = {name: counters.counts(name, inline.get(name), is_inline_first=keeps_inline) for name in ids}
    faded = [name for name, counts in before.items() if counts.decayed() != counts]
    after = counters.with_decay(today.isoformat())
    return counted(document, after, Counts.decayed, faded, keeps_inline=keeps_inline), faded


def is_decay_due(document: LessonsDocument, counters: Counters, today: date) -> bool:
    """Return whether a week has gone by since the last decay, or since the week began (`is_week_to_begin`)."""
    if not counters.decayed_on:
        return False
    try:
        days = (today - date.fromisoformat(counters.decayed_on)).days
    except ValueError:
        return True
    return not 0 <= days < DECAY_DAYS  # A date to come is a slip of a clock: it must not stop the decay for years.


def is_week_to_begin(document: LessonsDocument, counters: Counters) -> bool:
    """Return whether lessons are here for which no day was noted yet: the first look notes it, and nothing fades then.

    Another tool's file, or one from another machine, keeps its stars for the first week.
    """
    return bool(document.entries) and not counters.decayed_on


def moved(document: LessonsDocument, counters: Counters) -> Counters:
    """Counters with those that the document holds and nobody counts beside it yet; the same object without such."""
    if not document.has_counters:
        return counters
    inline = _inline(document)
    return counters.with_counts(
        {name: counters.counts(name, counts) for name, counts in inline.items() if not counters.has(name)}
    )


def _inline(document: LessonsDocument) -> dict[str, Counts]:
    """Counters that stand in the document; of two entries with one id those with more uses."""
    found: dict[str, Counts] = {}
    for entry in document.entries:
        counts = counts_of(entry)
        if counts is not None and (entry.id not in found or counts.uses > found[entry.id].uses):
            found[entry.id] = counts
    return found
