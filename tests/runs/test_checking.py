"""`runs.checking` and reports: what does not fit is listed, and is in no mean."""

import json
import shutil
from pathlib import Path

import pytest

from groundup.domain.errors import MachineError
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import counted
from groundup.runs import api
from groundup.runs.checking import RunCheck, check_run
from groundup.runs.progress import AttemptEnded, AttemptMade, Event, Warned
from groundup.runs.reporting import read_report
from groundup.settings import Settings
from groundup.store.checking import RecordFault
from groundup.store.folder import Hold, RunFolder
from groundup.store.records import Generated, RunConfiguration
from tests.runs.configurations import PROVIDER, QUICK, Recorder, evaluation, oracle
from tests.runs.test_api import Predict
from tests.runs.toy import BEHAVIOUR, create_newer, create_thousand
from tests.runs.toy_agent import AGENT
from tests.store.edits import FOUND
from tests.store.folders import as_earlier, edit_line, write_run
from tests.store.test_checking import runs  # noqa: F401 - a fixture


@pytest.mark.parametrize("case", FOUND)
def test_no_mean_holds_what_does_not_fit(runs: Path, tmp_path: Path, settings: Settings, case: str) -> None:  # noqa: F811
    """The report counts the other attempts alone and names the first fault, and `runs check` lists it, too."""
    name, edit, said, lost = FOUND[case]
    run = tmp_path / name
    shutil.copytree(runs / name, run)
    edit(run)
    report = read_report([run], settings).runs[0]
    counted = [row.counted for row in report.attempts if row.counted is not None]
    assert not [row for row in report.attempts if row.task in lost and row.counted is not None]
    assert report.headline.score.denominator == len(counted) < 3 or not lost
    assert report.headline.score.numerator == pytest.approx(sum(counted))
    assert report.faults
    assert said in report.warnings[0]
    found = check_run(RunFolder(run), settings)
    assert str(found.faults[0]).startswith(said)
    assert "not fit" in found.conclusion


def test_a_copy_is_named_by_its_folder(runs: Path, tmp_path: Path, settings: Settings) -> None:  # noqa: F811
    """Whoever checks a copy does not read the name of the run that it was copied from."""
    copy = Path(shutil.copytree(runs / "nl2repobench", tmp_path / "copy"))
    assert check_run(RunFolder(copy), settings).run == "copy"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "attempts/six/0/submission/module.py",
            "x = 1\n",
            "attempts/six/0/submission: it was changed after it was",
        ),
        ("attempts/six/0/trajectory.jsonl", "{}\n[]\n{}\n", "attempts/six/0/trajectory.jsonl: line 2 is damaged"),
        ("attempts/six/0/trajectory.jsonl", "{}\n{", "attempts/six/0/trajectory.jsonl: it ends in the middle"),
        ("judgements.jsonl", "[]\n", "judgements.jsonl: line 1 is damaged"),
        ("report.json", "{}", "report.json: it is no report"),
    ],
)
def test_a_thorough_check_reads_everything(
    tmp_path: Path, settings: Settings, file: str, text: str, said: str
) -> None:
    """Trees, trajectories, opinions and the report, which readers of verdicts leave alone."""
    run = write_run(tmp_path / "nl2repobench", "nl2repobench", made_by_agent=True)
    assert check_run(RunFolder(run), settings).faults == ()
    (run / file).write_text(text)
    found = check_run(RunFolder(run), settings)
    (fault,) = found.faults
    assert str(fault).startswith(said)
    assert "; 0 of 3 attempts have no score for it" in found.conclusion, "reports score them all"


def test_earlier_runs_say_that_they_have_no_chain(tmp_path: Path, settings: Settings) -> None:
    """In reports and by `runs check`, and nothing else is wrong with them."""
    run = write_run(tmp_path / "one", "nl2repobench")
    assert read_report([run], settings).runs[0].warnings == ()
    as_earlier(run)
    report = read_report([run], settings).runs[0]
    assert report.faults == 0
    assert "an earlier version wrote its verdicts" in report.warnings[0]
    assert "4 of its verdicts are of an earlier version" in check_run(RunFolder(run), settings).notes[0]


def test_an_earlier_run_goes_on_with_a_chain(settings: Settings, predict: Predict) -> None:
    """What is added has digests, from then on a change of the earlier lines shows, too."""
    mark = settings.cache_dir.parent / "mark"
    configuration = evaluation(predict({"task-0000": f"once {mark}", "task-0001": "half"}))
    folder = api.NewRun(configuration, QUICK.but(retries=0), settings, run_id="one").work().folder
    as_earlier(folder)
    assert api.Resumption(folder, QUICK, settings).work().exit_code == 0
    found = RunFolder(folder).records()
    assert (found.faults, found.unchained) == ((), 2)
    assert all(line.settles for line in found.lines.values())
    text = (folder / "verdicts.jsonl").read_text()
    (folder / "verdicts.jsonl").write_text(text.replace('"numerator":1.0', '"numerator":2.0', 1))
    assert RunFolder(folder).records().faults


