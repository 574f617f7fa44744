"""npm registries as one sandbox sees them.

Answers npm, yarn and pnpm: packuments, manifests of single versions, tarballs, and the questions that they ask
besides. A lock file that names another registry's tarball gets this gateway's: what counts is the package's name
before `/-/`, the file's name behind it, and the hash.
"""

import re
from urllib.parse import unquote, urlsplit

from groundup.domain.digests import digest_of, short
from groundup.registries.client import first_after
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError, text
from groundup.registries.npm.client import NpmClient
from groundup.registries.npm.pages import BRIEF_TYPE, manifest_of, written
from groundup.registries.server import Request, Response, ServerLimits

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
