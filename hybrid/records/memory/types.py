"""The values of the memory: sessions, prompts, observations and summaries; what is asked of the store, and its answers.

Everything that is stored passes the functions below the values, which make texts fit for the database, and digests;
below them stand rows in the forms that are given out: as a record of the one index, as a line of the list, in full.
`memory.extractor` plug-ins get a prompt with tool uses and return an `Extracted`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Literal, TypeVar, cast, get_args

from msgspec import Struct
from msgspec.structs import astuple

from hybrid.base.text import cut, cut_at_word, one_line, sha256_hex
from hybrid.records.types import Problem, Record
from hybrid.redact import redact
from hybrid.render.marks import plain_text, without_private
from hybrid.render.numbers import amount

ObservationType = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
OBSERVATION_TYPES: tuple[ObservationType, ...] = get_args(ObservationType)
ROW_TYPES = (*OBSERVATION_TYPES, "summary")

Concept = Literal["how-it-works", "why-it-exists", "what-changed", "problem-solution", "gotcha", "pattern", "trade-off"]
CONCEPTS: tuple[Concept, ...] = get_args(Concept)

SessionStatus = Literal["active", "completed", "failed"]
MemoryKind = Literal["observation", "summary"]
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)

MAX_TITLE_CHARS = 80
LEAST_ANSWER_CHARS = 60
"""Characters of the shortest answer that says something where nothing was done: a sentence. Chosen by hand."""
NOTHING_FOUND = "nothing found"
"""End of the title, and of a fact, of a search that found nothing."""
MAX_INT = 2**63 - 1
"""The largest number that the database holds."""


class Owner(Struct, frozen=True):
    """The session and the project of a row.

    Attributes:
        session_id: The client's id of the session, never empty.
        key: Key of the project, 16 hex digits.
        project: Name of the project.
    """

    session_id: str
    key: str
    project: str


class Extracted(Struct, frozen=True):
    """An observation as an extractor tells it of some tool uses, free of secrets.

    Attributes:
        type: The sort of work: bugfix, feature and others.
        title: The work and its object, on one line of at most 80 characters; may be empty.
        subtitle: One line that says more; may be empty.
        narrative: Prose on the work, its reason and its end; a search finds the observation by it.
        facts: Single statements: commands, names, numbers, errors.
        concepts: Some of `CONCEPTS`, or words of a user's own.
        files_read: Paths relative to the project with forward slashes, each once; absolute when outside.
        files_modified: Paths, in the same form, of files that were written.
    """

    type: ObservationType
    title: str
    subtitle: str = ""
    narrative: str = ""
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the modified files, then those of files that were only read."""
        return tuple(dict.fromkeys((*self.files_modified, *self.files_read)))


class Observation(Struct, frozen=True):
    """A row of the memory.

    Attributes:
        id: Number of the row, from 1, never given twice.
        owner: Session and project.
        told: The parts of the observation.
        prompt_number: Number of the prompt of its session that it belongs to, from 1; 0 before the first.
        discovery_tokens: About how many tokens the tool results behind the observation had (characters / 4).
        repeat_count: How often the same was observed again.
        created_ms: Time, milliseconds since 1970.
        digest: Hex SHA-256 of the events behind the observation; unique.
    """

    id: int
    owner: Owner
    told: Extracted
    prompt_number: int
    discovery_tokens: int
    repeat_count: int
    created_ms: int
    digest: str


class Summarised(Struct, frozen=True):
    """A summary of a turn or of a session; empty where nothing is known.

    Attributes:
        request: What was asked for.
        investigated: What was looked at.
        learned: What was found out.
        completed: What was changed; empty for a turn that changed nothing.
        next_steps: What is left.
        notes: How it ended: tests and commits, a line each; or anything else.
    """

    request: str = ""
    investigated: str = ""
    learned: str = ""
    completed: str = ""
    next_steps: str = ""
    notes: str = ""


