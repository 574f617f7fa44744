"""A submitted service, running in a pod: what a grader may ask of it, and what it printed.

Sandboxes share the pod's private network and nothing else: the service's; the tests', opened for each run of
them (`testing`); and an observer's, in which nothing ever runs and through whose sockets groundup asks, or in
containers the supervisors of the others. So the service can neither see nor end who judges it, and its death is
not theirs. Where it listens is read from what its sandbox says of sockets and processes. It may be root there and
lie: that changes a reason's words, and how long it is waited for.
"""

import asyncio
import ipaddress
import re
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.environments.requests import ENVIRONMENT_TARGET, REPOSITORY_TARGET, JavaToolchain, PythonEnvironment
from groundup.environments.toolchains import Toolchain
from groundup.grading.context import GradingContext
from groundup.grading.last_words import last_words, signal_name
from groundup.grading.services.install import StartCommand
from groundup.grading.services.probing import Caller, HttpReply, ProbedRoute
from groundup.grading.services.records import Lifecycle, Readiness
from groundup.registries.lending import LendingRules
from groundup.registries.pypi.poetry import POETRY_PLUGIN, lay_poetry_plugin
from groundup.sandbox.deadlines import is_done_within, note
from groundup.sandbox.protocol import Command, Connecting, Mount, Pod, Sandbox, SandboxSpec, Service
from groundup.trees.writer import copy_tree, in_thread

LOOK = (
    "echo $$; cat /proc/net/tcp /proc/net/tcp6 /proc/net/unix 2>/dev/null;"
    " cat /proc/[0-9]*/stat 2>/dev/null; ls -l /proc/[0-9]*/fd 2>/dev/null"
)
"""What a shell beside the service prints for `read_listening`."""
LOOK_BYTES = 256 * 1024
_MOST_SAID = 4
_SOCKET = re.compile(r" *\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) \S+ 0A (?:\S+ +){5}(\d+) ")
_UNIX = re.compile(r"[0-9a-f]+: \S+ \S+ 00010000 \S+ \S+ +(\d+) (\S.*)")
_PATH = 100
"""The most characters of a path that a reason shows."""
_PROCESS = re.compile(r"(\d{1,10}) \(.*\) ([A-Za-z]) (\d{1,10}) ")
_FOLDER = re.compile(r"/proc/(\d{1,10})/fd:")
_HELD = re.compile(r".* -> socket:\[(\d+)\]")


class Listening(Record):
    """What the service's processes listen on, and whether one of them could still open another port."""

    places: tuple[tuple[str, int], ...] = ()
    """Address and port, in order."""
    paths: tuple[str, ...] = ()
    """Of Unix sockets, which nobody outside can reach."""
    is_settled: bool = False
    """Whether nothing runs but those that listen, what started them and what they started."""

    def sentence(self, port: int, *, is_open: bool) -> str:
        """Say where it listens, instead of answering HTTP on *port* of 127.0.0.1."""
        if not self.places and self.paths:
            shown = " and ".join(ascii(path[:_PATH]) for path in self.paths[:_MOST_SAID])
            return f"it listens on no port, but on the Unix socket{'s' if len(self.paths) > 1 else ''} {shown}"
        if not self.places:
            return "it listens on no port"
        here = [f"{place}:{at}" for place, at in self.places if at == port]
        if is_open and here:
            return f"it listens on {' and '.join(here[:_MOST_SAID])}, and did not answer HTTP there"
        where = " and ".join(f"{place}:{at}" for place, at in self.places[:_MOST_SAID])
        why = ""
        if here:
            by_name = all(place.startswith("[") for place, at in self.places if at == port)
            why = ", which is IPv6 only" if by_name else f", and not on 127.0.0.1:{port}"
        return f"it listens on {where}{why}"


