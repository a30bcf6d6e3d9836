"""`hot-topics.md`: which chunks and files of a repository agents needed most; written from the counters."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hybrid.base.atomic import write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.feedback.state import HookState

NAME = "hot-topics.md"
_TOP_CHUNKS = 20
_TOP_FILES = 10
_MARK = re.compile(r"[\\|`_*<\[\]]")


def is_due(state: HookState, *, every: int) -> bool:
    """Have enough injections passed since the file was last written?"""
    return state.injection_count - state.hot_topics_generated_at >= every


def write_hot_topics(folder: Path, state: HookState, *, now: datetime | None = None) -> Path:
    """Write the file anew.

    Raises:
        OSError: The disk is full or read-only.
    """
    path = folder / NAME
    text = hot_topics(state, now or datetime.now(timezone.utc))
    write_atomic(path, text.encode("utf-8", "replace"), durable=False)
    return path


def hot_topics(state: HookState, now: datetime) -> str:
    """The Markdown; valid with no data too. Equal counts are ordered by file and name."""
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
    """Text as a table cell: one line, with nothing that Markdown would read as a mark (`__init__.py` is not bold)."""
    return _MARK.sub(r"\\\g<0>", " ".join(text.split()))
