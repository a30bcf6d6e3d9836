"""One event on its way to its answer: `Turn` is what is known of it, `Decision` what it gets and why.

A turn is made once, where an event comes in, and passed only within the service and `answer`; what lies below them is
given the fields that it needs.
"""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hybrid.base.home import is_switched_off
from hybrid.prompting.clean import CleanedPrompt, clean
from hybrid.render.numbers import amount, compared, number
from hybrid.search.gate.threshold import Verdict
from hybrid.session.pauses import is_paused
from hybrid.types import Item
from hybrid.workspace import session_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.feedback.reasons import ReasonName
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.search.searcher import Searched
    from hybrid.session.ledger import SessionKey
    from hybrid.types import Hit, HookEvent
    from hybrid.workspace import Workspace


class Withheld(Struct, frozen=True):
    """A candidate that was not given, and the reason.

    The reasons are `bar`, `floor`, `seen`, `read` (the agent's own tools showed it), `topic` (further hits of a
    topic that the session was given), `duplicate`, `stale`, `budget`, `adds_nothing` (see `pack.plan`), and those
    of `Collection.left_out`.
    """

    hit: Hit
    reason: str


class KindSearch(Struct, frozen=True):
    """A search in one kind, and the verdict of its gate."""

    kind: str
    searched: Searched
    verdict: Verdict


class Decision(Struct, frozen=True):
    """The answer to one event, and its reason.

    Attributes:
        reason: `injected`, or why not; `feedback.reasons` says what each means.
        detail: More about it, for people: the prompt rule, the error.
        text: What the agent gets; empty when silent.
        query: What was searched with; empty when nothing was.
        verdict: The verdict of the gate; None when the gate was not reached.
        topic_id: Topic id of the results; empty without results.
        items: Shown, best first.
        withheld: Candidates that were not shown, with the reason.
        searched: The search behind it, in the files when they have an index; None when there was none.
        kinds: For every kind that was searched, the search and the verdict of the kind's gate.
        problems: What went wrong with a kind that was left out, a sentence each.
        is_report: True when a subagent's report was searched with, not a prompt.
        notices: Lines for the user about what was learned from the prompt.
        untold: Lines for the user about earlier events of the session, whose hooks could not show them.
        is_unfinished: Something that the prompt asks for could not be written down yet.
    """

    reason: ReasonName
    detail: str = ""
    text: str = ""
    query: str = ""
    verdict: Verdict | None = None
    topic_id: str = ""
    items: tuple[Item, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    searched: Searched | None = None
    kinds: tuple[KindSearch, ...] = ()
    problems: tuple[str, ...] = ()
    is_report: bool = False
    notices: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    is_unfinished: bool = False

    @property
    def is_injected(self) -> bool:
        """True when a text was found by a search; False for silence, a session's start or a reminder."""
        return self.reason == "injected"

    @property
    def debug_line(self) -> str:
        """One line that says what was done with the event and why, for a person who debugs a hook."""
        if self.reason == "gate" and self.verdict:
            return f"hybrid: skipped ({_missed(self.verdict)})"
        if self.is_injected:
            return f"hybrid: injected {amount(len(self.items), 'item')}, {len(self.text)} characters"
        if self.text:
            return f"hybrid: {self.reason}, {len(self.text)} characters"
        return f"hybrid: skipped ({self.reason}{': ' + self.detail if self.detail else ''})"


def _missed(verdict: Verdict) -> str:
    """Return the score and the threshold that a closed gate compared, as text for `debug_line`."""
    if verdict.score is None:
        return "gate: nothing to compare"
    if verdict.threshold is None:
        return f"semantic={number(verdict.score)}, gate=unknown"
    score, threshold = compared(verdict.score, verdict.threshold)
    return f"semantic={score} {'<' if score != threshold else '<='} gate={threshold}"


class Turn(Struct, frozen=True, dict=True, eq=False):
    """An event that is answered, or that is taken in later without an answer.

    Attributes:
        workspace: The workspace of the event's directory, with the settings in force.
        event: The event, of any client.
        kinds: The open stores and indexes; the service passes those that it keeps open.
        environ: Environment variables of the client.
        until_s: Monotonic time at which the answer must be there; None for the configured deadline from now on.
        at_ms: When the event came, milliseconds since 1970.
        is_late: The event was kept because its hook ran out of time: its effects are wanted, and no text.
    """

    workspace: Workspace
    event: HookEvent
    kinds: OpenKinds
    environ: Mapping[str, str] = os.environ
    until_s: float | None = None
    at_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    is_late: bool = False

    @cached_property
    def deadline_s(self) -> float:
        """Monotonic time at which the answer must be there."""
        if self.until_s is not None:
            return self.until_s
        return time.monotonic() + self.workspace.config.hooks.deadline_ms / 1000

    @cached_property
    def off(self) -> Decision | None:
        """The decision `disabled` or `paused` where the owner switched hybrid off or paused it; None where it is on."""
        if is_switched_off(self.environ):
            return Decision("disabled", "HYBRID_DISABLE is set")
        project, event = self.workspace.project, self.event
        # A pause that began after a kept event came is not meant for it.
        at_s = self.at_ms / 1000 if self.is_late else None
        scope = is_paused(
            self.workspace.home, project.key if project else None, event.client, event.session_id, at_s=at_s
        )
        return Decision("paused", scope) if scope else None

    @cached_property
    def cleaned(self) -> CleanedPrompt:
        """The prompt of the event without the parts that must be neither searched nor stored."""
        return clean(self.event.prompt)

    @cached_property
    def key(self) -> SessionKey:
        """The key of the session's ledger."""
        return session_key(self.workspace, self.event)
