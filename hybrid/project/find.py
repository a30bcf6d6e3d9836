"""Finds the project that a folder belongs to, and the folders of its files; every command, hook and build starts here.

A project is the git working tree around the folder, else the nearest folder above with a `.hybrid/` in it. Git itself
is not needed: what a `.git` says is read here, its settings, and one spelling for URLs of remotes. Nothing here raises
for what is on disk: a folder that is gone or cannot be read has no project.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from hybrid.base.errors import ProjectError
from hybrid.base.home import home_path
from hybrid.project.registry import Marks, choose_key, load_registry, path_key, remember

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hybrid.project.registry import KeyChoice, RegistryEntry


_MAX_BYTES = 1_000_000
_OWN_NAMES = (".git", ".bare")
"""Names of a repository's folder for which the folder around it gives the name of the project."""


# --- what a `.git` says -----------------------------------------------------------------------------------


class GitFolder(Struct, frozen=True):
    """The repository behind a working tree.

    Attributes:
        common: Folder shared by all its working trees: objects, refs, configuration.
        is_worktree: True for a linked working tree.
        main_root: The main working tree; for a bare repository the folder that has its name.
        origin: Normalised URL of the remote `origin`, empty when there is none.
    """

    common: Path
    is_worktree: bool
    main_root: Path
    origin: str


def open_git_folder(root: Path) -> GitFolder | None:
    """Return the repository of a folder that is the top of a working tree; None when it is none.

    Args:
        root: Real path of a folder; the folders above it are not looked at.
    """
    folders = folders_of(root)
    if folders is None:
        return None
    own, common = folders
    settings = _settings(common)
    if settings is None:
        return None
    is_worktree = common != own
    is_bare = is_true(settings, "core.bare") and "core.worktree" not in settings
    if is_bare and not is_worktree:
        return None
    main_root = _main_root(common, settings) if is_worktree else root
    url = settings.get("remote.origin.url", [""])[0]
    return GitFolder(common, is_worktree, main_root, normalise_origin(url, main_root))


def folders_of(root: Path) -> tuple[Path, Path] | None:
    """Return the git folder of this working tree alone, and the one that all trees of the repository share.

    Both are the same for a main working tree; None when `root` is the top of no working tree.
    """
    own = _own_folder(root / ".git")
    if own is None:
        return None
    shared = read_small(own / "commondir")
    return own, own if shared is None else real_path(own / shared.strip())


def is_bare_repository(folder: Path) -> bool:
    """Return whether a folder is a repository without a working tree (`name.git`), rather than the `.git` of one."""
    if folder.name == ".git":
        return False
    return is_file(folder / "HEAD") and is_folder(folder / "objects") and is_folder(folder / "refs")


def identity_of(common: Path) -> str:
    """Return a mark that stays when a repository is renamed or moved on its disk, and that no other repository has.

    Inode and time of a file that git writes once, when it makes the repository. Either alone may come again: inodes
    are used anew, and a copy keeps times. Empty when the file is not there.
    """
    return identity_of_file(common / "description") or identity_of_file(common / "info/exclude")


def identity_of_file(path: Path) -> str:
    """Return the inode and modification time of a regular file; empty for a link, or when the file is not there."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return ""
    is_usable = stat.S_ISREG(status.st_mode) and status.st_ino != 0
    return f"{status.st_ino}:{status.st_mtime_ns}" if is_usable else ""


def real_path(path: Path) -> Path:
    """Return the path with all links resolved, or unchanged where that fails; never raises."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path


def is_folder(path: Path) -> bool:
    """Return whether a folder is there and can be seen; never raises."""
    return os.path.isdir(path)  # noqa: PTH112 - `Path.is_dir` raises where a folder above cannot be seen


def is_file(path: Path) -> bool:
    """Return whether a file is there and can be seen; never raises."""
    return os.path.isfile(path)  # noqa: PTH113 - as above


def read_small(path: Path) -> str | None:
    """Return the text of a file, its first 1 MB at most; None when it is no file or cannot be read. Never raises."""
    if not is_file(path):
        return None
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return None


def _own_folder(dot_git: Path) -> Path | None:
    """Return the git folder of this working tree alone: `.git`, or the one that the file `.git` names; None without."""
    if is_folder(dot_git):
        return _checked(real_path(dot_git))
    text = read_small(dot_git)
    if text is None or not text.startswith("gitdir:"):
        return None
    target = text.removeprefix("gitdir:").strip()
    return _checked(real_path(dot_git.parent / target)) if target else None


def _checked(folder: Path) -> Path | None:
    # HEAD is a dangling link in very old repositories, so its being there is all that is asked.
    return folder if os.path.lexists(folder / "HEAD") else None


def _settings(common: Path) -> dict[str, list[str]] | None:
    """Return the settings of a repository; None when its folder is not one (a broken link to the main repository)."""
    if not is_folder(common / "objects"):
        return None
    settings = parse_config(read_small(common / "config") or "")
    if is_true(settings, "extensions.worktreeconfig"):
        for name, values in parse_config(read_small(common / "config.worktree") or "").items():
            settings.setdefault(name, []).extend(values)
    return settings


