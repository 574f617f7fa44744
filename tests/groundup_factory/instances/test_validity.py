"""Whether an instance's execution tells anything: what is tried, and what is kept of that."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.ci.records import Obstacle, OriginalTests, UnsupportedJobError
from groundup.inside.stopwatch import Reading, Stopwatch
from groundup.sandbox.deadlines import note
from groundup.suites.dibench.dataset import InstanceSet, read_dataset
from groundup.suites.dibench.execution import ExecutionGrader
from groundup.suites.dibench.execution_validity import Which, known_originals, read_validity, valid_ids
from groundup_factory.instances.validity import assess, keep_validity, known_validity
from tests.suites.dibench.made import problem, write_dataset


def graded(passed: bool | None) -> Verdict:
    """Return a verdict of an execution."""
    reasons = () if passed else (Reason(stage=Stage.INSTALL, message="why"),)
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=float(bool(passed)), denominator=float(passed is not None)),
        facts={} if passed else {"failure": "missing dependency in test"},
        reasons=reasons,
        grader=GraderIdentity(name="execution", version="1"),
    )


@pytest.mark.parametrize(
    ("oracle", "nop", "standing", "tries"),
    [
        ([True, True, True], [False, False, False], "valid", 6),
        ([False], [], "invalid", 1),
        ([True], [True], "invalid", 2),
        ([True, True, False], [False, False], "invalid", 5),
        ([None], [], "not executed", 1),
    ],
)
async def test_validity_is_three_times_each(
    dataset: InstanceSet, oracle: list[bool | None], nop: list[bool | None], standing: str, tries: int
) -> None:
    """One pass of the masked repository, or one failure of the original, disproves an instance and ends it."""
    answers = {"oracle": iter(oracle), "nop": iter(nop)}

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(next(answers[which]))

    found = await assess(problem(dataset, "one_alpha"), 3, try_once)
    assert (found.standing, len(found.tries)) == (standing, tries)
    assert bool(found.why) is (standing != "valid")


async def test_originals_say_how_many_tests_must_pass(dataset: InstanceSet, tmp_path: Path) -> None:
    """The fewest of its tries, by each line; where no line is on record, in all. It decides a verdict."""

    async def counted(name: str, *counts: int | None, lines: str | None = None) -> Mapping[str, OriginalTests]:
        left = iter(counts)

        async def try_once(which: Which, number: int) -> Verdict:
            verdict = graded(which == "oracle")
            if which == "nop":
                return verdict
            return verdict.but(facts={"tests passed": next(left), "tests by line": lines})

        keep_validity(tmp_path / "v.jsonl", await assess(problem(dataset, name), len(counts), try_once))
        return known_originals(tmp_path / "v.jsonl", [problem(dataset, name)])

    one = next(each for each in dataset.problems if each.instance.language == "csharp")
    assert await counted(one.id, 12, 11, 12) == {one.id: OriginalTests(passed=11)}
    assert await counted(one.id, 12, None) == {one.id: OriginalTests()}
    lines = {"2 jest": (4, 1), "3 node --test": (7,)}
    assert await counted("one_alpha", 12, lines="2 jest: 4 1; 3 node --test: 7") == {
        "one_alpha": OriginalTests(passed=12, lines=lines)
    }
    task = Task(id=one.id, suite="dibench", instruction=None)
    graders = (
        ExecutionGrader({one.id: one}, "none", 60.0, None, least)
        for least in ({one.id: OriginalTests(passed=11)}, None)
    )
    known, unknown = (grader.identity(task) for grader in graders)
    assert known != unknown


@pytest.mark.parametrize(
    ("obstacles", "standing"),
    [
        ([("toolchain", "dotnet is not on this machine; install a .NET SDK")], "infrastructure"),
        ([("runs-on", "windows-latest"), ("toolchain", "node is not on this machine")], "infrastructure"),
        ([("sandbox", "CI jobs need this machine's programs in a sandbox: bubblewrap")], "infrastructure"),
        ([("runs-on", "windows-latest")], "not executed"),
    ],
)
async def test_what_this_machine_has_not_disproves_nothing(
    dataset: InstanceSet, obstacles: list[tuple[str, str]], standing: str
) -> None:
    """Without the toolchain an instance is pending: it is tried again where somebody installed one."""
    error = UnsupportedJobError(tuple(Obstacle(kind=kind, what=what) for kind, what in obstacles))
    reason = Reason(stage=Stage.ENVIRONMENT, message=f"not executed: {error}")

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(None).but(reasons=(reason,))

    found = await assess(problem(dataset, "one_alpha"), 3, try_once)
    assert (found.standing, len(found.tries)) == (standing, 1)


async def test_machine_faults_say_nothing_of_a_task(dataset: InstanceSet, tmp_path: Path) -> None:
    """A failure of the machine or the network is kept apart, and looked at again the next time."""

    async def try_once(which: Which, number: int) -> Verdict:
        raise InfrastructureError("no network")

    one = problem(dataset, "one_alpha")
    found = await assess(one, 3, try_once)
    keep_validity(tmp_path / "v.jsonl", found)
    assert found.standing == "infrastructure"
    assert known_validity(tmp_path / "v.jsonl", one) is None


LATE = "failing tests: FAILED tests/test_a.py::test_b - subprocess.TimeoutExpired: timed out (step 'x' failed)"
YOUNG = "dependency not found in build: 404 ms [packages until 2023-01-01: ms has releases from 2024-04-25 on]"
WRONG = "failing tests: FAILED tests/test_a.py::test_b - assert 1 == 2 (step 'pytest --timeout 9' failed)"


@pytest.mark.parametrize(
    ("subject", "kind", "idle_s", "reasons", "standing", "tries"),
    [
        ("oracle", "failing tests", 10.0, [WRONG], "invalid", 1),
        ("oracle", "failing tests", 4.6, [WRONG], "invalid", 1),
        ("oracle", "missing dependency in test", 0.0, ["why"], "invalid", 1),
        ("oracle", "failing tests", 0.0, [WRONG, WRONG], "invalid", 2),
        ("oracle", "failing tests", 0.0, [WRONG, WRONG.replace("test_b", "test_c")], "infrastructure", 2),
        ("oracle", "failing tests", 0.0, [WRONG, None], "valid", 3),
        ("oracle", "failing tests", 4.6, [LATE, LATE], "invalid", 2),
        ("oracle", "failing tests", 0.0, [LATE, LATE], "infrastructure", 2),
        ("oracle", "other", 0.0, ["died at 0x7f12", "died at 0x9a3"], "invalid", 2),
        ("oracle", "timeout", 10.0, ["why"], "not executed", 1),
        ("nop", "timeout", 10.0, ["why"], "not executed", 2),
        ("oracle", "timeout", 0.0, ["why", "why"], "not executed", 2),
        ("nop", "timeout", 0.0, ["why", "why"], "not executed", 3),
        ("oracle", "network", 10.0, ["no route"], "not executed", 1),
        ("oracle", "program that the machine has not", 10.0, ["svn: not found"], "not executed", 1),
        ("oracle", "missing system package", 10.0, ["no curl.h"], "not executed", 1),
        ("oracle", "toolchain that does not start", 10.0, ["rustc panicked"], "infrastructure", 1),
        ("nop", "toolchain that does not start", 10.0, ["no rustc"], "valid", 2),
        ("oracle", "dependency not found in build", 10.0, [YOUNG], "not executed", 1),
    ],
)
async def test_a_busy_machine_disproves_nothing(
    dataset: InstanceSet,
    tmp_path: Path,
    subject: Which,
    kind: str,
    idle_s: float,
    reasons: list[str | None],
    standing: str,
    tries: int,
) -> None:
    """What fails beside others is tried again, and what fails in the same way twice has a cause of its own.

    A test that speaks of time may fail twice for the machine. What others decided is owed, and names the cause.
    """
    answers = iter(reasons)

    async def try_once(which: Which, number: int) -> Verdict:
        if which != subject or (said := next(answers)) is None:
            return graded(which == "oracle")
        moments = iter([Reading(0.0, 0.0, 0.0), Reading(10.0, idle_s, 1.0)])
        note(Stopwatch(lambda: next(moments)))
        why = (Reason(stage=Stage.TEST, message=said),)
        return graded(passed=False).but(facts={"failure": kind}, reasons=why)

    one = problem(dataset, "one_alpha")
    found = await assess(one, 1, try_once)
    assert (found.standing, len(found.tries)) == (standing, tries)
    assert standing == "valid" or (reasons[-1] or "") in found.why
    keep_validity(tmp_path / "v.jsonl", found)
    assert (known_validity(tmp_path / "v.jsonl", one) is None) is (standing == "infrastructure")


async def test_a_job_that_was_stopped_before_it_had_its_time_is_owed(dataset: InstanceSet) -> None:
    """On a machine that kept it waiting for twenty times its limit, nobody knows how long it takes."""

    async def try_once(which: Which, number: int) -> Verdict:
        moments = iter([Reading(0.0, 0.0, 0.0), Reading(200.0, 0.0, 1.0)])
        note(Stopwatch(lambda: next(moments)), limit_s=10.0)
        return graded(passed=False).but(facts={"failure": "timeout"}, by_time=True)

    found = await assess(problem(dataset, "one_alpha"), 1, try_once)
    assert (found.standing, len(found.tries)) == ("infrastructure", 2)


async def test_results_hold_for_the_very_instance(dataset: InstanceSet, tmp_path: Path) -> None:
    """A changed repository is not valid because an earlier one was; torn and strange lines are passed over."""

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(which == "oracle")

    one, path = problem(dataset, "one_alpha"), tmp_path / "v.jsonl"
    path.write_text('{"task": "other"}\n{"torn')
    keep_validity(path, await assess(one, 1, try_once))
    assert valid_ids(path, [one]) == {"one_alpha"}
    assert set(read_validity(path)) == {"one_alpha"}
    changed = read_dataset(write_dataset(tmp_path / "changed"))
    other = problem(changed, "one_alpha")
    (other.folder() / "pyproject.toml").write_text("[project]\n")
    assert not valid_ids(path, [other])
