"""Whether a client has our tools, by the records of what was installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.project.installs import InstallJournal, InstallRecord, has_tools

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.project.installs import Scope


@pytest.mark.parametrize(
    ("scope", "file", "parts", "client", "has"),
    [
        ("user", ".claude.json", ("claude hooks", "claude mcp"), "claude", True),
        ("user", ".claude.json", ("claude hooks",), "claude", False),
        ("user", ".claude.json", ("claude mcp",), "codex", False),
        ("project", "shop/.mcp.json", ("claude mcp",), "claude", True),
        ("project", "shop/.junie/mcp/mcp.json", ("junie mcp",), "junie", True),
        ("project", "other/.mcp.json", ("claude mcp",), "claude", False),
    ],
)
def test_tools_of_a_client(
    tmp_path: Path, scope: Scope, file: str, parts: tuple[str, ...], client: str, *, has: bool
) -> None:
    """The server counts for the client that has it: in every project, or in the one whose settings name it."""
    home = tmp_path / "home"
    assert not has_tools(home, client, tmp_path / "shop")

    record = InstallRecord(str(tmp_path / file), scope, existed=True, folders=(), parts=parts)
    InstallJournal(home).put(record)
    assert has == has_tools(home, client, tmp_path / "shop")

    InstallJournal(home).drop(record)
    assert not has_tools(home, client, tmp_path / "shop")
