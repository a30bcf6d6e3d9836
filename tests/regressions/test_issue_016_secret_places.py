"""Issue 16: defaults beside references, lists over lines, sentences, here-strings, runs within keys hold secrets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.redact import redact
from tests.support.builders import PAYMENTS, new_shop

if TYPE_CHECKING:
    from pathlib import Path

# Made up, and put together from parts so that no scanner takes this file for a leak.
WEAK = "tiger7" + "kiwi99"
OTHER = "silver22" + "spoon"

DEFAULTS = """\
password = os.getenv("X", "%s")
password = os.environ.get("DB_PASSWORD","%s")
password = os.environ.get("PG", default="%s")
password = os.getenv('X') or "%s"
password = os.environ['X'] if 'X' in os.environ else '%s'
password = config("DB_PASSWORD", default="%s")
password = cfg.get("db", "password", fallback="%s")
const a = {password: process.env.X || "%s"}
password: process.env.X ?? '%s',
password=${DB_PASSWORD:-%s}
password: "${X:-%s}"
password: ${X:%s}
password = ENV.fetch("X","%s")
password = ENV['X'] || '%s'
String password = System.getenv().getOrDefault("X", "%s");
String password = Optional.ofNullable(System.getenv("X")).orElse("%s");
val password = System.getenv("X") ?: "%s"
password := getEnv("X", "%s")
let password = env::var("X").unwrap_or("%s".into());
let pw = env::var("DB_PASSWORD").unwrap_or_else(|_| String::from("%s"));
$password = getenv('X') ?: '%s';
'password' => env('X', '%s'),
password = Environment.GetEnvironmentVariable("X") ?? "%s";
my $password = $ENV{X} // "%s";
password: {{ .Values.pw | default "%s" }}
password: "{{ lookup('env','X') | default('%s') }}"
password = coalesce(var.pw, "%s")
parser.add_argument("--password", default="%s", help="x")"""
LISTS = """\
"password": [\\n  "%s"\\n]
passwords:\\n  - %s\\n  - %o\\n
passwords:\\n- "%s"\\n- '%o'
passwords = [\\n  "%s", # first\\n  "%o",\\n]
PASSWORDS = ("%s", "%o")
passwords := []string{"%s", "%o"}
List<String> passwords = List.of("%s", "%o");
let passwords = vec!["%s", "%o"];
const passwords: string[] = ["%s", "%o"]
passwords: [%s, %o]
{"content": "\\\\"passwords\\\\": [\\\\n  \\\\"%s\\\\",\\\\n  \\\\"%o\\\\"\\\\n]"}"""
SENTENCES = """\
use %s as the password
Use %s as the password.
try %s as password
log in with admin / %s
ssh in as root/%s
the password for staging is now %s
password has been changed to %s
created the user bob with username bob, password %s
das Passwort lautet %s
la contraseña es %s
kinit bob <<< '%s'
echo %s | kinit bob
sudo -S <<< %s apt update
docker login -u x --password-stdin <<< "%s"
snmpwalk -v2c -c %s host"""


@pytest.mark.parametrize("text", f"{DEFAULTS}\n{SENTENCES}".splitlines())
def test_a_default_and_a_password_in_a_sentence_are_replaced_and_nothing_else_is(text: str) -> None:
    """The literal goes; the reference beside it, the names, the user and the words stay readable."""
    kinds = ("[redacted:secret]", "[redacted:password]")

    assert redact(text.replace("%s", WEAK)) in [text.replace("%s", kind) for kind in kinds]


@pytest.mark.parametrize("text", LISTS.splitlines())
def test_every_item_of_a_list_of_passwords_is_replaced(text: str) -> None:
    """A list may have its items on one line or on several, with quotes or without."""
    text = text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
    shown = redact(text.replace("%s", WEAK).replace("%o", OTHER))

    assert text.replace("%s", "[redacted:secret]").replace("%o", "[redacted:secret]") == shown


@pytest.mark.parametrize("run", ["zzzzzz", "xxxxxxx", "000000000000", "aaaa"])
def test_a_run_of_one_character_within_a_key_makes_no_placeholder(run: str) -> None:
    """Beside a clear name a key of many kinds of characters is one; a value that is little else than a run is not."""
    key = f"9pLq0ZxVtKm3{run}RbW7Yp+fHjS2aEuG5iXo8QvM"

    assert "aws_secret_access_key = [redacted:secret]" == redact(f"aws_secret_access_key = {key}")
    assert f"secret_key = {run * 3}" == redact(f"secret_key = {run * 3}")


def test_a_token_of_several_literals_is_replaced_whole() -> None:
    """A token with a known form is found where code puts it together from two lines, whatever its name is."""
    text = 'PAT = (\n    "ghp_hHQGyN1tkUp9EB75"\n    "LS7a3L0c6qUPPxif' + 'wQuw"\n)'

    assert 'PAT = (\n    "[redacted:github_token]"\n    "[redacted:github_token]"\n)' == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        'password = os.getenv("X", "")',
        'password = os.getenv("X", default)',
        'password = hash(pw, "sha256x12")',
        "password: ${X:-}",
        "password: ${X:?must be set}",
        "password: ${DB_PASSWORD:-password}",
        'const password = user || "anonymous"',
        'password = config.get("auth", "database_password_v2")',
        '"password": ["required", "min:8", "max:72", "confirmed"]',
        '{"password": ["This field is required."]}',
        "secrets:\n  - db_password\n  - api_token2\n",
        "secrets: [db_password, api_token]",
        'credentials: ["aws-s3", "gcp"]',
        "use argon2id as the password hashing algorithm",
        "use sha512crypt as the password scheme",
        "log in with admin / editor roles",
        "login with OAuth2/OIDC1x",
        "ssh as root on web/db1",
        "grep x <<< tiger7kiwi99",
        "#define CMD_NO_AUTH (1ULL<<30)",
        "typed: password: Vec<u8>",
    ],
)
def test_a_neighbour_without_a_secret_stays(text: str) -> None:
    """Empty defaults, names of settings, rules of forms, names of algorithms and roles are no secrets."""
    assert text == redact(text)


def test_a_default_and_a_list_of_a_file_are_not_indexed_injected_or_printed(tmp_path: Path) -> None:
    """Neither a search nor a prompt nor a file of ours shows the default of a reference or an item of a list."""
    files = {
        "shop/settings.py": f'"""Settings of the shop."""\n\nDB = {{"password": os.getenv("X", "{WEAK}")}}\n',
        "config/users.yml": f"users:\n  names:\n    - ada\n  passwords:\n    - {OTHER}\n    - {WEAK}\n",
    }
    shop = new_shop(tmp_path, PAYMENTS | files)
    prompt = f"Which names stand in config/users.yml? Use {WEAK} as the password."
    injected = shop.hook(prompt, HYBRID_HOOKS_GATE_THRESHOLD="-1")
    shown = shop.out("search", "--verbose", "--limit", "40", "settings of the shop users names password")
    kept = b"".join(path.read_bytes() for path in shop.home.rglob("*") if path.is_file())

    assert "os.getenv" in injected + shown
    assert [] == [value for value in (WEAK, OTHER) if value in injected + shown or value.encode() in kept]


def test_a_diff_before_a_reference_is_no_code() -> None:
    """A line of settings that ends in a reference does not make the password above it a name of code."""
    text = f"-  password: {WEAK}\n+  password: ${{SHOP_PASSWORD}}"

    assert text.replace(WEAK, "[redacted:secret]") == redact(text)
    assert json.dumps(text).replace(WEAK, "[redacted:secret]") == redact(json.dumps(text))
