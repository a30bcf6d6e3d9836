"""A coding agent as hybrid knows it, and the text of its file with and without our hooks.

The file has settings, or is a code module of our own; everything else in it stays byte for byte. This module knows
texts; `clients` holds the agents, `changes` knows files.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from hybrid.base.resources import shipped
from hybrid.hooks.install.jsonc import JsonNode, append_value, is_list, is_object, parse, remove_item, replace_value
from hybrid.hooks.install.parts import (
    BLANK,
    Files,
    Folder,
    Launcher,
    RegisteredCommand,
    SettingsError,
    before_us,
    command_text,
    is_bare,
    is_ours,
    parsed,
    program_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from hybrid.hooks.install.parts import Kind, Wanted
    from hybrid.hooks.install.rules import RulesPart
    from hybrid.hooks.install.servers import ServerPart
    from hybrid.project.installs import Scope


class Client(Struct, frozen=True):
    """A coding agent.

    Attributes:
        name: The client's name for `--client`.
        label: The client's name for people.
        files: Its settings files with hooks.
        events: The events, in the client's words, for which it is to call us; none for a client without hooks.
        handler: A function from an event and how to start us to the client's object for one command; not called for a
            client with a `module`.
        is_grouped: Handlers stand in groups with a matcher; otherwise in one flat list.
        base: What a new file holds besides `hooks`.
        has_own_file: The file of hooks is ours alone, in a folder for such files.
        is_plain: Reads JSON without comments only, and ignores a whole file that has one.
        module: Name of the folder with a code module in place of settings; empty for settings.
        remarks: What the user must do or know besides, in any scope.
        project_remark: The same for the `project` scope; empty for nothing.
        server: The entry of our MCP server; None for a client that reads none.
        rules: Our instruction in the client's rules.
    """

    name: str
    label: str
    files: Files = Files(Folder(), {})
    events: tuple[str, ...] = ()
    handler: Callable[[str, Launcher], dict[str, Any]] = lambda _event, _launcher: {}
    is_grouped: bool = True
    base: Mapping[str, Any] = {}
    has_own_file: bool = False
    is_plain: bool = False
    module: str = ""
    remarks: tuple[str, ...] = ()
    project_remark: str = ""
    server: ServerPart | None = None
    rules: RulesPart | None = None

    def notes(self, scope: Scope) -> list[str]:
        """Return what the user must do or know besides after an installation in that scope, a sentence each."""
        return [*self.remarks, *([self.project_remark] if scope == "project" and self.project_remark else [])]

    def ignores(self, text: str) -> bool:
        """Return whether the client reads nothing of a settings file that we can read."""
        if not self.is_plain or not text.strip():
            return False
        try:
            json.loads(text.removeprefix("\ufeff"))
        except ValueError:
            return True
        return False

    def entry(self, event: str, launcher: Launcher) -> dict[str, Any]:
        """Return the element that calls us, for the list of the event in the client's settings."""
        handler = self.handler(event, launcher)
        return {"hooks": [handler]} if self.is_grouped else handler


# --- settings with hooks ----------------------------------------------------------------------------------


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

    @property
    def alone(self) -> Any:
        """The element of the event's list with this command only."""
        return self.entry if self.entry is self.handler else {**self.entry, "hooks": [self.handler]}


def read(text: str, name: str) -> JsonNode:
    """Return the settings of a text with hooks.

    Args:
        text: Text of the file.
        name: Name of the file, for the message.

    Raises:
        SettingsError: The text does not parse, or its hooks have another form than the client reads.
    """
    root = parsed(text, name)
    hooks = root.member("hooks")
    if hooks and not is_object(hooks.node.value):
        raise SettingsError(f"{name} is not changed: its `hooks` is no object")
    for event in hooks.node.items if hooks else ():
        # Gemini CLI and Qwen Code keep switches between the events.
        if not is_list(event.node.value) and event.key not in ("enabled", "disabled", "notifications"):
            raise SettingsError(f"{name} is not changed: its `hooks.{event.key}` is no list")
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


def put_back(text: str, taken: Sequence[tuple[str, Any]], *, name: str) -> str:
    """Return the text with hooks and plugins that were taken out; those that are there again are left alone.

    Args:
        text: Text of the file.
        taken: (event, element of its list) of each hook; for a plugin `plugin` and its name.
        name: Name of the file, for messages.

    Raises:
        SettingsError: As `read`.
    """
    there = [(hook.event, hook.alone) for hook in commands(read(text, name))]
    gone = [each for each in taken if is_object(each[1]) and each not in there]
    text = _add(text if text.strip(BLANK) else "{}\n", gone) if gone else text
    for event, entry in taken:
        text = switch_plugin(text, entry, is_on=True) if event == "plugin" else text
    return text


