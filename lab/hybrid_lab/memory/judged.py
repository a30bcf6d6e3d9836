"""Questions and prompts about earlier sessions, judged by the events that answer them, and the files they stand in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.measures import read_lines, unique

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class MemoryQuestion(Struct, frozen=True):
    """A question about earlier sessions.

    Attributes:
        id: Unique in its file.
        project: In which it is asked.
        text: As asked.
        kind: Of the question.
        gold: `FILE:LINE` of the events that answer it; one of them is enough.
    """

    id: str
    project: str
    text: str
    kind: str
    gold: tuple[str, ...]


class MemoryPrompt(Struct, frozen=True):
    """A prompt, and the events of which one should be given; none when nothing should."""

    id: str
    project: str
    text: str
    gold: tuple[str, ...]


def read_memory_questions(path: Path, only: Sequence[str] = ()) -> list[MemoryQuestion]:
    """The questions of a JSONL file: `{id, project, question, kind, gold: ["FILE:LINE", …]}`.

    Args:
        path: The file.
        only: Names of projects; questions of others are left out. Empty for all.

    Raises:
        QrelsError: The file cannot be read, a line is not of this form, or an id stands twice.
    """
    found = unique(path, read_lines(path, _question), lambda question: question.id)
    return [question for question in found if not only or question.project in only]


def read_memory_prompts(path: Path, only: Sequence[str] = ()) -> list[MemoryPrompt]:
    """The prompts of a JSONL file: `{id, project, prompt, gold}`; otherwise as `read_memory_questions`."""
    found = unique(path, read_lines(path, _prompt), lambda prompt: prompt.id)
    return [prompt for prompt in found if not only or prompt.project in only]


def _question(fields: Mapping[str, Any]) -> MemoryQuestion:
    gold = _gold(fields)
    if not gold:
        raise ValueError("gold is empty")
    identity, project, text, kind = (str(fields[name]) for name in ("id", "project", "question", "kind"))
    return MemoryQuestion(identity, project, text, kind, gold)


def _prompt(fields: Mapping[str, Any]) -> MemoryPrompt:
    identity, project, text = (str(fields[name]) for name in ("id", "project", "prompt"))
    return MemoryPrompt(identity, project, text, _gold(fields))


def _gold(fields: Mapping[str, Any]) -> tuple[str, ...]:
    gold = fields["gold"]
    if not isinstance(gold, list):
        raise TypeError("gold is no list of FILE:LINE")
    return tuple(str(one) for one in gold)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
