"""Tests of whether a language model may be asked."""

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from hybrid.config import LessonsConfig, load
from hybrid.records.lessons.reranking import reranker
from hybrid.records.lessons.types import Lesson

LESSONS = [Lesson("L001", "One", "first"), Lesson("L002", "Two", "second")]


@pytest.fixture
def settings(tmp_path: Path) -> LessonsConfig:
    """As shipped."""
    return load(home=tmp_path, environ={}).config.lessons


def test_nobody_is_asked_unless_the_owner_switched_it_on_and_gave_a_key(settings: LessonsConfig) -> None:
    """A key alone sends nothing, and neither does the setting alone."""
    on = replace(settings, use_haiku_scoring=True)

    assert reranker(settings, {"ANTHROPIC_API_KEY": "k"}, time.monotonic() + 1) is None
    assert reranker(on, {}, time.monotonic() + 1) is None
    assert reranker(on, {"ANTHROPIC_API_KEY": ""}, time.monotonic() + 1) is None


def test_without_time_left_the_local_order_stays(settings: LessonsConfig) -> None:
    """A hook whose deadline is near asks nobody."""
    ask = reranker(replace(settings, use_haiku_scoring=True), {"ANTHROPIC_API_KEY": "k"}, time.monotonic())

    assert ask is not None
    assert ask("which one", LESSONS) is None


def test_a_project_cannot_switch_it_on(tmp_path: Path) -> None:
    """The setting of a project's own file is left out and named."""
    folder = tmp_path / "tree" / ".hybrid"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[lessons]\nuse_haiku_scoring = true\n")

    loaded = load(home=tmp_path, project_folder=folder, environ={})

    assert not loaded.config.lessons.use_haiku_scoring
    assert "lessons.use_haiku_scoring" in loaded.project_problems[0]
