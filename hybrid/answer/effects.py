"""The effects of an event beside its answer: what the memory, the lessons and the ledger keep of it.

`events` calls it before, during and after the answer. An effect that fails is logged, and where another try may help,
the event counts as not done, so that it is kept.
"""

from __future__ import annotations

import contextlib
import threading
from functools import cached_property
from typing import TYPE_CHECKING

from hybrid.base.clients import client_named
from hybrid.base.errors import HybridError
from hybrid.ipc.spool import is_private_turn, new_key, note_turn
from hybrid.knowledge.lessons_intake import learn_from_turn, let_fade, pass_over_past

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hybrid.answer.decide import Turn
    from hybrid.capture.shown import ShownFile
    from hybrid.records.memory.store import MemoryStore
    from hybrid.types import ToolCall

_GOING_ON = ("resume", "fork")
"""Sources of a session whose transcript begins with an older conversation."""

_CLOSE_S = 0.2
"""Seconds at most that a search waits until the batches of ended sessions are closed and can be found."""

_MOST_RANGES = 20_000
"""Ranges of one session: more than an agent's context holds, and few enough to be read before every prompt."""


class Effects:
    """The effects of one event: done, not yet done, or in vain so far.

    Args:
        turn: The event, and what is known of it; nothing may be called for one that is switched off, but `wait` and
            `finish`.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._keeper: threading.Thread | None = None
        self._later: Callable[[], bool] | None = None
        self._is_failed = False
        self._cited: tuple[str, ...] = ()

    @property
    def are_done(self) -> bool:
        """True when nothing is at work or left, and nothing failed that another try may mend."""
        is_idle = self._keeper is None or not self._keeper.is_alive()
        return not self._is_failed and self._later is None and is_idle

    def fail(self) -> None:
        """Note that something is missing that another try may mend."""
        self._is_failed = True

    def keep_prompt(self, *, is_alone: bool) -> None:
        """Store the prompt beside the search, after the batches that it may ask for; wait for these for a moment.

        Args:
            is_alone: A process was started for this event: the work is left for `finish`, if no batch waits, so that
                it does not share the processor of the search.
        """
        if is_alone and not self._is_any_waiting():
            self._later = self.remember
            return
        closed = threading.Event()

        def run() -> None:
            is_done = False
            try:
                is_done = self._close_and_remember(closed)
            finally:
                self._is_failed = self._is_failed or not is_done

        self._keeper = threading.Thread(target=run, daemon=True)
        self._keeper.start()
        closed.wait(_CLOSE_S)

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait for the work that was begun."""
        if self._keeper is not None:
            self._keeper.join(timeout_s)

    def finish(self) -> None:
        """Do the work that was left, and wait for the work that was begun, however long it takes."""
        work, self._later = self._later, None
        if work is not None and not work():
            self._is_failed = True
        self.wait()

    def follow(self) -> None:
        """Do what is done once the answer was written: what the agent read, what waits in the session, what fades."""
        workspace, event = self._turn.workspace, self._turn.event
        if event.call is not None:
            self._note_use()
            self._note_lines_read(event.call)
        elif event.event == "UserPromptSubmit" and not event.prompt.is_blank:
            # The new prompt of a session ends what was done before.
            self._close_turn()
            if (store := self._memory) is not None:
                from hybrid.knowledge.memory_intake import tell_waiting

                self._log(tell_waiting(workspace, event, store, self._turn.at_ms))
        elif event.event in ("Stop", "SessionEnd"):
            self._close_turn()
        elif event.event == "SessionStart":
            let_fade(workspace)
            if event.source in _GOING_ON:
                pass_over_past(workspace, event)

    @cached_property
    def _memory(self) -> MemoryStore | None:
        """The store of the memory; None where there is none for the event."""
        workspace = self._turn.workspace
        is_known = workspace.project is not None or self._turn.event.event == "SessionEnd"
        return self._turn.kinds.stores.memory(workspace) if workspace.config.memory.enabled and is_known else None

    @cached_property
    def _is_told_private(self) -> bool:
        """True when the event may tell what an agent did for a private prompt.

        Raises:
            HybridError: The memory cannot be read, and no note says that the turn is private.
        """
        workspace, event = self._turn.workspace, self._turn.event
        if self._memory is None:
            return is_private_turn(str(workspace.home), event.session_id, event.key)
        from hybrid.knowledge.memory_intake import is_of_private_turn  # Brings the extraction.

        return is_of_private_turn(workspace, event, self._memory, self._turn.at_ms)

    @property
    def is_private(self) -> bool:
        """True when nothing of the event must be searched for, learned or logged."""
        try:
            return self._is_told_private
        except (HybridError, OSError):
            return False  # The note, which comes first, does not say so.

    def note_turn(self) -> None:
        """Note whether the prompt of a main conversation is private, before events of its agent's work can come."""
        event = self._turn.event
        if event.agent_id or event.prompt.is_blank:
            return
        key, is_private = event.key or new_key(), event.prompt.is_opted_out
        note_turn(str(self._turn.workspace.home), event.session_id, key, is_private=is_private)

    def remember(self) -> bool:
        """Store the event in the memory, and log what went wrong; False when it was busy and a retry may help."""
        if self._memory is None:
            return True
        from hybrid.knowledge.memory_intake import remember  # Brings the extraction.
        from hybrid.records.types import MemoryBusyError

        workspace, event = self._turn.workspace, self._turn.event
        try:
            is_private = event.event in ("PostToolUse", "Stop") and self._is_told_private
            self._log(remember(workspace, event, self._memory, self._turn.at_ms, is_private=is_private))
        except (HybridError, OSError) as error:
            self._log([f"memory: {error}"])
            # A memory that cannot be used at all takes nothing later either.
            return not isinstance(error, MemoryBusyError)
        return True

    def learn(self) -> bool:
        """Learn from the end of a conversation's turn; False when a part of it must be tried again."""
        workspace, event = self._turn.workspace, self._turn.event
        learned = learn_from_turn(workspace, event, is_private=self.is_private)
        self._log(learned.problems)
        self._cited = learned.cited
        if learned.cited or learned.recorded:
            from hybrid.answer.recording import record_learned

            record_learned(workspace, event, learned)
        return not learned.is_busy

    def keep_books(self) -> bool:
        """Note a compaction, the end of a turn or of the session in the ledger; a disk that is full loses the note.

        Returns:
            True when the ledger was reset before a compaction.
        """
        event, key, ledgers = self._turn.event, self._turn.key, self._turn.workspace.ledgers
        with contextlib.suppress(OSError):
            if event.event == "PreCompact":
                # Gemini announces an automatic compaction before every request.
                is_coming = event.source != "auto" or not client_named(event.client).announces_compaction
                if is_coming and ledgers.read(key).is_holding:
                    # Most clients say nothing after a compaction. Where one does, its session start finds all it needs.
                    ledgers.reset(key, "compact")
                    return True
            if event.event in ("Stop", "SessionEnd"):
                ledgers.stamp(key, "stop" if event.event == "Stop" else "end")
        return False

    def _close_and_remember(self, closed: threading.Event) -> bool:
        """Close the batches of all sessions that are over, since the prompt may ask for them, and keep the prompt."""
        try:
            if self._memory is not None:
                from hybrid.knowledge.memory_intake import close_batches

                self._log(close_batches(self._turn.workspace, self._memory, self._turn.at_ms))
        finally:
            closed.set()
        return self.remember()

    def _is_any_waiting(self) -> bool:
        """Return whether uses of tools wait to be made into observations; False when the memory cannot be read."""
        try:
            return self._memory is not None and self._memory.n_waiting() > 0
        except (HybridError, OSError):
            return False

    def _log(self, problems: Collection[str]) -> None:
        """Log problems as errors of the event; what that imports is not needed before an answer."""
        for problem in problems:
            from hybrid.answer.recording import record_error

            record_error(self._turn.workspace, self._turn.event, problem)

    def _note_use(self) -> None:
        """Note which files the use touched, so that the end of the turn can tell what became of what was given."""
        workspace = self._turn.workspace
        if not workspace.config.log.outcomes or workspace.project is None or self.is_private:
            return
        if self._turn.use is not None:
            with contextlib.suppress(OSError):
                workspace.ledgers.note_use(self._turn.key, self._turn.use)

    def _close_turn(self) -> None:
        """Note what became of the decisions since the last end of a turn; a subagent's end is none."""
        if self._turn.workspace.config.log.outcomes and not self._turn.event.agent_id:
            from hybrid.answer.recording import record_outcome

            record_outcome(self._turn, self._cited)

    def _note_lines_read(self, call: ToolCall) -> None:
        """Note which lines the use put before the agent; what goes wrong is logged, and they count as unread."""
        workspace = self._turn.workspace
        if not workspace.config.hooks.skip_read or workspace.project is None or self.is_private:
            return
        try:
            note_lines_read(self._turn, call)
        except (OSError, ValueError, RecursionError) as error:
            self._log([f"lines that were read: {error}"])


