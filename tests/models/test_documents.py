"""Each form's documents, key by key: what endpoints are sent, and what programs get."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, Tool, ToolCall
from groundup.domain.limits import EpisodeLimits
from groundup.domain.subjects import Outcome
from groundup.domain.usage import TokenUsage
from groundup.models.answering import chat as answering_chat
from groundup.models.answering import gemini as answering_gemini
from groundup.models.answering import messages as answering_messages
from groundup.models.answering import responses as answering_responses
from groundup.models.answering.forms import Asked
from groundup.models.asking import chat, gemini, messages, responses
from groundup.models.asking.forms import BrokenReplyError, CountedTokens, ReplyForm
from groundup.models.exchanges import Account, Stop, Threads
from tests.models.conftest import saying, user

USAGE = TokenUsage(input_tokens=100, output_tokens=30, cached_input_tokens=40, reasoning_tokens=10)
LS = ToolCall(id="c1", name="bash", arguments='{"command": "ls"}')
ODD = ToolCall(id="c2", name="bash", arguments="ls -l")
NONE = ToolCall(id="c3", name="bash", arguments="")
WHOLE = ChatReply(
    message=Message(role="assistant", content="Hm. ", reasoning="Files.", tool_calls=(LS, ODD, NONE)),
    finish="tool_calls",
    usage=USAGE,
)


def without_ids(value: Any) -> Any:
    """Return a document without what differs each time."""
    if isinstance(value, dict):
        return {
            name: "ID"
            if name in ("id", "responseId", "item_id") and not str(one).startswith("c")
            else without_ids(one)
            for name, one in value.items()
            if name not in ("created", "created_at")
        }
    return [without_ids(one) for one in value] if isinstance(value, list) else value


def test_a_reply_as_chat_completions() -> None:
    """Thoughts have the name that most clients read; arguments stay the text that the model wrote."""
    document = answering_chat.reply_document(WHOLE, "m")
    assert str(document["id"]).startswith("chatcmpl-")
    assert document.keys() == {"id", "object", "created", "model", "choices", "usage"}
    assert (document["object"], document["model"]) == ("chat.completion", "m")
    calls = [
        {"id": call.id, "type": "function", "function": {"name": "bash", "arguments": call.arguments}}
        for call in (LS, ODD, NONE)
    ]
    said = {"role": "assistant", "content": "Hm. ", "reasoning_content": "Files.", "tool_calls": calls}
    assert document["choices"] == [{"index": 0, "message": said, "finish_reason": "tool_calls", "logprobs": None}]
    assert document["usage"] == {
        "prompt_tokens": 100,
        "completion_tokens": 30,
        "total_tokens": 130,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 10},
    }
    (plain,) = chat_choices(ChatReply(message=Message(role="assistant", content=""), finish="other"))
    assert (plain["message"], plain["finish_reason"]) == ({"role": "assistant", "content": None}, "stop")


def chat_choices(reply: ChatReply) -> Any:
    """Return the choices of a reply."""
    return answering_chat.reply_document(reply, "m")["choices"]


def test_a_reply_as_anthropics_messages() -> None:
    """Input that is no object goes to the tool as it is; what came from a cache is no plain input."""
    document = answering_messages.reply_document(WHOLE, "m")
    assert str(document["id"]).startswith("msg_")
    assert without_ids(document) == {
        "id": "ID",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "Files.", "signature": ""},
            {"type": "text", "text": "Hm. "},
            {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "c2", "name": "bash", "input": {"unreadable_arguments": "ls -l"}},
            {"type": "tool_use", "id": "c3", "name": "bash", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 60,
            "output_tokens": 30,
            "cache_read_input_tokens": 40,
            "cache_creation_input_tokens": 0,
        },
    }
    events = read(answering_messages.reply_events(WHOLE, "m"))
    assert events[0]["message"]["usage"] == {
        "input_tokens": 60,
        "output_tokens": 1,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 0,
    }
    assert [event["index"] for event in events if event["type"] == "content_block_stop"] == [0, 1, 2, 3, 4]
    assert events[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": events[0]["message"]["usage"] | {"output_tokens": 30},
    }


def test_a_reply_as_geminis() -> None:
    """Thoughts first, then the text, then calls; thoughts are counted beside the rest."""
    parts: list[Any] = [
        {"text": "Files.", "thought": True},
        {"text": "Hm. "},
        {"functionCall": {"id": "c1", "name": "bash", "args": {"command": "ls"}}},
        {"functionCall": {"id": "c2", "name": "bash", "args": {"unreadable_arguments": "ls -l"}}},
        {"functionCall": {"id": "c3", "name": "bash", "args": {}}},
    ]
    assert without_ids(answering_gemini.reply_document(WHOLE, "m")) == {
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": "STOP"}],
        "modelVersion": "m",
        "responseId": "ID",
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 10,
            "cachedContentTokenCount": 40,
            "totalTokenCount": 130,
        },
    }
    unthinking = WHOLE.but(message=Message(role="assistant", content="Hm. ", tool_calls=(LS,)))
    document: Any = answering_gemini.reply_document(unthinking, "m")
    assert document["candidates"][0]["content"]["parts"] == parts[1:3]


RESPONSE: dict[str, Any] = {
    "id": "ID",
    "object": "response",
    "status": "completed",
    "model": "m",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "temperature": None,
    "top_p": None,
    "usage": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 10},
        "total_tokens": 130,
    },
}


def test_a_reply_as_responses() -> None:
    """Each part is an item; tools of a namespace and tools that take text are called as the client knows them."""
    asked = Asked(request=saying("hi"), model="m", free_text=frozenset({"patch"}), namespaces={"box__bash": "box"})
    framed, bare = (
        ToolCall(id=f"c{at}", name="patch", arguments=text) for at, text in enumerate(('{"input": "a"}', "b"), 4)
    )
    inside = ToolCall(id="c6", name="box__bash", arguments="{}")
    message = Message(role="assistant", content="Hm. ", reasoning="Files.", tool_calls=(LS, framed, bare, inside))
    assert without_ids(answering_responses.reply_document(WHOLE.but(message=message), asked)) == RESPONSE | {
        "output": [
            {
                "type": "reasoning",
                "id": "ID",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": "Files."}],
            },
            {
                "type": "message",
                "id": "ID",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hm. ", "annotations": []}],
            },
            called("c1", "bash", type="function_call", arguments='{"command": "ls"}'),
            called("c4", "patch", type="custom_tool_call", input="a"),
            called("c5", "patch", type="custom_tool_call", input="b"),
            called("c6", "bash", type="function_call", arguments="{}", namespace="box"),
        ]
    }
    silent = answering_responses.reply_document(
        WHOLE.but(message=Message(role="assistant", content=""), finish="stop"), asked
    )
    (item,) = without_ids(silent["output"])
    assert item["content"] == [{"type": "output_text", "text": "", "annotations": []}]
    for finish, reason in {"length": "max_output_tokens", "content_filter": "content_filter"}.items():
        cut = answering_responses.reply_document(WHOLE.but(finish=finish), asked)
        assert (cut["status"], cut["incomplete_details"]) == ("incomplete", {"reason": reason})


def called(identifier: str, name: str, **more: str) -> dict[str, str]:
    """Return the item of a call."""
    return {"id": "ID", "call_id": identifier, "name": name, "status": "completed", **more}


def test_a_stream_of_responses_numbers_its_events() -> None:
    """Each item begins empty, grows and ends; the last event is the whole response, cut off or not."""
    asked = Asked(request=saying("hi"), model="m", free_text=frozenset({"patch"}))
    message = Message(
        role="assistant",
        content="Hm. ",
        reasoning="Files.",
        tool_calls=(LS, ToolCall(id="c4", name="patch", arguments='{"input": "a"}')),
    )
    events = without_ids(
        read(answering_responses.reply_events(WHOLE.but(message=message, finish="length"), asked))
    )
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
        "incomplete",
    ]
    added = [event["item"] for event in events if event["type"] == "response.output_item.added"]
    assert [one["status"] for one in added] == ["in_progress"] * 4
    assert (added[0]["content"], added[1]["content"]) == ([], [])
    assert (added[2]["arguments"], added[3]["input"]) == ("", "")
    assert {event["output_index"] for event in events[2:-1]} == {0, 1, 2, 3}
    assert {event["content_index"] for event in events if "content_index" in event} == {0}
    assert [event["delta"] for event in events if "delta" in event] == ["Files.", "Hm. ", LS.arguments, "a"]


def read(events: Iterable[bytes]) -> list[dict[str, Any]]:
    """Return the objects of a stream."""
    lines = b"".join(events).decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def _as_responses(reply: ChatReply, model: str) -> Iterator[bytes]:
    return answering_responses.reply_events(reply, Asked(request=saying("hi"), model=model))


def _as_chat(reply: ChatReply, model: str) -> Iterator[bytes]:
    return answering_chat.reply_events(reply, model, usage=True)


STREAMS: dict[str, tuple[Callable[[ChatReply, str], Iterator[bytes]], ReplyForm]] = {
    "chat": (_as_chat, chat.FORM),
    "messages": (answering_messages.reply_events, messages.FORM),
    "gemini": (answering_gemini.reply_events, gemini.FORM),
    "responses": (_as_responses, responses.FORM),
}
LONG = "x" * 2000 + "y" * 2000 + "z"


@pytest.mark.parametrize("api", STREAMS)
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "length", "content_filter"])
def test_a_reply_survives_its_stream(api: str, finish: Finish) -> None:
    """What our client reads of what our gateway sends is what the model said: text, thoughts, calls, counts."""
    written, form = STREAMS[api]
    calls = (LS, LS.but(id="c2")) if finish == "tool_calls" else ()
    message = Message(role="assistant", content=LONG, reasoning="Files.", tool_calls=calls)
    events = read(written(ChatReply(message=message, finish=finish, usage=USAGE), "m"))
    parsed = form.parsed(form.joined(events))
    got = parsed.reply.message
    assert (got.content, got.reasoning, parsed.reply.model) == (LONG, "Files.", "m")
    assert [(call.name, json.loads(call.arguments)) for call in got.tool_calls] == [
        ("bash", {"command": "ls"}) for _ in calls
    ]
    assert parsed.reply.finish == finish
    thought = None if api == "messages" else 10
    written_to_cache = 0 if api == "messages" else None
    assert parsed.counted == CountedTokens(
        input_tokens=100,
        output_tokens=30,
        cached_input_tokens=40,
        reasoning_tokens=thought,
        cache_write_tokens=written_to_cache,
    )
    assert "".join(map(form.piece, events)).count("y") == 2000


@pytest.mark.parametrize("api", STREAMS)
def test_a_stream_that_breaks_off_is_none(api: str) -> None:
    """Without its last events a stream is no reply."""
    written, form = STREAMS[api]
    events = read(written(ChatReply(message=Message(role="assistant", content="Hm."), finish="stop"), "m"))
    least = {"chat": -2, "messages": -2, "gemini": -1, "responses": -1}[api]
    with pytest.raises(BrokenReplyError, match="the stream ends before its reply does"):
        form.joined(events[:least])


ERRORS: list[tuple[int, str, str, str]] = [
    (400, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    (401, "invalid_request_error", "authentication_error", "UNAUTHENTICATED"),
    (402, "invalid_request_error", "billing_error", "PERMISSION_DENIED"),
    (404, "invalid_request_error", "not_found_error", "NOT_FOUND"),
    (413, "invalid_request_error", "request_too_large", "INVALID_ARGUMENT"),
    (429, "invalid_request_error", "rate_limit_error", "RESOURCE_EXHAUSTED"),
    (499, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    (500, "server_error", "api_error", "INTERNAL"),
    (503, "server_error", "api_error", "UNAVAILABLE"),
    (529, "server_error", "overloaded_error", "INTERNAL"),
]


@pytest.mark.parametrize(("status", "openai", "anthropic", "google"), ERRORS)
def test_an_error_has_each_forms_words(status: int, openai: str, anthropic: str, google: str) -> None:
    """In an answer of its own, and within a stream that has begun."""
    errors: list[tuple[dict[str, Any], bytes]] = [
        (
            {"error": {"message": "no", "type": openai, "param": None, "code": None}},
            answering_chat.error_event(status, "no"),
        ),
        (
            {"type": "error", "error": {"type": anthropic, "message": "no"}},
            answering_messages.error_event(status, "no"),
        ),
        (
            {"error": {"code": status, "message": "no", "status": google}},
            answering_gemini.error_event(status, "no"),
        ),
    ]
    for document, event in errors:
        assert read([event]) == [document]
    assert answering_chat.error_document(status, "no", "why")["error"] == errors[0][0]["error"] | {"code": "why"}
    (failed,) = without_ids(read([answering_responses.error_event(status, "no")]))
    assert (failed["type"], failed["sequence_number"]) == ("response.failed", 0)
    assert failed["response"] == RESPONSE | {
        "model": "",
        "status": "failed",
        "error": {"code": openai, "message": "no"},
        "output": [],
        "usage": None,
    }


BASH = Tool(name="bash", description="run", parameters={"type": "object"})
EXTRAS: list[tuple[dict[str, Any], dict[str, dict[str, Any]]]] = [
    ({}, {"messages": {}, "gemini": {}, "responses": {}}),
    (
        {"stop": ["A", "B"]},
        {
            "messages": {"stop_sequences": ["A", "B"]},
            "gemini": {"generationConfig": {"stopSequences": ["A", "B"]}},
            "responses": {"stop": ["A", "B"]},
        },
    ),
    (
        {"reasoning_effort": "none"},
        {
            "messages": {"thinking": {"type": "disabled"}},
            "gemini": {"generationConfig": {"thinkingConfig": {"thinkingLevel": "none"}}},
            "responses": {"reasoning": {"effort": "none"}},
        },
    ),
    (
        {"reasoning_effort": "high"},
        {
            "messages": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
            "gemini": {"generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}}},
            "responses": {"reasoning": {"effort": "high"}},
        },
    ),
    (
        {"tool_choice": "none", "parallel_tool_calls": False},
        {
            "messages": {"tool_choice": {"type": "none"}},
            "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
            "responses": {"tool_choice": "none", "parallel_tool_calls": False},
        },
    ),
    (
        {"parallel_tool_calls": False},
        {
            "messages": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
            "gemini": {},
            "responses": {"parallel_tool_calls": False},
        },
    ),
    (
        {"tool_choice": "auto", "parallel_tool_calls": True},
        {
            "messages": {"tool_choice": {"type": "auto"}},
            "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
            "responses": {"tool_choice": "auto", "parallel_tool_calls": True},
        },
    ),
    (
        {"tool_choice": {"type": "function", "function": {"name": "bash"}}},
        {
            "messages": {"tool_choice": {"type": "tool", "name": "bash"}},
            "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["bash"]}}},
            "responses": {"tool_choice": {"type": "function", "name": "bash"}},
        },
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}},
        {
            "gemini": {
                "generationConfig": {
                    "responseMimeType": "application/json",
                    "responseJsonSchema": {"type": "object"},
                }
            },
            "responses": {"text": {"format": {"type": "json_schema", "name": "s", "schema": {"type": "object"}}}},
        },
    ),
    (
        {"response_format": {"type": "text"}},
        {"gemini": {}, "responses": {"text": {"format": {"type": "text"}}}},
    ),
]


@pytest.mark.parametrize(("extra", "sent"), EXTRAS)
def test_keys_of_chat_completions_have_their_own_place_in_each_form(
    extra: dict[str, Any], sent: dict[str, dict[str, Any]]
) -> None:
    """What a user says once goes to any endpoint; what nobody said is not sent at all, not even as null."""
    request = saying("hi").but(extra=extra)
    bare: dict[str, dict[str, Any]] = {
        "messages": {
            "model": "m",
            "max_tokens": messages.request_document(saying("hi"), "m")["max_tokens"],
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}],
                }
            ],
        },
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        "responses": {
            "model": "m",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": responses.request_document(saying("hi"), "m")["prompt_cache_key"],
        },
    }
    made = {
        "messages": messages.request_document(request, "m"),
        "gemini": gemini.request_document(request),
        "responses": responses.request_document(request, "m"),
    }
    assert {api: made[api] for api in sent} == {api: bare[api] | more for api, more in sent.items()}


def test_who_thinks_gets_no_temperature() -> None:
    """Anthropic refuses both together; 0 is a temperature."""
    cold = saying("hi").but(temperature=0.0)
    assert messages.request_document(cold, "m")["temperature"] == 0.0
    assert responses.request_document(cold, "m")["temperature"] == 0.0
    thinking = cold.but(extra={"reasoning_effort": "low"})
    assert "temperature" not in messages.request_document(thinking, "m")


COUNTS: list[tuple[Any, dict[str, Any], CountedTokens]] = [
    (gemini, {"usageMetadata": None}, CountedTokens()),
    (gemini, {"usageMetadata": {"promptTokenCount": 0}}, CountedTokens(input_tokens=0)),
    (gemini, {"usageMetadata": {"candidatesTokenCount": 3}}, CountedTokens(output_tokens=3)),
    (gemini, {"usageMetadata": {"thoughtsTokenCount": 4}}, CountedTokens(output_tokens=4, reasoning_tokens=4)),
    (
        gemini,
        {"usageMetadata": {"candidatesTokenCount": 3, "thoughtsTokenCount": 4}},
        CountedTokens(output_tokens=7, reasoning_tokens=4),
    ),
    (messages, {"usage": None}, CountedTokens()),
    (messages, {"usage": {"output_tokens": 0}}, CountedTokens()),
    (
        messages,
        {"usage": {"input_tokens": 0, "cache_read_input_tokens": 2, "output_tokens": 1}},
        CountedTokens(input_tokens=2, cached_input_tokens=2, output_tokens=1),
    ),
    (
        messages,
        {"usage": {"input_tokens": 0, "cache_read_input_tokens": 0}},
        CountedTokens(cached_input_tokens=0),
    ),
    (responses, {"usage": {"input_tokens": 0, "output_tokens": 0}}, CountedTokens()),
    (
        responses,
        {"usage": {"input_tokens": 1, "output_tokens": 2}},
        CountedTokens(input_tokens=1, output_tokens=2),
    ),
]


@pytest.mark.parametrize(("form", "usage", "counted"), COUNTS)
def test_a_reply_that_speaks_was_counted_or_not(form: Any, usage: dict[str, Any], counted: CountedTokens) -> None:
    """No count is unknown, and so is a 0 for words that are there."""
    reply: dict[str, Any] = {
        "candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}],
        "type": "message",
        "content": [{"type": "text", "text": "x"}],
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}],
    }
    assert form.parsed_reply(reply | usage).counted == counted


@pytest.mark.parametrize(
    ("limits", "turns", "tokens", "cost", "under_way", "stop"),
    [
        ({}, 99, 99, 99.0, 9, None),
        ({"turns": 3}, 2, 0, 0.0, 0, None),
        ({"turns": 3}, 3, 0, 0.0, 0, (Outcome.LIMIT, "the limit of 3 turns is reached")),
        ({"turns": 3}, 2, 0, 0.0, 1, (Outcome.LIMIT, "the limit of 3 turns is reached")),
        ({"tokens": 10}, 0, 9, 0.0, 1, None),
        ({"tokens": 10}, 0, 10, 0.0, 0, (Outcome.LIMIT, "the limit of 10 tokens is reached")),
        ({"cost_usd": 0.5}, 0, 0, 0.49, 1, None),
        ({"cost_usd": 0.5}, 0, 0, 0.5, 0, (Outcome.BUDGET, "the attempt's budget of $0.5 is spent")),
        ({"turns": 1, "tokens": 1}, 1, 1, 0.0, 0, (Outcome.LIMIT, "the limit of 1 turns is reached")),
    ],
)
def test_what_an_attempt_may_use(
    limits: dict[str, Any], turns: int, tokens: int, cost: float, under_way: int, stop: tuple[Outcome, str] | None
) -> None:
    """A limit is reached by exactly what it says; calls that are under way count as turns."""
    usage = TokenUsage(input_tokens=tokens // 2, output_tokens=tokens - tokens // 2)
    account = Account(EpisodeLimits(**limits), turns=turns, usage=usage, cost_usd=cost)
    wanted = Stop(outcome=stop[0], detail=stop[1]) if stop else None
    assert (account.tokens, account.spent(under_way)) == (tokens, wanted)


@pytest.mark.parametrize(
    ("limit", "used", "asked", "bounded"),
    [(None, 5, None, None), (None, 5, 7, 7), (10, 4, None, 6), (10, 4, 5, 5), (10, 4, 7, 6), (10, 12, None, 1)],
)
def test_a_reply_may_be_as_long_as_the_limit_leaves(
    limit: int | None, used: int, asked: int | None, bounded: int | None
) -> None:
    """At least one token, for no endpoint takes less; without a limit a request is as it was."""
    account = Account(EpisodeLimits(tokens=limit), usage=TokenUsage(input_tokens=used))
    assert account.bounded(saying("hi").but(max_output_tokens=asked)).max_output_tokens == bounded


def test_an_account_adds_up() -> None:
    """Also what replies lost; one reply without a price makes the whole cost unknown for good."""
    account = Account(EpisodeLimits(), turns=1, usage=USAGE, cost_usd=1.0)
    account.enter(WHOLE.but(cost_usd=0.5, lost=TokenUsage(input_tokens=1)))
    assert (account.turns, account.cost_usd) == (2, 1.5)
    assert account.usage == TokenUsage(
        input_tokens=201, output_tokens=60, cached_input_tokens=80, reasoning_tokens=20
    )
    for cost in (None, 0.5):
        account.enter(WHOLE.but(cost_usd=cost))
        assert account.cost_usd is None


def test_conversations_are_taken_up_where_they_were_left() -> None:
    """The longest known beginning counts, with or without the thoughts of a reply; two may grow from one."""
    threads = Threads()
    hello = ChatRequest(messages=(user("hi"),))
    assert threads.place(hello) == (0, None, 0)
    reply = ChatReply(message=Message(role="assistant", content="yes", reasoning="hm"), finish="stop")
    threads.answered(0, hello, reply)
    more = ChatRequest(messages=(user("hi"), Message(role="assistant", content="yes"), user("more")))
    assert threads.place(more) == (1, 0, 2)
    thinking = ChatRequest(messages=(user("hi"), reply.message, user("other")))
    assert threads.place(thinking) == (2, 0, 2)
    assert threads.place(ChatRequest(messages=(*more.messages, user("and")))) == (3, 1, 3)
    assert threads.place(ChatRequest(messages=(user("bye"),))) == (4, None, 0)


def test_thoughts_that_must_go_back_are_put_back() -> None:
    """By what a reply says, however a program writes its arguments or blanks; other turns are left alone."""
    threads = Threads()
    signed = Message(role="assistant", content="yes", tool_calls=(LS,), original={"reasoning_details": [1]})
    hello = ChatRequest(messages=(user("hi"),))
    assert threads.restored(hello) is hello
    threads.answered(0, hello, ChatReply(message=signed, finish="tool_calls"))
    back = Message(role="assistant", content=" yes\n", tool_calls=(LS.but(arguments='{ "command":"ls" }'),))
    other = Message(role="assistant", content="yes", tool_calls=(LS.but(arguments='{"command": "rm"}'),))
    asked = Message(role="user", content="yes")
    assert threads.restored(ChatRequest(messages=(asked, back, other))).messages == (asked, signed, other)


@pytest.mark.parametrize(
    ("message", "reasoning", "document"),
    [
        (Message(role="user", content="hi"), "reasoning_content", {"role": "user", "content": "hi"}),
        (
            Message(role="assistant", content="x", reasoning="hm"),
            "reasoning_content",
            {"role": "assistant", "content": "x", "reasoning_content": "hm"},
        ),
        (Message(role="assistant", content="x", reasoning="hm"), None, {"role": "assistant", "content": "x"}),
        (Message(role="assistant", content="x"), "reasoning", {"role": "assistant", "content": "x"}),
        (
            Message(role="tool", content="y", tool_call_id="c1"),
            None,
            {"role": "tool", "content": "y", "tool_call_id": "c1"},
        ),
        (
            Message(role="assistant", content="x", original={"content": [{"type": "thinking"}]}),
            None,
            {"role": "assistant", "content": [{"type": "thinking"}, {"type": "text", "text": "x"}]},
        ),
        (
            Message(role="assistant", content="", original={"content": [{"type": "thinking"}], "more": 1}),
            None,
            {"role": "assistant", "content": [{"type": "thinking"}], "more": 1},
        ),
        (
            Message(role="assistant", content="x", original={"content": [{"type": "text", "text": "x"}]}),
            None,
            {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
        ),
    ],
)
def test_a_message_as_chat_completions(message: Message, reasoning: str | None, document: dict[str, Any]) -> None:
    """Thoughts go under the name that the endpoint wants, or as it sent them, never as nothing."""
    assert chat.message_document(message, reasoning) == document


def test_a_call_without_text_has_the_content_that_an_endpoint_takes() -> None:
    """Most want null there, some refuse it."""
    calling = Message(role="assistant", tool_calls=(LS,))
    contents = [chat.message_document(calling, null_content=null)["content"] for null in (True, False)]
    assert contents == [None, ""]
    assert chat.message_document(calling.but(content="x"))["content"] == "x"


def test_turns_of_gemini_hold_no_system_text() -> None:
    """It stands apart; neighbours of one role are one turn, and a result names its tool."""
    made = gemini.request_document(
        ChatRequest(
            messages=(
                Message(role="system", content="be quick"),
                user("hi"),
                Message(role="system", content="and right"),
                Message(role="assistant", content="x", tool_calls=(LS,)),
                Message(role="tool", content="a.py", tool_call_id="c1"),
                user("more"),
            )
        )
    )
    assert made["systemInstruction"] == {"parts": [{"text": "be quick\n\nand right"}]}
    assert made["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "x"}, {"functionCall": {"name": "bash", "args": {"command": "ls"}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "bash", "response": {"output": "a.py"}}},
                {"text": "more"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("form", "events", "whole"),
    [
        (gemini, [{"error": {"code": 1}}, {"candidates": []}], {"error": {"code": 1}}),
        (
            gemini,
            [{"promptFeedback": {"blockReason": "SAFETY"}}],
            {"promptFeedback": {"blockReason": "SAFETY"}},
        ),
        (
            gemini,
            [
                {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
                {"candidates": [{"content": {"parts": None}, "finishReason": "STOP"}], "modelVersion": "m"},
            ],
            {
                "candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "STOP"}],
                "modelVersion": "m",
            },
        ),
        (
            messages,
            [
                {"type": "message_start", "message": {"type": "message", "usage": {"input_tokens": 3}}},
                {"type": "content_block_start", "content_block": {"type": "tool_use", "input": {}}},
                {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": ""}},
                {"type": "content_block_start", "content_block": {"type": "tool_use", "input": {}}},
                {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{no"}},
                {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
            ],
            {
                "type": "message",
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 3, "output_tokens": 2},
                "content": [
                    {"type": "tool_use", "input": {}},
                    {"type": "tool_use", "input": {"unreadable_arguments": "{no"}},
                ],
            },
        ),
        (messages, [{"type": "error", "error": {"type": "x"}}], {"type": "error", "error": {"type": "x"}}),
        (responses, [{"type": "error", "code": "x"}], {"error": {"type": "error", "code": "x"}}),
        (responses, [{"type": "error", "error": {"code": "x"}}], {"type": "error", "error": {"code": "x"}}),
        (responses, [{"type": "response.failed", "response": {"id": "r"}}], {"error": {"id": "r"}}),
    ],
)
def test_events_are_joined_to_what_a_whole_reply_is(
    form: Any, events: list[dict[str, Any]], whole: dict[str, Any]
) -> None:
    """Also where pieces are empty, cannot be read, or say that it failed."""
    assert form.joined(events) == whole


REQUESTS: list[tuple[Callable[[bytes], Asked], dict[str, Any], tuple[Message, ...]]] = [
    (
        answering_chat.asked,
        {
            "messages": [
                {"role": "developer", "content": "be quick"},
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "reasoning_content": "hm",
                    "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": LS.arguments}}],
                },
                {"role": "function", "content": "y", "tool_call_id": "c1"},
            ]
        },
        (
            Message(role="system", content="be quick"),
            user("ab"),
            Message(role="assistant", tool_calls=(LS,), reasoning="hm"),
            Message(role="tool", content="y", tool_call_id="c1"),
        ),
    ),
    (
        answering_messages.asked,
        {
            "max_tokens": 9,
            "system": [{"type": "text", "text": "be"}, {"type": "text", "text": "quick"}],
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "text", "text": "x"},
                        {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "and"},
                        {"type": "tool_result", "tool_use_id": "c1"},
                        {"type": "tool_result", "tool_use_id": "c2", "content": "y"},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c3", "content": "z"}]},
                {"role": "user", "content": []},
            ],
        },
        (
            Message(role="system", content="be\nquick"),
            user("hi"),
            Message(role="assistant", content="x", tool_calls=(LS,), reasoning="hm"),
            Message(role="tool", tool_call_id="c1"),
            Message(role="tool", content="y", tool_call_id="c2"),
            user("and"),
            Message(role="tool", content="z", tool_call_id="c3"),
            user(""),
        ),
    ),
    (
        answering_responses.asked,
        {
            "instructions": "be quick",
            "input": [
                {"type": "message", "role": "developer", "content": "and right"},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "h"}]},
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "m"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
                {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": LS.arguments},
                {"type": "function_call_output", "call_id": "c1", "output": "y"},
                {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "a"},
                {
                    "type": "custom_tool_call_output",
                    "call_id": "c2",
                    "output": [{"type": "input_text", "text": "z"}],
                },
            ],
        },
        (
            Message(role="system", content="be quick"),
            Message(role="system", content="and right"),
            user("hi"),
            Message(role="assistant", content="x", tool_calls=(LS,), reasoning="hm"),
            Message(role="tool", content="y", tool_call_id="c1"),
            Message(role="assistant", tool_calls=(ToolCall(id="c2", name="patch", arguments='{"input": "a"}'),)),
            Message(role="tool", content="z", tool_call_id="c2"),
        ),
    ),
    (answering_responses.asked, {"input": "hi"}, (user("hi"),)),
    (
        answering_gemini.asked,
        {
            "contents": [
                {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
                {
                    "role": "model",
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "x"},
                        {"functionCall": {"name": "bash", "args": {"command": "ls"}}},
                        {"functionCall": {"id": "own", "name": "bash", "args": 3}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"id": "own", "name": "bash", "response": {"output": "o"}}},
                        {"functionResponse": {"name": "bash", "response": {"a": 1, "b": 2}}},
                        {"text": "and"},
                    ],
                },
            ]
        },
        (
            user("a\nb"),
            Message(
                role="assistant",
                content="x",
                reasoning="hm",
                tool_calls=(LS.but(id="call_1"), ToolCall(id="own", name="bash", arguments="{}")),
            ),
            Message(role="tool", content="o", tool_call_id="own"),
            Message(role="tool", content='{"a": 1, "b": 2}', tool_call_id="call_1"),
            user("and"),
        ),
    ),
]


@pytest.mark.parametrize(("asked", "document", "conversation"), REQUESTS)
def test_what_a_program_sends_is_one_conversation(
    asked: Callable[[bytes], Asked], document: dict[str, Any], conversation: tuple[Message, ...]
) -> None:
    """In each form: texts in parts are joined, results have their call, a turn of the assistant is one message."""
    assert asked(json.dumps({"model": "m", **document}).encode()).request.messages == conversation
