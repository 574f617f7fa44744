"""The Maven repository as one sandbox sees it.

Whatever repository a build believes to ask, it gets what the user's own repositories have. What was given out is
remembered with its hash: a local repository is later laid out from that, not from what a build wrote.
"""

import re
from pathlib import PurePosixPath
from typing import Unpack

from groundup.domain.errors import UsageError
from groundup.registries.client import FileFound
from groundup.registries.gateway import GatewayRules, RegistryGateway, Route, Supplies
from groundup.registries.ledger import Fetched, RegistryBudgetError, text
from groundup.registries.maven.client import CHECKSUMS, MavenClient, checksum_of, is_metadata, is_place
from groundup.registries.server import Request, Response

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
        """Files and their checksums."""
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
