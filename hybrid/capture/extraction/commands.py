"""Tells of commands: what was run, how it ended by what it printed, and the lines that say why. Pure."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.text import one_line
from hybrid.capture.definitions import without_counts
from hybrid.capture.extraction import texts
from hybrid.capture.shell import CommandLine, form_of, line_of
from hybrid.records.memory.types import MAX_TITLE_CHARS, Run
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.capture.tools import ToolUse


# --- How a command ended -------------------------------------------------------------------------------------------

Status = Literal["passed", "failed", ""]

_LONGEST_LINE = 500

# Blank lines and lines of dots come by the thousand: no pattern looks past the end of its line, and none begins anew
# within a run of spaces or dots (tests/contracts/test_pattern_work.py counts it).
_NOISE_LINE = re.compile(
    r"(?:(?:Compiling|Checking|Downloading|Downloaded|Updating|Fresh|Building|Installing|Collecting|Resolved|Prepared|"
    r"Running|Adding|Locking|Unpacking|Blocking|Dirty|Using cached|Requirement already) .*|running \d+ tests?|"
    r"\d{4}-\d\d-\d\dT\S+\s+(?:INFO|DEBUG|TRACE)\b.*|\[\d+/\d+\].*|[|=\-_*~.━─┄│┌└├┬┴ ]*|\d+%.*|… \d+ .*|"
    r"test \S.* \.\.\. (?:ok|ignored)|\S+ PASSED.*|ok  \t.*|✓ .*|Finished .*|.*\.{8}Passed)"
)
_CARGO = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;.*?(?<!\d)(\d+) filtered out(.*)", re.M
)
_CARGO_FAILED = re.compile(r"^test (\S+) (?:- [^\n.]*| *)\.\.\. +FAILED", re.MULTILINE)
_CARGO_OK = re.compile(r"^test \S+ (?:- [^\n.]*| *)\.\.\. ok$", re.MULTILINE)
_PYTEST = re.compile(
    r"^(?:=+ )?((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+)"
    r"(?: in [\d.]+s.*?)(?: =+)?$",
    re.MULTILINE,
)
_PYTEST_NONE = re.compile(r"^(?:=+ )?no tests ran\b", re.MULTILINE)
_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", re.MULTILINE)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n+(OK|FAILED)(?: \((.*)\))?", re.MULTILINE)
_JEST = re.compile(r"^[^\S\n]*Tests:?[^\S\n]+((?:\d+ (?:failed|passed|skipped|todo|total)(?:,? ?\|? ?)?)+)", re.M)
_JEST_FAILED = re.compile(r"^[^\S\n]*(?:●|✕|×|FAIL)[^\S\n]+(\S.*?)(?: \(\d+ m?s\)| \d+ms)?$", re.MULTILINE)
_MOCHA = re.compile(r"^[^\S\n]*(\d+) (passing|failing)\b", re.MULTILINE)
_GO_FAILED = re.compile(r"^[^\S\n]*--- FAIL: (\S+)", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok|FAIL)\s+(\S+)\s+(?:[\d.]+s|\(cached\)|\[build failed\])", re.MULTILINE)
_JAVA = re.compile(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+)")
_HOOK_FAILED = re.compile(r"^[^\S\n]*(?:[│┌└├][^\S\n]*)?(\S.{1,59}?[^.\n])\.{3,}(?:\([^()\n]*\))?Failed$", re.MULTILINE)
_HOOK_PASSED = re.compile(r"\.{3}Passed$", re.MULTILINE)

_ERRORS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?P<code>error\[E\d+\]): (?P<text>.+)(?:\n\s*-->\s*(?P<place>\S+))?",
        r"^(?P<place>[^\s:()]+\(\d+,\d+\)): error (?P<code>TS\d+): (?P<text>.+)$",
        r"^(?P<place>[^\s:]+:\d+(?::\d+)?):? (?:fatal )?error:? (?P<text>.+)$",
        r"^thread .* panicked at (?P<place>\S+?):?\n(?P<text>.+)$",
        r"^E\s{2,}(?P<text>\w*(?:Error|Exception|assert)\b.*)$",
        r"^(?P<text>(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)(?:: .+)?)$",
        r"^(?P<text>note: test did not panic as expected.*)$",
        r"^(?P<text>(?:\S+: )?(?:line \d+: )?\S+: (?:command not found|No such file or directory|Permission denied)"
        r".*)$",
        r"^(?i:error|fatal|failed|failure|npm err!|✗|✖|×)[:! ]+\s*(?P<text>.+)$",
        r"^(?P<text>Found \d+ errors?\b.*)$",
        r"^(?P<text>\d+ errors?, \d+ warnings?.*)$",
        r"^(?P<text>.*\bAssertionError\b.*|.*\bassertion .* failed\b.*)$",
        r"^(?P<text>make: \*\*\* .*|BUILD FAILED.*|\S+ is not recognized .*)$",
    )
)
_NO_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named (\S+)$")
_ERROR_CODE = re.compile(r"error\[(E\d+)\]: (.+)", re.DOTALL)
_CLASS_MODULES = re.compile(r"^(?:\w+\.)+(?=\w*(?:Error|Exception|Warning)\b)")
_NAMES_ITSELF = re.compile(r"E\d+: |\w*(?:Error|Exception)\b|no module ")
"""Pattern of the beginnings of errors after which the word "failed" is not needed."""
_HARD = re.compile(r"^error(?:\[E\d+\])?: ", re.MULTILINE)
_FINISHED = re.compile(r"^[^\S\n]*Finished `?\w+`? .*(?:target|profile)", re.MULTILINE)
_WARNING = re.compile(r"^warning(?:\[\w+\])?: ", re.MULTILINE)
_LATE = re.compile(
    r"(?i)could not compile|test failed, to rerun|aborting due to|^process didn|recipe for target|exit (?:code|status)"
)
_GOOD = re.compile(
    r"(?i)^\s*(?:\S+ )?(?:\d+ files? (?:changed|would be|reformatted|left|already|modified|accepted)|all checks passed|"
    r"no pending|no issues? found|success|successfully|done\b|finished\b|accepted|created|added \d+|up to date|passed|"
    r"would be reformatted|already up|nothing to|build succeeded|\d+ passed).*"
)


class RunOutcome(Struct, frozen=True):
    """The end of a command.

    Attributes:
        status: `passed`, `failed`, or empty when the output does not say.
        brief: The end in a few words, for a title; empty when there is nothing to say.
        failing: Names of tests that failed.
        errors: First lines of errors with their place, the most telling first.
        lines: Lines that are no noise, in order.
    """

    status: Status
    brief: str
    failing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_LEAST_LETTERS = 12
"""Letters of the line of an error that tells one failure from another."""
_MAX_ERROR_CHARS = 200
_MOST_TARGETS = 20
_LOOKING_ONLY = ("search", "read", "look", "list")
_CHECKING = re.compile(r"test|spec|lint|check|mypy|pyright|ruff|clippy|vet\b|tsc\b")
_NO_RUN = re.compile(r"\s--?(?:version|help|collect-only|list|dry-run|h|V)\b")
_CHANGING_GIT = frozenset("pull fetch rebase merge checkout switch stash submodule lfs config init reset".split())


def run_of(use: ToolUse) -> Run | None:
    """Return a use of a tool as a run of a command; None for another tool, one that only looks, and a vague failure."""
    line = line_of(use.command) if use.kind == "command" else None
    if line is None or not line.program or line.work in _LOOKING_ONLY:
        return None
    form = form_of(line)
    plain = (word for word in line.words[1:] if not word.startswith("-"))
    target = tuple(islice((word for word in plain if word not in form.split()), _MOST_TARGETS))
    output = "\n".join(filter(None, (use.output, use.error)))
    outcome = outcome_of(output, is_failed=use.is_failed, exit_code=use.exit_code)
    if outcome.status != "failed":
        is_of_all = _CHECKING.search(line.shown) is not None and _NO_RUN.search(line.shown) is None
        return Run(form, target, is_of_all=is_of_all)
    said = next(iter((*outcome.errors, *outcome.failing, *outcome.lines[-1:])), "")
    words = (word.replace("\\", "/").rpartition("/")[2] or word for word in said.split())
    error = _NUMBERS.sub("N", " ".join(words))[:_MAX_ERROR_CHARS]
    return Run(form, target, error) if sum(map(str.isalpha, error)) >= _LEAST_LETTERS else None


def step_of(use: ToolUse) -> str:
    """Return what a use of a tool may have done for a command that failed, in words; empty for nothing."""
    if use.is_failed:
        return ""
    if use.kind == "command":
        line = line_of(use.command)
        is_git = line.work == "git" and bool(_CHANGING_GIT.intersection(line.words[1:2]))
        is_change = is_git or (line.work in ("run", "check") and not _CHECKING.search(line.shown))
        return f"ran {texts.code(line.shown, 120)}" if is_change else ""
    if use.kind not in ("edit", "write") or not use.edits:
        return ""
    first = use.edits[0]
    changed = one_line(first.new)[:60]
    return f"edited {first.file}{f' ({texts.code(changed, 60)})' if changed else ''}"


def telling_lines(output: str) -> tuple[str, ...]:
    """Return the lines of an output that are no progress and no passing test; of equal ones in a row one."""
    kept: list[str] = []
    for line in output.split("\n")[:4_000]:
        if line.strip() and not _NOISE_LINE.fullmatch(line.strip()) and (not kept or kept[-1] != line):
            kept.append(line.rstrip())
    return tuple(kept)


def outcome_of(output: str, *, is_failed: bool, exit_code: int | None) -> RunOutcome:
    """Return the outcome of a command, by its output first: behind a pipe the exit code is that of the last program.

    Args:
        output: Text that the command printed, also of its error.
        is_failed: Whether the client says that it failed.
        exit_code: The exit code, where it is told.
    """
    output = "\n".join(line[:_LONGEST_LINE] for line in output.split("\n"))
    counts, status = _counts(output)
    failing = _failing(output)
    is_hard = status == "passed" and _HARD.search(output) is not None
    errors = () if status == "passed" and not (is_failed or is_hard) else _errors(output)
    ends_badly = errors and not status and not _GOOD.match(output.strip().rpartition("\n")[2])
    if is_failed or is_hard or failing or ends_badly:
        status = "failed"
    outcome = RunOutcome(status, "", failing, errors, telling_lines(output))
    return replace(outcome, brief=_brief(outcome, counts, exit_code) or _finished(output))


def _counts(text: str) -> tuple[str, Status]:
    """Return the counts of tests in words, and the status; both are empty when no tests were run."""
    # Some clients give the output of a failure twice: the same counts in the same time are the same run.
    rows = [tuple(map(int, row[:4])) for row in dict.fromkeys(_CARGO.findall(text))]
    if rows:
        passed, failed, _, filtered = (sum(row[i] for row in rows) for i in range(4))
        more = "+" if text.rfind("\ntest ") > text.rfind("\ntest result: ") else ""  # The end is cut off.
        if not passed and not failed:
            return f"no tests ran ({filtered} filtered out)", ""
        return (f"{failed} failed, {passed} passed", "failed") if failed else (f"{passed}{more} passed", "passed")
    if n_ok := len(_CARGO_OK.findall(text)):
        n_failed = len(_CARGO_FAILED.findall(text))
        return (f"{n_failed} failed, {n_ok} passed", "failed") if n_failed else (f"{n_ok} passed", "passed")
    if (counts := _PYTEST.findall(text)) or _PYTEST_NONE.search(text):
        words = counts[-1].strip(", ") if counts else "no tests ran"
        is_bad = re.search(r"\b(?:failed|errors?)\b", words)  # `xfailed` was expected to.
        return words, "failed" if is_bad else "passed" if "passed" in words else ""
    if match := _UNITTEST.search(text):
        return f"{amount(int(match[1]), 'test')} {match[3] or match[2]}", "passed" if match[2] == "OK" else "failed"
    if counts := _JEST.findall(text):
        words = counts[-1].strip(" ,|").replace(" | ", ", ")
        return words, "failed" if "failed" in words else "passed"
    if match := _JAVA.search(text):
        bad = int(match[2]) + int(match[3])
        words = f"{bad} failed of {amount(int(match[1]), 'test')}" if bad else f"{match[1]} passed"
        return words, "failed" if bad else "passed"
    if counts := _MOCHA.findall(text):
        words = ", ".join(f"{n} {word}" for n, word in counts)
        return words, "failed" if "failing" in words else "passed"
    return _packages(text)


def _packages(text: str) -> tuple[str, Status]:
    """Return the counts of Go's packages, or of hooks before a commit, in words, and the status."""
    if packages := _GO_PACKAGE.findall(text):
        bad = [name for word, name in packages if word == "FAIL"]
        words = f"{len(bad)} of {len(packages)} packages failed" if bad else f"{amount(len(packages), 'package')} ok"
        return words, "failed" if bad else "passed"
    bad, good = texts.once(_HOOK_FAILED.findall(text)), len(_HOOK_PASSED.findall(text))
    if bad or good > 1:
        words = f"{len(bad)} failed ({texts.listed(bad, 50)}), {good} passed" if bad else f"all {good} hooks passed"
        return words, "failed" if bad else "passed"
    return "", ""


