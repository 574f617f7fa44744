"""When a service is started, and what its clock and its slot have to do with each other."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import cast

import pytest

from groundup.domain.limits import Limits
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import REPOSITORY_TARGET, JavaToolchain
from groundup.grading.context import GradingContext, Slots
from groundup.grading.services.deployment import ServicePod, _ending, deployed, service_spec
from groundup.grading.services.install import StartCommand
from groundup.grading.services.probing import ProbedRoute
from groundup.grading.services.records import Lifecycle, Readiness
from groundup.inside.stopwatch import Reading
from groundup.registries.gateway import RegistryGateway
from groundup.sandbox.protocol import Command, CommandResult, Mount, SandboxProvider, SandboxSpec, Usage
from tests.grading.services.answering import PORT, http
from tests.patience import patient
from tests.sandbox.fake import FakeProvider, FakeSandbox, answer

START = StartCommand(found="start.sh", argv=("bash", "./start.sh"))
NEEDS = JavaToolchain(java="17", maven="3", mounts=(), path=())


@asynccontextmanager
async def deployment_in(
    folder: Path, slots: Slots, lifecycle: Lifecycle, *lent: object
) -> AsyncIterator[tuple[ServicePod, FakeProvider]]:
    """Yield a service that nothing has started yet, and the provider that says what was opened for it."""
    (folder / "submission").mkdir()
    (folder / "scratch").mkdir()
    async with FakeProvider() as provider:
        context = GradingContext(
            provider=cast(SandboxProvider, provider),
            builder=cast(EnvironmentBuilder, None),  # nothing is built
            scratch=folder / "scratch",
            slots=slots,
            lent=[cast(RegistryGateway, gateway) for gateway in lent],
        )
        async with deployed(folder / "submission", START, PORT, NEEDS, lifecycle, context) as deployment:
            yield deployment, provider


async def first_sandbox(provider: FakeProvider) -> FakeSandbox:
    """Return the service's, which is opened beside what a test does."""
    while not provider.sandboxes:  # noqa: ASYNC110  # the double has no event for it
        await asyncio.sleep(0.001)
    return provider.sandboxes[0]


