"""What the newest run of a task's oracle came to, of the runs in a folder."""

from datetime import datetime
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.store.folder import RunFolder
from groundup.store.oracles import oracle_runs
from groundup.store.records import ConfigFile, VerdictLine
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
        shown = self.verdict.status.value if score is None else score.fraction
        return f"{shown} {self.verdict.grader.name}{'' if self.current else ', outdated'}"


def newest_oracles(suite: Suite, output: Path, data_set: str = "") -> dict[str, OracleResult]:
    """Return the newest oracle verdict per task in the run folders of *output*; damaged ones say nothing.

    A failure of the infrastructure says nothing of a task, so it counts only where there is no verdict.
    *data_set* is the name of the suite's data, empty for the published one.
    """
    newest: dict[str, tuple[VerdictLine, ConfigFile]] = {}
    for changed_at, path in oracle_runs(output, suite.name):
        folder = RunFolder(path)
        try:
            config = folder.config()
            same = config.configuration.suite.partition("@")[2] == data_set
            is_old = all(_is_newer(newest.get(name), changed_at) for name in config.planned.tasks)
            lines = folder.latest() if same and not is_old else {}
        except UsageError:
            continue
        for key, line in lines.items():
            known = newest.get(key.task)
            if line.verdict is not None and (known is None or _weight(known[0]) < _weight(line)):
                newest[key.task] = (line, config)
    tasks = suite.by_name() if newest else {}
    return {name: _result(suite, tasks[name], *newest[name]) for name in newest if name in tasks}


def _weight(line: VerdictLine) -> tuple[bool, datetime]:
    return line.settles, line.finished_at


def _is_newer(known: tuple[VerdictLine, ConfigFile] | None, changed_at: float) -> bool:
    """Whether no verdict of a run that changed last at *changed_at* can take the place of *known*."""
    return known is not None and known[0].settles and known[0].finished_at.timestamp() >= changed_at


def _result(suite: Suite, task: Task, line: VerdictLine, config: ConfigFile) -> OracleResult:
    assert line.verdict is not None
    grader = suite.graders().get(config.grader)
    now = None if grader is None else (task.graded_digest, digest_of(grader.identity(task)))
    then = (config.pinned.get(f"task {task.id}"), config.pinned.get(f"grader of {task.id}"))
    return OracleResult(run=config.run_id, finished_at=line.finished_at, verdict=line.verdict, current=now == then)
