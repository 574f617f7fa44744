"""Tests of groundup.models.gateway: programs speak three forms of HTTP, the attempt's limits hold."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.limits import EpisodeLimits
from groundup.domain.subjects import Outcome
from groundup.models.exchanges import Exchange, Stop
from groundup.models.gateway import ModelGateway
from groundup.models.opening import open_model
from groundup.models.prices import estimated_tokens
from groundup.models.protocol import (
    BudgetSpentError,
    ContextOverflowError,
    KeyRejectedError,
    ModelError,
    RefusedError,
    RequestRejectedError,
)
from groundup.models.scripted.server import ScriptedModel
from groundup.models.settings import ModelSettings
from groundup.registries.server import Request
from tests.agents.fakes import FakeModel, says
from tests.models.conftest import Write, saying
from tests.patience import patient

SCRIPT = """
[[turn]]
content = "Let me look."
reasoning = "Files first."
[[turn.calls]]
tool = "bash"
arguments = {command = "ls"}
[[turn]]
content = "Done."
"""
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}


class Client:
    """A program inside, and what the gateway recorded of it."""

    def __init__(self, http: httpx.AsyncClient, gateway: ModelGateway, model: ScriptedModel) -> None:
        self.gateway = gateway
        self.model = model
        self.exchanges: list[Exchange] = []
        self.root_url = str(http.base_url).rstrip("/")
        self._http = http

    async def post(self, path: str, document: dict[str, Any]) -> httpx.Response:
        """Send a request."""
        headers = {"Content-Type": "application/json"}
        return await self._http.post(path, content=json.dumps(document), headers=headers)

    async def json(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """Return a good answer."""
        answer = await self.post(path, document)
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()
        return result

    async def events(self, path: str, document: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream."""
        answer = await self.post(path, document | {"stream": True})
        assert answer.headers["content-type"] == "text/event-stream"
        lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    async def get(self, path: str) -> httpx.Response:
        """Ask for something."""
        return await self._http.get(path)


@asynccontextmanager
async def client(
    name: str, limits: EpisodeLimits | None = None, settings: ModelSettings | None = None
) -> AsyncIterator[Client]:
    """Serve the model *name* through a gateway, on a loopback port."""
    ended: list[Exchange] = []
    model = open_model(name, settings)
    assert isinstance(model, ScriptedModel)
    async with model, ModelGateway(model, limits=limits, record=ended.append) as gateway:
        listening = socket.create_server(("127.0.0.1", 0))
        address = gateway.address(listening.getsockname()[1])
        await gateway.server.serve(listening)
        async with httpx.AsyncClient(base_url=address.root_url, trust_env=False, timeout=patient(60)) as http:
            made = Client(http, gateway, model)
            made.exchanges = ended
            yield made


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return a Chat Completions request with a tool."""
    tool = {"type": "function", "function": {"name": "bash", "description": "run", "parameters": SCHEMA}}
    return {"model": "any", "messages": [{"role": "user", "content": "hi"}, *messages], "tools": [tool]}


async def test_chat_completions_as_a_conversation(scripted: Write) -> None:
    """A call of a tool goes out, its result comes in, usage is reported, and the exchanges say what is new."""
    async with client(scripted(SCRIPT)) as inside:
        first = await inside.json("/v1/chat/completions", chat())
        message = first["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "a.py"}
        second = await inside.json("/v1/chat/completions", chat(message, result))
    assert first["choices"][0]["finish_reason"] == "tool_calls"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"command": "ls"}
    assert first["usage"]["total_tokens"] > 0
    assert second["choices"][0]["message"]["content"] == "Done."
    assert [(exchange.continues, exchange.shared) for exchange in inside.exchanges] == [(None, 0), (0, 2)]
    assert [news.content for news in inside.exchanges[1].news] == ["a.py"]
    assert inside.gateway.account.turns == 2


async def test_chat_completions_streamed(scripted: Write) -> None:
    """Chunks add up to the reply, the usage comes last where it is wanted."""
    async with client(scripted(SCRIPT)) as inside:
        events = await inside.events("/v1/chat/completions", chat() | {"stream_options": {"include_usage": True}})
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Let me look."
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert calls[0]["function"]["name"] == "bash"
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"command": "ls"}
    assert events[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert events[-1]["usage"]["completion_tokens"] > 0


async def test_responses_as_a_conversation(scripted: Write) -> None:
    """Items of the first response go back with the tool's result, as clients that store nothing send them."""
    tool = {"type": "function", "name": "bash", "parameters": SCHEMA}
    async with client(scripted(SCRIPT)) as inside:
        asked = {"model": "any", "instructions": "be quick", "input": "hi", "tools": [tool]}
        first = await inside.json("/v1/responses", asked)
        call = first["output"][-1]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.py"}
        history = [{"role": "user", "content": "hi"}, *first["output"], output]
        second = await inside.json("/v1/responses", asked | {"input": history})
    assert [item["type"] for item in first["output"]] == ["reasoning", "message", "function_call"]
    assert json.loads(call["arguments"]) == {"command": "ls"}
    assert second["output"][0]["content"][0]["text"] == "Done."
    assert [exchange.shared for exchange in inside.exchanges] == [0, 3]


