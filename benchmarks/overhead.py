"""What judging costs beside the bare tests: `python -m benchmarks.overhead [rounds] [task ...]`.

One run measures pairs, which alternate so that other load meets both alike:

- starting a sandbox, and a command in a running one, beside plain processes (`benchmarks.sandbox`);
- `groundup run -a oracle` from an interpreter's start to its exit, and the attempt inside it, beside the bare
  tests: the host's interpreter with the same layer, running pytest with the recipe's arguments on a fresh copy of
  the original. Layers are built before; verdicts are not cached;
- eight attempts one after another, beside eight with `--jobs 2`;
- the processor time of one more grading in a run that goes on, checks included, without the start of groundup;
- one warm evaluation of the tasks (`all`: of every one that can be graded here) beside the sum of their tests by
  plain pytest, divided by the processors; 0 rounds: only this;
- what a person waits for: `groundup --help` and `groundup tasks`;
- with `--gradings` first: nothing of this, but gradings of oracles in one process, in pairs with the same tests by
  plain pytest in the same sandbox: what follows the run that counts is the check and fresh inputs;
- with `--profile` first: nothing of this, but where the processor time of a run of one attempt at jsonlines goes,
  of eight with `--jobs 2`, of all oracles (with `--all`), and of an episode as a server plays it, by
  `benchmarks.phases`.

Wall-clock medians say little on a busy machine, so CPU seconds of whole process trees stand beside them.
"""

import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.phases import COLLECTED, GUEST_START, LEFT, TESTED
from benchmarks.plain_pytest import plain_run

from benchmarks import sandbox
from groundup.environments.requests import ENVIRONMENT_TARGET, PYTHON_TARGET
from groundup.episodes.backends import backends, opened_context
from groundup.grading.library.hidden import LibraryUnderTest
from groundup.runs.gradable import lacking
from groundup.sandbox.protocol import WORKSPACE
from groundup.settings import Settings, load
from groundup.suites.base import AtHand
from groundup.suites.nl2repobench.fresh import fresh_runs
from groundup.suites.nl2repobench.recipe import Recipe, shipped_recipes
from groundup.suites.nl2repobench.strict import NL2RepoStrictGrader
from groundup.suites.nl2repobench.suite import create
from groundup.trees.writer import copy_tree

