from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.search.gate.verdict import names_something
from tests.support.builders import ListSource, build_index, open_index, place_in

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.snapshot import Snapshot

FILES = {
    "src/ledger.py": "class Ledger:\n    def flush(self, keep_stale):\n        self.max_open = 3\n",
    "src/retry_budget.py": 'ROUTE = "/users/me"\n\ndef spend(amount):\n    raise ValueError("no budget left", "L501")\n',
    ".github/cache.yml": "path: build\n",
    "src/poll.py": "def count_missed_polls(log):\n    return len(log)\n",
    "tests/test_kettle.py": "def test_boil_kettle():\n    assert kettle_temperature() == 100\n",
    "CHANGELOG.md": "# Changes\n\n- `old_switch` is gone.\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """An index of `FILES`."""
    place = place_in(tmp_path_factory.mktemp("named"))
    build_index(place, ListSource(dict(FILES)))
    return open_index(place)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Ledger.flush", True),
        ("flush()", True),
        ("max_open", True),
        ("maxOpen", False),
        ("min_open", False),
        ("--keep-stale", True),
        ("--keep", False),
        ("where is /users/me", True),
        ("L501", True),
        ("L502", False),
        ("old_switch", True),
        ("test_boil_kettle", True),
    ],
)
def test_an_identifier_is_defined_or_occurs_or_is_a_literal(index: Snapshot, prompt: str, expected: bool) -> None:
    """In tests and pages too: nothing else is spelled like it."""
    assert expected == names_something(index, prompt)


@pytest.mark.parametrize(
    "path",
    [
        "src/ledger.py",
        "ledger.py",
        "Src/Ledger.py",
        "src\\ledger.py",
        "/home/me/shop/src/ledger.py",
        "../src/ledger.py",
        "./.github/cache.yml",
    ],
)
def test_a_path_may_be_shortened_or_begin_above_the_project(index: Snapshot, path: str) -> None:
    """With the separators and the case of any system."""
    assert names_something(index, path)
    assert not names_something(index, path.replace("edger", "odger").replace("cache", "cask"))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("retry budget", True),
        ("missed polls?", True),
        ("retry polls", False),
        ("flush flush", False),
        ("boil kettle", False),
        ("flush", False),
        ("where is the flush", False),
    ],
)
def test_plain_words_are_a_name_in_twos(index: Snapshot, prompt: str, expected: bool) -> None:
    """Of one definition or one file that is no test: one plain word is a name in any project."""
    assert expected == names_something(index, prompt)


def test_what_was_deleted_is_not_named(tmp_path: Path) -> None:
    """Neither a file nor its names, before the segment is written anew."""
    place = place_in(tmp_path)
    build_index(place, ListSource(dict(FILES)))
    build_index(place, ListSource({path: text for path, text in FILES.items() if "src" not in path}))
    snapshot = open_index(place)

    for prompt in ("Ledger.flush", "max_open", "ledger.py", "retry budget", "missed polls", "/users/me"):
        assert not names_something(snapshot, prompt)
