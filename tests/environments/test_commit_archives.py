"""Originals as archives of their repository's host, on a machine without Git."""

import functools
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, TaskError, UsageError
from groundup.environments.git import answers
from groundup.environments.layers import LayerStore
from groundup.environments.requests import GitSource
from groundup.environments.sources import git_layer
from groundup.settings import Settings
from groundup.suites.places import PublishedRepository
from groundup.suites.pulling import pull
from groundup.trees.digest import tree_digest

COMMIT = "1" * 40
FILES = {"lib.py": "x = 1\n", "tests/test_lib.py": "def test(): pass\n"}
LARGE = "data/deep/large.bin"


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A host with `somebody/lib`, as a mirror's pattern, for a machine without programs."""
    served = tmp_path / "served" / "somebody" / "lib"
    tree = tmp_path / "made" / f"lib-{COMMIT}"
    for name, text in {**FILES, LARGE: "large"}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (served / "archive").mkdir(parents=True)
    with tarfile.open(served / "archive" / f"{COMMIT}.tar.gz", "w:gz", pax_headers={"comment": COMMIT}) as archive:
        archive.add(tree, tree.name)
    (served / "info").mkdir()
    (served / "info" / "refs").write_text("# service=git-upload-pack\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    serving = functools.partial(Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/{{owner}}/{{name}}.git"
        server.shutdown()


@pytest.fixture
def wanted(tmp_path: Path) -> GitSource:
    """The commit without its large file."""
    tree = tmp_path / "wanted"
    for name, text in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    digest = tree_digest(tree).digest
    return GitSource(
        repository="example.invalid/somebody/lib", commit=COMMIT, tree_digest=digest, without=(LARGE,)
    )


async def test_a_commit_comes_as_its_hosts_archive(host: str, wanted: GitSource, tmp_path: Path) -> None:
    """The layer is the one that Git would have made: the recipe's digest, without what it leaves out."""
    layer = await git_layer(wanted, LayerStore(tmp_path / "layers"), host)
    assert layer.built["tree"] == wanted.tree_digest
    assert not (layer.path / "data").exists()


async def test_an_archive_that_attributes_changed_is_refused(host: str, wanted: GitSource, tmp_path: Path) -> None:
    """And what is known to be such a one is not fetched."""
    store = LayerStore(tmp_path / "layers")
    with pytest.raises(TaskError, match="its host's archive holds another tree; install Git"):
        await git_layer(wanted.but(without=()), store, host)
    with pytest.raises(NetworkError, match=r"archive/2{40}\.tar\.gz is not there; .*install Git"):
        await git_layer(wanted.but(commit="2" * 40), store, host)


async def test_data_comes_as_its_hosts_archive(host: str, tmp_path: Path) -> None:
    """The folder of the commit alone is put in place, with the commit it came from."""
    address = "https://example.invalid/somebody/lib"
    published = PublishedRepository(address=address, commit=COMMIT, folder="tests", licence="none")
    settings = Settings(data_dir=tmp_path / "data", git_mirror=host)
    pulled = await pull("some", published, settings)
    assert pulled.origin.commit == COMMIT
    assert (tmp_path / "data" / "some" / "data" / "test_lib.py").read_text() == FILES["tests/test_lib.py"]
    assert not [*(tmp_path / "data").rglob("lib.py")]
    with pytest.raises(UsageError, match="has no folder 'docs'"):
        await pull("some", published.but(folder="docs"), settings)


async def test_repositories_are_asked_without_git(host: str) -> None:
    """Where one is a folder, only Git reads it."""
    assert await answers("example.invalid/somebody/lib", host)
    assert not await answers("example.invalid/somebody/other", host)
    assert not await answers("/srv/somebody/lib", None)