TASKS = ("tenacity", "sqlparse", "python-jose")
EVALUATION_TARGET = 1.15
SHOWN = 10
HELP_TARGET_S = 0.3
PARALLEL_TASK = "sqlparse"
ATTEMPTS = 8
INSIDE = (GUEST_START, COLLECTED, TESTED, LEFT)
GROUNDUP = (sys.executable, "-m", "groundup")
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What one command took."""

    wall_s: float
    cpu_s: float
    attempt_s: float = 0.0
    printed: str = ""
    verdicts: tuple["Judged", ...] = ()


class Judged(NamedTuple):
    """One attempt: its task, how long it took and the run of tests that counts in it, its score as it is shown."""

    task: str
    span_s: float
    counted_s: float
    score: str
    is_whole: bool


@dataclass(frozen=True)
class Bare:
    """The bare tests of a task: the command, and the original that it runs on."""

    argv: Sequence[str]
    variables: dict[str, str]
    original: Path
    cwd: str
    ini: Sequence[str]
    expected: int


def main() -> None:
    """Measure everything and print ratios."""
    # Without bytecode every start would compile each module, which outweighs all else; the first writes it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if sys.argv[1:2] == ["--profile"]:
        print_profile(every="--all" in sys.argv)
        return
    if sys.argv[1:2] == ["--gradings"]:
        asyncio.run(print_gradings(int(sys.argv[2]), tuple(sys.argv[3:]) or TASKS, load()))
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    tasks = tuple(sys.argv[2:]) or TASKS
    if rounds:
        sandbox.report(rounds * 10)
    settings = load()
    with tempfile.TemporaryDirectory() as folder:
        if rounds:
            bare = asyncio.run(prepare(sorted({*tasks, PARALLEL_TASK}), settings))
            print_evaluations(rounds, tasks, bare, Path(folder))
            print_parallel(rounds, bare[PARALLEL_TASK], Path(folder))
        print_together(all_here(settings) if tasks == ("all",) else tasks, settings, Path(folder))
    if rounds:
        print_waiting(rounds)


async def prepare(tasks: Sequence[str], settings: Settings) -> dict[str, Bare]:
    """Build the layers of *tasks* and return how their tests are run without groundup."""
    recipes = shipped_recipes()
    async with backends("bubblewrap", settings) as tools:
        found = {}
        for task in tasks:
            recipe = recipes[task]
            environment = await tools.builder.python(recipe.environment.request())
            source = await tools.builder.source(recipe.source.request())
            mounts = {mount.target: mount.source for mount in environment.mounts}
            interpreter = next(
                path for target, path in mounts.items() if target.startswith(f"{PYTHON_TARGET}/bin/")
            )
            packages = next(mounts[ENVIRONMENT_TARGET].glob("lib/python3*/site-packages"))
            found[task] = bare_command(recipe, interpreter, packages, source.path)
    return found


def bare_command(recipe: Recipe, interpreter: Path, packages: Path, original: Path) -> Bare:
    """Return the tests as a person would run them in a ready environment."""
    tests = recipe.tests
    plugins = [part for name in tests.plugins for part in ("-p", name)]
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    argv = [str(interpreter), "-B", "-m", "pytest", *options, *plugins, *tests.arguments]
    roots = [str(packages), *tests.import_roots]
    variables = {"PYTHONPATH": ":".join(roots), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HOME": "/tmp"}
    return Bare(
        argv,
        variables | {"LC_ALL": "C.UTF-8"} | tests.environment,
        original,
        tests.cwd,
        tests.ini,
        len(recipe.expected),
    )


def bare_tests(bare: Bare, folder: Path) -> Cost:
    """Run the bare tests on a fresh copy, which is made before."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        tree = Path(place) / "tree"
        copy_tree(bare.original, tree)
        # As in a grading sandbox, the original's own configuration, which may want further plugins, is not read.
        ini = Path(place) / "pytest.ini"
        lines = "".join(f"{line}\n" for line in bare.ini).replace(WORKSPACE, str(tree))
        ini.write_text(f"[pytest]\n{lines}", encoding="utf-8")
        argv = [*bare.argv, "-c", str(ini), "--rootdir", str(tree)]
        # Tests that a recipe excludes may fail: 1.
        cost = measured(argv, cwd=tree / bare.cwd, variables=bare.variables, fine=(0, 1))
    passed = re.search(r"(\d+) passed", cost.printed.rstrip().rpartition("\n")[2])
    if passed is None or int(passed[1]) < bare.expected:
        sys.exit(f"{' '.join(argv)}: expected {bare.expected} passed tests\n{cost.printed[-2000:]}")
    return cost


def evaluation(tasks: str, folder: Path, jobs: int = 1, attempts: int = 1) -> Cost:
    """Judge the oracle of each of *tasks*, which commas separate, with the command line."""
    name = f"run-{time.monotonic_ns()}"
    options = ["--tasks", tasks, "--jobs", str(jobs), "--attempts", str(attempts), "--no-cache", "--json"]
    argv = [*GROUNDUP, "run", "nl2repobench", "-a", "oracle", *options, "-o", str(folder), "--run-id", name]
    cost = measured(argv, cwd=folder, variables=dict(os.environ), fine=(0, 3))
    lines = (folder / name / "verdicts.jsonl").read_text().splitlines()
    verdicts = tuple(judged(json.loads(line)) for line in lines)
    for one in verdicts:
        if not one.is_whole:
            print(f"the oracle of {one.task} did not pass: {one.score}", flush=True)
    attempt_s = statistics.median(one.span_s for one in verdicts)
    return Cost(cost.wall_s, cost.cpu_s, attempt_s, verdicts=verdicts)


def judged(line: dict[str, Any]) -> Judged:
    """Return what a line of verdicts says."""
    span_s = moment(line["finished_at"]) - moment(line["started_at"])
    verdict = line["verdict"] or {}
    score = verdict.get("score") or {"numerator": 0.0, "denominator": 0.0, "value": None}
    shown = f"{score['numerator']:g} of {score['denominator']:g}, {verdict.get('status')}"
    counted_s = verdict.get("timings_s", {}).get("tests", 0.0)
    return Judged(line["attempt"]["task"], span_s, counted_s, shown, score["value"] == 1.0)


