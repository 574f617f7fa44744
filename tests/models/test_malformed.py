"""Malformed replies and requests, many of each form by seed: an error of ours or a reply, and a call for each."""

import asyncio
import copy
import json
import random
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx
import pytest

from groundup.agents.loop import create
from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.models.answering import chat, gemini, messages, responses
from groundup.models.answering.forms import Asked
from groundup.models.gateway import ModelGateway
from groundup.models.opening import open_model
from groundup.models.protocol import ContextOverflowError, ModelError, RefusedError
from groundup.models.settings import ModelSettings
from groundup.registries.server import GatewayServer, Request, Response
from tests.agents.fakes import FakeModel, Memory, agent_context, says
from tests.effort import often
from tests.models.conftest import Write, saying
from tests.models.test_gateway import SCRIPT
from tests.patience import patient
from tests.sandbox.fake import FakeProvider

TIMES = often(500)
REPLY = says("Let me look.", ("bash", {"command": "ls"})).but(model="m")
REPLY = REPLY.but(message=REPLY.message.but(reasoning="Files first."))
Api = Literal["chat", "responses", "messages", "gemini"]
APIS: tuple[Api, ...] = ("chat", "responses", "messages", "gemini")
ASKED = Asked(request=ChatRequest(messages=()), model="m")
GOOD: dict[Api, dict[str, Any]] = {
    "chat": chat.reply_document(REPLY, "m"),
    "responses": responses.reply_document(REPLY, ASKED),
    "messages": messages.reply_document(REPLY, "m"),
    "gemini": gemini.reply_document(REPLY, "m"),
}
EVENTS: dict[Api, bytes] = {
    "chat": b"".join(chat.reply_events(REPLY, "m", usage=True)),
    "responses": b"".join(responses.reply_events(REPLY, ASKED)),
    "messages": b"".join(messages.reply_events(REPLY, "m")),
    "gemini": b"".join(gemini.reply_events(REPLY, "m")),
}
DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e400, 2**70, 0.5, "", "x" * 5000, "\ud800", "null", [], {}, [None], [[]], {"": None}, DEEP,
    {"type": "text"}, {"type": 3}, [{"type": "tool_use"}], {"error": {"message": "no", "code": "x"}}, "[DONE]",
)  # fmt: skip


def mutated(document: Any, rng: random.Random) -> Any:
    """Return *document* with one to three things in it changed."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        places = list(_places(document))
        if not places:
            return rng.choice(ODD)
        holder, key = rng.choice(places)
        match rng.randrange(4):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, list):
                holder += holder[:3]
            case 2 if isinstance(holder, dict):
                holder[f"{key}_"] = holder.pop(key)
            case _:
                holder[key] = copy.deepcopy(rng.choice(ODD))
    return document


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(pairs):
        yield document, key
        if isinstance(value, dict | list):
            yield from _places(value)


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return *content* with bytes cut off, changed, doubled or put in."""
    start = rng.randrange(len(content))
    end = min(len(content), start + rng.randint(1, 40))
    match rng.randrange(5):
        case 0:
            return content[:start]
        case 1:
            return content[:start] + content[end:]
        case 2:
            return content[:end] + content[start:]
        case 3:
            return content[:start] + rng.randbytes(rng.randint(1, 9)) + content[end:]
        case _:
            return (
                content[:start] + rng.choice([b"\n\n", b"data: ", b'"', b"}", b"\x00", b"\xff"]) + content[start:]
            )


def answers(api: Api) -> Iterator[Response]:
    """Yield what a broken endpoint says to requests, the same for every test run."""
    for seed in range(TIMES):
        rng = random.Random(f"{api} {seed}")
        whole = json.dumps(mutated(GOOD[api], rng)).encode(errors="replace")
        body, kind = rng.choice([
            (whole, "application/json"),
            (whole, "application/json"),
            (damaged(whole, rng), "application/json"),
            (damaged(EVENTS[api], rng), "text/event-stream"),
            (_changed_events(EVENTS[api], rng), "text/event-stream"),
        ])  # fmt: skip
        status = 200 if rng.random() < 0.9 else rng.choice([201, 204, 302, 400, 403, 404, 413, 422, 429, 500, 529])
        yield Response(status, b"" if status == 204 else body, kind)


def _changed_events(stream: bytes, rng: random.Random) -> bytes:
    """Return *stream* with some of its events changed, left out or told twice."""
    events = []
    for event in stream.split(b"\n\n"):
        head, mark, data = event.partition(b"data: ")
        if rng.random() < 0.4 and data.startswith(b"{"):
            data = json.dumps(mutated(json.loads(data), rng)).encode(errors="replace")
        if rng.random() < 0.9:
            events += [head + mark + data] * (2 if rng.random() < 0.1 else 1)
    return b"\n\n".join(events)


@asynccontextmanager
async def serving(handle: Callable[[Request], Response]) -> AsyncIterator[str]:
    """Yield the address of an endpoint on loopback."""

    async def answer(request: Request) -> Response:
        return handle(request)

    listening = socket.create_server(("127.0.0.1", 0))
    server = GatewayServer(answer, methods=("POST",))
    try:
        await server.serve(listening)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        await server.close()


