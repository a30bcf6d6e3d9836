"""Writes sessions, prompts, observations and summaries; functions of an open transaction, called by the store.

An observation that repeats an earlier one is counted, not stored. Titles that differ in a number, an error code or a
word of outcome are never the same, however much else they share: `… 2 failed` and `… 3 failed` are two observations.

Tool uses that follow one another closely become one observation. A use waits in the database until it is known what
follows it: a killed process loses none. A batch is read, what is told of it is made outside of any transaction and
lock, and then the two change places in one transaction, if the uses are still there: whoever is second has worked for
nothing, and no use counts twice. It is always the first batch of a session, so that observations stand in the order of
their events.

A try is counted before it begins. Uses whose tries did not come to an end, as a text ended or stalled its reader, are
tried each alone, and then set aside: they stay in the database, and another version tries them anew.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace

from hybrid import __version__
from hybrid.records.memory.database import MAX_TRIES, N_TRIES, TOLD_COLUMNS, told_of_observation
from hybrid.records.memory.types import (
    MAX_INT,
    NOTHING_FOUND,
    Extracted,
    Flushed,
    Observation,
    Owner,
    PendingEvent,
    SessionSummary,
    Summarised,
    UserPrompt,
    as_json,
    clean,
    clean_line,
    clean_summary,
    clean_told,
    content_digest,
    digest_of,
    digest_of_events,
    from_json,
    iso,
    json_of_turns,
    marks,
    short_key,
    shortened,
    turns_of,
)
from hybrid.records.scoring import jaccard

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from hybrid.records.memory.database import Database
    from hybrid.records.memory.types import Make


_Item = TypeVar("_Item")
_RETRY_MS = 2_000
"""Milliseconds within which the same prompt again is the same one: a hook tries again at once, a person later."""
NO_USE = -1
"""The `observation_id` in `seen_events` of an event that is no use of a tool and so has no observation."""
FORGOTTEN = 0
"""Stands there for an observation that was forgotten: no row has this id, and the event never counts again."""


def open_session(db: sqlite3.Connection, owner: Owner, now_ms: int) -> tuple[int, int]:
    """Return the row of the owner's session and the number of its last prompt, 0 before the first.

    The session is made when missing; a completed one becomes active again.
    """
    row = db.execute(
        "SELECT id, prompt_counter, status FROM sessions WHERE claude_session_id = ?", (owner.session_id,)
    ).fetchone()
    if row is None:
        cursor = db.execute(
            "INSERT INTO sessions(claude_session_id, project_key, project, started_at, started_at_epoch) "
            "VALUES (?, ?, ?, ?, ?)",
            (owner.session_id, owner.key, owner.project, iso(now_ms), now_ms),
        )
        return cursor.lastrowid or 0, 0
    if row[2] != "active":
        db.execute(
            "UPDATE sessions SET status = 'active', completed_at = NULL, completed_at_epoch = NULL WHERE id = ?",
            row[:1],
        )
    return row[0], row[1]


def turn_at(db: sqlite3.Connection, session: int, at_ms: int) -> int:
    """Return the number of the last prompt of a session at a time, as an event may be late; 0 before the first."""
    row = db.execute(
        "SELECT prompt_number FROM user_prompts WHERE session_id = ? AND created_at_epoch <= ? "
        "ORDER BY created_at_epoch DESC, id DESC LIMIT 1",
        (session, at_ms),
    ).fetchone()
    return row[0] if row else 0


def is_first_time(db: sqlite3.Connection, key: str, now_ms: int) -> bool:
    """Note that the event of a key is taken in; return False if it was before, True for an event without a key."""
    if not key:
        return True
    cursor = db.execute(
        "INSERT OR IGNORE INTO seen_events(event, observation_id, seen_at_epoch) VALUES (?, ?, ?)",
        (short_key(digest_of("event", key)), NO_USE, now_ms),
    )
    return cursor.rowcount == 1


def add_prompt(db: sqlite3.Connection, owner: Owner, text: str, now_ms: int, *, key: str = "") -> int:
    """Store a prompt and return its number; the last one once more within two seconds is the same one.

    Args:
        db: The database.
        owner: Session and project.
        text: Text of the prompt.
        now_ms: When it was typed.
        key: Key of its event: the same event is not stored again, and gives the number of the last prompt.
    """
    (session, number), text = open_session(db, owner, now_ms), clean(text)
    if not is_first_time(db, key, now_ms):
        return number
    last = db.execute(
        "SELECT prompt_number, prompt_text, created_at_epoch FROM user_prompts WHERE session_id = ? "
        "ORDER BY prompt_number DESC, id DESC LIMIT 1",
        (session,),
    ).fetchone()
    if last is not None and last[1] == text and abs(now_ms - last[2]) <= _RETRY_MS:
        return last[0]
    number += 1
    db.execute(
        "UPDATE sessions SET prompt_counter = ?, user_prompt = CASE user_prompt WHEN '' THEN ? ELSE user_prompt END "
        "WHERE id = ?",
        (number, text, session),
    )
    insert_prompt(db, session, UserPrompt(0, owner, text, number, now_ms))
    return number


def insert_prompt(db: sqlite3.Connection, session: int, prompt: UserPrompt) -> None:
    """Store a prompt under its number, in the session with this row."""
    owner, now_ms, number = prompt.owner, prompt.created_ms, prompt.prompt_number
    digest = prompt_digest(owner.session_id, number, prompt.text)
    db.execute(
        "INSERT INTO user_prompts(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
        "digest, prompt_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (session, owner.key, owner.project, now_ms, iso(now_ms), number, digest, prompt.text),
    )


def prompt_digest(session_id: str, number: int, text: str) -> str:
    """Return the digest by which a prompt is known again."""
    return digest_of("prompt", session_id, number, text)


def summary_digest(summary: SessionSummary) -> str:
    """Return the digest by which a summary is known again: that of a session by whose it is, since it grows."""
    owner = summary.owner
    if summary.turns:
        return digest_of("summary of a session", owner.session_id, owner.key)
    return turn_digest(owner.session_id, summary.prompt_number, summary.told)


def turn_digest(session_id: str, number: int, told: Summarised) -> str:
    """Return the digest by which a summary of a single turn is known again."""
    return digest_of("summary", session_id, number, astuple(told))


def session_digest(session_id: str) -> str:
    """Return the digest by which a forgotten session is known."""
    return digest_of("session", session_id)


def is_known(db: sqlite3.Connection, digest: str) -> bool:
    """Return whether an observation has this digest."""
    return db.execute("SELECT 1 FROM observations WHERE digest = ?", (digest,)).fetchone() is not None


def is_forgotten(db: sqlite3.Connection, digest: str) -> bool:
    """Return whether the row with this digest was forgotten."""
    return db.execute("SELECT 1 FROM forgotten WHERE row = ?", (short_key(digest),)).fetchone() is not None


def add_observation(db: sqlite3.Connection, owner: Owner, told: Extracted, now_ms: int, digest: str) -> int | None:
    """Store an observation and return its id; None if it is there, was forgotten, or is a repeat, which is counted.

    Args:
        db: The database.
        owner: Session and project; the session is opened, and its last prompt is that of the observation.
        told: What is told; it is made clean.
        now_ms: When it was made.
        digest: Digest by which the observation is known again; empty to make one of all the rest.
    """
    told, given = clean_told(told), clean(digest)
    digest = given or digest_of(owner.session_id, owner.key, now_ms, content_digest(told))
    if is_forgotten(db, digest) or (given and is_known(db, digest)):
        return None
    session, number = open_session(db, owner, now_ms)
    identity, is_new = keep(db, session, Observation(0, owner, told, number, 0, 0, now_ms, digest))
    return identity if is_new else None


def keep(db: sqlite3.Connection, session: int, new: Observation) -> tuple[int, bool]:
    """Store a clean observation in the session with this row, or count it at the one that it repeats.

    Returns:
        The id of the stored or the repeated row, and True if the row is new.
    """
    repeated = find_repeated(db, new.owner.key, new.told, new.created_ms)
    if repeated is None:
        return insert_observation(db, session, new), True
    db.execute("UPDATE observations SET repeat_count = repeat_count + 1 WHERE id = ?", (repeated,))
    return repeated, False


def insert_observation(db: sqlite3.Connection, session: int, new: Observation) -> int:
    """Store a clean observation with its files and concepts, in the session with this row; return its id."""
    told, owner = new.told, new.owner
    lists = map(as_json, (told.facts, told.concepts, told.files_read, told.files_modified))
    cursor = db.execute(
        "INSERT INTO observations(session_id, project_key, project, type, created_at_epoch, created_at, prompt_number, "
        "discovery_tokens, repeat_count, digest, title, subtitle, narrative, facts, concepts, files_read, "
        "files_modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session, owner.key, owner.project, told.type, new.created_ms, iso(new.created_ms)),
            *(new.prompt_number, new.discovery_tokens, new.repeat_count, new.digest),
            *(told.title, told.subtitle, told.narrative, *lists),
        ),
    )
    identity = cursor.lastrowid or 0
    insert_lists(db, identity, told)
    return identity


def insert_lists(db: sqlite3.Connection, identity: int, told: Extracted) -> None:
    """Store the files and concepts of an observation, by which it is found."""
    if told.files:
        modified = frozenset(told.files_modified)
        db.executemany(
            "INSERT INTO observation_files(observation_id, path, is_modified) VALUES (?, ?, ?)",
            [(identity, path, int(path in modified)) for path in told.files],
        )
    if told.concepts:
        db.executemany(
            "INSERT INTO observation_concepts(observation_id, concept) VALUES (?, ?)",
            [(identity, concept) for concept in told.concepts],
        )


def add_summary(db: sqlite3.Connection, owner: Owner, told: Summarised, now_ms: int) -> int | None:
    """Take the turn of a time into the summary of its session, and return the id of that; None if the turn is empty.

    A session has one summary in each project. The end of a turn that comes again replaces what the turn said before.
    """
    told = clean_summary(told)
    if told == Summarised():
        return None
    session, _ = open_session(db, owner, now_ms)
    number = turn_at(db, session, now_ms)
    # A prompt begins one summary only: where a turn ended in two projects, both have that of the first.
    row = db.execute(
        "SELECT id, prompt_number, turns, request, investigated, learned, completed, next_steps, notes "
        "FROM session_summaries WHERE session_id = ? AND (project_key = ? OR prompt_number = ?) "
        "ORDER BY project_key = ? DESC, id DESC LIMIT 1",
        (session, owner.key, number, owner.key),
    ).fetchone()
    known = (turns_of(row[2]) or {row[1]: Summarised(*row[3:])}) if row else {}
    turns = _first_and_last(sorted({**known, number: told}.items()))
    whole = clean_summary(summary_of([one for _, one in turns], _changed_files(db, session, owner.key)))
    as_json = json_of_turns(dict(turns))
    new = SessionSummary(0, owner, whole, row[1] if row else number, now_ms, as_json)
    if row is None:
        return insert_summary(db, session, new)
    if row[2:] != (as_json, *astuple(whole)):
        db.execute(
            "UPDATE session_summaries SET project_key = ?, project = ?, created_at_epoch = ?, created_at = ?, "
            "digest = ?, turns = ?, request = ?, investigated = ?, learned = ?, completed = ?, next_steps = ?, "
            "notes = ? WHERE id = ?",
            (owner.key, owner.project, now_ms, iso(now_ms), summary_digest(new), as_json, *astuple(whole), row[0]),
        )
    return row[0]


def insert_summary(db: sqlite3.Connection, session: int, summary: SessionSummary) -> int:
    """Store a summary of a prompt that has none, in the session with this row; return the id of the summary."""
    owner, now_ms = summary.owner, summary.created_ms
    cursor = db.execute(
        "INSERT INTO session_summaries(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
        "digest, turns, request, investigated, learned, completed, next_steps, notes) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session, owner.key, owner.project, now_ms, iso(now_ms), summary.prompt_number),
            *(summary_digest(summary), summary.turns, *astuple(summary.told)),
        ),
    )
    return cursor.lastrowid or 0


def _changed_files(db: sqlite3.Connection, session: int, key: str) -> list[str]:
    """Return the files of a project that a session changed, in the order of their first change."""
    found = db.execute(
        "SELECT f.path FROM observation_files AS f JOIN observations AS o ON o.id = f.observation_id "
        "WHERE o.session_id = ? AND o.project_key = ? AND f.is_modified GROUP BY f.path ORDER BY min(o.id), f.path",
        (session, key),
    )
    return [path for (path,) in found if not path.startswith(("/", "~"))]


# --- the summary of a session ---------------------------------------------------------------------------------

_MOST_TURNS = 20
"""The most turns that a session's summary is made of, so that a row stays small: the first, and the last ones."""
_MOST_PARTS = 5
"""The most turns whose words stand in one field, so that each has room for a sentence."""
_FIELD_CHARS, _REQUEST_CHARS = 600, 300
_MOST_CHANGED = 8
_REPLACED = ("Tests:", "Checks:")
"""Beginnings of lines in `Summarised.notes` whose place the same line of a later turn takes."""


