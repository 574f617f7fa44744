"""Hidden tests of a service, written from what it answered: one file for pytest, which people can read.

The specification of a service, extracted: what its authors tell, its operations, and one exchange of each.

It is marked as extracted. It states what hidden tests ask for: paths, fields, statuses, and the values of the
exchanges that it shows. Tests that send other values expect only what stands here, or follows from the request.

Scenarios of what works, and what a service answers to them in fresh starts: what is the same each time.

The last start is asked in the reverse order, so that what hangs on earlier scenarios counts as changing. A value
that names the day or the moment changes by itself.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from groundup.curation.services.exploring import Asking, ServiceAnswer, Working, asked
from groundup.curation.services.operations import Operation, Parameter
from groundup.curation.services.scenarios import HEADERS, Scenario, ServiceCall, ServiceRequest, absent, wrong
from groundup.domain.records import Record
from groundup.suites.sets import canary_line

STARTS = 3
_BROKEN = 2
_OMITTED = 3
_QUERIES = 2
_DAY_S = 86400.0


def planned(working: Mapping[str, Working]) -> tuple[Scenario, ...]:
    """Return the scenarios of all operations that work, those of one behind each other."""
    found: dict[str, Scenario] = {}
    for one in working.values():
        for scenario in _of_operation(one, working):
            found.setdefault(scenario.name, scenario)
    return tuple(found.values())


def _of_operation(one: Working, working: Mapping[str, Working]) -> Iterator[Scenario]:
    call, operation = one.call, one.call.operation
    name = _name(operation)

    def scenario(case: str, told: str, *calls: ServiceCall, shown: bool = False) -> Scenario:
        whole = f"{name}_{case}" if case else name
        return Scenario(name=whole, told=told, calls=(*one.before, *calls), draw=whole, shown=shown)

    yield scenario("", f"{operation} answers", call, shown=True)
    if operation.body or operation.in_query or one.before or operation.in_path:
        yield scenario("otherwise", f"{operation} answers to other values", call)
    if operation.body and call.fields == "all" and any(field.required for field in operation.body):
        yield scenario(
            "with_required_fields", f"{operation} with required fields only", call.but(fields="required")
        )
    for field in (operation.body or ())[:_OMITTED]:
        told = f"{operation} without `{field.name}`"
        yield scenario(f"without_{field.name}", told, call, call.but(omitted=field.name))
    for field in [field for field in operation.body or () if wrong(field) is not None][:_BROKEN]:
        told = f"{operation} with a `{field.name}` of another kind"
        yield scenario(f"with_wrong_{field.name}", told, call, call.but(broken=field.name))
    for field in operation.in_query[:_QUERIES]:
        told = f"{operation} with `{field.name}` in the query"
        yield scenario(f"with_{field.name}", told, call, call.but(with_query=field.name))
    for case, told, place in _other_places(operation):
        last = operation.in_path[-1].name
        yield scenario(case, f"{operation} {told}", call, call.but(places={**call.places, last: place}))
    if call.login is not None:
        yield scenario("without_login", f"{operation} by nobody", call, call.but(login=None))
    if operation.method == "POST" and operation.body:
        yield scenario("twice", f"{operation} with the same again", call, call)
    if operation.method in ("PUT", "PATCH", "DELETE"):
        shown = next((other for other in working.values() if _shows(other.call.operation, operation)), None)
        if shown is not None:
            after = shown.call.but(places=call.places, login=call.login)
            yield scenario("and_look", f"{operation}, and what is there then", call, after)


def _other_places(operation: Operation) -> Iterator[tuple[str, str, str]]:
    """Yield what else may stand for the last parameter of a path: case, words for it, and the place."""
    if operation.in_path:
        last = operation.in_path[-1]
        yield "of_nothing", "where there is nothing", absent(operation, last.name)
        if last.kind == "integer":
            yield "with_wrong_path", f"with a word for `{last.name}`", "=zq-no-number"


def _shows(other: Operation, changed: Operation) -> bool:
    return other.method == "GET" and other.shape[1] == changed.shape[1]


def _name(operation: Operation) -> str:
    words = re.sub(r"\W+", "_", operation.path.replace("{", "by_")).strip("_")
    return f"{operation.method.lower()}_{words or 'root'}"


class Recorded(Record):
    """A scenario with its answers: step by step, one of each start."""

    scenario: Scenario
    answers: tuple[tuple[ServiceAnswer, ...], ...]

    @property
    def test(self) -> str:
        """The name of its test."""
        return f"test_{self.scenario.name}"

    def asks_for(self, concerned: Callable[[str, str], bool]) -> bool:
        """Whether one of its calls has a method and path that are *concerned*."""
        return any(concerned(call.operation.method, call.operation.path) for call in self.scenario.calls)

    @property
    def statuses(self) -> tuple[int, ...]:
        """Of its steps."""
        return tuple(answers[0].status for answers in self.answers)


async def play(asking: Asking, scenarios: Sequence[Scenario]) -> dict[str, tuple[ServiceAnswer, ...]]:
    """Return what the service answers to *scenarios*, by their names; in part where it fell silent."""
    found = {}
    for scenario in scenarios:
        variables: dict[str, str] = {}
        answers: list[ServiceAnswer] = []
        for step in scenario.steps:
            answer = await asked(asking, step, variables)
            if answer is None:
                break
            answers.append(answer)
        found[scenario.name] = tuple(answers)
    return found


def kept(
    scenarios: Sequence[Scenario], starts: Sequence[Mapping[str, tuple[ServiceAnswer, ...]]]
) -> tuple[Recorded, ...]:
    """Return the scenarios of which a test can be made: same statuses in all *starts*, none of a breakdown.

    A scenario of an error must show it beside a success, which no service that answers all alike can.
    """
    found: list[Recorded] = []
    for one in scenarios:
        count = len(one.calls)
        told = [start.get(one.name, ()) for start in starts]
        if any(len(answers) != count for answers in told):
            continue
        by_step = tuple(tuple(answers[at] for answers in told) for at in range(count))
        statuses = [{answer.status for answer in step} for step in by_step]
        if any(len(step) > 1 or max(step) >= 500 for step in statuses):
            continue
        recorded = Recorded(scenario=one, answers=by_step)
        if recorded.statuses[0] < 400 and _adds(recorded, found):
            found.append(recorded)
    return tuple(found)


def _adds(one: Recorded, before: Sequence[Recorded]) -> bool:
    """Whether a scenario shows what none before does: an error, or a success of other steps."""
    is_variant = one.scenario.calls[-1] != one.scenario.calls[-2] if len(one.scenario.calls) > 1 else True
    if one.scenario.name.endswith("_twice"):
        return one.statuses[-1] >= 400
    if (
        "_without_" in one.scenario.name
        or "_with_wrong_" in one.scenario.name
        or "_of_nothing" in one.scenario.name
    ):
        return one.statuses[-1] >= 400
    return is_variant and bool(one.answers)


def is_of_now(value: JsonValue) -> bool:
    """Whether *value* names the day or the moment at which it was made."""
    now = datetime.now(UTC)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return any(abs(value / unit - now.timestamp()) < 400 * _DAY_S for unit in (1, 1000, 1_000_000))
    days = [now + timedelta(days=day) for day in (-1, 0, 1)]
    forms = ("%Y-%m-%d", "%d %b %Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y")
    return isinstance(value, str) and any(day.strftime(form) in value for day in days for form in forms)


VARIABLE = "SERVICE_BASE_URL"
FILE = "test_service.py"
_HEAD = '''"""Hidden tests of {name}, made from what the original answers; each stands on its own."""

import os

import requests

URL = os.environ.get("{variable}", "http://localhost:{port}")


def ask(method, path, **more):
    return requests.request(method, URL + path, timeout=20, allow_redirects=False, **more)
'''
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
    lines = [f"def test_{one.scenario.name}():", f'    """{one.scenario.told.replace(chr(34), chr(39))}."""']
    for number, (step, answers) in enumerate(zip(one.scenario.steps, one.answers, strict=True)):
        name = "answer" if len(one.answers) == 1 else f"answer{number + 1}"
        lines.append(f"    {name} = ask({_arguments(step)})")
        lines.append(f"    assert {name}.status_code == {answers[0].status}")
        lines += [f"    {line}" for line in _checks(name, answers, one, stated)]
        for variable, path in step.keeps.items():
            lines.append(f"    {variable} = {name}.json(){_subscripts(path)}")
    return "\n".join(lines) + "\n"


def _arguments(step: ServiceRequest) -> str:
    path = step.path.replace("{", "{{").replace("}", "}}") if "{" not in step.path else step.path
    parts = [repr(step.method), f"{'f' * ('{' in path)}{path!r}"]
    if step.query:
        parts.append(f"params={dict(step.query)!r}")
    if step.sends != "nothing":
        parts.append(f"{'json' if step.sends == 'json' else 'data'}={step.body!r}")
    if step.headers:
        inner = ", ".join(f"{key!r}: {'f' * ('{' in text)}{text!r}" for key, text in step.headers.items())
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


MARK = "extracted"
_LONGEST_TEXT = 3000
_LONGEST_BODY = 1500
_NOISE = re.compile(r"!\[|^\s*<|^\s*\[!\[|badge|^\s*```|^\s*\||^\s*[-*=]{3,}\s*$")


def extracted(
    name: str, canary: str, port: int, readme: str, operations: Sequence[Operation], recorded: Sequence[Recorded]
) -> str:
    """Return the text of README.md."""
    parts = [
        f"{canary_line(canary)}\n# {name}\n",
        f"This specification was {MARK} from the original's documents, its routes and what it answers; it tells\n"
        "behaviour only as far as those do.\n",
        "## Purpose\n",
        prose(readme) or f"A web service, {name}.\n",
        "## Running\n",
        f"The service listens on port {port} of all addresses, and speaks HTTP. It starts with no data but what\n"
        "is shown below. `start.sh` starts it.\n",
        "## Endpoints\n",
        *(_section(one, recorded) for one in operations),
    ]
    return "\n".join(parts)


def prose(readme: str) -> str:
    """Return what the original's README tells, without pictures, tables and commands."""
    kept: list[str] = []
    in_code = False
    for line in readme.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
            continue
        if in_code or _NOISE.search(line):
            continue
        kept.append(f"**{line.strip('# ')}**" if line.startswith("#") else line.rstrip())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return (
        f"{text[:_LONGEST_TEXT].rpartition(chr(10))[0] if len(text) > _LONGEST_TEXT else text}\n" if text else ""
    )


