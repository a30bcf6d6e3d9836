"""The two sides of an operation: who asks what (`Asking`), and what comes back (`Outcome`).

Pure values; `table` names the operations, the service performs them.
"""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins

from hybrid.base.errors import HybridError
from hybrid.render.marks import harmless, harmless_json
from hybrid.session.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

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
    """

    workspace: Workspace
    kinds: OpenKinds
    environ: Mapping[str, str]
    client: str
    session_id: str
    now_ms: int
    ledger: Ledger = field(default_factory=Ledger)

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
    """The result of an operation: as a value, as a text, and for the ledger.

    Attributes:
        value: The result, of the operation's result type.
        text: The same for a reader: what an agent gets as text.
        shown: What of the project stands in the text.
        frame: Our own frame, with which texts in them begin, and which stays as it is; empty for none.
    """

    value: Struct
    text: str = ""
    shown: tuple[Shown, ...] = ()
    frame: str = ""

    def for_agent(self) -> dict[str, Any]:
        """Return `result` and `text` as an agent may get them: no text in them is a mark of a frame or of a client."""

        def change(text: str) -> str:
            frame = self.frame if text.startswith(self.frame) else ""
            return frame + harmless(text[len(frame) :])

        return harmless_json({"result": to_builtins(self.value), "text": self.text}, change)


class Operation(Struct, frozen=True):
    """An operation.

    Attributes:
        arguments: Type of its arguments.
        result: Type of its result.
        run: Does it.
        is_writing: It changes lessons, lore, memory, marks or settings.
    """

    arguments: type[Struct]
    result: type[Struct]
    run: Callable[[Asking, Any], Outcome]
    is_writing: bool = False


def done_in(module: str, name: str) -> Callable[[Asking, Any], Outcome]:
    """Return a function of a module of this package, which is imported when it is first called."""

    def run(asking: Asking, arguments: Any) -> Outcome:
        return getattr(import_module(f"hybrid.operations.{module}"), name)(asking, arguments)

    return run
