"""Chat Completions, as a server: requests from JSON; replies as JSON or as a stream of chunks."""

import time
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, JsonValue, NonNegativeInt, ValidationError

from groundup.domain.conversations import ChatReply, ChatRequest, Message, Tool, ToolCall
from groundup.models.answering.forms import (
    Asked,
    Document,
    LooseRequest,
    data,
    fresh_id,
    invalid,
    parsed_json,
    pieces,
    refuse_parts,
)

PATH = "/v1/chat/completions"
PASSED_ON = ("top_p", "stop", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort")
"""Keys that go to the endpoint as they are, if a client sends them."""
DONE = b"data: [DONE]\n\n"


class _Part(LooseRequest):
    type: str
    text: str = ""
    refusal: str = ""


class _Function(LooseRequest):
    name: str
    arguments: str = ""
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None


class _Call(LooseRequest):
    id: str
    function: _Function


class _Message(LooseRequest):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None


class _Tool(LooseRequest):
    type: Literal["function"]
    function: _Function


class _StreamOptions(LooseRequest):
    include_usage: bool = False


class _Request(LooseRequest):
    model: str = ""
    messages: list[_Message] = Field(min_length=1)
    tools: list[_Tool] | None = None
    temperature: float | None = None
    max_tokens: NonNegativeInt | None = None
    max_completion_tokens: NonNegativeInt | None = None
    seed: int | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: int | None = None


def asked(body: bytes) -> Asked:
    """Read a request. Raises `BadRequestError`."""
    document = parsed_json(body)
    try:
        received = _Request.model_validate(document)
    except ValidationError as error:
        raise invalid(error) from error
    request = ChatRequest(
        messages=tuple(_message(message) for message in received.messages),
        tools=tuple(_tool(tool.function) for tool in received.tools or ()),
        temperature=received.temperature,
        max_output_tokens=received.max_completion_tokens or received.max_tokens or None,
        seed=received.seed,
        extra={name: document[name] for name in PASSED_ON if document.get(name) is not None},
    )
    options = received.stream_options
    return Asked(
        request=request,
        model=received.model,
        stream=bool(received.stream),
        stream_usage=options is not None and options.include_usage,
    )


def _message(received: _Message) -> Message:
    content = received.content or ""
    if isinstance(content, list):
        refuse_parts([part.type for part in content], ("text", "refusal", "input_text", "output_text"))
        content = "".join(part.text or part.refusal for part in content)
    role = {"developer": "system", "function": "tool"}.get(received.role, received.role)
    calls = tuple(
        ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments)
        for call in received.tool_calls or ()
    )
    return Message.model_validate(
        {
            "role": role,
            "content": content,
            "tool_calls": calls,
            "tool_call_id": received.tool_call_id,
            "reasoning": received.reasoning_content,
        }
    )


def _tool(received: _Function) -> Tool:
    return Tool(
        name=received.name,
        description=received.description or "",
        parameters=received.parameters or {"type": "object", "properties": {}},
    )


_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "content_filter": "content_filter"}


def reply_document(reply: ChatReply, model: str) -> Document:
    """Return *reply* as one JSON object."""
    message: Document = {"role": "assistant", "content": reply.message.content or None}
    if reply.message.reasoning:
        message["reasoning_content"] = reply.message.reasoning
    if reply.message.tool_calls:
        message["tool_calls"] = [_call(call) for call in reply.message.tool_calls]
    choice: Document = {
        "index": 0,
        "message": message,
        "finish_reason": _FINISH.get(reply.finish, "stop"),
        "logprobs": None,
    }
    return _head("chat.completion", fresh_id("chatcmpl-"), model) | {"choices": [choice], "usage": _usage(reply)}


def _head(kind: str, name: str, model: str) -> Document:
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}


def _call(call: ToolCall) -> Document:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _usage(reply: ChatReply) -> Document:
    usage = reply.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def reply_events(reply: ChatReply, model: str, *, usage: bool) -> Iterator[bytes]:
    """Yield *reply* as a stream of chunks, with a last one for the usage where the client wants it."""
    head = _head("chat.completion.chunk", fresh_id("chatcmpl-"), model)
    for delta in _deltas(reply):
        yield data(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    finish = _FINISH.get(reply.finish, "stop")
    yield data(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        yield data(head | {"choices": [], "usage": _usage(reply)})
    yield DONE


def _deltas(reply: ChatReply) -> Iterator[Document]:
    yield {"role": "assistant", "content": ""}
    for text in pieces(reply.message.reasoning or ""):
        yield {"reasoning_content": text}
    for text in pieces(reply.message.content):
        yield {"content": text}
    for index, call in enumerate(reply.message.tool_calls):
        whole = _call(call)
        yield {"tool_calls": [{"index": index, **whole, "function": {"name": call.name, "arguments": ""}}]}
        for text in pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}


def error_document(status: int, message: str, code: str | None = None) -> Document:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_event(status: int, message: str) -> bytes:
    """Return an error that comes after a stream has begun."""
    return data(error_document(status, message))
