from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.prompting.content import has_code, identifiers, paths
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case


@cases("prompting/identifiers.txt")
def test_names_from_code_are_identifiers(case: Case) -> None:
    """Each spelling that only code uses; abbreviations, product names, addresses and paths are none."""
    assert case.expected == " | ".join(identifiers(case.text))


@cases("prompting/paths.txt")
def test_paths_are_found_as_typed(case: Case) -> None:
    """Pairs of words, fractions, ellipses and versions are not files."""
    assert case.expected == " | ".join(paths(case.text))


@cases("prompting/has_code.txt")
def test_code_is_told_from_prose(case: Case) -> None:
    """By fences, operators, definitions, calls, elements and stack frames; emoticons, colons and dashes are prose."""
    assert (case.expected == "yes") == has_code(case.text)
