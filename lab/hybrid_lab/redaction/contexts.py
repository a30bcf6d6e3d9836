"""Places of made-up secrets in the input and output of coding agents' tools; `hybrid eval redaction` fills them in.

In a template `%S` is the secret, `%N` its name in CONSTANT_CASE, `%n` in snake_case, `%k` in kebab-case, `%c` in
camelCase; fields in braces are those of `redaction_forms.Writer`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NAMED_CONTEXTS = (
    ("environment", "SHELL=/bin/bash\nPWD=/home/{w1}/src/{k2}\n%N=%S\nLOGNAME={w1}\nTERM=xterm-256color\n"),
    (".env", "# settings of {w1}\nDEBUG=false\n%N=%S\nPORT=8080\n"),
    (".env quoted", 'APP_ENV=production\n%N="%S"\nAPP_NAME="{w2}"\n'),
    ("shell export", "export %N=%S\nmake deploy\n"),
    ("shell export quoted", "export %N='%S' && ./bin/{k2} --check\n"),
    ("shell prefix", "%N=%S npm run {w1}\n"),
    ("docker run -e", "docker run --rm -d -e %N=%S -p 8080:8080 {w1}/{k2}:1.4\n"),
    ("docker run -e quoted", 'docker run -e "%N=%S" {w1}:latest\n'),
    ("compose list", "services:\n  {w1}:\n    environment:\n      - LOG_LEVEL=info\n      - %N=%S\n"),
    ("compose map", "services:\n  {w1}:\n    environment:\n      LOG_LEVEL: info\n      %N: %S\n"),
    ("yaml", "{w1}:\n  host: {w1}.internal\n  %n: %S\n  timeout: 30\n"),
    ("yaml quoted", '{w1}:\n  %n: "%S"\n'),
    ("json", '{\n  "host": "{w1}.internal",\n  "%n": "%S",\n  "retries": 3\n}\n'),
    ("json, one line", '{"name":"{k2}","%c":"%S","enabled":true}\n'),
    ("toml", '[{w1}]\n%n = "%S"\nregion = "eu-west-1"\n'),
    ("ini", "[{w1}]\n%n = %S\nregion = eu-west-1\n"),
    ("java properties", "spring.{w1}.url=jdbc:h2:mem\nspring.{w1}.%n=%S\n"),
    ("python", 'import os\n\n%N = "%S"\n\ndef main():\n    {s2}(%N)\n'),
    ("python argument", "client = {c2}(url, %n='%S', timeout=10)\n"),
    ("python dict", "{'user': '{w1}', '%n': '%S', 'retries': 3}\n"),
    ("python annotated", 'class Settings:\n    %n: str = "%S"\n'),
    ("javascript", "const %c = '%S';\nmodule.exports = { {c2}, {w1} };\n"),
    ("javascript object", "export default {\n  %c: '%S',\n  region: `eu`,\n};\n"),
    ("typescript", 'private readonly %c: string = "%S";\n'),
    ("go", 'package main\n\nconst %c = "%S"\n\nfunc main() {}\n'),
    ("go struct", 'cfg := {c2}{\n\t%c: "%S",\n\tTimeout: 3,\n}\n'),
    ("java", 'private static final String %N = "%S";\n'),
    ("rust", 'pub const %N: &str = "%S";\n'),
    ("ruby", "  config.%n = '%S'\n"),
    ("php", "    '%n' => '%S',\n"),
    ("c#", 'var %c = "%S";\n'),
    ("terraform", '  {w1} = "eu"\n  %n = "%S"\n'),
    (
        "kubernetes env",
        "        env:\n        - name: %N\n          value: %S\n        - name: LOG\n          value: info\n",
    ),
    ("kubernetes env quoted", '        - name: %N\n          value: "%S"\n'),
    ("ecs json", '{"name": "%N", "value": "%S"}\n'),
    ("xml element", "<{w1}>\n  <%c>%S</%c>\n</{w1}>\n"),
    ("app.config", '<appSettings>\n  <add key="%N" value="%S" />\n</appSettings>\n'),
    ("query", "GET https://api.{w1}.io/v2/{w1}?%n=%S&limit=10 200 OK\n"),
    ("command option", "$ {k2} deploy --%k %S --region eu\n"),
    ("command option =", "$ {k2} deploy --%k=%S --region eu\n"),
    ("log", "2026-03-04 10:11:12 DEBUG {p2}: connecting with %n=%S to {w1}:5432\n"),
    (
        "exception",
        (
            'Traceback (most recent call last):\n  File "{s2}.py", line 41, in '
            "main\n    raise ValueError(f\"rejected\")\nValueError: rejected %n='%S'\n"
        ),
    ),
    ("repr", "Settings(host='{w1}', %n='%S', debug=True)\n"),
    ("powershell", '$env:%N = "%S"\n'),
    ("dockerfile", "FROM python:3.12\nENV %N=%S\nRUN make\n"),
    ("github set-secret", "gh secret set %N --body '%S'\n"),
    ("markdown", "Set `%N=%S` before the first start.\n"),
    ("make", "%N := %S\nall: {w1}\n"),
    ("systemd", '[Service]\nEnvironment="%N=%S"\nExecStart=/usr/bin/{w1}\n'),
    ("debug print", "DEBUG %N => '%S'\n"),
)
"""Contexts that name the secret."""

BARE_CONTEXTS = (
    ("bare line", "%S\n"),
    ("bearer", "curl -sS -H 'Authorization: Bearer %S' https://api.{w1}.io/v1/{w1}\n"),
    ("header", 'curl -H "X-{w1}: %S" https://{w1}.example.com\n'),
    ("prose", "I used %S for the {w1}, and it worked.\n"),
    ("backticks", "Use `%S` while the {w1} is down.\n"),
    ("argument", '{s2}.connect("%S")\n'),
    ("array", '["{w1}", "%S", "{w1}"]\n'),
    ("message", "fatal: could not use '%S': 401 Unauthorized\n"),
    ("login", "echo %S | docker login ghcr.io -u {w1} --password-stdin\n"),
    ("comparison", 'if value == "%S" {\n'),
    (
        "commit diff",
        "diff --git a/{s2}.py b/{s2}.py\n@@ -1,3 +1,3 @@\n-    return call('%S')\n+    return call(settings)\n",
    ),
    ("table", "| {w1} | %S | 2026-01-02 |\n"),
)
"""Contexts that say nothing of a secret."""

URL_CONTEXTS = (
    (
        "git remote -v",
        (
            "origin\thttps://{w1}:%S@github.com/{w1}/{k2}.git (fetch)\n"
            "origin\thttps://{w1}:%S@github.com/{w1}/{k2}.git (push)\n"
        ),
    ),
    ("git clone", "git clone https://oauth2:%S@gitlab.com/{w1}/{k2}.git\n"),
    ("git config", '[remote "origin"]\n\turl = https://x-access-token:%S@github.com/{w1}/{k2}\n'),
    ("pip index", "--extra-index-url https://{w1}:%S@pypi.{w1}.io/simple\n"),
    ("user alone", "https://%S@github.com/{w1}/{k2}.git\n"),
)
"""Addresses that carry a token."""


# --- around a sample ---------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return text


def _in_bulk(text: str) -> str:
    above = "".join(f"  ok {n} - handles case {n} (12 ms)\n" for n in range(40))
    below = "".join(f"src/module_{n}.py:{n}: note: checked\n" for n in range(40))
    return above + text + below


def _numbered(text: str) -> str:
    return "".join(f"{n:6}→{line}" for n, line in enumerate(text.splitlines(keepends=True), 38))


def _tab_numbered(text: str) -> str:
    return "".join(f"{n:6}\t{line}" for n, line in enumerate(text.splitlines(keepends=True), 1))


def _json_output(text: str) -> str:
    return json.dumps({"stdout": text, "stderr": "", "interrupted": False})


def _json_twice(text: str) -> str:
    return json.dumps({"toolArgs": json.dumps({"content": text})})


def _diff(text: str) -> str:
    return "@@ -0,0 +1,9 @@\n" + "".join(f"+{line}" for line in text.splitlines(keepends=True))


def _indented(text: str) -> str:
    return "".join(f"        {line}" for line in text.splitlines(keepends=True))


def _crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def _grepped(text: str) -> str:
    return "".join(f"config/settings/base.txt:{n}:{line}" for n, line in enumerate(text.splitlines(keepends=True), 7))


WRAPPERS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("plain", _plain),
    ("within other output", _in_bulk),
    ("numbered lines", _numbered),
    ("numbered by cat -n", _tab_numbered),
    ("in JSON", _json_output),
    ("in JSON twice", _json_twice),
    ("added in a diff", _diff),
    ("indented", _indented),
    ("CRLF", _crlf),
    ("found by grep", _grepped),
)
"""How tools hand text on."""
