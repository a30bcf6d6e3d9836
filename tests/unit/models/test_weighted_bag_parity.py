"""sentence-transformers and our numpy runtime give the same vectors; needs the extra `transformers`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs the extra `transformers`")

from hybrid.base.errors import ModelError
from hybrid.base.resources import shipped
from hybrid.models.registry import load_embedder
from hybrid.models.weighted_bag import WeightedBag, sentence_transformer
from hybrid.types import Embedder, EmbedInput

pytestmark = pytest.mark.model

FOLDER = shipped("models", "static-v1")
INPUTS = [
    EmbedInput("src/net/client.py Client.retry", "def retry(self, request, attempts=5):\n    ...\n    return None"),
    EmbedInput("", "no head, HTTP2 parseFrame 1024 1024"),
    EmbedInput("only a head", ""),
    EmbedInput("日本", "!"),
    EmbedInput("long " * 50, "retry the request " * 300),
]
TEXTS = [f"{text.head}\n{text.body}" for text in INPUTS]
QUERIES = ["where are failed requests retried?", "", "parseHTTP2Frame", "日本", "retry " * 500]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """Our runtime."""
    return load_embedder("static-v1", home=tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def model() -> Any:
    """sentence-transformers, over the same folder."""
    return sentence_transformer(FOLDER)


def test_queries_are_equal(model: Any, embedder: Embedder) -> None:
    """`encode_query` gives the vectors of `embed_query`."""
    ours = np.stack([embedder.embed_query(query) for query in QUERIES])

    np.testing.assert_allclose(model.encode_query(QUERIES), ours, atol=1e-5)


def test_documents_are_equal(model: Any, embedder: Embedder) -> None:
    """`encode_document` gives the vectors of `embed_documents`; the first line is the head."""
    np.testing.assert_allclose(model.encode_document(TEXTS), embedder.embed_documents(INPUTS), atol=1e-5)


def test_plain_encode_embeds_documents(model: Any) -> None:
    """Without a task a text is a document."""
    assert np.array_equal(model.encode_document(TEXTS), model.encode(TEXTS))


def test_the_folder_loads_by_its_modules(embedder: Embedder) -> None:
    """`SentenceTransformer(folder)` finds the class through modules.json, once code outside of it is allowed."""
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(str(FOLDER), trust_remote_code=True, local_files_only=True)

    np.testing.assert_allclose(loaded.encode_query(QUERIES[0]), embedder.embed_query(QUERIES[0]), atol=1e-5)
    assert (256, 320, "cosine") == (loaded.get_embedding_dimension(), loaded.max_seq_length, loaded.similarity_fn_name)


def test_a_saved_model_gives_the_same_vectors(model: Any, tmp_path: Path) -> None:
    """Saving through sentence-transformers writes a folder that our runtime reads."""
    model.save(str(tmp_path / "saved"))
    again = load_embedder(str(tmp_path / "saved"), home=tmp_path)

    np.testing.assert_allclose(model.encode_document(TEXTS), again.embed_documents(INPUTS), atol=1e-5)


def test_a_prompt_stands_before_the_text(model: Any) -> None:
    """A prompt of the caller is embedded as if it were typed."""
    assert np.array_equal(model.encode_query("retry loop"), model.encode_query("loop", prompt="retry "))


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """The class reads local folders only."""
    with pytest.raises(ModelError, match="is not a folder"):
        WeightedBag.load(str(tmp_path / "gone"))
