"""The figures of the memory that `hybrid eval speed --part memory` prints; no time is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.evaluation.retrieval import settings_in_force
from hybrid.evaluation.timing import runner
from hybrid.models.registry import load_embedder
from hybrid.records.memory.types import CONCEPTS, MAX_TITLE_CHARS, OBSERVATION_TYPES
from hybrid.records.memory.writing import is_repeat
from hybrid_lab.speed.memory import memory_figures, seeded_observations
from hybrid_lab.synthetic import Shape, Words

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = Shape(seed=3, n_words=500, mean_tokens=40.0)


@pytest.mark.slow
def test_the_part_measures_what_there_is(tmp_path: Path) -> None:
    """Rows are stored and searched, none is taken for a repeat, and one that is added is given to the next prompt."""
    loaded = settings_in_force(["model.name=hashing-64", "hooks.gate_threshold=0.2"])
    home = tmp_path / "home"
    home.mkdir()

    found = memory_figures(
        tmp_path / "projects",
        runner(home, loaded),
        load_embedder("hashing-64", home=home),
        n_observations=120,
        n_queries=4,
        bare_ms=20.0,
    )

    assert (120, 5, 4, []) == tuple(found[name] for name in ("observations", "projects", "queries", "problems"))
    assert 1.0 == found["one_more"]["given"]
    for name in ("add_event", "remember", "search", "prompt", "prompt_open", "newest"):
        assert "per_bare_start" in found[name]
    assert found["database_bytes"] > 0 < found["index_bytes"]
    assert {"model", "open"} == found["memory"].keys()


def test_the_same_seed_gives_the_same_observations() -> None:
    """Of every type and concept, with short titles, no two of which are the same."""
    told = list(seeded_observations(Words(SHAPE), 60))

    assert told == list(seeded_observations(Words(SHAPE), 60))
    assert set(OBSERVATION_TYPES) == {one.type for one in told}
    assert set(CONCEPTS) == {concept for one in told for concept in one.concepts}
    assert all(0 < len(one.title) <= MAX_TITLE_CHARS for one in told)
    assert not any(is_repeat(one, other) for number, one in enumerate(told) for other in told[:number])
