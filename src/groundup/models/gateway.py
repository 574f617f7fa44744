"""A model as programs in a sandbox see it: four well-known forms of HTTP on the sandbox's own loopback.

Chat Completions, Responses, Anthropic Messages and Gemini's own, streamed or not, become requests to the run's
`ChatModel`; the key stays with that model, outside. The attempt's limits are kept here; the caller hears of every
exchange.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.errors import GroundupError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.records import Record
from groundup.domain.subjects import Outcome
from groundup.models.answering import chat, gemini, messages, responses
from groundup.models.answering.forms import Asked, BadRequestError, Document, fresh_id
from groundup.models.exchanges import Account, Exchange, Stop, Threads
from groundup.models.protocol import (
    BudgetSpentError,
    ChatModel,
    ContextOverflowError,
    RefusedError,
    RequestRejectedError,
    UnusableModelError,
)
from groundup.registries.server import GatewayServer, Request, Response, ServerLimits, listen_at
from groundup.sandbox.protocol import Closing, Sandbox

_PORT = 29110
_LIMITS = ServerLimits(
    connections=64, requests_at_once=32, body_bytes=32 * 1024 * 1024, head_bytes=64 * 1024, request_s=300.0
)
_GRACE_S = 5.0
"""How long a stream waits for its reply before it begins: an error in that time still has a status."""
_PING_S = 10.0
_MODELS_PATH = "/v1/models"


class ModelAddress(Record):
    """Where a program inside finds its model."""

    root_url: str
    """For Anthropic's clients, which append /v1/messages."""
    chat_url: str
    """For OpenAI's clients: with /v1."""
    key: str
    """Any key will do; this one means nothing outside."""
    model: str

    def environment(self) -> dict[str, str]:
        """Return the variables that most programs read."""
        return {
            "OPENAI_BASE_URL": self.chat_url,
            "OPENAI_API_BASE": self.chat_url,
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self.root_url,
            "ANTHROPIC_API_KEY": self.key,
        }


@dataclass(frozen=True)
class _Form:
    """One way of speaking."""

    name: str
    asked: Callable[[bytes], Asked]
    document: Callable[[ChatReply, Asked], Document]
    events: Callable[[ChatReply, Asked], Iterator[bytes]]
    error: Callable[[int, str], Document]
    error_event: Callable[[int, str], bytes]
    ping: bytes = b": waiting\n\n"


FORMS: Mapping[str, _Form] = {
    chat.PATH: _Form(
        "chat",
        chat.asked,
        lambda reply, asked: chat.reply_document(reply, asked.model),
        lambda reply, asked: chat.reply_events(reply, asked.model, usage=asked.stream_usage),
        chat.error_document,
        chat.error_event,
    ),
    responses.PATH: _Form(
        "responses",
        responses.asked,
        responses.reply_document,
        responses.reply_events,
        chat.error_document,
        responses.error_event,
    ),
    messages.PATH: _Form(
        "messages",
        messages.asked,
        lambda reply, asked: messages.reply_document(reply, asked.model),
        lambda reply, asked: messages.reply_events(reply, asked.model),
        messages.error_document,
        messages.error_event,
        messages.PING,
    ),
}
"""What is spoken, by path."""


def _of_gemini(model: str, *, stream: bool) -> _Form:
    """Return the form whose paths name the model, and say whether a stream is wanted."""
    return _Form(
        "gemini",
        partial(gemini.asked, model=model, stream=stream),
        lambda reply, asked: gemini.reply_document(reply, asked.model),
        lambda reply, asked: gemini.reply_events(reply, asked.model),
        gemini.error_document,
        gemini.error_event,
    )