def summary_of(turns: Sequence[Summarised], changed: Sequence[str]) -> Summarised:
    """Return the summary of a session by its turns of substance and the files that it changed.

    What is left comes from the last turn that changed something and those after it: what earlier ones left open may
    be done since.
    """
    ended: dict[str, str] = {}
    for line in (line for turn in turns for line in turn.notes.splitlines()):
        head = line.partition(" ")[0]
        name = head if head in _REPLACED else line
        ended.pop(name, None)
        ended[name] = line
    last = max((place for place, turn in enumerate(turns) if turn.completed), default=0)
    more = f", +{len(changed) - _MOST_CHANGED}" if len(changed) > _MOST_CHANGED else ""
    names = ("/".join(path.rsplit("/", 2)[-2:]) for path in changed[:_MOST_CHANGED])
    files = f"Changed {', '.join(names)}{more}." if changed else ""
    return Summarised(
        request=_together((turn.request for turn in turns), _REQUEST_CHARS, joint="; then: "),
        investigated=_together((turn.investigated for turn in turns), _FIELD_CHARS),
        learned=_together((turn.learned for turn in turns), _FIELD_CHARS),
        completed=_together([files, *(turn.completed for turn in turns)], _FIELD_CHARS + len(files)),
        next_steps=_together((turn.next_steps for turn in turns[last:]), _FIELD_CHARS),
        notes=_together(ended.values(), _FIELD_CHARS),
    )


