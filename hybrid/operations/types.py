"""Arguments of the operations, and what the page gets; the JSON schemas of agents' tools are made from these types.

The descriptions are read by agents, whose context each of their words costs. An agent gets a text, the page a value of
a type that begins with `Page`. The page escapes what it shows: every text is without secrets, and absent numbers are
None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct, inspect

from hybrid.records.lessons.types import CATEGORIES, TYPES
from hybrid.records.lore import patterns
from hybrid.records.memory.types import OBSERVATION_TYPES, ROW_TYPES
from hybrid.records.types import KINDS, HitKind

Detail = Literal["places", "lines", "full"]
ObservationType = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]

Limit = Annotated[int, Meta(ge=1, le=50, description="How many to return.")]
Cursor = Annotated[str, Meta(description="What the page before ends with; empty for the first page.")]
Paths = Annotated[list[str], Meta(description="Files or folders, relative to the project.")]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of an operation; unknown ones are refused."""


def option(
    about: str,
    metavar: str = "",
    *,
    choices: Sequence[str] = (),
    ge: int | None = None,
    le: int | None = None,
    **more: Any,
) -> Meta:
    """Return what is said of an argument that the command line takes as an option.

    Args:
        about: For its help, and for schemas.
        metavar: Stands for its value in the help.
        choices: The values that the command line and HTTP offer; other values are for the operation to judge.
        ge: The least number.
        le: The greatest number.
        more: `is_one_of` for those of which one must be given.
    """
    return Meta(description=about, ge=ge, le=le, extra={"metavar": metavar, "choices": tuple(choices), **more})


def word(about: str, metavar: str, *, min_length: int | None = None, **more: Any) -> Meta:
    """Return what is said of an argument that the command line takes by its place.

    Args:
        about: For its help, and for schemas.
        metavar: Its name in the help.
        min_length: Values of a list, at least.
        more: `is_sentence` if all words of the command line make one text, which must say something; `is_one_of`.
    """
    return Meta(description=about, min_length=min_length, extra={"metavar": metavar, "is_word": True, **more})


class Argument(Struct, frozen=True):
    """An argument as an adapter sees it.

    Attributes:
        name: Its name.
        kind: Its type, without what is said of it.
        about: What it is; empty for one that only code gives.
        extra: What `option` or `word` say for the command line.
        default: Its default; None for one that must be given.
        is_needed: It must be given.
    """

    name: str
    kind: inspect.Type
    about: str
    extra: dict[str, Any]
    default: object
    is_needed: bool


def described(arguments: type[Struct]) -> list[Argument]:
    """Return the arguments of a type: its own first, then those that it shares with others."""
    found = inspect.type_info(arguments)
    assert isinstance(found, inspect.StructType)
    return [_argument(one) for one in sorted(found.fields, key=lambda one: one.name not in arguments.__annotations__)]


def _argument(of: inspect.Field) -> Argument:
    kind, said, extra = of.type, dict[str, str](), dict[str, Any]()
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.UnionType):  # It may be left out.
            kind = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
        else:
            said, extra = cast("dict[str, str]", kind.extra_json_schema or {}), cast("dict[str, Any]", kind.extra or {})
            kind = kind.type
    default: object = list[str]() if of.default_factory is list else None if of.required else of.default
    return Argument(of.name, kind, said.get("description", ""), extra, default, of.required)


# --- code and documents -----------------------------------------------------------------------------------


class SearchArguments(Arguments, frozen=True):
    """A query, and limits on what it finds."""

    query: Annotated[
        str, Meta(min_length=1, max_length=5000, description="A question in words, or names of the code; both work.")
    ]
    kinds: Annotated[
        list[HitKind],
        Meta(description="Only these kinds. Empty: code and documents, and the records that are close enough."),
    ] = []
    path: Annotated[str, Meta(description="Glob over file paths, such as `src/**` or `*.md`; empty for all.")] = ""
    limit: Limit = 8
    detail: Annotated[
        Detail,
        Meta(description="places: where only. lines: the lines that tell most. full: whole chunks."),
    ] = "lines"
    cursor: Cursor = ""


class ReadArguments(Arguments, frozen=True):
    """A hit or record by its reference, and the lines around it."""

    ref: Annotated[
        str,
        Meta(
            min_length=1,
            description="What names a hit or a record: `src/a.py:10-40`, `src/a.py`, `L001`, `dec-1a2b3c4d`, `o42`.",
        ),
    ]
    neighbours: Annotated[int, Meta(ge=0, le=10, description="Chunks of the file to show before and after it.")] = 1


