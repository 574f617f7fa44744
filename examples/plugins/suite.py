"""A suite of one task. A grader that runs what was handed in asks the context for a sandbox."""
# ruff: noqa: D101

from pathlib import Path

from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.base import Graded, Grader, Suite

IDENTITY, ANSWER = GraderIdentity(name="strict", version="1", environment="none"), {"answer": "42"}


class Strict(Grader):
    name, version = IDENTITY.name, IDENTITY.version

    def identity(self, task: Task) -> dict[str, str]:
        return ANSWER

    def zero(self, task: Task, *reasons: Reason, points: int = 0) -> Graded:
        score = Score(numerator=points, denominator=1)
        return Graded(verdict=Verdict(status=Status.GRADED, score=score, reasons=reasons, grader=IDENTITY))

    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        right = [path.read_text().strip() for path in submission.glob("answer")] == [ANSWER["answer"]]
        return self.zero(task, points=1) if right else self.zero(task, Reason(stage=Stage.TEST, message="not 42"))


class Answers(Suite):
    name, version, description, default_grader = "answers", "1", "asks for a number", "strict"

    def tasks(self) -> list[Task]:
        return [Task(id="answer", suite=self.name, instruction="Write 42 into the file `answer`.")]

    def graders(self) -> dict[str, Grader]:
        return {"strict": Strict()}

    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        if subject == "oracle":
            (destination / "answer").write_text(ANSWER["answer"])


def create(settings: Settings) -> Answers:
    return Answers()
