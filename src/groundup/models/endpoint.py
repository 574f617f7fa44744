"""One endpoint: its address, its key, how many calls it gets at once and how patiently. Knows no form of request.

The key is only in the header of each request. It is removed from what an endpoint says of a failure.
"""

import asyncio
import json
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import JsonValue, SecretStr

from groundup.domain.names import is_loopback
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.domain.version import __version__
from groundup.models.arriving import Arriving, parsed_object, silence_told
from groundup.models.asking.forms import BrokenReplyError, Parsed, ReplyForm
from groundup.models.failures import (
    PASSING,
    CallFailure,
    CallFailureKind,
    connection_trouble,
    failure_of,
    hidden_status,
    stranger,
)
from groundup.models.protocol import (
    ContextOverflowError,
    EndpointUnreachableError,
    KeyRejectedError,
    ModelAbsentError,
    ModelError,
    RateLimitedError,
    RefusedError,
    RequestRejectedError,
)
from groundup.models.settings import ModelProvider, shown_address

if TYPE_CHECKING:
    import httpx


T = TypeVar("T")

_CONNECT_S = 20.0
_LONGEST_PAUSE_S = 60.0
_SHORTEST_PAUSE_S = 0.05
_MOST_BILLED = 3
"""Answers to one question that may be billed, the last one included."""
_PER_CLIENT = 32
"""Connections of one client: its bookkeeping looks at all of them for every call."""


class RetryPolicy(Record):
    """How an endpoint is asked."""

    concurrency: int = 64
    timeout_s: float = 600.0
    first_pause_s: float = 1.0
    patience_s: float = 600.0
    stream: bool = False


class Bill(Protocol):
    """What one question costs, over all its tries."""

    saying: Callable[[str], None] | None
    """Takes the end of what a stream says so far."""

    def attempt(self) -> AbstractAsyncContextManager[None]:
        """Set money aside for one try, and settle it. Raises `BudgetSpentError`."""
        ...

    def answered(self, parsed: Parsed) -> None:
        """Enter the reply."""
        ...

    def lost(self, said: str) -> None:
        """Enter an answer that is no reply, and said this much."""
        ...


class _FailedError(Exception):
    def __init__(self, failure: CallFailure, *, billed: bool = False) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.billed = billed
        """Whether the endpoint may charge for it."""


