"""The writes of the commands: each under one lock of its folder, safe against kills and other writers.

A decision is one appended line that is on disk before it is reported; patterns.yaml is replaced as one step; a session
is a file of its own. Secrets are taken out before anything is stored. Clock and chance are passed in.

What a repository looks like is noted without git, whose settings in a foreign repository may run commands. So the list
of files that are not committed stays empty.

The records of another lore folder are added where they are not there yet, with every key. They are known again by their
ids; of a decision the whole history comes along, line by line, and one that was withdrawn there since the last import
is withdrawn here. The other folder is only read.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from hybrid.base.atomic import read_regular
from hybrid.base.text import one_line
from hybrid.project.find import folders_of, read_small
from hybrid.records.lore import json_records, patterns
from hybrid.records.lore.json_records import DecisionDraft, GitState, HandoffDraft
from hybrid.records.lore.patterns import AntiPatternDraft, PatternDraft
from hybrid.records.lore.store import (
    LoreStore,
    append_decisions,
    check_place,
    check_size,
    held,
    read_file,
    replace_file,
)
from hybrid.records.lore.types import AntiPattern, Handoff, LoreDecision, Pattern, changed_texts, mapping_of, seconds_of
from hybrid.records.scoring import jaccard, tokens
from hybrid.records.types import DuplicateError, LoreError, LoreReadError, NoRecordError
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.records.lore.store import LoreFolder, LoreShelf
    from hybrid.records.lore.types import AnyLore, Lore, ProjectNames
    from hybrid.records.types import Problem


LOOKED_AT = 20
NEAR = 0.8
"""Share of common words, 0 to 1, above which two records count as the same."""


def latest(lore: Lore, of: type[AnyLore]) -> Sequence[AnyLore]:
    """Return the last twenty records of a kind, the newest first: by line for decisions, by time for others."""
    if of is LoreDecision:
        return [*reversed(lore.decisions[-LOOKED_AT:])]
    every = [one for one in (*lore.patterns, *lore.anti_patterns, *lore.handoffs) if isinstance(one, of)]
    return sorted(every, key=lambda one: -seconds_of(one.created_at))[:LOOKED_AT]


def said(record: AnyLore) -> str:
    """Return the main texts of a record, joined by line ends; two records are compared by them."""
    if isinstance(record, Pattern):
        return "\n".join((record.name, record.context, record.problem, record.solution))
    if isinstance(record, AntiPattern):
        return "\n".join((record.name, record.symptom, record.risk, record.fix))
    if isinstance(record, LoreDecision):
        return f"{record.decision}\n{record.rationale}"
    return "\n".join((record.message, *record.next_steps, *record.blockers, *record.questions))


class Moment(Struct, frozen=True):
    """The time when a record is written, and the source of chance for its id.

    Attributes:
        now_s: Seconds since the epoch.
        new_hex: Returns eight random hex digits.
    """

    now_s: float
    new_hex: Callable[[], str]

    @property
    def written(self) -> str:
        """The time as the format has it: `2026-02-10T03:48:04Z`."""
        return datetime.fromtimestamp(self.now_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def new_id(self, kind: str) -> str:
        """Return a new id of a kind: `pat-NNNNNN-hex8`, `anti-NNNNNN-hex8`, `dec-hex8` or `session-…-hex8`.

        NNNNNN are the last six digits of the second.
        """
        if kind == "decision":
            return f"dec-{self.new_hex()}"
        if kind == "handoff":
            at = self.written
            return f"session-{at[:10].replace('-', '')}-{at[11:19].replace(':', '')}-{self.new_hex()}"
        return f"{'pat' if kind == 'pattern' else 'anti'}-{int(self.now_s) % 1_000_000:06d}-{self.new_hex()}"


LoreDraft = PatternDraft | AntiPatternDraft | DecisionDraft | HandoffDraft
_Draft = TypeVar("_Draft", bound=LoreDraft)

_ID_BYTES = 4
_NO_TEXTS = frozenset(("confidence", "git_commit", "git"))
"""Attributes of drafts that are not redacted: nobody typed them, and `git_state` redacts what a repository says."""


class LoreWriter:
    """Writes into one of the folders that count for a project."""

    def __init__(self, shelf: LoreShelf, target: LoreFolder, project: str, moment: Moment) -> None:
        """Set the folders; nothing is written yet.

        Args:
            shelf: All folders; their records are compared with new ones, and their ids are not used anew.
            target: The folder for new records.
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
            draft: A draft of any kind; its secrets are taken out.
            is_forced: Write it although a recent record says nearly the same.

        Returns:
            The id of the new record.

        Raises:
            DuplicateError: A recent record of its kind says nearly the same, and it is not forced.
            LoreError: The file cannot be read or changed, or another process holds it.
        """
        identity = self._free_id(draft.kind)
        with held(self._target):
            record, write = self._prepared(identity, _without_secrets(draft))
            if not is_forced:
                self._refuse_duplicate(record)
            write()
        return identity

    def retract(self, identity: str, reason: str) -> bool:
        """Take a decision back, or deprecate a pattern or an anti-pattern, in every folder that has it.

        Returns:
            True if a file was changed; False when the record was withdrawn already.

        Raises:
            NoRecordError: No record of the lore has this id.
            LoreError: The record is a handoff, or a file cannot be changed.
        """
        found = self.find(identity)
        if isinstance(found, Handoff):
            raise LoreError(
                f"{identity} is a handoff, which the next one replaces: write one with `hybrid lore handoff`"
            )
        if isinstance(found, LoreDecision):
            return self._change_decision(identity, {"status": "retracted", "retracted_reason": redact(reason)})
        changed = [self._deprecate(store.folder, identity) for store in self._shelf.stores]
        return any(changed)

    def supersede(self, old: str, new: str) -> bool:
        """Mark the decision `old` as superseded by `new` in every folder; returns and raises as `retract`.

        Raises LoreError, too, when the ids are not those of two decisions.
        """
        if not isinstance(self.find(old), LoreDecision) or not isinstance(self.find(new), LoreDecision) or old == new:
            raise LoreError(f"{old} and {new} must be two decisions; `hybrid lore list --kind decision` shows ids")
        return self._change_decision(old, {"status": "superseded", "superseded_by": new})

    def find(self, identity: str) -> AnyLore:
        """Return the record with this id, withdrawn or not; of several the one in the first folder.

        Raises:
            NoRecordError: No record of the lore has this id.
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
        """Return a new record as it will be read, and the function that writes it; the caller holds the lock."""
        if isinstance(draft, DecisionDraft):
            return self._decision(identity, draft)
        return self._session(identity, draft) if isinstance(draft, HandoffDraft) else self._pattern(identity, draft)

    def _decision(self, identity: str, draft: DecisionDraft) -> tuple[AnyLore, Callable[[], None]]:
        fields = json_records.new_decision(identity, draft, timestamp=self._moment.written, project=self._project)
        record = json_records.decision_of(fields)
        assert isinstance(record, LoreDecision)
        return record, partial(append_decisions, self._target, [json_records.line_of(fields)])

    def _session(self, identity: str, draft: HandoffDraft) -> tuple[AnyLore, Callable[[], None]]:
        session = json_records.new_session(identity, draft, created_at=self._moment.written, project=self._project)
        path, data = self._target.sessions / f"{identity}.json", json_records.session_bytes(session)
        check_place(path, self._target)
        record = json_records.read_session(data, str(path))
        assert isinstance(record, Handoff)
        return record, partial(replace_file, path, data)

    def _pattern(self, identity: str, draft: PatternDraft | AntiPatternDraft) -> tuple[AnyLore, Callable[[], None]]:
        path = self._target.patterns
        before = read_file(path, self._target, patterns.MAX_BYTES) or b""
        fields = patterns.new_pattern(identity, draft, created_at=self._moment.written, project=self._project)
        section = "patterns" if isinstance(draft, PatternDraft) else "anti_patterns"
        after = patterns.with_new(before, section, [fields], str(path))
        made = patterns.read_patterns(after, str(path))
        (record,) = [one for one in (*made.patterns, *made.anti_patterns) if one.id == identity]
        check_size(len(after), patterns.MAX_BYTES, str(path))
        return record, partial(replace_file, path, after)

    def _refuse_duplicate(self, record: AnyLore) -> None:
        """Raise DuplicateError when one of the latest records of this kind in a folder says nearly the same."""
        words = frozenset(tokens(said(record)))
        recent = [one for lore in self._shelf.read() for one in latest(lore, type(record))]
        likeness = [jaccard(words, frozenset(tokens(said(one)))) for one in recent]
        if max(likeness, default=0.0) > NEAR:
            near = recent[likeness.index(max(likeness))]
            raise DuplicateError(
                f"nothing was written: {near.kind} {near.id} says nearly the same "
                f"({redact(one_line(said(near)))[:80]}); --force writes it all the same"
            )

    def _change_decision(self, identity: str, changes: Mapping[str, str]) -> bool:
        """Append the active decision with some keys changed in every folder that has it; return whether one had it."""
        is_changed = False
        for store in self._shelf.stores:
            if not _active(store, identity):
                continue
            with held(store.folder):
                for decision in _active(store, identity):
                    append_decisions(store.folder, [json_records.line_of({**decision.fields, **changes})])
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
            if not any(one.is_active for one in same):
                return False
            replace_file(path, patterns.with_deprecated(before, identity, str(path)))
        return True


