"""Tests of groundup.models.prices: servers are asked in their own way, the estimate is from above."""

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import ChatRequest, Tool
from groundup.models.opening import open_model
from groundup.models.prices import estimated_text_tokens, estimated_tokens
from groundup.models.settings import ModelSettings
from groundup.registries.server import GatewayServer, Request, Response
from tests.models.conftest import saying


@asynccontextmanager
async def serving(answers: Mapping[str, JsonValue]) -> AsyncIterator[tuple[str, list[Request]]]:
    """Serve these answers by path; yield the base address and what was asked."""
    asked: list[Request] = []

    async def handle(request: Request) -> Response:
        asked.append(request)
        if request.path not in answers:
            return Response(404, b"{}")
        return Response(200, json.dumps(answers[request.path]).encode(), "application/json")

    async with GatewayServer(handle, methods=("POST",)) as server:
        listening = socket.create_server(("127.0.0.1", 0))
        await server.serve(listening)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", asked


@pytest.mark.parametrize(
    ("provider", "answers", "counted"),
    [
        ("vllm", {"/tokenize": {"count": 123, "max_model_len": 4096}}, 123),
        ("llamacpp", {"/apply-template": {"prompt": "<user>hi"}, "/tokenize": {"tokens": [1, 2, 3]}}, 3),
        ("llamacpp", {"/extras/tokenize/count": {"count": 5}}, 5 + 8),
    ],
)
async def test_servers_that_count(provider: str, answers: dict[str, JsonValue], counted: int) -> None:
    """The servers that can count are asked at the paths that they have."""
    async with (
        serving(answers) as (url, asked),
        open_model(f"{provider}/m", ModelSettings(base_url=url)) as model,
    ):
        assert await model.count_tokens(saying("hi")) == counted
    assert b"hi" in asked[0].body


@pytest.mark.parametrize("provider", ["vllm", "llamacpp", "sglang"])
async def test_servers_that_cannot(provider: str) -> None:
    """Where no one counts, the estimate is reported, and no failure."""
    request = saying("hi there")
    async with serving({}) as (url, _), open_model(f"{provider}/m", ModelSettings(base_url=url)) as model:
        assert await model.count_tokens(request) == estimated_tokens(request)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Counted with SmolLM2's tokenizer.
        ("def add(first, second):\n    return first + second\n", 13),
        ("The quick brown fox jumps over the lazy dog. " * 10, 101),
        ("请你从零开始编写一个完整的软件仓库。", 31),
        ("0123456789abcdef" * 10, 120),
        ('{"name": "shop", "items": [1, 2, 3], "open": true}\n' * 5, 120),
        ("", 0),
    ],
)
def test_the_estimate_is_from_above(text: str, tokens: int) -> None:
    """For ordinary texts the estimate is at least the truth, and less than twice as much."""
    found = estimated_text_tokens(text)
    assert tokens <= found <= 2 * tokens


def test_everything_counts() -> None:
    """Tools and their schemas are part of a request, and halves of characters break nothing."""
    plain = saying("hi")
    tool = Tool(name="bash", description="run a command", parameters={"type": "object", "properties": {}})
    assert estimated_tokens(ChatRequest(messages=plain.messages, tools=(tool,))) > estimated_tokens(plain)
    assert estimated_text_tokens("\ud800") >= 0
