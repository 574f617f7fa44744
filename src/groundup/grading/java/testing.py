"""Hidden Java tests over an installed submission: compiled and run as published; what passed is the score.

Its classes are loaded into the process of the tests. So nothing of it may stand in for a library: a class in a
package of any jar on the tests' class path is left out, and so is what would make JUnit load further code.

The submission's code lives in the process of its tests, so what comes out of that process is a claim. Some of
the tests that passed run again, half of them made to fail: who passes everything is seen by those, and who notices
that this is a check and turns honest is seen by the others, which passed before.
"""

import asyncio
import functools
import secrets
import shutil
import time
import zipfile
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import TaskError, reading_submission
from groundup.environments.requests import MavenRepository
from groundup.grading.context import GradingContext
from groundup.grading.java.hidden import ending_tests, named_tests, sources, varied_tests, with_ends
from groundup.grading.java.installing import JavaInstalled
from groundup.grading.java.placing import led_back
from groundup.grading.java.running import JAVA_RUNNER, JavaReport, Tested, compile_tests, run_compiled
from groundup.grading.last_words import middle_cut
from groundup.grading.library.decision import as_fact
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.grading.services.testing import TestRun
from groundup.inside import source_of
from groundup.sandbox.protocol import CommandResult
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree, in_thread

SAMPLE = 32
"""Tests of the spot check. Half of them must fail: who forges a fifth is missed in 0.8 ** 16 = 3 of 100."""
SEVERAL = 2
"""One test may be an accident. Of 46 honest ones that fail one time in 20, two are lost before the last run and in
it in 46 * 45 / 2 * 0.05 ** 4 = 0.6 of 100 gradings. Of six forged ones, each made to fail before it with 0.75,
fewer are in 0.25 ** 6 + 6 * 0.75 * 0.25 ** 5 = 0.5 of 100."""
CLEAN, SUSPECT, TAMPERED = "clean", "suspect", "tampered"
FORGED = "tests that were made to fail were reported as passed, in two runs: results are being forged"
_FORGED_ONCE = "tests that were made to fail were reported as passed, but not in a second run"
_LOST = "tests that passed did not, in two runs, where others were made to fail"

Run = Callable[[Mapping[str, bytes], Collection[str]], Awaitable[Collection[str]]]
"""Runs sources, at least the tests named, in a fresh sandbox; returns the names of those that passed."""
_CHANCE = secrets.SystemRandom()


class Belief(NamedTuple):
    """An answer, with its reason unless it is `clean`."""

    answer: str
    why: str | None = None


class _Seen(NamedTuple):
    """What contradicts the run that counts: who passed though made to fail, and who did not pass as before."""

    forged: frozenset[str]
    lost: frozenset[str]


async def checked(passed: Collection[str], texts: Mapping[str, bytes], run: Run) -> Belief:
    """Say whether to believe that the tests *passed*, of the suite in *texts*."""
    ending, every = ending_tests(texts), named_tests(texts)

    async def look(fails: Mapping[str, bool], looked_at: Collection[str], at_start: Collection[str] = ()) -> _Seen:
        found = set(await run(with_ends(texts, fails, at_start), looked_at))
        false = {test for test in fails if fails[test]}
        return _Seen(frozenset(false & found), frozenset(fails.keys() - false - found))

    def are_several(tests: Collection[str]) -> bool:
        return len(tests) >= min(SEVERAL, len(passed))

    sample = _CHANCE.sample(list(passed), min(SAMPLE, len(passed)))
    spot = await look(drawn(sample, ending), sample)
    if not spot.forged and not spot.lost:
        return Belief(CLEAN)
    fails = drawn(passed, ending)
    full = await look(fails, every)
    forged, lost = spot.forged | full.forged, spot.lost | full.lost
    if not are_several(forged) and not are_several(lost):
        return Belief(CLEAN)
    fails |= dict.fromkeys(lost, False) | dict.fromkeys(forged, True)
    last = await look(fails, every, at_start={test for test in forged if _CHANCE.getrandbits(1)})
    if are_several(last.forged):
        return Belief(TAMPERED, f"{FORGED} ({len(last.forged)})")
    if are_several(forged):
        return Belief(SUSPECT, f"{_FORGED_ONCE} ({len(forged)})")
    if are_several(lost & last.lost):
        return Belief(SUSPECT, f"{_LOST} ({len(lost & last.lost)})")
    return Belief(CLEAN)


