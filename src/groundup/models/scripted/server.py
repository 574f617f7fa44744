"""The scripted model's endpoint: Chat Completions over real HTTP on loopback, streamed or not.

It counts requests, so that tests can show that nothing was asked twice; other processes read the count at
`GET /calls`.

Scripts: the replies of a scripted model, turn by turn. The format is in docs/models.md.

Which turn comes next follows from the request alone (how many times the assistant has spoken in it), so one
script serves any number of conversations at once, and a conversation that is taken up again goes on where it was.
"""

import asyncio
import json
import re
import socket
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, JsonValue, SecretStr, ValidationError

from groundup.domain.conversations import ChatReply, ChatRequest, Message, ToolCall
from groundup.domain.digests import digest_bytes
from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.records import Record, plainly
from groundup.domain.usage import TokenUsage
from groundup.models.answering import chat
from groundup.models.answering.forms import Asked, BadRequestError, Document
from groundup.models.client import EndpointModel
from groundup.models.endpoint import ModelEndpoint, RetryPolicy
from groundup.models.prices import CostLedger, Price, estimated_text_tokens, estimated_tokens
from groundup.models.protocol import CallWatch
from groundup.models.settings import ModelName, ModelProvider, ModelSettings
from groundup.registries.server import GatewayServer, Request, Response, ServerLimits
from groundup.trees.walking import LARGE, read_regular

FailureName = Literal[
    "rate_limit",
    "overload",
    "overflow",
    "refusal",
    "key",
    "quota",
    "request",
    "broken",
    "empty",
    "drop",
    "error",
    "choice_error",
    "absent",
]


def _checked_pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return value


Pattern = Annotated[str, AfterValidator(_checked_pattern)]


class ScriptedCall(Record):
    """A call of a tool. Arguments that are a text are sent as they are, also when they are no JSON."""

    tool: str
    arguments: dict[str, JsonValue] | str = {}
    id: str | None = Field(default=None, description="None: one of its own")

    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Turn(Record):
    """One reply, and what goes wrong before it."""

    content: str = ""
    content_file: str | None = Field(default=None, description="a file beside the script, instead of `content`")
    reasoning: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    finish: Literal["length", "content_filter"] | None = None
    latency_s: float | None = Field(default=None, ge=0)
    fail: tuple[FailureName, ...] = Field(default=(), description="how the first answers to a request fail")
    retry_after_s: float | None = Field(default=None, ge=0, description="sent with rate limits")
    output_tokens: int | None = Field(default=None, ge=0, description="None: estimated")


class ScriptedConversation(Record):
    """The turns for requests whose text matches *when*."""

    when: Pattern = Field(default="", description="regular expression, searched in system and first user message")
    turns: tuple[Turn, ...] = Field(default=(), alias="turn")
    then: Literal["stop", "repeat"] = Field(
        default="stop", description="after the last turn: a closing word, or the last turn again"
    )


class Rule(Turn):
    """A turn that is replayed whenever the last message matches, before all conversations."""

    when: Pattern


class Script(Record):
    """A whole script."""

    latency_s: float = Field(default=0.0, ge=0)
    context_tokens: int | None = Field(default=None, ge=1, description="longer requests overflow")
    stream_only: bool = Field(default=False, description="refuse requests that want no stream")
    key: str | None = Field(default=None, description="the only key that is accepted; None: any or none")
    rules: tuple[Rule, ...] = Field(default=(), alias="rule")
    conversations: tuple[ScriptedConversation, ...] = Field(default=(), alias="conversation")
    turns: tuple[Turn, ...] = Field(default=(), alias="turn")
    then: Literal["stop", "repeat"] = "stop"

    def turn_for(self, request: ChatRequest) -> Turn:
        """Return the reply to *request*."""
        last = request.messages[-1].content if request.messages else ""
        for rule in self.rules:
            if re.search(rule.when, last):
                return rule
        opening = "\n".join(_opening(request))
        for conversation in self.conversations:
            if re.search(conversation.when, opening):
                return _nth(conversation.turns, conversation.then, request)
        return _nth(self.turns, self.then, request)


CLOSING = Turn(content="That is all.")
"""The reply when a script has no more turns."""


def _opening(request: ChatRequest) -> list[str]:
    texts = [message.content for message in request.messages if message.role == "system"]
    first = next((message.content for message in request.messages if message.role == "user"), "")
    return [*texts, first]


def _nth(turns: tuple[Turn, ...], then: str, request: ChatRequest) -> Turn:
    spoken = sum(message.role == "assistant" for message in request.messages)
    if spoken < len(turns):
        return turns[spoken]
    return turns[-1] if then == "repeat" and turns else CLOSING


