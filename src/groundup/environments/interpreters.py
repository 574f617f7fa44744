"""Python interpreters of the host: found by uv, remembered, and shown to sandboxes without installed packages.

What decides an answer of uv's is kept with it: variables, configuration, and the folders that a new interpreter
changes. Where that or the interpreter differs, uv is asked. An unusable file costs time, nothing else.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import InfrastructureError, MachineError
from groundup.domain.records import Record
from groundup.environments.installed_tools import programs_of_pyenv, pyenv_roots
from groundup.environments.requests import PYTHON_TARGET
from groundup.registries.uv import uv_program
from groundup.sandbox.programs import ProgramResult, run_program
from groundup.sandbox.protocol import Mount
from groundup.settings import environment
from groundup.store.files import write_atomically

_FIND_S = 120.0
_FETCH_S = 900.0
_SYSTEM_PREFIXES = (Path("/usr"), Path("/usr/local"))
BUNDLED = "ensurepip/_bundled"
"""Where an interpreter keeps the pip that it brings along, in its standard library."""
_PROBE = """
import json, platform, sys, sysconfig
config = sysconfig.get_config_vars()
print(json.dumps({
    "version": platform.python_version(),
    "implementation": platform.python_implementation(),
    "free_threaded": bool(config.get("Py_GIL_DISABLED")),
    "prefix": sys.base_prefix,
    "executable": getattr(sys, "_base_executable", None) or sys.executable,
    "standard_library": [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")],
    "include": sysconfig.get_config_var("INCLUDEPY"),
    "abi": str(config.get("SOABI")),
    "shared_library": [config.get("LIBDIR"), config.get("INSTSONAME")] if config.get("Py_ENABLE_SHARED") else None,
    "packages": sysconfig.get_path("purelib"),
}))
"""


class Interpreter(Record):
    """An interpreter of the host: CPython with its lock, never a virtual environment's."""

    version: str
    prefix: Path
    executable: Path
    standard_library: tuple[Path, ...]
    include: Path | None
    abi: str
    shared_library: Path | None
    packages: Path
    """Where its own pip installs, beside no virtual environment."""

    @property
    def has_pip(self) -> bool:
        return any(self._bundled("pip-*.whl"))

    @property
    def bundled_for_pip(self) -> tuple[str, ...]:
        """What its own pip is installed from: before pip 23 with setuptools, without which no setup.py is run."""
        majors = (one.name.split("-")[1].partition(".")[0] for one in self._bundled("pip-*.whl"))
        is_old = any(int(major) < 23 for major in majors if major.isdigit())
        return ("pip", "setuptools") if is_old and any(self._bundled("setuptools-*.whl")) else ("pip",)

    def _bundled(self, pattern: str) -> Iterator[Path]:
        return (self.standard_library[0] / BUNDLED).glob(pattern)

    @property
    def library_inside(self) -> str:
        """Where its standard library is seen inside a sandbox."""
        return f"{PYTHON_TARGET}/{self.standard_library[0].relative_to(self.prefix)}"

    @property
    def packages_inside(self) -> str | None:
        """Where `packages` is seen inside a sandbox: Debian's are in `local` below its prefix. None: nowhere."""
        inside = self.packages.is_relative_to(self.prefix)
        return f"{PYTHON_TARGET}/{self.packages.relative_to(self.prefix)}" if inside else None

    @property
    def inside(self) -> str:
        """Where its program is seen inside a sandbox."""
        minor = ".".join(self.version.split(".")[:2])
        return f"{PYTHON_TARGET}/bin/python{minor}"


class _Probed(Record):
    version: str
    implementation: str
    free_threaded: bool
    prefix: Path
    executable: Path
    standard_library: list[Path]
    include: Path | None
    abi: str
    shared_library: tuple[Path, Path] | None
    packages: Path


async def find_interpreter(minor: str, fetched: Path) -> Interpreter:
    """Return a CPython *minor* (`3.11`): one that is here, else one that uv fetches into the folder *fetched*.

    Raises `InfrastructureError` with what to do.
    """
    return await present_interpreter(minor, fetched) or await _fetch(minor, fetched)


_ASK_AGAIN_S = 300.0
_in_vain: dict[tuple[str, str], tuple[float, str]] = {}
"""When this process failed to fetch a minor version by which variables, and why: each try costs uv 8 s."""


async def _fetch(minor: str, fetched: Path) -> Interpreter:
    key = minor, digest_of(_chosen(environment()))
    if key in _in_vain and time.monotonic() - _in_vain[key][0] < _ASK_AGAIN_S:
        raise MachineError(_in_vain[key][1])
    try:
        return await _fetched(minor, fetched)
    except MachineError as error:
        _in_vain[key] = time.monotonic(), str(error)
        raise


async def _fetched(minor: str, fetched: Path) -> Interpreter:
    own, inside_cache = _variables(fetched)
    result = await _uv(["python", "install", f"cpython@{minor}"], {**environment(), **inside_cache}, _FETCH_S)
    found = await _found(minor, own | inside_cache) if result.ok else None
    if found is None:
        raise MachineError(
            f"Python {minor} is not on this machine, and uv could not fetch it ({_last_words(result)}); install "
            f"python{minor} by the system's packages or pyenv and put it on PATH, or name a copy of uv's builds "
            "in UV_PYTHON_INSTALL_MIRROR (an https:// address, or file:// and a folder), and run again; "
            f"{stand_in_advice()}"
        )
    return found


def stand_in_advice() -> str:
    """Return how the interpreter that runs groundup takes the place of one that is missing."""
    return f"or say `--python {running_minor()}`: that one stands in, which each verdict then says"


def running_minor() -> str:
    """Return the minor version of the interpreter that runs groundup."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


async def present_interpreter(minor: str, fetched: Path) -> Interpreter | None:
    """Return a CPython *minor* that is on this machine, in the folder *fetched* included.

    First those that uv finds, then those that pyenv installed without activating, then the one that runs groundup.
    """
    own, inside_cache = _variables(fetched)
    places = [own, *([own | inside_cache] if fetched.is_dir() else [])]
    places += [own | {"PATH": f"{folder}:{own.get('PATH', '')}"} for folder in pyenv_folders(minor, own)]
    for variables in places:
        found = await _found(minor, variables)
        if found:
            return found
    return await probed(Path(sys.executable), minor, own)  # it need not be on PATH


def _variables(fetched: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return uv's environment for looking, and what makes it use the folder *fetched*."""
    own = {**environment(), "UV_PYTHON_DOWNLOADS": "never"}
    return own, {"UV_PYTHON_INSTALL_DIR": str(fetched), "UV_PYTHON_INSTALL_BIN": "0"}


def pyenv_folders(minor: str, variables: Mapping[str, str]) -> list[Path]:
    """Return where pyenv keeps programs of *minor*, newest first. Its shims answer for activated versions only."""
    found = {}
    for root in pyenv_roots(variables):
        for folder in programs_of_pyenv(root, minor):
            micro = folder.parent.name.rpartition(".")[2]
            if micro.isdigit():
                found[folder] = int(micro)
    return sorted(found, key=lambda folder: found[folder], reverse=True)


def interpreter_mounts(interpreter: Interpreter, empty: Path) -> tuple[Mount, ...]:
    """Return what shows *interpreter* at `PYTHON_TARGET`, its site-packages hidden behind the folder *empty*."""
    shown = [(interpreter.executable, Path(interpreter.inside).relative_to(PYTHON_TARGET))]
    shown += [(folder, folder.relative_to(interpreter.prefix)) for folder in _folders(interpreter)]
    mounts = [Mount(source=source, target=f"{PYTHON_TARGET}/{target}") for source, target in shown]
    library = interpreter.shared_library
    if library and library.is_file() and interpreter.prefix not in _SYSTEM_PREFIXES:
        # Its program may look for it where it was installed, and would else take the system's of another version.
        mounts.append(Mount(source=library.resolve(), target=str(library)))
    hidden = [path for folder in _folders(interpreter) for path in _installed(folder)]
    mounts += [
        Mount(source=empty, target=f"{PYTHON_TARGET}/{path.relative_to(interpreter.prefix)}") for path in hidden
    ]
    return tuple(mounts)


def _folders(interpreter: Interpreter) -> Iterator[Path]:
    """Yield the parts of the prefix to show: of the system's, which holds everything, only what is Python's."""
    prefix = interpreter.prefix
    if prefix in _SYSTEM_PREFIXES:
        parts = [*interpreter.standard_library, *sorted((prefix / "lib").glob("libpython3*.so*"))]
    else:
        parts = [prefix / "lib", prefix / "lib64"]
    if interpreter.include:
        parts.append(interpreter.include)
    seen = set()
    for part in parts:
        if part.exists() and not part.is_symlink() and part.is_relative_to(prefix) and part not in seen:
            seen.add(part)
            yield part


def _installed(folder: Path) -> Iterator[Path]:
    """Yield the folders below *folder* that hold installed programs."""
    patterns = ("site-packages", "dist-packages", "python3*/site-packages", "python3*/dist-packages")
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            # A link leads outside of what is shown, or to another folder that is hidden itself.
            if path.is_dir() and not path.is_symlink() and not path.parent.is_symlink():
                yield path


async def _found(minor: str, variables: dict[str, str]) -> Interpreter | None:
    arguments = ["python", "find", f"cpython@{minor}", "--system", "--no-project"]
    result = await _uv(arguments, variables, _FIND_S)
    if b"(os error" in result.stderr:  # such as for a cache in a home that cannot be written
        result = await _uv([*arguments, "--no-cache"], variables, _FIND_S)
    path = result.stdout.decode(errors="replace").strip()
    return await probed(Path(path), minor, variables) if result.ok and path else None


async def probed(path: Path, minor: str, variables: dict[str, str]) -> Interpreter | None:
    """Return the interpreter behind *path*; None when it is another version or kind.

    Raises `InfrastructureError` for one that does not answer.
    """
    probe = await run_program(
        [path, "-I", "-S", "-c", _PROBE], cwd=Path("/"), environment=variables, timeout_s=_FIND_S
    )
    try:
        probed = _Probed.model_validate_json(probe.stdout)
    except ValidationError as error:
        raise InfrastructureError(
            f"the interpreter {path} does not answer ({_last_words(probe)}); mend it or take it off PATH"
        ) from error
    if probed.implementation != "CPython" or probed.free_threaded or not probed.version.startswith(f"{minor}."):
        return None
    if place := _unreadable(probed):
        raise InfrastructureError(
            f"the interpreter {path} names {place}, which cannot be read; give it to this user or take it off PATH"
        )
    executable = probed.prefix / "bin" / f"python{minor}"
    return Interpreter(
        version=probed.version,
        prefix=probed.prefix,
        executable=(executable if executable.is_file() else probed.executable).resolve(),
        standard_library=tuple(dict.fromkeys(probed.standard_library)),
        include=probed.include,
        abi=probed.abi,
        shared_library=Path(*probed.shared_library) if probed.shared_library else None,
        packages=probed.packages,
    )


def _unreadable(probed: _Probed) -> Path | None:
    """Return the first folder of an interpreter that this user may not read, such as one in another's home."""
    places: list[Path] = [*probed.standard_library, *([probed.include] if probed.include else [])]
    for place in places + ([probed.shared_library[0]] if probed.shared_library else []):
        try:
            place.stat()
        except PermissionError:
            return place
        except OSError:  # it is not there, which is for others to judge
            continue
        if place.is_dir() and not os.access(place, os.R_OK | os.X_OK):
            return place
    return None


async def _uv(arguments: list[str], variables: dict[str, str], timeout_s: float) -> ProgramResult:
    return await run_program([uv_program(), *arguments], cwd=Path("/"), environment=variables, timeout_s=timeout_s)


def _last_words(result: ProgramResult) -> str:
    lines = [line.strip() for line in result.stderr.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("cause:").strip()[:200] if lines else "it printed nothing"


_FORMAT = 3
_VARIABLES = ("PATH", "HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
_PREFIXES = ("UV_", "PYENV_")

Stamp = tuple[int, int, int] | None
"""Inode, size and time of change; None: not there."""


class _Known(Record):
    circumstances: str
    program: Stamp
    library: Stamp
    interpreter: Interpreter


async def known_interpreter(minor: str, cache_dir: Path) -> Interpreter:
    """Return what `find_interpreter` returns; the folder for fetched ones is in *cache_dir*."""
    found = await known_present(minor, cache_dir)
    if found is None:
        found = await _fetch(minor, cache_dir / "interpreters")
        _remember(minor, cache_dir, found)
    return found


async def known_present(minor: str, cache_dir: Path) -> Interpreter | None:
    """Return what `present_interpreter` returns, without looking again where nothing changed since."""
    fetched = cache_dir / "interpreters"
    known = _read(_known_file(minor, cache_dir))
    if known is not None and known.circumstances == _circumstances(environment(), fetched) and _still_there(known):
        return known.interpreter
    found = await present_interpreter(minor, fetched)
    if found is not None:
        _remember(minor, cache_dir, found)
    return found


def _remember(minor: str, cache_dir: Path, found: Interpreter) -> None:
    # Finding may have fetched it, so the circumstances are those of now.
    known = _Known(
        circumstances=_circumstances(environment(), cache_dir / "interpreters"),
        program=_stamp(found.executable),
        library=found.shared_library and _stamp(found.shared_library),
        interpreter=found,
    )
    path = _known_file(minor, cache_dir)
    with contextlib.suppress(OSError, InfrastructureError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, known.model_dump_json().encode(), durable=False)


def _known_file(minor: str, cache_dir: Path) -> Path:
    """Return a file for each `PATH` and its like, so that two terminals do not make each other look again."""
    return cache_dir / "found-interpreters" / f"{minor}-{short(digest_of(_chosen(environment())))}.json"


def _read(path: Path) -> _Known | None:
    try:
        return _Known.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _still_there(known: _Known) -> bool:
    library = known.interpreter.shared_library
    return (
        known.program is not None
        and _stamp(known.interpreter.executable) == known.program
        and all(folder.is_dir() for folder in known.interpreter.standard_library)
        # Debian's Python names a library that comes in a package of its own: it may never have been there.
        and (library is None or _stamp(library) == known.library)
    )


def _circumstances(variables: Mapping[str, str], fetched: Path) -> str:
    places = {str(place): _stamp(place) for place in _places(variables, fetched)}
    return digest_of(
        {"format": _FORMAT, "variables": _chosen(variables), "places": places, "running": sys.base_prefix}
    )


def _chosen(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name in _VARIABLES or name.startswith(_PREFIXES)}


def _places(variables: Mapping[str, str], fetched: Path) -> Iterator[Path]:
    """Yield folders in which interpreters appear, and files that choose between them."""
    yield fetched
    yield from (Path(folder) for folder in variables.get("PATH", "").split(":") if folder)
    for root in pyenv_roots(variables):
        yield from (root / "version", root / "versions")
    home = Path(variables.get("HOME", "/"))
    yield Path(variables.get("XDG_DATA_HOME") or home / ".local/share") / "uv/python"
    if managed := variables.get("UV_PYTHON_INSTALL_DIR"):
        yield Path(managed)
    yield Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "uv/uv.toml"
    yield Path("/etc/uv/uv.toml")


def _stamp(place: Path) -> Stamp:
    try:
        status = place.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
