"""Deciding what a run of hidden tests is worth: pure, and outside the process that was tested.

The expected tests are the denominator, whatever was collected, and the numerator is how many of them passed. A run
without an end, or of packages that did not come from the submission, counts nothing.

Signs of tampering are evidence for a person and decide nothing. An honest submission shows none as a rule. A
clever one shows none either: code in the tests' process can hide what it did. So their absence proves nothing.
"""

import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from groundup.domain.errors import SandboxError
from groundup.domain.names import printable, without_codes
from groundup.domain.verdicts import Reason, Stage, TestResult
from groundup.grading.last_words import LIMITS, LastWords, last_stack, pytest_words, signal_name
from groundup.grading.library.composition import SHADOWS, Dropped
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grading.library.report import COMPLETE, RunnerReport
from groundup.sandbox.protocol import WORKSPACE, CommandResult, Ending

NONE = "none"
"""The fact `signs` of a verdict in which signs were looked for and not found."""
FACT = "signs"
MAX_CHARS = 300
_CLOCK_S = 2.0


def signs_of(report: RunnerReport, result: CommandResult) -> tuple[str, ...]:
    """Return a phrase for each sign."""
    found = []
    complete = report.exit_code in COMPLETE
    seen = report.observed
    if seen is not None:
        if seen.changed:
            found.append(f"functions changed: {', '.join(seen.changed)}")
        if seen.frames:
            found.append(f"the submission stands in the report's path: {', '.join(seen.frames)}")
        if seen.processes:
            found.append(f"processes left: {seen.processes}")
        if seen.clock_s > _CLOCK_S:
            found.append(f"the clock went {seen.clock_s:g} s astray")
    elif complete:
        found.append("the runner did not say how it found itself at the end")
    if report.repeated:
        found.append(f"tests reported more than once: {report.repeated}")
    if report.foreign:
        found.append(f"lines on the report's descriptor that are not the runner's: {report.foreign}")
    missing = (report.collected or 0) - len(report.results)
    if complete and missing > 0:
        found.append(f"tests collected and never reported: {missing}")
    if report.exit_code is None and report.results and result.exit_code == 0:
        found.append("results without an end, from a process that left with 0")
    told_s = sum(one.duration_s for one in report.results.values())
    if told_s > 2 * result.duration_s + 5:
        found.append(f"tests are said to have taken {told_s:.0f} s of {result.duration_s:.0f} s")
    return tuple(printable(sign) for sign in found)


def as_fact(signs: Sequence[str]) -> str:
    return "; ".join(signs)[:MAX_CHARS] or NONE


MAX_REASONS = 4
MAX_REASON_BYTES = 240
"""Whole messages are in the list of tests."""
_ORDER = (Stage.TIMEOUT, Stage.LIMIT, Stage.CRASH)


class FatalTest(NamedTuple):
    """A test that ended the process that ran it, so that it was left out of the run that counts."""

    test: NumberedTest
    ending: Ending = Ending.EXITED
    whole_file: bool = False
    stop: LastWords = LastWords()

    @property
    def leaves_out(self) -> NumberedTest | str:
        """What further runs leave out: the test, or its whole file."""
        return self.test.file if self.whole_file else self.test

    @property
    def stage(self) -> Stage:
        """What it failed at: time, a limit of the sandbox, or by itself."""
        if self.ending.is_out_of_time:
            return Stage.TIMEOUT
        return Stage.LIMIT if self.ending in LIMITS else Stage.CRASH


Answer = Literal["unchecked", "clean", "suspect", "tampered"]


class Integrity(NamedTuple):
    """Whether the count is to be believed."""

    answer: Answer = "clean"
    why: str = ""
    depth: Literal["none", "spot", "full"] = "none"
    checked: int = 0
    """Tests that ran in the last check."""
    flaky: frozenset[NumberedTest] = frozenset()
    """Lost tests that pass when run again."""
    open: bool = False
    """Whether a lost test did not run again, or did something else."""
    unsteady: bool = False
    """Whether a test that counts failed when it ran again."""
    log: str = ""


class Decision(NamedTuple):
    """What a run of hidden tests is worth, and whether to believe it."""

    passed: int
    expected: int
    extra_passed: int
    passed_before_end: int
    reasons: tuple[Reason, ...] = ()
    results: tuple[TestResult, ...] = ()
    timed_out: bool = False
    integrity: Integrity = Integrity()


