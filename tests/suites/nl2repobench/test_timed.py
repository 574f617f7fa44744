"""Tests that a recipe calls timed, in real sandboxes: where only they fail, all run once more, undisturbed."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from groundup.episodes.attempt import graded_unless_starved
from groundup.grading.library.hidden import FalseRecord
from groundup.sandbox.protocol import Command, CommandResult, Sandbox, SandboxProvider, SandboxSpec
from groundup.suites.base import Graded
from tests.grading.library.laboratory import EXPECTED_TESTS, LIBRARY
from tests.needs import need
from tests.suites.nl2repobench.trials import RECIPE, Trial, passed

TIMED = "tests/test_calc.py::test_multiply"
RECIPE_WITH_TIMED = RECIPE.but(tests=RECIPE.tests.but(timed=(TIMED,)), twin=FalseRecord(runs=3))


class LoudProvider:
    """Real sandboxes. While the run that counts goes on, a neighbour makes noise: its guest sees `LOUD`."""

    name = "loud"

    def __init__(self, provider: SandboxProvider, *, is_loud: bool) -> None:
        self._provider, self.is_loud = provider, is_loud

    async def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        """Return one of the provider's sandboxes."""
        return self._watched(await self._provider.open(spec))

    @asynccontextmanager
    async def _watched(self, opening: AbstractAsyncContextManager[Sandbox]) -> AsyncIterator[Sandbox]:
        async with opening as sandbox:
            yield cast(Sandbox, LoudSandbox(sandbox, self))


class LoudSandbox:
    """One of them: the first run that is told at once what it runs is the one that counts."""

    def __init__(self, sandbox: Sandbox, provider: LoudProvider) -> None:
        self._sandbox, self._provider = sandbox, provider

    def __getattr__(self, name: str) -> Any:
        """Do as the sandbox does."""
        return getattr(self._sandbox, name)

    async def run(self, command: Command) -> CommandResult:
        """Run *command*."""
        if self._provider.is_loud and command.stdin:
            self._provider.is_loud = False
            command = command.but(environment={**command.environment, "LOUD": "1"})
        return await self._sandbox.run(command)


async def graded_with_noise(trial: Trial, multiply: str, *, loud: int, add: str = "return a + b") -> Graded:
    """Return the verdict on a library with another `multiply(a, b)`."""
    provider = LoudProvider(trial.provider, is_loud=bool(loud))
    library = LIBRARY.replace("return a * b", f"import os; loud = 'LOUD' in os.environ; {multiply}")
    library = library.replace("return a + b", add)
    return await replace(trial, provider=cast(Any, provider), recipe=RECIPE_WITH_TIMED).grade(
        {"calc/__init__.py": library}
    )


@pytest.mark.end_to_end
async def test_a_timed_test_that_noise_failed_counts_when_it_passes_alone(trial: Trial) -> None:
    """The grading is repeated, whole; the verdict says that there were two and is not cached."""
    gradings: list[Graded] = []

    async def grade(place: str) -> Graded:
        loud = 0 if gradings else 1
        gradings.append(await graded_with_noise(trial, "return -1 if loud and a == 3 else a * b", loud=loud))
        return gradings[-1]

    said = await graded_unless_starved(grade)

    assert [passed(one) for one in gradings] == [EXPECTED_TESTS - 1, EXPECTED_TESTS]
    assert passed(said) == EXPECTED_TESTS
    assert (said.verdict.facts["graded_twice"], said.verdict.cacheable) == (True, False)


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("multiply", "again"),
    [("return -1 if a == 3 else a * b", True), ("return -1", False), ("return a * b", False)],
    ids=["a timed test", "another one, too", "none"],
)
async def test_only_lost_timed_tests_are_a_reason_to_repeat(trial: Trial, multiply: str, *, again: bool) -> None:
    """A library that is wrong elsewhere takes no second run."""
    graded = await graded_with_noise(trial, multiply, loud=0)

    assert graded.repeat_alone == again


@pytest.mark.end_to_end
@pytest.mark.parametrize("loud", [0, 1])
async def test_a_timed_test_that_passes_in_the_check_is_a_reason_too(trial: Trial, loud: int) -> None:
    """Also beside others that are lost for good: else a broken copy has another score when a neighbour is loud."""
    if loud:
        need("groundup_integrity")  # which has the check
    graded = await graded_with_noise(trial, "return -1 if loud else a * b", loud=loud, add="return a - b")

    assert 0 < passed(graded) < EXPECTED_TESTS - 1
    assert graded.repeat_alone == (loud == 1)
