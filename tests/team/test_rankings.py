"""Searches through a store give what the embedded index gives: over the product's own source, for its own sentences."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hybrid
from hybrid.index.catalog import Catalog
from hybrid.index.manifest import Manifest
from hybrid.index.snapshot import Snapshot
from hybrid.models.registry import load_embedder
from hybrid.prompting.query import make_query
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.gate.verdict import open_gate
from hybrid.search.searcher import Judging, Searcher
from hybrid.search.team import TeamSearcher
from hybrid.team.asking import StoreConnection, TeamIndex
from hybrid.team.base import figures_of, read_base, write_base
from hybrid.team.pushing import PushedTree, push
from hybrid.team.store import StoreKey
from tests.support.builders import ListSource, build_index, default_config, open_index, place_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.team.conftest import Desk

SOURCE = Path(hybrid.__file__).parent
EVERY = 18
"""Of the sentences of these modules, one in so many is asked: some twenty."""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every eighth module of the product."""
    paths = sorted(SOURCE.rglob("*.py"))[::8]
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in paths}


def sentences(texts: dict[str, str]) -> Iterator[str]:
    """The first lines of the docstrings of functions, without what they quote."""
    for text in texts.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (said := ast.get_docstring(node)) and "See `" not in said:
                yield said.splitlines()[0].replace("`", "")


def test_rankings_agree_with_the_embedded_index(desk: Desk, tmp_path: Path, texts: dict[str, str]) -> None:
    """The first result is the same for 95 of 100 questions, nine of ten results are, and the gate decides alike."""
    embedder, config = load_embedder("static-v1", home=tmp_path), default_config(tmp_path)
    place = place_in(tmp_path / "index")
    annotator = GateAnnotator(embedder, tmp_path)
    build_index(place, ListSource(dict(texts)), embedder, annotator=annotator)
    whole = open_index(place, embedder)
    manifest = whole.manifest
    store = desk.open(StoreKey(manifest.model, manifest.dim, manifest.recipe))
    if not store.capabilities.lexical:
        pytest.skip(f"{store.capabilities.product} does not search by words, and is refused in use")
    with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
        tree = PushedTree(catalog, embedder.info, figures_of(whole))
        push(store, "hybrid", tree, commit="c1", now_s=1, keep=1, progress=lambda *_: None)
    write_base(tmp_path, "hybrid", store.generation("hybrid", "c1", timeout_s=60))
    base = read_base(tmp_path)
    assert base is not None
    gate = open_gate(whole, embedder, tmp_path, config.gate)
    embedded = Searcher(whole, embedder, config.search, gate, config.ranking)
    nothing = Snapshot(Manifest(1, 1, manifest.model, manifest.dim, manifest.recipe, (), {}, manifest.background), [])
    through = TeamSearcher(
        TeamIndex(StoreConnection(lambda: store, wait_s=None), base, call_s=60),
        nothing,
        SOURCE,
        tmp_path,
        embedded,
        embedder=embedder,
        settings=config.search,
        ranking=config.ranking,
    )
    through = through.with_gate(open_gate(through.backend, embedder, tmp_path, config.gate), None)
    n_asked = n_first = n_shared = n_alike = 0
    for text in list(sentences(texts))[::EVERY]:
        one, other = (each.search(make_query(text), top_k=10, judging=Judging()) for each in (embedded, through))
        ours, theirs = ([(hit.path, hit.start_line) for hit in found.hits] for found in (one, other))
        assert one.verdict is not None
        assert other.verdict is not None
        n_asked += 1
        n_first += ours[:1] == theirs[:1]
        n_shared += len({*ours} & {*theirs}) / max(len(ours), 1)
        n_alike += one.verdict.is_open == other.verdict.is_open
    print(f"{store.capabilities.product}: {n_asked} asked, first {n_first}, shared {n_shared:.1f}, gate {n_alike}")  # noqa: T201

    assert "" == through.problem
    assert n_asked > 15
    assert n_first >= 0.95 * n_asked
    assert n_shared >= 0.9 * n_asked
    assert n_alike >= 0.98 * n_asked
