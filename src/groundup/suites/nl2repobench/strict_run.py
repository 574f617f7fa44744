"""A strict run: the passes over a library, what they say together, and whether they run a second time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from groundup.domain.verdicts import Reason, Stage, Status
from groundup.environments.requests import PythonEnvironment
from groundup.grading.bench import Bench
from groundup.grading.library.composition import SHADOWS, Dropped
from groundup.grading.library.confirmation import TwinOutcome, confirmed, logs_of_passes
from groundup.grading.library.decision import FACT, Decision, as_fact, decide, lost_tests, reason, signs_of
from groundup.grading.library.equality import excused, fails_when_all_fail
from groundup.grading.library.execution import Execution
from groundup.grading.library.floor import earned
from groundup.grading.library.hidden import LibraryUnderTest, NumberedTest
from groundup.grading.library.passes import Passes, run_passes, without_lies_of_copies
from groundup.grading.library.trace import Trace, TraceOutcome, traced
from groundup.grading.library.twin import HiddenSuite
from groundup.suites.nl2repobench.recipe import Recipe


@dataclass(frozen=True)
class Judged:
    """A run of the passes, and what each kind of pass says of it."""

    passes: Passes
    twin: TwinOutcome
    trace: TraceOutcome
    repeated: int = 0
    """Timed tests that failed at first, so that all ran again."""
    won: int = 0
    """Of those, tests that count now."""
    not_earned: int = 0
    """Tests that passed as they do for a stub."""

    @property
    def decision(self) -> Decision:
        """What counts in the end."""
        return self.trace.decision

    @property
    def execution(self) -> Execution:
        """The run that says how the submission went."""
        return self.passes.true.last

    @property
    def lost(self) -> frozenset[NumberedTest]:
        """Expected tests that do not count."""
        return lost_tests(self.decision)

    def logs(self) -> dict[str, bytes]:
        """Return what a person needs to look at the runs again."""
        return logs_of_passes(self.passes, self.twin)

    @property
    def is_whole(self) -> bool:
        """Whether the run came to its end, so that each test was judged by itself."""
        return self.decision.passed == self.decision.expected - len(self.lost)


async def judge(
    library: LibraryUnderTest, recipe: Recipe, bench: Bench, *, suite: HiddenSuite, trace: Trace | None
) -> Judged:
    """Run *library*'s hidden tests and say what they are worth. Raises as `run_passes` does."""

    async def judged_on(bench: Bench) -> Judged:
        twin = recipe.twin
        passes = await run_passes(library, bench, suite=suite, record=twin, trace=trace)
        outcome = confirmed(_decided(recipe, passes), passes, twin)
        is_fault = outcome.may_be_a_fault and await fails_when_all_fail(outcome, library, bench, suite)
        if is_fault and twin is not None:
            passes = without_lies_of_copies(passes)
            hidden_share = await asyncio.to_thread(suite.hidden_share, passes.seed)
            outcome = excused(confirmed(_decided(recipe, passes), passes, twin), passes, twin, hidden_share)
        return Judged(passes, outcome, traced(outcome.decision, passes.trace, trace, passes.seed))

    return _earned(await _again_if_timed(judged_on, recipe, bench), recipe)


async def _again_if_timed(judged_on: Callable[[Bench], Awaitable[Judged]], recipe: Recipe, bench: Bench) -> Judged:
    """Return what *judged_on* says; asked twice, the second time undisturbed, where only timed tests were lost.

    The second run is a whole one of the same kind: what knows that it is in it meets all that the first one met.
    It counts when it loses nothing that the first did not lose, and when it is tampered with.
    """
    first = await judged_on(bench)
    lost = first.lost
    is_clean = first.decision.status is Status.GRADED and not (first.twin.forged or first.twin.lucky)
    timed = {*recipe.tests.timed}
    if not (lost and is_clean and first.is_whole and all(test.without_parameters in timed for test in lost)):
        return first
    async with bench.turns.alone() as turn:
        again = await judged_on(replace(bench, turns=turn))
    if again.decision.status is Status.TAMPERED:
        return replace(again, repeated=len(lost))
    is_better = again.is_whole and again.lost < lost
    return replace(again if is_better else first, repeated=len(lost), won=is_better * len(lost - again.lost))


def _earned(judged: Judged, recipe: Recipe) -> Judged:
    """Return *judged* with no more of what a stub passes, too, than of other tests."""
    decision = earned(judged.decision, recipe.floor)
    trace = judged.trace.model_copy(update={"decision": decision})
    return replace(judged, trace=trace, not_earned=judged.decision.passed - decision.passed)


def _decided(recipe: Recipe, passes: Passes) -> Decision:
    last = passes.true.last
    return decide(recipe.expected, recipe.tests, last.canaries, last.report, last.result, passes.true.ended)


def facts_of(
    judged: Judged, recipe: Recipe, environment: PythonEnvironment, declared: int | None
) -> dict[str, str | int | float | bool | None]:
    """Return what a verdict tells beside its score."""
    decision, execution, outcome, trace = judged.decision, judged.execution, judged.twin, judged.trace
    facts: dict[str, str | int | float | bool | None] = {
        "expected": decision.expected,
        "declared": declared,
        "passed": decision.passed,
        "extra_passed": decision.extra_passed,
        "collected": execution.report.collected,
        "left_out": len(execution.staged.dropped),
        "twin": outcome.applied,
        "python": environment.python_version,
    }
    if environment.python_version != recipe.environment.python_micro:
        facts["python_of_recipe"] = recipe.environment.python_micro
    if decision.passed_before_end != decision.passed:
        facts["passed_before_end"] = decision.passed_before_end
    if outcome.forged:
        facts["passed_with_false_expectations"] = len(outcome.forged)
    if outcome.unseen:
        facts["not_seen_to_fail"] = len(outcome.unseen)
    if judged.not_earned:
        facts["passed_as_for_a_stub"] = judged.not_earned
    if trace.applied:
        facts |= {"traced": trace.traced, "traced_without_expectation": trace.hidden}
    if trace.lost:
        facts["not_confirmed_by_trace"] = len(trace.lost)
    if judged.repeated:
        facts |= {"repeated": judged.repeated, "passed_when_repeated": judged.won}
    if execution.report.foreign:
        facts["foreign_lines"] = execution.report.foreign
    facts[FACT] = as_fact([*outcome.signs, *trace.signs, *signs_of(execution.report, execution.result)])
    return facts


def reasons_of(judged: Judged) -> tuple[Reason, ...]:
    """Return why the score is what it is."""
    dropped = judged.execution.staged.dropped
    return tuple(_with_left_out(why, dropped) for why in judged.decision.reasons)


def _with_left_out(why: Reason, dropped: Iterable[Dropped]) -> Reason:
    """Add to a reason for a package that was not found which modules were left out for their names."""
    shadows = [f"{one.path} was left out: it {one.why}" for one in dropped if one.why.startswith(SHADOWS)]
    if why.stage is not Stage.IMPORT or not shadows:
        return why
    return reason(Stage.IMPORT, "; ".join([why.message, *shadows[:2]]))
