"""Scripted endpoints for tests of clients: one speaks every form, one is as strict as the sternest providers.

The strict one keeps the rules of Chat Completions and Messages. Its thoughts carry a signature that follows from
their text, and calls of a thinking turn say so by their id: whether thoughts came back unchanged can be seen from
the request alone.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator

from pydantic import JsonValue
from typing_extensions import override

from groundup.domain.conversations import ChatReply
from groundup.domain.digests import digest_of
from groundup.models.answering import chat, gemini, messages, responses
from groundup.models.answering.forms import Asked, BadRequestError, Document, data, event, parsed_json
from groundup.models.scripted.server import CHAT, ScriptedForm, ScriptedServer, Turn

THOUGHT_OUT = "_thought"
"""How the ids of calls end that go with thoughts."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MESSAGES = ScriptedForm(
    messages.asked,
    lambda reply, asked: messages.reply_document(reply, asked.model),
    lambda reply, asked: messages.reply_events(reply, asked.model),
)
_FORMS = {
    chat.PATH: CHAT,
    responses.PATH: ScriptedForm(responses.asked, responses.reply_document, responses.reply_events),
    messages.PATH: _MESSAGES,
}


class EveryFormServer(ScriptedServer):
    """Answers in the form in which it is asked."""

    @override
    def form_at(self, path: str) -> ScriptedForm | None:
        """Return what is spoken at *path*; Gemini's paths name the model, and say whether a stream is wanted."""
        found = gemini.PATH.fullmatch(path.partition("?")[0])
        if found is None or found[2] == gemini.COUNT:
            return _FORMS.get(path)
        model, stream = found[1], found[2] == gemini.STREAM
        return ScriptedForm(
            lambda body: gemini.asked(body, model=model, stream=stream),
            lambda reply, asked: gemini.reply_document(reply, asked.model),
            lambda reply, asked: gemini.reply_events(reply, asked.model),
        )


class StrictServer(ScriptedServer):
    """Refuses what the strictest providers refuse, and signs thoughts."""

    @override
    def form_at(self, path: str) -> ScriptedForm | None:
        """Return the strict form of Chat Completions or Messages."""
        if path == chat.PATH:
            return self._strict(CHAT, fault_of_chat, signed_chat, chat_chunks)
        if path == messages.PATH:
            return self._strict(_MESSAGES, fault_of_messages, signed_messages, messages_events)
        return None

    @override
    def reply(self, turn: Turn, asked: Asked) -> ChatReply:
        """Return the reply; ids of calls say whether there was a thought before them."""
        reply = super().reply(turn, asked)
        if not turn.reasoning:
            return reply
        marked = [
            call if said.id else call.but(id=f"{call.id}{THOUGHT_OUT}")
            for call, said in zip(reply.message.tool_calls, turn.calls, strict=True)
        ]
        return reply.but(message=reply.message.but(tool_calls=tuple(marked)))

    def _strict(
        self,
        form: ScriptedForm,
        fault_of: Callable[[Document], str | None],
        signed: Callable[[Document, ChatReply], Document],
        chunks: Callable[[Document], Iterable[bytes]],
    ) -> ScriptedForm:
        def asked(body: bytes) -> Asked:
            found = form.asked(body)
            if fault := fault_of(parsed_json(body)):
                self.failed["refused"] += 1
                raise BadRequestError(fault)
            return found

        def document(reply: ChatReply, asked: Asked) -> Document:
            return signed(form.document(reply, asked), reply)

        return ScriptedForm(asked, document, lambda reply, asked: chunks(document(reply, asked)))


def signature_of(text: str) -> str:
    """Return the signature of a thought or a call."""
    return digest_of(["signed", text])


def signed_chat(document: Document, reply: ChatReply) -> Document:
    """Return a reply of Chat Completions with signed thoughts, as `reasoning_details` and on each call."""
    (choice,) = _objects(document["choices"])
    message = choice["message"]
    assert isinstance(message, dict)  # made by the same program
    text = reply.message.reasoning
    if text:
        message["reasoning_details"] = [
            {"type": "reasoning.text", "text": text, "signature": signature_of(text), "index": 0}
        ]
    for call in _objects(message.get("tool_calls")):
        call["extra_content"] = {"google": {"thought_signature": signature_of(str(call["id"]))}}
    return document


def signed_messages(document: Document, _: ChatReply) -> Document:
    """Return a reply of Messages with signed thoughts."""
    for block in _objects(document["content"]):
        if block["type"] == "thinking":
            block["signature"] = signature_of(str(block["thinking"]))
    return document


