"""Records of lore as they were read, which of them a project may be given or lists, and their texts as they are shown.

Known keys are attributes, and their texts well-formed; `fields` holds every key of the record, known or not, with the
values as they stand, so that a record is rewritten byte for byte.

A record that is given is neither withdrawn nor another project's, and its texts are without secrets and placeholders.
What is withdrawn in one folder is withdrawn in all: a decision that was copied into a project and retracted there is
not given from the personal folder either.

A name of a project counts as a whole word: `flow` is not in `workflow`, `flow-cli` or `flow.py`. In a path each part is
a word, so `/workspace/lineage/journal/lib/store.sh` speaks of `lineage`. Case does not count. Pure, but for a memory of
its work.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeGuard, TypeVar, cast

from msgspec import Struct

from hybrid.base.text import cut, one_line
from hybrid.records.scoring import LessonScorer, Scorable
from hybrid.records.types import LoreError, Record, superseding, well_formed
from hybrid.redact import redact
from hybrid.render.frame import Entry, render_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.records.types import Problem


DEPRECATED_MARK = "[DEPRECATED] "
"""Beginning of the name of a withdrawn pattern or anti-pattern."""

UNREADABLE_PROJECT = "?"
"""The name of the project of a record whose `project` holds something that is no name; no project matches it."""


class _Learned(Struct, frozen=True):
    """The parts that patterns and anti-patterns share.

    Attributes:
        id: `pat-…` or `anti-…`.
        name: The title; that of a withdrawn record begins with `DEPRECATED_MARK`.
        category: One of `patterns.CATEGORIES`, or another word; `general` where the file says nothing.
        created_at: ISO time; empty when unknown.
        project: As written, see `project_of`; empty when none is named.
        fields: Every key of the record with its value.
    """

    id: str
    name: str
    category: str
    created_at: str
    project: str
    fields: Mapping[str, object]

    @property
    def is_active(self) -> bool:
        """False if the record was withdrawn, see `is_withdrawn`."""
        return not is_withdrawn(self.fields)


class Pattern(_Learned, frozen=True):
    """A solution that proved itself; `confidence` lies in 0 to 1."""

    kind: ClassVar[str] = "pattern"

    context: str
    problem: str
    solution: str
    confidence: float


class AntiPattern(_Learned, frozen=True):
    """Something not to do; `severity` is low, medium, high or critical."""

    kind: ClassVar[str] = "anti-pattern"

    symptom: str
    risk: str
    fix: str
    severity: str


class LoreDecision(Struct, frozen=True):
    """A choice and its reason.

    Attributes:
        id: `dec-` and eight hex digits.
        created_at: The time in its key `timestamp`.
        decision: The text of what was decided.
        rationale: The reason for it.
        status: active, superseded, retracted; `active` where the file says nothing.
        outcome: pending, successful, revised, abandoned and others.
        project: As written, see `project_of`; empty when none is named.
        fields: Every key of the record with its value.
    """

    kind: ClassVar[str] = "decision"

    id: str
    created_at: str
    decision: str
    rationale: str
    status: str
    outcome: str
    project: str
    fields: Mapping[str, object]

    @property
    def is_active(self) -> bool:
        """True if the decision is neither retracted, superseded nor abandoned."""
        return self.status == "active" and self.outcome != "abandoned" and not self.is_superseded

    @property
    def is_superseded(self) -> bool:
        """True if its key `superseded_by`, its title or the first line of its text says so."""
        titles = (self.decision, text_of(self.fields.get("title")))
        return bool(text_of(self.fields.get("superseded_by"))) or any(map(superseding, titles))


class Handoff(Struct, frozen=True):
    """A note that one session left for the next.

    Attributes:
        id: `session-…`; the name of the file where the session has none.
        created_at: ISO time of the handoff, else of the end or the start of its session, else the time in the id; or
            empty.
        message: A text on where things stand; may be empty.
        next_steps: Steps to do next.
        blockers: Obstacles.
        questions: Open questions.
        summary: The summary of the session; may be empty.
        project: As written, see `project_of`; empty when none is named.
        file: Path of the session.
        fields: Every key of the session with its value.
    """

    kind: ClassVar[str] = "handoff"

    id: str
    created_at: str
    message: str
    next_steps: tuple[str, ...]
    blockers: tuple[str, ...]
    questions: tuple[str, ...]
    summary: str
    project: str
    file: str
    fields: Mapping[str, object]

    @property
    def is_empty(self) -> bool:
        """True if the session handed nothing over."""
        return not (self.message or self.next_steps or self.blockers or self.questions)


class Lore(Struct, frozen=True):
    """Everything one folder or one file of it holds, withdrawn and retracted records included.

    Attributes:
        patterns: Patterns in the order of the file, the newest first by custom.
        anti_patterns: Anti-patterns in the order of the file, the newest first by custom.
        decisions: The last line of each id, in the order of these lines.
        handoffs: Handoffs, the newest first.
        problems: Places in the files that could not be read.
    """

    patterns: tuple[Pattern, ...] = ()
    anti_patterns: tuple[AntiPattern, ...] = ()
    decisions: tuple[LoreDecision, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    problems: tuple[Problem, ...] = ()


AnyLore = Pattern | AntiPattern | LoreDecision | Handoff


# --- what keys hold ------------------------------------------------------------------------------------------


def text_of(value: object) -> str:
    """Return a scalar as well-formed text without white space around it; empty for null, lists and mappings."""
    if isinstance(value, str):
        return well_formed(value.strip())
    if isinstance(value, (int, float)):
        return str(value)
    return ""


def texts_of(value: object) -> tuple[str, ...]:
    """Return the texts of a list: scalars, and the `name`, `path` or `id` of mappings; a scalar is a list of one."""
    if not isinstance(value, list):
        alone = text_of(value)
        return (alone,) if alone else ()
    return tuple(filter(None, map(_element_text, cast("list[object]", value))))


def projects_of(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the projects that a record names in `project`, else in `context.project`; empty when it names none.

    A name may be a scalar, a mapping with `name`, `id` or `key`, or a list of these; null, empty texts and empty lists
    and mappings name none. What is there and cannot be read is `UNREADABLE_PROJECT`.
    """
    return _names_in(fields.get("project")) or _names_in(mapping_of(fields.get("context")).get("project"))


