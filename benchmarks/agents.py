"""Agents under load: `python -m benchmarks.agents [--attempts 200] [--latency 5] [--turns 6]`.

Real sandboxes and a scripted model behind real HTTP. Prints the round trip of `bash` with one attempt, commands
per second with many, and a run of many attempts at once: every turn must be on record, every command must have
succeeded, and no sandbox or scratch folder may be left. Ends with 1 when something is lost.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.agents.base import AgentContext, EpisodeLimits, SubmitResult
from groundup.agents.tools import run_bash
from groundup.agents.workspace import AgentSandbox, open_workspace
from groundup.domain.limits import Limits
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Status, Verdict
from groundup.episodes.backends import BUILDERS, SANDBOXES
from groundup.grading.context import GradingContext
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.sandbox.host_state import stale_state
from groundup.settings import Settings, load
from groundup.store.attempts import read_trajectory
from groundup.store.folder import RunFolder
from groundup.store.records import Generated, RunConfiguration
from groundup.suites.base import Graded, Grader, Suite, Tables

ATTEMPTS = 200


class CountingGrader(Grader):
    """Gives a point for each of the files that the agent was asked to make."""

    name = "strict"
    version = "1"

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return little."""
        return 16

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return nothing."""
        return {}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Count."""
        return self._graded(sum(1 for _ in submission.iterdir()))

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0."""
        return self._graded(0)

    def _graded(self, files: int) -> Graded:
        score = Score(numerator=files, denominator=1)
        grader = GraderIdentity(name=self.name, version=self.version, environment="none")
        return Graded(verdict=Verdict(status=Status.GRADED, score=score, grader=grader))


class ManyTasks(Suite, Tables):
    """A suite of equal tasks."""

    name = "many"
    version = "1"
    description = "equal tasks, for measuring"
    default_grader = "strict"

    @override
    def tasks(self) -> Sequence[Task]:
        """Return them."""
        return [
            Task(id=f"task-{number:04}", suite=self.name, instruction=f"Write number {number}.", limits=Limits())
            for number in range(ATTEMPTS)
        ]

    @override
    def graders(self) -> Mapping[str, CountingGrader]:
        """Return the one."""
        return {"strict": CountingGrader()}

    @override
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        """Write nothing."""

    @override
    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return the ids."""
        return ("id",), [(task.id,) for task in self.tasks()]


def create(settings: Settings) -> ManyTasks:
    """Return the suite."""
    return ManyTasks()


class Nowhere:
    """A trajectory that keeps nothing."""

    def append(self, kind: str, **fields: object) -> None:
        """Forget it."""

    def recorded(self) -> tuple[Mapping[str, object], ...]:
        """Return nothing."""
        return ()


async def commands(
    settings: Settings, root: Path, attempts: int, seconds: float
) -> tuple[list[float], float, float]:
    """Run `true` in so many sandboxes; return round trips, commands per second, and seconds to open all."""
    trips: list[float] = []
    async with SANDBOXES.find(settings.sandbox)(settings) as provider:
        builder = BUILDERS.find(settings.builder)(settings, provider)

        async def one(number: int, ready: asyncio.Barrier, times: dict[str, float]) -> None:
            place = root / str(number)
            for name in ("workspace", "scratch"):
                (place / name).mkdir(parents=True)

            async def submit() -> SubmitResult:
                return SubmitResult(shown=False)

            agent_context = AgentContext(
                task=Task(id="task", suite="many", instruction="", limits=Limits()),
                workspace=place / "workspace",
                provider=provider,
                builder=builder,
                scratch=place / "scratch",
                model=None,
                trajectory=Nowhere(),  # type: ignore[arg-type] # its fields are wider than they need be
                limits=EpisodeLimits(),
                submit=submit,
                keep=lambda name, content: None,
            )
            async with open_workspace(agent_context) as opened:
                await run_bash(opened, "true", 60, 1000)
                await ready.wait()
                times.setdefault("ready", time.perf_counter())
                await repeated(opened, seconds, trips)

        times = {"began": time.perf_counter()}
        barrier = asyncio.Barrier(attempts)
        await asyncio.gather(*(one(number, barrier, times) for number in range(attempts)))
        return trips, len(trips) / seconds, times["ready"] - times["began"]


