"""How many processes of tests one attempt starts: the bound that the policy of repeating states."""

from dataclasses import replace
from pathlib import Path

import pytest

from groundup.domain.limits import Repeats
from groundup.episodes.backends import Backends
from groundup.suites.nl2repobench.strict import NL2RepoStrictGrader
from groundup_integrity.freshening import FreshInputs, FreshLookups
from tests.episodes.theatre import Theatre, an_episode
from tests.grading.library.laboratory import HostBuilder
from tests.groundup_integrity.scripted import HIDDEN, Asked, ScriptedLibrary, Story
from tests.suites.nl2repobench.trials import RECIPE, TASK

POLICY = Repeats()
FILES = POLICY.rounds


class Stubborn:
    """Ends the process wherever that leads to one more; tells its checks apart by their order."""

    def __init__(self) -> None:
        self.checks = 0
        self._last: tuple[int, int] | None = None

    def __call__(self, asked: Asked) -> str:
        """End the process until the last round; pass then, but contradict that in the first two checks."""
        if asked.whole:
            self.checks = 0
            return "ends" if asked.left_out < POLICY.rounds - 1 else "passed"
        if asked.left_out == 0 and self._last != (asked.run, 0):
            self.checks += 1
        self._last = asked.run, asked.left_out
        if asked.left_out < POLICY.check_rounds - 1:
            return "ends"
        return "failed" if self.checks < POLICY.checks else "passed"


async def _processes(story: Story, folder: Path, *, timed: bool = False) -> tuple[int, bool]:
    """Return how many processes of tests one try at an attempt starts, and whether it was graded twice.

    *timed*: whether the recipe calls all tests so.
    """
    library = ScriptedLibrary(folder / "library", story, tests=4 * FILES, files=FILES)
    names = tuple(test.id for test in library.expected)
    tests = HIDDEN.but(timed=names if timed else ())
    recipe = RECIPE.but(expected=library.expected, tests=tests)
    fresh = FreshInputs(task="calc", seed="seed", runs=1, sources={}, edits={}, tests=names)
    theatre = Theatre(folder)
    grading = replace(
        theatre.grading(an_episode()),
        task=TASK,
        grader=NL2RepoStrictGrader({"calc": recipe}, FreshLookups(lambda task: fresh)),
        backends=Backends(library.provider, HostBuilder(library.folder)),
    )
    graded = await grading.grade(library.submission, theatre.scratch)
    return len(library.runs), bool(graded.verdict.facts.get("graded_twice"))


async def test_the_worst_submission_starts_no_more_processes_than_the_policy_says(tmp_path: Path) -> None:
    """Both gradings have all rounds, all checks with all of theirs, and a run with fresh inputs."""
    number, twice = await _processes(Stubborn(), tmp_path, timed=True)

    assert twice
    assert number == POLICY.gradings * (POLICY.rounds + (POLICY.checks + 1) * POLICY.check_rounds)


@pytest.mark.parametrize("in_checks_only", [False, True])
async def test_a_submission_whose_every_test_ends_the_process_is_given_up(
    tmp_path: Path, *, in_checks_only: bool
) -> None:
    """In the run that counts that is worth nothing and there is nothing to check; a check is tried so often.

    A draw of which many true forms fail is asked for once more, and two runs with true forms only tell who ends
    checks; fresh inputs have one.
    """

    def ends(asked: Asked) -> str:
        return "passed" if in_checks_only and asked.whole else "ends"

    number, twice = await _processes(ends, tmp_path)

    assert not twice
    assert number <= (1 + (POLICY.checks + 3) * POLICY.check_rounds if in_checks_only else POLICY.rounds)
