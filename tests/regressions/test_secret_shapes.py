"""Redaction finds secrets in structures, lists, here-documents, encoded text and calls; plain ids are none."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from hybrid.redact import find_secrets, redact
from tests.support.builders import new_shop

if TYPE_CHECKING:
    from pathlib import Path

SECRETS = [
    " username |   password\n----------+---------------\n dana     | ⟦otterPier2312⟧\n(1 row)",
    "root:⟦otterPier2312⟧@tcp(db:3306)/app?parseTime=true",
    "curl -sSudana:⟦otterPier2312⟧ https://api.acme.dev",
    "    'Authorization' => 'Bearer ⟦bGvViNVe7Xf4r4wtd6uqvUM8rJb1LcF5eiiZ8ukL⟧',",
    "secret_id               ⟦2f53b07b-7c12-4764-a990-94d55219f9c9⟧\nsecret_id_accessor      x",
    "kubectl create secret generic db --from-literal=conn=⟦otterPier2312⟧",
    "rsync -a --password-file=<(echo ⟦otterPier2312⟧) a b",
    # A value in a structure, in any order of the fields.
    '{"db_password": {"value": "⟦hedgehog7⟧"}}',
    '{"db_password": {"sensitive": true, "type": "string", "value": "⟦horsefly⟧"}, "region": {"value": "eu-west-1"}}',
    r"{\n  \"db_password\": {\n    \"sensitive\": true,\n    \"value\": \"⟦hedgehog7⟧\"\n  }\n}",
    "db_password:\n  value: ⟦hedgehog7⟧\n  sensitive: true",
    'db_password = { value = "⟦hedgehog7⟧", sensitive = true }',
    '[db_password]\nvalue = "⟦hedgehog7⟧"',
    '{"value": "⟦hedgehog7⟧", "name": "DB_PASSWORD"}',
    "- value: ⟦hedgehog7⟧\n  name: DB_PASSWORD",
    '{"contentType": null, "id": "https://shop.vault.azure.net/secrets/db-password/0f1e", "name": "db-password",'
    ' "tags": {}, "value": "⟦hedgehog7⟧"}',
    '{"value": "⟦horsefly⟧", "id": "https://shop.vault.azure.net/secrets/db-password/0f1e"}',
    '{"ParameterKey": "DBPassword", "ParameterValue": "⟦hedgehog7⟧"}',
    '{"Name": "/prod/db/password", "Type": "SecureString", "Value": "⟦hedgehog7⟧", "Version": 3}',
    '{"type": "random_password", "name": "db", "instances": [{"attributes": {"id": "none", "result": "⟦kQ3v8zr1Mw0tx7⟧"}}]}',
    'variable "db_password" {\n  type      = string\n  sensitive = true\n  default   = "⟦hedgehog7⟧"\n}',
    '<setting name="DbPassword" serializeAs="String">\n  <value>⟦hedgehog7⟧</value>\n</setting>',
    '<add value="⟦hedgehog7⟧" key="DbPassword" />',
    '"Credentials": {"SecretAccessKey": "⟦kT3vQm0ZpRtLw9BcNyDf/HjS2aEuG5iTo8Q+vMzR⟧", "SessionToken": "⟦kq3v8zr1mw0tx7bn5c⟧"}',
    # An option and its value as two items.
    'args: ["--user", "app", "--password", "⟦hedgehog7⟧"]',
    "args:\n  - --user\n  - app\n  - --password\n  - ⟦horsefly⟧",
    '"args": [\n  "--token",\n  "⟦kq3v8zr1mw0tx7bn5cy2⟧"\n]',
    'Command::new("app").arg("--password").arg("⟦hedgehog7⟧")',
    "<arg>--password</arg><arg>⟦hedgehog7⟧</arg>",
    # Here-documents, and what is written into a file for secrets.
    "docker secret create db_password - <<EOF\n⟦hedgehog7⟧\nEOF",
    "cat > /run/secrets/db_password <<'EOF'\n⟦hedgehog7⟧\nEOF",
    "chpasswd <<EOF\nbob:⟦hedgehog7⟧\nEOF",
    r"docker login -u ci --password-stdin <<EOF\n⟦hedgehog7⟧\nEOF",
    "printf '%s' '⟦hedgehog7⟧' > secrets/db_password",
    # Encoded as in a URL.
    "user%3Dbob%26password%3D⟦hedgehog7⟧%26next%3D%2F",
    "q=%7B%22password%22%3A%20%22⟦hedgehog7⟧%22%7D",
    "next=https%253A%252F%252Fapi.example.org%252Fcb%253Faccess_token%253D⟦kq3v8zr1mw0tx7bn5cy2⟧",
    "url=postgres%3A%2F%2Fapp%3A⟦hedgehog7⟧%40db%3A5432%2Fshop",
    # An argument of a call that connects, whatever stands before it.
    'conn = pymysql.connect("localhost", "root", "⟦hedgehog7⟧", "shop")',
    'Connection c = DriverManager.getConnection(\n    URL,\n    "app",\n    "⟦hedgehog7⟧");',
    'my $dbh = DBI->connect($dsn, "app", "⟦horsefly⟧", { RaiseError => 1 });',
    'oracledb.connect("scott", "⟦hedgehog7⟧", dsn)',
    'conn.simple_bind_s("cn=admin,dc=example,dc=org", "⟦hedgehog7⟧")',
    'ssh.connect("10.0.0.4", 22, "root", "⟦hedgehog7⟧")',
    # Users with passwords.
    "http --auth bob:⟦hedgehog7⟧ https://api.example.org/me",
    "skopeo copy --src-creds bob:⟦hedgehog7⟧ --dest-creds=ci:⟦horsefly⟧ docker://a docker://b",
    "celery flower --basic-auth=bob:⟦hedgehog7⟧,eve:⟦horsefly⟧",
    "basicauth:\n  users:\n    - bob:⟦hedgehog7⟧\n    - eve:⟦horsefly7⟧",
    "app.use(basicAuth({\n  users: { 'admin': '⟦hedgehog7⟧', 'bob': '⟦horsefly⟧' },\n}))",
    '$ cat /etc/pgbouncer/userlist.txt\n"app" "⟦hedgehog7⟧"\n"reporting" "⟦horsefly⟧"',
    "# /etc/postfix/sasl_passwd\n[smtp.example.org]:587 bob@example.org:⟦hedgehog7⟧",
    "$ cat credentials.txt\nbob:⟦hedgehog7⟧\neve:⟦horsefly⟧",
    "db:5433:*:app:⟦horsefly⟧",
    ': PSK "⟦hedgehog7⟧"',
    # Commands of registries and vaults.
    "vault operator unseal ⟦kq3v8zr1mw0tx7bn5cy2⟧",
    "poetry config http-basic.internal bob ⟦hedgehog7⟧",
    "bundle config set --global gems.example.org bob:⟦hedgehog7⟧",
    "regctl registry login -u ci -p ⟦hedgehog7⟧ registry.example.org",
    "mc alias set shop https://minio.example.org minioadmin ⟦hedgehog77⟧",
    "127.0.0.1:6379> AUTH ⟦hedgehog7⟧",
    # Tokens by the beginning that their issuer gives them, without a name.
    "the new one is ⟦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⟧",
    "see ⟦napi_kq3v8zr1mw0tx7bn5cy2qplm3kq9vzx2rtkq3v8zr1mw0tx7bn5cy2qplm3kq9vz⟧",
    "see ⟦shop_live_kQ3v8zr1Mw0tx7bn5cy2QpLm3k⟧",
    # Words with marks between them in settings, and any word after an option.
    "DB_PASSWORD=⟦oak.elm.ash⟧",
    "spring.datasource.password=⟦oak.elm.ash⟧",
    "password: ⟦blue-otter-lamp⟧",
    "JWT_SECRET=⟦lantern-fog-harbor⟧",
    "db_password: ⟦Boardwalk-Teapot-Evening⟧",
    "tool --db-password ⟦horsefly⟧ --host db",
    "keytool -genkey -alias a -keystore k.jks -storepass ⟦horsefly⟧ -keypass ⟦horsefly⟧",
    # Cookies of sessions and their tokens.
    "Cookie: sessionid=⟦kq3v8zr1mw0tx7bn5cy2qplm3kq9vzx2⟧",
    'cookies = {"sessionid": "⟦kq3v8zr1mw0tx7bn5cy2qplm3kq9vzx2⟧"}',
    "Set-Cookie: PHPSESSID=⟦kq3v8zr1mw0tx7bn5cy2qplm3k⟧; path=/",
    "connect.sid=⟦s%3Akq3v8zr1mw0tx7bn5cy2.QpLm3kQ9vZx2Rt7WbNcYd4HjS8aEuGf5iTo1⟧",
    "Cookie: session_id=⟦kq3v8zr1mw0tx7bn5cy2qplm3kq9vzx2⟧",
    '"session_token": "⟦kq3v8zr1mw0tx7bn5cy2⟧"',
]
INNOCENT = [
    *('"session_id":"session-07ed6a2f"', "sessionId: 0198f1c2d3e4b5a69788", "SESSION_ID=s-kq3v8zr1mw0tx7bn5"),
    *("Session ID: kq3v8zr1mw0tx7bn5cy2", 'sess_id = "kq3v8zr1mw0tx7bn5cy2"', "sessionid=07ed6a2f status=200"),
    *("mcp-session-id: 1868a90c4f3a2b1c9d8e7f6a5b4c3d2e", "request_id=req_011CQkq3v8zr1mw0tx7bn5cy2"),
    *('"auth_request_id": "kq3v8zr1mw0tx7bn5cy2"', '"idempotency_key": "order-2024-07ed6a2f-01"'),
    '"password": {"type": "string", "default": "", "description": "Password of the user"}',
    '"db_password": {"valueFrom": {"secretKeyRef": {"name": "db-credentials", "key": "password"}}}',
    '"inputs": [{"id": "api_key", "description": "API key", "password": true}]',
    'output "db_password" {\n  value     = random_password.db.result\n  sensitive = true\n}',
    'args: ["--password", "$DB_PASSWORD"]',
    'parser.add_argument("--password", "-p", help="the password")',
    '@click.option("--password", "password", prompt=True)',
    "cat > /run/secrets/db_password <<EOF\n${DB_PASSWORD}\nEOF",
    "tee docs/passwords.md <<EOF\n# Passwords\nEOF",
    "redirect=%2Flogin%3Fpassword%3D",
    'signal.connect("changed", "on_changed", "widget")',
    "  --password PASSWORD    Password of the user",
    "use --password or --password-file",
    "password = settings.db.password",
    "secret: shop-credentials",
    "Usage: vault operator unseal [options] [KEY]",
    "poetry config virtualenvs.in-project true",
    '"en" "English"\n"de" "German"',
    "test_api_key_rotation_2024_works_with_v2_and_v3_clients",
    "path/to/client_session.py,sha256=gjrw-f_ZQOYawQox-0yIMnAcr5bSk05FlIe5zcCGhho,2079",
]


BEFORE_LINES = ("deploy/prod.conf-12-", "2026-03-02T09:14:55.1234567Z ", "web-1  | ", "    12→", "    12\t")
"""What grep, CI, Docker and an agent's reader put before each line."""
OF_LINES = (
    "curl -u dana:heronQuay4821 https://api.acme.dev",
    "env:\n  - name: DB_PASSWORD\n    value: heronQuay4821",
    "passwords:\n  - heronQuay4821\n  - otterPier7733",
    "Please use this password to proceed:\n\nheronQuay4821\n\nIt is also in a file.",
)


