"""Finds an embedding model by its name, makes its embedder and reads its probe; the engine and the commands ask here.

A name is `hashing` or `hashing-DIM`, a model of the shipped folder `models/` (by short name or hub id), a folder
(absolute, or beginning with `.` or `~`), or a model on the hub. The name of a model that shipped once stands for the
one that replaced it. Loads no numpy until an embedder is made.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.errors import ModelError
from hybrid.base.resources import shipped
from hybrid.base.tokens import TOKENS_VERSION, term_counts
from hybrid.models.folders import (
    MANIFEST_NAME,
    ModelManifest,
    downloaded,
    fetch,
    folder_sha256,
    is_repository,
    read_facts,
    read_manifest,
)
from hybrid.types import EmbedderInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.models.folders import Engine
    from hybrid.types import Embedder, EmbedInput


_HASHING = re.compile(r"hashing(?:-([1-9][0-9]{0,4}))?")
_WEIGHTS = "model.safetensors"
_EXTRAS: dict[Engine, str] = {"static-embedding": "static", "sentence-transformers": "transformers"}


class ModelDescription(Struct, frozen=True):
    """A model as `hybrid models list` shows it.

    Attributes:
        name: Short name of the model.
        id: Name on the hub; empty when the model has none.
        dim: Length of a vector; 0 when that is not known before it is fetched.
        max_tokens: Tokens of a text that count; 0 = no limit, or unknown.
        licence: SPDX expression; empty when unknown.
        provenance: Origin of the model, in words; empty when unknown.
        extra: The extra (optional dependency) that the model needs; empty when it needs none.
        is_shipped: True when the model comes with hybrid.
        folder: Folder of the model; None when it has to be fetched first, or needs none.
        manifest: The model's manifest, or None for a model without one.
    """

    name: str
    id: str
    dim: int
    max_tokens: int
    licence: str
    provenance: str
    extra: str
    is_shipped: bool
    folder: Path | None
    manifest: ModelManifest | None


class _Located(Struct, frozen=True):
    """A model's name with what it stands for: repository, manifest and folder, as far as there are any."""

    name: str
    repository: str
    manifest: ModelManifest | None
    folder: Path | None
    is_shipped: bool


def load_embedder(
    name: str, *, home: Path, allow_download: bool = False, environ: Mapping[str, str] = os.environ
) -> Embedder:
    """Make the embedder of a name.

    Args:
        name: Name of the model, in a form that the module's docstring lists.
        home: `$HYBRID_HOME`.
        allow_download: Fetch a model that is not on disk; only for a command in which the user named it.
        environ: Environment variables, which tell where the hub's cache lies.

    Raises:
        ModelError: The model is unknown, not on disk or damaged, or an extra is missing.
    """
    if dim := _hashing_dim(name):
        return HashingEmbedder(dim, name)
    located = _locate(name, environ)
    if located.folder is None and allow_download and located.repository:
        located = _fetched(located)
    info = _info(located, home)
    folder = _folder(located)
    facts = read_facts(folder)
    stated = located.manifest or facts
    prefixes = {"query_prefix": stated.query_prefix, "document_prefix": stated.document_prefix}
    if facts.engine == "weighted-bag":
        from hybrid.models.bag_model import StaticEmbedder, read_bag_model

        return StaticEmbedder(read_bag_model(facts.place), info, **prefixes)
    if facts.engine == "static-embedding":
        from hybrid.models.foreign import TokenTableEmbedder

        return TokenTableEmbedder(facts.place, info, **prefixes)
    if facts.engine == "sentence-encoder":
        from hybrid.models.sentence_encoder import SentenceEncoder

        return SentenceEncoder(facts.place, info, **prefixes)
    from hybrid.models.foreign import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(folder, info, similarity=facts.similarity, **prefixes)


def embedder_info(name: str, home: Path, environ: Mapping[str, str] = os.environ) -> EmbedderInfo:
    """Return the identity of the embedder of a name, without loading the model.

    Raises:
        ModelError: The model is unknown, not on disk, or damaged.
    """
    if dim := _hashing_dim(name):
        return hashing_info(dim, name)
    return _info(_locate(name, environ), home)


