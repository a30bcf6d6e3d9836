"""Puts our entries into the text of a settings file and takes them out; everything else stays byte for byte.

Knows texts only; `install` and `uninstall` know files.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.hooks.install import edit
from hybrid.hooks.install.command import is_ours
from hybrid.hooks.install.jsonc import JsoncError, Node, is_list, is_object, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence


HOOKS = ""
"""Stands for the object of all events, where names of events are listed."""


class SettingsError(HybridError):
    """A settings file is not what its client would read; it is left untouched."""


class Found(Struct, frozen=True):
    """One registered command.

    Attributes:
        event: The client's word.
        handler: The client's object for the command.
        matcher: Of its group, if any.
        entry: The whole element of the event's list.
    """

    event: str
    handler: Mapping[str, Any]
    matcher: str
    entry: Any


def read(text: str, name: str) -> Node:
    """The settings; a text without anything counts as `{}`.

    Args:
        text: Of the file.
        name: Of the file, for the message.

    Raises:
        SettingsError: It does not parse, or its hooks have another form than the client reads.
    """
    try:
        root = parse(text if text.strip("\ufeff \t\r\n") else "{}")
    except (JsoncError, RecursionError) as error:
        raise SettingsError(f"{name} is not changed, for it does not parse ({error}): repair it first") from error
    if problem := _problem(root):
        raise SettingsError(f"{name} is not changed: {problem}")
    return root


def commands(root: Node) -> Iterator[Found]:
    """Every command that is registered for any event, in order."""
    hooks = root.member("hooks")
    for event in hooks.node.items if hooks else ():
        for element in event.node.items:
            entry = element.node.value
            if not is_object(entry):
                continue
            group = entry.get("hooks")
            for handler in group if is_list(group) else [entry]:
                if is_object(handler):
                    yield Found(event.key, handler, str(entry.get("matcher") or ""), entry)


def install_text(text: str, wanted: Sequence[tuple[str, dict[str, Any]]], *, base: Mapping[str, Any], name: str) -> str:
    """The text with exactly these entries of ours; unchanged where they stand already.

    Args:
        text: Of the file, empty for a new one.
        wanted: (event, element of its list), in order.
        base: Members that the file must have besides `hooks`.
        name: Of the file, for messages.

    Raises:
        SettingsError: As `read`.
    """
    mine = [(found.event, found.entry) for found in commands(read(text, name)) if is_ours(found.handler)]
    if sorted(mine, key=_shown) == sorted(wanted, key=_shown):
        return text
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    text = strip_text(text, name=name, keep={HOOKS, *(event for event, _ in wanted)})
    for key, value in base.items():
        root = parse(text)
        if root.member(key) is None:
            text = edit.append(text, root, value, key=key)
    return _add(text, wanted)


def strip_text(
    text: str,
    *,
    name: str,
    keep: Container[str] = (),
    unwanted: Callable[[object], bool] = is_ours,
) -> str:
    """The text without our entries, and without lists and groups that this empties.

    Args:
        text: Of the file.
        name: Of the file, for messages.
        keep: Events whose list stays though it is empty; `HOOKS` for the object of all.
        unwanted: Which handlers go.

    Raises:
        SettingsError: As `read`.
    """
    root = read(text, name)
    while (path := _first_path(root, unwanted)) is not None:
        text = _remove_at(text, root, path, keep)
        root = parse(text)
    return text


def lists_of(text: str) -> frozenset[str]:
    """Events that have a list, and `HOOKS` when there is an object of them; nothing for a text that does not parse."""
    try:
        hooks = parse(text).member("hooks")
    except JsoncError:
        return frozenset()
    return frozenset((HOOKS, *(item.key for item in hooks.node.items))) if hooks else frozenset()


def is_bare(text: str, own: Container[str]) -> bool:
    """Return whether nothing of anyone is left: no comment, no hooks, and no members but these.

    Args:
        text: Of the file.
        own: Names of members that stand in every new file of the client.
    """
    try:
        value = parse(text).value
    except JsoncError:
        return not text.strip()
    is_plain = "".join(text.split()) == "".join(json.dumps(value, ensure_ascii=False).split())
    return is_plain and is_object(value) and all(name in own or (name == "hooks" and not value[name]) for name in value)


def _problem(root: Node) -> str:
    """What keeps us from changing the settings, in words; empty for nothing."""
    if root.kind != "object":
        return "it holds no object"
    keys = [item.key for item in root.items]
    if keys.count("hooks") > 1:
        return "it holds `hooks` twice"
    hooks = root.member("hooks")
    if hooks is None:
        return ""
    if hooks.node.kind != "object":
        return "its `hooks` is no object"
    events = [item.key for item in hooks.node.items]
    odd = [item.key for item in hooks.node.items if item.node.kind != "array" or events.count(item.key) > 1]
    # Gemini CLI and Qwen Code keep switches between the events.
    odd = [key for key in odd if key not in ("enabled", "disabled", "notifications")]
    return f"its `hooks.{odd[0]}` is no list, or stands there twice" if odd else ""


def _shown(entry: tuple[str, Any]) -> str:
    """The order that entries are compared in."""
    return json.dumps(entry, sort_keys=True)


def _add(text: str, wanted: Sequence[tuple[str, dict[str, Any]]]) -> str:
    for event, entry in wanted:
        root = parse(text)
        hooks = root.member("hooks")
        if hooks is None:
            text = edit.append(text, root, {event: [entry]}, key="hooks")
        elif (members := hooks.node.member(event)) is None:
            text = edit.append(text, hooks.node, [entry], key=event)
        else:
            text = edit.append(text, members.node, entry)
    return text


def _first_path(root: Node, unwanted: Callable[[object], bool]) -> tuple[int, int, int | None] | None:
    """Where the first handler to remove stands: event, element of its list, handler of the group if there is one."""
    hooks = root.member("hooks")
    for at_event, event in enumerate(hooks.node.items if hooks else ()):
        for at_element, element in enumerate(event.node.items):
            group = element.node.member("hooks")
            if group is None or group.node.kind != "array":
                if unwanted(element.node.value):
                    return at_event, at_element, None
                continue
            for at_handler, handler in enumerate(group.node.items):
                if unwanted(handler.node.value):
                    return at_event, at_element, at_handler
    return None


def _remove_at(text: str, root: Node, path: tuple[int, int, int | None], keep: Container[str]) -> str:
    """Remove a handler, or the largest thing around it that would be empty without it."""
    at_event, at_element, at_handler = path
    at_hooks = next(index for index, item in enumerate(root.items) if item.key == "hooks")
    hooks = root.items[at_hooks].node
    event = hooks.items[at_event]
    group = event.node.items[at_element].node.member("hooks")
    if at_handler is not None and group is not None and len(group.node.items) > 1:
        return edit.remove(text, group.node, at_handler)
    if len(event.node.items) > 1 or event.key in keep:
        return edit.remove(text, event.node, at_element)
    if len(hooks.items) > 1 or HOOKS in keep:
        return edit.remove(text, hooks, at_event)
    return edit.remove(text, root, at_hooks)
