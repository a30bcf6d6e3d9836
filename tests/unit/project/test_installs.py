"""Whether a client has our tools, by the records of what was installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hybrid.project.installs import InstallJournal, InstallRecord, has_tools

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.project.installs import Scope


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

    record = InstallRecord(str(tmp_path / root / "s.json"), scope, existed=True, folders=(), parts=parts, root=place)
    InstallJournal(home).put(record)
    assert has == has_tools(home, client, tmp_path / "shop")
    assert (has and scope == "user") == has_tools(home, client, None)

    InstallJournal(home).drop(record)
    assert not has_tools(home, client, tmp_path / "shop")


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "3", '{"path": 3}', "x" * 1_000_001])
def test_a_damaged_record_is_none(tmp_path: Path, content: str) -> None:
    """It stands on the way of every prompt: nothing in it may end one."""
    record = InstallRecord(str(tmp_path / "s.json"), "user", existed=True, folders=(), parts=("claude mcp",))
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
