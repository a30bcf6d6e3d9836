"""Runs the product as whole processes, takes times and sums them up.

A summary is the median, the 95th percentile, and ratios to something timed in the same run. Nothing here judges a time.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.base.errors import ConfigError, HybridError
from hybrid.config import CONSTANTS, KEYS, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from hybrid.config import Loaded

    T = TypeVar("T")


class Times(Struct, frozen=True):
    """The summary of the times of one action that was done repeatedly.

    Attributes:
        n: Number of times.
        median_ms: Middle time.
        p95_ms: Time that 95 % did not exceed.
        min_ms: Shortest time.
    """

    n: int
    median_ms: float
    p95_ms: float
    min_ms: float

    def as_json(self, **ratios: float) -> dict[str, Any]:
        """Return the times, rounded, with ratios of the median to other medians under their names; None for 0."""
        return {key: round(value, 4) for key, value in asdict(self).items()} | {
            name: round(self.median_ms / base, 3) if base else None for name, base in ratios.items()
        }


def sum_up(times_ms: Sequence[float]) -> Times:
    """Return the summary of one or more times; the percentile is the nearest rank."""
    ordered = sorted(times_ms)
    return Times(len(ordered), median(ordered), ordered[math.ceil(0.95 * len(ordered)) - 1], ordered[0])


def timed(action: Callable[[], T]) -> tuple[T, float]:
    """Return the result of one call, and its wall time in milliseconds."""
    started = time.perf_counter()
    result = action()
    return result, (time.perf_counter() - started) * 1000


def time_ms(action: Callable[[], object]) -> float:
    """Return the wall time of one call, in milliseconds."""
    return timed(action)[1]


def time_each(action: Callable[[T], object], arguments: Iterable[T]) -> list[float]:
    """Return the wall times in ms of a call with each argument, after one call that is not counted."""
    listed = list(arguments)
    for argument in listed[:1]:
        action(argument)
    return [time_ms(lambda argument=argument: action(argument)) for argument in listed]


def alternate(first: Callable[[], object], second: Callable[[], object], n: int) -> tuple[list[float], list[float]]:
    """Return wall times of two actions in turn, so that a slow machine slows both; the first round does not count."""
    first()
    second()
    pairs = [(time_ms(first), time_ms(second)) for _ in range(n)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def machine() -> dict[str, Any]:
    """Return a description of this machine, with its load, to go with figures that were measured on it."""
    import numpy as np

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


# --- processes --------------------------------------------------------------------------------------------


BARE = ("-c", "pass")
"""Arguments of an interpreter that does nothing: the unit that whole processes are compared with."""

# On Linux the peak of a process includes that of the process it was forked from: this small one stands between.
_WATCHER = """
import json, subprocess, sys, time
started = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True)
seconds = time.perf_counter() - started
try:
    import resource
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
except ImportError:
    peak = None
texts = [stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr)]
print(json.dumps([done.returncode, seconds, peak, *texts]))
"""


class Watched(Struct, frozen=True):
    """A process that ran to its end.

    Attributes:
        seconds: Wall time.
        peak_bytes: Largest resident size; None where the system does not tell.
        output: Text of standard output.
    """

    seconds: float
    peak_bytes: int | None
    output: str


class Runner(Struct, frozen=True):
    """Starts processes.

    Attributes:
        environ: Environment of the processes.
        cwd: Working directory of the processes; never a project, whose files could be imported instead of ours.
        python: Interpreter of the processes; by default that of this process.
        constants: Assignments `section.key=value` of constants for this run; no environment carries them.
    """

    environ: Mapping[str, str]
    cwd: Path
    python: str = sys.executable
    constants: tuple[str, ...] = ()

    def run(self, *arguments: str, text: str = "") -> str:
        """Run the interpreter with arguments and return its standard output.

        Raises:
            HybridError: The process failed.
        """
        done = subprocess.run(
            [self.python, *arguments],
            env=dict(self.environ),
            cwd=self.cwd,
            input=text,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return _checked(done.returncode, arguments, done.stdout, done.stderr)

    def watch(self, *arguments: str) -> Watched:
        """Run the interpreter as `run` does, and return time and memory with the output.

        Raises:
            HybridError: The process failed.
        """
        answer = self.run("-c", _WATCHER, self.python, *arguments)
        code, seconds, peak, output, errors = json.loads(answer)
        return Watched(seconds, peak, _checked(code, arguments, output, errors))


def _checked(code: int, arguments: Sequence[str], output: str, errors: str) -> str:
    if code != 0:
        lines = errors.strip().splitlines() or ["no message"]
        raise HybridError(f"python {' '.join(arguments[:4])} … ended with {code}: {lines[-1][:300]}")
    return output


def runner(
    home: Path, loaded: Loaded, environ: Mapping[str, str] = os.environ, *, takes_constants: bool = False
) -> Runner:
    """Return a runner of processes that use this very package, a scratch home, and the settings in force.

    Args:
        home: Folder that stands for `$HYBRID_HOME`.
        loaded: Settings; those that differ from the defaults are passed on through the environment.
        environ: Environment of this process.
        takes_constants: The caller hands on the constants of the run itself.

    Raises:
        ConfigError: Constants are overridden, and nothing would hand them on.
    """
    constants = tuple(f"{key}={_as_text(value_of(loaded.config, key))}" for key in CONSTANTS if key in loaded.origins)
    if constants and not takes_constants:
        raise ConfigError(f"{', '.join(constants)}: hooks and services of their own take settings, but no constants")
    package = Path(__file__).resolve().parents[2]
    settings = {
        "HYBRID_" + key.replace(".", "_").upper(): _as_text(value_of(loaded.config, key))
        for key in KEYS
        if loaded.origins[key] != "default"
    }
    known = {"HYBRID_HOME": str(home), "HYBRID_DISABLE": "", "PYTHONPATH": str(package)}
    return Runner({**environ, **settings, **known}, cwd=home, constants=constants)


def _as_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value).lower() if isinstance(value, bool) else str(value)
