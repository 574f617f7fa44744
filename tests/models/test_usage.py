"""Tests of groundup.models.asking.usage: counts are read where providers put them, and checked."""

from typing import Any

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import Message, ToolCall
from groundup.models.asking import chat
from groundup.models.asking.forms import CountedTokens
from groundup.models.asking.usage import counted_tokens
from groundup.models.prices import Price

PRICE = Price(
    input=1.0, output=10.0, cached=0.1, cache_write=1.25, above=200_000, above_input=2.0, above_output=15.0
)


def usage(read: int, written: int, total: int | None = None, **more: Any) -> dict[str, JsonValue]:
    whole: dict[str, JsonValue] = {"prompt_tokens": read, "completion_tokens": written, **more}
    return whole if total is None else whole | {"total_tokens": total}


def thoughts(count: int) -> dict[str, Any]:
    return {"completion_tokens_details": {"reasoning_tokens": count}}


PLAIN = usage(1000, 100, 1100)
FORMS: dict[str, tuple[dict[str, Any], float, bool]] = {
    "plain (OpenAI)": ({"usage": PLAIN}, 0.002, False),
    "no total": ({"usage": usage(1000, 100)}, 0.002, False),
    "thoughts inside (OpenAI)": ({"usage": usage(1000, 1100, 2100, **thoughts(1000))}, 0.012, False),
    "thoughts beside (UKGovernmentBEIS/inspect_ai#5528)": (
        {"usage": usage(1000, 100, 2100, **thoughts(1000))},
        0.012,
        False,
    ),
    "thoughts beside (vercel/ai#12425)": ({"usage": usage(12, 1, 399, **thoughts(386))}, 0.003882, False),
    "thoughts beside and a cache (Wei-Shaw/sub2api#5771)": (
        {"usage": usage(10120, 1499, 14428, prompt_tokens_details={"cached_tokens": 128}, **thoughts(2809))},
        0.0530848,
        False,
    ),
    "thoughts beside, few": ({"usage": usage(1000, 100, 1130, **thoughts(30))}, 0.0023, False),
    "only thoughts": ({"usage": usage(1000, 0, 1050, **thoughts(50))}, 0.0015, False),
    "thoughts beside, no total": ({"usage": usage(1000, 2, **thoughts(300))}, 0.00402, False),
    "thoughts at the top (SGLang)": ({"usage": usage(1000, 100, 1100, reasoning_tokens=40)}, 0.002, False),
    "thoughts only in the total": ({"usage": usage(1000, 100, 1600)}, 0.007, True),
    "a total that is too small": ({"usage": usage(1000, 100, 900)}, 0.002, True),
    "thoughts that fit nowhere": ({"usage": usage(1000, 100, 1100, **thoughts(300))}, 0.005, True),
    "a cache at the top (promptfoo/promptfoo#10132)": (
        {"usage": usage(1000, 100, 1100, cached_tokens=500)},
        0.00155,
        False,
    ),
    "a cache (DeepSeek)": ({"usage": usage(1000, 100, 1100, prompt_cache_hit_tokens=500)}, 0.00155, False),
    "in the choice (earendil-works/pi#2017)": ({"choices": [{"usage": PLAIN}]}, 0.002, False),
    "in Groq's object": ({"x_groq": {"id": "r", "usage": PLAIN}}, 0.002, False),
    "an empty one first": ({"usage": usage(0, 0, 0), "x_groq": {"usage": PLAIN}}, 0.002, False),
    "a cache, all of it (OpenAI)": (
        {"usage": usage(1000, 100, 1100, prompt_tokens_details={"cached_tokens": 1000, "audio_tokens": 0})},
        0.0011,
        False,
    ),
    "a cache, hits and misses (DeepSeek)": (
        {"usage": usage(1000, 100, 1100, prompt_cache_hit_tokens=640, prompt_cache_miss_tokens=360)},
        0.001424,
        False,
    ),
    "a cache that is read (LiteLLM for Anthropic)": (
        {"usage": usage(1000, 100, 1100, cache_read_input_tokens=500, cache_creation_input_tokens=0)},
        0.00155,
        False,
    ),
    "a cache that is written (LiteLLM for Anthropic)": (
        {"usage": usage(1000, 100, 1100, cache_read_input_tokens=0, cache_creation_input_tokens=400)},
        0.0021,
        False,
    ),
    "a cache that is written (OpenRouter)": (
        {"usage": usage(1000, 100, 1100, prompt_tokens_details={"cached_tokens": 200, "cache_write_tokens": 400})},
        0.00192,
        False,
    ),
    "at the edge of a tier (Gemini, xAI)": ({"usage": usage(200_000, 100, 200_100)}, 0.201, False),
    "above a tier (Gemini, xAI)": ({"usage": usage(200_001, 100, 200_101)}, 0.401502, False),
    "thoughts inside, predictions refused (OpenAI)": (
        {
            "usage": usage(
                1000,
                300,
                1300,
                completion_tokens_details={"reasoning_tokens": 100, "rejected_prediction_tokens": 50},
            )
        },
        0.004,
        False,
    ),
    "details that are null (vLLM)": (
        {"usage": usage(1000, 100, 1100, prompt_tokens_details=None, completion_tokens_details=None)},
        0.002,
        False,
    ),
    "counts with fractions (some gateways)": (
        {"usage": usage(1000, 100, 1100) | {"prompt_tokens": 1000.0}},
        0.002,
        False,
    ),
    "counts as texts": ({"usage": usage(0, 100, 1100) | {"prompt_tokens": "1000"}}, 0.002, False),
    "a price of the router's own beside (OpenRouter)": (
        {
            "usage": usage(
                1000, 100, 1100, cost=0.002, is_byok=False, cost_details={"upstream_inference_cost": None}
            )
        },
        0.002,
        False,
    ),
    "the names of Responses (gateways)": (
        {"usage": {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}},
        0.002,
        False,
    ),
    "a cache that is written (Alibaba)": (
        {
            "usage": usage(
                1000,
                100,
                1100,
                prompt_tokens_details={"cached_tokens": 0, "cache_creation_input_tokens": 400},
            )
        },
        0.0021,
        False,
    ),
    "a cache beside the input (Bedrock's own count)": (
        {"usage": usage(100, 100, 1100, prompt_tokens_details={"cached_tokens": 900})},
        0.00119,
        False,
    ),
    "nothing where it belongs": ({"usage": None, "choices": [{"usage": PLAIN}]}, 0.002, False),
}


