"""Texts of coding agents' tools that hold no secret and must stay whole; `hybrid eval redaction` counts false alarms.

The fields in braces are those of `redaction_forms.Writer`.
"""

from __future__ import annotations

NEGATIVES: dict[str, tuple[str, ...]] = {
    "git commit": (
        "commit {h40}\nAuthor: {w1} <{w1}@example.com>\nDate:   Mon Mar 2 10:11:12 2026 +0100\n\n    {w3}\n",
        "{h7} {w1}: {w3}\n{h7} {w1}: {w2}\n",
        "HEAD is now at {h8} {w3}\n[main {h7}] {w3}\n",
        "index {h7}..{h7} 100644\nindex {h40}..{h40} 100644\n",
        "uses: actions/checkout@{h40} # v4.1.1\n",
        "GIT_COMMIT={h40}\nrevision: {h40}\n",
        "tree {h40}\nparent {h40}\n100644 blob {h40}\t{w1}.py\n",
    ),
    "uuid": (
        '{"id": "{g1}", "user_id": "{g1}"}\n',
        "request_id={g1} trace={h32} span={h16}\n",
        "INSERT INTO {w1} VALUES ('{g1}', '{w1}');\n",
        "traceparent: 00-{h32}-{h16}-01\nX-Request-Id: {g1}\n",
        "[{g1}] {w1} started\n",
    ),
    "lock file": (
        (
            '"node_modules/{k2}": {\n  "version": "1.2.3",\n  "resolved": '
            '"https://registry.npmjs.org/{k2}/-/{k2}-1.2.3.tgz",\n  "integrity": "sha512-{B86}=="\n}\n'
        ),
        (
            '{k2}@^1.2.0:\n  version "1.2.3"\n  resolved "https://registry.yarnpkg.com/{k2}'
            '/-/{k2}-1.2.3.tgz#{h40}"\n  integrity sha512-{B86}==\n'
        ),
        (
            '[[package]]\nname = "{k2}"\nversion = "1.0.1"\nsource = '
            '"registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "{h64}"\n'
        ),
        '{file = "{s2}-1.0-py3-none-any.whl", hash = "sha256:{h64}"},\n',
        "github.com/{w1}/{k2} v1.2.3 h1:{B43}=\ngithub.com/{w1}/{k2} v1.2.3/go.mod h1:{B43}=\n",
        "{k2}==1.2.3 \\\n    --hash=sha256:{h64} \\\n    --hash=sha256:{h64}\n",
        'content-hash = "{h64}"\nrequire github.com/{w1}/{w1} v0.0.0-20240102030405-{h12}\n',
    ),
    "digest": (
        "FROM python:3.12@sha256:{h64}\n",
        "{h64}  {k2}-1.0.tar.gz\n{h32}  {w1}.zip\n",
        'ETag: "{h32}"\nContent-MD5: {B22}==\n',
        'assert digest == "{h64}"\nexpected_sha256 = "{h64}"\n',
        '<script src="/{w1}.js" integrity="sha384-{B64}" crossorigin="anonymous"></script>\n',
        "/nix/store/{a32}-{k2}-1.2/bin/{w1}\n",
        "main.{h8}.js 120 kB\nchunk-{h20}.css 8 kB\nassets/{w1}-{b8}.js\n",
    ),
    "image": (
        "background: url(data:image/png;base64,iVBORw0KGgo{B400}=);\n",
        "![{w1}](data:image/jpeg;base64,/9j/4AAQ{B600}==)\n",
        '"image/png": "iVBORw0KGgoAAAANSUhEUgAA{B500}\\n",\n',
        "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjoz{B300}==\n",
        "src: url(data:font/woff2;charset=utf-8;base64,d09GMgABAAA{B600})\n",
    ),
    "placeholder": (
        "API_KEY=YOUR_API_KEY\nSECRET_KEY=your-secret-key-here\nTOKEN=<your token>\n",
        'api_key = "xxxxxxxxxxxxxxxxxxxxxxxx"\ntoken: "****************"\n',
        "OPENAI_API_KEY=sk-...\nGITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        "PASSWORD=changeme\nDB_PASSWORD=\npassword: null\nSECRET=''\n",
        "export ANTHROPIC_API_KEY=your_api_key_here\nexport HF_TOKEN=hf_...\n",
        'headers = {"Authorization": "Bearer <token>"}\ncurl -H "Authorization: Bearer YOUR_TOKEN_HERE"\n',
        "AWS_SECRET_ACCESS_KEY=[redacted:aws_secret]\ntoken: REPLACE_ME_WITH_TOKEN\n",
        "postgres://USER:PASSWORD@HOST:5432/DB\nhttps://user:<password>@example.com\n",
        "client_secret: INSERT_CLIENT_SECRET\napiKey: 'TODO: add key'\npassword: ${PASSWORD:-}\n",
    ),
    "reference": (
        'token = os.environ["{C2}_TOKEN"]\npassword = os.getenv("DB_PASSWORD", "")\n',
        "const apiKey = process.env.{C2}_API_KEY;\nconst token = req.headers.authorization;\n",
        "TOKEN: ${{ secrets.GITHUB_TOKEN }}\npassword: {{ vault_db_password }}\n",
        'password := os.Getenv("{C1}_PASSWORD")\nsecret := viper.GetString("{w1}.secret")\n',
        'String token = System.getenv("{C1}_TOKEN");\nString password = config.getPassword();\n',
        'curl -H "Authorization: Bearer $TOKEN" https://{w1}.io\ncurl -u "$USER:$PASSWORD" https://{w1}.io\n',
        "DATABASE_URL=postgres://${DB_USER}:${DB_PASSWORD}@db:5432/{w1}\nredis://:$REDIS_PASSWORD@cache:6379\n",
        (
            "password = var.db_password\nsecret_arn = aws_secretsmanager_secret.{s2}"
            ".arn\ntoken = data.vault_generic_secret.{w1}.data\n"
        ),
        "valueFrom:\n  secretKeyRef:\n    name: {k2}-credentials\n    key: {w1}-password\n",
        "api_key=settings.{C2}_API_KEY, secret=self._{s2}_secret, token=get_{s2}_token(request)\n",
        "apiKey: config.get('{p2}.apiKey'),\ntoken: await this.authService.{c3}(user),\n",
        "password=getpass.getpass(), token=response.json()['access_token']\n",
        'ENV["SECRET_KEY_BASE"]\nRails.application.credentials.{s2}\n',
        "-e GITHUB_TOKEN -e API_KEY=$API_KEY --env-file .env\npassword_file: /run/secrets/{s2}\n",
        (
            'secret = "projects/{k2}/secrets/{k2}/versions/latest"\ntoken_path '
            '= "/var/run/secrets/kubernetes.io/serviceaccount/token"\n'
        ),
    ),
    "test name": (
        "tests/test_auth.py::test_{s2}_token_refresh_returns_new_token PASSED [ 12%]\n",
        "PASSED tests/unit/test_password_{s2}.py::TestPassword{c2}::test_secret_is_hidden\n",
        "FAILED {s2}/test_api_key.py::test_{s3} - AssertionError: token {w1}\n",
        "--- PASS: TestPasswordReset_{c3} (0.00s)\nok  \tgithub.com/{w1}/{k2}/secrets\t0.012s\n",
        "  ✓ returns token when password is {w1} (3 ms)\n  ✓ secret key: rejects {w2} (1 ms)\n",
        "test secrets::tests::{s3}_token ... ok\ntest password::hash_{s4} ... FAILED\n",
    ),
    "identifier": (
        'password_reset_token_expiry_seconds = 3600\nmax_tokens = 4096\n"total_tokens": 182736,\n',
        "primary_key = {s2}_id\nforeign_key: {s3}\nsort_key = 'created_at_{s2}'\ncache_key = \"{w1}:{w1}:v2\"\n",
        "token_type: Bearer\ntokenizer = '{k3}'\nkey_bindings: {k2}\n",
        "const {c3} = new {c4}PasswordTokenProvider({c2});\nimport {c4} from '@{w1}/{k2}-token-provider';\n",
        "event.key === 'ArrowLeft'\n<li key={item.{c2}}>\nkey=lambda row: row.{s2}\n",
        "public String getPassword{c2}() { return this.password{c2}; }\n",
        "keyword_arguments_token = TokenKind.{C3}\nTOKEN_{C3} = auto()\n",
        '"key": "{p4}.settings.{c2}",\n"tokenName": "{c3}{c2}",\n',
        "secretName: {k3}-tls\npasswordPolicy: {k2}\nauth_method: {s2}_oauth2\n",
        'token = self.{s2}_next_token_or_none\nkey = "{c2}{c3}{c2}"\n',
        "auth_token_url = https://{w1}.example.com/oauth2/token\napi_key_header: X-{w1}-Api-Key\n",
    ),
    "java package": (
        "import com.{p3}.security.token.{c3}TokenAuthenticationFilter;\n",
        "\tat org.springframework.{p3}.PasswordEncoder{c2}.matches({c2}.java:41)\n",
        "com.{p4}.{c3}Configuration$SecretKey{c2}$$Lambda${d3}/0x{h16}.run(Unknown Source)\n",
        "Caused by: java.lang.IllegalStateException: token.{p3}.{c4} is missing\n",
    ),
    "minified": (
        (
            '!function(e,t){"use strict";var n=t.token,r=e.password||"{w1}";function '
            'o(e){return e&&e.key?e.key:"{h8}"}o.secret=function(){return r}}(this,{w:{i3}});\n'
        ),
        'e.exports={apiKey:n(41).default,token:t.getToken(),secret:void 0,password:"",{c2}:"{w1}"};\n',
        'const a=b.map((k)=>({key:k.id,token:k.token,hash:`${k.hash}`})),{c2}="{c3}{c2}".split("");\n',
        ".{l3}{h6}{color:#{h6};background:#{h6}}.token.keyword{color:#{h6}}.token.{w1}{color:#{h3}}\n",
    ),
    "public key": (
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB{B360} {w1}@{w1}\n",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} {w1}@{w1}\n",
        "-----BEGIN PUBLIC KEY-----\n{B64}\n{B64}\n{B40}==\n-----END PUBLIC KEY-----\n",
        "SHA256:{B43} {w1}@{w1} (ED25519)\n",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{B64}\n{B64}\n={B4}\n-----END PGP PUBLIC KEY BLOCK-----\n",
        'PublicKey = {B43}=\npublic_key: "age1{a58}"\n',
    ),
    "certificate": (
        "-----BEGIN CERTIFICATE-----\n{B64}\n{B64}\n{B64}\n{B30}==\n-----END CERTIFICATE-----\n",
        "    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{B400}=\n",
        "serial=0{H38}\nSHA256 Fingerprint={H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}\n",
        "-----BEGIN CERTIFICATE REQUEST-----\n{B64}\n{B64}\n-----END CERTIFICATE REQUEST-----\n",
    ),
    "declaration": (
        "password: str | None = None\ntoken: Optional[str] = Field(default=None)\napi_key: SecretStr\n",
        "interface {c2} { token: string; password?: string; apiKey: string | undefined }\n",
        "ALTER TABLE {s2} ADD COLUMN password_hash VARCHAR(255);\ntoken CHAR(64) NOT NULL,\n",
        "func New(token string, secret []byte) (*{c2}, error) {\n",
        "password: { type: String, required: true, minlength: 8 },\n",
        'parser.add_argument("--token", default=None, help="token of the {w1}")\n',
        'Password string `json:"password" validate:"required,min=8"`\n',
        '<input type="password" name="password" placeholder="Enter your password" autocomplete="current-password">\n',
    ),
    "prose": (
        "The secret key is stored in the vault; the token expires after 30 minutes.\n",
        'error: invalid password for user "{w1}"\nWARN token expired, refreshing {w1}\n',
        "password: must be at least 12 characters\nsecret: not found in namespace {w1}\n",
        "Password: Enter the password of {w1}\nToken: see https://{w1}.example.com/docs/tokens\n",
        "Usage: {k2} [--token TOKEN] [--password-file PATH] [--api-key KEY]\n",
        "- **API key**: created in the dashboard under Settings → {w1}\n- **Token**: short-lived, see {w1}\n",
        "password=correct-format-required, secret=missing-required-value\n",
        "key: value pairs are sorted; pass: the {w1}; secret: santa\n",
        "remote: Invalid username or token. Password authentication is not supported for Git operations.\n",
    ),
    "tool output": (
        (
            "src/auth/{s2}.py:41:    token = self._get_token(request)\n"
            "src/{s2}.py:7:def check_password(password, encoded):\n"
        ),
        "-rw-r--r-- 1 {w1} {w1} 1679 Mar  2 10:11 private_key.pem\n-rw------- 1 {w1} {w1}  411 Mar  2 10:11 .npmrc\n",
        (
            "pod/{k2}-{h10}-{a5}   1/1   Running   0   3d\nsecret/{k2}"
            "-token-{a5}   kubernetes.io/service-account-token   3\n"
        ),
        "{d8} {d8} {d8} {d8}  |{a16}|\n0000{h4}: {h4} {h4} {h4} {h4} {h4} {h4} {h4} {h4}  ................\n",
        "arn:aws:secretsmanager:eu-west-1:{d12}:secret:{k2}-{A6}\narn:aws:iam::{d12}:role/{k2}\n",
        "$ ssh -i ~/.ssh/id_ed25519 {w1}@{w1}.example.com\nprivate_key_path = /etc/ssl/private/{w1}.key\n",
        "git@github.com:{w1}/{k2}.git (fetch)\nhttps://github.com/{w1}/{k2}.git (push)\nssh://git@host:22/{w1}.git\n",
        "https://{w1}.example.com:8443/path@{w1}?key={w1}&page=2\nhttp://localhost:3000/@{w1}/{k2}\n",
        "cargo test token::{s3} -- --nocapture\npytest -k 'password and not {w1}' -p no:cacheprovider\n",
        (
            "docker run -p 8080:80 -u 1000:1000 {w1}/{k2}:1.2.3\n"
            "mkdir -p src/{s2} && tar -xpf {w1}.tar\nps -u {w1} -o pid\n"
        ),
        "cookie: consent=yes; theme=dark; lang=en\nSet-Cookie: locale=en_GB; Path=/\n",
        '{"file": "{s2}.py", "key": "{s3}", "pass": true, "passed": 112, "tokens": {"input": 1203, "output": 88}}\n',
    ),
}
"""Kind → templates."""
