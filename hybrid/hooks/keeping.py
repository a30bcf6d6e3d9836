"""Decides whether an event that a hook had no time for may lie on disk, and keeps it without its private parts.

Where its owner wants nothing kept, nothing is: settings, pauses, private spans, prompts with `[no-hybrid]`. It reads no
TOML and as a rule no JSON: a hook asks at its deadline, and parsing costs more than writing. What it cannot tell for
sure is decided by the settings themselves when the event is taken in. Standard library only; a hook imports it only
when it has an event to keep.
"""

from __future__ import annotations

import os
import time

from hybrid.hooks.service import event_of
from hybrid.ipc.spool import OPT_OUT, Worth, may_be_private, note_turn, read_start

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hybrid.hooks.service import Input
    from hybrid.ipc.settings import HookSettings
    from hybrid.ipc.spool import Spool

_MAX_BYTES = 1_000_000
"""Bytes that are read of a file; settings and pauses are far smaller."""
_MOST_DIRECTORIES = 10
"""Directories of an event that are looked at: the text of a prompt may name any number."""
_OFF = ("false", "0", "no", "off")


def may_keep(home: str, settings: HookSettings | None, environ: Mapping[str, str], event: Input) -> bool:
    """Return whether an event may lie on disk until it is taken in.

    Args:
        home: `$HYBRID_HOME`.
        settings: The settings of hooks; None when nobody resolved them since they changed.
        environ: Environment of the client.
        event: The event as it came; it may name directories besides that of its process.
    """
    if settings is None:
        # The owner's file changed a moment ago: what it says of privacy is taken for a no.
        if _says(os.path.join(home, "config.toml"), b"capture", b"enabled", b"exclude_projects"):  # noqa: PTH118
            return False
        is_remembering = is_learning = True
        excluded: Sequence[str] = ()
    else:
        is_remembering, is_learning, excluded = settings.is_remembering, settings.is_learning, settings.excluded
    is_remembering &= not _is_off(environ, "HYBRID_MEMORY_ENABLED", "HYBRID_MEMORY_CAPTURE")
    is_learning &= not _is_off(environ, "HYBRID_LESSONS_ENABLED", "HYBRID_LESSONS_CAPTURE")
    excluded = [*excluded, *filter(None, environ.get("HYBRID_MEMORY_EXCLUDE_PROJECTS", "").split(","))]
    directories = [event.cwd, *_directories(event.data)]
    is_remembering &= not _is_excluded(directories, excluded)
    if not is_remembering and not (is_learning and _may_teach(event.name, event.data)):
        return False
    return not _is_paused(home, directories, event.data) and not any(map(_is_off_in_project, directories))


def _is_off(environ: Mapping[str, str], *names: str) -> bool:
    """Return whether one of these variables says no."""
    return any(environ.get(name, "").strip().lower() in _OFF for name in names)


def _may_teach(name: str, data: bytes) -> bool:
    """Return whether an event may bring a lesson: a text in it, which is no tool's, looks like one or its citation."""
    return "tool" not in name.lower() and (b"lesson" in data.lower() or b"[L" in data or b"[S" in data)


def _directories(data: bytes) -> list[str]:
    """Return the working directories that an event names. In JSON no text can hold the name with both its quotes."""
    paths: list[str] = []
    at = data.find(b'"cwd"')
    while at >= 0 and len(paths) < _MOST_DIRECTORIES:
        rest = data[at + 5 : at + 5000].lstrip().removeprefix(b":").lstrip()
        if rest[:1] == b'"':
            text = _unescaped(os.fsdecode(rest[1:].partition(b'"')[0]))
            paths.append(text.replace("\\\\", "\\").replace("\\/", "/"))
        at = data.find(b'"cwd"', at + 5)
    return paths


def _unescaped(text: str) -> str:
    r"""Return a text of JSON with the characters in place of its `\uXXXX`; other escapes stay."""
    if "\\u" not in text:
        return text
    plain = text.encode("latin-1", "backslashreplace").decode("raw_unicode_escape", "replace")
    # Two escapes may stand for one character.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _is_excluded(directories: Sequence[str], patterns: Sequence[str]) -> bool:
    """Return whether a pattern fits a directory, one above it, or the name of one of them."""
    if not patterns:
        return False
    for directory in directories:
        path = directory.rstrip("/\\")
        while path:
            head, _, last = path.replace("\\", "/").rpartition("/")
            if any(fits(pattern, path) or fits(pattern, last) for pattern in patterns):
                return True
            path = head
    return False