class ModelEndpoint:
    """Sends JSON, returns JSON; retries what may pass. Belongs to one event loop; used as a context."""

    def __init__(self, name: str, provider: ModelProvider, key: SecretStr | None, patience: RetryPolicy) -> None:
        assert provider.base_url is not None  # models.settings.provider_of refuses others
        self.name = name
        self.base_url = provider.base_url.rstrip("/")
        self._provider = provider
        self._key = key
        self._patience = patience
        self._slots = asyncio.Semaphore(patience.concurrency)
        self._not_before = 0.0
        """When the endpoint may be asked again: a rate limit that one call meets holds for all."""
        self._clients: list[httpx.AsyncClient] = []
        self._turn = 0
        self._streams = patience.stream
        """Whether replies are asked for as streams: on request, or because the endpoint gives no others."""
        self._answered = False

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key."""
        return self._provider.key

    @property
    def timeout_s(self) -> float:
        """For one whole answer."""
        return self._patience.timeout_s

    async def post(
        self, path: str, document: Mapping[str, JsonValue], form: ReplyForm, bill: Bill
    ) -> tuple[Parsed, int]:
        """Return the reply, and how many tries it took. Raises the errors of `groundup.models.protocol`.

        An answer that is no reply and may have been billed is entered in *bill*; it is asked again twice at most.
        """

        async def attempt() -> Parsed:
            asked = {**document, **form.streaming} if self._streams else document
            body = json.dumps(asked, ensure_ascii=False).encode(errors="replace")
            place = form.stream_path(path) if self._streams else path
            async with bill.attempt(), self._slots:
                await self._wait_for_permission()
                return await self._replied(f"{self.base_url}{place}", body, form, bill)

        reply = await self._persistently(attempt)
        self._answered = True
        return reply

    async def ask(self, url: str, document: Mapping[str, JsonValue]) -> Mapping[str, JsonValue] | None:
        """Return the answer to something that the endpoint need not know; None when it does not."""
        body = json.dumps(document, ensure_ascii=False).encode(errors="replace")
        try:
            async with self._slots:
                answer = Arriving()
                await self._post(url, body, answer)
                return parsed_object(answer.content)
        except (_FailedError, BrokenReplyError):
            return None

    async def look(self, path: str) -> Mapping[str, JsonValue] | None:
        """Return what is at *path*, which the endpoint need not have; None when it does not."""
        import httpx

        try:
            response = await self.get(path, self._patience.timeout_s)
            return parsed_object(response.content) if response.status_code == 200 else None
        except (TimeoutError, httpx.HTTPError, BrokenReplyError):
            return None

    async def listed(self) -> list[dict[str, JsonValue]]:
        """Return what the endpoint's list of models says of each; nothing where there is no such list."""
        entries = (await self.look("/models") or {}).get("data")
        return [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []

    async def get(self, path: str, timeout_s: float) -> "httpx.Response":
        """Return what is at *path*, whatever it is. Raises `TimeoutError` and the errors of httpx."""
        import httpx

        # httpcore leaves a socket open where a handshake is cancelled; its own limit, well before, closes it.
        limits = httpx.Timeout(timeout_s, connect=timeout_s / 2)
        async with self._slots, asyncio.timeout(timeout_s):
            return await self._client().get(f"{self.base_url}{path}", headers=self._headers(), timeout=limits)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.aclose()
        self._clients.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def _persistently(self, attempt: Callable[[], Awaitable[T]]) -> tuple[T, int]:
        tries = billed = 0
        gives_up_at: float | None = None
        began: float | None = None
        while True:
            tries += 1
            try:
                reply = await attempt()
            except _FailedError as error:
                failure = error.failure
                billed += error.billed
            else:
                if began is not None:
                    at_step("at work")
                return reply, tries
            if failure.kind is CallFailureKind.STREAM and not self._streams:
                self._streams = True
                continue
            now = time.monotonic()
            gives_up_at = gives_up_at or now + self._patience.patience_s
            pause = self._pause(failure, tries)
            if failure.kind not in PASSING or now + pause > gives_up_at or billed >= _MOST_BILLED:
                self._raise(await self._with_models(failure), tries)
            began = began or now
            at_step(f"waiting for the model: {failure.message[:80]}, try {tries}, {now - began:.0f} s")
            if failure.kind is CallFailureKind.RATE_LIMIT:
                self._not_before = max(self._not_before, now + pause)
            # The slot is free meanwhile: calls that wait for their endpoint hold up no others.
            await asyncio.sleep(pause)

    async def _with_models(self, failure: CallFailure) -> CallFailure:
        """Return *failure*, of an absent model with those that the endpoint has."""
        if failure.kind is not CallFailureKind.ABSENT:
            return failure
        names = [name for one in await self.listed() if isinstance(name := one.get("id"), str)]
        has = f"; it has {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}" if names else ""
        return failure.but(message=failure.message + has)

    async def _wait_for_permission(self) -> None:
        # Somebody may have met the next limit meanwhile; those who waited together do not come back at once.
        while (wait := self._not_before - time.monotonic()) > 0:  # noqa: ASYNC110  # a time, not an event
            await asyncio.sleep(wait * random.uniform(1.0, 1.1))  # noqa: S311  # no secret hangs on it

    def _pause(self, failure: CallFailure, tries: int) -> float:
        longest = min(_LONGEST_PAUSE_S, self._patience.first_pause_s * 2.0 ** (tries - 1))
        if failure.retry_after_s:  # "after 0 s" says nothing that could be heeded by all who wait
            return max(failure.retry_after_s, _SHORTEST_PAUSE_S)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  # no secret hangs on it

    async def _replied(self, url: str, body: bytes, form: ReplyForm, bill: Bill) -> Parsed:
        """Ask once, and enter what that costs."""
        answer = Arriving(form, bill.saying)
        try:
            await self._post(url, body, answer)
            parsed = self._reply(form, answer)
        except _FailedError as error:
            if error.billed:
                bill.lost(answer.said())
            raise
        except asyncio.CancelledError:
            if answer.asked:  # the endpoint goes on, or has done so for long
                bill.lost(answer.said())
            raise
        bill.answered(parsed)
        return parsed

    async def _post(self, url: str, body: bytes, answer: Arriving) -> None:
        """Ask once, and let *answer* take what comes. Raises `_FailedError`."""
        import httpx

        client, headers, traced = self._client(), self._headers(), {"trace": answer.traced}
        try:
            async with asyncio.timeout(self._patience.timeout_s):
                with silence_told() as heard:
                    async with client.stream(
                        "POST", url, content=body, headers=headers, extensions=traced
                    ) as response:
                        answer.began(response.status_code, response.headers)
                        async for piece in response.aiter_bytes():
                            heard()
                            answer.take(piece)
        except TimeoutError as error:
            message = f"no answer within {self._patience.timeout_s:g} s"
            raise _network(message, billed=answer.asked) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise _FailedError(CallFailure(kind=CallFailureKind.REQUEST, message=str(error))) from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure = CallFailure(kind=CallFailureKind.UNCONNECTED, message=connection_trouble(error))
            raise _FailedError(failure) from error
        except httpx.HTTPError as error:
            raise _network(str(error) or type(error).__name__, billed=answer.accepted) from error
        except BrokenReplyError as error:
            raise _broken(str(error), billed=answer.accepted) from error
        if answer.status < 400 or answer.status in (403, 407):
            other = stranger(answer.status, answer.headers, url, url.removeprefix(self.base_url))
            if other is not None:
                raise _FailedError(CallFailure(kind=CallFailureKind.STRANGER, message=other))
        if not answer.accepted and not answer.holds_reply():
            raise self._failed(answer.status, answer.headers, bytes(answer.content))

    def _reply(self, form: ReplyForm, answer: Arriving) -> Parsed:
        """Read a reply, whole or as a stream, whichever came. Raises `_FailedError`."""
        try:
            document = form.joined(answer.events()) if answer.streams else parsed_object(answer.content)
            status = hidden_status(document)
            if status is not None:  # a failure behind the endpoint
                failed = self._failed(status, {}, json.dumps(document).encode())
                raise _FailedError(failed.failure, billed=answer.speaks())
            return form.parsed(document)
        except BrokenReplyError as error:
            raise _broken(str(error), billed=True) from error

    @staticmethod
    def _failed(status: int, headers: Mapping[str, str], body: bytes) -> _FailedError:
        failure = failure_of(status, headers, body)
        return _FailedError(failure.but(message=f"HTTP {status}: {failure.message}"))

    def _raise(self, failure: CallFailure, tries: int) -> NoReturn:
        """Raise what *failure* is for callers, with what to do next."""
        reason = self._redacted(failure.message)
        what = f"{self.name} at {shown_address(self.base_url)}"
        match failure.kind:
            case CallFailureKind.UNCONNECTED:
                lasted = f" ({tries} tries)" if tries > 1 else ""
                raise EndpointUnreachableError(f"{what} cannot be reached{lasted}: {reason}")
            case CallFailureKind.STRANGER:
                raise EndpointUnreachableError(f"{what} {reason}")
            case CallFailureKind.CONTEXT:
                raise ContextOverflowError(f"{what}: the request is too long for the model: {reason}")
            case CallFailureKind.REFUSAL:
                raise RefusedError(f"{what} will not answer this: {reason}")
            case CallFailureKind.KEY:
                raise KeyRejectedError(
                    f"{what} rejects the key in {self._provider.key}; set a valid one ({reason})"
                )
            case CallFailureKind.FORBIDDEN if not self._answered:
                raise KeyRejectedError(
                    f"{what} does not let the key in {self._provider.key} ask this model; set another ({reason})"
                )
            case CallFailureKind.ABSENT:
                raise ModelAbsentError(f"{what} is not there; check the model's name and the address ({reason})")
            case CallFailureKind.QUOTA:
                raise KeyRejectedError(
                    f"{what}: the account of {self._provider.key} has no money or quota left ({reason})"
                )
            case CallFailureKind.REQUEST | CallFailureKind.STREAM | CallFailureKind.FORBIDDEN:
                raise RequestRejectedError(f"{what} rejects the request; check model and settings ({reason})")
            case CallFailureKind.RATE_LIMIT | CallFailureKind.OVERLOAD:
                raise RateLimitedError(
                    f"{what} still answers with {failure.kind} after {tries} tries; resume later or with fewer "
                    f"calls at once ({reason})"
                )
        raise ModelError(f"{what} cannot be asked ({tries} tries): {reason}; check the address and try again")

    def _redacted(self, text: str) -> str:
        return text.replace(self._key.get_secret_value(), "***") if self._key else text

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": f"groundup/{__version__}"}
        if self._provider.api == "messages":
            from groundup.models.asking.messages import VERSION

            headers["anthropic-version"] = VERSION
        if self._key is not None:
            key = self._key.get_secret_value()
            named = self._provider.key_header
            headers |= {named: key} if named else {"Authorization": f"Bearer {key}"}
        return headers

    def _client(self) -> "httpx.AsyncClient":
        """Return the next client, in turn. Redirects are not followed: a key goes to its endpoint only."""
        import httpx

        if not self._clients:
            trusts = not is_loopback(urlsplit(self.base_url).hostname or "")  # no proxy leads to this machine
            secure = self.base_url.startswith("https://")
            # Reading the certificates takes longer than a call on loopback.
            context = (
                httpx.create_ssl_context(trust_env=trusts) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            )
            self._clients = [
                httpx.AsyncClient(
                    verify=context,
                    trust_env=trusts,
                    timeout=httpx.Timeout(self._patience.timeout_s, connect=_CONNECT_S),
                    limits=httpx.Limits(max_connections=_PER_CLIENT, keepalive_expiry=30.0),
                )
                for _ in range(-(-self._patience.concurrency // _PER_CLIENT))
            ]
        self._turn = (self._turn + 1) % len(self._clients)
        return self._clients[self._turn]


def _network(message: str, *, billed: bool) -> _FailedError:
    return _FailedError(CallFailure(kind=CallFailureKind.NETWORK, message=message), billed=billed)


def _broken(why: str, *, billed: bool) -> _FailedError:
    message = f"an answer that is not as agreed ({why[:200]})"
    return _FailedError(CallFailure(kind=CallFailureKind.BROKEN, message=message), billed=billed)
