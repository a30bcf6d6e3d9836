"""Which type and which concepts an observation has, by the file, the change and the prompt's wording. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.capture.definitions import is_prose
from hybrid.capture.extraction.wording import once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.capture.extraction.diffs import Change
    from hybrid.records.memory.types import ObservationType

_FIXING = re.compile(
    r"(?i)\b(?:fix(?:e[sd]|ing)?|bug(?:s|gy|fix)?|repair|broken|crash(?:es|ed|ing)?|panics?|regression|wrong(?:ly)?|"
    r"fail(?:s|ed|ing|ure)?|incorrect(?:ly)?|hotfix|resolve[sd]? (?:the |an? )?(?:issue|error|problem)|work ?around|"
    r"does(?: not|n't) work|leak(?:s|ed|ing)?|hangs?|endless(?:ly)?|never (?:stop|end|return|finish)(?:s|es)?|"
    r"race condition|deadlock|off.by.one)\b"
)
_ADDING = re.compile(
    r"(?i)\b(?:add(?:s|ed|ing)?|implement(?:s|ed|ing)?|support(?:s|ed)?|introduc\w+|creat(?:e|es|ing)|build|new|feature|"
    r"extend|allow|enable|expose|write a)\b"
)
_REFACTORING = re.compile(
    r"(?i)\b(?:refactor\w*|renam\w+|extract\w*|mov(?:e|es|ing)|split(?:ting)?|clean ?up|simplif\w+|restructur\w+|"
    r"deduplicat\w+|inline|reorgani[sz]\w+)\b"
)
_DECIDING = re.compile(r"(?i)\b(?:decided?|decision|we (?:choose|chose|use)|chosen|instead of|rather than|opted)\b")
_BECAUSE = re.compile(r"(?i)\b(?:because|since|so that|otherwise|in order to|to avoid|reason|must|why)\b")
_TRADING = re.compile(
    r"(?i)\b(?:trade-?offs?|at the cost of|slower but|faster but|instead of|rather than|compromise)\b"
)
_PATTERN = re.compile(r"(?i)\b(?:pattern|convention|idiom|always|never|as elsewhere|the same way as|best practice)\b")
_DECISION_FILE = re.compile(r"(?i)(?:^|[/_-])(?:adrs?|decisions?|rfcs?)(?:[/_.-]|$)")
_TEST_FILE = re.compile(
    r"(?i)(?:^|/)(?:tests?|__tests__|specs?|fixtures?|testdata|testing|testsuite)/|(?:^|/)test_[^/]+$|"
    r"[._-](?:test|spec|tests)\.[^/]+$|(?:^|/)conftest\.py$|\.snap(?:\.new)?$"
)
_CONFIG_FILE = re.compile(r"(?i)\.(?:toml|ya?ml|ini|cfg|conf|json|env|properties)$|(?:^|/)(?:Dockerfile|Makefile)$")
_FIRST_VERB_CHARS = 60


def is_test_file(path: str) -> bool:
    """Return whether a file holds tests, or what tests read."""
    return bool(_TEST_FILE.search(path))


def is_fix(prompt: str) -> bool:
    """Return whether a prompt asks for something to be mended; its first words count most: `Add a fix page` adds."""
    head = prompt.strip()[:_FIRST_VERB_CHARS]
    first = _first(head)
    return first == "fix" if first else bool(_FIXING.search(prompt[:600]))


def type_of_edit(file: str, changes: Sequence[Change], prompt: str) -> ObservationType:
    """The type of an edit of a file."""
    comment = " ".join(change.comment for change in changes)
    added = " ".join(" ".join(change.added[:20]) for change in changes)
    if _DECISION_FILE.search(file) or (is_prose(file) and _DECIDING.search(added)):
        return "decision"
    if file.startswith(("/", "~")) or is_prose(file):
        return "change"
    if all(change.renamed for change in changes):
        return "refactor"
    if _CONFIG_FILE.search(file) and not is_test_file(file) and any(swap.name for c in changes for swap in c.swaps):
        return "decision"
    if is_fix(prompt) or (_FIXING.search(comment) and any(change.removed for change in changes)):
        return "bugfix"
    if _first(prompt.strip()[:_FIRST_VERB_CHARS]) == "refactor":
        return "refactor"
    has_new = any(change.defined or change.edit.is_new or len(change.added) >= 3 for change in changes)
    if has_new and _ADDING.search(prompt[:400]):
        return "feature"
    moved = sum(len(change.undefined) for change in changes) > 0 and any(change.defined for change in changes)
    return "refactor" if moved else "change"


def concepts_of_edit(kind: str, changes: Sequence[Change]) -> tuple[str, ...]:
    """What an edit teaches."""
    text = " ".join(
        change.comment or " ".join(change.added[:30] if is_prose(change.edit.file) else ()) for change in changes
    )
    found = ["what-changed", "problem-solution" if kind == "bugfix" else ""]
    return once([*found, *concepts_of_text(text)])


def concepts_of_text(text: str) -> tuple[str, ...]:
    """What prose, such as a comment, teaches by its wording."""
    found = [
        "why-it-exists" if _BECAUSE.search(text) else "",
        "trade-off" if _TRADING.search(text) else "",
        "pattern" if _PATTERN.search(text) else "",
    ]
    return once(found)


def _first(head: str) -> str:
    """Which of the three comes first in the opening words of a prompt; empty for none."""
    found = {"fix": _FIXING.search(head), "add": _ADDING.search(head), "refactor": _REFACTORING.search(head)}
    places = [(match.start(), name) for name, match in found.items() if match]
    return min(places)[1] if places else ""
