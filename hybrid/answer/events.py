"""Answers any hook event, or takes one in that was kept: the one entry of the engine for service and hooks.

`feedback.reasons` names the possible results; an event with the result `ignored` is not logged.
"""

from __future__ import annotations

import contextlib
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.answer.decide import Decision, decide
from hybrid.base.clients import client_named
from hybrid.base.errors import BusyError, HybridError
from hybrid.ipc.spool import new_key
from hybrid.ipc.turns import is_private_turn, note_turn
from hybrid.knowledge.lessons_intake import is_capturing, learn_from_prompt, learn_from_turn, let_fade, pass_over_past
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hybrid.answer.decide import Turn
    from hybrid.types import HookEvent, ToolCall

_SPARE_S = 0.1
"""Seconds that an answer takes: an event that waits for another one of its session stops waiting so long before its
own deadline."""

_GOING_ON = ("resume", "fork")
"""Sources of a session whose transcript begins with an older conversation."""

_KEEP_S = 0.1
"""Seconds at most that an answer waits until its prompt is stored in the memory; storing goes on after that."""

_CLOSE_S = 0.2
"""Seconds at most that a search waits until the batches of ended sessions are closed and can be found."""

_REMEMBERED = ("PostToolUse", "Stop", "SessionEnd")
"""Events that are stored in the memory before their hook is answered; a prompt is stored during its search."""

_NOTHING = contextlib.nullcontext()
_IGNORED = Decision("ignored")
"""The decision on an event that asks for nothing, such as a tool's edit: it is not logged, being far too frequent."""


class _Effects:
    """The effects of an event beside its answer: done, not yet done, or in vain so far."""

    def __init__(self) -> None:
        self._keeper: threading.Thread | None = None
        self._later: Callable[[], bool] | None = None
        self._is_failed = False

    @property
    def are_done(self) -> bool:
        is_idle = self._keeper is None or not self._keeper.is_alive()
        return not self._is_failed and self._later is None and is_idle

    def fail(self) -> None:
        self._is_failed = True

    def begin(self, work: Callable[[], bool]) -> None:
        """Start the work on a thread, beside the search; work that returns False or raises makes the effects fail."""

        def run() -> None:
            is_done = False
            try:
                is_done = work()
            finally:
                self._is_failed = self._is_failed or not is_done

        self._keeper = threading.Thread(target=run, daemon=True)
        self._keeper.start()

    def leave(self, work: Callable[[], bool]) -> None:
        """Leave the work for `finish`, so that a process started for one event does not share its processor."""
        self._later = work

    def finish(self) -> None:
        """Do the work that was left, and wait for the work that was begun, however long it takes."""
        work, self._later = self._later, None
        if work is not None and not work():
            self._is_failed = True
        self.wait()

    def wait(self, timeout_s: float | None = None) -> None:
        if self._keeper is not None:
            self._keeper.join(timeout_s)


