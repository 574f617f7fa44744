"""A strict run: the run that counts, and beside it whether to believe the count."""

from collections.abc import Iterable
from dataclasses import dataclass

from groundup.domain.verdicts import Reason, Stage, TestResult
from groundup.environments.requests import PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.library.check import Check
from groundup.grading.library.composition import SHADOWS, Dropped
from groundup.grading.library.decision import (
    FACT,
    MAX_REASONS,
    Decision,
    as_fact,
    decide,
    lost_tests,
    reason,
    signs_of,
)
from groundup.grading.library.execution import Execution, Rounds, logs_of, run_to_the_end, with_extensions
from groundup.grading.library.false_forms import HiddenSuite
from groundup.grading.library.hidden import FalseRecord, LibraryUnderTest, NumberedTest
from groundup.grading.library.integrity import Integrity
from groundup.suites.nl2repobench.recipe import Recipe


@dataclass(frozen=True)
class Judged:
    """What the run that counts is worth, and whether to believe it."""

    rounds: Rounds
    decision: Decision
    integrity: Integrity

    @property
    def execution(self) -> Execution:
        """The run that says how the submission went."""
        return self.rounds.last

    def may_be_noise(self, timed: Iterable[str]) -> bool:
        """Whether tests were lost that a neighbour on the machine may fail: no others, or one that then passed."""
        lost, known = lost_tests(self.decision), {*timed}
        if any(test.without_parameters in known for test in self.integrity.flaky):
            return True
        is_whole = self.decision.passed == self.decision.expected - len(lost)
        return bool(lost) and is_whole and {test.without_parameters for test in lost} <= known

    def results(self) -> tuple[TestResult, ...]:
        """Return what each test did in the run that counts, flaky ones named."""
        flaky = {str(test) for test in self.integrity.flaky}
        return tuple(one.but(flaky=True) if one.id in flaky else one for one in self.decision.results)

    def logs(self) -> dict[str, bytes]:
        """Return what a person reads: of the run that counts, and apart from it what the check did."""
        log = self.integrity.log.encode("utf-8", "backslashreplace")
        return {**logs_of(self.execution), **({"check.txt": log} if log else {})}


async def judge(
    library: LibraryUnderTest, recipe: Recipe, context: GradingContext, *, suite: HiddenSuite, deep: bool
) -> Judged:
    """Run *library*'s hidden tests and check them; *deep*: check all that pass. Raises `SandboxError`."""
    async with context.slots.taken():
        library = await with_extensions(library, context, context.scratch)
        rounds = await run_to_the_end(library, context)
        last = rounds.last
        decision = decide(recipe.expected, recipe.tests, last.report, last.result, rounds.ended)
        integrity = Integrity()
        if decision.passed:
            check = Check(library, context, suite, recipe.twin or FalseRecord(), rounds, recipe.expected)
            integrity = await check.integrity(deep=deep)
    return Judged(rounds, decision, integrity)


def facts_of(
    judged: Judged, recipe: Recipe, environment: PythonEnvironment, declared: int | None
) -> dict[str, str | int | float | bool | None]:
    """Return what a verdict tells beside its score."""
    decision, execution, integrity = judged.decision, judged.execution, judged.integrity
    facts: dict[str, str | int | float | bool | None] = {
        "expected": decision.expected,
        "declared": declared,
        "passed": decision.passed,
        "stub_passes": len(recipe.floor),
        "extra_passed": decision.extra_passed,
        "collected": execution.report.collected,
        "left_out": len(execution.staged.dropped),
        "integrity": integrity.answer,
        "check": integrity.depth,
        "checked": integrity.checked,
        "python": environment.python_version,
    }
    if integrity.why:
        facts["integrity_why"] = integrity.why
    if integrity.flaky:
        facts["flaky"] = len(integrity.flaky)
    if environment.python_version != recipe.environment.python_micro:
        facts["python_of_recipe"] = recipe.environment.python_micro
    if decision.passed_before_end != decision.passed:
        facts["passed_before_end"] = decision.passed_before_end
    if execution.report.foreign:
        facts["foreign_lines"] = execution.report.foreign
    facts[FACT] = as_fact(signs_of(execution.report, execution.result))
    return facts


def reasons_of(judged: Judged) -> tuple[Reason, ...]:
    """Return why the score is what it is."""
    integrity, dropped = judged.integrity, judged.execution.staged.dropped
    reasons = [_with_left_out(why, dropped) for why in judged.decision.reasons]
    if integrity.answer == "tampered":
        reasons.insert(0, reason(Stage.TEST, integrity.why))
    if integrity.flaky:  # named in any case: it tells that another grading may have another score
        reasons = [*reasons[: MAX_REASONS - 1], _flaky_reason(integrity.flaky)]
    return tuple(reasons[:MAX_REASONS])


def _flaky_reason(flaky: frozenset[NumberedTest]) -> Reason:
    told = f"{len(flaky)} of these passed when they ran again, first {min(flaky)}: flaky, and lost all the same"
    return reason(Stage.TEST, told)


def _with_left_out(why: Reason, dropped: Iterable[Dropped]) -> Reason:
    """Add to a reason for a package that was not found which modules were left out for their names."""
    shadows = [f"{one.path} was left out: it {one.why}" for one in dropped if one.why.startswith(SHADOWS)]
    if why.stage is not Stage.IMPORT or not shadows:
        return why
    return reason(Stage.IMPORT, "; ".join([why.message, *shadows[:2]]))
