"""`runs.plan`: what is asked for is what is planned; a wrong name is answered with the right one."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits, Feedback, Selection
from groundup.domain.subjects import AttemptKey
from groundup.episodes.records import EpisodeSpec
from groundup.runs import api
from groundup.runs.plan import RunOptions, RunPlan, left_out_notice, notices
from groundup.runs.plan import changed as plan_differs
from groundup.settings import Settings
from groundup.store.records import (
    Begun,
    ConfigFile,
    Generated,
    Predictions,
    References,
    RunConfiguration,
    Served,
)
from groundup.suites.base import AtHand, Tables
from groundup.suites.nl2repobench.suite import create
from tests.runs.configurations import QUICK, SHRINKING, SUITE, TWO, evaluation, oracle
from tests.runs.toy import LackingSuite, ToySuite

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


def test_options_that_nobody_gives() -> None:
    """One attempt at a time, cached, without any limit; each number has the least that makes sense."""
    assert dict(RunOptions()) == {
        "jobs": 1,
        "memory_share": 0.8,
        "retries": 2,
        "retry_delay_s": 2.0,
        "use_cache": True,
        "time_s": None,
        "keep": False,
        "agent_jobs": None,
        "generate_only": False,
        "max_cost_usd": None,
        "prices": None,
        "price": None,
        "model_concurrency": 64,
        "model_timeout_s": None,
        "model_patience_s": None,
        "model_wait_s": 0.0,
        "reuse_replies": False,
        "workers": None,
        "agents_on_nodes": False,
    }
    assert RunOptions.model_validate({"model_wait_s": "10m"}).model_wait_s == 600


@pytest.mark.parametrize(
    ("name", "least", "too_little"),
    [
        ("jobs", 1, 0),
        ("memory_share", 0.01, 0),
        ("memory_share", 1, 1.01),
        ("retries", 0, -1),
        ("retry_delay_s", 0, -0.1),
        ("time_s", 0.1, 0),
        ("agent_jobs", 1, 0),
        ("max_cost_usd", 0.01, 0),
        ("model_concurrency", 1, 0),
        ("model_timeout_s", 0.1, 0),
        ("model_patience_s", 0, -0.1),
        ("model_wait_s", 0, -0.1),
    ],
)
def test_each_number_has_a_bound(name: str, least: float, too_little: float) -> None:
    """The least is taken; what is beyond it is refused."""
    assert getattr(RunOptions.model_validate({name: least}), name) == least
    with pytest.raises(ValidationError):
        RunOptions.model_validate({name: too_little})


def test_what_decides_an_attempt_of_an_agent() -> None:
    """All that the configuration says of it, and nothing of another task's."""
    limits = EpisodeLimits(turns=3)
    settings = {"temperature": 0.5}
    generated = Generated(
        agent="agent", model="m/n", model_settings=settings, limits=limits, feedback=Feedback.HIDDEN, rounds=2
    )
    key = AttemptKey(task="a", index=1)
    pins = {
        "suite": "1",
        "grader version": "2",
        "architecture": "3",
        "submission agent": "4",
        "task a": "5",
        "task ba": "6",
        "other": "7",
    }
    here = {name: pins[name] for name in ("suite", "grader version", "architecture", "submission agent", "task a")}

    def asked(submissions: Generated | Served | References, timeout_s: float | None = None) -> EpisodeSpec:
        configuration = RunConfiguration(suite="toy", submissions=submissions, timeout_s=timeout_s)
        plan = SimpleNamespace(configuration=configuration, grader=SimpleNamespace(name="lax"), pinned=pins)
        return RunPlan.episode(cast(Any, plan), key)

    spec = asked(generated, 7)
    assert (spec.suite, spec.task, spec.index, spec.grader, spec.pinned) == ("toy", "a", 1, "lax", here)
    assert (spec.model_settings, spec.limits, spec.feedback) == (settings, limits, Feedback.HIDDEN)
    assert (spec.rounds, spec.timeout_s, spec.own_tests) == (2, 7, False)
    assert (spec.subject.agent, spec.subject.model) == ("agent", "m/n")
    assert asked(generated.but(select=Selection.OWN_TESTS)).own_tests
    served = asked(Served(agent="client", limits=limits))
    assert (served.limits, served.model_settings, served.feedback) == (limits, {}, Feedback.SCORE)
    reference = asked(References(which="oracle"))
    assert (reference.limits, reference.rounds, reference.own_tests) == (EpisodeLimits(), 1, False)
    assert (reference.feedback, reference.timeout_s) == (Feedback.SCORE, None)


