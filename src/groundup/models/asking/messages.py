"""Anthropic Messages, as a client: requests as JSON, replies from JSON.

Native rather than through the provider's compatible endpoint, because only here the input can be marked for its
cache, without which a tool loop pays for its whole conversation again in every turn.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, ToolCall
from groundup.models.asking.forms import (
    UNREADABLE,
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

PATH = "/messages"
VERSION = "2023-06-01"
_OUTPUT_TOKENS = 8192
"""The limit on output where none is set: the form demands a number."""
_CACHE: dict[str, JsonValue] = {"type": "ephemeral"}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})

Document = dict[str, JsonValue]


def request_document(request: ChatRequest, model: str) -> Document:
    """Return the JSON of *request*, with everything up to its last message marked for the cache."""
    document: Document = {
        "model": model,
        "max_tokens": request.max_output_tokens or _OUTPUT_TOKENS,
        "messages": _conversation(sendable(request.messages)),
    }
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    if system:
        document["system"] = [{"type": "text", "text": system, "cache_control": _CACHE}]
    if request.tools:
        document["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
    if request.temperature is not None and "reasoning_effort" not in request.extra:  # who thinks refuses it
        document["temperature"] = request.temperature
    return document | _renamed(request.extra)


def _renamed(extra: Mapping[str, JsonValue]) -> Document:
    """Return keys of Chat Completions by their names here; what has none stays as it is."""
    document = dict(extra)
    effort = document.pop("reasoning_effort", None)
    if effort is not None:
        document.setdefault("thinking", {"type": "disabled" if effort == "none" else "adaptive"})
    if effort not in (None, "none"):
        document.setdefault("output_config", {"effort": effort})
    stop = document.pop("stop", None)
    if stop is not None:
        document["stop_sequences"] = stop if isinstance(stop, list) else [stop]
    choice = document.get("tool_choice")
    if isinstance(choice, str):
        document["tool_choice"] = {"type": {"required": "any"}.get(choice, choice)}
    elif isinstance(choice, dict) and isinstance(function := choice.get("function"), dict):
        document["tool_choice"] = {"type": "tool", "name": function.get("name")}
    if document.pop("parallel_tool_calls", None) is False:
        chosen = document.get("tool_choice", {"type": "auto"})
        if isinstance(chosen, dict) and chosen.get("type") != "none":
            document["tool_choice"] = {**chosen, "disable_parallel_tool_use": True}
    return document


def _conversation(messages: tuple[Message, ...]) -> list[JsonValue]:
    """Return the turns: neighbours of one role become one turn, for roles must alternate."""
    turns: list[tuple[str, list[Document]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    if turns:
        last = turns[-1][1][-1]
        if last["type"] not in _THOUGHTS:  # those go back as they came
            last["cache_control"] = _CACHE
    return [{"role": role, "content": [*blocks]} for role, blocks in turns]


def _blocks(message: Message) -> list[Document]:
    if message.role == "tool":
        content: list[JsonValue] = [{"type": "text", "text": message.content}] if message.content else []
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}]
    received = message.original.get("content")
    blocks = [dict(block) for block in received if isinstance(block, dict)] if isinstance(received, list) else []
    if any(block.get("type") not in _THOUGHTS for block in blocks):  # the whole turn, as it came
        return [block for block in blocks if block.get("type") != "text" or str(block.get("text")).strip()]
    if message.content.strip():  # a text of blanks is rejected
        blocks.append({"type": "text", "text": message.content.rstrip()})
    for image in message.images:
        source: Document = {"type": "base64", "media_type": image.media_type, "data": image.data}
        blocks.append({"type": "image", "source": source})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in message.tool_calls
    ]
    return blocks


class _Block(LooseReply):
    type: Text
    text: Text = ""
    thinking: Text = ""
    id: Text = ""
    name: Text = ""
    input: JsonValue = None


class _Usage(LooseReply):
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None


class _Reply(LooseReply):
    type: Literal["message"]
    model: Text = ""
    content: list[_Block]
    stop_reason: JsonValue = None
    usage: Annotated[_Usage, OrNothing] = _Usage()


_FINISH: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def parsed_reply(document: Mapping[str, JsonValue]) -> Parsed:
    """Read a reply. Raises `BrokenReplyError`."""
    received = validated(_Reply, document)
    calls = tuple(
        ToolCall(id=block.id, name=block.name, arguments=json.dumps(block.input or {}, ensure_ascii=False))
        for block in received.content
        if block.type == "tool_use"
    )
    thinks = any(block.type in _THOUGHTS for block in received.content)
    message = Message(
        role="assistant",
        content="".join(block.text for block in received.content if block.type == "text"),
        tool_calls=calls,
        reasoning="".join(block.thinking for block in received.content) or None,
        original={"content": document["content"]} if thinks else {},
    )
    finish = _FINISH.get(str(received.stop_reason), "other")
    return Parsed(
        reply=ChatReply(message=message, finish=finish, model=received.model),
        counted=_counted(received.usage, message),
    )


def _counted(received: _Usage, message: Message) -> CountedTokens:
    """Return the counts; of the input, what was read from the cache and what was written to it."""
    parts = (received.input_tokens, received.cache_read_input_tokens, received.cache_creation_input_tokens)
    speaks = bool(message.content or message.tool_calls)
    return CountedTokens(
        input_tokens=sum(part or 0 for part in parts) or None,
        output_tokens=None if speaks and received.output_tokens == 0 else received.output_tokens,
        cached_input_tokens=received.cache_read_input_tokens,
        cache_write_tokens=received.cache_creation_input_tokens,
    )


def joined(events: Iterable[Document]) -> Document:
    """Return the reply that a stream's *events* make. Raises `BrokenReplyError` for a stream that breaks off."""
    reply: Document = {}
    blocks: list[Document] = []
    ended = False
    for event in events:
        match event.get("type"):
            case "message_start" if isinstance(message := event.get("message"), dict):
                reply |= message
            case "content_block_start" if isinstance(block := event.get("content_block"), dict):
                blocks.append(dict(block))
            case "content_block_delta" if isinstance(delta := event.get("delta"), dict) and blocks:
                _grow(blocks[-1], delta)
            case "message_delta":
                _end(reply, event)
            case "message_stop":
                ended = True
            case "error":
                return event
    if not ended and reply.get("stop_reason") is None:
        raise BrokenReplyError("the stream ends before its reply does")
    reply["content"] = [_closed(block) for block in blocks]
    return reply


