from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.evaluation.measures import FilePassage, JudgedQuery
from hybrid.workspace import open_workspace
from hybrid_lab.projects import measure
from tests.support.builders import Shop, git_project, new_shop

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_target_counts_in_its_own_project_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file in another project is no hit, and the order in force puts the right project first."""
    shop = new_shop(tmp_path)
    other = Shop(
        git_project(tmp_path / "other", {"src/payments/client.py": "def draw_map():\n    return 1\n"}), shop.home
    )
    other.out("reindex", "--quiet")
    monkeypatch.setenv("HYBRID_HOME", str(shop.home))
    workspaces = {one.root.name: open_workspace(one.root) for one in (shop, other)}
    text = "how does the payment client retry a request after a timeout"
    queries = [JudgedQuery("1", "shop", text, "", "", (FilePassage("src/payments/client.py"),))]

    means = measure(queries, workspaces)

    assert 1.0 == means["own project alone"]["nDCG@10"] == means["all, in force"]["nDCG@10"]
    queries = [JudgedQuery("1", "other", text, "", "", queries[0].targets)]
    assert 1.0 > measure(queries, workspaces)["all, in force"]["nDCG@10"]
