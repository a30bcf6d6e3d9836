"""Tells of searches: the pattern, where it was looked for, and the files and lines that it hit. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.capture.extraction.wording import (
    ObservationDraft,
    base,
    clip,
    code,
    listed,
    once,
    squeeze,
    telling,
    terms_of,
)
from hybrid.records.memory.types import MAX_TITLE_CHARS

if TYPE_CHECKING:
    from hybrid.capture.tools import ToolUse

_MAX_HIT_FILES = 5
_LONGEST_LINE = 400
_LONG_FOLDER = 28
_SUFFIX = re.compile(r"[*.]")
_PATH = r"(?P<path>(?:[\w.@$~+-]*/)*[\w.@$+ -]*\w\.[A-Za-z]\w{0,9}|(?:[\w.@$~+-]+/)+[\w.@$+-]+)"
_HIT = re.compile(
    rf"^(?:\s*\d+\. )?{_PATH}(?P<mark>[:-])(?P<line>\d+)(?:[:-]\d+)?"
    r"(?:[:-](?P<text>.*)|\s+\((?P<name>[^)\n]+)\)\s*|\s*)$"
)
_FILE = re.compile(rf"^(?:\./)?{_PATH}(?::(?P<text>.*))?$")
_NUMBERED = re.compile(r"^(?P<line>\d+)(?P<mark>[:-])(?P<text>.*)$")
_NONE = re.compile(r"(?i)^\s*(?:no (?:files?|matches|results?)(?: found)?|0 (?:matches|results|files)|found 0 \w+)\b")


class SearchMatch(Struct, frozen=True):
    """One place that a search found.

    Attributes:
        path: Path of the file.
        line: Number of the line, from 1; 0 for the file as a whole.
        text: Text of the line; empty when it was not printed.
        is_context: Whether the line only stands around a match.
    """

    path: str
    line: int
    text: str
    is_context: bool = False


class SearchRun(Struct, frozen=True):
    """A search and what it printed.

    Attributes:
        query: Pattern or words.
        output: The text that was printed.
        scope: Folder or kind of files, for the title; empty for all.
        file: The one file that was searched; empty for several.
        tool: Name of the tool, for the narrative.
        error: Text of the failure; empty without one.
    """

    query: str
    output: str
    scope: str = ""
    file: str = ""
    tool: str = ""
    error: str = ""


class _Result(Struct, frozen=True):
    """The content of a search's output.

    Attributes:
        matches: All matches, in order.
        files: The files of the matches, each once.
        text: Lines that are not blank, of an output without a match.
    """

    matches: list[SearchMatch]
    files: tuple[str, ...]
    text: list[str]

    @property
    def lines(self) -> list[SearchMatch]:
        """The matches that are single lines, without context lines and whole files."""
        return [match for match in self.matches if match.line and not match.is_context]


def matches_of(output: str, file: str = "") -> list[SearchMatch]:
    """Return the places in the output of a search, in order.

    Args:
        output: `path:line:text`, `line:text` of one file, or names of files; other lines are passed over.
        file: The one file that was searched.
    """
    matches: list[SearchMatch] = []
    for whole in output.split("\n")[:2_000]:
        line = whole[:_LONGEST_LINE]
        numbered = _NUMBERED.match(line) if file else None
        if numbered:
            is_context = numbered["mark"] == "-"
            matches.append(SearchMatch(file, int(numbered["line"]), numbered["text"].strip(), is_context))
        elif hit := _HIT.match(line):
            text = (hit["text"] or hit["name"] or "").strip()
            matches.append(SearchMatch(hit["path"].strip(), int(hit["line"]), text, hit["mark"] == "-"))
        elif (named := _FILE.match(line.strip())) and " " not in named["path"]:
            matches.append(SearchMatch(named["path"], 0, (named["text"] or "").strip()))
    return matches


def tell_search(use: ToolUse, prompt: str) -> ObservationDraft | None:
    """Return a draft of what a search found, also when that is nothing; None without a pattern."""
    if not use.query.strip():
        return None
    scope = next(iter(use.files_read), "")
    file = scope if "." in scope.rpartition("/")[2] else ""
    where = squeeze(base(file) if file else folder_name(scope), 40) if scope and scope != "." else ""
    only = use.description
    where = where or (f"{only} files" if only and not _SUFFIX.search(only) else only)
    return draft_of_search(SearchRun(use.query, use.output, where, file, use.tool, use.error), prompt)


def draft_of_search(search: SearchRun, prompt: str) -> ObservationDraft:
    """Return a draft of what a search found, also when a command searched."""
    query, scope, file, output = search.query, search.scope, search.file, search.output
    is_nothing = not output.strip() or _NONE.match(output) is not None
    matches = [] if search.error or is_nothing else matches_of(output, file)
    files = once(match.path for match in matches)
    result = _Result(matches, files, [] if matches else [line for line in output.split("\n") if line.strip()])
    ended = clip(search.error, 60) if search.error else "nothing found" if is_nothing else ""
    brief = ended or _brief(result, bool(file))
    verb = "Find" if search.tool.lower() in ("glob", "find", "fd", "file_search") else "Search"
    place = f" in {scope}" if scope and scope not in query else ""
    room = MAX_TITLE_CHARS - len(verb) - len(place) - len(": ") - 3 - min(len(brief), 34)
    pattern = query if len(query) <= room or verb == "Search" else _last_parts(query, room)
    searched = f"Searched {file or scope or 'the project'} for {code(query, 200)}"
    tool = f" with {search.tool}" if search.tool else ""
    shown = [match for match in result.lines if match.text][:4]
    return ObservationDraft(
        type="discovery",
        verb=verb,
        subject=f"{code(pattern, max(room, 24))}{place}: {brief}",
        parts=[f"{searched}{tool}: {ended or _count(result)}.", *_sentences(result, terms_of(f"{query} {prompt}"))],
        facts=once([f"{clip(query, 80)}: {brief}", *(f"{m.path}:{m.line} {clip(m.text, 100)}" for m in shown)]),
        concepts=("gotcha",) if search.error else ("how-it-works",) if matches else (),
        files_read=once([file, *files]) if len(files) <= _MAX_HIT_FILES else once([file]),
    )


def folder_name(path: str) -> str:
    """Return the last part of a folder's path, or the last two where these are short."""
    parts = path.rstrip("/").split("/")
    return parts[-1] if len("/".join(parts[-2:])) > _LONG_FOLDER else "/".join(parts[-2:])


