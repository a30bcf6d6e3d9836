from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomli
import yaml

from hybrid.cli.main import run
from hybrid.hooks.install.clients import CLIENTS, parts_of
from hybrid.hooks.install.command import ENTRY
from hybrid.hooks.install.jsonc import parse
from hybrid.hooks.install.parts import SettingsRoots
from hybrid.hooks.install.rules import BEGIN, END
from hybrid.hooks.install.servers import words_of
from tests.support.builders import Shop, git_project
from tests.support.installs import Desk

if TYPE_CHECKING:
    from hybrid.hooks.install.parts import Part, Scope
    from hybrid.hooks.install.servers import ServerPart

_SCOPED = [
    (client.name, scope)
    for client in CLIENTS.values()
    for scope in ("user", "project")
    if any(scope in part.files.places for part in parts_of(client))
]
_SERVERS = [
    (client.name, scope)
    for client in CLIENTS.values()
    for scope in ("user", "project")
    if client.server and scope in client.server.files.places
]
_RULES = [
    (client.name, scope)
    for client in CLIENTS.values()
    for scope in ("user", "project")
    if client.rules and scope in client.rules.files.places and not client.rules.has_own_file
]


def _path(desk: Desk, part: Part | None, scope: Scope) -> Path:
    assert part is not None
    path = part.files.file(scope, SettingsRoots(desk.user, desk.root, {}))
    assert path is not None
    return path


def _server(client: str) -> ServerPart:
    server = CLIENTS[client].server
    assert server is not None
    return server


def _flags(client: str, scope: str) -> list[str]:
    known = CLIENTS[client]
    has_server = known.server is not None and scope in known.server.files.places
    flags = [*(["--mcp"] if has_server else []), *(["--rules"] if known.rules else [])]
    return ["--client", client, "--scope", scope, *flags]


def _entry(client: str, path: Path) -> Any:
    """The entry of our server in a file, whatever its language."""
    server = _server(client)
    text = path.read_bytes().decode("utf-8-sig")
    value: Any = {"json": lambda t: parse(t).value, "toml": tomli.loads, "yaml": yaml.safe_load}[server.form](text)
    for key in server.at:
        value = value[key]
    return value["hybrid"]


def _others(client: str) -> str:
    """Settings with another server, comments and odd spaces, in the language of a client."""
    server = _server(client)
    if server.form == "toml":
        return (
            'model = "x"   # mine\n\n# before\n[mcp_servers.other] # a server\ncommand = "run"\nargs = [\n  "[a]",\n]\n\n'
            "[mcp_servers.other.env]\nA = 'b'\n\n[tui]\nnotifications = true\n"
        )
    if server.form == "yaml":
        return (
            "GOOSE_MODE:   auto  # mine\nextensions:\n    other:  # a server\n        cmd: run\n\n# the end\nlast: 1\n"
        )
    opening = "".join(f'"{key}": {{ ' for key in server.at)
    return f'{{\n    // mine\n    "theme" : "dark",\n    {opening}"other": {{"command": "run"}}, {"}" * len(server.at)},\n}}\n'


@pytest.mark.parametrize(("client", "scope"), _SCOPED)
def test_all_parts_are_installed_and_leave_nothing(desk: Desk, client: str, scope: Scope) -> None:
    """Each file names us, a second time changes nothing, the status lists all, and removal leaves files as they were."""
    before = desk.tree()
    parts = [part for part in parts_of(CLIENTS[client]) if scope in part.files.places]

    first = desk.json("install", *_flags(client, scope))
    written = desk.tree()
    second = desk.json("install", *_flags(client, scope))
    places = desk.json("status")["installed"][client]["places"]
    removed = desk.json("uninstall", "--client", client)

    assert ["installed"] * len(parts) == [change["action"] for change in (first, *first["also"])]
    assert ["unchanged"] * len(parts) == [change["action"] for change in (second, *second["also"])]
    assert [(part.kind, scope, str(_path(desk, part, scope))) for part in parts] == [
        (place["kind"], place["scope"], place["path"]) for place in places
    ]
    assert [None] * len(parts) == [place["outdated"] for place in places]
    assert {str(_path(desk, part, scope)) for part in parts} <= set(written)
    assert {"deleted"} == {change["action"] for change in removed["changes"]}
    assert before == desk.tree()
    assert [] == desk.installs()


