"""Turns search results into entries of the frame: header line, full text, preview, pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.render.frame import Entry
from hybrid.render.marks import neutralise

if TYPE_CHECKING:
    from hybrid.types import Hit, Item

PREVIEW_LINES = 3
PREVIEW_MARK = "..."

_PREVIEW_LINE_CHARS = 200
_LABEL_CHARS = 120


def file_entry(hit: Hit, text: str = "") -> Entry:
    """A chunk of a file as an entry; no text makes it a pointer of one line."""
    label = _label(hit)
    named = f" {label}" if label else ""
    title = f"{hit.path}:{hit.start_line}-{hit.end_line}{named} ({', '.join(_facts(hit))})"
    return Entry(hit.kind, title, body_lines(text))


def item_entry(item: Item) -> Entry:
    """An item in the form that was chosen for it."""
    return file_entry(item.hit, text_in_form(item.text, item.form))


def text_in_form(text: str, form: str) -> str:
    """Text as `full`, `preview` (first three lines and `...`) or `pointer` (nothing) shows it."""
    if form == "pointer":
        return ""
    return preview(text) if form == "preview" else text


def preview(text: str) -> str:
    """The first three lines that are not leading blanks, over-long ones cut, and `...` when more follows."""
    lines = list(body_lines(text))
    shown = [_shorten(line, _PREVIEW_LINE_CHARS) for line in lines[:PREVIEW_LINES]]
    return "\n".join([*shown, PREVIEW_MARK] if len(lines) > PREVIEW_LINES else shown)


def body_lines(text: str) -> tuple[str, ...]:
    """Neutralised lines of a text without blank ones around it."""
    cleaned = "\n".join(line.rstrip() for line in neutralise(text).split("\n")).strip("\n")
    return tuple(cleaned.split("\n")) if cleaned else ()


def _label(hit: Hit) -> str:
    joint = " > " if hit.kind == "doc" else "."
    if hit.kind == "doc" and f" > {hit.scope}".endswith(f" > {hit.name}"):
        return _shorten(hit.scope, _LABEL_CHARS)
    return _shorten(joint.join(part for part in (hit.scope, hit.name) if part), _LABEL_CHARS)


def _facts(hit: Hit) -> list[str]:
    facts = [hit.chunk_kind] if hit.chunk_kind else []
    if hit.cosine is not None:
        facts.append(f"cosine {hit.cosine:.2f}")
    elif hit.bm25 is not None:
        facts.append(f"bm25 {hit.bm25:.1f}")
    return facts or [hit.kind]


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
