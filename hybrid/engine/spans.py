"""Reads chunks again from the files of a working tree, just before they are shown; what changed since is not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.digest import chunk_digest
from hybrid.index.analysis import chunk_text
from hybrid.sources.files import FileSource

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import Hit


class SpanReader:
    """Texts of hits; each file is read once."""

    def __init__(self, root: Path, *, max_file_bytes: int) -> None:
        self._source = FileSource(
            root,
            language_of=lambda _path, _text: None,
            kind_of=lambda _path, _language: "code",
            max_file_bytes=max_file_bytes,
        )
        self._lines: dict[str, list[str] | None] = {}

    def text(self, hit: Hit) -> str | None:
        """The chunk's text as it stands in the file now; None when the file is gone or the text is another."""
        if hit.path not in self._lines:
            text = self._source.read_text(hit.path)
            self._lines[hit.path] = None if text is None else text.split("\n")
        lines = self._lines[hit.path]
        if lines is None or hit.end_line > len(lines):
            return None
        text = chunk_text(lines, hit.start_line, hit.end_line)
        return text if chunk_digest(text) == hit.digest else None
