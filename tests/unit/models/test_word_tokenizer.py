import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.models.bag_model import WordTokenizer, pieces, split_run

VOCABULARY = ["retry", "client", "con", "connect", "ion", "<num>", "42", "parse", "http"]


@pytest.fixture
def tokenizer() -> WordTokenizer:
    """Nine tokens."""
    return WordTokenizer(VOCABULARY)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        pytest.param("retryCount", ["retry", "count"], id="camel case"),
        pytest.param("HTTPServer", ["http", "server"], id="abbreviation before a word"),
        pytest.param("parseHTTP2Frame", ["parse", "http", "2", "frame"], id="digits inside"),
        pytest.param("MAX", ["max"], id="upper case"),
        pytest.param("aB", ["a", "b"], id="single letters"),
        pytest.param("007", ["007"], id="digits"),
    ],
)
def test_a_run_is_cut_into_lower_case_words(run: str, words: list[str]) -> None:
    """A run of letters and digits is cut at camelCase borders and between letters and digits."""
    assert words == split_run(run)


@pytest.mark.parametrize(
    ("word", "tokens"),
    [
        pytest.param("connect", ["connect"], id="known word"),
        pytest.param("connection", ["connect", "ion"], id="longest piece first"),
        pytest.param("xxconyy", ["con"], id="letters that begin no piece are skipped"),
        pytest.param("zz", [], id="too short for a piece"),
        pytest.param("conconconconcon", ["con"] * 4, id="at most four pieces"),
        pytest.param("z" * 38 + "retry", [], id="only the first 40 letters"),
        pytest.param("42", ["42"], id="known number of two digits"),
        pytest.param("17", [], id="unknown number of two digits"),
        pytest.param("1024", ["<num>"], id="number of three digits or more"),
    ],
)
def test_a_word_gives_itself_or_its_longest_pieces(word: str, tokens: list[str]) -> None:
    """A known word is one token; another gives its longest known pieces from the left; some know no long numbers."""
    ids = {token: row for row, token in enumerate(VOCABULARY)}

    assert tuple(ids[token] for token in tokens) == pieces(word, ids)
    assert () == pieces("1024", {"retry": 0})


@pytest.mark.parametrize(
    ("text", "limit", "tokens"),
    [
        pytest.param("retry_client é日本http\udc80parse", 100, "retry client http parse", id="what separates words"),
        pytest.param("zz qq retry client", 3, "retry", id="unknown words count towards the limit"),
        pytest.param("retryClientParse", 2, "retry client", id="the limit may fall inside a run"),
    ],
)
def test_tokens_of_a_text(tokenizer: WordTokenizer, text: str, limit: int, tokens: str) -> None:
    """Everything but ASCII letters and digits ends a word and is dropped; a limit is one of words."""
    assert [VOCABULARY.index(token) for token in tokens.split()] == tokenizer.token_ids(text, limit)


@pytest.mark.parametrize(("limit", "expected"), [(3, False), (2, True)])
def test_is_longer_compares_the_number_of_words(tokenizer: WordTokenizer, limit: int, expected: bool) -> None:
    """A text of three words is longer than two, not longer than three."""
    assert expected is tokenizer.is_longer("retry zz clientele", limit)


@given(st.text(), st.integers(0, 8))
def test_a_limit_takes_a_prefix(text: str, limit: int) -> None:
    """The tokens under a limit are those of the first words, whatever the text."""
    ids = {token: row for row, token in enumerate(VOCABULARY)}
    words = [word for run in re.findall("[A-Za-z0-9]+", text) for word in split_run(run)]
    expected = [token for word in words[:limit] for token in pieces(word, ids)]

    assert expected == WordTokenizer(VOCABULARY).token_ids(text, limit)


@given(st.lists(st.text("abAB1_ é", max_size=12), max_size=12))
def test_white_space_joins_texts(texts: list[str]) -> None:
    """The tokens of texts joined by a space are the tokens of each, one after another: nothing is remembered."""
    tokenizer = WordTokenizer(VOCABULARY)
    each = [token for text in texts for token in tokenizer.token_ids(text, 1000)]

    assert each == tokenizer.token_ids(" ".join(texts), 100_000)
