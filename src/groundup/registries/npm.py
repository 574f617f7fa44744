"""npm registries: the user's settings, packuments and tarballs, the client on the host and what one sandbox sees.

npm itself says what its settings are (files, environment, defaults); tokens, which it does not say, are read from
the files that it names and from the environment. A sandbox's npm, yarn and pnpm are answered: packuments,
manifests of single versions, tarballs, and the questions that they ask besides. A lock file that names another
registry's tarball gets this gateway's: what counts is the package's name before `/-/`, the file's name behind it,
and the hash.

Addresses of tarballs are kept apart: in a document they are `MARK` and a path, which `written` replaces by the
gateway's own address. npm asks the configured registry whatever its lock file names. Yarn 1 asks what yarn.lock
names, and so needs another yarn.lock inside a sandbox; hashes in it stay, so what is installed is the same.
"""

import asyncio
import base64
import binascii
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from pydantic import AliasChoices, Field, SecretStr

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.client import (
    FileFound,
    Found,
    Kept,
    KeptFile,
    Published,
    Question,
    RegistryClient,
    first_after,
    instant,
)
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError, text
from groundup.registries.server import Request, Response, ServerLimits
from groundup.registries.settings import Authorization, RegistrySettings, ask_client, certificates, parse_index
from groundup.registries.upstream import UpstreamReply, shown

BRIEF_TYPE = "application/vnd.npm.install-v1+json"
MARK = "groundup-gateway:"
_KEPT = (
    "name", "version", "deprecated", "dependencies", "optionalDependencies", "devDependencies",
    "bundleDependencies", "bundledDependencies", "peerDependencies", "peerDependenciesMeta", "bin", "directories",
    "dist", "engines", "cpu", "os", "libc", "funding", "hasInstallScript", "_hasShrinkwrap",
)  # fmt: skip
"""What an installer needs of a version."""
_INSTALL_SCRIPTS = ("preinstall", "install", "postinstall")
_STRENGTH = ("sha512", "sha384", "sha256", "sha1")
_NAME = re.compile(r"(@[A-Za-z0-9~_.-]{1,214}/)?[A-Za-z0-9~_.!'()*-]{1,214}")
_FILE = re.compile(r"[A-Za-z0-9~_.!'()*+@-]{1,300}")
_SEMVER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?")


class PackumentError(Exception):
    """What a registry sent cannot be understood."""


class NpmRelease(Published):
    """One tarball."""

    version: str
    url: str
    hashes: dict[str, str] = Field(description="algorithm -> hexadecimal digest")


class Packument(Record):
    """All that is known of a package: a JSON document with marked addresses, and its tarballs by file name."""

    document: str
    releases: dict[str, NpmRelease]
    dated: bool = Field(description="whether it says when versions were published")


def is_name(name: str) -> bool:
    """Whether npm could have a package of this name; letters in capitals are of old packages."""
    return _NAME.fullmatch(name) is not None and not name.rpartition("/")[2].startswith(".")


def parse_packument(name: str, url: str, body: bytes, *, whole: bool) -> Packument:
    """Read what *url* answered; *whole* keeps what only people read. Raises `PackumentError`."""
    document = _object(body)
    versions = document.get("versions")
    if not isinstance(versions, dict):
        raise PackumentError("it names no versions")
    times = document.get("time")
    times = times if isinstance(times, dict) else {}
    releases: dict[str, NpmRelease] = {}
    manifests: dict[str, dict[str, Any]] = {}
    for version, manifest in versions.items():
        release = _release(version, manifest, url, times.get(version))
        if release is None:
            continue
        filename = _filename(name, release, releases)
        releases[filename] = release
        manifests[version] = _manifest(manifest, name, filename, whole=whole)
    tags = document.get("dist-tags")
    kept: dict[str, Any] = document if whole else {"name": name}
    kept = {**kept, "versions": manifests, "dist-tags": tags if isinstance(tags, dict) else {}}
    if times:
        kept["time"] = {key: value for key, value in times.items() if isinstance(value, str)}
    if isinstance(document.get("modified"), str):
        kept["modified"] = document["modified"]
    return Packument(document=json.dumps(kept), releases=releases, dated=bool(times))


def parse_release(name: str, filename: str, url: str, body: bytes) -> NpmRelease | None:
    """Return the tarball that one version's manifest names, when it is *filename*. Raises `PackumentError`."""
    manifest = _object(body)
    release = _release(str(manifest.get("version")), manifest, url, None)
    return release if release and _filename(name, release, {}) == filename else None


def version_of(name: str, filename: str) -> str | None:
    """Return the version that a tarball of the usual name has."""
    start = f"{name.rpartition('/')[2]}-"
    if filename.startswith(start) and filename.endswith(".tgz"):
        return filename[len(start) : -len(".tgz")]
    return None


def written(packument: Packument, address: str, cutoff: datetime | None = None) -> bytes | None:
    """Return the document for a gateway at *address*; None when nothing of it is older than *cutoff*."""
    text = packument.document
    if cutoff is not None:
        document = _cut_off(json.loads(text), packument.releases, cutoff)
        if document is None:
            return None
        text = json.dumps(document)
    return text.replace(f'"{MARK}', f'"{address}').encode()


