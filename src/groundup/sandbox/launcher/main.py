"""The launcher's loop: requests, sandboxes that end, limits that are passed, and the end of groundup."""

import contextlib
import gc
import json
import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundup.sandbox.launcher import kernel, spawning, wire
from groundup.sandbox.launcher.boxes import Box, adopted, host_number, lending
from groundup.sandbox.launcher.disks import FREE_FLOOR_BYTES, FullDisk
from groundup.sandbox.launcher.limits import (
    TICK_S,
    SandboxGroups,
    find_places,
)
from groundup.sandbox.launcher.spawning import Placer, Spawn, become_sandbox, fork, make_network
from groundup.sandbox.launcher.users import Identity, Users
from groundup.sandbox.launcher.workspaces import Loans, TooLargeError, take_back

_ROOM_COMES_S = 5.0
_UNWATCHED = 5
"""A look at all sandboxes is followed by so many times what it took, in which requests are served without one."""
_FEW = 100
"""Entries of folders that are given back at once: a child takes longer."""
_STEPS = 10
"""Into how many looks a usual one is divided while a round of measuring goes on, which has small steps."""
_NO_ROOM = f"less than {FREE_FLOOR_BYTES >> 20} MB are free on the disk of its workspace; free some\n".encode()


class Launcher:
    """Serves one channel until it ends."""

    def __init__(self, channel: socket.socket, state: Path, niceness: int) -> None:
        self.channel = channel
        self.state = state
        self.niceness = niceness
        self.places = find_places()
        self.boxes: dict[str, Box] = {}
        self.finishing: dict[int, Callable[[int], None]] = {}
        self.networks: dict[str, tuple[Identity, tuple[int, int]]] = {}
        self.loans = Loans()
        self.full: dict[int, FullDisk] = {}
        self.ending = False
        self.poller = select.poll()
        self.starting: dict[int, Box] = {}
        self.adopted: dict[int, Box] = {}
        self.placer = Placer()
        self.staging = spawning.can_stage()
        self.users = Users()
        self.load = dict.fromkeys(sorted(os.sched_getaffinity(0)), 0)
        self.next_look = 0.0

    def serve(self, wake: int) -> None:
        """Loop until groundup is gone and everything is cleaned up."""
        self.tell(
            "hello", staging=self.staging, version=self.places.version, controllers=sorted(self.places.folders)
        )
        for source in (wake, self.channel, self.placer.channel):
            self.poller.register(source, select.POLLIN)
        while not (self.ending and not self.boxes and not self.finishing):
            for descriptor, _ in self.poller.poll(self._patience_ms()):
                if descriptor == wake:
                    os.read(wake, 4096)
                elif descriptor in self.starting:
                    self._read_info(descriptor)
                elif descriptor in self.adopted:
                    self._ended(self.adopted[descriptor])
                elif descriptor == self.placer.channel.fileno():
                    self._placed()
                elif not self._receive():
                    self.poller.unregister(self.channel)
                    self._end_all()
            self._reap()
            self._watch()

    def tell(self, event: str, **facts: object) -> None:
        """Send an event; when groundup is gone, the end of the channel is noticed elsewhere."""
        try:
            wire.send(self.channel, {"event": event, **facts})
        except OSError:
            return

    def _patience_ms(self) -> float | None:
        return max(1.0, math.ceil((self.next_look - time.monotonic()) * 1000)) if self.boxes else None

    def _receive(self) -> bool:
        try:
            packet, descriptors = wire.receive(self.channel)
        except ConnectionResetError:  # groundup was killed before it read all our packets
            return False
        if not packet:
            return False
        request = json.loads(packet)
        try:
            # Only groundup has the other end of this channel, so the name can be trusted.
            getattr(self, f"_on_{request['op']}")(request, descriptors)
        except (OSError, RuntimeError) as error:
            self.tell("failed", key=request["key"], message=str(error))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _on_open(self, request: dict[str, Any], given: list[int]) -> None:
        key, limits = request["key"], request["limits"]
        arguments, control, errors, sources, calls, *folders = given
        network = self.networks.get(request["pod"])
        if request["pod"] and network is None:
            raise RuntimeError("its pod is gone")  # without the pod's network it would have the host's
        identity = network[0] if network else self.users.take()
        info, info_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # `_receive` closes what came with the request; what is needed for longer is duplicated.
        group = SandboxGroups.named(self.places, f"groundup-{self.state.name}-{key}")
        box = Box(request, group, folders, errors)
        box.info, box.processors = info, self._processors(limits["cpus"])
        spawn = Spawn(
            identity=identity,
            staging=self.staging,
            bwrap=request["bwrap"],
            command=tuple(request["command"]),
            arguments=arguments,
            control=control,
            info=info_end,
            info_reader=info,
            errors=errors,
            sources=sources,
            filter=calls,
            lent=box.lent,
            namespaces=network[1] if network else None,
            processors=box.processors,
            group=box.group,
        )
        try:
            self._start(box, spawn, limits["cpus"])
        finally:
            os.close(info_end)
        groups = {controller: str(path) for controller, path in box.group.paths.items()}
        self.tell("opening", key=key, version=box.group.version, groups=groups, uid=identity.uid)

    def _start(self, box: Box, spawn: Spawn, cpus: float) -> None:
        """Make the child; what cannot be started leaves nothing."""
        self.loans.lend(box.lent)
        self.boxes[box.key] = self.starting[box.info] = box
        self.poller.register(box.info, select.POLLIN)
        try:
            self._record(box)
            memory, processes = box.enforced
            box.group.make(memory_bytes=memory, processes=processes, cpus=cpus, niceness=self.niceness)
            box.outer = fork(lambda: become_sandbox(spawn), spawn.errors)
        except OSError as error:
            os.write(box.errors, f"{error}\n".encode())
            box.cause = "placing"
            self._ended(box)
            return
        self._place(box, box.outer)

    def _on_adopt(self, request: dict[str, Any], given: list[int]) -> None:
        """Watch a container whose supervisor is *pid* and waits; lend its folders to *number*, its guest."""
        key, pid = request["key"], request["pid"]
        uid, gid = (host_number(pid, kind, request["number"]) for kind in ("uid", "gid"))
        box = adopted(request, given)
        self.loans.lend(box.lent)
        self.boxes[key] = self.adopted[box.handle] = box
        self._record(box)
        self.poller.register(box.handle, select.POLLIN)
        _prefer(pid, -20)
        groups = {controller: str(path) for controller, path in box.group.paths.items()}
        self.tell("opening", key=key, version=box.group.version, groups=groups, uid=uid)

        def finished(status: int) -> None:
            if status:
                self._kill(box, "placing")
            else:
                self.tell("placed", key=key, init=pid)

        self.finishing[fork(lending(box.lent, uid, gid), box.errors)] = finished

    def _on_close(self, request: dict[str, Any], given: list[int]) -> None:
        box = self.boxes.get(request["key"])
        if box:
            self._kill(box, request.get("cause", "closed"))

    def _on_pod(self, request: dict[str, Any], given: list[int]) -> None:
        identity = self.users.take()
        ours, theirs = socket.socketpair()
        errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        with ours:
            with theirs:
                child = fork(lambda: make_network(identity, theirs.detach()), errors)
            ours.settimeout(10)
            _, spaces, _, _ = socket.recv_fds(ours, 16, 2)
        self.finishing[child] = lambda _: None
        message = os.pread(errors, 4096, 0).decode(errors="replace").strip()
        os.close(errors)
        if len(spaces) != 2:
            raise RuntimeError(message or "no namespaces came back")
        self.networks[request["key"]] = (identity, (spaces[0], spaces[1]))
        self.tell("made", key=request["key"])

    def _on_unpod(self, request: dict[str, Any], given: list[int]) -> None:
        _, spaces = self.networks.pop(request["key"])
        for space in spaces:
            os.close(space)

    def _record(self, box: Box) -> None:
        """Write down what to undo, before doing it, in case that the launcher itself is killed."""
        folders = [[os.readlink(f"/proc/self/fd/{folder}"), *self.loans.owner(folder)] for folder in box.lent]
        groups = box.folders if box.handle < 0 else []  # an engine removes its own
        text = json.dumps({"folders": folders, "groups": groups})
        (self.state / "sandboxes" / box.key).write_text(text)

    def _processors(self, cpus: float) -> frozenset[int]:
        """Choose the least used processors where no control group limits CPU time."""
        wanted = math.ceil(cpus)
        if self.places.has("cpu") or wanted >= len(self.load):
            return frozenset()
        chosen = sorted(self.load, key=lambda number: self.load[number])[:wanted]
        for number in chosen:
            self.load[number] += 1
        return frozenset(chosen)

    def _read_info(self, descriptor: int) -> None:
        """Learn from bubblewrap which process is the guest's first."""
        box = self.starting[descriptor]
        box.start_report += os.read(descriptor, 4096)
        if b"}" in box.start_report:
            box.init = int(json.loads(box.start_report)["child-pid"])
            _prefer(box.init, -20)
            self._forget_info(box)
            # It was to be ended before its first process was known, see `_kill`.
            if box.cause:
                self._kill(box, box.cause)
            else:
                self._place(box, box.init)
        elif not box.start_report.startswith(b"{"):
            self._forget_info(box)

    def _forget_info(self, box: Box) -> None:
        if box.info >= 0:
            self.poller.unregister(box.info)
            self.starting.pop(box.info)
            os.close(box.info)
            box.info = -1

    def _place(self, box: Box, pid: int) -> None:
        """Have a process moved into the control groups, where it did not go by itself."""
        if not box.group.can_be_entered:
            self.placer.order(box.key, box.folders, pid)
        elif pid == box.init:
            self.tell("placed", key=box.key, init=pid)

    def _placed(self) -> None:
        """Hear that a process is in its control groups; the first one of the guest is the last to be moved."""
        key, pid, problem = self.placer.done()
        box = self.boxes.get(key)
        if box and problem and box.cause is None:
            os.write(box.errors, f"control group: {problem}\n".encode())
            self._kill(box, "placing")
        elif box and pid == box.init:
            self.tell("placed", key=key, init=pid)

    def _kill(self, box: Box, cause: str) -> None:
        """End a sandbox by its first process; while that is not known yet, `_read_info` will do it.

        Bubblewrap itself is not killed: before it has set up its child, that child would stay for ever.
        """
        box.cause = box.cause or cause
        if box.handle >= 0:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(box.handle, signal.SIGKILL)
            box.group.hasten()
        elif box.init:
            _kill(box.init)
            box.group.hasten()

    def _end_all(self) -> None:
        self.ending = True
        for box in self.boxes.values():
            self._kill(box, "closed")

    def _reap(self) -> None:
        reaped: dict[int, int] = {}
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                reaped[found[0]] = found[1]
        for pid, status in reaped.items():
            finished = self.finishing.pop(pid, None)
            if finished:
                finished(status)
        ended = [box for box in self.boxes.values() if box.outer in reaped] if reaped else []
        for box in ended:
            self._ended(box)
        if ended:
            self._end_strays()

    def _ended(self, box: Box) -> None:
        """All processes are gone: give the folders back, much in a child, so that others do not wait for it."""
        del self.boxes[box.key]
        self._forget_info(box)
        if box.handle >= 0:
            self.poller.unregister(box.handle)
            del self.adopted[box.handle]
        message = os.pread(box.errors, 4096, 0).decode(errors="replace").strip()
        self.tell(
            "ended",
            key=box.key,
            cause=box.cause,
            message=message,
            # The counters go with the groups, which `clean` removes.
            memory_kills=box.group.memory_kills(),
            peak_bytes=box.group.peak_memory_bytes() or box.peak_bytes,
            cpu_s=box.group.cpu_s() or box.cpu_s,
        )
        returned = self.loans.returned(box.lent)

        def clean(most: int | None = None, tries: int = 200) -> bool:
            for folder, uid, gid in returned:
                take_back(folder, uid, gid, most)
            return box.handle >= 0 or box.group.remove(tries)

        def finished(_: int) -> None:
            for descriptor in (*box.lent, box.errors, box.handle, box.root):
                if descriptor >= 0:
                    os.close(descriptor)
            (self.state / "sandboxes" / box.key).unlink(missing_ok=True)
            self.tell("closed", key=box.key)

        for number in box.processors:
            self.load[number] -= 1
        is_clean = False
        with contextlib.suppress(OSError, TooLargeError):
            is_clean = clean(_FEW, tries=1)
        if is_clean:
            finished(0)
        else:
            self.finishing[fork(clean)] = finished

    def _end_strays(self) -> None:
        """End what bubblewrap left behind when it was killed from outside: such orphans become our children."""
        ours = {self.placer.pid, *self.finishing, *(box.outer for box in self.boxes.values())}
        with contextlib.suppress(FileNotFoundError):  # a kernel without CONFIG_PROC_CHILDREN
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                if int(child) not in ours:
                    _kill(int(child))

    def _watch(self) -> None:
        """Look at every sandbox, unless that was done a moment ago, however many requests and ends there are."""
        now = time.monotonic()
        if now < self.next_look:
            return
        for box in self.boxes.values():
            if box.cause is None:
                if now > box.deadline:
                    self._kill(box, "wall_clock")
                self._watch_processes(box)
                self._watch_disk(box, now)
        if self.full and all(box.disk.full_device() is None for box in self.boxes.values()):
            self.full.clear()
        is_measuring = any(box.disk.busy for box in self.boxes.values())
        pause_s = TICK_S / _STEPS if is_measuring else TICK_S
        self.next_look = now + max(pause_s, (1 + _UNWATCHED) * (time.monotonic() - now))

    def _watch_processes(self, box: Box) -> None:
        if box.refusals.are_a_bomb(box.group, time.monotonic()):
            self._kill(box, "processes")
        has_grown, passed = box.take_census()
        if has_grown:  # anything less is not sent, to spare the channel
            self.tell("usage", key=box.key, peak_bytes=box.peak_bytes, cpu_s=box.cpu_s)
        if passed is not None:
            self._kill(box, passed)

    def _watch_disk(self, box: Box, now: float) -> None:
        if box.disk.step(now):
            self._kill(box, "disk")
            return
        device = box.disk.full_device()
        if device is None:
            return
        full = self.full.setdefault(device, FullDisk(device, now))
        found = full.culprit({key: other.disk for key, other in self.boxes.items() if other.cause is None}, now)
        if found is None:
            return
        culprit, blamed = self.boxes[found[0]], found[1]
        if not blamed:
            os.write(culprit.errors, _NO_ROOM)
        self._kill(culprit, "disk" if blamed else "host_disk")
        self.full[device] = FullDisk(device, now + _ROOM_COMES_S)  # what it held may take a moment to go


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _prefer(pid: int, niceness: int) -> None:
    """Let us, or a supervisor, be heard among hundreds of guests; their commands are as nice as groundup."""
    with contextlib.suppress(OSError):  # only root may
        os.setpriority(os.PRIO_PROCESS, pid, niceness)


def main(channel: int, state: str) -> None:
    """Run until the other side of *channel* is gone; then leave nothing behind."""
    # Ctrl-C in a terminal goes to groundup's session. The launcher must outlive it to clean up.
    os.setsid()
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.set_inheritable(int(name), False)  # what groundup passed on is for the launcher only
    kernel.adopt_orphans()
    kernel.forget_keys()
    spawning.allow_open_files()
    niceness = max(0, os.getpriority(os.PRIO_PROCESS, 0))
    _prefer(os.getpid(), -10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    wake, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    # The wake-up descriptor is written only for signals that have a handler in Python.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    launcher = Launcher(socket.socket(fileno=channel), Path(state), niceness)
    launcher.serve(wake)
    import shutil  # in the end: sandboxes wait for the start

    shutil.rmtree(state, ignore_errors=True)
    gc.freeze()  # or Python's own end looks through all modules for rubbish
