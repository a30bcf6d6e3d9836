"""Tells of commands: what was run, how it ended, and the lines that say why. Pure."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from hybrid.capture.condensing import without_counts
from hybrid.capture.dialects import without_bodies
from hybrid.capture.extraction.outcomes import Outcome, outcome_of, telling_lines
from hybrid.capture.extraction.reads import told_of_text
from hybrid.capture.extraction.searches import folder_name, told_of_search
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
    from hybrid.records.memory.types import ObservationType


# Reads a command line: which part of it matters, how it is shown, and what sort of work it is. Pure.

Work = Literal["check", "search", "read", "look", "list", "git", "run"]

_SPACES = re.compile(r"[ \t]+")
_NOISE = re.compile(r"\s*(?:2>&1|&>\s*\S+|2>\s*/dev/null|>\s*/dev/null|<\s*/dev/null|\|\|\s*true)")
_ASSIGNMENTS = re.compile(r"^(?:[A-Z_][A-Z0-9_]*=\S*\s+)+")
_WRAPPERS = re.compile(r"^(?:sudo|time|nice|nohup|command|(?:/usr/bin/)?env|exec|timeout(?:\s+-\S+)*\s+\S+)\s+")
_TRIVIAL = frozenset("cd pwd echo export set source true sleep clear date whoami ls mkdir popd pushd printf".split())
_SEARCHING = frozenset("grep egrep fgrep rg ag ack find fd locate git-grep".split())
_READING = frozenset("cat bat head tail less more nl sed".split())
_LISTING = frozenset("ls pwd tree wc du df which whoami date env printenv ps type stat file".split())
_CHECKS = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|mocha|check|clippy|lint|eslint|ruff|mypy|pyright|tsc|build|make|ninja|cmake|gradle|"
    r"mvn|compile|nextest|tox|nox|bench|vet|rspec|phpunit|ctest|prek|pre-commit|prettier|black|flake8|shellcheck|verify|"
    r"install|sync|fmt|format|doctest|unittest|typecheck|javac|gcc|rustc)\b"
)
_SEARCH_WORDS = frozenset("search grep find refs references query lookup".split())
_FILTERS = frozenset("head tail grep egrep rg tee less cat sort uniq wc cut sed awk".split())


class Line(Struct, frozen=True):
    """A command line.

    Attributes:
        work: What sort of work it is.
        shown: The part that matters on one line, without filters and redirections.
        program: Its program.
        words: Its words.
        query: Of a search.
    """

    work: Work
    shown: str
    program: str
    words: tuple[str, ...]
    query: str = ""


def line_of(command: str) -> Line:
    """The part of a command line that matters: the last that is not trivial, before its filters."""
    parts = _split(_NOISE.sub("", _SPACES.sub(" ", without_bodies(command))), ("&&", "||", ";", "\n"))
    telling = [part for part in parts if _program(_words(_bare(part))) not in _TRIVIAL]
    part = _bare((telling or parts or [command])[-1])
    shown = _before_filters(part)
    words = _words(shown)
    program = _program(words)
    work, query = _work(program, words)
    return Line(work, " ".join(shown.split()), program, tuple(words), query)


def _bare(part: str) -> str:
    part = part.strip().lstrip("({").strip()
    for _ in range(3):
        part = _WRAPPERS.sub("", _ASSIGNMENTS.sub("", part))
    return part


def _before_filters(part: str) -> str:
    """A pipe up to the first filter; `cat x | program` is the program's."""
    pieces = _split(part, ("|",)) or [part]
    kept = [pieces[0]]
    for piece in pieces[1:]:
        if _program(_words(piece)) in _FILTERS:
            break
        kept.append(piece)
    return " | ".join(kept).strip()


def _split(text: str, separators: tuple[str, ...]) -> list[str]:
    """The parts of a command line between separators; one within quotes or after a backslash parts nothing."""
    parts, quote, begin, at = list[str](), "", 0, 0
    while at < len(text):
        char = text[at]
        mark = "" if quote else next((one for one in separators if text.startswith(one, at)), "")
        if char == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif mark:
            parts.append(text[begin:at].strip())
            begin = at + len(mark)
        at += max(1, len(mark))
    return [part for part in [*parts, text[begin:].strip()] if part]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text[:2_000])
    except ValueError:
        return text[:2_000].split()


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def _work(program: str, words: list[str]) -> tuple[Work, str]:
    plain = [word for word in words[1:] if not word.startswith("-")]
    if program == "git":
        sub = plain[0] if plain else ""
        return ("search", " ".join(plain[1:2])) if sub == "grep" else ("git", "")
    if program in ("find", "fd"):
        return "search", _found_name(words)
    if program in _SEARCHING:
        return "search", _pattern(words)
    if program in _READING and any("." in word or "/" in word for word in plain):
        return "read", ""
    if program in _LISTING or program in _TRIVIAL:
        return "list", ""
    if plain and plain[0] in _SEARCH_WORDS and len(plain) > 1:
        return "search", " ".join(plain[1:3]) if plain[0] in ("refs", "references") else plain[1]
    return ("check" if _CHECKS.search(" ".join(words)) else "run"), ""


