"""Tests of groundup.environments.git and git_sources."""

from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.git import GitRepository, address_of, addresses_of
from groundup.environments.layers import LayerStore
from groundup.environments.requests import GitSource
from groundup.environments.sources import archive_place, git_layer
from groundup.sandbox.programs import run_program
from groundup.settings import environment
from tests.needs import need

FILES = {
    "lib.py": b"x = '$Format:%H$'\r\n",
    "tests/test_lib.py": b"def test(): pass\n",
    ".gitattributes": b"tests export-ignore\nlib.py export-subst text eol=lf\n",
}


async def git(folder: Path, *arguments: str) -> str:
    """Run git in *folder* as somebody."""
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "core.autocrlf=false")
    result = await run_program(["git", *who, *arguments], cwd=folder, environment=environment(), timeout_s=60)
    assert result.ok, result.text()
    return result.stdout.decode().strip()


@pytest.fixture
async def upstream(tmp_path: Path) -> Path:
    """A repository with two commits, found below a folder of mirrors."""
    need("git")
    folder = tmp_path / "mirrors" / "example.org" / "somebody" / "lib"
    folder.mkdir(parents=True)
    await git(folder, "init", "--quiet", "-b", "main", ".")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
        await git(folder, "-c", "core.attributesFile=/dev/null", "add", name)
    await git(folder, "commit", "--quiet", "-m", "first")
    (folder / "later.py").write_text("")
    await git(folder, "add", ".")
    await git(folder, "commit", "--quiet", "-m", "second")
    return folder


async def test_a_commit_becomes_a_tree_as_it_was_committed(upstream: Path, tmp_path: Path) -> None:
    """Attributes leave nothing out and change no byte, there is no history, and the second time needs no Git."""
    commit = await git(upstream, "rev-parse", "HEAD~1")
    request = GitSource(repository="example.org/somebody/lib", commit=commit)
    store = LayerStore(tmp_path / "layers")
    layer = await git_layer(request, store, str(tmp_path / "mirrors"))

    found = {str(path.relative_to(layer.path)) for path in layer.path.rglob("*") if path.is_file()}
    assert found == set(FILES)
    assert (layer.path / "lib.py").read_bytes() == FILES["lib.py"]
    named = request.but(tree_digest=layer.built["tree"])
    assert (await git_layer(named, store, "/nowhere")).digest == layer.digest


async def test_another_tree_than_the_recipes_is_refused(upstream: Path, tmp_path: Path) -> None:
    """A mirror that hands out something else is noticed, also when the layer is there already."""
    commit = await git(upstream, "rev-parse", "HEAD")
    request = GitSource(repository=str(upstream), commit=commit, tree_digest="sha256:" + "0" * 64)
    store = LayerStore(tmp_path / "layers")
    for _ in range(2):
        with pytest.raises(TaskError, match="holds the tree sha256:"):
            await git_layer(request, store, None)
        await git_layer(request.but(tree_digest=None), store, None)


async def test_an_absent_commit_and_an_absent_repository_are_distinguished(upstream: Path, tmp_path: Path) -> None:
    """What a repository does not have is the task's fault; a repository that does not answer is not."""
    store = LayerStore(tmp_path / "layers")
    with pytest.raises(TaskError, match="has no commit"):
        await git_layer(GitSource(repository=str(upstream), commit="1" * 40), store, None)
    with pytest.raises(NetworkError, match="git_mirror"):
        await git_layer(GitSource(repository=str(tmp_path / "none"), commit="1" * 40), store, None)


async def test_a_lost_host_ends_no_recipe(upstream: Path, tmp_path: Path) -> None:
    """A tree comes from a mirror, from its own address where that lacks it, and from an archive by digest."""
    commit = await git(upstream, "rev-parse", "HEAD")
    here = GitSource(repository=str(upstream), commit=commit)
    tree = (await git_layer(here, LayerStore(tmp_path / "first"), str(tmp_path / "empty"))).built["tree"]

    lost = GitSource(repository="lost.invalid/a/b", commit=commit, tree_digest=tree)
    mirror = tmp_path / "mirror"
    archive = archive_place(lost, str(mirror))
    assert archive is not None
    archive.parent.mkdir(parents=True)
    await git(upstream, "archive", "--format=tar.gz", "-o", str(archive), commit, "later.py")
    with pytest.raises(TaskError, match="holds the tree sha256:"):
        await git_layer(lost, LayerStore(tmp_path / "second"), str(mirror))
    archive.unlink()
    (upstream / ".git" / "info" / "attributes").write_text("* -export-ignore -export-subst -text -eol\n")
    await git(upstream, "archive", "--format=tar.gz", "-o", str(archive), commit)
    assert (await git_layer(lost, LayerStore(tmp_path / "second"), str(mirror))).built["tree"] == tree


async def test_a_mirror_without_large_files_serves_what_has_none(upstream: Path, tmp_path: Path) -> None:
    """A repository on this machine is read where it lies, though some other commit of it cannot be."""
    commit = await git(upstream, "rev-parse", "HEAD~1")
    lacking = await git(upstream, "rev-parse", "HEAD:later.py")
    (upstream / ".git" / "objects" / lacking[:2] / lacking[2:]).unlink()
    history = GitRepository(tmp_path / "history")
    await history.create()
    await history.fetch_all(str(upstream))
    assert len((await history.run("rev-list", "--all")).text().split()) == 2
    request = GitSource(repository=str(upstream), commit=commit)
    store = LayerStore(tmp_path / "layers")
    assert (await git_layer(request, store, None)).path.is_dir()
    newest = await git(upstream, "rev-parse", "HEAD")
    with pytest.raises(TaskError, match="cannot be read"):
        await git_layer(request.but(commit=newest), store, None)
    rest = request.but(commit=newest, without=("later.py",))
    assert {path.name for path in (await git_layer(rest, store, None)).path.iterdir()} >= {"lib.py", "tests"}


@pytest.mark.parametrize(
    ("repository", "mirror", "address"),
    [
        ("example.org/a/b", None, "https://example.org/a/b"),
        ("example.org/a/b", "https://mirror.example/git/", "https://mirror.example/git/example.org/a/b"),
        ("example.org/a/b.git", "/srv/{owner}+{name}/repo", "/srv/a+b/repo"),
        ("example.org/a/b", "{host}:{name}", "example.org:b"),
        ("https://example.org/a/b", "/srv", "https://example.org/a/b"),
        ("/home/me/b", "/srv", "/home/me/b"),
    ],
)
def test_a_mirror_takes_the_place_of_a_host(repository: str, mirror: str | None, address: str) -> None:
    """A recipe names a repository by host, owner and name; where it is fetched from is the user's setting."""
    assert address_of(repository, mirror) == address
    assert addresses_of(repository, mirror) == tuple(dict.fromkeys((address, address_of(repository, None))))
