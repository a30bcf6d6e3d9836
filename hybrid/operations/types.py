"""Arguments and results of the operations that agents call as tools; their JSON schemas are made from these types.

The descriptions are read by agents. Results are compact: each field costs the agent's context.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Kind = Literal["code", "doc", "lesson", "pattern", "anti-pattern", "decision", "handoff", "observation", "summary"]
Detail = Literal["places", "lines", "full"]
ObservationType = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]

Limit = Annotated[int, Meta(ge=1, le=50, description="How many to return.")]
Cursor = Annotated[str, Meta(description="`next_cursor` of the page before; empty for the first page.")]
Paths = Annotated[list[str], Meta(description="Files or folders, relative to the project.")]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of an operation; unknown ones are refused."""


class FromIndex(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer that the index of the files has a part in."""

    problems: Annotated[list[str], Meta(description="Parts not searched, or maybe out of date, and why.")] = []


# --- code and documents -----------------------------------------------------------------------------------


class SearchArguments(Arguments, frozen=True):
    """A query, and limits on what it finds."""

    query: Annotated[
        str, Meta(min_length=1, max_length=5000, description="A question in words, or names of the code; both work.")
    ]
    kinds: Annotated[
        list[Kind],
        Meta(description="Only these kinds. Empty: code and documents, and the records that are close enough."),
    ] = []
    path: Annotated[str, Meta(description="Glob over file paths, such as `src/**` or `*.md`; empty for all.")] = ""
    limit: Limit = 8
    detail: Annotated[
        Detail,
        Meta(description="places: where only. lines: the lines that tell most. full: whole chunks."),
    ] = "lines"
    cursor: Cursor = ""


class Found(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hit."""

    ref: Annotated[str, Meta(description="Give this to `read` for all of it.")]
    kind: Kind
    title: Annotated[str, Meta(description="Name of what it shows, or the record's title.")] = ""
    cosine: Annotated[float, Meta(description="Closeness by meaning, -1 to 1.")] = 0.0
    given: Annotated[bool, Meta(description="True: this session has all of it, so its text is left out.")] = False
    stale: Annotated[bool, Meta(description="True: the file changed since it was indexed.")] = False
    text: str = ""


class SearchResult(FromIndex, frozen=True, kw_only=True, omit_defaults=True):
    """Hits, best first."""

    hits: list[Found]
    next_cursor: Cursor = ""


class ReadArguments(Arguments, frozen=True):
    """A hit or record by its reference, and the lines around it."""

    ref: Annotated[
        str,
        Meta(
            min_length=1,
            description="A `ref` of a hit: `src/a.py:10-40`, `src/a.py`, `L001`, `dec-1a2b3c4d`, `42`.",
        ),
    ]
    neighbours: Annotated[int, Meta(ge=0, le=10, description="Chunks of the file to show before and after it.")] = 1


class ReadResult(FromIndex, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a file or a record, secrets masked."""

    ref: str
    kind: Kind
    title: str = ""
    start_line: Annotated[int, Meta(description="First line shown, from 1; 0 for a record.")] = 0
    end_line: int = 0
    total_lines: Annotated[int, Meta(description="Lines of the whole file; 0 for a record.")] = 0
    altered: Annotated[
        list[int], Meta(description="Lines whose marks or invisible characters are altered here; the file has them.")
    ] = []
    text: str = ""


class ContextArguments(Arguments, frozen=True):
    """The prompt."""

    prompt: Annotated[
        str, Meta(min_length=1, max_length=20000, description="The task in full sentences, as a person would type it.")
    ]


class ContextResult(FromIndex, frozen=True, kw_only=True, omit_defaults=True):
    """The text that the prompt gets by itself, or the reason for which it gets nothing."""

    injected: bool
    reason: Annotated[str, Meta(description="`injected`, or why nothing is close enough: `gate`, `prompt`, …")]
    refs: Annotated[list[str], Meta(description="What the text holds.")] = []
    text: str = ""


class RelatedArguments(Arguments, frozen=True):
    """The file."""

    path: Annotated[str, Meta(min_length=1, description="A file of the project, relative to it.")]
    limit: Limit = 8


class Companion(Struct, frozen=True, kw_only=True):
    """A file that changed together with another."""

    path: str
    share: Annotated[float, Meta(description="Of the commits that touched the file, the share that touched both.")]
    commits: int


class RelatedResult(FromIndex, frozen=True, kw_only=True, omit_defaults=True):
    """The files that belong to a file."""

    path: str
    changes_with: Annotated[list[Companion], Meta(description="Most often together first, tests left out.")]
    tests: Annotated[list[str], Meta(description="Files that probably test it, likeliest first.")]
    commits: Annotated[int, Meta(description="Commits that touched it, of those that were read.")] = 0


# --- lessons and lore -------------------------------------------------------------------------------------


class LessonsArguments(Arguments, frozen=True):
    """A choice of lessons: one by its id, those that fit a query, or the most used."""

    query: Annotated[str, Meta(max_length=5000, description="What they should be about; empty: the most used.")] = ""
    id: Annotated[str, Meta(description="One lesson, such as L001.")] = ""
    limit: Limit = 8


class LessonShown(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A lesson."""

    id: str
    title: str
    content: str = ""
    category: str = ""
    stars: Annotated[int, Meta(description="How well it proved itself, 0 to 5.")] = 0
    uses: int = 0
    relevance: Annotated[int, Meta(description="0 to 10 for the query.")] = 0
    by_agent: Annotated[bool, Meta(description="True: an agent wrote it.")] = False


class LessonsResult(Struct, frozen=True, kw_only=True):
    """Lessons, best first."""

    lessons: list[LessonShown]


class DecideArguments(Arguments, frozen=True):
    """The decision."""

    decision: Annotated[str, Meta(min_length=1, max_length=2000, description="What was decided, in one sentence.")]
    why: Annotated[str, Meta(min_length=1, max_length=4000, description="The reason.")]
    alternatives: Annotated[list[str], Meta(max_length=10, description="What was considered and rejected.")] = []
    tags: Annotated[list[str], Meta(max_length=10, description="Words to find it by.")] = []


class Written(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reference of a record that was written, or the reason for which it was not."""

    ref: Annotated[str, Meta(description="Its id, for `read`.")]
    written: Annotated[bool, Meta(description="False: nothing new was written.")] = True
    note: str = ""


# --- memory -----------------------------------------------------------------------------------------------


class RememberArguments(Arguments, frozen=True):
    """The observation, or the lesson."""

    title: Annotated[str, Meta(min_length=1, max_length=400, description="One line that says what was found or done.")]
    text: Annotated[str, Meta(max_length=8000, description="More, in prose; of a lesson the rule itself.")] = ""
    kind: Annotated[
        Literal["observation", "lesson"],
        Meta(description="observation: what happened here. lesson: a rule for work to come."),
    ] = "observation"
    type: Annotated[ObservationType, Meta(description="Sort of an observation.")] = "discovery"
    facts: Annotated[list[str], Meta(max_length=20, description="Single statements: names, numbers, commands.")] = []
    files: Paths = []
    triggers: Annotated[
        list[str], Meta(max_length=20, description="Words that should bring a lesson though it does not hold them.")
    ] = []


class RecallArguments(Arguments, frozen=True):
    """A choice of rows of the memory: by a query, around a row, of files, or the newest."""

    query: Annotated[str, Meta(max_length=5000, description="What it should be about; empty: the newest.")] = ""
    around: Annotated[str, Meta(description="An id (`42`, `s7`): what came before and after it.")] = ""
    files: Paths = []
    types: Annotated[list[ObservationType], Meta(description="Only these sorts of work.")] = []
    since: Annotated[str, Meta(description="`7d`, `12h` or a date such as 2026-01-31.")] = ""
    limit: Limit = 10
    detail: Annotated[Literal["lines", "full"], Meta(description="lines: one line each. full: all of it.")] = "lines"
    cursor: Cursor = ""


class Remembered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of the memory."""

    ref: str
    kind: Literal["observation", "summary"]
    when: Annotated[str, Meta(description="ISO time in UTC.")]
    type: str = ""
    title: str = ""
    project: Annotated[str, Meta(description="Another project that it comes from.")] = ""
    files: list[str] = field(default_factory=list[str])
    given: Annotated[bool, Meta(description="True: this session was given it earlier.")] = False
    text: str = ""


class RecallResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Rows of the memory."""

    records: list[Remembered]
    next_cursor: Cursor = ""


# --- for resources and prompts -----------------------------------------------------------------------------


class Nothing(Arguments, frozen=True):
    """No arguments."""


class TextResult(Struct, frozen=True):
    """A text in Markdown."""

    text: str
