"""Values for an operation's parameters: the same for the same draw, others for another."""

import random

from pydantic import JsonValue

from groundup.curation.services.operations import Kind, Parameter

_WORDS = (
    *("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "indigo", "juniper", "kestrel"),
    *("lagoon", "meadow", "nectar", "opal", "prairie", "quartz", "raven", "saffron", "tundra", "umber", "violet"),
)
_NAMED: tuple[tuple[str, str], ...] = (
    ("email", "{word}.{number}@example.com"),
    ("mail", "{word}.{number}@example.com"),
    ("password", "{Word}-Pass-{number}"),
    ("phone", "138{number:08d}"),
    ("url", "http://localhost/{word}/{number}"),
    ("uri", "http://localhost/{word}/{number}"),
    ("date", "2024-01-{day:02d}"),
    ("time", "2024-01-{day:02d}T03:04:05"),
    ("user", "{word}{number}"),
    ("name", "{word} {number}"),
    ("title", "{Word} {number}"),
    ("slug", "{word}-{number}"),
)
_FORMATS = {
    "email": "{word}.{number}@example.com",
    "date": "2024-01-{day:02d}",
    "date-time": "2024-01-{day:02d}T03:04:05Z",
    "uri": "http://localhost/{word}/{number}",
    "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c{number:04d}",
    "password": "{Word}-Pass-{number}",
    "ipv4": "10.0.0.{day}",
}
_NUMBERS = ("price", "amount", "total", "score", "rate", "lat", "lon", "weight")
_WHOLE = (
    "count",
    "quantity",
    "age",
    "year",
    "size",
    "limit",
    "offset",
    "page",
    "number",
    "num",
    "stock",
    "rating",
)


def sample(parameter: Parameter, draw: str) -> JsonValue:
    """Return a value for *parameter* that it should take."""
    dice = random.Random(f"{draw}/{parameter.name}/{parameter.kind}")  # noqa: S311 - it keeps no secret
    if parameter.choices:
        return dice.choice(parameter.choices)
    if parameter.kind == "object":
        return {one.name: sample(one, draw) for one in parameter.fields}
    if parameter.kind == "array":
        inner = parameter.items or Parameter(name=parameter.name)
        return [sample(inner.but(name=parameter.name), f"{draw}{number}") for number in range(2)]
    if parameter.kind == "boolean":
        return dice.random() < 0.5
    if parameter.kind in ("integer", "number"):
        least = int(parameter.minimum if parameter.minimum is not None else 1)
        whole = least + dice.randrange(1, 30)
        return whole if parameter.kind == "integer" else whole + 0.5
    if parameter.kind == "any" and parameter.example is not None:
        return parameter.example
    return _text(parameter, dice)


def _text(parameter: Parameter, dice: random.Random) -> JsonValue:
    word, number = dice.choice(_WORDS), dice.randrange(100, 1000)
    name = parameter.name.lower()
    form = _FORMATS.get(parameter.format) or next((form for key, form in _NAMED if key in name), "{word} {number}")
    text = form.format(word=word, Word=word.capitalize(), number=number, day=number % 27 + 1)
    if parameter.shortest is not None:
        text = text.ljust(parameter.shortest, "x")
    return text[: parameter.longest] if parameter.longest else text


def named_kind(name: str) -> Kind:
    """Return the kind of a field of which only the name is known."""
    last = name.lower()
    if last.startswith(("is_", "has_")) or last in ("done", "active", "completed", "enabled", "available"):
        return "boolean"
    if any(word in last for word in _NUMBERS):
        return "number"
    return "integer" if last.endswith(("_id", "Id")) or any(word == last for word in _WHOLE) else "string"


def wrong(parameter: Parameter) -> JsonValue:
    """Return a value that *parameter* should not take, or None where any may do."""
    if parameter.kind in ("integer", "number", "boolean", "array", "object"):
        return "no such kind"
    return {"no": "text"} if parameter.kind == "string" else None
