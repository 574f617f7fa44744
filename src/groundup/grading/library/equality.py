"""Telling a library whose comparisons always hold from one that forges.

An `__eq__` that is always true makes tests pass with false expectations, as forged reports do. Two further runs
show the difference: in one every test fails as it returns, though its text says nothing of it, in the other at an
assertion at its end. Such a library fails all; who forges what it knows notices nothing of the first, and who
takes assertions away passes the second. A forger may look for such runs and be honest there, so what is excused
must not pay: besides the tests that pass both ways, others lose their points, so many that forging what does not
look false gains nothing.
"""

import asyncio
import math
import secrets

from groundup.domain.errors import SandboxError
from groundup.domain.verdicts import Stage, Status
from groundup.grading.bench import Bench
from groundup.grading.library.canary import draw_canaries
from groundup.grading.library.confirmation import TwinOutcome
from groundup.grading.library.decision import lost_tests, passing_tests, reason, why_unfinished
from groundup.grading.library.execution import Overlay, run_to_the_end
from groundup.grading.library.hidden import LibraryUnderTest, NumberedTest, TwinRecord
from groundup.grading.library.passes import PASSING, Passes, lie_of, passing_when_false
from groundup.grading.library.twin import HiddenSuite
from groundup.sandbox.protocol import Ending

WITHHELD = "comparisons with this library hold whatever is compared, so not every test that passes counts"
_TWICE = 2
"""So that a forger who was lucky in what it chose hardly gains either."""


async def fails_when_all_fail(
    outcome: TwinOutcome, library: LibraryUnderTest, bench: Bench, suite: HiddenSuite
) -> bool:
    """Whether in two more runs, where each test fails, none passes that does not count already.

    Of the others one may pass honestly, such as one that exhausts the stack. Raises `SandboxError` when a sandbox
    failed.
    """
    at_ends = await asyncio.to_thread(suite.failing_at_ends, secrets.token_hex(8))
    doubtful = lost_tests(outcome.decision)  # with those that pass both ways
    for failing in (Overlay(fails=True), Overlay(changed=at_ends)):
        overlay = failing.model_copy(update={"canaries": draw_canaries(library.hidden)})
        async with bench.turns.taken():
            rounds = await run_to_the_end(library, bench, overlay)
        last = rounds.last
        if last.result.ending is Ending.SANDBOX_DIED:
            raise SandboxError("the sandbox died while tests ran; repeat the attempt, and see `groundup doctor`")
        passing = {key for key, found in last.report.results.items() if found.outcome in PASSING}
        if why_unfinished(last.report, last.result) or lie_of(rounds) or passing & doubtful:
            return False
    return True


def excused(outcome: TwinOutcome, passes: Passes, record: TwinRecord, hidden_share: float) -> TwinOutcome:
    """Return *outcome* as what the fault earns: graded, without the tests that are `withheld`."""
    lost = withheld(outcome, passes, record, hidden_share)
    why = reason(
        Stage.TEST,
        f"{WITHHELD}: is an `__eq__` always true? {len(outcome.forged)} tests pass with false expectations, too; "
        f"{len(lost)} more do not count for them",
    )
    decision = outcome.decision.without(dict.fromkeys(lost, WITHHELD), first=[why])
    return outcome.model_copy(update={"decision": decision.model_copy(update={"status": Status.GRADED})})


def withheld(
    outcome: TwinOutcome, passes: Passes, record: TwinRecord, hidden_share: float
) -> frozenset[NumberedTest]:
    """Return so many of the tests that count that forging, instead of the fault, would gain nothing.

    *hidden_share*: of tests whose false form does not show that it is false, 0 to 1.

    Who forges all that does not look false passes both ways where the false form does not show, and gains where it
    does; who forges by chance passes as often in the false form only as in the true one only.
    """
    counted = passing_tests(outcome.decision)
    if not hidden_share:
        return counted
    shown = (1 - hidden_share) / hidden_share
    failed = {NumberedTest.parse(test.id) for test in outcome.decision.results if test.outcome == "failed"}
    only_false = passing_when_false(passes, failed - record.free)
    lost = _TWICE * (math.ceil(len(outcome.forged) * shown) + len(only_false))
    return frozenset(sorted(counted)[:lost])
