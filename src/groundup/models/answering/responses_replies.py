"""OpenAI Responses, as a server: replies as JSON or as a stream of events."""

import json
import time
from collections.abc import Collection, Iterator

from groundup.domain.conversations import ChatReply, ToolCall
from groundup.models.answering.forms import Document, event, fresh_id, pieces
from groundup.models.answering.responses import FREE_TEXT


def reply_document(reply: ChatReply, model: str, free_text: Collection[str]) -> Document:
    """Return *reply* as one JSON object; calls of the tools in *free_text* carry text instead of arguments."""
    return _ended(_head(model), reply, list(_items(reply, free_text)))


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
    told: Document = {
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
    return head | {"output": [*items], "usage": told} | status


def _items(reply: ChatReply, free_text: Collection[str]) -> Iterator[Document]:
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
        yield _call_item(call, free_text)


def _part(text: str) -> Document:
    return {"type": "output_text", "text": text, "annotations": []}


def _call_item(call: ToolCall, free_text: Collection[str]) -> Document:
    common: Document = {"id": fresh_id("fc_"), "call_id": call.id, "name": call.name, "status": "completed"}
    if call.name in free_text:
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


def reply_events(reply: ChatReply, model: str, free_text: Collection[str]) -> Iterator[bytes]:
    """Yield *reply* as a stream of events, numbered in order."""
    for number, document in enumerate(_documents(reply, model, free_text)):
        yield event(str(document["type"]), document | {"sequence_number": number})


def _documents(reply: ChatReply, model: str, free_text: Collection[str]) -> Iterator[Document]:
    head = _head(model)
    yield {"type": "response.created", "response": head}
    yield {"type": "response.in_progress", "response": head}
    items = list(_items(reply, free_text))
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
