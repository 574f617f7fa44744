"""The sandbox of a program that has a container to itself: the container is the sandbox.

For graders inside an image of their own, such as Harbor's separate verifiers, where no namespace can be made.
Commands run as another user than groundup, which must be root; one sandbox is open at a time, at the paths that
guests know. What an image holds already at a mount's target is not copied. Whatever a guest started or left in
folders that all users may write is gone before the next sandbox opens.
"""

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from groundup.domain.errors import SandboxError, UsageError
from groundup.sandbox.composition import HOME, base_environment
from groundup.sandbox.protocol import WORKSPACE, Closing, Command, Enforcement, Mount, Pod, SandboxSpec
from groundup.settings import Settings
from groundup.trees.walking import remove_tree
from groundup_bridges.host_folders import HostFolder

GUEST = 1000
"""The user and group that guests are; no program of the image may be theirs."""
_REMOVE = 0
"""`IPC_RMID`."""
_SHARED = ("/tmp", "/var/tmp", "/dev/shm", HOME)  # noqa: S108 - the container's, which are the guest's alone


def create(settings: Settings) -> "InPlaceProvider":
    """Return the provider. Raises `UsageError` unless root asks, which alone can become other users."""
    if os.geteuid() != 0:
        raise UsageError("this sandbox is for root in a container of its own; choose another sandbox")
    return InPlaceProvider()


class InPlaceProvider(Closing):
    """Opens one sandbox at a time, in place. *root* stands for `/` in tests."""

    name = "in place"
    guests_are_others = True

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._turn = asyncio.Lock()

    async def open(self, spec: SandboxSpec) -> "InPlaceFolder":
        """Wait until no other sandbox is open, and put everything in its place."""
        await self._turn.acquire()
        try:
            layout = InPlace(spec, self._root)
            await asyncio.to_thread(layout.enter)
        except BaseException:
            self._turn.release()
            raise
        return InPlaceFolder(layout, self._turn.release)

    async def pod(self) -> Pod:
        """Raise `SandboxError`: two sandboxes cannot be at the same paths at once."""
        raise SandboxError("services are graded in two sandboxes at once, which one container cannot hold")

    def enforcement(self) -> Enforcement:
        """Say what enforces the limits: the engine that runs the container."""
        return Enforcement(
            cpus="the container's",
            memory="the container's",
            processes="the container's",
            disk="the container's",
            network="the container's",
        )

    def identity(self) -> Mapping[str, str]:
        return {"sandbox": self.name}

    async def close(self) -> None:
        """Have nothing to close: each sandbox is closed by who opened it."""


class InPlace:
    """A specification's files at the paths that guests know, below *root*."""

    def __init__(self, spec: SandboxSpec, root: Path, user: int = GUEST) -> None:
        self.spec = spec
        self._root = root
        self._user = user
        self._workspace = self._place(WORKSPACE)
        self._made: list[Path] = []

    def enter(self) -> None:
        """Move the workspace to its place and copy what is mounted. Raises `SandboxError`."""
        self._clear()
        with contextlib.suppress(FileNotFoundError):
            self._workspace.rmdir()
        if self._workspace.exists():
            raise SandboxError(f"{WORKSPACE} of this container is not empty; nothing else may lie there")
        try:
            shutil.move(self.spec.workspace, self._workspace)
            give(self._workspace, self._user)
            for mount in self.spec.mounts:
                self._mount(mount)
        except OSError as error:
            self.leave()
            raise SandboxError(f"cannot lay out a sandbox in this container: {error}") from error

    def leave(self) -> None:
        """End all that a guest started, and give the workspace back."""
        self._clear()
        for path in reversed(self._made):
            remove(path)
        self._made.clear()
        if self._workspace.exists() and not self.spec.workspace.exists():
            shutil.move(self._workspace, self.spec.workspace)

    def _clear(self) -> None:
        """End every process of the guest's and empty what all users may write."""
        if os.geteuid() == 0 and self._root == Path("/"):
            end_all_of(self._user)
        for name in _SHARED:
            folder = self._place(name)
            for path in folder.iterdir() if folder.is_dir() else ():
                remove(path)

    def _mount(self, mount: Mount) -> None:
        target = self._place(mount.target)
        if target.exists() and target.samefile(mount.source):
            return  # the image has it
        if mount.writable:
            raise SandboxError(f"cannot mount {mount.target}: mounts cannot be written in a container")
        inside = target.is_relative_to(self._workspace)
        if inside:
            self.guard_parents(target)
            remove(target)
        elif target.exists():
            raise SandboxError(f"cannot mount {mount.target}: this container has something else there")
        target.parent.mkdir(parents=True, exist_ok=True)
        if mount.source.is_dir():
            shutil.copytree(mount.source, target, symlinks=True)
        else:
            shutil.copy2(mount.source, target)
        give(target, os.geteuid())
        let_read(target)
        if not inside:
            self._made.append(target)

    def guard_parents(self, target: Path) -> None:
        """Let guests write beside *target* in the workspace, but neither remove nor rename it."""
        for folder in target.parents:
            if not folder.is_relative_to(self._workspace):
                return
            if folder.is_symlink():
                raise SandboxError(f"cannot mount at {target}: the submission has a symbolic link in its place")
            folder.mkdir(parents=True, exist_ok=True)
            _own(folder, os.geteuid())
            folder.chmod(0o1777)

    def _place(self, path: str) -> Path:
        return self._root / path.lstrip("/")


