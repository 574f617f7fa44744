"""Hidden Java tests over an installed submission: compiled, run, and run again with falsified expectations.

Its classes are loaded into the process of the tests. So nothing of it may stand in for a library: a class in a
package of any jar on the tests' class path is left out, and so is what would make JUnit load further code.

The submission's code lives in the process of its tests, so what comes out of that process is a claim. It counts
for a test only when the same test, falsified, does not pass: then it was the test that decided. Who is seen to
forge two gets nothing, or a coin tossed for each test would win a quarter of what is forged.
"""

import asyncio
import functools
import shutil
import time
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import TaskError, reading_submission
from groundup.environments.requests import MavenRepository
from groundup.grading.bench import Bench
from groundup.grading.java.hidden import ending_tests, named_tests, sources
from groundup.grading.java.installing import JavaInstalled
from groundup.grading.java.running import JavaReport, compile_tests, run_compiled, runner_source
from groundup.grading.last_words import middle_cut
from groundup.grading.library.decision import as_fact
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.services.records import Lifecycle
from groundup.grading.services.testing import TestRun
from groundup.sandbox.protocol import CommandResult
from groundup.trees.removal import remove_tree
from groundup.trees.writer import copy_tree

_SERVICES = "META-INF/services"
_LISTENING = ("org.junit.", "io.quarkus.test.", "org.springframework.test.", "org.testng.")
_CONFIGURATION = "junit-platform.properties"
_CLASS = ".class"


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


FORGED = "it passes with false expectations, too: something else than the test decided"
_LEAST_FORGED = 2
MANY_FORGED = (
    "tests that fail at their end, whatever they expect, were reported as passed: results are being forged"
)
LYING = "a test that cannot pass was reported as passed: results are being forged"
WITHHELD = "a test that must fail was not reported: results are being withheld"
_BEFORE = "the tests did not come to their end"


def java_runner_digest() -> str:
    """Return the digest of the program that runs the tests."""
    return digest_bytes(runner_source())


async def run_java_tests(
    folder: Path, expected: int, installed: JavaInstalled, lifecycle: Lifecycle, bench: Bench
) -> TestRun:
    """Run the hidden tests in *folder* (`src/test`), all in one turn of the bench.

    Raises `TaskError` where they are not *expected* many.
    """
    async with bench.turns.taken():
        return await _run(folder, expected, installed, lifecycle, bench)


async def _run(
    folder: Path, expected: int, installed: JavaInstalled, lifecycle: Lifecycle, bench: Bench
) -> TestRun:
    began = time.monotonic()
    texts = await asyncio.to_thread(sources, folder)
    named = await asyncio.to_thread(named_tests, texts)
    if len(named) != expected:
        raise TaskError(f"the hidden tests name {len(named)} and the task's record {expected}; mend the record")
    repository = installed.repository
    if repository is None:
        return _nothing(named, installed.message or "nothing could be installed", began)
    project = bench.scratch / "tested"
    left_out = await asyncio.to_thread(_lay_out, installed.tree, repository, project)
    compiled = await compile_tests(texts, folder / "resources", project, repository, bench)
    note = "".join(f"not shown to the tests: {place}\n" for place in left_out[:100]).encode()
    if compiled.prepared is None:
        run = _nothing(named, compiled.message, began)
        return run.model_copy(update={"log": middle_cut(note + compiled.log, lifecycle.log_bytes)})
    prepared, allowed_s = compiled.prepared, bench.timeout_s or lifecycle.tests_s
    report, result = await run_compiled(prepared, prepared.tests, named, lifecycle, bench, allowed_s)
    twin: JavaReport | None = None
    log = result.stdout + result.stderr
    # Without a test that passes the twin has nothing to confirm.
    if any(one[0] == "passed" for one in report.outcomes.values()):
        twin, other = await run_compiled(prepared, prepared.twin, named, lifecycle, bench, allowed_s)
        log += b"\n--- with false expectations\n" + other.stdout + other.stderr
    run = decided(named, report, twin, result, prepared.canaries, await asyncio.to_thread(ending_tests, texts))
    log = note + compiled.log + log
    return run.model_copy(
        update={"seconds": time.monotonic() - began, "log": middle_cut(log, lifecycle.log_bytes)}
    )


