"""Text counts as given when all of it was given, to tools and to prompts; a record is read as its command shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mcp_server.projects import shop_of_all
from tests.support.agent import Agent
from tests.support.builders import neighbour_of
from tests.support.records import DECISION, HANDOFF
from tests.support.tool_client import end_web, tools_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop

PROMPT = "How does the payment ledger settle a chargeback?"
PATH = "src/ledger.py"
LINES = [
    "def settle_chargeback(ledger, payment):",
    '    """Settle a chargeback of a payment in the ledger."""',
    *(f"    ledger.book_fee({number}, payment)" for number in range(38)),
    "    return ledger",
]


@pytest.fixture
def agent(serving: Shop, tmp_path: Path) -> Agent:
    """A client with hooks in a session of its own, on a project with one long function; the service runs."""
    files = {PATH: "\n".join(LINES) + "\n", "docs/other.md": "# Other\n\nNothing of payments.\n"}
    return Agent(neighbour_of(serving, tmp_path, files), session=tmp_path.name)


def test_a_search_gives_what_an_injection_gave_in_part(agent: Agent) -> None:
    """After some lines of a chunk were injected, a tool gives its lines, and the whole when that is wanted (#35)."""
    injected = agent.prompt(PROMPT).text
    with tools_of(agent.shop) as tools:
        [part] = tools.hits(query=PROMPT, limit=1)
        text = tools.text("search", query=PROMPT, limit=1)
        [whole] = tools.hits(query=PROMPT, limit=1, detail="full")

    assert PATH in injected
    assert LINES[32] not in injected
    assert (False, True) == (part.is_given, LINES[0] in part.text)
    assert "given earlier" not in text
    assert LINES[32] in whole.text


def test_a_search_leaves_out_what_was_given_whole(agent: Agent) -> None:
    """By `read`, by a search in full: then the text is left out, and a prompt brings nothing (#35)."""
    agent.prompt("thanks, go on please")
    with tools_of(agent.shop) as tools:
        first = tools.hits(query=PROMPT, limit=1)[0]
        again = tools.hits(query=PROMPT, limit=1)[0]
        tools.text("read", ref=PATH)
        agent.prompt("thanks, that helps")  # What was looked up counts now.
        last = tools.hits(query=PROMPT, limit=1)[0]

    assert (True, True, "") == (bool(first.text), bool(again.text), last.text)
    assert "" == agent.prompt(PROMPT).text


def test_a_part_that_a_tool_gave_keeps_nothing_from_a_prompt(agent: Agent) -> None:
    """A prompt is answered after a search of the agent showed some of the lines (#35)."""
    agent.prompt("thanks, go on please")
    with tools_of(agent.shop) as tools:
        tools.text("search", query=PROMPT, limit=1)

    assert PATH in agent.prompt(PROMPT).text


def test_an_injection_does_not_repeat_its_part(agent: Agent) -> None:
    """The same question, in the same or in other words, does not bring the same lines again (#35)."""
    first = agent.prompt(PROMPT).text
    again = agent.prompt(PROMPT).text
    otherwise = agent.prompt("Where is a chargeback of a payment settled in the ledger?").text

    assert (True, "", "") == (PATH in first, again, otherwise)


def test_without_deduplication_tools_leave_out_nothing(agent: Agent) -> None:
    """`hooks.dedup_enabled` holds for tools as for prompts (#35)."""
    agent.shop.out("config", "set", "--user", "hooks.dedup_enabled", "false")
    with tools_of(agent.shop) as tools:
        tools.text("read", ref=PATH)
        hit = tools.hits(query=PROMPT, limit=1)[0]
    agent.shop.out("config", "set", "--user", "hooks.dedup_enabled", "true")

    assert LINES[0] in hit.text


# --- one record ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A project with records of every kind."""
    found = shop_of_all(tmp_path_factory.mktemp("records"))
    yield found
    end_web(found.home)
    Agent(found).stop_service()


COMMANDS = (
    ("L001", ("lessons", "show", "L001")),
    (DECISION, ("lore", "show", DECISION)),
    (HANDOFF, ("lore", "show", HANDOFF)),
    ("pat-000001-aaaaaaaa", ("lore", "show", "pat-000001-aaaaaaaa")),
    ("anti-000001-bbbbbbbb", ("lore", "show", "anti-000001-bbbbbbbb")),
    ("o1", ("memory", "show", "o1")),
    ("s1", ("memory", "show", "s1")),
)
"""A ref, and the command that shows the same."""


def test_read_shows_a_record_as_its_command_does(shop: Shop) -> None:
    """Both print the same lines, and the id, which finds it again, stands there once (#35, #39)."""
    with tools_of(shop) as tools:
        for ref, command in COMMANDS:
            text = tools.text("read", ref=ref)

            assert shop.out(*command).rstrip("\n") == text
            assert 1 == text.count(ref)


def test_read_shows_a_decision_with_its_reason(shop: Shop) -> None:
    """Both are there, each with its name (#35)."""
    with tools_of(shop) as tools:
        text = tools.text("read", ref=DECISION)

    assert text.startswith(f"[decision] {DECISION} (2026-02-10)\n  Use JSONL for the audit journal -- append-only")
    assert "  decision: Use JSONL for the audit journal\n  rationale: append-only, grep-friendly" in text
