"""Python package indexes seen from the host: those that the user's uv and pip are set up for, pages and files."""

import asyncio
import configparser
import hashlib
import os
import sys
import time
import tomllib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from groundup.domain.errors import GroundupError, NetworkError, UsageError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.client import (
    FRESH_S,
    NO_DATES,
    FileFound,
    Found,
    Kept,
    KeptFile,
    Question,
    RegistryClient,
)
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.pypi.folders import WheelFolders, parse_folders
from groundup.registries.pypi.pages import (
    ACCEPTED,
    ProjectFile,
    ProjectPage,
    SimplePageError,
    is_name,
    lacks_all,
    normalised,
    parse_page,
    shortened,
)
from groundup.registries.settings import Index, RegistrySettings, certificates, home_of, parse_index
from groundup.registries.upstream import shown
from groundup.registries.uv import default_index_url
from groundup.trees.scratch import scratch_folder

_PIP_SECTIONS = ("global", "install", "download")


class _Found(Record):
    """What one client's configuration says."""

    default: Index | None = None
    extra: tuple[Index, ...] = ()


class _PackageIndexes(RegistrySettings):
    """How this user reaches Python's packages: there may be folders alone."""

    indexes: tuple[Index, ...] = ()


async def pypi_settings(environment: Mapping[str, str]) -> RegistrySettings:
    """Return how the user whose *environment* this is reaches package indexes. Raises `UsageError`.

    uv's configuration counts when it names any index, else pip's; what neither names is the client's own default.
    Folders of find-links are those of both; where either says no-index, they are all there is.
    """
    pip = _pip_settings(environment)
    folders, alone = _find_links(environment, pip)
    found, origin = _uv_indexes(environment), "uv's configuration"
    if found.default is None and not found.extra:
        found, origin = _pip_indexes(pip), "pip's configuration"
    default = found.default
    if alone:
        origin, found = "find-links", _Found()
    elif default is None:
        origin = f"{origin} and uv's default" if found.extra else "uv's default"
        default = parse_index(await default_index_url())
    proxy = pip.get("proxy")
    netrc_file = Path(environment.get("NETRC") or home_of(environment) / ".netrc")
    return _PackageIndexes(
        indexes=(*found.extra, default) if default and not alone else (),
        folders=folders,
        ca_bundle=certificates(environment, {"pip's setting 'cert'": pip.get("cert")}),
        proxy=SecretStr(proxy) if proxy else None,
        netrc_file=netrc_file if netrc_file.is_file() else None,
        origin=origin,
    )


def _find_links(environment: Mapping[str, str], pip: Mapping[str, str]) -> tuple[tuple[Path, ...], bool]:
    """Return the folders that uv's and pip's configuration name, and whether no index is to be asked."""
    places = environment.get("UV_FIND_LINKS", "").split(",")
    refused = [environment.get("UV_NO_INDEX", ""), pip.get("no-index", "")]
    for table in [] if environment.get("UV_NO_CONFIG") else _uv_files(environment):
        for scope in (table.get("pip"), table):
            if isinstance(scope, Mapping):
                named = scope.get("find-links")
                places += [str(one) for one in named] if isinstance(named, list) else []
                refused.append(str(scope.get("no-index", "")))
    places += pip.get("find-links", "").split()
    folders = parse_folders(filter(None, map(str.strip, places)), home_of(environment))
    return folders, bool(folders) and any(one.lower() in {"1", "true", "yes", "on"} for one in refused)


# --- uv


def _uv_indexes(environment: Mapping[str, str]) -> _Found:
    tables = [] if environment.get("UV_NO_CONFIG") else list(_uv_files(environment))
    default = environment.get("UV_DEFAULT_INDEX") or environment.get("UV_INDEX_URL")
    extra = f"{environment.get('UV_INDEX', '')} {environment.get('UV_EXTRA_INDEX_URL', '')}".split()
    found_default = parse_index(default, environment) if default else None
    found_extra = [parse_index(text, environment) for text in extra]
    for table in tables:
        for text, is_default in _uv_table(table):
            index = parse_index(text, environment)
            if not is_default:
                found_extra.append(index)
            elif found_default is None:
                found_default = index
    return _Found(default=found_default, extra=_distinct(found_extra))


