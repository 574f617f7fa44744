"""Running hidden HTTP tests in a sandbox of their own, beside the service in its pod.

The trusted runner of `grading.library` runs them. Here nothing untrusted is in its process: what it says is so,
also of a run that did not come to its end. A test that hangs or ends the process counts as an error, and the run
goes on with those that had not been tried.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import Field

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import InfrastructureError, SandboxError
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.domain.verdicts import UNPASSABLE, TestResult
from groundup.environments.requests import PythonEnvironment
from groundup.grading.guesses import SecondTests
from groundup.grading.last_words import PARTING_SIGNAL, LastWords, middle_cut, pytest_words, stop_of
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import COMPLETE, Result, RunnerReport, report_of
from groundup.grading.services.records import Lifecycle, ServiceTests
from groundup.inside import source_of
from groundup.sandbox.protocol import (
    WORKSPACE,
    Closing,
    Command,
    CommandResult,
    Ending,
    Mount,
    Pod,
    Sandbox,
    SandboxSpec,
)
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread

TRUSTED = "/opt/groundup"
_REPORT_FD = 3
_HOME = "/tmp/home"  # noqa: S108 - inside the sandbox, where /tmp is private
_MAX_ROUNDS = 20
_PROGRAMS = ("runner.py", "demands.py", "exchanges.py")
_WANTED_ENDS = ("SystemExit", "KeyboardInterrupt", "Exit")
"""Exceptions by which hidden tests themselves end the session, for instance when the service is gone."""


class TestRun(Record):
    """How the hidden tests ended."""

    __test__ = False  # not a pytest class

    results: dict[NumberedTest, Result] = {}
    collected: int = 0
    collection_errors: dict[str, str] = {}
    stopped: str | None = Field(default=None, description="why some were never tried")
    timed_out: bool = False
    seconds: float = 0.0
    signs: str | None = Field(default=None, description="of tampering; None where nothing can tamper with the run")
    integrity: str | None = Field(
        default=None,
        description="clean, suspect or tampered, as a check of the run says; None: nothing was checked",
    )
    integrity_why: str | None = Field(default=None, description="one sentence, unless it is clean")
    log: bytes = b""

    def count(self, *outcomes: str) -> int:
        return sum(result.outcome in outcomes for result in self.results.values())

    def skips(self) -> dict[str, int]:
        """Return the reasons of skipped tests with their numbers, the most frequent first."""
        counts: dict[str, int] = {}
        for result in self.results.values():
            if result.outcome == "skipped":
                counts[result.message] = counts.get(result.message, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def as_records(self, unpassable: Collection[str] = ()) -> tuple[TestResult, ...]:
        """Return one record per test that is known by name.

        Lost ones of *unpassable* say that no submission passes them, and lead to no line of this one.
        """
        records = []
        for test, result in sorted(self.results.items()):
            is_passable = str(test) not in unpassable
            record = TestResult(
                id=str(test),
                outcome=result.outcome,
                expected=True,
                duration_s=result.duration_s,
                message=result.message if is_passable else f"{UNPASSABLE}{result.message}",
                detail=result.detail,
                demand=result.demand,
                calls=result.calls if is_passable else "",
                probably=result.probably if is_passable else "",
            )
            records.append(record)
        return tuple(records)


class ServiceTesting(Closing):
    """Runs hidden tests beside a service; the sandbox of the first round can be opened while that one starts."""

    def __init__(
        self,
        tests: ServiceTests,
        environment: PythonEnvironment,
        pod: Pod,
        lifecycle: Lifecycle,
        scratch: Path,
        again: SecondTests | None = None,
    ) -> None:
        self._tests = tests
        self._environment = environment
        self._pod = pod
        self._lifecycle = lifecycle
        self._scratch = scratch
        self._again = again
        self._ready: asyncio.Future[Sandbox] | None = None

    def prepare(self) -> None:
        """Begin to open a sandbox: an engine of containers takes longer than anything else on the way."""
        self._ready = asyncio.ensure_future(self._open())

    async def run(self, allowed_s: float | None = None) -> TestRun:
        """Run all of the tests, going on after those that end the process. Raises `SandboxError`."""
        began = time.monotonic()
        at_step("hidden tests")
        left_s = allowed_s = allowed_s or self._lifecycle.tests_s
        gathered = _Gathered()
        for _ in range(_MAX_ROUNDS):
            if left_s <= 0:
                gathered.stop(f"all tests together had {allowed_s:.0f} s", timed_out=True)
                break
            report, result = await self._once(gathered, left_s)
            if gathered.add(report, result, stop_of(result, self._lifecycle.one_test_s, left_s)):
                break
            left_s -= result.counted_s
        else:
            gathered.stop(f"{_MAX_ROUNDS} tests ended the test process")
        return gathered.run(time.monotonic() - began, self._lifecycle.log_bytes)

    async def places(self, allowed_s: float) -> Mapping[NumberedTest, str]:
        """Return where the lost ones of tests that run once more were probably lost, as `file:line: text`."""
        report, _ = await self._once(_Gathered(), allowed_s)
        return {test: result.probably for test, result in report.results.items() if result.probably}

    async def _once(self, gathered: "_Gathered", left_s: float) -> tuple[RunnerReport, CommandResult]:
        token = secrets.token_hex(16)
        self._ready = self._ready or asyncio.ensure_future(self._open())
        try:
            sandbox = await self._ready
            command = _command(self._tests, self._environment, self._lifecycle, gathered, token, self._again)
            result = await sandbox.run(command.but(timeout_s=left_s))
        finally:
            await self.close()
        return await asyncio.to_thread(report_of, result, token), result

    async def _open(self) -> Sandbox:
        room = self._scratch / f"tests-{secrets.token_hex(4)}"
        try:
            spec = await asyncio.to_thread(
                _spec, room, self._tests, self._environment, self._lifecycle, self._again
            )
            return await self._pod.open(spec)
        except BaseException:
            await in_thread(remove_tree, room)
            raise

    async def close(self) -> None:
        """Close a sandbox that was prepared, and remove its files."""
        ready, self._ready = self._ready, None
        if ready is None:
            return
        ready.cancel()
        await asyncio.wait([ready])
        if not ready.cancelled() and ready.exception() is None:
            sandbox = ready.result()
            await sandbox.close()
            await in_thread(remove_tree, sandbox.spec.workspace.parent)


class _Gathered:
    """What all rounds reported together."""

    def __init__(self) -> None:
        self.tried: list[NumberedTest] = []
        self._results: dict[NumberedTest, Result] = {}
        self._collected = 0
        self._errors: dict[str, str] = {}
        self._stopped: str | None = None
        self._timed_out = False
        self._log = bytearray()

    def stop(self, why: str, *, timed_out: bool = False) -> None:
        """Say why the rest is not tried."""
        self._stopped = why
        self._timed_out |= timed_out

    def add(self, report: RunnerReport, result: CommandResult, stop: LastWords) -> bool:
        """Take one round in, and how its last test stopped it; return whether it was the last round."""
        if result.ending is Ending.SANDBOX_DIED:
            raise SandboxError("the tests' sandbox died; repeat the attempt, and see `groundup doctor`")
        self._log += result.stdout + result.stderr
        self._errors.update(report.collection_errors)
        for test, words in report.results.items():
            # The first result stands: what was tried once is not tried again in later rounds.
            self._results.setdefault(test, words)
            self.tried.append(test)
        self._collected = max(self._collected, len(self._results), (report.collected or 0))
        if report.exit_code in COMPLETE and result.ending is Ending.EXITED:
            return True
        if report.running is None:
            self._stopped = _why(report, result)
            self._timed_out |= result.ending.is_out_of_time
            return True
        self._timed_out |= result.ending.is_out_of_time
        self._results[report.running] = Result(outcome="error", message=str(stop), detail=stop.detail)
        self.tried.append(report.running)
        return False

    def run(self, seconds: float, log_bytes: int) -> TestRun:
        """Return the finished record."""
        return TestRun(
            results=self._results,
            collected=self._collected,
            collection_errors=self._errors,
            stopped=self._stopped,
            timed_out=self._timed_out,
            seconds=seconds,
            log=middle_cut(bytes(self._log), log_bytes),
        )


def _why(report: RunnerReport, result: CommandResult) -> str:
    if report.broken_off is not None:
        if not report.broken_off.startswith(_WANTED_ENDS):
            raise InfrastructureError(
                f"the test runner failed with {report.broken_off}; this is a fault of groundup or of the tests"
            )
        return f"the test session was broken off by {report.broken_off}"
    if result.ending is not Ending.EXITED:
        return f"the tests were stopped: {result.ending}"
    code = report.exit_code if report.exit_code is not None else result.exit_code
    words = pytest_words(result.stdout + b"\n" + result.stderr)
    return f"pytest gave up with exit code {code}" + (f": {words}" if words else "")


def _spec(
    room: Path,
    tests: ServiceTests,
    environment: PythonEnvironment,
    lifecycle: Lifecycle,
    again: SecondTests | None,
) -> SandboxSpec:
    workspace, trusted = room / "workspace", room / "trusted"
    programs = {name: source_of(name) for name in _PROGRAMS}
    _write(workspace, {**tests.beside})
    _write(trusted, {**programs, **(again.listener.files if again else {}), "pytest.ini": b"[pytest]\n"})
    return SandboxSpec(
        workspace=workspace,
        mounts=(
            *environment.mounts,
            Mount(source=trusted, target=TRUSTED),
            Mount(source=tests.folder, target=f"{WORKSPACE}/{tests.place}"),
            *(again.mounts if again else ()),
        ),
        environment={
            **environment.environment,
            "HOME": _HOME,
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            **tests.variables,
        },
        path=environment.path,
        # Each run has a time of its own; the sandbox may have been opened before the service started.
        limits=lifecycle.tests.for_command(
            lifecycle.tests_s, spare_s=lifecycle.overall_s, output_bytes=lifecycle.log_bytes
        ),
        label="service tests",
    )


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _command(
    tests: ServiceTests,
    environment: PythonEnvironment,
    lifecycle: Lifecycle,
    gathered: _Gathered,
    token: str,
    again: SecondTests | None,
) -> Command:
    spec = {
        "report_fd": _REPORT_FD,
        "token": token,
        "arguments": [
            *("-c", f"{TRUSTED}/pytest.ini", f"--rootdir={WORKSPACE}", f"--confcutdir={WORKSPACE}"),
            *("-p", "no:cacheprovider", "-q", "--tb=short", "--disable-warnings"),
            "--continue-on-collection-errors",
            f"{WORKSPACE}/{tests.place}",
        ],
        "plugins": tests.plugins,
        "own_plugins": [],
        "late_filters": [],
        "packages": [],
        "import_path": [f"{WORKSPACE}/{folder}" for folder in tests.python_path],
        "path_order": "last",
        "trusted": [f"{WORKSPACE}/{folder}" for folder in (tests.place, *tests.python_path)],
        "folders": [_HOME],
        "cwd": WORKSPACE,
        "stdin": "empty",
        "parting_signal": PARTING_SIGNAL,
        "demands": f"{TRUSTED}/demands.py",
        "exchanges": f"{TRUSTED}/exchanges.py",
        "left_out_tests": gathered.tried,
        "left_out_files": [],
        **({} if again is None else _once_more(again)),
    }
    return Command(
        argv=(environment.executable, "-s", "-B", f"{TRUSTED}/runner.py"),
        stdin=json.dumps(spec).encode(),
        report_fd=_REPORT_FD,
        silence_s=lifecycle.one_test_s,
        parting_signal=PARTING_SIGNAL,
    )


def _once_more(again: SecondTests) -> dict[str, object]:
    chosen = [[test.id, test.ordinal] for test in again.tests]
    return {"chosen": chosen, **again.listener.asked(TRUSTED, again.limit_s)}


def runner_digest() -> str:
    return digest_bytes(b"".join(map(source_of, _PROGRAMS)))
