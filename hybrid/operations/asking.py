"""The operations by name, who asks for one (`Asking`), and what comes back (`Outcome`).

Importing this costs no more than the types: `agents` and `pages`, which do the work, are imported when they are needed.
"""

from __future__ import annotations

import re
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from hybrid.base.errors import HybridError
from hybrid.operations import types
from hybrid.render.marks import harmless
from hybrid.session.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from hybrid.index.plan import Progress
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.types import Hit
    from hybrid.workspace import Workspace


CONNECTION = "tool:"
"""Begins the id of a session that is known by its connection alone."""


class OperationError(HybridError):
    """An operation that cannot be done as it was asked for: a wrong argument, something that is not there."""


class Asking(Struct, frozen=True):
    """A question to an operation, without its arguments.

    Attributes:
        workspace: The workspace of the directory that the asker works in.
        kinds: The open stores and indexes.
        environ: Environment variables of the settings in force.
        client: Who asks: `claude`, `codex`, …; `manual` for an unknown one.
        session_id: The agent's session, may be empty; one that begins with `CONNECTION` stands for a connection alone.
        ledger: What that session was given.
        now_ms: The time, milliseconds since 1970.
        progress: Is told how far a change of an index is; None for nobody.
    """

    workspace: Workspace
    kinds: OpenKinds
    environ: Mapping[str, str]
    client: str
    session_id: str
    now_ms: int
    ledger: Ledger = field(default_factory=Ledger)
    progress: Progress | None = None

    @property
    def today(self) -> date:
        """The day of that time, here."""
        return datetime.fromtimestamp(self.now_ms / 1000).date()


class Shown(Struct, frozen=True):
    """A hit that an outcome shows, for the ledger.

    Attributes:
        hit: The hit as the index has it.
        form: full, preview or pointer.
    """

    hit: Hit
    form: str


class Outcome(Struct, frozen=True):
    """The result of an operation: as a text, as data, and what of it counts in the ledger.

    Attributes:
        text: All that an agent or a person sees.
        shown: What of the project stands in the text.
        frame: Our own frame, with which the text begins, and which stays as it is; empty for none.
        data: The same for programs and for the page: an object of JSON without secrets. Agents get the text alone.
        is_found: False when nothing was found or changed.
        warning: Something that a person should know besides; empty for nothing.
        missing: The id that was asked for and is not there; empty for none.
    """

    text: str
    shown: tuple[Shown, ...] = ()
    frame: str = ""
    data: dict[str, Any] = {}
    is_found: bool = True
    warning: str = ""
    missing: str = ""

    def for_agent(self) -> str:
        """Return the text as an agent may get it: nothing in it is a mark of a frame or of a client."""
        return self.frame + harmless(self.text.removeprefix(self.frame))


class Operation(Struct, frozen=True):
    """An operation.

    Attributes:
        arguments: Type of its arguments.
        result: Type of its result.
        is_writing: It changes lessons, lore, memory, marks or settings.
        is_of_files: It asks the index of the files, which is brought up to date before.
        about: Help for people: what it does; empty for one that the command line does not have.
        example: The arguments of an example, as the command line takes them.
        route: The path under which programs get it over HTTP; empty for none. Nothing that writes has one.
    """

    arguments: type[Struct]
    result: type[Struct] = Outcome
    is_writing: bool = False
    is_of_files: bool = False
    about: str = ""
    example: str = ""
    route: str = ""


OPERATIONS: Mapping[str, Operation] = {
    "search": Operation(types.SearchArguments, is_of_files=True),
    "read": Operation(types.ReadArguments, is_of_files=True),
    "context": Operation(types.ContextArguments, is_of_files=True),
    "related": Operation(types.RelatedArguments, is_of_files=True),
    "lessons": Operation(types.LessonsArguments),
    "decide": Operation(types.DecideArguments, is_writing=True),
    "remember": Operation(types.RememberArguments, is_writing=True),
    "recall": Operation(types.RecallArguments),
    "orientation": Operation(types.Nothing),
    "hot_topics": Operation(types.Nothing),
    "hand_over": Operation(types.Nothing),
    "learned": Operation(types.Nothing),
}
"""Name → operation that an agent is offered, as a tool or a text; the function of this name in `agents` does it."""

