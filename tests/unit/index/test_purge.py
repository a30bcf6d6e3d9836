from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.index.catalog import Catalog
from tests.builders import build_index, open_index

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.place import Place
    from tests.builders import ListSource


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
