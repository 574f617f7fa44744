"""When a service is started, and what its clock and its turn have to do with each other."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import JavaToolchain
from groundup.grading.bench import Bench, Turns
from groundup.grading.services.deployment import ServicePod, deployed
from groundup.grading.services.install import StartCommand
from groundup.grading.services.records import Lifecycle
from groundup.sandbox.fake import FakeProvider, answer
from groundup.sandbox.protocol import Command, CommandResult, SandboxProvider, SandboxSpec
from groundup.sandbox.stopwatch import Reading
from tests.grading.services.answering import PORT, http
from tests.patience import patient

START = StartCommand(found="start.sh", argv=("bash", "./start.sh"))
NEEDS = JavaToolchain(java="17", maven="3", mounts=(), path=())


@asynccontextmanager
async def deployment_in(
    folder: Path, turns: Turns, lifecycle: Lifecycle
) -> AsyncIterator[tuple[ServicePod, FakeProvider]]:
    """Yield a service that nothing has started yet, and the provider that says what was opened for it."""
    (folder / "submission").mkdir()
    (folder / "scratch").mkdir()
    async with FakeProvider() as provider:
        bench = Bench(
            provider=cast(SandboxProvider, provider),
            builder=cast(EnvironmentBuilder, None),  # nothing is built
            scratch=folder / "scratch",
            turns=turns,
        )
        async with deployed(folder / "submission", START, PORT, NEEDS, lifecycle, bench) as deployment:
            yield deployment, provider


@asynccontextmanager
async def answering(provider: FakeProvider) -> AsyncIterator[None]:
    """Let the port answer."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(http(404))
        writer.close()

    listener = await provider.sandboxes[0].listen(PORT)
    async with await asyncio.start_server(handle, sock=listener):
        yield


async def test_a_service_is_not_even_opened_before_its_turn(tmp_path: Path) -> None:
    """No clock of a service runs while others start: there is nothing yet that could be late."""
    turns, free, busy = Turns(1), asyncio.Event(), asyncio.Event()

    async def others() -> None:
        async with turns.taken():
            busy.set()
            await free.wait()

    async with deployment_in(tmp_path, turns, Lifecycle()) as (deployment, provider):
        first = asyncio.create_task(others())
        await busy.wait()
        starting = asyncio.create_task(deployment.until_ready())
        await asyncio.sleep(0.01)
        assert [spec.label for spec in provider.specs] == ["observer"]
        assert provider.commands == []
        async with answering(provider):
            free.set()
            readiness = await starting
        await first
    assert readiness.in_time
    assert [spec.label for spec in provider.specs] == ["observer", "service"]


async def test_others_start_when_it_is_ready(tmp_path: Path) -> None:
    """A service that runs keeps no turn."""
    turns = Turns(1)
    async with (
        deployment_in(tmp_path, turns, Lifecycle()) as (deployment, provider),
        answering(provider),
    ):
        assert (await deployment.until_ready()).in_time
        async with asyncio.timeout(patient(30)), asyncio.TaskGroup() as group:
            group.create_task(_take(turns))


async def test_others_start_when_it_is_late(tmp_path: Path) -> None:
    """A service that cannot be in time any more keeps no one waiting, and is still found when it answers."""
    turns = Turns(1)
    lifecycle = Lifecycle(ready_s=0.01, late_s=60)
    started = asyncio.Event()

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        started.set()
        return answer()

    async with deployment_in(tmp_path, turns, lifecycle) as (deployment, provider):
        provider.script = script
        starting = asyncio.create_task(deployment.until_ready())
        await started.wait()  # it has got its turn
        await _take(turns)
        async with answering(provider):
            readiness = await starting
    assert readiness.answered_s is not None
    assert not readiness.in_time


async def test_others_start_when_it_merely_waits(tmp_path: Path) -> None:
    """A service that sleeps before it listens gives its turn away, and is in time when it answers."""
    turns = Turns(1)
    started, moments = asyncio.Event(), itertools.count(0.0, 0.7)

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        started.set()
        return answer()

    async with deployment_in(tmp_path, turns, Lifecycle(ready_s=10_000, answer_s=1000)) as (deployment, provider):
        provider.script = script
        provider.read = lambda: Reading(next(moments), idle_s=0.0, own_s=0.0)
        starting = asyncio.create_task(deployment.until_ready())
        await started.wait()  # it has got its turn
        await _take(turns)
        async with answering(provider):
            readiness = await starting
    assert readiness.in_time


async def _take(turns: Turns) -> None:
    async with turns.taken():
        pass
