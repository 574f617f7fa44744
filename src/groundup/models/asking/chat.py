"""Chat Completions, as a client: requests as JSON, replies from JSON. Knows the dialects of those who serve it."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, ReplyTokens, ToolCall
from groundup.models.asking.forms import (
    BrokenReplyError,
    LooseReply,
    OrNothing,
    Parsed,
    ReplyForm,
    Text,
    first_of,
    sendable,
    texts_at,
    validated,
)
from groundup.models.asking.usage import counted_tokens
from groundup.models.settings import ModelProvider

PATH = "/chat/completions"
_KEPT = ("reasoning_details", "thinking_blocks", "extra_content", "provider_specific_fields")
"""What a reply may hold of its thoughts, besides their text, that its endpoint wants back: of a message."""
_KEPT_OF_CALLS = ("extra_content", "provider_specific_fields", "thought_signature")
"""The same of a call."""


def request_document(request: ChatRequest, model: str, provider: ModelProvider) -> dict[str, JsonValue]:
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
    if message.images:
        shown: list[JsonValue] = [
            {"type": "image_url", "image_url": {"url": image.url}} for image in message.images
        ]
        document["content"] = [{"type": "text", "text": message.content}, *shown]
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
    message: Annotated[_Message | None, BeforeValidator(lambda value: value or None)] = None
    finish_reason: JsonValue = None
    logprobs: JsonValue = None
    token_ids: JsonValue = None
    prompt_token_ids: JsonValue = None


class _Reply(LooseReply):
    model: Text = ""
    choices: list[_Choice] = Field(min_length=1)
    prompt_token_ids: JsonValue = None


def parsed_reply(document: Mapping[str, JsonValue]) -> Parsed:
    """Read a reply. Raises `BrokenReplyError`."""
    received = validated(_Reply, document)
    choice = received.choices[0]
    if choice.message is None and not choice.finish_reason:  # Gemini leaves it out of what its filter stopped
        raise BrokenReplyError("choices.0.message: it is missing")
    message = _message(choice.message or _Message(), _raw_message(document))
    tokens = ReplyTokens(
        prompt_ids=_whole_numbers(choice.prompt_token_ids or received.prompt_token_ids),
        ids=_whole_numbers(choice.token_ids),
        logprobs=_logprobs(choice.logprobs),
    )
    reply = ChatReply(message=message, finish=_finish(choice, message), model=received.model, tokens=tokens)
    return Parsed(reply=reply, counted=counted_tokens(document, message))


def _whole_numbers(found: JsonValue) -> tuple[int, ...]:
    numbers = found if isinstance(found, list) else []
    return tuple(one for one in numbers if isinstance(one, int)) if all(map(_is_int, numbers)) else ()


def _is_int(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _logprobs(found: JsonValue) -> tuple[float, ...]:
    """Return them, if there is one for each token."""
    listed = found.get("content") if isinstance(found, dict) else None
    tokens = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    values = [value for one in tokens if isinstance(value := one.get("logprob"), int | float)]
    return tuple(map(float, values)) if isinstance(listed, list) and len(values) == len(listed) else ()


_GROWING = ("logprobs", "token_ids")
"""Keys of a choice of which a stream sends a part with every event."""
_Document = dict[str, JsonValue]
_NOTHING: tuple[JsonValue, ...] = (None, "")
"""Takes nothing's place: Ollama ends each piece for the reason "", Azure's last one names no model."""
_WHOLE = frozenset({"role", "id", "type", "name", "index", "finish_reason", "format"})
"""Keys whose later values replace earlier ones; all other texts are pieces of one text."""


def joined(events: Iterable[_Document]) -> _Document:
    """Return the reply that a stream's events make. Raises `BrokenReplyError` for a stream that breaks off."""
    whole: _Document = {}
    choice: _Document = {}
    message: _Document = {}
    is_done = False
    for event in events:
        is_done = is_done or not event
        whole |= {name: value for name, value in event.items() if name != "choices" and value not in _NOTHING}
        choices = event.get("choices")
        for piece in choices if isinstance(choices, list) else ():
            if not isinstance(piece, dict) or piece.get("index", 0) != 0:
                continue
            grown = {name: piece.pop(name) for name in _GROWING if piece.get(name) is not None}
            choice |= {name: value for name, value in piece.items() if value not in _NOTHING and name != "delta"}
            _grow(choice, grown)
            delta = piece.get("delta")
            if isinstance(delta, dict):
                _grow(message, delta)
    if whole.get("error") or "error" in (whole.get("object"), whole.get("type")):
        return unread_call(whole) or whole
    if choice.get("finish_reason") is None and not (
        is_done and whole.get("usage")
    ):  # some do not say why they end
        raise BrokenReplyError("the stream ends before its reply does")
    whole["choices"] = [{"message": message, **choice}]
    return whole


