"""`groundup models check`: what an endpoint can do, by a handful of short questions before a run relies on it."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from groundup.agents.base import EpisodeLimits
from groundup.agents.opening import open_agent
from groundup.api.flags import ModelCheckFlags
from groundup.api.requests import checked
from groundup.api.subjects import settings_of_model
from groundup.cli.console import print_document, print_table, say
from groundup.cli.options import Examples, Json
from groundup.domain.conversations import ChatReply, ChatRequest, Message, Tool
from groundup.domain.errors import UsageError
from groundup.domain.figures import money
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.models.client import EndpointModel
from groundup.models.opening import open_model
from groundup.models.prices import price_of
from groundup.models.protocol import ChatModel, ContextOverflowError, ModelError, RefusedError, UnusableModelError
from groundup.models.settings import ModelSettings
from groundup.runs.submissions import checked_model_settings

EXAMPLES: dict[str, Examples] = {
    "models check": (
        ("Does it call tools, and what will a run take?", "groundup models check -m openai/gpt-4.1 --price 2:8"),
        ("A server of your own", "groundup models check -m vllm/my-model --base-url http://127.0.0.1:8000/v1"),
        ("For programs", "groundup models check -m openai/gpt-4.1 --json"),
    ),
}
_ADD = Tool(
    name="add",
    description="Add two numbers.",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)
_WRITE = "Write a Python module of about forty lines that reads and writes CSV files. Reply with the code alone."
_WINDOWS = ("max_model_len", "context_length", "context_window", "inputTokenLimit", "max_context_length", "n_ctx")
_MOST_TOKENS = 1000
"""Of an answer: room for thoughts, and an end for a small model that never comes to one."""
_WRITTEN_TOKENS = 200
"""Of the answer that shows how fast it writes."""
_LONGEST_S = 120.0
"""For each question after the first, which may have to load the model."""
_INSTRUCTION = "word " * 3000
"""As long as a usual instruction, for the guess."""


class ModelAnswer(Record):
    """What came of one question about an endpoint."""

    asked: str
    answer: Literal["yes", "no", "refused", "unknown"]
    detail: str = ""
    seconds: float = 0.0
    cost_usd: float | None = None


def check_model(flags: ModelCheckFlags, json: Json = False) -> int:
    """Ask a model eight short questions: tools, streams, settings, window, speed, and what an attempt would take.

    Costs less than a cent with most models. Exit code 3: it answers nothing.
    """
    given: ModelCheckFlags = checked(ModelCheckFlags, flags)
    name = given.get("model")
    if not name:
        raise UsageError("name a model with -m, such as `-m openai/gpt-4.1`")
    settings = ModelSettings.model_validate(
        {
            "patience_s": 30.0,
            **checked_model_settings(name, settings_of_model(given)),
            "price": given.get("price"),
            "prices": given.get("prices"),
        }
    )
    say(f"groundup: asking {name} eight short questions; a slow model takes minutes")
    answers = asyncio.run(_all_answers(name, settings))
    if json:
        print_document({"model": name, "answers": [one.model_dump(mode="json") for one in answers]})
        return 0
    rows = [(one.asked, one.answer, f"{one.seconds:.1f}" if one.seconds else "", one.detail) for one in answers]
    print_table(name, ("", "", "seconds", "detail"), rows)
    return 0


async def _all_answers(name: str, settings: ModelSettings) -> list[ModelAnswer]:
    """Return what came of each question, and say it at once: a model on a processor takes a minute for each."""
    answers = []
    async for one in _answers(name, settings):
        say(f"groundup: {one.asked}: {one.answer}")
        answers.append(one)
    return answers


async def _answers(name: str, settings: ModelSettings) -> AsyncIterator[ModelAnswer]:
    async with open_model(name, settings) as model:
        if isinstance(model, EndpointModel):
            await model.reach()
        reply = await model.complete(_question("Reply with the one word: ready"))
        yield _answered("a question", reply, reply.message.content.strip()[:60] or f"empty ({reply.finish})")
        yield ModelAnswer(
            asked="tokens reported",
            answer="no" if reply.estimated else "yes",
            detail="estimated from above" if reply.estimated else _counts(reply),
        )
        async for answer in _tools(model):
            yield answer
        yield await _asked("temperature 0", model, _question("Say a").but(temperature=0.0))
        yield await _asked("a seed", model, _question("Say a").but(seed=7))
        yield await _window(model, settings)
        written = await _reply_or_why("speed", model, _question(_WRITE).but(max_output_tokens=_WRITTEN_TOKENS))
    async with open_model(name, settings.but(stream=True)) as model:
        yield await _asked("a stream", model, _question("Say a"))
    speed = 0.0
    if isinstance(written, ChatReply):
        speed = written.usage.output_tokens / written.latency_s if written.latency_s else 0.0
        written = _answered("speed", written, f"{speed:.2g} output tokens a second, one call at a time")
    yield written
    yield _guess(name, settings, speed)


async def _asked(what: str, model: ChatModel, request: ChatRequest) -> ModelAnswer:
    """Return whether the endpoint answers *request* as it is. Raises `UnusableModelError`."""
    reply = await _reply_or_why(what, model, request)
    return _answered(what, reply) if isinstance(reply, ChatReply) else reply


async def _reply_or_why(what: str, model: ChatModel, request: ChatRequest) -> ChatReply | ModelAnswer:
    """Return the reply, or why there is none. Raises `UnusableModelError`."""
    try:
        async with asyncio.timeout(_LONGEST_S):
            return await model.complete(request)
    except UnusableModelError:
        raise
    except TimeoutError:
        return ModelAnswer(asked=what, answer="unknown", detail=f"no answer within {_LONGEST_S:g} s")
    except (ModelError, RefusedError, ContextOverflowError) as error:
        return ModelAnswer(asked=what, answer="refused", detail=str(error))


def _answered(what: str, reply: ChatReply, detail: str = "") -> ModelAnswer:
    tried = "" if reply.tries == 1 else f" (after {reply.tries} tries)"
    return ModelAnswer(
        asked=what, answer="yes", detail=detail + tried, seconds=reply.latency_s, cost_usd=reply.cost_usd
    )


async def _tools(model: ChatModel) -> AsyncIterator[ModelAnswer]:
    """Yield whether a tool is called with arguments that fit, and whether its result is taken."""
    request = _question("What is 2 plus 3? Use the tool add.").but(tools=(_ADD,))
    reply = await _reply_or_why("tools", model, request)
    if isinstance(reply, ModelAnswer):
        yield reply.but(detail=f"{reply.detail}; use --agent-option calling=text")
        return
    calls = reply.message.tool_calls
    if not calls:
        said = f"it wrote {reply.message.content.strip()[:60]!r} instead; use --agent-option calling=text"
        yield _answered("tools", reply, said).but(answer="no")
        return
    yield _answered("tools", reply, f"{calls[0].name} {calls[0].arguments[:60]}").but(
        answer="yes" if calls[0].name == _ADD.name and _is_sum(calls[0].arguments) else "no"
    )
    results = tuple(Message(role="tool", content="5", tool_call_id=call.id) for call in calls)
    followed = request.but(messages=(*request.messages, reply.message, *results))
    yield await _asked("a tool's result", model, followed)


def _is_sum(arguments: str) -> bool:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return isinstance(given, dict) and {"a", "b"} <= given.keys()


async def _window(model: ChatModel, settings: ModelSettings) -> ModelAnswer:
    about = await model.about() if isinstance(model, EndpointModel) else {}
    found = next((value for name in _WINDOWS if isinstance(value := about.get(name), int)), None)
    if found is None and isinstance(meta := about.get("meta"), dict):
        found = next(
            (value for name in ("n_ctx", "n_ctx_train") if isinstance(value := meta.get(name), int)), None
        )
    said = settings.context_tokens or model.context_tokens
    if found is None and said is None:
        return ModelAnswer(
            asked="window", answer="unknown", detail="give --context-tokens, or nothing is summed up"
        )
    if found is not None and said is not None and said > found:
        return ModelAnswer(asked="window", answer="no", detail=f"{said:,} tokens are more than its {found:,}")
    hint = "" if said else f"; give --context-tokens {found}"
    return ModelAnswer(asked="window", answer="yes", detail=f"{found or said:,} tokens{hint}")


def _guess(name: str, settings: ModelSettings, speed: float) -> ModelAnswer:
    """Guess what an attempt of the loop takes."""
    task = Task(id="guess", suite="guess", instruction=_INSTRUCTION, limits=Limits())
    usage = open_agent("loop", {}).expected_usage(task, EpisodeLimits(), Path)
    assert usage is not None, "the loop guesses for every task"
    price = price_of(name, settings)
    cost = "no price: give --price INPUT:OUTPUT" if price is None else f"about {money(price.cost_usd(usage), 2)}"
    minutes = f", {usage.output_tokens / speed / 60:.0f} minutes of writing" if speed else ""
    tokens = f"{usage.input_tokens:,} input and {usage.output_tokens:,} output tokens"
    return ModelAnswer(
        asked="an attempt of loop", answer="unknown", detail=f"a guess for 90 turns: {tokens}, {cost}{minutes}"
    )


def _question(text: str) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), max_output_tokens=_MOST_TOKENS)


def _counts(reply: ChatReply) -> str:
    usage = reply.usage
    parts = [f"{usage.input_tokens} in, {usage.output_tokens} out"]
    parts += [f"{usage.cached_input_tokens} cached"] if usage.cached_input_tokens else []
    parts += [f"{usage.reasoning_tokens} of thoughts"] if usage.reasoning_tokens else []
    return ", ".join(parts)