def read_listening(said: bytes) -> Listening:
    """Return what LOOK printed of the service; nothing where it cannot be read."""
    first, _, rest = said.decode("utf-8", "replace").partition("\n")
    sockets: dict[str, tuple[str, int]] = {}
    paths: dict[str, str] = {}
    parents: dict[int, int] = {}
    holders: dict[str, int] = {}
    folder = 0
    for line in rest.splitlines():
        if found := _SOCKET.match(line):
            sockets[found[3]] = (_address(found[1]), int(found[2], 16))
        elif found := _UNIX.fullmatch(line):
            paths[found[1]] = found[2]
        elif found := _PROCESS.match(line):
            if found[2] != "Z":
                parents[int(found[1])] = int(found[3])
        elif found := _FOLDER.fullmatch(line):
            folder = int(found[1])
        elif found := _HELD.fullmatch(line):
            holders.setdefault(found[1], folder)
    if not first.isdigit():
        return Listening()
    # The shell that looks, what it started, and what holds the sandbox are none of the service's.
    ours = set(_above(int(first), parents)) | _below({int(first)}, parents)
    held = {inode: process for inode, process in holders.items() if inode in sockets and process not in ours}
    listeners = set(held.values())
    related = _below(listeners, parents).union(*(_above(one, parents) for one in listeners))
    places = sorted({sockets[inode] for inode in held}, key=lambda place: (place[1], place[0]))
    unix = sorted({path for inode, path in paths.items() if holders.get(inode, 0) not in {0} | ours})
    # A socket of its own may be a service's first, so it ends no wait.
    is_settled = bool(places) and parents.keys() <= related | ours
    return Listening(places=tuple(places), paths=tuple(unix), is_settled=is_settled)


def _above(process: int, parents: dict[int, int]) -> list[int]:
    """Return *process* and those that started it."""
    found = []
    while process in parents and process not in found:
        found.append(process)
        process = parents[process]
    return found


def _below(processes: set[int], parents: dict[int, int]) -> set[int]:
    """Return *processes* and all that they started."""
    found = set(processes)
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _address(written: str) -> str:
    """Return an address of /proc/net: words of 32 bits, each in the machine's order of bytes."""
    words = [int(written[at : at + 8], 16).to_bytes(4, "little") for at in range(0, len(written), 8)]
    address = ipaddress.ip_address(b"".join(words))
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped) if address.ipv4_mapped else f"[{address}]"


_SHELLS_COUNT = 128
_FATAL = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV)
_FULL = 0.9
"""From this share of its memory on, a service that was killed had used it up."""
_POLL_S = 0.1
_ASK_AGAIN_S = 0.5
"""Until a service that is not ready yet is asked again; it may count questions."""
_BROKEN, _UNKNOWN = 500, 404
_NOT_SERVED = 501
"""What Python's own http.server answers to a method that has no function."""
_ROOT = ProbedRoute(method="GET", path="/")
_FIRST_ANSWER_S = 2.0
"""For an answer while it starts: a connection may be lost then. What takes longer may have all that is left."""
_LOOK_S = 0.5
_SETTLED_S = 5.0
"""Between two looks at where a service that does nothing listens: alike, they end the wait."""
_OBSERVER = Limits(cpus=0.5, memory_mb=128, processes=16, disk_mb=16, wall_clock_s=24 * 3600.0)
_POETRY_PLUGIN = "/tmp/poetry-index"  # noqa: S108 - inside the sandbox, where /tmp is private
ServiceTools = PythonEnvironment | JavaToolchain | Toolchain
"""What a service runs by."""
Launch = Callable[[], Awaitable[tuple[Sandbox, Service]]]


