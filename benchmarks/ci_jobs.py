"""What running a CI job costs beside running its steps by hand.

Three figures: a trivial job beyond its own steps; a whole job, with an interpreter, an installation and
tests, against the same commands one after the other in a sandbox made the same way; four at once against one
after the other. With `--packages` packages are installed from the index, too. The first two also in processor
time, of this process and of all in its sandboxes, which a busy machine stretches less.

python benchmarks/ci_jobs.py [--times 5] [--packages]
"""

import argparse
import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from typing_extensions import override

from groundup.environments.local import create
from groundup.grading.ci.job import run_job
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobOutcome, JobRequest, JobResult
from groundup.grading.ci.step_sandboxes import StepSandboxes, prepare
from groundup.grading.context import GradingContext
from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.protocol import Command, Sandbox, SandboxSpec
from groundup.settings import Settings

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
PROJECT = (
    '[project]\nname = "app"\nversion = "1"\n\n[build-system]\nrequires = []\nbuild-backend = "backend"\n'
    'backend-path = ["."]\n'
)
BACKEND = """\
import zipfile
def build_wheel(directory, settings=None, metadata=None):
    name = "app-1-py3-none-any.whl"
    with zipfile.ZipFile(directory + "/" + name, "w") as wheel:
        wheel.write("app.py")
        wheel.writestr("app-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: app\\nVersion: 1\\n")
        about = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr("app-1.dist-info/WHEEL", about)
        wheel.writestr("app-1.dist-info/RECORD", "")
    return name
"""
TESTS = """\
import time, unittest, app
class Slow(unittest.TestCase):
    def test_work(self):
        start = time.process_time()
        while time.process_time() - start < 2: app.double(3)
"""
TRIVIAL = ["echo one", "test 1 = 1"]


def whole(packages: bool) -> list[str]:
    """Return the scripts of a whole job."""
    more = ["python -m pip install attrs click requests"] if packages else []
    return [*more, "python -m pip install .", "python -m unittest discover -s tests"]


def write_repository(root: Path, scripts: list[str], *, python: bool) -> Path:
    """Write a repository whose job `test` has these steps."""
    steps = "      - uses: actions/checkout@v4\n"
    if python:
        steps += f"      - uses: actions/setup-python@v5\n        with: {{python-version: '{PYTHON}'}}\n"
    steps += "".join(
        f"      - name: test {number}\n        run: {script}\n" for number, script in enumerate(scripts)
    )
    files = {
        ".github/workflows/ci.yml": f"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}",
        "pyproject.toml": PROJECT,
        "backend.py": BACKEND,
        "app.py": "def double(x):\n    return 2 * x\n",
        "tests/test_app.py": TESTS,
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


class Remembering(BubblewrapProvider):
    """Knows the processor time of everything that it opened."""

    def __init__(self) -> None:
        super().__init__()
        self._opened_ever: list[Sandbox] = []

    @override
    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox and remember it."""
        self._opened_ever.append(await super().open(spec))
        return self._opened_ever[-1]

    def cpu_s(self) -> float:
        """Return the seconds of processor time of this process and of all sandboxes so far."""
        return time.process_time() + sum(one.usage().cpu_s or 0.0 for one in self._opened_ever)


class Took(NamedTuple):
    """Seconds by the clock, and of processors."""

    wall: float
    cpu: float


class Jobs:
    """Runs jobs with one provider and one builder."""

    def __init__(self, provider: Remembering, folder: Path) -> None:
        self._provider = provider
        self._builder = create(Settings(cache_dir=folder / "cache"), provider)
        self._folder = folder
        self._count = 0

    def context(self) -> GradingContext:
        """Return tools around a new folder."""
        self._count += 1
        scratch = self._folder / f"scratch-{self._count}"
        scratch.mkdir()
        return GradingContext(provider=self._provider, builder=self._builder, scratch=scratch)

    async def job(self, tree: Path) -> tuple[Took, JobResult]:
        """Run the job; return seconds and what became of it."""
        context = self.context()
        started, before = time.monotonic(), self._provider.cpu_s()
        result = await run_job(self.request(tree), context)
        seconds = Took(time.monotonic() - started, self._provider.cpu_s() - before)
        shutil.rmtree(context.scratch)
        if result.outcome is not JobOutcome.PASSED:
            sys.exit(result.logs["ci.txt"].decode())
        return seconds, result

    async def by_hand(self, tree: Path, scripts: list[str]) -> Took:
        """Run the scripts one after the other in a sandbox made the same way; return seconds, all included."""
        context = self.context()
        started, before = time.monotonic(), self._provider.cpu_s()
        planned = PlannedJob(self.request(tree))
        async with prepare(planned.tools, planned.tree, planned.request, context) as prepared:
            sandboxes = StepSandboxes(planned.request, prepared, context, 600.0)
            place = await sandboxes.open("by-hand")
            path = ":".join((*place.path, "/usr/bin", "/bin"))
            for script in scripts:
                command = Command(
                    argv=("bash", "-e", "-c", script),
                    cwd="/workspace/app",
                    environment={**place.environment, "PATH": path},
                )
                result = await place.sandbox.run(command)
                if not result.ok:
                    sys.exit(f"{script}: {result.stdout.decode()}{result.stderr.decode()}")
            await sandboxes.close()
        seconds = Took(time.monotonic() - started, self._provider.cpu_s() - before)
        shutil.rmtree(context.scratch)
        return seconds

    @staticmethod
    def request(tree: Path) -> JobRequest:
        """Return the request for the job of *tree*."""
        return JobRequest(tree=tree, repository="app", workflow=".github/workflows/ci.yml", job="test")


async def main(times: int, packages: bool) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="groundup-ci-jobs-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        trivial = write_repository(folder / "trivial", TRIVIAL, python=False)
        scripts = whole(packages)
        tree = write_repository(folder / "whole", scripts, python=True)
        async with Remembering() as provider:
            context = Jobs(provider, folder)
            await context.job(trivial)
            await context.job(tree)  # fills the caches
            over = []
            for _ in range(times):
                seconds, result = await context.job(trivial)
                over.append(seconds.wall - result.timings_s["steps"])
            print(f"trivial job beyond its steps: {_told(over)} s")
            pairs = []
            for _ in range(times):
                hand = await context.by_hand(tree, scripts)
                seconds, _ = await context.job(tree)
                pairs.append((seconds, hand))
            jobs = [job.wall for job, _ in pairs]
            print(f"whole job: {_told(jobs)} s; by hand: {_told([job.wall / hand.wall for job, hand in pairs])} x")
            ratios = _told([job.cpu / hand.cpu for job, hand in pairs])
            print(f"whole job, processors: {_told([job.cpu for job, _ in pairs])} s; by hand: {ratios} x")
            started = time.monotonic()
            results = await asyncio.gather(*(context.job(tree) for _ in range(4)))
            together = time.monotonic() - started
            apart = 4 * statistics.median(jobs)
            passed = sum(result.outcome is JobOutcome.PASSED for _, result in results)
            print(
                f"four at once: {together:.2f} s against {apart:.2f} s one after the other; {passed} of 4 passed"
            )
    load = os.getloadavg()[0]
    print(f"load of the machine at the end: {load:.1f} on {os.cpu_count()} processors")


def _told(values: list[float]) -> str:
    return f"{min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f} (min / median / max)"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--packages", action="store_true")
    given = parser.parse_args()
    asyncio.run(main(given.times, given.packages))
