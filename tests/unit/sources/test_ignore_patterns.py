"""Rules of ignore files with many wildcards: what they match, and the work that takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from hybrid.sources.patterns import parse_patterns
from tests.support.regex_work import Matcher

PIECES = st.lists(st.sampled_from(["*", "**/", "/**/", "a", "b", "ab", "?", "[ab]", "/", ".", "\\*"]), max_size=9)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "a.b", "*", "ba"]), min_size=1, max_size=6)


@given(PIECES, PATHS)
def test_a_rule_matches_what_pathspec_matches(pieces: list[str], parts: list[str]) -> None:
    """Wildcards that are not tried again find what those find that try every way."""
    line, path = "".join(pieces).rstrip("/"), "/".join(parts)
    plain = [one.regex for one in GitIgnoreSpec.from_lines([line]).patterns if one.regex is not None]
    match = plain[0].search(path) if plain else None
    patterns = parse_patterns([line])
    found = patterns is not None and patterns.decide(path, parts[-1], is_folder=False) is True

    by_name = "/" not in line
    if by_name:
        match = plain[0].search(parts[-1]) if plain else None
    assert (match is not None and match.groupdict().get("ps_d") is None) == found


@pytest.mark.parametrize(
    ("line", "part"),
    [("*a" * 12 + "*b", "a"), ("x/" + "**/a/" * 12 + "b", "a/"), ("*" * 40 + "b", "a")],
    ids=["names", "folders", "stars"],
)
def test_the_work_of_wildcards_grows_with_the_path(line: str, part: str) -> None:
    """A rule with a dozen wildcards takes a few looks at each character; each wildcard once took them all again."""
    patterns = parse_patterns([line])
    assert patterns is not None
    matcher = Matcher(patterns.rules[0].expression)
    small, large = (
        matcher.work("x/" * line.startswith("x/") + part * (n // len(part)) + "c", limit=400 * n, is_searching=False)
        for n in (60, 180)
    )

    assert large < 4 * small