@asynccontextmanager
async def answering(provider: FakeProvider, after_s: float = 0, data: bytes = http(404)) -> AsyncIterator[None]:
    """Let the port answer with *data*, each time after so many seconds."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(after_s)
        writer.write(data)
        writer.close()

    listener = await (await first_sandbox(provider)).listen(PORT)
    async with await asyncio.start_server(handle, sock=listener):
        yield


async def test_a_service_is_not_even_opened_before_its_turn(tmp_path: Path) -> None:
    """No clock of a service runs while others start: there is nothing yet that could be late."""
    slots, free, busy = Slots(1), asyncio.Event(), asyncio.Event()

    async def others() -> None:
        async with slots.taken():
            busy.set()
            await free.wait()

    async with deployment_in(tmp_path, slots, Lifecycle()) as (deployment, provider):
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
    """A service that runs keeps no slot."""
    slots = Slots(1)
    async with (
        deployment_in(tmp_path, slots, Lifecycle()) as (deployment, provider),
        answering(provider),
    ):
        assert (await deployment.until_ready()).in_time
        async with asyncio.timeout(patient(30)), asyncio.TaskGroup() as group:
            group.create_task(_take(slots))


async def test_a_first_page_that_takes_long_is_an_answer(tmp_path: Path) -> None:
    """Who asks anew each time that an answer takes longer than usual never gets one."""
    async with (
        deployment_in(tmp_path, Slots(1), Lifecycle(ready_s=10_000)) as (deployment, provider),
        answering(provider, after_s=2.5),
        asyncio.timeout(patient(60)),
    ):
        assert (await deployment.until_ready()).in_time


async def test_headers_without_an_end_are_not_waited_for(tmp_path: Path) -> None:
    """What answers so never becomes HTTP, and would be asked until patience ran out."""
    endless = b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000
    async with (
        deployment_in(tmp_path, Slots(1), Lifecycle(ready_s=10_000)) as (deployment, provider),
        answering(provider, data=endless),
        asyncio.timeout(patient(60)),
    ):
        readiness = await deployment.until_ready()
    assert readiness.answered_s is None


async def test_others_start_when_it_is_late(tmp_path: Path) -> None:
    """A service that cannot be in time any more keeps no one waiting, and is still found when it answers."""
    slots = Slots(1)
    lifecycle = Lifecycle(ready_s=0.01, late_s=60)
    started = asyncio.Event()

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        started.set()
        return answer()

    async with deployment_in(tmp_path, slots, lifecycle) as (deployment, provider):
        provider.script = script
        starting = asyncio.create_task(deployment.until_ready())
        await started.wait()  # it has got its slot
        await _take(slots)
        async with answering(provider):
            readiness = await starting
    assert readiness.answered_s is not None
    assert not readiness.in_time


async def test_others_start_when_it_merely_waits(tmp_path: Path) -> None:
    """A service that sleeps before it listens gives its slot away, and is in time when it answers."""
    slots = Slots(1)
    started, moments = asyncio.Event(), itertools.count(0.0, 0.7)

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        started.set()
        return answer()

    async with deployment_in(tmp_path, slots, Lifecycle(ready_s=10_000, answer_s=1000)) as (deployment, provider):
        provider.script = script
        provider.read = lambda: Reading(next(moments), idle_s=0.0, own_s=0.0)
        starting = asyncio.create_task(deployment.until_ready())
        await started.wait()  # it has got its slot
        await _take(slots)
        async with answering(provider):
            readiness = await starting
    assert readiness.in_time


HEALTH = ProbedRoute(method="GET", path="/health")
NOTES = ProbedRoute(method="POST", path="/notes")


@asynccontextmanager
async def telling(provider: FakeProvider, *replies: bytes) -> AsyncIterator[list[bytes]]:
    """Let the port answer with each of *replies* in turn, the last for ever, and yield the questions."""
    asked: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            asked.append((await reader.readuntil(b"\r\n")).rpartition(b" ")[0])
            writer.write(replies[min(len(asked), len(replies)) - 1])
        writer.close()

    listener = await (await first_sandbox(provider)).listen(PORT)
    async with await asyncio.start_server(handle, sock=listener):
        yield asked


async def test_a_service_that_warms_up_is_waited_for(tmp_path: Path) -> None:
    """A 503 says to ask again, a 404 to ask for something else that the README names; nothing unknown is asked."""
    async with (
        deployment_in(tmp_path, Slots(1), Lifecycle(ready_s=10_000)) as (deployment, provider),
        telling(provider, http(503), http(404), http(400)) as asked,
    ):
        readiness = await deployment.until_ready((HEALTH, NOTES))
    assert asked == [b"GET /health", b"GET /health", b"POST /notes"]
    assert (readiness.in_time, readiness.warmed_up, readiness.question) == (True, True, "POST /notes")


async def test_a_service_without_the_promised_answers_is_not_in_time(tmp_path: Path) -> None:
    """Its tests may still run, and its reason names what it was asked."""
    async with (
        deployment_in(tmp_path, Slots(1), Lifecycle(ready_s=1, late_s=0)) as (deployment, provider),
        telling(provider, http(404)),
    ):
        readiness = await deployment.until_ready((HEALTH,))
    assert (readiness.in_time, readiness.as_promised, readiness.status) == (False, False, 404)
    assert "to GET /health" in readiness.message


async def test_a_fresh_start_is_asked_nothing(tmp_path: Path) -> None:
    """What counts or limits questions finds none before its tests; only one that had to warm up is asked again."""
    first = Readiness(answered_s=0.2, in_time=True, opened_s=0.1, question="GET /health", status=200)
    for number, warmed_up in enumerate((False, True)):
        (tmp_path / str(number)).mkdir()
        async with (
            deployment_in(tmp_path / str(number), Slots(1), Lifecycle(ready_s=10_000)) as (deployment, provider),
            telling(provider, http(503), http(200)) as asked,
        ):
            again = await deployment.until_ready_again(first.but(warmed_up=warmed_up), (HEALTH,), lambda: None)
        assert again.answered_s is not None
        assert asked == ([b"GET /health"] * 2 if warmed_up else [])


async def _take(slots: Slots) -> None:
    async with slots.taken():
        pass


class Index:
    """Stands for a gateway of which a start script wants five packages, each after another ten seconds."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.has_given = asyncio.Event()
        self._questions = 0

    @property
    def questions(self) -> int:
        """How many were asked for; time passes between two looks."""
        if self._questions < 5:
            self._questions += 1
            self.now_s += 10.0
        else:
            self.has_given.set()
        return self._questions


@pytest.mark.parametrize(("install_s", "in_time"), [(120.0, True), (20.0, False)])
async def test_a_script_that_installs_has_the_time_of_installing_for_it(
    tmp_path: Path, install_s: float, in_time: bool
) -> None:
    """The clock of the start runs from the last package on; what is fetched for ever is late in the end."""
    index, lifecycle = Index(), Lifecycle(ready_s=15, late_s=600, install_s=install_s)

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        return answer()

    async with deployment_in(tmp_path, Slots(1), lifecycle, index) as (deployment, provider):
        provider.script = script
        provider.read = lambda: Reading(index.now_s)
        starting = asyncio.create_task(deployment.until_ready())
        await index.has_given.wait()
        async with answering(provider):
            readiness = await starting
    assert (readiness.answered_s, readiness.in_time) == (50.0, in_time)


async def test_a_service_is_not_late_for_answers_that_it_is_owed(tmp_path: Path) -> None:
    """Its own clock decides, which stands while groundup fetches what it asked for, and not the observer's."""
    seconds, now_s, long_after = itertools.count(0.0, 1.5), 0.0, asyncio.Event()

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        nonlocal now_s
        if spec.label == "service":
            provider.sandboxes[-1].excuse(lambda: now_s)
        return answer()

    def read() -> Reading:
        nonlocal now_s
        now_s = next(seconds)
        if now_s > 60:
            long_after.set()
        return Reading(now_s)

    async with deployment_in(tmp_path, Slots(1), Lifecycle(ready_s=15, late_s=0)) as (deployment, provider):
        provider.script, provider.read = script, read
        starting = asyncio.create_task(deployment.until_ready())
        await long_after.wait()
        async with answering(provider):
            readiness = await starting
    assert readiness.in_time