def switch_plugin(text: str, name: str, *, is_on: bool) -> str:
    """Return the text with a plugin of Claude Code on or off; the same where the plugin is not named."""
    plugins = parse(text).member("enabledPlugins")
    item = plugins.node.member(name) if plugins else None
    return text if item is None else replace_value(text, item, is_on)


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
    member = root.member("hooks")
    if member is None:
        return None
    hooks = member.node
    for event in hooks.items:
        for element in event.node.items:
            inner = element.node.member("hooks")
            group = inner.node if inner and is_list(inner.node.value) else None
            handlers = group.items if group else (element,)
            handler = next((each for each in handlers if unwanted(each.node.value)), None)
            if handler is None:
                continue
            if group and len(handlers) > 1:
                return remove_item(text, group, handler)
            if len(event.node.items) > 1 or event.key in keep:
                return remove_item(text, event.node, element)
            if len(hooks.items) > 1 or HOOKS in keep:
                return remove_item(text, hooks, event)
            return remove_item(text, root, member)
    return None


# --- files of any client ----------------------------------------------------------------------------------


_COMMAND = re.compile(r'^const COMMAND = (\["(?:[^"\\\r\n]|\\.)*"(?:, "(?:[^"\\\r\n]|\\.)*")*\])\r?$', re.MULTILINE)
_MODULE_MARK = "// hybrid: "
_TRACE = re.compile(r"hybrid[\s\S]{0,200}?(?:hook\s+(?:run|inject-context)|mcp[\s-]+client)\b|<!-- hybrid:begin")


def may_hold_ours(text: str) -> bool:
    """Return whether a text that cannot be parsed seems to name us: a hook, a server or the mark of an instruction."""
    return bool(_TRACE.search(text.replace('"', "").replace("'", "").replace(",", "")))


def _module(client: Client, launcher: Launcher) -> str:
    """Return the shipped module with the command filled in."""
    template = shipped("hooks", client.module, "hybrid.js").read_text(encoding="utf-8")
    command = json.dumps([*(launcher.program or ("hybrid",))])
    return _COMMAND.sub(lambda _: f"const COMMAND = {command}", template, count=1)


class HookPart(Struct, frozen=True):
    """The hooks of a client as a `Part`.

    Attributes:
        kind: The kind of the part.
        client: The client that runs them.
    """

    kind: ClassVar[Kind] = "hooks"
    client: Client

    @property
    def owner(self) -> str:
        """The name of the client."""
        return self.client.name

    @property
    def files(self) -> Files:
        """The client's files with hooks."""
        return self.client.files

    def with_us(self, text: str, wanted: Wanted, *, name: str) -> str:
        """Return the text with our hooks for the wanted events; unchanged where they are there already.

        Raises:
            SettingsError: The text does not parse, or is a module of someone else.
        """
        client = self.client
        if client.module:
            if text.strip() and not text.startswith(_MODULE_MARK):
                raise SettingsError(f"{name} is not changed: it is a module of someone else")
            return _module(client, wanted.launcher)
        entries = [(event, client.entry(event, wanted.launcher)) for event in wanted.events]
        mine = [(hook.event, hook.entry) for hook in commands(read(text, name)) if is_ours(hook.handler)]
        if sorted(mine, key=_shown) == sorted(entries, key=_shown):
            return text
        text = text if text.strip(BLANK) else "{}\n"
        text = strip_text(text, name=name, keep={HOOKS, *wanted.events})
        for key, value in client.base.items():
            root = parse(text)
            if root.member(key) is None:
                text = append_value(text, root, value, key=key)
        return _add(text, entries)

    def without_us(self, text: str, *, original: str, name: str) -> str:
        """Return the text without our hooks; lists of events in the original stay, be they empty then.

        Raises:
            SettingsError: The text does not parse.
        """
        if self.client.module:
            return "" if text.startswith(_MODULE_MARK) else text
        hooks: object = before_us(original).get("hooks")
        return strip_text(text, name=name, keep={HOOKS, *hooks} if is_object(hooks) else ())

    def found_in(self, text: str, *, name: str) -> list[RegisteredCommand]:
        """Return our commands in the text, in order.

        Raises:
            SettingsError: The text does not parse.
        """
        client = self.client
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

    def outdated(self, text: str, present: list[RegisteredCommand]) -> str:
        """Return the events or tools that an earlier version did not ask for, in words; empty for none."""
        client = self.client
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

    def is_left_empty(self, text: str) -> bool:
        """Return whether a text without us is what a new file of the client would be."""
        client = self.client
        return not text.strip() if client.module else is_bare(text, client.base, ("hooks",))
