"""Tests of groundup.models.scripted.server: which turn of a script answers what, without a socket."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.errors import UsageError
from groundup.models.prices import estimated_text_tokens, estimated_tokens
from groundup.models.scripted.server import Script, ScriptedServer, Turn, load_script, reply_to
from groundup.registries.server import Request

AT = "/v1/chat/completions"


def script(**keys: JsonValue) -> Script:
    """Return a script with these keys, as a file has them."""
    return Script.model_validate(keys)


def asks(*texts: str, **keys: JsonValue) -> bytes:
    """Return a request in which user and assistant take turns."""
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    return json.dumps({"model": "m", "messages": messages, **keys}).encode()


async def said(server: ScriptedServer, body: bytes, path: str = AT, method: str = "POST", key: str = "") -> Any:
    """Return status and what is said: the reply's text, the error's, or the document."""
    headers = {"authorization": key} if key else {}
    response = await server._handle(Request(path, headers, method, body))
    assert isinstance(response.body, bytes)
    document = json.loads(response.body)
    if "error" in document:
        return response.status, document["error"]["message"]
    choices = document.get("choices")
    return response.status, choices[0]["message"]["content"] if choices else document


@pytest.mark.parametrize(
    ("texts", "reply"),
    [
        (("plain",), "first"),
        (("plain", "first", "more"), "second"),
        (("plain", "first", "more", "second", "more"), "That is all."),
        (("a tale",), "once"),
        (("a tale", "once", "and?"), "upon"),
        (("a tale", "once", "and?", "upon", "and?"), "upon"),
        (("a tale", "once", "stop it"), "stopped"),
        (("stop a tale",), "stopped"),
        (("empty",), "That is all."),
    ],
)
async def test_which_turn_answers(texts: tuple[str, ...], reply: str) -> None:
    """A rule for the last message, a conversation by its opening, or the turns; then a word or the last again."""
    server = ScriptedServer(
        script(
            rule=[{"when": "stop", "content": "stopped"}],
            conversation=[
                {"when": "tale", "turn": [{"content": "once"}, {"content": "upon"}], "then": "repeat"},
                {"when": "empty", "then": "repeat"},
            ],
            turn=[{"content": "first"}, {"content": "second"}],
        )
    )
    assert await said(server, asks(*texts)) == (200, reply)


async def test_each_failure_and_what_is_counted() -> None:
    """Failures come first, each once for one request, and are no replies."""
    names = [
        "rate_limit",
        "overload",
        "refusal",
        "key",
        "quota",
        "absent",
        "request",
        "overflow",
        "empty",
        "error",
    ]
    server = ScriptedServer(script(turn=[{"content": "at last", "fail": [*names]}], context_tokens=1000))
    body = asks("hi")
    answers = [await said(server, body) for _ in range(len(names) + 2)]
    assert answers[:7] == [
        (429, "Rate limit reached, please slow down."),
        (503, "The server is overloaded, please try again."),
        (400, "The response was filtered due to the content management policy."),
        (401, "Incorrect API key provided."),
        (429, "You exceeded your current quota, please check your plan."),
        (404, "The model does not exist."),
        (400, "Unknown parameter."),
    ]
    overflow = "This model's maximum context length is 1000 tokens. Your messages resulted in {} tokens."
    assert answers[7] == (400, overflow.format(None))
    assert answers[8] == (200, {"id": "x", "object": "chat.completion", "choices": []})
    assert answers[9:] == [(200, "The provider is overloaded."), (200, "at last"), (200, "at last")]
    long = asks("word " * 2000)
    tokens = estimated_tokens(ChatRequest(messages=(Message(role="user", content="word " * 2000),)))
    assert await said(server, long) == (400, overflow.format(tokens))
    assert await said(server, asks("hello")) == (429, "Rate limit reached, please slow down.")
    counts = {"answered": 2, "most_at_once": 1, "distinct": 1, "repeated": 1}
    counted = {**dict.fromkeys(names, 1), "rate_limit": 2}
    assert await said(server, b"", "/calls", "GET") == (200, {**counts, "failed": counted})


async def test_what_a_script_refuses() -> None:
    """Other paths and methods, another key, what is no request, and what wants no stream."""
    server = ScriptedServer(script(key="k", stream_only=True, turn=[{"content": "x"}]))
    listed = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
    assert await said(server, b"", "/v1/models", "GET") == (200, listed)
    for path, method in (("/v1/messages", "POST"), (AT, "GET")):
        told = f"nothing is at {path}; a script answers Chat Completions"
        assert await said(server, asks("hi"), path, method) == (404, told)
    for key in ("", "k", "Bearer other"):
        assert await said(server, asks("hi"), key=key) == (401, "Incorrect API key provided.")
    assert await said(server, b"[]", key="Bearer k") == (400, "the body is no JSON object")
    streaming = "This model only supports streaming; set stream to true."
    assert await said(server, asks("hi"), key="Bearer k") == (400, streaming)
    response = await server._handle(Request(AT, {"authorization": "Bearer k"}, "POST", asks("hi", stream=True)))
    assert (response.status, response.content_type) == (200, "text/event-stream")
    assert dict(server.failed) == {"key": 3, "refused": 1}
    assert server.answered == 1


async def test_a_limit_may_say_when_to_come_back() -> None:
    """As the script says it."""
    for seconds, header in ((None, {}), (1.5, {"Retry-After": "1.5"}), (3, {"Retry-After": "3"})):
        server = ScriptedServer(script(turn=[{"fail": ["rate_limit"], "retry_after_s": seconds}]))
        response = await server._handle(Request(AT, {}, "POST", asks("hi")))
        assert (response.status, dict(response.headers)) == (429, header)


def test_what_a_turn_says() -> None:
    """Calls have ids of their own, arguments as they are written, and tokens that are guessed unless told."""
    calls: JsonValue = [
        {"tool": "a", "arguments": {"x": 1}},
        {"tool": "b", "arguments": "{", "id": "mine"},
        {"tool": "c"},
    ]
    turn = Turn.model_validate({"content": "word", "reasoning": "hm hm", "calls": calls})
    request = ChatRequest(
        messages=(Message(role="user", content="hi"), Message(role="assistant"), Message(role="user"))
    )
    reply = reply_to(turn, request)
    assert [(call.id, call.name, call.arguments) for call in reply.message.tool_calls] == [
        ("call_1_0", "a", '{"x": 1}'),
        ("mine", "b", "{"),
        ("call_1_2", "c", "{}"),
    ]
    assert (reply.finish, reply.message.reasoning) == ("tool_calls", "hm hm")
    assert reply.usage.input_tokens == estimated_tokens(request)
    assert reply.usage.output_tokens == estimated_text_tokens('wordhm hm{"x": 1}{{}')
    assert reply.usage.reasoning_tokens == estimated_text_tokens("hm hm")
    told = reply_to(Turn(content="word", output_tokens=0, finish="length"), request)
    assert (told.finish, told.usage.output_tokens, told.usage.reasoning_tokens) == ("length", 0, 0)
    assert reply_to(Turn(), request).finish == "stop"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.toml", 'then = "repeat"\n[[turn]]\ncontent = "a"\n[[turn]]\ncontent_file = "b.txt"\n'),
        ("s.json", '{"then": "repeat", "turn": [{"content": "a"}, {"content_file": "b.txt"}]}'),
    ],
)
def test_a_script_is_read_in_each_form(tmp_path: Path, name: str, text: str) -> None:
    """Texts may lie in files beside it."""
    (tmp_path / "b.txt").write_text("from b")
    (tmp_path / name).write_text(text)
    found = load_script(tmp_path / name)
    assert ([turn.content for turn in found.turns], found.then) == (["a", "from b"], "repeat")


def test_a_script_may_be_a_turn_a_line(tmp_path: Path) -> None:
    """Empty lines are none; rules and conversations have files, too."""
    (tmp_path / "s.jsonl").write_text('{"content": "a"}\n\n  \n{"content": "b"}\n')
    assert [turn.content for turn in load_script(tmp_path / "s.jsonl").turns] == ["a", "b"]
    (tmp_path / "b.txt").write_text("from b")
    rule, conversation = '[[rule]]\nwhen = "x"', "[[conversation]]\n[[conversation.turn]]"
    (tmp_path / "s.toml").write_text(f'{rule}\ncontent_file = "b.txt"\n{conversation}\ncontent_file = "b.txt"\n')
    found = load_script(tmp_path / "s.toml")
    assert [found.rules[0].content, found.conversations[0].turns[0].content] == ["from b", "from b"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("s.toml", "x", "the script PLACE cannot be understood: "),
        ("s.json", "{", "the script PLACE cannot be understood: "),
        ("s.toml", "unheard = 1", "the script PLACE: unheard: "),
        ("s.toml", '[[rule]]\nwhen = "("\n', "the script PLACE: rule.0.when: "),
        (
            "s.toml",
            '[[turn]]\ncontent_file = "none.txt"\n',
            "the script FOLDER/none.txt cannot be read: No",
        ),
        ("absent.toml", None, "the script PLACE cannot be read: No"),
    ],
)
def test_a_script_that_is_none_says_why(tmp_path: Path, name: str, text: str | None, says: str) -> None:
    """With the place of what is wrong."""
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError) as caught:
        load_script(tmp_path / name)
    expected = says.replace("PLACE", str(tmp_path / name)).replace("FOLDER", str(tmp_path))
    assert str(caught.value).startswith(expected)