@pytest.mark.parametrize(("client", "scope"), _SERVERS)
def test_the_entry_starts_our_server(desk: Desk, client: str, scope: Scope) -> None:
    """For a user it names this interpreter and our file word by word, in a project the command on the PATH."""
    desk.hook("install", "--client", client, "--scope", scope, "--mcp")

    entry = _entry(client, _path(desk, CLIENTS[client].server, scope))

    program = ["hybrid"] if scope == "project" else [sys.executable, "-I", "-S", str(ENTRY)]
    expected = _server(client).entry([*program, "mcp", "--client", client])
    assert expected == entry
    assert (*program, "mcp", "--client", client) == words_of(entry)


@pytest.mark.parametrize("form", ["plain", "mark", "lines of Windows"])
@pytest.mark.parametrize(("client", "scope"), _SERVERS)
def test_settings_with_another_server_come_back_to_the_byte(desk: Desk, client: str, scope: Scope, form: str) -> None:
    """Comments, other servers, a byte order mark and line ends are kept while installed and after removal."""
    path = _path(desk, CLIENTS[client].server, scope)
    text = _others(client)
    text = {"plain": text, "mark": f"\ufeff{text}", "lines of Windows": text.replace("\n", "\r\n")}[form]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())

    desk.hook("install", "--client", client, "--scope", scope, "--mcp")
    installed = path.read_bytes().decode()
    desk.hook("uninstall", "--client", client)

    added = installed
    for line in text.splitlines():
        assert line.strip().strip(",}") in installed
    assert "other" in added
    assert ("\n" in installed.replace("\r\n", "")) == (form != "lines of Windows")
    assert text.encode() == path.read_bytes()
    assert [] == desk.installs()


@pytest.mark.parametrize(("client", "scope"), _SERVERS)
def test_an_entry_goes_from_a_file_that_was_changed_since(desk: Desk, client: str, scope: Scope) -> None:
    """What someone wrote after the installation stays, without any record too."""
    path = _path(desk, CLIENTS[client].server, scope)
    text = _others(client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    for has_record in (True, False):
        desk.hook("install", "--client", client, "--scope", scope, "--mcp")
        path.write_bytes(path.read_bytes().replace(b"mine", b"yours"))
        if not has_record:
            for file in desk.installs():
                file.unlink()

        desk.hook("uninstall", "--client", client)

        assert text.replace("mine", "yours").encode() == path.read_bytes()
        path.write_bytes(text.encode())


@pytest.mark.parametrize(("client", "scope"), _SERVERS)
def test_a_server_of_someone_else_with_our_name_is_left_alone(desk: Desk, client: str, scope: Scope) -> None:
    """It is not replaced, not listed and not removed, and nothing else is written then."""
    path = _path(desk, CLIENTS[client].server, scope)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _others(client).replace("other", "hybrid")
    path.write_bytes(text.encode())
    before = desk.tree()

    said = desk.error("install", "--client", client, "--scope", scope, "--mcp")

    assert f"hybrid: {path} is not changed: there is a server `hybrid` that is not ours: rename it" == said
    assert {} == desk.json("status")["installed"]
    assert "Nothing of hybrid was registered\n" == desk.hook("uninstall")
    assert before == desk.tree()


@pytest.mark.parametrize("client", [name for name, scope in _SERVERS if scope == "user"])
def test_an_entry_of_an_older_program_is_told_and_replaced(desk: Desk, client: str) -> None:
    """The interpreter is gone: the status says so, installing again mends the entry, and what was added to it stays."""
    path = _path(desk, CLIENTS[client].server, "user")
    desk.hook("install", "--client", client, "--mcp")
    path.write_bytes(path.read_bytes().replace(sys.executable.encode(), b"/gone/python"))

    told = [place for place in desk.json("status")["installed"][client]["places"] if place["kind"] == "mcp"]
    mended = desk.json("install", "--client", client, "--mcp")
    desk.hook("uninstall", "--client", client)

    assert [(False, "/gone/python")] == [(place["is_runnable"], place["program"]) for place in told]
    assert "updated" in [change["action"] for change in (mended, *mended["also"])]
    assert not path.exists()


@pytest.mark.parametrize(("client", "ours"), [("cline-cli", b"60"), ("goose", b"300")])
def test_a_longer_time_of_the_user_stays(desk: Desk, client: str, ours: bytes) -> None:
    """We write a time where there is none; who has a slow machine may change it, and hears nothing of it."""
    path = _path(desk, CLIENTS[client].server, "user")
    desk.hook("install", "--client", client, "--mcp")
    assert ours in path.read_bytes()
    path.write_bytes(changed := path.read_bytes().replace(ours, b"900"))

    told = [place for place in desk.json("status")["installed"][client]["places"] if place["kind"] == "mcp"]
    desk.hook("install", "--client", client, "--mcp")

    assert [""] == [place.get("outdated") or "" for place in told]
    assert changed == path.read_bytes()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_server_that_cannot_start_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_there: bool
) -> None:
    """Without the extra the entry is written all the same, and a note says what is missing."""
    monkeypatch.setenv("HOME", str(desk.user))
    monkeypatch.setenv("HYBRID_HOME", str(desk.shop.home))
    monkeypatch.setattr("hybrid.cli.installing.find_spec", {"mcp": is_there}.get)

    code = run(
        ["hook", "install", "--client", "cursor", "--mcp", "--dry-run", "--project", str(desk.root)], started_s=0.0
    )

    assert 0 == code
    assert is_there == ("without the extra `mcp`" not in capsys.readouterr().out)