class ServicePod:
    """One service, to be started once. Made by `deployed`."""

    caller: Caller
    """Asks the service, once it was started."""

    def __init__(
        self,
        pod: Pod,
        observer: Awaitable[Connecting],
        launch: Launch,
        context: GradingContext,
        lifecycle: Lifecycle,
        port: int,
    ) -> None:
        self.pod = pod
        self._observer = observer
        self._port = port
        self._launch = launch
        self._context = context
        self._sandbox: Sandbox | None = None
        self._service: Service | None = None
        self._lifecycle = lifecycle
        self._last_look = 0.0
        self._listening: Listening | None = None
        self._listened_at = 0.0
        self._settled_elsewhere = False
        self._asked = 0
        self._installed_s = 0.0
        self._routes: tuple[ProbedRoute, ...] = ()
        self._turn = 0
        self._asked_route = _ROOT
        self._last: HttpReply | None = None
        self._warmed_up = False
        self._opened_s: float | None = None
        self._answer_s = _FIRST_ANSWER_S

    async def until_ready(self, routes: Sequence[ProbedRoute] = ()) -> Readiness:
        """Start it when its slot has come, and wait until it is ready or nothing is left that could be.

        It is ready when one of *routes* answers neither 404 nor 5xx but 501; without routes any answer to `GET /`
        will do.
        Nothing is asked before the port takes connections, and then one question at a time.

        The clock runs from the start, or from the last package that a script which installs asked for, and stands
        while the machine is kept busy by others or owes an answer. The slot ends when it cannot be in time any
        more, and when it merely waits: others can start meanwhile.
        """
        self._routes = tuple(routes)
        ready_s = self._lifecycle.ready_s
        allowed_s = ready_s + self._lifecycle.late_s
        async with self._started():
            readiness = await self._answering_within(ready_s, while_busy=True)
        readiness = readiness or await self._answering_within(ready_s)
        if self._last is None or self._last.status >= _BROKEN:
            readiness = readiness or await self._answering_within(allowed_s)
        readiness = readiness or await self._unready() or await self._silent()
        self._note(readiness, allowed_s)
        return readiness

    async def until_ready_again(
        self, first: Readiness, routes: Sequence[ProbedRoute], beside: Callable[[], None]
    ) -> Readiness:
        """Start it, and wait for what *first*, another start of it, took from its open port on; ask nothing.

        Only one that had answered otherwise before it was ready is asked. *beside* is called when it was started.
        """
        self._routes = tuple(routes)
        allowed_s = self._lifecycle.ready_s + self._lifecycle.late_s
        if (first.answered_s or 0.0) - first.opened_s > _FIRST_ANSWER_S:
            self._answer_s = allowed_s
        async with self._started():
            beside()
            while self._left_s(allowed_s) > 0 and not (is_open := await self.caller.is_open()):
                if await self._is_dead():
                    break
                await asyncio.sleep(_POLL_S)
        opened_s = self._clock.passed_s()
        if is_open and first.as_promised:
            if first.warmed_up:
                is_open = await self._answering_within(allowed_s) is not None
            else:
                never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                settled_s = opened_s + (first.answered_s or 0.0) - first.opened_s
                await is_done_within(never, self._clock, settled_s)
        readiness = first.but(answered_s=round(self._clock.passed_s(), 3)) if is_open else await self._silent()
        self._note(readiness, allowed_s)
        return readiness

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[None]:
        """Start it in a slot, which is kept in the context."""
        async with self._context.slots.taken():
            self._sandbox, self._service = await self._launch()
            self.caller = Caller(await self._observer, self._port, self._lifecycle.answer_s)
            self._clock = self._sandbox.stopwatch()
            yield

    def _note(self, readiness: Readiness, allowed_s: float) -> None:
        waited = readiness.answered_s is None and not readiness.died
        note(self._clock, self._installed_s + allowed_s if waited else None)

    async def _answering_within(self, allowed_s: float, *, while_busy: bool = False) -> Readiness | None:
        """Ask until *allowed_s* after the start; not on when it is dead, elsewhere, or idle where that matters."""
        while (left_s := self._left_s(allowed_s)) > 0:
            asked, passed_s = time.monotonic(), self._clock.passed_s()
            route = self._routes[self._turn % len(self._routes)] if self._routes else _ROOT
            answer = await self.caller.ask(route.question(), min(self._answer_s, left_s))
            if self._opened_s is None and self.caller.has_connected:
                self._opened_s = passed_s
            if time.monotonic() - asked >= self._answer_s:
                self._answer_s = allowed_s
            if answer is not None:
                self._last, self._asked_route = answer, route
                if self._is_ready(answer):
                    return await self._ready()
                self._warmed_up = True
                if answer.status == _UNKNOWN:
                    self._turn += 1
            # A head without an end would be asked for again until patience ran out, on a busy machine for minutes.
            elif self.caller.is_endless or await self._is_dead():
                break
            if while_busy and self._clock.is_idle:
                break
            if answer is None and await self._is_elsewhere():
                break
            await asyncio.sleep(_POLL_S if answer is None else _ASK_AGAIN_S)
        return None

    def _is_ready(self, answer: HttpReply) -> bool:
        """Whether *answer* is one that its README could promise, or any where nothing is known of that."""
        if not self._routes:
            return True
        return answer.status == _NOT_SERVED or (answer.status < _BROKEN and answer.status != _UNKNOWN)

    async def _ready(self) -> Readiness:
        assert self._last is not None  # it answered
        # One that needs longer to be ready may need longer for each answer.
        self.caller.timeout_s = max(self.caller.timeout_s, self._answer_s)
        took = self._clock.passed_s()
        in_time = took - self._installed_s <= self._lifecycle.ready_s
        how = f"{self._asked_route} answered {self._last.status}" if self._warmed_up else "the port answered"
        return Readiness(
            answered_s=round(took, 3),
            in_time=in_time,
            opened_s=round(self._opened_s or 0.0, 3),
            question=str(self._asked_route),
            status=self._last.status,
            warmed_up=self._warmed_up,
            ended=await self.ended(),
            message="" if in_time else f"{how} only after {took:.1f} s",
        )

    async def _unready(self) -> Readiness | None:
        """Return what is known of a service that answers, and never as it should; None: it does not answer."""
        if self._last is None:
            return None
        ready = await self._ready()
        asked = " and ".join(map(str, self._routes[:_MOST_SAID]))
        said = f"in {ready.answered_s:.1f} s it answered 404 or 5xx to {asked}; last {ready.status}"
        return ready.but(in_time=False, as_promised=False, message=said)

    def _left_s(self, allowed_s: float) -> float:
        """Return how long *allowed_s* lasts; what a script installs itself has the time of installing for it."""
        asked = sum(gateway.questions for gateway in self._context.lent)
        if asked != self._asked:
            self._asked = asked
            self._installed_s = min(self._clock.passed_s(), self._lifecycle.install_s)
        return self._clock.left_s(self._installed_s + allowed_s)

    async def _silent(self) -> Readiness:
        self._last_look = 0.0
        died, ended = await self._is_dead(), await self.ended()
        how = "" if ended is None else f"; the start command had ended with {_ending(ended)}"
        if not died:
            how = f": {(await self._look()).sentence(self._port, is_open=await self.caller.is_open())}{how}"
        how += self._memory(ended)
        words = last_words(self.log())
        how += f"; last words: {words}" if words else "; it printed nothing"
        waited = "" if died or self._settled_elsewhere else f" in {self._clock.passed_s():.0f} s"
        return Readiness(
            answered_s=None,
            in_time=False,
            ended=ended,
            died=died or self._settled_elsewhere,
            message=f"port {self._port} did not answer HTTP{waited}{how}",
        )

    def _memory(self, ended: int | None) -> str:
        """Say that a start command was killed because its memory was full: nothing else kills it while it starts.

        Control groups have one process killed; where there are none, the sandbox ends all, without an exit code.
        """
        used_mb, limit_mb = self.peak_memory_mb() or 0.0, self._lifecycle.service.memory_mb
        is_lost = ended is None and self._service is not None and not self._service.alive()
        is_killed = is_lost or ended in (-signal.SIGKILL, _SHELLS_COUNT + signal.SIGKILL)
        return f"; out of memory ({limit_mb} MB)" if is_killed and used_mb >= _FULL * limit_mb else ""

    async def status(self, path: str) -> int | None:
        """Return the status of a GET of *path*; None: no answer."""
        answer = await self.caller.get(path)
        return None if answer is None else answer.status

    async def answers(self, question: str) -> bool:
        """Whether the service still answers *question*, by which it was ready."""
        route = next((one for one in (*self._routes, _ROOT) if str(one) == question), _ROOT)
        return await self.caller.ask(route.question(), max(self._answer_s, self._lifecycle.answer_s)) is not None

    def log(self) -> bytes:
        """Return what the service printed so far."""
        return b"" if self._service is None else self._service.output()

    def peak_memory_mb(self) -> float | None:
        """Return the most memory that the service used, where the machine can say."""
        return None if self._sandbox is None else self._sandbox.usage().peak_memory_mb

    async def ended(self) -> int | None:
        """Return the exit code of the start command; None while it is alive."""
        if self._service is None or self._service.alive():
            return None
        return await self._service.wait(0.1)

    async def _is_dead(self) -> bool:
        """Whether the start command ended and left nothing behind. Only saves time."""
        now = time.monotonic()
        if self._service is None or self._sandbox is None or self._service.alive():
            return False
        if now - self._last_look < _LOOK_S:
            return False
        self._last_look = now
        try:
            return await self._sandbox.is_deserted()
        except SandboxError:
            return True

    async def _is_elsewhere(self) -> bool:
        """Whether it waits on other ports or addresses, and nothing is left to open the right one. Saves time."""
        now = time.monotonic()
        if not self._clock.is_idle or now - self._listened_at < _SETTLED_S:
            return False
        before, self._listening, self._listened_at = self._listening, await self._look(), now
        is_settled = self._listening.is_settled and self._listening == before
        self._settled_elsewhere = is_settled and not await self.caller.is_open()
        return self._settled_elsewhere

    async def _look(self) -> Listening:
        assert self._sandbox is not None  # it was started
        look = Command(argv=("sh", "-c", LOOK), timeout_s=5.0, output_bytes=LOOK_BYTES, is_look=True)
        try:
            return read_listening((await self._sandbox.run(look)).stdout)
        except SandboxError:
            return Listening()


