"""The text of a client's file with and without our hooks, be it settings or a code module of our own.

Everything else in it stays byte for byte. This module knows texts; `changes` knows files.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.resources import shipped
from hybrid.hooks.install.command import Launcher, command_text, is_ours, program_of
from hybrid.hooks.install.jsonc import JsoncError, JsonNode, append_value, is_list, is_object, parse, remove_item
from hybrid.hooks.install.parts import RegisteredCommand, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from hybrid.hooks.install.client import Client
    from hybrid.hooks.install.parts import Files, Kind, Wanted


HOOKS = ""
"""Stands for the object of all events, where names of events are listed."""


class ExistingHook(Struct, frozen=True):
    """One registered command.

    Attributes:
        event: The client's word for the event.
        handler: The client's object for the command.
        matcher: The matcher of the command's group, if any.
        entry: The whole element of the event's list.
    """

    event: str
    handler: Mapping[str, Any]
    matcher: str
    entry: Any


def read(text: str, name: str) -> JsonNode:
    """Return the settings; a text without anything counts as `{}`.

    Args:
        text: Text of the file.
        name: Name of the file, for the message.

    Raises:
        SettingsError: The text does not parse, or its hooks have another form than the client reads.
    """
    try:
        root = parse(text if text.strip("\ufeff \t\r\n") else "{}")
    except (JsoncError, RecursionError) as error:
        raise SettingsError(f"{name} is not changed, for it does not parse ({error}): repair it first") from error
    if problem := _problem(root):
        raise SettingsError(f"{name} is not changed: {problem}")
    return root


def commands(root: JsonNode) -> Iterator[ExistingHook]:
    """Yield every command that is registered for any event, in the order of the file."""
    hooks = root.member("hooks")
    for event in hooks.node.items if hooks else ():
        for element in event.node.items:
            entry = element.node.value
            if not is_object(entry):
                continue
            group = entry.get("hooks")
            for handler in group if is_list(group) else [entry]:
                if is_object(handler):
                    yield ExistingHook(event.key, handler, str(entry.get("matcher") or ""), entry)


def install_text(text: str, wanted: Sequence[tuple[str, dict[str, Any]]], *, base: Mapping[str, Any], name: str) -> str:
    """Return the text with exactly these entries of ours; unchanged where they stand already.

    Args:
        text: Text of the file, empty for a new one.
        wanted: (event, element of its list), in order.
        base: Members that the file must have besides `hooks`.
        name: Name of the file, for messages.

    Raises:
        SettingsError: As `read`.
    """
    mine = [(hook.event, hook.entry) for hook in commands(read(text, name)) if is_ours(hook.handler)]
    if sorted(mine, key=_shown) == sorted(wanted, key=_shown):
        return text
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    text = strip_text(text, name=name, keep={HOOKS, *(event for event, _ in wanted)})
    for key, value in base.items():
        root = parse(text)
        if root.member(key) is None:
            text = append_value(text, root, value, key=key)
    return _add(text, wanted)


def strip_text(
    text: str,
    *,
    name: str,
    keep: Container[str] = (),
    unwanted: Callable[[object], bool] = is_ours,
) -> str:
    """Return the text without our entries, and without lists and groups that this empties.

    Args:
        text: Text of the file.
        name: Name of the file, for messages.
        keep: Events whose list stays though it is empty; `HOOKS` for the object of all.
        unwanted: Tells of a handler whether it is removed.

    Raises:
        SettingsError: As `read`.
    """
    root = read(text, name)
    while (shorter := _without_first(text, root, keep, unwanted)) is not None:
        text = shorter
        root = parse(text)
    return text


def lists_of(text: str) -> frozenset[str]:
    """Return the events with a list, and `HOOKS` when there is an object of them; none for text that does not parse."""
    try:
        hooks = parse(text).member("hooks")
    except JsoncError:
        return frozenset()
    return frozenset((HOOKS, *(item.key for item in hooks.node.items))) if hooks else frozenset()


def is_bare(text: str, own: Container[str]) -> bool:
    """Return whether a text holds nothing of anyone: no comment, no hooks, and no members but the given ones.

    Args:
        text: Text of the file.
        own: Names of members that stand in every new file of the client.
    """
    try:
        value = parse(text).value
    except JsoncError:
        return not text.strip()
    is_plain = "".join(text.split()) == "".join(json.dumps(value, ensure_ascii=False).split())
    return is_plain and is_object(value) and all(name in own or (name == "hooks" and not value[name]) for name in value)


def _problem(root: JsonNode) -> str:
    """Return the reason against changing the settings, in words; empty without one."""
    if not is_object(root.value):
        return "it holds no object"
    keys = [item.key for item in root.items]
    if keys.count("hooks") > 1:
        return "it holds `hooks` twice"
    hooks = root.member("hooks")
    if hooks is None:
        return ""
    if not is_object(hooks.node.value):
        return "its `hooks` is no object"
    events = [item.key for item in hooks.node.items]
    odd = [item.key for item in hooks.node.items if not is_list(item.node.value) or events.count(item.key) > 1]
    # Gemini CLI and Qwen Code keep switches between the events.
    odd = [key for key in odd if key not in ("enabled", "disabled", "notifications")]
    return f"its `hooks.{odd[0]}` is no list, or stands there twice" if odd else ""


def _shown(entry: tuple[str, Any]) -> str:
    """Return a text by which entries are compared and ordered."""
    return json.dumps(entry, sort_keys=True)


def _add(text: str, wanted: Sequence[tuple[str, dict[str, Any]]]) -> str:
    for event, entry in wanted:
        root = parse(text)
        hooks = root.member("hooks")
        if hooks is None:
            text = append_value(text, root, {event: [entry]}, key="hooks")
        elif (members := hooks.node.member(event)) is None:
            text = append_value(text, hooks.node, [entry], key=event)
        else:
            text = append_value(text, members.node, entry)
    return text


def _without_first(text: str, root: JsonNode, keep: Container[str], unwanted: Callable[[object], bool]) -> str | None:
    """Return the text without its first unwanted handler, or the largest thing around it that this empties.

    None when no handler is unwanted. The arguments are those of `strip_text`, and the parsed text.
    """
    at_hooks = next((index for index, item in enumerate(root.items) if item.key == "hooks"), None)
    if at_hooks is None:
        return None
    hooks = root.items[at_hooks].node
    for at_event, event in enumerate(hooks.items):
        for at_element, element in enumerate(event.node.items):
            member = element.node.member("hooks")
            group = member.node if member and is_list(member.node.value) else None
            handlers = group.value if group else [element.node.value]
            at_handler = next((index for index, handler in enumerate(handlers) if unwanted(handler)), None)
            if at_handler is None:
                continue
            if group and len(handlers) > 1:
                return remove_item(text, group, at_handler)
            if len(event.node.items) > 1 or event.key in keep:
                return remove_item(text, event.node, at_element)
            if len(hooks.items) > 1 or HOOKS in keep:
                return remove_item(text, hooks, at_event)
            return remove_item(text, root, at_hooks)
    return None


# --- files of any client ----------------------------------------------------------------------------------


_COMMAND = re.compile(r'^const COMMAND = (\["(?:[^"\\\r\n]|\\.)*"(?:, "(?:[^"\\\r\n]|\\.)*")*\])\r?$', re.MULTILINE)
_MODULE_MARK = "// hybrid: "
_TRACE = re.compile(r"hybrid[\s\S]{0,200}?(?:hook\s+(?:run|inject-context)|mcp[\s-]+client)\b|<!-- hybrid:begin")


def with_hooks(text: str, client: Client, events: Sequence[str], launcher: Launcher, *, name: str) -> str:
    """Return the text with our hooks for these events, and no other of ours.

    Raises:
        SettingsError: The file is not ours to change.
    """
    if client.module:
        if text.strip() and not text.startswith(_MODULE_MARK):
            raise SettingsError(f"{name} is not changed: it is a module of someone else")
        return _module(client, launcher)
    wanted = [(event, client.entry(event, launcher)) for event in events]
    return install_text(text, wanted, base=client.base, name=name)


def without_hooks(text: str, client: Client, *, keep: Container[str] = (), name: str) -> str:
    """Return the text without our hooks; empty where that leaves nothing.

    Raises:
        SettingsError: The file does not parse.
    """
    if client.module:
        return "" if text.startswith(_MODULE_MARK) else text
    return strip_text(text, name=name, keep=keep)


def ours_in(text: str, client: Client, *, name: str) -> list[RegisteredCommand]:
    """Return our commands in a client's file, in order.

    Raises:
        SettingsError: The file does not parse.
    """
    if client.module:
        match = _COMMAND.search(text) if text.startswith(_MODULE_MARK) else None
        words: list[str] = json.loads(match.group(1)) if match else []
        line = " ".join([*words, "hook", "run", "--client", client.name])
        return [RegisteredCommand(event, line, words[0], tuple(words[1:])) for event in client.events if words]
    return [
        RegisteredCommand(
            each.event,
            command_text(each.handler),
            program_of(each.handler),
            tuple(map(str, each.handler.get("args") or ())),
            each.matcher,
        )
        for each in commands(read(text, name))
        if is_ours(each.handler)
    ]


def outdated_in(text: str, client: Client, present: Sequence[RegisteredCommand]) -> str:
    """Return what an earlier version registered otherwise than this one, in words; empty for nothing.

    Args:
        text: Text of the file.
        client: Whose file it is.
        present: Our commands in it.
    """
    if not present:
        return ""
    if client.module:
        program = (present[0].program, *present[0].args)
        is_current = text.splitlines() == _module(client, Launcher(program)).splitlines()
        return "" if is_current else "the module is not the one of this version"
    known = {each.event for each in present}
    missing = [event for event in client.events if event not in known]
    if missing:
        return f"registered for fewer events than now (without {', '.join(missing)})"
    narrow = [each for each in present if each.event in client.events and each.matcher not in ("", "*")]
    shown = ", ".join(f"{each.event} for {each.matcher}" for each in narrow)
    return f"registered for fewer tools than now ({shown})" if narrow else ""


def may_hold_ours(text: str) -> bool:
    """Return whether a text that cannot be parsed seems to name us: a hook, a server or the mark of an instruction."""
    return bool(_TRACE.search(text.replace('"', "").replace("'", "").replace(",", "")))


def is_left_empty(text: str, client: Client) -> bool:
    """Return whether a text without us is what a new file of that client would be."""
    return not text.strip() or (not client.module and is_bare(text, {*client.base, *client.stamps}))


def _module(client: Client, launcher: Launcher) -> str:
    """Return the shipped module with the command filled in."""
    template = shipped("hooks", client.module, "hybrid.js").read_text(encoding="utf-8")
    command = json.dumps([*(launcher.program or ("hybrid",))])
    return _COMMAND.sub(lambda _: f"const COMMAND = {command}", template, count=1)


class HookPart(Struct, frozen=True):
    """The hooks of a client as a `Part`.

    Attributes:
        client: The client that runs them.
    """

    client: Client

    @property
    def owner(self) -> str:
        """See `Part`."""
        return self.client.name

    @property
    def kind(self) -> Kind:
        """See `Part`."""
        return "hooks"

    @property
    def files(self) -> Files:
        """See `Part`."""
        return self.client.files

    @property
    def has_own_file(self) -> bool:
        """See `Part`."""
        return self.client.has_own_file

    def with_us(self, text: str, wanted: Wanted, *, name: str) -> str:
        """See `Part`."""
        return with_hooks(text, self.client, wanted.events, wanted.launcher, name=name)

    def without_us(self, text: str, *, original: str, name: str) -> str:
        """See `Part`; lists of events that the original holds stay."""
        return without_hooks(text, self.client, keep=lists_of(original), name=name)

    def found_in(self, text: str, *, name: str) -> list[RegisteredCommand]:
        """See `Part`."""
        return ours_in(text, self.client, name=name)

    def outdated(self, text: str, present: list[RegisteredCommand]) -> str:
        """See `Part`."""
        return outdated_in(text, self.client, present)

    def is_left_empty(self, text: str) -> bool:
        """See `Part`."""
        return is_left_empty(text, self.client)
