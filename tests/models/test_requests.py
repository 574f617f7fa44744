"""What programs may ask the gateway in each form, and what of it the model is asked."""

import json
from typing import Any

import pytest

from groundup.domain.conversations import ChatRequest, Message, Tool, ToolCall
from groundup.models.answering import chat, gemini, messages, responses
from groundup.models.answering.forms import Asked, BadRequestError, parsed_json

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
COMMAND: dict[str, Any] = {"type": "object", "properties": {"command": {"type": "string"}}}
CALL = ToolCall(id="c1", name="bash", arguments='{"command": "écho"}')
TALK = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="hi\nthere"),
    Message(role="assistant", content="Hm.", reasoning="Files.", tool_calls=(CALL,)),
    Message(role="tool", content="done", tool_call_id="c1"),
)
BASH = Tool(name="bash", description="run", parameters=COMMAND)
BARE = Tool(name="bare", description="", parameters=EMPTY)
TEXT_TOOL = Tool(
    name="patch",
    description="",
    parameters={
        "type": "object",
        "properties": {"input": {"type": "string", "description": "the tool's whole input"}},
        "required": ["input"],
    },
)
NAMED: dict[str, Any] = {"type": "function", "function": {"name": "bash"}}


def read(form: str, document: dict[str, Any]) -> Asked:
    """Return what a request asks."""
    body = json.dumps(document).encode()
    match form:
        case "gemini":
            return gemini.asked(body, model="m")
        case "messages":
            return messages.asked(body)
        case "responses":
            return responses.asked(body)
    return chat.asked(body)


WHOLE: dict[str, tuple[dict[str, Any], Asked]] = {
    "chat": (
        {
            "model": "m",
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "hi\n"}, {"type": "text", "text": "there"}]},
                {
                    "role": "assistant",
                    "content": [{"type": "refusal", "refusal": "Hm."}],
                    "reasoning_content": "Files.",
                    "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": CALL.arguments}}],
                },
                {"role": "function", "content": "done", "tool_call_id": "c1"},
            ],
            "tools": [
                {"type": "function", "function": {"name": "bash", "description": "run", "parameters": COMMAND}},
                {"type": "function", "function": {"name": "bare"}},
            ],
            "temperature": 0,
            "max_tokens": 7,
            "max_completion_tokens": 9,
            "seed": 0,
            "top_p": 0,
            "stop": None,
            "parallel_tool_calls": False,
            "logit_bias": {},
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        Asked(
            request=ChatRequest(
                messages=TALK,
                tools=(BASH, BARE),
                temperature=0.0,
                max_output_tokens=9,
                seed=0,
                extra={"top_p": 0, "parallel_tool_calls": False},
            ),
            model="m",
            stream=True,
            stream_usage=True,
        ),
    ),
    "messages": (
        {
            "model": "m",
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "there"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Files."},
                        {"type": "redacted_thinking"},
                        {"type": "text", "text": "Hm."},
                        {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "écho"}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
            ],
            "tools": [
                {"name": "bash", "description": "run", "input_schema": COMMAND},
                {"type": "custom", "name": "bare"},
                {"type": "web_search_20250305", "name": "web_search"},
            ],
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
            "max_tokens": 9,
            "temperature": 0,
            "top_p": 0,
            "stop_sequences": ["A"],
            "stream": True,
        },
        Asked(
            request=ChatRequest(
                messages=TALK,
                tools=(BASH, BARE),
                temperature=0.0,
                max_output_tokens=9,
                extra={"top_p": 0.0, "stop": ["A"], "tool_choice": "required", "parallel_tool_calls": False},
            ),
            model="m",
            stream=True,
        ),
    ),
    "responses": (
        {
            "model": "m",
            "instructions": "Be brief.",
            "input": [
                {
                    "content": [
                        {"type": "input_text", "text": "hi\n"},
                        {"type": "text", "text": "there"},
                    ]
                },
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Files."}]},
                {"role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]},
                {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": CALL.arguments},
                {"type": "function_call_output", "call_id": "c1", "output": "done"},
            ],
            "tools": [
                {"type": "function", "name": "bash", "description": "run", "parameters": COMMAND},
                {"type": "function", "name": "bare"},
                {"type": "custom", "name": "patch"},
                {"type": "web_search"},
                {"type": "namespace", "name": "box", "tools": [{"type": "function", "name": "bare"}]},
            ],
            "tool_choice": {"type": "function", "name": "bash"},
            "parallel_tool_calls": False,
            "max_output_tokens": 9,
            "temperature": 0,
            "top_p": 0,
            "reasoning": {"effort": "low"},
            "stream": True,
        },
        Asked(
            request=ChatRequest(
                messages=TALK,
                tools=(BASH, BARE, TEXT_TOOL, BARE.but(name="box__bare")),
                temperature=0.0,
                max_output_tokens=9,
                extra={
                    "top_p": 0.0,
                    "reasoning_effort": "low",
                    "tool_choice": NAMED,
                    "parallel_tool_calls": False,
                },
            ),
            model="m",
            stream=True,
            free_text=frozenset({"patch"}),
            namespaces={"box__bare": "box"},
        ),
    ),
    "gemini": (
        {
            "generateContentRequest": {
                "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "?", "thought": True}]},
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}, {"text": "there"}]},
                    {
                        "role": "model",
                        "parts": [
                            {"text": "Files.", "thought": True},
                            {"text": "Hm."},
                            {"functionCall": {"id": "c1", "name": "bash", "args": {"command": "écho"}}},
                        ],
                    },
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "bash", "response": {"output": "done"}}}],
                    },
                ],
                "tools": [
                    {
                        "functionDeclarations": [
                            {
                                "name": "bash",
                                "description": "run",
                                "parameters": {"type": "OBJECT", "properties": {"command": {"type": "STRING"}}},
                            },
                            {"name": "bare"},
                        ]
                    },
                    {"googleSearch": {}},
                ],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["bash"]}},
                "generationConfig": {
                    "temperature": 0,
                    "topP": 0,
                    "maxOutputTokens": 9,
                    "seed": 0,
                    "stopSequences": ["A"],
                    "responseMimeType": "application/json",
                },
            }
        },
        Asked(
            request=ChatRequest(
                messages=TALK,
                tools=(BASH, BARE),
                temperature=0.0,
                max_output_tokens=9,
                seed=0,
                extra={
                    "top_p": 0.0,
                    "stop": ["A"],
                    "response_format": {"type": "json_object"},
                    "tool_choice": NAMED,
                },
            ),
            model="m",
        ),
    ),
}


