"""The records, files and sessions of the measure of records at a file, and the trees that stand in for the projects'.

The sessions ran on trees that are not here. Where a folder of real files is given for a project it is copied, else its
files are made: those that records are about have their main definitions, those that sessions name are empty but for
their path.
"""

from __future__ import annotations

import shutil
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.measures import read_lines
from hybrid.workspace import open_workspace
from hybrid_lab.records.setup import GivenRecord, make_project, write_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid.workspace import Workspace

NAMING = ("path", "name", "symbol")
"""Ways in which a record names a file that it is about; one of any other way must never come with a file."""
PARTS = ("dev", "kept", "all")
_IDS = {
    "lesson": "L{:03}",
    "pattern": "pat-{:06}",
    "anti-pattern": "anti-{:06}",
    "decision": "dec-{:08x}",
    "handoff": "session-20260115-100000-{:08x}",
}
"""The form of an id of each kind."""
_IN_JS = "export function {0}() {{\n  return '{0}'\n}}\n"
_IN_C = "int {0}(void)\n{{\n  return 1;\n}}\n"
_DEFINED = {
    ".py": "def {0}():\n    return '{0}'\n",
    ".go": 'func {0}() string {{\n\treturn "{0}"\n}}\n',
    ".rs": "pub fn {0}() -> u32 {{\n    1\n}}\n",
    ".java": "class {0} {{\n    int number = 1;\n}}\n",
    **dict.fromkeys((".js", ".ts", ".tsx"), _IN_JS),
    **dict.fromkeys((".c", ".h", ".hpp", ".cc", ".cpp"), _IN_C),
}
"""How a made file defines a name, by its ending."""
_SKIPPED = (".git", ".hybrid", "node_modules", "__pycache__")


class FileRecord(Struct, frozen=True):
    """A record, and the files that its writer had in view.

    Attributes:
        project: Owner and name of the project.
        how: How it names them: by `path`, by the `name` of the file, by a `symbol`; `none` has no name in it, `gone`
            names what is not there any more, `common` what many files define.
        about: The files.
        record: As a store keeps it.
    """

    project: str
    how: str
    about: tuple[str, ...]
    record: GivenRecord

    @property
    def names_file(self) -> bool:
        """Whether it is to come with the files that it is about."""
        return self.how in NAMING


class MadeSession(Struct, frozen=True):
    """An invented session.

    Attributes:
        id: Unique in its file.
        project: Owner and name of the project.
        task: The prompt.
        steps: `R PATH` reads, `E PATH NAME` edits behind the definition of a name, `G "PATTERN" PATH` searches,
            `B COMMAND` runs, `F COMMAND~ERROR` runs and fails.
    """

    id: str
    project: str
    task: str
    steps: tuple[str, ...]


def read_file_records(folder: Path, part: str = "all") -> list[FileRecord]:
    """The records of a folder; every third one, from the first, is kept for the last run of who works on the engine.

    Raises:
        QrelsError: The file cannot be read, or a line is not of its form.
    """
    lines = read_lines(folder / "records.jsonl", dict)
    found = [_file_record(number, fields) for number, fields in enumerate(lines, 1)]
    return [one for number, one in enumerate(found) if part == "all" or (part == "kept") == (number % 3 == 0)]


def _file_record(number: int, fields: Mapping[str, Any]) -> FileRecord:
    record = GivenRecord(fields["kind"], _IDS[fields["kind"]].format(number), fields["name"], fields["text"])
    return FileRecord(fields["project"], fields["how"], tuple(fields["about"]), record)


def read_definitions(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Project → file → names that it defines.

    Raises:
        QrelsError: The file cannot be read, or a line is not of its form.
    """
    return {fields["project"]: fields["files"] for fields in read_lines(folder / "files.jsonl", dict)}


def read_made_sessions(folder: Path) -> list[MadeSession]:
    """The invented sessions of a folder.

    Raises:
        QrelsError: The file cannot be read, or a line is not of its form.
    """
    lines = read_lines(folder / "sessions.jsonl", dict)
    return [MadeSession(one["id"], one["project"], one["task"], tuple(one["steps"])) for one in lines]


def make_tree(
    root: Path,
    real: Path | None,
    definitions: Mapping[str, Sequence[str]],
    named: Iterable[str],
    records: Iterable[FileRecord],
    environ: Mapping[str, str],
) -> Workspace:
    """Make the tree of a project with its records, accepted; what stood there before is gone.

    Args:
        root: Top of the new tree.
        real: A folder with the project's files; None for none.
        definitions: File → names that it defines, for files that are not in `real`.
        named: Further paths, made when there is no `real`.
        records: Of the project.
        environ: Names the home.

    Raises:
        OSError: A file cannot be written.
        HybridError: A record cannot be written.
    """
    shutil.rmtree(root, ignore_errors=True)
    if real is None:
        root.mkdir(parents=True)
        definitions = dict.fromkeys(named, ()) | dict(definitions)
    else:
        shutil.copytree(real.resolve(), root, ignore=shutil.ignore_patterns(*_SKIPPED))
    for path, names in definitions.items():
        file = root / path
        if file.exists() or any(parent.is_file() for parent in file.parents):
            continue
        form = _DEFINED.get(PurePosixPath(path).suffix, "{0}\n")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join([f"// {path}\n", *map(form.format, names)]), encoding="utf-8")
    make_project(root, environ)
    workspace = open_workspace(root, environ=environ)
    write_records(workspace, [one.record for one in records])
    return workspace