class ContextArguments(Arguments, frozen=True):
    """The prompt."""

    prompt: Annotated[
        str, Meta(min_length=1, max_length=20000, description="The task in full sentences, as a person would type it.")
    ]


class RelatedArguments(Arguments, frozen=True):
    """The file."""

    path: Annotated[str, Meta(min_length=1, description="A file of the project, relative to it.")]
    limit: Limit = 8


# --- lessons and lore -------------------------------------------------------------------------------------


class LessonsArguments(Arguments, frozen=True):
    """A choice of lessons: one by its id, those that fit a query, or the most used."""

    query: Annotated[str, Meta(max_length=5000, description="What they should be about; empty: the most used.")] = ""
    id: Annotated[str, Meta(description="One lesson, such as L001.")] = ""
    limit: Limit = 8


class DecideArguments(Arguments, frozen=True):
    """The decision."""

    decision: Annotated[str, Meta(min_length=1, max_length=2000, description="What was decided, in one sentence.")]
    why: Annotated[str, Meta(min_length=1, max_length=4000, description="The reason.")]
    alternatives: Annotated[list[str], Meta(max_length=10, description="What was considered and rejected.")] = []
    tags: Annotated[list[str], Meta(max_length=10, description="Words to find it by.")] = []


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
    around: Annotated[str, Meta(description="An id (`o42`, `s7`): what came before and after it.")] = ""
    files: Paths = []
    types: Annotated[list[ObservationType], Meta(description="Only these sorts of work.")] = []
    since: Annotated[str, Meta(description="`7d`, `12h` or a date such as 2026-01-31.")] = ""
    limit: Limit = 10
    detail: Annotated[Literal["lines", "full"], Meta(description="lines: one line each. full: all of it.")] = "lines"
    cursor: Cursor = ""


# --- for resources and prompts -----------------------------------------------------------------------------


class Nothing(Arguments, frozen=True):
    """No arguments."""


# --- lessons, as people ask for them ------------------------------------------------------------------------


class ListLessons(Arguments, frozen=True):
    """A choice of lessons; `verbose` shows each whole."""

    search: Annotated[str, option("only lessons that hold these words, the best first", "TEXT")] = ""
    category: Annotated[str, option("only of this category", choices=CATEGORIES)] = ""
    all: Annotated[bool, option("superseded and deleted ones too")] = False
    verbose: bool = False


class OneLesson(Arguments, frozen=True):
    """A lesson."""

    id: Annotated[str, word("of the lesson, in any case: L001", "ID")]


class ScoreLessons(Arguments, frozen=True):
    """A query, and how well a lesson must fit it."""

    query: Annotated[str, word("a prompt, or words", "QUERY", is_sentence=True)]
    top: Annotated[int, option("lessons to show (default: 5)", "N", ge=1)] = 5
    min_score: Annotated[int, option("least relevance, 0 to 10 (default: 1)", "N", ge=0, le=10)] = 1


class LessonStats(Arguments, frozen=True):
    """The lessons that are counted: all, or one."""

    id: Annotated[str, word("only of this lesson", "ID")] = ""
    weekly: Annotated[bool, option("given and cited per week, from the event log")] = False


class AddLesson(Arguments, frozen=True):
    """A new lesson."""

    title: Annotated[str, word("what it is about, in a few words", "TITLE")]
    content: Annotated[str, word("the rule", "CONTENT")]
    system: Annotated[bool, option("for all projects")] = False
    category: Annotated[str, option("default: correction", choices=CATEGORIES)] = "correction"
    type: Annotated[str, option("of rule", choices=TYPES)] = ""
    trigger: Annotated[list[str], option("a word that should find it; may be repeated", "WORD")] = []
    force: Annotated[bool, option("although it resembles another lesson")] = False


class EditLesson(Arguments, frozen=True):
    """A lesson, and the parts of it that change; one that is None stays as it is."""

    id: Annotated[str, word("of the lesson, in any case: L001", "ID")]
    title: Annotated[str | None, option("another title", "TEXT")] = None
    content: Annotated[str | None, option("another rule", "TEXT")] = None
    category: Annotated[str | None, option("another category", choices=CATEGORIES)] = None
    type: Annotated[str | None, option("another type; '' takes it away", choices=(*TYPES, ""))] = None
    trigger: Annotated[list[str] | None, option("triggers in place of the old ones; '' takes them away", "WORD")] = None
    promotable: Annotated[str | None, option("whether it is offered to all projects", choices=("yes", "no"))] = None