@pytest.mark.parametrize(("sent", "cost", "doubtful"), FORMS.values(), ids=FORMS)
def test_a_call_costs_what_the_provider_bills(sent: dict[str, Any], cost: float, *, doubtful: bool) -> None:
    """Whole and streamed, each form is read as its provider means it; a contradiction is marked."""
    choice = (sent.get("choices") or [{}])[0]
    rest = {name: value for name, value in sent.items() if name != "choices"}
    answer: dict[str, JsonValue] = {"content": "x"}
    whole = rest | {"choices": [{"message": answer, "finish_reason": "stop", **choice}]}
    last = rest | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", **choice}]}
    streamed = chat.joined([{"choices": [{"index": 0, "delta": answer}], "x_groq": {"id": "r"}}, last])
    for document in (whole, streamed):
        counted = chat.parsed_reply(document).counted
        assert counted.input_tokens is not None
        assert counted.output_tokens is not None
        assert PRICE.cost_usd(counted.usage(0, 0), counted.cache_write_tokens or 0) == pytest.approx(cost)
        assert counted.doubtful is doubtful


@pytest.mark.parametrize(
    ("document", "message", "counted"),
    [
        ({}, Message(role="assistant", content="x"), CountedTokens()),
        ({"usage": usage(0, 0, 0)}, Message(role="assistant", content=""), CountedTokens()),
        ({"usage": [1]}, Message(role="assistant", content=""), CountedTokens()),
        ({"choices": [], "usage": 3}, Message(role="assistant", content=""), CountedTokens()),
        (
            {"usage": usage(7, 0, 7)},
            Message(role="assistant", content=""),
            CountedTokens(input_tokens=7, output_tokens=0),
        ),
        ({"usage": usage(7, 0, 7)}, Message(role="assistant", content="x"), CountedTokens(input_tokens=7)),
        (
            {"usage": usage(7, 0, 7)},
            Message(role="assistant", content="", tool_calls=(ToolCall(id="1", name="f", arguments="{}"),)),
            CountedTokens(input_tokens=7),
        ),
        (
            {"usage": usage(0, 5, 5, prompt_tokens_details={"cached_tokens": 3})},
            Message(role="assistant", content="x"),
            CountedTokens(output_tokens=5, cached_input_tokens=3),
        ),
        (
            {"usage": {"prompt_tokens": 10, "total_tokens": 12}},
            Message(role="assistant", content="x"),
            CountedTokens(input_tokens=10),
        ),
        (
            {"usage": usage(10, 5, 15, cache_creation_input_tokens=2, **thoughts(5))},
            Message(role="assistant", content="x"),
            CountedTokens(input_tokens=10, output_tokens=5, cache_write_tokens=2, reasoning_tokens=5),
        ),
        (
            {"usage": usage(10, 5, **thoughts(5))},
            Message(role="assistant", content="x"),
            CountedTokens(input_tokens=10, output_tokens=5, reasoning_tokens=5),
        ),
        (
            {"usage": usage(10, 5, 115, cached_tokens=100)},
            Message(role="assistant", content="x"),
            CountedTokens(input_tokens=110, output_tokens=5, cached_input_tokens=100),
        ),
        (
            {"usage": usage(10, 5, 25, cached_tokens=10)},
            Message(role="assistant", content="x"),
            CountedTokens(input_tokens=10, output_tokens=15, cached_input_tokens=10, doubtful=True),
        ),
    ],
)
def test_what_was_not_counted_is_unknown(
    document: dict[str, JsonValue], message: Message, counted: CountedTokens
) -> None:
    """A 0 for input, or for words that are there, is no count; what fits two readings counts as the usual one."""
    assert counted_tokens(document, message) == counted


