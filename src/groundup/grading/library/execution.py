"""Running the hidden tests in a sandbox of their own until they finish, leaving out those that end the process.

A test that crashes, exits or hangs would otherwise cost all others their result. It counts as failed; the whole
suite is run again without it, in a fresh sandbox, so that what counts always comes from one run that was complete.

Where a recipe names compiled modules, the submission is built first, in a sandbox of its own. Its tests get a copy
with the compiled files alone, whatever else the build did; when the build fails, they run without them.
"""

import asyncio
import json
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from groundup.domain.limits import Limits
from groundup.environments.bytecode import bytecode_for
from groundup.environments.requests import PYTHON_TARGET, PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.guesses import guesser
from groundup.grading.last_words import PARTING_SIGNAL, LastWords, middle_cut, stop_of
from groundup.grading.library.composition import Dropped
from groundup.grading.library.decision import FatalTest
from groundup.grading.library.hidden import (
    MAX_ID_CHARS,
    Extensions,
    HiddenTests,
    LibraryUnderTest,
    NumberedTest,
    shortened,
)
from groundup.grading.library.report import COMPLETE, INTERRUPTED, RunnerReport, report_of
from groundup.grading.library.staging import (
    COMPILED_RUNNER,
    DEMANDS,
    EXCHANGES,
    FAILING,
    HOME,
    LACKING,
    RUNNER,
    TRUSTED,
    UNDOING,
    import_path,
    inside,
    lay_tests,
    stage,
)
from groundup.inside import source_of
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, SandboxSpec
from groundup.trees.walking import FOLDER, remove_tree, walk
from groundup.trees.writer import copy_tree, in_thread

LARGEST = 64 * 1024 * 1024
"""Bytes of one compiled file."""
_MOST = 64


async def compiled(
    submission: Path,
    extensions: Extensions,
    environment: PythonEnvironment,
    context: GradingContext,
    scratch: Path,
) -> tuple[Path, CommandResult]:
    """Return a copy of *submission* with its compiled extensions, and how the build went."""
    room = scratch / f"build-{secrets.token_hex(4)}"
    await in_thread(copy_tree, submission, room)
    spec = SandboxSpec(
        workspace=room,
        mounts=environment.mounts,
        environment={**environment.environment, **_variables(environment)},
        path=environment.path,
        limits=Limits(
            memory_mb=2048, command_s=extensions.timeout_s, wall_clock_s=extensions.timeout_s + 30, disk_mb=2048
        ),
        system="host",
        label="extensions",
    )
    async with await context.provider.open(spec) as sandbox:
        result = await sandbox.run(Command(argv=(environment.executable, *extensions.command)))
    # The build ran code of the submission's, which may have changed anything in its folder. So its outputs go into
    # a fresh copy of what was handed in.
    copy = scratch / f"compiled-{secrets.token_hex(4)}"
    await in_thread(copy_tree, submission, copy)
    await in_thread(_take, room, copy, extensions)
    return copy, result


async def with_extensions(library: LibraryUnderTest, context: GradingContext, scratch: Path) -> LibraryUnderTest:
    """Return *library* with its extensions compiled, below *scratch*, so that nothing is left to compile."""
    hidden = library.hidden
    if hidden.extensions is None:
        return library
    submission, _ = await compiled(library.submission, hidden.extensions, library.environment, context, scratch)
    return library._replace(submission=submission, hidden=hidden.but(extensions=None))


def _variables(environment: PythonEnvironment) -> dict[str, str]:
    minor = ".".join(environment.python_version.split(".")[:2])
    return {
        "HOME": "/tmp",  # noqa: S108 - inside the sandbox, where /tmp is private
        "TMPDIR": "/tmp",  # noqa: S108 - the same
        # An interpreter names the headers where it was installed, not where it is seen.
        "CPATH": f"{PYTHON_TARGET}/include/python{minor}",
    }


