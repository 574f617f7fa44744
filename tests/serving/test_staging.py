"""What comes of episodes is in the run's folder before a client hears of it."""

from pathlib import Path

import pytest

from groundup.domain.subjects import Outcome
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.serving.staging import in_short
from groundup.store.records import VerdictLine
from tests.serving.house import Client, job_in, opened, until


def told(lines: list[VerdictLine]) -> list[tuple[object, ...]]:
    """Return what lines say: attempt, try, outcome, and why there is no score."""
    return [
        (
            str(line.attempt),
            line.try_number,
            line.outcome,
            line.verdict.reasons[0].message if line.verdict and line.verdict.score is None else None,
        )
        for line in lines
    ]


async def open_one(client: Client, index: int = 0) -> str:
    """Open a session and wait for its episode."""
    sid = await client.create(index)

    async def is_open() -> bool:
        return (await client.get("/prompt", sid)).status_code == 200

    await until(is_open)
    return sid


async def test_every_way_to_end_has_its_line(tmp_path: Path) -> None:
    """Handed in, left without a word, and stopped with the server; each attempt at a task has the next number."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        done, left = await open_one(client), await open_one(client)
        await client.call(done, "submit")
        await client.post("/delete", sid=left)
        await open_one(client, 1)
    stopped = "the server was stopped before the episode had ended"
    assert told(house.lines()) == [
        ("task-0000/0", 1, Outcome.SUBMITTED, None),
        ("task-0000/1", 1, Outcome.NOT_ATTEMPTED, None),
        ("task-0001/0", 1, Outcome.INFRASTRUCTURE, stopped),
    ]


@pytest.mark.parametrize(
    ("verdict", "step"),
    [
        (
            Verdict(
                status=Status.GRADED,
                score=Score(numerator=1, denominator=4),
                reasons=(Reason(stage=Stage.TEST, message="secret"),),
                grader=GraderIdentity(name="strict", version="1"),
            ),
            {"status": "graded", "score": 0.25, "passed": 1, "total": 4},
        ),
        (
            Verdict(status=Status.TAMPERED, score=None, grader=GraderIdentity(name="strict", version="1")),
            {"status": "tampered", "score": 0.0},
        ),
        (
            Verdict(status=Status.INFRASTRUCTURE, score=None, grader=GraderIdentity(name="strict", version="1")),
            {"status": "infrastructure", "score": None},
        ),
    ],
)
def test_a_verdict_in_short_quotes_no_reason(verdict: Verdict, step: dict[str, object]) -> None:
    """Its counts where it has a score."""
    assert in_short(verdict) == step
