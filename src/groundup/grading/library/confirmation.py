"""Comparing a decision with the false forms of its tests: which tests count, and which pass for another reason.

A test counts when its true form passes and its false form fails. What passes in both, or in its false form only,
was decided by something else.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from pydantic import Field

from groundup.domain.errors import SandboxError
from groundup.domain.records import Record
from groundup.domain.verdicts import Reason, Stage, Status
from groundup.grading.library.canary import told_of
from groundup.grading.library.decision import (
    Decision,
    lost_tests,
    passing_tests,
    reason,
    why_unfinished,
)
from groundup.grading.library.execution import Rounds, logs_of
from groundup.grading.library.hidden import NumberedTest, TwinRecord
from groundup.grading.library.leaning import SELDOM
from groundup.grading.library.passes import (
    FAILING,
    LEAST_EVIDENCE,
    PASSING,
    Passes,
    lie_of,
    passing_when_false,
    without_lies_of_copies,
)
from groundup.grading.library.twin import function_of
from groundup.sandbox.protocol import Ending

FORGED = "it passes with false expectations, too: something else than the test decided"
LUCKY = "fail as they are and pass with false expectations"
UNSEEN = "it was not seen to fail with false expectations"
DOUBTED = "other cases of the test pass with false expectations, too"
WAGERED = "as many others pass with false expectations only: who forges by chance wins as many as that"
LEANING = "in grading after grading, what is true in one run passes and in the other fails: forged in one run only"
_HALF = b"[groundup: half of the tests are false in this run; tests.jsonl says what each did when it was true]\n"
_MANY_CASES = 8
"""So many cases of one test that pass both ways are more than one false form that happens to be true."""

_WAGERS = 3
"""So many tests that pass with other values, and fail as they are, are more than a fault happens to meet."""


class TwinOutcome(Record):
    """What the twin says of a decision."""

    decision: Decision
    applied: bool = False
    forged: tuple[NumberedTest, ...] = ()
    lucky: tuple[NumberedTest, ...] = ()
    unseen: tuple[NumberedTest, ...] = ()
    may_be_a_fault: bool = Field(
        default=False, description="whether an `__eq__` that is always true would show all that it is accused of"
    )

    @property
    def signs(self) -> tuple[str, ...]:
        """A phrase for a person, where a test passed both ways, or the false one only."""
        found = {"tests that pass with false expectations, too": self.forged, f"tests that {LUCKY}": self.lucky}
        return tuple(f"{what}: {len(tests)}" for what, tests in found.items() if tests)


def confirmed(decision: Decision, passes: Passes, record: TwinRecord | None) -> TwinOutcome:
    """Return *decision* without the tests that the twin did not confirm, and which they were.

    Raises `SandboxError` when the twin's sandbox failed.
    """
    twin = passes.twin
    if twin is None or record is None:
        return TwinOutcome(decision=decision)
    last = twin.last
    if last.result.ending is Ending.SANDBOX_DIED:
        raise SandboxError("the sandbox of the twin died; repeat the attempt, and see `groundup doctor`")
    seen = _compared(decision, passes, twin, record)
    reasons = list(_accusations(seen, decision, passes, twin))
    is_tampered = bool(reasons) or decision.status is Status.TAMPERED
    unseen_reasons = [_unseen_reason(seen.unseen, twin)] if seen.unseen else []
    if seen.forged and not is_tampered:
        reasons.append(_forged_reason(seen.forged, decision))
    lost = {
        **dict.fromkeys(seen.forged, FORGED),
        **dict.fromkeys(seen.unseen, UNSEEN),
        **dict.fromkeys(seen.doubted, DOUBTED),
        **dict.fromkeys(seen.wagered, WAGERED),
    }
    if seen.wagered and not is_tampered:
        reasons.append(reason(Stage.TEST, f"{len(seen.wagered)} tests that pass do not count: {WAGERED}"))
    return TwinOutcome(
        decision=decision.without(lost, reasons, unseen_reasons).model_copy(
            update={
                "status": Status.TAMPERED if is_tampered else decision.status,
                "timed_out": decision.timed_out or bool(seen.unseen and last.result.ending.is_out_of_time),
            }
        ),
        applied=True,
        forged=tuple(sorted(seen.forged)),
        lucky=tuple(sorted(seen.lucky)),
        unseen=tuple(sorted(seen.unseen)),
        may_be_a_fault=is_tampered and _may_be_a_fault(seen, passes),
    )


class _Compared(NamedTuple):
    """Which tests did what in both forms."""

    forged: frozenset[NumberedTest]
    """Passed both ways."""
    unseen: frozenset[NumberedTest]
    """Neither failed nor passed with false expectations: not reported at all. They do not count, but prove no
    forgery."""
    lucky: frozenset[NumberedTest]
    """Passed with false expectations only."""
    doubted: frozenset[NumberedTest]
    """Cases of a test of which several others passed both ways."""
    wagered: frozenset[NumberedTest]
    """As many tests that passed as did so with false expectations only."""
    cases: Counter[str]
    """How many cases of each function are evidence of forging."""


def _compared(decision: Decision, passes: Passes, twin: Rounds, record: TwinRecord) -> _Compared:
    # `free`: tests that the original itself passes both ways.
    counted = passing_tests(decision) - record.free
    failed = failing_tests(twin, counted)
    forged = passing_when_false(passes, counted - failed)
    unseen = counted - failed - forged
    # A library that raises nothing passes a test whose expectations stand in an exception's handler, both ways.
    sure = {key for key in forged if function_of(key) not in passes.unsure}
    cases = Counter(map(function_of, sure))
    doubted = {key for key in counted - forged - unseen if cases[function_of(key)] >= LEAST_EVIDENCE}
    only_false = passing_when_false(passes, lost_tests(decision) - record.free)
    seen_to_fail = {NumberedTest.parse(test.id) for test in decision.results if test.outcome == "failed"}
    # A test that was seen to fail, and passed with an expectation that no mistake meets.
    lucky = frozenset(key for key in only_false & seen_to_fail if function_of(key) in passes.telling)
    others = frozenset(key for key in only_false if function_of(key) in passes.far)
    is_chance = len({function_of(key) for key in others} - passes.unsure) < _WAGERS
    counting = sorted(counted - forged - unseen - doubted)
    wagered = frozenset(counting[: 0 if is_chance else len(others)])
    return _Compared(forged, unseen, lucky, frozenset(doubted), wagered, cases)


def _accusations(seen: _Compared, decision: Decision, passes: Passes, twin: Rounds) -> Iterator[Reason]:
    """Yield why results are forged, as far as the twin shows it."""
    lying = lie_of(twin)
    if lying is not None:
        yield lying
    # All cases of one test may have a false form that happens to be true, so tests are counted, not cases.
    tests = seen.cases | Counter(map(function_of, seen.lucky))
    if len(tests) >= LEAST_EVIDENCE or max(seen.cases.values(), default=0) >= _MANY_CASES:
        yield _forged_reason(seen.forged, decision) if seen.cases else _lucky_reason(seen.lucky, decision)
    if passes.leaning <= SELDOM:
        yield reason(Stage.TEST, LEANING)


def _may_be_a_fault(seen: _Compared, passes: Passes) -> bool:
    """Whether nothing but tests that pass both ways, and copies of such tests, is evidence of forging."""
    assert passes.twin is not None
    both = (passes.true, passes.twin)
    honest = without_lies_of_copies(passes)
    assert honest.twin is not None
    is_lucky = len({*map(function_of, seen.lucky)}) >= LEAST_EVIDENCE
    is_lie = any(map(lie_of, (honest.true, honest.twin)))
    copied = {name for rounds in both for name in _copies_that_pass(rounds)}
    return passes.leaning > SELDOM and not is_lucky and not is_lie and copied <= {*map(function_of, seen.forged)}


def _copies_that_pass(rounds: Rounds) -> Iterator[str]:
    """Yield the name of each test of which a copy passed."""
    results = rounds.last.report.results
    for canary in rounds.last.canaries:
        if canary.is_copy and any(one.outcome in PASSING for one in told_of(canary, results)):
            yield canary.copied


def failing_tests(twin: Rounds, tests: Collection[NumberedTest]) -> frozenset[NumberedTest]:
    """Return those of *tests* that failed in the twin, or ended its process there."""
    results = twin.last.report.results
    ended = {end.test for end in twin.ended}
    files = {end.test.id.partition("::")[0] for end in twin.ended if end.whole_file}
    return frozenset(
        key
        for key in tests
        if key in ended
        or (key in results and results[key].outcome in FAILING)
        or (key not in results and key.id.partition("::")[0] in files)
    )


def _forged_reason(forged: frozenset[NumberedTest], decision: Decision) -> Reason:
    return reason(
        Stage.TEST,
        f"{len(forged)} of {decision.expected} tests pass with false expectations, too, first {min(forged)}: "
        "something else than the tests decided",
    )


def _lucky_reason(lucky: frozenset[NumberedTest], decision: Decision) -> Reason:
    return reason(
        Stage.TEST, f"{len(lucky)} of {decision.expected} tests {LUCKY}, first {min(lucky)}: forged by chance"
    )


def _unseen_reason(unseen: frozenset[NumberedTest], twin: Rounds) -> Reason:
    why = why_unfinished(twin.last.report, twin.last.result)
    told = f" ({why.message})" if why is not None else ""
    stage = why.stage if why is not None else Stage.TEST
    return reason(
        stage, f"{len(unseen)} tests were not seen to fail with false expectations{told}, first {min(unseen)}"
    )


def logs_of_passes(passes: Passes, outcome: TwinOutcome) -> dict[str, bytes]:
    """Return what a person needs to look at the runs again: output, the twin's seed, and what was noticed."""
    logs = logs_of(passes.true.last)
    if passes.twin is None:
        return logs
    lines = [f"seed: {passes.seed}"]
    lines += [f"passes with false expectations, too: {key}" for key in outcome.forged]
    lines += [f"{LUCKY}: {key}" for key in outcome.lucky]
    lines += [f"not seen to fail with false expectations: {key}" for key in outcome.unseen]
    if passes.mixed and "stdout.txt" in logs:
        logs["stdout.txt"] = _HALF + logs["stdout.txt"]
    return {**logs, "twin.txt": "\n".join([*lines, ""]).encode("utf-8", "backslashreplace")}
