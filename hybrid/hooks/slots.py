"""Places for hook processes that answer by themselves: more than a few would keep the service from starting."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.atomic import locked
from hybrid.ipc.endpoint import run_folder

if TYPE_CHECKING:
    from collections.abc import Generator

_PLACES = 2


@contextlib.contextmanager
def place(home: str) -> Generator[bool]:
    """One of the places for the block; False when all are taken. The system frees that of a process that died."""
    folder = Path(run_folder(home))
    with contextlib.ExitStack() as stack:
        yield any(stack.enter_context(locked(folder / f"here.{n}.lock", 0)) for n in range(_PLACES))
