"""Packuments of npm: read, shortened, cut off at a date and written for a sandbox; addresses in lock files.

Addresses of tarballs are kept apart: in a document they are `MARK` and a path, which `written` replaces by the
gateway's own address.

npm asks the configured registry whatever its lock file names. Yarn 1 asks what yarn.lock names, and so needs
another yarn.lock inside a sandbox; hashes in it stay, so what is installed is the same.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from pydantic import Field

from groundup.domain.records import Record
from groundup.registries.client import Published, instant

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