# --- lines that a tool showed -----------------------------------------------------------------------------


def note_lines_read(turn: Turn, call: ToolCall) -> None:
    """Note what a tool showed of the project's files and the ledger does not have yet: numbers and digests, no text.

    Raises:
        OSError: The ledger cannot be written.
    """
    from hybrid.capture.shown import shown_lines  # Brings what knows the tools of all clients.
    from hybrid.redact import redact
    from hybrid.sources.files import FileReader

    workspace = turn.workspace
    root = workspace.require_project().root
    files = FileReader(root, workspace.config.index.max_file_bytes)

    def lines_of(path: str) -> list[str] | None:
        text = files.read_text(path) if redact(path) == path else None
        return None if text is None else text.split("\n")

    shown = shown_lines(call, turn.roots, lines_of)
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
    from hybrid.capture.shown import before_edits
    from hybrid.redact import mask
    from hybrid.session.ledger import lines_in, ranges_of, standing

    numbers = set(file.numbers)
    if file.edits and known:
        lines, now = before_edits(file)
        numbers.update(now[then] for then in standing(lines, known, 1, len(lines)) if then in now)
    is_known = standing(file.lines, known, 1, len(file.lines)).__contains__ if known else set[int]().__contains__
    if all(map(is_known, numbers)):
        return []
    ranges = ranges_of(file.lines, numbers, mask("\n".join(file.lines)).split("\n"))
    return [one for one in ranges if not all(map(is_known, lines_in(one)))]
