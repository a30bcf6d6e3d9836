from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from hybrid.base.arrays import Strings, encode_arrays, pack_strings, read_arrays, unpack_strings, write_arrays
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
_file_settings = examples(60)

_arrays = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
    st.sampled_from(DTYPES).flatmap(
        lambda code: of_numpy.arrays(
            np.dtype(code), of_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
        )
    ),
    max_size=5,
)


def _bytes_of(header: object, data: bytes = b"") -> bytes:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + data


@_file_settings
@given(_arrays, st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_what_is_written_is_read(tmp_path: Path, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    """Names, types, shapes, values and metadata come back as they were."""
    write_arrays(tmp_path / "a.safetensors", arrays, metadata)

    back = read_arrays(tmp_path / "a.safetensors")
    assert metadata == back.metadata
    assert set(arrays) == set(back)
    for name, array in arrays.items():
        assert (array.dtype, array.shape) == (back[name].dtype, back[name].shape)
        assert array.tobytes() == back[name].tobytes()


@_file_settings
@given(_arrays)
def test_other_tools_read_the_files(tmp_path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """The safetensors package reads the same arrays from a file."""
    library = pytest.importorskip("safetensors.numpy", reason="needs the safetensors package")

    back = library.load(encode_arrays(arrays, {"format": "1"}))
    assert set(arrays) == set(back)
    for name, array in arrays.items():
        assert (array.dtype, array.shape, array.tobytes()) == (back[name].dtype, back[name].shape, back[name].tobytes())


def test_files_of_other_tools_are_read(tmp_path: Path) -> None:
    """A file that the safetensors package wrote is read."""
    library = pytest.importorskip("safetensors.numpy", reason="needs the safetensors package")
    library.save_file({"a": np.arange(6, dtype=np.float32).reshape(2, 3)}, tmp_path / "a.safetensors", {"k": "v"})

    back = read_arrays(tmp_path / "a.safetensors")

    assert ([[0, 1, 2], [3, 4, 5]], {"k": "v"}) == (back["a"].tolist(), back.metadata)


def test_writing_gives_the_bytes_of_the_file(tmp_path: Path) -> None:
    """The bytes that are returned for a digest are those of the file."""
    data = write_arrays(tmp_path / "a.safetensors", {"a": np.arange(3)})

    assert data == (tmp_path / "a.safetensors").read_bytes()


def test_views_are_read_only_and_outlive_the_reader(tmp_path: Path) -> None:
    """An array of a file cannot be changed, and stays valid when the file is gone and the reader forgotten."""
    write_arrays(tmp_path / "a.safetensors", {"a": np.arange(3)})
    view = read_arrays(tmp_path / "a.safetensors")["a"]
    (tmp_path / "a.safetensors").unlink()

    with pytest.raises(ValueError, match="read-only"):
        view[0] = 9
    assert [0, 1, 2] == view.tolist()


def test_arrays_begin_aligned() -> None:
    """Every array begins at a multiple of its item size, whatever the order they are given in."""
    arrays = {name: np.zeros(3, code) for name, code in zip("abcdef", ["u1", "f8", "u2", "f4", "?", "i8"], strict=True)}
    data = encode_arrays(arrays)
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])

    assert 0 == (8 + size) % 64
    assert [0] * 6 == [(8 + size + header[name]["data_offsets"][0]) % arrays[name].itemsize for name in arrays]


def test_any_memory_layout_is_stored_by_rows(tmp_path: Path) -> None:
    """Transposed and strided arrays come back with the values they show."""
    table = np.arange(12, dtype=np.int16).reshape(3, 4)
    write_arrays(
        tmp_path / "a.safetensors", {"turned": table.T, "thin": table[:, ::2], "fortran": np.asfortranarray(table)}
    )

    back = read_arrays(tmp_path / "a.safetensors")
    assert [table.T.tolist(), table[:, ::2].tolist(), table.tolist()] == [
        back[name].tolist() for name in ("turned", "thin", "fortran")
    ]


def test_big_endian_arrays_are_stored_little_endian(tmp_path: Path) -> None:
    """The byte order of the machine that wrote does not matter."""
    write_arrays(tmp_path / "a.safetensors", {"a": np.array([1, 2], ">i4")})

    assert ([1, 2], "<i4") == (read_arrays(tmp_path / "a.safetensors")["a"].tolist(), np.dtype("<i4").str)


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([1j]), np.array([None])], ids=["text", "complex", "object"]
)
def test_types_that_cannot_be_stored(array: NDArray[Any]) -> None:
    """A type that the format does not know is refused by name of the array."""
    with pytest.raises(ValueError, match=r"array wrong: type .* cannot be stored"):
        encode_arrays({"wrong": array})


