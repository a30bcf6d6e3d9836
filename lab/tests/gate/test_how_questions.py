"""The plain questions in `lab/data/gate`: they parse, their halves are of one size, and hybrid's own gold exists."""

from __future__ import annotations

from collections import Counter

import pytest

from hybrid_lab.judged_prompts import read_prompts
from tests.support.builders import CHECKOUT

FOLDER = CHECKOUT / "lab" / "data" / "gate"
HALVES = {"dev": 1, "kept": 0}
"""Half → the remainder of its prompts' numbers by two."""


@pytest.mark.parametrize("half", HALVES)
def test_a_half_asks_as_much_of_each_repository(half: str) -> None:
    """Ten questions about each of five repositories, with files, and twenty that deserve nothing anywhere."""
    prompts = read_prompts(FOLDER / f"how_{half}.jsonl")

    repos = ("click", "fastapi", "hybrid", "redis", "tokio")
    assert {**dict.fromkeys(repos, 10), None: 20} == Counter(prompt.repo for prompt in prompts)
    assert all(bool(prompt.files) is prompt.is_wanted is (prompt.repo is not None) for prompt in prompts)
    assert {HALVES[half]} == {int(prompt.id.rsplit("/", 1)[1]) % 2 for prompt in prompts}


def test_no_question_stands_twice() -> None:
    """The halves share no prompt."""
    prompts = [prompt for half in HALVES for prompt in read_prompts(FOLDER / f"how_{half}.jsonl")]

    assert 140 == len({prompt.id for prompt in prompts}) == len({prompt.text for prompt in prompts})


def test_the_files_of_hybrid_are_there() -> None:
    """A module that moves takes the gold of its questions along."""
    prompts = [prompt for half in HALVES for prompt in read_prompts(FOLDER / f"how_{half}.jsonl")]
    named = {path for prompt in prompts if prompt.repo == "hybrid" for path in prompt.files}

    assert set() == {path for path in named if not (CHECKOUT / path).is_file()}
