"""The facts about each coding agent: its file in `hooks/clients`, as a typed value.

The parser of events, the answers, the installer, the doctor and the pages read the same values. The process of a hook
reads none of these files: the few words that it needs are made from them into `hybrid.hooks.service`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

import tomli
from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from hybrid.base.errors import HybridError
from hybrid.base.resources import shipped

if TYPE_CHECKING:
    from pathlib import Path

Scope = Literal["user", "project", "local"]

Event = Literal["UserPromptSubmit", "SessionStart", "PostToolUse", "SubagentStart", "PreCompact", "Stop", "SessionEnd"]
"""Our words for the events that we read."""

Field = Literal[
    "name",
    "session_id",
    "agent_id",
    "cwd",
    "prompt",
    "source",
    "tool",
    "tool_use_id",
    "tool_input",
    "tool_response",
    "report",
    "error",
    "message",
    "transcript",
]
"""The fields of an event that clients spell in their own ways; `report` is a field of the result of a subagent."""

ToolKind = Literal["edit", "write", "read", "search", "list", "command", "subagent", "web", "plan", "other"]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a client's file; a key that it does not know is a mistake."""


class Folder(_Table, frozen=True):
    """A folder in which a client keeps the settings of a user.

    Attributes:
        variable: The variable that holds the folder's path, in place of all below; empty without one.
        home: The folder below the user's home.
        mac: The same on macOS; None for as elsewhere.
        windows: The same below `%APPDATA%` on Windows; None for below the home, as elsewhere.
    """

    variable: str = ""
    home: str = ""
    mac: str | None = None
    windows: str | None = None


class PartTable(_Table, frozen=True, kw_only=True):
    """The files of one part of hybrid in a client.

    Attributes:
        files: Scope → the file, below the client's folder (`user`) or below the root of the project. Names that the
            client reads besides follow. A scope that is missing does not exist there.
        folder: The user's folder, where it is not that of the client.
    """

    files: Mapping[Scope, tuple[str, ...]]
    folder: Folder | None = None


class HooksTable(PartTable, frozen=True, kw_only=True):
    """The hooks in a client's settings.

    Attributes:
        entry: The client's object for one command; `hybrid.hooks.install.parts.filled` says what its marks stand for.
        shared_entry: The same in a file of a project, which names no path of this machine; None for `entry`.
        windows_shell: What runs a command line on Windows.
        is_grouped: Handlers stand in groups with a matcher; otherwise in one flat list.
        new_file: What a new file holds besides `hooks`.
        has_own_file: The file of hooks is ours alone, in a folder for such files.
        is_plain: The client reads JSON without comments only, and ignores a whole file that has one.
        module: Name of the folder with a code module in place of settings; empty for settings.
        seen: The client's list of the project hooks that it has seen, below its folder; empty for none.
        approve: What to type into the client to approve the hooks; empty where nothing has to be approved.
    """

    entry: Mapping[str, Any] = {}
    shared_entry: Mapping[str, Any] | None = None
    windows_shell: Literal["cmd", "powershell"] = "cmd"
    is_grouped: bool = True
    new_file: Mapping[str, Any] = {}
    has_own_file: bool = False
    is_plain: bool = False
    module: str = ""
    seen: str = ""
    approve: str = ""


class ServerTable(PartTable, frozen=True, kw_only=True):
    """The entry of our MCP server.

    Attributes:
        entry: The client's object for a server; marks as in an entry of hooks.
        at: The member of the file that maps names to servers.
        form: The form of the file.
        usual: Members of the entry that a person may change.
        remark: What the user must do or know besides; empty for nothing.
        project_remark: The same for a project's file.
    """

    entry: Mapping[str, Any]
    at: str = "mcpServers"
    form: Literal["json", "toml", "yaml"] = "json"
    usual: tuple[str, ...] = ()
    remark: str = ""
    project_remark: str = ""


class RulesTable(PartTable, frozen=True, kw_only=True):
    """Our instruction in the client's rules.

    Attributes:
        about: What the instruction names: our tools, or for a client that reads no MCP our commands.
        head: What a new file holds above the instruction, such as the front matter that a client asks for.
    """

    about: Literal["tools", "commands"] = "tools"
    head: str = ""


class Prompts(_Table, frozen=True):
    """The marks of prompts that a client wraps, or writes itself.

    Attributes:
        injected: Elements in which it hands injected text to its model.
        machine: Beginnings of prompts that it wrote itself, in lower case.
        untyped: More such beginnings, of messages in its transcripts.
    """

    injected: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    untyped: tuple[str, ...] = ()


class TranscriptForm(_Table, frozen=True, kw_only=True):
    """A form of entries in a client's transcripts; a path is made of keys with dots between them.

    Attributes:
        types: Type of an entry → who speaks in it, `agent` or `user`, or the path of what says so.
        text: Paths of the text, which may be in blocks; the first that has some counts.
        id: Paths of the id of the message; several entries may be parts of one.
        skip: Paths that have a value in entries of subagents and of the client itself.
        skip_values: Path → the value that it has in others of those.
    """

    types: Mapping[str, str]
    text: tuple[str, ...]
    id: tuple[str, ...]
    skip: tuple[str, ...] = ()
    skip_values: Mapping[str, str] = {}


