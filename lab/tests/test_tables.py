"""Models side by side: prose is measured here, the other measures are commands of their own."""

from __future__ import annotations

import json

import pytest

from hybrid.base.errors import HybridError
from hybrid.cli.main import run
from hybrid.evaluation.retrieval import settings_in_force
from hybrid_lab.tables import Data, measure, prose, sections_of

INDEX = settings_in_force([]).config.index

GUIDE = """# Guide

## Opening the till

Turn the brass key to the left before you press the drawer. {filler}

## Counting coins

Sort the coins by their size and weigh each stack twice. {filler}

## Short

Only a word.
"""


@pytest.fixture
def documentation(tmp_path):
    """A folder with two sections that can be asked for."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE.format(filler="The shop keeps a paper for it. " * 8), encoding="utf-8")
    (folder / "till.py").write_text("x = 1\n", encoding="utf-8")
    return folder


def test_sections_have_headings_a_first_sentence_and_more(documentation, tmp_path):
    """A section with too little text is left out, and so is code."""
    sections = list(sections_of(documentation, INDEX, tmp_path))

    assert [section.heading for section in sections] == ["Guide Opening the till", "Guide Counting coins"]
    assert sections[0].first == "Turn the brass key to the left before you press the drawer"
    assert sections[0].rest.startswith("The shop keeps")


def test_prose_is_asked_by_heading_and_by_sentence(documentation, tmp_path):
    """Both sections are asked in both ways, and ranks lie between a half and one with two of them."""
    figures = prose("static-v1", [documentation], tmp_path, INDEX)

    assert figures["prose by heading, asked"] == figures["prose by sentence, asked"] == 2
    assert 0.5 <= figures["prose by sentence, MRR"] <= figures["prose by heading, MRR"] <= 1


def test_folder_without_documentation_is_an_error(tmp_path):
    """There is nothing to measure."""
    empty = tmp_path / "empty"
    empty.mkdir()

    with pytest.raises(HybridError, match="documentation"):
        prose("hashing", [empty], tmp_path, INDEX)


def test_questions_are_asked_by_meaning_alone_and_of_the_whole_ranking(repos, queries_file, tmp_path):
    """Figures come from the command that anyone can run."""
    data = Data(repos, None, queries_file, None, None, None, ())

    figures = measure("hashing", data, tmp_path / "home", INDEX)

    assert figures.keys() == {f"questions, {mode}{of}" for mode in ("dense", "hybrid") for of in ("", ", by query")}
    assert 0 < figures["questions, hybrid"] <= 1


def test_a_measure_that_fails_says_why(repos, tmp_path):
    """Its message is passed on."""
    data = Data(repos, None, tmp_path / "missing.jsonl", None, None, None, ())

    with pytest.raises(HybridError, match="missing"):
        measure("hashing", data, tmp_path / "home", INDEX)


def test_command_prints_a_column_a_model(documentation, capsys):
    """With --json it prints figures by model."""
    code = run(["eval", "tables", "hashing", "static-v1", "--prose", str(documentation), "--json"], started_s=0.0)

    assert code == 0
    assert json.loads(capsys.readouterr().out).keys() == {"hashing", "static-v1"}


def test_command_asks_for_repositories(queries_file, capsys):
    """Questions without trees cannot be asked."""
    code = run(["eval", "tables", "hashing", "--questions", str(queries_file)], started_s=0.0)

    assert code != 0
    assert "--repos" in capsys.readouterr().err
