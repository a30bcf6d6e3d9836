"""Prompts and the records that they are asked of: a file of prompts, or a folder that holds both.

`hybrid eval records` reads them. A folder of one project holds `prompts.jsonl`, `LESSONS.md` and `lore/`, and its name
is the project's; a folder of such folders may hold more files of prompts, which are asked of every project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.evaluation.measures import QrelsError
from hybrid_lab.records.report import RecordPrompt, read_record_prompts
from hybrid_lab.records.setup import copy_files, make_project, write_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hybrid_lab.records.setup import GivenRecord

PROMPTS, LESSONS, LORE = "prompts.jsonl", "LESSONS.md", "lore"


class RecordSet(Struct, frozen=True):
    """The records of one project and what is asked of it.

    Attributes:
        name: Of the project.
        prompts: Judged.
        lessons: A LESSONS.md; None for none.
        lore: A data folder of lore; None for none.
        records: Instead of both.
    """

    name: str
    prompts: tuple[RecordPrompt, ...]
    lessons: Path | None = None
    lore: Path | None = None
    records: tuple[GivenRecord, ...] = ()

    def make(self, folder: Path, environ: Mapping[str, str]) -> Path:
        """Make the project in an empty folder, with its records accepted; returns its root.

        Raises:
            HybridError: A record cannot be written as it is.
            OSError: A file cannot be written.
        """
        workspace = make_project(folder / self.name, environ)
        copy_files(workspace, self.lessons, self.lore)
        write_records(workspace, self.records)
        return workspace.require_project().root


def sets_of_folder(folder: Path) -> list[RecordSet]:
    """The sets in a folder, or in the folders of it, in order of name.

    Raises:
        QrelsError: There is none, or a file is not of its form.
    """
    if (folder / PROMPTS).is_file():
        return [_set(folder)]
    found = [_set(path.parent) for path in sorted(folder.glob(f"*/{PROMPTS}"))]
    if not found:
        raise QrelsError(f"{folder} holds no {PROMPTS}, nor does a folder in it")
    others = [prompt for path in sorted(folder.glob("*.jsonl")) for prompt in read_record_prompts(path)]
    return [
        replace(one, prompts=(*one.prompts, *(replace(other, id=f"{other.id}@{one.name}") for other in others)))
        for one in found
    ]


def of_half(sets: Sequence[RecordSet], half: str) -> list[RecordSet]:
    """The sets with the prompts of one half only; all of them for an empty half.

    Raises:
        QrelsError: No prompt is of that half.
    """
    found = [replace(one, prompts=tuple(prompt for prompt in one.prompts if half in ("", prompt.half))) for one in sets]
    if not any(one.prompts for one in found):
        raise QrelsError(f"no prompt is of the half {half!r}")
    return [one for one in found if one.prompts]


def _set(folder: Path) -> RecordSet:
    lessons, lore = folder / LESSONS, folder / LORE
    return RecordSet(
        folder.resolve().name,
        tuple(read_record_prompts(folder / PROMPTS)),
        lessons if lessons.is_file() else None,
        lore if lore.is_dir() else None,
    )
