"""What is wrong with an endpoint is said in one sentence, soon; what is odd about it is read. One table of both.

Each row is asked as a run does: first whether the endpoint is there, then one question.
"""

import asyncio
import json
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import ChatReply
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.steps import heard_by
from groundup.models.arriving import silence_told
from groundup.models.client import EndpointModel
from groundup.models.opening import open_model
from groundup.models.prices import CostLedger
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
from groundup.models.settings import ModelSettings
from tests.models.conftest import saying
from tests.models.faulty_endpoint import Answer, FaultyEndpoint, error, says, serving, streams
from tests.patience import patient

MODELS = says({"object": "list", "data": [{"id": "mine"}, {"id": "other"}]})
PAGE = Answer(b"<!doctype html><title>Sign in</title>", 200, "text/html; charset=utf-8")
USAGE: JsonValue = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
SAID: JsonValue = {"role": "assistant", "content": "Hello."}


def whole(message: JsonValue = SAID, **more: JsonValue) -> Answer:
    """Return a whole reply."""
    return says({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE, **more})


def delta(piece: JsonValue, finish: str | None = None, **more: JsonValue) -> JsonValue:
    """Return an event of a stream."""
    return {"choices": [{"index": 0, "delta": piece, "finish_reason": finish}], **more}


FINE = whole()
NO_BODY = Answer(silent=True)
HANGS = Answer(silent=True, then="hang")
FIRST, LAST = delta({"role": "assistant", "content": "Hel"}), delta({"content": "lo."}, "stop", usage=USAGE)
GONE = "the account of VLLM_API_KEY has no money or quota left"


@dataclass(frozen=True)
class Row:
    """One fault or form, and what is due."""

    answers: tuple[Answer, ...] = (FINE,)
    models: tuple[Answer, ...] = (MODELS,)
    wrong: type[GroundupError] | None = None
    """The error; None: a reply, `Hello.`."""
    words: str = ""
    """Which words its sentence has, or a step that was said."""
    calls: int = 1
    """How many paid questions were asked."""
    lost: int = 0
    """How many answers are counted beside the reply."""
    settings: dict[str, JsonValue] | None = None
    path: str = "/v1"
    wait_s: float = 0.0


