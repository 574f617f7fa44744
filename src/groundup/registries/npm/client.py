"""npm registries: which ones the user's npm is configured for, packuments and tarballs, and what one sandbox sees.

npm itself says what its settings are (files, environment, defaults); tokens, which it does not say, are read from
the files that it names and from the environment. A sandbox's npm, yarn and pnpm are answered: packuments,
manifests of single versions, tarballs, and the questions that they ask besides. A lock file that names another
registry's tarball gets this gateway's: what counts is the package's name before `/-/`, the file's name behind it,
and the hash.
"""

import asyncio
import base64
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from pydantic import AliasChoices, Field, SecretStr

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.client import FileFound, Found, Kept, KeptFile, Question, RegistryClient, first_after
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError, text
from groundup.registries.npm.pages import (
    BRIEF_TYPE,
    NpmRelease,
    Packument,
    PackumentError,
    all_of_old,
    is_name,
    manifest_of,
    parse_packument,
    parse_release,
    version_of,
    written,
)
from groundup.registries.server import Request, Response, ServerLimits
from groundup.registries.settings import Authorization, RegistrySettings, ask_client, certificates, parse_index
from groundup.registries.upstream import UpstreamReply, shown

_SCOPED = re.compile(r"(?P<scope>@[^:/]+):registry")
_SECRET = re.compile(r"(?P<place>//.+/?):(?P<kind>_authToken|_auth|username|_password)", re.IGNORECASE)
_VARIABLE = re.compile(r"(?<!\\)\$\{([^}?]+)(\?)?\}")


class NpmSettings(RegistrySettings):
    """How this user reaches npm registries. The first index is the default registry."""

    scopes: dict[str, str] = Field(default={}, description="scope -> address of its registry")

    def registry_of(self, name: str) -> str:
        scope = name.partition("/")[0] if name.startswith("@") else ""
        return self.scopes.get(scope, self.indexes[0].url)


async def npm_settings(environment: Mapping[str, str]) -> NpmSettings:
    """Return how the user whose *environment* this is reaches npm registries.

    Raises `InfrastructureError` when npm is not there to say, and `UsageError`.
    """
    settings = await _settings(environment)
    named = {"": settings.get("registry")}
    named |= {match["scope"]: value for key, value in settings.items() if (match := _SCOPED.fullmatch(key))}
    indexes = {scope: parse_index(text) for scope, text in named.items() if isinstance(text, str)}
    if "" not in indexes:  # where it is there, it is the first
        raise InfrastructureError("npm names no registry; set one with `npm config set registry`")
    proxy = settings.get("https-proxy") or settings.get("proxy")
    return NpmSettings(
        indexes=tuple(indexes.values()),
        scopes={scope: index.url for scope, index in indexes.items() if scope},
        ca_bundle=certificates(environment, {"npm's setting 'cafile'": settings.get("cafile")}),
        proxy=SecretStr(proxy) if isinstance(proxy, str) else None,
        authorizations=tuple(_authorizations(settings, environment)),
        origin="npm's configuration",
    )


async def _settings(environment: Mapping[str, str]) -> dict[str, Any]:
    result = await ask_client(["npm", "config", "list", "-l", "--json"], environment)
    if result is None or not result.ok:
        raise InfrastructureError(
            "npm is not on this machine to say where its registry is; install Node.js with npm"
        )
    try:
        found = json.loads(result.stdout)
    except ValueError as error:
        raise InfrastructureError(
            "`npm config list -l --json` prints no JSON; mend npm's configuration"
        ) from error
    return found if isinstance(found, dict) else {}


def _authorizations(settings: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Authorization]:
    """Yield what npm sends to which addresses; what is stronger comes later and replaces the rest."""
    found: dict[str, dict[str, str]] = {}
    for key, value in _secrets(settings, environment):
        match = _SECRET.fullmatch(key)
        if match:
            found.setdefault(match["place"].rstrip("/"), {})[match["kind"].lower()] = value
    for place, secrets in found.items():
        header = _header(secrets)
        if header:
            yield Authorization(place=place, header=SecretStr(header))


def _header(secrets: Mapping[str, str]) -> str | None:
    if "_authtoken" in secrets:
        return f"Bearer {secrets['_authtoken']}"
    if "_auth" in secrets:
        return f"Basic {secrets['_auth']}"
    if "username" in secrets and "_password" in secrets:
        password = base64.b64decode(secrets["_password"]).decode(errors="replace")
        return "Basic " + base64.b64encode(f"{secrets['username']}:{password}".encode()).decode()
    return None


