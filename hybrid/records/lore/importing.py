"""Takes over the records of another lore folder: adds what is not there yet, keeps every key, changes nothing here.

Records are known again by their ids; of a decision the whole history comes along, line by line, and one that was
withdrawn there since the last import is withdrawn here. The other folder is only read. `hybrid lore import` calls it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.records.errors import LoreError, LoreReadError
from hybrid.records.lore import decisions, handoffs, patterns
from hybrid.records.lore.files import append_decisions, check_place, check_size, held, read_file, replace_file
from hybrid.records.lore.showing import changed_texts
from hybrid.records.lore.store import LoreStore
from hybrid.records.lore.types import Decision, mapping_of
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.records.lore.files import LoreFolder
    from hybrid.records.lore.types import AntiPattern, Handoff, Lore, Pattern
    from hybrid.records.types import Problem

KINDS = ("pattern", "anti-pattern", "decision", "handoff")

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_TEXT_KEYS = frozenset("id name context problem solution symptom risk fix category origin severity project".split())


class ImportReport(Struct):
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


def import_folder(source: LoreFolder, target: LoreFolder, *, project: str = "", is_dry: bool = False) -> ImportReport:
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
        self.report = ImportReport()
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
            decision = decisions.read_line(line)
            if isinstance(decision, Decision) and decision.id in new:
                made[line] = self._decision_line(line, decision, self._project)
        return [*(made[line] for line in lines if line in made), *self._withdrawals(there, known)]

    def _withdrawals(self, there: Lore, known: Mapping[str, Decision]) -> list[bytes]:
        """Return the last lines of decisions that are active here but not there, with the project that they have here.

        A line that is here as often as there is left out: a later line of ours made its decision active again.
        """
        gone = {one.id for one in there.decisions if not one.is_active and one.id in known and known[one.id].is_active}
        if not gone:
            return []
        n_here, n_there = Counter(self._lines_of(self._target)), Counter[bytes]()
        last: dict[str, bytes] = {}
        for line in self._lines_of(self._source):
            decision = decisions.read_line(line)
            if isinstance(decision, Decision) and decision.id in gone:
                project = self._project or known[decision.id].project
                last[decision.id] = made = self._decision_line(line, decision, project)
                n_there[made] += 1
        lines = [line for line in last.values() if n_here[line] < n_there[line]]
        self.report.withdrawn = len(lines)
        return lines

    def _lines_of(self, folder: LoreFolder) -> list[bytes]:
        """Return the lines of a folder's decisions without a byte order mark; none when they cannot be read."""
        try:
            data = read_file(folder.decisions, folder, decisions.MAX_BYTES) or b""
        except LoreReadError:
            return []  # Among the problems already.
        return data.removeprefix(decisions.BOM).split(b"\n")

    def _decision_line(self, line: bytes, decision: Decision, project: str) -> bytes:
        """Return a line as it stands, or written anew when it gets a project or loses a secret."""
        fields: dict[str, object] = dict(self._cleaned(decision.fields))
        if project and not decision.project:
            fields["project"] = project
        return line if fields == decision.fields else decisions.line_of(fields)

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
            return read_file(Path(handoff.file), self._source, handoffs.MAX_BYTES) or b""
        return handoffs.session_bytes(fields)

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
