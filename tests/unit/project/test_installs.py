"""Whether a client has our tools, by the records of what was installed and by the settings as they are."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from hybrid.project.installs import InstallJournal, InstallRecord, has_tools

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.base.clients import Scope

SERVERS = '{"mcpServers": {"other": {"command": "x"}, "hybrid": {"command": "/hybrid", "args": ["mcp"]}}}'


def _settings(path: Path, text: str) -> Path:
    """A file of settings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@pytest.mark.parametrize(
    ("scope", "root", "parts", "client", "has"),
    [
        ("user", "", ("claude hooks", "claude mcp"), "claude", True),
        ("user", "", ("claude hooks",), "claude", False),
        ("user", "", ("claude mcp",), "codex", False),
        ("project", "shop", ("claude mcp",), "claude", True),
        ("local", "shop", ("claude mcp",), "claude", True),
        ("project", "shop/inner", ("claude mcp",), "claude", False),
        ("project", "", ("claude mcp",), "claude", False),
    ],
)
def test_tools_of_a_client(
    tmp_path: Path, scope: Scope, root: str, parts: tuple[str, ...], client: str, *, has: bool
) -> None:
    """The server counts for the client that has it: in every project, or in the one whose settings name it."""
    home, place = tmp_path / "home", str(tmp_path / root) if root else ""
    assert not has_tools(home, client, tmp_path / "shop")

    settings = _settings(tmp_path / root / "s.json", SERVERS)
    record = InstallRecord(str(settings), scope, existed=True, folders=(), parts=parts, root=place)
    InstallJournal(home).put(record)
    assert has == has_tools(home, client, tmp_path / "shop")
    assert (has and scope == "user") == has_tools(home, client, None)

    InstallJournal(home).drop(record)
    assert not has_tools(home, client, tmp_path / "shop")


@pytest.mark.parametrize(
    ("name", "text", "has"),
    [
        ("s.json", SERVERS, True),
        ("s.json", f"\ufeff{SERVERS}", True),
        ("s.json", '{"projects": {"/shop": {"history": ["hybrid mcp"]}}, "mcpServers": {"hybrid": {}}}', True),
        ("s.json", '{"projects": {"/shop": {"mcpServers": {"hybrid": {}}}}, "mcpServers": {}}', False),
        ("s.json", '{"mcpServers": {"hybrids": {}}}', False),
        ("s.json", '{"mcpServers": {"hybrid": {"disabled": true}}}', False),
        ("s.json", '{"mcpServers": ["hybrid"], "mcp": {"hybrid": 3}}', False),
        ("s.json", '{"amp.mcpServers": {"hybrid": {}}}', True),
        ("s.jsonc", '{// ours\n "mcp": {"a": {"url": "http://a"}, /* {} */ "hybrid": {"enabled": true,}, },}', True),
        ("s.jsonc", '{"mcp": {"a": {},\n // "hybrid": {}\n}}', False),
        ("s.json", '{"mcp": {"hybrid": {}}, "x": "//', False),
        ("s.json", '{"mcp": {"hybrid": {}}, "x": "\udcff"}', True),
        ("s.json", "[" * 100_000, False),
        ("s.json", "", False),
        ("s.toml", '[mcp_servers.hybrid]\r\ncommand = "/hybrid"\r\n', True),
        ("s.toml", "[mcp_servers.hybrid]\nenabled = false\n", False),
        ("s.toml", "# [mcp_servers.hybrid]\n", False),
        ("s.toml", "[", False),
        ("s.toml", f"x = {'[' * 5_000}", False),
        ("s.yaml", "extensions: {}", True),
        ("s.toml", "#" * 500_001, True),
    ],
)
def test_settings_say_what_is_there(tmp_path: Path, name: str, text: str, *, has: bool) -> None:
    """A server that was taken out, switched off or set in a comment is none; what we cannot read is as the record says."""
    settings = _settings(tmp_path / name, text)
    record = InstallRecord(str(settings), "user", existed=True, folders=(), parts=("claude mcp",))
    InstallJournal(tmp_path).put(record)

    assert has == has_tools(tmp_path, "claude", None)


def test_a_server_that_is_taken_out_by_hand(tmp_path: Path) -> None:
    """The settings are read again when they changed, be it right after they were read, and be they gone."""
    settings = _settings(tmp_path / "s.json", SERVERS)
    InstallJournal(tmp_path).put(InstallRecord(str(settings), "user", existed=True, folders=(), parts=("claude mcp",)))
    assert has_tools(tmp_path, "claude", None)

    settings.write_text(SERVERS.replace("hybrid", "hybrix"))
    assert not has_tools(tmp_path, "claude", None)
    settings.write_text(SERVERS)
    assert has_tools(tmp_path, "claude", None)
    settings.unlink()
    assert not has_tools(tmp_path, "claude", None)


def test_settings_that_stay_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every prompt asks, and the file of Claude Code has megabytes."""
    settings = _settings(tmp_path / "s.json", SERVERS)
    InstallJournal(tmp_path).put(InstallRecord(str(settings), "user", existed=True, folders=(), parts=("claude mcp",)))
    later_ns = time.time_ns() + 10_000_000_000
    monkeypatch.setattr("hybrid.project.installs.time", SimpleNamespace(time_ns=lambda: later_ns))
    assert has_tools(tmp_path, "claude", None)
    monkeypatch.setattr("hybrid.project.installs.read_regular", None)

    assert has_tools(tmp_path, "claude", None)
    os.utime(settings)
    with pytest.raises(TypeError):
        has_tools(tmp_path, "claude", None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_settings(tmp_path: Path) -> None:
    """Reading one would wait for ever."""
    InstallJournal(tmp_path).put(
        InstallRecord(str(tmp_path / "s.json"), "user", existed=True, folders=(), parts=("claude mcp",))
    )
    os.mkfifo(tmp_path / "s.json")

    assert not has_tools(tmp_path, "claude", None)


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "3", '{"path": 3}', "x" * 1_000_001])
def test_a_damaged_record_is_none(tmp_path: Path, content: str) -> None:
    """It stands on the way of every prompt: nothing in it may end one."""
    settings = _settings(tmp_path / "s.json", SERVERS)
    record = InstallRecord(str(settings), "user", existed=True, folders=(), parts=("claude mcp",))
    InstallJournal(tmp_path).put(record)
    (tmp_path / "installs" / "damaged.json").write_text(content)
    (tmp_path / "installs" / "folder.json").mkdir()

    assert has_tools(tmp_path, "claude", None)
    assert [record] == InstallJournal(tmp_path).all()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_record(tmp_path: Path) -> None:
    """Reading one would wait for ever."""
    (tmp_path / "installs").mkdir()
    os.mkfifo(tmp_path / "installs" / "pipe.json")

    assert not has_tools(tmp_path, "claude", None)