def _failing(text: str) -> tuple[str, ...]:
    """Return the names of tests that failed, at most 20, each once; those of Jest only where its counts are shown."""
    of_pytest = [match[1] for match in _PYTEST_FAILED.finditer(text)]
    names = [*_CARGO_FAILED.findall(text), *of_pytest, *_GO_FAILED.findall(text)]
    if _JEST.search(text):
        names += [name for name in _JEST_FAILED.findall(text) if not name.startswith("Test")]
    return texts.once(texts.clip(name, 120) for name in names)[:20]


def _errors(text: str) -> tuple[str, ...]:
    """Return the lines of errors, the most telling pattern first; errors that only report others stand last."""
    errors: list[str] = []
    late: list[str] = []
    for pattern in _ERRORS:
        for match in islice(pattern.finditer(text), 8):
            parts = match.groupdict()
            message = texts.clip(parts["text"], 220)
            message = f"{parts['code']}: {message}" if parts.get("code") else message
            error = f"{message} ({parts['place']})" if parts.get("place") else message
            if message and not any(message in known for known in errors):
                (late if _LATE.search(message) else errors).append(error)
    return texts.once([*errors, *late])[:8]


def _brief(outcome: RunOutcome, counts: str, exit_code: int | None) -> str:
    """Return how a command ended in a few words: failing tests, the first error, counts or a last good line."""
    lines = outcome.lines
    if outcome.failing:
        n_failed = (counts or f"{len(outcome.failing)} failed").removesuffix(", 0 passed")
        return f"{n_failed}: {texts.listed((_short_name(name) for name in outcome.failing), 60)}"
    if outcome.errors and outcome.status == "failed":
        first = _in_short(outcome.errors[0])
        if counts and "no tests" not in counts:
            return f"{counts}; {first}"
        return first if _NAMES_ITSELF.match(first) else f"failed: {first}"
    if counts:
        return counts
    if outcome.status == "failed":
        last = lines[-1] if lines else ""
        return f"failed{f' (exit {exit_code})' if exit_code else ''}{f': {last}' if last else ''}"
    good = next((number for number in range(len(lines) - 1, -1, -1) if _GOOD.match(lines[number])), -1)
    if good < 0:
        return ""
    return texts.clip(" ".join(lines[good : good + 2]) if lines[good].endswith(":") else lines[good], 80)


