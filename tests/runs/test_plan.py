"""`runs.plan`: what is asked for is what is planned; a wrong name is answered with the right one."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.runs import api
from groundup.runs.plan import RunOptions, left_out_notice, notices
from groundup.settings import Settings
from groundup.store.records import Predictions, References, RunConfiguration
from groundup.suites.base import AtHand, Tables
from groundup.suites.nl2repobench.suite import create
from tests.runs.configurations import SUITE, TWO, evaluation, oracle
from tests.runs.toy import ToySuite

Predict = Callable[[Mapping[str, str]], Predictions]


def changed(configuration: RunConfiguration, **fields: object) -> RunConfiguration:
    """Return *configuration* with other *fields*."""
    return RunConfiguration.model_validate({**dict(configuration), **fields})


def test_tasks_are_selected_and_excluded(settings: Settings) -> None:
    """`--tasks` and `--exclude` decide the denominator."""
    made = api.NewRun(
        changed(oracle(SUITE), tasks=("task-0003", "task-0001"), exclude=("task-0003",)), RunOptions(), settings
    ).plan()
    assert made.planned.tasks == ("task-0001",)


@pytest.mark.parametrize("field", ["tasks", "exclude"])
def test_an_unknown_task_is_answered_with_the_nearest(settings: Settings, field: str) -> None:
    """A typing error costs one look at the message."""
    with pytest.raises(UsageError, match=r"unknown task 'tsk-0001'; did you mean 'task-0001'\?"):
        api.NewRun(changed(oracle(), **{field: ("tsk-0001",)}), RunOptions(), settings).plan()


def test_unknown_suites_and_graders_are_answered_with_the_choices(settings: Settings) -> None:
    """So are suites and graders."""
    with pytest.raises(UsageError, match="did you mean 'strict'"):
        api.NewRun(changed(oracle(), grader="strikt"), RunOptions(), settings).plan()
    with pytest.raises(UsageError, match="unknown suite"):
        api.NewRun(oracle("nonesuch"), RunOptions(), settings).plan()


def test_fixed_sets_of_tasks_are_run_by_name(settings: Settings) -> None:
    """A leaderboard's `full` is all that some machine can grade, `lite` a draw of it that never changes."""
    suite = create(settings)
    sets = Tables.of(suite).task_sets()
    assert sets["full"] == sorted({task.id for task in suite.tasks()} - AtHand.of(suite).blocked().keys())
    assert (len(sets["lite"]), sets["lite"]) == (20, Tables.of(create(settings)).task_sets()["lite"])
    assert set(sets["lite"]) < set(sets["full"])
    assert Tables.of(ToySuite(39)).task_sets().keys() == {"full"}
    assert api.NewRun(
        changed(oracle(SUITE), tasks=("full",)), RunOptions(), settings
    ).plan().planned.tasks == tuple(f"task-{number:04}" for number in range(20))


def test_nothing_left_to_do_is_an_error(settings: Settings) -> None:
    """A run without attempts is a mistake, not a success."""
    with pytest.raises(UsageError, match="no task"):
        api.NewRun(changed(oracle(), exclude=("task-0000", "task-0001")), RunOptions(), settings).plan()


def test_what_lacks_an_oracle_is_left_out_and_reported(settings: Settings) -> None:
    """A run of the oracle takes the tasks that have one; the others are named, not counted as failures."""
    suite = "tests.runs.toy:create_lacking"
    made = api.NewRun(oracle(suite), RunOptions(), settings).plan()
    assert made.planned.tasks == ("task-0001",)
    assert made.left_out == ("task-0000", "task-0002")
    assert "have no oracle" in left_out_notice(made)
    with pytest.raises(UsageError, match="has no oracle for task-0000; leave --tasks out"):
        api.NewRun(changed(oracle(suite), tasks=("task-0000", "task-0001")), RunOptions(), settings).plan()
    nothing = changed(oracle(suite), submissions=References(which="nop"))
    assert api.NewRun(nothing, RunOptions(), settings).plan().planned.tasks == ("task-0000", "task-0001")


def test_what_lacks_an_oracle_in_a_group_is_left_out(settings: Settings) -> None:
    """Who names a group of tasks gets those of it that have an oracle, and one sentence about the others."""
    suite = "tests.runs.toy:create_lacking"
    made = api.NewRun(changed(oracle(suite), tasks=("early",)), RunOptions(), settings).plan()
    assert (made.planned.tasks, made.left_out) == (("task-0001",), ("task-0000",))
    assert left_out_notice(made).startswith("1 task cannot be graded yet or has no oracle and is left out")
    with pytest.raises(UsageError, match="has no oracle for task-0000; leave --tasks out"):
        api.NewRun(changed(oracle(suite), tasks=("early", "task-0000")), RunOptions(), settings).plan()
    with pytest.raises(UsageError, match="has no oracle for task-0000; leave --tasks out"):
        api.NewRun(changed(oracle(suite), tasks=("early",), exclude=("task-0001",)), RunOptions(), settings).plan()


