"""Where hybrid and the systems that it replaces are registered, and the commands that clients run."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.hooks.install import found
from hybrid.hooks.install.found import doubled, find_foreign, find_installs, unreadable
from hybrid.hooks.install.merge import hooks_of
from hybrid.hooks.install.parts import Launcher, SettingsRoots, Wanted, as_line, as_words, program_of
from tests.support.builders import write_files
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

_OURS = {"type": "command", "command": "hybrid hook run --client claude --event Stop 2>/dev/null || true"}


def _settings(*commands: object) -> str:
    return json.dumps({"hooks": {"Stop": [{"hooks": list(commands)}]}})


@pytest.mark.parametrize(
    ("shell", "program", "expected"),
    [
        ("sh", "/a b/python", "'/a b/python' {} 2>/dev/null || true"),
        ("sh", "/v/it's/python", "'/v/it'\"'\"'s/python' {} 2>/dev/null || true"),
        ("cmd", "C:\\a b\\python.exe", '"C:\\a b\\python.exe" {} 2>nul || exit /b 0'),
        ("powershell", "C:\\a b\\p.exe", "try {{ & 'C:\\a b\\p.exe' {} 2>$null }} catch {{ }}; exit 0"),
        ("powershell", "C:\\a\\p.exe", "try {{ C:\\a\\p.exe {} 2>$null }} catch {{ }}; exit 0"),
    ],
)
def test_a_line_is_quoted_for_its_shell(shell: str, program: str, expected: str) -> None:
    """Spaces and quotes in the path of the interpreter survive each platform's shell; the program is told again."""
    line = as_line(
        Launcher((program, "-I"), "linux" if shell == "sh" else "win32"),
        client="codex",
        event="Stop",
        windows_shell=shell,
    )

    assert expected.format("-I hook run --client codex --event Stop") == line
    assert program == program_of({"command": line})


@cases("installers/commands.txt")
def test_a_command_is_known(tmp_path: Path, case: Case) -> None:
    """Ours in every form, and the systems that we replace; what only sounds alike is nobody's."""
    write_files(tmp_path, {".claude/settings.json": _settings({"type": "command", "command": case.text})})
    roots = SettingsRoots(tmp_path, None, {"PATH": ""})

    owners = [*("hybrid" for _ in find_installs(roots)), *(each.system for each in find_foreign(roots))]

    assert [case.expected] == (owners or ["nobody"])


def test_every_place_is_found_and_doubles_are_told(tmp_path: Path) -> None:
    """Settings of all scopes and the plugin; one event twice in a file, and a client that reads another's file."""
    user, root = tmp_path / "user", tmp_path / "shop"
    flat = json.dumps(
        {
            "version": 1,
            "hooks": {
                "Stop": [{"type": "command", "exec": "/gone", "args": ["hybrid", "hook", "run", "--client", "copilot"]}]
            },
        }
    )
    write_files(
        user, {".claude/settings.json": '{"enabledPlugins": {"hybrid@x": true}}', ".copilot/hooks/hybrid.json": flat}
    )
    write_files(root, {".claude/settings.json": _settings(_OURS, _OURS), ".qwen/settings.json": "{broken"})

    installs = find_installs(SettingsRoots(user, root, {"PATH": ""}))
    problems = doubled(installs)

    assert [("claude", "project"), ("copilot", "user"), ("claude", "plugin")] == [
        (each.client, each.scope) for each in installs
    ]
    assert not any(each.is_runnable for each in installs)
    assert problems[0].what.startswith("Claude Code calls hybrid from 2 places: ")
    assert f"{root / '.claude' / 'settings.json'} calls hybrid twice for Stop" in [each.what for each in problems]
    assert problems[-1].what.startswith("Copilot CLI has hooks of its own")
    assert problems[0].remedy == (
        "keep one; to remove: hybrid hook uninstall --client claude --scope project, or: claude plugin uninstall hybrid@x"
    )
    assert [str(root / ".qwen" / "settings.json")] == [
        text.split(" is ")[0] for text in unreadable(SettingsRoots(user, root, {}))
    ]


