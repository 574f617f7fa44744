"""`runs.copies`: attempts and runs that hold the same submissions but for a few lines are told."""

from pathlib import Path

import pytest

from groundup.reports.summary import side_by_side
from groundup.runs import api
from groundup.runs.copies import alike, with_copies
from groundup.runs.reporting import read_run
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import Predictions
from tests.runs.configurations import QUICK, evaluation, oracle
from tests.runs.toy import BEHAVIOUR

LINES = [f"value_{number} = compute({number}, 'a')" for number in range(60)]
OTHERS = [line.replace("compute", "invent") for line in LINES]


def handed_in(folder: Path, **attempts: list[str]) -> Predictions:
    """Write a submission with these lines for each task and index, such as `task_0000_1`."""
    for name, lines in attempts.items():
        task, _, index = name.replace("_", "-", 1).rpartition("_")
        place = folder / task / index
        place.mkdir(parents=True)
        (place / BEHAVIOUR).write_text("half")
        (place / "module.py").write_text("".join(f"{line}\n" for line in lines))
    return Predictions(path=str(folder))


def test_attempts_that_are_nearly_the_same_are_told(tmp_path: Path, settings: Settings) -> None:
    """Not those that are so byte for byte, nor those of an oracle, nor of other tasks."""
    almost = [*LINES[:-1], "other = 1"]
    given = handed_in(
        tmp_path / "p",
        task_0000_0=LINES,
        task_0000_1=almost,
        task_0000_2=OTHERS,
        task_0001_0=LINES,
        task_0001_1=LINES,
    )
    run = RunFolder(api.NewRun(evaluation(given), QUICK, settings, run_id="one").work().folder)
    assert list(alike(run, run.latest(), settings)) == [("task-0000/0", "task-0000/1")]
    config = run.config()
    references = RunFolder(api.NewRun(oracle(), QUICK, settings, run_id="two").work().folder)
    assert list(alike(references, references.latest(), settings)) == []
    assert config.planned.attempts == 3


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ({"task_0000_0": LINES}, "the submission of two is that of one, or nearly"),
        ({"task_0000_0": [*LINES, "more"], "task_0001_0": OTHERS}, "1 of 2 submissions of two are those of one"),
        ({"task_0000_0": OTHERS, "task_0001_0": LINES}, ""),
    ],
)
def test_a_run_with_anothers_submissions_is_told(
    tmp_path: Path, settings: Settings, attempts: dict[str, list[str]], said: str
) -> None:
    """How many there are of how many, task by task; of a report that came as a file nothing is known."""
    first = handed_in(tmp_path / "first", task_0000_0=LINES, task_0001_0=[line[::-1] for line in LINES])
    runs = []
    for name, given in (("one", first), ("two", handed_in(tmp_path / "second", **attempts))):
        folder = api.NewRun(evaluation(given), QUICK, settings, run_id=name).work().folder
        runs.append(read_run(folder, settings))
    report = side_by_side([run.report for run in runs])
    (comparison,) = with_copies(report, runs, settings).comparisons
    assert comparison.same.startswith(said)
    assert bool(comparison.same) is bool(said)
    assert with_copies(report, [None, runs[1]], settings) == report
