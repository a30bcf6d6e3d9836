"""Keeps what hook events tell in the memory: prompts, uses of tools, and at the end of a turn a summary.

A use of a tool is in the database before its hook is answered, so no kill loses it. No language model runs here.

Private spans and secrets are cut out before anything is stored. All texts of an event are read as one, after characters
that nobody sees are gone, and only then shortened. What it costs is bounded: beyond its bounds, texts are dropped
before anything else is done with them.
"""

from __future__ import annotations

import fnmatch
import json
import re
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from hybrid.base.digest import sha256_hex
from hybrid.base.errors import ConfigError, HybridError
from hybrid.capture.extraction.extract import extract
from hybrid.capture.leaves import Cut, Leaf, Texts, cut_out, filled, is_key_line, key_lines
from hybrid.capture.shell import is_ours
from hybrid.capture.summaries import summarise
from hybrid.capture.tools import PathRoots, ToolCall, ToolUse, is_skipped, own_home, tool_use
from hybrid.capture.transcript import last_exchange
from hybrid.ipc.turns import OPT_OUT, is_private_turn
from hybrid.knowledge.small_talk import is_about_project, is_talk
from hybrid.records.memory.types import Extracted, Owner, PendingEvent, Summarised, session_of
from hybrid.redact import find_secrets, redact, redact_name
from hybrid.workspace import excluded_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hybrid.prompting.clean import CleanedPrompt
    from hybrid.records.memory.store import MemoryStore
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


MAX_CHARS = 200_000
"""The most characters of all texts of an event together; secrets are looked for among these."""
MAX_TOOL_CHARS = 100
"""The most characters of the name of a tool."""

_MAX_HOT = 5_000
"""The most words like `password` in the texts of an event; a text full of them takes a hundred times as long."""
_MIN_CHARS = 1_000
_MIN_TAIL_CHARS = 30_000
"""Characters for a text from which on its end is kept too; with fewer only its beginning."""
_CONTEXT_CHARS = 2_000
"""Characters before the kept end of a text that are searched and not kept: a name may stand there for a value after."""
_HOT_WORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "_pass", "secret", "token", "credential", "key", "login"),
    *("curl", "wget", "mysql", "sshpass", "redis-cli", "cookie", "auth", "://", "q~", "k_live_", "k_test_", ":aa"),
    *("-us", "webhooks/", ".atlasv1.", "whsec_", "-----begin", "-----end", "eyj", "sk-", "xox", ":5432:", "identified"),
)
_MIN_PIECE = 16
_PIECE = re.compile(rf"[A-Za-z0-9+/=_.~-]{{{_MIN_PIECE},}}")
_MAX_PIECES = 60
_SHORT = 200
"""Characters of a text, at most, of which it is remembered that it has no secret: paths and names come again."""

_Told = TypeVar("_Told", Extracted, Summarised)


def cleaned_call(call: ToolCall) -> ToolCall:
    """Return a use of a tool without private spans and secrets; its parts may be any values of JSON.

    A text that is JSON is parsed. Texts beyond the bounds are shortened: of a long one whole lines of both ends stay,
    of many texts the first.
    """
    texts = Texts()
    taken = [texts.take(call.arguments), texts.take_text(call.error), texts.take(call.result, is_output=True)]
    _clean(texts)
    arguments, error, result = map(filled, taken)
    return ToolCall(cleaned_name(call.tool), arguments, result, _text(error))


@lru_cache(1 << 8)
def cleaned_name(tool: str) -> str:
    """Return the name of a tool as it is stored, in one line of at most `MAX_TOOL_CHARS`."""
    # Read part by part: servers and their tools are joined by two underscores, within which no token begins.
    words = "\n".join(cleaned_text(tool[: 10 * MAX_TOOL_CHARS].replace("__", "\n")).split())
    return words.replace("\n", "__" if "__" in tool else " ")[:MAX_TOOL_CHARS]


