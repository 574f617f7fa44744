"""Generates in forked processes and kills them: `python -m tests.runs.killed_generation FOLDER SEED KILLS`.

The model is an endpoint of a process of its own, which counts what it answers. After every kill the answers that
no one recorded are counted: at most those that were under way. Prints one JSON document.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from groundup.domain.subjects import Outcome
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.settings import Settings
from groundup.store.attempts import read_trajectory
from groundup.store.folder import RunFolder
from groundup.store.records import Generated, RunConfiguration
from tests.runs.toy_agent import BUILDER

SUITE = "tests.runs.toy:create_eight_written"
TURNS = 6
AT_ONCE = 3
OPTIONS = RunOptions(jobs=2, agent_jobs=AT_ONCE, retry_delay_s=0, use_cache=False)


def main(place: Path, seed: int, kills: int) -> None:
    """Kill so many processes that generate, and finish the run."""
    chance = random.Random(seed)
    script = place / "script.json"
    call = {"calls": [{"tool": "bash", "arguments": {"command": "true"}}]}
    script.write_text(json.dumps({"latency_s": 0.01, "turn": [call] * TURNS}))
    endpoint = subprocess.Popen(
        [sys.executable, "-m", "groundup.models.scripted", str(script)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert endpoint.stdout is not None
        address = endpoint.stdout.readline().strip()
        settings = Settings(cache_dir=place / "cache", output=place / "runs", builder=BUILDER)
        print(json.dumps(_killed(settings, address, chance, kills)))
    finally:
        endpoint.terminate()
        endpoint.wait()


def _killed(settings: Settings, address: str, chance: random.Random, kills: int) -> dict[str, object]:
    _work(settings.output / "first", settings, address)  # builds what is built when it is first used
    base = _calls(address)["answered"]
    began = time.monotonic()
    _child(settings.output / "unkilled", settings, address, None)
    longest_s = time.monotonic() - began
    lost = lost_before = _calls(address)["answered"] - base - _recorded(settings.output / "unkilled")
    assert lost == 0, f"{lost} answers were not recorded by a run that was not killed"
    done = within = starts = 0
    while done < kills:
        folder = settings.output / f"run-{starts}"
        base = _settled_calls(address)["answered"]
        lost_before = 0
        killed = True
        while killed:
            starts += 1
            delay = chance.uniform(0, longest_s) if done < kills else None
            killed = _child(folder, settings, address, delay)
            recorded = _recorded(folder)
            lost = _settled_calls(address)["answered"] - base - recorded
            within += bool(killed and recorded)
            done += killed
            if not 0 <= lost - lost_before <= (AT_ONCE if killed else 0):
                raise SystemExit(f"{lost - lost_before} answers were paid for and not recorded, or paid for twice")
            lost_before = lost
        _check(folder)
    return {"kills": done, "within": within, "starts": starts, "longest_s": longest_s}


def _child(folder: Path, settings: Settings, address: str, delay_s: float | None) -> bool:
    """Run or resume in a process of its own; return whether it was killed."""
    pid = os.fork()
    if pid == 0:
        os._exit(_work(folder, settings, address))
    if delay_s is not None:
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status) != 0:
        raise SystemExit(f"{folder} ended with exit code {os.WEXITSTATUS(status)}")
    return False


def _work(folder: Path, settings: Settings, address: str) -> int:
    if (folder / "config.json").exists():
        return api.Resumption(folder, OPTIONS, settings).work().exit_code
    submissions = Generated(agent="loop", model="compatible/scripted", model_settings={"base_url": address})
    configuration = RunConfiguration(suite=SUITE, submissions=submissions, sandbox="tests.sandbox.fake:create")
    return api.NewRun(configuration, OPTIONS, settings, run_id=folder.name).work().exit_code


def _settled_calls(address: str) -> dict[str, int]:
    """Return the endpoint's counts once it has dealt with what was under way when its client was killed."""
    counts = _calls(address)
    while True:
        time.sleep(0.2)
        before, counts = counts, _calls(address)
        if before == counts:
            return counts


def _calls(address: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{address.removesuffix('/v1')}/calls") as answer:
        counts: dict[str, int] = json.load(answer)
    return counts


def _recorded(folder: Path) -> int:
    return sum(
        step["kind"] == "reply"
        for path in folder.glob("attempts/*/*/trajectory.jsonl")
        for step in read_trajectory(path)
    )


def _check(folder: Path) -> None:
    """Compare a finished run with what it has to be."""
    run = RunFolder(folder)
    lines = list(run.lines())
    assert {line.attempt for line in lines} == set(run.config().planned.keys)
    assert len(lines) == len(run.config().planned), "an attempt was graded twice"
    for line in lines:
        made = run.attempt(line.attempt).record()
        assert line.outcome is Outcome.SUBMITTED
        assert made is not None
        assert made.effort is not None
        assert made.effort.turns == TURNS + 2, f"{line.attempt} has {made.effort.turns} turns"
        steps = list(read_trajectory(run.attempt(line.attempt).trajectory_file))
        turns = [step["turn"] for step in steps if step["kind"] == "reply"]
        assert turns == list(range(1, TURNS + 3)), f"{line.attempt} recorded the turns {turns}"
        assert not any(step["kind"] == "diverged" for step in steps)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