def _ending(code: int) -> str:
    """Return *code* with the signal behind it, as Python counts it or as shells do."""
    number = -code if code < 0 else code - _SHELLS_COUNT
    named = code < 0 or number in _FATAL
    return f"exit code {code} ({signal_name(number)})" if named else f"exit code {code}"


@asynccontextmanager
async def deployed(
    submission: Path,
    start: StartCommand,
    port: int,
    environment: ServiceTools,
    lifecycle: Lifecycle,
    context: GradingContext,
) -> AsyncIterator[ServicePod]:
    """Yield a copy of *submission*, ready to be started; everything ends with the context."""
    at_step("starting the service")
    workspace, nothing = context.scratch / "service", context.scratch / "observer"
    await in_thread(copy_tree, submission, workspace)
    nothing.mkdir()
    async with AsyncExitStack() as stack:
        pod = await stack.enter_async_context(await context.provider.pod())
        # An engine takes its time, and nothing needs this one until the service has started.
        observer = asyncio.ensure_future(
            pod.observer(SandboxSpec(workspace=nothing, limits=_OBSERVER, label="observer"))
        )
        stack.push_async_callback(asyncio.wait, {observer})
        spec = await asyncio.to_thread(service_spec, workspace, start, port, environment, lifecycle, context)

        async def launch() -> tuple[Sandbox, Service]:  # opened no sooner, for its wall clock runs from then on
            sandbox = await stack.enter_async_context(await pod.open(spec))
            variables: dict[str, str] = {}
            if start.installs and lifecycle.start_installs:
                variables = await _lend(environment, stack, sandbox, context)
            return sandbox, await sandbox.start(Command(argv=start.argv, environment=variables))

        yield ServicePod(pod, observer, launch, context, lifecycle, port)


