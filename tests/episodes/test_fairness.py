"""Tests of groundup.episodes.attempt: what a busy machine may have decided is graded once more."""

from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.limits import Repeats
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict
from groundup.episodes.attempt import REPEATS, graded_unless_starved
from groundup.grading.context import GradingContext, processors
from groundup.inside.stopwatch import Reading, Stopwatch
from groundup.runs.plan import RunOptions
from groundup.sandbox.deadlines import note
from groundup.settings import Settings
from groundup.suites.base import Graded
from tests.episodes.theatre import Theatre, an_episode


def graded(passed: int, *, by_time: bool = False, message: str = "assert 1 == 2", name: str = "two") -> Graded:
    """Return a verdict over two tests."""
    reason = Reason(stage=Stage.TIMEOUT if by_time else Stage.TEST, message=message)
    return Graded(
        verdict=Verdict(
            status=Status.GRADED,
            score=Score(numerator=passed, denominator=2),
            reasons=(reason,) if passed < 2 else (),
            grader=GraderIdentity(name="strict", version="1"),
            by_time=by_time,
        ),
        tests=tuple(
            TestResult(id=test, outcome="passed", expected=True)
            if number < passed
            else TestResult(id=test, outcome="failed", expected=True, message=message)
            for number, test in enumerate(("one", name))
        ),
    )


LATE = graded(1, name="test_timeout", message="AttributeError: 'NoneType' object has no attribute 'result'")


class Gradings:
    """Gradings to come, each with the share of its time that others took."""

    def __init__(self, *gradings: tuple[Graded, float], stopped_at_s: float | None = None) -> None:
        self.places: list[str] = []
        self._stopped_at_s = stopped_at_s
        self._gradings = list(gradings)

    async def grade(self, place: str) -> Graded:
        """Return the next one, having had its share of a hundred seconds."""
        self.places.append(place)
        said, starved = self._gradings[len(self.places) - 1]
        readings = [Reading(0.0, 0.0, 0.0), Reading(100.0, 0.0, 100.0 * (1 - starved))]
        stopwatch = Stopwatch(lambda: readings[0])
        readings.pop(0)
        note(stopwatch, self._stopped_at_s)
        return said


async def test_a_quiet_machine_is_not_doubted() -> None:
    """Also what a limit of time decided is the submission's own there: it is graded once."""
    for said in (graded(0), graded(1, by_time=True), graded(2)):
        gradings = Gradings((said, 0.0))
        assert await graded_unless_starved(gradings.grade) == said
        assert gradings.places == ["grading"]


async def test_a_full_score_is_not_doubted() -> None:
    """However busy the machine, who passed has passed; the verdict says how busy it was."""
    gradings = Gradings((graded(2), 0.95))
    said = await graded_unless_starved(gradings.grade)
    assert said.verdict.facts["starved"] == pytest.approx(0.95)
    assert gradings.places == ["grading"]


NOTHING_RAN = graded(0).but(verdict=graded(0).verdict.but(score=Score(numerator=0, denominator=0)))


@pytest.mark.parametrize(
    "first",
    [
        (graded(1, by_time=True), 0.2),
        (graded(1), 0.9),
        (NOTHING_RAN, 0.9),
        (graded(1, message="it timed out"), 0.4),
        (graded(1, name="test_wait_for_timeout"), 0.4),
    ],
    ids=["a limit", "lost points", "no test counted", "words of time", "a test named for time"],
)
async def test_what_load_may_have_decided_is_graded_again_in_another_place(first: tuple[Graded, float]) -> None:
    """The second grading counts when nothing speaks against it."""
    gradings = Gradings(first, (graded(2), 0.9))
    assert (await graded_unless_starved(gradings.grade)).verdict.score == Score(numerator=2, denominator=2)
    assert gradings.places == ["grading", "grading-again"]


