"""Takes times and sums them up: median, 95th percentile, and the ratio to something timed in the same run.

`speed` and its parts call it. Nothing here judges a time.
"""

from __future__ import annotations

import math
import os
import platform
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    T = TypeVar("T")


class Times(Struct, frozen=True):
    """Times of one thing done repeatedly.

    Attributes:
        n: How often.
        median_ms: Middle one.
        p95_ms: 95 % were at most this long.
        min_ms: Shortest.
    """

    n: int
    median_ms: float
    p95_ms: float
    min_ms: float

    def as_json(self, **ratios: float) -> dict[str, Any]:
        """Rounded, with ratios of the median to other medians under their names."""
        return {key: round(value, 4) for key, value in asdict(self).items()} | {
            name: round(self.median_ms / base, 3) if base else None for name, base in ratios.items()
        }


def sum_up(times_ms: Sequence[float]) -> Times:
    """The summary of at least one time; the percentile is the nearest rank."""
    ordered = sorted(times_ms)
    return Times(len(ordered), median(ordered), ordered[math.ceil(0.95 * len(ordered)) - 1], ordered[0])


def timed(action: Callable[[], T]) -> tuple[T, float]:
    """The result of one call, and its wall time in milliseconds."""
    started = time.perf_counter()
    result = action()
    return result, (time.perf_counter() - started) * 1000


def time_ms(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    return timed(action)[1]


def time_each(action: Callable[[T], object], arguments: Iterable[T]) -> list[float]:
    """Wall time of a call with each argument, after one call that is not counted."""
    listed = list(arguments)
    for argument in listed[:1]:
        action(argument)
    return [time_ms(lambda argument=argument: action(argument)) for argument in listed]


def alternate(first: Callable[[], object], second: Callable[[], object], n: int) -> tuple[list[float], list[float]]:
    """Wall times of two actions in turn, so that whatever slows the machine meets both; one round is not counted."""
    first()
    second()
    pairs = [(time_ms(first), time_ms(second)) for _ in range(n)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def machine() -> dict[str, Any]:
    """What the figures were taken on, and how busy it was."""
    import numpy as np

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }
