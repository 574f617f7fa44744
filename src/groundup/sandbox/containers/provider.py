"""Sandboxes in containers of Docker or Podman: the engine confines, the supervisor inside serves.

The engine makes the container (image, mounts, user, limits, no network) and starts groundup's own supervisor in it
as process 1, which connects to a socket that is mounted. From there on it is a sandbox like those of bubblewrap:
the same supervisor, and the same launcher, which watches its limits and ends it when groundup is gone. What ends
is removed by the engine itself.
"""

import asyncio
import contextlib
import errno
import functools
import itertools
import os
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from groundup.domain.errors import SandboxError
from groundup.inside.stopwatch import Stopwatch
from groundup.sandbox.bubblewrap import found_bubblewrap, memory_file, open_folder
from groundup.sandbox.composition import INSIDE, PYTHON, write_etc
from groundup.sandbox.containers.engine import DOCKER, LABEL, PODMAN, Engine, EngineImage, EngineKind
from groundup.sandbox.containers.layout import (
    EMPTY,
    THROW_AWAY,
    Base,
    Guest,
    compose,
    image_variables,
    own_image,
    prepare,
)
from groundup.sandbox.deadlines import Meter
from groundup.sandbox.guest import SupervisedSandbox
from groundup.sandbox.host_state import systems
from groundup.sandbox.launcher_link import LauncherLink, running_link
from groundup.sandbox.protocol import (
    Closing,
    Command,
    Connecting,
    Enforcement,
    Pod,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)
from groundup.sandbox.system import LIST_VERSION, GuestSystem, guest_system, missing_programs
from groundup.settings import Settings

_START_S, _LOOK_S = 120.0, 1.0


