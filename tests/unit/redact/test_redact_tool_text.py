"""Redaction in what tools take and give: JSON in JSON, numbered lines, diffs, command lines, files of credentials."""

import base64
import json

import pytest

from hybrid.redact import find_secrets, redact

# Made up, and put together from parts so that no scanner takes this file for a leak.
RANDOM = "9fQ2xLm7Zt4KcW8bR1vYs6NdHp3JgTa5UeXo0iBq"
PASSWORD = "k2Lm9" + "xQz41w"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
KEY_LINES = [RANDOM + RANDOM[:24] for _ in range(5)]
KEY = ["-----BEGIN " + "PRIVATE KEY-----", *KEY_LINES, "-----END " + "PRIVATE KEY-----"]


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda text: text, id="plain"),
        pytest.param(lambda text: json.dumps({"stdout": text}), id="json"),
        pytest.param(lambda text: json.dumps({"toolArgs": json.dumps({"text": text})}), id="json in json"),
        pytest.param(lambda text: f"    12→{text}", id="numbered"),
        pytest.param(lambda text: f"    12\t{text}", id="cat -n"),
        pytest.param(lambda text: f"+{text}", id="diff"),
        pytest.param(lambda text: f"src/app.cfg:7:{text}", id="grep"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="crlf"),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        f"DB_PASSWORD={PASSWORD}9\n",
        f"export API_TOKEN='{RANDOM}'\n",
        f'"client_secret": "{RANDOM}",\n',
        f"apiKey: {RANDOM}\n",
        f"ghp_{RANDOM[:36]}\n",
    ],
    ids=["setting", "export", "json key", "yaml", "token"],
)
def test_a_line_is_redacted_however_a_tool_hands_it_on(line: str, wrap):
    """Escapes, numbers, marks and places before a line hide no secret."""
    shown = redact(wrap(line))

    assert "[redacted:" in shown
    assert [] == [secret for secret in (PASSWORD, RANDOM[:36]) if secret in shown]


@pytest.mark.parametrize(
    "text",
    [
        f"docker run -e DB_PASSWORD={PASSWORD}9 app",
        f"API_TOKEN={RANDOM} npm run build",
        f"curl -u ada:{PASSWORD} https://h.io",
        f"curl -sS https://h.io --user 'ada:{PASSWORD}'",
        f"sshpass -p {PASSWORD} ssh ada@h",
        f"mysql -h db -u ada -p{PASSWORD} shop",
        f"docker login -u ada -p {PASSWORD} registry.io",
        f"redis-cli -a {PASSWORD} ping",
        f"app deploy --api-token {RANDOM}",
        f"app login --password={PASSWORD}",
        f"ALTER USER ada IDENTIFIED BY '{PASSWORD}';",
        f"CREATE USER ada WITH PASSWORD '{PASSWORD}';",
        f"openssl enc -pass pass:{PASSWORD} -in a",
        f"machine h.io\n  login ada\n  password {PASSWORD}\n",
        f"db.h.io:5432:shop:ada:{PASSWORD}\n",
        f"//npm.h.io/:_authToken={RANDOM}\n",
        f"Server=tcp:h,1433;User Id=ada;Password={PASSWORD};Encrypt=True",
        f"jdbc:mysql://h/shop?user=ada&password={PASSWORD}&ssl=true",
        f"GET /v1/items?access_token={RANDOM}&page=2",
        f"        - name: API_TOKEN\n          value: {RANDOM}\n",
        f'{{"name": "API_TOKEN", "value": "{RANDOM}"}}',
        f'<add key="ApiSecret" value="{RANDOM}" />',
        f"<password>{PASSWORD}</password>",
        f"Cookie: theme=dark; sessionid={RANDOM}",
        f"curl -b 'sid={RANDOM}' https://h.io",
        f"https://{RANDOM}@github.com/ada/tool.git",
        f"X-Vault-Token: {RANDOM}",
        f"ValueError: rejected api_key='{RANDOM}'",
        f"DEBUG connecting with token={RANDOM} to db",
        f"DATADOG_APP_KEY={HEX}01234567",
        f"MAPS_KEY={RANDOM}",
        f"gh secret set API_TOKEN --body '{RANDOM}'",
    ],
)
def test_passwords_of_commands_and_files_are_redacted(text: str):
    """Where a command, a statement or a file of credentials has its password, none is shown."""
    shown = redact(text)

    assert "[redacted:" in shown
    assert [] == [secret for secret in (PASSWORD, RANDOM, HEX) if secret in shown]


