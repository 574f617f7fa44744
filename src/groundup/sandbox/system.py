"""The guest's system: a fixed list of programs, the libraries they need, and nothing else of the machine.

The list is what a container of `python:3.10-slim` with `curl`, `procps` and `netcat-openbsd` has, without what
administers a machine. Its programs are copied from the host with the closure of their shared libraries, once per
state of the host, into a folder that sandboxes see read-only; large folders of data are shown as they are. So what
else is installed here decides nothing.
"""

import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from groundup.inside import netcat, source_of

_MAGIC = b"\x7fELF\x02"
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29


class SharedLibraries:
    """Finds shared libraries as this machine's dynamic linker does."""

    def __init__(self) -> None:
        machine = platform.machine()
        places = (f"/lib/{machine}-linux-gnu", f"/usr/lib/{machine}-linux-gnu", "/lib64", "/usr/lib64", "/lib")
        self.folders = tuple(Path(place) for place in (*places, "/usr/lib") if Path(place).is_dir())

    def matching(self, pattern: str) -> Iterator[Path]:
        """Yield the libraries by a pattern of their file names, each name once."""
        seen = set()
        for folder in self.folders:
            for path in sorted(folder.glob(pattern)):
                if path.name not in seen and is_elf(path):
                    seen.add(path.name)
                    yield path

    def closure(self, files: "list[Path]") -> set[Path]:
        """Return all libraries that *files* need, and the dynamic linker."""
        found: set[Path] = set()
        waiting = list(files)
        while waiting:
            file = waiting.pop()
            for path in self._needed_by(file):
                if path not in found:
                    found.add(path)
                    waiting.append(path)
        return found

    def _needed_by(self, file: Path) -> Iterator[Path]:
        names, places, interpreter = read_dynamic(file)
        if interpreter is not None:
            yield interpreter
        own = [Path(place.replace("$ORIGIN", str(file.resolve().parent))) for place in places]
        for name in names:
            candidates = (folder / name for folder in (*own, *self.folders))
            path = next((path for path in candidates if is_elf(path)), None)
            if path is not None:
                yield path


