"""Chat Completions, as a client: requests as JSON, replies from JSON. Knows the dialects of those who serve it."""

import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, TokenUsage, ToolCall
from groundup.models.asking.replies import Parsed, validated
from groundup.models.naming import Provider

PATH = "/chat/completions"


def request_document(request: ChatRequest, model: str, provider: Provider) -> dict[str, JsonValue]:
    """Return the JSON of *request*."""
    document: dict[str, JsonValue] = {
        "model": model,
        "messages": [
            message_document(message, provider.reasoning, null_content=provider.null_content)
            for message in request.messages
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
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        document["content"] = message.content or (None if null_content else "")
    if message.tool_call_id is not None:
        document["tool_call_id"] = message.tool_call_id
    if reasoning and message.reasoning:
        document[reasoning] = message.reasoning
    return document


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Function(_Loose):
    name: str = ""
    arguments: str | dict[str, JsonValue] | None = ""


class _Call(_Loose):
    id: str | None = None
    function: _Function


class _Part(_Loose):
    type: str = "text"
    text: str = ""


class _Message(_Loose):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(_Loose):
    message: _Message
    finish_reason: str | None = None


class _InputDetails(_Loose):
    cached_tokens: int | None = None


class _OutputDetails(_Loose):
    reasoning_tokens: int | None = None


class _Usage(_Loose):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class _Reply(_Loose):
    model: str | None = None
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def parsed_reply(document: Mapping[str, JsonValue]) -> Parsed:
    """Read a reply. Raises `BrokenReplyError`."""
    told = validated(_Reply, document)
    choice = told.choices[0]
    message = _message(choice.message)
    return Parsed(
        reply=ChatReply(
            message=message,
            finish=_finish(choice, message),
            usage=_usage(told.usage),
            model=told.model or "",
        )
    )


def _message(told: _Message) -> Message:
    content = told.content or ""
    if isinstance(content, list):
        content = "".join(part.text for part in content if part.type in {"text", "output_text"})
    return Message(
        role="assistant",
        content=content or told.refusal or "",
        tool_calls=tuple(_call(call, number) for number, call in enumerate(told.tool_calls or ())),
        reasoning=told.reasoning_content or told.reasoning or None,
    )


def _call(told: _Call, number: int) -> ToolCall:
    arguments = told.function.arguments
    if isinstance(arguments, dict):  # some servers have parsed it already
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=told.id or f"call_{number}", name=told.function.name, arguments=arguments or "")


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


def _usage(told: _Usage | None) -> TokenUsage:
    if told is None:
        return TokenUsage()
    cached = (
        told.prompt_tokens_details.cached_tokens if told.prompt_tokens_details else told.prompt_cache_hit_tokens
    )
    thought = told.completion_tokens_details.reasoning_tokens if told.completion_tokens_details else None
    return TokenUsage(
        input_tokens=told.prompt_tokens,
        output_tokens=told.completion_tokens,
        cached_input_tokens=cached or 0,
        reasoning_tokens=thought or 0,
    )
