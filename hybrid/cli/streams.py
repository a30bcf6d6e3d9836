"""The standard streams of a command: UTF-8, and nothing that a terminal obeys unless it is our own.

`hybrid.cli.main` puts them in place for the time of a command. Whatever writes to `sys.stdout` or `sys.stderr` (a
command, argparse, a warning, a traceback) goes through them.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from hybrid.render.visible import visible

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable


class VisibleStream:
    """A text stream that shows control and invisible characters as marks; all else is the stream below."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write text with marks; returns the number of characters of the text as it was given."""
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextlib.contextmanager
def visible_streams() -> Generator[None]:
    """Give the process standard streams where its caller closed them, UTF-8, and marks, until the command ends.

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
    """The stream below, for colours and cursor movements of our own; whoever writes there makes its texts visible."""
    return stream.raw if isinstance(stream, VisibleStream) else stream
