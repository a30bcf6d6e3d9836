"""Answers a client of MCP: tools, resources and prompts; every answer comes from the service.

Uses the official `mcp` package; one `Server` serves one client, whose `ToolSession` knows where it works. A question
waits for a service that starts and for a first build of the index, and tells how far that is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import jsonrpc_message_adapter
from msgspec import Struct, field

from hybrid import __version__
from hybrid.base.clients import clients
from hybrid.ipc.start import NoServiceError, exchange, start_service
from hybrid.ipc.wire import WireError
from hybrid.operations.tools import BY_NAME, INSTRUCTIONS, PROMPTS, RECORD, RESOURCES, TOOLS
from hybrid.render.marks import harmless

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server.context import ServerRequestContext

    from hybrid.operations.tools import Tool

    Context = ServerRequestContext[Any, Any]
    Progress = Callable[[float, float | None, str | None], Awaitable[None]]


_ANSWER_S = 60.0
_START_S = 20.0
"""Seconds in which a service must be there that was started now."""
_BUSY_S = 10.0
"""Seconds for which a store or a model in use is waited for."""
_BUILD_S = 20.0
"""Seconds for which a first build is waited for by a client that hears of no progress: many give up after a minute."""
_LONG_BUILD_S = 1800.0
"""The same for a client that hears of progress."""
_AT_ONCE = 4
"""Questions of a session at a time; the others wait, and those of other sessions do not wait for them."""
_LOOK_S = 0.05
_NO_REQUEST = -32600
"""Code of JSON-RPC for what is no request."""
_LOOK_AT_BUILD_S = 0.5


class ToolError(Exception):
    """A question that was not answered; the message is for the agent."""

    def __init__(self, message: str) -> None:
        super().__init__(harmless(message))


class ToolSession(Struct):
    """A session of a client.

    Attributes:
        home: `$HYBRID_HOME`.
        cwd: A directory of the project.
        client: Name of the client; empty until it is known.
        environ: Variables of the client that are meant for hybrid.
        session: Id of the connection, the same as long as the client runs.
        has_asked_roots: The client was asked which folder it works in.
    """

    home: str
    cwd: str
    client: str = ""
    environ: dict[str, str] = {}
    session: str = ""
    has_asked_roots: bool = False
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, "ask"))
    """A question that was cancelled keeps its thread until it is answered: else a client that asks and cancels, again
    and again, would take all connections of the service."""

    async def ask(self, name: str, arguments: dict[str, Any], progress: Progress | None = None) -> str:
        """Return the answer of an operation.

        Args:
            name: Name of the operation.
            arguments: Its arguments.
            progress: Hears of a first build; None when nobody wants to.

        Raises:
            ToolError: There is none; the message says why.
        """
        until_s = time.monotonic()
        limits = {"busy": _BUSY_S, "building": _LONG_BUILD_S if progress else _BUILD_S}
        while True:
            answer = await asyncio.wrap_future(self._threads.submit(self._exchange, name, arguments))
            error = answer.get("error")
            if error is None:
                return answer["text"]
            kind = error["kind"]
            if time.monotonic() - until_s > limits.get(kind, 0.0):
                raise ToolError(_told(error))
            if kind == "building" and progress is not None:
                await progress(*_heard(error.get("progress")))
            await anyio.sleep(_LOOK_AT_BUILD_S if kind == "building" else _LOOK_S)

    def _exchange(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        question = {"cwd": self.cwd, "client": self.client or "mcp", "connection": self.session}
        data = json.dumps(question | {"environ": self.environ, "arguments": arguments}).encode()
        until_s = time.monotonic() + _START_S
        while True:
            try:
                return exchange(self.home, "perform", name.encode(), data, timeout_s=_ANSWER_S)
            except NoServiceError as error:
                if time.monotonic() > until_s:
                    raise ToolError(f"the service of hybrid cannot be reached: {error}") from error
                start_service(self.home, os.environ, cwd=self.cwd)
            except WireError as error:
                raise ToolError(f"the service of hybrid gave no answer: {error}") from error
            time.sleep(_LOOK_S)


def _heard(holder: dict[str, Any] | None) -> tuple[float, float | None, str | None]:
    """Return progress, total and a sentence on a build, from what it says of itself."""
    if not holder:
        return 0.0, 1.0, "the index is going to be built"
    left_s = holder.get("seconds_left")
    rest = f", about {left_s:.0f} s left" if left_s else ""
    files = f" ({holder['done']:,} of {holder['total']:,} files)" if holder.get("total") else ""
    return float(holder.get("share") or 0.0), 1.0, f"building the index: {holder.get('step') or 'begins'}{files}{rest}"


def _told(error: dict[str, Any]) -> str:
    share = (error.get("progress") or dict[str, Any]()).get("share")
    return f"{error['message']}{f' ({share:.0%} done)' if share else ''}"


def build_server(session_of: Callable[[Context], ToolSession]) -> Server[Any]:
    """Return a server.

    Args:
        session_of: Gives the session that a request belongs to.
    """
    handlers = _Handlers(session_of)
    return Server(
        "hybrid",
        version=__version__,
        title="hybrid",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


class _Handlers:
    def __init__(self, session_of: Callable[[Context], ToolSession]) -> None:
        self._session_of = session_of

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        may_write = await anyio.to_thread.run_sync(_may_write, await self._session(ctx))
        return types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS if may_write or not tool.is_writing])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in BY_NAME:
            raise _unknown(f"there is no tool {params.name!r}")
        progress = ctx.session.report_progress if (ctx.meta or {}).get("progress_token") is not None else None
        try:
            session = await self._session(ctx)
            text = await session.ask(params.name, params.arguments or {}, progress)
        except ToolError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    # --- resources ----------------------------------------------------------------------------------------

    async def list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=name, title=title, description=about, mime_type="text/markdown")
                for uri, (name, title, about) in RESOURCES.items()
            ]
        )

    async def list_templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=RECORD,
            name="record",
            title="A record",
            description="A lesson, decision, observation or part of a file by its ref.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        begin = RECORD.partition("{")[0]
        if uri in RESOURCES:
            name, arguments, kind = RESOURCES[uri][0], dict[str, Any](), "text/markdown"
        elif uri.startswith(begin):
            name, arguments, kind = "read", {"ref": unquote(uri[len(begin) :])}, "text/plain"
        else:
            raise _unknown(f"there is no resource {uri}")
        text = await self._text(ctx, name, arguments)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=kind)])

    # --- prompts ------------------------------------------------------------------------------------------

    async def list_prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=name, title=title, description=about) for name, (_, title, about) in PROMPTS.items()
            ]
        )

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name not in PROMPTS:
            raise _unknown(f"there is no prompt {params.name!r}")
        name, _, about = PROMPTS[params.name]
        text = types.TextContent(type="text", text=await self._text(ctx, name, {}))
        return types.GetPromptResult(description=about, messages=[types.PromptMessage(role="user", content=text)])

    async def _text(self, ctx: Context, name: str, arguments: dict[str, Any]) -> str:
        session = await self._session(ctx)
        try:
            return await session.ask(name, arguments)
        except ToolError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    # --- session ------------------------------------------------------------------------------------------

    async def _session(self, ctx: Context) -> ToolSession:
        """Return the session of a request, with the client's name, and its project where it does not start in one."""
        session = self._session_of(ctx)
        if not session.client:
            info = ctx.session.client_params.client_info.name.lower() if ctx.session.client_params else ""
            session.client = next(
                (name for name, each in clients().items() if each.events and info.startswith(name)), ""
            )
        if not session.has_asked_roots and ctx.session.can_send_request:
            session.has_asked_roots = True
            if not await anyio.to_thread.run_sync(_is_in_project, session):
                session.cwd = await _root(ctx) or session.cwd
        return session


