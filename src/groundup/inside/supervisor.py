"""The first process of a sandbox: starts commands, ends them, opens sockets, reads and writes files.

Runs inside, as the guest's own user, with the standard library only. It is process 1 of its namespace, so no
signal from inside reaches it; it is not dumpable, so nothing inside can trace it or read its memory, environment
or descriptors; when its control socket ends, it exits and the kernel ends everything else in the sandbox.

A message is one packet of fields, each with its length before it. Private modules (`_signal`, `_socket`, `_stat`,
and `posix` for `os`) are imported because the public ones double the time that a sandbox needs to start.
"""

import errno
import posix
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    import socket as _socket
    import stat as _stat
else:
    import _signal
    import _socket
    import _stat

FIRST_FREE_DESCRIPTOR = 10
"""Lower numbers are those that a command may ask for."""
TOO_LARGE = 255
"""An exit code that is no errno."""
NOT_FOUND, NOT_RUNNABLE = 127, 126
_CHUNK = 256 * 1024
_PACKET = 128 * 1024
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _FILTER_MODE = 1, 4, 22, 2
_ROUNDS, _PAUSE_S = 2000, 0.002
"""How often and how fast the processes of a command are looked for while it is ended."""

_PARTING_ROUNDS = 500
"""How often it is looked whether a command has left by its parting signal: for about a second."""


def pack(fields: "list[bytes]") -> bytes:
    """Return one message."""
    return b"".join(len(field).to_bytes(4, "little") + field for field in fields)


def unpack(data: bytes) -> "list[bytes]":
    """Return the fields of one message."""
    fields, position = [], 0
    while position < len(data):
        start = position + 4
        position = start + int.from_bytes(data[position:start], "little")
        fields.append(data[start:position])
    return fields


def hide_from_tracers(parent_signal: int) -> None:
    """Make this process not dumpable, and have it get *parent_signal* (0: none) when its parent dies."""
    try:
        from _ctypes import call_function, dlopen, dlsym  # a third of the time that ctypes takes

        ours = dlopen(None, 0)  # type: ignore[arg-type]  # the stubs do not know it: what is loaded already
        prctl = dlsym(ours, "prctl")
        call_function(prctl, (_PR_SET_PDEATHSIG, parent_signal, 0, 0, 0))
        result = call_function(prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0))
    except ImportError:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, parent_signal, 0, 0, 0)
        result = ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if result != 0:
        sys.exit("prctl(PR_SET_DUMPABLE) was refused")


class Processes:
    """All processes of the sandbox at one moment: parent, session and start time of each."""

    def __init__(self) -> None:
        self.table: dict[int, tuple[int, int, int]] = {}
        for name in posix.listdir("/proc"):
            if name.isdigit() and name != "1":
                try:
                    with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                        # A process chooses its own name, which may hold spaces and parentheses: fields count from
                        # the last one.
                        values = file.read(4096).rpartition(b")")[2].split()
                except OSError:
                    continue
                # Zombies have nothing left to end. Parent, session and start time are fields 4, 6 and 22 of
                # proc(5).
                if values[0] not in b"ZX":
                    self.table[int(name)] = (int(values[1]), int(values[3]), int(values[19]))

    def under(self, roots: "set[int]") -> "set[int]":
        """Return the *roots*, their descendants and the members of their sessions."""
        found = {pid for pid, (_, session, _) in self.table.items() if pid in roots or session in roots}
        grown = True
        while grown:
            more = {pid for pid, (parent, _, _) in self.table.items() if parent in found and pid not in found}
            found |= more
            grown = bool(more)
        return found


class Earlier:
    """Which processes existed when a command began.

    Both number and start time have to agree: numbers are reused, and start times have ticks of 10 ms.
    """

    def __init__(self) -> None:
        self._numbers = {int(name) for name in posix.listdir("/proc") if name.isdigit()}
        with open("/proc/uptime", "rb", buffering=0) as file:
            seconds = float(file.read(100).split()[0])
        self._ticks = int(seconds * posix.sysconf("SC_CLK_TCK")) + 2

    def has(self, pid: int, start: int) -> bool:
        """Whether process *pid*, which began at *start* (in ticks), was one of them."""
        return pid in self._numbers and start <= self._ticks


