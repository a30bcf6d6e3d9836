"""Redaction of whatever may be a secret beside a name that says so, and of nothing that is plainly none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hybrid.redact import redact

# Made up, and put together from parts so that no scanner takes this file for a leak.
V = "tiger7" + "kiwi99"
X = "Xk29" + "fjqpw8"
R = "9fQ2xLm7Zt4KcW8bR1v" + "Ys6NdHp3JgTa5UeXo0iBq"
U = "3f2504e0-4f89-" + "41d3-9a0c-0305e82c3301"
H = "0a1b2c3d4e5f6071" + "8293a4b5c6d7e8f9"
A = "wJalrXUtnFEMI/K7MD" + "ENG+bPxRfiCYzQ3kVbN1a"
DJ = "k2(x%s9{q&h^f!8@j#" + "z0_w-e=r+t)y1u3i5o7p$a*s6d4g"
S = "t!9Gk2#pLm z@4(qX)7v%B^n&8*Hs-_=" + "+[d]{f};:3?/.>,<a1~`c|E5r$wT6 yUi"
_PARTS = (
    V,
    X,
    R,
    R[:20],
    R[20:],
    U,
    H,
    A,
    DJ,
    S,
    V[:6] + '"',
    '"' + V[6:],
    "Tiger7kiwi99",
    "sunshine",
    "horse",
    "482913",
)

SECRETS = [
    f"password: {V}\n",
    f"db:\n  host: x\n  password: {V}\n  port: 5432\n",
    f"secret: {V}\n",
    f"db_password: {V}\n",
    "passwd: Tiger7kiwi99\n",
    f"user: admin pass: {X}",
    f"curl -u admin:{V} https://h.io/x",
    f"password = {V}\n",
    f"[db]\nuser = bob\npassword = {V}\n",
    f"the staging password: {X}",
    f"API key: {R}",
    f"my API key is {R}",
    f"client secret is {R}",
    f"the deploy token: {R}",
    f"bearer token {R}",
    f"The client secret is {V}.",
    f"https://api.telegram.org/bot7712345678:AAH{R[:32]}/getMe",
    f"aws configure set aws_secret_access_key {A}",
    f"I ran it with aws_secret_access_key {A} yesterday",
    f"and then AWS_SECRET_ACCESS_KEY={A} was in the middle",
    f"Access key ID,Secret access key\nAKIAQ7Z2XW5LMN4TRB3K,{A}\n",
    f"SECRET_KEY = '{DJ}'\n",
    f"DJANGO_SECRET_KEY={DJ}\n",
    f'DJANGO_SECRET_KEY="{DJ}"\n',
    f'{{"user": "bob", "pass": "{V}"}}',
    f"auth:\n  user: bob\n  pass: {V}\n",
    f"[smtp]\nuser=bob\npass={V}\n",
    f"auth: {{ user: 'bob', pass: '{V}' }},",
    f"//registry.npmjs.org/:_authToken={U}\n",
    f"//npm.h.io/:_authToken={V}{V}\n",
    f"define('AUTH_KEY',         '{S}');\n",
    f'define( "NONCE_SALT", "{S.replace(chr(34), "")}" );\n',
    f"mongosh -u bob -p '{V}' mongodb://h/x",
    f"mongosh 'mongodb://h' --username bob -p {V}",
    f"sqlcmd -S h -U sa -P {V} -Q 'select 1'",
    f"sqlcmd -S h -U sa -P '{X}!'",
    f"ldapsearch -x -D cn=admin -w {V} -b dc=x",
    f"htpasswd -b .htpasswd bob {V}",
    f"htpasswd -cbB /etc/nginx/.htpasswd bob {V}\n",
    f"openssl enc -aes-256-cbc -k {V} -in a -out b",
    f"openssl enc -d -k '{X}!' -in a",
    f"mysql -u root -p{V} shop",
    f"sshpass -p {V} ssh a@h",
    f"sshpass -p{V} ssh a@h",
    f"docker login -u a -p {V} r.io",
    f"smbclient //h/s -U bob%{V}",
    f"redis-cli -h h -a {V} ping",
    f"wget --user a --password={V} https://h",
    f"wget --password {V} https://h",
    f"ansible-playbook s.yml -e 'ansible_become_pass={V}'",
    f"ansible-playbook s.yml -e db_password={V}",
    f"kubectl create secret generic db --from-literal=password={V}",
    f"gh secret set API -b {V}",
    f"gh secret set API -b '{V}'",
    f"az login --service-principal -u x -p {V} --tenant y",
    f"snmpwalk -v3 -u u -A {V} -X {X} h",
    f"unzip -P {V} a.zip",
    f"zip -P {V} a.zip a",
    f"7z x -p{V} a.7z",
    f"rabbitmqctl add_user bob {V}",
    f"rabbitmqctl change_password bob {V}",
    f"net use Z: \\\\h\\s {V} /user:bob",
    f"net user bob {V} /add",
    f'ConvertTo-SecureString "{V}" -AsPlainText -Force',
    f"ConvertTo-SecureString -String '{V}' -AsPlainText",
    f"CREATE USER bob IDENTIFIED BY '{V}';",
    f"ALTER USER bob IDENTIFIED WITH mysql_native_password BY '{V}';",
    f"CREATE USER bob PASSWORD '{V}';",
    f"ALTER ROLE bob WITH ENCRYPTED PASSWORD '{V}';",
    f"SET PASSWORD FOR 'bob'@'h' = PASSWORD('{V}');",
    f"machine h login bob password {V}",
    "machine h\n\tlogin bob\n\tpassword sunshine\n",
    f"h.io:5432:db:bob:{V}\n",
    f"localhost:*:*:bob:{V}\n",
    "bob:$apr1$Xk29fjqp$w8tIgEr7kIwI99aBcDeF1.\n",
    "root:$6$Xk29fjqp$" + R + R + "abcdef:19000:0:99999:7:::\n",
    "bob:$2y$10$" + (R + R)[:53] + "\n",
    f"Authorization: Bearer {V}",
    f"Authorization: Token {V}",
    f"Authorization: ApiKey {R}",
    f"Authorization: AWS4-HMAC-SHA256 Credential=AKIAQ7Z2XW5LMN4TRB3K/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature={H}{H}",
    f'Authorization: Digest username="bob", realm="x", nonce="{H[::-1]}", response="{H}"',
    f"X-Api-Key: {V}",
    f"Set-Cookie: session={R}; Path=/",
    f"Server=h;Database=d;User Id=u;Password={V};",
    f"Server=h;Uid=u;Pwd={V}",
    f"jdbc:postgresql://h/d?user=u&password={V}",
    f"amqp://u:{V}@h/",
    f"redis://:{V}@h:6379/0",
    f"https://hooks.slack.com/services/T02ABCDEF/B07QABCDE/{R[:24]}",
    f"https://discord.com/api/webhooks/482910374655182736/{R}{R[:28]}",
    'password = ("tiger7" + "kiwi99")\n',
    'password = "tiger7" + "kiwi99";\n',
    f"api_key = ('{R[:20]}'\n           '{R[20:]}')\n",
    "$password = 'tiger7' . 'kiwi99';",
    f'const token = "{R[:20]}" +\n  "{R[20:]}";',
    f"password: |\n  {V}\n",
    f"db:\n  password: >-\n    {V}\n  port: 1\n",
    f"token: |-\n  {R[:20]}\n  {R[20:]}\n",
    f"PASSWORD={V[:6]}\\\n{V[6:]}\n",
    f"api.key={R[:20]}\\\n    {R[20:]}\n",
    "password: sunshine\n",
    'password: "sunshine"\n',
    "db:\n  user: bob\n  password: sunshine\n  port: 3\n",
    "DB_PASSWORD=sunshine\n",
    'password = "correct horse battery staple"\n',
    f"my password is {V}",
    f"the password for staging is {V}",
    f"password for the prod db is {X}, user admin",
    f"use the password {V} for it",
    f"Fix login\n\nThe old db password was {X}, rotated now",
    f"change password from {V} to {X}",
    f"set db password to {X}",
    f"pw: {X}",
    f"pw={X}",
    f"Login: admin / Password: {X}",
    f"credentials: admin / {X}",
    f"creds admin:{X}",
    f"| user | password |\n|---|---|\n| bob | {V} |\n",
    f"name,password,role\nbob,{V},admin\nann,{X},user\n",
    f"INSERT INTO users (name, password) VALUES ('bob', '{V}');",
    f"Key         Value\n---         -----\npassword    {V}\nusername    bob\n",
    f"token                {R}\ntoken_duration       1h\n",
    f"Unseal Key 1: {R[:43]}=\n",
    f"Initial Root Token: hvs.{R[:24]}\n",
    f"Please use the following password to proceed to installation:\n\n{H}\n\nThis may also be found at",
    "A temporary password is generated for root@localhost: tR5&xyz9Q!ab\n",
    f"kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:{H[::-1]}{H[::-1]}",
    f"docker swarm join --token SWMTKN-1-{H}{H[:18]}-{R[:25].lower()} 10.0.0.1:2377",
    f"http://localhost:8888/?token={H}{H[:16]}",
    f"ngrok config add-authtoken {R}",
    f"requirepass {V}\n",
    f'requirepass "{V}"\n',
    f"masterauth {V}\n",
    f'<add name="db" connectionString="Server=h;Password={V}" />',
    f"<password>{V}</password>",
    f"<key>password</key>\n<string>{V}</string>",
    f'{{"key": "password", "value": "{V}"}}',
    f'<input type="hidden" name="password" value="{V}">',
    f'os.environ["DB_PASSWORD"] = "{V}"',
    f'setPassword("{V}")',
    f'.password("{V}")',
    f'login("bob", password="{V}")',
    f'Password string = "{V}"',
    f'const Password = "{V}"',
    f'password := "{V}"',
    f'let password: &str = "{V}";',
    f'val password: String = "{V}"',
    f'private String password = "{V}";',
    f'static char password[] = "{V}";',
    f"password => '{V}'",
    f":password => '{V}'",
    f'"password" => "{V}",',
    f"@password = '{V}'",
    f"password: '{V}', // dev",
    f"spring.datasource.password={V}",
    f"-Dspring.datasource.password={V}",
    f"export PGPASSWORD={V}; psql",
    f"PGPASSWORD={V} psql -h h",
    f'psk="{V}"\n',
    f"wpa_passphrase home {V}",
    f"echo {V} | sudo -S ls",
    f"echo '{V}' | docker login --password-stdin r.io",
    f"echo 'bob:{V}' | chpasswd",
    f"vault kv put secret/db password={V}",
    f"vault login s.{R[:24]}",
    f"keytool -genkey -storepass {V} -keypass {X}",
    f"gpg --batch --passphrase {V} -d f",
    f"gpg --batch --passphrase '{V}' -d f",
    f"az sql server create --admin-password {V}",
    f"xfreerdp /u:bob /p:{V} /v:h",
    f"mosquitto_pub -u b -P {V} -t x",
    f"lftp -u bob,{V} ftp://h",
    f'"Password": "{V}"',
    f"Password: {V}",
    f"password:{V}",
    f"token:{R}",
    f'password="{V}"',
    f"password='{V}'",
    f"password=`{V}`",
    f"**Password:** `{V}`",
    f"**Password**: {V}",
    f"- Password: {V}",
    f"`password`: `{V}`",
    f"password -> {V}",
    f'r.Header.Set("X-Api-Key", "{V}")',
    f'req.headers["x-api-key"] = "{V}"',
    f'os.Setenv("API_TOKEN", "{R}")',
    f'auth_token "{V}"',
    f"hash: {{SSHA}}{R[:32]}",
    f'config.secret_key_base = "{H}{H}{H}{H}"',
    f'"apiKey": "{U}"',
    f"HEROKU_API_KEY={U}",
    f"api_key={U}",
    f"token = '{U}'",
    f'"auth": "{V}"',
    f"- name: DB_PASSWORD\n  value: {V}\n",
    f"ENV DB_PASSWORD {V}\n",
    f"ARG TOKEN={V}\n",
    f"enable secret 5 {V}",
    f"snmp-server community {X} RO",
    "DB_PASSWORD=ab,c&9d;e#Q7f\n",
    "DB_PASSWORD=!k9$xQ2@w\n",
    "password: k9$xQ2@w#1\n",
    'password = "k9\\"xQ2@w#1"',
    "password: 'it''s9xQ2'\n",
    f'{{"stdout": "DB_PASSWORD={V}\\nPORT=1"}}',
    f'{{"cmd": "curl -u admin:{V} https://x"}}',
    f'["mysql", "-uroot", "-p{V}"]',
    f'subprocess.run(["sshpass", "-p", "{V}", "ssh"])',
    "password: 123456\n",
    'password="123456"',
    "PASSWORD=4815162342\n",
    f"sudo mysqladmin -u root password '{V}'",
    f"mysql> SET PASSWORD = '{V}';",
    f'psql "host=h password={V}"',
    f"user = bob; password = {V}",
    f'$env:API_KEY="{V}"',
    f"$password = '{V}'",
    f'$cred = New-Object PSCredential("bob", (ConvertTo-SecureString "{V}" -AsPlainText -Force))',
    f"set PASSWORD={V}",
    f"setx API_KEY {V}",
    f"fish: set -x API_KEY {V}",
    f"git config --global github.token {V}",
    f"heroku config:set SECRET_KEY={V}",
    f"fly secrets set DB_PASSWORD={V}",
    f"vercel env add TOKEN {V}",
    f"npm config set //r/:_authToken {U}",
    f"npm config set _auth {R}",
]
INNOCENT = Path(__file__).with_name("innocent_lines.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", SECRETS)
def test_everything_that_may_be_a_secret_is_one(text: str) -> None:
    """Beside a name that says so, in a command or in a file of credentials, a weak password is hidden too."""
    shown = redact(text)

    assert "[redacted:" in shown
    assert [] == [part for part in _PARTS if part in shown]


@pytest.mark.parametrize(
    "line",
    [
        'lookup("db-password-2", "eu-west-1")',
        "get_secret('prod/api-key', 'ap-southeast-2')",
        'client.read("api_token", "us-gov-west-1")',
        'secret = fetch("smtp_password", "europe-west4", timeout=3)',
    ],
)
def test_the_region_beside_the_key_of_a_secret_stays(line: str) -> None:
    """A call names a secret and the region where it is kept; neither is one."""
    assert line is redact(line)


@pytest.mark.parametrize("line", ['store("db-password-2", "%s")', 'field["password"].fill("%s")', 'password: "%s"\n'])
def test_a_word_with_a_number_beside_the_key_of_a_secret_goes(line: str) -> None:
    """What has no form of a region is taken for the secret, and a region that is assigned too."""
    word = "rain" + "-west-9"

    assert word not in redact(line % word)


@pytest.mark.parametrize("line", INNOCENT)
@pytest.mark.parametrize("form", ["{}", "{}\n", "    {}\n    x = 1\n"], ids=["alone", "line", "in code"])
def test_references_types_placeholders_calls_and_words_stay(line: str, form: str) -> None:
    """What is plainly no literal is shown as it is, in code, settings, documents and logs of many kinds."""
    text = form.format(line) if "{}" not in line else form.replace("{}", line)

    assert text is redact(text)


def test_innocent_lines_stay_beside_one_another() -> None:
    """What stands around a line makes no secret of it."""
    text = "\n".join(INNOCENT)

    assert text is redact(text)


def test_redacting_redacted_text_changes_nothing() -> None:
    """What was hidden once leaves nothing behind that is hidden in a second turn."""
    once = [redact(text) for text in SECRETS]

    assert once == [redact(text) for text in once]


def _prose(size: int) -> str:
    line = "the quick brown fox jumps over a lazy dog while people read about gardens and rivers in the evening\n"
    return (line * (size // len(line) + 1))[:size]


def _seconds(text: str) -> float:
    started = time.process_time()
    redact(text)
    return time.process_time() - started


@pytest.mark.parametrize("separator", ["", " ", "=", ": ", "='", '"', ",\n", "\n", "(", " is ", "/", ";"])
def test_repeated_key_words_cost_no_more_than_other_text(separator: str) -> None:
    """Each word that a secret may stand beside, repeated, takes at most a small multiple of the time of prose."""
    size = 60_000
    prose = _prose(size)
    words = (
        "password",
        "_pass",
        "pass",
        "pwd",
        "pw",
        "secret",
        "token",
        "api_key",
        "key",
        "auth",
        "cred",
        "salt",
        "seed",
    )
    words += ("curl -u ", "login", "cookie", "authorization", "mysql -p", "://", "sshpass -p", "echo ", "recovery code")
    slow = {}
    for word in words:
        text = (f"{word}{separator}" * (size // len(word + separator) + 1))[:size]
        # The bound of the product is 25; a busy machine gets some room, and what is quadratic is far beyond it. Both sides
        # are timed in turn, since prose takes a millisecond, and what runs beside it may last as long.
        ratio = min(_seconds(text) for _ in range(2)) / min(_seconds(prose) for _ in range(2))
        if ratio > 50:
            turns = [(_seconds(text), _seconds(prose)) for _ in range(8)]
            ratio = min(text_s for text_s, _ in turns) / min(prose_s for _, prose_s in turns)
        if ratio > 50:
            slow[word] = ratio

    assert {} == slow


def test_ten_times_the_key_words_take_about_ten_times_as_long() -> None:
    """The time grows with the length, not with its square."""
    short, long = (min(_seconds("token = x1 api_key: y " * n) for _ in range(2)) for n in (1_000, 10_000))

    assert long < 30 * short
