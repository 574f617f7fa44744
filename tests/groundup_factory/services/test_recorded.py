"""What is kept of a service's answers, and the tests that are written of it."""

import ast
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from groundup_factory.services import test_files
from groundup_factory.services.exploring import ServiceAnswer, Working
from groundup_factory.services.making import winnowed
from groundup_factory.services.operations import Operation, Parameter
from groundup_factory.services.recording import Recorded, is_of_now, kept, planned
from groundup_factory.services.scenarios import Scenario, ServiceCall
from groundup_factory.services.specification import extracted, prose

NAME = Parameter(name="name", required=True)
ADD = Operation(method="POST", path="/things", body=(NAME,))
SHOW = Operation(method="GET", path="/things/{id}", in_path=(Parameter(name="id", kind="integer", required=True),))


def answer(status: int, read: object = None) -> ServiceAnswer:
    """Return an answer in JSON."""
    return ServiceAnswer(status, "application/json", json.dumps(read), read)  # type: ignore[arg-type]


MADE = ServiceCall(operation=ADD, keeps={"made_0": ("id",)})
WORKING = {
    "add": Working((), ServiceCall(operation=ADD), answer(201, {"id": 1})),
    "show": Working((MADE,), ServiceCall(operation=SHOW, places={"id": "made_0"}), answer(200, {"id": 1})),
}


def test_scenarios_stand_on_their_own() -> None:
    """Each makes what it asks for, with values of its own, and shows an error beside a success."""
    found = {one.name: one for one in planned(WORKING)}

    made, shown = found["get_things_by_id"].steps
    assert (made.method, shown.path) == ("POST", "/things/{made_0}")
    assert made.body != found["get_things_by_id_otherwise"].steps[0].body
    assert [step.path for step in found["get_things_by_id_of_nothing"].steps] == [
        "/things",
        "/things/{made_0}",
        "/things/987654",
    ]
    assert found["post_things_without_name"].steps[1].body == {}


def test_what_differs_between_starts_is_no_test() -> None:
    """Neither is what breaks down, nor an error that no success stands beside."""
    call = ServiceCall(operation=SHOW)
    names = ("steady", "other", "broken", "short", "lonely")
    scenarios = [Scenario(name=name, told=name, calls=(call,), draw=name) for name in names]
    first = {
        "steady": (answer(200),),
        "other": (answer(200),),
        "broken": (answer(500),),
        "short": (),
        "lonely": (answer(404),),
    }
    second = {**first, "other": (answer(201),)}

    assert [one.scenario.name for one in kept(scenarios, [first, first, second])] == ["steady"]


async def test_what_leans_on_another_test_is_left_out_until_the_rest_passes() -> None:
    """A test that only another one made pass fails in the next round."""
    call = ServiceCall(operation=SHOW)
    names = [f"t{number}" for number in range(6)]
    every = [
        Recorded(scenario=Scenario(name=name, told=name, calls=(call,), draw=name), answers=((answer(200),) * 3,))
        for name in names
    ]
    rounds: list[int] = []

    async def passed(some: Sequence[Recorded]) -> frozenset[str]:
        rounds.append(len(some))
        return frozenset(f"tests/test_service.py::{one.test}" for one in some[: max(len(some) - 1, 2)])

    left = await winnowed(every, passed, lambda _: None)

    assert [one.scenario.name for one in left] == ["t0", "t1"]
    assert rounds == [6, 5, 4, 3, 2]


def test_values_that_nobody_can_know_are_not_asked_for() -> None:
    """A value is expected where it was sent, or is stated; else its kind is."""
    scenario = next(one for one in planned(WORKING) if one.name == "post_things_otherwise")
    sent = scenario.steps[0].body
    assert isinstance(sent, dict)
    told = {"id": 4, "name": sent["name"], "motto": "ever on", "colour": "puce", "at": 1.5}
    one = Recorded(scenario=scenario, answers=((answer(201, told),) * 3,))

    text = test_files.test_file("things", 8000, [one], test_files.Stated("The motto is `ever on`."))

    ast.parse(text)
    assert f"assert answer.json()['name'] == {sent['name']!r}" in text
    assert "assert answer.json()['motto'] == 'ever on'" in text
    assert "assert isinstance(answer.json()['colour'], str)" in text
    assert "assert isinstance(answer.json()['id'], (int, float))" in text


@given(st.lists(st.sampled_from(["{", "}", "{token}", "{id}", "a", '"', "'", "\\", "/"])).map("".join))
def test_text_is_written_as_it_is_sent(text: str) -> None:
    """Only what an earlier answer gave is filled in; other braces, quotes and backslashes stand for themselves."""
    assert ast.literal_eval(test_files.literal(text, set())) == text
    written = test_files.literal(text, {"token"})
    assert eval(written, {"token": "v"}) == text.replace("{token}", "v")


