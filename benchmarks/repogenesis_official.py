"""RepoGenesis: the published harness, run for real in Docker, beside `--grader official` on the same submissions.

    python -m benchmarks.repogenesis_official --checkout PATH [--submissions FOLDER] [--jobs 8]
    python -m benchmarks.repogenesis_official --checkout PATH --references [--language java] [--host-network]

PATH is a checkout of the published repository, or of its folder RepoGenesis; its code is run as it is. FOLDER
holds folders of predictions (a submission per task in each); without it, submissions are made from reference
services: whole, damaged and dishonest; `--every 3` takes each third, `--language java` those in Java, the eight
references. Docker must be reachable and have the images `python:3.10-slim` and `maven:3.9-eclipse-temurin-17`: the
real ones, or stand-ins (`python -m benchmarks.repogenesis_base_image`). What there is no image for is left out.

Where Docker has no bridge to the package registries, `--host-network` stands a program before `docker` that gives
builds and containers the host's network; a port that a service wants must then be free on the host. By hand:

    apt-get install docker.io debootstrap
    dockerd --storage-driver overlay2 --iptables=false --bridge=none &
    python -m benchmarks.repogenesis_base_image --java /usr/lib/jvm/java-17-openjdk-amd64
    python -m benchmarks.repogenesis_official --checkout PATH --language java --host-network

Every field of both reports is compared but times. With `--throughput` that is reported as ratios: groundup with an
empty cache, the harness, and groundup with a full one, before and after; the harness's own layer with system
packages is built before the clock runs. `--references` does that for whole references only, of six services in
Python and of all in Java, and also prints seconds and ratios per task and language. Beside others, a task of
groundup's takes longer than alone: a column's sum is more than the clock, which the line "all" of a set has.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.containers import SERVICES
from benchmarks.repogenesis_submissions import make_all

from groundup.suites.repogenesis.report_format import PublishedReport, PublishedRepositoryResult
from groundup.suites.repogenesis.tasks import oracle_names, write_oracle

IMAGES = {"python": "python:3.10-slim", "java": "maven:3.9-eclipse-temurin-17"}
ON_HOST_NETWORK = """#!/bin/sh
# The published harness asks for Docker's bridge; here containers share the host's network.
command=$1
shift
case $command in
    build) exec {docker} build --network host "$@" ;;
    run) for word; do shift; [ "$word" = bridge ] && word=host; set -- "$@" "$word"; done ;;