def _take(room: Path, copy: Path, extensions: Extensions) -> None:
    """Copy what was compiled, where the copy has a folder for it and nothing of that name."""
    for number, (path, content) in enumerate(_built(room, extensions)):
        target = copy / path
        if number < _MOST and target.parent.is_dir() and not target.parent.is_symlink() and not target.exists():
            target.write_bytes(content)


def _built(room: Path, extensions: Extensions) -> Iterator[tuple[PurePosixPath, bytes]]:
    descriptor = os.open(room, FOLDER)
    try:
        for entry in walk(descriptor, 101):
            path = PurePosixPath("/".join(entry.parts))
            if entry.kind == "file" and _is_named(path, extensions) and entry.size <= LARGEST:
                with os.fdopen(entry.open(), "rb") as file:
                    yield path, file.read(LARGEST)
    finally:
        os.close(descriptor)


def _is_named(path: PurePosixPath, extensions: Extensions) -> bool:
    return any(path.match(pattern) and len(path.parts) == pattern.count("/") + 1 for pattern in extensions.outputs)


REPORT_FD = 3
HASH_SEED = "0"
"""Of every run: the order of a set must not decide a point."""
_LOG_BYTES = 256 * 1024


class Execution(NamedTuple):
    """One run of the hidden tests: what was reported, how the process ended, what was in the sandbox."""

    report: RunnerReport
    result: CommandResult
    peak_memory_mb: float | None = None
    ended: tuple[FatalTest, ...] = ()
    """Tests that ended earlier runs of the same submission, and were left out of this one."""
    kept: frozenset[str] = frozenset()
    """Paths of the submission that were in the sandbox."""
    dropped: tuple[Dropped, ...] = ()
    """Those that were not, and why."""


class Overlay(NamedTuple):
    """What differs in a run from the one that counts."""

    changed: Mapping[str, bytes] = MappingProxyType({})
    """Path -> text in place of the original's."""
    renamed: Mapping[NumberedTest, NumberedTest] = MappingProxyType({})
    """What tests are called in this run -> their own names."""
    chosen: tuple[NumberedTest, ...] | None = None
    """The tests that run; None: all."""
    collects_all: bool = False
    """Whether other files than those of the chosen tests are imported, too."""
    failing: tuple[NumberedTest, ...] = ()
    """Tests made to fail as they return."""
    one_test_s: float | None = None
    """After which a test fails; None: as the recipe says."""
    failed: tuple[NumberedTest, ...] = ()
    """Tests that failed in the run that counts; what they leave in writable folders stays there."""

    @property
    def counts(self) -> bool:
        """Whether points may come from such a run: it is of all tests as they are."""
        return self == Overlay()


async def run_hidden_tests(
    library: LibraryUnderTest,
    context: GradingContext,
    overlay: Overlay = Overlay(),  # noqa: B008 - a frozen record
    ended: tuple[FatalTest, ...] = (),
) -> Execution:
    """Compose *library*'s submission with the original's tests and run them without those that *ended* a run.

    What was laid out is removed. A run that does not count is one of those that have begun, if there is any.
    """
    begun = None if ended or overlay.counts or overlay.failing else _ready(library)
    if begun is None:
        return await _executed(library, context, overlay, ended)
    begun.overlay.set_result(overlay)
    return await begun.execution


class BegunRun:
    """A run whose interpreter starts, gets pytest ready and waits in its sandbox to be told what it runs.

    Nothing of the submission can be imported there until then. Its *library* has no extensions to compile, and no
    tests among writable files.
    """

    def __init__(self, library: LibraryUnderTest, context: GradingContext) -> None:
        self.library = library
        self.overlay: asyncio.Future[Overlay] = asyncio.get_running_loop().create_future()
        self.waits = asyncio.Event()
        self.execution = asyncio.create_task(_executed(library, context, Overlay(), begun=self))
        self._began_s = time.monotonic()

    @property
    def is_usable(self) -> bool:
        """Whether nobody uses it, it has not failed, nor waited for so long that the end of its time is near."""
        is_idle = not self.overlay.done() and not self.execution.done()
        return is_idle and time.monotonic() - self._began_s < _WAITS_S

    async def told(self) -> Overlay:
        """Wait for what it runs."""
        self.waits.set()
        return await self.overlay


