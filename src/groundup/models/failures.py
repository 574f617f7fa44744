"""What an endpoint's failure means: shall one wait, shorten, give up, or mend something? Without any I/O."""

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TypeGuard
from urllib.parse import urljoin

from pydantic import Field, JsonValue

from groundup.domain.records import Record
from groundup.models.settings import shown_address


class CallFailureKind(StrEnum):
    """What is to be done about a failure."""

    RATE_LIMIT = "rate limit"
    OVERLOAD = "overload"
    NETWORK = "network"
    UNCONNECTED = "no connection"
    STRANGER = "somebody else"
    BROKEN = "broken answer"
    CONTEXT = "context overflow"
    REFUSAL = "refusal"
    KEY = "key"
    FORBIDDEN = "forbidden"
    ABSENT = "absent model"
    STREAM = "stream wanted"
    QUOTA = "quota"
    REQUEST = "request"


PASSING = frozenset(
    {
        CallFailureKind.RATE_LIMIT,
        CallFailureKind.OVERLOAD,
        CallFailureKind.NETWORK,
        CallFailureKind.UNCONNECTED,
        CallFailureKind.BROKEN,
    }
)
"""Another try may go well."""


class CallFailure(Record):
    """One failed call."""

    kind: CallFailureKind
    message: str
    retry_after_s: float | None = Field(default=None, ge=0, description="as the endpoint asks")


_MESSAGE_LENGTH = 300

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (window|length|size|limit)"
    r"|(prompt|input|request|message)s? (is|are|was) too (long|large)|too long for (the )?(requested )?model"
    r"|maximum prompt length|input token count|max_model_len|reduce (the )?(length|your prompt|the size)"
    r"|longer than the (maximum )?model|larger than the (maximum|model)|exceeds? (the )?(maximum|max|model)"
    r"[^.]{0,40}tokens|too many (input |total )?tokens|`?inputs?`? tokens \+|string_above_max_length"
    r"|request_too_large",
    re.IGNORECASE,
)
"""How OpenAI, Azure, Anthropic, Gemini, Mistral, DeepSeek, xAI, Groq, Together, Bedrock, vLLM, SGLang, TGI and
llama.cpp say that a request is too long."""

_REFUSED = re.compile(
    r"content_filter|content_policy|content management policy|responsibleai|usage policy|usage policies"
    r"|data_inspection_failed|inappropriate content|content exists risk|safety (system|filter|policy)"
    r"|prohibited_content|flagged (as|by|for)|moderation",
    re.IGNORECASE,
)
_NO_IMAGES = re.compile(
    r"(image|multimodal|vision)[^.]{0,60}\b(un|not )support|not a multimodal model|unknown variant `?image_url"
    r"|(not|n't) (support|accept)[^.]{0,60}(image|multimodal|vision)|that support image",
    re.IGNORECASE,
)
_NO_MEMORY = re.compile(
    r"requires more (\w+ )?memory|cudaMalloc failed|unable to allocate \S+ buffer"
    r"|(not enough|insufficient) (\w+ )?memory to load",
    re.IGNORECASE,
)
"""How Ollama and llama.cpp say, with status 500, that the machine is too small for the model."""
_NO_MONEY = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance|payment required|out of credits"
    r"|not enough (credits|balance|money)|credits? (are |is |have |has )?(been )?(exhausted|depleted|used)"
    r"|used all (of )?(your )?(available )?credits|billing_(error|not_active)|key limit exceeded"
    r"|billing hard limit"
    r"|(month(ly)?|spend(ing)?)\b[^.]{0,40}\b(limit|quota|budget)|(limit|quota)\b[^.]{0,40}\bmonth",
    re.IGNORECASE,
)
"""How endpoints say that money, or what a month has of it, is gone. Many name a page on billing at each limit."""
_CLOSED_ACCOUNT = re.compile(
    r"(account|organi[sz]ation|team|workspace)\b[^.]{0,40}\b(suspended|restricted|disabled|deactivated|blocked)",
    re.IGNORECASE,
)
_PERHAPS_NO_MONEY = re.compile(r"exceeded your current quota", re.IGNORECASE)
"""Said by Gemini of a minute's limit, too, and then with a time."""
_OF_A_DAY = re.compile(r"per[- _]?day|daily|\b[TR]PD\b", re.IGNORECASE)
_A_DAYS_WAIT_S = 3600.0
"""Assumed where a day's limit comes without a time: longer than any call is worth waiting for."""
_WAIT = re.compile(
    r"(?:again|retry|resets?|available)\s+(?:in|after)\s+((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and\s+)?)+)"
    r"|\"retryDelay\":\s*\"([\d.]+s)\"",
    re.IGNORECASE,
)
"""When to come back, in words."""
_DURATION = re.compile(
    r"(\d+(?:\.\d+)?)\s*(milliseconds?|ms|days?|d|hours?|h|min(?:ute)?s?|m|sec(?:ond)?s?|s)(?![a-z])",
    re.IGNORECASE,
)
_SECONDS = {"ms": 0.001, "mi": 60.0, "m": 60.0, "d": 86400.0, "h": 3600.0, "s": 1.0}
_ABSENT = re.compile(
    r"model_not_found|unknown model|invalid model|not a valid model|no such model"
    r"|model[^.]{0,80}(not found|not exist|does not exist|not supported by any provider)",
    re.IGNORECASE,
)
_WANTS_STREAM = re.compile(
    r"only supports? (the )?stream|stream(ing)?\b[^.]{0,40}(\bmust\b|required|should be (set to )?true)"
    r"|(must|please|should)\b[^.]{0,40}\bstream|requires? (the )?stream|non-?stream(ing)? [^.]{0,40}not ",
    re.IGNORECASE,
)
_CODES = (
    (401, re.compile(r"invalid_api_key|authentication|unauthorized", re.IGNORECASE)),
    (402, re.compile(r"insufficient_quota|insufficient_balance|billing_error|payment", re.IGNORECASE)),
    (429, re.compile(r"rate_?limit|too many requests", re.IGNORECASE)),
    (503, re.compile(r"overloaded|unavailable|timeout", re.IGNORECASE)),
    (404, re.compile(r"model_not_found|not_found_error", re.IGNORECASE)),
)
"""The status that an error without one means, by its words."""
_STATUS_NAMES = ("code", "status", "status_code")
_BROKEN_OFF = ("error", "abort", "insufficient_system_resource")
"""Why a reply ends that its endpoint could not finish: OpenRouter and Mistral, vLLM and SGLang, DeepSeek."""
_BAD_KEY = re.compile(r"api key not valid|(incorrect|invalid) api key|api_key_invalid", re.IGNORECASE)
"""How Gemini and xAI say with status 400 what others say with 401."""
_MALFORMED = re.compile(r"\b\d+ validation errors?:")
"""llama-cpp-python says so with status 500, and quotes the request, in which any words may stand."""
_NEVER_FITS = re.compile(r"request too large", re.IGNORECASE)


