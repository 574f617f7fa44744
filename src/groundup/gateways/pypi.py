"""The package index as one sandbox sees it: plain HTTP on its own loopback, with one task's rules applied.

Serves the Simple API (PEP 503 and PEP 691 with PEP 658 metadata). Addresses, certificates and credentials stay in
`PyPIRegistry` on the host: a sandbox asks for projects by name and for files by tokens that a page gave it.
"""

import hashlib
import itertools
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Self
from urllib.parse import unquote, urlsplit

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.gateways.pypi_registry import FileFound, PyPIRegistry
from groundup.gateways.records import Fetched, Trouble, UnknownPackageError
from groundup.gateways.server import GatewayServer, Request, Response, ServerLimits
from groundup.gateways.simple_pages import (
    HTML_TYPE,
    JSON_TYPE,
    ProjectFile,
    normalised,
    page_as_html,
    page_as_json,
    wants_json,
)
from groundup.sandbox.protocol import Sandbox

_PAGE = re.compile(r"/simple/([^/]{1,200})/?")
_FILE = re.compile(r"/files/([0-9a-f]{32})/([^/]{1,300})")
_TOLD = 2000
"""How many records of one kind are kept: a sandbox can ask without end."""
MAX_BYTES = 8 * 1024**3
"""How much one sandbox may make the host fetch."""
_PROJECTS = 3000
"""How many projects one sandbox may ask for."""


class PyPIGateway:
    """One sandbox's way to packages, used as a context; `fetched` and `troubles` say what happened."""

    def __init__(
        self,
        registry: PyPIRegistry,
        *,
        refused: Iterable[str] = (),
        cutoff: datetime | None = None,
        limits: ServerLimits | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.refused = frozenset(normalised(name) for name in refused)
        self._registry = registry
        self._max_bytes = max_bytes
        self._taken: dict[str, int] = {}
        """Sizes of what was fetched, by address inside: asking again, or for a head only, changes nothing."""
        self._waiting: dict[int, float] = {}
        """When each question was asked that has no answer yet."""
        self._cutoff = cutoff
        self._server = GatewayServer(self._handle, limits)
        self._tickets = itertools.count()
        self._named: dict[str, tuple[str, ProjectFile]] = {}
        self._projects: set[str] = set()
        self._fetched: dict[tuple[str, str, str | None], Fetched] = {}
        self._troubles: dict[tuple[str, str], Trouble] = {}

    @property
    def fetched(self) -> tuple[Fetched, ...]:
        """What was given out, each thing once, in the order it was first asked for."""
        return tuple(self._fetched.values())

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What was not given out."""
        found = tuple(self._troubles.values())
        if self._server.exhausted:
            limit = self._server.limits.total_bytes
            return (
                *found,
                Trouble(kind="budget", name="", message=f"more than {limit} bytes would have been fetched"),
            )
        return found

    def longest_wait_s(self) -> float:
        """Return how long the oldest question has waited for its answer."""
        return time.monotonic() - min(self._waiting.values()) if self._waiting else 0.0

    async def attach(self, sandbox: Sandbox) -> str:
        """Serve *sandbox* on a port of its own loopback; return the index address to use inside."""
        listening = await sandbox.listen(0)
        port = listening.getsockname()[1]
        await self._server.serve(listening)
        return f"http://127.0.0.1:{port}/simple/"

    @property
    def server(self) -> GatewayServer:
        """The server, for sockets that are not a sandbox's."""
        return self._server

    async def close(self) -> None:
        """Stop serving. The registry stays open: it is shared."""
        await self._server.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    # --- requests

    async def _handle(self, request: Request) -> Response:
        path = urlsplit(request.path).path
        if match := _PAGE.fullmatch(path):
            name = unquote(match[1])
            return await self._guarded(name, lambda: self._page(name, request))
        if match := _FILE.fullmatch(path):
            token, filename = match[1], unquote(match[2])
            return await self._guarded(filename, lambda: self._file(token, filename))
        return _text(404, "nothing is here: ask for /simple/<project>/")

    async def _guarded(self, name: str, work: Callable[[], Awaitable[Response]]) -> Response:
        """Turn what can go wrong into an answer and a record."""
        ticket = next(self._tickets)
        self._waiting[ticket] = time.monotonic()
        try:
            return await work()
        except UnknownPackageError as error:
            return self._denied(404, Trouble(kind="unknown", name=name[:200], message=str(error)))
        except NetworkError as error:
            return self._denied(502, Trouble(kind="network", name=name[:200], message=str(error)))
        except InfrastructureError as error:
            return self._denied(503, Trouble(kind="network", name=name[:200], message=str(error)))
        finally:
            del self._waiting[ticket]

    async def _page(self, name: str, request: Request) -> Response:
        try:
            project = normalised(name)
        except ValueError:
            return _text(404, "this is not a project name")
        if project in self.refused:
            message = f"the task forbids to install {project!r}"
            return self._denied(403, Trouble(kind="refused", name=project, message=message))
        if project not in self._projects and len(self._projects) >= _PROJECTS:
            message = f"more than {_PROJECTS} projects were asked for"
            return self._denied(403, Trouble(kind="budget", name="", message=message))
        self._projects.add(project)
        found = await self._registry.page(project, self._cutoff)
        tokens = {file.filename: _token(project, file) for file in found.page.files}
        self._named.update({tokens[file.filename]: (project, file) for file in found.page.files})

        def address(file: ProjectFile) -> str:
            return f"/files/{tokens[file.filename]}/{file.filename}"

        as_json = wants_json(request.headers.get("accept", ""))
        body = page_as_json(found.page, address) if as_json else page_as_html(found.page, address)
        self._note(
            Fetched(kind="page", name=project, bytes=len(body), from_cache=found.from_cache, stale=found.stale)
        )
        kind = (
            JSON_TYPE if as_json else HTML_TYPE if HTML_TYPE in request.headers.get("accept", "") else "text/html"
        )
        return Response(200, body, content_type=kind, headers={"Vary": "Accept", "Cache-Control": "max-age=600"})

    async def _file(self, token: str, filename: str) -> Response:
        project, file = self._named.get(token, ("", None))
        if file is None or filename not in {file.filename, f"{file.filename}.metadata"}:
            return _text(404, "no page of this gateway named such a file")
        whole = filename == file.filename
        if not whole and file.metadata is None:
            return _text(404, "the index offers no separate metadata for this file")
        place = f"{token}/{filename}"
        self._taken.setdefault(place, (file.size or 0) if whole else 0)
        if sum(self._taken.values()) > self._max_bytes:
            message = f"more than {self._max_bytes} bytes would have been fetched"
            return self._denied(403, Trouble(kind="budget", name="", message=message))
        found = await (self._registry.file(file) if whole else self._registry.metadata(file))
        self._taken[place] = found.size
        self._note(_fetched("file" if whole else "metadata", project, file, found))
        return Response(200, found.path, content_type="application/octet-stream")

    # --- records

    def _denied(self, status: int, trouble: Trouble) -> Response:
        if len(self._troubles) < _TOLD:
            self._troubles.setdefault((trouble.kind, trouble.name), trouble)
        return _text(status, trouble.message)

    def _note(self, fetched: Fetched) -> None:
        if len(self._fetched) < _TOLD:
            self._fetched.setdefault((fetched.kind, fetched.name, fetched.filename), fetched)


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


def _text(status: int, message: str) -> Response:
    return Response(status, f"{message}\n".encode())