class AtTool(_Table, frozen=True, kw_only=True):
    """A client's hooks at the use of a tool, as it was seen to use them.

    Attributes:
        takes: Its words for the events whose answer stands in the next request of the agent that used the tool.
        failed: Its word for the event that tells of a command that failed; empty when none does.
        exit_code: Paths of id and exit code in its transcript's line about a command; empty where the event has it.
        names_agent: The use of a tool by a subagent says whose it is.
    """

    takes: tuple[str, ...] = ()
    failed: str = ""
    exit_code: tuple[str, ...] = ()
    names_agent: bool = True


class Package(_Table, frozen=True, kw_only=True):
    """The package of the version that the tests run.

    Attributes:
        package: The registry's name of it.
        version: The version.
        program: The file to start, below `node_modules` or the virtual environment.
        node: The oldest major version of node that runs it; 0 for a program of its own.
        registry: `npm` or `pypi`.
    """

    package: str
    version: str
    program: str
    node: int = 0
    registry: Literal["npm", "pypi"] = "npm"


class Page(_Table, frozen=True, kw_only=True):
    """The words of the pages about a client.

    Attributes:
        state: What the client itself did with our files, or why it was not run.
        read: The version or the pages that were read, where no package is run.
        first: What to do before the first prompt; a client with hooks has a page of its own that says it.
        shows: How the person sees that something was added.
    """

    state: str
    read: str = ""
    first: str = ""
    shows: str = ""


class Client(_Table, frozen=True, kw_only=True):
    """A coding agent; the defaults are those of an unknown one.

    Attributes:
        name: The client's name for `--client`: the name of its file.
        label: The client's name for people.
        order: Its place in lists.
        mark: The variable that tells that it runs, in the environment of its hooks; empty without one.
        session: The variable in which it names its session to the programs that it starts; empty without one.
        shared_with: The clients that run its hooks too, in the order in which their marks count.
        events: The client's word for an event → ours, of those for which it is to call us, in order.
        other_events: The same of those that are read when it calls us for them, and not registered by default.
        fields: Our word for a field → its words, first the one that counts; with dots, a field of an object.
        tools: Kind of a tool → the names of its tools, in lower case.
        at_tool: Its hooks at the use of a tool; the defaults for a client that was not run with any.
        prompts: What it puts around prompts.
        transcript: The forms of what it writes of a session.
        answer: Where it reads a text: in a nested object, there and at the top level, or alone.
        has_notice: It has a line for the user.
        announces_compaction: It announces an automatic compaction before every request, so that none may follow.
        resumes_bare: A session that it resumes lacks what hooks had added to it.
        remarks: What the user must do or know besides, in any scope.
        project_remark: The same for the `project` scope; empty for nothing.
        folder: Its folder of the user.
        hooks: Its hooks; None for a client without.
        mcp: The entry of our MCP server; None for a client that reads none.
        rules: Our instruction in its rules.
        page: What the pages say besides.
        package: The package that the tests run; None for a client that they do not.
    """

    name: str = ""
    label: str = ""
    order: int = 1_000
    mark: str = ""
    session: str = ""
    shared_with: tuple[str, ...] = ()
    events: Mapping[str, Event] = {}
    other_events: Mapping[str, Event] = {}
    fields: Mapping[Field, tuple[str, ...]] = {}
    tools: Mapping[ToolKind, tuple[str, ...]] = {}
    at_tool: AtTool = AtTool()
    prompts: Prompts = Prompts()
    transcript: tuple[TranscriptForm, ...] = ()
    answer: Literal["nested", "both", "text"] = "nested"
    has_notice: bool = True
    announces_compaction: bool = False
    resumes_bare: bool = False
    remarks: tuple[str, ...] = ()
    project_remark: str = ""
    folder: Folder = Folder()
    hooks: HooksTable | None = None
    mcp: ServerTable | None = None
    rules: RulesTable | None = None
    page: Page | None = None
    package: Package | None = None

    def notes(self, scope: Scope) -> list[str]:
        """Return what the user must do or know besides after an installation in that scope, a sentence each."""
        return [*self.remarks, *([self.project_remark] if scope == "project" and self.project_remark else [])]


UNKNOWN = Client()


@cache
def clients() -> Mapping[str, Client]:
    """Return all clients by name, in the order in which they are shown."""
    found = [read_client(path) for path in shipped("hooks", "clients").glob("*.toml")]
    return {client.name: client for client in sorted(found, key=lambda client: (client.order, client.name))}


def read_client(path: Path) -> Client:
    """Return the client that a file describes.

    Raises:
        HybridError: The file is wrong; the message names the key.
    """
    try:
        return replace(convert(tomli.loads(path.read_text(encoding="utf-8")), Client), name=path.stem)
    except (ValidationError, tomli.TOMLDecodeError) as error:
        raise HybridError(f"{path}: {error}") from error


def value_at(values: object, path: str) -> Any:
    """Return the value of a field, with dots of one in an object in it; None without one."""
    for key in path.split("."):
        values = cast("dict[str, Any]", values).get(key) if isinstance(values, dict) else None
    return values


def session_in(environ: Mapping[str, str]) -> str:
    """Return the session of a client that runs this process, by the first variable of one that is set; else empty."""
    return next(filter(None, (environ.get(client.session) for client in clients().values())), "")


def client_named(name: str) -> Client:
    """Return the client of that name, or the defaults for a name that no file has."""
    return clients().get(name, UNKNOWN)
