"""How many tokens a request has, before it is sent: counted by the server if it can, else estimated from above.

The estimate is no bound that nothing can break (a text of random bytes has a token for each of them);
docs/models.md says what it was measured against.
"""

import json
import math
import re
from collections.abc import Mapping

from pydantic import JsonValue

from groundup.domain.conversations import ChatRequest, Message
from groundup.models.asking.chat import message_document, request_document
from groundup.models.endpoint import ModelEndpoint
from groundup.models.settings import ModelProvider

_PIECES = re.compile(r"[A-Z]?[a-z]{1,4}|[A-Z]{1,4}|[0-9]|[!-/:-@\[-`{-~]|\n[\n ]{0,7}|[ \t]{2,8}")
"""A token each. A single blank is nearly always part of the word after it."""
_FOREIGN = bytes(range(128, 256))
_PER_FOREIGN_BYTE = 0.6
_MARGIN = 1.1
_MESSAGE_TOKENS = 8
"""What chat templates put around a message, at most, as far as we know them."""
_TEMPLATE_TOKENS = 32


def estimated_text_tokens(text: str) -> int:
    """Return how many tokens *text* has at most, by rules that common tokenizers keep."""
    encoded = text.encode(errors="replace")
    foreign = len(encoded) - len(encoded.translate(None, _FOREIGN))
    return math.ceil(_MARGIN * (len(_PIECES.findall(text)) + _PER_FOREIGN_BYTE * foreign))


def estimated_tokens(request: ChatRequest) -> int:
    """Return how many tokens *request* has at most, by the same rules."""
    total = _TEMPLATE_TOKENS
    for message in request.messages:
        total += _MESSAGE_TOKENS + estimated_text_tokens(message.content)
        if message.original:
            total += estimated_text_tokens(json.dumps(message.original, ensure_ascii=False))
        for call in message.tool_calls:
            total += 2 * _MESSAGE_TOKENS + estimated_text_tokens(call.name + call.arguments)
    for tool in request.tools:
        total += 2 * _MESSAGE_TOKENS + estimated_text_tokens(
            f"{tool.name}{tool.description}{json.dumps(tool.parameters)}"
        )
    return total


def estimated_reply_tokens(message: Message) -> int:
    """Return how many tokens a reply has at most, by the same rules, thoughts included."""
    calls = "".join(call.name + call.arguments for call in message.tool_calls)
    return estimated_text_tokens(message.content + (message.reasoning or "") + calls)


async def counted_tokens(
    endpoint: ModelEndpoint, provider: ModelProvider, model: str, request: ChatRequest
) -> int | None:
    """Return what the server counts, None when it cannot."""
    if provider.tokenizer is None:
        return None
    root = endpoint.base_url.removesuffix("/v1")
    if provider.tokenizer == "vllm":
        document = request_document(request, model, provider)
        wanted = {key: value for key, value in document.items() if key in {"model", "messages", "tools"}}
        return _whole(await endpoint.ask(f"{root}/tokenize", wanted), "count")
    return await _counted_by_llamacpp(endpoint, root, model, request)


async def _counted_by_llamacpp(endpoint: ModelEndpoint, root: str, model: str, request: ChatRequest) -> int | None:
    """Ask llama.cpp's own server, then the one of llama-cpp-python, which counts texts but applies no template."""
    messages: JsonValue = [message_document(message) for message in request.messages]
    tools: JsonValue = [tool.model_dump(mode="json") for tool in request.tools]
    applied = await endpoint.ask(f"{root}/apply-template", {"messages": messages})
    if applied is not None and isinstance(prompt := applied.get("prompt"), str):
        if request.tools:
            prompt += json.dumps(tools, ensure_ascii=False)
        answer = await endpoint.ask(f"{root}/tokenize", {"content": prompt, "add_special": True})
        tokens = answer.get("tokens") if answer else None
        return len(tokens) if isinstance(tokens, list) else None
    texts = [message.content + "".join(map(str, message.tool_calls)) for message in request.messages]
    text = "\n".join([*texts, json.dumps(tools, ensure_ascii=False) if request.tools else ""])
    counted = _whole(await endpoint.ask(f"{root}/extras/tokenize/count", {"input": text, "model": model}), "count")
    return None if counted is None else counted + _MESSAGE_TOKENS * len(texts)


def _whole(answer: Mapping[str, JsonValue] | None, name: str) -> int | None:
    value = answer.get(name) if answer else None
    return value if isinstance(value, int) else None
