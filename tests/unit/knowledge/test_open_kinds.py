"""What stays open between two prompts of a service, and that no prompt waits for a model."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hybrid.base.errors import BusyError, ModelError
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.log.events import reason_of
from hybrid.models import registry
from tests.support.agent import until
from tests.support.records import new_talk
from tests.support.successors import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import Embedder
    from tests.support.records import Talk

ASKED = "How does the payment client retry a request after a timeout?"


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """The payments project, indexed with the shipped model."""
    return new_talk(tmp_path, {}, is_indexed=True)


class SlowModels:
    """Loads a model once it is allowed to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_allowed = threading.Event()
        self.loaded: list[tuple[str, str]] = []
        self._load = registry.load_embedder
        monkeypatch.setattr(registry, "load_embedder", self)

    def __call__(self, name: str, *, home: Path) -> Embedder:
        """As `load_embedder`, later."""
        assert self.is_allowed.wait(60)
        self.loaded.append((name, threading.current_thread().name))
        return self._load(name, home=home)


def test_no_prompt_loads_a_model(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt that finds its model not loaded is silent and says why; it is loaded meanwhile, once."""
    models = SlowModels(monkeypatch)
    talk = replace(talk, kinds=OpenKinds({}, OpenIndexes(LoadedModels(wait_s=0.0), is_lagging=True)))
    first = talk.ask(ASKED).decision
    models.is_allowed.set()
    until(lambda: talk.ask(ASKED).decision.reason != "loading")

    assert ("loading", f"the model {SHIPPED} is being loaded") == (first.reason, first.detail)
    assert reason_of("loading") is not None
    assert "src/payments/client.py" in replace(talk, session_id="s2").ask(ASKED).text
    assert [(SHIPPED, "hybrid-model")] == models.loaded


def test_a_model_that_was_dropped_is_loaded_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four models in use three stay loaded; the fourth is not waited for when it is wanted again."""
    loaded, models = LoadedModels(wait_s=60.0), SlowModels(monkeypatch)
    models.is_allowed.set()
    for name in ("hashing-16", "hashing-32", "hashing-48", "hashing-64"):
        loaded.load(name, tmp_path)
    loaded.wait_s = 0.0
    models.is_allowed.clear()
    with pytest.raises(BusyError, match="the model hashing-16 is being loaded"):
        loaded.load("hashing-16", tmp_path)
    kept = loaded.load("hashing-64", tmp_path)
    models.is_allowed.set()
    until(lambda: not loaded._loading)

    assert "hashing-64" == kept.info.name
    assert "hashing-16" == loaded.load("hashing-16", tmp_path).info.name


def test_no_ended_thread_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was loaded, or could not be, leaves nothing behind, and the next prompt tries again."""
    loaded, models = LoadedModels(wait_s=60.0), SlowModels(monkeypatch)
    models.is_allowed.set()
    loaded.load("hashing", tmp_path)
    monkeypatch.setattr(registry, "load_embedder", _fail)
    for _ in range(2):
        with pytest.raises(ModelError, match="needs an extra"):
            loaded.load("hashing-32", tmp_path)

    until(lambda: not loaded._loading)
    assert ["hashing@"] == [key[:8] for key in loaded._embedders]


def _fail(name: str, *, home: Path) -> Embedder:
    raise ModelError(f"{name} needs an extra")


def test_a_command_waits_for_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one answer is all there is, it is loaded in the same thread."""
    models = SlowModels(monkeypatch)
    models.is_allowed.set()

    assert "hashing" == LoadedModels().load("hashing", tmp_path).info.name
    assert [("hashing", threading.current_thread().name)] == models.loaded
