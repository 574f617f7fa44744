"""Gemini's own form, `generateContent`, as a client: signatures of thoughts go back with their calls."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated
from urllib.parse import quote

from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, ToolCall
from groundup.models.asking.forms import (
    BrokenReplyError,
    Count,
    CountedTokens,
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

Document = dict[str, JsonValue]

_SIGNATURE = "thoughtSignature"
_GENERATION = {"top_p": "topP", "top_k": "topK", "presence_penalty": "presencePenalty"}
_GENERATION |= {"frequency_penalty": "frequencyPenalty"}


def path(model: str) -> str:
    """Return where *model* is asked, below the endpoint's address."""
    return f"/models/{quote(model)}:generateContent"


def request_document(request: ChatRequest) -> Document:
    """Return the JSON of *request*."""
    document: Document = {"contents": _contents(sendable(request.messages))}
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    if system:
        document["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        declared: list[JsonValue] = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in request.tools
        ]
        document["tools"] = [{"functionDeclarations": declared}]
    generation: Document = {}
    if request.temperature is not None:
        generation["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        generation["maxOutputTokens"] = request.max_output_tokens
    if request.seed is not None:
        generation["seed"] = request.seed
    further = _renamed(request.extra, generation)
    if isinstance(given := further.pop("generationConfig", None), dict):
        generation |= given
    return document | ({"generationConfig": generation} if generation else {}) | further


def _renamed(extra: Mapping[str, JsonValue], generation: Document) -> Document:
    """Put keys of Chat Completions where this form has them; return what has no other name here."""
    document = dict(extra)
    for name, here in _GENERATION.items():
        if name in document:
            generation[here] = document.pop(name)
    if (stop := document.pop("stop", None)) is not None:
        generation["stopSequences"] = stop if isinstance(stop, list) else [stop]
    if (effort := document.pop("reasoning_effort", None)) is not None:
        generation["thinkingConfig"] = {"thinkingLevel": effort}
    if isinstance(wanted := document.pop("response_format", None), dict) and wanted.get("type") != "text":
        generation["responseMimeType"] = "application/json"
        if isinstance(described := wanted.get("json_schema"), dict):
            generation["responseJsonSchema"] = described.get("schema")
    document.pop("parallel_tool_calls", None)
    choice = document.pop("tool_choice", None)
    if isinstance(choice, str):
        mode = {"required": "ANY", "none": "NONE"}.get(choice, "AUTO")
        document["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    elif isinstance(choice, dict) and isinstance(function := choice.get("function"), dict):
        only: Document = {"mode": "ANY", "allowedFunctionNames": [function.get("name")]}
        document["toolConfig"] = {"functionCallingConfig": only}
    return document


def _contents(messages: tuple[Message, ...]) -> list[JsonValue]:
    """Return the turns: neighbours of one role become one turn, for roles must alternate."""
    turns: list[tuple[str, list[JsonValue]]] = []
    names: dict[str | None, str] = {}
    for message in messages:
        if message.role == "system":
            continue
        names.update({call.id: call.name for call in message.tool_calls})
        role = "model" if message.role == "assistant" else "user"
        parts = _parts(message, names)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        else:
            turns.append((role, parts))
    return [{"role": role, "parts": parts} for role, parts in turns]


def _parts(message: Message, names: Mapping[str | None, str]) -> list[JsonValue]:
    if message.role == "tool":
        said: Document = {"name": names.get(message.tool_call_id, ""), "response": {"output": message.content}}
        return [{"functionResponse": said}]
    parts: list[JsonValue] = [{"text": message.content}] if message.content.strip() else []
    parts += [{"inlineData": {"mimeType": image.media_type, "data": image.data}} for image in message.images]
    parts += [
        {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}, **call.original}
        for call in message.tool_calls
    ]
    return parts


class _FunctionCall(LooseReply):
    id: Text = ""
    name: Text = ""
    args: JsonValue = None


class _Part(LooseReply):
    text: Text = ""
    thought: JsonValue = None
    functionCall: _FunctionCall | None = None  # noqa: N815 - as the form writes it
    thoughtSignature: JsonValue = None  # noqa: N815


class _Content(LooseReply):
    parts: list[_Part] = []


class _Candidate(LooseReply):
    content: Annotated[_Content, OrNothing] = _Content()
    finishReason: JsonValue = None  # noqa: N815


class _Usage(LooseReply):
    promptTokenCount: Count = None  # noqa: N815
    candidatesTokenCount: Count = None  # noqa: N815
    thoughtsTokenCount: Count = None  # noqa: N815
    cachedContentTokenCount: Count = None  # noqa: N815


class _Reply(LooseReply):
    candidates: list[_Candidate] = []
    promptFeedback: Annotated[dict[str, JsonValue], OrNothing] = {}  # noqa: N815
    usageMetadata: Annotated[_Usage, OrNothing] = _Usage()  # noqa: N815
    modelVersion: Text = ""  # noqa: N815


_FINISH: dict[str, Finish] = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"}
)


