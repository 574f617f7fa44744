"""An original as a submission: an environment that installs, and a way to start that answers HTTP.

Which Python files a start command brings along, by what they import: a repository may hold several programs.
"""

import ast
import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date, timedelta
from itertools import count
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from groundup.domain.errors import SubmissionError, TaskError
from groundup.domain.records import Record
from groundup.environments.failures import OutOfTimeError
from groundup.environments.requests import ResolvedRequest
from groundup.grading.context import GradingContext
from groundup.grading.services.deployment import ServicePod, deployed
from groundup.grading.services.install import find_start, install_declared
from groundup.grading.services.records import Lifecycle, Readiness
from groundup.grammars import python_tree
from groundup.suites.repogenesis.tasks import PYTHON, lifecycle
from groundup.trees.walking import read_regular, remove_tree
from groundup.trees.writer import copy_tree, in_thread
from groundup_factory.recipes.drafting import RELEASED
from groundup_factory.services.starting import ServiceStart, pythons_of, requirements_of, starts_of


def files_of(root: Path, commands: Sequence[str]) -> frozenset[str]:
    """Return the files below *root* that the last of *commands* runs or imports; empty: that is not clear."""
    base = PurePosixPath(".")
    for command in commands[:-1]:
        if (folder := re.fullmatch(r"cd (\S+)", command.strip())) is not None:
            base /= folder[1]
    last = commands[-1] if commands else ""
    program = re.search(r"\bpython3? (?:-\w )*([\w./-]+\.py)\b", last)
    module = re.search(r"(?:^|[ =])([A-Za-z_][\w.]*):\w+", last)
    if program is not None:
        first = str(base / program[1].removeprefix("./"))
        bases: tuple[PurePosixPath, ...] = (PurePosixPath(first).parent, base)
        found = [first]
    else:
        bases = (base,)
        found = list(_files(root, bases, module[1])) if module is not None else []
    seen: set[str] = set()
    while found:
        file = found.pop()
        if file not in seen and (root / file).is_file() and not (root / file).is_symlink():
            seen.add(file)
            found += _imported(root, file, bases)
    return frozenset(seen)


def _imported(root: Path, file: str, bases: Sequence[PurePosixPath]) -> Iterator[str]:
    try:
        tree = python_tree(read_regular(root / file))
    except (SyntaxError, ValueError, RecursionError, OSError):
        return
    here = PurePosixPath(file).parent
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield from _files(root, bases, one.name)
        elif isinstance(node, ast.ImportFrom):
            around: Sequence[PurePosixPath] = bases
            if node.level:
                around = [here, *here.parents][node.level - 1 : node.level]
            for one in node.names:
                yield from _files(root, around, ".".join(filter(None, (node.module, one.name))))


def _files(root: Path, bases: Sequence[PurePosixPath], module: str) -> Iterator[str]:
    """Yield the files of *module* and of the packages around it; its last name may be one within a module."""
    parts = module.split(".")
    for base in bases:
        for depth in range(1, len(parts) + 1):
            inner = base.joinpath(*parts[:depth])
            for file in (inner / "__init__.py", inner.with_name(inner.name + ".py")):
                if (root / file).is_file():
                    yield str(file)
        if (root / base / "__init__.py").is_file() and str(base) != ".":
            yield str(base / "__init__.py")


Say = Callable[[str], None]
SCRIPT, REQUIREMENTS = "start.sh", "requirements.txt"
_INSTALL_S = 300.0
_MOST_STARTS = 8
_MOST_PYTHONS = 3
_BUILDABLE = "2019-03-01T00:00:00Z"
_SETTLED_DAYS = 120
"""After an interpreter's release, until most libraries have wheels for it."""
_ELSEWHERE = re.compile(r"it listens on \S*:(\d{4,5})\b")


class StartedOriginal(Record):
    """An original that starts."""

    tree: Path
    """With `start.sh`, and `requirements.txt` that names versions."""
    python: str
    port: int
    found: str
    """How it starts."""
    added: dict[str, str]
    """Files that the original lacks, or has otherwise."""
    program: frozenset[str] = frozenset()
    """Python files of what was started; empty: that is not clear."""


class DeploymentRoom:
    """Folders for one deployment after another."""

    def __init__(self, context: GradingContext) -> None:
        self._context = context
        self._numbers = count()

    def next(self) -> GradingContext:
        """Return the tools around a new scratch folder."""
        scratch = self._context.scratch / f"deployment-{next(self._numbers)}"
        scratch.mkdir(parents=True)
        return replace(self._context, scratch=scratch)


@asynccontextmanager
async def running(
    tree: Path, port: int, limits: Lifecycle, room: DeploymentRoom
) -> AsyncIterator[tuple[ServicePod, Readiness]]:
    """Start a fresh copy of the service in *tree*, and yield it with how that went."""
    context = room.next()
    start = find_start(tree, port)
    assert start is not None  # references and their edits bring a start.sh
    ready = await install_declared(tree, limits, context, with_pip=start.installs)
    async with deployed(tree, start, port, ready.environment, limits, context) as pod:
        yield pod, await pod.until_ready()


def limits_of(python: str) -> Lifecycle:
    return lifecycle().but(python=python)