PAGES: Mapping[str, Operation] = {
    "page_search": Operation(types.PageSearchArguments, types.PageSearchResult, is_of_files=True),
    "page_files": Operation(types.PageFilesArguments, types.PageFiles),
    "page_progress": Operation(types.Nothing, types.PageProgress),
}
"""Name → operation of the page, which no agent is offered; `pages` has it without the beginning of its name."""


_SCORED = '"how should I format git commits?" --top 3'
_ADDED = '"Git commit format" "Use type(scope): description" --category pattern'
_EDITED = 'L001 --content "Use type(scope): description, in the imperative"'
_PATTERN = 'add "Quote paths" --problem "spaces split them" --solution "write \\"$path\\""'
_ANTI_PATTERN = 'add "Parsing ls output" --symptom "names with spaces split" --fix "use a glob"'
_DECISION = '"Use JSONL for storage" --why "append-only, grep-friendly" --alternative SQLite'
_RETRACTED = 'dec-a1b2c3d4 --reason "SQLite is needed after all"'
_HANDOFF = '"Login works, OAuth is missing" --next "register the app"'
_FAILED = '"which test failed first" --here'
_FILES = "src/payments/client.py docs"
_NOTED = '"Deploys need the VPN" --type discovery --fact "the registry is internal"'
_AROUND = "what happened before and after a record or a time, in one project unless told otherwise"


def _changing(arguments: type[Struct], about: str, example: str) -> Operation:
    return Operation(arguments, is_writing=True, about=about, example=example)


COMMANDS: Mapping[str, Operation] = {
    "lessons list": Operation(
        types.ListLessons, about="the lessons of this project and those for all projects", example="--search commit"
    ),
    "lessons show": Operation(types.OneLesson, about="one lesson, whole", example="L001"),
    "lessons score": Operation(
        types.ScoreLessons, about="how well lessons fit a query, by their words", example=_SCORED
    ),
    "lessons stats": Operation(
        types.LessonStats, about="how often lessons were given, cited and used", example="--weekly"
    ),
    "lessons validate": Operation(types.Nothing, about="which lessons name paths or symbols that are not there"),
    "lessons add": _changing(types.AddLesson, "write a new lesson", _ADDED),
    "lessons edit": _changing(types.EditLesson, "change a lesson, by options or in $EDITOR", _EDITED),
    "lessons cite": _changing(types.CiteLessons, "count a use of lessons", "L001 L004"),
    "lessons supersede": _changing(types.Replace, "replace a lesson by another", "L001 L007"),
    "lessons delete": _changing(types.OneLesson, "take a lesson out of use; its id is never used again", "L001"),
    "lessons renumber": _changing(
        types.OneLesson, "give the newer of two lessons with one id an id of its own", "L003"
    ),
    "lessons promote": _changing(types.OneLesson, "make a lesson of this project one for all projects", "L001"),
    "lessons decay": _changing(types.DecayLessons, "let what is not used fade, at most once a week", "--force"),
    "lore list": Operation(types.ListLore, about="the records of this project"),
    "lore search": Operation(
        types.SearchLore, about="records that fit some words", example='"bash arithmetic" --kind pattern'
    ),
    "lore show": Operation(types.ShowLore, about="a record with all its keys", example="dec-a1b2c3d4"),
    "lore latest": Operation(types.Nothing, about="the latest handoff of this project"),
    "lore pattern": _changing(types.AddPattern, "add a pattern: a solution that proved itself", _PATTERN),
    "lore anti-pattern": _changing(types.AddAntiPattern, "add an anti-pattern: what not to do", _ANTI_PATTERN),
    "lore decide": _changing(types.AddDecision, "write down a decision", _DECISION),
    "lore retract": _changing(types.RetractLore, "take a decision back, or deprecate a pattern", _RETRACTED),
    "lore supersede": _changing(
        types.SupersedeLore, "let a decision take the place of another", "dec-a1b2c3d4 dec-0f1e2d3c"
    ),
    "lore handoff": _changing(types.LeaveHandoff, "leave a note for the next session", _HANDOFF),
    "memory context": Operation(types.MemoryContext, route="/context"),
    "memory browse": Operation(types.BrowseMemory),
    "memory recent": Operation(
        types.MemoryList, about="the last work done", example="--since 7d --type bugfix --explain"
    ),
    "memory search": Operation(
        types.SearchMemory, about="what fits a question, the best first", example=_FAILED, route="/search"
    ),
    "memory files": Operation(
        types.MemoryOfFiles, about="what was done with files, the newest first", example=_FILES, route="/files"
    ),
    "memory show": Operation(types.ShowRows, about="records in full", example="o42 s7", route="/observations/{id}"),
    "memory timeline": Operation(types.Timeline, about=_AROUND, example="o42 --before 5 --after 5", route="/timeline"),
    "memory stats": Operation(types.Nothing, about="how much is known, and of what", example="--json"),
    "memory add": _changing(types.AddRow, "write down an observation of your own", _NOTED),
    "memory forget": _changing(types.ForgetRows, "delete for good: the row, its full text and its vector", "o42 s7"),
}
"""Name → operation of the command line and of the page, which no agent is offered.

A name is a command and its action, in the order of its help; the module `hybrid.operations.COMMAND` has the function
of the action.
"""


