"""Makes the archive of a home and a project that a version of hybrid wrote, with what it printed then.

    python -m tests.compat.make_home PATH_OF_HYBRID ARCHIVE

Working trees are known by their path, so the archive is made, and opened by the tests, in one fixed folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from tests.support.builders import git_project

FOLDER = Path("/tmp/hybrid-files-of-before")
LESSON = "LESSON: gotcha: Clear the plan cache after a migration - stale plans are served otherwise"
RETRY = "How does the payment client retry a charge after a timeout?"
CLIENTS = ("claude", "codex", "gemini", "qwen", "copilot", "opencode")
QUERIES = ("retry a payment", "rotate the database password", "find a user by e-mail")
SHOWN = {
    "lessons": ("lessons", "list"),
    "lore": ("lore", "list"),
    "memory": ("memory", "recent", "--json"),
    "settings": ("config", "get", "hooks.budget"),
}
"""Commands whose output must stay as it was."""


def environment() -> dict[str, str]:
    """Of every command: the fixed folder's home, no service."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HYBRID_", "PYTHON"))}
    return kept | {
        "HOME": str(FOLDER / "user"),
        "HYBRID_HOME": str(FOLDER / "home"),
        "HYBRID_HOOKS_DEADLINE_MS": "60000",
        "HYBRID_DAEMON_ENABLED": "false",
    }


def event(session: str, name: str = "UserPromptSubmit", **fields: Any) -> bytes:
    """One event of Claude Code in the project."""
    data = {"session_id": session, "cwd": str(FOLDER / "shop"), "hook_event_name": name, **fields}
    return json.dumps(data).encode()


def _main(hybrid: str, archive: str) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "user").mkdir(parents=True)
    git_project(FOLDER / "shop")

    def run(*args: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            [hybrid, *args], cwd=FOLDER / "shop", env=environment(), input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode()

    run("init", "--quiet")
    run("config", "set", "hooks.budget", "3000")
    run("lore", "decide", "Use JSONL for the audit journal", "--why", "append-only, grep-friendly")
    run("hook", "inject-context", stdin=event("s1", prompt=LESSON))
    hook = ("hook", "run", "--client", "claude", "--event")
    edit = {
        "file_path": str(FOLDER / "shop/src/payments/client.py"),
        "old_string": "attempts=5",
        "new_string": "attempts=9",
    }
    run(
        *hook,
        "PostToolUse",
        stdin=event(
            "s1",
            "PostToolUse",
            tool_name="Edit",
            tool_use_id="t1",
            tool_input=edit,
            tool_response={"filePath": "client.py"},
        ),
    )
    run(*hook, "Stop", stdin=event("s1", "Stop", last_assistant_message="Raised the number of attempts to nine."))
    printed = {"given": run("hook", "inject-context", stdin=event("s1", prompt=RETRY))}
    for client in CLIENTS:
        run("hook", "install", "--client", client)
    printed |= {name: run(*args) for name, args in SHOWN.items()}
    printed |= {f"search {query}": run("search", query, "--json") for query in QUERIES}
    printed["generation"] = str(json.loads(run("status", "--json"))["index"]["generation"])
    (FOLDER / "printed.json").write_text(json.dumps(printed, indent=1))
    for cache in ("user/.cache", "home/background"):
        shutil.rmtree(FOLDER / cache, ignore_errors=True)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(FOLDER, ".")
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    _main(*sys.argv[1:])