def _in_short(error: str) -> str:
    """Return an error without words that every error of its kind has, and without the modules of its class."""
    if match := _NO_MODULE.match(error):
        return f"no module {match[1]}"
    if match := _ERROR_CODE.match(error):
        return f"{match[1]}: {match[2]}"
    return _CLASS_MODULES.sub("", error)


def _finished(text: str) -> str:
    """Return `finished` with the number of warnings for output of a build that ended, else an empty text."""
    if not _FINISHED.search(text):
        return ""
    n_warnings = len(_WARNING.findall(text))
    return f"finished with {amount(n_warnings, 'warning')}" if n_warnings else "finished without warnings"


def _short_name(name: str) -> str:
    """Return a test's name without its folders or modules, as far as it stays telling."""
    parts = re.split(r"(::|/)", re.sub(r"^\S+\.\w+::", "", name))
    return parts[-1] if len(parts[-1]) > 8 else "".join(parts[-3:])


# --- What is told of it --------------------------------------------------------------------------------------------

_COMMAND_ROOM = 30
_PLAIN_WORD = re.compile(r"(?!-)[\w:.-]{1,20}")
_SCRIPTS = {"python": "Python", "node": "Node", "ruby": "Ruby", "perl": "Perl", "php": "PHP"}
"""Program → the language of a script that it runs."""
_LONG_WORD = 16
"""Characters of a path in a command from which on a title that is too long shows the path's name only."""
_DIFF_STAT = re.compile(
    r"^[^\S\n]*(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?", re.MULTILINE
)
_STAT_FILE = re.compile(r"^[^\S\n]*(\S+)[^\S\n]+\|[^\S\n]+(?:\d+|Bin)", re.MULTILINE)
_DIFF_FILE = re.compile(r"^diff --git a/(\S+)", re.MULTILINE)
_CHANGED = re.compile(r"^([+-](?![+-]{2})\s*\S.*)$", re.MULTILINE)
_STATUS = re.compile(r"^(?: ?[MADRCU?!]{1,2}|\t(?:modified|new file|deleted|renamed):) +(\S.*)$", re.MULTILINE)
_COMMIT = re.compile(r"^\[(\S+) (?:\(root-commit\) )?([0-9a-f]{7,})\] (.+)$", re.MULTILINE)
_QUOTES = re.compile(r"(['\"])([^\s'\"]+)\1")
_LEAST_SAID = 3
"""Letters of the shortest line of an output that says something in a title."""
_LEAST_CODE = 24
"""Room in a title for less than which a line of code would say nothing."""
_COUNTING = re.compile(r"-(?!-)\w*c\w*$|--count\b")
"""Pattern of the options of a search that count matches instead of showing them."""
_LOGS = (".txt", ".log", ".out", ".output")
_BIN = re.compile(r"^(?:\S*/s?bin/)?(?:python[\d.]* -m )?(?=\S)")
"""Pattern of the folder or the interpreter of a program, which is of no interest in a title."""
_EXIT_LINE = re.compile(r"\AExit code \d+\n?")