def _first_and_last(items: list[_Item], most: int = _MOST_TURNS) -> list[_Item]:
    """Return the first item and the last ones, at most `most`."""
    return items if len(items) <= most else [items[0], *items[1 - most :]]


def _together(texts: Iterable[str], most: int, *, joint: str = " ") -> str:
    """Return different texts joined within so many characters; short ones leave their room to the others."""
    every = _first_and_last(list(dict.fromkeys(filter(None, texts))), _MOST_PARTS)
    shown: dict[str, str] = {}
    room = most - len(joint) * (len(every) - 1)
    for n_left, text in zip(range(len(every), 0, -1), sorted(every, key=len), strict=True):
        shown[text] = text if len(text) <= room // n_left else shortened(text, room // n_left)
        room -= len(shown[text])
    return joint.join(shown[text] for text in every)


def complete_session(db: sqlite3.Connection, session_id: str, now_ms: int) -> None:
    """Note the end of a session, after which no failed command waits for its remedy; nothing for an unknown one."""
    known = "SELECT id FROM sessions WHERE claude_session_id = ?"
    db.execute(f"DELETE FROM failures WHERE session_id IN ({known})", (clean(session_id),))
    db.execute(
        "UPDATE sessions SET status = 'completed', completed_at = ?, completed_at_epoch = ? "
        "WHERE claude_session_id = ?",
        (iso(now_ms), now_ms, clean(session_id)),
    )