class Reply(Struct, frozen=True):
    """A decision that is not recorded yet.

    Attributes:
        turn: The turn that is answered.
        decision: The decision on the turn.
        held: Keeps the session's next hook waiting until it is closed.
        effects: What the event leaves behind beside its answer.
    """

    turn: Turn
    decision: Decision
    held: ExitStack
    effects: _Effects

    @property
    def is_taken(self) -> bool:
        """True when the event has had all of its effects, so that it need not be kept for another try."""
        return self.effects.are_done

    @property
    def text(self) -> str:
        """The text for the agent."""
        return self.decision.text

    @property
    def debug_line(self) -> str:
        """One line that says what was done with the event and why, for a person who debugs a hook."""
        return self.decision.debug_line

    def notice(self, latency_ms: float) -> str:
        """Return the lines for the user, may be empty: what was learned, and `hybrid: 3 items, 41 ms` if so set."""
        lines = [*self.decision.untold, *self.decision.notices]
        n_items = len(self.decision.items)
        if n_items and self.text and self.turn.workspace.config.hooks.notice:
            lines.append(f"hybrid: {amount(n_items, 'item')}, {latency_ms:.0f} ms")
        return "\n".join(lines)

    def finish(self, latency_ms: float) -> None:
        """Record the decision, let the session's next hook go on, and do the work that was left for after the answer.

        Call it after the answer was written.
        """
        from hybrid.answer.recording import record

        turn, workspace, event = self.turn, self.turn.workspace, self.turn.event
        with self.held:
            if self.decision is not _IGNORED:
                record(turn, self.decision, latency_ms=latency_ms)
            if self.decision.untold:
                with contextlib.suppress(OSError):
                    workspace.ledgers.note_told(turn.key, len(self.decision.untold))
        self.effects.finish()
        if turn.off is not None:
            return
        if event.call is not None:
            _note_lines_read(turn, event.call)
        if _is_typed(event):
            _tell_what_waits(turn)
        if event.event == "SessionStart":
            let_fade(workspace)
            if event.source in _GOING_ON:
                pass_over_past(workspace, event)

    def drop(self, latency_ms: float | None = None) -> None:
        """Let the session's next hook go on without recording anything as given, and finish the effects.

        Args:
            latency_ms: Milliseconds that the answer took, if it came too late: a text is then logged as `late`.
        """
        with self.held:
            if self.decision.text and latency_ms is not None:
                from hybrid.answer.recording import record

                late = replace(self.decision, reason="late", text="")
                record(self.turn, late, latency_ms=latency_ms)
        self.effects.finish()


def answer(turn: Turn, *, working: AbstractContextManager[object] = _NOTHING, is_alone: bool = False) -> Reply:
    """Return the reply to an event, whose effects are had, begun or left for `Reply.finish`.

    A session's next hook that wants an answer waits until the reply is finished or dropped.

    Args:
        turn: The event, and what is known of it.
        working: Entered for the decision alone, not while another event of the session is waited for.
        is_alone: The process was started for this event: a prompt goes into the memory once the answer is out.

    Raises:
        BusyError: Another event of the session is answered, and there is no time left to wait: what both may get would
            come twice.
        HybridError: A model cannot be loaded.
        OSError: Files cannot be read.
    """
    event, deadline_s = turn.event, turn.deadline_s
    held, effects = ExitStack(), _Effects()
    is_on, is_prompt = turn.off is None, event.event == "UserPromptSubmit"
    if is_on and is_prompt:
        _note_turn(turn)
    if is_on and event.event in _REMEMBERED and not _remember(turn):
        effects.fail()
    if not _is_asking(turn) or (is_on and _is_private_report(turn)):
        if event.event == "Stop" and is_on and not _learn_from_turn(turn):
            effects.fail()
        return Reply(turn, _keep_books(turn), held, effects)
    left_s = max(deadline_s - time.monotonic() - _SPARE_S, 0.0)
    if not held.enter_context(turn.workspace.ledgers.hold(turn.key, left_s)):
        held.close()
        raise BusyError("another hook of this session is still being answered")
    if is_on and is_prompt:
        if is_alone and not _is_any_waiting(turn):
            effects.leave(lambda: _remember(turn))
        else:
            closed = threading.Event()
            effects.begin(lambda: _close_and_remember(turn, closed))
            closed.wait(_CLOSE_S)
    try:
        with working:
            decision = _decision(turn)
        effects.wait(_KEEP_S)
    except BaseException:
        held.close()
        raise
    if decision.is_unfinished:
        effects.fail()
    return Reply(turn, decision, held, effects)


