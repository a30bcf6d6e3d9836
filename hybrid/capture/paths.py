"""Paths of a tool use as they are kept: relative to the project, the home as `~`; and the files in a command line."""

from __future__ import annotations

import os
import posixpath
import re
import shlex

from msgspec import Struct, field

from hybrid.capture.dialects import without_bodies

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_MOUNTED = re.compile(r"^/(?:(?:cygdrive/|mnt/)?([A-Za-z])|([A-Za-z]):)(?=/|$)")
"""A drive as the shells for Windows and addresses of files spell it: `/c/Users`, `/mnt/c/Users`, `/C:/Users`."""
_READING = frozenset("cat bat head tail less more nl wc sed awk jq diff stat file".split())
_SEARCHING = frozenset("grep egrep fgrep rg ag".split())
_WRITING = frozenset("tee touch rm".split())
_PIECES = re.compile(r"&&|\|\||[;\n|]")
_REDIRECTED = re.compile(r"(?<![0-9&>])>>?\s*([^\s;&|<>]+)")
_PATH = re.compile(r"^[\w.~$/\\@+-][\w.~$/\\@+ -]*$")
_MAX_COMMAND = 4_000


class Places(Struct, frozen=True, eq=False):
    """Where a use took place.

    Attributes:
        root: Of the project, absolute.
        cwd: Where relative paths begin.
        home: The user's home, or empty.
    """

    root: str
    cwd: str
    home: str = ""
    _resolved: dict[str, str] = field(default_factory=dict[str, str])

    def relative(self, path: str) -> str:
        """A path relative to the project with forward slashes; absolute when outside, the home as `~`.

        Links to the project are followed where the path does not begin with its root. Where the root lies on Windows,
        letter case does not count, and the forms of its shells (`/c/Users`) are read too.
        """
        is_windows = _is_windows(self.root)
        path = _plain(path.strip().strip("'\"").removeprefix("file://"), is_windows)
        if not (path.startswith(("/", "~", "$")) or _DRIVE.match(path)):
            path = posixpath.join(_plain(self.cwd, is_windows), path) if self.cwd else path
        path = posixpath.normpath(path) if path else ""
        inside = _below(path, _plain(self.root, is_windows), is_windows)
        if inside is None:
            inside = self._below_by_links(path)
        if inside is not None:
            return inside or "."
        home = _plain(self.home, is_windows)
        tail = _below(path, home, is_windows) if len(home) > 1 else None
        return path if tail is None else f"~/{tail}" if tail else "~"

    def shortened(self, text: str) -> str:
        """Text in which the project's paths are relative and the home is `~`."""
        if _is_windows(self.root):
            for base, instead in ((self.root, ""), (self.home, "~/")):
                if len(base) > 3:
                    text = _windows_paths(base).sub(lambda match, to=instead: to + _slashes(match[1]), text)
            return text
        for root in self._roots():
            if len(root) > 3:
                text = text.replace(root.rstrip("/\\") + "/", "")
        if len(self.home) > 3:
            text = text.replace(self.home.rstrip("/\\") + "/", "~/")
        return text

    def _roots(self) -> list[str]:
        """The root, and how it is called where the use took place, if that is below it by a link."""
        cwd = posixpath.normpath(self.cwd) if self.cwd else ""
        if not cwd or _below(cwd, self.root, is_windows=False) is not None:
            return [self.root]
        inside = self._below_by_links(cwd)
        if inside is None or not f"{cwd}/".endswith(f"/{inside}/" if inside else "/"):
            return [self.root]
        alias = cwd[: -len(inside) - 1] if inside else cwd
        return [*dict.fromkeys((self.root, alias, self._real(self.root)))]

    def _below_by_links(self, path: str) -> str | None:
        """The part below the root of a path that leads there by links; None when it does not, or is no path of here."""
        is_windows = _is_windows(self.root)
        if is_windows != (os.name == "nt") or not (is_windows or self.root.startswith("/")):
            return None
        if not (_DRIVE.match(path) if is_windows else path.startswith("/")) or path.startswith("//"):
            return None
        root = self._real(self.root)
        parent, name = posixpath.split(path)
        inside = _below(posixpath.join(self._real(parent), name), root, is_windows)
        return _below(self._real(path), root, is_windows) if inside is None else inside

    def _real(self, path: str) -> str:
        """A path without links, looked up once."""
        found = self._resolved.get(path)
        if found is None:
            try:
                found = _plain(os.path.realpath(path), _is_windows(self.root))
            except (OSError, ValueError):  # A circle of links, a null byte.
                found = path
            self._resolved[path] = found
        return found


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
    """Return whether a word looks like a file's name: with a suffix or a folder."""
    return _is_path(word) and ("/" in word or "." in word.strip(".")) and not word.startswith(("s/", "HEAD", "origin/"))


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if "\\" in path else path


def _is_windows(root: str) -> bool:
    """Return whether a project lies on Windows, by its root: a drive, or a share."""
    return bool(_DRIVE.match(root)) or root.startswith("\\\\")


def _plain(path: str, is_windows: bool) -> str:
    """A path with forward slashes; on Windows with its drive in one form."""
    path = _slashes(path)
    if is_windows:
        path = path.removeprefix("//?/")
        path = _MOUNTED.sub(lambda match: f"{match[1] or match[2]}:", path)
        path = path[:1].upper() + path[1:] if _DRIVE.match(path) else path
    return path


def _below(path: str, base: str, is_windows: bool) -> str | None:
    """The part of a path below a folder, empty for the folder itself; None when it is not there."""
    if not base:
        return None
    base = base.rstrip("/")
    begin, wanted = (path[: len(base)].lower(), base.lower()) if is_windows else (path[: len(base)], base)
    if begin != wanted or path[len(base) : len(base) + 1] not in ("", "/"):
        return None
    return path[len(base) + 1 :]


def _windows_paths(base: str) -> re.Pattern[str]:
    """Matches paths below a folder in any form of Windows and its shells; the group is what comes after the folder."""
    base = _plain(base, is_windows=True).rstrip("/")
    drive, rest = (base[0], base[2:]) if _DRIVE.match(base) else ("", base)
    begin = rf"(?:\\\\\?\\)?(?:/?{drive}:|/(?:cygdrive/|mnt/)?{drive})" if drive else r"[\\/]"
    names = "".join(rf"[\\/]{{1,2}}{re.escape(name)}" for name in rest.split("/") if name)
    return re.compile(rf"(?<![\w.]){begin}{names}[\\/]{{1,2}}([\w.@+~\\/-]*)", re.IGNORECASE)
