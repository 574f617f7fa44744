"""What the package index knows of versions: when they came, for which Python, whether they need building."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import InvalidVersion, Version

from groundup.domain.records import Record
from groundup.gateways.cache import FetchCache
from groundup.gateways.indexes import client_configuration
from groundup.gateways.pypi_registry import PyPIRegistry
from groundup.gateways.records import UnknownPackageError
from groundup.gateways.simple_pages import ProjectFile
from groundup.settings import Settings, environment

MINORS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
_LATEST_MICRO = "99"


class Release(Record):
    """One version on the index."""

    version: str
    uploaded: datetime | None
    pythons: frozenset[str]
    """Minor versions that can install it from a wheel."""
    source: ProjectFile | None
    """Its source distribution."""


@asynccontextmanager
async def open_index(settings: Settings) -> AsyncIterator[PyPIRegistry]:
    """Yield the user's package index, its answers kept in the cache."""
    registry = PyPIRegistry(await client_configuration(environment()), FetchCache(settings.cache_dir / "registry"))
    try:
        yield registry
    finally:
        await registry.close()


async def releases(registry: PyPIRegistry, name: str) -> dict[str, Release]:
    """Return the versions of *name*, oldest first; none for an unknown name."""
    try:
        page = (await registry.page(name)).page
    except (UnknownPackageError, ValueError):
        return {}
    groups: dict[Version, list[ProjectFile]] = {}
    for file in page.files:
        try:
            groups.setdefault(Version(file.version or ""), []).append(file)
        except InvalidVersion:
            continue
    return {str(version): _release(version, groups[version]) for version in sorted(groups)}


async def fetched(registry: PyPIRegistry, file: ProjectFile) -> tuple[Path, str]:
    """Return where *file* lies now, and its sha256."""
    found = await registry.file(file)
    return found.path, found.sha256


def _release(version: Version, files: Iterable[ProjectFile]) -> Release:
    files = list(files)
    times = [time for time in map(_uploaded, files) if time is not None]
    pythons = {minor for file in files if not file.is_source for minor in MINORS if _installs(file, minor)}
    sources = [file for file in files if file.is_source]
    sources.sort(key=lambda file: not file.filename.endswith(".tar.gz"))
    return Release(
        version=str(version),
        uploaded=min(times) if times else None,
        pythons=frozenset(pythons),
        source=sources[0] if sources else None,
    )


def _uploaded(file: ProjectFile) -> datetime | None:
    try:
        time = datetime.fromisoformat(file.upload_time or "")
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _installs(file: ProjectFile, minor: str) -> bool:
    """Say whether a wheel is for CPython *minor* on this kind of machine, as far as names tell."""
    try:
        allowed = SpecifierSet(file.requires_python or "").contains(f"{minor}.{_LATEST_MICRO}")
        tags = parse_wheel_filename(file.filename)[3]
    except (InvalidSpecifier, ValueError):
        return False
    own = minor.replace(".", "")
    fits = any(
        (
            tag.interpreter in ("py3", f"py{own}", f"cp{own}")
            or (tag.abi == "abi3" and _older(tag.interpreter, own))
        )
        and (tag.platform == "any" or "linux" in tag.platform)
        for tag in tags
    )
    return allowed and fits


def _older(interpreter: str, own: str) -> bool:
    digits = interpreter.removeprefix("cp")
    return digits.isdigit() and len(digits) > 1 and int(digits[1:]) <= int(own[1:])
