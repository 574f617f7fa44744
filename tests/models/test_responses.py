"""OpenAI Responses as a client: what is asked of an endpoint, and how its replies are read."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.conversations import ChatRequest, Message, Tool, ToolCall
from groundup.models.answering import responses as answering
from groundup.models.asking import responses
from groundup.models.asking.forms import BrokenReplyError
from groundup.models.opening import open_model
from groundup.models.scripted.server import load_script
from groundup.models.settings import ModelSettings
from tests.models.conftest import saying
from tests.models.strict_endpoint import EveryFormServer

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Files first."}],
           "encrypted_content": "abc"}  # fmt: skip
CALLED = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
REPLY: dict[str, Any] = {
    "object": "response", "status": "completed", "model": "m-1", "error": None,
    "output": [THOUGHT, CALLED],
    "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4},
              "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 5}},
}  # fmt: skip


def test_a_turn_goes_back_as_it_came() -> None:
    """Encrypted thoughts stand before their call; a turn that was cut is written anew, without them."""
    parsed = responses.parsed_reply(REPLY)
    message = parsed.reply.message
    assert (message.reasoning, message.tool_calls[0].name, parsed.reply.finish) == (
        "Files first.",
        "bash",
        "tool_calls",
    )
    usage = parsed.counted.usage(0, 0)
    assert (usage.input_tokens, usage.cached_input_tokens, usage.reasoning_tokens) == (9, 4, 5)
    said = Message(role="tool", content="a.py", tool_call_id="c1")
    document = responses.request_document(
        ChatRequest(messages=(Message(role="user", content="hi"), message, said)), "m"
    )
    assert document["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        THOUGHT,
        CALLED,
        {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
    ]
    cut = message.rewritten("", (ToolCall(id="c1", name="bash", arguments="{}"),))
    document = responses.request_document(ChatRequest(messages=(cut, said)), "m")
    assert document["input"][0] == {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}  # type: ignore[index]


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_an_answer_that_is_not_there_yet_is_no_answer(status: str) -> None:
    """An endpoint that answers in the background gives a form without text; saying nothing is something else."""
    with pytest.raises(BrokenReplyError, match=f"not there yet .{status}"):
        responses.parsed_reply({"status": status, "output": []})
    assert responses.parsed_reply({"status": "completed", "output": []}).reply.message.content == ""


def test_settings_have_their_names() -> None:
    """Nothing is stored, thoughts come along, and conversations with the same beginning share a cache."""
    tool = Tool(name="bash", description="run", parameters={"type": "object"})
    begun = saying("hi").but(
        tools=(tool,), temperature=0.5, max_output_tokens=10, extra={"reasoning_effort": "high", "top_p": 0.9}
    )
    document = responses.request_document(begun, "m")
    assert document["store"] is False
    assert document["include"] == ["reasoning.encrypted_content"]
    assert (document["temperature"], document["max_output_tokens"], document["top_p"]) == (0.5, 10, 0.9)
    assert document["reasoning"] == {"effort": "high"}
    assert document["tools"] == [
        {
            "type": "function",
            "name": "bash",
            "description": "run",
            "parameters": {"type": "object"},
            "strict": False,
        }
    ]
    later = responses.request_document(saying("hi", "hello", "more"), "m")
    other = responses.request_document(saying("hi", "hello", "another"), "m")
    assert later["prompt_cache_key"] == other["prompt_cache_key"]


@pytest.mark.parametrize(
    ("change", "finish"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]}, "content_filter"),
        ({"output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}]}, "stop"),
    ],
)
def test_how_replies_end(change: dict[str, Any], finish: str) -> None:
    """Cut off, filtered, refused or done."""
    assert responses.parsed_reply(REPLY | change).reply.finish == finish


def test_a_stream_without_its_end_is_no_reply() -> None:
    """Only the event that says so ends a reply; items that came before are enough where that one has none."""
    item: dict[str, Any] = {"type": "response.output_item.done", "item": CALLED}
    with pytest.raises(BrokenReplyError):
        responses.joined([item])
    ended: dict[str, Any] = {"type": "response.completed", "response": REPLY | {"output": []}}
    assert responses.parsed_reply(responses.joined([item, ended])).reply.message.tool_calls[0].id == "c1"


def test_texts_in_parts_are_read_whole() -> None:
    """Programs hand in texts as lists of parts; a refusal is a text, too, and what a tool printed comes whole."""
    parts = [{"type": "output_text", "text": "Let me "}, {"type": "refusal", "refusal": "not."}]
    body = {
        "model": "m",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "message", "role": "assistant", "content": parts},
            {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a.py"}]},
        ],
    }
    read = answering.asked(json.dumps(body).encode()).request.messages
    assert [(one.role, one.content) for one in read] == [
        ("user", "hi"),
        ("assistant", "Let me not."),
        ("tool", "a.py"),
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_over_http(tmp_path: Path, stream: bool) -> None:
    """A server of the form is asked, streamed or not, and its usage is reported."""
    script = tmp_path / "script.toml"
    script.write_text(
        '[[turn]]\ncontent = "Let me look."\ncalls = [{tool = "bash", arguments = {command = "ls"}}]\n'
    )
    async with EveryFormServer(load_script(script)) as server:
        settings = ModelSettings(base_url=server.base_url, api="responses", stream=stream)
        async with open_model("compatible/m", settings) as model:
            first = await model.complete(saying("hi"))
            said = Message(role="tool", content="a.py", tool_call_id=first.message.tool_calls[0].id)
            second = await model.complete(
                ChatRequest(messages=(Message(role="user", content="hi"), first.message, said))
            )
    assert (first.message.content, json.loads(first.message.tool_calls[0].arguments)) == (
        "Let me look.",
        {"command": "ls"},
    )
    assert (first.finish, first.estimated, second.message.content) == ("tool_calls", False, "That is all.")
