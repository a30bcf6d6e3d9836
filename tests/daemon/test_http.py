from __future__ import annotations

import http.client
import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from hybrid import __version__
from hybrid.base.resources import shipped
from hybrid.daemon import performing
from hybrid.daemon.http import RouteError
from hybrid.daemon.service import Service
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.operations.asking import operation_named, rows
from hybrid.records.memory.types import moment_text
from tests.support.agent import Agent, until
from tests.support.builders import new_shop
from tests.support.cases import Case, cases
from tests.support.memories import BLOG, FIRST_MS, RETRY, fill_memory, shop_owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LISTS = ("/context", "/search?query=retry", "/timeline?at=2", "/files?path=src", "/observations/1")


def told(agent: Agent) -> dict[str, Any]:
    """What the service says of its HTTP interface, as soon as it does."""
    path = agent.shop.home / "run" / "http.json"
    until(path.exists)
    return json.loads(path.read_bytes())


class Asker:
    """A program of the owner."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.port, self.token, self.pid = (told(agent)[name] for name in ("port", "token", "pid"))

    def get(self, path: str, code: int = 200, /, **parameters: Any) -> dict[str, Any]:
        """The JSON of an answer with this status."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        target = f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path
        connection.request("GET", target, headers={"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()

        assert (code, "application/json; charset=utf-8") == (answer.status, answer.headers["Content-Type"]), body
        return json.loads(body)

    def ids(self, path: str, /, **parameters: Any) -> list[str]:
        """The records of an answer, in its order."""
        return [one["id"] for one in self.get(path, **parameters)["records"]]


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """A service with a memory of two projects; only for tests that change nothing."""
    agent = Agent(new_shop(tmp_path_factory.mktemp("http")))
    fill_memory(agent.shop)
    agent.shop.out("daemon", "start", "--quiet")
    yield Asker(agent)
    agent.stop_service()


def test_health_needs_no_token(asker: Asker) -> None:
    """It says that it is there, and of which version; nothing else."""
    connection = http.client.HTTPConnection("127.0.0.1", asker.port, timeout=120)
    connection.request("GET", "/health")
    answer = connection.getresponse()

    assert (200, {"status": "ok", "version": __version__}) == (answer.status, json.loads(answer.read()))
    connection.close()


def test_the_file_that_tells_the_token_is_the_owner_s(asker: Asker) -> None:
    """32 random bytes in hex, the port, and the process; the status shows the port alone."""
    home = asker.agent.shop.home
    status = asker.agent.status()

    assert {"port", "token", "pid"} == told(asker.agent).keys()
    assert (64, 32) == (len(asker.token), len(bytes.fromhex(asker.token)))
    assert {"port": asker.port, "error": None} == status["http"]
    assert asker.token not in json.dumps(status)
    assert f"  HTTP on port {asker.port} of 127.0.0.1\n" in asker.agent.shop.out("daemon", "status")
    if sys.platform != "win32":
        assert (0o600, 0o700) == tuple(path.stat().st_mode & 0o777 for path in (home / "run/http.json", home / "run"))


def test_search_answers_as_the_command_does(asker: Asker) -> None:
    """The same records in the same order, with the same keys; all projects unless one is named."""
    found = asker.get("/search", query="retry attempts of the payment client")
    printed = asker.agent.shop.json("memory", "search", "retry attempts of the payment client")
    (first,) = asker.get("/search", query="retry attempts of the payment client", project="shop", limit=1)["records"]

    assert ("retry attempts of the payment client", None, None) == (found["query"], found["project"], found["text"])
    assert [one["id"] for one in printed["records"]] == [one["id"] for one in found["records"]]
    assert printed["records"][0].keys() == found["records"][0].keys()
    assert ("o1", 0.01) == (first["id"], pytest.approx(first["parts"]["same_project"], abs=0.005))


@pytest.mark.parametrize("project", ["blog", BLOG.key])
def test_one_project_is_named_by_name_or_key(asker: Asker, project: str) -> None:
    """Only its rows are looked at."""
    assert ["o3"] == asker.ids("/search", query="retry attempts cookie key", project=project)
    assert "blog" == asker.get("/context", project=project)["project"]


def test_context_is_what_a_session_is_told_at_its_start(asker: Asker) -> None:
    """The heading, the last summary and the newest by day; for nothing known the sentence that says so."""
    found = asker.get("/context", project="shop")
    lines = found["text"].splitlines()

    assert "# shop recent context" == lines[0]
    assert "      Next steps: Mend test_save." in lines
    assert ("s1", {"o1", "o2", "s1"}) == (found["summary"]["id"], {one["id"] for one in found["records"]})
    line = f"o1 {moment_text(FIRST_MS)} bugfix Cap retry attempts at 5 in PaymentClient (~46 tokens)"
    assert [f"## {moment_text(FIRST_MS)[:10]}", line] == lines[-2:]
    nothing = asker.get("/context", project="blog", since="2026-06-01")
    assert "# blog recent context\nNo previous sessions found for this project yet." == nothing["text"]
    assert asker.get("/context")["text"].startswith("# all projects recent context\n")


def test_context_is_given_as_text_where_that_is_asked_for(asker: Asker) -> None:
    """`form=text` is the text alone, for a script that hands it on; `form=json` is what is given without it."""
    connection = http.client.HTTPConnection("127.0.0.1", asker.port, timeout=120)
    connection.request("GET", "/context?project=shop&form=text", headers={"Authorization": f"Bearer {asker.token}"})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()

    assert (200, "text/plain; charset=utf-8") == (answer.status, answer.headers["Content-Type"])
    found = asker.get("/context", project="shop", form="json")
    assert (found["text"] + "\n", asker.get("/context", project="shop").keys()) == (body, found.keys())
    assert "none of json, text" in asker.get("/context", 400, form="full")["error"]


def test_parameters_restrict_the_rows(asker: Asker) -> None:
    """Filters count before `limit`, and some may be repeated; a timeline is around a record or a time."""
    assert ["o1"] == asker.ids("/context", type="bugfix", limit=1)
    assert ["o1", "o2"] == sorted(asker.ids("/context", type=["bugfix", "discovery"]))
    assert ["o2", "o3"] == sorted(asker.ids("/search", query="store", file="src/users/store.py", since="2026-01-11"))
    assert ["o1", "o2", "s1"] == asker.ids("/timeline", at="2")
    assert ["o2"] == asker.ids("/timeline", at="2", before=0, after=0)
    assert ["o1", "o2", "s1", "o3"] == asker.ids("/timeline", at="2026-01-11")
    assert ["s1"] == asker.ids("/timeline", at="s1", limit=1)


def test_files_and_single_records(asker: Asker) -> None:
    """The newest first; a summary by its name; with a form the text that the command prints."""
    assert ["o3", "o2"] == asker.ids("/files", path="src/users")
    assert ["o2", "o1"] == asker.ids("/files", path=["src/users/store.py", "src/payments"], project="shop")
    assert ["s1"] == asker.ids("/observations/s1")
    text = asker.get("/observations/1", form="full")["text"]
    assert f"      {RETRY.narrative}" in text.splitlines()
    assert "similarity" in asker.get("/search", query="retry", explain="")["text"]


@cases("http/wrong.txt")
def test_a_wrong_request_says_what_is_wrong(asker: Asker, case: Case) -> None:
    """As JSON with its status; never a page, never a listing."""
    code, _, said = str(case.expected).partition(" ")
    found = asker.get(case.text, int(code))

    assert int(code) == found["status"]
    assert said in found["error"]


def test_nothing_that_writes_is_a_route_or_deletes_as_a_tool() -> None:
    """Deletion and forgetting stay with people, whatever else the table of operations holds."""
    served = {row.route for row in rows() if row.route}
    offered = [row.agents_name for row in rows() if row.for_agents and row.is_writing]

    assert {"/context", "/search", "/timeline", "/files", "/observations/{id}"} <= served
    assert not [row.name for row in rows() if row.route and row.is_writing]
    assert (["decide", "remember"], True) == (offered, operation_named("memory forget").is_writing)


def test_a_question_about_a_project_is_asked_in_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its own arguments name none; without a project, or with one whose folder is gone, it is not answered."""
    shop = new_shop(tmp_path)
    shop.out("lore", "decide", "Keep one queue", "--why", "order")
    shop.out("reindex", "--quiet")
    kinds = OpenKinds({})
    monkeypatch.setitem(performing._ROUTES, "/decided", operation_named("lore list"))
    routes = performing.Routes(shop.home, {"HYBRID_HOME": str(shop.home)}, lambda: kinds)
    named, text = routes.answer("/decided", {"project": ["shop"]}), shop.out("lore", "list")
    with pytest.raises(RouteError) as unknown:
        routes.answer("/decided", {"project": ["nowhere"]})
    shop.root.rename(tmp_path / "moved")
    with pytest.raises(RouteError) as gone:
        routes.answer("/decided", {"project": ["shop"]})

    assert isinstance(named, dict)
    assert (["Keep one queue"], text.rstrip("\n")) == ([one["name"] for one in named["records"]], named["text"])
    assert (404, 404) == (unknown.value.status, gone.value.status)
    assert "gone" in str(gone.value)


@pytest.mark.parametrize("path", ["/forget", "/memory", "/add", "/stats", "/recent", "/lessons", "/memory%20forget"])
def test_what_has_no_route_is_not_there(asker: Asker, path: str) -> None:
    """Neither under its name nor by a parameter."""
    assert "nothing is at" in asker.get(path, 404, id="1", yes="1")["error"]
    assert asker.get("/observations/1")["records"]


def test_hundreds_of_parameters_are_not_read(asker: Asker) -> None:
    """Their number has a bound."""
    assert "the parameters cannot be read" in asker.get("/context?" + "&".join(["type=bugfix"] * 200), 400)["error"]


def _mismatches(value: Any, schema: dict[str, Any], whole: dict[str, Any], place: str = "$") -> list[str]:
    """What a value has that its schema does not allow; only what our schema uses."""
    if "$ref" in schema:
        return _mismatches(value, whole["$defs"][schema["$ref"].rsplit("/", 1)[1]], whole, place)
    if "anyOf" in schema:
        tried = [_mismatches(value, one, whole, place) for one in schema["anyOf"]]
        return [] if [] in tried else tried[0]
    names = {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        type(None): "null",
    }
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    is_number = isinstance(value, int) and "number" in wanted
    found = [] if not wanted or names[type(value)] in wanted or is_number else [f"{place}: {value!r} is no {wanted}"]
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        found.append(f"{place}: {value!r}")
    if isinstance(value, dict):
        found += [f"{place}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, one in schema.get("properties", {}).items():
            found += _mismatches(value[name], one, whole, f"{place}.{name}") if name in value else []
        unknown = value.keys() - schema.get("properties", value).keys()
        found += [f"{place}: {name} is not described" for name in sorted(unknown)]
    if isinstance(value, list):
        found += [text for one in value for text in _mismatches(one, schema.get("items", {}), whole, f"{place}[]")]
    return found


@pytest.mark.parametrize(
    ("target", "name", "code"),
    [
        ("/health", "health", 200),
        *((target, target[1:].split("?")[0], 200) for target in LISTS[:-1]),
        ("/context?project=shop", "context", 200),
        ("/observations/1", "observation", 200),
        ("/observations/s1?form=full", "observation", 200),
        ("/nothing", "error", 404),
    ],
)
def test_every_answer_is_as_the_schema_says(asker: Asker, target: str, name: str, code: int) -> None:
    """Each key is there and described, each value of its type."""
    schema = json.loads(shipped("index", "schema", "http.json").read_bytes())

    assert [] == _mismatches(asker.get(target, code), schema["$defs"][name], schema)


def test_every_route_is_described() -> None:
    """The schema tells what a route answers; a page of the reference is made from it."""
    told = json.loads(shipped("index", "schema", "http.json").read_bytes())["$defs"].values()
    described = {description.split(";")[0].split(":")[0] for one in told if (description := one.get("description"))}

    assert {f"GET {row.route}" for row in rows() if row.route} <= described


def test_the_schema_is_served_and_printed(asker: Asker) -> None:
    """The one that ships."""
    schema = json.loads(shipped("index", "schema", "http.json").read_bytes())

    assert schema == asker.get("/schema")
    assert schema == json.loads(asker.agent.shop.out("daemon", "schema"))


def test_what_was_forgotten_is_not_served(agent: Agent) -> None:
    """The service has the index open; the row is gone from its answers at once."""
    fill_memory(agent.shop)
    agent.shop.out("daemon", "start", "--quiet")
    asker = Asker(agent)
    before = asker.ids("/search", query="retry attempts")
    agent.shop.out("memory", "forget", "1", "--yes")

    assert "o1" == before[0]
    assert "o1" not in asker.ids("/search", query="retry attempts")
    assert asker.get("/observations/1", 404)


def test_what_a_hook_keeps_is_found_over_http(agent: Agent) -> None:
    """A prompt and a tool use of an agent, after its session's end."""
    agent.shop.out("daemon", "start", "--quiet")
    agent.prompt("Make the zebra importer skip empty lines", "zebra")
    use = {"tool_name": "Bash", "tool_input": {"command": "pytest tests/test_zebra.py -q"}}
    response = {"stdout": "FAILED tests/test_zebra.py::test_empty_lines - IndexError\n1 failed in 0.2s", "stderr": ""}
    agent.send("PostToolUse", session_id="zebra", tool_use_id="t1", tool_response=response, **use)
    agent.send("SessionEnd", session_id="zebra", reason="exit")
    asker = Asker(agent)
    until(lambda: asker.get("/search", query="which zebra test failed")["records"])

    (found, *_) = asker.get("/search", query="which zebra test failed", type="discovery")["records"]
    assert ("zebra", shop_owner(agent.shop).key) == (found["session_id"], found["project_key"])
    assert "test_zebra" in found["title"]


def test_the_interface_ends_with_the_service(agent: Agent) -> None:
    """Its file goes, and nobody listens any more; a new start has the same token, until its file was deleted."""
    agent.shop.out("daemon", "start", "--quiet")
    first = told(agent)
    agent.stop_service()

    assert not (agent.shop.home / "run" / "http.json").exists()
    with pytest.raises(OSError, match="refused"):
        http.client.HTTPConnection("127.0.0.1", first["port"], timeout=120).connect()
    agent.shop.out("daemon", "start", "--quiet")
    assert first["token"] == told(agent)["token"]
    agent.stop_service()
    (agent.shop.home / "run" / "token").unlink()
    agent.shop.out("daemon", "start", "--quiet")
    assert first["token"] != told(agent)["token"]


def test_it_can_be_switched_off(agent: Agent) -> None:
    """`[daemon] http = false`: no port and no file; hooks are answered as ever."""
    agent.shop.home.joinpath("config.toml").write_text("[daemon]\nhttp = false\n")
    agent.shop.out("daemon", "start", "--quiet")

    assert agent.prompt("How does the payment client retry?").text
    assert agent.status()["http"] is None
    assert not (agent.shop.home / "run" / "http.json").exists()


def test_a_port_of_ones_own(agent: Agent, tmp_path: Path) -> None:
    """`[daemon] http_port`; one that is taken is a line in the status, and hooks are answered as ever."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        agent.shop.home.joinpath("config.toml").write_text(f"[daemon]\nhttp_port = {port}\n")
        taken.listen()
        agent.shop.out("daemon", "start", "--quiet")
        until(lambda: agent.status()["http"])
        found = agent.status()["http"]
        assert agent.prompt("How does the payment client retry?").text
        agent.stop_service()
    agent.shop.out("daemon", "start", "--quiet")

    assert (None, True) == (found["port"], f"port {port}" in found["error"])
    assert port == told(agent)["port"]


def test_requests_keep_the_service_alive(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with the token count as use; somebody without it keeps nothing alive."""
    with closing(Service(agent.shop.home, {"HYBRID_HOME": str(agent.shop.home)}, lambda: True)) as service:
        service.start("")
        asker = Asker(agent)
        monkeypatch.setattr(service, "_active_s", -1e9)
        assert asker.get("/observations/1", 404)
        lives_on = service.tick()
        monkeypatch.setattr(service, "_active_s", -1e9)
        asker.token = "x" * 64
        assert asker.get("/context", 401)

        assert (True, False) == (lives_on, service.tick())
