import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.models.registry import HashingEmbedder, hashing_info
from hybrid.types import EmbedInput


def test_texts_that_share_words_are_closer() -> None:
    """Shared terms bring texts together, whatever their order or spelling as identifiers."""
    embedder = HashingEmbedder(256)
    query = embedder.embed_query("retry count of the client")
    near, far = embedder.embed_documents(
        [EmbedInput("client.py", "client.retryCount += 1"), EmbedInput("theme.css", "margin padding colour")]
    )

    assert query @ near > 0.4 > query @ far


@given(st.text(max_size=40), st.text(max_size=40))
def test_vectors_are_unit_or_zero_and_repeatable(head: str, body: str) -> None:
    """The same text gives the same vector from another embedder of the same dimension."""
    vector = HashingEmbedder(32).embed_documents([EmbedInput(head, body)])[0]
    length = float(np.linalg.norm(vector))

    assert length == pytest.approx(1, abs=1e-5) or length == 0
    assert np.array_equal(vector, HashingEmbedder(32).embed_documents([EmbedInput(head, body)])[0])


def test_a_known_vector_stays_what_it_is() -> None:
    """Vectors stored on disk are compared with new ones: the recipe must not drift between releases."""
    vector = HashingEmbedder(8).embed_query("retry client")
    half = 0.5**0.5

    assert pytest.approx([0, 0, 0, 0, -half, 0, 0, -half]) == vector.tolist()


def test_identity_depends_on_the_dimension() -> None:
    """Vectors of different dimension are never mixed."""
    assert hashing_info(64).sha256 != hashing_info(65).sha256
    assert ("hashing-64", 64, 0) == (hashing_info(64).name, hashing_info(64).dim, hashing_info(64).max_tokens)


def test_several_queries_at_once() -> None:
    """Each row is what one query gives; a sum of signed terms has no length that says anything. Every word counts."""
    embedder = HashingEmbedder()
    texts = ["retry loop", "?!", "retry loop", "parse the header of a client"]
    vectors, lengths = embedder.embed_queries(texts)

    np.testing.assert_array_equal(np.stack([embedder.embed_query(text) for text in texts]), vectors)
    assert (None, np.float32) == (lengths, vectors.dtype)
    assert (0, 64) == embedder.embed_queries([])[0].shape == embedder.embed_documents([]).shape
    assert [False] == embedder.truncated([EmbedInput("", "word " * 10_000)]).tolist()
