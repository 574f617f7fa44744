"""What somebody may do to a run's folder, and what is said of it then."""

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundup.store.records import ConfigFile
from tests.store.folders import edit_line, write_lines

Edit = Callable[[Path], object]


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


def config(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Edit the configuration, and compute its digest anew as somebody who deceives would."""

    def edit(run: Path) -> None:
        found = json.loads((run / "config.json").read_text())
        change(found)
        whole = ConfigFile.model_validate(found)
        found["digest"] = ConfigFile.digest_for(whole.configuration, whole.planned, whole.pinned, whole.left_out)
        (run / "config.json").write_text(json.dumps(found, indent=1))

    return edit


def lock(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Edit what is written of the starts."""

    def edit(run: Path) -> None:
        found = json.loads((run / "lock.json").read_text())
        change(found)
        (run / "lock.json").write_text(json.dumps(found, indent=1))

    return edit


def raw(name: str, change: Callable[[bytes], bytes]) -> Edit:
    """Edit the bytes of a file."""

    def edit(run: Path) -> None:
        before = (run / name).read_bytes()
        after = change(before)
        assert after != before
        (run / name).write_bytes(after)

    return edit


def both(*edits: Edit) -> Edit:
    """Make several edits, one after the other."""

    def edit(run: Path) -> None:
        for one in edits:
            one(run)

    return edit


def link(name: str, target: str) -> Edit:
    """Put a link in the place of a file or folder."""

    def edit(run: Path) -> None:
        removed(name)(run)
        (run / name).symlink_to(target)

    return edit


def copied_over(name: str, other: str) -> Edit:
    """Put a copy of a file in the place of another."""
    return lambda run: shutil.copy(run / name, run / other)


def called_mended(run: Path) -> None:
    """Let `lock.json` say that a start knew of all lines as they are now."""
    lines = (run / "verdicts.jsonl").read_bytes().splitlines()
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    lock(lambda it: it.update(mended={"lines": len(lines), "chain": digest}))(run)


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
        f"{SQL}/tests.jsonl: it is damaged: line 23",
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
    "the model renamed": (
        "agent",
        config(lambda d: d["configuration"]["submissions"].update(model="better/model")),
        "verdicts.jsonl, line 1: it was changed",
        EVERY,
    ),
    "the agent renamed": (
        "agent",
        config(lambda d: d["configuration"]["submissions"].update(agent="super")),
        "verdicts.jsonl, line 1: it was changed",
        EVERY,
    ),
    "predictions from elsewhere": (
        "repogenesis",
        config(lambda d: d["configuration"]["submissions"].update(path="/other")),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom", "Multilingual", "eve"},
    ),
    "the suite renamed": (
        "repogenesis",
        config(lambda d: d.update(suite_name="repogenesis@hard")),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom", "Multilingual", "eve"},
    ),
    "a plan without the worst task": (
        "nl2repobench",
        config(lambda d: d["planned"].update(tasks=["sqlparse", "toml"])),
        "verdicts.jsonl, line 1: the run did not plan six/0",
        {"sqlparse", "toml"},
    ),
    "a plan of two attempts": (
        "dibench",
        config(lambda d: d["planned"].update(attempts=2)),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one", "b_two", "c_three"},
    ),
    "begun earlier": (
        "dibench",
        config(lambda d: d.update(created_at="2025-01-01T00:00:00Z")),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one", "b_two", "c_three"},
    ),
    "begun later": (
        "earlier-dibench",
        config(lambda d: d.update(created_at="2026-06-01T00:00:00Z")),
        "verdicts.jsonl, line 1: it began at 2026-01-01 00:00 UTC, before the run did",
        {"a_one", "b_two", "c_three"},
    ),
    "another version of the suite": (
        "repogenesis",
        config(lambda d: d["pinned"].update(suite="repogenesis 2")),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom", "Multilingual", "eve"},
    ),
    "another text of a task": (
        "nl2repobench",
        config(lambda d: d["pinned"].update({"task six": "sha256:" + "6" * 64})),
        "verdicts.jsonl, line 1: it was changed",
        EVERY,
    ),
    "no sandbox": (
        "nl2repobench",
        config(lambda d: d["pinned"].pop("sandbox")),
        "verdicts.jsonl, line 1: it was changed",
        EVERY,
    ),
    "a task left out": (
        "dibench",
        config(lambda d: d.update(left_out=["d_four"])),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one", "b_two", "c_three"},
    ),
    "lines in UTF-16": (
        "nl2repobench",
        raw("verdicts.jsonl", lambda b: b.decode().encode("utf-16")),
        "verdicts.jsonl, line 1: it is damaged (the line: is not valid JSON)",
        EVERY,
    ),
    "lines packed": (
        "nl2repobench",
        raw("verdicts.jsonl", gzip.compress),
        "verdicts.jsonl, line 1: it is damaged (the line: is not valid JSON)",
        EVERY,
    ),
    "other ends of lines": (
        "nl2repobench",
        raw("verdicts.jsonl", lambda b: b.replace(b"\n", b"\r\n")),
        "verdicts.jsonl, line 1: it was changed",
        EVERY,
    ),
    "a byte order mark": (
        "nl2repobench",
        raw("verdicts.jsonl", lambda b: b"\xef\xbb\xbf" + b),
        "verdicts.jsonl, line 1: it is damaged (the line: is not valid JSON)",
        {"six"},
    ),
    "NULs in a line": (
        "nl2repobench",
        raw("verdicts.jsonl", lambda b: b.replace(b'"numerator":442', b'"numerator":\0\0\0')),
        "verdicts.jsonl, line 2: it is damaged (the line: is not valid JSON)",
        {"sqlparse"},
    ),
    "an empty line": (
        "dibench",
        raw("verdicts.jsonl", lambda b: b.replace(b"\n", b"\n\n", 1)),
        "verdicts.jsonl, line 2: it is damaged (the line: is not valid JSON)",
        set(),
    ),
    "spaces in a line": (
        "dibench",
        raw("verdicts.jsonl", lambda b: b.replace(b'"numerator":', b'"numerator": ', 1)),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one"},
    ),
    "all lines twice": (
        "dibench",
        raw("verdicts.jsonl", lambda b: b + b),
        "verdicts.jsonl, line 5: it was changed",
        {"a_one", "b_two"},
    ),
    "a shorter time": (
        "nl2repobench",
        line(2, verdict(timings_s={"tests": 0.1})),
        "verdicts.jsonl, line 2: it was changed",
        {"sqlparse"},
    ),
    "no reasons": (
        "repogenesis",
        line(2, verdict(reasons=[])),
        "verdicts.jsonl, line 2: it was changed",
        {"Multilingual"},
    ),
    "an end long before the beginning": (
        "earlier-dibench",
        line(1, lambda it: it.update(finished_at="2019-01-01T00:00:00Z")),
        "verdicts.jsonl, line 1: it ended at 2019-01-01 00:00 UTC, before it began",
        {"a_one"},
    ),
    "dates of 2019": (
        "earlier-dibench",
        line(1, lambda it: it.update(started_at="2019-01-01T00:00:00Z", finished_at="2019-01-01T00:00:03Z")),
        "verdicts.jsonl, line 1: it began at 2019-01-01 00:00 UTC, before the run did",
        {"a_one"},
    ),
    "another try": (
        "repogenesis",
        line(1, lambda it: it.update(try_number=2)),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom"},
    ),
    "called cached": (
        "repogenesis",
        line(1, lambda it: it.update(cached=True)),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom"},
    ),
    "an unknown key": (
        "earlier-repogenesis",
        line(1, lambda it: it.update(bonus=1)),
        "verdicts.jsonl, line 1: it is damaged (bonus: nothing is known by this name)",
        {"Chatroom"},
    ),
    "another version of the grader": (
        "dibench",
        line(1, lambda it: it["verdict"]["grader"].update(version="2")),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one"},
    ),
    "a fact added": (
        "repogenesis",
        line(1, lambda it: it["verdict"]["facts"].update(honest=True)),
        "verdicts.jsonl, line 1: it was changed",
        {"Chatroom"},
    ),
    "a score beyond floats": (
        "earlier-nl2repobench",
        line(2, score(1e308, 1e-300)),
        "verdicts.jsonl, line 2: its score is 1e+308 of 1e-300, which is no share",
        {"sqlparse"},
    ),
    "a start that was not": (
        "earlier-nl2repobench",
        line(2, lambda it: it.update(start=7)),
        "verdicts.jsonl, line 2: lock.json has no start 7, which made it",
        {"sqlparse"},
    ),
    "a start before the first": (
        "nl2repobench",
        line(2, lambda it: it.update(start=-1)),
        "verdicts.jsonl, line 2: it is damaged (start: must be at least 0)",
        {"sqlparse"},
    ),
    "deployed after all": (
        "repogenesis",
        line(
            3,
            verdict(
                scores={"deployed": {"numerator": 1, "denominator": 1}, "more": {"numerator": 1, "denominator": 1}}
            ),
        ),
        "verdicts.jsonl, line 3: it was changed",
        set(),
    ),
    "no journal": (
        "nl2repobench",
        lock(lambda d: d.pop("journal")),
        "lock.json: it does not say how many lines verdicts.jsonl has: the last ones may be missing",
        set(),
    ),
    "no journal, and a line less": (
        "nl2repobench",
        both(lock(lambda d: d.pop("journal")), cut("verdicts.jsonl", 3)),
        "lock.json: it does not say how many lines verdicts.jsonl has: the last ones may be missing",
        {"toml"},
    ),
    "a journal of three lines": (
        "nl2repobench",
        lock(lambda d: d["journal"].update(lines=3)),
        "verdicts.jsonl, line 3: the lines up to 3 are not those of which lock.json has the digest",
        {"six", "sqlparse"},
    ),
    "another end of the journal": (
        "nl2repobench",
        lock(lambda d: d["journal"].update(chain="0" * 32)),
        "verdicts.jsonl, line 4: the lines up to 4 are not those of which lock.json has the digest",
        EVERY,
    ),
    "called a bundle": (
        "nl2repobench",
        both(
            lock(lambda d: d.update(packed=True)),
            text(f"{SQL}/tests.jsonl", lambda w: w.replace('"failed"', '"passed"')),
        ),
        f"{SQL}/tests.jsonl: it was changed after",
        {"sqlparse"},
    ),
    "called mended": (
        "nl2repobench",
        both(line(2, score(461, 461)), called_mended),
        "verdicts.jsonl, line 2: it was changed",
        {"sqlparse"},
    ),
    "an end of the start": (
        "nl2repobench",
        lock(lambda d: d["starts"][0].update(pid=1)),
        "verdicts.jsonl, line 1: it was changed",
        EVERY,
    ),
    "another version in the lock": (
        "dibench",
        lock(lambda d: d["starts"][0].update(groundup="99")),
        "verdicts.jsonl, line 1: it was changed",
        {"a_one", "b_two", "c_three"},
    ),
    "a lock of a newer groundup": (
        "dibench",
        lock(lambda d: d.update(format=2)),
        "lock.json: it cannot be read: a newer groundup wrote it, in format 2",
        {"a_one", "b_two", "c_three"},
    ),
    "a test more that passed": (
        "earlier-nl2repobench",
        text(f"{SQL}/tests.jsonl", lambda w: w + w.splitlines()[0].replace("test_0", "test_x") + "\n"),
        f"{SQL}/tests.jsonl: 443 of its 462 tests passed, and the verdict counts 442 of 461",
        {"sqlparse"},
    ),
    "no line in the tests": (
        "nl2repobench",
        raw(f"{SQL}/tests.jsonl", lambda b: b""),
        f"{SQL}/tests.jsonl: it was changed after",
        {"sqlparse"},
    ),
    "tests of another task": (
        "repogenesis",
        copied_over("attempts/Chatroom/0/tests.jsonl", "attempts/eve/0/tests.jsonl"),
        "attempts/eve/0/tests.jsonl: it was changed after",
        {"eve"},
    ),
    "names of tests changed": (
        "nl2repobench",
        text(f"{SQL}/tests.jsonl", lambda w: w.replace('test_1"', 'test_2"')),
        f"{SQL}/tests.jsonl: it was changed after",
        {"sqlparse"},
    ),
    "a link for what was handed in": (
        "agent",
        link(f"{SQL}/submission", "/tmp"),
        f"{SQL}/submission: what was handed in is missing",
        {"sqlparse"},
    ),
    "a file for what was handed in": (
        "agent",
        into_file(f"{SQL}/submission"),
        f"{SQL}/submission: what was handed in is missing",
        {"sqlparse"},
    ),
    "another digest of the submission": (
        "dibench",
        text("attempts/a_one/0/submission.json", lambda w: w.replace("sha256:", "sha256:0", 1)),
        "attempts/a_one/0/submission.json: it names another submission than the verdict is on",
        {"a_one"},
    ),
    "the record of another task": (
        "nl2repobench",
        copied_over("attempts/six/0/submission.json", f"{SQL}/submission.json"),
        f"{SQL}/submission.json: it names another submission than the verdict is on",
        {"sqlparse"},
    ),
    "a link to another attempt": (
        "nl2repobench",
        link("attempts/six", "sqlparse"),
        "attempts/six/0/submission.json: it names another submission than the verdict is on",
        {"six"},
    ),
    "an attempt moved": (
        "nl2repobench",
        lambda run: (run / "attempts/six/0").rename(run / "attempts/six/1"),
        "attempts/six/0/submission.json: it is missing",
        {"six"},
    ),
    "a whole verdict in pieces": (
        "earlier-nl2repobench",
        halved("attempts/six/0/verdict.json"),
        "attempts/six/0/verdict.json: it is damaged",
        {"six"},
    ),
    "a link to nowhere for the lock": (
        "dibench",
        link("lock.json", "/nowhere"),
        "lock.json: it is missing",
        {"a_one", "b_two", "c_three"},
    ),
    "a device for the lock": (
        "dibench",
        link("lock.json", "/dev/zero"),
        "lock.json: it cannot be read: it is no regular file",
        {"a_one", "b_two", "c_three"},
    ),
}
"""A run, what is done to it, the first fault as it is named, and the tasks that have no score for it."""

