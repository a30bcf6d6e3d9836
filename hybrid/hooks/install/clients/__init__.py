"""The coding agents that hooks are installed for, one module each; this one lists them."""

from hybrid.hooks.install.clients.claude import CLAUDE
from hybrid.hooks.install.clients.codex import CODEX
from hybrid.hooks.install.clients.copilot import COPILOT
from hybrid.hooks.install.clients.gemini import GEMINI
from hybrid.hooks.install.clients.opencode import OPENCODE
from hybrid.hooks.install.clients.qwen import QWEN

CLIENTS = {client.name: client for client in (CLAUDE, CODEX, GEMINI, QWEN, COPILOT, OPENCODE)}
"""Name → client, in the order in which they are shown."""
