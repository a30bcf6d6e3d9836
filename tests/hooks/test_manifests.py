from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hybrid import __version__
from hybrid.base.resources import shipped
from hybrid.hooks.install.merge import SERVER, ServerPart, hooks_of, parts_of
from hybrid.hooks.install.parts import PORTABLE
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

MANIFESTS = ("hooks.json", "claude/settings.json")


def _read(name: str) -> dict[str, Any]:
    found = json.loads(shipped(*name.split("/")).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_manifests_of_claude_code_are_what_the_installer_writes(name: str) -> None:
    """Plugin and example register the events of a project's installation, each with the same short line."""
    claude = hooks_of("claude")
    expected = {event: [claude.entry(event, PORTABLE)] for event in claude.client.events}

    assert expected == _read(f"hooks/{name}")["hooks"]


def test_the_command_of_a_manifest_answers(shop: Shop) -> None:
    """It starts `hybrid`, has time to answer, and answers a captured event of that client."""
    [group] = _read("hooks/hooks.json")["hooks"]["UserPromptSubmit"]
    [hook] = group["hooks"]
    sample = CHECKOUT / "tests" / "fixtures" / "hooks" / "claude-2.1.330" / "UserPromptSubmit.json"
    event = sample.read_text(encoding="utf-8").replace("$PROJECT", str(shop.root))

    line = hook["command"].removesuffix(" 2>/dev/null || true")
    program, *arguments = shlex.split(line)
    answer = json.loads(shop.out(*arguments, stdin=event.encode(), HYBRID_DAEMON_ENABLED="false"))

    assert ("command", "hybrid") == (hook["type"], program)
    assert len(hook["command"]) < 90
    assert 2 <= hook["timeout"] <= 10
    assert "UserPromptSubmit" == answer["hookSpecificOutput"]["hookEventName"]
    assert "claude" == shop.json("log")["events"][0]["client"]


def test_the_plugin_has_the_version_of_the_package() -> None:
    """plugin.json carries the package's version, and does not name the hooks, which would run them twice."""
    plugin, market = _read(".claude-plugin/plugin.json"), _read(".claude-plugin/marketplace.json")

    assert __version__ == plugin["version"]
    assert "hooks" not in plugin
    assert [(plugin["name"], "./")] == [(each["name"], each["source"]) for each in market["plugins"]]


def test_the_plugin_starts_the_server_as_an_installation_does() -> None:
    """plugin.json names the MCP server with the entry of a project.

    A file `.mcp.json` would lie in the root of this repository too, where every contributor's client would read it.
    """
    [server] = [part for part in parts_of(hooks_of("claude").client) if isinstance(part, ServerPart)]

    assert {SERVER: server.entry(PORTABLE)} == _read(".claude-plugin/plugin.json")["mcpServers"]
    assert not (shipped(".claude-plugin").parent / ".mcp.json").exists()


def test_the_readme_names_every_manifest() -> None:
    """Each file and folder of `hooks/` stands in its README."""
    readme = shipped("hooks", "README.md").read_text(encoding="utf-8")
    entries = [f"{path.name}/" if path.is_dir() else path.name for path in shipped("hooks").iterdir()]

    assert {"README.md", "claude/", "clients/", "hooks.json", "opencode/"} == set(entries)
    assert all(f"`{name}`" in readme for name in entries if name != "README.md")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_module_of_opencode_asks_and_adds_a_part(tmp_path: Path) -> None:
    """It gives the event to the command, adds the answer as a synthetic part, and is silent whatever goes wrong.

    The prompt of a subagent's session names the subagent: an agent wrote it, so it can make no lesson.
    """
    module = shipped("hooks", "opencode", "hybrid.js").read_text(encoding="utf-8")
    echo = tmp_path / "echo.mjs"
    echo.write_text(
        "let text = ''; process.stdin.on('data', (part) => { text += part }); process.stdin.on('end', () => {"
        " const event = JSON.parse(text); process.stdout.write(JSON.stringify({ text: `${process.argv[7]} ${event.source ??"
        " event.prompt}${event.agent_id ?? ''}` })) })",
        encoding="utf-8",
    )
    node = shutil.which("node") or ""
    for name, command in (
        ("works", [node, str(echo)]),
        ("missing", ["/nowhere/hybrid"]),
        ("broken", [node, "-e", "1"]),
    ):
        text = module.replace('const COMMAND = ["hybrid"]', f"const COMMAND = {json.dumps(command)}")
        (tmp_path / f"{name}.mjs").write_text(text, encoding="utf-8")
    script = """
    for (const name of ["works", "missing", "broken"]) {
      const { Hybrid } = await import(`./${name}.mjs`)
      const hooks = await Hybrid({ directory: "/p" })
      await hooks.event({ event: { type: "session.created", properties: { info: { id: "s1" } } } })
      const parts = [{ type: "text", text: "why?", id: "prt_1ffdb4e1a001pR6bqGs3fpjMAj" }]
      await hooks["chat.message"]({ sessionID: "s1" }, { message: { id: "m1" }, parts })
      console.log(JSON.stringify(parts.slice(1)))
      await hooks.event({ event: { type: "session.created", properties: { info: { id: "s2", parentID: "s1" } } } })
      const task = [{ type: "text", text: "look", id: "prt_1ffdb4e1a001pR6bqGs3fpjMAj" }]
      await hooks["chat.message"]({ sessionID: "s2" }, { message: { id: "m2" }, parts: task })
      console.log(JSON.stringify(task.slice(1)))
    }
    """
    (tmp_path / "run.mjs").write_text(script, encoding="utf-8")

    done = subprocess.run([node, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    given = [json.loads(line) for line in done.stdout.splitlines()]

    assert "" == done.stderr
    [[part], [task], *silent] = given
    assert "session.created startup\n\nchat.message why?" == part["text"]
    assert ("m1", "s1", True) == (part["messageID"], part["sessionID"], part["synthetic"])
    assert part["id"] > "prt_1ffdb4e1a001pR6bqGs3fpjMAj"
    assert "chat.message looks2" == task["text"]
    assert [[]] * 4 == silent
