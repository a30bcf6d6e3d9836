"""What a use of a tool put before the agent: lines of the project's files, or nothing that helped.

Clients print files in many forms: bare, with numbers, with the path before each line, cut at any place. So no form is
trusted: a line counts when the file has it now, at the number that the output names, or in a run that the output has
too. Pure, but for the function that gives the lines of a file.

Searches that found nothing and commands that failed are recognised cheaply: by the kind of tool, whether anything came
back, whether it failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from hybrid.base.text import sha256_hex
from hybrid.capture import dialects
from hybrid.capture.shell import CommandLine, files_of_command, form_of, is_ours, line_of
from hybrid.redact import redact
from hybrid.types import Use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.capture.tools import PathRoots
    from hybrid.types import ToolCall


_PRINTING = ("read", "search", "command", "edit", "write")
_MOST_FILES = 20
"""Files of one use that are read; what it shows of further ones counts as not shown."""
_MOST_ASKED = 200
"""Words of one output that are tried as paths."""
_MOST_LINES = 20_000
"""Lines of one output that are compared; no client gives an agent more."""
_MOST_CHARS = 20_000
"""Characters of what a command or a search printed; of more a client may give its agent the beginning alone, though its
hooks get all."""
_SURE_CHARS = 2_000
"""Characters of a longer output that every client gives its agent."""
_MOST_PLACES = 16
"""Places of a file at which a run of lines is tried: a line that stands in more says little about where one is."""
_SHORT_RUN = 2
_MOST_HITS = 20
"""Places of one edit that replaced all."""

_MATCHED = re.compile(r"(?P<path>(?:[A-Za-z]:)?[^\s:][^:\n]{0,400}):(?P<number>\d{1,7})(?::\d{1,5})?:(?P<text>.*)\Z")
"""`src/a.py:12:text`, as `grep -n` and `rg --vimgrep` print."""
_AROUND = re.compile(r"-(?P<number>\d{1,7})-(?P<text>.*)\Z")
"""What follows the path of a line around a match: `-12-text`."""
_NUMBERED = re.compile(r"\s*(?:[Ll]ine |L)?(?P<number>\d{1,7})(?:→|\t|: ?|\| ?|-|\. )(?P<text>.*)\Z")
"""A line with its number, as `cat -n`, `grep -n` on one file and the clients' reading tools print."""
_HEADING = re.compile(r"(?:File: )?`?(?P<path>[\w./\\~$@+-]{2,400})`?:?\Z")
"""A path alone on its line, as searches print it above the lines of its file."""


class ShownFile(Struct):
    """The lines of one file that a use of a tool showed.

    Attributes:
        lines: The lines of the file as it is now.
        numbers: Numbers of the lines that were shown, from 1.
        edits: Old and new text of the use's own edits, in order.
    """

    lines: Sequence[str]
    numbers: set[int]
    edits: list[tuple[str, str]]


def shown_lines(
    call: ToolCall, roots: PathRoots, lines_of: Callable[[str], Sequence[str] | None]
) -> dict[str, ShownFile]:
    """Return path → what the use showed of that file; files of which it showed nothing are left out.

    Args:
        call: The use, as the event tells it.
        roots: The folders that its paths are told from.
        lines_of: Gives the lines of a file by its path relative to the project; None when it is not to be read.
    """
    arguments = dialects.arguments(call.arguments)
    kind = dialects.kind_of(call.tool, arguments)
    if kind not in _PRINTING:
        return {}
    files = _Files(roots, lines_of)
    # The text of an edit that its client refused stands in no file.
    edits = [] if dialects.is_failure(call.result, call.error, None) else _edits(arguments, kind)
    named = [shown for path in _named(arguments, kind) if (shown := files.get(path))]
    for path, old, new in edits:
        if new and (shown := files.get(path)):
            shown.edits.append((old, new))
            shown.numbers |= _of_text(shown.lines, new)
    output = "\n".join(map(dialects.cleaned, (dialects.result_text(call.result), call.error)))
    if kind in ("command", "search") and len(output) > _MOST_CHARS:
        output = output[:_SURE_CHARS].rpartition("\n")[0]
    _take_output(output.split("\n")[:_MOST_LINES], named, files)
    return {path: shown for path, shown in files.found.items() if shown.numbers}


_FEW_FOUND = 3
"""Files of the results of one search: among more the agent has not chosen yet."""


