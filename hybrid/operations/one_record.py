"""One record by its ref, as the command of its kind shows it: `lessons show`, `lore show`, `memory show`."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

from hybrid.ask.memory_filters import id_of, rows_of
from hybrid.ask.memory_lookup import RankedRow, list_text
from hybrid.base.text import one_line
from hybrid.knowledge.collections import record_hit
from hybrid.knowledge.stores import names_of
from hybrid.operations import types
from hybrid.operations.asking import Outcome, Shown
from hybrid.records.lessons.showing import full_lines
from hybrid.records.lore.eligible import listed
from hybrid.records.lore.showing import field_lines
from hybrid.records.memory.showing import record_of
from hybrid.redact import redact
from hybrid.render.frame import Entry, render_entry
from hybrid.sources.memory import path_of
from hybrid.sources.records import record_id

if TYPE_CHECKING:
    from hybrid.operations.asking import Asking
    from hybrid.records.memory.types import Row
    from hybrid.records.types import Record


def read_record(asking: Asking, ref: str) -> Outcome | None:
    """Return all of a lesson, a record of lore or a row of the memory; None when none with this ref may be given here.

    The title is the line that names it, the text everything below.
    """
    name = record_id(ref.lower())
    # The path of a row in the index counts as the row's id: whose row it is, is looked at there.
    is_path = "/" in ref and "/" not in name
    known = asking.kinds.by_path(asking.workspace)
    path = None if is_path else next((path for path in (ref, ref.upper(), ref.lower()) if path in known), None)
    if path is not None:
        record = known[path]
        lines = _lines(asking, record)
    else:
        row = _row(asking, name if is_path else ref.lstrip("#"))
        if row is None:
            return None
        own = asking.workspace.require_project().key
        path, record, lines = path_of(row), record_of(row, here=own), list_text([RankedRow(row)], "full", here=own)
    text = redact(lines) if asking.workspace.config.privacy.redact else lines
    title, _, rest = text.partition("\n")
    value = types.ReadResult(ref=ref, kind=record.kind, title=one_line(title), text=dedent(rest))
    return Outcome(value, text, (Shown(record_hit(path, record), "full"),))


def _row(asking: Asking, name: str) -> Row | None:
    """Return a row of the memory by its id; None for one that is not there or of a project that is kept apart."""
    workspace = asking.workspace
    store = asking.kinds.stores.memory(workspace)
    identity = id_of(name) if re.fullmatch(r"[os]?\d{1,8}", name) else None
    if identity is None or not store.exists or not workspace.config.memory.enabled:
        return None
    rows = rows_of(store, [identity])
    is_here = bool(rows) and rows[0].owner.key == workspace.require_project().key
    return rows[0] if rows and (is_here or workspace.config.memory.cross_project) else None


def _lines(asking: Asking, record: Record) -> str:
    """Return the lines of a lesson or of a record of lore; of the latter without keys that say nothing more."""
    stores, workspace = asking.kinds.stores, asking.workspace
    if record.kind == "lesson":
        lesson = stores.lessons(workspace).active.get(record.id)
        # After branches were merged, two lessons may have one id.
        return "\n".join(full_lines(lesson) if lesson and lesson.record() == record else [record.shown, *record.lines])
    every = listed(stores.shelf(workspace).read(), names_of(workspace))
    lines = [render_entry(Entry(record.kind, record.shown, record.lines))]
    for one in every:
        if one.record.key == record.key:
            fields = {key: value for key, value in one.value.fields.items() if value or value == 0}
            if record.id in record.shown:
                fields.pop("id", None)
            lines += [f"  {line}" for line in field_lines({"status": one.status, **fields})]
    return "\n".join(lines)
