"""Says why an event of the log got a text or nothing, and what would have changed it; for `hybrid explain`, the page.

Works on lines of the event log and the settings in force; reads and prints nothing. `hybrid context` and `search` say
the gate's verdict in the same words.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from hybrid.log.events import PROMPT_RULES, reason_of
from hybrid.records.types import OF_TREES
from hybrid.render.numbers import LOWEST_BAR, compared, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.config import Config


BARS = {"talk": "talk", "tasks": "tasks of other projects"}
"""Name of a bar → the prompts that it keeps out, in words."""

_EVIDENCE = {
    "cosine": "best piece to closest chunk",
    "null": "vague words",
    "lexical": "telling word",
    "together": "its words in one chunk",
    "names": "identifiers known here",
    "alone": "a short prompt is judged by what it names",
    "words": "words of this record",
    "hinge": "hangs on one word",
    "reader": "as the reader understands both",
    "trigger": "a trigger of it",
    "file": "names a file that fits",
    "project": "asks about the project itself",
    "absent": "words unknown here",
    "lacking": "a role, or a question how to do something, in words unknown here",
    "length": "long prompt",
}
_TALK = {"chat": "like small talk", "probe": "is it about code"}


def gate_rows(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the verdict as (label, text), a line each; none when the gate was not asked.

    Args:
        said: The verdict, with the keys that `hybrid.answer.recording.gate_part` gives to a line of the event log;
            lines of earlier versions have no `score`.
    """
    source, score, threshold = said.get("threshold_source"), said.get("score"), said.get("threshold")
    if source is None:
        return []
    if not said.get("bar"):
        return [("gate", _raw(said.get("top_cosine"), threshold, source))]
    if score is None or threshold is None:
        return [("gate", f"nothing to compare ({source})")]
    shown, above = compared(score, threshold)
    opens = "opens always" if threshold <= LOWEST_BAR else f"opens above {typeset(above)}"
    row = f"score {typeset(shown)}, {opens} ({BARS.get(said['bar'], said['bar'])}, {source})"
    return [("gate", row), *_parts(said.get("parts") or {}, is_talk=said["bar"] == "talk")]


