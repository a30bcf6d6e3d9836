"""Texts for agents that nobody searched for: orientation, hot topics, and what a prompt of a client begins with."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hybrid.answer.decide import Turn
from hybrid.answer.session_start import start_session
from hybrid.ask.memory_lookup import RankedRow, list_text
from hybrid.feedback.state import hot_topics as topics_text
from hybrid.feedback.state import read_state
from hybrid.operations import types
from hybrid.operations.asking import Outcome
from hybrid.records.memory.types import RowFilter
from hybrid.types import HookEvent

if TYPE_CHECKING:
    from hybrid.operations.asking import Asking

_ROWS = 30

_HAND_OVER = """\
Write a handoff for whoever goes on with this work. Say what was asked for, what is done and where, what is left, what \
blocks it, and what to look at first. Then store it with `hybrid lore handoff "MESSAGE" --next STEP --blocker \
BLOCKER`, or, where no command can be run, with the tool `remember`. Decisions that others may ask about go to \
`decide`."""

_LEARNED = """\
Look back at this session and find what the next one must know: what failed and why, what the project expects that its \
code does not say, what had to be found out twice. For each, look with the tool `lessons` whether it is known. Write \
down what is new with the tool `remember`, kind `lesson`: a short title, and the rule with its reason. Write nothing \
that the code or the commits say already; nothing is a good result too."""


def orientation(asking: Asking, _: types.Nothing) -> Outcome:
    """Return what a new session of this project is given."""
    event = HookEvent(asking.client, "SessionStart", "", "", str(asking.workspace.cwd or ""), "", source="startup")
    decision = start_session(Turn(asking.workspace, event, asking.kinds, asking.environ))
    text = decision.text or f"Nothing is known of this project yet ({decision.reason})."
    return Outcome(types.TextResult(text), text, frame=decision.text)


def hot_topics(asking: Asking, _: types.Nothing) -> Outcome:
    """Return the files and symbols that were injected most, as `hot-topics.md` has them."""
    state = read_state(asking.workspace.state_folder)
    return _text(topics_text(state, datetime.fromtimestamp(asking.now_ms / 1000, timezone.utc)))


def hand_over(asking: Asking, _: types.Nothing) -> Outcome:
    """Return a prompt that asks for a handoff, with what the memory knows of this session."""
    return _text(_HAND_OVER + _done(asking))


def learned(asking: Asking, _: types.Nothing) -> Outcome:
    """Return a prompt that asks for the lessons of a session, with what the memory knows of it."""
    return _text(_LEARNED + _done(asking))


def _done(asking: Asking) -> str:
    """Return the newest rows of the memory that this session left, or of the project where the session is unknown."""
    workspace = asking.workspace
    store = asking.kinds.stores.memory(workspace)
    if not workspace.config.memory.enabled or not store.exists:
        return ""
    key = workspace.require_project().key
    rows = store.newest(RowFilter(key=key, session_id=asking.session_id), _ROWS) if asking.session_id else []
    rows = rows or store.newest(RowFilter(key=key), _ROWS)
    listed = list_text([RankedRow(row) for row in reversed(rows)], "index", here=key)
    return f"\n\nWhat was noted lately:\n{listed}" if rows else ""


def _text(text: str) -> Outcome:
    return Outcome(types.TextResult(text), text)
