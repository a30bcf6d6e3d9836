"""Secrets that look like words reach no file, output or context of ours; which texts hold one, `tests/cases` tells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.agent import Agent
from tests.support.builders import PAYMENTS, new_shop, write_files

if TYPE_CHECKING:
    from pathlib import Path

# Made up, and put together from parts so that no scanner takes this file for a leak.
WEAK = "tiger7" + "kiwi99"
OTHER = "silver22" + "spoon"
KEY = "0a1b2c3d4e5f6071" + "8293a4b5c6d7e8f9"
FILES = {
    "config/database.yml": f"production:\n  adapter: postgresql\n  user: shop\n  password: {WEAK}\n  pool: 5\n",
    "config/master.key": f"{KEY}\n",
    "config/users.yml": f"users:\n  names:\n    - ada\n  passwords:\n    - {OTHER}\n    - {WEAK}\n",
    "shop/settings.py": f'"""Settings of the shop."""\n\nDB = {{"password": os.getenv("X", "{WEAK}")}}\n',
}


def _with_secrets(folder: Path) -> set[str]:
    """Return the files below a folder that hold a secret, in whatever case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path)
        for path in files
        if any(one.lower().encode() in path.read_bytes().lower() for one in (WEAK, OTHER, KEY))
    }


def test_a_secret_of_a_file_is_not_indexed_injected_or_printed(tmp_path: Path) -> None:
    """A weak password, the default of a reference, an item of a list, a file that is one key (#16)."""
    shop = new_shop(tmp_path, PAYMENTS | FILES)
    prompt = f"Which adapter does config/database.yml use in production? The password is {WEAK}."
    injected = shop.hook(prompt, HYBRID_HOOKS_GATE_THRESHOLD="-1")
    words = "database production adapter password pool secret master key settings of the shop users names"
    shown = shop.out("search", "--verbose", "--limit", "40", words)

    assert "adapter: postgresql" in injected + shown
    assert "os.getenv" in shown
    assert [] == [secret for secret in (WEAK, OTHER, KEY) if secret in injected + shown]
    assert set() == _with_secrets(shop.home)


PROMPTS = (
    f"Run `curl -u admin:{WEAK} https://h.io/v1` and tell why the payments answer with 401; branch fix/password={WEAK}",
    f"支払いの処理が失敗します。パスワードは{WEAK}です",
    f"Le traitement des paiements échoue, mot de passe : {WEAK}",
)


def test_no_file_of_ours_holds_a_secret_of_a_prompt_or_of_what_a_tool_did(tmp_path: Path) -> None:
    """Memory, its log, the list of words, the event log and the spool are without it, once the service has ended."""
    shop = new_shop(tmp_path, PAYMENTS)
    agent = Agent(shop)
    for prompt in PROMPTS:
        agent.prompt(prompt)
    agent.wait_for_service()
    agent.send(
        "PostToolUse",
        tool_name="Bash",
        tool_use_id="toolu_1",
        tool_input={"command": f"curl -u admin:{WEAK} https://h.io/v1", "description": "Ask for the payments"},
        tool_response={"stdout": f"DB_PASSWORD={WEAK}\nHOME=/root\n", "stderr": "", "interrupted": False},
    )
    agent.send(
        "PostToolUse",
        tool_name="Read",
        tool_use_id="toolu_2",
        tool_input={"file_path": str(shop.root / f"password={WEAK}" / "database.yml")},
        tool_response={"type": "text", "file": {"content": FILES["config/database.yml"]}},
    )
    agent.send("Stop", last_assistant_message=f"The password is {WEAK}, it is wrong. {' '.join(PROMPTS)}")
    agent.stop_service()
    lines = ("status", "doctor", "log", "log --json", "explain", "explain --json", "explain --last", "lessons")
    shown = "".join(shop.run(*line.split()).stdout.decode() for line in lines)

    assert "[redacted:" in shown
    assert WEAK not in shown
    assert set() == _with_secrets(shop.home)


def test_every_replacement_in_a_repository_is_listed_in_its_line(tmp_path: Path) -> None:
    """`hybrid eval redaction REPO --explain` shows what to judge, and no more of a secret than its beginning."""
    shop = new_shop(tmp_path, is_indexed=False)
    repository = write_files(tmp_path / "repo", {"app.yml": f"a: 1\npassword: {WEAK}\n"})
    command = ("eval", "redaction", "--samples", "1", "--explain", str(repository))
    shown = shop.out(*command)
    (found,) = shop.json(*command)["repositories"]

    assert "app.yml:2  secret, 12 characters  password: [tig…]" in shown
    assert (2, 500.0) == (found["lines"], found["per_1000_lines"])
    assert WEAK not in shown


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
    lines[3:8] = [line.replace("Keep step", f"db_password: {WEAK} for step") for line in lines[3:8]]
    file.write_text("".join(f"{line}\n" for line in lines))
    printed = shop.out("doctor", "--no-trial", code=0)

    assert "has a secret" not in plain
    assert 1 == printed.count("has a secret")
    assert f"{file} has a secret in 5 lines (4, 5, 6 and 2 more), which is never shown" in printed
