"""Makes the summary of a turn from what was asked, what the agent said at its end, and what was observed. Pure.

It only picks: every sentence is the user's, the agent's, or a list of what the tools did.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.text import one_line
from hybrid.capture.extraction.texts import base, clip, listed, once, sentences
from hybrid.records.memory.types import LEAST_ANSWER_CHARS, Extracted, Summarised

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_REQUEST_CHARS = 300
MAX_FIELD_CHARS = 600

_MAX_AGENT_CHARS = 40_000
_FENCE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(\S.*)|\*\*([^*\n]{2,160}?):?\*\*:?|([A-Z][\w' -]{2,40}):)\s*$")
_LEAD = re.compile(r"^\s*(?:[-*•]\s+)?\*\*([^*\n]{2,40}?):?\*\*:?\s+(\S.*)$")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_MARKS = re.compile(r"\*\*|__|[✅✔✓❌⚠️🎉]\s*")


def _words(text: str) -> re.Pattern[str]:
    """Compile a pattern of any of the words and phrases, which may be patterns, parted by bars."""
    return re.compile(rf"(?i)\b(?:{'|'.join(text.split(' | '))})\b")


_FIELDS: dict[str, re.Pattern[str]] = {
    "next_steps": _words(
        r"next steps? | to ?dos? | remaining | follow.?ups? | what(?:'s| is) left | left to do | "
        r"open (?:points|questions|issues)"
    ),
    "learned": _words(
        "root cause | cause | problem | issue | findings? | learned | why | analysis | explanation | how it works | "
        "background | diagnosis | insights?"
    ),
    "investigated": _words("investigated | investigation | looked at | explored | exploration | examined"),
    "notes": _words(
        "verification | verified | tests? results? | testing | notes? | caveats? | limitations? | known issues | "
        "warnings? | remarks? | test coverage"
    ),
    "completed": _words(
        "changes? | changed | summary | done | did | fix | fixes | fixed | implementation | implemented | results? | "
        "completed | solution | updates? | added | files"
    ),
}
"""Name of a field → pattern of its headings, the surest first."""

_SAID: dict[str, re.Pattern[str]] = {
    "next_steps": re.compile(
        r"(?i)^\W*(?:(?:to ?do|next(?: steps?)?)\W*[:,]|(?:as a next|the next step|remaining|"
        r"still (?:to do|missing|open)|not (?:yet )?done|you (?:should|may want|can now|will need))\b)"
    ),
    "learned": re.compile(
        r"(?i)\b(?:because|root cause|caused by|turns? out|since the|due to|"
        r"the (?:problem|issue|reason|cause) (?:is|was))\b"
    ),
    "notes": re.compile(
        r"(?i)\b(?:tests? (?:now )?pass(?:es|ed)?|all \d+ |passes|verified|note that|caveat|however|warning)\b"
    ),
    "completed": re.compile(
        r"(?i)\b(?:fixed|added|updated|implemented|created|removed|replaced|renamed|moved|changed|refactored|wrote|made|"
        r"set|now)\b"
    ),
}
"""Name of a field → pattern of the sentences without a heading that belong to it."""
_UNDONE = re.compile(
    r"(?i)\b(?:not|never|cannot|\w+n['’]t)\b"
    r"(?:[^.;]{0,60}\byet\b| (?:yet )?(?:add|change|do|finish|fix|implement|solve|touch)(?:ed|ne)?\b)"
)
"""Pattern of a sentence of what is left to do, whatever else it says."""
_NO_STATEMENT = ("?", ":", ":.")
"""Ends of questions, and of sentences that announce what follows."""
_NEXT = re.compile(r"(?i)^\W*(?:to ?do|next(?: steps?)?)\W*[:,]\s*")
"""Pattern of the words before such a sentence that its field says too."""


def summarise(request: str, agent_text: str, observed: Sequence[Extracted]) -> Summarised:
    """Summarise a turn by its sentences and uses of tools; a field of which nothing is known is empty.

    Args:
        request: The last prompt that a person typed, cleaned.
        agent_text: The last text of the agent, of which the last 40,000 characters count; may be empty.
        observed: The observations of its tools' uses in the turn, in order.
    """
    parts, unplaced = _parts(agent_text[-_MAX_AGENT_CHARS:])
    whole = " ".join(one_line(_MARKS.sub("", line)) for line in _FENCE.sub("", agent_text).splitlines() if line.strip())
    is_short, n_placed = len(whole) <= MAX_FIELD_CHARS, sum(len(one) for said in parts.values() for one in said)
    if is_short and not (parts["learned"] or parts["next_steps"]):
        parts["completed"] = [whole]  # A short answer says itself best.
    elif is_short or n_placed < LEAST_ANSWER_CHARS:
        parts["learned"] = unplaced + parts["learned"]
    told = {field: _gist(" ".join(said), MAX_FIELD_CHARS) for field, said in parts.items()}
    told["investigated"] = told["investigated"] or _looked_at(observed)
    if len(told["completed"]) < LEAST_ANSWER_CHARS:  # `Done.` does not say what was done.
        told["completed"] = f"{told['completed']} {_done(observed)}".strip()
    return Summarised(request=_gist(request, MAX_REQUEST_CHARS), **told)


def _parts(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the sentences of an agent's text by the field that their heading names, else by their own words.

    Beside these, the statements that fit no field.
    """
    parts: dict[str, list[str]] = {field: [] for field in _FIELDS}
    unplaced: list[str] = []
    field, level = "", 0
    for line in _FENCE.sub("", text).splitlines():
        heading = _HEADING.match(line)
        if heading:
            named = _field_of((heading[1] or "").rstrip("# ") or heading[2] or heading[3] or "")
            own = len(line) - len(line.lstrip("# ")) if heading[1] else 9
            if named or own < level:  # A heading below says what its parent does, unless it names a field.
                field, level = named, own
            if named or "`" not in line:  # A file's name belongs to what is said of it.
                continue
        lead = _LEAD.match(line)
        of_lead = _field_of(lead[1]) if lead else ""
        content = _ended(lead[2] if lead and of_lead else _BULLET.sub("", line))
        if content:
            for sentence in sentences(content) if not (of_lead or field) else [content]:
                target = of_lead or field or _field_of_sentence(sentence)
                if target:
                    parts[target].append(_NEXT.sub("", sentence) if target == "next_steps" else sentence)
                elif not sentence.endswith(_NO_STATEMENT):
                    unplaced.append(sentence)
    return parts, unplaced


