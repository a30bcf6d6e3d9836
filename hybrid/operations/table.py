"""The operations by name: what each takes and gives, and which function does it.

Importing this costs no more than the types: what does the work is imported when it is asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hybrid.operations import page_types as pages
from hybrid.operations import types
from hybrid.operations.asking import Operation, OperationError, done_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.operations.asking import Asking, Outcome


OPERATIONS: Mapping[str, Operation] = {
    "search": Operation(types.SearchArguments, types.SearchResult, done_in("code", "search")),
    "read": Operation(types.ReadArguments, types.ReadResult, done_in("code", "read")),
    "context": Operation(types.ContextArguments, types.ContextResult, done_in("code", "context")),
    "related": Operation(types.RelatedArguments, types.RelatedResult, done_in("code", "related")),
    "lessons": Operation(types.LessonsArguments, types.LessonsResult, done_in("records", "lessons")),
    "decide": Operation(types.DecideArguments, types.Written, done_in("records", "decide"), is_writing=True),
    "remember": Operation(types.RememberArguments, types.Written, done_in("records", "remember"), is_writing=True),
    "recall": Operation(types.RecallArguments, types.RecallResult, done_in("records", "recall")),
    "orientation": Operation(types.Nothing, types.TextResult, done_in("briefs", "orientation")),
    "hot_topics": Operation(types.Nothing, types.TextResult, done_in("briefs", "hot_topics")),
    "hand_over": Operation(types.Nothing, types.TextResult, done_in("briefs", "hand_over")),
    "learned": Operation(types.Nothing, types.TextResult, done_in("briefs", "learned")),
}
"""Name → operation that an agent is offered, as a tool or a text."""

PAGES: Mapping[str, Operation] = {
    "page_search": Operation(pages.PageSearchArguments, pages.PageSearchResult, done_in("pages_index", "search")),
    "page_files": Operation(pages.PageFilesArguments, pages.PageFiles, done_in("pages_index", "files")),
    "page_progress": Operation(pages.PageNothing, pages.PageProgress, done_in("pages_index", "progress")),
    "page_lessons": Operation(pages.PageLessonsArguments, pages.PageLessons, done_in("pages_records", "lessons")),
    "page_lesson_add": Operation(pages.PageLessonAddArguments, pages.PageDone, done_in("pages_records", "add_lesson")),
    "page_lesson_edit": Operation(
        pages.PageLessonEditArguments, pages.PageDone, done_in("pages_records", "edit_lesson")
    ),
    "page_lesson_supersede": Operation(
        pages.PageReplaceArguments, pages.PageDone, done_in("pages_records", "supersede_lesson")
    ),
    "page_lesson_promote": Operation(pages.PageIdArguments, pages.PageDone, done_in("pages_records", "promote_lesson")),
    "page_lesson_delete": Operation(pages.PageIdArguments, pages.PageDone, done_in("pages_records", "delete_lesson")),
    "page_lore": Operation(pages.PageLoreArguments, pages.PageLore, done_in("pages_records", "lore")),
    "page_lore_add": Operation(pages.PageLoreAddArguments, pages.PageDone, done_in("pages_records", "add_lore")),
    "page_lore_retract": Operation(pages.PageRetractArguments, pages.PageDone, done_in("pages_records", "retract")),
    "page_lore_supersede": Operation(
        pages.PageReplaceArguments, pages.PageDone, done_in("pages_records", "supersede_lore")
    ),
    "page_memory": Operation(pages.PageMemoryArguments, pages.PageMemory, done_in("pages_memory", "memory")),
    "page_memory_row": Operation(pages.PageIdArguments, pages.PageRowResult, done_in("pages_memory", "row")),
    "page_memory_forget": Operation(pages.PageForgetArguments, pages.PageDone, done_in("pages_memory", "forget")),
    "page_titles": Operation(pages.PageTitlesArguments, pages.PageTitles, done_in("pages_memory", "titles")),
}
"""Name → operation of the page, which no agent is offered."""


def perform(name: str, asking: Asking, arguments: Mapping[str, object]) -> Outcome:
    """Do an operation.

    Args:
        name: A name of `OPERATIONS`, or of `PAGES`.
        asking: Who asks, and where.
        arguments: The arguments as JSON has them.

    Raises:
        OperationError: There is no such operation, or an argument is wrong.
        HybridError: It cannot be done; the message says why.
    """
    operation = OPERATIONS.get(name) or PAGES.get(name)
    if operation is None:
        raise OperationError(f"there is no operation {name!r}; there are {', '.join(sorted(OPERATIONS))}")
    try:
        wanted = msgspec.convert(dict(arguments), operation.arguments)
    except msgspec.ValidationError as error:
        raise OperationError(f"{name}: {_in_words(str(error), operation.arguments)}") from error
    return operation.run(asking, wanted)


_MISSING = re.compile(r"Object missing required field `([^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")


def _in_words(message: str, arguments: type[Struct]) -> str:
    """Return what is wrong with arguments as an agent understands it, with the names that there are."""
    names = ", ".join(field.encode_name for field in msgspec.structs.fields(arguments))
    message = _MISSING.sub(r"`\1` is missing", message)
    return _UNKNOWN.sub(rf"there is no argument `\1`; there are {names or 'none'}", message).replace(
        " - at `$.", " at `"
    )
