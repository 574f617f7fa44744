"""Which system calls a guest may make: the policy, and the filter that bubblewrap installs before the guest runs.

A piece of code is a tuple of instructions that ends with `ret` on every way, so pieces are put together by
nesting and every jump leads forward. Libraries were looked at: libseccomp's bindings need its C library, and
seccompy 0.2 compares whole 64-bit arguments, although the kernel takes only the lower half of an `int`.

Everything that ordinary programs use is allowed; what only widens the kernel's surface, or serves administrators,
is refused. docs/sandbox.md lists it with reasons. What programs try and do without gets ENOSYS ("not in this
kernel"), what asks for rights gets EPERM. Numbers above those known here are refused, so that a newer kernel's
calls stay closed until the policy names them; that covers x32 as well, whose numbers begin at 2**30.

`ptrace` is allowed: sanitizers and debuggers need it, the supervisor cannot be traced, and among themselves the
processes of one sandbox are one user, who can write to `/proc/PID/mem` in any case.
"""

import errno
import functools
import os
import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

MOST_INSTRUCTIONS = 4096
"""What the kernel takes."""
NUMBER, ARCHITECTURE = 0, 4
"""Where `struct seccomp_data` has the system call's number and the architecture that it was made for."""
_ARGUMENTS = 16
_LOAD, _JUMP, _RETURN, _AND = 0x20, 0x05, 0x06, 0x54
_FARTHEST = 255


class Comparison(IntEnum):
    """Ways to compare what was loaded with a number, as unsigned 32-bit numbers."""

    EQUAL = 0x15
    ABOVE = 0x25
    AT_LEAST = 0x35
    ANY_BIT = 0x45


class Instruction(NamedTuple):
    """One instruction: its code, how many to skip if true and if false, and its number."""

    code: int
    if_true: int
    if_false: int
    number: int


Code = tuple[Instruction, ...]


def argument(index: int) -> int:
    """Return where the lower 32 bits of an argument lie, on machines that store them first."""
    return _ARGUMENTS + 8 * index


def ret(value: int) -> Code:
    return (Instruction(_RETURN, 0, 0, value),)


def load(offset: int, then: Code, *, mask: int | None = None) -> Code:
    """Load the 32 bits at *offset*, without those that *mask* lacks, and go on with *then*."""
    masking = () if mask is None else (Instruction(_AND, 0, 0, mask),)
    return (Instruction(_LOAD, 0, 0, offset), *masking, *then)


def when(test: Comparison, number: int, yes: Code, no: Code) -> Code:
    """Go on with *yes* or *no*."""
    if len(yes) <= _FARTHEST:
        return (Instruction(test, 0, len(yes), number), *yes, *no)
    far = (Instruction(test, 1, 0, number), Instruction(_JUMP, 0, 0, len(yes)))
    return (*far, *yes, *no)


def among(numbers: Sequence[int], yes: Code, no: Code) -> Code:
    """Go on with *yes* when what was loaded is one of *numbers*; *yes* stands there once for each."""
    return when(Comparison.EQUAL, numbers[0], yes, among(numbers[1:], yes, no)) if numbers else no


def ranges(starts: Sequence[tuple[int, Code]]) -> Code:
    """Go on with the code of the last start that is not above what was loaded; the first start stands for 0."""
    if len(starts) == 1:
        return starts[0][1]
    middle = len(starts) // 2
    return when(Comparison.AT_LEAST, starts[middle][0], ranges(starts[middle:]), ranges(starts[:middle]))


def assembled(code: Code) -> bytes:
    """Return the program as the kernel reads it (`struct sock_filter`). Raises `ValueError` for too long a one."""
    if len(code) > MOST_INSTRUCTIONS:
        raise ValueError(f"a filter of {len(code)} instructions; the kernel takes {MOST_INSTRUCTIONS}")
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
"""What a filter answers; `ERRNO` with the error's number."""
LAST_KNOWN = 469
"""`file_setattr`, Linux 6.17. From 424 on, all architectures have the same numbers."""
NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_NEW_TIME = 0x80
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _RAW, _TYPES = 1, 2, 3, 0xF
_TCP, _UDP, _ICMP, _ICMP6, _ROUTE = 6, 17, 1, 58, 0
_PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0x40000, 0xFFFFFFFF)
"""Linux, its names for 32 bits and 2.6, no address randomisation (`setarch -R`), and asking which one it is."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX put keystrokes into a terminal."""

