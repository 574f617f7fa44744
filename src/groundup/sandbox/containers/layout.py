"""What a guest sees in a container: the request to the engine that makes it.

Without an image of the user's, everything is as in bubblewrap's sandboxes: an image that holds nothing but empty
folders, with this machine's programs and a generated /etc mounted into it. With one, the image's own programs and
/etc take their place. In both, the supervisor comes with its interpreter, its libraries and their dynamic linker,
so that it runs in any image.
"""

import io
import resource
import shutil
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundup.inside.supervisor import permitted
from groundup.sandbox.composition import (
    ETC,
    GENERATED_ETC,
    HOME,
    INSIDE,
    PYTHON,
    ROOT_FOLDERS,
    base_environment,
    check_mount,
    host_etc,
    interpreter_parts,
    masked_folders,
    niceness,
    resource_limits,
    supervisor_mounts,
)
from groundup.sandbox.host_state import systems
from groundup.sandbox.launcher.boxes import OWN_MEMORY_BYTES, OWN_PROCESSES
from groundup.sandbox.launcher.wire import OPEN_FILES
from groundup.sandbox.protocol import WORKSPACE, SandboxSpec
from groundup.sandbox.seccomp import guest_filter
from groundup.sandbox.system import GuestSystem, SharedLibraries, read_dynamic

CONTROL = f"{INSIDE}/control"
"""Where the supervisor finds its control socket."""
EMPTY, THROW_AWAY = "localhost/groundup-empty:1", "localhost/groundup-throw-away:2"
"""Our own images: no file in them. The second one has the folders of a container's root file system."""
_LIBRARIES = f"{INSIDE}/lib"
_FILTER = f"{INSIDE}/filter"
_EXTENSIONS = ("_ctypes", "_posixsubprocess", "_socket", "_struct", "array", "fcntl", "math", "resource", "select")
_SMALL_TMPFS_MB = 16
_CLOSED = "/root"
"""Closed to others in images, but libraries of pyenv may have to be where they were installed."""
_OOM_SCORE = 500
_TASKS = 32768
"""Of one user on the host, which Podman sets for itself: more it can give to none where it lacks a right."""
_MASKED = (
    "/sys", "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/scsi",
    "/proc/sched_debug", "/proc/timer_list", "/proc/timer_stats",
)  # fmt: skip
"""What engines hide of /proc by themselves, and /sys, which shows the machine."""
_ENGINE_FILES = ("hostname", "hosts", "resolv.conf")
"""Those in /etc that engines write, if at all, once for all containers of a network."""
_ACCOUNTS = ("passwd", "group")
"""Those in /etc that are mounted, even where the rest is copied."""
_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


@dataclass(frozen=True)
class Base:
    """What lies below everything else."""

    image: str
    """By what the engine finds it, a digest where it is the user's."""
    environment: Mapping[str, str]
    """Of the image; empty for our own."""
    is_ours: bool


@dataclass(frozen=True)
class Guest:
    """Who the guest is inside: its number as user and group, and what its engine wants to be asked otherwise."""

    number: int
    group: int
    owns_tmpfs: bool = True
    """Whether the engine can give folders in memory an owner: Podman cannot."""
    options: tuple[str, ...] = ()
    """Security options of the engine."""
    private: tuple[str, ...] = ("/tmp",)  # noqa: S108  # the guest's
    """Folders in memory of the size of the disk, for all; Podman would put one without a limit on /var/tmp."""


@dataclass
class MountLayout:
    """Collects mounts; a later one at the same place wins."""

    state: Path
    mounts: dict[str, tuple[Path, bool]] = field(default_factory=dict)

    def show(self, source: Path, target: str, *, writable: bool = False) -> None:
        """Have the host's *source* seen at *target*."""
        self.mounts[target] = (source.absolute(), writable)

    def request(self) -> list[dict[str, object]]:
        """Return the mounts as engines take them."""
        return [
            {
                "Type": "bind",
                "Source": str(source),
                "Target": target,
                "ReadOnly": not writable,
                "BindOptions": {"Propagation": "rprivate"},
            }
            for target, (source, writable) in self.mounts.items()
        ]


def own_image(*, throw_away: bool) -> bytes:
    """Return the archive of one of our own images."""
    folders = ["usr", "var", *(f.lstrip("/") for f in ROOT_FOLDERS if throw_away)]
    links = {**_LINKS, "var/tmp": "/tmp", "var/run": "/run"}  # noqa: S108  # the guest's
    if throw_away:
        folders.append("etc")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in folders:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