def _last_parts(pattern: str, room: int) -> str:
    """Return the end of a pattern of paths, from a folder on, as far as there is room."""
    parts = pattern.split("/")
    while len(parts) > 1 and len("/".join(parts)) > room - 2:
        parts = parts[1:]
    return "…/" + "/".join(parts)


def _count(result: _Result) -> str:
    if not result.matches:
        return "this came back"
    files, lines = len(result.files), len(result.lines)
    n_files = f"{files} file{'s' * (files != 1)}"
    return f"{lines} line{'s' * (lines != 1)} in {n_files}" if lines else n_files


def _brief(result: _Result, is_one_file: bool) -> str:
    """Return what a search found in a few words: lines of one file, names of several, or the first line printed."""
    files = result.files
    if len(files) == 1:
        lines = [str(match.line) for match in result.lines]
        if is_one_file and lines:
            return f"line{'s' * (len(lines) != 1)} {listed(lines, 24)}"
        where = f":{lines[0]}" if len(lines) == 1 else f" lines {listed(lines, 16)}" if lines else ""
        return base(files[0]) + where
    if files:
        return f"{len(files)} files, {listed(map(base, files), 60)}"
    return clip(result.text[0], 60) if result.text else "no lines"


def _sentences(result: _Result, wanted: frozenset[str]) -> list[str]:
    """Return the sentences of a search's narrative: the files, and the matches or printed lines that say most."""
    files, text = result.files, result.text
    is_one = len(files) == 1
    found = [match for match in result.matches if match.text]
    shown = [f"{'' if is_one else f'{match.path}:'}{match.line} {match.text}" for match in found]
    return [
        f"All in {files[0]}." if is_one else f"Files: {listed(files, 320 if shown else 640)}." if files else "",
        f"Lines: {' / '.join(telling(shown, wanted, 8, max_chars=130) or shown[:8])}" if shown else "",
        f"Text: {' / '.join(telling(text, wanted, 6, max_chars=130) or text[:6])}" if text else "",
    ]
