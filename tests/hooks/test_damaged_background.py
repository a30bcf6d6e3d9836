"""What a prompt gets when the vectors of the background in `$HYBRID_HOME` are damaged: the same, without a word."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tests.support.builders import Shop

FITS = "How does the payment client retry?"


@dataclass(frozen=True)
class Kept:
    """The file of vectors and what stood in it."""

    path: Path
    whole: bytes


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "zeros after the header": lambda whole: whole[:50_000] + bytes(len(whole) - 50_000),
    "the last bit": lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
    "no header": lambda whole: b"\xff" * 8 + whole[8:],
}
"""What `tests/unit/search/gate/test_background.py` does to every array and header, told from the answers."""


@pytest.fixture
def kept(shop: Shop) -> Generator[Kept]:
    """The vectors of the shop's model, which are whole again for the next test."""
    (path,) = (shop.home / "background").iterdir()
    found = Kept(path, path.read_bytes())
    yield found
    folder = path.parent
    shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    folder.mkdir(mode=0o700)
    path.write_bytes(found.whole)


def _answers(shop: Shop) -> tuple[str, str]:
    """What the hook and `context` give; both must be silent on standard error, which a hook closes for itself."""
    return shop.hook(FITS, "--no-dedup"), shop.out("context", FITS, "--explain")


@pytest.fixture(scope="module")
def before(shop: Shop) -> tuple[str, str]:
    """The answers with a whole file."""
    found = _answers(shop)
    assert all(found)
    return found


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_changes_no_answer(shop: Shop, before: tuple[str, str], kept: Kept, damage: str) -> None:
    """The background is made anew and kept: the same text with the same numbers, not a word about it."""
    n_told = len(shop.reasons())
    kept.path.write_bytes(DAMAGES[damage](kept.whole))

    after = _answers(shop)

    assert before == after
    assert ["injected"] == shop.reasons()[n_told:]
    assert kept.whole == kept.path.read_bytes()


def _folder_in_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link_to_nowhere(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def _file_for_the_folder(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_bytes(b"")


def _nothing(path: Path) -> None:
    shutil.rmtree(path.parent)


@pytest.mark.parametrize(
    "spoil",
    [_folder_in_place, _link_to_nowhere, _file_for_the_folder, _nothing],
    ids=lambda spoil: spoil.__name__.strip("_"),
)
def test_whatever_lies_in_the_place_changes_no_answer(
    shop: Shop, before: tuple[str, str], kept: Kept, spoil: Callable[[Path], None]
) -> None:
    """Where the file cannot be kept the background is made for each call."""
    n_told = len(shop.reasons())
    spoil(kept.path)

    assert before == _answers(shop) == _answers(shop)
    assert ["injected"] * 2 == shop.reasons()[n_told:]
