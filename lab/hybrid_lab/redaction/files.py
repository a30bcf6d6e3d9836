"""Whole files and commands with made-up secrets, each in its place: key blocks, credentials, connection strings.

As in `redaction_contexts`: `%S` is the secret, and it is one of the forms beside the template.
"""

from __future__ import annotations

_RANDOM = ("{A16}", "{A24}", "{A8}!{A6}", "{b32}")
_TYPED = ("{w1}{d2}!{w1}", "{w1}{d4}", "{k3}-{d2}")
_OPAQUE = ("{A32}", "{b43}", "{h40}", "{A20}.{A40}")

PEM_NAMES = (
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "DSA PRIVATE KEY",
)
PEM_CONTEXTS = (
    ("pem file", "%P"),
    ("pem in yaml", "tls:\n  key: |\n%I"),
    ("pem in a variable", 'PRIVATE_KEY="%P"\nPORT=1\n'),
    (
        "pem in JSON",
        '{"type": "service_account", "private_key": "%E", "client_email": "{k2}@{k2}.iam.gserviceaccount.com"}\n',
    ),
    ("pem on one line", 'GOOGLE_KEY="%E"\n'),
    ("pem from a here document", "cat > ~/.ssh/id_{w1} <<'EOF'\n%PEOF\nchmod 600 ~/.ssh/id_{w1}\n"),
    ("pem in python", 'KEY = """%P"""\n'),
    ("pem in javascript", "const key = [\n%Q].join('\\n');\n"),
    ("pem, end cut off", "%C"),
    ("pem, start cut off", "%D"),
)
"""`%P` the block, `%I` indented, `%E` with `\\n` for line ends, `%Q` as quoted lines, `%C` without its end, `%D`
without its start."""

