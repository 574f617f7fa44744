"""`store.checking`: what somebody edited, cut or deleted in a run's folder is named, and has no score."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundup.store.folder import RunFolder
from tests.store.folders import SHAPES, as_earlier, edit_line, write_lines, write_run

Edit = Callable[[Path], object]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each suite, as this version writes it, as an earlier one did, and of an agent."""
    folder = tmp_path_factory.mktemp("runs")
    for suite in SHAPES:
        write_run(folder / suite, suite)
        as_earlier(write_run(folder / f"earlier-{suite}", suite))
    write_run(folder / "agent", "nl2repobench", made_by_agent=True)
    as_earlier(write_run(folder / "earlier-agent", "nl2repobench", made_by_agent=True))
    return folder


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copy one of the runs, to be edited."""
    return lambda name: Path(shutil.copytree(runs / name, tmp_path / name))


def test_runs_fit_as_they_were_written(runs: Path) -> None:
    """Nothing is found in folders as this version and earlier ones wrote them; the latter say what they lack."""
    for path in runs.iterdir():
        found = RunFolder(path).records()
        assert found.faults == ()
        assert found.unchained == (4 if path.name.startswith("earlier") else 0)
        assert all(line.settles for line in found.lines.values())


def verdict(**changes: object) -> Callable[[dict[str, Any]], object]:
    """Change the verdict of a line."""
    return lambda line: line["verdict"].update(changes)


def score(numerator: float, denominator: float) -> Callable[[dict[str, Any]], object]:
    """Change the score of a line."""
    return verdict(score={"numerator": numerator, "denominator": denominator})


def line(number: int, change: Callable[[dict[str, Any]], object]) -> Edit:
    """Edit a line of the verdicts."""
    return lambda run: edit_line(run, number, change)


def lines(change: Callable[[list[dict[str, object]]], list[dict[str, object]]]) -> Edit:
    """Put other lines in the place of the verdicts'."""

    def edit(run: Path) -> None:
        found = [json.loads(one) for one in (run / "verdicts.jsonl").read_text().splitlines()]
        write_lines(run, change(found))

    return edit


def removed(name: str) -> Edit:
    """Remove a file or folder."""

    def edit(run: Path) -> None:
        path = run / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return edit


def text(name: str, change: Callable[[str], str]) -> Edit:
    """Edit a file."""

    def edit(run: Path) -> None:
        before = (run / name).read_text()
        after = change(before)
        assert after != before
        (run / name).write_text(after)

    return edit


def into_folder(name: str) -> Edit:
    """Put a folder in the place of a file."""

    def edit(run: Path) -> None:
        (run / name).unlink()
        (run / name).mkdir()

    return edit


def into_pipe(name: str) -> Edit:
    """Put a pipe in the place of a file, which nobody writes to."""

    def edit(run: Path) -> None:
        (run / name).unlink()
        os.mkfifo(run / name)

    return edit


def into_file(name: str) -> Edit:
    """Put a file in the place of a folder."""

    def edit(run: Path) -> None:
        shutil.rmtree(run / name)
        (run / name).write_text("")

    return edit


def cut(name: str, lines: int) -> Edit:
    """Leave the first lines of a file."""
    return text(name, lambda whole: "".join(whole.splitlines(keepends=True)[:lines]))


