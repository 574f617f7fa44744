"""Money that a run may spend on its models. Every call reserves the most it can cost before it is sent."""

import asyncio

from groundup.models.protocol import BudgetSpentError


class Ledger:
    """One run's budget, shared by all its models and attempts. Belongs to one event loop."""

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        """What was paid so far; of a resumed run also what earlier starts paid."""
        self._reserved: list[float] = []
        self._settled = asyncio.Event()

    @property
    def reserved_usd(self) -> float:
        """What calls on their way may cost."""
        return sum(self._reserved)

    async def reserve(self, usd: float) -> None:
        """Set *usd* aside for a call. Waits for other calls to settle when only they are in the way.

        Raises `BudgetSpentError` when what is left is not enough.
        """
        if self.limit_usd is None:
            return
        while self.spent_usd + self.reserved_usd + usd > self.limit_usd:
            if not self._reserved:
                left = max(0.0, self.limit_usd - self.spent_usd)
                raise BudgetSpentError(
                    f"of the budget of ${self.limit_usd:g} only ${left:.4f} are left and the next call may "
                    f"cost ${usd:.4f}; raise --max-cost to go on"
                )
            await self._settled.wait()
        self._reserved.append(usd)

    def settle(self, reserved_usd: float, paid_usd: float) -> None:
        """Replace a reservation by what was paid."""
        self.spent_usd += paid_usd
        if self.limit_usd is not None:
            self._reserved.remove(reserved_usd)
            self._settled.set()  # all who wait look again
            self._settled = asyncio.Event()
