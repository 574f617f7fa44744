"""All that is said of small repositories of each framework: how they start, what they need, and what they offer.

`python -m tests.groundup_factory.services.test_golden` writes golden.txt anew: read what changed.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup_factory.services.handlers import Sources
from groundup_factory.services.operations import Operation, Parameter, read_openapi
from groundup_factory.services.routes.paths import from_alternatives, from_braces, from_regex
from groundup_factory.services.scenarios import named_kind, sample, wrong
from groundup_factory.services.starting import pythons_of, requirements_of, starts_of

HERE = Path(__file__).parent
GOLDEN = HERE / "golden.txt"
REPOSITORIES: dict[str, dict[str, str]] = json.loads((HERE / "repositories.json").read_text(encoding="utf-8"))


def told(name: str, root: Path) -> Iterator[str]:
    """Yield what is said of a repository, written to *root*."""
    for path, text in REPOSITORIES[name].items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    yield f"##### {name}"
    yield f"requirements: {requirements_of(root)}"
    yield f"interpreters: {', '.join(pythons_of(root, '3.11'))}"
    for start in starts_of(root):
        yield f"start, by {start.found}, port {start.port}, needs {', '.join(start.needs) or 'nothing'}"
        yield from (f"    {line}" for line in (start.script().splitlines() if start.commands else ()))
    sources = Sources(root)
    for route in sources.routes:
        handler = sources.handler(route)
        by = f"{handler.file}: {handler.function.name}" if handler else "nobody"
        yield f"{route.framework}: {route.method} {route.path} of {route.file}:{route.line} by {by}"
    for title, operations in (("read", sources.operations()), ("told", sources.told)):
        for one in operations:
            yield from _operation(title, one)


def _operation(title: str, one: Operation) -> Iterator[str]:
    secured = ", secured" if one.secured else ""
    yield f"{title}: {one} sends {one.sends}{secured}{f': {one.told}' if one.told else ''}"
    for place, given in (("path", one.in_path), ("query", one.in_query), ("body", one.body or ())):
        yield from (f"    {place}: {_parameter(parameter)}" for parameter in given)


def _parameter(one: Parameter) -> str:
    return json.dumps(one.model_dump(mode="json", exclude_defaults=True))


def documented() -> Iterator[str]:
    """Yield what an OpenAPI document says, with a value for each field, and one that is wrong."""
    yield "##### a document"
    for one in read_openapi(json.loads((HERE / "document.json").read_text(encoding="utf-8"))):
        yield from _operation(f"answers {json.dumps(one.answers)}", one)
        for field in (*one.in_path, *one.in_query, *(one.body or ())):
            yield f"    {field.name} is {json.dumps(sample(field, 'a'))}, or {json.dumps(wrong(field))}"


def test_everything_that_a_document_says() -> None:
    """References, what is joined, kinds, bounds and examples; values that fit, the same for the same draw."""
    golden = GOLDEN.read_text(encoding="utf-8").partition("##### a document\n")[2]
    assert "".join(f"{line}\n" for line in documented()) == f"##### a document\n{golden}"


KINDS = {
    **dict.fromkeys(("is_open", "has_more", "done", "Active", "completed", "enabled", "available"), "boolean"),
    **dict.fromkeys(("price", "totalAmount", "weight_kg", "latitude"), "number"),
    **dict.fromkeys(("user_id", "userId", "count", "Page", "stock", "rating"), "integer"),
    **dict.fromkeys(("name", "id", "counter", "paid", "isopen"), "string"),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_field_by_its_name(name: str) -> None:
    """By words that people use for one kind."""
    assert named_kind(name) == KINDS[name]


WRITTEN: list[tuple[str, list[str], str]] = [
    # a path as an expression, and with braces
    ("^/a/$", ["/a/"], "^/a/$"),
    ("/a/(?P<id>\\d+)/?", ["/a/{}"], "/a/(?P<id>\\d+)/?"),
    ("/a/(start|stop)\\Z", ["/a/start", "/a/stop"], "/a/(start|stop)\\Z"),
    ("/(a|b)/(c|d)", ["/a/c", "/a/d", "/b/c", "/b/d"], "/(a|b)/(c|d)"),
    ("/a/(?:x|y)/([^/]+)", ["/a/x/{}", "/a/y/{}"], "/a/(?:x|y)/([^/]+)"),
    ("/a\\.json", ["/a.json"], "/a\\.json"),
    ("/a/{id}/{n:[0-9]{2}}", ["/a/{id}/{n:[0-9]{2}}"], "/a/{}/{}"),
    ("/f/{rest:path}", ["/f/{rest:path}"], "/f/{*}"),
    ("/f/{+rest}", ["/f/{+rest}"], "/f/{*}"),
    ("/f/{r:.*}", ["/f/{r:.*}"], "/f/{*}"),
    ("/f/{*}", ["/f/{*}"], "/f/{*}"),
    ("/f/{?q}", ["/f/{?q}"], "/f"),
    ("/f/{id}/", ["/f/{id}/"], "/f/{}/"),
    ("/f/**", ["/f/**"], "/f/{*}"),
    ("/f/*/x", ["/f/*/x"], "/f/{*}/x"),
]


@pytest.mark.parametrize(("written", "alternatives", "braced"), WRITTEN)
def test_a_path_in_each_spelling(written: str, alternatives: list[str], braced: str) -> None:
    """As an expression, once for each word of a choice, and as frameworks with braces have it."""
    assert from_alternatives(written) == alternatives
    assert from_braces(written) == braced
    if len(alternatives) == 1:
        assert from_regex(written) == alternatives[0]


def test_choices_of_words_that_multiply_end() -> None:
    """Twenty paths of one pattern are enough."""
    assert len(from_alternatives("/(a|b|c|d|e)" * 6)) == 25
    assert len(from_alternatives(f"/({'|'.join(f'w{at}' for at in range(40))})")) == 20


@pytest.mark.parametrize("name", REPOSITORIES)
def test_everything_that_is_said_of_a_repository(name: str, tmp_path: Path) -> None:
    """Requirements, interpreters, scripts, routes with their handlers, and operations with what they take."""
    golden = GOLDEN.read_text(encoding="utf-8").split("##### ")
    (expected,) = (part for part in golden if part.partition("\n")[0] == name)
    assert "".join(f"{line}\n" for line in told(name, tmp_path)) == f"##### {expected}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        lines = [line for name in REPOSITORIES for line in told(name, Path(folder, name))]
    lines += documented()
    GOLDEN.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
