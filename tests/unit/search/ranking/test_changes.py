"""What earlier commits tell, as evidence: `history` and `changes_with`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.index.backend import Filter
from hybrid.index.history import History
from hybrid.index.history_build import assemble
from hybrid.search.ranking.ranker import Ranker
from hybrid.sources.git import Commit, CommitLog
from tests.unit.search.ranking.projects import only, paths, rank, snapshot_of, weights

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.snapshot import Snapshot

BIRDS = {
    "heron.py": "def wade():\n    return 'heron'\n",
    "stork.py": "def wade():\n    return 'stork'\n",
    "nest.py": "def build():\n    return 'reed'\n",
    "crane.py": "def wade():\n    return 'crane'\n",
}


def history_of(*commits: tuple[str, tuple[str, ...]]) -> History:
    """The history of some commits, newest first: subject and files."""
    log = [Commit(str(number), said, len(of), of) for number, (said, of) in enumerate(commits)]
    return History(assemble(CommitLog(log, {}, {})), {})


@pytest.fixture
def birds(tmp_path: Path) -> Snapshot:
    """A few files; three of them are alike by their words."""
    return snapshot_of(tmp_path, BIRDS)


def test_a_file_is_found_by_what_its_commits_say(birds: Snapshot, tmp_path: Path) -> None:
    """The subjects name what the files do not: the file of the commit stands first, the others have nothing."""
    history = history_of(("Migrate to the south in autumn", ("crane.py",)), ("Sleep", ("nest.py", "gone.py")))
    ranked = rank(
        birds, "wade south in autumn", weights(tmp_path), ranker=Ranker(birds, weights(tmp_path)).with_history(history)
    )

    assert "crane.py" == paths(birds, ranked)[0]
    told = {birds.get(chunk.row).path: chunk.evidence["history"] for chunk in ranked}
    assert {"crane.py": 1.0} == {path: value for path, value in told.items() if value}


def test_what_changed_with_the_best_file_is_raised(birds: Snapshot, tmp_path: Path) -> None:
    """The best file has nothing of itself; its companion has the most, half of it as shipped."""
    history = history_of(*[("x", ("heron.py", "nest.py"))] * 3, ("y", ("heron.py", "stork.py", "crane.py")))
    ranked = rank(birds, "wade heron", weights(tmp_path), ranker=Ranker(birds, weights(tmp_path)).with_history(history))
    told = {birds.get(chunk.row).path: chunk.evidence["changes_with"] for chunk in ranked}

    assert "heron.py" == paths(birds, ranked)[0]
    assert 0.5 == told["nest.py"] > told["stork.py"] > 0
    assert told["heron.py"] < told["stork.py"]


def test_without_a_history_nothing_changes(birds: Snapshot, tmp_path: Path) -> None:
    """To the last digit: rows, shares and every other piece are those of a ranking without the two pieces."""
    without = weights(tmp_path, history=0.0, changes_with=0.0)
    as_shipped, off = rank(birds, "wade", weights(tmp_path)), rank(birds, "wade", without)
    switched_off = rank(
        birds, "wade", without, ranker=Ranker(birds, without).with_history(history_of(("wade", ("nest.py",))))
    )

    assert [(chunk.row, chunk.relevance) for chunk in off] == [(chunk.row, chunk.relevance) for chunk in as_shipped]
    assert [dict(chunk.evidence) | {"history": 0.0, "changes_with": 0.0} for chunk in off] == [
        dict(chunk.evidence) for chunk in as_shipped
    ]
    assert off == switched_off


def test_a_history_that_tells_nothing_of_the_files_changes_no_order(birds: Snapshot, tmp_path: Path) -> None:
    """One of other files, one without a commit, one whose words are not asked for."""
    as_it_is = [(chunk.row, chunk.relevance) for chunk in rank(birds, "wade", weights(tmp_path))]

    for history in (history_of(("wade", ("other.py",))), history_of(), history_of(("swim", ("heron.py",)))):
        ranked = rank(birds, "wade", weights(tmp_path), ranker=Ranker(birds, weights(tmp_path)).with_history(history))
        assert as_it_is == [(chunk.row, chunk.relevance) for chunk in ranked]


def test_a_filter_changes_no_evidence(birds: Snapshot, tmp_path: Path) -> None:
    """A companion of a file that is not shown is raised all the same."""
    settings = only(tmp_path, "best_words", "changes_with")
    ranker = Ranker(birds, settings).with_history(history_of(("x", ("heron.py", "stork.py"))))
    (shown,) = rank(birds, "wade heron", settings, kept=Filter(path="stork.py"), ranker=ranker)

    assert 1.0 == shown.evidence["changes_with"]


def test_another_history_leaves_the_first_one_as_it_is(birds: Snapshot, tmp_path: Path) -> None:
    """A ranker with another history is one more ranker."""
    settings = only(tmp_path, "history")
    first = Ranker(birds, settings).with_history(history_of(("wade south", ("crane.py",))))
    other = first.with_history(history_of(("wade south", ("stork.py",))))
    found = [paths(birds, rank(birds, "south", settings, ranker=ranker))[0] for ranker in (first, other, first)]

    assert ["crane.py", "stork.py", "crane.py"] == found
