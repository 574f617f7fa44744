"""Tests of groundup.models.endpoint: what providers say, in their own words, is understood."""

import json
from datetime import UTC, datetime

import pytest

from groundup.models.failures import PASSING, CallFailureKind, connection_trouble, failure_of, retry_after_s


def told(message: str, **more: str) -> bytes:
    """Return an error as most endpoints send it."""
    return json.dumps({"error": {"message": message, **more}}).encode()


OVERFLOWS = [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Please reduce the length of the messages or completion.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens",
    "Input is too long for requested model.",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "the request exceeds the available context size, try increasing it",
    "Requested tokens (5000) exceed context window of 4096",
]


@pytest.mark.parametrize("message", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_context_overflow_in_all_wordings(message: str, status: int) -> None:
    """A request that is too long is recognised in every provider's words, and is not sent again."""
    failure = failure_of(status, {}, told(message))
    assert failure.kind is CallFailureKind.CONTEXT
    assert failure.kind not in PASSING


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, told("no", code="context_length_exceeded")),
        (400, told("no", type="exceed_context_size_error")),
        (
            400,
            b'[{"error": {"code": 400, "message": "The input token count exceeds the maximum number of tokens"}}]',
        ),
        (400, b'{"object": "error", "message": "This model\'s maximum context length is 8192 tokens."}'),
        (400, b'{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}'),
        (400, b'{"message": "Input is too long for requested model."}'),
        (413, b'{"type": "error", "error": {"type": "request_too_large", "message": "no"}}'),
        (413, b"<html>"),
    ],
)
def test_context_overflow_in_all_shapes(status: int, body: bytes) -> None:
    """Codes, types, lists and bare messages are read alike."""
    assert failure_of(status, {}, body).kind is CallFailureKind.CONTEXT


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            429,
            told("Rate limit reached for gpt in organization org-x on tokens per min (TPM)"),
            CallFailureKind.RATE_LIMIT,
        ),
        (
            429,
            told("Request too large for gpt on tokens per min: Limit 30000, Requested 40000"),
            CallFailureKind.REQUEST,
        ),
        (429, told("You exceeded your current quota", code="insufficient_quota"), CallFailureKind.QUOTA),
        (402, told("Insufficient Balance"), CallFailureKind.QUOTA),
        (400, told("Your credit balance is too low to access the API"), CallFailureKind.QUOTA),
        (401, told("Incorrect API key provided"), CallFailureKind.KEY),
        (403, told("Your key has no access to this model"), CallFailureKind.FORBIDDEN),
        (400, told("filtered", code="content_filter"), CallFailureKind.REFUSAL),
        (
            400,
            told("The response was filtered due to Azure OpenAI's content management policy."),
            CallFailureKind.REFUSAL,
        ),
        (400, told("your prompt was flagged as potentially violating our usage policy."), CallFailureKind.REFUSAL),
        (400, told("Content Exists Risk"), CallFailureKind.REFUSAL),
        (404, told("The model `gpt-9` does not exist"), CallFailureKind.ABSENT),
        (422, b'{"detail": [{"loc": ["body"], "msg": "field required"}]}', CallFailureKind.REQUEST),
        (500, told("The server had an error"), CallFailureKind.OVERLOAD),
        (
            500,
            told("7 validation errors:\n  {'msg': 'no', 'input': 'the prompt is too long'}"),
            CallFailureKind.REQUEST,
        ),
        (503, b"<html>Service Unavailable</html>", CallFailureKind.OVERLOAD),
        (
            529,
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            CallFailureKind.OVERLOAD,
        ),
    ],
)
def test_what_is_to_be_done(status: int, body: bytes, kind: CallFailureKind) -> None:
    """Waiting, mending the key, paying, shortening and giving up are distinguished."""
    assert failure_of(status, {}, body).kind is kind


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"[]", b"null", b"3", b'{"error": "plain"}', b'{"error": null}', b"[" * 20_000]
)
def test_any_body_is_understood(body: bytes) -> None:
    """Whatever an endpoint sends with an error, there is a message, and it is short."""
    assert 0 < len(failure_of(500, {}, body).message) <= 300


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Sat, 01 Aug 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 01 Aug 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Sat, 99999999999999999999 Aug 2026 12:00:30 GMT"}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """All ways of saying when to come back are read; what makes no sense is ignored."""
    assert retry_after_s(headers, datetime(2026, 8, 1, 12, 0, 0, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("All connection attempts failed", "nothing listens there (connection refused)"),
        ("the peer left", "the peer left; check --base-url and the network"),
    ],
)
def test_why_no_connection_came_about(said: str, told: str) -> None:
    """Only a server that is not there is said to be; other troubles keep their own words."""
    assert told in connection_trouble(OSError(said))
