"""What every sandbox provider promises to its callers. A provider's test module subclasses this."""

import asyncio
import socket
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
from groundup.sandbox.protocol import (
    Command,
    Connecting,
    Ending,
    Mount,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
    Service,
)
from tests.patience import patient


def sh(script: str, **fields: object) -> Command:
    """Return a shell command."""
    return Command.model_validate({"argv": ("sh", "-c", script), **fields})


async def answer_on(listener: socket.socket, data: bytes) -> None:
    """Serve one connection on a listening socket."""
    loop = asyncio.get_running_loop()
    connection, _ = await loop.sock_accept(listener)
    await loop.sock_sendall(connection, data)
    connection.close()


async def asked(asking: Connecting, port: int, listener: socket.socket) -> bytes:
    """Return what comes when *asking* connects to *port*, where *listener* serves one connection."""
    serving = asyncio.ensure_future(answer_on(listener, b"from the host"))
    got = await received(await asking.connect(port))
    await serving
    return got


async def received(connection: socket.socket) -> bytes:
    """Return everything that comes over *connection*."""
    loop = asyncio.get_running_loop()
    parts = []
    with connection:
        while part := await loop.sock_recv(connection, 65536):
            parts.append(part)
    return b"".join(parts)


async def appeared(path: Path) -> None:
    """Wait until a file exists."""
    async with asyncio.timeout(patient(60)):
        while not path.exists():  # noqa: ASYNC110  # made by another process: there is no event to wait for
            await asyncio.sleep(0.01)


async def settled(service: Service, text: bytes) -> None:
    """Wait until a service has written *text*."""
    async with asyncio.timeout(patient(60)):
        while text not in service.output():
            assert service.alive(), service.output()
            await asyncio.sleep(0.01)


