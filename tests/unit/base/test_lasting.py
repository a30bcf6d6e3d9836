from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
import tomlkit

from hybrid.base.lasting import cache_of, how_to_add, lasting_program

if TYPE_CHECKING:
    from pathlib import Path

TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# made by a tool"


def _cache(folder: Path, tag: bytes = TAG) -> Path:
    folder.mkdir(parents=True)
    (folder / "CACHEDIR.TAG").write_bytes(tag)
    return folder


def _program(prefix: Path) -> Path:
    program = prefix / "bin" / "hybrid"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_an_environment_in_a_marked_folder_is_one_of_a_cache(tmp_path: Path) -> None:
    """The cache of `uvx` has the mark of caches, two folders above the environment, and the first line of it decides.

    `uv tool install` and `pipx install` mark the environments that last themselves, so that backups pass over them.
    """
    cache, other = _cache(tmp_path / "uv"), _cache(tmp_path / "other", b"something else")

    assert cache == cache_of(cache / "archive-v0" / "KbWs9mqT")
    assert cache_of(_cache(tmp_path / "tools" / "hybrid-retrieval")) is None
    assert cache_of(other / "archive-v0" / "x") is None


def test_the_cache_of_an_older_pipx_is_known_by_its_name(tmp_path: Path) -> None:
    """It holds the environments of `pipx run` and no mark; those of `pipx install` lie beside it."""
    pipx = tmp_path / "pipx"

    assert pipx / ".cache" == cache_of(pipx / ".cache" / "e3ffa5511cd568b")
    assert cache_of(pipx / "venvs" / "hybrid-retrieval") is None


@pytest.mark.skipif(os.name == "nt", reason="programs end in .exe there")
def test_a_program_of_a_cache_is_passed_over(tmp_path: Path) -> None:
    """`uvx` puts its environment first on the PATH: the installed program behind it is found, links are followed."""
    cached = _program(_cache(tmp_path / "uv") / "archive-v0" / "x")
    installed = _program(tmp_path / "tools" / "hybrid-retrieval")
    link = tmp_path / "local" / "hybrid"
    link.parent.mkdir()
    link.symlink_to(installed)
    path = os.pathsep.join(("", str(cached.parent), str(link.parent)))

    assert str(link) == lasting_program({"PATH": path})
    assert lasting_program({"PATH": str(cached.parent)}) is None
    assert lasting_program({}) is None


@pytest.mark.parametrize(
    ("left", "command"),
    [
        ("", "pip install {wanted}"),
        ("env/uv-receipt.toml", "uv tool install {wanted}"),
        ("env/pipx_metadata.json", "pipx install --force {wanted}"),
    ],
)
@pytest.mark.parametrize("is_checkout", [False, True])
def test_an_extra_is_added_by_the_tool_that_installed(
    tmp_path: Path, left: str, command: str, *, is_checkout: bool
) -> None:
    """A wheel by its name, a checkout by its folder; uv and pipx leave a file in the environment."""
    prefix, root = tmp_path / "env", tmp_path / ("checkout" if is_checkout else "hybrid/shipped")
    prefix.mkdir()
    if left:
        (tmp_path / left).touch()
    wanted = f'--editable "{root}[mcp]"' if is_checkout else '"hybrid-retrieval[mcp]"'

    assert command.format(wanted=wanted) == how_to_add("mcp", prefix=prefix, shipped_in=root)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"name": "hybrid-retrieval", "extras": ["mcp"]}, '"hybrid-retrieval[dashboard,mcp]"'),
        ({"name": "hybrid-retrieval", "directory": "/src/h"}, '"/src/h[dashboard]"'),
        (
            {"name": "hybrid-retrieval", "editable": "/src/h", "extras": ["plot"]},
            '--editable "/src/h[dashboard,plot]"',
        ),
        ({"name": "hybrid-retrieval", "path": "/d/h.whl", "extras": ["dashboard"]}, '"/d/h.whl[dashboard]"'),
        ({"name": "hybrid-retrieval", "url": "https://x/h.whl"}, '"hybrid-retrieval[dashboard] @ https://x/h.whl"'),
        ({"name": "other"}, '"hybrid-retrieval[dashboard]"'),
        ("hybrid-retrieval", '"hybrid-retrieval[dashboard]"'),
    ],
)
def test_extras_that_uv_was_asked_for_are_asked_for_again(tmp_path: Path, asked: object, wanted: str) -> None:
    """`uv tool install` takes out what is not asked for again, and what was installed from a folder comes from there."""
    table = {"tool": {"requirements": [asked, {"name": "tomlkit"}]}}
    (tmp_path / "uv-receipt.toml").write_text(tomlkit.dumps(table))

    assert f"uv tool install {wanted}" == how_to_add("dashboard", prefix=tmp_path, shipped_in=tmp_path / "shipped")


@pytest.mark.parametrize(
    ("asked", "arguments", "wanted"),
    [
        ("hybrid-retrieval[mcp, plot]", [], '"hybrid-retrieval[dashboard,mcp,plot]"'),
        ("/d/h-0.2.0-py3-none-any.whl", [], '"/d/h-0.2.0-py3-none-any.whl[dashboard]"'),
        ("/src/h[mcp]", ["--editable"], '--editable "/src/h[dashboard,mcp]"'),
    ],
)
def test_extras_that_pipx_was_asked_for_are_asked_for_again(
    tmp_path: Path, asked: str, arguments: list[str], wanted: str
) -> None:
    """`pipx install --force` makes the environment anew."""
    form = {"main_package": {"package_or_url": asked, "pip_args": arguments}}
    (tmp_path / "pipx_metadata.json").write_text(json.dumps(form))

    found = how_to_add("dashboard", prefix=tmp_path, shipped_in=tmp_path / "shipped")
    assert f"pipx install --force {wanted}" == found


def test_an_extra_of_a_program_that_is_run_out_of_a_cache_is_named_at_the_call(tmp_path: Path) -> None:
    """Nothing is installed there: the next call names the extra."""
    shipped = tmp_path / "shipped"
    uv, pipx = _cache(tmp_path / "uv") / "archive-v0" / "x", _cache(tmp_path / ".cache" / "pipx") / "x"

    assert 'uvx --from "hybrid-retrieval[mcp]" hybrid' == how_to_add("mcp", prefix=uv, shipped_in=shipped)
    assert 'pipx run --spec "hybrid-retrieval[mcp]" hybrid' == how_to_add("mcp", prefix=pipx, shipped_in=shipped)