def parsed_reply(document: Mapping[str, JsonValue]) -> Parsed:
    """Read a reply. Raises `BrokenReplyError`."""
    received = validated(_Reply, document)
    blocked = received.promptFeedback.get("blockReason")
    if not received.candidates and not blocked:
        raise BrokenReplyError("there is no candidate")
    candidate = received.candidates[0] if received.candidates else _Candidate(finishReason="SAFETY")
    parts = candidate.content.parts
    calls = tuple(_call(part, number) for number, part in enumerate(parts) if part.functionCall is not None)
    message = Message(
        role="assistant",
        content="".join(part.text for part in parts if not part.thought),
        tool_calls=calls,
        reasoning="".join(part.text for part in parts if part.thought) or None,
    )
    reason = str(candidate.finishReason)
    finish = "content_filter" if reason in _FILTERED else _FINISH.get(reason, "other")
    if calls and finish == "stop":
        finish = "tool_calls"
    return Parsed(
        reply=ChatReply(message=message, finish=finish, model=received.modelVersion),
        counted=_counted(received.usageMetadata),
    )


def _call(part: _Part, number: int) -> ToolCall:
    assert part.functionCall is not None
    given = part.functionCall
    arguments = given.args if isinstance(given.args, str) else json.dumps(given.args or {}, ensure_ascii=False)
    original: Document = {_SIGNATURE: part.thoughtSignature} if part.thoughtSignature else {}
    return ToolCall(id=given.id or f"call_{number}", name=given.name, arguments=arguments, original=original)


def _counted(received: _Usage) -> CountedTokens:
    written = received.candidatesTokenCount
    thought = received.thoughtsTokenCount
    return CountedTokens(
        input_tokens=received.promptTokenCount,
        output_tokens=None if written is None and thought is None else (written or 0) + (thought or 0),
        cached_input_tokens=received.cachedContentTokenCount,
        reasoning_tokens=thought,
    )


def joined(events: Iterable[Document]) -> Document:
    """Return the reply that a stream's *events* make. Raises `BrokenReplyError` for a stream that breaks off."""
    reply: Document = {}
    parts: list[JsonValue] = []
    candidate: Document = {}
    ended = False
    for event in events:
        if "error" in event:
            return event
        candidates = event.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        if isinstance(first, dict):
            content = first.get("content")
            more = content.get("parts") if isinstance(content, dict) else None
            parts += more if isinstance(more, list) else []
            candidate |= first
            ended = ended or first.get("finishReason") is not None
        reply |= event
        feedback = event.get("promptFeedback")
        ended = ended or (isinstance(feedback, dict) and bool(feedback.get("blockReason")))
    if not ended:
        raise BrokenReplyError("the stream ends before its reply does")
    if candidate:
        reply["candidates"] = [candidate | {"content": {"role": "model", "parts": parts}}]
    return reply


def _streamed(path: str) -> str:
    return path.replace(":generateContent", ":streamGenerateContent?alt=sse")


def piece(event: Mapping[str, JsonValue]) -> str:
    """Return what an event of a stream adds."""
    candidate = first_of(event.get("candidates"))
    content = candidate.get("content") if isinstance(candidate, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    said = ""
    for part in parts if isinstance(parts, list) else ():
        call = part.get("functionCall") if isinstance(part, dict) else None
        said += texts_at(part, "text") + (json.dumps(call, ensure_ascii=False) if call else "")
    return said


FORM = ReplyForm(parsed_reply, joined, piece, {}, _streamed)
