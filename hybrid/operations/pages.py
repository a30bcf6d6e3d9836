"""The operations that the page asks for, by name; apart from those of `table`, which agents get as tools.

Importing this costs no more than the types, as with `table`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.operations import page_types as types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.operations.asking import Asking, Outcome


class PageOperation(Struct, frozen=True):
    """An operation of the page, as `table.Operation` is one of tools."""

    arguments: type[Struct]
    result: type[Struct]
    run: Callable[[Asking, Any], Outcome]


def _in(module: str, name: str) -> Callable[[Asking, Any], Outcome]:
    def run(asking: Asking, arguments: Any) -> Outcome:
        return getattr(import_module(f"hybrid.operations.{module}"), name)(asking, arguments)

    return run


PAGES: Mapping[str, PageOperation] = {
    "page_search": PageOperation(types.PageSearchArguments, types.PageSearchResult, _in("pages_index", "search")),
    "page_files": PageOperation(types.PageFilesArguments, types.PageFiles, _in("pages_index", "files")),
    "page_progress": PageOperation(types.PageNothing, types.PageProgress, _in("pages_index", "progress")),
    "page_lessons": PageOperation(types.PageLessonsArguments, types.PageLessons, _in("pages_records", "lessons")),
    "page_lesson_add": PageOperation(types.PageLessonAddArguments, types.PageDone, _in("pages_records", "add_lesson")),
    "page_lesson_edit": PageOperation(
        types.PageLessonEditArguments, types.PageDone, _in("pages_records", "edit_lesson")
    ),
    "page_lesson_supersede": PageOperation(
        types.PageReplaceArguments, types.PageDone, _in("pages_records", "supersede_lesson")
    ),
    "page_lesson_delete": PageOperation(types.PageIdArguments, types.PageDone, _in("pages_records", "delete_lesson")),
    "page_lore": PageOperation(types.PageLoreArguments, types.PageLore, _in("pages_records", "lore")),
    "page_lore_retract": PageOperation(types.PageRetractArguments, types.PageDone, _in("pages_records", "retract")),
    "page_lore_supersede": PageOperation(
        types.PageReplaceArguments, types.PageDone, _in("pages_records", "supersede_lore")
    ),
    "page_memory": PageOperation(types.PageMemoryArguments, types.PageMemory, _in("pages_memory", "memory")),
    "page_memory_row": PageOperation(types.PageIdArguments, types.PageRowResult, _in("pages_memory", "row")),
    "page_memory_forget": PageOperation(types.PageForgetArguments, types.PageDone, _in("pages_memory", "forget")),
    "page_titles": PageOperation(types.PageTitlesArguments, types.PageTitles, _in("pages_memory", "titles")),
}
"""Name → operation of the page."""
