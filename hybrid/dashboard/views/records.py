"""Views of lessons, lore and memory: look through, add, edit, replace and take away; what takes away asks first."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from hybrid.dashboard.rendering import link
from hybrid.dashboard.service_client import Done, PageError
from hybrid.dashboard.views.finding import fields_of, values_of
from hybrid.knowledge.stores import open_stores
from hybrid.operations.asking import operation_named
from hybrid.records.lessons.types import CATEGORIES, TYPES
from hybrid.records.lore.types import field_texts
from hybrid.records.memory.types import ROW_TYPES
from hybrid.redact import redact
from hybrid.render.numbers import amount, local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.responses import Response

    from hybrid.dashboard.service_client import Asked

    Row = Mapping[str, Any]

_PAGE = 50
_MOST_OTHERS = 200
_KINDS = {
    "": "All",
    "pattern": "Patterns",
    "anti-pattern": "Anti-patterns",
    "decision": "Decisions",
    "handoff": "Handoffs",
}
_FORMS = {
    "decision": "lore decide",
    "pattern": "lore pattern",
    "anti-pattern": "lore anti-pattern",
    "handoff": "lore handoff",
}
"""Kind of lore → the operation that writes it down, whose arguments make its form."""

_GONE = "the folder of this project is gone"
_OFF = {
    "lessons": "lessons are switched off here (`lessons.enabled`)",
    "lore": "lore is switched off here (`lore.enabled`)",
}


def _why_not(asked: Asked, records: str) -> str:
    """Return why no lesson or lore can be written here; empty if it can."""
    is_enabled = getattr(asked.workspace.config, records).enabled
    return _GONE if not asked.project.root else "" if is_enabled else _OFF[records]


def _require(asked: Asked, records: str, kind: str = "failed") -> None:
    if why_not := _why_not(asked, records):
        raise PageError(why_not, kind)


# --- lessons ----------------------------------------------------------------------------------------------


def lessons(asked: Asked) -> Response:
    """Show the lessons with stars, trust and how they fade, and a form for a new one."""
    return _lessons(asked)


def _lessons(asked: Asked, draft: Row | None = None) -> Response:
    """Show the lessons; with a draft that was not written the form that still holds it."""
    query, is_all = asked.query.get("q", "").strip(), bool(asked.query.get("all"))
    found: list[Row] = asked.command("lessons list", search=query, all=is_all).data["lessons"]
    if not query:
        found.sort(key=lambda one: (bool(one["superseded"]), -one["uses"], -one["velocity"], one["id"]))
    skip, stores = _skip(asked), open_stores(asked.workspace)
    return asked.page(
        "lessons.html",
        lessons=found[skip : skip + _PAGE],
        total=len(found),
        skip=skip,
        next_skip=skip + _PAGE if len(found) > skip + _PAGE else 0,
        query=query,
        is_all=is_all,
        draft=draft,
        files=[str(store.file) for store in stores.all],
        unread=[str(path) for path in stores.foreign],
        problems=[redact(str(problem)) for store in stores.all for problem in store.read().problems],
        is_enabled=asked.workspace.config.lessons.enabled,
        can_write=not _why_not(asked, "lessons"),
        status=409 if draft else 200,
        **_words(found),
    )


def _words(found: Sequence[Row]) -> dict[str, Any]:
    """Return the words that a lesson's category and type may be; files may hold other categories."""
    used = (one["category"] for one in found if one["category"])
    return {"categories": list(dict.fromkeys([*CATEGORIES, *used])), "types": TYPES}


