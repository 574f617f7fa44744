"""The sandbox in which hidden tests ask a service, and when it is opened."""

import asyncio
import json
import socket
from pathlib import Path
from typing import cast

import pytest
from typing_extensions import override

from groundup.domain.errors import InfrastructureError, SandboxError
from groundup.environments.requests import Layer, PythonEnvironment
from groundup.grading.guesses import RunnerListener, SecondTests
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.services.records import Lifecycle, ServiceTests
from groundup.grading.services.testing import ServiceTesting, TestRun
from groundup.sandbox.protocol import Command, CommandResult, Ending, Mount, Pod, SandboxSpec
from tests.patience import patient
from tests.sandbox.fake import FakeProvider, FakeSandbox, answer


class Opening(FakeProvider):
    """Says when a sandbox was opened."""

    opening = asyncio.Event()

    @override
    def opened(self, spec: SandboxSpec, ports: dict[int, socket.socket]) -> FakeSandbox:
        self.opening.set()
        return super().opened(spec, ports)


def test_a_lost_test_keeps_its_traceback() -> None:
    """Who asks why sees the line of the hidden test and the values, not only the message."""
    detail = "tests/test_a.py:3: in test_x\n    assert d.status_code == 200\nE   assert 405 == 200"
    results = {NumberedTest("tests/test_a.py::test_x"): Result(outcome="failed", message="m", detail=detail)}

    assert [record.detail for record in TestRun(results=results).as_records()] == [detail]


async def test_tests_that_end_the_process_are_no_matter_of_time(tmp_path: Path) -> None:
    """After many of them the rest is not tried: the verdict says so, and does not call it a time limit."""
    begun = iter(range(1000))

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        token = json.loads(command.stdin)["token"]
        said = {"event": "begin", "id": f"tests/test_a.py::test_{next(begun)}", "ordinal": 1}
        return answer(-11, report=f"{token} {json.dumps(said)}\n".encode())

    pod = cast(Pod, await FakeProvider(script).pod())
    async with _testing(tmp_path, pod) as testing:
        ended = await testing.run(7.0)
    assert ended.stopped == "20 tests ended the test process"
    assert (ended.count("error"), ended.timed_out) == (20, False)


async def test_chosen_tests_run_once_more_with_what_hears_them(tmp_path: Path) -> None:
    """Its files lie beside the runner, the runner is told of it, and what it says of lost tests comes back."""
    test = NumberedTest("tests/test_a.py::test_x")
    said = [
        {"event": "test", "id": test.id, "ordinal": 1, "outcome": "failed", "message": "m", "duration": 0.1},
        {"event": "origin", "id": test.id, "ordinal": 1, "place": "app.py:3: return 1"},
        {"event": "end", "exit_code": 1},
    ]
    asked = {}

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        asked.update(json.loads(command.stdin))
        trusted = next(one.source for one in spec.mounts if one.target == "/opt/groundup")
        assert (trusted / "hears.py").read_bytes() == b"x = 1"
        assert "/opt/more" in {one.target for one in spec.mounts}
        return answer(1, report="".join(f"{asked['token']} {json.dumps(one)}\n" for one in said).encode())

    pod = cast(Pod, await FakeProvider(script).pod())
    again = SecondTests(
        tests=[test],
        environment=_environment(tmp_path),
        listener=RunnerListener("hears.py", {"hears.py": b"x = 1"}, {"words": 2}),
        mounts=(Mount(source=tmp_path, target="/opt/more"),),
        limit_s=5.0,
    )
    async with _testing(tmp_path, pod, again) as testing:
        assert await testing.places(again.limit_s) == {test: "app.py:3: return 1"}
    assert asked["chosen"] == [[test.id, 1]]
    assert asked["listener"] == {"program": "/opt/groundup/hears.py", "until_s": 5.0, "words": 2}


def _environment(tmp_path: Path) -> PythonEnvironment:
    return PythonEnvironment(
        layer=Layer(digest="d", kind="python", path=tmp_path), mounts=(), path=(), python_version="3.10.1"
    )