def kind_rows(kind: str, compared: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of `gate_rows` for a kind of records, the first labelled with the kind, the others unlabelled.

    The first begins with `open` or `closed`, by `is_open` in `compared`; it stands alone when there are no figures.
    """
    state = "open" if compared.get("is_open") else "closed"
    rows = gate_rows(compared)
    text = f"{state}: {rows[0][1]}" if rows else state
    return [(kind, text), *(("", part) for _, part in rows[1:])]


def _raw(top: float | None, threshold: float | None, source: str) -> str:
    shown = "no vector" if top is None else f"raw top cosine {typeset(number(top, 4))}"
    opens = "no threshold was measured for this model" if threshold is None else f"opens from {threshold}"
    return f"{shown}, {opens} ({source})"


def _parts(parts: Mapping[str, float | None], *, is_talk: bool) -> list[tuple[str, str]]:
    """Return the parts of the score: a line with the evidence, a line with what counts for the bar of talk alone."""
    evidence, talk = _named(parts, _EVIDENCE), _named(parts, _TALK)
    if talk and not is_talk:
        talk += " – these count for talk only"
    return [(label, text) for label, text in (("parts", evidence), ("", talk)) if text]


def _named(parts: Mapping[str, float | None], words: Mapping[str, str]) -> str:
    """Return in words the parts of the score that are not 0, with their values; empty when all are 0."""
    shown = [(name, f"{parts.get(name) or 0:+.2f}") for name in words]
    return ", ".join(
        f"{name} {typeset(value.removeprefix('+') if name == 'cosine' else value)} ({words[name]})"
        for name, value in shown
        if float(value)
    )


def typeset(shown: str) -> str:
    """Return a number with the sign that people read."""
    return shown.replace("-", "−")


# --- advice -----------------------------------------------------------------------------------------------


Event = dict[str, Any]

_RATES = {"tasks": "max_other_task_rate", "talk": "max_false_open_rate"}
"""Name of a bar → the setting whose share determines it, in the section `gate` and in those of kinds of records."""
_READ = (
    "The agent's own tools showed it what is marked as read: that is given once it changed, after /compact or "
    "/clear, or with `hooks.skip_read` false."
)
_AGAIN = (
    "They are given again after /compact or /clear, in a new session, with `--no-dedup` by hand, or with "
    "`hooks.dedup_enabled` false."
)


def advice(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    """Return lines on what would have changed the decision; empty for a calibrated injection and for unknown reasons.

    Args:
        event: A line of the event log.
        earlier: Older events of the same session, newest first.
        config: The settings in force now, which may not be those of then.
    """
    name = str(event.get("reason"))
    reason = reason_of(name)
    if reason and reason.advice:
        return [reason.advice]
    known = _KNOWN.get(name)
    return [*_uncalibrated(event), *(known(event, earlier, config) if known else [])]


def _uncalibrated(event: Event) -> list[str]:
    """Return a line when an index with chunks had no bars, else none; the first versions logged no bars."""
    is_of_files = event.get("gate_kind") in (None, "files")
    is_plain = is_of_files and event.get("threshold_source") == "auto" and "bar" in event and not event["bar"]
    has_chunks = event.get("top_cosine") is not None or event.get("best") or event.get("items")
    if not is_plain or not has_chunks:
        return []
    return [
        "The index was not calibrated (an older version built it), so the raw top cosine "
        "alone decided: run `hybrid reindex`."
    ]


def _gate(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    # Lines of earlier versions have no score: they compared the raw top cosine.
    score, threshold = event.get("score", event.get("top_cosine")), event.get("threshold")
    if score is None or (threshold is None and event.get("bar")):
        return [
            "The prompt has no word that could be compared, or the index no chunk: use words of the code or the docs."
        ]
    if threshold is None:
        return [
            "There are no bars, and nobody measured a threshold for this model: `hybrid reindex` finds bars, "
            "`hybrid config set hooks.gate_threshold 0.35` does without."
        ]
    missed = _by(threshold - score)
    lines = _of_bar(event, missed, config) if event.get("bar") else [f"It missed the threshold by {missed}."]
    best = _best(event, "The best candidate it held back")
    return [*lines, *_of_kinds(event, config), *_fixed(event), *_mark(event), *best]


def _of_bar(event: Event, missed: str, config: Config) -> list[str]:
    """Return a line that names the settings of both bars of a calibrated gate, first that of the missed bar."""
    rates = {bar: f"`gate.{key}` ({getattr(config.gate, key)})" for bar, key in _RATES.items()}
    bar = _bar(event)
    other = "tasks" if bar == "talk" else "talk"
    return [
        f"It missed by {missed} what {BARS[bar]} may reach here by chance. {rates[bar]} sets that bar, {rates[other]} "
        f"the one for {BARS[other]}: a larger share opens more often."
    ]


def _bar(compared: Event) -> str:
    return "talk" if compared["bar"] == "talk" else "tasks"


def _of_kinds(event: Event, config: Config) -> list[str]:
    """Return a line for each kind of records that missed its bar: by how much, and the setting of that bar."""
    lines: list[str] = []
    kinds: dict[str, Event] = event.get("kinds") or {}
    for kind in (kind for kind in OF_TREES if kind in kinds):
        compared = kinds[kind]
        score, threshold = compared.get("score"), compared.get("threshold")
        if compared.get("is_open") or not compared.get("bar") or score is None or threshold is None:
            continue
        key = _RATES[_bar(compared)]
        setting = f"`{kind}.{key}` ({getattr(getattr(config, kind), key)})"
        if key == _RATES["tasks"] and "reader" in (compared.get("parts") or {}):
            setting += f" times {config.gate.reader_rate}, since the reader judges too,"
        lines.append(
            f"Of the {kind} it missed by {_by(threshold - score)} what {BARS[_bar(compared)]} may reach "
            f"there by chance: {setting} sets that bar."
        )
    return lines


def _fixed(event: Event) -> list[str]:
    """Return a line with the `hooks.gate_threshold` that would have opened the gate; none when no cosine was logged."""
    top = event.get("top_cosine")
    if top is None:
        return []
    opening = f"{math.floor((top - 0.00005) * 100) / 100:.2f}"
    instead = " in place of the bars" if event.get("bar") else ""
    return [
        f"`hooks.gate_threshold` of {opening} or less would have opened it: it is compared with the raw top cosine of "
        f"every prompt{instead}; `hybrid context --gate-threshold {opening} PROMPT` shows what it gives."
    ]


def _mark(event: Event) -> list[str]:
    if not event.get("id"):
        return []
    return [f"If it should have spoken, `hybrid mark {event['id']} good` notes that for `hybrid eval gate --marks`."]


def _by(missed: float) -> str:
    return f"{missed:.2f}" if missed >= 0.005 else "less than 0.01"


def _no_results(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    return [
        f"Every result lies below the floor: `hooks.threshold` ({config.hooks.threshold} of the best) and "
        f"`search.min_cosine` ({config.search.min_cosine}) set it.",
        *_floors_of_kinds(event, config),
        *_best(event, "The best of them"),
    ]


def _floors_of_kinds(event: Event, config: Config) -> list[str]:
    """Return a line for each kind of records whose gate was open, with the settings of its floor."""
    kinds: dict[str, Event] = event.get("kinds") or {}
    found: list[str] = []
    for kind in (kind for kind in OF_TREES if kinds.get(kind, {}).get("is_open")):
        own: Any = getattr(config, kind)
        score = f", and `lessons.min_score` ({own.min_score}) or" if kind == "lessons" else " and"
        floor = f"`{kind}.threshold` ({own.threshold} of the best){score} `{kind}.min_cosine` ({own.min_cosine})"
        found.append(f"The floor of the {kind}: {floor}.")
    return found


def _of_rules(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    rule = str(event.get("detail"))
    if rule == "skip_prefix":
        return [f"It begins with one of `hooks.skip_prefixes`: {', '.join(config.hooks.skip_prefixes) or 'none now'}."]
    return [PROMPT_RULES[rule]] if rule in PROMPT_RULES else []


def _same_topic(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    topic = event.get("topic_id")
    before = next((e for e in earlier if e.get("reason") == "injected" and e.get("topic_id") == topic), None)
    return [_given(before), _AGAIN]


def _all_seen(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    held: Event = event.get("withheld") or {}
    digests = {_digest(entry) for entry in event.get("held_back") or () if entry.get("reason") == "seen"}
    gave = [e for e in earlier if digests & {_digest(item) for item in e.get("items") or ()}]
    given = [_given(before) for before in gave[:3]] or [_given(None)]
    # Lines of earlier versions count none.
    lines = [*given, _AGAIN] if held.get("seen") or not held.get("read") else []
    return [*lines, _READ] if held.get("read") else lines


def _given(before: Event | None) -> str:
    if before is None:
        return "They were given earlier in this session; that event is no longer in the log."
    places = ", ".join(item_place(item) for item in (before.get("items") or ())[:3])
    return f"Given at {str(before.get('at'))[:19]} UTC: {places} (`hybrid explain {before.get('id')}`)."


def _budget(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    hooks = config.hooks
    return [
        f"`hooks.budget` ({hooks.budget} lines) and `hooks.budget_chars` ({hooks.budget_chars} characters) set it; "
        '`hooks.content_mode` "preview" shows less of each.'
    ]


def _paused(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    scope = str(event.get("detail") or "")
    option = {"all": " --all", "session": f" --session {event.get('session') or ''}".rstrip()}.get(scope, "")
    return [f"`hybrid resume{option}` switches it on again; `hybrid status` shows what is paused."]


def _off(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    key = str(event.get("detail") or "").split(" ")[0]
    return [f"`hybrid config set {key} true` switches it on."] if key.startswith("hooks.") else []


def _at_file(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    return ["`hooks.at_file` false gives no records beside a file, `hooks.tests_of_edited` false names no tests."]


def _error(event: Event, earlier: Sequence[Event], config: Config) -> list[str]:
    error = str(event.get("error"))
    if error.startswith("not done after"):
        return [
            f"It took longer than `hooks.deadline_ms` ({config.hooks.deadline_ms}). The service answers faster: "
            "`hybrid doctor` tells whether it runs."
        ]
    return ["`hybrid doctor` looks for the cause."]


def _best(event: Event, label: str) -> list[str]:
    best: Event | None = event.get("best")
    if not best:
        return []
    name = f" {best['name']}" if best.get("name") else ""
    return [f"{label}: {_place_of_best(best)}{name} (cosine {best.get('cosine')})."]


def _place_of_best(best: Event) -> str:
    if best.get("id"):
        return f"[{best.get('kind')}] {best['id']}"
    path, start, end, _ = (*str(best.get("key")).rsplit(":", 3), "", "", "")[:4]
    return f"{path}:{start}-{end}"


def _digest(entry: Event) -> str:
    return str(entry.get("key", "")).rsplit(":", 1)[-1]


_KNOWN: dict[str, Callable[[Event, Sequence[Event], Config], list[str]]] = {
    "gate": _gate,
    "no_results": _no_results,
    "prompt": _of_rules,
    "same_topic": _same_topic,
    "all_seen": _all_seen,
    "budget": _budget,
    "paused": _paused,
    "off": _off,
    "at_file": _at_file,
    "error": _error,
}


# --- events ------------------------------------------------------------------------------------------


def item_place(item: dict[str, Any]) -> str:
    """Return the origin of an item of an event: the id of a record, else path and first line."""
    return str(item["id"]) if item.get("id") else f"{item['path']}:{item['start_line']}"


def learned_ids(event: dict[str, Any]) -> dict[str, list[str]]:
    """Return the ids of lessons under `cited` and `recorded` of an event, each once; a key with no ids is left out."""
    found: dict[str, list[str]] = {}
    for what in ("cited", "recorded"):
        ids = event.get(what)
        if ids and isinstance(ids, list):
            found[what] = list(dict.fromkeys(str(name) for name in cast("list[object]", ids)))
    return found
