"""The two files of a store, read together and changed as one step; `store` says what a change is.

A change holds the lock, reads both files anew, and replaces the file of lessons only if it still holds what was read.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import locked
from hybrid.project.find import FOLDER_NAME
from hybrid.records.errors import LessonsBusyError, LessonsFileError
from hybrid.records.lessons import files
from hybrid.records.lessons.counters import Counters, parse_counters, read_counters, save_counters
from hybrid.records.lessons.document import LessonsDocument, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from hybrid.records.lessons.counting import Change
    from hybrid.records.lessons.lesson import Level

_TRIES = 20
_THEIRS = "stats.json"
"""Counters of the tool that the older form comes from, in its later versions; read, never written."""


class Content(Struct, frozen=True):
    """What the files hold at one moment; None for counters that cannot be read.

    Attributes:
        data: The file of lessons.
        beside: Our counters.
        theirs: The counters of the other tool that a file is shared with; empty for a file of ours.
    """

    data: bytes
    beside: bytes | None
    theirs: bytes | None = b""


class Storage:
    """A LESSONS.md and the counters beside it.

    Args:
        file: The LESSONS.md; it need not exist.
        counters: The file of counters; its folder also holds the lock.
        level: A project's file must not lead out of its tree.
        keeps_inline: Counters of the older form stay in the file.
        lock_s: How long a change waits for another process, in seconds.
    """

    def __init__(self, file: Path, counters: Path, *, level: Level, keeps_inline: bool, lock_s: float) -> None:
        self._file = file
        self._counters = counters
        self._theirs = file.with_name(_THEIRS)
        self._tree = file.parent.parent if level == "project" else None
        self._is_committed = level == "project" and file.parent.name == FOLDER_NAME
        self._keeps_inline = keeps_inline
        self._lock_s = lock_s
        self._parsed: tuple[bytes, LessonsDocument] | None = None

    def stamps(self) -> tuple[files.Stamp, ...]:
        """Of every file that is read."""
        read = [self._file, self._counters, *([self._theirs] if self._keeps_inline else [])]
        return tuple(map(files.stamp_of, read))

    def content(self) -> Content:
        """What both files hold now.

        Raises:
            LessonsFileError: The file of lessons is too long, cannot be read, or leads out of the tree.
        """
        theirs = read_counters(self._theirs) if self._keeps_inline else b""
        return Content(files.read_bytes(self._target()), read_counters(self._counters), theirs)

    def values(self, content: Content) -> tuple[LessonsDocument, Counters]:
        """The same as values; a document is parsed once."""
        if self._parsed is None or self._parsed[0] != content.data:
            self._parsed = (content.data, parse(files.decoded(content.data)))
        counters = parse_counters(content.beside)
        return self._parsed[1], counters.seeded(parse_counters(content.theirs)) if content.theirs else counters

    def change(self, step: Callable[[LessonsDocument, Counters], Change]) -> None:
        """Make a change on what the files hold then; a step may be called again when a file changes meanwhile.

        Raises:
            LessonsBusyError: Another process holds the lock, or the file changes all the time.
            LessonsFileError: A file cannot be read or written.
        """
        with self._held():
            for _ in range(_TRIES):
                with contextlib.suppress(files.ChangedError):
                    self._attempt(step)
                    return
        raise LessonsBusyError(f"{self._file} changes all the time; try again when nobody writes it")

    def _attempt(self, step: Callable[[LessonsDocument, Counters], Change]) -> None:
        from hybrid.records.lessons.counting import moved  # As in `store`: a prompt changes nothing.

        content = self.content()
        if not files.is_text(content.data):
            raise LessonsFileError(f"{self._file} is no UTF-8 text, so nothing was written; save it as UTF-8 first")
        document, found = self.values(content)
        counters = found if self._keeps_inline else moved(document, found)
        changed = step(document, counters)
        after = changed.document
        is_written = after is not document and after.text != document.text
        if is_written:
            if counters is not found:
                # First beside, then out of the file: a process that is killed between the two has lost nothing.
                self._save(counters, durable=True)
                counters = replace(counters, is_damaged=False)
                changed = replace(changed, counters=replace(changed.counters, is_damaged=False))
                after = after.without_counters()
            data = files.encoded(after.text)
            files.replace_bytes(self._target(), data, before=content.data, is_committed=self._is_committed)
            self._parsed = (data, after)
        if changed.counters != counters:
            try:
                self._save(changed.counters, durable=False)
            except LessonsFileError:
                # The file for people is written, so the change stands; a disk that is full costs counts, no lesson.
                if not is_written:
                    raise

    def _target(self) -> Path:
        return files.target_of(self._file, self._tree)

    def _save(self, counters: Counters, *, durable: bool) -> None:
        try:
            save_counters(self._counters, counters, durable=durable)
        except OSError as error:
            message = f"{self._counters} cannot be written ({error.strerror}): check rights and space"
            raise LessonsFileError(message) from error

    @contextlib.contextmanager
    def _held(self) -> Generator[None]:
        lock = self._counters.with_name(f"{self._counters.name}.lock")
        with locked(lock, self._lock_s) as is_held:
            if not is_held:
                raise LessonsBusyError(f"{lock} cannot be locked: is its folder writable, is another process writing?")
            yield
