"""Replies that were billed and are odd, failures that pretend to be replies, and replies that come as streams."""

import asyncio
import json
from typing import Any

import pytest

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.models.asking import chat, messages
from groundup.models.failures import CallFailureKind, failure_of, hidden_status
from groundup.models.opening import open_model
from groundup.models.protocol import (
    BudgetSpentError,
    ContextOverflowError,
    KeyRejectedError,
    ModelAbsentError,
    ModelError,
    RequestRejectedError,
)
from groundup.models.scripted.server import ScriptedModel
from groundup.models.settings import ModelSettings
from groundup.registries.server import Request, Response
from tests.models.conftest import Write, saying
from tests.models.test_asking import Endpoint

SAID: dict[str, Any] = {"choices": [{"message": {"content": "hello " * 50}, "finish_reason": "stop"}]}
QUICK = {"patience_s": 0.0, "first_pause_s": 0.01}


class Answers(Endpoint):
    """An endpoint that gives one answer after the other, then the last again."""

    def __init__(self, *answers: Response) -> None:
        super().__init__({})
        self._answers = list(answers)

    async def handle(self, request: Request) -> Response:
        """Answer."""
        self.asked.append(request)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def answer(document: object, status: int = 200, **headers: str) -> Response:
    """Return an answer as JSON."""
    return Response(status, json.dumps(document).encode(), "application/json", headers)


def stream(*events: object, end: bytes = b"data: [DONE]\n\n") -> Response:
    """Return an answer as a stream, with a comment first as routers send them."""
    body = b": PROCESSING\r\n\r\n" + b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return Response(200, body + end, "text/event-stream; charset=utf-8")


async def ask(endpoint: Endpoint, **settings: object) -> ChatReply:
    """Ask the endpoint once."""
    async with endpoint.served() as url:
        asked = ModelSettings.model_validate({"base_url": url, **QUICK, **settings})
        async with open_model("compatible/m", asked) as model:
            return await model.complete(saying("hi " * 100))


# --- usage


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -1, "completion_tokens": -1},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": "many", "completion_tokens": [1]},
        {"prompt_tokens": 10**30, "completion_tokens": 1e400},
        "none",
        [1, 2],
    ],
)
async def test_unknown_usage_is_estimated_and_reported(usage: object) -> None:
    """A reply that was billed is kept and has a cost, whatever stands where its usage should."""
    reply = await ask(Endpoint(SAID | {"usage": usage}), price="1:2")
    assert reply.message.content.startswith("hello")
    assert reply.estimated
    assert reply.usage.input_tokens > 100
    assert reply.usage.output_tokens >= 50
    assert reply.cost_usd == pytest.approx((reply.usage.input_tokens + 2 * reply.usage.output_tokens) / 1e6)


async def test_one_unknown_count_is_estimated() -> None:
    """What is known of the usage counts; only the rest is estimated. What is known in full is no estimate."""
    usage: dict[str, Any] = {"prompt_tokens": 7, "completion_tokens": None, "prompt_tokens_details": None}
    reply = await ask(Endpoint(SAID | {"usage": usage}))
    assert (reply.usage.input_tokens, reply.estimated) == (7, True)
    usage |= {"completion_tokens": 9.0, "prompt_tokens_details": {"cached_tokens": 99}}
    reply = await ask(Endpoint(SAID | {"usage": usage}))
    assert (reply.usage.output_tokens, reply.usage.cached_input_tokens, reply.estimated) == (9, 7, False)


async def test_a_limit_on_the_cost_holds_without_usage() -> None:
    """An endpoint that tells no usage cannot be asked for ever: --max-cost ends it."""
    endpoint = Endpoint(SAID)
    async with endpoint.served() as url:
        settings = ModelSettings(base_url=url, price="100:100", max_cost_usd=0.5, max_output_tokens=1000)
        async with open_model("compatible/m", settings) as model:
            with pytest.raises(BudgetSpentError):
                await asyncio.gather(*(model.complete(saying("hi")) for _ in range(100)))
    assert 5 < len(endpoint.asked) < 50


