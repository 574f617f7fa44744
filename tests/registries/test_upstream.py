"""Tests of groundup.registries.upstream: what an odd answer of a registry means."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from groundup.domain.errors import NetworkError
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.server import GatewayServer, Request, Response
from groundup.registries.settings import Index, RegistrySettings
from groundup.registries.upstream import Upstream


@asynccontextmanager
async def registry(answers: Mapping[str, int]) -> AsyncIterator[tuple[Upstream, str]]:
    """Yield connections to a registry that answers with these statuses, and its address."""

    async def handler(request: Request) -> Response:
        return Response(answers.get(request.path, 404), b"page")

    async with GatewayServer(handler) as server:
        listening = socket.create_server(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await server.serve(listening)
        configuration = RegistrySettings(indexes=(Index(url=base),), trust_environment=False)
        upstream = Upstream(configuration, (f"{base}/known/",))
        yield upstream, base
        await upstream.close()


@pytest.mark.parametrize("status", [400, 403, 414, 422])
async def test_an_odd_answer_to_one_name_is_no_failure_of_a_registry_that_works(status: int) -> None:
    """A name that a registry forbids is not given out, and is no failure of the network."""
    async with registry({"/odd/": status, "/known/": 200}) as (upstream, base):
        answers = await asyncio.gather(*(upstream.page(f"{base}/odd/", accept="*/*") for _ in range(3)))
        assert {(answer.status, answer.code) for answer in answers} == {(404, 404)}


async def test_a_registry_that_refuses_everybody_is_out_of_order() -> None:
    """Where even what every registry has is refused, credentials are wrong: no one's package is to blame."""
    async with registry({"/odd/": 403, "/known/": 403}) as (upstream, base):
        with pytest.raises(NetworkError, match="refuses access"):
            await upstream.page(f"{base}/odd/", accept="*/*")


async def test_missing_credentials_are_never_a_packages_fault() -> None:
    """401 is about who asks, whatever else is given out."""
    async with registry({"/odd/": 401, "/known/": 200}) as (upstream, base):
        with pytest.raises(NetworkError, match="refuses access"):
            await upstream.page(f"{base}/odd/", accept="*/*")


async def test_a_page_has_a_bound() -> None:
    """One of just that many bytes is read; a longer one is nobody's package, and the connection goes on."""
    async with registry({"/page/": 200, "/known/": 200}) as (upstream, base):
        answer = await upstream.page(f"{base}/page/", accept="*/*", max_bytes=4)
        assert (answer.status, answer.body) == (200, b"page")
        with pytest.raises(UnknownPackageError, match="answers with more than 3 bytes, the most for one page"):
            await upstream.page(f"{base}/page/", accept="*/*", max_bytes=3)
