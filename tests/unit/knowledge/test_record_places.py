from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.knowledge.stores import record_paths
from hybrid.upkeep.indexing import file_source
from hybrid.workspace import Workspace, open_workspace
from tests.support.builders import git_project

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "a.py": "x = 1\n",
    "docs/LESSONS.md": "# Lessons of the course\n",
    "notes/rules.md": "### [L001] Rule\n> One.\n",
    "lore/README.md": "# What lore is\n",
    "lore/patterns/data/patterns.yaml": "patterns: []\n",
    "lore/journal/data/decisions.md": "# Decisions\n",
    "lore/transfer/data/sessions/session-20260214-120000-aaaaaaaa.md": "# x\n",
    ".hybrid/notes.md": "# x\n",
    ".claude-recall/LESSONS.md": "# x\n",
    "packages/app/.claude-recall/LESSONS.md": "# x\n",
}


def _open(root: Path, **environ: str) -> Workspace:
    return open_workspace(root, environ={"HYBRID_HOME": str(root.parent / "home"), **environ})


def _documents(workspace: Workspace, **environ: str) -> list[str]:
    project = workspace.require_project()
    records = record_paths(workspace, environ)
    source = file_source(project.root, workspace.config.index, workspace.home, records)
    return [found.path for found in source.scan()]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, True),
        ({"LORE_DATA_DIR": "lore"}, True),
        ({"LORE_DATA_DIR": "{root}/lore"}, False),
        ({"HYBRID_LORE_DATA_DIR": "{root}/lore"}, False),
    ],
    ids=["none", "relative to the home", "named by the environment", "configured"],
)
def test_lore_that_lies_in_the_tree_is_no_document(tmp_path: Path, environ: dict[str, str], expected: bool) -> None:
    """Its record files are left out, what stands beside them is not."""
    root = git_project(tmp_path / "app", FILES)
    environ = {name: value.format(root=root) for name, value in environ.items()}

    documents = _documents(_open(root, **environ), **environ)

    assert ["a.py", "docs/LESSONS.md", "lore/README.md"] == [
        path for path in documents if path in ("a.py", "docs/LESSONS.md", "lore/README.md")
    ]
    assert expected == ("lore/patterns/data/patterns.yaml" in documents)
    assert expected == any(path.startswith("lore/transfer/") for path in documents)
    assert "lore/journal/data/decisions.md" in documents


def test_folders_of_records_hold_no_documents(tmp_path: Path) -> None:
    """`.hybrid/` and `.claude-recall/` at every depth."""
    documents = _documents(_open(git_project(tmp_path / "app", FILES)))

    assert [] == [path for path in documents if ".hybrid" in path or ".claude-recall" in path]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights")
def test_what_a_link_in_the_place_of_the_lessons_leads_to_is_no_document(tmp_path: Path) -> None:
    """A project may keep its LESSONS.md elsewhere in its tree; a link that leads nowhere, or out, means nothing."""
    root = git_project(tmp_path / "app", FILES)
    before = _documents(_open(root))
    (root / ".hybrid" / "LESSONS.md").symlink_to("../notes/rules.md")
    (root / ".claude-recall" / "LESSONS.md").unlink()
    (root / ".claude-recall" / "LESSONS.md").symlink_to(tmp_path / "elsewhere.md")

    documents = _documents(_open(root))

    assert ("notes/rules.md",) == record_paths(_open(root), {})
    assert ["notes/rules.md"] == [path for path in before if path not in documents]
