"""Lessons as text that may be printed, whoever wrote their file: one line, in full, or as a hit of a search; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.text import one_line
from hybrid.records.lessons.types import DELETED, stars_of_uses
from hybrid.records.scoring import MAX_RELEVANCE
from hybrid.redact import redact
from hybrid.render.marks import plain_text

if TYPE_CHECKING:
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.scoring import LessonT, Scored

STAR = "⭐"

_LINES = ("title", "category", "type", "source", "superseded", "learned", "last")
"""Attributes of a lesson that are one line of text."""


def shown(lesson: Lesson) -> Lesson:
    """Return a lesson as it may be printed: without terminal escapes and secrets."""
    lines = {name: shown_line(getattr(lesson, name)) for name in _LINES}
    return replace(
        lesson,
        content=plain_text(redact(lesson.content)),
        triggers=tuple(map(shown_line, lesson.triggers)),
        **lines,
    )


def shown_line(text: str) -> str:
    """Return a text on one line, without terminal escapes and secrets."""
    return one_line(plain_text(redact(text)))


def index_line(lesson: Lesson) -> str:
    """Return one line about a lesson: id, stars, title, category and counters."""
    lesson = shown(lesson)
    stars = f" {lesson.stars * STAR}" if lesson.stars else ""
    facts = [fact for fact in (lesson.category, f"uses {lesson.uses}", f"velocity {lesson.velocity:g}") if fact]
    gone = f" [{lesson.superseded}]" if lesson.superseded == DELETED else f" [superseded by {lesson.superseded}]"
    return f"{lesson.id}{stars} {lesson.shown_title} ({', '.join(facts)}){'' if lesson.is_active else gone}"


def full_lines(lesson: Lesson) -> list[str]:
    """Return the lines of a lesson in full: `index_line`, content, and everything else that is known of it."""
    lesson = shown(lesson)
    content = lesson.content.split("\n") if lesson.content else []
    facts = {
        "learned": lesson.learned,
        "last used": lesson.last,
        "type": lesson.type,
        "triggers": ", ".join(lesson.triggers),
        "promotable": "" if lesson.is_promotable else "no",
        "given": str(lesson.injections),
        "cited": str(lesson.citations),
        "trust": f"{lesson.trust:.2f}",
    }
    known = "  ".join(f"{name}: {value}" for name, value in facts.items() if value)
    return [index_line(lesson), *(f"    {line}".rstrip() for line in content), f"    {known}"]


def hit_lines(hit: Scored[LessonT]) -> str:
    """Return two lines without a final line end: id, stars, relevance, title; then the rule on one line.

    A lesson without uses has no star: `[L001] (relevance: 8/10) Git commit format`.
    """
    lesson = hit.lesson
    stars = stars_of_uses(lesson.uses) * STAR
    parts = [
        f"[{lesson.id}]",
        stars,
        f"(relevance: {hit.relevance}/{MAX_RELEVANCE})",
        one_line(plain_text(lesson.title)),
    ]
    return f"{' '.join(part for part in parts if part)}\n    -> {one_line(plain_text(lesson.content))}"
