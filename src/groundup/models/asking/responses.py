"""OpenAI Responses, as a client: requests as JSON, replies from JSON. Nothing is stored at the endpoint.

A turn's items go back as they came: thoughts are encrypted, and belong to the calls after them.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, ToolCall
from groundup.domain.digests import digest_of
from groundup.models.asking.forms import (
    BrokenReplyError,
    Count,
    CountedTokens,
    LooseReply,
    OrNothing,
    Parsed,
    ReplyForm,
    Text,
    sendable,
    texts_at,
    validated,
)

PATH = "/responses"
_KEPT = "output"
"""The key of `Message.original` under which a turn's items stand."""
_ENCRYPTED = "reasoning.encrypted_content"

Document = dict[str, JsonValue]


def request_document(request: ChatRequest, model: str) -> Document:
    """Return the JSON of *request*."""
    document: Document = {
        "model": model,
        "input": [item for message in sendable(request.messages) for item in _items(message)],
        "store": False,
        "include": [_ENCRYPTED],
        # Requests with the same beginning go to where that is cached.
        "prompt_cache_key": digest_of(request.messages[:2]).rpartition(":")[2][:32],
    }
    if request.tools:
        document["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.temperature is not None:
        document["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        document["max_output_tokens"] = request.max_output_tokens
    return document | _renamed(request.extra)


def _renamed(extra: Mapping[str, JsonValue]) -> Document:
    """Return keys of Chat Completions by their names here; what has none stays as it is."""
    document = dict(extra)
    if (effort := document.pop("reasoning_effort", None)) is not None:
        document["reasoning"] = {"effort": effort}
    if isinstance(wanted := document.pop("response_format", None), dict):
        described = wanted.get("json_schema")
        document["text"] = {
            "format": {"type": wanted.get("type")} | (described if isinstance(described, dict) else {})
        }
    choice = document.get("tool_choice")
    if isinstance(choice, dict) and isinstance(function := choice.get("function"), dict):
        document["tool_choice"] = {"type": "function", "name": function.get("name")}
    return document


def _items(message: Message) -> list[JsonValue]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}]
    if message.role != "assistant":
        shown: list[JsonValue] = [{"type": "input_image", "image_url": image.url} for image in message.images]
        return [{"role": message.role, "content": [{"type": "input_text", "text": message.content}, *shown]}]
    kept = message.original.get(_KEPT)
    if isinstance(kept, list) and _says_the_same(kept, message):
        return [*kept]
    text: list[JsonValue] = [{"type": "output_text", "text": message.content, "annotations": []}]
    items: list[JsonValue] = [{"role": "assistant", "content": text}] if message.content.strip() else []
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return items


def _says_the_same(kept: list[JsonValue], message: Message) -> bool:
    """Whether a turn's items as they came are still what its message says: it may have been mended or cut."""
    calls = [item for item in kept if isinstance(item, dict) and item.get("type") == "function_call"]
    same = [(call.get("call_id"), call.get("name"), call.get("arguments")) for call in calls]
    return (
        same == [(call.id, call.name, call.arguments) for call in message.tool_calls]
        and _text(kept) == message.content
    )


class _Details(LooseReply):
    cached_tokens: Count = None
    reasoning_tokens: Count = None


class _Usage(LooseReply):
    input_tokens: Count = None
    output_tokens: Count = None
    input_tokens_details: Annotated[_Details, OrNothing] = _Details()
    output_tokens_details: Annotated[_Details, OrNothing] = _Details()


class _Reply(LooseReply):
    model: Text = ""
    output: list[dict[str, JsonValue]]
    status: JsonValue = None
    incomplete_details: Annotated[dict[str, JsonValue], OrNothing] = {}
    usage: Annotated[_Usage, OrNothing] = _Usage()


class _Call(LooseReply):
    call_id: Text = ""
    name: Text = ""
    arguments: Text = ""


def parsed_reply(document: Mapping[str, JsonValue]) -> Parsed:
    """Read a reply. Raises `BrokenReplyError`."""
    received = validated(_Reply, document)
    if received.status in ("in_progress", "queued"):
        raise BrokenReplyError(f"it is not there yet ({received.status})")
    items = [*received.output]
    called = [validated(_Call, item) for item in items if item.get("type") == "function_call"]
    calls = tuple(
        ToolCall(id=call.call_id or f"call_{number}", name=call.name, arguments=call.arguments)
        for number, call in enumerate(called)
    )
    thinks = any(item.get("type") == "reasoning" for item in items)
    message = Message(
        role="assistant",
        content=_text([*items]),
        tool_calls=calls,
        reasoning=_thoughts(items) or None,
        original={_KEPT: [*items]} if thinks else {},
    )
    usage = received.usage
    speaks = bool(message.content or calls)
    counted = CountedTokens(
        input_tokens=usage.input_tokens or None,
        output_tokens=None if speaks and usage.output_tokens == 0 else usage.output_tokens,
        cached_input_tokens=usage.input_tokens_details.cached_tokens,
        reasoning_tokens=usage.output_tokens_details.reasoning_tokens,
    )
    reply = ChatReply(message=message, finish=_finish(received, message), model=received.model)
    return Parsed(reply=reply, counted=counted)


def _finish(received: _Reply, message: Message) -> Finish:
    why = received.incomplete_details.get("reason")
    if why == "max_output_tokens":
        return "length"
    if why == "content_filter" or _refused(received.output):
        return "content_filter"
    if received.status == "incomplete":
        return "other"
    return "tool_calls" if message.tool_calls else "stop"


def _refused(items: list[dict[str, JsonValue]]) -> bool:
    parts = [part for item in items if item.get("type") == "message" for part in _parts(item, "content")]
    return bool(parts) and all(part.get("type") == "refusal" for part in parts)


def _text(items: list[JsonValue]) -> str:
    said = [item for item in items if isinstance(item, dict) and item.get("type") == "message"]
    return "".join(texts_at(part, "text", "refusal") for item in said for part in _parts(item, "content"))


def _thoughts(items: list[dict[str, JsonValue]]) -> str:
    thought = [item for item in items if item.get("type") == "reasoning"]
    return "".join(
        texts_at(part, "text") for item in thought for key in ("summary", "content") for part in _parts(item, key)
    )


def _parts(item: Mapping[str, JsonValue], key: str) -> list[dict[str, JsonValue]]:
    found = item.get(key)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def joined(events: Iterable[Document]) -> Document:
    """Return the reply that a stream's *events* make. Raises `BrokenReplyError` for a stream that breaks off."""
    items: list[JsonValue] = []
    for event in events:
        response = event.get("response")
        match event.get("type"):
            case "error":
                return event if event.get("error") else {"error": event}
            case "response.output_item.done" if isinstance(item := event.get("item"), dict):
                items.append(item)
            case "response.failed" if isinstance(response, dict):
                return response if response.get("error") else {"error": response}
            case "response.completed" | "response.incomplete" if isinstance(response, dict):
                return response if response.get("output") else response | {"output": items}
    raise BrokenReplyError("the stream ends before its reply does")


def piece(event: Mapping[str, JsonValue]) -> str:
    return texts_at(dict(event), "delta")


FORM = ReplyForm(parsed_reply, joined, piece, {"stream": True})
