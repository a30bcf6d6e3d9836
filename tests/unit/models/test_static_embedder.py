"""The arithmetic is compared with a plain loop over the rules of the model card, written for these tests."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from hybrid.base.errors import ModelError
from hybrid.models.bag_model import BagModel, StaticEmbedder
from hybrid.types import EmbedderInfo, EmbedInput

INFO = EmbedderInfo("tiny", 8, "00" * 32, 5, None, None)

TEXTS = st.text("retyclionhp _7123é\n", max_size=60) | st.lists(
    st.sampled_from(["retry", "retryClient", "http", "connection", "1024", "7", "zzz", "loop"]), max_size=10
).map(" ".join)


def counted(model: BagModel, text: str, limit: int) -> dict[int, int]:
    """How often each token occurs in the first words, counted one by one."""
    found: dict[int, int] = {}
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]|[0-9]+", text)
    for word in words[:limit]:
        for token in model.tokenizer.token_ids(word, 1):
            found[token] = found.get(token, 0) + 1
    return found


def summed(model: BagModel, weights: dict[int, float]) -> NDArray[np.float64]:
    """The unit vector of token weights, in double precision."""
    total = [0.0] * model.table.shape[1]
    for token, weight in weights.items():
        for column in range(len(total)):
            total[column] += weight * float(model.table[token][column])
    length = math.sqrt(sum(value * value for value in total))
    return np.array([value / length if length else 0.0 for value in total])


def expected_query(model: BagModel, text: str) -> NDArray[np.float64]:
    """The rules for queries, in a plain loop."""
    counts = counted(model, text, model.limits.query_words)
    return summed(model, {t: float(model.query_weights[t]) * (1 + math.log(n)) for t, n in counts.items()})


def expected_document(model: BagModel, text: EmbedInput) -> NDArray[np.float64]:
    """The rules for documents, in a plain loop."""
    weights: dict[int, float] = {}
    for token, n in counted(model, text.body, model.limits.body_words).items():
        weights[token] = 1 + math.log(n)
    for token, n in counted(model, text.head, model.limits.head_words).items():
        weights[token] = weights.get(token, 0.0) + model.head_weight * (1 + math.log(n))
    return summed(model, {t: float(model.document_weights[t]) * weight for t, weight in weights.items()})


@pytest.fixture
def embedder(tiny_model: BagModel) -> StaticEmbedder:
    """Over the tiny model."""
    return StaticEmbedder(tiny_model, INFO)


@given(st.lists(st.builds(EmbedInput, TEXTS, TEXTS), max_size=8))
def test_documents_follow_the_rules_of_the_card(
    tiny_model: BagModel, embedder: StaticEmbedder, inputs: list[EmbedInput]
) -> None:
    """Every row equals the plain loop within 1e-5, whatever else is in the batch."""
    vectors = embedder.embed_documents(inputs)

    assert (len(inputs), 8) == vectors.shape
    for text, vector in zip(inputs, vectors, strict=True):
        np.testing.assert_allclose(vector, expected_document(tiny_model, text), atol=1e-5)


@given(TEXTS)
def test_queries_follow_the_rules_of_the_card(tiny_model: BagModel, embedder: StaticEmbedder, text: str) -> None:
    """A query's vector equals the plain loop within 1e-5."""
    np.testing.assert_allclose(embedder.embed_query(text), expected_query(tiny_model, text), atol=1e-5)


def test_more_texts_than_a_batch_keep_their_order(embedder: StaticEmbedder) -> None:
    """Row i belongs to input i, across the borders of batches."""
    inputs = [EmbedInput("http", ("retry " * (i % 3)) + "client") for i in range(150)]
    one_by_one = np.stack([embedder.embed_documents([text])[0] for text in inputs])

    assert np.array_equal(one_by_one, embedder.embed_documents(inputs))


def test_vectors_are_unit_length_or_zero(embedder: StaticEmbedder) -> None:
    """A text with a known token has length 1; one without any has the zero vector."""
    vectors = embedder.embed_documents([EmbedInput("http", "retry"), EmbedInput("", ""), EmbedInput("日本", "zz !")])

    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 0], atol=1e-6)
    assert not embedder.embed_query("?").any()


def test_truncated_marks_texts_longer_than_the_model_reads(embedder: StaticEmbedder) -> None:
    """Five words of a body and three of a head count; a text beyond either is marked."""
    inputs = [EmbedInput("a b c", "a b c d e"), EmbedInput("a", "a b c d e f"), EmbedInput("a b c d", "")]

    assert [False, True, True] == embedder.truncated(inputs).tolist()


def test_prefixes_stand_before_query_and_body(tiny_model: BagModel) -> None:
    """A prefix from the manifest is embedded as if it were typed."""
    plain = StaticEmbedder(tiny_model, INFO)
    prefixed = StaticEmbedder(tiny_model, INFO, query_prefix="http ", document_prefix="token ")
    expected = plain.embed_documents([EmbedInput("loop", "token retry")])

    assert np.array_equal(plain.embed_query("http retry"), prefixed.embed_query("retry"))
    assert np.array_equal(plain.embed_queries(["http retry"])[0], prefixed.embed_queries(["retry"])[0])
    assert np.array_equal(expected, prefixed.embed_documents([EmbedInput("loop", "retry")]))


def test_another_dimension_than_promised_is_refused(tiny_model: BagModel) -> None:
    """A table that does not fit its manifest would give vectors of another index."""
    with pytest.raises(ModelError, match="8 dimensions where 9 were expected"):
        StaticEmbedder(tiny_model, replace(INFO, dim=9))


@given(st.lists(TEXTS, max_size=8))
def test_several_queries_at_once(embedder: StaticEmbedder, texts: list[str]) -> None:
    """Each row is what one query gives, and its length that of the query's sum, which has its direction; 0 without one."""
    vectors, lengths = embedder.embed_queries(texts)

    assert ((len(texts), 8), np.float32) == (vectors.shape, vectors.dtype)
    assert lengths is not None
    assert (len(texts),) == lengths.shape
    for text, vector, length in zip(texts, vectors, lengths, strict=True):
        np.testing.assert_allclose(embedder.embed_query(text), vector, atol=1e-6)
        np.testing.assert_allclose(embedder.query_sums([text])[0], vector * length, rtol=1e-4, atol=1e-4)


def test_a_word_that_weighs_more_makes_a_longer_query(tiny_model: BagModel) -> None:
    """The length tells how much a text says: twice the weights, twice the length."""
    heavier = replace(tiny_model, query_weights=2 * tiny_model.query_weights)
    light, heavy = (StaticEmbedder(model, INFO).embed_queries(["retry client"])[1] for model in (tiny_model, heavier))

    assert light is not None
    assert heavy is not None
    np.testing.assert_allclose(2 * light, heavy, rtol=1e-6)
