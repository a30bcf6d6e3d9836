"""The four model APIs that coding clients speak: what a request says, and how one short answer is streamed back.

`mock_api` picks the dialect by the path of a request; nothing here knows of sockets or of tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer of the model that is a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """An answer of the model that is one tool call.

    Attributes:
        tool: The tool, as the client offers it.
        arguments: What it is called with; of a tool of the Responses API that takes plain text the `input`.
        namespace: The group of tools that it is offered in; only the Responses API has such groups.
    """

    tool: str
    arguments: Mapping[str, Any]
    namespace: str = ""


Answer = Said | Called


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request.

    Attributes:
        role: As the client wrote it, but `tool` where it brings the result of a tool.
        text: All its texts, joined by line ends.
    """

    role: str
    text: str


class Dialect(Protocol):
    """One API."""

    def messages(self, body: Body) -> list[Message]:
        """The conversation so far, oldest first, without system prompts that stand outside of it."""
        ...

    def stream(self, body: Body, answer: Answer) -> bytes:
        """The answer as server-sent events."""
        ...


def strings_in(value: Any) -> Iterator[str]:
    """Every text anywhere in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in cast("dict[str, Any]", value).values():
            yield from strings_in(part)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from strings_in(part)


def _joined(value: Any) -> str:
    return "\n".join(strings_in(value))


def _events(*events: Body, is_named: bool = False) -> bytes:
    lines: list[str] = []
    for event in events:
        name = f"event: {event['type']}\n" if is_named else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


class Anthropic:
    """`/v1/messages`."""

    def messages(self, body: Body) -> list[Message]:
        """See `Dialect`."""
        return [self._message(message) for message in body["messages"]]

    def _message(self, message: Body) -> Message:
        content = message["content"]
        blocks: list[Body] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        is_tool = any(block["type"] == "tool_result" for block in blocks)
        texts = [_joined(block.get("content") or block.get("text") or "") for block in blocks]
        return Message("tool" if is_tool else message["role"], "\n".join(texts))

    def stream(self, body: Body, answer: Answer) -> bytes:
        """See `Dialect`."""
        # Claude Code joins answers of one id, and the results of their tools.
        number = sum(1 for _ in strings_in(body["messages"]))
        if isinstance(answer, Said):
            block: Body = {"type": "text", "text": ""}
            delta: Body = {"type": "text_delta", "text": answer.text}
            reason = "end_turn"
        else:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": answer.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(dict(answer.arguments))}
            reason = "tool_use"
        message: dict[str, Any] = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
        }
        message |= {"content": [], "stop_reason": None, "stop_sequence": None}
        message["usage"] = {"input_tokens": 100, "output_tokens": 1}
        ending = {"stop_reason": reason, "stop_sequence": None}
        return _events(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
            is_named=True,
        )


class Responses:
    """OpenAI's `/v1/responses`."""

    def messages(self, body: Body) -> list[Message]:
        """See `Dialect`."""
        return [self._message(item) for item in body["input"]]

    def _message(self, item: Body) -> Message:
        kind = item.get("type", "message")
        role = "tool" if kind.endswith("_output") else item.get("role", "assistant")
        return Message(role, _joined(item.get("content") or item.get("output") or ""))

    def stream(self, body: Body, answer: Answer) -> bytes:
        """See `Dialect`."""
        if isinstance(answer, Said):
            text: Body = {"type": "output_text", "text": answer.text, "annotations": []}
            item: Body = {
                "type": "message",
                "id": "item_mock",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        else:
            is_free = ("custom", answer.tool) in {(each["type"], each.get("name")) for each in body.get("tools", [])}
            given = (
                {"input": answer.arguments["input"]} if is_free else {"arguments": json.dumps(dict(answer.arguments))}
            )
            item = {
                "type": "custom_tool_call" if is_free else "function_call",
                "id": "item_mock",
                "call_id": f"call_{len(body['input'])}",
                "name": answer.tool,
                **given,
                **({"namespace": answer.namespace} if answer.namespace else {}),
            }
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 109,
        }
        return _events(
            {"type": "response.created", "response": {"id": "resp_mock"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "resp_mock", "output": [item], "usage": usage}},
            is_named=True,
        )


class ChatCompletions:
    """OpenAI's `/v1/chat/completions`."""

    def messages(self, body: Body) -> list[Message]:
        """See `Dialect`."""
        return [Message(message["role"], _texts(message.get("content"))) for message in body["messages"]]

    def stream(self, body: Body, answer: Answer) -> bytes:
        """See `Dialect`; one JSON document where the client asks for no stream."""
        said: dict[str, Any] = {"role": "assistant", "content": answer.text if isinstance(answer, Said) else None}
        if isinstance(answer, Called):
            function = {"name": answer.tool, "arguments": json.dumps(dict(answer.arguments))}
            said["tool_calls"] = [
                {"index": 0, "id": f"call_{len(body['messages'])}", "type": "function", "function": function}
            ]
        reason = "stop" if isinstance(answer, Said) else "tool_calls"
        usage = {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109}
        base = {"id": "chat_mock", "created": 1, "model": body.get("model", "mock")}
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": reason}
            return json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        base["object"] = "chat.completion.chunk"
        return (
            _events(
                {**base, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
                {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                {**base, "choices": [], "usage": usage},
            )
            + b"data: [DONE]\n\n"
        )


class Gemini:
    """Google's `:streamGenerateContent` and `:generateContent`."""

    def messages(self, body: Body) -> list[Message]:
        """See `Dialect`."""
        return [self._message(content) for content in body.get("contents", [])]

    def _message(self, content: Body) -> Message:
        parts = content.get("parts", [])
        is_tool = any("functionResponse" in part for part in parts)
        return Message("tool" if is_tool else content.get("role", "user"), _joined(parts))

    def stream(self, body: Body, answer: Answer) -> bytes:
        """See `Dialect`."""
        return b"data: " + self.document(answer) + b"\r\n\r\n"

    def document(self, answer: Answer) -> bytes:
        """The answer as one JSON document."""
        if isinstance(answer, Said):
            part: Body = {"text": answer.text}
        else:
            part = {"functionCall": {"name": answer.tool, "args": dict(answer.arguments)}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 9, "totalTokenCount": 109}
        return json.dumps({"candidates": [candidate], "usageMetadata": usage}).encode()


def _texts(content: object) -> str:
    """The texts of a content that is a text or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in cast("list[Body]", content))
    return str(content or "")
