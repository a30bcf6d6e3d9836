"""Issue 16: redaction finds the secrets of a list of texts that were written without knowledge of its rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hybrid.redact import find_secrets, redact

FIXTURES = Path(__file__).parents[1] / "fixtures" / "redaction"
MAX_MISSED = 10
"""Texts that no rule covers: a word of a person where nothing says that it is one."""


def _lines(*names: str) -> list[str]:
    return [line for name in names for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines()]


def test_all_but_a_few_secrets_of_the_list_are_found() -> None:
    """At least nine tenths of a secret are replaced; at most a few secrets of seventeen hundred are missed."""
    missed = []
    for line in _lines("secrets.jsonl", "printed.jsonl", "services.jsonl"):
        parts = re.split("[⟦⟧]", json.loads(line))
        text = "".join(parts)
        replaced = {place for secret in find_secrets(text) for place in range(secret.start, secret.end)}
        start = 0
        for number, part in enumerate(parts):
            hidden = len(replaced.intersection(range(start, start + len(part))))
            if number % 2 and hidden < 0.9 * len(part):
                missed.append(text)
            start += len(part)

    assert len(missed) <= MAX_MISSED, missed


def test_no_innocent_text_of_the_list_changes() -> None:
    """References, types, placeholders, calls, empty values, identifiers and prose stay."""
    files = ("innocent.jsonl", "printed_innocent.jsonl", "services_innocent.jsonl")
    texts = [json.loads(line) for line in _lines(*files)]

    assert [] == [text for text in texts if redact(text) != text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "ansible-playbook site.yml -e become_pass=horsefly",
            "ansible-playbook site.yml -e become_pass=[redacted:secret]",
        ),
        ("tool --user bob --password horsefly dump/", "tool --user bob --password [redacted:secret] dump/"),
        ('{"name":"DB_PASSWORD","value":"pony!Tail3"}', '{"name":"DB_PASSWORD","value":"[redacted:secret]"}'),
        ('passwords = ["pony-tail-7", "horsefly"]', 'passwords = ["[redacted:secret]", "[redacted:secret]"]'),
        ('let password = String::from("pony-tail-7");', 'let password = String::from("[redacted:secret]");'),
        ("Login: bob, Pass: horsefly", "Login: bob, Pass: [redacted:secret]"),
        ("sign in (pony7tail42 is the password)", "sign in ([redacted:secret] is the password)"),
        ("it wants a password, just type Pony7tail42", "it wants a password, just type [redacted:secret]"),
        ("aes_encrypt(name, 'horsefly')", "aes_encrypt(name, '[redacted:password]')"),
        ("smtp relay password = pony_Tail7", "smtp relay password = [redacted:secret]"),
    ],
)
def test_a_cause_of_misses_is_mended(text: str, expected: str) -> None:
    """A value is told by what stands around it: an option, a user, a list, a plain constructor, words after it."""
    assert expected == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "const password = await hash(input.password, 10);",
        "pub const passwd = switch (native_os) {",
        "tool --password PASSWORD   the password of the user",
        'secrets: ["db-credentials", "api-token"]',
        "docker run -u root -p 8080:80 nginx",
        'let password = Some(read_line("Password"));',
        "the login: bob and password: required fields",
        "which of these is the password",
    ],
)
def test_a_neighbour_of_a_mended_cause_stays(text: str) -> None:
    """What looks like a mended cause and holds no secret is not changed."""
    assert text == redact(text)
