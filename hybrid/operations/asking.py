"""The table of operations, who asks for one (`Asking`), and what comes back (`Outcome`).

A row stands above the function that does it, in a module of this folder, with the type of its arguments. The command
line, the tools of agents, the routes of HTTP and the page are made from the rows. Modules are imported when somebody
asks; what searches is imported by the functions that need it.
"""

from __future__ import annotations

import re
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct, field

from hybrid.base.errors import HybridError
from hybrid.render.marks import harmless
from hybrid.session.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from hybrid.index.plan import Progress
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.types import Hit
    from hybrid.workspace import Workspace


BY_HAND = "manual"
"""The client of what a person asks."""
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
        tell: Is given the lines of a slow answer as they come, which its text then lacks; None for nobody.
    """

    workspace: Workspace
    kinds: OpenKinds
    environ: Mapping[str, str]
    client: str
    session_id: str
    now_ms: int
    ledger: Ledger = field(default_factory=Ledger)
    progress: Progress | None = None
    tell: Callable[[str], None] | None = None

    @property
    def today(self) -> date:
        """The day of that time, here."""
        return datetime.fromtimestamp(self.now_ms / 1000).date()


def require_enabled(asking: Asking, kind: str) -> None:
    """Refuse an agent what it would not get back.

    Raises:
        OperationError: The kind of knowledge is switched off.
    """
    if not getattr(asking.workspace.config, kind).enabled:
        raise OperationError(f"{kind}: switched off here (`{kind}.enabled`)")


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
        warning: What a person should know besides, a line each; empty for nothing.
        missing: The id that was asked for and is not there; empty for none.
        found: The values behind the text, for who paints them on a terminal; None where nobody does.
    """

    text: str
    shown: tuple[Shown, ...] = ()
    frame: str = ""
    data: dict[str, Any] = {}
    is_found: bool = True
    warning: str = ""
    missing: str = ""
    found: Any = None

    def for_agent(self) -> str:
        """Return the text as an agent may get it: nothing in it is a mark of a frame or of a client."""
        return self.frame + harmless(self.text.removeprefix(self.frame))


class ForAgents(Struct, frozen=True):
    """The words for agents on an operation, each of which stands in every agent's context.

    Attributes:
        title: For people.
        about: When to use it, and what comes back.
        address: Address of a resource (`hybrid://…`), or the name of a prompt; empty for a tool.
        tool: Name of the tool where it is not that of the row.
        takes: The arguments that agents may give, where others are for people; empty for all that are described.
    """

    title: str
    about: str
    address: str = ""
    tool: str = ""
    takes: tuple[str, ...] = ()


class Operation(Struct, frozen=True):
    """A row of the table.

    Attributes:
        name: Its name: of a command, of a command and its action, or of a tool.
        function: Does it.
        about: Help for people: what it does; empty for one that the command line does not have.
        example: The arguments of an example, as the command line takes them.
        route: The path under which programs get it over HTTP; empty for none. Nothing that writes has one.
        for_agents: Its words for agents; None for one that they may not ask for. Nothing that deletes has one.
        is_writing: It changes lessons, lore, memory, marks or settings.
        is_of_files: It asks the index of the files, which is brought up to date before.
        is_tolerant: It answers where settings hold a mistake too.
        is_one_at_a_time: Over HTTP one is answered at a time: prompts come first.
    """

    name: str
    function: Callable[[Asking, Any], Outcome]
    about: str = ""
    example: str = ""
    route: str = ""
    for_agents: ForAgents | None = None
    is_writing: bool = False
    is_of_files: bool = False
    is_tolerant: bool = False
    is_one_at_a_time: bool = False

    @property
    def arguments(self) -> type[Struct]:
        """The type of its arguments: that of the function's second parameter."""
        return vars(import_module(self.function.__module__))[self.function.__annotations__["wanted"]]

    @property
    def agents_name(self) -> str:
        """Its name for agents."""
        return (self.for_agents and self.for_agents.tool) or self.name

    @property
    def is_for_people(self) -> bool:
        """False where agents alone ask for it: another row may have the same name for people."""
        return bool(self.about or self.route or self.for_agents is None)


_Function = TypeVar("_Function", bound="Callable[[Asking, Any], Outcome]")
MODULES = ("search", "files", "lessons", "lore", "memory", "doctor", "sessions")
"""Modules with rows, in the order of the tools. A command that has actions is a module of its name."""
_ROWS: dict[str, list[Operation]] = {}


def operation(name: str, about: str = "", example: str = "", **more: Any) -> Callable[[_Function], _Function]:
    """Make a function a row of the table; see `Operation` for what is said of it."""

    def add(function: _Function) -> _Function:
        _ROWS.setdefault(function.__module__, []).append(Operation(name, function, about, example, **more))
        return function

    return add


def changing(name: str, about: str = "", example: str = "", **more: Any) -> Callable[[_Function], _Function]:
    """Make a function that changes something a row of the table."""
    return operation(name, about, example, is_writing=True, **more)


def rows(module: str = "") -> list[Operation]:
    """Return the rows of the table, in order; or those of one module, if it is there."""
    names = [f"hybrid.operations.{one}" for one in ([module] if module in MODULES else MODULES)]
    return [row for name in names if import_module(name) for row in _ROWS.get(name, ())]


def operation_named(name: str, *, is_for_agent: bool = False) -> Operation:
    """Return an operation that people or agents may ask for.

    Raises:
        OperationError: There is none of this name.
    """
    command, _, action = name.partition(" ")
    # Few need every module: it is looked for first among those that are there.
    places = (rows(command) if action else [row for some in _ROWS.values() for row in some], rows)
    names = list[str]()
    for place in places:
        every = place() if callable(place) else place
        offered = [row for row in every if (row.for_agents is not None if is_for_agent else row.is_for_people)]
        named = {row.agents_name if is_for_agent else row.name: row for row in offered}
        names = sorted(named)
        if name in named:
            return named[name]
    raise OperationError(f"there is no operation {name!r}; there are {', '.join(names)}")


def perform(
    row: Operation, asking: Asking, arguments: Mapping[str, object] | Struct, *, is_for_agent: bool = False
) -> Outcome:
    """Do an operation, and return its result.

    Args:
        row: The operation.
        asking: Who asks, and where.
        arguments: The arguments as JSON has them, or a value of their type.
        is_for_agent: Only what agents may give is taken, and a number is no text; forms and HTTP send them as texts.

    Raises:
        OperationError: An argument is wrong.
        HybridError: It cannot be done; the message says why.
    """
    kind = row.arguments
    takes = (is_for_agent and row.for_agents and row.for_agents.takes) or kind.__struct_fields__
    try:
        if isinstance(arguments, Struct):
            wanted = arguments
        elif unknown := next((name for name in arguments if name not in takes), ""):
            raise msgspec.ValidationError(f"Object contains unknown field `{unknown}`")
        else:
            wanted = msgspec.convert(dict(arguments), kind, strict=is_for_agent)
    except msgspec.ValidationError as error:
        name = row.agents_name if is_for_agent else row.name
        raise OperationError(f"{name}: {_in_words(str(error), takes)}") from error
    return row.function(asking, wanted)


_MISSING = re.compile(r"Object missing required field `([^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")


def _in_words(message: str, takes: Sequence[str]) -> str:
    """Return what is wrong with arguments as an agent understands it, with the names that there are."""
    names = ", ".join(takes)
    message = _MISSING.sub(r"`\1` is missing", message)
    return _UNKNOWN.sub(rf"there is no argument `\1`; there are {names or 'none'}", message).replace(
        " - at `$.", " at `"
    )
