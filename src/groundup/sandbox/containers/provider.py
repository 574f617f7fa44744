"""Sandboxes in containers of Docker or Podman: the engine confines, the supervisor inside serves.

The engine makes the container (image, mounts, user, limits, no network) and starts groundup's own supervisor in it
as process 1, which connects to a socket that is mounted. From there on it is a sandbox like those of bubblewrap:
the same supervisor, and the same launcher, which watches its limits and ends it when groundup is gone. What ends
is removed by the engine itself.
"""

import asyncio
import contextlib
import functools
import itertools
import os
import sys
from collections.abc import Mapping
from typing import Any, Self

from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
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
from groundup.sandbox.containers.starting import peer, started
from groundup.sandbox.guest import SupervisedSandbox
from groundup.sandbox.host_state import systems
from groundup.sandbox.launcher_link import LauncherLink, running_link
from groundup.sandbox.protocol import Closing, Command, Enforcement, Pod, Sandbox, SandboxProvider, SandboxSpec
from groundup.sandbox.system import LIST_VERSION, GuestSystem, guest_system, missing_programs
from groundup.settings import Settings

_READY = 4
"""Networks of pods that wait to be used, at most."""
_HOSTNAME = "groundup"
_WORDS = 200
"""Of what an image prints that cannot be used, at most."""
_HOLDER = Limits(memory_mb=16, processes=8, disk_mb=1, wall_clock_s=1e9)
"""Of the container that holds a pod's network."""


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
        self._pods = 0
        self._others: dict[str, ImageProvider] = {}
        self._pulling: dict[str, asyncio.Lock] = {}
        self._holders: list[asyncio.Task[tuple[SupervisedSandbox, str]]] = []
        """Of networks of pods to come: an engine takes longer to start one than anybody wants to wait."""

    @property
    def guests_are_others(self) -> bool:
        """Whether groundup is root: its guests then are not, or have none of root's rights."""
        return os.geteuid() == 0

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox."""
        sandbox, _ = await self.open_in(spec, None, self._image)
        return sandbox

    async def pod(self) -> Pod:
        """Open an empty pod: a container that does nothing but hold the network, one that is ready if there is."""
        return await self.pod_in(self._image)

    async def pod_in(self, image: EngineImage | None) -> Pod:
        """Open an empty pod whose sandboxes are made from *image*; None: from this machine's programs."""
        self._pods += 1
        while self._holders:
            with contextlib.suppress(SandboxError):
                holder = await self._holders.pop(0)
                if not holder[0].closed:
                    return ContainerPod(self, image, *holder)
        return ContainerPod(self, image, *await self._hold())

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

    def make_ready(self) -> None:
        """Have a network ready for the next pod, where more than one is opened."""
        if self._pods > 1 and len(self._holders) < _READY:
            self._holders.append(asyncio.create_task(self._hold()))

    async def _hold(self) -> tuple[SupervisedSandbox, str]:
        _, link = await self._ready()
        folder = link.state.path / f"pod-{next(self._numbers)}"
        folder.mkdir(mode=0o755)
        spec = SandboxSpec(workspace=folder, limits=_HOLDER, label="network of a pod")
        return await self.open_in(spec, None, self._image)

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
        if holder:
            request["HostConfig"]["NetworkMode"] = f"container:{holder}"
        else:
            request["Hostname"] = _HOSTNAME
            request["HostConfig"] |= {"NetworkMode": "none", "ExtraHosts": [f"{_HOSTNAME}:127.0.0.1"]}
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
            disk="a watcher, about once a second; sizes of tmpfs; RLIMIT_FSIZE; a floor of free space",
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
        await asyncio.gather(*self._holders, return_exceptions=True)
        self._holders.clear()
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
        """As of the whole."""
        return self._whole.guests_are_others

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox."""
        sandbox, _ = await self._whole.open_in(spec, None, self._image)
        return sandbox

    async def pod(self) -> Pod:
        """Open an empty pod."""
        return await self._whole.pod_in(self._image)

    def enforcement(self) -> Enforcement:
        """As of the whole."""
        return self._whole.enforcement()

    def identity(self) -> Mapping[str, str]:
        """Name and version of the engine, and the image."""
        return self._whole.identity_in(self._image)

    async def close(self) -> None:
        """Leave the sandboxes to the whole."""


class ContainerPod(Closing, Pod):
    """Containers that share the network of one that holds it."""

    def __init__(
        self, provider: ContainerProvider, image: EngineImage | None, holder: SupervisedSandbox, container: str
    ) -> None:
        self._provider = provider
        self._image = image
        self._holder = holder
        self._container = container
        self._members: list[SupervisedSandbox] = []

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox inside the pod."""
        if self._holder.closed:
            raise SandboxError("the pod is closed; open another one")
        member, _ = await self._provider.open_in(spec, self._container, self._image)
        self._members.append(member)
        member.neighbours = self._members
        return member

    async def observer(self, spec: SandboxSpec) -> Sandbox:
        """Return the sandbox that holds the network: nothing else runs in it, and a container is dear."""
        return self._holder

    async def close(self) -> None:
        """Close all its sandboxes and the network."""
        if not self._holder.closed:
            self._provider.make_ready()
        await asyncio.gather(*(member.close() for member in self._members))
        await self._holder.close()


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
