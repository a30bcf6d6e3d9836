"""Files of clients that are changed by an installation and a removal, and what `HYBRID_HOME/installs` keeps of them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.clients import clients
from hybrid.base.errors import HybridError, ProjectError
from hybrid.hooks.install import changes
from hybrid.hooks.install.changes import FileChange, install, recorded_targets, target_of, uninstall
from hybrid.hooks.install.found import find_foreign, find_installs, switch_off
from hybrid.hooks.install.merge import commands, parts_of, read
from hybrid.hooks.install.parts import ENTRY, PORTABLE, SettingsError, SettingsRoots, Wanted, absolute_launcher
from hybrid.project.installs import has_tools
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from hybrid.base.clients import Scope
    from hybrid.hooks.install.parts import Kind

KINDS: tuple[Kind, ...] = ("hooks", "mcp", "rules")
SCOPED = [
    (client.name, scope)
    for client in clients().values()
    for scope in ("user", "project", "local")
    if any(scope in part.files.places for part in parts_of(client))
]
SETTINGS = '{\n    // mine\n    "model": "opus",\n    "mcpServers": {},\n    "hooks": {\n        "Stop": [\n        ],\n    },\n}'


@dataclass(frozen=True)
class Machine:
    """A user's home, a project and a home of hybrid."""

    roots: SettingsRoots
    home: Path

    def path(self, client: str, kind: Kind = "hooks", scope: Scope = "user", text: str | None = None) -> Path:
        """The file of a part, written if there is a text for it."""
        part = next(part for part in parts_of(clients()[client]) if part.kind == kind)
        path = part.files.file(scope, self.roots)
        assert path is not None
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return path

    def install(self, client: str, *kinds: Kind, scope: Scope = "user", **how: Any) -> list[FileChange]:
        """Install some parts of a client, or all."""
        wanted = Wanted(PORTABLE if scope == "project" else absolute_launcher(), tuple(clients()[client].events))
        return [
            install(target_of(part, scope, self.roots), wanted, home=self.home, **how)
            for part in parts_of(clients()[client])
            if part.kind in (kinds or KINDS) and scope in part.files.places
        ]

    def uninstall(self, client: str, *kinds: Kind, scope: Scope = "user", **how: Any) -> list[str]:
        """Remove some parts of a client, or all; what was done."""
        return [
            uninstall(target_of(part, scope, self.roots), home=self.home, **how).action
            for part in parts_of(clients()[client])
            if part.kind in (kinds or KINDS) and scope in part.files.places
        ]

    def replace(self) -> None:
        """Switch off the hooks of other systems."""
        switch_off(find_foreign(self.roots), roots=self.roots, home=self.home)

    def tree(self) -> dict[str, bytes | None]:
        """Every file and folder of the user, of the project and of hybrid."""
        base = self.home.parent
        return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(base.rglob("*"))}


@pytest.fixture
def desk(tmp_path: Path) -> Machine:
    """An empty home and an empty project."""
    for name in ("user", "shop", "hybrid"):
        (tmp_path / name).mkdir()
    return Machine(
        SettingsRoots(tmp_path / "user", tmp_path / "shop", {"PATH": os.environ["PATH"]}), tmp_path / "hybrid"
    )


def test_what_came_with_a_clone_is_recorded(desk: Machine) -> None:
    """The file stays as it is, and an injection knows that the client has our tools."""
    desk.install("claude", "mcp", scope="project")
    shutil.rmtree(desk.home / "installs")
    assert not has_tools(desk.home, "claude", desk.roots.project_root)
    before = desk.path("claude", "mcp", "project").stat()

    [again] = desk.install("claude", "mcp", scope="project")
    assert "unchanged" == again.action
    assert before == desk.path("claude", "mcp", "project").stat()
    assert has_tools(desk.home, "claude", desk.roots.project_root)
    assert not has_tools(desk.home, "claude", desk.home)


