"""The `nc` of guests, as scripts use it to wait for ports and to speak through them."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from groundup.inside import netcat
from groundup.inside.netcat import NetcatOptions, main, ports_of


def nc(*argv: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
    """Return exit code and output of a call."""
    done = subprocess.run(
        [sys.executable, netcat.__file__, *argv], input=given, capture_output=True, check=False, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def port() -> Iterator[int]:
    """Return a port whose service answers what it was told until the end, once for each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as said:
                    connection.sendall(b"heard " + said.read())

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_ports_are_waited_for(port: int) -> None:
    """Open ones end with 0 and closed ones with 1; of a range one is enough. What was asked for is told."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        other = closed.getsockname()[1]
    assert nc("-z", "127.0.0.1", str(port)) == (0, b"", b"")
    code, _, said = nc("-zv", "-w", "5", "127.0.0.1", str(port))
    assert (code, said) == (0, f"Connection to 127.0.0.1 {port} port [tcp/*] succeeded!\n".encode())
    assert nc("-z", "127.0.0.1", str(other)) == (1, b"", b"")
    code, _, said = nc("-v", "127.0.0.1", str(other))
    assert (code, said) == (
        1,
        f"nc: connect to 127.0.0.1 port {other} (tcp) failed: Connection refused\n".encode(),
    )


def test_what_is_said_comes_back(port: int) -> None:
    """After the end of its input, where it is asked to end its side then."""
    assert nc("-N", "127.0.0.1", str(port), given=b"hello") == (0, b"heard hello", b"")
    assert nc("-q", "0", "127.0.0.1", str(port), given=b"hello") == (0, b"heard hello", b"")
    assert nc("-d", "-w", "1", "127.0.0.1", str(port), given=b"hello") == (0, b"", b"")


@pytest.mark.parametrize(("again", "answers"), [((), [b"one"]), (("-k",), [b"one", b"two"])])
def test_it_listens_once_or_for_ever(again: tuple[str, ...], answers: list[bytes]) -> None:
    """What comes in is printed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = [sys.executable, netcat.__file__, "-lv", *again, "127.0.0.1", str(port)]
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        assert server.stderr.readline() == f"Listening on 127.0.0.1 {port}\n".encode()
        for text in answers:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(text)
            assert server.stdout.read(len(text)) == text
            assert server.stderr.readline().startswith(b"Connection received on 127.0.0.1 ")
        if again:
            server.terminate()
        else:
            assert server.wait(60) == 0


def test_options_mean_what_they_mean_to_netcat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port, a range or a service's name; what waits, listens, or ends with its input."""
    monkeypatch.setattr(socket, "getservbyname", {"http": 80}.__getitem__)
    assert (ports_of("80"), ports_of("80-82"), ports_of("http")) == ([80], [80, 81, 82], [80])
    plain, given = NetcatOptions(["host", "1"]), NetcatOptions(["-6uklzvdN", "-w", "2.5", "-p", "7", "host", "1"])
    assert [plain.listens, plain.again, plain.datagrams, plain.verbose, plain.scans, plain.no_input] == [False] * 6
    assert [given.listens, given.again, given.datagrams, given.verbose, given.scans, given.no_input] == [True] * 6
    assert (plain.ends_at_input_end, given.ends_at_input_end) == (False, True)
    assert NetcatOptions(["-q", "0"]).ends_at_input_end
    assert not NetcatOptions(["-q", "-1"]).ends_at_input_end
    assert (plain.wait_s, given.wait_s, given.port, given.rest) == (None, 2.5, "7", ["host", "1"])
    assert (plain.kind, given.kind) == (socket.SOCK_STREAM, socket.SOCK_DGRAM)
    families = [NetcatOptions([word]).family for word in ("-4", "-6", "-n")]
    assert families == [socket.AF_INET, socket.AF_INET6, socket.AF_UNSPEC]


@pytest.mark.parametrize("argv", [["--wrong"], ["host"], ["host", "no-such-service"], ["-w", "x", "host", "1"]])
def test_a_wrong_command_line_ends_with_1(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """And says why."""
    assert main(argv) == 1
    assert capfd.readouterr().err.startswith("nc: ")