def test_a_sample_is_drawn_by_the_seed(settings: Settings) -> None:
    """The configuration names it, so a resume has the same; a larger sample holds the smaller one."""

    def sample(limit: int, seed: int = 0) -> tuple[str, ...]:
        made = api.NewRun(oracle(SUITE), RunOptions(), settings, limit=limit, seed=seed).plan()
        assert made.configuration.tasks == made.planned.tasks == tuple(made.tasks)
        assert made.left_out == ()
        return made.planned.tasks

    three = sample(3)
    assert (len(three), list(three)) == (3, sorted(three))
    assert sample(3, seed=0) == three != sample(3, seed=1)
    assert {*three} < {*sample(5)}
    assert len(sample(50)) == 20
    assert api.NewRun(oracle(SUITE), RunOptions(), settings).plan().configuration.tasks is None


@pytest.mark.parametrize(
    ("held", "asked", "there"),
    [(1, 2, "each task has 1 attempt at most"), (2, 3, "each task has 2 attempts at most")],
)
def test_no_more_attempts_than_somebody_made(
    settings: Settings, predict: Predict, held: int, asked: int, there: str
) -> None:
    """They would count 0. As many as there are, and fewer, are taken; a reference is made as often as asked."""
    given = evaluation(predict({f"task-0000/{index}": "pass" for index in range(held)}))
    assert api.NewRun(changed(given, attempts=held), RunOptions(), settings).plan().planned.attempts == held
    with pytest.raises(UsageError) as refused:
        api.NewRun(changed(given, attempts=asked), RunOptions(), settings).plan()
    assert str(refused.value) == (f"-k {asked}: {there}, and grading one again makes no other; leave -k out")
    assert api.NewRun(changed(oracle(), attempts=asked), RunOptions(), settings).plan().planned.attempts == asked


def test_one_submission_is_of_one_task(settings: Settings, predict: Predict) -> None:
    """Who hands in the submission of one task asks for no other."""
    given = predict({"task-0001": "pass"})
    one = Predictions(path=f"{given.path}/task-0001", task="task-0001")
    made = api.NewRun(evaluation(one), RunOptions(), settings).plan()
    assert (made.planned.tasks, made.left_out) == (("task-0001",), ())


def test_what_is_excluded_is_not_told_of(settings: Settings) -> None:
    """The notice is about what somebody could miss."""
    nothing = changed(oracle("tests.runs.toy:create_lacking"), submissions=References(which="nop"))
    made = api.NewRun(nothing, RunOptions(), settings).plan()
    assert made.left_out == ("task-0002",)
    (told,) = notices(made)
    assert told == "1 task cannot be graded yet and is left out, such as task-0002; see `groundup tasks toy`"
    made = api.NewRun(changed(nothing, exclude=("task-0002",)), RunOptions(), settings).plan()
    assert (made.left_out, list(notices(made))) == ((), [])
    made = api.NewRun(changed(nothing, exclude=("late",)), RunOptions(), settings).plan()
    assert (made.planned.tasks, made.left_out) == (("task-0000",), ())
    several = api.NewRun(oracle("tests.runs.toy:create_lacking"), RunOptions(), settings).plan()
    assert list(notices(several)) == [
        "2 tasks of toy cannot be graded yet or have no oracle and are left out, such as task-0000; "
        "see `groundup tasks toy`"
    ]


