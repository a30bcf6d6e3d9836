"""A user's home and a project, for tests of the installer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid.base.clients import clients

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

MOVED = sorted({client.folder.variable for client in clients().values()} - {""} | {"APPDATA"})
"""Variables that move a client's folder."""


@dataclass(frozen=True)
class Desk:
    """A user's home, a project and the commands on them."""

    shop: Shop
    user: Path

    @property
    def root(self) -> Path:
        """Of the project."""
        return self.shop.root

    def hook(self, *args: str, **options: Any) -> str:
        """What `hybrid hook …` prints."""
        return self.shop.out("hook", *args, **self._environ(), **options)

    def json(self, *args: str) -> dict[str, Any]:
        """The same as JSON."""
        found: dict[str, Any] = json.loads(self.hook(*args, "--json"))
        return found

    def error(self, *args: str) -> str:
        """The one line of an error."""
        return self.shop.error("hook", *args, **self._environ())

    def _environ(self) -> dict[str, str]:
        return {"HOME": str(self.user), "PATH": "/usr/bin:/bin"} | dict.fromkeys(MOVED, "")

    def tree(self) -> dict[str, bytes]:
        """Every file of the user and of the project, and every folder."""
        found: dict[str, bytes] = {}
        for base in (self.user, self.root):
            for path in sorted(base.rglob("*")):
                found[str(path)] = path.read_bytes() if path.is_file() else b"folder"
        return found

    def installs(self) -> list[Path]:
        """What hybrid keeps about installs."""
        return sorted((self.shop.home / "installs").rglob("*"))
