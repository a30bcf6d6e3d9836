from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.content import SourceLine
from hybrid.prompting.query import MAX_NAMES, Passage, Query, make_query
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case


def test_a_short_prompt_is_its_own_query():
    """Text under the limit is searched as it is, with the names found in it."""
    text = "why does Client.retry in src/net.py loop?"
    names, paths = ("Client.retry",), ("src/net.py",)
    expected = Query(text, False, names, paths, (SourceLine("src/net.py"),), (Passage(text, 1.0),), text)

    assert expected == make_query(text)


def test_a_single_word_counts_as_an_identifier():
    """A lone word can only be a name, whatever its spelling."""
    assert ("Session",) == make_query("`Session`?").identifiers


def test_a_long_prompt_keeps_its_beginning_and_its_end():
    """Of a long prompt seven tenths come from the beginning and the rest from the end, cut between words."""
    text = " ".join(f"w{number}" for number in range(5_000))
    words = make_query(text, 1_000).text.split()

    assert ("w0", "w4999") == (words[0], words[-1])
    assert all(word == "…" or word in text.split() for word in words)
    assert 0.65 < sum(len(word) + 1 for word in words[: words.index("…")]) / 1_000 < 0.75


def test_the_number_of_names_is_bounded():
    """A pasted log gives no more than the first names."""
    query = make_query(" ".join(f"name_{number}" for number in range(400)))

    assert tuple(f"name_{number}" for number in range(MAX_NAMES)) == query.identifiers


@given(st.text(max_size=400), st.integers(min_value=0, max_value=120))
def test_a_query_never_exceeds_its_limit(text: str, limit_chars: int):
    """Whatever the text, the limit in characters holds."""
    assert len(make_query(text, limit_chars).text) <= limit_chars


@given(st.text(min_size=1, max_size=300))
def test_a_text_within_the_limit_is_never_changed(text: str):
    """Nothing is cut that fits."""
    assert text == make_query(text, len(text)).text


def test_a_pasted_log_does_not_push_out_the_question():
    """Of a prompt that is too long, what programs printed goes first, wherever it stands."""
    log = "\n".join(f"2024-01-08 07:15:23,{number:03} WARN [main] shop - no rate for no" for number in range(400))
    query = make_query(f"The cart forgets the tax.\n{log}\nIt worked in the release before.\n{log}\nPlease fix it.")

    assert "The cart forgets the tax.\nIt worked in the release before.\nPlease fix it." == query.text


def test_what_says_most_is_the_focus():
    """Sentences are embedded, code and logs are not, unless there is hardly a sentence."""
    code = "```\ncart = Cart(country)\nprint(cart.total())\n```"

    assert "The cart forgets the tax of Norway." == make_query(f"The cart forgets the tax of Norway.\n{code}").focus
    assert "print(cart.total())" in make_query(f"fix this\n{code}").focus
    assert "" == make_query("").focus


def test_places_are_found_beyond_the_limit():
    """A trace fails at its end; its places count even when the text between is cut."""
    frames = "\n".join(f'  File "/x/src/step{number}.py", line {number}, in run' for number in range(1, 90))
    query = make_query(f"Traceback (most recent call last):\n{frames}\nKeyError: 1", 300)

    assert ("x/src/step89.py", 89) == (query.places[0].path, query.places[0].line)


@cases("prompting/symbol_like.txt")
def test_little_else_than_names_is_symbol_like(case: Case) -> None:
    """A query that only wants to find a name leans lexical; a question in words stays one, even with a name in it."""
    assert (case.expected == "yes") == make_query(case.text).is_symbol_like


@cases("prompting/titles.txt")
def test_the_title_of_a_prompt_with_something_pasted(case: Case) -> None:
    """Its first line, if that says something and is no story; prose alone has none."""
    assert case.expected == make_query(case.text).title