def test_an_unknown_name_is_a_key_error(tmp_path: Path) -> None:
    """Asking for an array that is not in the file is a KeyError."""
    write_arrays(tmp_path / "a.safetensors", {"a": np.arange(3)})
    arrays = read_arrays(tmp_path / "a.safetensors")

    assert ("a" in arrays, "b" in arrays) == (True, False)
    with pytest.raises(KeyError):
        arrays["b"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234567",
        struct.pack("<Q", 1 << 60),
        struct.pack("<Q", 9) + b"{}",
        _bytes_of(b"not json"),
        _bytes_of(b"\xff\xfe"),
        _bytes_of(b"[" * 100_000),
        _bytes_of([]),
        _bytes_of(3),
        _bytes_of({"a": 3}),
        _bytes_of({"a": {"dtype": "U8", "shape": [1]}}, b"1"),
        _bytes_of({"a": {"shape": [1], "data_offsets": [0, 1]}}, b"1"),
        _bytes_of({"a": {"dtype": "U8", "data_offsets": [0, 1]}}, b"1"),
        _bytes_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, "1"]}}, b"1"),
        _bytes_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1.0]}}, b"1"),
        _bytes_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [-1, 0]}}),
        _bytes_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 0]}}),
        _bytes_of({"a": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]}}, b"1"),
        _bytes_of({"a": {"dtype": "U8", "shape": 1, "data_offsets": [0, 1]}}, b"1"),
        _bytes_of({"a": {"dtype": 1, "shape": [1], "data_offsets": [0, 1]}}, b"1"),
        _bytes_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b""),
        _bytes_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"12"),
    ],
    ids=range(22),
)
def test_a_damaged_header_is_a_value_error(tmp_path: Path, data: bytes) -> None:
    """A file that is cut, garbled or describes no arrays is refused on opening."""
    (tmp_path / "a.safetensors").write_bytes(data)

    with pytest.raises(ValueError, match=r"a\.safetensors"):
        read_arrays(tmp_path / "a.safetensors")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}, "type BF16 is unknown"),
        ({"dtype": "U8", "shape": [3], "data_offsets": [0, 4]}, "disagree"),
        ({"dtype": "U8", "shape": [0], "data_offsets": [0, 4]}, "disagree"),
        ({"dtype": "U8", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 4]}, "disagree"),
    ],
    ids=["type", "count", "empty", "overflow"],
)
def test_an_array_that_cannot_be_is_a_value_error(tmp_path: Path, entry: dict[str, object], message: str) -> None:
    """An array of an unknown type, or of another size than its shape says, is refused when it is asked for."""
    (tmp_path / "a.safetensors").write_bytes(_bytes_of({"a": entry}, b"1234"))
    arrays = read_arrays(tmp_path / "a.safetensors")

    with pytest.raises(ValueError, match=message):
        arrays["a"]


@_file_settings
@given(st.data())
def test_a_garbled_file_never_raises_anything_else(tmp_path: Path, data: st.DataObject) -> None:
    """With any byte changed or cut off, a file is read or refused with a ValueError."""
    raw = bytearray(encode_arrays({"abc": np.arange(5, dtype=np.int16), "d": np.zeros((2, 2), np.float32)}, {"k": "v"}))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)) | st.just(len(raw)))
    (tmp_path / "a.safetensors").write_bytes(raw[:cut])

    try:
        arrays = read_arrays(tmp_path / "a.safetensors")
        for name in arrays:
            arrays[name]
    except ValueError:
        return
    assert cut == len(raw)


@given(st.lists(st.text(alphabet=st.characters(categories=None, codec=None))))
def test_strings_survive_packing(strings: list[str]) -> None:
    """Packed strings come back, lone surrogates and empty ones too, all at once and one by one."""
    blob, offsets = pack_strings(strings)

    assert strings == unpack_strings(blob, offsets)
    packed = Strings(blob, offsets)
    assert strings == [packed[index] for index in range(len(packed))]


@given(st.lists(st.text(alphabet="abé", max_size=4), unique=True, max_size=200), st.text(alphabet="abé", max_size=4))
def test_sorted_strings_are_searched(strings: list[str], wanted: str) -> None:
    """A string is found where it stands, and those with a prefix are found in order, the long ones left out."""
    strings.sort(key=str.encode)
    packed = Strings(*pack_strings(strings))

    assert (strings.index(wanted) if wanted in strings else None) == packed.find(wanted)
    assert sum(text.encode() < wanted.encode() for text in strings) == packed.lower_bound(wanted.encode())
    for longest in (2, 4):
        kept = [text for text in strings if text.startswith(wanted) and len(text) <= longest]
        assert kept == packed.beginning_with(wanted, longest)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 128, 129, 1000])
def test_each_of_many_sorted_strings_is_found(n: int) -> None:
    """Every string is found, and none between two of them, however many there are."""
    strings = [f"{number:04d}" for number in range(n)]
    packed = Strings(*pack_strings(strings))

    assert list(range(n)) == [packed.find(text) for text in strings]
    assert [None] * n == [packed.find(f"{text}x") for text in strings]
    assert n == packed.lower_bound(b"x")
