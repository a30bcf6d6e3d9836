"""The files of a working tree as documents; builds scan and read them, answers re-read a span before it is shown.

It decides what is a document and gives its text. It knows nothing of chunks or of the index, keeps nothing between
scans, and never reads anything outside the project.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.atomic import read_regular
from hybrid.base.text import document_digest
from hybrid.sources.file_rules import (
    OutsideError,
    decode,
    is_binary,
    is_secret_name,
    join,
    reason_by_name,
    reason_by_size,
    reason_by_text,
    resolve_inside,
)
from hybrid.sources.patterns import EVERY_FILE, ListingOptions
from hybrid.types import Document, FileStamp, Found, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hybrid.sources.listing import LeftOut, Lister, Listing
    from hybrid.types import FileKind


SOURCE_VERSION = "1"
"""Raised whenever the same file would be read, decoded or skipped another way: an index then reads all files again."""


class FileTypes(Struct, frozen=True):
    """Functions that tell the language and the kind of a file, as `hybrid.chunking.languages` has them.

    Attributes:
        language_of: Language of a path and a text, None when unknown. The text is empty as long as it was not read;
            then a name without a suffix may be answered with None and is asked again with its text.
        kind_of: Kind of the document at a path in a language.
    """

    language_of: Callable[[str, str], str | None]
    kind_of: Callable[[str, str], FileKind]


class FileReader:
    """Reads single files of one project, and never one outside of it."""

    def __init__(self, root: Path, max_file_bytes: int) -> None:
        """Set the folder, and the most bytes of a file that is read."""
        self._root = os.path.realpath(root)
        self._prefix = join(self._root, "")
        self._max_file_bytes = max_file_bytes

    def read_text(self, path: str) -> str | None:
        """Return the text of one file, decoded as by `FileSource.read`.

        Args:
            path: As in `Found`.

        Returns:
            None when the file is gone, unreadable, longer than the limit, made for secrets, or not of the project.
        """
        if ".git" in path.split("/") or is_secret_name(path):
            return None
        try:
            data = self._bytes(path)
        except OSError:
            return None
        return None if len(data) > self._max_file_bytes else decode(data)

    def _bytes(self, path: str) -> bytes:
        return read_regular(resolve_inside(self._root, path), self._max_file_bytes)


class FileSource(FileReader):
    """The files of one project; fulfils `hybrid.types.Source`.

    Reasons for a skip: `binary`, `data`, `empty`, `generated`, `lock_file`, `minified`, `secret_file`,
    `symlink_duplicate` (its target is listed itself), `symlink_folder`, `symlink_outside`, `too_large`,
    `unknown_type`, `unreadable`, `vanished`.
    """

    def __init__(
        self, root: Path, types: FileTypes, *, max_file_bytes: int, options: ListingOptions = EVERY_FILE
    ) -> None:
        """A source of the files below a folder.

        Args:
            root: Top of the working tree, or the folder that holds `.hybrid/`.
            types: Functions for the language and the kind of a file.
            max_file_bytes: A longer file is left out as `too_large`.
            options: Which files are listed.
        """
        super().__init__(root, max_file_bytes)
        self._types = types
        self._options = options
        self._skipped: Counter[str] = Counter()
        self._links: set[str] = set()
        self.method = ""
        """The origin of the last scan's paths, `git` or `walk: REASON`; empty before the first scan."""
        self.folders: tuple[str, ...] = ()
        """Folders to watch for a change, by the last scan; see `Listing.folders`."""
        self.repositories: tuple[str, ...] = ()
        """Repositories inside whose files the last scan listed; see `Listing.repositories`."""
        self.left_out: Mapping[str, LeftOut] = {}
        """Repository inside → why the last scan left it out; see `Listing.left_out` and `find_ignored`."""
        self.refused: Mapping[str, str] = {}
        """Repository → why git did not list it for the last scan; see `Listing.refused`."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """Reason → number of files that the last scan left out for it; files that rules ignore are not counted."""
        return dict(sorted(self._skipped.items()))

    @property
    def links(self) -> frozenset[str]:
        """Paths of the links that the last scan met, and of their targets in the project; empty after `scan_paths`."""
        return frozenset(self._links)

    def scan(self, *, finds_ignored: bool = False) -> Iterator[Found]:
        """Return every file that may be a document, sorted by path; one `stat` each, nothing is opened.

        The whole listing is made at once, so `skipped` is complete when this returns.

        Args:
            finds_ignored: Look for repositories in ignored folders too, and add them to `left_out`.
        """
        lister = self._lister()
        listing = lister.run()
        found = self._look_at(listing, lister.is_record)
        if finds_ignored:
            self.left_out = {**lister.find_ignored(listing), **self.left_out}
        return iter(found)

    def scan_paths(self, paths: Sequence[str]) -> list[Found] | None:
        """Return the files that `scan` gives at or below some paths, at a cost that does not grow with the other files.

        Args:
            paths: Relative, of files and folders, there or gone; at least one, none of them empty.

        Returns:
            None when only a full scan can tell: git fails, a link is among the files, or a working tree of another
            repository that may have a second one in the project.
        """
        lister = self._lister()
        listing = lister.run_within(paths)
        if listing is None or any(Path(self._prefix + path).is_symlink() for path in listing.paths):
            return None
        return self._look_at(listing, lister.is_record)

    def _lister(self) -> Lister:
        from hybrid.sources.listing import Lister  # Not needed to re-read a span.

        return Lister(self._root, self._options)

    def has_more_files(self, limit: int) -> bool:
        """Return whether more than `limit` files of any type are not ignored; counting stops there.

        When git lists the files, those that `.hybridignore` or `index.exclude` leaves out are counted too.
        """
        return self._lister().has_more_files(limit)

    def read(self, found: Found) -> Document | Skipped:
        """Read one file as a document, or say why not; never raises for what is on disk."""
        try:
            data = self._bytes(found.path)
        except OSError as error:
            return Skipped(found.path, _reason_of(error))
        reason = reason_by_size(found.path, len(data), max_bytes=self._max_file_bytes)
        if reason is None and is_binary(data):
            reason = "binary"
        return Skipped(found.path, reason) if reason is not None else self._document(found.path, decode(data))

    def _document(self, path: str, text: str) -> Document | Skipped:
        language = self._types.language_of(path, text)
        if language is None:
            return Skipped(path, "unknown_type")
        kind = self._types.kind_of(path, language)
        reason = reason_by_text(text, is_code=kind == "code")
        if reason is not None:
            return Skipped(path, reason)
        return Document(path, kind, language, text, document_digest(text))

    def _look_at(self, listing: Listing, is_record: Callable[[str], bool]) -> list[Found]:
        """Return the listed files that may be documents, in order; keep what else the scan found out."""
        self.method = listing.method
        self.folders = tuple(listing.folders)
        self.repositories, self.left_out = tuple(listing.repositories), listing.left_out
        self.refused = listing.refused
        self._links = set()
        self._skipped = Counter({"unreadable": listing.n_unreadable} if listing.n_unreadable else {})
        files: list[Found] = []
        taken = set(listing.paths)
        for path in listing.paths:
            looked = self._look(path, taken, is_record)
            if isinstance(looked, Found):
                files.append(looked)
            elif looked is not None:
                self._skipped[looked] += 1
        return files

    def _look(self, path: str, taken: set[str], is_record: Callable[[str], bool]) -> Found | str | None:
        """Return the file at a path, the reason to leave it out, or None when it is gone or no file.

        A link gives its target under the path of the link, and the target is added to `taken`. One that is in it
        already, as a listed file or by another link, is left out; so is one that is, or lies in, what `is_record`
        knows.
        """
        try:
            status = os.lstat(self._prefix + path)
        except (OSError, ValueError):
            return None
        if stat.S_ISLNK(status.st_mode):
            return self._look_at_link(path, taken, is_record)
        return self._judge(path, status) if stat.S_ISREG(status.st_mode) else None

    def _look_at_link(self, path: str, taken: set[str], is_record: Callable[[str], bool]) -> Found | str:
        """Return the target of a link under the path of the link, or the reason to leave the link out.

        The target must be a file of the project that is not in `taken`, to which it is added.
        """
        self._links.add(path)
        real = os.path.realpath(self._prefix + path)
        if real.startswith(self._prefix):
            self._links.add(real[len(self._prefix) :].replace(os.sep, "/"))
        try:
            real = resolve_inside(self._root, path)
            status = os.lstat(real)
        except OSError as error:
            return "symlink_outside" if isinstance(error, OutsideError) else "vanished"
        target = os.path.relpath(real, self._root).replace(os.sep, "/")
        if stat.S_ISLNK(status.st_mode):  # a loop
            return "vanished"
        if stat.S_ISDIR(status.st_mode):
            return "symlink_folder"
        if target in taken:
            return "symlink_duplicate"
        reason = "unreadable" if not stat.S_ISREG(status.st_mode) else self._reason_of_target(target, is_record)
        if reason is not None:
            return reason
        looked = self._judge(path, status)
        if isinstance(looked, Found):
            taken.add(target)
        return looked

    def _reason_of_target(self, target: str, is_record: Callable[[str], bool]) -> str | None:
        parts = target.split("/")
        above = ("/".join(parts[:n]) for n in range(1, len(parts) + 1))
        if ".git" in parts or any(is_record(path) for path in above):
            return "symlink_outside"
        return reason_by_name(target)

    def _judge(self, path: str, status: os.stat_result) -> Found | str:
        reason = reason_by_name(path) or reason_by_size(path, status.st_size, max_bytes=self._max_file_bytes)
        if reason is None and "." in path.rpartition("/")[2] and self._types.language_of(path, "") is None:
            reason = "unknown_type"
        return reason or Found(path, FileStamp(status.st_size, status.st_mtime_ns))


def _reason_of(error: OSError) -> str:
    if isinstance(error, OutsideError):
        return "symlink_outside"
    is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
    return "vanished" if is_gone else "unreadable"
