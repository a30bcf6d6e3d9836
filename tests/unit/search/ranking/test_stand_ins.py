"""Files that stand for others, asked for by names and behaviours that both define."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.index.backend import Filter
from hybrid.search.ranking.corpus import marks_of
from tests.support.cases import CASES as FOLDER_OF_CASES
from tests.support.cases import Case, cases, project, read
from tests.unit.search.ranking.projects import paths, rank, snapshot_of, weights

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.snapshot import Snapshot

OLD, NEW = project("ranking/invoices.txt").values()
REST = {
    "acme/pages.py": "def parse_date(text):\n    year, month, day = text.split('-')\n    return year, month, day\n",
    "README.md": "# Acme\n\nA service with users, pages and dates.\n",
}
OLDER = [(*case.text.split(" | "), str(case.expected)) for case in read("ranking/older.txt")]
"""Path of a file, path of its successor, and words of a query that speak of the older one."""
TREES = {
    path.stem: project(f"projects/stand_ins/{path.name}")
    for path in sorted((FOLDER_OF_CASES / "projects/stand_ins").iterdir())
}


def _snapshot(folder: Path, older: str, newer: str) -> Snapshot:
    return snapshot_of(folder, {older: OLD, newer: NEW, **REST})


@pytest.mark.parametrize(("older", "newer", "said"), OLDER, ids=[case[0] for case in OLDER])
def test_an_older_file_comes_behind_its_successor(tmp_path: Path, older: str, newer: str, said: str) -> None:
    """Unless the query speaks of it, only it has what is asked for, or it is far ahead by the words of a behaviour."""
    snapshot = _snapshot(tmp_path, older, newer)

    def first(query: str, **changes: float) -> str:
        return paths(snapshot, rank(snapshot, query, weights(tmp_path, **changes)))[0]

    behaviour = "how is the total of an invoice made of its lines and discount"
    assert (newer, older) == (first("fix invoice_total"), first("fix invoice_total", stand_in=0.0))
    assert older == first(f"invoice_total of {said} adds the tax twice")
    assert older == first(f"{older}: invoice_total adds the tax twice")
    assert older == first("export_ledger") == first("write the ledger as a table")
    assert (older, newer) == (first(behaviour), first(behaviour, stand_in=10.0))


@cases("ranking/stand_ins.txt")
def test_what_comes_first(tmp_path: Path, case: Case) -> None:
    """A stub or a header comes behind what it declares; a file that only exports names stands for none of them."""
    tree, query = case.text.split(" | ")
    first, _, before = str(case.expected).partition(" | ")
    snapshot = snapshot_of(tmp_path, TREES[tree])

    assert first == paths(snapshot, rank(snapshot, query, weights(tmp_path)))[0]
    assert (before or first) == paths(snapshot, rank(snapshot, query, weights(tmp_path, stand_in=0.0)))[0]


def test_a_file_that_passes_names_on_yields_with_a_large_setting(tmp_path: Path) -> None:
    """As any file whose successor is far behind; what it yields to lies in its folder or below."""
    snapshot = snapshot_of(tmp_path, TREES["rust"])
    ranked = rank(snapshot, "encode and decode frames of the wire", weights(tmp_path, stand_in=10.0))

    assert "src/lib.rs" != paths(snapshot, ranked)[0]


def test_two_files_change_places(tmp_path: Path) -> None:
    """The explanation shows what one loses and the other gains; every other file keeps its evidence."""
    old, new, _ = OLDER[0]
    snapshot = _snapshot(tmp_path, old, new)
    with_it, without = (
        {snapshot.get(chunk.row).path: chunk.evidence for chunk in rank(snapshot, "fix invoice_total", settings)}
        for settings in (weights(tmp_path), weights(tmp_path, stand_in=0.0))
    )
    evidence = {path: sum(pieces.values()) for path, pieces in with_it.items()}

    assert with_it[old]["stand_in"] == pytest.approx(-with_it[new]["stand_in"])
    assert with_it[new]["stand_in"] > 0
    assert sum(without[old].values()) == pytest.approx(evidence[new], abs=1e-3)
    assert {0.0} == {pieces["stand_in"] for path, pieces in with_it.items() if path not in (old, new)}
    assert all("stand_in" not in pieces for pieces in without.values())


def test_a_search_in_a_folder_asks_for_it(tmp_path: Path) -> None:
    """A file whose successor may not be shown yields to none."""
    snapshot = _snapshot(tmp_path, *OLDER[0][:2])
    ranked = rank(snapshot, "fix invoice_total", weights(tmp_path), kept=Filter(path="acme/v1"))

    assert {"acme/v1/billing.py"} == set(paths(snapshot, ranked))
    assert {0.0} == {chunk.evidence["stand_in"] for chunk in ranked}


@pytest.mark.parametrize(
    ("mirror", "first"), [(("birds/owl.py", "birds/jay.py"), "birds/_inner/look.py"), ((), "birds/v1/heron.py")]
)
def test_a_copy_in_a_folder_of_the_first_version(tmp_path: Path, mirror: tuple[str, ...], first: str) -> None:
    """`v1/` beside newer code without a version is a copy where most of its files have one of the same path there."""
    texts = {"birds/v1/owl.py": "owl = 1\n", "birds/v1/jay.py": "jay = 1\n", "birds/v1/heron.py": OLD}
    beside = dict.fromkeys(mirror, "x = 1\n") | {"birds/_inner/look.py": NEW}
    snapshot = snapshot_of(tmp_path, texts | beside)

    assert first == paths(snapshot, rank(snapshot, "invoice_total fails", weights(tmp_path)))[0]


@pytest.mark.parametrize(
    ("newer", "first"), [("birds/v1/heron.py", "birds/heron.py"), ("birds/v2/heron.py", "birds/heron.py")]
)
def test_an_unversioned_file_yields_to_no_version(tmp_path: Path, newer: str, first: str) -> None:
    """Beside `v1/` the file without a version is the newer one; beside `v2/` nothing tells which is, and nothing moves."""
    snapshot = snapshot_of(tmp_path, {newer: NEW, "birds/heron.py": OLD})

    assert first == paths(snapshot, rank(snapshot, "invoice_total fails", weights(tmp_path)))[0]


@pytest.mark.parametrize(
    ("path", "old", "without"),
    [
        ("shop/_old/billing.py", ("old",), "shop/billing.py"),
        ("shop_old/billing.py", ("old",), "shop/billing.py"),
        ("shop/old_billing.py", ("old",), "shop/billing.py"),
        ("shop/billing.legacy.py", ("legacy",), "shop/billing.py"),
        ("compat/a/Compat/b.go", ("compat", "compat"), "a/b.go"),
        ("shop/threshold.py", (), "shop/threshold.py"),
        ("golden/compatible.py", (), "golden/compatible.py"),
    ],
)
def test_words_that_call_a_file_old(path: str, old: tuple[str, ...], without: str) -> None:
    """Whole words of a folder or file count, and the path without them is that of the newer file."""

    assert (old, without) == (marks_of(path).old, marks_of(path).without_old)


@pytest.mark.parametrize(
    ("path", "versions"),
    [
        ("api/V2/a.py", [("api/v", (2,), "", "api/a.py")]),
        ("client-v1/a.py", [("client-v", (1,), "", "client/a.py")]),
        ("pkg/1.4/a.py", [("pkg/", (1, 4), "", "pkg/a.py")]),
        ("apps/v1beta2/types.go", [("apps/v", (1,), "beta2", "apps/types.go")]),
        ("acme/client_v3.py", [("acme/client_v", (3,), "", "acme/client.py")]),
        ("v1/x/v2/a.py", [("v", (1,), "", "x/v2/a.py"), ("v1/x/v", (2,), "", "v1/x/a.py")]),
        ("content/2023/dev2/v2x.py", []),
    ],
)
def test_versions_of_a_path(path: str, versions: list[tuple[str, tuple[int, ...], str, str]]) -> None:
    """Folders and files of a version are read with their numbers, their stage, and the path without them."""

    assert versions == [(one.of, one.numbers, one.stage, one.without) for one in marks_of(path).versions]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("api/v1/a.py", "api/v2/b.py"),
        ("api/v1beta1/a.py", "api/v1/a.py"),
        ("api/v1alpha1/a.py", "api/v1beta1/a.py"),
        ("1.9/a.py", "1.10/a.py"),
    ],
)
def test_the_newer_of_two_versions(older: str, newer: str) -> None:
    """Numbers count as numbers, and a release is newer than its stages."""
    (one,), (other,) = marks_of(older).versions, marks_of(newer).versions

    assert one.is_older(other)
    assert not other.is_older(one)
    assert not one.is_older(one)
