"""A project with records of every kind: what is written in its tree, and its owner's consent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from hybrid.answer.decide import Turn
from hybrid.answer.events import answer
from hybrid.capture.cleaning import cleaned_call, cleaned_text
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.project.find import find_project
from hybrid.project.trust import accept
from hybrid.prompting.clean import read_prompt
from hybrid.types import HookEvent, ToolCall
from hybrid.upkeep.indexing import reindex
from hybrid.workspace import Workspace, open_workspace, session_key
from tests.support.builders import PAYMENTS, git_project, new_shop, write_files
from tests.support.cases import project

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hybrid.answer.events import Reply
    from hybrid.session.ledger import Ledger, SessionKey
    from tests.support.builders import Shop


LESSONS, PATTERNS = project("projects/records.txt").values()

DECISION, RETRACTED, HANDOFF = "dec-a1b2c3d4", "dec-0f1e2d3c", "session-20260214-100000-aaaaaaaa"

DECISIONS = (
    {
        "id": DECISION,
        "timestamp": "2026-02-10T10:00:00",
        "decision": "Use JSONL for the audit journal",
        "rationale": "append-only, grep-friendly",
        "status": "active",
        "project": "shop",
    },
    {
        "id": RETRACTED,
        "timestamp": "2026-02-11T10:00:00",
        "decision": "Use Redis for the audit journal",
        "rationale": "quick",
        "status": "retracted",
        "project": "shop",
    },
)

SESSION = {
    "id": HANDOFF,
    "started_at": "2026-02-14T10:00:00",
    "handoff": {
        "message": "OAuth login works, token refresh is missing",
        "next_steps": ["register the app"],
        "created_at": "2026-02-14T12:00:00",
    },
    "context": {"project": "shop"},
}

RECORD_FILES = {
    ".hybrid/LESSONS.md": LESSONS,
    ".hybrid/lore/patterns/data/patterns.yaml": PATTERNS,
    ".hybrid/lore/journal/data/decisions.jsonl": "".join(json.dumps(line) + "\n" for line in DECISIONS),
    f".hybrid/lore/transfer/data/sessions/{HANDOFF}.json": json.dumps(SESSION),
}
"""Path below the tree → text: two lessons and a deleted one, a pattern, an anti-pattern, a decision and a retracted
one, and a handoff too old to be offered by itself."""


def write_records(root: Path, home: Path, files: Mapping[str, str] = RECORD_FILES) -> None:
    """Write record files into a working tree, and accept them as its owner does."""
    write_files(root, files)
    accept_tree(root, home)


def accept_tree(root: Path, home: Path) -> None:
    """Accept the record files of a working tree."""
    project = find_project(root, home, home / "user")
    assert project is not None
    accept(project, home)


def shop_with_records(folder: Path, *, is_indexed: bool = True, **options: Mapping[str, str]) -> Shop:
    """The payments project with `RECORD_FILES`, accepted; `options` as of `new_shop`."""
    shop = new_shop(folder, is_indexed=is_indexed, **options)
    write_records(shop.root, shop.home)
    return shop


@dataclass(frozen=True)
class Talk:
    """One agent session in a project, answered in this process as a service does it: what it opened stays open.

    Attributes:
        root: The working tree.
        home: `$HYBRID_HOME`.
        session_id: Of the agent.
        client: Whose it is.
        agent_id: Of a subagent; empty in the main conversation.
        flags: Settings, such as `{"hooks.gate_threshold": 0.0}`.
        kinds: With warm caches.
    """

    root: Path
    home: Path
    session_id: str = "s1"
    client: str = "claude"
    agent_id: str = ""
    flags: Mapping[str, object] = field(default_factory=dict[str, object])
    kinds: OpenKinds = field(default_factory=lambda: OpenKinds({}))

    def workspace(self, **flags: object) -> Workspace:
        """The project's workspace; flags are settings such as `hooks_budget=10`."""
        values = dict(self.flags) | {key.replace("_", ".", 1): value for key, value in flags.items()}
        environ = {"HYBRID_HOME": str(self.home)}
        return open_workspace(self.root, environ=environ, flags=values, user_home=self.home.parent / "user")

    def event(self, event: str, **fields: Any) -> HookEvent:
        """An event of this session, cleaned as `hooks.event` cleans it."""
        for name, is_report in (("prompt", False), ("report", True)):
            if name in fields:
                fields[name] = read_prompt(fields[name], is_report=is_report)
        if "message" in fields:
            fields["message"] = cleaned_text(fields["message"])
        if event == "PostToolUse":
            names = ("tool", "tool_input", "tool_response", "error")
            tool, given, answered, error = (fields.pop(name, None) for name in names)
            fields["call"] = cleaned_call(ToolCall(tool or "", given, answered, error or ""))
        who = HookEvent(self.client, event, self.session_id, self.agent_id, str(self.root), name=event)
        return structs.replace(who, **fields)

    def reply(
        self,
        event: str,
        *,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
        **fields: Any,
    ) -> Reply:
        """What an event gets, not recorded yet."""
        return answer(Turn(self.workspace(**(flags or {})), self.event(event, **fields), self.kinds, environ or {}))

    def tell(self, event: str, **options: Any) -> Reply:
        """What an event gets, recorded as the hook does it."""
        reply = self.reply(event, **options)
        reply.finish(12.0)
        return reply

    def ask(self, prompt: str, **options: Any) -> Reply:
        """What a prompt gets, recorded."""
        return self.tell("UserPromptSubmit", prompt=prompt, **options)

    def start(self, source: str, **options: Any) -> Reply:
        """What a session start gets, recorded."""
        return self.tell("SessionStart", source=source, **options)

    def stop(self, message: str, **options: Any) -> Reply:
        """The end of a turn, with the agent's last message."""
        return self.tell("Stop", message=message, **options)

    def ledger(self, key: SessionKey | None = None) -> Ledger:
        """What the session, or another one, has."""
        workspace = self.workspace()
        return workspace.ledgers.read(key or session_key(workspace, self.event("Stop")), is_remembering=True)

    def log(self) -> list[dict[str, Any]]:
        """The event log, newest first."""
        return list(self.workspace().log.newest())

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file of the tree as an editor does it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


