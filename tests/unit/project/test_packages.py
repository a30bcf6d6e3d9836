from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.project.packages import nearness_of
from tests.support.builders import write_files

if TYPE_CHECKING:
    from pathlib import Path

ROOTS = ("packages/*", "tools")


def _named(root: Path, folder: str, roots: tuple[str, ...] = ROOTS) -> frozenset[str]:
    near = nearness_of(root.resolve(), root / folder, roots)
    assert near is not None
    return near.named


def test_the_nearest_folder_that_matches_is_the_own_package(tmp_path: Path) -> None:
    """From a folder in a package it is that package; at the top, beside the packages or outside it is none."""
    write_files(tmp_path, {"packages/web/src/deep/a.js": "", "tools/b.py": "", "docs/c.md": ""})
    own = {
        folder: near.own if (near := nearness_of(tmp_path.resolve(), tmp_path / folder, ROOTS)) else None
        for folder in ("packages/web/src/deep", "packages/web", "tools", "packages", "docs", ".", "..", "gone/x")
    }

    assert {"packages/web/src/deep": "packages/web", "packages/web": "packages/web", "tools": "tools"} == {
        folder: one for folder, one in own.items() if one
    }


@pytest.mark.parametrize(
    ("name", "own", "others"),
    [
        (
            "package.json",
            '{"dependencies": {"@shop/core": "workspace:*", "left": "file:../left"}, "devDependencies": {"lodash": "4"}}',
            {"core": '{"name": "@shop/core"}', "left": "{}", "other": '{"name": "other"}'},
        ),
        (
            "pyproject.toml",
            '[project]\nname = "web"\ndependencies = ["Shop_Core>=1; python_version > \'3\'", "numpy"]\n'
            '[tool.uv.sources]\nx = {path = "../left"}\n',
            {"core": '[project]\nname = "shop-core"\n', "left": "", "other": '[project]\nname = "other"\n'},
        ),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\nshop-core = "*"\n[tool.poetry.group.dev.dependencies]\nl = {path = "../left"}\n',
            {"core": '[tool.poetry]\nname = "shop.core"\n', "left": "", "other": ""},
        ),
        (
            "Cargo.toml",
            '[dependencies]\ncore = {workspace = true, package = "shop-core"}\n'
            '[target.x.dev-dependencies]\nl = {path = "../left"}\n',
            {"core": '[package]\nname = "shop-core"\n', "left": "", "other": '[package]\nname = "other"\n'},
        ),
        (
            "go.mod",
            "module shop/web\n\nrequire (\n\tshop/core v1.0.0 // indirect\n)\nreplace shop/left => ../left\n",
            {"core": "module shop/core\n", "left": "module shop/left\n", "other": "module shop/other\n"},
        ),
    ],
    ids=["npm", "python", "poetry", "rust", "go"],
)
def test_a_manifest_names_packages_of_the_tree(tmp_path: Path, name: str, own: str, others: dict[str, str]) -> None:
    """By name or by path, whatever the language; what lies elsewhere is passed over."""
    write_files(tmp_path, {f"packages/{one}/{name}": text for one, text in {"web": own, **others}.items()})

    assert {"packages/core", "packages/left"} == _named(tmp_path, "packages/web")
    assert frozenset() == _named(tmp_path, "packages/other")


@pytest.mark.parametrize("name", ["package.json", "pyproject.toml", "Cargo.toml", "go.mod"])
@pytest.mark.parametrize(
    "text", ["", "[", "[[[", '{"dependencies": 3}', "dependencies = 3", "require", "\0", "replace a =>"]
)
def test_a_manifest_that_cannot_be_read_names_nothing(tmp_path: Path, name: str, text: str) -> None:
    """A broken or odd manifest is no error."""
    write_files(tmp_path, {f"packages/web/{name}": text, "packages/core/x": ""})

    assert frozenset() == _named(tmp_path, "packages/web")


def test_a_folder_outside_of_the_tree_is_not_near(tmp_path: Path) -> None:
    """A path that leads out of the tree names nothing."""
    manifest = json.dumps({"dependencies": {"a": "file:../../../../etc", "b": "file:/etc", "c": "link:."}})
    write_files(tmp_path, {"packages/web/package.json": manifest})

    assert frozenset() == _named(tmp_path, "packages/web")


def test_a_changed_manifest_counts(tmp_path: Path) -> None:
    """What was read is read again once the file changed."""
    write_files(tmp_path, {"packages/web/package.json": "{}", "packages/core/x": ""})
    before = _named(tmp_path, "packages/web")
    write_files(tmp_path, {"packages/web/package.json": '{"dependencies": {"core": "file:../core"}}'})

    assert (frozenset(), {"packages/core"}) == (before, _named(tmp_path, "packages/web"))


def test_files_count_by_their_package(tmp_path: Path) -> None:
    """Half as much again in the own package, a quarter more in one that it names, and as they are elsewhere."""
    manifest = '{"dependencies": {"core": "file:../core"}}'
    write_files(tmp_path, {"packages/web/package.json": manifest, "packages/core/x": ""})
    near = nearness_of(tmp_path.resolve(), tmp_path / "packages/web", ROOTS)

    assert near is not None
    paths = ("packages/web/a.js", "packages/core/lib/b.js", "packages/webs/c.js", "packages/other/d.js", "e.js")
    assert [1.5, 1.25, 1.0, 1.0, 1.0] == [near.weight(path) for path in paths]
