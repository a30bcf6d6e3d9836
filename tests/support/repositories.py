"""Repositories that git itself makes, commit by commit."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.support.builders import write_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SETTINGS = ("-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false")


class Repository:
    """A working tree with git; commits are a minute apart."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._n_commits = 0
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, author: str = "Ada", text: str = "") -> str:
        """Run git and return what it prints, without the developer's settings."""
        time = f"{1_700_000_000 + 60 * self._n_commits} +0000"
        clean = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        times = {"GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time}
        done = subprocess.run(
            ["git", "-c", f"user.name={author}", *_SETTINGS, *arguments],
            cwd=self.root,
            check=True,
            capture_output=True,
            env=os.environ | clean | times,
            input=text.encode(),
        )
        return done.stdout.decode().strip()

    def commit(self, subject: str, files: Mapping[str, str] | None = None, *more: str, author: str = "Ada") -> str:
        """Commit all changes, and files with a text each, under a subject; return the id."""
        write_files(self.root, files or {})
        self._n_commits += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, *more, author=author)
        return self.git("rev-parse", "HEAD")

    def touch(self, subject: str, *paths: str, author: str = "Ada") -> str:
        """Commit a change of some files; return the id."""
        return self.commit(subject, {path: f"{self._n_commits} {path!a}\n" for path in paths}, author=author)
