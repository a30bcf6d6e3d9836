"""Reads chunks again from the files of a working tree, just before they are shown; what changed since is not shown."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.digest import chunk_digest
from hybrid.index.analysis import chunk_text
from hybrid.redact import mask, redact
from hybrid.sources.files import FileReader

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import Hit

_KEPT_CHARS = 40_000
"""Longer files are masked anew each time: the texts that a service keeps stay below ten megabytes."""


class SpanReader:
    """Texts of hits as they may be shown; each file is read once."""

    def __init__(self, root: Path, *, max_file_bytes: int, redact: bool) -> None:
        """A reader of the files below a folder.

        Args:
            root: Of the working tree.
            max_file_bytes: A longer file is not read.
            redact: Replace secrets in texts and paths.
        """
        self._source = FileReader(root, max_file_bytes)
        self._is_redacting = redact
        self._files: dict[str, _File | None] = {}
        self._texts: dict[tuple[str, int, int, bytes], str | None] = {}
        self._shown_paths: dict[str, str] = {}

    def text(self, hit: Hit) -> str | None:
        """The chunk's text as it stands in the file now; None when the file is gone or the text is another."""
        key = (hit.path, hit.start_line, hit.end_line, hit.digest)
        if key not in self._texts:
            self._texts[key] = self._read(hit)
        return self._texts[key]

    def _read(self, hit: Hit) -> str | None:
        if hit.path not in self._files:
            text = self._source.read_text(hit.path)
            self._files[hit.path] = None if text is None else _File(text)
        file = self._files[hit.path]
        if file is None or hit.end_line > len(file.lines):
            return None
        text = chunk_text(file.lines, hit.start_line, hit.end_line)
        if chunk_digest(text) != hit.digest:
            return None
        return chunk_text(file.masked_lines, hit.start_line, hit.end_line) if self._is_redacting else text

    def shown(self, hit: Hit) -> Hit:
        """The hit with its path as it may be shown; the rest of it comes without secrets from the index."""
        if not self._is_redacting:
            return hit
        path = self._shown_paths.get(hit.path)
        if path is None:
            path = self._shown_paths[hit.path] = redact(hit.path)
        return hit if path == hit.path else replace(hit, path=path)


class _File:
    """The lines of a file, and the same without the secrets that the whole file shows."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.lines = text.split("\n")

    @cached_property
    def masked_lines(self) -> list[str]:
        """As many as there are lines."""
        masked = _masked(self._text) if len(self._text) <= _KEPT_CHARS else mask(self._text)
        return self.lines if masked == self._text else masked.split("\n")


@lru_cache(maxsize=128)
def _masked(text: str) -> str:
    """As `mask`; prompts of a session come back to the same files."""
    return mask(text)