def embedder_key(name: str, home: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return the key of the embedder of a name, `EmbedderInfo.key`; empty when that model is not there, or damaged."""
    try:
        return embedder_info(name, home, environ).key
    except ModelError:
        return ""


def present_name(name: str) -> str:
    """Return the name of the model that replaced a retired one; any other name as it is."""
    known = None if is_path(name) else _known(name)
    return known[0].name if known and name in known[0].replaces else name


def embedder_of_key(key: str, home: Path, environ: Mapping[str, str] = os.environ) -> EmbedderInfo | None:
    """Return the identity of the embedder of a key, `EmbedderInfo.key`; None when that very model is not there now."""
    name = key.rpartition("@")[0]
    try:
        info = embedder_info(name, home, environ)
    except ModelError:
        return None
    return info if info.key == key else None


def gone_models(home: Path, environ: Mapping[str, str] = os.environ) -> Callable[[str], bool]:
    """Return a function that tells of the key of an embedder whether that very model is not there now."""
    return lambda key: embedder_of_key(key, home, environ) is None


def model_folder(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of hybrid's own files of a model: manifest and probe; None for a model without a folder.

    For a model that does not ship but is known, that is the folder of its manifest, not that of its weights.

    Raises:
        ModelError: The name is neither a model nor of the form of one.
    """
    if _hashing_dim(name):
        return None
    known = None if is_path(name) else _known(name)
    return known[1] if known else _locate(name, environ).folder


def describe(name: str, environ: Mapping[str, str] = os.environ) -> ModelDescription:
    """Describe a model, whether it is on disk or not; nothing is fetched, and what is not known is empty or 0.

    Raises:
        ModelError: The name is neither a model nor of the form of one, or names a folder that is not there.
    """
    if dim := _hashing_dim(name):
        about = "No model: terms hashed into signed buckets."
        return ModelDescription(name, "", dim, 0, "MIT", about, "", is_shipped=True, folder=None, manifest=None)
    located = _locate(name, environ)
    known = located.manifest
    stated = known or (read_facts(located.folder) if located.folder else None)
    return ModelDescription(
        name=known.name if known else name,
        id=located.repository,
        dim=stated.dim if stated else 0,
        max_tokens=stated.max_tokens if stated else 0,
        licence=known.licence if known else "",
        provenance=known.provenance if known else "",
        extra=_EXTRAS.get(stated.engine if stated else "sentence-transformers", ""),
        is_shipped=located.is_shipped,
        folder=located.folder,
        manifest=known,
    )


def verify(name: str, environ: Mapping[str, str] = os.environ) -> None:
    """Compare the files of a model with the digests of its manifest; one without a manifest or folder has none.

    Raises:
        ModelError: Files are missing or differ, or there is no such model.
    """
    model = describe(name, environ)
    if model.manifest is not None and model.folder is not None:
        model.manifest.verify(model.folder)


def known_models(environ: Mapping[str, str] = os.environ) -> list[ModelDescription]:
    """Return the models with a manifest in `models/`: shipped ones first, those for an index before others; by name."""
    readers = {manifest.name: manifest.engine == "sentence-encoder" for manifest, _ in _manifests()}
    described = [describe(name, environ) for name in readers]
    return sorted(described, key=lambda model: (not model.is_shipped, readers[model.name], model.name.lower()))


def _hashing_dim(name: str) -> int:
    """Return the dimension that a name of the hashing embedder asks for; 0 for every other name."""
    match = _HASHING.fullmatch(name)
    return int(match.group(1) or 64) if match else 0


def _manifests() -> list[tuple[ModelManifest, Path]]:
    folders = sorted(path.parent for path in shipped("models").glob(f"*/{MANIFEST_NAME}"))
    return [(_shipped_manifest(folder), folder) for folder in folders]


def is_path(name: str) -> bool:
    """Return whether a name of a model is the path of a folder."""
    return name.startswith((".", "~")) or Path(name).is_absolute()


def _locate(name: str, environ: Mapping[str, str]) -> _Located:
    if is_path(name):
        return _located_folder(name)
    repository = name if "/" in name else f"sentence-transformers/{name}"
    if not is_repository(repository):
        raise ModelError(f"{name[:80]!r} is no name of a model; `hybrid models list` shows the known ones")
    known = _known(name)
    if known is not None:
        manifest, folder = known
        name = manifest.name if name in manifest.replaces else name
        if (folder / _WEIGHTS).is_file():
            return _Located(name, manifest.id, manifest, folder, is_shipped=True)
        on_disk = downloaded(manifest.id, manifest.revision, environ)
        return _Located(name, manifest.id, manifest, on_disk, is_shipped=False)
    return _Located(name, repository, None, downloaded(repository, "", environ), is_shipped=False)


def _located_folder(name: str) -> _Located:
    try:
        folder = Path(name).expanduser()
        if not folder.is_dir():
            raise ModelError(f"model {name}: there is no such folder")
    except (OSError, RuntimeError) as error:  # A name too long for the system, or a home that is not known.
        raise ModelError(f"model {name[:80]}: the folder cannot be read: {error}") from error
    manifest = read_manifest(folder) if (folder / MANIFEST_NAME).is_file() else None
    return _Located(name, "", manifest, folder, is_shipped=False)


_shipped_manifest = cache(read_manifest)
"""Reads a manifest in `models/`, once a process: a service ends when another version is installed."""


def _known(name: str) -> tuple[ModelManifest, Path] | None:
    """Return the manifest in `models/` of a name, and its folder; None without one.

    The name is that of the folder, one on the hub, or one that the model replaces.
    """
    folder = shipped("models", name)
    if "/" not in name and (folder / MANIFEST_NAME).is_file():
        return _shipped_manifest(folder), folder
    found = _manifests()
    return next(((one, place) for one, place in found if name == one.id or name in one.replaces), None)


def _fetched(located: _Located) -> _Located:
    manifest = located.manifest
    folder = fetch(located.repository, manifest.revision if manifest else "")
    if manifest is not None:
        manifest.verify(folder)
    return replace(located, folder=folder)


def _folder(located: _Located) -> Path:
    if located.folder is None:
        if located.manifest is not None and not located.manifest.id:
            raise ModelError(
                f"the files of model {located.name}, which ships with hybrid, are not there; install it again"
            )
        raise ModelError(
            f"model {located.name} is not on this machine; `hybrid models use {located.name}` fetches it, "
            "`hybrid models list` shows the known ones"
        )
    return located.folder


def _info(located: _Located, home: Path) -> EmbedderInfo:
    """Return the identity of a model on disk; of a shipped one by its manifest alone, for speed.

    Raises:
        ModelError: The model is not on disk, or damaged.
    """
    manifest, folder = located.manifest, _folder(located)
    if manifest is not None and located.is_shipped:
        return manifest.info(located.name, manifest.digest)
    facts = read_facts(folder)
    digest = folder_sha256(folder, home)
    if manifest is not None:
        return manifest.info(located.name, digest)
    return EmbedderInfo(located.name, facts.dim, digest, facts.max_tokens, None, None)


class LazyEmbedder:
    """The embedder of a name, loaded with the first text; fulfils `hybrid.types.Embedder`.

    Attributes:
        info: The identity of the embedder, known without loading it.

    Raises on construction, and on the first text:
        ModelError: The model is unknown, not on disk or damaged, or an extra is missing.
    """

    def __init__(self, name: str, home: Path, load: Callable[[str, Path], Embedder] | None = None) -> None:
        """Look the name up; `load` is called for the embedder when it is needed, by default `load_embedder`."""
        self._name = name
        self._home = home
        self._load = load
        self.info = embedder_info(name, home)

    @cached_property
    def _loaded(self) -> Embedder:
        return self._load(self._name, self._home) if self._load else load_embedder(self._name, home=self._home)

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """As `Embedder.embed_documents`."""
        return self._loaded.embed_documents(inputs)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As `Embedder.embed_query`."""
        return self._loaded.embed_query(text)

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`."""
        return self._loaded.embed_queries(texts)

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """As `Embedder.truncated`."""
        return self._loaded.truncated(inputs)


# --- the probe: weights of a logistic regression "is this text about code", beside the files of a model ------
#
# `lab/hybrid_lab/training/gate_probe.py` makes it. It changes no vector, so it is no part of a model's identity; a
# model without one is used all the same.

_PROBE = "probe.safetensors"


class Probe(Struct, frozen=True):
    """Weights of the logit: weight · x + bias, where x is a query's unit vector times its null factor, shape (dim,)."""

    weight: NDArray[np.float32]
    bias: float


def read_probe(model: EmbedderInfo) -> Probe | None:
    """Return the probe of a model, or None when it has none.

    Raises:
        ModelError: The probe is damaged, or was made for another model.
    """
    from hybrid.base.arrays import read_arrays  # Brings numpy, which a digest does not need.

    path = _probe_path(model.name)
    if path is None:
        return None
    try:
        arrays = read_arrays(path)
        probe = Probe(arrays["weight"], float(arrays["bias"][0]))
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelError(f"{path} cannot be read: {error}; reinstall hybrid") from error
    made_for = arrays.metadata.get("model", model.key)
    is_same_name = made_for.startswith(f"{model.name}@")  # A folder given by its path has a name and digest of its own.
    if probe.weight.shape != (model.dim,) or (is_same_name and made_for != model.key):
        raise ModelError(f"{path} was made for another model than {model.key}; reinstall hybrid, or remove it")
    return probe


def probe_digest(name: str) -> str:
    """Return the SHA-256 in hex of a model's probe; empty when the model has none."""
    path = _probe_path(name)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""


def _probe_path(name: str) -> Path | None:
    folder = model_folder(name)
    path = folder / _PROBE if folder else None
    return path if path and path.is_file() else None


# --- an embedder without a model file: every term falls into a signed bucket by its hash ---------------------
#
# For tests, and for users who want the lexical leg with a weak second opinion. It knows words, not meanings: texts are
# close when they share terms.


def hashing_info(dim: int, name: str = "") -> EmbedderInfo:
    """Return the identity of a hashing embedder of this dimension, of which the version of the tokens is a part."""
    recipe = f"hashing 1, dim {dim}, tokens {TOKENS_VERSION}"
    return EmbedderInfo(
        name=name or f"hashing-{dim}",
        dim=dim,
        sha256=hashlib.sha256(recipe.encode()).hexdigest(),
        max_tokens=0,
        gate_threshold=None,
        expected_false_open_rate=None,
    )


class HashingEmbedder:
    """Unit vectors of signed term counts: (1 + ln tf) of each term is added to its bucket, or taken from it.

    Args:
        dim: Number of buckets.
        name: Name of the embedder as the user wrote it; `hashing-DIM` when empty.

    Attributes:
        info: The identity of this embedder.
    """

    __slots__ = ("info",)

    def __init__(self, dim: int = 64, name: str = "") -> None:
        self.info = hashing_info(dim, name)

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_inputs, dim); head and body count alike, a text without a term gives zeros."""
        return self._embed([f"{text.head}\n{text.body}" for text in inputs])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, shape (dim,); all zeros when the text has no term."""
        return self._embed([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As `Embedder.embed_queries`, with None for the lengths: as all terms weigh the same, they say nothing."""
        return self._embed(texts), None

    def truncated(self, inputs: Sequence[EmbedInput]) -> NDArray[np.bool_]:
        """Return False for every input, shape (n_inputs,): every word counts, however long the text."""
        import numpy as np

        return np.zeros(len(inputs), np.bool_)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.info.dim), np.float64)
        for vector, text in zip(vectors, texts, strict=True):
            for term, count in sorted(term_counts(text).items()):
                bucket, sign = _bucket(term)
                vector[bucket % self.info.dim] += sign * (1 + np.log(count))
            vector /= np.linalg.norm(vector) or 1
        return vectors.astype(np.float32)


@lru_cache(1 << 16)
def _bucket(term: str) -> tuple[int, int]:
    """Return a number of 63 bits and a sign, −1 or 1, from the hash of a term."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number >> 1, 1 if number & 1 else -1
