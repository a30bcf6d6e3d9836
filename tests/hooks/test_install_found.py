from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.hooks.install import found
from hybrid.hooks.install.clients import CLIENTS
from hybrid.hooks.install.command import Launcher, as_line, as_words, is_ours, program_of
from hybrid.hooks.install.foreign import find_foreign
from hybrid.hooks.install.found import doubled, find_installs, unreadable
from hybrid.hooks.install.merge import HookPart
from hybrid.hooks.install.parts import SettingsRoots, Wanted
from tests.support.builders import write_files

if TYPE_CHECKING:
    from pathlib import Path

_OURS = {"type": "command", "command": "hybrid hook run --client claude --event Stop 2>/dev/null || true"}


def _settings(*commands: object) -> str:
    return json.dumps({"hooks": {"Stop": [{"hooks": list(commands)}]}})


@pytest.mark.parametrize(
    ("platform", "shell", "program", "expected"),
    [
        ("linux", "cmd", "/a b/python", "'/a b/python' -I hook run --client codex --event Stop 2>/dev/null || true"),
        (
            "linux",
            "cmd",
            "/v/it's/python",
            "'/v/it'\"'\"'s/python' -I hook run --client codex --event Stop 2>/dev/null || true",
        ),
        (
            "win32",
            "cmd",
            "C:\\a b\\python.exe",
            '"C:\\a b\\python.exe" -I hook run --client codex --event Stop 2>nul || exit /b 0',
        ),
        (
            "win32",
            "powershell",
            "C:\\a b\\p.exe",
            "try { & 'C:\\a b\\p.exe' -I hook run --client codex --event Stop 2>$null } catch { }; exit 0",
        ),
        (
            "win32",
            "powershell",
            "C:\\a\\p.exe",
            "try { C:\\a\\p.exe -I hook run --client codex --event Stop 2>$null } catch { }; exit 0",
        ),
    ],
)
def test_a_line_is_quoted_for_its_shell(platform: str, shell: str, program: str, expected: str) -> None:
    """Spaces and quotes in the path of the interpreter survive each platform's shell."""
    launcher = Launcher((program, "-I"), platform)

    assert expected == as_line(launcher, client="codex", event="Stop", windows_shell=shell)


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (_OURS, True),
        (
            {"command": "/v/python", "args": ["-I", "/x/hybrid/entry.py", "hook", "run", "--client", "claude"]},
            True,
        ),
        ({"exec": "C:\\py.exe", "args": ["C:\\hybrid\\hooks\\entry.py", "hook", "run", "--client", "copilot"]}, True),
        ({"bash": "hybrid hook run --client copilot --event Stop"}, True),
        ({"command": '"/a b/hybrid" hook inject-context --client claude'}, True),
        ({"command": "FOO=1 python -m hybrid hook inject-context"}, True),
        ({"command": "other hook run --client claude"}, False),
        ({"command": "echo hybrid"}, False),
        ({"command": "C:\\v\\Scripts\\hybrid.exe hook run --client claude"}, True),
        ({"command": "(cd /x;hybrid hook run --client claude)"}, True),
        ({"command": "hybrid-search hook run --client x"}, False),
        ({"command": "/opt/my-hybrid/tool hook run --client x"}, False),
        ({"command": "tool --note 'as hybrid does' hook run --client x"}, False),
        ({"command": "echo done # was: hybrid hook run --client claude"}, False),
        ({"command": None, "args": 3}, False),
        ("hybrid hook run --client claude", False),
    ],
)
def test_our_commands_are_known_in_every_form(handler: object, expected: bool) -> None:
    """Today's forms, wrapped ones and the older one are ours; others that share a word are not."""
    assert expected is is_ours(handler)


def test_the_program_of_a_line_is_told() -> None:
    """Quoted paths of both platforms."""
    lines = ("'/a b/python' -I x", '"C:\\a b\\p.exe" -I x', "& 'C:\\a b\\p.exe' -I", "hybrid hook run")

    assert ["/a b/python", "C:\\a b\\p.exe", "C:\\a b\\p.exe", "hybrid"] == [
        program_of({"command": line}) for line in lines
    ]


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


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("~/.config/claude-recall/hooks/inject.sh", ["claude-recall"]),
        ("bash ~/.claude/hooks/smart-inject-hook.sh", ["claude-recall"]),
        ("bun ~/.claude/plugins/claude-mem/scripts/worker.cjs", ["claude-mem"]),
        ("lore resume --quiet", ["lore"]),
        ("/home/me/.local/share/lore/hooks/session.sh", ["lore"]),
        ("python tools/semantic-search/hook.py", ["code context"]),
        ("python .claude/hooks/inject_context.py", ["code context"]),
        ("bobbin hook prime-context", ["bobbin"]),
        ("/home/me/.cargo/bin/bobbin hook inject-context", ["bobbin"]),
        ("bobbin status", []),
        ("folklore run", []),
        ("prettier --write explore.ts", []),
        ("hybrid hook inject-context", []),
    ],
)
def test_replaced_systems_are_known_by_their_commands(tmp_path: Path, command: str, expected: list[str]) -> None:
    """Each is named; what only sounds alike, and our own, is left out."""
    write_files(tmp_path, {".claude/settings.json": _settings({"type": "command", "command": command})})

    assert expected == [each.system for each in find_foreign(SettingsRoots(tmp_path, None, {}))]


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
    part = HookPart(CLIENTS[name])
    path = part.files.file("user", roots)
    assert path is not None
    wanted = Wanted(Launcher((sys.executable, "-I", "-S", str(gone))), ("Stop",))
    write_files(path.parent, {path.name: part.with_us("", wanted, name=path.name)})

    [missing] = find_installs(roots)
    write_files(gone.parent, {gone.name: ""})
    [there] = find_installs(roots)

    assert (str(gone), False, sys.executable) == (missing.missing, missing.is_runnable, missing.program)
    assert ("", True) == (there.missing, there.is_runnable)
