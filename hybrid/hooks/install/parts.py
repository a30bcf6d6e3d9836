"""Everything that the parts of hybrid in a client share: scopes, folders, files and texts of settings, commands.

The parts are in `merge` (hooks), `servers` (the entry of the MCP server) and `rules` (an instruction). Each knows its
client (`owner`), its `kind`, its `files`, and how the text of a whole file looks with and without it; it changes
nothing else in the text:

- `with_us`: with this part as wanted, and no other of the same kind and client;
- `without_us`: without it; members that are empty in `original`, the text from before us, stay;
- `found_in`: our commands in a text, in order;
- `outdated`: what an earlier version wrote otherwise than this one, in words; empty for nothing;
- `is_left_empty`: whether a text without us is what a new file of the client would be.

`name` is the file's name in a message. `changes` knows nothing else of a part.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from msgspec import Struct

from hybrid.base.clients import Client, Folder, PartTable, Scope, clients
from hybrid.base.errors import HybridError
from hybrid.hooks.install.jsonc import JsoncError, JsonNode, is_list, is_object, parse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


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


class Files(Struct, frozen=True):
    """The files of a part, one for each scope.

    Attributes:
        folder: The client's folder of the user.
        places: Scope → names of files, as in `PartTable`.
    """

    folder: Folder
    places: Mapping[Scope, tuple[str, ...]]

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
        base = _path(self.folder, roots) if scope == "user" else roots.project_root
        return [base / name for name in self.places.get(scope, ())] if base else []


def _path(folder: Folder, roots: SettingsRoots) -> Path:
    """Return the path of a folder, there or not."""
    if folder.variable and (moved := roots.environ.get(folder.variable)):
        return Path(moved)
    if roots.platform == "win32" and folder.windows is not None:
        data = roots.environ.get("APPDATA")
        return Path(data or roots.user_home / "AppData" / "Roaming") / folder.windows
    is_mac = roots.platform == "darwin" and folder.mac is not None
    return roots.user_home / (folder.mac if is_mac and folder.mac is not None else folder.home)


_Settings = TypeVar("_Settings", bound=PartTable)


class InClient(Struct, Generic[_Settings], frozen=True):
    """A part in a client.

    Attributes:
        client: The client.
        settings: What its file says of this part.
    """

    client: Client
    settings: _Settings

    @property
    def owner(self) -> str:
        """The name of the client."""
        return self.client.name

    @property
    def files(self) -> Files:
        """The files that may hold the part."""
        return Files(self.settings.folder or self.client.folder, self.settings.files)


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


# --- JSON of any part -------------------------------------------------------------------------------------


BLANK = "\ufeff \t\r\n"
"""Signs of a text without anything in it: a byte order mark and white space."""


def parsed(text: str, name: str) -> JsonNode:
    """Return the settings in a JSON text; a text without anything counts as `{}`.

    Args:
        text: Text of the file.
        name: Name of the file, for the message.

    Raises:
        SettingsError: The text does not parse, or is no object.
    """
    try:
        root = parse(text if text.strip(BLANK) else "{}")
    except (JsoncError, RecursionError) as error:
        raise SettingsError(f"{name} is not changed, for it does not parse ({error}): repair it first") from error
    if not is_object(root.value):
        raise SettingsError(f"{name} is not changed: it holds no object")
    return root


def settings_in(text: str, name: str) -> dict[str, Any]:
    """Return the value of the same.

    Raises:
        SettingsError: As `parsed`.
    """
    try:
        # Claude Code keeps megabytes in one of its files, which our own reader takes seconds for.
        value: object = json.loads(text.strip(BLANK))
    except (ValueError, RecursionError):
        value = None
    return value if is_object(value) else parsed(text, name).value


def before_us(original: str) -> dict[str, Any]:
    """Return the settings in the text of a file from before us; none for a text that does not parse."""
    try:
        return settings_in(original, "")
    except SettingsError:
        return {}


def is_bare(text: str, own: Collection[str], empty: Collection[str]) -> bool:
    """Return whether a text of settings holds nothing of anyone: no comment, and no members but these.

    Args:
        text: Text of the file.
        own: Members that every new file of the client has, beside the version or schema that clients note.
        empty: Members that may be there without content.
    """
    try:
        value = json.loads(text.strip(BLANK) or "{}")
    except ValueError:  # A comment is somebody's.
        return False
    if not is_object(value):
        return False
    return all(key in own or key.startswith("$") or (key in empty and part == {}) for key, part in value.items())


# --- the command ------------------------------------------------------------------------------------------
#
# What an agent runs for an event, for one machine or portable, and how a command of ours is known.


ENTRY = Path(__file__).resolve().parents[2] / "entry.py"
"""The script that starts the hook without site-packages being searched."""

_OURS = re.compile(
    r"(?:(?:^|[\s/\\;&|(])hybrid(?:\.exe|\.cmd)?|\bhybrid[/\\](?:hooks[/\\])?entry\.py)"
    r"\s+hook\s+(?:run\s+--client\s+\w|inject-context\b)"
)
"""Our program, or our file, and at once the words that we are called with: others have `hybrid` in their names."""
_NOTE = re.compile(r"(?:^|\s)#\s.*")
_QUOTES = re.compile(r"""["'\\]?["']""")
_GUARD = '"$0" "$@" 2>/dev/null || :'
"""For `sh`: run the words that follow. Python ends with 2 where a file is gone, which takes the user's prompt away."""
_OPEN = (
    "import sys\np = sys.argv.pop(1)\ntry: f = open(p, encoding='utf-8')\nexcept OSError: sys.exit(0)\n"
    "exec(compile(f.read(), p, 'exec'), {'__name__': '__main__', '__file__': p})"
)
"""For Python where there is no `sh`: run a file if it is still there. An interpreter that is gone is not caught."""
_SAFE_WORD = re.compile(r"[\w./:\\=+-]+\Z")


class Launcher(Struct, frozen=True):
    """The words that start us.

    Attributes:
        program: Words before `hook run`; empty for the portable form, which finds `hybrid` on the PATH and is silent
            where it is not installed.
        platform: As `sys.platform`; decides how words are quoted.
    """

    program: tuple[str, ...] = ()
    platform: str = sys.platform

    @property
    def is_portable(self) -> bool:
        """Return whether no path of this machine stands in the command."""
        return not self.program


PORTABLE = Launcher()


def absolute_launcher(python: str = sys.executable) -> Launcher:
    """Return our own interpreter, as it was called (that of a virtual environment is a link), and our own file.

    `-I` and `-S`: neither the project's folder nor PYTHONPATH is searched, and site-packages costs no time.
    """
    return Launcher((python, "-I", "-S", str(ENTRY)))


def arguments(client: str, event: str) -> list[str]:
    """Return the words that follow the program: `hook run` with client and event."""
    return ["hook", "run", "--client", client, "--event", event]


def portable_line(client: str, event: str) -> str:
    """Return a shell line without any path: no error and no output where `hybrid` is not installed."""
    return f"hybrid {' '.join(arguments(client, event))} 2>/dev/null || true"


def as_words(launcher: Launcher, *, client: str, event: str) -> list[str]:
    """Return the command word by word, for clients that need no shell; it ends with 0 also where we were uninstalled.

    Args:
        launcher: How to start us; not the portable one.
        client: Name of the client.
        event: The client's word for the event.
    """
    if launcher.platform != "win32":
        return ["/bin/sh", "-c", _GUARD, *launcher.program, *arguments(client, event)]
    *program, entry = launcher.program
    return [*program, "-c", _OPEN, entry, *arguments(client, event)]


def as_line(launcher: Launcher, *, client: str, event: str, windows_shell: str = "cmd") -> str:
    """Return the command as one line for a shell; it ends with 0 also where we were uninstalled.

    Args:
        launcher: How to start us.
        client: Name of the client.
        event: The client's word for the event.
        windows_shell: What runs it on Windows: `cmd`, or `powershell`, where a quoted program needs a call sign.
    """
    if launcher.is_portable:
        return portable_line(client, event)
    words = [*launcher.program, *arguments(client, event)]
    if launcher.platform != "win32":
        return f"{shlex.join(words)} 2>/dev/null || true"
    if windows_shell == "cmd":
        return f"{subprocess.list2cmdline(words)} 2>nul || exit /b 0"
    quoted = [word if _SAFE_WORD.match(word) else "'" + word.replace("'", "''") + "'" for word in words]
    line = " ".join(["&", *quoted] if quoted[0].startswith("'") else quoted)
    return f"try {{ {line} 2>$null }} catch {{ }}; exit 0"


_TIMEOUT_S = 5
"""Seconds that a client waits for a hook; hybrid gives up long before (`hooks.deadline_ms`)."""

_END_TIMEOUT_S = 3
"""Seconds that a client waits for a hook at the end of a session: Codex allows no more, Claude Code 1.5 unless told."""


def handler_of(client: Client, event: str, launcher: Launcher) -> dict[str, Any]:
    """Return the client's object for the command of an event, in its own word for it.

    In the entry of the client's file stand for themselves: `{line}`, one line for a shell, `{program}` and
    `{arguments}`, the same word by word, `{powershell}`, a portable line for that shell; `{seconds}` and
    `{milliseconds}`, the time that the client waits.
    """
    hooks, name = client.hooks, client.name
    assert hooks is not None
    timeout_s = _END_TIMEOUT_S if client.events.get(event) == "SessionEnd" else _TIMEOUT_S
    line = as_line(launcher, client=name, event=event, windows_shell=hooks.windows_shell)
    marks: dict[str, Any] = {"{line}": line, "{seconds}": timeout_s, "{milliseconds}": timeout_s * 1000}
    if not launcher.is_portable:
        marks["{program}"], *marks["{arguments}"] = as_words(launcher, client=name, event=event)
        return filled(hooks.entry, marks)
    # PowerShell has neither `||` nor a null device in its first versions.
    marks["{powershell}"] = f"try {{ hybrid {' '.join(arguments(name, event))} 2>$null }} catch {{ }}; exit 0"
    return filled(hooks.shared_entry or hooks.entry, marks)


def filled(entry: Mapping[str, Any], marks: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of a client's file with values in the place of its marks."""
    return {
        key: marks[value] if isinstance(value, str) and value.startswith("{") else value for key, value in entry.items()
    }


@cache
def _keys() -> tuple[str, ...]:
    """Return the keys of a handler that say what it runs, in the order of the words, for any client."""
    entries = (client.hooks.entry.items() for client in clients().values() if client.hooks)
    named = (key for entry in entries for key, value in entry if value in ("{line}", "{program}", "{arguments}"))
    return tuple(dict.fromkeys(("command", "exec", "args", "bash", "powershell", *named)))


def command_text(handler: Mapping[str, Any]) -> str:
    """Return all that a handler of any client runs, as one text."""
    parts = [handler.get(key) for key in _keys()]
    words = [part if is_list(part) else [part] for part in parts if part]
    return " ".join(str(word) for group in words for word in group)


def is_ours(handler: object) -> bool:
    """Return whether a handler calls us: in today's form, as the older `hybrid hook inject-context`, or wrapped."""
    return is_object(handler) and bool(_OURS.search(_NOTE.sub("", _QUOTES.sub("", command_text(handler)))))


def program_of(handler: Mapping[str, Any]) -> str:
    """Return the program that a handler starts, or that our guard in it runs; empty when it cannot be told."""
    words = handler.get("args")
    if is_list(words) and words[:2] == ["-c", _GUARD] and len(words) > 2:
        return str(words[2])
    named = (handler.get(key) for key in ("exec", *_keys()))
    command = next((text for text in named if isinstance(text, str) and text), "")
    if handler.get("args") or handler.get("exec"):
        return command
    try:
        words = shlex.split(command.removeprefix("try { ").removeprefix("& "), posix="\\" not in command)
    except ValueError:
        words = command.split()
    return words[0].strip("\"'") if words else ""
