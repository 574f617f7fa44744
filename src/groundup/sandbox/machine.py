"""What this machine can do for sandboxes, and what to do where it cannot. `groundup doctor` prints it."""

import os
import platform
import shutil
from enum import StrEnum
from pathlib import Path

from groundup.domain.errors import SandboxError
from groundup.domain.records import Record
from groundup.sandbox.bubblewrap import BubblewrapProvider, find_bubblewrap
from groundup.sandbox.launcher.limits import find_places
from groundup.sandbox.protocol import Command, SandboxSpec
from groundup.sandbox.system import missing_programs
from groundup.trees.scratch import scratch_folder

_ROOM_MB = 2048
_SYSCTLS = {
    "kernel/unprivileged_userns_clone": ("0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    "user/max_user_namespaces": ("0", "sudo sysctl user.max_user_namespaces=15000"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "install the system's bubblewrap and an AppArmor profile that lets it make user namespaces "
        "(on Ubuntu 24.04: `apt install bubblewrap apparmor-profiles`, then link "
        "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict into /etc/apparmor.d and reload it)",
    ),
}
"""Kernel settings below /proc/sys: the value that forbids user namespaces, and what to do then."""


class FactStatus(StrEnum):
    """What a fact means for sandboxes."""

    GOOD = "good"
    LIMITED = "limited"
    BAD = "bad"


class Fact(Record):
    """One thing that was looked at."""

    name: str
    status: FactStatus
    value: str
    advice: str = ""


async def examine(cache_dir: Path) -> list[Fact]:
    """Look at this machine; opens one sandbox. The last fact says whether that worked."""
    if platform.system() != "Linux":
        return [
            Fact(
                name="system",
                status=FactStatus.BAD,
                value=platform.system(),
                advice="sandboxes need Linux: run groundup inside a Linux virtual machine or container "
                "(on macOS and Windows, Docker Desktop, Lima, Colima or WSL 2 bring one)",
            )
        ]
    facts = [
        Fact(name="kernel", status=FactStatus.GOOD, value=f"{platform.release()} {platform.machine()}"),
        _user(),
        _container(),
        _bubblewrap(),
        _programs(),
        *_namespaces(),
        *_limits(),
        _disk(cache_dir),
    ]
    return [*facts, await _trial()]


def _user() -> Fact:
    if os.geteuid() != 0:
        return Fact(name="user", status=FactStatus.GOOD, value="ordinary")
    return Fact(name="user", status=FactStatus.GOOD, value="root; each sandbox runs as an unused user of its own")


def _container() -> Fact:
    inside = next((name for name in ("/.dockerenv", "/run/.containerenv") if Path(name).exists()), None)
    filtered = "2" in _status_line("Seccomp")
    if not inside and not filtered:
        return Fact(name="container", status=FactStatus.GOOD, value="none seen")
    value = "inside one" + (", with a seccomp filter" if filtered else ", without a seccomp filter")
    if not filtered:
        return Fact(name="container", status=FactStatus.GOOD, value=value)
    return Fact(
        name="container",
        status=FactStatus.LIMITED,
        value=value,
        advice="if no sandbox opens, start the container with `--security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined --security-opt systempaths=unconfined`; it needs no --privileged",
    )


def _bubblewrap() -> Fact:
    path = find_bubblewrap()
    if path is None:
        return Fact(
            name="bubblewrap",
            status=FactStatus.BAD,
            value="not found",
            advice="no wheel for this platform: install the system's package `bubblewrap`",
        )
    return Fact(
        name="bubblewrap",
        status=FactStatus.GOOD,
        value="from the wheel" if "site-packages" in path.parts else str(path),
    )


def _programs() -> Fact:
    """Say which programs of guests' systems are lacking: submissions that need them cannot run here."""
    missing = missing_programs()
    if not missing:
        return Fact(name="guests' programs", status=FactStatus.GOOD, value="complete")
    return Fact(
        name="guests' programs",
        status=FactStatus.LIMITED,
        value=f"missing: {', '.join(name for names in missing.values() for name in names)}",
        advice=f"submissions that use them fail here; install them (Debian's packages: {', '.join(missing)})",
    )


def _namespaces() -> list[Fact]:
    facts = []
    for name, (forbidding, advice) in _SYSCTLS.items():
        try:
            value = Path("/proc/sys", name).read_text().strip()
        except OSError:
            continue
        forbidden = value == forbidding
        system = name.startswith("kernel/apparmor") and shutil.which("bwrap")
        facts.append(
            Fact(
                name=name.replace("/", "."),
                status=FactStatus.GOOD if not forbidden else FactStatus.LIMITED if system else FactStatus.BAD,
                value=value,
                advice=advice if forbidden else "",
            )
        )
    return facts


def _limits() -> list[Fact]:
    enforcement = BubblewrapProvider().enforcement()
    places = find_places()
    advice = (
        "limits are kept by looking every 0.1 s; for exact ones, run as root or in a delegated group "
        "(`systemd-run --user --scope -p Delegate=yes groundup ...`)"
    )
    facts = [
        Fact(
            name=f"limit of {limit}",
            status=FactStatus.GOOD if places.has(controller) else FactStatus.LIMITED,
            value=value,
            advice="" if places.has(controller) else advice,
        )
        for limit, controller, value in (
            ("cpus", "cpu", enforcement.cpus),
            ("memory", "memory", enforcement.memory),
            ("processes", "pids", enforcement.processes),
        )
    ]
    return [*facts, Fact(name="limit of disk", status=FactStatus.GOOD, value=enforcement.disk)]


def _disk(cache_dir: Path) -> Fact:
    folder = next(path for path in (cache_dir.absolute(), *cache_dir.absolute().parents) if path.is_dir())
    free_mb = shutil.disk_usage(folder).free // 2**20
    if not os.access(folder, os.W_OK):
        return Fact(
            name="cache",
            status=FactStatus.BAD,
            value=f"{cache_dir} cannot be written",
            advice="set GROUNDUP_CACHE_DIR to a folder of yours",
        )
    low = free_mb < _ROOM_MB
    return Fact(
        name="cache",
        status=FactStatus.LIMITED if low else FactStatus.GOOD,
        value=f"{cache_dir}, {free_mb} MB free",
        advice="free some space, or set GROUNDUP_CACHE_DIR to a larger disk" if low else "",
    )


async def _trial() -> Fact:
    with scratch_folder("doctor") as folder:
        try:
            async with BubblewrapProvider() as provider:
                sandbox = await provider.open(SandboxSpec(workspace=folder, label="doctor"))
                result = await sandbox.run(Command(argv=("true",)))
        except SandboxError as error:
            return Fact(name="a sandbox", status=FactStatus.BAD, value=str(error), advice=_what_now())
    return Fact(
        name="a sandbox",
        status=FactStatus.GOOD if result.ok else FactStatus.BAD,
        value="opened and ran a command" if result.ok else result.stderr.decode(errors="replace"),
        advice="" if result.ok else _what_now(),
    )


def _what_now() -> str:
    return (
        "user namespaces seem to be forbidden here: see the lines above; ask the machine's administrator for the "
        "system's bubblewrap with a profile, or run groundup in a container or virtual machine that allows them"
    )


def _status_line(name: str) -> str:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    return ""
