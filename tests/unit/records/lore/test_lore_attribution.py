from __future__ import annotations

from typing import Any

from hybrid.records.lore.types import ProjectNames, attributed, project_names, words_of
from tests.support.cases import Case, cases

KEY = "0123456789abcdef"


def _whose(fields: dict[str, Any], name: str = "flow", *others: str) -> str:
    return attributed(fields, ProjectNames(name, KEY, others))


@cases("lore/whose.txt")
def test_whose_a_record_is(case: Case) -> None:
    """Name or key as a whole word in project, context.project, entities or tags; paths give their parts."""
    assert case.expected == _whose(case.given())


def test_a_record_that_names_another_project_is_that_ones() -> None:
    """Unless it names this one too; what stands in `project` decides alone, known or not."""
    assert "other" == _whose({"tags": ["bach"]}, "flow", "bach")
    assert "this" == _whose({"tags": ["bach", "flow"]}, "flow", "bach")
    assert "other" == _whose({"project": "bach", "tags": ["flow"]}, "flow")
    assert "this" == _whose({"project": "flow", "tags": ["bach"]}, "flow", "bach")
    assert "other" == _whose({"project": "flow"}, "")
    assert "none" == _whose({"tags": ["flow"]}, "")


@cases("lore/names.txt")
def test_names_with_marks_in_them(case: Case) -> None:
    """Dots and dashes belong to a word; white space within a name is one space."""
    name, text = case.text.split(" | ")

    assert case.expected == _whose({"entities": [text]}, name)


def test_a_name_shared_with_another_project_is_this_ones() -> None:
    """Two clones of one name cannot be told apart: better given than lost."""
    names = project_names("shop", "k1", [("k1", "shop"), ("k2", "shop"), ("k3", "payments")])

    assert ("shop", "k2", "payments", "k3") == names.others
    assert "this" == attributed({"tags": ["shop"]}, names)
    assert "other" == attributed({"tags": ["payments"]}, names)


def test_words() -> None:
    """White space is one space, other marks a slash, ends are clean."""
    assert "a/b c.d/e-f" == words_of("/A/b\n c.d, (e-f)...")