async def test_responses_streamed(scripted: Write) -> None:
    """Events come numbered and in order, and the last one has the whole response."""
    async with client(scripted(SCRIPT)) as inside:
        events = await inside.events("/v1/responses", {"model": "any", "input": "hi"})
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    growing = [event for event in events if event["type"].endswith(".delta")]
    assert "".join(event["delta"] for event in growing[:-1]).endswith("look.")
    places = {(event["output_index"], event.get("content_index")) for event in growing}
    assert places == {(0, 0), (1, 0), (2, None)}, "thoughts, text, arguments"
    assert events[-1]["response"]["usage"]["output_tokens"] > 0


async def test_tools_of_a_namespace_are_called_by_it(scripted: Write) -> None:
    """As Codex has those of its MCP servers: the model knows them by one long name, the program by both parts."""
    tool = {"type": "function", "name": "bash", "parameters": SCHEMA}
    space = {"type": "namespace", "name": "mcp__house", "tools": [tool]}
    script = '[[turn]]\n[[turn.calls]]\ntool = "mcp__house__bash"\narguments = {command = "ls"}\n'
    async with client(scripted(script)) as program:
        ended = await program.json("/v1/responses", {"input": "Go.", "tools": [space]})
        (call,) = ended["output"]
        assert (call["type"], call["namespace"], call["name"]) == ("function_call", "mcp__house", "bash")
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.py"}
        await program.json("/v1/responses", {"input": [call, output], "tools": [space]})
        first, second = (exchange.request for exchange in program.exchanges)
        assert [one.name for one in first.tools] == ["mcp__house__bash"]
        assert second.messages[0].tool_calls[0].name == "mcp__house__bash"


async def test_a_tool_that_takes_free_text(scripted: Write) -> None:
    """Where a client's tool takes text instead of arguments, the model fills a field and the client gets text."""
    name = scripted('[[turn]]\n[[turn.calls]]\ntool = "patch"\narguments = {input = "*** Begin"}\n')
    tool = {"type": "custom", "name": "patch", "description": "apply", "format": {"type": "text"}}
    async with client(name) as inside:
        ended = await inside.json("/v1/responses", {"model": "any", "input": "hi", "tools": [tool]})
    assert ended["output"][0]["type"] == "custom_tool_call"
    assert ended["output"][0]["input"] == "*** Begin"


