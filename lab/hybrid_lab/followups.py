"""What a prompt that follows another one gets, when it depends on the one before and when it begins something new.

`hybrid eval followups` calls it. A pair is a first prompt, the files that the agent then reads, and the follow-up with
its files; a cut is a place in a recorded session with the prompt that may come there. Each is asked through the whole
decision of the hook, and so is what comes before it. What the search finds is measured apart from what is given: a
follow-up says little, and many stay silent.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import asdict

from hybrid.answer.decide import Turn, decide
from hybrid.answer.events import answer
from hybrid.capture.cleaning import cleaned_call
from hybrid.evaluation.measures import read_lines, unique
from hybrid.evaluation.results import Configuration
from hybrid.evaluation.retrieval import WHOLE, JudgedTree, TreeOpener, repositories
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.prompting.clean import prompt_event
from hybrid.types import HookEvent, ToolCall
from hybrid_lab.memory.replay import make_repository
from hybrid_lab.records.setup import GivenFiles
from hybrid_lab.sessions import seen_tree, session_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.answer.decide import Decision
    from hybrid.evaluation.retrieval import Load, Opened
    from hybrid_lab.memory.replay import Recording
    from hybrid_lab.sessions import SessionEvent

IN_FORCE = Configuration("in force")
FILES_ALONE = ("lessons.enabled=false", "lore.enabled=false", "memory.enabled=false")
"""Settings of the measure: files are judged, and nothing else is given."""

_NEAR = 5
"""Files from the first among which a judged one counts as found near the top."""


class Pair(Struct, frozen=True):
    """A prompt and the one that follows it.

    Attributes:
        id: Unique in its file.
        repo: Name of the repository.
        first: The first prompt.
        read: Paths that the agent reads in full for it.
        prompt: The follow-up.
        files: Paths of which one should be in what the follow-up gets.
        depends: False when the follow-up says by itself what is asked, about something else.
    """

    id: str
    repo: str
    first: str
    read: tuple[str, ...]
    prompt: str
    files: tuple[str, ...]
    depends: bool


class Cut(Struct, frozen=True):
    """A place in a recorded session, and the prompt that may come there.

    Attributes:
        id: Unique in its file.
        session: Name of the recording, without `.jsonl`.
        after_event: Number of the last event before the prompt, from 0.
        prompt: The prompt.
        files: As of a pair.
        depends: As of a pair.
    """

    id: str
    session: str
    after_event: int
    prompt: str
    files: tuple[str, ...]
    depends: bool


class Asked(Struct, frozen=True):
    """What one follow-up found and got.

    Attributes:
        id: Of the pair.
        depends: As of the pair.
        reason: Of the decision.
        rank: Place of the first judged file among the files that the search found, from 1; 0 when it did not.
        at: Place of the first judged file among those that were given; 0 when none was.
        items: Given.
        chars: Characters of the injection.
    """

    id: str
    depends: bool
    reason: str
    rank: int
    at: int
    items: int
    chars: int


class FollowUpRow(Struct, frozen=True):
    """The follow-ups of one configuration that depend on what came before, or those that do not.

    Attributes:
        label: Of the configuration.
        depends: Which of them.
        prompts: Number of follow-ups.
        first: Share of which the search has a judged file first, in [0, 1].
        near: Share of which one is among the first five.
        mrr: Mean of the reciprocal rank of the first judged file.
        closed: Share that the rules about prompts or the gate keep silent.
        spoken: Share that gets anything.
        hit: Share that gets a judged file.
        items: Mean number of items, silence left out; NaN when all are silent.
        chars: Mean characters, silence left out; NaN when all are silent.
    """

    label: str
    depends: bool
    prompts: int
    first: float
    near: float
    mrr: float
    closed: float
    spoken: float
    hit: float
    items: float
    chars: float

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return asdict(self)


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a JSONL file: `{id, repo, first, read, prompt, files, depends}`.

    Raises:
        QrelsError: As `hybrid.evaluation.measures.read_lines` and `unique`.
    """
    return unique(path, read_lines(path, lambda fields: convert(fields, Pair)), lambda pair: pair.id)