def test_refusals_of_a_plan_in_full(settings: Settings) -> None:
    """Each names what is wrong and what to do."""
    lacking = oracle("tests.runs.toy:create_lacking")
    nothing = changed(lacking, submissions=References(which="nop"))
    for configuration, said in (
        (
            changed(oracle(), exclude=("task-0000", "task-0001")),
            f"no task of {TWO} is left to do; check --tasks and --exclude",
        ),
        (
            oracle("tests.runs.toy:create_empty"),
            "no task of toy can be graded with what is at hand; fetch its data with `groundup data pull toy`",
        ),
        (
            changed(lacking, tasks=("task-0000",)),
            "toy has no oracle for task-0000; leave --tasks out to run those that have one, or hand in a solution "
            "of your own with `groundup evaluate`",
        ),
        (
            changed(nothing, tasks=("task-0001", "task-0002")),
            "task-0002 has no recipe; make one; or leave it out with `--exclude task-0002`",
        ),
        (changed(nothing, tasks=("late",), exclude=("task-0001",)), "task-0002 has no recipe; make one"),
        (
            changed(oracle(), submissions=References(which="orakle")),
            "unknown agent 'orakle'; did you mean 'oracle'? There are nop, oracle",
        ),
        (
            changed(oracle(), submissions=Generated(agent="oneshot", model="m/n")),
            "this machine has no specification of task-0000, which an agent needs; fetch it with "
            "`groundup data pull toy`",
        ),
    ):
        with pytest.raises(UsageError) as refused:
            api.NewRun(configuration, RunOptions(), settings).plan()
        assert str(refused.value) == said


def test_what_differs_from_an_earlier_plan(settings: Settings) -> None:
    """Fields of the configuration first, then all that is pinned, each once and by name."""
    plan = api.NewRun(oracle(), RunOptions(), settings).plan()
    earlier = ConfigFile(
        run_id="one",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        suite_name="toy",
        grader="strict",
        configuration=plan.configuration,
        planned=plan.planned,
        pinned=plan.pinned,
        digest="",
    )
    assert plan_differs(earlier, plan, plan.pinned) == []
    fewer = plan.planned.but(tasks=("task-0000",))
    assert plan_differs(earlier, plan._replace(planned=fewer), plan.pinned) == ["tasks"]
    more = plan.planned.but(attempts=2)
    assert plan_differs(earlier, plan._replace(planned=more), plan.pinned) == ["attempts"]
    asked = plan._replace(configuration=plan.configuration.but(attempts=2, timeout_s=3.0), planned=more)
    assert plan_differs(earlier, asked, plan.pinned) == ["attempts", "timeout_s"]
    assert plan_differs(earlier.but(grader="lax"), plan, plan.pinned) == ["grader"]
    others = {name: pin for name, pin in plan.pinned.items() if name != "suite"} | {
        "architecture": "z",
        "new": "1",
    }
    assert plan_differs(earlier, plan, others) == ["architecture", "new", "suite"]
    begun = Begun(tasks=plan.planned.tasks, attempts=5, listed=())
    assert plan_differs(earlier.model_copy(update={"planned": begun}), plan, plan.pinned) == []


def test_where_all_have_an_oracle_none_is_missed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out can only not be graded."""
    monkeypatch.setattr(LackingSuite, "referenced", lambda self: ("task-0000", "task-0001", "task-0002"))
    made = api.NewRun(oracle("tests.runs.toy:create_lacking"), RunOptions(), settings).plan()
    assert made.planned.tasks == ("task-0000", "task-0001")
    assert left_out_notice(made).startswith("1 task cannot be graded yet and is left out, such as task-0002;")


def test_a_task_that_is_gone_since_is_named(settings: Settings) -> None:
    """A run of it cannot be graded again as a whole; without it, it can."""
    count = settings.cache_dir.parent / "tasks"
    count.write_text("3")
    folder = api.NewRun(oracle(SHRINKING), QUICK, settings, run_id="one").work().folder
    count.write_text("2")
    with pytest.raises(UsageError, match="unknown task 'task-0002'; did you mean 'task-000"):
        api.regrading(folder, QUICK, settings).plan()
    again = api.regrading(folder, QUICK, settings, {"tasks": ["task-0001"]}).plan()
    assert again.planned.tasks == ("task-0001",)
