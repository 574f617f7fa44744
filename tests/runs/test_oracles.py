"""What the newest oracle runs say of each task."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.domain.verdicts import Status
from groundup.runs import api
from groundup.runs.oracles import newest_oracles
from groundup.runs.plan import RunOptions
from groundup.settings import Settings
from groundup.store.folder import RunFolder, RunWriter
from groundup.store.oracles import oracle_runs
from groundup.store.records import References, RunConfiguration
from groundup.suites.base import Suite
from groundup.suites.opening import SUITES
from tests.runs.configurations import BUILDER, oracle
from tests.runs.toy import ToySuite

TWO = "tests.runs.toy:create_two"


def _settings(folder: Path) -> Settings:
    return Settings(cache_dir=folder / "cache", output=folder / "runs", builder=BUILDER)


def test_nothing_is_said_without_a_run(tmp_path: Path) -> None:
    """No folder of runs is no error."""
    suite: Suite = SUITES.find(TWO)(_settings(tmp_path))
    assert newest_oracles(suite, tmp_path / "runs") == {}


def test_specifications_that_come_later_outdate_no_oracle(tmp_path: Path) -> None:
    """No grader reads them."""
    settings = _settings(tmp_path)
    pulled = "tests.runs.toy:create_pulled"
    api.NewRun(oracle(pulled), RunOptions(), settings, run_id="a").work()
    (tmp_path / "instruction").touch()
    suite: Suite = SUITES.find(pulled)(settings)
    found = newest_oracles(suite, settings.output)
    assert len(found) == 2
    assert all(one.current for one in found.values())


def test_the_newest_oracle_counts_and_nothing_else(tmp_path: Path) -> None:
    """The verdict is that of the last run of the oracle; empty submissions and damaged runs say nothing."""
    settings = _settings(tmp_path)
    first = oracle(TWO)
    for name, configuration in {
        "a": first,
        "b": first.but(tasks=("task-0001",)),
        "c": RunConfiguration(suite=TWO, submissions=References(which="nop"), sandbox=first.sandbox),
        "d": first,
    }.items():
        api.NewRun(configuration, RunOptions(), settings, run_id=name).work()
    (settings.output / "d/config.json").write_text("{}")
    suite: Suite = SUITES.find(TWO)(settings)
    found = newest_oracles(suite, settings.output)

    assert {name: result.run for name, result in found.items()} == {"task-0000": "a", "task-0001": "b"}
    assert all(result.current for result in found.values())
    score = found["task-0000"].verdict.score
    assert score is not None
    assert str(found["task-0000"]).startswith(f"{score.numerator:g}/{score.denominator:g} ")


def test_only_runs_of_oracles_are_opened(tmp_path: Path) -> None:
    """Which these are, newest first, a glance at each configuration tells; a table of tasks waits for no other."""
    settings = _settings(tmp_path)
    first = oracle(TWO)
    nop = RunConfiguration(suite=TWO, submissions=References(which="nop"), sandbox=first.sandbox)
    for run_id, configuration in (("old", first), ("new", first), ("empty", nop), ("broken", first)):
        api.NewRun(configuration, RunOptions(), settings, run_id=run_id).work()
    (settings.output / "broken" / "config.json").write_text("[]")
    os.utime(settings.output / "old" / "verdicts.jsonl", (1, 1))
    suite: Suite = SUITES.find(TWO)(settings)

    found = list(oracle_runs(settings.output, suite.name))
    assert [path.name for _, path in found] == ["new", "old"]
    assert found[1][0] == 1
    assert list(oracle_runs(settings.output, "other")) == []
    assert newest_oracles(suite, settings.output)["task-0000"].run == "new"


def test_a_verdict_on_what_has_changed_since_is_called_outdated(tmp_path: Path) -> None:
    """A recipe or a task that is not the same any more takes nothing from an old success."""
    settings = _settings(tmp_path)
    api.NewRun(oracle(TWO), RunOptions(), settings, run_id="a").work()

    assert str(newest_oracles(_Changed(2), settings.output)["task-0000"]).endswith(", outdated")


class _Changed(ToySuite):
    """The same suite with other tasks."""

    @override
    def tasks(self) -> Sequence[Task]:
        """Return them."""
        return [task.but(data_version="other") for task in super().tasks()]


def test_a_failure_of_the_machine_hides_no_earlier_verdict(tmp_path: Path) -> None:
    """It says nothing of the task; where there is no verdict at all it is shown."""
    settings = _settings(tmp_path)
    api.NewRun(oracle(TWO), RunOptions(), settings, run_id="good").work()
    good = RunFolder(settings.output / "good")
    failed: dict[str, object] = {
        "status": Status.INFRASTRUCTURE,
        "score": None,
        "scores": {},
        "reasons": (),
        "cacheable": False,
    }
    with RunWriter.create(settings.output / "failing", good.config().but(run_id="failing")) as writer:
        writer.began(good.lock().starts[0])
        for line in good.latest().values():
            assert line.verdict is not None
            writer.record(line.but(verdict=line.verdict.but(**failed)))

    suite: Suite = SUITES.find(TWO)(settings)
    found = newest_oracles(suite, settings.output)
    assert {(name, one.run) for name, one in found.items()} == {("task-0000", "good"), ("task-0001", "good")}
    shutil.rmtree(settings.output / "good")
    assert str(newest_oracles(suite, settings.output)["task-0001"]).startswith("infrastructure")
