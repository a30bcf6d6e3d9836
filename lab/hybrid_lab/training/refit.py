"""Looks for the settings that follow the vectors of a table: weights of meaning, rate of the gate, threshold, floors.

Run by hand after a new table:

    python -m hybrid_lab.training.refit MODEL PAIRS --repos REPOS --questions Q --tasks T --gate GATE --before static-v1

What is chosen on a random half of the repositories (and, of the gate, of the prompts) is judged on the other half, many
times over. It prints what it found and changes no file: a setting moves only where the other halves gain by it. A floor
has no judged answer: the cosine is given that as many unrelated texts reach as reached it with the model before.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from hybrid.cli.common import say
from hybrid.cli.evaluate import print_table
from hybrid.evaluation.decisions import Spread, spread
from hybrid.evaluation.retrieval import scratch_home, settings_in_force
from hybrid.models.registry import load_embedder
from hybrid.types import EmbedInput
from hybrid_lab.gate.prompts import GatePlan, GateReport, Variant, evaluate_gate
from hybrid_lab.judged_prompts import read_prompts
from hybrid_lab.tables import asked
from hybrid_lab.training.pairs import pair_of, read_held_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from numpy.typing import NDArray

    T = TypeVar("T")

SENSES = ("ranking.best_sense", "ranking.sum_sense", "ranking.file_sense")
"""Weights of the ranking that meaning has; they move together."""
FACTORS = (0.75, 1.0, 1.25, 1.5)
RATES = (0.15, 0.2, 0.25, 0.3)
OTHERS = 0.25
"""Worth of a task of another project that gets something, beside one wanted prompt that gets something."""
FLOORS = ("search.min_cosine", "lessons.min_cosine", "lore.min_cosine", "memory.min_cosine")
HALVES = 500
SEED = 5


class Choice(Struct, frozen=True):
    """What random halves chose, and what it was worth on the others.

    Attributes:
        label: The option that most halves chose.
        share: Of the halves that chose it, in (0, 1].
        gain: Of the option chosen over the one in force, each time on the other half.
    """

    label: str
    share: float
    gain: Spread


def choose(
    options: Sequence[str],
    in_force: str,
    worth: Callable[[str, T], float],
    draw: Callable[[Random], tuple[T, T]],
    n: int = HALVES,
) -> Choice:
    """Return which of some options is best on one part of the data, and its gain on another part, `n` times.

    Args:
        options: Labels; of equal ones the first wins.
        in_force: The label that the gain is over.
        worth: Gives the worth of an option on a part of the data; more is better.
        draw: Gives two parts that share nothing.
        n: Number of draws, the same ones each time.
    """
    random = Random(SEED)
    chosen: list[str] = []
    gains: list[float] = []
    for _ in range(n):
        part, other = draw(random)
        best = max(options, key=lambda option: worth(option, part))
        chosen.append(best)
        gains.append(worth(best, other) - worth(in_force, other))
    label, count = Counter(chosen).most_common(1)[0]
    return Choice(label, count / n, spread(gains))


def halves(entries: Sequence[T], random: Random) -> tuple[frozenset[T], frozenset[T]]:
    """Return a random half of the entries and the others."""
    half = frozenset(random.sample(entries, len(entries) // 2))
    return half, frozenset(entries) - half


# --- Ranking ---------------------------------------------------------------------------------------------------------


def ranking(model: str, options: Mapping[str, Sequence[str]]) -> dict[str, Choice]:
    """Return by the name of a set which factor of the weights of meaning is best.

    Args:
        model: Name or folder.
        options: Name of the set → arguments of `hybrid eval retrieval`, without settings.

    Raises:
        HybridError: A measure failed.
    """
    before = {name: _value(name) for name in SENSES}
    found: dict[str, Choice] = {}
    for name, arguments in options.items():
        figures: dict[str, dict[str, float]] = {}
        with scratch_home(None) as home:
            for factor in FACTORS:
                changes = [f"model.name={model}", *(f"{sense}={value * factor:g}" for sense, value in before.items())]
                sets = [part for change in changes for part in ("--set", change)]
                form = asked("retrieval", [*arguments, "--mode", "hybrid", "--home", str(home), *sets])
                (result,) = form["sets"].values()
                rows = result["configurations"]["hybrid"]["repositories"]
                figures[f"× {factor:g}"] = {repo: row["nDCG@10"] for repo, row in rows.items()}
        repos = sorted(figures["× 1"])

        def worth(option: str, part: frozenset[str], figures: Mapping[str, Mapping[str, float]] = figures) -> float:
            return float(np.mean([figures[option][repo] for repo in part]))

        found[name] = choose(list(figures), "× 1", worth, lambda random, repos=repos: halves(repos, random))
    return found


def _value(name: str) -> float:
    section, _, key = name.partition(".")
    return float(getattr(getattr(settings_in_force().config, section), key))


# --- Gate ------------------------------------------------------------------------------------------------------------


def gate(model: str, prompts: Path, repos: Path) -> tuple[Choice, tuple[float, float, float]]:
    """Return the best rate of tasks of other projects, and for the manifest the best raw threshold.

    Returns:
        The choice of `gate.max_other_task_rate`; and, on all prompts, the raw top cosine where true minus false
        openings is largest with its shares of wanted and of unwanted prompts that get something.

    Raises:
        HybridError: No repository is there, or the model cannot be loaded.
    """
    in_force = f"{_value('gate.max_other_task_rate'):g}"
    labels = list(dict.fromkeys([*(f"{rate:g}" for rate in RATES), in_force]))
    variants = [Variant(label, (f"gate.max_other_task_rate={label}",)) for label in labels]
    raw = Variant("raw", ("hooks.gate_threshold=0.3",))
    plan = GatePlan(
        judged={"prompts": read_prompts(prompts)},
        repos=repos,
        settings=(f"model.name={model}",),
        variants=(*variants, raw),
    )
    with scratch_home(None) as home:
        found = {label: reports["prompts"] for label, reports in evaluate_gate(plan, home).items()}

    some = found[in_force]
    ids = sorted({one.prompt.id for one in some.asked})

    def draw(random: Random) -> tuple[tuple[frozenset[str], frozenset[str]], tuple[frozenset[str], frozenset[str]]]:
        (repos_here, repos_there), (ids_here, ids_there) = halves(some.repos, random), halves(ids, random)
        return (repos_here, ids_here), (repos_there, ids_there)

    choice = choose(labels, in_force, lambda label, part: _worth(found[label], *part), draw)
    rates = dict(found["raw"].sweep())["largest true - false"]
    return choice, (rates.threshold + found["raw"].thresholds[0], rates.true_rate, rates.false_rate)


def _worth(report: GateReport, repos: frozenset[str], ids: frozenset[str]) -> float:
    """Return true rate − false rate − `OTHERS` × that of tasks of other projects; a rate of nothing counts as 0."""
    kept = [one for one in report.asked if one.repo in repos and one.prompt.id in ids]
    part = replace(report, asked=tuple(kept))
    rates = (part.true_rate, part.false_rate, part.other_rate)
    true, false, others = (0.0 if rate != rate else rate for rate in rates)
    return true - false - OTHERS * others


# --- Floors ----------------------------------------------------------------------------------------------------------


def unrelated(model: str, pairs: Path, home: Path) -> NDArray[np.float32]:
    """Return the cosines of queries to documents of other files of their repository, ascending; shape (n,).

    Args:
        model: Name or folder.
        pairs: The folder of training pairs, whose held out ones are read.
        home: Home of hybrid.
    """
    embedder = load_embedder(model, home=home)
    rows = [pair_of(row) for row in read_held_out(pairs)]
    queries, _ = embedder.embed_queries([row.query for row in rows])
    cosines = queries @ np.transpose(embedder.embed_documents([EmbedInput(row.head, row.body) for row in rows]))
    repos, paths = np.array([row.repo for row in rows]), np.array([row.path for row in rows])
    is_other = (repos[:, np.newaxis] == repos) & (paths[:, np.newaxis] != paths)
    return np.sort(cosines[is_other])


def floors(
    before: NDArray[np.float32], now: NDArray[np.float32], values: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Return by setting the share of unrelated texts that reach it with the model before, and the cosine of now.

    Args:
        before: Cosines of unrelated texts, ascending.
        now: The same with the new model.
        values: Setting → floor in force with the model before.
    """
    found: dict[str, tuple[float, float]] = {}
    for name, value in values.items():
        share = 1 - float(np.searchsorted(before, value)) / len(before)
        found[name] = share, float(np.quantile(now, 1 - share))
    return found