esac
exec {docker} "$command" "$@"
"""
CPU = Path("/sys/fs/cgroup/cpuacct")
GROUP = CPU / f"repogenesis-official-{os.getpid()}"
"""Where processor time of all that this program starts is counted, sandboxes that have ended included."""
_GROUPED = ("sh", "-c", f'echo $$ > {GROUP}/cgroup.procs 2>/dev/null; exec "$@"', "sh")
NOT_COMPARED = {"elapsed_seconds"}


@dataclass
class Measured:
    """One way of grading all submissions once."""

    name: str
    seconds: float = 0.0
    cpu_s: float | None = None
    stages: Counter[str] = field(default_factory=Counter)
    load: tuple[float, float] = (0.0, 0.0)
    reports: dict[str, PublishedReport] = field(default_factory=dict)
    clock_s: dict[tuple[str, str], float] = field(default_factory=dict)
    """By set and task; under the name "all", that of the whole set."""


def main() -> int:
    """Run both, print tables, and fail on any difference."""
    chosen = _arguments()
    # What is installed has its bytecode; this would have every program here compile its own source at each start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    root = chosen.checkout / "RepoGenesis" if (chosen.checkout / "RepoGenesis").is_dir() else chosen.checkout
    languages = _gradable_languages(chosen.language)
    with suppress(OSError):  # then processor time is unknown
        GROUP.mkdir()
    with tempfile.TemporaryDirectory(prefix="groundup-official-") as name:
        room = Path(name)
        if chosen.host_network:
            _stand_before_docker(room / "bin")
        submissions = chosen.submissions or room / "submissions"
        if chosen.references:
            _write_references(submissions, languages)
        elif chosen.submissions is None:
            make_all(submissions)
            _leave_out(folder for folder in submissions.glob("*/*") if _language(folder) not in languages)
            _thin_out(submissions, chosen.every)
        sets = [path.name for path in sorted(submissions.iterdir()) if path.is_dir() and any(path.iterdir())]
        _groundup(room, "data", "pull", "repogenesis", "--from", str(root / "repo"))
        names = ("groundup, empty cache", "groundup, full cache") if chosen.throughput or chosen.references else ()
        before = [graded(room, submissions, sets, chosen.jobs, name) for name in names]
        harness = published(room, root, submissions, sets)
        again = graded(room, submissions, sets, chosen.jobs, "groundup, full cache, afterwards")
        differences = list(compared(harness, again, sets))
        _print_agreement(harness, again, sets)
        if names:
            _print_throughput(harness, [*before, again])
            _print_by_task(harness, [*before, again])
    with suppress(OSError):
        GROUP.rmdir()
    for difference in differences:
        print("differs:", difference)
    return 1 if differences else 0


def _write_references(submissions: Path, languages: frozenset[str]) -> None:
    """Write a set of references for each of *languages*."""
    for task in oracle_names():
        folder = submissions / task
        folder.mkdir(parents=True)
        write_oracle(task, folder)
        language = _language(folder)
        if language in languages and (language == "java" or task in SERVICES.split(",")):
            (submissions / language).mkdir(exist_ok=True)
            folder.rename(submissions / language / task)
        else:
            shutil.rmtree(folder)


def _thin_out(submissions: Path, every: int) -> None:
    """Keep each so many-th submission."""
    _leave_out(folder for number, folder in enumerate(sorted(submissions.glob("*/*"))) if number % every)


def _leave_out(folders: Iterator[Path]) -> None:
    for folder in list(folders):
        shutil.rmtree(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--submissions", type=Path, help="a folder of folders of predictions")
    parser.add_argument("--references", action="store_true", help="whole references only, and seconds per task")
    parser.add_argument("--jobs", type=int, default=8, help="of groundup; the harness has none")
    parser.add_argument("--language", choices=sorted(IMAGES), help="take those of the submissions made in it")
    parser.add_argument("--throughput", action="store_true", help="also grade twice before, and tell ratios")
    parser.add_argument("--host-network", action="store_true", help="containers share the host's network")
    parser.add_argument("--every", type=int, default=1, help="take each so many-th of the submissions made")
    return parser.parse_args()


def _gradable_languages(wanted: str | None) -> frozenset[str]:
    """Return the languages whose image Docker has; name those that are left out."""
    asked = frozenset(IMAGES if wanted is None else [wanted])
    known = frozenset(language for language in asked if _has_image(IMAGES[language]))
    for language in sorted(asked - known):
        print(f"no image {IMAGES[language]}: submissions in {language} are left out")
    if not known:
        raise SystemExit("no Docker, or no image; see the head of this file")
    return known


def _language(submission: Path) -> str:
    return "java" if (submission / "pom.xml").exists() else "python"


def _stand_before_docker(folder: Path) -> None:
    """Put a program named docker first on PATH that replaces the bridge by the host's network."""
    docker = shutil.which("docker")
    folder.mkdir()
    (folder / "docker").write_text(ON_HOST_NETWORK.format(docker=docker))
    (folder / "docker").chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def _has_image(name: str) -> bool:
    return not subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False).returncode


def published(room: Path, root: Path, submissions: Path, sets: Sequence[str]) -> Measured:
    """Run the harness on every set, one after the other as it does."""
    measured = Measured("harness")
    _run_harness(room / "before", root, _one_of(room, submissions / sets[0]))  # its layer of system packages
    began, load, used = time.monotonic(), os.getloadavg()[0], _cpu_s(docker=True)
    for name in sets:
        output, set_began = room / "harness" / name, time.monotonic()
        _run_harness(output, root, submissions / name)
        (report,) = output.glob("report_*.json")
        measured.reports[name] = PublishedReport.model_validate_json(report.read_bytes())
        taken = {(name, one.repo_name): one.elapsed_seconds for one in measured.reports[name].results}
        measured.clock_s |= {**taken, (name, "all"): time.monotonic() - set_began}
    measured.seconds, measured.cpu_s = time.monotonic() - began, _since(used, docker=True)
    measured.load = (load, os.getloadavg()[0])
    evaluated = sum(one.elapsed_seconds for report in measured.reports.values() for one in report.results)
    measured.stages["images and containers"] = round(evaluated)
    measured.stages["removal and the rest"] = round(measured.seconds - evaluated)
    return measured


