"""Makes the C library give memory back to the system after a large event; does nothing where it cannot be asked."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""Parameters of `mallopt`, as glibc's `malloc.h` numbers them."""

_KEPT_BYTES = 4_000_000
"""Larger blocks go back as soon as they are free, and so much stays at the end of each heap. By itself glibc learns to
keep 64 MB in the heap of every thread, which `malloc_trim` does not touch."""


@cache
def keep_little_memory() -> None:
    """Let large blocks go back to the system at once; costs them a few page faults. Called before the first one."""
    glibc = _glibc()
    if glibc is not None:
        glibc.mallopt(_MMAP_THRESHOLD, _KEPT_BYTES)
        glibc.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def give_back_memory() -> None:
    """Give back what is free between blocks that are not; a few milliseconds."""
    glibc = _glibc()
    if glibc is not None:
        glibc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library of Linux systems with glibc; others give back by themselves, or cannot be asked."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
