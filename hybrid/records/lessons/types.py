"""One lesson: its value, its stars, how far it is trusted; the draft of one that is not written yet; both as text.

What people and agents say passes `checked` before it is stored, whoever it comes from; what is printed passes `shown`.
Pure; `store` makes lessons from files, scoring and the engine only read them.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.text import cut_at_word, one_line
from hybrid.records.scoring import MAX_RELEVANCE, Scorable
from hybrid.records.types import LessonsError, Record
from hybrid.redact import redact
from hybrid.render.marks import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hybrid.records.scoring import LessonT, Scored


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


class Lesson(Scorable, frozen=True):
    """A lesson with its counters; its id is `L001` of a project, `S001` of all projects, and its uses fade.

    Attributes:
        category: One of `CATEGORIES`, or what somebody wrote by hand; empty without.
        type: One of `TYPES`, or empty.
        source: `ai`, or empty for people.
        superseded: Id of the lesson that replaced it, `deleted`, or empty while it is active.
        is_promotable: True if it may be offered to all projects.
        velocity: Recent citations, from 0; halved every week.
        learned: ISO date, empty when unknown.
        last: ISO date of the last use, empty before the first.
        injections: How often the lesson was given to an agent.
        citations: How often an agent cited the lesson.
        line: Number of the line of its heading in the file, from 1.
    """

    category: str = ""
    type: str = ""
    source: str = ""
    superseded: str = ""
    is_promotable: bool = True
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
    """A lesson before it has an id; `checked` brings it into the form of the file.

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


# --- texts as they are stored -------------------------------------------------------------------------------

TITLE_CHARS = 200
CONTENT_CHARS = 4_000
TRIGGER_CHARS = 60
MOST_TRIGGERS = 20

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MARKED = re.compile(r"[#>\s]+")
_STARS = re.compile(r"\[(?:[-*+]{1,5}[|/][-*+]{1,5}|[-*+]{5})\]\s*")
_NO_TRIGGER = re.compile(r"[,|\s]+")


def checked(draft: Draft) -> Draft:
    """Return a draft in the form of the file: without secrets, each part cut to its limit.

    Raises:
        LessonsError: The title is empty, or category or type is unknown.
    """
    title, content = _without_secrets(draft.title, draft.content)
    return replace(
        draft,
        title=title_form(title),
        content=content_form(content),
        category=_one_of("category", draft.category, CATEGORIES),
        type=_one_of("type", draft.type, TYPES) if draft.type else "",
        source=AI if draft.source == AI else "",
        triggers=trigger_forms(draft.triggers),
    )


def checked_edit(edit: LessonEdit) -> LessonEdit:
    """Return an edit in the form of the file: without secrets, each part cut to its limit.

    Raises:
        LessonsError: See `checked`.
    """
    return replace(
        edit,
        title=None if edit.title is None else title_form(redact(edit.title)),
        content=None if edit.content is None else content_form(redact(edit.content)),
        category=None if edit.category is None else _one_of("category", edit.category, CATEGORIES),
        type=_one_of("type", edit.type, TYPES) if edit.type else edit.type,
        triggers=None if edit.triggers is None else trigger_forms(edit.triggers),
    )


def title_form(text: str) -> str:
    """Return a title as one line of at most 200 characters, without the marks at the ends of an entry's heading.

    Raises:
        LessonsError: The title is empty without these marks.
    """
    title = one_line(plain_text(text))
    before = ""
    while title != before:  # `# > [*----|-----] title 🤖` carries several of them.
        before = title
        marked = _MARKED.match(title) or _STARS.match(title)
        title = title[marked.end() :] if marked else title
        title = title.removesuffix(AI_MARK).strip()
    if not title:
        raise LessonsError(f"{text[:40]!r} is no title of a lesson; give it a few words")
    return cut_at_word(title, TITLE_CHARS)


def content_form(text: str) -> str:
    """Return a content of at most 4,000 characters, without white space at line ends and blank lines around it."""
    lines = [line.rstrip() for line in plain_text(text).strip().split("\n")]
    return cut_at_word("\n".join(lines), CONTENT_CHARS).rstrip()


