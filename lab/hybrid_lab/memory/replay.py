"""Replays recorded sessions of an agent into a memory of its own, and remembers which row came of which event.

`memory` asks it afterwards. A recording is a file `PROJECT-….jsonl` with one hook event a line, as a client sends it;
`$PROJECT` and `$HOME` in it stand for paths. The clock is made: seconds between events, hours between sessions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.evaluation.measures import QrelsError
from hybrid.hooks.event import EventError, parse_event
from hybrid.knowledge.memory_intake import flush, is_of_private_turn, remember
from hybrid.knowledge.stores import RecordStores
from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import MEMORY_KINDS, SessionSummary, name_of, short_key
from hybrid.records.memory.writing import NO_USE
from hybrid.types import HookEvent
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.records.memory.types import Make, Owner, PendingEvent, Row, Summarised
    from hybrid.workspace import Workspace

EVENT_MS = 5_000
"""From one event of a session to the next: more than the batch window, as between most uses of a real agent."""
SESSION_MS = 3_600_000
"""From the end of a session to the beginning of the next one, and from the last one to the questions."""

_HOME = "/home/replayed"
"""Stands for `$HOME`, whose paths stay in some texts: a folder of this run would make every run another one."""

_TOLD = ("tool_name", "tool_input", "tool_response", "error", "prompt", "last_assistant_message")
"""Fields of an event that say something; the others are the same in every event of a session."""


class Recording(Struct, frozen=True):
    """A recorded session.

    Attributes:
        file: Name of its file.
        project: Of the session.
        lines: Its events, as they stand in the file; blank ones keep their places.
    """

    file: str
    project: str
    lines: tuple[str, ...]

    @property
    def events(self) -> Iterator[tuple[str, str]]:
        """`FILE:LINE` (from 0) and text of each event."""
        return ((f"{self.file}:{number}", line) for number, line in enumerate(self.lines) if line.strip())


class Replayed(Struct, frozen=True):
    """A memory made of recordings.

    Attributes:
        workspaces: Project → workspace of its made repository.
        rows: `FILE:LINE` → names of the rows that tell of the event; empty when none does.
        texts: `FILE:LINE` → what the event says, as recorded; empty for those that say nothing.
        ended_ms: When it is asked, milliseconds since 1970.
        problems: What went wrong, a sentence each.
    """

    workspaces: Mapping[str, Workspace]
    rows: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str]
    ended_ms: int
    problems: tuple[str, ...] = ()


def read_recordings(folder: Path, only: Iterable[str] = ()) -> list[Recording]:
    """The recordings of a folder, by name.

    Args:
        folder: Holds `PROJECT-….jsonl` files.
        only: Names of projects; empty for all. Files of other projects are not opened.

    Raises:
        QrelsError: There is none, or one cannot be read.
    """
    wanted = set(only)
    found = [path for path in sorted(folder.glob("*-*.jsonl")) if not wanted or path.name.partition("-")[0] in wanted]
    if not found:
        which = f" of {', '.join(sorted(wanted))}" if wanted else ""
        raise QrelsError(f"{folder} holds no recorded session{which}; they are called PROJECT-….jsonl")
    try:
        texts = [path.read_text(encoding="utf-8") for path in found]
    except (OSError, UnicodeDecodeError) as error:
        raise QrelsError(f"{folder}: a recorded session cannot be read: {error}") from error
    return [
        Recording(path.name, path.name.partition("-")[0], tuple(text.split("\n")))
        for path, text in zip(found, texts, strict=True)
    ]


def replay(
    recordings: Sequence[Recording],
    scratch: Path,
    environ: Mapping[str, str],
    *,
    now_ms: int,
    report_file: Callable[[str], None] = lambda _: None,
) -> Replayed:
    """Send every event to the memory, project after project, in the order of the files.

    Args:
        recordings: Of any projects.
        scratch: For the made repositories.
        environ: Names the `HYBRID_HOME` that gets the memory, and the settings.
        now_ms: When the questions are asked; the last session ends an hour before.
        report_file: Hears the name of each file before it is replayed.

    Raises:
        QrelsError: A line is no event of a hook.
    """
    projects = sorted({one.project for one in recordings})
    workspaces = {name: make_repository(scratch / "projects" / name, environ) for name in projects}
    ordered = [one for name in projects for one in recordings if one.project == name]
    lengths = [len(one.lines) * EVENT_MS + SESSION_MS for one in ordered]
    started_ms = now_ms - sum(lengths)
    player = _Player(environ)
    for one, length_ms in zip(ordered, lengths, strict=True):
        report_file(one.file)
        player.play(one, workspaces[one.project], started_ms)
        started_ms += length_ms
    texts = {ref: text for one in ordered for ref, line in one.events if (text := told_text(json.loads(line)))}
    return Replayed(workspaces, player.rows(), texts, now_ms, tuple(player.problems))


def make_repository(root: Path, environ: Mapping[str, str]) -> Workspace:
    """An empty git repository with an origin, from which its project has name and key.

    Raises:
        OSError: A folder cannot be written.
    """
    git = root / ".git"
    for folder in (git / "objects", git / "refs"):
        folder.mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
    origin = f'[remote "origin"]\n\turl = https://git.example.com/replayed/{root.name}.git\n'
    (git / "config").write_text(config + origin, encoding="utf-8")
    return open_workspace(root, environ=environ)


def told_text(event: Mapping[str, Any]) -> str:
    """Return the texts and numbers in an event's tool, input, output, error, prompt and message, a line each."""
    return "\n".join(leaf for name in _TOLD for leaf in _leaves(event.get(name)))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for entry in cast("dict[str, object]", value).values():
            yield from _leaves(entry)
    elif isinstance(value, list):
        for entry in cast("list[object]", value):
            yield from _leaves(entry)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool) and (text := str(value).strip()):
        yield text


