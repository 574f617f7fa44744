"""Which line of a submission probably lost a test: who is asked. `groundup_origins` guesses it.

No verdict reads it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from groundup.catalog import Table
from groundup.domain.verdicts import TestResult, Verdict
from groundup.environments.requests import PythonEnvironment
from groundup.extensions import lacking
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.submitted_sources import Sources
from groundup.sandbox.protocol import WORKSPACE, Mount

_TOLD = 3
"""Lines where the cause of one lost test may lie."""


def several(*guesses: str) -> str:
    """Return guesses as one text: a few lines `file:line: text`, each place once, the first ones first."""
    found: dict[str, str] = {}
    for place in "\n".join(guesses).splitlines():
        inside = place.removeprefix(f"{WORKSPACE}/")
        found.setdefault(":".join(inside.split(":")[:2]), inside)
    return "\n".join([place for place in found.values() if place][:_TOLD])


LOST_BY = ("failed", "error", "skipped")
"""Outcomes by which a service loses a test: one that finds it lacking something may give up, as skipped."""


class RunnerListener(NamedTuple):
    """A plugin of pytest that the trusted runner tells how tests end, and that says where lost ones were lost.

    It speaks when all tests are reported, so it changes no result: by the event `origin`, a guess for each.
    """

    program: str
    files: Mapping[str, bytes]
    """The program and what it loads, by name: they lie beside the runner."""
    given: Mapping[str, object] = {}
    """What it is told besides."""

    def asked(self, trusted: str, until_s: float) -> dict[str, object]:
        """Return what the runner's spec says of it, where its files lie in the folder *trusted*.

        *until_s*: how long tests may have taken for it to speak.
        """
        return {"listener": {**self.given, "program": f"{trusted}/{self.program}", "until_s": until_s}}


class SecondTests(NamedTuple):
    """Tests that run once more beside a service that is started for them with something more to carry."""

    tests: Sequence[NumberedTest]
    environment: PythonEnvironment
    """Of the service."""
    listener: RunnerListener
    mounts: tuple[Mount, ...]
    """Of the tests."""
    limit_s: float


class SentRequest(NamedTuple):
    """What a test asks a service."""

    method: str
    address: str
    uses: frozenset[str] = frozenset()
    """Variables of the test that it is made of."""
    makes: frozenset[str] = frozenset()
    """Variables that its answer may give a value."""
    reads: tuple[str, ...] = ()
    """Fields that the test reads of its answer."""
    wanted: str = ""
    """The status that the test compares its answer with; "" where that is not clear."""


class RequestsOfTest(NamedTuple):
    """What one test asks, in order, as far as it came; read from its source."""

    own: tuple[SentRequest, ...]
    before: tuple[SentRequest, ...] = ()
    """What was asked before it, that it may lean on."""
    waits_for: str = ""
    """The lost test that alone gives a variable its value, and did not come to it."""
    unset: str = ""
    """That variable."""


class AnsweredRequest(NamedTuple):
    """The last exchange of a lost test with a service."""

    method: str
    address: str
    status: str
    body: str
    handler: tuple[str, int, int] | None
    """File, first and last line of what answers it, where that is clear."""
    last: SentRequest | None = None
    """The same as its source has it, where that is known."""
    earlier: tuple[SentRequest, ...] = ()
    """What was asked before it, the last first."""
    alike: tuple[SentRequest, ...] = ()
    """Last requests of other tests that were lost by the same statuses."""
    fine: tuple[SentRequest, ...] = ()
    """Requests of tests that passed, without those that should be refused."""
    asked: tuple[tuple[str, str], ...] = ()
    """Method and address of all that tests asked."""
    raised: str = ""
    """The service's own error, where its log has one."""
    frames: tuple[tuple[str, int], ...] = ()
    """Its places in the submission, the innermost first."""


class Guesser:
    """Guesses nothing. What `groundup_origins` adds derives from it."""

    def listener(self) -> RunnerListener | None:
        """Return what hears the tests of a library, in a run that counts."""
        return None

    def second_tests(
        self,
        results: Mapping[NumberedTest, Result],
        environment: PythonEnvironment,
        tree: Path,
        started_s: float,
        folder: Path,
    ) -> SecondTests | None:
        """Return which tests of a service in Python run once more; None: that is not worth another start.

        *started_s*: what its start took; *folder*: does not exist yet, and can hold what the service carries.
        """
        return None

    def of_answer(self, result: Result, answer: AnsweredRequest, sources: Sources) -> str:
        """Return the line of a service that lost a test, by its last answer, as `file:line: text`; "": unknown."""
        return ""

    def of_results(
        self, results: Mapping[NumberedTest, Result], sources: Sources
    ) -> Mapping[NumberedTest, Result]:
        """Return *results*, the lost ones with where they were probably lost, by what they say."""
        return results

    def of_tests(self, tests: tuple[TestResult, ...], submission: Path) -> tuple[TestResult, ...]:
        """Return *tests*, the lost ones with where in *submission* they were probably lost."""
        return tests

    def of_reasons(self, verdict: Verdict, submission: Path) -> Verdict:
        """Return *verdict*, reasons why *submission* could not be used with the line to mend."""
        return verdict


GUESSERS: Table[Guesser] = Table("guesser", {})


def guesser() -> Guesser:
    """Return who is asked; without the package that guesses, somebody who knows nothing."""
    return Guesser() if lacking("guesser") else GUESSERS.find("origins")