def moment(text: str) -> float:
    """Return a recorded time in seconds."""
    return datetime.fromisoformat(text).timestamp()


def measured(
    argv: Sequence[str],
    cwd: Path | None = None,
    variables: dict[str, str] | None = None,
    fine: Sequence[int] = (0,),
) -> Cost:
    """Run a command to its end; exits when it ends with anything but *fine*."""
    before, began = children_cpu_s(), time.perf_counter()
    ended = subprocess.run(argv, cwd=cwd, env=variables, check=False, capture_output=True, text=True)
    if ended.returncode not in fine:
        sys.exit(f"{' '.join(argv)} in {cwd} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"[-2000:])
    return Cost(time.perf_counter() - began, children_cpu_s() - before, printed=ended.stdout)


def children_cpu_s() -> float:
    """Return the CPU seconds of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_evaluations(rounds: int, tasks: Sequence[str], bare: dict[str, Bare], folder: Path) -> None:
    """Compare evaluations with bare tests."""
    print(f"\nevaluating an oracle beside its bare tests: medians of {rounds}, target {EVALUATION_TARGET}x")
    heads = ("attempt s", "ratio", "command s", "ratio", "cpu s", "ratio", "grading cpu", "ratio")
    print(f"{'':<14}{'bare s':>9}{'cpu s':>8}" + "".join(f"{head:>12}" for head in heads))
    for task in tasks:
        pairs, more = [], []
        for _ in range(rounds):
            pairs.append((bare_tests(bare[task], folder), evaluation(task, folder)))
            more.append((evaluation(task, folder, attempts=3).cpu_s - pairs[-1][1].cpu_s) / 2)
        plain_s, plain_cpu_s = (
            middle(pairs, lambda pair: pair[0].wall_s),
            middle(pairs, lambda pair: pair[0].cpu_s),
        )
        attempt_s, whole_s = (
            middle(pairs, lambda pair: pair[1].attempt_s),
            middle(pairs, lambda pair: pair[1].wall_s),
        )
        cpu_s = middle(pairs, lambda pair: pair[1].cpu_s)
        attempt = middle(pairs, lambda pair: pair[1].attempt_s / pair[0].wall_s)
        whole = middle(pairs, lambda pair: pair[1].wall_s / pair[0].wall_s)
        cpu = middle(pairs, lambda pair: pair[1].cpu_s / pair[0].cpu_s)
        one_more = statistics.median(more)
        figures = (attempt_s, attempt, whole_s, whole, cpu_s, cpu, one_more, one_more / plain_cpu_s)
        print(f"{task:<14}{plain_s:>9.2f}{plain_cpu_s:>8.2f}" + "".join(f"{one:>12.2f}" for one in figures))


def print_parallel(rounds: int, bare: Bare, folder: Path) -> None:
    """Compare eight attempts at once with eight in a row, and the same of bare tests: more no machine gives."""
    jobs = os.cpu_count() or 1
    limits = [bare_speed_up(bare, folder, jobs) for _ in range(max(1, rounds // 2))]
    pairs = [
        (evaluation(PARALLEL_TASK, folder, 1, ATTEMPTS), evaluation(PARALLEL_TASK, folder, jobs, ATTEMPTS))
        for _ in range(max(1, rounds // 2))
    ]
    speed_up = middle(pairs, lambda pair: pair[0].wall_s / pair[1].wall_s)
    serial_s, parallel_s = middle(pairs, lambda pair: pair[0].wall_s), middle(pairs, lambda pair: pair[1].wall_s)
    busy = middle(pairs, lambda pair: pair[1].cpu_s / pair[1].wall_s)
    print(
        f"\n{ATTEMPTS} attempts at {PARALLEL_TASK}: {serial_s:.2f} s with --jobs 1, {parallel_s:.2f} s with "
        f"--jobs {jobs}: "
        f"{speed_up:.2f}x as fast, {busy:.2f} of {jobs} processors busy with it; bare tests, {jobs} at once: "
        f"{statistics.median(limits):.2f}x"
    )


def bare_speed_up(bare: Bare, folder: Path, jobs: int) -> float:
    """Return how many times as fast the bare tests are done when *jobs* of them run at once."""
    alone_s = sum(bare_tests(bare, folder).wall_s for _ in range(jobs))
    began = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: bare_tests(bare, folder), range(jobs)))
    return alone_s / (time.perf_counter() - began)


def all_here(settings: Settings) -> tuple[str, ...]:
    """Return the tasks that can be graded on this machine."""
    suite = create(settings)
    tasks = [suite.by_name()[name] for name in AtHand.of(suite).gradable()]
    lacks = asyncio.run(lacking(suite, tasks, settings))
    return tuple(task.id for task in tasks if task.id not in lacks)


async def originals(tasks: Sequence[str], settings: Settings) -> dict[str, LibraryUnderTest]:
    """Build the layers of *tasks* and return each original with its tests."""
    found = {}
    async with opened_context(settings) as context:
        for task in tasks:
            recipe = shipped_recipes()[task]
            environment = await context.builder.python(recipe.environment.request())
            original = (await context.builder.source(recipe.graded_request())).path
            found[task] = LibraryUnderTest(original, original, recipe.tests, environment)
    return found


async def plain_times(libraries: dict[str, LibraryUnderTest], settings: Settings) -> dict[str, float]:
    """Return how long the tests take by plain pytest, one task after another.

    Not counted is what starts a sandbox and lays out a tree.
    """
    taken = {}
    async with opened_context(settings) as context:
        for task, library in libraries.items():
            found = await plain_run(library, context)
            taken[task] = found.seconds
            lost = len(shipped_recipes()[task].expected - found.passed)
            if found.trouble or lost:
                print(f"{task} by plain pytest: {lost} expected tests did not pass {found.trouble}", flush=True)
    return taken


async def print_gradings(rounds: int, tasks: Sequence[str], settings: Settings) -> None:
    """Say how long each oracle's grading takes, and what of it follows the run that counts: medians."""
    suite, grader = create(settings), NL2RepoStrictGrader(shipped_recipes(), fresh_runs(None))
    print(f"{'':<24}{'plain s':>9}{'grading s':>11}{'counted s':>11}{'the rest s':>12}{'more than plain s':>19}")
    libraries = await originals(tasks, settings)
    async with opened_context(settings) as context:
        for task, library in libraries.items():
            rows = []
            for _ in range(rounds + 1):  # the first finds nothing at hand
                plain_s, began = (await plain_run(library, context)).seconds, time.perf_counter()
                graded = await grader.grade(suite.by_name()[task], library.submission, context)
                whole_s, counted_s = time.perf_counter() - began, graded.verdict.timings_s["tests"]
                rows.append((plain_s, whole_s, counted_s, whole_s - counted_s, whole_s - plain_s))
            shown = [statistics.median(column) for column in zip(*rows[1:], strict=True)]
            widths = (9, 11, 11, 12, 19)
            print(f"{task:<24}" + "".join(f"{one:>{width}.2f}" for one, width in zip(shown, widths, strict=True)))