def prepare(state: Path) -> None:
    """Put into *state* what all containers share: the supervisor's libraries, accounts and the filter of calls."""
    folder = state / "lib"
    folder.mkdir(mode=0o755)
    prefix = Path(sys.base_prefix)
    extensions = [
        path
        for name in _EXTENSIONS
        for path in prefix.glob(f"{sys.platlibdir}/python3.{sys.version_info.minor}/lib-dynload/{name}.*.so")
    ]
    executable = interpreter_parts()[0][0]
    for library in SharedLibraries().closure([executable, *extensions]):
        shutil.copyfile(library, folder / library.name)
        (folder / library.name).chmod(0o755)
    (state / "filter").write_bytes(guest_filter())


def loader() -> str:
    """Return where the supervisor's dynamic linker is inside."""
    (executable, _), *_ = interpreter_parts()
    _, _, found = read_dynamic(executable)
    return f"{_LIBRARIES}/{found.name}" if found else ""


def compose(
    spec: SandboxSpec, base: Base, guest: Guest, state: Path, system: GuestSystem | None, control: Path
) -> dict[str, Any]:
    """Return the request that makes the container of *spec*, with this machine's *system* or its whole /usr.

    Raises `UsageError`, `SubmissionError` and `SandboxError`.
    """
    layout = MountLayout(state)
    if base.is_ours:
        _machine(layout, spec, system)
    _names(layout, spec, control)
    _accounts(layout, spec, base, guest, state)
    _supervisor(layout, control)
    layout.show(spec.workspace, WORKSPACE, writable=True)
    if not base.is_ours and any(mount.target.startswith(f"{_CLOSED}/") for mount in spec.mounts):
        open_to_all = control.with_name(f"{control.name}-root")
        open_to_all.mkdir(mode=0o755)
        layout.show(open_to_all, _CLOSED)
    for mount in spec.mounts:
        check_mount(mount, spec)
        layout.show(mount.source, mount.target, writable=mount.writable)
    _make_places(layout, spec)
    command = [loader(), "--library-path", f"{_LIBRARIES}:{INSIDE}/python/lib"]
    command += [PYTHON, "-I", "-S", "-E", "-B", f"{INSIDE}/supervisor.pyc", CONTROL]
    if spec.throw_away_root and base.is_ours:
        command.append(f"{ETC}=/etc")
    if guest_filter():
        command.append(f"filter={_FILTER}")
    limits = resource_limits(spec, ("memory", "pids"))
    command += [*niceness(), *(f"{kind}={value}" for kind, value in limits.items())]
    host = _host_config(spec, guest)
    # Podman refuses two mounts at one place.
    host["Tmpfs"] = {place: options for place, options in _tmpfs(spec, guest) if place not in layout.mounts}
    return {
        "Image": base.image,
        "Entrypoint": command,
        "Cmd": [],
        "User": f"{guest.number}:{guest.group}",
        "WorkingDir": "/",
        "Env": [],
        "HostConfig": {**host, "Mounts": layout.request()},
    }


