"""The few settings that a hook needs before it asks the service, resolved and kept in `run/hook`.

A hook reads no TOML. Every command and the service write the file again when it is not that of the user's settings.
Standard library only and cheap to import.
"""

from __future__ import annotations

import os

from hybrid import __version__
from hybrid.ipc.wire import pairs, read_pairs, run_folder

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_EXCLUDED_CHARS = 6_000
_EVERYTHING = "*"


class HookSettings:
    """The settings that a hook must know by itself.

    Attributes:
        deadline_ms: Milliseconds after which a hook gives up.
        is_daemon_enabled: Whether there may be a service.
        is_remembering: Whether the memory keeps anything.
        is_learning: Whether lessons are written down.
        excluded: Patterns of projects that the memory leaves out, with the home folder in place of `~`.
    """

    def __init__(
        self,
        deadline_ms: int,
        is_daemon_enabled: bool,
        *,
        is_remembering: bool = True,
        is_learning: bool = True,
        excluded: Sequence[str] = (),
    ) -> None:
        self.deadline_ms = deadline_ms
        self.is_daemon_enabled = is_daemon_enabled
        self.is_remembering = is_remembering
        self.is_learning = is_learning
        self.excluded = tuple(excluded)


def read_settings(home: str, environ: Mapping[str, str]) -> HookSettings | None:
    """Return the settings, or None when nobody resolved them since they changed.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment; its `HYBRID_HOOKS_DEADLINE_MS` and `HYBRID_DAEMON_ENABLED` count more than the file.
    """
    values = read_pairs(_path(home))
    deadline = values.get("deadline_ms", "")
    # A file of an earlier form does not say what may be kept.
    if values.get("stamp") != _stamp(home) or not deadline.isdigit() or "is_remembering" not in values:
        return None
    override = environ.get("HYBRID_HOOKS_DEADLINE_MS", "")
    enabled = environ.get("HYBRID_DAEMON_ENABLED", "").lower()
    return HookSettings(
        int(override if override.isascii() and override.isdigit() else deadline),
        (enabled if enabled in ("true", "false") else values.get("is_daemon_enabled")) == "true",
        is_remembering=values.get("is_remembering") == "true",
        is_learning=values.get("is_learning") == "true",
        excluded=[pattern for pattern in values.get("excluded", _EVERYTHING).split("\0") if pattern],
    )


def write_settings(home: str, settings: HookSettings) -> None:
    """Write the settings that were resolved from the user's layer, without the environment, to the file for hooks.

    Raises:
        OSError: The folder is read-only or the disk is full.
    """
    from pathlib import Path

    from hybrid.base.atomic import write_atomic

    excluded = "\0".join(settings.excluded)
    values = {
        "deadline_ms": str(settings.deadline_ms),
        "is_daemon_enabled": str(settings.is_daemon_enabled).lower(),
        "is_remembering": str(settings.is_remembering).lower(),
        "is_learning": str(settings.is_learning).lower(),
        # The file stays small; what does not fit into it is left out with everything else.
        "excluded": excluded if len(excluded) <= _MOST_EXCLUDED_CHARS and "\n" not in excluded else _EVERYTHING,
        "stamp": _stamp(home),
    }
    write_atomic(Path(_path(home)), pairs(values), durable=False)


def _path(home: str) -> str:
    return os.path.join(run_folder(home), "hook")  # noqa: PTH118 - pathlib costs a hook 6 ms


def _stamp(home: str) -> str:
    """Return a text that changes with what the settings come from: this version, time and size of the user's file."""
    try:
        status = os.stat(os.path.join(home, "config.toml"))  # noqa: PTH116, PTH118
    except OSError:
        return f"{__version__} 0 0"
    return f"{__version__} {status.st_mtime_ns} {status.st_size}"
