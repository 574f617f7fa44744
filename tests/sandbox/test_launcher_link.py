"""What is asked of the launcher and of supervisors, and what becomes of questions when they end."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.inside.supervisor import pack, unpack
from groundup.sandbox.launcher import wire
from groundup.sandbox.launcher_link import Event, SupervisorLink, running_link


async def test_a_launcher_that_is_killed_takes_its_sandboxes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are told that they ended, nothing more can be asked, and closing leaves nothing; another one starts."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    link = await running_link(None)
    assert await running_link(link) is link
    heard: dict[str, list[Event]] = {"one": [], "other": [], "forgotten": []}
    for key, events in heard.items():
        link.listen(key, events.append)
    link.forget("forgotten")
    assert link._process is not None
    os.kill(link._process.pid, signal.SIGKILL)
    async with asyncio.timeout(60):
        while link.alive:  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.01)
    ends = [("ended", "launcher", "it was killed"), ("closed", None, "")]
    assert [[(one.event, one.cause, one.message) for one in events] for events in heard.values()] == [
        ends,
        ends,
        [],
    ]
    with pytest.raises(SandboxError, match="has ended: it was killed; start again"):
        await link.ask({"op": "close", "key": "one"})
    assert link.state.path.exists()
    await link.close()
    assert not link.state.path.exists()
    again = await running_link(link)
    assert again.alive
    await again.close()
    assert not again.state.path.exists()


async def test_a_launcher_outlives_signals_to_all_of_a_terminal(tmp_path: Path) -> None:
    """Ctrl-C and a closed terminal are for groundup, which then closes its sandboxes by the launcher."""
    link = await running_link(None)
    assert link._process is not None
    await link.ask({"op": "close", "key": "none"})  # it has begun
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(link._process.pid, number)
    await link.ask({"op": "close", "key": "none"})
    assert link.alive
    await link.close()


class Conversation:
    """A link whose supervisor the test plays."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ended: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self.link = SupervisorLink(ours, self.ended)

    def heard(self) -> list[bytes]:
        """Return the fields of the next request, also of one that came as a file."""
        packet, descriptors = wire.receive(self.theirs)
        fields = unpack(packet)
        if fields[0] == b"long":
            fields = unpack(os.pread(descriptors[0], 10**6, 0))
        for descriptor in descriptors:
            os.close(descriptor)
        return fields

    def says(self, *fields: str, descriptors: tuple[int, ...] = ()) -> None:
        """Answer."""
        socket.send_fds(self.theirs, [pack([field.encode() for field in fields])], descriptors)


@pytest.fixture
async def talk() -> AsyncIterator[Conversation]:
    """Return a conversation that is under way."""
    talk = Conversation()
    yield talk
    talk.link.disconnect()
    talk.theirs.close()


async def test_each_question_gets_its_own_answer(talk: Conversation) -> None:
    """In whatever order; an end is another's than the command that it ends."""
    (run, ran), (read, was_read) = [await talk.link.send(kind, [b"x"], ()) for kind in ("exec", "read")]
    _, was_ended = await talk.link.send("end", [], (), about=run)
    assert [talk.heard() for _ in range(3)] == [
        [b"exec", run.encode(), b"x"],
        [b"read", read.encode(), b"x"],
        [b"end", run.encode()],
    ]
    assert not talk.link.ready.done()
    talk.says("ready", "")
    talk.says("ended", run)
    talk.says("refused", read, "2")
    talk.says("exited", run, "-9")
    talk.says("exited", run, "0")  # of nobody any more
    assert (await ran, await was_ended) == (-9, "ended")
    error = await was_read
    assert isinstance(error, OSError)
    assert (error.errno, error.strerror) == (2, "No such file or directory")
    assert talk.link.ready.done()


async def test_a_long_question_comes_as_a_file_and_a_socket_as_itself(talk: Conversation) -> None:
    """A packet has a bound."""
    key, connected = await talk.link.send("connect", [b"y" * 100_000], ())
    assert talk.heard() == [b"connect", key.encode(), b"y" * 100_000]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        talk.says("socket", key, descriptors=(theirs.fileno(),))
        found = await connected
        assert isinstance(found, socket.socket)
        found.send(b"hello")
        assert ours.recv(5) == b"hello"
        found.close()


async def test_what_waits_when_a_sandbox_ends_gets_no_answer(talk: Conversation) -> None:
    """Nor does what is asked afterwards; last words are read."""
    run, ran = await talk.link.send("exec", [], ())
    _, other = await talk.link.send("exec", [], ())
    talk.says("exited", run, "3")
    talk.link.disconnect()
    talk.link.give_up()
    talk.ended.set_result(Event(event="ended"))
    _, later = await talk.link.send("exec", [], ())
    assert [await answer for answer in (ran, other, later)] == [3, None, None]