def _section(operation: Operation, recorded: Sequence[Recorded]) -> str:
    mine = [one for one in recorded if one.scenario.calls[-1].operation == operation]
    lines = [f"### {operation}\n"]
    if operation.told:
        lines.append(operation.told.strip() + "\n")
    lines += list(_parameters(operation))
    shown = next((one for one in mine if one.scenario.shown), None)
    if shown is not None and (len(shown.scenario.calls) > 1 or shown.scenario.calls[-1].login is not None):
        lines.append(f"{_told_before(shown.scenario.calls)}\n")
    lines += list(_statuses(operation, mine))
    if shown is not None:
        lines.append(_exchange(shown.scenario.steps[-1], shown.answers[-1][0]))
    return "\n".join(lines)


def _parameters(operation: Operation) -> Iterator[str]:
    places = (("path", operation.in_path), ("query", operation.in_query), (operation.sends, operation.body or ()))
    rows = [row for place, given in places for one in given for row in _rows(place, one, "")]
    if rows:
        yield "| parameter | in | type | required | meaning |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _rows(place: str, one: Parameter, above: str) -> Iterator[str]:
    kind = f"array of {one.items.kind}" if one.items is not None else one.kind
    bounds = (
        ("one of {}", ", ".join(json.dumps(choice) for choice in one.choices)),
        ("format {}", one.format),
        ("at least {:g}", one.minimum),
        ("at most {} characters", one.longest),
        ("at least {} characters", one.shortest),
    )
    notes = [one.told.replace("\n", " ").replace("|", "/")]
    notes += [words.format(bound) for words, bound in bounds if bound not in (None, "")]
    told = "; ".join(note for note in notes if note) or "-"
    yield f"| `{above}{one.name}` | {place} | {kind} | {'yes' if one.required else 'no'} | {told} |"
    for inner in one.fields:
        yield from _rows(place, inner, f"{above}{one.name}.")