_MISSING = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "modify_ldt": (154, None), "memfd_secret": (447, 447), "clone3": (435, 435), "kcmp": (312, 272),
    "uselib": (134, None), "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "create_module": (174, None),
    "get_kernel_syms": (177, None), "query_module": (178, None), "statmount": (457, 457), "listmount": (458, 458),
    "lsm_get_self_attr": (459, 459), "lsm_set_self_attr": (460, 460), "lsm_list_modules": (461, 461),
}  # fmt: skip
"""Answered with ENOSYS: numbers on x86_64 and aarch64."""
_REFUSED = {
    "bpf": (321, 280), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "setns": (308, 268), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "swapon": (167, 224), "swapoff": (168, 225),
    "reboot": (169, 142), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "acct": (163, 89), "syslog": (103, 116),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "iopl": (172, None), "ioperm": (173, None), "vhangup": (153, 58),
}  # fmt: skip
"""Answered with EPERM."""
_LOOKED_AT = {
    "socket": (41, 198), "socketpair": (53, 199), "clone": (56, 220), "unshare": (272, 97),
    "personality": (135, 92), "ioctl": (16, 29),
}  # fmt: skip
"""Decided by their arguments. Only the lower halves count: the kernel takes no more of these."""


class Architecture(NamedTuple):
    """How a machine's system calls look to a filter."""

    audit: int
    column: int


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(0xC000003E, 0),
    "aarch64": Architecture(0xC00000B7, 1),
}
"""By what `uname -m` says. Others have no filter."""


@functools.cache
def guest_filter(machine: str = os.uname().machine) -> bytes:
    """Return the filter for *machine*; empty where there is none."""
    architecture = ARCHITECTURES.get(machine)
    return assembled(_code(architecture)) if architecture else b""


def _code(architecture: Architecture) -> Code:
    calls: dict[int, Code] = {LAST_KNOWN + 1: _error(errno.ENOSYS)}
    checked = _checked()
    for names, code_of in (
        (_MISSING, lambda _: _error(errno.ENOSYS)),
        (_REFUSED, lambda _: _error(errno.EPERM)),
        (_LOOKED_AT, checked.__getitem__),
    ):
        for name in names:
            number = (_MISSING | _REFUSED | _LOOKED_AT)[name][architecture.column]
            if number is not None:
                calls[number] = code_of(name)
    # `ranges` takes the last start that is not above the number, so each call that the policy names needs a start
    # behind it that allows again.
    starts: list[tuple[int, Code]] = [(0, ret(ALLOW))]
    for number in sorted(calls):
        starts.append((number, calls[number]))
        if number <= LAST_KNOWN and number + 1 not in calls:
            starts.append((number + 1, ret(ALLOW)))
    native = load(NUMBER, ranges(starts))
    # The same number is another call for 32-bit code, which x86_64 runs as well: without this check it passes the
    # filter.
    return load(ARCHITECTURE, when(Comparison.EQUAL, architecture.audit, native, ret(KILL_PROCESS)))


def _checked() -> dict[str, Code]:
    """Return what decides the calls of `_LOOKED_AT`."""
    allow, refuse = ret(ALLOW), _error(errno.EPERM)
    no_family, no_protocol = _error(errno.EAFNOSUPPORT), _error(errno.EPROTONOSUPPORT)
    stream = load(argument(2), among((0, _TCP), allow, no_protocol))
    datagram = load(argument(2), among((0, _UDP, _ICMP, _ICMP6), allow, no_protocol))
    kinds = when(Comparison.EQUAL, _RAW, refuse, _error(errno.ESOCKTNOSUPPORT))
    kinds = when(Comparison.EQUAL, _STREAM, stream, when(Comparison.EQUAL, _DATAGRAM, datagram, kinds))
    internet = load(argument(1), kinds, mask=_TYPES)
    netlink = load(argument(2), when(Comparison.EQUAL, _ROUTE, allow, no_protocol))
    family = when(Comparison.EQUAL, _NETLINK, netlink, no_family)
    family = when(Comparison.EQUAL, _INET, internet, when(Comparison.EQUAL, _INET6, internet, family))
    return {
        "socket": load(argument(0), when(Comparison.EQUAL, _UNIX, allow, family)),
        "socketpair": load(argument(0), when(Comparison.EQUAL, _UNIX, allow, no_family)),
        "clone": load(argument(0), when(Comparison.ANY_BIT, NAMESPACES, refuse, allow)),
        "unshare": load(argument(0), when(Comparison.ANY_BIT, NAMESPACES | _NEW_TIME, refuse, allow)),
        "personality": load(argument(0), among(_PERSONALITIES, allow, refuse)),
        "ioctl": load(argument(1), among(_TERMINAL_INPUT, refuse, allow)),
    }


def _error(number: int) -> Code:
    return ret(ERRNO | number)