def _main_root(common: Path, settings: dict[str, list[str]]) -> Path:
    """Return the main working tree of a repository; of a bare one the folder that has its name."""
    if "core.worktree" in settings:
        return real_path(common / settings["core.worktree"][-1])
    return common.parent if common.name in _OWN_NAMES else common


# --- Git's configuration syntax; no includes are followed ------------------------------------------

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b"}
_TRUE = frozenset({"true", "yes", "on", "1", ""})


def parse_config(text: str) -> dict[str, list[str]]:
    """Parse settings: `section.key` or `section.SUBSECTION.key` → values in order; sections and keys in lower case.

    A key without a value has the value `true`. A line that is not understood is passed over.
    """
    values: dict[str, list[str]] = {}
    for name, value in config_entries(text):
        values.setdefault(name, []).append(value)
    return values


def config_entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the settings that `parse_config` returns one by one, in the order of the file."""
    section = ""
    for line in _logical_lines(text.removeprefix("\ufeff")):
        at = 0
        while (head := _SECTION.match(line, at)) is not None:
            section, at = _section_name(head), head.end()
        key = _KEY.match(line, at)
        if key is None or not section:
            continue
        after = line[key.end() :]
        yield f"{section}.{key.group(1).lower()}", _value(after[1:]) if after.startswith("=") else "true"


def is_true(values: dict[str, list[str]], name: str) -> bool:
    """Return whether the last value of a setting is one of git's words for yes; False when it is not set."""
    return name in values and values[name][-1].lower() in _TRUE


def _section_name(head: re.Match[str]) -> str:
    name, subsection = head.group(1).lower(), head.group(2)
    return name if subsection is None else f"{name}." + _ESCAPE.sub(r"\1", subsection)


def _logical_lines(text: str) -> list[str]:
    """Return the lines of a text, each joined with the next where it ends in a backslash."""
    lines: list[str] = []
    pending = ""
    for raw in text.replace("\r\n", "\n").split("\n"):
        n_backslashes = len(raw) - len(raw.rstrip("\\"))
        if n_backslashes % 2 == 1:
            pending += raw[:-1]
            continue
        lines.append(pending + raw)
        pending = ""
    return [*lines, pending] if pending else lines


def _value(raw: str) -> str:
    """Return a value without its quotes, escapes, comment and outer white space."""
    out: list[str] = []
    n_kept = 0  # Length up to which white space is meant: quoted, escaped, or followed by something.
    is_quoted = False
    characters = iter(raw.lstrip())
    for character in characters:
        if character == '"':
            is_quoted = not is_quoted
            n_kept = len(out)
            continue
        if character in "#;" and not is_quoted:
            break
        is_escape = character == "\\"
        if is_escape:
            following = next(characters, "")
            character = _ESCAPED.get(following, following)
        out.append(character)
        if is_quoted or is_escape or not character.isspace():
            n_kept = len(out)
    return "".join(out[:n_kept])


# --- Origins -------------------------------------------------------------------------------------------------------

_HELPER = re.compile(r"^[A-Za-z0-9]+::")
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(/.*)?$", re.DOTALL)
_SCP = re.compile(r"^(?:[^@/]+@)?(\[[^\]]+\]|[^:/@\[\]]{2,}):(.*)$", re.DOTALL)
_PORT = re.compile(r":\d*$")


def normalise_origin(url: str, base: Path) -> str:
    """Return `host/path` of a URL: no scheme, user, port or `.git`, host in lower case; of a local one the real path.

    Args:
        url: As it stands in the configuration: `https://…`, `ssh://…`, `git@host:path`, `file://…` or a path.
        base: Folder that a relative path starts from.

    Returns:
        Empty for an empty URL. Letter case of the path is kept: some hosts tell it apart.
    """
    url = _HELPER.sub("", url.strip())
    if not url:
        return ""
    matched = _URL.match(url)
    if matched is not None:
        scheme, authority, path = matched.group(1).lower(), matched.group(2), unquote(matched.group(3) or "")
        return _on_disk(path, base) if scheme == "file" else _on_host(_PORT.sub("", authority), path)
    scp = _SCP.match(url)
    if scp is not None:
        return _on_host(scp.group(1), scp.group(2))
    return _on_disk(url, base)


def name_of_origin(origin: str) -> str:
    """Return the last part of a normalised origin; empty when there is none."""
    return re.split(r"[/\\]", origin.rstrip("/\\"))[-1]


def _on_host(authority: str, path: str) -> str:
    host = authority.rpartition("@")[2].lower()
    parts = [part for part in _without_git(path).split("/") if part]
    return "/".join([host, *parts])


def _on_disk(path: str, base: Path) -> str:
    # A repository's own path, so that a clone of one on disk has the key of the one it came from.
    if re.match(r"^/[A-Za-z]:[/\\]", path):
        path = path[1:]
    real = os.path.realpath(base / path)
    return _without_git(real)


def _without_git(path: str) -> str:
    bare = path.rstrip("/\\")
    stem = bare.removesuffix(".git")
    # The `.git` folder itself is named after the folder around it.
    return stem.rstrip("/\\")


# --- projects ---------------------------------------------------------------------------------------------


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


# --- the folders of their files ---------------------------------------------------------------------------


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