def image_variables(spec: SandboxSpec, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of every command in a container of an image of the user's that has *given*."""
    path = given.get("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    return {**given, **base_environment(spec), "PATH": ":".join((*spec.path, path)), **spec.environment}


def _host_config(spec: SandboxSpec, guest: Guest) -> dict[str, object]:
    limits = spec.limits
    memory = limits.memory_mb * 2**20 + OWN_MEMORY_BYTES
    disk = limits.disk_mb * 2**20
    shm = min(disk, max(limits.memory_mb * 2**20 // 2, 2**20))
    return {
        "AutoRemove": True,
        "ReadonlyRootfs": not spec.throw_away_root,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", *guest.options],
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": limits.processes + OWN_PROCESSES,
        "CpuShares": 512,
        "IpcMode": "private",
        "ShmSize": shm,
        "OomScoreAdj": _OOM_SCORE,
        "LogConfig": {"Type": "none"},
        "Ulimits": [
            {"Name": name, "Soft": value, "Hard": value}
            for name, value in (
                ("nofile", permitted(resource.RLIMIT_NOFILE, OPEN_FILES)),
                ("nproc", permitted(resource.RLIMIT_NPROC, _TASKS)),
                ("core", 0),
            )
        ],
        "MaskedPaths": list(_MASKED),
    }


def _tmpfs(spec: SandboxSpec, guest: Guest) -> Iterator[tuple[str, str]]:
    """Yield the places of folders in memory, each with its options."""
    disk = spec.limits.disk_mb * 2**20
    home = "mode=0755" if guest.owns_tmpfs or not guest.number else "mode=0777"
    home += f",uid={guest.number},gid={guest.group}" if guest.owns_tmpfs and guest.number else ""
    for place in guest.private:
        yield place, f"rw,exec,nosuid,nodev,mode=1777,size={disk}"
    yield HOME, f"rw,exec,nosuid,nodev,{home},size={disk}"
    yield "/run", f"rw,exec,nosuid,nodev,mode=1777,size={_SMALL_TMPFS_MB << 20}"


def _machine(layout: MountLayout, spec: SandboxSpec, system: GuestSystem | None) -> None:
    """Show this machine's programs, as bubblewrap's sandboxes have them."""
    if system is None:
        layout.show(Path("/usr"), "/usr")
        for path in masked_folders():
            layout.show(layout.state / "empty", str(path))
    elif spec.throw_away_root:  # all but what is in it can be written, /usr/local for instance
        for name in system.usr:
            layout.show(system.path / "usr" / name, f"/usr/{name}")
    else:
        layout.show(system.path / "usr", "/usr")
    for source, target in system.data if system else ():
        layout.show(source, target)
    etc = host_etc(systems()) if system is None else system.path / "etc"
    layout.show(etc, ETC if spec.throw_away_root else "/etc")  # from where the supervisor copies it


def _names(layout: MountLayout, spec: SandboxSpec, control: Path) -> None:
    """Show who the machine is; a guest that may write beside its mounts gets files of its own."""
    folder = made = host_etc(systems())
    if spec.throw_away_root:
        folder = control.with_name(f"{control.name}-etc")
        folder.mkdir(mode=0o755)
        for name in _ENGINE_FILES:
            shutil.copyfile(made / name, folder / name)
            (folder / name).chmod(0o666)  # the guest's number may be another one than ours
    for name in _ENGINE_FILES:
        layout.show(folder / name, f"/etc/{name}", writable=spec.throw_away_root)


def _accounts(layout: MountLayout, spec: SandboxSpec, base: Base, guest: Guest, state: Path) -> None:
    """Name the guest: neither every image nor our own /etc knows its number, and Podman would name it itself."""
    if guest.number == 0 and not base.is_ours:
        return
    folder = state / f"accounts-{spec.user}-{guest.number}"
    if not folder.is_dir():
        folder.mkdir(mode=0o755)
        for name, text in accounts(spec, guest):
            (folder / name).write_text(text)
    for name in _ACCOUNTS:
        layout.show(folder / name, f"/etc/{name}")


def accounts(spec: SandboxSpec, guest: Guest) -> Iterator[tuple[str, str]]:
    """Yield name and content of the files that list accounts, the guest's first."""
    name = "root" if spec.user == "root" else "user"
    for file, own, number in (
        ("passwd", f"{name}:x:{guest.number}:{guest.group}:{name}:{HOME}:/bin/sh\n", guest.number),
        ("group", f"{name}:x:{guest.group}:\n", guest.group),
    ):
        others = [
            line
            for line in GENERATED_ETC[file].splitlines(keepends=True)
            if not line.startswith(f"{name}:") and int(line.split(":")[2]) != number
        ]
        yield file, own + "".join(others)


def _supervisor(layout: MountLayout, control: Path) -> None:
    state = layout.state
    layout.show(state / "lib", _LIBRARIES)
    layout.show(state / "filter", _FILTER)
    layout.show(control, CONTROL)
    for source, target in supervisor_mounts(state):
        layout.show(source, target)


def _make_places(layout: MountLayout, spec: SandboxSpec) -> None:
    """Make the places of mounts inside folders of ours, as ourselves: the engine would make them as root."""
    for mount in spec.mounts:
        around = [target for target in layout.mounts if mount.target.startswith(f"{target}/")]
        target = max(around, key=len, default="")
        source, writable = layout.mounts.get(target, (Path(), False))
        if not writable and target != _CLOSED:
            continue
        place = source / mount.target[len(target) + 1 :]
        if mount.source.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
