"""OpenAI Responses, as a server: requests from JSON. Replies are in `responses_replies`.

Nothing is stored: a request that refers to an earlier response is refused, and clients that send whole
conversations (all that can be told not to store) are served.
"""

import json
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from groundup.domain.conversations import ChatRequest, Message, Tool, ToolCall
from groundup.models.answering.forms import (
    Asked,
    BadRequestError,
    Document,
    Loose,
    invalid,
    parsed_json,
    refuse_parts,
)

PATH = "/v1/responses"
FREE_TEXT = "input"
"""The argument of a function that stands for a tool which takes free text."""


class _Part(Loose):
    type: str
    text: str = ""
    refusal: str = ""


class _Item(Loose):
    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"
    content: str | list[_Part] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    input: str = ""
    output: str | list[_Part] | None = None


class _Tool(Loose):
    type: str
    name: str = ""
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None


class _Reasoning(Loose):
    effort: str | None = None


class _Request(Loose):
    model: str = ""
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: JsonValue = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    reasoning: _Reasoning | None = None
    max_output_tokens: int | None = Field(default=None)
    temperature: float | None = None
    top_p: float | None = None
    stream: bool | None = None


def asked(body: bytes) -> Asked:
    """Read a request. Raises `BadRequestError`."""
    try:
        told = _Request.model_validate(parsed_json(body))
    except ValidationError as error:
        raise invalid(error) from error
    if told.previous_response_id:
        raise BadRequestError("previous_response_id: nothing is stored here; send the whole conversation")
    request = ChatRequest(
        messages=_conversation(told),
        tools=tuple(_tools(told.tools or [])),
        temperature=told.temperature,
        max_output_tokens=told.max_output_tokens or None,
        extra=_extra(told),
    )
    return Asked(request=request, model=told.model, stream=bool(told.stream), free_text=_free_text(told))


def _free_text(told: _Request) -> frozenset[str]:
    return frozenset(tool.name for tool in told.tools or () if tool.type == "custom")


def _extra(told: _Request) -> Document:
    extra: Document = {}
    if told.top_p is not None:
        extra["top_p"] = told.top_p
    if told.reasoning is not None and told.reasoning.effort:
        extra["reasoning_effort"] = told.reasoning.effort
    choice = told.tool_choice
    if isinstance(choice, str) and choice != "auto":
        extra["tool_choice"] = choice
    elif isinstance(choice, dict) and "name" in choice:
        extra["tool_choice"] = {"type": "function", "function": {"name": choice["name"]}}
    if told.parallel_tool_calls is False and told.tools:
        extra["parallel_tool_calls"] = False
    return extra


def _tools(told: list[_Tool]) -> list[Tool]:
    """Return the tools that a model can be given: those that run at a provider are left out, it is not there."""
    tools: list[Tool] = []
    for tool in told:
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
        tools.append(Tool(name=tool.name, description=tool.description or "", parameters=parameters))
    return tools


def _conversation(told: _Request) -> tuple[Message, ...]:
    """Return the items as messages: thoughts, text and calls of one turn of the assistant are one message."""
    messages: list[Message] = []
    if told.instructions:
        messages.append(Message(role="system", content=told.instructions))
    if isinstance(told.input, str):
        return (*messages, Message(role="user", content=told.input))
    open_turn = False
    for item in told.input:
        message = _message(item)
        if message.role == "assistant" and open_turn:
            messages[-1] = _joined(messages[-1], message)
        else:
            messages.append(message)
        open_turn = message.role == "assistant"
    return tuple(messages)


def _joined(turn: Message, more: Message) -> Message:
    return turn.model_copy(
        update={
            "content": turn.content + more.content,
            "tool_calls": turn.tool_calls + more.tool_calls,
            "reasoning": ((turn.reasoning or "") + (more.reasoning or "")) or None,
        }
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
    return Message(role="assistant", tool_calls=(ToolCall(id=item.call_id, name=item.name, arguments=arguments),))


def _text(content: str | list[_Part] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    known = ("input_text", "output_text", "text", "refusal", "reasoning_text", "summary_text")
    refuse_parts([part.type for part in content], known)
    return "".join(part.text or part.refusal for part in content)