@pytest.mark.parametrize(("client", "scope"), SCOPED)
def test_every_part_is_installed_and_leaves_nothing(desk: Machine, client: str, scope: Scope) -> None:
    """Files name us, a second time changes nothing, all are found, and files, folders and records go again."""
    before = desk.tree()
    there = [part.kind for part in parts_of(clients()[client]) if scope in part.files.places]

    first = desk.install(client, scope=scope)
    written = desk.tree()
    second = desk.install(client, scope=scope)
    found = [each for each in find_installs(desk.roots) if each.client == client]
    texts = [desk.path(client, kind, scope).read_text(encoding="utf-8") for kind in there if kind != "rules"]
    removed = desk.uninstall(client, scope=scope)

    assert ["installed"] * len(there) == [each.action for each in first]
    assert ["unchanged"] * len(there) == [each.action for each in second]
    assert [(kind, scope, desk.path(client, kind, scope)) for kind in there] == [
        (each.kind, each.scope, each.path) for each in found
    ]
    assert {""} == {each.outdated for each in found}
    # A project's file is shared: it names no path of this machine.
    assert [(scope != "project",) * 2] * len(texts) == [(str(ENTRY) in text, sys.executable in text) for text in texts]
    assert {"deleted"} <= set(removed) <= {"deleted", "removed"}
    assert before == desk.tree() != written


@pytest.mark.parametrize("has_record", [True, False])
@pytest.mark.parametrize("edit", [("", ""), ("opus", "sonnet")], ids=["untouched", "edited"])
def test_settings_of_the_user_stay(desk: Machine, edit: tuple[str, str], has_record: bool) -> None:
    """Ours go from the file as it is now; its rights stay, and with a record also members that were empty before us."""
    path = desk.path("gemini", text=SETTINGS)
    path.chmod(0o640)
    desk.install("gemini", "hooks", "mcp")
    path.write_text(path.read_text().replace(*edit))
    for file in desk.home.rglob("*") if not has_record else ():
        if file.is_file():
            file.unlink()

    desk.uninstall("gemini", "hooks", "mcp")

    text = SETTINGS.replace(*edit)
    assert (text if has_record else text.replace('    "mcpServers": {},\n', "")) == path.read_text()
    assert 0o640 == stat.S_IMODE(path.stat().st_mode)
    assert not any(desk.home.iterdir())


@pytest.mark.parametrize("text", ["", "\n", "{}\n", "{ }\n"], ids=repr)
def test_a_file_that_was_empty_before_stays(desk: Machine, text: str) -> None:
    """We made neither file nor folder."""
    path = desk.path("claude", text=text)
    desk.install("claude", "hooks")

    assert ["removed"] == desk.uninstall("claude", "hooks")
    assert text.replace(" ", "") == path.read_text()


@pytest.mark.parametrize("end", ["", "More.\n"], ids=["untouched", "edited"])
@pytest.mark.parametrize(("client", "kind"), [("codex", "rules"), ("codex", "mcp"), ("goose", "mcp")])
def test_a_last_line_without_an_end_is_ended_for_ours_alone(desk: Machine, client: str, kind: Kind, end: str) -> None:
    """The line end before our block or table goes with it, unless something else follows by now."""
    path = desk.path(client, kind, text="# mine")
    desk.install(client, kind)
    path.write_text(path.read_text() + f"#{end}" * bool(end))

    desk.uninstall(client, kind)

    assert ("# mine" + f"\n#{end}" * bool(end)) == path.read_text()


@pytest.mark.parametrize("is_reinstalled", [False, True], ids=["left", "installed again"])
def test_a_file_with_our_entries_alone_goes_without_a_record(desk: Machine, is_reinstalled: bool) -> None:
    """A colleague brought the file, or it was written with another home: nothing in it is anybody else's."""
    desk.install("claude", scope="project")
    for file in (desk.home / "installs").iterdir():
        file.unlink()
    if is_reinstalled:
        path = desk.path("claude", scope="project")
        path.write_text(path.read_text().replace('"timeout": 5', '"timeout": 9'))
        assert ["updated", "unchanged", "unchanged"] == [
            each.action for each in desk.install("claude", scope="project")
        ]

    assert ["deleted"] * 3 == desk.uninstall("claude", scope="project")


@pytest.mark.parametrize("kinds", [KINDS, KINDS[::-1]], ids=" ".join)
def test_a_folder_that_we_made_goes_with_the_last_file(desk: Machine, kinds: tuple[Kind, ...]) -> None:
    """Whichever file is removed last, and though the user deleted one of them; a file of the user keeps its folder."""
    before = desk.tree()
    desk.install("codex")
    for kind in kinds:
        desk.uninstall("codex", kind)
    assert before == desk.tree()

    desk.install("codex")
    desk.path("codex", kinds[-1]).unlink()
    desk.uninstall("codex")
    assert before == desk.tree()

    desk.install("codex")
    (desk.path("codex").parent / "auth.json").touch()
    desk.uninstall("codex")
    assert ["auth.json"] == [path.name for path in desk.path("codex").parent.iterdir()]