def chat_chunks(document: Document) -> Iterator[bytes]:
    """Yield a signed reply of Chat Completions as a stream, its thoughts in two pieces."""
    (choice,) = _objects(document["choices"])
    message = choice["message"]
    assert isinstance(message, dict)  # made by the same program
    deltas: list[Document] = [{"role": "assistant", "content": ""}]
    for detail in _objects(message.get("reasoning_details")):
        text = str(detail.pop("text"))
        deltas += [{"reasoning_details": [{"type": detail["type"], "index": 0, "text": text[:3]}]}]
        deltas += [{"reasoning_details": [{"index": 0, "text": text[3:]}]}, {"reasoning_details": [detail]}]
    deltas.append({"content": message["content"]})
    for index, call in enumerate(_objects(message.get("tool_calls"))):
        deltas.append({"tool_calls": [call | {"index": index}]})
    for delta in deltas:
        yield data({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield data({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    yield data({"choices": [], "usage": document["usage"]})
    yield b"data: [DONE]\n\n"


def messages_events(document: Document) -> Iterator[bytes]:
    """Yield a signed reply of Messages as a stream."""
    blocks = _objects(document["content"])
    yield event("message_start", {"type": "message_start", "message": document | {"content": []}})
    for index, block in enumerate(blocks):
        empty, deltas = _pieces(block)
        place: Document = {"index": index}
        start: Document = {"type": "content_block_start", "content_block": empty}
        yield event("content_block_start", place | start)
        for delta in deltas:
            yield event("content_block_delta", place | {"type": "content_block_delta", "delta": delta})
        yield event("content_block_stop", place | {"type": "content_block_stop"})
    end: Document = {"stop_reason": document["stop_reason"]}
    yield event("message_delta", {"type": "message_delta", "delta": end, "usage": document["usage"]})
    yield event("message_stop", {"type": "message_stop"})


def _pieces(block: Document) -> tuple[Document, list[Document]]:
    """Return the beginning of a block, and what it grows by."""
    match block["type"]:
        case "thinking":
            signed: Document = {"type": "signature_delta", "signature": block["signature"]}
            thought: Document = {"type": "thinking_delta", "thinking": block["thinking"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]
        case "tool_use":
            text = json.dumps(block["input"])
            parts: list[Document] = [{"type": "input_json_delta", "partial_json": text[:4]}]
            return block | {"input": {}}, [*parts, {"type": "input_json_delta", "partial_json": text[4:]}]
    return block | {"text": ""}, [{"type": "text_delta", "text": block["text"]}]


def fault_of_chat(document: Document) -> str | None:
    """Return why a request of Chat Completions is refused, None for one that is right."""
    return next(_chat_faults(_objects(document.get("messages"))), None)


def fault_of_messages(document: Document) -> str | None:
    """Return why a request of Messages is refused, None for one that is right."""
    return next(_messages_faults(_objects(document.get("messages"))), None)


def _chat_faults(messages: list[Document]) -> Iterator[str]:
    used: set[str] = set()
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        place = f"messages.{number}"
        calls = _objects(message.get("tool_calls"))
        if not calls and not _said(message.get("content")):
            yield f"{place}.content: must not be empty"
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                yield f"{place}.tool_call_id: no call of the message before has this id"
            else:
                open_calls.remove(str(message["tool_call_id"]))
            continue
        if open_calls:
            yield f"{place}: calls {open_calls} have no result"
        open_calls = [str(call.get("id")) for call in calls]
        for call in calls:
            yield from _call_faults(place, call, used)
        yield from _details_faults(place, message, open_calls)


def _call_faults(place: str, call: Document, used: set[str]) -> Iterator[str]:
    function = call.get("function")
    called = function if isinstance(function, dict) else {}
    yield from _names_faults(place, call.get("id"), called.get("name"), used)
    try:
        arguments = json.loads(str(called.get("arguments")))
    except ValueError as error:
        arguments = error
    if not isinstance(arguments, dict):
        yield f"{place}: the arguments are no JSON object"
    if str(call.get("id")).endswith(THOUGHT_OUT) and call.get("extra_content") != {
        "google": {"thought_signature": signature_of(str(call.get("id")))}
    }:
        yield f"{place}: the call lacks its thought_signature"


def _details_faults(place: str, message: Document, calls: Iterable[str]) -> Iterator[str]:
    details = _objects(message.get("reasoning_details"))
    if any(detail.get("signature") != signature_of(str(detail.get("text"))) for detail in details):
        yield f"{place}.reasoning_details: thoughts were changed"
    if not details and any(call.endswith(THOUGHT_OUT) for call in calls):
        yield f"{place}.reasoning_details: the thoughts before the calls are missing"


def _messages_faults(messages: list[Document]) -> Iterator[str]:
    used: set[str] = set()
    known: set[str] = set()
    before = "assistant"
    for number, message in enumerate(messages):
        place = f"messages.{number}"
        blocks = _objects(message.get("content"))
        if message.get("role") == before:
            yield f"{place}: roles must alternate"
        before = str(message.get("role"))
        if not blocks:
            yield f"{place}: must have non-empty content"
        for block in blocks:
            yield from _block_faults(place, block, used, known)
        calls = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        known = set(calls)
        if any(call.endswith(THOUGHT_OUT) for call in calls) and blocks[0].get("type") != "thinking":
            yield f"{place}: expected `thinking` before `tool_use`"


def _block_faults(place: str, block: Document, used: set[str], known: set[str]) -> Iterator[str]:
    match block.get("type"):
        case "text" if not str(block.get("text")).strip():
            yield f"{place}: text content blocks must contain non-whitespace text"
        case "tool_use":
            yield from _names_faults(place, block.get("id"), block.get("name"), used)
            if not isinstance(block.get("input"), dict):
                yield f"{place}: tool_use.input: should be an object"
        case "tool_result" if block.get("tool_use_id") not in known:
            yield f"{place}: unexpected tool_use_id"
        case "thinking" if block.get("signature") != signature_of(str(block.get("thinking"))) or len(block) != 3:
            yield f"{place}: thinking blocks cannot be modified"


def _names_faults(place: str, identifier: JsonValue, name: JsonValue, used: set[str]) -> Iterator[str]:
    for what, value in (("id", identifier), ("name", name)):
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            yield f"{place}: the call's {what} {value!r} does not match {_NAME.pattern}"
    if identifier in used:
        yield f"{place}: call ids must be unique"
    used.add(str(identifier))


def _said(content: JsonValue) -> bool:
    return bool(content.strip() if isinstance(content, str) else content)


def _objects(value: JsonValue) -> list[Document]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
