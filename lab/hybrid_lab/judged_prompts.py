"""Reads judged prompts: prompts of which a person said whether they deserve context.

The measures of the gate and of injections read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.evaluation.measures import read_lines, unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_EXPECTATIONS = {"inject": True, "stay_silent": False}


class JudgedPlace(Struct, frozen=True):
    """A definition that should be shown for a prompt.

    Attributes:
        path: Its file.
        start_line: Its first line, from 1.
        end_line: Its last line.
        name: Its name; empty when the file does not say.
        lines: Numbers of the lines that matter, all of the definition when the file does not say.
    """

    path: str
    start_line: int
    end_line: int
    name: str
    lines: tuple[int, ...]


class JudgedPrompt(Struct, frozen=True):
    """A prompt, and whether it deserves context.

    Attributes:
        id: Unique in its file.
        repo: Name of the repository it is typed in; None stands for every one.
        text: As typed.
        is_wanted: True when something should be injected.
        kind: task, question, session_turn, small_talk, other_repo, …
        is_strict: False for prompts that are reported and not counted in the false rate.
        files: Paths of which one should be in what is injected; empty when the file does not say.
        places: Definitions in these files that should be shown; empty when the file does not say.
    """

    id: str
    repo: str | None
    text: str
    is_wanted: bool
    kind: str
    is_strict: bool
    files: tuple[str, ...] = ()
    places: tuple[JudgedPlace, ...] = ()


def read_prompts(path: Path) -> list[JudgedPrompt]:
    """The prompts of a JSONL file: `{id, prompt, repo or null, expect: inject or stay_silent, kind, strict?, gold?}`.

    A line of `gold` is a path, or has one: `{path, start_line?, end_line?, name?, lines?}`.

    Raises:
        QrelsError: As `hybrid.evaluation.measures.read_queries`.
    """
    return unique(path, read_lines(path, _prompt), lambda prompt: prompt.id)


def _prompt(fields: Mapping[str, Any]) -> JudgedPrompt:
    repo = fields["repo"]
    return JudgedPrompt(
        id=str(fields["id"]),
        repo=None if repo is None else str(repo),
        text=str(fields["prompt"]),
        is_wanted=_EXPECTATIONS[fields["expect"]],
        kind=str(fields["kind"]),
        is_strict=bool(fields.get("strict", True)),
        files=tuple(dict.fromkeys(_path(target) for target in fields.get("gold") or ())),
        places=tuple(_places(fields.get("gold") or ())),
    )


def _places(gold: Iterable[object]) -> Iterator[JudgedPlace]:
    """Yield the targets that have lines."""
    for target in gold:
        fields: Mapping[str, Any] = cast("Mapping[str, Any]", target) if isinstance(target, dict) else {}
        if not fields.get("start_line"):
            continue
        first, last = int(fields["start_line"]), int(fields.get("end_line") or fields["start_line"])
        lines = tuple(map(int, fields.get("lines") or range(first, last + 1)))
        yield JudgedPlace(str(fields["path"]), first, last, str(fields.get("name") or ""), lines)


def _path(target: object) -> str:
    """Return the path of a target that is a path, or has one."""
    return str(cast("Mapping[str, Any]", target)["path"]) if isinstance(target, dict) else str(target)
