"""What the newest runs of the oracle say of each task, read from the run folders that are there."""

from datetime import datetime
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.store.folder import RunFolder
from groundup.store.records import ConfigFile, References, VerdictLine
from groundup.suites.base import Suite


class OracleResult(Record):
    """The newest verdict on a task's oracle that a run folder holds."""

    run: str
    finished_at: datetime
    verdict: Verdict
    current: bool
    """Whether task and grader are still what they were then."""

    def __str__(self) -> str:
        score = self.verdict.score
        shown = self.verdict.status.value if score is None else f"{score.numerator:g}/{score.denominator:g}"
        return f"{shown} {self.verdict.grader.name}{'' if self.current else ', outdated'}"


def newest_oracles(suite: Suite, output: Path) -> dict[str, OracleResult]:
    """Return the newest oracle verdict per task in the run folders of *output*; damaged ones say nothing."""
    newest: dict[str, tuple[VerdictLine, ConfigFile]] = {}
    for path in output.glob("*/config.json"):
        folder = RunFolder(path.parent)
        try:
            config = folder.config()
            lines = folder.latest() if config.suite_name == suite.name and _is_oracle(config) else {}
        except UsageError:
            continue
        for key, line in lines.items():
            known = newest.get(key.task)
            if line.verdict is not None and (known is None or known[0].finished_at < line.finished_at):
                newest[key.task] = (line, config)
    tasks = {task.id: task for task in suite.tasks()} if newest else {}
    return {name: _result(suite, tasks[name], *newest[name]) for name in newest if name in tasks}


def _result(suite: Suite, task: Task, line: VerdictLine, config: ConfigFile) -> OracleResult:
    assert line.verdict is not None
    grader = suite.graders().get(config.grader)
    now = None if grader is None else (task.graded_digest, digest_of(grader.identity(task)))
    then = (config.pinned.get(f"task {task.id}"), config.pinned.get(f"grader of {task.id}"))
    return OracleResult(run=config.run_id, finished_at=line.finished_at, verdict=line.verdict, current=now == then)


def _is_oracle(config: ConfigFile) -> bool:
    submissions = config.configuration.submissions
    return isinstance(submissions, References) and submissions.which == "oracle"
