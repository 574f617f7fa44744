"""All that is said of small repositories of each framework: how they start, what they need, and what they offer.

`python -m tests.groundup_factory.services.test_golden` writes golden.txt anew: read what changed.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup_factory.services.handlers import Sources
from groundup_factory.services.operations import Operation, Parameter
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


@pytest.mark.parametrize("name", REPOSITORIES)
def test_everything_that_is_said_of_a_repository(name: str, tmp_path: Path) -> None:
    """Requirements, interpreters, scripts, routes with their handlers, and operations with what they take."""
    golden = GOLDEN.read_text(encoding="utf-8").split("##### ")
    (expected,) = (part for part in golden if part.partition("\n")[0] == name)
    assert "".join(f"{line}\n" for line in told(name, tmp_path)) == f"##### {expected}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        lines = [line for name in REPOSITORIES for line in told(name, Path(folder, name))]
    GOLDEN.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