def project_of(fields: Mapping[str, object]) -> str:
    """Return the projects that a record names, joined by commas; empty when it names none."""
    return ", ".join(projects_of(fields))


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether a value of JSON or YAML is a mapping; its keys are text there."""
    return isinstance(value, dict)


def mapping_of(value: object) -> dict[str, Any]:
    """Return a mapping, or an empty one in the place of anything else."""
    return value if is_mapping(value) else {}


def is_zero(value: object) -> bool:
    """Return whether a value is a number of 0 or less, written as number or text."""
    try:
        return float(text_of(value)) <= 0
    except ValueError:
        return False


def is_withdrawn(fields: Mapping[str, object]) -> bool:
    """Return whether a pattern or an anti-pattern was withdrawn: by its name, or by a confidence of 0 if it has one."""
    name = text_of(fields.get("name"))
    is_named_so = name.startswith(DEPRECATED_MARK.rstrip()) or bool(superseding(name))
    return is_named_so or is_zero(fields.get("confidence"))


def _element_text(element: object) -> str:
    if is_mapping(element):
        return next((text for key in ("name", "path", "id") if (text := text_of(element.get(key)))), "")
    return text_of(element)


def _names_in(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        elements = cast("list[object]", value)
        return tuple(name for one in elements for name in (_names_in_one(one) or (UNREADABLE_PROJECT,)))
    return _names_in_one(value)


def _names_in_one(value: object) -> tuple[str, ...]:
    """Return the names of a project in one scalar or mapping; none for null, `UNREADABLE_PROJECT` for other forms."""
    if is_mapping(value):
        names = tuple(text for key in ("name", "id", "key") if (text := text_of(value.get(key))))
        return names or ((UNREADABLE_PROJECT,) if value else ())
    if isinstance(value, list):
        return (UNREADABLE_PROJECT,)
    text = text_of(value)
    return (text,) if text else ()


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FRACTION = re.compile(r"\.(\d{1,9})\d*")


def day_of(text: str) -> str:
    """Return the day of an ISO time, `2026-02-10`; empty when the text does not begin with one."""
    found = _DAY.match(text.strip())
    return found.group() if found else ""


def seconds_of(text: str) -> float:
    """Return the seconds since the epoch of an ISO time, in UTC where it names no zone; −inf for another text."""
    written = _FRACTION.sub(lambda match: f".{match[1][:6]:0<6}", text.strip())
    try:
        found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", written))
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError, OSError):
        return float("-inf")


# --- records as they are searched and shown -----------------------------------------------------------------

UNATTRIBUTED_MARK = " [unattributed]"
_MAX_DEPTH = 4
"""The most levels of lists and mappings in a record from which texts are taken."""
_FURTHER = {"Next": 3, "Blocker": 2, "Question": 2}
"""Label of the lines below the message of a handoff → the most lines with this label."""
_FURTHER_CHARS = 200
_HANDOFF_CHARS = 1_400
"""The most characters of a handoff with its further lines; a larger one would fill the budget of lore alone."""
_AUTHOR_CHARS = 40
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


def learned_record(value: Pattern | AntiPattern) -> Record:
    """Return the record of a pattern or an anti-pattern."""
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
        shown=f"{name} ({rating})",
        lines=lines,
        created_at=value.created_at,
        project=value.project,
    )


def decision_record(decision: LoreDecision, project: str, hide: Callable[[str], str] = redact) -> Record:
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
        shown=f"{_dated(handoff.id, handoff.created_at)}{'' if project else UNATTRIBUTED_MARK}",
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


def field_texts(shown: Mapping[str, object]) -> dict[str, str]:
    """Return the keys of a record with their values as texts: of lists, numbers and mappings their JSON."""
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in shown.items()
    }


def field_lines(fields: Mapping[str, object]) -> list[str]:
    """Return a line for each key of a record as it is shown, `key: value`."""
    return [f"{one_line(key)}: {one_line(text)}" for key, text in field_texts(shown_fields(fields)).items()]


def changed_texts(value: Any, text: Callable[[str], str], key: Callable[[str], str]) -> Any:
    """Return a value of JSON with `text` applied to each text in it, and `key` to each key."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [changed_texts(one, text, key) for one in cast("list[object]", value)]
    return {key(name): changed_texts(one, text, key) for name, one in value.items()} if is_mapping(value) else value


