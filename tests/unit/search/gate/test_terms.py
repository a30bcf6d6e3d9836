from __future__ import annotations

import pytest

from hybrid.base.resources import shipped
from hybrid.base.tokens import query_tokens, tokens
from hybrid.search.gate.terms import PieceTerms, generic_terms, terms_of


@pytest.mark.parametrize(
    ("piece", "words", "names"),
    [
        ("parse loop", ("pars", "loop"), ()),
        ("retry loop retries", ("retri", "loop"), ()),
        ("call Client.retry_once twice", ("call", "client", "retry_once", "retri", "onc", "twic"), ("retry_once",)),
        ("fix HTTPServer", ("fix", "httpserver", "http", "server"), ("httpserver",)),
        ("`parse` the header", ("pars", "header"), ("pars",)),
        ("wait 300 ms", ("wait", "ms"), ()),
        ("größe des Puffers", ("des", "puffer"), ()),
        ("再試行 loop", ("loop",), ()),
        ("?!", (), ()),
        ("", (), ()),
    ],
)
def test_terms_of_a_piece(piece: str, words: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Words are the terms of the lexical leg, each once; numbers and what is not ASCII are unknown elsewhere, too."""

    assert PieceTerms(words, names) == terms_of(piece)


def test_a_name_is_one_of_the_terms_of_its_chunk() -> None:
    """What stands for an identifier is found where a chunk defines it under another scope."""
    (name,) = terms_of("why does Session::open_file fail").names

    assert name in tokens("def open_file(self): ...")


def test_names_are_counted_once() -> None:
    """The same identifier in two spellings of its scope is one name."""

    assert ("open_file",) == terms_of("Session.open_file and File.open_file").names


def test_a_giant_piece_has_a_limit() -> None:
    """A pasted list of words costs no more than 128 look-ups."""

    assert 128 == len(terms_of(" ".join("x" * (n % 50 + 1) + "y" * (n // 50 + 1) for n in range(300))).words)


def test_the_generic_counts_are_those_of_the_shipped_file() -> None:
    """The number of documents, then a term and its count a line."""
    first, *lines = shipped("models", "background", "terms.tsv").read_text(encoding="utf-8").splitlines()
    found = generic_terms()

    assert f"# documents\t{found.n_documents}" == first
    assert [f"{term}\t{count}" for term, count in found.counts.items()] == lines
    assert all(0 < count <= found.n_documents for count in found.counts.values())


def test_the_generic_counts_are_of_the_products_own_terms() -> None:
    """Words of code are found as a query asks for them: stemmed."""
    counts = generic_terms().counts

    assert all(counts[term] > 0 for term in query_tokens("retries returned values parsing files"))
    assert not [term for term in counts if not term.isascii() or term.isdigit() or term != term.lower()]
