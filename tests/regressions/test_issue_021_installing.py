"""Settings that a client writes while `hybrid hook install` and `uninstall` make theirs of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.hooks.install import files
from hybrid.hooks.install.changes import Target, install, uninstall
from hybrid.hooks.install.clients import CLIENTS
from hybrid.hooks.install.command import Launcher
from hybrid.hooks.install.parts import SettingsError, Wanted

if TYPE_CHECKING:
    from pathlib import Path

WANTED = Wanted(Launcher(("hybrid",)))


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """The file in which Claude Code keeps its servers, and what it knows of projects."""
    path = tmp_path / "claude.json"
    path.write_text(json.dumps({"projects": {}}))
    return path


def _target(path: Path, client: str = "claude") -> Target:
    server = CLIENTS[client].server
    assert server
    return Target((server,), "user", path, None)


def _writing_client(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
    """Have a client write its file so many times, each right before we replace it."""
    replace, written = files.write_atomic, []

    def write_atomic(target: Path, data: bytes, **options: Any) -> None:
        if target == path and len(written) < times:
            written.append(1)
            known = json.loads(path.read_bytes())
            path.write_text(json.dumps(known | {"projects": {"/p": {"history": 10 * times + len(written)}}}))
        replace(target, data, **options)

    monkeypatch.setattr(files, "write_atomic", write_atomic)


def test_what_a_client_writes_meanwhile_stays(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installing and uninstalling begin anew with what the client wrote."""
    _writing_client(monkeypatch, settings, 1)
    install(_target(settings), WANTED, home=tmp_path / "home")
    with_us = json.loads(settings.read_bytes())
    _writing_client(monkeypatch, settings, 2)
    uninstall(_target(settings), home=tmp_path / "home")

    assert {"history": 11} == with_us["projects"]["/p"]
    assert "hybrid" in with_us["mcpServers"]
    assert {"projects": {"/p": {"history": 22}}} == json.loads(settings.read_bytes())


def test_a_client_that_never_stops_is_named(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ours is written then, and no record is left."""
    _writing_client(monkeypatch, settings, 1000)
    with pytest.raises(files.ChangedError, match="end the client"):
        install(_target(settings), WANTED, home=tmp_path / "home")

    assert "hybrid" not in settings.read_text()
    assert not files.InstallJournal(tmp_path / "home").all()


@pytest.mark.parametrize("client", ["opencode", "kilo", "crush"])
def test_a_new_file_goes_though_the_client_added_the_address_of_its_schema(client: str, tmp_path: Path) -> None:
    """Kilo Code and OpenCode write `$schema` into settings that they find; its slashes are no comment."""
    path = tmp_path / "settings.json"
    install(_target(path, client), WANTED, home=tmp_path / "home")
    path.write_text(json.dumps({"$schema": "https://example.com/config.json", **json.loads(path.read_bytes())}))

    uninstall(_target(path, client), home=tmp_path / "home")

    assert not path.exists()


def test_a_file_in_which_the_user_left_a_comment_stays(tmp_path: Path) -> None:
    """A comment is the user's, though all settings around it were ours."""
    path = tmp_path / "settings.json"
    install(_target(path, "kilo"), WANTED, home=tmp_path / "home")
    path.write_text(f"// mine\n{path.read_text()}")

    uninstall(_target(path, "kilo"), home=tmp_path / "home")

    assert path.read_text().startswith("// mine\n")


@pytest.mark.parametrize("text", ["extensions: {}\n", '"extensions":\n  other:\n    cmd: x\n', "extensions: ~\n"])
def test_a_map_of_goose_is_not_written_a_second_time(text: str, tmp_path: Path) -> None:
    """A key that stands there twice is an error for Goose; such a file is refused and stays as it is."""
    path = tmp_path / "config.yaml"
    path.write_text(text)

    with pytest.raises(SettingsError, match="by hand"):
        install(_target(path, "goose"), WANTED, home=tmp_path / "home")

    assert text == path.read_text()
