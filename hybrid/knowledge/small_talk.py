"""Separates turns worth remembering from small talk, by the tools they used, else by question and answer.

Where a tool was used, something was done. Else the answer must say something, and hybrid or the answer itself must tie
it to the project: how to centre a div is answered at length, too. No list of words of small talk decides that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.prompting.clean import clean
from hybrid.prompting.content import paths
from hybrid.prompting.query import make_query, query_digest
from hybrid.prompting.rules import SEARCH, looks_back, prompt_verdict
from hybrid.records.memory.types import LEAST_ANSWER_CHARS, SessionSummary, record_of
from hybrid.workspace import session_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hybrid.knowledge.named_code import ProjectCode
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row, Summarised
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace

_MOST_PATHS = 12
"""Paths of one answer that are looked for in the project."""


def is_talk(told: Summarised) -> bool:
    """Return whether a turn without a use of a tool says nothing: a short answer, thanks, a question about the past."""
    n_answered = sum(map(len, (told.learned, told.completed, told.next_steps, told.notes)))
    if n_answered < LEAST_ANSWER_CHARS or not told.request:
        return n_answered < LEAST_ANSWER_CHARS
    return looks_back(told.request) or prompt_verdict(clean(told.request)) != SEARCH


def talk_among(rows: Iterable[Row], store: MemoryStore, code: ProjectCode | None = None) -> set[int]:
    """Return the ids of the summaries among some rows that are small talk; a memory may hold some of earlier times.

    With the project's code, a turn without a use of a tool is small talk also if it names nothing of that.
    """
    found = {
        row.id
        for row in rows
        if isinstance(row, SessionSummary)
        and ((not row.turns and is_talk(row.told)) or (code is not None and not code.standing(record_of(row)).files))
    }
    return found - store.worked(sorted(found)) if found else found


def is_about_project(workspace: Workspace, event: HookEvent, request: str, answer: str) -> bool:
    """Return whether a turn without a use of a tool had to do with the project of its event.

    That is, hybrid found something for its prompt, or the answer names a file that is there or at hand.
    """
    ledger = workspace.ledgers.read(session_key(workspace, event))
    if query_digest(make_query(request).text) in ledger.asked:
        return True
    root, at_hand = workspace.require_project().root, {path.rpartition("/")[2] for path in ledger.mentioned}
    named = [path for path in paths(answer)[:_MOST_PATHS] if ".." not in path and not path.startswith(("/", "~"))]
    return any(path in at_hand or (root / path).is_file() for path in named)
