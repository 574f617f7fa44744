"""The functions that make verdicts: blocking, awaited, followed, stopped; inside an event loop and outside."""

import asyncio
import re
import threading
from pathlib import Path

import pytest

import groundup
from groundup.api.matrix import read_matrix
from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.reports.document import Report
from groundup.runs.progress import AttemptEnded, Event, RunBegan, RunEnded
from groundup.settings import Settings
from tests.api.conftest import Predict
from tests.patience import patient
from tests.runs.configurations import TWO
from tests.runs.toy import BEHAVIOUR, ToySuite

FIRST, SECOND = AttemptKey(task="task-0000"), AttemptKey(task="task-0001")


def scores(run: groundup.Run) -> dict[str, float | None]:
    """Return the score of each task."""
    return {
        key.task: verdict.score.value if verdict and verdict.score else None
        for key, verdict in run.verdicts.items()
    }


def test_evaluate_returns_a_run_with_verdicts_report_and_folder(predict: Predict, settings: Settings) -> None:
    """Flags are those of the command line; what was not handed in has no verdict and is not pending."""
    seen: list[Event] = []
    run = groundup.evaluate(
        TWO, predict({"task-0000": "half"}), run_id="mine", model_name="m", settings=settings, progress=seen.append
    )
    assert run.folder == settings.output / "mine"
    assert (run.id, run.pending, run.exit_code, run.interrupted) == ("mine", 0, 0, False)
    assert scores(run) == {"task-0000": 0.5, "task-0001": None}
    assert run.verdicts[SECOND] is None
    assert run.report.runs[0].subject.model == "m"
    assert (run.folder / "report.json").is_file()
    assert [type(event) for event in seen] == [RunBegan, *[type(event) for event in seen[1:-1]], RunEnded]
    assert "mine" in repr(run)


def test_run_resume_and_regrade(settings: Settings) -> None:
    """A run that failed with the machine is finished by `resume`; `regrade` makes another."""
    ran = groundup.run(TWO, "oracle", tasks="task-0000,task-0001", run_id="r", settings=settings)
    assert scores(ran) == {"task-0000": 1.0, "task-0001": 1.0}
    assert groundup.resume("r", settings=settings).verdicts == ran.verdicts
    assert groundup.resume(ran, settings=settings).verdicts == ran.verdicts
    assert groundup.report(ran, settings=settings).rows() == ran.report.rows()
    again = groundup.regrade(ran.folder, grader="lax", settings=settings)
    assert again.id == "r-regrade-1"
    assert {verdict.grader.name for verdict in again.verdicts.values() if verdict} == {"lax"}


def needy(settings: Settings) -> ToySuite:
    """Return a suite whose data the settings name."""
    if settings.data_dir is None:
        raise UsageError("no data")
    return ToySuite(1)


def test_a_run_reports_by_the_settings_that_it_was_made_with(settings: Settings, tmp_path: Path) -> None:
    """Those of the working folder may name no data, or others; then its report lacked the suite's tables."""
    run = groundup.run(f"{__name__}:needy", "oracle", settings=settings.but(data_dir=tmp_path))
    written = Report.model_validate_json((run.folder / "report.json").read_bytes())
    assert run.report.runs == written.runs


def test_what_is_owed_is_said_and_finished(predict: Predict, settings: Settings, tmp_path: Path) -> None:
    """Infrastructure failures raise nothing: they are counted, and a resume tries again."""
    hurdle = tmp_path / "hurdle"
    few = settings.but(retries=0)
    run = groundup.evaluate(TWO, predict({"task-0000": f"once {hurdle}"}), run_id="r", settings=few)
    assert (run.pending, run.exit_code) == (1, 3)
    assert FIRST not in run.verdicts
    assert groundup.resume(run.folder, settings=few).exit_code == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"task": "task-9"}, "did you mean"),
        ({"taks": "x"}, "did you mean 'task"),
        ({"attempts": 0}, "at least 1"),
        ({"jobs": "many"}, "jobs: "),
        ({"tasks": [","]}, "names nothing"),
        ({"no_exec": True, "grader": "lax"}, "leave --grader lax out"),
        ({"integrity": "full", "grader": "lax"}, "leave --grader lax out"),
        ({"integrity": "full", "no_exec": True}, "leave --no-exec out"),
        ({"integrity": "all"}, "integrity: "),
    ],
)
def test_flags_that_cannot_be_are_refused_by_name(
    flags: dict[str, object], said: str, predict: Predict, settings: Settings
) -> None:
    """The same errors as on the command line, before anything is done, from the twin as well."""
    predictions = predict({"task-0000": "pass"})
    with pytest.raises(groundup.UsageError, match=said):
        groundup.evaluate(TWO, predictions, settings=settings, **flags)  # type: ignore[arg-type]
    with pytest.raises(groundup.UsageError, match=said):
        groundup.evaluate_async(TWO, predictions, settings=settings, **flags).result()  # type: ignore[arg-type]
    assert not settings.output.exists()


async def test_a_running_event_loop_is_no_obstacle(predict: Predict, settings: Settings) -> None:
    """In a notebook's cell the blocking function works; progress is called in the cell's own thread."""
    threads: list[int] = []
    run = groundup.evaluate(
        TWO,
        predict({"task-0000": "pass", "task-0001": "fail"}),
        settings=settings,
        progress=lambda event: threads.append(threading.get_ident()),
    )
    assert scores(run) == {"task-0000": 1.0, "task-0001": 0.0}
    assert set(threads) == {threading.get_ident()}


