"""Guests of one container, each a user of its own in a root folder of its own.

For graders of services inside an image of their own, where no namespace can be made: root can still change the
root folder and become others. Guests cannot see, signal or trace one another, nor read what another has. They
share loopback, as in a pod, and the container's way to other machines; there is no /proc. Files of the system and
of mounts are the container's own under further names: a guest can at most replace them in its root.
"""

import asyncio
import itertools
import os
import shutil
import stat
from pathlib import Path
from typing import Any

from typing_extensions import override

from groundup.domain.errors import SandboxError
from groundup.sandbox.composition import HOME, ROOT_FOLDERS, write_etc
from groundup.sandbox.protocol import Mount, Sandbox, SandboxSpec
from groundup.trees.walking import remove_tree
from groundup.trees.writer import share_tree
from groundup_bridges.host_folders import HostFolder, HostPod
from groundup_bridges.inplace import InPlace, InPlaceFolder, InPlaceProvider, end_all_of, give, let_read, remove

FIRST_USER = 60600
"""Of the guests, who never share one."""
_CHROOT = "/usr/sbin/chroot"
_BECOME = 'cd "$1" || exit 126; shift; exec "$@"'
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
_OPEN_FOLDERS = ("tmp", "var/tmp", "run", "dev/shm")


class GuestRoots(InPlaceProvider):
    """Opens any number of sandboxes at once, below the absent folder *state*, which no guest may enter.

    *system* has the `usr` that guests see.
    """

    name = "guest roots"

    def __init__(self, state: Path, system: Path = Path("/"), first_user: int = FIRST_USER) -> None:
        super().__init__()
        self._state = state
        self._system = system
        self._users = itertools.count(first_user)

    @override
    async def open(self, spec: SandboxSpec) -> "GuestFolder":
        """Lay out a root for another user."""
        user = next(self._users)
        layout = GuestRoot(spec, self._state / str(user), self._system, user)
        await asyncio.to_thread(layout.enter)
        return GuestFolder(layout)

    @override
    async def pod(self) -> "GuestPod":
        """Open a pod: guests share the container's loopback."""
        return GuestPod(self)


class GuestPod(HostPod):
    """Guests that speak to one another by loopback."""

    @override
    async def observer(self, spec: SandboxSpec) -> Sandbox:
        return _Observer(spec)


class _Observer(HostFolder):
    """Asks others, and starts nothing."""

    @override
    async def _process(self, *_: object) -> int:
        raise SandboxError("nothing runs beside an observer")


class GuestRoot(InPlace):
    """A specification's files at the paths that its guest knows, below the root that is the guest's alone."""

    def __init__(self, spec: SandboxSpec, root: Path, system: Path, user: int) -> None:
        super().__init__(spec, root, user)
        self.root, self.user = root, user
        self._system = system
        self._lent: list[tuple[Path, Path]] = []

    @override
    def enter(self) -> None:
        """Make the root. Raises `SandboxError`."""
        try:
            self._make_root()
        except OSError as error:
            self.leave()
            raise SandboxError(
                f"cannot make a root folder for a guest in this container: {error}; "
                "its root needs the capabilities CHOWN, KILL, MKNOD, SETGID, SETUID and SYS_CHROOT"
            ) from error
        super().enter()

    @override
    def leave(self) -> None:
        """End all that the guest started, and give back what it could write."""
        self._clear()
        for place, source in [*reversed(self._lent), (self._workspace, self.spec.workspace)]:
            if not source.exists():
                self._take_back(place, source)
        self._lent.clear()
        remove_tree(self.root)

    def _make_root(self) -> None:
        self.root.mkdir(parents=True)
        self.root.parent.chmod(0o700)  # the roots themselves are open, each to its guest
        share_tree(self._system / "usr", self.root / "usr")
        for entry in self._system.iterdir():
            if entry.is_symlink() and str(entry.readlink()).startswith("usr/"):
                (self.root / entry.name).symlink_to(entry.readlink())
        write_etc(self.root / "etc")
        with (self.root / "etc" / "passwd").open("a") as file:
            file.write(f"guest:x:{self.user}:{self.user}:guest:{HOME}:/bin/sh\n")
        for folder in (*ROOT_FOLDERS, HOME, "proc"):
            self._place(folder).mkdir(parents=True, exist_ok=True)
        for folder in _OPEN_FOLDERS:
            self._place(folder).mkdir(parents=True, exist_ok=True)
            self._place(folder).chmod(0o1777)
        for name, number in _DEVICES.items():
            os.mknod(self.root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(*number))
            (self.root / "dev" / name).chmod(0o666)
        give(self._place(HOME), self.user)
        if self.spec.throw_away_root:
            self._let_write_root()

    def _let_write_root(self) -> None:
        """Let the guest write beside what is mounted, as in a container."""
        give(self.root / "etc", self.user)
        folders = {path for name in ROOT_FOLDERS for path in (self._place(name), *self._place(name).parents)}
        for folder in folders:
            if folder.is_relative_to(self.root):
                os.chown(folder, self.user, self.user)

    @override
    def _clear(self) -> None:
        end_all_of(self.user)

    @override
    def _mount(self, mount: Mount) -> None:
        target = self._place(mount.target)
        if target.is_relative_to(self._workspace):
            self.guard_parents(target)
        remove(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if mount.writable:
            shutil.move(mount.source, target)
            self._lent.append((target, mount.source))
            give(target, self.user)
        elif mount.source.is_dir():
            share_tree(mount.source, target)
        else:
            _share_file(mount.source.resolve(), target)

    def _take_back(self, place: Path, source: Path) -> None:
        """Move what a guest wrote out of its root. A link that it put in the way is not followed."""
        if place.resolve() != place or not place.is_dir():
            source.mkdir()
            return
        give(place, os.geteuid())
        let_read(place)
        shutil.move(place, source)


class GuestFolder(InPlaceFolder):
    """An open sandbox: a root folder as its guest sees it."""

    def __init__(self, layout: GuestRoot) -> None:
        super().__init__(layout, lambda: None)
        self.spec = layout.spec
        self._root, self._user = layout.root, layout.user

    @override
    def _placed(self, argv: list[str], cwd: str) -> tuple[list[str], str | Path]:
        """Enter the root first: links of the guest's lead nowhere else then."""
        who = f"--userspec={self._user}:{self._user}"
        enter = (_CHROOT, who, "--groups=", str(self._root), "/bin/sh", "-c", _BECOME, "sh", cwd)
        return [*enter, *argv], "/"

    @override
    async def is_deserted(self) -> bool:
        """Look for processes of the guest's, from outside its root."""
        return await asyncio.to_thread(lambda: not any(map(self._is_own, Path("/proc").glob("[0-9]*"))))

    def _is_own(self, process: Path) -> bool:
        try:
            words = (process / "status").read_text()
        except OSError:  # it has ended
            return False
        return f"\nUid:\t{self._user}\t" in words and "\nState:\tZ" not in words

    @override
    def _identity(self) -> dict[str, Any]:
        return {"umask": 0o022}


def _share_file(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # on another file system
        shutil.copy2(source, target)
