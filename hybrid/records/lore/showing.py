"""Records of lore as they are searched and shown: text without secrets and placeholders, lines of the frame; pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from hybrid.base.text import cut, one_line
from hybrid.records.lore.handoffs import short_id
from hybrid.records.lore.types import Pattern, day_of, is_mapping, text_of, texts_of
from hybrid.records.types import Record, well_formed
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.records.lore.types import AntiPattern, Decision, Handoff


UNATTRIBUTED_MARK = " [unattributed]"
_MAX_DEPTH = 4
"""The most levels of lists and mappings in a record from which texts are taken."""
_FURTHER = {"Next": 3, "Blocker": 2, "Question": 2}
"""Label of the lines below the message of a handoff → the most lines with this label."""
_FURTHER_CHARS = 200
_HANDOFF_CHARS = 1_400
"""The most characters of a handoff with its further lines; a larger one would fill the budget of lore alone."""
_MARGIN_CHARS = 3
"""Characters that the frame adds to each line: a line end and two spaces."""

_PLACEHOLDERS = frozenset(
    "todo,tbd,fixme,n/a,na,none,null,nil,unknown,undefined,placeholder,test,testing,foo,bar,baz,xxx,lorem ipsum,"
    "not specified,no rationale,description here".split(",")
)
# Nothing but punctuation; one word or more in angle brackets; what a tool writes for a missing symptom.
_NO_TEXT = re.compile(r"[\W_]*|<[^<>]*>|\(context:\s*(?:always|any)?\s*\)", re.IGNORECASE)


def meaning(text: str) -> str:
    """Return a text without white space around it; empty for a placeholder (`TODO`, `n/a`, `...`, `<reason>`)."""
    text = text.strip()
    if text.rstrip(".!").lower() in _PLACEHOLDERS or _NO_TEXT.fullmatch(text):
        return ""
    return text


def learned_record(value: Pattern | AntiPattern, *, is_foreign: bool = False) -> Record:
    """Return the record of a pattern or an anti-pattern; with `is_foreign` it is marked with the project it names."""
    name = one_line(_shown(value.name))
    if isinstance(value, Pattern):
        context, problem, solution = map(_shown, (value.context, value.problem, value.solution))
        rating = f"confidence: {round(value.confidence, 2)}"
        texts = [context, problem, solution, *_examples(value)]
        situation = _labelled("Problem", problem) if problem else _labelled("When", context)
        lines = (*situation, *_labelled("Solution", solution))
    else:
        symptom, risk, fix = map(_shown, (value.symptom, value.risk, value.fix))
        rating = f"severity: {one_line(value.severity)}"
        texts = [symptom, risk, fix]
        lines = (*_labelled("Symptom", symptom), *_labelled("Fix", fix))
    return Record(
        kind=value.kind,
        id=value.id,
        name=name,
        text=_text([*texts, value.category]),
        shown=f"{name} ({rating}){f' [from: {one_line(value.project)}]' if is_foreign else ''}",
        lines=lines,
        created_at=value.created_at,
        project=value.project,
    )


_AUTHOR_CHARS = 40


def decision_record(decision: Decision, project: str, hide: Callable[[str], str] = redact) -> Record:
    """Return the record of a decision.

    Args:
        decision: The decision as read.
        project: Name of its project; an empty one marks the decision as unattributed.
        hide: Takes the secrets out of a text.
    """
    get = decision.fields.get
    texts = (decision.decision, decision.rationale, text_of(get("title")), text_of(get("lesson_learned")))
    what, why, title, lesson = (hide(meaning(text)) for text in texts)
    what = one_line(what)
    lists = [hide(", ".join(texts_of(get(key)))) for key in ("alternatives", "entities", "tags")]
    by = one_line(hide(well_formed(text_of(get("author")))))
    told_by_title = [] if what.startswith(title.rstrip(".… ")) else [title]
    return Record(
        kind="decision",
        id=decision.id,
        name=what,
        text=_text([*told_by_title, why, *lists, lesson]),
        shown=f"{_dated(decision.id, decision.created_at, by)}{'' if project else UNATTRIBUTED_MARK}",
        lines=(f"{what} -- {one_line(why)}" if why else what,),
        created_at=decision.created_at,
        project=well_formed(project),
        is_attributed=bool(project),
    )


def handoff_record(handoff: Handoff, project: str, hide: Callable[[str], str] = redact) -> Record:
    """Return the record of a handoff: the message, then the first next steps, blockers and questions, a line each.

    Args:
        handoff: The handoff as read.
        project: Name of its project; an empty one marks the handoff as unattributed.
        hide: Takes the secrets out of a text.
    """

    def shown_texts(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(text for one in texts if (text := hide(meaning(one))))

    message, summary = hide(meaning(handoff.message)), hide(meaning(handoff.summary))
    further = {"Next": handoff.next_steps, "Blocker": handoff.blockers, "Question": handoff.questions}
    shown = {label: shown_texts(texts) for label, texts in further.items()}
    return Record(
        kind="handoff",
        id=handoff.id,
        name="",
        text=_text([message, *(text for texts in shown.values() for text in texts), summary]),
        shown=f"{_dated(short_id(handoff.id), handoff.created_at)}{'' if project else UNATTRIBUTED_MARK}",
        lines=_with_further(_lines(message), shown),
        created_at=handoff.created_at,
        project=well_formed(project),
        is_attributed=bool(project),
    )


def _with_further(message: tuple[str, ...], further: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the lines of a message, then those of `further` that fit into the limit of a handoff, each cut short."""
    lines = list(message)
    left = _HANDOFF_CHARS - sum(len(line) + _MARGIN_CHARS for line in lines)
    for label, most in _FURTHER.items():
        for text in further[label][:most]:
            line = cut(f"{label}: {one_line(text)}", _FURTHER_CHARS)
            left -= len(line) + _MARGIN_CHARS
            if left >= 0:
                lines.append(line)
    return tuple(lines)