async def test_the_second_grading_is_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a submission whose runs keep one another waiting, and lose other tests each time, has no verdict."""
    theatre = Theatre(tmp_path)
    grading = theatre.grading(an_episode())
    gradings = Gradings((graded(1), 0.9), (graded(0), 0.0))
    slots: list[int] = []

    async def grade(task: Task, submission: Path, context: GradingContext) -> Graded:
        slots.append(context.slots.at_once)
        return await gradings.grade(context.scratch.name)

    monkeypatch.setattr(grading.grader, "grade", grade)
    said = await grading.grade(tmp_path, theatre.scratch)
    assert said.verdict.score == graded(0).verdict.score
    assert (said.verdict.facts["graded_twice"], said.verdict.cacheable) == (True, False)
    assert slots == [processors(), 1]
    assert gradings.places == ["grading", "grading-again"]


async def test_lost_tests_that_noise_may_fail_are_graded_again() -> None:
    """On a quiet machine, too: the second grading counts, whatever it says, and there is no third."""
    noisy = graded(1).but(repeat_alone=True)
    for second in (graded(2), graded(0), noisy):
        gradings = Gradings((noisy, 0.0), (second, 0.0))
        said = await graded_unless_starved(gradings.grade)

        assert said.verdict.score == second.verdict.score
        assert (said.verdict.facts["graded_twice"], said.verdict.cacheable) == (True, False)
        assert gradings.places == ["grading", "grading-again"]


def test_one_policy_says_how_often_anything_is_repeated() -> None:
    """An attempt runs tests so many times at most; settings and runs have its number of tries."""
    policy = Repeats()

    assert policy == REPEATS
    numbers = (policy.tries, policy.gradings, policy.rounds, policy.checks, policy.check_rounds)
    assert numbers == (3, 2, 12, 3, 4)
    assert Settings().retries == RunOptions().retries == policy.tries - 1


async def test_what_fails_twice_alike_is_graded() -> None:
    """A test that fails on a busy machine as it failed before, and not for time, is the submission's."""
    said = await graded_unless_starved(Gradings((graded(1), 0.9), (graded(1), 0.9)).grade)
    assert said.verdict.score == Score(numerator=1, denominator=2)


@pytest.mark.parametrize(("starved", "kept"), [(0.2, True), (0.4, False)])
async def test_points_lost_on_a_busy_machine_go_to_no_cache(starved: float, kept: bool) -> None:
    """It is believed at a load that slows nothing much, yet a quiet machine may find out otherwise."""
    said = await graded_unless_starved(Gradings((graded(1), starved)).grade)
    assert said.verdict.cacheable is kept
    assert (await graded_unless_starved(Gradings((graded(2), starved)).grade)).verdict.cacheable


async def test_what_time_cannot_give_is_graded_once_and_kept() -> None:
    """Who waits longer has no more packages; a limit of time still counts."""
    for starved in (0.4, 0.9):
        gradings = Gradings((graded(0).but(is_certain=True), starved))
        said = await graded_unless_starved(gradings.grade)
        assert (gradings.places, said.verdict.cacheable) == (["grading"], True)
    late = Gradings((graded(0, by_time=True).but(is_certain=True), 0.4), (graded(2), 0.0))
    assert (await graded_unless_starved(late.grade)).verdict.score == graded(2).verdict.score


async def test_a_test_named_for_time_that_fails_alike_on_a_busy_machine_is_graded() -> None:
    """Half as long again is no reason to believe no one: two gradings that agree are believed."""
    late = graded(1, name="test_wait_for_timeout")
    said = await graded_unless_starved(Gradings((late, 0.5), (late, 0.5)).grade)
    assert said.verdict.score == Score(numerator=1, denominator=2)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("missing", ""),
        ("failed", "NotImplementedError"),
        ("error", "ModuleNotFoundError: No module named 'timeouts'"),
        ("failed", "AttributeError: module 'calc' has no attribute 'Deadline'"),
        ("failed", "TypeError: wait() got an unexpected keyword argument 'timeout'"),
        ("failed", "TypeError: 'NoneType' object is not callable"),
    ],
)
async def test_what_lacks_the_code_was_not_late(outcome: str, message: str) -> None:
    """A test that is named for time, but never ran or found nothing to call, is lost on every machine."""
    name = "tests/test_it.py::test_wait_for_timeout"
    reason = f"1 of 2 expected tests did not pass, first {name}: {message}"
    lost = graded(1, name=name, message=message)
    tests = (lost.tests[0], lost.tests[1].but(outcome=outcome))
    verdict = lost.verdict.but(reasons=(Reason(stage=Stage.TEST, message=reason),))
    lost = lost.but(tests=tests, verdict=verdict)

    said = await graded_unless_starved(Gradings((lost, 0.9), (lost, 0.9)).grade)
    assert said.verdict.score == Score(numerator=1, denominator=2)


async def test_what_hangs_twice_is_graded() -> None:
    """Our limits leave starvation out, so who passes them twice hangs; the verdict says that time decided."""
    hung = graded(1, by_time=True, message="the tests were stopped after 60 s")
    said = await graded_unless_starved(Gradings((hung, 0.9), (hung, 0.9)).grade)
    assert (said.verdict.by_time, said.verdict.score) == (True, Score(numerator=1, denominator=2))


TIMED_OUT = graded(1, message="ReadTimeout: timed out")
UNNAMED = TIMED_OUT.but(tests=())
"""As a grader that counts what a program prints, and knows no tests."""