# --- repeats ------------------------------------------------------------------------------------------------

REPEAT_WINDOW_MS = 3_600_000
NEWEST_ROWS = 20
MIN_OVERLAP = 0.8
"""The share of common title tokens above which, not at which, two titles are the same."""

_PUNCTUATION = re.compile(r"[^\w\s]")
_NUMBER = re.compile(r"(?<!\w)[-−]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Zµ]{1,3})?(?!\w)|\b[A-Z]{1,4}-?\d{2,}\b")
_WORD = re.compile(r"[^\W\d_]+")
_TELLING = frozenset(
    "pass passes passed passing fail fails failed failing failure failures ok okay error errors errored succeed "
    "succeeds succeeded success successful timeout timed crash crashes crashed abort aborted killed panic panicked "
    "broken works working fixed green red found missing empty nothing none no not never without cannot revert reverts "
    "reverted undo add adds added remove removes removed delete deletes deleted enable enables enabled disable "
    "disables disabled true false on off allow allows allowed deny denies denied refuse refuses refused increase "
    "decrease raise lower".split()
)
"""Words of outcome and direction, which tell two otherwise equal titles apart."""


def title_tokens(title: str) -> frozenset[str]:
    """Return the words of a title in lower case without punctuation."""
    return frozenset(_PUNCTUATION.sub("", title.lower()).split())


