"""Anthropic Messages, as a client: requests as JSON, replies from JSON.

Native rather than through the provider's compatible endpoint, because only here the input can be marked for its
cache, without which a tool loop pays for its whole conversation again in every turn.
"""

import json
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, TokenUsage, ToolCall
from groundup.models.asking.replies import Parsed, validated

PATH = "/messages"
VERSION = "2023-06-01"
_OUTPUT_TOKENS = 8192
"""Where nobody says how many: the form demands a number."""
_CACHE: dict[str, JsonValue] = {"type": "ephemeral"}

Document = dict[str, JsonValue]


def request_document(request: ChatRequest, model: str) -> Document:
    """Return the JSON of *request*, with everything up to its last message marked for the cache."""
    document: Document = {
        "model": model,
        "max_tokens": request.max_output_tokens or _OUTPUT_TOKENS,
        "messages": _conversation(request.messages),
    }
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    if system:
        document["system"] = [{"type": "text", "text": system, "cache_control": _CACHE}]
    if request.tools:
        document["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
    if request.temperature is not None:
        document["temperature"] = request.temperature
    return document | _renamed(request.extra)


def _renamed(extra: Mapping[str, JsonValue]) -> Document:
    """Return keys of Chat Completions by their names here; what has none stays as it is."""
    document = dict(extra)
    stop = document.pop("stop", None)
    if stop is not None:
        document["stop_sequences"] = stop if isinstance(stop, list) else [stop]
    choice = document.get("tool_choice")
    if isinstance(choice, str):
        document["tool_choice"] = {"type": {"required": "any"}.get(choice, choice)}
    elif isinstance(choice, dict) and isinstance(function := choice.get("function"), dict):
        document["tool_choice"] = {"type": "tool", "name": function.get("name")}
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
        turns[-1][1][-1]["cache_control"] = _CACHE
    return [{"role": role, "content": [*blocks]} for role, blocks in turns]


def _blocks(message: Message) -> list[Document]:
    if message.role == "tool":
        content: list[JsonValue] = [{"type": "text", "text": message.content}] if message.content else []
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}]
    blocks: list[Document] = []
    if message.content.strip():  # a text of blanks is rejected
        blocks.append({"type": "text", "text": message.content.rstrip()})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)}
        for call in message.tool_calls
    ]
    return blocks


def _input(call: ToolCall) -> dict[str, JsonValue]:
    """Return a call's arguments as an object, which is all that the form can say."""
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"unreadable_arguments": call.arguments}


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Block(_Loose):
    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, JsonValue] = {}


class _Usage(_Loose):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Reply(_Loose):
    type: Literal["message"]
    model: str = ""
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage = _Usage()


_FINISH: dict[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def parsed_reply(document: Mapping[str, JsonValue]) -> Parsed:
    """Read a reply. Raises `BrokenReplyError`."""
    told = validated(_Reply, document)
    calls = tuple(
        ToolCall(id=block.id, name=block.name, arguments=json.dumps(block.input, ensure_ascii=False))
        for block in told.content
        if block.type == "tool_use"
    )
    read = told.usage.cache_read_input_tokens or 0
    written = told.usage.cache_creation_input_tokens or 0
    return Parsed(
        reply=ChatReply(
            message=Message(
                role="assistant",
                content="".join(block.text for block in told.content if block.type == "text"),
                tool_calls=calls,
                reasoning="".join(block.thinking for block in told.content) or None,
            ),
            finish=_FINISH.get(told.stop_reason, "other"),
            usage=TokenUsage(
                input_tokens=told.usage.input_tokens + read + written,
                output_tokens=told.usage.output_tokens,
                cached_input_tokens=read,
            ),
            model=told.model,
        ),
        cache_write_tokens=written,
    )
