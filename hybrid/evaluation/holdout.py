"""Compares sessions that got injections with those that were held out, and says how many more a comparison needs.

Sessions are compared that would have got something, on either side. A difference is shown only when a permutation test
of the means, corrected for the number of figures (Holm 1979), finds it at 5 %, and the interval of the ratio (delta
method on its logarithm) leaves out that there is none.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, ValidationError, convert, field, to_builtins

from hybrid.log.outcomes import USED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

FIGURES = {
    "searches": "searches by hand",
    "reads": "files opened",
    "failed": "failed commands",
    "repeated": "repeats of a failure",
    "turns": "turns",
    "before_edit": "steps before the first edit",
}
"""Figure of a session → in words. Of each a smaller one is better."""
ALPHA = 0.05
FEWEST = 10
"""Sessions on each side below which nothing is compared."""
LEAST_EFFECT = 0.2
"""ArmDifference, as a share of the mean, that the number of sessions needed is told for."""
_POWER = 2.8
"""Standard errors between no difference and one that is found in four of five experiments: 1.96 + 0.84."""
_PERMUTATIONS = 2_000
_MOST_PERMUTED = 300
"""Sessions up to which divisions are drawn; of more the difference of two random parts is as good as normal."""
_TABLES = 3
"""Comparisons of one report, over all sessions and by task, which share the 5 %."""
_SEED = 7


class ComparedSession(Struct):
    """The figures of one session.

    Attributes:
        is_held_out: It got nothing.
        figures: Name of `FIGURES` → number; without `before_edit` where nothing was edited.
        tasks: Task → number of turns with it: `change`, `question`.
    """

    is_held_out: bool
    figures: dict[str, float] = field(default_factory=dict[str, float])
    tasks: Counter[str] = field(default_factory=Counter[str])

    @property
    def task(self) -> str:
        """The task of most of its turns; empty where no prompt was kept."""
        return self.tasks.most_common(1)[0][0] if self.tasks else ""


class ArmDifference(Struct, frozen=True):
    """The difference of one figure between both sides.

    Attributes:
        given: Mean of the sessions that got injections.
        held_out: Mean of the others.
        ratio: `given` / `held_out`; None where it cannot be told.
        low: Lower end of the interval of the ratio (95 %); None as `ratio`.
        high: Upper end.
        p: Share of random divisions of all sessions with a difference as large; 1 without sessions.
        is_found: The difference is more than chance.
        n: Sessions with the figure, of both sides together.
        needed: Sessions, of both sides together, with which a difference of `LEAST_EFFECT` is found in four of five
            experiments; None where the figure is 0 everywhere.
    """

    given: float
    held_out: float
    ratio: float | None
    low: float | None
    high: float | None
    p: float
    is_found: bool
    needed: int | None
    n: int


def sessions_of(outcomes: Iterable[Mapping[str, Any]]) -> list[ComparedSession]:
    """Return the sessions of an experiment to which something was, or would have been, given.

    Args:
        outcomes: Lines of the log of outcomes, in any order; those without an arm are of no experiment.
    """
    lines: dict[tuple[object, object], list[Mapping[str, Any]]] = defaultdict(list)
    for line in outcomes:
        if line.get("arm") in ("given", "held_out") and line.get("session"):
            lines[line.get("project"), line.get("session")].append(line)
    found: list[ComparedSession] = []
    for turns in lines.values():
        # A session whose share was changed meanwhile was on both sides.
        if not any(line.get("became") for line in turns) or len({line["arm"] for line in turns}) > 1:
            continue
        did, failed = Counter[str](), Counter[str]()
        for line in turns:
            did.update(_numbers(line.get("did")))
            failed.update(_numbers(line.get("failed")))
        session = ComparedSession(turns[0]["arm"] == "held_out")
        session.figures = {
            "searches": did["search"],
            "reads": did["read"],
            "failed": failed.total(),
            "repeated": failed.total() - len(failed),
            "turns": len(turns),
        }
        oldest_first = sorted(turns, key=lambda line: str(line.get("at")))
        before = _before_edit(oldest_first)
        session.figures |= {} if before is None else {"before_edit": before}
        session.tasks.update(str(line["task"]) for line in turns if line.get("task"))
        found.append(session)
    return found


def _before_edit(oldest_first: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the number of uses of tools before the first edit of a session; None without one."""
    n = 0
    for line in oldest_first:
        if isinstance(line.get("before_edit"), int):
            return n + int(line["before_edit"])
        n += sum(_numbers(line.get("did")).values())
    return None


def _numbers(value: object) -> dict[str, int]:
    """Return the numbers of an object of a line of the log; none for what is no such object."""
    try:
        return convert(value, dict[str, int])
    except ValidationError:
        return {}


def compare(sessions: Sequence[ComparedSession]) -> dict[str, ArmDifference]:
    """Return figure → difference between both sides, for all of `FIGURES`; deterministic."""
    random = np.random.default_rng(_SEED)
    raw: dict[str, ArmDifference] = {}
    for name in FIGURES:
        held, given = (
            np.array([one.figures[name] for one in sessions if one.is_held_out is side and name in one.figures])
            for side in (True, False)
        )
        raw[name] = _difference(given, held, random)
    is_open, found = True, dict[str, ArmDifference]()
    for place, name in enumerate(sorted(raw, key=lambda name: raw[name].p)):
        one = raw[name]
        is_open = is_open and one.p <= ALPHA / (_TABLES * (len(raw) - place))
        excludes_none = one.low is not None and one.high is not None and not one.low <= 1 <= one.high
        found[name] = to_found(one, is_found=is_open and excludes_none)
    return {name: found[name] for name in FIGURES}


