"""Reads how a command ended from what it printed: counts of tests, failures by name, errors with their places. Pure."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from hybrid.capture.extraction.wording import clip, listed, once
from hybrid.render.numbers import amount

Status = Literal["passed", "failed", ""]

_LONGEST_LINE = 500

_NOISE = re.compile(
    r"^\s*(?:(?:Compiling|Checking|Downloading|Downloaded|Updating|Fresh|Building|Installing|Collecting|Resolved|Prepared|"
    r"Running|Adding|Locking|Unpacking|Blocking|Dirty|Using cached|Requirement already) .*|running \d+ tests?|"
    r"\d{4}-\d\d-\d\dT\S+\s+(?:INFO|DEBUG|TRACE)\b.*|\[\d+/\d+\].*|[|=\-_*~.━─┄│┌└├┬┴ ]*|\d+%.*|… \d+ .*|"
    r"test \S+(?: - .*)? +\.\.\. (?:ok|ignored)|\S+ PASSED.*|ok  \t.*|\s*✓ .*|Finished .*|.*\.{8,}Passed)\s*$"
)
_CARGO = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;.*?(\d+) filtered out(.*)", re.M
)
_CARGO_FAILED = re.compile(r"^test (\S+)(?: - [^\n.]*)? +?\.\.\. +FAILED", re.MULTILINE)
_CARGO_OK = re.compile(r"^test \S+(?: - [^\n.]*)? +\.\.\. ok$", re.MULTILINE)
_PYTEST = re.compile(
    r"^(?:=+ )?((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+)"
    r"(?: in [\d.]+s.*?)(?: =+)?$",
    re.MULTILINE,
)
_PYTEST_NONE = re.compile(r"^(?:=+ )?no tests ran\b", re.MULTILINE)
_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", re.MULTILINE)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n+(OK|FAILED)(?: \((.*)\))?", re.MULTILINE)
_JEST = re.compile(r"^\s*Tests:?\s+((?:\d+ (?:failed|passed|skipped|todo|total)(?:,? ?\|? ?)?)+)", re.MULTILINE)
_JEST_FAILED = re.compile(r"^\s*(?:●|✕|×|FAIL)\s+(.+?)(?: \(\d+ m?s\)| \d+ms)?$", re.MULTILINE)
_MOCHA = re.compile(r"^\s*(\d+) (passing|failing)\b", re.MULTILINE)
_GO_FAILED = re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok|FAIL)\s+(\S+)\s+(?:[\d.]+s|\(cached\)|\[build failed\])", re.MULTILINE)
_JAVA = re.compile(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+)")
_HOOK_FAILED = re.compile(r"^\s*[│┌└├]?\s*(\S.{2,60}?)\.{3,}(?:\(.*\))?Failed$", re.MULTILINE)
_HOOK_PASSED = re.compile(r"\.{3,}Passed$", re.MULTILINE)

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
"""Openings after which it need not be said that something failed."""
_HARD = re.compile(r"^error(?:\[E\d+\])?: ", re.MULTILINE)
_FINISHED = re.compile(r"^\s*Finished `?\w+`? .*(?:target|profile)", re.MULTILINE)
_WARNING = re.compile(r"^warning(?:\[\w+\])?: ", re.MULTILINE)
_LATE = re.compile(
    r"(?i)could not compile|test failed, to rerun|aborting due to|^process didn|recipe for target|exit (?:code|status)"
)
_GOOD = re.compile(
    r"(?i)^\s*(?:\S+ )?(?:\d+ files? (?:changed|would be|reformatted|left|already|modified|accepted)|all checks passed|"
    r"no pending|no issues? found|success|successfully|done\b|finished\b|accepted|created|added \d+|up to date|passed|"
    r"would be reformatted|already up|nothing to|build succeeded|\d+ passed).*"
)


class Outcome(Struct, frozen=True):
    """How a command ended.

    Attributes:
        status: passed, failed, or empty when the text does not say.
        brief: In a few words, for a title; empty when there is nothing to say.
        failing: Names of tests that failed.
        errors: First lines of errors with their place, the most telling first.
        lines: Lines that are no noise, in order.
    """

    status: Status
    brief: str
    failing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def telling_lines(output: str) -> tuple[str, ...]:
    """The lines of an output that are no progress and no passing test, each once in a row."""
    found: list[str] = []
    for line in output.split("\n")[:4_000]:
        if line.strip() and not _NOISE.match(line) and (not found or found[-1] != line):
            found.append(line.rstrip())
    return tuple(found)


def outcome_of(output: str, *, is_failed: bool, exit_code: int | None) -> Outcome:
    """How a command ended, by its output first: behind a pipe the exit code is that of the last program.

    Args:
        output: What it printed, also of its error.
        is_failed: Whether the client says that it failed.
        exit_code: Where it is told.
    """
    output = "\n".join(line[:_LONGEST_LINE] for line in output.split("\n"))
    counts, status = _counts(output)
    failing = _failing(output)
    errors = () if status == "passed" and not is_failed else _errors(output)
    lines = telling_lines(output)
    if status == "passed" and _HARD.search(output):
        status, errors = "failed", _errors(output)
    if failing and status != "failed":
        status = "failed"
    if is_failed or (errors and not status and _is_error_line(output, errors)):
        status = "failed"
    brief = _brief(counts, failing, errors, lines, status, exit_code, _finished(output))
    return Outcome(status, brief, failing, errors, lines)


def _is_error_line(output: str, errors: tuple[str, ...]) -> bool:
    """Return whether errors make a failure without counts: not when the end says that all is well."""
    return bool(errors) and not _GOOD.match(output.strip().rpartition("\n")[2])


def _counts(text: str) -> tuple[str, Status]:
    """Counts of tests in words, and what they say; empty when no tests were run."""
    # Some clients give the output of a failure twice: the same counts in the same time are the same run.
    rows = [tuple(map(int, row[:4])) for row in dict.fromkeys(_CARGO.findall(text))]
    if rows:
        passed, failed, _, filtered = (sum(row[i] for row in rows) for i in range(4))
        more = "+" if text.rfind("\ntest ") > text.rfind("\ntest result: ") else ""  # The end is cut off.
        if not passed and not failed:
            return f"no tests ran ({filtered} filtered out)", ""
        words = f"{failed} failed, {passed} passed" if failed else f"{passed}{more} passed"
        return words, "failed" if failed else "passed"
    if n_ok := len(_CARGO_OK.findall(text)):
        n_failed = len(_CARGO_FAILED.findall(text))
        return f"{n_failed} failed, {n_ok} passed" if n_failed else f"{n_ok} passed", "failed" if n_failed else "passed"
    if (found := _PYTEST.findall(text)) or _PYTEST_NONE.search(text):
        words = found[-1].strip(", ") if found else "no tests ran"
        return words, "failed" if "failed" in words or "error" in words else "passed" if "passed" in words else ""
    if match := _UNITTEST.search(text):
        return f"{amount(int(match[1]), 'test')} {match[3] or match[2]}", "passed" if match[2] == "OK" else "failed"
    if found := _JEST.findall(text):
        words = found[-1].strip(" ,|").replace(" | ", ", ")
        return words, "failed" if "failed" in words else "passed"
    if match := _JAVA.search(text):
        bad = int(match[2]) + int(match[3])
        return (
            f"{bad} failed of {amount(int(match[1]), 'test')}" if bad else f"{match[1]} passed",
            "failed" if bad else "passed",
        )
    if found := _MOCHA.findall(text):
        words = ", ".join(f"{n} {word}" for n, word in found)
        return words, "failed" if "failing" in words else "passed"
    return _packages(text)


def _packages(text: str) -> tuple[str, Status]:
    """Go's packages, and hooks before a commit."""
    if packages := _GO_PACKAGE.findall(text):
        bad = [name for word, name in packages if word == "FAIL"]
        words = f"{len(bad)} of {len(packages)} packages failed" if bad else f"{amount(len(packages), 'package')} ok"
        return words, "failed" if bad else "passed"
    bad, good = once(_HOOK_FAILED.findall(text)), len(_HOOK_PASSED.findall(text))
    if bad or good > 1:
        words = f"{len(bad)} failed ({listed(bad, 50)}), {good} passed" if bad else f"all {good} hooks passed"
        return words, "failed" if bad else "passed"
    return "", ""


