"""Takes over lessons of other installations: a LESSONS.md, a project's `.claude-recall` folder, or its state folder.

The other installation stays as it is. Ids are kept where they are free, and counters come along; lessons that are here
already are reported and not taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.records.lessons import writing
from hybrid.records.lessons.counters import parse_counters
from hybrid.records.lessons.document import counts_of, parse
from hybrid.records.lessons.store import LessonStore, decoded, is_text, lesson_of, read_bytes, read_counters
from hybrid.records.lessons.types import DATE, PREFIXES, checked
from hybrid.records.types import LessonsError, LessonsFileError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from hybrid.records.lessons.types import Lesson, Level
    from hybrid.records.lessons.writing import Offer

NAME = "LESSONS.md"
_PLACES = (NAME, f".claude-recall/{NAME}", f".hybrid/{NAME}")
_COUNTERS = ("lessons.stats.json", "stats.json")
"""Names of the files of counters beside a LESSONS.md: ours, and that of the tool that the format comes from."""


class ImportedLesson(Struct, frozen=True):
    """The outcome for one lesson of the source.

    Attributes:
        lesson: The lesson as the source has it.
        lesson_id: Its new id here; None when it was not taken.
        duplicate_of: Id of the lesson here that says nearly the same; empty without.
    """

    lesson: Lesson
    lesson_id: str | None
    duplicate_of: str = ""


class LessonsImport(Struct, frozen=True):
    """The outcome of an import, or of a dry run.

    Attributes:
        file: The LESSONS.md that was read.
        imported: Taken lessons, in the order of the file.
        duplicates: Lessons that were not taken, because one here says nearly the same.
        inactive: Ids of lessons that the source superseded or deleted; they are not taken.
        problems: What could not be read or taken, with file and line.
    """

    file: Path
    imported: tuple[ImportedLesson, ...]
    duplicates: tuple[ImportedLesson, ...]
    inactive: tuple[str, ...]
    problems: tuple[Problem, ...]


def find_lessons_file(path: Path) -> Path:
    """Return a path that is a file; of a folder the LESSONS.md in it, in its `.claude-recall` or in its `.hybrid`.

    Raises:
        LessonsFileError: The folder has no LESSONS.md, or there is nothing at the path.
    """
    if path.is_file():
        return path
    found = next((path / place for place in _PLACES if (path / place).is_file()), None)
    if found is None:
        raise LessonsFileError(f"{path} is no LESSONS.md and holds none; name the file or its folder")
    return found


def import_lessons(
    path: Path, targets: Mapping[Level, LessonStore | None], *, today: date, is_dry: bool = False
) -> LessonsImport:
    """Take over the lessons of a file: `L…` go to the project's store, `S…` to the one for all projects.

    Args:
        path: See `find_lessons_file`.
        targets: The store of each level; None where there is none.
        today: The date of learning where the source has none.
        is_dry: Write nothing; report what would be done.

    Raises:
        LessonsFileError: There is nothing to read, or a file cannot be written.
        LessonsError: The file has active lessons of a level that has no store.
    """
    file = find_lessons_file(path)
    data = read_bytes(file.resolve())
    if not is_text(data):
        raise LessonsFileError(f"{file} is no UTF-8 text; save it as UTF-8 first")
    lessons, problems, used = _read(file, data)
    done: list[ImportedLesson] = []
    active = [lesson for lesson in lessons if lesson.is_active]
    for level in ("project", "system"):
        mine = [lesson for lesson in active if lesson.level == level]
        store = targets.get(level)
        if mine and store is None:
            raise LessonsError(f"{file} holds lessons of a project ({mine[0].id}): go to a project, or use --project")
        if store is not None and (mine or used[level]):
            offers, unfit = _offers(mine, file)
            problems += unfit
            # Ids of what was deleted there stand in somebody's notes: here, too, they name nothing else.
            elsewhere = writing.Elsewhere(ids=used[level])
            adopted = store.adopt([offer for _, offer in offers], today=today, is_dry=is_dry, elsewhere=elsewhere)
            done += [
                ImportedLesson(lesson, one.lesson_id, one.duplicate_of.id if one.duplicate_of else "")
                for (lesson, _), one in zip(offers, adopted, strict=True)
            ]
    done.sort(key=lambda one: one.lesson.line)
    return LessonsImport(
        file,
        tuple(one for one in done if one.lesson_id),
        tuple(one for one in done if not one.lesson_id),
        tuple(lesson.id for lesson in lessons if not lesson.is_active),
        tuple(sorted(problems, key=lambda problem: problem.line)),
    )


def _read(file: Path, data: bytes) -> tuple[list[Lesson], list[Problem], dict[Level, tuple[str, ...]]]:
    """Return the lessons of a file with their counters, its problems, and for each level the highest id it ever had."""
    document = parse(decoded(data))
    beside = [parse_counters(read_counters(file.with_name(name))) for name in _COUNTERS]
    lessons: list[Lesson] = []
    for entry in document.entries:
        counters = next((found for found in beside if found.has(entry.id)), beside[0])
        lessons.append(lesson_of(entry, counters.counts(entry.id, counts_of(entry))))
    used: dict[Level, tuple[str, ...]] = {}
    for level, letter in PREFIXES.items():
        highest = max([document.largest_number(level), *(found.largest_number(letter) for found in beside)])
        used[level] = (f"{letter}{highest:03d}",) if highest else ()
    return lessons, [Problem(str(file), line, message) for line, message in document.problems], used


def _offers(lessons: Sequence[Lesson], file: Path) -> tuple[list[tuple[Lesson, Offer]], list[Problem]]:
    """Return the lessons that the form of our file can hold, each with its offer, and why others are left out."""
    offers: list[tuple[Lesson, Offer]] = []
    problems: list[Problem] = []
    for lesson in lessons:
        learned = lesson.learned if DATE.fullmatch(lesson.learned) else ""
        offer = replace(writing.offer_of(lesson), wanted=lesson.id, learned=learned)
        try:
            offers.append((lesson, replace(offer, draft=checked(offer.draft))))
        except LessonsError as error:
            problems.append(Problem(str(file), lesson.line, str(error)))
    return offers, problems
