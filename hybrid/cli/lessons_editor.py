"""Hands a lesson to the user's editor and reads back what was changed; for `hybrid lessons edit` without options."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.records.errors import LessonsError
from hybrid.records.lessons.document import NewEntry, entry_lines, parse
from hybrid.records.lessons.types import Draft, Edit

if TYPE_CHECKING:
    from hybrid.records.lessons.types import Lesson


def edit_of(lesson: Lesson) -> Edit:
    """What the user changes in `$VISUAL` or `$EDITOR`; an empty edit when nothing.

    Raises:
        LessonsError: No editor is set, it failed, or what it left is not one lesson with this id.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise LessonsError("no $EDITOR is set: set it, or name what to change (`hybrid lessons edit --help`)")
    with tempfile.TemporaryDirectory(prefix="hybrid-lesson-") as folder:
        path = Path(folder) / f"{lesson.id}.md"
        path.write_text(_text_of(lesson), encoding="utf-8")
        try:
            code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
        except (OSError, ValueError) as error:
            raise LessonsError(f"the editor {command!r} cannot be started: {error}") from error
        if code != 0:
            raise LessonsError(f"the editor {command!r} ended with code {code}; nothing was changed")
        return _difference(lesson, path.read_text(encoding="utf-8", errors="replace"))


def _text_of(lesson: Lesson) -> str:
    draft = Draft(
        lesson.title,
        lesson.content,
        lesson.category,
        type=lesson.type,
        triggers=lesson.triggers,
        is_promotable=lesson.is_promotable,
    )
    return "\n".join([*entry_lines(NewEntry(lesson.id, draft, lesson.learned)), ""])


def _difference(lesson: Lesson, text: str) -> Edit:
    entries = parse(text).entries
    if [entry.id for entry in entries] != [lesson.id]:
        raise LessonsError(f"the text holds no lesson `### [{lesson.id}] Title` any more; nothing was changed")
    entry = entries[0]
    category, kind = entry.value("category").lower(), entry.value("type").lower()
    return Edit(
        title=entry.title if entry.title != lesson.title else None,
        content=entry.content if entry.content != lesson.content else None,
        category=category if category != lesson.category else None,
        type=kind if kind != lesson.type else None,
        triggers=entry.triggers if entry.triggers != lesson.triggers else None,
        is_promotable=entry.is_promotable if entry.is_promotable != lesson.is_promotable else None,
    )
