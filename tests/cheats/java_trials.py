"""Grading dishonest Java services; needs a JDK 17, Maven and its repository."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from groundup.environments.local import LocalBuilder
from groundup.grading.bench import Bench
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import load
from groundup.trees.scratch import scratch_folder
from tests.cheats.results import Outcome
from tests.cheats.trials import outcome_of
from tests.suites.repogenesis.test_java import graded


@dataclass(frozen=True)
class JavaTrial:
    """Grades services."""

    provider: SandboxProvider
    folder: Path

    async def grade(self, files: Mapping[str, str]) -> Outcome:
        """Return how many of the three hidden tests count."""
        settings = load()
        bench = Bench(
            provider=self.provider, builder=LocalBuilder(settings, self.provider), scratch=self.folder / "scratch"
        )
        bench.scratch.mkdir(exist_ok=True)
        return outcome_of(await graded(dict(files), bench, self.folder))


@contextmanager
def java_trial(provider: SandboxProvider) -> Iterator[JavaTrial]:
    """Yield a place to grade; it is removed afterwards."""
    with scratch_folder("cheats") as folder:
        yield JavaTrial(provider, folder)
