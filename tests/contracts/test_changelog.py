"""The changelog can be read: one section of each kind for a version, and each fact once."""

from __future__ import annotations

import re
from collections import Counter

from tests.support.builders import CHECKOUT

_KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_a_version_has_one_section_of_each_kind_in_order() -> None:
    """Work that went on side by side left a section twice, where a reader takes the first for the whole."""
    versions = re.split(r"(?m)^## ", (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"))[1:]
    sections = [re.findall(r"(?m)^### (.+)$", version) for version in versions]

    assert versions
    assert sections == [[kind for kind in _KINDS if kind in names] for names in sections]


def test_each_fact_stands_once() -> None:
    """No entry is repeated, however its lines are broken."""
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = Counter(" ".join(entry.split()) for entry in re.split(r"(?m)^(?=- |#)", text) if entry.startswith("- "))

    assert entries
    assert [] == [entry for entry, n in entries.items() if n > 1]
