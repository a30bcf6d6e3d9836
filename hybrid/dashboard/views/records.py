"""Views of lessons and lore: look through, add, edit, replace and take away; what takes away asks first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.dashboard.rendering import link
from hybrid.dashboard.service import PageError
from hybrid.operations import page_types as types

if TYPE_CHECKING:
    from msgspec import Struct
    from starlette.responses import Response

    from hybrid.dashboard.desk import Asked

_PAGE = 50
_KINDS = {
    "": "All",
    "pattern": "Patterns",
    "anti-pattern": "Anti-patterns",
    "decision": "Decisions",
    "handoff": "Handoffs",
}


# --- lessons ----------------------------------------------------------------------------------------------


def lessons(asked: Asked) -> Response:
    """Show the lessons with stars, trust and how they fade, and a form for a new one."""
    query, is_all = asked.query.get("q", "").strip(), bool(asked.query.get("all"))
    found = asked.ask("page_lessons", types.PageLessonsArguments(query=query, is_all=is_all), types.PageLessons)
    skip = _skip(asked)
    return asked.page(
        "lessons.html",
        found=found,
        lessons=found.lessons[skip : skip + _PAGE],
        total=len(found.lessons),
        skip=skip,
        next_skip=skip + _PAGE if len(found.lessons) > skip + _PAGE else 0,
        query=query,
        is_all=is_all,
    )


def _skip(asked: Asked) -> int:
    text = asked.query.get("skip", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0


def _lesson(asked: Asked, lesson_id: str) -> tuple[types.PageLessons, types.PageLesson]:
    found = asked.ask("page_lessons", types.PageLessonsArguments(id=lesson_id), types.PageLessons)
    if not found.lessons:
        raise PageError(f"there is no lesson {lesson_id[:40]!r}", "usage")
    return found, found.lessons[0]


def edit_lesson(asked: Asked) -> Response:
    """Show the form that changes a lesson."""
    found, lesson = _lesson(asked, asked.query.get("id", ""))
    return asked.page("lesson_edit.html", found=found, lesson=lesson)


def confirm_supersede_lesson(asked: Asked) -> Response:
    """Ask which lesson takes the place of another one."""
    _, lesson = _lesson(asked, asked.query.get("id", ""))
    found = asked.ask("page_lessons", types.PageLessonsArguments(), types.PageLessons)
    others = [one for one in found.lessons if one.id != lesson.id]
    return asked.page("lesson_supersede.html", lesson=lesson, others=others)


def confirm_delete_lesson(asked: Asked) -> Response:
    """Ask whether a lesson is to be deleted."""
    _, lesson = _lesson(asked, asked.query.get("id", ""))
    return asked.page("lesson_delete.html", lesson=lesson)


def _changed(asked: Asked, name: str, arguments: Struct, back: str) -> Response:
    done = asked.ask(name, arguments, types.PageDone)
    asked.desk.service.forget_reports()
    return asked.done(done.message, back, is_well=done.is_done)


def _triggers(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def do_add_lesson(asked: Asked) -> Response:
    """Add a lesson."""
    arguments = types.PageLessonAddArguments(
        title=asked.field("title"),
        content=asked.field("content"),
        category=asked.field("category") or "correction",
        type=asked.field("type"),
        triggers=_triggers(asked.field("triggers")),
        is_system=asked.field("level") == "system",
        is_forced=bool(asked.field("force")),
    )
    return _changed(asked, "page_lesson_add", arguments, asked.path("lessons"))


def do_edit_lesson(asked: Asked) -> Response:
    """Change a lesson."""
    lesson_id = asked.field("id")
    arguments = types.PageLessonEditArguments(
        id=lesson_id,
        title=asked.field("title"),
        content=asked.field("content"),
        category=asked.field("category"),
        type=asked.field("type"),
        triggers=_triggers(asked.field("triggers")),
    )
    return _changed(asked, "page_lesson_edit", arguments, f"{asked.path('lessons')}#{_anchor(lesson_id)}")


def _anchor(text: str) -> str:
    return "".join(char for char in text if char.isascii() and (char.isalnum() or char in "-_"))


def do_supersede_lesson(asked: Asked) -> Response:
    """Have one lesson take the place of another."""
    arguments = types.PageReplaceArguments(old=asked.field("id"), new=asked.field("new"))
    return _changed(asked, "page_lesson_supersede", arguments, asked.path("lessons"))


def do_delete_lesson(asked: Asked) -> Response:
    """Delete a lesson."""
    arguments = types.PageIdArguments(id=asked.field("id"))
    return _changed(asked, "page_lesson_delete", arguments, asked.path("lessons"))


# --- lore -------------------------------------------------------------------------------------------------


def lore(asked: Asked) -> Response:
    """Show patterns, decisions and handoffs."""
    kind = asked.query.get("kind", "")
    kind = kind if kind in _KINDS else ""
    query, is_all, skip = asked.query.get("q", "").strip(), bool(asked.query.get("all")), _skip(asked)
    arguments = types.PageLoreArguments(kind=kind, query=query, is_all=is_all, skip=skip, limit=_PAGE)  # pyright: ignore[reportArgumentType]
    found = asked.ask("page_lore", arguments, types.PageLore)
    return asked.page(
        "lore.html",
        found=found,
        kinds=_KINDS,
        kind=kind,
        query=query,
        is_all=is_all,
        skip=skip,
        next_skip=skip + _PAGE if found.total > skip + _PAGE else 0,
    )


def lore_record(asked: Asked) -> Response:
    """Show one record in full, with the forms that take it back.

    Raises:
        PageError: There is no such record.
    """
    identity = asked.query.get("id", "")
    found = asked.ask("page_lore", types.PageLoreArguments(id=identity), types.PageLore)
    if not found.records:
        raise PageError(f"there is no record {identity[:60]!r}", "usage")
    one = found.records[0]
    others: list[types.PageLoreRecord] = []
    if one.kind == "decision":
        listed = asked.ask("page_lore", types.PageLoreArguments(kind="decision", limit=200), types.PageLore)
        others = [other for other in listed.records if other.id != one.id]
    return asked.page("lore_record.html", one=one, others=others)


def do_retract(asked: Asked) -> Response:
    """Take a record back."""
    arguments = types.PageRetractArguments(id=asked.field("id"), reason=asked.field("reason"))
    return _changed(asked, "page_lore_retract", arguments, _record(asked))


def do_supersede_lore(asked: Asked) -> Response:
    """Have one decision take the place of another."""
    arguments = types.PageReplaceArguments(old=asked.field("id"), new=asked.field("new"))
    return _changed(asked, "page_lore_supersede", arguments, _record(asked))


def _record(asked: Asked) -> str:
    return link(asked.path("lore", "record"), id=asked.field("id")).unescape()