REFUSED: dict[str, tuple[str, Edit, str]] = {
    "a link for the verdicts": (
        "dibench",
        link("verdicts.jsonl", "/dev/null"),
        "verdicts.jsonl cannot be read: it is no regular file",
    ),
    "a folder for the verdicts": (
        "dibench",
        into_folder("verdicts.jsonl"),
        "verdicts.jsonl cannot be read: it is a folder",
    ),
    "no configuration": ("dibench", removed("config.json"), "is not a run folder: it has no config.json"),
    "an empty configuration": (
        "dibench",
        raw("config.json", lambda b: b""),
        "config.json cannot be read: content: is not valid JSON",
    ),
    "half a configuration": (
        "dibench",
        halved("config.json"),
        "config.json cannot be read: content: is not valid JSON",
    ),
    "a folder for the configuration": (
        "dibench",
        into_folder("config.json"),
        "config.json cannot be read: it is a folder",
    ),
    "a pipe for the configuration": (
        "dibench",
        into_pipe("config.json"),
        "config.json cannot be read: it is no regular file",
    ),
    "a device for the configuration": (
        "dibench",
        link("config.json", "/dev/zero"),
        "config.json cannot be read: it is no regular file",
    ),
    "a link to itself": (
        "dibench",
        link("config.json", "config.json"),
        "config.json cannot be read: Too many levels of symbolic links",
    ),
    "a newer format": (
        "dibench",
        text("config.json", lambda w: w.replace('"format": 1', '"format": 2')),
        "config.json cannot be read: a newer groundup wrote it, in format 2; update groundup",
    ),
    "a configuration in UTF-16": (
        "dibench",
        raw("config.json", lambda b: b.decode().encode("utf-16")),
        "config.json cannot be read: content: is not valid JSON",
    ),
    "a digest changed": (
        "dibench",
        text("config.json", lambda w: w.replace('"digest": "sha256:', '"digest": "sha256:0')),
        "config.json was changed after the run began (its digest differs)",
    ),
    "a plan changed, and no digest": (
        "dibench",
        text("config.json", lambda w: w.replace('"c_three"', '"a_one"', 1)),
        "config.json was changed after the run began (its digest differs)",
    ),
    "a key too many": (
        "dibench",
        text("config.json", lambda w: w.replace('"format": 1', '"format": 1, "score": 1')),
        "config.json cannot be read: score: nothing is known by this name",
    ),
}
"""A run, what is done to it, and the end of the sentence by which everything refuses to read it."""