_PROGRESS = re.compile(
    r"^[^\S\n]*(?:Compiling|Checking|Building|Download(?:ing|ed)|Fetching|Installing|Collecting|Updating|Finished|Resolving"
    r"|\[\d+/\d+\]|\d{1,3}%)",
    re.MULTILINE,
)


def tell_command(use: ToolUse, prompt: str) -> texts.ObservationDraft | None:
    """Return a draft of what a command did; None for a command that tells nothing, such as `pwd`."""
    line = line_of(use.command)
    if not line.shown:
        return None
    output = "\n".join(part for part in (use.output, _EXIT_LINE.sub("", use.error)) if part)
    if use.is_failed and line.work == "search" and not output.strip():
        return _of_search(use, line, output, prompt)
    outcome = outcome_of(output, is_failed=use.is_failed, exit_code=use.exit_code)
    if line.work == "search" and line.query and not (use.is_failed and outcome.errors):
        return _of_search(use, line, output, prompt)
    if line.work == "search":
        return _of_run(use, line, output, outcome, prompt)
    if line.work == "list" and not use.is_failed:
        return _of_listing(use, line, output)
    is_log = use.files_read[:1] and use.files_read[0].endswith(_LOGS) and outcome.status
    if line.work == "read" and not use.is_failed and use.files_read and output.strip() and not is_log:
        how = f"Read with {texts.code(texts.clip(use.command, 200), 160)}"
        return texts.draft_of_text(texts.FileText(use.files_read, output), prompt, how=f"{how}:")
    if line.work == "git" and not use.is_failed:
        return _of_git(use, line, output, outcome, prompt)
    return _of_run(use, line, output, outcome, prompt)


