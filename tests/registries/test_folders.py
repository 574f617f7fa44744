"""Folders of wheels that pip's and uv's find-links name are an index, too."""

import os
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.pypi.client import PyPIClient, pypi_settings
from tests.registries.fake_index import FakeIndex, make_sdist, make_wheel, sha256
from tests.registries.test_indexes import Variables, home, write

__all__ = ["home"]


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with two versions of a project, and what is no package."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, content in (make_wheel("demo", "1.0"), make_wheel("demo", "2.0"), make_sdist("My_Other", "3")):
        (folder / name).write_bytes(content)
    (folder / "0-notes.txt").write_text("no package, and the first by name")
    (folder / "0-folder.whl").mkdir()
    (folder / "-.whl").write_text("nor this")
    return folder


def client(index: FakeIndex, wheels: Path, tmp_path: Path, *, alone: bool = False) -> PyPIClient:
    """The host's view of the index and the folder."""
    settings = index.configuration().but(folders=(wheels,))
    return PyPIClient(settings.but(indexes=()) if alone else settings, FetchCache(tmp_path / "cache"))


async def test_files_of_a_folder_stand_beside_those_of_the_index(
    index: FakeIndex, wheels: Path, tmp_path: Path
) -> None:
    """What both have is the index's; what the folder has counts as older than any cut-off, and is its file."""
    index.add(make_wheel("demo", "2.0", body="# the index's"))
    index.add(make_wheel("demo", "3.0"), "2030-01-01T00:00:00Z")
    registry = client(index, wheels, tmp_path)
    page = (await registry.page("Demo", cutoff_instant("2025-01-01"))).page
    assert sorted((file.version, file.url.partition(":")[0]) for file in page.files) == [
        ("1.0", "file"),
        ("2.0", "http"),
    ]
    own = next(file for file in page.files if file.version == "1.0")
    found = await registry.file(own)
    assert (found.path.read_bytes(), found.verified) == (make_wheel("demo", "1.0")[1], True)
    (other,) = (await registry.page("my-other")).page.files
    assert other.is_source
    with pytest.raises(UnknownPackageError):
        await registry.page("0-notes")
    await registry.close()


async def test_what_is_pinned_and_in_a_folder_needs_no_index(
    index: FakeIndex, wheels: Path, tmp_path: Path
) -> None:
    """Nothing is asked where the folder has what is wanted, nor where there is no index or it is down."""
    pinned = frozenset({sha256(make_wheel("demo", "1.0")[1])})
    registry = client(index, wheels, tmp_path)
    assert {file.version for file in (await registry.page("demo", None, pinned)).page.files} == {"1.0", "2.0"}
    assert index.asked == []
    alone = client(index, wheels, tmp_path, alone=True)
    assert len((await alone.page("demo")).page.files) == 2
    with pytest.raises(UnknownPackageError):
        await alone.page("unheard-of")
    assert index.asked == []
    sdist = sha256(next(wheels.glob("*.tar.gz")).read_bytes())
    assert sha256((await alone.fetch_file("my-other", "3", sdist)).read_bytes()) == sdist


async def test_a_file_that_changes_is_refused(index: FakeIndex, wheels: Path, tmp_path: Path) -> None:
    """Its page named another hash."""
    registry = client(index, wheels, tmp_path, alone=True)
    file = (await registry.page("demo")).page.files[0]
    (wheels / file.filename).write_bytes(b"something else")
    with pytest.raises(NetworkError, match="changed while it was used"):
        await registry.file(file)


async def test_find_links_of_pip_and_uv_count(home: Variables, tmp_path: Path, wheels: Path) -> None:
    """By variable, file and address; pages of links and folders that are not there are left out."""
    assert (await pypi_settings(home | {"PIP_FIND_LINKS": f"{wheels} https://example.org/x.html"})).folders == (
        wheels,
    )
    assert (await pypi_settings(home | {"UV_FIND_LINKS": f"file://{wheels},/not/there"})).folders == (wheels,)
    write(tmp_path / "config/pip/pip.conf", f"[global]\nfind-links =\n  {wheels}\n")
    assert (await pypi_settings(home)).folders == (wheels,)
    write(tmp_path / "config/pip/pip.conf", f"[install]\nno-index = true\nfind-links = {wheels}\n")
    found = await pypi_settings(home)
    assert (found.indexes, found.folders, found.origin) == ((), (wheels,), "find-links")
    write(tmp_path / "config/uv/uv.toml", f'[pip]\nfind-links = ["{wheels}"]\n')
    assert (await pypi_settings({**home, "PIP_CONFIG_FILE": "/dev/null"})).folders == (wheels,)


async def test_what_a_folder_has_by_name(index: FakeIndex, tmp_path: Path) -> None:
    """Whole files with the name of a package alone; of two folders the first counts; what comes later is seen."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
        for name, content in (make_wheel("demo", "1.0", body=f"# {folder.name}"), make_wheel("_demo", "2.0")):
            (folder / name).write_bytes(content)
        (folder / "demo-7-py3-none-any.whl").mkdir()
        for odd in ("demo-old-py3-none-any.whl", "demo-3.tar.gz.part", "demo.tar.gz"):
            (folder / odd).write_text("no package")
    registry = PyPIClient(
        index.configuration().but(folders=tuple(folders), indexes=()), FetchCache(tmp_path / "cache")
    )
    page = (await registry.page("demo")).page
    (file,) = page.files
    assert (file.filename, file.version) == ("demo-1.0-py3-none-any.whl", "1.0")
    content = (folders[0] / file.filename).read_bytes()
    found = await registry.file(file)
    assert (found.path, found.size, found.sha256) == (folders[0] / file.filename, len(content), sha256(content))
    assert (found.from_cache, found.verified, found.stale) == (True, True, False)
    name, content = make_sdist("demo", "0.5")
    (folders[1] / name).write_bytes(content)
    os.utime(folders[1], ns=(1, 1))
    assert sorted(file.filename for file in (await registry.page("demo")).page.files) == [
        name, "demo-1.0-py3-none-any.whl",
    ]  # fmt: skip
    (folders[1] / name).unlink()
    folders[0].rename(tmp_path / "gone")
    with pytest.raises(NetworkError) as caught:
        await registry.page("demo")
    assert str(caught.value) == (
        f"the folder of packages {folders[0]} cannot be read: No such file or directory; mend it, or take it "
        "out of find-links"
    )
    await registry.close()