def new_writer(shelf: LoreShelf, names: ProjectNames, now_s: float) -> LoreWriter:
    """Return a writer into the project's folder, without a project the user's; it gives its records random ids.

    Args:
        shelf: All folders.
        names: The names of the project that the records belong to.
        now_s: Seconds since the epoch.
    """
    moment = Moment(now_s, lambda: secrets.token_hex(_ID_BYTES))
    target = shelf.stores[0 if names.name else -1].folder
    # A project's own folder is read in that project alone, on other machines too, where its key may be another one.
    project = names.name if target.origin == "project" else names.distinct
    return LoreWriter(shelf, target, project, moment)


def _without_secrets(draft: _Draft) -> _Draft:
    texts = {name: value for name, value in asdict(draft).items() if name not in _NO_TEXTS}
    redacted = {
        name: redact(value) if isinstance(value, str) else tuple(map(redact, value)) for name, value in texts.items()
    }
    return replace(draft, **redacted)


def _active(store: LoreStore, identity: str) -> list[LoreDecision]:
    return [one for one in store.read().decisions if one.id == identity and one.is_active]


# --- what a repository looks like ---------------------------------------------------------------------------

_MAX_LOG_BYTES = 8_000_000
_N_COMMITS = 5
_BRANCH = "ref: refs/heads/"
_COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMITTED = re.compile(r"\S+ ([0-9a-f]{40,64}) .*\tcommit(?: \([a-z]+\))?: (.+)")