class Supervisor:
    """Serves one control socket."""

    def __init__(self, control: "_socket.socket", limits: "dict[int, int]", niceness: int = 0) -> None:
        self._control = control
        self._limits = limits
        self._niceness = niceness
        self._commands: dict[int, tuple[bytes, Earlier]] = {}
        self._sessions: dict[int, bytes] = {}

    def serve(self, wake: int) -> None:
        """Answer until the other side is gone."""
        poller = select.poll()
        poller.register(self._control.fileno(), select.POLLIN)
        poller.register(wake, select.POLLIN)
        while True:
            for descriptor, _ in poller.poll():
                if descriptor == wake:
                    posix.read(wake, 4096)
                    self._reap()
                elif not self._receive():
                    return

    def _receive(self) -> bool:
        space = _socket.CMSG_SPACE(16 * 4)
        data, ancillary, _, _ = self._control.recvmsg(_PACKET, space, _socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        descriptors: list[int] = []
        for _, _, raw in ancillary:
            descriptors += [int.from_bytes(raw[at : at + 4], sys.byteorder) for at in range(0, len(raw) - 3, 4)]
        fields = unpack(data)
        try:
            if fields[0] == b"long":
                fields = unpack(_read_all(descriptors[0]))
                posix.close(descriptors.pop(0))
            self._handle(fields[0], fields[1], fields[2:], descriptors)
        except OSError as error:
            self._send([b"refused", fields[1], str(error.errno or errno.EIO).encode()])
        finally:
            for descriptor in descriptors:
                posix.close(descriptor)
        return True

    def _send(self, fields: "list[bytes]", descriptors: "tuple[int, ...]" = ()) -> None:
        raw = b"".join(descriptor.to_bytes(4, sys.byteorder) for descriptor in descriptors)
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, raw)] if raw else []
        try:
            self._control.sendmsg([pack(fields)], rights, _socket.MSG_NOSIGNAL)
        except OSError:
            # groundup is gone. The end of process 1 ends the whole sandbox.
            posix._exit(0)

    def _handle(self, kind: bytes, key: bytes, fields: "list[bytes]", descriptors: "list[int]") -> None:
        if kind == b"exec":
            self._fork(key, lambda: _execute(fields, descriptors, self._limits))
        elif kind == b"read":
            self._fork(key, lambda: _read_file(fields[0], int(fields[1]), descriptors[0]))
        elif kind == b"write":
            self._fork(key, lambda: _write_file(fields[0], int(fields[1]), descriptors[0], self._limits))
        elif kind == b"end":
            self._end(key, int(fields[1]), everything=fields[0] == b"everything")
        elif kind == b"listen":
            self._listen(key, int(fields[0]))
        elif kind == b"connect":
            self._connect(key, int(fields[0]))

    def _fork(self, key: bytes, work: "object") -> None:
        earlier = Earlier()
        pid = posix.fork()
        if pid == 0:
            # Until this child replaces itself it must not return into the supervisor's loop, whatever fails.
            code = NOT_RUNNABLE
            try:
                posix.setsid()
                if posix.getpriority(posix.PRIO_PROCESS, 0) < self._niceness:  # the supervisor's own, for no guest
                    posix.setpriority(posix.PRIO_PROCESS, 0, self._niceness)
                code = work()  # type: ignore[operator]  # `Callable` lives in a module that is slow to import
            finally:
                posix._exit(code)
        self._commands[pid] = (key, earlier)
        self._sessions[pid] = key

    def _reap(self) -> None:
        while True:
            try:
                # Orphans of the guest become children of process 1: all are reaped, only commands are reported.
                pid, status = posix.waitpid(-1, posix.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._commands:
                key, _ = self._commands.pop(pid)
                self._send([b"exited", key, str(posix.waitstatus_to_exitcode(status)).encode()])

    def _end(self, key: bytes, parting_signal: int, *, everything: bool) -> None:
        """End a command's session and descendants, or *everything* that began since it and is not another's.

        A *parting_signal* (0: none) lets its program say a last word and leave by itself.
        A process that left its parents and its session looks like one that another command left behind
        at the same time in the same way; it is ended.
        """
        roots = {pid for pid, (name, _) in self._commands.items() if name == key}
        if not roots:
            self._send([b"ended", key])
            return
        earlier = next(self._commands[pid][1] for pid in roots)
        foreign = {pid for pid, name in self._sessions.items() if name != key}
        if parting_signal:
            self._part(roots, parting_signal)
        stopped: set[int] = set()
        # Processes can fork between our look and our signal. So each round stops what is new and looks again; only
        # when a round finds nothing new are all killed.
        for _ in range(_ROUNDS):
            processes = Processes()
            doomed = processes.under(roots)
            if everything:
                spared = processes.under(foreign)
                table = processes.table
                doomed |= {pid for pid in table if pid not in spared and not earlier.has(pid, table[pid][2])}
            if not doomed:
                break
            if doomed == processes.table.keys():
                _kill(-1, _signal.SIGKILL)  # all at once: no fork can escape it
            elif newcomers := doomed - stopped:  # a stopped process forks no more
                for pid in newcomers:
                    _kill(pid, _signal.SIGSTOP)
                stopped |= newcomers
                continue
            for pid in doomed:
                _kill(pid, _signal.SIGKILL)
            self._reap()
            time.sleep(_PAUSE_S)
        # What other commands left behind stays theirs: their sessions remain known after they have ended, so that
        # ending this command spares it.
        self._sessions = {
            pid: name for pid, name in self._sessions.items() if pid in self._commands or name != key
        }
        self._send([b"ended", key])

    def _part(self, roots: "set[int]", number: int) -> None:
        for pid in roots:
            _kill(pid, number)
        for _ in range(_PARTING_ROUNDS):
            self._reap()
            if not roots & self._commands.keys():
                return
            time.sleep(_PAUSE_S)

    def _listen(self, key: bytes, port: int) -> None:
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        try:
            listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen(1024)
            self._send([b"socket", key], (listener.fileno(),))
        finally:
            listener.close()

    def _connect(self, key: bytes, port: int) -> None:
        """Hand over a socket whose connection may still be on its way: a full backlog must not block us."""
        connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        try:
            connection.setblocking(False)
            code = connection.connect_ex(("127.0.0.1", port))
            if code not in (0, errno.EINPROGRESS):
                raise OSError(code, posix.strerror(code))
            self._send([b"socket", key], (connection.fileno(),))
        finally:
            connection.close()


def _kill(pid: int, number: int) -> None:
    try:
        posix.kill(pid, number)
    except OSError:
        pass


def _read_all(descriptor: int) -> bytes:
    posix.lseek(descriptor, 0, 0)
    parts = []
    while part := posix.read(descriptor, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def permitted(kind: int, wanted: int) -> int:
    """Return *wanted*, or as much of this resource as the hard limit permits."""
    most = resource.getrlimit(kind)[1]
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


def _confine(limits: "dict[int, int]") -> None:
    for kind, wanted in limits.items():
        value = permitted(kind, wanted)
        resource.setrlimit(kind, (value, value))
    # Python ignores some of these, and an ignored signal stays ignored in the program that is executed.
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT, _signal.SIGCHLD):
        _signal.signal(number, _signal.SIG_DFL)


def _execute(fields: "list[bytes]", descriptors: "list[int]", limits: "dict[int, int]") -> int:
    """Become the program. Fields: folder, its descriptors' numbers, argument count, arguments, variables."""
    folder, targets, count = fields[0], map(int, fields[1].split(b",")), int(fields[2])
    argv, variables = fields[3 : 3 + count], fields[3 + count :]
    environment = dict(variable.split(b"=", 1) for variable in variables)
    for target, descriptor in zip(targets, descriptors, strict=True):
        posix.dup2(descriptor, target)
    try:
        posix.chdir(folder)
    except OSError as error:
        return _complain(folder, error)
    try:
        _confine(limits)
    except OSError as error:
        return _complain(b"limits", error)
    problem = FileNotFoundError(errno.ENOENT, posix.strerror(errno.ENOENT))
    for candidate in _candidates(argv[0], environment.get(b"PATH", b"/usr/bin:/bin")):
        try:
            posix.execve(candidate, argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return _complain(argv[0], error)
    return _complain(argv[0], problem)


def _candidates(program: bytes, path: bytes) -> "list[bytes]":
    if b"/" in program:
        return [program]
    return [folder + b"/" + program for folder in path.split(b":") if folder]


def _complain(what: bytes, error: OSError) -> int:
    posix.write(2, b"sandbox: cannot run %s: %s\n" % (what, posix.strerror(error.errno or 0).encode()))
    return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE


def _read_file(path: bytes, limit: int, target: int) -> int:
    """Copy a regular file to *target*; the exit code is the errno."""
    try:
        # Not blocking: a guest may have put a FIFO there, on which opening would wait for ever.
        source = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_NOCTTY)
        if not _stat.S_ISREG(posix.fstat(source).st_mode):
            return errno.EINVAL
        left = limit
        while part := posix.read(source, min(_CHUNK, left + 1)):
            if len(part) > left:
                return TOO_LARGE
            left -= len(part)
            view = memoryview(part)
            while view:
                view = view[posix.write(target, view) :]
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _write_file(path: bytes, mode: int, source: int, limits: "dict[int, int]") -> int:
    """Copy *source* to a file, making its folders; the exit code is the errno."""
    try:
        _confine(limits)
        # Too large a file shall be an error of write(), not the end of this process.
        _signal.signal(_signal.SIGXFSZ, _signal.SIG_IGN)
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOCTTY | posix.O_NONBLOCK
        try:
            target = posix.open(path, flags, mode)
        except FileNotFoundError:
            import os  # slow, and most folders are there

            os.makedirs(os.path.dirname(path) or b".", exist_ok=True)
            target = posix.open(path, flags, mode)
        if not _stat.S_ISREG(posix.fstat(target).st_mode):
            return errno.EINVAL
        posix.fchmod(target, mode)
        while part := posix.read(source, _CHUNK):
            view = memoryview(part)
            while view:
                view = view[posix.write(target, view) :]
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _connected(path: str) -> int:
    """Return a connection to groundup's end of the control socket, for sandboxes that inherit no descriptor."""
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC)
    control.connect(path)
    return control.detach()