async def started(engine: Engine, request: dict[str, Any], place: Path) -> tuple[str, socket.socket]:
    """Start a container whose supervisor connects to *place*; return it and the connection.

    The first to connect is the supervisor, for nothing else runs yet; after it, no one can.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.setblocking(False)
        folder = os.open(place.parent, os.O_PATH | os.O_CLOEXEC)
        try:  # by its folder's descriptor, for a socket's path may have 107 characters at most
            listener.bind(f"/proc/self/fd/{folder}/{place.name}")
        except OSError as error:
            raise SandboxError(f"cannot make the socket {place}: {error}; try `groundup doctor`") from error
        finally:
            os.close(folder)
        try:
            # The guest's user is not ours. The folder's other users cannot reach it: the root of state folders is
            # mode 700.
            place.chmod(0o666)
            listener.listen(1)
            starting = asyncio.ensure_future(engine.start(request))
            try:
                container = await asyncio.shield(starting)
            except asyncio.CancelledError:
                starting.add_done_callback(_forget)  # its supervisor finds no listener, so it ends by itself
                raise
            return container, await _accepted(engine, container, listener, request)
        finally:
            place.unlink(missing_ok=True)


def _forget(task: "asyncio.Future[str]") -> None:
    """Have an error of *task* not reported as lost."""
    if not task.cancelled():
        task.exception()


async def _accepted(
    engine: Engine, container: str, listener: socket.socket, request: dict[str, Any]
) -> socket.socket:
    accepting = asyncio.ensure_future(asyncio.get_running_loop().sock_accept(listener))
    stopwatch = Meter().stopwatch()
    try:
        while not accepting.done():
            await asyncio.wait([accepting], timeout=_LOOK_S)
            if accepting.done():
                break
            if stopwatch.left_s(_START_S) <= 0 or not await engine.is_running(container):
                await engine.remove(container)
                words = await engine.last_words(request)
                raise SandboxError(
                    f"a container did not start: {words or 'it printed nothing'}; try `groundup doctor`"
                )
        control, _ = accepting.result()
    finally:
        accepting.cancel()
    return control


def peer(control: socket.socket) -> int:
    """Return the process at the other end."""
    pid, _, _ = struct.unpack("3i", control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if pid <= 0:
        raise SandboxError("the engine's containers cannot be seen from here: run groundup beside the engine")
    return int(pid)


_HOSTNAME = "groundup"
_WORDS = 200
"""Of what an image prints that cannot be used, at most."""


def create_docker(settings: Settings) -> SandboxProvider:
    """Return the provider; the engine is reached when its context is entered."""
    return ContainerProvider(DOCKER, settings.image)


def create_podman(settings: Settings) -> SandboxProvider:
    """Return the provider; the engine is reached when its context is entered."""
    return ContainerProvider(PODMAN, settings.image)


class ContainerProvider:
    """Opens sandboxes in containers of one engine, from the user's image or from this machine's programs."""

    def __init__(self, kind: EngineKind, image: str | None = None) -> None:
        self.name = kind.name
        self._kind = kind
        self._wanted = image
        self._image: EngineImage | None = None
        self._own: dict[bool, Base] = {}
        """Our own images, by whether the root can be written."""
        self._engine: Engine | None = None
        self._link: LauncherLink | None = None
        self._system: GuestSystem | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._open: set[SupervisedSandbox] = set()
        self._others: dict[str, ImageProvider] = {}
        self._pulling: dict[str, asyncio.Lock] = {}

    @property
    def guests_are_others(self) -> bool:
        """Whether groundup is root: its guests then are not, or have none of root's rights."""
        return os.geteuid() == 0

    async def open(self, spec: SandboxSpec) -> Sandbox:
        sandbox, _ = await self.open_in(spec, None, self._image)
        return sandbox

    async def pod(self) -> Pod:
        return ContainerPod(self, self._image)

    async def in_image(self, name: str) -> "SandboxProvider":
        """Return a provider that opens its sandboxes in another image; this one closes them.

        Raises `UsageError` for an image of another kind of machine, and `SandboxError`.
        """
        async with self._pulling.setdefault(name, asyncio.Lock()):
            if name not in self._others:
                engine = await self._reach()
                image = await engine.image(name, _tell)
                await self._try_out(image, name)
                self._others[name] = ImageProvider(self, image)
        return self._others[name]

    async def _try_out(self, image: EngineImage, name: str) -> None:
        """Run what graders need in *image*: one that lacks it would be a zero for every submission."""
        _, link = await self._ready()
        folder = link.state.path / f"trial-{next(self._numbers)}"
        folder.mkdir(mode=0o755)
        variables = {"LD_LIBRARY_PATH": f"{INSIDE}/python/lib"}
        spec = SandboxSpec(workspace=folder, environment=variables, label="trial of an image")
        sandbox, _ = await self.open_in(spec, None, image)
        async with sandbox:
            done = await sandbox.run(Command(argv=("sh", "-c", f"exec {PYTHON} -I -S -E -c pass")))
        if not done.ok:
            words = " ".join(done.stderr.decode(errors="replace").split())[-_WORDS:] or done.ending
            raise SandboxError(
                f"in the image {name} a shell and this machine's interpreters do not run ({words}); it "
                "needs sh and a C library that is not older than this machine's"
            )

    async def is_running(self, container: str) -> bool:
        engine = await self._reach()
        return await engine.is_running(container)

    async def open_in(
        self, spec: SandboxSpec, holder: str | None, image: EngineImage | None
    ) -> tuple[SupervisedSandbox, str]:
        """Open a sandbox, in the network of the container *holder* if one is named; return its container, too."""
        engine, link = await self._ready()
        key = str(next(self._numbers))
        place = link.state.path / f"control-{key}"
        guest = _guest(engine, spec)
        system = await self._listed_system() if spec.system == "listed" and not image else None
        request = compose(spec, self._base(spec, image), guest, link.state.path, system, place)
        request["Labels"] = {LABEL: str(link.state.path), "groundup.sandbox": spec.label}
        request["HostConfig"]["NetworkMode"] = f"container:{holder}" if holder else "none"
        if not holder or engine.kind is PODMAN:  # Docker takes it from the other one, and rejects a name
            request["Hostname"] = _HOSTNAME
        if not holder:
            # Docker then does not start itself once more, which costs as much as the rest of a container.
            request["NetworkDisabled"] = engine.kind is DOCKER
        with contextlib.ExitStack() as stack:
            descriptors = [_kept(stack, open_folder(spec.workspace))]
            descriptors += [_kept(stack, open_folder(mount.source)) for mount in spec.mounts if mount.writable]
            container, control = await started(engine, request, place)
            sandbox = SupervisedSandbox(spec, link, key, control)
            self._open = {other for other in self._open if not other.closed}
            self._open.add(sandbox)
            if image:
                sandbox.environment = image_variables(spec, image.environment)
            try:
                pid = peer(control)
                descriptors = [_kept(stack, os.pidfd_open(pid)), _kept(stack, memory_file(b"")), *descriptors]
                order = {"op": "adopt", "key": key, "pid": pid, "number": guest.number}
                await link.ask({**order, "limits": spec.limits.model_dump()}, tuple(descriptors))
            except BaseException:
                sandbox.abandon()
                raise
        await sandbox.opened()
        return sandbox, container

    async def image_files(self, folder: str) -> tuple[dict[str, Any], bytes]:
        """Return the configuration of the user's image, and a folder in it as an archive."""
        engine = await self._reach()
        assert self._image is not None, "there is no image of the user's"
        return await engine.files(self._image.id, folder)

    def enforcement(self) -> Enforcement:
        """Say what enforces the limits."""
        title = self._kind.title
        return Enforcement(
            cpus=f"{title}, quota",
            memory=f"{title}, without swap",
            processes=title,
            disk="a watcher, about once a second; sizes of tmpfs; RLIMIT_FSIZE; 256 MB of disk stay free",
            network=f"{title}, a network namespace with loopback only",
        )

    def identity(self) -> Mapping[str, str]:
        """Name and version of the engine, and what the guests' programs are."""
        return self.identity_in(self._image)

    def identity_in(self, image: EngineImage | None) -> Mapping[str, str]:
        """Name and version of the engine, and *image*; None: the list of this machine's programs."""
        version = self._engine.version if self._engine else "not reached"
        known = {"sandbox": self.name, self.name: version}
        if image:
            return {**known, "image": image.name, "image id": image.id}
        missing = [name for names in missing_programs().values() for name in names]
        return {**known, "system": LIST_VERSION, **({"missing programs": " ".join(missing)} if missing else {})}

    async def close(self) -> None:
        """Close every sandbox that is still open, and wait until the engine has removed what is ours."""
        await asyncio.gather(*(sandbox.close() for sandbox in self._open))
        self._open.clear()
        link, self._link = self._link, None
        engine, self._engine = self._engine, None
        if link and engine:
            await engine.remove_all(str(link.state.path))
        if link:
            await link.close()
        if engine:
            engine.close()

    async def __aenter__(self) -> Self:
        try:
            await self._reach()
            if self._image and self._wanted:
                await self._try_out(self._image, self._wanted)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _reach(self) -> Engine:
        if self._engine is None:
            engine = await asyncio.to_thread(Engine.reach, self._kind)
            if self._wanted:
                self._image = await engine.image(self._wanted, _tell)
            else:
                for throw_away, name in ((False, EMPTY), (True, THROW_AWAY)):
                    made = await engine.have(name, functools.partial(own_image, throw_away=throw_away))
                    self._own[throw_away] = Base(made, {}, is_ours=True)
            self._engine = engine
        return self._engine

    async def _ready(self) -> tuple[Engine, LauncherLink]:
        async with self._starting:
            engine = await self._reach()
            link = await running_link(self._link)
            if link is not self._link:
                await asyncio.to_thread(prepare, link.state.path)
                self._link = link
            return engine, link

    def _base(self, spec: SandboxSpec, image: EngineImage | None) -> Base:
        if image:
            return Base(image.id, image.environment, is_ours=False)
        return self._own[spec.throw_away_root]

    async def _listed_system(self) -> GuestSystem:
        async with self._starting:
            if self._system is None:
                self._system = await asyncio.to_thread(guest_system, systems(), write_etc, found_bubblewrap())
            return self._system