def _of_search(use: ToolUse, line: CommandLine, output: str, prompt: str) -> texts.ObservationDraft:
    lines = "\n".join(telling_lines(output))
    if any(_COUNTING.match(word) for word in line.words[1:]):
        lines = without_counts(lines)
    folders = [word for word in line.words[1:] if "/" in word and word != line.query and not word.startswith("-")]
    scope = texts.squeeze(texts.folder_name(folders[-1]), 40) if folders else ""
    file = next((path for path in use.files_read if not path.endswith("/")), "") if len(use.files_read) == 1 else ""
    draft = texts.draft_of_search(texts.SearchRun(line.query, lines, scope, file, line.program), prompt)
    return replace(draft, files_modified=use.files_written)


def _of_listing(use: ToolUse, line: CommandLine, output: str) -> texts.ObservationDraft | None:
    """Return a draft of a listing of files; None for other output and for a listing of less than two names."""
    names = [one.strip() for one in output.split("\n") if one.strip() and not one.endswith((" .", " ..", "/."))]
    if line.program not in ("ls", "tree", "wc", "du", "which") or len(names) < 2:
        return None
    shown = [name.split()[-1].rstrip("/").rpartition("/")[2] for name in names if not name.startswith("total ")]
    place = next((word for word in reversed(line.words[1:]) if not word.startswith("-")), "the folder")
    subject = f"{texts.squeeze(place, 36)}: {texts.listed(shown, 70 - min(36, len(place)))}"
    parts = [f"Listed {place} with {texts.code(line.shown, 120)}: {texts.listed(shown, 500)}."]
    return texts.ObservationDraft("discovery", "List", subject, parts, use.description, files_read=use.files_read)