def test_a_dry_run_writes_no_part(desk: Desk) -> None:
    """The difference of each file is shown, none is written."""
    before = desk.tree()

    said = desk.hook("install", "--client", "codex", "--mcp", "--rules", "--dry-run")

    assert "+[mcp_servers.hybrid]" in said
    assert f"+{BEGIN} codex -->" in said
    assert before == desk.tree()
    assert [] == desk.installs()


def test_the_parts_of_one_file_go_together_or_apart(desk: Desk) -> None:
    """Hooks and entry stand in one file of Gemini CLI: `--mcp` takes the entry alone, and the last gives the original."""
    path = desk.user / ".gemini" / "settings.json"
    path.parent.mkdir()
    text = '{\n  // mine\n  "theme": "dark"\n}\n'
    path.write_text(text, encoding="utf-8")
    desk.hook("install", "--client", "gemini")
    hooks_only = path.read_bytes()
    desk.hook("install", "--client", "gemini", "--mcp")
    both = path.read_bytes()

    desk.hook("uninstall", "--client", "gemini", "--mcp")
    without_entry = path.read_bytes()
    desk.hook("uninstall", "--client", "gemini")
    original = path.read_text(encoding="utf-8")
    desk.hook("install", "--client", "gemini", "--mcp")
    desk.hook("uninstall", "--client", "gemini")

    assert b"mcpServers" in both
    assert hooks_only == without_entry
    assert text == original == path.read_text(encoding="utf-8")
    assert [] == desk.installs()


def test_what_codex_notes_in_our_table_stays(desk: Desk) -> None:
    """Codex notes approved tools in tables below ours: they stay when the program changes, and go with the entry."""
    path = desk.user / ".codex" / "config.toml"
    desk.hook("install", "--client", "codex", "--mcp")
    noted = '\n[mcp_servers.hybrid.tools.search]\napproval_mode = "approve"\n'
    path.write_text(path.read_text(encoding="utf-8").replace(sys.executable, "/gone/python") + noted, encoding="utf-8")

    desk.hook("install", "--client", "codex", "--mcp")
    mended = path.read_text(encoding="utf-8")
    desk.hook("uninstall", "--client", "codex")

    assert mended.endswith(noted)
    assert sys.executable in mended
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    ['mcp_servers = { other = { command = "x" } }\n', '[mcp_servers]\nhybrid.command = "hybrid mcp --client codex"\n'],
)
def test_a_table_in_a_form_of_its_own_is_refused(desk: Desk, text: str) -> None:
    """Where lines cannot hold the entry the file stays, and the message says what to do."""
    path = desk.user / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")

    said = desk.error("install", "--client", "codex", "--mcp")

    assert "by hand" in said
    assert text == path.read_text(encoding="utf-8")
    assert [path] == list(path.parent.iterdir())


# --- instructions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("client", "scope"), _RULES)
def test_rules_of_the_user_come_back_to_the_byte(desk: Desk, client: str, scope: Scope) -> None:
    """The block stands after what was there, and goes without a trace, also from a file that was changed since."""
    path = _path(desk, CLIENTS[client].rules, scope)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\ufeff# Rules\r\n\r\nBe brief."
    path.write_bytes(text.encode())

    desk.hook("install", "--client", client, "--scope", scope, "--rules")
    installed = path.read_bytes().decode()
    desk.hook("uninstall", "--client", client)
    restored = path.read_bytes().decode()
    desk.hook("install", "--client", client, "--scope", scope, "--rules")
    path.write_bytes(path.read_bytes() + b"More.\r\n")
    desk.hook("uninstall", "--client", client)

    assert installed.startswith(f"{text}\r\n\r\n{BEGIN} {client} -->\r\n")
    assert installed.endswith(f"\r\n{END}\r\n")
    assert text == restored
    assert f"{text}\r\nMore.\r\n" == path.read_bytes().decode()


