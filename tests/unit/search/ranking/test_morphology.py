from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.search.ranking.corpus import abbreviates, are_kin, kin_among, may_abbreviate, may_have_kin
from tests.support.cases import Case, cases

_TERMS = st.text(alphabet="abcd", min_size=1, max_size=12)


@cases("ranking/kin.txt")
def test_relatives(case: Case) -> None:
    """Terms are kin when one begins with the other, or when they share five letters and three quarters of the shorter."""
    assert (case.expected == "yes") is are_kin(*case.text.split(), least=4)


@pytest.mark.parametrize(("least", "expected"), [(3, True), (4, False)])
def test_the_least_letters_of_a_beginning(least: int, expected: bool) -> None:
    """How short a term may be that another begins with is for the caller to say."""
    assert expected is are_kin("log", "logger", least=least) is are_kin("logger", "log", least=least)


@given(_TERMS, _TERMS)
def test_kin_by_the_definition(a: str, b: str) -> None:
    """The answer is that of the two sentences of the definition."""
    short, long = sorted((a, b), key=len)
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(short))
    is_beginning = len(short) >= 4 and long[: len(short)] == short

    assert (is_beginning or (shared >= 5 and shared / len(short) >= 0.75)) is are_kin(a, b, least=4)


@pytest.mark.parametrize(
    ("term", "expected"),
    [("rout", True), ("rou", False), ("v2xy", False), ("max_retri", False), ("1234", False), ("größe", True)],
)
def test_only_plain_words_have_kin(term: str, expected: bool) -> None:
    """Numbers, compounds and short words have no relatives."""

    assert expected is may_have_kin(term, least=4)


def test_the_nearest_in_length_first() -> None:
    """Relatives come by difference of length, then in order of letters; the term itself and strangers are left out."""
    candidates = ["router", "rout", "routes", "routing", "route", "roundish", "rout_x", "rout2", "routingtable"]

    assert ["route", "router", "routes", "routing"] == kin_among("rout", candidates, least=4)


def test_a_relative_is_at_most_five_letters_longer() -> None:
    """A much longer word is another word; a shorter one may be kin at any difference."""

    assert ["authoriza"] == kin_among("auth", ["authoriza", "authorizat"], least=4)
    assert ["auth"] == kin_among("authorizationfilter", ["auth"], least=4)


@given(st.lists(_TERMS, unique=True, max_size=20), _TERMS)
def test_relatives_do_not_depend_on_the_order(terms: list[str], term: str) -> None:
    """The same candidates in any order give the same relatives."""
    found = kin_among(term, terms, least=4)

    assert found == kin_among(term, terms[::-1], least=4)
    assert term not in found


@cases("ranking/abbreviations.txt")
def test_abbreviations(case: Case) -> None:
    """An abbreviation has three letters, begins alike, has no vowel after that, and its letters stand in order."""
    assert (case.expected == "yes") is abbreviates(*case.text.split())


@given(st.text(max_size=6), st.text(min_size=1, max_size=12))
def test_what_abbreviates_is_spelled_so(short: str, word: str) -> None:
    """Nothing abbreviates a word that is not spelled like an abbreviation, and nothing abbreviates itself."""
    if not short:
        return

    assert may_abbreviate(short) or not abbreviates(short, word)
    assert not abbreviates(word, word)
