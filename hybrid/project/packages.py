"""The package of a monorepo that one works in, and the packages of the same tree that its manifest names.

`FileCollection` puts their files first where `[index] roots` says which folders are packages. Manifests are text of the
project: what cannot be read names nothing, and a folder outside of the tree is passed over.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.base.atomic import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_OWN, _NAMED = 1.5, 1.25
"""How many times as much a file counts; see decision 81."""
_MOST_PACKAGES = 1000
_MOST_BYTES = 1_000_000


class Nearness(Struct, frozen=True):
    """The package that one works in and those that it uses, as relative folders."""

    own: str
    named: frozenset[str]

    def weight(self, path: str) -> float:
        """Return how many times as much the file at a relative path counts: 1 for one of no such package."""
        if path.startswith(f"{self.own}/"):
            return _OWN
        folders = path.split("/")[:-1]
        return _NAMED if any("/".join(folders[:n]) in self.named for n in range(1, len(folders) + 1)) else 1.0


def nearness_of(root: Path, cwd: Path, patterns: Sequence[str]) -> Nearness | None:
    """Return what is near a folder; None when it lies in no package.

    Args:
        root: Real path of the working tree.
        cwd: Any folder.
        patterns: Relative folders of packages; `*` stands for any name.
    """
    try:
        parts = Path(os.path.realpath(cwd)).relative_to(root).parts
    except ValueError:
        return None
    above = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
    own = next((folder for folder in above if _is_package(folder, patterns)), None)
    if own is None:
        return None
    told = _told(root / own)
    folders = {_relative(root, root / own / path) for path in told.paths}
    if told.needed:
        others = (folder for folder in _packages(root, patterns) if folder != own)
        folders |= {folder for folder in others if told.needed & _told(root / folder).names}
    return Nearness(own, frozenset(folders - {"", own}))


def _is_package(folder: str, patterns: Sequence[str]) -> bool:
    parts = folder.split("/")
    wanted = (pattern.strip("/").split("/") for pattern in patterns)
    return any(len(one) == len(parts) and all(map(fnmatchcase, parts, one)) for one in wanted)


def _packages(root: Path, patterns: Sequence[str]) -> Iterator[str]:
    """Yield the folders of packages, at most `_MOST_PACKAGES`; links are not followed."""
    found = 0
    for pattern in patterns:
        folders = [""]
        for part in pattern.strip("/").split("/"):
            folders = [below for folder in folders for below in _below(root, folder, part)]
        for folder in folders:
            found += 1
            if found > _MOST_PACKAGES:
                return
            yield folder


def _below(root: Path, folder: str, pattern: str) -> list[str]:
    try:
        with os.scandir(root / folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if fnmatchcase(entry.name, pattern) and entry.is_dir(follow_symlinks=False) and entry.name != ".git"
            )
    except OSError:
        return []
    return [f"{folder}/{name}" if folder else name for name in names]


def _relative(root: Path, folder: Path) -> str:
    """Return a folder relative to the tree; empty for one that lies outside of it."""
    path = os.path.normpath(folder)
    inside = os.path.join(root, "")  # noqa: PTH118 - with a separator at its end
    return path[len(inside) :].replace(os.sep, "/") if path.startswith(inside) else ""


# --- manifests --------------------------------------------------------------------------------------------


class _Manifest(Struct, frozen=True):
    """What manifests tell: the names of the package, names that it needs, and folders that it needs, as written."""

    names: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()


_NOTHING = _Manifest()


def _told(folder: Path) -> _Manifest:
    """Return what all manifests in a folder tell together."""
    found: list[_Manifest] = []
    for name in _READERS:
        try:
            stat = (folder / name).stat()
        except OSError:
            continue
        found.append(_read(str(folder / name), stat.st_mtime_ns, stat.st_size))
    nobody: frozenset[str] = frozenset()
    return _Manifest(
        nobody.union(*(one.names for one in found)),
        nobody.union(*(one.needed for one in found)),
        nobody.union(*(one.paths for one in found)),
    )


@lru_cache(maxsize=4 * _MOST_PACKAGES)
def _read(path: str, _mtime_ns: int, _size_bytes: int) -> _Manifest:
    """Return what a manifest tells; kept as long as the file is the same, since every prompt asks."""
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8", "replace")
        return _READERS[os.path.basename(path)](text)  # noqa: PTH119 - a string
    except (OSError, ValueError, TypeError, AttributeError, IndexError, RecursionError):
        return _NOTHING


def _of_npm(text: str) -> _Manifest:
    data = _table(json.loads(text))
    kinds = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
    needed = {name: str(of) for kind in kinds for name, of in _table(data.get(kind)).items()}
    paths = (of.partition(":")[2] for of in needed.values() if of.startswith(("file:", "link:", "portal:")))
    return _manifest([data.get("name")], needed, paths)


def _of_python(text: str) -> _Manifest:
    import tomli  # Only a monorepo of Python has need of it.

    data = tomli.loads(text)
    project, tool = _table(data.get("project")), _table(data.get("tool"))
    poetry = _table(tool.get("poetry"))
    groups = [_table(one).get("dependencies") for one in _table(poetry.get("group")).values()]
    tables = [_table(one) for one in (poetry.get("dependencies"), *groups)]
    sources = _table(_table(tool.get("uv")).get("sources"))
    optional = _table(project.get("optional-dependencies")).values()
    lists = [project.get("dependencies"), *optional, *_table(data.get("dependency-groups")).values()]
    needed = [str(one) for some in lists if isinstance(some, list) for one in cast("list[object]", some)]
    names = [re.split(r"[^\w.-]", one.strip(), maxsplit=1)[0] for one in needed]
    places = [_table(of).get("path") for table in (*tables, sources) for of in table.values()]
    every = [*names, *(name for table in tables for name in table)]
    own = [project.get("name"), poetry.get("name")]
    return _manifest([_folded(one) for one in own], map(_folded, every), places)


def _folded(name: object) -> str:
    """Return the name of a Python package as all of its spellings are compared."""
    return re.sub(r"[-_.]+", "-", name).lower() if isinstance(name, str) else ""


def _of_rust(text: str) -> _Manifest:
    import tomli

    data = tomli.loads(text)
    targets = [_table(one) for one in _table(data.get("target")).values()]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    tables = [_table(of.get(kind)) for of in (data, *targets) for kind in kinds]
    needed = [_table(of).get("package", name) for table in tables for name, of in table.items()]
    paths = [_table(of).get("path") for table in tables for of in table.values()]
    return _manifest([_table(data.get("package")).get("name")], needed, paths)


def _of_go(text: str) -> _Manifest:
    names: list[str] = []
    needed: list[str] = []
    paths: list[str] = []
    block = ""
    for line in text.split("\n"):
        bare = line.partition("//")[0].strip()
        if bare.endswith("("):
            block = bare[:-1].strip()
        elif bare == ")":
            block = ""
        elif bare:
            word, _, rest = bare.partition(" ")
            kind, said = (block, bare) if block else (word, rest.strip())
            if kind == "module":
                names.append(said.strip('"'))
            elif kind == "require":
                needed.append(said.split()[0])
            elif kind == "replace" and "=>" in said:
                paths.append(said.partition("=>")[2].split()[0])
    return _manifest(names, needed, (path for path in paths if path.startswith(".")))


def _table(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _manifest(names: Iterable[object], needed: Iterable[object], paths: Iterable[object]) -> _Manifest:
    return _Manifest(
        *(frozenset(one for one in some if isinstance(one, str) and one) for some in (names, needed, paths))
    )


_READERS: dict[str, Callable[[str], _Manifest]] = {
    "package.json": _of_npm,
    "pyproject.toml": _of_python,
    "Cargo.toml": _of_rust,
    "go.mod": _of_go,
}