def fits(pattern: str, text: str) -> bool:
    """Return whether a text fits a pattern of `fnmatch`, without its import; what follows a `[` counts as fitting."""
    pattern = pattern.partition("[")[0] + "*" if "[" in pattern else pattern
    at = mark = 0
    star = -1
    n = 0
    while n < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, mark, at = at, n, at + 1
        elif at < len(pattern) and pattern[at] in ("?", text[n]):
            at, n = at + 1, n + 1
        elif star >= 0:
            mark += 1
            at, n = star + 1, mark
        else:
            return False
    return not pattern[at:].strip("*")


def _is_paused(home: str, directories: Sequence[str], data: bytes) -> bool:
    """Return whether a pause may concern an event. That of a project is known by its main working tree here."""
    text = read_start(os.path.join(home, "pauses.json"), _MAX_BYTES)  # noqa: PTH118
    if not text:
        return False
    directories = [*directories, *map(_main_tree, directories)]
    for entry in text.split(b"}"):
        if _is_over(entry):
            continue
        if b'"all:"' in entry:
            return True
        session = entry.partition(b'"session:')[2].partition(b'"')[0]
        if session and session in data:
            return True
        root = os.fsdecode(_value(entry, b"root").strip(b'"').replace(b"\\\\", b"\\"))
        roots = {root, _main_tree(root)}
        if b'"project:' in entry and (not root or any(_is_below(each, top) for each in directories for top in roots)):
            return True
    return False


def _main_tree(directory: str) -> str:
    """Return the main working tree of a linked tree that holds a directory; outside linked trees the directory."""
    for path in _upwards(directory):
        # The `.git` of a linked working tree is a file: `gitdir: MAIN/.git/worktrees/NAME`.
        link = os.fsdecode(read_start(os.path.join(path, ".git"), _MAX_BYTES)).replace("\\", "/")  # noqa: PTH118
        if link:
            main, mark, _ = link.removeprefix("gitdir:").strip().partition("/.git/worktrees/")
            return main if mark else directory
    return directory


def _upwards(directory: str) -> Iterator[str]:
    """Yield a directory and those above it, a hundred at most."""
    for _ in range(100):
        yield directory
        directory, last = os.path.split(directory)
        if not last:
            return


def _is_over(entry: bytes) -> bool:
    """Return whether a pause has an end that is past."""
    try:
        return float(_value(entry, b"until")) <= time.time()
    except ValueError:
        return False


def _value(entry: bytes, name: bytes) -> bytes:
    """Return the bytes of a value in a flat object of JSON, a text with its quotes; empty when it is missing."""
    rest = entry.partition(b'"' + name + b'":')[2].strip()
    return rest[: rest.find(b'"', 1) + 1] if rest[:1] == b'"' else rest.partition(b",")[0].strip()


def _is_below(directory: str, root: str) -> bool:
    """Return whether a directory is the root or lies in it."""
    return directory == root or directory.startswith(root.rstrip("/\\") + os.sep)


def _is_off_in_project(directory: str) -> bool:
    """Return whether settings of a project around a directory switch the memory or the lessons off."""
    files = (os.path.join(path, ".hybrid", "config.toml") for path in _upwards(directory))  # noqa: PTH118
    return any(_switches_off(read_start(file, _MAX_BYTES)) for file in files)


def _switches_off(settings: bytes) -> bool:
    """Return whether settings hold `enabled = false` in the sections of memory or lessons.

    A line names its section by the last header, or by itself (`memory.enabled = false`). Where texts may run over
    lines, and look like headers, each section counts.
    """
    is_plain = not (b'"""' in settings or b"'''" in settings)
    section = b""
    for line in settings.splitlines():
        text = line.partition(b"#")[0].strip()
        if text.startswith(b"["):
            section = text
        elif b"enabled" in text and b"false" in text:
            names = section + text if is_plain else b"memory"
            if b"memory" in names or b"lessons" in names:
                return True
    return False


