"""The entry of our MCP server in a client's settings: a member of a map of servers, in JSON, TOML or YAML.

In JSON the text is changed at the entry alone (`jsonc`), in TOML and YAML by whole lines (`tables`). A server of that
name that is not ours is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from hybrid.hooks.install import tables
from hybrid.hooks.install.jsonc import append_value, is_list, is_object, parse, remove_item, replace_value
from hybrid.hooks.install.parts import (
    BLANK,
    Launcher,
    RegisteredCommand,
    SettingsError,
    before_us,
    is_bare,
    settings_in,
)

if TYPE_CHECKING:
    from hybrid.hooks.install.parts import Files, Kind, Wanted

SERVER = "hybrid"
"""The name of our server in every client."""

Entry = Callable[[Sequence[str]], Mapping[str, Any]]
"""Makes a client's object for a server from the words that start it."""

_OURS = re.compile(r"(?:(?:^|[\s/\\])hybrid(?:\.exe|\.cmd)?|\bhybrid[/\\]entry\.py)\s+mcp\s+--client\s+\w")


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
        kind: The kind of the part.
        owner: The name of the client.
        files: The files of its settings.
        entry: Makes the entry.
        at: The key of the map of servers.
        form: The language of the file: `json` (with comments), `toml` or `yaml`.
        usual: Names of members of the entry that we give a value, which a person may change.
        remark: What the user must do or know besides in the user's scope; empty for nothing.
        project_remark: The same in a project.
    """

    kind: ClassVar[Kind] = "mcp"
    owner: str
    files: Files
    entry: Entry
    at: str = "mcpServers"
    form: str = "json"
    usual: tuple[str, ...] = ()
    remark: str = ""
    project_remark: str = ""

    def with_us(self, text: str, wanted: Wanted, *, name: str) -> str:
        """Return the text with the entry of our server; what a client or a person added to it stays.

        Raises:
            SettingsError: The text does not parse, or there is a server of our name that is not ours.
        """
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
            return tables.with_entry(text, (self.at, SERVER), entry, form=self.form, name=name)
        return self._with_json(text, entry)

    def without_us(self, text: str, *, original: str, name: str) -> str:
        """Return the text without our entry; a map of servers in the original stays, be it empty then.

        Raises:
            SettingsError: The text does not parse.
        """
        known = self._known(text, name)
        if known is None or not is_our_server(known):
            return text
        if self.form != "json":
            return tables.without_entry(text, (self.at, SERVER), original=original, form=self.form, name=name)
        return self._without_json(text, original)

    def found_in(self, text: str, *, name: str) -> list[RegisteredCommand]:
        """Return the command of our server in the text, or nothing.

        Raises:
            SettingsError: The text does not parse.
        """
        known = self._known(text, name) if SERVER in text else None
        if known is None or not is_our_server(known):
            return []
        words = words_of(known)
        return [RegisteredCommand("", " ".join(words), words[0], words[1:])]

    def outdated(self, text: str, present: list[RegisteredCommand]) -> str:
        """Return that the entry is of another version, in words, or nothing; additions to it do not count."""
        known = self._known(text, "")
        program = (present[0].program, *present[0].args)[:-3]
        wanted = self.entry(server_words(Launcher(program), self.owner))
        fixed = {key: value for key, value in wanted.items() if key not in self.usual}
        differs = not is_object(known) or any(known.get(key) != value for key, value in fixed.items())
        return "the entry is not the one of this version" if differs else ""

    def is_left_empty(self, text: str) -> bool:
        """Return whether a text without us is what a new file of the client would be."""
        if self.form != "json":
            return not text.strip(BLANK)
        return is_bare(text, (), (self.at, "hooks"))

    def _known(self, text: str, name: str) -> object:
        """Return the entry of our name in the file; None without one.

        Raises:
            SettingsError: The text does not parse, or something else stands where the servers should.
        """
        settings = tables.loads(text, self.form, name) if self.form != "json" else settings_in(text, name)
        servers: object = settings.get(self.at)
        if servers is None:
            return None
        if not is_object(servers):
            raise SettingsError(f"{name} is not changed: its `{self.at}` is no map of servers")
        return servers.get(SERVER)

    def _with_json(self, text: str, entry: dict[str, Any]) -> str:
        """Return a JSON text with the entry; the map of servers is made where it is missing."""
        text = text if text.strip(BLANK) else "{}\n"
        root = parse(text)
        servers = root.member(self.at)
        if servers is None:
            return append_value(text, root, {SERVER: entry}, key=self.at)
        if servers.node.value is None:
            return replace_value(text, servers, {SERVER: entry})
        known = servers.node.member(SERVER)
        if known is None:
            return append_value(text, servers.node, entry, key=SERVER)
        return replace_value(text, known, entry)

    def _without_json(self, text: str, original: str) -> str:
        """Return a JSON text without the entry, and without the map of servers if this empties it and we made it."""
        root = parse(text)
        servers = root.member(self.at)
        known = servers.node.member(SERVER) if servers else None
        if servers is None or known is None:
            return text
        if len(servers.node.items) == 1 and self.at not in before_us(original):
            return remove_item(text, root, servers)
        return remove_item(text, servers.node, known)


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
