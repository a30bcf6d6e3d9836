import pytest
from hypothesis import given
from hypothesis import strategies as st

import hybrid.redact
from hybrid.redact import MaskedDocuments, Secret, find_secrets, mask, masker, redact

# Made up, and put together from parts so that no scanner takes this file for a leak.
BODY = "9fQ2xLm7Zt4KcW8bR1vYs6NdHp3JgTa5UeXo0iBq" * 3
KEY_LINES = "\n".join(BODY[:64] for _ in range(5))
BEGIN = "-----BEGIN RSA " + "PRIVATE KEY-----"
END = "-----END RSA " + "PRIVATE KEY-----"

TOKENS = [
    ("aws_key", "AKIA" + "Q7Z2XW5LMN4TRB3K"),
    ("github_token", "ghp_" + BODY[:36]),
    ("github_token", "github_pat_" + BODY[:22] + "_" + BODY[:59]),
    ("gitlab_token", "glpat-" + BODY[:20]),
    ("slack_token", "xoxb-" + "482910374655-" + BODY[:24]),
    ("slack_webhook", "hooks.slack.com/services/" + "T02X/B07Q/" + BODY[:24]),
    ("stripe_key", "sk_live_" + BODY[:24]),
    ("stripe_key", "rk_test_" + BODY[:24]),
    ("anthropic_key", "sk-ant-" + "api03-" + BODY[:80]),
    ("openai_key", "sk-" + BODY[:48]),
    ("openai_key", "sk-proj-" + BODY[:40] + "_" + BODY[:20]),
    ("google_key", "AIza" + BODY[:35]),
    ("npm_token", "npm_" + BODY[:36]),
    ("pypi_token", "pypi-" + BODY[:80]),
    ("huggingface_token", "hf_" + BODY[:34]),
    ("twilio_key", "SK" + "0a1b2c3d4e5f6071" * 2),
    ("sendgrid_key", "SG." + BODY[:22] + "." + BODY[:43]),
    ("jwt", "eyJ" + BODY[:20] + ".eyJ" + BODY[:30] + "." + BODY[:43]),
]


