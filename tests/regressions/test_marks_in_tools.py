"""No tool, resource or prompt hands an agent a mark of a frame or of a client: found by asking the server what it has."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from hybrid.base.clients import clients
from hybrid.mcp_server.server import ToolSession
from tests.support.agent import Agent, until
from tests.support.hostile import CONTROL, FILE, NAME, PROMPT, TEXT, hostile_shop, marks_in, texts_in
from tests.support.records import DECISION, HANDOFF
from tests.support.tool_client import end_web, tools_of
from tests.support.tool_texts import file_text, numbered_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from tests.support.builders import Shop
    from tests.support.tool_client import Tools

TEXTS = (
    PROMPT,
    TEXT,
    NAME,
    FILE,
    f"{FILE}:1-3",
    "docs/retry.md",
    "L001",
    DECISION,
    HANDOFF,
    "pat-000001-aaaaaaaa",
    "o1",
    "s1",
    "o2",
)
"""What an argument that is a text may be: words, hostile words, files and a record of each kind."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The project; its service and worker end with the tests."""
    found = hostile_shop(tmp_path_factory.mktemp("hostile"))
    yield found
    end_web(found.home)
    Agent(found).stop_service()


def _values(schema: dict[str, Any]) -> list[Any]:
    """Values of an argument by its schema: each of its words, or the texts."""
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "array":
        return [[value] for value in _values(schema["items"])]
    if schema.get("type") == "string":
        return list(TEXTS)
    return [schema.get("minimum", 0), schema.get("maximum", 10)]


