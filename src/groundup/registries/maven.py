"""Maven repositories: which ones the user's Maven is configured for, and what sandboxes see of them.

Reads what Maven reads (settings.xml of the user and of the installation, its options in the environment). The
address of the central repository is Maven's own: it stands in the super POM inside the installed Maven. What a
record holds here never leaves the host.

A released file never changes, so one that was fetched is not asked for again. Lists of versions
(`maven-metadata.xml`) and snapshots are asked for anew after ten minutes; without an answer, older ones count.

Whatever repository a build inside believes to ask, it gets what the user's own repositories have. What was given
out is remembered with its hash: a local repository is later laid out from that, not from what a build wrote.
"""

import asyncio
import hashlib
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Unpack
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from pydantic import SecretStr

from groundup.domain.errors import NetworkError, UsageError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.client import FRESH_S, MAX_FILE_BYTES, FileFound, RegistryClient
from groundup.registries.gateway import GatewayRules, RegistryGateway, Route, Supplies
from groundup.registries.ledger import Fetched, RegistryBudgetError, UnknownPackageError, text
from groundup.registries.server import Request, Response
from groundup.registries.settings import Credentials, Index, RegistrySettings, certificates, home_of, parse_index
from groundup.registries.upstream import shown

CENTRAL = "central"
_SUPER_POM = "org/apache/maven/model/pom-4.0.0.xml"
_VARIABLE = re.compile(r"\$\{env\.([^}]+)\}")
_OPTION = re.compile(r"-D(https?)\.(proxyHost|proxyPort|nonProxyHosts)=(\S+)")
_LOOPBACK = ("localhost", "127.0.0.1")


class MavenRepositorySettings(Record):
    """One repository by its id."""

    id: str
    url: str


class Mirror(Record):
    """What stands in for which repositories."""

    id: str
    url: str
    mirror_of: str

    def stands_for(self, repository: MavenRepositorySettings) -> bool:
        """Whether it matches as Maven's own matching says; a leading `!` excludes and wins."""
        patterns = [pattern.strip() for pattern in self.mirror_of.split(",")]
        if f"!{repository.id}" in patterns:
            return False
        return any(_matches(pattern, repository) for pattern in patterns)


def _matches(pattern: str, repository: MavenRepositorySettings) -> bool:
    parts = urlsplit(repository.url)
    # Maven itself takes these two names for the machine's own, and no other.
    is_external = parts.hostname not in _LOOPBACK and parts.scheme != "file"
    if pattern == "external:http:*":
        return is_external and parts.scheme == "http"
    return pattern in ("*", repository.id) or (pattern == "external:*" and is_external)


def maven_settings(environment: Mapping[str, str], maven_home: Path | None) -> RegistrySettings:
    """Return the repositories of whose *environment* this is, in the order to ask. Raises `UsageError`."""
    documents = [_parsed(path, environment) for path in _settings_files(environment, maven_home)]
    trees = [tree for tree in documents if tree is not None]
    mirrors = [mirror for tree in trees for mirror in _mirrors(tree)]
    known = [repository for tree in trees for repository in _active_repositories(tree)]
    if all(repository.id != CENTRAL for repository in known):
        known.append(_central(maven_home, mirrors))
    servers = {id_: found for tree in reversed(trees) for id_, found in _servers(tree)}
    indexes: dict[str, Index] = {}
    for repository in known:
        mirror = next((one for one in mirrors if one.stands_for(repository)), None)
        used = MavenRepositorySettings(id=mirror.id, url=mirror.url) if mirror else repository
        index = parse_index(used.url)
        credentials = servers.get(used.id) or index.credentials
        indexes.setdefault(index.url, index.but(credentials=credentials))
    return RegistrySettings(
        indexes=tuple(indexes.values()),
        ca_bundle=certificates(environment),
        proxy=_proxy(trees, environment, tuple(indexes)),
        origin="Maven's configuration" if mirrors or len(known) > 1 else "Maven's default",
    )