def test_paths_with_braces_and_words_with_backslashes_are_python() -> None:
    """A hidden test of such a path can be run, and asks for that path."""
    call = ServiceCall(operation=ADD.but(path="/a}b"))
    scenario = Scenario(name="odd", told="POST /a}b says \\", calls=(call,), draw="odd")

    text = test_files.test_file(
        "things", 8000, [Recorded(scenario=scenario, answers=((answer(201),) * 3,))], test_files.Stated("")
    )

    ast.parse(text)
    assert "ask('POST', '/a}b'" in text


def test_what_changes_is_asked_for_by_its_kind() -> None:
    """Among them what names the day, although it is the same in every start."""
    today = datetime.now(UTC)
    assert is_of_now(today.isoformat())
    assert is_of_now(today.timestamp())
    assert not is_of_now("2024-01-02")
    assert not is_of_now(True)
    assert not is_of_now(10**400)
    scenario = next(iter(planned(WORKING)))
    answers = tuple(answer(201, {"id": number, "day": f"{today:%Y-%m-%d}"}) for number in range(3))

    text = test_files.test_file(
        "things", 8000, [Recorded(scenario=scenario, answers=(answers,))], test_files.Stated("")
    )

    assert "assert isinstance(answer.json()['id'], (int, float))" in text
    assert "assert isinstance(answer.json()['day'], str)" in text


def test_a_specification_states_what_tests_ask_for() -> None:
    """Endpoints, parameters, statuses, an exchange, the port, a canary; and no command of the README."""
    scenario = next(iter(planned(WORKING)))
    recorded = [Recorded(scenario=scenario, answers=((answer(201, {"id": 1}),) * 3,))]

    text = extracted(
        "things", "c0ffee", 8123, "# Things\n\n![](a.png)\n\nKeeps.\n\n```\nrun it\n```\n", [ADD], recorded
    )

    for stated in (
        "c0ffee",
        "extracted",
        "8123",
        "### POST /things",
        "| `name` | json | string | yes |",
        "201",
        "Keeps.",
    ):
        assert stated in text
    assert "run it" not in text
    assert prose("```\nonly\n```\n") == ""


def test_an_endpoint_is_specified_with_its_parameters_statuses_and_one_exchange() -> None:
    """Bounds of values, what comes before, who asks, and what its authors say beside what was answered."""
    inner = Parameter(name="tags", kind="array", items=Parameter(name="tag"), told="a | b\nc")
    body = (
        Parameter(name="size", kind="integer", minimum=2, choices=(2, 3)),
        Parameter(name="more", kind="object", fields=(inner.but(longest=9, shortest=1, format="date"),)),
    )
    add = Operation(
        method="POST", path="/things/{id}", body=body, told=" Adds. ", answers={"201": "made", "404": ""}
    )
    made = ServiceCall(operation=ADD, keeps={"made_0": ("data", 0, "id")})
    call = ServiceCall(operation=add, places={"id": "made_0"}, login="bearer")
    shown = Scenario(name="a", told="POST /things/{id}, as shown", calls=(made, call), draw="x", shown=True)
    wrong = Scenario(name="b", told="without size", calls=(call,), draw="x")
    answers = (answer(201), answer(200, {"ok": True}))
    recorded = [
        Recorded(scenario=shown, answers=tuple((one,) * 2 for one in answers)),
        Recorded(scenario=wrong, answers=((answer(422, {"error": "no size"}),) * 2,)),
        Recorded(scenario=wrong.but(name="c"), answers=((answer(422, {"error": "no size"}),) * 2,)),
    ]
    text = extracted("things", "c0ffee", 8123, "", [add], recorded)

    before, _, section = text.partition("### POST /things/{id}\n\n")
    assert "## Purpose\n\nA web service, things.\n" in before
    sent = json.dumps(shown.steps[-1].body, indent=1)
    assert section.splitlines() == [
        *("Adds.", ""),
        "| parameter | in | type | required | meaning |",
        "|---|---|---|---|---|",
        "| `size` | json | integer | no | one of 2, 3; at least 2 |",
        "| `more` | json | object | no | - |",
        "| `more.tags` | json | array of string | no | a / b c; format date; at most 9 characters; "
        "at least 1 characters |",
        "",
        "It is asked after `POST /things` (from whose answer `data.0.id` as made_0 is taken), and it is asked "
        "with `Authorization: Bearer TOKEN`.",
        "",
        *("Answers:", ""),
        "- as shown: 200",
        '- without size: 422: `{"error": "no size"}`',
        "- its authors tell: 201 made; 404",
        "",
        *("Example:", "", "```http", "POST /things/{made_0} HTTP/1.1", "", *sent.splitlines(), "```", ""),
        *("```http", "HTTP/1.1 200 application/json", "", "{", ' "ok": true', "}", "```"),
    ]
