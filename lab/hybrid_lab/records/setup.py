"""Puts records in front of the engine for measuring: into a project, or beside every repository that is asked.

`records` and `gate` call it. What is written is written by the stores, in the forms that users have.
"""

from __future__ import annotations

import shutil
from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import write_atomic
from hybrid.evaluation.measures import QrelsError, read_lines, unique
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.stores import FILE, open_stores
from hybrid.project.find import FOLDER_NAME
from hybrid.project.trust import accept
from hybrid.records.lessons.types import Draft, is_id
from hybrid.records.lessons.writing import Offer
from hybrid.records.lore import json_records, patterns
from hybrid.records.lore.store import LoreFolder, append_decisions, held
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.search.searcher import Searcher
    from hybrid.workspace import Workspace

KINDS = ("lesson", "pattern", "anti-pattern", "decision", "handoff")
ALONE = ("lore.data_dir=", "lore.handoff_days=0")
"""Settings that keep the user's own lore out, and a handoff that nobody searched for."""

_LEARNED = date(2026, 1, 15)
"""When given records were written: a constant, so that every run is the same."""
_WRITTEN = f"{_LEARNED.isoformat()}T12:00:00Z"


class GivenRecord(Struct, frozen=True):
    """A record as an evaluation brings it.

    Attributes:
        kind: One of `KINDS`.
        id: As its store would write it; a lesson's is `L001` or `S001`.
        name: Title; of a decision what was decided.
        text: Everything else, in lines. A pattern has context, problem and solution, an anti-pattern symptom, risk and
            fix, a decision its reason and then the alternatives; fewer lines leave out the first ones.
        triggers: Of a lesson.
    """

    kind: str
    id: str
    name: str
    text: str
    triggers: tuple[str, ...] = ()


def read_records(path: Path) -> list[GivenRecord]:
    """The records of a JSONL file: `{kind, id, name, text, triggers?}`.

    Raises:
        QrelsError: The file cannot be read, a line is not of this form, or an id stands twice.
    """
    return unique(path, read_lines(path, _record), lambda record: record.id)


def _record(fields: Mapping[str, Any]) -> GivenRecord:
    kind, identity = str(fields["kind"]), str(fields["id"])
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is none of {', '.join(KINDS)}")
    if kind == "lesson" and not is_id(identity):
        raise ValueError(f"{identity!r} is no id of a lesson; they look like L001 or S001")
    triggers = tuple(str(word) for word in fields.get("triggers") or ())
    return GivenRecord(kind, identity, str(fields["name"]), str(fields["text"]), triggers)


# --- a project of its own ----------------------------------------------------------------------------------


def make_project(root: Path, environ: Mapping[str, str]) -> Workspace:
    """An empty project, a repository without git, whose record files are accepted.

    Args:
        root: Its top; its name is the project's.
        environ: Names the `HYBRID_HOME` that remembers the acceptance, and the settings.

    Raises:
        OSError: A folder cannot be written.
    """
    git = root / ".git"
    for folder in (git / "objects", git / "refs", root / FOLDER_NAME):
        folder.mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n", encoding="utf-8")
    workspace = open_workspace(root, environ=environ)
    accept(workspace.require_project(), workspace.home)
    return workspace


def copy_files(workspace: Workspace, lessons: Path | None, lore: Path | None) -> None:
    """Copy files as users have them into a project.

    Args:
        workspace: Of the project.
        lessons: A LESSONS.md in either form.
        lore: A data folder.

    Raises:
        QrelsError: One of them is not there.
        OSError: It cannot be copied.
    """
    folder = workspace.require_project().root / FOLDER_NAME
    if lessons:
        if not lessons.is_file():
            raise QrelsError(f"{lessons} is no file; --lessons names a LESSONS.md")
        shutil.copyfile(lessons, folder / FILE)
    if lore:
        if not lore.is_dir():
            raise QrelsError(f"{lore} is no folder; --lore names a data folder of lore")
        shutil.copytree(lore, folder / "lore", dirs_exist_ok=True, copy_function=shutil.copyfile)


def write_records(workspace: Workspace, records: Iterable[GivenRecord]) -> None:
    """Write records into a project that has none, as its own.

    Raises:
        HybridError: A record cannot be written as it is.
        OSError: A file cannot be written.
    """
    listed, project = list(records), workspace.require_project()
    write_lessons(workspace, [record for record in listed if record.kind == "lesson"])
    folder = LoreFolder(project.root / FOLDER_NAME / "lore", "project")
    write_lore(folder, [record for record in listed if record.kind != "lesson"], project.name)


