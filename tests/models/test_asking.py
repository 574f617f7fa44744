"""Tests of groundup.models.asking: what goes over the wire to each kind of endpoint, and what comes back."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import ChatRequest, Message, Picture, Tool, ToolCall
from groundup.domain.usage import TokenUsage
from groundup.models.answering import chat as answering_chat
from groundup.models.asking import chat, gemini, messages, responses
from groundup.models.asking.forms import BrokenReplyError, CountedTokens
from groundup.models.opening import open_model
from groundup.models.prices import estimated_tokens
from groundup.models.protocol import KeyRejectedError, ModelError, RequestRejectedError
from groundup.models.settings import ModelProvider, ModelSettings, ReasoningEffort, providers
from groundup.registries.server import GatewayServer, Request, Response
from tests.models.conftest import saying

TOOL = Tool(name="bash", description="run", parameters={"type": "object", "properties": {}})
CALL = ToolCall(id="c1", name="bash", arguments='{"command": "ls"}')
CONVERSATION = ChatRequest(
    messages=(
        Message(role="system", content="be quick"),
        Message(role="user", content="hi"),
        Message(role="assistant", content="", tool_calls=(CALL,), reasoning="files first"),
        Message(role="tool", content="a.py", tool_call_id="c1"),
        Message(role="user", content="and now?"),
    ),
    tools=(TOOL,),
    temperature=0.0,
    max_output_tokens=100,
    seed=7,
    extra={"top_p": 0.9, "stop": "END", "tool_choice": "required"},
)


class Endpoint:
    """An endpoint that says the same each time and remembers what it was asked."""

    def __init__(self, reply: dict[str, Any], status: int = 200) -> None:
        self.asked: list[Request] = []
        self._answer = Response(status, json.dumps(reply).encode(), content_type="application/json")

    async def handle(self, request: Request) -> Response:
        """Answer."""
        self.asked.append(request)
        return self._answer

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Serve; yield the base address."""
        async with GatewayServer(self.handle, methods=("POST",)) as server:
            listening = socket.create_server(("127.0.0.1", 0))
            await server.serve(listening)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"

    @property
    def document(self) -> dict[str, Any]:
        """The last request's JSON."""
        found: dict[str, Any] = json.loads(self.asked[-1].body)
        return found


GOOD = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "model": "m-2026"}


