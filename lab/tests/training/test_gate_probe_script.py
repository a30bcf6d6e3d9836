"""The script that trains the probe is run by hand; its arithmetic and what it may train on are tested here."""

import json
from pathlib import Path

import numpy as np
import pytest

from hybrid.base.arrays import read_arrays


def test_an_input_is_the_direction_shortened_for_vague_words() -> None:
    """A sum of length 3 has the direction times 3 / √10; one of length 0 has none."""
    from hybrid_lab.training.gate_probe import query_input

    x = query_input(np.array([0, 3], np.float32))

    assert x is not None
    assert [0, 3 / 10**0.5] == pytest.approx(x.tolist())
    assert query_input(np.zeros(2, np.float32)) is None


@pytest.mark.parametrize("c", [0.3, 1.0, 3.0])
def test_a_fit_is_where_no_small_step_makes_the_loss_smaller(c: float) -> None:
    """The loss is written out here once more: half the squared weight, and balanced cross-entropy times C."""
    from hybrid_lab.training.gate_probe import fit

    rng = np.random.default_rng(1)
    code, talk = rng.normal(0.5, 1, (40, 3)), rng.normal(-0.5, 1, (10, 3))
    probe = fit(code, talk, c)

    def loss(plane: list[float]) -> float:
        weight, bias = np.array(plane[:3]), plane[3]
        of_code = np.log1p(np.exp(-(code @ weight + bias))).mean()
        of_talk = np.log1p(np.exp(talk @ weight + bias)).mean()
        return float(weight @ weight / 2 + c * 25 * (of_code + of_talk))

    found = [*probe.weight.tolist(), probe.bias]
    for i in range(4):
        for step in (-1e-3, 1e-3):
            moved = [value + step * (i == j) for j, value in enumerate(found)]

            assert loss(found) < loss(moved)


def test_calibration_prompts_are_kept_apart(tmp_path: Path) -> None:
    """What is trained on is `talk, bank`; kinds of tasks stay kinds."""
    from hybrid_lab.training.gate_probe import read_prompts

    rows = [("ack", "bank", "thanks"), ("life", "bank", "pasta?"), ("chat", "calibration", "hi"), ("task", "bank", "t")]
    lines = [json.dumps({"kind": kind, "language": "en", "use": use, "text": text}) for kind, use, text in rows]
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines), encoding="utf-8")

    expected = {("talk", "bank"): ["thanks", "pasta?"], ("talk", "calibration"): ["hi"], ("task", "bank"): ["t"]}
    assert expected == read_prompts(tmp_path / "prompts.jsonl")


def test_the_file_gives_the_same_scores(tmp_path: Path) -> None:
    """Weight and bias are written as float32, with what they are."""
    from hybrid_lab.training.gate_probe import Probe, write_probe

    write_probe(tmp_path, Probe(np.array([0.5, -2.0]), 0.25), {"model": "tiny@00"})
    arrays = read_arrays(tmp_path / "probe.safetensors")

    assert (["f4", "f4"], {"model": "tiny@00"}) == (
        [arrays[n].dtype.str[1:] for n in ("weight", "bias")],
        arrays.metadata,
    )
    assert ([0.5, -2.0], [0.25]) == (arrays["weight"].tolist(), arrays["bias"].tolist())