def write_lessons(workspace: Workspace, lessons: Sequence[GivenRecord]) -> None:
    """Write lessons under their ids, those named `S…` for all projects.

    Raises:
        LessonsError: One has no title, or the file cannot be written.
        QrelsError: The store has no place for an id.
    """
    for level in ("L", "S"):
        chosen = [lesson for lesson in lessons if lesson.id.startswith(level)]
        store = open_stores(workspace).of(level)
        if not chosen or store is None:
            continue
        offers = [
            Offer(Draft(one.name, one.text, "pattern", triggers=one.triggers), one.id, _LEARNED.isoformat())
            for one in chosen
        ]
        adopted = store.adopt(offers, today=_LEARNED, is_forced=True)
        if lost := [one.offer.wanted for one in adopted if one.lesson_id != one.offer.wanted]:
            raise QrelsError(f"{store.file} has no place for {', '.join(lost)}: write into an empty project")


def write_lore(folder: LoreFolder, records: Sequence[GivenRecord], project: str) -> None:
    """Write patterns, anti-patterns, decisions and handoffs under their ids.

    Args:
        folder: Made when it is not there.
        records: Of these kinds.
        project: Name that they carry; empty for none.

    Raises:
        LoreError: A file cannot be changed.
        OSError: It cannot be written.
    """
    if not records:
        return
    by_kind = {kind: [record for record in records if record.kind == kind] for kind in KINDS}
    folder.path.mkdir(parents=True, exist_ok=True)
    with held(folder):
        data = b""
        for section, kind, form in (("patterns", "pattern", _pattern), ("anti_patterns", "anti-pattern", _anti)):
            if by_kind[kind]:
                made = [form(one, project) for one in by_kind[kind]]
                data = patterns.with_new(data, section, made, str(folder.patterns))
        if data:
            write_atomic(folder.patterns, data)
        if by_kind["decision"]:
            append_decisions(folder, [json_records.line_of(_decision(one, project)) for one in by_kind["decision"]])
        for one in by_kind["handoff"]:
            name = one.id if json_records.is_session_file(f"{one.id}.json") else f"session-{one.id}"
            write_atomic(folder.sessions / f"{name}.json", json_records.session_bytes(_handoff(one, project)))


def _texts(record: GivenRecord, n: int) -> list[str]:
    """The lines of a record as n texts, the last one takes what is left; of fewer lines the first texts are empty."""
    lines = [line for line in record.text.split("\n") if line.strip()]
    texts = [*lines[: n - 1], "\n".join(lines[n - 1 :])] if len(lines) >= n else lines
    return [""] * (n - len(texts)) + texts


def _pattern(record: GivenRecord, project: str) -> dict[str, Any]:
    context, problem, solution = _texts(record, 3)
    draft = patterns.PatternDraft(record.name, solution, context, problem)
    return patterns.new_pattern(record.id, draft, created_at=_WRITTEN, project=project)


def _anti(record: GivenRecord, project: str) -> dict[str, Any]:
    draft = patterns.AntiPatternDraft(record.name, *_texts(record, 3))
    return dict(patterns.new_pattern(record.id, draft, created_at=_WRITTEN, project=project))


def _decision(record: GivenRecord, project: str) -> dict[str, Any]:
    why, *alternatives = record.text.split("\n")
    draft = json_records.DecisionDraft(record.name, why, tuple(alternatives))
    return json_records.new_decision(record.id, draft, timestamp=_WRITTEN, project=project)


def _handoff(record: GivenRecord, project: str) -> dict[str, Any]:
    message = "\n".join(part for part in (record.name, record.text) if part)
    return json_records.new_session(record.id, json_records.HandoffDraft(message), created_at=_WRITTEN, project=project)


# --- every repository --------------------------------------------------------------------------------------


class GivenEverywhere:
    """The same records in every repository that is asked: they lie in a home of their own, trees stay as they are.

    Lore names no project there, so it is eligible in each.

    Args:
        records: Of any kinds.
        home: An empty folder that stands for `$HYBRID_HOME`.
    """

    def __init__(self, records: Sequence[GivenRecord], home: Path) -> None:
        self._home = home
        self._lessons = [record for record in records if record.kind == "lesson"]
        self._seen: set[str] = set()
        write_lore(LoreFolder(home / "lore", "personal"), [one for one in records if one.kind != "lesson"], "")

    def at(self, workspace: Workspace) -> Workspace:
        """A workspace with its records; the files that were indexed are those of the old home."""
        own = replace(workspace, home=self._home)
        key = own.require_project().key
        if key not in self._seen:
            # Those for all projects are there since the first repository.
            write_lessons(own, [one for one in self._lessons if not self._seen or one.id.startswith("L")])
            self._seen.add(key)
        return own


class GivenFiles(OpenIndexes):
    """Files whose index is open already, with one embedder.

    Args:
        searcher: Of them.
    """

    def __init__(self, searcher: Searcher) -> None:
        super().__init__(LoadedModels(lambda _name, _home: searcher.embedder))
        self._searcher = searcher

    def files(self, workspace: Workspace) -> Searcher:
        """Return it, whatever the workspace."""
        return self._searcher
