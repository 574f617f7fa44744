"""Processor time of an original's hidden tests as they are, falsified and traced.

    python benchmarks/trace_cost.py TASK... [--times 3]

Prints, for each task, the median seconds of each pass and what twin and trace cost beside the plain tests.
"""

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from groundup.episodes.equipment import equipment
from groundup.grading.library.execution import Overlay, run_hidden_tests
from groundup.grading.library.hidden import LibraryUnderTest
from groundup.grading.library.passes import suite_of
from groundup.grading.library.trace import trace_of
from groundup.sandbox.protocol import Sandbox, SandboxProvider, SandboxSpec
from groundup.settings import load
from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup.suites.nl2repobench.shipped import shipped_trace


class Metered:
    """A provider that remembers how much processor time its sandboxes used."""

    def __init__(self, provider: SandboxProvider) -> None:
        self._provider = provider
        self.seconds = 0.0

    async def open(self, spec: SandboxSpec) -> object:
        """Return a sandbox as a context that adds what was used at its end."""
        opened = await self._provider.open(spec)

        @asynccontextmanager
        async def metered() -> AsyncIterator[Sandbox]:
            async with opened as sandbox:
                yield sandbox
                self.seconds += sandbox.usage().cpu_s or 0.0

        return metered()


async def measure(name: str, times: int) -> str:
    """Return a line of the table."""
    settings, recipe, record = load(), shipped_recipes()[name], shipped_trace(name)
    assert record is not None, f"{name} has no trace"
    found: dict[str, list[float]] = {"true": [], "twin": [], "trace": []}
    with tempfile.TemporaryDirectory() as folder:
        async with equipment(settings.sandbox, settings) as tools:
            environment = await tools.builder.python(recipe.environment.request())
            original = (await tools.builder.source(recipe.source_request())).path
            suite = suite_of(original, recipe.tests, recipe.expected)
            traced = trace_of(suite, record).suite.sources("seed")
            overlays = {
                "true": Overlay(),
                "twin": Overlay(changed=suite.falsified("seed")),
                "trace": Overlay(changed=traced, observes=True),
            }
            for number in range(times):
                for kind, overlay in overlays.items():
                    meter = Metered(tools.provider)
                    room = Path(folder, f"{kind}-{number}")
                    room.mkdir()
                    bench = tools.bench(room, None)
                    bench = type(bench)(cast(SandboxProvider, meter), bench.builder, room)
                    library = LibraryUnderTest(original, original, recipe.tests, environment)
                    await run_hidden_tests(library, bench, overlay=overlay)
                    found[kind].append(meter.seconds)
    true, twin, trace = (statistics.median(found[kind]) for kind in ("true", "twin", "trace"))
    return f"| {name} | {true:.2f} | {twin:.2f} | {trace:.2f} | {twin / true:.2f} | {trace / true:.2f} |"


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    print("| task | plain, s | twin, s | trace, s | twin / plain | trace / plain |\n|---|---|---|---|---|---|")
    for name in asked.tasks:
        print(asyncio.run(measure(name, asked.times)), flush=True)


if __name__ == "__main__":
    main()
