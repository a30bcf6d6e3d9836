"""`hybrid hook install`, `uninstall`, `status` and `plugin-path` as a user calls them.

What happens to a file is tested in `tests/unit/hooks`: here stand the choice of files, refusals, notes and output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hybrid.base.clients import clients
from hybrid.cli.main import run
from tests.support.builders import Shop, git_project
from tests.support.installs import MOVED, Desk

OTHERS = {
    "hooks": {
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "~/.config/claude-recall/inject.sh"}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "/opt/lore/lore.sh resume"}]}],
    }
}


def _claude(desk: Desk, text: str, folder: Path | None = None) -> Path:
    """Settings of Claude Code with this text, of the user or in a project."""
    path = (folder or desk.user) / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_hooks_server_and_instruction_come_and_go(desk: Desk) -> None:
    """Each file is named when it is written, found and removed, and nothing is left."""
    before = desk.tree()
    names = ["hooks.json", "config.toml", "AGENTS.md"]
    paths = [str(desk.user / ".codex" / name) for name in names]

    planned = desk.hook("install", "--client", "codex", "--mcp", "--rules", "--dry-run")
    assert before == desk.tree()
    first = desk.json("install", "--client", "codex", "--mcp", "--rules")
    second = desk.hook("install", "--client", "codex", "--mcp", "--rules").splitlines()
    places = desk.json("status")["installed"]["codex"]["places"]
    doctor = json.loads(desk.shop.run("doctor", "--json", "--no-trial", HOME=str(desk.user), CODEX_HOME="").stdout)
    removed = desk.json("uninstall")

    assert f"Would write {paths[0]}:" == planned.splitlines()[0]
    assert "+[mcp_servers.hybrid]" in planned
    assert "+<!-- hybrid:begin codex -->" in planned
    assert [("installed", path) for path in paths] == [
        (each["action"], each["path"]) for each in (first, *first["also"])
    ]
    assert [f"already installed for Codex: {path}" for path in paths] == second[:3]
    assert [*zip(("hooks", "mcp", "rules"), paths, strict=True)] == [(each["kind"], each["path"]) for each in places]
    assert [True] * 3 == [each["is_runnable"] for each in places]
    said = [finding["what"] for finding in doctor["findings"] if finding["area"] == "hooks"]
    assert f"codex (user) in {paths[1]}: MCP server" in said
    assert f"codex (user) in {paths[2]}: instruction" in said
    assert not [what for what in said if "places" in what]
    assert [("deleted", path) for path in paths] == [(each["action"], each["path"]) for each in removed["changes"]]
    assert before == desk.tree()
    assert [] == desk.installs()
    assert "Nothing of hybrid was registered\n" == desk.hook("uninstall")


def test_the_server_goes_alone_with_mcp(desk: Desk) -> None:
    """`uninstall --mcp` leaves the hooks of the same file."""
    desk.hook("install", "--client", "gemini", "--mcp")

    said = desk.hook("uninstall", "--mcp")

    path = desk.user / ".gemini" / "settings.json"
    assert (
        f"Gemini CLI no longer has the MCP server hybrid: our entries are out of {path}, the rest is as it was\n"
        == said
    )
    assert ["hooks"] == [each["kind"] for each in desk.json("status")["installed"]["gemini"]["places"]]


def test_what_is_out_of_date_is_told_and_mended(desk: Desk) -> None:
    """The interpreter moved, or an earlier version wrote less: the status says so with the command that renews it."""
    path = desk.root / ".gemini" / "settings.json"
    desk.hook("install", "--client", "gemini", "--scope", "project")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("AfterAgent", "Gone").replace('"hybrid hook', '"/gone/hybrid hook'), encoding="utf-8")

    told = desk.json("status")["installed"]["gemini"]
    mended = desk.hook("install", "--client", "gemini", "--scope", "project")

    assert ("/gone/hybrid", False) == (told["program"], told["is_runnable"])
    assert "registered for fewer events than now (without AfterAgent)" == told["outdated"]
    assert "hybrid hook install --client gemini --scope project" == told["renewal"]
    assert "calls hybrid anew" in mended
    assert desk.json("status")["installed"]["gemini"]["outdated"] is None


def test_a_file_that_does_not_parse_is_left_alone(desk: Desk) -> None:
    """One line says why, and nothing is changed."""
    path = _claude(desk, '{"model": ')

    said = desk.error("install", "--client", "claude")

    why = "it does not parse (line 1: a value is missing or misspelt): repair it first"
    assert f"hybrid: {path} is not changed, for {why}" == said
    assert '{"model": ' == path.read_text(encoding="utf-8")
    assert [] == desk.installs()


def test_two_places_of_one_client_are_refused(desk: Desk) -> None:
    """Hooks of all scopes add up, so a second place needs `--force`, and is told."""
    desk.hook("install", "--client", "claude", "--scope", "project")

    said = desk.error("install", "--client", "claude")
    forced = desk.hook("install", "--client", "claude", "--scope", "local", "--force")
    copilot = desk.hook("install", "--client", "copilot")
    places = desk.json("status")["installed"]["claude"]["places"]

    assert f"Claude Code calls hybrid already from {desk.root / '.claude' / 'settings.json'} (project)" in said
    assert "Note: Claude Code calls hybrid from 2 places: " in forced
    assert "Note: Copilot CLI has hooks of its own and runs those of " in copilot
    assert ["project", "local"] == [place["scope"] for place in places]


@pytest.mark.parametrize("scope", ["user", "project"])
def test_the_plugin_counts_as_a_place(desk: Desk, scope: str) -> None:
    """Where Claude Code has our plugin switched on, settings are not written besides, and removal names it."""
    path = _claude(desk, '{"enabledPlugins": {"hybrid@hybrid": true}}')

    said = desk.error("install", "--client", "claude", "--scope", scope)

    assert f"already from {path} (plugin), and hooks add up: claude plugin uninstall hybrid@hybrid, or use" in said
    assert "claude plugin uninstall hybrid@hybrid" in desk.hook("uninstall")
    path.write_text('{"enabledPlugins": {"hybrid@hybrid": false}}', encoding="utf-8")
    assert {} == desk.json("status")["installed"]


def test_what_a_client_has_not_is_refused(desk: Desk) -> None:
    """The error says what there is."""
    scopes = "use --scope user or --scope project"
    unknown = f"hybrid: 'emacs' is no client; hybrid knows {', '.join(clients())}"

    assert f"hybrid: Codex has no local scope: {scopes}" == desk.error(
        "install", "--client", "codex", "--scope", "local"
    )
    assert f"hybrid: Codex has no local scope: {scopes}" == desk.error(
        "uninstall", "--client", "codex", "--scope", "local"
    )
    assert "hybrid: Aider reads no MCP servers: leave out --mcp" == desk.error("install", "--client", "aider", "--mcp")
    assert unknown == desk.error("install", "--client", "emacs")
    assert all(name in desk.hook("install", "--help") for name in clients())


def test_variables_move_a_clients_folder(desk: Desk, tmp_path: Path) -> None:
    """Where the client honours a variable for its folder, so do we."""
    environ = {"HOME": str(desk.user), "CODEX_HOME": str(tmp_path / "cx"), "CLAUDE_CONFIG_DIR": str(tmp_path / "cl")}
    for client in ("codex", "claude"):
        desk.shop.out("hook", "install", "--client", client, **environ)

    assert (tmp_path / "cx" / "hooks.json").is_file()
    assert (tmp_path / "cl" / "settings.json").is_file()
    assert not any(desk.user.iterdir())


def test_notes_say_what_the_user_must_do(desk: Desk) -> None:
    """Codex wants a step of the user, Qwen Code a trusted folder; Claude Code ignores a file with comments as a whole."""
    path = _claude(desk, '{"model": "opus"} // mine\n')

    assert "type /hooks" in desk.hook("install", "--client", "codex")
    assert "trusted folders only" in desk.hook("install", "--client", "qwen", "--scope", "project")
    ignored = f"Note: {path} holds comments or trailing commas: Claude Code ignores such a file as a whole"
    assert ignored in desk.hook("install", "--client", "claude")
    assert "// mine" in path.read_text(encoding="utf-8")


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


def test_systems_that_hybrid_replaces_are_named_and_switched_off_on_request(desk: Desk) -> None:
    """They are told at once and go only with `--replace`, which names the backup; removal puts them back."""
    path = _claude(desk, text := json.dumps(OTHERS, indent=2))

    told = desk.hook("install", "--client", "claude")
    kept = path.read_text(encoding="utf-8")
    planned = desk.hook("install", "--client", "claude", "--replace", "--dry-run")
    assert kept == path.read_text(encoding="utf-8")
    replaced = desk.hook("install", "--client", "claude", "--replace")
    (backup,) = (file for file in desk.installs() if file.suffix == ".original")
    copied = backup.read_text(encoding="utf-8")
    without = path.read_text(encoding="utf-8")
    desk.hook("uninstall", "--client", "claude")

    assert "--replace switches them off" in told
    assert "claude-recall/inject.sh" in kept
    assert "would switch off claude-recall: UserPromptSubmit" in planned
    assert "switched off claude-recall: UserPromptSubmit" in replaced
    assert f"hook uninstall puts that back; a copy from before: {backup}" in replaced
    assert text == copied
    assert "inject.sh" not in without
    assert OTHERS == json.loads(path.read_text(encoding="utf-8"))
    assert [] == desk.installs()


@pytest.mark.parametrize(("scope", "n_left"), [("user", 0), ("project", 1), ("local", 2)])
def test_no_wider_scope_is_switched_off(desk: Desk, scope: str, n_left: int) -> None:
    """An installation for one project leaves the user's hooks to other projects, and removal gives all back (#16)."""
    paths = [_claude(desk, text := json.dumps(OTHERS), folder) for folder in (desk.user, desk.root)]
    paths.append(desk.root / ".claude/settings.local.json")
    paths[2].write_text(text, encoding="utf-8")
    said = desk.hook("install", "--client", "claude", "--scope", scope, "--replace")

    assert n_left == sum("recall" in path.read_text(encoding="utf-8") for path in paths)
    assert n_left * 2 == said.count("from a wider scope")

    desk.hook("uninstall", "--client", "claude")

    assert [OTHERS] * 3 == [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def test_nothing_is_switched_off_where_we_cannot_be_installed(desk: Desk) -> None:
    """Hooks of others in another file of the client were gone, and the error said nothing of it (#16)."""
    _claude(desk, '{"hooks": ')
    theirs = _claude(desk, json.dumps(OTHERS), desk.root)

    assert "does not parse" in desk.error("install", "--client", "claude", "--replace")
    assert OTHERS == json.loads(theirs.read_text(encoding="utf-8"))


def test_subagents_need_a_client_that_is_new_enough(desk: Desk, tmp_path: Path) -> None:
    """SubagentStart is registered only where `claude --version` says at least 2.1.101."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    environ = {"HOME": str(desk.user), "PATH": f"{folder}:/usr/bin:/bin"} | dict.fromkeys(MOVED, "")
    events = {}
    for version in ("2.1.100", "2.1.101", "broken"):
        program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n", encoding="utf-8")
        program.chmod(0o755)
        said = json.loads(desk.shop.out("hook", "install", "--client", "claude", "--subagents", "--json", **environ))
        events[version] = ("SubagentStart" in said["events"], any("not registered" in note for note in said["notes"]))

    assert {"2.1.100": (False, True), "2.1.101": (True, False), "broken": (False, True)} == events


def test_init_names_the_agents_it_finds(desk: Desk) -> None:
    """In a pipe `init` says which command installs the hooks of an agent that is here; afterwards it is silent."""
    (desk.user / ".codex").mkdir()
    environ = {"HOME": str(desk.user), "PATH": "/usr/bin:/bin"} | dict.fromkeys(MOVED, "")

    first = desk.shop.out("init", **environ)
    desk.hook("install", "--client", "codex")
    second = desk.shop.out("init", **environ)

    assert "Then, for your agent: hybrid hook install --client codex" == first.splitlines()[-1]
    assert "hybrid hook install" not in second


def test_removal_reaches_other_projects_where_that_is_asked_for(desk: Desk, tmp_path: Path) -> None:
    """What was installed into one project is remembered: removal in another one names it, `--scope all` takes it out."""
    other = Desk(Shop(git_project(tmp_path / "other"), desk.shop.home), desk.user)
    before = desk.tree() | other.tree()
    other.hook("install", "--client", "codex", "--scope", "project", "--mcp", "--rules")
    paths = [str(other.root / name) for name in (".codex/hooks.json", ".codex/config.toml", "AGENTS.md")]

    left = desk.json("uninstall")
    said = desk.hook("uninstall")
    removed = desk.json("uninstall", "--scope", "all")

    assert ([], sorted(paths)) == (left["changes"], sorted(left["left"]))
    for path in paths:
        assert f"Note: {path} still calls hybrid, in another project: --scope all removes that too" in said
    assert {("project", "deleted", path) for path in paths} == {
        (each["scope"], each["action"], each["path"]) for each in removed["changes"]
    }
    assert before == desk.tree() | other.tree()
    assert [] == desk.installs()


def test_gemini_forgets_the_hooks_it_has_seen(desk: Desk) -> None:
    """Its own list of project hooks loses our commands of this project; those of others and of other projects stay."""
    desk.hook("install", "--client", "gemini", "--scope", "project")
    line = "hybrid:hybrid hook run --client gemini --event BeforeAgent 2>/dev/null || true"
    path = desk.user / ".gemini" / "trusted_hooks.json"
    path.parent.mkdir()
    rest = {"/elsewhere": [line], str(desk.root): ["lint:hybrid-linter hook run"]}
    path.write_text(json.dumps(rest | {str(desk.root): [line, *rest[str(desk.root)], line]}, indent=2))

    shown = desk.json("uninstall", "--client", "gemini", "--dry-run")["changes"]
    removed = desk.json("uninstall", "--client", "gemini")["changes"]
    text = path.read_text()
    desk.hook("install", "--client", "gemini", "--scope", "project")
    path.write_text(json.dumps({str(desk.root): [line]}, indent=2))
    desk.hook("uninstall")

    assert shown == removed
    assert ["deleted", "removed"] == [each["action"] for each in removed]
    assert json.dumps(rest, indent=2) == text
    assert not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_file_that_cannot_be_read_keeps_nothing_from_removal(desk: Desk) -> None:
    """All files are tried; the first error is told at the end."""
    desk.hook("install", "--client", "claude")
    desk.hook("install", "--client", "codex")
    path = desk.user / ".claude" / "settings.json"
    path.write_text(path.read_text()[:-4])

    said = desk.error("uninstall")

    assert f"{path} is not changed" in said
    assert not (desk.user / ".codex").exists()


def test_the_plugin_is_found_by_a_command(desk: Desk) -> None:
    """`plugin-path` prints the folder that Claude Code takes as a marketplace."""
    folder = Path(desk.hook("plugin-path").strip())

    assert (folder / ".claude-plugin" / "marketplace.json").is_file()
    assert {"path": str(folder)} == desk.json("plugin-path")