class SessionSummary(Struct, frozen=True):
    """A row of the summaries: of a session in one project, or of a single turn, as older versions stored them.

    Attributes:
        id: As of an `Observation`.
        owner: Session and project.
        told: The summary.
        prompt_number: Number of the first prompt that it tells of.
        created_ms: Time of the last change, milliseconds since 1970.
        turns: The turns that it was made of, as `json_of_turns` gives them; empty for a single turn.
    """

    id: int
    owner: Owner
    told: Summarised
    prompt_number: int
    created_ms: int
    turns: str = ""

    @property
    def prompt_numbers(self) -> set[int]:
        """The numbers of all prompts that it tells of."""
        return {self.prompt_number, *turns_of(self.turns)}


class UserPrompt(Struct, frozen=True):
    """A prompt that a person typed, without private parts and secrets."""

    id: int
    owner: Owner
    text: str
    prompt_number: int
    created_ms: int


class Session(Struct, frozen=True):
    """A session of an agent.

    Attributes:
        owner: The id of the session and its project.
        user_prompt: Text of the first prompt; empty before it.
        started_ms: Time of its start, milliseconds since 1970.
        completed_ms: Time of its end; None while it is active.
        status: active, completed or failed.
        prompt_counter: Number of the last prompt; 0 before the first.
    """

    owner: Owner
    user_prompt: str
    started_ms: int
    completed_ms: int | None
    status: SessionStatus
    prompt_counter: int


REMEDY = "remedy"
"""Concept of the observations that tell a remedy: they come with the failure, and a search gives them last."""


class Run(Struct, frozen=True):
    """A run of a command.

    Attributes:
        form: Program and subcommands.
        target: The other words, without options: what it ran on.
        error: The telling line of a failure, without numbers and folders; empty when it passed.
        is_of_all: Without words it runs on everything, as checkers do, unless it only lists or prints its version.
    """

    form: str
    target: tuple[str, ...]
    error: str = ""
    is_of_all: bool = False

    def covers(self, target: tuple[str, ...]) -> bool:
        """Return whether this run was on all that another one was on: on everything, or on a folder or file around it.

        A run of a plain program without words is on nothing: only one with subcommands, or a checker, has all for a
        default.
        """
        if not self.target:
            return not target or self.is_of_all
        around = tuple(start for own in self.target for start in (f"{own.rstrip('/')}/", f"{own}::"))
        return all(one in self.target or one.startswith(around) for one in target)


class PendingEvent(Struct, frozen=True):
    """A tool use that waits for those that follow it within the batch window.

    Attributes:
        tool: Name of the tool; a use of another one ends the batch.
        payload: JSON of the use, free of secrets, as its extractor reads it.
        digest: Hex SHA-256 of the event, by which the same event is known again.
        discovery_tokens: As of an `Observation`.
        created_ms: Time of the event, milliseconds since 1970.
    """

    tool: str
    payload: str
    digest: str
    discovery_tokens: int
    created_ms: int


class RowFilter(Struct, frozen=True):
    """A filter of rows; every part restricts before a limit counts.

    Attributes:
        key: Project key; empty for all projects.
        since_ms: Time before which no row is wanted; None for any age.
        types: Types of observations, and `summary`; empty for all.
        files: Rows that touched one of these project-relative paths, or something below one of them; empty for all.
        session_id: Id of the only session; empty for all.
        kinds: Kinds of rows, `observation` and `summary`; empty for both.
        not_session: Id of a session to leave out; empty for none.
        answer_chars: Least characters of the findings and results in the summary of a turn, if no tool was used in
            that turn; None lets any summary through.
    """

    key: str = ""
    since_ms: int | None = None
    types: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    session_id: str = ""
    kinds: tuple[MemoryKind, ...] = ()
    not_session: str = ""
    answer_chars: int | None = None


Row = Observation | SessionSummary
"""A row of the memory that is searched and given out."""