def service_spec(
    workspace: Path,
    start: StartCommand,
    port: int,
    environment: ServiceTools,
    lifecycle: Lifecycle,
    context: GradingContext,
) -> SandboxSpec:
    """Return the sandbox around *workspace*; where a start script installs, its environment is a copy."""
    installs = start.installs and lifecycle.start_installs
    mounts = writable_environment(environment, context) if installs else environment.mounts
    return SandboxSpec(
        workspace=workspace,
        mounts=mounts,
        environment={"PYTHONUNBUFFERED": "1", **environment.environment, "SERVICE_PORT": str(port)},
        path=environment.path,
        limits=lifecycle.service.for_command(lifecycle.overall_s, spare_s=0, output_bytes=lifecycle.log_bytes),
        user="root",
        system="listed" if isinstance(environment, PythonEnvironment) else "host",
        throw_away_root=True,
        label="service",
    )


def writable_environment(environment: ServiceTools, context: GradingContext) -> tuple[Mount, ...]:
    """Return the mounts of *environment*, its packages in folders into which an installer can write.

    Python's become the interpreter's own, as in the published container: `pip install --user`, `uv pip install
    --system` and Poetry without environments of its own do something else in a virtual environment, or nothing.
    """
    mounts = tuple(_writable(mount, context) for mount in environment.mounts)
    if not isinstance(environment, PythonEnvironment) or environment.own_packages is None:
        return mounts
    place = next(mount.source for mount in mounts if mount.target == ENVIRONMENT_TARGET)
    (place / "pyvenv.cfg").unlink(missing_ok=True)
    packages = next(place.glob("lib/python3*/site-packages"))
    others = (mount for mount in mounts if mount.target != environment.own_packages)
    return (*others, Mount(source=packages, target=environment.own_packages, writable=True))


