from pathlib import Path

import pytest
from msgspec.structs import replace

from hybrid.base.errors import ModelError
from hybrid.base.text import sha256_of_file
from hybrid.models.folders import read_manifest
from hybrid.types import EmbedderInfo
from tests.support.cases import Case, cases

MINIMAL = """
name = "tiny"
engine = "weighted-bag"
dim = 8
max_tokens = 5
pooling = "sum"
licence = "MIT"
provenance = "made for a test"
"""


def written(folder: Path, text: str) -> Path:
    """A folder with this manifest."""
    (folder / "manifest.toml").write_text(text)
    return folder


def test_what_is_left_out_is_empty_or_unknown(tmp_path: Path) -> None:
    """Only the fields that every model has are required; a threshold that nobody measured is None."""
    manifest = read_manifest(written(tmp_path, MINIMAL))

    assert ("tiny", 8, 5) == (manifest.name, manifest.dim, manifest.max_tokens)
    assert ("", "", "", "") == (manifest.id, manifest.revision, manifest.query_prefix, manifest.document_prefix)
    assert () == manifest.replaces
    assert (None, None, {}) == (manifest.gate_threshold, manifest.expected_false_open_rate, dict(manifest.files))


def test_info_takes_over_the_gate(tmp_path: Path) -> None:
    """An embedder's identity carries the default threshold and its measured rate."""
    text = MINIMAL + "[gate]\nthreshold = 0.31\nexpected_false_open_rate = 0.02\n"
    info = read_manifest(written(tmp_path, text)).info("mine", "ab" * 32)

    assert EmbedderInfo("mine", 8, "ab" * 32, 5, 0.31, 0.02) == info


@cases("models/wrong_fields.txt")
def test_a_wrong_field_is_named(tmp_path: Path, case: Case) -> None:
    """The error names the file, the field and its value."""
    folder = written(tmp_path, MINIMAL.replace(*case.given()))

    with pytest.raises(ModelError, match=case.expected) as caught:
        read_manifest(folder)
    assert "manifest.toml" in str(caught.value)


def test_a_folder_without_a_manifest_is_no_model_folder(tmp_path: Path) -> None:
    """The error names the missing file."""
    with pytest.raises(ModelError, match=r"manifest\.toml is missing"):
        read_manifest(tmp_path)


def test_verify_names_missing_and_changed_files(tmp_path: Path) -> None:
    """Every wrong file is named in one message, with what to do; files with the stated digests pass."""
    (tmp_path / "a.txt").write_bytes(b"changed")
    folder = written(tmp_path, f'{MINIMAL}[files]\n"a.txt" = "{"0" * 64}"\n"b.txt" = "{"1" * 64}"\n')
    with pytest.raises(ModelError, match=r"a\.txt differs, b\.txt is missing; install hybrid again"):
        read_manifest(folder).verify(folder)

    written(tmp_path, f'{MINIMAL}[files]\n"a.txt" = "{sha256_of_file(tmp_path / "a.txt")}"\n')
    read_manifest(folder).verify(folder)


def test_digest_depends_on_files_and_prefixes_only(tmp_path: Path) -> None:
    """What decides the vectors changes the identity; a licence does not."""
    one = read_manifest(written(tmp_path, f'{MINIMAL}[files]\na = "{"0" * 64}"\nb = "{"1" * 64}"\n'))
    reordered = replace(one, files=dict(reversed(one.files.items())), licence="other")
    swapped = replace(one, files={"a": "1" * 64, "b": "0" * 64})

    assert one.digest == reordered.digest
    assert len({one.digest, swapped.digest, replace(one, query_prefix="q: ").digest}) == 3
