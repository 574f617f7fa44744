"""`runs.api`: from predictions to a folder of verdicts; again, later, and with another grader."""

import gzip
import json
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import Stage, Status
from groundup.runs import api
from groundup.runs.progress import AttemptEnded, Event, RunBegan, RunEnded, Standing, Warned
from groundup.settings import Settings
from groundup.store.folder import RunFolder, is_held
from groundup.store.records import ConfigFile, Predictions, References, Regraded, RunConfiguration
from tests.runs.configurations import PROVIDER, QUICK, SUITE, TWO, Recorder, evaluation, oracle
from tests.runs.toy import BEHAVIOUR

Predict = Callable[[Mapping[str, str]], Predictions]
FIRST, SECOND = AttemptKey(task="task-0000"), AttemptKey(task="task-0001")


def gradings(settings: Settings) -> int:
    """Return how often the toy graders graded."""
    folder = settings.cache_dir.parent / "gradings"
    return sum(len(path.read_text().splitlines()) for path in folder.iterdir()) if folder.exists() else 0


def test_the_oracle_passes_everywhere(settings: Settings) -> None:
    """A run of the reference ends with a full score for every task, exit code 0, and a clean folder."""
    recorder = Recorder()
    result = api.NewRun(oracle(SUITE), QUICK, settings, run_id="one").work(recorder)
    assert result.exit_code == 0
    assert result.standing.graded == result.standing.total == 20
    run = RunFolder(settings.output / "one")
    lines = run.latest()
    assert set(lines) == set(run.config().planned.keys)
    assert {line.verdict.score.value for line in lines.values() if line.verdict and line.verdict.score} == {1.0}
    attempt = run.attempt(FIRST)
    record = attempt.record()
    assert record is not None
    assert record.digest == lines[FIRST].submission
    assert record.provenance.source == "oracle"
    assert [test.outcome for test in attempt.tests()] == ["passed", "passed"]
    assert (attempt.logs / "grading.log").read_bytes() == b"obeyed\n"
    assert not run.scratch.exists()
    assert isinstance(recorder.events[0], RunBegan)
    assert isinstance(recorder.events[-1], RunEnded)
    settled = [event.standing.settled for event in recorder.events if isinstance(event, AttemptEnded)]
    assert settled == [*range(1, 21)]


def test_what_takes_longest_begins_first(settings: Settings) -> None:
    """Where the grader says so; otherwise tasks begin in their order."""
    alone = QUICK.but(jobs=1)
    for suite, order in (("tests.runs.toy:create_uneven", [4, 3, 2, 1, 0]), (TWO, [0, 1])):
        result = api.NewRun(oracle(suite), alone, settings, run_id=f"run-{len(order)}").work()
        assert [int(line.attempt.task[-4:]) for line in RunFolder(result.folder).lines()] == order


def test_nop_scores_zero(settings: Settings) -> None:
    """The empty submission is graded and gains nothing."""
    configuration = RunConfiguration(suite=TWO, submissions=References(which="nop"), sandbox=settings.sandbox)
    result = api.NewRun(configuration, QUICK, settings, run_id="one").work()
    assert result.standing.graded == 2
    assert result.standing.lost == {"test": 1.0}


def test_a_missing_prediction_is_kept_as_not_attempted(settings: Settings, predict: Predict) -> None:
    """It has its line, is no failure of infrastructure, and the run is complete."""
    result = api.NewRun(evaluation(predict({"task-0001": "pass"})), QUICK, settings, run_id="one").work()
    assert result.exit_code == 0
    assert result.standing.not_attempted == 1
    line = RunFolder(result.folder).latest()[FIRST]
    assert (line.outcome, line.verdict, line.submission) == (Outcome.NOT_ATTEMPTED, None, None)