def _calls(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Arguments: each value of each one, with those that are required."""
    fields, required = schema["properties"], schema.get("required", [])
    if not required:
        yield {}
    for name in fields:
        for value in _values(fields[name]):
            yield dict.fromkeys(required, PROMPT) | {name: value}


def _marks(value: Any, *, controls: bool = True) -> list[str]:
    return [mark for text in texts_in(value) for mark in marks_in(text, controls=controls)]


def test_no_tool_gives_a_mark(shop: Shop) -> None:
    """Neither in an answer nor in an error, whatever it is asked (#35)."""
    found: dict[str, list[str]] = {}
    n_answered = 0
    with tools_of(shop) as tools:
        listed = tools.ask("list_tools").tools
        for tool in listed:
            for arguments in _calls(tool.input_schema):
                result = tools.result(tool.name, **arguments)
                n_answered += not result.is_error
                if seen := _marks(result.model_dump(mode="json")):
                    found[f"{tool.name} {arguments}"] = seen

    assert {} == found
    assert n_answered > 3 * len(listed)


def test_no_resource_and_no_prompt_gives_a_mark(shop: Shop) -> None:
    """Those that are listed, each record by its ref, and those that are not there (#35)."""
    found: dict[str, list[str]] = {}
    with tools_of(shop) as tools:
        uris = [str(one.uri) for one in tools.ask("list_resources").resources]
        for template in tools.ask("list_resource_templates").resource_templates:
            uris += [template.uri_template.replace("{ref}", quote(text, safe="")) for text in TEXTS]
        for uri in [*uris, f"hybrid://{quote(NAME)}"]:
            if seen := _marks(_answer(tools, "read_resource", uri)):
                found[uri] = seen
        for name in [*(one.name for one in tools.ask("list_prompts").prompts), NAME]:
            if seen := _marks(_answer(tools, "get_prompt", name)):
                found[name] = seen

    assert {} == found


def _answer(tools: Tools, method: str, name: str) -> Any:
    """What the server answers, or its error."""
    try:
        return tools.ask(method, name).model_dump(mode="json")
    except MCPError as error:
        return str(error)


def test_no_client_is_given_a_mark(shop: Shop) -> None:
    """What a client is called changes nothing, for tools as for hooks in every format (#35)."""
    forms = ("text", "xml", "json")
    asked = [(client, forms[number % 3]) for number, client in enumerate(sorted(clients()))]
    for client, form in sorted({*asked, *(("claude", form) for form in forms)}):
        session = ToolSession(str(shop.home), str(shop.root), client, {}, client + form)  # What the worker has of it.
        answers: list[Any] = [
            asyncio.run(session.ask("search", {"query": PROMPT, "detail": "full"})),
            asyncio.run(session.ask("read", {"ref": FILE})),
        ]
        event = {"session_id": f"{client}-{form}", "cwd": str(shop.root)}
        environ = {"HYBRID_HOOKS_FORMAT": form, "HYBRID_HOOKS_GATE_THRESHOLD": "0.0"}
        data = json.dumps(event | {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT}).encode()
        answers.append(json.loads(shop.out("hook", "inject-context", "--client", client, stdin=data, **environ)))

        assert (client, []) == (client, _marks(answers))
        assert all("retry" in str(answer) for answer in answers)


def test_a_file_is_read_as_it_is_but_for_what_is_said(shop: Shop) -> None:
    """All other lines are exact, so that edits fit; an answer names the lines that are not (#35)."""
    whole = (shop.root / "docs" / "retry.md").read_text(encoding="utf-8").split("\n")
    with tools_of(shop) as tools:
        text = tools.text("read", ref="docs/retry.md")
        plain = tools.text("read", ref="src/payments/client.py")
    lines = numbered_of(text).values()
    altered = [number for number, (line, shown) in enumerate(zip(whole, lines, strict=True), 1) if line != shown]

    assert f"(lines {', '.join(map(str, altered))} are altered here" in text.split("\n")[1]
    assert r"\x1b[2J\x1b]0;owned\x07\u202edesrever" in text
    assert (shop.root / "src/payments/client.py").read_text(encoding="utf-8").startswith(file_text(plain))
    assert "altered" not in plain


def test_what_a_search_names_can_be_read(shop: Shop) -> None:
    """The ref of a file whose name is shown altered finds that file (#35)."""
    with tools_of(shop) as tools:
        refs = tools.refs(query="retry_payment", kinds=["code"], limit=20)
        altered = [ref for ref in refs if "‹" in ref]
        texts = [tools.text("read", ref=ref) for ref in refs]
        name = altered[0].rpartition(":")[0]
        related = tools.text("related", file=name)

    assert any("retry_payment" in text for text in texts)
    assert related.startswith(f"{name}: ")


def test_no_route_gives_a_mark(shop: Shop) -> None:
    """Every path of the HTTP interface with each of its parameters, found in what it says of itself (#35)."""
    shop.run("daemon", "start", "--quiet")
    file = shop.home / "run" / "http.json"
    until(file.exists)
    with _asker(json.loads(file.read_bytes())) as ask:
        paths = re.findall(r"/[\w/{}]+", ask("/nothing")["error"])[1:]
        found: dict[str, list[str]] = {}
        for path in paths:
            route = path.replace("{id}", "1")
            names = re.findall(r"\w+", ask(route, {"x": "1"}).get("error", "").partition("there are: ")[2])
            needed = {name: PROMPT for name in ("query", "path") if name in names} | (
                {"at": "1"} if "at" in names else {}
            )
            for name, text in [
                ("", ""),
                *((name, text) for name in names for text in (TEXT, FILE, "text", "full", "1")),
            ]:
                values = needed | ({name: text} if name else {})
                if seen := _marks(ask(route, values), controls=False):
                    found[f"{route} {values}"] = seen

    assert {} == found
    assert len(paths) > 5


@contextmanager
def _asker(address: dict[str, Any]) -> Generator[Callable[..., Any]]:
    """What gives the answer of the service to a path, over one connection; a text where it is no JSON."""
    url, headers = f"http://127.0.0.1:{address['port']}", {"Authorization": f"Bearer {address['token']}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:

        def ask(path: str, values: dict[str, str] | None = None) -> Any:
            found = client.get(path, params=values)
            assert not CONTROL.search(found.text)
            return found.json() if "json" in found.headers["content-type"] else found.text

        yield ask
