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
_BULLET = re.compile(r"^\s*(?:[-*•✅✔✓❌]|\d+[.)])\s+")
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
    r"(?:(?:[^.;]|\.(?=\S)){0,60}\byet\b| (?:yet )?(?:add|change|do|finish|fix|implement|solve|touch)(?:ed|ne)?\b)"
)
"""Pattern of a sentence of what is left to do, whatever else it says."""
_NO_STATEMENT = ("?", ":", ":.")
"""Ends of questions, and of sentences that announce what follows."""
_OPENING = re.compile(
    r"(?i)(?:perfect|great|excellent|good|done|fixed|all done|sure|yes|no|ok(?:ay)?|wonderful|awesome|you're right|"
    r"(?:here's|here is|below is|let me)\b.*|committed (?:as|in|it)\b.{0,40}|"
    r"(?:it|everything|all|the (?:fix|change|implementation|task|work)) "
    r"(?:works|is (?:now )?(?:done|complete|working))\b.{0,40}|"
    r"(?:all|the) .{0,40}\b(?:tests?|checks?)\b.{0,20}\bpass(?:es|ed)?)[.!:]"
)
"""Pattern of sentences that say nothing of what was found out."""
_OUTCOME, _COMMITTED = re.compile(r"outcome: "), re.compile(r"commit [0-9a-f]{7,} on ")
"""Patterns of the facts of commands that say how they ended, and what they committed."""
_TESTS = re.compile(
    r"\b\d+ (?:failed|passed|passing|failing|tests?|hooks passed|packages? (?:ok|failed)|of \d+ packages)\b"
)
_PASSED = re.compile(r"(?i)\b(?:tests?|checks?)\b[^,;:]{0,30}\bpass(?:es|ed)?\b")
_OUTCOME_CHARS = 120
_SPAN = re.compile(r"`[^`]*`")
_LEAD_SENTENCES = 2
"""Sentences of a longer answer that say what was found out."""
_NEXT = re.compile(r"(?i)^\W*(?:to ?do|next(?: steps?)?)\W*[:,]\s*")
"""Pattern of the words before such a sentence that its field says too."""


def summarise(request: str, agent_text: str, observed: Sequence[Extracted]) -> Summarised:
    """Summarise a turn by its sentences and uses of tools; a field of which nothing is known is empty.

    The first sentences of an answer say what was found out, whatever their words. What was changed is told only where a
    tool changed something, or no use of a tool is known.

    Args:
        request: The last prompt that a person typed, cleaned.
        agent_text: The last text of the agent, of which the last 40,000 characters count; may be empty.
        observed: The observations of its tools' uses in the turn, in order.
    """
    parts, statements = _parts(agent_text[-_MAX_AGENT_CHARS:])
    n_chars = sum(len(statement) for statement in statements)
    has_changed = not observed or any(observation.files_modified for observation in observed)
    found = [statement for statement in statements if not _PASSED.search(statement)] or statements
    lead = found[:_LEAD_SENTENCES] if has_changed or n_chars > MAX_FIELD_CHARS else found
    ended = _ended(observed)
    told = {
        "investigated": parts["investigated"] or [_looked_at(observed)],
        "learned": [*lead, *parts["learned"]],
        "completed": _without(parts["completed"], lead) if has_changed else [],
        "next_steps": parts["next_steps"],
    }
    fields = {name: _gist(" ".join(once(said)), MAX_FIELD_CHARS) for name, said in told.items()}
    if has_changed and len(fields["completed"]) < LEAST_ANSWER_CHARS:  # `Done.` does not say what was done.
        fields["completed"] = f"{fields['completed']} {_done(observed)}".strip()
    said = [sentence for sentence in once(_without(parts["notes"], lead)) if not ended or not _PASSED.search(sentence)]
    notes = "\n".join(filter(None, [*ended, _gist(" ".join(said), MAX_FIELD_CHARS)]))
    return Summarised(request=_gist(_without_comments(request), MAX_REQUEST_CHARS), notes=notes, **fields)


def _without_comments(text: str) -> str:
    """Return a text without `<!-- comments -->`, of which forms of issues are full."""
    first, *others = text.split("<!--")
    return first + "".join(part.partition("-->")[2] for part in others)


def _without(said: Sequence[str], others: Sequence[str]) -> list[str]:
    return [sentence for sentence in said if sentence not in others]


def _parts(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the sentences of an agent's text by the field that their heading names, else by their own words.

    Beside these, all statements in their order but those of what is left to do; of lists only if there are no others.
    """
    parts: dict[str, list[str]] = {field: [] for field in _FIELDS}
    statements, points = list[str](), list[str]()
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
        content = _ended_line(lead[2] if lead and of_lead else _BULLET.sub("", line))
        for sentence in (half for whole in sentences(content) for half in _halves(whole)):
            target = of_lead or field or _field_of_sentence(sentence)
            is_short = len(sentence) < LEAST_ANSWER_CHARS
            says_nothing = _OPENING.fullmatch(sentence) or not any(map(str.isalpha, _SPAN.sub("", sentence)))
            if says_nothing and target == "notes":
                parts[target].append(sentence)
            if says_nothing or (sentence.endswith(_NO_STATEMENT) and (is_short or not field)):
                continue
            if target:
                parts[target].append(_NEXT.sub("", sentence) if target == "next_steps" else sentence)
            if target != "next_steps" and not sentence.endswith(":"):
                (points if _BULLET.match(line) and not of_lead else statements).append(sentence)
    return parts, statements or points


def _halves(sentence: str) -> list[str]:
    """Return the halves of `It is done; the rest is not yet.`, of which only one is left to do; else the sentence."""
    done, _, undone = sentence.partition("; ")
    return [f"{done}.", undone] if undone and _UNDONE.search(undone) and not _UNDONE.search(done) else [sentence]


def _field_of(heading: str) -> str:
    return next((field for field, pattern in _FIELDS.items() if pattern.search(heading)), "")


def _field_of_sentence(sentence: str) -> str:
    if sentence.endswith(_NO_STATEMENT):
        return ""
    if _UNDONE.search(sentence):
        return "next_steps"
    return next((field for field, pattern in _SAID.items() if pattern.search(sentence)), "")


def _ended_line(line: str) -> str:
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


def _ended(observed: Sequence[Extracted]) -> list[str]:
    """Return how the turn ended by its last run of tests, its last checks and its commits, a line each."""
    outcomes = [_OUTCOME.sub("", fact) for one in observed for fact in one.facts if _OUTCOME.match(fact)]
    ended: dict[str, str] = {}
    for outcome in filter(_TESTS.search, outcomes):
        name = "Checks" if "hooks passed" in outcome or " failed (" in outcome else "Tests"
        ended[name] = f"{name}: {clip(outcome, _OUTCOME_CHARS)}."
    commits = once(one.title.removeprefix("Commit ") for one in observed if any(map(_COMMITTED.match, one.facts)))
    return [*ended.values(), *(f"Committed: {title}." for title in commits)]


def _done(observed: Sequence[Extracted]) -> str:
    """Return the titles of what was changed, joined; empty without any."""
    titles = once(observation.title for observation in observed if observation.files_modified)
    return clip("; ".join(titles), MAX_FIELD_CHARS)
