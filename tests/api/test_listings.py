"""Suites, tasks and environments as records and as the tables that people see."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from typing_extensions import override

from groundup.api import listings
from groundup.api.listings import RecordList, SuiteEntry, TaskEnvironment, environment, shown_as, statistics, tasks
from groundup.domain.errors import UsageError
from groundup.domain.tasks import Task
from groundup.environments.installed_tools import HERE
from groundup.environments.requests import PythonRequest
from groundup.settings import Settings
from groundup.suites.base import AtHand, ForCommands, Needs, Suite, Summary
from tests.runs.configurations import TWO
from tests.runs.toy import ToySuite

HELD = "tests.api.test_listings:create_held"
NEEDS = {
    "task-0000": Needs(
        python="3.9",
        environment=PythonRequest(
            python="3.12",
            requirements=("pytest==8.0 --hash=sha256:" + "0" * 64, "six==1.16 --hash=sha256:" + "1" * 64),
        ),
        programs=("git",),
        java=True,
        packages=True,
    ),
    "task-0001": Needs(python="3.9"),
}
NUMBERS = Summary(headline="Data", columns=("tasks",), rows=(("4",),))


class HeldSuite(ToySuite, AtHand, ForCommands):
    """Four tasks: two can be graded here, one nowhere, one not here."""

    @override
    def gradable(self) -> tuple[str, ...]:
        """Return two."""
        return ("task-0000", "task-0001")

    @override
    def blocked(self) -> Mapping[str, str]:
        """Return one."""
        return {"task-0002": "is lost for ever"}

    @override
    def beside(self) -> Sequence[str]:
        """Return a sentence."""
        return ("no docker",)

    @override
    def needs(self, task: Task) -> Needs:
        """Return what two need."""
        return NEEDS[task.id]

    @override
    def rights(self, task: Task) -> tuple[str, ...]:
        """Return whose it is."""
        return (f"{task.id} is MIT",)

    @override
    def statistics(self) -> Summary:
        """Return numbers."""
        return NUMBERS

    @override
    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return where each can be graded, one in hostile words."""
        here = ("yes", "no\x1b[1mJava", "-", "no data")
        return ("id", HERE), [(task.id, said) for task, said in zip(self.tasks(), here, strict=True)]


def create_held(settings: Settings) -> HeldSuite:
    """Return four tasks."""
    return HeldSuite(4)


def test_tasks_say_what_is_at_hand_and_how_their_oracles_did(settings: Settings) -> None:
    """In records as it is, in the table without what a terminal would obey."""
    found = tasks(HELD, settings=settings)
    assert (found.suite, found.version, found.blocked, found.beside) == (
        "toy", "1", {"task-0002": "is lost for ever"}, ("no docker",)
    )  # fmt: skip
    assert found.view.title == f"{HELD} 1: 4 tasks"
    assert found.view.columns == ("id", HERE, "last oracle")
    assert [row[1] for row in found.view.rows] == ["yes", "no\\x1b[1mJava", "-", "no data"]
    assert [row[2] for row in found.view.rows] == ["-"] * 4
    assert [(one.id, one.here, one.last_oracle) for one in found][:2] == [
        ("task-0000", "yes", None),
        ("task-0001", "no\x1b[1mJava", None),
    ]
    assert found.rows()[3] == {"id": "task-0003", HERE: "no data", "last oracle": "-"}
    assert repr(found) == f"<{HELD} 1: 4 tasks: 4 entries>"
    assert [one.here for one in tasks(TWO, settings=settings)] == [None, None]


def test_a_record_is_made_when_it_is_asked_for() -> None:
    """Once; who wants the table alone asks for none."""
    made: list[str] = []

    def records() -> Iterator[SuiteEntry]:
        for name in ("a", "b"):
            made.append(name)
            yield SuiteEntry(name=name)

    found = RecordList(records(), shown_as("", ("suite",), (("a",), ("b",))))
    assert (found.rows(), made) == ([{"suite": "a"}, {"suite": "b"}], [])
    assert repr(found) == "<RecordList: 2 entries>"
    assert [one.name for one in found] == [found[0].name, found[-1].name] == made == ["a", "b"]
    assert [one.name for one in found[1:]] == ["b"]


@pytest.mark.parametrize(
    ("task", "found"),
    [
        (
            "task-0000",
            {
                "python": "3.12",
                "packages": ("pytest==8.0", "six==1.16"),
                "programs": ("git", "javac", "java", "mvn"),
                "installs_declared": True,
                "rights": ("task-0000 is MIT",),
            },
        ),
        (
            "task-0001",
            {
                "python": "3.9",
                "packages": (),
                "programs": (),
                "installs_declared": False,
                "rights": ("task-0001 is MIT",),
            },
        ),
    ],
)
def test_what_lies_beside_a_submission(settings: Settings, task: str, found: dict[str, object]) -> None:
    """Packages without their hashes, and Java's programs where it is Java."""
    expected = TaskEnvironment.model_validate({"suite": HELD, "task": task, "grader": "strict", **found})
    assert environment(HELD, task, settings=settings) == expected


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ("task-0002", "task-0002 is lost for ever"),
        (
            "task-0003",
            "task-0003 cannot be graded with the data at hand; `groundup doctor` says what is missing",
        ),
        ("task-0009", "unknown task 'task-0009'; did you mean 'task-0003'?"),
    ],
)
def test_a_task_without_an_environment_says_why(settings: Settings, task: str, says: str) -> None:
    """One sentence each."""
    with pytest.raises(UsageError) as caught:
        environment(HELD, task, settings=settings)
    assert str(caught.value).startswith(says)


def test_data_in_numbers(settings: Settings) -> None:
    """Or none."""
    assert statistics(HELD, settings=settings) == ("toy", NUMBERS)
    with pytest.raises(UsageError) as caught:
        statistics(TWO, settings=settings)
    assert str(caught.value) == "toy has no statistics of its data; leave --statistics out"


def test_a_suite_that_cannot_be_loaded_hides_no_other(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row says why."""

    def opened(name: str, settings: Settings) -> Suite:
        if name != "dibench":
            raise UsageError(f"{name} is broken")
        return ToySuite(2, version="3")

    monkeypatch.setattr(listings, "open_suite", opened)
    found = listings.list_suites(settings=settings)
    rows = {row[0]: row[1:] for row in found.view.rows}
    assert found.view.columns == ("suite", "version", "tasks", "graders", "about")
    assert rows["dibench"] == ("3", "2", "strict, lax", "obeys its submissions")
    assert rows["repogenesis"] == ("-", "-", "-", "repogenesis is broken")
    by_name = {one.name: one for one in found}
    assert by_name["repogenesis"] == SuiteEntry(name="repogenesis", error="repogenesis is broken")
    assert by_name["dibench"] == SuiteEntry(
        name="dibench", version="3", description="obeys its submissions", tasks=2,
        graders=("strict", "lax"), default_grader="strict",
    )  # fmt: skip