def trigger_forms(words: Iterable[str]) -> tuple[str, ...]:
    """Return at most 20 triggers in order, each once, without commas, bars, stars and secrets."""
    forms = (_NO_TRIGGER.sub(" ", plain_text(word).replace("**", " ")).strip(" `\"'") for word in words)
    kept = dict.fromkeys(cut_at_word(form, TRIGGER_CHARS) for form in map(redact, forms) if form)
    return tuple(kept)[:MOST_TRIGGERS]


def is_id(text: str) -> bool:
    """Return whether a text is the id of a lesson in upper case, `L001` or `S001`."""
    return re.fullmatch(r"[LS][0-9]{3,9}", text) is not None


def is_date(text: str) -> bool:
    """Return whether a text is a date as 2026-02-14."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return DATE.fullmatch(text) is not None


def id_form(text: str) -> str:
    """Return an id as a person may write it (`l001`, `[L001]`) in upper case.

    Raises:
        LessonsError: The text is no id of a lesson.
    """
    lesson_id = text.strip(" []`").upper()
    if not is_id(lesson_id):
        raise LessonsError(
            f"{text!r} is no id of a lesson; they look like L001 or S001, `hybrid lessons list` shows all"
        )
    return lesson_id


def _without_secrets(title: str, content: str) -> tuple[str, str]:
    """Return title and content without secrets, searched as one text: a name in the title may tell of a value."""
    if "\n" not in title:
        redacted = redact(f"{title}\n{content}").split("\n", 1)
        if len(redacted) == 2:
            return redacted[0], redacted[1]
    return redact(title), redact(content)


def _one_of(what: str, text: str, known: tuple[str, ...]) -> str:
    value = text.strip().lower()
    if value not in known:
        raise LessonsError(f"{text!r} is no {what} of a lesson; there are {', '.join(known)}")
    return value


# --- lessons as they are printed ----------------------------------------------------------------------------

STAR = "⭐"

_LINES = ("title", "category", "type", "source", "superseded", "learned", "last")
"""Attributes of a lesson that are one line of text."""


def shown(lesson: Lesson) -> Lesson:
    """Return a lesson as it may be printed: without terminal escapes and secrets."""
    lines = {name: shown_line(getattr(lesson, name)) for name in _LINES}
    return replace(
        lesson,
        content=plain_text(redact(lesson.content)),
        triggers=tuple(map(shown_line, lesson.triggers)),
        **lines,
    )


def shown_line(text: str) -> str:
    """Return a text on one line, without terminal escapes and secrets."""
    return one_line(plain_text(redact(text)))


def index_line(lesson: Lesson) -> str:
    """Return one line about a lesson: id, stars, title, category and counters."""
    lesson = shown(lesson)
    stars = f" {lesson.stars * STAR}" if lesson.stars else ""
    facts = [fact for fact in (lesson.category, f"uses {lesson.uses}", f"velocity {lesson.velocity:g}") if fact]
    gone = f" [{lesson.superseded}]" if lesson.superseded == DELETED else f" [superseded by {lesson.superseded}]"
    return f"{lesson.id}{stars} {lesson.shown_title} ({', '.join(facts)}){'' if lesson.is_active else gone}"


def full_lines(lesson: Lesson) -> list[str]:
    """Return the lines of a lesson in full: `index_line`, content, and everything else that is known of it."""
    lesson = shown(lesson)
    content = lesson.content.split("\n") if lesson.content else []
    facts = {
        "learned": lesson.learned,
        "last used": lesson.last,
        "type": lesson.type,
        "triggers": ", ".join(lesson.triggers),
        "promotable": "" if lesson.is_promotable else "no",
        "given": str(lesson.injections),
        "cited": str(lesson.citations),
        "trust": f"{lesson.trust:.2f}",
    }
    known = "  ".join(f"{name}: {value}" for name, value in facts.items() if value)
    return [index_line(lesson), *(f"    {line}".rstrip() for line in content), f"    {known}"]


def hit_lines(hit: Scored[LessonT]) -> str:
    """Return two lines without a final line end: id, stars, relevance, title; then the rule on one line.

    A lesson without uses has no star: `[L001] (relevance: 8/10) Git commit format`.
    """
    lesson = hit.lesson
    stars = stars_of_uses(lesson.uses) * STAR
    parts = [
        f"[{lesson.id}]",
        stars,
        f"(relevance: {hit.relevance}/{MAX_RELEVANCE})",
        one_line(plain_text(lesson.title)),
    ]
    return f"{' '.join(part for part in parts if part)}\n    -> {one_line(plain_text(lesson.content))}"
