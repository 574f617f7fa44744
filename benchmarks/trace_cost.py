"""What the falsified twin and the golden trace cost: gradings of an original without both, with one, with both.

    python benchmarks/trace_cost.py TASK... [--times 3]

Prints, for each task, the median seconds of a whole grading, from the composition of the tested tree to the
verdict, on the clock and of processor time, groundup's own and the sandboxes'. The three take turns.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from groundup.domain.tasks import Task
from groundup.episodes.equipment import Equipment, equipment
from groundup.grading.bench import Bench
from groundup.sandbox.protocol import Sandbox, SandboxProvider, SandboxSpec
from groundup.settings import load
from groundup.suites.base import Grader
from groundup.suites.nl2repobench.recipe_file import shipped_recipes
from groundup.suites.nl2repobench.shipped import shipped_trace
from groundup.suites.nl2repobench.strict import NL2RepoStrictGrader, NL2RepoTraceGrader


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


async def graded(grader: Grader, task: Task, original: Path, tools: Equipment) -> tuple[float, float]:
    """Return the seconds of one grading on the clock and of processor time."""
    meter = Metered(tools.provider)
    with tempfile.TemporaryDirectory() as folder:
        bench = tools.bench(Path(folder), None)
        bench = Bench(cast(SandboxProvider, meter), bench.builder, Path(folder))
        began, used = time.monotonic(), time.process_time()
        found = await grader.grade(task, original, bench)
        taken = time.monotonic() - began, time.process_time() - used + meter.seconds
    score = found.verdict.score
    assert score is not None, f"{task.id}: {found.verdict.reasons}"
    assert score.value == 1.0, f"{task.id}: the original did not pass: {found.verdict.reasons}"
    return taken


async def measure(name: str, times: int) -> str:
    """Return a line of the table."""
    settings, recipe = load(), shipped_recipes()[name]
    task = Task(id=name, suite="nl2repobench", instruction=None, data_version="own")
    graders: dict[str, Grader] = {
        "plain": NL2RepoStrictGrader({name: recipe.model_copy(update={"twin": None})}, lambda task: None),
        "strict": NL2RepoStrictGrader({name: recipe}, lambda task: None),
    }
    if shipped_trace(name) is not None:
        graders["trace"] = NL2RepoTraceGrader({name: recipe}, shipped_trace, lambda task: None)
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in graders}
    async with equipment(settings.sandbox, settings) as tools:
        original = (await tools.builder.source(recipe.source_request())).path
        await tools.builder.python(recipe.environment.request())
        for _ in range(times):
            for kind, grader in graders.items():
                found[kind].append(await graded(grader, task, original, tools))
    clock = {kind: statistics.median(one for one, _ in taken) for kind, taken in found.items()}
    used = {kind: statistics.median(one for _, one in taken) for kind, taken in found.items()}
    cells = [f"{clock['plain']:.2f}", f"{used['plain']:.2f}"]
    for kind in ("strict", "trace"):
        cells += [f"{spent[kind] / spent['plain']:.2f}" if kind in spent else "-" for spent in (clock, used)]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    print(
        "| task | plain, s | its processor, s | strict / plain | its processor | trace / plain | its processor |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in asked.tasks:
        print(asyncio.run(measure(name, asked.times)), flush=True)


if __name__ == "__main__":
    main()