def _of_git(
    use: ToolUse, line: CommandLine, output: str, outcome: RunOutcome, prompt: str
) -> texts.ObservationDraft | None:
    sub = next((word for word in line.words[1:] if not word.startswith("-")), "")
    if commit := _COMMIT.search(output):
        made = f"{commit[2]} on {commit[1]}"
        parts = [f"Committed {made}: {commit[3]}.", *_key(outcome, prompt)]
        return texts.ObservationDraft("change", "Commit", commit[3], parts, use.description, (f"commit {made}",))
    if sub in ("diff", "show"):
        return _of_diff(use, line, output, prompt)
    if sub == "status":
        return _of_status(use, line, output)
    if not output.strip() and sub in ("add", "checkout", "restore", "rm", "reset"):
        subject = texts.code(line.shown, 60) + (f": {use.description}" if use.description else "")
        return _silent(use, subject, f"Ran {texts.code(use.command, 400)}: {use.description}.")
    return _of_run(use, line, output, outcome, prompt) if output.strip() else None


def _of_diff(use: ToolUse, line: CommandLine, output: str, prompt: str) -> texts.ObservationDraft | None:
    files = texts.once([*_DIFF_FILE.findall(output), *_STAT_FILE.findall(output), *use.files_read])
    if not output.strip():
        return None
    short = [file.rpartition("/")[2] for file in files]
    if stat := _DIFF_STAT.search(output):
        brief = f"of {stat[1]} file{'s' * (stat[1] != '1')}, +{stat[2] or 0} −{stat[3] or 0}: {texts.listed(short, 60)}"
    else:
        changed = [one for one in _CHANGED.findall(output) if len(one.split(None, 1)[-1]) > 3]
        best = texts.telling(changed, texts.terms_of(prompt), 1) or changed[:1]
        brief = f"of {texts.listed(short, 44)}" if short else texts.code(line.shown, 50)
        room = MAX_TITLE_CHARS - len(f"Review diff {brief}: ")
        brief += f": {texts.code(best[0].lstrip('+- '), room)}" if best and room >= _LEAST_CODE else ""
    key = texts.telling(_CHANGED.findall(output), texts.terms_of(prompt), 6, max_chars=110)
    return texts.ObservationDraft(
        type="discovery",
        verb="Review diff",
        subject=brief,
        parts=[
            f"Looked at {texts.code(line.shown, 160)}: {brief.removeprefix('of ')}.",
            f"Files: {texts.listed(files, 300)}.",
            f"Changed lines: {' / '.join(key)}" if key else "",
            f"Counts: {' / '.join(texts.once(telling_lines(output))[-6:])}" if stat else "",
        ],
        subtitle=use.description,
        facts=(f"git diff {texts.clip(brief, 140)}",),
        concepts=("what-changed",),
        files_read=tuple(path for path in files if "..." not in path)[:10],
    )


