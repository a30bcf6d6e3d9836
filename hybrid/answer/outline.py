"""Says what is in a file and which files use it, where a prompt is about the file as a whole: "refactor client.py".

`parts` begins the item of such a file with this. All but the text of the lines comes from the index.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.digest import chunk_digest
from hybrid.base.text import cut
from hybrid.prompting.project_questions import said_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.knowledge.collections import Collection
    from hybrid.search.parts import FileParts, Listed
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
_SHORTEST_STEM = 3
_IMPORT = re.compile(r"\W*(?:import|from|use|using|require|include|export)\b|.{0,200}\brequire\(")
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
    query, parts = searched.query, searched.parts
    if not query.paths or parts is None or any(place.line for place in query.places):
        return {}
    named = [hit for hit in best if hit.row >= 0 and hit.evidence.get("path", 0.0) >= _SURELY]
    named = [hit for hit in named if hit.path in query.paths] or named
    beside = said_beside(query.english or query.text, query.paths)
    if not 1 <= len(named) <= _MOST_FILES or len(beside) > 1:
        return {}
    found: dict[str, Hit] = {}
    for hit in named:
        lines = collection.masked_lines(hit)
        lines = lines[:-1] if lines and not lines[-1] else lines
        if any(_beginning(term).search("\n".join(lines)) for term in beside):
            continue  # Its own words say which part is meant.
        listed = parts.outline_of(hit.row, collection.lines(hit))
        body = "\n".join([*_outline(lines, listed, len(named)), *_used_by(collection, parts, hit, listed)])
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
                digest=chunk_digest("\n".join(["outline", hit.path, *collection.lines(hit)])),
            )
    return found


def _outline(lines: Sequence[str], listed: Sequence[Listed], n_files: int) -> list[str]:
    """Return the definitions of a file in order, each on a line, as many of the first ones as there is room for.

    A line has the range of the definition and its head; of a member its owner and the head from its name on.
    """
    kept: list[tuple[Listed, str]] = []
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


def _head(lines: Sequence[str], one: Listed) -> str:
    """Return the head of a definition on one line, with decorators, and parameters that stand on lines of their own."""
    head, name = lines[one.start_line - 1].strip(), _pattern([one.name])
    for line in map(str.strip, lines[one.start_line : one.start_line + _HEAD_LINES]):
        is_open = sum(map(head.count, "([")) > sum(map(head.count, ")]")) or ("<" in head and head.endswith(("<", ",")))
        if not is_open and (name.search(head) or head.endswith(_NAMELESS)):
            break
        is_joined = head.endswith(("(", "[", "<")) or (line[:1] in {")", "]", ">"} and not head.endswith(","))
        head += line if is_joined else f" {line}"
    return head


def _used_by(collection: Collection, parts: FileParts, hit: Hit, listed: Sequence[Listed]) -> list[str]:
    """Return the line that says which files use a file, each with a line that does; nothing without one."""
    names = [one.name for one in listed if not one.depth and not one.name.startswith("_")]
    found: list[str] = []
    for user in parts.users_of(hit.row, names) if hit.kind == "code" else ():
        other = replace(hit, path=user.path)
        lines = collection.lines(other)
        within = [n for start, end in user.spans for n in range(start, min(end, len(lines)) + 1)]
        every, calls = _pattern((*user.names, user.module)), _pattern(user.names)
        naming = [n for n in within if every.search(lines[n - 1]) and not _is_comment(lines[n - 1], user.path)]
        imports = [n for n in naming if _IMPORT.match(lines[n - 1]) or _LISTED.fullmatch(lines[n - 1].strip())]
        places = [n for n in naming if n not in imports and calls.search(lines[n - 1])] or imports
        if places:
            found.append(f"{collection.shown(other).path}:{places[0]}")
        if len(found) == _USERS:
            break
    return [f"used by: {', '.join(found)}"] if found else []


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
