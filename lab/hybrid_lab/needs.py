"""Replays sessions of agents over the trees of their projects, and counts what they get while they search in vain.

`hybrid eval need` calls it. A session is recorded, or made: its prompt, its uses of tools, and the files that it was
after. What a replay cannot show: an agent that is given a place goes on otherwise than the recorded one did.
"""

from __future__ import annotations

import json
import shutil
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins

from hybrid.answer.events import answer
from hybrid.answer.turn import Turn
from hybrid.evaluation.qrels import QrelsError
from hybrid.evaluation.trees import settings_by_key
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.upkeep.indexing import reindex
from hybrid.workspace import open_workspace
from hybrid_lab.memory.replay import Recording, make_repository, read_recordings
from hybrid_lab.sessions import opened_files, session_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.answer.events import Reply

_MANY_MS = 60_000
"""Deadline of a replayed event: the machine that measures may be busy."""
_RECORDED = "recorded"


class Session(Struct, frozen=True):
    """A session to replay.

    Attributes:
        name: File or line it comes from.
        project: Name of the folder of its tree.
        kind: `recorded`, or what a made session is an example of.
        events: Inputs of hooks; `$PROJECT` in them stands for the root of the tree.
        gold: Files that a made session is after; None for a recorded one, where those count that it opens later.
    """

    name: str
    project: str
    kind: str
    events: tuple[str, ...]
    gold: tuple[str, ...] | None = None


class Help(Struct, frozen=True):
    """One time that a session was helped.

    Attributes:
        cause: `search` or `failure`.
        paths: Files that were named.
        right: Those of them that are gold, or opened later for the first time.
        known: Those that the session had opened before.
        calls: Uses of tools since the first trouble of this need, this one included.
        ahead: Uses of tools until the first of `right` is opened; None for a made session, or without any.
        chars: Characters of the text.
    """

    cause: str
    paths: tuple[str, ...]
    right: tuple[str, ...]
    known: tuple[str, ...]
    calls: int
    ahead: int | None = None
    chars: int = 0


class Told(Struct):
    """What one session was given.

    Attributes:
        session: The session.
        n_uses: Uses of tools.
        n_vain: Searches without a result.
        n_failed: Commands that failed.
        helps: The times that it was helped.
        reasons: Reason → times that a need brought nothing.
    """

    session: Session
    n_uses: int = 0
    n_vain: int = 0
    n_failed: int = 0
    helps: list[Help] = field(default_factory=list[Help])
    reasons: dict[str, int] = field(default_factory=dict[str, int])

    def as_json(self) -> dict[str, Any]:
        """Return the figures of the session."""
        form = to_builtins(self)
        return {**form, "session": {name: getattr(self.session, name) for name in ("name", "project", "kind")}}


class Count(Struct, frozen=True):
    """The figures of the sessions of one kind, for one cause of a need.

    Attributes:
        kind: Kind of the sessions.
        cause: `search` or `failure`.
        sessions: Number of sessions.
        n_vain: Searches without a result.
        n_failed: Commands that failed.
        spoke: Times that a session was helped.
        right: Those that named a right file.
        late: Median of `Help.calls`; None without any.
        ahead: Median of `Help.ahead` of the right ones; None without any.
        items: Mean number of files.
        chars: Median number of characters.
    """

    kind: str
    cause: str
    sessions: int
    n_vain: int
    n_failed: int
    spoke: int
    right: int
    late: float | None = None
    ahead: float | None = None
    items: float | None = None
    chars: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        return to_builtins(self)


def count(told: Sequence[Told]) -> list[Count]:
    """Return the figures by kind of session and cause, in the order of the sessions."""
    counts: list[Count] = []
    for kind in dict.fromkeys(one.session.kind for one in told):
        of_kind = [one for one in told if one.session.kind == kind]
        for cause in ("search", "failure"):
            helps = [one for session in of_kind for one in session.helps if one.cause == cause]
            right = [one for one in helps if one.right]
            ahead = [one.ahead for one in right if one.ahead is not None]
            counts.append(
                Count(
                    kind,
                    cause,
                    len(of_kind),
                    sum(one.n_vain for one in of_kind),
                    sum(one.n_failed for one in of_kind),
                    len(helps),
                    len(right),
                    _median([one.calls for one in helps]),
                    _median(ahead),
                    round(sum(len(one.paths) for one in helps) / len(helps), 1) if helps else None,
                    _median([one.chars for one in helps]),
                )
            )
    return counts


def _median(values: Sequence[int]) -> float | None:
    return float(median(values)) if values else None


def evaluate_needs(
    sessions: Sequence[Session], repos: Path, home: Path, settings: Sequence[str], report: Callable[[str], None]
) -> Iterator[Told]:
    """Replay sessions, and yield what each was given; a session whose tree is not there is left out.

    Args:
        sessions: To replay.
        repos: Holds a folder for each project.
        home: For copies of the trees and their indexes; what earlier replays left of sessions is forgotten.
        settings: `section.key=value`, on top of the defaults and of `hooks.on_need`, which is on.
        report: Hears the name of each session before it is replayed.

    Raises:
        ConfigError: There is no such setting, or a value is none of it.
    """
    yield from Replayer(repos, home, settings_by_key(["hooks.on_need=true", *settings])).replay_all(sessions, report)


