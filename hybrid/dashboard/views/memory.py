"""Views of the memory: a timeline with filters, one row in full, and forgetting, which asks first."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from hybrid.dashboard.desk import PageError
from hybrid.operations import types
from hybrid.render.numbers import amount, local_time

if TYPE_CHECKING:
    from starlette.responses import Response

    from hybrid.dashboard.desk import Asked

TYPES = ("decision", "bugfix", "feature", "refactor", "discovery", "change", "summary")
_SHOWN = 20
"""Rows that are named before they are forgotten."""


def timeline(asked: Asked) -> Response:
    """Show rows of the memory by day, newest first, or what fits a text."""
    query = asked.query
    wanted = [name for name in query.getlist("type") if name in TYPES]
    filters = {name: query.get(name, "").strip() for name in ("owner", "file", "since", "session", "q", "before")}
    arguments = types.PageMemoryArguments(
        project=filters["owner"],
        types=wanted,
        file=filters["file"],
        since=filters["since"],
        session=filters["session"],
        query=filters["q"],
        before=filters["before"],
    )
    error: PageError | None = None
    found = types.PageMemory(rows=[], next_before="", projects=[], types={}, is_enabled=True)
    try:
        found = asked.ask("page_memory", arguments, types.PageMemory)
    except PageError as failed:
        error = failed
    days = [(day, list(rows)) for day, rows in groupby(found.rows, key=lambda row: local_time(row.when)[:10])]
    return asked.page(
        "memory.html",
        status=200 if error is None else 409,
        found=found,
        days=[("Best first", found.rows)] if filters["q"] and found.rows else days,
        error=error,
        filters=filters,
        wanted=wanted,
        types=TYPES,
        is_filtered=bool(wanted or any(value for name, value in filters.items() if name not in ("owner", "before"))),
        told_rows=_told(found),
    )


def _told(found: types.PageMemory) -> str:
    """Return how many rows are shown, and of how many."""
    n, more = len(found.rows), " and older ones" if found.next_before else ""
    if found.total is None or found.total == n:
        return f"{amount(n, 'row')}{more}"
    return f"{n} of {amount(found.total, 'row')}"


def row(asked: Asked) -> Response:
    """Show one row in full."""
    found = asked.ask("page_memory_row", types.PageIdArguments(id=asked.query.get("id", "")), types.PageRowResult)
    return asked.page("memory_row.html", found=found, row=found.row)


def confirm_forget(asked: Asked) -> Response:
    """Show what would be forgotten, and ask.

    Raises:
        PageError: Nothing is named, or nothing of it is there.
    """
    ids, session = asked.query.getlist("ids")[:500], asked.query.get("session", "")
    if not ids and not session:
        raise PageError("choose the rows to forget first", "usage")
    rows: list[types.PageRow] = []
    n_session = 0
    for name in ids[:_SHOWN]:
        try:
            found = asked.ask("page_memory_row", types.PageIdArguments(id=name), types.PageRowResult)
        except PageError as error:
            if error.kind != "usage":
                raise
        else:
            rows.append(found.row)
            n_session = found.n_session
    return asked.page(
        "memory_forget.html", rows=rows, ids=ids, session=session, n_session=n_session, n_more=len(ids) - len(rows)
    )


def do_forget(asked: Asked) -> Response:
    """Forget rows or a session for good."""
    arguments = types.PageForgetArguments(ids=asked.field("ids").split(), session=asked.field("session"))
    done = asked.ask("page_memory_forget", arguments, types.PageDone)
    return asked.done(done.message, asked.back("memory"), is_well=done.is_done)