def _central(maven_home: Path | None, mirrors: Sequence[Mirror]) -> MavenRepositorySettings:
    for jar in sorted(maven_home.glob("lib/maven-model-builder-*.jar")) if maven_home else ():
        try:
            with zipfile.ZipFile(jar) as archive:
                root = ElementTree.fromstring(archive.read(_SUPER_POM))  # noqa: S314 - Maven's own
        except (OSError, KeyError, zipfile.BadZipFile, ElementTree.ParseError):
            continue
        url = _strip(root).findtext("repositories/repository/url")
        if url:
            return MavenRepositorySettings(id=CENTRAL, url=url.strip())
    for mirror in mirrors:
        if mirror.stands_for(unnamed := MavenRepositorySettings(id=CENTRAL, url="https://central.invalid")):
            return unnamed
    raise UsageError(
        "no Maven repository is known: neither an installed Maven nor a settings.xml names one; install Maven "
        "(its `mvn` on PATH, or MAVEN_HOME), or name a mirror in ~/.m2/settings.xml"
    )


# --- settings.xml


def _settings_files(environment: Mapping[str, str], maven_home: Path | None) -> Iterator[Path]:
    """Yield the user's settings, then the installation's: the first is stronger."""
    words = environment.get("MAVEN_ARGS", "").split()
    user, system = _option(words, "-s", "--settings"), _option(words, "-gs", "--global-settings")
    yield Path(user) if user else home_of(environment) / ".m2/settings.xml"
    if system:
        yield Path(system)
    elif maven_home is not None:
        yield maven_home / "conf/settings.xml"


def _option(words: Sequence[str], *names: str) -> str | None:
    for number, word in enumerate(words):
        if word in names and number + 1 < len(words):
            return words[number + 1]
        name, equals, value = word.partition("=")
        if equals and name in names:
            return value
    return None


def _parsed(path: Path, environment: Mapping[str, str]) -> ElementTree.Element | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: Maven's settings are not UTF-8; mend the file") from error
    try:
        root = _strip(ElementTree.fromstring(text))  # noqa: S314 - the user's own configuration
    except ElementTree.ParseError as error:
        raise UsageError(f"{path}: Maven's settings are not valid XML: {error}") from error
    for element in root.iter():
        if element.text and "${env." in element.text:
            element.text = _VARIABLE.sub(lambda found: environment.get(found[1], found[0]), element.text)
    return root


def _strip(root: ElementTree.Element) -> ElementTree.Element:
    """Drop namespaces from names."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def _text(element: ElementTree.Element, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _mirrors(settings: ElementTree.Element) -> Iterator[Mirror]:
    for element in settings.iterfind("mirrors/mirror"):
        if _text(element, "blocked") == "true":  # Maven's own, against plain http of others
            continue
        yield Mirror(id=_text(element, "id"), url=_text(element, "url"), mirror_of=_text(element, "mirrorOf"))


def _active_repositories(settings: ElementTree.Element) -> Iterator[MavenRepositorySettings]:
    active = {(element.text or "").strip() for element in settings.iterfind("activeProfiles/activeProfile")}
    for profile in settings.iterfind("profiles/profile"):
        by_default = (profile.findtext("activation/activeByDefault") or "").strip() == "true"
        if _text(profile, "id") not in active and not by_default:
            continue
        for kind in ("repositories/repository", "pluginRepositories/pluginRepository"):
            for element in profile.iterfind(kind):
                if url := _text(element, "url"):
                    yield MavenRepositorySettings(id=_text(element, "id"), url=url)


def _servers(settings: ElementTree.Element) -> Iterator[tuple[str, Credentials]]:
    for element in settings.iterfind("servers/server"):
        user, password = _text(element, "username"), _text(element, "password")
        if not user:
            continue
        if password.startswith("{") and password.endswith("}"):
            raise UsageError(
                f"Maven's settings hold an encrypted password for {_text(element, 'id')!r}, which groundup cannot "
                "read; take it from the environment there, as ${env.NAME}"
            )
        yield _text(element, "id"), Credentials(username=user, password=SecretStr(password))


# --- proxies


def _proxy(
    trees: Sequence[ElementTree.Element], environment: Mapping[str, str], urls: Sequence[str]
) -> SecretStr | None:
    """Return the proxy of settings, else of Java's properties; None: the usual variables count."""
    for tree in trees:
        for element in tree.iterfind("proxies/proxy"):
            if _text(element, "active") in ("", "true") and _text(element, "host"):
                return _unless_excepted(_address(element), _text(element, "nonProxyHosts"), urls)
    options = " ".join(environment.get(name, "") for name in ("MAVEN_OPTS", "MAVEN_ARGS", "JAVA_TOOL_OPTIONS"))
    options_set = {(scheme, name): value for scheme, name, value in _OPTION.findall(options)}
    for scheme, port in (("https", "443"), ("http", "80")):
        if host := options_set.get((scheme, "proxyHost")):
            address = f"http://{host}:{options_set.get((scheme, 'proxyPort'), port)}"
            return _unless_excepted(address, options_set.get(("http", "nonProxyHosts"), ""), urls)
    return None