def decide(
    expected: frozenset[NumberedTest],
    hidden: HiddenTests,
    report: RunnerReport,
    result: CommandResult,
    ended: Sequence[FatalTest] = (),
    kept: Collection[str] | None = None,
) -> Decision:
    """Judge the run that came last; *ended* were left out of it and count as failed, *kept*: what was handed in.

    Raises `SandboxError` when the sandbox failed, which says nothing of the submission.
    """
    if result.ending is Ending.SANDBOX_DIED:
        raise SandboxError(
            "the sandbox died while the hidden tests ran; repeat the attempt, and see `groundup doctor`"
        )
    passed = {key for key, known in report.results.items() if known.outcome == "passed"}
    unfinished = why_unfinished(report, result)
    counted = (passed & expected) - {culprit.test for culprit in ended}
    reasons = _misplaced_packages(hidden, report) + ([] if unfinished is None else [unfinished])
    worth_nothing = bool(reasons)
    reasons = [
        *_absent_packages(hidden, report, kept),
        *reasons,
        *_ends(ended),
        *_untried(expected, report, ended),
        *_losses(expected, counted, report),
        *_filters_left_out(report),
    ]
    return Decision(
        passed=0 if worth_nothing else len(counted),
        expected=len(expected),
        extra_passed=len(passed - expected),
        passed_before_end=len(counted),
        reasons=tuple(reasons[:MAX_REASONS]),
        results=_results(expected, report, ended),
        timed_out=result.ending.is_out_of_time or any(end.ending.is_out_of_time for end in ended),
    )


def why_unfinished(report: RunnerReport, result: CommandResult) -> Reason | None:
    """Say why the run has no trustworthy end; None when it has one."""
    where = f" in {report.running}" if report.running else ""
    place, _ = last_stack(result.stderr)
    at = f", at {place}" if place else ""
    if result.ending.is_out_of_time:
        return reason(Stage.TIMEOUT, f"the tests were stopped after {result.duration_s:.0f} s{where}{at}")
    if result.ending in LIMITS:
        return reason(Stage.LIMIT, f"the tests were stopped for using too {LIMITS[result.ending]}{where}")
    if report.broken_off is not None:
        return reason(Stage.CRASH, f"the test session was broken off by {report.broken_off}{where}")
    if report.exit_code is None:
        return reason(
            Stage.CRASH, f"the test process {_death(result.exit_code)} before the tests had ended{where}{at}"
        )
    if report.exit_code not in COMPLETE:
        known = pytest_words(result.stdout + b"\n" + result.stderr)
        why = f": {known}" if known else ""
        return reason(Stage.CRASH, f"pytest gave up with exit code {report.exit_code}{where}{why}")
    return None


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"was ended by {signal_name(-exit_code)}"
    return f"left with exit code {exit_code}"


def _absent_packages(hidden: HiddenTests, report: RunnerReport, kept: Collection[str] | None) -> list[Reason]:
    """Say which packages could not be imported: the tests that need them fail by themselves."""
    reasons = []
    for name in hidden.packages if report.imports else ():  # else it did not come so far
        check = report.imports.get(name)
        if check is None or check.error is not None:
            problem = (check and check.error) or "the runner reported nothing about it"
            where = f"; the tests expect it at {_place(name, hidden)}{_instead(name, kept)}"
            where = where if _is_absent(name, problem) else ""
            reasons.append(reason(Stage.IMPORT, f"{name} cannot be imported: {_in_tree(problem)}{where}"))
        elif check.file is None:
            absent = f"the submission has no file for it at {_place(name, hidden)}"
            reasons.append(reason(Stage.IMPORT, f"{name} cannot be imported: {absent}"))
    return reasons


def _misplaced_packages(hidden: HiddenTests, report: RunnerReport) -> list[Reason]:
    """Say which packages came from elsewhere than the submission, so that tests say nothing of it."""
    roots = [PurePosixPath(WORKSPACE, root) for root in hidden.import_roots]
    return [
        reason(Stage.IMPORT, _misplaced(name, PurePosixPath(check.file), hidden))
        for name, check in report.imports.items()
        if name in hidden.packages
        and check.file is not None
        and not any(PurePosixPath(check.file).is_relative_to(root) for root in roots)
    ]