def _skip(asked: Asked) -> int:
    text = asked.query.get("skip", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0


def _lesson(asked: Asked, lesson_id: str) -> Row:
    found = asked.command("lessons show", id=lesson_id).data["lessons"]
    if not found:
        raise PageError(f"there is no lesson {lesson_id[:40]!r}", "usage")
    return found[0]


def edit_lesson(asked: Asked) -> Response:
    """Show the form that changes a lesson.

    Raises:
        PageError: There is no such lesson, or none can be changed here.
    """
    _require(asked, "lessons")
    lesson = _lesson(asked, asked.query.get("id", ""))
    return asked.page("lesson_edit.html", lesson=lesson, **_words([lesson]))


def confirm_promote_lesson(asked: Asked) -> Response:
    """Ask whether a lesson is to be one for all projects.

    Raises:
        PageError: There is no such lesson, or none can be changed here.
    """
    _require(asked, "lessons")
    return asked.page("lesson_promote.html", lesson=_lesson(asked, asked.query.get("id", "")))


def confirm_supersede_lesson(asked: Asked) -> Response:
    """Ask which lesson takes the place of another one."""
    lesson = _lesson(asked, asked.query.get("id", ""))
    others = [one for one in asked.command("lessons list").data["lessons"] if one["id"] != lesson["id"]]
    return asked.page("lesson_supersede.html", lesson=lesson, others=others)


def confirm_delete_lesson(asked: Asked) -> Response:
    """Ask whether a lesson is to be deleted."""
    return asked.page("lesson_delete.html", lesson=_lesson(asked, asked.query.get("id", "")))


def _changed(
    asked: Asked, change: Callable[[], Done], back: str, again: Callable[[], Response] | None = None
) -> Response:
    """Make a change, and lead to where it is seen.

    Args:
        asked: The request.
        change: Makes it.
        back: Address of the page to go to.
        again: Shows the form once more, with what was typed, when nothing was changed.
    """
    try:
        done = change()
    except PageError as error:
        if error.kind == "no_project":
            error = PageError(_GONE)
        if again is None or error.kind not in ("usage", "failed"):
            raise error from None
        done = Done({}, str(error), is_found=False)
    asked.desk.service.forget_reports()
    told = done.text.partition("; --force")[0]
    if again is not None and not done.is_found:
        asked.session.notes.append((told, False))
        return again()
    if not told.startswith(done.data.get("id") or " "):  # An id stays as it is written.
        told = told[:1].upper() + told[1:]
    return asked.done(told, back, is_well=done.is_found)


def do_add_lesson(asked: Asked) -> Response:
    """Add a lesson."""
    draft = {
        "title": asked.field("title"),
        "content": asked.field("content"),
        "category": asked.field("category") or "correction",
        "type": asked.field("type"),
        "trigger": asked.field("triggers").split(","),
        "system": asked.field("level") == "system",
    }

    def add() -> Done:
        _require(asked, "lessons")
        return asked.command("lessons add", **draft, force=bool(asked.field("force")))

    def again() -> Response:
        return _lessons(asked, {**draft, "triggers": draft["trigger"], "is_system": draft["system"]})

    return _changed(asked, add, asked.path("lessons"), again)


def do_edit_lesson(asked: Asked) -> Response:
    """Change a lesson."""
    _require(asked, "lessons", "usage" if asked.project.root else "failed")
    values = {name: asked.field(name) for name in ("id", "title", "content", "category", "type")}
    back = f"{asked.path('lessons')}#{_anchor(values['id'])}"
    trigger = asked.field("triggers").split(",")
    return _changed(asked, lambda: asked.command("lessons edit", **values, trigger=trigger), back)


def _anchor(text: str) -> str:
    return "".join(char for char in text if char.isascii() and (char.isalnum() or char in "-_"))


def do_promote_lesson(asked: Asked) -> Response:
    """Make a lesson one for all projects."""
    _require(asked, "lessons", "usage")
    return _changed(asked, lambda: asked.command("lessons promote", id=asked.field("id")), asked.path("lessons"))


def do_supersede_lesson(asked: Asked) -> Response:
    """Have one lesson take the place of another."""
    ids = {"old": asked.field("id"), "new": asked.field("new")}
    return _changed(asked, lambda: asked.command("lessons supersede", **ids), asked.path("lessons"))


def do_delete_lesson(asked: Asked) -> Response:
    """Delete a lesson."""
    return _changed(asked, lambda: asked.command("lessons delete", id=asked.field("id")), asked.path("lessons"))


# --- lore -------------------------------------------------------------------------------------------------


def lore(asked: Asked) -> Response:
    """Show patterns, decisions and handoffs."""
    kind = asked.query.get("kind", "")
    kind = kind if kind in _KINDS else ""
    query, is_all, skip = asked.query.get("q", "").strip(), bool(asked.query.get("all")), _skip(asked)
    of = {"kind": [kind] if kind else [], "all": is_all}
    search = {"query": query, "limit": _PAGE} if query else {}
    found = asked.command("lore search" if query else "lore list", **of, **search).data["records"]
    return asked.page(
        "lore.html",
        records=found[skip : skip + _PAGE],
        total=len(found),
        is_enabled=asked.workspace.config.lore.enabled,
        can_write=not _why_not(asked, "lore"),
        kinds=_KINDS,
        kind=kind,
        query=query,
        is_all=is_all,
        skip=skip,
        next_skip=skip + _PAGE if len(found) > skip + _PAGE else 0,
    )


def new_lore(asked: Asked) -> Response:
    """Show the form for a new record of a kind."""
    kind = asked.query.get("kind", "")
    return _lore_form(asked, kind if kind in _FORMS else "", {})


def _lore_form(asked: Asked, kind: str, texts: Mapping[str, str]) -> Response:
    forms = {name: operation_named(operation) for name, operation in _FORMS.items()}
    parts = fields_of(forms[kind]) if kind else []
    values = {"kind": kind, "forms": forms, "parts": parts, "texts": texts, "why_not": _why_not(asked, "lore")}
    return asked.page("lore_add.html", status=409 if texts else 200, **values)


def do_add_lore(asked: Asked) -> Response:
    """Write a record down; what cannot be written stands in the form again.

    Raises:
        PageError: There is no such kind of lore.
    """
    kind = asked.field("kind")
    if kind not in _FORMS:
        raise PageError(f"{kind[:40]!r} is no kind of lore", "usage")
    row = operation_named(_FORMS[kind])
    texts = {one.name: asked.field(one.name) for one in fields_of(row)}

    def add() -> Done:
        _require(asked, "lore")
        return asked.command(row.name, **values_of(row, texts))

    back = link(asked.path("lore"), kind=kind).unescape()
    return _changed(asked, add, back, lambda: _lore_form(asked, kind, texts))


def lore_record(asked: Asked) -> Response:
    """Show one record in full, with the forms that take it back.

    Raises:
        PageError: There is no such record.
    """
    identity = asked.query.get("id", "")
    found: list[Row] = asked.command("lore show", id=identity).data["records"]
    if not found:
        raise PageError(f"there is no record {identity[:60]!r}", "usage")
    one = found[0]
    others: list[Row] = []
    if one["kind"] == "decision":
        every = asked.command("lore list", kind=["decision"]).data["records"]
        others = [other for other in every if other["id"] != one["id"]][:_MOST_OTHERS]
    return asked.page("lore_record.html", one=one, others=others, fields=field_texts(one["fields"]))


def do_retract(asked: Asked) -> Response:
    """Take a record back."""
    wanted = {name: asked.field(name) for name in ("id", "reason")}
    return _changed(asked, lambda: asked.command("lore retract", **wanted), _record(asked))


def do_supersede_lore(asked: Asked) -> Response:
    """Have one decision take the place of another."""
    ids = {"old": asked.field("id"), "new": asked.field("new")}
    return _changed(asked, lambda: asked.command("lore supersede", **ids), _record(asked))


def _record(asked: Asked) -> str:
    return link(asked.path("lore", "record"), id=asked.field("id")).unescape()


# --- memory -----------------------------------------------------------------------------------------------


_SHOWN = 20
"""Rows that are named before they are forgotten."""


def timeline(asked: Asked) -> Response:
    """Show rows of the memory by day, newest first, or what fits a text."""
    query = asked.query
    wanted = [name for name in query.getlist("type") if name in ROW_TYPES]
    filters = {name: query.get(name, "").strip() for name in ("owner", "file", "since", "session", "q", "before")}
    arguments = {name: filters[name] for name in ("since", "session", "before")} | {
        # A folder that is gone has no project of its own any more.
        "project": filters["owner"] or ("" if asked.project.root else asked.project.key),
        "file": [filters["file"]] if filters["file"] else [],
        "query": filters["q"],
    }
    error: PageError | None = None
    found: Row = {"records": [], "next_before": "", "projects": [], "types": {}, "total": None, "is_enabled": True}
    try:
        found = asked.command("memory browse", type=wanted, limit=_PAGE, **arguments).data
    except PageError as failed:
        error = failed
    rows = found["records"]
    days = [(day, list(some)) for day, some in groupby(rows, key=lambda row: local_time(row["created_at"])[:10])]
    return asked.page(
        "memory.html",
        status=200 if error is None else 409,
        found=found,
        days=[("Best first", rows)] if filters["q"] and rows else days,
        error=error,
        filters=filters,
        wanted=wanted,
        types=ROW_TYPES,
        is_filtered=bool(wanted or any(value for name, value in filters.items() if name not in ("owner", "before"))),
        told_rows=_told(found),
    )


def _told(found: Row) -> str:
    """Return how many rows are shown, and of how many."""
    n, more = len(found["records"]), " and older ones" if found["next_before"] else ""
    if found["total"] in (None, n):
        return f"{amount(n, 'row')}{more}"
    return f"{n} of {amount(found['total'], 'row')}"


def _rows(asked: Asked, ids: list[str]) -> list[Row]:
    return asked.command("memory show", id=ids, verbose=True).data["records"]


def memory_row(asked: Asked) -> Response:
    """Show one row in full.

    Raises:
        PageError: There is no such row.
    """
    name = asked.query.get("id", "")
    found = _rows(asked, [name])
    if not found:
        raise PageError(f"the memory has no row {name[:40]!r}: it was forgotten, or never there", "usage")
    return asked.page("memory_row.html", row=found[0])


def confirm_forget(asked: Asked) -> Response:
    """Show what would be forgotten, and ask.

    Raises:
        PageError: Nothing is named.
    """
    ids, session = asked.query.getlist("ids")[:500], asked.query.get("session", "")
    if not ids and not session:
        raise PageError("choose the rows to forget first", "usage")
    rows = _rows(asked, ids[:_SHOWN]) if ids else []
    return asked.page("memory_forget.html", rows=rows, ids=ids, session=session, n_more=len(ids) - len(rows))


def do_forget(asked: Asked) -> Response:
    """Forget rows or a session for good."""
    ids, session = asked.field("ids").split(), asked.field("session")
    done = asked.command("memory forget", id=ids, session=session, yes=True)
    told = done.text.replace("\n", " ")
    if problems := done.data["problems"]:
        told += f" But an index still holds it: {redact('; '.join(problems))}; `hybrid memory prune` tries again."
    return asked.done(told, asked.back("memory"), is_well=done.is_found)
