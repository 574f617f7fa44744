"""Forms of answers that servers of Chat Completions send; docs/data/endpoint-forms.tsv names their sources."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.conversations import ChatReply
from groundup.models.protocol import ContextOverflowError, KeyRejectedError, ModelAbsentError, ModelError
from groundup.registries.server import Response
from tests.models.test_odd_replies import Answers, answer, ask, stream

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "data" / "endpoint-forms.tsv"
HERE = "tests/models/test_endpoint_forms.py"
AGAIN = {"choices": [{"message": {"content": "again"}, "finish_reason": "stop"}]}
GOOD = answer(AGAIN)
LS = '{"command": "ls"}'


def part(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an event of a stream."""
    choice = {"index": 0, "finish_reason": finish, **more}
    return {"model": "m", "choices": [choice if delta is None else choice | {"delta": delta}]}


def call(name: str | None, arguments: object, **more: object) -> dict[str, Any]:
    """Return a part of a call."""
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **more}]}


def whole(finish: str | None = "stop", **message: object) -> Response:
    """Return a whole reply."""
    return answer({"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}]})


def raw(text: str) -> Response:
    """Return what a server writes as a stream."""
    return Response(200, text.encode(), "text/event-stream")


def error(status: int, **fields: object) -> Response:
    """Return an error."""
    return answer({"error": fields}, status)


END, CALLED = part({}, "stop"), part({}, "tool_calls")
HI = part({"content": "hi"})


def says(text: str, finish: str = "stop") -> Callable[[ChatReply], None]:
    """Return a check of a text without calls."""

    def check(reply: ChatReply) -> None:
        assert (reply.message.content, reply.finish, reply.message.tool_calls) == (text, finish, ())

    return check


def calls(*arguments: str, text: str = "") -> Callable[[ChatReply], None]:
    """Return a check of calls of bash."""

    def check(reply: ChatReply) -> None:
        assert [(one.name, json.loads(one.arguments)) for one in reply.message.tool_calls] == [
            ("bash", json.loads(one)) for one in arguments
        ]
        assert all(one.id for one in reply.message.tool_calls)
        assert (reply.message.content, reply.finish) == (text, "tool_calls")

    return check


def named(reply: ChatReply) -> None:
    """Check that the model keeps its name."""
    assert (reply.message.content, reply.model) == ("hi", "m")


def signed(reply: ChatReply) -> None:
    """Check that what the endpoint wants back with a call is kept."""
    calls(LS)(reply)
    assert reply.message.tool_calls[0].original == {"extra_content": {"google": {"thought_signature": "abc"}}}


def thought(reply: ChatReply) -> None:
    """Check that thoughts are no part of the text."""
    assert (reply.message.content, reply.message.reasoning) == ("hi", "hm")


Read = Callable[[ChatReply], None]
FORMS: dict[str, tuple[list[Response], Read | type[Exception]]] = {
    'every piece ends for the reason ""': (
        [stream(part({"content": "h"}, ""), part({"content": "i"}, "stop"))],
        says("hi"),
    ),
    "a stream that breaks off after such pieces": (
        [stream(part({"content": "half"}, ""), end=b""), GOOD],
        says("again"),
    ),
    "calls without an index": (
        [stream(part(call("bash", LS, id="1")), part(call("bash", LS, id="2")), CALLED)],
        calls(LS, LS),
    ),
    "calls end for the reason stop": ([stream(part(call("bash", LS, index=0, id="1")), END)], calls(LS)),
    "arguments as an object": ([whole("tool_calls", **call("bash", {"command": "ls"}, id="1"))], calls(LS)),
    "an error as a text": ([answer({"error": "model 'm' not found"}, 404)], ModelAbsentError),
    "the first piece has no arguments": (
        [stream(part(call("bash", None, index=0, id="1")), part(call(None, LS, index=0)), CALLED)],
        calls(LS),
    ),
    "every call has the index 0": (
        [
            stream(
                *(
                    part(call(name, text, index=0, id=n))
                    for n in "12"
                    for name, text in (("bash", ""), (None, LS))
                ),
                CALLED,
            )
        ],
        calls(LS, LS),
    ),
    "pieces of calls have no type": (
        [stream(part(call("bash", LS, index=0, id="1")), part(call(None, "", index=0)), CALLED)],
        calls(LS),
    ),
    "pieces without an id": (
        [stream(part(call("bash", "{", index=0)), part(call("", LS[1:], index=0, id="")), CALLED)],
        calls(LS),
    ),
    "every piece of a call has another id": (
        [
            stream(
                part(call("bash", "", index=0, id="a")),
                part(call(None, LS[:5], index=0, id="b")),
                part(call(None, LS[5:], index=0, id="c")),
                CALLED,
            )
        ],
        calls(LS),
    ),
    "a reply that its server aborted": (
        [stream(part({"content": "half"}), part({}, "abort")), GOOD],
        says("again"),
    ),
    "an error without `error`": (
        [answer({"object": "error", "message": "maximum context length is 8192 tokens", "code": 400}, 400)],
        ContextOverflowError,
    ),
    "role and text are null while it thinks": (
        [stream(part({"role": None, "content": None, "reasoning_content": "hm"}), HI, END)],
        thought,
    ),
    "thoughts as `reasoning`": ([stream(part({"reasoning": "hm"}), HI, END)], thought),
    "a failure in a line `error:`": (
        [
            raw(
                'error: {"code":400,"message":"the request exceeds the available context size",'
                '"type":"invalid_request_error"}\n\ndata: [DONE]\n\n'
            )
        ],
        ContextOverflowError,
    ),
    "a failure as the event `error`": (
        [raw('event: error\ndata: {"message":"Compute error."}\n\n'), GOOD],
        says("again"),
    ),
    "a failure beside its message": (
        [raw('data: {"error":{"message":"Compute error."},"message":"Compute error."}\n\n'), GOOD],
        says("again"),
    ),
    "it loads": ([error(503, code=503, message="Loading model", type="unavailable_error"), GOOD], says("again")),
    "an empty list of calls": ([whole(content="hi", tool_calls=[])], says("hi")),
    "a call of nothing": (
        [whole("tool_calls", content="hi", tool_calls=[{"id": "", "type": "function"}])],
        says("hi"),
    ),
    'later pieces name the call ""': (
        [stream(part(call("bash", "{", index=0, id="1")), part(call("", LS[1:], index=0)), CALLED)],
        calls(LS),
    ),
    "a call that could not be read": (
        [
            error(
                400,
                code="tool_use_failed",
                message="Failed to call a function.",
                failed_generation="<function=bash>",
            )
        ],
        says("<function=bash>"),
    ),
    "the same within a stream": (
        [
            stream(
                {"error": {"code": "tool_use_failed", "message": "Failed", "failed_generation": "<function=bash>"}}
            )
        ],
        says("<function=bash>"),
    ),
    "usage in the first event": ([stream({"x_groq": {"id": "r"}, **HI}, END)], says("hi")),
    "a wrong key with status 400": (
        [answer({"code": "Client specified an invalid argument", "error": "Incorrect API key provided: k."}, 400)],
        KeyRejectedError,
    ),
    "a wrong key as a list": (
        [answer([{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}], 400)],
        KeyRejectedError,
    ),
    "empty lines before the reply": (
        [Response(200, b"\n\n\n" + json.dumps(AGAIN).encode(), "application/json")],
        says("again"),
    ),
    "comments between events": (
        [raw(f": keep-alive\n\ndata: {json.dumps(HI)}\n\n: keep-alive\n\ndata: {json.dumps(END)}\n\n")],
        says("hi"),
    ),
    "a reply that lacked resources": (
        [whole("insufficient_system_resource", content="half"), GOOD],
        says("again"),
    ),
    "ids of calls with dots and colons": (
        [whole("tool_calls", **call("bash", LS, id="functions.bash:0", type="function"))],
        calls(LS),
    ),
    "comments before events": (
        [raw(f": OPENROUTER PROCESSING\n\ndata: {json.dumps(HI)}\n\ndata: {json.dumps(END)}\n\n")],
        says("hi"),
    ),
    "a failure in the middle of a stream": (
        [
            stream(
                HI,
                {
                    "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
                    "error": {"code": 502, "message": "gone"},
                },
            ),
            GOOD,
        ],
        says("again"),
    ),
    "a failure without choices": (
        [stream({"choices": [], "error": {"code": 502, "message": "limit reached"}}), GOOD],
        says("again"),
    ),
    "no reason for the end": (
        [stream(HI, {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}})],
        says("hi"),
    ),
    "the first event is about the filter": (
        [stream({"choices": [], "model": "", "prompt_filter_results": []}, HI, END)],
        named,
    ),
    "the last event is about the filter": (
        [
            stream(
                HI,
                END,
                {
                    "id": "",
                    "model": "",
                    "choices": [
                        {"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 4}}
                    ],
                },
            )
        ],
        named,
    ),
    "thoughts in the text": ([whole(content="<reasoning>hm</reasoning>hi")], says("<reasoning>hm</reasoning>hi")),
    "a call with a signature": (
        [
            stream(
                part(
                    {
                        "tool_calls": [
                            {
                                "id": "f",
                                "type": "function",
                                "function": {"name": "bash", "arguments": LS},
                                "extra_content": {"google": {"thought_signature": "abc"}},
                            }
                        ]
                    }
                ),
                END,
            )
        ],
        signed,
    ),
    "stopped by the filter, without a message": (
        [answer({"choices": [{"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}]})],
        says("", "content_filter"),
    ),
    "the filter's own reasons": ([whole("SAFETY", content="hi")], says("hi", "content_filter")),
    "no delta at the end": ([stream(HI, part(None, "length"))], says("hi", "length")),
    "cut by the window": ([whole("model_length", content="hi")], says("hi", "length")),
    "an end like Anthropic's": ([stream(HI, part({}, "end_turn"))], says("hi")),
    "no reply at all": ([answer({"choices": [{}]})], ModelError),
}


@pytest.mark.parametrize(("answers", "read"), FORMS.values(), ids=FORMS)
async def test_a_form_is_read_as_it_is_meant(answers: list[Response], read: Read | type[Exception]) -> None:
    """Each form over real HTTP: the reply that was meant, another try, or the right blame."""
    endpoint = Answers(*answers)
    if isinstance(read, type):
        with pytest.raises(read):
            await ask(endpoint)
        return
    read(await ask(endpoint, patience_s=10))
    assert len(endpoint.asked) == len(answers)


def test_each_form_has_its_source_and_its_test() -> None:
    """The table of the docs names who sends it, a public source, and a test that is there."""
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["sent by", "form", "read as", "source", "test"]
    assert all(len(row) == 5 and all(row) for row in rows)
    here = {row[1] for row in rows[1:] if row[4] == HERE}
    assert here == FORMS.keys() - {"no reply at all"}
    for _, form, _, _, test in rows[1:]:
        if test != HERE:
            file, _, name = test.partition("::")
            assert name in (ROOT / file).read_text(encoding="utf-8"), form
