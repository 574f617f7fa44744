"""What a guest sees: the arguments that make bubblewrap compose it.

A fixed list of programs (`system`), or the host's /usr without what its users installed, a generated /etc, an
interpreter for the supervisor, private /tmp, /home/user and /dev/shm of limited size, the workspace and the mounts
asked for. Nothing of the host's homes, /root, /var, /opt, /run and /srv, no site-packages, no credentials.
"""

import contextlib
import functools
import hashlib
import os
import posixpath
import re
import resource
import shutil
import stat
import sys
import sysconfig
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

from groundup.domain.errors import SandboxError, SubmissionError, UsageError
from groundup.sandbox.host_state import systems
from groundup.sandbox.launcher.wire import CONTROL, FILTER, INFO, OPEN_FILES, STAGE
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.sandbox.seccomp import guest_filter
from groundup.sandbox.system import GuestSystem, kept, period

HOME = "/home/user"
INSIDE = "/.groundup"
"""Where the supervisor and its interpreter are seen."""
PYTHON = f"{INSIDE}/python/bin/python3"
ETC = f"{INSIDE}/etc"
_MASKED = (
    "usr/local",
    "usr/lib*/python*/dist-packages",
    "usr/lib*/python*/site-packages",
    "usr/share/python-wheels",
)
_HARMLESS_ETC = (
    "alternatives", "fonts", "java-*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "magic", "maven/logging",
    "maven/m2.conf", "mime.types",
)  # fmt: skip
"""What programs of the host's own /usr need."""
_SERVICES = (
    ("echo", 7), ("discard", 9), ("daytime", 13), ("ftp-data", 20), ("ftp", 21), ("ssh", 22), ("telnet", 23),
    ("smtp", 25), ("time", 37), ("domain", 53), ("tftp", 69), ("gopher", 70), ("finger", 79), ("http", 80),
    ("kerberos", 88), ("pop3", 110), ("sunrpc", 111), ("nntp", 119), ("ntp", 123), ("imap2", 143), ("snmp", 161),
    ("irc", 194), ("ldap", 389), ("https", 443), ("submissions", 465), ("syslog", 514), ("submission", 587),
    ("ldaps", 636), ("imaps", 993), ("pop3s", 995), ("mysql", 3306), ("postgresql", 5432), ("amqp", 5672),
    ("redis", 6379), ("http-alt", 8080),
)  # fmt: skip
GENERATED_ETC = {
    "passwd": "root:x:0:0:root:/home/user:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost groundup\n::1 localhost\n",
    "hostname": "groundup\n",
    "host.conf": "multi on\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
    "resolv.conf": "",
    "shells": "/bin/sh\n/bin/bash\n",
    "timezone": "Etc/UTC\n",
    "protocols": "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6 41 IPv6\nipv6-icmp 58 IPv6-ICMP\n",
    "services": "".join(f"{name} {port}/tcp\n{name} {port}/udp\n" for name, port in _SERVICES),
}
ROOT_FOLDERS = (
    "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/usr/local/bin", "/usr/local/etc", "/usr/local/include",
    "/usr/local/lib", "/usr/local/sbin", "/usr/local/share", "/var/backups", "/var/cache", "/var/lib",
    "/var/local", "/var/log", "/var/mail", "/var/opt", "/var/spool",
)  # fmt: skip
"""What a container's root file system has, besides what is made in any case."""
_SMALL_TMPFS_MB = 16
_DATA_FACTOR = 4
"""Writable memory that one process may map, in memory limits: unused stacks of threads count, too."""
_RESERVED = ("/", "/proc", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", INSIDE, WORKSPACE)


def base_environment(spec: SandboxSpec) -> dict[str, str]:
    """Return the variables of every command in a sandbox."""
    return {
        "PATH": ":".join((*spec.path, "/usr/bin", "/bin")),
        "HOME": HOME,
        "USER": "root" if spec.user == "root" else "user",
        "LANG": "C.UTF-8",
        **spec.environment,
    }


def host_etc(shared: Path) -> Path:
    """Return a guest's /etc for the host's own /usr, which is kept below *shared*."""

    def fill(room: Path) -> None:
        write_etc(room)
        for source in _harmless():
            _copy(source, room / source.relative_to("/etc"))

    return kept(shared / _host_etc_digest(period()), "hosts", fill)


def _harmless() -> list[Path]:
    return [source for name in _HARMLESS_ETC for source in Path("/etc").glob(name)]


@functools.lru_cache(maxsize=1)
def _host_etc_digest(when: str) -> str:
    paths = sorted(path for source in _harmless() for path in (source, *source.rglob("*")))
    stamps = [when, repr(GENERATED_ETC), *(f"{path} {path.lstat().st_mtime_ns}" for path in paths)]
    return hashlib.sha256("\0".join(stamps).encode()).hexdigest()[:16]


def write_etc(folder: Path) -> None:
    """Fill *folder* with a guest's /etc, the same on every machine; everything in it is readable by all users."""
    folder.mkdir(mode=0o755)
    for name, text in GENERATED_ETC.items():
        (folder / name).write_text(text)
    (folder / "localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    (folder / "ssl" / "certs").mkdir(parents=True)
    try:
        import certifi
    except ImportError:
        return
    bundle = folder / "ssl" / "certs" / "ca-certificates.crt"
    bundle.write_bytes(Path(certifi.where()).read_bytes())


def _copy(source: Path, target: Path) -> None:
    """Copy what can be read; copies are one mount less for every sandbox than binding."""
    target.parent.mkdir(exist_ok=True)
    with contextlib.suppress(OSError):  # including those of single files that only their owner may read
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target, follow_symlinks=False)


class Composition:
    """Collects bubblewrap's arguments and the host files and folders that they name."""

    def __init__(self, state: Path, *, staged: bool) -> None:
        self.sources: dict[str, Path] = {}
        self.command: list[str] = []
        self._names: dict[Path, str] = {}
        self._arguments: list[str] = []
        self._state = state
        self._staged = staged

    def source(self, path: Path) -> str:
        """Return how bubblewrap will find *path*."""
        path = path.absolute()
        if not self._staged:
            return str(path)
        if path not in self._names:
            self._names[path] = str(len(self.sources))
            self.sources[self._names[path]] = path
        return f"{STAGE}/{self._names[path]}"

    def program(self, path: Path, libraries: Path) -> str:
        """Return how to execute *path*, which finds the folder *libraries* beside its own grandparent."""
        if not self._staged or not libraries.is_dir():
            return str(path)
        self.sources[libraries.name] = libraries
        folder = path.parents[1]
        return f"{self.source(folder)}/{path.relative_to(folder)}"

    def add(self, *arguments: str | int) -> None:
        self._arguments += map(str, arguments)

    def read_only(self, path: Path, target: str) -> None:
        """Show the host's *path* at *target*."""
        self.add("--ro-bind", self.source(path), target)

    def packed(self) -> bytes:
        return os.fsencode("\0".join(self._arguments) + "\0")


def compose(
    spec: SandboxSpec,
    state: Path,
    system: GuestSystem | None,
    *,
    staged: bool,
    shared_network: bool,
    controllers: Collection[str],
) -> Composition:
    """Return what makes the sandbox of *spec*, with *system* or with the host's.

    Raises `UsageError`, `SubmissionError` and `SandboxError`.
    """
    # What comes later lies over what came before, so the order is part of the policy: the system, /proc and /dev,
    # what the guest may write, the mounts asked for, and the root read-only at last.
    box = Composition(state, staged=staged)
    number = 0 if spec.user == "root" else 1000
    # No user namespaces inside: they give every user the kernel's whole surface. A new session cannot type into
    # the terminal. The supervisor is process 1, so its end is the end of all.
    box.add("--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--as-pid-1")
    if shared_network:
        # The child enters the pod's network before it becomes bubblewrap, see `launcher.spawning`.
        box.add("--share-net")
    box.add("--cap-drop", "ALL", "--uid", number, "--gid", number, "--hostname", "groundup", "--info-fd", INFO)
    if spec.throw_away_root:
        box.add("--size", spec.limits.disk_mb * 2**20, "--tmpfs", "/", "--dir", "/usr")
    if spec.root is not None:
        _image_system(box, spec, spec.root)
    elif system is None:
        _host_system(box, state)
    else:
        _listed_system(box, system, spec)
    if spec.root is None:
        _etc(box, host_etc(systems()) if system is None else system.path / "etc", spec)
    box.add("--proc", "/proc", "--dev", "/dev")
    _supervisor(box, spec, state, controllers)
    if spec.root is not None and system is not None:
        _own_loader(box, system)
    _private(box, spec)
    box.add("--bind", box.source(spec.workspace), WORKSPACE)
    for mount in spec.mounts:
        check_mount(mount, spec)
        box.add("--bind" if mount.writable else "--ro-bind", box.source(mount.source), mount.target)
    if not spec.throw_away_root:
        box.add("--remount-ro", "/")
    box.add("--chdir", "/")
    if guest_filter():
        box.add("--seccomp", FILTER)
    return box


def check_mount(mount: Mount, spec: SandboxSpec) -> None:
    """Raise when *mount* cannot or must not be made."""
    target = mount.target
    if not target.startswith("/") or posixpath.normpath(target) != target or target in _RESERVED:
        raise UsageError(
            f"cannot mount at {target!r}: choose an absolute, plain path that the sandbox does not use"
        )
    if target.startswith(f"{INSIDE}/"):
        raise UsageError(f"cannot mount at {target!r}: {INSIDE} is the supervisor's")
    if not mount.source.exists():
        raise SandboxError(f"cannot mount {mount.source}: it does not exist; build or fetch it again")
    _check_no_links(target, spec)


def _check_no_links(target: str, spec: SandboxSpec) -> None:
    """A link in a stranger's tree must not lead a mount astray."""
    if not target.startswith(f"{WORKSPACE}/"):
        return
    place = spec.workspace
    for part in Path(target).relative_to(WORKSPACE).parts:
        place = place / part
        try:
            status = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        if stat.S_ISLNK(status.st_mode):
            raise SubmissionError(f"cannot mount at {target!r}: the submission has a symbolic link in its place")


@functools.cache
def masked_folders() -> tuple[Path, ...]:
    """Return the folders of the host's /usr that a guest finds empty: locally installed programs."""
    found = (path for pattern in _MASKED for path in sorted(Path("/").glob(pattern)))
    return tuple(path for path in found if path.is_dir() and not path.is_symlink())


@functools.cache
def _beside_usr() -> tuple[tuple[Path, str | None], ...]:
    """Return the folders of programs and libraries in the host's root, and where those lead that are links."""
    paths = [Path("/", name) for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32")]
    links = {path: str(path.readlink()) for path in paths if path.is_symlink()}
    return tuple((path, links.get(path)) for path in paths if path in links or path.is_dir())


def _host_system(box: Composition, state: Path) -> None:
    box.read_only(Path("/usr"), "/usr")
    for path in masked_folders():
        box.read_only(state / "empty", str(path))
    for path, target in _beside_usr():
        if target is not None:
            box.add("--symlink", target, str(path))
        else:
            box.read_only(path, str(path))


def _listed_system(box: Composition, system: GuestSystem, spec: SandboxSpec) -> None:
    if spec.throw_away_root:  # all but what is in it can be written, /usr/local for instance
        for name in system.usr:
            box.read_only(system.path / "usr" / name, f"/usr/{name}")
    else:
        box.read_only(system.path / "usr", "/usr")
    for source, target in system.data:
        box.read_only(source, target)
    for name in system.links:
        box.add("--symlink", f"usr/{name}", f"/{name}")


_NOT_OF_IMAGES = frozenset({"proc", "dev", "sys", "run", "tmp", WORKSPACE.strip("/"), INSIDE.strip("/")})
"""What of an image's root is made anew."""


def _image_system(box: Composition, spec: SandboxSpec, root: Path) -> None:
    targets = {PurePosixPath(target) for target in (HOME, *(mount.target for mount in spec.mounts))}
    absent = [target for target in targets if not (root / target.relative_to("/")).exists()]
    lacking = {folder for target in absent for folder in target.parents}
    for path in sorted(root.iterdir()):
        if path.name not in _NOT_OF_IMAGES:
            _show(box, path, PurePosixPath("/", path.name), lacking)
    if (root / "var" / "tmp").is_dir():
        box.add("--perms", "1777", "--tmpfs", "/var/tmp")  # noqa: S108  # the guest's


def _show(box: Composition, path: Path, place: PurePosixPath, lacking: Collection[PurePosixPath]) -> None:
    """Show *path* of an image; a folder that lacks a place for a mount by what is in it, one by one."""
    if path.is_symlink():
        box.add("--symlink", str(path.readlink()), str(place))
    elif place in lacking and path.is_dir():
        box.add("--dir", str(place))
        for inner in sorted(path.iterdir()):
            _show(box, inner, place / inner.name, lacking)
    else:
        box.read_only(path, str(place))


def _own_loader(box: Composition, system: GuestSystem) -> None:
    """Start the supervisor's interpreter with libraries of its own, whatever C library the image has."""
    box.read_only(system.path / "usr", f"{INSIDE}/usr")
    loader = next((system.path / "usr" / "lib64").glob("ld-linux*"), None)
    if loader is not None:
        folders = (system.path / "etc/ld.so.conf").read_text().split()
        places = [f"{INSIDE}/python/lib", *(f"{INSIDE}{folder}" for folder in folders)]
        box.command[:0] = [f"{INSIDE}/usr/lib64/{loader.name}", "--library-path", ":".join(places)]


def _etc(box: Composition, etc: Path, spec: SandboxSpec) -> None:
    if not spec.throw_away_root:
        box.read_only(etc, "/etc")
        return
    box.read_only(etc, ETC)  # from where the supervisor copies it
    for folder in ROOT_FOLDERS:
        if spec.system == "listed" or not folder.startswith("/usr/"):
            box.add("--dir", folder)


def _private(box: Composition, spec: SandboxSpec) -> None:
    disk = spec.limits.disk_mb * 2**20
    shm = min(disk, max(spec.limits.memory_mb * 2**20 // 2, 2**20))
    box.add("--perms", "1777", "--size", shm, "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108  # the guest's
    box.add("--perms", "1777", "--size", disk, "--tmpfs", "/tmp")  # noqa: S108  # the guest's
    box.add("--perms", "0755", "--size", disk, "--tmpfs", HOME)
    box.add("--perms", "1777", "--size", _SMALL_TMPFS_MB * 2**20, "--tmpfs", "/run")
    if spec.root is None or not (spec.root / "var").exists():
        box.add("--dir", "/var", "--symlink", "/tmp", "/var/tmp", "--symlink", "/run", "/var/run")  # noqa: S108  # the guest's


def _supervisor(box: Composition, spec: SandboxSpec, state: Path, controllers: Collection[str]) -> None:
    for source, target in supervisor_mounts(state):
        box.read_only(source, target)
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        box.add("--setenv", "LD_LIBRARY_PATH", f"{INSIDE}/python/lib")
    box.command = [PYTHON, "-I", "-S", "-E", "-B", f"{INSIDE}/supervisor.pyc", str(CONTROL)]
    if spec.throw_away_root:
        box.command.append(f"{ETC}=/etc")
    box.command += [
        *niceness(),
        *(f"{kind}={value}" for kind, value in resource_limits(spec, controllers).items()),
    ]


def niceness() -> tuple[str, ...]:
    """Return how nice commands are, for the supervisor: as much as groundup itself, which may run under `nice`."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    return (f"nice={own}",) if own > 0 else ()


@functools.lru_cache(maxsize=1)
def supervisor_mounts(state: Path) -> tuple[tuple[Path, str], ...]:
    """Return what the supervisor and its interpreter need inside, host path and target; packages are hidden."""
    library = f"{sys.platlibdir}/python{sys.version_info.major}.{sys.version_info.minor}"
    hidden = [
        f"{library}/{name}"
        for name in ("site-packages", "dist-packages", "ensurepip")
        if (Path(sys.base_prefix) / library / name).is_dir()
    ]
    return (
        (state / "supervisor.pyc", f"{INSIDE}/supervisor.pyc"),
        *((source, f"{INSIDE}/python/{name}") for source, name in interpreter_parts()),
        *((state / "empty", f"{INSIDE}/python/{name}") for name in hidden),
    )


@functools.cache
def interpreter_parts() -> tuple[tuple[Path, str], ...]:
    """Return what the supervisor's interpreter consists of: host path and place below its prefix."""
    prefix = Path(sys.base_prefix)
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if prefix in (Path("/usr"), Path("/usr/local")):
        parts = [(prefix / sys.platlibdir / version, f"{sys.platlibdir}/{version}")]
        if sys.platlibdir != "lib" and (prefix / "lib" / version).is_dir():
            parts.append((prefix / "lib" / version, f"lib/{version}"))
        shared = sysconfig.get_config_var("INSTSONAME") if sysconfig.get_config_var("Py_ENABLE_SHARED") else None
        folder = sysconfig.get_config_var("LIBDIR")
        if shared and folder and (Path(folder) / shared).is_file():
            parts.append((Path(folder) / shared, f"lib/{shared}"))
    else:
        parts = [(prefix / "lib", "lib")]
    return ((executable, "bin/python3"), *parts)


def resource_limits(spec: SandboxSpec, controllers: Collection[str]) -> Mapping[int, int]:
    """Return the rlimits of every command, where it may have as much; what a control group limits needs none."""
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: OPEN_FILES}
    if spec.system == "listed":
        # The host's tools may be .NET 7 to 9, which ask for 2 TiB of address space in a file of memory and die
        # where no file may be so large. The watcher of disks sees what such a file really holds.
        limits[resource.RLIMIT_FSIZE] = spec.limits.disk_mb * 2**20
    if "memory" not in controllers:
        limits[resource.RLIMIT_DATA] = _DATA_FACTOR * spec.limits.memory_mb * 2**20
    if "pids" not in controllers and _counts_per_namespace():
        limits[resource.RLIMIT_NPROC] = spec.limits.processes + 1
    return limits


def _counts_per_namespace() -> bool:
    """Whether RLIMIT_NPROC counts a namespace's processes only (Linux 5.14), or users are never shared."""
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    return os.geteuid() == 0 or release >= (5, 14)