def test_the_parts_of_one_file_go_together_or_apart(desk: Machine) -> None:
    """Hooks and entry are in one file of Gemini CLI: each may go alone, and what is left is as if it had been alone."""
    text = '{\n  // mine\n  "theme": "dark"\n}\n'
    path = desk.path("gemini", text=text)
    desk.install("gemini", "hooks")
    hooks_only = path.read_text()
    desk.install("gemini", "mcp")
    desk.uninstall("gemini", "mcp")

    assert hooks_only == path.read_text()
    assert ["removed"] == desk.uninstall("gemini", "hooks")
    assert text == path.read_text()
    assert not any(desk.home.iterdir())


def test_one_block_serves_all_clients_that_read_the_file(desk: Machine) -> None:
    """AGENTS.md has the block once; another home takes its own name out, and the file goes with the last name."""
    other = Machine(desk.roots, desk.home.with_name("other"))
    for client in ("codex", "opencode", "copilot"):
        desk.install(client, "rules", scope="project")
    path = desk.path("codex", "rules", "project")
    text = path.read_text()

    other.uninstall("opencode", "rules", scope="project")
    two = path.read_text()

    assert "<!-- hybrid:begin codex, opencode, copilot -->" == text.splitlines()[0]
    assert text.replace("opencode, ", "") == two
    assert ["codex", "copilot"] == [each.client for each in find_installs(desk.roots)]
    assert ["removed"] == desk.uninstall("codex", "rules", scope="project")
    assert ["deleted"] == desk.uninstall("copilot", "rules", scope="project")


def test_the_record_names_file_parts_and_backup(desk: Machine) -> None:
    """It finds files of other projects; the backup has the bytes from before us, and goes with the record."""
    path = desk.path("gemini", scope="project", text=SETTINGS)
    desk.install("gemini", "hooks", "mcp", scope="project")
    elsewhere = [
        (each.path, each.scope, len(each.parts)) for each in recorded_targets(clients()["gemini"], home=desk.home)
    ]
    kept = {each.suffix: each.read_text() for each in (desk.home / "installs").iterdir()}

    desk.uninstall("gemini", "mcp", scope="project")
    left = recorded_targets(clients()["gemini"], home=desk.home)

    assert [(path, "project", 2)] == elsewhere
    assert SETTINGS == kept[".original"]
    assert [["hooks"]] == [[part.kind for part in each.parts] for each in left]
    assert [] == recorded_targets(clients()["claude"], home=desk.home)


def test_a_dry_run_says_what_would_be_done(desk: Machine) -> None:
    """Nothing is written, neither by installing nor by removing."""
    before = desk.tree()
    [planned] = desk.install("codex", "mcp", is_dry_run=True)
    assert "+[mcp_servers.hybrid]" in planned.diff
    assert before == desk.tree()

    desk.install("codex", "mcp")
    written = desk.tree()

    assert ["deleted"] == desk.uninstall("codex", "mcp", is_dry_run=True)
    assert written == desk.tree()


# --- what stands in the way -------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_for_the_user_and_refused_in_a_project(desk: Machine, tmp_path: Path) -> None:
    """A file that a dotfile manager links stays a link; a project's link is not written through, nor read for nothing."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    for scope in ("user", "project"):
        path = desk.path("claude", scope=scope)
        path.parent.mkdir()
        path.symlink_to(real)

    with pytest.raises(ProjectError, match="is a link: settings of a project are not written through links"):
        desk.install("claude", "hooks", scope="project")
    desk.install("claude", "hooks")
    assert "entry.py" in real.read_text()
    with pytest.raises(ProjectError, match="is a link"):
        desk.uninstall("claude", "hooks", scope="project")
    desk.uninstall("claude", "hooks")

    assert ["absent"] == desk.uninstall("claude", "hooks", scope="project")
    assert desk.path("claude").is_symlink()
    assert "{}\n" == real.read_text()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_in_a_circle_are_an_error_of_installing_only(desk: Machine) -> None:
    """A settings file that leads to itself keeps no other file from removal."""
    path = desk.path("claude")
    path.parent.mkdir()
    path.symlink_to(path)

    with pytest.raises(OSError, match="Too many levels"):
        desk.install("claude", "hooks")
    assert ["absent"] == desk.uninstall("claude", "hooks")


def test_a_file_that_cannot_be_written_leaves_no_record(desk: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder of ours is left, nor is an earlier record changed."""

    def fails(*_: object, **__: object) -> None:
        raise PermissionError

    desk.install("gemini", "hooks")
    before = desk.tree()
    monkeypatch.setattr(changes, "_write_file", fails)
    for client, kind in (("gemini", "mcp"), ("codex", "mcp")):
        with pytest.raises(PermissionError):
            desk.install(client, kind)

    assert before == desk.tree()