def texts_in(fields: Mapping[str, object]) -> str:
    """Return the texts of a record as one, so that they can be searched for secrets at once."""
    return "\n".join(_leaves(list(fields.values()), 0))


def _leaves(values: Iterable[object], depth: int) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif depth < _MAX_DEPTH and isinstance(value, list):
            yield from _leaves(cast("list[object]", value), depth + 1)
        elif depth < _MAX_DEPTH and isinstance(value, dict):
            yield from _leaves(cast("dict[str, object]", value).values(), depth + 1)


def _shown(text: str) -> str:
    return redact(meaning(text))


def _labelled(label: str, text: str) -> tuple[str, ...]:
    return _lines(f"{label}: {text}") if text else ()


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in text.splitlines() if line.strip())


def _text(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def _examples(pattern: Pattern) -> list[str]:
    """Return the texts of the key `examples` of a pattern, a list of mappings (`bad`, `good`) or of texts."""
    examples = pattern.fields.get("examples")
    if not isinstance(examples, list):
        return []
    found: list[str] = []
    for example in cast("list[object]", examples):
        values = example.values() if is_mapping(example) else [example]
        found += [shown for value in values if (shown := _shown(text_of(value)))]
    return found


def _dated(identity: str, created_at: str, author: str = "") -> str:
    facts = ", ".join(filter(None, (day_of(created_at), f"by {author[:_AUTHOR_CHARS]}" if author else "")))
    return f"{one_line(identity)} ({facts})" if facts else one_line(identity)


def shown_fields(fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the keys of a record as they are shown: well-formed, and without secrets."""
    return changed_texts(dict(fields), lambda text: redact(well_formed(text)), well_formed)


def field_lines(fields: Mapping[str, object]) -> list[str]:
    """Return a line for each key of a record as it is shown, `key: value`."""
    shown = shown_fields(fields).items()
    texts = ((key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for key, value in shown)
    return [f"{one_line(key)}: {one_line(text)}" for key, text in texts]


def changed_texts(value: Any, text: Callable[[str], str], key: Callable[[str], str]) -> Any:
    """Return a value of JSON with `text` applied to each text in it, and `key` to each key."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [changed_texts(one, text, key) for one in cast("list[object]", value)]
    return {key(name): changed_texts(one, text, key) for name, one in value.items()} if is_mapping(value) else value