def _address(element: ElementTree.Element) -> str:
    user, password = _text(element, "username"), _text(element, "password")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    return f"http://{login}{_text(element, 'host')}:{_text(element, 'port') or '8080'}"


def _unless_excepted(address: str, exceptions: str, urls: Sequence[str]) -> SecretStr | None:
    """Return the proxy unless every repository is one that goes without."""
    patterns = [re.escape(word).replace(r"\*", ".*") for word in re.split(r"[|,\s]+", exceptions) if word]
    hosts = [urlsplit(url).hostname or "" for url in urls]
    if patterns and all(any(re.fullmatch(pattern, host) for pattern in patterns) for host in hosts):
        return None
    return SecretStr(address)


CHECKSUMS = {"sha1": 40, "sha256": 64, "sha512": 128, "md5": 32}
"""Kinds of checksums beside files, in the order in which a repository is asked for one, with their lengths."""
_KNOWN = "junit/junit/maven-metadata.xml"
"""What any repository of the world's has."""
_PART = re.compile(r"[A-Za-z0-9._+~@=-]{1,200}")
_MAX_PATH = 600


class _Kept(Record):
    sha256: str | None
    """None: the repository has no such file."""
    verified: bool = False
    fetched_at: float

    def is_fresh(self) -> bool:
        """Whether the repository was asked a moment ago."""
        return 0 <= time.time() - self.fetched_at < FRESH_S


