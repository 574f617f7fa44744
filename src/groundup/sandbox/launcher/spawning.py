"""Becoming a sandbox: a forked child's user, limits and control groups, before it executes bubblewrap.

As root, sources of mounts are first bound below a private /tmp, because the guest's user could not reach them at
their own places; then the child becomes that user. An ordinary user needs neither.

A process of its own moves sandboxes into control groups, because the kernel may think about it for 10 ms. That
happens while a sandbox starts, so it costs no time; nothing of its guest runs before it is in place.

A child pays for each page of memory that it touches, so it takes the plainest way: `_signal` in place of `signal`.
"""

import contextlib
import fcntl
import json
import os
import resource
import socket
import stat
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from groundup.sandbox.launcher import kernel
from groundup.sandbox.launcher.limits import SandboxGroups
from groundup.sandbox.launcher.users import Identity, become_user
from groundup.sandbox.launcher.wire import ARGUMENTS, CONTROL, FILTER, INFO, INFO_READER, OPEN_FILES, STAGE
from groundup.sandbox.launcher.workspaces import lend

if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

FAILED = 125
_OOM_SCORE = b"500"
"""When the machine runs out of memory, sandboxes go before everything else."""
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41


class Spawn(NamedTuple):
    """Everything that the child needs."""

    identity: Identity
    staging: bool
    bwrap: str
    command: tuple[str, ...]
    arguments: int
    control: int
    info: int
    info_reader: int
    errors: int
    sources: int
    filter: int
    lent: tuple[int, ...]
    namespaces: tuple[int, int] | None
    processors: frozenset[int]
    group: SandboxGroups


def allow_open_files() -> None:
    """Let what this process starts have `OPEN_FILES`, though our own limit is lower; most users may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, OPEN_FILES))


def fork(work: Callable[[], object], errors: int | None = None) -> int:
    """Run *work* in a child and return the child's pid; what it raises goes to *errors* as one line."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = FAILED
    try:
        _signal.set_wakeup_fd(-1)
        for number in (_signal.SIGCHLD, _signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT, _signal.SIGTERM):
            _signal.signal(number, _signal.SIG_DFL)
        kernel.die_with_parent(_signal.SIGKILL)
        if os.getpriority(os.PRIO_PROCESS, 0) < 0:
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        # A parent that died before the signal was asked for sends none.
        if os.getppid() == parent:
            work()
            code = 0
    except BaseException as error:  # noqa: BLE001  # the boundary of a forked child: nothing may unwind past it
        if errors is not None:
            os.write(errors, f"{error}\n".encode())
    finally:
        os._exit(code)


def become_sandbox(spawn: Spawn) -> NoReturn:
    """Execute bubblewrap as the guest's user."""
    # The order matters: groups, priority and owners need root, which `become_user` gives up for good; the pod's
    # namespaces belong to the guest's user, so only that user can enter them.
    if spawn.group.can_be_entered:
        spawn.group.enter()
    _write("/proc/self/oom_score_adj", _OOM_SCORE)
    if spawn.processors:
        os.sched_setaffinity(0, spawn.processors)
    if spawn.identity.changes:
        for folder in spawn.lent:
            lend(folder, spawn.identity.uid, spawn.identity.gid)
    if spawn.staging:
        _stage(spawn.sources)
    become_user(spawn.identity)
    kernel.die_with_parent(0)  # bubblewrap that dies too early leaves a child; the supervisor sees our end anyway
    if spawn.namespaces:
        kernel.setns(spawn.namespaces[0], kernel.CLONE_NEWUSER)
        kernel.setns(spawn.namespaces[1], kernel.CLONE_NEWNET)
    _place_descriptors(spawn)
    os.umask(0o022)
    os.chdir("/")
    os.execve(spawn.bwrap, ["bwrap", "--args", str(ARGUMENTS), "--", *spawn.command], {})


def make_network(identity: Identity, channel: int) -> None:
    """Make a user namespace with a network of its own; send descriptors of both over *channel*."""
    become_user(identity)
    kernel.be_dumpable()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
    # An unprivileged user may write gid_map only after denying setgroups.
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"1000 {identity.uid} 1"),
        ("gid_map", f"1000 {identity.gid} 1"),
    ):
        _write(f"/proc/self/{name}", text.encode())
    # The loopback interface of a new network is down.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", _IFF_UP_RUNNING, b""))
    spaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("user", "net")]
    with socket.socket(fileno=channel) as answer:
        socket.send_fds(answer, [b"made"], spaces)


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, content)
    os.close(descriptor)


def _stage(listed: int) -> None:
    """Bind what the file *listed* names (name -> path) below `STAGE`."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_SLAVE)
    with os.fdopen(listed, "rb") as file:
        paths = json.load(file)
    # Opened before /tmp is covered, because a source may lie in the host's /tmp.
    sources = {name: os.open(path, os.O_PATH | os.O_CLOEXEC) for name, path in paths.items()}
    kernel.mount("tmpfs", "/tmp", "tmpfs", 0, "mode=755,size=1m")  # noqa: S108  # seen in this namespace only
    os.mkdir(STAGE)
    for name, source in sources.items():
        target = f"{STAGE}/{name}"
        if stat.S_ISDIR(os.fstat(source).st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        kernel.mount(f"/proc/self/fd/{source}", target, "", kernel.MS_BIND | kernel.MS_REC)
        os.close(source)


def _place_descriptors(spawn: Spawn) -> None:
    """Put the descriptors where they are expected; all others close when bubblewrap is executed."""
    null = os.open(os.devnull, os.O_RDWR)
    wanted = {0: null, 1: spawn.errors, 2: spawn.errors}
    wanted |= {CONTROL: spawn.control, ARGUMENTS: spawn.arguments}
    wanted |= {INFO: spawn.info, INFO_READER: spawn.info_reader, FILTER: spawn.filter}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.set_inheritable(int(name), False)
    # First all move out of the way: one may have the number that another is to get.
    high = {target: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, 64) for target, source in wanted.items()}
    for target, source in high.items():
        os.dup2(source, target)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def can_stage() -> bool:
    """Whether mounts can be prepared in a private namespace."""
    if os.geteuid() != 0:
        return False
    child = fork(_try_mounting)
    return os.waitpid(child, 0)[1] == 0


def _try_mounting() -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_SLAVE)
    kernel.mount("tmpfs", "/tmp", "tmpfs", 0, "mode=755,size=1m")  # noqa: S108  # seen in this namespace only


class Placer:
    """Takes orders and says which are done, in their order."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.pid = fork(lambda: _serve(theirs))

    def order(self, key: str, groups: list[str], pid: int) -> None:
        """Ask to move *pid* into *groups*."""
        self.channel.send(json.dumps([key, groups, pid]).encode())

    def done(self) -> tuple[str, int, str]:
        """Return the next order's key, its pid, and what went wrong (or nothing)."""
        packet = self.channel.recv(4096)
        if not packet:
            raise RuntimeError("the process that fills control groups has ended")
        key, pid, problem = json.loads(packet)
        return key, pid, problem


def _serve(channel: socket.socket) -> None:
    # Copies of other sandboxes' pipes would keep these from ending.
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, 256)
    while packet := channel.recv(65536):
        key, groups, pid = json.loads(packet)
        problem = ""
        for group in groups:
            try:
                descriptor = os.open(f"{group}/cgroup.procs", os.O_WRONLY)
                try:
                    os.write(descriptor, str(pid).encode())
                finally:
                    os.close(descriptor)
            except OSError as error:
                problem = str(error)
        channel.send(json.dumps([key, pid, problem]).encode())
