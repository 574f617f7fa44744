"""All sessions of a server: who may open one, which wait for a slot, and which are given up."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from groundup.domain.errors import GroundupError
from groundup.domain.names import count
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.serving.session import EndedError, Opening, Rules, Session, SessionWatch

_REMEMBERED = 10_000
"""Sessions that have ended, by name: their clients learn that."""


class Room(Record):
    """How much a server does at once."""

    slots: int = Field(default=8, ge=1, description="episodes that are open at once")
    waiting: int = Field(default=256, ge=0, description="sessions that may wait for a slot")
    client_slots: int | None = Field(default=None, ge=1, description="of one client; None: all")
    idle_s: float = Field(default=900.0, gt=0, description="until a session is given up whose client is silent")


class FullError(GroundupError):
    """No session can be begun now; ask again soon."""


class ExistsError(GroundupError):
    """The client has a session of that name."""


class UnknownSessionError(GroundupError):
    """The client has no session of that name."""


class Sessions:
    """Begins, finds and ends sessions."""

    def __init__(
        self, room: Room, rules: Rules, opening: Opening, watch: SessionWatch, *, clients: int = 1
    ) -> None:
        """*clients*: how many have a share of what may wait."""
        self.room = room
        self._clients = clients
        self._rules = rules
        self._opening = opening
        self._watch = watch
        # By client, too: a name that another client guesses, or has taken, says and changes nothing.
        self._all: dict[tuple[str, str], Session] = {}
        self._gone: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._slots = asyncio.Semaphore(room.slots)
        self._of_client: dict[str, asyncio.Semaphore] = {}
        self._draining = False

    @property
    def all(self) -> tuple[Session, ...]:
        return tuple(self._all.values())

    @property
    def open(self) -> int:
        """How many have an open episode."""
        return sum(session.is_open for session in self._all.values())

    @property
    def waiting(self) -> int:
        return len(self._waiting())

    def _waiting(self) -> list[Session]:
        return [session for session in self._all.values() if not session.is_open and not session.is_over]

    def create(self, name: str, client: str, task: Task) -> Session:
        """Begin a session. Raises `ExistsError`, `EndedError`, and `FullError` when there is no room for it.

        A client whose answer was lost may ask again, as long as it has done nothing in the session.
        """
        if (known := self._all.get((client, name))) is not None:
            if known.task.id == task.id and not known.is_used:
                return known
            raise ExistsError("the session exists; ask for a new one")
        if (client, name) in self._gone:
            raise EndedError(f"the session {name} has ended; ask for a new one")
        if self._draining:
            raise FullError("the server is stopping")
        waiting, free = self._waiting(), max(0, self.room.slots - self.open)
        # A session waits for a moment even where slots are free, so these count as room.
        if len(waiting) >= self.room.waiting + free:
            raise FullError(f"{count(self.room.slots, 'session')} may be open at once, and {len(waiting)} wait")
        # Rounded up: with fewer places than clients, each may still have one that is free.
        own, share = sum(session.client == client for session in waiting), -(-self.room.waiting // self._clients)
        if own >= share + free:
            raise FullError(f"{own} of your sessions wait; the other places are for other clients")
        session = self._all[client, name] = Session(name, client, task, self._rules, self._watch)
        session.begin(lambda: self._slot(client), self._opening)
        return session

    def find(self, name: str, client: str) -> Session:
        """Return a session of *client*. Raises `UnknownSessionError` and `EndedError`."""
        if (session := self._all.get((client, name))) is not None:
            session.heard()
            return session
        if (client, name) in self._gone:
            raise EndedError(f"the session {name} has ended")
        raise UnknownSessionError("there is no such session; create it first")

    async def end(self, name: str, client: str) -> None:
        if (session := self._all.get((client, name))) is not None:
            await self.give_up(session, "the client ended it", by_client=True)

    async def reap(self) -> None:
        """Give up silent sessions, for ever; one with a call in flight is not silent."""
        while True:
            await asyncio.sleep(min(5.0, self.room.idle_s / 4))
            await self.give_up_silent()

    async def give_up_silent(self) -> None:
        """Give up the sessions that are silent now."""
        silent_since = time.monotonic() - self.room.idle_s
        silent = [one for one in self.all if one.seen_at < silent_since and not one.is_busy]
        how = f"its client was silent for {self.room.idle_s:g} s"
        await asyncio.gather(*(self.give_up(session, how, by_client=False) for session in silent))

    def drain(self) -> None:
        self._draining = True

    async def drained(self) -> None:
        """Wait until no session is left that does something."""
        await asyncio.gather(*(session.over() for session in self.all))

    async def close(self) -> None:
        """End all sessions; those that have no reward yet are recorded as interrupted."""
        self._draining = True
        how = "the server was stopped before the episode had ended"
        await asyncio.gather(*(self.give_up(session, how, by_client=False) for session in self.all))

    async def give_up(self, session: Session, how: str, *, by_client: bool) -> None:
        """End a session; *how* in words, and whether its client wanted that."""
        await session.close(how, by_client=by_client)
        if self._all.pop((session.client, session.name), None) is not None:
            self._watch.ended(session, how)
        self._gone[session.client, session.name] = None
        while len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)

    @asynccontextmanager
    async def _slot(self, client: str) -> AsyncIterator[None]:
        """Wait for a slot, first come, first served; clients that have all of theirs wait apart."""
        if self.room.client_slots is None:
            async with self._slots:
                yield
            return
        own = self._of_client.setdefault(client, asyncio.Semaphore(self.room.client_slots))
        async with own, self._slots:
            yield