def test_a_resume_pays_for_nothing_again(tmp_path: Path, settings: Settings, predict: Predict) -> None:
    """Where a verdict was edited, what was handed in is graded again; predictions that are gone are taken in."""
    folder = (
        api.NewRun(evaluation(predict({"task-0000": "half", "task-0001": "half"})), QUICK, settings).work().folder
    )
    shutil.rmtree(folder / "attempts" / "task-0000")
    edit_line(folder, 2, lambda line: line["verdict"].update(score={"numerator": 2, "denominator": 2}))
    recorder = Recorder()
    assert api.Resumption(folder, QUICK, settings).work(recorder).exit_code == 0
    records = RunFolder(folder).records()
    assert records.faults == ()
    assert [counted(line.verdict) for line in records.lines.values()] == [0.5, 0.5]
    assert any("do not fit" in event.message for event in recorder.events if isinstance(event, Warned))


def test_a_run_ends_where_its_folder_is_removed(settings: Settings) -> None:
    """One sentence that says so; nothing but what was under way comes back, and no verdict is believed lost."""
    folder = settings.output / "one"

    def remove(event: Event) -> None:
        if isinstance(event, AttemptEnded) and folder.exists():
            shutil.rmtree(folder)

    with pytest.raises(MachineError, match="was removed or moved while this process worked on it"):
        api.NewRun(oracle("tests.runs.toy:create"), QUICK.but(jobs=1), settings, run_id="one").work(remove)
    assert not (folder / "config.json").exists()


def test_a_lock_that_is_removed_while_a_process_works_comes_back(settings: Settings) -> None:
    """The process knows what it wrote."""
    folder = settings.output / "one"

    def remove(event: Event) -> None:
        if isinstance(event, AttemptEnded):
            (folder / "lock.json").unlink(missing_ok=True)

    api.NewRun(oracle(), QUICK, settings, run_id="one").work(remove)
    assert RunFolder(folder).records().faults == ()
    assert len(RunFolder(folder).lock().starts) == 1


def test_what_an_agent_made_and_is_gone_is_not_paid_for_again(settings: Settings) -> None:
    """A resume names it, grades the others again, and leaves it without a score."""
    configuration = RunConfiguration(
        suite="tests.runs.toy:create_written", submissions=Generated(agent=AGENT), sandbox=PROVIDER
    )
    folder = api.NewRun(configuration, QUICK, settings, run_id="one").work().folder
    shutil.rmtree(folder / "attempts" / "task-0000" / "0" / "submission")
    edit_line(folder, 2, lambda line: line["verdict"]["score"].update(numerator=7))
    recorder = Recorder()
    assert api.Resumption(folder, QUICK, settings).work(recorder).exit_code == 3
    assert not [event for event in recorder.events if isinstance(event, AttemptMade)]
    records = RunFolder(folder).records()
    scored = {key.task for key, line in records.lines.items() if line.verdict and line.verdict.score}
    assert len(scored) == len(records.lines) - 1
    assert "task-0000" not in scored
    said = " ".join(event.message for event in recorder.events if isinstance(event, Warned))
    assert "1 attempt whose submissions are gone" in said


def test_a_trajectory_proves_what_an_attempt_cost(settings: Settings, tmp_path: Path) -> None:
    """A cost that was lowered in line and record of an earlier version's run is less than what replies cost."""
    script = tmp_path / "script.json"
    content = f"```path={BEHAVIOUR}\nhalf\n```\n"
    script.write_text(json.dumps({"turn": [{"content": content, "output_tokens": 1000}], "then": "repeat"}))
    made_by = Generated(agent="oneshot", model=f"scripted/{script}")
    configuration = RunConfiguration(
        suite="tests.runs.toy:create_written", submissions=made_by, sandbox=PROVIDER, tasks=("task-0000",)
    )
    folder = api.NewRun(configuration, QUICK.but(price="0:100"), settings, run_id="one").work().folder
    assert check_run(RunFolder(folder), settings).faults == ()
    as_earlier(folder)
    record = folder / "attempts" / "task-0000" / "0" / "submission.json"
    told = json.loads(record.read_text())
    told["effort"]["cost_usd"] = 0.0
    record.write_text(json.dumps(told))
    edit_line(folder, 1, lambda line: line["effort"].update(cost_usd=0.0))
    (fault,) = check_run(RunFolder(folder), settings).faults
    assert fault.why == "its replies cost $0.1000, and the record of the submission says $0.0000"