def use_of(call: ToolCall, roots: PathRoots, at_s: float) -> Use | None:
    """Return what a use of a tool did with the project's files; None for a tool of another kind.

    Files are relative to the project, each once and at most 20; a tool that failed touched none.
    """
    arguments = dialects.arguments(call.arguments)
    kind = dialects.kind_of(call.tool, arguments)
    if kind not in _PRINTING:
        return None
    kind = "edit" if kind == "write" else kind
    read, written = _named(arguments, kind), [path for path, _, _ in _edits(arguments, kind)]
    line, text, code = None, "", None
    if kind in ("command", "search"):
        text = dialects.cleaned(dialects.result_text(call.result))
    if kind == "command":
        command = dialects.command_of(arguments)
        line, code = line_of(command), dialects.exit_code(call.result, text, call.error)
        written += files_of_command(command)[1]
    is_failed = dialects.is_failure(call.result, call.error, code)
    if kind == "search" or (line and line.work == "search"):
        kind = "search"
        matches = (_MATCHED.match(found) or _heading(found) for found in text[:_MOST_CHARS].split("\n"))
        read = [*dict.fromkeys(match["path"] for match in matches if match)] or read
        read = read if len(read) <= _FEW_FOUND else []
    elif kind == "edit":
        read, written = [], written or read
    elif line and read and not written and line.work == "read":
        kind = "read"
    if is_failed and (not line or line.work == "read"):
        read = written = []
    names = ([*dict.fromkeys(map(roots.relative, paths))] for paths in (read, written))
    read, written = ([name for name in some if not name.startswith(("/", "~"))][:_MOST_FILES] for some in names)
    failed = _failure(line, f"{text}\n{call.error}") if line and is_failed and kind == "command" else ""
    return Use(at_s, kind, tuple(name for name in read if name not in written), tuple(written), failed)


def _failure(line: CommandLine, output: str) -> str:
    """Return the form of a command, and digits of the last line that it printed: the same failure has the same."""
    last = next((one for one in reversed(output.split("\n")) if any(map(str.isalpha, one))), "")
    plain = "".join(letter for letter in last if letter.isalpha())
    return f"{form_of(line)} {sha256_hex(plain.encode('utf-8', 'replace'))[:6]}"


class _Files:
    """The files that a use speaks of, each read once; paths come as the client or a program spells them."""

    def __init__(self, roots: PathRoots, lines_of: Callable[[str], Sequence[str] | None]) -> None:
        self.found: dict[str, ShownFile] = {}
        self._roots = roots
        self._lines_of = lines_of
        self._asked: dict[str, ShownFile | None] = {}

    def get(self, path: str) -> ShownFile | None:
        if path not in self._asked and len(self._asked) < _MOST_ASKED:
            self._asked[path] = self._read(path)
        return self._asked.get(path)

    def _read(self, path: str) -> ShownFile | None:
        name = self._roots.relative(path)
        if name in self.found:
            return self.found[name]
        if not name or name == "." or name.startswith(("/", "~")) or len(self.found) >= _MOST_FILES:
            return None
        lines = self._lines_of(name)
        if lines is None:
            return None
        self.found[name] = ShownFile(lines, set(), [])
        return self.found[name]


def _named(arguments: dict[str, object], kind: dialects.ToolKind) -> list[str]:
    """Return the files that the arguments name, at most `_MOST_FILES`."""
    if kind == "command":
        read, _ = files_of_command(dialects.command_of(arguments))
        return list(dict.fromkeys(read))[:_MOST_FILES]
    path = dialects.first_text(arguments, dialects.PATH_FIELDS)
    return [path] if path else dialects.texts_of(arguments.get("paths"))[:_MOST_FILES]


def _edits(arguments: dict[str, object], kind: dialects.ToolKind) -> list[tuple[str, str, str]]:
    """Return path, old and new text of each edit that the arguments ask for; none for a tool that does not edit."""
    texts = [text for text in (*arguments.values(), dialects.command_of(arguments)) if isinstance(text, str)]
    if patch := next((text for text in texts if dialects.PATCH_BEGIN in text), ""):
        return [(path, old, new) for path, old, new, _ in dialects.patched(patch)]
    path = dialects.first_text(arguments, dialects.PATH_FIELDS)
    if kind not in ("edit", "write") or not path:
        return []
    return [(path, old, new) for old, new in dialects.replacements(arguments)]


