"""docs/decisions holds one page for each number, in one form, so that `decision 39` in a text always resolves."""

from __future__ import annotations

import re

from tests.docs.pages import pages
from tests.support.builders import CHECKOUT

_FOLDER = CHECKOUT / "docs" / "decisions"
_PAGES = sorted(path for path in _FOLDER.glob("*.md") if path.name != "README.md")
_FORM = r"# (\d+)\. (.+)\n\nDate: \d{4}-\d\d-\d\d\n\n## Context\n\n.+?\n## Decision\n\n.+?\n## Rejected\n\n- .+\Z"


def test_each_decision_has_its_page() -> None:
    """Numbers run from 1 without a gap, in file name, heading and index alike; each page has the three sections."""
    index = (_FOLDER / "README.md").read_text(encoding="utf-8")
    numbers: list[int] = []
    for path in _PAGES:
        form = re.match(_FORM, path.read_text(encoding="utf-8"), re.DOTALL)
        assert form, path.name
        numbers.append(int(form.group(1)))
        assert path.name.startswith(f"{numbers[-1]:04d}-")
        assert f"| {numbers[-1]} | [{form.group(2)}]({path.name}) |" in index

    assert list(range(1, len(_PAGES) + 1)) == numbers


def test_a_number_in_a_text_names_a_decision() -> None:
    """Code, settings and pages speak of decisions that exist."""
    texts = [
        CHECKOUT / "config.toml",
        *pages(),
        *(CHECKOUT / "hybrid").rglob("*.py"),
        *(CHECKOUT / "lab").rglob("*.py"),
    ]
    named = {
        int(number)
        for path in texts
        for number in re.findall(r"\bdecision \[?(\d+)\b", path.read_text(encoding="utf-8"), re.IGNORECASE)
    }

    assert named
    assert named <= set(range(1, len(_PAGES) + 1))