def cleaned_text(text: str) -> str:
    """Return a text without private spans and secrets; of a long one only whole lines of both ends."""
    texts = Texts()
    taken = texts.take_text(text)
    _clean(texts)
    return _text(filled(taken))


def cleaned_payload(use: ToolUse) -> ToolUse:
    """Return a use as it is stored, cleaned once more, as shortening may have made new private spans and secrets."""
    fields = {name: value for name, value in to_builtins(use).items() if name not in ("tool", "kind")}
    return ToolUse.from_json(json.dumps({"tool": use.tool, "kind": use.kind, **_cleaned_fields(fields)}))


def cleaned_told(told: _Told) -> _Told:
    """Return an observation or summary without private spans and secrets; its type stays."""
    fields = {name: value for name, value in asdict(told).items() if name != "type"}
    cleaned = {
        name: tuple(value) if isinstance(fields[name], tuple) else value
        for name, value in _cleaned_fields(fields).items()
    }
    return replace(told, **cleaned)


def n_chars(value: object) -> int:
    """Return the number of characters of a value: of a string its own, of others those of their JSON, 0 for None."""
    if isinstance(value, str):
        return len(value)
    return len(json.dumps(value, ensure_ascii=False)) if value is not None else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cleaned_fields(given: dict[str, Any]) -> dict[str, Any]:
    texts = Texts()
    taken = texts.take(given)
    _clean(texts)
    return cast("dict[str, Any]", filled(taken) or {})


def _clean(texts: Texts) -> None:
    texts.cut_private()
    _shorten(texts.leaves)
    cut_out([part for leaf in texts.leaves for part in leaf.parts()], _cuts)
    for part in (part for leaf in texts.leaves for part in leaf.parts() if part.text):
        # What stands beside a text may hide its secrets, so each is read alone too.
        masked = redact_name if len(part.text) <= _SHORT else redact
        part.text = "[redacted:private_key]" if is_key_line(part.text) else masked(part.text)


def _cuts(text: str) -> Iterator[Cut]:
    """Yield (start, end, replacement) of secrets, lines of keys, and other places that repeat a long piece of them."""
    secrets = [(secret.start, secret.end, f"[redacted:{secret.kind}]") for secret in find_secrets(text)]
    secrets += [(start, end, "[redacted:private_key]") for start, end in key_lines(text)]
    yield from secrets
    pieces = dict.fromkeys(piece for start, end, _ in secrets for piece in _PIECE.findall(text, start, end))
    for piece in sorted((piece.strip("+-") for piece in pieces), key=len, reverse=True)[:_MAX_PIECES]:
        start = -1 if len(piece) < _MIN_PIECE else text.find(piece)
        while start >= 0:
            yield start, start + len(piece), "[redacted]"
            start = text.find(piece, start + len(piece))


def _shorten(leaves: Sequence[Leaf]) -> None:
    """Cut the texts of leaves at line ends, in place, until all together keep the bounds of a search for secrets."""
    room = MAX_CHARS
    while True:
        most = _share([len(leaf.text) for leaf in leaves], room)
        short = [_shortened(leaf, most) for leaf in leaves]
        lower = "\n".join(part.text for leaf in short for part in leaf.parts()).lower()
        n_hot = sum(map(lower.count, _HOT_WORDS))
        if n_hot <= _MAX_HOT or room < _MIN_CHARS:
            break
        room = int(min(room, len(lower)) * 0.9 * _MAX_HOT / n_hot)
    for leaf, found in zip(leaves, short, strict=True):
        leaf.text, leaf.rest = found.text, found.rest


