from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.builders import ListSource, build_index, open_index, place_in

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.manifest import Place


def _names(place: Place) -> list[str]:
    index = open_index(place)
    return sorted(index.get(row).name for row in index.live_rows())


@pytest.mark.parametrize("loss", ["damaged", "gone"])
def test_a_new_catalog_does_not_trust_the_old_snapshot(tmp_path: Path, loss: str) -> None:
    """After the loss of the catalog a file that changed meanwhile is not taken for the one in the old snapshot."""
    place, source = place_in(tmp_path), ListSource({"a.py": "def alpha(): pass\n", "b.py": "def beta(): pass\n"})
    build_index(place, source)
    if loss == "damaged":
        place.catalog.write_bytes(b"no database" * 100)
    else:
        place.catalog.unlink()
    source.put("a.py", "def gamma(): pass\n")

    build_index(place, source)

    assert ["beta", "gamma"] == _names(place)


def test_a_catalog_damaged_in_the_middle_is_set_aside(tmp_path: Path) -> None:
    """Damage that shows only while the catalog is read is repaired by the same run, and the file is kept."""
    place = place_in(tmp_path)
    source = ListSource({f"d{i}/f.py": f"def thing_{i}():\n    return {i}\n" * 20 for i in range(100)})
    build_index(place, source)
    data = bytearray(place.catalog.read_bytes())
    middle = slice(len(data) // 4, len(data) * 3 // 4)
    data[middle] = bytes([7]) * len(data[middle])
    place.catalog.write_bytes(data)
    source.put("d1/f.py", "def other(): pass\n")

    summary = build_index(place, source)

    assert 100 == summary.documents
    assert "other" in _names(place)
    assert 1 == len(list(tmp_path.glob("catalog.db.corrupt-*")))


def test_a_repaired_snapshot_is_not_written_again(tmp_path: Path) -> None:
    """After a repair the next run over unchanged documents writes no new generation."""
    place, source = place_in(tmp_path), ListSource({"a.py": "def alpha(): pass\n"})
    build_index(place, source)
    (place.folder / "manifest.json").write_text("{")
    build_index(place, source)
    repaired = open_index(place).generation

    build_index(place, source)

    assert repaired == open_index(place).generation


def _dies(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_snapshot_that_was_written_but_not_noted_is_built_upon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run killed between its snapshot and its note in the catalog leaves an index that the next run brings up to date."""
    place, source = place_in(tmp_path), ListSource({"a.py": "def alpha(): pass\n", "b.py": "def beta(): pass\n"})
    build_index(place, source)
    source.put("a.py", "def gamma(): pass\n")
    with monkeypatch.context() as patch:
        patch.setattr("hybrid.index.catalog.Catalog.finish", _dies)
        with pytest.raises(KeyboardInterrupt):
            build_index(place, source)
    source.put("b.py", "def delta(): pass\n")

    build_index(place, source)

    assert ["delta", "gamma"] == _names(place)


def test_a_number_is_not_given_to_two_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that another tree's build collected is not taken for a later one: no content id is given twice."""
    one, two = place_in(tmp_path, "one"), place_in(tmp_path, "two")
    source = ListSource({"a.py": "def alpha(): pass\n"})
    build_index(two, source)
    source.texts.clear()
    with monkeypatch.context() as patch:
        patch.setattr("hybrid.index.commit.commit_snapshot", _dies)
        with pytest.raises(KeyboardInterrupt):
            build_index(two, source)
    build_index(one, ListSource({}), full=True)
    source.put("a.py", "def gamma(): pass\n")

    build_index(two, source)

    assert ["gamma"] == _names(two)