async def repeated(place: AgentSandbox, seconds: float, trips: list[float]) -> None:
    """Run `true` again and again."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        before = time.perf_counter()
        await run_bash(place, "true", 60, 1000)
        trips.append(time.perf_counter() - before)


def generate(settings: Settings, root: Path, latency_s: float, turns: int) -> bool:
    """Run all attempts at once; return whether nothing was lost."""
    script = root / "script.json"
    call = {"calls": [{"tool": "bash", "arguments": {"command": "echo 1 >> made; python -c 'print(1)'"}}]}
    submit = {"calls": [{"tool": "submit"}]}
    script.write_text(json.dumps({"latency_s": latency_s, "turn": [call] * turns + [submit]}))
    submissions = Generated(agent="loop", model=f"scripted/{script}")
    configuration = RunConfiguration(suite="benchmarks.agents:create", submissions=submissions)
    options = RunOptions(jobs=2, agent_jobs=ATTEMPTS, model_concurrency=ATTEMPTS, retries=0, use_cache=False)
    began = time.perf_counter()
    result = api.NewRun(configuration, options, settings, run_id="load").work()
    took = time.perf_counter() - began
    run = RunFolder(result.folder)
    replies = results = 0
    for key in run.config().planned.keys:
        steps = list(read_trajectory(run.attempt(key).trajectory_file))
        replies += sum(step["kind"] == "reply" for step in steps)
        results += sum(step["kind"] == "result" and step.get("exit_code") == 0 for step in steps)
    expected = ATTEMPTS * (turns + 2)
    ideal = (turns + 2) * latency_s
    print(f"{ATTEMPTS} attempts at once, {turns + 2} replies each after {latency_s:g} s: {took:.1f} s")
    print(f"  the model alone would take {ideal:.0f} s; what groundup added: {took - ideal:.1f} s")
    print(
        f"  replies on record: {replies} of {expected}; commands that succeeded: {results} of {ATTEMPTS * turns}"
    )
    print(
        f"  graded: {result.standing.graded}; sandboxes left: {len(stale_state())}; "
        f"scratch folder left: {run.scratch.exists()}"
    )
    whole = replies == expected and results == ATTEMPTS * turns and result.standing.graded == ATTEMPTS
    return whole and not stale_state() and not run.scratch.exists()


def main() -> int:
    """Measure and print."""
    global ATTEMPTS  # noqa: PLW0603 - the suite is made by its dotted path
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=ATTEMPTS)
    parser.add_argument("--latency", type=float, default=5.0)
    parser.add_argument("--turns", type=int, default=6)
    given = parser.parse_args()
    this = sys.modules["benchmarks.agents"] = sys.modules[__name__]  # the run finds this module, not another copy
    this.ATTEMPTS = ATTEMPTS = given.attempts  # type: ignore[attr-defined] # the module itself
    with tempfile.TemporaryDirectory(prefix="groundup-agents-") as folder:
        root = Path(folder)
        settings = load({"output": root / "runs"})
        trips, _, _ = asyncio.run(commands(settings, root / "one", 1, 3.0))
        median, worst = statistics.median(trips) * 1000, statistics.quantiles(trips, n=100)[98] * 1000
        print(f"bash, one attempt: {median:.1f} ms median, {worst:.1f} ms at the 99th percentile")
        trips, rate, opening = asyncio.run(commands(settings, root / "many", 50, 10.0))
        median = statistics.median(trips) * 1000
        print(
            f"bash, 50 attempts: {rate:.0f} commands a second, {median:.0f} ms median; all open in {opening:.1f} s"
        )
        return 0 if generate(settings, root, given.latency, given.turns) else 1


if __name__ == "__main__":
    sys.exit(main())