async def test_every_part_of_a_request_is_sent() -> None:
    """Messages, tools and settings are where Chat Completions has them; further keys go as they are."""
    endpoint = Endpoint(GOOD)
    async with endpoint.served() as url, open_model("compatible/m", ModelSettings(base_url=url)) as model:
        reply = await model.complete(CONVERSATION)
    sent = endpoint.document
    assert endpoint.asked[0].path == "/v1/chat/completions"
    assert "authorization" not in endpoint.asked[0].headers
    assert sent["model"] == "m"
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert sent["messages"][2]["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"command": "ls"}'}
    assert sent["messages"][3]["tool_call_id"] == "c1"
    assert sent["tools"][0]["function"]["parameters"] == TOOL.parameters
    assert (sent["temperature"], sent["max_tokens"], sent["seed"], sent["top_p"]) == (0.0, 100, 7, 0.9)
    assert reply.message.content == "hello"
    assert reply.model == "m-2026"


@pytest.mark.parametrize(
    ("api", "effort", "expected"),
    [
        ("chat", "high", {"reasoning_effort": "high", "temperature": 0.7}),
        ("messages", "low", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ("messages", "none", {"thinking": {"type": "disabled"}}),
    ],
)
async def test_an_effort_is_asked_for_as_each_form_wants_it(
    api: Literal["chat", "messages"], effort: ReasoningEffort, expected: dict[str, object]
) -> None:
    """Models that think refuse a temperature in the form Messages, so none is sent there."""
    endpoint = Endpoint(GOOD)
    async with endpoint.served() as url:
        settings = ModelSettings(base_url=url, api=api, temperature=0.7, reasoning_effort=effort)
        with suppress(ModelError):  # the answer is of the other form
            async with open_model("compatible/m", settings.but(patience_s=0)) as model:
                await model.complete(saying("hi"))
    sent = {name: endpoint.document.get(name) for name in (*expected, "temperature")}
    assert sent == {"temperature": None, **expected}
    assert settings.identity()["reasoning_effort"] == effort
    assert "reasoning_effort" not in ModelSettings().identity()


def test_what_programs_ask_for_has_another_name_in_each_form() -> None:
    """Endpoints refuse keys that they do not know, so a program's own words must not reach them."""
    schema: dict[str, JsonValue] = {"type": "object"}
    described: dict[str, JsonValue] = {"name": "reply", "schema": schema}
    format_: dict[str, JsonValue] = {"type": "json_schema", "json_schema": described}
    asked = saying("hi").but(temperature=0.7, extra={"reasoning_effort": "low", "response_format": format_})
    sent = gemini.request_document(asked)
    assert sent.keys() == {"contents", "generationConfig"}
    assert sent["generationConfig"] == {
        "temperature": 0.7,
        "thinkingConfig": {"thinkingLevel": "low"},
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    sent = responses.request_document(asked, "m")
    assert "response_format" not in sent
    assert sent["text"] == {"format": {"type": "json_schema", "name": "reply", "schema": schema}}
    for choice, given in ((None, "auto"), ("required", "any")):
        extra = {"parallel_tool_calls": False, "reasoning_effort": "low"} | (
            {"tool_choice": choice} if choice else {}
        )
        sent = messages.request_document(saying("hi").but(temperature=0.7, extra=extra), "m")
        assert sent["tool_choice"] == {"type": given, "disable_parallel_tool_use": True}
        assert sent["output_config"] == {"effort": "low"}
        assert not sent.keys() & {"parallel_tool_calls", "reasoning_effort", "temperature"}


def test_a_refusal_is_passed_on_as_text() -> None:
    """A conversation that goes on after the model declined keeps what it said."""
    said = {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]}
    asked = answering_chat.asked(json.dumps({"messages": [said]}).encode())
    assert [message.content for message in asked.request.messages] == ["I will not."]


async def test_settings_fill_what_a_request_leaves_open() -> None:
    """The user's temperature, limit and further keys hold where an agent says nothing, and only there."""
    endpoint = Endpoint(GOOD)
    async with endpoint.served() as url:
        settings = ModelSettings(base_url=url, temperature=0.7, max_output_tokens=50, extra={"top_p": 0.5, "k": 1})
        async with open_model("compatible/m", settings) as model:
            await model.complete(saying("hi"))
            filled = endpoint.document
            await model.complete(CONVERSATION)
    assert (filled["temperature"], filled["max_tokens"], filled["top_p"]) == (0.7, 50, 0.5)
    kept = endpoint.document
    assert (kept["temperature"], kept["max_tokens"], kept["top_p"], kept["k"]) == (0.0, 100, 0.9, 1)


async def test_dialects() -> None:
    """Providers differ: the key of the output limit, thoughts that must come back, calls without a text."""
    openai, deepseek, llamacpp = (providers()[name] for name in ("openai", "deepseek", "llamacpp"))
    assert chat.request_document(CONVERSATION, "m", openai)["max_completion_tokens"] == 100
    ended: Any = chat.request_document(CONVERSATION, "m", deepseek)["messages"]
    assert ended[2]["reasoning_content"] == "files first"
    only_calls = CONVERSATION.messages[2].but(content="")
    silent = CONVERSATION.but(messages=(only_calls,))
    for provider, content in ((openai, None), (llamacpp, "")):
        ended = chat.request_document(silent, "m", provider)["messages"]
        assert ended[0]["content"] == content
    assert "reasoning_content" not in chat.message_document(CONVERSATION.messages[2])


@pytest.mark.parametrize(
    ("provider", "header", "value"),
    [
        ("openai", "authorization", "Bearer s3cret"),
        ("azure", "api-key", "s3cret"),
        ("anthropic", "x-api-key", "s3cret"),
    ],
)
async def test_the_key_is_in_its_header_and_nowhere_else(
    provider: str, header: str, value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The key goes to the endpoint, and into no error, no record and no file, even if the endpoint repeats it."""
    monkeypatch.setenv(providers()[provider].key, "s3cret")
    endpoint = Endpoint({"error": {"message": "the key s3cret is wrong"}}, status=401)
    async with endpoint.served() as url:
        settings = ModelSettings(base_url=url, cache_dir=tmp_path)
        model = open_model(f"{provider}/m", settings)
        async with model:
            with pytest.raises(KeyRejectedError) as caught:
                await model.complete(saying("hi"))
    assert endpoint.asked[0].headers[header] == value
    assert b"s3cret" not in endpoint.asked[0].body
    assert "s3cret" not in str(caught.value)
    assert providers()[provider].key in str(caught.value)
    assert "s3cret" not in repr(vars(model)) + settings.model_dump_json() + str(settings.identity())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


async def test_another_variable_may_hold_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several keys of one provider are distinguished by the variable's name."""
    monkeypatch.setenv("MY_KEY", "other")
    endpoint = Endpoint(GOOD)
    async with (
        endpoint.served() as url,
        open_model("openai/m", ModelSettings(base_url=url, key_variable="MY_KEY")) as model,
    ):
        await model.complete(saying("hi"))
    assert endpoint.asked[0].headers["authorization"] == "Bearer other"


async def test_redirects_are_not_followed() -> None:
    """An endpoint that sends us elsewhere gets no second request with the key."""
    endpoint = Endpoint({}, status=307)
    async with (
        endpoint.served() as url,
        open_model("compatible/m", ModelSettings(base_url=url, patience_s=0)) as model,
    ):
        with pytest.raises(RequestRejectedError, match="HTTP 307"):
            await model.complete(saying("hi"))
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("choice", "finish"),
    [
        ({"message": {"content": "x"}, "finish_reason": "stop"}, "stop"),
        ({"message": {"content": "x"}, "finish_reason": None}, "stop"),
        ({"message": {"content": "x"}, "finish_reason": "length"}, "length"),
        ({"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}, "content_filter"),
        ({"message": {"content": ""}, "finish_reason": "content_filter"}, "content_filter"),
        ({"message": {"tool_calls": [{"function": {"name": "a"}}]}, "finish_reason": "stop"}, "tool_calls"),
        ({"message": {"content": "x"}, "finish_reason": "abort"}, "other"),
    ],
)
def test_why_a_reply_ended(choice: dict[str, Any], finish: str) -> None:
    """All endings are distinguished, whatever dialect says them."""
    assert chat.parsed_reply({"choices": [choice]}).reply.finish == finish


def test_usage_in_all_dialects() -> None:
    """Cached and thought tokens are found under both names; no usage is unknown."""
    base: dict[str, Any] = {"choices": [{"message": {"content": "x"}}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    details = {
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    whole = CountedTokens(input_tokens=10, output_tokens=5, cached_input_tokens=4, reasoning_tokens=2)
    assert chat.parsed_reply(base | {"usage": usage | details}).counted == whole
    hit = chat.parsed_reply(base | {"usage": usage | {"prompt_cache_hit_tokens": 3}}).counted
    assert hit.cached_input_tokens == 3
    assert chat.parsed_reply(base).counted == CountedTokens()


def test_messages_of_several_shapes() -> None:
    """Text in parts, arguments that are already parsed and calls without an id are understood."""
    ended: dict[str, Any] = {
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        "reasoning": "hm",
        "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}],
    }
    message = chat.parsed_reply({"choices": [{"message": ended}]}).reply.message
    assert (message.content, message.reasoning) == ("ab", "hm")
    assert message.tool_calls == (ToolCall(id="call_0", name="f", arguments='{"x": 1}'),)


@pytest.mark.parametrize("document", [{}, {"choices": []}, {"choices": [{}]}, {"choices": 3}])
def test_replies_that_are_none(document: dict[str, Any]) -> None:
    """An answer without a reply is broken, not empty."""
    with pytest.raises(BrokenReplyError):
        chat.parsed_reply(document)
    with pytest.raises(BrokenReplyError):
        messages.parsed_reply(document)


def test_the_messages_form() -> None:
    """System text stands apart, results are the user's, roles alternate, all is marked for the cache."""
    sent: Any = messages.request_document(CONVERSATION, "claude")
    assert sent["system"][0]["text"] == "be quick"
    assert [turn["role"] for turn in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["messages"][1]["content"][0]["input"] == {"command": "ls"}
    result, question = sent["messages"][2]["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "c1")
    assert question["cache_control"] == {"type": "ephemeral"}
    assert sent["tools"][0]["input_schema"] == TOOL.parameters
    assert sent["max_tokens"] == 100
    assert sent["stop_sequences"] == ["END"]
    assert sent["tool_choice"] == {"type": "any"}
    assert "seed" not in sent


async def test_a_reply_in_the_messages_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, thoughts, calls and usage are read; input that was written to the cache has a price of its own."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    endpoint = Endpoint(
        {
            "type": "message",
            "model": "claude",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "look"},
                {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}},
            ],
            "stop_reason": "tool_use",
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 20,
                "cache_creation_input_tokens": 30,
                "output_tokens": 5,
            },
        }
    )
    async with (
        endpoint.served() as url,
        open_model("anthropic/claude", ModelSettings(base_url=url, price="1:5:0.1")) as model,
    ):
        reply = await model.complete(CONVERSATION)
    assert endpoint.asked[0].path == "/v1/messages"
    assert endpoint.asked[0].headers["anthropic-version"]
    assert (reply.message.content, reply.message.reasoning, reply.finish) == ("look", "hm", "tool_calls")
    assert json.loads(reply.message.tool_calls[0].arguments) == {"command": "ls"}
    assert reply.usage == TokenUsage(input_tokens=60, output_tokens=5, cached_input_tokens=20)
    assert reply.cost_usd == pytest.approx((40 * 1 + 20 * 0.1 + 5 * 5) / 1e6)


def test_every_provider_is_complete() -> None:
    """Each shipped provider says where its key is; only those whose address is the user's have none."""
    for name, provider in providers().items():
        assert isinstance(provider, ModelProvider)
        assert provider.key.isupper()
        assert provider.base_url or name in {"azure", "compatible"}


PIXEL = Picture(media_type="image/png", data="aGk=")


@pytest.mark.parametrize(
    ("api", "shown"),
    [
        ("chat", {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
        ("responses", {"type": "input_image", "image_url": "data:image/png;base64,aGk="}),
        ("messages", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        ("gemini", {"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
    ],
)
async def test_an_image_is_sent_in_each_form(api: str, shown: dict[str, Any]) -> None:
    """After the text of its message; and it counts in the guess of the tokens."""
    endpoint = Endpoint({"error": {"message": "this model does not support image input"}})
    request = ChatRequest(messages=(Message(role="user", content="a.png:", images=(PIXEL,)),))
    async with endpoint.served() as url:
        settings = ModelSettings.model_validate({"base_url": url, "api": api, "patience_s": 0})
        async with open_model("compatible/m", settings) as model:
            with pytest.raises(RequestRejectedError):
                await model.complete(request)
    said = json.dumps(endpoint.document)
    assert json.dumps(shown)[1:-1] in said
    assert said.index("a.png:") < said.index("aGk=")
    assert estimated_tokens(request) > 1600