@pytest.mark.parametrize(
    ("behaviour", "stage", "tries"),
    [
        ("infrastructure", "the network is down", 3),
        ("machine", "no interpreter is on this machine", 1),
        ("unreached 1", "points were lost while flask could not be fetched: the index answers with HTTP 503", 3),
        ("task", "the task is at fault: its recipe cannot be built", 1),
        ("crash", "the grader crashed: ZeroDivisionError: a bug of the grader", 1),
    ],
)
def test_a_failure_of_infrastructure_is_no_zero(
    settings: Settings, predict: Predict, behaviour: str, stage: str, tries: int
) -> None:
    """It has no score, names who is to blame, keeps a traceback, is pending again, and the others go on."""
    configuration = evaluation(predict({"task-0000": behaviour, "task-0001": "half"}))
    result = api.NewRun(configuration, QUICK, settings, run_id="one").work()
    assert result.exit_code == 3
    assert (result.pending, result.standing.infrastructure, result.standing.graded) == (1, 1, 1)
    run = RunFolder(result.folder)
    failed = [line for line in run.lines() if line.attempt == FIRST]
    assert [line.try_number for line in failed] == list(range(1, tries + 1))
    verdict = failed[-1].verdict
    assert verdict is not None
    assert (verdict.status, verdict.score, verdict.cacheable) == (Status.INFRASTRUCTURE, None, False)
    assert verdict.reasons[0].message == stage
    trace = run.attempt(FIRST).logs / f"try-{tries}" / "infrastructure.log"
    assert "Traceback" in trace.read_text()
    again = api.Resumption(result.folder, QUICK, settings).work()
    assert again.exit_code == 3
    assert [line.try_number for line in run.lines() if line.attempt == FIRST] == list(range(1, 2 * tries + 1))
    assert len([line for line in run.lines() if line.attempt == SECOND]) == 1


def test_what_a_full_score_did_without_is_no_failure(settings: Settings, predict: Predict) -> None:
    """A registry that failed while a submission ran costs it nothing where it lost no points."""
    result = api.NewRun(
        evaluation(predict({"task-0000": "unreached 2", "task-0001": "half"})), QUICK, settings
    ).work()
    assert (result.exit_code, result.standing.graded) == (0, 2)


def test_a_passing_failure_is_retried(settings: Settings, predict: Predict, tmp_path: Path) -> None:
    """What worked the second time is graded; the first try stays on record."""
    configuration = evaluation(predict({"task-0000": f"once {tmp_path / 'mark'}", "task-0001": "pass"}))
    result = api.NewRun(configuration, QUICK, settings, run_id="one").work()
    assert result.exit_code == 0
    lines = [line for line in RunFolder(result.folder).lines() if line.attempt == FIRST]
    assert [line.verdict.status for line in lines if line.verdict] == [Status.INFRASTRUCTURE, Status.GRADED]


def bomb(folder: Path) -> None:
    """Write an archive that unpacks to more than anybody needs."""
    info = tarfile.TarInfo("zeros")
    info.size = 1024**3
    folder.mkdir(parents=True)
    (folder / "submission.tar.gz").write_bytes(gzip.compress(info.tobuf() + bytes(72 * 1024**2)))


def test_what_cannot_be_taken_in_is_a_zero(settings: Settings, predict: Predict) -> None:
    """A tree beyond the limits is graded 0 over the task's denominator, with one sentence why."""
    predictions = predict({"task-0001": "pass"})
    bomb(Path(predictions.path) / "task-0000")
    result = api.NewRun(evaluation(predictions), QUICK, settings, run_id="one").work()
    assert result.exit_code == 0
    verdict = RunFolder(result.folder).latest()[FIRST].verdict
    assert verdict is not None
    assert verdict.score is not None
    assert (verdict.score.numerator, verdict.score.denominator) == (0, 2)
    assert verdict.reasons[0].stage is Stage.INTAKE


def test_a_fault_of_the_submission_in_grading_is_a_zero(settings: Settings, predict: Predict) -> None:
    """A submission whose own requirements fail is at fault, not the machine."""
    result = api.NewRun(
        evaluation(predict({"task-0000": "submission", "task-0001": "pass"})), QUICK, settings, run_id="one"
    ).work()
    assert result.exit_code == 0
    assert result.standing.lost == {"install": 1.0}


