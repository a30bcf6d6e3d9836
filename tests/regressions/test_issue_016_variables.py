"""Variables that look like settings and are none are named by the commands that show settings (#16)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.config import KEYS, unknown_variables
from tests.support.agent import Agent
from tests.support.builders import hybrid_command, new_shop

if TYPE_CHECKING:
    from pathlib import Path

MISTYPED = {"HYBRID_GATE_TRESHOLD": "0.9"}
SENTENCE = "HYBRID_GATE_TRESHOLD is set in the environment and is no setting; HYBRID_HOOKS_GATE_THRESHOLD is one"


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "--table"),
        ("status", "--json"),
        ("doctor",),
        ("config",),
        ("config", "--json"),
        ("config", "get", "hooks.budget"),
    ],
    ids=" ".join,
)
def test_a_mistyped_variable_is_named_with_what_was_meant(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """It had no effect without a word; now status, doctor and config say so, and name the setting it is like."""
    shop = new_shop(tmp_path)
    ran = hybrid_command(*arguments, cwd=shop.root, home=shop.home, **MISTYPED)
    plain = hybrid_command(*arguments, cwd=shop.root, home=shop.home)

    assert SENTENCE in " ".join((ran.stdout + ran.stderr).decode().split())
    assert b"is no setting" not in plain.stdout + plain.stderr


def test_a_hook_says_nothing_of_a_mistyped_variable(tmp_path: Path) -> None:
    """Its answer is for the agent, and its log for decisions."""
    shop = new_shop(tmp_path)
    answer = Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false", **MISTYPED}).prompt("How does the client retry?")

    assert answer.text
    assert "TRESHOLD" not in (answer.out + answer.err).decode()
    assert "TRESHOLD" not in (shop.home / "log/events.jsonl").read_text()


def test_what_has_a_meaning_is_not_named() -> None:
    """Settings, their older names, the folder and the switch are known; a name like none of them stands alone."""
    known = {f"HYBRID_{key.replace('.', '_').upper()}": "" for key in KEYS}
    known |= dict.fromkeys(["HYBRID_HOME", "HYBRID_DISABLE", "HYBRID_MEMORY_DB", "HYBRID_CROSS_PROJECT", "PATH"], "")

    assert () == unknown_variables(known)
    assert ("HYBRID_QQ is set in the environment and is no setting",) == unknown_variables({"HYBRID_QQ": "1"})
    (removed,) = unknown_variables({"HYBRID_HOOKS_ON_NEED": "1"})
    assert "hooks.on_need was removed: " in removed


def test_json_of_config_holds_the_sentence(tmp_path: Path) -> None:
    """Programs find it among the problems."""
    shop = new_shop(tmp_path)
    ran = hybrid_command("config", "--json", cwd=shop.root, home=shop.home, **MISTYPED)

    assert [SENTENCE] == json.loads(ran.stdout)["problems"]