_WAITS_S = 300.0
_APART_S = 0.4
"""For about so long an interpreter wants a processor until pytest is ready."""


class _Beginning(NamedTuple):
    """Runs that begin beside the one that counts, once that has its processor."""

    every: list[BegunRun]
    counted: asyncio.Event


_BEGINNING: ContextVar[_Beginning | None] = ContextVar("runs that begin", default=None)


@asynccontextmanager
async def runs_begun(
    library: LibraryUnderTest, context: GradingContext, number: int, meanwhile: Callable[[], object]
) -> AsyncIterator[None]:
    """Have so many runs of *library* begin where nobody wants a processor; at the end, end those left.

    *meanwhile* is called there, too, in a thread, once the first of them needs nothing more of ours.

    The first that counts is under way before; runs inside that do not count use those that have begun.
    """
    number = 0 if library.hidden.writable or library.hidden.extensions else number
    every: list[BegunRun] = []
    counted = asyncio.Event()

    async def begin() -> None:
        await counted.wait()
        for nth in range(number):
            if context.slots.all_taken or any(begun.overlay.done() for begun in every):
                return
            every.append(BegunRun(library, context))
            await every[-1].waits.wait()
            ahead = [] if nth else [asyncio.to_thread(meanwhile)]
            await asyncio.gather(asyncio.sleep(_APART_S), *ahead)

    mark = _BEGINNING.set(_Beginning(every, counted))
    beginning = asyncio.create_task(begin())
    try:
        yield
    finally:
        _BEGINNING.reset(mark)
        beginning.cancel()
        for begun in every:
            begun.execution.cancel()
        await asyncio.gather(beginning, *(begun.execution for begun in every), return_exceptions=True)


def _ready(library: LibraryUnderTest) -> BegunRun | None:
    beginning = _BEGINNING.get()
    every = () if beginning is None else beginning.every
    return next((begun for begun in every if begun.library is library and begun.is_usable), None)


async def _executed(
    library: LibraryUnderTest,
    context: GradingContext,
    overlay: Overlay,
    ended: tuple[FatalTest, ...] = (),
    begun: BegunRun | None = None,
) -> Execution:
    hidden, environment = library.hidden, library.environment
    scratch = context.scratch / f"tests-{secrets.token_hex(4)}"
    scratch.mkdir(parents=True)
    try:
        library = await with_extensions(library, context, scratch)
        # The same program each time: what its compilation takes, every run of tests would.
        compiled_runner = await bytecode_for(environment, source_of(RUNNER), f"{TRUSTED}/{RUNNER}")
        changed = overlay.changed if begun is None else None
        whole, composed = await in_thread(
            partial(stage, library, scratch, changed, compiled_runner, context.timeout_s)
        )
        # Marks the runner's lines. It comes by standard input, which is read to its end before the submission is
        # imported.
        token = secrets.token_hex(16)
        spec, variables = without_python_variables(whole)
        program = RUNNER if compiled_runner is None else COMPILED_RUNNER
        command = Command(
            argv=(environment.executable, "-s", "-B", f"{TRUSTED}/{program}"),
            cwd=inside(hidden.cwd),
            report_fd=REPORT_FD,
            parting_signal=PARTING_SIGNAL,
            silence_s=test_timeout_s(hidden, context),
        )

        async def told_later(begun: BegunRun) -> bytes:
            overlay = await begun.told()
            await in_thread(lay_tests, library, scratch, composed, overlay.changed)
            return json.dumps(_chosen(hidden, overlay)).encode()

        asked = _asked(hidden, overlay if begun is None else _LATER, token, ended, variables)
        command = command.but(stdin=asked, stdin_later=None if begun is None else partial(told_later, begun))
        async with await context.provider.open(spec) as sandbox:
            if (beginning := _BEGINNING.get()) is not None:
                beginning.counted.set()
            result = await sandbox.run(command)
            peak = sandbox.usage().peak_memory_mb
            reading = asyncio.create_task(asyncio.to_thread(report_of, result, token))  # while it is cleared away
    finally:
        await in_thread(remove_tree, scratch)
    return Execution(await reading, result, peak, ended, composed.kept, composed.dropped)


