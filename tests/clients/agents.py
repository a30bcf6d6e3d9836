"""How the clients that take one prompt a process are run without a screen, against the mock.

Package names and versions stand in `hooks/clients`; what is said here was tried with those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.clients.talking import KEY, Talk, one_by_one, write_json

if TYPE_CHECKING:
    from tests.clients.desk import Desk


@dataclass(frozen=True)
class Codex:
    """Codex; hooks run without the person's trust only because a flag says so.

    A model that it knows is offered its tool for patches; one that it does not know has a shell alone.
    """

    program: tuple[str, ...]
    model: str = "mock"
    name: str = "codex"
    prefix: str = ""
    namespace: str = "mcp__hybrid"

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        path = desk.home / ".codex" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(
            f'model = "{self.model}"\nmodel_provider = "mock"\n\n[model_providers.mock]\nname = "mock"\n'
            f'base_url = "{desk.api.url}/v1"\nenv_key = "MOCK_API_KEY"\nwire_api = "responses"\n'
            "supports_websockets = false\nrequest_max_retries = 0\nstream_max_retries = 0\n\n"
            f'[analytics]\nenabled = false\n\n[projects."{desk.project}"]\ntrust_level = "trusted"\n',
            encoding="utf-8",
        )

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {"CODEX_HOME": str(desk.home / ".codex"), "MOCK_API_KEY": KEY}

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`."""
        trust = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
        flags = ["--json", "--skip-git-repo-check", *trust]
        first = [*self.program, "exec", *flags, prompts[0]]
        later = [[*self.program, "exec", "resume", "--last", *flags, prompt] for prompt in prompts[1:]]
        return one_by_one(desk, [first, *later], self.environ(desk) | environ)


@dataclass(frozen=True)
class Gemini:
    """Gemini CLI."""

    program: tuple[str, ...]
    name: str = "gemini"
    prefix: str = "mcp_hybrid_"
    namespace: str = ""

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        write_json(desk.home / ".gemini" / "settings.json", settings)

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {
            "GOOGLE_GEMINI_BASE_URL": desk.api.url,
            "GEMINI_API_KEY": KEY,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`."""
        flags = ["--yolo", "--output-format", "stream-json", "-m", "gemini-2.5-pro"]
        first = [*self.program, *flags, "-p", prompts[0]]
        later = [[*self.program, *flags, "--resume", "latest", "-p", prompt] for prompt in prompts[1:]]
        return one_by_one(desk, [first, *later], self.environ(desk) | environ)


@dataclass(frozen=True)
class Qwen:
    """Qwen Code."""

    program: tuple[str, ...]
    name: str = "qwen"
    prefix: str = "mcp__hybrid__"
    namespace: str = ""

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        settings = {
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "disableUpdateNag": True, "disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        write_json(desk.home / ".qwen" / "settings.json", settings)

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {"OPENAI_BASE_URL": f"{desk.api.url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "mock"}

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`."""
        flags = ["--yolo", "--output-format", "stream-json"]
        first = [*self.program, *flags, "-p", prompts[0]]
        later = [[*self.program, *flags, "--continue", "-p", prompt] for prompt in prompts[1:]]
        return one_by_one(desk, [first, *later], self.environ(desk) | environ)


@dataclass(frozen=True)
class Copilot:
    """Copilot CLI."""

    program: tuple[str, ...]
    name: str = "copilot"
    prefix: str = "hybrid-"
    namespace: str = ""

    def prepare(self, desk: Desk) -> None:
        """See `Agent`; hooks of a project need its folder to be trusted."""
        write_json(desk.home / ".copilot" / "config.json", {"trusted_folders": [str(desk.project)], "banner": "never"})

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{desk.api.url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "gpt-5-mini",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`."""
        first = [*self.program, "--allow-all-tools", "-p", prompts[0]]
        later = [[*self.program, "--allow-all-tools", "--continue", "-p", prompt] for prompt in prompts[1:]]
        return one_by_one(desk, [first, *later], self.environ(desk) | environ)


def opencode_settings(desk: Desk, schema: str) -> dict[str, object]:
    """Settings of OpenCode, and of what is made of it, with the mock as the only model."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "mock",
        "options": {"baseURL": f"{desk.api.url}/v1", "apiKey": KEY},
        "models": {"mock": {"name": "mock", "tool_call": True, "limit": {"context": 100000, "output": 4000}}},
    }
    return {
        "$schema": schema,
        "provider": {"mock": provider},
        "model": "mock/mock",
        "small_model": "mock/mock",
        "autoupdate": False,
        "share": "disabled",
    }


@dataclass(frozen=True)
class OpenCode:
    """OpenCode."""

    program: tuple[str, ...]
    name: str = "opencode"
    prefix: str = "hybrid_"
    namespace: str = ""

    def prepare(self, desk: Desk) -> None:
        """See `Agent`."""
        settings = opencode_settings(desk, "https://opencode.ai/config.json")
        write_json(desk.home / ".config" / "opencode" / "opencode.json", settings)

    def environ(self, desk: Desk) -> dict[str, str]:
        """See `Agent`."""
        home = desk.home
        return {
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local" / "share"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_STATE_HOME": str(home / ".local" / "state"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            # It would install a package of types beside every plugin; it goes on where there is no registry.
            "npm_config_registry": f"{desk.api.url}/no-registry",
            "npm_config_fetch_retries": "0",
        }

    def talk(self, desk: Desk, *prompts: str, **environ: str) -> Talk:
        """See `Agent`."""
        first = [*self.program, "run", "--format", "json", prompts[0]]
        later = [[*self.program, "run", "--continue", "--format", "json", prompt] for prompt in prompts[1:]]
        return one_by_one(desk, [first, *later], self.environ(desk) | environ)


AGENTS = (Codex, Gemini, Qwen, Copilot, OpenCode)
"""Those with hooks; `prefix` and `namespace` say how each names our tools to its model."""