class _Described(Record):
    message: str
    signs: str
    """Everything that shows the kind: codes, types and the message."""


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> CallFailure:
    """Return what an answer with an error *status* means. Header names are lower case."""
    described = _described(body)
    malformed = status in {400, 422, 500} and _MALFORMED.search(described.signs)
    wait_s = retry_after_s(headers)
    if wait_s is None and status in {429, 503}:
        wait_s = _told_wait_s(described.signs)
    kind = CallFailureKind.REQUEST if malformed else _kind(status, described.signs, told=wait_s is not None)
    if kind is CallFailureKind.RATE_LIMIT and wait_s is None and _OF_A_DAY.search(described.signs):
        wait_s = _A_DAYS_WAIT_S
    return CallFailure(kind=kind, message=described.message, retry_after_s=wait_s)


def hidden_status(document: Mapping[str, JsonValue]) -> int | None:
    """Return the status that an answer with status 200 should have had; None for one that is no failure."""
    error: object = document.get("error")
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not error and isinstance(choice, dict):
        error = choice.get("error") or choice.get("finish_reason") in _BROKEN_OFF
    if not error and "error" in (document.get("object"), document.get("type")):
        error = document
    if not error and not document.get("choices") and document.keys() & {"msg", "message", "detail"}:
        error = document if any(_is_error(document.get(name)) for name in _STATUS_NAMES) else None
    if not error:
        return None
    codes = [error.get(name) for name in _STATUS_NAMES] if isinstance(error, dict) else []
    for code in codes:
        if _is_error(code):
            return int(code)
    return next((status for status, sign in _CODES if sign.search(json.dumps(error))), 500)


def _is_error(code: object) -> TypeGuard[int | str]:
    """Whether *code* is the status of a failure."""
    number = int(code) if isinstance(code, str) and code.isdecimal() else code
    return isinstance(number, int) and 400 <= number < 600


def _kind(status: int, signs: str, *, told: bool) -> CallFailureKind:
    """Return what a failure is; *told*: whether it says when to come back."""
    if status == 402 or (status in {400, 403, 412, 429} and _NO_MONEY.search(signs)):
        return CallFailureKind.QUOTA
    if status in {400, 403, 412, 429} and _CLOSED_ACCOUNT.search(signs):
        return CallFailureKind.FORBIDDEN
    if status in {403, 429} and not told and _PERHAPS_NO_MONEY.search(signs):
        return CallFailureKind.QUOTA
    if status == 429:
        return CallFailureKind.REQUEST if _NEVER_FITS.search(signs) else CallFailureKind.RATE_LIMIT
    if status == 401 or (status == 400 and _BAD_KEY.search(signs)):
        return CallFailureKind.KEY
    kind = _said(signs) if status < 500 or status in {500, 501} else None
    if kind is not None:  # some servers answer 500 to a prompt that is too long
        return kind
    if status == 413:
        return CallFailureKind.CONTEXT
    return _by_status(status, signs)