def _end(reply: Document, event: Document) -> None:
    """Add why a reply ended, and the usage that is known by then."""
    delta, usage, before = event.get("delta"), event.get("usage"), reply.get("usage")
    reply |= delta if isinstance(delta, dict) else {}
    if isinstance(usage, dict):
        known: Document = dict(before) if isinstance(before, dict) else {}
        known.update({name: value for name, value in usage.items() if value is not None})
        reply["usage"] = known


def _grow(block: Document, delta: Document) -> None:
    for name, key in (("text", "text"), ("thinking", "thinking"), ("partial_json", "partial_json")):
        if isinstance(piece := delta.get(name), str):
            block[key] = str(block.get(key) or "") + piece
    if isinstance(signature := delta.get("signature"), str):
        block["signature"] = signature


def _closed(block: Document) -> Document:
    """Return a block whose input, if it came in pieces of JSON, is an object."""
    if not isinstance(text := block.pop("partial_json", None), str):
        return block
    try:
        block["input"] = json.loads(text or "{}")
    except (ValueError, RecursionError):
        block["input"] = {UNREADABLE: text}
    return block


def piece(event: Mapping[str, JsonValue]) -> str:
    return texts_at(event.get("delta"), "text", "thinking", "partial_json")


FORM = ReplyForm(parsed_reply, joined, piece, {"stream": True})
