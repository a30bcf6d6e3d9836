"""The parts that hybrid puts into a client: its hooks, the entry of the MCP server, an instruction.

A part knows its files and how their text looks with and without us; `changes` knows nothing else of it. The forms stand
in `merge` (hooks), `servers` (MCP) and `rules` (instructions), the clients in `clients`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from hybrid.base.errors import HybridError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.hooks.install.command import Launcher

Scope = Literal["user", "project", "local"]
SCOPES: tuple[Scope, ...] = ("user", "project", "local")

Kind = Literal["hooks", "mcp", "rules"]


class SettingsError(HybridError):
    """A settings file is not what its client would read; it is left untouched."""


class SettingsRoots(Struct, frozen=True):
    """The folders below which settings of clients lie.

    Attributes:
        user_home: The user's home folder.
        project_root: Root of the project, or None outside of any.
        environ: Variables that move a client's folder.
        platform: As `sys.platform`; decides where a client keeps the user's settings.
    """

    user_home: Path
    project_root: Path | None
    environ: Mapping[str, str]
    platform: str = sys.platform


class Folder(Struct, frozen=True):
    """A folder in which a client keeps the settings of a user.

    Attributes:
        variable: The variable that holds the folder's path, in place of all below; empty without one.
        home: The folder below the user's home.
        mac: The same on macOS; None for as elsewhere.
        windows: The same below `%APPDATA%` on Windows; None for below the home, as elsewhere.
    """

    variable: str = ""
    home: str = ""
    mac: str | None = None
    windows: str | None = None

    def path(self, roots: SettingsRoots) -> Path:
        """Return the folder, there or not."""
        if self.variable and (moved := roots.environ.get(self.variable)):
            return Path(moved)
        if roots.platform == "win32" and self.windows is not None:
            data = roots.environ.get("APPDATA")
            return Path(data or roots.user_home / "AppData" / "Roaming") / self.windows
        is_mac = roots.platform == "darwin" and self.mac is not None
        return roots.user_home / (self.mac if is_mac and self.mac is not None else self.home)


class Files(Struct, frozen=True):
    """The files of a part, one for each scope.

    Attributes:
        folder: The client's folder of the user.
        places: Scope → the file, below that folder (`user`) or below the root of the project. Names that the client
            reads besides follow after a `|`; a scope that is missing does not exist there.
    """

    folder: Folder
    places: Mapping[Scope, str]

    def file(self, scope: Scope, roots: SettingsRoots) -> Path | None:
        """Return the file of a scope: the first that exists, or would be made.

        None without such a scope, or outside of any project.
        """
        paths = self._named(scope, roots)
        return next((path for path in paths if path.exists()), paths[0] if paths else None)

    def paths(self, roots: SettingsRoots) -> list[tuple[Scope, Path]]:
        """Return each scope that there is here with its file, there or not, the widest scope first.

        A scope with two files that exist comes twice.
        """
        found: list[tuple[Scope, Path]] = []
        for scope in SCOPES:
            named = self._named(scope, roots)
            for path in [path for path in named if path.exists()] or named[:1]:
                found.append((scope, path))
        return found

    def _named(self, scope: Scope, roots: SettingsRoots) -> list[Path]:
        """Return the paths that a scope may have, the one to make first."""
        base = self.folder.path(roots) if scope == "user" else roots.project_root
        return [base / name for name in self.places.get(scope, "").split("|") if name] if base else []


class Wanted(Struct, frozen=True):
    """The way to start us and the events, for a part that is written.

    Attributes:
        launcher: How to start us.
        events: Events to be called for, in the client's words; for hooks only.
    """

    launcher: Launcher
    events: tuple[str, ...] = ()


class RegisteredCommand(Struct, frozen=True):
    """One command of ours in a file; of an instruction all but the first member is empty.

    Attributes:
        event: The client's word for it; empty for what is no hook.
        command: All that is run, as one text.
        program: The file or name that is started.
        args: The words that follow the program, when the file keeps them apart.
        matcher: Tools it is for, in the client's words; empty for all.
    """

    event: str
    command: str = ""
    program: str = ""
    args: tuple[str, ...] = ()
    matcher: str = ""


class Part(Protocol):
    """One part of hybrid in one client. Texts are whole files; what is not ours in them stays byte for byte."""

    @property
    def owner(self) -> str:
        """The name of the client."""
        ...

    @property
    def kind(self) -> Kind:
        """`hooks`, `mcp` or `rules`."""
        ...

    @property
    def files(self) -> Files:
        """The files it may stand in."""
        ...

    @property
    def has_own_file(self) -> bool:
        """True when the file is ours alone; one that holds nothing of others is deleted at removal."""
        ...

    def with_us(self, text: str, wanted: Wanted, *, name: str) -> str:
        """Return the text with this part as wanted, and no other of the same kind and client.

        Raises:
            SettingsError: The file called `name` is not to be changed.
        """
        ...

    def without_us(self, text: str, *, original: str, name: str) -> str:
        """Return the text without this part; what `original`, the text from before us, holds empty stays empty.

        Raises:
            SettingsError: The text does not parse.
        """
        ...

    def found_in(self, text: str, *, name: str) -> list[RegisteredCommand]:
        """Return our commands in the text, in order.

        Raises:
            SettingsError: The text does not parse.
        """
        ...

    def outdated(self, text: str, present: list[RegisteredCommand]) -> str:
        """Return what an earlier version wrote otherwise than this one, in words; empty for nothing."""
        ...

    def is_left_empty(self, text: str) -> bool:
        """Return whether a text without us is what a new file of the client would be."""
        ...


def label_of(part: Part) -> str:
    """Return the name of a part in records of installations: client and kind."""
    return f"{part.owner} {part.kind}"
