"""Keeps what hook events tell in the memory: prompts, uses of tools, and at the end of a turn a summary.

A use of a tool is in the database before its hook is answered, so no kill loses it. No language model runs here. An
event comes without private spans and secrets (`capture.cleaning`). What is made of it is cleaned again, since lines
that stood apart come together.
"""

from __future__ import annotations

import fnmatch
import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec.structs import astuple, replace

from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.text import sha256_hex
from hybrid.capture.cleaning import cleaned_text, cleaned_value
from hybrid.capture.extraction.commands import run_of, step_of
from hybrid.capture.extraction.extract import observations
from hybrid.capture.shell import is_ours
from hybrid.capture.summaries import summarise
from hybrid.capture.tools import PathRoots, ToolUse, is_skipped, own_home, tool_use
from hybrid.capture.transcript import last_exchange
from hybrid.ipc.spool import OPT_OUT, is_private_turn
from hybrid.knowledge.small_talk import is_about_project, is_talk
from hybrid.prompting.clean import clean
from hybrid.prompting.rules import prompt_verdict
from hybrid.records.memory.types import REMEDY, Extracted, Owner, PendingEvent, Summarised
from hybrid.workspace import excluded_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Make
    from hybrid.types import HookEvent, ToolCall
    from hybrid.workspace import Workspace

    _Made = Extracted | list[tuple[int, Extracted | None]] | None
    _Extractor = Callable[[Sequence[ToolUse], str], _Made]

_CHARS_OF_TOKEN = 4
_DAY_MS = 86_400_000
_LEFT = 0.9
"""Share of the largest size down to which the oldest rows are deleted, so that it is not time again the next day."""
_MOST_PROMPT_CHARS = 5_000
_OF_TALK = ("acknowledgement", "session_turn")
"""Reasons of prompts that say nothing by themselves."""
MOST_AT_ONCE = 20
"""The most batches of other sessions that one event turns into observations; killed sessions may leave many."""


def is_remembering(workspace: Workspace) -> bool:
    """Return whether events of this project are kept: the settings want it and do not exclude it; else False."""
    memory, project = workspace.config.memory, workspace.project
    if not (memory.enabled and memory.capture) or project is None:
        return False
    names = {project.name, str(project.root), str(project.main_root), project.key}
    return not any(
        fnmatch.fnmatch(name, pattern) for pattern in excluded_patterns(memory.exclude_projects) for name in names
    )


def remember(
    workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int, *, is_private: bool
) -> tuple[str, ...]:
    """Store a prompt, a use of a tool or, at the end of a turn, a summary; at the end of a session, close it.

    At these ends all waiting uses of the session become observations.

    Args:
        workspace: The workspace of the event's directory.
        event: Any event; others than these are passed over.
        store: The store of the memory.
        now_ms: Time of the event, milliseconds since 1970.
        is_private: The event tells what was done for a private prompt (`is_of_private_turn`).

    Returns:
        A sentence for each batch whose extractor failed at the end of a turn or session; it is stored all the same.

    Raises:
        HybridError: The memory cannot be used; what the event tells is not in it.
        OSError: As for `HybridError`.
    """
    if not event.session_id:
        return ()
    # A session whose directory is gone ends all the same: it is known by its id alone.
    is_gone = event.event == "SessionEnd" and workspace.project is None
    if not (is_gone or is_remembering(workspace)):
        return ()
    if event.call is not None:
        if not is_private:
            _keep_use(workspace, event, event.call, store, now_ms)
    elif event.event == "UserPromptSubmit":
        _keep_prompt(workspace, event, store, now_ms)
    elif event.event == "Stop" and not event.agent_id:
        return _keep_summary(workspace, event, store, now_ms, is_private=is_private)
    elif event.event == "SessionEnd":
        failures = flush(workspace, store, now_ms, session_id=event.session_id)
        store.complete_session(event.session_id, now_ms)
        return failures
    return ()