class ImageProvider(Closing, SandboxProvider):
    """Opens sandboxes of a `ContainerProvider` in an image of their own. Closing it closes nothing."""

    def __init__(self, whole: ContainerProvider, image: EngineImage) -> None:
        self.name = whole.name
        self._whole = whole
        self._image = image

    @property
    def guests_are_others(self) -> bool:
        return self._whole.guests_are_others

    async def open(self, spec: SandboxSpec) -> Sandbox:
        sandbox, _ = await self._whole.open_in(spec, None, self._image)
        return sandbox

    async def pod(self) -> Pod:
        return ContainerPod(self._whole, self._image)

    def enforcement(self) -> Enforcement:
        return self._whole.enforcement()

    def identity(self) -> Mapping[str, str]:
        return self._whole.identity_in(self._image)

    async def close(self) -> None:
        """Leave the sandboxes to the whole."""


class ContainerPod(Closing, Pod):
    """Containers that share a network, which the first of them makes: one that holds it for them would be dear.

    Who comes later joins any that runs. Where none does, nothing can answer, and a new network is as good.
    """

    def __init__(self, provider: ContainerProvider, image: EngineImage | None) -> None:
        self._provider = provider
        self._image = image
        self._members: list[SupervisedSandbox] = []
        self._containers: dict[SupervisedSandbox, str] = {}
        """Of members that can be joined."""
        self._first = asyncio.Lock()
        self._closed = False

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox inside the pod."""
        while not self._closed:
            async with self._first:  # that makes the network, for those as well that come meanwhile
                host = next((one for one in self._containers if not one.ended), None)
                if host is None:
                    return await self._open(spec, None)
            container = self._containers[host]
            try:
                return await self._open(spec, container)
            except SandboxError:
                if await self._provider.is_running(container):
                    raise
                self._containers.pop(host, None)
        raise SandboxError("the pod is closed; open another one")

    async def _open(self, spec: SandboxSpec, host: str | None) -> Sandbox:
        member, container = await self._provider.open_in(spec, host, self._image)
        self._members.append(member)
        self._containers[member] = container
        member.neighbours = self._members
        return member

    async def observer(self, spec: SandboxSpec) -> Connecting:
        """Return what asks through the supervisors of the others, which their guests cannot reach."""
        return PodObserver(self._members)

    async def close(self) -> None:
        """Close all its sandboxes, last the one that made the network."""
        self._closed = True
        await asyncio.gather(*(member.close() for member in self._members[1:]))
        for member in self._members[:1]:
            await member.close()


class PodObserver(Connecting):
    """Asks ports of a pod through any of its sandboxes that runs."""

    def __init__(self, members: list[SupervisedSandbox]) -> None:
        self._members = members

    async def connect(self, port: int) -> socket.socket:
        """Return a connected socket; where nothing runs any more, nothing listens."""
        for member in self._members:
            if not member.ended:
                try:
                    return await member.connect(port)
                except SandboxError:
                    if not member.ended:
                        raise
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"port {port}: nothing runs in the pod")

    def stopwatch(self) -> Stopwatch:
        return self._members[0].stopwatch() if self._members else Meter().stopwatch()


def _guest(engine: Engine, spec: SandboxSpec) -> Guest:
    """Say who the guest is inside.

    Whose files are its own outside matters: for a rootless engine, its root is who runs it; an ordinary user of an
    engine that runs as root keeps their own number, because only root could remove the files of another user.
    """
    numbers = (os.geteuid(), os.getegid())
    if engine.is_rootless:
        numbers = (0, 0)
    elif numbers[0] == 0:
        numbers = (0, 0) if spec.user == "root" else (1000, 1000)
    if engine.kind is PODMAN:
        return Guest(*numbers, owns_tmpfs=False, options=("mask=/sys",), private=("/tmp", "/var/tmp"))  # noqa: S108
    return Guest(*numbers)


def _tell(text: str) -> None:
    sys.stderr.write(f"\r{text}\033[K" if sys.stderr.isatty() else f"{text}\n")


def _kept(stack: contextlib.ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor
