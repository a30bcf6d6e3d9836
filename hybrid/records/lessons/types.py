"""One lesson: its value, its stars, how far it is trusted; and the draft of one that is not written yet.

Pure values; `store` makes them from files, scoring and the engine only read them.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hybrid.records.types import Record

Level = Literal["project", "system"]

CATEGORIES = ("pattern", "correction", "decision", "gotcha", "preference")
TYPES = ("constraint", "informational", "preference")
PREFIXES: dict[Level, str] = {"project": "L", "system": "S"}
"""Level → first letter of its ids."""

DELETED = "deleted"
"""Value of `superseded` for a deleted lesson, in place of the id of another lesson."""

AI = "ai"
"""Source of a lesson that an agent proposed."""

AI_MARK = "🤖"
"""Mark after the title of a lesson that an agent proposed."""

MAX_NUMBER = 99_999
"""The largest number of a new id; an id with a larger one is a slip or a trick, and new ids do not go on from it."""

MAX_USES = 100
PROMOTION_USES = 50
"""Uses from which a project's lesson is offered to all projects."""

_USES_STEPS = (1, 5, 10, 50, 100)
_VELOCITY_STEPS = (0.5, 1.0, 2.0, 4.0)
_TRUSTED_AFTER = 3
_LEAST_TRUST = 0.2


class Lesson(Struct, frozen=True):
    """A lesson with its counters.

    Attributes:
        id: `L001` of a project, `S001` of all projects.
        title: One line, without mark of its source.
        content: The rule, in lines; may be empty.
        category: One of `CATEGORIES`, or what somebody wrote by hand; empty without.
        type: One of `TYPES`, or empty.
        source: `ai`, or empty for people.
        triggers: Words that name the lesson although its text does not hold them.
        superseded: Id of the lesson that replaced it, `deleted`, or empty while it is active.
        is_promotable: True if it may be offered to all projects.
        uses: Citations that count, 0 to 100; they fade.
        velocity: Recent citations, from 0; halved every week.
        learned: ISO date, empty when unknown.
        last: ISO date of the last use, empty before the first.
        injections: How often the lesson was given to an agent.
        citations: How often an agent cited the lesson.
        line: Number of the line of its heading in the file, from 1.
    """

    id: str
    title: str
    content: str
    category: str = ""
    type: str = ""
    source: str = ""
    triggers: tuple[str, ...] = ()
    superseded: str = ""
    is_promotable: bool = True
    uses: int = 0
    velocity: float = 0.0
    learned: str = ""
    last: str = ""
    injections: int = 0
    citations: int = 0
    line: int = 0

    @property
    def level(self) -> Level:
        """`project` or `system`, by the first letter of the id."""
        return "system" if self.id.startswith("S") else "project"

    @property
    def is_active(self) -> bool:
        """True if the lesson is neither superseded nor deleted; only such a lesson is ever given out."""
        return not self.superseded

    @property
    def stars(self) -> int:
        """The number of stars for its uses, 0 to 5."""
        return stars_of_uses(self.uses)

    @property
    def trust(self) -> float:
        """The use that the lesson proved to have when it was given, 0.2 to 1; 1 until it was given three times."""
        if self.injections < _TRUSTED_AFTER:
            return 1.0
        return min(max(((self.citations + 1) / (self.injections + 2)) / 0.5, _LEAST_TRUST), 1.0)

    @property
    def is_promotion_due(self) -> bool:
        """True for an active, promotable lesson of a project with at least 50 uses: it may go to all projects."""
        is_theirs = self.level == "project" and self.is_active
        return is_theirs and self.is_promotable and self.uses >= PROMOTION_USES

    @property
    def shown_title(self) -> str:
        """The title, with a robot after it for a lesson that an agent proposed."""
        return f"{self.title} {AI_MARK}" if self.source == AI else self.title

    def record(self) -> Record:
        """Return the lesson as the record that the engine indexes and shows."""
        return Record(
            kind="lesson",
            id=self.id,
            name=self.title,
            text="\n".join(part for part in (self.content, self.category) if part),
            shown=f"{self.id} {self.shown_title}",
            lines=tuple(self.content.split("\n")) if self.content else (),
            triggers=self.triggers,
            created_at=self.learned,
        )

    def as_json(self) -> dict[str, object]:
        """Return the lesson as an object for JSON output; an absent value is None."""
        return {
            "id": self.id,
            "title": self.title,
            "content": self.content,
            "category": self.category or None,
            "uses": self.uses,
            "velocity": self.velocity,
            "learned": self.learned or None,
            "last": self.last or None,
            "type": self.type or None,
            "source": self.source or None,
            "triggers": list(self.triggers),
            "superseded": self.superseded or None,
            "promotable": self.is_promotable,
            "injections": self.injections,
            "citations": self.citations,
        }


class Draft(Struct, frozen=True):
    """A lesson before it has an id; `texts.checked` brings it into the form of the file.

    Attributes: as of `Lesson`.
    """

    title: str
    content: str
    category: str = "correction"
    type: str = ""
    source: str = ""
    triggers: tuple[str, ...] = ()
    is_promotable: bool = True


class LessonEdit(Struct, frozen=True):
    """A change of a lesson: None leaves a value as it is, an empty one takes it away."""

    title: str | None = None
    content: str | None = None
    category: str | None = None
    type: str | None = None
    triggers: tuple[str, ...] | None = None
    is_promotable: bool | None = None


def number_of(lesson_id: str) -> int:
    """Return the number of an id; 0 if it is above `MAX_NUMBER`."""
    number = int(lesson_id[1:])
    return number if number <= MAX_NUMBER else 0


def stars_of_uses(uses: int) -> int:
    """Return the number of stars: 0 for no uses, 1 to 5 from 1, 5, 10, 50, 100 uses on."""
    return sum(uses >= step for step in _USES_STEPS)


def stars_of_velocity(velocity: float) -> int:
    """Return the number of stars: 0 for a velocity of 0, 1 above 0, 2 to 5 from 0.5, 1, 2, 4 on."""
    return (velocity > 0) + sum(velocity >= step for step in _VELOCITY_STEPS)


def stars_form(uses: int, velocity: float) -> str:
    """Return the stars of uses and velocity as the older form of an entry shows them: `[***--|*----]`."""
    return f"[{'*' * stars_of_uses(uses):-<5}|{'*' * stars_of_velocity(velocity):-<5}]"
