"""OpenAI Responses, as a server: requests from JSON; replies as JSON or as a stream of events.

Nothing is stored: a request that refers to an earlier response is refused, and clients that send whole
conversations are served, which any client can be set to.
"""

import json
import time
from collections.abc import Iterator
from typing import Literal

from pydantic import JsonValue, NonNegativeInt, ValidationError

from groundup.domain.conversations import ChatReply, ChatRequest, Message, Tool, ToolCall
from groundup.models.answering.forms import (
    Asked,
    BadRequestError,
    Document,
    LooseRequest,
    event,
    fresh_id,
    invalid,
    parsed_json,
    pieces,
    refuse_parts,
)

PATH = "/v1/responses"
FREE_TEXT = "input"
"""The argument of a function that stands for a tool which takes free text."""


class _Part(LooseRequest):
    type: str
    text: str = ""
    refusal: str = ""


class _Item(LooseRequest):
    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"
    content: str | list[_Part] | None = None
    call_id: str = ""
    name: str = ""
    namespace: str | None = None
    arguments: str = ""
    input: str = ""
    output: str | list[_Part] | None = None


class _Tool(LooseRequest):
    type: str
    name: str = ""
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None
    tools: list["_Tool"] = []


class _Reasoning(LooseRequest):
    effort: str | None = None


class _Request(LooseRequest):
    model: str = ""
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: JsonValue = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    reasoning: _Reasoning | None = None
    max_output_tokens: NonNegativeInt | None = None
    temperature: float | None = None
    top_p: float | None = None
    stream: bool | None = None


def asked(body: bytes) -> Asked:
    """Read a request. Raises `BadRequestError`."""
    try:
        received = _Request.model_validate(parsed_json(body))
    except ValidationError as error:
        raise invalid(error) from error
    if received.previous_response_id:
        raise BadRequestError("previous_response_id: nothing is stored here; send the whole conversation")
    request = ChatRequest(
        messages=_conversation(received),
        tools=tuple(_tools(received)),
        temperature=received.temperature,
        max_output_tokens=received.max_output_tokens or None,
        extra=_extra(received),
    )
    return Asked(
        request=request,
        model=received.model,
        stream=bool(received.stream),
        free_text=frozenset(name for name, tool, _ in _named(received) if tool.type == "custom"),
        namespaces={name: space for name, _, space in _named(received) if space},
    )


def _named(received: _Request) -> Iterator[tuple[str, _Tool, str | None]]:
    """Yield each tool with the name that the model knows it by, and its namespace: models have no namespaces."""
    for tool in received.tools or ():
        if tool.type == "namespace":
            yield from ((_full_name(tool.name, one.name), one, tool.name) for one in tool.tools)
        else:
            yield tool.name, tool, None


def _full_name(namespace: str | None, name: str) -> str:
    return f"{namespace}__{name}" if namespace else name


def _extra(received: _Request) -> Document:
    extra: Document = {}
    if received.top_p is not None:
        extra["top_p"] = received.top_p
    if received.reasoning is not None and received.reasoning.effort:
        extra["reasoning_effort"] = received.reasoning.effort
    choice = received.tool_choice
    if isinstance(choice, str) and choice != "auto":
        extra["tool_choice"] = choice
    elif isinstance(choice, dict) and "name" in choice:
        extra["tool_choice"] = {"type": "function", "function": {"name": choice["name"]}}
    if received.parallel_tool_calls is False and received.tools:
        extra["parallel_tool_calls"] = False
    return extra


def _tools(received: _Request) -> list[Tool]:
    """Return the tools that a model can be given: those that run at a provider are left out, it is not there."""
    tools: list[Tool] = []
    for name, tool, _ in _named(received):
        if tool.type == "function":
            parameters = tool.parameters or {"type": "object", "properties": {}}
        elif tool.type == "custom":
            parameters = {
                "type": "object",
                "properties": {FREE_TEXT: {"type": "string", "description": "the tool's whole input"}},
                "required": [FREE_TEXT],
            }
        else:
            continue
        tools.append(Tool(name=name, description=tool.description or "", parameters=parameters))
    return tools


def _conversation(received: _Request) -> tuple[Message, ...]:
    """Return the items as messages: thoughts, text and calls of one turn of the assistant are one message."""
    messages: list[Message] = []
    if received.instructions:
        messages.append(Message(role="system", content=received.instructions))
    if isinstance(received.input, str):
        return (*messages, Message(role="user", content=received.input))
    open_turn = False
    for item in received.input:
        message = _message(item)
        if message.role == "assistant" and open_turn:
            messages[-1] = _joined(messages[-1], message)
        else:
            messages.append(message)
        open_turn = message.role == "assistant"
    return tuple(messages)


def _joined(turn: Message, more: Message) -> Message:
    return turn.but(
        content=turn.content + more.content,
        tool_calls=turn.tool_calls + more.tool_calls,
        reasoning=((turn.reasoning or "") + (more.reasoning or "")) or None,
    )


def _message(item: _Item) -> Message:
    match item.type:
        case "message":
            role = "system" if item.role == "developer" else item.role
            return Message(role=role, content=_text(item.content))
        case "function_call":
            return _called(item, item.arguments)
        case "custom_tool_call":
            return _called(item, json.dumps({FREE_TEXT: item.input}, ensure_ascii=False))
        case "function_call_output" | "custom_tool_call_output":
            return Message(role="tool", tool_call_id=item.call_id, content=_text(item.output))
        case "reasoning":
            return Message(role="assistant", reasoning=_text(item.content) or None)
    raise BadRequestError(f"an item of type {item.type!r} cannot be passed on to the model")


