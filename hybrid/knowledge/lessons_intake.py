"""Takes in what conversations tell of lessons: those that are written down, and those that were used.

Only what a person typed, and what the main agent said itself, can create or cite a lesson: no tool's result, no report
of a subagent, no injected text and no file. `answer.events` and `answer.recording` call this; a failure costs the note,
not the event.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.errors import HybridError
from hybrid.base.text import chunk_digest
from hybrid.knowledge.stores import open_stores
from hybrid.records.lessons.types import Lesson, checked
from hybrid.records.types import LessonsBusyError
from hybrid.render.marks import plain_text
from hybrid.session.ledger import Given
from hybrid.sources.records import record_text
from hybrid.workspace import session_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.capture.transcript import AgentText
    from hybrid.knowledge.stores import Stores
    from hybrid.records.lessons.messages import CapturedLesson
    from hybrid.records.lessons.store import LessonStore
    from hybrid.records.lessons.writing import CitingMessage
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


_MARK_DIGITS = 16

# Clients hand over a selection, the output of a command or a file as `<name>…</name>`. A prompt is cleaned of those
# that are surely theirs; a lesson is taken from none.
_ELEMENT = re.compile(r"^[^\S\n]{0,8}<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,500})?>", re.MULTILINE)
_MOST_ELEMENTS = 50
"""The most elements of a client in a prompt; text after more of them is taken for not typed."""

_LOCK_S = 1.0
"""Seconds that an event waits for another process that writes lessons; few, because its agent waits too."""


class TurnReport(Struct, frozen=True):
    """The outcome of taking in the end of a turn.

    Attributes:
        problems: A sentence for each lesson or citation that could not be noted, for the log.
        cited: Ids of the lessons whose citations were counted, each as often as it was cited.
        recorded: Ids of new lessons.
        is_busy: True if a lesson or a citation could not be noted now, so that another try may help.
    """

    problems: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    is_busy: bool = False


def learn_from_prompt(workspace: Workspace, event: HookEvent) -> IntakeReport:
    """Write down the lessons in a typed prompt, and note them in the ledger as given to the session.

    Args:
        workspace: The workspace of the event's directory.
        event: The event of a prompt.

    Returns:
        A notice for each lesson in the prompt, stored or not; nothing is raised. `NOTHING` where none may be taken in:
        capture is off, a subagent or a machine wrote the prompt, or it is opted out.
    """
    cleaned = event.prompt
    if not is_capturing(workspace, event) or "lesson" not in cleaned.text.lower():
        return NOTHING
    if cleaned.is_machine_made or cleaned.is_opted_out:
        return NOTHING
    from hybrid.records.lessons.messages import captured_from_prompt

    found = captured_from_prompt(_typed(plain_text(cleaned.text)))
    learned = write_down(open_stores(workspace, lock_s=_LOCK_S), found, date.today())
    if learned.lessons:
        given = [(chunk_digest(record_text(lesson.record())), "full") for lesson in learned.lessons]
        with contextlib.suppress(OSError):
            workspace.ledgers.record(session_key(workspace, event), Given(given))
    return learned


def without_captures(text: str) -> str:
    """Return a typed text without the lines that `learn_from_prompt` writes down; they are no part of the question.

    A line in a code block or beyond the tenth stays. Time is linear in the length.
    """
    if "lesson" not in text.lower():
        return text
    from hybrid.records.lessons.messages import captured_lines

    plain = plain_text(text)
    gone = captured_lines(_typed(plain))
    if not gone:
        return text
    return "\n".join(line for number, line in enumerate(plain.split("\n")) if number not in gone).strip()


def learn_from_turn(workspace: Workspace, event: HookEvent, *, is_private: bool = False) -> TurnReport:
    """At the end of a turn: write down what the agent learned, and count the lessons that it cites.

    Of a private turn nothing is kept, and its messages are not read at a later end of a turn either. A subagent's turn
    teaches nothing. What cannot be noted stands in the report.
    """
    if event.agent_id or not workspace.config.lessons.enabled:
        return TurnReport()
    problems: list[str] = []
    texts, read_to = _said(workspace, event)
    if is_private:
        _note_read(workspace, event, read_to)
        return TurnReport()
    message = event.message.strip()
    last = message or (texts[-1].text if texts else "")
    learned = NOTHING
    if last and is_capturing(workspace, event):
        from hybrid.records.lessons.messages import captured_from_agent

        learned = write_down(open_stores(workspace, lock_s=_LOCK_S), captured_from_agent(last), date.today())
        problems += [notice for notice in learned.notices if notice.startswith(NOT_RECORDED)]
    cited, failures = _count_citations(workspace, _citing(event, texts, message))
    if not failures:  # Else the next end of a turn counts what is missing.
        _note_read(workspace, event, read_to)
    recorded = tuple(lesson.id for lesson in learned.lessons)
    is_busy = learned.is_busy or bool(failures)
    return TurnReport(tuple(dict.fromkeys([*problems, *failures])), cited, recorded, is_busy)


def pass_over_past(workspace: Workspace, event: HookEvent) -> None:
    """Note the end of an old transcript that a session goes on with, so that its citations do not count again."""
    if event.transcript:
        from hybrid.capture.transcript import end_offset

        with contextlib.suppress(OSError):
            workspace.ledgers.note_read(session_key(workspace, event), end_offset(Path(event.transcript)))


def note_given(workspace: Workspace, lesson_ids: Iterable[str]) -> None:
    """Count that lessons were given to an agent.

    Raises:
        HybridError: The counters cannot be written.
        OSError: The counters cannot be written.
    """
    ids = tuple(lesson_ids)
    for store in open_stores(workspace, lock_s=_LOCK_S).all if ids else ():
        store.note_injected(ids)


def let_fade(workspace: Workspace, today: date | None = None) -> None:
    """Let the counters of all lessons fade, where a week has passed since they did last; failures are passed over."""
    if not workspace.config.lessons.enabled:
        return
    for store in open_stores(workspace, lock_s=_LOCK_S).all:
        with contextlib.suppress(HybridError, OSError):
            store.decay(today or date.today())


def is_capturing(workspace: Workspace, event: HookEvent) -> bool:
    """Return whether lessons of an event are written down: the settings say so, and it comes from no subagent."""
    settings = workspace.config.lessons
    return settings.enabled and settings.capture and not event.agent_id


def _typed(text: str) -> str:
    """Return a cleaned prompt without the elements that begin a line, which may be its client's.

    The content of a part may hold false marks, so an element ends at the last mark of its end. Lines keep their places,
    and nothing is left from an element without an end on.
    """
    kept: list[str] = []
    position = 0
    for _ in range(_MOST_ELEMENTS):
        begin = _ELEMENT.search(text, position)
        if begin is None:
            return "".join([*kept, text[position:]])
        kept.append(text[position : begin.start()])
        end = text.rfind(f"</{begin[1]}>", begin.end())
        if end < 0:
            break
        position = end + len(begin[1]) + len("</>")
        kept.append("\n" * text.count("\n", begin.start(), position))
    return "".join(kept)


def _said(workspace: Workspace, event: HookEvent) -> tuple[Sequence[AgentText], int | None]:
    """Return the agent's messages since the noted offset of the transcript, and the new offset if there is one.

    There are none if the session was never given anything: then there is nothing to cite, and the last message says the
    rest.
    """
    if not event.transcript or (ledger := workspace.ledgers.read(session_key(workspace, event))).is_new:
        return (), None
    from hybrid.capture.cleaning import cleaned_text
    from hybrid.capture.transcript import agent_texts

    texts, read_to = agent_texts(Path(event.transcript), ledger.read_to)
    found = [replace(one, text=cleaned_text(one.text)) for one in texts]
    return found, read_to if read_to != ledger.read_to else None


def _note_read(workspace: Workspace, event: HookEvent, read_to: int | None) -> None:
    """Note the offset up to which the transcript was read, so that no message counts twice; never raises OSError."""
    if read_to is not None:
        with contextlib.suppress(OSError):
            workspace.ledgers.note_read(session_key(workspace, event), read_to)


def _citing(event: HookEvent, texts: Sequence[AgentText], message: str) -> list[CitingMessage]:
    """Return the messages of a turn that cite lessons: those in the transcript, and the event's if it is not there."""
    from hybrid.records.lessons.messages import cited_ids
    from hybrid.records.lessons.writing import CitingMessage

    found: list[CitingMessage] = []
    told = _mark(event, "text", message)
    is_there = False
    for one in texts:
        # A message of several parts may come with its last, so the event's text is a text of it, too.
        holds = bool(message) and message in one.text
        is_there = is_there or holds
        marks = (_mark(event, "text", one.text.strip()), *([told] if holds else []))
        name = _mark(event, "id", one.id) if one.id else ""
        found.append(CitingMessage(cited_ids(one.text), name, marks))
    if message and not is_there:  # The client may write it down a moment later.
        found.append(CitingMessage(cited_ids(message), texts=(told,)))
    return [one for one in found if one.ids]