def read_sessions(path: Path) -> list[Session]:
    """Return the sessions of a folder of recordings (`PROJECT-….jsonl`), or of a file of made ones.

    Raises:
        QrelsError: It holds none, or one cannot be read.
    """
    if path.is_dir():
        found = read_recordings(path)
        return [Session(one.file, one.project, _RECORDED, tuple(line for _, line in one.events)) for one in found]
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [_made(f"{path.name}:{number}", line) for number, line in enumerate(lines, 1)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QrelsError(f"{path}: a made session cannot be read: {type(error).__name__}: {error}") from error


def _made(name: str, line: Mapping[str, Any]) -> Session:
    about = {"session_id": name, "cwd": "$PROJECT"}
    events = [{**about, "hook_event_name": "UserPromptSubmit", "prompt": line["prompt"]}]
    for use in line["uses"]:
        events.append({**about, **_use(use)})
    return Session(name, line["project"], line["kind"], tuple(map(json.dumps, events)), tuple(line["gold"]))


def _use(use: Mapping[str, str]) -> dict[str, Any]:
    """Return the event of a made use: `grep` in vain, or `run`, a command, with the `output` of its failure."""
    if "grep" in use:
        given = {"pattern": use["grep"], "output_mode": "files_with_matches"}
        answer = {"mode": "files_with_matches", "filenames": list[str](), "numFiles": 0}
        return {"hook_event_name": "PostToolUse", "tool_name": "Grep", "tool_input": given, "tool_response": answer}
    given = {"command": use["run"]}
    if use.get("output"):
        error = f"Exit code 1\n{use['output']}"
        return {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": given, "error": error}
    answer = {"stdout": "", "stderr": "", "interrupted": False}
    return {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": given, "tool_response": answer}


class Replayer:
    """Replays sessions over copies of their trees, which are indexed once.

    Args:
        repos: Holds a folder for each project.
        home: For the copies and their indexes.
        flags: Settings on top of the defaults, by key.
    """

    def __init__(self, repos: Path, home: Path, flags: Mapping[str, object]) -> None:
        self._repos = repos
        self._home = home
        self._flags = {"hooks.deadline_ms": _MANY_MS, **flags}
        self._roots: dict[str, Path | None] = {}
        for name in ("sessions", "memory"):
            shutil.rmtree(home / "hybrid" / name, ignore_errors=True)

    def replay_all(self, sessions: Iterable[Session], report: Callable[[str], None]) -> Iterator[Told]:
        """Yield what each session was given; a session whose tree is not there is left out."""
        for session in sessions:
            report(session.name)
            root = self._root(session.project)
            if root is not None:
                yield self._replay(session, root)

    def _environ(self) -> dict[str, str]:
        return {"HYBRID_HOME": str(self._home / "hybrid")}

    def _root(self, project: str) -> Path | None:
        if project not in self._roots:
            self._roots[project] = self._copied(project)
        return self._roots[project]

    def _copied(self, project: str) -> Path | None:
        """Return the indexed copy of a tree, without its own `.git`; None when there is no such tree."""
        source, root = self._repos / project, self._home / "trees" / project
        if not source.is_dir():
            return None
        if not root.is_dir():
            shutil.copytree(source, root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            make_repository(root, self._environ())
        reindex(open_workspace(root, environ=self._environ()))
        return root

    def _replay(self, session: Session, root: Path) -> Told:
        kinds, told = OpenKinds(self._environ()), Told(session)
        recording = Recording(session.name, session.project, session.events)
        events = [one.event for one in session_events(recording, root) if one.event is not None]
        opened = [opened_files(event, root) for event in events]
        places = [number for number, event in enumerate(events) if event.event == "PostToolUse"]
        first: int | None = None
        for number, event in enumerate(events):
            reply = answer(Turn(self._workspace(root), event, kinds, self._environ()))
            reply.finish(10.0)
            trouble = reply.turn.trouble
            told.n_uses += event.event == "PostToolUse"
            if trouble is None:
                continue
            told.n_vain += trouble.cause == "search"
            told.n_failed += trouble.cause == "failure"
            first = number if first is None else first
            since = first if trouble.cause == "search" else number
            if reply.decision.need and reply.text:
                calls = sum(since <= place <= number for place in places)
                told.helps.append(_judged(reply, session, opened, number, calls))
                first = None
            elif reply.decision.need:
                told.reasons[reply.decision.reason] = told.reasons.get(reply.decision.reason, 0) + 1
        return told

    def _workspace(self, root: Path) -> Any:
        return open_workspace(root, environ=self._environ(), flags=self._flags)


def _judged(reply: Reply, session: Session, opened: Sequence[set[str]], number: int, calls: int) -> Help:
    paths = tuple(dict.fromkeys(item.hit.path for item in reply.decision.items))
    known = set[str]().union(*opened[: number + 1])
    later = set(session.gold) if session.gold is not None else set[str]().union(*opened[number + 1 :]) - known
    right = tuple(path for path in paths if path in later)
    ahead = next((at for at, files in enumerate(opened[number + 1 :], 1) if files & set(right)), None)
    known_paths = tuple(path for path in paths if path in known)
    return Help(reply.decision.need, paths, right, known_paths, calls, ahead, len(reply.text))
