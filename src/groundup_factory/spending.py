"""What models may cost while a set is made, and what they did cost.

Each reply is a line in `spending.jsonl` before anything is made of it. So a limit holds over all calls of the
command, whatever ended the ones before. When the limit is reached nothing more is asked; entries that wanted it
are pending.

What making a set costs, entry by entry: processor time, with that of children, and room on the disk.
"""

import os
import resource
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from pydantic import Field, ValidationError

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.errors import UsageError
from groundup.domain.figures import money
from groundup.domain.records import Record
from groundup.domain.usage import ModelUse
from groundup.models.opening import open_model
from groundup.models.prices import CostLedger
from groundup.models.protocol import BudgetSpentError, CallWatch, ChatModel
from groundup.models.settings import ModelSettings, usual_address
from groundup.store.files import Journal, complete_lines

SPENDING = "spending.jsonl"
_REPLIES = "replies"


class SetModel(NamedTuple):
    """The model that writes for a set, and what it may cost over all calls of the command."""

    name: str
    """PROVIDER/MODEL"""
    base_url: str | None = None
    price: str | None = None
    prices: Path | None = None
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    """Input and output together."""


class SpentReply(Record):
    """What one reply, or a call without one, cost."""

    entry: str
    model: str
    tokens: int = Field(description="input and output, with what was lost on the way")
    usd: float | None = Field(default=None, description="None: no price is known")


class ModelSpending(Record):
    """What a model cost, over all entries."""

    model: str
    replies: int
    tokens: int
    usd: float | None

    def __str__(self) -> str:
        cost = "of no known price" if self.usd is None else money(self.usd)
        return f"{self.model}: {self.replies} replies, {self.tokens:,} tokens, {cost}"


def read_spending(folder: Path) -> tuple[SpentReply, ...]:
    """Return what models cost the set in *folder* so far. Raises `UsageError`."""
    found = []
    for number, line in complete_lines(folder / SPENDING):
        try:
            found.append(SpentReply.model_validate_json(line))
        except ValidationError as error:
            raise UsageError(f"{folder / SPENDING}:{number}: it says of no reply what it cost") from error
    return tuple(found)


def summed(replies: Sequence[SpentReply]) -> tuple[ModelSpending, ...]:
    """Return what each model cost."""
    found = []
    for name in dict.fromkeys(one.model for one in replies):
        own = [one for one in replies if one.model == name]
        known = [one.usd for one in own if one.usd is not None]
        usd = round(sum(known), 6) if len(known) == len(own) else None
        found.append(ModelSpending(model=name, replies=len(own), tokens=sum(one.tokens for one in own), usd=usd))
    return tuple(found)


class SetSpending:
    """The budget of a set, shared by all its entries; used as a context."""

    def __init__(self, folder: Path, model: SetModel, cache: Path) -> None:
        """Go on with what was spent for the set in *folder*; replies are kept in *cache*. Raises `UsageError`."""
        before = read_spending(folder)
        self._folder = folder
        self._wanted = model
        self._settings = ModelSettings(
            base_url=model.base_url or usual_address(model.name),
            price=model.price,
            prices=model.prices,
            max_cost_usd=model.max_cost_usd,
            cache_dir=cache / _REPLIES,
        )
        self._ledger = CostLedger(model.max_cost_usd, sum(one.usd or 0.0 for one in before))
        self._tokens = sum(one.tokens for one in before)
        self._journal: Journal | None = None
        self._was_refused = False
        open_model(model.name, self._settings, ledger=self._ledger)  # a wrong name or key ends it before the work

    def __enter__(self) -> Self:
        """Begin to record."""
        self._journal = Journal(self._folder / SPENDING)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()

    @asynccontextmanager
    async def opened(self, entry: str) -> AsyncIterator["_CountedModel"]:
        async with open_model(self._wanted.name, self._settings, ledger=self._ledger) as model:
            yield _CountedModel(model, entry, self)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is asked any more."""
        limit, limit_usd = self._wanted.max_tokens, self._wanted.max_cost_usd
        return (
            self._was_refused
            or (limit is not None and self._tokens >= limit)
            or (limit_usd is not None and self._ledger.spent_usd >= limit_usd)
        )

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Let a reply be asked for inside. Raises `BudgetSpentError` where the budget does not allow that."""
        limit = self._wanted.max_tokens
        if limit is not None and self._tokens >= limit:
            raise BudgetSpentError(f"{self._tokens:,} of {limit:,} tokens are spent; raise --max-tokens to go on")
        try:
            yield
        except BudgetSpentError:
            self._was_refused = True
            raise

    def enter(self, spent: SpentReply) -> None:
        """Record what a reply cost."""
        assert self._journal is not None, "the set is being made"
        self._tokens += spent.tokens
        self._journal.append(spent.model_dump_json().encode())