async def test_messages_as_a_conversation(scripted: Write) -> None:
    """Blocks of the first message go back with the tool's result."""
    tool = {"name": "bash", "description": "run", "input_schema": SCHEMA}
    asked = {"model": "any", "max_tokens": 99, "system": "be quick", "tools": [tool]}
    hello = {"role": "user", "content": "hi"}
    async with client(scripted(SCRIPT)) as inside:
        first = await inside.json("/v1/messages", asked | {"messages": [hello]})
        call = first["content"][-1]
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "a.py"}]}
        turns = [hello, {"role": "assistant", "content": first["content"]}, {"role": "user", "content": [result]}]
        second = await inside.json("/v1/messages", asked | {"messages": turns})
        counted = await inside.json("/v1/messages/count_tokens", asked | {"messages": turns})
    assert first["stop_reason"] == "tool_use"
    assert call["input"] == {"command": "ls"}
    assert second["content"] == [{"type": "text", "text": "Done."}]
    assert counted["input_tokens"] > 0
    assert inside.exchanges[0].request.max_output_tokens == 99
    assert [exchange.shared for exchange in inside.exchanges] == [0, 3]


async def test_messages_streamed(scripted: Write) -> None:
    """Each block starts, grows and stops; the reason to stop and the usage come at the end."""
    async with client(scripted(SCRIPT)) as inside:
        asked = {"model": "any", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
        events = await inside.events("/v1/messages", asked)
    kinds = [event["type"] for event in events]
    assert kinds[0] == "message_start"
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 3
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    partial = "".join(
        event["delta"].get("partial_json", "") for event in events if "index" in event and "delta" in event
    )
    assert json.loads(partial) == {"command": "ls"}


ASKED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": chat(),
    "/v1/responses": {"model": "any", "input": "hi"},
    "/v1/messages": {"model": "any", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
}


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_limit_ends_the_conversation(scripted: Write, path: str, stream: bool) -> None:
    """After the last turn that is allowed the model is not asked again, and clients give up."""
    async with client(scripted(SCRIPT), EpisodeLimits(turns=1)) as inside:
        await inside.json(path, ASKED[path])
        assert inside.gateway.stopped is None
        refused = await inside.post(path, ASKED[path] | {"stream": stream})
        stop = await inside.gateway.until_stopped()
    assert refused.status_code == 402
    assert "1 turns" in refused.json()["error"]["message"]
    assert stop.outcome is Outcome.LIMIT
    assert inside.model.server.answered == 1
    assert inside.exchanges[-1].error


async def test_turns_at_once_count_too(scripted: Write) -> None:
    """A program that asks many times at once gets no more turns than its limit."""
    async with client(f"{scripted('latency_s = 0.05' + SCRIPT)}", EpisodeLimits(turns=3)) as inside:
        answers = await asyncio.gather(*(inside.post("/v1/chat/completions", chat()) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [402] * 5
    assert inside.model.server.answered == 3


@pytest.mark.parametrize(
    ("failure", "status", "outcome"),
    [
        ("overflow", 400, None),
        ("refusal", 400, None),
        ("request", 400, None),
        ("key", 402, Outcome.INFRASTRUCTURE),
    ],
)
@pytest.mark.parametrize("path", ASKED)
async def test_failures_are_reported_without_addresses(
    scripted: Write, path: str, failure: str, status: int, outcome: Outcome | None
) -> None:
    """A program learns what it can do something about; where the endpoint is stays outside."""
    async with client(scripted(f'[[turn]]\nfail = ["{failure}"]\n')) as inside:
        answer = await inside.post(path, ASKED[path])
        outside = inside.model.server.base_url
    assert answer.status_code == status
    assert outside not in answer.text
    assert outside in (inside.exchanges[0].error or "")
    assert (inside.gateway.stopped.outcome if inside.gateway.stopped else None) is outcome


async def test_the_runs_budget_ends_the_conversation(scripted: Write) -> None:
    """When the run's money is spent, the attempt ends by its budget."""
    settings = ModelSettings(price="1000:1000", max_cost_usd=0.01)
    async with client(scripted(SCRIPT), settings=settings) as inside:
        answer = await inside.post("/v1/messages", ASKED["/v1/messages"])
        stop = await inside.gateway.until_stopped()
    assert answer.status_code == 402
    assert stop.outcome is Outcome.BUDGET
    assert inside.model.server.answered == 0


@pytest.mark.parametrize(
    ("path", "document", "hint"),
    [
        ("/v1/chat/completions", {"model": "any"}, "messages"),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "image_url",
        ),
        ("/v1/responses", {"input": "hi", "previous_response_id": "resp_1"}, "whole conversation"),
        ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input_image"),
        ("/v1/messages", {"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "image"),
    ],
)
async def test_what_cannot_be_passed_on_is_refused(
    scripted: Write, path: str, document: dict[str, Any], hint: str
) -> None:
    """Images, stored conversations and broken requests are refused with a sentence; nothing is asked."""
    async with client(scripted(SCRIPT)) as inside:
        answer = await inside.post(path, document)
    assert answer.status_code == 400
    assert hint in answer.json()["error"]["message"]
    assert inside.model.server.answered == 0


async def test_what_models_there_are(scripted: Write) -> None:
    """Clients that look for models find the one; other paths say what there is."""
    async with client(scripted(SCRIPT)) as inside:
        listed = (await inside.get("/v1/models")).json()
        elsewhere = await inside.get("/v1/embeddings")
    assert [model["id"] for model in listed["data"]] == ["script.toml"]
    assert elsewhere.status_code == 404


async def test_our_own_client_speaks_to_it(scripted: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one side writes in the Messages form the other side reads: nothing is lost there and back."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    async with client(scripted(SCRIPT)) as inside:
        settings = ModelSettings(base_url=f"{inside.root_url}/v1")
        async with open_model("anthropic/any", settings) as model:
            asked = saying("hi")
            reply = await model.complete(asked)
            result = Message(role="tool", tool_call_id=reply.message.tool_calls[0].id, content="a.py")
            second = await model.complete(ChatRequest(messages=(*asked.messages, reply.message, result)))
    assert reply.message.content == "Let me look."
    assert json.loads(reply.message.tool_calls[0].arguments) == {"command": "ls"}
    assert (reply.finish, second.finish) == ("tool_calls", "stop")
    assert reply.usage.input_tokens == (inside.exchanges[0].reply or reply).usage.input_tokens
    assert second.message.content == "Done."
    assert [message.role for message in inside.exchanges[1].request.messages] == ["user", "assistant", "tool"]


async def test_halves_of_characters_do_no_harm(scripted: Write) -> None:
    """Text that no encoding can hold, from a program or a model, is replaced instead of failing the attempt."""
    name = scripted('[[turn]]\ncontent = "fine"\n')
    async with client(name) as inside:
        ended = await inside.json("/v1/chat/completions", chat({"role": "user", "content": "half \ud800 of it"}))
    assert ended["choices"][0]["message"]["content"] == "fine"
    assert inside.exchanges[0].request.messages[1].content == "half ? of it"


HELLO = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
HELLO_GEMINI = json.dumps({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}).encode()
GEMINI_AT = "/v1beta/models/m"


async def answered(gateway: ModelGateway, path: str, body: bytes = b"", method: str = "POST") -> tuple[int, Any]:
    """Return status and document of an answer, without a socket."""
    response = await gateway._handle(Request(path, {}, method, body))
    assert isinstance(response.body, bytes)
    assert response.content_type == "application/json"
    return response.status, json.loads(response.body)


async def test_what_is_at_each_path() -> None:
    """The model under its short name, what is served, and how many tokens a request has."""
    gateway = ModelGateway(FakeModel([says("Hello."), says("Hello."), says("Hello."), says("Hello.")]))
    about = {
        "id": "model",
        "object": "model",
        "type": "model",
        "display_name": "model",
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "owned_by": "groundup",
    }
    served = ["/v1/chat/completions", "/v1/responses", "/v1/messages"]
    assert await answered(gateway, "/v1/models", method="GET") == (
        200, {"object": "list", "data": [about], "has_more": False},
    )  # fmt: skip
    assert await answered(gateway, "/v1/models/any/?x=1", method="GET") == (200, about)
    assert await answered(gateway, "/", method="GET") == (200, {"serves": served})
    tokens = estimated_tokens(ChatRequest(messages=(Message(role="user", content="hi"),)))
    assert await answered(gateway, "/v1/messages/count_tokens", HELLO) == (200, {"input_tokens": tokens})
    assert await answered(gateway, f"{GEMINI_AT}:countTokens", HELLO_GEMINI) == (200, {"totalTokens": tokens})
    for path in (*served, *(f"{one}/" for one in served[:1])):
        body = HELLO if path != "/v1/responses" else json.dumps({"model": "m", "input": "hi"}).encode()
        status, document = await answered(gateway, path, body)
        assert (status, "Hello." in json.dumps(document)) == (200, True)
    for path, method in (("/v2", "POST"), (served[0], "GET"), (f"{GEMINI_AT}:generateContent", "GET")):
        status, document = await answered(gateway, path, HELLO, method)
        assert (status, document["error"]["message"]) == (
            404, f"nothing is at {path}; there is {', '.join(served)}",
        )  # fmt: skip
    for path in (*served, "/v1/messages/count_tokens", f"{GEMINI_AT}:countTokens", f"{GEMINI_AT}:generateContent"):
        status, document = await answered(gateway, path, b"[]")
        assert (status, document["error"]["message"]) == (400, "the body is no JSON object")
    assert gateway.account.turns == 4


UNREACHED = "the model cannot be reached: no further request is answered"


@pytest.mark.parametrize(
    ("error", "status", "told", "stop"),
    [
        (ContextOverflowError("long"), 400, "prompt is too long: over the model's maximum context length", None),
        (RefusedError("no"), 400, "the model does not answer this for its content (content_filter)", None),
        (RequestRejectedError("odd"), 400, "the model's endpoint does not understand this request", None),
        (
            BudgetSpentError("spent"),
            402,
            "the budget is spent: no further request is answered",
            Stop(outcome=Outcome.BUDGET, detail="spent"),
        ),
        (ModelError("down"), 402, UNREACHED, Stop(outcome=Outcome.INFRASTRUCTURE, detail="down")),
        (
            KeyRejectedError("key"),
            402,
            UNREACHED,
            Stop(outcome=Outcome.INFRASTRUCTURE, detail="key", of_the_run=True),
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_each_failure_is_told_without_its_details(
    error: Exception, status: int, told: str, stop: Stop | None, stream: bool
) -> None:
    """These are recorded; what time does not mend ends the attempt, and the next request says so."""
    exchanges: list[Exchange] = []
    model = FakeModel([error, says("Hello.")])
    gateway = ModelGateway(model, record=exchanges.append)
    body = json.dumps({**json.loads(HELLO), "stream": stream}).encode()
    found, document = await answered(gateway, "/v1/chat/completions", body)
    assert (found, document["error"]["message"]) == (status, told)
    assert (exchanges[0].error, exchanges[0].declined) == (str(error), isinstance(error, RefusedError))
    assert gateway.stopped == stop
    found, document = await answered(gateway, "/v1/chat/completions", HELLO)
    if stop is None:
        assert (found, gateway.account.turns) == (200, 1)
        return
    assert (found, document["error"]["message"]) == (402, f"{stop.detail}: no further request is answered")
    assert await gateway.until_stopped() == stop
    assert len(model.requests) == 1


async def test_a_program_s_variables() -> None:
    """The gateway's address in both families' forms, and a key that means nothing."""
    found = ModelGateway(FakeModel()).address(1234)
    assert found.environment() == {
        "OPENAI_BASE_URL": "http://127.0.0.1:1234/v1",
        "OPENAI_API_BASE": "http://127.0.0.1:1234/v1",
        "OPENAI_API_KEY": found.key,
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1234",
        "ANTHROPIC_API_KEY": found.key,
    }
    assert (found.model, found.key[:10]) == ("model", "sk-inside-")
