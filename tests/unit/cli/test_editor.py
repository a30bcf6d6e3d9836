from __future__ import annotations

import pytest

from hybrid.cli.lessons import words_of


@pytest.mark.parametrize(
    ("command", "is_windows", "expected"),
    [
        ("vim -f", False, ["vim", "-f"]),
        ("'/opt/my editor/code' --wait", False, ["/opt/my editor/code", "--wait"]),
        (r"C:\Windows\notepad.exe", True, [r"C:\Windows\notepad.exe"]),
        (r'"C:\Program Files\Code\code.cmd" --wait', True, [r"C:\Program Files\Code\code.cmd", "--wait"]),
    ],
)
def test_the_editor_is_split_as_its_system_writes_paths(command: str, is_windows: bool, expected: list[str]) -> None:
    """On Windows a backslash belongs to the path; quotes hold a path with spaces together on every system."""
    assert expected == words_of(command, is_windows=is_windows)
