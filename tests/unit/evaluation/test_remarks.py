import pytest

from hybrid.evaluation.own import is_docstring, is_remark, n_words, question_of


@pytest.mark.parametrize(
    ("comment", "name", "expected"),
    [
        ('"""Lower the anchor to the sea floor.\n\nMore about chains.\n"""', "drop_anchor", "Lower the anchor to the sea floor"),
        ("// HeatOven warms the oven for bread. It waits.", "HeatOven", "warms the oven for bread"),
        ("/**\n * Heats up the oven slowly.\n * @param degrees Celsius\n */", "heat", "Heats up the oven slowly"),
        ("/// <summary>\n/// Warms the whole <see cref=\"T:Bakery.Oven\"/> at night.\n/// </summary>", "Heat", "Warms the whole Oven at night"),
        ("# Weigh flour, salt etc. before the dough is made.", "weigh", "Weigh flour, salt etc. before the dough is made"),
        ("-- | Folds the dough twice, see 'knead'.", "fold", "Folds the dough twice, see 'knead'"),
        ("/* \\brief Opens the door of the oven\n * and keeps it open. */", "open", "Opens the door of the oven and keeps it open"),
        ('"""Wraps :class:`~bakery.Oven` so that ``heat()`` never fails."""', "heat", "Wraps bakery.Oven so that never fails"),
        ("// retry calls the [baker](https://x.y/z) again later", "retry", "calls the baker again later"),
        ("// Retries are counted for each baker", "retry", "Retries are counted for each baker"),
        ("; 酵母を加えて生地を二時間ほど寝かせる。次へ", "rest", "酵母を加えて生地を二時間ほど寝かせる"),
    ],
    ids=[
        "docstring", "name first", "tags end it", "cref", "short form", "haskell", "brief", "role and call", "link", "other word",
        "unspaced",
    ],
)  # fmt: skip
def test_a_comment_becomes_its_first_sentence(comment: str, name: str, expected: str) -> None:
    """Without marks, markup, sections and the name it explains, where that is spelled as in code."""

    assert expected == question_of(comment.split("\n"), name)


@pytest.mark.parametrize(
    "comment",
    [
        "# Three words only",
        "# HeatOven warms ovens well",
        "// Copyright 2020 the bakers of this town",
        "// TODO warm the oven before the bread",
        "# eslint-disable-next-line no-unused-vars for this line",
        "// if (oven.heat) { return bread; }",
        "# bread = oven.bake(dough, minutes)",
        "//////////////////////////",
        "",
    ],
    ids=["short", "short without its name", "copyright", "task", "lint", "code", "assignment", "line", "nothing"],
)
def test_what_asks_for_nothing_is_left_out(comment: str) -> None:
    """Too few words, notes to tools and lawyers, and code that was switched off."""

    assert "" == question_of(comment.split("\n"), "HeatOven")


def test_a_remark_is_told_by_how_it_begins() -> None:
    """Code with a comment behind it must not be held out."""

    assert is_remark(["  // warms"])
    assert is_remark(['    r"""Warms.'])
    assert not is_remark(["heat = 3  # degrees"])
    assert not is_remark([])
    assert is_docstring('    """Warms.')
    assert not is_docstring("    # Warms.")


def test_words_are_counted_in_every_script() -> None:
    """Two characters of a script without spaces count as one word."""

    assert (4, 3, 0) == (n_words("lower the anchor now"), n_words("生地を寝かせる。"), n_words("-- 3 ++"))