# --- which records a project is given -----------------------------------------------------------------------

Attribution = Literal["this", "other", "none"]

_BETWEEN_WORDS = re.compile(r"[^\w.\-]+")


class ProjectNames(Struct, frozen=True, dict=True):
    """The names of a project, and those of the other projects that are known here.

    Attributes:
        name: The name of the project; empty outside of any, where every record that names a project is another one's.
        key: The key of the project.
        others: Names and keys of all other projects of the registry; one that this project has too is dropped.
    """

    name: str
    key: str = ""
    others: tuple[str, ...] = ()

    @property
    def distinct(self) -> str:
        """The name of the project; its key if another project, such as a stranger's clone, has the same name."""
        others = {words_of(text) for text in self.others}
        return self.key if words_of(self.name) in others else self.name

    @cached_property
    def own_words(self) -> frozenset[str]:
        """The name and the key of the project, each as `words_of` gives it."""
        return frozenset(words for text in (self.name, self.key) if (words := words_of(text)))

    @cached_property
    def other_words(self) -> frozenset[str]:
        """The names and keys of the other projects as `words_of` gives them, without those of this project."""
        return frozenset(words for text in self.others if (words := words_of(text))) - self.own_words


def attributed(fields: Mapping[str, object], project: ProjectNames) -> Attribution:
    """Return `this`, `other` or `none`: a record with these keys is this project's, another one's, or nobody's.

    What stands in its `project` or `context.project` decides alone when it is there (see `projects_of`): a name
    that the registry does not know, or something that is no name, makes it another project's too, since it was
    attributed on purpose, and giving it away would be the graver mistake. Of several names one of this project is
    enough. Else its entities and tags speak: one that names this project is this one's, whatever else it names; one
    that names another known project is that one's; one that names neither is unattributed.
    """
    named = projects_of(fields)
    if named:
        return "this" if any(_names_one(words_of(name), project.own_words) for name in named) else "other"
    texts = [*texts_of(fields.get("entities")), *texts_of(fields.get("tags"))]
    mentioned = "/".join(map(words_of, texts))
    if _names_one(mentioned, project.own_words):
        return "this"
    return "other" if _names_one(mentioned, project.other_words) else "none"


def words_of(text: str) -> str:
    """Return a text as words: white space is one space, every other run between words one `/`; lower case.

    Dots and dashes belong to a word, as in `next.js` and `lore-client`, except at the end of a sentence.
    """
    spaced = _BETWEEN_WORDS.sub(lambda run: " " if run.group().isspace() else "/", text.casefold())
    return re.sub(r"(?<![.\-])[.\-]+(?=[ /]|$)", "", spaced).strip(" /")


def project_names(name: str, key: str, registry: Iterable[tuple[str, str]]) -> ProjectNames:
    """Return the names of a project and of all others.

    Args:
        name: The name of this project; empty when there is none.
        key: The key of this project.
        registry: Key and name of every known project, this one among them or not.
    """
    others = [text for other, called in registry if other != key for text in (called, other) if text]
    return ProjectNames(name, key, tuple(others))


