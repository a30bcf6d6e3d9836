"""Times the prompt hook as a whole cold process beside a bare interpreter, in turn; `speed` calls it."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from hybrid.evaluation.timing import BARE, alternate, sum_up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.evaluation.timing import Runner

_COMMAND = ("-m", "hybrid", "hook", "inject-context", "--gate-threshold", "-1")


def hook_figures(root: Path, runner: Runner, prompts: Sequence[str], *, rounds: int) -> dict[str, Any]:
    """A hook call with the gate held open, so that the longest way is timed, and `python -c pass`.

    Args:
        root: Of an indexed project.
        runner: Of processes, with the home of the index.
        prompts: At least one; used in turn, each call in a session of its own.
        rounds: Of both.
    """
    numbers = itertools.count()
    injected: list[bool] = []

    def call() -> None:
        number = next(numbers)
        event = {"prompt": prompts[number % len(prompts)], "session_id": f"speed-{number}", "cwd": str(root)}
        injected.append(bool(runner.run(*_COMMAND, text=json.dumps(event)).strip()))

    hook_ms, bare_ms = alternate(call, lambda: runner.run(*BARE), rounds)
    hook, bare = sum_up(hook_ms), sum_up(bare_ms)
    return {
        "hook": hook.as_json(per_bare_start=bare.median_ms),
        "bare_start": bare.as_json(),
        "added_ms": round(hook.median_ms - bare.median_ms, 2),
        "injected": sum(injected) / len(injected),
    }
