"""What strict endpoints demand of a conversation, through real HTTP: our own requests are never refused."""

import json
import socket
from typing import Any, Literal

import httpx
import pytest
from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Message, Tool, ToolCall
from groundup.models.asking.chat import message_document, parsed_reply
from groundup.models.gateway import ModelGateway
from groundup.models.opening import open_model
from groundup.models.protocol import ChatModel, RequestRejectedError
from groundup.models.scripted.server import Script, ScriptedServer
from groundup.models.settings import ModelSettings
from tests.models.conftest import user
from tests.models.strict_endpoint import StrictServer

Api = Literal["chat", "messages"]
APIS: tuple[Api, ...] = ("chat", "messages")
TOOL = Tool(name="bash", description="run", parameters={"type": "object", "properties": {}})
MISTAKES = [
    {"tool": "bash", "arguments": '{"command": "ls'},
    {"tool": "bash", "arguments": '["ls"]'},
    {"tool": "bash", "arguments": "{'command': 'ls'}"},
    {"tool": "bash", "arguments": '{"timeout_s": NaN}'},
    {"tool": "bash", "arguments": ""},
    {"tool": "functions.bash<|channel|>", "arguments": "{}"},
    {"tool": "b" * 80, "arguments": "{}"},
    {"tool": "", "arguments": "{}"},
    {"tool": "bash", "id": "call 1/ü"},
    {"tool": "bash", "id": "same"},
]


def strict(turns: list[object], **more: object) -> StrictServer:
    """Return a strict endpoint."""
    return StrictServer(Script.model_validate({"turn": turns, **more}))


def settings(server: ScriptedServer, api: Api, **more: object) -> ModelSettings:
    """Return how it is asked."""
    return ModelSettings.model_validate({"base_url": server.base_url, "api": api, "patience_s": 0, **more})


async def talk(model: ChatModel, turns: int) -> list[ChatReply]:
    """Talk as an agent does: every call gets its result, every reply its answer."""
    messages = [user("Work.")]
    replies = []
    for _ in range(turns):
        reply = await model.complete(ChatRequest(messages=tuple(messages), tools=(TOOL,)))
        replies.append(reply)
        messages.append(reply.message)
        results = [
            Message(role="tool", tool_call_id=call.id, content=call.name) for call in reply.message.tool_calls
        ]
        messages += results or [user("Go on.")]
    return replies


@pytest.mark.parametrize("api", APIS)
async def test_a_models_mistakes_do_not_end_the_conversation(api: Api) -> None:
    """Broken arguments, illegal names, ids used twice and empty replies go back in a form that is valid."""
    turns: list[object] = [{"content": "", "calls": [call, {"tool": "bash", "id": "same"}]} for call in MISTAKES]
    turns += [{"content": ""}, {"content": " \n"}, {"content": "done"}]
    async with strict(turns) as server, open_model("compatible/m", settings(server, api)) as model:
        replies = await talk(model, len(turns))
        assert not server.failed
        assert server.answered == len(turns)
    assert replies[-1].message.content == "done"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_thoughts_go_back_as_they_came(api: Api, stream: bool) -> None:
    """Thinking blocks, `reasoning_details` and signatures of calls are in the next request, letter for letter."""
    turns = [
        {
            "content": "I look.",
            "reasoning": "Where is it? Ünder é.",
            "calls": [{"tool": "bash"}, {"tool": "bash"}],
        },
        {"content": "", "reasoning": "There.", "calls": [{"tool": "bash", "arguments": {"a": [1.5, None]}}]},
        {"content": "", "reasoning": "Only a thought."},
        {"content": "done"},
    ]
    async with (
        strict(turns) as server,
        open_model("compatible/m", settings(server, api, stream=stream)) as model,
    ):
        replies = await talk(model, 4)
        assert not server.failed
    assert replies[0].message.content == "I look."
    recorded = ChatReply.model_validate_json(replies[0].model_dump_json(exclude_defaults=True))
    assert recorded == replies[0]