class _Watched(MemoryStore):
    """A store that notes under which digest a use was taken in; extraction, batching and duplicates stay its own."""

    digest = ""

    def add_event(self, owner: Owner, event: PendingEvent, *, window_ms: int, make: Make) -> bool:
        self.digest = event.digest
        return super().add_event(owner, event, window_ms=window_ms, make=make)

    prompt: int | None = None

    def add_prompt(self, owner: Owner, text: str, now_ms: int, *, key: str = "") -> int:
        self.prompt = super().add_prompt(owner, text, now_ms, key=key)
        return self.prompt

    def add_summary(self, owner: Owner, told: Summarised, now_ms: int) -> SessionSummary | None:
        added = super().add_summary(owner, told, now_ms)
        self.prompt = max(added.prompt_numbers) if added else None
        return added


class _Player:
    """Feeds the memory, and keeps of each event what its rows are found by afterwards."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._store: _Watched | None = None
        self._digests: dict[str, str] = {}
        self._turns: dict[str, tuple[str, int]] = {}
        self._refs: list[str] = []
        self.problems: list[str] = []

    def play(self, recording: Recording, workspace: Workspace, started_ms: int) -> None:
        if self._store is None:
            self._store = _Watched(RecordStores(self._environ).memory(workspace).path)
        now_ms, sessions = started_ms, dict[str, None]()
        for ref, line in recording.events:
            event = self._event(ref, line, workspace)
            now_ms = started_ms + int(ref.rpartition(":")[2]) * EVENT_MS
            self._refs.append(ref)
            if event is not None:
                sessions[event.session_id] = None
                self._send(ref, workspace, event, self._store, now_ms)
        for session in filter(None, sessions):
            problems = flush(workspace, self._store, now_ms, session_id=session)
            self.problems += [f"{recording.file}: {problem}" for problem in problems]

    def _send(self, ref: str, workspace: Workspace, event: HookEvent, store: _Watched, now_ms: int) -> None:
        store.digest, store.prompt = "", None
        is_private = is_of_private_turn(workspace, event, store, now_ms)
        problems = remember(workspace, event, store, now_ms, is_private=is_private)
        self.problems += [f"{ref}: {problem}" for problem in problems]
        if event.event == "PostToolUse" and store.digest:
            self._digests[ref] = store.digest
        elif store.prompt is not None:
            self._turns[ref] = (event.session_id, store.prompt)

    def _event(self, ref: str, line: str, workspace: Workspace) -> HookEvent | None:
        """The event with the paths of here; None for one that hybrid does not answer.

        Raises:
            QrelsError: It is not JSON.
        """
        root = str(workspace.require_project().root)
        for name, path in (("$PROJECT", root), ("$HOME", _HOME)):
            line = line.replace(name, json.dumps(path)[1:-1])
        try:
            json.loads(line)
            return parse_event(line.encode("utf-8"), client="claude", event="", cwd=root)
        except EventError:
            return None
        except ValueError as error:
            raise QrelsError(f"{ref}: {error}") from error

    def rows(self) -> dict[str, tuple[str, ...]]:
        """Return the names of each event's rows: a use has its observation, a prompt or a turn's end the summary."""
        if self._store is None:
            return {}
        observed = self._store.database.read(observation_of_events, {})
        found: dict[str, tuple[str, ...]] = {}
        for ref in self._refs:
            number = observed.get(short_key(self._digests[ref])) if ref in self._digests else None
            found[ref] = (f"o{number}",) if number else ()
            if ref in self._turns:
                session, prompt = self._turns[ref]
                rows = [row for row in self._store.session_rows(session) if isinstance(row, SessionSummary)]
                found[ref] = tuple(name_of(row) for row in rows if prompt in row.prompt_numbers)
        self._store.close()
        return found


def observation_of_events(db: sqlite3.Connection) -> dict[bytes, int | None]:
    """Short key of every use that was turned into something → id of its observation; None or 0 for none."""
    found = db.execute("SELECT event, observation_id FROM seen_events WHERE observation_id IS NOT ?", (NO_USE,))
    return dict(found.fetchall())


def rows_by_name(store: MemoryStore) -> dict[str, Row]:
    """Every row under its name."""
    return {name_of(row): row for kind in MEMORY_KINDS for row in store.all_rows(kind)}
