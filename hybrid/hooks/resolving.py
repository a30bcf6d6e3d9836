"""Resolves the settings that a hook needs, where no command and no service did; `run` imports it only then.

Together with `direct` it is all of the hook path that is more than the standard library: it reads TOML.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.ipc.settings import read_settings
from hybrid.workspace import keep_hook_settings

if TYPE_CHECKING:
    from hybrid.ipc.settings import HookSettings


def resolved(home: str) -> HookSettings | None:
    """Resolve the settings, keep them for the next hook, and return them; None where they cannot be kept."""
    keep_hook_settings(Path(home))
    return read_settings(home, os.environ)
