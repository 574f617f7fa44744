"""The system calls that Python has no function for."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_BIND = 4096
MS_REC = 16384
MS_SLAVE = 1 << 19
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_KEYCTL_JOIN_SESSION_KEYRING = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Leave the shared namespaces named by *flags*."""
    _checked(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace behind *descriptor*."""
    _checked(_libc.setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = [ctypes.c_char_p(os.fsencode(text)) for text in (source, target, kind)]
    _checked(_libc.mount(*arguments, ctypes.c_ulong(flags), ctypes.c_char_p(options.encode())), f"mount {target}")


def die_with_parent(number: int) -> None:
    """Get signal *number* (0: none) when the parent dies."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0), "prctl")


def be_dumpable() -> None:
    """Own one's /proc entries again after a change of user."""
    _checked(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")


def forget_keys() -> None:
    """Leave the user's session keyring (Kerberos tickets and the like), which children would inherit."""
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:  # a kernel without keyrings, or a container that forbids them, has none to leave
        _libc.syscall(number, _KEYCTL_JOIN_SESSION_KEYRING, None, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent dies."""
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")
