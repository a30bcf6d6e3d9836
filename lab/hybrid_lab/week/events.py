"""Makes the hook events of a working week: seeded sessions of five small projects, from templates; `week` sends them.

Every use of a tool has an id of its own, and in its text a word that no other one has.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECTS = ("bakery", "harbour", "library", "orchard", "railway")
USES_OF_A_PROMPT = 20

_NOUNS = ("oven", "ticket", "shelf", "crane", "invoice", "timetable", "ladder", "loan", "pallet", "signal")
_VERBS = ("price", "reserve", "weigh", "label", "sort", "refund", "schedule", "count", "repair", "unload")
_SYLLABLES = tuple(f"{first}{second}" for first in "bdfgklmnprstvz" for second in "aeiou")
_ERRORS = ("KeyError", "TimeoutError", "ValueError", "PermissionError", "AssertionError")


class Sent(Struct, frozen=True):
    """One hook event.

    Attributes:
        event: Its name, as Claude Code has it.
        session_id: Of the session.
        project: Of `PROJECTS`, or one made like them.
        mark: Word that no other event has in its text; empty for starts and ends.
        tool: Name of the tool; empty for other events.
        use_id: The client's id of the use.
        fields: Further fields of the event, without its directory.
        lesson: Title of the lesson that is typed in it; empty without one.
    """

    event: str
    session_id: str
    project: str
    mark: str
    tool: str
    use_id: str
    fields: dict[str, Any]
    lesson: str = ""

    def as_json(self, root: str) -> bytes:
        """As a client writes it on a hook's standard input, in a project at `root`."""
        common = {"session_id": self.session_id, "cwd": root, "hook_event_name": self.event}
        text = json.dumps(common | self.fields)
        return text.replace("$ROOT", json.dumps(root)[1:-1]).encode("utf-8")


def project_names(n: int) -> list[str]:
    """So many names of projects."""
    return [
        PROJECTS[number] if number < len(PROJECTS) else f"{PROJECTS[number % len(PROJECTS)]}-{number}"
        for number in range(n)
    ]


def make_sessions(
    n_events: int,
    n_sessions: int,
    n_projects: int,
    *,
    seed: int = 1,
    uses_of_a_prompt: int = USES_OF_A_PROMPT,
    with_lessons: bool = False,
) -> list[list[Sent]]:
    """The events of each session in their order: start, prompts with the uses that follow each, stops, end.

    Args:
        n_events: Uses of tools, over all sessions.
        n_sessions: Spread over the projects.
        n_projects: At least one.
        seed: Of everything drawn.
        uses_of_a_prompt: How many follow each.
        with_lessons: Every prompt holds a lesson, no two of which are alike.
    """
    names, numbers = project_names(n_projects), iter(range(n_events))
    sessions: list[list[Sent]] = []
    for number in range(n_sessions):
        n_uses = n_events // n_sessions + (number < n_events % n_sessions)
        drawn = random.Random(f"{seed} {number}")
        maker = _Session(f"week-{seed}-{number}", names[number % n_projects], drawn, with_lessons)
        sessions.append(list(maker.events([next(numbers) for _ in range(n_uses)], uses_of_a_prompt)))
    return sessions


class _Session:
    def __init__(self, session_id: str, project: str, drawn: random.Random, with_lessons: bool) -> None:
        self._with_lessons = with_lessons
        self._id = session_id
        self._project = project
        self._drawn = drawn
        self._prompts = 0

    def events(self, numbers: list[int], uses_of_a_prompt: int) -> Iterator[Sent]:
        yield self._sent("SessionStart", "", {"source": "startup"})
        for first in range(0, max(len(numbers), 1), uses_of_a_prompt):
            self._prompts += 1
            mark = f"{self._id.replace('-', 'x')}prompt{self._prompts}"
            verb, noun = self._drawn.choice(_VERBS), self._drawn.choice(_NOUNS)
            prompt = f"Fix how we {verb} the {noun} in {self._project}: the numbers of case {mark} are wrong"
            lesson = self._words(4) if self._with_lessons else ""
            if lesson:
                prompt += f"\nLESSON: gotcha: {lesson} - {self._words(6)}"
            yield self._sent("UserPromptSubmit", mark, {"prompt": prompt}, lesson)
            for number in numbers[first : first + uses_of_a_prompt]:
                yield self._use(number)
            message = f"I fixed how we {verb} the {noun}. The tests pass again. Case {mark} is closed."
            yield self._sent("Stop", mark, {"last_assistant_message": message})
        yield self._sent("SessionEnd", "", {"reason": "other"})

    def _use(self, number: int) -> Sent:
        mark = f"quay{number:06d}z"
        verb, noun = self._drawn.choice(_VERBS), self._drawn.choice(_NOUNS)
        make = self._drawn.choices([template for template, _ in _TEMPLATES], [weight for _, weight in _TEMPLATES])[0]
        tool, fields = make(_Words(verb, noun, mark, self._drawn))
        event = "PostToolUseFailure" if "error" in fields else "PostToolUse"
        use_id = f"toolu_{self._id}_{number}"
        named = {"tool_name": tool, "tool_use_id": use_id}
        return Sent(event, self._id, self._project, mark, tool, use_id, named | fields)

    def _words(self, n: int) -> str:
        """Words that nobody else says: lessons that are alike would be taken for one."""
        return " ".join("".join(self._drawn.choices(_SYLLABLES, k=4)) for _ in range(n))

    def _sent(self, event: str, mark: str, fields: dict[str, Any], lesson: str = "") -> Sent:
        return Sent(event, self._id, self._project, mark, "", "", fields, lesson)


