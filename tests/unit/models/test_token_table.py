from pathlib import Path

import numpy as np
import pytest

from hybrid.base.arrays import write_arrays
from hybrid.base.errors import ModelError
from hybrid.types import EmbedderInfo, EmbedInput

pytest.importorskip("tokenizers", reason="needs the extra `static`")

from hybrid.models.foreign import TokenTableEmbedder

INFO = EmbedderInfo("table", 2, "00" * 32, 0, None, None)


def test_the_vector_is_the_unit_mean_of_the_rows(token_table_folder: Path) -> None:
    """Rows (3, 0) and (0, 4) have the mean (1.5, 2), of direction (0.6, 0.8); head and body are one text.

    An empty text gives zeros, and undecodable bytes of a file name reach the tokenizer as a question mark.
    """
    embedder = TokenTableEmbedder(token_table_folder, INFO)
    np.testing.assert_allclose(embedder.embed_query("Retry client"), [0.6, 0.8], atol=1e-6)
    vectors = embedder.embed_documents([EmbedInput("retry", "client"), EmbedInput("", "loop"), EmbedInput("", "")])

    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0, 1], [0, 0]], atol=1e-6)
    assert (2,) == embedder.embed_query("retry \udc80").shape


def test_prefixes_stand_before_the_text(token_table_folder: Path) -> None:
    """A prefix is embedded as if it were typed."""
    embedder = TokenTableEmbedder(token_table_folder, INFO, query_prefix="retry ", document_prefix="client ")

    np.testing.assert_allclose(embedder.embed_query("client"), [0.6, 0.8], atol=1e-6)
    np.testing.assert_allclose(embedder.embed_documents([EmbedInput("", "retry")]), [[0.6, 0.8]], atol=1e-6)


def test_more_texts_than_a_batch_keep_their_order(token_table_folder: Path) -> None:
    """Row i belongs to input i, across the borders of batches, and nothing is truncated."""
    embedder = TokenTableEmbedder(token_table_folder, INFO)
    inputs = [EmbedInput("", "retry" if i % 3 else "loop") for i in range(150)]

    assert [[1.0, 0.0] if i % 3 else [0.0, 1.0] for i in range(150)] == embedder.embed_documents(inputs).tolist()
    assert not embedder.truncated(inputs).any()


def test_a_model2vec_table_maps_and_weighs_tokens(token_table_folder: Path) -> None:
    """With `mapping` and `weights`, a token has row mapping[id] times weights[id]; the unknown token counts nothing."""
    arrays = {
        "embeddings": np.array([[1, 0], [0, 1]], np.float16),
        "mapping": np.array([0, 1, 0, 0], np.int64),
        "weights": np.array([9, 3, 4, 1], np.float64),
    }
    write_arrays(token_table_folder / "model.safetensors", arrays)
    embedder = TokenTableEmbedder(token_table_folder, INFO)

    np.testing.assert_allclose(embedder.embed_query("retry client unheard"), [0.8, 0.6], atol=1e-6)
    assert [0, 0] == embedder.embed_query("unheard").tolist()


def test_a_table_that_does_not_fit_the_tokenizer_is_refused(token_table_folder: Path) -> None:
    """Otherwise a token without a row would be an index error in the middle of a build."""
    write_arrays(token_table_folder / "model.safetensors", {"embedding.weight": np.ones((3, 2), np.float32)})

    with pytest.raises(ModelError, match=r"table of \(3, 2\) where \(4, 2\) was expected"):
        TokenTableEmbedder(token_table_folder, INFO)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("tokenizer.json", None, r"tokenizer\.json", id="no tokenizer"),
        pytest.param("tokenizer.json", "{", r"tokenizer\.json", id="no JSON"),
        pytest.param("tokenizer.json", '{"model": {}}', r"tokenizer\.json", id="JSON of something else"),
        pytest.param("model.safetensors", None, "cannot be read", id="no table"),
    ],
)
def test_a_missing_or_damaged_file_is_an_error_of_the_model(
    token_table_folder: Path, name: str, content: str | None, message: str
) -> None:
    """It is reported, not a crash."""
    (token_table_folder / name).unlink()
    if content is not None:
        (token_table_folder / name).write_text(content)

    with pytest.raises(ModelError, match=message):
        TokenTableEmbedder(token_table_folder, INFO)


def test_several_queries_at_once(token_table_folder: Path) -> None:
    """Each row is what one query gives, with its prefix; the mean of rows keeps no length that compares."""
    embedder = TokenTableEmbedder(token_table_folder, INFO, query_prefix="loop ")
    texts = ["retry", "client retry", ""]

    vectors, lengths = embedder.embed_queries(texts)

    np.testing.assert_allclose(np.stack([embedder.embed_query(text) for text in texts]), vectors, atol=1e-6)
    assert lengths is None
    assert (0, 2) == embedder.embed_queries([])[0].shape
