"""Brings what people and agents say into the form of LESSONS.md: one line of title, clean lines, no secrets, bounds.

Every new or changed text passes here before it is stored, whoever it comes from.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.text import cut_at_word, one_line
from hybrid.records.errors import LessonsError
from hybrid.records.lessons.types import AI, AI_MARK, CATEGORIES, TYPES
from hybrid.redact import redact
from hybrid.render.marks import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hybrid.records.lessons.types import Draft, LessonEdit


TITLE_CHARS = 200
CONTENT_CHARS = 4_000
TRIGGER_CHARS = 60
MOST_TRIGGERS = 20

_MARKED = re.compile(r"[#>\s]+")
_STARS = re.compile(r"\[(?:[-*+]{1,5}[|/][-*+]{1,5}|[-*+]{5})\]\s*")
_NO_TRIGGER = re.compile(r"[,|\s]+")


def checked(draft: Draft) -> Draft:
    """Return a draft in the form of the file: without secrets, each part cut to its limit.

    Raises:
        LessonsError: The title is empty, or category or type is unknown.
    """
    title, content = _without_secrets(draft.title, draft.content)
    return replace(
        draft,
        title=title_form(title),
        content=content_form(content),
        category=_one_of("category", draft.category, CATEGORIES),
        type=_one_of("type", draft.type, TYPES) if draft.type else "",
        source=AI if draft.source == AI else "",
        triggers=trigger_forms(draft.triggers),
    )


def checked_edit(edit: LessonEdit) -> LessonEdit:
    """Return an edit in the form of the file: without secrets, each part cut to its limit.

    Raises:
        LessonsError: See `checked`.
    """
    return replace(
        edit,
        title=None if edit.title is None else title_form(redact(edit.title)),
        content=None if edit.content is None else content_form(redact(edit.content)),
        category=None if edit.category is None else _one_of("category", edit.category, CATEGORIES),
        type=_one_of("type", edit.type, TYPES) if edit.type else edit.type,
        triggers=None if edit.triggers is None else trigger_forms(edit.triggers),
    )


def title_form(text: str) -> str:
    """Return a title as one line of at most 200 characters, without the marks at the ends of an entry's heading.

    Raises:
        LessonsError: The title is empty without these marks.
    """
    title = one_line(plain_text(text))
    before = ""
    while title != before:  # `# > [*----|-----] title 🤖` carries several of them.
        before = title
        marked = _MARKED.match(title) or _STARS.match(title)
        title = title[marked.end() :] if marked else title
        title = title.removesuffix(AI_MARK).strip()
    if not title:
        raise LessonsError(f"{text[:40]!r} is no title of a lesson; give it a few words")
    return cut_at_word(title, TITLE_CHARS)


def content_form(text: str) -> str:
    """Return a content of at most 4,000 characters, without white space at line ends and blank lines around it."""
    lines = [line.rstrip() for line in plain_text(text).strip().split("\n")]
    return cut_at_word("\n".join(lines), CONTENT_CHARS).rstrip()


def trigger_forms(words: Iterable[str]) -> tuple[str, ...]:
    """Return at most 20 triggers in order, each once, without commas, bars, stars and secrets."""
    forms = (_NO_TRIGGER.sub(" ", plain_text(word).replace("**", " ")).strip(" `\"'") for word in words)
    kept = dict.fromkeys(cut_at_word(form, TRIGGER_CHARS) for form in map(redact, forms) if form)
    return tuple(kept)[:MOST_TRIGGERS]


def is_id(text: str) -> bool:
    """Return whether a text is the id of a lesson in upper case, `L001` or `S001`."""
    return re.fullmatch(r"[LS][0-9]{3,9}", text) is not None


def id_form(text: str) -> str:
    """Return an id as a person may write it (`l001`, `[L001]`) in upper case.

    Raises:
        LessonsError: The text is no id of a lesson.
    """
    lesson_id = text.strip(" []`").upper()
    if not is_id(lesson_id):
        raise LessonsError(
            f"{text!r} is no id of a lesson; they look like L001 or S001, `hybrid lessons list` shows all"
        )
    return lesson_id


def _without_secrets(title: str, content: str) -> tuple[str, str]:
    """Return title and content without secrets, searched as one text: a name in the title may tell of a value."""
    if "\n" not in title:
        redacted = redact(f"{title}\n{content}").split("\n", 1)
        if len(redacted) == 2:
            return redacted[0], redacted[1]
    return redact(title), redact(content)


def _one_of(what: str, text: str, known: tuple[str, ...]) -> str:
    value = text.strip().lower()
    if value not in known:
        raise LessonsError(f"{text!r} is no {what} of a lesson; there are {', '.join(known)}")
    return value
