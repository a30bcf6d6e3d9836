"""Standard output and standard error: their encoding, a reader that goes away, and progress for a person."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from hybrid.render.marks import harmless

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from rich.progress import ProgressColumn

    from hybrid.index.plan import Progress


class VisibleStream:
    """A text stream through which people and agents get no text but what `harmless` leaves; else the stream below."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write harmless text; returns the number of characters of the text as it was given."""
        self.raw.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextlib.contextmanager
def visible_streams() -> Generator[None]:
    """Give the block standard streams in UTF-8 that show marks, with the null device for those that are closed.

    Python leaves None in the place of a closed stream. A file name that is not UTF-8 is shown with its bytes escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout, sys.stderr = (cast("TextIO", VisibleStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def marked_path(stream: TextIO) -> TextIO:
    """Return the stream below a `VisibleStream`, for text that was made harmless before, or the stream itself."""
    return stream.raw if isinstance(stream, VisibleStream) else stream


# --- progress ---------------------------------------------------------------------------------------------


_LABELS = {
    "scan": "Finding files",
    "read": "Reading and embedding",
    "write": "Writing the index",
    "merge": "Merging segments",
}
_SHOWN_AFTER_S = 0.3
"""Seconds after which a bar is drawn: one that vanishes at once only flickers."""
_LABEL_COLUMNS, _BAR_COLUMNS = 36, 60
"""Widths of a terminal from which on there is room for the name of the step, and for a bar."""


@contextmanager
def build_progress(*, is_quiet: bool) -> Generator[Progress]:
    """Give a `Progress` that draws a bar on standard error; one that shows nothing when quiet or not on a terminal."""
    if is_quiet or not sys.stderr.isatty():
        # Every command imports this module, few of them build.
        from hybrid.index.plan import silent

        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=marked_path(sys.stderr))
    # On a narrow terminal the numbers would be the first to go.
    columns: list[ProgressColumn] = [TextColumn("{task.fields[count]}")]
    if console.width >= _LABEL_COLUMNS:
        columns = [TextColumn("{task.description}"), *columns]
    if console.width >= _BAR_COLUMNS:
        columns = [columns[0], BarColumn(), columns[1], TimeRemainingColumn()]
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("Finding files", total=None, count="")
    started = time.monotonic()

    def report(step: str, done: int, total: int, share: float = 0.0) -> None:
        if not bar.live.is_started and time.monotonic() - started > _SHOWN_AFTER_S:
            bar.start()
        count = f"{done}/{total or '?'}"
        # The bar and the time left are those of the whole build.
        completed, whole = (share, 1.0) if share else (float(done), float(total) if total else None)
        bar.update(task, description=_LABELS.get(step, step), completed=completed, total=whole, count=count)

    try:
        yield report
    finally:
        bar.stop()