def is_repeat(told: Extracted, earlier: Extracted) -> bool:
    """Return whether a clean observation has the title and the files of a clean earlier one.

    Titles without a word are compared by all parts of the observations.
    """
    if not _is_same_title(told.title, earlier.title):
        return False
    if not title_tokens(told.title):
        return content_digest(told) == content_digest(earlier)
    return frozenset(told.files) == frozenset(earlier.files)


def find_repeated(db: sqlite3.Connection, key: str, told: Extracted, created_ms: int) -> int | None:
    """Return the id of the row that an observation repeats; None without one.

    Compared are the project's 20 newest rows of the hour up to its time, the oldest of them first. A later row, as when
    a kept event or an import comes late, repeats this one and not the reverse.
    """
    rows = db.execute(
        "SELECT id, title FROM observations "
        "WHERE project_key = ? AND created_at_epoch BETWEEN ? AND ? ORDER BY created_at_epoch DESC, id DESC LIMIT ?",
        (key, created_ms - REPEAT_WINDOW_MS, created_ms, NEWEST_ROWS),
    ).fetchall()
    for identity, title in reversed(rows):
        # The rest is read of the few whose title says the same.
        if _is_same_title(told.title, title):
            sql = f"SELECT {TOLD_COLUMNS} FROM observations AS r WHERE id = ?"
            if is_repeat(told, told_of_observation(db.execute(sql, (identity,)).fetchone())):
                return identity
    return None


def _is_same_title(title: str, earlier: str) -> bool:
    """Return whether two titles share enough words, and all numbers and words of outcome; True if both have no word."""
    tokens, others = title_tokens(title), title_tokens(earlier)
    if not tokens and not others:
        return True
    return jaccard(tokens, others) > MIN_OVERLAP and _telling(title) == _telling(earlier)


def _telling(title: str) -> tuple[list[str], list[str]]:
    """Return the numbers and codes of a title, and its words of outcome, both in their order."""
    return _NUMBER.findall(title), [word for word in _WORD.findall(title.lower()) if word in _TELLING]


# --- batches of tool uses -----------------------------------------------------------------------------------

MAX_BATCH_EVENTS = 30
"""The most uses in a batch, however close they follow. Chosen by hand."""
_TRIES_TOGETHER = 2
"""Times that uses are tried together: a second process or thread may be at the same batch, and makes the same of it."""
_BARE_CHARS = 1_200
"""As long as a narrative (`hybrid.capture.extraction.extract.NARRATIVE_CHARS`), which lies in a layer above."""

_SEEN_MS = 30 * 86_400_000
"""Milliseconds for which an event that became part of an observation stays known; it counts again long before."""
_DROP_EACH = 1_000
"""Number of new events after which the known events that are older than `_SEEN_MS` are dropped."""

# SQLite keeps the order of a CROSS JOIN: it reads the uses that wait, which are few, and looks up the session of each.
_COLUMNS = (
    "p.id, p.session_id, s.claude_session_id, p.project_key, p.project, p.prompt_number, p.tool, '', p.digest, "
    f"p.discovery_tokens, p.created_at_epoch, {N_TRIES} "
    "FROM pending_events AS p CROSS JOIN sessions AS s ON s.id = p.session_id"
)


class Waiting(Struct, frozen=True):
    """A pending tool use: its row, the row of its session, its owner, the number of its prompt, and earlier tries."""

    id: int
    session: int
    owner: Owner
    prompt_number: int
    event: PendingEvent
    n_tries: int = 0


