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
from groundup.registries.images import ImageClient, _place
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
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
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


@contextmanager
def refusing(status: int, challenge: str = "") -> Iterator[tuple[str, list[str | None]]]:
    """Answer every request with *status*; yield the host, and the authorizations that were sent."""
    sent: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers.get("Authorization"))
            self.send_response(status)
            self.send_header("WWW-Authenticate", challenge)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", sent
        server.shutdown()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_a_registry_refuses_is_the_user_s_to_mend(tmp_path: Path, status: int) -> None:
    """By another name, or by logging in; other answers are the registry's fault."""
    with refusing(status) as (host, _), pytest.raises(UsageError) as caught:
        asyncio.run(ImageClient(f"{host}/acme/a", tmp_path).fetch(tmp_path / "fetched"))
    assert str(caught.value) == (
        f"the registry has no image {host}/acme/a for you ({status}); look at the name, or `docker login {host}`"
    )
    for other in (400, 402, 405, 500):
        with refusing(other) as (host, _), pytest.raises(NetworkError, match=f"cannot fetch the image .*{other}"):
            asyncio.run(ImageClient(f"{host}/acme/a", tmp_path).fetch(tmp_path / f"fetched-{other}"))


def test_who_has_logged_in_says_so_where_it_is_asked(tmp_path: Path) -> None:
    """Once, with what Docker keeps for that host."""
    with refusing(401, 'Basic realm="x"') as (host, sent):
        (tmp_path / ".docker").mkdir()
        login = {"auths": {host: {"auth": "bWU6cHc="}, "other": {"auth": "no"}}}
        (tmp_path / ".docker" / "config.json").write_text(json.dumps(login))
        with pytest.raises(UsageError):
            asyncio.run(ImageClient(f"{host}/acme/a", tmp_path).fetch(tmp_path / "fetched"))
    assert sent == [None, "Basic bWU6cHc="]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("ghcr.io/a/b", "https://ghcr.io/v2/a/b/manifests/latest"),
        ("ghcr.io/a/b:1.0", "https://ghcr.io/v2/a/b/manifests/1.0"),
        (f"ghcr.io/a:1@sha256:{'a' * 64}", f"https://ghcr.io/v2/a/manifests/sha256:{'a' * 64}"),
        ("localhost/a_b/c-d", "http://localhost/v2/a_b/c-d/manifests/latest"),
        ("localhost:5000/a", "http://localhost:5000/v2/a/manifests/latest"),
        ("127.1.2.3:5000/a", "http://127.1.2.3:5000/v2/a/manifests/latest"),
        ("host:5000/a", "https://host:5000/v2/a/manifests/latest"),
    ],
)
def test_an_image_is_asked_for_where_its_name_says(name: str, address: str) -> None:
    """By its digest before its tag, and without encryption on this machine alone."""
    at = _place(name)
    assert at.url("manifests", at.reference) == address


@pytest.mark.parametrize("name", ["base", "acme/library:1.0", "host.example/", "host.example/A b:1"])
def test_a_name_without_a_registry_is_refused(name: str) -> None:
    """It says what to name instead."""
    with pytest.raises(UsageError, match="HOST/NAME:TAG"):
        ImageClient(name)


@contextmanager
def bearer(challenge: str, token_status: int, token: object) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Refuse all but `/token`; yield the host, and what was asked for with which authorization."""
    asked: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization")))
            is_token = self.path.startswith("/token")
            body = json.dumps(token).encode() if is_token else b""
            self.send_response(token_status if is_token else 401)
            self.send_header("WWW-Authenticate", challenge.replace("HOST", self.headers["Host"]))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


REALM = 'realm="http://HOST/token"'
ASKED = "/v2/acme/a/manifests/latest"


@pytest.mark.parametrize(
    ("challenge", "token", "asked"),
    [
        (f'Bearer {REALM},service="s",scope="r"', {"token": "t"}, ["/token?service=s&scope=r", "Bearer t"]),
        (f"bearer {REALM}", {"access_token": "u"}, ["/token?service=&scope=", "Bearer u"]),
        ('Bearer service="s"', {}, [None]),
        ("", {}, [None]),
        (f"Basic {REALM}", {}, [None]),
        (f"Digest {REALM}", {}, [None]),
    ],
)
def test_a_token_is_fetched_where_the_registry_says(
    tmp_path: Path, challenge: str, token: object, asked: list[str | None]
) -> None:
    """Once; who has no login and meets another way to log in asks again without."""
    with bearer(challenge, 200, token) as (host, met), pytest.raises(UsageError, match=r"for you \(401\)"):
        asyncio.run(ImageClient(f"{host}/acme/a", tmp_path).fetch(tmp_path / "fetched"))
    *between, last = asked
    assert met == [(ASKED, None), *((place, None) for place in between), (ASKED, last)]


def test_a_login_does_not_go_where_it_was_not_asked_for(tmp_path: Path) -> None:
    """It fetches a token, and is sent itself to a registry that takes it alone."""
    for challenge, sent in ((f"Bearer {REALM}", "Bearer t"), ("Digest", None), ("Basic", "Basic bWU6cHc=")):
        with bearer(challenge, 200, {"token": "t"}) as (host, met):
            (tmp_path / ".docker").mkdir(exist_ok=True)
            login = json.dumps({"auths": {host: {"auth": "bWU6cHc="}}})
            (tmp_path / ".docker" / "config.json").write_text(login)
            with pytest.raises(UsageError):
                asyncio.run(ImageClient(f"{host}/acme/a", tmp_path).fetch(tmp_path / challenge.partition(" ")[0]))
        tokens = [("/token?service=&scope=", "Basic bWU6cHc=")] if "Bearer" in challenge else []
        assert met == [(ASKED, None), *tokens, (ASKED, sent)]


@pytest.mark.parametrize(
    ("status", "token", "error", "says"),
    [
        (503, {"token": "t"}, NetworkError, "cannot fetch the image .*503"),
        (200, {}, UsageError, "describes no image: 'access_token'"),
        (200, [], UsageError, "describes no image"),
        (200, "token", UsageError, "describes no image"),
    ],
)
def test_a_token_that_cannot_be_had_says_so(
    tmp_path: Path, status: int, token: object, error: type[Exception], says: str
) -> None:
    """The registry's fault is told from an answer that is none."""
    with bearer(f"Bearer {REALM}", status, token) as (host, _), pytest.raises(error, match=says):
        asyncio.run(ImageClient(f"{host}/acme/a", tmp_path).fetch(tmp_path / "fetched"))
