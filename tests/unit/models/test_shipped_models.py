"""The folder `models/` as it ships."""

from pathlib import Path

import numpy as np
import pytest

from hybrid.base.arrays import read_arrays
from hybrid.base.resources import shipped
from hybrid.models.folders import read_manifest
from hybrid.models.registry import load_embedder, read_probe
from hybrid.search.gate.statistic import code_logit, null_factor
from hybrid.types import Embedder, EmbedInput

FOLDERS = sorted(path.parent for path in shipped("models").glob("*/manifest.toml"))


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The shipped default model."""
    return load_embedder("static-v1", home=tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_manifest_is_complete(folder: Path) -> None:
    """A manifest reads without an error and is named like its folder."""
    assert folder.name == read_manifest(folder).name


def test_every_model_folder_has_a_manifest() -> None:
    """A folder without one could not be offered; the background and the lexicon are no models."""
    folders = {path for path in shipped("models").iterdir() if path.is_dir()}

    assert FOLDERS == sorted(folders - {shipped("models", name) for name in ("background", "lexicon")})


def test_the_shipped_files_are_those_of_the_manifest() -> None:
    """Every deciding file of the shipped model has its digest in the manifest, and it fits; the probe decides no vector."""
    folder = shipped("models", "static-v1")
    manifest = read_manifest(folder)
    manifest.verify(folder)
    names = {path.name for path in shipped("models", "static-v1").iterdir()}

    assert names - {"manifest.toml", "README.md", "probe.safetensors"} == set(manifest.files)


def test_the_probe_belongs_to_the_shipped_model(embedder: Embedder) -> None:
    """The file beside the model says which vectors it was trained on: those of this very model."""
    arrays = read_arrays(shipped("models", "static-v1", "probe.safetensors"))

    assert embedder.info.key == arrays.metadata["model"]


def test_the_probe_tells_code_from_talk(embedder: Embedder) -> None:
    """Requests about code have a positive logit, small talk a negative one."""
    probe = read_probe(embedder.info)
    assert probe is not None
    texts = [
        "parse config file returns wrong type",
        "add unit test http client timeout",
        "birthday cake grandmother",
        "weekend weather beach",
    ]
    vectors, lengths = embedder.embed_queries(texts)
    assert lengths is not None

    logits = code_logit(vectors * null_factor(lengths)[:, None], probe.weight, probe.bias)

    assert [True, True, False, False] == (logits > 0).tolist()


def test_the_shipped_model_puts_the_fitting_chunk_first(embedder: Embedder) -> None:
    """Three small chunks, three questions: each question is closest to its own chunk."""
    chunks = [
        EmbedInput(
            "src/net/backoff.py Backoff.wait", "def wait(self, attempt):\n    sleep(min(self.cap, 2 ** attempt))"
        ),
        EmbedInput(
            "src/auth/session.py login", "def login(user, password):\n    return issue_token(check(user, password))"
        ),
        EmbedInput("docs/install.md Install", "Download the archive, unpack it and run the setup script."),
    ]
    questions = ["retry with exponential backoff", "where do users sign in with a password", "how to install it"]
    queries = np.stack([embedder.embed_query(question) for question in questions])

    assert [0, 1, 2] == (queries @ embedder.embed_documents(chunks).T).argmax(axis=1).tolist()


def test_the_shipped_model_gives_the_vectors_it_gave_before(embedder: Embedder) -> None:
    """Vectors stored in an index stay comparable: a few numbers of one vector, as first released."""
    vector = embedder.embed_query("retry failed requests")

    np.testing.assert_allclose(vector[:4], [-0.059215, -0.038629, -0.082032, -0.126131], atol=1e-5)
