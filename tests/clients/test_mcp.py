"""Real clients find the tools of `hybrid mcp` through the entry that our installer wrote, and call them.

The mock of the model answers with a call of `search`, then of `read`; the request after each holds what the tool gave.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.render.frame import MORE_BY_TOOL
from tests.clients.agents import AGENTS
from tests.clients.claude_code import Claude
from tests.clients.desk import QUESTION
from tests.clients.mock_api import Called, Rule

if TYPE_CHECKING:
    from tests.clients.conftest import OpenSeat
    from tests.clients.mock_api import Answer, Request
    from tests.clients.seat import Seat

pytestmark = [pytest.mark.clients, pytest.mark.slow]

_PLACE = "src/payments/client.py"
_SEARCH = {"query": "how does the payment client retry a charge?", "limit": 1}
_READ = {"ref": _PLACE}
_TITLE = "PaymentClient"
_LINE = "def retry(self"
"""The name of the hit, and a line of the file, which `read` gives though the hook gave the hit before."""


_FORMS = {each.name: (each.prefix, each.namespace) for each in (Claude, *AGENTS)}
"""How a client names our tools: the text before the name, and the group that they are offered in, if any."""


@pytest.mark.parametrize("name", _FORMS)
def test_a_client_finds_and_uses_the_tools(open_seat: OpenSeat, name: str) -> None:
    """The tools are offered to the model, what they give comes back in the next requests, and injections name one."""
    seat = open_seat(name)
    said = seat.install("--mcp", scope="user")
    _settle(seat)
    seat.api.rules = (Rule(QUESTION, *_calls(name)),)

    seat.talk(QUESTION)

    asked = seat.api.asked(QUESTION)
    results = [request.newest.text for request in asked if request.newest.role == "tool"]
    assert "is given the MCP server hybrid: " in said
    assert _offers(asked[-1], name)
    assert any(MORE_BY_TOOL in frame for frame in asked[-1].frames)
    assert _TITLE in results[-2]
    assert _PLACE in results[-2]
    assert _LINE in results[-1]


def _calls(name: str) -> tuple[Answer, tuple[Answer, ...]]:
    """The first answer of the model, and those to the results of tools."""
    prefix, namespace = _FORMS[name]
    search = Called(f"{prefix}search", _SEARCH, namespace)
    read = Called(f"{prefix}read", _READ, namespace)
    if name != "claude":
        return search, (read,)
    # Claude Code names tools of servers, and gives their schemas to a model that asks for them.
    wanted = Called("ToolSearch", {"query": f"select:{prefix}search,{prefix}read", "max_results": 5})
    return wanted, (search, read)


def _settle(seat: Seat) -> None:
    """What a person does besides: have the client wait for the server, or trust it."""
    home = seat.desk.home
    if seat.agent.name == "codex":
        path = home / ".codex" / "config.toml"
        path.write_text(path.read_text("utf-8") + "required = true\n", "utf-8")
    if seat.agent.name in ("gemini", "qwen"):
        path = home / f".{seat.agent.name}" / "settings.json"
        settings = json.loads(path.read_text("utf-8"))
        settings["mcpServers"]["hybrid"]["trust"] = True
        path.write_text(json.dumps(settings, indent=2), "utf-8")


def _offers(request: Request, name: str) -> bool:
    """Whether a request offers every tool of ours to the model."""
    prefix, namespace = _FORMS[name]
    text = json.dumps(request.body)
    tools = ("search", "read", "context", "lessons", "related", "recall", "remember", "decide")
    return namespace in text and all(f"{prefix}{tool}" in text for tool in tools)
