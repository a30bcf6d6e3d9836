from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError, IndexCorruptError, IndexMismatchError, IndexMissingError
from hybrid.base.tokens import query_tokens
from hybrid.index.catalog import Catalog
from hybrid.index.manifest import read_manifest
from hybrid.models.registry import HashingEmbedder
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in, recipe
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.manifest import Place


def _paths(place: Place) -> set[str]:
    return set(open_index(place).live_documents())


def _found(place: Place, text: str) -> list[str]:
    snapshot = open_index(place)
    return [snapshot.get(entry.row).path for entry in ranking(snapshot.lexical(query_tokens(text), 10))]


def test_a_first_build_holds_every_document(tmp_path: Path, payments_source: ListSource) -> None:
    """Its summary counts what was added and embedded, and is noted in the catalog with its generation."""
    place = place_in(tmp_path)
    summary = build_index(place, payments_source)
    with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
        ((generation, noted),) = catalog._db.execute("SELECT generation, summary FROM generations").fetchall()

    assert set(PAYMENTS) == _paths(place)
    assert (4, 4, 0, 0) == (summary.documents, summary.added, summary.changed, summary.removed)
    assert summary.embedded == summary.chunks > 4
    assert (1, 4) == (generation, json.loads(noted)["documents"])


def test_unchanged_documents_are_not_read(built_place: Place, payments_source: ListSource) -> None:
    """An unchanged document costs its stamp: it is not read again, and no new generation is written."""
    payments_source.reads.clear()
    before = open_index(built_place).generation

    summary = build_index(built_place, payments_source)

    assert [] == payments_source.reads
    assert (0, 0, 0, 0) == (summary.added, summary.changed, summary.removed, summary.embedded)
    assert before == open_index(built_place).generation


def test_a_stamp_as_young_as_its_reading_proves_nothing(tmp_path: Path, payments_source: ListSource) -> None:
    """A file written within two seconds of its reading is read again, since a later write may leave the same stamp."""
    place = place_in(tmp_path)
    build_index(place, payments_source, now_ns=lambda: 1_000_000_000)
    payments_source.reads.clear()
    payments_source.texts["README.md"] = "# Shop\n\nA small shop that takes payments and keeps owners\n"

    build_index(place, payments_source)

    assert "README.md" in payments_source.reads
    assert "README.md" in _found(place, "owners")


def test_a_changed_document_embeds_only_its_new_chunks(built_place: Place, payments_source: ListSource) -> None:
    """Of a changed document only chunks with another input are embedded; what it no longer says is not found."""
    text = payments_source.texts["docs/deploy.md"]
    payments_source.put("docs/deploy.md", text.replace("revoke the old one", "revoke the stale secret"))
    summary = build_index(built_place, payments_source)

    assert (0, 1, 0, 1) == (summary.added, summary.changed, summary.removed, summary.embedded)
    assert ["docs/deploy.md"] == _found(built_place, "stale secret")
    payments_source.put("docs/deploy.md", "# Deployment\n\nNothing to see here.\n")
    build_index(built_place, payments_source)
    assert [] == _found(built_place, "balancer")


def test_a_removed_document_is_gone(built_place: Place, payments_source: ListSource) -> None:
    """A document that the source no longer offers is not found, and counted."""
    del payments_source.texts["src/users/store.py"]

    summary = build_index(built_place, payments_source)

    assert 1 == summary.removed
    assert "src/users/store.py" not in _paths(built_place)


def test_a_document_that_becomes_unreadable_is_gone(built_place: Place, payments_source: ListSource) -> None:
    """A document that is skipped now is removed from the snapshot and counted with its reason."""
    payments_source.put("README.md", "binary now")

    summary = build_index(built_place, payments_source)

    assert {"binary": 1} == summary.skipped
    assert "README.md" not in _paths(built_place)


