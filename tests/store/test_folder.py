"""`store.folder`: one process at a time, nothing half written, nothing overwritten."""

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.domain.verdicts import Score, Status, TestResult
from groundup.store.attempts import AttemptWriter
from groundup.store.folder import RunFolder, RunWriter, is_held
from groundup.store.ownership import write_made
from groundup.store.records import ConfigFile, Planned, References, RunConfiguration, Start
from tests.store.test_lines import line, verdict

KEY = AttemptKey(task="a")
START = Start(at=datetime(2030, 1, 1, tzinfo=UTC), pid=1, groundup="0")


def config(run_id: str = "one") -> ConfigFile:
    """Return the configuration of a run of two tasks."""
    configuration = RunConfiguration(suite="toy", submissions=References(which="nop"))
    planned = Planned(tasks=("a", "b"), attempts=1)
    return ConfigFile(
        run_id=run_id,
        created_at=datetime(2030, 1, 1, tzinfo=UTC),
        suite_name="toy",
        grader="strict",
        configuration=configuration,
        planned=planned,
        pinned={"task a": "1"},
        digest=ConfigFile.digest_for(configuration, planned, {"task a": "1"}),
    )


def test_a_run_is_written_and_read_back(tmp_path: Path) -> None:
    """Configuration, starts and verdicts are what they were, and nothing but the layout lies in the folder."""
    with RunWriter.create(tmp_path / "one", config()) as writer:
        assert writer.began(START) == 0
        writer.record(line(verdict()))
    with RunWriter.open(tmp_path / "one") as writer:
        assert writer.began(START) == 1
        writer.ended(1, START.at, {"uv": "1"})
        writer.record(line(verdict(facts={"again": True})).but(try_number=2))
    folder = RunFolder(tmp_path / "one")
    assert folder.config() == config()
    assert folder.lock().starts == (START, START.but(ended_at=START.at, tools={"uv": "1"}))
    assert folder.latest()[KEY].verdict == verdict(facts={"again": True})
    assert len(list(folder.lines())) == 2
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert names == {".lock", "attempts", "config.json", "lock.json", "verdicts.jsonl"}


def test_an_attempt_is_pending_until_a_line_settles_it() -> None:
    """So is one whose verdict blames the machine; a loss of the submission settles it."""
    key, other = AttemptKey(task="a"), AttemptKey(task="b")
    planned = Planned(tasks=("a", "b"), attempts=1)
    assert planned.pending({}) == (key, other)
    assert planned.pending({key: line(verdict())}) == (other,)
    assert planned.pending({key: line(verdict().but(status=Status.INFRASTRUCTURE))}) == (key, other)


def test_an_existing_run_is_not_begun_again(tmp_path: Path) -> None:
    """A second `run` with the same id is refused and points to resume."""
    RunWriter.create(tmp_path / "one", config()).close()
    with pytest.raises(UsageError, match="groundup resume"):
        RunWriter.create(tmp_path / "one", config())


def test_two_processes_cannot_work_on_one_run(tmp_path: Path) -> None:
    """The second names the first, whether it wants to begin or to resume."""
    with RunWriter.create(tmp_path / "one", config()):
        assert is_held(tmp_path / "one")
        for attempt in (RunWriter.open, lambda path: RunWriter.create(path, config())):
            with pytest.raises(UsageError, match=f"process {os.getpid()} is working on the run 'one'"):
                attempt(tmp_path / "one")
    assert not is_held(tmp_path / "one")