Make = Callable[[Sequence[PendingEvent], str], Extracted | list[tuple[int, Extracted | None]] | None]
"""Function from a batch of tool uses and the text of its prompt (empty before the first) to an observation, or None.

It may cut the batch into runs instead: the number of uses of each, in order, and its observation or None. An error of
the function is reported, and the batch is stored all the same, under the name of its tool.
"""


class Flushed(Struct, frozen=True):
    """The outcome of a flush.

    Attributes:
        n: Number of batches that wait no more: stored, counted as repeats, or dropped as telling nothing.
        failures: One line for each batch whose extractor raised, which is stored under its tool's name, and for each
            use that was set aside.
    """

    n: int
    failures: tuple[str, ...] = ()


class ForgetReport(Struct, frozen=True):
    """The outcome of forgetting.

    Attributes:
        n: Number of forgotten observations, summaries, prompts and sessions.
        is_wiped: True if the text is out of the file and its log too. False when another process was reading all the
            time: the next forgetting, or the last process that closes the memory, removes it.
    """

    n: int
    is_wiped: bool


class MemoryImport(Struct, frozen=True):
    """The outcome of an import, or of a dry run.

    Attributes:
        n_sessions: Number of new sessions.
        n_prompts: Number of new prompts.
        n_observations: Number of new observations.
        n_summaries: Number of new summaries.
        n_duplicates: Number of rows that were there already.
        n_forgotten: Number of rows that somebody had forgotten here; they do not come back.
        problems: The first hundred problems with lines or rows that could not be read.
        n_unread: Number of lines or rows that could not be read.
    """

    n_sessions: int = 0
    n_prompts: int = 0
    n_observations: int = 0
    n_summaries: int = 0
    n_duplicates: int = 0
    n_forgotten: int = 0
    problems: tuple[Problem, ...] = ()
    n_unread: int = 0


class ProjectCount(Struct, frozen=True):
    """The numbers of observations and summaries of a project."""

    key: str
    project: str
    n_observations: int
    n_summaries: int


class MemoryStats(Struct, frozen=True):
    """The figures of the memory.

    Attributes:
        n_sessions: Number of sessions.
        n_observations: Number of observations.
        n_summaries: Number of summaries.
        n_prompts: Number of prompts.
        n_pending: Number of tool uses that wait for their batch to end.
        n_aside: Number of tool uses that were set aside, since telling of them never came to an end.
        by_type: Number of observations of each type that occurs, in the order of the types.
        by_project: Counts of each project, the one with most observations first.
        oldest_ms: Time of the oldest observation or summary; None without any.
        newest_ms: Time of the newest observation or summary; None without any.
        size_bytes: Bytes of the file and its log.
    """

    n_sessions: int
    n_observations: int
    n_summaries: int
    n_prompts: int
    n_pending: int
    n_aside: int
    by_type: Mapping[str, int]
    by_project: tuple[ProjectCount, ...]
    oldest_ms: int | None
    newest_ms: int | None
    size_bytes: int


NO_STATS = MemoryStats(0, 0, 0, 0, 0, 0, {}, (), None, None, 0)


# --- texts, digests, statements ------------------------------------------------------------------------------

_T = TypeVar("_T")
_KEY_BYTES = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MAX_SESSION_CHARS = 200
"""The most characters of the id of a session."""


def clean(text: str) -> str:
    """Return text as SQLite and its full text can hold it: no lone surrogates, no NUL."""
    text = text.replace("\0", " ")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def clean_owner(owner: Owner) -> Owner:
    """Return an owner as it is stored; digests are made of this form."""
    return Owner(clean(owner.session_id), clean(owner.key), clean(owner.project))


def clean_line(text: str) -> str:
    """Return clean text on one line, each run of white space and control characters as one space."""
    spaced = "".join(c if c.isprintable() else " " for c in text) if not text.isprintable() else text
    return clean(" ".join(spaced.split()))