def _of_status(use: ToolUse, line: CommandLine, output: str) -> texts.ObservationDraft | None:
    files = _STATUS.findall(output)
    if not files:
        return None
    brief = f"{len(files)} changed: {texts.listed((file.rstrip('/').rpartition('/')[2] for file in files), 50)}"
    parts = [f"{texts.code(line.shown, 100)} showed {len(files)} changed files: {texts.listed(files, 600)}."]
    return texts.ObservationDraft("discovery", "Git status", brief, parts, use.description, concepts=("what-changed",))


def _shown(output: str) -> str:
    """Return what to show of an output without an outcome: that it is build progress, or the last line; or empty."""
    if not output.strip():
        return ""
    return (
        "only build progress shown" if _PROGRESS.search(output) else texts.clip(output.strip().rpartition("\n")[2], 50)
    )


def _of_run(
    use: ToolUse, line: CommandLine, output: str, outcome: RunOutcome, prompt: str
) -> texts.ObservationDraft | None:
    if not output.strip() and not use.is_failed and line.work != "check" and not use.files_written:
        if line.work in ("list", "read", "git") or not use.description:
            return None
        says = f"Ran {texts.code(use.command, 400)}, which printed nothing: {use.description}."
        return _silent(use, f"{texts.code(line.shown, 50)}: {use.description}", says)
    brief = outcome.brief or _last(outcome, prompt) or _shown(output)
    is_written = line.program in ("cat", "tee") and use.files_written and outcome.status != "failed"
    return texts.ObservationDraft(
        type="discovery" if outcome.status == "failed" else "change",
        verb="Write" if is_written else "Run",
        subject=texts.listed(map(texts.base, use.files_written), 70) if is_written else _subject(line, use, brief),
        parts=[f"Ran {texts.code(use.command, 300)}{_ending(use, outcome, brief)}.", *_details(use, outcome, prompt)],
        subtitle=use.description,
        facts=_facts(use, outcome, brief),
        concepts=("gotcha",) if outcome.status == "failed" else (),
        files_read=use.files_read,
        files_modified=use.files_written,
        is_failed=outcome.status == "failed",
    )


def _silent(use: ToolUse, subject: str, says: str) -> texts.ObservationDraft:
    """Return a draft of a command that printed nothing: all that is known of it is its purpose."""
    facts = (f"command: {texts.clip(use.command, 160)}",)
    return texts.ObservationDraft("change", "Run", subject, [says], use.description, facts)


def _subject(line: CommandLine, use: ToolUse, brief: str) -> str:
    """Return the title of a command without its verb: the command, and how it ended where that is known."""
    room = MAX_TITLE_CHARS - len("Run ")
    if script := _SCRIPTS.get(line.program.rstrip("0123456789.")) if _is_inline(line, use) else "":
        says = f": {texts.clip(use.description, 30)}" if use.description else ""
        run = f"a {script} script{says}"
    else:
        run = f"`{_abbreviated(_BIN.sub('', line.shown), max(_COMMAND_ROOM, room - len(brief) - len('`` → ')))}`"
    return f"{run} → {texts.clip(brief, room - len(run) - len(' → '))}" if brief else run


def _is_inline(line: CommandLine, use: ToolUse) -> bool:
    """Return whether a command holds the text of the script that it runs."""
    names_none = all(word.startswith("-") for word in line.words[1:])
    return ("<<" in use.command and names_none) or any(word in ("-c", "-e") for word in line.words[1:2])