def test_identical_inputs_share_one_vector_across_trees(tmp_path: Path, payments_source: ListSource) -> None:
    """Another working tree of the project embeds nothing that the first one has."""
    build_index(place_in(tmp_path, "one"), payments_source)

    summary = build_index(place_in(tmp_path, "two"), ListSource(dict(PAYMENTS)))

    assert (4, 0) == (summary.added, summary.embedded)
    assert summary.chunks == summary.reused


def test_trees_have_their_own_documents(tmp_path: Path, payments_source: ListSource) -> None:
    """A document of one working tree is not found in another."""
    build_index(place_in(tmp_path, "one"), payments_source)
    build_index(place_in(tmp_path, "two"), ListSource({"other.py": "def only_here():\n    return 1\n"}))

    assert {"other.py"} == _paths(place_in(tmp_path, "two"))
    assert set(PAYMENTS) == _paths(place_in(tmp_path, "one"))


def test_going_back_to_an_old_text_embeds_nothing(built_place: Place, payments_source: ListSource) -> None:
    """Switching branches back and forth reads files but embeds only what was never seen."""
    original = payments_source.texts["README.md"]
    payments_source.put("README.md", "# Shop\n\nAnother branch.\n")
    build_index(built_place, payments_source)
    payments_source.put("README.md", original)

    summary = build_index(built_place, payments_source)

    assert (1, 0) == (summary.changed, summary.embedded)


def test_another_model_embeds_everything_and_is_never_mixed(built_place: Place, payments_source: ListSource) -> None:
    """A change of model re-embeds every chunk; a snapshot of another model refuses to open."""
    other = HashingEmbedder(32)
    with pytest.raises(IndexMismatchError, match="reindex"):
        open_index(built_place, other)

    summary = build_index(built_place, payments_source, other)

    assert summary.chunks == summary.embedded
    assert 32 == open_index(built_place, other).manifest.dim


def test_going_back_to_an_old_model_embeds_nothing(built_place: Place, payments_source: ListSource) -> None:
    """Vectors of a model are kept when another one is used for a while."""
    build_index(built_place, payments_source, HashingEmbedder(32))

    assert 0 == build_index(built_place, payments_source).embedded


def test_another_recipe_chunks_everything_again(built_place: Place, payments_source: ListSource) -> None:
    """A change of the chunker reads and chunks every document again."""
    payments_source.reads.clear()

    build_index(built_place, payments_source, how=recipe(chunker_version="newer"))

    assert sorted(PAYMENTS) == sorted(payments_source.reads)


def test_full_reads_everything_and_writes_one_segment(built_place: Place, payments_source: ListSource) -> None:
    """A full build reads every document again and leaves one segment."""
    payments_source.put("README.md", "# Shop\n\nMore.\n")
    build_index(built_place, payments_source)
    payments_source.reads.clear()

    build_index(built_place, payments_source, full=True)

    assert 4 == len(payments_source.reads)
    assert 1 == len(open_index(built_place).segments)


def test_segments_are_merged_when_there_are_many(tmp_path: Path) -> None:
    """However many small edits are made, the snapshot never has more segments than allowed."""
    source = ListSource({f"f{i}.py": f"def function_{i}():\n    return {i}\n" for i in range(30)})
    place = place_in(tmp_path)
    build_index(place, source, max_segments=4)
    for i in range(12):
        source.put(f"f{i}.py", f"def function_{i}():\n    return 'edited {i}'\n")
        build_index(place, source, max_segments=4)

        assert len(open_index(place).segments) <= 4
        assert 30 == len(open_index(place).live_documents())


def test_files_of_old_generations_are_removed(built_place: Place, payments_source: ListSource) -> None:
    """Only the segments of the current generation stay on disk."""
    build_index(built_place, payments_source, full=True)

    assert {entry.file for entry in read_manifest(built_place.folder).segments} == {
        path.name for path in built_place.folder.glob("segment-*")
    }


def test_an_open_reader_keeps_its_generation(built_place: Place, payments_source: ListSource) -> None:
    """A snapshot that was opened before a build goes on answering from its own generation."""
    reader = open_index(built_place)
    payments_source.put("docs/deploy.md", "# Deployment\n\nNothing.\n")
    build_index(built_place, payments_source, full=True)

    assert 1 == len(ranking(reader.lexical(query_tokens("balancer"), 10)))


