"""Forged bundles: what is free to check is checked of all of a bundle, however small the sample."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.errors import UsageError
from groundup.runs import api
from groundup.settings import Settings
from groundup.store.records import Predictions
from groundup_board.leaderboard import build, pack
from groundup_board.verification import BoardRules, verify
from groundup_board.verified import record
from tests.runs.configurations import BUILDER, PROVIDER, QUICK, TWO, evaluation
from tests.runs.forging import Files, consistent, files_of, write
from tests.runs.toy import BEHAVIOUR

RULES = BoardRules(suite=TWO)
Forge = Callable[[Files], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Path, Path]:
    """Settings, an honest bundle, and the folder with a record that it holds."""
    folder = tmp_path_factory.mktemp("board")
    settings = Settings(cache_dir=folder / "cache", output=folder / "runs", sandbox=PROVIDER, builder=BUILDER)
    for task, behaviour in (("task-0000", "half"), ("task-0001", "pass")):
        (folder / "predictions" / task).mkdir(parents=True)
        (folder / "predictions" / task / BEHAVIOUR).write_text(behaviour)
    submissions = Predictions(path=str(folder / "predictions"))
    api.NewRun(evaluation(submissions), QUICK.but(jobs=1), settings, run_id="mine").work()
    pack("mine", folder / "mine.tar.gz", settings=settings)
    found = verify(folder / "mine.tar.gz", seed=0, rules=RULES, settings=settings)
    assert (found.holds, found.sandbox) == (True, PROVIDER)
    record(folder / "mine.tar.gz", found, folder / "verified")
    return settings, folder / "mine.tar.gz", folder / "verified"


def documents(files: Files, name: str) -> list[dict[str, Any]]:
    """Return the lines, or the one document, of a file."""
    text = files[name].decode()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("jsonl") else [json.loads(text)]


def edited(name: str, change: Callable[[dict[str, Any]], object], number: int = 0) -> Forge:
    """Edit a document of a file, all digests with it."""

    def forge(files: Files) -> None:
        found = documents(files, name)
        change(found[number])
        files[name] = "".join(f"{json.dumps(one)}\n" for one in found).encode()

    return forge


def line(change: Callable[[dict[str, Any]], object], number: int = 0) -> Forge:
    """Edit a line of the verdicts."""
    return edited("run/verdicts.jsonl", change, number)


def numbers(numerator: float, denominator: float) -> Callable[[dict[str, Any]], object]:
    """Change the score of a line."""
    return lambda it: it["verdict"].update(score={"numerator": numerator, "denominator": denominator})


def added(name: str, content: bytes = b"x") -> Forge:
    """Put a file in."""
    return lambda files: files.update({name: content})


def without(name: str) -> Forge:
    """Take a file out."""
    return lambda files: files.pop(name)


def first_submission(files: Files) -> str:
    """Return the name of the folder of the submission that the first line is about."""
    return f"submissions/{documents(files, 'run/verdicts.jsonl')[0]['submission'].replace(':', '-')}"


def a_file_more(files: Files) -> None:
    """Change a submission, and nothing else."""
    files[f"{first_submission(files)}/more.py"] = b""


def swapped(files: Files) -> None:
    """Let each task have the submission of the other."""
    found = documents(files, "run/verdicts.jsonl")
    found[0]["submission"], found[1]["submission"] = found[1]["submission"], found[0]["submission"]
    files["run/verdicts.jsonl"] = "".join(f"{json.dumps(one)}\n" for one in found).encode()


def taken_from_the_other(files: Files) -> None:
    """Let the first task have the submission of the second, which passes."""
    found = documents(files, "run/verdicts.jsonl")
    found[0].update(submission=found[1]["submission"])
    numbers(2, 2)(found[0])
    files["run/verdicts.jsonl"] = "".join(f"{json.dumps(one)}\n" for one in found).encode()
    for name in [name for name in files if name.startswith(f"{first_submission(files)}x")]:
        files.pop(name)


RECORD = "run/attempts/task-0000/0/submission.json"
AGENT = {"turns": 3, "cost_usd": 0.19, "seconds": 2.0}
FREE: dict[str, tuple[Forge, str]] = {
    "a record of another submission": (
        edited(RECORD, lambda it: it.update(digest="sha256:" + "0" * 64)),
        "another submission",
    ),
    "a record of more files": (edited(RECORD, lambda it: it.update(files=7)), "another submission"),
    "a record of more bytes": (edited(RECORD, lambda it: it.update(bytes=7)), "another submission"),
    "a record with another outcome": (edited(RECORD, lambda it: it.update(outcome="limit")), "another outcome"),
    "a record that cost nothing": (line(lambda it: it.update(effort=AGENT)), "another outcome, cost"),
    "a line that cost nothing": (edited(RECORD, lambda it: it.update(effort=AGENT)), "another outcome, cost"),
    "a damaged record": (added(RECORD, b"{"), "submission.json is damaged"),
    "no record": (without(RECORD), "is about another submission"),
    "submissions in each other's place": (swapped, "is about another submission"),
    "the submission of another task": (taken_from_the_other, "is about another submission"),
    "a report": (added("run/report.json"), "never writes: report.json"),
    "test results": (
        added("run/attempts/task-0000/0/tests.jsonl"),
        "never writes: attempts/task-0000/0/tests.jsonl",
    ),
    "a log": (added("run/attempts/task-0000/0/logs/a.log"), "never writes: attempts/task-0000/0/logs/a.log"),
    "a trajectory": (added("run/attempts/task-0000/0/trajectory.jsonl"), "never writes"),
    "opinions": (added("run/judgements.jsonl"), "never writes: judgements.jsonl"),
    "a lock of a process": (added("run/.lock"), "never writes: .lock"),
    "an attempt more": (added("run/attempts/task-0000/1/submission.json"), "never writes: attempts/task-0000/1"),
    "a file beside the run": (added("README.md"), "never writes: README.md"),
    "a program beside the run": (added("bin/sh"), "never writes: bin"),
    "a file among submissions": (added("submissions/notes"), "submission"),
    "500 percent": (line(numbers(10, 2)), "verdicts.jsonl, line 1: its score is 10 of 2"),
    "below nothing": (line(numbers(-1, 2)), "its score is -1 of 2"),
    "no number": (line(numbers(float("nan"), 2)), "its score is nan of 2"),
    "fewer points to get": (line(numbers(1, 1)), "there are 2"),
    "nothing to get": (line(numbers(0, 0)), "there are 2"),
    "a further score": (
        line(lambda it: it["verdict"].update(scores={"more": {"numerator": 3, "denominator": 2}})),
        "its more is 3 of 2",
    ),
    "graded without a score": (line(lambda it: it["verdict"].update(score=None)), "its status is graded"),
    "tampered with a score": (line(lambda it: it["verdict"].update(status="tampered")), "its status is tampered"),
    "points for nothing": (line(lambda it: it.update(submission=None)), "points and no submission"),
    "not attempted": (line(lambda it: it.update(verdict=None)), "its outcome is submitted"),
    "another grader": (line(lambda it: it["verdict"]["grader"].update(name="lax")), "of the grader lax"),
    "another version of the grader": (
        line(lambda it: it["verdict"]["grader"].update(version="7")),
        "verdicts are of",
    ),
    "a start that is not there": (line(lambda it: it.update(start=9)), "has no start 9"),
    "a task that was not planned": (line(lambda it: it["attempt"].update(task="task-0007")), "did not plan"),
    "a line twice": (
        lambda files: files.update({"run/verdicts.jsonl": files["run/verdicts.jsonl"] * 2}),
        "already",
    ),
    "a verdict left out": (
        lambda files: files.update(
            {"run/verdicts.jsonl": files["run/verdicts.jsonl"].splitlines(keepends=True)[1]}
        ),
        "no verdict on task-0000/0",
    ),
    "a damaged line": (
        lambda files: files.update({"run/verdicts.jsonl": files["run/verdicts.jsonl"] + b"[]\n"}),
        "line 3: it is damaged",
    ),
    "other content of a task": (
        edited("run/config.json", lambda it: it["pinned"].update({"task task-0000": "0"})),
        "other content",
    ),
    "another suite": (
        edited("run/config.json", lambda it: it["pinned"].update(suite="toy 2")),
        "made with the suite toy 2",
    ),
    "a part of the tasks": (
        edited("run/config.json", lambda it: it.update(planned={"tasks": ["task-0001"], "attempts": 1})),
        "no fixed set",
    ),
    "no lock": (without("run/lock.json"), "lacks lock.json"),
    "a changed submission": (a_file_more, "has another digest"),
}
"""How a bundle is forged by somebody who lets all digests fit, and why it is refused."""


@pytest.mark.parametrize("forgery", FREE)
def test_a_forged_bundle_is_refused_without_any_grading(
    made: tuple[Settings, Path, Path], tmp_path: Path, forgery: str
) -> None:
    """By `verify` with a sample of one as by `build`; both name the bundle, and no place on this machine."""
    settings, honest, verified = made
    forge, why = FREE[forgery]
    files = files_of(honest)
    forge(files)
    forged = write(
        consistent(files, seal="[]" not in files["run/verdicts.jsonl"].decode()), tmp_path / "mine.tar.gz"
    )
    try:
        found = verify(forged, sample=1, seed=0, rules=RULES, settings=settings)
        assert (found.holds, found.attempts) == (False, 0)
        said = found.conclusion
    except UsageError as error:
        said = str(error)
        assert said.startswith(str(forged))
    assert why in said
    built = build(tmp_path, site=tmp_path / "site", verified=verified, rules=RULES, settings=settings)
    assert built.runs == ()
    refused = " ".join(built.refused["mine.tar.gz"])
    assert why in refused
    for words in (said.removeprefix(str(forged)), refused):
        assert "groundup-bundle" not in words
        assert "resume" not in words


def test_a_bundle_has_its_ending(made: tuple[Settings, Path, Path], tmp_path: Path) -> None:
    """By which `build` finds it; nothing is written by another name."""
    with pytest.raises(UsageError, match=r"a bundle's name ends in \.tar\.gz"):
        pack("mine", tmp_path / "mine.zip", settings=made[0])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["run/config.json", "run/lock.json", "run/verdicts.jsonl", RECORD])
def test_a_careless_edit_is_found_by_its_digest(
    made: tuple[Settings, Path, Path], tmp_path: Path, name: str
) -> None:
    """Where the manifest was not changed with it."""
    settings, honest, _ = made
    files = files_of(honest)
    files[name] += b" "
    with pytest.raises(UsageError, match=r"mine\.tar\.gz: .*has another digest than its manifest says"):
        verify(write(files, tmp_path / "mine.tar.gz"), rules=RULES, settings=settings)


def test_verdicts_that_were_edited_without_their_chain_are_refused(
    made: tuple[Settings, Path, Path], tmp_path: Path
) -> None:
    """Scores that could be true, in lines whose digests are others."""
    settings, honest, _ = made
    files = files_of(honest)
    line(numbers(2, 2))(files)
    forged = write(consistent(files, seal=False), tmp_path / "mine.tar.gz")
    found = verify(forged, sample=1, rules=RULES, settings=settings)
    assert "verdicts.jsonl, line 1: it was changed after it was written" in found.conclusion
