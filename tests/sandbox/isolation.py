"""What a provider that confines promises: a hostile guest learns nothing, reaches nothing, and cannot stay."""

import ctypes
import os
from pathlib import Path

import pytest

from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.limits import Limits
from groundup.sandbox.composition import interpreter_parts
from groundup.sandbox.protocol import Command, Ending, Mount, Sandbox, SandboxProvider, SandboxSpec
from groundup.sandbox.seccomp import guest_filter
from tests.sandbox.contract import asked, received, settled, sh

SECRET = "s3cr3t-of-the-host"


def little(**fields: int | float) -> Limits:
    """Return tight limits."""
    return Limits.model_validate({"memory_mb": 64, "processes": 40, "disk_mb": 32, **fields})


def identity(path: Path) -> tuple[int, ...]:
    """Return what only the owner of *path* may change, and when it was changed."""
    status = path.stat()
    return (status.st_uid, status.st_gid, status.st_mode, status.st_ctime_ns)


def interpreter_files() -> list[Path]:
    """Return what the supervisor's interpreter consists of."""
    return [source for source, _ in interpreter_parts()]


class IsolationContract:
    """Behaviour of one sandbox, seen by its enemy."""

    python: tuple[str, ...]
    """An interpreter inside, up to and including `-c`."""
    python_environment: dict[str, str] = {}

    @pytest.fixture(autouse=True)
    def secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put a secret into our own environment."""
        monkeypatch.setenv("HOST_SECRET", SECRET)

    @pytest.fixture
    async def sandbox(self, provider: SandboxProvider, workspace: Path) -> Sandbox:
        """Return an open sandbox with tight limits; its provider closes it."""
        return await provider.open(SandboxSpec(workspace=workspace, limits=little()))

    def attack(self, code: str, **fields: object) -> Command:
        """Return a command that runs Python inside."""
        fields = {"environment": self.python_environment, **fields}
        return Command.model_validate({"argv": (*self.python, code), **fields})

    async def test_proc_tells_nothing(self, sandbox: Sandbox, workspace: Path) -> None:
        """No environment, command line or descriptor that the guest can read speaks of the host."""
        script = (
            "for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/environ; "
            "do tr '\\0' ' ' < $f; echo; done; ls -l /proc/[0-9]*/fd; readlink /proc/[0-9]*/cwd; "
            "cat /proc/[0-9]*/cgroup"
        )
        result = await sandbox.run(sh(f"({script}) 2>/dev/null; true"))
        assert b"supervisor" in result.stdout or b"sh" in result.stdout
        for word in (SECRET, str(workspace), str(Path.home()), "HOST_SECRET", "pytest"):
            if word not in ("/", "/home/user"):
                assert word.encode() not in result.stdout

    async def test_keys(self, provider: SandboxProvider, workspace: Path) -> None:
        """Keys of the user's session, such as Kerberos tickets, cannot be read by the guest."""
        add_key, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine, (None, None))
        if add_key is None:
            pytest.skip("the numbers of the kernel's calls for keys are not known for this processor")
        libc = ctypes.CDLL(None, use_errno=True)
        key = libc.syscall(add_key, b"user", b"groundup-test-key", SECRET.encode(), len(SECRET), -3)
        if key < 0:
            pytest.skip(f"keys cannot be made here: {os.strerror(ctypes.get_errno())}")
        attack = "import ctypes; text = ctypes.create_string_buffer(64); "
        attack += f"print(ctypes.CDLL(None).syscall({keyctl}, 11, {key}, text, 64), text.value)"
        sandbox = await provider.open(SandboxSpec(workspace=workspace))
        result = await sandbox.run(self.attack(attack))
        assert result.stdout == b"-1 b''\n", result

    async def test_descriptors(self, sandbox: Sandbox) -> None:
        """A command has its three streams and nothing else open."""
        result = await sandbox.run(sh("ls /proc/self/fd | wc -l; exec ls -l /proc/self/fd"))
        assert result.stdout.split()[0] == b"4", result.stdout  # the fourth is the listing itself

    async def test_files_outside(self, provider: SandboxProvider, sandbox: Sandbox, tmp_path: Path) -> None:
        """Homes, accounts, other sandboxes' workspaces and the folders around our own are not there."""
        other = tmp_path / "other"
        other.mkdir()
        (other / "private").write_text("private")
        await provider.open(SandboxSpec(workspace=other))
        places = [
            "/etc/shadow",
            "/etc/sudoers",
            "/etc/ssh",
            "/root/.",
            f"{other}/private",
            f"{tmp_path}/.",
            "/boot",
        ]
        places += [f"{Path.home()}/."] if Path.home() != Path("/home/user") else []
        script = "; ".join(f"test -e {place} && echo SEEN {place}" for place in places)
        result = await sandbox.run(
            sh(f"{script}; ls -A /home /tmp /run /var /opt /srv /mnt /media 2>/dev/null; true")
        )
        assert b"SEEN" not in result.stdout
        headings = {b"/home:", b"/tmp:", b"/run:", b"/var:"}
        assert set(result.stdout.split()) - headings == {b"run", b"tmp", b"user"}
        up = await sandbox.run(sh("cd / && ls -A ../../.. && cat /etc/passwd"))
        assert b"old_root" not in up.stdout
        assert len(up.stdout.splitlines()) < 25

    async def test_read_only_system(self, sandbox: Sandbox) -> None:
        """Nothing but the workspace, the home and the private folders can be written."""
        places = "/ /usr /usr/bin /etc /dev /proc /proc/sys/kernel /var /.groundup"
        script = f"for d in {places}; do touch $d/x && echo WROTE $d; done"
        result = await sandbox.run(
            sh(f"({script}) 2>/dev/null; touch /tmp/x ~/x /dev/shm/x /run/x /var/tmp/y /workspace/x")
        )
        assert (result.ok, result.stdout) == (True, b""), result

    @pytest.mark.parametrize("user", ["ordinary", "root"])
    async def test_no_privileges(self, provider: SandboxProvider, workspace: Path, user: str) -> None:
        """The guest has no capability, gets none, makes no namespace, mounts nothing and makes no device."""
        sandbox = await provider.open(SandboxSpec.model_validate({"workspace": workspace, "user": user}))
        status = (await sandbox.run(sh("id -u; grep -E '^(Cap|NoNewPrivs)' /proc/self/status"))).stdout.decode()
        assert status.split()[0] == ("0" if user == "root" else "1000")
        values = {line.split()[0]: int(line.split()[1], 16) for line in status.splitlines()[1:]}
        assert values == {"CapInh:": 0, "CapPrm:": 0, "CapEff:": 0, "CapBnd:": 0, "CapAmb:": 0, "NoNewPrivs:": 1}
        attack = """
import ctypes, os
libc = ctypes.CDLL(None)
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000):
    assert libc.unshare(flag) == -1, hex(flag)
assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, b"") == -1
assert libc.chroot(b"/tmp") == -1
for mode in (0o60666, 0o20666):
    assert libc.mknod(b"/workspace/device", mode, 0x0103) == -1
assert libc.sethostname(b"x", 1) == -1
assert libc.setuid(12345) == -1
print("nothing")
"""
        result = await sandbox.run(self.attack(attack))
        assert result.stdout == b"nothing\n", result.stderr

    async def test_guest_attacks_the_supervisor(self, sandbox: Sandbox) -> None:
        """No signal ends or stops the supervisor; no one traces it or opens its memory or descriptors."""
        attack = """
import ctypes, os, signal
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
    assert libc.ptrace(request, 1, 0, 0) == -1, "traced"
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
mine = ctypes.create_string_buffer(64)
local, remote = Part(ctypes.addressof(mine), 64), Part(0x400000, 64)
for call in (libc.process_vm_readv, libc.process_vm_writev):
    assert call(1, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) == -1, "reached its memory"
    assert ctypes.get_errno() == 1, ctypes.get_errno()
for name, flags in (("mem", os.O_RDWR), ("mem", os.O_RDONLY), ("environ", os.O_RDONLY), ("maps", os.O_RDONLY)):
    try:
        descriptor = os.open(f"/proc/1/{name}", flags)
        assert not os.read(descriptor, 1), f"read {name}"
    except PermissionError:
        pass
for name in ("fd", "cwd/.", "root/.", "map_files", "task/1/fd"):
    try:
        os.listdir(f"/proc/1/{name}")
        raise SystemExit(f"listed {name}")
    except PermissionError:
        pass
fd = libc.syscall(434, 1, 0)  # pidfd_open
assert fd < 0 or libc.syscall(438, fd, 3, 0) == -1, "took a descriptor"
print("nothing")
"""
        result = await sandbox.run(self.attack(attack))
        assert result.stdout == b"nothing\n", result.stderr
        assert (await sandbox.run(sh("echo well"))).stdout == b"well\n"

    async def test_network(self, sandbox: Sandbox) -> None:
        """There is loopback, and no way out."""
        attack = """
import socket
names = [name for _, name in socket.if_nameindex()]
assert names == ["lo"], names
for target in ("1.1.1.1", "169.254.169.254", "192.168.0.1"):
    try:
        socket.create_connection((target, 80), 2)
        raise SystemExit("reached " + target)
    except OSError as error:
        assert error.errno == 101, error
try:
    socket.getaddrinfo("example.org", 443)
    raise SystemExit("resolved")
except socket.gaierror:
    print("nothing")
"""
        assert (await sandbox.run(self.attack(attack))).stdout == b"nothing\n"

    async def test_system_calls(self, sandbox: Sandbox) -> None:
        """Sockets to the machine's host, rings, keys and foreign calls are refused; ordinary sockets are not."""
        if not guest_filter():
            pytest.skip("there is no filter for this processor")
        attack = """
import ctypes, errno, mmap, os, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
def refused(*call):
    assert libc.syscall(*map(ctypes.c_long, call)) == -1, call
    return errno.errorcode[ctypes.get_errno()]
intel = platform.machine() == "x86_64"
sock = 41 if intel else 198
for family in (17, 21, 29, 30, 31, 38, 40, 40 | 1 << 32, 44):
    assert refused(sock, family, 1, 0) == "EAFNOSUPPORT", family
for protocol in (132, 136, 262):
    assert refused(sock, 2, 2 if protocol == 136 else 1, protocol) == "EPROTONOSUPPORT", protocol
assert refused(sock, 16, 3, 9) == "EPROTONOSUPPORT"
gone = {425: 0, 323 if intel else 282: 0, 250 if intel else 219: 0, 435: 0, 470: 0}
assert {refused(number, 0, 0) for number in gone} == {"ENOSYS"}
closed = [321, 298, 165, 272] if intel else [280, 241, 40, 97]
assert {refused(number, 0x10000000, 0) for number in closed} == {"EPERM"}
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
    socket.socket(family).close()
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
socket.socketpair()[0].close()
if intel:
    assert refused(0x40000000 + 39) == "ENOSYS"  # getpid of x32
    child = os.fork()
    if child == 0:  # getpid of i386: mov eax, 20; int 0x80; ret
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(bytes.fromhex("b814000000cd80c3"))
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -31
print("nothing")
"""
        result = await sandbox.run(self.attack(attack))
        assert result.stdout == b"nothing\n", result.stderr

    async def test_one_port_in_two_sandboxes(self, provider: SandboxProvider, tmp_path: Path) -> None:
        """Two sandboxes each have their own service on the same port."""
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        serve = "import socket,sys\ns=socket.create_server(('127.0.0.1',8080));print('up',flush=True)\n"
        serve += "while 1:\n c,_=s.accept();c.sendall(open('name','rb').read());c.close()"
        answers = []
        for name in ("one", "two"):
            sandbox = await provider.open(SandboxSpec(workspace=tmp_path / name))
            await sandbox.write_file("name", name.encode())
            await settled(await sandbox.start(self.attack(serve)), b"up")
            answers.append(sandbox)
        assert [await received(await sandbox.connect(8080)) for sandbox in answers] == [b"one", b"two"]

    async def test_pod(self, provider: SandboxProvider, tmp_path: Path) -> None:
        """Sandboxes of a pod share a network, and neither files nor processes; another pod is another network.

        Who asks through the pod's observer reaches them, too.
        """
        for name in ("one", "two", "far", "none"):
            (tmp_path / name).mkdir()
        async with await provider.pod() as pod, await provider.pod() as other:
            one = await pod.open(SandboxSpec(workspace=tmp_path / "one"))
            two = await pod.open(SandboxSpec(workspace=tmp_path / "two"))
            far = await other.open(SandboxSpec(workspace=tmp_path / "far"))
            await one.write_file("/tmp/mine", b"mine")
            await one.start(sh("sleep 271828"))
            observer = await pod.observer(SandboxSpec(workspace=tmp_path / "none"))
            with await one.listen(9000) as listener:
                for asking in (two, observer):
                    assert await asked(asking, 9000, listener) == b"from the host"
                with pytest.raises(ConnectionError):
                    await far.connect(9000)
            seen = await two.run(sh("ls -A /tmp /workspace; cat /proc/*/cmdline | tr '\\0' ' '"))
            assert b"mine" not in seen.stdout
            assert b"271828" not in seen.stdout
            await one.close()
            assert (await two.run(sh("true"))).ok

    async def test_a_pod_outlives_its_first(self, provider: SandboxProvider, tmp_path: Path) -> None:
        """When a guest had its own sandbox ended, the network stays: who comes later is in it, too.

        What the dead one served is refused, which is an answer and no failure of the machine.
        """
        for name in ("one", "two", "three", "four", "none"):
            (tmp_path / name).mkdir()
        async with await provider.pod() as pod:
            one = await pod.open(SandboxSpec(workspace=tmp_path / "one", limits=little()))
            two = await pod.open(SandboxSpec(workspace=tmp_path / "two"))
            observer = await pod.observer(SandboxSpec(workspace=tmp_path / "none"))
            script = "i=0; while true; do head -c 1000000 /dev/zero > f$i || exit 9; i=$((i+1)); done"
            assert (await one.run(sh(script, timeout_s=120))).ending is Ending.DISK
            three = await pod.open(SandboxSpec(workspace=tmp_path / "three"))
            with await two.listen(9000) as listener:
                for asking in (three, observer):
                    assert await asked(asking, 9000, listener) == b"from the host"
            for last in (two, three):
                await last.close()
            for port in (8080, 9000):
                with pytest.raises(ConnectionError):
                    await observer.connect(port)
            four = await pod.open(SandboxSpec(workspace=tmp_path / "four"))
            assert (await four.run(sh("true"))).ok

    async def test_timeout_ends_the_tree(self, sandbox: Sandbox) -> None:
        """At its deadline, everything that a command started is ended; what others started lives on."""
        service = await sandbox.start(sh("echo up; sleep 300"))
        await settled(service, b"up")
        earlier = await sandbox.run(sh("(setsid sleep 31337 >/dev/null 2>&1 &) ; true"))
        assert earlier.ok
        tree = "sleep 4001 & (setsid sleep 4002 &); "
        tree += "setsid sh -c 'sh -c \"setsid sleep 4003 & exit\" & sleep 4004' & sleep 4005"
        result = await sandbox.run(sh(tree, timeout_s=1))
        assert result.ending is Ending.TIMEOUT
        left = (await sandbox.run(sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))).stdout
        assert b"sleep 400" not in left
        assert b"sleep 31337" in left
        assert service.alive()

    async def test_stopping_a_service_ends_its_children(self, sandbox: Sandbox) -> None:
        """A stopped service takes its children along, and nothing of others."""
        other = await sandbox.start(sh("sleep 5001"))
        service = await sandbox.start(sh("sleep 5002 & sh -c 'sleep 5003 & sleep 5004' & echo up; wait"))
        await settled(service, b"up")
        await service.stop()
        left = (await sandbox.run(sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))).stdout
        assert other.alive()
        for number in (b"5002", b"5003", b"5004"):
            assert b"sleep " + number not in left

    async def test_fork_bomb(self, sandbox: Sandbox) -> None:
        """A fork bomb fills its own limit, dies at its deadline, and leaves no one behind."""
        # A shell that cannot start a process ends by itself: this one starts its last before any bomb goes off.
        bomb = "sleep 60 & asleep=$!; bomb() { bomb | bomb & }; (bomb) & wait $asleep"
        result = await sandbox.run(sh(bomb, timeout_s=2))
        assert result.ending in (Ending.TIMEOUT, Ending.PROCESSES), result
        if result.ending is Ending.TIMEOUT:
            after = await sandbox.run(sh("ls -d /proc/[0-9]* | wc -l"))
            assert int(after.stdout) < 8

    async def test_too_many_processes(self, sandbox: Sandbox) -> None:
        """A command that fails because it may not start more processes is distinguished."""
        # Small ones, for memory is limited, too, and each fork of Python's counts what it shares.
        code = "import os\nfor i in range(200): os.posix_spawn('/bin/sleep', ['sleep', '60'], {})"
        result = await sandbox.run(self.attack(code, timeout_s=30))
        assert result.ending is Ending.PROCESSES or b"BlockingIOError" in result.stderr, result
        assert not result.ok

    async def test_memory_bomb(self, sandbox: Sandbox) -> None:
        """A command that uses more memory than the limit is ended, and reported so."""
        code = "parts=[]\nwhile len(parts) < 200:\n    parts.append(b'x' * (1 << 20))\nimport time; time.sleep(60)"
        result = await sandbox.run(self.attack(code, timeout_s=60))
        assert result.ending is Ending.MEMORY, result

    async def test_disk_filler(self, sandbox: Sandbox, workspace: Path) -> None:
        """A command that fills the workspace with many files is ended, and reported so."""
        script = "i=0; while true; do head -c 1000000 /dev/zero > f$i || exit 9; i=$((i+1)); done"
        result = await sandbox.run(sh(script, timeout_s=120))
        assert result.ending is Ending.DISK, result
        assert (await sandbox.run(sh("true"))).ending is Ending.DISK  # the sandbox is gone for that reason

    async def test_files_without_a_name(self, provider: SandboxProvider, tmp_path: Path) -> None:
        """Removed files that are still open count, whoever fills the disk with them is ended, and nobody else."""
        for name in ("filler", "neighbour"):
            (tmp_path / name).mkdir()
        filler = await provider.open(SandboxSpec(workspace=tmp_path / "filler", limits=little()))
        neighbour = await provider.open(SandboxSpec(workspace=tmp_path / "neighbour", limits=little()))
        code = """
import os, time
files = []
while True:
    name = f"/workspace/f{len(files)}"
    files.append(open(name, "wb", buffering=0))
    os.unlink(name)
    if len(files) < 60:
        files[-1].write(bytes(1 << 20))
    time.sleep(0.01)
"""
        result = await filler.run(self.attack(code, timeout_s=120))
        assert result.ending is Ending.DISK, result
        assert (await neighbour.run(sh("true"))).ok

    async def test_large_file(self, sandbox: Sandbox, workspace: Path) -> None:
        """One file cannot grow beyond the disk limit, and the command that tries is reported so."""
        result = await sandbox.run(sh("exec head -c 100000000 /dev/zero > file"))
        assert result.ending is Ending.DISK, result
        assert (workspace / "file").stat().st_size <= 32 * 2**20

    async def test_large_file_of_tools(self, provider: SandboxProvider, workspace: Path) -> None:
        """Where the host's tools are shown, .NET's empty file of 2 TiB may be made, and a filler is ended."""
        spec = SandboxSpec(workspace=workspace, limits=little(), system="host")
        sandbox = await provider.open(spec)
        sparse = "import os; os.truncate(os.memfd_create('doublemapper'), 1 << 41)"
        made = await sandbox.run(self.attack(sparse))
        assert made.ok, made.stderr
        filler = "while true; do head -c 4000000 /dev/zero; sleep 0.05; done > file"
        assert (await sandbox.run(sh(filler, timeout_s=120))).ending is Ending.DISK

    async def test_private_folders_are_limited(self, sandbox: Sandbox) -> None:
        """The private /tmp has a size."""
        result = await sandbox.run(sh("for i in 1 2 3; do head -c 20000000 /dev/zero > /tmp/f$i || exit 9; done"))
        assert result.exit_code == 9 or result.ending is Ending.MEMORY

    async def test_wall_clock(self, provider: SandboxProvider, workspace: Path) -> None:
        """A sandbox that is open for longer than its wall clock ends with everything in it."""
        sandbox = await provider.open(SandboxSpec(workspace=workspace, limits=little(wall_clock_s=1)))
        result = await sandbox.run(sh("sleep 300"))
        assert result.ending is Ending.WALL_CLOCK

    async def test_hostile_leftovers(self, provider: SandboxProvider, workspace: Path) -> None:
        """Whatever modes and links a guest leaves, the caller owns, reads and removes all of it."""
        sandbox = await provider.open(SandboxSpec(workspace=workspace))
        script = (
            "mkdir -p a/b/c && echo x > a/b/c/file && ln -s /etc/passwd link && ln -s ../../.. up && "
            "mkfifo pipe && "
            "echo x > unreadable && chmod 000 a/b/c/file unreadable a/b/c a/b a && chmod 2000 . "
        )
        assert (await sandbox.run(sh(script))).ok
        await sandbox.close()
        for folder, _, files in os.walk(workspace):
            for name in files:
                path = Path(folder, name)
                assert path.lstat().st_uid == os.geteuid()
                if path.name in ("file", "unreadable"):
                    assert path.read_text() == "x\n"
        assert (workspace / "a" / "b" / "c" / "file").is_file()

    async def test_read_only_mounts(self, provider: SandboxProvider, workspace: Path, tmp_path: Path) -> None:
        """A mount is read-only, also over the workspace's own files; a writable one is written and given back."""
        trusted, shared = tmp_path / "trusted", tmp_path / "shared"
        trusted.mkdir()
        shared.mkdir()
        (trusted / "test.py").write_text("trusted")
        (workspace / "tests").mkdir()
        (workspace / "tests" / "test.py").write_text("submitted")
        mounts = (
            Mount(source=trusted, target="/workspace/tests"),
            Mount(source=shared, target="/opt/shared", writable=True),
        )
        async with await provider.open(SandboxSpec(workspace=workspace, mounts=mounts)) as sandbox:
            script = "cat tests/test.py; echo x > tests/test.py; rm -rf tests; mv tests elsewhere; "
            script += "echo y > /opt/shared/y"
            assert (await sandbox.run(sh(script))).stdout == b"trusted"
        assert (trusted / "test.py").read_text() == "trusted"
        assert (workspace / "tests" / "test.py").read_text() == "submitted"
        assert (shared / "y").stat().st_uid == os.geteuid()

    @pytest.mark.parametrize("link", ["../../oldroot/tmp", "/etc", "../outside"])
    async def test_links_lead_no_mount_astray(
        self, provider: SandboxProvider, workspace: Path, tmp_path: Path, link: str
    ) -> None:
        """A symbolic link in the submission where something is to be mounted is the submission's fault."""
        (workspace / "tests").symlink_to(link)
        mounts = (Mount(source=tmp_path, target="/workspace/tests/data"),)
        with pytest.raises(SubmissionError, match="symbolic link"):
            await provider.open(SandboxSpec(workspace=workspace, mounts=mounts))

    @pytest.mark.parametrize("target", ["relative", "/", "/workspace/../etc", "/.groundup/supervisor.pyc", "/usr"])
    async def test_bad_mounts(
        self, provider: SandboxProvider, workspace: Path, tmp_path: Path, target: str
    ) -> None:
        """A mount over the system, or at a path that is not plain, is refused."""
        with pytest.raises(UsageError, match="cannot mount"):
            await provider.open(SandboxSpec(workspace=workspace, mounts=(Mount(source=tmp_path, target=target),)))

    async def test_special_files_are_not_read(self, sandbox: Sandbox) -> None:
        """Reading a device or a pipe neither blocks nor fills memory."""
        await sandbox.run(sh("mkfifo pipe; ln -s /dev/zero zero"))
        for name in ("pipe", "zero", "/dev/zero"):
            with pytest.raises(ValueError, match="not a regular file"):
                await sandbox.read_file(name)

    async def test_streams_can_be_reopened(self, sandbox: Sandbox) -> None:
        """Programs that open /dev/stdout and /dev/stderr can."""
        result = await sandbox.run(sh("echo out > /dev/stdout; echo err > /dev/stderr"))
        assert (result.stdout, result.stderr) == (b"out\n", b"err\n")

    async def test_host_objects_stay_as_they_are(
        self, provider: SandboxProvider, workspace: Path, tmp_path: Path
    ) -> None:
        """Owner, mode and times of change of all that is the host's and shown or handed in stay as they were."""
        layer, trusted = tmp_path / "layer", tmp_path / "trusted"
        layer.mkdir()
        (layer / "module.py").write_text("x")
        trusted.write_text("x")
        shown = [layer, layer / "module.py", trusted, *interpreter_files(), Path("/usr"), Path("/bin/sh")]
        devices = [Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom", "tty")]
        before = {path: identity(path) for path in (*shown, *devices)}
        mounts = (Mount(source=layer, target="/opt/layer"), Mount(source=trusted, target="/opt/trusted"))
        attack = (
            "for f in /proc/self/fd/* /dev/* /opt/layer /opt/layer/* /opt/trusted /bin/sh /usr /.groundup/* "
            "/.groundup/python/*; do chmod 600 $f; chown $(id -u) $f; chmod 666 $f; done; cat; echo attacked"
        )
        for user in ("ordinary", "root"):
            spec = SandboxSpec.model_validate({"workspace": workspace, "mounts": mounts, "user": user})
            async with await provider.open(spec) as sandbox:
                for stdin in (b"", b"given"):
                    command = Command(argv=("/bin/sh", "-c", attack), stdin=stdin)
                    assert (await sandbox.run(command)).stdout == stdin + b"attacked\n"
                service = await sandbox.start(sh(attack))
                assert await service.wait(30) == 0
                await sandbox.write_file("empty", b"")
                assert (await sandbox.run(sh("echo x > /dev/null && stat -c %F /dev/stdin -L"))).stdout == (
                    b"character special file\n"
                )
        assert {path: identity(path) for path in before} == before

    async def test_usage(self, sandbox: Sandbox) -> None:
        """What a sandbox used is known, also after it is closed."""
        await sandbox.run(self.attack("x = b'x' * (30 << 20); sum(range(3_000_000)); import time; time.sleep(1)"))
        await sandbox.close()
        usage = sandbox.usage()
        assert usage.peak_memory_mb is not None
        assert usage.peak_memory_mb > 25
        assert usage.cpu_s is not None
        assert usage.cpu_s > 0