class InPlaceFolder(HostFolder):
    """An open sandbox: the container as the guest sees it."""

    def __init__(self, layout: InPlace, left: Callable[[], None]) -> None:
        """Take a layout that was entered; *left* is called when it was left."""
        super().__init__(layout.spec.but(workspace=Path(WORKSPACE), mounts=()))
        self._layout = layout
        self._left = left

    @override
    async def close(self) -> None:
        """End it, and let the next one open."""
        if self._closed:
            return
        await super().close()
        try:
            await asyncio.to_thread(self._layout.leave)
        finally:
            self._left()

    @override
    async def read_file(self, path: str, max_bytes: int = 16 * 1024 * 1024) -> bytes:
        """Read a file as the guest, whose links lead groundup nowhere."""
        done = await self.run(Command(argv=("/bin/cat", "--", path), output_bytes=max_bytes + 1))
        if done.exit_code != 0:
            raise FileNotFoundError(path)
        if done.truncated or len(done.stdout) > max_bytes:
            raise ValueError(f"{path} has more than {max_bytes} bytes")
        return done.stdout

    @override
    async def write_file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file as the guest, making its folders."""
        program = 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"'
        argv = ("/bin/sh", "-c", program, "sh", path, f"{mode:o}")
        done = await self.run(Command(argv=argv, stdin=content))
        if done.exit_code != 0:
            raise PermissionError(f"{path}: {done.stderr.decode(errors='replace').strip()}")

    @override
    def _reporting(self, given: int, wanted: int) -> list[str]:
        """Leave that to the shell: groundup's own interpreter may need variables that guests do not have."""
        moved = "" if given == wanted else f" {wanted}>&{given} {given}>&-"
        return ["/bin/bash", "-c", f'exec "$@"{moved}', "bash"]

    @override
    def _variables(self) -> dict[str, str]:
        return base_environment(self.spec)

    @override
    def _identity(self) -> dict[str, Any]:
        return {"user": GUEST, "group": GUEST, "extra_groups": [], "umask": 0o022}


def end_all_of(user: int) -> None:
    """Kill every process of *user* at once, so that none can start another meanwhile; keep nothing of theirs."""
    if user == os.geteuid():  # no test calls it so: if this line were wrong, it would end all that runs here
        raise ValueError("a guest is another user than groundup")
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            _remove_shared(user)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _remove_shared(user: int) -> None:
    """Remove what *user* has of System V's shared memory, queues and semaphores: the kernel keeps it otherwise."""
    libc = ctypes.CDLL(None)
    removals: Mapping[str, Callable[[int], object]] = {
        "shm": lambda number: libc.shmctl(number, _REMOVE, None),
        "msg": lambda number: libc.msgctl(number, _REMOVE, None),
        "sem": lambda number: libc.semctl(number, 0, _REMOVE),
    }
    for kind, remove_one in removals.items():
        with contextlib.suppress(OSError):  # a kernel without them
            head, *lines = Path("/proc/sysvipc", kind).read_text().splitlines()
            maker = head.split().index("cuid")
            for fields in map(str.split, lines):
                if int(fields[maker]) == user:
                    remove_one(int(fields[1]))


def give(tree: Path, user: int) -> None:
    """Make all of *tree* the user's; links are not followed.

    A guest does not get files that have other names, too: those are a layer's, which it may replace but not write.
    """
    for path in _every(tree):
        status = path.lstat()
        if user == os.geteuid() or status.st_nlink == 1 or not stat.S_ISREG(status.st_mode):
            _own(path, user)


def _own(path: Path, user: int) -> None:
    if os.geteuid() == 0:
        os.lchown(path, user, user)


def let_read(tree: Path) -> None:
    """Let every user read *tree*, and only its owner write."""
    for path in _every(tree):
        status = path.lstat()
        if not stat.S_ISLNK(status.st_mode):
            path.chmod(0o755 if stat.S_ISDIR(status.st_mode) or status.st_mode & stat.S_IXUSR else 0o644)


def _every(tree: Path) -> Iterator[Path]:
    """Yield *tree* and all that lies in it; links are not followed."""
    waiting = [tree]
    while waiting:
        path = waiting.pop()
        yield path
        if _is_folder(path):
            waiting += path.iterdir()


def remove(path: Path) -> None:
    """Remove a file, link or folder that may be absent."""
    if _is_folder(path):
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
