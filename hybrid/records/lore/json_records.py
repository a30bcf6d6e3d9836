"""decisions.jsonl and session-*.json: decisions, and what one session left for the next; pure, `store` opens files.

Of decisions.jsonl, which only grows, the last line of an id wins. A changed decision is its whole last object again
with the change in it, so keys that nobody knows here live on.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from hybrid.records.lore.types import Handoff, Lore, LoreDecision, is_mapping, mapping_of, project_of, text_of, texts_of
from hybrid.records.types import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping


DECISIONS_BYTES = 64_000_000
"""The most bytes of decisions.jsonl: about 100,000 decisions; the file is never compacted."""

_MOST_PROBLEMS = 100
BOM = b"\xef\xbb\xbf"

SESSION_BYTES = 5_000_000
MAX_SESSIONS = 2_000
"""The most sessions that are read: those with the latest names, which begin with their time."""

_NAME = re.compile(r"session-.+\.json")
_TIME_IN_ID = re.compile(r"session-(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})(?:-|$)")


class DecisionLines:
    """Reads a file again and again, and parses only lines that are new since the last time. Not for several threads."""

    def __init__(self) -> None:
        self._known: dict[bytes, LoreDecision | str] = {}

    def read(self, data: bytes, file: str) -> Lore:
        """Return the decisions of a file, whatever its bytes are.

        Of each id the last line counts, and decisions have the order of these lines. A line that is no decision becomes
        a problem with its number; of more than 100 the rest is only counted.

        Args:
            data: The whole file.
            file: Its path, for the problems.
        """
        known: dict[bytes, LoreDecision | str] = {}
        last: dict[str, LoreDecision] = {}
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


def read_line(line: bytes) -> LoreDecision | str:
    """Return the decision of one line, or a message about what is wrong with the line."""
    try:
        fields: Any = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        return f"no JSON ({type(error).__name__}): {line[:60].decode('utf-8', 'replace')!r}"
    return decision_of(fields) if is_mapping(fields) else "no JSON object"


def decision_of(fields: Mapping[str, object]) -> LoreDecision | str:
    """Return the decision that some keys make, or a message about what they lack."""
    get = fields.get
    identity = text_of(get("id"))
    if not identity:
        return "a decision without id"
    return LoreDecision(
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
    """Return a decision as one line without a line end."""
    return _encoded(fields, separators=(",", ":"))


def _encoded(value: Mapping[str, object], **form: Any) -> bytes:
    """Return an object as JSON; bytes that were read and are no UTF-8 stay as they were."""
    try:
        return json.dumps(value, ensure_ascii=False, **form).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(value, **form).encode("ascii")


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


class GitState(Struct, frozen=True):
    """The state of a git repository; each part may be empty."""

    branch: str = ""
    commits: tuple[str, ...] = ()
    stash_count: int = 0


class HandoffDraft(Struct, frozen=True):
    """A handoff before it has an id.

    Attributes:
        message: A text on where things stand.
        next_steps: Steps to do next.
        blockers: Obstacles.
        questions: Open questions.
        git: The state of the repository.
    """

    kind: ClassVar[str] = "handoff"

    message: str
    next_steps: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    git: GitState = GitState()


def is_session_file(name: str) -> bool:
    """Return whether a file of this name is read as a session; compressed ones and examples are not."""
    return bool(_NAME.fullmatch(name)) and not name.endswith(".compressed.json") and "example" not in name.lower()


def read_session(data: bytes, file: str) -> Handoff | str:
    """Return the handoff of a session, which may be empty, or a message about what is wrong with the file.

    Args:
        data: The whole file.
        file: Path of the file; its name is the id where the session has none.
    """
    try:
        session: object = json.loads(data.decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        return f"no JSON ({type(error).__name__}: {str(error)[:80]})"
    if not is_mapping(session):
        return "no JSON object"
    identity = text_of(session.get("id")) or text_of(re.split(r"[/\\]", file)[-1].removesuffix(".json"))
    handoff = mapping_of(session.get("handoff"))
    times = (text_of(handoff.get("created_at")), text_of(session.get("ended_at")), text_of(session.get("started_at")))
    return Handoff(
        id=identity,
        created_at=next(filter(None, times), _time_of(identity)),
        message=text_of(handoff.get("message")),
        next_steps=texts_of(handoff.get("next_steps")),
        blockers=texts_of(handoff.get("blockers")),
        questions=texts_of(handoff.get("questions")),
        summary=text_of(session.get("summary")),
        project=project_of(session),
        file=file,
        fields=session,
    )


def new_session(identity: str, draft: HandoffDraft, *, created_at: str, project: str) -> dict[str, Any]:
    """Return a session that holds nothing but a handoff, its keys in the order of the format.

    Args:
        identity: `session-…`.
        draft: The handoff.
        created_at: ISO time.
        project: Name of the project; an empty one is written as null.
    """
    git = draft.git
    return {
        "id": identity,
        "started_at": created_at,
        "ended_at": created_at,
        "summary": "",
        "goals_addressed": [],
        "decisions_made": [],
        "patterns_learned": [],
        "open_threads": [],
        "handoff": {
            "message": draft.message,
            "next_steps": list(draft.next_steps),
            "blockers": list(draft.blockers),
            "questions": list(draft.questions),
            "created_at": created_at,
        },
        "git_state": {
            "branch": git.branch,
            "commits": list(git.commits),
            "uncommitted": [],  # Only git knows them, and it is never run: see `writing`.
            "stash_count": git.stash_count,
        },
        "context": {"project": project or None, "active_files": [], "recent_commands": [], "environment": {}},
        "parent_session": None,
    }


def session_bytes(session: dict[str, Any]) -> bytes:
    """Return the bytes of the file of a session."""
    return _encoded(session, indent=2) + b"\n"


def _time_of(identity: str) -> str:
    found = _TIME_IN_ID.match(identity)
    return "{}-{}-{}T{}:{}:{}Z".format(*found.groups()) if found else ""
