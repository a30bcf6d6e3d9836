"""The gate's verdict in words: what was compared with what, and the parts of the score; for `explain` and `context`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.render.numbers import LOWEST_BAR, compared, number

if TYPE_CHECKING:
    from collections.abc import Mapping

BARS = {"talk": "talk", "tasks": "tasks of other projects"}
"""Name of a bar → the prompts that it keeps out, in words."""

_EVIDENCE = {
    "cosine": "best piece to closest chunk",
    "null": "vague words",
    "lexical": "telling word",
    "together": "its words in one chunk",
    "names": "identifiers known here",
    "words": "words of this record",
    "hinge": "hangs on one word",
    "reader": "as the reader understands both",
    "trigger": "a trigger of it",
    "file": "names a file that fits",
    "absent": "words unknown here",
    "length": "long prompt",
}
_TALK = {"chat": "like small talk", "probe": "is it about code"}


def gate_rows(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the verdict as (label, text), a line each; none when the gate was not asked.

    Args:
        said: The verdict, with the keys that `hybrid.answer.log_fields.gate_part` gives to a line of the event log;
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
