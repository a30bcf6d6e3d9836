"""A model API on loopback that answers every coding client with one short text or a scripted tool call.

It records the body of every request: what a hook added to the agent's context is looked for there. One server speaks all
dialects, picked by path; whatever else a client asks for gets an empty object.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.clients.dialects import (
    Answer,
    Anthropic,
    Called,
    ChatCompletions,
    Dialect,
    Gemini,
    Message,
    Responses,
    Said,
    strings_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FRAME = re.compile(r"--- hybrid context .*?--- end hybrid context ---", re.DOTALL)

_GEMINI = Gemini()
_DIALECTS: tuple[tuple[str, Dialect], ...] = (
    ("/messages", Anthropic()),
    ("/responses", Responses()),
    ("/chat/completions", ChatCompletions()),
    (":streamGenerateContent", _GEMINI),
    (":generateContent", _GEMINI),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What the model answers to a user's message that holds a text.

    Attributes:
        holds: The text.
        answer: The answer to the message.
        then: Answers to the results of tools that follow it, in order; a function gives one for the request.
        needs_tools: Whether it is for requests alone that offer tools, as all agents' but Aider's do.
    """

    holds: str
    answer: Answer
    then: tuple[Answer | Callable[[Request], Answer], ...] = ()
    needs_tools: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """A recorded request for a completion."""

    path: str
    body: Mapping[str, Any]
    messages: tuple[Message, ...]

    @property
    def frames(self) -> list[str]:
        """Every injection of ours that the model is shown, oldest first."""
        return [frame for text in strings_in(self.body) for frame in FRAME.findall(text)]

    @property
    def has_tools(self) -> bool:
        """The agent itself and its subagents offer tools; titles and summaries of a client do not."""
        return bool(self.body.get("tools"))

    @property
    def newest(self) -> Message:
        """The last message of a user or a tool: what the model now answers."""
        spoken = [message for message in self.messages if message.role in {"user", "tool"}]
        return spoken[-1] if spoken else Message("user", "")

    def says(self, text: str) -> bool:
        """Whether any message holds a text."""
        return any(text in message.text for message in self.messages)


@dataclass
class MockApi:
    """The server; its rules may be set while it runs."""

    rules: tuple[Rule, ...] = ()
    requests: list[Request] = field(default_factory=list)
    other_paths: list[str] = field(default_factory=list)

    def __enter__(self) -> MockApi:
        """Serve on a free port of loopback until the end of the block."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Address without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, request: Request) -> Answer:
        """By the first rule that holds for the newest message of a user; results without an answer get thanks."""
        spoken = [message for message in request.messages if message.role in {"user", "tool"}]
        for rule in self.rules:
            if rule.needs_tools and not request.has_tools:
                continue
            asked = [at for at, message in enumerate(spoken) if message.role == "user" and rule.holds in message.text]
            if not asked:
                continue
            n_results = sum(message.role == "tool" for message in spoken[asked[-1] + 1 :])
            answers = (rule.answer, *rule.then)
            is_newest = n_results > 0 or request.newest is spoken[asked[-1]]
            if is_newest and n_results < len(answers):
                answer = answers[n_results]
                return answer if isinstance(answer, Answer) else answer(request)
        return Said("Understood.")

    def asked(self, text: str) -> list[Request]:
        """The agent's requests so far that hold a text, oldest first."""
        return [request for request in self.requests if request.has_tools and request.says(text)]


def _handler_of(api: MockApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Lists of models and the like."""
            api.other_paths.append(self.path)
            self._send(b'{"object": "list", "data": [], "models": []}')

        def do_POST(self) -> None:
            """A completion, or something harmless."""
            body = json.loads(self._read() or b"{}")
            path = self.path.split("?")[0]
            found = [dialect for end, dialect in _DIALECTS if path.endswith(end)]
            if not found:
                api.other_paths.append(path)
                self._send(b'{"input_tokens": 100, "totalTokens": 100}')
                return
            request = Request(path, body, tuple(found[0].messages(body)))
            api.requests.append(request)
            answer = api.answer(request)
            if path.endswith(":generateContent"):
                self._send(_GEMINI.document(answer))
            else:
                is_stream = found[0] is _GEMINI or bool(body.get("stream"))
                self._send(found[0].stream(body, answer), "text/event-stream" if is_stream else "application/json")

        def _read(self) -> bytes:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            encoding = self.headers.get("Content-Encoding", "")
            return (
                gzip.decompress(data)
                if encoding == "gzip"
                else zlib.decompress(data)
                if encoding == "deflate"
                else data
            )

        def _send(self, data: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden
            """Standard error is the test's."""

    return Handler


__all__ = ["Answer", "Called", "MockApi", "Request", "Rule", "Said"]
