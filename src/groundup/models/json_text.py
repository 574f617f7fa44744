"""JSON from strangers: what a model or a program wrote may hold halves of characters, which no other text can."""

import json


def parsed(content: bytes) -> object:
    """Return the value of a JSON text, lone halves of characters replaced. Raises `ValueError`."""
    try:
        value: object = json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if b"\\ud" not in content.lower():
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
