"""The bars of an index that grows by edits, built as the product builds it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from hybrid.search.searcher import open_searcher
from hybrid.upkeep.indexing import BuildRequest, reindex
from hybrid.workspace import open_workspace
from tests.support.builders import PAYMENTS, git_project

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.search.gate.background import Calibration
    from hybrid.workspace import Workspace

NOUNS = (
    "invoice",
    "parcel",
    "session",
    "queue",
    "vault",
    "report",
    "cart",
    "ledger",
    "metric",
    "label",
    "user",
    "page",
)
VERBS = ("load", "store", "merge", "render", "validate", "expire", "retry", "encode")


def _files() -> dict[str, str]:
    """A small tree: one module for each noun, with a function for each verb."""
    modules = {
        f"src/{noun}.py": "\n\n".join(
            f'def {verb}_{noun}(items, limit={i}):\n    """{verb.title()} every {noun} up to a limit."""\n'
            f"    for {noun} in items[:limit]:\n        yield {verb}({noun}, other={NOUNS[i]!r})"
            for i, verb in enumerate(VERBS)
        )
        for noun in NOUNS
    }
    return dict(PAYMENTS) | modules


def _open(home: Path, root: Path) -> Workspace:
    return open_workspace(root, environ={"HYBRID_HOME": str(home)}, user_home=home / "user")


def _bars(workspace: Workspace) -> tuple[int, Calibration]:
    """Segments of the index, and its bars."""
    searcher = open_searcher(workspace)
    assert searcher.gate is not None
    return searcher.backend.figures().n_segments, searcher.gate.calibration


@pytest.fixture
def workspace(tmp_path: Path, static_home: Path) -> Workspace:
    """The tree, indexed with the shipped model and the shipped settings."""
    shutil.copytree(static_home, tmp_path / "home")
    workspace = _open(tmp_path / "home", git_project(tmp_path / "tree", _files()))
    reindex(workspace)
    return workspace


EDITED = '''"""Keeps the parcels that wait for a carrier."""


class ParcelQueue:
    """First in, first out; a parcel that was refused three times goes to the dead letters."""

    def __init__(self, connection, limit=3):
        self.connection = connection
        self.limit = limit

    def push(self, parcel):
        self.connection.execute("insert into parcels values (?, ?)", [parcel.id, 0])
'''


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/parcel.py", EDITED),
        ("src/new_queue.py", EDITED),
        ("src/parcel.py", None),
        ("README.md", "# Another shop\n"),
    ],
    ids=["rewritten", "added", "removed", "a line"],
)
def test_an_edit_of_one_file_hardly_moves_the_bars(workspace: Workspace, path: str, text: str | None) -> None:
    """Whatever happens to one file of sixteen, both bars move by less than 0.02, and so no prompt near them jumps."""
    _, before = _bars(workspace)
    file = workspace.require_project().root / path
    if text is None:
        file.unlink()
    else:
        file.write_text(text, encoding="utf-8")

    reindex(workspace)

    _, after = _bars(workspace)
    assert pytest.approx(before.talk, abs=0.02) == after.talk
    assert pytest.approx(before.tasks, abs=0.02) == after.tasks


def test_edits_give_the_bars_of_a_fresh_index(workspace: Workspace) -> None:
    """After a dozen edits the bars differ little from those of an index that was built anew, which has no dead rows."""
    root = workspace.require_project().root
    for i, noun in enumerate(NOUNS):
        file = root / f"src/{noun}.py"
        file.write_text(file.read_text(encoding="utf-8") + f"\n\ndef extra_{i}():\n    return {i}\n", encoding="utf-8")
        reindex(workspace)
    n_segments, grown = _bars(workspace)

    reindex(workspace, BuildRequest(is_full=True))

    n_after, fresh = _bars(workspace)
    assert n_segments > 1 == n_after
    assert pytest.approx(fresh.talk, abs=0.02) == grown.talk
    assert pytest.approx(fresh.tasks, abs=0.02) == grown.tasks


def test_the_same_tree_has_the_same_bars(workspace: Workspace, tmp_path: Path) -> None:
    """Built twice, in two homes, the bars are equal to the last digit that counts."""
    again = _open(tmp_path / "home-2", workspace.require_project().root)
    reindex(again)

    _, one = _bars(workspace)
    _, two = _bars(again)
    assert pytest.approx((one.talk, one.tasks), abs=1e-6) == (two.talk, two.tasks)


def test_weights_of_the_parts_need_no_new_index(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another weight moves the bars at once."""
    _, before = _bars(workspace)
    root, home = workspace.require_project().root, workspace.home
    monkeypatch.setenv("HYBRID_HOME", str(home))

    flags = {"gate.lexical": 0}
    changed = open_workspace(root, environ={"HYBRID_HOME": str(home)}, flags=flags, user_home=home / "user")

    assert _bars(changed)[1].tasks < before.tasks