SOON: dict[str, JsonValue] = {"patience_s": 0.3}
SHORT: dict[str, JsonValue] = {"timeout_s": 1.0}
FAULTS = {
    # --- it is not there, or somebody else is
    "404 with its own text": Row(
        (error("no route /v1/chat/completions here", 404),),
        (error("no route", 404),),
        ModelAbsentError,
        "no route /v1/chat/completions here",
    ),
    "404 as a page of nginx": Row(
        (Answer(b"<html><h1>404 Not Found</h1><hr>nginx</html>", 404, "text/html"),),
        (Answer(b"<html><h1>404 Not Found</h1><hr>nginx</html>", 404, "text/html"),),
        ModelAbsentError,
        "check the model's name and the address",
    ),
    "405": Row((error("Method Not Allowed", 405),), wrong=RequestRejectedError, words="Method Not Allowed"),
    "a login page": Row(models=(PAGE,), wrong=EndpointUnreachableError, words="a web page in place", calls=0),
    "a login page for questions only": Row((PAGE,), wrong=EndpointUnreachableError, words="a web page in place"),
    "a proxy that wants a name": Row(
        models=(Answer(b"", 407, "text/plain"),), wrong=EndpointUnreachableError, words="the proxy", calls=0
    ),
    "moved to https": Row(
        models=(Answer(b"", 301, "text/html", {"location": "https://models.invalid/v1/models"}),),
        wrong=EndpointUnreachableError,
        words="--base-url https://models.invalid/v1",
        calls=0,
    ),
    "moved, questions only": Row(
        (Answer(b"", 308, "text/plain", {"location": "https://models.invalid/v1/chat/completions"}),),
        wrong=EndpointUnreachableError,
        words="--base-url https://models.invalid/v1",
    ),
    # --- the model
    "another model (OpenAI, vLLM)": Row(
        (error("The model `mine` does not exist.", 404, code="model_not_found"),),
        (says({"data": [{"id": "a"}, {"id": "b"}]}),),
        ModelAbsentError,
        "it has a, b",
    ),
    "another model (Ollama)": Row(
        (error('model "mine" not found, try pulling it first', 404, type="api_error"),),
        wrong=ModelAbsentError,
        words="try pulling it first; it has mine, other",
    ),
    "another model (400, OpenRouter)": Row(
        (error("mine is not a valid model ID", 400),), wrong=ModelAbsentError, words="it has mine, other"
    ),
    "another model (400, DeepSeek)": Row(
        (error("Model Not Exist", 400, type="invalid_request_error"),), wrong=ModelAbsentError, words="it has mine"
    ),
    # --- the key, the account
    "401": Row(models=(error("no", 401),), wrong=KeyRejectedError, words="in VLLM_API_KEY", calls=0),
    "401 for questions only": Row(
        (error("Incorrect API key provided", 401),), wrong=KeyRejectedError, words="set a valid one"
    ),
    "403 everywhere": Row(
        (error("Forbidden", 403),), (error("Forbidden", 403),), KeyRejectedError, "VLLM_API_KEY", calls=1
    ),
    "403 for questions only": Row(
        (error("Your key has no access to this model", 403),), wrong=KeyRejectedError, words="set another"
    ),
    "an account for no such country": Row(
        (error("Country, region, or territory not supported", 403, code="unsupported_country_region_territory"),),
        wrong=KeyRejectedError,
        words="territory not supported",
    ),
    "an organisation that is closed (Groq)": Row(
        (error("Organization has been restricted. Please reach out to support.", 400, code="restricted"),),
        wrong=KeyRejectedError,
        words="set another",
    ),
    "an account that was suspended (Fireworks)": Row(
        (error("Account is suspended, possibly due to reaching the monthly spending limit.", 412),),
        wrong=KeyRejectedError,
        words=GONE,
    ),
    "403 as a page that wants a browser": Row(
        (Answer(b"<!DOCTYPE html><title>Just a moment...</title>", 403, "text/html"),),
        wrong=EndpointUnreachableError,
        words="a web page in place",
    ),
    "402": Row((error("Insufficient Balance", 402),), wrong=KeyRejectedError, words=GONE),
    "429 without money (OpenAI)": Row(
        (error("You exceeded your current quota, please check your plan", 429, code="insufficient_quota"),),
        wrong=KeyRejectedError,
        words=GONE,
    ),
    "400 without money (Anthropic)": Row(
        (error("Your credit balance is too low to access the API", 400),), wrong=KeyRejectedError, words=GONE
    ),
    "429 of a month": Row(
        (error("Monthly quota exceeded. It resets on 1 December.", 429),), wrong=KeyRejectedError, words="Monthly"
    ),
    "429 of a month, with seconds": Row(
        (says({"error": {"message": "You have reached your monthly usage limit"}}, 429, retry_after="1"),),
        wrong=KeyRejectedError,
        words="monthly usage limit",
    ),
    "429 of a month, as xAI says it": Row(
        (
            says(
                {
                    "code": "Some resource has been exhausted",
                    "error": "Your team has either used all available credits or reached its monthly limit.",
                },
                429,
            ),
        ),
        wrong=KeyRejectedError,
        words="used all available credits",
    ),
    "429 of a day (OpenRouter)": Row(
        (
            says(
                {"error": {"message": "Rate limit exceeded: free-models-per-day", "code": 429}},
                429,
                retry_after="40000",
            ),
        ),
        wrong=RateLimitedError,
        words="free-models-per-day",
    ),
    "429 of a day (Groq)": Row(
        (
            error(
                "Rate limit reached for model `mine` on tokens per day (TPD): Limit 500000, Used 499000. "
                "Please try again in 7h12m3.5s. Need more tokens? Upgrade to Dev Tier at /settings/billing",
                429,
                code="rate_limit_exceeded",
            ),
        ),
        wrong=RateLimitedError,
        words="tokens per day",
    ),
    # --- it loads, or is overloaded
    "503 while it loads": Row(
        models=(error("Loading model", 503), MODELS), words="it is not ready (HTTP 503)", wait_s=60
    ),
    "503 while it loads, unannounced": Row(
        (error("Loading model", 503, type="unavailable_error"),) * 2 + (FINE,), words="Loading model", calls=3
    ),
    "503 for ever": Row(
        (error("Loading model", 503),), wrong=RateLimitedError, words="Loading model", calls=0, settings=SOON
    ),
    "429 with seconds": Row(
        (says({"error": {"message": "slow down"}}, 429, retry_after="0.1"), FINE), words="slow down", calls=2
    ),
    "429 with a date": Row(
        (says({"error": {"message": "slow down"}}, 429, retry_after="DATE"), FINE), words="slow down", calls=2
    ),
    "429 for longer than there is patience": Row(
        (says({"error": {"message": "slow down"}}, 429, retry_after="7200"),),
        wrong=RateLimitedError,
        words="slow down",
    ),
    "429 as text": Row((Answer(b"Too many requests", 429, "text/plain"), FINE), words="Too many", calls=2),
    "429, its words (Groq)": Row(
        (error("Rate limit reached ... on requests per minute (RPM). Please try again in 120ms.", 429), FINE),
        words="RPM",
        calls=2,
    ),
    **{
        f"{status}": Row((error("try again", status), FINE), words="try again", calls=2)
        for status in (408, 409, 500, 502, 503, 504, 520, 524, 529)
    },
    "502 as a page of nginx": Row(
        (Answer(b"<html><h1>502 Bad Gateway</h1></html>", 502, "text/html"), FINE), words="502", calls=2
    ),
    "500 for ever": Row(
        (error("boom", 500),), wrong=RateLimitedError, words="still answers with overload", calls=0, settings=SOON
    ),
    # --- it breaks off
    "closed without a word": Row((NO_BODY, FINE), words="try 1", calls=2),
    "reset without a word": Row((Answer(silent=True, then="reset"), FINE), words="try 1", calls=2),
    "cut in the middle": Row((Answer(b'{"choices": [{"mess', then="cut"), FINE), words="try 1", calls=2, lost=1),
    "a stream cut in the middle": Row(
        (streams(FIRST, end=b"", then="cut"), FINE), words="try 1", calls=2, lost=1, settings={"stream": True}
    ),
    "a stream that ends early": Row(
        (streams(FIRST, end=b""), streams(FIRST, LAST)),
        words="ends before",
        calls=2,
        lost=1,
        settings={"stream": True},
    ),
    "no byte at all": Row((HANGS, FINE), words="no answer within 1 s", calls=2, lost=1, settings=SHORT),
    "a stream that stalls": Row(
        (streams(FIRST, end=b"", then="hang"), streams(FIRST, LAST)),
        words="no answer within 1 s",
        calls=2,
        lost=1,
        settings={**SHORT, "stream": True},
    ),
    "a list of models that stalls": Row(
        models=(HANGS,), wrong=EndpointUnreachableError, words="no answer within 1 s", calls=0, settings=SHORT
    ),
    "cut for ever": Row((Answer(b'{"choi', then="cut"),), wrong=ModelError, words="3 tries", calls=3, lost=3),
    # --- status 200, and no reply
    "an error with status 200": Row((error("overloaded", 200, code=503), FINE), words="overloaded", calls=2),
    "an error without that name, with status 200": Row(
        (says({"code": 500, "msg": "upstream busy", "data": None}), FINE), words="upstream busy", calls=2
    ),
    "an error in the choice (OpenRouter)": Row(
        (says({"choices": [{"error": {"code": 502, "message": "upstream"}, "message": {"content": ""}}]}), FINE),
        words="upstream",
        calls=2,
    ),
    "an error within a stream": Row(
        (streams(FIRST, {"error": {"message": "overloaded", "code": 503}}), streams(FIRST, LAST)),
        words="overloaded",
        calls=2,
        lost=1,
        settings={"stream": True},
    ),
    "an error as an event of its own": Row(
        (
            Answer(
                b'event: error\ndata: {"error": {"message": "busy", "code": 503}}\n\n', 200, "text/event-stream"
            ),
            streams(FIRST, LAST),
        ),
        words="busy",
        calls=2,
        settings={"stream": True},
    ),
    "no JSON": Row((Answer(b"ok"), FINE), words="not as agreed", calls=2, lost=1),
    "nothing": Row((Answer(), FINE), words="not as agreed", calls=2, lost=1),
    "no choice": Row((says({"choices": [], "usage": USAGE}), FINE), words="choices", calls=2, lost=1),
    # --- the request
    "too long (400)": Row(
        (error("This model's maximum context length is 8192 tokens.", 400),),
        wrong=ContextOverflowError,
        words="too long for the model",
    ),
    "too long (413)": Row((Answer(b"", 413, "text/plain"),), wrong=ContextOverflowError, words="too long"),
    "refused (400)": Row(
        (error("filtered", 400, code="content_filter"),), wrong=RefusedError, words="will not answer"
    ),
    "a setting that it does not know": Row(
        (error("Unsupported parameter: 'seed'", 400),),
        wrong=RequestRejectedError,
        words="check model and settings",
    ),
    "a form that it does not know": Row(
        (says({"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, 422),),
        wrong=RequestRejectedError,
        words="field required",
    ),
    "a stream is wanted": Row((error("only supports stream mode", 400), streams(FIRST, LAST)), calls=2),
    # --- seen later
    "moved by a slash": Row(
        (Answer(b"", 307, "text/plain", {"location": "/v1/chat/completions/"}),),
        wrong=EndpointUnreachableError,
        words="the same address but for a slash",
    ),
    "moved by a slash, the list only": Row(models=(Answer(b"", 307, "text/plain", {"location": "/v1/models/"}),)),
    "moved to https, and by a slash": Row(
        (Answer(b"", 301, "text/plain", {"location": "https://models.invalid/v1/chat/completions/"}),),
        wrong=EndpointUnreachableError,
        words="--base-url https://models.invalid/v1",
    ),
    "too little memory (Ollama)": Row(
        (error("model requires more system memory (5.6 GiB) than is available (2.1 GiB)", 500),),
        wrong=RequestRejectedError,
        words="requires more system memory",
    ),
    "too little memory (llama.cpp)": Row(
        (error("unable to allocate CUDA0 buffer", 500),), wrong=RequestRejectedError, words="unable to allocate"
    ),
    "memory of one batch (vLLM)": Row(
        (error("CUDA out of memory. Tried to allocate 2.00 GiB", 500), FINE), words="CUDA out of memory", calls=2
    ),
    "no such deployment (Azure)": Row(
        (error("The API deployment for this resource does not exist.", 404, code="DeploymentNotFound"),),
        wrong=ModelAbsentError,
        words="deployment for this resource does not exist",
    ),
    "maintenance as a page": Row(
        (Answer(b"<html><h1>Down for maintenance</h1></html>", 503, "text/html"), FINE), words="503", calls=2
    ),
    "429 in milliseconds": Row(
        (Answer(b"{}", 429, "application/json", {"retry-after-ms": "20"}), FINE), words="try 1", calls=2
    ),
    "a detail that is a text": Row(
        (says({"detail": "max_tokens must be at least 1"}, 422),),
        wrong=RequestRejectedError,
        words="max_tokens must be at least 1",
    ),
    "a page with status 200": Row(
        (Answer(b"<html>Welcome to nginx!</html>", 200, "text/html"),),
        wrong=EndpointUnreachableError,
        words="a web page in place",
    ),
    "a stream with an object in each line": Row(
        (
            Answer(
                b"".join(json.dumps(one).encode() + b"\n" for one in (FIRST, LAST)), 200, "application/x-ndjson"
            ),
        ),
        settings={"stream": True},
    ),
    "a sequence of objects": Row(
        (
            Answer(
                b"".join(b"\x1e" + json.dumps(one).encode() + b"\n" for one in (FIRST, LAST)),
                200,
                "application/json-seq",
            ),
        ),
        settings={"stream": True},
    ),
    "a stream with pings between": Row(
        (
            Answer(
                streams(FIRST, LAST).body.replace(b"\n\ndata:", b"\n\nevent: ping\ndata: {}\n\ndata:", 1),
                200,
                "text/event-stream",
            ),
        ),
        settings={"stream": True},
    ),
    "counts with a point": Row(
        (says({"choices": [{"message": SAID}], "usage": {"prompt_tokens": 1000.0, "completion_tokens": 100.0}}),)
    ),
    # --- odd, and right
    "an address without /v1": Row(
        path="", models=(error("no", 404), MODELS), wrong=ModelAbsentError, words="/v1", calls=0
    ),
    "an address with the whole path": Row(
        path="/v1/chat/completions", wrong=UsageError, words="goes too far: give http://127.0.0.1", calls=0
    ),
    "a stream that nobody asked for": Row((streams(FIRST, LAST),)),
    "a whole reply in place of a stream": Row(settings={"stream": True}),
    "a stream that calls itself JSON": Row(
        (streams(FIRST, LAST, kind="application/json"),), settings={"stream": True}
    ),
    "a stream that calls itself text": Row((streams(FIRST, LAST, kind="text/plain"),), settings={"stream": True}),
    "a reply that calls itself text": Row((Answer(FINE.body, kind="text/plain"),)),
    "a reply with a mark of its encoding": Row((Answer(b"\xef\xbb\xbf" + FINE.body),)),
    "a stream with a mark of its encoding": Row(
        (Answer(b"\xef\xbb\xbf" + streams(FIRST, LAST).body, 200, "text/event-stream"),), settings={"stream": True}
    ),
    "a stream that names and numbers its events": Row(
        (
            Answer(
                streams(FIRST, LAST).body.replace(b"data: {", b"event: message\nid: 7\ndata:{"),
                200,
                "text/event-stream",
            ),
        ),
        settings={"stream": True},
    ),
    "a stream that begins with what a filter found (Azure)": Row(
        (streams({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, FIRST, LAST),),
        settings={"stream": True},
    ),
    "a stream with comments": Row(
        (Answer(b": ping\n\n: ping\n\n" + streams(FIRST, LAST).body, 200, "text/event-stream"),),
        settings={"stream": True},
    ),
    "a stream with other line ends": Row(
        (Answer(streams(FIRST, LAST).body.replace(b"\n", b"\r\n"), 200, "text/event-stream"),),
        settings={"stream": True},
    ),
    "a stream without its end mark": Row((streams(FIRST, LAST, end=b""),), settings={"stream": True}),
    "a stream that never says why it ends": Row(
        (streams(FIRST, delta({"content": "lo."}), {"choices": [], "usage": USAGE}),), settings={"stream": True}
    ),
    "a stream with usage in an event of its own": Row(
        (streams(FIRST, delta({"content": "lo."}, "stop"), {"choices": [], "usage": USAGE}),),
        settings={"stream": True},
    ),
    "a stream with usage in every event": Row(
        (
            streams(
                delta(
                    {"content": "Hel"},
                    usage={"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
                ),
                LAST,
            ),
        ),
        settings={"stream": True},
    ),
    "a stream with usage in its choice": Row(
        (
            streams(
                FIRST,
                {"choices": [{"index": 0, "delta": {"content": "lo."}, "finish_reason": "stop", "usage": USAGE}]},
            ),
        ),
        settings={"stream": True},
    ),
    "thoughts in the text": Row((whole({"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}),)),
    "null for all that is empty": Row(
        (
            whole(
                {"role": "assistant", "content": "Hello.", "tool_calls": None, "refusal": None},
                id=None,
                system_fingerprint=None,
            ),
        )
    ),
    "no list of models": Row(models=(error("no", 404),)),
    "a list of models that fails": Row(models=(error("no", 500),)),
}


def dated(answer: Answer) -> Answer:
    """Return *answer* with a date of the next second where one is wanted."""
    if answer.headers.get("retry-after") != "DATE":
        return answer
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    return Answer(answer.body, answer.status, answer.kind, {"retry-after": soon})


@pytest.mark.parametrize("row", FAULTS.values(), ids=FAULTS)
async def test_a_fault_is_said_and_an_oddity_read(row: Row) -> None:
    """The right sentence or the right reply; nothing is asked or paid for twice."""
    endpoint = FaultyEndpoint(tuple(map(dated, row.answers)), row.models)
    said: list[str] = []
    ledger = CostLedger(None)
    usual = {"patience_s": patient(20), "first_pause_s": 0.01, "price": "1:10", "max_output_tokens": 100}
    reply: ChatReply | None = None
    wrong: GroundupError | None = None
    async with serving(endpoint) as address:
        settings = ModelSettings.model_validate(
            {"base_url": f"{address}{row.path}", **usual, **(row.settings or {})}
        )
        try:
            with heard_by(said.append):
                async with open_model("vllm/mine", settings, ledger=ledger) as model:
                    assert isinstance(model, EndpointModel)
                    await model.reach(row.wait_s)
                    reply = await model.complete(saying("Say hello."))
        except GroundupError as failed:
            wrong = failed
    assert type(wrong) is (row.wrong or type(None)), wrong
    assert row.words in " | ".join([*said, str(wrong)])
    if row.calls:
        assert len(endpoint.asked) == row.calls
    if reply is not None:
        assert reply.message.content == "Hello."
        assert not reply.estimated
        paid = reply.usage + reply.lost
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1000, 100)
        assert (reply.lost.input_tokens > 0) is bool(row.lost)
        assert ledger.spent_usd == pytest.approx((paid.input_tokens + 10 * paid.output_tokens) / 1e6)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"total_tokens": 1100},
        {"prompt_tokens": "many"},
        "none",
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_usage_without_a_count_is_estimated(usage: JsonValue, is_streamed: bool) -> None:
    """What no usable count stands for is estimated, called so, and counts towards the limit on the cost."""
    last = delta({"content": "lo."}, "stop", usage=usage)
    reply = streams(FIRST, last) if is_streamed else says({"choices": [{"message": SAID}], "usage": usage})
    ledger = CostLedger(None)
    async with serving(FaultyEndpoint((reply,), (MODELS,))) as address:
        settings = ModelSettings(base_url=f"{address}/v1", price="1:10", stream=is_streamed)
        async with open_model("vllm/mine", settings, ledger=ledger) as model:
            said = await model.complete(saying("Say hello."))
    assert said.estimated
    assert said.usage.input_tokens > 0
    assert said.usage.output_tokens > 0
    assert ledger.spent_usd == pytest.approx(said.cost_usd)


async def unreached(address: str) -> str:
    """Return why nothing can be asked at *address*."""
    async with open_model("vllm/mine", ModelSettings(base_url=address)) as model:
        assert isinstance(model, EndpointModel)
        with pytest.raises(EndpointUnreachableError) as caught:
            await model.reach()
    return str(caught.value)


def signed_by_itself(folder: Path) -> ssl.SSLContext:
    """Return what serves with a certificate of nobody's."""
    pytest.importorskip("cryptography", reason="makes certificates")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    today = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = made.not_valid_before(today).not_valid_after(today + timedelta(days=1)).sign(key, hashes.SHA256())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(pem + signed.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


async def test_a_certificate_of_nobodys_is_named(tmp_path: Path) -> None:
    """The file of the authority is what mends it."""
    async with serving(FaultyEndpoint((FINE,), (MODELS,)), signed_by_itself(tmp_path)) as address:
        assert "name the file of the authority in SSL_CERT_FILE" in await unreached(f"{address}/v1")


async def test_https_where_none_is_spoken_is_named() -> None:
    """The scheme is what mends it."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(Answer(b"Bad Request", 400, "text/plain").head())
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        said = await unreached(f"https://127.0.0.1:{port}/v1")
    assert "it does not speak TLS; give http:// in --base-url" in said


async def test_a_server_that_is_gone_meanwhile_ends_the_run() -> None:
    """No attempt after this one waits for it as long again, and the sentence is that of the beginning."""
    async with serving(FaultyEndpoint((FINE,), (MODELS,))) as address:
        pass
    settings = ModelSettings(base_url=f"{address}/v1", patience_s=0.2, first_pause_s=0.05)
    async with open_model("vllm/mine", settings) as model:
        with pytest.raises(
            EndpointUnreachableError, match=r"cannot be reached \(\d+ tries\): nothing listens there"
        ):
            await model.complete(saying("Say hello."))


async def test_a_word_is_said_while_nothing_comes() -> None:
    """Whoever looks on knows what is waited for, long before the time is over."""
    said: list[str] = []
    with heard_by(said.append), silence_told(0.01) as heard:
        while not said:  # noqa: ASYNC110  # what is waited for is said from a callback
            await asyncio.sleep(0.01)
        heard()
        assert said == ["waiting for the model's answer", "at work"]
        while len(said) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
