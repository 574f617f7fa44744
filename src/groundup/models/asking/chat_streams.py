"""Streams of Chat Completions, put together to the reply that an endpoint would have given at once."""

from collections.abc import Iterable

from pydantic import JsonValue

from groundup.models.asking.replies import BrokenReplyError

_Document = dict[str, JsonValue]
_WHOLE = frozenset({"role", "id", "type", "name", "index", "finish_reason", "format"})
"""Keys whose later values replace earlier ones; all other texts are pieces of one text."""


def joined(events: Iterable[_Document]) -> _Document:
    """Return the reply that *events* tell. Raises `BrokenReplyError` for one that breaks off."""
    whole: _Document = {}
    choice: _Document = {}
    message: _Document = {}
    for event in events:
        whole |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        choices = event.get("choices")
        for told in choices if isinstance(choices, list) else ():
            if not isinstance(told, dict) or told.get("index", 0) != 0:
                continue
            choice |= {name: value for name, value in told.items() if value is not None and name != "delta"}
            delta = told.get("delta")
            if isinstance(delta, dict):
                _grow(message, delta)
    if whole.get("error") or "error" in (whole.get("object"), whole.get("type")):
        return whole
    if choice.get("finish_reason") is None:
        raise BrokenReplyError("the stream ends before its reply does")
    whole["choices"] = [{"message": message, **choice}]
    return whole


def _grow(grown: _Document, delta: _Document) -> None:
    """Add a piece to what is there: texts grow, lists grow by the `index` of their items."""
    for name, value in delta.items():
        before = grown.get(name)
        if value is None:
            grown.setdefault(name, None)
        elif isinstance(value, str) and isinstance(before, str) and name not in _WHOLE:
            grown[name] = before + value
        elif isinstance(value, str) and isinstance(before, str) and not value:
            continue  # a later piece names the call no more
        elif isinstance(value, str) and isinstance(before, list):
            before.append({"type": "text", "text": value})
        elif isinstance(value, dict) and isinstance(before, dict):
            _grow(before, value)
        elif isinstance(value, list):
            items = before if isinstance(before, list) else []
            _grow_list(items, value)
            grown[name] = items
        else:
            grown[name] = dict(value) if isinstance(value, dict) else value


def _grow_list(items: list[JsonValue], pieces: list[JsonValue]) -> None:
    for piece in pieces:
        found = next((item for item in items if _continues(item, piece)), None)
        if isinstance(found, dict) and isinstance(piece, dict):
            _grow(found, piece)
        else:
            items.append(dict(piece) if isinstance(piece, dict) else piece)


def _continues(item: JsonValue, piece: JsonValue) -> bool:
    if not (isinstance(item, dict) and isinstance(piece, dict)) or piece.get("index") is None:
        return False
    same = item.get("index") == piece["index"] and piece.get("type") in (None, item.get("type"))
    # Some servers give every call the index 0 and an id of its own.
    return same and piece.get("id") in (None, "", item.get("id"))