def test_a_begin_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    """A folder with a lock, a half-written configuration and nothing else is as good as none."""
    run = tmp_path / "one"
    run.mkdir()
    (run / ".lock").touch()
    (run / ".config.json.abc.partial").write_text('{"fo')
    with RunWriter.create(run, config()):
        assert not list(run.glob("*.partial"))
        assert RunFolder(run).config() == config()


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    """A run id that names somebody's folder or file destroys nothing."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "note").touch()
    (tmp_path / "file").touch()
    for name, message in (("notes", "other files"), ("file", "is a file")):
        with pytest.raises(UsageError, match=message):
            RunWriter.create(tmp_path / name, config())
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["note"]


def test_what_somebody_put_into_a_run_is_known(tmp_path: Path) -> None:
    """Not what runs, judges and reports write, what they had begun to write, and what groundup wrote there."""
    RunWriter.create(tmp_path / "one", config()).close()
    folder = RunFolder(tmp_path / "one")
    for name in ("report.json", "judgements.jsonl", ".x.partial", ".x.gone", ".y", "x.partial", "attempts2"):
        (folder.path / name).touch()
    write_made(folder.path / "report.html", b"ours")
    assert sorted(path.name for path in folder.others()) == [".y", "attempts2", "x.partial"]


def test_what_is_no_run_is_not_resumed(tmp_path: Path) -> None:
    """Opening a folder without a configuration says so and leaves no lock in it."""
    with pytest.raises(UsageError, match=r"no config\.json"):
        RunWriter.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["report.json", "nodes.json"])
def test_a_folder_in_the_place_of_a_file_is_named_before_work_begins(tmp_path: Path, name: str) -> None:
    """The run was graded, and ended as if the machine had failed."""
    RunWriter.create(tmp_path / "one", config()).close()
    (tmp_path / "one" / name).mkdir()
    with pytest.raises(UsageError, match=f"{name} is a folder where a file is written"):
        RunWriter.open(tmp_path / "one")
    assert not is_held(tmp_path / "one")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"nop"', '"oracle"'), "digest differs"),
        (lambda text: text[:100], "cannot be read"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "format"),
    ],
)
def test_a_changed_configuration_is_noticed(tmp_path: Path, change: object, message: str) -> None:
    """No one resumes a run under a configuration that was edited or damaged."""
    assert callable(change)
    RunWriter.create(tmp_path / "one", config()).close()
    path = tmp_path / "one" / "config.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(UsageError, match=message):
        RunWriter.open(tmp_path / "one")
    assert not is_held(tmp_path / "one")


def test_opening_sweeps_what_a_killed_process_left(tmp_path: Path) -> None:
    """Scratch folders, half-written files and half-taken submissions are gone; complete things stay."""
    run = tmp_path / "one"
    RunWriter.create(run, config()).close()
    attempt = run / "attempts" / "a" / "0"
    (attempt / "logs").mkdir(parents=True)
    (attempt / "logs" / "kept.log").touch()
    (attempt / ".incoming").mkdir()
    (run / "scratch" / "a.0").mkdir(parents=True)
    for torn in (run / ".report.json.1.partial", attempt / ".t.1.partial", attempt / "logs" / ".l.1.partial"):
        torn.touch()
    with RunWriter.open(run):
        left = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    assert left == {".lock", "config.json", "verdicts.jsonl", "attempts/a/0/logs/kept.log"}
    assert not (run / "scratch").exists()
    assert not (attempt / ".incoming").exists()


def test_a_submission_counts_only_when_it_is_whole(tmp_path: Path) -> None:
    """A failure on the way in leaves neither a folder nor a record."""
    attempt = AttemptWriter(RunFolder(tmp_path).attempt(KEY).path)

    def fail() -> None:
        with attempt.incoming() as folder:
            (folder / "half").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(attempt.path.iterdir()) == []
    with attempt.incoming() as folder:
        (folder / "whole").touch()
    assert attempt.record() is None
    record = Submission(digest="d", files=1, bytes=0, provenance=Provenance(source="nop"))
    attempt.write_record(record)
    assert attempt.record() == record
    assert [path.name for path in attempt.submission.iterdir()] == ["whole"]


def test_evidence_is_kept_by_try(tmp_path: Path) -> None:
    """Logs of a failed try stay beside those of the one that settled; hostile log names stay in the folder."""
    attempt = AttemptWriter(RunFolder(tmp_path).attempt(KEY).path)
    results = (TestResult(id="t\n1", outcome="passed", expected=True),)
    attempt.write_evidence((), {}, again=None)
    assert not attempt.logs.exists()  # where nothing was said
    attempt.write_evidence((), {"a.log": b"first"}, again=1)
    attempt.write_evidence(results, {"a.log": b"second", "../../x": b"", ".": b""}, again=None)
    assert attempt.tests() == results
    found = {str(path.relative_to(attempt.logs)) for path in attempt.logs.rglob("*") if path.is_file()}
    assert found == {"a.log", "try-1/a.log", "_.._x", "log"}


def test_a_giant_log_is_cut_in_its_middle(tmp_path: Path) -> None:
    """Head and tail of a log stay, and the gap is named."""
    attempt = AttemptWriter(RunFolder(tmp_path).attempt(KEY).path)
    attempt.write_evidence((), {"a.log": b"head" + b"x" * 20_000_000 + b"tail"}, again=None)
    text = (attempt.logs / "a.log").read_bytes()
    assert len(text) < 17_000_000
    assert text.startswith(b"head")
    assert text.endswith(b"tail")
    assert b"bytes left out" in text


def test_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    """A lock file that no one holds, as a killed process leaves it, stops no one."""
    with RunWriter.create(tmp_path / "one", config()):
        pass
    with (tmp_path / "one" / ".lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    RunWriter.open(tmp_path / "one").close()


def test_a_long_verdict_is_whole_in_its_line(tmp_path: Path) -> None:
    """A rubric of many named scores comes back with all of them."""
    long = verdict(
        facts={"long": "x" * 5000},
        scores={f"criterion {number}": Score(numerator=1, denominator=3) for number in range(200)},
    )
    with RunWriter.create(tmp_path / "one", config()) as writer:
        writer.record(line(long))
        assert writer.folder.records().lines[KEY].verdict == long
        assert not writer.folder.records().faults


def test_what_dying_guests_hold_stops_no_one(tmp_path: Path) -> None:
    """A scratch folder that cannot be removed yet is out of the way at once, and gone a later time."""
    run = tmp_path / "one"
    RunWriter.create(run, config()).close()
    (run / ".scratch.abc.gone" / "a.0").mkdir(parents=True)
    (run / "scratch" / "a.0").mkdir(parents=True)
    with RunWriter.open(run) as writer:
        assert list(writer.scratch(KEY).iterdir()) == []
    assert {path.name for path in run.iterdir()} == {".lock", "config.json", "verdicts.jsonl"}
