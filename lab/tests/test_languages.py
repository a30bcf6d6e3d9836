"""The same prompts in several languages: the files in `lab/data/languages`, and what the measure counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.cli.main import run
from hybrid.evaluation.retrieval import settings_in_force
from hybrid_lab.judged_prompts import read_prompts
from hybrid_lab.languages import evaluate_languages
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = CHECKOUT / "lab" / "data" / "languages"
LANGUAGES = ("chinese", "english", "french", "german", "japanese", "spanish")


def test_every_language_asks_the_same() -> None:
    """40 prompts and 12 that deserve nothing, with the same ids and files in every language and other words."""
    of_language = {path.stem: read_prompts(path) for path in sorted(FOLDER.glob("*.jsonl"))}

    assert list(LANGUAGES) == list(of_language)
    asked = [[(one.id, one.repo, one.files, one.kind) for one in prompts] for prompts in of_language.values()]
    assert all(one == asked[0] for one in asked)
    assert (40, 12) == (sum(bool(files) for _, _, files, _ in asked[0]), sum(repo is None for _, repo, *_ in asked[0]))
    assert 6 * 52 == len({prompt.text for prompts in of_language.values() for prompt in prompts})


@pytest.fixture
def judged(tmp_path: Path) -> dict[str, Path]:
    """Language → a file with a prompt about the boats and one that deserves nothing."""
    texts = {
        "english": ("where do we hoist the sails into the wind?", "what shall I cook for dinner tonight?"),
        "welsh": ("ble rydym yn codi hwyliau i'r gwynt?", "beth ddylwn i goginio i swper heno?"),
    }
    paths: dict[str, Path] = {}
    for language, (asked, talk) in texts.items():
        rows = [
            {"id": "1", "repo": "boats", "prompt": asked, "expect": "inject", "kind": "task", "gold": ["src/sails.py"]},
            {"id": "2", "repo": None, "prompt": talk, "expect": "stay_silent", "kind": "other_domain"},
        ]
        paths[language] = tmp_path / f"{language}.jsonl"
        paths[language].write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return paths


def test_a_language_is_counted_by_itself(boats: Path, judged: dict[str, Path], tmp_path: Path) -> None:
    """A prompt that shares words with the code finds its file; one that shares none does not."""
    rows = evaluate_languages(
        {language: read_prompts(path) for language, path in judged.items()},
        boats,
        tmp_path / "home",
        lambda more: settings_in_force(["hooks.gate_threshold=0.3", *more], environ={}),
    )

    assert ["english", "welsh"] == [row.language for row in rows]
    assert [(1, 1.0, 1.0, 1.0, 1, 0.0)] == [
        (row.prompts, row.ndcg, row.opened, row.right, row.silent, row.false) for row in rows[:1]
    ]
    assert (1, 0.0, 0.0) == (rows[1].prompts, rows[1].opened, rows[1].right)


def test_the_command_compares_with_the_first(
    boats: Path, judged: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The table has a row for each file; `--against` adds a table; a missing repository is an error."""
    files = [str(path) for path in judged.values()]
    asked = ["eval", "languages", *files, "--repos", str(boats)]

    assert 0 == run([*asked, "--against", "search.ranker=rrf"], started_s=0)
    shown = capsys.readouterr().out
    assert 2 == shown.count("english") == shown.count("welsh")
    assert "in force: 1 prompts" in shown
    assert 2 == run([*asked, "--only", "canoes"], started_s=0)