class CiteLessons(Arguments, frozen=True):
    """The lessons that were used."""

    ids: Annotated[list[str], word("of a lesson", "ID", min_length=1)]


class Replace(Arguments, frozen=True):
    """Two records: `new` takes the place of `old`."""

    old: Annotated[str, word("id of the lesson that is replaced", "OLD")]
    new: Annotated[str, word("id of the one that replaces it", "NEW")]


class DecayLessons(Arguments, frozen=True):
    """A way around the wait of a week."""

    force: Annotated[bool, option("although a week has not gone by")] = False


# --- lore, as people ask for it -----------------------------------------------------------------------------


LORE_KINDS = KINDS["lore"].hits
OnlyKinds = Annotated[list[str], option("only this kind; may be repeated", choices=LORE_KINDS)]
AllLore = Annotated[bool, option("withdrawn records and those of other projects too")]
ForAll = Annotated[bool, option("for all projects")]
Forced = Annotated[bool, option("write it although a recent record says nearly the same")]
LoreTitle = Annotated[str, word("title", "NAME")]
LoreCategory = Annotated[str, option("default: general", choices=patterns.CATEGORIES)]
ManyTexts = Annotated[list[str], option("may be repeated", "TEXT")]


class ListLore(Arguments, frozen=True):
    """A choice of records; `verbose` shows each as an agent is given it."""

    kind: OnlyKinds = []
    all: AllLore = False
    verbose: bool = False


class SearchLore(Arguments, frozen=True):
    """A query, and a choice of records."""

    query: Annotated[str, word("words, a question", "QUERY", is_sentence=True)]
    limit: Annotated[int, option("records to show (default: 10)", ge=1)] = 10
    kind: OnlyKinds = []
    all: AllLore = False
    verbose: bool = False


class ShowLore(Arguments, frozen=True):
    """A record; `quiet` leaves out the keys that say more."""

    id: Annotated[str, word("of a record; its beginning is enough", "ID")]
    quiet: bool = False


class AddPattern(Arguments, frozen=True, kw_only=True):
    """A new pattern."""

    problem: Annotated[str, option("what goes wrong otherwise", "TEXT")] = ""
    solution: Annotated[str, option("what to do", "TEXT")]
    context: Annotated[str, option("when it applies", "TEXT")] = ""
    confidence: Annotated[float, option("0 to 1 (default: 0.5)", "C")] = patterns.DEFAULT_CONFIDENCE
    name: LoreTitle
    category: LoreCategory = "general"
    system: ForAll = False
    force: Forced = False


class AddAntiPattern(Arguments, frozen=True, kw_only=True):
    """A new anti-pattern."""

    symptom: Annotated[str, option("how it shows", "TEXT")]
    risk: Annotated[str, option("what it leads to", "TEXT")] = ""
    fix: Annotated[str, option("what to do instead", "TEXT")]
    severity: Annotated[str, option("default: medium", choices=patterns.SEVERITIES)] = "medium"
    name: LoreTitle
    category: LoreCategory = "general"
    system: ForAll = False
    force: Forced = False


class AddDecision(Arguments, frozen=True):
    """A new decision."""

    text: Annotated[str, word("what was decided", "TEXT", is_sentence=True)]
    why: Annotated[str, option("the reason", "REASON")]
    alternative: ManyTexts = []
    tag: Annotated[list[str], option("may be repeated", "WORD")] = []
    system: ForAll = False
    force: Forced = False


class LeaveHandoff(Arguments, frozen=True):
    """A new handoff."""

    message: Annotated[str, word("where things stand", "MESSAGE", is_sentence=True)]
    next: Annotated[list[str], option("may be repeated", "STEP")] = []
    blocker: ManyTexts = []
    question: ManyTexts = []
    system: ForAll = False
    force: Forced = False


AddLore = AddPattern | AddAntiPattern | AddDecision | LeaveHandoff


