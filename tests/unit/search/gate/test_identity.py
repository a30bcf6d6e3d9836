from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from hybrid.base.resources import shipped
from hybrid.models.registry import hashing_info
from hybrid.prompting.content import TERMS
from hybrid.search.gate.identity import PROMPTS, annotation_key, background_key
from tests.support.builders import CHECKOUT
from tests.support.worlds import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path

MODEL = hashing_info(64)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped background, which a test may change."""
    shutil.copytree(shipped("models", "background"), tmp_path / "models" / "background")
    monkeypatch.setattr("hybrid.search.gate.identity.shipped", tmp_path.joinpath)
    return tmp_path


def test_the_key_is_short_and_the_same_every_time(data: Path) -> None:
    """Sixteen hex digits that name the shipped files, wherever they lie."""
    key = background_key(MODEL)

    assert (16, True) == (len(key), set(key) <= set("0123456789abcdef"))
    assert key == background_key(MODEL)
    assert data.joinpath(*PROMPTS).is_file()


@pytest.mark.parametrize("changed", [PROMPTS, TERMS], ids=["prompts", "terms"])
def test_other_files_have_another_key(data: Path, changed: tuple[str, ...]) -> None:
    """One more line in a file of the background asks for other vectors and other bars."""
    before = background_key(MODEL)
    with data.joinpath(*changed).open("a", encoding="utf-8") as file:
        file.write("\n")

    assert before != background_key(MODEL)


@pytest.mark.parametrize("other", [hashing_info(32), replace(MODEL, sha256="00" * 32)], ids=["name", "digest"])
def test_another_model_has_another_key(other: object) -> None:
    """Vectors of two models, or of two versions of one, are never mixed."""
    assert isinstance(other, type(MODEL))

    assert background_key(MODEL) != background_key(other)


def test_another_probe_has_another_key(tmp_path: Path) -> None:
    """A probe moves the bars: a model that gets one, or a new one, asks for a new calibration."""
    model = replace(MODEL, name=str(tmp_path))
    keys = [background_key(model)]
    for content in (b"one", b"two"):
        (tmp_path / "probe.safetensors").write_bytes(content)
        keys.append(background_key(model))

    assert 3 == len(set(keys))


def test_the_annotation_tells_what_records_were_weighed_with() -> None:
    """Segments of records keep sums of weighted parts: other weights, other segments; the key of files stays."""
    key = background_key(MODEL)
    weights = replace(SETTINGS, words=0.5, hinge=0.25)
    found = [annotation_key(key, records=one) for one in (None, weights)]

    assert [f"{key}.2", f"{key}.2+records1:0.5:0.25:1"] == found


def test_asking_for_a_key_loads_no_numpy() -> None:
    """A build that finds nothing to do asks for it, too."""
    code = (
        "import sys; from pathlib import Path; from hybrid.search.gate.annotator import GateAnnotator; "
        "from hybrid.models.registry import LazyEmbedder; "
        "GateAnnotator(LazyEmbedder('static-v1', Path('.')), Path('.')).key; "
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, check=False)

    assert "False\n" == done.stdout, done.stderr
