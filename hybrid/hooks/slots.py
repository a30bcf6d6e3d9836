"""Places for hook processes that answer by themselves: more than a few would keep the service from starting."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.atomic import locked
from hybrid.ipc.endpoint import run_folder

if TYPE_CHECKING:
    from collections.abc import Generator

_PLACES = 2


@contextlib.contextmanager
def place(home: str) -> Generator[bool]:
    """One of the places for the block; False when all are taken. The system frees that of a process that died.

    Where no file can be written no service can start either, so nobody is in its way.
    """
    paths = [Path(run_folder(home)) / f"here.{n}.lock" for n in range(_PLACES)]
    with contextlib.ExitStack() as stack:
        is_mine = any(stack.enter_context(locked(path, 0)) for path in paths)
        yield is_mine or not any(os.access(path, os.W_OK) for path in paths)