def _writable(mount: Mount, context: GradingContext) -> Mount:
    if mount.target not in (ENVIRONMENT_TARGET, REPOSITORY_TARGET):
        return mount
    writable = context.writable(mount)
    for packages in writable.source.glob("lib/python3*/site-packages"):
        lay_poetry_plugin(packages)
    return writable


async def _lend(
    environment: ServiceTools, stack: AsyncExitStack, sandbox: Sandbox, context: GradingContext
) -> dict[str, str]:
    """Attach the registry of what runs the service to *sandbox*; return what tells its installers of it."""
    match environment:
        case JavaToolchain():
            return await lend_maven(stack, sandbox, context)
        case Toolchain():
            rules = LendingRules(kinds=(environment.registry,))
            lent = await stack.enter_async_context(context.builder.registries(rules))
            context.lent.extend(lent.gateways.values())
            return await lent.attach(sandbox)
        case _:
            return await lend_index(stack, sandbox, context)


async def lend_index(stack: AsyncExitStack, sandbox: Sandbox, context: GradingContext) -> dict[str, str]:
    """Attach the package index to *sandbox* and return the variables that tell installers of it."""
    gateway = await stack.enter_async_context(context.builder.gateway())
    if gateway is None:
        return {}
    context.lent.append(gateway)
    supplies = gateway.supplies(await gateway.attach(sandbox))
    # For a Poetry in an environment that the script makes: what is laid beside packages is not seen there.
    for name, text in POETRY_PLUGIN.items():
        await sandbox.write_file(f"{_POETRY_PLUGIN}/{name}", text.encode())
    path = ":".join(filter(None, [sandbox.spec.environment.get("PYTHONPATH"), _POETRY_PLUGIN]))
    # The published interpreter says nothing of itself; Debian's and uv's want that nobody installs beside them.
    mine = {"PIP_BREAK_SYSTEM_PACKAGES": "1", "UV_BREAK_SYSTEM_PACKAGES": "1"}
    return {**supplies.environment, **mine, "PYTHONPATH": path, "PIP_NO_INPUT": "1"}


async def lend_maven(stack: AsyncExitStack, sandbox: Sandbox, context: GradingContext) -> dict[str, str]:
    """Attach the Maven repositories to *sandbox*, write Maven's settings and return the variables that help it."""
    if context.builder.java is None:
        return {}
    gateway = await stack.enter_async_context(context.builder.java.gateway())
    context.lent.append(gateway)
    supplies = gateway.supplies(await gateway.attach(sandbox))
    for place, text in supplies.files.items():
        await sandbox.write_file(place, text.encode())
    return supplies.environment
