"""The fake answers by script, records what it was asked, and has real files and sockets."""

from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.protocol import Command, CommandResult, Mount, SandboxSpec
from tests.sandbox.contract import received
from tests.sandbox.fake import FakeProvider, answer


async def test_script(tmp_path: Path) -> None:
    """Commands are recorded in order, and the script says what they did."""

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        (spec.workspace / "made").write_text("by the script")
        return answer(3, b"out") if command.argv[0] == "fail" else answer()

    async with FakeProvider(script) as provider:
        sandbox = await provider.open(SandboxSpec(workspace=tmp_path))
        assert (await sandbox.run(Command(argv=("work",)))).ok
        result = await sandbox.run(Command(argv=("fail",)))
        assert (result.exit_code, result.stdout) == (3, b"out")
        assert [command.argv for command in provider.commands] == [("work",), ("fail",)]
        assert await sandbox.read_file("made") == b"by the script"
    with pytest.raises(SandboxError, match="closed"):
        await sandbox.run(Command(argv=("late",)))


async def test_files(tmp_path: Path) -> None:
    """Files lie in the workspace and in mounts, or are remembered."""
    (tmp_path / "data").write_bytes(b"mounted")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with FakeProvider() as provider:
        mounts = (Mount(source=tmp_path / "data", target="/opt/data"),)
        sandbox = await provider.open(SandboxSpec(workspace=workspace, mounts=mounts))
        await sandbox.write_file("a/b", b"content", 0o700)
        await sandbox.write_file("/tmp/x", b"elsewhere")
        assert (workspace / "a" / "b").read_bytes() == b"content"
        assert await sandbox.read_file("/tmp/x") == b"elsewhere"
        assert await sandbox.read_file("/opt/data") == b"mounted"
        with pytest.raises(FileNotFoundError):
            await sandbox.read_file("/tmp/y")
        with pytest.raises(ValueError, match="more than"):
            await sandbox.read_file("a/b", 3)


async def test_services(tmp_path: Path) -> None:
    """A service lives until it is stopped; one that the script fails has ended."""
    async with FakeProvider(lambda spec, command: answer(int(command.argv[1]))) as provider:
        sandbox = await provider.open(SandboxSpec(workspace=tmp_path))
        good = await sandbox.start(Command(argv=("serve", "0")))
        bad = await sandbox.start(Command(argv=("serve", "4")))
        assert (good.alive(), bad.alive()) == (True, False)
        assert await bad.wait(1) == 4
        await good.stop()
        assert await good.wait(1) == -9


async def test_pods(tmp_path: Path) -> None:
    """Ports are shared in a pod, and not between pods."""
    async with FakeProvider() as provider, await provider.pod() as pod, await provider.pod() as other:
        one, two = await pod.open(SandboxSpec(workspace=tmp_path)), await pod.open(SandboxSpec(workspace=tmp_path))
        far = await other.open(SandboxSpec(workspace=tmp_path))
        listener = await one.listen(8080)
        connection = await two.connect(8080)
        accepted, _ = listener.accept()
        accepted.sendall(b"hello")
        accepted.close()
        assert await received(connection) == b"hello"
        with pytest.raises(ConnectionError):
            await far.connect(8080)
