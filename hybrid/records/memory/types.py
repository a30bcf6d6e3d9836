"""The values of the memory: sessions, prompts, observations and summaries; what is asked of the store, and its answers.

`memory.extractor` plug-ins get a prompt with tool uses and return an `Extracted`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct

from hybrid.records.types import Problem

ObservationType = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
OBSERVATION_TYPES: tuple[ObservationType, ...] = get_args(ObservationType)

Concept = Literal["how-it-works", "why-it-exists", "what-changed", "problem-solution", "gotcha", "pattern", "trade-off"]
CONCEPTS: tuple[Concept, ...] = get_args(Concept)

SessionStatus = Literal["active", "completed", "failed"]
MemoryKind = Literal["observation", "summary"]
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)

MAX_TITLE_CHARS = 80
LEAST_ANSWER_CHARS = 60
"""Characters of the shortest answer that says something where nothing was done: a sentence. Chosen by hand."""
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
    """A summary of a session, made at the end of a turn; empty where nothing is known.

    Attributes:
        request: What was asked for.
        investigated: What was looked at.
        learned: What was found out.
        completed: What was done.
        next_steps: What is left.
        notes: Anything else.
    """

    request: str = ""
    investigated: str = ""
    learned: str = ""
    completed: str = ""
    next_steps: str = ""
    notes: str = ""


class SessionSummary(Struct, frozen=True):
    """A row of the summaries; `id`, `prompt_number` and `created_ms` as of an `Observation`."""

    id: int
    owner: Owner
    told: Summarised
    prompt_number: int
    created_ms: int


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
        types: Types of observations; empty for all. With types no summary is wanted.
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


Make = Callable[[Sequence[PendingEvent], str], Extracted | None]
"""Function from a batch of tool uses and the text of its prompt (empty before the first) to an observation, or None.

An error of the function is reported, and the batch is stored all the same, under the name of its tool.
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


class ImportReport(Struct, frozen=True):
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
