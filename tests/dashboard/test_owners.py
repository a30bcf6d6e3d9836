"""Whose an event of the log is."""

from __future__ import annotations

from hybrid.dashboard.service_client import KnownProject, Owners
from tests.support.cases import Case, cases

OWNERS = Owners(
    [
        KnownProject("a" * 16, "shop", "/w/shop"),
        KnownProject("b" * 16, "part", "/w/shop/part"),
        KnownProject("c" * 16, "", ""),
    ]
)


@cases("dashboard/owners.txt")
def test_an_event_is_of_the_project_that_it_names_or_lies_in(case: Case) -> None:
    """By key, else by directory, of nested projects the inner one; damaged values are of none."""
    event = case.given()

    assert case.json() == [OWNERS.name(event), OWNERS.base(event)]
