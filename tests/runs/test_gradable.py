"""How many tasks can be graded here is counted, and what others lack is named with the way to mend it."""

import shutil
import sys
from pathlib import Path

import pytest

from groundup.environments.layers import Built, LayerStore
from groundup.environments.requests import GitSource, SourceRequest
from groundup.environments.sources import commit_key, source_key
from groundup.runs.gradable import Host, _is_built, _lacks, gradable, lacking
from groundup.settings import Settings
from groundup.suites.base import Needs
from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup.suites.nl2repobench.suite import Nl2RepoBench


async def test_what_is_missing_is_named_with_two_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without other interpreters, Git and GitHub, only recipes for the one that runs us can be graded."""
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "pythons"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    host, suites = await gradable(Settings(cache_dir=tmp_path / "cache"))
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert {minor for minor, found in host.interpreters.items() if found} <= {running}
    assert not host.has_git
    (standing,) = (one for one in suites if one.suite == "nl2repobench")
    assert standing.online < standing.tasks
    assert standing.offline == 0
    assert standing.online + sum(lack.tasks for lack in standing.lacks) == standing.tasks
    (pythons,) = (lack for lack in standing.lacks if lack.what.startswith("Python 3."))
    assert pythons == standing.lacks[0], "what most tasks lack comes first, and all interpreters are one advice"
    assert "uv python install 3." in pythons.advice
    assert "put them on PATH" in pythons.advice
    assert pythons.command == f"export GROUNDUP_PYTHON={running}", "uv fetches interpreters from GitHub, too"


@pytest.mark.needs("git")
async def test_where_github_is_closed_a_stand_in_is_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uv fetches interpreters from there, too; and a task that also lacks its repository is not promised."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "git").symlink_to(shutil.which("git") or "")
    nowhere = {"COUNT": "1", "KEY_0": f"url.{tmp_path}/nowhere/.insteadOf", "VALUE_0": "https://"}
    for name, value in nowhere.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    for name, place in {"PATH": "programs", "HOME": "", "UV_PYTHON_INSTALL_DIR": "pythons"}.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    for name in ("PYENV_ROOT", "UV_PYTHON_INSTALL_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    _, suites = await gradable(Settings(cache_dir=tmp_path / "cache"))
    (standing,) = (one for one in suites if one.suite == "nl2repobench")
    pythons = next(lack for lack in standing.lacks if lack.what.startswith("Python 3."))
    assert pythons.command == f"export GROUNDUP_PYTHON={sys.version_info[0]}.{sys.version_info[1]}"
    sources = [recipe.source_request() for recipe in shipped_recipes().values()]
    uploaded = sum(isinstance(source, SourceRequest) or source.released is not None for source in sources)
    assert pythons.alone is not None
    assert 0 < pythons.alone <= uploaded < pythons.tasks


async def test_a_package_index_out_of_reach_is_what_unbuilt_tasks_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not built yet needs packages, so no such task can be graded, whatever else is not here."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple/")
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    six = shipped_recipes()["six"]
    suite = Nl2RepoBench({"six": six.but(environment=six.environment.but(python=running))}, cache_dir=tmp_path)
    lacks = await lacking(suite, suite.tasks(), Settings(cache_dir=tmp_path / "cache"))
    assert lacks["six"].startswith("the package index: ")
    assert "127.0.0.1:9" in lacks["six"]

    _, suites = await gradable(Settings(cache_dir=tmp_path / "cache"), "it cannot be reached")
    (standing,) = (one for one in suites if one.suite == "nl2repobench")
    assert standing.online == 0


async def test_a_program_that_tests_start_and_this_machine_lacks_is_named(tmp_path: Path) -> None:
    """Such a task cannot be graded, whatever can be fetched."""
    six, running = shipped_recipes()["six"], f"{sys.version_info[0]}.{sys.version_info[1]}"
    environment, tests = six.environment.but(python=running), six.tests.but(programs=("no-such-program",))
    suite = Nl2RepoBench({"six": six.but(environment=environment, tests=tests)}, cache_dir=tmp_path)
    lacks = await lacking(suite, suite.tasks(), Settings(cache_dir=tmp_path / "cache"))
    assert lacks["six"].startswith("no-such-program: install it")


SOURCE = SourceRequest(name="six", version="1", sha256="0" * 64)
REPOSITORY = GitSource(repository="github.com/owner/name", commit="0" * 40)
BY_GIT = REPOSITORY.but(by_git_only=True)
HOST = Host(
    interpreters={}, repositories={REPOSITORY.repository: True}, has_mirror=False, has_git=True, has_java=True
)
CLOSED = {REPOSITORY.repository: False}
OFFLINE = HOST.but(index="it cannot be reached", repositories=CLOSED)


@pytest.mark.parametrize(
    ("needs", "host", "lack"),
    [
        (Needs(), OFFLINE, None),
        (Needs(packages=True), HOST, None),
        (Needs(packages=True), OFFLINE, "the package index"),
        (Needs(java=True), HOST, None),
        (Needs(java=True), HOST.but(has_java=False), "a JDK"),
        (Needs(source=SOURCE), HOST, None),
        (Needs(source=SOURCE), OFFLINE, "the package index"),
        (Needs(source=REPOSITORY), HOST.but(index="it cannot be reached"), None),
        (Needs(source=REPOSITORY), HOST.but(has_git=False), None),
        (Needs(source=BY_GIT), HOST.but(has_git=False), "git"),
        (Needs(source=BY_GIT), HOST, None),
        (Needs(source=REPOSITORY), HOST.but(repositories=CLOSED), "github.com, which cannot be reached"),
        (
            Needs(source=REPOSITORY),
            HOST.but(repositories=CLOSED, has_mirror=True),
            "a repository that neither the mirror nor github.com hands out",
        ),
        (Needs(python="3.8"), HOST, "Python 3.8 (1)"),
    ],
)
def test_a_task_lacks_one_thing_or_none(tmp_path: Path, needs: Needs, host: Host, lack: str | None) -> None:
    """What another could be graded without is asked of nobody else."""
    found = list(_lacks([needs], host, LayerStore(tmp_path)))
    assert [one.what for one in found] == ([] if lack is None else [lack])


async def test_what_is_built_lacks_nothing(tmp_path: Path) -> None:
    """A source that is at hand waits neither for the index nor for its host, though both are out of reach."""
    store = LayerStore(tmp_path)

    async def build(room: Path) -> Built:
        (room / "tree").mkdir()
        return Built()

    for source, key in ((SOURCE, source_key(SOURCE)), (REPOSITORY, commit_key(REPOSITORY))):
        assert not _is_built(Needs(source=source), OFFLINE, store)
        await store.get("source", key, build)
        assert _is_built(Needs(source=source), OFFLINE, store)
        assert list(_lacks([Needs(source=source)], OFFLINE, store)) == []
        assert not _is_built(Needs(source=source, python="3.8"), OFFLINE, store)
    assert not _is_built(Needs(java=True), OFFLINE, store)


@pytest.mark.parametrize(
    ("asked", "has_mirror", "lacks"),
    [
        ({"github.com/a/b": False}, False, True),
        ({"github.com/a/b": False, "github.com/c/d": True}, False, False),
        ({"github.com/a/b": False}, True, False),
        ({"gitlab.com/a/b": False}, False, False),
        ({}, False, False),
    ],
)
def test_github_is_lacking_where_it_was_asked_in_vain(
    asked: dict[str, bool], has_mirror: bool, lacks: bool
) -> None:
    """A mirror stands in for it, and nobody knows where nothing was asked."""
    assert HOST.but(repositories=asked, has_mirror=has_mirror).lacks_github is lacks
