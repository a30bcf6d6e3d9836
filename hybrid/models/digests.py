"""The digest of a model's folder: what makes two folders the same embedder; called by `registry`.

Contents are hashed once; afterwards the size and time of a file vouch for it (`$HYBRID_HOME/models/digests.json`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

from hybrid.atomic import write_atomic
from hybrid.errors import ModelError
from hybrid.models.manifest import file_sha256

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIXES = frozenset({".json", ".txt", ".model", ".safetensors", ".bin"})
_NOT_DECIDING = frozenset({"data_config.json"})


def folder_sha256(folder: Path, home: Path) -> str:
    """SHA-256 in hex over the weights, configuration and tokeniser files of a model's folder and its modules.

    Args:
        folder: The model.
        home: `$HYBRID_HOME`, which keeps the digests; a read-only one costs time, nothing else.

    Raises:
        ModelError: A file cannot be read, or there is none.
    """
    cache = home / "models" / "digests.json"
    known = _read(cache)
    lines: list[str] = []
    is_new = False
    try:
        for path in deciding_files(folder):
            stat = path.stat()
            key, stamp = str(path.resolve()), [stat.st_size, stat.st_mtime_ns]
            entry = known.get(key)
            if entry is None or entry[:2] != stamp:
                entry = [*stamp, file_sha256(path)]
                known[key] = entry
                is_new = True
            lines.append(f"{entry[2]}  {path.relative_to(folder).as_posix()}")
    except OSError as error:
        raise ModelError(f"the model in {folder} cannot be read: {error}") from error
    if not lines:
        raise ModelError(f"{folder} holds no model: neither weights nor configuration")
    if is_new:
        with contextlib.suppress(OSError):
            write_atomic(cache, json.dumps(known).encode(), durable=False)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def deciding_files(folder: Path) -> list[Path]:
    """The files that decide the vectors, sorted: those at the top and in the folders of the modules."""
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
    """The digests kept so far; a damaged file counts as empty."""
    try:
        data: object = json.loads(cache.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict):
        return {}
    entries = cast("dict[str, object]", data)
    return {
        key: cast("list[Any]", entry)
        for key, entry in entries.items()
        if isinstance(entry, list) and len(cast("list[Any]", entry)) == 3
    }