def take_in(turn: Turn) -> None:
    """Let an event whose hook ran out of time have its effects; no text is given for it.

    Effects that the event has had already are not counted again.

    Args:
        turn: A late one, with the key that its event was sent with.

    Raises:
        BusyError: The memory or the lessons are in use: try again later.
        OSError: The disk is full or read-only.
    """
    if turn.off is not None:
        return
    event, ledgers = turn.event, turn.workspace.ledgers
    if event.event == "UserPromptSubmit":
        _note_turn(turn)
    if not _remember(turn):
        raise BusyError("the memory could not take it in")
    if event.event == "UserPromptSubmit":
        learned = learn_from_prompt(turn.workspace, event)
        if learned.is_busy:
            raise BusyError("; ".join(learned.notices))
        if learned.notices:
            ledgers.note_untold(turn.key, learned.notices)
    elif event.event == "Stop" and not _learn_from_turn(turn):
        raise BusyError("lessons are being written by another process")
    elif event.event == "SessionStart" and event.source in ("compact", "clear"):
        # The agent's context no longer holds what was given.
        ledgers.reset(turn.key, event.source)
    _keep_books(turn)


def has_effects(turn: Turn) -> bool:
    """Return whether the settings let the event be stored in the memory or bring lessons; False while hybrid is off."""
    from hybrid.knowledge.memory_intake import is_remembering

    return turn.off is None and (is_remembering(turn.workspace) or is_capturing(turn.workspace, turn.event))


def _note_turn(turn: Turn) -> None:
    """Note whether the prompt of a main conversation is private, before events of its agent's work can come."""
    event = turn.event
    if event.agent_id or event.prompt.is_blank:
        return
    key, is_private = event.key or new_key(), event.prompt.is_opted_out
    note_turn(str(turn.workspace.home), event.session_id, key, is_private=is_private)


def _is_private_report(turn: Turn) -> bool:
    """Return whether the event is a tool's in a private turn: nothing of it must be searched for or logged."""
    return turn.event.event == "PostToolUse" and _is_of_private_turn(turn)


def _is_of_private_turn(turn: Turn) -> bool:
    """Return whether an event may tell what an agent did for a private prompt."""
    workspace, event = turn.workspace, turn.event
    if not _has_memory(turn):
        return is_private_turn(str(workspace.home), event.session_id, event.key)
    from hybrid.knowledge.memory_intake import is_of_private_turn  # Brings the extraction.

    try:
        return is_of_private_turn(workspace, event, turn.kinds.stores.memory(workspace), turn.at_ms)
    except (HybridError, OSError):
        return False  # The note, which comes first, does not say so.


def _learn_from_turn(turn: Turn) -> bool:
    """Learn from the end of a conversation's turn; False when a part of it must be tried again."""
    learned = learn_from_turn(turn.workspace, turn.event, is_private=_is_of_private_turn(turn))
    for problem in learned.problems:
        _note_problem(turn, problem)
    if learned.cited or learned.recorded:
        from hybrid.answer.recording import record_learned

        record_learned(turn.workspace, turn.event, learned)
    return not learned.is_busy


def _remember(turn: Turn) -> bool:
    """Store an event in the memory, and log what went wrong; False when the memory was busy and a retry may help."""
    if not _has_memory(turn):
        return True
    from hybrid.knowledge.memory_intake import remember  # Brings the extraction.
    from hybrid.records.types import MemoryBusyError

    workspace = turn.workspace
    try:
        problems = remember(workspace, turn.event, turn.kinds.stores.memory(workspace), turn.at_ms)
    except (HybridError, OSError) as error:
        _note_problem(turn, f"memory: {error}")
        # A memory that cannot be used at all takes nothing later either.
        return not isinstance(error, MemoryBusyError)
    for problem in problems:
        _note_problem(turn, problem)
    return True


def _close_and_remember(turn: Turn, closed: threading.Event) -> bool:
    """Close the batches of all sessions that are over, since the prompt may ask for them, and keep the prompt."""
    try:
        if _has_memory(turn):
            from hybrid.knowledge.memory_intake import close_batches

            for problem in close_batches(turn.workspace, turn.kinds.stores.memory(turn.workspace), turn.at_ms):
                _note_problem(turn, problem)
    finally:
        closed.set()
    return _remember(turn)


