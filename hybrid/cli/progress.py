"""Shows how far a build is on a terminal; silent in a pipe, in quiet mode and for short work."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hybrid.cli.streams import marked_path
from hybrid.index.plan import silent

if TYPE_CHECKING:
    from collections.abc import Generator

    from rich.progress import ProgressColumn

    from hybrid.index.plan import Progress

_LABELS = {"scan": "Finding files", "read": "Reading and embedding", "write": "Writing the index"}
_SHOWN_AFTER_S = 0.3
_LABEL_COLUMNS, _BAR_COLUMNS = 36, 60
"""Widths of a terminal from which on there is room for the name of the step, and for a bar."""


@contextmanager
def build_progress(*, is_quiet: bool) -> Generator[Progress]:
    """A `Progress` that draws a bar on standard error, when that is a terminal."""
    if is_quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=marked_path(sys.stderr))
    # On a narrow terminal the numbers would be the first to go.
    columns: list[ProgressColumn] = [MofNCompleteColumn()]
    if console.width >= _LABEL_COLUMNS:
        columns = [TextColumn("{task.description}"), *columns]
    if console.width >= _BAR_COLUMNS:
        columns = [columns[0], BarColumn(), columns[1], TimeRemainingColumn()]
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("Finding files", total=None)
    started = time.monotonic()

    def report(step: str, done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - started > _SHOWN_AFTER_S:
            bar.start()
        bar.update(task, description=_LABELS.get(step, step), completed=done, total=total or None)

    try:
        yield report
    finally:
        bar.stop()
