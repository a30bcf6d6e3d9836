"""Tells how hybrid was installed: whether that lasts or is a cache, as with `uvx`, and how an extra is added to it.

What is registered with an agent names files of the installation. Those of a cache may be deleted on any day, and then
the agent's hooks would do nothing, without a word. The installers, `hybrid doctor` and who misses a package ask here.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
    asked = _Asked(str(root) if is_checkout else _NAME, is_editable=is_checkout)
    if (cache := cache_of(prefix)) is not None:
        wanted = f'"{asked.what}[{extra}]"'
        return f"pipx run --spec {wanted} hybrid" if "pipx" in cache.parts else f"uvx --from {wanted} hybrid"
    receipt, metadata = Path(prefix) / "uv-receipt.toml", Path(prefix) / "pipx_metadata.json"
    if receipt.is_file():
        return f"uv tool install {(_asked_of_uv(receipt) or asked).with_extra(extra)}"
    if metadata.is_file():
        return f"pipx install --force {(_asked_of_pipx(metadata) or asked).with_extra(extra)}"
    return f"pip install {asked.with_extra(extra)}"


class _Asked(NamedTuple):
    """A request to install hybrid, as uv or pipx keeps it.

    Attributes:
        what: A name, a folder, a file or an address.
        extras: The extras that were asked for; uv and pipx take out those that are not asked for again.
        is_editable: It runs from that folder.
    """

    what: str
    extras: tuple[str, ...] = ()
    is_editable: bool = False

    def with_extra(self, extra: str) -> str:
        """Return the words that ask for the same and an extra."""
        extras = ",".join(sorted({*self.extras, extra}))
        wanted = f"{_NAME}[{extras}] @ {self.what}" if "://" in self.what else f"{self.what}[{extras}]"
        return f'--editable "{wanted}"' if self.is_editable else f'"{wanted}"'


def _asked_of_uv(receipt: Path) -> _Asked | None:
    """Return what uv was asked for, or None if its file says nothing of it."""
    import tomli  # Seldom needed.

    try:
        every = tomli.loads(receipt.read_text("utf-8"))["tool"]["requirements"]
        asked = next(one for one in every if one["name"] == _NAME)
        what = next((asked[key] for key in ("editable", "directory", "path", "url") if key in asked), _NAME)
        return _Asked(str(what), tuple(map(str, asked.get("extras", ()))), "editable" in asked)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, StopIteration):
        return None


def _asked_of_pipx(metadata: Path) -> _Asked | None:
    """Return what pipx was asked for, or None if its file says nothing of it."""
    try:
        asked = json.loads(metadata.read_text("utf-8"))["main_package"]
        what, _, extras = str(asked["package_or_url"]).strip().removesuffix("]").partition("[")
        return _Asked(what, tuple(extras.replace(",", " ").split()), "--editable" in asked.get("pip_args", ()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _is_tagged(folder: Path) -> bool:
    try:
        with (folder / "CACHEDIR.TAG").open("rb") as file:
            return file.read(len(_TAG)) == _TAG
    except OSError:
        return False