def load_script(path: Path) -> Script:
    """Read a script: .toml, .json (the same keys) or .jsonl (a turn a line). Raises `UsageError`."""
    try:
        script = Script.model_validate(_document(path, read_regular(path, LARGE).decode()))
        return _with_files(script, path.parent)
    except OSError as error:
        raise UsageError(f"the script {error.filename} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"the script {path}: {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error
    except (ValueError, RecursionError) as error:  # of the three syntaxes, and of text that is not UTF-8
        raise UsageError(f"the script {path} cannot be understood: {error}") from error


def _document(path: Path, text: str) -> object:
    if path.suffix == ".jsonl":
        return {"turn": [json.loads(line) for line in text.splitlines() if line.strip()]}
    return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)


def _with_files(script: Script, folder: Path) -> Script:
    def filled(turn: Turn) -> Turn:
        if turn.content_file is None:
            return turn
        return turn.but(content=read_regular(folder / turn.content_file).decode())

    return script.but(
        rules=tuple(filled(rule) for rule in script.rules),
        turns=tuple(filled(turn) for turn in script.turns),
        conversations=tuple(
            conversation.but(turns=tuple(filled(turn) for turn in conversation.turns))
            for conversation in script.conversations
        ),
    )


_LIMITS = ServerLimits(
    connections=2048, requests_at_once=2048, body_bytes=256 * 1024 * 1024,
    request_s=600.0,
)  # fmt: skip

_FAILURES: dict[FailureName, tuple[int, str, str]] = {
    "rate_limit": (429, "rate_limit_exceeded", "Rate limit reached, please slow down."),
    "overload": (503, "overloaded", "The server is overloaded, please try again."),
    "refusal": (400, "content_filter", "The response was filtered due to the content management policy."),
    "key": (401, "invalid_api_key", "Incorrect API key provided."),
    "quota": (429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
    "absent": (404, "model_not_found", "The model does not exist."),
    "request": (400, "invalid_value", "Unknown parameter."),
}


_CHOICE_ERROR: Document = {
    "id": "x",
    "choices": [
        {
            "message": {"role": "assistant", "content": "half of"},
            "finish_reason": "error",
            "error": {"code": 502, "message": "Upstream error"},
        }
    ],
}
"""A provider's failure behind a router that has begun to answer."""


class ScriptedForm(NamedTuple):
    """One way of being asked."""

    asked: Callable[[bytes], Asked]
    document: Callable[[ChatReply, Asked], Document]
    events: Callable[[ChatReply, Asked], Iterable[bytes]]


CHAT = ScriptedForm(
    chat.asked,
    lambda reply, asked: chat.reply_document(reply, asked.model),
    lambda reply, asked: chat.reply_events(reply, asked.model, usage=asked.stream_usage),
)


class ScriptedServer:
    """Serves a script until it is closed; used as a context."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.answered = 0
        """Replies with status 200 whose form was right: what an endpoint would bill."""
        self.failed: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        """How often each request was answered, by the digest of its body."""
        self.most_at_once = 0
        self.base_url = ""
        self._tries: Counter[str] = Counter()
        self._at_once = 0
        self._server = GatewayServer(self._handle, _LIMITS, methods=("GET", "POST"))

    async def start(self, port: int = 0) -> str:
        """Listen on loopback; return the base address."""
        listening = socket.create_server(("127.0.0.1", port), backlog=1024)
        await self._server.serve(listening)
        self.base_url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        return self.base_url

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._server.close()

    def counts(self) -> dict[str, JsonValue]:
        """Return what was asked so far."""
        return {
            "answered": self.answered,
            "most_at_once": self.most_at_once,
            "failed": dict(self.failed),
            "distinct": len(self.requests),
            "repeated": sum(count - 1 for count in self.requests.values()),
        }

    async def _handle(self, request: Request) -> Response:
        if request.path == "/calls":
            return _json(200, self.counts())
        if request.path == "/v1/models":
            return _json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        form = self.form_at(request.path)
        if form is None or request.method != "POST":
            return _json(
                404, chat.error_document(404, f"nothing is at {request.path}; a script answers Chat Completions")
            )
        if self.script.key is not None and request.headers.get("authorization") != f"Bearer {self.script.key}":
            return self._failure("key", None)
        try:
            asked = form.asked(request.body)
        except BadRequestError as error:
            return _json(400, chat.error_document(400, str(error)))
        if self.script.stream_only and not asked.stream:
            self.failed["refused"] += 1
            return _json(400, chat.error_document(400, "This model only supports streaming; set stream to true."))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._answer(form, asked, digest_bytes(request.body))
        finally:
            self._at_once -= 1

    def form_at(self, path: str) -> ScriptedForm | None:
        return CHAT if path == chat.PATH else None

    def reply(self, turn: Turn, asked: Asked) -> ChatReply:
        return reply_to(turn, asked.request)

    async def _answer(self, form: ScriptedForm, asked: Asked, name: str) -> Response:
        turn = self.script.turn_for(asked.request)
        await asyncio.sleep(self.script.latency_s if turn.latency_s is None else turn.latency_s)
        tokens = estimated_tokens(asked.request)
        if self.script.context_tokens is not None and tokens > self.script.context_tokens:
            return self._overflow(tokens)
        if self._tries[name] < len(turn.fail):
            self._tries[name] += 1
            return self._failure(turn.fail[self._tries[name] - 1], turn.retry_after_s)
        self.answered += 1
        self.requests[name] += 1
        reply = self.reply(turn, asked)
        if asked.stream:
            return Response(200, _streamed(form.events(reply, asked)), content_type="text/event-stream")
        return _json(200, form.document(reply, asked))

    def _failure(self, name: FailureName, retry_after_s: float | None) -> Response:
        self.failed[name] += 1
        match name:
            case "overflow":
                return self._overflow(None)
            case "broken":
                return Response(200, b'{"id": "x", "choices": [{"mess', content_type="application/json")
            case "empty":
                return _json(200, {"id": "x", "object": "chat.completion", "choices": []})
            case "error":
                return _json(200, chat.error_document(503, "The provider is overloaded.", "overloaded"))
            case "choice_error":
                return _json(200, _CHOICE_ERROR)
            case "drop":
                return Response(200, _dropped(), content_type="application/json")
        status, code, message = _FAILURES[name]
        response = _json(status, chat.error_document(status, message, code))
        if retry_after_s is None:
            return response
        return Response(status, response.body, response.content_type, {"Retry-After": f"{retry_after_s:g}"})

    def _overflow(self, tokens: int | None) -> Response:
        limit = self.script.context_tokens or 0
        message = (
            f"This model's maximum context length is {limit} tokens. Your messages resulted in {tokens} tokens."
        )
        return _json(400, chat.error_document(400, message, "context_length_exceeded"))


def reply_to(turn: Turn, request: ChatRequest) -> ChatReply:
    """Return the reply that *turn* writes down, with its usage."""
    spoken = sum(message.role == "assistant" for message in request.messages)
    calls = tuple(
        ToolCall(id=call.id or f"call_{spoken}_{number}", name=call.tool, arguments=call.text())
        for number, call in enumerate(turn.calls)
    )
    written = estimated_text_tokens(
        turn.content + (turn.reasoning or "") + "".join(call.arguments for call in calls)
    )
    thought = estimated_text_tokens(turn.reasoning or "")
    return ChatReply(
        message=Message(role="assistant", content=turn.content, tool_calls=calls, reasoning=turn.reasoning),
        finish=turn.finish or ("tool_calls" if calls else "stop"),
        usage=TokenUsage(
            input_tokens=estimated_tokens(request),
            output_tokens=written if turn.output_tokens is None else turn.output_tokens,
            reasoning_tokens=thought,
        ),
    )


async def _streamed(events: Iterable[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event


async def _dropped() -> AsyncIterator[bytes]:
    """Yield the beginning of an answer, and break off."""
    yield b'{"id": '
    raise InfrastructureError("the script breaks off here")


def _json(status: int, document: dict[str, JsonValue]) -> Response:
    return Response(status, json.dumps(document, ensure_ascii=False).encode(), content_type="application/json")


class ScriptedModel:
    """A `ChatModel` that serves itself while it is open."""

    def __init__(
        self,
        script: Script,
        name: ModelName,
        settings: ModelSettings,
        patience: RetryPolicy,
        price: Price | None,
        ledger: CostLedger,
    ) -> None:
        self.name = str(name)
        self.context_tokens = settings.context_tokens or script.context_tokens
        self.server = ScriptedServer(script)
        """What it counted can be read here, also after it is closed."""
        self._parts = (name, settings, patience, price, ledger)
        self._model: EndpointModel | None = None
        self._open = AsyncExitStack()

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        assert self._model is not None, "enter the model first"
        return await self._model.complete(request, watch)

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return the estimate by which the script's window is kept."""
        return estimated_tokens(request)

    async def __aenter__(self) -> Self:
        name, settings, patience, price, ledger = self._parts
        await self._open.enter_async_context(self.server)
        provider = ModelProvider(base_url=self.server.base_url, key="GROUNDUP_SCRIPTED_KEY", key_optional=True)
        key = SecretStr(self.server.script.key) if self.server.script.key else None
        endpoint = ModelEndpoint(self.name, provider, key, patience)
        model = EndpointModel(name, provider, endpoint, settings, price, ledger)
        self._model = await self._open.enter_async_context(model)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._model = None
        await self._open.aclose()
