"""session-*.json: what one session left for the next; pure, files are opened by `store` and `writing`."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from msgspec import Struct

from hybrid.records.lore.types import Handoff, is_mapping, mapping_of, project_of, text_of, texts_of

MAX_BYTES = 5_000_000
MAX_FILES = 2_000
"""The most sessions that are read: those with the latest names, which begin with their time."""

_NAME = re.compile(r"session-.+\.json")
_TIME_IN_ID = re.compile(r"session-(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})(?:-|$)")


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
    try:
        return json.dumps(session, ensure_ascii=False, indent=2).encode("utf-8", "surrogateescape") + b"\n"
    except UnicodeEncodeError:
        return json.dumps(session, indent=2).encode("ascii") + b"\n"


def short_id(identity: str) -> str:
    """Return the id of a session without time and digits, `session-20260214`; an id of another form as it is."""
    found = re.match(r"session-\d{8}(?=-|$)", identity)
    return found.group() if found else identity


def _time_of(identity: str) -> str:
    found = _TIME_IN_ID.match(identity)
    return "{}-{}-{}T{}:{}:{}Z".format(*found.groups()) if found else ""