def _misplaced(name: str, file: PurePosixPath, hidden: HiddenTests) -> str:
    """Say from where a package came that is not below an import root: the submission may have another layout."""
    in_tests = any(file.is_relative_to(PurePosixPath(WORKSPACE, place)) for place in hidden.protected)
    if not file.is_relative_to(WORKSPACE) or in_tests:
        return f"{name} was imported from {file}, not from the submission"
    there = file.relative_to(WORKSPACE)
    return f"{name} lies at {there} in the submission; the tests expect it at {_place(name, hidden)}"


def _instead(name: str, kept: Collection[str] | None) -> str:
    """Say where a package that was not found lies in what was handed in, such as a folder deeper."""
    if kept is None:
        return ""
    if not kept:
        return "; the submission has no file that counts"
    ends = tuple(f"/{name.replace('.', '/')}{end}" for end in ("/__init__.py", ".py"))
    found = sorted(path for path in kept if f"/{path}".endswith(ends))
    return f"; the submission has it at {found[0]}" if found else ""


def _in_tree(problem: str) -> str:
    """Return a message with the paths that a submission has outside the sandbox."""
    return problem.replace(f"{WORKSPACE}/", "")


def _is_absent(name: str, problem: str) -> bool:
    """Whether the package itself was not found, or one that it lies in; not something that it imports."""
    missing = problem.removeprefix("ModuleNotFoundError: No module named ").strip("'")
    return missing == name or name.startswith(f"{missing}.")


def _place(name: str, hidden: HiddenTests) -> str:
    """Return where a package may lie: the specification may leave open whether below `src`."""
    places = [str(PurePosixPath(root, name.replace(".", "/"))) for root in hidden.import_roots]
    return " or ".join(places) if len(places) > 1 else f"{places[0]}.py or {places[0]}/"


_NO_MODULE = re.compile(r"No module named '(\w+)")
_NO_FILE = re.compile(r"No such file or directory: '([^']+)'")


def explained(why: Reason, dropped: Iterable[Dropped], kept: Collection[str], hidden: HiddenTests) -> Reason:
    """Add to a reason for what was not found why it is not there: a requirement, a file or a module left out."""
    told, left_out = [], list(dropped)
    if why.stage is Stage.IMPORT:
        told += [f"{one.path} was left out: it {one.why}" for one in left_out if one.why.startswith(SHADOWS)]
    if (file := _NO_FILE.search(why.message)) is not None:
        name = PurePosixPath(file[1]).name
        told += [
            f"{one.path} was left out ({one.why})" for one in left_out if PurePosixPath(one.path).name == name
        ]
    if (module := _NO_MODULE.search(why.message)) is not None and _is_foreign(module[1], kept, hidden):
        told.append("nothing that a submission requires is installed for the tests")
    return reason(why.stage, "; ".join([why.message, *told[:2]])) if told else why


def _is_foreign(module: str, kept: Collection[str], hidden: HiddenTests) -> bool:
    """Say whether a missing *module* would come from another distribution."""
    own = {name.partition(".")[0] for name in hidden.packages}
    own |= {part.partition(".")[0] for path in kept for part in PurePosixPath(path).parts}
    return module not in own | {*sys.stdlib_module_names} and not module.startswith("test")


def _losses(expected: frozenset[NumberedTest], counted: set[NumberedTest], report: RunnerReport) -> list[Reason]:
    reasons = []
    if report.collection_errors:
        number = len(report.collection_errors)
        place, message = next(iter(report.collection_errors.items()))
        error = message.rpartition(" (")[0] or message
        is_told = any(check.error and check.error.startswith(error) for check in report.imports.values())
        files, said = f"test file{'s' * (number != 1)}", "" if is_told else f": {_in_tree(message)}"
        reasons.append(reason(Stage.COLLECTION, f"{number} {files} could not be collected, first {place}{said}"))
    lost = expected - counted
    if lost and report.results:
        failing = [key for key in sorted(lost) if key in report.results]
        first = f", first {failing[0]}: {report.results[failing[0]].message}" if failing else ""
        reasons.append(reason(Stage.TEST, f"{len(lost)} of {len(expected)} expected tests did not pass{first}"))
    return reasons


