"""Compares embedding models on this machine and project: speed, memory, and how well questions are answered.

`hybrid models bench` calls it. Everything is made in a temporary home; the project's own index is neither read nor
written. Each model is timed in a process of its own, in turns with the others, and beside the shipped one.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.base.errors import HybridError
from hybrid.evaluation.results import Configuration
from hybrid.index.analysis import Reader, head_line
from hybrid.models.registry import describe, embedder_info, known_models, present_name
from hybrid.types import EmbedInput, Skipped
from hybrid.upkeep.indexing import file_source, recipe_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from hybrid.evaluation.results import Results
    from hybrid.evaluation.timing import Runner
    from hybrid.models.registry import ModelDescription
    from hybrid.workspace import Workspace

    T = TypeVar("T")

WORDS = "words alone"
"""Label of the ranking by the lexical leg, which no model has a part in."""
MEASURED = ("nDCG@10", "R@10")
_MOST_CHUNKS = 2048
_MOST_QUERIES = 512
_SEED = 7
_BATCH = 64
_LONGEST_S = 3.0
"""Seconds after which no other batch is begun: a slow model reads only the beginning of the sample.

Nothing is read twice: what a tokeniser remembers of a text would make it seem faster than in a build.
"""
_ROUNDS = 2
_SHOWN = ("queries_per_s", "chunks_per_s", "load_ms", "peak_bytes")


class Sample(Struct, frozen=True):
    """The texts that every model is timed with.

    Attributes:
        inputs: Chunks of the project, as a build embeds them.
        n_files: Number of files that they are of.
        queries: Questions of the user, then prompts of the gate's background.
    """

    inputs: tuple[EmbedInput, ...]
    n_files: int
    queries: tuple[str, ...]


class Speed(Struct, frozen=True):
    """The speed of one model.

    Attributes:
        load_ms: Time to load the model and what it needs besides numpy, up to the first vector.
        queries_per_s: Queries embedded in a second, one by one as prompts are.
        chunks_per_s: Chunks embedded in a second, together as a build does it.
        peak_bytes: Largest resident size of the process; None where the system does not tell.
    """

    load_ms: float
    queries_per_s: float
    chunks_per_s: float
    peak_bytes: int | None

    def best(self, other: Speed) -> Speed:
        """Return the better figures of two rounds: what slowed one down was not the model."""
        sizes = [size for size in (self.peak_bytes, other.peak_bytes) if size is not None]
        return Speed(
            min(self.load_ms, other.load_ms),
            max(self.queries_per_s, other.queries_per_s),
            max(self.chunks_per_s, other.chunks_per_s),
            min(sizes, default=None),
        )

    def as_json(self, base: Speed) -> dict[str, Any]:
        """Return the figures, and each as a ratio to that of another model; None for what is not known."""
        pairs = {name: (getattr(self, name), getattr(base, name)) for name in _SHOWN}
        return {name: own if own is None else round(own, 1) for name, (own, _) in pairs.items()} | {
            "of_shipped": {name: round(own / at, 3) if own and at else None for name, (own, at) in pairs.items()}
        }


def shipped_model() -> str:
    """Return the name of the model that ships: what the others are compared with."""
    return next(model.name for model in known_models() if model.is_shipped)


def models_to_compare(named: Sequence[str], workspace: Workspace) -> list[str]:
    """Return the named models behind the shipped one; without a name the one in force and the known ones on disk.

    The shipped reader of records is left out unless it is named: it would take minutes for an index.

    Raises:
        ModelError: A named model is unknown, or not on disk; the message has the command that fetches it.
    """
    chosen = [str(Path(name).resolve()) if name.startswith(".") else present_name(name) for name in named]
    for name in chosen:
        embedder_info(name, workspace.home)
    if not chosen:
        on_disk = [model.name for model in known_models() if model.folder and not _is_shipped_reader(model)]
        in_force = present_name(workspace.config.model.name)
        chosen = [*([in_force] if _is_there(in_force) else []), *on_disk]
    return list(dict.fromkeys([shipped_model(), *chosen]))


def _is_shipped_reader(model: ModelDescription) -> bool:
    return model.is_shipped and model.manifest is not None and model.manifest.engine == "sentence-encoder"


def _is_there(name: str) -> bool:
    with contextlib.suppress(HybridError):
        found = describe(name)
        return found.folder is not None or found.is_shipped
    return False


def sample_of(workspace: Workspace, questions: Iterable[str] = ()) -> Sample:
    """Return chunks of the project's files, the same for the same files, and queries to time models with.

    Args:
        workspace: With a project.
        questions: Queries of the user; prompts of the gate's background fill them up to some hundred.

    Raises:
        HybridError: The project has no chunk.
    """
    from hybrid.search.gate.background import shipped_prompts

    settings = workspace.config.index
    source, how = file_source(workspace.require_project().root, settings, workspace.home), recipe_of(settings)
    reader = Reader(source, how.chunk, how.limits)
    files = sorted(source.scan(), key=lambda found: found.path)
    Random(_SEED).shuffle(files)
    inputs: list[EmbedInput] = []
    n_files = 0
    for found in files:
        if len(inputs) >= _MOST_CHUNKS:
            break
        document = source.read(found)
        if isinstance(document, Skipped):
            continue
        n_files += 1
        analysis = reader.analyse(document)
        heads = [head_line(document.path, record.scope, record.definitions) for record in analysis.records]
        inputs += map(EmbedInput, heads, analysis.texts)
    if not inputs:
        raise HybridError("the project holds nothing that is indexed: there is nothing to time a model with")
    # A few questions take a static model less than a millisecond, which times nothing.
    queries = (*questions, *(prompt.text for prompt in shipped_prompts() if not prompt.is_talk))
    return Sample(tuple(inputs[:_MOST_CHUNKS]), n_files, tuple(dict.fromkeys(queries))[:_MOST_QUERIES])


# --- speed ------------------------------------------------------------------------------------------------


def time_models(
    names: Sequence[str], sample: Sample, runner: Runner, tell: Callable[[str], None]
) -> tuple[dict[str, Speed], dict[str, str]]:
    """Time each model in processes of its own, round after round.

    Args:
        names: Models on disk.
        sample: The texts.
        runner: Starts the processes; its directory gets the texts.
        tell: Called with the name of each model before its turn.

    Returns:
        Model → its speed, and model → why it could not be timed.
    """
    texts = runner.cwd / "sample.json"
    inputs = [(each.head, each.body) for each in sample.inputs]
    texts.write_text(json.dumps({"inputs": inputs, "queries": sample.queries}), encoding="utf-8")
    speeds: dict[str, Speed] = {}
    failed: dict[str, str] = {}
    for _ in range(_ROUNDS):
        for name in names:
            if name in failed:
                continue
            tell(name)
            told = json.loads(runner.run("-c", _CODE, name, str(runner.cwd), str(texts)).splitlines()[-1])
            if "error" in told:
                failed[name] = told["error"]
                continue
            speed = Speed(**told)
            speeds[name] = speeds[name].best(speed) if name in speeds else speed
    return speeds, failed


_CODE = "import sys; from hybrid.evaluation import model_bench; model_bench.time_this(*sys.argv[1:])"


def time_this(name: str, home: str, texts: str) -> None:
    """Print the speed of one model as a line of JSON, or `error`; this is what the process of a model does."""
    from hybrid.models.registry import load_embedder

    sample = json.loads(Path(texts).read_bytes())
    inputs = [EmbedInput(head, body) for head, body in sample["inputs"]]
    try:
        began_s = time.perf_counter()
        embedder = load_embedder(name, home=Path(home))
        embedder.embed_query(sample["queries"][0])
        load_ms = (time.perf_counter() - began_s) * 1000
        queries_per_s = _rate(sample["queries"], lambda texts: [embedder.embed_query(text) for text in texts])
        chunks_per_s = _rate(inputs, embedder.embed_documents)
    except HybridError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return
    speed = Speed(load_ms, queries_per_s, chunks_per_s, _peak_bytes())
    sys.stdout.write(json.dumps(asdict(speed)) + "\n")


def _rate(texts: Sequence[T], embed: Callable[[Sequence[T]], object]) -> float:
    """Return the number of texts that are embedded in a second, batch after batch."""
    n_done, began_s, seconds = 0, time.perf_counter(), 0.0
    while n_done < len(texts) and seconds < _LONGEST_S:
        batch = texts[n_done : n_done + _BATCH]
        embed(batch)
        n_done += len(batch)
        seconds = time.perf_counter() - began_s
    return n_done / seconds


def _peak_bytes() -> int | None:
    """Return the largest resident size of this process so far; None where the system does not tell.

    On Linux the usual figure includes that of the process it was forked from, and the kernel's own does not.
    """
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) * 1024
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# --- quality ----------------------------------------------------------------------------------------------


def configurations(names: Sequence[str]) -> list[Configuration]:
    """Return the ways to search that are compared: by words alone, then the whole ranking with each model."""
    ways = [Configuration(name, (f"model.name={name}",)) for name in names]
    return [Configuration(WORDS, (), "lexical"), *ways]


def quality_of(results: Results) -> dict[str, dict[str, float]]:
    """Return label of a configuration → its measures, those of `MEASURED`."""
    found = {each.label: results.overall(each.label) for each in results.configurations}
    return {label: {name: round(measures[name], 4) for name in MEASURED} for label, measures in found.items()}