def tell_waiting(workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int) -> tuple[str, ...]:
    """Make observations of all waiting uses of the event's session, and of some batches of others that have ended.

    Returns:
        A sentence for each failure; nothing is raised.
    """
    if not event.session_id or not is_remembering(workspace):
        return ()
    return close_batches(workspace, store, now_ms, session_id=event.session_id)


def close_batches(workspace: Workspace, store: MemoryStore, now_ms: int, *, session_id: str = "") -> tuple[str, ...]:
    """Make observations of all that waits of one session, if it is named, then of at most 20 batches that have ended.

    These may be of any session: their client may have been killed.

    Returns:
        A sentence for each failure; nothing is raised.
    """
    try:
        if not store.n_waiting():
            return ()
        own = flush(workspace, store, now_ms, session_id=session_id) if session_id else ()
        return (*own, *flush(workspace, store, now_ms, most=MOST_AT_ONCE))
    except (HybridError, OSError) as error:
        return (f"memory: {error}",)


def flush(
    workspace: Workspace, store: MemoryStore, now_ms: int, *, session_id: str = "", most: int | None = None
) -> tuple[str, ...]:
    """Make observations of waiting uses: all of one session, or the batches of any session that have ended.

    Args:
        workspace: The workspace with the settings in force.
        store: The store of the memory.
        now_ms: Milliseconds since 1970.
        session_id: Id of the one session; empty for any.
        most: The most batches that become observations; None for all. The others go on waiting.

    Returns:
        A sentence for each batch whose extractor failed; it is stored all the same.

    Raises:
        HybridError: The memory cannot be read or written; what was told before stays told.
    """
    make, window_ms = maker(workspace), workspace.config.memory.batch_window_ms
    done = store.flush(make=make, now_ms=now_ms, window_ms=window_ms, session_id=session_id, most=most)
    return tuple(f"memory: {failure}" for failure in done.failures)


def keep_small(workspace: Workspace, store: MemoryStore, now_ms: int) -> int:
    """Delete what the settings do not want to be kept: what is too old, and the oldest of a database that is too large.

    Returns:
        How many rows went.

    Raises:
        HybridError: The database cannot be written.
        OSError: What was read of it cannot be.
    """
    memory = workspace.config.memory
    before_ms = now_ms - memory.retention_days * _DAY_MS if memory.retention_days else None
    most = memory.max_mb * 1_000_000
    is_large = store.exists and store.path.stat().st_size > most
    if not is_large and before_ms is None:
        return 0
    return store.prune(now_ms=now_ms, before_ms=before_ms, max_bytes=int(most * _LEFT) if is_large else None)


def maker(workspace: Workspace) -> Make:
    """Return the function that makes an observation of a batch: the extractor of the settings, its results cleaned."""
    name = workspace.config.memory.extractor

    def make(events: Sequence[PendingEvent], prompt: str) -> _Made:
        extractor = _extractor(name)  # Here, where the store keeps what an extractor failed to tell.
        told = extractor([ToolUse.from_json(event.payload) for event in events], prompt)
        if isinstance(told, list):
            return [(n, cleaned_value(one) if one else None) for n, one in told]
        return cleaned_value(told) if isinstance(told, Extracted) else told

    return make


@cache
def _extractor(name: str) -> _Extractor:
    """Return the extractor of a name: `local`, or `package.module:function`, which is imported.

    Raises:
        ConfigError: There is no such function.
    """
    if name == "local":
        return observations
    module, _, attribute = name.partition(":")
    try:
        return cast("_Extractor", getattr(import_module(module), attribute))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"memory.extractor = {name!r}: {error}") from error


def owner_of(workspace: Workspace, event: HookEvent) -> Owner:
    """Return the session and the project of an event."""
    project = workspace.require_project()
    return Owner(event.session_id, project.key, project.name)


