"""What one sandbox asked of one registry: its budget, what it got, and what it did not get and why.

Every registry gateway keeps one, so limits and records mean the same for all of them.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from groundup.domain.errors import GroundupError, InfrastructureError, NetworkError
from groundup.domain.records import Record
from groundup.sandbox.deadlines import Debt

if TYPE_CHECKING:
    from groundup.registries.server import Response


class Fetched(Record):
    """One thing that a gateway gave out."""

    kind: Literal["page", "file", "metadata"]
    name: str
    filename: str | None = None
    version: str | None = None
    sha256: str | None = None
    bytes: int = 0
    from_cache: bool = False
    stale: bool = Field(default=False, description="the registry could not be reached: an older page was given")
    verified: bool = Field(
        default=True, description="whether the registry named a hash that it was checked against"
    )


class Trouble(Record):
    """One thing that a gateway could not or would not give out; the builder tells who is to blame from these."""

    kind: Literal["refused", "unknown", "network", "budget"]
    name: str
    message: str


class UnknownPackageError(GroundupError):
    """A registry answers, and does not have what was asked for. The caller decides who is to blame."""

    def __init__(self, message: str, hidden: datetime | None = None) -> None:
        """Take when the first release came, where a cut-off hides all of them."""
        super().__init__(message)
        self.hidden = hidden


_RECORDS = 10_000
"""How many records of one kind are kept: a sandbox can ask without end."""
MAX_BYTES = 8 * 1024**3
"""How much one sandbox may make the host fetch from one registry."""
PROJECTS = 3000
"""How many projects one sandbox may ask for, unless its gateway names another number."""


class RegistryBudgetError(Exception):
    """A sandbox wants more than it may have."""


class RegistryRefusedError(Exception):
    """The task forbids what is asked for."""


class RegistryLedger:
    """Budget and records of one sandbox at one registry."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_projects: int = PROJECTS) -> None:
        self._max_bytes = max_bytes
        self._max_projects = max_projects
        self._taken: dict[str, int] = {}
        """Sizes of what was fetched, by address inside: asking again, or for a head only, changes nothing."""
        self._waiting: dict[int, float] = {}
        """When each question was asked that has no answer yet."""
        self.debt = Debt()
        self.questions = 0
        """How many were asked so far."""
        self._projects: set[str] = set()
        self._fetched: dict[tuple[str, str, str | None], Fetched] = {}
        self._troubles: dict[tuple[str, str], Trouble] = {}
        self._hidden: dict[str, datetime] = {}

    @property
    def fetched(self) -> tuple[Fetched, ...]:
        """What was given out, each thing once, the first ones first."""
        return tuple(self._fetched.values())

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        return tuple(self._troubles.values())

    @property
    def hidden(self) -> dict[str, datetime]:
        """When the first release came that the cut-off hides, by package."""
        return dict(self._hidden)

    def hide(self, name: str, first: datetime | None) -> None:
        if first is not None and len(self._hidden) < _RECORDS:
            self._hidden.setdefault(name, first)

    def longest_wait_s(self) -> float:
        """Return how long the oldest question has waited for its answer."""
        return time.monotonic() - min(self._waiting.values()) if self._waiting else 0.0

    def admit(self, project: str) -> None:
        """Count a project that is asked for. Raises `RegistryBudgetError`."""
        if project not in self._projects and len(self._projects) >= self._max_projects:
            raise RegistryBudgetError(f"more than {self._max_projects} projects were asked for")
        self._projects.add(project)

    def charge(self, place: str, size: int) -> None:
        """Count *size* bytes fetched as *place*, once. Raises `RegistryBudgetError`."""
        self._taken.setdefault(place, size)
        if sum(self._taken.values()) > self._max_bytes:
            raise RegistryBudgetError(f"more than {self._max_bytes} bytes would have been fetched")

    def correct(self, place: str, size: int) -> None:
        """Count what *place* really has."""
        self._taken[place] = size

    def note(self, fetched: Fetched) -> None:
        if len(self._fetched) < _RECORDS:
            self._fetched.setdefault((fetched.kind, fetched.name, fetched.filename), fetched)

    async def answered(self, name: str, work: "Callable[[], Awaitable[Response]]") -> "Response":
        """Do *work* for a question about *name*; what goes wrong becomes an answer and a record."""
        self.questions = ticket = self.questions + 1
        self._waiting[ticket] = time.monotonic()
        name = name[:200]
        try:
            with self.debt.owing():
                return await work()
        except RegistryRefusedError as error:
            return self._denied(403, Trouble(kind="refused", name=name, message=str(error)))
        except RegistryBudgetError as error:
            return self._denied(403, Trouble(kind="budget", name="", message=str(error)))
        except UnknownPackageError as error:
            self.hide(name, error.hidden)
            return self._denied(404, Trouble(kind="unknown", name=name, message=str(error)))
        except NetworkError as error:
            return self._denied(502, Trouble(kind="network", name=name, message=str(error)))
        except InfrastructureError as error:
            return self._denied(503, Trouble(kind="network", name=name, message=str(error)))
        except OSError as error:
            message = f"the cache of fetched packages cannot be used: {error}"
            return self._denied(503, Trouble(kind="network", name=name, message=message))
        finally:
            del self._waiting[ticket]

    def _denied(self, status: int, trouble: Trouble) -> "Response":
        if len(self._troubles) < _RECORDS:
            self._troubles.setdefault((trouble.kind, trouble.name), trouble)
        return text(status, trouble.message)


def text(status: int, message: str) -> "Response":
    """Return an answer for people."""
    from groundup.registries.server import Response

    return Response(status, f"{message}\n".encode())
