"""What Chat Completions' endpoints say of a call's tokens: one table of places and names, one rule for their sum.

Endpoints differ in where usage stands and in what its counts include. The total tells which reading is meant;
where it fits none, the reading that costs more counts and is marked as doubtful, so that `--max-cost` holds.
"""

from collections.abc import Mapping

from pydantic import JsonValue, TypeAdapter

from groundup.domain.conversations import Message
from groundup.models.asking.forms import Count, CountedTokens, first_of

_PLACES = (("usage",), ("choices", "usage"), ("x_groq", "usage"))
"""Where usage stands; Moonshot's streams have it in the choice, Groq's in an object of their own."""
_NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "input": (("prompt_tokens",), ("input_tokens",)),  # the other names: gateways that keep a provider's own
    "output": (("completion_tokens",), ("output_tokens",)),
    "total": (("total_tokens",),),
    # OpenAI; DeepSeek; Moonshot; LiteLLM for Anthropic.
    "cached": (
        ("prompt_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),
        ("cached_tokens",),
        ("cache_read_input_tokens",),
    ),
    # OpenRouter; Alibaba; LiteLLM for Anthropic.
    "cache_write": (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("prompt_tokens_details", "cache_creation_input_tokens"),
        ("cache_creation_input_tokens",),
    ),
    "reasoning": (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),  # OpenAI; SGLang
}
"""Where each count stands inside usage; the first that is there counts."""
_COUNT: TypeAdapter[int | None] = TypeAdapter(Count)


def counted_tokens(document: Mapping[str, JsonValue], message: Message) -> CountedTokens:
    """Return the counts. A count of 0 for input, or for words that are there, means that nothing was counted."""
    found = next((counts for place in _PLACES if (counts := _counts(_at(document, place)))), {})
    read, written = found.get("input"), found.get("output")
    total, thought, cached = found.get("total"), found.get("reasoning"), found.get("cached")
    doubtful = False
    beside = (cached or 0) + (found.get("cache_write") or 0)
    if read is not None and written is not None and total == read + beside + written and beside > read:
        read += beside  # Bedrock's own count has no cache in it
    if read and written is not None:
        if total == read + written + (thought or 0) or (total is None and (thought or 0) > written):
            # xAI counts thoughts beside the rest. Where they are inside, this total has no thoughts at all.
            written += thought or 0
        elif (thought or 0) > written:
            written, doubtful = max(written + (thought or 0), (total or 0) - read), True
        elif total is not None and total != read + written:
            written, doubtful = max(written, total - read), True
    speaks = bool(message.content or message.tool_calls)
    return CountedTokens(
        input_tokens=read or None,
        output_tokens=None if speaks and written == 0 else written,
        cached_input_tokens=cached,
        reasoning_tokens=thought,
        cache_write_tokens=found.get("cache_write"),
        doubtful=doubtful,
    )


def _counts(usage: JsonValue) -> dict[str, int]:
    """Return the counts that are there; none where neither input nor output is."""
    if not isinstance(usage, dict):
        return {}
    found: dict[str, int] = {}
    for name, paths in _NAMES.items():
        counts = (_COUNT.validate_python(_at(usage, path)) for path in paths)
        first = next((count for count in counts if count is not None), None)
        if first is not None:
            found[name] = first
    return found if found.get("input") or found.get("output") else {}


def _at(document: Mapping[str, JsonValue], path: tuple[str, ...]) -> JsonValue:
    found: JsonValue = dict(document)
    for name in path:
        if not isinstance(found, dict):
            return None
        found = first_of(found.get(name)) if name == "choices" else found.get(name)
    return found
