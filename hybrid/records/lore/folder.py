"""Where lore lies: the layout of a data folder, and which folders count for a project; nothing is read here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

Origin = Literal["personal", "project"]


class LoreFolder(Struct, frozen=True):
    """A data folder; it need not exist, and neither need any of its files.

    Attributes:
        path: The folder.
        origin: `personal` for the user's own, `project` for the one that is committed with a project.
    """

    path: Path
    origin: Origin

    @property
    def patterns(self) -> Path:
        """Patterns and anti-patterns."""
        return self.path / "patterns" / "data" / "patterns.yaml"

    @property
    def decisions(self) -> Path:
        """Decisions, one a line."""
        return self.path / "journal" / "data" / "decisions.jsonl"

    @property
    def sessions(self) -> Path:
        """Folder of the sessions with their handoffs."""
        return self.path / "transfer" / "data" / "sessions"


def lore_folders(home: Path, environ: Mapping[str, str], configured: str, root: Path | None) -> tuple[LoreFolder, ...]:
    """The folders whose lore counts for a project, the project's own first.

    Args:
        home: `$HYBRID_HOME`.
        environ: `LORE_DATA_DIR` names the personal folder where no setting does; `~` is `HOME`.
        configured: `[lore] data_dir`; empty when it is not set.
        root: Top of the working tree; None outside of any project.

    Returns:
        The project's `.hybrid/lore` when it is there, then the personal folder. When both are one, it stands once.
    """
    personal = LoreFolder(personal_folder(home, environ, configured), "personal")
    own = project_folder(root) if root else None
    if own is None or _is_same(own, personal.path):
        return (personal,)
    return (LoreFolder(own, "project"), personal)


def personal_folder(home: Path, environ: Mapping[str, str], configured: str) -> Path:
    """The user's folder: `[lore] data_dir`, else `$LORE_DATA_DIR`, else `$HYBRID_HOME/lore`; relative to `home`."""
    named = configured.strip() or environ.get("LORE_DATA_DIR", "").strip()
    if not named:
        return home / "lore"
    if named == "~" or named.startswith(("~/", "~\\")):
        user_home = environ.get("HOME") or environ.get("USERPROFILE")
        return (Path(user_home) if user_home else Path.home()) / named[2:]
    return home / named


def project_folder(root: Path) -> Path | None:
    """`.hybrid/lore` of a working tree; None when it is missing, or a link that may lead out of the tree."""
    folder = root / ".hybrid" / "lore"
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        return None
    return folder


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
