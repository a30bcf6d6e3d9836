"""Reads what a model's folder says: its manifest, configuration and digest; finds and fetches models of the hub.

Called by `registry`. Reading loads no weights, no numpy and no package of an extra: `status` and the prompt path ask
only who a model is. Fetching needs an extra and happens only when a user asks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import tomli
from msgspec import Struct

from hybrid.base.atomic import write_atomic
from hybrid.base.errors import ModelError
from hybrid.base.home import expanded
from hybrid.base.text import sha256_of_file
from hybrid.types import EmbedderInfo

if TYPE_CHECKING:
    from collections.abc import Mapping


# --- The manifest, the passport of a model -------------------------------------------------------------------------

MANIFEST_NAME = "manifest.toml"

Engine = Literal["weighted-bag", "static-embedding", "sentence-encoder", "sentence-transformers"]
"""The engine that runs a model: our own numpy code for all but the last, which needs torch."""


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
            elif sha256_of_file(path) != expected:
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
        gate_threshold=_figure(gate, "threshold", -1.0, 1.0),
        expected_false_open_rate=_figure(gate, "expected_false_open_rate", 0.0, 1.0),
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


def _figure(data: dict[str, Any], key: str, low: float, high: float) -> float | None:
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


# --- The digest of a folder: what makes two folders the same embedder ----------------------------------------------
#
# Contents are hashed once; afterwards the size and time of a file vouch for it (`$HYBRID_HOME/models/digests.json`).

_SUFFIXES = frozenset({".json", ".txt", ".model", ".safetensors", ".bin"})
_NOT_DECIDING = frozenset({"data_config.json"})


def folder_sha256(folder: Path, home: Path) -> str:
    """Return the SHA-256 in hex of a model's weights, configuration and tokeniser, from names and digests of files.

    Args:
        folder: The folder of the model.
        home: `$HYBRID_HOME`, which keeps the digests of files; a read-only one costs time, nothing else.

    Raises:
        ModelError: A file cannot be read, or the folder holds none that decides.
    """
    cache = home / "models" / "digests.json"
    known = _read(cache)
    lines: list[str] = []
    is_new = False
    try:
        for path in deciding_files(folder):
            stat = path.stat()
            key, stamp = str(path.resolve()), [stat.st_size, stat.st_mtime_ns]
            if known.get(key, [])[:2] != stamp:
                known[key] = [*stamp, sha256_of_file(path)]
                is_new = True
            lines.append(f"{known[key][2]}  {path.relative_to(folder).as_posix()}")
    except OSError as error:
        raise ModelError(f"the model in {folder} cannot be read: {error}") from error
    if not lines:
        raise ModelError(f"{folder} holds no model: neither weights nor configuration")
    if is_new:
        with contextlib.suppress(OSError):
            write_atomic(cache, json.dumps(known).encode(), durable=False)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def deciding_files(folder: Path) -> list[Path]:
    """Return the files that decide the vectors, sorted: weights, configuration, tokeniser, told by their suffixes.

    They are looked for at the top and in the folders of the modules, whose names begin with a digit. `.bin` files
    beside a `.safetensors` file are left out.

    Raises:
        OSError: The folder cannot be read.
    """
    folders = [folder, *sorted(path for path in folder.iterdir() if path.is_dir() and path.name[:1].isdigit())]
    found: list[Path] = []
    for place in folders:
        files = [path for path in place.iterdir() if path.suffix in _SUFFIXES and path.is_file()]
        has_safetensors = any(path.suffix == ".safetensors" for path in files)
        found += [
            path for path in files if path.name not in _NOT_DECIDING and not (has_safetensors and path.suffix == ".bin")
        ]
    return sorted(found)


def _read(cache: Path) -> dict[str, list[Any]]:
    """Return path → [size, mtime, digest] of the files hashed so far; empty when the file is missing or damaged."""
    try:
        entries = _dict(json.loads(cache.read_bytes()))
    except (OSError, ValueError):
        return {}
    return {key: entry for key, entry in entries.items() if isinstance(entry, list) and len(entry) == 3}


_NO_LIMIT = 1_000_000
"""A limit of tokens from here on means none: tokenizers without a limit state a huge number."""


class FolderFacts(Struct, frozen=True):
    """The facts of a model that its own configuration files state.

    Attributes:
        engine: The engine that can run the model.
        place: Folder of the first module's files: the model's folder or one inside.
        dim: Length of a vector; 0 when the files do not tell.
        max_tokens: Tokens of a text that count; 0 = no limit, or unknown.
        query_prefix: The prompt called `query`.
        document_prefix: The prompt called `document` or `passage`.
        similarity: The similarity that the model was made for: cosine, dot, euclidean or manhattan.
    """

    engine: Engine
    place: Path
    dim: int
    max_tokens: int
    query_prefix: str
    document_prefix: str
    similarity: str


def read_facts(folder: Path) -> FolderFacts:
    """Read the configuration files in a folder.

    Raises:
        ModelError: There is no model in the folder, or a file is damaged.
    """
    modules = _modules(folder)
    config = _json(folder / "config.json")
    if not modules and not config:
        raise ModelError(f"{folder} holds no model: modules.json and config.json are missing")
    engine = _engine(modules, config)
    own = _json(folder / "config_sentence_transformers.json")
    prompts = _dict(own.get("prompts"))
    place = folder / str(modules[0].get("path") or "") if modules else folder
    return FolderFacts(
        engine=engine,
        place=place,
        dim=_table_dim(place) if engine != "sentence-transformers" else _dim(folder, modules, config),
        max_tokens=_max_tokens(folder, engine, config),
        query_prefix=str(prompts.get("query") or ""),
        document_prefix=str(prompts.get("document") or prompts.get("passage") or ""),
        similarity=str(own.get("similarity_fn_name") or "cosine"),
    )


def _engine(modules: list[dict[str, Any]], config: dict[str, Any]) -> Engine:
    types = [_kind(module) for module in modules]
    rest_is_plain = all(name == "Normalize" for name in types[1:])
    if types[:1] == ["WeightedBag"] and rest_is_plain:
        return "weighted-bag"
    if types == ["SentenceEncoder"]:
        return "sentence-encoder"
    is_model2vec = config.get("model_type") == "model2vec" or "StaticModel" in config.get("architectures", [])
    if (types[:1] == ["StaticEmbedding"] and rest_is_plain) or (not types and is_model2vec):
        return "static-embedding"
    if not types and "vocabulary_quantization" in config:
        return "static-embedding"
    return "sentence-transformers"


def _kind(module: dict[str, Any]) -> str:
    """Return the name of a module's class, without its package."""
    return str(module.get("type", "")).rpartition(".")[2]


