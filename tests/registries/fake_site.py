"""A site on loopback whose pages a test writes, and a client as a sandbox has it."""

import gzip
import hashlib
import io
import json
import socket
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote

import httpx

from groundup.registries.gateway import RegistryGateway
from groundup.registries.server import GatewayServer, Request, Response


class Site:
    """Pages by path, and what was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        """Content types of pages that are no JSON."""
        self.asked: list[Request] = []
        self.password: str | None = None
        """The Authorization without which nothing is given."""
        self.address = ""
        self._server: GatewayServer | None = None

    def paths(self) -> list[str]:
        """Return what was asked for, in order."""
        return [unquote(request.path) for request in self.asked]

    def write(self, path: str, content: object) -> None:
        """Write a page: bytes as they are, anything else as JSON."""
        self.pages[path] = content if isinstance(content, bytes) else json.dumps(content).encode()

    async def close(self) -> None:
        """Be down from now on."""
        if self._server is not None:
            await self._server.close()
            self._server = None

    async def _handle(self, request: Request) -> Response:
        self.asked.append(request)
        path = unquote(request.path)
        if self.password is not None and request.headers.get("authorization") != self.password:
            return Response(401, b"")
        if path not in self.pages:
            return Response(404, b"{}", content_type="application/json")
        body = self.pages[path]
        etag = f'"{hashlib.sha256(body).hexdigest()}"'
        if request.headers.get("if-none-match") == etag:
            return Response(304, b"")
        kind = self.types.get(path, "application/json")
        return Response(200, body, content_type=kind, headers={"ETag": etag})

    @classmethod
    @asynccontextmanager
    async def serving(cls) -> "AsyncIterator[Site]":
        """Serve an empty site."""
        site = cls()
        site._server = GatewayServer(site._handle)
        listening = socket.create_server(("127.0.0.1", 0))
        site.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await site._server.serve(listening)
        try:
            yield site
        finally:
            await site.close()


@asynccontextmanager
async def guest(gateway: RegistryGateway) -> AsyncIterator[httpx.AsyncClient]:
    """A client as a sandbox has it: it knows the gateway's port and nothing else."""
    async with gateway:
        listening = socket.create_server(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await gateway.server.serve(listening)
        async with httpx.AsyncClient(trust_env=False, base_url=base) as client:
            yield client


def packed(folder: str, files: dict[str, str]) -> bytes:
    """Return a .tgz whose files lie below *folder*; the same files make the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(text.encode())
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(plain.getvalue(), mtime=0)
