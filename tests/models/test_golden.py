"""What each form's documents are read as, to the key: whole ones, and each with one thing in it changed.

`python -m tests.models.test_golden` writes the files in golden/ anew: read what changed, for it is what models are
asked and what programs are answered.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from groundup.domain.conversations import ChatReply, ChatRequest, Finish, Message, Picture, Tool, ToolCall
from groundup.domain.usage import TokenUsage
from groundup.models.answering import chat as chat_server
from groundup.models.answering import gemini as gemini_server
from groundup.models.answering import messages as messages_server
from groundup.models.answering import responses as responses_server
from groundup.models.answering.forms import Asked, BadRequestError
from groundup.models.arriving import data_of
from groundup.models.asking import chat, gemini, messages, responses
from groundup.models.asking.forms import BrokenReplyError, ReplyForm
from groundup.models.prices import estimated_reply_tokens, estimated_text_tokens, estimated_tokens
from groundup.models.settings import ModelProvider

GOLDEN = Path(__file__).parent / "golden"
Document = dict[str, Any]
LS = ToolCall(id="c1", name="bash", arguments='{"command": "ls"}')
FREE = ToolCall(id="c2", name="apply", arguments='{"input": "x"}')
REPLY = ChatReply(
    message=Message(role="assistant", content="Let me look.", reasoning="Files first.", tool_calls=(LS, FREE)),
    finish="tool_calls",
    usage=TokenUsage(input_tokens=100, output_tokens=30, cached_input_tokens=40, reasoning_tokens=10),
    model="m",
)
ASKED = Asked(request=ChatRequest(messages=()), model="m", free_text=frozenset({"apply"}))
ODD: tuple[Any, ...] = (None, True, 7, -1, "", "word", [], {}, [{"type": "text", "text": "more"}])
OF_STREAMS: tuple[Any, ...] = (None, 7, [])


class Form(NamedTuple):
    """One form of asking models, and of answering programs."""

    asking: ReplyForm
    document: Callable[[ChatReply], Document]
    events: Callable[[ChatReply], Iterator[bytes]]
    asked: Callable[[bytes], Asked]
    ask: Callable[[ChatRequest], Mapping[str, Any]]
    question: Document
    """What a program may send."""


SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CHAT_QUESTION: Document = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be quick."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": " there"}]},
        {
            "role": "assistant",
            "content": "Let me look.",
            "reasoning_content": "Files first.",
            "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ],
    "tools": [{"type": "function", "function": {"name": "bash", "description": "run", "parameters": SCHEMA}}],
    "temperature": 0.5,
    "max_tokens": 100,
    "max_completion_tokens": 90,
    "seed": 3,
    "stop": ["END"],
    "tool_choice": "auto",
    "stream": True,
    "stream_options": {"include_usage": True},
}
MESSAGES_QUESTION: Document = {
    "model": "m",
    "system": [{"type": "text", "text": "Be quick."}],
    "messages": [
        {"role": "user", "content": "Hi there"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Files first.", "signature": "s"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a.py"}]},
                {"type": "text", "text": "And now?"},
            ],
        },
    ],
    "tools": [{"name": "bash", "description": "run", "input_schema": SCHEMA}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "max_tokens": 100,
    "temperature": 0.5,
    "top_p": 0.9,
    "stop_sequences": ["END"],
    "stream": True,
}
GEMINI_QUESTION: Document = {
    "systemInstruction": {"parts": [{"text": "Be quick."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Hi"}, {"text": " there"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Files first.", "thought": True},
                {"text": "Let me look."},
                {"functionCall": {"id": "c1", "name": "bash", "args": {"command": "ls"}}},
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "a.py"}}}],
        },
    ],
    "tools": [{"functionDeclarations": [{"name": "bash", "description": "run", "parameters": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["bash"]}},
    "generationConfig": {
        "temperature": 0.5,
        "maxOutputTokens": 100,
        "topP": 0.9,
        "stopSequences": ["END"],
        "seed": 3,
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT"},
    },
}
RESPONSES_QUESTION: Document = {
    "model": "m",
    "instructions": "Be quick.",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi there"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Files first."}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "done"}]},
    ],
    "tools": [
        {"type": "function", "name": "bash", "description": "run", "parameters": SCHEMA},
        {"type": "custom", "name": "apply", "description": "patch"},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "reasoning": {"effort": "high"},
    "temperature": 0.5,
    "max_output_tokens": 100,
    "stream": True,
}
PROVIDER = ModelProvider(key="K")
FORMS = {
    "chat": Form(
        chat.FORM,
        lambda reply: chat_server.reply_document(reply, "m"),
        lambda reply: chat_server.reply_events(reply, "m", usage=True),
        chat_server.asked,
        lambda request: chat.request_document(request, "m", PROVIDER),
        CHAT_QUESTION,
    ),
    "messages": Form(
        messages.FORM,
        lambda reply: messages_server.reply_document(reply, "m"),
        lambda reply: messages_server.reply_events(reply, "m"),
        messages_server.asked,
        lambda request: messages.request_document(request, "m"),
        MESSAGES_QUESTION,
    ),
    "gemini": Form(
        gemini.FORM,
        lambda reply: gemini_server.reply_document(reply, "m"),
        lambda reply: gemini_server.reply_events(reply, "m"),
        lambda body: gemini_server.asked(body, model="m", stream=True),
        gemini.request_document,
        GEMINI_QUESTION,
    ),
    "responses": Form(
        responses.FORM,
        lambda reply: responses_server.reply_document(reply, ASKED),
        lambda reply: responses_server.reply_events(reply, ASKED),
        responses_server.asked,
        lambda request: responses.request_document(request, "m"),
        RESPONSES_QUESTION,
    ),
}


def same_each_time(text: str) -> str:
    """Return *text* without what is drawn by chance, and without the time."""
    text = re.sub(r"[0-9a-f]{24}", "ID", text)
    return re.sub(r'("created(?:_at)?": )[0-9.]+', r"\1TIME", text)


def changed(document: Any, odd: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield *document* with each of its parts left out, and with each *odd* value in its place."""
    for path in [*_paths(document)][1:]:
        for value in ("left out", *odd):
            found = copy.deepcopy(document)
            at = found
            for key in path[:-1]:
                at = at[key]
            if value == "left out":
                del at[path[-1]]
            else:
                at[path[-1]] = copy.deepcopy(value)
            yield ".".join(map(str, path)), str(value), found


