"""How quickly `groundup view` answers over many runs: the index, the first page, a task, a long trajectory.

    python -m benchmarks.viewer [--runs 50] [--attempts 10000]

Runs are made up in a temporary folder. Wall time counts other work of the machine, processor time does not.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from starlette.testclient import TestClient

from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.settings import load
from groundup.store.records import ConfigFile, Planned, Predictions, RunConfiguration, VerdictLine
from groundup.viewer.app import Viewer

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_TURNS = 2000
_TURN_BYTES = 25_000


def main() -> None:
    """Make the runs, ask for the pages, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--attempts", type=int, default=10_000, help="of each run")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundup-viewer-") as name:
        folder = Path(name)
        for number in range(chosen.runs):
            _write(folder / f"run-{number:03}", chosen.attempts)
        _write_trajectory(folder / "run-000" / "attempts" / "task-00000" / "0" / "trajectory.jsonl")
        viewer = Viewer(load({"output": name}))
        print("| what | wall s | processor s |\n|---|---|---|")
        count = chosen.runs * chosen.attempts
        wall, cpu = _timed(f"index of {count:,} verdicts", viewer.index.refresh)
        with TestClient(viewer.app()) as client:
            pages = {
                "first page": "/",
                "a run": "/run/run-001",
                "a task": "/run/run-001/attempt/task-00001/0",
                f"the end of a trajectory of {_TURNS:,} turns, {_TURNS * _TURN_BYTES / 1e6:.0f} MB": (
                    f"/run/run-000/attempt/task-00000/0?tab=trajectory&first={_TURNS - 20}"
                ),
            }
            for what, address in pages.items():
                client.get(address)  # templates are read once
                _timed(what, lambda address=address: client.get(address).raise_for_status())  # type: ignore[misc]
        print(
            f"\n{count / cpu:,.0f} verdicts indexed a second of processor time, {count / wall:,.0f} by the clock"
        )
        viewer.index.close()


def _timed(what: str, act: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.monotonic(), time.process_time()
    act()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(f"| {what} | {wall:.3f} | {cpu:.3f} |")
    return wall, cpu


def _write(path: Path, attempts: int) -> None:
    path.mkdir()
    tasks = tuple(f"task-{number:05}" for number in range(attempts))
    configuration, planned = (
        RunConfiguration(suite="toy", submissions=Predictions(path="/p")),
        Planned(tasks=tasks, attempts=1),
    )
    pinned = {"suite": "toy 1"}
    config = ConfigFile(
        run_id=path.name,
        created_at=_BEGAN,
        suite_name="toy",
        grader="strict",
        configuration=configuration,
        planned=planned,
        pinned=pinned,
        digest=ConfigFile.digest_for(configuration, planned, pinned),
    )
    (path / "config.json").write_text(config.model_dump_json())
    kinds = [_line("TASK", number).model_dump_json() + "\n" for number in range(11)]
    with (path / "verdicts.jsonl").open("w") as lines:
        for number, task in enumerate(tasks):
            lines.write(kinds[number % 11].replace("TASK", task))


def _line(task: str, number: int) -> VerdictLine:
    passed = number % 11
    reason = Reason(stage=Stage.TEST, message=f"{10 - passed} of 10 expected tests did not pass")
    verdict = Verdict(
        status=Status.GRADED,
        score=Score(numerator=passed, denominator=10),
        reasons=() if passed == 10 else (reason,),
        grader=GraderIdentity(name="strict", version="1"),
    )
    return VerdictLine(
        attempt=AttemptKey(task=task, index=0),
        outcome=Outcome.SUBMITTED,
        submission=None,
        verdict=verdict,
        started_at=_BEGAN,
        finished_at=_BEGAN + timedelta(seconds=5),
    )


def _write_trajectory(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w") as steps:
        for turn in range(_TURNS):
            step = {"kind": "result", "at": "", "turn": turn, "name": "bash", "content": "x" * _TURN_BYTES}
            steps.write(json.dumps(step) + "\n")


if __name__ == "__main__":
    main()
