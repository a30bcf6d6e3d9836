"""Runs the examples of README.md: each `console` block on one small project, each command through the real program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import CHECKOUT, git_project

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def _examples() -> list[tuple[str, str]]:
    """(command, expected output) of every block, in order."""
    found: list[tuple[str, str]] = []
    for block in _BLOCK.findall((CHECKOUT / "README.md").read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def _pattern(expected: str) -> str:
    """Expected output as a pattern: `...` stands for anything."""
    lines = ".*".join(re.escape(part) for part in expected.rstrip("\n").split("..."))
    return lines + r"\s*\Z"


def test_examples_of_the_readme_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of the README prints what the README says, in the order of the text."""
    program = tmp_path / "bin" / "hybrid"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybrid "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    project = git_project(tmp_path / "shop")
    subprocess.run([str(program), "reindex", "--quiet"], cwd=project, check=True)

    for command, expected in _examples():
        done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True, timeout=60, check=False)

        assert "" == done.stderr, command
        assert re.match(_pattern(expected), done.stdout, re.DOTALL), f"{command}\n{done.stdout}"


def test_the_readme_has_examples() -> None:
    """The README shows the main commands at work."""
    commands = " ".join(command for command, _ in _examples())

    assert all(f"hybrid {name}" in commands for name in ("context", "hook", "reindex", "search", "status", "explain"))
