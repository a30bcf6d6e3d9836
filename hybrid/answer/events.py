"""Answers any hook event, or takes one in that was kept: the one entry of the engine for service and hooks.

`feedback.reasons` names what comes of each; `ignored` is not logged.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.answer.decide import Decision, decide, switched_off
from hybrid.base.errors import BusyError, HybridError
from hybrid.ipc.spool import new_key
from hybrid.ipc.turns import OPT_OUT, is_private_turn, note_turn
from hybrid.knowledge.lessons_intake import (
    NOTHING,
    is_capturing,
    learn_from_prompt,
    learn_from_turn,
    let_fade,
    pass_over_past,
)
from hybrid.prompting.clean import clean
from hybrid.render.numbers import amount
from hybrid.workspace import session_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.knowledge.stores import RecordStores
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace

_SPARE_S = 0.1
"""Seconds before its deadline at which an event waits no longer for another one of its session: an answer takes so
long."""

_GOING_ON = ("resume", "fork")
"""Sources of a session whose transcript begins with an older conversation."""

_KEEP_S = 0.1
"""Seconds that an answer waits until its prompt is in the memory; it goes there all the same."""

_CLOSE_S = 0.2
"""Seconds that a search waits until what other sessions did last can be found; as a rule nothing is left to do."""

_REMEMBERED = ("PostToolUse", "Stop", "SessionEnd")
"""Events that are in the memory before their hook is answered; a prompt goes there while it is searched for."""

_NOTHING = contextlib.nullcontext()
_IGNORED = Decision("ignored")
"""For what asks for nothing: a tool's edit, the end of a turn; a line in the log for each would bury the others."""


class _Effects:
    """What an event is to leave behind, beside its answer: done, not yet done, or in vain so far."""

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
        """Do it beside the search, which must not wait for a database that somebody else holds."""

        def run() -> None:
            try:
                if not work():
                    self._is_failed = True
            except BaseException:
                self._is_failed = True
                raise

        self._keeper = threading.Thread(target=run, daemon=True)
        self._keeper.start()

    def leave(self, work: Callable[[], bool]) -> None:
        """Do it after the answer: a process that has just started would share its one processor between both."""
        self._later = work

    def finish(self) -> None:
        """Do what was left, and wait for what was begun."""
        work, self._later = self._later, None
        if work is not None and not work():
            self._is_failed = True
        self.wait()

    def wait(self, timeout_s: float | None = None) -> None:
        if self._keeper is not None:
            self._keeper.join(timeout_s)


class Reply(Struct, frozen=True):
    """A decision that is not recorded yet."""

    workspace: Workspace
    event: HookEvent
    decision: Decision
    turn: ExitStack
    stores: RecordStores
    effects: _Effects

    @property
    def is_taken(self) -> bool:
        """The event has had its effects: nothing is lost when it is never seen again."""
        return self.effects.are_done

    @property
    def text(self) -> str:
        """What the agent gets."""
        return self.decision.text

    @property
    def debug_line(self) -> str:
        """One line for a person."""
        return self.decision.debug_line

    def notice(self, latency_ms: float) -> str:
        """Lines for the user: what was learned, and `hybrid: 3 items, 41 ms` when the settings want it."""
        lines = [*self.decision.untold, *self.decision.notices]
        n_items = len(self.decision.items)
        if n_items and self.text and self.workspace.config.hooks.notice:
            lines.append(f"hybrid: {amount(n_items, 'item')}, {latency_ms:.0f} ms")
        return "\n".join(lines)

    def finish(self, latency_ms: float) -> None:
        """Record the decision; call it after the answer was written. The session's next hook may go on then."""
        from hybrid.answer.recording import record

        with self.turn:
            if self.decision is not _IGNORED:
                record(self.workspace, self.event, self.decision, latency_ms=latency_ms)
            if self.decision.untold:
                with contextlib.suppress(OSError):
                    key = session_key(self.workspace, self.event)
                    self.workspace.ledgers.note_told(key, len(self.decision.untold))
        self.effects.finish()
        self._tell_waiting()
        if self.event.event == "SessionStart" and self.decision.reason not in ("disabled", "paused"):
            let_fade(self.workspace)
            if self.event.source in _GOING_ON:
                pass_over_past(self.workspace, self.event)

    def drop(self, latency_ms: float | None = None) -> None:
        """The answer was not delivered: nothing counts as given. A text that came too late is noted as such."""
        with self.turn:
            if self.decision.text and latency_ms is not None:
                from hybrid.answer.recording import record

                late = replace(self.decision, reason="late", text="")
                record(self.workspace, self.event, late, latency_ms=latency_ms)
        self.effects.finish()

    def _tell_waiting(self) -> None:
        """A prompt ends what its session did before; uses that wait become observations, after the answer."""
        is_off = self.decision.reason in ("disabled", "paused")
        # Qwen sends an empty prompt after every tool's result.
        is_prompt = self.event.event == "UserPromptSubmit" and bool(self.event.prompt.strip())
        if is_prompt and not is_off:
            _tell_what_waits(self.workspace, self.event, self.stores)