def main() -> None:
    """Print what the halves chose, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name or folder of the new table")
    parser.add_argument("pairs", type=Path, help="folder of training pairs")
    parser.add_argument("--repos", type=Path, required=True, help="holds a folder for each repository")
    parser.add_argument("--questions", type=Path, help="judged questions about code")
    parser.add_argument("--manifest", type=Path, help="names the folder of each repository for the questions")
    parser.add_argument("--tasks", type=Path, help="judged tasks, asked of whole repositories")
    parser.add_argument("--gate", type=Path, help="judged prompts of the gate")
    parser.add_argument("--before", metavar="MODEL", help="the table whose floors are in force")
    given = parser.parse_args()
    model = str(Path(given.model).resolve()) if Path(given.model).is_dir() else given.model

    where = ["--repos", str(given.repos)]
    sets: dict[str, list[str]] = {}
    if given.questions:
        manifest = ["--manifest", str(given.manifest)] if given.manifest else []
        sets["questions"] = [str(given.questions), *where, *manifest]
    if given.tasks:
        sets["tasks"] = [str(given.tasks), *where, "--whole"]
    rows = [[f"meaning, {name}", *_told(choice)] for name, choice in ranking(model, sets).items()]
    if given.gate:
        choice, (threshold, true, false) = gate(model, given.gate, given.repos)
        rows.append(["gate.max_other_task_rate", *_told(choice)])
        say(f"raw top cosine: threshold {threshold:.3f}, {true:.1%} of the wanted and {false:.1%} of the unwanted")
    if rows:
        print_table("chosen on halves, judged on the others", ["", "best", "in", "gain", "5 %", "95 %"], rows)
    if given.before:
        with scratch_home(None) as home:
            cosines = [unrelated(name, given.pairs, home) for name in (given.before, model)]
        found = floors(*cosines, {name: _value(name) for name in FLOORS})
        table = [[name, f"{_value(name):g}", f"{share:.1%}", f"{now:.3f}"] for name, (share, now) in found.items()]
        print_table("floors", ["", "in force", "unrelated above", "same share now"], table)


def _told(choice: Choice) -> list[str]:
    gain = choice.gain
    return [choice.label, f"{choice.share:.0%}", f"{gain.mean:+.4f}", f"{gain.low:+.4f}", f"{gain.high:+.4f}"]


if __name__ == "__main__":
    main()