def _says(path: str, *words: bytes) -> bool:
    """Return whether a line of a settings file, without its comment, holds one of the words."""
    return any(
        any(word in line.partition(b"#")[0] for word in words) for line in read_start(path, _MAX_BYTES).splitlines()
    )


# --- private parts ---------------------------------------------------------------------------------------


_MARKS = (OPT_OUT.encode(), b"private>", b"private ", b"private\\u003e")
_OF_TURN = ("PostToolUse", "Stop")
"""Events that tell what an agent did and said; those that only begin or end a session hold nothing of a turn."""


def keep_event(spool: Spool, key: str, parts: Sequence[bytes], on_drop: Callable[[str], None] = lambda _: None) -> bool:
    """Keep an event in the spool without its private parts; see `Spool.keep`.

    Args:
        spool: Where.
        key: The key of the event.
        parts: The parts that `hooks.taking.event_of_parts` takes; the last one is the event as it came, JSON.
        on_drop: Called at most once, with a line about other events that had to go.

    Returns:
        False when it cannot be kept, or holds a mark and is no JSON: nobody could read it later.
    """
    *about, data = parts
    lower = data.lower()
    event = _event(parts[1], data)
    if any(mark in lower for mark in _MARKS) or (event == "UserPromptSubmit" and may_be_private(spool.home, data)):
        import json  # A hook loads it only here: it costs seven milliseconds.

        try:
            value = json.loads(data.decode("utf-8-sig", "replace"))
            if event == "UserPromptSubmit":
                _note_turn(spool.home, key, value)
            data = json.dumps(_without_private(value)).encode()
        except (ValueError, RecursionError):
            return False
    return spool.keep(key, *about, data, worth=_worth(event, lower), on_drop=on_drop)


def is_of_private_turn(home: str, parts: Sequence[bytes]) -> bool:
    """Return whether an event tells what an agent did for a prompt with `[no-hybrid]`: then nothing of it is kept.

    Args:
        home: `$HYBRID_HOME`.
        parts: The parts, as of `keep_event`, of an event that has just come.
    """
    return _event(parts[1], parts[-1]) in _OF_TURN and may_be_private(home, parts[-1])


def _note_turn(home: str, key: str, value: object) -> None:
    """Note in the file of turns whether a prompt is private; input without a prompt of a person notes nothing."""
    from typing import cast

    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    session = fields.get("session_id") or fields.get("sessionId") or fields.get("sessionID")
    prompt = fields.get("submitted_prompt") or fields.get("prompt")
    is_agents = fields.get("agent_id") or fields.get("agentId")
    if isinstance(session, str) and isinstance(prompt, str) and prompt.strip() and not is_agents:
        note_turn(home, session, key, is_private=OPT_OUT in prompt.lower())


def _event(name: bytes, data: bytes) -> str | None:
    """Return our word for an event, by its name or by the one in its input; None for an event that is not known."""
    name = name or data.partition(b'"hook_event_name"')[2].partition(b'"')[2].partition(b'"')[0]
    return event_of(name.decode("ascii", "replace"))


def _worth(event: str | None, lower: bytes) -> int:
    """Return the worth of an event; `lower` is its input in small letters."""
    if event == "PostToolUse":
        return Worth.TOOL
    if b"lesson" in lower:
        return Worth.LESSON
    return Worth.PROMPT if event == "UserPromptSubmit" else Worth.OTHER


def _without_private(value: object, *, is_part: bool = True) -> object:
    """Return a value of JSON without private spans; of a text with `[no-hybrid]` only that mark stays.

    A span may be opened in one text and closed in another; only a prompt is seen whole by who typed it.
    """
    from typing import cast  # As `json`; the two below bring `re`.

    from hybrid.render.marks import without_private

    if isinstance(value, str):
        return OPT_OUT if OPT_OUT in value.lower() else without_private(value, is_part=is_part)
    if isinstance(value, list):
        return [_without_private(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {name: _without_private(item, is_part=name != "prompt") for name, item in items}
    return value
