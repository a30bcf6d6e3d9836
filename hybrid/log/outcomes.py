"""Tells what became of decisions: what an agent used of what it was given, and what it found by hand after a silence.

At the end of a turn a line of the log of outcomes says it (`outcome_of`); the status and the page count these lines
(`figures`). An item is used if it is cited, or a file of it is edited or opened after it was given. That an agent uses
what it reads in the injection itself leaves no trace: such an item counts as ignored if its agent used tools at all.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, to_builtins

from hybrid.log.events import seconds_of
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from hybrid.log.events import ReasonName
    from hybrid.types import Use

How = Literal["cited", "edited", "opened", "ignored", "answered"]
"""What became of an item; `answered`: the turn ended without a use of a tool, so nothing can be said."""
USED: tuple[How, ...] = ("cited", "edited", "opened")
_ORDER: tuple[How, ...] = (*USED, "ignored", "answered")

_SILENT: tuple[ReasonName, ...] = ("gate", "no_results")
"""Reasons of a silence in which a search found nothing close enough."""
_MOST_OPENED = 10


def outcome_of(
    decisions: Sequence[Mapping[str, Any]],
    uses: Sequence[Use],
    cited: Collection[str],
    files_of: Callable[[Mapping[str, Any]], Collection[str]],
    *,
    is_counted: bool = False,
) -> dict[str, Any]:
    """Return what became of the decisions of one turn, for a line of the log of outcomes; empty for nothing to say.

    Args:
        decisions: Their lines in the event log, the newest first.
        uses: The uses of tools in the turn, subagents' too.
        cited: Ids of the lessons that the agent cited in the turn.
        is_counted: An experiment counts the turn though there is nothing to say.
        files_of: Returns the files that a record names, as an item of the log tells it; perhaps the ends of paths.

    Returns:
        `decisions`: their ids; `became`: {key, kind, place, how} of each item given; `is_silent`: whether the
        prompt got nothing, since nothing was close enough; `is_missed`: whether the agent then searched by hand and
        opened files; `opened`: the first of these; `did`: kind → number of uses; `failed`: form → number of failures;
        `before_edit`: number of uses before the first edit, None without one. An item that an experiment held out has
        `is_held`.
    """
    became: dict[str, dict[str, Any]] = {}
    for decision in decisions:
        later = [use for use in uses if use.at_s >= seconds_of(decision.get("at"))]
        for item in (*(decision.get("items") or ()), *_held(decision)):
            names = {str(item["path"])} if item.get("path") else set(map(str, files_of(item)))
            how: How = "cited" if item.get("id") and item["id"] in cited else _how(names, uses, later)
            key = str(item.get("key"))
            if key not in became or _ORDER.index(how) < _ORDER.index(became[key]["how"]):
                place = item.get("id") or item.get("path")
                became[key] = {"key": key, "kind": item.get("kind"), "place": place, "how": how}
                became[key] |= {"is_held": True} if item.get("is_held") else {}
    prompts = [one for one in decisions if one.get("event") == "UserPromptSubmit"]
    is_silent = bool(prompts) and prompts[0].get("reason") in _SILENT
    did = Counter(use.kind for use in uses)
    n_before = next((n for n, use in enumerate(uses) if use.written), None)
    # What a search shows is found, not opened.
    worked = (use for use in uses if use.kind != "search")
    opened = list(dict.fromkeys(path for use in worked for path in (*use.read, *use.written)))
    if not (became or is_silent or did or is_counted):
        return {}
    return {
        "decisions": [one.get("id") for one in decisions],
        "became": list(became.values()),
        "is_silent": is_silent,
        "is_missed": is_silent and did["search"] > 0 and bool(opened),
        "opened": opened[:_MOST_OPENED] if is_silent else [],
        "did": did,
        "failed": Counter(use.failed for use in uses if use.failed),
        "before_edit": n_before,
    }


def _held(decision: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what an experiment held out: items with all that they would have had, and of further ones the keys."""
    for item in decision.get("held") or ():
        yield {**item, "is_held": True}
    for entry in decision.get("held_back") or ():
        if entry.get("reason") == "held_out":
            key = str(entry.get("key"))
            kind, _, path = key.rpartition(":")[0].partition(":")
            yield {"key": key, "kind": kind, "id": path, "is_held": True}


