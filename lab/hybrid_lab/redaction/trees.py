"""Counts what redaction would replace in the files of real repositories; `hybrid eval redaction REPO` calls it.

Whether a replacement is right only a person can say: each is shown in its line, by its first three characters.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.redact import find_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from hybrid.redact import Secret

_MAX_BYTES = 5_000_000
_GIT_TIMEOUT_S = 60
_SHOWN_CHARS = 3
_AROUND_CHARS = 80


class Replacement(Struct, frozen=True):
    """One text that redaction would replace.

    Attributes:
        path: Of the file, in the repository.
        line: From 1.
        kind: As redaction names it.
        begins: The first three characters.
        n_chars: Length of what is replaced.
        shown: The line, cut around what is replaced, of which the first characters stay.
    """

    path: str
    line: int
    kind: str
    begins: str
    n_chars: int
    shown: str


class TreeReport(Struct, frozen=True):
    """The texts that redaction would replace in a repository.

    Attributes:
        name: Folder of the repository.
        files: Text files looked through.
        lines: Of all of them.
        size_chars: Of all of them.
        seconds: Time that looking took.
        replacements: All, in the order of files and lines.
    """

    name: str
    files: int
    lines: int
    size_chars: int
    seconds: float
    replacements: tuple[Replacement, ...]

    def as_json(self) -> dict[str, Any]:
        """The JSON of the report."""
        n = len(self.replacements)
        return {
            "name": self.name,
            "files": self.files,
            "lines": self.lines,
            "size_chars": self.size_chars,
            "replaced": n,
            "files_with": len({one.path for one in self.replacements}),
            "per_1000_files": 1000 * n / self.files if self.files else None,
            "per_1000_lines": 1000 * n / self.lines if self.lines else None,
            "per_megabyte": n / (self.size_chars / 1e6) if self.size_chars else None,
            "seconds": round(self.seconds, 3),
            "kinds": dict(Counter(one.kind for one in self.replacements).most_common()),
            "samples": [asdict(one) for one in self.replacements],
        }


def evaluate_tree(root: Path, environ: Mapping[str, str]) -> TreeReport:
    """Look for secrets in every text file of a folder that git tracks; in every file where git does not say.

    Args:
        root: A folder.
        environ: For git.
    """
    found: list[Replacement] = []
    files = lines = size = 0
    elapsed_s = 0.0
    for path, text in _texts(root, environ):
        started = time.perf_counter()
        secrets = find_secrets(text)
        elapsed_s += time.perf_counter() - started
        files, lines, size = files + 1, lines + text.count("\n"), size + len(text)
        for one in secrets:
            line = text.count("\n", 0, one.start) + 1
            begins = text[one.start : one.start + _SHOWN_CHARS]
            found.append(Replacement(path, line, one.kind, begins, one.end - one.start, _shown(text, one)))
    return TreeReport(root.resolve().name, files, lines, size, elapsed_s, tuple(found))


def _shown(text: str, one: Secret) -> str:
    """The line of a replacement, of which only the first characters are shown."""
    start = max(text.rfind("\n", 0, one.start) + 1, one.start - _AROUND_CHARS)
    end = text.find("\n", one.end)
    end = min(end if end >= 0 else len(text), one.end + _AROUND_CHARS // 2)
    hidden = text[one.start : one.start + _SHOWN_CHARS].partition("\n")[0]
    return f"{text[start : one.start].lstrip()}[{hidden}…]{text[one.end : end].rstrip()}"


def _texts(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for path in _tracked(root, environ):
        file = root / path
        try:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_BYTES:
                continue
            raw = file.read_bytes()
        except OSError:
            continue
        if b"\0" not in raw:
            yield path, raw.decode("utf-8", "replace")


def _tracked(root: Path, environ: Mapping[str, str]) -> list[str]:
    command = ["git", "-C", os.fspath(root), "ls-files", "-z"]
    try:
        listed = subprocess.run(command, env=dict(environ), capture_output=True, timeout=_GIT_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return sorted(file.relative_to(root).as_posix() for file in root.rglob("*") if ".git" not in file.parts)
    return [os.fsdecode(name) for name in sorted(listed.stdout.split(b"\0")) if name]