def test_a_finished_run_is_resumed_without_work(settings: Settings) -> None:
    """Resuming what is finished adds a start and no verdict."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    before = (folder / "verdicts.jsonl").read_bytes()
    recorder = Recorder()
    assert api.Resumption(folder, QUICK, settings).work(recorder).exit_code == 0
    assert (folder / "verdicts.jsonl").read_bytes() == before
    assert len(RunFolder(folder).lock().starts) == 2
    assert [type(event) for event in recorder.events] == [RunBegan, RunEnded]


@pytest.mark.parametrize(
    ("change", "named"),
    [({"timeout_s": 5}, "timeout_s"), ({"tasks": ["task-0000"]}, "tasks"), ({"sandbox": "bubblewrap"}, "sandbox")],
)
def test_a_resume_with_other_options_is_refused(
    settings: Settings, change: Mapping[str, object], named: str
) -> None:
    """Options that change results are named; nothing was started."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    with pytest.raises(UsageError, match=f"configuration changed: {named};"):
        api.Resumption(folder, QUICK, settings, changes=change).work()
    assert len(RunFolder(folder).lock().starts) == 1


def test_a_resume_with_the_same_options_is_not_refused(settings: Settings) -> None:
    """Naming an option again as it was changes nothing; an unknown one is answered with the nearest."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    assert api.Resumption(folder, QUICK, settings, changes={"suite": TWO}).work().exit_code == 0
    with pytest.raises(UsageError, match="did you mean 'attempts'"):
        api.Resumption(folder, QUICK, settings, changes={"attempt": 3}).work()


def test_what_a_run_does_not_use_may_change(settings: Settings, predict: Predict) -> None:
    """Specifications that come meanwhile matter to no grader: resume and cache go on as before."""
    failing = predict({"task-0000": "infrastructure", "task-0001": "half"})
    once = settings.cache_dir.parent / "once"
    (Path(failing.path) / "task-0000" / BEHAVIOUR).write_text(f"once {once}")
    configuration = evaluation(failing, "tests.runs.toy:create_pulled")
    no_retry = QUICK.but(retries=0)
    folder = api.NewRun(configuration, no_retry, settings, run_id="one").work().folder
    (settings.cache_dir.parent / "instruction").touch()
    assert api.Resumption(folder, QUICK, settings).work().exit_code == 0
    again = api.NewRun(configuration, QUICK, settings, run_id="two").work().folder
    assert all(line.cached for line in RunFolder(again).latest().values())


def test_a_run_without_the_cache_stays_one(settings: Settings, predict: Predict) -> None:
    """What was to be graded anew is graded anew also by the resume that finishes it."""
    predictions = predict({"task-0000": "pass", "task-0001": "pass"})
    api.NewRun(evaluation(predictions), QUICK, settings, run_id="cached").work()
    begun = QUICK.but(use_cache=False, max_cost_usd=5.0, price="1:2")
    folder = api.NewRun(evaluation(predictions), begun, settings, run_id="one").work().folder
    (folder / "verdicts.jsonl").write_bytes(b"")  # as if it had been killed before the first verdict
    assert api.Resumption(folder, QUICK, settings).work().exit_code == 0
    assert not any(line.cached for line in RunFolder(folder).latest().values())
    last = RunFolder(folder).lock().starts[-1].options
    assert (last["use_cache"], last["max_cost_usd"], last["price"]) == (False, 5.0, "1:2")
    more = QUICK.but(max_cost_usd=9.0)
    api.Resumption(folder, more, settings).work()
    assert RunFolder(folder).lock().starts[-1].options["max_cost_usd"] == 9.0


def test_a_resume_on_other_predictions_is_refused(settings: Settings, predict: Predict) -> None:
    """Verdicts of two different submissions never stand in one run under one name."""
    predictions = predict({"task-0000": "infrastructure"})
    folder = api.NewRun(evaluation(predictions), QUICK, settings, run_id="one").work().folder
    (Path(predictions.path) / "task-0000" / BEHAVIOUR).write_text("pass")
    predict({"task-0001": "pass"})
    message = "configuration changed: submission task-0000/0, submission task-0001/0;"
    with pytest.raises(UsageError, match=message):
        api.Resumption(folder, QUICK, settings).work()


def test_the_cache_saves_grading(settings: Settings) -> None:
    """The same submission under the same conditions is not graded twice, and its evidence is there again."""
    api.NewRun(oracle(), QUICK, settings, run_id="one").work()
    before = gradings(settings)
    result = api.NewRun(oracle(), QUICK, settings, run_id="two").work()
    assert gradings(settings) == before
    assert result.standing.cached == 2
    run = RunFolder(result.folder)
    assert all(line.cached for line in run.lines())
    assert len(run.attempt(FIRST).tests()) == 2


@pytest.mark.parametrize(
    "fields",
    [{"grader": "lax"}, {"timeout_s": 7}, {"suite": "tests.runs.toy:create_newer"}],
)
def test_other_conditions_are_not_cached(settings: Settings, fields: Mapping[str, object]) -> None:
    """Another grader, limit or data version judges anew."""
    api.NewRun(oracle(), QUICK, settings, run_id="one").work()
    configuration = RunConfiguration.model_validate({**dict(oracle()), **fields})
    assert api.NewRun(configuration, QUICK, settings, run_id="two").work().standing.cached == 0


def test_another_layer_is_not_cached(settings: Settings) -> None:
    """An environment that was built anew, with another interpreter perhaps, judges anew."""
    api.NewRun(oracle(), QUICK, settings, run_id="one").work()
    (settings.cache_dir.parent / "layer").write_text("another")
    assert api.NewRun(oracle(), QUICK, settings, run_id="two").work().standing.cached == 0


def test_repetitions_are_graded_each(settings: Settings, predict: Predict) -> None:
    """Equal submissions at different indexes are graded apart, so that chance shows."""
    result = api.NewRun(
        evaluation(predict({"task-0000/0": "pass", "task-0000/1": "pass"})), QUICK, settings, run_id="one"
    ).work()
    assert result.standing.cached == 0
    assert gradings(settings) == 2


@pytest.mark.parametrize("behaviour", ["timeout", "infrastructure"])
def test_chance_is_never_cached(settings: Settings, predict: Predict, behaviour: str) -> None:
    """Timeouts and infrastructure failures are tried again by the next run."""
    configuration = evaluation(predict({"task-0000": behaviour}))
    options = QUICK.but(retries=0)
    for run_id in ("one", "two"):
        api.NewRun(configuration, options, settings, run_id=run_id).work()
    assert gradings(settings) == 2


def test_without_cache_everything_is_graded(settings: Settings) -> None:
    """`--no-cache` neither reads nor writes."""
    options = QUICK.but(use_cache=False)
    for run_id in ("one", "two"):
        api.NewRun(oracle(), options, settings, run_id=run_id).work()
    assert gradings(settings) == 4
    assert not (settings.cache_dir / "verdicts").exists()


def test_an_unusable_cache_only_warns(settings: Settings, tmp_path: Path) -> None:
    """A cache folder that cannot be written costs one warning and no verdict."""
    (tmp_path / "file").touch()
    broken = settings.but(cache_dir=tmp_path / "file")
    recorder = Recorder()
    assert api.NewRun(oracle(), QUICK, broken, run_id="one").work(recorder).exit_code == 0
    warnings = [event.message for event in recorder.events if isinstance(event, Warned)]
    assert len(warnings) == 1
    assert "not cached" in warnings[0]


def test_regrading_leaves_the_earlier_run_alone(settings: Settings, predict: Predict) -> None:
    """New verdicts of the same submissions stand in a run of their own; what was refused or missing stays so."""
    predictions = predict({"task-0000/0": "half", "task-0000/1": "pass"})
    bomb(Path(predictions.path) / "task-0001")
    folder = api.NewRun(evaluation(predictions), QUICK, settings, run_id="one").work().folder
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    again = api.regrading(folder, QUICK, settings, changes={"grader": "lax"}).work()
    assert again.folder == settings.output / "one-regrade-1"
    assert {path: path.read_bytes() for path in before} == before
    old, new = RunFolder(folder).latest(), RunFolder(again.folder).latest()
    assert {key: (line.outcome, line.submission) for key, line in old.items()} == {
        key: (line.outcome, line.submission) for key, line in new.items()
    }
    assert {line.verdict.grader.name for line in new.values() if line.verdict} == {"lax"}
    refused = new[SECOND].verdict
    assert refused is not None
    assert refused.reasons[0].stage is Stage.INTAKE
    assert api.regrading(folder, QUICK, settings).work().folder.name == "one-regrade-2"


def test_no_run_of_a_stranger_decides_verdicts_of_others(settings: Settings, predict: Predict) -> None:
    """Its records name submissions that are not the ones that lie there, so it is not graded again."""
    half = predict({"task-0000": "half"})
    folder = api.NewRun(evaluation(half), QUICK, settings, run_id="theirs").work().folder
    (RunFolder(folder).attempt(FIRST).submission / BEHAVIOUR).write_text("pass")
    shutil.rmtree(settings.cache_dir / "verdicts")
    again = api.regrading(folder, QUICK, settings).work()
    assert scores(again.folder) == [None]
    told = RunFolder(again.folder).latest()[FIRST].verdict
    assert told is not None
    assert "was changed after it was handed in" in told.reasons[0].message
    honest = api.NewRun(evaluation(half), QUICK, settings, run_id="honest").work()
    assert scores(honest.folder) == [0.5]


def test_a_submission_that_was_changed_is_not_graded_as_what_it_was(settings: Settings, predict: Predict) -> None:
    """A run that goes on says so, and gives no score."""
    predictions = predict({"task-0000": "infrastructure"})
    folder = api.NewRun(evaluation(predictions), QUICK, settings, run_id="one").work().folder
    (RunFolder(folder).attempt(FIRST).submission / BEHAVIOUR).write_text("pass")
    api.Resumption(folder, QUICK, settings).work()
    verdict = RunFolder(folder).latest()[FIRST].verdict
    assert verdict is not None
    assert (verdict.status, verdict.score) == (Status.INFRASTRUCTURE, None)
    assert "was changed after it was handed in" in verdict.reasons[0].message


def scores(folder: Path) -> list[float | None]:
    """Return the scores of the first task."""
    verdicts = [line.verdict for key, line in RunFolder(folder).latest().items() if key.task == FIRST.task]
    return [verdict.score.value if verdict and verdict.score else None for verdict in verdicts]


def test_kept_workspaces_lie_in_the_attempts_folder(settings: Settings) -> None:
    """`--keep` shows what the grader worked on."""
    folder = api.NewRun(oracle(), QUICK.but(keep=True), settings, run_id="one").work().folder
    kept = RunFolder(folder).attempt(FIRST).kept / "grading" / "workspace" / "copy"
    assert kept.read_text() == FIRST.task


def test_what_was_graded_is_recorded_whatever_stops_the_attempt_then(settings: Settings, predict: Predict) -> None:
    """A ^C that comes while the scratch folder is removed costs no verdict."""
    predictions = predict({"task-0000": "stopped"})
    finished = api.NewRun(evaluation(predictions), QUICK.but(jobs=1), settings, run_id="one").work()
    verdict = finished.verdicts[FIRST]
    assert verdict is not None
    assert verdict.score is not None
    assert verdict.score.value == 1.0
    assert not (finished.folder / "scratch").exists()


def test_a_report_is_written_at_the_end(settings: Settings) -> None:
    """The report is made from a folder in which nothing changes any more, and before the folder is given back."""
    seen: list[tuple[bool, int]] = []

    def progress(event: Event) -> None:
        if isinstance(event, RunEnded):
            (report,) = json.loads((settings.output / "one" / "report.json").read_text())["runs"]
            seen.append((is_held(settings.output / "one"), report["counts"]["graded"]))

    api.NewRun(oracle(), QUICK, settings, run_id="one").work(progress)
    assert seen == [(True, 2)]


def test_a_run_of_an_earlier_version_without_a_sandbox_is_not_finished(settings: Settings) -> None:
    """Its configuration is read; what it owes would need the sandbox that is gone, and one sentence says so."""
    configuration = oracle().but(sandbox="none")
    with pytest.raises(UsageError, match="the sandbox none is gone"):
        api.NewRun(configuration, QUICK, settings, run_id="one").work()


def test_a_run_names_itself(settings: Settings) -> None:
    """Without an id, suite and subject name the run; an unusable id is refused."""
    assert api.NewRun(oracle(), QUICK, settings).work().folder.name.startswith("toy-oracle-")
    with pytest.raises(UsageError, match="not a usable name"):
        api.NewRun(oracle(), QUICK, settings, run_id="../elsewhere").work()


def test_a_damaged_submission_record_is_made_again(settings: Settings, predict: Predict, tmp_path: Path) -> None:
    """A machine that crashed while a submission came in costs a second copy, no attempt."""
    mark = tmp_path / "mark"
    configuration = evaluation(predict({"task-0000": f"once {mark}"}))
    folder = api.NewRun(configuration, QUICK.but(retries=0), settings, run_id="one").work().folder
    RunFolder(folder).attempt(FIRST).submission_file.write_text("")
    assert api.Resumption(folder, QUICK, settings).work().exit_code == 0
    assert RunFolder(folder).attempt(FIRST).record() is not None


def test_a_resume_grades_again_what_does_not_fit(settings: Settings) -> None:
    """A damaged line is named, what was handed in gets another verdict, and from then on the run fits again."""
    folder = api.NewRun(oracle(), QUICK.but(jobs=1), settings, run_id="one").work().folder
    verdicts = folder / "verdicts.jsonl"
    lines = verdicts.read_text().splitlines(keepends=True)
    verdicts.write_text("".join(["garbage\n", *lines[1:]]))
    assert scores(folder) == []
    recorder = Recorder()
    assert api.Resumption(folder, QUICK, settings).work(recorder).exit_code == 0
    warned = [event.message for event in recorder.events if isinstance(event, Warned)]
    assert any("verdicts.jsonl, line 1: it is damaged" in message for message in warned)
    assert scores(folder) == [1.0]
    assert RunFolder(folder).records().faults == ()
    (folder / "verdicts.jsonl").write_text("more " + verdicts.read_text())
    assert RunFolder(folder).records().faults


def test_a_resume_keeps_what_the_last_start_promised(settings: Settings) -> None:
    """No verdict out of the cache, the limit on money, and prices, until others are given."""
    folder = api.NewRun(oracle(), QUICK.but(max_cost_usd=5.0, price="1:2"), settings, run_id="one").work().folder
    asked: list[tuple[dict[str, object], tuple[object, ...]]] = [
        ({}, (5.0, None, "1:2", True)),
        ({"prices": "list"}, (5.0, "list", None, True)),
        ({}, (5.0, "list", None, True)),
        ({"price": "3:4"}, (5.0, None, "3:4", True)),
        ({"max_cost_usd": 9.0, "use_cache": False}, (9.0, None, "3:4", False)),
        ({"jobs": 1}, (9.0, None, "3:4", False)),
    ]
    for options, kept in asked:
        api.Resumption(folder, QUICK.but(**options), settings).work()
        last = RunFolder(folder).lock().starts[-1].options
        assert tuple(last[name] for name in ("max_cost_usd", "prices", "price", "use_cache")) == kept
    assert (last["jobs"], last["retry_delay_s"]) == (1, 0)
    lock = folder / "lock.json"
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "starts": []}))
    api.Resumption(folder, QUICK, settings).work()
    (only,) = RunFolder(folder).lock().starts
    assert (only.options["max_cost_usd"], only.options["use_cache"]) == (None, True)


@pytest.mark.parametrize(
    ("settled", "made", "interrupted", "ended"),
    [(4, 0, False, (0, 0, 0)), (3, 0, False, (1, 0, 3)), (1, 3, False, (0, 3, 0)), (0, 3, True, (1, 3, 130))],
)
def test_how_a_run_ended(
    settings: Settings, tmp_path: Path, settled: int, made: int, interrupted: bool, ended: tuple[int, ...]
) -> None:
    """What is pending has no submission either; who stopped it gets the shell's number."""
    standing = Standing(total=4, settled=settled, running=0, made=made)
    run = api.Run(tmp_path / "one", standing, interrupted, settings)
    assert (run.pending, run.ungraded, run.exit_code) == ended
    assert (run.id, os.fspath(run), run.interrupted) == ("one", str(tmp_path / "one"), interrupted)


