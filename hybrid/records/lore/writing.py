"""The writes of the commands: each under one lock of its folder, safe against kills and other writers.

A decision is one appended line that is on disk before it is reported; patterns.yaml is replaced as one step; a session
is a file of its own. Secrets are taken out before anything is stored. Clock and chance are passed in.

What a repository looks like is noted without git, whose settings in a foreign repository may run commands. So the list
of files that are not committed stays empty.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from hybrid.base.atomic import read_regular
from hybrid.base.text import one_line
from hybrid.project.git_folder import folders_of, read_small
from hybrid.records.errors import DuplicateError, LoreError, NoRecordError
from hybrid.records.lore import decisions, handoffs, patterns
from hybrid.records.lore.decisions import DecisionDraft
from hybrid.records.lore.files import append_decisions, check_place, check_size, held, read_file, replace_file
from hybrid.records.lore.handoffs import GitState, HandoffDraft
from hybrid.records.lore.patterns import AntiPatternDraft, PatternDraft
from hybrid.records.lore.showing import kind_of
from hybrid.records.lore.types import AntiPattern, Decision, Handoff, Pattern, seconds_of, written_time
from hybrid.records.scoring import jaccard, tokens
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.records.lore.files import LoreFolder
    from hybrid.records.lore.handoffs import GitState
    from hybrid.records.lore.store import LoreShelf, LoreStore
    from hybrid.records.lore.types import AnyLore, Lore

LOOKED_AT = 20
NEAR = 0.8
"""Share of common words above which two records say the same."""


class Near(Struct, frozen=True):
    """A record that says nearly the same; `likeness` in 0 to 1."""

    record: AnyLore
    likeness: float


def near_duplicate(text: str, recorded: Sequence[AnyLore]) -> Near | None:
    """Return the record most like a text, when it is nearly the same.

    Args:
        text: As `said` makes it.
        recorded: Of one kind, see `latest`.

    Returns:
        The nearest with a likeness above 0.8; of equally near ones the first.
    """
    words = frozenset(tokens(text))
    near = [Near(one, jaccard(words, frozenset(tokens(said(one))))) for one in recorded]
    return max((one for one in near if one.likeness > NEAR), key=lambda one: one.likeness, default=None)


def latest(lore: Lore, of: type[AnyLore]) -> Sequence[AnyLore]:
    """The last twenty records of a kind in a folder, the newest first: by line for decisions, by time for others."""
    if of is Decision:
        return [*reversed(lore.decisions[-LOOKED_AT:])]
    every = [one for one in (*lore.patterns, *lore.anti_patterns, *lore.handoffs) if isinstance(one, of)]
    return sorted(every, key=lambda one: -seconds_of(one.created_at))[:LOOKED_AT]


def said(record: AnyLore) -> str:
    """Return the texts that make a record another one when they change."""
    if isinstance(record, Pattern):
        return "\n".join((record.name, record.context, record.problem, record.solution))
    if isinstance(record, AntiPattern):
        return "\n".join((record.name, record.symptom, record.risk, record.fix))
    if isinstance(record, Decision):
        return f"{record.decision}\n{record.rationale}"
    return "\n".join((record.message, *record.next_steps, *record.blockers, *record.questions))


class Moment(Struct, frozen=True):
    """When a record is written, and by what its id differs from others.

    Attributes:
        now_s: Seconds since the epoch.
        new_hex: Gives eight random hex digits.
    """

    now_s: float
    new_hex: Callable[[], str]

    @property
    def written(self) -> str:
        """As ISO time."""
        return written_time(self.now_s)

    def new_id(self, kind: str) -> str:
        """`pat-NNNNNN-hex8`, `anti-NNNNNN-hex8` (the last six digits of the second), `dec-hex8` or `session-…-hex8`."""
        if kind == "decision":
            return f"dec-{self.new_hex()}"
        if kind == "handoff":
            at = self.written
            return f"session-{at[:10].replace('-', '')}-{at[11:19].replace(':', '')}-{self.new_hex()}"
        return f"{'pat' if kind == 'pattern' else 'anti'}-{int(self.now_s) % 1_000_000:06d}-{self.new_hex()}"


LoreDraft = PatternDraft | AntiPatternDraft | DecisionDraft | HandoffDraft
_Draft = TypeVar("_Draft", bound=LoreDraft)

_KINDS: dict[type[LoreDraft], str] = {
    PatternDraft: "pattern",
    AntiPatternDraft: "anti-pattern",
    DecisionDraft: "decision",
    HandoffDraft: "handoff",
}
_NO_TEXTS = frozenset(("confidence", "git_commit", "git"))
"""Attributes of drafts that nobody typed: a number, and what the repository says, which `git_state` redacts."""


class LoreWriter:
    """Writes into one of the folders that count for a project."""

    def __init__(self, shelf: LoreShelf, target: LoreFolder, project: str, moment: Moment) -> None:
        """A writer; nothing is made yet.

        Args:
            shelf: All folders; what they hold is looked through for duplicates and ids.
            target: Where new records go.
            project: Name of the project that they belong to; empty for none.
            moment: When they are written.
        """
        self._shelf = shelf
        self._target = target
        self._project = redact(project)
        self._moment = moment

    def add(self, draft: LoreDraft, *, is_forced: bool = False) -> str:
        """Write a new record: an appended decision, a session of its own, or a pattern before the others of its file.

        Args:
            draft: Of any kind; its secrets are taken out.
            is_forced: Write it although a recent record says nearly the same.

        Returns:
            Its id.

        Raises:
            DuplicateError: A recent record of its kind says nearly the same, and it is not forced.
            LoreError: The file cannot be read or changed, or another process holds it.
        """
        identity = self._free_id(_KINDS[type(draft)])
        with held(self._target):
            record, write = self._prepared(identity, _without_secrets(draft))
            if not is_forced:
                self._refuse_duplicate(record)
            write()
        return identity

    def retract(self, identity: str, reason: str) -> bool:
        """Take a decision back, or deprecate a pattern or an anti-pattern, in every folder that has it.

        Returns:
            Whether anything was changed; False when it was withdrawn already.

        Raises:
            NoRecordError: No record has this id.
            LoreError: It is a handoff, or a file cannot be changed.
        """
        found = self.find(identity)
        if isinstance(found, Handoff):
            raise LoreError(
                f"{identity} is a handoff, which the next one replaces: write one with `hybrid lore handoff`"
            )
        if isinstance(found, Decision):
            return self._change_decision(identity, lambda one: decisions.retracted(one, redact(reason)))
        changed = [self._deprecate(store.folder, identity) for store in self._shelf.stores]
        return any(changed)

    def supersede(self, old: str, new: str) -> bool:
        """Let a decision take the place of another one; returns and raises as `retract`."""
        if not isinstance(self.find(old), Decision) or not isinstance(self.find(new), Decision) or old == new:
            raise LoreError(f"{old} and {new} must be two decisions; `hybrid lore list --kind decision` shows ids")
        return self._change_decision(old, lambda one: decisions.superseded(one, new))

    def find(self, identity: str) -> AnyLore:
        """Return the record of an id.

        Raises:
            NoRecordError: None has it.
        """
        for lore in self._shelf.read():
            for value in (*lore.decisions, *lore.patterns, *lore.anti_patterns, *lore.handoffs):
                if value.id == identity:
                    return value
        raise NoRecordError(f"no record {identity}; `hybrid lore list --all` shows ids")

    def _free_id(self, kind: str) -> str:
        while True:
            identity = self._moment.new_id(kind)
            try:
                self.find(identity)
            except NoRecordError:
                return identity

    def _prepared(self, identity: str, draft: LoreDraft) -> tuple[AnyLore, Callable[[], None]]:
        """Return a new record as it will be read, and what writes it; the caller holds the lock."""
        if isinstance(draft, DecisionDraft):
            return self._decision(identity, draft)
        return self._session(identity, draft) if isinstance(draft, HandoffDraft) else self._pattern(identity, draft)

    def _decision(self, identity: str, draft: DecisionDraft) -> tuple[AnyLore, Callable[[], None]]:
        fields = decisions.new_decision(identity, draft, timestamp=self._moment.written, project=self._project)
        record = decisions.decision_of(fields)
        assert isinstance(record, Decision)
        return record, partial(append_decisions, self._target, [decisions.line_of(fields)])

    def _session(self, identity: str, draft: HandoffDraft) -> tuple[AnyLore, Callable[[], None]]:
        session = handoffs.new_session(identity, draft, created_at=self._moment.written, project=self._project)
        path, data = self._target.sessions / f"{identity}.json", handoffs.session_bytes(session)
        check_place(path, self._target)
        record = handoffs.read_session(data, str(path))
        assert isinstance(record, Handoff)
        return record, partial(replace_file, path, data)

    def _pattern(self, identity: str, draft: PatternDraft | AntiPatternDraft) -> tuple[AnyLore, Callable[[], None]]:
        stamped = {"created_at": self._moment.written, "project": self._project}
        path = self._target.patterns
        before = read_file(path, self._target, patterns.MAX_BYTES) or b""
        if isinstance(draft, PatternDraft):
            after = patterns.with_new(before, "patterns", [patterns.new_pattern(identity, draft, **stamped)], str(path))
        else:
            fields = patterns.new_anti_pattern(identity, draft, **stamped)
            after = patterns.with_new(before, "anti_patterns", [fields], str(path))
        made = patterns.read_patterns(after, str(path))
        (record,) = [one for one in (*made.patterns, *made.anti_patterns) if one.id == identity]
        check_size(len(after), patterns.MAX_BYTES, str(path))
        return record, partial(replace_file, path, after)

    def _refuse_duplicate(self, record: AnyLore) -> None:
        near = near_duplicate(said(record), [one for lore in self._shelf.read() for one in latest(lore, type(record))])
        if near is not None:
            raise DuplicateError(
                f"nothing was written: {kind_of(near.record)} {near.record.id} says nearly the same "
                f"({one_line(said(near.record))[:80]}); --force writes it all the same"
            )

    def _change_decision(self, identity: str, change: Callable[[Decision], dict[str, Any]]) -> bool:
        is_changed = False
        for store in self._shelf.stores:
            if not _active(store, identity):
                continue
            with held(store.folder):
                for decision in _active(store, identity):
                    append_decisions(store.folder, [decisions.line_of(change(decision))])
                    is_changed = True
        return is_changed

    def _deprecate(self, folder: LoreFolder, identity: str) -> bool:
        path = folder.patterns
        if not read_file(path, folder, patterns.MAX_BYTES):
            return False
        with held(folder):
            before = read_file(path, folder, patterns.MAX_BYTES) or b""
            made = patterns.read_patterns(before, str(path))
            same = [one for one in (*made.patterns, *made.anti_patterns) if one.id == identity]
            if all(one.is_deprecated for one in same):
                return False
            replace_file(path, patterns.with_deprecated(before, identity, str(path)))
        return True


def _without_secrets(draft: _Draft) -> _Draft:
    texts = {name: value for name, value in asdict(draft).items() if name not in _NO_TEXTS}
    redacted = {
        name: redact(value) if isinstance(value, str) else tuple(map(redact, value)) for name, value in texts.items()
    }
    return replace(draft, **redacted)


def _active(store: LoreStore, identity: str) -> list[Decision]:
    return [one for one in store.read().decisions if one.id == identity and one.is_active]


_MAX_LOG_BYTES = 8_000_000
_N_COMMITS = 5
_BRANCH = "ref: refs/heads/"
_COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMITTED = re.compile(r"\S+ ([0-9a-f]{40,64}) .*\tcommit(?: \([a-z]+\))?: (.+)")


def head_commit(root: Path) -> str | None:
    """The id of the commit that is checked out; None without one, or where it is stored in a form unknown here."""
    folders = folders_of(root)
    if folders is None:
        return None
    own, common = folders
    head = (read_small(own / "HEAD") or "").strip()
    if not head.startswith("ref: "):
        return _id(head)
    name = head.removeprefix("ref: ").strip()
    if ".." in name or not name.startswith("refs/"):
        return None
    loose = _id((read_small(own / name) or read_small(common / name) or "").strip())
    return loose or _packed(read_small(common / "packed-refs") or "", name)


def git_state(root: Path) -> GitState:
    """Branch, the last five commits made here, the newest first, and stashes; empty without a repository."""
    folders = folders_of(root)
    if folders is None:
        return GitState()
    own, common = folders
    head = (read_small(own / "HEAD") or "").strip()
    committed = [match for line in _log_lines(own / "logs" / "HEAD") if (match := _COMMITTED.fullmatch(line))]
    return GitState(
        branch=head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else "",
        commits=tuple(f"{match[1][:7]} {redact(match[2])}" for match in reversed(committed[-_N_COMMITS:])),
        stash_count=len(_log_lines(common / "logs" / "refs" / "stash")),
    )


def _id(text: str) -> str | None:
    return text if _COMMIT_ID.fullmatch(text) else None


def _packed(text: str, name: str) -> str | None:
    for line in text.splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return _id(commit)
    return None


def _log_lines(path: Path) -> list[str]:
    """Return lines of a log of references; none of one that is missing or very long."""
    try:
        data = read_regular(path, _MAX_LOG_BYTES)
    except (OSError, ValueError):
        return []
    return data.decode("utf-8", "replace").splitlines() if len(data) <= _MAX_LOG_BYTES else []
