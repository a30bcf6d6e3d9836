"""Says what is in a file and which files go with it, where a prompt is about the file as a whole: "refactor client.py".

`parts` begins the item of such a file with this. All but the text of the lines comes from the index.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.text import chunk_digest, cut
from hybrid.base.tokens import is_plain_word
from hybrid.index.analysis import OF_FOLDERS
from hybrid.prompting.project_questions import said_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.knowledge.collections import Collection
    from hybrid.search.file_parts import FileParts, ListedDefinition
    from hybrid.search.searcher import Searched
    from hybrid.types import Hit

_SURELY = 1.0
"""Evidence, at least, that a prompt gives the path of a file; the only file with words of a path has half of it."""
_MOST_FILES = 2
_LINES = 25
_CHARS = 1_200
"""Lines and characters of all outlines together, at most."""
_LINE_CHARS = 80
_HEAD_LINES = 6
_USERS = 5
_COMPANIONS = 3
_SHORTEST_STEM = 3
_IMPORT = re.compile(r"\W*(?:import|from|use|using|(?:require|include)(?:_\w+)?|export)\b|.{0,200}\brequire\(")
_IMPORT_WORDS = ("import", "from", "use", "using", "require", "include", "export")
_IMPORT_LINES = 30
_NAMING_LINES = 50
"""Lines of an import, and lines with the name of a file that may be of one, at most."""
_IMPORT_CHARS = 1_000
_FROM = re.compile(r"\W*from\s+([\w.]+)\s+import\b")
_QUOTED = re.compile(r"[\"'<](?:\w+:|[@~#]/)?([\w@./-]+)[\"'>]")
"""What an import names as a string, without `package:` and `@/`, which stand for a folder of the project."""
_STEPS_BACK = re.compile(r"(?:(?:::|[.\\])\w*)*")
"""Steps of a path from its end: backwards, no text is looked at twice."""
_STEP = re.compile(r"::|[./\\]")
_NO_FOLDERS = OF_FOLDERS | frozenset("crate self super java kotlin scala python include packages".split())
"""Parts of a path, or of a module, that the other one mostly lacks."""
_PYTHON = frozenset((".py", ".pyi"))
_SCRIPTS = frozenset(".js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte".split())
_COMMENTS = ("//", "/*", "* ", "--", "# ", "#:", "##")
_LISTED = re.compile(r"(?:\w+(?: as \w+)?(?:, ?|$))+")
"""A line of names alone: mostly one within the brackets of an import."""
_NAMELESS = ("{", ":", ";", "}", "=>")
"""Ends of a line after which the name of what begins there does not come."""


def outlines(collection: Collection, searched: Searched, best: Sequence[Hit]) -> dict[str, Hit]:
    """Return the outlines of the files that a prompt is about as wholes: by path a hit on all lines of the file.

    A prompt is about a file as a whole when it gives its path or name, and says nothing that may mean a part of it.
    The signature of a hit is the text of the outline, and the digest that of the file: a session gets the outline again
    once the file changed.

    Args:
        collection: The files.
        searched: The search for the prompt.
        best: The best hit of each file.
    """
    from hybrid.search.ranking.query_terms import (
        is_wish,
    )  # Slow to load, and a prompt that is not searched has no need of it.

    query, parts = searched.query, searched.parts
    if not query.paths or parts is None or any(place.line for place in query.places):
        return {}
    named = [hit for hit in best if hit.row >= 0 and hit.evidence.get("path", 0.0) >= _SURELY]
    named = [hit for hit in named if hit.path in query.paths] or named
    is_change = is_wish(query.english or query.title or query.focus)
    beside = said_beside(query.english or query.text, query.paths)
    if not 1 <= len(named) <= _MOST_FILES or len(beside) > 1:
        return {}
    found: dict[str, Hit] = {}
    for hit in named:
        lines = collection.masked_lines(hit.path)
        lines = lines[:-1] if lines and not lines[-1] else lines
        if any(_beginning(term).search("\n".join(lines)) for term in beside):
            continue  # Its own words say which part is meant.
        listed = parts.outline_of(hit.row, collection.lines(hit.path))
        said = [*_outline(lines, listed, len(named)), *_used_by(collection, parts, hit, listed)]
        body = "\n".join([*said, *(_changes_with(collection, hit) if said and is_change else ())])
        if body:
            found[hit.path] = replace(
                collection.shown(hit),
                start_line=1,
                end_line=len(lines),
                name="",
                scope="",
                chunk_kind="outline",
                signature=body,
                # Of the file: how much of an outline is shown depends on how many files are named.
                digest=chunk_digest("\n".join(["outline", hit.path, *collection.lines(hit.path)])),
            )
    return found


def _outline(lines: Sequence[str], listed: Sequence[ListedDefinition], n_files: int) -> list[str]:
    """Return the definitions of a file in order, each on a line, as many of the first ones as there is room for.

    A line has the range of the definition and its head; of a member its owner and the head from its name on.
    """
    kept: list[tuple[ListedDefinition, str]] = []
    left = _CHARS // n_files
    for one in listed:
        head = _head(lines, one)
        places = [match.start() for match in _pattern([one.name]).finditer(head)]
        if not places:
            continue
        if one.scope and one.kind != "heading":
            called = (at for at in places if head[at + len(one.name) :].lstrip()[:1] in {"(", "<"})
            head = f"{one.scope}.{head[next(called, places[0]) :]}"
        said = f"{one.start_line}-{min(one.end_line, len(lines))} {cut(head, _LINE_CHARS)}"
        left -= len(said) + 1
        if left < 0 or len(kept) >= _LINES // n_files:
            break
        kept.append((one, said))
    kept.sort(key=lambda one: (one[0].start_line, -one[0].end_line))
    more = [f"and {len(listed) - len(kept)} more"] if 0 < len(kept) < len(listed) else []
    return [*(said for _, said in kept), *more]


def _head(lines: Sequence[str], one: ListedDefinition) -> str:
    """Return the head of a definition on one line, with decorators, and parameters that stand on lines of their own."""
    head, name = lines[one.start_line - 1].strip(), _pattern([one.name])
    for line in map(str.strip, lines[one.start_line : one.start_line + _HEAD_LINES]):
        is_open = sum(map(head.count, "([")) > sum(map(head.count, ")]")) or ("<" in head and head.endswith(("<", ",")))
        if not is_open and (name.search(head) or head.endswith(_NAMELESS)):
            break
        is_joined = head.endswith(("(", "[", "<")) or (line[:1] in {")", "]", ">"} and not head.endswith(","))
        head += line if is_joined else f" {line}"
    return head


def _used_by(collection: Collection, parts: FileParts, hit: Hit, listed: Sequence[ListedDefinition]) -> list[str]:
    """Return the line that says which files use a file, each with a line that does; nothing without one."""
    names = [one.name for one in listed if not one.depth and not one.name.startswith("_")]
    found: list[str] = []
    for user in parts.users_of(hit.row, names) if hit.kind == "code" else ():
        lines = collection.lines(user.path)
        at_imports = importing(lines, user.module.rpartition(" ")[2], hit.path, user.path)
        known, module = user.names, user.module
        if at_imports and not any(
            at_imports.values()
        ):  # It imports another one of that name, whose words these may be.
            known, module = tuple(name for name in known if not is_plain_word(name)), ""
        within = [n for start, end in user.spans for n in range(start, min(end, len(lines)) + 1)]
        every, calls = _pattern((*known, module)), _pattern(known)
        naming = [n for n in within if every.search(lines[n - 1]) and not _is_comment(lines[n - 1], user.path)]
        is_import = [_IMPORT.match(lines[n - 1]) or _LISTED.fullmatch(lines[n - 1].strip()) for n in naming]
        imports = [n for n, is_one in zip(naming, is_import, strict=True) if is_one or n in at_imports]
        places = [n for n in naming if n not in imports and calls.search(lines[n - 1])]
        places = places or [n for n in imports if at_imports.get(n) or calls.search(lines[n - 1])]
        if places:
            found.append(f"{collection.shown(replace(hit, path=user.path)).path}:{places[0]}")
        if len(found) == _USERS:
            break
    return [f"used by: {', '.join(found)}"] if found else []


def _changes_with(collection: Collection, hit: Hit) -> list[str]:
    """Return the line that says which files changed with a file in many of its commits; nothing without one."""
    n_commits, others = collection.searcher.companions(hit.path)
    of_all = (f" of {n_commits} commits", *[""] * (_COMPANIONS - 1))
    paths = (collection.shown(replace(hit, path=one.path)).path for one in others)
    found = [f"{path} ({one.commits}{of})" for path, one, of in zip(paths, others, of_all, strict=False)]
    return [f"changes with: {', '.join(found)}"] if found else []


def importing(lines: Sequence[str], name: str, path: str, user: str) -> dict[int, bool]:
    """Return the numbers of the lines of imports that have the name of a file, each with whether it can mean the file.

    Args:
        lines: The lines of the file with the imports.
        name: The name by which the other file is imported; empty for none.
        path: Path of the other file.
        user: Path of the file with the imports.
    """
    found, whole = dict[int, bool](), _pattern([name])
    naming = islice((n for n, line in enumerate(lines if name else ()) if name in line), _NAMING_LINES)
    above = (range(n, max(n - _IMPORT_LINES, -1), -1) for n in naming)
    begins = {next((n for n in numbers if _begins_import(lines[n])), -1) for numbers in above}
    for n in sorted(begins - {-1}):
        end, said = n + 1, lines[n][:_IMPORT_CHARS]
        while end < min(n + _IMPORT_LINES, len(lines)) and sum(map(said.count, "({")) > sum(map(said.count, ")}")):
            said, end = f"{said} {lines[end][:_IMPORT_CHARS]}", end + 1
        if whole.search(said):
            can_be = any(_can_be(module, path, user) for module in _modules(said, whole, path))
            found.update(dict.fromkeys(range(n + 1, end + 1), can_be))
    return found


def _begins_import(line: str) -> bool:
    # To look for words is ten times as fast, and most lines have none of them.
    return any(map(line.__contains__, _IMPORT_WORDS)) and _IMPORT.match(line) is not None


def _modules(said: str, name: re.Pattern[str], path: str) -> list[str]:
    """Return the modules that an import names: its strings, else what ends with the name by which a file is imported.

    What stands before brackets belongs to each of the names in them, and what a Python import is from to all.
    """
    suffix = PurePosixPath(path).suffix
    quoted: list[str] = _QUOTED.findall(said) if suffix not in _PYTHON else []
    if quoted or suffix in _SCRIPTS:
        return quoted
    found: list[str] = []
    for match in name.finditer(said):
        at, module = match.start(), match[0]
        if said[:at].endswith(" as "):
            continue
        while at >= 0:
            left = said[:at].rstrip() if said[at] in "({" else said[:at]
            steps = _STEPS_BACK.match(left[::-1])
            module = (steps[0][::-1] if steps else "") + module
            at = _opening(left)
        if origin := _FROM.match(said[: match.start()]):
            module = f"{origin[1]}{'' if origin[1].endswith('.') else '.'}{module}"
        found.append(module)
    return found


def _opening(left: str) -> int:
    """Return where the brackets open in which a text ends; -1 for none."""
    depth = 0
    for at in range(len(left) - 1, -1, -1):
        depth += (left[at] in ")}") - (left[at] in "({")
        if depth < 0:
            return at
    return -1


def _can_be(module: str, path: str, user: str) -> bool:
    """Return whether a module in an import can mean a file: as far as both go, the parts of their paths are the same.

    In Python and JavaScript a relative one is that file or none, a single word is no file of another folder, and in
    Python the project holds the whole path.

    Args:
        module: The module as the import names it.
        path: Path of the file.
        user: Path of the file with the import.
    """
    suffix, folder = PurePosixPath(path).suffix, PurePosixPath(user).parent
    own = _without_index(PurePosixPath(path).with_suffix("").parts)
    is_exact = suffix in _PYTHON or suffix in _SCRIPTS
    if is_exact and module.startswith("."):
        name = module.lstrip(".") if suffix in _PYTHON else ""
        steps = f"{'../' * (len(module) - len(name) - 1)}{name.replace('.', '/')}" if suffix in _PYTHON else module
        target = PurePosixPath(normpath(folder / steps))
        return own in (_without_index(target.parts), _without_index(target.with_suffix("").parts))
    words = [word for word in _STEP.split(module) if word and not word.startswith("@")]
    if is_exact and len(words) == 1 and own[:-1] and own[:-1] != list(folder.parts):
        is_package = suffix in _SCRIPTS and PurePosixPath(path).stem in OF_FOLDERS
        return own[-1] == words[0] and (is_package or not _telling(own)[:-1])
    readings = [words, words[:-1]] if "." in module and suffix not in _PYTHON else [words]
    own = own[:-1] if suffix == ".go" else own  # Go imports folders.
    return any(_fit(_telling(_without_index(said)), _telling(own), suffix) for said in readings)


def _fit(said: Sequence[str], own: Sequence[str], suffix: str) -> bool:
    """Return whether one path of words ends with the other; in Python, that of the file with that of the module."""
    if not said or not own or (suffix in _PYTHON and len(said) > len(own)):
        return False
    pairs = zip(said[::-1], own[::-1], strict=False)
    return all(a == b or (suffix == ".rs" and a.endswith(f"_{b}")) for a, b in pairs)


def _without_index(parts: Sequence[str]) -> list[str]:
    """Return the parts of a path by which a file is imported: an `__init__` or `index` by its folder."""
    kept = list(parts)
    while kept and kept[-1] in OF_FOLDERS:
        kept.pop()
    return kept


def _telling(parts: Sequence[str]) -> list[str]:
    """Return the parts of a path that are part of modules too, in one spelling."""
    kept = [part for part in parts[:-1] if part not in _NO_FOLDERS]
    return [part.casefold().replace("-", "_") for part in (*kept, *parts[-1:])]


def _is_comment(line: str, path: str) -> bool:
    return line.lstrip().startswith(_COMMENTS) and not path.endswith((".md", ".mdx", ".rst", ".adoc", ".txt"))


def _beginning(term: str) -> re.Pattern[str]:
    """Return a pattern for an index term at the beginning of a word, or of a word in a compound name."""
    start = r"(?:(?<![^\W\d_])|(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z]))" if term.isascii() else ""
    stem = term[:-1] if len(term) > _SHORTEST_STEM and term.endswith("i") else term  # `retri` is of "retry".
    return re.compile(f"{start}(?i:{re.escape(stem)})")


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for any of some names as whole words; one for nothing without a name."""
    every = "|".join(r"\W{1,3}".join(map(re.escape, name.split())) for name in names if name)
    return re.compile(rf"(?<!\w)(?:{every or '(?!)'})(?!\w)")