@pytest.mark.parametrize(
    "document",
    [
        {"choices": [{"message": {"content": None, "tool_calls": None, "reasoning": {"a": 1}}}], "model": None},
        {"choices": [{"message": {"content": [{"type": "text", "text": None}, "odd", {"type": "image"}]}}]},
        {"choices": [{"message": {"tool_calls": [{"id": 7, "function": {"name": None, "arguments": None}}]}}]},
        {"choices": [{"message": {"tool_calls": [{"function": None}]}, "finish_reason": 3}], "usage": 1},
        {"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}}]},
        {
            "type": "message", "model": None, "stop_reason": None, "usage": None,
            "content": [{"type": "text", "text": None}, {"type": "tool_use", "id": None, "input": None}],
        },
    ],
)  # fmt: skip
def test_odd_fields_cost_no_reply(document: dict[str, Any]) -> None:
    """Fields that are null, or not what they should be, do not discard a reply that was billed."""
    form = messages if "type" in document else chat
    assert form.parsed_reply(document).reply.message.role == "assistant"


# --- failures with status 200

FAILURES: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"error": {"code": 401, "message": "no auth"}}, KeyRejectedError),
    ({"error": {"code": "invalid_api_key", "message": "no"}}, KeyRejectedError),
    ({"error": {"code": "404", "message": "no such model"}}, ModelAbsentError),
    ({"error": "something broke", "choices": None}, ModelError),
    ({"error": {"message": "maximum context length is 8192 tokens"}}, ContextOverflowError),
    ({"object": "error", "message": "it broke", "code": 400}, RequestRejectedError),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, ModelError),
    ({"choices": [{"message": {"content": "hal"}, "finish_reason": "error"}]}, ModelError),
    (
        {
            "choices": [
                {"message": {"content": ""}, "finish_reason": "stop", "error": {"code": 402, "message": "$"}}
            ]
        },
        KeyRejectedError,
    ),
]


@pytest.mark.parametrize(("document", "error"), FAILURES)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_failure_in_a_reply_is_a_failure(
    document: dict[str, Any], error: type[Exception], streamed: bool
) -> None:
    """An error with status 200, whole or in the middle of a stream, is no silence of the model."""
    begun = {"choices": [{"delta": {"role": "assistant", "content": "Let me"}}]}
    with pytest.raises(error):
        await ask(Answers(stream(begun, document) if streamed else answer(document)))


async def test_a_passing_failure_in_a_reply_is_tried_again() -> None:
    """A provider's passing failure behind a router is waited out like any other."""
    endpoint = Answers(answer(FAILURES[-2][0]), answer(FAILURES[3][0]), answer(SAID))
    reply = await ask(endpoint, patience_s=10)
    assert (reply.tries, reply.message.content[:5]) == (3, "hello")


async def test_scripts_fail_within_replies(scripted: Write) -> None:
    """A script can rehearse both kinds of hidden failures."""
    script = '[[turn]]\ncontent = "hello"\nfail = ["error", "choice_error"]\n'
    async with open_model(scripted(script), ModelSettings(first_pause_s=0.01)) as model:
        assert (await model.complete(saying("hi"))).tries == 3
    assert isinstance(model, ScriptedModel)


def test_no_failure_is_seen_in_a_reply() -> None:
    """A reply with an empty `error`, or words about errors, is a reply."""
    assert hidden_status(SAID | {"error": None}) is None
    assert hidden_status({"choices": [{"message": {"content": "error: overloaded"}, "error": None}]}) is None


# --- streams


@pytest.mark.parametrize(
    "words",
    [
        "This model only supports streaming; set stream to true.",
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "Stream must be set to true",
        "Non-streaming requests are not supported",
    ],
)
def test_endpoints_that_want_streams_are_understood(words: str) -> None:
    """In the words of those who give replies as streams only."""
    assert failure_of(400, {}, json.dumps({"error": {"message": words}}).encode()).kind is CallFailureKind.STREAM


