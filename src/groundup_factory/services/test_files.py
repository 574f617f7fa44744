"""Hidden tests of a service, written from what it answered: one file for pytest, which people can read."""

import re
from collections.abc import Iterator, Sequence, Set

from pydantic import JsonValue

from groundup_factory.services.exploring import ServiceAnswer
from groundup_factory.services.recording import Recorded, is_of_now
from groundup_factory.services.scenarios import ServiceRequest

VARIABLE = "SERVICE_BASE_URL"
FILE = "test_service.py"
_HEAD = '''"""Hidden tests of {name}, made from what the original answers; each stands on its own."""

import os

import requests

URL = os.environ.get("{variable}", "http://localhost:{port}")


def ask(method, path, **more):
    return requests.request(method, URL + path, timeout=20, allow_redirects=False, **more)
'''
_VARIABLE = re.compile(r"\{(\w+)\}")
_MOST_ITEMS = 12
_LONGEST = 300
_SHORT = 200


class Stated:
    """Which values a specification lets somebody know."""

    def __init__(self, specification: str) -> None:
        self._text = specification

    def knows(self, value: JsonValue, recorded: Recorded) -> bool:
        """Whether *value* stands in the specification, or in what the scenario sends."""
        if value is None or isinstance(value, bool):
            return True
        word = str(value)
        if recorded.scenario.shown:
            return True
        if word == "" or re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self._text):
            return True
        sent = "\n".join(f"{step.path} {step.query} {step.body} {step.basic}" for step in recorded.scenario.steps)
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sent) is not None


def test_file(name: str, port: int, recorded: Sequence[Recorded], stated: Stated) -> str:
    """Return the text of the hidden tests of the service *name*."""
    head = _HEAD.format(name=name, variable=VARIABLE, port=port)
    return head + "".join(f"\n\n{_test(one, stated)}" for one in recorded)


def _test(one: Recorded, stated: Stated) -> str:
    told = one.scenario.told.replace("\\", "\\\\").replace('"', "'")
    lines = [f"def test_{one.scenario.name}():", f'    """{told}."""']
    kept: set[str] = set()
    for number, (step, answers) in enumerate(zip(one.scenario.steps, one.answers, strict=True)):
        name = "answer" if len(one.answers) == 1 else f"answer{number + 1}"
        lines.append(f"    {name} = ask({_arguments(step, kept)})")
        lines.append(f"    assert {name}.status_code == {answers[0].status}")
        lines += [f"    {line}" for line in _checks(name, answers, one, stated)]
        for variable, path in step.keeps.items():
            lines.append(f"    {variable} = {name}.json(){_subscripts(path)}")
        kept.update(step.keeps)
    return "\n".join(lines) + "\n"


def literal(text: str, variables: Set[str]) -> str:
    """Return Python for *text*, in which `{name}` of one of *variables* is its value; other braces are braces."""
    parts = _VARIABLE.split(text)  # every second one is a name in braces
    if variables.isdisjoint(parts[1::2]):
        return repr(text)
    escaped = text.replace("{", "{{").replace("}", "}}")
    for name in variables:
        escaped = escaped.replace(f"{{{{{name}}}}}", f"{{{name}}}")
    return f"f{escaped!r}"


def _arguments(step: ServiceRequest, variables: Set[str]) -> str:
    parts = [repr(step.method), literal(step.path, variables)]
    if step.query:
        parts.append(f"params={dict(step.query)!r}")
    if step.sends != "nothing":
        parts.append(f"{'json' if step.sends == 'json' else 'data'}={step.body!r}")
    if step.headers:
        inner = ", ".join(f"{key!r}: {literal(text, variables)}" for key, text in step.headers.items())
        parts.append(f"headers={{{inner}}}")
    if step.basic is not None:
        parts.append(f"auth={step.basic!r}")
    return ", ".join(parts)


def _subscripts(path: Sequence[str | int]) -> str:
    return "".join(f"[{part!r}]" for part in path)


def _checks(name: str, answers: Sequence[ServiceAnswer], one: Recorded, stated: Stated) -> Iterator[str]:
    kinds = {answer.kind for answer in answers}
    if all(answer.read is not None for answer in answers):
        yield from _of_json(f"{name}.json()", [answer.read for answer in answers], one, stated)
    elif len(kinds) == 1 and (kind := kinds.pop()):
        if answers[0].text:
            yield f'assert {name}.headers["Content-Type"].startswith({kind!r})'
        texts = {answer.text.strip() for answer in answers}
        text = texts.pop() if len(texts) == 1 else ""
        if text and "html" not in kind and len(text) <= _SHORT and not is_of_now(text) and stated.knows(text, one):
            yield f"assert {name}.text.strip() == {text!r}"


def _of_json(place: str, values: Sequence[JsonValue], one: Recorded, stated: Stated) -> Iterator[str]:
    """Yield what all of *values* have in common, as assertions on the expression *place*."""
    first = values[0]
    if all(isinstance(value, dict) for value in values):
        yield from _of_object(place, values, one, stated)
    elif all(isinstance(value, list) for value in values):
        yield from _of_list(place, values, one, stated)
    elif all(value == first and type(value) is type(first) for value in values):
        if isinstance(first, str) and len(first) > _LONGEST:
            yield f"assert isinstance({place}, str)"
        elif not is_of_now(first) and stated.knows(first, one):
            yield (
                f"assert {place} is {first!r}"
                if first is None or isinstance(first, bool)
                else f"assert {place} == {first!r}"
            )
        else:
            yield from _of_kind(place, values)
    else:
        yield from _of_kind(place, values)


def _of_object(place: str, values: Sequence[JsonValue], one: Recorded, stated: Stated) -> Iterator[str]:
    objects = [value for value in values if isinstance(value, dict)]
    shared = [key for key in objects[0] if all(key in other for other in objects)]
    if not shared:
        yield f"assert isinstance({place}, dict)"
        return
    fixed = [key for key in shared if not is_of_now(key)]
    if len(fixed) > _MOST_ITEMS * 2 or not fixed:
        yield f"assert isinstance({place}, dict)"
        return
    for key in fixed:
        inner = list(_of_json(f"{place}[{key!r}]", [value[key] for value in objects], one, stated))
        yield from inner or [f"assert {key!r} in {place}"]


def _of_list(place: str, values: Sequence[JsonValue], one: Recorded, stated: Stated) -> Iterator[str]:
    lists = [value for value in values if isinstance(value, list)]
    if all(value == lists[0] for value in lists) and len(lists[0]) <= _MOST_ITEMS and one.scenario.shown:
        yield f"assert len({place}) == {len(lists[0])}"
        for at in range(len(lists[0])):
            yield from _of_json(f"{place}[{at}]", [value[at] for value in lists], one, stated)
        return
    yield f"assert isinstance({place}, list)"


def _of_kind(place: str, values: Sequence[JsonValue]) -> Iterator[str]:
    kinds = {type(value).__name__ for value in values}
    if kinds <= {"int", "float"}:
        yield f"assert isinstance({place}, (int, float))"
    elif len(kinds) == 1 and kinds <= {"str", "bool"}:
        yield f"assert isinstance({place}, {kinds.pop()})"