def drawn(tests: Collection[str], ending: Collection[str]) -> dict[str, bool]:
    """Return which of the *tests* are made to fail: half of those that pass only at their end, and the odd one."""
    able = [test for test in tests if test in ending]
    chosen = set(_CHANCE.sample(able, (len(able) + 1) // 2))
    return {test: test in chosen for test in tests}


_SERVICES = "META-INF/services"
_LISTENING = ("org.junit.", "io.quarkus.test.", "org.springframework.test.", "org.testng.")
_CONFIGURATION = "junit-platform.properties"
_CLASS = ".class"
_BEFORE = "the tests did not come to their end"


def shown_classes(classes: Path, jars: Iterable[Path], target: Path) -> tuple[str, ...]:
    """Copy *classes* to the absent folder *target* without what tests must not see; return what was left out."""
    taken = packages_of(tuple(jars))
    left_out = []
    target.mkdir(parents=True)
    for path in sorted(classes.rglob("*")):
        place = path.relative_to(classes)
        if path.is_symlink() or not path.is_file():
            continue
        if is_left_out(place.as_posix(), taken):
            left_out.append(place.as_posix())
            continue
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / place)
    return tuple(left_out)


def is_left_out(place: str, taken: frozenset[str]) -> bool:
    """Whether tests must not see a submission's file at *place* of its class path."""
    path = PurePosixPath(place)
    folder = str(path.parent)
    if folder == _SERVICES:
        return path.name.startswith(_LISTENING)
    return place == _CONFIGURATION or (path.suffix == _CLASS and (folder in taken or path.stem == "module-info"))


@functools.lru_cache(maxsize=16)
def packages_of(jars: tuple[Path, ...]) -> frozenset[str]:
    """Return the folders in which *jars* have classes."""
    found: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            found.update(name.rpartition("/")[0] for name in archive.namelist() if name.endswith(_CLASS))
    return frozenset(found - {""})


def java_runner_digest() -> str:
    return digest_bytes(source_of(JAVA_RUNNER))


async def run_java_tests(
    folder: Path, expected: int, installed: JavaInstalled, lifecycle: Lifecycle, context: GradingContext
) -> TestRun:
    """Run the hidden tests in *folder* (`src/test`), all in one slot of the machine.

    Raises `TaskError` where they are not *expected* many.
    """
    async with context.slots.taken():
        return await _run(folder, expected, installed, lifecycle, context)


async def _run(
    folder: Path, expected: int, installed: JavaInstalled, lifecycle: Lifecycle, context: GradingContext
) -> TestRun:
    began = time.monotonic()
    texts = await asyncio.to_thread(sources, folder)
    named = await asyncio.to_thread(named_tests, texts)
    varied = await asyncio.to_thread(varied_tests, texts)
    if len(named) != expected and not (varied and len(set(named) - varied) <= expected):
        raise TaskError(f"the hidden tests name {len(named)} and the task's record {expected}; mend the record")
    repository = installed.repository
    if repository is None:
        return _nothing(named, installed.message or "nothing could be installed", began)
    project = context.scratch / "tested"
    left_out = await in_thread(_lay_out, installed.tree, repository, project)
    tested = Tested(project=project, repository=repository, resources=folder / "resources")
    compiled = await compile_tests(texts, tested, context)
    log = "".join(f"not shown to the tests: {place}\n" for place in left_out[:100]).encode() + compiled.log
    if compiled.tests is None:
        # Where its own sources do not compile, that is the cause: tests then miss all of its classes.
        own = installed.message if installed.outcome is InstallOutcome.FAILED else ""
        run = _nothing(named, own or compiled.message, began)
    else:
        report, result = await run_compiled(compiled, named, tested, lifecycle, context)
        log += result.stdout + result.stderr
        run = decided(named, report, result)
        said = result.stdout + result.stderr
        run = run.but(
            results=await asyncio.to_thread(led_back, run.results, report.frames, texts, installed.tree, said)
        )
        ended = run.stopped is None or run.timed_out
        passed = [test for test in named if ended and test in report.passed]
        if passed:
            run = believed(run, await checked(passed, texts, _running(tested, lifecycle, context)))
    return run.but(seconds=time.monotonic() - began, log=middle_cut(log, lifecycle.log_bytes))


def _running(tested: Tested, lifecycle: Lifecycle, context: GradingContext) -> Run:
    """Return what compiles and runs tests of a check; what they print goes nowhere."""

    async def run(texts: Mapping[str, bytes], looked_at: Collection[str]) -> Collection[str]:
        compiled = await compile_tests(texts, tested, context)
        if compiled.tests is None:
            return ()
        report, _ = await run_compiled(compiled, looked_at, tested, lifecycle, context)
        return report.passed

    return run


def decided(named: tuple[str, ...], report: JavaReport, result: CommandResult) -> TestRun:
    """Return what each of the tests *named* did: nothing passed without an end, unless time was up.

    One that ran several times is as many tests, as Surefire counts them.
    """
    timed_out = result.ending.is_out_of_time
    ended = report.complete or timed_out
    results = {}
    for test in named:
        said = _said(test, report, timed_out)
        for number, found in enumerate(said, start=1):
            name = test if len(said) == 1 else f"{test}[{number}]"
            is_early = found.outcome == "passed" and not ended
            results[NumberedTest.of(name)] = Result(outcome="error", message=_BEFORE) if is_early else found
    stopped = None
    if not ended:
        stopped = f"{_BEFORE}: their process ended ({result.ending}, exit code {result.exit_code})"
    elif timed_out:
        stopped = "their time was up"
    has_left = not report.complete and report.each and result.exit_code == 0
    return TestRun(
        results=results,
        collected=len(results),
        stopped=stopped,
        timed_out=timed_out,
        signs=as_fact(["results without an end, from a process that left with 0"] if has_left else []),
    )


def believed(run: TestRun, found: Belief) -> TestRun:
    """Return *run* with what a check found; no test counts where that is `tampered`."""
    update: dict[str, object] = {"integrity": found.answer, "integrity_why": found.why}
    if found.why is not None:
        update["signs"] = as_fact([found.why])
    if found.answer == TAMPERED:
        lost = Result(outcome="error", message=found.why or TAMPERED)
        update["results"] = {test: lost if one.outcome == "passed" else one for test, one in run.results.items()}
    return run.but(**update)


def _said(test: str, report: JavaReport, timed_out: bool) -> list[Result]:
    """Return what a test did, each time that it ran."""
    each = report.each.get(test, ())
    said = [
        Result.model_validate({"outcome": outcome, "message": message, "duration_s": seconds})
        for outcome, message, seconds in each
    ]
    if test == report.running:
        said.append(Result(outcome="error", message="hung" if timed_out else "ended the test process"))
    if said:
        return said
    place = test.partition("#")[0]
    why = report.broken_classes.get(place) or report.broken_classes.get(place.partition("$")[0])
    return [Result(outcome="error", message=why or "it did not run")]


def _nothing(named: tuple[str, ...], why: str, began: float) -> TestRun:
    """Return what becomes of tests that cannot be tried: each counts, none passed."""
    results: Mapping[NumberedTest, Result] = {
        NumberedTest.of(test): Result(outcome="error", message=why) for test in named
    }
    return TestRun(
        results=dict(results), collection_errors={"hidden tests": why}, seconds=time.monotonic() - began
    )


@reading_submission("the compiled project")
def _lay_out(tree: Path, repository: MavenRepository, project: Path) -> tuple[str, ...]:
    """Write the project as tests see it: without tests, build output and classes but those that may be shown."""
    copy_tree(tree, project)
    classes = tree / "target/classes"
    target = project / "target"
    if target.is_symlink():
        target.unlink()
    elif target.exists():
        remove_tree(target)
    for stray in [path for path in project.rglob("*.class") if path.is_file() or path.is_symlink()]:
        stray.unlink()
    jars = (repository.layer.path / place for place in (*repository.runner, *repository.test_classpath))
    if not classes.is_dir() or classes.is_symlink():
        (target / "classes").mkdir(parents=True)
        return ()
    left_out = shown_classes(classes, jars, target / "classes")
    for path in target.rglob("*"):
        if path.is_dir():
            shutil.copymode(tree, path)
    return left_out
