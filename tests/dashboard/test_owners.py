"""Whose an event of the log is."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid.dashboard.desk import KnownProject
from hybrid.dashboard.owners import Owners

OWNERS = Owners(
    [
        KnownProject("a" * 16, "shop", "/w/shop"),
        KnownProject("b" * 16, "part", "/w/shop/part"),
        KnownProject("c" * 16, "", ""),
    ]
)


@pytest.mark.parametrize(
    ("event", "name", "base"),
    [
        ({"project": "a" * 16, "cwd": "/elsewhere"}, "shop", f"/p/{'a' * 16}"),
        ({"project": "c" * 16}, "c" * 16, f"/p/{'c' * 16}"),
        ({"cwd": "/w/shop"}, "shop", f"/p/{'a' * 16}"),
        ({"cwd": "/w/shop/src"}, "shop", f"/p/{'a' * 16}"),
        ({"cwd": "/w/shop/part/src"}, "part", f"/p/{'b' * 16}"),
        ({"cwd": "/w/shop-2"}, "no project", ""),
        ({"project": "d" * 16, "cwd": "/w/shop"}, "d" * 16, ""),
        ({"project": "d" * 16, "root": "/w/mill/"}, "mill", ""),
        ({"project": "d" * 16, "root": "C:\\w\\mill"}, "mill", ""),
        ({"project": "d" * 16, "root": 3}, "d" * 16, ""),
        ({"project": ["a"]}, "['a']", ""),
        ({"cwd": ["/w/shop"]}, "no project", ""),
        ({}, "no project", ""),
    ],
)
def test_an_event_is_of_the_project_that_it_names_or_lies_in(event: dict[str, Any], name: str, base: str) -> None:
    """By key, else by directory, of nested projects the inner one; damaged values are of none."""
    assert (name, base) == (OWNERS.name(event), OWNERS.base(event))