def _field_of(heading: str) -> str:
    return next((field for field, pattern in _FIELDS.items() if pattern.search(heading)), "")


def _field_of_sentence(sentence: str) -> str:
    if sentence.endswith(_NO_STATEMENT):
        return ""
    if _UNDONE.search(sentence):
        return "next_steps"
    return next((field for field, pattern in _SAID.items() if pattern.search(sentence)), "")


def _ended(line: str) -> str:
    """Return a line without marks, ended like a sentence."""
    line = one_line(_MARKS.sub("", line))
    if len(line) < 3 or set(line) <= set("-=|_ "):
        return ""
    return line if line.endswith((".", "!", "?", ":", ";")) else f"{line}."


def _gist(text: str, max_chars: int) -> str:
    """Return as many whole sentences from the beginning as fit; when none fits, the beginning clipped."""
    text = one_line(text)
    if len(text) <= max_chars:
        return text
    kept = ""
    for sentence in sentences(text):
        longer = f"{kept} {sentence}" if kept else sentence
        if len(longer) > max_chars:
            break
        kept = longer
    return kept or clip(text, max_chars)


def _looked_at(observed: Sequence[Extracted]) -> str:
    """Return a list of the files that were read and not changed; empty without any."""
    changed = {path for observation in observed for path in observation.files_modified}
    reads = [observation for observation in observed if observation.title.startswith("Read ")]
    read = once(base(path) for observation in reads for path in observation.files_read if path not in changed)
    return f"Read {listed(read, MAX_FIELD_CHARS // 2)}." if read else ""


def _done(observed: Sequence[Extracted]) -> str:
    """Return the titles of what was changed, joined; empty without any."""
    titles = once(observation.title for observation in observed if observation.files_modified)
    return clip("; ".join(titles), MAX_FIELD_CHARS)