def piece(arguments: str, **more: JsonValue) -> dict[str, JsonValue]:
    name = more.pop("name", None)
    return {"function": {"arguments": arguments, **({"name": name} if name else {})}, **more}


FIRST, SECOND = ("f", '{"a": 1}'), ("g", '{"b": 2}')


@pytest.mark.parametrize(
    "pieces",
    [
        [piece('{"a"', id="1", name="f"), piece(": 1}"), piece('{"b"', id="2", name="g"), piece(": 2}")],
        [piece('{"a"', id="1", name="f"), piece(": 1}", id="1"), piece('{"b": 2}', id="2", name="g")],
        [piece('{"a"', id="1", name="f"), piece(": 1}", id=""), piece('{"b": 2}', name="g")],
        [piece('{"a"', id="1", name="f"), piece(": 1}", index=0), piece('{"b": 2}', index=1, id="2", name="g")],
        [
            piece('{"a"', index=0, id="1", name="f"),
            piece(": 1}", index=0),
            piece('{"b"', index=0, id="2", name="g"),
            piece(": 2}", index=0),
        ],
        [piece('{"a": 1}', name="f"), piece('{"b": 2}', name="g")],
    ],
    ids=[
        "no index",
        "ids",
        "names",
        "only later pieces numbered",
        "one index",
        "whole calls (ollama/ollama#7881)",
    ],
)
def test_pieces_of_calls_without_numbers_of_their_own(pieces: list[dict[str, JsonValue]]) -> None:
    """Pieces become the two calls that were meant, whatever tells them apart."""
    events: list[dict[str, JsonValue]] = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [one]}, "finish_reason": None}]} for one in pieces
    ]
    ended: dict[str, JsonValue] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    calls = chat.parsed_reply(chat.joined([*events, ended])).reply.message.tool_calls
    assert [(call.name, call.arguments) for call in calls] == [FIRST, SECOND]
