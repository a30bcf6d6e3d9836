from __future__ import annotations

import json
import math

import pytest

from hybrid.answer.decide import Decision
from hybrid.answer.recording import english_part, gate_part, rounded
from hybrid.prompting.clean import read_prompt
from hybrid.prompting.query import make_query
from hybrid.search.scores import Verdict
from hybrid.search.searcher import Searched
from tests.support.cases import Case, cases


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (0.123456, 0.1235),
        (-0.00001, 0.0),
        (math.inf, None),
        (-math.inf, None),
        (math.nan, None),
    ],
    ids=["none", "digits", "minus-zero", "infinity", "minus-infinity", "nan"],
)
def test_a_number_of_the_log(value: float | None, expected: float | None) -> None:
    """Four digits, never −0, and nothing that JSON cannot say."""
    found = rounded(value)

    assert (expected, "-" in str(found)) == (found, False)


def test_the_gate_in_the_log_is_json() -> None:
    """A bar that nothing reaches, and parts that are no numbers, are null: another reader's JSON has no Infinity."""
    said = Verdict(
        False, math.nan, math.inf, "auto", score=-math.inf, bar="talk", parts={"cosine": math.nan, "names": 0.1}
    )

    line = json.dumps(gate_part(said), allow_nan=False)

    expected = {"top_cosine": None, "threshold": None, "threshold_source": "auto", "score": None, "bar": "talk"}
    assert expected | {"parts": {"cosine": None, "names": 0.1}} == json.loads(line)


@cases("gate/debug_lines.txt")
def test_the_debug_line_says_what_was_compared(case: Case) -> None:
    """Two digits, four where two read the same; never −0; and no comparison where there was none."""
    score, threshold = case.given()
    said = Verdict(False, None, threshold, "auto", score=score, bar="tasks")

    assert f"hybrid: skipped ({case.expected})" == Decision("gate", verdict=said).debug_line


@pytest.mark.parametrize(
    ("prompt", "secrets"),
    [
        ("Warum klappt die Anmeldung mit password: 'Hvqkq-Zzkfj-Baum' nicht?", ["zzkfj"]),
        ("Warum liest er DB_PASSWORD=sonnenblume nicht aus der Datei?", ["sun"]),
        ("Wieso geht `curl -u admin:sonnenschein` nicht und was ist zu tun?", ["sonnenschein"]),
        ("пароль: МойСекрет123 не подходит, почему падает вход?", ["secret", "my", "123"]),
        ("密码：我的密码123，为什么登录失败？", ["secret", "my", "123"]),
        ("Pourquoi la connexion échoue, le mot de passe est Kx9mQ2vB ?", ["kx9m"]),
    ],
    ids=["quoted", "assigned", "option", "russian", "chinese", "french"],
)
def test_a_secret_of_a_prompt_is_not_in_its_english_words(prompt: str, secrets: list[str]) -> None:
    """A secret that is said in English word by word has not the form by which it is known, in whatever language."""
    text = read_prompt(prompt).text
    searched = Searched(make_query(text), "hybrid", 0, None, 0.0, (1.0, 1.0), ())
    said = english_part(Decision(reason="no_results", query=text, searched=searched), "text")["english"] or ""

    assert [] == [part for part in secrets if part in said.lower().replace("[redacted:secret]", "")]


def test_english_words_are_not_kept_where_prompts_are_not() -> None:
    """They are the prompt in other words."""
    searched = Searched(make_query("Wo wird der Schlüssel gelöscht?"), "hybrid", 0, None, 0.0, (1.0, 1.0), ())

    assert {"english": None} == english_part(Decision(reason="no_results", searched=searched), "digest")