async def test_twins_are_awaited_and_followed(predict: Predict, settings: Settings) -> None:
    """`await` gives the run; `async for` gives its events; several go on side by side."""
    predictions = predict({"task-0000": "sleep 0.2", "task-0001": "pass"})
    one = groundup.evaluate_async(TWO, predictions, run_id="one", settings=settings)
    two = groundup.run_async(TWO, "nop", run_id="two", settings=settings)
    events = [event async for event in one]
    assert isinstance(events[-1], RunEnded)
    assert sum(isinstance(event, AttemptEnded) for event in events) == 2
    first, second = await asyncio.gather(one, two)
    assert scores(first) == {"task-0000": 1.0, "task-0001": 1.0}
    assert scores(second) == {"task-0000": 0.0, "task-0001": 0.0}
    third = await groundup.regrade_async("two", settings=settings)
    assert (await groundup.resume_async(third.folder, settings=settings)).verdicts == third.verdicts


def test_a_twin_is_a_coroutine_and_an_iterator(settings: Settings) -> None:
    """`asyncio.run` takes it; without an event loop a plain loop follows it."""
    assert asyncio.run(groundup.run_async(TWO, "oracle", settings=settings)).exit_code == 0
    live = groundup.run_async(TWO, "oracle", run_id="r", settings=settings)
    assert isinstance(next(iter(live)), RunBegan)
    assert isinstance(list(live)[-1], RunEnded)
    assert list(live) == []
    assert live.result().exit_code == 0


def test_a_run_that_is_stopped_can_be_resumed(predict: Predict, settings: Settings) -> None:
    """Stopping is clean: what was graded stays, the folder is free, and the rest is pending."""
    predictions = predict({"task-0000": "pass", "task-0001": "sleep 600"})
    live = groundup.evaluate_async(TWO, predictions, run_id="r", jobs=1, settings=settings)
    for event in live:
        if isinstance(event, AttemptEnded):
            live.stop()
    run = live.result()
    assert (run.interrupted, run.exit_code, run.pending) == (True, 130, 1)
    assert scores(run) == {"task-0000": 1.0}
    (predictions / "task-0001" / BEHAVIOUR).write_text("pass")
    with pytest.raises(groundup.UsageError, match="submission task-0001/0"):
        groundup.resume(run.folder, settings=settings)


async def test_cancelling_what_awaits_a_run_stops_it(predict: Predict, settings: Settings) -> None:
    """A timeout leaves no run behind that goes on in secret."""
    predictions = predict({"task-0000": "sleep 600"})
    live = groundup.evaluate_async(TWO, predictions, run_id="r", settings=settings)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(live, 0.5)
    assert live.result().interrupted


def test_a_callback_that_raises_ends_the_run_and_is_heard(settings: Settings) -> None:
    """A mistake in somebody's progress bar is theirs to see."""

    def broken(event: Event) -> None:
        raise ZeroDivisionError("in the bar")

    caught: list[BaseException] = []

    def work() -> None:
        try:
            groundup.run(TWO, "oracle", settings=settings, progress=broken)
        except ZeroDivisionError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(patient(60))
    assert len(caught) == 1


def test_a_file_of_runs_is_worked_off(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run_matrix` makes what `groundup run --config` makes, and finishes it when it is called again."""
    values = {"cache_dir": settings.cache_dir, "sandbox": settings.sandbox, "builder": settings.builder}
    lines = "\n".join(f'{name} = "{value}"' for name, value in values.items())
    config = tmp_path / "matrix.toml"
    config.write_text(f'[settings]\n{lines}\n[[run]]\nsuite = "{TWO}"\nagent = ["oracle", "nop"]\n')
    monkeypatch.chdir(tmp_path)
    runs = groundup.run_matrix(config, output=tmp_path / "runs")
    assert [scores(run)["task-0000"] for run in runs] == [1.0, 0.0]
    assert [run.folder for run in groundup.run_matrix(config, output="runs")] == [
        Path("runs") / run.id for run in runs
    ]


@pytest.mark.parametrize("model", ["m" * 109 + ".5-large", "+" * 200])
def test_a_run_of_a_file_has_a_name_however_its_model_is_called(tmp_path: Path, model: str) -> None:
    """A name that was cut after a dot was refused, as if somebody had chosen it."""
    config = tmp_path / "matrix.toml"
    config.write_text(f'[[run]]\nsuite = "toy"\nagent = "nop"\nmodel = "p/{model}"\n')
    (entry,) = read_matrix(config)
    assert re.fullmatch(r"toy-nop-p([\w.+-]{0,110}\w)?", entry.name)


def test_output_goes_before_settings_wherever_both_are_given(settings: Settings, tmp_path: Path) -> None:
    """`tasks`, `judge` and others read the folder of the settings without a word."""
    elsewhere = tmp_path / "elsewhere"
    groundup.run(TWO, "oracle", run_id="r", settings=settings, output=elsewhere)
    assert not settings.output.exists()
    assert groundup.report("r", output=elsewhere, settings=settings).rows()[0]["score"] == 1.0
    assert [one.run for one in groundup.list_runs(output=elsewhere, settings=settings)] == ["r"]
    listed = groundup.tasks(TWO, output=elsewhere, settings=settings)
    assert all(one.last_oracle is not None for one in listed)
    with pytest.raises(groundup.UsageError, match="setting python: must be a minor version of Python"):
        groundup.run(TWO, "oracle", settings=settings, python="three")


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    """The second would go on with the first one's folder."""
    config = tmp_path / "matrix.toml"
    config.write_text('[[run]]\nsuite = "toy"\nagent = "nop"\n' * 2)
    with pytest.raises(
        groundup.UsageError, match="two runs would be called 'toy-nop'; give their tables a `name`"
    ):
        read_matrix(config)