def _abbreviated(command: str, max_chars: int) -> str:
    """Return a command line in whole words: program and subcommand, then as many of the last ones as there is room for.

    `…` stands for those that are left out. A path is its name, and of a path of modules the end is shown.
    """
    command = command.replace("`", "'")
    if len(command) > max_chars:
        command = _QUOTES.sub(r"\2", command)
    if len(command) <= max_chars:
        return command
    words = [_short_word(word) if "/" in word and len(word) > _LONG_WORD else word for word in command.split()]
    if len(" ".join(words)) <= max_chars:
        return " ".join(words)
    n_head = 2 if len(words) > 1 and _PLAIN_WORD.fullmatch(words[1]) else 1
    kept, room = list[str](), max_chars - len(" ".join(words[:n_head])) - len(" …")
    for word in reversed([word for word in words[n_head:] if not word.startswith("-")]):
        name = word if len(word) < room else word.rpartition("::")[2]
        if len(name) >= room or '"' in name or "'" in name:
            break
        kept.insert(0, name)
        room -= len(name) + 1
    if not kept and len(words) > n_head and (begun := words[-1].rpartition("::")[2][:room].rpartition("_")[0]):
        return " ".join([*words[:n_head], f"{begun}…"])  # The name of a test is mostly long.
    return " ".join([*words[:n_head], "…", *kept])


def _short_word(word: str) -> str:
    path, colons, test = word.partition("::")
    return f"{texts.base(path)}{colons}{test}"


def _ending(use: ToolUse, outcome: RunOutcome, brief: str) -> str:
    code_ = f" (exit code {use.exit_code})" if use.exit_code else ""
    if outcome.status == "failed":
        return f", which failed{code_}: {brief.removeprefix('failed: ')}"
    return f": {brief}" if brief else " without output" if not use.output.strip() else ""


def _details(use: ToolUse, outcome: RunOutcome, prompt: str) -> list[str]:
    details = [f"Purpose: {use.description}."] if use.description else []
    if outcome.failing:
        details.append(f"Failing tests: {texts.listed(outcome.failing, 300)}.")
    if outcome.errors:
        details.append(f"Errors: {' / '.join(texts.clip(error, 200) for error in outcome.errors[:4])}")
    if use.files_written:
        details.append(f"It wrote {texts.listed(use.files_written, 160)}.")
    return details + _key(outcome, prompt)


def _key(outcome: RunOutcome, prompt: str) -> list[str]:
    """Return one sentence with the lines of the output that say most, and its last ones; empty without lines."""
    errors = "\n".join(outcome.errors)
    lines = [line for line in outcome.lines if line.strip() not in errors and len(line.strip()) > 3]
    best = texts.telling(lines[:-3], texts.terms_of(prompt), 3, max_chars=120)
    shown = texts.once([*best, *(texts.clip(line, 120) for line in lines[-3:])])
    return [f"Output: {' / '.join(shown)}"] if shown else []


def _last(outcome: RunOutcome, prompt: str) -> str:
    """Return the last telling line for a title, or the most telling one and the number of lines; or empty."""
    lines = [line.strip() for line in outcome.lines if sum(map(str.isalpha, line)) >= _LEAST_SAID]
    if 1 < len(lines) <= 12:
        best = texts.telling(lines, texts.terms_of(prompt), 1, max_chars=60)
        return f"{best[0] if best else texts.clip(lines[-1], 60)} ({len(lines)} lines)"
    return texts.clip(lines[-1], 60) if lines else ""


def _facts(use: ToolUse, outcome: RunOutcome, brief: str) -> tuple[str, ...]:
    facts = [f"command: {texts.clip(use.command, 200)}"]
    if use.exit_code:
        facts.append(f"exit code {use.exit_code}")
    if brief:
        facts.append(f"outcome: {texts.clip(brief, 160)}")
    facts += [f"failing: {name}" for name in outcome.failing[:5]]
    return texts.once([*facts, *(texts.clip(error, 200) for error in outcome.errors[:4])])
