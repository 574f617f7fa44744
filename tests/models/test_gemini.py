"""Gemini's own form: what programs ask of the gateway, and what the client asks of an endpoint."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from groundup.domain.conversations import ChatReply, ChatRequest, Message, Tool, ToolCall
from groundup.models.asking import gemini
from groundup.models.asking.forms import BrokenReplyError, CountedTokens
from groundup.models.client import EndpointModel
from groundup.models.opening import open_model
from groundup.models.scripted.server import load_script
from groundup.models.settings import ModelSettings
from tests.models.conftest import Write, saying
from tests.models.strict_endpoint import EveryFormServer
from tests.models.test_gateway import SCRIPT, client

ASK = "/v1beta/models/gemini-pro:generateContent"
STREAM = "/v1beta/models/gemini-pro:streamGenerateContent?alt=sse"
QUESTION: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "systemInstruction": {"parts": [{"text": "be quick"}]},
    "tools": [
        {
            "functionDeclarations": [
                {
                    "name": "bash",
                    "description": "run",
                    "parameters": {"type": "OBJECT", "properties": {"command": {"type": "STRING"}}},
                }
            ]
        },
        {"googleSearch": {}},
    ],
    "generationConfig": {"temperature": 0.5, "maxOutputTokens": 100, "topP": 0.9, "stopSequences": ["END"]},
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
}


async def test_a_program_s_conversation(scripted: Write) -> None:
    """Calls and results are paired though they have no ids; schemas and settings become those of other forms."""
    async with client(scripted(SCRIPT)) as inside:
        first = await inside.json(ASK, QUESTION)
        (candidate,) = first["candidates"]
        parts = candidate["content"]["parts"]
        called = {key: value for key, value in parts[2]["functionCall"].items() if key != "id"}
        said = {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "a.py"}}}]}
        turns = [{"role": "model", "parts": [{"functionCall": called}]}, said]
        second = await inside.json(ASK, QUESTION | {"contents": [*QUESTION["contents"], *turns]})
        counted = await inside.json("/v1beta/models/gemini-pro:countTokens", QUESTION)
    assert [sorted(part) for part in parts] == [["text", "thought"], ["text"], ["functionCall"]]
    assert called == {"name": "bash", "args": {"command": "ls"}}
    assert (candidate["finishReason"], first["modelVersion"]) == ("STOP", "gemini-pro")
    assert second["candidates"][0]["content"]["parts"] == [{"text": "Done."}]
    assert counted["totalTokens"] == first["usageMetadata"]["promptTokenCount"]
    asked, again = (exchange.request for exchange in inside.exchanges)
    assert asked.tools == (
        Tool(
            name="bash",
            description="run",
            parameters={"type": "object", "properties": {"command": {"type": "string"}}},
        ),
    )
    assert (asked.temperature, asked.max_output_tokens) == (0.5, 100)
    assert asked.extra == {"top_p": 0.9, "stop": ["END"], "tool_choice": "required"}
    assert [message.role for message in again.messages] == ["system", "user", "assistant", "tool"]
    assert again.messages[3].tool_call_id == again.messages[2].tool_calls[0].id
    assert again.messages[3].content == "a.py"


async def test_a_stream_for_a_program(scripted: Write) -> None:
    """Pieces add up to the reply; only the last one says how it ended and what it took."""
    async with client(scripted(SCRIPT)) as inside:
        events = await inside.events(STREAM, QUESTION)
        wrong = await inside.post(ASK, {"contents": []})
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    assert "".join(part.get("text", "") for part in parts if not part.get("thought")) == "Let me look."
    assert ["finishReason" in event["candidates"][0] for event in events] == [False, True]
    assert wrong.status_code == 400
    assert wrong.json()["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("stream", [False, True])
async def test_the_client_speaks_it(scripted: Write, stream: bool) -> None:
    """A reply comes back whole, streamed or not, with calls, thoughts and usage."""
    async with EveryFormServer(load_script(Path(scripted(SCRIPT).removeprefix("scripted/")))) as server:
        address = server.base_url.removesuffix("/v1") + "/v1beta"
        settings = ModelSettings(base_url=address, api="gemini", stream=stream)
        async with open_model("compatible/some model", settings) as model:
            assert isinstance(model, EndpointModel)
            reply = await model.complete(saying("hi"))
    assert (reply.message.content, reply.message.reasoning) == ("Let me look.", "Files first.")
    assert (reply.finish, reply.model) == ("tool_calls", "some%20model")
    assert json.loads(reply.message.tool_calls[0].arguments) == {"command": "ls"}
    assert reply.usage.reasoning_tokens > 0
    assert not reply.estimated


def test_a_request() -> None:
    """System text stands apart, results name their tool, roles alternate, signatures go back."""
    call = ToolCall(id="c1", name="bash", arguments='{"command": "ls"}', original={"thoughtSignature": "s"})
    request = ChatRequest(
        messages=(
            Message(role="system", content="be quick"),
            Message(role="user", content="hi"),
            Message(role="assistant", content="", tool_calls=(call,)),
            Message(role="tool", content="a.py", tool_call_id="c1"),
            Message(role="user", content="and now?"),
        ),
        tools=(Tool(name="bash", description="run", parameters={"type": "object", "properties": {}}),),
        temperature=0.0,
        seed=7,
        extra={"stop": "END", "tool_choice": "required", "top_p": 0.9, "generationConfig": {"topK": 3}},
    )
    sent: Any = gemini.request_document(request)
    assert sent["systemInstruction"] == {"parts": [{"text": "be quick"}]}
    assert [turn["role"] for turn in sent["contents"]] == ["user", "model", "user"]
    assert sent["contents"][1]["parts"] == [
        {"functionCall": {"name": "bash", "args": {"command": "ls"}}, "thoughtSignature": "s"}
    ]
    result, question = sent["contents"][2]["parts"]
    assert result == {"functionResponse": {"name": "bash", "response": {"output": "a.py"}}}
    assert question == {"text": "and now?"}
    assert sent["generationConfig"] == {
        "temperature": 0.0, "seed": 7, "stopSequences": ["END"], "topP": 0.9, "topK": 3,
    }  # fmt: skip
    assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}


@pytest.mark.parametrize(
    ("document", "finish"),
    [
        ({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "MAX_TOKENS"}]}, "length"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "content_filter"),
        ({"promptFeedback": {"blockReason": "OTHER"}}, "content_filter"),
        ({"candidates": [{"content": None, "finishReason": "MALFORMED_FUNCTION_CALL"}]}, "other"),
    ],
)
def test_why_a_reply_ended(document: dict[str, Any], finish: Literal["length", "content_filter", "other"]) -> None:
    """A filter, a limit and a blocked question are told apart."""
    assert gemini.parsed_reply(document).reply.finish == finish


def test_arguments_that_an_endpoint_sends_as_text_stay_as_they_are() -> None:
    """Proxies of other forms send them so; none at all are an empty object."""
    given: list[Any] = ['{"command": "ls"}', {"command": "ä"}, None]
    parts: list[Any] = [{"functionCall": {"name": "bash", "args": one}} for one in given]
    parsed = gemini.parsed_reply({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    calls = parsed.reply.message.tool_calls
    assert [call.arguments for call in calls] == ['{"command": "ls"}', '{"command": "ä"}', "{}"]
    assert len({call.id for call in calls}) == 3
    assert parsed.reply.finish == "tool_calls"


def test_what_is_no_reply() -> None:
    """An answer without a candidate is broken, and so is a stream that breaks off; usage may be missing."""
    documents: list[dict[str, Any]] = [{}, {"candidates": []}, {"candidates": [1]}]
    for document in documents:
        with pytest.raises(BrokenReplyError):
            gemini.parsed_reply(document)
    with pytest.raises(BrokenReplyError):
        gemini.joined([{"candidates": [{"content": {"parts": [{"text": "x"}]}}]}])
    reply: ChatReply = gemini.parsed_reply({"candidates": [{"finishReason": "STOP"}]}).reply
    assert reply.message.content == ""
    assert gemini.parsed_reply({"candidates": [{"finishReason": "STOP"}]}).counted == CountedTokens()
