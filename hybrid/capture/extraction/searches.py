"""Tells of searches: the pattern, where it was looked for, and the files and lines that it hit. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.capture.extraction.wording import (
    Told,
    base,
    clip,
    code,
    joined,
    listed,
    once,
    reason,
    squeeze,
    telling,
    terms_of,
)

if TYPE_CHECKING:
    from hybrid.capture.tools import ToolUse

_TITLE_ROOM = 80
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
_CAPPED = re.compile(r"(?i)results? (?:are |is )?truncated|\btruncated\b")


class Hit(Struct, frozen=True):
    """One place that a search found; without a line the file as a whole; some only stand around what was found."""

    path: str
    line: int
    text: str
    is_context: bool = False


def hits_of(output: str, file: str = "") -> list[Hit]:
    """The places in the output of a search, in order.

    Args:
        output: `path:line:text`, `line:text` of one file, or names of files; other lines are passed over.
        file: The one file that was searched.
    """
    found: list[Hit] = []
    for whole in output.split("\n")[:2_000]:
        line = whole[:_LONGEST_LINE]
        match = _NUMBERED.match(line) if file else None
        if match:
            found.append(Hit(file, int(match["line"]), match["text"].strip(), is_context=match["mark"] == "-"))
            continue
        match = _HIT.match(line)
        if match:
            text = (match["text"] or match["name"] or "").strip()
            found.append(Hit(match["path"].strip(), int(match["line"]), text, is_context=match["mark"] == "-"))
            continue
        match = _FILE.match(line.strip())
        if match and " " not in match["path"]:
            found.append(Hit(match["path"], 0, (match["text"] or "").strip()))
    return found


def tell_search(use: ToolUse, prompt: str) -> Told | None:
    """What a search found; that nothing was found is told too. None without a pattern."""
    if not use.query.strip():
        return None
    scope = next(iter(use.files_read), "")
    file = scope if "." in scope.rpartition("/")[2] else ""
    where = squeeze(base(file) if file else folder_name(scope), 40) if scope and scope != "." else ""
    where = where or (
        use.description if _SUFFIX.search(use.description) or not use.description else f"{use.description} files"
    )
    return told_of_search(use.query, use.output, prompt, scope=where, file=file, how=use.tool, error=use.error)


def told_of_search(
    query: str, output: str, prompt: str, *, scope: str = "", file: str = "", how: str = "", error: str = ""
) -> Told:
    """What a search found, also when a command searched.

    Args:
        query: Pattern or words.
        output: What it printed.
        prompt: Of the user.
        scope: Folder or kind of files, for the title; empty for all.
        file: The one file that was searched; empty for several.
        how: The tool, for the narrative.
        error: Why it failed.
    """
    hits = [] if error or _NONE.match(output) else hits_of(output, file)
    files = once(hit.path for hit in hits)
    text = [line for line in output.split("\n") if line.strip()] if not hits else []
    is_nothing = not error and (not output.strip() or (_NONE.match(output) is not None))
    found = _result(hits, files, text, is_nothing=is_nothing, error=error, is_one=bool(file))
    verb = "Find" if how.lower() in ("glob", "find", "fd", "file_search") else "Search"
    place = f" in {scope}" if scope and scope not in query else ""
    room = _TITLE_ROOM - len(verb) - len(place) - len(": ") - 3 - min(len(found), 34)
    asked = query if len(query) <= room or verb == "Search" else _last_parts(query, room)
    subject = f"{code(asked, max(room, 24))}{place}: {found}"
    told = [hit for hit in hits if hit.line and hit.text and not hit.is_context]
    asked_of = f"Searched {file or scope or 'the project'} for {code(query, 200)}{f' with {how}' if how else ''}"
    opening = f"{asked_of}: {found if is_nothing or error else _count(hits, files)}."
    return Told(
        type="discovery",
        verb=verb,
        subject=subject,
        narrative=joined([opening, *_sentences(hits, files, text, terms_of(f"{query} {prompt}")), reason(prompt)]),
        facts=once(
            [f"{clip(query, 80)}: {found}", *(f"{hit.path}:{hit.line} {clip(hit.text, 100)}" for hit in told[:4])]
        ),
        concepts=("gotcha",) if error else ("how-it-works",) if hits else (),
        files_read=once([file, *files]) if len(files) <= _MAX_HIT_FILES else once([file]),
    )


def folder_name(path: str) -> str:
    """The last parts of a folder's path, two where they are short."""
    parts = path.rstrip("/").split("/")
    return parts[-1] if len("/".join(parts[-2:])) > _LONG_FOLDER else "/".join(parts[-2:])


def _last_parts(pattern: str, room: int) -> str:
    """The end of a pattern of paths, from a folder on."""
    parts = pattern.split("/")
    while len(parts) > 1 and len("/".join(parts)) > room - 2:
        parts = parts[1:]
    return "…/" + "/".join(parts)


def _count(hits: list[Hit], files: tuple[str, ...]) -> str:
    if not hits:
        return "this came back"
    lines = sum(1 for hit in hits if hit.line and not hit.is_context)
    n_files = f"{len(files)} file{'s' * (len(files) != 1)}"
    return f"{lines} line{'s' * (lines != 1)} in {n_files}" if lines else n_files


def _result(
    hits: list[Hit], files: tuple[str, ...], text: list[str], *, is_nothing: bool, error: str, is_one: bool
) -> str:
    if error:
        return clip(error, 60)
    if is_nothing:
        return "nothing found"
    if len(files) == 1:
        lines = [str(hit.line) for hit in hits if hit.line and not hit.is_context]
        if is_one and lines:
            return f"line{'s' * (len(lines) != 1)} {listed(lines, 24)}"
        return f"{base(files[0])}" + (
            f":{lines[0]}" if len(lines) == 1 else f" lines {listed(lines, 16)}" if lines else ""
        )
    if files:
        return f"{len(files)} files, {listed(map(base, files), 60)}"
    return clip(text[0], 60) if text else "no lines"


def _sentences(hits: list[Hit], files: tuple[str, ...], text: list[str], wanted: frozenset[str]) -> list[str]:
    found: list[str] = []
    texts = [
        f"{hit.path}:{hit.line} {hit.text}" if len(files) > 1 else f"{hit.line} {hit.text}" for hit in hits if hit.text
    ]
    if len(files) == 1:
        found.append(f"All in {files[0]}.")
    elif files and not texts:
        found.append(f"Files: {listed(files, 640)}.")
    elif files:
        found.append(f"Files: {listed(files, 320)}.")
    if texts:
        found.append(f"Lines: {' / '.join(telling(texts, wanted, 8, max_chars=130) or texts[:8])}")
    if text:
        found.append(f"Text: {' / '.join(telling(text, wanted, 6, max_chars=130) or text[:6])}")
    return found
