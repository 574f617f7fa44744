"""Anthropic Messages, as a server: requests from JSON; replies as JSON or as a stream of events."""

import json
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, JsonValue, NonNegativeInt, ValidationError

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, Tool, ToolCall
from groundup.models.answering.forms import (
    Asked,
    Document,
    LooseRequest,
    event,
    fresh_id,
    invalid,
    parsed_json,
    pieces,
    refuse_parts,
)

PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"
PING = event("ping", {"type": "ping"})


class _Block(LooseRequest):
    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, JsonValue] = {}
    tool_use_id: str = ""
    content: "str | list[_Block] | None" = None


class _Message(LooseRequest):
    role: Literal["user", "assistant", "system"]
    content: str | list[_Block]


class _Tool(LooseRequest):
    type: str | None = None
    name: str
    description: str = ""
    input_schema: dict[str, JsonValue] = {"type": "object", "properties": {}}


class _Choice(LooseRequest):
    type: Literal["auto", "any", "tool", "none"]
    name: str = ""
    disable_parallel_tool_use: bool | None = None


class _Request(LooseRequest):
    model: str = ""
    messages: list[_Message] = Field(min_length=1)
    system: str | list[_Block] | None = None
    tools: list[_Tool] | None = None
    tool_choice: _Choice | None = None
    max_tokens: NonNegativeInt | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop_sequences: list[str] | None = None
    stream: bool | None = None


def asked(body: bytes) -> Asked:
    """Read a request. Raises `BadRequestError`."""
    try:
        received = _Request.model_validate(parsed_json(body))
    except ValidationError as error:
        raise invalid(error) from error
    messages = [Message(role="system", content=_text(received.system))] if received.system else []
    for message in received.messages:
        messages += _messages(message)
    request = ChatRequest(
        messages=tuple(messages),
        tools=tuple(
            Tool(name=tool.name, description=tool.description, parameters=tool.input_schema)
            for tool in received.tools or ()
            if tool.type in {None, "custom"}  # the others run at the provider, who is not there
        ),
        temperature=received.temperature,
        max_output_tokens=received.max_tokens or None,
        extra=_extra(received),
    )
    return Asked(request=request, model=received.model, stream=bool(received.stream))


def _extra(received: _Request) -> Document:
    extra: Document = {}
    if received.top_p is not None:
        extra["top_p"] = received.top_p
    if received.stop_sequences:
        extra["stop"] = [*received.stop_sequences]
    if (choice := received.tool_choice) is not None and received.tools:
        named: Document = {"type": "function", "function": {"name": choice.name}}
        extra["tool_choice"] = (
            named if choice.type == "tool" else {"any": "required"}.get(choice.type, choice.type)
        )
        if choice.disable_parallel_tool_use:
            extra["parallel_tool_calls"] = False
    return extra


def _text(content: str | list[_Block] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    refuse_parts([block.type for block in content], ("text",))
    return "\n".join(block.text for block in content)


def _messages(received: _Message) -> list[Message]:
    """Return a turn as messages: results of tools are messages of their own, before what the user says."""
    if isinstance(received.content, str):
        return [Message(role=received.role, content=received.content)]
    known = ("text", "tool_use", "tool_result", "thinking", "redacted_thinking")
    refuse_parts([block.type for block in received.content], known)
    results = [
        Message(role="tool", tool_call_id=block.tool_use_id, content=_text(block.content))
        for block in received.content
        if block.type == "tool_result"
    ]
    calls = tuple(
        ToolCall(id=block.id, name=block.name, arguments=json.dumps(block.input, ensure_ascii=False))
        for block in received.content
        if block.type == "tool_use"
    )
    text = "\n".join(block.text for block in received.content if block.type == "text")
    thoughts = "".join(block.thinking for block in received.content if block.type == "thinking")
    if text or calls or not results:
        results.append(Message(role=received.role, content=text, tool_calls=calls, reasoning=thoughts or None))
    return results


_STOP: dict[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "other": "end_turn",
}


def reply_document(reply: ChatReply, model: str) -> Document:
    """Return *reply* as one JSON object."""
    return _head(model) | {
        "content": [*_blocks(reply)],
        "stop_reason": _STOP[reply.finish],
        "usage": _usage(reply),
    }


def _head(model: str) -> Document:
    return {
        "id": fresh_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(reply: ChatReply) -> Iterator[Document]:
    message = reply.message
    if message.reasoning:
        yield {"type": "thinking", "thinking": message.reasoning, "signature": ""}
    if message.content:
        yield {"type": "text", "text": message.content}
    for call in message.tool_calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)}


def _input(call: ToolCall) -> Document:
    """Return arguments as the object that this form demands; other text goes to the tool as it is."""
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unreadable_arguments": call.arguments}


def _usage(reply: ChatReply) -> Document:
    usage = reply.usage
    return {
        "input_tokens": usage.input_tokens - min(usage.cached_input_tokens, usage.input_tokens),
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cached_input_tokens,
        "cache_creation_input_tokens": 0,
    }


def reply_events(reply: ChatReply, model: str) -> Iterator[bytes]:
    """Yield *reply* as a stream of events."""
    usage = _usage(reply)
    message = _head(model) | {"usage": usage | {"output_tokens": 1}}
    yield event("message_start", {"type": "message_start", "message": message})
    for index, block in enumerate(_blocks(reply)):
        yield from _block_events(index, block)
    delta: Document = {"stop_reason": _STOP[reply.finish], "stop_sequence": None}
    yield event("message_delta", {"type": "message_delta", "delta": delta, "usage": usage})
    yield event("message_stop", {"type": "message_stop"})


def _block_events(index: int, block: Document) -> Iterator[bytes]:
    start: Document
    match block["type"]:
        case "text":
            start, key, kind, text = block | {"text": ""}, "text", "text_delta", str(block["text"])
        case "thinking":
            start, key, kind, text = block | {"thinking": ""}, "thinking", "thinking_delta", str(block["thinking"])
        case _:
            start, key, kind = block | {"input": {}}, "partial_json", "input_json_delta"
            text = json.dumps(block["input"], ensure_ascii=False)
    yield event("content_block_start", {"type": "content_block_start", "index": index, "content_block": start})
    for piece in pieces(text):
        delta: Document = {"type": kind, key: piece}
        yield event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})
    yield event("content_block_stop", {"type": "content_block_stop", "index": index})


_ERRORS = {
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error_document(status: int, message: str) -> Document:
    kind = _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def error_event(status: int, message: str) -> bytes:
    """Return an error that comes after a stream has begun."""
    return event("error", error_document(status, message))
