"""What a prompt gets when the vectors of the background in `$HYBRID_HOME` are damaged: the same, without a word."""

from __future__ import annotations

import json
import shutil
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid.base.arrays import encode_arrays, read_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from numpy.typing import NDArray

    from tests.support.builders import Shop

FITS = "How does the payment client retry?"


@dataclass(frozen=True)
class Kept:
    """The file of vectors and what stood in it."""

    path: Path
    whole: bytes

    def with_array(self, name: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> bytes:
        """A whole file with the old digest in which one array is another."""
        arrays = read_arrays(self.path)
        changed = {key: change(arrays[key]) if key == name else arrays[key] for key in arrays}
        return encode_arrays(changed, arrays.metadata)

    def with_header(self, change: Callable[[dict[str, Any]], object]) -> bytes:
        """The same arrays below a changed header."""
        (length,) = struct.unpack_from("<Q", self.whole)
        header = json.loads(self.whole[8 : 8 + length])
        encoded = json.dumps(change(header)).encode()
        return struct.pack("<Q", len(encoded)) + encoded + self.whole[8 + length :]

    def flipped(self, at: int) -> bytes:
        """One bit is another."""
        data = bytearray(self.whole)
        data[at] ^= 1
        return bytes(data)


def _entry(name: str, **changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda header: header | {name: header[name] | changes}


DAMAGES: dict[str, Callable[[Kept], bytes]] = {
    "empty": lambda kept: b"",
    "one byte": lambda kept: b"\x00",
    "half": lambda kept: kept.whole[: len(kept.whole) // 2],
    "a byte short": lambda kept: kept.whole[:-1],
    "a byte long": lambda kept: kept.whole + b"\x00",
    "all zeros": lambda kept: bytes(len(kept.whole)),
    "all ones": lambda kept: b"\xff" * len(kept.whole),
    "zeros at the end": lambda kept: kept.whole[:-100_000] + bytes(100_000),
    "zeros after the header": lambda kept: kept.whole[:50_000] + bytes(len(kept.whole) - 50_000),
    "twice": lambda kept: kept.whole * 2,
    "text": lambda kept: b"# not vectors\n" * 100,
    "one bit in the middle": lambda kept: kept.flipped(len(kept.whole) // 2),
    "the last bit": lambda kept: kept.flipped(len(kept.whole) - 1),
    "header too long": lambda kept: b"\xff" * 8 + kept.whole[8:],
    "header without an end": lambda kept: kept.whole[:8] + b"[" * (len(kept.whole) - 8),
    "header is a list": lambda kept: kept.with_header(lambda header: [header]),
    "header says nothing": lambda kept: kept.with_header(lambda header: {}),
    "no digest": lambda kept: kept.with_header(lambda header: header | {"__metadata__": {}}),
    "another digest": lambda kept: kept.with_header(lambda header: header | {"__metadata__": {"sha256": "0" * 64}}),
    "metadata is a list": lambda kept: kept.with_header(lambda header: header | {"__metadata__": []}),
    "metadata is null": lambda kept: kept.with_header(lambda header: header | {"__metadata__": None}),
    "unknown type": lambda kept: kept.with_header(_entry("chat_bank", dtype="X99")),
    "another type": lambda kept: kept.with_header(_entry("piece_words", dtype="F32")),
    "huge shape": lambda kept: kept.with_header(_entry("chat_bank", shape=[2**62, 2**62])),
    "flat shape": lambda kept: kept.with_header(_entry("term_at", shape=[])),
    "array missing": lambda kept: kept.with_header(lambda header: {k: v for k, v in header.items() if k != "term_at"}),
    "not a number": lambda kept: kept.with_array("piece_vector", lambda array: np.full_like(array, np.nan)),
    "infinite": lambda kept: kept.with_array("chat_bank", lambda array: np.full_like(array, np.inf)),
    "enormous": lambda kept: kept.with_array("chat_bank", lambda array: np.full_like(array, 3e38)),
    "other length": lambda kept: kept.with_array("piece_vector", lambda array: np.ascontiguousarray(array[:, :3])),
    "no prompts": lambda kept: kept.with_array("piece_prompt", lambda array: array[:0]),
    "numbers out of range": lambda kept: kept.with_array("piece_words", lambda array: np.full_like(array, 2**31 - 1)),
    "no counted documents": lambda kept: kept.with_array("generic_documents", lambda array: array * 0),
    "no UTF-8": lambda kept: kept.with_array("term_text", lambda array: np.full_like(array, 0xFF)),
}


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
    kept.path.write_bytes(DAMAGES[damage](kept))

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


def _link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _file_for_the_folder(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_bytes(b"")


def _nothing(path: Path) -> None:
    shutil.rmtree(path.parent)


@pytest.mark.parametrize(
    "spoil",
    [_folder_in_place, _link_to_nowhere, _link_to_itself, _file_for_the_folder, _nothing],
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
