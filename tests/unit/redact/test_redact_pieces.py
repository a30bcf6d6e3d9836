"""The pieces of a text: a cheap look at which words it may hold, before the rules for secrets run."""

from __future__ import annotations

import pytest

from hybrid.redact.commands import COMMAND_WORDS, HEADER_NAMES
from hybrid.redact.signs import pieces_of, possible


@pytest.mark.parametrize("around", ["{}", "x{}y", "ü{}→", "Run {}\n", '\\n{}"', "9{}9"])
@pytest.mark.parametrize("word", [*HEADER_NAMES, *COMMAND_WORDS])
def test_a_word_is_possible_in_each_text_that_holds_it(word: str, around: str) -> None:
    """No word of a rule is missed, whatever stands around it and in whatever case it is written."""
    texts = [around.format(word), around.format(word.upper())]

    assert [[word], [word]] == [possible((word,), pieces_of(text)[1]) for text in texts]


def test_a_word_that_stands_nowhere_is_not_possible() -> None:
    """Words whose pieces do not stand in the text are left out, and only these."""
    words = ("login", "a-key", "key (", "a key")

    assert ["key (", "a key"] == possible(words, pieces_of("log in with key a")[1])


def test_each_piece_stands_once() -> None:
    """A piece that is repeated costs no second search."""
    assert ("", "password= x") == pieces_of("password= x password=\npassword= x")
