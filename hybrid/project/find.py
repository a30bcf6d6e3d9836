"""Finds the project that a folder belongs to; every command, hook and build starts here. It writes nothing.

A project is the git working tree around the folder, else the nearest folder above with a `.hybrid/` in it. Git itself
is not needed. Nothing here raises for what is on disk: a folder that is gone or cannot be read has no project.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.project.git_folder import (
    GitFolder,
    folders_of,
    identity_of,
    identity_of_file,
    is_bare_repository,
    is_folder,
    name_of_origin,
    open_git_folder,
    real_path,
)
from hybrid.project.registry import Marks, choose_key, load_registry, path_key

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.project.registry import KeyChoice, RegistryEntry


FOLDER_NAME = ".hybrid"


class Project(Struct, frozen=True):
    """A project, seen from one of its working trees.

    Attributes:
        root: Real path of this working tree, or of the folder that holds `.hybrid/`.
        name: As shown to people; dots and spaces allowed.
        key: 16 hex digits, shared by all clones and worktrees.
        worktree: True for a linked working tree.
        tree: 16 hex digits of this working tree's real path.
        is_git: False for a plain folder with `.hybrid/`.
        main_root: The main working tree; the root itself unless `worktree`.
        has_folder: Whether `root` holds a `.hybrid/` of its own.
        reason: The source of the key: `origin URL`, `main working tree path` or `registered`.
    """

    root: Path
    name: str
    key: str
    worktree: bool
    tree: str
    is_git: bool
    main_root: Path
    has_folder: bool
    reason: str


def find_project(cwd: Path, home: Path, user_home: Path) -> Project | None:
    """Return the project of a folder; None when it belongs to none.

    Args:
        cwd: Any folder; it may be a link, be gone, or lie inside `.git`.
        home: The folder of `hybrid` itself (`HYBRID_HOME`); it is never taken for a project's `.hybrid/`.
        user_home: The user's home. When it is a repository itself, as is the root of a file system at times, a folder
            with `.hybrid/` inside it comes first: such a repository holds settings, and may not be indexed anyway.
    """
    folder = real_path(cwd)
    tree = _find_tree(folder)
    marked = next((candidate for candidate in (folder, *folder.parents) if has_folder(candidate, home)), None)
    if tree is not None and (marked is None or not _is_too_wide(tree[0], user_home)):
        return _project(*tree, home)
    return _project(marked, None, home) if marked is not None else None


def marks_of(project: Project) -> Marks:
    """Return the marks by which a project is known again later, read from its disk now."""
    git = open_git_folder(project.root) if project.is_git else None
    return _marks(project.root, git)


def refusal(root: Path, user_home: Path) -> str | None:
    """Return why a folder, given by its real path, must not be indexed unless forced; None when it may be.

    Refused are the root of a file system, the home folder, and folders above it.
    """
    if root.parent == root:
        return f"{root} is the root of a file system: index a folder in it instead"
    home = real_path(user_home)
    if root == home:
        return f"{root} is your home folder: index a folder in it instead"
    if root in home.parents:
        return f"{root} holds your home folder: index a folder in it instead"
    return None


def has_folder(root: Path, home: Path) -> bool:
    """Return whether a folder holds a project's `.hybrid/`: no link, not `HYBRID_HOME`, and no folder above that."""
    folder = root / FOLDER_NAME
    if not is_folder(folder) or real_path(folder) != real_path(root) / FOLDER_NAME:
        return False
    own = real_path(home)
    return own != folder and folder not in own.parents


def _find_tree(folder: Path) -> tuple[Path, GitFolder] | None:
    for candidate in (folder, *folder.parents):
        git = open_git_folder(candidate)
        if git is not None:
            return candidate, git
        if is_bare_repository(candidate):
            return None
    return None


def _is_too_wide(root: Path, user_home: Path) -> bool:
    return root.parent == root or root == real_path(user_home)


def _project(root: Path, git: GitFolder | None, home: Path) -> Project:
    marks = _marks(root, git)
    choice = choose_key(marks, home)
    return Project(
        root=root,
        name=marks.name,
        key=choice.key,
        worktree=git is not None and git.is_worktree,
        tree=path_key(str(root)),
        is_git=git is not None,
        main_root=root if git is None else git.main_root,
        has_folder=has_folder(root, home),
        reason=choice.reason,
    )


def _marks(root: Path, git: GitFolder | None) -> Marks:
    if git is None:
        # `create_folder` writes this file once; it has the part that `description` has in a repository.
        return Marks(_folder_name(root), "", str(root), identity_of_file(root / FOLDER_NAME / ".gitignore"))
    name = name_of_origin(git.origin) or _folder_name(git.main_root)
    return Marks(name, git.origin, str(git.main_root), identity_of(git.common))


def _folder_name(root: Path) -> str:
    return root.name.removesuffix(".git") or root.name or "root"


# --- Why -----------------------------------------------------------------------------------------------------------


class Explanation(Struct, frozen=True):
    """The reasons for the key and the name of a project.

    Attributes:
        key_from: `origin`, `path`, or `registry` when an earlier key was kept.
        key_why: The reason for the key, as a sentence without a full stop.
        name_from: `origin` or `folder`.
        name_why: The reason for the name, as a sentence without a full stop.
        origin: The normalised origin, without user and password; empty when there is none.
        is_submodule: True if another repository holds the `.git` of this one.
        known_origins: Origins that the registry remembers of the key, the newest last.
        known_paths: Paths that the registry remembers of the key, the newest last.
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
    """Return the reasons for the key and the name of a project, read from disk now.

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
    """Return why a folder belongs to no project, as a sentence without a full stop."""
    folder = real_path(cwd)
    for candidate in (folder, *folder.parents):
        if is_bare_repository(candidate):
            return f"{candidate} is a bare repository: it has no files"
        if (candidate / FOLDER_NAME).is_symlink():
            return f"{candidate / FOLDER_NAME} is a link: only a folder makes a project"
        if (candidate / FOLDER_NAME).is_dir() and not has_folder(candidate, home):
            return f"{candidate / FOLDER_NAME} is the folder of hybrid itself, which makes no project"
        if (candidate / ".git").exists() and open_git_folder(candidate) is None:
            return f"{candidate / '.git'} leads to no repository with files"
    return "no git working tree here or above, and no .hybrid folder"


def _why_key(marks: Marks, choice: KeyChoice, entry: RegistryEntry | None) -> tuple[str, str]:
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
    first = next(iter((*entry.origins, *entry.paths)), "") if entry else ""
    return "registry", f"kept from before: {known}{f'; the key was made for {first}' if first else ''}"


def _why_name(project: Project, marks: Marks) -> tuple[str, str]:
    if marks.origin:
        return "origin", f"last part of the origin {marks.origin}"
    if not project.is_git:
        return "folder", f"name of the folder {project.root} that holds {FOLDER_NAME}"
    return "folder", f"name of the main working tree {project.main_root}, as there is no origin"


def _is_submodule(root: Path) -> bool:
    """Return whether the repository of a working tree lies in `.git/modules` of another, as for a submodule."""
    folders = folders_of(root)
    if folders is None or root == folders[0].parent:
        return False
    return any(part == "modules" and above == ".git" for above, part in pairwise(folders[1].parts))
