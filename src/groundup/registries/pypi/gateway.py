"""The package index as one sandbox sees it: plain HTTP on its own loopback, with one task's rules applied.

Serves the Simple API (PEP 503 and PEP 691 with PEP 658 metadata). Addresses, certificates and credentials stay in
`PyPIRegistry` on the host: a sandbox asks for projects by name and for files by tokens that a page gave it.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Iterable
from datetime import datetime
from urllib.parse import unquote, urlsplit

from groundup.registries.gateway import RegistryGateway, Supplies
from groundup.registries.ledger import MAX_BYTES, Fetched, RegistryRefusedError, text
from groundup.registries.pypi.client import FileFound, PyPIRegistry
from groundup.registries.pypi.pages import (
    HTML_TYPE,
    JSON_TYPE,
    ProjectFile,
    normalised,
    page_as_html,
    page_as_json,
    wants_json,
)
from groundup.registries.pypi.poetry import VARIABLE as POETRY_INDEX
from groundup.registries.server import Request, Response, ServerLimits

_PAGE = re.compile(r"/simple/([^/]{1,200})/?")
_FILE = re.compile(r"/files/([0-9a-f]{32})/([^/]{1,300})")


class PyPIGateway(RegistryGateway):
    """One sandbox's way to the package index."""

    port = 29101
    entrance = "/simple/"

    def __init__(
        self,
        registry: PyPIRegistry,
        *,
        refused: Iterable[str] = (),
        cutoff: datetime | None = None,
        limits: ServerLimits | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(limits=limits, max_bytes=max_bytes)
        self.refused = frozenset(normalised(name) for name in refused)
        self._registry = registry
        self._cutoff = cutoff
        self._named: dict[str, tuple[str, ProjectFile]] = {}

    def supplies(self, address: str) -> Supplies:
        """Return the variables of pip, uv, Poetry, pipenv and PDM; no configuration of pip counts besides."""
        return Supplies(
            environment={
                "PIP_INDEX_URL": address,
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                "PIP_RETRIES": "2",
                "PIP_DEFAULT_TIMEOUT": "900",
                "PIPENV_PYPI_MIRROR": address,
                "PDM_PYPI_URL": address,
                "PDM_CHECK_UPDATE": "0",
                POETRY_INDEX: address,
                "UV_DEFAULT_INDEX": address,
                "UV_PYTHON_DOWNLOADS": "never",
                "UV_HTTP_RETRIES": "2",
                "UV_HTTP_TIMEOUT": "900",
            }
        )

    def silence_s(self) -> float:
        """Return for how long the registry has sent nothing."""
        return self._registry.silence_s()

    # --- requests

    async def _handle(self, request: Request) -> Response:
        path = urlsplit(request.path).path
        if match := _PAGE.fullmatch(path):
            try:
                project = normalised(unquote(match[1]))
            except ValueError:
                return text(404, "this is not a project name")
            return await self._ledger.answered(project, lambda: self._page(project, request))
        if match := _FILE.fullmatch(path):
            token, filename = match[1], unquote(match[2])
            return await self._ledger.answered(filename, lambda: self._file(token, filename))
        return text(404, "nothing is here: ask for /simple/<project>/")

    async def _page(self, project: str, request: Request) -> Response:
        if project in self.refused:
            raise RegistryRefusedError(f"the task forbids to install {project!r}")
        self._ledger.admit(project)
        found = await self._registry.page(project, self._cutoff)
        tokens = {file.filename: _token(project, file) for file in found.page.files}
        self._named.update({tokens[file.filename]: (project, file) for file in found.page.files})

        def address(file: ProjectFile) -> str:
            return f"/files/{tokens[file.filename]}/{file.filename}"

        as_json = wants_json(request.headers.get("accept", ""))
        body = await asyncio.to_thread(page_as_json if as_json else page_as_html, found.page, address)
        self._ledger.note(
            Fetched(kind="page", name=project, bytes=len(body), from_cache=found.from_cache, stale=found.stale)
        )
        kind = (
            JSON_TYPE if as_json else HTML_TYPE if HTML_TYPE in request.headers.get("accept", "") else "text/html"
        )
        return Response(200, body, content_type=kind, headers={"Vary": "Accept", "Cache-Control": "max-age=600"})

    async def _file(self, token: str, filename: str) -> Response:
        project, file = self._named.get(token, ("", None))
        if file is None or filename not in {file.filename, f"{file.filename}.metadata"}:
            return text(404, "no page of this gateway named such a file")
        whole = filename == file.filename
        if not whole and file.metadata is None:
            return text(404, "the index offers no separate metadata for this file")
        place = f"{token}/{filename}"
        self._ledger.charge(place, (file.size or 0) if whole else 0)
        found = await (self._registry.file(file) if whole else self._registry.metadata(file))
        self._ledger.correct(place, found.size)
        self._ledger.note(_fetched("file" if whole else "metadata", project, file, found))
        return Response(200, found.path, content_type="application/octet-stream")


def _token(project: str, file: ProjectFile) -> str:
    """Return what a sandbox calls a file: says nothing of its address, and is the same the next time."""
    told = "\n".join([project, file.filename, file.hashes.get("sha256", "")])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _fetched(kind: str, project: str, file: ProjectFile, found: FileFound) -> Fetched:
    return Fetched(
        kind="file" if kind == "file" else "metadata",
        name=project,
        filename=file.filename,
        version=file.version,
        sha256=found.sha256,
        bytes=found.size,
        from_cache=found.from_cache,
        verified=found.verified,
    )
