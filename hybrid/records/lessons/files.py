"""The two files of a store, a LESSONS.md and the counters beside it: read together, and changed as one step.

No link leads out of where the files belong, and nobody else's write is lost: a change holds the lock, reads both files
anew, and replaces the LESSONS.md only if it still holds what was read. `store` says what a change is.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import locked, read_regular, write_atomic
from hybrid.base.stamps import Stamp, stamp_of
from hybrid.project.find import FOLDER_NAME
from hybrid.records.errors import LessonsBusyError, LessonsFileError
from hybrid.records.lessons.counters import Counters, parse_counters, save_counters
from hybrid.records.lessons.document import LessonsDocument, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from hybrid.records.lessons.reading import LessonsChange
    from hybrid.records.lessons.types import Level


MAX_BYTES = 5_000_000
"""The most bytes of a LESSONS.md that is read; nobody writes more rules by hand."""

_MAX_COUNTER_BYTES = 16_000_000

_COMMITTED_RIGHTS = 0o644

_NOT_TEXT = (b"\xff\xfe", b"\xfe\xff")


class ChangedError(Exception):
    """Another writer changed the file after it was read; the caller reads it again."""


def read_bytes(target: Path, limit_bytes: int = MAX_BYTES) -> bytes:
    """Return all of a file; empty when it is missing.

    Raises:
        LessonsFileError: The file is longer than the limit, not readable, a link, or not a regular file.
    """
    try:
        data = read_regular(target, limit_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise LessonsFileError(f"{target} cannot be read ({error.strerror}): check what stands there") from error
    if len(data) > limit_bytes:
        raise LessonsFileError(
            f"{target} is longer than {limit_bytes // 1_000_000} MB: no lessons are read; shorten it"
        )
    return data


def read_counters(path: Path) -> bytes | None:
    """Return the bytes of a file of counters: empty when missing, None when it is a link, too long or not readable."""
    try:
        return read_bytes(path, _MAX_COUNTER_BYTES)
    except LessonsFileError:
        return None


def is_text(data: bytes) -> bool:
    """Return False for UTF-16 and for bytes with a zero among them: such a file is neither read nor written."""
    return not data.startswith(_NOT_TEXT) and b"\x00" not in data


def decoded(data: bytes) -> str:
    """Return the text of a file; bytes that are no UTF-8 become lone surrogates, which `encoded` turns back."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes of a text that `decoded` gave."""
    return text.encode("utf-8", "surrogateescape")


def replace_bytes(target: Path, data: bytes, *, before: bytes, is_committed: bool) -> None:
    """Replace a file as one step, if it still holds the bytes that were read; its access rights stay.

    Args:
        target: The real path, after all links.
        data: The new content.
        before: The bytes that were read.
        is_committed: A new file gets the ordinary rights of a working tree, not those of a private file.

    Raises:
        ChangedError: The file holds other bytes now.
        LessonsFileError: The file cannot be written; the old file is untouched.
    """

    def check() -> None:
        if read_bytes(target) != before:
            raise ChangedError

    try:
        if is_committed and not before:  # Other users may read it, if the umask lets them.
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _COMMITTED_RIGHTS))
        write_atomic(target, data, before_replace=check)
    except OSError as error:
        raise LessonsFileError(f"{target} cannot be written ({error.strerror}): check rights and space") from error


_TRIES = 20
_THEIRS = "stats.json"
"""Name of the file in which later versions of the other tool keep counters; it is read, never written."""


class Content(Struct, frozen=True):
    """The bytes of the files at one moment; None for counters that cannot be read.

    Attributes:
        data: The LESSONS.md.
        beside: Our file of counters.
        theirs: The file of counters of the other tool that the LESSONS.md is shared with; empty when it is ours alone.
    """

    data: bytes
    beside: bytes | None
    theirs: bytes | None = b""


class Storage:
    """A LESSONS.md and the counters beside it.

    Args:
        file: The LESSONS.md; it need not exist.
        counters: The file of counters; its folder also holds the lock.
        level: `project` refuses a link that leads out of the tree, `system` does not.
        keeps_inline: Counters of the older form stay in the LESSONS.md.
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

    def stamps(self) -> tuple[Stamp | None, ...]:
        """Return the stamps of the LESSONS.md and of each file of counters that is read; None for a missing one."""
        read = [self._file, self._counters, *([self._theirs] if self._keeps_inline else [])]
        return tuple(stamp_of(path, follows_links=True) for path in read)

    def content(self) -> Content:
        """Return the bytes of the LESSONS.md and of the files of counters as they are now.

        Raises:
            LessonsFileError: The LESSONS.md is too long, cannot be read, or leads out of the tree.
        """
        theirs = read_counters(self._theirs) if self._keeps_inline else b""
        return Content(read_bytes(self._target()), read_counters(self._counters), theirs)

    def values(self, content: Content) -> tuple[LessonsDocument, Counters]:
        """Return the bytes as values; the last document is kept parsed.

        The uses that the other tool counted stand only at lessons whose uses are not counted in our file.
        """
        if self._parsed is None or self._parsed[0] != content.data:
            self._parsed = (content.data, parse(decoded(content.data)))
        counters = parse_counters(content.beside)
        return self._parsed[1], counters.seeded(parse_counters(content.theirs)) if content.theirs else counters

    def change(self, step: Callable[[LessonsDocument, Counters], LessonsChange]) -> None:
        """Read both files, apply a step to them and write the outcome; start again when somebody writes in between.

        Raises:
            LessonsBusyError: Another process holds the lock, or the file changes all the time.
            LessonsFileError: A file cannot be read or written.
        """
        with self._held():
            for _ in range(_TRIES):
                with contextlib.suppress(ChangedError):
                    self._attempt(step)
                    return
        raise LessonsBusyError(f"{self._file} changes all the time; try again when nobody writes it")

    def _attempt(self, step: Callable[[LessonsDocument, Counters], LessonsChange]) -> None:
        from hybrid.records.lessons.writing import moved  # As in `store`: a prompt changes nothing.

        content = self.content()
        if not is_text(content.data):
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
            data = encoded(after.text)
            replace_bytes(self._target(), data, before=content.data, is_committed=self._is_committed)
            self._parsed = (data, after)
        if changed.counters != counters:
            try:
                self._save(changed.counters, durable=False)
            except LessonsFileError:
                # The file for people is written, so the change stands; a disk that is full costs counts, no lesson.
                if not is_written:
                    raise

    def _target(self) -> Path:
        """Return the real path of the LESSONS.md, after all links; this path is read and written.

        Raises:
            LessonsFileError: The path leads out of the tree, into `.git`, or to a file that is no Markdown.
        """
        real = self._file.resolve()
        if self._tree is None:
            return real
        root = self._tree.resolve()
        is_inside = real.is_relative_to(root) and ".git" not in real.relative_to(root).parts
        if not is_inside or real.suffix.lower() != ".md":
            raise LessonsFileError(
                f"{self._file} is a link to {real}, which is no Markdown file of the project: replace the link"
            )
        return real

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
