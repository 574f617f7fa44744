"""Configurations of runs of the toy suite, and a recorder of events."""

from groundup.runs.plan import RunOptions
from groundup.runs.progress import Event
from groundup.store.records import Predictions, References, RunConfiguration

SUITE = "tests.runs.toy:create"
TWO = "tests.runs.toy:create_two"
SHRINKING = "tests.runs.toy:create_shrinking"
BUILDER = "tests.runs.toy:create_builder"
PROVIDER = "tests.runs.toy:create_provider"
QUICK = RunOptions(jobs=2, retry_delay_s=0)


def oracle(suite: str = TWO) -> RunConfiguration:
    """Return a configuration whose submissions all pass."""
    return RunConfiguration(suite=suite, submissions=References(which="oracle"), sandbox=PROVIDER)


def evaluation(predictions: Predictions, suite: str = TWO) -> RunConfiguration:
    """Return a configuration for *predictions*."""
    return RunConfiguration(suite=suite, submissions=predictions, sandbox=PROVIDER)


class Recorder:
    """Remembers every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Remember *event*."""
        self.events.append(event)
