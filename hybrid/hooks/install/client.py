"""A coding agent as hybrid knows it: its files, its events, and the form of one registration.

`clients` holds the values, `merge` changes the hooks of one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.hooks.install.parts import Files, Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.hooks.install.command import Launcher
    from hybrid.hooks.install.parts import Scope
    from hybrid.hooks.install.rules import RulesPart
    from hybrid.hooks.install.servers import ServerPart

NO_FILES = Files(Folder(), {})


class Client(Struct, frozen=True):
    """A coding agent.

    Attributes:
        name: The client's name for `--client`.
        label: The client's name for people.
        files: Its settings files with hooks.
        events: The events, in the client's words, for which it is to call us; none for a client without hooks.
        handler: A function from an event and how to start us to the client's object for one command; not called for a
            client with a `module`.
        is_grouped: Handlers stand in groups with a matcher; otherwise in one flat list.
        base: What a new file holds besides `hooks`.
        has_own_file: The file of hooks is ours alone, in a folder for such files.
        is_plain: Reads JSON without comments only, and ignores a whole file that has one.
        module: Name of the folder with a code module in place of settings; empty for settings.
        remarks: What the user must do or know besides, in any scope.
        project_remark: The same for the `project` scope; empty for nothing.
        server: The entry of our MCP server; None for a client that reads none.
        rules: Our instruction in the client's rules.
    """

    name: str
    label: str
    files: Files = NO_FILES
    events: tuple[str, ...] = ()
    handler: Callable[[str, Launcher], dict[str, Any]] = lambda _event, _launcher: {}
    is_grouped: bool = True
    base: Mapping[str, Any] = {}
    has_own_file: bool = False
    is_plain: bool = False
    module: str = ""
    remarks: tuple[str, ...] = ()
    project_remark: str = ""
    server: ServerPart | None = None
    rules: RulesPart | None = None

    def notes(self, scope: Scope) -> list[str]:
        """Return what the user must do or know besides after an installation in that scope, a sentence each."""
        return [*self.remarks, *([self.project_remark] if scope == "project" and self.project_remark else [])]

    def ignores(self, text: str) -> bool:
        """Return whether the client reads nothing of a settings file that we can read."""
        if not self.is_plain or not text.strip():
            return False
        try:
            json.loads(text.removeprefix("\ufeff"))
        except ValueError:
            return True
        return False

    def entry(self, event: str, launcher: Launcher) -> dict[str, Any]:
        """Return the element that calls us, for the list of the event in the client's settings."""
        handler = self.handler(event, launcher)
        return {"hooks": [handler]} if self.is_grouped else handler