def _share(sizes: Sequence[int], room: int) -> int:
    """Return the most characters that each text may have so that all fit; short ones leave theirs to the others."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _shortened(leaf: Leaf, most: int) -> Leaf:
    text = leaf.text
    if len(text) <= most:
        return leaf
    n_head = most // 2 if most >= _MIN_TAIL_CHARS else most
    head = text[: text.rfind("\n", 0, n_head) + 1]
    start = text.find("\n", len(text) - most + n_head) + 1 if head and n_head < most else 0
    kept_from = text.find("\n", start + _CONTEXT_CHARS) + 1 if start else 0
    rest = (Leaf(text[start:kept_from], "\n"), Leaf(text[kept_from:], "")) if kept_from else None
    return replace(leaf, text=head, rest=rest)


# --- events -----------------------------------------------------------------------------------------------


_CHARS_OF_TOKEN = 4
_DAY_MS = 86_400_000
_LEFT = 0.9
"""Share of the largest size down to which the oldest rows are deleted, so that it is not time again the next day."""
_MOST_PROMPT_CHARS = 5_000
MOST_AT_ONCE = 20
"""The most batches of other sessions that one event turns into observations; killed sessions may leave many."""


def is_remembering(workspace: Workspace) -> bool:
    """Return whether events of this project are kept: the settings want it and do not exclude it; else False."""
    memory, project = workspace.config.memory, workspace.project
    if not (memory.enabled and memory.capture) or project is None:
        return False
    names = {project.name, str(project.root), str(project.main_root), project.key}
    return not any(fnmatch.fnmatch(name, pattern) for pattern in excluded_patterns(memory) for name in names)


def remember(
    workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int, cleaned: CleanedPrompt
) -> tuple[str, ...]:
    """Store a prompt, a use of a tool or, at the end of a turn, a summary; at the end of a session, close it.

    At these ends all waiting uses of the session become observations.

    Args:
        workspace: The workspace of the event's directory.
        event: Any event; others than these are passed over.
        store: The store of the memory.
        now_ms: Time of the event, milliseconds since 1970.
        cleaned: The prompt of the event, cleaned; looked at for a prompt alone.

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
    if event.event == "PostToolUse":
        _keep_use(workspace, event, store, now_ms)
    elif event.event == "UserPromptSubmit":
        _keep_prompt(workspace, event, store, now_ms, cleaned)
    elif event.event == "Stop" and not event.agent_id:
        return _keep_summary(workspace, event, store, now_ms)
    elif event.event == "SessionEnd":
        failures = flush(workspace, store, now_ms, session_id=session_of(event.session_id))
        store.complete_session(session_of(event.session_id), now_ms)
        return failures
    return ()


def tell_waiting(workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int) -> tuple[str, ...]:
    """Make observations of all waiting uses of the event's session, and of some batches of others that have ended.

    Returns:
        A sentence for each failure; nothing is raised.
    """
    if not event.session_id or not is_remembering(workspace):
        return ()
    return close_batches(workspace, store, now_ms, session_id=session_of(event.session_id))


def close_batches(workspace: Workspace, store: MemoryStore, now_ms: int, *, session_id: str = "") -> tuple[str, ...]:
    """Make observations of all that waits of one session, if it is named, then of at most 20 batches that have ended.

    These may be of any session: their client may have been killed.

    Returns:
        A sentence for each failure; nothing is raised.
    """
    try:
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


def maker(workspace: Workspace) -> Callable[[Sequence[PendingEvent], str], Extracted | None]:
    """Return the function that makes an observation of a batch: the extractor of the settings, its results cleaned."""
    name = workspace.config.memory.extractor

    def make(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
        extractor = _extractor(name)  # Here, where the store keeps what an extractor failed to tell.
        told = extractor([ToolUse.from_json(event.payload) for event in events], prompt)
        return cleaned_told(told) if isinstance(told, Extracted) else told

    return make


@cache
def _extractor(name: str) -> Callable[[Sequence[ToolUse], str], Extracted | None]:
    """Return the extractor of a name: `local`, or `package.module:function`, which is imported.

    Raises:
        ConfigError: There is no such function.
    """
    if name == "local":
        return extract
    module, _, attribute = name.partition(":")
    try:
        return cast("Callable[[Sequence[ToolUse], str], Extracted | None]", getattr(import_module(module), attribute))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"memory.extractor = {name!r}: {error}") from error


