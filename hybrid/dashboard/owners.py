"""Tells of which project an event of the log is, where events of several are shown together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.feedback.log_index import LogFilter, lies_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hybrid.dashboard.desk import KnownProject

    Event = Mapping[str, Any]


class Owners:
    """The projects that the page knows, by key and by directory.

    Args:
        projects: These projects.
    """

    def __init__(self, projects: Iterable[KnownProject]) -> None:
        self._by_key = {one.key: one for one in projects}
        rooted = [one for one in self._by_key.values() if one.root]
        # A project may lie in another one: the inner one counts.
        self._by_root = sorted(rooted, key=lambda one: -len(one.root))

    def of(self, event: Event) -> KnownProject | None:
        """Return the project that an event names, or in which its directory lies; None if the page knows none."""
        key, directory = event.get("project"), event.get("cwd")
        if key is not None:
            return self._by_key.get(str(key))
        if not isinstance(directory, str) or not directory:
            return None
        return next((one for one in self._by_root if lies_in(directory, one.root)), None)

    def name(self, event: Event) -> str:
        """Return the name of that project; of one that is not known any more its folder's name, else its key."""
        owner = self.of(event)
        if owner is not None:
            return owner.name or owner.key
        key, root = event.get("project"), event.get("root")
        if not key:
            return "no project"
        folder = root.replace("\\", "/").rstrip("/").rpartition("/")[2] if isinstance(root, str) else ""
        return folder or str(key)

    def base(self, event: Event) -> str:
        """Return the beginning of the addresses of that project; empty if the page knows none."""
        owner = self.of(event)
        return f"/p/{owner.key}" if owner else ""

    def lines(self, event: Event, *, session: str) -> LogFilter:
        """Return a filter for the lines of a session in the project of an event, known or not."""
        owner = self.of(event)
        if owner is not None:
            return LogFilter(key=owner.key, root=owner.root, session=session)
        return LogFilter(key=str(event.get("project") or ""), session=session)