def _paths(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from _paths(value, (*path, key))


def leaves(document: Any) -> dict[str, Any]:
    """Return what a document says, by place."""
    found = {}
    for path in _paths(document):
        value = document
        for key in path:
            value = value[key]
        if not isinstance(value, dict | list) or not value:
            found[".".join(map(str, path))] = value
    return found


def differences(read: Callable[[Any], Any], document: Any, odd: Sequence[Any] = ODD) -> Iterator[str]:
    """Yield what *read* makes of *document*, and what else it makes of each change of it."""
    whole = leaves(read(document))
    yield from (same_each_time(f"{place}: {value!r}") for place, value in whole.items())
    found: dict[tuple[str, str], list[str]] = {}
    for place, value, other in changed(document, odd):
        if isinstance(other, dict) or all(isinstance(event, dict) for event in other):
            found.setdefault((place, _outcome(read, other, whole)), []).append(value)
    for (place, outcome), values in found.items():
        if outcome:
            yield f"{place} = {' | '.join(values)} -> {outcome}"


def _outcome(read: Callable[[Any], Any], document: Any, whole: Document) -> str:
    try:
        found = leaves(read(document))
    except (BrokenReplyError, BadRequestError) as error:
        return same_each_time(f"{type(error).__name__}: {error}")
    gone = [f"no {place}" for place in whole if place not in found]
    new = [f"{place}: {value!r:.60}" for place, value in found.items() if whole.get(place, found) != value]
    return same_each_time("; ".join((*gone, *new)))


def told_of_replies(form: Form) -> Iterator[str]:
    """Yield what a reply is read as, and a stream of it."""
    document = form.document(REPLY)
    yield same_each_time(json.dumps(document))
    yield from differences(lambda found: _parsed(form, found), document)
    events = [json.loads(data) for data in map(data_of, form.events(REPLY)) if data and data != b"[DONE]"]
    yield from (same_each_time(json.dumps(event)) for event in events)
    yield from (repr(form.asking.piece(event)) for event in events)
    end: list[Document] = [{}] if form is FORMS["chat"] else []
    yield from differences(lambda found: _parsed(form, form.asking.joined(chain(found, end))), events, OF_STREAMS)


def _parsed(form: Form, document: Document) -> Any:
    return form.asking.parsed(document).model_dump(mode="json", exclude_defaults=True)


def told_of_questions(form: Form) -> Iterator[str]:
    """Yield what a program's request is read as, and how a model is asked the same."""

    def read(document: Document) -> Any:
        found = form.asked(json.dumps(document).encode()).model_dump(mode="json", exclude_defaults=True)
        return {**found, "free_text": sorted(found.get("free_text", ()))}

    yield from differences(read, form.question)
    for request in conversations():
        yield same_each_time(json.dumps(form.ask(request), ensure_ascii=False))


def conversations() -> Iterator[ChatRequest]:
    """Yield requests with all that they may have."""
    picture = Picture(media_type="image/png", data="AA==")
    tool = Tool(name="bash", description="run", parameters=SCHEMA)
    system, user = Message(role="system", content="Be quick."), Message(role="user", content="Hi")
    odd = ToolCall(id="c 3", name="a b", arguments="ls -l", original={"thought_signature": "s"})
    called = Message(
        role="assistant", tool_calls=(LS, odd, LS), reasoning="Hm.", original={"reasoning_details": [1]}
    )
    results = [
        Message(role="tool", content=text, tool_call_id=one)
        for text, one in (("a", "c1"), ("", "c 3"), ("b", "c1"))
    ]
    yield ChatRequest(messages=(user,))
    yield ChatRequest(
        messages=(system, user, system, user), tools=(tool,), temperature=0.0, max_output_tokens=5, seed=0
    )
    yield ChatRequest(messages=(user.but(images=(picture, picture)), user, Message(role="assistant", content=" ")))
    yield ChatRequest(messages=(system, user, called, *results, user, REPLY.message))
    yield ChatRequest(messages=(Message(role="assistant", content="First."), Message(role="user", content="  ")))
    given = [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "First."}]
    yield ChatRequest(
        messages=(user, Message(role="assistant", content="First.", original={"content": given}), user)
    )
    for extra in (
        {"top_p": 0.9, "stop": "END", "tool_choice": "required", "parallel_tool_calls": False},
        {
            "stop": ["A", "B"],
            "tool_choice": {"type": "function", "function": {"name": "bash"}},
            "reasoning_effort": "high",
        },
        {"tool_choice": "none", "reasoning_effort": "none", "response_format": {"type": "json_object"}},
        {
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
            "tool_choice": "auto",
        },
        {"unheard_of": [1], "parallel_tool_calls": True, "reasoning_effort": "minimal"},
    ):
        yield ChatRequest(messages=(user,), tools=(tool,), extra=extra, temperature=0.5)


