"""What a service offers: its operations with parameters and bodies, and reading them from an OpenAPI document."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from groundup.domain.records import Record
from groundup.suites.repogenesis.endpoints import as_method, path_shape, with_braces

Kind = Literal["string", "integer", "number", "boolean", "array", "object", "any"]
Document = Mapping[str, JsonValue]
PLACES = (
    "/openapi.json",
    "/swagger.json",
    "/apispec_1.json",
    "/api/openapi.json",
    "/api/swagger.json",
    "/api/v1/openapi.json",
    "/apispec.json",
    "/docs/openapi.json",
)
"""Where frameworks serve their document."""
_DEEPEST = 6
_MOST = 60


class Parameter(Record):
    """A value that an operation takes: in its path, its query, or as a field of its body."""

    name: str
    kind: Kind = "string"
    required: bool = False
    choices: tuple[JsonValue, ...] = ()
    example: JsonValue = None
    format: str = ""
    minimum: float | None = None
    longest: int | None = None
    shortest: int | None = None
    fields: tuple["Parameter", ...] = ()
    """Of an object."""
    items: "Parameter | None" = None
    """Of an array."""
    told: str = ""
    """What its authors say of it."""


class Operation(Record):
    """One method on one path."""

    method: str
    path: str
    """With `{name}` for each parameter."""
    told: str = ""
    """What its authors say of it."""
    in_path: tuple[Parameter, ...] = ()
    in_query: tuple[Parameter, ...] = ()
    body: tuple[Parameter, ...] | None = None
    """Fields of the JSON object or form that it takes; None: it takes none."""
    sends: Literal["json", "form"] = "json"
    secured: bool = False
    answers: Mapping[str, str] = {}
    """Status -> what its authors say of it."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def shape(self) -> tuple[str, str]:
        """What two readings of one operation have in common."""
        return self.method, path_shape(self.path)

    @property
    def collection(self) -> str | None:
        """The path above its last parameter, where it ends in one."""
        head, _, last = self.path.rstrip("/").rpartition("/")
        return (head or "/") if last.startswith("{") and last.endswith("}") else None


def read_openapi(document: JsonValue) -> tuple[Operation, ...]:
    """Return the operations of an OpenAPI or Swagger document; none where it is none."""
    if not isinstance(document, dict) or not isinstance(document.get("paths"), dict):
        return ()
    base = document.get("basePath")
    prefix = base.rstrip("/") if isinstance(base, str) and base.startswith("/") else ""
    paths = document["paths"]
    assert isinstance(paths, dict)
    found: list[Operation] = []
    for path, item in paths.items():
        if isinstance(item, dict) and path.startswith("/"):
            for word, described in item.items():
                method = as_method(word)
                if method is not None and isinstance(described, dict):
                    found.append(_operation(document, method, prefix + path, item, described))
    return tuple(found[:_MOST])


def _operation(document: Document, method: str, path: str, item: Document, described: Document) -> Operation:
    given = [_followed(document, one) for one in (*_list(item, "parameters"), *_list(described, "parameters"))]
    in_path = tuple(_parameter(document, one) for one in given if one.get("in") == "path")
    in_query = tuple(_parameter(document, one) for one in given if one.get("in") == "query")
    body, sends = _body(document, described, given)
    told = " ".join(str(described[key]).strip() for key in ("summary", "description") if described.get(key))
    security = described.get("security", document.get("security"))
    answers = described.get("responses")
    return Operation(
        method=method,
        path=with_braces(path),
        told=told,
        in_path=in_path,
        in_query=in_query,
        body=body,
        sends=sends,
        secured=bool(security),
        answers={
            status: str(one.get("description", "")) if isinstance(one, dict) else ""
            for status, one in (answers.items() if isinstance(answers, dict) else ())
        },
    )


def _body(
    document: Document, described: Document, given: Sequence[Document]
) -> tuple[tuple[Parameter, ...] | None, Literal["json", "form"]]:
    asked = _followed(document, described.get("requestBody"))
    content = asked.get("content")
    if isinstance(content, dict):
        for kind, one in content.items():
            if isinstance(one, dict) and ("json" in kind or "form" in kind):
                fields = _parameter(document, {"name": "body", "schema": one.get("schema", {})}).fields
                return fields, "json" if "json" in kind else "form"
    for single in given:  # as Swagger has it
        if single.get("in") == "body":
            return _parameter(document, single).fields, "json"
    form = tuple(_parameter(document, single) for single in given if single.get("in") == "formData")
    return (form, "form") if form else (None, "json")