async def find_reference(
    original: Path, moment: str | None, work: Path, room: DeploymentRoom, say: Say
) -> StartedOriginal:
    """Return the original as a submission that answers. Raises `TaskError` where nothing does.

    *moment* is the commit's date, by which requirements are resolved first.
    """
    starts = starts_of(original)[:_MOST_STARTS]
    if not starts:
        raise TaskError("nothing says how it starts, and no application was found in its sources")
    last = "its requirements cannot be installed"
    pinned: dict[_Wanted, tuple[str, ...] | None] = {}
    for wanted in environments_of(original, moment):
        for start in starts:
            one = wanted.with_also(start.needs)
            if one not in pinned:
                pinned[one] = await _pinned(one, room, say)
            pins = pinned[one]
            if pins is None:
                continue
            found = await _try(original, start, one.python, pins, work, room)
            if isinstance(found, StartedOriginal):
                say(f"started by {start.found} with {one.told}: {' && '.join(start.commands) or 'as it is'}")
                return found
            last = found
            say(f"not started by {start.found} with {one.told}: {found}")
    raise TaskError(f"it does not start: {last}")


class _Wanted(NamedTuple):
    """An environment to try."""

    python: str
    requirements: tuple[str, ...] | None
    cutoff: str | None

    @property
    def told(self) -> str:
        return f"Python {self.python} and packages as of {(self.cutoff or 'today')[:10]}"

    def with_also(self, names: Sequence[str]) -> "_Wanted":
        """Return it with packages that a start command wants besides."""
        if self.requirements is None:
            return self
        there = {_name_of(line) for line in self.requirements}
        return self._replace(requirements=(*self.requirements, *(one for one in names if one not in there)))


def environments_of(original: Path, moment: str | None) -> Iterator[_Wanted]:
    """Yield the environments to try: as declared, then by names alone, for old pins may contradict each other.

    A release from before an interpreter seldom works with it, so the day when most did with that one comes next.
    What builds old ones now wants a setuptools that was not there before 2019-02.
    """
    declared = requirements_of(original)
    names = None if declared is None else tuple(dict.fromkeys(line.partition(";")[0] for line in declared))
    loose = None if names is None else tuple(re.split(r"\s*[<>=!~]", line)[0] for line in names)
    found = []
    moment = None if moment is None else max(moment, _BUILDABLE)
    for python in pythons_of(original, PYTHON)[:_MOST_PYTHONS]:
        known = _day_of(python, moment)
        found += [_Wanted(python, declared, cutoff) for cutoff in (moment, known, None)]
        found += [_Wanted(python, loose, cutoff) for cutoff in (known, moment)]
    yield from dict.fromkeys(found)


def _day_of(python: str, moment: str | None) -> str | None:
    """Return *moment*, or a day some months after the release of *python* where that is later."""
    released = RELEASED.get(python)
    if moment is None or released is None:
        return moment
    settled = date.fromisoformat(released) + timedelta(days=_SETTLED_DAYS)
    return max(moment, f"{settled}T00:00:00Z")


def _name_of(line: str) -> str:
    return re.split(r"[\s\[<>=!~;]", line)[0].lower()


async def _pinned(wanted: _Wanted, room: DeploymentRoom, say: Say) -> tuple[str, ...] | None:
    """Return the requirements with versions; None where they cannot be installed."""
    if wanted.requirements is None:
        return ()
    request = ResolvedRequest(
        python=wanted.python,
        requirements=wanted.requirements,
        exclude_newer=wanted.cutoff,
        work_s=_INSTALL_S,
    )
    try:
        environment = await room.next().builder.submission_environment(request)
    except OutOfTimeError:
        say(f"its requirements were not installed within {_INSTALL_S:.0f} s with {wanted.told}")
        return None
    except SubmissionError as error:
        say(f"its requirements cannot be installed with {wanted.told}: {str(error)[:300]}")
        return None
    lines = environment.resolution.lines if environment.resolution is not None else ()
    return tuple(line.partition(" ")[0] for line in lines)


async def _try(
    original: Path, start: ServiceStart, python: str, pins: tuple[str, ...], work: Path, room: DeploymentRoom
) -> StartedOriginal | str:
    """Return the reference that *start* makes, or in a sentence why it does not answer."""
    said = ""
    for _ in range(2):  # where it listens on another port, that one is its own
        tree = work / "reference"
        await in_thread(remove_tree, tree)
        await in_thread(copy_tree, original, tree)
        script = {SCRIPT: start.script()} if start.commands else {}
        added = script | ({REQUIREMENTS: "".join(f"{pin}\n" for pin in pins)} if pins else {})
        for name, text in added.items():
            (tree / name).write_text(text, encoding="utf-8")
        async with running(tree, start.port, limits_of(python), room) as (_, readiness):
            if readiness.in_time:
                return StartedOriginal(
                    tree=tree,
                    python=python,
                    port=start.port,
                    found=start.found,
                    added=added,
                    program=await asyncio.to_thread(files_of, original, start.commands),
                )
            said = readiness.message
        elsewhere = _ELSEWHERE.search(said)
        if elsewhere is None or int(elsewhere[1]) == start.port:
            break
        start = start.but(port=int(elsewhere[1]))
    return said