def batches(waiting: Iterable[Waiting], window_ms: int) -> list[list[Waiting]]:
    """Cut the uses of one session into batches.

    Args:
        waiting: In the order in which they came.
        window_ms: The longest pause within a batch, in milliseconds.

    Returns:
        The batches: runs of `waiting` in its order, none empty, which together hold every use.
    """
    found: list[list[Waiting]] = []
    for one in waiting:
        if found and len(found[-1]) < MAX_BATCH_EVENTS and _goes_on(found[-1][-1], one, window_ms):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _goes_on(last: Waiting, one: Waiting, window_ms: int) -> bool:
    return (
        last.event.tool == one.event.tool
        and last.owner.key == one.owner.key
        and last.prompt_number == one.prompt_number
        # The one that ends its reader is to be known from the others.
        and max(last.n_tries, one.n_tries) < _TRIES_TOGETHER
        # Two processes may report a little out of order.
        and abs(one.event.created_ms - last.event.created_ms) <= window_ms
    )


def add_event(db: sqlite3.Connection, owner: Owner, event: PendingEvent) -> int | None:
    """Let a tool use wait for those that follow, in an open transaction.

    Returns:
        The row of its session; None when the use waits already, was told within the last hour, or was forgotten.
    """
    event = replace(event, tool=clean(event.tool), payload=clean(event.payload), digest=clean(event.digest))
    if _is_seen(db, event):
        return None
    session, _ = open_session(db, owner, event.created_ms)
    cursor = db.execute(
        "INSERT INTO pending_events(session_id, project_key, project, created_at_epoch, prompt_number, "
        "discovery_tokens, tool, digest, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session, owner.key, owner.project, event.created_ms, turn_at(db, session, event.created_ms)),
            *(event.discovery_tokens, event.tool, event.digest, event.payload),
        ),
    )
    if (cursor.lastrowid or 0) % _DROP_EACH == 0:
        db.execute(
            f"DELETE FROM seen_events WHERE seen_at_epoch < ? AND observation_id IS NOT {FORGOTTEN}",
            (event.created_ms - _SEEN_MS,),
        )
    return session


class Batcher:
    """Turns the batches of a database into observations.

    Args:
        database: The database of the memory.
        make: Turns a batch into an observation, or None.
        window_ms: The longest pause within a batch, in milliseconds.
    """

    def __init__(self, database: Database, make: Make, window_ms: int) -> None:
        self._database = database
        self._make = make
        self._window_ms = window_ms

    def flush_first(self, session: int, now_ms: int) -> None:
        """Turn the first batch of a session into an observation if it has ended; one batch only, as a caller waits.

        One that was tried before is left to a flush.
        """
        due = self._first_due(session, now_ms, MAX_INT)
        if due is not None and not due[0][0].n_tries:
            self._tell(*due)

    def flush(self, now_ms: int, session_id: str, most: int | None) -> Flushed:
        """Turn the ended batches of all sessions, or all batches of one, into observations; see `MemoryStore.flush`.

        Uses that come meanwhile are left to the next flush.
        """
        n_made, done = 0, list[Flushed]()
        by_ms = math.inf if session_id else now_ms
        for session, last in self._database.read(lambda db: _waiting_sessions(db, session_id), []):
            while most is None or n_made < most:
                due = self._first_due(session, by_ms, last)
                if due is None:
                    break
                n_made += 1
                done.append(self._tell(*due))
        return Flushed(sum(one.n for one in done), tuple(failure for one in done for failure in one.failures))

    def _first_due(self, session: int, now_ms: float, last: int) -> tuple[list[Waiting], str] | None:
        return self._database.read(lambda db: _first_due(db, session, now_ms, self._window_ms, last), None)

    def _tell(self, batch: Sequence[Waiting], prompt: str) -> Flushed:
        """Put an observation in the place of a batch, a bare one if `make` raises; none if another was first.

        Sets a use aside instead that was tried often enough.
        """
        events, first = [one.event for one in batch], batch[0]
        self._database.write(lambda db: _count_try(db, batch))
        if first.n_tries >= MAX_TRIES:
            said = f"telling of it did not come to an end {MAX_TRIES} times; it is set aside"
            return Flushed(0, (clean_line(f"{events[0].tool} (use {first.id}): {said}"),))
        failure = ""
        try:
            runs = _runs(batch, self._make(events, prompt))
        except Exception as error:  # noqa: BLE001 - the extractor may be anybody's; what was observed is kept whatever it does
            failure = clean_line(f"{events[0].tool}: {type(error).__name__}: {error}")
            runs = [(batch, _bare(events, failure))]
        if not self._database.write(lambda db: _store(db, batch, runs, is_bare=bool(failure))):
            return Flushed(0)
        return Flushed(1, (failure,) if failure else ())


