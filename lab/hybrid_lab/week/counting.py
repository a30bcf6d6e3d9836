"""Counts what the memory has of the events that hooks acknowledged; `week` calls it when nobody writes any more."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.knowledge.memory_intake import use_digest
from hybrid.knowledge.stores import RecordStores
from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import full_lines, short_key
from hybrid.types import HookEvent, ToolCall
from hybrid.workspace import open_workspace
from hybrid_lab.memory.replay import observation_of_events

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hybrid_lab.week.events import Sent

_MARK = re.compile(r"quay\d{6}z")
_MOST_SHOWN = 20
_IN_TIME = 0.95
"""Of the deadline: a hook that ends later may have been ended by it."""


class Done(Struct, frozen=True):
    """The end of the hook of one event.

    Attributes:
        sent: The event.
        seconds: Wall time of the process.
        code: Its exit code; None when it was killed.
    """

    sent: Sent
    seconds: float
    code: int | None

    @property
    def is_acknowledged(self) -> bool:
        """The client was told that all is well."""
        return self.code == 0


def count_memory(done: Sequence[Done], roots: Mapping[str, Path], environ: Mapping[str, str]) -> dict[str, Any]:
    """Count the rows that are there, missing or there twice, and the soundness of the database.

    Args:
        done: Every hook that ran.
        roots: Project → its top.
        environ: Names the home.
    """
    workspace = open_workspace(next(iter(roots.values())), environ=environ)
    with MemoryStore(RecordStores(environ).memory(workspace).path) as store:
        pending = store.database.read(_pending, frozenset[bytes]())
        seen = store.database.read(observation_of_events, {})
        return {
            "uses": _uses(done, seen, pending, deadline_s=workspace.config.hooks.deadline_ms / 1000),
            "prompts": _prompts(done, store),
            "lessons": _lessons(done, [workspace.home, *roots.values()]),
            "sessions": _sessions(done, store),
            "rows": _rows(store) | {"seen_and_pending": len(seen.keys() & pending)},
            "integrity": store.database.read(_integrity, ["no database"]),
            "set_aside": [path.name for path in store.set_aside],
            "size_bytes": store.stats().size_bytes,
        }


def _uses(
    done: Sequence[Done], seen: Mapping[bytes, int | None], pending: frozenset[bytes], *, deadline_s: float
) -> dict[str, Any]:
    """Uses of tools by their digests; `missing_in_time` are those whose hook had not reached its deadline."""
    uses = [one for one in done if one.sent.use_id]
    keys = {one.sent.use_id: short_key(_digest(one.sent)) for one in uses}
    kept = {use for use, key in keys.items() if key in seen or key in pending}
    acknowledged = {one.sent.use_id for one in uses if one.is_acknowledged}
    in_time = {one.sent.use_id for one in uses if one.is_acknowledged and one.seconds < _IN_TIME * deadline_s}
    return {
        "sent": len(uses),
        "different": len(keys),
        "acknowledged": len(acknowledged),
        "kept": len(kept),
        "kept_of_killed": len(kept - acknowledged),
        "missing": len(acknowledged - kept),
        "missing_in_time": len(in_time - kept),
        "pending": sum(key in pending for key in keys.values()),
        "told_nothing": sum(key in seen and not seen[key] for key in keys.values()),
        "unknown_in_store": len((seen.keys() | pending) - set(keys.values())),
        "first_missing": _shown([one for one in uses if one.sent.use_id in acknowledged - kept]),
    }


def _shown(missing: Sequence[Done]) -> list[dict[str, Any]]:
    """Tool of the first ones, and how long their hooks ran."""
    return [
        {"id": one.sent.use_id, "tool": one.sent.tool, "hook_ms": round(one.seconds * 1000)}
        for one in missing[:_MOST_SHOWN]
    ]


def _prompts(done: Sequence[Done], store: MemoryStore) -> dict[str, int]:
    """Prompts by their texts; they are kept after their answer, which does not wait for it."""
    asked = [one for one in done if one.sent.event == "UserPromptSubmit" and one.is_acknowledged]
    stored = Counter(prompt.text for session in _ids(done) for prompt in store.prompts(session))
    return {
        "acknowledged": len(asked),
        "missing": sum(not stored[one.sent.fields["prompt"]] for one in asked),
        "twice": sum(count > 1 for count in stored.values()),
    }


def _lessons(done: Sequence[Done], folders: Iterable[Path]) -> dict[str, int]:
    """Lessons that were typed, by their titles, in every file of lessons."""
    typed = [one for one in done if one.sent.lesson and one.is_acknowledged]
    files = {path for folder in folders for path in folder.rglob("LESSONS.md")}
    written = Counter(
        line.partition("] ")[2].strip()
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("### [")
    )
    return {
        "acknowledged": len(typed),
        "missing": sum(not written[one.sent.lesson] for one in typed),
        "twice": sum(count > 1 for count in written.values()),
    }


def _sessions(done: Sequence[Done], store: MemoryStore) -> dict[str, int]:
    """Sessions by their ends: one whose hook was killed may never have reached the service."""
    ended = {one.sent.session_id for one in done if one.sent.event == "SessionEnd" and one.is_acknowledged}
    found = [store.session(session) for session in ended]
    completed = sum(one is not None and one.status == "completed" for one in found)
    return {"sent": len(_ids(done)), "acknowledged": len(ended), "completed": completed}


def _rows(store: MemoryStore) -> dict[str, int]:
    stats, named = store.stats(), _named(store)
    return {
        "observations": stats.n_observations,
        "summaries": stats.n_summaries,
        "prompts": stats.n_prompts,
        "events_named": len(named),
        "events_in_two_rows": sum(count > 1 for count in named.values()),
        "digests_twice": store.database.read(_digests_twice, 0),
    }


def _digest(sent: Sent) -> str:
    call = ToolCall(sent.tool, None, None)
    event = HookEvent("claude", "PostToolUse", sent.session_id, "", "", call=call, tool_use_id=sent.use_id)
    return use_digest(event, "")


def _ids(done: Iterable[Done]) -> list[str]:
    """Return the ids of all sessions, each once."""
    return list(dict.fromkeys(one.sent.session_id for one in done))


def _named(store: MemoryStore) -> Counter[str]:
    """In how many observations the mark of an event stands, whatever the digests say; some tell of it without it."""
    counts: Counter[str] = Counter()
    for row in store.all_rows("observation"):
        counts.update(set(_MARK.findall("\n".join(full_lines(row)))))
    return counts


def _pending(db: sqlite3.Connection) -> frozenset[bytes]:
    return frozenset(short_key(row[0]) for row in db.execute("SELECT digest FROM pending_events"))


def _digests_twice(db: sqlite3.Connection) -> int:
    found = db.execute("SELECT count(*) FROM (SELECT 1 FROM observations GROUP BY digest HAVING count(*) > 1)")
    return found.fetchone()[0]


def _integrity(db: sqlite3.Connection) -> list[str]:
    return [row[0] for row in db.execute("PRAGMA integrity_check").fetchall()]