@pytest.mark.parametrize("lost", [TIMED_OUT, graded(1, name="test_timeout"), LATE])
async def test_two_gradings_that_agree_test_by_test_are_a_verdict(lost: Graded) -> None:
    """Whatever the load, and though what failed speaks of time: a library that loses it stably gets its score."""
    said = await graded_unless_starved(Gradings((lost, 0.9), (lost, 0.9)).grade)
    assert said.verdict.score == Score(numerator=1, denominator=2)
    assert (said.verdict.facts["graded_twice"], said.verdict.cacheable) == (True, False)


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (graded(0), graded(1)),
        (UNNAMED, UNNAMED),
        (graded(1, by_time=True), graded(0)),
        (UNNAMED.but(verdict=UNNAMED.verdict.but(by_time=True)), UNNAMED),
    ],
    ids=["two stories", "time, and no test named", "once a limit", "once a limit, and no test named"],
)
async def test_what_load_decides_twice_is_no_one_s_zero(first: Graded, again: Graded) -> None:
    """Two stories, or two of time that name no test, on a starved machine are a failure of infrastructure."""
    with pytest.raises(InfrastructureError, match="too busy to tell") as told:
        await graded_unless_starved(Gradings((first, 0.9), (again, 0.9)).grade)
    reasons = [one.message for graded in (first, again) for one in graded.verdict.reasons]
    assert all(reason in str(told.value) for reason in reasons), "the load hides no other cause"


@pytest.mark.parametrize(("stopped_at_s", "fair"), [(4.0, False), (2.0, True), (None, True)])
async def test_who_did_not_get_the_time_of_a_limit_is_not_judged_by_it(
    stopped_at_s: float | None, fair: bool
) -> None:
    """After twenty times a limit waiting ends, whatever the guest had of it: that is no one's zero."""
    late = graded(0, by_time=True)
    gradings = Gradings((late, 0.97), (late, 0.97), stopped_at_s=stopped_at_s)
    if fair:
        assert (await graded_unless_starved(gradings.grade)).verdict.score == Score(numerator=0, denominator=2)
    else:
        with pytest.raises(InfrastructureError, match="before it had the time of its limits"):
            await graded_unless_starved(gradings.grade)


MORE = graded(1).but(
    tests=(*graded(1).tests, TestResult(id="three", outcome="failed", expected=False, message="timeout"))
)
"""With a test that nobody expects."""


@pytest.mark.parametrize(
    ("said", "starved", "again"),
    [
        (graded(1, by_time=True), 0.1, True),
        (graded(1, by_time=True), 0.099, False),
        (graded(1), 0.667, True),
        (graded(1), 0.666, False),
        (graded(1, message="it timed out"), 0.334, True),
        (graded(1, message="it timed out"), 0.333, False),
        (UNNAMED, 0.334, True),
        (graded(2, message="it timed out"), 0.9, False),
        (graded(2), 0.1, False),
        (MORE, 0.5, False),
    ],
)
async def test_from_which_load_on_a_grading_is_doubted(said: Graded, starved: float, again: bool) -> None:
    """A tenth where a limit decided, a third where words speak of time, else two thirds; never a full score."""
    gradings = Gradings((said, starved), (said, 0.0))
    result = await graded_unless_starved(gradings.grade)
    assert (len(gradings.places) == 2) is again
    assert ("graded_twice" in result.verdict.facts) is again
    if not again:
        assert result.verdict.facts.get("starved") == (starved if starved >= 0.1 else None)


async def test_the_same_score_by_other_tests_is_another_story() -> None:
    """Which of the expected tests were lost is compared, and what was not expected is not."""
    first, again = graded(1), graded(1)
    swapped = again.but(tests=tuple(reversed([test.but(outcome=other.outcome) for test, other in zip(
        again.tests, reversed(again.tests), strict=True)])))  # fmt: skip
    with pytest.raises(InfrastructureError) as told:
        await graded_unless_starved(Gradings((first, 0.9), (swapped, 0.9)).grade)
    assert str(told.value) == (
        "the machine was too busy to tell: 1 of 2 (assert 1 == 2), then 1 of 2 (assert 1 == 2); "
        "resume the run when it is quieter, or with fewer `--jobs`"
    )
    more = TestResult(id="three", outcome="failed", expected=False, message="timeout")
    said = await graded_unless_starved(Gradings((first, 0.9), (again.but(tests=(*again.tests, more)), 0.9)).grade)
    assert said.verdict.score == Score(numerator=1, denominator=2)


async def test_a_failure_of_infrastructure_is_named_by_its_status() -> None:
    """It has no score; of a long reason the beginning is quoted."""
    lost = graded(1, message="x" * 300).but(tests=())
    failed = Graded(
        verdict=Verdict(
            status=Status.INFRASTRUCTURE,
            score=None,
            grader=GraderIdentity(name="strict", version="1"),
            by_time=True,
        )
    )
    with pytest.raises(InfrastructureError) as told:
        await graded_unless_starved(Gradings((failed, 0.97), stopped_at_s=4.0).grade)
    assert str(told.value).startswith("the machine was too busy to tell: infrastructure, and what ran was stopped")
    with pytest.raises(InfrastructureError) as told:
        await graded_unless_starved(Gradings((graded(0), 0.9), (lost, 0.9)).grade)
    assert f"then 1 of 2 ({'x' * 200});" in str(told.value)