def _take_output(output: Sequence[str], named: Sequence[ShownFile], files: _Files) -> None:
    """Note in the files what the output shows of them: of those named, and of those that it names itself."""
    bare: list[str] = []
    heading: list[ShownFile] = []
    paths = _paths(output, files)
    for line in output:
        found = _with_path(line, paths)
        if found is not None:
            shown, number, text = found
            _take_numbered([shown], number, text)
            bare.append("")
            continue
        if (match := _NUMBERED.match(line)) and _take_numbered(heading or named, int(match["number"]), match["text"]):
            bare.append("")
            continue
        if shown := _headed(line, files):
            heading = [shown]
        bare.append(line)
    for shown in named:
        shown.numbers |= _in_runs(shown.lines, bare)


def _paths(output: Sequence[str], files: _Files) -> dict[str, ShownFile]:
    """Return path → file of all paths before a number and a line; those around a match may stand before it."""
    paths = dict.fromkeys(match["path"] for line in output if (match := _MATCHED.match(line)))
    return {path: shown for path in paths if (shown := files.get(path))}


def _with_path(line: str, paths: Mapping[str, ShownFile]) -> tuple[ShownFile, int, str] | None:
    """Return file, number and text of a line that begins with its file's path; None for another one."""
    if (match := _MATCHED.match(line)) and match["path"] in paths:
        return paths[match["path"]], int(match["number"]), match["text"]
    for path, shown in paths.items():
        if line.startswith(path) and (match := _AROUND.match(line, len(path))):
            return shown, int(match["number"]), match["text"]
    return None


def _headed(line: str, files: _Files) -> ShownFile | None:
    """Return the file whose path is the whole line, as searches print above their lines; None when it is none."""
    match = _heading(line)
    return files.get(match["path"]) if match else None


def _heading(line: str) -> re.Match[str] | None:
    """Return the match of a line that is a path and no more; None for one without a dot or a slash."""
    match = _HEADING.match(line)
    return match if match and not {".", "/"}.isdisjoint(match["path"]) else None


def _take_numbered(files: Iterable[ShownFile], number: int, text: str) -> bool:
    """Note a line in each of the files that has it under this number; return whether one has."""
    is_taken = False
    for shown in files:
        if number <= len(shown.lines) and shown.lines[number - 1].strip() == text.strip():
            shown.numbers.add(number)
            is_taken = True
    return is_taken


def _in_runs(lines: Sequence[str], output: Sequence[str]) -> set[int]:
    """Return the numbers of the lines of a file that stand in the output as a run.

    A run of one or two lines counts when the file has the first of them once.
    """
    places: dict[str, list[int]] = {}
    bare = [line.rstrip() for line in lines]
    for at, line in enumerate(bare):
        if line:
            places.setdefault(line, []).append(at)
    printed = [line.rstrip() for line in output]
    numbers: set[int] = set()
    at = 0
    while at < len(printed):
        starts = places.get(printed[at], ())
        runs = [(_run(bare, start, printed, at), start) for start in starts[:_MOST_PLACES]]
        length, start = max(runs, default=(0, 0), key=lambda run: run[0])
        is_sure = length > _SHORT_RUN or len(starts) == 1
        if is_sure:
            numbers.update(number for number in range(start + 1, start + length + 1) if bare[number - 1])
        at += length if is_sure else 1
    return numbers


def _run(lines: Sequence[str], start: int, printed: Sequence[str], at: int) -> int:
    """Return the number of lines from two places on that are the same."""
    length = 0
    while start + length < len(lines) and at + length < len(printed) and lines[start + length] == printed[at + length]:
        length += 1
    return length


def _of_text(lines: Sequence[str], text: str) -> set[int]:
    """Return the numbers of the lines that hold a text an agent wrote, wherever the file has it whole."""
    whole, text = "\n".join(lines), text.strip("\n")
    numbers: set[int] = set()
    at = whole.find(text) if text.strip() else -1
    for _ in range(_MOST_HITS):
        if at < 0:
            break
        first = whole.count("\n", 0, at) + 1
        numbers.update(range(first, first + text.count("\n") + 1))
        at = whole.find(text, at + len(text))
    return numbers


