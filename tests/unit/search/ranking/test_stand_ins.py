"""Files that stand for others, asked for by names and behaviours that both define."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.index.backend import Filter
from hybrid.search.ranking.corpus import marks_of
from tests.unit.search.ranking.older_trees import TREES
from tests.unit.search.ranking.projects import paths, rank, snapshot_of, weights

if TYPE_CHECKING:
    from pathlib import Path

CASES: list[tuple[str, str, str, str]] = [
    ("versions", "where is Client defined", "acme/v2/client.py", "acme/v1/client.py"),
    ("versions", "fix retry_request", "acme/v2/retry.py", "acme/v1/client.py"),
    ("versions", "how does the client send a request", "acme/v2/client.py", "acme/v1/client.py"),
    ("versions", "how is a tar archive uploaded in parts", "acme/v1/client.py", ""),
    ("versions", "upload_archive", "acme/v1/client.py", ""),
    ("versions", "retry_request in v1", "acme/v1/client.py", ""),
    ("versions", "the Client of version 1 sends a request twice", "acme/v1/client.py", ""),
    ("versions", "acme/v1/client.py: retry_request sleeps too long", "acme/v1/client.py", ""),
    ("version_names", "fix retry_request", "acme/client_v2.py", "acme/client_v1.py"),
    ("version_names", "how does the client send a request to the service", "acme/client_v2.py", "acme/client_v1.py"),
    ("version_names", "retry_request of client_v1", "acme/client_v1.py", ""),
    ("version_names", "upload_archive", "acme/client_v1.py", ""),
    ("beta", "where is DeploymentSpec", "apis/apps/v1/types.go", "apis/apps/v1beta1/types.go"),
    ("beta", "DeploymentSpec in v1beta1", "apis/apps/v1beta1/types.go", ""),
    ("legacy_folder", "where is QueryParser", "src/parser.js", "src/legacy/parser.js"),
    ("legacy_folder", "parseQuery drops the last token", "src/parser.js", "src/legacy/parser.js"),
    ("legacy_folder", "parseQuery of the legacy parser drops the last token", "src/legacy/parser.js", ""),
    ("legacy_folder", "escape the quotes of a query", "src/legacy/parser.js", ""),
    ("legacy_folder", "escapeQuery", "src/legacy/parser.js", ""),
    ("legacy_elsewhere", "where is QueryParser", "src/parser.js", "legacy/src/queries.js"),
    ("legacy_elsewhere", "parseQuery drops the last token", "src/parser.js", "legacy/src/queries.js"),
    ("old_file", "invoice_total adds the tax twice", "shop/billing.py", "shop/billing_old.py"),
    ("old_file", "invoice_total in billing_old", "shop/billing_old.py", ""),
    ("old_file", "the old invoice_total adds the tax twice", "shop/billing_old.py", ""),
    ("old_folder", "invoice_total adds the tax twice", "shop/billing.py", "shop_old/billing.py"),
    ("old_folder", "invoice_total of shop_old", "shop_old/billing.py", ""),
    ("under_old", "invoice_total adds the tax twice", "shop/billing.py", "shop/_old/billing.py"),
    ("compat_go", "where is EncodeRecord", "internal/record/record.go", "internal/compat/record.go"),
    ("compat_go", "checksum() is wrong", "internal/compat/record.go", ""),
    ("compat_go", "encode a record", "internal/record/record.go", "internal/compat/record.go"),
    ("compat_go", "EncodeRecord of the compat package", "internal/compat/record.go", ""),
    ("compat_py", "fix print_invoice", "shop/billing.py", "shop/compat.py"),
    ("compat_py", "invoice_total for backwards compatibility", "shop/compat.py", ""),
    ("barrel", "where is createStore", "src/store.ts", ""),
    ("barrel", "create a store", "src/store.ts", ""),
    ("barrel", "select a slice of the state", "src/select.ts", ""),
    ("barrel", "selectSlice returns the wrong slice", "src/select.ts", ""),
    ("barrel", "what does index.ts export", "src/index.ts", ""),
    ("barrel", "the public API of the store", "src/index.ts", ""),
    ("init", "load users from a store", "acme/store.py", ""),
    ("init", "the Store of acme", "acme/store.py", ""),
    ("init", "parse_date fails", "acme/pages.py", ""),
    ("init", "the exports of acme/__init__.py", "acme/__init__.py", ""),
    ("stub", "load_user of Store", "acme/store.py", "acme/store.pyi"),
    ("stub", "where is Store", "acme/store.py", ""),
    ("stub", "the stub of Store has the wrong type", "acme/store.pyi", ""),
    ("stub_alone", "load_user of Store", "acme/store.pyi", ""),
    ("declared", "parseQuery returns undefined", "src/parser.js", "src/parser.d.ts"),
    ("declared", "parse a query and return its tree", "src/parser.js", "src/parser.d.ts"),
    ("declared", "ParserOptions", "src/parser.d.ts", ""),
    ("declared", "the typings of QueryParser", "src/parser.d.ts", ""),
    ("rust", "encode_frame fails for large payloads", "src/codec.rs", ""),
    ("rust", "RingBuffer", "src/buffer.rs", ""),
    ("header", "table_find", "src/table.c", "src/table.h"),
    ("header", "find a key in a table", "src/table.c", "src/table.h"),
    ("legacy_alone", "invoice_total adds the tax twice", "shop/legacy/billing.py", ""),
    ("legacy_alone", "how is the total of an invoice made", "shop/legacy/billing.py", ""),
]
"""Tree, query, the file that comes first, and the one that came first before; empty when it was the same."""
FAR = [
    ("versions", "send a request again while the service answers with an error", "acme/v1/client.py"),
    ("beta", "change the number of replicas of a deployment", "apis/apps/v1beta1/types.go"),
    ("legacy_folder", "parse a query and return its tree", "src/legacy/parser.js"),
    ("old_file", "how is the total of an invoice made of its lines and discount", "shop/billing_old.py"),
    ("old_folder", "print an invoice with its total", "shop_old/billing.py"),
    ("rust", "encode and decode frames of the wire", "src/lib.rs"),
]
"""Tree, a behaviour in the words of the older file, whose successor says nothing of it, and the file that stays first."""


@pytest.mark.parametrize(("tree", "query", "first", "before"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_what_comes_first(tmp_path: Path, tree: str, query: str, first: str, before: str) -> None:
    """A file that stands for another comes behind it, unless the query speaks of it or only it holds what is asked."""
    snapshot = snapshot_of(tmp_path, TREES[tree])

    assert first == paths(snapshot, rank(snapshot, query, weights(tmp_path)))[0]
    assert (before or first) == paths(snapshot, rank(snapshot, query, weights(tmp_path, stand_in=0.0)))[0]


@pytest.mark.parametrize(("tree", "query", "first"), FAR, ids=[case[0] for case in FAR])
def test_a_successor_that_is_far_behind(tmp_path: Path, tree: str, query: str, first: str) -> None:
    """Without a named symbol a file that is far ahead of its successor stays; with a large setting it yields too."""
    snapshot = snapshot_of(tmp_path, TREES[tree])

    assert first == paths(snapshot, rank(snapshot, query, weights(tmp_path)))[0]
    assert first != paths(snapshot, rank(snapshot, query, weights(tmp_path, stand_in=10.0)))[0]


def test_two_files_change_places(tmp_path: Path) -> None:
    """The explanation shows what one loses and the other gains; every other file keeps its evidence."""
    snapshot = snapshot_of(tmp_path, TREES["versions"])
    with_it, without = (
        {snapshot.get(chunk.row).path: chunk.pieces for chunk in rank(snapshot, "fix retry_request", settings)}
        for settings in (weights(tmp_path), weights(tmp_path, stand_in=0.0))
    )
    old, new = "acme/v1/client.py", "acme/v2/retry.py"
    evidence = {path: sum(pieces.values()) for path, pieces in with_it.items()}

    assert with_it[old]["stand_in"] == pytest.approx(-with_it[new]["stand_in"])
    assert with_it[new]["stand_in"] > 0
    assert sum(without[old].values()) == pytest.approx(evidence[new], abs=1e-3)
    assert {0.0} == {pieces["stand_in"] for path, pieces in with_it.items() if path not in (old, new)}
    assert all("stand_in" not in pieces for pieces in without.values())


def test_a_search_in_a_folder_asks_for_it(tmp_path: Path) -> None:
    """A file whose successor may not be shown yields to none."""
    snapshot = snapshot_of(tmp_path, TREES["versions"])
    ranked = rank(snapshot, "fix retry_request", weights(tmp_path), kept=Filter(path="acme/v1"))

    assert {"acme/v1/client.py"} == set(paths(snapshot, ranked))
    assert {0.0} == {chunk.pieces["stand_in"] for chunk in ranked}


OLD = "def find_heron(nest):\n    # Find the heron in its nest.\n    return nest.heron\n"
NEW = "def find_heron(place, depth):\n    return [bird for bird in place if bird.depth < depth]\n"


@pytest.mark.parametrize(
    ("mirror", "first"), [(("birds/owl.py", "birds/jay.py"), "birds/_inner/look.py"), ((), "birds/v1/heron.py")]
)
def test_a_copy_in_a_folder_of_the_first_version(tmp_path: Path, mirror: tuple[str, ...], first: str) -> None:
    """`v1/` beside newer code without a version is a copy where most of its files have one of the same path there."""
    texts = {"birds/v1/owl.py": "owl = 1\n", "birds/v1/jay.py": "jay = 1\n", "birds/v1/heron.py": OLD}
    beside = dict.fromkeys(mirror, "x = 1\n") | {"birds/_inner/look.py": NEW}
    snapshot = snapshot_of(tmp_path, texts | beside)

    assert first == paths(snapshot, rank(snapshot, "find_heron fails", weights(tmp_path)))[0]


@pytest.mark.parametrize(
    ("newer", "first"), [("birds/v1/heron.py", "birds/heron.py"), ("birds/v2/heron.py", "birds/heron.py")]
)
def test_an_unversioned_file_yields_to_no_version(tmp_path: Path, newer: str, first: str) -> None:
    """Beside `v1/` the file without a version is the newer one; beside `v2/` nothing tells which is, and nothing moves."""
    snapshot = snapshot_of(tmp_path, {newer: NEW, "birds/heron.py": OLD})

    assert first == paths(snapshot, rank(snapshot, "find_heron fails", weights(tmp_path)))[0]


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
