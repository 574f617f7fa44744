"""`groundup models check`: what an endpoint can do, before a run relies on it."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundup.registries.server import GatewayServer, Request, Response
from tests.cli.conftest import Groundup

SCRIPT = """
[[turn]]
content = "ready"
[[rule]]
when = "Use the tool add"
[[rule.calls]]
tool = "add"
arguments = {a = 2, b = 3}
"""


@pytest.fixture
def stern() -> Iterator[str]:
    """Serve an endpoint that refuses a temperature and code, has no tools and no usage, and knows its window."""
    loop = asyncio.new_event_loop()
    listening = socket.create_server(("127.0.0.1", 0))

    async def handle(request: Request) -> Response:
        if request.path == "/v1/models":
            return _json(200, {"data": [{"id": "m", "max_model_len": 4096}]})
        asked: dict[str, Any] = json.loads(request.body)
        if "temperature" in asked:
            return _json(400, {"error": {"message": "temperature is not supported"}})
        if "CSV" in str(asked["messages"]):
            return _json(400, {"error": {"message": "no code here"}})
        return _json(200, {"choices": [{"message": {"content": "5"}, "finish_reason": "stop"}]})

    server = GatewayServer(handle, methods=("GET", "POST"))
    loop.run_until_complete(server.serve(listening))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    asyncio.run_coroutine_threadsafe(server.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _json(status: int, document: dict[str, Any]) -> Response:
    return Response(status, json.dumps(document).encode(), "application/json")


def test_a_model_that_can_all(groundup: Groundup, tmp_path: Path) -> None:
    """Each question has its line, the last one says what an attempt would cost."""
    (tmp_path / "s.toml").write_text(SCRIPT)
    ended = groundup("models", "check", "-m", f"scripted/{tmp_path}/s.toml", "--price", "2:8", "--json")
    assert ended.code == 0, ended.err
    answers = {one["asked"]: one for one in json.loads(ended.out)["answers"]}
    assert [name for name, one in answers.items() if one["answer"] == "yes"] == [
        "a question", "tokens reported", "tools", "a tool's result", "temperature 0", "a seed", "a stream",
        "speed",
    ]  # fmt: skip
    assert "about $6.5" in answers["an attempt of loop"]["detail"]


def test_what_an_endpoint_refuses_is_named(groundup: Groundup, stern: str) -> None:
    """What is refused stands there with the endpoint's reason; a window that is too large by its own word, too."""
    asked = ("models", "check", "-m", "compatible/m", "--base-url", stern, "--json")
    answers = {one["asked"]: one for one in json.loads(groundup(*asked).out)["answers"]}
    assert answers["temperature 0"]["answer"] == "refused"
    assert "temperature is not supported" in answers["temperature 0"]["detail"]
    assert (answers["speed"]["answer"], answers["speed"]["seconds"]) == ("refused", 0.0)
    assert (answers["tools"]["answer"], answers["tokens reported"]["answer"]) == ("no", "no")
    assert answers["window"]["detail"] == "4,096 tokens; give --context-tokens 4096"
    for tokens, fits in (("4096", "yes"), ("4097", "no")):
        given = json.loads(groundup(*asked, "--context-tokens", tokens).out)["answers"]
        assert [one["answer"] for one in given if one["asked"] == "window"] == [fits]


def test_a_model_that_is_not_there(groundup: Groundup) -> None:
    """An endpoint that answers nothing ends with 3, a name that is none with 2."""
    gone = ("models", "check", "-m", "compatible/m", "--base-url", "http://127.0.0.1:9/v1")
    assert groundup(*gone, "--model-option", "patience_s=0").code == 3
    assert groundup("models", "check").code == 2