def _uv_table(table: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    """Yield (`name=url` or `url`, whether it is the default) of one uv.toml, strongest first."""
    pip = table.get("pip")
    for scope in (pip, table):
        if not isinstance(scope, Mapping):
            continue
        entries = scope.get("index")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and isinstance(entry.get("url"), str) and not entry.get("explicit"):
                name = entry.get("name")
                yield (f"{name}={entry['url']}" if name else entry["url"]), bool(entry.get("default"))
        if isinstance(scope.get("index-url"), str):
            yield str(scope["index-url"]), True
        extra = scope.get("extra-index-url")
        for text in extra if isinstance(extra, list) else ():
            yield str(text), False


def _uv_files(environment: Mapping[str, str]) -> Iterator[Mapping[str, object]]:
    named = environment.get("UV_CONFIG_FILE")
    home = environment.get("XDG_CONFIG_HOME") or str(home_of(environment) / ".config")
    system = [Path(part) for part in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if part]
    user_first = [Path(home) / "uv/uv.toml", *(part / "uv/uv.toml" for part in system), Path("/etc/uv/uv.toml")]
    for path in [Path(named)] if named else user_first:
        try:
            yield tomllib.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: uv's configuration is not valid TOML: {error}") from error


# --- pip


def _pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings by their long option names; the environment is stronger than files."""
    settings: dict[str, str] = {}
    for path in _pip_files(environment):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            said = " ".join(str(error).split())
            raise UsageError(f"{path}: pip's configuration cannot be read: {said}") from error
        for section in _PIP_SECTIONS:
            if parser.has_section(section):
                settings.update({key.replace("_", "-"): value for key, value in parser.items(section)})
    for key in ("index-url", "extra-index-url", "proxy", "find-links", "no-index"):
        value = environment.get("PIP_" + key.upper().replace("-", "_"))
        if value:
            settings[key] = value
    return settings


def _pip_files(environment: Mapping[str, str]) -> Iterable[Path]:
    """Return pip's configuration files, weakest first."""
    named = environment.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return ()
    home = home_of(environment)
    config_home = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    system = [
        Path(part) / "pip/pip.conf" for part in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if part
    ]
    mac = home / "Library/Application Support/pip/pip.conf"
    files = [*system, Path("/etc/pip.conf"), home / ".pip/pip.conf", mac, config_home / "pip/pip.conf"]
    return [*files, Path(sys.prefix) / "pip.conf", *([Path(named)] if named else [])]


def _pip_indexes(settings: Mapping[str, str]) -> _Found:
    default = settings.get("index-url")
    extra = [parse_index(text) for text in settings.get("extra-index-url", "").split()]
    return _Found(default=parse_index(default) if default else None, extra=_distinct(extra))


def _distinct(indexes: Iterable[Index]) -> tuple[Index, ...]:
    found: dict[str, Index] = {}
    for index in indexes:
        found.setdefault(index.url, index)
    return tuple(found.values())


_FILES_IN_MEMORY = 60_000
"""Of all pages that are kept in memory; about a kilobyte each."""
_SHORT_PAGES = 4096
"""Kept in memory besides, of a few files each."""


class WrittenPage(NamedTuple):
    """A page as sandboxes get it in JSON, and what they call its files."""

    page: ProjectPage
    tokens: dict[str, ProjectFile]
    body: bytes


class PyPIClient(RegistryClient[RegistrySettings]):
    """The user's package indexes. The first one that knows a name is the only one asked for it.

    What folders of the user hold stands beside what that index has.
    """

    called = "the package index"
    noun = "a project"
    absent = range(400, 500)
    is_name = staticmethod(is_name)
    spelling = staticmethod(normalised)

    def __init__(self, settings: RegistrySettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._folders = WheelFolders(settings.folders)
        self._pages: SingleFlight[Found[ProjectPage]] = SingleFlight()
        self._recent: OrderedDict[str, tuple[int | None, Kept[ProjectPage]]] = OrderedDict()
        """By address, the one asked for last at the end: a page, and the stamp of its record in the cache."""
        self.written: dict[str, WrittenPage] = {}
        """What gateways made of pages that are in memory, by project: each sandbox asks for the same ones."""
        self._short: OrderedDict[tuple[object, ...], tuple[float, Found[ProjectPage]]] = OrderedDict()
        """When kept, and what a page says of a few files: what was resolved is installed a moment later."""

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> RegistrySettings:
        """Ask uv's and pip's configuration."""
        return await pypi_settings(environment)

    @staticmethod
    def _well_known(settings: RegistrySettings) -> Iterable[str]:
        return (f"{index.url}/pip/" for index in settings.indexes)

    async def _versions_of(self, name: str) -> tuple[str, ...]:
        page = (await self.page(name)).page
        return tuple(dict.fromkeys(file.version for file in page.files if file.version is not None))

    async def page(
        self, name: str, cutoff: datetime | None = None, wanted: frozenset[str] = frozenset()
    ) -> Found[ProjectPage]:
        """Return the page of *name* from the first index that knows it, with files up to *cutoff* only.

        A page that was kept and has none of the files *wanted*, by sha256, is asked for again: mirrors lag behind.
        Raises `UnknownPackageError`, or `NetworkError` when an index cannot be asked and nothing older is kept.
        """
        project = normalised(name)
        local = await asyncio.to_thread(self._folders.files, project) if self.settings.folders else ()
        own = Found(ProjectPage(name=project, files=local), from_cache=True)
        if wanted and wanted <= {file.hashes["sha256"] for file in local}:
            return own  # nothing else is asked for
        for index in self.settings.indexes:
            key = (index.url, project, cutoff, wanted)
            try:
                found = await self._pages.get(key, partial(self._page, index, project, cutoff, wanted))
            except UnknownPackageError:
                continue
            except NetworkError:
                if local and not wanted:
                    return own
                raise
            if local:
                there = {file.filename for file in found.page.files}
                more = tuple(file for file in local if file.filename not in there)
                found = found._replace(page=found.page.but(files=(*found.page.files, *more)))
            if cutoff is None:
                return found
            files = tuple(file for file in found.page.files if file.uploaded_by(cutoff))
            if not files and not any(file.upload_time for file in found.page.files):
                raise NetworkError(f"{shown(index.url)} does not say when files were published; {NO_DATES}")
            hidden = found.page.first_after(cutoff)
            if not files:
                raise UnknownPackageError(
                    f"the package index has no file of {project} known to be older than {cutoff.isoformat()}",
                    hidden,
                )
            return found._replace(page=found.page.but(files=files), hidden=hidden)
        if local:
            return own
        raise UnknownPackageError(f"no package index that is configured knows {project!r}")

    def keep_short_page(
        self, project: str, wanted: frozenset[str], cutoff: datetime | None, found: Found[ProjectPage]
    ) -> None:
        """Remember what *found*, the page of *project* up to *cutoff*, says of the files with these sha256."""
        if lacks_all(found.page, wanted):
            return  # it is asked for again
        page = shortened(found.page, wanted)
        self._short[project, wanted, cutoff] = time.monotonic(), found._replace(page=page, from_cache=True)
        while len(self._short) > _SHORT_PAGES:
            self._short.popitem(last=False)

    def short_page(
        self, project: str, wanted: frozenset[str], cutoff: datetime | None
    ) -> Found[ProjectPage] | None:
        """Return what was remembered as long as a page counts without asking its index again; else None."""
        kept_at, found = self._short.get((project, wanted, cutoff), (0.0, None))
        return found if time.monotonic() - kept_at < FRESH_S else None

    async def file(self, file: ProjectFile) -> FileFound:
        """Return *file* on disk, verified against the hashes that its page named. Raises as `page` does."""
        if (own := await asyncio.to_thread(self._folders.file, file)) is not None:
            return own
        return await self._stored(file.url, file.hashes)

    async def metadata(self, file: ProjectFile) -> FileFound:
        """Return the separate metadata of a wheel. Raises as `page` does."""
        return await self._stored(f"{file.url}.metadata", file.metadata or {})

    async def fetch_file(self, name: str, version: str, sha256: str, filename: str | None = None) -> Path:
        """Return the file of *name* with this hash: a source distribution unless *filename* names another.

        For use on the host. What is in the cache needs no network. Raises as `page` does.
        """
        kept = self.cache.file(sha256)
        if kept is not None:
            if _sha256(kept) == sha256:
                return kept
            self.cache.forget_file(sha256)
        page = (await self.page(name)).page
        of_version = [file for file in page.files if _same_version(file.version, version)]
        wanted = [file for file in of_version if (file.filename == filename if filename else file.is_source)]
        if not wanted:
            what = filename or f"source distribution of version {version}"
            raise UnknownPackageError(f"the package index has no {what} of {name}")
        for file in wanted:
            if file.hashes.get("sha256", sha256) == sha256:
                found = await self.file(file.but(hashes={"sha256": sha256}))
                return found.path
        offered = ", ".join(file.hashes["sha256"] for file in wanted)
        raise UnknownPackageError(
            f"{name} {version} has another hash on the package index: {offered}, not {sha256}"
        )

    async def _page(
        self, index: Index, project: str, cutoff: datetime | None, wanted: frozenset[str]
    ) -> Found[ProjectPage]:
        question = Question(
            name=project,
            url=f"{index.url}/{project}/",
            accept=ACCEPTED,
            kind="pypi-pages",
            key={"index": index.url, "project": project},
        )
        stamp, recent = self._recent.get(question.url, (None, None))
        if recent is not None and lacks_all(recent.page, wanted):
            recent = None
        if recent is not None and recent.is_fresh(cutoff) and stamp == self._stamp(question):
            self._recent.move_to_end(question.url)
            return Found(recent.page, from_cache=True)
        kept = await self._kept(question, Kept[ProjectPage])
        if kept is not None and lacks_all(kept.page, wanted):
            kept = kept.but(fetched_at=0.0)
        found = await self._ask(question, kept, cutoff)
        if isinstance(found, Found):
            if kept is not None and kept.is_fresh(cutoff):
                self._remember(question, kept)
            return found
        try:
            page = await asyncio.to_thread(parse_page, project, found.url, found.content_type, found.body)
        except SimplePageError as error:
            raise NetworkError(f"{shown(found.url)}: {error}; check that it is a package index") from error
        new = Kept[ProjectPage](page=page, etag=found.etag, fetched_at=time.time())
        await self._keep(question, new)
        self._remember(question, new)
        return Found(page, from_cache=False)

    def _remember(self, question: Question, kept: Kept[ProjectPage]) -> None:
        self._recent[question.url] = self._stamp(question), kept
        self._recent.move_to_end(question.url)
        while sum(len(recent.page.files) for _, recent in self._recent.values()) > _FILES_IN_MEMORY:
            _, gone = self._recent.popitem(last=False)[1]
            self.written.pop(gone.page.name, None)

    def _stamp(self, question: Question) -> int | None:
        return self.cache.stamp(question.kind, question.key)

    async def _stored(self, url: str, hashes: Mapping[str, str]) -> FileFound:
        alias = None if "sha256" in hashes else self.cache.record("pypi-files", url, KeptFile)
        sha256 = alias.sha256 if alias else hashes.get("sha256")
        at_hand = self._at_hand(sha256, verified=bool(hashes))
        if at_hand is not None:
            return at_hand
        key = (url, tuple(sorted(hashes.items())))
        return await self._files.get(key, partial(self._fetched, url, hashes))

    async def _fetched(self, url: str, hashes: Mapping[str, str]) -> FileFound:
        found = await self._downloaded(url, hashes)
        if "sha256" not in hashes:
            kept = KeptFile(sha256=found.sha256, verified=found.verified)
            await asyncio.to_thread(self.cache.keep_record, "pypi-files", url, kept)
        return found


def _same_version(found: str | None, wanted: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return found is not None and Version(found) == Version(wanted)
    except InvalidVersion:
        return found == wanted


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def index_trouble(environment: Mapping[str, str]) -> str:
    """Ask the user's package index for one page, past every cache; return why that cannot be done, or nothing."""
    with scratch_folder("asking") as folder:
        try:
            registry = PyPIClient(await pypi_settings(environment), FetchCache(folder))
            try:
                await registry.page("pip")
            finally:
                await registry.close()
        except GroundupError as error:
            return str(error)
    return ""
