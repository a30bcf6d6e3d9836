"""Reads and replaces a LESSONS.md: no link leads out of where it belongs, and nobody else's write is lost."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.records.errors import LessonsFileError

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 5_000_000
"""A longer file is refused: nobody wrote that many rules by hand."""

Stamp = tuple[str, int, int, int, int]
"""Path, size in bytes, time of the last write and of the last change of any kind in ns, inode; all 0 when missing."""

_COMMITTED_RIGHTS = 0o644

_NOT_TEXT = (b"\xff\xfe", b"\xfe\xff")


class ChangedError(Exception):
    """The file is not as it was read; read it again."""


def target_of(file: Path, tree: Path | None) -> Path:
    """The file that is read and written: where a link in its place leads to.

    Args:
        file: Path of the LESSONS.md; it need not exist.
        tree: Folder that the file must lie in, after all links; None for one that may lie anywhere.

    Raises:
        LessonsFileError: It leads out of the tree, into `.git`, or to what is no Markdown file.
    """
    real = file.resolve()
    if tree is None:
        return real
    root = tree.resolve()
    is_inside = real.is_relative_to(root) and ".git" not in real.relative_to(root).parts
    if not is_inside or real.suffix.lower() != ".md":
        raise LessonsFileError(
            f"{file} is a link to {real}, which is no Markdown file of the project: replace the link"
        )
    return real


def read_bytes(target: Path) -> bytes:
    """All of a file; empty when it is missing.

    Raises:
        LessonsFileError: It is too long, not readable, or not a regular file.
    """
    try:
        data = read_regular(target, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise LessonsFileError(f"{target} cannot be read ({error.strerror}): check what stands there") from error
    if len(data) > MAX_BYTES:
        raise LessonsFileError(f"{target} is longer than {MAX_BYTES // 1_000_000} MB: no lessons are read; shorten it")
    return data


def is_text(data: bytes) -> bool:
    """False for UTF-16 and for what holds zero bytes: such a file is neither read nor written."""
    return not data.startswith(_NOT_TEXT) and b"\x00" not in data


def decoded(data: bytes) -> str:
    """The text of a file; bytes that are no UTF-8 survive `encoded`."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of a text that `decoded` gave."""
    return text.encode("utf-8", "surrogateescape")


def replace_bytes(target: Path, data: bytes, *, before: bytes, is_committed: bool) -> None:
    """Replace a file as one step, if it still holds what was read; it keeps its rights.

    Args:
        target: See `target_of`.
        data: The new content.
        before: What was read.
        is_committed: A new file gets the ordinary rights of a working tree, not those of a private file.

    Raises:
        ChangedError: It does not.
        LessonsFileError: It cannot be written; the old file is untouched.
    """

    def check() -> None:
        if read_bytes(target) != before:
            raise ChangedError

    try:
        if is_committed and not before:
            _make_ordinary(target)
        write_atomic(target, data, before_replace=check)
    except OSError as error:
        raise LessonsFileError(f"{target} cannot be written ({error.strerror}): check rights and space") from error


def _make_ordinary(target: Path) -> None:
    """Make an empty file that others may read, as far as the umask lets them; one that is there stays.

    Raises:
        OSError: The folder is read-only.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _COMMITTED_RIGHTS))


def stamp_of(path: Path) -> Stamp:
    """What changes when a file is changed or replaced, also when its times are set back; a link is followed."""
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of `Path.stat`, and asked on every prompt
    except OSError:
        return str(path), 0, 0, 0, 0
    return str(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