def halved(name: str) -> Edit:
    """Leave the first half of a file's characters."""
    return text(name, lambda whole: whole[: len(whole) // 2])


SQL = "attempts/sqlparse/0"
EVERY = {"six", "sqlparse", "toml"}
FOUND: dict[str, tuple[str, Edit, str, set[str]]] = {
    "a numerator of 999": (
        "nl2repobench",
        line(2, score(999, 461)),
        "verdicts.jsonl, line 2: its score is 999",
        {"sqlparse"},
    ),
    "the same, earlier": (
        "earlier-nl2repobench",
        line(2, score(999, 461)),
        "verdicts.jsonl, line 2: its score is 999",
        {"sqlparse"},
    ),
    "a numerator of -5": (
        "earlier-repogenesis",
        line(2, score(-5, 33)),
        "verdicts.jsonl, line 2: its score is -5",
        {"Multilingual"},
    ),
    "all points over 442": (
        "nl2repobench",
        line(2, score(461, 461)),
        "verdicts.jsonl, line 2: it was changed",
        {"sqlparse"},
    ),
    "the same, earlier: all": (
        "earlier-nl2repobench",
        line(2, score(461, 461)),
        f"{SQL}/tests.jsonl: 442 of its 461 tests passed, and the verdict counts 461 of 461",
        {"sqlparse"},
    ),
    "the denominator lowered": (
        "dibench",
        line(1, score(3, 3)),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one"},
    ),
    "points of a service": (
        "earlier-repogenesis",
        line(2, score(33, 33)),
        "attempts/Multilingual/0/tests.jsonl: 20 of its 33",
        {"Multilingual"},
    ),
    "no denominator": ("dibench", line(1, score(1, 0)), "verdicts.jsonl, line 1: its score is 1 of 0", {"a_one"}),
    "below nothing": (
        "earlier-dibench",
        line(1, score(-1, -4)),
        "verdicts.jsonl, line 1: its score is -1 of -4",
        {"a_one"},
    ),
    "a score that is no number": (
        "earlier-dibench",
        line(2, score(float("nan"), 5)),
        "verdicts.jsonl, line 2: its score is nan",
        {"b_two"},
    ),
    "a score without end": (
        "earlier-dibench",
        line(2, score(5, float("inf"))),
        "verdicts.jsonl, line 2: its score is 5 of inf",
        {"b_two"},
    ),
    "a further score": (
        "earlier-repogenesis",
        line(1, verdict(scores={"deployed": {"numerator": 2, "denominator": 1}})),
        "verdicts.jsonl, line 1: its deployed is 2 of 1",
        {"Chatroom"},
    ),
    "a time that is no number": (
        "earlier-dibench",
        line(1, verdict(timings_s={"tests": float("nan")})),
        "verdicts.jsonl, line 1: a number",
        {"a_one"},
    ),
    "a fact that is no number": (
        "earlier-dibench",
        line(1, verdict(facts={"rate": float("inf")})),
        "verdicts.jsonl, line 1: a number",
        {"a_one"},
    ),
    "a cost that is no number": (
        "earlier-agent",
        line(2, lambda it: it["effort"].update(cost_usd=float("nan"))),
        "verdicts.jsonl, line 2: a number",
        {"sqlparse"},
    ),
    "graded and no score": (
        "earlier-repogenesis",
        line(1, verdict(score=None)),
        "verdicts.jsonl, line 1: its status is graded",
        {"Chatroom"},
    ),
    "tampered and a score": (
        "earlier-repogenesis",
        line(1, verdict(status="tampered")),
        "verdicts.jsonl, line 1: its status is tampered",
        {"Chatroom"},
    ),
    "tampered, made graded": (
        "repogenesis",
        line(2, verdict(status="graded", reasons=[])),
        "verdicts.jsonl, line 2: it was changed",
        {"Multilingual"},
    ),
    "a zero called a failure": (
        "nl2repobench",
        line(1, verdict(status="infrastructure", score=None, scores={})),
        "verdicts.jsonl, line 1: it was changed",
        {"six"},
    ),
    "a zero called not attempted": (
        "earlier-nl2repobench",
        line(1, lambda it: it.update(verdict=None)),
        "verdicts.jsonl, line 1: its outcome is submitted",
        {"six"},
    ),
    "a zero left out": (
        "earlier-nl2repobench",
        line(1, lambda it: it.update(verdict=None, outcome="not_attempted")),
        "attempts/six/0/submission.json: something was handed in",
        {"six"},
    ),
    "an outcome without a verdict": (
        "earlier-dibench",
        line(1, lambda it: it.update(outcome="not_attempted")),
        "verdicts.jsonl, line 1: its outcome is not_attempted",
        {"a_one"},
    ),
    "another grader's verdict": (
        "earlier-dibench",
        line(1, lambda it: it["verdict"]["grader"].update(name="lax")),
        "verdicts.jsonl, line 1: its verdict is of the grader lax",
        {"a_one"},
    ),
    "points for nothing": (
        "earlier-dibench",
        line(1, lambda it: it.update(submission=None)),
        "verdicts.jsonl, line 1: it has points and no submission",
        {"a_one"},
    ),
    "times without a zone": (
        "earlier-dibench",
        line(1, lambda it: it.update(started_at="2026-01-01T00:00:00")),
        "verdicts.jsonl, line 1: its times",
        {"a_one"},
    ),
    "the submission of another task": (
        "earlier-nl2repobench",
        lines(lambda whole: [whole[0], {**whole[1], "submission": whole[0]["submission"]}, *whole[2:]]),
        f"{SQL}/submission.json: it names another submission",
        {"sqlparse"},
    ),
    "the same, by its chain": (
        "nl2repobench",
        lines(lambda whole: [whole[0], {**whole[1], "submission": whole[0]["submission"]}, *whole[2:]]),
        "verdicts.jsonl, line 2: it was changed",
        {"sqlparse"},
    ),
    "a verdict given to another task": (
        "repogenesis",
        line(1, lambda it: it["attempt"].update(task="eve")),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom"},
    ),
    "a task that was not planned": (
        "earlier-dibench",
        line(1, lambda it: it["attempt"].update(task="d_four")),
        "verdicts.jsonl, line 1: the run did not plan d_four/0",
        {"a_one"},
    ),
    "two verdicts": (
        "earlier-nl2repobench",
        lines(lambda whole: [*whole, {**whole[1], "verdict": whole[3]["verdict"]}]),
        "verdicts.jsonl, line 5: the attempt has a verdict in line 2",
        {"sqlparse"},
    ),
    "two verdicts, and a chain": (
        "nl2repobench",
        lines(lambda whole: [*whole, whole[1]]),
        "verdicts.jsonl, line 5: it was changed",
        {"sqlparse"},
    ),
    "a line of an earlier form": (
        "dibench",
        lines(
            lambda whole: [*whole[:3], {n: v for n, v in whole[3].items() if n not in ("chain", "tests_digest")}]
        ),
        "verdicts.jsonl, line 4: it has no digest",
        {"c_three"},
    ),
    "no digests any more": (
        "dibench",
        lines(
            lambda whole: [{n: v for n, v in one.items() if n not in ("chain", "tests_digest")} for one in whole]
        ),
        "verdicts.jsonl, line 4: the lines up to 4",
        {"a_one", "b_two", "c_three"},
    ),
    "a line removed": (
        "nl2repobench",
        lines(lambda whole: [whole[0], *whole[2:]]),
        "verdicts.jsonl, line 2: it was changed",
        {"sqlparse"},
    ),
    "lines in another order": (
        "repogenesis",
        lines(lambda whole: [whole[1], whole[0], *whole[2:]]),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom", "Multilingual"},
    ),
    "the last line removed": (
        "nl2repobench",
        cut("verdicts.jsonl", 3),
        "verdicts.jsonl: it had 4 lines",
        {"toml"},
    ),
    "the last line cut": (
        "nl2repobench",
        text("verdicts.jsonl", lambda whole: whole[:-30]),
        "verdicts.jsonl: it had 4 lines",
        {"toml"},
    ),
    "all lines removed": (
        "dibench",
        text("verdicts.jsonl", lambda whole: ""),
        "verdicts.jsonl: it had 4 lines",
        {"a_one", "b_two", "c_three"},
    ),
    "no verdicts": (
        "dibench",
        removed("verdicts.jsonl"),
        "verdicts.jsonl: it had 4 lines, says lock.json, and now it is gone",
        {"a_one", "b_two", "c_three"},
    ),
    "garbage for a line": (
        "nl2repobench",
        text("verdicts.jsonl", lambda whole: "garbage\n" + whole.partition("\n")[2]),
        "verdicts.jsonl, line 1: it is damaged",
        {"six"},
    ),
    "garbage between lines": (
        "earlier-repogenesis",
        text("verdicts.jsonl", lambda whole: whole.replace("\n", "\n[]\n", 1)),
        "verdicts.jsonl, line 2: it is damaged",
        set(),
    ),
    "no lock": ("nl2repobench", removed("lock.json"), "lock.json: it is missing", EVERY),
    "no lock, earlier": ("earlier-nl2repobench", removed("lock.json"), "lock.json: it is missing", EVERY),
    "a folder for the lock": ("nl2repobench", into_folder("lock.json"), "lock.json: it cannot be read", EVERY),
    "a cut lock": ("nl2repobench", halved("lock.json"), "lock.json: it cannot be read", EVERY),
    "another machine in the lock": (
        "nl2repobench",
        text("lock.json", lambda whole: whole.replace("Linux", "Hurd")),
        "verdicts.jsonl, line 1: it was changed",
        EVERY,
    ),
    "no starts in the lock": (
        "earlier-nl2repobench",
        text("lock.json", lambda whole: '{"format": 1}'),
        "verdicts.jsonl, line 1: lock.json has no start 0",
        EVERY,
    ),
    "another name of the run": (
        "dibench",
        text("config.json", lambda whole: whole.replace('"run_id": "dibench"', '"run_id": "better"')),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one", "b_two", "c_three"},
    ),
    "another grader in the configuration": (
        "dibench",
        text("config.json", lambda whole: whole.replace('"grader": "textual"', '"grader": "strict"')),
        "verdicts.jsonl, line 1: its verdict is of the grader textual",
        {"a_one", "b_two", "c_three"},
    ),
    "tests cut after five lines": (
        "nl2repobench",
        cut(f"{SQL}/tests.jsonl", 5),
        f"{SQL}/tests.jsonl: it was changed after",
        {"sqlparse"},
    ),
    "the same tests, earlier": (
        "earlier-nl2repobench",
        cut(f"{SQL}/tests.jsonl", 5),
        f"{SQL}/tests.jsonl: 5 of its 5 tests passed",
        {"sqlparse"},
    ),
    "tests cut in a line": (
        "earlier-nl2repobench",
        halved(f"{SQL}/tests.jsonl"),
        f"{SQL}/tests.jsonl: it is damaged: line 233 ends in its middle",
        {"sqlparse"},
    ),
    "a test that passed after all": (
        "repogenesis",
        text("attempts/eve/0/tests.jsonl", lambda whole: whole.replace('"failed"', '"passed"', 1)),
        "attempts/eve/0/tests.jsonl: it was changed",
        {"eve"},
    ),
    "a dependency that was there": (
        "dibench",
        text("attempts/a_one/0/tests.jsonl", lambda whole: whole.replace('"failed"', '"passed"')),
        "attempts/a_one/0/tests.jsonl: it was changed",
        {"a_one"},
    ),
    "garbage for tests": (
        "repogenesis",
        text("attempts/eve/0/tests.jsonl", lambda whole: "x\n"),
        "attempts/eve/0/tests.jsonl: it was changed after its verdict was written: line 1 is damaged",
        {"eve"},
    ),
    "no tests": (
        "earlier-repogenesis",
        removed("attempts/eve/0/tests.jsonl"),
        "attempts/eve/0/tests.jsonl: it is missing",
        {"eve"},
    ),
    "a folder for tests": (
        "dibench",
        into_folder("attempts/a_one/0/tests.jsonl"),
        "attempts/a_one/0/tests.jsonl: it cannot be read",
        {"a_one"},
    ),
    "a pipe for tests": (
        "dibench",
        into_pipe("attempts/a_one/0/tests.jsonl"),
        "attempts/a_one/0/tests.jsonl: it cannot be read",
        {"a_one"},
    ),
    "no submission": (
        "agent",
        removed(f"{SQL}/submission"),
        f"{SQL}/submission: what was handed in is missing",
        {"sqlparse"},
    ),
    "no record of it": (
        "earlier-agent",
        removed(f"{SQL}/submission.json"),
        f"{SQL}/submission.json: it is missing",
        {"sqlparse"},
    ),
    "half a record of it": (
        "agent",
        halved(f"{SQL}/submission.json"),
        f"{SQL}/submission.json: it is damaged",
        {"sqlparse"},
    ),
    "a folder for the record": (
        "agent",
        into_folder(f"{SQL}/submission.json"),
        f"{SQL}/submission.json: it cannot be read",
        {"sqlparse"},
    ),
    "an attempt deleted": ("nl2repobench", removed(SQL), f"{SQL}/submission.json: it is missing", {"sqlparse"}),
    "all attempts deleted": (
        "earlier-dibench",
        removed("attempts"),
        "attempts/a_one/0/submission.json: it is missing",
        {"a_one", "b_two", "c_three"},
    ),
    "a file for all attempts": (
        "dibench",
        into_file("attempts"),
        "attempts/a_one/0/submission.json: it cannot be read",
        {"a_one", "b_two", "c_three"},
    ),
    "a lower cost in the record": (
        "agent",
        text(f"{SQL}/submission.json", lambda whole: whole.replace("0.19", "0.0")),
        f"{SQL}/submission.json: turns, tokens or cost",
        {"sqlparse"},
    ),
    "a lower cost in the line": (
        "earlier-agent",
        line(2, lambda it: it["effort"].update(cost_usd=0.0)),
        f"{SQL}/submission.json: turns, tokens or cost",
        {"sqlparse"},
    ),
    "another outcome": (
        "earlier-agent",
        line(2, lambda it: it.update(outcome="limit")),
        f"{SQL}/submission.json: it says that making it ended as submitted",
        {"sqlparse"},
    ),
    "no whole verdict": (
        "earlier-nl2repobench",
        removed("attempts/six/0/verdict.json"),
        "attempts/six/0/verdict.json: it is missing",
        {"six"},
    ),
    "another whole verdict": (
        "earlier-nl2repobench",
        text("attempts/six/0/verdict.json", lambda whole: whole.replace('"numerator": 0.0', '"numerator": 90.0')),
        "attempts/six/0/verdict.json: its score is another",
        {"six"},
    ),
}
"""A run, what is done to it, the first fault as it is named, and the tasks that have no score for it."""


CONSEQUENCES = {"garbage for a line": {"sqlparse"}}
"""What follows a change of which nobody can tell the place has no score either."""


@pytest.mark.parametrize("case", FOUND)
def test_what_does_not_fit_is_named_and_has_no_score(copied: Callable[[str], Path], case: str) -> None:
    """By file and line, in one sentence; all other attempts keep their scores."""
    name, edit, said, lost = FOUND[case]
    run = copied(name)
    edit(run)
    found = RunFolder(run).records()
    assert str(found.faults[0]).startswith(said)
    assert "\n" not in str(found.faults[0])
    scored = {key.task for key, one in found.lines.items() if one.verdict and one.verdict.score}
    known = set(RunFolder(run).config().planned.tasks)
    assert lost <= known - scored
    assert not any(one.settles for key, one in found.lines.items() if key.task in lost)
    assert known - scored == lost | CONSEQUENCES.get(case, set())
