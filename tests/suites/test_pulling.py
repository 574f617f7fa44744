"""Pulling published data."""

import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, UsageError
from groundup.settings import Settings
from groundup.suites.places import DataOrigin, PublishedRepository, data_folder
from groundup.suites.pulling import pull, take_folder
from tests.needs import need


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose data folder is the test's own."""
    return Settings(cache_dir=tmp_path / "cache")


@pytest.fixture
def repository(tmp_path: Path) -> PublishedRepository:
    """A real local Git repository with data in a sub-folder."""
    need("git")
    folder = tmp_path / "upstream"
    (folder / "part" / "one").mkdir(parents=True)
    (folder / "part" / "one" / "start.md").write_text("hello")
    (folder / "code.py").write_text("raise SystemExit")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-qm", "data")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return PublishedRepository(address=str(folder), commit=commit.stdout.strip(), folder="part", licence="MIT")


async def test_only_the_data_folder_of_the_named_commit_arrives(
    repository: PublishedRepository, settings: Settings
) -> None:
    """A pull brings the folder at the commit, says where it is from, and nothing else of the repository."""
    origin = (await pull("toy", repository, settings)).origin
    folder = data_folder("toy", settings)
    assert folder is not None
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == ["one", "one/start.md"]
    assert origin.commit == repository.commit
    stored = (settings.data / "toy" / "origin.json").read_text()
    assert DataOrigin.model_validate_json(stored) == origin
    assert sorted(path.name for path in settings.data.iterdir()) == ["toy"]


@pytest.mark.parametrize("leaves_out", [True, False])
async def test_nothing_but_the_folder_is_fetched_where_the_server_can_leave_files_out(
    repository: PublishedRepository, settings: Settings, leaves_out: bool
) -> None:
    """A file beside the folder, perhaps large, is not asked for; another server is asked for everything."""
    upstream = Path(repository.address)
    if leaves_out:
        answering = "[uploadpack]\nallowFilter = true\nallowAnySHA1InWant = true\n"
        with (upstream / ".git/config").open("a") as file:
            file.write(answering)
        blob = hashlib.sha1(b"blob 16\0raise SystemExit", usedforsecurity=False).hexdigest()
        (upstream / ".git/objects" / blob[:2] / blob[2:]).unlink()

    pulled = await pull("toy", repository.but(address=f"file://{upstream}"), settings)

    assert (pulled.origin.files, pulled.origin.commit) == (1, repository.commit)
    folder = data_folder("toy", settings)
    assert folder is not None
    assert (folder / "one/start.md").read_text() == "hello"


@pytest.mark.parametrize("form", ["pattern", "base", "bare"])
async def test_a_mirror_is_asked_first(
    repository: PublishedRepository, settings: Settings, tmp_path: Path, form: str
) -> None:
    """The setting `git_mirror` holds here as for recipes; the origin stays the publisher's."""
    published = repository.but(address="https://host.invalid/owner/name")
    place = tmp_path / "mirror" / ("owner+name" if form == "pattern" else "host.invalid/owner/name")
    place.parent.mkdir(parents=True)
    if form == "bare":
        shutil.copytree(Path(repository.address, ".git"), place)
    else:
        shutil.copytree(repository.address, place)
    pattern = "{owner}+{name}" if form == "pattern" else ""
    mirrored = settings.but(git_mirror=str(tmp_path / "mirror" / pattern))
    origin = (await pull("toy", published, mirrored)).origin
    assert (origin.source, origin.commit) == (published.address, repository.commit)


async def test_the_publisher_is_asked_where_the_mirror_has_nothing(
    repository: PublishedRepository, settings: Settings, tmp_path: Path
) -> None:
    """A mirror that lacks one repository hinders nothing."""
    mirrored = settings.but(git_mirror=str(tmp_path / "nothing"))
    assert (await pull("toy", repository, mirrored)).origin.files == 1


async def test_a_second_pull_replaces_the_first(repository: PublishedRepository, settings: Settings) -> None:
    """Data is whole or absent, never mixed."""
    await pull("toy", repository, settings)
    again = await pull("toy", repository, settings)
    assert again.origin.files == 1


async def test_an_unknown_commit_is_said(repository: PublishedRepository, settings: Settings) -> None:
    """A commit that the repository does not have is the user's to mend."""
    wrong = repository.but(commit="0" * 40)
    with pytest.raises(UsageError, match="has no commit"):
        await pull("toy", wrong, settings)
    assert data_folder("toy", settings) is None


async def test_a_mirror_that_lacks_the_commit_is_said_beside_the_network(
    repository: PublishedRepository, settings: Settings, tmp_path: Path
) -> None:
    """A mirror with another commit is the user's to mend, even when the publisher cannot be reached."""
    shutil.copytree(repository.address, tmp_path / "owner+name")
    wrong = repository.but(address="https://127.0.0.1:9/owner/name", commit="0" * 40)
    with pytest.raises(NetworkError, match=r"the mirror has no commit 0000000.*cannot fetch"):
        await pull("toy", wrong, settings.but(git_mirror=str(tmp_path / "{owner}+{name}")))


@pytest.mark.needs("git")
async def test_an_unreachable_repository_names_the_ways_out(settings: Settings, tmp_path: Path) -> None:
    """Without the network there are two ways, and the error names both."""
    nowhere = PublishedRepository(address=str(tmp_path / "nowhere"), commit="abcdef1", licence="MIT")
    with pytest.raises(NetworkError, match=r"--from FOLDER.*insteadOf"):
        await pull("toy", nowhere, settings)


def test_a_folder_is_taken_without_its_history(
    repository: PublishedRepository, settings: Settings, tmp_path: Path
) -> None:
    """`--from` copies what is there, but not .git."""
    origin = take_folder("toy", Path(repository.address), settings).origin
    assert origin.files == 2
    with pytest.raises(UsageError, match="no such folder"):
        take_folder("toy", tmp_path / "absent", settings)


def test_an_archive_with_a_folder_at_its_top_is_taken_for_that_folder(settings: Settings, tmp_path: Path) -> None:
    """As `tar -cz my-set` makes it; a folder without a list of instances stays where it is."""
    for name, file in (("my-set", "my-set.jsonl"), ("plain", "one.md")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
        with tarfile.open(tmp_path / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / name, name)
        take_folder(name, tmp_path / f"{name}.tar.gz", settings, unpack=True)
    listed, plain = (data_folder(name, settings) for name in ("my-set", "plain"))
    assert listed is not None
    assert plain is not None
    assert [path.name for path in listed.iterdir()] == ["my-set.jsonl"]
    assert [path.name for path in plain.iterdir()] == ["plain"]
