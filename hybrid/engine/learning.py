"""What hooks learn: lessons that are written down in a conversation, and which of them were used.

Only what a person typed, and what the main agent said itself, can create or cite a lesson: no tool's result, no report
of a subagent, no injected text and no file. `answering` and `recording` call this; a failure costs the note, not the
event.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.capture.transcript import agent_texts, end_offset
from hybrid.digest import chunk_digest
from hybrid.engine.lesson_places import open_stores
from hybrid.engine.sessions import session_key
from hybrid.errors import HybridError
from hybrid.prompting.clean import clean
from hybrid.records.lessons.captured import captured_from_agent, captured_from_prompt
from hybrid.records.lessons.citations import cited_ids
from hybrid.records.lessons.lesson import Draft
from hybrid.sources.records import record_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.engine.workspace import Workspace
    from hybrid.records.lessons.captured import Captured
    from hybrid.records.lessons.lesson import Lesson
    from hybrid.types import HookEvent

_MARK_DIGITS = 16
_NOT_RECORDED = "LESSON NOT RECORDED"

# Clients hand over a selection, the output of a command or a file as `<name>…</name>`, Gemini and Qwen the files that a
# prompt names (`@notes.md`) under a heading.
_ELEMENT = re.compile(r"^[^\S\n]{0,8}<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,500})?>", re.MULTILINE)
_FILES = re.compile(r"^[^\S\n]{0,8}-{3} Content from referenced files", re.MULTILINE | re.IGNORECASE)
_MOST_ELEMENTS = 50
"""Elements of a prompt; what follows more of them was not typed."""

_LOCK_S = 1.0
"""Seconds that an event waits for another process that writes lessons: its agent waits, and its deadline is near."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What was written down.

    Attributes:
        notices: A line for the user about each lesson.
        lessons: Those that are new.
    """

    notices: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()


NOTHING = Learned()


def learn_from_prompt(workspace: Workspace, event: HookEvent) -> Learned:
    """Write down the lessons in a typed prompt; they count as given to the session, which has just read them."""
    if not workspace.config.lessons.capture or event.agent_id or "lesson" not in event.prompt.lower():
        return NOTHING
    cleaned = clean(event.prompt)
    if cleaned.is_machine_made or cleaned.is_opted_out:
        return NOTHING
    learned = _write_down(workspace, captured_from_prompt(_typed(cleaned.text)))
    if learned.lessons:
        given = [(chunk_digest(record_text(lesson.record())), "full") for lesson in learned.lessons]
        with contextlib.suppress(OSError):
            workspace.ledgers.record(session_key(workspace, event), None, given)
    return learned


def _typed(text: str) -> str:
    """A prompt without what its client put into it: elements that begin a line, and the files that it names.

    Either may be forged by its content: an element ends at the last mark of its end, files are the last part.
    """
    files = _FILES.search(text)
    text = text[: files.start()] if files else text
    kept: list[str] = []
    position = 0
    for _ in range(_MOST_ELEMENTS):
        begin = _ELEMENT.search(text, position)
        if begin is None:
            return "\n".join([*kept, text[position:]])
        kept.append(text[position : begin.start()])
        end = text.rfind(f"</{begin[1]}>", begin.end())
        if end < 0:
            break
        position = end + len(begin[1]) + len("</>")
    return "\n".join(kept)


def without_captures(text: str) -> str:
    """A typed text without the lines that were written down: they tell, they do not ask."""
    if "lesson" not in text.lower():
        return text
    return "\n".join(line for line in text.split("\n") if not captured_from_prompt(line)).strip()


def learn_from_turn(workspace: Workspace, event: HookEvent) -> tuple[str, ...]:
    """At the end of a turn: write down what the agent learned, and count the lessons that it cites.

    Returns:
        What could not be noted, a sentence each: the event takes no answer, so it is left in the log.
    """
    if event.agent_id or not workspace.config.lessons.enabled:
        return ()
    problems: list[str] = []
    texts = _said(workspace, event)
    message = event.message.strip()
    if message and not any(message in text for text in texts):  # A message of several parts may come with its last.
        texts = (*texts, message)  # The client may write it down a moment later.
    if workspace.config.lessons.capture and texts:
        learned = _write_down(workspace, captured_from_agent(message or texts[-1]))
        problems += [notice for notice in learned.notices if notice.startswith(_NOT_RECORDED)]
    for text in texts:
        try:
            _count_citations(workspace, event, text)
        except (HybridError, OSError) as error:
            problems.append(f"citations were not counted: {error}")
    return tuple(dict.fromkeys(problems))


def _said(workspace: Workspace, event: HookEvent) -> tuple[str, ...]:
    """What the agent said since this was asked last, from the transcript."""
    if not event.transcript:
        return ()
    key, ledgers = session_key(workspace, event), workspace.ledgers
    ledger = ledgers.read(key)
    if ledger.is_new:
        # Nothing was ever given to this session, so there is nothing to cite; the last message says the rest.
        return ()
    found, read_to = agent_texts(Path(event.transcript), ledger.read_to)
    if read_to != ledger.read_to:
        with contextlib.suppress(OSError):
            ledgers.note_read(key, read_to)
    return tuple(text.text for text in found)


def pass_over_past(workspace: Workspace, event: HookEvent) -> None:
    """A session that goes on with an old transcript: what was cited there was counted then."""
    if event.transcript:
        with contextlib.suppress(OSError):
            workspace.ledgers.note_read(session_key(workspace, event), end_offset(Path(event.transcript)))


def note_given(workspace: Workspace, lesson_ids: Iterable[str]) -> None:
    """Count that lessons were given to an agent.

    Raises:
        HybridError: The counters cannot be written.
        OSError: The same.
    """
    ids = tuple(lesson_ids)
    for store in open_stores(workspace, lock_s=_LOCK_S).all if ids else ():
        store.note_injected(ids)


def let_fade(workspace: Workspace, today: date | None = None) -> None:
    """Let the counters of all lessons fade, if a week has passed."""
    for store in open_stores(workspace, lock_s=_LOCK_S).all:
        with contextlib.suppress(HybridError, OSError):
            store.decay(today or date.today())


def _write_down(workspace: Workspace, found: Sequence[Captured]) -> Learned:
    """Add what was captured to its store, unless nearly the same is there; a failure is told to the user."""
    notices: list[str] = []
    lessons: list[Lesson] = []
    stores = open_stores(workspace, lock_s=_LOCK_S)
    for one in found:
        store = stores.system if one.level == "system" else stores.project
        if store is None:
            notices.append(f"{_NOT_RECORDED}: {one.title} (no project here; `SYSTEM LESSON:` is for all projects)")
            continue
        draft = Draft(
            one.title,
            one.content,
            category=one.category,
            type=one.type,
            source=one.source,
            is_promotable=one.is_promotable,
        )
        try:
            added = store.add(draft, today=date.today())
        except (HybridError, OSError) as error:
            notices.append(f"{_NOT_RECORDED}: {one.title} ({error})")
            continue
        if added.lesson is not None:
            lessons.append(added.lesson)
            notices.append(f"LESSON RECORDED: [{added.lesson.id}] {added.lesson.title}")
        elif added.duplicate_of is not None:
            known = added.duplicate_of
            notices.append(f"LESSON KNOWN ALREADY: [{known.id}] {known.title}")
    return Learned(tuple(notices), tuple(lessons))


def _count_citations(workspace: Workspace, event: HookEvent, text: str) -> None:
    ids = cited_ids(text)
    if not ids:
        return
    # A message may come twice: with the event, and later in the transcript.
    said = f"{event.session_id}\0{text.strip()}"
    mark = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:_MARK_DIGITS]
    for store in open_stores(workspace, lock_s=_LOCK_S).all:
        store.cite(ids, date.today(), message=mark)