class _RefusedCallError(Exception):
    """What a program gets instead of a reply: nothing on addresses or accounts, which are in *detail*."""

    def __init__(self, status: int, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail or message


class ModelGateway(Closing):
    """One attempt's way to its model, used as a context."""

    def __init__(
        self,
        model: ChatModel,
        *,
        limits: EpisodeLimits | None = None,
        record: Callable[[Exchange], None] | None = None,
        before: Callable[[], Awaitable[None]] | None = None,
        served: ServerLimits = _LIMITS,
    ) -> None:
        self.account = Account(limits or EpisodeLimits())
        """What was used so far."""
        self.stopped: Stop | None = None
        """Why no further request is answered: a limit, a budget, or a model that failed for good."""
        self._model = model
        self._shown_name = model.name.rpartition("/")[2]
        self._record = record or (lambda exchange: None)
        self._before = before
        self._threads = Threads()
        self._under_way = 0
        self._stopping = asyncio.Event()
        self._server = GatewayServer(self._handle, served, methods=("GET", "HEAD", "POST"))

    async def attach(self, sandbox: Sandbox) -> ModelAddress:
        """Serve *sandbox* on a port of its own loopback; return what a program inside must know."""
        listening, port = await listen_at(sandbox, _PORT)
        await self._server.serve(listening)
        return self.address(port)

    def address(self, port: int) -> ModelAddress:
        """Return what a client must know when the gateway is served on *port*."""
        root = f"http://127.0.0.1:{port}"
        return ModelAddress(
            root_url=root, chat_url=f"{root}/v1", key=fresh_id("sk-inside-"), model=self._shown_name
        )

    @property
    def server(self) -> GatewayServer:
        """The server, for sockets that are not a sandbox's."""
        return self._server

    async def until_stopped(self) -> Stop:
        """Wait until no further request is answered; return why."""
        await self._stopping.wait()
        assert self.stopped is not None  # set before the event
        return self.stopped

    async def close(self) -> None:
        """Stop serving; calls that have no reply yet are given up. The model stays open: it is shared."""
        await self._server.close()

    # --- requests

    async def _handle(self, request: Request) -> Response:
        path = urlsplit(request.path).path.rstrip("/")
        if path in FORMS and request.method == "POST":
            return await self._answer(FORMS[path], request.body)
        if (found := gemini.PATH.fullmatch(path)) and request.method == "POST":
            form = _of_gemini(found[1], stream=found[2] == gemini.STREAM)
            if found[2] == gemini.COUNT:
                return await self._count(form, "totalTokens", request.body)
            return await self._answer(form, request.body)
        if path == messages.COUNT_PATH and request.method == "POST":
            return await self._count(FORMS[messages.PATH], "input_tokens", request.body)
        if path == _MODELS_PATH:
            return _json(200, {"object": "list", "data": [self._about()], "has_more": False})
        if path.startswith(f"{_MODELS_PATH}/"):
            return _json(200, self._about())
        if not path:
            return _json(200, {"serves": [*FORMS]})
        return _json(404, chat.error_document(404, f"nothing is at {path}; there is {', '.join(FORMS)}"))

    def _about(self) -> Document:
        name = self._shown_name
        return {
            "id": name,
            "object": "model",
            "type": "model",
            "display_name": name,
            "created": 0,
            "created_at": "1970-01-01T00:00:00Z",
            "owned_by": "groundup",
        }

    async def _count(self, form: _Form, name: str, body: bytes) -> Response:
        try:
            asked = form.asked(body)
        except BadRequestError as error:
            return _json(400, form.error(400, str(error)))
        return _json(200, {name: await self._model.count_tokens(asked.request)})

    async def _answer(self, form: _Form, body: bytes) -> Response:
        try:
            asked = form.asked(body)
        except BadRequestError as error:
            return _json(400, form.error(400, str(error)))
        if asked.stream:
            return await self._stream(form, asked)
        try:
            return _json(200, form.document(await self._complete(form, asked.request), asked))
        except _RefusedCallError as error:
            return _json(error.status, form.error(error.status, str(error)))

    async def _stream(self, form: _Form, asked: Asked) -> Response:
        # A stream has sent its status with the first byte, so early errors are awaited before it begins.
        reply = asyncio.ensure_future(self._complete(form, asked.request))
        try:
            await asyncio.wait({reply}, timeout=_GRACE_S)
        except asyncio.CancelledError:
            reply.cancel()
            raise
        if reply.done() and isinstance(error := reply.exception(), _RefusedCallError):
            return _json(error.status, form.error(error.status, str(error)))
        return Response(200, _patiently(form, asked, reply), "text/event-stream", {"Cache-Control": "no-cache"})

    async def _complete(self, form: _Form, request: ChatRequest) -> ChatReply:
        """Ask the model within the attempt's limits, and record it. Raises `_RefusedCallError`."""
        if self._before is not None:
            await self._before()
        number, continues, shared = self._threads.place(request)
        exchange = Exchange(number=number, form=form.name, request=request, continues=continues, shared=shared)
        try:
            reply = await self._asked(request)
        except _RefusedCallError as error:
            declined = isinstance(error.__cause__, RefusedError)
            self._record(exchange.but(error=error.detail, declined=declined))
            raise
        self._threads.answered(number, request, reply)
        self._record(exchange.but(reply=reply))
        return reply

    async def _asked(self, request: ChatRequest) -> ChatReply:
        if self.stopped is None and (stop := self.account.spent(self._under_way)):
            self._stop(stop)
        if self.stopped is not None:
            raise _RefusedCallError(402, f"{self.stopped.detail}: no further request is answered")
        self._under_way += 1
        try:
            reply = await self._model.complete(self.account.bounded(self._threads.restored(request)))
        except GroundupError as error:
            raise self._refusal(error) from error
        finally:
            self._under_way -= 1
        self.account.enter(reply)  # what the last one asks for may still be done: only the next request stops
        return reply

    def _refusal(self, error: GroundupError) -> _RefusedCallError:
        """Return what a program gets for *error*; an error that time does not mend ends the attempt."""
        detail = str(error)
        if isinstance(error, ContextOverflowError):
            # Clients look for one of these two phrases before they shorten a conversation.
            return _RefusedCallError(400, "prompt is too long: over the model's maximum context length", detail)
        if isinstance(error, RefusedError):
            return _RefusedCallError(
                400, "the model does not answer this for its content (content_filter)", detail
            )
        if isinstance(error, RequestRejectedError):
            return _RefusedCallError(400, "the model's endpoint does not understand this request", detail)
        if isinstance(error, BudgetSpentError):
            self._stop(Stop(outcome=Outcome.BUDGET, detail=detail))
            return _RefusedCallError(402, "the budget is spent: no further request is answered", detail)
        # It was tried for long enough; a program that tries again gains nothing.
        unusable = isinstance(error, UnusableModelError)
        self._stop(Stop(outcome=Outcome.INFRASTRUCTURE, detail=detail, of_the_run=unusable))
        return _RefusedCallError(402, "the model cannot be reached: no further request is answered", detail)

    def _stop(self, stop: Stop) -> None:
        self.stopped = self.stopped or stop
        self._stopping.set()


async def _patiently(form: _Form, asked: Asked, reply: "asyncio.Future[ChatReply]") -> AsyncIterator[bytes]:
    """Yield signs of life until there is a reply, then its events."""
    try:
        while not reply.done():
            yield form.ping
            await asyncio.wait({reply}, timeout=_PING_S)
        events: Iterable[bytes]
        try:
            events = form.events(await reply, asked)
        except _RefusedCallError as error:
            events = [form.error_event(error.status, str(error))]
        for event in events:
            yield event
    finally:
        reply.cancel()
        with contextlib.suppress(asyncio.CancelledError, _RefusedCallError):
            await reply


def _json(status: int, document: Mapping[str, JsonValue]) -> Response:
    body = json.dumps(document, ensure_ascii=False).encode(errors="replace")
    return Response(status, body, content_type="application/json")
