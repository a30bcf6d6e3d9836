"""The counters of a project and its hot topics, in one file of state."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from msgspec.structs import asdict

from hybrid.base.atomic import locked, read_regular, set_aside, write_atomic
from hybrid.render.marks import harmless_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.types import Hit


NAME = "hook_state.json"
_LOCK_S = 1.0
_MAX_BYTES = 16_000_000
_MOST_CHUNKS = 2_000
"""Number of chunk counters that are kept; beyond it the rarest go, so that the file stays small."""


class HookState(Struct):
    """The counters; names and meaning of the keys are part of the product's interface.

    Attributes:
        last_session_id: Topic id of the last injection.
        last_injected_chunks: Keys of the chunks of that injection.
        last_injection_time: ISO 8601, UTC.
        injection_count: Number of injections since the file was begun.
        chunk_frequencies: Key → {count, file, name}.
        file_frequencies: Path → count.
        hot_topics_generated_at: The `injection_count` at which hot-topics.md was last written.
    """

    last_session_id: str | None = None
    last_injected_chunks: list[str] = field(default_factory=list[str])
    last_injection_time: str | None = None
    injection_count: int = 0
    chunk_frequencies: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    file_frequencies: dict[str, int] = field(default_factory=dict[str, int])
    hot_topics_generated_at: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the counters under the keys of the file."""
        return asdict(self)


def read_state(folder: Path) -> HookState:
    """Return the counters of a repository; defaults when the file is missing, damaged or half wrong."""
    try:
        data = _read(folder)
    except (OSError, ValueError, RecursionError):
        return HookState()
    return _parse(data)


def is_corrupt(folder: Path) -> bool:
    """Return True when a state file exists and is a link, or cannot be read as JSON of the right shape."""
    try:
        return not isinstance(_read(folder), dict)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, RecursionError):
        return True


def update_state(folder: Path, change: Callable[[HookState], None]) -> HookState | None:
    """Read the counters, let `change` change them, and write them, as one step among concurrent hooks.

    Returns:
        The new state, or None when it could not be locked or written, which never matters.
    """
    with locked(folder / f"{NAME}.lock", _LOCK_S) as held:
        if not held:
            return None
        if is_corrupt(folder):
            set_aside(folder / NAME)
        state = read_state(folder)
        change(state)
        try:
            write_atomic(folder / NAME, json.dumps(state.as_json(), indent=1).encode(), durable=False)
        except OSError:
            return None
        return state


