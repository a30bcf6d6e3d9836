"""Issue 16: secrets that look like names are found: in files, prompts and what tools did."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from hybrid.redact import mask, redact
from tests.support.agent import Agent
from tests.support.builders import PAYMENTS, new_shop

if TYPE_CHECKING:
    from pathlib import Path

# Made up, and put together from parts so that no scanner takes this file for a leak.
WEAK = "tiger7" + "kiwi99"
KEY = "0a1b2c3d4e5f6071" + "8293a4b5c6d7e8f9"
FILES = {
    "config/database.yml": f"production:\n  adapter: postgresql\n  user: shop\n  password: {WEAK}\n  pool: 5\n",
    "config/app.yml": f"secret: {WEAK}\ndb_password: {WEAK}\n",
    "config/master.key": f"{KEY}\n",
}


def test_a_weak_password_of_a_file_is_not_indexed_injected_or_printed(tmp_path: Path) -> None:
    """Neither a search nor a prompt nor a file of ours shows what stands after `password:`."""
    shop = new_shop(tmp_path, PAYMENTS | FILES)
    prompt = f"Which adapter does config/database.yml use in production? The password is {WEAK}."
    injected = shop.hook(prompt, HYBRID_HOOKS_GATE_THRESHOLD="-1")
    shown = shop.out(
        "search", "--verbose", "--limit", "40", "database production adapter password pool secret master key"
    )
    kept = b"".join(path.read_bytes() for path in shop.home.rglob("*") if path.is_file())

    assert "adapter: postgresql" in injected + shown
    assert [] == [secret for secret in (WEAK, KEY) if secret in injected + shown or secret.encode() in kept]


def test_redaction_of_the_issue() -> None:
    """Every line that the issue names is masked; references, types, placeholders and calls beside them stay."""
    secrets = [
        f"password: {WEAK}",
        f"passwd: {WEAK.title()}",
        "user: admin pass: Xk29" + "fjqpw8",
        f"curl -u admin:{WEAK} https://h.io",
        f"the staging password: {WEAK}",
        f"mongosh -u bob -p '{WEAK}'",
    ]
    innocent = [
        "password: ${DB_PASSWORD}",
        "password = settings.password",
        "password: str",
        "password = get_password()",
    ]

    assert [True] * len(secrets) == ["[redacted:" in redact(text) for text in secrets]
    assert innocent == [redact(text) for text in innocent]


def test_a_document_that_is_one_key_is_masked_and_one_that_is_a_digest_stays() -> None:
    """`config/master.key` holds nothing but its key; a file may hold nothing but a commit id too."""
    assert "[redacted:secret]\n" == mask(f"{KEY}\n")
    assert "4b825dc642cb6eb9a060e54bf8d69288fbee4904\n" == mask("4b825dc642cb6eb9a060e54bf8d69288fbee4904\n")


def test_every_replacement_in_a_repository_is_listed_in_its_line(tmp_path: Path) -> None:
    """`hybrid eval redaction REPO --explain` shows what to judge, and no more of a secret than its beginning."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "app.yml").write_text(f"a: 1\npassword: {WEAK}\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "hybrid",
        "eval",
        "redaction",
        "--samples",
        "1",
        "--explain",
        str(tmp_path / "repo"),
    ]
    shown = subprocess.run([*command], capture_output=True, text=True, check=True).stdout
    form = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)

    assert "app.yml:2  secret, 12 characters  password: [tig…]" in shown
    assert (2, 500.0) == (form["repositories"][0]["lines"], form["repositories"][0]["per_1000_lines"])
    assert WEAK not in shown


def test_no_file_of_ours_holds_a_secret_of_a_prompt_or_of_what_a_tool_did(tmp_path: Path) -> None:
    """Memory, its log, the list of words, the event log and the spool are without it, once the service has ended."""
    shop = new_shop(tmp_path, PAYMENTS)
    agent = Agent(shop)
    command = f"curl -u admin:{WEAK} https://api.example.org/v1/payments"
    agent.prompt(f"Run `{command}` and tell why the payments answer with 401; branch fix/password={WEAK}")
    agent.wait_for_service()
    agent.send(
        "PostToolUse",
        tool_name="Bash",
        tool_use_id="toolu_1",
        tool_input={"command": command, "description": "Ask for the payments"},
        tool_response={"stdout": f"DB_PASSWORD={WEAK}\nHOME=/root\n", "stderr": "", "interrupted": False},
    )
    agent.send(
        "PostToolUse",
        tool_name="Read",
        tool_use_id="toolu_2",
        tool_input={"file_path": str(shop.root / f"password={WEAK}" / "database.yml")},
        tool_response={"type": "text", "file": {"content": f"production:\n  user: shop\n  password: {WEAK}\n"}},
    )
    agent.send("Stop", last_assistant_message=f"The password is {WEAK}, it is wrong.")
    agent.stop_service()
    shown = b"".join(shop.run(*line.split()).stdout for line in ("status", "doctor", "log", "explain", "lessons"))
    kept = {str(path) for path in shop.home.rglob("*") if path.is_file() and WEAK.encode() in path.read_bytes()}

    assert (set(), False) == (kept, WEAK.encode() in shown)
