"""Finds what ships beside the code: `config.toml`, `index/`, `hooks/` and `models/`; everyone asks here for a path.

In the wheel they lie under `hybrid/shipped/`; in a checkout they are the sibling folders of the package.
"""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def shipped(*parts: str) -> Path:
    """The path of a shipped file or folder, for example ``shipped("models", "static-v1")``."""
    inside = _PACKAGE / "shipped"
    root = inside if inside.is_dir() else _PACKAGE.parent
    return root.joinpath(*parts)
