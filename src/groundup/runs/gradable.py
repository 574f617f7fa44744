"""Which tasks of each suite can be graded on this machine.

Looks at interpreters, programs, Git hosts and finished layers; builds and fetches nothing.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.domain.names import count
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.environments.git import answers
from groundup.environments.interpreters import Interpreter, known_present, running_minor, stand_in_advice
from groundup.environments.layers import LayerStore, layer_store
from groundup.environments.python_builder import has_layer
from groundup.environments.requests import GitSource, SourceRequest
from groundup.environments.sources import present_source
from groundup.environments.toolchains import jdks
from groundup.registries.pypi.client import index_trouble
from groundup.settings import Settings, environment
from groundup.suites.base import AtHand, Needs, Suite
from groundup.suites.opening import SUITES, open_suite

_ASKED_AT_ONCE = 16
_ASKED_S = 10.0


class Lack(Record):
    """Something that tasks need and this machine has not."""

    what: str
    tasks: int
    """How many of a suite's tasks wait for it; 0 where that is not known."""
    command: str = ""
    """What brings it here; empty where there is more than one thing to do."""
    advice: str
    """How it comes here."""
    alone: int | None = None
    """How many of these tasks lack nothing besides; None where that is not known."""

    def __str__(self) -> str:
        lacking = f"{self.tasks} task{'s lack' if self.tasks > 1 else ' lacks'} {self.what}"
        return f"{lacking if self.tasks else self.what}: {self.advice}"


class Gradable(Record):
    """How a suite stands on this machine."""

    suite: str
    tasks: int
    online: int
    """Tasks that can be graded when packages can be fetched."""
    offline: int
    """Tasks for which everything is built already."""
    lacks: tuple[Lack, ...] = ()
    """What the others lack, each task once, what most of them lack first."""
    beside: tuple[str, ...] = ()
    """What graders beside the default one lack: one sentence each."""

    def __str__(self) -> str:
        return f"{self.online} of {count(self.tasks, 'task')} of {self.suite}"


class Host(Record):
    """What this machine has that tasks need."""

    interpreters: dict[str, Interpreter | None]
    repositories: dict[str, bool]
    """Whether each that tasks come from can be fetched."""
    has_mirror: bool
    has_git: bool
    has_java: bool
    index: str = ""
    """Why the package index cannot be asked; empty where it answers."""

    @property
    def lacks_github(self) -> bool:
        """Whether GitHub was asked in vain; False where nothing asked."""
        asked = [here for repository, here in self.repositories.items() if host_of(repository) == "github.com"]
        return not self.has_mirror and bool(asked) and not any(asked)


async def gradable(
    settings: Settings, index: str = "", named: Sequence[str] | None = None
) -> tuple[Host, tuple[Gradable, ...]]:
    """Return what was found on this machine and how each suite stands, or those that are *named*.

    *index* says why the package index cannot be asked; empty where it answers.
    """
    suites: dict[str, Suite | str] = {}
    needs: dict[str, Mapping[str, Needs]] = {}
    for name in SUITES.names() if named is None else named:
        try:
            suite = open_suite(name, settings)
            known = suite.by_name()
            here = AtHand.of(suite)
            needs[name] = {task: here.needs(known[task]) for task in sorted({*here.gradable()} & known.keys())}
            suites[name] = suite
        except GroundupError as error:  # one that cannot be loaded must not hide the others
            suites[name] = str(error)
    every = [one for tasks in needs.values() for one in tasks.values()]
    host = await _host(settings, every)
    # A mirror may have some repositories and not others; a host of its own has all or is out of reach.
    host = host.but(index=index, repositories=await _answering(every, settings, ask_each=host.has_mirror))
    store = layer_store(settings)
    return host, tuple(_standing(name, suites[name], needs.get(name, {}), host, store) for name in suites)


