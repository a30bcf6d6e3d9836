from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.tokens import FUNCTION_WORDS, part_terms, query_tokens, stem, term_counts, term_spans, tokens
from tests.support.cases import Case, cases


@cases("tokens/stems.txt")
def test_stem(case: Case) -> None:
    """Forms of one word meet in one stem; short, non-English and mixed words stay."""
    assert case.expected == stem(case.text)


@cases("tokens/texts.txt")
def test_tokens_of_a_text(case: Case) -> None:
    """Words in lower case as stems, identifiers with their parts, numbers, and pairs where nothing parts words."""
    assert case.expected == " ".join(tokens(case.text))


def test_only_words_have_a_greatest_length() -> None:
    """Of a word longer than 64 characters the beginning counts; a run of a script without words is found to its end."""
    assert tokens("a" * 64) == tokens("a" * 5000)
    assert "終了" in tokens("再試行" * 60 + "終了")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how does the retry work", ["retri", "work"]),
        ("Which USE index", ["index"]),
        ("how is it", ["how", "is", "it"]),
        ("", []),
        ("?!", []),
    ],
)
def test_function_words_are_dropped_from_queries(text: str, expected: list[str]) -> None:
    """A query loses its function words, unless it has nothing else."""

    assert expected == query_tokens(text)


@given(st.text(alphabet=st.characters(codec=None, min_codepoint=0, max_codepoint=0x10FFFF, categories=None)))
def test_counts_are_those_of_the_tokens(text: str) -> None:
    """The terms of any text, of lone surrogates too, and their counts are those of its tokens."""

    assert Counter(tokens(text)) == term_counts(text)


@given(st.text())
def test_tokens_are_not_empty_and_without_spaces(text: str) -> None:
    """No token is empty or holds white space."""

    assert [] == [token for token in tokens(text) if not token or token.split() != [token]]


@given(st.text(), st.text())
def test_texts_apart_give_their_tokens_one_after_another(first: str, second: str) -> None:
    """A space between two texts parts their tokens."""

    assert tokens(first) + tokens(second) == tokens(f"{first} {second}")


@given(st.text())
def test_a_query_uses_tokens_of_its_text(text: str) -> None:
    """Every token of a query is a token of the same text in a chunk: the index can find what was asked."""

    assert set() == set(query_tokens(text)) - set(tokens(text))


def test_function_words_are_lower_case() -> None:
    """Function words are compared in lower case."""

    assert {word.lower() for word in FUNCTION_WORDS} == FUNCTION_WORDS


@pytest.mark.parametrize("character", ["a", "A", "_", "9", "é", "再", "\u0301", " ", "\ud800", "-"], ids=ascii)
def test_a_megabyte_of_one_character_takes_linear_time(character: str) -> None:
    """A megabyte of one character, in any script, is done: a pattern that goes back over what it read takes hours."""
    counted = term_counts(character * 1_000_000)

    assert sum(counted.values()) <= 1_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer_v2", ["http", "server", "v", "2"]),
        ("retry_count retries", ["retri", "count", "retri"]),
        ("plain", ["plain"]),
        ("__init__", ["init"]),
        ("größe_max", ["größe", "max"]),
        ("__ +", []),
        ("", []),
    ],
)
def test_parts_without_wholes(text: str, expected: list[str]) -> None:
    """The parts of compound identifiers stand without the whole of it."""

    assert expected == part_terms(text)


@given(st.text(max_size=40))
def test_parts_are_tokens(text: str) -> None:
    """Every part is a token of the text, in the order of the tokens."""
    rest = iter(tokens(text))

    assert all(part in rest for part in part_terms(text))


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("retries of PaymentClient_v2", {"retri", "client"}, ["retries", "Client"]),
        ("find_by_email", {"find", "email"}, ["find", "email"]),
        ("Größe größer", {"größe"}, ["Größe"]),
        ("日本語です", {"日本", "本語"}, ["日本", "本語"]),
        ("nothing", {"other"}, []),
    ],
)
def test_terms_stand_where_their_words_do(text: str, terms: set[str], expected: list[str]) -> None:
    """Parts of identifiers, inflected words, whole words of other letters, pairs of characters."""
    assert expected == [text[start:end] for start, end in term_spans(text, terms)]