@pytest.mark.parametrize(
    "name", ["reasoning_details", "thinking_blocks", "extra_content", "provider_specific_fields"]
)
def test_signed_thoughts_of_a_chat_message_are_kept(name: str) -> None:
    """Whatever a server or a proxy calls them, they are in the message that is sent back."""
    signed: list[JsonValue] = [{"type": "thinking", "thinking": "Where?", "signature": "c2ln"}]
    message: dict[str, JsonValue] = {"role": "assistant", "content": "I look.", name: signed}
    parsed = parsed_reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    assert message_document(parsed.reply.message)[name] == signed


@pytest.mark.parametrize("api", APIS)
async def test_thoughts_of_rewritten_turns_stay_whole(api: Api) -> None:
    """A turn whose calls must be mended, or whose text was shortened, keeps its thoughts unchanged."""
    turns = [{"content": "I look.", "reasoning": "Where?", "calls": [{"tool": "ba sh"}]}, {"content": "done"}]
    async with strict(turns) as server, open_model("compatible/m", settings(server, api)) as model:
        await talk(model, 2)
        opening = user("Work.")
        reply = await model.complete(ChatRequest(messages=(opening,), tools=(TOOL,)))
        short = reply.message.rewritten("I [...]", reply.message.tool_calls)
        assert "I look." not in short.model_dump_json()
        result = Message(role="tool", tool_call_id=reply.message.tool_calls[0].id, content="ok")
        await model.complete(ChatRequest(messages=(opening, short, result), tools=(TOOL,)))
        assert not server.failed


@pytest.mark.parametrize("api", APIS)
async def test_the_strict_endpoint_is_strict(api: Api) -> None:
    """Thoughts that are left out are refused: the endpoint would notice."""
    turns = [{"content": "", "reasoning": "Where?", "calls": [{"tool": "bash"}]}, {"content": "done"}]
    async with strict(turns) as server, open_model("compatible/m", settings(server, api)) as model:
        reply = await model.complete(ChatRequest(messages=(user("Work."),), tools=(TOOL,)))
        (call,) = reply.message.tool_calls
        plain = Message(role="assistant", tool_calls=(ToolCall(id=call.id, name="bash", arguments="{}"),))
        result = Message(role="tool", tool_call_id=call.id, content="ok")
        with pytest.raises(RequestRejectedError):
            await model.complete(ChatRequest(messages=(user("Work."), plain, result), tools=(TOOL,)))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("form", ["/v1/chat/completions", "/v1/messages"])
async def test_programs_in_sandboxes_lose_no_thoughts(api: Api, form: str) -> None:
    """A program that speaks another form, and knows nothing of signatures, does not break the conversation."""
    turns = [
        {
            "content": "I look.",
            "reasoning": "Where?",
            "calls": [{"tool": "bash", "arguments": {"b": 1, "a": "é"}}],
        },
        {"content": "done"},
    ]
    async with (
        strict(turns) as server,
        open_model("compatible/m", settings(server, api)) as model,
        ModelGateway(model) as gateway,
    ):
        listening = socket.create_server(("127.0.0.1", 0))
        await gateway.server.serve(listening)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}{form}"
        async with httpx.AsyncClient(trust_env=False) as program:
            conversation: list[Any] = [{"role": "user", "content": "Work."}]
            reply = await program.post(url, json={"model": "m", "messages": conversation})
            conversation += _gone_on(reply.json())
            reply = await program.post(url, json={"model": "m", "messages": conversation})
        assert reply.status_code == 200, reply.text
        assert not server.failed
        assert "done" in reply.text


def _gone_on(reply: Any) -> list[Any]:
    """Return what a program appends: text and calls without thoughts, arguments in its own way; and results."""
    if "content" in reply:
        said = [block for block in reply["content"] if block["type"] != "thinking"]
        ids = [block["id"] for block in said if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": one, "content": "ok"} for one in ids]
        return [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
    ended = reply["choices"][0]["message"]
    calls = [{"id": call["id"], "type": "function", "function": call["function"]} for call in ended["tool_calls"]]
    for call in calls:
        call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]), indent=1)
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
    return [{"role": "assistant", "content": ended["content"], "tool_calls": calls}, *answers]
