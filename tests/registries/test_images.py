"""Container images of a registry, without an engine."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from groundup.domain.errors import NetworkError, UsageError
from groundup.registries.images import ImageClient
from groundup.trees.images import read_config, unpack_image
from tests.trees.saved_images import save_layout

TOKEN = "secret-token"


@contextmanager
def registry(
    layout: Path,
    *,
    spoilt: bool = False,
    elsewhere: bool = False,
    machines: Sequence[tuple[str, str]] = (("linux", "amd64"), ("linux", "arm64")),
) -> Iterator[str]:
    """Serve the image in *layout* as `acme/library:1.0` to who fetched a token; yield the registry's host.

    *spoilt*: what has a digest has other bytes. *elsewhere*: another host has the blobs, and takes nobody's token.
    *machines*: the systems and architectures that it is published for.
    """
    index = json.loads((layout / "index.json").read_text())["manifests"][0]
    described = [
        {"digest": index["digest"], "platform": {"os": system, "architecture": name}} for system, name in machines
    ]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/token":
                self.answer(json.dumps({"token": TOKEN}).encode())
            elif path.startswith("/store/") and "Authorization" not in self.headers:
                self.answer((layout / "blobs/sha256" / path.rpartition(":")[2]).read_bytes())
            elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.send_response(401)
                realm = f"http://{self.headers['Host']}/token"
                self.send_header("WWW-Authenticate", f'Bearer realm="{realm}",service="x",scope="y"')
                self.end_headers()
            elif path == "/v2/acme/library/manifests/1.0":
                self.answer(json.dumps({"manifests": described}).encode())
            elif elsewhere and "/blobs/" in path:
                self.send_response(307)
                self.send_header(
                    "Location", f"http://localhost:{server.server_port}/store/{path.rpartition('/')[2]}"
                )
                self.end_headers()
            elif (blob := layout / "blobs/sha256" / path.rpartition(":")[2]).is_file():
                self.answer(blob.read_bytes() + (b"x" if spoilt and "/blobs/" in path else b""))
            else:
                self.send_error(404)

        def answer(self, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_an_image_is_fetched_whole(tmp_path: Path) -> None:
    """By its name, for this kind of machine, with a token for anybody."""
    published = save_layout(tmp_path / "published", [("a", "1")])
    with registry(published) as host:
        asyncio.run(ImageClient(f"{host}/acme/library:1.0", tmp_path).fetch(tmp_path / "fetched"))
    assert read_config(tmp_path / "fetched").digest == read_config(published).digest
    unpack_image(tmp_path / "fetched", tmp_path / "out")
    assert (tmp_path / "out/a").read_text() == "1"


def test_blobs_that_another_host_has_are_fetched_there(tmp_path: Path) -> None:
    """Public registries send clients to a store, which refuses the registry's token."""
    published = save_layout(tmp_path / "published", [("a", "1")])
    with registry(published, elsewhere=True) as host:
        asyncio.run(ImageClient(f"{host}/acme/library:1.0", tmp_path).fetch(tmp_path / "fetched"))
    assert read_config(tmp_path / "fetched").digest == read_config(published).digest


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """Another tag, and a registry that does not answer."""
    published = save_layout(tmp_path / "published", [("a", "1")])
    with registry(published) as host, pytest.raises(UsageError, match=r"no image .*:2\.0 for you \(404\)"):
        asyncio.run(ImageClient(f"{host}/acme/library:2.0", tmp_path).fetch(tmp_path / "fetched"))
    with pytest.raises(NetworkError, match="cannot fetch the image"):
        asyncio.run(ImageClient(f"{host}/acme/library:1.0", tmp_path).fetch(tmp_path / "again"))


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    """Each part has the digest by which it was asked for."""
    published = save_layout(tmp_path / "published", [("a", "1")])
    with (
        registry(published, spoilt=True) as host,
        pytest.raises(NetworkError, match="other bytes than its digest"),
    ):
        asyncio.run(ImageClient(f"{host}/acme/library:1.0", tmp_path).fetch(tmp_path / "fetched"))


def test_an_image_for_other_machines_is_refused(tmp_path: Path) -> None:
    """Its programs could not start here; an index without any image describes none."""
    published = save_layout(tmp_path / "published", [("a", "1")])
    for at, machines in enumerate(([("windows", "amd64"), ("linux", "s390x")], [])):
        with (
            registry(published, machines=machines) as host,
            pytest.raises(UsageError, match="is published for other machines than"),
        ):
            asyncio.run(ImageClient(f"{host}/acme/library:1.0", tmp_path).fetch(tmp_path / f"fetched{at}"))


@pytest.mark.parametrize("name", ["base", "acme/library:1.0", "host.example/", "host.example/A b:1"])
def test_a_name_without_a_registry_is_refused(name: str) -> None:
    """It says what to name instead."""
    with pytest.raises(UsageError, match="HOST/NAME:TAG"):
        ImageClient(name)
