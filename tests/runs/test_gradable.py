"""How many tasks can be graded here is counted, and what others lack is named with the way to mend it."""

import shutil
import sys
from pathlib import Path

import pytest

from groundup.environments.interpreters import Interpreter
from groundup.environments.layers import Built, LayerStore
from groundup.environments.requests import GitSource, PythonRequest, SourceRequest
from groundup.environments.sources import commit_key, source_key
from groundup.runs.gradable import Gradable, Host, Lack, _is_built, _lacks, gradable, lacking, python_advice
from groundup.settings import Settings
from groundup.suites.base import AtHand, Needs
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
HERE = Interpreter(
    version="3.12.1",
    prefix=Path("/usr"),
    executable=Path("/usr/bin/python3.12"),
    standard_library=(),
    include=None,
    abi="cp312",
    shared_library=None,
    packages=Path("/usr/lib"),
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


@pytest.mark.parametrize(
    ("needs", "host", "said"),
    [
        (
            Needs(java=True),
            HOST.but(has_java=False),
            "1 task lacks a JDK: install one, such as Debian's openjdk-17-jdk, or name its folder in JAVA_HOME",
        ),
        (
            Needs(programs=("no-such-program", "nor-this")),
            HOST,
            "1 task lacks no-such-program, nor-this: install it by the system's packages; tests start it",
        ),
        (Needs(packages=True), OFFLINE, "1 task lacks the package index: it cannot be reached"),
        (
            Needs(source=BY_GIT),
            HOST.but(has_git=False),
            "1 task lacks git: install it, such as Debian's git",
        ),
        (
            Needs(source=REPOSITORY),
            HOST.but(repositories=CLOSED),
            "1 task lacks github.com, which cannot be reached: check the network, or name a mirror "
            "(GROUNDUP_GIT_MIRROR, or Git's own url.<base>.insteadOf)",
        ),
        (
            Needs(source=REPOSITORY),
            HOST.but(repositories={}, has_mirror=True),
            "1 task lacks a repository that neither the mirror nor github.com hands out: add it to the mirror "
            "(GROUNDUP_GIT_MIRROR), or check the network",
        ),
    ],
)
def test_each_lack_says_how_it_comes_here(tmp_path: Path, needs: Needs, host: Host, said: str) -> None:
    """In one sentence, and as many such tasks as there are in one."""
    (one,) = _lacks([needs], host, LayerStore(tmp_path))
    assert (str(one), one.command, one.alone) == (said, "", None)
    (two,) = _lacks([needs, needs], host, LayerStore(tmp_path))
    assert str(two) == said.replace("1 task lacks", "2 tasks lack")


def test_interpreters_are_one_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of their versions, with how many tasks lack nothing else; one that is here is none."""
    monkeypatch.delenv("UV_PYTHON_INSTALL_MIRROR", raising=False)
    needs = [
        Needs(python="3.10"),
        Needs(python="3.8", java=True),
        Needs(python="3.10"),
        Needs(python="3.12"),
        Needs(java=True),
    ]
    host = HOST.but(has_java=False, interpreters={"3.12": HERE, "3.8": None})
    python, java = _lacks(needs, host, LayerStore(tmp_path))
    assert (python.what, python.tasks, python.alone) == ("Python 3.8 (1), 3.10 (2)", 3, 2)
    assert python.command == "uv python install 3.8 3.10"
    assert python.advice == python_advice("uv python install 3.8 3.10")
    assert python.advice.startswith("`uv python install 3.8 3.10` fetches them from GitHub's releases (")
    assert (java.what, java.tasks) == ("a JDK", 1)
    closed = host.but(repositories=CLOSED)
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert next(_lacks(needs, closed, LayerStore(tmp_path))).command == f"export GROUNDUP_PYTHON={running}"
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", "file:///mirror")
    assert next(_lacks(needs, closed, LayerStore(tmp_path))).command == "uv python install 3.8 3.10"


def test_how_a_suite_stands_is_told_in_short() -> None:
    """And a lack of unknown extent without a number."""
    assert str(Gradable(suite="toy", tasks=1, online=0, offline=0)) == "0 of 1 task of toy"
    assert str(Gradable(suite="toy", tasks=3, online=2, offline=0)) == "2 of 3 tasks of toy"
    assert str(Lack(what="no tasks", tasks=0, advice="pull them")) == "no tasks: pull them"


async def test_what_a_suite_itself_cannot_grade_is_a_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task once, what most lack first; a suite that cannot be loaded says why and hides no other."""
    settings = Settings(cache_dir=tmp_path / "cache")
    monkeypatch.setattr(AtHand, "blocked", lambda self: {"task-0002": "no recipe", "task-0003": "only an image"})
    monkeypatch.setattr(AtHand, "in_image_only", lambda self: ("task-0003",))
    monkeypatch.setattr(AtHand, "gradable", lambda self: ("task-0000", "task-0001", "elsewhere"))
    monkeypatch.setattr(AtHand, "beside", lambda self: ("the official grader lacks Docker",))
    named = ["tests.runs.toy:create", "tests.runs.nowhere:create"]
    _, (toy, gone) = await gradable(settings, named=named)
    assert (toy.suite, toy.tasks, toy.online, toy.offline) == (named[0], 20, 2, 2)
    assert toy.beside == ("the official grader lacks Docker",)
    assert [(lack.what, lack.tasks, lack.command, lack.advice) for lack in toy.lacks] == [
        ("data", 16, f"groundup data pull {named[0]}", f"`groundup data pull {named[0]}` brings it"),
        ("a recipe", 1, "", f"`groundup tasks {named[0]}` says why each has none"),
        (
            *("tests outside their published images", 1, ""),
            "`--grader official --image` grades them in these, and nothing else does",
        ),
    ]
    (lack,) = gone.lacks
    assert (gone.suite, gone.tasks, gone.online, gone.offline, lack.what) == (named[1], 0, 0, 0, "no tasks")
    assert "nowhere" in lack.advice


@pytest.mark.parametrize(
    ("here", "has_layer", "is_built", "lack"),
    [
        (HERE, True, True, []),
        (HERE, False, False, ["the package index"]),
        (None, True, False, ["Python 3.12 (1)"]),
    ],
)
def test_an_environment_is_built_where_its_layer_and_its_interpreter_are(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    here: Interpreter | None,
    has_layer: bool,
    is_built: bool,
    lack: list[str],
) -> None:
    """Otherwise it needs the index; with an index it lacks nothing."""
    monkeypatch.setattr("groundup.runs.gradable.has_layer", lambda *given: has_layer)
    needs = Needs(python="3.12", environment=PythonRequest(python="3.12"))
    host, store = OFFLINE.but(interpreters={"3.12": here}), LayerStore(tmp_path)
    assert _is_built(needs, host, store) is is_built
    assert [one.what for one in _lacks([needs], host, store)] == lack
    online = list(_lacks([needs], HOST.but(interpreters={"3.12": HERE}), store))
    assert online == []
    assert not _is_built(needs.but(programs=("no-such-program",)), host, store)
