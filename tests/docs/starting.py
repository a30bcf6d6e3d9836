"""Makes docs/start: a page for each client that hybrid has hooks for, from what the installer knows of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hybrid.hooks.install.clients import CLIENTS
from tests.docs.reference import MADE, wrapped
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.hooks.install.client import Client


@dataclass(frozen=True)
class Start:
    """What a page says of one client that its installer does not know.

    Attributes:
        program: The command that starts it.
        prompt_event: Its word for a prompt.
        first: What to do before the first prompt, a sentence or two.
        shows: How the person sees that something was added.
    """

    program: str
    prompt_event: str
    first: str
    shows: str


_NOTICE = "`hybrid config set hooks.notice true --user` has {} show a line such as `hybrid: 3 items, 41 ms` whenever it added something."
_NO_LINE = "{} has no line for you; `hybrid log --follow` in a second terminal shows each decision."
STARTS = {
    "claude": Start(
        "claude",
        "UserPromptSubmit",
        "Claude Code asks whether you trust the folder, and nothing about hooks of your own; `/hooks` lists them.",
        _NOTICE.format("Claude Code"),
    ),
    "codex": Start(
        "codex",
        "UserPromptSubmit",
        "Codex says that hooks need review: trust them there, or later by `/hooks`. Until then it runs none of them, and"
        " `codex exec` does not say so.",
        _NOTICE.format("Codex"),
    ),
    "gemini": Start(
        "gemini",
        "BeforeAgent",
        "There is nothing to approve for hooks of your own.",
        _NOTICE.format("Gemini CLI"),
    ),
    "qwen": Start(
        "qwen",
        "UserPromptSubmit",
        "There is nothing to approve for hooks of your own.",
        _NO_LINE.format("Qwen Code"),
    ),
    "copilot": Start(
        "copilot",
        "UserPromptSubmit",
        "There is nothing to approve for hooks of your own.",
        _NO_LINE.format("Copilot CLI"),
    ),
    "opencode": Start(
        "opencode",
        "chat.message",
        "There is nothing to approve: OpenCode loads every module of its plugin folder.",
        _NO_LINE.format("OpenCode"),
    ),
}
_QUESTION = "how does the payment client retry after a timeout?"


def pages() -> dict[str, Callable[[], str]]:
    """Return what makes each page, by its path."""
    return {f"docs/start/{name}.md": partial(page_of, CLIENTS[name]) for name in STARTS}


def page_of(client: Client) -> str:
    """Return the page of a client."""
    start = STARTS[client.name]
    event = {"session_id": "first", "prompt": _QUESTION}
    path = "/".join(filter(None, ("~", client.files.folder.home, client.files.places["user"])))
    lines = [
        MADE.format("the installer of hooks"),
        "",
        f"# {client.label}",
        "",
        *wrapped("[Install hybrid and index your project](README.md) first."),
        "## Connect",
        "",
        "```sh",
        f"hybrid hook install --client {client.name}",
        "```",
        "",
        *wrapped(
            f"This writes `{path}`, for you and in every project. `--scope project` writes `{client.files.places['project']}` instead,"
            f" for all who work on the project{f'; {client.project_remark}' if client.project_remark else ''}."
            " `--dry-run` shows the change first."
        ),
        *wrapped(
            "Try what the client will call, with a question about your own code in place of this one. The answer is the text"
            " for the agent; asked again, the same session gets nothing:"
        )[:-1],
        "",
        "```console",
        *2 * [f"$ echo '{json.dumps(event)}' | hybrid hook run --client {client.name} --event {start.prompt_event}"],
        "```",
        "",
        "## Ask",
        "",
        *wrapped(
            f"Start a new session of `{start.program}` in the project's folder; sessions that run already have no hooks. {start.first}"
            " Ask something about the code, as you would ask a colleague."
        ),
        "## Look",
        "",
        "```console",
        "$ hybrid log --limit 2",
        f"...{client.name}...injected...",
        "$ hybrid explain --last",
        "...",
        "```",
        "",
        *wrapped(f"`explain` tells what was added and why. {start.shows}"),
        *wrapped(
            "Nothing was added? Thanks, small talk and questions that the project says nothing about get nothing."
            " `late` in the log says that the machine was busy: ask again. When all get nothing, ask"
            " [doctor](../troubleshooting.md)."
        ),
        *wrapped(
            f"Run with {client.label} {run_version(client.name)}. [What an agent gets](../agents.md#what-an-agent-gets) ·"
            f" [be quiet](../agents.md#quiet) · `hybrid hook uninstall --client {client.name}` takes the hooks out again."
        ),
    ]
    first_answer = next(at for at, line in enumerate(lines) if line.startswith("$ echo")) + 1
    lines.insert(first_answer, "{...--- hybrid context (auto-injected, ...")
    return "\n".join(lines).rstrip("\n") + "\n"


def run_version(client: str) -> str:
    """Return the version of a client that tests run."""
    told = json.loads((CHECKOUT / "tests/clients/clients.json").read_text(encoding="utf-8"))
    return str(told[client]["version"])