def _dim(folder: Path, modules: list[dict[str, Any]], config: dict[str, Any]) -> int:
    """Return the length of a vector, as sentence-transformers works it out; 0 when the files do not tell.

    It is the output of the last module that changes the dimension, else the hidden size.
    """
    for module in reversed(modules):
        settings = _json(folder / str(module.get("path", "")) / "config.json")
        of_kind = {"Dense": _number(settings, "out_features"), "Pooling": _pooled_dim(settings)}
        if dim := of_kind.get(_kind(module), 0):
            return dim
    return _number(config, "hidden_size")


def _pooled_dim(settings: dict[str, Any]) -> int:
    """Return the length of a pooled vector, 0 if it is not stated; several ways of pooling are put side by side.

    sentence-transformers 6 renamed the setting.
    """
    modes = sum(value is True for key, value in settings.items() if key.startswith("pooling_mode_"))
    dim = _number(settings, "word_embedding_dimension") or _number(settings, "embedding_dimension")
    return dim * max(1, modes)


def _table_dim(folder: Path) -> int:
    """Return the second dimension of the table, read from the header of `model.safetensors`.

    Raises:
        ModelError: The file cannot be read, or holds no table.
    """
    path = folder / "model.safetensors"
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), 1 << 24)))
        for name in ("table", "embedding.weight", "embeddings", "words"):
            if name in header:
                return int(header[name]["shape"][1])
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    raise ModelError(f"{path} holds no table of token vectors")


def _max_tokens(folder: Path, engine: Engine, config: dict[str, Any]) -> int:
    if engine == "weighted-bag":
        return _number(config, "body_words")
    if engine == "static-embedding":
        return 0
    if engine == "sentence-encoder":
        return _number(config, "max_tokens")
    settings = _json(folder / "sentence_bert_config.json")
    limits = (
        _number(settings, "max_seq_length"),
        _number(_json(folder / "tokenizer_config.json"), "model_max_length"),
        _number(config, "max_position_embeddings"),
    )
    return next((limit for limit in limits if 0 < limit < _NO_LIMIT), 0)


def _modules(folder: Path) -> list[dict[str, Any]]:
    data = _load(folder / "modules.json")
    if not isinstance(data, list):
        return []
    return [cast("dict[str, Any]", entry) for entry in cast("list[object]", data) if isinstance(entry, dict)]


def _json(path: Path) -> dict[str, Any]:
    return _dict(_load(path))


def _load(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}; copy or fetch the model again") from error


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _number(data: dict[str, Any], key: str) -> int:
    value = data.get(key)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


# --- The cache of the hub ------------------------------------------------------------------------------------------

# huggingface_hub comes with an extra, and its signatures are only partly typed.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownArgumentType=false


_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
_NOT_NEEDED = ["*.h5", "*.ot", "*.msgpack", "*.onnx", "*.py", "onnx/*", "openvino/*", "coreml/*"]
_OLD_WEIGHTS = "*.bin"


def is_repository(name: str) -> bool:
    """Return whether a name has the form `owner/name`."""
    return _REPOSITORY.fullmatch(name) is not None and ".." not in name


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the hub's cache, by the environment variables that the hub's own tools read."""
    home = environ.get("HF_HOME") or f"{environ.get('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
    return Path(expanded(environ.get("HF_HUB_CACHE") or f"{home}/hub"))


def downloaded(repository: str, revision: str, environ: Mapping[str, str]) -> Path | None:
    """Return the folder of a downloaded model, or None when it is not on disk.

    Args:
        repository: `owner/name`.
        revision: A commit, or empty for the one that `main` named when it was downloaded.
        environ: Environment variables.
    """
    root = cache_folder(environ) / f"models--{repository.replace('/', '--')}"
    if not revision:
        try:
            revision = (root / "refs" / "main").read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
    folder = root / "snapshots" / revision
    return folder if (folder / "config.json").is_file() or (folder / "modules.json").is_file() else None


def fetch(repository: str, revision: str) -> Path:
    """Download a model and return its folder; weights in the old pickle format are fetched only if there are no others.

    Raises:
        ModelError: The extra is missing, the network is off, or the hub does not have the model.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        from hybrid.base.lasting import how_to_add  # No hook needs it.

        raise ModelError(
            f"fetching {repository} needs the extra `transformers`: {how_to_add('transformers')}"
        ) from error
    try:
        ignored = [*_NOT_NEEDED, _OLD_WEIGHTS]
        folder = Path(snapshot_download(repository, revision=revision or None, ignore_patterns=ignored))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(repository, revision=revision or None, ignore_patterns=_NOT_NEEDED))
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise ModelError(f"{repository} could not be fetched: {reason}; check the name and the network") from error
    return folder
