"""The Maven repository as one sandbox sees it: plain HTTP on its own loopback.

Whatever repository a build believes to ask, it gets what the user's own repositories have. Addresses, certificates
and credentials stay in `MavenRegistry` on the host. What was given out is remembered with its hash: a local
repository is later laid out from that, not from what a build wrote.
"""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from groundup.registries.gateway import RegistryGateway, Supplies
from groundup.registries.ledger import MAX_BYTES, Fetched, RegistryBudgetError, text
from groundup.registries.maven.client import (
    CHECKSUMS,
    MavenFile,
    MavenRegistry,
    checksum_of,
    is_metadata,
    is_place,
)
from groundup.registries.server import Request, Response, ServerLimits

MIRROR = "groundup"
"""The id of the one repository that builds inside know; it is part of file names in a local repository."""
SETTINGS_PLACE = "/home/user/.m2/settings.xml"
_PREFIX = "/maven/"
_FILES = 20_000
"""How many files one sandbox may ask for."""


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
    """One sandbox's way to artifacts."""

    port = 29105
    entrance = _PREFIX

    def __init__(
        self, registry: MavenRegistry, limits: ServerLimits | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        super().__init__(limits=limits or ServerLimits(request_s=60.0), max_bytes=max_bytes)
        self.files: dict[str, MavenFile] = {}
        """What was given out, by place."""
        self._registry = registry
        self._asked: set[str] = set()

    def supplies(self, address: str) -> Supplies:
        """Return Maven's settings, and where a Maven wrapper finds Maven."""
        base = address.rstrip("/")
        return Supplies(
            environment={"MVNW_REPOURL": base}, files={SETTINGS_PLACE: settings_file(base, offline=False)}
        )

    def silence_s(self) -> float:
        """Return for how long the registry has sent nothing."""
        return self._registry.silence_s()

    async def _handle(self, request: Request) -> Response:
        path = unquote(urlsplit(request.path).path)
        place = path.removeprefix(_PREFIX)
        if place == path or not is_place(place):
            return text(404, "nothing is here: ask for /maven/<group>/<artifact>/<version>/<file>")
        base, _, kind = place.rpartition(".")
        wanted = base if kind in CHECKSUMS else place
        return await self._ledger.answered(wanted, lambda: self._file(wanted, None if wanted == place else kind))

    async def _file(self, place: str, checksum: str | None) -> Response:
        """Answer with a file, always the same one, or with its checksum."""
        found = self.files.get(place)
        if found is None:
            self._asked.add(place)
            if len(self._asked) > _FILES:
                raise RegistryBudgetError(f"more than {_FILES} files were asked for")
            self._ledger.charge(place, 0)
            found = self.files.setdefault(place, await self._registry.file(place))
            self._ledger.correct(place, found.size)
            self._ledger.note(_fetched(place, found))
        if checksum is not None:
            return text(200, checksum_of(found.path, checksum))
        return Response(200, found.path, content_type="application/octet-stream")


def _fetched(place: str, found: MavenFile) -> Fetched:
    return Fetched(
        kind="metadata" if is_metadata(place) else "file",
        name=place,
        filename=PurePosixPath(place).name,
        sha256=found.sha256,
        bytes=found.size,
        from_cache=found.from_cache,
        stale=found.stale,
        verified=found.verified,
    )