def _names_one(words: str, names: frozenset[str]) -> bool:
    """Return whether one of some names stands, whole, in a text; both in the form of `words_of`."""
    if not names.isdisjoint(re.split("[ /]", words)):
        return True
    several = (name for name in names if " " in name or "/" in name)
    return any(re.search(rf"(?<![^ /]){re.escape(name)}(?![^ /])", words) for name in several)


_Withdrawable = TypeVar("_Withdrawable", bound=Pattern | AntiPattern | LoreDecision)


_BATCH = 100
"""Number of records that are searched for secrets at once; most such batches hold none."""


class _Made(Struct, frozen=True):
    """A value with its record, None for another project's; the value is kept so that its `id()` is not used anew."""

    value: LoreDecision | Handoff
    whose: Attribution
    seconds: float
    record: Record | None


class RecordMaker:
    """Makes the records of one project, and makes none twice: values that were seen before are looked up.

    Not for several threads at a time.
    """

    def __init__(self, project: ProjectNames) -> None:
        self._project = project
        self._made: dict[int, _Made] = {}
        self._lores: list[Lore] = []
        self._records: tuple[Record, ...] = ()

    def records(self, lores: Sequence[Lore]) -> tuple[Record, ...]:
        """Return the records of one or more folders that may be given in the project; of an id the first folder's.

        Args:
            lores: The content of the folders, the project's own first.

        Returns:
            Patterns and anti-patterns of this project, and those that name none, in the order of their files; this
            project's decisions, the newest first, and its latest handoff; then, marked, what names no project:
            decisions and a handoff.
            The same tuple as before for the same folders, all of them the same objects.
        """
        if not self._lores or any(one is not other for one, other in zip(self._lores, lores, strict=True)):
            self._lores, self._records = list(lores), self._new_records(lores)
        return self._records

    def _new_records(self, lores: Sequence[Lore]) -> tuple[Record, ...]:
        lines = (one for lore in lores for one in reversed(lore.decisions))
        decisions = _kept(lines, lambda one: one.decision)
        handoffs = [handoff for lore in lores for handoff in lore.handoffs if not handoff.is_empty]
        made = self._look_at([*decisions, *handoffs])
        records = _learned_records(lores, self._project)
        for whose in ("this", "none"):
            of_it = [one for one in made if one.whose == whose]
            newest = sorted(of_it, key=lambda one: -one.seconds)
            latest = [one for one in newest if isinstance(one.value, Handoff)][:1]
            shown = [one for one in newest if isinstance(one.value, LoreDecision)] + latest
            records += [one.record for one in shown if one.record]
        return tuple({record.key: record for record in reversed(records)}.values())[::-1]

    def _look_at(self, values: Sequence[LoreDecision | Handoff]) -> list[_Made]:
        new = [value for value in values if id(value) not in self._made]
        for at in range(0, len(new), _BATCH):
            batch = new[at : at + _BATCH]
            together = "\n".join(texts_in(value.fields) for value in batch)
            hide = str if redact(together) is together else redact
            self._made |= {id(value): self._make(value, hide) for value in batch}
        self._made = {id(value): self._made[id(value)] for value in values}
        return list(self._made.values())

    def _make(self, value: LoreDecision | Handoff, hide: Callable[[str], str]) -> _Made:
        whose = attributed(value.fields, self._project)
        if whose == "other":
            return _Made(value, whose, 0.0, None)
        name = (self._project.name or self._project.key) if whose == "this" else ""
        is_decision = isinstance(value, LoreDecision)
        record = decision_record(value, name, hide) if is_decision else handoff_record(value, name, hide)
        return _Made(value, whose, seconds_of(value.created_at), record)


def latest_handoff(lores: Sequence[Lore], project: ProjectNames) -> Handoff | None:
    """Return the latest handoff of this project, else the latest that names no project; None without either."""
    handoffs = [handoff for lore in lores for handoff in lore.handoffs if not handoff.is_empty]
    for whose in ("this", "none"):
        found = [one for one in handoffs if attributed(one.fields, project) == whose]
        if found:
            return max(found, key=lambda one: seconds_of(one.created_at))
    return None


def _learned_records(lores: Sequence[Lore], project: ProjectNames) -> list[Record]:
    """Return the records of patterns, then of anti-patterns, that say something and are not another project's."""
    patterns = _kept((one for lore in lores for one in lore.patterns), lambda one: one.name)
    anti_patterns = _kept((one for lore in lores for one in lore.anti_patterns), lambda one: one.name)
    telling = [
        *(one for one in patterns if meaning(one.solution) or meaning(one.problem)),
        *(one for one in anti_patterns if meaning(one.symptom) or meaning(one.fix) or meaning(one.risk)),
    ]
    return [learned_record(one) for one in telling if attributed(one.fields, project) != "other"]