def _said(signs: str) -> CallFailureKind | None:
    """Return the kind that the words mean, at any status."""
    if _REFUSED.search(signs):
        return CallFailureKind.REFUSAL
    if _NO_IMAGES.search(signs) or _NO_MEMORY.search(signs):
        return CallFailureKind.REQUEST
    return CallFailureKind.CONTEXT if _OVERFLOW.search(signs) else None


def _by_status(status: int, signs: str) -> CallFailureKind:
    if status == 403:
        return CallFailureKind.FORBIDDEN
    if status == 404 or (status in {400, 422} and _ABSENT.search(signs)):
        return CallFailureKind.ABSENT
    if status in {400, 405, 422} and _WANTS_STREAM.search(signs):
        return CallFailureKind.STREAM
    if status >= 500 or status in {408, 409, 425}:
        return CallFailureKind.OVERLOAD
    return CallFailureKind.REQUEST


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return for how long an endpoint asks to be left alone, None when it does not ask."""
    if milliseconds := _number(headers.get("retry-after-ms")):
        return milliseconds / 1000
    described = headers.get("retry-after")
    if described is None:
        return None
    seconds = _number(described)
    if seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(described)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _told_wait_s(signs: str) -> float | None:
    """Return how long to wait as the text of an error says it."""
    found = _WAIT.search(signs)
    parts = _DURATION.findall(found[1] or found[2]) if found else []
    waits = [
        float(number) * (_SECONDS.get(unit[:2].lower()) or _SECONDS[unit[0].lower()]) for number, unit in parts
    ]
    return sum(waits) if waits else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _told_error(document: Mapping[str, JsonValue]) -> object:
    """Return what the answer says of the error, wherever it stands."""
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    inner = choice.get("error") if isinstance(choice, dict) else None
    return document.get("error") or inner or document


def _described(body: bytes) -> _Described:
    """Return code, type and message of an error's body, which providers wrap in many ways."""
    text = body[:20_000].decode(errors="replace").strip()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _Described(message=text[:_MESSAGE_LENGTH] or "no explanation", signs=text[:2000])
    while isinstance(document, list) and document:
        document = document[0]
    error = _told_error(document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return _Described(message=str(error)[:_MESSAGE_LENGTH], signs=text[:2000])
    message = error.get("message") or error.get("msg") or error.get("detail") or document.get("detail") or text
    return _Described(message=str(message)[:_MESSAGE_LENGTH], signs=text[:4000])


def stranger(status: int, headers: Mapping[str, str], url: str, path: str) -> str | None:
    """Return what another than the endpoint answers to *path* at *url*, and what mends it; None: the endpoint."""
    location = headers.get("location", "")
    if 300 <= status < 400 and location:
        to = shown_address(urljoin(url, location))
        if is_slash_more(url, location):
            return (
                f"sends requests on to {to} (HTTP {status}), the same address but for a slash: its routes, or"
                f" those of a proxy before it, must take {path} as it is"
            )
        if to.rstrip("/").endswith(path):
            base_url = to.rstrip("/").removesuffix(path)
            return f"sends requests on to another address (HTTP {status}): give --base-url {base_url}"
        return (
            f"sends requests on to {to} (HTTP {status}): a proxy or a login stands between, or the address is "
            "wrong; check --base-url and the proxy settings"
        )
    if status == 407 or is_page(headers):
        return (
            f"answers with a web page in place of JSON (HTTP {status}): a proxy or a login "
            "stands between, or the address is wrong; check --base-url and the proxy settings"
        )
    return None


def is_slash_more(url: str, location: str) -> bool:
    """Whether *location* is the address *url* but for a slash at the end."""
    return bool(location) and urljoin(url, location).rstrip("/") == url.rstrip("/")


def is_page(headers: Mapping[str, str]) -> bool:
    """Whether an answer with these *headers* is a page for a browser."""
    return "html" in headers.get("content-type", "")


def connection_trouble(error: BaseException) -> str:
    """Return why no connection came about, and what mends it."""
    causes = list(_chain(error))
    text = " ".join(map(str, causes))
    if any(isinstance(one, ssl.SSLError) for one in causes):
        if "WRONG_VERSION_NUMBER" in text or "record layer failure" in text.lower():
            return "it does not speak TLS; give http:// in --base-url"
        return (
            f"its certificate cannot be verified ({str(error)[:120]}); name the file of the authority in "
            "SSL_CERT_FILE, or check https:// in --base-url"
        )
    if "Name or service not known" in text or "name resolution" in text or "nodename" in text:
        return "no such host is known; check --base-url"
    if any(isinstance(one, ConnectionRefusedError) for one in causes) or "All connection attempts failed" in text:
        return "nothing listens there (connection refused); start the server, or check --base-url"
    return f"{str(error) or type(error).__name__}; check --base-url and the network"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
