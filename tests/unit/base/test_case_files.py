from pathlib import Path

import pytest

from tests.support import cases
from tests.support.cases import MADE_UP, Case, read

FILE = """# A comment.

retries   ==> retri
x = {body:4} ¦# y␠
  none ==>

=== two lines

one ¦==> of
¦=== two␊

==>
three␊␊
===
␊␉first
"""


def test_a_file_is_read_as_its_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short cases, blocks with and without a name, pictures of what cannot be seen, and what counts as nothing."""
    monkeypatch.setattr(cases, "CASES", tmp_path)
    (tmp_path / "some.txt").write_text(FILE, encoding="utf-8")

    assert [
        Case("retries", "retries", "retri"),
        Case("x = {body:4} ¦# y␠", f"x = {MADE_UP['body'][:4]} # y ", None),
        Case("  none", "  none", ""),
        Case("two lines", "one ==> of\n=== two\n", "three\n\n"),
        Case("␊␉first", "\n\tfirst", None),
    ] == read("some.txt")
