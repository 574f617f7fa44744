"""The tools that a grader gets from a run, and slots: how much heavy work goes on at once in this process.

A service that starts, or a build that keeps a processor busy, waits here for its slot, and
its clock begins when it has got one. So what time decides does not depend on how many attempts run at once.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.domain.limits import Repeats
from groundup.environments.builder import EnvironmentBuilder
from groundup.sandbox.protocol import Mount, SandboxProvider, writable_copy
from groundup.sandbox.rooted import RootedProvider, UnpackedImage

if TYPE_CHECKING:
    from groundup.registries.gateway import RegistryGateway
    from groundup.registries.ledger import Trouble


class Slots:
    """At most *at_once* slots are taken at a time, in the order in which they were asked for."""

    def __init__(self, at_once: int | None = None) -> None:
        self.at_once = at_once or processors()
        self._free = asyncio.Semaphore(self.at_once)
        self._clearing = asyncio.Lock()

    @property
    def all_taken(self) -> bool:
        """Whether who asks now has to wait."""
        return self._free.locked()

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

    @property
    def image(self) -> UnpackedImage | None:
        """The image in which the task is graded, where its files are at hand."""
        return self.provider.image if isinstance(self.provider, RootedProvider) else None

    def writable(self, mount: Mount) -> Mount:
        """Return *mount* as a folder of its own below `scratch`, into which an installer can write."""
        return writable_copy(mount, self.scratch, self.provider)

    def unreached(self) -> "Trouble | None":
        """Return what a submission's commands wanted and no registry could give, by the gateways' record."""
        troubles = (trouble for gateway in self.lent for trouble in gateway.troubles)
        return next((trouble for trouble in troubles if trouble.kind == "network"), None)