def _told_before(calls: Sequence[ServiceCall]) -> str:
    """Say which calls come before, what is taken from their answers, and who asks."""
    parts = []
    for call in calls[:-1]:
        taken = [f"`{'.'.join(map(str, path))}` as {name}" for name, path in call.keeps.items()]
        parts.append(
            f"`{call.operation}`" + (f" (from whose answer {' and '.join(taken)} is taken)" if taken else "")
        )
    last = calls[-1]
    login = ""
    if last.login == "basic":
        login = "with HTTP Basic authentication"
        if last.account is not None:
            login += f" as `{last.account[0]}` with the password `{last.account[1]}`, who is known from the start"
    elif last.login is not None:
        login = f"with `Authorization: {HEADERS[last.login].replace('{token}', 'TOKEN')}`"
    before = f"after {', then '.join(parts)}" if parts else ""
    return f"It is asked {', and it is asked '.join(part for part in (before, login) if part)}."


def _statuses(operation: Operation, mine: Sequence[Recorded]) -> Iterator[str]:
    """Yield the statuses that are known: as answered, and as the authors tell."""
    yield "Answers:\n"
    seen: set[tuple[str, int]] = set()
    for one in mine:
        told, status = one.scenario.told.removeprefix(str(operation)).strip(" ,"), one.statuses[-1]
        if (told, status) in seen:
            continue
        seen.add((told, status))
        same = {answer.text for answer in one.answers[-1]}
        body = same.pop() if status >= 400 and len(same) == 1 else ""
        shown = f": `{' '.join(body.split())[:_LONGEST_BODY]}`" if body and "<" not in body else ""
        yield f"- {told or 'answers'}: {status}{shown}"
    told_statuses = [f"{status} {told}".strip() for status, told in operation.answers.items()]
    if told_statuses:
        yield f"- its authors tell: {'; '.join(told_statuses)}"
    yield ""


def _exchange(step: ServiceRequest, answer: ServiceAnswer) -> str:
    target = step.target({}) if "{" not in step.path else step.path
    sent = f"\n\n{_shown_json(step.body)}" if step.sends != "nothing" else ""
    text = (
        _shown_json(answer.read) if answer.read is not None else answer.text if "html" not in answer.kind else ""
    )
    answered = f"\n\n{text[:_LONGEST_BODY]}" if text else ""
    kind = f" {answer.kind}" if answer.kind else ""
    return (
        f"Example:\n\n```http\n{step.method} {target} HTTP/1.1{sent}\n```\n\n"
        f"```http\nHTTP/1.1 {answer.status}{kind}{answered}\n```\n"
    )


def _shown_json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)
