"""Tests that a recipe calls timed, in real sandboxes: where only they fail, all run once more, undisturbed."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from groundup.domain.errors import TaskError
from groundup.domain.verdicts import Status
from groundup.grading.library.hidden import TwinRecord
from groundup.sandbox.protocol import Sandbox, SandboxProvider, SandboxSpec
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.recipe_file import parse_recipe, recipe_text
from tests.grading.library.laboratory import EXPECTED_TESTS, LIBRARY
from tests.suites.nl2repobench.trials import RECIPE, Trial, passed

TIMED = "tests/test_calc.py::test_multiply"
# Not mixed: how often a mixed suite runs is a matter of chance.
RECIPE_WITH_TIMED = RECIPE.model_copy(
    update={"tests": RECIPE.tests.model_copy(update={"timed": (TIMED,)}), "twin": TwinRecord(runs=3)}
)
EQUAL = "type('Equal', (), {'__eq__': lambda *both: True, '__hash__': None})()"
NO_TEST_RUNS = "setattr(__import__('_pytest.python').python.Function, 'runtest', lambda self: None)"


class LoudProvider:
    """Real sandboxes. In the first *loud* ones a neighbour makes noise: their guests see `LOUD`."""

    name = "loud"

    def __init__(self, provider: SandboxProvider, loud: int) -> None:
        self._provider, self._loud = provider, loud
        self.opened: list[int] = []
        """For each sandbox, how many were open with it."""
        self._open = 0

    async def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        """Return one of the provider's sandboxes."""
        if len(self.opened) < self._loud:
            spec = spec.model_copy(update={"environment": {**spec.environment, "LOUD": "1"}})
        self._open += 1
        self.opened.append(self._open)
        return self._watched(await self._provider.open(spec))

    @asynccontextmanager
    async def _watched(self, sandbox: Sandbox) -> AsyncIterator[Sandbox]:
        async with sandbox:
            yield sandbox
        self._open -= 1


async def graded_with_noise(trial: Trial, multiply: str, *, loud: int) -> tuple[Graded, LoudProvider]:
    """Return the verdict on a library with another `multiply(a, b)`, and the sandboxes that it took."""
    provider = LoudProvider(trial.provider, loud)
    library = LIBRARY.replace("return a * b", f"import os; loud = 'LOUD' in os.environ; {multiply}")
    graded = await replace(trial, provider=cast(Any, provider), recipe=RECIPE_WITH_TIMED).grade(
        {"calc/__init__.py": library}
    )
    return graded, provider


@pytest.mark.end_to_end
async def test_a_timed_test_that_noise_failed_counts_when_it_passes_alone(trial: Trial) -> None:
    """The second run's passes have no other beside them, and the verdict says that there was one."""
    graded, provider = await graded_with_noise(trial, "return -1 if loud and a == 3 else a * b", loud=2)

    assert passed(graded) == EXPECTED_TESTS
    assert (graded.verdict.reasons, graded.verdict.cacheable) == ((), True)
    assert (graded.verdict.facts["repeated"], graded.verdict.facts["passed_when_repeated"]) == (1, 1)
    assert provider.opened[2:] == [1, 1]


@pytest.mark.end_to_end
async def test_a_timed_test_that_fails_alone_as_well_is_lost(trial: Trial) -> None:
    """There is no third time, and the verdict, which time may have decided, is not cached."""
    graded, provider = await graded_with_noise(trial, "return -1 if a == 3 else a * b", loud=2)

    assert passed(graded) == EXPECTED_TESTS - 1
    assert not graded.verdict.cacheable
    assert (graded.verdict.facts["repeated"], graded.verdict.facts["passed_when_repeated"]) == (1, 0)
    assert len(provider.opened) == 4


@pytest.mark.end_to_end
async def test_nothing_is_repeated_where_another_test_fails(trial: Trial) -> None:
    """A library that is wrong elsewhere takes no second run."""
    graded, provider = await graded_with_noise(trial, "return -1", loud=2)

    assert passed(graded) == EXPECTED_TESTS - 2
    assert "repeated" not in graded.verdict.facts
    assert len(provider.opened) == 2


@pytest.mark.end_to_end
async def test_a_test_that_is_forged_the_second_time_does_not_count(trial: Trial) -> None:
    """What passes the second time counts only if it also fails there with false expectations."""
    forging = f"return (-1 if loud else {EQUAL}) if a == 3 else a * b"
    graded, provider = await graded_with_noise(trial, forging, loud=2)

    assert passed(graded) == EXPECTED_TESTS - 1
    assert graded.verdict.facts["passed_when_repeated"] == 0
    assert len(provider.opened) == 4


@pytest.mark.end_to_end
async def test_forging_the_second_time_is_tampering(trial: Trial) -> None:
    """The first run, in which nothing was forged, excuses nothing."""
    forging = f"return (-1 if a == 3 else a * b) if loud else {NO_TEST_RUNS}"
    graded, _ = await graded_with_noise(trial, forging, loud=2)

    assert (graded.verdict.status, graded.verdict.score) == (Status.TAMPERED, None)


@pytest.mark.end_to_end
async def test_what_fails_the_second_time_only_is_not_lost(trial: Trial) -> None:
    """The second run can win points, and lose none."""
    graded, _ = await graded_with_noise(trial, "return -1 if (a == 3) == loud else a * b", loud=2)

    assert passed(graded) == EXPECTED_TESTS - 1
    assert {test.id for test in graded.tests if test.outcome != "passed"} == {TIMED}


def test_a_recipe_names_its_timed_tests() -> None:
    """They are written and read, and a name that is no expected test is refused."""
    text = recipe_text(RECIPE_WITH_TIMED)

    assert parse_recipe(text, "calc.toml").tests.timed == (TIMED,)
    with pytest.raises(TaskError, match="test_divide"):
        parse_recipe(text.replace(f'timed = ["{TIMED}', 'timed = ["tests/test_calc.py::test_divide'), "calc.toml")
