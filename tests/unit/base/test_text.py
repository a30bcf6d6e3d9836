from hybrid.base.text import cut, cut_at_word, one_line


def test_a_text_becomes_one_line() -> None:
    """Line ends, tabs and runs of spaces become one space, and none stands at the ends."""
    assert "a b c" == one_line(" a\tb\n\n c \n")


def test_a_text_that_fits_is_not_cut() -> None:
    """A text of exactly the length stays as it is."""
    assert ("abcde", "abc e") == (cut("abcde", 5), cut_at_word("abc e", 5))


def test_a_cut_text_ends_with_an_ellipsis_within_the_length() -> None:
    """The ellipsis counts, and no space stands before it."""
    assert ("abcd…", "abc…") == (cut("abcdef", 5), cut("abc def", 5))


def test_a_text_is_cut_before_a_word_unless_little_would_be_left() -> None:
    """A whole word goes; a word that is longer than half of what may stay is cut itself."""
    assert "one two…" == cut_at_word("one two three", 11)
    assert "one twotwot…" == cut_at_word("one twotwotwotwotwo", 12)
