"""Who is asked which line probably lost a test: the texts of a failure, and a second run of it, name one."""

from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.verdicts import FURTHER_WITH, PASSES_WITH, TestResult, Verdict
from groundup.environments.requests import PythonEnvironment
from groundup.grading.guesses import AnsweredRequest, Guesser, RunnerListener, SecondTests
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.submitted_sources import Sources
from groundup_origins.answers import of_answer
from groundup_origins.inside import source_of
from groundup_origins.probable import guessed, with_guesses
from groundup_origins.reasons import with_places
from groundup_origins.services import second_tests

_LISTENER = "listener.py"
_HELPERS = ("spectrum.py", "suspects.py", "functions.py", "changes.py", "missing.py", "live.py", "mends.py")


class Origins(Guesser):
    """Guesses lines."""

    @override
    def listener(self) -> RunnerListener:
        names = (_LISTENER, "values.py", "origins.py", *_HELPERS)
        return RunnerListener(
            program=_LISTENER,
            files={name: source_of(name) for name in names},
            given={"helpers": [*_HELPERS], "tried": [FURTHER_WITH, PASSES_WITH]},
        )

    @override
    def second_tests(
        self,
        results: Mapping[NumberedTest, Result],
        environment: PythonEnvironment,
        tree: Path,
        started_s: float,
        folder: Path,
    ) -> SecondTests | None:
        return second_tests(results, environment, tree, started_s, folder, self.listener())

    @override
    def of_answer(self, result: Result, answer: AnsweredRequest, sources: Sources) -> str:
        return of_answer(result, answer, sources)

    @override
    def of_results(
        self, results: Mapping[NumberedTest, Result], sources: Sources
    ) -> Mapping[NumberedTest, Result]:
        return guessed(results, sources)

    @override
    def of_tests(self, tests: tuple[TestResult, ...], submission: Path) -> tuple[TestResult, ...]:
        return with_guesses(tests, submission)

    @override
    def of_reasons(self, verdict: Verdict, submission: Path) -> Verdict:
        return with_places(verdict, submission)