def read_cuts(path: Path) -> list[Cut]:
    """The cuts of a JSONL file: `{id, session, after_event, prompt, files, depends}`.

    Raises:
        QrelsError: As `read_pairs`.
    """
    return unique(path, read_lines(path, lambda fields: convert(fields, Cut)), lambda cut: cut.id)


def evaluate_follow_ups(
    pairs: Sequence[Pair],
    repos: Path,
    home: Path,
    load: Load,
    *,
    against: Sequence[Configuration] = (),
    is_read: bool = True,
    only: Iterable[str] = (),
    report_repo: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Asked]]:
    """Ask the follow-ups of pairs.

    Args:
        pairs: Those without a repository are passed over.
        repos: Folder that holds a folder for each repository.
        home: Where the indexes lie.
        load: Gives settings.
        against: Compared with the settings in force; the first prompts get what the settings in force give.
        is_read: The agent reads the files of the first prompt before the follow-up comes.
        only: Names of repositories; empty for all.
        report_repo: Hears the name of each repository before it is built.

    Returns:
        Label of a configuration → what each follow-up found and got.

    Raises:
        QrelsError: No judged repository is there.
        ModelError: The embedder cannot be loaded.
    """
    ways = [IN_FORCE, *against]
    opener = TreeOpener(ways, home, lambda settings: load([*FILES_ALONE, *settings]))
    found: dict[str, list[Asked]] = {way.label: [] for way in ways}
    for repo, root in repositories({pair.repo for pair in pairs}, repos, only).items():
        report_repo(repo)
        opened = opener.open(JudgedTree(root, WHOLE))
        for pair in (pair for pair in pairs if pair.repo == repo):
            _begin(opened, pair, is_read=is_read)
            for way in ways:
                turn = _turn(opened, way.label, pair, pair.prompt)
                found[way.label].append(judged(decide(turn), pair.id, pair.files, depends=pair.depends))
    return found


def _begin(opened: Opened, pair: Pair, *, is_read: bool) -> None:
    """Give the session of a pair what its first prompt gets, and let the agent read."""
    root = opened.workspace.require_project().root
    turn = _turn(opened, IN_FORCE.label, pair, pair.first)
    turn.workspace.ledgers.reset(turn.key, "clear")  # A home that was kept has the session of the last run.
    answer(turn).finish(0.0)
    for path in pair.read if is_read else ():
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        call = cleaned_call(ToolCall("Read", {"file_path": str(root / path)}, text))
        event = HookEvent("evaluation", "PostToolUse", turn.event.session_id, "", str(root), call=call)
        answer(turn_of(opened, IN_FORCE.label, event)).finish(0.0)


def _turn(opened: Opened, label: str, pair: Pair, prompt: str) -> Turn:
    root = str(opened.workspace.require_project().root)
    return turn_of(opened, label, prompt_event("evaluation", f"followups/{pair.id}", root, prompt))


def turn_of(opened: Opened, label: str, event: HookEvent) -> Turn:
    """Return the turn of an event in a configuration, whose index of the files is open."""
    return Turn(opened.workspaces[label], event, OpenKinds({}, GivenFiles(opened.searchers[label])), {})