def clean_told(told: Extracted) -> Extracted:
    """Return an observation as it is stored: one line where promised, nothing empty, each file and concept once."""
    return Extracted(
        type=told.type if told.type in OBSERVATION_TYPES else "change",
        title=cut(clean_line(told.title), MAX_TITLE_CHARS),
        subtitle=clean_line(told.subtitle),
        narrative=clean(told.narrative).strip(),
        facts=_lines(told.facts),
        concepts=tuple(dict.fromkeys(_lines(told.concepts))),
        files_read=_paths(told.files_read),
        files_modified=_paths(told.files_modified),
    )


def clean_summary(told: Summarised) -> Summarised:
    """Return a summary as it is stored."""
    return Summarised(*(clean(part).strip() for part in astuple(told)))


def json_of_turns(turns: Mapping[int, Summarised]) -> str:
    """Return the turns of a session, by the number of their prompt, as JSON."""
    return json.dumps([[number, *astuple(told)] for number, told in turns.items()], ensure_ascii=False)


def turns_of(text: str) -> dict[int, Summarised]:
    """Return the turns that `json_of_turns` wrote; none of a text that has another form."""
    try:
        return {int(number): clean_summary(Summarised(*parts)) for number, *parts in json.loads(text or "[]")}
    except (ValueError, TypeError, AttributeError):
        return {}


def iso(ms: int) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds; one beyond the year 9999 as the last of that year."""
    try:
        when = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        when = datetime.max.replace(tzinfo=timezone.utc) if ms > 0 else _EPOCH
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def as_json(texts: Sequence[str]) -> str:
    """Return a JSON array; letters of other scripts stay letters, so that the full text finds them."""
    return json.dumps(texts, ensure_ascii=False) if texts else "[]"


def from_json(text: str) -> tuple[str, ...]:
    """Return the strings of an array that `as_json` wrote."""
    return tuple(json.loads(text)) if text != "[]" else ()


def digest_of(*parts: object) -> str:
    """Return the hex SHA-256 of some parts, made so that other parts, or the same split otherwise, give another one."""
    return sha256_hex(json.dumps(parts, ensure_ascii=True, default=str).encode())


def digest_of_events(digests: Iterable[str]) -> str:
    """Return the hex SHA-256 of the digests of the events behind an observation."""
    return sha256_hex("\n".join(digests).encode("utf-8", "surrogatepass"))


def content_digest(told: Extracted) -> str:
    """Return the hex SHA-256 of all parts of an observation."""
    return digest_of(*astuple(told))


def short_key(digest: str) -> bytes:
    """Return the 16 bytes that stand for a digest in the tables of known events and forgotten rows."""
    return bytes.fromhex(sha256_hex(digest.encode("utf-8", "surrogatepass")))[:_KEY_BYTES]


def chunked(items: Sequence[_T], size: int = 500) -> Iterable[Sequence[_T]]:
    """Return the items in runs of at most `size`: a statement takes only so many variables."""
    return (items[start : start + size] for start in range(0, len(items), size))


def marks(items: Sequence[object]) -> str:
    """Return a question mark for each item, separated by commas, for a statement of SQL."""
    return ",".join("?" * len(items))


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in map(clean_line, texts) if line)


def _paths(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in map(clean, paths) if path))


def session_of(session_id: str) -> str:
    """Return the id of a session; one that is too long or holds a secret is replaced by its SHA-256."""
    is_plain = len(session_id) <= MAX_SESSION_CHARS and text_of(session_id, "session_id") == session_id
    return session_id if is_plain else sha256_hex(session_id.encode("utf-8", "replace"))


def text_of(value: object, name: str) -> str:
    """Return a text without private spans and secrets; an empty one for null.

    Raises:
        ValueError: The value is no text; the message has its `name`.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return clean(_without_secrets(value))