def answer(
    workspace: Workspace,
    event: HookEvent,
    kinds: OpenKinds,
    *,
    environ: Mapping[str, str] = os.environ,
    until_s: float | None = None,
    working: AbstractContextManager[object] = _NOTHING,
    is_alone: bool = False,
) -> Reply:
    """Decide what an event gets.

    Args:
        workspace: Of the event's directory, with the settings in force.
        event: Of a client.
        kinds: What is open.
        environ: Environment variables of the client.
        until_s: As of `injecting.decide`.
        working: Entered for the decision alone, not while another event of the session is waited for.
        is_alone: The process was started for this event: a prompt goes into the memory once the answer is out.

    Raises:
        BusyError: Another event of the session is answered, and there is no time left to wait: what both may get would
            come twice.
        HybridError: A model cannot be loaded.
        OSError: Files cannot be read.
    """
    until_s = time.monotonic() + workspace.config.hooks.deadline_ms / 1000 if until_s is None else until_s
    turn, effects = ExitStack(), _Effects()
    stores = kinds.stores
    off = switched_off(workspace, event, environ)
    is_on = off is None
    if is_on and event.event == "UserPromptSubmit":
        _note_turn(workspace, event)
    if is_on and event.event in _REMEMBERED and not _remember(workspace, event, stores):
        effects.fail()
    if not _is_asking(workspace, event) or (is_on and _is_private_report(workspace, event, stores)):
        if event.event == "Stop" and is_on and not _learn_from_turn(workspace, event, stores):
            effects.fail()
        return Reply(workspace, event, _keep_books(workspace, event), turn, stores, effects)
    left_s = max(until_s - time.monotonic() - _SPARE_S, 0.0)
    if not turn.enter_context(workspace.ledgers.turn(session_key(workspace, event), left_s)):
        turn.close()
        raise BusyError("another hook of this session is still being answered")
    if is_on and event.event == "UserPromptSubmit":
        if is_alone and not _is_any_waiting(workspace, event, stores):
            effects.leave(lambda: _remember(workspace, event, stores))
        else:
            closed = threading.Event()
            effects.begin(lambda: _close_and_remember(workspace, event, stores, closed))
            closed.wait(_CLOSE_S)
    try:
        with working:
            decision = _decision(workspace, event, kinds, environ, until_s, off)
        effects.wait(_KEEP_S)
    except BaseException:
        turn.close()
        raise
    if decision.is_unfinished:
        effects.fail()
    return Reply(workspace, event, decision, turn, stores, effects)


