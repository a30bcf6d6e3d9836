"""Replays sessions through the engine, and judges what came beside their tools.

`hybrid eval at-file` calls it. Each session has a prompt, then uses of tools, answered in this process as a service
does it. What a replay cannot show: an agent that is told a record goes on otherwise than the recorded one did.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.answer.decide import Turn
from hybrid.answer.events import answer
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.upkeep.indexing import reindex
from hybrid.workspace import open_workspace
from hybrid_lab.at_file.events import RecordedSession, files_named, made_events, shell_events
from hybrid_lab.at_file.given import make_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.answer.decide import Decision
    from hybrid.workspace import Workspace
    from hybrid_lab.at_file.events import ToldEvent
    from hybrid_lab.at_file.given import FileRecord, MadeSession

_AT_MS = 1_768_560_000_000
"""When the sessions take place: the day after the records were written, so that no handoff is old."""
_SETTINGS = {"memory.enabled": False, "lore.data_dir": "", "hooks.tests_of_edited": False}
"""Records alone are judged."""
_Z = 1.96


class GivenAtFile(Struct, frozen=True):
    """A record that came beside a tool.

    Attributes:
        record: Its id.
        file: The file that it was said to be about.
        is_about: Whether its writer had that file in view, and the record names it.
        shown: What the agent did.
    """

    record: str
    file: str
    is_about: bool
    shown: str


class ReplayedSession(Struct):
    """What one session was given.

    Attributes:
        id: Of the session.
        project: Owner and name.
        is_made: Whether it is an invented one.
        opened: File that a record is about → the number of the event that opened it first.
        first: Of those, the files of the first such event, or of none.
        in_time: Files that had one of their records at their first event, or before.
        due: Records about the opened files.
        had: Those of them that came, sooner or later.
        with_prompt: Records that came with the prompt.
        given: What came beside tools.
        chars: Characters of that.
        missed: What the agent did when it opened a file that had none of its records.
    """

    id: str
    project: str
    is_made: bool
    opened: dict[str, int] = field(default_factory=dict[str, int])
    first: set[str] = field(default_factory=set[str])
    in_time: set[str] = field(default_factory=set[str])
    due: set[str] = field(default_factory=set[str])
    had: set[str] = field(default_factory=set[str])
    with_prompt: set[str] = field(default_factory=set[str])
    given: list[GivenAtFile] = field(default_factory=list[GivenAtFile])
    chars: int = 0
    missed: list[str] = field(default_factory=list[str])

    def as_json(self) -> dict[str, Any]:
        """Return the case, for whoever reads it."""
        return {
            "id": self.id,
            "opened": sorted(self.opened),
            "in_time": sorted(self.in_time),
            "due": sorted(self.due),
            "had": sorted(self.had),
            "with_prompt": sorted(self.with_prompt),
            "given": [{name: getattr(one, name) for name in one.__struct_fields__} for one in self.given],
            "chars": self.chars,
            "missed": self.missed,
        }


def replay_sessions(
    sessions: Iterable[RecordedSession | MadeSession],
    records: Iterable[FileRecord],
    definitions: Mapping[str, Mapping[str, Sequence[str]]],
    trees: Mapping[str, Path],
    home: Path,
    *,
    flags: Mapping[str, object],
    is_prompted: bool = True,
    report_project: Callable[[str], None] = lambda _: None,
) -> Iterator[ReplayedSession]:
    """Replay the sessions of the projects that have records, and yield what each was given.

    Args:
        sessions: Of any projects, which are taken one after the other.
        records: Of any projects.
        definitions: Project → file → names that it defines.
        trees: Project → a folder with its real files.
        home: Where trees, records and indexes are made.
        flags: Settings.
        is_prompted: Ask the prompt too, which may bring records before any file is opened.
        report_project: Hears the name of each project before it is made.

    Raises:
        HybridError: A model cannot be loaded, or a record cannot be written.
        OSError: A file cannot be read or written.
    """
    by_project: dict[str, list[RecordedSession | MadeSession]] = {}
    for session in sessions:
        by_project.setdefault(session.project, []).append(session)
    kinds = OpenKinds({})
    of_all = list(records)
    for project in sorted({one.project for one in of_all} & by_project.keys()):
        report_project(project)
        listed, own = by_project[project], [one for one in of_all if one.project == project]
        named = {path for one in listed if isinstance(one, RecordedSession) for path in files_named(one)}
        environ = {"HYBRID_HOME": str(home)}
        root = home / "trees" / project.replace("/", "+")
        make_tree(root, trees.get(project), definitions.get(project, {}), named, own, environ)
        workspace = open_workspace(root, environ=environ, flags={**_SETTINGS, **flags})
        reindex(workspace)
        for session in listed:
            yield _replayed(session, workspace, kinds, own, is_prompted=is_prompted)


def _replayed(
    session: RecordedSession | MadeSession,
    workspace: Workspace,
    kinds: OpenKinds,
    records: Sequence[FileRecord],
    *,
    is_prompted: bool,
) -> ReplayedSession:
    root = workspace.require_project().root
    about: dict[str, set[str]] = {}
    for one in records:
        for file in one.about if one.names_file else ():
            about.setdefault(file, set()).add(one.record.id)
    is_recorded = isinstance(session, RecordedSession)
    told = shell_events(session, root, about) if is_recorded else made_events(session, root, about)
    found, had = ReplayedSession(session.id, session.project, not is_recorded), set[str]()
    for number, one in enumerate(told):
        turn = Turn(workspace, one.event, kinds, {}, at_ms=_AT_MS)
        if not number:
            workspace.ledgers.reset(turn.key, "clear")  # A home that was kept has the session of the last run.
            if not is_prompted:
                continue
        reply = answer(turn)
        reply.finish(0.0)
        had |= {item.hit.path.rpartition("#")[2] for item in reply.decision.items}
        if not number:
            found.with_prompt = set(had)
        else:
            _note_given(found, one, reply.decision, records)
        for file in sorted(one.opens - found.opened.keys()):
            found.opened[file] = number
            if had & about[file]:
                found.in_time.add(file)
            else:
                found.missed.append(f"{file}: {one.shown}")
    found.first = {file for file, at in found.opened.items() if at == min(found.opened.values())}
    found.due = {record for file in found.opened for record in about[file]}
    found.had = found.due & had
    return found


def _note_given(found: ReplayedSession, told: ToldEvent, decision: Decision, records: Sequence[FileRecord]) -> None:
    if decision.reason != "at_file":
        return
    found.chars += len(decision.text)
    by_id = {one.record.id: one for one in records}
    for item in decision.items:
        file, name = item.why.removeprefix("about "), item.hit.path.rpartition("#")[2]
        record = by_id.get(name)
        is_about = record is not None and record.names_file and file in record.about
        found.given.append(GivenAtFile(name, file, is_about, told.shown))


# --- figures -----------------------------------------------------------------------------------------------


class Share(Struct, frozen=True):
    """A share of a number of cases, with the ends of its 95 % interval (Wilson)."""

    of: int
    share: float | None
    low: float | None = None
    high: float | None = None


def share_of(cases: Iterable[bool]) -> Share:
    """The share of cases that are true; none of no cases."""
    listed = list(cases)
    n = len(listed)
    if not n:
        return Share(0, None)
    share, square = sum(listed) / n, _Z * _Z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = _Z * sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return Share(n, share, max(0.0, middle - half), min(1.0, middle + half))


def figures_of(sessions: Sequence[ReplayedSession]) -> dict[str, Any]:
    """Return the shares, and the characters per session, of some replayed sessions."""
    concerned = [one for one in sessions if one.opened]
    others = [one for one in sessions if not one.opened]
    return {
        "sessions": len(sessions),
        "first_in_time": share_of(bool(one.first & one.in_time) for one in concerned),
        "files_in_time": share_of(file in one.in_time for one in concerned for file in one.opened),
        "records_had": share_of(record in one.had for one in concerned for record in one.due),
        "not_about": share_of(not given.is_about for one in sessions for given in one.given),
        "silent_others": share_of(not one.given for one in others),
        "chars_of_session": round(sum(one.chars for one in sessions) / max(len(sessions), 1), 1),
        "chars_of_concerned": round(sum(one.chars for one in concerned) / max(len(concerned), 1), 1),
    }
