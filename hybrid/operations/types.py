"""Arguments of the operations, and what the page gets; the JSON schemas of agents' tools are made from these types.

The descriptions are read by agents, whose context each of their words costs. An agent gets a text, the page a value of
a type that begins with `Page`. The page escapes what it shows: every text is without secrets, and absent numbers are
None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from hybrid.records.lessons.types import CATEGORIES, TYPES
from hybrid.records.lore import patterns

Kind = Literal["code", "doc", "lesson", "pattern", "anti-pattern", "decision", "handoff", "observation", "summary"]
Detail = Literal["places", "lines", "full"]
ObservationType = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]

Limit = Annotated[int, Meta(ge=1, le=50, description="How many to return.")]
Cursor = Annotated[str, Meta(description="What the page before ends with; empty for the first page.")]
Paths = Annotated[list[str], Meta(description="Files or folders, relative to the project.")]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of an operation; unknown ones are refused."""


def option(
    about: str, metavar: str = "", *, choices: Sequence[str] = (), ge: int | None = None, le: int | None = None
) -> Meta:
    """Return what is said of an argument that the command line takes as an option.

    Args:
        about: For its help, and for schemas.
        metavar: Stands for its value in the help.
        choices: The values that the command line offers; other values are for the operation to judge.
        ge: The least number.
        le: The greatest number.
    """
    return Meta(description=about, ge=ge, le=le, extra={"metavar": metavar, "choices": tuple(choices)})


def word(about: str, metavar: str, *, min_length: int | None = None, is_sentence: bool = False) -> Meta:
    """Return what is said of an argument that the command line takes by its place.

    Args:
        about: For its help, and for schemas.
        metavar: Its name in the help.
        min_length: Values of a list, at least.
        is_sentence: All words of the command line make one text, which must say something.
    """
    extra = {"metavar": metavar, "is_word": True, "is_sentence": is_sentence}
    return Meta(description=about, min_length=min_length, extra=extra)


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


LORE_KINDS = ("pattern", "anti-pattern", "decision", "handoff")
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


# --- the page --------------------------------------------------------------------------------------------


PageSize = Annotated[int, Meta(ge=1, le=200)]
Words = Annotated[str, Meta(max_length=5_000)]


class PageDone(Struct, frozen=True, kw_only=True):
    """The result of a change.

    Attributes:
        message: A sentence for a person.
        ref: Id of what was changed; empty when nothing was.
        is_done: False when nothing was changed.
    """

    message: str
    ref: str = ""
    is_done: bool = True


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


class PageIdArguments(Arguments, frozen=True):
    """One record."""

    id: Words


# --- the page: memory -----------------------------------------------------------------------------------


class PageMemoryArguments(Arguments, frozen=True):
    """A choice of rows of the memory, newest first, or with words those that fit, best first.

    `project` is a key, empty for this project, `*` for all. `before` is the `next_before` of the page before.
    """

    project: Words = ""
    types: list[str] = []
    file: Words = ""
    since: Words = ""
    session: Words = ""
    query: Words = ""
    before: Words = ""
    limit: PageSize = 50


class PageRow(Struct, frozen=True, kw_only=True):
    """A row of the memory.

    Attributes:
        ref: Its id, `o42` or `s7`.
        when: ISO time in UTC.
        type: Type of an observation, or `summary`.
        title: One line.
        body: What a list shows below it.
        project: Name of its project.
        is_here: It is of this project.
        files: Paths that it touched.
        repeats: How often the same was observed again.
    """

    ref: str
    when: str
    type: str
    title: str
    body: list[str]
    project: str
    is_here: bool
    session: str
    files: list[str]
    repeats: int = 0


class PageMemory(Struct, frozen=True, kw_only=True):
    """Rows of the memory.

    Attributes:
        next_before: Place of the next page; empty on the last one.
        projects: Key, name and number of rows of each project, the one with most first.
        types: Type → number of rows of the projects that are looked at; summaries under `summary`.
        total: Number of rows that fit; None where that is not known without a look at each.
        is_enabled: The setting `memory.enabled`.
    """

    rows: list[PageRow]
    next_before: str
    projects: list[tuple[str, str, int]]
    types: dict[str, int]
    is_enabled: bool
    total: int | None = None


class PageRowResult(Struct, frozen=True, kw_only=True):
    """One row in full.

    Attributes:
        row: The row.
        lines: All that it says.
        prompt: The prompt that it comes of; empty where it is not known.
        n_session: Number of rows of its session.
    """

    row: PageRow
    lines: list[str]
    prompt: str
    n_session: int


class PageForgetArguments(Arguments, frozen=True):
    """Rows to forget for good, or a whole session."""

    ids: Annotated[list[str], Meta(max_length=500)] = []
    session: Words = ""


# --- the page: decisions --------------------------------------------------------------------------------


class PageTitlesArguments(Arguments, frozen=True):
    """Ids of rows of the memory, of which the log keeps no titles."""

    ids: Annotated[list[str], Meta(max_length=200)]


class PageTitles(Struct, frozen=True, kw_only=True):
    """Id → title of the rows that are still there."""

    titles: dict[str, str]