class _Words(Struct, frozen=True):
    """The subject of a template."""

    verb: str
    noun: str
    mark: str
    drawn: random.Random

    @property
    def path(self) -> str:
        return f"$ROOT/src/{self.noun}/{self.verb}.py"

    def lines(self, least: int, most: int) -> list[str]:
        """Lines of a program that has the mark in the name of a function."""
        n = self.drawn.randint(least, most)
        return [f"def {self.verb}_{self.noun}_{self.mark}(amount):", f'    """{self.verb} a {self.noun}."""'] + [
            f"    amount = step_{line}(amount, {self.drawn.randint(1, 99)})" for line in range(n)
        ]


def _read(words: _Words) -> tuple[str, dict[str, Any]]:
    lines = words.lines(5, 120)
    file = {"filePath": words.path, "content": "\n".join(lines), "numLines": len(lines), "startLine": 1}
    return "Read", {"tool_input": {"file_path": words.path}, "tool_response": {"type": "text", "file": file}}


def _edit(words: _Words) -> tuple[str, dict[str, Any]]:
    old = "\n".join(words.lines(1, 6))
    new = old.replace("amount = ", "total = ").replace("(amount):", "(amount, limit=5):")
    given = {"file_path": words.path, "old_string": old, "new_string": new, "replace_all": False}
    return "Edit", {"tool_input": given, "tool_response": {**given, "filePath": words.path, "structuredPatch": []}}


def _write(words: _Words) -> tuple[str, dict[str, Any]]:
    path = f"$ROOT/tests/test_{words.verb}_{words.noun}.py"
    given = {"file_path": path, "content": "\n".join(words.lines(5, 60))}
    return "Write", {"tool_input": given, "tool_response": {"type": "create", "filePath": path}}


def _passed(words: _Words) -> tuple[str, dict[str, Any]]:
    n = words.drawn.randint(1, 40)
    lines = [f"tests/test_{words.noun}.py::test_{words.verb}_{words.mark}_{case} PASSED" for case in range(n)]
    output = "\n".join([*lines, f"===== {n} passed in 0.{words.drawn.randint(10, 99)}s ====="])
    return "Bash", {
        "tool_input": {"command": f"pytest tests/test_{words.noun}.py -k {words.mark}", "description": "Run the tests"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
    }


def _failed(words: _Words) -> tuple[str, dict[str, Any]]:
    error = words.drawn.choice(_ERRORS)
    trace = "\n".join(f"  File src/{words.noun}.py, line {line}, in {words.verb}" for line in range(1, 30))
    text = f"Exit code 1\n{trace}\n{error}: {words.noun} {words.mark} cannot be {words.verb}ed\n1 failed, 3 passed"
    given = {"command": f"pytest tests/test_{words.noun}.py -k {words.mark}", "description": "Run the failing test"}
    return "Bash", {"tool_input": given, "error": text, "is_interrupt": False}


def _grep(words: _Words) -> tuple[str, dict[str, Any]]:
    files = [f"src/{noun}/{words.verb}.py" for noun in _NOUNS[: words.drawn.randint(1, len(_NOUNS))]]
    content = "\n".join(f"{path}:{words.drawn.randint(1, 300)}:def {words.verb}_{words.mark}(x):" for path in files)
    given = {"pattern": f"def {words.verb}_{words.mark}", "path": "$ROOT/src", "output_mode": "content"}
    return "Grep", {"tool_input": given, "tool_response": {"mode": "content", "filenames": files, "content": content}}


def _glob(words: _Words) -> tuple[str, dict[str, Any]]:
    files = [f"$ROOT/src/{noun}/{words.verb}_{words.mark}.py" for noun in _NOUNS[: words.drawn.randint(1, 8)]]
    given = {"pattern": f"**/{words.verb}_{words.mark}*.py"}
    return "Glob", {"tool_input": given, "tool_response": {"filenames": files, "numFiles": len(files)}}


_TEMPLATES: list[tuple[Callable[[_Words], tuple[str, dict[str, Any]]], int]] = [
    (_read, 26),
    (_edit, 18),
    (_write, 4),
    (_passed, 22),
    (_failed, 8),
    (_grep, 16),
    (_glob, 6),
]
"""How often an agent uses each, roughly, of a hundred."""
