from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.sqlite import open_for_reading
from hybrid.index.catalog import Catalog
from tests.support.builders import build_index, open_index

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from hybrid.index.manifest import Place
    from tests.support.builders import ListSource


def _holding(folder: Path, word: bytes) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and word in path.read_bytes().lower())


def test_a_purged_index_holds_nothing_of_what_is_gone(built_place: Place, payments_source: ListSource) -> None:
    """One new segment, no content without a document; with the catalog compacted no byte of it is in any file."""
    payments_source.put("docs/zanzibar.md", "# Zanzibar\n\nThe quokkaflag header is needed there.\n")
    for name in ("one", "two"):
        payments_source.put(f"docs/{name}.md", f"# {name}\n\nA page.\n")
    build_index(built_place, payments_source)
    del payments_source.texts["docs/zanzibar.md"]
    build_index(built_place, payments_source)
    folder = built_place.catalog.parent
    before = _holding(folder, b"zanzibar")
    payments_source.reads.clear()
    summary = build_index(built_place, payments_source, is_purged=True)
    with Catalog(built_place.catalog, tree=built_place.tree, root=built_place.root) as catalog:
        compacted_before = _holding(folder, b"zanzibar")
        catalog.compact()

    assert any(name.startswith("segment-") for name in before)
    assert not any(name.startswith("segment-") for name in compacted_before)
    assert [] == _holding(folder, b"zanzibar")
    assert ([], 0, 6) == (payments_source.reads, summary.embedded, summary.documents)
    snapshot = open_index(built_place)
    assert (1, set(payments_source.texts)) == (len(snapshot.segments), set(snapshot.live_documents()))


def test_a_purged_index_is_built_upon(built_place: Place, payments_source: ListSource) -> None:
    """The next build adds to it as to any other."""
    first = build_index(built_place, payments_source, is_purged=True)
    second = build_index(built_place, payments_source)
    payments_source.put("docs/new.md", "# New\n\nA page.\n")
    third = build_index(built_place, payments_source)

    assert first.generation == second.generation
    assert (first.generation + 1, 1) == (third.generation, third.added)


def test_a_build_is_done_although_somebody_reads_the_catalog(
    built_place: Place, payments_source: ListSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that is mostly free space is compacted by a later build; this one does not fail for it."""
    monkeypatch.setattr("hybrid.base.sqlite._BUSY_TIMEOUT_MS", 50)
    with Catalog(built_place.catalog, tree=built_place.tree, root=built_place.root) as catalog:
        catalog.begin()
        model = catalog.model_id("of another time")
        catalog._db.execute(
            "INSERT INTO contents(digest, language, recipe, method, fallback, n_chunks) VALUES(zeroblob(32), '', '', '', '', 0)"
        )
        catalog._db.execute(
            "INSERT INTO vectors SELECT ?, zeroblob(16), max(id), 0, 1.0, zeroblob(5000000) FROM contents", (model,)
        )
        catalog.commit()
    reader = open_for_reading(built_place.catalog, "catalog")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM trees").fetchone()
    payments_source.put("docs/new.md", "# New\n\nA page.\n")
    try:
        summary = build_index(built_place, payments_source, is_purged=True)
    finally:
        reader.close()

    assert 1 == summary.added
    assert "docs/new.md" in open_index(built_place).live_documents()