def head_commit(root: Path) -> str | None:
    """Return the id of the commit that is checked out; None without one, or where it is stored in an unknown form."""
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
    """Return the branch, the last five commits made here, the newest first, and the number of stashes of a repository.

    All is empty without a repository; the list of uncommitted files is always empty.
    """
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
    """Return the lines of a log of references; none when it is missing, not readable or longer than 8 MB."""
    try:
        data = read_regular(path, _MAX_LOG_BYTES)
    except (OSError, ValueError):
        return []
    return data.decode("utf-8", "replace").splitlines() if len(data) <= _MAX_LOG_BYTES else []


# --- records of another folder ------------------------------------------------------------------------------

KINDS = ("pattern", "anti-pattern", "decision", "handoff")

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_TEXT_KEYS = frozenset("id name context problem solution symptom risk fix category origin severity project".split())


class LoreImport(Struct):
    """The outcome of an import, or of a dry run.

    Attributes:
        added: Kind → records added.
        present: Kind → records that were here already.
        withdrawn: Number of decisions that were active here and withdrawn at the source, and are withdrawn here now.
        redacted: Number of records whose secrets were taken out.
        problems: Places in the source that could not be read, with file and line.
    """

    added: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    present: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    withdrawn: int = 0
    redacted: int = 0
    problems: tuple[Problem, ...] = ()


def import_folder(source: LoreFolder, target: LoreFolder, *, project: str = "", is_dry: bool = False) -> LoreImport:
    """Add the records of one folder to another.

    Args:
        source: The other folder, which is only read.
        target: Our folder, to which records are added.
        project: Name that every record without one gets in `project` (sessions: `context.project`); empty for none.
        is_dry: Write nothing; report what would be done.

    Raises:
        LoreError: The source has no lore or is the target itself, or the target cannot be read or written.
    """
    if not (source.patterns.is_file() or source.decisions.is_file() or source.sessions.is_dir()):
        raise LoreError(
            f"no lore in {source.path}: neither patterns/data, journal/data nor transfer/data; name the data folder"
        )
    if target.path.exists() and source.path.samefile(target.path):
        raise LoreError(f"{source.path} is the folder that hybrid uses already; there is nothing to import")
    importer = _Importer(source, target, project)
    if is_dry:
        importer.run(is_dry=True)
    else:
        with held(target):
            importer.run(is_dry=False)
    return importer.report