def _without_secrets(text: str) -> str:
    """Return a text without private spans and secrets, also those that invisible characters hide.

    Invisible characters stay where they hide nothing.
    """
    plain = plain_text(text)
    found = redact(without_private(plain))
    return redact(without_private(text)) if found == plain else found


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts without private spans and secrets, also those over several; an empty list for null.

    Raises:
        ValueError: The value is no list of texts; the message has its `name`.
    """
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} is not a list of texts")
    items = cast("list[object]", value)
    texts = tuple(one for one in items if isinstance(one, str))
    if len(texts) < sum(one is not None for one in items):
        raise ValueError(f"a part of {name} is not a text")
    together = "\n".join(texts)
    cleaned = _without_secrets(together)
    return tuple(map(clean, texts)) if cleaned == together else tuple(clean(cleaned).split("\n"))


# --- rows as they are shown ----------------------------------------------------------------------------------

_LETTERS: dict[MemoryKind, str] = {"observation": "o", "summary": "s"}
_KINDS: dict[str, MemoryKind] = {letter: kind for kind, letter in _LETTERS.items()}

_CHARS_OF_TOKEN = 4
"""Characters that are about one token of a language model."""

_SUMMARY_PARTS = ("investigated", "learned", "completed", "next_steps", "notes")
_SHOWN_PARTS = ("learned", "completed", "notes", "next_steps")
_MOST_TITLE_CHARS = 100
_MOST_BODY_CHARS = 280
"""The most characters of a narrative in an injection, whose budget has room for three rows or four."""
_MOST_PART_CHARS = 150
"""The most characters of one part of a summary in an injection, which has four parts."""
_MOST_NOTED_CHARS = 120
"""The most characters of the facts of a note in the line of a list."""
_MOST_FILES = 5
_MOST_FACTS = 3
"""The most facts that are shown of a row that somebody wrote down."""


def kind_of(row: Row) -> MemoryKind:
    """Return the kind of a row."""
    return "observation" if isinstance(row, Observation) else "summary"


def row_name(kind: MemoryKind, number: int) -> str:
    """Return the id of a row among all rows of the memory: `o42` for an observation, `s7` for a summary."""
    return f"{_LETTERS[kind]}{number}"


def name_of(row: Row) -> str:
    """Return the id of a row among all rows of the memory, `o42` or `s7`."""
    return row_name(kind_of(row), row.id)


_MOST_DIGITS = 8
"""Digits that the number of a row may have: longer numbers are times."""


def parse_name(name: str) -> tuple[MemoryKind, int] | None:
    """Return the kind and the number of `o42`, `s7`, `42` or `#42`; None for another text, such as a time."""
    text = name.strip().removeprefix("#").lower()
    kind = _KINDS.get(text[:1], "observation")
    digits = text[1:] if text[:1] in _KINDS else text
    return (kind, int(digits)) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def title_of(row: Row) -> str:
    """Return the title of a row on one line: of a summary its request, else what was found or changed."""
    told = row.told
    text = told.title if isinstance(told, Extracted) else told.request or told.learned or told.completed
    return cut_at_word(one_line(text), _MOST_TITLE_CHARS)


def type_of(row: Row) -> str:
    """Return the type of an observation, `bugfix` for example, or `summary`."""
    return row.told.type if isinstance(row, Observation) else "summary"


def has_failed(row: Row) -> bool:
    """Return whether a row tells of a command that failed."""
    return isinstance(row, Observation) and row.told.title.startswith("Run ") and "gotcha" in row.told.concepts


def record_of(row: Row, *, here: str = "") -> Record:
    """Return a row as the engine indexes, ranks and shows it.

    Args:
        row: A row of the memory.
        here: Key of the present project; a row of another one is marked with its project. Empty to mark nothing.
    """
    identity, created, title = name_of(row), moment_text(row.created_ms), title_of(row)
    foreign = f" [from: {row.owner.project}]" if here and row.owner.key != here else ""
    return Record(
        kind=kind_of(row),
        id=identity,
        name=title,
        text="\n".join(searched_lines(row)),
        shown=f"{identity} {created[:10]} {type_of(row)} {title}{foreign}".rstrip(),
        lines=body_lines(row),
        created_at=created,
        project=row.owner.project,
    )


def searched_lines(row: Row) -> list[str]:
    """Return the lines of a row that are searched besides its title."""
    if isinstance(row, Observation):
        found = [row.told.subtitle, row.told.narrative, *row.told.facts, " ".join(row.told.files)]
    else:
        found = astuple(row.told)
    return [line for line in found if line.strip()]


def body_lines(row: Row) -> tuple[str, ...]:
    """Return the lines below the title in the frame: few, since the rest is found by the number."""
    if isinstance(row, SessionSummary):
        parts = _labelled_parts(row.told, _SHOWN_PARTS)
        return tuple(f"{label}: {shortened(text, _MOST_PART_CHARS)}" for label, text in parts)
    lines = [shortened(row.told.narrative or row.told.subtitle), *map(shortened, _noted(row))]
    if row.told.files_modified:
        lines.append(f"Changed: {', '.join(row.told.files_modified[:_MOST_FILES])}")
    return tuple(line for line in lines if line)


def _noted(row: Row) -> tuple[str, ...]:
    """Return the first facts of a note written by hand; the facts of an observed use repeat its narrative."""
    return row.told.facts[:_MOST_FACTS] if isinstance(row, Observation) and not row.discovery_tokens else ()


def shortened(text: str, most: int = _MOST_BODY_CHARS) -> str:
    """Return a text on one line of at most `most` characters; of a longer one the beginning.

    It is cut after a sentence or a `;` if that keeps half of the characters, else before a word, with `…`.
    """
    line = one_line(text)
    if len(line) <= most:
        return line
    end = max(line.rfind(mark, 0, most) for mark in (". ", "; ", "! ", "? "))
    if end >= most // 2:
        return line[: end + 1]
    return cut_at_word(line, most)


def index_line(row: Row, *, here: str | None = None) -> str:
    """Return a line `o42 2026-02-14 10:31 bugfix Fix auth timeout [from: other] (~120 tokens)`, in local time.

    Args:
        row: A row of the memory.
        here: Key of the present project: rows of others are marked. Empty outside of any project, where each row is
            marked with its project. None marks none.
    """
    label = "from" if here else "project"
    foreign = f" [{label}: {row.owner.project}]" if here is not None and row.owner.key != here else ""
    size = amount(max(sum(map(len, full_lines(row))) // _CHARS_OF_TOKEN, 1), "token")
    title = title_of(row) or "(no title)"
    if (facts := _noted(row)) and not (isinstance(row, Observation) and row.told.narrative):
        title = cut_at_word(one_line(f"{title}: {'; '.join(facts)}"), _MOST_TITLE_CHARS + _MOST_NOTED_CHARS)
    return f"{name_of(row)} {moment_text(row.created_ms)} {type_of(row)} {title}{foreign} (~{size})"


def full_lines(row: Row) -> list[str]:
    """Return all lines of a row: title, narrative, facts, concepts and files, or the parts of a summary."""
    if isinstance(row, SessionSummary):
        return [title_of(row), *(f"{label}: {text}" for label, text in _labelled_parts(row.told, _SUMMARY_PARTS))]
    told = row.told
    lines = [told.title, told.subtitle, told.narrative, *(f"- {fact}" for fact in told.facts)]
    read = [path for path in told.files_read if path not in told.files_modified]
    labelled = (("Concepts", told.concepts), ("Changed", told.files_modified), ("Read", read))
    lines += [f"{label}: {', '.join(values)}" for label, values in labelled if values]
    return [line for line in lines if line.strip()]


def _labelled_parts(told: Summarised, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the label and the text of each of these parts of a summary that is not blank."""
    parts = [(name.replace("_", " ").capitalize(), getattr(told, name)) for name in names]
    return [(label, text) for label, text in parts if text.strip()]


def moment_text(created_ms: int) -> str:
    """Return a time in the form `2026-02-14 10:31`, in local time."""
    return datetime.fromtimestamp(created_ms / 1000).strftime("%Y-%m-%d %H:%M")
