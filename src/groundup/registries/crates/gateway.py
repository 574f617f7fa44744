"""Crates as one sandbox sees them: a sparse index.

Cargo inside uses it instead of the index that lock files name, so those stay as they are.
"""

import re

from groundup.registries.crates.client import CratesClient
from groundup.registries.crates.pages import place
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError
from groundup.registries.server import Request, Response

CARGO_HOME = "/home/user/.cargo"
_PAGE = re.compile(r"/index/(?P<place>(?:[123]|[^/]{2}/[^/]{2}|3/[^/])/(?P<name>[^/]+))")
_CRATE = re.compile(r"/crates/(?P<name>[^/]+)/(?P<version>[^/]+)/download")
_CONFIG = re.compile(re.escape("/index/config.json"))


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

    client = CratesClient
    _registry: CratesClient
    port = 29103
    entrance = "/index/"
    hint = "/index/config.json"

    def supplies(self, address: str) -> Supplies:
        """Return Cargo's home and the configuration in it."""
        return Supplies(
            environment={"CARGO_HOME": CARGO_HOME, "CARGO_TERM_PROGRESS_WHEN": "never"},
            files={f"{CARGO_HOME}/config.toml": cargo_file(address)},
        )

    def routes(self) -> tuple[Route, ...]:
        """Where crates are, what is known of one, and the crate."""
        return ((_CONFIG, self._config), (_PAGE, self._page), (_CRATE, self._crate))

    async def _config(self, request: Request, match: re.Match[str]) -> Response:
        return as_json({"dl": f"{address_in(request)}/crates"})

    async def _page(self, request: Request, match: re.Match[str]) -> Response:
        name, where = match["name"], match["place"]
        self._admit(name)
        if where != place(name):
            raise UnknownPackageError(f"the page of {name} is not at {where[:200]}")
        found = await self._registry.page(name, self._cutoff)
        body = found.page.text()
        self._note_page(name, found, len(body))
        return Response(200, body)

    async def _crate(self, request: Request, match: re.Match[str]) -> Response:
        name, version = match["name"], match["version"]
        self._admit(name)
        where = f"{name.lower()}/{version}"
        self._ledger.charge(where, 0)
        crate, file = await self._registry.crate(name, version, self._cutoff)
        filename = f"{crate.name}-{crate.version}.crate"
        what = Fetched(kind="file", name=crate.name, filename=filename, version=crate.version)
        return await self._given(where, file, what)