class RetractLore(Arguments, frozen=True):
    """A record to take back, and why."""

    id: Annotated[str, word("of a decision, a pattern or an anti-pattern", "ID")]
    reason: Annotated[str, option("kept with a decision", "TEXT")]


class SupersedeLore(Arguments, frozen=True):
    """Two decisions: `new` takes the place of `old`."""

    old: Annotated[str, word("id of the decision that no longer holds", "OLD")]
    new: Annotated[str, word("id of the one that holds instead", "NEW")]


# --- memory, as people and programs ask for it --------------------------------------------------------------


_FORMS = ("index", "full")
_IDS = "o42, of a summary s7"


class MemoryFilters(Arguments, frozen=True, kw_only=True):
    """Filters of rows.

    `project` is a name, a key or a path, `.` for the present one or `*` for all; without it the settings decide.
    """

    project: Annotated[str, Meta(description="only of this project, by name or key")] = ""
    limit: Annotated[int, option("records to show, 1 to 100 (default: 10)", "N", ge=1, le=100)] = 10
    since: Annotated[str, option("today, yesterday, 7d, 2w, an ISO date or time, or an epoch", "TIME")] = ""
    type: Annotated[
        list[str], option(f"only this type, may be repeated: {', '.join(ROW_TYPES)}", "TYPE", choices=ROW_TYPES)
    ] = []
    file: Annotated[
        list[str], option("only what touched this file or folder of the project; may be repeated", "PATH")
    ] = []


class MemoryList(MemoryFilters, frozen=True, kw_only=True):
    """Filters, and how rows are shown: `verbose` with their prompts, `quiet` without days."""

    form: Annotated[str, option("a line each, or in full (default: index)", choices=_FORMS)] = ""
    explain: Annotated[bool, option("show the parts of each rank")] = False
    verbose: bool = False
    quiet: bool = False


class MemoryContext(MemoryFilters, frozen=True, kw_only=True):
    """Filters; without a limit as many rows as a session is told of at its start."""

    limit: Annotated[int, Meta(ge=1, le=100, description="records to show")] = 0
    form: Annotated[str, Meta(description="json, or the text alone", extra={"choices": ("json", "text")})] = "json"


class BrowseMemory(MemoryFilters, frozen=True, kw_only=True):
    """A page of rows, newest first, or with words those that fit, best first; without a project of the present one.

    `before` is the `next_before` of the page before.
    """

    query: str = ""
    session: str = ""
    before: str = ""


class SearchMemory(MemoryList, frozen=True, kw_only=True):
    """A query, and the rows that it may find."""

    query: Annotated[str, word("words, a question", "QUERY", is_sentence=True)]
    mode: Annotated[str, option("legs that take part", choices=("hybrid", "dense", "lexical"))] = "hybrid"


class MemoryOfFiles(MemoryList, frozen=True, kw_only=True):
    """Files or folders."""

    path: Annotated[list[str], word("a file, or a folder with everything in it", "PATH")]
    file: Annotated[list[str], Meta(description="another file that they touched")] = []


def _beside(side: str) -> Meta:
    return option(f"records {side} it, 0 to 100 (default: half of --limit)", "N", ge=0, le=100)


class Timeline(MemoryList, frozen=True, kw_only=True):
    """A row or a time, and how much around it."""

    at: Annotated[str, word("a record, or a time as for --since", "ID|DATE")]
    before: Annotated[int, _beside("before")] | None = None
    after: Annotated[int, _beside("after")] | None = None
    explain: Annotated[bool, Meta(description="without effect: no row is ranked")] = False


class ShowRows(Arguments, frozen=True):
    """Rows by their ids; `verbose` tells more of each."""

    id: Annotated[list[str], word(_IDS, "ID", min_length=1)]
    form: Annotated[str, Meta(description="a line each, or in full", extra={"choices": _FORMS})] = ""
    verbose: bool = False


class AddRow(Arguments, frozen=True):
    """An observation that somebody writes down."""

    title: Annotated[str, word("what was done or found, in one line", "TITLE", is_sentence=True)]
    narrative: Annotated[str, option("what, why, and how it ended", "TEXT")] = ""
    type: Annotated[str, option("default: discovery", choices=OBSERVATION_TYPES)] = "discovery"
    fact: Annotated[list[str], option("may be repeated", "TEXT")] = []
    concept: Annotated[list[str], option("gotcha, pattern, …; may be repeated", "WORD")] = []
    file: Annotated[list[str], option("that it is about; may be repeated", "PATH")] = []