@pytest.mark.parametrize(("kind", "token"), TOKENS, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(TOKENS)])
@pytest.mark.parametrize("form", ["key = '{}'", "{}", "see <{}>, ok", "X={}\nY=1", "https://h/?k={}&z=1"])
def test_tokens_of_a_known_form_are_redacted(kind: str, token: str, form: str):
    """A token is replaced as a whole, wherever it stands, and the text around it stays."""
    assert form.format(f"[redacted:{kind}]") == redact(form.format(token))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"a\n{BEGIN}\n{KEY_LINES}\n{END}\nb", "a\n[redacted:private_key]\nb", id="block"),
        pytest.param(f"{BEGIN}\n{KEY_LINES}\n", "[redacted:private_key]", id="end-lost"),
        pytest.param(f"b = 1\n{KEY_LINES}\n{END}\n", "b = 1\n[redacted:private_key]\n", id="begin-lost"),
        pytest.param(f'k = "{BEGIN}\\n{BODY}\\n{END}"', 'k = "[redacted:private_key]"', id="one-line"),
    ],
)
def test_private_keys_are_redacted_whole_or_in_part(text: str, expected: str):
    """A key block goes, and so does the half of one that a chunk border cut."""
    assert expected == redact(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('password = "Xq7!rT2v-pL"', 'password = "[redacted:secret]"', id="password"),
        pytest.param('password = "correct-horse-battery"', 'password = "[redacted:secret]"', id="words"),
        pytest.param('password: str = "Sommer2024!"', 'password: str = "[redacted:secret]"', id="annotated"),
        pytest.param('if passwd == "toor1234":', 'if passwd == "[redacted:secret]":', id="compared"),
        pytest.param("my password is Sommer2024, or", "my password is [redacted:secret], or", id="said"),
        pytest.param("'apiKey': 'a8f5f167f44f4964e6c998dee827110c'", "'apiKey': '[redacted:secret]'", id="json-key"),
        pytest.param("DB_PASSWORD=k2Lm9xQz41\nA=1", "DB_PASSWORD=[redacted:secret]\nA=1", id="env-file"),
        pytest.param("export API_TOKEN=k2Lm9xQz41w", "export API_TOKEN=[redacted:secret]", id="export"),
        pytest.param("db:\n  password: s3cr3tV4lueXX\n", "db:\n  password: [redacted:secret]\n", id="yaml"),
        pytest.param("pg://ada:s3cr3tpw@db:5432/x", "pg://ada:[redacted:url_password]@db:5432/x", id="connection"),
        pytest.param("redis://:p4ssw0rdX@host", "redis://:[redacted:url_password]@host", id="no-user"),
        pytest.param(
            "Authorization: Bearer k2Lm9xQz41wbP7", "Authorization: Bearer [redacted:authorization]", id="bearer"
        ),
        pytest.param(
            '"authorization": "Basic YWRhOnMzY3IzdA=="', '"authorization": "Basic [redacted:authorization]"', id="basic"
        ),
        pytest.param('-H "X-Api-Key: k2Lm9xQz41wbP7"', '-H "X-Api-Key: [redacted:authorization]"', id="header"),
    ],
)
def test_literal_values_with_telling_names_are_redacted(text: str, expected: str):
    """A value that reads like generated is redacted when its name says that it is secret; the name stays readable."""
    assert expected == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        'token = os.environ["API_TOKEN"]',
        "password = get_password(user1, realm2)",
        "secret: ${VAULT_SECRET_1}",
        "const apiKey = process.env.API_KEY_2;",
        'password="{{ db_password_1 }}"',
        "api_key = '<your-api-key-1>'",
        "password: changeme123",
        "login(username='testclient', password='password123')",
        "the password is stored in vault2 as text",
        'password = "auth.password.label"',
        "token = 'xxxxxxxxxxxxxxxx1'",
        "token: ghp_" + "x" * 36,
        "sk-ant-api03-your-key-goes-here-0001",
        "secret_name = 'prod-db-1a2b3c4d5e'",
        "password_hash = 'k2Lm9xQz41wbP7'",
        'token_url = "https://h/oauth2/v2/token"',
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "https://user:password@example.org/",
        "https://$USER:$TOKEN@example.org/",
        f'if "{BEGIN}" in text: raise ValueError("{END}")',
        "Authorization: Bearer <token>",
        "headers['Authorization'] = f'Bearer {token}'",
        ".sk-fading-circle-delay { color: red }",
        "def token2id(token: str2, secret: Base64Secret) -> None: ...",
    ],
)
def test_references_placeholders_and_digests_survive(text: str):
    """What holds no secret is shown as it is: the very same text comes back."""
    assert text is redact(text)


def test_secrets_are_reported_in_order_with_their_span():
    """Two secrets are found where they stand, without overlap."""
    first, second = TOKENS[0][1], TOKENS[1][1]
    text = f"a {first} b token='{second}'"

    assert [
        Secret("aws_key", 2, 2 + len(first)),
        Secret("github_token", text.index("ghp_"), len(text) - 1),
    ] == find_secrets(text)


@given(st.text(), st.sampled_from(TOKENS), st.text())
def test_a_token_between_any_texts_never_survives(before: str, token: tuple[str, str], after: str):
    """Surroundings in other characters do not hide a token."""
    assert token[1] not in redact(f"{before} {token[1]} {after}")


@given(st.text(alphabet="pasword=token:\"' \n123xY/@-_.") | st.text())
def test_redacting_twice_changes_nothing_more(text: str):
    """A redacted text holds nothing that would be redacted again."""
    once = redact(f'password = "k2Lm9xQz41!A" {text}')

    assert once == redact(once)


