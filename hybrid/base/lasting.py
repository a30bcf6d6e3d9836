"""Tells how hybrid was installed: whether that lasts or is a cache, as with `uvx`, and how an extra is added to it.

What is registered with an agent names files of the installation. Those of a cache may be deleted on any day, and then
the agent's hooks would do nothing, without a word. The installers, `hybrid doctor` and who misses a package ask here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.resources import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "hybrid-retrieval"
HOW_TO_INSTALL = f"`uv tool install {_NAME}` or `pipx install {_NAME}`"

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
    import shutil  # Only installers need it, and it costs a hook two milliseconds.

    for folder in environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("hybrid", path=folder) if folder else None
        if found and cache_of(Path(os.path.realpath(found)).parent.parent) is None:
            return found
    return None


def how_to_add(extra: str, *, prefix: str | Path = sys.prefix, shipped_in: Path | None = None) -> str:
    """Return the command that has an extra beside what is installed, by the tool that installed it.

    Args:
        extra: Name of the extra.
        prefix: Folder of the environment, as `sys.prefix`.
        shipped_in: The folder of what ships beside the code, in a checkout its root; None for that of this process.
    """
    root = shipped_in or shipped()
    is_checkout = root.name != "shipped"
    wanted = f'"{root}[{extra}]"' if is_checkout else f'"{_NAME}[{extra}]"'
    if (cache := cache_of(prefix)) is not None:
        is_pipx = "pipx" in cache.parts
        return f"pipx run --spec {wanted} hybrid" if is_pipx else f"uvx --from {wanted} hybrid"
    wanted = f"--editable {wanted}" if is_checkout else wanted
    if (Path(prefix) / "uv-receipt.toml").is_file():
        return f"uv tool install {wanted}"
    is_pipx = (Path(prefix) / "pipx_metadata.json").is_file()
    return f"pipx install --force {wanted}" if is_pipx else f"pip install {wanted}"


def _is_tagged(folder: Path) -> bool:
    try:
        with (folder / "CACHEDIR.TAG").open("rb") as file:
            return file.read(len(_TAG)) == _TAG
    except OSError:
        return False
