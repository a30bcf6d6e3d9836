"""Hooks and tools share the ledger of a session: nothing is given twice, whoever gave it first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybrid.session.ledger import SessionKey
from tests.support.agent import Agent, until
from tests.support.builders import neighbour_of
from tests.support.tool_client import tools_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop
    from tests.support.tool_client import Tools

PROMPT = "How does the payment client retry a request after a timeout?"
WANTED = "src/payments/client.py"
SHOWN = f"[code] {WANTED}"


@pytest.fixture
def agent(serving: Shop, tmp_path: Path) -> Agent:
    """A client whose hooks are installed, in a project and a session of its own; the service runs."""
    serving.out("daemon", "start", "--quiet")
    return Agent(neighbour_of(serving, tmp_path), session=tmp_path.name)


def _given(tools: Tools, query: str = PROMPT) -> dict[str, bool]:
    return {hit.ref: hit.is_given for hit in tools.hits(query=query, limit=5, detail="lines")}


def _first(tools: Tools) -> bool:
    """Has the session what was asked for already?"""
    [found] = [is_given for ref, is_given in _given(tools).items() if ref.startswith(WANTED)][:1]
    return found


def _shown(agent: Agent, session: str = "") -> None:
    """Let a session be given the file; while a busy machine still loads the model a prompt gets nothing."""
    until(lambda: SHOWN in agent.prompt(PROMPT, session=session).text)


def _used(agent: Agent, arguments: dict[str, Any], **fields: Any) -> None:
    """The client tells of a use of the tool."""
    tool = {"tool_name": "mcp__hybrid__search", "tool_input": arguments, "tool_response": {"content": []}}
    assert "" == agent.send("PostToolUse", **tool, **fields).text


def test_what_a_hook_gave_a_tool_marks(agent: Agent) -> None:
    """A hit that an injection holds comes without its text, and with it again when it is asked for in full."""
    _shown(agent)
    with tools_of(agent.shop) as tools:
        hit = next(hit for hit in tools.hits(query=PROMPT, limit=5) if hit.ref.startswith(WANTED))
        full = tools.hits(query=PROMPT, limit=1, detail="full")[0]

    assert (True, "") == (hit.is_given, hit.text)
    assert "attempts" in full.text


def _known_to_one_and_two(agent: Agent) -> list[bool]:
    """Whether the hit was given before, asked with each of two sessions in the variable of the client."""
    known: list[bool] = []
    for name in ("one", "two"):
        with tools_of(agent.shop, CLAUDE_CODE_SESSION_ID=agent.session + name) as tools:
            known.append(_first(tools))
    return known


def test_a_session_whose_hook_answered_without_a_service_is_known_too(agent: Agent) -> None:
    """A service that has heard of no session reads in the log which one a hook answered lately."""
    _shown(agent)
    agent.shop.out("daemon", "stop", "--quiet")
    agent.shop.out("daemon", "start", "--quiet")
    with tools_of(agent.shop) as tools:
        assert _first(tools)


def test_a_session_that_the_service_missed_is_told_apart_by_the_client(agent: Agent) -> None:
    """The service has heard of one session only; the client's variable names another one, which a hook answered."""
    agent.shop.out("daemon", "stop", "--quiet")
    _shown(agent, f"{agent.session}one")
    agent.wait_for_service()
    agent.prompt("thanks, go on please", session=f"{agent.session}two")

    assert [True, False] == _known_to_one_and_two(agent)


def test_what_a_tool_gave_a_hook_leaves_out(agent: Agent) -> None:
    """After a use that the client told of, the next prompt is not given the same again."""
    agent.prompt("thanks, go on please")  # The service has heard of the session.
    arguments = {"query": PROMPT, "limit": 5, "detail": "full"}
    with tools_of(agent.shop) as tools:
        tools.text("search", **arguments)
        _used(agent, arguments)

    assert SHOWN not in agent.prompt(PROMPT).text


def test_a_use_that_nobody_told_of_counts_at_the_next_prompt(agent: Agent) -> None:
    """A client without a hook after tools has its uses counted when the session goes on."""
    agent.prompt("thanks, go on please")
    with tools_of(agent.shop) as tools:
        tools.text("search", query=PROMPT, limit=5, detail="full")

    assert SHOWN not in agent.prompt(PROMPT).text


def test_the_use_of_a_subagent_counts_for_it_alone(agent: Agent) -> None:
    """What a subagent looked up is not taken from the main conversation."""
    agent.prompt("thanks, go on please")
    arguments = {"query": PROMPT, "limit": 5, "detail": "full"}
    ledger = agent.shop.home / "sessions" / SessionKey("claude", agent.session, "sub-1").file_name
    with tools_of(agent.shop) as tools:
        tools.text("search", **arguments)
        before = ledger.exists()
        _used(agent, arguments, agent_id="sub-1", agent_type="explorer")
    _shown(agent)

    assert (False, True) == (before, ledger.exists())


def test_without_hooks_a_connection_is_a_session(agent: Agent) -> None:
    """After it was given the whole, the same connection is told that it has it; another one is not."""
    with tools_of(agent.shop) as tools:
        first = _first(tools)
        tools.text("search", query=PROMPT, limit=5, detail="full")
        second = _first(tools)
    with tools_of(agent.shop) as tools:
        other = _first(tools)

    assert (False, True, False) == (first, second, other)


def test_two_sessions_in_one_tree_are_told_apart_by_the_client(agent: Agent) -> None:
    """With several live sessions, the variable that the client sets says which one asks."""
    _shown(agent, f"{agent.session}one")
    agent.prompt("thanks, go on please", session=f"{agent.session}two")

    assert [True, False] == _known_to_one_and_two(agent)


def test_after_a_compaction_everything_is_given_again(agent: Agent) -> None:
    """A session that lost its context gets the texts again, from tools as from hooks."""
    _shown(agent)
    with tools_of(agent.shop) as tools:
        before = _first(tools)
        agent.send("SessionStart", source="compact")
        after = _first(tools)

    assert (True, False) == (before, after)


def test_given_rows_of_the_memory_are_marked(shared: Shop) -> None:
    """`recall` marks rows that the session was given in full."""
    with tools_of(shared) as tools:
        first = tools.text("recall", query="retry attempts", detail="full").split("\n")[0]
        second = tools.text("recall", query="retry attempts").split("\n")[0]

    assert (False, True) == tuple(line.endswith("  (given earlier in this session)") for line in (first, second))
