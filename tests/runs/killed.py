"""Runs the toy suite in forked processes and kills them: `python -m tests.runs.killed FOLDER SEED KILLS`.

Everything is imported once, and a first run has built what is built when it is first used. Every child is a
process of its own that runs or resumes and is ended by SIGKILL after a random time. One that is not killed in
time finishes its run. Prints one JSON document.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from groundup.domain.subjects import AttemptKey
from groundup.runs import api
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from tests.runs.configurations import BUILDER, QUICK, SUITE, oracle


def main(place: Path, seed: int, kills: int) -> None:
    """Kill so many processes, over as many runs as that takes, and finish the last run."""
    chance = random.Random(seed)
    settings = Settings(cache_dir=place / "cache", output=place / "runs", builder=BUILDER)
    _work(settings.output / "first", settings)
    longest_s = _unkilled_s(settings)
    done = moments = starts = runs = 0
    while done < kills:
        runs += 1
        folder = settings.output / f"run-{runs}"
        settled: set[AttemptKey] = set()
        while True:
            starts += 1
            delay = chance.uniform(0, longest_s) if done < kills else None
            killed = _child(folder, settings, delay)
            done += killed
            moments += bool(killed and settled_in(folder))
            now = settled_in(folder)
            if not settled <= now:
                raise SystemExit(f"seed {seed}: lost {sorted(map(str, settled - now))}")
            settled = now
            if not killed:
                break
        check(folder, settings, seed)
    print(json.dumps({"kills": done, "within": moments, "starts": starts, "runs": runs, "longest_s": longest_s}))


def _unkilled_s(settings: Settings) -> float:
    before = time.monotonic()
    _child(settings.output / "unkilled", settings, None)
    return time.monotonic() - before


def _child(folder: Path, settings: Settings, delay_s: float | None) -> bool:
    """Run or resume in a process of its own; return whether it was killed."""
    pid = os.fork()
    if pid == 0:
        os._exit(_work(folder, settings))
    if delay_s is not None:
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status) != 0:
        raise SystemExit(f"{folder} ended with exit code {os.WEXITSTATUS(status)}")
    return False


def _work(folder: Path, settings: Settings) -> int:
    options = QUICK.but(use_cache=False)
    if (folder / "config.json").exists():
        return api.Resumption(folder, options, settings).work().exit_code
    return api.NewRun(oracle(SUITE), options, settings, run_id=folder.name).work().exit_code


def settled_in(folder: Path) -> set[AttemptKey]:
    """Return what is settled; nothing may be settled twice."""
    lines = list(RunFolder(folder).lines())
    settled = {line.attempt for line in lines}
    if len(settled) != len(lines):
        raise SystemExit(f"{folder}: an attempt was settled twice")
    return settled


def check(folder: Path, settings: Settings, seed: int) -> None:
    """Compare a finished run with what it has to be."""
    run = RunFolder(folder)
    planned = run.config().planned
    wrong: list[str] = []
    if settled_in(folder) != set(planned.keys):
        wrong.append("attempts are missing")
    for key, line in run.latest().items():
        attempt = run.attempt(key)
        record = attempt.record()
        if record is None or record.digest != line.submission or not attempt.submission.is_dir():
            wrong.append(f"{key} has another submission")
        if len(attempt.tests()) != 2:
            wrong.append(f"{key} has no test results")
        if (attempt.submission / "name").read_text() != key.task:
            wrong.append(f"{key} has a damaged submission")
    top = {path.name for path in folder.iterdir()}
    if top != {".lock", "attempts", "config.json", "lock.json", "report.json", "verdicts.jsonl"}:
        wrong.append(f"leftovers: {sorted(top)}")
    inner = {path.name for path in folder.glob("attempts/*/*/*")}
    if inner != {"submission", "submission.json", "tests.jsonl", "logs"}:
        wrong.append(f"leftovers: {sorted(inner)}")
    wrong += [f"leftover {path}" for path in folder.rglob("*.partial")]
    if wrong:
        raise SystemExit(f"seed {seed}: {folder}: {'; '.join(wrong)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
