"""Makes observations of what somebody writes down: by hand in a command, or an agent through a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.ask.memory_filters import project_paths
from hybrid.base.errors import HybridError
from hybrid.records.memory.types import MAX_TITLE_CHARS, Extracted
from hybrid.redact import redact
from hybrid.render.marks import without_private

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.records.memory.types import ObservationType


class Note(Struct, frozen=True):
    """An observation as it was written, with secrets and private spans.

    Attributes:
        type: The sort of work.
        title: One line; a longer one is cut, and stands whole in the narrative.
        subtitle: One line that says more.
        narrative: Prose.
        facts: Single statements.
        concepts: Words to find it by.
        files: Paths, absolute or relative to the project.
    """

    type: ObservationType
    title: str
    subtitle: str = ""
    narrative: str = ""
    facts: Sequence[str] = ()
    concepts: Sequence[str] = ()
    files: Sequence[str] = ()


def told(note: Note, root: Path) -> Extracted:
    """Return a note as the memory stores it, without private spans and secrets.

    Raises:
        HybridError: The title is empty.
    """
    title = " ".join(_clean(note.title).split())
    if not title:
        raise HybridError("the TITLE is empty; an observation must say something")
    narrative = _clean(note.narrative).strip()
    if len(title) > MAX_TITLE_CHARS:
        narrative = f"{title}\n{narrative}".strip()
        end = title.rfind(" ", 0, MAX_TITLE_CHARS)
        title = f"{title[: end if end > 0 else MAX_TITLE_CHARS - 1]}…"
    return Extracted(
        note.type,
        title,
        subtitle=" ".join(_clean(note.subtitle).split()),
        narrative=narrative,
        facts=tuple(map(_clean, note.facts)),
        concepts=tuple(map(_clean, note.concepts)),
        files_read=project_paths(note.files, None, root),
    )


def _clean(text: str) -> str:
    return redact(without_private(text))