def _parameter(document: Document, one: Document, depth: int = 0) -> Parameter:
    schema = _followed(document, one["schema"] if "schema" in one else dict(one))
    schema = _joined(document, schema, set())
    kind = _kind(schema)
    fields: tuple[Parameter, ...] = ()
    items = None
    if kind == "object" and depth < _DEEPEST:
        fields = tuple(_fields(document, schema, depth))
    if kind == "array" and depth < _DEEPEST:
        items = _parameter(document, {"name": "item", "schema": schema.get("items", {})}, depth + 1)
    choices = schema.get("enum")
    examples = schema.get("examples")
    shown = examples[0] if isinstance(examples, list) and examples else schema.get("example")
    return Parameter(
        name=str(one.get("name", "")),
        kind=kind,
        required=one.get("required") is True,
        choices=tuple(choices) if isinstance(choices, list) else (),
        example=one.get("example", shown if shown is not None else schema.get("default")),
        format=str(schema.get("format", "")),
        minimum=_number(schema, "minimum", "exclusiveMinimum"),
        longest=_whole(schema, "maxLength"),
        shortest=_whole(schema, "minLength"),
        fields=fields,
        items=items,
        told=str(one.get("description") or schema.get("description") or ""),
    )


def _fields(document: Document, schema: Document, depth: int) -> Iterator[Parameter]:
    properties = schema.get("properties")
    required = schema.get("required")
    wanted = required if isinstance(required, list) else []
    for name, inner in (properties if isinstance(properties, dict) else {}).items():
        if isinstance(inner, dict) and inner.get("readOnly") is not True:
            yield _parameter(document, {"name": name, "schema": inner, "required": name in wanted}, depth + 1)


def _joined(document: Document, schema: Document, seen: set[str]) -> Document:
    """Return *schema* with what `allOf` adds, or the first alternative that is not null.

    References that are *seen* add nothing: an animal is one of several kinds, each of which is all of an animal.
    """
    whole = dict(schema)
    for part in _unseen(_list(schema, "allOf"), seen):
        inner = _joined(document, _followed(document, part), seen)
        properties, below = whole.get("properties"), inner.get("properties")
        required, also = whole.get("required"), inner.get("required")
        whole = {**inner, **whole}
        if isinstance(properties, dict) and isinstance(below, dict):
            whole["properties"] = {**below, **properties}
        if isinstance(required, list) and isinstance(also, list):
            whole["required"] = [*also, *required]
    for key in ("anyOf", "oneOf"):
        for part in _unseen(_list(schema, key), seen):
            inner = _joined(document, _followed(document, part), seen)
            if inner.get("type") != "null":
                return {**inner, **{name: value for name, value in whole.items() if name not in (key, "title")}}
    return whole


def _unseen(parts: Iterable[dict[str, JsonValue]], seen: set[str]) -> Iterator[dict[str, JsonValue]]:
    for part in parts:
        reference = part.get("$ref")
        if reference not in seen:
            seen.update({reference} if isinstance(reference, str) else ())
            yield part


def _kind(schema: Document) -> Kind:
    given = schema.get("type")
    kind = next((one for one in given if one != "null"), None) if isinstance(given, list) else given
    for known in ("string", "integer", "number", "boolean", "array", "object"):
        if kind == known:
            return known
    if kind == "file":
        return "any"
    return "object" if "properties" in schema else "any"


def _followed(document: Document, one: JsonValue) -> Document:
    """Return what *one* refers to in the *document*, or itself."""
    for _ in range(_DEEPEST):
        reference = one.get("$ref") if isinstance(one, dict) else None
        if not isinstance(reference, str):
            return one if isinstance(one, dict) else {}
        place: JsonValue = dict(document)
        for part in reference.removeprefix("#/").split("/"):
            place = place.get(part.replace("~1", "/")) if isinstance(place, dict) else None
        one = place
    return {}


def _list(one: Document, key: str) -> list[dict[str, JsonValue]]:
    found = one.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _number(schema: Document, *keys: str) -> float | None:
    found = next((schema[key] for key in keys if isinstance(schema.get(key), int | float)), None)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _whole(schema: Document, key: str) -> int | None:
    found = schema.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
