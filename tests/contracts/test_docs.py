from __future__ import annotations

import re

import pytest
import tomli

from hybrid.cli.main import every_command
from hybrid.config import KEYS
from tests.support.builders import CHECKOUT

_DOCS = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("**/*.md"))]


@pytest.mark.parametrize("name", every_command())
def test_every_command_is_documented(name: str) -> None:
    """README.md or a page of docs/ names each command."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in _DOCS)

    assert re.search(rf"`?hybrid {name}\b", text)


def test_every_setting_is_explained_beside_its_default() -> None:
    """In config.toml each key has a comment above it, or shares the one of the key above."""
    lines = (CHECKOUT / "config.toml").read_text(encoding="utf-8").splitlines()
    section, is_explained, explained = "", False, []
    for line in lines:
        if line.startswith("["):
            section, is_explained = line.strip("[]"), False
        elif line.startswith("#"):
            is_explained = True
        elif not line.strip():
            is_explained = False
        elif is_explained:
            explained.append(f"{section}.{line.split(' =')[0]}")

    assert list(KEYS) == explained


def test_the_shipped_settings_are_those_of_the_code() -> None:
    """config.toml holds each setting of the code once, and no other."""
    data = tomli.loads((CHECKOUT / "config.toml").read_text(encoding="utf-8"))

    assert list(KEYS) == [f"{section}.{key}" for section, entries in data.items() for key in entries]


def test_the_changelog_has_a_place_for_what_is_new() -> None:
    """CHANGELOG.md begins with what is not released, or with this version."""
    from hybrid import __version__

    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.search(rf"^## \[?(Unreleased|{re.escape(__version__)})\]?", text, re.MULTILINE)
