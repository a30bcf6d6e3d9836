"""Explains which project a folder belongs to, and why; `hybrid project` shows it. Reads what `find` reads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.project.find import FOLDER_NAME, has_folder, marks_of
from hybrid.project.git_folder import folders_of, is_bare_repository, open_git_folder, real_path
from hybrid.project.registry import choose_key, load_registry

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.project.find import Project
    from hybrid.project.registry import Entry, KeyChoice, Marks


class Explanation(Struct, frozen=True):
    """Why a project has its key and its name.

    Attributes:
        key_from: `origin`, `path`, or `registry` when an earlier key was kept.
        key_why: The same as a sentence without a full stop.
        name_from: `origin` or `folder`.
        name_why: The same as a sentence without a full stop.
        origin: Normalised, empty when there is none: it holds neither user nor password.
        is_submodule: Whether a repository around it holds this one's `.git`.
        known_origins: What the registry remembers of the key.
        known_paths: The same, newest last.
    """

    key_from: str
    key_why: str
    name_from: str
    name_why: str
    origin: str
    is_submodule: bool
    known_origins: tuple[str, ...]
    known_paths: tuple[str, ...]


def explain_project(project: Project, home: Path) -> Explanation:
    """Why a project has its key and its name.

    Args:
        project: As `find_project` gave it.
        home: `$HYBRID_HOME`.
    """
    marks = marks_of(project)
    choice = choose_key(marks, home)
    entry = load_registry(home).get(choice.key)
    key_from, key_why = _why_key(marks, choice, entry)
    name_from, name_why = _why_name(project, marks)
    return Explanation(
        key_from=key_from,
        key_why=key_why,
        name_from=name_from,
        name_why=name_why,
        origin=marks.origin,
        is_submodule=project.is_git and _is_submodule(project.main_root),
        known_origins=entry.origins if entry else (),
        known_paths=entry.paths if entry else (),
    )


def explain_none(cwd: Path, home: Path) -> str:
    """Why a folder belongs to no project, as a sentence without a full stop."""
    folder = real_path(cwd)
    for candidate in (folder, *folder.parents):
        if is_bare_repository(candidate):
            return f"{candidate} is a bare repository: it has no files"
        if (candidate / FOLDER_NAME).is_symlink():
            return f"{candidate / FOLDER_NAME} is a link: only a folder makes a project"
        if _is_own(candidate / FOLDER_NAME, home):
            return f"{candidate / FOLDER_NAME} is the folder of hybrid itself, which makes no project"
        if (candidate / ".git").exists() and open_git_folder(candidate) is None:
            return f"{candidate / '.git'} leads to no repository with files"
    return "no git working tree here or above, and no .hybrid folder"


def _why_key(marks: Marks, choice: KeyChoice, entry: Entry | None) -> tuple[str, str]:
    if choice.reason == "origin URL":
        return "origin", f"made from the origin {marks.origin}"
    # With an origin by now, the key of the path is one that was kept.
    if choice.reason == "main working tree path" and not marks.origin:
        return "path", f"made from the path {marks.path}, as there is no origin"
    known = {
        "identity": "the repository is known by its identity, wherever it lies",
        "origin": f"a project with the origin {marks.origin} is known",
        "path": f"a project in {marks.path} is known",
    }.get(choice.known_by, "it is known")
    first = _first_of(entry)
    return "registry", f"kept from before: {known}{f'; the key was made for {first}' if first else ''}"


def _first_of(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return next(iter((*entry.origins, *entry.paths)), "")


def _why_name(project: Project, marks: Marks) -> tuple[str, str]:
    if marks.origin:
        return "origin", f"last part of the origin {marks.origin}"
    if not project.is_git:
        return "folder", f"name of the folder {project.root} that holds {FOLDER_NAME}"
    return "folder", f"name of the main working tree {project.main_root}, as there is no origin"


def _is_submodule(root: Path) -> bool:
    """Git keeps a submodule's repository in `modules` of the one around it."""
    folders = folders_of(root)
    if folders is None or root == folders[0].parent:
        return False
    return any(part == "modules" and above == ".git" for above, part in pairwise(folders[1].parts))


def _is_own(folder: Path, home: Path) -> bool:
    return folder.is_dir() and not has_folder(folder.parent, home)