def print_together(tasks: Sequence[str], settings: Settings, folder: Path) -> None:
    """Compare one evaluation of all *tasks* with their tests by plain pytest, shared among the processors."""
    jobs = os.cpu_count() or 1
    libraries = asyncio.run(originals(tasks, settings))
    before_s = children_cpu_s()
    plain = asyncio.run(plain_times(libraries, settings))
    plain_s, plain_cpu_s = sum(plain.values()), children_cpu_s() - before_s
    print(
        f"\n{len(tasks)} tasks, plain pytest: {plain_s:.1f} s, {plain_cpu_s:.1f} s of processor time", flush=True
    )
    whole = evaluation(",".join(tasks), folder, jobs)
    print(
        f"their oracles with --jobs {jobs}: {whole.wall_s:.1f} s, {whole.wall_s * jobs / plain_s:.2f}x of that "
        f"divided by {jobs}, target {EVALUATION_TARGET}x; {whole.cpu_s:.1f} s of processor time, "
        f"{whole.cpu_s / plain_cpu_s:.2f}x"
    )
    heads = f"{'plain s':>10}{'attempt s':>11}{'more s':>10}{'ratio':>8}{'run that counts s':>20}"
    print(f"\n{'largest excess':<24}{heads}")
    for one in sorted(whole.verdicts, key=lambda one: plain[one.task] - one.span_s)[:SHOWN]:
        bare_s = plain[one.task]
        more = f"{one.span_s - bare_s:>10.1f}{one.span_s / bare_s:>8.2f}{one.counted_s:>20.1f}"
        print(f"{one.task:<24}{bare_s:>10.1f}{one.span_s:>11.1f}{more}")