def test_a_run_shows_itself(settings: Settings) -> None:
    """In a notebook and at a prompt."""
    run = api.NewRun(oracle(), QUICK, settings, run_id="one").work()
    assert repr(run) == f"<Run {', '.join(run.report.headlines())}; 0 attempts pending>"
    assert run._repr_html_() == run.report._repr_html_()
    assert {key.task: verdict.status for key, verdict in run.verdicts.items() if verdict} == {
        "task-0000": Status.GRADED,
        "task-0001": Status.GRADED,
    }


def test_what_is_refused_before_a_plan(settings: Settings) -> None:
    """Names of runs, sandboxes and images come first; a plan may read every submission."""
    never = oracle("tests.runs.nowhere:create")
    with pytest.raises(UsageError, match="not a usable name"):
        api.NewRun(never, QUICK, settings, run_id="../elsewhere").plan()
    with pytest.raises(UsageError, match="unknown sandbox 'bubblewarp'; did you mean 'bubblewrap'"):
        api.NewRun(never.but(sandbox="bubblewarp"), QUICK, settings).plan()
    with pytest.raises(UsageError, match=r"there\.tar is not there"):
        api.NewRun(never.but(sandbox=f"{PROVIDER}@./there.tar"), QUICK, settings).plan()
    for image in ("./{task}.tar", "python:3.11"):
        made = api.NewRun(oracle().but(sandbox=f"{PROVIDER}@{image}"), QUICK, settings).plan()
        assert made.planned.tasks == ("task-0000", "task-0001")