@pytest.mark.parametrize("text", OF_LINES)
@pytest.mark.parametrize("before", BEFORE_LINES)
def test_what_a_tool_puts_before_lines_hides_no_secret(before: str, text: str) -> None:
    """The rules read the lines as they are in the file (#35)."""
    assert "heronQuay4821" not in redact("\n".join(f"{before}{line}" for line in text.split("\n")))


@pytest.mark.parametrize("text", OF_LINES)
def test_json_within_json_hides_no_secret(text: str) -> None:
    """Nor do spaces that do not break (#35)."""
    assert "heronQuay4821" not in redact(json.dumps({"log": json.dumps({"stdout": text})}))
    assert "heronQuay4821" not in redact(text.replace(" ", "\u00a0"))


@pytest.mark.parametrize("marked", SECRETS)
def test_a_secret_is_found_in_each_shape(marked: str) -> None:
    """The secret between the marks is replaced, and nothing else of the text is."""
    parts = re.split("[⟦⟧]", marked)
    text = "".join(parts)
    starts = [len("".join(parts[:number])) for number in range(1, len(parts), 2)]
    wanted = [(start, start + len(part)) for start, part in zip(starts, parts[1::2], strict=True)]

    assert wanted == [(secret.start, secret.end) for secret in find_secrets(text)]


