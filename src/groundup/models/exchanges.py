"""What went between a program and a model: each request with its reply, and what all of them used together."""

import hashlib
import json

from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.digests import canonical_json, digest_of
from groundup.domain.limits import EpisodeLimits
from groundup.domain.records import Record
from groundup.domain.subjects import Outcome
from groundup.domain.usage import TokenUsage


class Exchange(Record):
    """One request and how it ended."""

    number: int
    form: str
    """How the program spoke: chat, responses, messages or gemini."""
    request: ChatRequest
    continues: int | None = None
    """The number of the exchange whose conversation this one takes up; None: it begins one."""
    shared: int = 0
    """How many of the first messages are known from there (its reply may be one of them)."""
    reply: ChatReply | None = None
    error: str | None = None
    declined: bool = False
    """Whether the model declined to answer, for the content."""

    @property
    def refused(self) -> bool:
        """Whether the model would not go on: it declined, or its endpoint's filter ended the reply."""
        return self.declined or (self.reply is not None and self.reply.finish == "content_filter")

    @property
    def news(self) -> tuple[Message, ...]:
        """The messages that no earlier exchange had."""
        return self.request.messages[self.shared :]


class Stop(Record):
    """Why no further request is answered."""

    outcome: Outcome
    detail: str
    of_the_run: bool = False
    """Whether no other attempt can be answered either, until the user mends something."""


class Account:
    """What one attempt has used, and whether it may go on."""

    def __init__(
        self, limits: EpisodeLimits, *, turns: int = 0, usage: TokenUsage | None = None, cost_usd: float = 0.0
    ) -> None:
        self.limits = limits
        self.turns = turns
        self.usage = usage or TokenUsage()
        self.cost_usd: float | None = cost_usd
        """None once a reply had no price."""

    @property
    def tokens(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens

    def enter(self, reply: ChatReply) -> None:
        """Add a reply that was answered."""
        self.turns += 1
        self.usage += reply.usage + reply.lost
        known = self.cost_usd is not None and reply.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (reply.cost_usd or 0.0) if known else None

    def spent(self, under_way: int = 0) -> Stop | None:
        """Return which limit is reached, counting *under_way* calls that have no reply yet; None: none is."""
        limits = self.limits
        if limits.turns is not None and self.turns + under_way >= limits.turns:
            return Stop(outcome=Outcome.LIMIT, detail=f"the limit of {limits.turns} turns is reached")
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return Stop(outcome=Outcome.LIMIT, detail=f"the limit of {limits.tokens} tokens is reached")
        if limits.cost_usd is not None and (self.cost_usd or 0.0) >= limits.cost_usd:
            return Stop(outcome=Outcome.BUDGET, detail=f"the attempt's budget of ${limits.cost_usd:g} is spent")
        return None

    def bounded(self, request: ChatRequest) -> ChatRequest:
        """Return *request* with no more output than the limit on tokens leaves."""
        if self.limits.tokens is None:
            return request
        left = max(1, self.limits.tokens - self.tokens)
        return request.but(max_output_tokens=min(left, request.max_output_tokens or left))


class Threads:
    """Finds out which earlier conversation a request takes up: programs send everything again in every turn."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        """The number of the exchange that first had a beginning of a conversation, by the beginning's digest."""
        self._numbers = 0
        self._given: dict[str, Message] = {}
        """Replies with parts that must go back unchanged, by their text."""

    def place(self, request: ChatRequest) -> tuple[int, int | None, int]:
        """Return a new number, the exchange that *request* takes up, and how many messages it shares with it."""
        number, self._numbers = self._numbers, self._numbers + 1
        digests = _beginnings(request.messages)
        continues, shared = None, 0
        for count, digest in enumerate(digests, start=1):
            if digest in self._known:
                continues, shared = self._known[digest], count
        for digest in digests:
            self._known.setdefault(digest, number)
        return number, continues, shared

    def answered(self, number: int, request: ChatRequest, reply: ChatReply) -> None:
        """Remember the conversation with its reply."""
        for message in (_plain(reply.message), _plain(reply.message, reply.message.reasoning)):
            self._known.setdefault(_beginnings((*request.messages, message))[-1], number)
        if reply.message.original or any(call.original for call in reply.message.tool_calls):
            self._given[_said(reply.message)] = reply.message

    def restored(self, request: ChatRequest) -> ChatRequest:
        """Return *request* with the thoughts of replies that come back, as the endpoint gave them.

        Programs do not know all that an endpoint wants back: their own form may have no place for it.
        """
        if not self._given:
            return request
        messages = tuple(
            self._given.get(_said(message), message) if message.role == "assistant" else message
            for message in request.messages
        )
        return request.but(messages=messages)


def _plain(message: Message, reasoning: str | None = None) -> Message:
    """Return a reply as programs send it back."""
    calls = tuple(call.but(original={}) for call in message.tool_calls)
    return message.but(reasoning=reasoning, original={}, tool_calls=calls)


def _said(message: Message) -> str:
    """Return a digest of text and calls; programs may write arguments in another way."""
    calls = [[call.id, call.name, _value(call.arguments)] for call in message.tool_calls]
    return digest_of([message.content.strip(), calls])


def _value(arguments: str) -> object:
    try:
        return canonical_json(json.loads(arguments or "{}")).decode()
    except (ValueError, RecursionError):
        return arguments


def _beginnings(messages: tuple[Message, ...]) -> list[str]:
    """Return a digest for each beginning of a conversation."""
    running = hashlib.sha256()
    digests: list[str] = []
    for message in messages:
        running.update(canonical_json(message) + b"\n")
        digests.append(running.hexdigest())
    return digests