@pytest.mark.parametrize("api", APIS)
async def test_a_malformed_reply_is_a_reply_or_an_error_of_ours(api: Api) -> None:
    """Each is asked for once: nothing is asked again that was answered, unless only a stream was wanted."""
    given = answers(api)
    asked: list[Request] = []
    good = 0

    def handle(request: Request) -> Response:
        asked.append(request)
        return next(given)

    async with serving(handle) as url:
        settings = ModelSettings(base_url=url, api=api, patience_s=0, price="1:1", timeout_s=patient(30))
        async with open_model("compatible/m", settings) as model:
            while len(asked) < TIMES:
                before = len(asked)
                try:
                    reply = await model.complete(saying("hi"))
                except (ModelError, RefusedError, ContextOverflowError):
                    pass
                else:
                    good += 1
                    assert ChatReply.model_validate_json(reply.model_dump_json()).cost_usd is not None
                assert len(asked) == before + 1
    assert good > TIMES // 10


@pytest.mark.parametrize("api", APIS)
async def test_a_reply_after_broken_ones_is_the_last_call(api: Api) -> None:
    """What is broken is asked for again until it is whole, and then no more."""
    wrong = [damaged(json.dumps(GOOD[api]).encode(), random.Random(seed))[:-1] for seed in range(50)]
    broken = [body for body in wrong if not _is_json(body)]
    asked = 0

    def handle(request: Request) -> Response:
        nonlocal asked
        asked += 1
        body = broken[asked // 2 % len(broken)] if asked % 2 else json.dumps(GOOD[api]).encode()
        return Response(200, body, "application/json")

    async with serving(handle) as url:
        settings = ModelSettings(base_url=url, api=api, first_pause_s=0.001, patience_s=patient(30))
        async with open_model("compatible/m", settings) as model:
            for number in range(1, 40):
                reply = await model.complete(saying("hi"))
                assert (asked, reply.tries) == (2 * number, 2)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


QUESTIONS: dict[str, dict[str, Any]] = {
    chat.PATH: {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be quick"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "a.py"},
        ],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
        "temperature": 0.5, "max_tokens": 5, "stop": ["x"], "tool_choice": "auto",
    },
    responses.PATH: {
        "model": "m", "instructions": "be quick",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "a.py"},
        ],
        "tools": [{"type": "function", "name": "bash", "parameters": {"type": "object"}}],
    },
    messages.PATH: {
        "model": "m", "max_tokens": 5, "system": [{"type": "text", "text": "be quick"}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "a.py"}]},
        ],
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}], "tool_choice": {"type": "auto"},
    },
    "/v1beta/models/m:generateContent": {
        "systemInstruction": {"parts": [{"text": "be quick"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "a.py"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "bash", "parameters": {"type": "OBJECT"}}]}],
        "generationConfig": {"temperature": 0.5, "stopSequences": ["x"]},
    },
}  # fmt: skip


@pytest.mark.parametrize("path", list(QUESTIONS))
async def test_a_malformed_request_is_answered(path: str, scripted: Write) -> None:
    """A program gets a reply or an error with its reason, and the gateway goes on."""
    model = open_model(scripted(SCRIPT))
    statuses = []
    async with model, ModelGateway(model) as gateway:
        listening = socket.create_server(("127.0.0.1", 0))
        await gateway.server.serve(listening)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
        async with httpx.AsyncClient(trust_env=False, timeout=patient(60)) as http:
            for seed in range(TIMES):
                rng = random.Random(f"{path} {seed}")
                body = json.dumps(mutated(QUESTIONS[path], rng)).encode(errors="replace")
                body = damaged(body, rng) if rng.random() < 0.2 else body
                answer = await http.post(url, content=body, headers={"Content-Type": "application/json"})
                assert answer.status_code in (200, 400), (seed, answer.text)
                assert answer.status_code == 200 or answer.json()["error"]["message"], seed
                statuses.append(answer.status_code)
    assert TIMES // 10 < statuses.count(200) < TIMES - TIMES // 10


async def test_no_reply_loses_an_attempt(tmp_path: object) -> None:
    """An agent goes on after calls of any kind, and ends by an outcome."""
    from pathlib import Path

    rng = random.Random(35)
    said = 0

    def say(request: ChatRequest) -> ChatReply:
        nonlocal said
        said += 1
        name = rng.choice(
            [
                "bash",
                "submit",
                "edit",
                "read",
                "todo",
                "",
                "no such tool",
                "\ud800".encode(errors="replace").decode(),
            ]
        )
        good = {"command": "ls", "path": "a", "old": "x", "new": "y", "notes": "z"}
        arguments = json.dumps(mutated(good, rng))
        if rng.random() < 0.2:
            arguments = damaged(arguments.encode(errors="replace"), rng).decode(errors="replace")
        return says("" if rng.random() < 0.5 else "x", (name, arguments))

    assert isinstance(tmp_path, Path)
    memory = Memory()
    context = agent_context(tmp_path, FakeModel(say=say), trajectory=memory, provider=FakeProvider())
    ended = await asyncio.wait_for(
        create({"turns": TIMES, "tools": "edit,read,todo"}).attempt(context), patient(120)
    )
    assert (ended.turns, ended.detail, said) == (TIMES, f"{TIMES} turns", TIMES)
    assert len(memory.of("result")) == TIMES


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (429, "rate_limit_error"), (500, "api_error"), (503, "api_error")],
)
def test_an_error_has_the_kind_of_its_status(status: int, kind: str) -> None:
    """A client of Anthropic's form tries again by the kind; a failure of the server is not the client's."""
    assert messages.error_document(status, "no")["error"] == {"type": kind, "message": "no"}
