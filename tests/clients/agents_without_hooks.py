"""How the clients that read our server and our rules, but call no hooks, are run without a screen, against the mock.

Package names and versions stand in `hooks/clients`; what is said here was tried with those.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.clients.agents import OpenCode, opencode_settings
from tests.clients.talking import ANSWER_S, KEY, Talk, one_by_one, write_json

if TYPE_CHECKING:
    from tests.clients.desk import Desk


@dataclass(frozen=True)
class ClineCli:
    """Cline CLI; it asks its own service for switches whatever is set, and goes on without them."""

    program: tuple[str, ...]
    name: str = "cline-cli"

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        provider = "openai-compatible"
        settings = {"provider": provider, "apiKey": KEY, "model": "mock", "baseUrl": f"{desk.api.url}/v1"}
        known = {"settings": settings, "updatedAt": "2026-11-26T00:00:00.000Z", "tokenSource": "manual"}
        folder = desk.home / ".cline" / "data" / "settings"
        write_json(
            folder / "providers.json",
            {"version": 1, "lastUsedProvider": provider, "modes": {}, "providers": {provider: known}},
        )
        write_json(folder / "global-settings.json", {"telemetryOptOut": True, "autoUpdateEnabled": False})

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {
            "CLINE_NO_AUTO_UPDATE": "1",
            # Otherwise a process that stays does the work.
            "CLINE_SESSION_BACKEND_MODE": "local",
            # It goes nowhere but to the mock, which refuses what is not for a model.
            "HTTPS_PROXY": desk.api.url,
            "NO_PROXY": "127.0.0.1",
        }

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`; each prompt is a session of its own."""
        flags = ["--json", "--auto-approve", "true", "-P", "openai-compatible", "-m", "mock"]
        commands = [[*self.program, *flags, prompt] for prompt in prompts]
        return one_by_one(desk, commands, self.environ(desk) | environ)