def _filter_calls(path: str) -> None:
    """Have the kernel filter the system calls of this process and all that it starts, by the program in *path*."""
    import ctypes

    with open(path, "rb", buffering=0) as file:
        program = file.read()

    class Program(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_char_p)]

    given = Program(len(program) // 8, program)
    if ctypes.CDLL(None).prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(given), 0, 0) != 0:
        sys.exit("prctl(PR_SET_SECCOMP) was refused")


def _copy_folder(source: str, target: str) -> None:
    """Copy a small folder of ours, so that the guest may change it; what is there, such as a mount, stays."""
    try:
        posix.mkdir(target)
    except FileExistsError:
        pass
    there = set(posix.listdir(target))
    for name in posix.listdir(source):
        path, place = f"{source}/{name}", f"{target}/{name}"
        kind = posix.lstat(path).st_mode
        if _stat.S_ISDIR(kind):
            _copy_folder(path, place)
        elif name in there:
            continue
        elif _stat.S_ISLNK(kind):
            posix.symlink(posix.readlink(path), place)
        else:
            with open(path, "rb", buffering=0) as file, open(place, "wb", buffering=0) as copy:
                copy.write(file.read())


def main(argv: "list[str]") -> None:
    """Serve. Arguments: the control descriptor, then limits as `kind=value` and folders to copy as `from=to`.

    In a container, the path of a control socket is there instead of the descriptor, and `filter=PATH`. Commands
    have the priority `nice=NUMBER`, or 0.
    """
    inherited = argv[0].isdigit()
    hide_from_tracers(_signal.SIGKILL if inherited else 0)  # a container's parent is a thread that comes and goes
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # ignored for process 1; Python would raise KeyboardInterrupt
    given = dict(text.split("=") for text in argv[1:])
    calls, niceness = given.pop("filter", ""), int(given.pop("nice", "0"))
    limits = {int(kind): int(value) for kind, value in given.items() if kind.isdigit()}
    channel = int(argv[0]) if inherited else _connected(argv[0])
    # All low numbers are filled, so descriptors that arrive later get higher ones, and putting them in a command's
    # places cannot overwrite another that is still needed.
    null = posix.dup2(posix.open("/dev/null", posix.O_RDWR), FIRST_FREE_DESCRIPTOR, inheritable=False)
    for target in (0, 1):
        posix.dup2(null, target)
    number = posix.dup2(channel, FIRST_FREE_DESCRIPTOR + 1, inheritable=False)
    for target in range(3, FIRST_FREE_DESCRIPTOR):
        posix.dup2(null, target, inheritable=False)
    wake, waker = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
    # The wake-up descriptor is written only for signals that have a handler in Python.
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    posix.umask(0o022)
    for source, place in given.items():
        if not source.isdigit():
            _copy_folder(source, place)
    if calls:
        _filter_calls(calls)
    supervisor = Supervisor(_socket.socket(fileno=number), limits, niceness)
    supervisor._send([b"ready", b""])
    supervisor.serve(wake)


if __name__ == "__main__":
    main(sys.argv[1:])
