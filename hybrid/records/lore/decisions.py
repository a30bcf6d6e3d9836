"""decisions.jsonl: append-only lines, the last one of an id wins; pure, files are opened by `store` and `writing`.

A changed decision is its whole last object again with the change in it, so keys that nobody knows here live on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from hybrid.records.lore.types import Decision, Lore, is_mapping, project_of, text_of
from hybrid.records.types import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 64_000_000
"""The most bytes of decisions.jsonl: about 100,000 decisions; the file is never compacted."""

_MOST_PROBLEMS = 100
BOM = b"\xef\xbb\xbf"


class DecisionLines:
    """Reads a file again and again, and parses only lines that are new since the last time. Not for several threads."""

    def __init__(self) -> None:
        self._known: dict[bytes, Decision | str] = {}

    def read(self, data: bytes, file: str) -> Lore:
        """Return the decisions of a file, whatever its bytes are.

        Of each id the last line counts, and decisions have the order of these lines. A line that is no decision becomes
        a problem with its number; of more than 100 the rest is only counted.

        Args:
            data: The whole file.
            file: Its path, for the problems.
        """
        known: dict[bytes, Decision | str] = {}
        last: dict[str, Decision] = {}
        problems: list[Problem] = []
        for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), 1):
            if not line or line.isspace():
                continue
            found = self._known.get(line)
            if found is None:
                found = known.get(line) or read_line(line)
            known[line] = found
            if isinstance(found, str):
                problems.append(Problem(file, number, found))
            else:
                last.pop(found.id, None)  # A dict keeps the place of the first line otherwise.
                last[found.id] = found
        self._known = known
        if len(problems) > _MOST_PROBLEMS:
            more = Problem(file, 0, f"{len(problems) - _MOST_PROBLEMS} further lines are no decisions")
            problems = [*problems[:_MOST_PROBLEMS], more]
        return Lore(decisions=tuple(last.values()), problems=tuple(problems))


def read_line(line: bytes) -> Decision | str:
    """Return the decision of one line, or a message about what is wrong with the line."""
    try:
        fields: Any = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        return f"no JSON ({type(error).__name__}): {line[:60].decode('utf-8', 'replace')!r}"
    return decision_of(fields) if is_mapping(fields) else "no JSON object"


def decision_of(fields: Mapping[str, object]) -> Decision | str:
    """Return the decision that some keys make, or a message about what they lack."""
    get = fields.get
    identity = text_of(get("id"))
    if not identity:
        return "a decision without id"
    return Decision(
        id=identity,
        created_at=text_of(get("timestamp")),
        decision=text_of(get("decision")),
        rationale=text_of(get("rationale")),
        status=text_of(get("status")).lower() or "active",
        outcome=text_of(get("outcome")).lower(),
        project=project_of(fields),
        fields=fields,
    )


def line_of(fields: Mapping[str, object]) -> bytes:
    """Return a decision as one line without a line end; bytes that were read and are no UTF-8 stay as they were."""
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(fields, separators=(",", ":")).encode("ascii")


class DecisionDraft(Struct, frozen=True):
    """A decision before it has an id.

    Attributes:
        decision: What was decided.
        rationale: Why.
        alternatives: Other choices that were thought of.
        tags: Words to find the decision by.
        git_commit: Id of the commit that was checked out; None where that is not known.
        author: The agent that wrote it through a tool; empty for people.
    """

    kind: ClassVar[str] = "decision"

    decision: str
    rationale: str
    alternatives: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    git_commit: str | None = None
    author: str = ""


def new_decision(identity: str, draft: DecisionDraft, *, timestamp: str, project: str) -> dict[str, Any]:
    """Return the keys of a new decision in the order of the format; an empty project is null, no author is no key."""
    return {
        "id": identity,
        "timestamp": timestamp,
        "session_id": None,
        "decision": draft.decision,
        "rationale": draft.rationale,
        "alternatives": list(draft.alternatives),
        "outcome": "pending",
        "status": "active",
        "superseded_by": None,
        "retracted_reason": None,
        "type": "other",
        "entities": [],
        "tags": list(draft.tags),
        "lesson_learned": None,
        "related_decisions": [],
        "git_commit": draft.git_commit,
        "project": project or None,
        **({"author": draft.author} if draft.author else {}),
    }
