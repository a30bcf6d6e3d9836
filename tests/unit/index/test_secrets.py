"""No secret of a document reaches the index or what is shown, wherever chunk borders fall."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.chunking.chunker import chunk_document
from hybrid.chunking.languages import kind_of, language_of
from hybrid.index.analysis import analysed, decode_record, head_line, path_terms
from hybrid.knowledge.collections import SpanReader
from hybrid.types import ChunkLimits, Document
from tests.support.builders import PAYMENTS, hit, new_shop, write_files
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.analysis import ChunkRecord

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DRAW = random.Random(4096)
# As long as a key of 4096 bits: 49 lines of 64 characters and a shorter one. Put together, so that it is no leak.
KEY_LINES = ["".join(_DRAW.choices(_BASE64, k=64)) for _ in range(49)] + ["q0Zr7LmXw2Tn8Vb4Kc=="]
KEY = "\n".join(["-----BEGIN " + "PRIVATE KEY-----", *KEY_LINES, "-----END " + "PRIVATE KEY-----"])
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "Zx9" + "!kfpQ22mn"

DOCUMENTS = {
    "deploy.md": f"# Deploy notes\n\nThe key of the server:\n\n{KEY}\n\n## After it\n\nRestart the workers.\n",
    "deploy.yaml": "deploy:\n  key: |\n" + "".join(f"    {line}\n" for line in KEY.split("\n")) + "  port: 22\n",
    "deploy.py": f'"""Deploys."""\n\nKEY = """\n{KEY}\n"""\n\n\ndef deploy():\n    """Restart the workers."""\n',
    "quoted.py": "KEY = (\n" + "".join(f'    "{line}\\n"\n' for line in KEY.split("\n")) + ")\n\n\nPORT = 22\n",
    "deploy.ini": "[server]\nkey =\n" + KEY + "\nport = 22\n",
    "notes.txt": f"Key of the server\n{KEY}\nEnd.\n",
}


def _document(path: str, text: str) -> Document:
    language = language_of(path, text) or "text"
    return Document(path, kind_of(path, language), language, text, hashlib.sha256(text.encode()).digest())


def _records(path: str, text: str, max_chars: int = 1500) -> list[ChunkRecord]:
    document = _document(path, text)
    limits = ChunkLimits(max_chars, max_chars // 2, max_chars * 2 // 3)
    return analysed(document, chunk_document(document, limits).chunks)[0]


def _kept(path: str, record: ChunkRecord) -> str:
    """Everything that the index keeps of a record, in lower case as terms are."""
    return f"{record!r} {head_line(path, record.scope, record.definitions)} {path_terms(path)}".lower()


@pytest.mark.parametrize("path", DOCUMENTS)
@examples(12)
@given(max_chars=st.integers(150, 6000))
def test_no_line_of_a_key_is_kept_or_shown(tmp_path: Path, path: str, max_chars: int) -> None:
    """For every chunk size, the lines in the middle of a long private key are neither indexed nor given out."""
    write_files(tmp_path, {path: DOCUMENTS[path]})
    spans = SpanReader(tmp_path, max_file_bytes=10**6, is_redacting=True)
    records = _records(path, DOCUMENTS[path], max_chars)
    shown = [spans.text(hit(path=path, start_line=r.start_line, end_line=r.end_line, digest=r.digest)) for r in records]
    # Terms are pieces of lines: split where a key has no letters or digits.
    pieces = {piece for line in KEY_LINES for piece in line.lower().replace("+", "/").split("/") if len(piece) > 6}

    assert None not in shown
    assert [] == [line for line in KEY_LINES for text in shown if line in str(text)]
    assert [] == [piece for piece in sorted(pieces) for record in records if piece in _kept(path, record)]


def test_spans_can_be_given_out_as_they_are(tmp_path: Path) -> None:
    """Who switched redaction off sees the text and the path of the file."""
    path = f"{TOKEN}.md"
    write_files(tmp_path, {path: f"Token {TOKEN}\n"})
    (record,) = _records(path, f"Token {TOKEN}\n")
    found = hit(path=path, start_line=1, end_line=1, digest=record.digest)
    plain, redacting = (SpanReader(tmp_path, max_file_bytes=10**6, is_redacting=one) for one in (False, True))

    assert (f"Token {TOKEN}", path) == (plain.text(found), plain.shown(found).path)
    assert "Token [redacted:github_token]" == redacting.text(found)
    assert "[redacted:github_token].md" == redacting.shown(found).path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.toml", f"[{TOKEN}]\na = 1\n"),
        ("a.json", f'{{"{TOKEN}": 1, "x": {{"db_password": "{PASSWORD}"}}}}\n'),
        ("a.md", f"# Token {TOKEN}\n\nText.\n\n## Below\n\nMore.\n"),
        ("a.js", f'const tokens = {{ "{TOKEN}": "deploy" }};\nfunction f() {{}}\n'),
        ("a.yaml", f"tokens:\n  {TOKEN}:\n    use: deploy\n"),
        ("a.py", f'def f(a, token="{"x" * 150}", other="{TOKEN}"):\n    return a\n'),
        (f"{TOKEN}/{TOKEN}.py", "def f():\n    return 1\n"),
    ],
    ids=["toml key", "json key", "heading", "js key", "yaml key", "signature cut in a token", "path"],
)
@pytest.mark.parametrize("max_chars", [60, 1500])
def test_names_hold_no_secret(path: str, text: str, max_chars: int) -> None:
    """A secret is no name, scope or signature, and no term of a path."""
    kept = [_kept(path, record) for record in _records(path, text, max_chars)]

    assert kept
    assert [] == [part for part in kept if TOKEN[:20].lower() in part or PASSWORD.lower() in part]


def test_names_that_chunks_share_with_secrets_stay() -> None:
    """Names in a document with secrets stay what they are when they hold none."""
    records = _records(
        "a.py", f'API_TOKEN = "{TOKEN}"\n\n\ndef rotate_the_deploy_token(robot_account):\n    return 1\n'
    )
    names = [definition.name for record in records for definition in record.definitions]

    assert ["API_TOKEN", "rotate_the_deploy_token"] == names
    assert 'API_TOKEN = "[redacted:github_token]"' == records[0].definitions[0].signature


PLANTED = {
    **DOCUMENTS,
    "config.toml": f"[{TOKEN}]\na = 1\n\n[deploy]\ndb_password = '{PASSWORD}'\n",
    "src/payments/deploy.py": (
        f'"""Deploys."""\n\nTOKEN = "{TOKEN}"\n\n\ndef deploy(db_password="{PASSWORD}"):\n'
        f'    """Deploy with postgres://robot:{PASSWORD}@db.internal/shop as the robot."""\n    return TOKEN\n'
    ),
}


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    """After a build, prompts and a search, no file of ours holds a secret: catalog, segments, log, counters."""
    shop = new_shop(tmp_path, PAYMENTS | PLANTED)
    for number, prompt in enumerate(("Which key deploys to the server?", "Where is the deploy db_password?")):
        shop.hook(prompt, session=f"s{number}", HYBRID_HOOKS_GATE_THRESHOLD="-1", HYBRID_LOG_HOT_TOPICS_EVERY="1")
    shown = shop.out("search", "--verbose", "--limit", "40", "deploy key token db_password server")
    secrets = [*KEY_LINES, TOKEN, PASSWORD]
    files = [path for path in shop.home.rglob("*") if path.is_file()]
    names = {path.name for path in files}

    assert {"catalog.db", "events.jsonl", "manifest.json"} <= names
    assert "injected" in shop.reasons()
    assert [] == [secret for secret in secrets if secret in shown]
    assert [] == [
        (path.name, secret)
        for path in [*files, *(shop.root / ".hybrid").rglob("*.*")]
        for secret in secrets
        if secret.lower().encode() in path.read_bytes().lower()
    ]
    assert [] == [secret for secret in secrets if secret.lower() in _catalog_text(shop.home)]


