"""The events that real clients sent: folders `NAME-VERSION` in `tests/fixtures/hooks`, with how the client was answered.

Files that begin with an underscore are no events: what the client put into its request, and its environment.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = CHECKOUT / "tests" / "fixtures" / "hooks"


class Recorded(NamedTuple):
    """One recorded event.

    Attributes:
        client: Name of the client.
        path: The file.
    """

    client: str
    path: Path

    @property
    def name(self) -> str:
        """Folder and file, without its end."""
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def event(self) -> str:
        """The client's word for the event, as its hook would give it on the command line."""
        return json.loads(self.path.read_text("utf-8")).get("hook_event_name") or self.path.stem.removeprefix("event.")


def recorded(folder: str = "*") -> list[Recorded]:
    """Return the events of a folder, or of all, in order."""
    paths = sorted(FOLDER.glob(f"{folder}/[A-Za-z]*.json"))
    return [Recorded(client_of_folder(path.parent.name), path) for path in paths if path.stem != "statusLine"]


def client_of_folder(folder: str) -> str:
    """Return the client whose events a folder has."""
    return folder.split("-")[0]


def folders() -> dict[str, str]:
    """Return the first folder of each client that has events, by its name."""
    return {each.client: each.path.parent.name for each in reversed(recorded())}


def environments() -> dict[str, dict[str, str]]:
    """Return the environment of each folder that has one."""
    return {
        path.parent.name: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*/_environment.json"))
    }