def is_elf(path: Path) -> bool:
    """Whether it is a program or library for 64 bits."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_dynamic(path: Path) -> tuple[list[str], list[str], Path | None]:
    """Return names of needed libraries, folders where they are looked for first, and the dynamic linker."""
    try:
        data = path.read_bytes()
    except OSError:
        return [], [], None
    if not data.startswith(_MAGIC):
        return [], [], None
    order = "<" if data[5] == 1 else ">"
    (start,) = struct.unpack_from(f"{order}Q", data, 32)
    size, count = struct.unpack_from(f"{order}HH", data, 54)
    segments = [struct.unpack_from(f"{order}IIQQQQ", data, start + number * size) for number in range(count)]
    loads = [(address, offset, length) for kind, _, offset, address, _, length in segments if kind == _LOAD]
    entries: list[tuple[int, int]] = []
    interpreter = None
    for kind, _, offset, _, _, length in segments:
        if kind == _INTERPRETER:
            interpreter = Path(os.fsdecode(data[offset : offset + length].rstrip(b"\0")))
        if kind == _DYNAMIC:
            entries = list(struct.iter_unpack(f"{order}qQ", data[offset : offset + length // 16 * 16]))
    tags = dict(entries)
    table = next(
        (tags[_STRINGS] - at + place for at, place, length in loads if at <= tags.get(_STRINGS, -1) < at + length),
        0,
    )

    def text(at: int) -> str:
        return os.fsdecode(data[table + at : data.index(b"\0", table + at)])

    names = [text(value) for tag, value in entries if tag == _NEEDED]
    places = [place for tag, value in entries if tag in (_RPATH, _RUNPATH) for place in text(value).split(":")]
    return names, [place for place in places if place], interpreter


LIST_VERSION = "1"
"""Changes with the list, and so with what a submission can use."""
PROGRAMS: Mapping[str, str] = {
    "bash": "bash",
    "dash": "sh",
    "coreutils": "[ arch b2sum base32 base64 basename basenc cat chgrp chmod chown chroot cksum comm cp csplit "
    "cut date dd df dir dircolors dirname du echo env expand expr factor false fmt fold groups head hostid id "
    "install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste "
    "pathchk pinky pr printenv printf ptx pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum "
    "sha384sum sha512sum shred shuf sleep sort split stat stdbuf stty sum sync tac tail tee test timeout touch tr "
    "true truncate tsort tty uname unexpand uniq unlink users vdir wc who whoami yes",
    "debianutils": "run-parts which",
    "diffutils": "cmp diff diff3 sdiff",
    "findutils": "find xargs",
    "grep": "egrep fgrep grep",
    "gzip": "gunzip gzip zcat zgrep",
    "hostname": "hostname",
    "libc-bin": "getconf getent iconv ldconfig ldd locale",
    "mawk": "awk",
    "ncurses-bin": "clear tput",
    "openssl": "openssl",
    "passwd": "passwd",
    "perl-base": "perl",
    "procps": "free kill pgrep pidwait pkill pmap ps pwdx slabtop snice sysctl tload top uptime vmstat w watch",
    "sed": "sed",
    "sysvinit-utils": "pidof",
    "tar": "tar",
    "util-linux": "flock getopt ionice last logger lscpu mcookie more mountpoint namei prlimit renice rev runuser "
    "script setpriv setsid su taskset whereis",
    "curl": "curl",
}
"""Package of Debian -> its programs that guests have. `nc` and `netcat` are our own."""
_SMALL = ("lib*/*/perl-base", "lib/locale/C.utf8", "lib/locale/C.UTF-8", "lib/ssl")
"""Folders of data below /usr that are copied: a mount of each would cost more."""
_FOLDERS = ("lib*/*/gconv", "lib/terminfo", "share/zoneinfo")
"""Folders of data below /usr that are shown as they are on the host."""
_LIBRARIES = (
    "ld-linux*.so.*", "libanl.so.*", "libbz2.so.*", "libc.so.6", "libcrypt.so.*", "libcrypto.so.*", "libdb-5.*.so",
    "libdl.so.2", "libexpat.so.1", "libffi.so.*", "libgcc_s.so.1", "libgdbm.so.*", "libgdbm_compat.so.*",
    "liblzma.so.5", "libm.so.6", "libmvec.so.1", "libncurses.so.*", "libncursesw.so.*", "libnsl.so.*",
    "libnss_compat.so.2", "libnss_dns.so.2", "libnss_files.so.2", "libpanel.so.*", "libpanelw.so.*",
    "libpthread.so.0", "libreadline.so.*", "libresolv.so.2", "librt.so.1", "libsqlite3.so.0", "libssl.so.*",
    "libstdc++.so.6", "libtcl8.*.so*", "libtinfo.so.*", "libtk8.*.so*", "libtirpc.so.*", "libutil.so.1",
    "libuuid.so.1", "libz.so.1",
)  # fmt: skip
"""Shared libraries that interpreters and wheels may load, besides those that the programs need."""
_SBIN = ("chroot", "ldconfig", "runuser", "sysctl")
"""Those that lie in /usr/sbin; all others lie in /usr/bin."""
_OWN = ("nc", "netcat")
_PLACES = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
_LINKED = ("bin", "sbin", "lib", "lib64")
_FRESH_S, _KEEP_S, _ROOM_S = 3 * 24 * 3600.0, 9 * 24 * 3600.0, 3600.0
_LDCONFIG_S = 60.0


class GuestSystem:
    """A composed view: the folders `usr` and `etc` below *path*, and data of the host to be shown in `usr`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = tuple((source, f"/{place}") for place, source in _data(_FOLDERS) if (path / place).is_dir())
        self.usr = tuple(sorted(folder.name for folder in (path / "usr").iterdir()))
        self.links = tuple(name for name in _LINKED if name in self.usr)


@functools.cache
def missing_programs() -> dict[str, tuple[str, ...]]:
    """Return the listed programs that this machine lacks, by the package of Debian that has them."""
    lacking = {
        package: tuple(name for name in names.split() if _host_program(name) is None)
        for package, names in PROGRAMS.items()
    }
    return {package: names for package, names in lacking.items() if names}


def guest_system(state: Path, write_etc: Callable[[Path], None], bubblewrap: Path) -> GuestSystem:
    """Return the view of this machine as it is now; it is composed below *state* when it is not there yet."""
    return GuestSystem(kept(state / _digest(), "usr", lambda room: _compose(room, write_etc, bubblewrap)))


def kept(folder: Path, witness: str, compose: Callable[[Path], None]) -> Path:
    """Return *folder*, which is named by a digest; *compose* makes it where *witness* is not in it yet."""
    if not (folder / witness).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        room = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
        try:
            _forget_old(folder.parent)
            compose(room)
            with contextlib.suppress(FileExistsError, OSError):  # another process was first
                room.rename(folder)
        finally:
            shutil.rmtree(room, ignore_errors=True)
    return folder


def period() -> str:
    """Name these days: programs that clean temporary folders remove what is old, so what is kept is made anew."""
    return str(int(time.time() / _FRESH_S))


def _digest() -> str:
    """Name the list and the state of the folders of which it is made: installing anything changes these."""
    stamps = [
        LIST_VERSION,
        period(),
        repr(PROGRAMS),
        repr((_SMALL, _FOLDERS, _LIBRARIES)),
        source_of("netcat.py").decode(),
    ]
    for place in (*map(Path, _PLACES), *SharedLibraries().folders, Path("/etc/alternatives")):
        with contextlib.suppress(OSError):
            stamps.append(f"{place} {place.stat().st_mtime_ns}")
    return hashlib.sha256("\0".join(stamps).encode()).hexdigest()[:16]


