"""Named groups of projects, which `hybrid search --group` searches together; `hybrid projects group` changes them.

`$HYBRID_HOME/projects/groups.json` holds name → keys. A key that no project has any more is passed over.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import MsgspecError
from msgspec.json import decode

from hybrid.base.atomic import locked, make_private_folder, set_aside, write_atomic
from hybrid.base.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_WAIT_S = 2.0


def load_groups(home: Path) -> dict[str, tuple[str, ...]]:
    """Return name → keys of the projects of each group, in order of name; empty when the file cannot be read."""
    try:
        found = decode(_file(home).read_bytes(), type=dict[str, tuple[str, ...]])
    except (OSError, MsgspecError, RecursionError):
        return {}
    return dict(sorted(found.items()))


def put_group(home: Path, name: str, keys: Sequence[str]) -> None:
    """Store a group in place of one of this name; without keys it is deleted.

    A damaged file is set aside.

    Raises:
        BusyError: Another process writes the groups.
        OSError: They cannot be written.
    """
    make_private_folder(_file(home).parent)
    with locked(_file(home).with_suffix(".lock"), _WAIT_S) as held:
        if not held:
            raise BusyError("another process changes the groups; try again")
        groups = load_groups(home)
        if not groups and _file(home).exists() and _file(home).read_bytes().strip() not in (b"{}", b""):
            set_aside(_file(home))
        groups.pop(name, None)
        if keys:
            groups[name] = tuple(dict.fromkeys(keys))
        write_atomic(_file(home), json.dumps(dict(sorted(groups.items())), indent=1).encode())


def _file(home: Path) -> Path:
    return home / "projects" / "groups.json"