def _how(names: Collection[str], uses: Sequence[Use], later: Sequence[Use]) -> How:
    """Return what the uses after a decision say of an item that names some files."""
    if not uses:
        return "answered"
    if any(_is_named(path, names) for use in later for path in use.written):
        return "edited"
    opened = (path for use in later if use.kind != "search" for path in use.read)
    return "opened" if any(_is_named(path, names) for path in opened) else "ignored"


def _is_named(path: str, names: Collection[str]) -> bool:
    return any(path == name or path.endswith(f"/{name}") for name in names)


# --- figures ----------------------------------------------------------------------------------------------


class Figures(Struct):
    """Counts of what became of decisions.

    Attributes:
        given: Items that were given.
        used: Those of them that were cited, edited or opened.
        ignored: Those that were not, though the agent used tools.
        answered: Those of turns without a use of a tool.
        silent: Prompts that got nothing, since nothing was close enough.
        missed: Those of them after which the agent searched by hand and opened files.
    """

    given: int = 0
    used: int = 0
    ignored: int = 0
    answered: int = 0
    silent: int = 0
    missed: int = 0


def figures(newest_first: Iterable[Mapping[str, Any]], *, days: int, now_s: float) -> dict[str, Any]:
    """Return the `use` part of the status: what became of the decisions of the last days.

    Args:
        newest_first: Lines of the log of outcomes of one project, newest first.
        days: The days that count, the present one among them.
        now_s: Seconds since 1970.

    Returns:
        `days`, `total`, `by_day` (date in UTC → counts, newest first, without days on which nothing ended) and
        `by_kind` (kind of item → counts); counts as of `Figures`.
    """
    total, by_day, by_kind = Figures(), dict[str, Figures](), dict[str, Figures]()
    for line in newest_first:
        at_s = seconds_of(line.get("at"))
        if at_s < now_s - days * 86_400:
            break
        given = [one for one in line.get("became") or () if not one.get("is_held")]
        day = datetime.fromtimestamp(at_s, timezone.utc).date().isoformat()
        of_day = by_day.setdefault(day, Figures())
        for one in given:
            for counts in (total, of_day, by_kind.setdefault(str(one.get("kind")), Figures())):
                counts.given += 1
                counts.used += one.get("how") in USED
                counts.ignored += one.get("how") == "ignored"
                counts.answered += one.get("how") == "answered"
        for counts in (total, of_day):
            counts.silent += bool(line.get("is_silent"))
            counts.missed += bool(line.get("is_missed"))
    named = {name: to_builtins(counts) for name, counts in sorted(by_kind.items())}
    return {
        "days": days,
        "total": to_builtins(total),
        "by_day": {day: to_builtins(counts) for day, counts in by_day.items()},
        "by_kind": named,
    }


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts in words: `42 given, 25 used, 12 ignored; 30 silences, 3 missed`."""
    said = f"{counts['given']:,} given, {counts['used']:,} used, {counts['ignored']:,} ignored"
    if counts["silent"]:
        said += f"; {amount(counts['silent'], 'silence')}, {counts['missed']:,} missed"
    return said


def outcome_in_words(line: Mapping[str, Any]) -> list[str]:
    """Return what a line of the log of outcomes says, a line each: `edited src/a.py`, `ignored L001`."""
    by_how: dict[str, list[str]] = {}
    for one in line.get("became") or ():
        if not one.get("is_held"):
            by_how.setdefault(str(one.get("how")), []).append(str(one.get("place")))
    said = [f"{how} {', '.join(by_how[how])}" for how in _ORDER if how in by_how and how != "answered"]
    if "answered" in by_how:
        said.append("the agent answered without a tool")
    if line.get("is_missed"):
        said.append(f"the agent searched by hand and opened {', '.join(map(str, line.get('opened') or ()))}")
    return said
