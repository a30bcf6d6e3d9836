"""Finds what a record names of the project's code, and where that is now: records are raised, marked, withheld by it.

Names are paths with the ending of a file, and symbols that are spelled as only code is, or stand in backticks. Plain
words are none, and a name that cannot be found says nothing by itself: it may be an example, or a library's. That a
file is gone is certain only when git saw it deleted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.tokens import folded, tokens_of_word
from hybrid.index.backend import EVERYTHING
from hybrid.prompting.content import FILE_EXTENSIONS, identifiers, paths

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.index.backend import SearchBackend
    from hybrid.index.history import History
    from hybrid.prompting.query import Query
    from hybrid.records.types import Record

_MOST_NAMES = 12
"""Paths, and symbols, of one record that are looked up; one that names more is a list."""
_MOST_NOTES = 3
_MOST_DEFINITIONS = 16
"""Definitions of one name that are looked at; a name with more has no place of its own."""

_MOST_ANNOUNCING = 3
"""Files of one name among which the one that defines it is looked for."""

_OUTSIDE = re.compile(r"[A-Za-z]:|[/\\~]|.*\.\.(?:[/\\]|$)")
"""Beginning of a path that is not one of the project: absolute, of a home, or upwards."""
_EVERYWHERE = re.compile(r"(?:__init__|__main__|index|main|mod|lib|readme|conftest|setup)\.\w+", re.IGNORECASE)
"""Names of files that many folders have: another file of such a name is not the one that moved."""
_MARKED = re.compile(r"`([\w.:]{1,200})(?:\(\))?`|(?<![\w.])([A-Za-z_][\w.]{1,200})\(\)")
"""A symbol that its writer marked as code, by backticks or as a call."""
_SHAPED = re.compile(r"[a-z0-9]+_\w*|_\w+|\w*[a-z][A-Z]\w*")
"""Spelling of a symbol that no language and no variable of an environment has."""
_JOINT = re.compile(r"\.|::|->|#|\\")
_OF_THE_PAST = re.compile(
    r"\b(?:remov|delet|drop|replac|renam|retir|deprecat|obsolet|supersed|instead|former|legacy|mov(?:ed|ing|e to)\b|"
    r"split|merged|migrat|rewr|ported|extract|gone\b|was\b|were\b|old\b|previous|"
    r"used to\b|no longer\b|not? (?:any ?)?more\b)",
    re.IGNORECASE,
)
"""Words of a record that tells of what is no more: it is as true as ever."""
_COMPARED = re.compile(r"\b(?:as|like|than) (?:in )?`?([\w./\\-]+)")
"""A name that something is compared with: `as src/a.py does`."""


class CodeNames(Struct, frozen=True):
    """The names of code in a text, each once, in order.

    Attributes:
        paths: Paths and names of files, relative, with `/`.
        symbols: Names of definitions, with their owners as typed: `Router.add`.
        marked: Those of `symbols` that are shaped like code and marked as such, by backticks or brackets.
    """

    paths: tuple[str, ...]
    symbols: tuple[str, ...]
    marked: frozenset[str]


class Standing(Struct, frozen=True):
    """The fate of the code that a record names.

    Attributes:
        files: The files that it names where they are now, and those that alone define a symbol that it names.
        notes: Sentences on what moved or is not there, for whoever reads the record.
        is_gone: All that it names is gone for certain, its title names it, and it does not tell of the past.
        has_lost_symbols: No symbol that it marks as code is in the code, and it does not tell of the past.
    """

    files: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    is_gone: bool = False
    has_lost_symbols: bool = False


NAMES_NOTHING = Standing()


class _Place(Struct, frozen=True):
    """The whereabouts of one path: `file` and its number, when it is one file; a note; or gone for certain."""

    file: str = ""
    number: int = -1
    note: str = ""
    is_gone: bool = False


_THERE = _Place()


@lru_cache(maxsize=4096)
def code_names(text: str) -> CodeNames:
    """Return the names of code in a text; kept for the last texts, since records are read again with every prompt."""
    found = (path.replace("\\", "/").removeprefix("./") for path in paths(text) if not _OUTSIDE.match(path))
    files = dict.fromkeys(path for path in found if path.rpartition(".")[2].lower() in FILE_EXTENSIONS)
    symbols = [name.strip(".") for name in identifiers(text) if not name.startswith(("-", "$", "@"))]
    marked: list[str] = [match[1] or match[2] for match in _MARKED.finditer(text)]
    shaped = frozenset(name for name in marked if _SHAPED.fullmatch(_last(name)))
    return CodeNames(tuple(files)[:_MOST_NAMES], tuple(dict.fromkeys(symbols))[:_MOST_NAMES], shaped)


class ProjectCode:
    """The code of a project as one prompt sees it; it keeps what it found.

    Args:
        root: Top of the working tree.
        backend: The open index of its files.
        history: What its earlier commits tell; None for nothing.
        fitting: Paths of the files that fit the prompt best; empty when none does.
    """

    def __init__(self, root: Path, backend: SearchBackend, history: History | None, fitting: frozenset[str]) -> None:
        self.fitting = fitting
        self._root = root
        self._backend = backend
        self._history = history
        self._known: dict[tuple[str, tuple[str, ...]], Standing] = {}

    def standing(self, record: Record) -> Standing:
        """Return what became of the code that a record of this project names; of one that names none, nothing did."""
        key = record.name, record.lines
        if key not in self._known:
            self._known[key] = self._find(_text_of(record), record.name)
        return self._known[key]

    def beside(self, record: Record) -> frozenset[str]:
        """Return the files that a record names and that are among those that fit the prompt best."""
        return self.standing(record).files & self.fitting if self.fitting else frozenset()

    def is_withheld(self, record: Record, query: Query) -> bool:
        """Return whether a record is about code that is gone, and the prompt names none of that."""
        if not self.standing(record).is_gone:
            return False
        names = code_names(_text_of(record))
        said = query.text.lower()
        gone = (path.rpartition("/")[2] for path in names.paths)
        return not any(name.lower() in said for name in (*gone, *map(_last, names.symbols)))

    def _find(self, text: str, title: str) -> Standing:
        names = code_names(text)
        if not names.paths and not names.symbols:
            return NAMES_NOTHING
        plain = text
        for name in (*names.paths, *names.symbols):
            plain = plain.replace(name, "")
        is_past = bool(_OF_THE_PAST.search(plain))
        places = {path: self._place(path) for path in names.paths}
        rows = {symbol: self._definitions(symbol) for symbol in names.symbols}
        homes = {symbol: self._home(symbol, found) for symbol, found in rows.items()}
        missing = [one for one in names.symbols if not len(rows[one]) and not self._is_held(_last(one))]
        notes = [place.note for place in places.values() if place.note and not (is_past and not place.file)]
        notes += self._moved_symbols(text, homes, places)
        if not is_past:
            notes += [f"`{symbol}` is not found in the code" for symbol in missing if symbol in names.marked]
        files = {place.file for place in places.values()} | set(homes.values())
        is_gone = (
            not is_past
            and any(path in code_names(title).paths for path in places)
            and all(place.is_gone for place in places.values())
            and len(missing) == len(names.symbols)
        )
        is_lost = not is_past and bool(names.marked) and names.marked <= set(missing)
        return Standing(frozenset(files - {""}), tuple(notes[:_MOST_NOTES]), is_gone, is_lost)

    def defined_in(self, path: str) -> dict[str, bool]:
        """Return the names of what a file of the index defines, as written → whether it is more than a method."""
        found = self._backend.names.files_called(path.split("/"))
        number = next((number for number, called in found if called == path), None)
        return {} if number is None else self._outlined(number)

    def _outlined(self, number: int) -> dict[str, bool]:
        outline = self._backend.fields.outline(number)
        return {outline.name(place): kind != "method" for place, kind in enumerate(outline.kinds)}

    def _place(self, path: str) -> _Place:
        """Return where a path is now; a path may be shortened at its beginning, as people write it."""
        called = {
            found: number
            for number, found in self._backend.names.files_called(path.split("/"))
            if (found == path or found.endswith(f"/{path}")) and self._is_on_disk(found)
        }
        if path in called or len(called) == 1:
            file = path if path in called else next(iter(called))
            return _Place(file, called[file])
        if called or self._is_on_disk(path):
            # A file that is not indexed, since a program made it, is a place too; a folder is none.
            return _Place(path) if not called and (self._root / path).is_file() else _THERE
        renamed = self._history.renamed(path) if self._history else ""
        if renamed and self._is_on_disk(renamed):
            return _Place(renamed, note=f"{path} is now {renamed}")
        alike = self._alike(path.rpartition("/")[2])
        if len(alike) == 1 and "/" in path:
            return _Place(alike[0], note=f"{path} is not there; {alike[0]} has its name")
        is_gone = not alike and self._history is not None and self._history.was_deleted(renamed or path)
        return _Place(note=f"{path} is not there" if is_gone or "/" in path else "", is_gone=is_gone)

    def _alike(self, name: str) -> list[str]:
        """Return the files with a name, if that says something."""
        if _EVERYWHERE.fullmatch(name):
            return []
        called = (path for _, path in self._backend.names.files_called([name]))
        return [path for path in called if path.rpartition("/")[2] == name and self._is_on_disk(path)]

    def _is_on_disk(self, path: str) -> bool:
        try:
            return (self._root / path).exists()
        except (OSError, ValueError):  # A name that is too long, or that no file can have.
            return False

    def _definitions(self, symbol: str) -> NDArray[np.intp]:
        """Return the chunks that define a symbol; what bears its name inside of another owner only if nothing else."""
        import numpy as np

        last = _last(symbol)
        owner = (*_JOINT.split(symbol), "")[-3:-2]
        found: list[NDArray[np.intp]] = []
        owned: list[NDArray[np.intp]] = []
        for block in self._backend.names.definitions(folded(last)):
            if block.name != last or len(block.rows) > _MOST_DEFINITIONS:
                continue
            is_live = self._backend.allows(EVERYTHING, block.rows)
            found.append(block.rows[is_live])
            if owner and owner[0]:
                is_inside = np.array([scope.rpartition(".")[2] == owner[0] for scope in block.scopes()], np.bool_)
                owned.append(block.rows[is_live & is_inside])
        rows = np.concatenate(found) if found else np.zeros(0, np.intp)
        of_owner = np.concatenate(owned) if owned else rows[:0]
        return of_owner if len(of_owner) else rows

    def _home(self, symbol: str, rows: NDArray[np.intp]) -> str:
        """Return the file that all definitions of a symbol are in; empty for none or several.

        A header that only announces it is none, so that a function of C has its home.
        """
        files = set(self._backend.fields.of_rows("file", rows).tolist()) if len(rows) else ()
        if 1 < len(files) <= _MOST_ANNOUNCING:
            files = {file for file in files if _last(symbol) in self._outlined(file)}
        return self._backend.fields.path(next(iter(files))) if len(files) == 1 else ""

    def _is_held(self, word: str) -> bool:
        """Return whether a chunk holds a word, as itself."""
        return any(map(self._backend.terms.is_held, tokens_of_word(word)[:1]))

    def _moved_symbols(self, text: str, homes: dict[str, str], places: dict[str, _Place]) -> list[str]:
        """Return a sentence for each symbol that the file said to hold it does not hold, and one other file defines."""
        found: list[str] = []
        for symbol, home in homes.items():
            said = next((place for path, place in places.items() if _is_said_in(text, symbol, path)), None)
            if not home or said is None or home == said.file:
                continue
            rows = self._backend.terms.rows_of(tokens_of_word(_last(symbol))[0])
            if said.number not in self._backend.fields.of_rows("file", rows).tolist():
                found.append(f"`{symbol}` is defined in {home}")
        return found


class NamingRecords:
    """Finds the records that name a file or what it defines, without reading all of them for each file.

    Args:
        by_path: Path in the index → record.
    """

    def __init__(self, by_path: Mapping[str, Record]) -> None:
        self.by_path = by_path
        self._of_file: dict[str, dict[str, bool]] = {}
        self._of_symbol: dict[str, dict[str, tuple[bool, bool]]] = {}
        for path, record in by_path.items():
            text, in_title = _text_of(record), code_names(record.name)
            names, compared = code_names(text), code_names(" ".join(_COMPARED.findall(text)))
            for file in names.paths:
                if file in in_title.paths or file not in compared.paths:
                    self._of_file.setdefault(file.rpartition("/")[2], {})[path] = file in in_title.paths
            for symbol in names.symbols:
                last, is_title = _last(symbol), symbol in in_title.symbols
                is_of_methods = is_title or last != symbol or last.startswith("_")
                self._of_symbol.setdefault(last, {})[path] = is_title, is_of_methods

    def about(self, path: str, code: ProjectCode) -> list[str]:
        """Return the paths of the records about a file, those first whose title names it or what it alone defines.

        A record about code that is gone is none. A public method that is named without its owner, in the text alone, is
        one to call: that tells those who use it something, not who works on the file.
        """
        of_file = self._of_file.get(path.rpartition("/")[2], {})
        defined = code.defined_in(path) if self._of_symbol else {}
        of_symbol = {
            one: is_title
            for name in self._of_symbol.keys() & defined.keys()
            for one, (is_title, is_of_methods) in self._of_symbol[name].items()
            if defined[name] or is_of_methods
        }
        found = {one: (not is_title, 0) for one, is_title in of_file.items()}
        found = {one: (not is_title, 1) for one, is_title in of_symbol.items()} | found
        standing = {one: code.standing(self.by_path[one]) for one in found}
        kept = [one for one in found if path in standing[one].files and not standing[one].has_lost_symbols]
        return sorted(kept, key=found.__getitem__)


def _text_of(record: Record) -> str:
    return "\n".join((record.name, *record.lines))


def _is_said_in(text: str, symbol: str, path: str) -> bool:
    """Return whether a text says that a symbol is in a file: `SYMBOL` in PATH, PATH: `SYMBOL`, PATH::SYMBOL."""
    name, file = re.escape(symbol), rf"(?:\./)?{re.escape(path)}"
    before = rf"{name}(?:\(\))?`?,? (?:in|of|from|at|\() ?`?{file}"
    return re.search(rf"{before}|{file}(?::\d+)?`?(?:::?|'s) ?`?{name}\b", text) is not None


def _last(symbol: str) -> str:
    """Return a symbol without its owners."""
    return _JOINT.split(symbol)[-1]
