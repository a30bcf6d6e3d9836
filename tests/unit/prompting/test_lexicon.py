"""Prompts in other languages, said in English words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.resources import shipped
from hybrid.base.text import sha256_hex
from hybrid.prompting.lexicon import ENGLISH, LEXICON, Lexicon, fold, in_english
from hybrid.prompting.query import make_query, said_in_english
from tests.support.cases import cases, read

if TYPE_CHECKING:
    from tests.support.cases import Case

WORDS, PARTS = (
    {case.text: case.expected or ENGLISH for case in read(f"prompting/{name}.txt")}
    for name in ("lexicon", "lexicon_of_parts")
)


def lexicon(words: dict[str, str] = WORDS) -> Lexicon:
    """A lexicon of a few words."""
    return Lexicon("".join(f"{word}\t{words[word]}\n" for word in sorted(words, key=str.encode)).encode())


# --- one word --------------------------------------------------------------------------------------------------


@cases("prompting/folded.txt")
def test_accents_are_folded(case: Case) -> None:
    """Marks of kana belong to their letters."""
    assert case.expected == fold(case.text)


@given(st.dictionaries(st.text("abcé删\U0001f600z", min_size=1, max_size=6), st.sampled_from(["one", "two"])))
def test_a_listed_word_is_found(words: dict[str, str]) -> None:
    """Every word of a lexicon is found, the first and the last too, and no other."""
    listed = lexicon(words)

    assert list(words.values()) == [listed.find(word) for word in words]
    assert all(listed.find(f"{word}x") == "" for word in words)


@cases("prompting/forms.txt")
def test_a_form_is_found_by_its_beginning(case: Case) -> None:
    """Another ending is the same word; another word with the same beginning is not."""
    assert case.expected == lexicon().nearest(case.text)


@cases("prompting/compounds.txt")
def test_a_compound_is_its_parts(case: Case) -> None:
    """A word of which a part is not listed is no compound."""
    assert case.expected == lexicon().compound(case.text)


@cases("prompting/compound_parts.txt")
def test_a_compound_is_cut_into_few_long_parts(case: Case) -> None:
    """A word of grammar such as *do* is no part."""
    assert case.expected == lexicon(PARTS).compound(case.text)


@cases("prompting/runs.txt")
def test_a_run_is_cut_into_the_longest_words(case: Case) -> None:
    """What is not listed is passed over."""
    assert case.expected == " ".join(lexicon().run(case.text))


@pytest.mark.parametrize("word", ["e" * 40, "s" * 39 + "q", ("ens" * 14)[:40]])
def test_the_work_for_a_long_word_is_bounded(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every beginning is listed and every link fits, the lookups of one word stay in the low thousands."""
    pieces = {word[start:end] for start in range(len(word)) for end in range(start + 4, len(word))}
    listed = lexicon(dict.fromkeys(pieces, "key"))
    find, looked_up = listed.find, list[str]()

    def counted(part: str) -> str:
        looked_up.append(part)
        return find(part)

    def none(part: str) -> str:
        looked_up.append(part)
        return ""

    monkeypatch.setattr(listed, "find", counted)
    monkeypatch.setattr(listed, "nearest", none)  # No cut succeeds, so that all are tried.

    assert "" == listed.compound(word)
    assert 200 < len(looked_up) < 4_000


def test_an_empty_lexicon_knows_nothing() -> None:
    """It does not fail either."""
    nothing = Lexicon(b"")

    assert ("", "", "") == (nothing.find("a"), nothing.nearest("archivos"), nothing.compound("archivoname"))
    assert [] == list(nothing.run("删除"))


# --- a text ----------------------------------------------------------------------------------------------------


@cases("prompting/in_english.txt")
def test_the_words_of_a_prompt_in_english(case: Case) -> None:
    """A prompt has a language by its grammar, or when all its words are of another one and one with an accent is listed."""
    assert case.expected == in_english(case.text)


@cases("prompting/shipped_words.txt")
def test_usual_words_of_programming(case: Case) -> None:
    """The shipped file has what developers mean, and compounds of it."""
    listed, folded = Lexicon(shipped(*LEXICON).read_bytes()), fold(case.text)

    assert case.expected == (listed.nearest(folded) or listed.compound(folded))


def test_code_in_a_prompt_stays() -> None:
    """Names, paths, flags, and what stands in backticks or fences are not words of a language."""
    code = ["`schlüssel`", "datei_name", "lib/speicher.py", "--datei", "speicherDatei", "datei.lesen()", "FEHLER"]
    text = f"Warum wird der Wert nicht gelesen: {' und '.join(code)}\n```\nspeicher = datei\n```"

    said = in_english(text)

    assert all(part in said for part in (*code, "speicher = datei"))
    assert "value" in said


def test_of_a_long_text_the_beginning_is_said() -> None:
    """What stands far behind a question is pasted, and looking it up takes time."""
    text = "Wo wird der Schlüssel gelöscht? " + "und nicht " * 200 + "Speicher"

    said = in_english(text)

    assert "key" in said
    assert "memory" not in said


@given(st.text(max_size=200))
def test_any_text_is_taken(text: str) -> None:
    """No text fails."""
    assert isinstance(in_english(text), str)


# --- the query -------------------------------------------------------------------------------------------------


def test_a_query_keeps_what_was_typed() -> None:
    """English words are searched for beside the typed ones, and identifiers stay."""
    query = make_query("Warum wird `cache_get` nicht gelöscht, wenn der Schlüssel fehlt?")
    said = said_in_english(query)

    assert "key" in query.english
    assert {"key", "schlüssel"} <= set(re.findall(r"\w+", said.text))
    assert "schlüssel" not in said.focus.lower()
    assert ("cache_get",) == said.identifiers == query.identifiers
    assert "" == said.english


def test_an_english_query_is_not_changed() -> None:
    """It is the same value."""
    query = make_query("where is the key deleted from the cache?")

    assert query is said_in_english(query)


def test_a_query_is_said_once() -> None:
    """Files and each kind of records that are searched for one prompt share what was made of it."""
    query = make_query("Warum wird der Schlüssel nicht gelöscht?")

    assert said_in_english(query) is said_in_english(make_query("Warum wird der Schlüssel nicht gelöscht?"))


# --- the file --------------------------------------------------------------------------------------------------


def test_the_shipped_file() -> None:
    """It is sorted, each word once, with one English word each, and is the file that its card names."""
    path = shipped(*LEXICON)
    data = path.read_bytes()
    rows = [line.split(b"\t") for line in data.splitlines()]
    words = [word for word, _ in rows]

    assert sorted(set(words)) == words
    assert all(re.fullmatch(rb"[a-z]+|=", english) for _, english in rows)
    assert all(fold(word.decode()) == word.decode() for word in words)
    assert len(data) < 1_500_000
    assert sha256_hex(data) in (Path(path).parent / "README.md").read_text(encoding="utf-8")