def _mark(event: HookEvent, what: str, value: str) -> str:
    """Return a short name of a message of a session, made of its id or its text."""
    said = f"{event.client}\0{event.session_id}\0{what}\0{value}"
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:_MARK_DIGITS]


def _count_citations(workspace: Workspace, said: Sequence[CitingMessage]) -> tuple[tuple[str, ...], list[str]]:
    """Count citations in each store as one step; return the ids that were counted, and a sentence for each failure."""
    cited: list[str] = []
    failures: list[str] = []
    for store in open_stores(workspace, lock_s=_LOCK_S).all if said else ():
        try:
            cited += store.cite_messages(said, date.today())
        except (HybridError, OSError) as error:
            failures.append(f"citations were not counted: {error}")
    return tuple(cited), failures


NOT_RECORDED = "LESSON NOT RECORDED"


class IntakeReport(Struct, frozen=True):
    """The outcome of writing lessons down.

    Attributes:
        notices: A line for the user about each captured lesson.
        lessons: The lessons that were newly written.
        is_busy: True if another process was writing, so that some were not written and may be tried again.
    """

    notices: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    is_busy: bool = False


NOTHING = IntakeReport()


def write_down(stores: Stores, found: Sequence[CapturedLesson], today: date) -> IntakeReport:
    """Add captured lessons, unless one in either store says nearly the same; a failure becomes a notice.

    Args:
        stores: The stores; each waits for its lock once, however much there is to write.
        found: The captured lessons; the notices have their order.
        today: The date of learning.
    """
    told: dict[int, tuple[str, Lesson | None]] = {}
    is_busy = False
    for level, store, other in (("project", stores.project, stores.system), ("system", stores.system, stores.project)):
        mine = [(number, one) for number, one in enumerate(found) if one.level == level]
        if store is not None and mine:
            try:
                told.update(_added(store, mine, _active(other), today))
            except LessonsBusyError as error:
                is_busy = True
                told.update({number: (f"{NOT_RECORDED} YET: {one.title} ({error})", None) for number, one in mine})
        for number, one in mine if store is None else ():
            told[number] = f"{NOT_RECORDED}: {one.title} (no project here; type `SYSTEM LESSON:` by itself)", None
    outcomes = [told[number] for number in sorted(told)]
    lessons = tuple(lesson for _, lesson in outcomes if lesson is not None)
    return IntakeReport(tuple(notice for notice, _ in outcomes), lessons, is_busy)