def before_edits(shown: ShownFile) -> tuple[list[str], dict[int, int]]:
    """Return the file as it was before the use's edits, and number of a line then → its number now.

    Lines that an edit replaced have no number now. An edit that cannot be found, or stands more than once, ends the
    search: what was read before such an edit counts as far as it is found again by itself.
    """
    lines, numbers = list(shown.lines), list(range(1, len(shown.lines) + 1))
    for old, new in reversed(shown.edits):
        whole = "\n".join(lines)
        at = whole.find(new)
        if at < 0 or whole.find(new, at + 1) >= 0 or not old:
            return [], {}
        first = whole.count("\n", 0, at)
        n_new = new.count("\n") + 1
        before = (whole[:at] + old + whole[at + len(new) :]).split("\n")
        n_old = len(before) - len(lines) + n_new
        lines = before
        numbers = [*numbers[:first], *([0] * n_old), *numbers[first + n_new :]]
    return lines, {then: now for then, now in enumerate(numbers, 1) if now}


# --- trouble -------------------------------------------------------------------------------------------------

Cause = Literal["search", "failure"]

_OUTPUT_CHARS = 5_000
"""Characters of a failure's output that are kept: its beginning and its end, where a trace says what failed."""
_WORDS_CHARS = 200

_SAYS_NOTHING = re.compile(
    r"\W*(?:(?:exit code:? 1|process exited with code 1)\b\W*)?"
    r"(?:\(?(?:empty|none|no output)\)?|no (?:files|matches|results)\b.*"
    r"|(?:found )?0 (?:files|matches|results|lines)\b.*)?\W*",
    re.IGNORECASE,
)
"""Pattern of the lines by which six clients and the usual programs say that a search found nothing."""

_CLASSES = re.compile(r"\\[AbBdDsSwWzZ<>]|\[[^\]\n]{0,100}\]|\{\d{0,9},?\d{0,9}\}|\(\?[a-z:=!<>]*|[.]?[*+?]")
_ESCAPED = re.compile(r"\\(.)")
_APART = re.compile(r"[^\w:./$-]+")


class Trouble(Struct, frozen=True):
    """A use of a tool that did not give what its agent wanted.

    Attributes:
        cause: A search in vain, or a command that failed.
        text: Words that were searched for, or the output of the failure; without secrets.
    """

    cause: Cause
    text: str


def trouble_of(call: ToolCall) -> Trouble | None:
    """Return the trouble that a use of a tool tells of; None for a use that went well, and for other kinds of tools."""
    arguments = dialects.arguments(call.arguments)
    kind = dialects.kind_of(call.tool, arguments)
    if kind not in ("search", "command"):
        return None
    raw = dialects.result_text(call.result)
    code = dialects.exit_code(call.result, raw, call.error) if kind == "command" else None
    is_failed = dialects.is_failure(call.result, call.error, code)
    if not is_failed and len(raw) > _WORDS_CHARS:
        return None
    output = "\n".join(filter(None, map(dialects.cleaned, (raw, call.error))))
    is_empty = len(output) <= _WORDS_CHARS and all(map(_SAYS_NOTHING.fullmatch, output.splitlines()))
    if kind == "search":
        return _in_vain(dialects.query_of(arguments)) if is_empty and not is_failed else None
    if not is_empty and not is_failed:
        return None
    command = dialects.command_of(arguments)
    line = line_of(command)
    if line.work == "search":
        return _in_vain(line.query) if is_empty and code in (None, 0, 1) else None
    if is_empty or line.work in ("list", "read", "git") or is_ours(command):
        return None
    return Trouble("failure", redact(_ends(output)))


def _in_vain(pattern: str) -> Trouble | None:
    """Return the trouble of a search in vain; None for one without words, and for one for a secret, which is masked."""
    if "[redacted" in redact(pattern):
        return None
    words = words_of(pattern)
    return Trouble("search", redact(words)[:_WORDS_CHARS]) if words else None


def words_of(pattern: str) -> str:
    """Return the words and names in a pattern of a search or of file names, joined by spaces; empty without any."""
    plain = _ESCAPED.sub(r"\1", _CLASSES.sub(" ", pattern))
    words = (word.strip("./:-$") for word in _APART.sub(" ", plain).split())
    return " ".join(dict.fromkeys(word for word in words if len(word) > 1))


def _ends(output: str) -> str:
    half = _OUTPUT_CHARS // 2
    return output if len(output) <= _OUTPUT_CHARS else f"{output[:half]}\n{output[-half:]}"