def _grow(grown: _Document, delta: _Document) -> None:
    """Add a piece to what is there: texts grow, lists grow by the `index` of their items."""
    for name, value in delta.items():
        before = grown.get(name)
        if value is None:
            grown.setdefault(name, None)
        elif isinstance(value, str) and isinstance(before, str) and name not in _WHOLE:
            grown[name] = before + value
        elif isinstance(value, str) and isinstance(before, str) and not value:
            continue  # a later piece names the call no more
        elif isinstance(value, str) and isinstance(before, list):
            before.append({"type": "text", "text": value})
        elif isinstance(value, dict) and isinstance(before, dict):
            _grow(before, value)
        elif isinstance(value, list):
            items = before if isinstance(before, list) else []
            _grow_list(items, value)
            grown[name] = items
        else:
            grown[name] = dict(value) if isinstance(value, dict) else value


def _grow_list(items: list[JsonValue], pieces: list[JsonValue]) -> None:
    for piece in pieces:
        found = next((item for item in reversed(items) if _continues(item, piece)), None)
        if isinstance(found, dict) and isinstance(piece, dict):
            _grow(found, piece)
        else:
            items.append(dict(piece) if isinstance(piece, dict) else piece)


def _continues(item: JsonValue, piece: JsonValue) -> bool:
    """Whether *piece* is more of *item*; of several that fit, the newest is meant."""
    if not (isinstance(item, dict) and isinstance(piece, dict)):
        return False
    # Some servers give every call the index 0 and an id of its own; others every piece of one call.
    same_id = piece.get("id") in (None, "", item.get("id")) or ("index" in piece and _is_tail(piece))
    index = piece.get("index")
    if index is None or item.get("index") is None:  # some number no calls, or only some pieces of one
        return (
            "function" in piece and "function" in item and same_id and (bool(piece.get("id")) or _is_tail(piece))
        )
    return item["index"] == index and same_id and piece.get("type") in (None, item.get("type"))


def _is_tail(piece: _Document) -> bool:
    """Whether a piece of a call begins none: its function has no name."""
    return "function" in piece and not texts_at(piece["function"], "name")


def piece(event: Mapping[str, JsonValue]) -> str:
    """Return what an event of a stream adds."""
    choice = first_of(event.get("choices"))
    delta = choice.get("delta") if isinstance(choice, dict) else None
    calls = delta.get("tool_calls") if isinstance(delta, dict) else None
    called = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    said = texts_at(delta, "reasoning_content", "reasoning", "content")
    return said + "".join(texts_at(function, "name", "arguments") for function in called)


def unread_call(document: Mapping[str, JsonValue]) -> _Document | None:
    """Return the reply in an error that says only that the model's own call could not be read (Groq)."""
    error = document.get("error")
    said = error.get("failed_generation") if isinstance(error, dict) else None
    if not isinstance(error, dict) or error.get("code") != "tool_use_failed" or not isinstance(said, str):
        return None
    return {"choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]}


FORM = ReplyForm(
    parsed_reply, joined, piece, {"stream": True, "stream_options": {"include_usage": True}}, refused=unread_call
)


def _raw_message(document: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    choices = document["choices"]
    assert isinstance(choices, list)  # as the form was validated
    assert isinstance(choices[0], dict)
    message = choices[0].get("message")
    return message if isinstance(message, dict) else {}


def _message(received: _Message, raw: Mapping[str, JsonValue]) -> Message:
    content = received.content or ""
    original = {name: raw[name] for name in _KEPT if raw.get(name)}
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        if any(part.get("type") == "thinking" for part in parts):
            original["content"] = [*content]
        texts = [part.get("text") for part in parts if part.get("type", "text") in {"text", "output_text"}]
        content = "".join(text for text in texts if isinstance(text, str))
    thoughts = received.reasoning_content or received.reasoning
    return Message(
        role="assistant",
        content=content or received.refusal or "",
        tool_calls=tuple(
            call
            for number, raw_call in enumerate(received.tool_calls or ())
            if (call := _call(raw_call, number)).name or call.arguments  # LM Studio sends calls of nothing
        ),
        reasoning=thoughts if isinstance(thoughts, str) and thoughts else None,
        original=original,
    )


def _call(raw: dict[str, JsonValue], number: int) -> ToolCall:
    received = validated(_Call, raw)
    arguments = received.function.arguments
    if arguments is not None and not isinstance(arguments, str):  # some servers have parsed it already
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        id=received.id or f"call_{number}",
        name=received.function.name,
        arguments=arguments or "",
        original={name: raw[name] for name in _KEPT_OF_CALLS if raw.get(name)},
    )


_FINISHES: dict[str, Finish] = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(
        ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"), "content_filter"
    ),
    **dict.fromkeys(("stop", "tool_calls", "function_call", "eos", "end_turn", ""), "stop"),
}
"""Reasons of OpenAI, Mistral (`model_length`), Gemini (large letters; `content_filter: SAFETY`) and others."""


def _finish(choice: _Choice, message: Message) -> Finish:
    if choice.message is not None and choice.message.refusal and not choice.message.content:
        return "content_filter"
    reason = choice.finish_reason if isinstance(choice.finish_reason, str) else ""
    finish = _FINISHES.get(reason.partition(":")[0].lower(), "other")
    if message.tool_calls and finish in {"stop", "other"}:  # some say "stop" though tools are called
        return "tool_calls"
    return finish
