from __future__ import annotations

import math

import pytest

from hybrid.prompting.query import make_query
from hybrid.search.ranking.query_terms import MAX_TERMS, is_wish, most_telling, take_apart, wanted_in
from tests.support.cases import Case, cases
from tests.unit.search.ranking.projects import numbers_in


def test_terms_without_function_words() -> None:
    """Terms are stems of what is said, compounds as a whole and in parts; words that say nothing are dropped."""
    asked = take_apart(make_query("where does the retryCount come from"))

    assert {"retrycount": 1.0, "retri": 1.0, "count": 1.0, "com": 1.0} == asked.terms
    assert ("retri", "count", "com") == asked.words


def test_a_word_said_again_adds_less() -> None:
    """A word counts 1 + ln of how often it is said."""
    terms = take_apart(make_query("heron heron heron stork")).terms

    assert {"heron": pytest.approx(1 + math.log(3)), "stork": 1.0} == terms


def test_function_words_alone() -> None:
    """A query of nothing else keeps them."""

    assert ("wher", "is", "the") == take_apart(make_query("where is the")).words


@cases("ranking/symbols.txt")
def test_symbols(case: Case) -> None:
    """Identifiers count fully, their last part too; a capitalised word inside a sentence half, at its beginning nothing."""
    assert numbers_in(case.expected) == take_apart(make_query(case.text)).symbols


def test_a_short_query_stays_as_it_is() -> None:
    """A query of few terms loses none, however common."""
    asked = take_apart(make_query("heron stork"))

    assert asked is most_telling(asked, 10, lambda _: 0)


def test_a_long_query_keeps_what_tells_most() -> None:
    """Of many terms the rare ones stay that the project knows; one that no chunk holds tells nothing."""
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}x" for i in range(MAX_TERMS + 20)]
    unknown, common = set(words[:10]), set(words[10:20])
    frequency = {word: 0 if word in unknown else 900 if word in common else 3 for word in words}
    asked = most_telling(take_apart(make_query(" ".join(words))), 1000, lambda term: frequency[term])

    assert set(words[20:]) == set(asked.terms) == set(asked.words)


def test_a_title_says_which_files_are_meant() -> None:
    """Tests, examples and versions in the story below a title are not what is asked for."""
    story = "See the tests and examples of v1, it worked there.\n```python\nflock.count()\n```"
    titled = take_apart(make_query(f"Flock.count ignores young herons\n\n{story}"))
    of_tests = take_apart(make_query(f"The tests of Flock.count ignore v2 herons\n\n{story}"))
    untitled = take_apart(make_query(f"Hi!\n\n{story}"))

    assert (True, frozenset(), frozenset()) == (titled.is_titled, titled.roles, titled.versions)
    assert ({"test"}, {2}) == (of_tests.roles, of_tests.versions)
    assert (False, {"test", "example"}, {1}) == (
        untitled.is_titled,
        untitled.roles & {"test", "example"},
        untitled.versions,
    )


def test_a_title_says_which_symbols_are_meant() -> None:
    """A story names many; without a title all that are spelled as code count, and none that is a word of prose."""
    titled = take_apart(make_query("Flock.count_all ignores young herons\n\n```python\nnest_of(flock)\n```"))

    assert {"count_all"} == titled.named & {"count_all", "nest_of"}
    assert {"count_all", "nest_of"} == take_apart(make_query("the Heron of count_all in nest_of")).named


@cases("ranking/scopes.txt")
def test_a_name_in_front_of_a_colon(case: Case) -> None:
    """It says where, unless it is a kind of change or of message."""
    assert tuple((case.expected or "").split()) == take_apart(make_query(case.text)).scope


@cases("ranking/wishes.txt")
def test_a_wish_is_told_from_a_question_and_a_heading(case: Case) -> None:
    """What shall be changed, or is wrong, is a wish; with it the kinds of files that are meant, if any."""
    wanted = {"test", "doc", "data"} & wanted_in(case.text) if is_wish(case.text) else {"no wish"}

    assert set((case.expected or "").split(", ")) - {""} == wanted
