"""Where a service listens, by what its sandbox says of its sockets and processes. Pure; decides no score.

The service may be root in there and lie: that changes a reason's words, and how long it is waited for.
"""

import ipaddress
import re

from groundup.domain.records import Record

LOOK = (
    "echo $$; cat /proc/net/tcp /proc/net/tcp6 /proc/net/unix 2>/dev/null;"
    " cat /proc/[0-9]*/stat 2>/dev/null; ls -l /proc/[0-9]*/fd 2>/dev/null"
)
"""What a shell beside the service prints for `read_listening`."""
LOOK_BYTES = 256 * 1024
_MOST_SAID = 4
_SOCKET = re.compile(r" *\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) \S+ 0A (?:\S+ +){5}(\d+) ")
_UNIX = re.compile(r"[0-9a-f]+: \S+ \S+ 00010000 \S+ \S+ +(\d+) (\S.*)")
_PATH = 100
"""The most characters of a path that a reason shows."""
_PROCESS = re.compile(r"(\d{1,10}) \(.*\) ([A-Za-z]) (\d{1,10}) ")
_FOLDER = re.compile(r"/proc/(\d{1,10})/fd:")
_HELD = re.compile(r".* -> socket:\[(\d+)\]")


class Listening(Record):
    """What the service's processes listen on, and whether one of them could still open another port."""

    places: tuple[tuple[str, int], ...] = ()
    """Address and port, in order."""
    paths: tuple[str, ...] = ()
    """Of Unix sockets, which nobody outside can reach."""
    is_settled: bool = False
    """Whether nothing runs but those that listen, what started them and what they started."""

    def sentence(self, port: int, *, is_open: bool) -> str:
        """Say where it listens, instead of answering HTTP on *port* of 127.0.0.1."""
        if not self.places and self.paths:
            shown = " and ".join(ascii(path[:_PATH]) for path in self.paths[:_MOST_SAID])
            return f"it listens on no port, but on the Unix socket{'s' if len(self.paths) > 1 else ''} {shown}"
        if not self.places:
            return "it listens on no port"
        here = [f"{place}:{at}" for place, at in self.places if at == port]
        if is_open and here:
            return f"it listens on {' and '.join(here[:_MOST_SAID])}, and did not answer HTTP there"
        where = " and ".join(f"{place}:{at}" for place, at in self.places[:_MOST_SAID])
        why = ""
        if here:
            by_name = all(place.startswith("[") for place, at in self.places if at == port)
            why = ", which is IPv6 only" if by_name else f", and not on 127.0.0.1:{port}"
        return f"it listens on {where}{why}"


def read_listening(said: bytes) -> Listening:
    """Return what LOOK printed of the service; nothing where it cannot be read."""
    first, _, rest = said.decode("utf-8", "replace").partition("\n")
    sockets: dict[str, tuple[str, int]] = {}
    paths: dict[str, str] = {}
    parents: dict[int, int] = {}
    holders: dict[str, int] = {}
    folder = 0
    for line in rest.splitlines():
        if found := _SOCKET.match(line):
            sockets[found[3]] = (_address(found[1]), int(found[2], 16))
        elif found := _UNIX.fullmatch(line):
            paths[found[1]] = found[2]
        elif found := _PROCESS.match(line):
            if found[2] != "Z":
                parents[int(found[1])] = int(found[3])
        elif found := _FOLDER.fullmatch(line):
            folder = int(found[1])
        elif found := _HELD.fullmatch(line):
            holders.setdefault(found[1], folder)
    if not first.isdigit():
        return Listening()
    # The shell that looks, what it started, and what holds the sandbox are none of the service's.
    ours = set(_above(int(first), parents)) | _below({int(first)}, parents)
    held = {inode: process for inode, process in holders.items() if inode in sockets and process not in ours}
    listeners = set(held.values())
    related = _below(listeners, parents).union(*(_above(one, parents) for one in listeners))
    places = sorted({sockets[inode] for inode in held}, key=lambda place: (place[1], place[0]))
    unix = sorted({path for inode, path in paths.items() if holders.get(inode, 0) not in {0} | ours})
    # A socket of its own may be a service's first, so it ends no wait.
    is_settled = bool(places) and parents.keys() <= related | ours
    return Listening(places=tuple(places), paths=tuple(unix), is_settled=is_settled)


def _above(process: int, parents: dict[int, int]) -> list[int]:
    """Return *process* and those that started it."""
    found = []
    while process in parents and process not in found:
        found.append(process)
        process = parents[process]
    return found


def _below(processes: set[int], parents: dict[int, int]) -> set[int]:
    """Return *processes* and all that they started."""
    found = set(processes)
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _address(written: str) -> str:
    """Return an address of /proc/net: words of 32 bits, each in the machine's order of bytes."""
    words = [int(written[at : at + 8], 16).to_bytes(4, "little") for at in range(0, len(written), 8)]
    address = ipaddress.ip_address(b"".join(words))
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped) if address.ipv4_mapped else f"[{address}]"