def take_in(
    workspace: Workspace, event: HookEvent, stores: RecordStores, *, environ: Mapping[str, str], at_ms: int
) -> None:
    """Let an event have its effects whose hook ran out of time; no text is given for it.

    It may have had some of them already: none counts twice.

    Args:
        workspace: Of the event's directory, with the settings in force.
        event: Of a client, with the key that it was sent with.
        stores: Of the records.
        environ: Environment variables of the client.
        at_ms: When its hook started, milliseconds since 1970.

    Raises:
        BusyError: The memory or the lessons are in use: try again later.
        OSError: The disk is full or read-only.
    """
    if switched_off(workspace, event, environ, at_s=at_ms / 1000) is not None:
        return
    if event.event == "UserPromptSubmit":
        _note_turn(workspace, event)
    if not _remember(workspace, event, stores, at_ms=at_ms):
        raise BusyError("the memory could not take it in")
    key, ledgers = session_key(workspace, event), workspace.ledgers
    if event.event == "UserPromptSubmit":
        learned = learn_from_prompt(workspace, event)
        if learned.is_busy:
            raise BusyError("; ".join(learned.notices))
        if learned.notices:
            ledgers.note_untold(key, learned.notices)
    elif event.event == "Stop" and not _learn_from_turn(workspace, event, stores, at_ms=at_ms):
        raise BusyError("lessons are being written by another process")
    elif event.event == "SessionStart" and event.source in ("compact", "clear"):
        # The agent's context no longer holds what was given.
        ledgers.reset(key, event.source)
    _keep_books(workspace, event)


def has_effects(workspace: Workspace, event: HookEvent, environ: Mapping[str, str]) -> bool:
    """Return whether an event may leave anything behind here: its owner may have switched that off."""
    from hybrid.knowledge.memory_intake import is_remembering

    if switched_off(workspace, event, environ) is not None:
        return False
    return is_remembering(workspace) or is_capturing(workspace, event)


def _note_turn(workspace: Workspace, event: HookEvent) -> None:
    """Note whether a prompt is private, before anything that its agent does can come."""
    if event.agent_id or not event.prompt.strip():
        return
    is_private = OPT_OUT in event.prompt.lower() and clean(event.prompt).is_opted_out
    note_turn(str(workspace.home), event.session_id, event.key or new_key(), is_private=is_private)


def _is_private_report(workspace: Workspace, event: HookEvent, stores: RecordStores) -> bool:
    """Return whether a subagent reports in a private turn: it would be searched for and stand in the log."""
    return event.event == "PostToolUse" and _is_of_private_turn(workspace, event, stores, _now_ms())


def _is_of_private_turn(workspace: Workspace, event: HookEvent, stores: RecordStores, at_ms: int) -> bool:
    """Return whether an event may tell what an agent did for a private prompt."""
    if not _has_memory(workspace, event):
        return is_private_turn(str(workspace.home), event.session_id, event.key)
    from hybrid.knowledge.memory_intake import is_of_private_turn  # Brings the extraction.

    try:
        return is_of_private_turn(workspace, event, stores.memory(workspace), at_ms)
    except (HybridError, OSError):
        return False  # The note, which comes first, does not say so.


def _learn_from_turn(workspace: Workspace, event: HookEvent, stores: RecordStores, *, at_ms: int | None = None) -> bool:
    """Learn from the end of a turn; False when a part of it must be tried again."""
    at_ms = _now_ms() if at_ms is None else at_ms
    learned = learn_from_turn(workspace, event, is_private=_is_of_private_turn(workspace, event, stores, at_ms))
    for problem in learned.problems:
        _note_problem(workspace, event, problem)
    if learned.cited or learned.recorded:
        from hybrid.answer.recording import record_learned

        record_learned(workspace, event, learned)
    return not learned.is_busy


def _remember(workspace: Workspace, event: HookEvent, stores: RecordStores, *, at_ms: int | None = None) -> bool:
    """Keep what an event tells; what went wrong stands in the log. False when it is not kept and may be tried again."""
    if not _has_memory(workspace, event):
        return True
    from hybrid.knowledge.memory_intake import remember  # Brings the extraction.
    from hybrid.records.errors import MemoryBusyError

    try:
        problems = remember(workspace, event, stores.memory(workspace), _now_ms() if at_ms is None else at_ms)
    except (HybridError, OSError) as error:
        _note_problem(workspace, event, f"memory: {error}")
        # A memory that cannot be used at all takes nothing later either.
        return not isinstance(error, MemoryBusyError)
    for problem in problems:
        _note_problem(workspace, event, problem)
    return True