def test_a_check_is_a_document(tmp_path: Path, settings: Settings) -> None:
    """Programs get file, line, attempt and reason."""
    run = write_run(tmp_path / "one", "repogenesis")
    edit_line(run, 1, lambda line: line["verdict"]["score"].update(numerator=99))
    (fault,) = json.loads(check_run(RunFolder(run), settings).model_dump_json())["faults"]
    assert fault == {
        "file": "verdicts.jsonl",
        "line": 1,
        "attempt": {"task": "Chatroom", "index": 0},
        "why": "its score is 99 of 9, which is no share",
    }


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (0, "everything fits; verdicts: 4"),
        (
            1,
            "1 thing does not fit; 3 of 4 attempts have no score for it. Restore the files, or `groundup resume` "
            "the run, which grades again what was handed in",
        ),
        (
            2,
            "2 things do not fit; 3 of 4 attempts have no score for it. Restore the files, or `groundup resume` "
            "the run, which grades again what was handed in",
        ),
    ],
)
def test_a_check_ends_in_a_sentence(faults: int, said: str) -> None:
    """As many as there are."""
    found = (RecordFault(file="report.json", why="it is gone"),) * faults
    assert RunCheck(run="one", attempts=4, unscored=3, faults=found, notes=()).conclusion == said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("===== 19 failed, 442 passed in 1.23s =====\n", None),
        ("443 passed, 1 warning in 61.50s (0:01:01)\n", None),
        ("== 400 passed in 0.10s ==\nmore\n== 2 failed, 42 passed, 3 skipped in 0.20s ==\n", None),
        ("441 passed in 1.0s\n", "441 tests passed by it, and 442 by tests.json"),
        ("== 461 failed in 1.0s ==\n", "0 tests passed by it, and 442 by tests.json"),
        ("no end of any kind, 3 passed\n", None),
    ],
)
def test_a_log_has_as_many_passed_tests_as_the_list(
    tmp_path: Path, settings: Settings, text: str, why: str | None
) -> None:
    """More are no fault, for some are not counted; a log without an end says nothing."""
    run = RunFolder(write_run(tmp_path / "one", "nl2repobench"))
    attempt = run.attempt(AttemptKey(task="sqlparse"))
    attempt.logs.mkdir(parents=True, exist_ok=True)
    for name in ("stdout.txt", "tests.txt", "other.txt"):
        (attempt.logs / name).write_text(text)
        faults = check_run(run, settings).faults
        expected = why and name != "other.txt" and why.replace("tests.json", attempt.tests_file.name)
        assert [fault.why for fault in faults] == ([expected] if expected else [])
        assert {fault.file for fault in faults} <= {f"attempts/sqlparse/0/logs/{name}"}
        assert {fault.attempt for fault in faults} <= {AttemptKey(task="sqlparse")}
        (attempt.logs / name).unlink()


def test_what_is_no_fault_is_noted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tasks here, a suite that is gone, and a process that works on it."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    found = check_run(RunFolder(folder), settings)
    assert (found.run, found.attempts, found.unscored, found.faults, found.notes) == ("one", 2, 0, (), ())
    hold = Hold(folder)
    assert check_run(RunFolder(folder), settings).notes == (
        "a process works on it: what it writes just now may not fit yet",
    )
    hold.close()
    monkeypatch.setattr("tests.runs.toy.create_two", create_newer)
    (note,) = check_run(RunFolder(folder), settings).notes
    assert note == "2 of its tasks have other content here, such as task-0000: a resume is refused"
    monkeypatch.setattr("tests.runs.toy.create_two", create_thousand)
    assert check_run(RunFolder(folder), settings).notes == ()
    monkeypatch.delattr("tests.runs.toy.create_two")
    (note,) = check_run(RunFolder(folder), settings).notes
    assert note.startswith("its tasks were not compared with those here: ")


@pytest.mark.parametrize(
    ("told_usd", "fits"), [(0.1, True), (0.2, True), (0.0991, True), (0.098, False), (None, True)]
)
def test_a_record_may_say_a_hundredth_less_than_replies(
    tmp_path: Path, settings: Settings, told_usd: float | None, fits: bool
) -> None:
    """Of what they cost; more may have been paid."""
    run = RunFolder(write_run(tmp_path / "one", "nl2repobench", made_by_agent=True))
    attempt = run.attempt(AttemptKey(task="six"))
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"role": "assistant", "content": "x"}
    reply = {"kind": "reply", "turn": 1, "message": message, "finish": "stop", "usage": usage, "cost_usd": 0.1}
    attempt.trajectory_file.write_text(json.dumps(reply) + "\n")
    record = attempt.record()
    assert record is not None
    assert record.effort is not None
    as_earlier(run.path)
    changed = record.but(effort=record.effort.but(cost_usd=told_usd))
    attempt.submission_file.write_text(changed.model_dump_json())
    edit_line(run.path, 1, lambda line: line["effort"].update(cost_usd=told_usd))
    said = [fault.why for fault in check_run(run, settings).faults]
    assert said == ([] if fits else ["its replies cost $0.1000, and the record of the submission says $0.0980"])
    if fits:
        attempt.trajectory_file.write_text("")
        assert check_run(run, settings).faults == ()
        attempt.trajectory_file.unlink()
        (fault,) = check_run(run, settings).faults
        assert (fault.file, fault.why) == (
            "attempts/six/0/trajectory.jsonl",
            "it is missing: what the agent did is not known",
        )