@pytest.mark.parametrize(
    "data", ['{"command": "hybrid hook run --client claude', b'{"hybrid hook run --client claude": "\xff"}']
)
def test_removal_complains_only_where_the_file_seems_to_call_us(desk: Machine, data: str | bytes) -> None:
    """What cannot be read stays as it is."""
    path = desk.path("claude", text='{"model": ')
    assert ["absent"] == desk.uninstall("claude", "hooks")
    path.write_bytes(data if isinstance(data, bytes) else data.encode())

    with pytest.raises(SettingsError, match="is not changed"):
        desk.uninstall("claude", "hooks")


def test_what_a_killed_process_left_goes_with_the_hooks(desk: Machine) -> None:
    """A half-written file beside the settings, and one beside the record, are taken away; files of others stay."""
    desk.install("claude", "hooks")
    folder = desk.path("claude").parent
    for file in (folder / ".settings.json.12.345.tmp", folder / ".settings.json.mine.tmp"):
        file.write_text("{")
    (desk.home / "installs" / ".0123456789abcdef.original.12.345.tmp").write_text("{")

    desk.uninstall("claude", "hooks")

    assert [".settings.json.mine.tmp"] == [path.name for path in folder.iterdir()]
    assert not (desk.home / "installs").exists()


def _writing_client(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
    """Have a client write its file so many times, each right before we replace it."""
    replace, written = changes.write_atomic, list[int]()

    def write_atomic(target: Path, data: bytes, **options: Any) -> None:
        if target == path and len(written) < times:
            written.append(1)
            known = json.loads(path.read_bytes())
            path.write_text(json.dumps(known | {"projects": {"/p": {"history": 10 * times + len(written)}}}))
        replace(target, data, **options)

    monkeypatch.setattr(changes, "write_atomic", write_atomic)


def test_what_a_client_writes_meanwhile_stays(desk: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installing and removing begin anew with what the client wrote (#21)."""
    path = desk.path("claude", "mcp", text='{"projects": {}}')
    _writing_client(monkeypatch, path, 1)
    desk.install("claude", "mcp")
    with_us = json.loads(path.read_bytes())
    _writing_client(monkeypatch, path, 2)
    desk.uninstall("claude", "mcp")

    assert {"history": 11} == with_us["projects"]["/p"]
    assert "hybrid" in with_us["mcpServers"]
    assert {"projects": {"/p": {"history": 22}}} == json.loads(path.read_bytes())


def test_a_client_that_never_stops_is_named(desk: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ours is written then, and no record is left (#21)."""
    path = desk.path("claude", "mcp", text='{"projects": {}}')
    _writing_client(monkeypatch, path, 1000)
    with pytest.raises(changes.ChangedError, match="end the client"):
        desk.install("claude", "mcp")

    assert "hybrid" not in path.read_text()
    assert not any(desk.home.iterdir())


@pytest.mark.parametrize(
    ("client", "kind", "name"),
    [("qwen", "hooks", "$version"), *((client, "mcp", "$schema") for client in ("opencode", "kilo", "crush"))],
)
def test_what_the_client_adds_to_our_file_does_not_keep_it(desk: Machine, client: str, kind: Kind, name: str) -> None:
    """Clients note a version or the address of a schema in settings that they find; a comment is the user's (#21)."""
    path = desk.path(client, kind)
    for text, action in (("", "deleted"), ("// mine\n", "removed")):
        desk.install(client, kind)
        path.write_text(text + json.dumps({name: "https://example.com/config.json", **json.loads(path.read_bytes())}))

        assert [action] == desk.uninstall(client, kind)
        assert bool(text) == path.exists()


# --- hooks of other systems -------------------------------------------------------------------------------


OTHERS = {
    "hooks": {
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "~/.config/claude-recall/inject.sh"}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "/opt/lore/lore.sh resume"}]}],
    }
}


def _hooks(text: str) -> list[str]:
    """Every hook of a text with its event and matcher, and the plugins, in one order."""
    root = read(text, "f")
    hooks = [json.dumps([hook.event, hook.alone], sort_keys=True) for hook in commands(root)]
    return [*sorted(hooks), json.dumps(root.value.get("enabledPlugins"), sort_keys=True)]


