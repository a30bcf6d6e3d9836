from __future__ import annotations

from hybrid.base.resources import shipped
from hybrid.base.tokens import query_tokens, tokens
from hybrid.prompting.content import generic_terms, terms_of_names, terms_of_words
from tests.support.cases import Case, cases


@cases("gate/terms.txt")
def test_terms_of_a_piece(case: Case) -> None:
    """Words are the terms of the lexical leg, each once; numbers and what is not ASCII are unknown elsewhere, too."""
    words, _, names = str(case.expected).partition("|")

    assert tuple(words.split()) == terms_of_words(case.text)
    assert tuple(names.split()) == terms_of_names(case.text)


def test_a_name_is_one_of_the_terms_of_its_chunk() -> None:
    """What stands for an identifier is found where a chunk defines it under another scope."""
    (name,) = terms_of_names("why does Session::open_file fail")

    assert name in tokens("def open_file(self): ...")


def test_names_are_counted_once() -> None:
    """The same identifier in two spellings of its scope is one name."""

    assert ("open_file",) == terms_of_names("Session.open_file and File.open_file")


def test_a_giant_piece_has_a_limit() -> None:
    """A pasted list of words costs no more than 128 look-ups."""

    assert 128 == len(terms_of_words(" ".join("x" * (n % 50 + 1) + "y" * (n // 50 + 1) for n in range(300))))


def test_the_generic_counts_are_those_of_the_shipped_file() -> None:
    """The number of documents, then a term and its count a line."""
    first, *lines = shipped("models", "background", "terms.tsv").read_text(encoding="utf-8").splitlines()
    n_documents, counts = generic_terms()

    assert f"# documents\t{n_documents}" == first
    assert [f"{term}\t{count}" for term, count in counts.items()] == lines
    assert all(0 < count <= n_documents for count in counts.values())


def test_the_generic_counts_are_of_the_products_own_terms() -> None:
    """Words of code are found as a query asks for them: stemmed."""
    _, counts = generic_terms()

    assert all(counts[term] > 0 for term in query_tokens("retries returned values parsing files"))
    assert not [term for term in counts if not term.isascii() or term.isdigit() or term != term.lower()]