def _pattern(words: list[str]) -> str:
    """The pattern of a grep: after `-e`, else the first word that is no option and no number of one."""
    skip = False
    for number, word in enumerate(words[1:], 1):
        if word in ("-e", "--regexp") and number + 1 < len(words):
            return words[number + 1]
        if skip or word.startswith("-"):
            skip = not skip and word in ("-A", "-B", "-C", "-m", "-g", "-t", "--glob", "--type", "-f")
            continue
        return word
    return ""


def _found_name(words: list[str]) -> str:
    named = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-name", "-iname", "-path", "-regex")]
    return " ".join(named) or " ".join(word for word in words[1:] if not word.startswith("-"))[:120]


_TITLE_ROOM = 80
_COMMAND_ROOM = 30
_LONG_WORD = 16
"""Of a path in a command that is too long for its title; such a one is shown by its name."""
_DIFF_STAT = re.compile(r"^\s*(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?", re.M)
_STAT_FILE = re.compile(r"^\s*(\S+)\s+\|\s+(?:\d+|Bin)", re.MULTILINE)
_DIFF_FILE = re.compile(r"^diff --git a/(\S+)", re.MULTILINE)
_CHANGED = re.compile(r"^([+-](?![+-]{2})\s*\S.*)$", re.MULTILINE)
_STATUS = re.compile(r"^(?: ?[MADRCU?!]{1,2}|\t(?:modified|new file|deleted|renamed):) +(\S.*)$", re.MULTILINE)
_COMMIT = re.compile(r"^\[(\S+) (?:\(root-commit\) )?([0-9a-f]{7,})\] (.+)$", re.MULTILINE)
_QUOTES = re.compile(r"(['\"])([^\s'\"]+)\1")
_COUNTING = re.compile(r"-(?!-)\w*c\w*$|--count\b")
"""Option of a search that says how often, not where."""
_LOGS = (".txt", ".log", ".out", ".output")
_BIN = re.compile(r"^\S*/s?bin/(?=\S)")
"""Where a program lies: of no interest in a title."""
_EXIT_LINE = re.compile(r"\AExit code \d+\n?")

_PROGRESS = re.compile(
    r"^\s*(?:Compiling|Checking|Building|Download(?:ing|ed)|Fetching|Installing|Collecting|Updating|Finished|Resolving"
    r"|\[\d+/\d+\]|\d{1,3}%)",
    re.MULTILINE,
)


def tell_command(use: ToolUse, prompt: str) -> Told | None:
    """What a command did; None for one that tells nothing, such as `pwd` or a search's empty listing."""
    line = line_of(use.command)
    if not line.shown:
        return None
    output = "\n".join(part for part in (use.output, _EXIT_LINE.sub("", use.error)) if part)
    if use.is_failed and line.work == "search" and not output.strip():
        return _of_search(use, line, output, prompt)
    outcome = outcome_of(output, is_failed=use.is_failed, exit_code=use.exit_code)
    if line.work == "search" and line.query:
        if use.is_failed and outcome.errors:
            return _of_run(use, line, output, outcome, prompt)
        return _of_search(use, line, output, prompt)
    if line.work == "list" and not use.is_failed:
        return _of_listing(use, line, output, prompt)
    is_log = use.files_read[:1] and use.files_read[0].endswith(_LOGS) and outcome.status
    if line.work == "read" and not use.is_failed and use.files_read and output.strip() and not is_log:
        how = f"Read with {code(clip(use.command, 200), 160)}"
        return told_of_text(use.files_read, output, prompt, how=f"{how}:")
    if line.work == "git" and not use.is_failed:
        return _of_git(use, line, output, outcome, prompt)
    return _of_run(use, line, output, outcome, prompt)


def _of_search(use: ToolUse, line: Line, output: str, prompt: str) -> Told:
    lines = "\n".join(telling_lines(output))
    if any(_COUNTING.match(word) for word in line.words[1:]):
        lines = without_counts(lines)
    folders = [word for word in line.words[1:] if "/" in word and word != line.query and not word.startswith("-")]
    scope = squeeze(folder_name(folders[-1]), 40) if folders else ""
    file = next((path for path in use.files_read if not path.endswith("/")), "") if len(use.files_read) == 1 else ""
    told = told_of_search(line.query, lines, prompt, scope=scope, file=file, how=line.program)
    if use.files_written:
        return replace(told, files_modified=use.files_written)
    return told


