"""The interpreters of a job's steps, into which steps may install as they could on a runner."""

import asyncio
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.interpreters import BUNDLED
from groundup.environments.requests import ENVIRONMENT_TARGET, PYTHON_TARGET, PythonEnvironment, PythonRequest
from groundup.grading.ci.plan import MINORS
from groundup.registries.pypi.poetry import lay_poetry_plugin
from groundup.sandbox.protocol import GuestPlaces, Mount, SandboxSpec

_TOOL_CACHE = "/opt/hostedtoolcache/Python"


class StepPython(Record):
    """An interpreter in the steps' sandbox."""

    asked: str
    version: str
    folder: str
    """Where its `bin` is."""
    mounts: tuple[Mount, ...]
    environment: dict[str, str] = {}
    substitute: str | None = None


async def step_python(asked: str, minors: Sequence[str], builder: EnvironmentBuilder, scratch: Path) -> StepPython:
    """Return an interpreter of the first of *minors* that is installed, else of the nearest, which is reported.

    Raises `InfrastructureError` when there is none at all.
    """
    found = await installed_python(minors, builder)
    fits = ".".join(found.python_version.split(".")[:2]) in minors
    substitute = None if fits else f"Python {found.python_version} for {asked}"
    folder = f"{_TOOL_CACHE}/{found.python_version}/x64"
    copy = scratch / f"python-{found.python_version}"
    variables = {name: value.replace(PYTHON_TARGET, folder) for name, value in found.environment.items()}
    # Debian's interpreters have no site-packages of their own that a step could install into.
    if _has_own_packages(found):
        mounts = await asyncio.to_thread(_Installation(found, folder, copy).mounts)
    else:
        folder, variables = ENVIRONMENT_TARGET, found.environment
        mounts = await asyncio.to_thread(_virtual_environment, found, copy)
    return StepPython(
        asked=asked,
        version=found.python_version,
        folder=folder,
        mounts=mounts,
        environment=variables,
        substitute=substitute,
    )


async def installed_python(minors: Sequence[str], builder: EnvironmentBuilder) -> PythonEnvironment:
    """Return the first of *minors* that is installed, else the nearest. Raises `InfrastructureError` for none."""
    found = await _first_found(minors, builder) or await _first_found(_nearest(minors[0]), builder)
    if found is None:
        raise InfrastructureError(f"no Python from {MINORS[-1]} to {MINORS[0]} was found; install one")
    return found


def _has_own_packages(found: PythonEnvironment) -> bool:
    """Whether the interpreter has a folder for packages of its own, which a system's may not."""
    minor = ".".join(found.python_version.split(".")[:2])
    return any(mount.target == f"{PYTHON_TARGET}/lib/python{minor}/site-packages" for mount in found.mounts)


def _virtual_environment(found: PythonEnvironment, copy: Path) -> tuple[Mount, ...]:
    """Return mounts of a virtual environment that steps may change, over an interpreter that they may not."""
    if not copy.exists():
        shutil.copytree(found.layer.path, copy, symlinks=True)
        for packages in copy.glob("lib/python3*/site-packages"):
            lay_poetry_plugin(packages)
        for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir() and not path.is_symlink())):
            folder.chmod(0o755)
    own = Mount(source=copy, target=ENVIRONMENT_TARGET, writable=True)
    return (*(mount for mount in found.mounts if mount.target != ENVIRONMENT_TARGET), own)


class _Installation:
    """What shows an interpreter at *folder*: its own files read-only, `bin` and `site-packages` to be changed.

    It is no virtual environment, because installers treat those differently.
    """

    def __init__(self, environment: PythonEnvironment, folder: str, copy: Path) -> None:
        self._environment = environment
        self._folder = folder
        self._copy = copy
        self._minor = "python" + ".".join(environment.python_version.split(".")[:2])
        self._places = GuestPlaces(SandboxSpec(workspace=copy, mounts=environment.mounts))

    def mounts(self) -> tuple[Mount, ...]:
        """Copy what steps may change, and return all mounts."""
        installed = f"lib/{self._minor}/site-packages"
        if not self._copy.exists():
            self._fill(self._environment.layer.path, installed)
        shown = [mount for mount in self._environment.mounts if mount.target != ENVIRONMENT_TARGET]
        program = f"{PYTHON_TARGET}/bin/{self._minor}"
        hidden = f"{PYTHON_TARGET}/{installed}"
        return (
            Mount(source=self._copy / "prefix", target=self._folder, writable=True),
            *(self._moved(mount) for mount in shown if mount.target not in (program, hidden)),
            *(self._moved(mount) for mount in shown if mount.target == program),
            Mount(source=self._copy / "packages", target=f"{self._folder}/{installed}", writable=True),
        )

    def _moved(self, mount: Mount) -> Mount:
        if not mount.target.startswith(f"{PYTHON_TARGET}/"):
            return mount
        return mount.but(target=self._folder + mount.target[len(PYTHON_TARGET) :])

    def _fill(self, layer: Path, installed: str) -> None:
        packages = self._copy / "packages"
        shutil.copytree(layer / installed, packages, symlinks=True, ignore=shutil.ignore_patterns("_virtualenv*"))
        for wheel in self._bundled():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(packages)
        lay_poetry_plugin(packages)
        programs = self._copy / "prefix" / "bin"
        programs.mkdir(parents=True)
        (programs / self._minor).touch(mode=0o755)
        for name in ("python3", "python"):
            (programs / name).symlink_to(self._minor)
        for program in (layer / "bin").glob("pip*"):
            text = program.read_bytes().replace(ENVIRONMENT_TARGET.encode(), self._folder.encode())
            (programs / program.name).write_bytes(text)
            (programs / program.name).chmod(0o755)
        for folder in (programs, *(path for path in packages.rglob("*") if path.is_dir())):
            folder.chmod(0o755)

    def _bundled(self) -> Iterator[Path]:
        """Yield the setuptools that the interpreter brings along, which older ones do."""
        library = self._places.host(f"{PYTHON_TARGET}/lib/{self._minor}/{BUNDLED}")
        if library is not None and library.is_dir():
            yield from sorted(library.glob("setuptools-*.whl"))


async def _first_found(minors: Sequence[str], builder: EnvironmentBuilder) -> PythonEnvironment | None:
    for minor in minors:
        try:
            return await builder.python(PythonRequest(python=minor, with_pip=True))
        except InfrastructureError as error:
            if f"Python {minor} is not on this machine" not in str(error):
                raise
    return None


def _nearest(minor: str) -> list[str]:
    """Return other versions: newer ones, the nearest first, then older ones."""
    number = int(minor.partition(".")[2])
    others = [int(known.partition(".")[2]) for known in MINORS]
    newer = sorted(other for other in others if other > number)
    older = sorted((other for other in others if other < number), reverse=True)
    return [f"3.{other}" for other in (*newer, *older)]
