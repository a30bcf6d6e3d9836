"""The files of a working tree as documents; builds scan and read them, answers re-read a span before it is shown.

It decides what is a document and gives its text. It knows nothing of chunks or of the index, keeps nothing between
scans, and never reads anything outside the project.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.atomic import read_regular
from hybrid.sources.classify import is_secret_name, reason_by_name, reason_by_size, reason_by_text
from hybrid.sources.reading import OutsideError, join, resolve_inside
from hybrid.types import Document, FileStamp, Found, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hybrid.sources.listing import Lister, Listing
    from hybrid.types import FileKind


# Turns the bytes of a file into text; `files` calls it. It never raises and never guesses beyond what bytes show.

BINARY_PROBE_BYTES = 8192
"""Bytes looked at for a NUL; git looks at 8,000."""

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_binary(data: bytes) -> bool:
    """Return whether the first 8 KiB hold a NUL and no byte order mark explains it."""
    return b"\0" in data[:BINARY_PROBE_BYTES] and not any(data.startswith(mark) for mark, _ in _MARKS)


def decode(data: bytes) -> str:
    """Text of bytes: by byte order mark, else UTF-8, else Windows-1252, else Latin-1.

    The mark is dropped, and CR LF and lone CR become LF. Never raises: after a UTF-16 or UTF-32 mark, what cannot
    be decoded becomes U+FFFD; Latin-1 knows every byte.
    """
    return normalise_line_ends(_decode(data))


def normalise_line_ends(text: str) -> str:
    """Text with LF as its only line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decode(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    body = data.removeprefix(codecs.BOM_UTF8)
    for encoding in ("utf-8", "cp1252"):
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    return body.decode("latin-1")


SOURCE_VERSION = "1"
"""Raised whenever the same file would be read, decoded or skipped another way: an index then reads all files again."""


class FileSource:
    """The files of one project; fulfils `hybrid.types.Source`.

    Reasons for a skip: `binary`, `data`, `empty`, `generated`, `lock_file`, `minified`, `secret_file`,
    `symlink_duplicate` (its target is listed itself), `symlink_folder`, `symlink_outside`, `too_large`,
    `unknown_type`, `unreadable`, `vanished`.
    """

    def __init__(
        self,
        root: Path,
        *,
        language_of: Callable[[str, str], str | None],
        kind_of: Callable[[str, str], FileKind],
        max_file_bytes: int,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        record_paths: Sequence[str] = (),
        follow_gitignore: bool = True,
        use_git: bool = True,
    ) -> None:
        """A source of the files below a folder.

        Args:
            root: Top of the working tree, or the folder that holds `.hybrid/`.
            language_of: Language of a path and a text, None when unknown. The text is empty as long as it was not
                read; then a name without a suffix may be answered with None and is asked again with its text.
            kind_of: Kind of the document at a path in a language.
            max_file_bytes: A longer file is `too_large`.
            include: Patterns as in `.gitignore`: files to take although a rule ignores them.
            exclude: Patterns of files to leave out, over every other rule.
            record_paths: Files and folders that hold records and are never documents, besides `.hybrid/`,
                `.claude-recall/` and `.git`; relative to the root.
            follow_gitignore: Leave out what git ignores.
            use_git: Ask git when it is there; False always walks.
        """
        self._root = os.path.realpath(root)
        self._prefix = join(self._root, "")
        self._language_of = language_of
        self._kind_of = kind_of
        self._max_file_bytes = max_file_bytes
        self._include = tuple(include)
        self._exclude = tuple(exclude)
        self._record_paths = tuple(record_paths)
        self._follow_gitignore = follow_gitignore
        self._use_git = use_git
        self._skipped: Counter[str] = Counter()
        self._method = ""
        self._folders: tuple[str, ...] = ()
        self._links: set[str] = set()

    @property
    def skipped(self) -> Mapping[str, int]:
        """Files that the last scan left out, by reason, in order of the reasons; what rules ignore is not counted."""
        return dict(sorted(self._skipped.items()))

    @property
    def method(self) -> str:
        """How the last scan listed: `git`, or `walk: REASON`; empty before the first."""
        return self._method

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders where a change matters, by the last scan; see `Listing.folders`."""
        return self._folders

    @property
    def links(self) -> frozenset[str]:
        """Links that the last full scan met, and what they lead to in the project: no part can be scanned alone."""
        return frozenset(self._links)

    def scan(self) -> Iterator[Found]:
        """Every file that may be a document, sorted by path; one `stat` each, nothing is opened.

        The whole listing is made at once, so `skipped` is complete when this returns.
        """
        lister = self._lister()
        listing = lister.run()
        self._start_from(listing)
        return iter(self._look_at(listing.paths, lister.is_record))

    def scan_paths(self, paths: Sequence[str]) -> list[Found] | None:
        """What `scan` gives at or below some paths, at a cost that does not grow with the other files.

        Args:
            paths: Relative, of files and folders, there or gone; at least one, none of them empty.

        Returns:
            None when only a full scan can tell: git fails, a repository lies inside, or a link is among the files.
        """
        lister = self._lister()
        listing = lister.run_within(paths)
        if listing is None or any(Path(self._prefix + path).is_symlink() for path in listing.paths):
            return None
        self._start_from(listing)
        return self._look_at(listing.paths, lister.is_record)

    def _lister(self) -> Lister:
        from hybrid.sources.listing import Lister, ListingOptions  # Not needed to re-read a span.

        options = ListingOptions(
            include=self._include,
            exclude=self._exclude,
            record_paths=self._record_paths,
            follow_gitignore=self._follow_gitignore,
            use_git=self._use_git,
        )
        return Lister(self._root, options)

    def has_more_files(self, limit: int) -> bool:
        """Return whether the project has more than so many files of any type; counting stops there."""
        return self._lister().has_more_files(limit)

    def _start_from(self, listing: Listing) -> None:
        self._method = listing.method
        self._folders = tuple(listing.folders)
        self._links = set()
        self._skipped = Counter({"unreadable": listing.n_unreadable} if listing.n_unreadable else {})

    def read(self, found: Found) -> Document | Skipped:
        """One file as a document, or why not; never raises for what is on disk."""
        try:
            data = self._bytes(found.path)
        except OSError as error:
            return Skipped(found.path, _reason_of(error))
        reason = reason_by_size(found.path, len(data), max_bytes=self._max_file_bytes)
        if reason is None and is_binary(data):
            reason = "binary"
        return Skipped(found.path, reason) if reason is not None else self._document(found.path, decode(data))

    def read_text(self, path: str) -> str | None:
        """Text of one file, decoded as `read` does.

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

    def _document(self, path: str, text: str) -> Document | Skipped:
        language = self._language_of(path, text)
        if language is None:
            return Skipped(path, "unknown_type")
        kind = self._kind_of(path, language)
        reason = reason_by_text(text, is_code=kind == "code")
        if reason is not None:
            return Skipped(path, reason)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return Document(path, kind, language, text, digest)

    def _look_at(self, paths: list[str], is_record: Callable[[str], bool]) -> list[Found]:
        found: list[Found] = []
        taken = set(paths)
        for path in paths:
            looked = self._look(path, taken, is_record)
            if isinstance(looked, Found):
                found.append(looked)
            elif looked is not None:
                self._skipped[looked] += 1
        return found

    def _look(self, path: str, taken: set[str], is_record: Callable[[str], bool]) -> Found | str | None:
        """The file, the reason for a skip, or None for what is no file: gone, or the folder of a submodule."""
        try:
            status = os.lstat(self._prefix + path)
        except (OSError, ValueError):
            return None
        if stat.S_ISLNK(status.st_mode):
            return self._look_at_link(path, taken, is_record)
        return self._judge(path, status) if stat.S_ISREG(status.st_mode) else None

    def _look_at_link(self, path: str, taken: set[str], is_record: Callable[[str], bool]) -> Found | str:
        """A link counts as a file when its target is a file of the project that is not offered itself."""
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
        if reason is None and "." in path.rpartition("/")[2] and self._language_of(path, "") is None:
            reason = "unknown_type"
        return reason or Found(path, FileStamp(status.st_size, status.st_mtime_ns))


def _reason_of(error: OSError) -> str:
    if isinstance(error, OutsideError):
        return "symlink_outside"
    is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
    return "vanished" if is_gone else "unreadable"