FILE_CONTEXTS: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "url password": (
        ("postgres", "DATABASE_URL=postgres://{w1}:%S@db.{w1}.internal:5432/{w1}\n", _RANDOM),
        ("sqlalchemy", 'engine = create_engine("postgresql+psycopg2://{w1}:%S@localhost/{w1}")\n', _RANDOM),
        ("redis", "REDIS_URL=redis://:%S@cache-{w1}:6379/0\n", _RANDOM),
        ("mongo", "mongodb+srv://{w1}:%S@cluster0.{a5}.mongodb.net/{w1}?retryWrites=true\n", _RANDOM),
        ("amqp", 'broker: "amqp://{w1}:%S@rabbit:5672//"\n', _TYPED),
        ("proxy", "export https_proxy=http://{w1}:%S@proxy.{w1}.com:3128\n", _TYPED),
        ("curl url", "curl https://{w1}:%S@artifacts.{w1}.io/{w1}.tgz -O\n", _RANDOM),
        ("mysql log", "OperationalError: mysql://{w1}:%S@10.0.3.7/{w1} refused\n", _TYPED),
        ("json url", '{"url": "postgresql://{w1}:%S@{w1}:5432/{w1}?sslmode=require"}\n', _RANDOM),
    ),
    "basic auth": (
        ("header", "curl -H 'Authorization: Basic %S' https://{w1}.io\n", ("{x14}", "{x20}", "{x32}")),
        ("python header", 'headers = {"Authorization": "Basic %S"}\n', ("{x16}", "{x24}")),
        ("docker config", '{"auths": {"ghcr.io": {"auth": "%S"}}}\n', ("{x24}", "{x36}")),
        ("npmrc _auth", "//npm.{w1}.io/:_auth=%S\n", ("{x24}", "{x36}")),
    ),
    "bearer": (
        ("curl", 'curl -X POST -H "Authorization: Bearer %S" https://{w1}.io/v1\n', _OPAQUE),
        ("http log", "> GET /v1/{w1} HTTP/1.1\n> Host: {w1}.io\n> Authorization: Bearer %S\n> Accept: */*\n", _OPAQUE),
        ("token header", "curl -H 'Authorization: token %S' https://git.{w1}.io/api/v1\n", _OPAQUE),
        ("x-api-key", 'http POST {w1}.io "x-api-key: %S" name={w1}\n', _OPAQUE),
        ("private-token", 'curl --header "PRIVATE-TOKEN: %S" "https://gitlab.{w1}.io/api/v4"\n', _OPAQUE),
        ("javascript headers", "fetch(url, { headers: { 'Authorization': 'Bearer %S' } })\n", _OPAQUE),
        ("python f-string", 'headers={"X-Auth-Token": "%S"}\n', _OPAQUE),
        ("api key scheme", "Authorization: ApiKey %S\n", _OPAQUE),
    ),
    "cookie": (
        ("curl -b", "curl -b 'sessionid=%S' https://{w1}.io/admin\n", ("{a32}", "{A48}")),
        ("header", "Cookie: theme=dark; sessionid=%S\n", ("{a32}", "{h64}")),
        ("set-cookie", "< Set-Cookie: session=%S; Path=/; HttpOnly\n", ("{b60}.{b6}.{b27}", "{A48}")),
        ("connect.sid", "Cookie: connect.sid=s%3A{b32}.%S\n", ("{A43}",)),
    ),
    "command password": (
        ("curl -u", "curl -u {w1}:%S https://{w1}.io/api\n", _RANDOM + _TYPED),
        ("curl --user", 'curl --user "{w1}:%S" https://{w1}.io/api\n', _RANDOM + _TYPED),
        ("mysql -p", "mysql -h db.{w1}.io -u {w1} -p%S {w1}\n", ("{A16}", "{A12}")),
        ("sshpass", "sshpass -p '%S' ssh {w1}@10.1.2.3\n", _RANDOM + _TYPED),
        ("docker login", "docker login -u {w1} -p %S registry.{w1}.io\n", _RANDOM),
        ("redis-cli", "redis-cli -h {w1} -a %S ping\n", ("{A24}", "{A32}")),
        ("PGPASSWORD", "PGPASSWORD=%S psql -h {w1} -U {w1} -c 'select 1'\n", _RANDOM + _TYPED),
        ("create user", "CREATE USER {w1} WITH PASSWORD '%S';\n", _RANDOM + _TYPED),
        ("identified by", "ALTER USER '{w1}'@'%' IDENTIFIED BY '%S';\n", _RANDOM + _TYPED),
        ("--password", "{w1}ctl login --username {w1} --password %S\n", _RANDOM + _TYPED),
        ("openssl", "openssl enc -aes-256-cbc -pass pass:%S -in {w1}.bin\n", _RANDOM),
    ),
    "credentials file": (
        ("netrc", "machine api.{w1}.io\n  login {w1}\n  password %S\n", _RANDOM + _TYPED),
        ("netrc, one line", "machine github.com login {w1} password %S\n", _OPAQUE),
        ("npmrc", "registry=https://npm.{w1}.io/\n//npm.{w1}.io/:_authToken=%S\n", _OPAQUE),
        ("pgpass", "db.{w1}.io:5432:{w1}:{w1}:%S\n", _RANDOM),
        ("aws", "[default]\naws_access_key_id = {U20}\naws_secret_access_key = %S\nregion = eu-west-1\n", ("{B40}",)),
        ("aws session", "aws_session_token = %S\n", ("IQoJb3JpZ2luX2VjE{B300}==", "FwoGZXIvYXdzE{B260}")),
        ("aws sts", '{"Credentials": {"SecretAccessKey": "%S", "Expiration": "2026-01-01T00:00:00Z"}}\n', ("{B40}",)),
        ("kubeconfig token", "users:\n- name: {w1}\n  user:\n    token: %S\n", _OPAQUE),
        ("kubeconfig key", "    client-key-data: %S\n", ("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt{B600}==",)),
        ("kubernetes secret", "apiVersion: v1\nkind: Secret\ndata:\n  password: %S\n", ("{y12}", "{y16}", "{y24}")),
        ("pypirc", "[pypi]\nusername = {w1}\npassword = %S\n", _RANDOM),
        ("git-credentials", "https://{w1}:%S@git.{w1}.io\n", _OPAQUE),
        ("composer auth", '{"http-basic": {"repo.{w1}.com": {"username": "{w1}", "password": "%S"}}}\n', _RANDOM),
        ("maven settings", "<server>\n  <id>{w1}</id>\n  <password>%S</password>\n</server>\n", _RANDOM),
        ("gradle", "signing.password=%S\n", _RANDOM),
        ("oauth answer", '{"access_token":"%S","token_type":"Bearer","expires_in":3600}\n', _OPAQUE),
        ("oauth refresh", '{"refresh_token": "%S", "scope": "read"}\n', _OPAQUE),
        ("wireguard", "[Interface]\nPrivateKey = %S\nAddress = 10.0.0.1/24\n", ("{B43}=",)),
        ("laravel", "APP_KEY=base64:%S\n", ("{B43}=",)),
        ("django", "SECRET_KEY = 'django-insecure-%S'\n", ("{a20}^{a10}&{a12}", "{a50}")),
        ("rails credentials", "secret_key_base: %S\n", ("{h128}",)),
        ("ansible", "ansible_become_pass: %S\n", _RANDOM),
    ),
    "connection string": (
        (
            "azure storage",
            "DefaultEndpointsProtocol=https;AccountName={w1};AccountKey=%S;EndpointSuffix=core.windows.net\n",
            ("{B86}==",),
        ),
        ("sql server", "Server=tcp:{w1},1433;Database={w1};User Id={w1};Password=%S;Encrypt=True\n", _RANDOM + _TYPED),
        ("appsettings", '"Default": "Server={w1};Uid={w1};Pwd=%S;"\n', _RANDOM),
        ("jdbc", "jdbc:mysql://{w1}:3306/{w1}?user={w1}&password=%S&useSSL=true\n", _RANDOM),
        ("libpq", 'psql "host={w1} user={w1} password=%S dbname={w1}"\n', _RANDOM),
        (
            "service bus",
            "Endpoint=sb://{w1}.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=%S\n",
            ("{B43}=",),
        ),
        ("sas", "https://{w1}.blob.core.windows.net/{w1}?sv=2022-11-02&sp=r&sig=%S\n", ("{A42}%3D", "{A40}%2F{A1}%3D")),
        (
            "s3 signed",
            "https://{w1}.s3.amazonaws.com/{w1}?X-Amz-Date=20260101T000000Z&X-Amz-Signature=%S\n",
            ("{h64}",),
        ),
        ("iot hub", "HostName={w1}.azure-devices.net;DeviceId={w1};SharedAccessKey=%S\n", ("{B43}=",)),
    ),
}
"""Kind → (context, template, forms of the secret)."""