def test_a_run_of_this_name_is_refused_before_its_plan(settings: Settings) -> None:
    """Whatever the plan would say; the folder for runs may hold anything else."""
    api.NewRun(oracle(), QUICK, settings, run_id="one").work()
    with pytest.raises(UsageError, match="one exists; finish it with `groundup resume "):
        api.NewRun(oracle("tests.runs.nowhere:create"), QUICK, settings, run_id="one").work()
    (settings.output.parent / "file").touch()
    elsewhere = settings.but(output=settings.output.parent / "file")
    with pytest.raises(UsageError, match="file is no folder; name another one with --output"):
        api.NewRun(oracle("tests.runs.nowhere:create"), QUICK, elsewhere).work()


def test_regradings_are_numbered(settings: Settings) -> None:
    """From 1, without gaps that somebody left; they keep what was asked but for the cache and what is changed."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    asked = RunFolder(folder).config().configuration
    for number in (1, 2):
        again = api.regrading(folder, QUICK, settings, {"timeout_s": 3})
        assert again.run_id == f"one-regrade-{number}"
        assert again.configuration == asked.but(
            submissions=Regraded(path=str(folder), subject=asked.subject), timeout_s=3
        )
        assert again.options == QUICK.but(use_cache=False)
        (settings.output / f"one-regrade-{number}").mkdir()
    assert api.regrading(folder, QUICK, settings, run_id="mine").run_id == "mine"
    assert api.Resumption(folder, QUICK, settings).pending() == ((), 2)


@pytest.mark.parametrize(
    ("sandbox", "then"),
    [("bubblewrap", "bubblewrap"), ("docker@python:3.11", "docker@python:3.11"), ("nspawn", PROVIDER)],
)
def test_what_graded_elsewhere_is_graded_here(settings: Settings, sandbox: str, then: str) -> None:
    """A sandbox that only another program has gives way to the one of this machine; others stay."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    config = RunFolder(folder).config()
    configuration = config.configuration.but(sandbox=sandbox)
    digest = ConfigFile.digest_for(configuration, config.planned, config.pinned, config.left_out)
    changed = config.but(configuration=configuration, digest=digest)
    (folder / "config.json").write_text(changed.model_dump_json())
    assert api.regrading(folder, QUICK, settings).configuration.sandbox == then


def test_a_wrong_value_is_told_by_its_key(settings: Settings) -> None:
    """As is one of another kind."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    with pytest.raises(UsageError) as refused:
        api.regrading(folder, QUICK, settings, {"attempts": 0})
    assert str(refused.value).startswith("attempts: ")
    with pytest.raises(
        UsageError, match="unknown key of a run's configuration 'atempts'; did you mean 'attempts'"
    ):
        api.regrading(folder, QUICK, settings, {"atempts": 1})


def test_names_of_runs_are_made_of_what_they_are(settings: Settings, predict: Predict) -> None:
    """Suite, who made the submissions, model and time, in signs that a folder's name can have."""
    given = predict({"task-0000": "pass"}).but(agent_name="my agent", model_name="provider/some model_7b.")
    first = api.NewRun(evaluation(given), QUICK, settings).work().folder.name
    assert re.fullmatch(r"toy-my-agent-provider-some-model-7b-\d{8}-\d{6}", first)
    long = given.but(agent_name="a" * 90)
    name = api.NewRun(evaluation(long), QUICK, settings).work().folder.name
    assert re.fullmatch(r"toy-a{76}-\d{8}-\d{6}", name)