async def lacking(suite: Suite, tasks: Sequence[Task], settings: Settings) -> dict[str, str]:
    """Return what those of *tasks* lack that cannot be graded here, by name, in words that say how it comes here.

    Asks for every original that would have to be fetched.
    """
    needs, store = {task.id: AtHand.of(suite).needs(task) for task in tasks}, layer_store(settings)
    host = await _host(settings, needs.values())
    waiting = {name: one for name, one in needs.items() if not _is_built(one, host, store)}
    host = host.but(index=await index_trouble(environment()) if waiting else "")
    host = host.but(repositories=await _answering(waiting.values(), settings, ask_each=True))
    return {
        name: f"{lack.what}: {lack.advice}" for name, one in waiting.items() for lack in _lacks([one], host, store)
    }


async def _answering(needs: Iterable[Needs], settings: Settings, *, ask_each: bool) -> dict[str, bool]:
    """Return whether the repositories of *needs* answer; unless each is asked, one speaks for its host."""
    wanted = sorted({one.source.repository for one in needs if isinstance(one.source, GitSource)})
    places = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def answering(repository: str) -> bool:
        async with places:
            return await answers(repository, settings.git_mirror, _ASKED_S)

    speaker = {host_of(repository): repository for repository in wanted}
    asked = wanted if ask_each else [*speaker.values()]
    answered = dict(zip(asked, await asyncio.gather(*map(answering, asked)), strict=True))
    return {one: answered[one if ask_each else speaker[host_of(one)]] for one in wanted}


def host_of(repository: str) -> str:
    return repository.partition("/")[0]


async def _host(settings: Settings, needs: Iterable[Needs]) -> Host:
    """Return what is here, without asking any repository."""
    minors = sorted({one.python for one in needs if one.python}, key=lambda minor: int(minor.split(".")[1]))
    found = await asyncio.gather(*(_interpreter(minor, settings.cache_dir) for minor in minors))
    return Host(
        interpreters=dict(zip(minors, found, strict=True)),
        repositories={},
        has_mirror=settings.git_mirror is not None,
        has_git=shutil.which("git") is not None,
        has_java=bool(jdks(environment())),
    )


async def _interpreter(minor: str, cache_dir: Path) -> Interpreter | None:
    try:
        return await known_present(minor, cache_dir)
    except GroundupError:  # one that does not answer is none
        return None


def _standing(
    name: str, suite: Suite | str, needs: Mapping[str, Needs], host: Host, store: LayerStore
) -> Gradable:
    if isinstance(suite, str):
        return Gradable(
            suite=name, tasks=0, online=0, offline=0, lacks=(Lack(what="no tasks", tasks=0, advice=suite),)
        )
    total = len(suite.by_name())
    built = [_is_built(one, host, store) for one in needs.values()]
    waiting = [one for one, is_built in zip(needs.values(), built, strict=True) if not is_built]
    lacks = [
        lack
        for lack in (*_undescribed(name, suite, total - len(needs)), *_lacks(waiting, host, store))
        if lack.tasks
    ]
    online = total - sum(lack.tasks for lack in lacks)
    return Gradable(
        suite=name,
        tasks=total,
        online=online,
        offline=sum(built),
        lacks=tuple(sorted(lacks, key=lambda lack: lack.tasks, reverse=True)),
        beside=tuple(AtHand.of(suite).beside()),
    )


def _undescribed(name: str, suite: Suite, count: int) -> Iterator[Lack]:
    """Yield what tasks lack that the suite itself cannot grade."""
    blocked, imaged = len(AtHand.of(suite).blocked()), len(AtHand.of(suite).in_image_only())
    yield Lack(what="a recipe", tasks=blocked - imaged, advice=f"`groundup tasks {name}` says why each has none")
    advice = "`--grader official --image` grades them in these, and nothing else does"
    yield Lack(what="tests outside their published images", tasks=imaged, advice=advice)
    command = f"groundup data pull {name}"
    yield Lack(what="data", tasks=count - blocked, command=command, advice=f"`{command}` brings it")