def count_injection(state: HookState, topic_id: str, injected: Sequence[Hit]) -> None:
    """Count one injection and its chunks, which are hits without secrets.

    Beyond 2,000 chunk counters the rarest go, down to three quarters.
    """
    state.last_session_id = topic_id
    state.last_injected_chunks = [chunk.key for chunk in injected]
    state.last_injection_time = datetime.now(timezone.utc).isoformat(timespec="seconds")
    state.injection_count += 1
    for chunk in injected:
        entry = state.chunk_frequencies.setdefault(chunk.key, {"count": 0, "file": chunk.path, "name": chunk.name})
        entry["count"] += 1
    for file in sorted({chunk.path for chunk in injected}):
        state.file_frequencies[file] = state.file_frequencies.get(file, 0) + 1
    if len(state.chunk_frequencies) > _MOST_CHUNKS:
        # Of equally rare ones the newest stay: reversed, since the sort keeps the order of equals.
        newest_first = reversed(list(state.chunk_frequencies.items()))
        ordered = sorted(newest_first, key=lambda item: -item[1]["count"])
        state.chunk_frequencies = dict(reversed(ordered[: _MOST_CHUNKS * 3 // 4]))


def _read(folder: Path) -> object:
    """Return the JSON of the state file; a link or pipe, which may come with a repository, is refused."""
    return json.loads(read_regular(folder / NAME, _MAX_BYTES))


def _parse(data: object) -> HookState:
    state = HookState()
    if not isinstance(data, dict):
        return state
    stored = cast("dict[str, object]", data)
    for name in ("last_session_id", "last_injection_time"):
        if isinstance(value := stored.get(name), str):
            setattr(state, name, value)
    for name in ("injection_count", "hot_topics_generated_at"):
        if _is_count(value := stored.get(name)):
            setattr(state, name, value)
    if isinstance(chunks := stored.get("last_injected_chunks"), list):
        state.last_injected_chunks = [key for key in cast("list[object]", chunks) if isinstance(key, str)]
    if isinstance(files := stored.get("file_frequencies"), dict):
        pairs = cast("dict[str, object]", files).items()
        state.file_frequencies = {file: cast("int", count) for file, count in pairs if _is_count(count)}
    if isinstance(entries := stored.get("chunk_frequencies"), dict):
        for key, entry in cast("dict[str, object]", entries).items():
            if isinstance(entry, dict) and _is_count(cast("dict[str, object]", entry).get("count")):
                fields = cast("dict[str, object]", entry)
                state.chunk_frequencies[key] = {
                    "count": fields["count"],
                    "file": str(fields.get("file", "")),
                    "name": str(fields.get("name", "")),
                }
    return state


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# --- hot topics -------------------------------------------------------------------------------------------


HOT_TOPICS = "hot-topics.md"
_TOP_CHUNKS = 20
_TOP_FILES = 10
_MARK = re.compile(r"[\\|`_*<\[\]]")


def is_hot_topics_due(state: HookState, *, every: int) -> bool:
    """Return whether enough injections passed since the hot topics were last written."""
    return state.injection_count - state.hot_topics_generated_at >= every


def write_hot_topics(folder: Path, state: HookState, *, now: datetime | None = None) -> Path:
    """Write the file of hot topics anew; returns its path.

    Raises:
        OSError: The disk is full or read-only.
    """
    path = folder / HOT_TOPICS
    text = hot_topics(state, now or datetime.now(timezone.utc))
    write_atomic(path, text.encode("utf-8", "replace"), durable=False)
    return path


def hot_topics(state: HookState, now: datetime) -> str:
    """Return the hot topics as Markdown; valid with no data too. Equal counts are ordered by file and name."""
    chunks = sorted(state.chunk_frequencies.values(), key=lambda entry: (-entry["count"], entry["file"], entry["name"]))
    files = sorted(state.file_frequencies.items(), key=lambda item: (-item[1], item[0]))
    lines = [
        "# Hot topics",
        "",
        f"Last updated: {now.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC",
        "",
        f"Based on {state.injection_count} context injections.",
        "",
        "## Most injected code",
        "",
        "| Rank | File | Symbol | Injections |",
        "| ---: | --- | --- | ---: |",
        *(
            f"| {rank} | {_cell(entry['file'])} | {_cell(entry['name']) or '–'} | {entry['count']} |"
            for rank, entry in enumerate(chunks[:_TOP_CHUNKS], 1)
        ),
        "",
        "## Most injected files",
        "",
        "| File | Total Injections |",
        "| --- | ---: |",
        *(f"| {_cell(file)} | {count} |" for file, count in files[:_TOP_FILES]),
        "",
        "## Notes",
        "",
        "- What is injected often is what many tasks need: a candidate for a better name, comment or document.",
        "- Written by `hybrid` from `hook_state.json`; changes made here are overwritten.",
        "- Refreshed every so many injections (`log.hot_topics_every`), at once by `hybrid hook hot-topics --force`.",
        "- To pin it, name this file in the instructions of your agent: `@.hybrid/hot-topics.md` in `CLAUDE.md` or",
        "  `GEMINI.md`, its path in `AGENTS.md`.",
        "",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Return a text as a table cell: one line, with nothing that Markdown or an agent would read as a mark."""
    return _MARK.sub(r"\\\g<0>", harmless_line(" ".join(text.split())))
