"""Tests of groundup.registries.upstream: what an odd answer of a registry means."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, UsageError
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


async def test_a_host_that_is_down_is_tried_once_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many names would wait for it; an answer ends that at once."""
    monkeypatch.setattr("groundup.registries.upstream._PAUSES_S", (0.0, 0.0))
    answers = {"/down/": 500, "/page/": 200}
    asked: list[str] = []

    async def handler(request: Request) -> Response:
        asked.append(request.path)
        return Response(answers[request.path.partition("?")[0]], b"page")

    async with GatewayServer(handler) as server:
        listening = socket.create_server(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await server.serve(listening)
        upstream = Upstream(RegistrySettings(indexes=(Index(url=base),), trust_environment=False))
        for tries, is_down in ((3, True), (1, True)):
            asked.clear()
            with pytest.raises(NetworkError) as caught:
                await upstream.page(f"{base}/down/?token=secret", accept="*/*")
            assert str(caught.value) == (
                f"{base}/down/ cannot be reached: it answers with HTTP 500; check the network and the proxy "
                "settings, then do the same again"
            )
            assert len(asked) == tries
            assert upstream.seems_down(f"{base}/page/") is is_down
            assert not upstream.seems_down("http://127.0.0.1:1/")
        await upstream.page(f"{base}/page/", accept="*/*")
        assert not upstream.seems_down(f"{base}/down/")
        asked.clear()
        with pytest.raises(NetworkError):
            await upstream.page(f"{base}/down/", accept="*/*")
        assert len(asked) == 3
        await upstream.close()


async def test_the_page_that_every_registry_has_does_not_vouch_for_itself() -> None:
    """Where it is the one that is refused, or another host's, nothing shows that the registry works."""
    async with registry({"/known/": 403}) as (upstream, base):
        with pytest.raises(NetworkError) as caught:
            await upstream.page(f"{base}/known/", accept="*/*")
        assert str(caught.value) == (
            f"{base}/known/ refuses access (HTTP 403); check the credentials in given, netrc or the proxy's "
            "address"
        )
    async with registry({"/odd/": 403}) as (_, base), registry({"/known/": 200}) as (other, _):
        with pytest.raises(NetworkError, match="refuses access"):
            await other.page(f"{base}/odd/", accept="*/*")


def test_a_bundle_that_is_none_says_so(tmp_path: Path) -> None:
    """Before anything is asked."""
    for content, says in (("no certificate", ""), (None, "No such file")):
        path = tmp_path / "bundle.pem"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        upstream = Upstream(RegistrySettings(indexes=(Index(url="https://x.test"),), ca_bundle=path))
        with pytest.raises(UsageError) as caught:
            upstream._trust()
        assert str(caught.value).startswith(f"the certificate bundle {path} cannot be read: ")
        assert str(caught.value).endswith("; mend or unset it")
        assert says in str(caught.value)
