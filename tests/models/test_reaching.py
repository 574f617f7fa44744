"""An endpoint that is not there is known before anything begins, with what mends it."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.steps import heard_by
from groundup.models import reaching
from groundup.models.client import EndpointModel
from groundup.models.opening import open_model
from groundup.models.protocol import (
    EndpointUnreachableError,
    KeyRejectedError,
    ModelAbsentError,
    ModelError,
    UnusableModelError,
)
from groundup.models.settings import ModelSettings

Answer = Callable[[str], tuple[int, str, str]]
"""From a path to a status, a content type and a body."""
MODELS = json.dumps({"data": [{"id": "a"}, {"id": "b"}]})


@contextmanager
def serving(answer: Answer, *, secure: ssl.SSLContext | None = None) -> Iterator[str]:
    """Yield the address of a server that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer by the path."""
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, kind, body = answer(self.path)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET  # noqa: N815  # the name that the server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def reach(address: str, wait_s: float = 0.0) -> None:
    """Reach a model there."""
    async with open_model("vllm/mine", ModelSettings(base_url=address)) as model:
        assert isinstance(model, EndpointModel)
        await model.reach(wait_s)


async def trouble(address: str) -> UnusableModelError:
    """Return why the endpoint there is of no use."""
    with pytest.raises(UnusableModelError) as caught:
        await reach(address)
    return caught.value


async def test_a_server_that_was_not_started_is_named_at_once() -> None:
    """Nobody listens: one try, and the two ways out."""
    with serving(lambda path: (200, "application/json", MODELS)) as address:
        pass
    error = await trouble(f"{address}/v1")
    assert isinstance(error, EndpointUnreachableError)
    assert "nothing listens there (connection refused); start the server, or check --base-url" in str(error)
    assert "--wait-for-model 10m" in str(error)


async def test_a_host_that_nobody_knows_is_named() -> None:
    """The reserved name never exists."""
    assert "no such host is known; check --base-url" in str(await trouble("http://models.invalid/v1"))


async def test_a_server_without_tls_is_told_by_its_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for the end of a line that never comes; an address with http:// may as well be slow."""
    monkeypatch.setattr(reaching, "_REACHED_S", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}/v1"
        assert "a server without TLS wants http://" in str(await trouble(f"https://{address}"))
        assert "TLS" not in str(await trouble(f"http://{address}"))


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ((401, "application/json", "{}"), KeyRejectedError, "rejects the key in VLLM_API_KEY"),
        ((200, "text/html", "<p>Sign in"), EndpointUnreachableError, "a web page in place of JSON"),
        ((502, "text/html; charset=utf-8", "<h1>"), EndpointUnreachableError, "JSON (HTTP 502)"),
        ((407, "text/plain", ""), EndpointUnreachableError, "the proxy settings"),
    ],
)
async def test_what_answers_and_is_no_use_is_told_apart(
    answer: tuple[int, str, str], kind: type[Exception], words: str
) -> None:
    """A key, a login page, a proxy, a server that loads: each has its own way out."""
    with serving(lambda path: answer) as address:
        error = await trouble(f"{address}/v1")
    assert type(error) is kind
    assert words in str(error)


@pytest.mark.parametrize("status", [200, 403, 404, 405, 429, 500, 503])
async def test_an_endpoint_that_lists_no_models_may_still_answer(status: int) -> None:
    """Some have no list, or do not show it to every key: the first call decides."""
    with serving(lambda path: (status, "application/json", "{}")) as address:
        await reach(f"{address}/v1")


async def test_an_address_without_its_version_is_completed() -> None:
    """The commonest slip with a server of one's own."""
    with serving(lambda path: (200 if path.startswith("/v1/") else 404, "application/json", MODELS)) as address:
        error = await trouble(address)
    assert isinstance(error, ModelAbsentError)
    assert f"give --base-url {address}/v1" in str(error)


async def test_a_server_that_loads_is_waited_for_and_said() -> None:
    """It is asked again until it answers, and whoever looks on sees why."""
    asked: list[str] = []
    said: list[str] = []

    def answer(path: str) -> tuple[int, str, str]:
        asked.append(path)
        return (503 if len(asked) < 2 else 200, "application/json", MODELS)

    with serving(answer) as address, heard_by(said.append):
        await reach(f"{address}/v1", wait_s=60)
    assert len(asked) == 2
    assert said[0].startswith(f"waiting for vllm/mine at {address}/v1: it is not ready (HTTP 503)")


async def test_waiting_ends_with_what_was_wrong_at_last() -> None:
    """The error counts the tries."""
    with serving(lambda path: (503, "application/json", "{}")) as address, pytest.raises(ModelError) as caught:
        await reach(f"{address}/v1", wait_s=2.0)
    assert "cannot be reached (" in str(caught.value)


async def test_another_model_is_named_with_those_that_there_are() -> None:
    """A wrong name is the second commonest slip."""

    def answer(path: str) -> tuple[int, str, str]:
        if path.endswith("/models"):
            return 200, "application/json", MODELS
        return 404, "application/json", json.dumps({"error": {"message": "The model `mine` does not exist."}})

    with serving(answer) as address:
        async with open_model("vllm/mine", ModelSettings(base_url=f"{address}/v1")) as model:
            with pytest.raises(ModelAbsentError, match="it has a, b"):
                await model.complete(ChatRequest(messages=(Message(role="user", content="x"),)))


async def test_a_call_that_is_tried_again_says_so_while_it_waits() -> None:
    """A lost connection is no silence of ten minutes."""
    said: list[str] = []
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1", patience_s=0.2, first_pause_s=0.05)
    with heard_by(said.append):
        async with open_model("vllm/mine", settings) as model:
            with pytest.raises(ModelError):
                await model.complete(ChatRequest(messages=(Message(role="user", content="x"),)))
    assert said
    assert all(one.startswith("waiting for the model: ") for one in said)


async def test_a_single_try_is_not_counted() -> None:
    """The sentence has the address, what is wrong and what to do, once."""
    error = await trouble("http://127.0.0.1:9/v1")
    assert str(error) == (
        "vllm/mine at http://127.0.0.1:9/v1 cannot be reached: nothing listens there (connection refused); start "
        "the server, or check --base-url; `--wait-for-model 10m` waits for a server that starts"
    )