def manifest_of(packument: Packument, wanted: str, address: str, cutoff: datetime | None) -> bytes | None:
    """Return the manifest of one version, or of the version that a tag names; None when there is none."""
    body = written(packument, address, cutoff)
    if body is None:
        return None
    document = json.loads(body)
    found = document["versions"].get(document["dist-tags"].get(wanted, wanted))
    return json.dumps(found).encode() if found is not None else None


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PackumentError("it is no JSON") from error
    if not isinstance(document, dict):
        raise PackumentError("it is no JSON object")
    return document


def _release(version: str, manifest: object, url: str, published: object) -> NpmRelease | None:
    dist = manifest.get("dist") if isinstance(manifest, dict) else None
    if not isinstance(dist, dict) or not isinstance(dist.get("tarball"), str):
        return None
    return NpmRelease(
        version=version,
        url=urljoin(url, dist["tarball"]),
        hashes=_hashes(dist.get("integrity"), dist.get("shasum")),
        published=instant(published),
    )


def _hashes(integrity: object, shasum: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in integrity.split() if isinstance(integrity, str) else ():
        algorithm, _, value = part.partition("?")[0].partition("-")
        if algorithm in _STRENGTH:
            try:
                found.setdefault(algorithm, base64.b64decode(value, validate=True).hex())
            except binascii.Error as error:
                raise PackumentError(f"{part!r} is no integrity") from error
    if isinstance(shasum, str) and re.fullmatch(r"[0-9a-fA-F]{40}", shasum):
        found.setdefault("sha1", shasum.lower())
    return found


def _filename(name: str, release: NpmRelease, taken: Mapping[str, NpmRelease]) -> str:
    found = unquote(urlsplit(release.url).path).rpartition("/")[2]
    if _FILE.fullmatch(found) and found.endswith(".tgz") and found not in taken:
        return found
    return f"{name.rpartition('/')[2]}-{release.version}.tgz"


def _manifest(manifest: Mapping[str, Any], name: str, filename: str, *, whole: bool) -> dict[str, Any]:
    found = dict(manifest) if whole else {key: manifest[key] for key in _KEPT if key in manifest}
    found["dist"] = {**manifest["dist"], "tarball": f"{MARK}/{name}/-/{filename}"}
    scripts = manifest.get("scripts")
    if isinstance(scripts, dict) and any(scripts.get(script) for script in _INSTALL_SCRIPTS):
        found["hasInstallScript"] = True
    return found


# --- cut-off


def all_of_old(packument: Packument) -> Packument:
    """Return *packument* as if each version had always been there: its registry's dates say nothing."""
    releases = {name: release.but(published=_LONG_AGO) for name, release in packument.releases.items()}
    return packument.but(releases=releases)


_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def _cut_off(
    document: dict[str, Any], releases: Mapping[str, NpmRelease], cutoff: datetime
) -> dict[str, Any] | None:
    old = {release.version for release in releases.values() if release.published_by(cutoff)}
    versions = {version: manifest for version, manifest in document["versions"].items() if version in old}
    if not versions:
        return None
    tags = {tag: version for tag, version in document["dist-tags"].items() if version in versions}
    if "latest" not in tags:
        tags["latest"] = _newest(versions, document["dist-tags"].get("latest"))
    found = {**document, "versions": versions, "dist-tags": tags}
    if isinstance(document.get("time"), dict):
        times = document["time"]
        found["time"] = {key: times[key] for key in times if key in versions or key == "created"}
        found["time"]["modified"] = cutoff.isoformat()
    if "modified" in found:
        found["modified"] = cutoff.isoformat()
    return found


def _newest(versions: Iterable[str], latest: object) -> str:
    """Return what `latest` meant: the newest that is no pre-release and not beyond today's `latest`."""
    ordered = sorted(versions, key=_order)
    stable = [version for version in ordered if _order(version)[1]]
    if isinstance(latest, str) and _order(latest)[1]:
        within = [version for version in stable if _order(version) <= _order(latest)]
        stable = within or stable
    return (stable or ordered)[-1]


def _order(version: str) -> tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]:
    """Return a key in the order of semantic versions: numbers, releases after pre-releases, their parts."""
    match = _SEMVER.match(version)
    if match is None:
        return (), False, ()
    parts = (match[4] or "").split(".") if match[4] else []
    keys = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
    return (int(match[1]), int(match[2]), int(match[3])), match[4] is None, keys


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
        key = (name, filename, cutoff)
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


_PATH_NAME = r"(?P<name>(?:@[^/]+/)?[^/@-][^/]*|-[^/]+)"
_PACKUMENT = re.compile(f"/{_PATH_NAME}")
_VERSION = re.compile(rf"/{_PATH_NAME}/(?P<version>[^/-][^/]*)")
_TARBALL = re.compile(rf"/(?:.*?/)??{_PATH_NAME}/-/(?:.*/)?(?P<file>[^/]+)")
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
