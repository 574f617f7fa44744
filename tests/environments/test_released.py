"""Originals from Git whose files that matter are on the package index."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.layers import LayerStore
from groundup.environments.local import LocalBuilder
from groundup.environments.requests import EditedSource, GitSource, ReleasedFiles, Upload
from groundup.environments.sources import present_source, released_layer
from groundup.registries.cache import FetchCache
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup.trees.digest import tree_digest
from groundup.trees.edits import FileEdit, sha256_of
from tests.registries.fake_index import FakeIndex, make_sdist, sha256
from tests.sandbox.fake import FakeProvider


@pytest.fixture
async def registry(index: FakeIndex, tmp_path: Path) -> AsyncIterator[PyPIClient]:
    """The local index with an empty cache."""
    found = PyPIClient(index.configuration(), FetchCache(tmp_path / "registry"))
    yield found
    await found.close()


@pytest.fixture
def released(index: FakeIndex, tmp_path: Path) -> ReleasedFiles:
    """The module of version 2, as rules change it, beside what version 1 has, without its metadata."""
    uploads = {}
    for version in ("1.0", "2.0"):
        name, content = make_sdist("demo", version)
        index.add((name, content))
        uploads[f"demo=={version}"] = Upload(
            sha256=sha256(content), files=("demo.py",) if version == "2.0" else ()
        )
    wanted = b"version = '2.1'\n"
    edits = {"demo.py": FileEdit(sha256=sha256_of(wanted), steps=(("replace", "2.0", "2.1"),))}
    draft = ReleasedFiles(
        tree_digest="sha256:" + "0" * 64,
        uploads=uploads,
        without=("PKG-INFO", "backend.py", "pyproject.toml"),
        edits=edits,
    )
    return draft.but(tree_digest=digest_of_draft(tmp_path / "wanted", wanted))


def digest_of_draft(tree: Path, module: bytes) -> str:
    """Return the digest of what a fake source distribution holds, with *module* and without metadata."""
    tree.mkdir()
    (tree / "demo.py").write_bytes(module)
    return tree_digest(tree).digest


def commit(released: ReleasedFiles, tmp_path: Path) -> GitSource:
    """Return a commit that no Git host has."""
    return GitSource(repository=str(tmp_path / "nowhere"), commit="1" * 40, released=released)


async def test_uploads_together_are_a_commits_files(
    registry: PyPIClient, released: ReleasedFiles, tmp_path: Path
) -> None:
    """They are proven by the digest of what is put together, and another one is refused."""
    store = LayerStore(tmp_path / "layers")
    layer = await released_layer(released, registry, store)
    assert (layer.path / "demo.py").read_text() == "version = '2.1'\n"
    assert layer.built["tree"] == released.tree_digest
    with pytest.raises(TaskError, match=r"demo==1\.0 and demo==2\.0 makes the tree sha256:.*; mend the recipe"):
        await released_layer(released.but(without=(), tree_digest="sha256:" + "1" * 64), registry, store)


@pytest.mark.parametrize("path", ["../other", "/etc/hostname", "."])
async def test_a_recipe_names_no_file_outside(
    registry: PyPIClient, released: ReleasedFiles, tmp_path: Path, path: str
) -> None:
    """Neither to be taken away nor to be taken."""
    store = LayerStore(tmp_path / "layers")
    with pytest.raises(TaskError, match="which its recipe names"):
        await released_layer(released.but(without=(path,)), registry, store)
    uploads = {pin: upload.but(files=(path,)) for pin, upload in released.uploads.items()}
    with pytest.raises(TaskError, match="which its recipe names"):
        await released_layer(released.but(uploads=uploads), registry, store)


@pytest.mark.needs("git")
async def test_the_index_is_asked_where_git_has_nothing(
    index: FakeIndex, released: ReleasedFiles, tmp_path: Path
) -> None:
    """Edits go on top; a mirror comes first, and where both ways fail both are named."""
    wanted = commit(released, tmp_path)
    settings = Settings(cache_dir=tmp_path / "cache", registry_cache=False)
    store = LayerStore(settings.cache_dir / "layers")
    edit = FileEdit(sha256=sha256_of(b"version = '3'\n"), steps=(("replace", "2.1", "3"),))
    edited = EditedSource(of=wanted, edits={"demo.py": edit})
    assert present_source(edited, store) is None
    builder = LocalBuilder(settings, FakeProvider(), index=index.configuration())
    assert ((await builder.source(edited)).path / "demo.py").read_text() == "version = '3'\n"
    assert (await builder.source(wanted)).built["tree"] == released.tree_digest
    found = present_source(edited, store)
    assert found is not None
    assert (found.path / "demo.py").read_text() == "version = '3'\n"

    index.failing = 503
    mirrored = settings.but(cache_dir=tmp_path / "other", git_mirror=str(tmp_path / "mirrors"))
    with pytest.raises(NetworkError, match=r"nowhere.*; and .*503"):
        await LocalBuilder(mirrored, FakeProvider(), index=index.configuration()).source(wanted)