@pytest.mark.parametrize("form", WHOLE)
def test_everything_that_a_request_may_say_is_asked(form: str) -> None:
    """A 0 is said, a null is not; tools that run at a provider, and keys that nobody knows, are left out."""
    document, asked = WHOLE[form]
    assert read(form, document) == asked


LEAST: dict[str, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "hi"}]},
    "messages": {"messages": [{"role": "user", "content": "hi"}]},
    "responses": {"input": "hi"},
    "gemini": {"contents": [{"parts": [{"text": "hi"}]}]},
}
UNSET: dict[str, dict[str, Any]] = {
    "chat": {"max_tokens": 0, "stream": None, "tools": None, "stream_options": {}},
    "messages": {
        "max_tokens": 0,
        "stream": False,
        "tools": None,
        "tool_choice": {"type": "any"},
        "stop_sequences": [],
        "system": "",
    },
    "responses": {
        "max_output_tokens": 0,
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {},
        "instructions": "",
        "tools": [],
        "previous_response_id": None,
    },
    "gemini": {
        "generationConfig": {"maxOutputTokens": 0, "responseMimeType": "text/plain"},
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "tools": [{"functionDeclarations": []}],
    },
}


@pytest.mark.parametrize("form", LEAST)
def test_what_a_request_leaves_open_is_not_asked(form: str) -> None:
    """No limit of 0 tokens, no choice among tools where there are none: a provider would refuse it."""
    plain = Asked(
        request=ChatRequest(messages=(Message(role="user", content="hi"),)), model="m" if form == "gemini" else ""
    )
    assert read(form, LEAST[form]) == plain
    assert read(form, LEAST[form] | UNSET[form]) == plain


CHOICES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("messages", {"tool_choice": {"type": "auto"}}, {"tool_choice": "auto"}),
    ("messages", {"tool_choice": {"type": "none"}}, {"tool_choice": "none"}),
    ("messages", {"tool_choice": {"type": "tool", "name": "bash"}}, {"tool_choice": NAMED}),
    ("messages", {}, {}),
    ("responses", {"tool_choice": "required"}, {"tool_choice": "required"}),
    ("responses", {"tool_choice": {"type": "allowed_tools"}}, {}),
    ("responses", {"parallel_tool_calls": True}, {}),
    ("responses", {"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, {"tool_choice": "required"}),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}, {"tool_choice": "none"}),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, {}),
    (
        "gemini",
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}}},
        {"tool_choice": "required"},
    ),
    (
        "gemini",
        {"generationConfig": {"responseSchema": {"type": "OBJECT", "required": ["a"]}}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": {"type": "object", "required": ["a"]}},
            }
        },
    ),
]


@pytest.mark.parametrize(("form", "more", "extra"), CHOICES)
def test_a_choice_among_tools_is_asked_in_one_way(form: str, more: dict[str, Any], extra: dict[str, Any]) -> None:
    """Each form has its own words for it."""
    tools = WHOLE[form][0].get("tools") or WHOLE[form][0]["generateContentRequest"]["tools"]
    assert read(form, LEAST[form] | {"tools": tools} | more).request.extra == extra


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("chat", {}, "messages: it is missing"),
    ("messages", {"messages": []}, "messages: has too few items"),
    (
        "messages",
        {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
        "content of type 'image' cannot be passed on to the model; send text only",
    ),
    (
        "responses",
        {"input": "hi", "previous_response_id": "r1"},
        "previous_response_id: nothing is stored here; send the whole conversation",
    ),
    (
        "responses",
        {"input": [{"type": "item_reference"}]},
        "an item of type 'item_reference' cannot be passed on to the model",
    ),
    (
        "gemini",
        {"contents": [{"parts": [{"inlineData": {}}, {"fileData": {"fileUri": "gs://a"}}]}]},
        "only text can be passed on to the model; send no files",
    ),
]


@pytest.mark.parametrize(("form", "document", "told"), REFUSED)
def test_a_request_that_cannot_be_passed_on_says_why(form: str, document: dict[str, Any], told: str) -> None:
    """Each form refuses in the same words."""
    with pytest.raises(BadRequestError) as raised:
        read(form, document)
    assert str(raised.value) == told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"[]", "the body is no JSON object"),
        (b"{", "the body is not valid JSON: "),
    ],
)
def test_a_body_that_is_no_request(body: bytes, told: str) -> None:
    """What the parser says follows, at most 200 characters of it."""
    with pytest.raises(BadRequestError) as raised:
        parsed_json(body)
    assert str(raised.value).startswith(told)
    assert len(str(raised.value)) <= len(told) + 200
