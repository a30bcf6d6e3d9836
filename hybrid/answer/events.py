"""Answers any hook event, or takes one in that was kept: the one entry of the engine for service and hooks.

`log.events` names the possible results; an event with the result `ignored` is not logged.
"""

from __future__ import annotations

import contextlib
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.answer.decide import Decision, decide
from hybrid.answer.effects import Effects
from hybrid.answer.holdout import HELD_OUT
from hybrid.base.clients import client_named
from hybrid.base.errors import BusyError
from hybrid.knowledge.lessons_intake import is_capturing, learn_from_prompt
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from hybrid.answer.decide import Turn

_SPARE_S = 0.1
"""Seconds that an answer takes: an event that waits for another one of its session stops waiting so long before its
own deadline."""

_KEEP_S = 0.1
"""Seconds at most that an answer waits until its prompt is stored in the memory; storing goes on after that."""

_REMEMBERED = ("PostToolUse", "Stop", "SessionEnd")
"""Events that are stored in the memory before their hook is answered; a prompt is stored during its search."""

_NOTHING = contextlib.nullcontext()
_IGNORED = Decision("ignored")
"""The decision on an event that asks for nothing, such as a tool's edit: it is not logged, being far too frequent."""


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
    effects: Effects

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

        turn = self.turn
        with self.held:
            if self.decision is not _IGNORED:
                record(turn, self.decision, latency_ms=latency_ms)
            if self.decision.untold:
                with contextlib.suppress(OSError):
                    turn.workspace.ledgers.note_told(turn.key, len(self.decision.untold))
        self.effects.finish()
        if turn.off is None:
            self.effects.follow()

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
    held, effects = ExitStack(), Effects(turn)
    is_on, is_prompt = turn.off is None, event.event == "UserPromptSubmit"
    if is_on and is_prompt:
        effects.note_turn()
    if is_on and event.event in _REMEMBERED and not effects.remember():
        effects.fail()
    if is_on and not is_alone and _is_at_file(turn) and not effects.is_private:
        return Reply(turn, _at_file(turn, held), held, effects)
    if not _is_asking(turn) or (is_on and event.call is not None and effects.is_private):
        if event.event == "Stop" and is_on and not effects.learn():
            effects.fail()
        return Reply(turn, Decision("reset", event.source) if effects.keep_books() else _IGNORED, held, effects)
    left_s = max(deadline_s - time.monotonic() - _SPARE_S, 0.0)
    if not held.enter_context(turn.workspace.ledgers.hold(turn.key, left_s)):
        held.close()
        raise BusyError("another hook of this session is still being answered")
    if is_on and is_prompt:
        effects.keep_prompt(is_alone=is_alone)
    try:
        with working:
            decision = _decision(turn)
        decision = decision.held_back() if decision.text and turn.holds_out() else decision
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
    event, ledgers, effects = turn.event, turn.workspace.ledgers, Effects(turn)
    if event.event == "UserPromptSubmit":
        effects.note_turn()
    if not effects.remember():
        raise BusyError("the memory could not take it in")
    if event.event == "UserPromptSubmit":
        learned = learn_from_prompt(turn.workspace, event)
        if learned.is_busy:
            raise BusyError("; ".join(learned.notices))
        if learned.notices:
            ledgers.note_untold(turn.key, learned.notices)
    elif event.event == "Stop" and not effects.learn():
        raise BusyError("lessons are being written by another process")
    elif event.event == "SessionStart" and event.source in ("compact", "clear"):
        # The agent's context no longer holds what was given.
        ledgers.reset(turn.key, event.source)
    effects.keep_books()


def has_effects(turn: Turn) -> bool:
    """Return whether the settings let the event be stored in the memory or bring lessons; False while hybrid is off."""
    from hybrid.knowledge.memory_intake import is_remembering

    return turn.off is None and (is_remembering(turn.workspace) or is_capturing(turn.workspace, turn.event))


def _is_asking(turn: Turn) -> bool:
    """Return whether there is anything that the event could get."""
    event, hooks = turn.event, turn.workspace.config.hooks
    if event.event == "PostToolUse":
        return not event.report.is_blank and hooks.subagent_reports
    if event.event == "SubagentStart":
        return bool(event.agent_id) and hooks.subagent_brief
    return event.event == "SessionStart" or (event.event == "UserPromptSubmit" and not event.prompt.is_blank)


def _is_at_file(turn: Turn) -> bool:
    """Return whether a use of a tool may bring records about the files that it touched."""
    event, hooks, memory = turn.event, turn.workspace.config.hooks, turn.workspace.config.memory
    is_taken = event.name in client_named(event.client).at_tool.takes
    return is_taken and event.report.is_blank and (hooks.at_file or hooks.tests_of_edited or memory.remedies)


def _at_file(turn: Turn, held: ExitStack) -> Decision:
    """Return what the files of a use of a tool bring; nobody waits for it while another hook of the session answers."""
    from hybrid.answer.at_file import records_at_file  # A prompt has no need of it.

    decision = records_at_file(turn, turn.workspace.ledgers.read(turn.key))
    if not (decision.text or decision.held) or not held.enter_context(turn.workspace.ledgers.hold(turn.key, 0.0)):
        return _IGNORED
    # Mostly there is nothing, and nothing to be held for it. What there is another hook may have given meanwhile.
    decision = records_at_file(turn, turn.workspace.ledgers.read(turn.key))
    decision = decision.held_back() if decision.text and turn.holds_out() else decision
    return decision if decision.text or decision.reason == HELD_OUT else _IGNORED


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
