"""Watches the last decisions, the service and the builds, for `hybrid top`.

A look reads what was added to the log; the service and the builds are asked less often.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from hybrid.feedback.events import health, is_decision, is_prompt, log_folder
from hybrid.feedback.tail import LogTail
from hybrid.index.holder import Holder, is_held, read_holder
from hybrid.ipc.control import daemon_status
from hybrid.project.registry import load_registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FIRST_BYTES = 2_000_000
"""Bytes of the log's end that the first look reads."""
_MOST_EVENTS = 1_000
_ASK_EVERY_S = 2.0
_ASK_S = 0.3
"""Seconds that the service has for its answer: whoever looks on waits for it."""


class Build(Struct, frozen=True):
    """A build of an index that runs: the project's name, and how far it is."""

    project: str
    key: str
    holder: Holder


class Live:
    """The decisions, the service and the builds of one `$HYBRID_HOME`, as they were at the last look.

    Args:
        home: `$HYBRID_HOME`.
        is_wanted: Chooses the events.
        key: Only builds of the project with this key; empty for all.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        home: Path,
        is_wanted: Callable[[dict[str, Any]], bool],
        *,
        key: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home = home
        self._is_wanted = is_wanted
        self._key = key
        self._clock = clock
        self._tail = LogTail(log_folder(home), max_bytes=_FIRST_BYTES)
        self._events: deque[dict[str, Any]] = deque(maxlen=_MOST_EVENTS)
        self._asked_s: float | None = None
        self.service: dict[str, Any] = {}
        """The `daemon` part of the status."""
        self.builds: list[Build] = []
        self.figures: dict[str, Any] = figures_of([])
        """As `figures_of` gives them."""

    def look(self) -> None:
        """Read what was added, and ask the service and the builds when it is time."""
        new = [event for event in self._tail.read() if self._is_wanted(event)]
        if new:
            self._events.extendleft(new)
            self.figures = figures_of(list(self._events))
        now_s = self._clock()
        if self._asked_s is None or now_s - self._asked_s >= _ASK_EVERY_S:
            self._asked_s = now_s
            self.service = daemon_status(str(self._home), timeout_s=_ASK_S)
            self.builds = self._builds()

    def newest(self, n: int) -> list[dict[str, Any]]:
        """Return the last events, newest first."""
        return [event for event, _ in zip(self._events, range(n))]  # noqa: B905 - the shorter ends it

    def as_json(self, n: int) -> dict[str, Any]:
        """Return everything as JSON, with the last events."""
        builds = [{"project": one.project, "key": one.key, **to_builtins(one.holder)} for one in self.builds]
        return {"service": self.service, "builds": builds, "figures": self.figures, "events": self.newest(n)}

    def _builds(self) -> list[Build]:
        found: list[Build] = []
        for note in sorted((self._home / "projects").glob(f"{self._key or '*'}/*.holder")):
            lock = note.with_suffix(".lock")
            holder = read_holder(lock) if is_held(lock) else None
            if holder is not None:
                key = note.parent.name
                entry = load_registry(self._home).get(key)
                found.append(Build(entry.name if entry else key, key, holder))
        return found


def figures_of(newest_first: list[dict[str, Any]]) -> dict[str, Any]:
    """Return figures of some events.

    Returns:
        `prompts`: how many of them were prompts; `injected`: how many prompts got something; `reasons`: why the others
        got nothing, most often first; `failures`: how many events failed; and `latency_ms`, `last_error` of `health`.
    """
    prompts = [event for event in newest_first if is_prompt(event)]
    silent = Counter(str(event.get("reason")) for event in prompts if not event.get("items"))
    told = health(newest_first)
    return {
        "events": sum(is_decision(event) for event in newest_first),
        "prompts": len(prompts),
        "injected": len(prompts) - silent.total(),
        "reasons": dict(sorted(silent.items(), key=lambda item: (-item[1], item[0]))),
        "failures": sum(bool(event.get("error")) for event in newest_first),
        "latency_ms": told["latency_ms"],
        "last_error": told["last_error"],
    }