@pytest.mark.parametrize("is_first", [True, False], ids=["replaced at once", "installed before"])
@cases("installers/replaced.txt")
def test_removal_puts_back_what_replace_took_out(desk: Machine, case: Case, is_first: bool) -> None:
    """Each hook, with its matcher, and each plugin; comments stay, and neither record nor backup is left (#16)."""
    client = case.name.split()[0]
    path = desk.path(client, text=case.text)
    if not is_first:
        desk.install(client, "hooks")
    desk.replace()
    without = path.read_text()
    desk.install(client, "hooks")
    desk.replace()
    kept = next((desk.home / "installs").glob("*.original")).read_text()
    with_us = path.read_text()
    desk.uninstall(client, "hooks")

    ours = [hook for hook in _hooks(case.text) if "hybrid" in hook]
    assert case.expected == (without if is_first else case.expected)
    assert set(_hooks(case.expected or "")) - set(ours) <= set(_hooks(with_us))
    assert [hook for hook in _hooks(case.text) if hook not in ours] == _hooks(path.read_text())
    assert [hook for hook in _hooks(case.text) if hook not in ours] == [
        each for each in _hooks(kept) if each not in ours
    ]
    assert not any(desk.home.iterdir())


def test_edits_of_the_user_and_the_hooks_both_stay(desk: Machine) -> None:
    """Whatever was written before or after `--replace` is there after removal, and no hook is put back twice (#16)."""
    path = desk.path("claude", text=json.dumps(OTHERS))
    desk.install("claude", "hooks")
    for name, value in (("model", "opus"), ("theme", "dark")):
        path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
        desk.replace()
    now = json.loads(path.read_text())
    now["hooks"]["SessionStart"] += OTHERS["hooks"]["SessionStart"]
    path.write_text(json.dumps(now))

    assert ["removed"] == desk.uninstall("claude", "hooks")
    assert OTHERS | {"model": "opus", "theme": "dark"} == json.loads(path.read_text())


def test_hooks_come_back_though_ours_are_gone(desk: Machine) -> None:
    """They were taken out by `hybrid doctor` where we were never installed, or the user took ours out by hand (#16)."""
    path = desk.path("claude", text=json.dumps(OTHERS))
    desk.replace()
    path.write_text('{"model": ')
    with pytest.raises(SettingsError):
        desk.uninstall("claude", "hooks")
    path.write_text('{"model": "opus"}')

    assert ["removed"] == desk.uninstall("claude", "hooks")
    assert OTHERS | {"model": "opus"} == json.loads(path.read_text())


@pytest.mark.parametrize("is_link", [False, True], ids=["one cannot be read", "one is a link"])
def test_all_hooks_are_switched_off_or_none(desk: Machine, is_link: bool, tmp_path: Path) -> None:
    """A file that is not to be changed is found before another one is written (#16)."""
    text = json.dumps(OTHERS)
    paths = [desk.path("claude", scope=scope, text=text) for scope in ("user", "local")]
    hooks = find_foreign(desk.roots)
    if is_link:
        (tmp_path / "elsewhere.json").write_text(text)
        paths[1].unlink()
        paths[1].symlink_to(tmp_path / "elsewhere.json")
    else:
        paths[1].write_text('{"hooks": ')

    with pytest.raises(HybridError):
        switch_off(hooks, roots=desk.roots, home=desk.home)

    assert text == paths[0].read_text()
    assert not any(desk.home.iterdir())


@pytest.mark.parametrize("is_edited", [False, True], ids=["untouched", "edited"])
def test_an_installation_with_the_older_record_is_removed(desk: Machine, is_edited: bool) -> None:
    """Until November 2026 a record had digests and commands, and copies had the hooks that `--replace` took out."""
    before = json.dumps(OTHERS | {"enabledPlugins": {"claude-mem@x": True}}, indent=2)
    path = desk.path("claude", text=before)
    desk.replace()
    desk.install("claude", "hooks")
    folder = desk.home / "installs"
    (record,) = folder.glob("*.json")
    copy = folder / "replaced" / "claude-user-0123456789abcdef.json"
    copy.parent.mkdir()
    copy.write_text(before)
    taken = [[event, group["hooks"][0]["command"]] for event, (group,) in OTHERS["hooks"].items()]
    older = {
        "client": "claude",
        "written": "0" * 64,
        "copies": [str(copy)],
        "taken": [*taken, ["plugin", "claude-mem@x"]],
    }
    record.write_text(json.dumps(json.loads(record.read_text()) | older))
    if is_edited:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"model": "opus"}))

    assert ["removed"] == desk.uninstall("claude", "hooks")
    assert json.loads(before) | ({"model": "opus"} if is_edited else {}) == json.loads(path.read_text())
    assert not any(desk.home.iterdir())
