"""Tells whether an installation lasts, or runs out of a cache, as `uvx` and `pipx run` have it.

What is registered with an agent names files of the installation. Those of a cache may be deleted on any day, and then
the agent's hooks would do nothing, without a word. The installers and `hybrid doctor` ask here.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HOW_TO_INSTALL = "`uv tool install hybrid-retrieval` or `pipx install hybrid-retrieval`"

_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"
"""How the file `CACHEDIR.TAG` begins that marks a folder as a cache."""


def cache_of(prefix: str | Path = sys.prefix) -> Path | None:
    """Return the cache that holds an environment, or None for one that lasts.

    The environment's own mark does not count: uv and pipx mark those that last too, so that backups leave them out.

    Args:
        prefix: Folder of the environment, as `sys.prefix`.
    """
    for folder in Path(os.path.abspath(prefix)).parents:  # noqa: PTH100 - a link is not followed
        # Older versions of pipx mark nothing.
        if _is_tagged(folder) or (folder.name == ".cache" and folder.parent.name == "pipx"):
            return folder
    return None


def lasting_program(environ: Mapping[str, str]) -> str | None:
    """Return the first `hybrid` on the PATH that does not run out of a cache, or None."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("hybrid", path=folder) if folder else None
        if found and cache_of(Path(os.path.realpath(found)).parent.parent) is None:
            return found
    return None


def _is_tagged(folder: Path) -> bool:
    try:
        with (folder / "CACHEDIR.TAG").open("rb") as file:
            return file.read(len(_TAG)) == _TAG
    except OSError:
        return False