@pytest.mark.parametrize(
    "unit", ["password='", "eyJa-", "://a:", BEGIN, END + "\n", "token=", "Authorization: ", "A" * 64 + "\n", "sk-"]
)
def test_long_hostile_text_is_scanned(unit: str):
    """A hundred kilobytes of beginnings of secrets are scanned without blowing up (each unit once was quadratic)."""
    text = "PRIVATE KEY " + unit * (100_000 // len(unit))

    assert isinstance(redact(text), str)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"a\n{BEGIN}\n{BODY[:64]}\n{BODY[:64]}\n{END}\nb",
            "a\n[redacted:private_key]\n[redacted]\n[redacted]\n[redacted]\nb",
            id="key",
        ),
        pytest.param(
            f"k: |\n  {BEGIN}\n  {BODY[:64]}\n\n  {END}\nb: 1",
            "k: |\n  [redacted:private_key]\n  [redacted]\n\n  [redacted]\nb: 1",
            id="indented",
        ),
        pytest.param(
            f"# {BEGIN}\n# {BODY[:64]}\n# {END}\n", "# [redacted:private_key]\n[redacted]\n[redacted]\n", id="comment"
        ),
        pytest.param(
            f"{BEGIN}\n{BODY[:64]}\n\nb = 1\n", "[redacted:private_key]\n[redacted]\n\nb = 1\n", id="end-lost"
        ),
        pytest.param(f"t = '{TOKENS[1][1]}'\n", "t = '[redacted:github_token]'\n", id="token"),
    ],
)
def test_a_masked_document_keeps_its_lines(text: str, expected: str):
    """Each line of a secret is masked on its own, so that what stands behind it stays on its line."""
    assert expected == mask(text)


@given(
    st.lists(st.sampled_from([BEGIN, END, BODY[:64], "", "  b = 1", "password: Xq7!rT2v-pL", TOKENS[1][1]]) | st.text())
)
def test_masking_never_changes_the_number_of_lines(lines: list[str]):
    """Whatever secrets a document holds, it has as many lines as before, and masking again changes nothing."""
    text = "\n".join(lines)
    masked = mask(text)

    assert text.count("\n") == masked.count("\n")
    assert masked == mask(masked)


def test_a_document_that_was_masked_is_not_looked_through_again(monkeypatch: pytest.MonkeyPatch):
    """What is remembered gives the very text of `mask`; the document masked longest ago is forgotten first."""
    looks: list[str] = []
    monkeypatch.setattr(hybrid.redact, "find_secrets", lambda text: looks.append(text) or find_secrets(text))
    first, second, plain = f"a\n{TOKENS[1][1]}\n", f"b\n{BEGIN}\n{BODY[:64]}\n{END}\n", "nothing here\n"
    documents = MaskedDocuments(2)

    for text in (first, second, first, second, plain, second):
        assert mask(text) == documents.mask(text)
    looks.clear()
    documents.mask(second)
    documents.mask(plain)
    assert not looks
    documents.mask(first)
    assert [first] == looks


def test_code_between_the_marks_of_a_key_stays():
    """Code that names both marks of a key far apart is no key: the very same text comes back."""
    body = "".join(f"def read_{n}(path):\n    return open('some/LongPathOfAFileThatIsThere/{n}')\n" for n in range(50))
    text = f'FIRST = "{BEGIN}"\n{body}LAST = "{END}"\n'

    assert text is mask(text)


def test_parts_of_a_document_lose_its_secrets():
    """A name that is a line of a key, and a signature that ends within a token, are masked; other names stay."""
    clean = masker(f"{BEGIN}\n{KEY_LINES}\n{END}\ntoken = '{TOKENS[1][1]}'\n")

    assert "[redacted]" == clean(BODY[:64])
    assert "def f(token='[redacted]" == clean(f"def f(token='{TOKENS[1][1][:30]}")
    assert "rotate_the_deploy_token" == clean("rotate_the_deploy_token")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        pytest.param('DB_URL = "postgres://admin:hunter2Secret@db.internal/x"', "hunter2Secret", id="url"),
        pytest.param("postgres://shop:shop@localhost/shop", ":shop@", id="url-same-as-user"),
        pytest.param("FROBNICATOR_TOKEN=tok_supersecret_abcdef123456", "tok_supersecret", id="settings-file"),
        pytest.param("export DEPLOY_API_KEY=abc123def456ghi\n", "abc123def456ghi", id="shell"),
    ],
)
def test_passwords_made_of_words_are_replaced_where_only_passwords_stand(text: str, secret: str) -> None:
    """In an address and in a settings file a weak password is a password too."""
    assert secret not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://user:password@host/",
        "MAX_TOKENS=4096",
        "GITHUB_TOKEN=${GITHUB_TOKEN}",
        "API_TOKEN=your-token-here-123",
        "TOKEN_URL=https://a.b/c1234567",
    ],
)
def test_settings_without_a_secret_stay(text: str) -> None:
    """Numbers, references, addresses and placeholders are no secrets, whatever the name says."""
    assert text == redact(text)
