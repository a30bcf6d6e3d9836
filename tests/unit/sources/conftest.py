"""Builders for tests of sources: small real projects, with and without git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hybrid
from hybrid.sources.files import FileSource, FileTypes
from hybrid.sources.patterns import ListingOptions

LANGUAGES = {"py": "python", "js": "javascript", "json": "json", "md": "markdown", "txt": "text", "svg": "xml"}


def language_of(path: str, first_line: str) -> str | None:
    """A small table that stands for the one of chunking; `#!` decides where there is no suffix."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    if suffix in LANGUAGES:
        return LANGUAGES[suffix]
    return "python" if first_line.startswith("#!") else None


def kind_of(path: str, language: str) -> str:
    """Prose is `doc`."""
    return "doc" if language in ("markdown", "text") else "code"


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have global excludes, hooks or templates."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", os.devnull)
    monkeypatch.setenv("XDG_CONFIG_HOME", os.devnull)


@pytest.fixture
def run_git() -> Callable[..., str]:
    """Runs git in a folder and gives what it prints; skips the test when there is no git."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def run(folder: Path, *arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
        done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)
        return os.fsdecode(done.stdout)

    return run


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Runs code in a fresh interpreter and gives what it prints."""

    def run(code: str, *arguments: str) -> str:
        command = [sys.executable, "-c", code, *arguments]
        checkout = Path(hybrid.__file__).parent.parent
        return subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def write() -> Callable[..., None]:
    """Writes files below a folder: names to text or bytes."""

    def write_all(root: Path, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    return write_all


@pytest.fixture
def source_of() -> Callable[..., FileSource]:
    """Makes a source with a limit of 1 MB."""

    def make(root: Path, **options: object) -> FileSource:
        max_file_bytes = options.pop("max_file_bytes", 1_000_000)
        return FileSource(
            root,
            FileTypes(language_of, kind_of),
            max_file_bytes=max_file_bytes,  # type: ignore[arg-type]
            options=ListingOptions(**options),  # type: ignore[arg-type]
        )

    return make


@pytest.fixture(params=["git", "walk"])
def listed(
    request: pytest.FixtureRequest, source_of: Callable[..., FileSource], run_git: Callable[..., str]
) -> Callable[..., list[str]]:
    """Paths that a source finds, once listed by git and once by the walk; the project becomes a repository first."""

    def paths(root: Path, **options: object) -> list[str]:
        run_git(root, "init", "-q")
        source = source_of(root, use_git=request.param == "git", **options)
        found = [found.path for found in source.scan()]
        assert source.method.startswith(request.param)
        return found

    return paths
