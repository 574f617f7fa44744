"""Tests of groundup.models.endpoint: what providers say, in their own words, is understood."""

import json
import ssl
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from groundup.models.failures import (
    PASSING,
    CallFailureKind,
    connection_trouble,
    failure_of,
    hidden_status,
    retry_after_s,
    stranger,
)


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
    ("status", "words", "seconds"),
    [
        (429, "Rate limit reached, please try again in 1m30.5s.", 90.5),
        (429, "Rate limit reached. Retry after 250 ms", 0.25),
        (429, "resets in 2 hours, 3 minutes and 4 seconds", 7384.0),
        (429, "available in 1d", 86400.0),
        (503, "loading; try again in 20 sec", 20.0),
        (500, "the server broke; try again in 20 sec", None),
        (429, "come back later", None),
        (429, "limit on requests per day (RPD)", 3600.0),
        (429, "daily limit; try again in 2h", 7200.0),
        (429, "try again in 5 parsecs", None),
    ],
)
def test_how_long_to_wait_in_words(status: int, words: str, seconds: float | None) -> None:
    """Where no header says it, the text of an error does; a day's limit without a time is no use to wait for."""
    assert failure_of(status, {}, told(words)).retry_after_s == seconds
    assert failure_of(status, {"retry-after": "7"}, told(words)).retry_after_s == 7


def test_a_wait_stands_in_googles_details_too() -> None:
    """And then a minute's limit is no end of all money, though it uses the same words."""
    quota = {"error": {"message": "You exceeded your current quota", "details": [{"retryDelay": "34.5s"}]}}
    failure = failure_of(429, {}, json.dumps(quota).encode())
    assert (failure.kind, failure.retry_after_s) == (CallFailureKind.RATE_LIMIT, 34.5)
    for status in (403, 429):
        assert failure_of(status, {}, told("You exceeded your current quota")).kind is CallFailureKind.QUOTA


WORDS = {
    "no money": "Insufficient credits",
    "closed": "Your organization is suspended",
    "bad key": "API key not valid",
    "refused": "blocked by our safety system",
    "no images": "image input is not supported",
    "no memory": "model requires more system memory",
    "too long": "too many input tokens",
    "absent": "no such model",
    "stream": "this model only supports streaming",
    "day": "as you like",
}
KINDS: dict[int, dict[str, CallFailureKind]] = {
    400: {
        "no money": CallFailureKind.QUOTA,
        "closed": CallFailureKind.FORBIDDEN,
        "bad key": CallFailureKind.KEY,
        "refused": CallFailureKind.REFUSAL,
        "no images": CallFailureKind.REQUEST,
        "no memory": CallFailureKind.REQUEST,
        "too long": CallFailureKind.CONTEXT,
        "absent": CallFailureKind.ABSENT,
        "stream": CallFailureKind.STREAM,
        "day": CallFailureKind.REQUEST,
    },
    401: {"no money": CallFailureKind.KEY, "closed": CallFailureKind.KEY, "day": CallFailureKind.KEY},
    402: {"closed": CallFailureKind.QUOTA, "day": CallFailureKind.QUOTA},
    403: {
        "no money": CallFailureKind.QUOTA,
        "closed": CallFailureKind.FORBIDDEN,
        "refused": CallFailureKind.REFUSAL,
        "absent": CallFailureKind.FORBIDDEN,
        "day": CallFailureKind.FORBIDDEN,
    },
    404: {"no money": CallFailureKind.ABSENT, "stream": CallFailureKind.ABSENT, "day": CallFailureKind.ABSENT},
    405: {"stream": CallFailureKind.STREAM, "absent": CallFailureKind.REQUEST, "day": CallFailureKind.REQUEST},
    408: {"day": CallFailureKind.OVERLOAD, "too long": CallFailureKind.CONTEXT},
    409: {"day": CallFailureKind.OVERLOAD},
    412: {"no money": CallFailureKind.QUOTA, "closed": CallFailureKind.FORBIDDEN, "day": CallFailureKind.REQUEST},
    413: {"refused": CallFailureKind.REFUSAL, "day": CallFailureKind.CONTEXT},
    418: {"stream": CallFailureKind.REQUEST, "day": CallFailureKind.REQUEST},
    422: {"absent": CallFailureKind.ABSENT, "stream": CallFailureKind.STREAM, "day": CallFailureKind.REQUEST},
    425: {"day": CallFailureKind.OVERLOAD},
    429: {
        "no money": CallFailureKind.QUOTA,
        "closed": CallFailureKind.FORBIDDEN,
        "too long": CallFailureKind.RATE_LIMIT,
        "day": CallFailureKind.RATE_LIMIT,
    },
    500: {
        "no memory": CallFailureKind.REQUEST,
        "refused": CallFailureKind.REFUSAL,
        "too long": CallFailureKind.CONTEXT,
        "absent": CallFailureKind.OVERLOAD,
        "stream": CallFailureKind.OVERLOAD,
        "no money": CallFailureKind.OVERLOAD,
    },
    501: {"too long": CallFailureKind.CONTEXT, "day": CallFailureKind.OVERLOAD},
    502: {"too long": CallFailureKind.OVERLOAD, "refused": CallFailureKind.OVERLOAD},
    503: {"too long": CallFailureKind.OVERLOAD},
}