def owner_of(workspace: Workspace, event: HookEvent) -> Owner:
    """Return the session and the project of an event."""
    project = workspace.require_project()
    return Owner(session_of(event.session_id), project.key, project.name)


def _keep_use(workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int) -> None:
    settings = workspace.config.memory
    if is_of_private_turn(workspace, event, store, now_ms):
        return
    call = cleaned_call(ToolCall(event.tool, event.tool_input, event.tool_response, event.error))
    n_answered = n_chars(call.result) + len(call.error)
    if is_skipped(event.tool, n_chars(call.arguments) + n_answered, settings.skip_tools):
        return
    root = str(workspace.require_project().root)
    use = tool_use(call, PathRoots(root, event.cwd, own_home()))
    if use.kind == "command" and is_ours(use.command):
        return  # It repeats what is known.
    payload = cleaned_payload(use).as_json()
    pending = PendingEvent(use.tool, payload, use_digest(event, payload), n_answered // _CHARS_OF_TOKEN, now_ms)
    store.add_event(owner_of(workspace, event), pending, window_ms=settings.batch_window_ms, make=maker(workspace))


def use_digest(event: HookEvent, payload: str) -> str:
    """Return the digest by which a use is known again, made of the client's id for it, without one of the payload."""
    identity = event.tool_use_id or payload
    return sha256_hex("\0".join((event.session_id, event.agent_id, event.tool, identity)).encode("utf-8", "replace"))


def _keep_prompt(
    workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int, cleaned: CleanedPrompt
) -> None:
    if event.agent_id or not event.prompt.strip():
        return
    if cleaned.is_opted_out:
        text = OPT_OUT  # Nothing else of the turn is kept.
    else:
        text = "" if cleaned.is_machine_made else cleaned_text(cleaned.text)[:_MOST_PROMPT_CHARS]
    # Every prompt begins a turn, so that what follows is not taken for a part of the turn before.
    store.add_prompt(owner_of(workspace, event), text, now_ms, key=event.key)


def is_of_private_turn(workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int) -> bool:
    """Return whether the prompt that an event belongs to is, or may be, a private one.

    When it is not sure which prompt was the last one (a clock was set back), one private prompt among those in
    question is enough.

    Raises:
        HybridError: The memory cannot be read, and no note of `ipc.turns` says that the turn is private.
    """
    if is_private_turn(str(workspace.home), event.session_id, event.key):
        return True
    return any(prompt.text == OPT_OUT for prompt in store.last_prompts(session_of(event.session_id), now_ms))


def _keep_summary(workspace: Workspace, event: HookEvent, store: MemoryStore, now_ms: int) -> tuple[str, ...]:
    """Store a summary of a turn, after its waiting uses became observations; return a sentence for each failure there.

    A private turn and small talk get no summary.
    """
    tools = store.waiting_tools(session_of(event.session_id))
    failures = flush(workspace, store, now_ms, session_id=session_of(event.session_id))
    if is_of_private_turn(workspace, event, store, now_ms):
        return failures
    last = store.last_prompt(session_of(event.session_id), now_ms)
    said = event.message
    if not said and event.transcript:
        said = last_exchange(Path(event.transcript)).agent
    request, number = (last.text, last.prompt_number) if last is not None else ("", 0)
    rows = [row for row in store.session_rows(session_of(event.session_id)) if row.prompt_number == number]
    observed = [row.told for row in rows if isinstance(row.told, Extracted)]
    if not observed and not request:
        return failures
    told = cleaned_told(summarise(request, cleaned_text(said), observed))
    if not observed and tools:  # They repeat an earlier turn, so no row records them.
        told = replace(told, investigated=told.investigated or f"Used {', '.join(tools)}, as in an earlier turn.")
    elif not observed and (is_talk(told) or not is_about_project(workspace, event, request, said)):
        return failures
    if told != Summarised():
        store.add_summary(owner_of(workspace, event), told, now_ms)
    return failures