def _testing(tmp_path: Path, pod: Pod, again: SecondTests | None = None) -> ServiceTesting:
    """Return what runs hidden tests that have no files."""
    hidden, scratch = tmp_path / "hidden", tmp_path / "scratch"
    hidden.mkdir()
    scratch.mkdir()
    tests = ServiceTests(folder=hidden, expected=1)
    return ServiceTesting(tests, _environment(tmp_path), pod, Lifecycle(), scratch, again)


async def test_the_first_sandbox_is_opened_ahead(tmp_path: Path) -> None:
    """It is there before the tests run, which have their own time; one that is not needed leaves no files.

    A runner without a single event never came to the service: that is no verdict.
    """

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        assert command.timeout_s == 7
        assert spec.limits.wall_clock_s >= Lifecycle().overall_s + Lifecycle().tests_s
        return answer(1, stderr=b"Traceback\nNo more processes\n\n")

    async with Opening(script) as provider:
        async with _testing(tmp_path, cast(Pod, await provider.pod())) as testing:
            testing.prepare()
            await asyncio.wait_for(provider.opening.wait(), patient(30))
            with pytest.raises(SandboxError, match="the test runner did not start: No more processes; see"):
                await testing.run(7.0)
            assert len(provider.sandboxes) == 1
            provider.opening.clear()
            testing.prepare()
            await asyncio.wait_for(provider.opening.wait(), patient(30))
        assert list((tmp_path / "scratch").iterdir()) == []


PASSED = {"event": "test", "id": "t.py::a", "ordinal": 1, "outcome": "passed", "message": "", "duration": 0.1}


@pytest.mark.parametrize(
    ("event", "code", "ending", "stopped", "timed_out"),
    [
        ({"event": "end", "exit_code": 1}, 1, Ending.EXITED, None, False),
        ({"event": "end", "exit_code": 4}, 4, Ending.EXITED, "pytest gave up with exit code 4", False),
        ({"event": "end", "exit_code": 0}, None, Ending.TIMEOUT, "the tests were stopped: timeout", True),
        (
            {"event": "start", "python": "3", "pytest": "8"},
            9,
            Ending.EXITED,
            "pytest gave up with exit code 9",
            False,
        ),
        (
            {"event": "start", "python": "3", "pytest": "8"},
            None,
            Ending.MEMORY,
            "the tests were stopped: memory",
            False,
        ),
        (
            {"event": "broken_off", "message": "SystemExit: 0"},
            *(0, Ending.EXITED, "the test session was broken off by SystemExit: 0", False),
        ),
    ],
)
async def test_how_a_run_of_tests_ended_is_told(
    tmp_path: Path,
    event: dict[str, object],
    code: int | None,
    ending: Ending,
    stopped: str | None,
    timed_out: bool,
) -> None:
    """What was tried before counts in any case, and a limit of time is known from others."""

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        token = json.loads(command.stdin)["token"]
        lines = "".join(f"{token} {json.dumps(one)}\n" for one in (PASSED, event))
        return answer(code, ending=ending, report=lines.encode())

    async with _testing(tmp_path, cast(Pod, await FakeProvider(script).pod())) as testing:
        ended = await testing.run(7.0)
    assert (ended.stopped, ended.timed_out, ended.count("passed"), ended.collected) == (stopped, timed_out, 1, 1)


@pytest.mark.parametrize(
    ("event", "ending", "said"),
    [
        (
            {"event": "broken_off", "message": "ValueError: x"},
            Ending.EXITED,
            "the test runner failed with ValueError",
        ),
        ({"event": "end", "exit_code": 0}, Ending.SANDBOX_DIED, "the tests' sandbox died"),
    ],
)
async def test_what_is_no_fault_of_the_service_is_no_end_of_its_tests(
    tmp_path: Path, event: dict[str, object], ending: Ending, said: str
) -> None:
    """A runner that fails by itself, and a sandbox that dies, are the machine's."""

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        token = json.loads(command.stdin)["token"]
        return answer(1, ending=ending, report=f"{token} {json.dumps(event)}\n".encode())

    async with _testing(tmp_path, cast(Pod, await FakeProvider(script).pod())) as testing:
        with pytest.raises(InfrastructureError, match=said):
            await testing.run(7.0)
