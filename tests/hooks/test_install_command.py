from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from hybrid.hooks.install.clients import CLIENTS
from hybrid.hooks.install.command import ENTRY
from tests.support.builders import Shop, git_project
from tests.support.installs import MOVED, Desk

_FILES = {
    "claude": (".claude/settings.json", ".claude/settings.json"),
    "codex": (".codex/hooks.json", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "qwen": (".qwen/settings.json", ".qwen/settings.json"),
    "copilot": (".copilot/hooks/hybrid.json", ".github/hooks/hybrid.json"),
    "opencode": (".config/opencode/plugin/hybrid.js", ".opencode/plugin/hybrid.js"),
}
SETTINGS = '{\n    // mine\n    "model": "opus",\n    "hooks": {\n        "Stop": [\n            {"hooks": [{"type": "command", "command": "beep"}]},\n        ],\n    },\n}\n'


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("client", list(_FILES))
def test_every_client_is_installed_and_leaves_nothing(desk: Desk, client: str, scope: str) -> None:
    """The file of the scope calls us, a second time changes nothing, and removal takes files, folders and records."""
    before = desk.tree()
    path = (desk.user if scope == "user" else desk.root) / _FILES[client][scope == "project"]

    first = desk.json("install", "--client", client, "--scope", scope)
    text = path.read_text(encoding="utf-8")
    second = desk.hook("install", "--client", client, "--scope", scope)
    status = desk.json("status")["installed"]
    removed = desk.json("uninstall", "--client", client)

    assert ("installed", str(path)) == (first["action"], first["path"])
    assert f"already installed for {CLIENTS[client].label}: {path}" == second.splitlines()[0]
    assert [client] == list(status)
    assert (scope, str(path)) == (status[client]["scope"], status[client]["path"])
    assert list(CLIENTS[client].events) == status[client]["events"]
    assert (str(ENTRY) in text, sys.executable in text) == ((scope == "user"),) * 2
    if scope == "project":
        assert str(desk.shop.home.parent) not in text
        assert "/usr/" not in text
    assert ["deleted"] == [change["action"] for change in removed["changes"]]
    assert before == desk.tree()
    assert [] == desk.installs()


def test_settings_of_the_user_come_back_to_the_byte(desk: Desk) -> None:
    """Comments, commas and order are kept while installed, and after removal the file is what it was, rights included."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS, encoding="utf-8")
    path.chmod(0o640)

    desk.hook("install", "--client", "claude")
    installed = path.read_text(encoding="utf-8")
    desk.hook("uninstall", "--client", "claude")

    assert installed.startswith('{\n    // mine\n    "model": "opus",\n    "hooks": {\n        "Stop": [\n')
    assert '{"hooks": [{"type": "command", "command": "beep"}]},\n' in installed
    assert SETTINGS == path.read_text(encoding="utf-8")
    assert 0o640 == stat.S_IMODE(path.stat().st_mode)
    assert [] == desk.installs()


def test_what_was_written_since_survives_removal(desk: Desk) -> None:
    """After an edit by someone else only our entries go, and the lists that were made for them."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS, encoding="utf-8")
    desk.hook("install", "--client", "claude")
    path.write_text(path.read_text(encoding="utf-8").replace('"opus"', '"sonnet"'), encoding="utf-8")

    said = desk.hook("uninstall")

    assert SETTINGS.replace('"opus"', '"sonnet"') == path.read_text(encoding="utf-8")
    assert "our entries are out of" in said
    assert [] == desk.installs()


def test_a_new_version_of_ours_keeps_the_original(desk: Desk) -> None:
    """Older entries are replaced; what is restored later is the file without any of ours, old or new."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    old = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "hybrid hook inject-context"}]}]}}
    path.write_text(json.dumps({"model": "opus"} | old, indent=2) + "\n", encoding="utf-8")

    change = desk.json("install", "--client", "claude")
    installed = path.read_text(encoding="utf-8")
    desk.hook("uninstall", "--client", "claude")

    assert "updated" == change["action"]
    assert "inject-context" not in installed
    assert '{\n  "model": "opus"\n}\n' == path.read_text(encoding="utf-8")


_OLD_MATCHERS = {
    "claude": "Agent|Task|Edit|MultiEdit|Write|NotebookEdit",
    "codex": "apply_patch|Edit|Write",
    "gemini": "write_file|replace",
    "qwen": "write_file|edit|notebook_edit",
}


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("client", _OLD_MATCHERS)
def test_an_entry_for_fewer_tools_is_told_and_replaced(desk: Desk, client: str, scope: str) -> None:
    """What an earlier version wrote is named with its remedy; installing again leaves one entry, and the others' alone."""
    path = (desk.user if scope == "user" else desk.root) / _FILES[client][scope == "project"]
    desk.hook("install", "--client", client, "--scope", scope)
    current = json.loads(path.read_text(encoding="utf-8"))
    event = next(name for name in ("PostToolUse", "AfterTool") if name in current["hooks"])
    foreign = {"matcher": "Bash", "hooks": [{"type": "command", "command": "beep"}]}
    [entry] = current["hooks"][event]
    old = current | {"hooks": current["hooks"] | {event: [{"matcher": _OLD_MATCHERS[client]} | entry, foreign]}}
    path.write_text(json.dumps(old, indent=2), encoding="utf-8")

    told = desk.json("status")["installed"][client]
    mended = desk.json("install", "--client", client, "--scope", scope)
    entries = json.loads(path.read_text(encoding="utf-8"))["hooks"]

    assert f"registered for fewer tools than now ({event} for {_OLD_MATCHERS[client]})" == told["outdated"]
    assert f"hybrid hook install --client {client}" + " --scope project" * (scope == "project") == told["renewal"]
    assert "updated" == mended["action"]
    assert current["hooks"] | {event: [foreign, entry]} == entries
    assert desk.json("status")["installed"][client]["outdated"] is None


def test_an_entry_for_fewer_events_is_told_and_replaced(desk: Desk) -> None:
    """An event that an earlier version did not ask for; what was asked for besides is in the remedy."""
    path = desk.user / ".gemini" / "settings.json"
    desk.hook("install", "--client", "gemini")
    current = path.read_text(encoding="utf-8")
    old = json.loads(current)
    del old["hooks"]["AfterAgent"]
    path.write_text(json.dumps(old), encoding="utf-8")

    told = desk.json("status")["installed"]["gemini"]
    desk.hook("install", "--client", "gemini")

    assert "registered for fewer events than now (without AfterAgent)" == told["outdated"]
    assert json.loads(current) == json.loads(path.read_text(encoding="utf-8"))


def test_a_module_of_an_earlier_version_is_told_and_replaced(desk: Desk) -> None:
    """OpenCode's module holds events and tools in its code: it is compared as a whole, but for the command in it."""
    path = desk.user / ".config" / "opencode" / "plugin" / "hybrid.js"
    desk.hook("install", "--client", "opencode")
    current = path.read_text(encoding="utf-8")
    path.write_text(current.replace('"session.idle"', '"session.gone"'), encoding="utf-8")

    told = desk.json("status")["installed"]["opencode"]
    desk.hook("install", "--client", "opencode")

    assert "the module is not the one of this version" == told["outdated"]
    assert current == path.read_text(encoding="utf-8")
    assert desk.json("status")["installed"]["opencode"]["outdated"] is None


def test_removal_needs_no_record(desk: Desk) -> None:
    """On another machine a shared project file loses our entries too."""
    path = desk.root / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text('{\n  "theme": "dark", // nice\n}\n', encoding="utf-8")
    desk.hook("install", "--client", "gemini", "--scope", "project")
    for file in (desk.shop.home / "installs").iterdir():
        file.unlink()

    desk.hook("uninstall")

    assert '{\n  "theme": "dark", // nice\n}\n' == path.read_text(encoding="utf-8")


def test_a_dry_run_shows_and_writes_nothing(desk: Desk) -> None:
    """`--dry-run` prints the difference; neither the settings nor our own folder change."""
    before = desk.tree()

    said = desk.hook("install", "--client", "claude", "--dry-run")

    assert f"Would write {desk.user / '.claude' / 'settings.json'}:" == said.splitlines()[0]
    assert '+            "command": "' in said
    assert before == desk.tree()
    assert [] == desk.installs()


def test_a_file_that_does_not_parse_is_left_alone(desk: Desk) -> None:
    """One line says why, nothing is changed; removal complains only where the file seems to call us."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"model": ', encoding="utf-8")

    said = desk.error("install", "--client", "claude")

    assert (
        f"hybrid: {path} is not changed, for it does not parse (line 1: a value is missing or misspelt): repair it first"
        == said
    )
    assert '{"model": ' == path.read_text(encoding="utf-8")
    assert "Nothing of hybrid was registered\n" == desk.hook("uninstall")
    path.write_text('{"command": "hybrid hook run --client claude', encoding="utf-8")
    assert "does not parse" in desk.error("uninstall")


def test_two_places_of_one_client_are_refused(desk: Desk) -> None:
    """Hooks of all scopes add up, so a second place needs `--force`, and the status names both."""
    desk.hook("install", "--client", "claude", "--scope", "project")

    said = desk.error("install", "--client", "claude")
    forced = desk.hook("install", "--client", "claude", "--scope", "local", "--force")
    places = desk.json("status")["installed"]["claude"]["places"]
    desk.hook("uninstall", "--client", "claude", "--scope", "local")

    assert f"Claude Code calls hybrid already from {desk.root / '.claude' / 'settings.json'} (project)" in said
    assert "each prompt is answered twice" in forced
    assert ["project", "local"] == [place["scope"] for place in places]
    assert 1 == len(desk.json("status")["installed"]["claude"]["places"])


def test_the_plugin_counts_as_a_place(desk: Desk) -> None:
    """Where Claude Code has our plugin switched on, settings are not written besides."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"enabledPlugins": {"hybrid@hybrid": true}}', encoding="utf-8")

    said = desk.error("install", "--client", "claude", "--scope", "project")

    assert f"already from {path} (plugin)" in said
    assert "plugin" == desk.json("status")["installed"]["claude"]["scope"]
    assert "claude plugin uninstall hybrid@hybrid" in desk.hook("uninstall")
    path.write_text('{"enabledPlugins": {"hybrid@hybrid": false}}', encoding="utf-8")
    assert {} == desk.json("status")["installed"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_for_the_user_and_refused_in_a_project(desk: Desk, tmp_path: Path) -> None:
    """A file that a dotfile manager links stays a link; a project's link is not written through."""
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n", encoding="utf-8")
    for folder in (desk.user, desk.root):
        (folder / ".claude").mkdir()
        (folder / ".claude" / "settings.json").symlink_to(real)

    refused = desk.error("install", "--client", "claude", "--scope", "project")
    desk.hook("install", "--client", "claude")
    is_written = "entry.py" in real.read_text(encoding="utf-8")
    refused_too = desk.error("uninstall", "--client", "claude", "--scope", "project")
    desk.hook("uninstall", "--client", "claude", "--scope", "user")
    unlinked = desk.hook("uninstall", "--client", "claude")

    assert (
        f"hybrid: {desk.root / '.claude' / 'settings.json'} is a link: settings of a project are not written through links"
        == refused
    )
    assert is_written
    assert refused == refused_too
    assert "Nothing of hybrid was registered\n" == unlinked
    assert (desk.user / ".claude" / "settings.json").is_symlink()
    assert "{}\n" == real.read_text(encoding="utf-8")


@pytest.mark.parametrize("client", ["codex", "gemini", "qwen", "copilot", "opencode"])
def test_the_local_scope_is_claude_codes(desk: Desk, client: str) -> None:
    """Other clients have no file for one user in one project."""
    said = desk.error("install", "--client", client, "--scope", "local")

    assert f"hybrid: {CLIENTS[client].label} has no local scope: use --scope user or --scope project" == said


def test_variables_move_a_clients_folder(desk: Desk, tmp_path: Path) -> None:
    """Where the client honours a variable for its folder, so do we."""
    environ = {"HOME": str(desk.user), "CODEX_HOME": str(tmp_path / "cx"), "CLAUDE_CONFIG_DIR": str(tmp_path / "cl")}
    for client in ("codex", "claude"):
        desk.shop.out("hook", "install", "--client", client, **environ)

    assert (tmp_path / "cx" / "hooks.json").is_file()
    assert (tmp_path / "cl" / "settings.json").is_file()
    assert not any(desk.user.iterdir())


def test_trust_is_told_and_never_written(desk: Desk) -> None:
    """Codex needs a step of the user; projects need a trusted folder; the notes say so."""
    codex = desk.hook("install", "--client", "codex")
    qwen = desk.hook("install", "--client", "qwen", "--scope", "project")

    assert "type /hooks" in codex
    assert "trusted folders only" in qwen
    assert [".codex"] == [path.name for path in desk.user.iterdir()]


def test_systems_that_hybrid_replaces_are_named_and_switched_off_on_request(desk: Desk) -> None:
    """Their hooks and plugins are told at once, go only with `--replace`, and a copy of the file is kept."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    hooks = {
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "~/.config/claude-recall/inject.sh"}]}],
        "SessionStart": [
            {
                "hooks": [
                    {"type": "command", "command": "/opt/lore/lore.sh resume"},
                    {"type": "command", "command": "date"},
                ]
            }
        ],
    }
    text = json.dumps({"enabledPlugins": {"claude-mem@thedotmack": True}, "hooks": hooks}, indent=2)
    path.write_text(text, encoding="utf-8")

    told = desk.hook("install", "--client", "claude")
    kept = path.read_text(encoding="utf-8")
    replaced = desk.hook("install", "--client", "claude", "--replace")
    copies = [file.read_text(encoding="utf-8") for file in desk.installs() if file.parent.name == "replaced"]
    without = json.loads(path.read_text(encoding="utf-8"))
    said = desk.hook("uninstall", "--client", "claude")

    assert "--replace switches them off" in told
    assert "claude-recall/inject.sh" in kept
    assert "switched off claude-recall: UserPromptSubmit" in replaced
    assert [kept] == copies
    assert {"claude-mem@thedotmack": False} == without["enabledPlugins"]
    assert {"hooks": [{"type": "command", "command": "date"}]} in without["hooks"]["SessionStart"]
    assert f"Claude Code no longer calls hybrid: {path} is as it was before\n" == said
    assert text == path.read_text(encoding="utf-8")


_OTHERS = {
    "hooks": {
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "~/.config/claude-recall/inject.sh"}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "/opt/lore/lore.sh resume"}]}],
    }
}


@pytest.mark.parametrize("is_first", [False, True], ids=["installed before", "replace at once"])
def test_uninstall_gives_back_what_replace_took(desk: Desk, *, is_first: bool) -> None:
    """Uninstall said "is as it was before", but the hooks that `--replace` took out were gone (#16)."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    text = json.dumps(_OTHERS, indent=2)
    path.write_text(text, encoding="utf-8")
    if not is_first:
        desk.hook("install", "--client", "claude")
    desk.hook("install", "--client", "claude", "--replace")
    desk.hook("install", "--client", "claude", "--replace")

    said = desk.hook("uninstall", "--client", "claude")

    assert f"Claude Code no longer calls hybrid: {path} is as it was before\n" == said
    assert text == path.read_text(encoding="utf-8")
    assert not desk.installs()


@pytest.mark.parametrize(("scope", "n_left"), [("user", 0), ("project", 1), ("local", 2)])
def test_no_wider_scope_is_switched_off(desk: Desk, scope: str, n_left: int) -> None:
    """An installation for one project took the user's hooks out of all projects, and uninstall left them out (#16)."""
    names = {"user": desk.user / ".claude/settings.json", "project": desk.root / ".claude/settings.json"}
    names["local"] = desk.root / ".claude/settings.local.json"
    text = json.dumps(_OTHERS, indent=2)
    for path in names.values():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    said = desk.hook("install", "--client", "claude", "--scope", scope, "--replace")

    assert n_left == sum("recall" in path.read_text(encoding="utf-8") for path in names.values())
    assert n_left * 2 == said.count("from a wider scope")

    desk.hook("uninstall", "--client", "claude")

    assert {text} == {path.read_text(encoding="utf-8") for path in names.values()}


@pytest.mark.parametrize("is_link", [False, True], ids=["ours cannot be read", "one of theirs is a link"])
def test_nothing_is_switched_off_where_we_cannot_be_installed(desk: Desk, *, is_link: bool) -> None:
    """Their hooks in other files of the client were gone, and the error said nothing of it (#16)."""
    ours, theirs = (folder / ".claude" / "settings.json" for folder in (desk.user, desk.root))
    for path in (ours, theirs):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(_OTHERS, indent=2), encoding="utf-8")
    if is_link:
        (desk.root / "elsewhere.json").write_bytes(theirs.read_bytes())
        theirs.unlink()
        theirs.symlink_to(desk.root / "elsewhere.json")
    else:
        ours.write_text('{"hooks": ', encoding="utf-8")
    before = ours.read_text(encoding="utf-8")

    said = desk.error("install", "--client", "claude", "--replace")

    assert ("is a link" in said) == is_link
    assert before == ours.read_text(encoding="utf-8")
    assert _OTHERS == json.loads(theirs.read_text(encoding="utf-8"))
    assert not desk.installs()


def test_a_copy_goes_with_the_last_file_that_needs_it(desk: Desk) -> None:
    """The copy of `--replace` holds all settings, secrets too: nothing is missing, so it is removed (#16).

    Two projects with the same settings share one.
    """
    text = json.dumps(_OTHERS, indent=2)
    other = git_project(desk.root.parent / "other")
    for root in (desk.root, other):
        (root / ".claude").mkdir(exist_ok=True)
        (root / ".claude" / "settings.json").write_text(text, encoding="utf-8")
        desk.hook("install", "--client", "claude", "--scope", "project", "--replace", cwd=root)
    n_copies = [sum(file.parent.name == "replaced" for file in desk.installs())]
    for root in (desk.root, other):
        desk.hook("uninstall", "--client", "claude", "--scope", "project", cwd=root)
        n_copies.append(sum(file.parent.name == "replaced" for file in desk.installs()))

    assert [1, 1, 0] == n_copies
    assert text == (other / ".claude" / "settings.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("is_removed", [False, True], ids=["edited", "ours taken out by hand"])
def test_uninstall_names_what_it_cannot_give_back(desk: Desk, *, is_removed: bool) -> None:
    """Where somebody wrote since, the hooks that `--replace` took out and the kept copy are named (#16)."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(_OTHERS, indent=2), encoding="utf-8")
    desk.hook("install", "--client", "claude", "--replace")
    now = {} if is_removed else json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(now | {"model": "opus"}), encoding="utf-8")
    (copy,) = (file for file in desk.installs() if file.parent.name == "replaced")

    said = desk.hook("uninstall", "--client", "claude").splitlines()

    assert 3 == len(said)
    assert "as it was before" not in said[0]
    assert (
        "Note: --replace took these hooks out, and they are not back: UserPromptSubmit: ~/.config/claude-recall/inject.sh; "
        "SessionStart: /opt/lore/lore.sh resume"
    ) == said[1]
    assert f"Note: the settings with them are kept as {copy}" == said[2]
    assert _OTHERS == json.loads(copy.read_text(encoding="utf-8"))


def test_what_the_user_put_back_is_not_missing(desk: Desk) -> None:
    """A hook that its owner registered again by hand is not told of (#16)."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(_OTHERS), encoding="utf-8")
    desk.hook("install", "--client", "claude", "--replace")
    now = json.loads(path.read_text(encoding="utf-8"))
    for event, groups in _OTHERS["hooks"].items():
        now["hooks"].setdefault(event, []).extend(groups)
    path.write_text(json.dumps(now), encoding="utf-8")

    said = desk.hook("uninstall", "--client", "claude")

    assert f"Claude Code no longer calls hybrid: our entries are out of {path}, the rest is as it was\n" == said


def test_an_edit_before_replace_is_not_lost(desk: Desk) -> None:
    """What the user wrote between install and `--replace` is there after uninstall, with the hooks (#16)."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(_OTHERS), encoding="utf-8")
    desk.hook("install", "--client", "claude")
    now = json.loads(path.read_text(encoding="utf-8")) | {"model": "opus"}
    path.write_text(json.dumps(now), encoding="utf-8")
    desk.hook("install", "--client", "claude", "--replace")

    desk.hook("uninstall", "--client", "claude")

    assert _OTHERS | {"model": "opus"} == json.loads(path.read_text(encoding="utf-8"))


def test_a_read_only_folder_is_one_line(desk: Desk) -> None:
    """Where the settings cannot be written, nothing is remembered either."""
    if os.geteuid() == 0:
        (desk.user / ".claude").write_text("a file in the place of the folder", encoding="utf-8")
    else:
        (desk.user / ".claude").mkdir(mode=0o500)

    said = desk.error("install", "--client", "claude")

    assert said.startswith("hybrid: ")
    assert [] == desk.installs()


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
    other.hook("install", "--client", "claude", "--scope", "local")
    path = other.root / ".claude" / "settings.local.json"

    left = desk.json("uninstall")
    said = desk.hook("uninstall")
    kept = path.exists()
    removed = desk.json("uninstall", "--scope", "all")

    assert ([], [str(path)]) == (left["changes"], left["left"])
    assert f"Note: {path} still calls hybrid, in another project: --scope all removes that too" in said
    assert kept
    assert [("local", "deleted")] == [(each["scope"], each["action"]) for each in removed["changes"]]
    assert not path.parent.exists()
    assert [] == desk.installs()


def test_a_plugin_of_the_same_file_is_another_place(desk: Desk) -> None:
    """The plugin is switched on in the very file that would take our hooks: refused with the command that removes it."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"enabledPlugins": {"hybrid@hybrid": true}}', encoding="utf-8")

    said = desk.error("install", "--client", "claude")

    assert "(plugin), and hooks add up: claude plugin uninstall hybrid@hybrid, or use --force" in said


def test_what_a_killed_process_left_goes_with_the_hooks(desk: Desk) -> None:
    """A half-written file beside the settings, and one beside the record, are taken away; files of others stay."""
    desk.hook("install", "--client", "claude")
    folder = desk.user / ".claude"
    (folder / ".settings.json.12.345.tmp").write_text("{")
    (folder / ".settings.json.mine.tmp").write_text("{")
    (desk.shop.home / "installs" / ".0123456789abcdef.original.12.345.tmp").write_text("{")

    desk.hook("uninstall", "--client", "claude")

    assert [".settings.json.mine.tmp"] == [path.name for path in folder.iterdir()]
    assert [] == desk.installs()


def test_gemini_forgets_the_hooks_it_has_seen(desk: Desk) -> None:
    """Its own list of project hooks loses our commands of this project; those of others and of other projects stay."""
    desk.hook("install", "--client", "gemini", "--scope", "project")
    line = "hybrid:hybrid hook run --client gemini --event BeforeAgent 2>/dev/null || true"
    other = desk.user / "other"
    (other / ".gemini").mkdir(parents=True)
    (other / ".gemini" / "settings.json").write_bytes((desk.root / ".gemini" / "settings.json").read_bytes())
    path = desk.user / ".gemini" / "trusted_hooks.json"
    path.parent.mkdir()
    rest = {"/elsewhere": ["x:y"], str(other): [line], str(desk.root): ["lint:hybrid-linter hook run"]}
    path.write_text(json.dumps(rest | {str(desk.root): [line, *rest[str(desk.root)], line]}, indent=2))

    shown = desk.json("uninstall", "--client", "gemini", "--dry-run")["changes"]
    removed = desk.json("uninstall", "--client", "gemini")["changes"]
    text = path.read_text()
    path.write_text(json.dumps({str(desk.root): [line]}, indent=2))
    desk.hook("uninstall")

    assert shown == removed
    assert ["deleted", "removed"] == [each["action"] for each in removed]
    assert json.dumps(rest, indent=2) == text
    assert not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_in_a_circle_keep_nothing_from_removal(desk: Desk) -> None:
    """A settings file that leads to itself is one line for the installer, and nothing for removal of the others."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.symlink_to(path)
    desk.hook("install", "--client", "codex")

    refused = desk.error("install", "--client", "claude")
    removed = desk.json("uninstall")["changes"]

    assert f"hybrid: Too many levels of symbolic links: {path}" == refused
    assert ["codex"] == [each["client"] for each in removed]


def test_a_program_that_is_gone_is_told(desk: Desk) -> None:
    """After the interpreter moved, the status says so, and installing again mends it."""
    path = desk.user / ".codex" / "hooks.json"
    desk.hook("install", "--client", "codex")
    path.write_text(path.read_text(encoding="utf-8").replace(sys.executable, "/gone/python"), encoding="utf-8")

    gone = desk.json("status")["installed"]["codex"]
    mended = desk.hook("install", "--client", "codex")

    assert ("/gone/python", False) == (gone["program"], gone["is_runnable"])
    assert "calls hybrid anew" in mended
    assert desk.json("status")["installed"]["codex"]["is_runnable"]


def test_the_plugin_is_found_by_a_command(desk: Desk) -> None:
    """`plugin-path` prints the folder that Claude Code takes as a marketplace."""
    folder = Path(desk.hook("plugin-path").strip())

    assert (folder / ".claude-plugin" / "marketplace.json").is_file()
    assert {"path": str(folder)} == desk.json("plugin-path")


def test_what_the_client_adds_to_our_file_does_not_keep_it(desk: Desk) -> None:
    """Qwen Code notes its version in a file it finds; a file that we made goes all the same."""
    path = desk.user / ".qwen" / "settings.json"
    desk.hook("install", "--client", "qwen")
    path.write_text('{"$version": 4, ' + path.read_text(encoding="utf-8").lstrip("{"), encoding="utf-8")

    said = desk.hook("uninstall")

    assert f"Qwen Code no longer calls hybrid: {path} is deleted, it was ours alone\n" == said
    assert not any(desk.user.iterdir())


def test_an_unknown_client_is_told_the_known_ones(desk: Desk) -> None:
    """The error names every client."""
    said = desk.error("install", "--client", "emacs")

    assert f"hybrid: 'emacs' is no client; hybrid knows {', '.join(CLIENTS)}" == said
    assert all(name in desk.hook("install", "--help") for name in CLIENTS)


def test_a_client_that_reads_no_comments_is_named(desk: Desk) -> None:
    """Claude Code ignores a settings file with a comment as a whole: the installer says so, and keeps the comment."""
    path = desk.user / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS, encoding="utf-8")
    said = desk.hook("install", "--client", "claude")

    assert f"Note: {path} holds comments or trailing commas: Claude Code ignores such a file as a whole" in said
    assert "// mine" in path.read_text(encoding="utf-8")
