from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.content import ENGLISH, MAX_PIECES, OTHERS, content_words, is_english, pieces
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case

TEXTS = st.text(max_size=300) | st.lists(
    st.sampled_from(
        [
            "please",
            "the",
            "retry loop",
            "`the`",
            "```",
            "~~~",
            "\n",
            ", ",
            ". ",
            "— ",
            "“x”",
            "für",
            "der",
            "my",
            "a_b",
            "(",
        ]
    ),
    max_size=40,
).map(" ".join)


# --- content words ---------------------------------------------------------------------------------------------


@cases("prompting/content_words.txt")
def test_words_of_grammar_and_politeness_are_dropped(case: Case) -> None:
    """Code stays, and so do words of one language in another: `die` is an article or a verb."""
    assert case.expected == content_words(case.text)


@cases("prompting/is_english.txt")
def test_a_text_is_english_unless_words_of_another_language_prevail(case: Case) -> None:
    """Function words are counted."""
    assert (case.expected == "yes") == is_english(case.text)


def test_every_list_holds_words_as_they_are_compared() -> None:
    """Lower case, without apostrophes and marks: any other spelling could never be found."""
    for words in (ENGLISH, *OTHERS.values()):
        assert [] == [word for word in words.split() if word != word.lower() or not re.fullmatch(r"\w+", word)]


@given(TEXTS)
def test_content_is_a_selection_of_the_words(text: str) -> None:
    """Any text gives a part of its signs in order, white space aside."""
    rest = iter("".join(text.split()))

    assert all(sign in rest for sign in "".join(content_words(text).split()))


# --- pieces ----------------------------------------------------------------------------------------------------


@cases("prompting/pieces.txt")
def test_the_whole_comes_first_then_sentences_then_clauses(case: Case) -> None:
    """The request is a piece whatever stands around it, and a fenced block is one, with every word of it."""
    assert case.expected == "\n".join(pieces(case.text))


def test_there_is_a_limit_of_pieces() -> None:
    """Of many, the first eight and the last four are kept: what is asked stands at either end."""
    found = pieces("\n".join(f"sentence number{i} about topic{i}" for i in range(40)))

    assert 1 + MAX_PIECES == len(found)
    assert [f"number{i}" for i in [*range(8), *range(36, 40)]] == [piece.split()[1] for piece in found[1:]]


def test_a_dozen_pieces_are_all_kept() -> None:
    """At the limit nothing is left out."""

    assert 1 + MAX_PIECES == len(pieces("\n".join(f"sentence number{i} about topic{i}" for i in range(MAX_PIECES))))


@given(TEXTS)
def test_pieces_of_any_text(text: str) -> None:
    """No text raises; pieces are few, distinct, not empty, and have no word that the prompt has not."""
    found = pieces(text)

    assert len(found) <= 1 + MAX_PIECES
    assert len(set(found)) == len(found)
    assert all(piece.strip() for piece in found)
    signs = set("".join(text.split()))
    assert all(set("".join(piece.split())) <= signs for piece in found)


@pytest.mark.parametrize("sign", ["`", "```", "~~~", "a ", "a, ", " - ", "(", "“", "\n", "a\n", "—", "x" * 50])
def test_a_query_of_the_longest_kind(sign: str) -> None:
    """Five thousand characters of one sign, which is what a query is cut to, end like any other."""

    assert len(pieces((sign * 5_000)[:5_000])) <= 1 + MAX_PIECES
