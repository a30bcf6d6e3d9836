"""What recorded sessions are given, beside what their agents read: named in time, and not read already.

`hybrid eval replay` calls it. Each prompt of a session is answered as its hook would be. After every few uses of tools
the last prompt is asked once more, with and without `hooks.skip_read`: as if it came only now, so that nothing was
given before. What a replay cannot show: an agent that is told a file goes on otherwise than the recorded one did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.answer.decide import decide
from hybrid.answer.events import answer
from hybrid.capture import dialects
from hybrid.capture.definitions import without_line_numbers
from hybrid.evaluation.results import Configuration
from hybrid.evaluation.retrieval import WHOLE, JudgedTree, TreeOpener
from hybrid.session.ledger import is_telling
from hybrid_lab.followups import FILES_ALONE, IN_FORCE, copied, turn_of
from hybrid_lab.sessions import opened_files, seen_tree, session_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.evaluation.retrieval import Load, Opened
    from hybrid.types import HookEvent, Item
    from hybrid_lab.memory.replay import Recording
    from hybrid_lab.sessions import SessionEvent

ALL_GIVEN = Configuration("all given", ("hooks.skip_read=false",))
"""What the settings in force are compared with: what was read is given all the same."""


class Replayed(Struct):
    """What one session was given.

    Attributes:
        session: Name of the recording.
        uses: Uses of tools.
        named: Files that the answers to its prompts name.
        opened: Files of the tree that it read or edited.
        told: Those of them that its prompts name themselves.
        foreseen: Those that an answer named before.
        calls: Uses of tools before the first such file is opened; None without one.
        asked: Times that a prompt was asked once more.
        items: Items that these got.
        read: Those of them that the agent had read whole.
        items_all: The same without `hooks.skip_read`.
        read_all: The same without `hooks.skip_read`.
    """

    session: str
    uses: int = 0
    named: set[str] = field(default_factory=set[str])
    opened: set[str] = field(default_factory=set[str])
    told: set[str] = field(default_factory=set[str])
    foreseen: set[str] = field(default_factory=set[str])
    calls: int | None = None
    asked: int = 0
    items: int = 0
    read: int = 0
    items_all: int = 0
    read_all: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the figures; of files their number."""
        counted = ("named", "opened", "told", "foreseen")
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        return values | {name: len(values[name]) for name in counted}


def evaluate_replays(
    recordings: Sequence[Recording],
    trees: Mapping[str, Path],
    home: Path,
    load: Load,
    *,
    every: int = 5,
    report_session: Callable[[str], None] = lambda _: None,
) -> Iterator[Replayed]:
    """Replay recordings, and yield what each was given.

    Args:
        recordings: The sessions; those of a project without a tree are passed over.
        trees: Project → the folder with its files, which stay as they are.
        home: Where the indexes and copies of the trees lie.
        load: Gives settings.
        every: Uses of tools after which the last prompt is asked once more.
        report_session: Hears the name of each session before it is replayed.

    Raises:
        QrelsError: A line of a recording is not JSON.
        ModelError: The embedder cannot be loaded.
        OSError: A tree cannot be copied.
    """
    opener = TreeOpener([IN_FORCE, ALL_GIVEN], home, lambda settings: load([*FILES_ALONE, *settings]))
    roots: dict[str, Path] = {}
    for recording in recordings:
        project, session = recording.project, recording.file.removesuffix(".jsonl")
        if project not in trees:
            continue
        report_session(session)
        if project not in roots:
            roots[project] = copied(trees[project], home / "trees" / project)
        yield _replayed(opener, session, roots[project], session_events(recording, roots[project]), every)


def _replayed(opener: TreeOpener, session: str, root: Path, events: list[SessionEvent], every: int) -> Replayed:
    told, printed, last = Replayed(session), set[str](), None
    with seen_tree(root, events) as tree:
        opened = opener.open(JudgedTree(root, WHOLE))
        for one in events:
            tree.follow(one.fields)
            if one.event is None:
                continue
            turn = turn_of(opened, IN_FORCE.label, one.event)
            if last is None:
                turn.workspace.ledgers.reset(turn.key, "clear")  # A home that was kept has the session of the last run.
            reply = answer(turn)
            if one.event.event == "UserPromptSubmit":
                reply.drop()
                last = one.event
                told.named |= {item.hit.path for item in reply.decision.items}
            else:
                reply.finish(0.0)
            if one.event.event != "PostToolUse":
                continue
            _note_use(told, one.event, root, last)
            if not one.event.agent_id:  # What a subagent read stands in its own context.
                printed |= _lines_of(one.fields)
            if last is not None and told.uses % every == 0:
                opened = opener.open(JudgedTree(root, WHOLE))
                _ask_again(told, opened, last, printed)
    return told


def _note_use(told: Replayed, event: HookEvent, root: Path, prompt: HookEvent | None) -> None:
    new = {path for path in opened_files(event, root) if (root / path).is_file()} - told.opened
    told.opened |= new
    told.told |= {path for path in new if prompt and path.rpartition("/")[2] in prompt.prompt.text}
    foreseen = new & told.named
    told.foreseen |= foreseen
    if foreseen and told.calls is None:
        told.calls = told.uses
    told.uses += 1


def _ask_again(told: Replayed, opened: Opened, prompt: HookEvent, printed: set[str]) -> None:
    told.asked += 1
    given, given_all = (decide(turn_of(opened, label, prompt)).items for label in (IN_FORCE.label, ALL_GIVEN.label))
    root = opened.workspace.require_project().root
    told.items += len(given)
    told.items_all += len(given_all)
    told.read += sum(_is_read(item, root, printed) for item in given)
    told.read_all += sum(_is_read(item, root, printed) for item in given_all)


def _is_read(item: Item, root: Path, printed: set[str]) -> bool:
    """Return whether every telling line of the best part of a file was printed by a tool, whatever the ledger has."""
    lines = (root / item.hit.path).read_text(encoding="utf-8", errors="replace").split("\n")
    telling = {line.strip() for line in lines[item.hit.start_line - 1 : item.hit.end_line] if is_telling(line)}
    return bool(telling) and telling <= printed


def _lines_of(fields: Mapping[str, Any]) -> set[str]:
    """Return the lines that a use of a tool put before its agent, without their numbers and white space around them."""
    given: Mapping[str, object] = dialects.arguments(fields.get("tool_input"))
    written = [str(given.get(name) or "") for name in ("new_string", "content")]
    printed = map(dialects.cleaned, (dialects.result_text(fields.get("tool_response")), str(fields.get("error") or "")))
    texts = [*printed, *written]
    lines = [line for text in texts for line in (text + "\n" + without_line_numbers(text)).split("\n")]
    return {line.strip() for line in lines}
