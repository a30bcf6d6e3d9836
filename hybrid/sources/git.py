"""Asks git for the files of a working tree; `listing` calls it. No other git command is run here.

The repository may be foreign: nothing that its configuration names is executed, nothing is written into it, and the
search for it does not leave the folder that was given.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.sources.reading import join

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT_S = 20.0
_COUNT_BYTES = 65_536

# Variables of git that are passed on: where the user's own settings lie. All others could turn git to another
# repository or into another behaviour; a surrounding git process (a hook, for example) sets some of them.
_PASSED_ON = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM")

# A sparse index whose trees are missing has git fetch them from a "promisor" that the repository's configuration
# names, and so run `ext::COMMAND` or core.sshCommand. Older versions of git do not know GIT_NO_LAZY_FETCH, so no
# protocol is allowed either: no transport is called `none`, and the variable overrides every `protocol.*` setting.
_OWN_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

_ARGUMENTS = (
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "submodule.recurse=false",
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
)


class GitUnavailableError(Exception):
    """Git cannot list this folder; the message says why."""


def list_files(root: str, within: Sequence[str] = (), *, timeout_s: float = _TIMEOUT_S) -> set[str]:
    """Files that are tracked, or untracked and not ignored, as git sees them.

    Tracked files that were deleted are among them, and links to folders, and the folders of submodules: a `stat`
    tells. Untracked repositories inside are left out. The set also takes the place of `--deduplicate`, which git
    knows only since 2.31.

    Args:
        root: Real path of the top of the working tree.
        within: Relative paths of files and folders, there or gone: only these and what is below. Empty = everything.
        timeout_s: After this the answer is no longer waited for.

    Raises:
        GitUnavailableError: No git, no repository, not trusted (other owner), damaged, or too slow.
    """
    if not os.path.lexists(join(root, ".git")):
        raise GitUnavailableError("not the top of a git working tree")
    try:
        paths = os.fsdecode(_run(root, within, timeout_s)).split("\0")
    except UnicodeDecodeError as error:
        raise GitUnavailableError("git gave a path that this system cannot name") from error
    return {path for path in paths if path and not path.endswith("/") and not path.startswith(("../", "/"))}


def has_more_files(root: str, limit: int) -> bool:
    """Whether git lists more than so many files; it is stopped as soon as that is known.

    Raises:
        GitUnavailableError: As `list_files`.
    """
    import subprocess

    try:
        process = subprocess.Popen(
            (_executable(root), *_ARGUMENTS),
            cwd=root,
            env=_environment(root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        raise GitUnavailableError(f"git cannot be run: {error}") from error
    n_files = 0
    with process:
        assert process.stdout is not None
        while n_files <= limit and (data := process.stdout.read(_COUNT_BYTES)):
            n_files += data.count(b"\0")
        if n_files > limit:
            process.kill()
            return True
    if process.returncode != 0:
        raise GitUnavailableError(f"git failed with {process.returncode}")
    return False


def _run(root: str, within: Sequence[str], timeout_s: float) -> bytes:
    import subprocess  # Costs 10 ms, and re-reading one span needs no git.

    command = (_executable(root), *_ARGUMENTS, "--", *within)
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=_environment(root),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GitUnavailableError(f"git took longer than {timeout_s:g} s") from error
    except (OSError, ValueError) as error:
        raise GitUnavailableError(f"git cannot be run: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise GitUnavailableError(f"git failed with {done.returncode}: {lines[0][:200]}")
    return done.stdout


def _executable(root: str) -> str:
    """Absolute path of git; one that lies in the project, or wherever the working directory is, is never run."""
    import shutil

    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    trusted = [folder for folder in folders if Path(folder).is_absolute() and not _is_inside(root, folder)]
    found = shutil.which("git", path=os.pathsep.join(trusted))
    if found is None or not Path(found).is_absolute() or _is_inside(root, found):
        raise GitUnavailableError("git cannot be run: there is none on PATH outside of the project")
    return found


def _is_inside(root: str, path: str) -> bool:
    real = os.path.realpath(path)
    return real == root or real.startswith(join(root, ""))


def _environment(root: str) -> dict[str, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _PASSED_ON
    }
    # With a damaged `.git` here, git would otherwise list this folder as part of a repository further up.
    environment["GIT_CEILING_DIRECTORIES"] = str(Path(root).parent)
    return environment | _OWN_VARIABLES
