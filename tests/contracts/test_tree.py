from __future__ import annotations

import re

import pytest
import tomli

from tests.support.builders import CHECKOUT


@pytest.mark.parametrize("folder", ["index", "hooks", "models"])
def test_the_folders_beside_the_package_hold_no_python(folder: str) -> None:
    """What stands in the folders beside `hybrid/` is data: a user's folder of that name must never be imported."""
    assert [] == sorted((CHECKOUT / folder).rglob("*.py*"))
    assert any((CHECKOUT / folder).iterdir())


def test_only_one_package_is_importable() -> None:
    """The wheel holds the package `hybrid` and nothing else at top level; the data folders go inside it."""
    project = tomli.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert ["hybrid"] == wheel["packages"]
    assert all(target.startswith("hybrid/shipped/") for target in wheel["force-include"].values())
    assert {"hybrid": "hybrid.__main__:main"} == project["project"]["scripts"]


def test_no_file_of_the_package_names_where_it_was_written() -> None:
    """No path of a developer's machine stands in what is shipped."""
    pattern = re.compile(r"/(?:home|Users)/[a-z]\w+/")
    texts = [
        path
        for folder in ("hybrid", "index", "hooks", "models")
        for path in (CHECKOUT / folder).rglob("*")
        if path.suffix in (".py", ".md", ".toml", ".sql", ".json")
    ]

    assert [] == [path for path in texts if pattern.search(path.read_text(encoding="utf-8"))]


def test_every_package_says_what_it_is_for() -> None:
    """Each module opens with a docstring: what it is responsible for."""
    for path in sorted((CHECKOUT / "hybrid").rglob("*.py")):
        text = path.read_text(encoding="utf-8")

        assert text.startswith('"""') or not text.strip(), path