def test_a_missing_index_says_what_to_run(tmp_path: Path) -> None:
    """Opening an index that was never built names the command that builds it."""
    with pytest.raises(IndexMissingError, match="hybrid reindex"):
        open_index(place_in(tmp_path))


@pytest.mark.parametrize("damage", ["manifest", "truncated", "bytes", "gone"])
def test_a_damaged_index_is_refused_and_repaired(built_place: Place, payments_source: ListSource, damage: str) -> None:
    """A damaged file is noticed on opening, and the next build repairs it from the catalog without reading a file."""
    segment = next(built_place.folder.glob("segment-*"))
    if damage == "manifest":
        (built_place.folder / "manifest.json").write_bytes(b'{"segments": 3')
    elif damage == "truncated":
        segment.write_bytes(segment.read_bytes()[:-10])
    elif damage == "bytes":
        data = bytearray(segment.read_bytes())
        data[-40:] = bytes(40)
        segment.write_bytes(data)
    else:
        segment.unlink()
    with pytest.raises(IndexCorruptError, match="reindex"):
        open_index(built_place)
    payments_source.reads.clear()

    build_index(built_place, payments_source)

    assert set(PAYMENTS) == _paths(built_place)
    assert [] == payments_source.reads


def test_a_damaged_catalog_is_set_aside_and_rebuilt(built_place: Place, payments_source: ListSource) -> None:
    """A catalog that is no database is kept under another name, and the index is built anew."""
    built_place.catalog.write_bytes(b"this is not a database at all" * 100)

    summary = build_index(built_place, payments_source)

    assert 4 == summary.documents
    assert 1 == len(list(built_place.catalog.parent.glob("catalog.db.corrupt-*")))


def test_a_newer_catalog_is_refused(built_place: Place, payments_source: ListSource) -> None:
    """A catalog that a newer version wrote is left alone with an error that says so."""
    import sqlite3

    with sqlite3.connect(built_place.catalog) as database:
        database.execute("PRAGMA user_version = 999")
    database.close()

    with pytest.raises(IndexMismatchError, match="upgrade"):
        build_index(built_place, payments_source)


def test_an_interrupted_build_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """What a killed build had embedded is kept, the old generation answers, and the next run does only the rest."""
    place = place_in(tmp_path)
    source = ListSource({"first.py": "def first():\n    return 1\n"})
    build_index(place, source)
    for i in range(40):
        source.put(f"module_{i:02}.py", "\n\n".join(f"def f_{i}_{k}():\n    return '{'x' * 700}'" for k in range(30)))
    original = source.read

    def dies_late(found):
        if found.path == "module_35.py":
            raise KeyboardInterrupt
        return original(found)

    source.read = dies_late  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        build_index(place, source)
    assert {"first.py"} == _paths(place)
    source.read = original  # type: ignore[method-assign]
    source.reads.clear()

    summary = build_index(place, source)

    assert 41 == len(_paths(place))
    assert summary.embedded <= summary.chunks - 512
    assert len(source.reads) < 30


def test_two_builds_at_once_do_not_mix(built_place: Place, payments_source: ListSource) -> None:
    """While one process builds, another is told who does."""
    with locked(built_place.lock, 0) as held:
        assert held
        with pytest.raises(BusyError, match=r"process \d+"):
            build_index(built_place, payments_source)


def test_vectors_survive_quantisation(built_place: Place) -> None:
    """Stored vectors are of unit length, and their cosines differ from float32 by less than 5e-3."""
    from hybrid.index.vectors import quantise

    generator = np.random.default_rng(7)
    vectors = generator.normal(size=(200, 256)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = quantise(vectors, np.zeros(200, np.bool_))
    back = stored.data.astype(np.float32) * stored.scale[:, None]

    assert np.allclose(1.0, np.linalg.norm(back, axis=1), atol=1e-5)
    assert np.abs(vectors @ vectors.T - back @ vectors.T).max() < 5e-3
