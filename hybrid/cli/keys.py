"""Waits for a key of the terminal, for commands that stay; where standard input is none, only time goes by."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_LOOK_S = 0.05


@contextlib.contextmanager
def key_presses() -> Generator[Callable[[float], str]]:
    """Give the block a function that waits so many seconds for a key and returns it; empty when none was pressed.

    Keys need no return meanwhile and are not shown. A terminal that went away is Ctrl-D.
    """
    if not sys.stdin.isatty():
        yield _only_wait
    elif sys.platform == "win32":
        yield _windows_key
    else:
        with _without_return(sys.stdin.fileno()):
            yield _posix_key


def _only_wait(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def _posix_key(seconds: float) -> str:
    import select

    if not select.select([sys.stdin.fileno()], [], [], seconds)[0]:
        return ""
    data = os.read(sys.stdin.fileno(), 64)
    # Arrows and the like are several bytes, the first of which is no letter.
    return data[:1].decode("ascii", "replace") if data else "\x04"


@contextlib.contextmanager
def _without_return(descriptor: int) -> Generator[None]:
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _windows_key(seconds: float) -> str:
    import msvcrt

    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        if msvcrt.kbhit():  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - of Windows
            return str(msvcrt.getwch())  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        time.sleep(_LOOK_S)
    return ""
