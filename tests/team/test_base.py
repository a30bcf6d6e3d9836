from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from hybrid.base.arrays import encode_arrays
from hybrid.team.base import NAME, SAME, OverlaySource, figures_of, read_base, write_base
from hybrid.team.store import Generation, file_id
from hybrid.types import Document, Skipped
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in

if TYPE_CHECKING:
    from pathlib import Path

PATHS = ["b.py", "src/ä.py", "src/not-utf8-\udcff.py"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a base of the payments project and of some odd paths."""
    place, source = place_in(tmp_path / "index"), ListSource(dict(PAYMENTS))
    build_index(place, source)
    read = [source.read(found) for found in source.scan()]
    documents = [one for one in read if isinstance(one, Document)]
    files = {one.path: file_id("shop", one.path, one.digest, one.kind, one.language) for one in documents}
    files |= {path: f"{number:032x}" for number, path in enumerate(PATHS, 1)}
    write_base(tmp_path / "overlay", "shop", Generation("c1", 5, files, figures_of(open_index(place))))
    return tmp_path / "overlay"


def test_a_base_tells_the_text_of_each_path(folder: Path) -> None:
    """Every path has its id, others have none; ids are known by their first half."""
    base = read_base(folder)

    assert base is not None
    assert ("shop", "c1", len(PAYMENTS) + len(PATHS)) == (base.repository, base.commit, len(base))
    assert [f"{number:032x}" for number in (1, 2, 3)] == [base.id_of(path) for path in PATHS]
    assert "" == base.id_of("src/nothing.py")
    assert [True, False] == base.may_hold([base.id_of(next(iter(PAYMENTS))), "f" * 32])
    assert [] == base.may_hold([])


def test_a_damaged_base_is_none(folder: Path) -> None:
    """Whatever a file holds, reading it gives a whole base or none."""
    data = (folder / NAME).read_bytes()
    for damaged in (b"", data[:-1], data[:100], encode_arrays({})):
        (folder / NAME).write_bytes(damaged)
        assert read_base(folder) is None
    (folder / NAME).unlink()
    assert read_base(folder) is None


def test_an_overlay_holds_what_differs(folder: Path) -> None:
    """A text that the base has at the same path is skipped; another text, another path and another kind are not."""
    path, text = next(iter(PAYMENTS.items()))
    source = ListSource({path: text, "new.py": text, "other.py": "x = 1\n"})
    copied = pickle.loads(pickle.dumps(OverlaySource(source, folder)))  # type: ignore[arg-type]
    for overlay in (OverlaySource(source, folder), copied):  # type: ignore[arg-type]
        read = {found.path: overlay.read(found) for found in overlay.scan()}

        assert Skipped(path, SAME) == read.pop(path)
        assert ["new.py", "other.py"] == [one.path for one in read.values() if isinstance(one, Document)]

    source.texts[path] = text + "\n# changed\n"
    overlay = OverlaySource(source, folder)  # type: ignore[arg-type]
    read = {found.path: overlay.read(found) for found in overlay.scan()}
    assert isinstance(read[path], Document)


def test_without_a_base_everything_differs(tmp_path: Path) -> None:
    """A tree whose base was never downloaded is indexed whole."""
    overlay = OverlaySource(ListSource(dict(PAYMENTS)), tmp_path)  # type: ignore[arg-type]

    assert all(isinstance(overlay.read(found), Document) for found in overlay.scan())
