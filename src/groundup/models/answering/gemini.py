"""Gemini's own form, as a server: `generateContent` from JSON; replies as JSON or as a stream of events.

Its calls of tools may have no ids: a result answers the oldest open call of its tool.
"""

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping

from pydantic import Field, JsonValue, NonNegativeInt, ValidationError
from pydantic.alias_generators import to_camel

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, Tool, ToolCall
from groundup.models.answering.forms import (
    Asked,
    BadRequestError,
    Document,
    LooseRequest,
    data,
    fresh_id,
    invalid,
    parsed_json,
    pieces,
)

PATH = re.compile(r"/(?:v1|v1beta|v1alpha)/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)")
STREAM = "streamGenerateContent"
COUNT = "countTokens"


class _Part(LooseRequest, alias_generator=to_camel, populate_by_name=True):
    text: str | None = None
    thought: bool = False
    function_call: dict[str, JsonValue] | None = None
    function_response: dict[str, JsonValue] | None = None
    inline_data: JsonValue = None
    file_data: JsonValue = None


class _Content(LooseRequest):
    role: str = "user"
    parts: list[_Part] = []


class _Function(LooseRequest, alias_generator=to_camel, populate_by_name=True):
    name: str
    description: str = ""
    parameters: dict[str, JsonValue] | None = None
    parameters_json_schema: dict[str, JsonValue] | None = None


class _Tools(LooseRequest, alias_generator=to_camel, populate_by_name=True):
    function_declarations: list[_Function] = []


class _Calling(LooseRequest, alias_generator=to_camel, populate_by_name=True):
    mode: str = "AUTO"
    allowed_function_names: list[str] = []


class _ToolConfig(LooseRequest, alias_generator=to_camel, populate_by_name=True):
    function_calling_config: _Calling = _Calling()


class _Generation(LooseRequest, alias_generator=to_camel, populate_by_name=True):
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: NonNegativeInt | None = None
    stop_sequences: list[str] = []
    seed: int | None = None
    response_mime_type: str | None = None
    response_json_schema: dict[str, JsonValue] | None = None
    response_schema: dict[str, JsonValue] | None = None


class _Request(LooseRequest, alias_generator=to_camel, populate_by_name=True):
    contents: list[_Content] = Field(min_length=1)
    system_instruction: _Content | None = None
    tools: list[_Tools] = []
    tool_config: _ToolConfig = _ToolConfig()
    generation_config: _Generation = _Generation()


def asked(body: bytes, *, model: str = "", stream: bool = False) -> Asked:
    """Read a request. Raises `BadRequestError`."""
    document = parsed_json(body)
    inner = document.get("generateContentRequest")  # of countTokens
    try:
        received = _Request.model_validate(inner if isinstance(inner, dict) else document)
    except ValidationError as error:
        raise invalid(error) from error
    messages: list[Message] = []
    if received.system_instruction:
        messages.append(Message(role="system", content=_text(received.system_instruction)))
    messages += _conversation(received.contents)
    generation = received.generation_config
    request = ChatRequest(
        messages=tuple(messages),
        tools=tuple(_tool(one) for tools in received.tools for one in tools.function_declarations),
        temperature=generation.temperature,
        max_output_tokens=generation.max_output_tokens or None,
        seed=generation.seed,
        extra=_extra(received),
    )
    return Asked(request=request, model=model, stream=stream)


def _tool(declared: _Function) -> Tool:
    schema = declared.parameters_json_schema or _plain(declared.parameters or {})
    assert isinstance(schema, dict)
    return Tool(
        name=declared.name,
        description=declared.description,
        parameters=schema or {"type": "object", "properties": {}},
    )