@pytest.mark.parametrize(
    ("kind", "token"),
    [
        ("azure_secret", "aB3" + "8Q~" + RANDOM[:34]),
        ("discord_token", base64.b64encode(b"482910374655182736").decode() + ".G1b2c3." + RANDOM[:38]),
        ("doppler_token", "dp.pt." + RANDOM + "abc"),
        ("grafana_token", "glsa_" + RANDOM[:32] + "_" + HEX[:8]),
        ("mailchimp_key", HEX + "-us12"),
        ("netlify_token", "nfp_" + RANDOM[:36]),
        ("newrelic_key", "NRAK-" + RANDOM[:27].upper()),
        ("perplexity_key", "pplx-" + RANDOM + RANDOM[:8]),
        ("postman_key", "PMAK-" + HEX[:24] + "-" + HEX + "01"),
        ("pulumi_token", "pul-" + HEX + HEX[:8]),
        ("rubygems_key", "rubygems_" + HEX + HEX[:16]),
        ("sonar_token", "sqp_" + HEX + HEX[:8]),
        ("supabase_key", "sbp_" + HEX + HEX[:8]),
        ("tailscale_key", "tskey-auth-" + RANDOM[:16] + "-" + RANDOM[:32]),
        ("terraform_token", RANDOM[:14] + ".atlasv1." + RANDOM + RANDOM[:27]),
    ],
)
def test_further_tokens_are_told_by_their_form(kind: str, token: str):
    """Whatever stands around them, in a short and in a long text."""
    for text in (f"use {token} for it", json.dumps({"out": f"a\n{token}\nb"}), "x = 1\n" * 6000 + f"f('{token}')"):
        assert [kind] == [secret.kind for secret in find_secrets(text)]
        assert token not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("".join(f"{n:6}→{line}\n" for n, line in enumerate(KEY, 1)), id="numbered"),
        pytest.param("".join(f"+{line}\n" for line in KEY), id="diff"),
        pytest.param("".join(f"keys/a.pem:{n}:{line}\n" for n, line in enumerate(KEY, 1)), id="grep"),
        pytest.param("".join(f"{n:6}→{line}\n" for n, line in enumerate(KEY[:-1], 1)), id="numbered, end cut"),
        pytest.param("".join(f"{n:6}→{line}\n" for n, line in enumerate(KEY[1:], 2)), id="numbered, start cut"),
        pytest.param(json.dumps({"out": "\n".join(KEY[1:])}), id="json, start cut"),
        pytest.param(json.dumps({"out": "\n".join(KEY[:-1])}), id="json, end cut"),
        pytest.param("client-key-data: " + base64.b64encode("\n".join(KEY).encode()).decode(), id="in base64"),
    ],
)
def test_no_line_of_a_key_is_left_in_the_output_of_a_tool(text: str):
    """However its lines were numbered, marked or escaped, and where an end is cut off."""
    shown = redact(text)

    assert "[redacted:private_key]" in shown
    assert RANDOM not in shown
    assert base64.b64encode("\n".join(KEY).encode()).decode()[200:260] not in shown


@pytest.mark.parametrize(
    "text",
    [
        "docker run -p 8080:80 -u 1000:1000 app",
        "mkdir -p src/module2 && mysql -u ada -p shop",
        "token = self.next_token2(request)",
        "foo(password=hash2, token=row.token2)",
        "public_key: " + RANDOM,
        "CACHE_KEY=user:profile:v2",
        'CACHE_KEY="products_by_category_2"',
        "token=utf8ToBase64Converter next",
        "Set-Cookie: locale=en_GB; Path=/",
        "https://" + HEX + "@o1.ingest.sentry.io/42",
        "spwd: 3.0-3.12",
        "expect(parse('scheme://user::@host'))",
        "/api/webhooks/ and discord, k_live_ and Q~ alone",
        "usage: app [--token TOKEN] [--password-file PATH]",
        "secret/shop-token-x2x4z   kubernetes.io/service-account-token   3",
        "valueFrom:\n  secretKeyRef:\n    name: shop-credentials-2\n    key: db-password-2\n",
    ],
)
def test_code_and_output_without_secrets_stay(text: str):
    """The very same text comes back."""
    assert text is redact(text)


@pytest.mark.parametrize(
    "unit",
    [
        "curl -u ",
        "login a password ",
        "cookie: a=",
        "key=",
        "sig=",
        "Q~",
        ":AA",
        "_v1_",
        "token: \\n",
        "://",
        "LS0tLS1CRUdJTi",
    ],
)
def test_long_hostile_text_is_scanned_in_linear_time(unit: str):
    """A hundred kilobytes of beginnings of secrets are scanned without blowing up."""
    assert isinstance(redact(unit * (100_000 // len(unit))), str)