def _unknown(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, harmless(message))


async def _root(ctx: Context) -> str:
    """Return the first folder that the client says it works in; empty when it names none."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return ""
    with warnings.catch_warnings():
        # Newer versions of the protocol have no such question; clients of those start in the project.
        warnings.simplefilter("ignore")
        try:
            with anyio.fail_after(5):
                roots = (await ctx.session.list_roots()).roots  # pyright: ignore[reportDeprecated] - see above
        except Exception:  # noqa: BLE001 - a client that cannot answer has no folder to tell
            return ""
    uris = (str(root.uri) for root in roots)
    return next((url2pathname(urlsplit(uri).path) for uri in uris if uri.startswith("file://")), "")


def _is_in_project(session: ToolSession) -> bool:
    from hybrid.project.find import find_project

    return find_project(Path(session.cwd), Path(session.home), Path.home()) is not None


def _may_write(session: ToolSession) -> bool:
    from hybrid.workspace import open_workspace

    environ = session.environ | {"HYBRID_HOME": session.home}
    return open_workspace(Path(session.cwd), environ=environ).config.mcp.write


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.is_writing,
            destructive_hint=False,
            idempotent_hint=not tool.is_writing,
            open_world_hint=False,
        ),
    )


# --- a relay --------------------------------------------------------------------------------------------------


async def serve(
    home: str, hello: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Serve a session until the relay is gone.

    Args:
        home: `$HYBRID_HOME`.
        hello: `cwd`, `session`, `client` and `environ` of the relay.
        reader: Its lines.
        writer: Gets ours.
    """
    session = ToolSession(home, hello["cwd"], hello.get("client", ""), hello.get("environ", {}), hello["session"])
    server = build_server(lambda _ctx: session)
    answers = _Answers(writer)
    async with stdio_server(_Lines(reader, answers), answers) as (received, sent):  # pyright: ignore[reportArgumentType] - it reads lines and writes text, no more
        await server.run(received, sent, server.create_initialization_options())


class _Lines:
    """The messages of a client, as an asynchronous iterator.

    The package drops a line that it cannot read, without a word: who asked would wait for ever.
    """

    def __init__(self, reader: asyncio.StreamReader, answers: _Answers) -> None:
        self._reader = reader
        self._answers = answers

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        while True:
            try:
                line = await self._reader.readline()
            except (ValueError, ConnectionError):  # A line that is too long; the client is gone.
                line = b""
            if not line:
                raise StopAsyncIteration
            text = line.decode("utf-8", "replace")
            if _is_message(text):
                return text
            text, identity = _without_halves(text)
            if _is_message(text):
                return text
            if isinstance(identity, (str, int)):
                error = {"code": _NO_REQUEST, "message": "this is no request of MCP"}
                await self._answers.write(json.dumps({"jsonrpc": "2.0", "id": identity, "error": error}) + "\n")


def _is_message(text: str) -> bool:
    try:
        jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return False
    return True


def _without_halves(text: str) -> tuple[str, object]:
    """Return a line with a question mark for each half of a pair of surrogates, and the id of its request.

    A model that is cut off writes half of an emoji, which the package cannot read. Empty for one in the id, which
    would come back as another one; empty and None for no request.
    """
    try:
        message = json.loads(text)
        identity = message["id"] if "method" in message else None
        is_whole = str(identity).encode("utf-8", "replace").decode() == str(identity)
        return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace").decode() if is_whole else "", identity
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", None


class _Answers:
    """Writes text to a client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()
