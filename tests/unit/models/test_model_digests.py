import os
from pathlib import Path

import pytest

from hybrid.base.errors import ModelError
from hybrid.models.folders import deciding_files, folder_sha256


def test_changed_weights_change_the_digest(tiny_folder: Path, tmp_path: Path) -> None:
    """Weights of the same size and other content make another model."""
    path = tiny_folder / "model.safetensors"
    before = folder_sha256(tiny_folder, tmp_path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))

    assert before != folder_sha256(tiny_folder, tmp_path)


def test_a_known_file_is_not_read_again(tiny_folder: Path, tmp_path: Path) -> None:
    """While size and time are the same, the kept digest stands for the content; a moved folder is the same model."""
    before = folder_sha256(tiny_folder, tmp_path)
    moved = tiny_folder.rename(tmp_path / "moved")
    assert before == folder_sha256(moved, tmp_path)
    path = moved / "model.safetensors"
    stat = path.stat()
    path.write_bytes(b"\0" * stat.st_size)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert before == folder_sha256(moved, tmp_path)
    assert before != folder_sha256(moved, tmp_path / "another home")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"x": 1, "y": []}'], ids=["empty", "no object", "wrong entries"])
def test_a_damaged_cache_is_started_anew(tiny_folder: Path, tmp_path: Path, content: bytes) -> None:
    """The cache is only a shortcut."""
    before = folder_sha256(tiny_folder, tmp_path)
    (tmp_path / "models" / "digests.json").write_bytes(content)

    assert before == folder_sha256(tiny_folder, tmp_path)


def test_cards_and_old_weights_do_not_count(tiny_folder: Path) -> None:
    """A README, hidden files and pickled weights beside safetensors do not change the vectors; a module's folder does."""
    for name in ("README.md", "pytorch_model.bin", "onnx/model.json", "1_Pooling/config.json"):
        (tiny_folder / name).parent.mkdir(exist_ok=True)
        (tiny_folder / name).write_text("{}")
    names = [path.relative_to(tiny_folder).as_posix() for path in deciding_files(tiny_folder)]

    assert ["1_Pooling/config.json", "config.json", "model.safetensors", "modules.json", "vocab.txt"] == names


@pytest.mark.parametrize("exists", [True, False], ids=["empty", "missing"])
def test_a_folder_without_a_model_is_refused(tmp_path: Path, exists: bool) -> None:
    """There is nothing to be identified by."""
    folder = tmp_path / "nothing"
    if exists:
        folder.mkdir()

    with pytest.raises(ModelError, match="nothing"):
        folder_sha256(folder, tmp_path)