def new_talk(
    folder: Path,
    records: Mapping[str, str] = RECORD_FILES,
    *,
    code: Mapping[str, str] = PAYMENTS,
    is_indexed: bool = False,
    is_accepted: bool = True,
    **flags: object,
) -> Talk:
    """A session in the payments project with these record files; `flags` are settings such as `hooks_budget=10`."""
    values = {key.replace("_", ".", 1): value for key, value in flags.items()}
    talk = Talk(git_project(folder / "shop", code), folder / "home", flags=values)
    (talk.root / ".hybrid").mkdir()
    write_files(talk.root, records)
    if is_accepted:
        accept_tree(talk.root, talk.home)
    if is_indexed:
        reindex(talk.workspace())
    return talk


def headers(reply: Reply) -> list[str]:
    """The header lines of an injection as text: `[lesson] L001 Git commit format (relevance 8/10)`."""
    kinds = ("[lesson]", "[pattern]", "[anti-pattern]", "[decision]", "[handoff]", "[code]", "[doc]", "[project]")
    return [line for line in reply.text.split("\n") if line.startswith(kinds)]


def ids(reply: Reply) -> list[str]:
    """Ids of the records that a reply shows, paths of its files; in order."""
    return [item.hit.path for item in reply.decision.items]


def lesson_file(*lessons: tuple[str, str, str]) -> str:
    """A LESSONS.md of lessons given as id, title, content."""
    entries = [
        f"### [{name}] {title}\n- **Learned**: 2026-01-02 | **Category**: pattern\n> {content}\n"
        for name, title, content in lessons
    ]
    return "\n".join(["# LESSONS.md - Project Level\n\n## Active Lessons\n", *entries])