def print_waiting(rounds: int) -> None:
    """Say how long small commands take, beside the interpreter's own start."""
    print(f"\nsmall commands, target of --help {HELP_TARGET_S} s")
    print(f"{'':<30}{'s':>7}{'cpu s':>7}")
    commands = {
        "python -c pass": (sys.executable, "-c", "pass"),
        "groundup --help": (*GROUNDUP, "--help"),
        "groundup tasks nl2repobench": (*GROUNDUP, "tasks", "nl2repobench"),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds * 3):
        for name, argv in commands.items():
            costs[name].append(measured(argv))
    for name, taken in costs.items():
        wall_s, cpu_s = middle(taken, lambda cost: cost.wall_s), middle(taken, lambda cost: cost.cpu_s)
        print(f"{name:<30}{wall_s:>7.3f}{cpu_s:>7.3f}")


def print_profile(*, every: bool) -> None:
    """Say where the processor time of whole commands goes, beside an interpreter that does nothing."""
    runs = {"one": ["--tasks", "jsonlines"], "eight": ["--tasks", "jsonlines", "--attempts", "8", "--jobs", "2"]}
    if every:
        runs["all"] = ["--jobs", "2"]
    found = {name: profiled(options) for name, options in runs.items()} | {"served": profiled(None)}
    places = sorted(
        {place for spent in found.values() for place in spent}, key=lambda place: -found["one"].get(place, 0)
    )
    print(f"{'seconds of processor time':<40}" + "".join(f"{name:>9}" for name in found))
    for place in places:
        print(f"{place:<40}" + "".join(f"{spent.get(place, 0.0):>9.3f}" for spent in found.values()))
    bare_s = middle([measured((sys.executable, "-c", "pass")) for _ in range(9)], lambda one: one.cpu_s)
    whole = {name: sum(spent.values()) for name, spent in found.items()}
    inside = {name: sum(spent.get(place, 0.0) for place in INSIDE) for name, spent in found.items()}
    print(f"{'all':<40}" + "".join(f"{whole_s:>9.3f}" for whole_s in whole.values()))
    print(f"{'outside of the processes of tests':<40}" + "".join(f"{whole[x] - inside[x]:>9.3f}" for x in whole))
    print(
        f"{'the same, in python -c pass':<40}" + "".join(f"{(whole[x] - inside[x]) / bare_s:>9.1f}" for x in whole)
    )
    print(f"{'python -c pass':<40}{bare_s:>9.3f}")


def profiled(options: Sequence[str] | None) -> dict[str, float]:
    """Return the processor seconds of a run of oracles by phase: of the second one, when everything is at hand.

    None: of an episode that is served, in which the original is handed in.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "phases.json"
        phases = [sys.executable, "-m", "benchmarks.phases", str(out)]
        run = ["run", "nl2repobench", "-a", "oracle", "--no-cache", "--json", "-o", folder]
        for number in range(2):
            measured([*phases, *run, *(options or ["--tasks", "jsonlines"]), "--run-id", str(number)])
        if options is None:
            measured([*phases, "served", f"{folder}/1/attempts/jsonlines/0/submission"])
        spent: dict[str, float] = json.loads(out.read_text())["spent"]
        return spent


def middle(taken: Sequence[T], of: Callable[[T], float]) -> float:
    """Return the median of something about each."""
    return statistics.median(map(of, taken))


if __name__ == "__main__":
    main()
