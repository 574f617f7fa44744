"""Scenarios of what works, and what a service answers to them in fresh starts: what is the same each time.

The last start is asked in the reverse order, so that what hangs on earlier scenarios counts as changing. A value
that names the day or the moment changes by itself.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from groundup.domain.records import Record
from groundup_factory.services.exploring import Asking, ServiceAnswer, Working, asked
from groundup_factory.services.operations import Operation
from groundup_factory.services.scenarios import Scenario, ServiceCall, absent, wrong

STARTS = 3
_BROKEN = 2
_OMITTED = 3
_QUERIES = 2
_NEAR_S = 400 * 86400.0


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
        return f"test_{self.scenario.name}"

    def asks_for(self, concerned: Callable[[str, str], bool]) -> bool:
        return any(concerned(call.operation.method, call.operation.path) for call in self.scenario.calls)

    @property
    def statuses(self) -> tuple[int, ...]:
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
        if recorded.statuses[0] < 400 and _shows_it(recorded):
            found.append(recorded)
    return tuple(found)


def _shows_it(one: Recorded) -> bool:
    """Whether a scenario shows what it is for: an error, or what another step than the one before brings."""
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
        first, last = now.timestamp() - _NEAR_S, now.timestamp() + _NEAR_S
        return any(first * unit < value < last * unit for unit in (1, 1000, 1_000_000))
    days = [now + timedelta(days=day) for day in (-1, 0, 1)]
    forms = ("%Y-%m-%d", "%d %b %Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y")
    return isinstance(value, str) and any(day.strftime(form) in value for day in days for form in forms)
