"""Paths of a tool use as they are kept: relative to the project, the home as `~`; and the files in a command line."""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass

from hybrid.capture.dialects import without_bodies

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_READING = frozenset("cat bat head tail less more nl wc sed awk jq diff stat file".split())
_SEARCHING = frozenset("grep egrep fgrep rg ag".split())
_WRITING = frozenset("tee touch rm".split())
_PIECES = re.compile(r"&&|\|\||[;\n|]")
_REDIRECTED = re.compile(r"(?<![0-9&>])>>?\s*([^\s;&|<>]+)")
_PATH = re.compile(r"^[\w.~$/\\@+-][\w.~$/\\@+ -]*$")
_MAX_COMMAND = 4_000


@dataclass(frozen=True, slots=True)
class Places:
    """Where a use took place.

    Attributes:
        root: Of the project, absolute.
        cwd: Where relative paths begin.
        home: The user's home, or empty.
    """

    root: str
    cwd: str
    home: str = ""

    def relative(self, path: str) -> str:
        """A path relative to the project with forward slashes; absolute when outside, the home as `~`."""
        root, cwd, home = _slashes(self.root), _slashes(self.cwd), _slashes(self.home)
        path = _slashes(path.strip().strip("'\"").removeprefix("file://"))
        if not (path.startswith(("/", "~", "$")) or _DRIVE.match(path)):
            path = posixpath.join(cwd, path) if cwd else path
        path = posixpath.normpath(path) if path else ""
        if root and path.startswith(root.rstrip("/") + "/"):
            return path[len(root.rstrip("/")) + 1 :]
        if root and path == root.rstrip("/"):
            return "."
        if len(home) > 1 and (path == home or path.startswith(home + "/")):
            return "~" + path[len(home) :]
        return path

    def shortened(self, text: str) -> str:
        """Text in which the project's paths are relative and the home is `~`."""
        if len(self.root) > 3:
            text = text.replace(self.root.rstrip("/\\") + "/", "")
        if len(self.home) > 3:
            text = text.replace(self.home.rstrip("/\\") + "/", "~/")
        return text


def files_of_command(command: str) -> tuple[list[str], list[str]]:
    """The files that a command line reads and writes, as it names them, by the programs that are known for it."""
    command = without_bodies(command[:_MAX_COMMAND])
    read: list[str] = []
    written = [path for path in _REDIRECTED.findall(command) if _is_path(path) and not path.startswith(("/dev/", "&"))]
    for piece in _PIECES.split(_REDIRECTED.sub(" ", command)):
        words = _words(piece)
        if not words:
            continue
        program, plain = words[0].rpartition("/")[2], [word for word in words[1:] if not word.startswith("-")]
        if program == "git" and plain[:1] and plain[0] in ("diff", "add", "show", "blame", "restore", "rm"):
            read += [word for word in plain[1:] if _is_file(word)]
        elif program == "sed" and any(word.startswith(("-i", "--in-place")) for word in words[1:]):
            written += [word for word in plain[1:] if _is_file(word)]
        elif program in _READING or program in _SEARCHING:
            skip = 1 if program in _SEARCHING or program in ("sed", "awk", "jq") else 0
            read += [word for word in plain[skip:] if _is_file(word)]
        elif program in _WRITING:
            written += [word for word in plain if _is_file(word)]
        elif program in ("cp", "mv") and len(plain) >= 2:
            read += plain[:-1] if program == "cp" else []
            written += plain[-1:] if program == "cp" else plain
    return read, written


def _words(piece: str) -> list[str]:
    try:
        words = shlex.split(piece)
    except ValueError:
        words = piece.split()
    while words and ("=" in words[0] or words[0] in ("sudo", "env", "time", "command")):
        words = words[1:]
    return words


def _is_path(word: str) -> bool:
    return bool(_PATH.match(word)) and not word.isdigit()


def _is_file(word: str) -> bool:
    """Whether a word looks like a file's name: with a suffix or a folder."""
    return _is_path(word) and ("/" in word or "." in word.strip(".")) and not word.startswith(("s/", "HEAD", "origin/"))


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if "\\" in path else path
