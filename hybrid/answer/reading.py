"""Notes in a session's ledger which lines of the project's files a use of a tool put before the agent.

Called once the hook has its answer. Of a file's content nothing is noted: paths, numbers of lines, digests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.capture.shown import before_edits, shown_lines
from hybrid.capture.tools import PathRoots, own_home
from hybrid.redact import mask, redact_name
from hybrid.session.lines_read import lines_in, ranges_of, standing
from hybrid.sources.files import FileReader

if TYPE_CHECKING:
    from collections.abc import Collection

    from hybrid.answer.decide import Turn
    from hybrid.capture.shown import ShownFile
    from hybrid.types import ToolCall

_MOST_RANGES = 20_000
"""Ranges of one session: more than an agent's context holds, and few enough to be read before every prompt."""


def note_lines_read(turn: Turn, call: ToolCall) -> None:
    """Note what the turn's tool showed and the ledger does not have yet; a file of the project only.

    Raises:
        OSError: The ledger cannot be written.
    """
    workspace, event = turn.workspace, turn.event
    root = workspace.require_project().root
    files = FileReader(root, workspace.config.index.max_file_bytes)

    def lines_of(path: str) -> list[str] | None:
        text = files.read_text(path) if redact_name(path) == path else None
        return None if text is None else text.split("\n")

    shown = shown_lines(call, PathRoots(str(root), event.cwd, own_home()), lines_of)
    if not shown:
        return
    before = workspace.ledgers.read(turn.key).lines_read
    n_left = _MOST_RANGES - sum(ranges.count(":") for ranges in before.values())
    new: dict[str, list[str]] = {}
    for path, file in shown.items():
        ranges = _ranges(file, before.get(path, "").split())[: max(n_left, 0)]
        n_left -= len(ranges)
        if ranges:
            new[path] = ranges
    if new:
        workspace.ledgers.note_lines_read(turn.key, new)


def _ranges(file: ShownFile, known: Collection[str]) -> list[str]:
    """Return the new ranges of a file: what the use showed, and after an edit what was read before and moved by it."""
    numbers = set(file.numbers)
    if file.edits and known:
        lines, now = before_edits(file)
        numbers.update(now[then] for then in standing(lines, known, 1, len(lines)) if then in now)
    is_known = standing(file.lines, known, 1, len(file.lines)).__contains__ if known else set[int]().__contains__
    if all(map(is_known, numbers)):
        return []
    ranges = ranges_of(file.lines, numbers, mask("\n".join(file.lines)).split("\n"))
    return [one for one in ranges if not all(map(is_known, lines_in(one)))]
