"""Tests of groundup.models.client: a name becomes a model, and the model speaks real HTTP."""

import asyncio
import json

import pytest

from groundup.domain.conversations import ChatRequest, Tool
from groundup.domain.errors import UsageError
from groundup.models.opening import open_model
from groundup.models.protocol import (
    BudgetSpentError,
    ContextOverflowError,
    KeyRejectedError,
    ModelError,
    RateLimitedError,
    RefusedError,
    RequestRejectedError,
)
from groundup.models.scripted.server import ScriptedModel
from groundup.models.settings import ModelSettings
from tests.models.conftest import Write, saying, user

HELLO = '[[turn]]\ncontent = "hello"\n[[turn]]\ncontent = "again"\n'


async def test_a_scripted_model_answers_turn_by_turn(scripted: Write) -> None:
    """Which turn is said follows from the conversation, with usage and a latency of a real call."""
    async with open_model(scripted(HELLO)) as model:
        first = await model.complete(saying("hi"))
        second = await model.complete(saying("hi", "hello", "and now?"))
        third = await model.complete(saying("hi", "hello", "and now?", "again", "more?"))
    assert [reply.message.content for reply in (first, second, third)] == ["hello", "again", "That is all."]
    assert first.finish == "stop"
    assert first.usage.input_tokens > 0
    assert first.usage.output_tokens > 0
    assert first.latency_s > 0
    assert first.cost_usd is None


async def test_tools_are_called(scripted: Write) -> None:
    """A scripted call of a tool comes back with its name, its arguments and an id."""
    name = scripted('[[turn]]\n[[turn.calls]]\ntool = "bash"\narguments = {command = "ls"}\n')
    tool = Tool(name="bash", description="run", parameters={"type": "object", "properties": {}})
    async with open_model(name) as model:
        reply = await model.complete(ChatRequest(messages=(user("list"),), tools=(tool,)))
    assert reply.finish == "tool_calls"
    assert reply.message.tool_calls[0].name == "bash"
    assert json.loads(reply.message.tool_calls[0].arguments) == {"command": "ls"}
    assert reply.message.tool_calls[0].id


@pytest.mark.parametrize("broken", ['"broken", "empty"', '"drop"'])
async def test_what_passes_is_tried_again(scripted: Write, broken: str) -> None:
    """Rate limits, overload, broken answers and lost connections do not reach the caller."""
    name = scripted(
        f'[[turn]]\ncontent = "at last"\nretry_after_s = 0.01\nfail = ["rate_limit", "overload", {broken}]\n'
    )
    model = open_model(name, ModelSettings(first_pause_s=0.01))
    assert isinstance(model, ScriptedModel)
    async with model:
        reply = await model.complete(saying("hi"))
    assert reply.message.content == "at last"
    assert reply.tries == 4 + broken.count(",")
    assert model.server.answered == 1


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        ("overflow", ContextOverflowError),
        ("refusal", RefusedError),
        ("key", KeyRejectedError),
        ("quota", KeyRejectedError),
        ("request", RequestRejectedError),
    ],
)
async def test_what_does_not_pass_is_reported_at_once(
    scripted: Write, failure: str, error: type[Exception]
) -> None:
    """Each failure that no waiting mends has an error of its own, and is asked once."""
    model = open_model(scripted(f'[[turn]]\nfail = ["{failure}"]\n'))
    assert isinstance(model, ScriptedModel)
    async with model:
        with pytest.raises(error):
            await model.complete(saying("hi"))
    assert model.server.failed.total() == 1


async def test_patience_ends(scripted: Write) -> None:
    """An endpoint that goes on refusing is given up, as an infrastructure failure that says what to do."""
    name = scripted('[[turn]]\nfail = ["rate_limit", "rate_limit"]\nretry_after_s = 30\n')
    async with open_model(name, ModelSettings(patience_s=1)) as model:
        with pytest.raises(RateLimitedError, match="fewer calls at once"):
            await model.complete(saying("hi"))


async def test_no_one_listens(scripted: Write) -> None:
    """An address where nothing is says so."""
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1", patience_s=0)
    async with open_model("compatible/m", settings) as model:
        with pytest.raises(ModelError, match="cannot be reached"):
            await model.complete(saying("hi"))


async def test_calls_at_once_are_bounded(scripted: Write) -> None:
    """However many attempts ask, an endpoint gets so many calls at once and no more; none is lost."""
    model = open_model(scripted(f"latency_s = 0.01\n{HELLO}"), ModelSettings(concurrency=3))
    assert isinstance(model, ScriptedModel)
    async with model:
        replies = await asyncio.gather(*(model.complete(saying(f"hi {number}")) for number in range(30)))
    assert {reply.message.content for reply in replies} == {"hello"}
    assert model.server.answered == 30
    assert model.server.most_at_once <= 3


async def test_a_budget_is_never_exceeded(scripted: Write) -> None:
    """With a price and a limit, calls stop before the limit, however many run at once; nothing is sent then."""
    name = scripted('[[turn]]\ncontent = "hello"\noutput_tokens = 1000\n')
    settings = ModelSettings(price="0:1000", max_cost_usd=5.5, max_output_tokens=1000)
    model = open_model(name, settings)
    assert isinstance(model, ScriptedModel)
    async with model:
        replies = await asyncio.gather(
            *(model.complete(saying(f"hi {number}")) for number in range(20)), return_exceptions=True
        )
    refused = [reply for reply in replies if isinstance(reply, BudgetSpentError)]
    assert len(refused) == 15
    assert model.server.answered == 5


async def test_a_limit_needs_a_price(scripted: Write) -> None:
    """A limit that cannot be kept is not accepted."""
    with pytest.raises(UsageError, match="needs a price"):
        open_model(scripted(HELLO), ModelSettings(max_cost_usd=1))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gpt-5", "PROVIDER/MODEL"),
        ("opnai/gpt-5", "did you mean 'openai'"),
        ("compatible/x", "--base-url"),
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("scripted/nowhere.toml", "nowhere.toml"),
    ],
)
def test_names_that_mean_nothing(name: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name, an address or a key that is missing is reported before anything starts, with what to do."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=hint):
        open_model(name)