def operation_named(name: str) -> Operation:
    """Return an operation.

    Raises:
        OperationError: There is none of this name.
    """
    found = OPERATIONS.get(name) or COMMANDS.get(name) or PAGES.get(name)
    if found is None:
        raise OperationError(f"there is no operation {name!r}; there are {', '.join(sorted(OPERATIONS))}")
    return found


def perform(name: str, asking: Asking, arguments: Mapping[str, object] | Struct) -> Struct:
    """Do an operation, and return its result.

    Args:
        name: A name of `OPERATIONS`, `COMMANDS` or `PAGES`.
        asking: Who asks, and where.
        arguments: The arguments as JSON has them, or a value of their type.

    Raises:
        OperationError: There is no such operation, or an argument is wrong.
        HybridError: It cannot be done; the message says why.
    """
    operation = operation_named(name)
    try:
        # A form of the page sends numbers as texts.
        is_strict = name not in COMMANDS
        is_ready = isinstance(arguments, Struct)
        wanted = arguments if is_ready else msgspec.convert(dict(arguments), operation.arguments, strict=is_strict)
    except msgspec.ValidationError as error:
        raise OperationError(f"{name}: {_in_words(str(error), operation.arguments)}") from error
    # What does the work is imported when it is asked for.
    command, _, action = name.rpartition(" ")
    module = import_module(f"hybrid.operations.{command or ('agents' if name in OPERATIONS else 'pages')}")
    action = action.removeprefix("page_").replace("-", "_")
    function = getattr(module, action, None) or getattr(module, f"{action}_")
    return function(asking, wanted)


_MISSING = re.compile(r"Object missing required field `([^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")


def _in_words(message: str, arguments: type[Struct]) -> str:
    """Return what is wrong with arguments as an agent understands it, with the names that there are."""
    names = ", ".join(field.encode_name for field in msgspec.structs.fields(arguments))
    message = _MISSING.sub(r"`\1` is missing", message)
    return _UNKNOWN.sub(rf"there is no argument `\1`; there are {names or 'none'}", message).replace(
        " - at `$.", " at `"
    )
