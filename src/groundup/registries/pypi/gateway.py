"""The package index as one sandbox sees it: the Simple API (PEP 503 and PEP 691 with PEP 658 metadata).

A sandbox asks for projects by name, and for files by tokens that a page gave it.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Mapping
from typing import Unpack

from groundup.registries.client import Found
from groundup.registries.gateway import GatewayRules, RegistryGateway, Route, Supplies
from groundup.registries.ledger import Fetched, text
from groundup.registries.pypi.client import PyPIClient, WrittenPage
from groundup.registries.pypi.pages import (
    HTML_TYPE,
    JSON_TYPE,
    ProjectFile,
    ProjectPage,
    page_as_html,
    page_as_json,
    shortened,
    wants_json,
)
from groundup.registries.pypi.poetry import VARIABLE as POETRY_INDEX
from groundup.registries.server import Request, Response

_PAGE = re.compile(r"/simple/(?P<name>[^/]{1,200})/?")
_FILE = re.compile(r"/files/(?P<token>[0-9a-f]{32})/(?P<name>[^/]{1,300})")


class PyPIGateway(RegistryGateway):
    """One sandbox's way to the package index."""

    client = PyPIClient
    _registry: PyPIClient
    port = 29101
    entrance = "/simple/"
    hint = "/simple/<project>/"
    sizes_unknown = False

    def __init__(self, registry: PyPIClient, **rules: Unpack[GatewayRules]) -> None:
        super().__init__(registry, **rules)
        self._named: dict[str, tuple[str, ProjectFile]] = {}
        self._pages: dict[str, Found[ProjectPage]] = {}
        self.pinned: Mapping[str, frozenset[str]] = {}
        """By project, the only files that its page names, by sha256: a page can hold thousands."""

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
                "PIPENV_REQUESTS_TIMEOUT": "900",
                "PIPENV_TIMEOUT": "900",
                "PDM_PYPI_URL": address,
                "PDM_CHECK_UPDATE": "0",
                "PDM_REQUEST_TIMEOUT": "900",
                POETRY_INDEX: address,
                "POETRY_REQUESTS_TIMEOUT": "900",
                "UV_DEFAULT_INDEX": address,
                "UV_PYTHON_DOWNLOADS": "never",
                "UV_HTTP_RETRIES": "2",
                "UV_HTTP_TIMEOUT": "900",
            }
        )

    def routes(self) -> tuple[Route, ...]:
        return ((_PAGE, self._page), (_FILE, self._file))

    def _subject(self, match: re.Match[str]) -> str:
        return _spelt(match["name"]) if match.re is _PAGE else match["name"]

    def shorten(self, pinned: Mapping[str, frozenset[str]]) -> None:
        """Let the next gateway that asks for nothing but the files *pinned* have what pages said here of these."""
        for project, wanted in pinned.items():
            if found := self._pages.get(project):
                self._registry.keep_short_page(project, wanted, self._cutoff, found)

    async def _page(self, request: Request, match: re.Match[str]) -> Response:
        project = _spelt(match["name"])
        self._admit(project)
        pinned = self.pinned.get(project)
        found = None if pinned is None else self._registry.short_page(project, pinned, self._cutoff)
        if found is None:
            found = await self._registry.page(project, self._cutoff, pinned or frozenset())
            self._pages[project] = found
        page = found.page if pinned is None else shortened(found.page, pinned)
        accept = request.headers.get("accept", "")
        as_json = wants_json(accept)
        known = self._registry.written.get(project)
        if not as_json or known is None or known.page is not page:
            known = await asyncio.to_thread(_written, project, page, as_json=as_json)
        if as_json and page is found.page:
            self._registry.written[project] = known
        self._named.update({token: (project, file) for token, file in known.tokens.items()})
        body = known.body
        self._note_page(project, found, len(body))
        kind = JSON_TYPE if as_json else HTML_TYPE if HTML_TYPE in accept else "text/html"
        keeping = "max-age=600" if page is found.page else "no-store"
        return Response(200, body, content_type=kind, headers={"Vary": "Accept", "Cache-Control": keeping})

    async def _file(self, request: Request, match: re.Match[str]) -> Response:
        token, filename = match["token"], match["name"]
        project, file = self._named.get(token, ("", None))
        if file is None or filename not in {file.filename, f"{file.filename}.metadata"}:
            return text(404, "no page of this gateway named such a file")
        whole = filename == file.filename
        if not whole and file.metadata is None:
            return text(404, "the index offers no separate metadata for this file")
        place = f"{token}/{filename}"
        self._ledger.charge(place, (file.size or 0) if whole else 0)
        found = await (self._registry.file(file) if whole else self._registry.metadata(file))
        kind = "file" if whole else "metadata"
        what = Fetched(kind=kind, name=project, filename=file.filename, version=file.version)
        return await self._given(place, found, what)


def _written(project: str, page: ProjectPage, *, as_json: bool) -> WrittenPage:
    tokens = {file.filename: _token(project, file) for file in page.files}

    def address(file: ProjectFile) -> str:
        return f"/files/{tokens[file.filename]}/{file.filename}"

    body = (page_as_json if as_json else page_as_html)(page, address)
    return WrittenPage(page, {tokens[file.filename]: file for file in page.files}, body)


def _spelt(name: str) -> str:
    return PyPIClient.spelling(name) if PyPIClient.is_name(name) else name


def _token(project: str, file: ProjectFile) -> str:
    """Return what a sandbox calls a file: says nothing of its address, and is the same the next time."""
    named = "\n".join([project, file.filename, file.hashes.get("sha256", "")])
    return hashlib.sha256(named.encode()).hexdigest()[:32]
