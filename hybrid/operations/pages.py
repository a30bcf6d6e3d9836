"""The operations that the page asks for, by name; apart from those of `table`, which agents get as tools.

Importing this costs no more than the types, as with `table`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.operations import page_types as types
from hybrid.operations.asking import Operation, done_in

if TYPE_CHECKING:
    from collections.abc import Mapping


PAGES: Mapping[str, Operation] = {
    "page_search": Operation(types.PageSearchArguments, types.PageSearchResult, done_in("pages_index", "search")),
    "page_files": Operation(types.PageFilesArguments, types.PageFiles, done_in("pages_index", "files")),
    "page_progress": Operation(types.PageNothing, types.PageProgress, done_in("pages_index", "progress")),
    "page_lessons": Operation(types.PageLessonsArguments, types.PageLessons, done_in("pages_records", "lessons")),
    "page_lesson_add": Operation(types.PageLessonAddArguments, types.PageDone, done_in("pages_records", "add_lesson")),
    "page_lesson_edit": Operation(
        types.PageLessonEditArguments, types.PageDone, done_in("pages_records", "edit_lesson")
    ),
    "page_lesson_supersede": Operation(
        types.PageReplaceArguments, types.PageDone, done_in("pages_records", "supersede_lesson")
    ),
    "page_lesson_delete": Operation(types.PageIdArguments, types.PageDone, done_in("pages_records", "delete_lesson")),
    "page_lore": Operation(types.PageLoreArguments, types.PageLore, done_in("pages_records", "lore")),
    "page_lore_retract": Operation(types.PageRetractArguments, types.PageDone, done_in("pages_records", "retract")),
    "page_lore_supersede": Operation(
        types.PageReplaceArguments, types.PageDone, done_in("pages_records", "supersede_lore")
    ),
    "page_memory": Operation(types.PageMemoryArguments, types.PageMemory, done_in("pages_memory", "memory")),
    "page_memory_row": Operation(types.PageIdArguments, types.PageRowResult, done_in("pages_memory", "row")),
    "page_memory_forget": Operation(types.PageForgetArguments, types.PageDone, done_in("pages_memory", "forget")),
    "page_titles": Operation(types.PageTitlesArguments, types.PageTitles, done_in("pages_memory", "titles")),
}
"""Name → operation of the page."""