def _kept(values: Iterable[_Withdrawable], title: Callable[[_Withdrawable], str]) -> list[_Withdrawable]:
    """Return the first value of each id that has a title, the newest by custom; none of an id withdrawn anywhere."""
    all_values = list(values)
    gone = {value.id for value in all_values if not value.is_active}
    first: dict[str, _Withdrawable] = {}
    for value in all_values:
        if value.id not in gone and meaning(title(value)):
            first.setdefault(value.id, value)
    return list(first.values())


class Listed(Struct, frozen=True):
    """A record, the value it was made of, and its status: active, deprecated, superseded, retracted or abandoned."""

    record: Record
    value: AnyLore
    status: str

    def as_json(self) -> dict[str, Any]:
        """Return the record as an object for JSON output, with stable keys; absent values are None."""
        record = self.record
        return {
            "id": record.id,
            "kind": record.kind,
            "name": record.name or None,
            "text": "\n".join(record.lines),
            "status": self.status,
            "created_at": record.created_at or None,
            "project": record.project or None,
        }


def listed(lores: Sequence[Lore], project: ProjectNames, *, is_all: bool = False) -> list[Listed]:
    """Return the records that may be given in a project, in the order of `RecordMaker.records`.

    Args:
        lores: The content of the folders.
        project: The names of the project.
        is_all: True for all records, folder by folder: also withdrawn ones, other projects' and every handoff.
    """
    if is_all:
        return [Listed(_record(value, project), value, status_of(value)) for value in _values(lores)]
    values: dict[str, AnyLore] = {}
    for value in _values(lores):
        values.setdefault(f"{value.kind}:{value.id}", value)
    return [Listed(record, values[record.key], "active") for record in RecordMaker(project).records(lores)]


def called(every: Sequence[Listed], beginning: str) -> Listed | None:
    """Return the record whose id begins so, in any case; a whole id counts before a beginning. None without one.

    Raises:
        LoreError: Several ids begin so.
    """
    wanted = beginning.lower()
    found: dict[str, Listed] = {}
    for one in every:
        if one.record.id.lower() == wanted:
            return one
        if wanted and one.record.id.lower().startswith(wanted):
            found.setdefault(one.record.key, one)
    if len(found) > 1:
        raise LoreError(
            f"{len(found)} records begin with {beginning!r}; give more of the ID, `hybrid lore list` shows it"
        )
    return next(iter(found.values()), None)


def entry_text(one: Listed) -> str:
    """Return a record as it stands in the frame."""
    return render_entry(Entry(one.record.kind, one.record.shown, one.record.lines))


def full_text(one: Listed) -> str:
    """Return everything that is known of a record: `entry_text`, its status, and its keys that say more."""
    known = {key: value for key, value in one.value.fields.items() if (value or value == 0) and key != "status"}
    if one.record.id in one.record.shown:
        known.pop("id", None)
    return "\n".join([entry_text(one), *(f"  {line}" for line in field_lines({"status": one.status, **known}))])


def best_matches(query: str, records: Sequence[Listed], *, top_k: int) -> list[Listed]:
    """Return the best `top_k` of the records that hold a word of the query, the best first by BM25."""
    scorer = LessonScorer([_Findable(one.record.key, one.record.name, one.record.text, listed=one) for one in records])
    return [hit.lesson.listed for hit in scorer.best(query, top_k=top_k)]


def status_of(value: AnyLore) -> str:
    """Return the status of a record: active, deprecated, superseded, retracted or abandoned."""
    if isinstance(value, Handoff) or value.is_active:
        return "active"
    if not isinstance(value, LoreDecision):
        return "deprecated"
    if value.status != "active":
        return value.status
    return "superseded" if value.is_superseded else value.outcome


class _Findable(Scorable, frozen=True, kw_only=True):
    """A record in the form that the scorer of lessons takes."""

    listed: Listed


def _values(lores: Sequence[Lore]) -> list[AnyLore]:
    return [
        value
        for lore in lores
        for value in (*lore.patterns, *lore.anti_patterns, *reversed(lore.decisions), *lore.handoffs)
    ]


def _record(value: AnyLore, project: ProjectNames) -> Record:
    if isinstance(value, (Pattern, AntiPattern)):
        return learned_record(value)
    own = (project.name or project.key) if attributed(value.fields, project) == "this" else ""
    name = value.project or own
    return decision_record(value, name) if isinstance(value, LoreDecision) else handoff_record(value, name)