def evaluate_cuts(
    cuts: Sequence[Cut],
    recordings: Sequence[Recording],
    trees: Mapping[str, Path],
    home: Path,
    load: Load,
    *,
    against: Sequence[Configuration] = (),
    report_session: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Asked]]:
    """Ask the prompts of cuts in the middle of recorded sessions, each replayed over a copy of its project's tree.

    The index is brought up to date before each of them, as the service would have done by then.

    Args:
        cuts: Those of sessions without a recording or a tree are passed over.
        recordings: The sessions.
        trees: Project → the folder with its files, which stay as they are.
        home: Where the indexes and the copies lie.
        load: Gives settings.
        against: Compared with the settings in force; the prompts of the recording get what the settings in force give.
        report_session: Hears the name of each session before it is replayed.

    Returns:
        Label of a configuration → what each prompt found and got.

    Raises:
        QrelsError: A line of a recording is not JSON.
        ModelError: The embedder cannot be loaded.
        OSError: A tree cannot be copied.
    """
    ways = [IN_FORCE, *against]
    opener = TreeOpener(ways, home, lambda settings: load([*FILES_ALONE, *settings]))
    found: dict[str, list[Asked]] = {way.label: [] for way in ways}
    wanted = {cut.session for cut in cuts}
    roots: dict[str, Path] = {}
    for recording in recordings:
        project, session = recording.project, recording.file.removesuffix(".jsonl")
        if session not in wanted or project not in trees:
            continue
        report_session(session)
        if project not in roots:
            roots[project] = copied(trees[project], home / "trees" / project)
        here = {cut.after_event: cut for cut in cuts if cut.session == session}
        for label, asked in _asked_in(opener, roots[project], session_events(recording, roots[project]), here).items():
            found[label] += asked
    return found


def copied(tree: Path, root: Path) -> Path:
    """Return a copy of a tree at `root`, a git repository of its own; what stood there before is gone."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(tree.resolve(), root, symlinks=True)
    make_repository(root, {"HYBRID_HOME": str(root.parent)})
    return root


def _asked_in(
    opener: TreeOpener, root: Path, events: list[SessionEvent], cuts: Mapping[int, Cut]
) -> dict[str, list[Asked]]:
    """Replay one session and ask at its cuts."""
    found: dict[str, list[Asked]] = {}
    with seen_tree(root, events) as tree:
        opened = opener.open(JudgedTree(root, WHOLE))
        session = ""
        for one in events:
            tree.follow(one.fields)
            if one.event is not None:
                turn = turn_of(opened, IN_FORCE.label, one.event)
                if not session:
                    turn.workspace.ledgers.reset(turn.key, "clear")
                session = one.event.session_id
                answer(turn).finish(0.0)
            if (cut := cuts.get(one.number)) is None:
                continue
            opened = opener.open(JudgedTree(root, WHOLE))
            event = prompt_event("claude", session, str(root), cut.prompt)
            for label in opened.workspaces:
                decision = decide(turn_of(opened, label, event))
                found.setdefault(label, []).append(judged(decision, cut.id, cut.files, depends=cut.depends))
    return found


def judged(decision: Decision, name: str, files: Sequence[str], *, depends: bool) -> Asked:
    """Return what a decision found and gave, compared with the judged files."""
    hits = decision.searched.hits if decision.searched else ()
    found = list(dict.fromkeys(hit.path for hit in hits))
    given = [item.hit.path for item in decision.items]
    place, at = _place(found, files), _place(given, files)
    return Asked(name, depends, decision.reason, place, at, len(given), len(decision.text))


def _place(paths: Sequence[str], files: Sequence[str]) -> int:
    return next((place for place, path in enumerate(paths, 1) if path in files), 0)


def follow_up_rows(found: Mapping[str, Sequence[Asked]]) -> list[FollowUpRow]:
    """Return for each configuration a row of the follow-ups that depend on what came before, and one of the others."""
    rows = [
        _row(label, [one for one in asked if one.depends is depends], depends=depends)
        for depends in (True, False)
        for label, asked in found.items()
    ]
    return [row for row in rows if row.prompts]


def _row(label: str, asked: Sequence[Asked], *, depends: bool) -> FollowUpRow:
    n = max(len(asked), 1)
    spoken = [one for one in asked if one.items]
    return FollowUpRow(
        label=label,
        depends=depends,
        prompts=len(asked),
        first=sum(one.rank == 1 for one in asked) / n,
        near=sum(0 < one.rank <= _NEAR for one in asked) / n,
        mrr=sum(1 / one.rank for one in asked if one.rank) / n,
        closed=sum(one.reason in ("gate", "prompt") for one in asked) / n,
        spoken=len(spoken) / n,
        hit=sum(one.at > 0 for one in asked) / n,
        items=float(np.mean([one.items for one in spoken])) if spoken else float("nan"),
        chars=float(np.mean([one.chars for one in spoken])) if spoken else float("nan"),
    )
