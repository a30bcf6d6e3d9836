from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.tokens import FUNCTION_WORDS, part_terms, query_tokens, stem, term_counts, term_spans, tokens
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case


@cases("tokens/stems.txt")
def test_stem(case: Case) -> None:
    """Forms of one word meet in one stem."""
    assert case.expected == stem(case.text)


@cases("tokens/tokens.txt")
def test_tokens(case: Case) -> None:
    """Words, numbers and identifiers of all scripts."""
    assert case.expected == " ".join(tokens(case.text))


@cases("tokens/of_queries.txt")
def test_function_words_are_dropped_from_queries(case: Case) -> None:
    """Unless there is nothing else."""
    assert case.expected == " ".join(query_tokens(case.text))


@cases("tokens/parts.txt")
def test_parts_without_wholes(case: Case) -> None:
    """The parts of compound identifiers stand without the whole of it."""
    assert case.expected == " ".join(part_terms(case.text))


def test_a_long_run_without_spaces_is_searchable_to_its_end() -> None:
    """The limit on the length of a word does not cut sentences of scripts that have no words."""

    assert "終了" in tokens("再試行" * 60 + "終了")


def test_a_long_word_counts_by_its_beginning() -> None:
    """Of a word longer than 64 characters only the beginning counts."""

    assert tokens("a" * 64) == tokens("a" * 5000)


@given(st.text())
def test_counts_are_those_of_the_tokens(text: str) -> None:
    """The terms of any text and their counts are those of its tokens."""

    assert Counter(tokens(text)) == term_counts(text)


@given(st.text(alphabet=st.characters(codec=None, min_codepoint=0, max_codepoint=0x10FFFF, categories=None)))
def test_counts_of_text_with_surrogates(text: str) -> None:
    """The same for text with lone surrogates."""

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