def _forget_old(folder: Path) -> None:
    """Remove views that no program can use any more, and what killed programs left."""
    for path in folder.iterdir():
        if not re.fullmatch(r"[0-9a-f]{16}|\.[0-9a-f]{16}-[0-9a-f]{8}", path.name):
            continue
        with contextlib.suppress(OSError):
            keep_s = _ROOM_S if path.name.startswith(".") else _KEEP_S
            if path.stat().st_mtime < time.time() - keep_s:
                shutil.rmtree(path, ignore_errors=True)


def _compose(room: Path, write_etc: Callable[[Path], None], bubblewrap: Path) -> None:
    libraries = SharedLibraries()
    found = list(listed_programs())
    for folder in ("bin", "sbin", "lib"):
        (room / "usr" / folder).mkdir(parents=True)
    for name, source in found:
        _copy(source, room / name)
    for name in _OWN:
        _write(room / "usr/bin" / name, netcat.WRAPPER)
    (room / "usr/lib/groundup").mkdir()
    _write(room / "usr/lib/groundup/nc.py", source_of("netcat.py").decode())
    small, data = list(_data(_SMALL)), list(_data(_FOLDERS))
    for name, source in small:
        _copy_tree(source, room / name)
    for name, _ in data:
        (room / name).mkdir(parents=True)  # where it is shown
    inner = [path for _, source in small + data for path in source.rglob("*.so*") if is_elf(path)]
    wanted = [path for pattern in _LIBRARIES for path in libraries.matching(pattern)]
    for library in sorted({*wanted, *libraries.closure([source for _, source in found] + wanted + inner)}):
        target = room / _merged(library)
        if not target.exists():
            _copy(library, target)
    write_etc(room / "etc")
    _index(room, bubblewrap)
    for place in (room, *(path for path in room.rglob("*") if path.is_dir() and not path.is_symlink())):
        place.chmod(0o755)


def listed_programs() -> Iterator[tuple[str, Path]]:
    """Yield the place of each listed program below a view, and where it is on this machine."""
    for names in PROGRAMS.values():
        for name in names.split():
            source = _host_program(name)
            if source is not None:
                yield f"usr/{'sbin' if name in _SBIN else 'bin'}/{name}", source


def _host_program(name: str) -> Path | None:
    """Return where the system itself has a program: what users installed elsewhere does not count."""
    paths = (Path(place, name) for place in _PLACES)
    return next((path for path in paths if path.is_file() and os.access(path, os.X_OK)), None)


def _data(patterns: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the places of folders of data below a view, and where they are on the host."""
    for pattern in patterns:
        found = [*Path("/usr").glob(pattern), *Path("/").glob(pattern)]
        places = {str(_merged(source)): source for source in sorted(found) if source.is_dir()}
        yield from places.items()


def _merged(path: Path) -> Path:
    """Return the place of a host's file below a view, where /lib is always /usr/lib."""
    place = (path.parent.resolve() / path.name).relative_to("/")
    if path.parent in (Path("/lib64"), Path("/usr/lib64")):  # where programs look for the dynamic linker
        place = Path("usr/lib64", path.name)
    return place if place.parts[0] == "usr" else Path("usr", place)


def _copy(source: Path, target: Path) -> None:
    """Copy what is behind *source*, executable for all, without the rights of its owner."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    shutil.copystat(source, target)
    target.chmod(0o755 if source.stat().st_mode & stat.S_IXUSR else 0o644)


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a folder of data; links are kept, what only its owner may read is left out."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.is_symlink():
            (target / path.name).symlink_to(path.readlink())
        elif path.is_dir():
            _copy_tree(path, target / path.name)
        elif path.is_file() and os.access(path, os.R_OK):
            _copy(path, target / path.name)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _index(room: Path, bubblewrap: Path) -> None:
    """Let the dynamic linker know where the view's libraries are, and nothing of the host's."""
    folders = sorted({f"/{path.parent.relative_to(room)}" for path in (room / "usr").rglob("lib*.so*")})
    plain = [folder for folder in folders if "/gconv" not in folder and "/perl" not in folder]
    (room / "etc/ld.so.conf").write_text("".join(f"{folder}\n" for folder in plain))
    links = [part for name in _LINKED for part in ("--symlink", f"usr/{name}", f"/{name}")]
    argv = [str(bubblewrap), "--unshare-user", "--unshare-net", "--bind", str(room / "usr"), "/usr", *links]
    argv += ["--bind", str(room / "etc"), "/etc", "--", "/sbin/ldconfig", "-X"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # without it the usual folders are searched
        subprocess.run(argv, env={}, capture_output=True, timeout=_LDCONFIG_S, check=False)
