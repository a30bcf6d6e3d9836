"""The first hooks of a machine: what they need to know is resolved before they answer, not after (#16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.settings import read_settings
from tests.support.agent import Agent
from tests.support.builders import new_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = "How does the payment client retry?"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent in the payments project, of which nothing was indexed."""
    found = Agent(new_shop(tmp_path, is_indexed=False))
    yield found
    found.stop_service()


def test_init_resolves_what_hooks_need(agent: Agent) -> None:
    """`init` is the first command of a machine: its folder is made while it runs, and the settings were not kept there."""
    agent.shop.out("init", "--quiet")

    settings = read_settings(str(agent.shop.home), {})

    assert settings is not None
    assert settings.is_daemon_enabled


def test_hook_that_ends_at_its_deadline_leaves_settings_to_the_next_one(agent: Agent) -> None:
    """A hook resolved its settings after its answer: one that had no time for that left it to the next, without end."""
    agent.shop.out("init", "--quiet")
    (agent.shop.home / "run" / "hook").unlink()

    # No answer fits into a thousandth of a second; until the settings are known the time is longer, and on a very busy
    # machine still too short for the first hooks.
    agent.deadline_ms = 1
    for _ in range(8):
        agent.send(prompt=PROMPT)
        if read_settings(str(agent.shop.home), {}) is not None:
            break

    assert read_settings(str(agent.shop.home), {}) is not None


def test_first_hook_without_settings_starts_a_service(agent: Agent) -> None:
    """What is resolved counts for the hook that did it: there may be a service, and it starts one."""
    agent.shop.out("init", "--quiet")
    (agent.shop.home / "run" / "hook").unlink()

    assert "payments/client.py" in agent.prompt(PROMPT).text
    agent.wait_for_service()


def test_first_hook_without_settings_starts_nothing_that_is_switched_off(agent: Agent) -> None:
    """The user's own file says that there is no service."""
    agent.shop.out("init", "--quiet")
    (agent.shop.home / "config.toml").write_text("[daemon]\nenabled = false\n")

    assert "payments/client.py" in agent.prompt(PROMPT).text
    assert not (agent.shop.home / "run" / "starting").exists()
    assert not agent.status()["running"]