@pytest.mark.parametrize(
    "words", ["streaming is not supported", "upstream error: bad request", "stream: bad value"]
)
def test_others_are_not(words: str) -> None:
    """Who gives no streams, or only uses the word, is not asked for one."""
    assert failure_of(400, {}, json.dumps({"error": {"message": words}}).encode()).kind is CallFailureKind.REQUEST


async def test_streaming_only_endpoints_work(scripted: Write) -> None:
    """An endpoint that gives only streams is asked for them from then on, with usage, text and calls whole."""
    script = """
stream_only = true
[[turn]]
content = "I look."
reasoning = "hm"
[[turn.calls]]
tool = "bash"
arguments = {command = "ls"}
[[turn.calls]]
tool = "bash"
arguments = {command = "pwd"}
"""
    for settings in (ModelSettings(), ModelSettings(stream=True)):
        async with open_model(scripted(script), settings) as model:
            reply = await model.complete(saying("hi"))
            await model.complete(saying("ho"))
            assert isinstance(model, ScriptedModel)
            assert model.server.failed["refused"] == (0 if settings.stream else 1)
        calls = [json.loads(call.arguments)["command"] for call in reply.message.tool_calls]
        assert (reply.message.content, reply.message.reasoning, calls) == ("I look.", "hm", ["ls", "pwd"])
        assert reply.usage.input_tokens
        assert not reply.estimated


async def test_a_stream_that_breaks_off_is_no_reply() -> None:
    """Half a stream is tried again, not taken for a short reply."""
    begun = {"choices": [{"delta": {"content": "Let me"}}]}
    whole = {"choices": [{"delta": {"content": " see"}, "finish_reason": "stop"}]}
    endpoint = Answers(stream(begun, end=b""), stream(begun, end=b'data: {"cho'), stream(begun, whole))
    reply = await ask(endpoint, patience_s=10, stream=True)
    assert (reply.tries, reply.message.content, reply.estimated) == (3, "Let me see", True)
    assert endpoint.document["stream_options"] == {"include_usage": True}


# --- patience


async def test_retry_after_0_has_a_floor() -> None:
    """An endpoint that says "again after 0 s" is not asked in a tight loop."""
    endpoint = Answers(answer({"error": {"message": "slow down"}}, 429, **{"Retry-After": "0"}))
    with pytest.raises(ModelError):
        await ask(endpoint, patience_s=0.5, first_pause_s=0.1)
    assert 1 < len(endpoint.asked) < 10


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (404, "The model `gpt-9` does not exist", ModelAbsentError),
        (404, "Not Found", ModelAbsentError),
        (400, "gpt-9 is not a valid model ID", ModelAbsentError),
        (400, "Model Not Exist", ModelAbsentError),
        (400, "temperature: must be 1 for this model", RequestRejectedError),
        (403, "Your key has no access to this model", KeyRejectedError),
    ],
)
async def test_what_no_attempt_survives_is_distinguished(
    status: int, message: str, error: type[Exception]
) -> None:
    """A model that is not there, and a key that may not ask it, are faults of the whole run; a request is not."""
    with pytest.raises(error):
        await ask(Endpoint({"error": {"message": message}}, status))


async def test_a_key_that_worked_is_not_blamed_for_a_refusal() -> None:
    """After replies, a 403 is about one request, such as a filter's in front of the endpoint."""
    endpoint = Answers(answer(SAID), answer({"error": {"message": "blocked"}}, 403))
    async with endpoint.served() as url, open_model("compatible/m", ModelSettings(base_url=url)) as model:
        await model.complete(saying("hi"))
        with pytest.raises(RequestRejectedError):
            await model.complete(ChatRequest(messages=saying("hi").messages, seed=1))