def _is_seen(db: sqlite3.Connection, event: PendingEvent) -> bool:
    """Return whether an event waits, was forgotten, or was told within the last hour."""
    row = db.execute(
        f"SELECT 1 FROM seen_events WHERE event = ? AND (observation_id = {FORGOTTEN} OR seen_at_epoch >= ?) "
        "UNION ALL SELECT 1 FROM pending_events WHERE digest = ?",
        (short_key(event.digest), event.created_ms - REPEAT_WINDOW_MS, event.digest),
    ).fetchone()
    return row is not None


def _waiting_sessions(db: sqlite3.Connection, session_id: str) -> list[tuple[int, int]]:
    """Return (session, last waiting use), as rows, of all sessions with waiting uses or of one, oldest first."""
    condition, values = ("WHERE s.claude_session_id = ?", (clean(session_id),)) if session_id else ("", ())
    return db.execute(
        "SELECT p.session_id, max(p.id) FROM pending_events AS p CROSS JOIN sessions AS s ON s.id = p.session_id "
        f"{condition} GROUP BY p.session_id ORDER BY min(p.id)",
        values,
    ).fetchall()


def _first_due(
    db: sqlite3.Connection, session: int, now_ms: float, window_ms: int, last: int
) -> tuple[list[Waiting], str] | None:
    """Return the first batch of a session and the text of its prompt, if it has ended; else None.

    It has when another follows it, or the window has passed.

    Args:
        db: The database.
        session: Row of the session.
        now_ms: The present; infinite to end every batch.
        window_ms: The longest pause within a batch, in milliseconds.
        last: Row of the last use that is looked at.
    """
    # One more than a batch can have shows whether others follow. Payloads are long, and most often it has not ended.
    rows = db.execute(
        f"SELECT {_COLUMNS} WHERE p.session_id = ? AND p.id <= ? AND {N_TRIES} <= {MAX_TRIES} ORDER BY p.id LIMIT ?",
        (session, last, MAX_BATCH_EVENTS + 1),
    ).fetchall()
    waiting = [Waiting(row[0], row[1], Owner(*row[2:5]), row[5], PendingEvent(*row[6:11]), row[11]) for row in rows]
    found = batches(waiting, window_ms)
    # After a clock was set back a use may lie far ahead of now: it would wait until the clock is there again.
    if not found or (len(found) == 1 and abs(now_ms - found[0][-1].event.created_ms) <= window_ms):
        return None
    ids = [one.id for one in found[0]]
    payloads = dict(db.execute(f"SELECT id, payload FROM pending_events WHERE id IN ({marks(ids)})", ids).fetchall())
    batch = [replace(one, event=replace(one.event, payload=payloads[one.id])) for one in found[0]]
    return batch, _prompt_text(db, batch[0])


def _count_try(db: sqlite3.Connection, batch: Sequence[Waiting]) -> None:
    db.executemany(
        f"UPDATE pending_events SET n_tries = {N_TRIES} + 1, tried_by = ? WHERE id = ?",
        [(__version__, one.id) for one in batch],
    )


def _runs(
    batch: Sequence[Waiting], made: Extracted | list[tuple[int, Extracted | None]] | None
) -> list[tuple[Sequence[Waiting], Extracted | None]]:
    """Return the runs that a batch was cut into, with their clean observations; uses left out tell nothing."""
    runs: list[tuple[Sequence[Waiting], Extracted | None]] = []
    at = 0
    for n, told in made if isinstance(made, list) else [(len(batch), made)]:
        runs.append((batch[at : at + n], None if told is None else clean_told(told)))
        at += n
    return [run for run in [*runs, (batch[at:], None)] if run[0]]