def _secrets(settings: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for kind in ("globalconfig", "userconfig"):
        path = settings.get(kind)
        if isinstance(path, str):
            yield from _entries(Path(path), environment)
    for name, value in environment.items():
        if name.lower().startswith("npm_config_//"):
            yield name[len("npm_config_") :], value


def _entries(path: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        key, separator, value = line.partition("=")
        if separator and not line.lstrip().startswith(("#", ";")):
            yield (
                key.strip(),
                _VARIABLE.sub(lambda match: environment.get(match[1], ""), value.strip().strip("\"'")),
            )


Detail = Literal["brief", "dated", "whole"]
"""What an installer needs, the same with the times of all versions, or everything."""
_PACKUMENT_BYTES = 256 * 1024 * 1024
_BRIEF = f"{BRIEF_TYPE}; q=1.0, application/json; q=0.8"
_WHOLE = "application/json"
_OLD_PACKAGE = "inherits"
_OLD_PACKAGE_BY = datetime(2015, 1, 1, tzinfo=UTC)
"""Its first version is of 2011; a registry that says otherwise does not know when packages were published."""


class TarballFound(NamedTuple):
    """A verified tarball on disk."""

    release: NpmRelease
    file: FileFound


class _KeptPackument(Kept[Packument]):
    page: Packument = Field(validation_alias=AliasChoices("page", "packument"))
    full: bool
    """Whether the registry was asked for everything, or gave everything unasked."""


class _KeptTarball(KeptFile):
    release: NpmRelease


class NpmClient(RegistryClient[NpmSettings]):
    """The user's npm registries."""

    called = "the npm registry"
    noun = "an npm package"
    absent = (404, 405, 410, 451)
    is_name = staticmethod(is_name)

    def __init__(self, settings: NpmSettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._packuments: SingleFlight[Found[Packument]] = SingleFlight()
        self._tarballs: SingleFlight[TarballFound] = SingleFlight()
        self._asked_for_dates = False

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> NpmSettings:
        return await npm_settings(environment)

    @staticmethod
    def _well_known(settings: NpmSettings) -> Iterable[str]:
        return (f"{index.url}/npm/latest" for index in settings.indexes)

    async def _versions_of(self, name: str) -> tuple[str, ...]:
        found = await self.packument(name, "brief")
        return tuple(json.loads(found.page.document)["versions"])

    async def packument(self, name: str, detail: Detail, cutoff: datetime | None = None) -> Found[Packument]:
        """Return what is known of *name*. What was known at *cutoff* is enough then, and is not asked for again.

        Raises `UnknownPackageError`, or `NetworkError` when no registry can be asked and nothing older is kept.
        """
        if cutoff is not None and detail == "brief":
            detail = "dated"
        key = (name, detail, cutoff)
        found = await self._packuments.get(key, partial(self._packument, name, detail, cutoff))
        if cutoff is not None and await self._dates_by_fetching(name):
            found = found._replace(page=all_of_old(found.page))
        return found

    async def _dates_by_fetching(self, name: str) -> bool:
        """Whether the registry of *name* dates versions by when it first fetched them, as some mirrors do.

        Then a cut-off would hide what was there at the time, such as the very versions that a project names.
        """
        if self.settings.registry_of(name) != self.settings.registry_of(_OLD_PACKAGE):
            return False
        if self._asked_for_dates:
            return self.is_undated
        key = (_OLD_PACKAGE, "dated", None)
        try:
            old = await self._packuments.get(key, partial(self._packument, _OLD_PACKAGE, "dated", None))
            dates = [one.published for one in old.page.releases.values() if one.published is not None]
        except UnknownPackageError:
            dates = []
        except NetworkError:
            return False
        self._asked_for_dates, self.is_undated = True, bool(dates) and min(dates) > _OLD_PACKAGE_BY
        return self.is_undated

    async def tarball(self, name: str, filename: str, cutoff: datetime | None = None) -> TarballFound:
        """Return a tarball on disk, verified against its registry's hashes. Raises as `packument` does."""
        kept = self.cache.record("npm-tarballs", self._tarball_key(name, filename), _KeptTarball)
        if kept and (cutoff is None or kept.release.published_by(cutoff)):
            at_hand = self._at_hand(kept.sha256, verified=bool(kept.release.hashes))
            if at_hand is not None:
                return TarballFound(kept.release, at_hand)
        key = (name, filename, cutoff is None)
        found = await self._tarballs.get(key, partial(self._tarball, name, filename, cutoff))
        _check_old_enough(found.release, name, filename, cutoff)
        return found

    # --- packuments

    async def _packument(self, name: str, detail: Detail, cutoff: datetime | None) -> Found[Packument]:
        question = self._question(name, "whole" if detail == "whole" else "brief")
        kept = await self._kept(question, _KeptPackument)
        if detail == "dated" and kept and not kept.page.dated:
            kept = None
        if detail != "brief" or (isinstance(kept, _KeptPackument) and kept.full):
            question = question._replace(accept=_WHOLE)
        try:
            found = await self._ask(question, kept, cutoff)
        except NetworkError:
            older = await self._kept(self._question(name, "brief"), _KeptPackument)
            if older is None or (detail == "dated" and not older.page.dated):
                raise
            return Found(older.page, from_cache=True, stale=True)
        if isinstance(found, Found):
            return found
        return Found(await self._learnt(name, detail, found), from_cache=False)

    async def _learnt(self, name: str, detail: Detail, answer: UpstreamReply) -> Packument:
        """Keep what a registry answered: in brief, and as it is when it is everything."""
        full = BRIEF_TYPE not in answer.content_type
        found: dict[Detail, Packument] = {}
        kinds: tuple[Literal["brief", "whole"], ...] = ("brief", "whole") if full else ("brief",)
        try:
            for kind in kinds:
                page = await asyncio.to_thread(
                    parse_packument, name, answer.url, answer.body, whole=kind == "whole"
                )
                found[kind] = page
                kept = _KeptPackument(page=page, etag=answer.etag, full=full, fetched_at=time.time())
                await self._keep(self._question(name, kind), kept)
        except PackumentError as error:
            raise NetworkError(f"{shown(answer.url)}: {error}; check that it is an npm registry") from error
        return found["whole"] if detail == "whole" and full else found["brief"]

    def _question(self, name: str, kind: Literal["brief", "whole"]) -> Question:
        return Question(
            name=name,
            url=self._address(name),
            accept=_BRIEF if kind == "brief" else _WHOLE,
            kind="npm-packuments",
            key={"registry": self.settings.registry_of(name), "name": name, "detail": kind},
            max_bytes=_PACKUMENT_BYTES,
        )

    def _address(self, name: str) -> str:
        return f"{self.settings.registry_of(name)}/{quote(name, safe='@')}"

    # --- tarballs

    async def _tarball(self, name: str, filename: str, cutoff: datetime | None) -> TarballFound:
        release = await self._release(name, filename, cutoff)
        _check_old_enough(release, name, filename, cutoff)
        file = await self._downloaded(release.url, release.hashes)
        kept = _KeptTarball(release=release, sha256=file.sha256)
        await asyncio.to_thread(self.cache.keep_record, "npm-tarballs", self._tarball_key(name, filename), kept)
        return TarballFound(release, file)

    async def _release(self, name: str, filename: str, cutoff: datetime | None) -> NpmRelease:
        """Return what the registry says of a tarball: of its version alone where that is enough."""
        release = await self._release_alone(name, filename) if cutoff is None else None
        if release is None:
            release = (await self.packument(name, "brief", cutoff)).page.releases.get(filename)
        if release is None:
            raise UnknownPackageError(f"the npm registry has no {filename} of {name}")
        return release

    async def _release_alone(self, name: str, filename: str) -> NpmRelease | None:
        """Return a tarball of a lock file, whose package was not asked for: its packument may be huge."""
        kept = await self._kept(self._question(name, "brief"), _KeptPackument)
        if kept and filename in kept.page.releases:
            return kept.page.releases[filename]
        version = version_of(name, filename)
        if version is None:
            return None
        answer = await self._upstream.page(f"{self._address(name)}/{quote(version, safe='')}", accept=_WHOLE)
        if answer.status != 200:
            return None
        try:
            return parse_release(name, filename, answer.url, answer.body)
        except PackumentError:
            return None

    def _tarball_key(self, name: str, filename: str) -> dict[str, str]:
        return {"registry": self.settings.registry_of(name), "name": name, "file": filename}


def _check_old_enough(release: NpmRelease, name: str, filename: str, cutoff: datetime | None) -> None:
    if cutoff is not None and not release.published_by(cutoff):
        raise UnknownPackageError(f"{filename} of {name} is not known to be older than {cutoff.isoformat()}")


_NAME = r"(?P<name>(?:@[^/]+/)?[^/@-][^/]*|-[^/]+)"
_PACKUMENT = re.compile(f"/{_NAME}")
_VERSION = re.compile(rf"/{_NAME}/(?P<version>[^/-][^/]*)")
_TARBALL = re.compile(rf"/(?:.*?/)??{_NAME}/-/(?:.*/)?(?P<file>[^/]+)")
_PING = re.compile("/-/ping")
_ADVISORIES = re.compile(
    r"/-/npm/v1/(security/advisories/bulk|security/audits(/quick)?)|/-/npm/v1/attestations/.*"
)
_NOTHING_KNOWN = {
    "actions": [],
    "advisories": {},
    "muted": [],
    "metadata": {
        "vulnerabilities": {"info": 0, "low": 0, "moderate": 0, "high": 0, "critical": 0},
        "dependencies": 0,
        "devDependencies": 0,
        "optionalDependencies": 0,
        "totalDependencies": 0,
    },
}


class NpmGateway(RegistryGateway):
    """One sandbox's way to npm packages."""

    client = NpmClient
    _registry: NpmClient
    port = 29102
    hint = "/<package>"
    methods = ("GET", "HEAD", "POST")
    max_projects = 10_000
    usual_limits = ServerLimits(body_bytes=1024 * 1024)

    def supplies(self, address: str) -> Supplies:
        """Return the variables of npm, yarn (1 and later), pnpm and corepack."""
        host = urlsplit(address).hostname or "127.0.0.1"
        return Supplies(
            environment={
                "npm_config_registry": address,
                "npm_config_replace_registry_host": "always",
                "npm_config_omit_lockfile_registry_resolved": "true",
                "npm_config_audit": "false",
                "npm_config_fund": "false",
                "npm_config_update_notifier": "false",
                "npm_config_fetch_retries": "2",
                "npm_config_fetch_retry_mintimeout": "200",
                "npm_config_fetch_timeout": "900000",
                "YARN_REGISTRY": address,
                "YARN_NPM_REGISTRY_SERVER": address.rstrip("/"),
                "YARN_UNSAFE_HTTP_WHITELIST": host,
                "YARN_ENABLE_TELEMETRY": "0",
                "YARN_HTTP_TIMEOUT": "900000",
                "COREPACK_NPM_REGISTRY": address.rstrip("/"),
                "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
            }
        )

    def routes(self) -> tuple[Route, ...]:
        """A tarball's path would match as a packument's too, so it comes first."""
        return (
            (_ADVISORIES, self._advisories),
            (_PING, self._ping),
            (_TARBALL, self._tarball),
            (_PACKUMENT, self._packument),
            (_VERSION, self._manifest),
        )

    async def _handle(self, request: Request) -> Response:
        if request.method == "POST" and not _ADVISORIES.fullmatch(unquote(urlsplit(request.path).path)):
            return text(404, "nothing is taken here")
        return await super()._handle(request)

    async def _advisories(self, request: Request, match: re.Match[str]) -> Response:
        """Answer that no advisory is known: clients then go on."""
        return as_json({} if match[0].endswith("bulk") else _NOTHING_KNOWN)

    async def _ping(self, request: Request, match: re.Match[str]) -> Response:
        return as_json({})

    async def _packument(self, request: Request, match: re.Match[str]) -> Response:
        name = match["name"]
        self._admit(name)
        brief = BRIEF_TYPE in request.headers.get("accept", "")
        found = await self._registry.packument(name, "brief" if brief else "whole", self._cutoff)
        body = written(found.page, address_in(request), self._cutoff)
        hidden = first_after(found.page.releases.values(), self._cutoff)
        if body is None:
            raise UnknownPackageError(
                f"the npm registry has nothing of {name} known to be older than {self._cutoff}", hidden
            )
        self._note_page(name, found._replace(hidden=hidden), len(body))
        etag = f'"{short(digest_of(body.decode()))}"'
        headers = {"Vary": "Accept", "Cache-Control": "max-age=300", "ETag": etag}
        if request.headers.get("if-none-match") == etag:
            return Response(304, b"", headers=headers)
        return Response(200, body, content_type=BRIEF_TYPE if brief else "application/json", headers=headers)

    async def _manifest(self, request: Request, match: re.Match[str]) -> Response:
        name, version = match["name"], match["version"]
        self._admit(name)
        found = await self._registry.packument(name, "whole", self._cutoff)
        body = manifest_of(found.page, version, address_in(request), self._cutoff)
        if body is None:
            raise UnknownPackageError(f"the npm registry has no {name}@{version}")
        return Response(200, body, content_type="application/json")

    async def _tarball(self, request: Request, match: re.Match[str]) -> Response:
        name, filename = match["name"], match["file"]
        self._admit(name)
        place = f"{name}/{filename}"
        self._ledger.charge(place, 0)
        release, file = await self._registry.tarball(name, filename, self._cutoff)
        return await self._given(
            place, file, Fetched(kind="file", name=name, filename=filename, version=release.version)
        )