class _Importer:
    def __init__(self, source: LoreFolder, target: LoreFolder, project: str) -> None:
        self.report = LoreImport()
        self._source = source
        self._target = target
        self._project = project

    def run(self, *, is_dry: bool) -> None:
        there, here = LoreStore(self._source).read(), LoreStore(self._target).read()
        self.report.problems = there.problems
        self._yaml(there, here, is_dry=is_dry)
        lines = self._decision_lines(there, here)
        sessions = self._sessions(there, {one.id for one in here.handoffs})
        if is_dry:
            return
        if lines:
            append_decisions(self._target, lines)
        for name, data in sessions.items():
            path = self._target.sessions / name
            check_place(path, self._target)
            replace_file(path, data)

    def _yaml(self, there: Lore, here: Lore, *, is_dry: bool) -> None:
        known = {one.id for one in (*here.patterns, *here.anti_patterns)}
        path = self._target.patterns
        before = data = read_file(path, self._target, patterns.MAX_BYTES) or b""
        for section, values in (("patterns", there.patterns), ("anti_patterns", there.anti_patterns)):
            if records := self._new(values, known):
                data = patterns.with_new(data, section, records, str(path))
        check_size(len(data), patterns.MAX_BYTES, str(path))
        if data != before and not is_dry:
            replace_file(path, data)

    def _new(self, values: Sequence[Pattern | AntiPattern], known: set[str]) -> list[dict[str, object]]:
        """Return the records of a section whose ids are not here yet, as they are written; several may share an id."""
        found: list[dict[str, object]] = []
        for value in values:
            if value.id in known:
                self.report.present[value.kind] += 1
                continue
            fields = {key: _number(key, one) for key, one in self._cleaned(value.fields).items()}
            named = {"project": self._project} if self._project and not value.project else {}
            found.append(fields | named)
            self.report.added[value.kind] += 1
        return found

    def _decision_lines(self, there: Lore, here: Lore) -> list[bytes]:
        """Return every line of decisions that are not here yet, then the lines that withdraw decisions here.

        Lines keep their order, and equal lines are all kept, since the last line of an id decides.
        """
        known = {one.id: one for one in here.decisions}
        new = {one.id for one in there.decisions if one.id not in known}
        self.report.added["decision"] = len(new)
        self.report.present["decision"] = len(there.decisions) - len(new)
        lines = self._lines_of(self._source)
        made: dict[bytes, bytes] = {}
        for line in dict.fromkeys(lines):
            decision = json_records.read_line(line)
            if isinstance(decision, LoreDecision) and decision.id in new:
                made[line] = self._decision_line(line, decision, self._project)
        return [*(made[line] for line in lines if line in made), *self._withdrawals(there, known)]

    def _withdrawals(self, there: Lore, known: Mapping[str, LoreDecision]) -> list[bytes]:
        """Return the last lines of decisions that are active here but not there, with the project that they have here.

        A line that is here as often as there is left out: a later line of ours made its decision active again.
        """
        gone = {one.id for one in there.decisions if not one.is_active and one.id in known and known[one.id].is_active}
        if not gone:
            return []
        n_here, n_there = Counter(self._lines_of(self._target)), Counter[bytes]()
        last: dict[str, bytes] = {}
        for line in self._lines_of(self._source):
            decision = json_records.read_line(line)
            if isinstance(decision, LoreDecision) and decision.id in gone:
                project = self._project or known[decision.id].project
                last[decision.id] = made = self._decision_line(line, decision, project)
                n_there[made] += 1
        lines = [line for line in last.values() if n_here[line] < n_there[line]]
        self.report.withdrawn = len(lines)
        return lines

    def _lines_of(self, folder: LoreFolder) -> list[bytes]:
        """Return the lines of a folder's decisions without a byte order mark; none when they cannot be read."""
        try:
            data = read_file(folder.decisions, folder, json_records.DECISIONS_BYTES) or b""
        except LoreReadError:
            return []  # Among the problems already.
        return data.removeprefix(json_records.BOM).split(b"\n")

    def _decision_line(self, line: bytes, decision: LoreDecision, project: str) -> bytes:
        """Return a line as it stands, or written anew when it gets a project or loses a secret."""
        fields: dict[str, object] = dict(self._cleaned(decision.fields))
        if project and not decision.project:
            fields["project"] = project
        return line if fields == decision.fields else json_records.line_of(fields)

    def _sessions(self, there: Lore, known: set[str]) -> dict[str, bytes]:
        """Return file name → bytes of the sessions of which neither the id nor the file name is here yet."""
        found: dict[str, bytes] = {}
        for handoff in there.handoffs:
            name = Path(handoff.file).name
            if handoff.id in known or (self._target.sessions / name).exists():
                self.report.present["handoff"] += 1
                continue
            found[name] = self._session(handoff)
            self.report.added["handoff"] += 1
        return found

    def _session(self, handoff: Handoff) -> bytes:
        fields: dict[str, Any] = dict(self._cleaned(handoff.fields))
        if self._project and not handoff.project:
            fields["context"] = {**mapping_of(fields.get("context")), "project": self._project}
        if fields == handoff.fields:
            return read_file(Path(handoff.file), self._source, json_records.SESSION_BYTES) or b""
        return json_records.session_bytes(fields)

    def _cleaned(self, fields: Mapping[str, object]) -> Mapping[str, object]:
        """Return the keys of a record without secrets in their texts; the same object when there are none."""
        cleaned = changed_texts(dict(fields), redact, str)
        if cleaned == fields:
            return fields
        self.report.redacted += 1
        return cleaned


def _number(key: str, value: object) -> object:
    """Return a text that most likely was a number in the file as `Verbatim`, and any other value as it is."""
    if key in _TEXT_KEYS or not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return value
    return Verbatim(value)


class Verbatim(Struct, frozen=True):
    """A number that is written as it was: `0.80` stays `0.80`."""

    text: str

    def __str__(self) -> str:
        return self.text