def _lacks(waiting: Sequence[Needs], host: Host, store: LayerStore) -> Iterator[Lack]:
    """Yield what *waiting* tasks lack, each in one."""
    pythons: Counter[str] = Counter()
    others: Counter[tuple[str, str]] = Counter()
    alone = 0
    for one in waiting:
        if one.python and host.interpreters.get(one.python) is None:
            pythons[one.python] += 1
            alone += _other_lack(one, host, store) is None
        elif lack := _other_lack(one, host, store):
            others[lack] += 1
    if pythons:
        minors = sorted(pythons, key=lambda minor: int(minor.split(".")[1]))
        named = ", ".join(f"{minor} ({pythons[minor]})" for minor in minors)
        command = f"uv python install {' '.join(minors)}"
        advice = python_advice(command)
        if host.lacks_github and "UV_PYTHON_INSTALL_MIRROR" not in environment():
            command = f"export GROUNDUP_PYTHON={running_minor()}"  # uv could not fetch them either
        yield Lack(what=f"Python {named}", tasks=pythons.total(), command=command, advice=advice, alone=alone)
    for (what, advice), tasks in others.items():
        yield Lack(what=what, tasks=tasks, advice=advice)


def _is_built(needs: Needs, host: Host, store: LayerStore) -> bool:
    """Whether nothing is left to fetch."""
    interpreter = host.interpreters.get(needs.python or "")
    if needs.java or _absent(needs) or (needs.python and interpreter is None):
        return False
    if needs.environment is not None and not (interpreter and has_layer(needs.environment, interpreter, store)):
        return False
    return needs.source is None or present_source(needs.source, store) is not None


def _absent(needs: Needs) -> list[str]:
    return [program for program in needs.programs if shutil.which(program) is None]


def _other_lack(needs: Needs, host: Host, store: LayerStore) -> tuple[str, str] | None:
    """Return what a task lacks here beside its interpreter, and how that comes here."""
    if needs.java and not host.has_java:
        return "a JDK", "install one, such as Debian's openjdk-17-jdk, or name its folder in JAVA_HOME"
    if absent := _absent(needs):
        return ", ".join(absent), "install it by the system's packages; tests start it"
    if host.index and (needs.packages or _fetches_packages(needs, host, store)):
        return "the package index", host.index
    if isinstance(needs.source, GitSource) and present_source(needs.source, store) is None:
        if needs.source.released and not host.index:
            return None
        name = host_of(needs.source.repository)
        if not host.has_git and needs.source.by_git_only:
            return "git", "install it, such as Debian's git"
        if host.has_mirror and not host.repositories.get(needs.source.repository):
            lack = f"a repository that neither the mirror nor {name} hands out"
            return lack, "add it to the mirror (GROUNDUP_GIT_MIRROR), or check the network"
        if not host.repositories.get(needs.source.repository):
            return f"{name}, which cannot be reached", git_advice()
    return None


def _fetches_packages(needs: Needs, host: Host, store: LayerStore) -> bool:
    """Whether grading begins with packages, or an original, that only the index has."""
    interpreter = host.interpreters.get(needs.python or "")
    if needs.environment is not None and not (interpreter and has_layer(needs.environment, interpreter, store)):
        return True
    return isinstance(needs.source, SourceRequest) and present_source(needs.source, store) is None


def python_advice(command: str) -> str:
    """Return how missing interpreters come here, by *command* or otherwise."""
    return (
        f"`{command}` fetches them from GitHub's releases (UV_PYTHON_INSTALL_MIRROR "
        "names a copy of these: an https:// address, or file:// and a folder), or install them by the system's "
        "packages or pyenv and put them on PATH, or bring them from another machine by `groundup warm --bundle`, "
        f"{stand_in_advice()}"
    )


def git_advice() -> str:
    """Return what to do about a Git host out of reach."""
    return "check the network, or name a mirror (GROUNDUP_GIT_MIRROR, or Git's own url.<base>.insteadOf)"
