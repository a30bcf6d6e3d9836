"""Where downloaded models lie, and the one function that downloads: the hub's cache, shared with other tools.

Called by `registry`. Looking is standard library only; fetching needs an extra and happens only when a user asks.
"""

# huggingface_hub comes with an extra, and its signatures are only partly typed.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import ModelError
from hybrid.base.home import expanded

if TYPE_CHECKING:
    from collections.abc import Mapping

_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
_NOT_NEEDED = ["*.h5", "*.ot", "*.msgpack", "*.onnx", "*.py", "onnx/*", "openvino/*", "coreml/*"]
_OLD_WEIGHTS = "*.bin"


def is_repository(name: str) -> bool:
    """Return whether a name has the form `owner/name`."""
    return _REPOSITORY.fullmatch(name) is not None and ".." not in name


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder of the hub's cache, by the variables that its own tools read."""
    if environ.get("HF_HUB_CACHE"):
        return Path(expanded(environ["HF_HUB_CACHE"]))
    if environ.get("HF_HOME"):
        return Path(expanded(environ["HF_HOME"])) / "hub"
    base = environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(expanded(base)) / "huggingface" / "hub"


def downloaded(repository: str, revision: str, environ: Mapping[str, str]) -> Path | None:
    """The folder of a downloaded model, or None when it is not on disk.

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
    """Download a model and give its folder; weights in the old pickle format only when there are no others.

    Raises:
        ModelError: The extra is missing, the network is off, or the hub does not have it.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ModelError(
            f"fetching {repository} needs the extra `transformers`: pip install 'hybrid-retrieval[transformers]'"
        ) from error
    try:
        folder = Path(
            snapshot_download(repository, revision=revision or None, ignore_patterns=[*_NOT_NEEDED, _OLD_WEIGHTS])
        )
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(repository, revision=revision or None, ignore_patterns=_NOT_NEEDED))
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise ModelError(f"{repository} could not be fetched: {reason}; check the name and the network") from error
    return folder
