"""Running the hidden tests until they finish, leaving out those that end the process.

A test that crashes, exits or hangs would otherwise cost all others their result. It counts as failed; the whole
suite is run again without it, in a fresh sandbox, so that what counts always comes from one run that was complete.
"""

from pathlib import Path

from groundup.domain.records import Record
from groundup.environments.requests import PythonEnvironment
from groundup.grading.bench import Bench
from groundup.grading.library.decision import FatalTest
from groundup.grading.library.execution import Execution, LeftOut, run_hidden_tests
from groundup.grading.library.hidden import HiddenTests
from groundup.grading.library.report import COMPLETE
from groundup.sandbox.protocol import Ending

MAX_ROUNDS = 12
SINGLE_TESTS = 4
"""After so many tests that end the process, each further one takes its whole file with it."""
TIME_FACTOR = 4
"""All rounds together may take so many times what one may."""


class Rounds(Record):
    """The last run, and what had to be left out of it."""

    last: Execution
    ended: tuple[FatalTest, ...] = ()


async def run_to_the_end(
    submission: Path, original: Path, hidden: HiddenTests, environment: PythonEnvironment, bench: Bench
) -> Rounds:
    """Run the hidden tests, leaving out one more that ends the process each time."""
    spent_s = 0.0
    allowed_s = TIME_FACTOR * (bench.timeout_s or hidden.timeout_s)
    ended: list[FatalTest] = []
    left_out = LeftOut()
    while True:
        last = await run_hidden_tests(submission, original, hidden, environment, bench, left_out)
        culprit = _culprit(last, whole_file=len(ended) >= SINGLE_TESTS)
        spent_s += last.result.counted_s
        if culprit is None or len(ended) + 1 >= MAX_ROUNDS or spent_s > allowed_s:
            return Rounds(last=last, ended=tuple(ended))
        wider = _without(left_out, last, culprit)
        if wider == left_out:
            return Rounds(last=last, ended=tuple(ended))  # it was to be left out, and reports that it ran
        left_out = wider
        ended.append(culprit)


def _culprit(execution: Execution, *, whole_file: bool) -> FatalTest | None:
    """Return the test in which the process ended; None when it did not, or not in a test."""
    report, result = execution.report, execution.result
    complete = report.exit_code in COMPLETE and result.ending is Ending.EXITED
    if complete or result.ending is Ending.SANDBOX_DIED or report.running is None:
        return None
    by_timeout = result.ending in (Ending.TIMEOUT, Ending.WALL_CLOCK)
    return FatalTest(test=report.running, by_timeout=by_timeout, whole_file=whole_file)


def _without(left_out: LeftOut, execution: Execution, culprit: FatalTest) -> LeftOut:
    node = execution.report.running_node or ""
    if culprit.whole_file:
        return left_out.model_copy(update={"files": tuple({*left_out.files, node.partition("::")[0]})})
    return left_out.model_copy(update={"tests": tuple({*left_out.tests, (node, culprit.test.ordinal)})})
