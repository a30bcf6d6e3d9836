import numpy as np

from hybrid.models.bag_model import Limits, WordTokenizer
from hybrid_lab.training import start
from hybrid_lab.training.pairs import Pair, query_set
from hybrid_lab.training.start import chosen_texts, first_table, first_weights, vocabulary


def pair(query, body="", kind="doc2code"):
    """A pair of an invented repository."""

    return Pair(query, body, "src/till.py", "acme/till", "python", kind)


def test_vocabulary_holds_frequent_words_then_those_of_general_language(monkeypatch):
    """Pieces, names and other alphabets of the transformer stay out."""

    monkeypatch.setattr(start, "LEAST_TEXTS", 2)
    pairs = [pair("open drawer"), pair("open openTill"), pair("drawer 12 12345")]

    found = vocabulary(pairs, ["the", "##ing", "drawer", "Upper", "café", "an"], size=100)

    assert found[:3] == ["py", "src", "till"] or set(found[:3]) == {"py", "src", "till"}
    assert {"open", "drawer"} <= set(found)
    assert found[-2:] == ["<num>", "the"]


def test_a_word_counts_once_in_each_text(monkeypatch):
    """A long text has no more say than a short one."""

    monkeypatch.setattr(start, "LEAST_TEXTS", 2)

    assert "drawer" not in vocabulary([pair("drawer drawer drawer")], [], size=100)


def test_no_more_tokens_than_asked_for(monkeypatch):
    """The file has a size to keep to."""

    monkeypatch.setattr(start, "LEAST_TEXTS", 1)

    assert len(vocabulary([pair("open the drawer of the till")], ["more"], size=3)) == 3


def test_first_table_keeps_the_directions_in_which_words_differ_most():
    """Similarities stay, up to one factor."""

    numbers = np.random.default_rng(0)
    wide = numbers.normal(size=(200, 2)) * [5, 3]
    vectors = np.hstack([wide, numbers.normal(size=(200, 4)) * 0.01]).astype(np.float32) + 7

    table = first_table(vectors, 2)

    centred = vectors - vectors.mean(axis=0)
    np.testing.assert_allclose(
        table @ table.T / (table @ table.T).max(), centred @ centred.T / (centred @ centred.T).max(), atol=1e-3
    )
    assert abs(np.linalg.norm(table, axis=1).mean() - 1) < 1e-5


def test_frequent_tokens_weigh_less():
    """Each weight is between 0 and 1."""

    tokenizer = WordTokenizer(["the", "drawer"])
    bags = query_set(tokenizer, ["the"] * 99 + ["drawer"], Limits(query_words=8, body_words=8, head_words=8))

    weights = first_weights(bags, 2)

    assert 0 < weights[0] < weights[1] < 1


def test_distilled_texts_are_queries_of_people_and_beginnings_of_prose():
    """One seed gives one order."""

    pairs = [pair("open the drawer"), pair("till", kind="name2code"), pair("Hours", "x" * 900, "head2body")]

    texts = chosen_texts(pairs, 10, seed=1)

    assert sorted(texts) == ["Hours", "open the drawer", "x" * start.DISTILLED_CHARS]
    assert chosen_texts(pairs, 10, seed=1) == texts
