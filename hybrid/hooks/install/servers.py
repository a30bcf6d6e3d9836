"""The entry of our MCP server in a client's settings: a member of a map of servers, in JSON, TOML or YAML.

In JSON the text is changed at the entry alone (`jsonc`), in TOML and YAML by whole lines (`tables`). A server of that
name that is not ours is left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.hooks.install import tables
from hybrid.hooks.install.command import Launcher
from hybrid.hooks.install.jsonc import (
    JsoncError,
    append_value,
    is_list,
    is_object,
    parse,
    remove_item,
    replace_value,
)
from hybrid.hooks.install.parts import RegisteredCommand, SettingsError

if TYPE_CHECKING:
    from hybrid.hooks.install.parts import Files, Kind, Wanted

SERVER = "hybrid"
"""The name of our server in every client."""

Entry = Callable[[Sequence[str]], Mapping[str, Any]]
"""Makes a client's object for a server from the words that start it."""

_OURS = re.compile(r"(?:(?:^|[\s/\\])hybrid(?:\.exe|\.cmd)?|\bhybrid[/\\]entry\.py)\s+mcp\s+--client\s+\w")
_MARK = "\ufeff"
_EMPTY = "\ufeff \t\r\n"


def server_words(launcher: Launcher, client: str) -> tuple[str, ...]:
    """Return the command that starts our server, word by word: clients start it without a shell."""
    return (*(launcher.program or ("hybrid",)), "mcp", "--client", client)


def words_of(entry: object) -> tuple[str, ...]:
    """Return the words that an entry of any client starts its server with; none for another form."""
    if not is_object(entry):
        return ()
    # Zed once kept path and arguments in an object of their own.
    inner: object = entry.get("command")
    source = inner if is_object(inner) else entry
    first: object = source.get("command") or source.get("cmd") or source.get("path")
    rest: object = source.get("args")
    words = [*(first if is_list(first) else [first] if first else []), *(rest if is_list(rest) else [])]
    return tuple(map(str, words))


def is_our_server(entry: object) -> bool:
    """Return whether an entry starts our server, by path or by name."""
    return bool(_OURS.search(" ".join(words_of(entry))))


