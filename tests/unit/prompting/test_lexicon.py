"""Prompts in other languages, said in English words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.digest import sha256_hex
from hybrid.base.resources import shipped
from hybrid.prompting.lexicon import ENGLISH, LEXICON, Lexicon, fold, in_english
from hybrid.prompting.query import make_query, said_in_english

WORDS = {
    "schlussel": "key",
    "schlusselwort": "keyword",
    "name": ENGLISH,
    "proxy": ENGLISH,
    "proximo": "next",
    "loschen": "delete",
    "archivo": "file",
    "删除": "delete",
    "缓存": "cache",
    "缓": "slow",
    "期限切": "expire",
    "파일": "file",
}


def lexicon(words: dict[str, str] = WORDS) -> Lexicon:
    """A lexicon of a few words."""
    return Lexicon("".join(f"{word}\t{words[word]}\n" for word in sorted(words, key=str.encode)).encode())


# --- one word --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Schlüssel", "schlussel"),
        ("GRÖSSE", "grosse"),
        ("größe", "grosse"),
        ("Cœur", "coeur"),
        ("łódź", "lodz"),
        ("キャッシュ", "キャッシュ"),
        ("ブラウザ", "ブラウザ"),
        ("plain", "plain"),
    ],
)
def test_accents_are_folded(word: str, folded: str) -> None:
    """Letters lose case and accents; marks of kana belong to them."""
    assert folded == fold(word)


@given(st.dictionaries(st.text("abcé删\U0001f600z", min_size=1, max_size=6), st.sampled_from(["one", "two"])))
def test_a_listed_word_is_found(words: dict[str, str]) -> None:
    """Every word of a lexicon is found, the first and the last too, and no other."""
    listed = lexicon(words)

    assert list(words.values()) == [listed.find(word) for word in words]
    assert all(listed.find(f"{word}x") == "" for word in words)


@pytest.mark.parametrize(
    ("word", "english"),
    [
        ("schlusseln", "key"),
        ("archivos", "file"),
        ("archiva", "file"),
        ("loschte", "delete"),
        ("파일을", "file"),
        ("proxys", ENGLISH),
        ("arch", ""),
        ("schlussendlich", ""),
        ("nome", ""),
        ("", ""),
    ],
)
def test_a_form_is_found_by_its_beginning(word: str, english: str) -> None:
    """Another ending is the same word; another word with the same beginning is not."""
    assert english == lexicon().nearest(word)


@pytest.mark.parametrize(
    ("word", "english"),
    [
        ("schlusselname", "key name"),
        ("archivoschlussel", "file key"),
        ("loschensschlusseln", "delete key"),
        ("schlusselblume", ""),
        ("x" * 100, ""),
    ],
)
def test_a_compound_is_its_parts(word: str, english: str) -> None:
    """Parts may have something between them; a word of which a part is not listed is no compound."""
    assert english == lexicon().compound(word)


PARTS = {
    "weiter": "far",
    "leit": "do",
    "leitung": "line",
    "ungen": "tunes",
    "daten": "data",
    "bank": "bank",
    "datenbank": "database",
    "eintrag": "entry",
    "zeit": "time",
    "antwort": "response",
    "port": ENGLISH,
    "name": ENGLISH,
}


@pytest.mark.parametrize(
    ("word", "english"),
    [
        ("datenbankeintrag", "database entry"),
        ("weiterleitungen", "far line"),
        ("weiterleitname", ""),
        ("antwortzeit", "response time"),
        ("portname", "port name"),
        ("zeitbank", "time bank"),
        ("bankdatenzeit", "bank data time"),
        ("zeitbankdatenport", ""),
    ],
)
def test_a_compound_is_cut_into_few_long_parts(word: str, english: str) -> None:
    """The fewest parts count, three at most, then the longest; a word of grammar such as *do* is no part."""
    assert english == lexicon(PARTS).compound(word)


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


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("删除缓存", ["delete", "cache"]),
        ("把缓存删除了", ["cache", "delete"]),
        ("缓缓", ["slow", "slow"]),
        ("期限切れ", ["expire"]),
        ("了", []),
        ("", []),
    ],
)
def test_a_run_is_cut_into_the_longest_words(text: str, english: list[str]) -> None:
    """What is not listed is passed over."""
    assert english == list(lexicon().run(text))


def test_an_empty_lexicon_knows_nothing() -> None:
    """It does not fail either."""
    nothing = Lexicon(b"")

    assert ("", "", "") == (nothing.find("a"), nothing.nearest("archivos"), nothing.compound("archivoname"))
    assert [] == list(nothing.run("删除"))


# --- a text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Wie wird der Schlüssel aus dem Speicher gelöscht und wann?", {"key", "memory", "deleted"}),
        ("comment supprimer les clés de la mémoire quand elle est pleine ?", {"delete", "keys", "memory"}),
        ("¿dónde se eliminan las claves de la memoria cuando está llena?", {"keys", "memory"}),
        ("怎么删除缓存里的键？", {"delete", "cache", "key"}),
        ("キャッシュからキーを削除する", {"cache", "key", "delete"}),
        ("как удалить ключ из памяти?", {"delete", "key", "memory"}),
    ],
)
def test_the_words_of_a_prompt(text: str, words: set[str]) -> None:
    """A prompt in another language is said in the English words that developers use."""
    assert words <= set(re.findall(r"[a-z]+", in_english(text)))


@pytest.mark.parametrize(
    "text",
    [
        "where do we delete the key from the cache?",
        "please fix the naïve café parser for us",
        "the key of the map is called schlüssel",
        "os path – join",
        "ai agent 🚀 crash",
        "use es modules – drop commonjs",
        "war file deploy",
        "non blocking io",
        "sin cos tan functions",
        "man page missing",
        "roll die function",
        "parse DER certs",
        "add para style",
        "résumé upload fails",
        "what does μ mean in optimizer",
        "compute Δt between frames",
        "fix Müller's commit",
        "port the driver to the target os",
        "new target os",
        "",
        "42",
    ],
)
def test_an_english_prompt_stays(text: str) -> None:
    """Nothing is replaced in English, with an accent or without, nor in code alone."""
    assert "" == in_english(text)


@pytest.mark.parametrize(
    ("word", "english"),
    [
        ("Weiterleitungen", "redirect"),
        ("Weiterleitungsschleife", "redirect loop"),
        ("Antwortzeit", "response time"),
        ("redirección", "redirect"),
        ("redireccion", "redirect"),
        ("agotado", "exhausted"),
        ("vencido", "expired"),
        ("caducado", "expired"),
        ("expirado", "expired"),
        ("ausgeben", "print"),
        ("abgelaufene", "expired"),
        ("gelöscht", "deleted"),
    ],
)
def test_usual_words_of_programming(word: str, english: str) -> None:
    """The shipped file has what developers mean, and compounds of it."""
    listed, folded = Lexicon(shipped(*LEXICON).read_bytes()), fold(word)

    assert english == (listed.nearest(folded) or listed.compound(folded))


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Kommandozeilenparameter überprüfen", "command parameter check"),
        ("Größe begrenzen", "size limit"),
        ("sesión caducada", "session expired"),
        ("Bézier curve", ""),
        ("Müller", ""),
        ("cliché", ""),
        ("Kraków", ""),
        ("résumé parser", ""),
        ("crème brûlée", ""),
    ],
)
def test_a_prompt_without_grammar(text: str, english: str) -> None:
    """It has a language when all its words are of another one and one with an accent is listed; names are not."""
    assert english == in_english(text)


def test_the_example_of_the_documentation() -> None:
    """`docs/models.md` shows these words."""
    assert "expired key deleted?" == in_english("Wo werden abgelaufene Schlüssel gelöscht?").strip()


def test_code_in_a_prompt_stays() -> None:
    """Names, paths, flags, and what stands in backticks or fences are not words of a language."""
    code = ["`schlüssel`", "datei_name", "lib/speicher.py", "--datei", "speicherDatei", "datei.lesen()", "FEHLER"]
    text = f"Warum wird der Wert nicht gelesen: {' und '.join(code)}\n```\nspeicher = datei\n```"

    said = in_english(text)

    assert all(part in said for part in (*code, "speicher = datei"))
    assert "value" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("warum ist 'Schlüssel' nicht gesetzt", "'key'"),
        ("pourquoi la clé 'valeur' est vide", "'value'"),
        ("où supprime-t-on l'entrée de la table ?", "input"),
    ],
)
def test_a_quoted_word_keeps_its_quotes(text: str, said: str) -> None:
    """An apostrophe belongs to a word where a letter is left out, and nowhere else."""
    assert said in in_english(text)


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