def _of_listing(use: ToolUse, line: Line, output: str, prompt: str) -> Told | None:
    """A listing of files; what only says where one is tells nothing."""
    names = [one.strip() for one in output.split("\n") if one.strip() and not one.endswith((" .", " ..", "/."))]
    if line.program not in ("ls", "tree", "wc", "du", "which") or len(names) < 2:
        return None
    shown = [name.split()[-1].rstrip("/").rpartition("/")[2] for name in names if not name.startswith("total ")]
    place = next((word for word in reversed(line.words[1:]) if not word.startswith("-")), "the folder")
    subject = f"{squeeze(place, 36)}: {listed(shown, 70 - min(36, len(place)))}"
    narrative = joined([f"Listed {place} with {code(line.shown, 120)}: {listed(shown, 500)}.", reason(prompt)])
    return Told("discovery", "List", subject, narrative, use.description, files_read=use.files_read)


def _of_git(use: ToolUse, line: Line, output: str, outcome: Outcome, prompt: str) -> Told | None:
    sub = next((word for word in line.words[1:] if not word.startswith("-")), "")
    if commit := _COMMIT.search(output):
        narrative = joined(
            [f"Committed {commit[2]} on {commit[1]}: {commit[3]}.", *_key(outcome, prompt), reason(prompt)]
        )
        return Told("change", "Commit", commit[3], narrative, use.description, (f"commit {commit[2]} on {commit[1]}",))
    if sub in ("diff", "show"):
        return _of_diff(use, line, output, prompt)
    if sub == "status":
        return _of_status(use, line, output, prompt)
    if not output.strip() and sub in ("add", "checkout", "restore", "rm", "reset"):
        subject = code(line.shown, 60) + (f": {use.description}" if use.description else "")
        narrative = joined([f"Ran {code(use.command, 400)}: {use.description}.", reason(prompt)])
        return Told("change", "Run", subject, narrative, use.description, (f"command: {clip(use.command, 160)}",))
    return _of_run(use, line, output, outcome, prompt) if output.strip() else None


def _of_diff(use: ToolUse, line: Line, output: str, prompt: str) -> Told | None:
    files = once([*_DIFF_FILE.findall(output), *_STAT_FILE.findall(output), *use.files_read])
    if not output.strip():
        return None
    short = [file.rpartition("/")[2] for file in files]
    if stat := _DIFF_STAT.search(output):
        brief = f"of {stat[1]} file{'s' * (stat[1] != '1')}, +{stat[2] or 0} −{stat[3] or 0}: {listed(short, 60)}"
    else:
        changed = [one for one in _CHANGED.findall(output) if len(one.split(None, 1)[-1]) > 3]
        best = telling(changed, terms_of(prompt), 1, max_chars=50) or changed[:1]
        brief = f"of {listed(short, 44)}" + (f": {code(best[0].lstrip('+- '), 50)}" if best else "")
    key = telling(_CHANGED.findall(output), terms_of(prompt), 6, max_chars=110)
    narrative = [f"Looked at {code(line.shown, 160)}: {brief.removeprefix('of ')}.", f"Files: {listed(files, 300)}."]
    narrative += [f"Changed lines: {' / '.join(key)}"] if key else []
    narrative += [f"Counts: {' / '.join(once(telling_lines(output))[-6:])}"] if stat else []
    return Told(
        "discovery", "Review diff", brief, joined([*narrative, reason(prompt)]), use.description,
        (f"git diff {clip(brief, 140)}",), ("what-changed",), tuple(path for path in files if "..." not in path)[:10],
    )  # fmt: skip


def _of_status(use: ToolUse, line: Line, output: str, prompt: str) -> Told | None:
    files = _STATUS.findall(output)
    if not files:
        return None
    brief = f"{len(files)} changed: {listed((file.rstrip('/').rpartition('/')[2] for file in files), 50)}"
    narrative = joined(
        [f"{code(line.shown, 100)} showed {len(files)} changed files: {listed(files, 600)}.", reason(prompt)]
    )
    return Told("discovery", "Git status", brief, narrative, use.description, concepts=("what-changed",))


def _shown(output: str) -> str:
    """What was printed where no outcome was: build progress, or the last line as it is."""
    if not output.strip():
        return ""
    return "only build progress shown" if _PROGRESS.search(output) else clip(output.strip().rpartition("\n")[2], 50)