def _one_of(room: Path, predictions: Path) -> Path:
    """Return predictions with the first submission alone."""
    folder = room / "one"
    folder.mkdir()
    first = min(predictions.iterdir())
    (folder / first.name).symlink_to(first.resolve())
    return folder


def _run_harness(output: Path, root: Path, predictions: Path) -> None:
    output.mkdir(parents=True)
    data = [f"--{kind}_dir_{language}" for kind in ("golden_test", "readme") for language in ("python", "java")]
    command = [
        sys.executable,
        "-m",
        "eval_harness.run_evaluation",
        "--predictions_dir",
        str(predictions.resolve()),
    ]
    command += ["--output_dir", str(output.resolve())]
    command += [word for option in data for word in (option, "repo")]
    done = subprocess.run([*_GROUPED, *command], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the harness failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def graded(room: Path, submissions: Path, sets: Sequence[str], jobs: int, name: str) -> Measured:
    """Run groundup on every set, no verdict from its cache."""
    measured = Measured(name)
    began, load, used = time.monotonic(), os.getloadavg()[0], _cpu_s(docker=False)
    for one in sets:
        output, set_began = Path(tempfile.mkdtemp(dir=room)), time.monotonic()
        tasks = ",".join(sorted(path.name for path in (submissions / one).iterdir()))
        options = ("--grader", "official", "--no-cache", "-j", str(jobs), "--tasks", tasks, "--run-id", one)
        _groundup(room, "evaluate", "repogenesis", "-p", str(submissions / one), "-o", str(output), *options)
        for line in (output / one / "verdicts.jsonl").read_text().splitlines():
            record = json.loads(line)
            timings = record["verdict"]["timings_s"]
            measured.clock_s[one, record["attempt"]["task"]] = timings.get("total", 0.0)
            measured.stages["install"] += round(timings.get("build", 0))
            measured.stages["service and tests"] += round(timings.get("total", 0) - timings.get("build", 0))
        report = output / "report.json"
        own = ("--format", "repogenesis", "--save", str(report))
        _groundup(room, "report", str(output / one), *own)
        measured.reports[one] = PublishedReport.model_validate_json(report.read_bytes())
        measured.clock_s[one, "all"] = time.monotonic() - set_began
    measured.seconds, measured.cpu_s = time.monotonic() - began, _since(used, docker=False)
    measured.load = (load, os.getloadavg()[0])
    return measured


def _cpu_s(*, docker: bool) -> float | None:
    """Return the processor time that this program's children used so far, with or without Docker's.

    Unlike the clock it depends little on what else the machine does. None without cgroups version 1.
    """
    try:
        used = int((GROUP / "cpuacct.usage").read_text()) / 1e9
        if docker:
            used += int((CPU / "docker/cpuacct.usage").read_text()) / 1e9
    except OSError:
        return None
    return used + (sum(map(_process_cpu_s, Path("/proc").glob("[0-9]*"))) if docker else 0.0)


def _process_cpu_s(process: Path) -> float:
    """Return the processor time of a process of Docker's; 0 for others."""
    try:
        name, _, fields = process.joinpath("stat").read_text().partition("(")[2].rpartition(")")
    except OSError:  # it has ended
        return 0.0
    if name not in ("dockerd", "containerd"):
        return 0.0
    return sum(map(int, fields.split()[11:15])) / os.sysconf("SC_CLK_TCK")


def _since(before: float | None, *, docker: bool) -> float | None:
    now = _cpu_s(docker=docker)
    return None if now is None or before is None else now - before


def _groundup(room: Path, *arguments: str) -> None:
    environment = {
        **os.environ,
        "GROUNDUP_DATA_DIR": str(room / "data"),
        "GROUNDUP_CACHE_DIR": str(room / "cache"),
    }
    command = [sys.executable, "-m", "groundup", *arguments]
    done = subprocess.run([*_GROUPED, *command], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def compared(theirs: Measured, ours: Measured, sets: Sequence[str]) -> Iterator[str]:
    """Yield every field that differs, of every repository and of the summaries."""
    for name in sets:
        here = {one.repo_name: one for one in ours.reports[name].results}
        for one in theirs.reports[name].results:
            yield from (f"{name}/{one.repo_name}: {ended}" for ended in _fields(one, here.get(one.repo_name)))
        if theirs.reports[name].summary != ours.reports[name].summary:
            yield f"{name}: summary {ours.reports[name].summary} here, {theirs.reports[name].summary} published"


def _fields(theirs: PublishedRepositoryResult, ours: PublishedRepositoryResult | None) -> Iterator[str]:
    if ours is None:
        yield "not in groundup's report"
        return
    for path, value in _leaves(theirs.model_dump()):
        own = dict(_leaves(ours.model_dump())).get(path)
        if path not in NOT_COMPARED and own != value:
            yield f"{path} {own!r} here, {value!r} published"


def _leaves(record: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield before + name, value


def _print_agreement(theirs: Measured, ours: Measured, sets: Sequence[str]) -> None:
    print("| submissions | task | DSR | Pass@1 | AC | exit code | differing fields |")
    print("|---|---|---|---|---|---|---|")
    equal = count = 0
    for name in sets:
        here = {one.repo_name: one for one in ours.reports[name].results}
        for one in theirs.reports[name].results:
            differing = [ended.split()[0] for ended in _fields(one, here.get(one.repo_name))]
            count, equal = count + 1, equal + (not differing)
            tests, coverage = one.pass_at_1, one.api_coverage
            found = "" if coverage is None else f"{coverage.implemented_apis}/{coverage.total_apis}"
            cells = (
                name,
                one.repo_name,
                "yes" if one.dsr.success else "no",
                f"{tests.passed}/{tests.total}",
                found,
            )
            print(f"| {' | '.join(cells)} | {one.exit_code} | {', '.join(differing) or '='} |")
    print(f"\n{equal} of {count} submissions equal in every field\n")


def _print_throughput(theirs: Measured, ours: Sequence[Measured]) -> None:
    count = sum(len(report.results) for report in theirs.reports.values())
    where = "where the time goes, summed over submissions"
    print(f"| {count} submissions | seconds | each | ratio | processor s | ratio | load | {where} |")
    print("|---|---|---|---|---|---|---|---|")
    for one in (theirs, *ours):
        ratio = theirs.seconds / one.seconds
        where = ", ".join(f"{stage} {seconds} s" for stage, seconds in one.stages.most_common())
        load = f"{one.load[0]:.1f} to {one.load[1]:.1f}"
        cpu = "-" if one.cpu_s is None else f"{one.cpu_s:.0f}"
        less = "-" if one.cpu_s is None or theirs.cpu_s is None else f"{theirs.cpu_s / one.cpu_s:.1f}"
        cells = (
            one.name,
            f"{one.seconds:.0f}",
            f"{one.seconds / count:.1f}",
            f"{ratio:.1f}",
            cpu,
            less,
            load,
            where,
        )
        print(f"| {' | '.join(cells)} |")


def _print_by_task(theirs: Measured, ours: Sequence[Measured]) -> None:
    names = [f"{one.name}, s | ratio" for one in ours]
    print(f"\n| submissions | task | {theirs.name}, s | {' | '.join(names)} |")
    print("|---|---|---|" + "---|---|" * len(ours))
    for (name, task), seconds in theirs.clock_s.items():
        taken = [one.clock_s[name, task] for one in ours]
        cells = [f"{here:.1f} | {seconds / here:.1f}" for here in taken]
        print(f"| {name} | {task} | {seconds:.1f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.exit(main())
