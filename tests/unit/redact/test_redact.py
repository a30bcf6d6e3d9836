"""Redaction of secrets; most cases stand in `tests/cases/redaction`."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hybrid.redact
from hybrid.redact import MaskedDocuments, Secret, find_secrets, mask, masker, redact
from tests.support.cases import MADE_UP, cases, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.cases import Case

BODY = MADE_UP["body"]
LINE = BODY[:64]
BEGIN = "-----BEGIN RSA " + "PRIVATE KEY-----"
END = "-----END RSA " + "PRIVATE KEY-----"
AWS = "AKIA" + "Q7Z2XW5LMN4TRB3K"
GITHUB = "ghp_" + BODY[:36]


def _behind(before: str) -> Callable[[str], str]:
    return lambda text: "".join(before + line for line in text.splitlines(keepends=True))


OF_ANY: dict[str, Callable[[str], str]] = {
    "json in json": lambda text: json.dumps({"toolArgs": json.dumps({"text": text})}),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "numbered": _behind("    12→"),
    "cat -n": _behind("    12\t"),
}
OF_LINES = OF_ANY | {
    "plain": str,
    "json": lambda text: json.dumps({"stdout": text}),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "diff": _behind("+"),
    "grep": _behind("src/app.cfg:7:"),
}
OF_TEXTS = OF_ANY | {
    "grep, beside a hit": _behind("deploy/prod.conf-12-"),
    "ci": _behind("2026-03-02T09:14:55.1234567Z "),
    "docker": _behind("web-1  | "),
}
"""What tools do to a line or a text before they hand it on."""


def unmarked(marked: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text without its marks, and where the secrets between them are."""
    parts = re.split("[⟦⟧]", marked)
    starts = [len("".join(parts[:number])) for number in range(1, len(parts), 2)]
    return "".join(parts), [(start, start + len(part)) for start, part in zip(starts, parts[1::2], strict=True)]


@cases("redaction/secrets.txt")
def test_what_is_marked_is_found_and_nothing_else(case: Case) -> None:
    """What stands around a secret is shown as it is, and what was hidden leaves nothing that is hidden in a second turn."""
    text, secrets = unmarked(case.text)
    once = redact(text)

    assert secrets == [(secret.start, secret.end) for secret in find_secrets(text)]
    assert once == redact(once)


@cases("redaction/innocent.txt")
def test_what_holds_no_secret_is_shown_as_it_is(case: Case) -> None:
    """The very same text comes back: alone, as a line of a file, and in code."""
    texts = (case.text, f"{case.text}\n", f"    {case.text}\n    x = 1\n")

    assert [True] * 3 == [redact(text) is text for text in texts]


def test_innocent_texts_stay_beside_one_another() -> None:
    """What stands around a line makes no secret of it."""
    text = "\n".join(case.text for case in read("redaction/innocent.txt") if "\n" not in case.text)

    assert text is redact(text)


@cases("redaction/shown.txt")
def test_the_kind_of_a_secret_is_shown_in_its_place(case: Case) -> None:
    """The name stays readable."""
    assert case.expected == redact(case.text)


@cases("redaction/tokens.txt")
def test_a_token_is_told_by_its_form(case: Case) -> None:
    """It is replaced as a whole, wherever it stands, and the text around it stays."""
    kind, token = case.expected, case.text
    forms = ("key = '{}'", "{}", "see <{}>, ok", "X={}\nY=1", "https://h/?k={}&z=1")

    for form in (*forms, "x = 1\n" * 6_000 + "f('{}')"):
        assert form.format(f"[redacted:{kind}]") == redact(form.format(token))
    assert token not in redact(json.dumps({"out": f"a\n{token}\nb"}))


@cases("redaction/masked.txt")
def test_a_masked_document_keeps_its_lines(case: Case) -> None:
    """Each line of a secret is masked on its own, so that what stands behind it stays on its line."""
    assert case.expected == mask(case.text)


def test_all_but_a_few_secrets_of_the_rounds_are_found() -> None:
    """At least nine tenths of a secret are replaced; ten of seventeen hundred are missed, which no rule covers."""
    missed = []
    for case in (
        case for name in ("written", "printed", "services") for case in read(f"redaction/rounds/{name}_secrets.txt")
    ):
        text, secrets = unmarked(case.text)
        replaced = {place for secret in find_secrets(text) for place in range(secret.start, secret.end)}
        missed += [text for start, end in secrets if len(replaced & {*range(start, end)}) < 0.9 * (end - start)]

    assert len(missed) <= 10, missed


def test_no_innocent_text_of_the_rounds_changes() -> None:
    """References, types, placeholders, calls, empty values, identifiers and prose stay."""
    texts = [
        case.text
        for name in ("written", "printed", "services")
        for case in read(f"redaction/rounds/{name}_innocent.txt")
    ]

    assert [] == [text for text in texts if redact(text) != text]


@pytest.mark.parametrize("hand_on", OF_LINES.values(), ids=OF_LINES)
def test_a_line_is_redacted_however_a_tool_hands_it_on(hand_on: Callable[[str], str]) -> None:
    """Escapes, numbers, marks and places before a line hide no secret."""
    value = BODY[:36]
    lines = (
        *(f"DB_PASSWORD={value}\n", f"export API_TOKEN='{value}'\n", f'"client_secret": "{value}",\n'),
        *(f"apiKey: {value}\n", f"{GITHUB}\n"),
    )
    shown = [redact(hand_on(line)) for line in lines]

    assert [] == [text for text in shown if "[redacted:" not in text or value in text]