class _Lost:
    """Hears what a call without a reply may have cost."""

    use: ModelUse | None = None

    def saying(self, text: str) -> None:
        """Do nothing: no progress is shown."""

    def lost(self, use: ModelUse) -> None:
        self.use = use


class _CountedModel:
    """A `ChatModel` whose replies are recorded, and which asks nothing beyond the budget."""

    def __init__(self, model: ChatModel, entry: str, spending: SetSpending) -> None:
        self.name = model.name
        self.context_tokens = model.context_tokens
        self._model = model
        self._entry = entry
        self._spending = spending

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Return the reply, and record what it cost; *watch* is not told. Raises `BudgetSpentError`."""
        lost = _Lost()
        try:
            with self._spending.asking():
                reply = await self._model.complete(request, lost)
        finally:
            if lost.use is not None:
                self._enter(lost.use.usage.input_tokens + lost.use.usage.output_tokens, lost.use.cost_usd)
        if not reply.cached:
            usage = reply.usage + reply.lost
            self._enter(usage.input_tokens + usage.output_tokens, reply.cost_usd)
        return reply

    def _enter(self, tokens: int, usd: float | None) -> None:
        self._spending.enter(SpentReply(entry=self._entry, model=self.name, tokens=tokens, usd=usd))

    async def count_tokens(self, request: ChatRequest) -> int:
        """Ask the model behind."""
        return await self._model.count_tokens(request)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Do nothing: whoever opened it closes it."""


_LAYERS = "layers"


class EntryCost(NamedTuple):
    """What one entry took."""

    processor_s: float
    layers_mb: float
    """Of environments that came to the cache meanwhile, by this program or another one."""


class CostMeter:
    """Measures entries. Of entries at the same time, each has an equal share of the processor's time."""

    def __init__(self, cache: Path) -> None:
        """Measure with the cache in the folder *cache*."""
        self._layers = cache / _LAYERS
        self._spent: dict[str, float] = {}
        self._there: dict[str, frozenset[Path]] = {}
        self._last = _processor_s()

    def begin(self, entry: str) -> None:
        """Let *entry* be measured from now on."""
        self._share_out()
        self._spent[entry] = 0.0
        self._there[entry] = frozenset(self._built())

    def end(self, entry: str) -> EntryCost:
        """Return what *entry* took."""
        self._share_out()
        before = self._there.pop(entry)
        size = size_of(path for path in self._built() if path not in before)
        return EntryCost(round(self._spent.pop(entry), 1), round(size / 1e6, 1))

    def _share_out(self) -> None:
        now = _processor_s()
        for entry in self._spent:
            self._spent[entry] += (now - self._last) / len(self._spent)
        self._last = now

    def _built(self) -> Iterator[Path]:
        for kind in _entries(self._layers):
            yield from (path for path in _entries(kind) if path.is_dir())


def _processor_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def size_of(places: Iterable[Path]) -> int:
    """Return how many bytes the files below *places* have; what is gone meanwhile has none."""
    size = 0
    for place in places:
        for folder, _, names in os.walk(place):
            for name in names:
                try:
                    size += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - many of them
                except OSError:
                    continue
    return size


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
