"""The values of lore: a record of each kind as it was read, what its keys hold, and its times.

Known keys are attributes, and their texts well-formed; `fields` holds every key of the record, known or not, with the
values as they stand, so that a record is rewritten byte for byte. Clocks are read by the commands only.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, cast

from msgspec import Struct

from hybrid.records.types import well_formed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.records.types import Problem, RecordKind


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

    kind: ClassVar[RecordKind] = "pattern"

    context: str
    problem: str
    solution: str
    confidence: float


class AntiPattern(_Learned, frozen=True):
    """Something not to do; `severity` is low, medium, high or critical."""

    kind: ClassVar[RecordKind] = "anti-pattern"

    symptom: str
    risk: str
    fix: str
    severity: str


class Decision(Struct, frozen=True):
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

    kind: ClassVar[RecordKind] = "decision"

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
        return self.status == "active" and self.outcome != "abandoned" and not text_of(self.fields.get("superseded_by"))


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

    kind: ClassVar[RecordKind] = "handoff"

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
    decisions: tuple[Decision, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    problems: tuple[Problem, ...] = ()


AnyLore = Pattern | AntiPattern | Decision | Handoff


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
    return text_of(fields.get("name")).startswith(DEPRECATED_MARK.rstrip()) or is_zero(fields.get("confidence"))


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


def written_time(now_s: float) -> str:
    """Return a time as the format has it: `2026-02-10T03:48:04Z`."""
    return datetime.fromtimestamp(now_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
