"""What became of an attempt, from how its program ended and why its model answered no more."""

import re
from dataclasses import dataclass

from groundup.agents.cli.preset import Preset
from groundup.agents.protocol import Ended
from groundup.domain.subjects import Outcome
from groundup.models.exchanges import Account, Exchange, Stop
from groundup.models.protocol import BudgetSpentError, ModelError, UnusableModelError
from groundup.sandbox.protocol import CommandResult, Ending

_LIMITS = {
    Ending.TIMEOUT: "the program did not end in time",
    Ending.WALL_CLOCK: "the program did not end in time",
    Ending.MEMORY: "the program needed more memory than it may have",
    Ending.DISK: "the program wrote more to disk than it may",
    Ending.PROCESSES: "the program started more processes than it may",
}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    result: CommandResult
    stop: Stop | None
    """Why its model answered no more; None: it would have answered."""
    last: Exchange | None
    """What it asked last."""

    @property
    def wanted_more(self) -> bool:
        """Whether it was still asking when it was answered no more."""
        return self.last is not None and self.last.reply is None


def outcome_of(preset: Preset, finished: Finished, account: Account | None) -> Ended:
    """Return the outcome. Raises `ModelError` and `BudgetSpentError` where another try is owed."""
    result, stop = finished.result, finished.stop
    if stop is not None and stop.outcome is Outcome.INFRASTRUCTURE:
        raise (UnusableModelError if stop.of_the_run else ModelError)(stop.detail)
    if stop is not None and stop.outcome is Outcome.BUDGET and account is not None and account.spent() is None:
        raise BudgetSpentError(stop.detail)
    done = result.ending is Ending.EXITED and result.exit_code in preset.success
    if stop is not None and (finished.wanted_more or not done):
        return Ended(outcome=stop.outcome, detail=stop.detail)
    if finished.last is not None and finished.last.refused:
        return Ended(
            outcome=Outcome.REFUSED, detail=finished.last.error or "the endpoint's filter ended the reply"
        )
    if result.ending in _LIMITS:
        return Ended(outcome=Outcome.LIMIT, detail=_LIMITS[result.ending])
    if not done:
        detail = f"the program ended with exit code {result.exit_code}: {_last_words(result)}"
        return Ended(outcome=Outcome.CRASHED, detail=detail)
    if account is not None and preset.protocol != "none" and account.turns == 0:
        detail = f"the program ended without a reply of its model: {_last_words(result)}"
        return Ended(outcome=Outcome.CRASHED, detail=detail)
    return Ended(outcome=Outcome.SUBMITTED, detail=f"exit code {result.exit_code}")


def _last_words(result: CommandResult) -> str:
    for stream in (result.stderr, result.stdout):
        text = _ESCAPES.sub("", stream.decode(errors="replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return "".join(character for character in lines[-1] if character.isprintable())[-300:]
    return "it said nothing"