def _of_run(use: ToolUse, line: Line, output: str, outcome: Outcome, prompt: str) -> Told | None:
    if not output.strip() and not use.is_failed and line.work != "check" and not use.files_written:
        return None if line.work in ("list", "read", "git") or not use.description else _silent(use, line, prompt)
    kind: ObservationType = "discovery" if outcome.status == "failed" else "change"
    brief = outcome.brief or _last(outcome, prompt) or _shown(output)
    verb, subject = _title(use, line, brief)
    how = _ending(use, outcome, brief)
    return Told(
        type=kind,
        verb=verb,
        subject=subject,
        narrative=joined([f"Ran {code(use.command, 300)}{how}.", *_details(use, outcome, prompt), reason(prompt)]),
        subtitle=use.description,
        facts=_facts(use, outcome, brief),
        concepts=("gotcha",) if outcome.status == "failed" else (),
        files_read=use.files_read,
        files_modified=use.files_written,
    )


def _silent(use: ToolUse, line: Line, prompt: str) -> Told:
    narrative = joined([f"Ran {code(use.command, 400)}, which printed nothing: {use.description}.", reason(prompt)])
    facts = (f"command: {clip(use.command, 160)}",)
    return Told("change", "Run", f"{code(line.shown, 50)}: {use.description}", narrative, use.description, facts)


def _title(use: ToolUse, line: Line, brief: str) -> tuple[str, str]:
    room = _TITLE_ROOM - len("Run `` → ")
    shown = _BIN.sub("", line.shown)
    outcome_room = min(len(brief), max(room - _COMMAND_ROOM, room - len(shown)))
    ends = f" → {clip(brief, outcome_room)}" if brief else ""
    return "Run", f"`{_abbreviated(shown, room - outcome_room)}`{ends}"


def _abbreviated(command: str, max_chars: int) -> str:
    """A command line with its program and its last word, the middle left out."""
    command = command.replace("`", "'")
    if len(command) > max_chars:
        command = _QUOTES.sub(r"\2", command)
    if len(command) <= max_chars:
        return command
    words = [base(word) if "/" in word and len(word) > _LONG_WORD else word for word in command.split()]
    if len(" ".join(words)) <= max_chars:
        return " ".join(words)
    head = " ".join(words[:2])
    tail = words[-1] if len(words) > 2 else ""
    spare = max_chars - len(head) - 3
    if not tail or spare < 6:
        return clip(command, max_chars).replace("`", "")
    middle = [word for word in words[2:-1] if not word.startswith("--")]
    if len(tail) <= spare:
        for word in reversed(middle):
            if len(tail) + len(word) + 1 > spare:
                break
            tail = f"{word} {tail}"
    return f"{head} … {squeeze(tail, spare)}"


def _ending(use: ToolUse, outcome: Outcome, brief: str) -> str:
    code_ = f" (exit code {use.exit_code})" if use.exit_code else ""
    if outcome.status == "failed":
        return f", which failed{code_}: {brief.removeprefix('failed: ')}"
    return f": {brief}" if brief else " without output" if not use.output.strip() else ""


def _details(use: ToolUse, outcome: Outcome, prompt: str) -> list[str]:
    found = [f"Purpose: {use.description}."] if use.description else []
    if outcome.failing:
        found.append(f"Failing tests: {listed(outcome.failing, 300)}.")
    if outcome.errors:
        found.append(f"Errors: {' / '.join(clip(error, 200) for error in outcome.errors[:4])}")
    if use.files_written:
        found.append(f"It wrote {listed(use.files_written, 160)}.")
    return found + _key(outcome, prompt)


def _key(outcome: Outcome, prompt: str) -> list[str]:
    """The lines of the output that say most, and its last ones."""
    told = "\n".join(outcome.errors)
    lines = [line for line in outcome.lines if line.strip() not in told and len(line.strip()) > 3]
    best = telling(lines[:-3], terms_of(prompt), 3, max_chars=120)
    shown = once([*best, *(clip(line, 120) for line in lines[-3:])])
    return [f"Output: {' / '.join(shown)}"] if shown else []


def _last(outcome: Outcome, prompt: str) -> str:
    """What a title says of an output without counts or errors: its last line that says something."""
    lines = [line.strip() for line in outcome.lines if len(line.strip()) > 2]
    if 1 < len(lines) <= 12:
        best = telling(lines, terms_of(prompt), 1, max_chars=60)
        return f"{len(lines)} lines, {best[0] if best else clip(lines[-1], 60)}"
    return clip(lines[-1], 60) if lines else ""


def _facts(use: ToolUse, outcome: Outcome, brief: str) -> tuple[str, ...]:
    facts = [f"command: {clip(use.command, 200)}"]
    if use.exit_code:
        facts.append(f"exit code {use.exit_code}")
    if brief:
        facts.append(f"outcome: {clip(brief, 160)}")
    facts += [f"failing: {name}" for name in outcome.failing[:5]]
    return once([*facts, *(clip(error, 200) for error in outcome.errors[:4])])
