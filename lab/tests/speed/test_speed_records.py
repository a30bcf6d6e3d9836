"""The figures of lessons and lore that `hybrid eval speed --part records` prints; no time is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.evaluation.retrieval import settings_in_force
from hybrid.evaluation.timing import runner
from hybrid.models.registry import load_embedder
from hybrid_lab.commands import speed
from hybrid_lab.speed.measure import PARTS
from hybrid_lab.speed.records import records_figures, seeded_records
from hybrid_lab.synthetic import Shape, Words

if TYPE_CHECKING:
    from pathlib import Path


def test_the_part_measures_what_there_is(tmp_path: Path) -> None:
    """Records are read, indexed and searched; what is added is given to the next prompt."""
    loaded = settings_in_force(["model.name=hashing-64", "hooks.gate_threshold=0.2"])
    home = tmp_path / "home"
    home.mkdir()

    found = records_figures(
        tmp_path,
        runner(home, loaded),
        load_embedder("hashing-64", home=home),
        n_records=120,
        n_queries=4,
        bare_ms=20.0,
    )

    assert (120, 120, 4) == (found["lessons"], found["decisions"], found["queries"])
    assert ["100", "120"] == list(found["scored"])
    assert {"lessons", "lore"} == found["read"].keys() == found["indexed"].keys()
    assert {"lessons", "lore", "decision"} == found["searched"].keys()
    assert (1.0, 1.0) == (found["added"]["lesson"]["given"], found["added"]["decision"]["given"])
    assert all("per_bare_start" in times for times in found["searched"].values())
    assert {"model", "read", "open"} == found["memory"].keys()


def test_the_part_can_be_asked_for() -> None:
    """The command knows every part that is measured, without importing what measures it."""
    assert PARTS == speed._PARTS
    assert "records" in PARTS


def test_the_same_seed_gives_the_same_records() -> None:
    """Half of them lessons, half decisions, each with an id of its own."""
    shape = Shape(seed=3, n_words=500, mean_tokens=25.0)
    records = list(seeded_records(Words(shape), 40))

    assert records == list(seeded_records(Words(shape), 40))
    assert 80 == len({record.id for record in records})
    assert {"lesson": 40, "decision": 40} == {
        kind: sum(record.kind == kind for record in records) for kind in ("lesson", "decision")
    }
    assert all(record.name for record in records)