@pytest.mark.parametrize("text", INNOCENT)
def test_plain_ids_and_neighbours_of_the_shapes_stay(text: str) -> None:
    """Ids of sessions and requests, references, help texts and names of code are no secrets."""
    assert text == redact(text)


def test_doctor_warns_once_of_a_file_with_secrets(tmp_path: Path) -> None:
    """Seventy decisions with the ids of sessions give no warning; lines with secrets give one, with their count."""
    shop = new_shop(tmp_path, is_indexed=False)
    file = shop.home / "lore" / "journal" / "data" / "decisions.jsonl"
    file.parent.mkdir(parents=True)
    lines = [
        json.dumps({"id": f"dec-{n:08x}", "session_id": f"session-07ed6a{n:02x}", "decision": f"Keep step {n}"})
        for n in range(70)
    ]
    file.write_text("".join(f"{line}\n" for line in lines))
    plain = shop.out("doctor", "--no-trial", code=0)
    lines[3:8] = [line.replace("Keep step", "db_password: tiger7kiwi99 for step") for line in lines[3:8]]
    file.write_text("".join(f"{line}\n" for line in lines))
    printed = shop.out("doctor", "--no-trial", code=0)

    assert "has a secret" not in plain
    assert 1 == printed.count("has a secret")
    assert f"{file} has a secret in 5 lines (4, 5, 6 and 2 more), which is never shown" in printed
