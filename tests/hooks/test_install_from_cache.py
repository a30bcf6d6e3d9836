"""Installing hooks with a hybrid that runs out of a cache, as `uvx` and `pipx run` start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.support.builders import CHECKOUT, git_project

pytestmark = pytest.mark.slow


class Cached:
    """A `hybrid` in an environment within a marked cache.

    Args:
        folder: Where user, project and cache are made.
    """

    def __init__(self, folder: Path) -> None:
        self.user, self.root, self.cache = folder / "user", git_project(folder / "shop"), folder / "uv"
        self.user.mkdir()
        prefix = self.cache / "archive-v0" / "x"
        venv.create(prefix, symlinks=os.name != "nt")
        (self.cache / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55", encoding="ascii")
        self.python = prefix / ("Scripts" if os.name == "nt" else "bin") / "python"
        self.path = str(self.python.parent)

    def run(self, *args: str, code: int = 0) -> str:
        """What a command prints, on either stream."""
        environ = {
            "PATH": self.path,
            "HOME": str(self.user),
            "USERPROFILE": str(self.user),
            "HYBRID_HOME": str(self.user / "hybrid"),
            "HYBRID_DAEMON_ENABLED": "false",
            "PYTHONPATH": os.pathsep.join((str(CHECKOUT), sysconfig.get_path("purelib"))),
        }
        command = [str(self.python), "-m", "hybrid", *args]
        done = subprocess.run(
            command, cwd=self.root, env=environ, capture_output=True, text=True, timeout=120, check=False
        )
        assert code == done.returncode, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def cached(tmp_path: Path) -> Cached:
    """A hybrid of a cache, in a project that was never indexed."""
    return Cached(tmp_path)


def test_no_hook_names_a_file_of_a_cache(cached: Cached) -> None:
    """The user's settings stay as they were, and the message says how to install hybrid and what to call then."""
    said = cached.run("hook", "install", "--client", "claude", code=2)

    assert f"runs out of a cache ({cached.cache})" in said
    assert "`uv tool install hybrid-retrieval`" in said
    assert "then `hybrid hook install --client claude`" in said
    assert not (cached.user / ".claude").exists()


def test_the_installed_program_is_named_where_there_is_one(cached: Cached) -> None:
    """Who has hybrid installed too is told to call that one."""
    installed = cached.user / "bin" / "hybrid"
    installed.parent.mkdir()
    installed.write_text("#!/bin/sh\n", encoding="utf-8")
    installed.chmod(0o755)
    cached.path = os.pathsep.join((cached.path, str(installed.parent)))

    said = cached.run("hook", "install", "--client", "claude", "--scope", "local", code=2)

    assert f"`{installed} hook install --client claude --scope local`" in said


def test_the_hooks_of_a_project_name_no_path(cached: Cached) -> None:
    """They are installed, with a note that they wait for an installed hybrid."""
    said = cached.run("hook", "install", "--client", "claude", "--scope", "project")

    assert "Note: this hybrid runs out of a cache, and none is on the PATH" in said
    assert str(cached.cache) not in (cached.root / ".claude" / "settings.json").read_text(encoding="utf-8")


def test_who_insists_is_told_at_every_look(cached: Cached) -> None:
    """`--force` registers the files of the cache; status and doctor say that they may go."""
    forced = cached.run("hook", "install", "--client", "claude", "--force")
    status = json.loads(cached.run("hook", "status", "--json"))
    checked = cached.run("doctor")

    assert "Note: the hooks name files in a cache" in forced
    assert (
        f"the program lies in a cache ({cached.cache}) that may be emptied" == status["installed"]["claude"]["outdated"]
    )
    assert "hybrid hook install --client claude" == status["installed"]["claude"]["renewal"]
    assert f"in a cache ({cached.cache}) that may be emptied" in checked


def test_the_first_steps_say_how_to_install(cached: Cached) -> None:
    """`hybrid init` offers no hooks out of a cache: it says how to install hybrid first."""
    (cached.user / ".claude").mkdir()

    said = cached.run("init")

    assert "This hybrid runs out of a cache: install it with `uv tool install hybrid-retrieval`" in said
    assert "then: hybrid hook install --client claude" in said
    assert sys.prefix not in said