def _catalog_text(home: Path) -> str:
    """What the compressed records of the catalog hold."""
    (path,) = home.glob("projects/*/catalog.db")
    database = sqlite3.connect(path)
    rows = database.execute(
        "SELECT start_line, end_line, digest, name, kind, signature, scope, detail FROM chunks"
    ).fetchall()
    database.close()
    assert rows
    return "\n".join(
        f"{decode_record(row)!r} {zlib.decompress(row[-1])!r} {json.dumps(row[3])}" for row in rows
    ).lower()


def test_a_secret_in_a_path_is_not_shown_or_noted(tmp_path: Path) -> None:
    """A file whose name is a token is found, and its name is masked in the frame, the search, the log and counters."""
    path = f"tokens/{TOKEN}.md"
    shop = new_shop(tmp_path, {path: "# Robot\n\nThe deploy robot restarts the workers at night.\n"})
    shown = shop.hook(
        "When does the deploy robot restart the workers?",
        HYBRID_HOOKS_GATE_THRESHOLD="-1",
        HYBRID_LOG_HOT_TOPICS_EVERY="1",
    )
    notes = [
        path for path in tmp_path.rglob("*") if path.suffix in (".jsonl", ".json", ".md") and TOKEN not in path.name
    ]

    assert "tokens/[redacted:github_token].md:1-3" in shown
    assert TOKEN not in shown + shop.out("search", "--explain", "deploy robot")
    assert TOKEN not in shop.out("search", "--json", "--explain", "deploy robot")
    assert {"events.jsonl", "hook_state.json", "hot-topics.md"} <= {note.name for note in notes}
    assert [] == [note.name for note in notes if TOKEN.encode() in note.read_bytes()]
