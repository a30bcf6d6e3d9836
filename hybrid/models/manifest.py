"""Reads and checks `manifest.toml`, the passport of an embedding model; called by `registry` and by the tests.

Loads no weights and no numpy: `status` and the prompt path ask only who a model is.
"""

from __future__ import annotations

import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import tomli
from msgspec import Struct

from hybrid.base.errors import ModelError
from hybrid.types import EmbedderInfo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MANIFEST_NAME = "manifest.toml"

Engine = Literal["weighted-bag", "static-embedding", "sentence-encoder", "sentence-transformers"]
"""The engine that runs a model: our own numpy code for all but the last, which needs torch."""

_READ_BYTES = 1 << 20


class ModelManifest(Struct, frozen=True):
    """The facts of a model that its folder states, as far as the program needs them; the file holds more for people.

    Attributes:
        name: Short name of the model, the same as that of its folder.
        id: Name on the model hub, `owner/name`; empty when it has none.
        revision: Commit on the hub that the other fields describe; empty when not pinned.
        engine: The engine that runs the model.
        dim: Length of a vector.
        max_tokens: Tokens (of a weighted bag: words) of a text that count; 0 = no limit.
        licence: SPDX expression.
        provenance: Origin of the model and how it was made, in words.
        query_prefix: Text put before a query.
        document_prefix: Text put before a document.
        gate_threshold: Default threshold on the raw top cosine, or None if nobody measured one.
        expected_false_open_rate: Share of unfitting prompts that this threshold let pass when measured, or None.
        files: File name → SHA-256 in hex, for those that are known; every deciding file of a shipped model.
        replaces: Names of models that shipped before and whose place it has taken: they mean this one now.
    """

    name: str
    id: str
    revision: str
    engine: Engine
    dim: int
    max_tokens: int
    licence: str
    provenance: str
    query_prefix: str
    document_prefix: str
    gate_threshold: float | None
    expected_false_open_rate: float | None
    files: Mapping[str, str]
    replaces: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 in hex of what decides vectors: the prefixes, and the digests of files that the manifest states."""
        lines = sorted(f"{digest}  {name}" for name, digest in self.files.items())
        prefixes = [f"query_prefix={self.query_prefix!r}", f"document_prefix={self.document_prefix!r}"]
        return hashlib.sha256("\n".join(lines + prefixes).encode()).hexdigest()

    def info(self, name: str, sha256: str) -> EmbedderInfo:
        """Return the identity of an embedder of this model: the figures of this manifest with a name and a digest.

        Args:
            name: The model as the user wrote it.
            sha256: Digest of the model's files.
        """
        return EmbedderInfo(
            name=name,
            dim=self.dim,
            sha256=sha256,
            max_tokens=self.max_tokens,
            gate_threshold=self.gate_threshold,
            expected_false_open_rate=self.expected_false_open_rate,
        )

    def verify(self, folder: Path) -> None:
        """Compare the files of a folder with the digests of the manifest; reads every byte of them.

        Raises:
            ModelError: Files are missing or differ; the message names them.
        """
        wrong: list[str] = []
        for name, expected in sorted(self.files.items()):
            path = folder / name
            if not path.is_file():
                wrong.append(f"{name} is missing")
            elif file_sha256(path) != expected:
                wrong.append(f"{name} differs")
        if wrong:
            remedy = f"fetch it again with `hybrid models use {self.name}`" if self.id else "install hybrid again"
            raise ModelError(f"model {self.name} in {folder}: {', '.join(wrong)}; {remedy}")


def read_manifest(folder: Path) -> ModelManifest:
    """Return the manifest of a model's folder.

    Raises:
        ModelError: The manifest is missing or unreadable, or a field is missing, of a wrong type or out of range.
    """
    path = folder / MANIFEST_NAME
    try:
        data = tomli.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{path} is missing: {folder} is not a model folder of hybrid") from error
    except (OSError, UnicodeDecodeError, tomli.TOMLDecodeError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    try:
        return _parse(data)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from error


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex.

    Raises:
        OSError: The file cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _parse(data: dict[str, Any]) -> ModelManifest:
    gate = _table(data, "gate")
    files = {name: _digest(name, value) for name, value in _table(data, "files").items()}
    engine = _text(data, "engine")
    if engine not in get_args(Engine):
        raise ValueError(f"engine = {engine!r}: must be one of {', '.join(get_args(Engine))}")
    return ModelManifest(
        name=_text(data, "name"),
        id=_text(data, "id", ""),
        revision=_text(data, "revision", ""),
        engine=cast("Engine", engine),
        dim=_count(data, "dim", at_least=1),
        max_tokens=_count(data, "max_tokens", at_least=0),
        licence=_text(data, "licence"),
        provenance=_text(data, "provenance"),
        query_prefix=_text(data, "query_prefix", ""),
        document_prefix=_text(data, "document_prefix", ""),
        gate_threshold=_number(gate, "threshold", -1.0, 1.0),
        expected_false_open_rate=_number(gate, "expected_false_open_rate", 0.0, 1.0),
        files=MappingProxyType(files),
        replaces=_texts(data, "replaces"),
    )


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise TypeError(f"{key} must be a table")
    return cast("dict[str, Any]", value)


def _text(data: dict[str, Any], key: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise TypeError(f"{key} = {value!r}: must be text")
    return value


def _texts(data: dict[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in cast("list[object]", value)):
        raise TypeError(f"{key} = {value!r}: must be a list of texts")
    return tuple(cast("list[str]", value))


def _count(data: dict[str, Any], key: str, *, at_least: int) -> int:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ValueError(f"{key} = {value!r}: must be a whole number of at least {at_least}")
    return value


def _number(data: dict[str, Any], key: str, low: float, high: float) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"{key} = {value!r}: must be a number in {low:g} to {high:g}")
    return float(value)


def _digest(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) != 64 or value.strip("0123456789abcdef"):
        raise ValueError(f"files.{name} = {value!r}: must be a SHA-256 of 64 hex digits")
    return value
