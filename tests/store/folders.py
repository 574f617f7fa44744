"""Run folders of every suite, made up and written as runs write them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from groundup.domain.limits import Effort
from groundup.domain.subjects import AttemptKey, Outcome, Provenance, Submission
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict
from groundup.store.attempts import AttemptWriter
from groundup.store.folder import RunWriter
from groundup.store.records import (
    ConfigFile,
    Generated,
    Planned,
    Predictions,
    RunConfiguration,
    Start,
    SubmissionsFrom,
    VerdictLine,
)
from groundup.trees.digest import tree_digest

SuiteName = Literal["nl2repobench", "repogenesis", "dibench"]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Shape(NamedTuple):
    """What runs of a suite look like."""

    grader: str
    points: dict[str, tuple[int, int]]
    """By task: of how many points it got how many."""
    kind: Literal["test", "dependency"]


SHAPES: dict[SuiteName, Shape] = {
    "nl2repobench": Shape("strict", {"six": (0, 90), "sqlparse": (442, 461), "toml": (30, 30)}, "test"),
    "repogenesis": Shape("strict", {"Chatroom": (9, 9), "Multilingual": (20, 33), "eve": (0, 12)}, "test"),
    "dibench": Shape("textual", {"a_one": (3, 4), "b_two": (5, 5), "c_three": (0, 6)}, "dependency"),
}
AGENT = Effort(turns=7, usage=TokenUsage(input_tokens=900, output_tokens=90), cost_usd=0.19, seconds=12.5)


def write_run(path: Path, suite: SuiteName, *, made_by_agent: bool = False) -> Path:
    """Write a run of three tasks, of which the last needed a second try and the first has a long verdict."""
    shape = SHAPES[suite]
    submissions: SubmissionsFrom = Predictions(path="/predictions")
    if made_by_agent:
        submissions = Generated(agent="loop", model="scripted/model")
    configuration = RunConfiguration(suite=suite, submissions=submissions)
    planned = Planned(tasks=tuple(shape.points), attempts=1)
    pinned = {"suite": f"{suite} 1", "sandbox": "bubblewrap 1"}
    pinned |= {f"task {task}": "sha256:" + "5" * 64 for task in shape.points}
    config = ConfigFile(
        run_id=path.name,
        created_at=NOW,
        suite_name=suite,
        grader=shape.grader,
        configuration=configuration,
        planned=planned,
        pinned=pinned,
        digest=ConfigFile.digest_for(configuration, planned, pinned),
    )
    with RunWriter.create(path, config) as writer:
        writer.began(Start(at=NOW, pid=4711, groundup="1", machine={"system": "Linux"}))
        for number, key in enumerate(planned.keys):
            line = _line(writer.attempt(key), key, shape, AGENT if made_by_agent else None)
            assert line.verdict is not None
            if number == 0:
                line = line.but(verdict=line.verdict.but(facts={"told": "x" * 5000}))
            if number == 2:
                assert line.verdict is not None
                failed = line.verdict.but(status=Status.INFRASTRUCTURE, score=None, scores={}, cacheable=False)
                writer.record(line.but(verdict=failed))
                line = line.but(try_number=2)
            writer.record(line, _tests(shape, key.task))
        writer.ended(0, NOW + timedelta(hours=1), {"uv": "1"})
    return path


def _line(attempt: AttemptWriter, key: AttemptKey, shape: Shape, effort: Effort | None) -> VerdictLine:
    with attempt.incoming() as arriving:
        (arriving / "module.py").write_text(f"NAME = {key.task!r}\n")
        tree = tree_digest(arriving)
    provenance = Provenance(source="agent" if effort else "predictions")
    attempt.write_record(Submission(**tree._asdict(), provenance=provenance, effort=effort))
    if effort:
        with attempt.trajectory() as trajectory:
            trajectory.append("began", agent="loop", version="1", model="scripted/model")
            trajectory.append("ended", outcome="submitted", detail="")
    passed, points = shape.points[key.task]
    lost = () if passed == points else (Reason(stage=Stage.TEST, message=f"{points - passed} did not pass"),)
    return VerdictLine(
        attempt=key,
        outcome=Outcome.SUBMITTED,
        submission=tree.digest,
        verdict=Verdict(
            status=Status.GRADED,
            score=Score(numerator=passed, denominator=points),
            scores={"deployed": Score(numerator=1, denominator=1)} if shape.kind == "test" else {},
            reasons=lost,
            grader=GraderIdentity(name=shape.grader, version="1"),
            timings_s={"tests": 1.5},
        ),
        effort=effort,
        started_at=NOW,
        finished_at=NOW + timedelta(seconds=3),
    )


def _tests(shape: Shape, task: str) -> list[TestResult]:
    passed, points = shape.points[task]
    return [
        TestResult(
            id=f"tests/test_{task}.py::test_{number}",
            outcome="passed" if number < passed else "failed",
            expected=True,
            message="" if number < passed else "AssertionError: 1 != 2",
            kind=shape.kind,
        )
        for number in range(points)
    ]


def as_earlier(run: Path) -> None:
    """Make the folder an earlier version's: no digests but those of submissions, and long verdicts cut."""
    lines = [json.loads(line) for line in (run / "verdicts.jsonl").read_text().splitlines()]
    for line in lines:
        del line["chain"], line["tests_digest"], line["verdict"]["counts"]
        if line["verdict"]["facts"]:
            whole = run / f"attempts/{line['attempt']['task']}/{line['attempt']['index']}/verdict.json"
            whole.write_text(json.dumps(line["verdict"], indent=1))
            line["verdict"]["facts"] = {"shortened": True}
    write_lines(run, lines)
    lock = json.loads((run / "lock.json").read_text())
    del lock["journal"]
    (run / "lock.json").write_text(json.dumps(lock, indent=1))


def write_lines(run: Path, lines: list[dict[str, Any]]) -> None:
    """Write verdict lines as JSON without spaces, as runs do."""
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (run / "verdicts.jsonl").write_text(text)


def edit_line(run: Path, number: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Let *change* edit one line of the verdicts, the first is 1."""
    lines = [json.loads(line) for line in (run / "verdicts.jsonl").read_text().splitlines()]
    change(lines[number - 1])
    write_lines(run, lines)