def decided(
    named: tuple[str, ...],
    report: JavaReport,
    twin: JavaReport | None,
    result: CommandResult,
    canaries: tuple[str, ...] = (),
    ending: Collection[str] = (),
) -> TestRun:
    """Return what each of the tests *named* is worth.

    Nothing where a report lies about *canaries*, or the twin's about several tests that are *ending* by failing.
    """
    lies = [_lie_about(canaries, one) for one in (report, twin) if one is not None]
    lie = next(filter(None, [*lies, _lie_of(twin, ending)]), None)
    timed_out = result.ending.is_out_of_time
    ended = report.complete or timed_out
    results = {}
    for test in named:
        found = _said(test, report, timed_out)
        # In this order, so that the message names the first reason for which a test does not count.
        if found.outcome == "passed" and not ended:
            found = Result(outcome="error", message=_BEFORE)
        if found.outcome == "passed" and twin is not None and twin.outcomes.get(test, ("",))[0] == "passed":
            found = Result(outcome="error", message=FORGED)
        if found.outcome == "passed" and lie is not None:
            found = Result(outcome="error", message=lie)
        results[NumberedTest.of(test)] = found
    stopped = None
    if not ended:
        stopped = f"{_BEFORE}: their process ended ({result.ending}, exit code {result.exit_code})"
    elif timed_out:
        stopped = "their time was up"
    return TestRun(
        results=results,
        collected=len(named),
        stopped=stopped,
        timed_out=timed_out,
        signs=as_fact([*filter(None, [lie]), *_signs(results, report, twin, result)]),
    )


def _lie_about(canaries: tuple[str, ...], report: JavaReport) -> str | None:
    """Say how *report* lies of tests that cannot pass; None where it does not.

    In a class of which another test passed, each must have been reported.
    """
    said = {test: report.outcomes.get(test, ("",))[0] for test in canaries}
    if "passed" in said.values():
        return LYING
    ran = {test.partition("#")[0] for test, words in report.outcomes.items() if words[0] == "passed"}
    withheld = [test for test, outcome in said.items() if not outcome and test.partition("#")[0] in ran]
    return WITHHELD if withheld and report.complete else None


def _lie_of(twin: JavaReport | None, ending: Collection[str]) -> str | None:
    """Say how the *twin* lies of tests that fail at their end there; a single one merely does not count."""
    outcomes = {} if twin is None else twin.outcomes
    passed = [test for test in ending if outcomes.get(test, ("",))[0] == "passed"]
    return MANY_FORGED if len(passed) >= _LEAST_FORGED else None


def _signs(
    results: Mapping[NumberedTest, Result], report: JavaReport, twin: JavaReport | None, result: CommandResult
) -> list[str]:
    found = []
    forged = sum(one.message == FORGED for one in results.values())
    if forged:
        found.append(f"tests that pass with false expectations, too: {forged}")
    if not report.complete and report.outcomes and result.exit_code == 0:
        found.append("results without an end, from a process that left with 0")
    if report.complete and twin is not None and not twin.complete:
        found.append("the run with false expectations had no end")
    return found


def _said(test: str, report: JavaReport, timed_out: bool) -> Result:
    if test in report.outcomes:
        outcome, message, seconds = report.outcomes[test]
        return Result.model_validate({"outcome": outcome, "message": message, "duration_s": seconds})
    if test == report.running:
        return Result(outcome="error", message="hung" if timed_out else "ended the test process")
    place = test.partition("#")[0]
    why = report.broken_classes.get(place) or report.broken_classes.get(place.partition("$")[0])
    return Result(outcome="error", message=why or "it did not run")


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
