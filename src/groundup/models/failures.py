"""What an endpoint's failure means: shall one wait, shorten, give up, or mend something? Pure."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from pydantic import Field

from groundup.domain.records import Record


class Kind(StrEnum):
    """What is to be done about a failure."""

    RATE_LIMIT = "rate limit"
    OVERLOAD = "overload"
    NETWORK = "network"
    BROKEN = "broken answer"
    CONTEXT = "context overflow"
    REFUSAL = "refusal"
    KEY = "key"
    QUOTA = "quota"
    REQUEST = "request"


PASSING = frozenset({Kind.RATE_LIMIT, Kind.OVERLOAD, Kind.NETWORK, Kind.BROKEN})
"""Another try may go well."""


class Failure(Record):
    """One failed call."""

    kind: Kind
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
_NO_MONEY = re.compile(
    r"insufficient_quota|insufficient balance|exceeded your current quota|credit balance|billing|payment required",
    re.IGNORECASE,
)
_MALFORMED = re.compile(r"\b\d+ validation errors?:")
"""llama-cpp-python says so with status 500, and quotes the request, in which any words may stand."""
_NEVER_FITS = re.compile(r"request too large", re.IGNORECASE)


class _Described(Record):
    message: str
    signs: str
    """Everything that tells the kind: codes, types and the message."""


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """Return what an answer with an error *status* means. Header names are lower case."""
    told = _described(body)
    malformed = status in {400, 422, 500} and _MALFORMED.search(told.signs)
    kind = Kind.REQUEST if malformed else _kind(status, told.signs)
    return Failure(kind=kind, message=told.message, retry_after_s=retry_after_s(headers))


def _kind(status: int, signs: str) -> Kind:
    if status == 402 or (status in {400, 403, 429} and _NO_MONEY.search(signs)):
        return Kind.QUOTA
    if status == 429:
        return Kind.REQUEST if _NEVER_FITS.search(signs) else Kind.RATE_LIMIT
    if status == 401:
        return Kind.KEY
    if status < 500 or status in {500, 501}:  # some servers answer 500 to a prompt that is too long
        if _REFUSED.search(signs):
            return Kind.REFUSAL
        if status == 413 or _OVERFLOW.search(signs):
            return Kind.CONTEXT
    if status == 403:
        return Kind.KEY
    if status >= 500 or status in {408, 409, 425}:
        return Kind.OVERLOAD
    return Kind.REQUEST


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return for how long an endpoint asks to be left alone, None when it does not say."""
    if milliseconds := _number(headers.get("retry-after-ms")):
        return milliseconds / 1000
    told = headers.get("retry-after")
    if told is None:
        return None
    seconds = _number(told)
    if seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(told)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _described(body: bytes) -> _Described:
    """Return what an error's body says. Providers wrap the same few things in many ways."""
    text = body[:20_000].decode(errors="replace").strip()
    try:
        document = json.loads(text)
    except ValueError:
        return _Described(message=text[:_MESSAGE_LENGTH] or "no explanation", signs=text[:2000])
    while isinstance(document, list) and document:
        document = document[0]
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return _Described(message=str(error)[:_MESSAGE_LENGTH], signs=text[:2000])
    message = error.get("message") or error.get("detail") or document.get("detail") or text
    return _Described(message=str(message)[:_MESSAGE_LENGTH], signs=text[:4000])