def _plain(schema: JsonValue) -> JsonValue:
    """Return a schema of this form as JSON Schema: names of types are in lower case there."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value.lower() if name == "type" and isinstance(value, str) else _plain(value)
        for name, value in schema.items()
    }


def _extra(received: _Request) -> Document:
    extra: Document = {}
    generation, calling = received.generation_config, received.tool_config.function_calling_config
    if generation.top_p is not None:
        extra["top_p"] = generation.top_p
    if generation.stop_sequences:
        extra["stop"] = [*generation.stop_sequences]
    schema = generation.response_json_schema or _plain(generation.response_schema or {})
    if schema:
        extra["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    elif generation.response_mime_type == "application/json":
        extra["response_format"] = {"type": "json_object"}
    if any(tools.function_declarations for tools in received.tools):
        if calling.mode == "ANY" and len(calling.allowed_function_names) == 1:
            named: Document = {"name": calling.allowed_function_names[0]}
            extra["tool_choice"] = {"type": "function", "function": named}
        elif calling.mode in ("ANY", "NONE"):
            extra["tool_choice"] = "required" if calling.mode == "ANY" else "none"
    return extra


def _text(content: _Content) -> str:
    return "\n".join(part.text for part in content.parts if part.text and not part.thought)


def _conversation(contents: list[_Content]) -> Iterator[Message]:
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    """Ids of calls that have no result yet, by the tool's name."""
    number = 0
    for content in contents:
        if any(part.inline_data or part.file_data for part in content.parts):
            raise BadRequestError("only text can be passed on to the model; send no files")
        if content.role == "model":
            calls = []
            for part in content.parts:
                if part.function_call is not None:
                    number += 1
                    calls.append(_call(part.function_call, number))
                    waiting[calls[-1].name].append(calls[-1].id)
            thoughts = "".join(part.text or "" for part in content.parts if part.thought)
            yield Message(
                role="assistant", content=_text(content), tool_calls=tuple(calls), reasoning=thoughts or None
            )
            continue
        results = [part.function_response for part in content.parts if part.function_response is not None]
        for result in results:
            yield _result(result, waiting)
        if not results or _text(content):
            yield Message(role="user", content=_text(content))


def _call(given: Mapping[str, JsonValue], number: int) -> ToolCall:
    arguments = given.get("args")
    return ToolCall(
        id=str(given.get("id") or f"call_{number}"),
        name=str(given.get("name") or ""),
        arguments=json.dumps(arguments if isinstance(arguments, dict) else {}, ensure_ascii=False),
    )


def _result(given: Mapping[str, JsonValue], waiting: Mapping[str, deque[str]]) -> Message:
    open_calls = waiting.get(str(given.get("name") or "")) or deque()
    identifier = str(given.get("id") or "")
    if identifier in open_calls:
        open_calls.remove(identifier)
    elif open_calls:
        identifier = open_calls.popleft()
    said = given.get("response")
    if isinstance(said, dict) and len(said) == 1 and isinstance(only := next(iter(said.values())), str):
        return Message(role="tool", content=only, tool_call_id=identifier)
    return Message(role="tool", content=json.dumps(said, ensure_ascii=False), tool_call_id=identifier)


_FINISH: dict[Finish, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
    "other": "OTHER",
}


def reply_document(reply: ChatReply, model: str) -> Document:
    """Return *reply* as one JSON object."""
    parts = list(_parts(reply))
    if reply.message.content:
        parts.insert(1 if reply.message.reasoning else 0, {"text": reply.message.content})
    return _chunk(parts, model, reply)


def reply_events(reply: ChatReply, model: str) -> Iterator[bytes]:
    """Yield *reply* as a stream of events."""
    for piece in pieces(reply.message.content):
        yield data(_chunk([{"text": piece}], model, None))
    yield data(_chunk(list(_parts(reply)), model, reply))


def _parts(reply: ChatReply) -> Iterator[Document]:
    """Yield everything but the text."""
    if reply.message.reasoning:
        yield {"text": reply.message.reasoning, "thought": True}
    for call in reply.message.tool_calls:
        try:
            arguments = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError):
            arguments = None
        given = arguments if isinstance(arguments, dict) else {"unreadable_arguments": call.arguments}
        yield {"functionCall": {"id": call.id, "name": call.name, "args": given}}


def _chunk(parts: list[Document], model: str, ended: ChatReply | None) -> Document:
    candidate: Document = {"content": {"role": "model", "parts": [*parts]}, "index": 0}
    document: Document = {"candidates": [candidate], "modelVersion": model, "responseId": fresh_id("")}
    if ended is not None:
        usage = ended.usage
        candidate["finishReason"] = _FINISH[ended.finish]
        document["usageMetadata"] = {
            "promptTokenCount": usage.input_tokens,
            "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
            "thoughtsTokenCount": usage.reasoning_tokens,
            "cachedContentTokenCount": usage.cached_input_tokens,
            "totalTokenCount": usage.input_tokens + usage.output_tokens,
        }
    return document


_STATUS = {
    401: "UNAUTHENTICATED",
    402: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def error_document(status: int, message: str) -> Document:
    name = _STATUS.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    return {"error": {"code": status, "message": message, "status": name}}


def error_event(status: int, message: str) -> bytes:
    """Return an error that comes after a stream has begun."""
    return data(error_document(status, message))