def test_one_block_serves_all_clients_that_read_the_file(desk: Desk) -> None:
    """AGENTS.md holds the block once; it goes with the last client, and the file with it, for it was ours alone."""
    path = desk.root / "AGENTS.md"
    for client in ("codex", "opencode", "copilot"):
        desk.hook("install", "--client", client, "--scope", "project", "--rules")
    all_three = path.read_text(encoding="utf-8")

    desk.hook("uninstall", "--client", "opencode")
    two = path.read_text(encoding="utf-8")
    listed = [
        name for name, part in desk.json("status")["installed"].items() for p in part["places"] if p["kind"] == "rules"
    ]
    said = desk.hook("uninstall")

    assert 1 == all_three.count(BEGIN)
    assert f"{BEGIN} codex, opencode, copilot -->" == all_three.splitlines()[0]
    assert all_three.replace("opencode, ", "") == two
    assert ["codex", "copilot"] == listed
    assert "Codex, Copilot CLI is no longer told" not in said
    assert not path.exists()
    assert [] == desk.installs()


def test_a_block_of_a_colleague_goes_without_a_record(desk: Desk, tmp_path: Path) -> None:
    """The first mark says whom a block is for: another home removes its own name, and the block with the last one."""
    path = desk.root / "AGENTS.md"
    path.write_text("# Rules\n", encoding="utf-8")
    other = Desk(Shop(desk.root, tmp_path / "other-home"), desk.user)
    desk.hook("install", "--client", "codex", "--scope", "project", "--rules")
    other.hook("install", "--client", "opencode", "--scope", "project", "--rules")

    other.hook("uninstall", "--client", "codex")
    left = path.read_text(encoding="utf-8")
    other.hook("uninstall", "--client", "opencode")

    assert f"# Rules\n\n{BEGIN} opencode -->\n" == left[: left.index("-->") + 4]
    assert "# Rules\n" == path.read_text(encoding="utf-8")


def test_an_instruction_of_another_version_is_told_and_replaced(desk: Desk) -> None:
    """What stands between the marks is ours: it is compared, and written anew."""
    path = desk.root / "AGENTS.md"
    desk.hook("install", "--client", "codex", "--scope", "project", "--rules")
    current = path.read_text(encoding="utf-8")
    path.write_text(current.replace("`recall`", "`remind`"), encoding="utf-8")

    told = desk.json("status")["installed"]["codex"]["places"][-1]
    desk.hook("install", "--client", "codex", "--scope", "project", "--rules")

    assert "the instruction is not the one of this version" == told["outdated"]
    assert "hybrid hook install --client codex --scope project --rules" == told["renewal"]
    assert current == path.read_text(encoding="utf-8")


def test_a_block_without_its_end_is_left_alone(desk: Desk) -> None:
    """Nobody can tell what of the file is ours: one line says so."""
    path = desk.root / "AGENTS.md"
    path.write_text(f"{BEGIN} codex -->\nwords\n", encoding="utf-8")

    said = desk.error("install", "--client", "codex", "--scope", "project", "--rules")
    removed = desk.error("uninstall")

    assert f"hybrid: {path} is not changed: after `{BEGIN}` there is no `{END}`; take that block out by hand" == said
    assert said == removed
    assert f"{BEGIN} codex -->\nwords\n" == path.read_text(encoding="utf-8")


def test_removal_reaches_instructions_of_other_projects(desk: Desk, tmp_path: Path) -> None:
    """`--scope all` follows the records; files of other projects are named before."""
    other = Desk(Shop(git_project(tmp_path / "elsewhere"), desk.shop.home), desk.user)
    other.hook("install", "--client", "codex", "--scope", "project", "--mcp", "--rules")

    here = desk.hook("uninstall")
    desk.hook("uninstall", "--scope", "all")

    for name in ("AGENTS.md", ".codex/config.toml", ".codex/hooks.json"):
        assert f"{other.root / name} still calls hybrid, in another project" in here
        assert not (other.root / name).exists()
    assert [] == desk.installs()


def test_doctor_lists_every_part(desk: Desk) -> None:
    """The server and the instruction are named beside the hooks, and count for no double."""
    desk.hook("install", "--client", "codex", "--mcp", "--rules")
    environ = {"HOME": str(desk.user), "CODEX_HOME": "", "XDG_CONFIG_HOME": ""}
    found = json.loads(desk.shop.run("doctor", "--json", "--no-trial", **environ).stdout)
    said = [finding["what"] for finding in found["findings"] if finding["area"] == "hooks"]

    assert f"codex (user) in {desk.user / '.codex' / 'config.toml'}: MCP server" in said
    assert f"codex (user) in {desk.user / '.codex' / 'AGENTS.md'}: instruction" in said
    assert not [what for what in said if "places" in what]