@pytest.mark.parametrize(
    ("code", "said"),
    [(1, "exit code 1"), (-11, "exit code -11 (SIGSEGV)"), (139, "exit code 139 (SIGSEGV)")],
)
async def test_a_service_that_died_is_no_matter_of_time(tmp_path: Path, code: int, said: str) -> None:
    """What ended by itself and left nothing behind was not waited for too briefly; a signal is named."""

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        return answer(stdout=b"2") if command.argv[0] == "sh" else answer(code)

    async with deployment_in(tmp_path, Slots(1), Lifecycle()) as (deployment, provider):
        provider.script = script
        readiness = await deployment.until_ready()
    assert (readiness.died, readiness.ended) == (True, code)
    assert f"ended with {said};" in readiness.message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, "exit code 0"),
        (127, "exit code 127"),
        (128, "exit code 128"),
        (137, "exit code 137 (SIGKILL)"),
        (255, "exit code 255"),
        (-9, "exit code -9 (SIGKILL)"),
        (-99, "exit code -99 (signal 99)"),
    ],
)
def test_a_signal_is_named_beside_the_exit_code(code: int, said: str) -> None:
    """By Python's count or by a shell's; what is no signal that ends a program is an exit code alone."""
    assert _ending(code) == said


async def test_a_service_that_is_ready_is_asked_for_more(tmp_path: Path) -> None:
    """By a path, and by the question that it answered first; one that is gone has no status."""
    async with deployment_in(tmp_path, Slots(1), Lifecycle(answer_s=0.5)) as (deployment, provider):
        async with telling(provider, http(200)) as asked:
            readiness = await deployment.until_ready((NOTES, HEALTH))
            assert await deployment.status("/openapi.json") == 200
            for question in (readiness.question, "GET /health", "DELETE /unknown"):
                assert await deployment.answers(question)
        assert asked == [b"POST /notes", b"GET /openapi.json", b"POST /notes", b"GET /health", b"GET /"]


@pytest.mark.parametrize(
    ("code", "used_mb", "said"),
    [
        (137, 95.0, "; out of memory (100 MB)"),
        (-9, 90.0, "; out of memory (100 MB)"),
        (137, 89.0, ""),
        (1, 99.0, ""),
        (137, None, ""),
    ],
)
async def test_a_service_that_was_killed_with_a_full_memory_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, used_mb: float | None, said: str
) -> None:
    """Nothing else kills it while it starts; what ended otherwise, or with room left, had enough."""
    monkeypatch.setattr(FakeSandbox, "usage", lambda _: Usage(cpu_s=0.0, peak_memory_mb=used_mb))
    lifecycle = Lifecycle(service=Limits(memory_mb=100))

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        return answer(stdout=b"2") if command.argv[0] == "sh" else answer(code)

    async with deployment_in(tmp_path, Slots(1), lifecycle) as (deployment, provider):
        provider.script = script
        readiness = await deployment.until_ready()
    assert readiness.message.rpartition(")")[0].endswith("out of memory (100 MB") is bool(said)
    assert said in readiness.message


@pytest.mark.parametrize(("in_script", "allowed"), [(True, True), (True, False), (False, True)])
def test_a_service_has_its_port_and_where_its_script_installs_folders_of_its_own(
    tmp_path: Path, in_script: bool, allowed: bool
) -> None:
    """It is root there, for as long as all may take; what it may not change it shares."""
    (tmp_path / "repository").mkdir()
    shared = Mount(source=tmp_path / "repository", target=REPOSITORY_TARGET)
    lifecycle = Lifecycle(start_installs=allowed, overall_s=70)
    provider, builder = cast(SandboxProvider, FakeProvider()), cast(EnvironmentBuilder, None)
    context = GradingContext(provider=provider, builder=builder, scratch=tmp_path)
    java = Mount(source=tmp_path, target="/opt/java")
    needs, start = NEEDS.but(mounts=(shared, java)), START.but(installs=in_script)
    spec = service_spec(tmp_path, start, 8123, needs, lifecycle, context)

    assert (spec.environment["SERVICE_PORT"], spec.environment["PYTHONUNBUFFERED"]) == ("8123", "1")
    assert (spec.user, spec.system, spec.throw_away_root, spec.limits.command_s) == ("root", "host", True, 70)
    mount, other = spec.mounts
    assert (mount != shared, mount.writable) == (in_script and allowed,) * 2
    assert other == java


async def test_what_is_not_started_has_not_ended(tmp_path: Path) -> None:
    """Nor has what is alive: there is no exit code."""
    async with deployment_in(tmp_path, Slots(1), Lifecycle()) as (deployment, _):
        assert await deployment.ended() is None
