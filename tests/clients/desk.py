"""A developer's machine in a folder: a home, an indexed project, the `hybrid` command, and a mock of a model API.

Everything runs with the real programs and an environment of its own; `agents` adds what each client needs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.builders import PAYMENTS, git_project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.clients.mock_api import MockApi

SCRIPTS = Path(sys.executable).parent
"""Where the environment that runs the tests has its `hybrid`."""

QUESTION = "How does the payment client retry a charge after a timeout of the provider?"
ANSWER = "[code] src/payments/client.py:"
"""Begin of the line above the chunk that answers it."""
OTHER_QUESTION = "How do I roll back a release and run the down migrations?"
OTHER_ANSWER = "[doc] docs/deploy.md:"

FRESH_S = 15.0
"""Seconds until a change must be found; two are the aim, on a machine that has nothing else to do."""


@dataclass(frozen=True)
class Desk:
    """Where one test works.

    Attributes:
        folder: Holds everything else; a scratch folder of the test.
        api: What the clients take for their model.
        node: The folder of the `node` program.
    """

    folder: Path
    api: MockApi
    node: Path | None = None

    @property
    def project(self) -> Path:
        """The working tree."""
        return self.folder / "shop"

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.folder / "user"

    @property
    def hybrid_home(self) -> Path:
        """Where `hybrid` keeps indexes, sessions and logs."""
        return self.folder / "hh"

    @property
    def environ(self) -> dict[str, str]:
        """Nothing of who runs the tests but where programs and certificates are."""
        path = [str(SCRIPTS), *([str(self.node)] if self.node else []), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(path),
            "HOME": str(self.home),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "HYBRID_HOME": str(self.hybrid_home),
            # Machines of a CI are slow: what is tried here is delivery; deadlines have tests of their own.
            "HYBRID_HOOKS_DEADLINE_MS": "4500",
        }

    def hybrid(self, *args: str, code: int | None = 0, **environ: str) -> str:
        """What the installed command prints."""
        done = subprocess.run(
            [str(SCRIPTS / "hybrid"), *args],
            cwd=self.project,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert code in {None, done.returncode}, done.stdout + done.stderr
        return done.stdout

    def wait_until_found(self, query: str, path: str) -> None:
        """Until a search finds a file of the project: the service brings the index up to date in the background."""
        until_s = time.monotonic() + FRESH_S
        while path not in (said := self.hybrid("search", query, "--json", code=None)):
            assert time.monotonic() < until_s, said
            time.sleep(0.1)

    def files(self) -> dict[str, bytes]:
        """Every file of the project, by its path in it, but those of git and the counters in `.hybrid`."""
        found = {path.relative_to(self.project): path for path in sorted(self.project.rglob("*")) if path.is_file()}
        return {
            str(name): path.read_bytes() for name, path in found.items() if name.parts[0] not in {".git", ".hybrid"}
        }

    def reasons(self, event: str = "UserPromptSubmit") -> list[str]:
        """Why hybrid decided as it did at the events of one name, oldest first."""
        return [str(line["reason"]) for line in self.log() if line.get("event", event) == event]

    def log(self) -> list[dict[str, Any]]:
        """The lines of the event log."""
        path = self.hybrid_home / "log" / "events.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def open_desk(folder: Path, api: MockApi, node: Path | None, files: Mapping[str, str] = PAYMENTS) -> Desk:
    """A desk with an indexed project; `close_desk` stops what it started."""
    desk = Desk(folder, api, node)
    for name in ("user", "tmp", "hh"):
        (folder / name).mkdir(parents=True)
    git_project(desk.project, files)
    desk.hybrid("reindex", "--quiet")
    return desk


def close_desk(desk: Desk) -> None:
    """Stop what hooks and the MCP server may have started: the service, and the worker, which else waits two minutes."""
    desk.hybrid("daemon", "stop", code=None)
    path = desk.hybrid_home / "run" / "mcp"
    found = re.match(r"pid (\d+)$", path.read_text("utf-8"), re.MULTILINE) if path.exists() else None
    # A client may kill the worker as it ends, and its relay start another one, which has not written its number yet.
    workers = {pid for pid, command in processes_of(desk).items() if " mcp --worker" in command}
    for pid in workers | ({int(found[1])} if found else set()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def processes_of(desk: Desk) -> dict[int, str]:
    """Number → command line, by the home in their environment; empty where the system does not show it."""
    mark = f"HYBRID_HOME={desk.hybrid_home}\0".encode()
    found: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = mark in (folder / "environ").read_bytes() + b"\0"
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if is_ours:
            found[int(folder.name)] = command
    return found