def test_what_cannot_be_graded_is_named_before_anything_runs(settings: Settings) -> None:
    """No agent works, and no resume is advised, where no grading can come of it; in a group it is left out."""
    nothing = changed(oracle("tests.runs.toy:create_lacking"), submissions=References(which="nop"))
    both = ("task-0001", "task-0002")
    with pytest.raises(UsageError, match="make one; or leave it out with `--exclude task-0002`"):
        api.NewRun(changed(nothing, tasks=both), RunOptions(), settings).plan()
    with pytest.raises(UsageError, match=r"task-0002 has no recipe; make one$"):
        api.NewRun(changed(nothing, tasks=("task-0002",)), RunOptions(), settings).plan()
    grouped = api.NewRun(changed(nothing, tasks=("late",)), RunOptions(), settings).plan()
    assert (grouped.planned.tasks, grouped.left_out) == (("task-0001",), ("task-0002",))


def test_missing_data_is_reported_with_the_way_to_get_it(settings: Settings) -> None:
    """Somebody who has not fetched the data learns the command that does."""
    with pytest.raises(UsageError, match="groundup data pull toy"):
        api.NewRun(oracle("tests.runs.toy:create_empty"), RunOptions(), settings).plan()


def test_missing_predictions_stay_in_the_plan(settings: Settings, predict: Predict) -> None:
    """The denominator is the suite's, whatever was handed in."""
    made = api.NewRun(evaluation(predict({"task-0001": "pass"})), RunOptions(), settings).plan()
    assert made.planned.keys == (AttemptKey(task="task-0000"), AttemptKey(task="task-0001"))
    assert made.missing == (AttemptKey(task="task-0000"),)


def test_only_tasks_with_a_prediction_are_pinned(settings: Settings, predict: Predict) -> None:
    """`--only-predicted` reads nothing of the other tasks, which may be a hundred."""
    configuration = evaluation(predict({"task-0001": "pass"}))
    made = api.NewRun(configuration, RunOptions(), settings, only_predicted=True).plan()
    assert made.planned.tasks == ("task-0001",)
    assert [name for name in made.pinned if "task-0000" in name] == []
    with pytest.raises(UsageError, match="none of the chosen tasks has a prediction"):
        api.NewRun(
            changed(configuration, tasks=("task-0000",)),
            RunOptions(),
            settings,
            only_predicted=True,
        ).plan()


def test_a_prediction_of_what_cannot_be_graded_is_told(settings: Settings, predict: Predict) -> None:
    """`--only-predicted` leaves tasks out that nobody predicted; one that was handed in does not vanish."""
    configuration = evaluation(predict({"task-0001": "pass", "task-0002": "pass"}))
    lacking = changed(configuration, suite="tests.runs.toy:create_lacking")
    made = api.NewRun(lacking, RunOptions(), settings, only_predicted=True).plan()
    assert (made.planned.tasks, made.left_out) == (("task-0001",), ("task-0002",))
    assert next(iter(notices(made))).startswith("1 task cannot be graded yet and is left out, such as task-0002")


def test_attempts_are_as_many_as_are_found(settings: Settings, predict: Predict) -> None:
    """Repetitions in the predictions folder are all planned, unless `--attempts` says otherwise."""
    predictions = predict({"task-0000/0": "pass", "task-0000/2": "pass"})
    assert api.NewRun(evaluation(predictions), RunOptions(), settings).plan().planned.attempts == 3
    assert (
        api.NewRun(changed(evaluation(predictions), attempts=2), RunOptions(), settings).plan().planned.attempts
        == 2
    )


def test_what_results_depend_on_is_pinned(settings: Settings, predict: Predict) -> None:
    """Versions, tasks, graders and planned predictions are in; predictions for other attempts are not."""
    predictions = predict({"task-0000/0": "pass", "task-0000/1": "pass"})
    pinned = api.NewRun(changed(evaluation(predictions, TWO), attempts=1), RunOptions(), settings).plan().pinned
    assert pinned.keys() == {
        "suite",
        "grader version",
        "architecture",
        "task task-0000",
        "task task-0001",
        "grader of task-0000",
        "grader of task-0001",
        "submission task-0000/0",
    }


def test_all_that_is_pinned_for_a_task_decides_its_attempts(settings: Settings) -> None:
    """Whatever a suite pins for a task is in the record of an attempt at it; what is another task's is not."""
    plan = api.NewRun(oracle(), RunOptions(), settings).plan()
    told = {f"told of grading of {task}": "a" for task in ("task-0000", "task-0001")}
    plan = plan._replace(pinned={**plan.pinned, **told, "submission task-0000/0": "c"})
    of_task = {f"{what} task-0000" for what in ("task", "grader of", "told of grading of")}
    general = {"suite", "grader version", "architecture"}
    assert plan.episode(AttemptKey(task="task-0000")).pinned.keys() == general | of_task


def test_planning_writes_nothing(settings: Settings) -> None:
    """A dry run leaves no trace."""
    api.NewRun(oracle(), RunOptions(), settings).plan()
    assert not settings.output.exists()
    assert not settings.cache_dir.exists()


@pytest.mark.parametrize(
    ("strays", "said"),
    [
        ("", []),
        ("abc", ["no task is called a, b, c: left alone; --strict-names refuses such folders"]),
        ("abcd", ["no task is called a, b, c and 1 more: left alone; --strict-names refuses such folders"]),
    ],
)
def test_folders_that_are_no_tasks_are_named_up_to_three(strays: str, said: list[str]) -> None:
    """And counted beyond these."""
    plan = SimpleNamespace(left_out=(), source=SimpleNamespace(strays=tuple(strays)))
    assert list(notices(cast(Any, plan))) == said
