"""Real clients without hooks use the tools of `hybrid mcp` and read our instruction, as our installer wrote both.

The mock of the model answers with a call of `search`, then of `read`; the request after each holds what the tool gave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.base.clients import clients
from hybrid.hooks.install.merge import BEGIN
from tests.clients.desk import ANSWER, OTHER_QUESTION, QUESTION
from tests.clients.dialects import strings_in
from tests.clients.mock_api import Called, Rule, Said

if TYPE_CHECKING:
    from hybrid.base.clients import Scope
    from tests.clients.conftest import OpenSeat
    from tests.clients.mock_api import Answer
    from tests.clients.seat import Seat

pytestmark = [pytest.mark.clients, pytest.mark.slow]

_PLACE = "src/payments/client.py"
_SEARCH = {"query": "how does the payment client retry a charge?", "limit": 1}
_READ = {"ref": _PLACE}
_TITLE = "PaymentClient"
_LINE = "def retry(self"
_TOOLS = ("search", "read", "context", "lessons", "related", "recall", "remember", "decide")

_PREFIXES = {"cline-cli": "hybrid__", "kilo": "hybrid_", "factory": "hybrid___", "continue": ""}
"""What a client writes before the names of our tools."""

SCOPED: list[tuple[str, Scope]] = [(name, scope) for name in _PREFIXES for scope in ("user", "project")]


@pytest.mark.parametrize(("name", "scope"), SCOPED)
def test_a_client_without_hooks_is_connected_and_leaves_nothing(open_seat: OpenSeat, name: str, scope: Scope) -> None:
    """The model is offered the tools, gets what they give, and is told of them; uninstalled, each file is as before."""
    seat = open_seat(name)
    before = _files(seat)
    seat.install(scope=scope)
    ours = _ours(seat)
    seat.api.rules = (Rule(QUESTION, *_calls(name)),)

    seat.talk(QUESTION)
    seat.uninstall(scope=scope)

    after = _files(seat)
    asked = seat.api.asked(QUESTION)
    told = list(strings_in(asked[0].body))
    assert {path: before.get(path) for path in ours} == {path: after.get(path) for path in ours}
    assert [] == [path for path in _ours(seat) if path not in before]
    assert _has_rules(name, scope) == any(BEGIN in text for text in told)
    if not _has_server(name, scope):
        return
    results = [request.newest.text for request in asked if request.newest.role == "tool"]
    offered = list(strings_in(asked[-1].body.get("tools")))
    assert [] == [tool for tool in _TOOLS if f"{_PREFIXES[name]}{tool}" not in offered]
    assert _TITLE in results[-2]
    assert _PLACE in results[-2]
    assert _LINE in results[-1]


def test_aider_is_told_of_our_command_and_runs_it(open_seat: OpenSeat) -> None:
    """The model reads the instruction, what it suggests is run, and the hits come back; uninstalled, nothing is left."""
    seat = open_seat("aider")
    before = _files(seat)
    seat.install(scope="project")
    command = f'hybrid search "{_SEARCH["query"]}" --limit 1'
    seat.api.rules = (Rule(QUESTION, Said(f"I ask the index.\n\n```bash\n{command}\n```\n"), needs_tools=False),)

    # It asks whether to run the command, and whether to keep what it printed.
    seat.talk(QUESTION, "y", "y", OTHER_QUESTION)
    seat.uninstall(scope="project")

    first, last = seat.api.requests
    assert any(BEGIN in text for text in strings_in(first.body))
    assert last.says(f"{ANSWER}1-22 {_TITLE}")
    assert before.items() <= _files(seat).items()
    assert [] == _ours(seat)


def _calls(name: str) -> tuple[Answer, tuple[Answer, ...]]:
    """The first answer of the model, and those to the results of tools."""
    prefix = _PREFIXES[name]
    search, read = Called(f"{prefix}search", _SEARCH), Called(f"{prefix}read", _READ)
    if name != "factory":
        return search, (read,)
    # Droid gives the schemas of a server's tools to a model that asks for them by name.
    names = ",".join(f"{prefix}{tool}" for tool in _TOOLS)
    return Called("ToolSearch", {"query": f"select:{names}"}), (search, read)


def _has_rules(name: str, scope: Scope) -> bool:
    rules = clients()[name].rules
    return rules is not None and scope in rules.files


def _has_server(name: str, scope: Scope) -> bool:
    server = clients()[name].mcp
    return server is not None and scope in server.files


def _files(seat: Seat) -> dict[str, bytes]:
    """The settings and rules of the home and the project, by path: all small files of their kinds."""
    folders = (seat.desk.home, seat.desk.project)
    kinds = {".json", ".jsonc", ".toml", ".yaml", ".md"}
    return {
        str(path): path.read_bytes()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in kinds and path.is_file() and ".hybrid" not in path.parts
    }


def _ours(seat: Seat) -> list[str]:
    """The files that start our server or hold our instruction."""
    marks = (f'"--client", "{seat.agent.name}"', BEGIN)
    return [
        path
        for path, data in _files(seat).items()
        if any(mark in " ".join(data.decode("utf-8", "replace").split()) for mark in marks)
    ]
