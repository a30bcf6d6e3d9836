"""Makes one observation of the uses of a batch: the built-in extractor, without a model, deterministic and pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.base.text import one_line
from hybrid.capture.extraction import texts
from hybrid.capture.extraction.commands import tell_command
from hybrid.capture.extraction.edits import tell_edit
from hybrid.records.memory.types import MAX_TITLE_CHARS, Extracted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hybrid.capture.tools import ToolUse
    from hybrid.records.memory.types import ObservationType

NARRATIVE_CHARS = 1_200
_ORDER: tuple[ObservationType, ...] = ("decision", "bugfix", "feature", "refactor", "change", "discovery")
_MAX_FACTS = 16
_MOST_TOLD = 3
"""Things that one observation tells at most: as many as a title can name."""
_MOST_EDITS = 6
"""Edits of one file that one observation tells at most; each has 200 characters of its narrative."""
_NOT_DONE = re.compile(
    r"(?i)sibling tool call errored|tool use was rejected|interrupted by user|doesn't want to proceed"
)
_FILLER = re.compile(
    r"(?i)^(?:#|\*\*[^*]*\*\*:?$|\*\*(?:files?|locations?|paths?)\b|(?:now (?:i|that i|let)|let me|here(?:'s| is| are)|"
    r"based on|perfect|great|excellent|i(?:'ve|'ll|'m| have| will| am| need))\b)|:$"
)
"""Pattern of sentences of a report that say nothing of its subject: headings, and how the work went."""
_POLITE = re.compile(r"(?i)^(?:please|can you|could you|now|ok(?:ay)?|hi|hello|hey|then|also|so|and)[,:]?\s+")
_PURPOSE_CHARS = 110
_REASON = re.compile(r" For: [^\n]*\Z")


def observations(uses: Sequence[ToolUse], prompt: str) -> list[tuple[int, Extracted | None]]:
    """Cut a batch into runs of uses that belong together, and make one observation of each.

    A failed command is alone, since others would bury it. A search that found nothing joins what came after it, whose
    title is then that of the run. Else a run has at most three things to tell, all of which its title names, or the
    edits of one file.

    Args:
        uses: Uses of one tool, in order.
        prompt: What the user asked for; empty when unknown.

    Returns:
        For each run the number of its uses, and its observation; None for uses that tell nothing.
    """
    runs: list[tuple[int, list[texts.ObservationDraft]]] = []
    for use in uses:
        drafts = _tell(use, prompt)
        if runs and _goes_on(runs[-1][1], drafts):
            n, told = runs[-1]
            runs[-1] = n + 1, told + drafts
        else:
            runs.append((1, drafts))
    return [(n, _observation(drafts)) for n, drafts in runs]


def _goes_on(run: list[texts.ObservationDraft], drafts: list[texts.ObservationDraft]) -> bool:
    """Return whether the drafts of the next use belong to a run."""
    said = {(draft.verb, draft.subject) for draft in run}
    new = {(draft.verb, draft.subject) for draft in drafts} - said
    if not run or not new:
        return True
    if any(draft.is_failed for draft in (*run, *drafts)):
        return False
    if all(draft.is_vain for draft in run):
        return True
    if any(draft.is_vain for draft in drafts):
        return False
    places = {draft.place for draft in (*run, *drafts)}
    most = _MOST_EDITS if len(places) == 1 and "" not in places else _MOST_TOLD
    return sum(not draft.is_vain for draft in run) + len(new) <= most


def extract(uses: Sequence[ToolUse], prompt: str) -> Extracted | None:
    """Make one observation of some uses; None when they tell nothing.

    A use that was refused or interrupted, a plan and a listing that a tool of its own makes tell nothing.

    Args:
        uses: Uses of one tool, in order.
        prompt: What the user asked for; empty when unknown.
    """
    return _observation([draft for use in uses for draft in _tell(use, prompt)])


def _observation(drafts: list[texts.ObservationDraft]) -> Extracted | None:
    if not drafts:
        return None
    told = [draft for draft in drafts if not draft.is_vain] or drafts
    vain = [fact for draft in drafts if draft.is_vain for fact in draft.facts]
    # Uses that say the same are one; edits of one file are told together, even where their titles are equal.
    is_repeat = len({(draft.verb, draft.subject) for draft in told}) == 1 and not told[0].place
    draft = told[0] if is_repeat or len(told) == 1 else _batch(told)
    return Extracted(
        type=draft.type,
        title=texts.clip(f"{draft.verb} {draft.subject}", MAX_TITLE_CHARS),
        subtitle=texts.clip(draft.subtitle, 200),
        narrative=_joined(draft.parts),
        facts=texts.once([*draft.facts[:_MAX_FACTS], *vain]),
        concepts=draft.concepts,
        files_read=tuple(path for path in draft.files_read if path not in draft.files_modified),
        files_modified=draft.files_modified,
    )


def _tell(use: ToolUse, prompt: str) -> list[texts.ObservationDraft]:
    if _NOT_DONE.search(use.error[:300]):
        return []
    if use.kind in ("edit", "write") and (use.edits or use.is_failed):
        drafts = tell_edit(use, prompt)
    else:
        draft = _TELLERS.get(use.kind, _tell_other)(use, prompt)
        drafts = [draft] if draft else []
    if use.kind == "subagent":  # Its task is the purpose.
        return drafts
    return [replace(draft, parts=[*draft.parts, _reason(prompt)]) for draft in drafts]


def _reason(prompt: str) -> str:
    """Return `For: ` and the gist of a prompt: its first sentence that says something; empty without a prompt."""
    plain = (_POLITE.sub("", sentence) for sentence in texts.sentences(prompt[:4_000]))
    gist = next((sentence for sentence in plain if len(sentence) >= 15), prompt[:400])
    return f"For: {texts.clip(gist, _PURPOSE_CHARS)}" if prompt.strip() else ""


def _joined(parts: Iterable[str]) -> str:
    """Join sentences to a narrative, as many as fit; the one that does not is clipped."""
    text = ""
    for part in filter(None, map(one_line, parts)):
        room = NARRATIVE_CHARS - len(text) - bool(text)
        if room < min(len(part), 60):
            break
        text += (" " if text else "") + texts.clip(part, room)
    return text


def _batch(drafts: list[texts.ObservationDraft]) -> texts.ObservationDraft:
    """Join the drafts of a batch: one title over all, the narratives side by side, the weightiest type."""
    kinds = {draft.type for draft in drafts}
    share = max(120, (NARRATIVE_CHARS - 130) // len(drafts))
    narratives = [_joined(draft.parts) for draft in drafts]
    why = _REASON.search(narratives[0])
    return texts.ObservationDraft(
        type=next(kind for kind in _ORDER if kind in kinds),
        verb=drafts[0].verb,
        subject=_subjects(drafts),
        parts=[*texts.once(texts.clip(_REASON.sub("", text), share) for text in narratives), why[0] if why else ""],
        subtitle=next((draft.subtitle for draft in drafts if draft.subtitle), ""),
        facts=texts.once(fact for draft in drafts for fact in draft.facts),
        concepts=texts.once(concept for draft in drafts for concept in draft.concepts),
        files_read=texts.once(path for draft in drafts for path in draft.files_read),
        files_modified=texts.once(path for draft in drafts for path in draft.files_modified),
    )


def _subjects(drafts: list[texts.ObservationDraft]) -> str:
    """Return the title of a batch without its verb: its subjects; a beginning that all have in common stands once."""
    verb, room = drafts[0].verb, MAX_TITLE_CHARS - len(drafts[0].verb) - 1
    subjects = texts.once(draft.subject if draft.verb == verb else f"{draft.verb} {draft.subject}" for draft in drafts)
    if len({draft.place for draft in drafts}) == 1 and drafts[0].place:
        head, colon, _ = subjects[0].partition(": ")
        if colon and all(subject.startswith(head + colon) for subject in subjects):
            return texts.listed([subjects[0], *(subject[len(head) + 2 :] for subject in subjects[1:])], room)
    each = max(22, (room - 2 * len(subjects)) // min(len(subjects), 3))
    return texts.listed((_shortened(subject, each) for subject in subjects), room)


def _shortened(subject: str, max_chars: int) -> str:
    """Return a subject clipped to a length; its outcome after ` → ` is kept, and the part before it is clipped."""
    run, arrow, outcome = subject.rpartition(" → ")
    if not arrow or len(subject) <= max_chars:
        return texts.clip(subject, max_chars)
    outcome = texts.clip(outcome, max_chars // 2)
    return f"{texts.clip(run, max_chars - len(outcome) - len(arrow))}{arrow}{outcome}"


def _tell_agent(use: ToolUse, prompt: str) -> texts.ObservationDraft | None:
    """Return a draft of a subagent's task and report; None when there is nothing to tell."""
    if not (use.query or use.description):
        return None
    task = use.description or texts.clip(use.query, 60)
    report = texts.sentences(use.output)
    content = [sentence for sentence in report if not _FILLER.search(sentence)] or report
    gist = next((sentence for sentence in content if len(sentence) > 20), "")
    key = texts.telling(content, texts.terms_of(f"{prompt} {use.query}"), 8, max_chars=200)
    return texts.ObservationDraft(
        type="discovery",
        verb="Subagent:",
        subject=task + (f" → {gist}" if gist else " failed" if use.is_failed else ""),
        parts=[
            f"Sent a subagent: {texts.clip(use.query or task, 240)}.",
            f"It reported: {' '.join(key) or gist}" if report else "",
        ],
        subtitle=texts.clip(gist, 160),
        concepts=("how-it-works",),
        files_read=use.files_read,
    )


