"""Says where hybrid keeps what belongs to the user, and whether it is switched off; every process asks here first.

Standard library only and cheap to import.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping


def home_path(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Absolute path of the folder for indexes, records and logs of all projects; it need not exist.

    Args:
        environ: `HYBRID_HOME` decides when it is set and not empty; `~` is the home folder.
        platform: As `sys.platform`; decides where user data lies otherwise.
    """
    chosen = environ.get("HYBRID_HOME", "").strip()
    if chosen:
        return os.path.abspath(_expanded(chosen, environ, platform))  # noqa: PTH100 - pathlib costs a hook 6 ms
    user = _user_home(environ, platform)
    if platform == "win32":
        return _join(environ.get("LOCALAPPDATA", "") or _join(user, "AppData", "Local"), "hybrid")
    if platform == "darwin":
        return _join(user, "Library", "Application Support", "hybrid")
    data = environ.get("XDG_DATA_HOME", "")
    # The XDG specification has relative paths ignored.
    return _join(data if data.startswith("/") else _join(user, ".local", "share"), "hybrid")


def is_switched_off(environ: Mapping[str, str]) -> bool:
    """Return whether `HYBRID_DISABLE` switches hybrid off: every value but an empty one and `0` does."""
    return environ.get("HYBRID_DISABLE", "") not in ("", "0")


def expanded(path: str) -> str:
    """The path with the home folder in place of `~`; `~NAME` of an unknown user stays as it is."""
    return os.path.expanduser(path)  # noqa: PTH111 - `Path.expanduser` raises what is no OSError


def _join(*parts: str) -> str:
    return os.path.join(*parts)  # noqa: PTH118 - see above


def _expanded(path: str, environ: Mapping[str, str], platform: str) -> str:
    if path == "~" or path.startswith(("~/", "~\\")):
        return _join(_user_home(environ, platform), path[2:])
    return path


def _user_home(environ: Mapping[str, str], platform: str) -> str:
    return environ.get("USERPROFILE" if platform == "win32" else "HOME", "") or os.path.expanduser("~")  # noqa: PTH111
