"""What a record of each kind is, as it was read; the readers make them, everything else of lore takes them.

Known keys are attributes; `fields` holds every key of the record, known or not, with the values as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPRECATED_MARK = "[DEPRECATED] "
"""A pattern whose name begins so was withdrawn."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that could not be read; the rest of the file was.

    Attributes:
        file: Path of the file.
        line: Where, from 1; 0 when it is about the whole file.
        message: What is wrong.
    """

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A solution that proved itself; `confidence` lies in 0 to 1."""

    id: str
    name: str
    context: str
    problem: str
    solution: str
    category: str
    confidence: float
    created_at: str
    project: str
    fields: Mapping[str, object] = field(repr=False)

    @property
    def is_deprecated(self) -> bool:
        """Withdrawn by its name or by a confidence of 0."""
        return self.name.startswith(DEPRECATED_MARK.rstrip()) or self.confidence <= 0


@dataclass(frozen=True, slots=True)
class AntiPattern:
    """Something not to do; `severity` is low, medium, high or critical."""

    id: str
    name: str
    symptom: str
    risk: str
    fix: str
    category: str
    severity: str
    created_at: str
    project: str
    fields: Mapping[str, object] = field(repr=False)

    @property
    def is_deprecated(self) -> bool:
        """Withdrawn by its name, or by a confidence of 0 where it has one."""
        return self.name.startswith(DEPRECATED_MARK.rstrip()) or is_zero(self.fields.get("confidence"))


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice and its reason.

    Attributes:
        id: `dec-` and eight hex digits.
        created_at: Its `timestamp`.
        decision: What was decided.
        rationale: Why.
        status: active, superseded, retracted; `active` where the file says nothing.
        outcome: pending, successful, revised, abandoned and others.
        project: As written; empty when nothing is.
        fields: Every key.
    """

    id: str
    created_at: str
    decision: str
    rationale: str
    status: str
    outcome: str
    project: str
    fields: Mapping[str, object] = field(repr=False)

    @property
    def is_active(self) -> bool:
        """Neither retracted, superseded nor abandoned."""
        return self.status == "active" and self.outcome != "abandoned" and not text_of(self.fields.get("superseded_by"))


@dataclass(frozen=True, slots=True)
class Handoff:
    """What one session left for the next; `file` is the path of the session."""

    id: str
    created_at: str
    message: str
    next_steps: tuple[str, ...]
    blockers: tuple[str, ...]
    questions: tuple[str, ...]
    summary: str
    project: str
    file: str
    fields: Mapping[str, object] = field(repr=False)

    @property
    def is_empty(self) -> bool:
        """Nothing was handed over."""
        return not (self.message or self.next_steps or self.blockers or self.questions)


@dataclass(frozen=True, slots=True)
class Lore:
    """Everything one folder holds, withdrawn and retracted records included.

    Attributes:
        patterns: In the order of the file, the newest first by custom.
        anti_patterns: The same.
        decisions: The last line of each id, in the order of these lines.
        handoffs: The newest first.
        problems: What could not be read.
    """

    patterns: tuple[Pattern, ...] = ()
    anti_patterns: tuple[AntiPattern, ...] = ()
    decisions: tuple[Decision, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    problems: tuple[Problem, ...] = ()


AnyLore = Pattern | AntiPattern | Decision | Handoff


def text_of(value: object) -> str:
    """A scalar as text without white space around it; empty for null, lists and mappings."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (int, float)):
        return str(value)
    return ""


def texts_of(value: object) -> tuple[str, ...]:
    """The texts of a list: scalars, and of mappings their `name`, `path` or `id`; a lone scalar is a list of one."""
    if not isinstance(value, list):
        alone = text_of(value)
        return (alone,) if alone else ()
    return tuple(filter(None, map(_element_text, cast("list[object]", value))))


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value of JSON or YAML is a mapping; its keys are text there."""
    return isinstance(value, dict)


def mapping_of(value: object) -> dict[str, Any]:
    """A mapping, or an empty one in the place of anything else."""
    return value if is_mapping(value) else {}


def is_zero(value: object) -> bool:
    """Whether a value is a number of 0 or less, written as number or text."""
    try:
        return float(text_of(value)) <= 0
    except ValueError:
        return False


def _element_text(element: object) -> str:
    if is_mapping(element):
        return next((text for key in ("name", "path", "id") if (text := text_of(element.get(key)))), "")
    return text_of(element)
