"""The command that an agent runs for an event, for one machine or portable, and how a command of ours is known."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.hooks.install.jsonc import is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def command_text(handler: Mapping[str, Any]) -> str:
    """Return all that a handler of any client runs, as one text."""
    parts = [handler.get(key) for key in ("command", "exec", "args", "bash", "powershell")]
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
    if isinstance(handler.get("exec"), str):
        return handler["exec"]
    command = str(handler.get("command") or handler.get("bash") or "")
    if handler.get("args"):
        return command
    try:
        words = shlex.split(command.removeprefix("try { ").removeprefix("& "), posix="\\" not in command)
    except ValueError:
        words = command.split()
    return words[0].strip("\"'") if words else ""