def _store(
    db: sqlite3.Connection,
    batch: Sequence[Waiting],
    runs: Sequence[tuple[Sequence[Waiting], Extracted | None]],
    *,
    is_bare: bool,
) -> bool:
    """Put the observations of its runs in the place of a batch; return True.

    Return False and change nothing when a use of the batch waits no more.
    """
    ids = [one.id for one in batch]
    rows = db.execute(f"SELECT id, digest FROM pending_events WHERE id IN ({marks(ids)}) ORDER BY id", ids).fetchall()
    # The digests too: another file may have been put in the place of the one that was read.
    if rows != [(one.id, one.event.digest) for one in batch]:
        return False
    for run, told in runs:
        identity = None if told is None else _observe(db, run, told, is_bare=is_bare)
        db.executemany(
            "INSERT INTO seen_events(event, observation_id, seen_at_epoch) VALUES (?, ?, ?) ON CONFLICT(event) DO "
            "UPDATE SET observation_id = excluded.observation_id, seen_at_epoch = excluded.seen_at_epoch "
            f"WHERE observation_id IS NOT {FORGOTTEN}",
            [(short_key(one.event.digest), identity, one.event.created_ms) for one in run],
        )
    db.executemany("DELETE FROM pending_events WHERE id = ?", [(one.id,) for one in batch])
    return True


def _observe(db: sqlite3.Connection, run: Sequence[Waiting], told: Extracted, *, is_bare: bool) -> int | None:
    first, last = run[0], run[-1]
    digest = digest_of_events(one.event.digest for one in run)
    if is_forgotten(db, digest):
        return None
    if is_known(db, digest) and _were_seen(db, run):
        # All of it was told here long ago, and is told once more.
        digest = digest_of_events([digest, str(first.event.created_ms)])
    if is_known(db, digest) or is_forgotten(db, digest):
        # It came by an import while its uses waited here.
        return None
    tokens = sum(one.event.discovery_tokens for one in run)
    new = Observation(0, first.owner, told, first.prompt_number, tokens, 0, last.event.created_ms, digest)
    if is_bare:  # Its title says too little to call two the same.
        return insert_observation(db, first.session, new)
    vain = _vain_before(db, first)
    if vain is not None:
        new = replace(new, told=replace(told, facts=tuple(dict.fromkeys((*told.facts, *vain[1])))))
    identity, is_new = keep(db, first.session, new)
    if vain is not None and is_new:
        db.execute("UPDATE seen_events SET observation_id = ? WHERE observation_id = ?", (identity, vain[0]))
        db.execute("DELETE FROM observations WHERE id = ?", vain[:1])
    return identity


def _vain_before(db: sqlite3.Connection, one: Waiting) -> tuple[int, tuple[str, ...]] | None:
    """Return the id and the facts of the search before a use, in its turn, that found nothing; None without one.

    The step that followed says what it led to; beside it a row of its own is noise.
    """
    row = db.execute(
        "SELECT id, title, facts, repeat_count, prompt_number, project_key FROM observations WHERE session_id = ? "
        "ORDER BY id DESC LIMIT 1",
        (one.session,),
    ).fetchone()
    if row is None or not row[1].endswith(NOTHING_FOUND) or row[3:] != (0, one.prompt_number, one.owner.key):
        return None
    return row[0], from_json(row[2])


def _were_seen(db: sqlite3.Connection, run: Sequence[Waiting]) -> bool:
    keys = [short_key(one.event.digest) for one in run]
    (n,) = db.execute(f"SELECT count(*) FROM seen_events WHERE event IN ({marks(keys)})", keys).fetchone()
    return n == len(keys)


def _bare(events: Sequence[PendingEvent], failure: str) -> Extracted:
    """Return an observation made without an extractor: the tool, the failure, and the beginning of the payloads."""
    payload = "\n".join(event.payload for event in events)
    return clean_told(
        Extracted("change", f"Use {events[0].tool}", f"extraction failed: {failure}"[:200], payload[:_BARE_CHARS])
    )


def _prompt_text(db: sqlite3.Connection, one: Waiting) -> str:
    row = db.execute(
        "SELECT prompt_text FROM user_prompts WHERE session_id = ? AND prompt_number = ? ORDER BY id LIMIT 1",
        (one.session, one.prompt_number),
    ).fetchone()
    return row[0] if row else ""