def _note_lines_read(turn: Turn, call: ToolCall) -> None:
    """Note which lines the use of a tool put before the agent; what goes wrong is logged, and they count as unread."""
    hooks = turn.workspace.config.hooks
    if not hooks.skip_read or turn.workspace.project is None or _is_of_private_turn(turn):
        return
    from hybrid.answer.reading import note_lines_read  # Brings what knows the tools of all clients.

    try:
        note_lines_read(turn, call)
    except (OSError, ValueError, RecursionError) as error:
        _note_problem(turn, f"lines that were read: {error}")


def _note_problem(turn: Turn, problem: str) -> None:
    """Log a problem as an error of the event; what that imports is not needed before an answer."""
    from hybrid.answer.recording import record_error

    record_error(turn.workspace, turn.event, problem)


def _is_any_waiting(turn: Turn) -> bool:
    """Return whether uses of tools wait to be made into observations; False when the memory cannot be read."""
    try:
        return _has_memory(turn) and turn.kinds.stores.memory(turn.workspace).n_waiting() > 0
    except (HybridError, OSError):
        return False


def _tell_what_waits(turn: Turn) -> None:
    """Make observations of the uses of tools that wait in the session, since its new prompt ends what was done before.

    Called once the prompt was answered; what went wrong is logged.
    """
    if not _has_memory(turn):
        return
    from hybrid.knowledge.memory_intake import tell_waiting

    workspace = turn.workspace
    for problem in tell_waiting(workspace, turn.event, turn.kinds.stores.memory(workspace), turn.at_ms):
        _note_problem(turn, problem)


def _has_memory(turn: Turn) -> bool:
    workspace = turn.workspace
    return workspace.config.memory.enabled and (workspace.project is not None or turn.event.event == "SessionEnd")


def _is_asking(turn: Turn) -> bool:
    """Return whether there is anything that the event could get."""
    event, hooks = turn.event, turn.workspace.config.hooks
    if event.event == "PostToolUse":
        return not event.report.is_blank and hooks.subagent_reports
    if event.event == "SubagentStart":
        return bool(event.agent_id) and hooks.subagent_brief
    return event.event == "SessionStart" or _is_typed(event)


def _is_typed(event: HookEvent) -> bool:
    """Return whether an event is a prompt that is not blank."""
    return event.event == "UserPromptSubmit" and not event.prompt.is_blank


def _decision(turn: Turn) -> Decision:
    event = turn.event
    if event.event == "SessionStart":
        from hybrid.answer.session_start import start_session

        return start_session(turn)
    if event.event == "SubagentStart":
        from hybrid.answer.session_start import brief_subagent

        return brief_subagent(turn)
    if turn.off is not None:
        return turn.off
    if event.event != "UserPromptSubmit":
        return decide(turn)
    learned = learn_from_prompt(turn.workspace, event)
    decision = decide(turn)
    if turn.workspace.config.lessons.remind_every:
        from hybrid.answer.session_start import remind

        decision = remind(turn, decision)
    untold = turn.workspace.ledgers.read(turn.key).untold
    return replace(decision, notices=learned.notices, untold=untold, is_unfinished=learned.is_busy)


def _keep_books(turn: Turn) -> Decision:
    """Note a compaction, the end of a turn or of the session in the ledger; a disk that is full loses the note.

    Returns:
        `reset` when the ledger was reset before a compaction, else `_IGNORED`.
    """
    event, key, ledgers = turn.event, turn.key, turn.workspace.ledgers
    with contextlib.suppress(OSError):
        if event.event == "PreCompact" and not _is_false_alarm(event) and ledgers.read(key).is_holding:
            # Most clients say nothing after a compaction. Where one does, its session start finds all it needs.
            ledgers.reset(key, "compact")
            return Decision("reset", event.source)
        if event.event in ("Stop", "SessionEnd"):
            ledgers.stamp(key, "stop" if event.event == "Stop" else "end")
    return _IGNORED


def _is_false_alarm(event: HookEvent) -> bool:
    """Return whether a compaction may not follow: Gemini announces an automatic one before every request."""
    return event.source == "auto" and client_named(event.client).announces_compaction