class ServerPart(Struct, frozen=True):
    """The entry of our server in one client, as a `Part`.

    Attributes:
        owner: The name of the client.
        files: The files of its settings.
        entry: Makes the entry.
        at: The keys that lead to the map of servers, outermost first.
        form: The language of the file: `json` (with comments), `toml` or `yaml`.
        usual: Names of members of the entry that we give a value, which a person may change.
        base: What a new file holds besides.
        stamps: Members that the client itself adds to a file it finds.
        has_own_file: The file is ours alone.
        remark: What the user must do or know besides in the user's scope; empty for nothing.
        project_remark: The same in a project.
    """

    owner: str
    files: Files
    entry: Entry
    at: tuple[str, ...] = ("mcpServers",)
    form: str = "json"
    usual: tuple[str, ...] = ()
    base: Mapping[str, Any] = {}
    stamps: tuple[str, ...] = ()
    has_own_file: bool = False
    remark: str = ""
    project_remark: str = ""

    @property
    def kind(self) -> Kind:
        """See `Part`."""
        return "mcp"

    def with_us(self, text: str, wanted: Wanted, *, name: str) -> str:
        """See `Part`; refuses a server of that name that is not ours, too."""
        entry = dict(self.entry(server_words(wanted.launcher, self.owner)))
        known = self._known(text, name)
        if known is not None and not is_our_server(known):
            raise SettingsError(f"{name} is not changed: there is a server `{SERVER}` that is not ours: rename it")
        if is_object(known):
            # What a client or a person added to our entry, such as the tools that need no question, stays.
            entry = {**known, **entry, **{key: known[key] for key in self.usual if key in known}}
        if known == entry:
            return text
        if self.form != "json":
            return tables.with_entry(text, (*self.at, SERVER), entry, form=self.form, name=name)
        return self._with_json(text, entry)

    def without_us(self, text: str, *, original: str, name: str) -> str:
        """See `Part`; a server of that name that is not ours stays."""
        known = self._known(text, name)
        if known is None or not is_our_server(known):
            return text
        if self.form != "json":
            return tables.without_entry(text, (*self.at, SERVER), original=original, form=self.form, name=name)
        return self._without_json(text, original)

    def found_in(self, text: str, *, name: str) -> list[RegisteredCommand]:
        """See `Part`."""
        known = self._known(text, name) if SERVER in text else None
        if known is None or not is_our_server(known):
            return []
        words = words_of(known)
        return [RegisteredCommand("", " ".join(words), words[0], words[1:])]

    def outdated(self, text: str, present: list[RegisteredCommand]) -> str:
        """See `Part`; what a client or a person added to our entry does not count."""
        known = self._known(text, "")
        program = (present[0].program, *present[0].args)[:-3]
        wanted = self.entry(server_words(Launcher(program), self.owner))
        fixed = {key: value for key, value in wanted.items() if key not in self.usual}
        differs = not is_object(known) or any(known.get(key) != value for key, value in fixed.items())
        return "the entry is not the one of this version" if differs else ""

    def is_left_empty(self, text: str) -> bool:
        """See `Part`."""
        if self.form != "json":
            return not text.strip(_EMPTY)
        try:
            value: object = parse(text).value if text.strip(_EMPTY) else {}
        except JsoncError:
            return False
        is_bare = is_object(value) and not self._members(value) - {*self.base, *self.stamps}
        return is_bare and not _has_comment(text)

    def _members(self, value: Mapping[str, Any]) -> set[str]:
        """Return the names of the members that hold anything, of those on the way to our entry."""
        on_way = {self.at[0], "hooks"}
        return {key for key, part in value.items() if not (key in on_way and part == {})}

    def _known(self, text: str, name: str) -> object:
        """Return the entry of our name in the file; None without one.

        Raises:
            SettingsError: The text does not parse, or something else stands where the servers should.
        """
        value = tables.loads(text, self.form, name) if self.form != "json" else _settings(text, name)
        for key in self.at:
            part: object = value.get(key)
            if part is None:
                return None
            if not is_object(part):
                raise SettingsError(f"{name} is not changed: its `{key}` is no map of servers")
            value = part
        return value.get(SERVER)

    def _with_json(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return a JSON text with the entry; objects on the way to it are made where they are missing."""
        if not text.strip(_EMPTY):
            text = f"{_MARK if text.startswith(_MARK) else ''}{{}}\n"
            for key, value in self.base.items():
                text = append_value(text, parse(text), value, key=key)
        node, rest = parse(text), [*self.at, SERVER]
        while (item := node.member(rest[0])) is not None:
            if len(rest) == 1:
                return replace_value(text, item, dict(entry))
            if item.node.value is None:
                return replace_value(text, item, _nested(rest[1:], entry))
            node, rest = item.node, rest[1:]
        return append_value(text, node, _nested(rest[1:], entry), key=rest[0])

    def _without_json(self, text: str, original: str) -> str:
        """Return a JSON text without the entry, and without the objects that it leaves empty and we made."""
        kept = _depth(original, self.at)
        way = [parse(text)]
        for key in self.at:
            item = way[-1].member(key)
            way.append(item.node if item else way[-1])
        keys = [*self.at, SERVER]
        depth = len(self.at)
        while depth > kept and len(way[depth].items) == 1:
            depth -= 1
        node = way[depth]
        index = max(i for i, item in enumerate(node.items) if item.key == keys[depth])
        return remove_item(text, node, index)


def _settings(text: str, name: str) -> dict[str, Any]:
    """Return the settings of a JSON text; a text without anything counts as `{}`.

    Raises:
        SettingsError: The text does not parse, or is no object.
    """
    value: object = {}
    if text.strip(_EMPTY):
        try:
            # Claude Code keeps megabytes in this file, which our own reader takes seconds for.
            value = json.loads(text.removeprefix(_MARK))
        except (ValueError, RecursionError):
            value = _commented(text, name)
    if not is_object(value):
        raise SettingsError(f"{name} is not changed: it holds no object")
    return value


def _has_comment(text: str) -> bool:
    """Return whether a JSON text has a comment; the address of a schema is none."""
    try:
        json.loads(text.removeprefix(_MARK).strip() or "{}")
    except ValueError:
        return "//" in text or "/*" in text
    return False


def _commented(text: str, name: str) -> object:
    """Return the value of a JSON text with comments.

    Raises:
        SettingsError: The text does not parse.
    """
    try:
        return parse(text).value
    except (JsoncError, RecursionError) as error:
        raise SettingsError(f"{name} is not changed, for it does not parse ({error}): repair it first") from error


def _nested(keys: Sequence[str], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry inside an object for each key."""
    value: dict[str, Any] = dict(entry)
    for key in reversed(keys):
        value = {key: value}
    return value


def _depth(original: str, at: Sequence[str]) -> int:
    """Return how many objects on the way to the servers the text from before us holds."""
    try:
        value: object = parse(original).value
    except JsoncError:
        return 0
    for depth, key in enumerate(at):
        value = value.get(key) if is_object(value) else None
        if not is_object(value):
            return depth
    return len(at)


# --- forms of an entry ------------------------------------------------------------------------------------


def plain(words: Sequence[str]) -> dict[str, Any]:
    """Return the entry that most clients read."""
    return {"command": words[0], "args": list(words[1:])}


def stdio(words: Sequence[str]) -> dict[str, Any]:
    """Return the entry of clients that ask for the transport."""
    return {"type": "stdio", **plain(words)}


def codex(words: Sequence[str]) -> dict[str, Any]:
    """Return the entry of Codex, which else keeps the variable that moves our home from the server."""
    return {**plain(words), "env_vars": ["HYBRID_HOME"]}


def copilot(words: Sequence[str]) -> dict[str, Any]:
    """Return the entry of Copilot CLI, with all tools."""
    return {"type": "local", **plain(words), "tools": ["*"]}


def opencode(words: Sequence[str]) -> dict[str, Any]:
    """Return the entry of OpenCode and its kin: all words in one list."""
    return {"type": "local", "command": list(words), "enabled": True}