def _keep_use(workspace: Workspace, event: HookEvent, call: ToolCall, store: MemoryStore, now_ms: int) -> None:
    settings = workspace.config.memory
    n_answered = _n_chars(call.result) + len(call.error)
    if is_skipped(call.tool, _n_chars(call.arguments) + n_answered, settings.skip_tools):
        return
    root = str(workspace.require_project().root)
    use = cleaned_value(tool_use(call, PathRoots(root, event.cwd, own_home())))
    if use.kind == "command" and is_ours(use.command):
        return  # It repeats what is known.
    payload = use.as_json()
    pending = PendingEvent(use.tool, payload, use_digest(event, payload), n_answered // _CHARS_OF_TOKEN, now_ms)
    owner = owner_of(workspace, event)
    if store.add_event(owner, pending, window_ms=settings.batch_window_ms, make=maker(workspace)) and settings.remedies:
        store.note_run(owner, run_of(use), step_of(use), now_ms)


def _n_chars(value: object) -> int:
    """Return the number of characters of a value: of a string its own, of others those of their JSON, 0 for None."""
    if isinstance(value, str):
        return len(value)
    return len(json.dumps(value, ensure_ascii=False)) if value is not None else 0


def use_digest(event: HookEvent, payload: str) -> str:
    """Return the digest by which a use is known again, made of the client's id for it, without one of the payload."""
    identity = event.tool_use_id or payload
    tool = event.call.tool if event.call else ""
    return sha256_hex("\0".join((event.session_id, event.agent_id, tool, identity)).encode("utf-8", "replace"))


def _keep_prompt(workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int) -> None:
    prompt = event.prompt
    if event.agent_id or prompt.is_blank:
        return
    # Nothing of a private turn is kept. Yet every prompt begins one, so that what follows is not taken for a part of
    # the turn before.
    text = OPT_OUT if prompt.is_opted_out else "" if prompt.is_machine_made else prompt.text[:_MOST_PROMPT_CHARS]
    store.add_prompt(owner_of(workspace, event), text, now_ms, key=event.key)


def is_of_private_turn(workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int) -> bool:
    """Return whether the prompt that an event belongs to is, or may be, a private one.

    When it is not sure which prompt was the last one (a clock was set back), one private prompt among those in
    question is enough.

    Raises:
        HybridError: The memory cannot be read, and no note of `ipc.spool` says that the turn is private.
    """
    if is_private_turn(str(workspace.home), event.session_id, event.key):
        return True
    return any(prompt.text == OPT_OUT for prompt in store.last_prompts(event.session_id, now_ms))


def _keep_summary(
    workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int, *, is_private: bool
) -> tuple[str, ...]:
    """Take a turn into the summary of its session, after its waiting uses became observations.

    A private turn and small talk stay out of it.

    Returns:
        A sentence for each failure of an extractor.
    """
    tools = store.waiting_tools(event.session_id)
    failures = flush(workspace, store, now_ms, session_id=event.session_id)
    if is_private:
        return failures
    last = store.last_prompt(event.session_id, now_ms)
    said = event.message
    if not said and event.transcript:
        said = cleaned_text(last_exchange(Path(event.transcript)).agent)
    request, number = (last.text, last.prompt_number) if last is not None else ("", 0)
    rows = [row for row in store.session_rows(event.session_id) if row.prompt_number == number]
    observed = [told for row in rows if isinstance(told := row.told, Extracted) and REMEDY not in told.concepts]
    if not observed and not request:
        return failures
    told = cleaned_value(summarise(request, said, observed))
    if not observed and tools:  # They repeat an earlier turn, so no row records them.
        told = replace(told, investigated=told.investigated or f"Used {', '.join(tools)}, as in an earlier turn.")
    elif not observed and (is_talk(told) or not is_about_project(workspace, event, request, said)):
        return failures
    if any(astuple(told)[1:]) and prompt_verdict(clean(told.request)) in _OF_TALK:
        told = replace(told, request="")  # `ok, do it` asks for what was said before.
    if told != Summarised():
        store.add_summary(owner_of(workspace, event), told, now_ms)
    return failures
