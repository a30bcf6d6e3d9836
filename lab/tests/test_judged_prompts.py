"""Files of judged prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.evaluation.measures import QrelsError
from hybrid_lab.judged_prompts import JudgedPrompt, read_prompts

if TYPE_CHECKING:
    from pathlib import Path


def test_prompts_are_read_with_their_judgement(prompts_file: Path) -> None:
    """A null repository stands for all, and a prompt is strict unless it says otherwise."""
    found = {prompt.id: prompt for prompt in read_prompts(prompts_file)}

    assert JudgedPrompt("p3", None, "yes, please go on", False, "session_turn", True) == found["p3"]
    assert (found["p1"].is_wanted, found["p5"].is_strict) == (True, False)


def test_an_unknown_expectation_is_an_error(tmp_path: Path) -> None:
    """A prompt is to be injected or to stay silent; there is no third way."""
    path = tmp_path / "gate.jsonl"
    path.write_text('{"id": "a", "prompt": "x", "repo": null, "expect": "maybe", "kind": "k"}')

    with pytest.raises(QrelsError, match="maybe"):
        read_prompts(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """It is named, with what the system says."""
    with pytest.raises(QrelsError, match=r"nowhere.*No such file"):
        read_prompts(tmp_path / "nowhere")
