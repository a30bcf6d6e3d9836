from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.content import MAX_PIECES, gate_pieces, pieces

ENGLISH = "The vault key expires too early. When workers restart, open sessions lose their tokens."
SPANISH = "¿puedes revisar el rate limit con el token bucket? los clientes se quejan mucho de la espera"


def test_an_english_prompt_has_its_own_pieces() -> None:
    """Nothing is added to them."""

    assert pieces(ENGLISH) == gate_pieces(ENGLISH, MAX_PIECES)


def test_the_english_terms_of_another_language_are_a_piece() -> None:
    """They stand behind the whole: what code at large knows, in order, without the words of the language."""
    found = gate_pieces(SPANISH, MAX_PIECES)

    assert pieces(SPANISH) == (found[0], *found[2:])
    assert {"rate", "limit", "token", "bucket"} <= set(found[1].split())
    assert {"quejan", "espera", "revisar"}.isdisjoint(found[1].split())


@pytest.mark.parametrize(
    ("text", "borrowed"),
    [
        ("warum bricht die Funktion `retry_once` hier immer ab und wo wird das behandelt", "retry_once"),
        ("warum bricht die Funktion retry_once hier immer ab und wo wird das behandelt", "retry_once"),
    ],
    ids=["in backticks", "bare"],
)
def test_an_identifier_is_enough(text: str, borrowed: str) -> None:
    """One word alone says too little, unless it names code."""

    assert borrowed in gate_pieces(text, MAX_PIECES)[1]


def test_a_single_english_word_is_no_piece() -> None:
    """A word that two languages share is no technical term yet."""
    text = "die Katze schläft auf dem Sofa und der Hund bellt die ganze Nacht im Garten"

    assert pieces(text) == gate_pieces(text, MAX_PIECES)


@pytest.mark.parametrize(
    ("n_sentences", "lost"),
    [(MAX_PIECES - 1, None), (MAX_PIECES, 6), (MAX_PIECES + 5, 6)],
    ids=["room for one more", "full", "more than allowed"],
)
def test_room_for_the_borrowed_words_is_made_in_the_middle(n_sentences: int, lost: int | None) -> None:
    """The last piece stays, since many a request stands at the end; the seventh goes when there are too many."""
    text = "\n".join(f"el cliente número{i} dice que la conexión{i} se pierde con el token" for i in range(n_sentences))
    whole, *rest = pieces(text)

    found = gate_pieces(text, MAX_PIECES)

    assert min(n_sentences, MAX_PIECES) == len(rest)
    assert (whole, *(piece for i, piece in enumerate(rest) if i != lost)) == (found[0], *found[2:])
    assert "token" in found[1]
    assert "conexión" not in found[1]


@pytest.mark.parametrize("limit", [0, 1, 2, 12])
@pytest.mark.parametrize("text", [ENGLISH, SPANISH, "please", ""], ids=["english", "spanish", "no content", "empty"])
def test_a_limit_counts_all_pieces_but_the_whole(text: str, limit: int) -> None:
    """The whole always comes first; fewer pieces are the beginning of more."""
    found = gate_pieces(text, limit)

    assert len(found) <= 1 + limit
    assert gate_pieces(text, MAX_PIECES)[: 1 + limit] == found
    assert bool(pieces(text)) == bool(found)


@given(
    st.text(max_size=200) | st.lists(st.sampled_from(["der", "die", "el", "retry", "token", "`x`", ". "])).map(" ".join)
)
def test_gate_pieces_of_any_text(text: str) -> None:
    """No text raises, and no piece stands next to the same one or is empty."""
    found = gate_pieces(text, MAX_PIECES)

    assert len(found) <= 1 + MAX_PIECES
    assert all(piece.strip() for piece in found)
    assert found[:1] == pieces(text)[:1]
