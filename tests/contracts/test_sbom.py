"""The list of parts that ships in the wheel: whole, valid, and up to date."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hybrid import __version__
from hybrid.base.text import sha256_of_file
from tests.release.sbom import FILE, MissingPinError, bill_of_materials, text_of
from tests.support.builders import CHECKOUT


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document as it ships."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def _parts(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {part["name"]: part for part in document["components"]}


def test_the_file_is_what_make_sbom_writes() -> None:
    """A change of dependencies, versions, models or data needs `make sbom`."""
    try:
        text = text_of(bill_of_materials())
    except MissingPinError as error:
        pytest.skip(f"other versions are installed than the list is of: {error}")

    assert text == FILE.read_text(encoding="utf-8"), "not up to date: make sbom"


def test_it_is_valid(document: dict[str, Any]) -> None:
    """The schema of CycloneDX 1.6 has nothing to say against it, nor against the names of licences."""
    validation = pytest.importorskip("cyclonedx.validation.json", reason="needs cyclonedx-python-lib")
    schema = pytest.importorskip("cyclonedx.schema", reason="needs cyclonedx-python-lib")
    pytest.importorskip("jsonschema", reason="needs cyclonedx-python-lib[json-validation]")

    problem = validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(json.dumps(document))

    assert problem is None
    assert ("CycloneDX", "1.6") == (document["bomFormat"], document["specVersion"])
    assert "timestamp" not in document["metadata"]


def test_it_lists_every_dependency(document: dict[str, Any]) -> None:
    """Every requirement of the wheel is a part with a version and a licence, and so is what those require."""
    project = tomli.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = _parts(document)
    graph = {entry["ref"]: entry["dependsOn"] for entry in document["dependencies"]}
    known = {part["bom-ref"] for part in document["components"]}
    direct = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}

    assert all(parts[name]["version"] and parts[name]["licenses"] for name in direct)
    root = document["metadata"]["component"]["bom-ref"]
    assert sorted(parts[name]["bom-ref"] for name in direct) == graph[root]
    assert all(set(needed) <= known for needed in graph.values())
    assert all(part["bom-ref"] in graph for part in parts.values() if part["type"] == "library" and "version" in part)
    assert __version__ == document["metadata"]["component"]["version"]


def test_it_lists_what_the_extras_bring(document: dict[str, Any]) -> None:
    """What an extra of users asks for is an optional part with its range; the tools of developers are none."""
    extras = {each for part in document["components"] for each in _extras_of(part)}
    project = tomli.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert {"milvus", "plot", "static", "transformers"} <= extras
    assert not {"dev", "docs"} & extras
    assert extras == {name for name in project["optional-dependencies"] if name not in ("dev", "docs")}


def _extras_of(part: dict[str, Any]) -> list[str]:
    said = {each["name"]: each["value"] for each in part.get("properties", ())}
    return said["hybrid:extra"].split(", ") if "hybrid:extra" in said else []


def test_it_lists_the_shipped_models(document: dict[str, Any]) -> None:
    """Each model whose weights ship has its licence, its version and the digest of its weights; data has digests too."""
    parts = _parts(document)
    for folder in sorted((CHECKOUT / "models").glob("*/")):
        if not (folder / "model.safetensors").exists():
            continue
        manifest = tomli.loads((folder / "manifest.toml").read_text(encoding="utf-8"))
        part = parts[folder.name]

        assert "machine-learning-model" == part["type"]
        assert manifest["files"]["model.safetensors"] == part["hashes"][0]["content"]
        said = part["licenses"][0]
        assert manifest["licence"] == said.get("expression", said.get("license", {}).get("id"))
    for name in ("background", "lexicon"):
        for file in parts[name]["components"]:
            path = CHECKOUT / file["name"].removeprefix("hybrid/shipped/")
            assert sha256_of_file(path) == file["hashes"][0]["content"]


def test_two_runs_write_the_same() -> None:
    """The same files give the same text and the same serial number, from whatever folder."""
    try:
        first = bill_of_materials()
    except MissingPinError as error:
        pytest.skip(f"other versions are installed than the list is of: {error}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        for name in ("pyproject.toml", "constraints.txt", "hybrid", "models"):
            (copy / name).symlink_to(CHECKOUT / name)
        second = bill_of_materials(copy)

    assert text_of(first) == text_of(second)