def _tell_web(use: ToolUse, prompt: str) -> texts.ObservationDraft | None:
    """Return a draft of what a page or a search in the web said; None when there is nothing to tell."""
    if not use.query:
        return None
    key = _answer(use, f"{prompt} {use.query}")
    is_page = "://" in use.query.split(" ")[0]
    result = "failed" if use.is_failed else texts.clip(key[0] if key else use.output, 60) or "nothing"
    return texts.ObservationDraft(
        type="discovery",
        verb="Fetch" if is_page else "Search the web for",
        subject=f"{texts.clip(use.query, 48)}: {result}",
        parts=[f"{'Fetched' if is_page else 'Searched the web for'} {texts.clip(use.query, 240)}.", *key],
        facts=(texts.clip(use.query, 200),),
    )


def _tell_other(use: ToolUse, prompt: str) -> texts.ObservationDraft | None:
    """Return a draft of what a tool that is not known was asked and answered; None when there is nothing to tell."""
    name = use.tool.rpartition("__")[2] or use.tool
    asked = use.query or use.description or use.command
    key = _answer(use, f"{prompt} {asked}")
    if use.kind in ("plan", "list") or not (key or use.edits or use.files_written):
        return None
    what = f"{name} {texts.code(asked, 40)}" if asked else name
    return texts.ObservationDraft(
        type="change" if use.files_written else "discovery",
        verb="Use",
        subject=what + (" failed" if use.is_failed else "") + (f" → {key[0]}" if key else ""),
        parts=[f"Used {use.tool}{f' for {texts.clip(asked, 240)}' if asked else ''}.", *key],
        files_read=use.files_read,
        files_modified=use.files_written,
    )


def _answer(use: ToolUse, wanted: str) -> list[str]:
    """Return up to six sentences of an answer that share words with what is wanted, else its first four."""
    answer = texts.sentences(use.output or use.error)
    return texts.telling(answer, texts.terms_of(wanted), 6, max_chars=200) or answer[:4]


_TELLERS: dict[str, Callable[[ToolUse, str], texts.ObservationDraft | None]] = {
    "read": texts.tell_read,
    "search": texts.tell_search,
    "command": tell_command,
    "subagent": _tell_agent,
    "web": _tell_web,
}
"""Kind of tool → the function that tells of a use of it, unless it is an edit."""
