"""A coding agent as the installers see it: its files, its events, and the form of one registration.

One module in `clients` fills in these values for each agent; `merge` and `install` act on them alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from hybrid.hooks.install.command import Launcher, as_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Scope = Literal["user", "project", "local"]
SCOPES: tuple[Scope, ...] = ("user", "project", "local")

TIMEOUT_S = 5
"""Seconds that a client waits for a hook; hybrid gives up long before (`hooks.deadline_ms`)."""

END_TIMEOUT_S = 3
"""Seconds that a client waits for a hook at the end of a session: Codex allows no more, Claude Code 1.5 unless told."""


class SettingsRoots(Struct, frozen=True):
    """The folders below which settings of clients lie.

    Attributes:
        user_home: The user's home folder.
        project_root: Root of the project, or None outside of any.
        environ: Variables that move a client's folder.
    """

    user_home: Path
    project_root: Path | None
    environ: Mapping[str, str]


class Registration(Struct, frozen=True):
    """One event for which a client calls us.

    Attributes:
        event: The client's word for it, which is also given to `hook run`.
        matcher: Tools that the event is for, in the client's words; empty for all.
    """

    event: str
    matcher: str = ""

    @property
    def timeout_s(self) -> int:
        """Seconds that the client waits for the hook of this event."""
        return END_TIMEOUT_S if self.event == "SessionEnd" else TIMEOUT_S


class Client(Struct, frozen=True):
    """A coding agent.

    Attributes:
        name: The client's name for `--client`.
        label: The client's name for people.
        files: Scope → the settings file of that scope; a scope that is missing does not exist there.
        registrations: The events for which the client is to call us.
        handler: A function from a registration and how to start us to the client's object for one command.
        is_grouped: Handlers stand in groups with a matcher; otherwise in one flat list.
        base: What a new file holds besides `hooks`.
        stamps: Members that the client itself adds to a file it finds.
        has_own_file: The file is ours alone; one that holds nothing of others is deleted at removal.
        is_plain: Reads JSON without comments only, and ignores a whole file that has one.
        module: Name of the folder with a code module in place of settings; empty for settings.
        notes: Scope → what the user must do or know besides.
    """

    name: str
    label: str
    files: Callable[[Scope, SettingsRoots], Path | None]
    registrations: Sequence[Registration]
    handler: Callable[[Registration, Launcher], dict[str, Any]]
    is_grouped: bool = True
    base: tuple[tuple[str, Any], ...] = ()
    stamps: tuple[str, ...] = ()
    has_own_file: bool = False
    is_plain: bool = False
    module: str = ""
    notes: Callable[[Scope], Sequence[str]] = lambda scope: ()

    def ignores(self, text: str) -> bool:
        """Return whether the client reads nothing of a settings file that we can read."""
        if not self.is_plain or not text.strip():
            return False
        try:
            json.loads(text.removeprefix("\ufeff"))
        except ValueError:
            return True
        return False

    def entry(self, registration: Registration, launcher: Launcher) -> dict[str, Any]:
        """Return the element that calls us, for the list of the registration's event in the client's settings."""
        handler = self.handler(registration, launcher)
        if not self.is_grouped:
            return handler
        matcher = {"matcher": registration.matcher} if registration.matcher else {}
        return matcher | {"hooks": [handler]}


def line_handler(
    registration: Registration, launcher: Launcher, *, client: str, named: bool = False, per_second: int = 1, **how: str
) -> dict[str, Any]:
    """Return a handler with one command line, as most clients take it.

    Args:
        registration: The event.
        launcher: How to start us.
        client: Name of the client.
        named: Give it our name, which the client shows in its list of hooks.
        per_second: Units of the client's timeout in a second.
        how: `windows_shell`, for the quoting there.
    """
    line = as_line(launcher, client=client, event=registration.event, **how)
    name = {"name": "hybrid"} if named else {}
    return {"type": "command", **name, "command": line, "timeout": registration.timeout_s * per_second}