class ForgetRows(Arguments, frozen=True):
    """Rows to forget for good; without `yes` it is only said which."""

    id: Annotated[list[str], word(_IDS, "ID", is_one_of=True)] = []
    session: Annotated[str, option("all of a session; --verbose of the lists shows its ID", "ID", is_one_of=True)] = ""
    project_data: Annotated[str, option("all of a project, by name or key", "NAME", is_one_of=True)] = ""
    everything: Annotated[bool, option("all of all projects", is_one_of=True)] = False
    yes: Annotated[bool, option("do not ask")] = False


# --- the page --------------------------------------------------------------------------------------------


PageSize = Annotated[int, Meta(ge=1, le=200)]
Words = Annotated[str, Meta(max_length=5_000)]


# --- the page: search -----------------------------------------------------------------------------------


class PageSearchArguments(Arguments, frozen=True):
    """A search; `kinds` holds kinds of hits or `lessons`, `lore`, `memory`."""

    query: Annotated[str, Meta(min_length=1, max_length=5_000)]
    kinds: list[str] = []
    path: Words = ""
    limit: PageSize = 10


class PageLine(Struct, frozen=True):
    """A line of a hit.

    Attributes:
        number: Number of the line in its file, from 1; 0 for a record and for lines left out.
        parts: The line in pieces; every second one, the first of them not, is a word of the query.
    """

    number: int
    parts: list[str]


class PageHit(Struct, frozen=True, kw_only=True):
    """A hit.

    Attributes:
        title: Its heading: place and name of a part of a file, id and title of a record.
        kind: code, doc, lesson, …
        ref: What names it: path and lines, or the id of a record.
        path: Path of its file; empty for a record.
        language: Of the file; empty for a record.
        cosine: -1 to 1; None without a vector.
        cosine_rank: Rank in the dense leg, from 1; None where it is in none.
        bm25: 0 and up; None without a word of the query.
        bm25_rank: Rank in the lexical leg.
        rrf: The fused value.
        relevance: 0 to 1.
        evidence: Piece → what it gave; empty for records.
        lines: Its telling lines.
        is_stale: The file changed since it was indexed.
    """

    title: str
    kind: str
    ref: str
    path: str
    language: str
    cosine: float | None
    cosine_rank: int | None
    bm25: float | None
    bm25_rank: int | None
    rrf: float
    relevance: float
    evidence: dict[str, float]
    lines: list[PageLine]
    is_stale: bool


class PageHits(Struct, frozen=True, kw_only=True):
    """The hits of one kind of knowledge, best first.

    Attributes:
        kind: files, lessons, lore or memory.
        gate: What its gate said, with the keys of the event log and `is_open`; None when it was not asked.
        hits: Best first.
    """

    kind: str
    gate: dict[str, Any] | None
    hits: list[PageHit]


class PageSearchResult(Struct, frozen=True, kw_only=True):
    """The hits, a list for each kind, and what was not searched or may be out of date, a sentence each."""

    lists: list[PageHits]
    problems: list[str] = []


# --- the page: index ------------------------------------------------------------------------------------


class PageFilesArguments(Arguments, frozen=True):
    """A choice of files of the index; `show` is `indexed`, `skipped` or `all`, `after` the path before the first."""

    show: Literal["all", "indexed", "skipped"] = "all"
    contains: Words = ""
    after: Words = ""
    limit: PageSize = 100


class PageFile(Struct, frozen=True, kw_only=True):
    """A file that was looked at; `reason` says why it is left out, and is empty for an indexed one."""

    path: str
    kind: str
    language: str
    size_bytes: int
    reason: str


class PageFiles(Struct, frozen=True, kw_only=True):
    """Files in order of path; `next_after` is empty on the last page."""

    files: list[PageFile]
    next_after: str


class PageProgress(Struct, frozen=True, kw_only=True):
    """The build that runs.

    Attributes:
        is_building: A build holds the lock.
        step: scan, read, write or merge; empty before the first file.
        done: Files that are done in this step.
        total: Files of this step; 0 while unknown.
        share: Part of the whole build, 0 to 1.
        seconds_left: None while that cannot be told.
    """

    is_building: bool = False
    step: str = ""
    done: int = 0
    total: int = 0
    share: float = 0.0
    seconds_left: float | None = None