def told_of_answers(form: Form) -> Iterator[str]:
    """Yield what programs are answered, whole and as a stream, for each way in which a reply may end."""
    finishes: tuple[Finish, ...] = ("stop", "length", "content_filter", "other")
    plain = REPLY.message.but(tool_calls=())
    for message, finish in (
        *((plain, finish) for finish in finishes),
        (Message(role="assistant"), "stop"),
        (plain.but(reasoning=None, content="x" * 4001), "length"),
        (REPLY.message.but(content=""), "tool_calls"),
        (REPLY.message.but(tool_calls=(LS.but(arguments="ls"), FREE.but(arguments=""))), "length"),
    ):
        reply = REPLY.but(message=message, finish=finish, usage=TokenUsage(input_tokens=3))
        yield same_each_time(json.dumps(form.document(reply)).replace("x" * 2000, "X"))
        for event in form.events(reply):
            yield same_each_time(event.decode().replace("x" * 2000, "X").replace("\n", " "))


def told_of_estimates() -> Iterator[str]:
    """Yield how many tokens texts and requests are taken for."""
    for text in (
        "",
        "word",
        "two words",
        "CamelCaseNames",
        "x = 1\n\n    y\t\tz",
        "1234",
        "ä",
        "日本語",
        "a" * 100,
        "!?.,",
    ):
        yield f"{text!r}: {estimated_text_tokens(text)}"
    yield from (str(estimated_tokens(request)) for request in conversations())
    yield str(estimated_reply_tokens(REPLY.message))
    yield str(estimated_reply_tokens(Message(role="assistant")))


RECORDS: dict[str, Callable[[], Iterator[str]]] = {"estimates": told_of_estimates}
for _name, _form in FORMS.items():
    for _told in (told_of_replies, told_of_questions, told_of_answers):
        RECORDS[f"{_told.__name__.removeprefix('told_of_')}-{_name}"] = lambda told=_told, form=_form: told(form)  # type: ignore[misc]


@pytest.mark.parametrize("name", RECORDS)
def test_each_form_is_as_ever(name: str) -> None:
    """What is read, what is written, and what is said of what is wrong."""
    assert [*RECORDS[name]()] == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1]


if __name__ == "__main__":
    for name, told in RECORDS.items():
        (GOLDEN / f"{name}.txt").write_text("".join(f"{line}\n" for line in told()), encoding="utf-8")
