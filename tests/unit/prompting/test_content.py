from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.content import ENGLISH, MAX_PIECES, OTHERS, content_words, is_english, pieces

TEXTS = st.text(max_size=300) | st.lists(
    st.sampled_from(
        [
            "please",
            "the",
            "retry loop",
            "`the`",
            "```",
            "~~~",
            "\n",
            ", ",
            ". ",
            "— ",
            "“x”",
            "für",
            "der",
            "my",
            "a_b",
            "(",
        ]
    ),
    max_size=40,
).map(" ".join)


# --- content words ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Could you please fix the retry loop?", "fix retry loop?", id="politeness"),
        pytest.param("I don't know why it's slow, can't you look?", "slow,", id="apostrophes"),
        pytest.param("I don’t know why it’s slow", "slow", id="curly-apostrophes"),
        pytest.param("THE RETRY LOOP", "RETRY LOOP", id="capitals"),
        pytest.param("**Please** (kindly) fix: retry!", "fix: retry!", id="marks-around-words"),
        pytest.param("¿Puedes, por favor? ¡Hola! el bucle de reintentos", "bucle reintentos", id="marks-before-words"),
        pytest.param("thanks, thanks, thanks", "", id="nothing-left"),
        pytest.param("", "", id="empty"),
        pytest.param("... ?! —", "—", id="marks-alone"),
        pytest.param("retry   loop\n\nhangs", "retry loop hangs", id="white-space"),
    ],
)
def test_words_of_grammar_and_politeness_are_dropped(text: str, expected: str) -> None:
    """What says nothing about a subject goes; the rest stays as typed and in order."""

    assert expected == content_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "`for the one`",
        "`please` `if`",
        "self.for_each",
        "get_the_thing()",
        "TheClient",
        "src/the/if.py",
        "--please",
        "has_been",
        "it.is_open",
    ],
)
def test_code_is_never_touched(text: str) -> None:
    """What stands in backticks, and any name or path that is more than one word, stays whole."""

    assert text == content_words(text)


def test_words_around_code_are_dropped() -> None:
    """Only what stands between the backticks is kept as it is."""

    assert "`if the` branch ignored" == content_words("why is the `if the` branch always ignored")


def test_a_backtick_without_an_end_protects_nothing() -> None:
    """A lone backtick is a slip of the hand."""

    assert "fix `the" == content_words("please fix `the")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Kannst du bitte die Schleife für den Wiederholer prüfen", "Schleife Wiederholer prüfen", id="german"
        ),
        pytest.param(
            "pourrais-tu corriger la boucle dans le client pour nous", "pourrais-tu corriger boucle client", id="french"
        ),
        pytest.param("por favor arregla el bucle de los reintentos", "arregla bucle reintentos", id="spanish"),
        pytest.param("você pode corrigir o laço do cliente para nós", "corrigir laço cliente", id="portuguese"),
        pytest.param("vorrei sapere dove sono le impostazioni del client", "sapere impostazioni client", id="italian"),
        pytest.param("kun je de lus van het verzoek voor ons bekijken", "lus verzoek bekijken", id="dutch"),
    ],
)
def test_each_language_where_it_prevails(text: str, expected: str) -> None:
    """The words of the language that more words of the text belong to are dropped."""

    assert expected == content_words(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("let the process die and then log the error", "die"),
        ("the war room alert and the hat icon are broken for us", "war"),
        ("why does the sort of the list come after the con of the pros", "con"),
        ("please make the la tex export of the report work", "la"),
    ],
)
def test_words_of_another_language_stay_in_english(text: str, kept: str) -> None:
    """`die` is an article or a verb: English words around it tell."""

    assert kept in content_words(text).split()


def test_english_words_stay_where_another_language_prevails() -> None:
    """In a German prompt `is` and `want` are names rather than grammar."""

    assert "is" in content_words("kannst du bitte die Funktion is für mich ändern, denn die ist falsch").split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("could you fix the retry loop for me", True),
        ("kannst du bitte die retry loop für mich reparieren", False),
        ("puedes arreglar el bucle de los reintentos", False),
        ("retry loop hangs", True),
        ("", True),
        ("let the process die and then log the error", True),
        ("la boucle", False),
    ],
)
def test_is_english(text: str, expected: bool) -> None:
    """A text counts as English unless more of its words are function words of another language."""

    assert expected == is_english(text)


def test_every_list_holds_words_as_they_are_compared() -> None:
    """Lower case, without apostrophes and marks: any other spelling could never be found."""
    for words in (ENGLISH, *OTHERS.values()):
        assert [] == [word for word in words.split() if word != word.lower() or not re.fullmatch(r"\w+", word)]


@given(TEXTS)
def test_content_is_a_selection_of_the_words(text: str) -> None:
    """Any text gives a part of its signs in order, white space aside."""
    rest = iter("".join(text.split()))

    assert all(sign in rest for sign in "".join(content_words(text).split()))


# --- pieces ----------------------------------------------------------------------------------------------------


def test_a_terse_prompt_is_one_piece() -> None:
    """A prompt without wrapping is its own content and nothing else."""

    assert ("fix retry loop client",) == pieces("fix the retry loop of the client")