class SandboxContract:
    """Behaviour of one sandbox, seen by a caller that means well."""

    @pytest.fixture
    async def sandbox(self, provider: SandboxProvider, workspace: Path) -> Sandbox:
        """Return an open sandbox on *workspace*; its provider closes it."""
        return await provider.open(SandboxSpec(workspace=workspace, environment={"FROM_SPEC": "spec"}))

    async def test_result(self, sandbox: Sandbox) -> None:
        """Exit code, both streams, standard input and report come back as they were."""
        result = await sandbox.run(sh("cat; echo err >&2; echo report >&5; exit 7", stdin=b"in\0put", report_fd=5))
        assert (result.exit_code, result.ending, result.ok) == (7, Ending.EXITED, False)
        assert (result.stdout, result.stderr, result.report) == (b"in\0put", b"err\n", b"report\n")
        assert not result.truncated

    async def test_environment_and_folder(self, sandbox: Sandbox, workspace: Path) -> None:
        """A command has its own variables over the sandbox's, and starts in the folder that it names."""
        await sandbox.write_file("sub/file", b"")
        result = await sandbox.run(
            sh(
                'echo "$FROM_SPEC $MINE" > here; printenv HOME PATH >/dev/null',
                cwd="/workspace/sub",
                environment={"MINE": "m"},
            )
        )
        assert result.ok, result
        assert (workspace / "sub" / "here").read_text() == "spec m\n"
        over = await sandbox.run(sh("echo $FROM_SPEC", environment={"FROM_SPEC": "mine"}))
        assert over.stdout == b"mine\n"

    async def test_signal(self, sandbox: Sandbox) -> None:
        """A command that died of a signal has its negative as exit code."""
        result = await sandbox.run(sh("kill -TERM $$"))
        assert (result.exit_code, result.ending) == (-15, Ending.EXITED)

    async def test_missing_program(self, sandbox: Sandbox) -> None:
        """A program that is not there is a failed command with a message, not an error of the sandbox."""
        for report_fd in (None, 5):
            result = await sandbox.run(Command(argv=("no-such-program",), report_fd=report_fd))
            assert result.exit_code == 127
            assert b"no-such-program" in result.stderr

    async def test_long_message(self, sandbox: Sandbox) -> None:
        """Arguments and variables of a hundred kilobytes arrive."""
        result = await sandbox.run(sh('printf %s "$LONG$1"', environment={"LONG": "x" * 100_000}))
        assert len(result.stdout) == 100_000

    async def test_large_streams(self, sandbox: Sandbox) -> None:
        """Megabytes go in and come out whole, within the cap."""
        data = bytes(range(256)) * 12_000
        result = await sandbox.run(Command(argv=("cat",), stdin=data))
        assert result.ok
        assert result.stdout == data

    async def test_standard_input_can_come_later(self, sandbox: Sandbox) -> None:
        """A program may wait for the rest of it for longer than its limit; it counts from then on."""

        async def later() -> bytes:
            await asyncio.sleep(4)
            return b"input"

        first = b"first" * 50_000
        result = await sandbox.run(Command(argv=("cat",), stdin=first, stdin_later=later, timeout_s=3))
        assert (result.ending, result.stdout) == (Ending.EXITED, first + b"input")
        assert result.duration_s < 4 or result.counted_s < 3

    async def test_who_waits_for_standard_input_can_be_ended(self, sandbox: Sandbox) -> None:
        """The sandbox is of use afterwards."""
        never: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def later() -> bytes:
            return await never

        waiting = asyncio.create_task(sandbox.run(Command(argv=("cat",), stdin_later=later)))
        await asyncio.wait([waiting], timeout=0.2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await sandbox.run(sh("true"))).ok

    async def test_a_silent_report_ends_a_command(self, sandbox: Sandbox) -> None:
        """A command that was to tell of itself and does not is ended as by its time; one that tells is not."""
        silent = sh("echo told >&3; sleep 300", timeout_s=200, report_fd=3, silence_s=3)
        result = await sandbox.run(silent)
        assert (result.ending, result.report) == (Ending.TIMEOUT, b"told\n")
        quick = sh("echo told >&3", timeout_s=200, report_fd=3, silence_s=60)
        assert (await sandbox.run(quick)).ok

    async def test_a_command_has_a_last_word_at_its_parting_signal(self, sandbox: Sandbox) -> None:
        """Who is ended for its time can say where it was; who does not heed the signal is ended all the same."""
        heeding = sh("trap 'echo here >&2; exit' 60; sleep 300 & wait", timeout_s=0.5, parting_signal=60)
        result = await sandbox.run(heeding)
        assert (result.ending, result.exit_code, result.stderr) == (Ending.TIMEOUT, None, b"here\n")
        deaf = sh("trap '' 60; sleep 300", timeout_s=0.5, parting_signal=60)
        assert (await sandbox.run(deaf)).ending is Ending.TIMEOUT
        assert (await sandbox.run(sh("true"))).ok

    async def test_timeout(self, sandbox: Sandbox) -> None:
        """At its deadline a command is ended; what it wrote is kept, and the sandbox goes on."""
        result = await sandbox.run(sh("echo before; sleep 300; echo after", timeout_s=0.5))
        assert (result.ending, result.exit_code, result.stdout) == (Ending.TIMEOUT, None, b"before\n")
        assert (await sandbox.run(sh("true"))).ok

    async def test_endless_output(self, sandbox: Sandbox) -> None:
        """Endless output keeps head and tail, and no more than the cap."""
        result = await sandbox.run(sh("echo first; yes", timeout_s=1, output_bytes=10_000))
        assert result.ending is Ending.TIMEOUT
        assert result.truncated
        assert result.stdout.startswith(b"first\ny\n")
        assert result.stdout.endswith((b"y", b"\n"))
        assert len(result.stdout) < 10_200

    async def test_report_is_cut(self, sandbox: Sandbox) -> None:
        """A report that is too long is cut off, without a note in it."""
        result = await sandbox.run(sh("echo 0123456789 >&3", report_fd=3, report_bytes=4))
        assert (result.report, result.truncated) == (b"0123", True)

    async def test_background_process(self, sandbox: Sandbox, workspace: Path) -> None:
        """A process that a command leaves behind holds its output open, delays no one, and lives on."""
        result = await sandbox.run(sh("(while true; do echo tick; date > beat; sleep 0.02; done) & echo started"))
        assert result.ok
        assert b"started" in result.stdout
        (workspace / "beat").unlink(missing_ok=True)
        await appeared(workspace / "beat")

    async def test_service(self, sandbox: Sandbox) -> None:
        """A service is alive while other commands run, shows its output, and ends when it is stopped."""
        service = await sandbox.start(sh("echo up; echo also >&2; sleep 300"))
        await settled(service, b"also")
        assert (await sandbox.run(sh("true"))).ok
        assert service.alive()
        assert await service.wait(0.01) is None
        assert service.output() == b"up\nalso\n"
        await service.stop()
        assert not service.alive()
        assert await service.wait(10) == -9

    async def test_service_that_ends(self, sandbox: Sandbox) -> None:
        """A service that ends by itself has an exit code."""
        service = await sandbox.start(sh("exit 3"))
        assert await service.wait(60) == 3
        assert not service.alive()

    async def test_files(self, sandbox: Sandbox, workspace: Path) -> None:
        """Files are written with their folders and mode, and read back, also by relative path."""
        await sandbox.write_file("a/b/c.sh", b"#!/bin/sh\necho hi\n" + b"#" * 300_000, 0o755)
        assert (workspace / "a" / "b" / "c.sh").stat().st_mode & 0o777 == 0o755
        assert (await sandbox.read_file("/workspace/a/b/c.sh")).startswith(b"#!/bin/sh")
        assert (await sandbox.run(sh("a/b/c.sh"))).stdout == b"hi\n"

    async def test_files_that_cannot_be_read(self, sandbox: Sandbox) -> None:
        """A missing file, a folder and a file that is too large each raise what the protocol says."""
        await sandbox.write_file("large", b"x" * 1001)
        assert len(await sandbox.read_file("large", 1001)) == 1001
        with pytest.raises(ValueError, match="large"):
            await sandbox.read_file("large", 1000)
        with pytest.raises(FileNotFoundError):
            await sandbox.read_file("missing")
        with pytest.raises(ValueError, match="not a regular file"):
            await sandbox.read_file("/workspace")

    async def test_nothing_listens(self, sandbox: Sandbox) -> None:
        """Connecting where nothing listens is a refused connection."""
        with pytest.raises(ConnectionError):
            await sandbox.connect(1)

    async def test_host_serves_inside(self, sandbox: Sandbox) -> None:
        """A socket that the host listens on is reached by connecting to the sandbox's port."""
        listener = await sandbox.listen(0)
        with listener:
            assert await asked(sandbox, listener.getsockname()[1], listener) == b"from the host"

    async def test_cancelled(self, sandbox: Sandbox, workspace: Path) -> None:
        """Cancelling the caller ends the command; the sandbox goes on."""
        task = asyncio.ensure_future(sandbox.run(sh("echo x > started; sleep 2; echo x > too-late")))
        await appeared(workspace / "started")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await sandbox.run(sh("sleep 2.2; test ! -e too-late"))).ok

    async def test_closed(self, sandbox: Sandbox) -> None:
        """A closed sandbox says so; closing twice is no error."""
        await sandbox.close()
        await sandbox.close()
        with pytest.raises(SandboxError, match="closed"):
            await sandbox.run(sh("true"))

    async def test_mounts(self, provider: SandboxProvider, workspace: Path, tmp_path: Path) -> None:
        """Mounted files and folders are found at the paths that commands name."""
        tool, data = tmp_path / "tool", tmp_path / "data"
        tool.mkdir()
        (tool / "say").write_text("#!/bin/sh\necho said\n")
        (tool / "say").chmod(0o755)
        data.write_text("content")
        mounts = (Mount(source=tool, target="/opt/tool"), Mount(source=data, target="/opt/data.txt"))
        sandbox = await provider.open(SandboxSpec(workspace=workspace, mounts=mounts, path=("/opt/tool",)))
        assert (await sandbox.run(Command(argv=("/opt/tool/say",)))).stdout == b"said\n"
        assert (await sandbox.run(Command(argv=("cat", "/opt/data.txt")))).stdout == b"content"
        assert await sandbox.read_file("/opt/data.txt") == b"content"

    async def test_at_once(self, provider: SandboxProvider, tmp_path: Path) -> None:
        """Many sandboxes and many commands at once keep their streams apart."""

        async def one(number: int) -> None:
            folder = tmp_path / f"w{number}"
            folder.mkdir()
            async with await provider.open(SandboxSpec(workspace=folder, limits=Limits(memory_mb=64))) as sandbox:
                results = await asyncio.gather(*(sandbox.run(sh(f"echo {number}-{i}")) for i in range(5)))
                assert [result.stdout for result in results] == [f"{number}-{i}\n".encode() for i in range(5)]

        await asyncio.gather(*(one(number) for number in range(8)))

    def test_says_what_it_is(self, provider: SandboxProvider) -> None:
        """A provider names itself for lock files, and what enforces each limit."""
        assert provider.identity()
        assert all(provider.enforcement().model_dump().values())