@dataclass(frozen=True)
class Kilo:
    """Kilo Code's command, which is OpenCode with names of its own."""

    program: tuple[str, ...]
    name: str = "kilo"

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        settings = opencode_settings(desk, "https://app.kilo.ai/config.json") | {"snapshot": False}
        folder = desk.home / ".config" / "kilo"
        write_json(folder / "kilo.jsonc", settings)
        # Without this mark it takes the settings for those of an older version and adds to them.
        (folder / ".bash-permission-migrated").touch()

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        kin = OpenCode(()).environ(desk)
        own = {key.replace("OPENCODE", "KILO"): value for key, value in kin.items()}
        return own | {"KILO_TELEMETRY_LEVEL": "off", "KILO_API_URL": desk.api.url}

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`."""
        flags = ["--auto", "--format", "json"]
        first = [*self.program, "run", *flags, prompts[0]]
        later = [[*self.program, "run", "--continue", *flags, prompt] for prompt in prompts[1:]]
        return one_by_one(desk, [first, *later], self.environ(desk) | environ)


@dataclass(frozen=True)
class Droid:
    """Factory Droid; a model of one's own and a mode without network let it start without an account."""

    program: tuple[str, ...]
    name: str = "factory"

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        model = {
            "model": "mock",
            "displayName": "mock",
            "baseUrl": f"{desk.api.url}/v1",
            "apiKey": KEY,
            "provider": "generic-chat-completion-api",
            "maxOutputTokens": 4000,
        }
        write_json(desk.home / ".factory" / "settings.json", {"customModels": [model], "cloudSessionSync": False})

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {
            "FACTORY_API_KEY": KEY,
            "FACTORY_AIRGAP_ENABLED": "true",
            "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false",
            "OTEL_SDK_DISABLED": "true",
        }

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`; each prompt is a session of its own."""
        # Without naming the server it asks the model before the server has answered.
        flags = ["exec", "--auto", "high", "-m", "custom:mock", "--add-tools", "MCP:hybrid"]
        return one_by_one(desk, [[*self.program, *flags, prompt] for prompt in prompts], self.environ(desk) | environ)


_LOOPBACK_ALONE = """\
const dns = require("dns");
const lookup = dns.lookup;
dns.lookup = (host, options, done) => {
  if (["localhost", "127.0.0.1"].includes(host)) return lookup(host, options, done);
  const error = Object.assign(new Error(`not looked up: ${host}`), { code: "ENOTFOUND" });
  process.nextTick(() => (done || options)(error));
};
"""
"""For node: names of other machines are not found."""


@dataclass(frozen=True)
class ContinueCli:
    """Continue's command `cn`; it asks for its newest version whatever is set, so that node looks up nothing for it.

    Servers it takes from `config.yaml` alone, where our entry is written by hand, as docs/clients.md says.
    """

    program: tuple[str, ...]
    name: str = "continue"

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        path = desk.home / ".continue" / "config.yaml"
        path.parent.mkdir()
        model = {"name": "mock", "provider": "openai", "model": "mock", "apiBase": f"{desk.api.url}/v1"}
        model |= {"apiKey": KEY, "roles": ["chat"], "capabilities": ["tool_use"]}
        server = {"name": "hybrid", "command": "hybrid", "args": ["mcp", "--client", "continue"]}
        # YAML reads JSON.
        write_json(
            path,
            {"name": "mock", "version": "1.0.0", "schema": "v1", "models": [model], "mcpServers": [server]},
        )
        (desk.folder / "loopback.cjs").write_text(_LOOPBACK_ALONE, encoding="utf-8")

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {
            "NODE_OPTIONS": f"--require={desk.folder / 'loopback.cjs'}",
            "CONTINUE_API_BASE": f"{desk.api.url}/",
            "CONTINUE_TELEMETRY_ENABLED": "0",
            "CONTINUE_METRICS_ENABLED": "0",
        }

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`."""
        first = [*self.program, "--auto", "-p", prompts[0]]
        later = [[*self.program, "--auto", "--resume", "-p", prompt] for prompt in prompts[1:]]
        return one_by_one(desk, [first, *later], self.environ(desk) | environ)


@dataclass(frozen=True)
class Aider:
    """Aider, which takes prompts and answers to its own questions as lines; it uses no tools."""

    program: tuple[str, ...]
    name: str = "aider"

    def prepare(self, desk: Desk) -> None:
        """See `Agent`; without a list of models it would fetch one."""
        known = {"max_tokens": 4000, "max_input_tokens": 100000, "litellm_provider": "openai", "mode": "chat"}
        prices = {"input_cost_per_token": 0, "output_cost_per_token": 0}
        path = desk.home / ".aider" / "caches" / "model_prices_and_context_window.json"
        write_json(path, {"openai/mock": known | prices})

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {
            "OPENAI_API_BASE": f"{desk.api.url}/v1",
            "OPENAI_API_KEY": KEY,
            "AIDER_ANALYTICS": "false",
            "AIDER_CHECK_UPDATE": "false",
            "LITELLM_LOCAL_MODEL_COST_MAP": "true",
        }

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`; a prompt may be the answer to a question of Aider, such as `y`."""
        flags = ["--model", "openai/mock", "--edit-format", "diff", "--read", "CONVENTIONS.md"]
        flags += ["--no-pretty", "--no-fancy-input", "--no-show-model-warnings", "--no-show-release-notes"]
        flags += ["--no-gitignore", "--no-auto-commits", "--no-detect-urls", "--map-tokens", "0"]
        done = subprocess.run(
            [*self.program, *flags],
            cwd=desk.project,
            env=desk.environ | self.environ(desk) | environ,
            input="\n".join([*prompts, "/exit", ""]),
            capture_output=True,
            encoding="utf-8",
            timeout=ANSWER_S,
            check=False,
        )
        return Talk(done.stdout, done.stderr, done.returncode)


AGENTS = (ClineCli, Kilo, Droid, ContinueCli, Aider)