def test_the_whole_comes_first_then_sentences_then_clauses() -> None:
    """Each once, in order of appearance."""
    text = "The vault key expires too early. When workers restart, open sessions lose their tokens."

    assert (
        "vault key expires early. workers restart, open sessions lose tokens.",
        "vault key expires early.",
        "workers restart, open sessions lose tokens.",
        "open sessions lose tokens.",
    ) == pieces(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hi! Could you please {}? Thanks a lot!",
        "Good morning everyone, hope you are well. I would like you to {}, if possible before friday, thank you.",
        "Sorry for asking again - {} - I have a demo tomorrow and my boss is angry",
        "ok so: {}\n\nplease explain it step by step, I am new here",
        "My grandmother called yesterday and I lost the whole afternoon. {}. Then we can all go home (finally).",
        "A customer wrote “{}” and we do not know what to say",
    ],
)
def test_a_request_is_a_piece_whatever_stands_around_it(text: str) -> None:
    """Greetings, deadlines, apologies and stories leave the request as a piece of its own."""
    request = "retry failed payment requests twice"

    assert request in [piece.strip(".?!,") for piece in pieces(text.format(request))]


def test_the_request_in_other_scripts_marks() -> None:
    """Full-width marks part sentences and clauses, too."""
    found = pieces("你好。 retry failed payment requests，谢谢")

    assert "retry failed payment requests" in found


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_fenced_block_is_one_piece(fence: str) -> None:
    """Its lines are not cut at commas and full stops, and its fence and language stand in no piece."""
    block = "def send(a, b):\n    return a.retry(b)"
    found = pieces(
        f"this hangs when the server restarts:\n{fence}python\n{block}\n{fence}\nwhat blocks the loop there?"
    )

    assert " ".join(block.split()) in found
    assert not [piece for piece in found if fence in piece or piece.startswith("python")]
    assert not [piece for piece in found[1:] if "return" in piece and "def" not in piece]


def test_a_fence_without_an_end_reaches_to_the_end() -> None:
    """Somebody pasted a log and sent it."""
    found = pieces("what does this say\n```\nconnection reset by peer\nworker died")

    assert ("connection reset by peer worker died",) == found


def test_a_fenced_block_keeps_every_word() -> None:
    """`if` and `not` are grammar in prose and mean something in code; the whole prompt has the block as it is, too."""
    found = pieces("please check the guard here\n```python\nif not x:\n    return\n```\nthanks a lot, that is it")

    assert ("check guard if not x: return", "if not x: return") == found


@pytest.mark.parametrize(("mark", "other"), [("```", "~~~"), ("~~~", "```")])
def test_a_fence_closes_only_with_its_own_mark(mark: str, other: str) -> None:
    """A document about fences has the other mark inside; what comes behind the block is prose again."""
    found = pieces(
        f"{mark}\nwhat is before\n{other}\nwhat is after\n{mark}\ncould you please render the client retry loop"
    )

    block = f"what is before {other} what is after"
    assert (f"render client retry loop {block}", "render client retry loop", block) == found


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("We talked long. retry loop. Server restarts every night.", False),
        ("We talked long. client retry loop. Server restarts every night.", True),
        ("We talked long. retry_loop. Server restarts every night.", True),
        ("We talked long. net/client.py. Server restarts every night.", True),
        ("We talked long. `retry`. Server restarts every night.", True),
    ],
    ids=["two words", "three words", "identifier", "path", "backticks"],
)
def test_a_piece_needs_three_words_or_a_name(text: str, is_kept: bool) -> None:
    """Two words of a story are close to something in any project; a name is not."""
    middle = text.split(". ")[1]

    assert is_kept == (middle in [piece.rstrip(".") for piece in pieces(text)[1:]])


def test_there_is_a_limit_of_pieces() -> None:
    """Of many, the first eight and the last four are kept: what is asked stands at either end."""
    found = pieces("\n".join(f"sentence number{i} about topic{i}" for i in range(40)))

    assert 1 + MAX_PIECES == len(found)
    assert [f"number{i}" for i in [*range(8), *range(36, 40)]] == [piece.split()[1] for piece in found[1:]]


def test_a_dozen_pieces_are_all_kept() -> None:
    """At the limit nothing is left out."""

    assert 1 + MAX_PIECES == len(pieces("\n".join(f"sentence number{i} about topic{i}" for i in range(MAX_PIECES))))


@pytest.mark.parametrize(
    "text", ["", "   ", "please", "thank you so much", "could you do it?", "?!", "how are you doing"]
)
def test_without_content_there_is_no_piece(text: str) -> None:
    """Grammar and politeness alone leave nothing to compare."""

    assert () == pieces(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what does my geocoder do", ("geocoder",)),
        ("what is your age?", ("age?",)),
        ("what is the age?", ("age?",)),
        ("where is your `age`?", ("`age`",)),
        ("what is your retry limit?", ("retry limit?",)),
    ],
)
def test_a_single_word_is_a_piece_whoever_owns_it(text: str, expected: tuple[str, ...]) -> None:
    """People say `my` and `your` of a part of the project: what is talk is for the gate to tell, not for the words."""

    assert expected == pieces(text)


@given(TEXTS)
def test_pieces_of_any_text(text: str) -> None:
    """No text raises; pieces are few, distinct, not empty, and have no word that the prompt has not."""
    found = pieces(text)

    assert len(found) <= 1 + MAX_PIECES
    assert len(set(found)) == len(found)
    assert all(piece.strip() for piece in found)
    signs = set("".join(text.split()))
    assert all(set("".join(piece.split())) <= signs for piece in found)


@given(TEXTS)
def test_pieces_are_deterministic(text: str) -> None:
    """The same prompt falls into the same pieces; what bars were made from is what prompts are judged by."""

    assert pieces(text) == pieces(text)


@pytest.mark.parametrize("sign", ["`", "```", "~~~", "a ", "a, ", " - ", "(", "“", "\n", "a\n", "—", "x" * 50])
def test_a_query_of_the_longest_kind(sign: str) -> None:
    """Five thousand characters of one sign, which is what a query is cut to, end like any other."""

    assert len(pieces((sign * 5_000)[:5_000])) <= 1 + MAX_PIECES
