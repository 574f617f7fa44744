"""A packed set from an address: fetched, checked by its digest, and installed."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, UsageError
from groundup.settings import load
from groundup.suites.pulling import address_of, fetched


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a folder with one file."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "set.tar.gz").write_bytes(b"a set")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


async def test_a_file_comes_from_where_it_lies(served: str, tmp_path: Path) -> None:
    """From a server or this machine; with a digest it must be the very one."""
    settings = load().but(cache_dir=tmp_path / "cache")
    work = tmp_path / "work"
    work.mkdir()
    right, wrong = hashlib.sha256(b"a set").hexdigest(), "0" * 64

    for address in (f"{served}/set.tar.gz", f"file://{tmp_path}/served/set.tar.gz"):
        assert (await fetched(f"{address}#sha256={right}", work, settings)).read_bytes() == b"a set"
        assert (await fetched(address, work, settings)).read_bytes() == b"a set"
        with pytest.raises(NetworkError, match="has not the SHA-256"):
            await fetched(f"{address}#sha256={wrong}", work, settings)
        with pytest.raises(UsageError, match="is no digest"):
            await fetched(f"{address}#v1", work, settings)
    with pytest.raises(NetworkError, match="does not exist"):
        await fetched(f"{served}/absent", work, settings)
    with pytest.raises(UsageError, match="cannot be read"):
        await fetched(f"file://{tmp_path}/absent", work, settings)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https:/example.org/a", "https://example.org/a"),
        ("http://example.org/a", "http://example.org/a"),
        ("file:///tmp/a", "file:///tmp/a"),
        ("file:/tmp/a", "file:///tmp/a"),
        ("./https", None),
        ("my-set.tar.gz", None),
    ],
)
def test_an_address_differs_from_a_path(text: str, address: str | None) -> None:
    """A path object joins the slashes, which come back."""
    assert address_of(text) == address
