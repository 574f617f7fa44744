"""Crates as one sandbox sees them: a sparse index on its own loopback, with one task's rules applied.

Cargo inside is told to use it instead of the index that lock files name, so those stay as they are. Addresses and
tokens stay in `CratesRegistry` on the host.
"""

import json
import re
from collections.abc import Iterable
from datetime import datetime
from urllib.parse import unquote, urlsplit

from groundup.registries.crates.client import CratesRegistry
from groundup.registries.crates.pages import is_name, place, same_crate
from groundup.registries.gateway import RegistryGateway, Supplies
from groundup.registries.ledger import MAX_BYTES, Fetched, RegistryRefusedError, UnknownPackageError, text
from groundup.registries.server import Request, Response, ServerLimits

CARGO_HOME = "/home/user/.cargo"
_PAGE = re.compile(r"/index/(?P<place>(?:[123]|[^/]{2}/[^/]{2}|3/[^/])/(?P<name>[^/]+))")
_CRATE = re.compile(r"/crates/(?P<name>[^/]+)/(?P<version>[^/]+)/download")
_HOST = re.compile(r"[\w.:\[\]-]{1,100}")


def cargo_file(address: str) -> str:
    """Return Cargo's configuration for the inside: one index instead of the one that packages name."""
    return (
        '[source.crates-io]\nreplace-with = "groundup"\n\n'
        f'[source.groundup]\nregistry = "sparse+{address}"\n\n'
        f'[registries.groundup]\nindex = "sparse+{address}"\n\n'
        "[net]\nretry = 2\n\n[http]\ntimeout = 900\nmultiplexing = false\n"
    )


class CratesGateway(RegistryGateway):
    """One sandbox's way to crates."""

    port = 29103
    entrance = "/index/"

    def __init__(
        self,
        registry: CratesRegistry,
        *,
        refused: Iterable[str] = (),
        cutoff: datetime | None = None,
        limits: ServerLimits | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(limits=limits, max_bytes=max_bytes)
        self.refused = frozenset(same_crate(name) for name in refused)
        self._registry = registry
        self._cutoff = cutoff

    def supplies(self, address: str) -> Supplies:
        """Return Cargo's home and the configuration in it."""
        return Supplies(
            environment={"CARGO_HOME": CARGO_HOME, "CARGO_TERM_PROGRESS_WHEN": "never"},
            files={f"{CARGO_HOME}/config.toml": cargo_file(address)},
        )

    def silence_s(self) -> float:
        """Return for how long the registry has sent nothing."""
        return self._registry.silence_s()

    async def _handle(self, request: Request) -> Response:
        path = unquote(urlsplit(request.path).path)
        if path == "/index/config.json":
            host = request.headers.get("host", "")
            base = f"http://{host}" if _HOST.fullmatch(host) else ""
            return Response(200, json.dumps({"dl": f"{base}/crates"}).encode(), content_type="application/json")
        if match := _PAGE.fullmatch(path):
            name, where = match["name"], match["place"]
            return await self._ledger.answered(name, lambda: self._page(name, where, request))
        if match := _CRATE.fullmatch(path):
            name, version = match["name"], match["version"]
            return await self._ledger.answered(name, lambda: self._crate(name, version))
        return text(404, "nothing is here: ask for /index/config.json")

    def _check(self, name: str) -> None:
        if not is_name(name):
            raise UnknownPackageError(f"{name[:200]!r} is no name of a crate")
        if same_crate(name) in self.refused:
            raise RegistryRefusedError(f"the task forbids to use {name!r}")
        self._ledger.admit(name.lower())

    async def _page(self, name: str, where: str, request: Request) -> Response:
        self._check(name)
        if where != place(name):
            raise UnknownPackageError(f"the page of {name} is not at {where[:200]}")
        found = await self._registry.page(name, self._cutoff)
        body = found.page.text()
        self._ledger.note(
            Fetched(kind="page", name=name, bytes=len(body), from_cache=found.from_cache, stale=found.stale)
        )
        return Response(200, body)

    async def _crate(self, name: str, version: str) -> Response:
        self._check(name)
        where = f"{name.lower()}/{version}"
        self._ledger.charge(where, 0)
        wanted, file = await self._registry.crate(name, version, self._cutoff)
        self._ledger.correct(where, file.size)
        self._ledger.charge(where, file.size)
        self._ledger.note(
            Fetched(
                kind="file",
                name=wanted.name,
                filename=f"{wanted.name}-{wanted.version}.crate",
                version=wanted.version,
                sha256=file.sha256,
                bytes=file.size,
                from_cache=file.from_cache,
                verified=file.verified,
            )
        )
        return Response(200, file.path, content_type="application/octet-stream")
