"""Tests of groundup.registries.pypi.gateway: what a sandbox can get, and what it can never see."""

import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx
import pytest

from groundup.domain.errors import NetworkError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.pypi.client import PyPIClient
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.registries.pypi.pages import ACCEPTED, HTML_TYPE, JSON_TYPE
from groundup.registries.server import ServerLimits
from groundup.registries.settings import Credentials, Index, RegistrySettings
from groundup.sandbox.protocol import SandboxSpec
from tests.registries.fake_index import FakeIndex, make_sdist, make_wheel, sha256
from tests.sandbox.fake import FakeProvider


@asynccontextmanager
async def guest(gateway: PyPIGateway) -> AsyncIterator[httpx.AsyncClient]:
    """A client as a sandbox has it: it knows the gateway's port and nothing else."""
    async with gateway:
        listening = socket.create_server(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await gateway.server.serve(listening)
        async with httpx.AsyncClient(trust_env=False, base_url=base, headers={"Accept": ACCEPTED}) as client:
            yield client


@pytest.mark.parametrize("form", ["json", "html"])
async def test_a_guest_gets_pages_and_files(index: FakeIndex, registry: PyPIClient, form: str) -> None:
    """Pages of either form lead to the true files, through the gateway's own addresses only."""
    index.form = "json" if form == "json" else "html"
    wheel = make_wheel("demo", "1.0")
    index.add(wheel)
    gateway = PyPIGateway(registry)
    async with guest(gateway) as client:
        page = await client.get("/simple/Demo/")
        (file,) = page.json()["files"]
        assert file["hashes"] == {"sha256": sha256(wheel[1])}
        assert (await client.get(file["url"])).content == wheel[1]
        html = (await client.get("/simple/demo/", headers={"Accept": "text/html"})).text
        assert f'href="{file["url"]}#sha256=' in html
        assert index.url not in page.text + html
    ended = [(fetched.kind, fetched.name, fetched.version, fetched.from_cache) for fetched in gateway.fetched]
    assert ended == [("page", "demo", None, False), ("file", "demo", "1.0", False)]
    assert gateway.troubles == ()


async def test_a_page_names_only_what_is_pinned(index: FakeIndex, registry: PyPIClient) -> None:
    """Where files are pinned by hash, no other is named, and no client keeps such a page."""
    wheels = [make_wheel("demo", f"{number}.0") for number in range(3)]
    for wheel in wheels:
        index.add(wheel)
    index.add(make_wheel("other", "1.0"))
    gateway = PyPIGateway(registry)
    async with guest(gateway) as client:
        for pinned, expected in (({}, 3), ({"demo": frozenset({sha256(wheels[1][1])})}, 1), ({}, 3)):
            gateway.pinned = pinned
            page = await client.get("/simple/demo/")
            assert len(page.json()["files"]) == expected
            assert (page.headers["cache-control"] == "no-store") is bool(pinned)
            assert len((await client.get("/simple/other/")).json()["files"]) == 1
            short = await client.get("/simple/demo/", headers={"Accept": "text/html"})
            assert short.text.count("<a ") == expected


async def test_pages_of_what_was_resolved_are_not_read_again_to_install_it(
    index: FakeIndex, registry: PyPIClient
) -> None:
    """Another sandbox gets what a page said of these files, but not what is refused there, or another file."""
    wheels = [make_wheel("demo", f"{number}.0") for number in range(3)]
    for wheel in wheels:
        index.add(wheel)
    pinned, other = ({"demo": frozenset({sha256(content)})} for _, content in wheels[1:])
    resolving = PyPIGateway(registry)
    async with guest(resolving) as client:
        await client.get("/simple/demo/")
        resolving.shorten({**pinned, "absent": frozenset()})
    shutil.rmtree(registry.cache.root / "records")  # as when too many pages are read for all to be kept in memory
    index.asked.clear()
    installing, refusing = PyPIGateway(registry), PyPIGateway(registry, refused=["demo"])
    installing.pinned = refusing.pinned = pinned
    async with guest(installing) as client:
        (file,) = (await client.get("/simple/demo/")).json()["files"]
        assert (await client.get(file["url"])).content == wheels[1][1]
        assert index.asked == [f"/packages/demo/{wheels[1][0]}"]
        installing.pinned = other
        (file,) = (await client.get("/simple/demo/")).json()["files"]
        assert file["filename"] == wheels[2][0]
    async with guest(refusing) as client:
        assert (await client.get("/simple/demo/")).status_code == 403
    later = PyPIGateway(registry, cutoff=cutoff_instant("2019-01-01"))
    later.pinned = pinned
    async with guest(later) as client:
        assert (await client.get("/simple/demo/")).status_code == 404


async def test_a_kept_page_that_lacks_what_is_pinned_is_asked_for_again(
    index: FakeIndex, registry: PyPIClient
) -> None:
    """A mirror may have lagged behind when the page was kept, and a page kept after the cut-off never ages."""
    index.add(make_wheel("demo", "1.0"))
    asking = PyPIGateway(registry, cutoff=cutoff_instant("2025-01-01"))
    async with guest(asking) as client:
        await client.get("/simple/demo/")
        newer = make_wheel("demo", "2.0")
        index.add(newer)
        assert len((await client.get("/simple/demo/")).json()["files"]) == 1
        asking.pinned = {"demo": frozenset({sha256(newer[1])})}
        (file,) = (await client.get("/simple/demo/")).json()["files"]
        assert file["filename"] == newer[0]
        asking.pinned = {}
        assert len((await client.get("/simple/demo/")).json()["files"]) == 2


async def test_metadata_is_passed_on_and_verified(index: FakeIndex, registry: PyPIClient) -> None:
    """A guest can read a wheel's metadata without the wheel, where the index offers it."""
    wheel = make_wheel("demo", "1.0")
    index.add(wheel)
    index.metadata[wheel[0]] = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
    async with guest(PyPIGateway(registry)) as client:
        (file,) = (await client.get("/simple/demo/")).json()["files"]
        assert file["core-metadata"] == {"sha256": sha256(index.metadata[wheel[0]])}
        assert (await client.get(file["url"] + ".metadata")).content == index.metadata[wheel[0]]
    assert index.files_asked() == [f"{wheel[0]}.metadata"]


async def test_refused_names_are_refused_in_every_spelling(index: FakeIndex, registry: PyPIClient) -> None:
    """A forbidden project answers 403 with the reason, and the index is not even asked."""
    index.add(make_wheel("my_lib", "1.0"))
    gateway = PyPIGateway(registry, refused=["My.Lib"])
    async with guest(gateway) as client:
        for name in ("my-lib", "my_lib", "MY.LIB", "my--lib", "my%2Dlib", "%6dy-lib"):
            answer = await client.get(f"/simple/{name}/")
            assert (answer.status_code, answer.text) == (403, "the task forbids installing 'my-lib'\n")
    assert index.asked == []
    assert [(trouble.kind, trouble.name) for trouble in gateway.troubles] == [("refused", "my-lib")]


async def test_only_files_that_a_page_named_can_be_had(index: FakeIndex, registry: PyPIClient) -> None:
    """The gateway is no open proxy: tokens no one gave out, other names and addresses lead nowhere."""
    index.add(make_wheel("demo", "1.0"))
    index.add(make_wheel("other", "1.0"))
    async with guest(PyPIGateway(registry)) as client:
        url = (await client.get("/simple/demo/")).json()["files"][0]["url"]
    async with guest(PyPIGateway(registry)) as client:
        paths = [url, "/files/" + "0" * 32 + "/demo-1.0-py3-none-any.whl", f"/files/{index.url}/packages/other"]
        paths += ["/", "/simple/", "/simple/../../etc/passwd", "/simple/..%2f..%2fetc/", "/simple/a/b", "/files/"]
        assert [(await client.get(path)).status_code for path in paths] == [404] * len(paths)
        await client.get("/simple/demo/")
        assert (await client.get(url.replace("demo-1.0", "demo-2.0"))).status_code == 404
        assert (await client.get(f"{url}.metadata")).status_code == 404
        assert (await client.get(url)).status_code == 200
    async with httpx.AsyncClient(trust_env=False) as client:
        assert not [path for path in index.asked if path.startswith("/packages/other")]


async def test_credentials_stay_on_the_host(index: FakeIndex, tmp_path: Path) -> None:
    """An index behind a password works, and no answer to the guest holds the password or the address."""
    index.credentials = ("alice", "s3cret/word")
    index.add(make_wheel("demo", "1.0"))
    own = Index(url=f"{index.url}/simple", credentials=Credentials(username="alice", password="s3cret/word"))
    configuration = RegistrySettings(indexes=(own,), trust_environment=False)
    registry = PyPIClient(configuration, FetchCache(tmp_path / "cache"))
    async with guest(PyPIGateway(registry)) as client:
        page = await client.get("/simple/demo/")
        file = await client.get(page.json()["files"][0]["url"])
        missing = await client.get("/simple/absent/")
    seen = "".join(str(dict(answer.headers)) + answer.text for answer in (page, missing)) + str(dict(file.headers))
    assert file.status_code == 200
    assert "s3cret" not in seen
    assert "alice" not in seen
    assert "s3cret" not in repr(configuration)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*.json"))
    assert b"s3cret" not in kept
    await registry.close()


async def test_wrong_credentials_differ_from_unknown_packages(index: FakeIndex, registry: PyPIClient) -> None:
    """A guest gets 502, and the record says what to check on the host."""
    index.credentials = ("alice", "word")
    gateway = PyPIGateway(registry)
    async with guest(gateway) as client:
        assert (await client.get("/simple/demo/")).status_code == 502
    (trouble,) = gateway.troubles
    assert trouble.kind == "network"
    assert "check the credentials" in trouble.message


async def test_unknown_packages_are_recorded(index: FakeIndex, registry: PyPIClient) -> None:
    """What no index knows answers 404 and is reported once."""
    gateway = PyPIGateway(registry)
    async with guest(gateway) as client:
        for _ in range(3):
            assert (await client.get("/simple/absent/")).status_code == 404
    assert [(trouble.kind, trouble.name) for trouble in gateway.troubles] == [("unknown", "absent")]


async def test_the_cutoff_hides_what_is_younger(index: FakeIndex, registry: PyPIClient) -> None:
    """Files uploaded after the cut-off do not exist for the guest, on pages and by token."""
    index.add(make_wheel("demo", "1.0"), uploaded="2023-05-01T00:00:00Z")
    index.add(make_wheel("demo", "2.0"), uploaded="2024-05-01T00:00:00Z")
    index.add(make_wheel("young", "1.0"), uploaded="2024-05-01T00:00:00Z")
    async with guest(PyPIGateway(registry)) as client:
        urls = [file["url"] for file in (await client.get("/simple/demo/")).json()["files"]]
    gateway = PyPIGateway(registry, cutoff=cutoff_instant("2023-12-31"))
    async with guest(gateway) as client:
        files = (await client.get("/simple/demo/")).json()["files"]
        assert [file["filename"] for file in files] == ["demo-1.0-py3-none-any.whl"]
        assert (await client.get(urls[1])).status_code == 404
        assert (await client.get("/simple/young/")).status_code == 404
    assert [(trouble.kind, trouble.name) for trouble in gateway.troubles] == [("unknown", "young")]
    assert {name: f"{first:%Y-%m-%d}" for name, first in gateway.hidden.items()} == dict.fromkeys(
        ("demo", "young"), "2024-05-01"
    )


async def test_an_index_without_dates_cannot_serve_a_cut_off(index: FakeIndex, registry: PyPIClient) -> None:
    """It is the index's fault and said as such: no package is merely taken for too young."""
    index.add(make_wheel("demo", "1.0"), uploaded="")
    with pytest.raises(
        NetworkError, match="does not say when files were published; use another index, or no cut-off"
    ):
        await registry.page("demo", cutoff_instant("2023-12-31"))


async def test_a_guest_cannot_make_the_host_fetch_without_end(index: FakeIndex, registry: PyPIClient) -> None:
    """What is fetched counts once, whether it is taken or only its head is asked for; beyond the limit is 403."""
    for version in ("1.0", "2.0", "3.0"):
        index.add(make_wheel("demo", version))
    gateway = PyPIGateway(registry, max_bytes=900)
    async with guest(gateway) as client:
        urls = [file["url"] for file in (await client.get("/simple/demo/")).json()["files"]]
        statuses = [(await client.head(url)).status_code for url in urls * 2]
    assert statuses[:2] == [200, 200]
    assert statuses[2] == 403
    assert len(index.files_asked()) == 2
    assert [trouble.kind for trouble in gateway.troubles] == ["budget"]


async def test_a_guest_cannot_be_sent_bytes_without_end(index: FakeIndex, registry: PyPIClient) -> None:
    """Beyond its bytes a guest gets 403, and the record says why."""
    index.add(make_sdist("demo", "1.0"))
    gateway = PyPIGateway(registry, limits=ServerLimits(total_bytes=1500))
    async with guest(gateway) as client:
        statuses = [(await client.get("/simple/demo/")).status_code for _ in range(10)]
    assert statuses[0] == 200
    assert statuses[-1] == 403
    assert [trouble.kind for trouble in gateway.troubles] == ["budget"]


async def test_the_clocks_of_a_sandbox_leave_out_what_its_gateway_owes(tmp_path: Path) -> None:
    """A gateway that is attached says how long it kept the guest waiting."""
    registry = cast(PyPIClient, None)  # nothing is asked
    async with FakeProvider() as provider, PyPIGateway(registry) as gateway:
        sandbox = await provider.open(SandboxSpec(workspace=tmp_path))
        await gateway.attach(sandbox)
    assert [owed_s() for owed_s in sandbox.excuses] == [0.0]


async def test_a_guest_can_read_how_long_it_was_owed_answers(index: FakeIndex, registry: PyPIClient) -> None:
    """A program inside leaves that time out of its own clock, as groundup does."""
    index.add(make_wheel("demo", "1.0"))
    gateway = PyPIGateway(registry)
    async with guest(gateway) as client:
        assert float((await client.get("/-/owed")).text) == 0
        await client.get("/simple/demo/")
        assert (gateway.questions, float((await client.get("/-/owed")).text) > 0) == (1, True)
    async with FakeProvider() as provider, PyPIGateway(registry) as attached:
        address = await attached.attach(await provider.open(SandboxSpec(workspace=Path())))
        assert f"http://{attached.owed_at}" == address.replace("/simple/", "/-/owed")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (JSON_TYPE, JSON_TYPE),
        (f"{HTML_TYPE}, text/html;q=0.5", HTML_TYPE),
        ("text/html", "text/html"),
        ("", "text/html"),
    ],
)
async def test_a_page_says_which_form_it_has(
    index: FakeIndex, registry: PyPIClient, accept: str, kind: str
) -> None:
    """As it was asked for; it can be kept for a while, but not for who asks for another form."""
    index.add(make_wheel("demo", "1.0"))
    async with guest(PyPIGateway(registry)) as client:
        for _ in range(2):
            page = await client.get("/simple/demo/", headers={"Accept": accept})
            assert (page.status_code, page.headers["content-type"]) == (200, kind)
            assert (page.headers["vary"], page.headers["cache-control"]) == ("Accept", "max-age=600")
        assert registry.written.keys() == ({"demo"} if kind == JSON_TYPE else set())
        for place, says in (
            (f"/files/{'0' * 32}/demo-1.0-py3-none-any.whl", "no page of this gateway named such a file"),
            ("/other", "nothing is here: ask for /simple/<project>/"),
        ):
            answer = await client.get(place)
            assert (answer.status_code, answer.text.strip()) == (404, says)
