"""Chat Completions, as a client: requests as JSON, replies from JSON. Knows the dialects of those who serve it."""

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, ToolCall
from groundup.models.asking.chat_streams import joined
from groundup.models.asking.replies import (
    Count,
    CountedTokens,
    LooseReply,
    OrNothing,
    Parsed,
    ReplyForm,
    Text,
    validated,
)
from groundup.models.asking.sendable import sendable
from groundup.models.settings import ModelProvider

PATH = "/chat/completions"
_KEPT = ("reasoning_details", "extra_content", "provider_specific_fields")
"""What a reply may hold of its thoughts, besides their text, that its endpoint wants back: of a message."""
_KEPT_OF_CALLS = ("extra_content", "provider_specific_fields", "thought_signature")
"""The same of a call."""


def request_document(request: ChatRequest, model: str, provider: ModelProvider) -> dict[str, JsonValue]:
    """Return the JSON of *request*."""
    document: dict[str, JsonValue] = {
        "model": model,
        "messages": [
            message_document(message, provider.reasoning, null_content=provider.null_content)
            for message in sendable(request.messages)
        ],
    }
    if request.tools:
        document["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    settings: dict[str, JsonValue] = {
        "temperature": request.temperature,
        provider.output_limit: request.max_output_tokens,
        "seed": request.seed,
    }
    return document | {name: value for name, value in settings.items() if value is not None} | request.extra


def message_document(
    message: Message, reasoning: str | None = None, *, null_content: bool = True
) -> dict[str, JsonValue]:
    """Return the JSON of one message; thoughts only under the name that the endpoint wants them by."""
    document: dict[str, JsonValue] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        document["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
                **call.original,
            }
            for call in message.tool_calls
        ]
        document["content"] = message.content or (None if null_content else "")
    if message.tool_call_id is not None:
        document["tool_call_id"] = message.tool_call_id
    if reasoning and message.reasoning:
        document[reasoning] = message.reasoning
    kept = dict(message.original)
    if isinstance(parts := kept.pop("content", None), list):
        only_thoughts = all(isinstance(part, dict) and part.get("type") != "text" for part in parts)
        text: list[JsonValue] = [{"type": "text", "text": message.content}] if message.content else []
        document["content"] = [*parts, *text] if only_thoughts else parts
    return document | kept


class _Function(LooseReply):
    name: Text = ""
    arguments: str | dict[str, JsonValue] | list[JsonValue] | float | bool | None = ""


class _Call(LooseReply):
    id: Text = ""
    function: Annotated[_Function, OrNothing] = _Function()


class _Message(LooseReply):
    content: str | list[JsonValue] | None = None
    refusal: str | None = None
    reasoning_content: JsonValue = None
    reasoning: JsonValue = None
    tool_calls: list[dict[str, JsonValue]] | None = None


class _Choice(LooseReply):
    message: _Message
    finish_reason: JsonValue = None


class _InputDetails(LooseReply):
    cached_tokens: Count = None


class _OutputDetails(LooseReply):
    reasoning_tokens: Count = None


class _Usage(LooseReply):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: Annotated[_InputDetails, OrNothing] = _InputDetails()
    completion_tokens_details: Annotated[_OutputDetails, OrNothing] = _OutputDetails()
    prompt_cache_hit_tokens: Count = None


class _Reply(LooseReply):
    model: Text = ""
    choices: list[_Choice] = Field(min_length=1)
    usage: Annotated[_Usage, OrNothing] = _Usage()


def parsed_reply(document: Mapping[str, JsonValue]) -> Parsed:
    """Read a reply. Raises `BrokenReplyError`."""
    told = validated(_Reply, document)
    choice = told.choices[0]
    message = _message(choice.message, _raw_message(document))
    reply = ChatReply(message=message, finish=_finish(choice, message), model=told.model)
    return Parsed(reply=reply, counted=_counted(told.usage, message))


FORM = ReplyForm(parsed_reply, joined, {"stream": True, "stream_options": {"include_usage": True}})


def _raw_message(document: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    choices = document["choices"]
    assert isinstance(choices, list)  # as the form was validated
    assert isinstance(choices[0], dict)
    message = choices[0]["message"]
    assert isinstance(message, dict)
    return message


def _message(told: _Message, raw: Mapping[str, JsonValue]) -> Message:
    content = told.content or ""
    original = {name: raw[name] for name in _KEPT if raw.get(name)}
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        if any(part.get("type") == "thinking" for part in parts):
            original["content"] = [*content]
        texts = [part.get("text") for part in parts if part.get("type", "text") in {"text", "output_text"}]
        content = "".join(text for text in texts if isinstance(text, str))
    thoughts = told.reasoning_content or told.reasoning
    return Message(
        role="assistant",
        content=content or told.refusal or "",
        tool_calls=tuple(_call(call, number) for number, call in enumerate(told.tool_calls or ())),
        reasoning=thoughts if isinstance(thoughts, str) and thoughts else None,
        original=original,
    )


def _call(raw: dict[str, JsonValue], number: int) -> ToolCall:
    told = validated(_Call, raw)
    arguments = told.function.arguments
    if arguments is not None and not isinstance(arguments, str):  # some servers have parsed it already
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        id=told.id or f"call_{number}",
        name=told.function.name,
        arguments=arguments or "",
        original={name: raw[name] for name in _KEPT_OF_CALLS if raw.get(name)},
    )


def _finish(choice: _Choice, message: Message) -> Finish:
    if choice.message.refusal and not choice.message.content:
        return "content_filter"
    match choice.finish_reason:
        case "length":
            return "length"
        case "content_filter":
            return "content_filter"
        case "stop" | "tool_calls" | "function_call" | "eos" | None:  # some say "stop" though tools are called
            return "tool_calls" if message.tool_calls else "stop"
        case _:
            return "tool_calls" if message.tool_calls else "other"


def _counted(told: _Usage, message: Message) -> CountedTokens:
    """Return what is told. Input of no tokens, and words of none, were not counted."""
    cached = told.prompt_tokens_details.cached_tokens
    said = bool(message.content or message.tool_calls)
    return CountedTokens(
        input_tokens=told.prompt_tokens or None,
        output_tokens=None if said and told.completion_tokens == 0 else told.completion_tokens,
        cached_input_tokens=told.prompt_cache_hit_tokens if cached is None else cached,
        reasoning_tokens=told.completion_tokens_details.reasoning_tokens,
    )