def _close_and_remember(workspace: Workspace, event: HookEvent, stores: RecordStores, closed: threading.Event) -> bool:
    """Close the batches of all sessions that are over, since the prompt may ask for them, and keep the prompt."""
    try:
        if _has_memory(workspace, event):
            from hybrid.knowledge.memory_intake import close_batches

            for problem in close_batches(workspace, stores.memory(workspace), _now_ms()):
                _note_problem(workspace, event, problem)
    finally:
        closed.set()
    return _remember(workspace, event, stores)


def _note_problem(workspace: Workspace, event: HookEvent, problem: str) -> None:
    """Leave a line in the log; what that imports is not needed before an answer."""
    from hybrid.answer.recording import record_error

    record_error(workspace, event, problem)


def _is_any_waiting(workspace: Workspace, event: HookEvent, stores: RecordStores) -> bool:
    """Return whether uses of tools wait to be told; where nobody can say, there are none to close."""
    try:
        return _has_memory(workspace, event) and stores.memory(workspace).n_waiting() > 0
    except (HybridError, OSError):
        return False


def _tell_what_waits(workspace: Workspace, event: HookEvent, stores: RecordStores) -> None:
    """Make observations of what waits, once a prompt was answered; what went wrong stands in the log."""
    if not _has_memory(workspace, event):
        return
    from hybrid.knowledge.memory_intake import tell_waiting

    for problem in tell_waiting(workspace, event, stores.memory(workspace), _now_ms()):
        _note_problem(workspace, event, problem)


def _has_memory(workspace: Workspace, event: HookEvent) -> bool:
    return workspace.config.memory.enabled and (workspace.project is not None or event.event == "SessionEnd")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _is_asking(workspace: Workspace, event: HookEvent) -> bool:
    """Is there anything that this event could get?"""
    if event.event == "PostToolUse":
        return bool(event.report) and workspace.config.hooks.subagent_reports
    if event.event == "SubagentStart":
        return bool(event.agent_id) and workspace.config.hooks.subagent_brief
    # Qwen sends an empty prompt after every tool's result.
    return event.event == "SessionStart" or (event.event == "UserPromptSubmit" and bool(event.prompt.strip()))


def _decision(
    workspace: Workspace,
    event: HookEvent,
    kinds: OpenKinds,
    environ: Mapping[str, str],
    until_s: float,
    off: Decision | None,
) -> Decision:
    if event.event == "SessionStart":
        from hybrid.answer.session_start import start_session

        return start_session(workspace, event, kinds, environ=environ, now_s=time.time())
    if event.event == "SubagentStart":
        from hybrid.answer.session_start import brief_subagent

        return brief_subagent(workspace, event, kinds, environ=environ)
    if off is not None:
        return off
    learned = learn_from_prompt(workspace, event) if event.event == "UserPromptSubmit" else NOTHING
    decision = decide(workspace, event, kinds, environ=environ, until_s=until_s)
    if event.event != "UserPromptSubmit":
        return decision
    untold = workspace.ledgers.read(session_key(workspace, event)).untold
    return replace(decision, notices=learned.notices, untold=untold, is_unfinished=learned.is_busy)


def _keep_books(workspace: Workspace, event: HookEvent) -> Decision:
    """Note in the ledger what happened to the session; a disk that is full loses the note."""
    key, ledgers = session_key(workspace, event), workspace.ledgers
    with contextlib.suppress(OSError):
        if event.event == "PreCompact" and not _is_false_alarm(event) and ledgers.read(key).given:
            # Most clients say nothing after a compaction. Where one does, its session start finds all it needs.
            ledgers.reset(key, "compact")
            return Decision("reset", event.source)
        if event.event == "Stop":
            ledgers.stop(key)
        if event.event == "SessionEnd":
            ledgers.end(key)
    return _IGNORED


def _is_false_alarm(event: HookEvent) -> bool:
    """Gemini announces an automatic compaction before every request, and only then looks whether there is need."""
    return event.client == "gemini" and event.source == "auto"