def _filters_left_out(report: RunnerReport) -> list[Reason]:
    """Say that tests ran without a warning filter of theirs: pytest alone would have refused to run any."""
    why = "was left out, for its class cannot be imported; with it pytest runs no test"
    return [reason(Stage.IMPORT, f"the warning filter {line} {why}") for line in report.filters_left_out]


def _ends(ended: Sequence[FatalTest]) -> list[Reason]:
    """Say which tests ended the process: those that hung, met a limit and crashed it, one reason each."""
    groups: dict[tuple[Stage, str], list[FatalTest]] = {}
    for end in sorted(ended, key=lambda end: _ORDER.index(end.stage)):
        groups.setdefault((end.stage, end.stop.words), []).append(end)
    return [
        reason(stage, f"{len(ends)} test{'s'[: len(ends) - 1]} {what}: lost, first {_placed(ends[0])}")
        for (stage, what), ends in groups.items()
    ]


def _untried(expected: frozenset[NumberedTest], report: RunnerReport, ended: Sequence[FatalTest]) -> list[Reason]:
    """Say how many tests were left out with their file, and why."""
    untried = expected - report.results.keys() - {end.test for end in ended}
    files = Counter(test.file for test in untried)
    why = f"were not tried, after {len(ended)} ended the process"
    return [
        reason(end.stage, f"the other {files[file]} of {file} {why}")
        for end in ended
        if end.whole_file and (file := end.test.file) in files
    ]


def _placed(end: FatalTest) -> str:
    return f"{end.test} in {end.stop.place}" if end.stop.place else str(end.test)


def _results(
    expected: frozenset[NumberedTest], report: RunnerReport, ended: Sequence[FatalTest]
) -> tuple[TestResult, ...]:
    known = sorted(expected | report.results.keys())
    culprits = {end.test: end for end in ended}
    silent = {file: f"not collected: {_in_tree(said)}" for file, said in report.collection_errors.items()}
    untried = f"not tried: {len(ended)} tests had ended the process"
    silent |= {end.test.file: untried for end in ended if end.whole_file}
    results = [_result(key, report, culprits.get(key), expected=key in expected) for key in known]
    lacking = dict(report.lacking)
    for at, one in enumerate(results):
        names = lacking.pop(one.id.partition("::")[0], ()) if one.lost else ()
        results[at] = one.but(lacks=names) if names else one
    return tuple(
        one.but(message=silent[file])
        if one.outcome == "missing" and (file := one.id.partition("::")[0]) in silent
        else one
        for one in results
    )


def _result(key: NumberedTest, report: RunnerReport, end: FatalTest | None, *, expected: bool) -> TestResult:
    if end is not None:
        detail = end.stop.detail if expected else ""
        return TestResult(id=str(key), outcome="error", expected=expected, message=str(end.stop), detail=detail)
    known = report.results.get(key)
    if known is None:
        return TestResult(id=str(key), outcome="missing", expected=expected)
    return TestResult(
        id=str(key),
        outcome=known.outcome,
        expected=expected,
        duration_s=known.duration_s,
        message=known.message,
        detail=known.detail if expected else "",
        demand=known.demand if expected else "",
        calls=known.calls if expected else "",
        probably=known.probably if expected else "",
    )


def passing_tests(decision: Decision) -> frozenset[NumberedTest]:
    """Return the expected tests that a decision calls passed."""
    passed = (test.id for test in decision.results if test.expected and test.outcome == "passed")
    return frozenset(map(NumberedTest.parse, passed))


def lost_tests(decision: Decision) -> frozenset[NumberedTest]:
    lost = (test.id for test in decision.results if test.expected and test.outcome != "passed")
    return frozenset(map(NumberedTest.parse, lost))


def reason(stage: Stage, message: str) -> Reason:
    """Return a reason that is cut to what a verdict may hold."""
    text = printable(without_codes(message))
    if len(text.encode()) > MAX_REASON_BYTES:
        text = text.encode()[: MAX_REASON_BYTES - 3].decode(errors="ignore") + "..."
    return Reason(stage=stage, message=text)