def test_timeout_s(hidden: HiddenTests, context: GradingContext) -> float:
    """Return how long one test may take: a third of what all may, so that time is left when it hangs."""
    return (context.timeout_s or hidden.timeout_s) / 3


def sandbox_to_look_around(library: LibraryUnderTest, scratch: Path) -> SandboxSpec:
    """Return the sandbox that the hidden tests of *library* have, laid out below *scratch*, for a person's day."""
    return stage(library, scratch, timeout_s=24 * 3600.0)[0]


def logs_of(execution: Execution) -> dict[str, bytes]:
    """Return what a person may want to read afterwards. Nothing is decided from it."""
    logs = {"stdout.txt": execution.result.stdout, "stderr.txt": execution.result.stderr}
    return {name: middle_cut(text, _LOG_BYTES) for name, text in logs.items() if text}


def without_python_variables(spec: SandboxSpec) -> tuple[SandboxSpec, dict[str, str]]:
    """Return *spec* with one variable for Python, and those that the runner gives to tests once it has started.

    So the runner imports nothing of a submission by them, and sets and dictionaries have the same order each time.
    """
    variables = {name: value for name, value in spec.environment.items() if name.startswith("PYTHON")}
    others = {name: value for name, value in spec.environment.items() if name not in variables}
    kept = {"PYTHONHASHSEED": variables.get("PYTHONHASHSEED", HASH_SEED)}
    return spec.but(environment={**others, **kept}), variables


def _asked(
    hidden: HiddenTests,
    overlay: Overlay,
    token: str,
    ended: tuple[FatalTest, ...],
    variables: dict[str, str],
) -> bytes:
    """Return the first line that the runner reads: all, but for a run of which something is known later."""
    arguments = [
        *("-c", f"{TRUSTED}/pytest.ini", f"--rootdir={WORKSPACE}", f"--confcutdir={WORKSPACE}"),
        *("-p", "no:cacheprovider", "-q", "--continue-on-collection-errors"),
        # Values and tracebacks are for people, who see the run that counts.
        *((f"--assert={hidden.assertions}", "--tb=short") if overlay.counts else ("--assert=plain", "--tb=no")),
        *(inside(path) for path in hidden.arguments),
    ]
    listener = guesser().listener() if overlay.counts else None
    spec = {
        "report_fd": REPORT_FD,
        "token": token,
        "arguments": arguments,
        "environment": variables,
        "plugins": hidden.plugins,
        "own_plugins": hidden.own_plugins,
        "late_filters": hidden.late_filters,
        "packages": hidden.packages,
        "import_path": import_path(hidden.import_roots),
        "path_order": hidden.path_order,
        "trusted": [f"{TRUSTED}/metadata", *(inside(path) for path in hidden.protected)],
        "folders": [HOME],
        "cwd": inside(hidden.cwd),
        "stdin": hidden.stdin,
        "parting_signal": PARTING_SIGNAL,
        "failing": overlay.failing,
        "failing_plugin": f"{TRUSTED}/{FAILING}",
        # What a test with a false form leaves there no true one is to meet.
        "undone": [] if overlay.counts else [inside(path) for path in hidden.writable],
        "undoing_plugin": f"{TRUSTED}/{UNDOING}",
        "failed_before": [test.id for test in overlay.failed],
        # What tests demanded is for people, too.
        "demands": f"{TRUSTED}/{DEMANDS}" if overlay.counts else None,
        "exchanges": f"{TRUSTED}/{EXCHANGES}" if overlay.counts and hidden.ask_service else None,
        "lacking": f"{TRUSTED}/{LACKING}",
        **({} if listener is None else listener.asked(TRUSTED, hidden.timeout_s / 2)),
        **_chosen(hidden, overlay),
        "left_out_tests": [end.test for end in ended if not end.whole_file],
        "left_out_files": [end.test.file for end in ended if end.whole_file],
    }
    return json.dumps(spec).encode() + b"\n"