@pytest.mark.parametrize("hand_on", OF_TEXTS.values(), ids=OF_TEXTS)
def test_a_text_is_redacted_however_a_tool_hands_it_on(hand_on: Callable[[str], str]) -> None:
    """The rules read the lines as they are in the file (#35)."""
    secret = "heronQuay" + "4821"
    texts = (
        f"curl -u dana:{secret} https://api.acme.dev",
        f"env:\n  - name: DB_PASSWORD\n    value: {secret}",
        f"passwords:\n  - {secret}\n  - otterPier7733",
        f"Please use this password to proceed:\n\n{secret}\n\nIt is also in a file.",
    )

    assert [] == [text for text in texts if secret in redact(hand_on(text))]


def test_a_key_in_base64_is_found() -> None:
    """As settings of a cluster hold it."""
    text = base64.b64encode("\n".join([BEGIN, *[LINE] * 5, END]).encode()).decode()

    assert "client-key-data: [redacted:private_key]" == redact(f"client-key-data: {text}")


def test_a_diff_before_a_reference_is_no_code() -> None:
    """A line of settings that ends in a reference does not make the password above it a name of code."""
    text = "-  password: tiger7kiwi99\n+  password: ${SHOP_PASSWORD}"

    assert text.replace("tiger7kiwi99", "[redacted:secret]") == redact(text)
    assert json.dumps(text).replace("tiger7kiwi99", "[redacted:secret]") == redact(json.dumps(text))


def test_secrets_are_reported_in_order_with_their_span() -> None:
    """Two secrets are found where they stand, without overlap."""
    text = f"a {AWS} b token='{GITHUB}'"

    assert [
        Secret("aws_key", 2, 2 + len(AWS)),
        Secret("github_token", text.index("ghp_"), len(text) - 1),
    ] == find_secrets(text)


@given(st.text(), st.sampled_from([case.text for case in read("redaction/tokens.txt")]), st.text())
def test_a_token_between_any_texts_never_survives(before: str, token: str, after: str) -> None:
    """Surroundings in other characters do not hide a token."""
    assert token not in redact(f"{before} {token} {after}")


@given(st.text(alphabet="pasword=token:\"' \n123xY/@-_.") | st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """A redacted text holds nothing that would be redacted again."""
    once = redact(f'password = "k2Lm9xQz41!A" {text}')

    assert once == redact(once)


@given(st.lists(st.sampled_from([BEGIN, END, LINE, "", "  b = 1", "password: Xq7!rT2v-pL", GITHUB]) | st.text()))
def test_masking_never_changes_the_number_of_lines(lines: list[str]) -> None:
    """Whatever secrets a document holds, it has as many lines as before, and masking again changes nothing."""
    text = "\n".join(lines)
    masked = mask(text)

    assert text.count("\n") == masked.count("\n")
    assert masked == mask(masked)


def test_a_document_that_was_masked_is_not_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered gives the very text of `mask`; the document masked longest ago is forgotten first."""
    looks: list[str] = []
    monkeypatch.setattr(hybrid.redact, "find_secrets", lambda text: looks.append(text) or find_secrets(text))
    first, second, plain = f"a\n{GITHUB}\n", f"b\n{BEGIN}\n{LINE}\n{END}\n", "nothing here\n"
    documents = MaskedDocuments(2)

    for text in (first, second, first, second, plain, second):
        assert mask(text) == documents.mask(text)
    looks.clear()
    documents.mask(second)
    documents.mask(plain)
    assert not looks
    documents.mask(first)
    assert [first] == looks


@pytest.mark.parametrize("user", ["ghp_" + BODY[:36], BODY[:36], f"me:{BODY[:20]}"], ids=["token", "key", "password"])
def test_an_address_is_redacted_once(user: str):
    """The mark in place of a user was taken for a user and a password."""
    redacted = redact(f"git clone https://{user}@github.com/a/b")

    assert "[redacted:" in redacted
    assert redacted == redact(redacted)
    assert BODY[:20] not in redact(f"https://[redacted:x]:{BODY[:20]}@github.com/a/b")


def test_code_between_the_marks_of_a_key_stays() -> None:
    """Code that names both marks of a key far apart is no key: the very same text comes back."""
    body = "".join(f"def read_{n}(path):\n    return open('some/LongPathOfAFileThatIsThere/{n}')\n" for n in range(50))
    text = f'FIRST = "{BEGIN}"\n{body}LAST = "{END}"\n'

    assert text is mask(text)


def test_parts_of_a_document_lose_its_secrets() -> None:
    """A name that is a line of a key, and a signature that ends within a token, are masked; other names stay."""
    clean = masker("\n".join([BEGIN, *[LINE] * 5, END, f"token = '{GITHUB}'\n"]))

    assert "[redacted]" == clean(LINE)
    assert "def f(token='[redacted]" == clean(f"def f(token='{GITHUB[:30]}")
    assert "rotate_the_deploy_token" == clean("rotate_the_deploy_token")