@pytest.mark.parametrize(("status", "kinds"), KINDS.items())
def test_words_mean_what_they_can_at_a_status(status: int, kinds: dict[str, CallFailureKind]) -> None:
    """A gateway's trouble is never a prompt that is too long, and a rate limit is not because it names tokens."""
    assert {words: failure_of(status, {}, told(WORDS[words])).kind for words in kinds} == kinds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "no explanation"),
        (b"  plain \n", "plain"),
        (b"x" * 400, "x" * 300),
        (told("y" * 400), "y" * 300),
        (b'{"error": {"msg": "of msg"}}', "of msg"),
        (b'{"error": {"detail": "of detail"}}', "of detail"),
        (b'{"error": {"code": 7}, "detail": "beside"}', "beside"),
        (b'{"error": {"code": 7}}', '{"error": {"code": 7}}'),
        (b'{"error": "a text"}', "a text"),
        (b'[[{"error": {"message": "in lists"}}]]', "in lists"),
        (b'{"choices": [{"error": {"message": "of a choice"}}]}', "of a choice"),
        (b'{"choices": [3], "message": "odd choices"}', "odd choices"),
        (b'{"choices": [], "message": "no choices"}', "no choices"),
    ],
)
def test_what_an_error_says_is_found(body: bytes, message: str) -> None:
    """Wherever endpoints put it, and at most 300 characters of it."""
    assert failure_of(400, {}, body).message == message


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({}, None),
        ({"choices": [{"message": {}}], "message": "fine"}, None),
        ({"message": "fine"}, None),
        ({"message": "fine", "code": 200}, None),
        ({"message": "no", "code": 400}, 400),
        ({"msg": "no", "status": "599"}, 599),
        ({"detail": "no", "status_code": 600}, None),
        ({"message": "no", "code": 399}, None),
        ({"message": "no", "code": "E7", "status": 404}, 404),
        ({"code": 404}, None),
        ({"choices": [{}], "message": "no", "code": 404}, None),
        ({"error": {"code": "429"}}, 429),
        ({"error": {"status_code": 503, "code": "busy"}}, 503),
        ({"error": {"type": "authentication_error"}}, 401),
        ({"error": {"type": "billing_error"}}, 402),
        ({"error": "Too many requests"}, 429),
        ({"error": {"type": "overloaded_error"}}, 503),
        ({"error": {"type": "not_found_error"}}, 404),
        ({"error": "what?"}, 500),
        ({"object": "error", "code": 404, "message": "no"}, 404),
        ({"type": "error", "message": "no"}, 500),
        ({"choices": [{"error": {"code": 502}}]}, 502),
        ({"choices": [{"finish_reason": "abort"}]}, 500),
        ({"choices": [{"finish_reason": "stop"}]}, None),
        ({"choices": ["odd"]}, None),
    ],
)
def test_the_status_that_an_answer_should_have_had(document: dict[str, JsonValue], status: int | None) -> None:
    """Its own number where it is one of a failure, else what its words mean, else 500; a reply is no failure."""
    assert hidden_status(document) == status


MEETS = "a proxy or a login stands between, or the address is wrong; check --base-url and the proxy settings"


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (200, {}, None),
        (200, {"content-type": "application/json"}, None),
        (304, {}, None),
        (400, {"location": "https://other.example"}, None),
        (299, {"location": "https://other.example"}, None),
        (200, {"content-type": "text/html"}, f"answers with a web page in place of JSON (HTTP 200): {MEETS}"),
        (407, {}, f"answers with a web page in place of JSON (HTTP 407): {MEETS}"),
        (406, {}, None),
        (
            307,
            {"location": "/v1/models/"},
            "sends requests on to https://host.example/v1/models/ (HTTP 307), the same address but for a slash: "
            "its routes, or those of a proxy before it, must take /models as it is",
        ),
        (
            300,
            {"location": "https://other.example/v2/models/"},
            "sends requests on to another address (HTTP 300): give --base-url https://other.example/v2",
        ),
        (
            399,
            {"location": "https://name:word@login.example/in?to=x"},
            f"sends requests on to https://login.example/in (HTTP 399): {MEETS}",
        ),
    ],
)
def test_what_answers_in_an_endpoints_place(status: int, headers: dict[str, str], told: str | None) -> None:
    """One sentence says what it did and what mends it, without anybody's password."""
    assert stranger(status, headers, "https://host.example/v1/models", "/models") == told


def caused(error: Exception, *, by: Exception, told: bool = True) -> Exception:
    """Return *error* as if it came after another one; *told*: with `from`."""
    if told:
        error.__cause__ = by
    else:
        error.__context__ = by
    return error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            OSError("All connection attempts failed"),
            "nothing listens there (connection refused); start the server",
        ),
        (ConnectionRefusedError("no"), "nothing listens there (connection refused); start the server"),
        (caused(OSError("odd"), by=ConnectionRefusedError("no")), "nothing listens there (connection refused)"),
        (
            caused(OSError("odd"), by=ConnectionRefusedError("no"), told=False),
            "nothing listens there (connection refused)",
        ),
        (OSError("Name or service not known"), "no such host is known; check --base-url"),
        (OSError("Temporary failure in name resolution"), "no such host is known; check --base-url"),
        (OSError("nodename nor servname provided"), "no such host is known; check --base-url"),
        (ssl.SSLError("WRONG_VERSION_NUMBER"), "it does not speak TLS; give http:// in --base-url"),
        (ssl.SSLError("Record Layer Failure"), "it does not speak TLS; give http:// in --base-url"),
        (
            caused(OSError("z" * 130), by=ssl.SSLError("of nobody")),
            f"its certificate cannot be verified ({'z' * 120}); name the file of the authority in SSL_CERT_FILE, "
            "or check https:// in --base-url",
        ),
        (OSError("WRONG_VERSION_NUMBER"), "WRONG_VERSION_NUMBER; check --base-url and the network"),
        (OSError("the peer left"), "the peer left; check --base-url and the network"),
        (TimeoutError(), "TimeoutError; check --base-url and the network"),
    ],
)
def test_why_no_connection_came_about(error: Exception, told: str) -> None:
    """Only a server that is not there is said to be; other troubles keep their own words."""
    assert connection_trouble(error).startswith(told)