_LATER = Overlay(chosen=())
"""Of a run that does not count, which is told later what it runs."""


def _chosen(hidden: HiddenTests, overlay: Overlay) -> dict[str, object]:
    """Return which tests run, under which names and for how long: what a run that has begun is told later."""
    collects_all = overlay.chosen is None or overlay.collects_all
    # pytest knows no argument below a file that has nothing.
    names_tests = any("::" in path for path in hidden.arguments)
    return {
        "chosen": overlay.chosen,
        "chosen_files": None
        if collects_all or names_tests
        else sorted({test.file for test in overlay.chosen or ()}),
        "wanted": _wanted(hidden, overlay),
        "one_test_s": overlay.one_test_s or hidden.one_test_s,
        "case_order": _case_order(hidden, overlay),
    }


def _wanted(hidden: HiddenTests, overlay: Overlay) -> list[str] | None:
    """Return the ids of the classes and functions in which chosen tests are; None: any may have one.

    That holds for plug-ins under test, which make items in their own way, and for names that were cut too early.
    """
    if overlay.chosen is None or overlay.collects_all or hidden.own_plugins:
        return None
    found: dict[str, None] = {}
    for test in overlay.chosen:
        name = test.without_parameters
        if name == test.id and len(name) > MAX_ID_CHARS - 20:
            return None
        while "::" in name:
            found[name] = None
            name = name.rpartition("::")[0]
    return list(found)


def _case_order(hidden: HiddenTests, overlay: Overlay) -> dict[str, list[str]]:
    """Return the ids of the cases that count by their place, as this run calls them."""
    called = {own.id: called.id for called, own in overlay.renamed.items()}
    ids = {name: [shortened(f"{name}[{case}]") for case in cases] for name, cases in hidden.case_order.items()}
    return {name: [called.get(one, one) for one in cases] for name, cases in ids.items()}


SINGLE_TESTS = 4
"""After so many tests that end the process, each further one takes its whole file with it."""
TIME_FACTOR = 4
"""All rounds together may take so many times what one may."""


async def run_to_the_end(
    library: LibraryUnderTest,
    context: GradingContext,
    overlay: Overlay = Overlay(),  # noqa: B008 - a frozen record
) -> Execution:
    """Run the hidden tests, leaving out one more that ends the process each time; return the last run."""
    most = context.repeats.rounds if overlay.chosen is None else context.repeats.check_rounds
    spent_s = 0.0
    allowed_s = TIME_FACTOR * (context.timeout_s or library.hidden.timeout_s)
    ended: tuple[FatalTest, ...] = ()
    while True:
        last = await run_hidden_tests(library, context, overlay, ended)
        culprit = _culprit(last, library.hidden, context, whole_file=len(ended) >= SINGLE_TESTS)
        spent_s += last.result.counted_s
        if culprit is None or len(ended) + 1 >= most or spent_s > allowed_s:
            return last
        if any(culprit.leaves_out == end.leaves_out for end in ended):
            return last  # it was to be left out, and reports that it ran
        ended = (*ended, culprit)


def _culprit(
    execution: Execution, hidden: HiddenTests, context: GradingContext, *, whole_file: bool
) -> FatalTest | None:
    """Return the test that ended the process or its session; None when none did."""
    report, result = execution.report, execution.result
    test = report.running
    if test is None and report.exit_code == INTERRUPTED:  # by a KeyboardInterrupt, of the test reported last
        test = next(reversed(report.results), None)
    complete = report.exit_code in COMPLETE and result.ending is Ending.EXITED
    if complete or result.ending is Ending.SANDBOX_DIED or test is None:
        return None
    stop = stop_of(result, test_timeout_s(hidden, context), context.timeout_s or hidden.timeout_s)
    if report.broken_off is not None or report.exit_code == INTERRUPTED:
        stop = LastWords(f"broke the tests off by {report.broken_off or 'KeyboardInterrupt'}")
    return FatalTest(test=test, ending=result.ending, whole_file=whole_file, stop=stop)
