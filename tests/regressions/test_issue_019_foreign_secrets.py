"""Issue 19: a prompt in another language leaves no secret behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.agent import Agent
from tests.support.builders import PAYMENTS, new_shop

if TYPE_CHECKING:
    from pathlib import Path

# Made up, and put together from parts so that no scanner takes this file for a leak.
CHOSEN = "Kx9m" + "Q2vB"


@pytest.mark.parametrize(
    "prompt",
    [
        f"支払いの処理が失敗します。パスワードは{CHOSEN}です",
        f"支付处理失败，数据库密码是：{CHOSEN}，请检查",
        f"Обработка платежей не работает, пароль: {CHOSEN}",
        f"Le traitement des paiements échoue, mot de passe : {CHOSEN}",
    ],
    ids=["japanese", "chinese", "russian", "french"],
)
def test_no_file_and_no_output_of_ours_holds_the_secret_of_a_prompt(prompt: str, tmp_path: Path) -> None:
    """The prompt log, its English words, the memory and what the commands show are without it."""
    shop = new_shop(tmp_path, PAYMENTS)
    agent = Agent(shop)
    agent.prompt(prompt)
    agent.wait_for_service()
    agent.send("Stop", last_assistant_message=prompt)
    agent.stop_service()
    shown = b"".join(shop.run(*line.split()).stdout for line in ("log --json", "explain --json", "explain --last"))
    kept = {str(path) for path in shop.home.rglob("*") if path.is_file() and _holds(path.read_bytes())}

    assert b"[redacted:secret]" in shown
    assert (set(), False) == (kept, _holds(shown))


def _holds(data: bytes) -> bool:
    return CHOSEN.lower().encode() in data.lower()