class MavenClient(RegistryClient[RegistrySettings]):
    """The user's Maven repositories, which hold files and know no names."""

    called = "the Maven repository"
    noun = "a place"

    def __init__(self, settings: RegistrySettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._places: SingleFlight[FileFound | None] = SingleFlight()

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> RegistrySettings:
        """Read the user's settings."""
        return maven_settings(environment, None)

    @staticmethod
    def is_name(name: str) -> bool:
        """Whether *name* can be the place of a file: plain parts, no way upwards."""
        return is_place(name)

    @staticmethod
    def _well_known(settings: RegistrySettings) -> Iterable[str]:
        return (f"{index.url}/{_KNOWN}" for index in settings.indexes)

    async def file(self, place: str) -> FileFound:
        """Return the file at *place* from the first repository that has it.

        Raises `UnknownPackageError`, or `NetworkError` when a repository cannot be asked and nothing is kept.
        """
        if not is_place(place):
            raise UnknownPackageError(f"{place[:200]!r} is not the place of a file in a Maven repository")
        for index in self.settings.indexes:
            found = await self._places.get((index.url, place), partial(self._file, index, place))
            if found is not None:
                return found
        raise UnknownPackageError(f"no Maven repository that is configured has {place}")

    async def _file(self, index: Index, place: str) -> FileFound | None:
        key = {"repository": index.url, "place": place}
        kept = self.cache.record("maven-files", key, _Kept)
        url = f"{index.url}/{place}"
        at_hand = self._at_hand(kept.sha256, verified=kept.verified) if kept else None
        is_fresh = kept is not None and kept.is_fresh()
        if kept and (is_fresh or (at_hand and not _changes(place)) or self._upstream.seems_down(url)):
            if kept.sha256 is None:
                return None
            if at_hand is not None:
                return at_hand._replace(stale=not is_fresh and _changes(place))
        try:
            found = await self._checked(url)
        except NetworkError:
            if at_hand is None:
                raise
            return at_hand._replace(stale=True)
        answer = _Kept(
            sha256=found.sha256 if found else None,
            verified=found is not None and found.verified,
            fetched_at=time.time(),
        )
        await asyncio.to_thread(self.cache.keep_record, "maven-files", key, answer)
        return found

    async def _checked(self, url: str) -> FileFound | None:
        found = await self._once(url)
        if isinstance(found, str):  # a list of versions may have changed between it and its checksum
            found = await self._once(url)
        if isinstance(found, str):
            raise NetworkError(
                f"{shown(url)} does not have the {found} checksum that stands beside it; something on the way "
                "changes files: check the mirror or proxy"
            )
        return found

    async def _once(self, url: str) -> FileFound | str | None:
        """Return the file, None when there is none, or the name of the checksum that it does not have."""
        with self.cache.incoming() as incoming:
            incoming.expect(dict.fromkeys(CHECKSUMS, ""))
            checksum = asyncio.create_task(self._checksum(url))
            try:
                if not await self._upstream.download(url, incoming, MAX_FILE_BYTES):
                    return None
                kind, expected = await checksum
            finally:
                checksum.cancel()  # of no effect when it is done
                await asyncio.gather(checksum, return_exceptions=True)
            digests = incoming.digests()
            if kind is not None and digests[kind] != expected:
                return kind
            path = await asyncio.to_thread(incoming.keep)
        return FileFound(path, digests["sha256"], incoming.size, from_cache=False, verified=kind is not None)

    async def _checksum(self, url: str) -> tuple[str | None, str]:
        if url.endswith(".asc"):
            return None, ""
        for kind, length in CHECKSUMS.items():
            answer = await self._upstream.page(f"{url}.{kind}", accept="*/*")
            if answer.status == 200:
                found = re.search(rb"(?<![0-9A-Fa-f])[0-9A-Fa-f]{%d}(?![0-9A-Fa-f])" % length, answer.body[:4096])
                if found:
                    return kind, found[0].decode().lower()
        return None, ""


def is_place(place: str) -> bool:
    """Whether *place* can be that of a file: plain parts, no way upwards."""
    parts = place.split("/")
    plain = all(_PART.fullmatch(part) and part not in (".", "..") for part in parts)
    return plain and 2 <= len(parts) <= 40 and len(place) <= _MAX_PATH


def checksum_of(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def is_metadata(place: str) -> bool:
    """Whether *place* is a list of versions."""
    return PurePosixPath(place).name.startswith("maven-metadata")


def _changes(place: str) -> bool:
    """Whether a repository may hold something else at *place* later."""
    return is_metadata(place) or "-SNAPSHOT/" in place


MIRROR = "groundup"
"""The id of the one repository that builds inside know; it is part of file names in a local repository."""
SETTINGS_PLACE = "/home/user/.m2/settings.xml"
_FILES = 20_000
"""How many files one sandbox may ask for."""
_FILE = re.compile(rf"/maven/(?P<name>.+?)(?:\.(?P<checksum>{'|'.join(CHECKSUMS)}))?")


def settings_file(address: str, *, offline: bool) -> str:
    """Return Maven's settings for the inside: one repository instead of all others, and no questions."""
    return (
        "<settings>\n"
        "  <interactiveMode>false</interactiveMode>\n"
        f"  <offline>{str(offline).lower()}</offline>\n"
        f"  <mirrors><mirror><id>{MIRROR}</id><mirrorOf>*</mirrorOf><url>{address}</url></mirror></mirrors>\n"
        "</settings>\n"
    )


class MavenGateway(RegistryGateway):
    """One sandbox's way to artifacts. Repositories do not say when they got something, so no cut-off counts."""

    client = MavenClient
    _registry: MavenClient
    port = 29105
    entrance = "/maven/"
    hint = "/maven/<group>/<artifact>/<version>/<file>"
    sizes_unknown = False

    def __init__(self, registry: MavenClient, **rules: Unpack[GatewayRules]) -> None:
        super().__init__(registry, **rules)
        if self.refused:
            raise UsageError("a Maven repository is lent without refusals; leave them out")
        self.files: dict[str, FileFound] = {}
        """What was given out, by place."""
        self._asked: set[str] = set()

    def supplies(self, address: str) -> Supplies:
        """Return Maven's settings, and where a Maven wrapper finds Maven."""
        base = address.rstrip("/")
        return Supplies(
            environment={"MVNW_REPOURL": base}, files={SETTINGS_PLACE: settings_file(base, offline=False)}
        )

    def routes(self) -> tuple[Route, ...]:
        return ((_FILE, self._file),)

    async def _file(self, request: Request, match: re.Match[str]) -> Response:
        """Answer with a file, always the same one, or with its checksum."""
        place, checksum = match["name"], match["checksum"]
        if not is_place(place):
            return text(404, f"nothing is here: ask for {self.hint}")
        if place not in self.files:
            self._asked.add(place)
            if len(self._asked) > _FILES:
                raise RegistryBudgetError(f"more than {_FILES} files were asked for")
            self._ledger.charge(place, 0)
            self.files.setdefault(place, await self._registry.file(place))
        found = self.files[place]
        kind = "metadata" if is_metadata(place) else "file"
        what = Fetched(kind=kind, name=place, filename=PurePosixPath(place).name)
        answer = await self._given(place, found, what)
        return answer if checksum is None else text(200, checksum_of(found.path, checksum))
