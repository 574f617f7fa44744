"""What calls cost: tokens counted before a request is sent, prices, and the money that a run may spend.

The estimate is no bound that nothing can break (a text of random bytes has a token for each of them);
docs/models.md says what it was measured against.

A price file is TOML. Prices are USD per million tokens; `cached` and `cache_write` default to `input`:

    [[price]]
    model = "provider/model"     # as -m names it; a * stands for anything
    input = 1.25
    output = 10.0
    cached = 0.125
    above = 200000               # for a request with more input tokens, all of it costs `above_input` and so on
    above_input = 2.5
    above_output = 15.0
    as_of = 2026-01-31           # when it was looked up, and where: for readers of a report
    source = "https://..."
"""

import asyncio
import json
import math
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.errors import UsageError
from groundup.domain.figures import money
from groundup.domain.records import Record, SettingRecord, plainly
from groundup.domain.usage import TokenUsage
from groundup.models.asking.chat import message_document, request_document
from groundup.models.endpoint import ModelEndpoint
from groundup.models.protocol import BudgetSpentError
from groundup.models.settings import ModelProvider, ModelSettings
from groundup.trees.walking import read_regular

_PIECES = re.compile(r"[A-Z]?[a-z]{1,4}|[A-Z]{1,4}|[0-9]|[!-/:-@\[-`{-~]|\n[\n ]{0,7}|[ \t]{2,8}")
"""A token each. A single blank is nearly always part of the word after it."""
_FOREIGN = bytes(range(128, 256))
_PER_FOREIGN_BYTE = 0.6
_MARGIN = 1.1
_MESSAGE_TOKENS = 8
"""What chat templates put around a message, at most, as far as we know them."""
_TEMPLATE_TOKENS = 32
_IMAGE_TOKENS = 1600
"""What Anthropic counts for its largest; others count less."""


def estimated_text_tokens(text: str) -> int:
    """Return how many tokens *text* has at most, by rules that common tokenizers keep."""
    encoded = text.encode(errors="replace")
    foreign = len(encoded) - len(encoded.translate(None, _FOREIGN))
    return math.ceil(_MARGIN * (len(_PIECES.findall(text)) + _PER_FOREIGN_BYTE * foreign))


def estimated_tokens(request: ChatRequest) -> int:
    """Return how many tokens *request* has at most, by the same rules."""
    total = _TEMPLATE_TOKENS
    for message in request.messages:
        total += _MESSAGE_TOKENS + estimated_text_tokens(message.content) + _IMAGE_TOKENS * len(message.images)
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


_MILLION = 1_000_000
_PARTS = ("input", "output", "cached")
"""Of a price on the command line, in this order."""


class Price(SettingRecord):
    """USD per million tokens."""

    model: str = "*"
    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    above: int | None = Field(default=None, ge=1, description="input tokens of a request; None: one price for all")
    above_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    above_output: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    above_cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    above_cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    as_of: date | None = None
    source: str | None = None

    def at(self, input_tokens: int) -> "Price":
        """Return what a request of so many input tokens pays: some providers charge more for all of a long one."""
        if self.above is None or input_tokens <= self.above:
            return self
        parts = ("input", "output", "cached", "cache_write")
        dearer = {name: value for name in parts if (value := getattr(self, f"above_{name}")) is not None}
        return self.but(above=None, **dearer)

    def cost_usd(self, usage: TokenUsage, cache_write_tokens: int = 0) -> float:
        """Return what *usage* costs; *cache_write_tokens* are a part of its input."""
        if (tier := self.at(usage.input_tokens)) is not self:
            return tier.cost_usd(usage, cache_write_tokens)
        cached = min(usage.cached_input_tokens, usage.input_tokens)
        written = min(cache_write_tokens, usage.input_tokens - cached)
        plain = usage.input_tokens - cached - written
        return (
            plain * self.input
            + cached * (self.input if self.cached is None else self.cached)
            + written * (self.input if self.cache_write is None else self.cache_write)
            + usage.output_tokens * self.output
        ) / _MILLION


class _PriceFile(Record):
    price: tuple[Price, ...] = ()


def price_of(name: str, settings: ModelSettings) -> Price | None:
    """Return the price of the model *name*, None where none is known. Raises `UsageError`.

    With a limit on the cost there must be one: a limit that cannot be kept is not accepted.
    """
    found = parse_price(settings.price) if settings.price else _from_file(name, settings.prices)
    if found is None and settings.max_cost_usd is not None:
        raise UsageError(
            f"a limit on the cost needs a price for {name}: add it to a price file (--prices) or say "
            "--price INPUT:OUTPUT in USD per million tokens"
        )
    return found


def parse_price(text: str) -> Price:
    """Read `INPUT:OUTPUT[:CACHED]`, USD per million tokens. Raises `UsageError`."""
    wrong = f"--price {text!r} is no price: say INPUT:OUTPUT or INPUT:OUTPUT:CACHED, such as 1.25:10"
    parts = text.split(":")
    if len(parts) > len(_PARTS):
        raise UsageError(wrong)
    try:
        return Price.model_validate(dict(zip(_PARTS, parts, strict=False)))
    except ValidationError as error:
        raise UsageError(wrong) from error


def _from_file(name: str, path: Path | None) -> Price | None:
    if path is None:
        return None
    return next((price for price in read_prices(path) if _means(price.model, name)), None)


def read_prices(path: Path) -> tuple[Price, ...]:
    """Read a price file. Raises `UsageError`."""
    try:
        return _PriceFile.model_validate(tomllib.loads(read_regular(path).decode())).price
    except OSError as error:
        raise UsageError(f"the price file {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"the price file {path}: {where}: {plainly(first)}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the price file {path} is not valid TOML: {error}") from error


def _means(pattern: str, name: str) -> bool:
    return pattern == name or fnmatchcase(name, pattern)


class CostLedger:
    """One run's budget, shared by all its models and attempts. Belongs to one event loop."""

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        """What was paid so far; of a resumed run also what earlier starts paid."""
        self._reserved: list[float] = []
        self._settled = asyncio.Event()

    async def reserve(self, usd: float) -> None:
        """Set *usd* aside for a call. Waits for other calls to settle when only they are in the way.

        Raises `BudgetSpentError` when what is left is not enough.
        """
        if self.limit_usd is None:
            return
        while self.spent_usd + sum(self._reserved) + usd > self.limit_usd:
            if not self._reserved:
                left = max(0.0, self.limit_usd - self.spent_usd)
                raise BudgetSpentError(
                    f"of the budget of ${self.limit_usd:g} only {money(left)} are left and the next call may "
                    f"cost {money(usd)}; raise --max-cost to go on"
                )
            await self._settled.wait()
        self._reserved.append(usd)

    def settle(self, reserved_usd: float, paid_usd: float) -> None:
        """Replace a reservation by what was paid."""
        self.spent_usd += paid_usd
        if self.limit_usd is not None:
            self._reserved.remove(reserved_usd)
            self._settled.set()  # all who wait look again
            self._settled = asyncio.Event()