def _added(
    store: LessonStore, found: Sequence[tuple[int, CapturedLesson]], others: Sequence[Lesson], today: date
) -> dict[int, tuple[str, Lesson | None]]:
    """Add lessons to a store; return number of each → the notice about it, and the lesson if it is new.

    Raises:
        LessonsBusyError: Another process is writing; nothing was written.
    """
    from hybrid.records.lessons.writing import Elsewhere, Offer  # Most prompts hold no lesson.

    told: dict[int, tuple[str, Lesson | None]] = {}
    offers: dict[int, Offer] = {}
    for number, one in found:
        try:
            offers[number] = Offer(checked(one), learned=today.isoformat())
        except HybridError as error:
            told[number] = f"{NOT_RECORDED}: {one.title} ({error})", None
    if not offers:
        return told
    try:
        adopted = store.adopt(list(offers.values()), today=today, elsewhere=Elsewhere(lessons=tuple(others)))
        written = {lesson.id: lesson for lesson in store.read().lessons}
    except LessonsBusyError:
        raise
    except (HybridError, OSError) as error:
        titles = {number: offer.draft.title for number, offer in offers.items()}
        return told | {number: (f"{NOT_RECORDED}: {title} ({error})", None) for number, title in titles.items()}
    for number, one in zip(offers, adopted, strict=True):
        lesson = written.get(one.lesson_id or "")
        if lesson is not None:
            told[number] = f"LESSON RECORDED: [{lesson.id}] {lesson.title}", lesson
        elif one.duplicate_of is not None:
            told[number] = f"LESSON KNOWN ALREADY: [{one.duplicate_of.id}] {one.duplicate_of.title}", None
    return told


def _active(store: LessonStore | None) -> Sequence[Lesson]:
    """Return the active lessons of a store; none without a store, or when its file cannot be read."""
    if store is not None:
        with contextlib.suppress(HybridError, OSError):
            return store.read().active
    return ()
