"""Runs the command that agents run, on a small project and an event of its own, and judges the answer; for `doctor`.

Project, index and `HYBRID_HOME` are made in a temporary folder and the service is left out, so nothing of the user is
read, changed or counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.health.doctor import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TIMEOUT_S = 30
_SLOW_MS = 2_000
_PROMPT = "How does the payment client retry a request after a timeout?"
_SAMPLE = """\
# Payment client

The payment client sends charges to the provider.

## Retry after a timeout

The payment client sends a request again after a timeout, at most five times. It waits twice as long before each retry.
"""
_KEPT = "HYBRID_HOOKS_DEADLINE_MS"
_CLIENT_VARIABLES = ("COPILOT_CLI", "CLAUDECODE", "GEMINI_SESSION_ID", "QWEN_CODE_SESSION_ID")
"""Variables by which a hook knows who calls it; the trial says it itself."""


class Ran(Struct, frozen=True):
    """What a command did.

    Attributes:
        code: Exit code; None when it did not end in time.
        out: Standard output.
        err: Standard error.
        took_ms: From start to end of the process.
    """

    code: int | None
    out: bytes
    err: bytes
    took_ms: float


def try_commands(commands: Sequence[Sequence[str]], environ: Mapping[str, str]) -> Iterator[Finding]:
    """Run each command on the sample event and judge it.

    Args:
        commands: Argument lists, without `--client` and `--event`: those of Claude Code's prompt event are added.
        environ: Environment variables; those of hybrid and of the calling client are left out.

    Raises:
        HybridError: The sample project cannot be indexed.
        OSError: No temporary files can be made.
    """
    with tempfile.TemporaryDirectory(prefix="hybrid-doctor-", ignore_cleanup_errors=True) as name:
        project = _sample_project(Path(name))
        settings = _environment(environ, Path(name) / "home")
        event = {"session_id": "hybrid-doctor", "cwd": str(project), "hook_event_name": "UserPromptSubmit"}
        for command in commands:
            full = [*command, "--client", "claude", "--event", "UserPromptSubmit"]
            ran = _run(full, json.dumps(event | {"prompt": _PROMPT}).encode(), settings, project)
            yield judge(" ".join(command), ran)


def judge(command: str, ran: Ran) -> Finding:
    """What a run says about its command: it must end with 0, say nothing on standard error and give one JSON object."""
    what = f"`{command}` on a sample prompt"
    remedy = "hybrid hook install --client NAME again; or report it with the output of `hybrid doctor --json`"
    if ran.code is None:
        return Finding("problem", "trial", f"{what} did not end within {_TIMEOUT_S} s", remedy)
    if ran.code != 0:
        return Finding("problem", "trial", f"{what} ended with code {ran.code}: {_last_line(ran.err)}", remedy)
    if ran.err.strip():
        return Finding("problem", "trial", f"{what} wrote to standard error: {_last_line(ran.err)}", remedy)
    if not ran.out.strip():
        slow = "hybrid config set hooks.deadline_ms 3000 gives it more time; the service answers faster"
        return Finding("warning", "trial", f"{what} stayed silent after {ran.took_ms:.0f} ms", slow)
    if not _is_answer(ran.out):
        return Finding("problem", "trial", f"{what} printed something else than one JSON answer", remedy)
    if ran.took_ms > _SLOW_MS:
        return Finding("warning", "trial", f"{what} took {ran.took_ms:.0f} ms", "hybrid daemon start")
    return Finding("ok", "trial", f"{what} answered in {ran.took_ms:.0f} ms, without the service")


def _is_answer(out: bytes) -> bool:
    try:
        found: object = json.loads(out)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict):
        return False
    answer = cast("dict[str, Any]", found).get("hookSpecificOutput")
    return isinstance(answer, dict) and bool(cast("dict[str, Any]", answer).get("additionalContext"))


def _last_line(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1][:200]


def _sample_project(folder: Path) -> Path:
    from hybrid.upkeep.indexing import reindex
    from hybrid.workspace import open_workspace

    project = folder / "sample"
    (project / ".hybrid").mkdir(parents=True)
    (project / "payments.md").write_text(_SAMPLE, encoding="utf-8")
    environ = {"HYBRID_HOME": str(folder / "home")}
    reindex(open_workspace(project, environ=environ, user_home=folder / "user"))
    return project


def _environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in environ.items()
        if (not name.startswith("HYBRID_") or name == _KEPT) and name not in _CLIENT_VARIABLES
    }
    return kept | {"HYBRID_HOME": str(home), "HYBRID_DAEMON_ENABLED": "false", "HYBRID_INDEX_AUTO": "false"}


def _run(command: Sequence[str], stdin: bytes, environ: Mapping[str, str], cwd: Path) -> Ran:
    started_s = time.perf_counter()
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environ, cwd=cwd, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Ran(None, b"", b"", _TIMEOUT_S * 1000.0)
    except OSError as error:
        return Ran(127, b"", os.fsencode(str(error)), 0.0)
    return Ran(done.returncode, done.stdout, done.stderr, (time.perf_counter() - started_s) * 1000)