def to_found(one: ArmDifference, *, is_found: bool) -> ArmDifference:
    """Return a difference without ratio and interval unless it was found: what chance may have made is not shown."""
    low, high, ratio = (one.low, one.high, one.ratio) if is_found else (None, None, None)
    return ArmDifference(one.given, one.held_out, ratio, low, high, one.p, is_found, one.needed, one.n)


def _difference(given: NDArray[np.float64], held: NDArray[np.float64], random: np.random.Generator) -> ArmDifference:
    n_given, n_held = len(given), len(held)
    mean, other = (float(side.mean()) if len(side) else 0.0 for side in (given, held))
    both = np.concatenate([given, held]) if n_given and n_held else np.zeros(0)
    needed = _needed(both, n_held / max(n_given + n_held, 1))
    if min(n_given, n_held) < FEWEST or not (mean and other):
        return ArmDifference(mean, other, None, None, None, 1.0, False, needed, n_given + n_held)
    ratio = mean / other
    spread = float(given.var(ddof=1)) / n_given / mean**2 + float(held.var(ddof=1)) / n_held / other**2
    factor = math.exp(1.96 * math.sqrt(spread))
    p = _chance(both, n_given, abs(mean - other), random)
    return ArmDifference(mean, other, ratio, ratio / factor, ratio * factor, p, False, needed, n_given + n_held)


def _chance(both: NDArray[np.float64], n_given: int, observed: float, random: np.random.Generator) -> float:
    """Return the share of random divisions of some values whose means differ as much."""
    n_held = len(both) - n_given
    if len(both) > _MOST_PERMUTED:
        deviation = math.sqrt(float(both.var(ddof=1)) * (1 / n_given + 1 / n_held))
        return math.erfc(observed / deviation / math.sqrt(2)) if deviation else 1.0
    order = random.permuted(np.broadcast_to(both, (_PERMUTATIONS, len(both))), axis=1)
    shuffled = np.abs(order[:, :n_given].mean(axis=1) - order[:, n_given:].mean(axis=1))
    return (1 + int((shuffled >= observed - 1e-12).sum())) / (1 + _PERMUTATIONS)


def _needed(values: NDArray[np.float64], share: float) -> int | None:
    """Return the sessions needed for `LEAST_EFFECT`, by the usual formula for two means with one variance."""
    if not len(values) or not values.any() or not 0 < share < 1:
        return None
    deviation = float(values.std()) / (LEAST_EFFECT * float(values.mean()))
    return math.ceil((_POWER * deviation) ** 2 / (share * (1 - share)))


def items_by_kind(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return kind → how many items were given and held out, and after how many the agent used the file or record."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in outcomes:
        if line.get("arm") not in ("given", "held_out"):
            continue
        for one in line.get("became") or ():
            side = "held_out" if one.get("is_held") else "given"
            counts[str(one.get("kind"))].update({side: 1, f"{side}_used": one.get("how") in USED})
    names = ("given", "given_used", "held_out", "held_out_used")
    return {kind: {name: counted[name] for name in names} for kind, counted in sorted(counts.items())}


def report(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the comparison for JSON: counts of sessions, differences over all and by task, items by kind."""
    sessions = sessions_of(outcomes)
    by_task = {task: [one for one in sessions if one.task == task] for task in ("change", "question")}
    return {
        **_counts(sessions),
        "differences": {name: to_builtins(one) for name, one in compare(sessions).items()},
        "by_task": {
            task: {**_counts(some), "differences": {name: to_builtins(one) for name, one in compare(some).items()}}
            for task, some in by_task.items()
        },
        "items": items_by_kind(outcomes),
    }


def _counts(sessions: Sequence[ComparedSession]) -> dict[str, int]:
    n_held = sum(one.is_held_out for one in sessions)
    return {"sessions": len(sessions), "held_out": n_held}


# --- a population with a known effect ---------------------------------------------------------------------


def simulated(n: int, share: float, effect: float, seed: int) -> list[ComparedSession]:
    """Return sessions as they might be, of which the injections take away a share of each figure.

    Counts are negative binomial, since some sessions are ten times as long as others.

    Args:
        n: Number of sessions.
        share: Share of them that is held out, in (0, 1).
        effect: Share by which each figure is smaller with injections; 0 for none.
        seed: Another one gives others.
    """
    random = np.random.default_rng(seed)
    usual = {"searches": 4.0, "reads": 8.0, "failed": 2.0, "repeated": 0.8, "turns": 5.0, "before_edit": 9.0}
    found: list[ComparedSession] = []
    for is_held in random.random(n) < share:
        factor = 1.0 if is_held else 1.0 - effect
        length = random.gamma(1.5, 1 / 1.5)  # Long sessions have more of everything.
        figures = {name: float(random.poisson(mean * factor * length)) for name, mean in usual.items()}
        found.append(ComparedSession(bool(is_held), figures))
    return found


def power(n: int, share: float, effect: float, *, trials: int, seed: int = _SEED) -> tuple[float, float]:
    """Return the shares of simulated experiments that find a given figure to be smaller, and that find anything.

    The figure is `searches`.
    """
    n_found = n_any = 0
    for trial in range(trials):
        found = compare(simulated(n, share, effect, seed + trial))
        n_found += found["searches"].is_found and found["searches"].given < found["searches"].held_out
        n_any += any(one.is_found for one in found.values())
    return n_found / trials, n_any / trials
