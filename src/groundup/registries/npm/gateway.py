"""npm registries as one sandbox sees them: plain HTTP on its own loopback, with one task's rules applied.

Answers npm, yarn and pnpm: packuments, manifests of single versions, tarballs, and the questions that they ask
besides. Addresses and tokens stay in `NpmRegistry` on the host. A lock file that names another registry's tarball
gets this gateway's: what counts is the package's name before `/-/`, the file's name behind it, and the hash.
"""

import json
import re
from collections.abc import Iterable
from datetime import datetime
from urllib.parse import unquote, urlsplit

from groundup.domain.digests import digest_of, short
from groundup.registries.gateway import RegistryGateway, Supplies
from groundup.registries.ledger import MAX_BYTES, Fetched, RegistryRefusedError, UnknownPackageError, text
from groundup.registries.npm.client import NpmRegistry
from groundup.registries.npm.pages import BRIEF_TYPE, is_name, manifest_of, written
from groundup.registries.server import Request, Response, ServerLimits

_NAME = r"(?P<name>(?:@[^/]+/)?[^/@-][^/]*|-[^/]+)"
_PACKUMENT = re.compile(f"/{_NAME}")
_VERSION = re.compile(rf"/{_NAME}/(?P<version>[^/-][^/]*)")
_TARBALL = re.compile(rf"/(?:.*?/)??{_NAME}/-/(?:.*/)?(?P<file>[^/]+)")
_HOST = re.compile(r"[\w.:\[\]-]{1,100}")
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
_BODY_BYTES = 1024 * 1024


class NpmGateway(RegistryGateway):
    """One sandbox's way to npm packages."""

    port = 29102
    methods = ("GET", "HEAD", "POST")
    max_projects = 10_000

    def __init__(
        self,
        registry: NpmRegistry,
        *,
        refused: Iterable[str] = (),
        cutoff: datetime | None = None,
        limits: ServerLimits | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(limits=limits or ServerLimits(body_bytes=_BODY_BYTES), max_bytes=max_bytes)
        self.refused = frozenset(name.lower() for name in refused)
        self._registry = registry
        self._cutoff = cutoff

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

    def silence_s(self) -> float:
        """Return for how long the registry has sent nothing."""
        return self._registry.silence_s()

    # --- requests

    async def _handle(self, request: Request) -> Response:
        path = unquote(urlsplit(request.path).path)
        if _ADVISORIES.fullmatch(path):
            # Nobody here knows of advisories; clients that are told so go on.
            return _json({} if path.endswith("bulk") else _NOTHING_KNOWN)
        if request.method == "POST":
            return text(404, "nothing is taken here")
        if path == "/-/ping":
            return _json({})
        if match := _TARBALL.fullmatch(path):
            name, filename = match["name"], match["file"]
            return await self._ledger.answered(name, lambda: self._tarball(name, filename))
        if match := _PACKUMENT.fullmatch(path):
            name = match["name"]
            return await self._ledger.answered(name, lambda: self._packument(name, request))
        if match := _VERSION.fullmatch(path):
            name, version = match["name"], match["version"]
            return await self._ledger.answered(name, lambda: self._manifest(name, version, request))
        return text(404, "nothing is here: ask for /<package>")

    def _check(self, name: str) -> None:
        """Raise for what nobody gets. Names in other spellings are other names to npm, but not to a task."""
        if not is_name(name):
            raise UnknownPackageError(f"{name[:200]!r} is no name of an npm package")
        if name.lower() in self.refused:
            raise RegistryRefusedError(f"the task forbids to install {name!r}")
        self._ledger.admit(name)

    async def _packument(self, name: str, request: Request) -> Response:
        self._check(name)
        brief = BRIEF_TYPE in request.headers.get("accept", "")
        found = await self._registry.packument(name, "brief" if brief else "whole", self._cutoff)
        body = written(found.packument, _address(request), self._cutoff)
        if body is None:
            raise UnknownPackageError(
                f"the npm registry has nothing of {name} known to be older than {self._cutoff}"
            )
        self._ledger.note(
            Fetched(kind="page", name=name, bytes=len(body), from_cache=found.from_cache, stale=found.stale)
        )
        etag = f'"{short(digest_of(body.decode()))}"'
        headers = {"Vary": "Accept", "Cache-Control": "max-age=300", "ETag": etag}
        if request.headers.get("if-none-match") == etag:
            return Response(304, b"", headers=headers)
        return Response(200, body, content_type=BRIEF_TYPE if brief else "application/json", headers=headers)

    async def _manifest(self, name: str, version: str, request: Request) -> Response:
        self._check(name)
        found = await self._registry.packument(name, "whole", self._cutoff)
        body = manifest_of(found.packument, version, _address(request), self._cutoff)
        if body is None:
            raise UnknownPackageError(f"the npm registry has no {name}@{version}")
        return Response(200, body, content_type="application/json")

    async def _tarball(self, name: str, filename: str) -> Response:
        self._check(name)
        place = f"{name}/{filename}"
        self._ledger.charge(place, 0)
        release, file = await self._registry.tarball(name, filename, self._cutoff)
        self._ledger.correct(place, file.size)
        self._ledger.charge(place, file.size)
        self._ledger.note(
            Fetched(
                kind="file",
                name=name,
                filename=filename,
                version=release.version,
                sha256=file.sha256,
                bytes=file.size,
                from_cache=file.from_cache,
                verified=file.verified,
            )
        )
        return Response(200, file.path, content_type="application/octet-stream")


def _address(request: Request) -> str:
    """Return this gateway's address as the client knows it; a wrong one harms nobody but the client."""
    host = request.headers.get("host", "")
    return f"http://{host}" if _HOST.fullmatch(host) else ""


def _json(content: object) -> Response:
    return Response(200, json.dumps(content).encode(), content_type="application/json")
