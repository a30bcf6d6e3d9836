"""The folders of a project's files: `HYBRID_HOME`, that for the state of a working tree, and `.hybrid/` itself."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import ProjectError
from hybrid.base.home import home_path
from hybrid.project.find import FOLDER_NAME, Project, marks_of
from hybrid.project.registry import remember

if TYPE_CHECKING:
    from collections.abc import Mapping

_IGNORED = """\
# What hybrid keeps here for itself; LESSONS.md, lore/ and config.toml are for people and are committed.
hook_state.json
hot-topics.md
lessons.stats.json
*.lock
*.tmp
*.corrupt-*
"""

_CONFIG = """\
# Settings of this project for hybrid; `hybrid config` shows what is in force and where it comes from.
# Only what tunes, leaves out or raises privacy may stand here. Take the sign away to set a value.

[index]
# gitignore patterns of files to leave out, besides .gitignore and .hybridignore.
# exclude = ["testdata/", "*.snap"]

[hooks]
# Lines and characters of one injection.
# budget = 150
# budget_chars = 4000
"""


def hybrid_home(environ: Mapping[str, str]) -> Path:
    """Return the absolute path of the folder for what hybrid keeps of all projects, as `home_path` does."""
    return Path(home_path(environ))


def open_tree_state(project: Project, home: Path) -> Path:
    """Return the folder for state files of a working tree, its `.hybrid/` or one in `$HYBRID_HOME`; nothing is made."""
    if project.has_folder:
        return project.root / FOLDER_NAME
    return project_folder(project, home) / "trees" / project.tree


def project_folder(project: Project, home: Path) -> Path:
    """Return the folder in `$HYBRID_HOME` for files that all working trees of a project share; nothing is made."""
    return home / "projects" / project.key


def register(project: Project, home: Path) -> None:
    """Remember a project under its key, so that the key outlives a new remote, a rename or a move; builds call this.

    A failure is silent: the key is then found again the way it was found now.
    """
    remember(marks_of(project), project.key, home)


def create_folder(root: Path) -> Path:
    """Make `.hybrid/` in a folder, with a `.gitignore` and a first `config.toml` in it; existing files stay.

    Returns:
        The folder.

    Raises:
        ProjectError: A file or a link is in the place of `.hybrid/`, or the tree cannot be written.
    """
    folder = root / FOLDER_NAME
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        if folder.is_symlink() or not folder.is_dir():
            raise ProjectError(f"{folder} is a link or a file: remove it, a folder of the project must stand there")
        _write_new(folder / ".gitignore", _IGNORED)
        _write_new(folder / "config.toml", _CONFIG)
    except OSError as error:
        raise ProjectError(f"{folder} cannot be written ({error.strerror}): check the rights of the folder") from error
    return folder


def _write_new(path: Path, text: str) -> None:
    with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