def _failing(text: str) -> tuple[str, ...]:
    found = [
        *_CARGO_FAILED.findall(text),
        *(name for name, _ in _PYTEST_FAILED.findall(text)),
        *_GO_FAILED.findall(text),
    ]
    if _JEST.search(text):
        found += [name for name in _JEST_FAILED.findall(text) if not name.startswith("Test")]
    return once(clip(name, 120) for name in found)[:20]


def _errors(text: str) -> tuple[str, ...]:
    """Errors by how much they say: of the first pattern first; those that only report others last."""
    found: list[str] = []
    late: list[str] = []
    for pattern in _ERRORS:
        for number, match in enumerate(pattern.finditer(text)):
            if number == 8:
                break
            parts = match.groupdict()
            said = clip(parts["text"] or "", 220)
            said = f"{parts['code']}: {said}" if parts.get("code") else said
            place = parts.get("place") or ""
            one = f"{said} ({place})" if place else said
            if said and not any(said in known for known in found):
                (late if _LATE.search(said) else found).append(one)
    return once([*found, *late])[:8]


def _brief(
    counts: str,
    failing: tuple[str, ...],
    errors: tuple[str, ...],
    lines: tuple[str, ...],
    status: Status,
    code: int | None,
    finished: str,
) -> str:
    if failing:
        n_failed = (counts or f"{len(failing)} failed").removesuffix(", 0 passed")
        return f"{n_failed}: {listed((_short(name) for name in failing), 60)}"
    if errors and status == "failed":
        first = _in_short(errors[0])
        if counts and "no tests" not in counts:
            return f"{counts}; {first}"
        return first if _NAMES_ITSELF.match(first) else f"failed: {first}"
    if counts:
        return counts
    if status == "failed":
        last = lines[-1] if lines else ""
        return f"failed{f' (exit {code})' if code else ''}{f': {last}' if last else ''}"
    good = next((number for number in range(len(lines) - 1, -1, -1) if _GOOD.match(lines[number])), -1)
    if good < 0:
        return finished
    return clip(" ".join(lines[good : good + 2]) if lines[good].endswith(":") else lines[good], 80)


def _in_short(error: str) -> str:
    """An error without what every one of its kind says, and without the modules of its class."""
    if match := _NO_MODULE.match(error):
        return f"no module {match[1]}"
    if match := _ERROR_CODE.match(error):
        return f"{match[1]}: {match[2]}"
    return _CLASS_MODULES.sub("", error)


def _finished(text: str) -> str:
    """What a build that came to its end says of itself."""
    if not _FINISHED.search(text):
        return ""
    n_warnings = len(_WARNING.findall(text))
    return f"finished with {amount(n_warnings, 'warning')}" if n_warnings else "finished without warnings"


def _short(name: str) -> str:
    """A test's name without its folders or modules, as far as it stays telling."""
    parts = re.split(r"(::|/)", re.sub(r"^\S+\.\w+::", "", name))
    return parts[-1] if len(parts[-1]) > 8 else "".join(parts[-3:])