def test_files_that_are_only_looked_at_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex's `config.toml`, with its table of trusted hooks, and what an administrator set for Claude Code."""
    user, managed = tmp_path / "user", tmp_path / "etc" / "managed-settings.json"
    codex = 'model = "x"\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "hybrid hook run --client codex"\n'
    write_files(user, {".codex/config.toml": f'{codex}[hooks.state."a:b"]\ntrusted_hash = "sha256:0"\n'})
    write_files(tmp_path / "etc", {managed.name: _settings(_OURS)[:-1] + ', "allowManagedHooksOnly": true}'})
    write_files(tmp_path / "etc", {"managed-settings.d/10.json": _settings(_OURS)})
    monkeypatch.setattr(found, "MANAGED", managed)

    installs = find_installs(SettingsRoots(user, None, {"PATH": ""}))

    assert [("codex", "config"), ("claude", "managed"), ("claude", "managed")] == [
        (each.client, each.scope) for each in installs
    ]
    assert installs[0].removal == f"take it out of {user / '.codex' / 'config.toml'} by hand"
    assert [(managed, "allowManagedHooksOnly")] == found.switched_off(SettingsRoots(user, None, {}))


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of POSIX stands in the command")
@pytest.mark.parametrize(
    "program",
    [("/gone/bin/python", "-I", "-S", "/gone/hybrid/entry.py"), (sys.executable, "-I", "-S", "/gone/hybrid/entry.py")],
    ids=["interpreter", "package"],
)
def test_what_was_uninstalled_says_nothing(program: tuple[str, ...]) -> None:
    """Where interpreter or package are gone the command ends with 0 and silence: code 2 would eat the user's prompt."""
    launcher = Launcher(program, "linux")
    words = as_words(launcher, client="claude", event="Stop")
    line = ["/bin/sh", "-c", as_line(launcher, client="codex", event="Stop")]
    done = [subprocess.run(command, capture_output=True, check=False, input=b"{}") for command in (words, line)]

    assert [(0, b"", b"")] * 2 == [(one.returncode, one.stdout, one.stderr) for one in done]


def test_without_a_shell_python_looks_for_the_file_itself(tmp_path: Path) -> None:
    """On Windows the interpreter runs our file if it is there, with its own arguments, and else nothing."""
    entry = tmp_path / "entry.py"
    entry.write_text("import sys\nprint(__name__, __file__, sys.argv[1:])\n", encoding="utf-8")
    there, gone = (
        as_words(Launcher((sys.executable, "-I", "-S", str(path)), "win32"), client="claude", event="Stop")
        for path in (entry, tmp_path / "gone.py")
    )
    done = [subprocess.run(words, capture_output=True, check=False, text=True) for words in (there, gone)]

    assert [0, 0] == [one.returncode for one in done]
    assert [f"__main__ {entry} {there[-6:]}\n", ""] == [one.stdout for one in done]


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_file_that_an_installation_left_behind_is_named(tmp_path: Path, name: str) -> None:
    """After a reinstallation with another Python the program is there, but not the file it is given."""
    gone = tmp_path / "with space" / "hybrid" / "entry.py"
    roots = SettingsRoots(tmp_path, None, {"PATH": ""})
    part = hooks_of(name)
    path = part.files.file("user", roots)
    assert path is not None
    wanted = Wanted(Launcher((sys.executable, "-I", "-S", str(gone))), ("Stop",))
    write_files(path.parent, {path.name: part.with_us("", wanted, name=path.name)})

    [missing] = find_installs(roots)
    write_files(gone.parent, {gone.name: ""})
    [there] = find_installs(roots)

    assert (str(gone), False, sys.executable) == (missing.missing, missing.is_runnable, missing.program)
    assert ("", True) == (there.missing, there.is_runnable)
