"""The tools that a grader gets from a run, and slots: how much heavy work goes on at once in this process.

A service that starts, or a build that keeps a processor busy, waits here for its slot, and
its clock begins when it has got one. So what time decides does not depend on how many attempts run at once.

Which code decides a verdict: found by following imports, so that a cached verdict is forgotten when it changes.

The files count, not a version that somebody keeps: each module that a grader imports, late imports included, with
everything that lies beside it, because runners and stubs are read and not imported. Recipes are left out; a
grader's identity has the one that it uses.
"""

import asyncio
import hashlib
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.domain.limits import Repeats
from groundup.environments.builder import EnvironmentBuilder
from groundup.sandbox.protocol import Mount, SandboxProvider
from groundup.trees.writer import share_tree

if TYPE_CHECKING:
    from groundup.registries.cache import Trouble
    from groundup.registries.lending import RegistryGateway


class Slots:
    """At most *at_once* slots are taken at a time, in the order in which they were asked for."""

    def __init__(self, at_once: int | None = None) -> None:
        self.at_once = at_once or processors()
        self._free = asyncio.Semaphore(self.at_once)
        self._clearing = asyncio.Lock()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it. Parts of work that has one get in at once: it would wait for itself."""
        held = _HELD.get()
        if self in held:
            yield
            return
        async with self._free:
            mark = _HELD.set((*held, self))
            try:
                yield
            finally:
                _HELD.reset(mark)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator["Slots"]:
        """Hold all slots, so that nothing else goes on, and lend one of them.

        Work that has a slot must not ask: it would wait for itself.
        """
        # One after the other: two that hold half of the slots each would wait for ever.
        async with self._clearing, AsyncExitStack() as held:
            for _ in range(self.at_once):
                await held.enter_async_context(self._free)
            yield Slots(1)


_HELD: ContextVar[tuple[Slots, ...]] = ContextVar("held slots", default=())


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class GradingContext:
    """Everything that a grader may use besides its own data. `scratch` is removed by the run afterwards."""

    provider: SandboxProvider
    builder: EnvironmentBuilder
    scratch: Path
    timeout_s: float | None = None
    """Overrides the recipe's test timeout."""
    slots: Slots = field(default_factory=Slots)
    """For heavy work and what is timed; all contexts of a run share them."""
    repeats: Repeats = field(default_factory=Repeats)
    """How often tests run again at most."""
    lent: "list[RegistryGateway]" = field(default_factory=list)
    """Gateways that a submission's own commands were given; none of what they could not fetch is forgotten."""

    def writable(self, mount: Mount) -> Mount:
        """Return *mount* as a folder of its own below `scratch`, into which an installer can write.

        Where guests are other users than groundup, the files are those of the layer, which a guest can replace but
        not write.
        """
        copy = self.scratch / "environment"
        if self.provider.guests_are_others:
            share_tree(mount.source, copy)
        else:
            shutil.copytree(mount.source, copy, symlinks=True)
        return Mount(source=copy, target=mount.target, writable=True)

    def unreached(self) -> "Trouble | None":
        """Return what a submission's commands wanted and no registry could give, by the gateways' record."""
        troubles = (trouble for gateway in self.lent for trouble in gateway.troubles)
        return next((trouble for trouble in troubles if trouble.kind == "network"), None)


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<package>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(?P<whole>[\w., \t]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"\w+")
_APART = frozenset({"recipes", "__pycache__"})


@cache
def code_digest(module: str) -> str:
    """Return the digest of the code that the grader in *module* decides by."""
    digest = hashlib.sha256()
    for path in sorted(set(_files(module))):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.parent.name}/{path.name} {content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def modules_behind(module: str) -> frozenset[str]:
    """Return *module* and the modules of its own top-level package and of groundup that it imports in the end."""
    tops = {module.partition(".")[0], __name__.partition(".")[0]}
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _source(name)
        if path is None:
            continue
        found.add(name)
        if name in tops - {module}:
            continue  # a top-level package offers everything, and decides nothing
        waiting += [one for one in _imported(path.read_text(encoding="utf-8")) if one.partition(".")[0] in tops]
        waiting += [name.rpartition(".")[0]] if name.count(".") > 1 else []
    return frozenset(found)


def _imported(source: str) -> Iterator[str]:
    """Yield what *source* imports; a name that is imported from a package may be a module."""
    for statement in _IMPORT.finditer(source):
        if statement["whole"]:
            yield from (part.split()[0] for part in statement["whole"].split(",") if part.split())
            continue
        yield statement["package"]
        yield from (f"{statement['package']}.{name}" for name in _NAME.findall(statement["names"]))


def _source(name: str) -> Path | None:
    """Return the file of a module, by its place below its top-level package; None where there is none."""
    top, _, rest = name.partition(".")
    module = sys.modules.get(top)
    file = module.__file__ if module is not None else getattr(find_spec(top), "origin", None)
    if file is None:
        return None
    place = Path(file)
    if not rest:
        return place
    below = place.parent.joinpath(*rest.split("."))
    return next((path for path in (below / "__init__.py", below.with_suffix(".py")) if path.is_file()), None)


def _files(module: str) -> Iterator[Path]:
    folders: set[Path] = set()
    for name in modules_behind(module):
        path = _source(name)
        if path is None:
            continue
        yield path
        if "." in name and path.parent not in folders:
            folders.add(path.parent)
            yield from _beside(path.parent)


def _beside(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _APART or path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and not (path / "__init__.py").exists():
            yield from _beside(path)
