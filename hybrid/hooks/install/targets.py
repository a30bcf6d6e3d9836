"""The text of a client's file with and without us, be it settings or a code module of our own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.resources import shipped
from hybrid.hooks.install import merge
from hybrid.hooks.install.command import Launcher, command_text, is_ours, program_of
from hybrid.hooks.install.merge import SettingsError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from hybrid.hooks.install.client import Client, Registration

_COMMAND = re.compile(r'^const COMMAND = (\["(?:[^"\\\r\n]|\\.)*"(?:, "(?:[^"\\\r\n]|\\.)*")*\])\r?$', re.MULTILINE)
_MODULE_MARK = "// hybrid: "
_TRACE = re.compile(r"hybrid[\s\S]{0,200}?hook\s+(?:run|inject-context)\b")


class Present(Struct, frozen=True):
    """One command of ours in a file.

    Attributes:
        event: The client's word for it.
        command: All that is run, as one text.
        program: The file or name that is started.
        args: What follows it, when the file keeps that apart.
        matcher: Tools it is for, in the client's words; empty for all.
    """

    event: str
    command: str
    program: str
    args: tuple[str, ...] = ()
    matcher: str = ""


def with_hooks(
    text: str, client: Client, registrations: Sequence[Registration], launcher: Launcher, *, name: str
) -> str:
    """The text with our hooks for these events, and no other of ours.

    Raises:
        SettingsError: The file is not ours to change.
    """
    if client.module:
        if text.strip() and not text.startswith(_MODULE_MARK):
            raise SettingsError(f"{name} is not changed: it is a module of someone else")
        return _module(client, launcher)
    wanted = [(each.event, client.entry(each, launcher)) for each in registrations]
    return merge.install_text(text, wanted, base=dict(client.base), name=name)


def without_hooks(text: str, client: Client, *, keep: Container[str] = (), name: str) -> str:
    """The text without our hooks; empty where that leaves nothing.

    Raises:
        SettingsError: The file does not parse.
    """
    if client.module:
        return "" if text.startswith(_MODULE_MARK) else text
    return merge.strip_text(text, name=name, keep=keep)


def ours_in(text: str, client: Client, *, name: str) -> list[Present]:
    """Our commands, in order.

    Raises:
        SettingsError: The file does not parse.
    """
    if client.module:
        found = _COMMAND.search(text) if text.startswith(_MODULE_MARK) else None
        words: list[str] = json.loads(found.group(1)) if found else []
        line = " ".join([*words, "hook", "run", "--client", client.name])
        return [Present(each.event, line, words[0], tuple(words[1:])) for each in client.registrations if words]
    return [
        Present(
            each.event,
            command_text(each.handler),
            program_of(each.handler),
            tuple(map(str, each.handler.get("args") or ())),
            each.matcher,
        )
        for each in merge.commands(merge.read(text, name))
        if is_ours(each.handler)
    ]


def outdated(text: str, client: Client, present: Sequence[Present]) -> str:
    """What an earlier version registered otherwise than this one does, in words; empty for nothing.

    Args:
        text: Of the file.
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
    missing = [each.event for each in client.registrations if each.event not in known]
    if missing:
        return f"registered for fewer events than now (without {', '.join(missing)})"
    wanted = {each.event: ("", "*", each.matcher) for each in client.registrations}
    narrow = [each for each in present if each.event in wanted and each.matcher not in wanted[each.event]]
    shown = ", ".join(f"{each.event} for {each.matcher}" for each in narrow)
    return f"registered for fewer tools than now ({shown})" if narrow else ""


def may_hold_ours(text: str) -> bool:
    """Return whether a text that cannot be parsed seems to call us."""
    return bool(_TRACE.search(text.replace('"', "").replace(",", "")))


def is_left_empty(text: str, client: Client) -> bool:
    """Return whether a text without us is what a new file of that client would be."""
    return not text.strip() or (not client.module and merge.is_bare(text, {*dict(client.base), *client.stamps}))


def _module(client: Client, launcher: Launcher) -> str:
    """The shipped module with the command filled in."""
    template = shipped("hooks", client.module, "hybrid.js").read_text(encoding="utf-8")
    command = json.dumps([*(launcher.program or ("hybrid",))])
    return _COMMAND.sub(lambda _: f"const COMMAND = {command}", template, count=1)
