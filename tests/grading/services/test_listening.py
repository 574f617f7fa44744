"""Where a service listens, out of what a shell beside it printed."""

import pytest

from groundup.grading.services.deployment import Listening, read_listening

SOCKETS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 501 1 0 100 0 0 10 0
   1: 0100007F:71AD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 502 1 0 100 0 0 10 0
   2: 0100007F:1388 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 503 1 0 20 4 30 10 -1
   0: 00000000000000000000000001000000:1FBB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 504 1 0 100 0 0 10 0
"""  # noqa: E501
PROCESSES = """\
1 (supervisor) S 0 1 1 0
2 (bash) S 1 2 2 0
3 (python (app) x) S 2 2 2 0
4 (python) S 3 2 2 0
9 (sh) S 1 9 9 0
10 (cat) R 9 9 9 0
"""
HELD = """\
/proc/1/fd:
lrwx------ 1 root root 64 Nov 25 16:00 3 -> socket:[502]

/proc/3/fd:
total 0
lrwx------ 1 root root 64 Nov 25 16:00 0 -> /dev/null
lrwx------ 1 root root 64 Nov 25 16:00 3 -> socket:[501]
lrwx------ 1 root root 64 Nov 25 16:00 4 -> socket:[504]
"""


def look(processes: str = PROCESSES, held: str = HELD) -> Listening:
    """Return what is read of sockets with these processes."""
    return read_listening(f"9\n{SOCKETS}{processes}{held}".encode())


def test_the_service_s_own_listeners_are_found() -> None:
    """By address and port; the sandbox's own, such as a gateway, and connections are not among them."""
    assert look().places == (("0.0.0.0", 5000), ("[::1]", 8123))


def test_it_is_settled_when_nothing_else_runs() -> None:
    """Shells above and workers below could open no other port; a process beside them could."""
    assert look().is_settled
    assert not look(PROCESSES + "5 (sleep) S 2 2 2 0\n").is_settled
    assert not look(held="").is_settled


def test_its_unix_sockets_are_named_where_it_listens_on_no_port() -> None:
    """Those of the sandbox, connections and sockets without a name are none; escape codes are shown as text."""
    unix = (
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01   504 /run/app\x1b[2J.sock\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01   502 /run/gateway.sock\n"
        "0000000000000000: 00000003 00000000 00000000 0001 03   501 /run/connected.sock\n"
    )
    found = read_listening(f"9\n{unix}{PROCESSES}{HELD}".encode())
    assert not found.is_settled
    said = found.sentence(8080, is_open=False)
    assert said == r"it listens on no port, but on the Unix socket '/run/app\x1b[2J.sock'"


@pytest.mark.parametrize("said", [b"", b"9\n", b"x\n\0\xff", b"9\n1 (a) S 1 1\n9 (sh) S 9 9 9\n/proc/9/fd:\n"])
def test_nonsense_is_nothing(said: bytes) -> None:
    """A service may print what it likes."""
    assert read_listening(said) == Listening()


@pytest.mark.parametrize(
    ("places", "port", "is_open", "sentence"),
    [
        ((), 8080, False, "it listens on no port"),
        ((("127.0.0.1", 5000),), 8080, False, "it listens on 127.0.0.1:5000"),
        ((("[::]", 8080),), 8080, False, "it listens on [::]:8080, which is IPv6 only"),
        ((("127.0.0.9", 8080),), 8080, False, "it listens on 127.0.0.9:8080, and not on 127.0.0.1:8080"),
        ((("0.0.0.0", 80),), 80, True, "it listens on 0.0.0.0:80, and did not answer HTTP there"),
    ],
)
def test_the_sentence_names_address_and_port(
    places: tuple[tuple[str, int], ...], port: int, is_open: bool, sentence: str
) -> None:
    """Who reads it knows what to mend."""
    assert Listening(places=places).sentence(port, is_open=is_open) == sentence