def _called(item: _Item, arguments: str) -> Message:
    name = _full_name(item.namespace, item.name)
    return Message(role="assistant", tool_calls=(ToolCall(id=item.call_id, name=name, arguments=arguments),))


def _text(content: str | list[_Part] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    known = ("input_text", "output_text", "text", "refusal", "reasoning_text", "summary_text")
    refuse_parts([part.type for part in content], known)
    return "".join(part.text or part.refusal for part in content)


def reply_document(reply: ChatReply, asked: Asked) -> Document:
    """Return *reply* as one JSON object, which names tools as the client did."""
    return _ended(_head(asked.model), reply, list(_items(reply, asked)))


def _head(model: str) -> Document:
    return {
        "id": fresh_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "model": model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": None,
        "top_p": None,
        "usage": None,
    }


def _ended(head: Document, reply: ChatReply, items: list[Document]) -> Document:
    usage = reply.usage
    received: Document = {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
    why = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reply.finish)
    status: Document = (
        {"status": "incomplete", "incomplete_details": {"reason": why}} if why else {"status": "completed"}
    )
    return head | {"output": [*items], "usage": received} | status


def _items(reply: ChatReply, asked: Asked) -> Iterator[Document]:
    message = reply.message
    if message.reasoning:
        content: Document = {"type": "reasoning_text", "text": message.reasoning}
        yield {"type": "reasoning", "id": fresh_id("rs_"), "summary": [], "content": [content]}
    if message.content or not message.tool_calls:
        yield {
            "type": "message",
            "id": fresh_id("msg_"),
            "status": "completed",
            "role": "assistant",
            "content": [_part(message.content)],
        }
    for call in message.tool_calls:
        yield _call_item(call, asked)


def _part(text: str) -> Document:
    return {"type": "output_text", "text": text, "annotations": []}


def _call_item(call: ToolCall, asked: Asked) -> Document:
    common: Document = {"id": fresh_id("fc_"), "call_id": call.id, "name": call.name, "status": "completed"}
    if space := asked.namespaces.get(call.name):
        common |= {"namespace": space, "name": call.name.removeprefix(f"{space}__")}
    if call.name in asked.free_text:
        return common | {"type": "custom_tool_call", "input": _free(call.arguments)}
    return common | {"type": "function_call", "arguments": call.arguments}


def _free(arguments: str) -> str:
    """Return the text in arguments; a model that forgets the frame around it is understood as well."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    text = value.get(FREE_TEXT) if isinstance(value, dict) else None
    return text if isinstance(text, str) else arguments


def reply_events(reply: ChatReply, asked: Asked) -> Iterator[bytes]:
    """Yield *reply* as a stream of events, numbered in order."""
    for number, document in enumerate(_documents(reply, asked)):
        yield event(str(document["type"]), document | {"sequence_number": number})


def _documents(reply: ChatReply, asked: Asked) -> Iterator[Document]:
    head = _head(asked.model)
    yield {"type": "response.created", "response": head}
    yield {"type": "response.in_progress", "response": head}
    items = list(_items(reply, asked))
    for index, item in enumerate(items):
        place: Document = {"output_index": index, "item_id": item["id"]}
        empty = item | {"status": "in_progress"} | _emptied(item)
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
        yield from _growth(item, place)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    whole = _ended(head, reply, items)
    yield {"type": f"response.{whole['status']}", "response": whole}


def _emptied(item: Document) -> Document:
    return {key: [] if key == "content" else "" for key in ("content", "arguments", "input") if key in item}


def _growth(item: Document, place: Document) -> Iterator[Document]:
    """Yield how an item fills."""
    match item["type"]:
        case "message":
            place = place | {"content_index": 0}
            text = "".join(str(part["text"]) for part in _parts(item))
            yield place | {"type": "response.content_part.added", "part": _part("")}
            for piece in pieces(text):
                yield place | {"type": "response.output_text.delta", "delta": piece, "logprobs": []}
            yield place | {"type": "response.output_text.done", "text": text, "logprobs": []}
            yield place | {"type": "response.content_part.done", "part": _part(text)}
        case "function_call":
            text = str(item["arguments"])
            for piece in pieces(text):
                yield place | {"type": "response.function_call_arguments.delta", "delta": piece}
            yield place | {
                "type": "response.function_call_arguments.done",
                "arguments": text,
                "name": item["name"],
            }
        case "custom_tool_call":
            text = str(item["input"])
            for piece in pieces(text):
                yield place | {"type": "response.custom_tool_call_input.delta", "delta": piece}
            yield place | {"type": "response.custom_tool_call_input.done", "input": text}
        case "reasoning":
            place = place | {"content_index": 0}
            text = "".join(str(part["text"]) for part in _parts(item))
            for piece in pieces(text):
                yield place | {"type": "response.reasoning_text.delta", "delta": piece}
            yield place | {"type": "response.reasoning_text.done", "text": text}


def _parts(item: Document) -> list[Document]:
    content = item["content"]
    assert isinstance(content, list)  # made by _items
    return [part for part in content if isinstance(part, dict)]


def error_event(status: int, message: str) -> bytes:
    """Return an error that comes after a stream has begun."""
    code = "invalid_request_error" if status < 500 else "server_error"
    failed: Document = _head("") | {"status": "failed", "error": {"code": code, "message": message}}
    return event("response.failed", {"type": "response.failed", "sequence_number": 0, "response": failed})
