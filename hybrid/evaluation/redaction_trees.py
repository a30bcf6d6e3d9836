"""Counts what redaction would replace in the files of real repositories; `hybrid eval redaction REPO` calls it.

Whether a replacement is right only a person can say: samples show where it is and its first three characters.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hybrid.redact import find_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MAX_BYTES = 5_000_000
_GIT_TIMEOUT_S = 60
_SHOWN_CHARS = 3


@dataclass(frozen=True, slots=True)
class Replacement:
    """What would be replaced.

    Attributes:
        path: Of the file, in the repository.
        line: From 1.
        kind: As redaction names it.
        begins: The first three characters.
        n_chars: Length of what is replaced.
    """

    path: str
    line: int
    kind: str
    begins: str
    n_chars: int


@dataclass(frozen=True, slots=True)
class TreeReport:
    """What redaction does to a repository.

    Attributes:
        name: Folder of the repository.
        files: Text files looked through.
        size_chars: Of all of them.
        seconds: Time that looking took.
        replacements: All, in the order of files and lines.
    """

    name: str
    files: int
    size_chars: int
    seconds: float
    replacements: tuple[Replacement, ...]

    def as_json(self) -> dict[str, Any]:
        """The JSON of the report."""
        n = len(self.replacements)
        return {
            "name": self.name,
            "files": self.files,
            "size_chars": self.size_chars,
            "replaced": n,
            "files_with": len({one.path for one in self.replacements}),
            "per_1000_files": 1000 * n / self.files if self.files else None,
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
    files = size = 0
    elapsed_s = 0.0
    for path, text in _texts(root, environ):
        started = time.perf_counter()
        secrets = find_secrets(text)
        elapsed_s += time.perf_counter() - started
        files, size = files + 1, size + len(text)
        for one in secrets:
            line = text.count("\n", 0, one.start) + 1
            begins = text[one.start : one.start + _SHOWN_CHARS]
            found.append(Replacement(path, line, one.kind, begins, one.end - one.start))
    return TreeReport(root.resolve().name, files, size, elapsed_s, tuple(found))


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
