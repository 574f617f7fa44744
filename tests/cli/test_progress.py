"""What people see while a run goes on."""

from datetime import UTC, datetime, timedelta

import pytest

from groundup.cli.console import unfinished_words
from groundup.cli.progress import Writing, _plain, _troubles, duration, standing_words, words
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.runs.progress import (
    AttemptAt,
    AttemptBegan,
    AttemptEnded,
    AttemptSays,
    FleetStanding,
    RunBegan,
    RunEnded,
    Standing,
    Warned,
)
from groundup.store.records import VerdictLine

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = Standing(
    total=10,
    settled=5,
    running=2,
    graded=3,
    tampered=1,
    not_attempted=1,
    infrastructure=1,
    solved=1,
    mean=0.4,
    lost={"test": 0.75, "import": 0.25},
    left_s=1234.0,
)


def ended(status: Status, score: Score | None, reason: Reason | None, *, again: bool = False) -> AttemptEnded:
    """Return the event of an attempt that took two seconds."""
    verdict = Verdict(
        status=status,
        score=score,
        reasons=(reason,) if reason else (),
        grader=GraderIdentity(name="strict", version="1"),
    )
    line = VerdictLine(
        attempt=AttemptKey(task="a"),
        outcome=Outcome.SUBMITTED,
        submission=None,
        verdict=verdict,
        started_at=BEGAN,
        finished_at=BEGAN + timedelta(seconds=2),
    )
    return AttemptEnded(line=line, again=again, standing=NOW)


def test_the_standing_says_done_running_failed_by_kind_and_the_time_left() -> None:
    """One line is enough to know whether to wait."""
    assert standing_words(NOW) == (
        "5/10 done, 2 running, 1 solved, mean 40.0 %, 1 infrastructure, 1 tampered, 1 not attempted, "
        "points lost at test (75 %), import (25 %), about 21 min left"
    )


def test_every_event_is_one_line() -> None:
    """Plain lines and the log file use the same words."""
    assert (
        words(RunBegan(run_id="r", folder="runs/r", standing=NOW)) == "run r: 10 attempts, 5 of them done before"
    )
    assert "10 attempts, 3 of them without a prediction, which count 0" in words(
        RunBegan(run_id="r", folder="runs/r", standing=NOW, nothing_for=3)
    )
    assert words(Warned(message="the cache is full")) == "warning: the cache is full"
    assert words(RunEnded(standing=NOW, interrupted=True)).startswith("interrupted: 5/10 done")
    graded = ended(
        Status.GRADED, Score(numerator=3, denominator=4), Reason(stage=Stage.TEST, message="one failed")
    )
    assert words(graded) == "[5/10] a/0 graded 3/4 (test: one failed) in 2.0 s"
    failed = ended(Status.INFRASTRUCTURE, None, Reason(stage=Stage.ENVIRONMENT, message="no net"), again=True)
    assert words(failed) == "[5/10] a/0 infrastructure (environment: no net) in 2.0 s; will be tried again"


def test_a_verdict_that_was_given_twice_says_so() -> None:
    """Its time has a wait for a quieter machine in it, which would be a riddle."""
    event = ended(Status.GRADED, Score(numerator=1, denominator=1), None)
    assert event.line.verdict is not None
    twice = event.line.verdict.but(facts={"graded_twice": True})
    line = event.line.but(verdict=twice)

    assert words(event).endswith(" in 2.0 s")
    assert words(event.but(line=line)).endswith(" in 2.0 s for two gradings, the second alone")
    assert words(event.but(line=line.but(cached=True))).endswith(", cached")


def test_times_are_said_as_people_say_them() -> None:
    """Seconds, minutes, hours."""
    assert [duration(seconds) for seconds in (5, 99, 150, 7200)] == ["5 s", "99 s", "2 min", "2 h 0 min"]


def test_a_fleet_s_standing_is_part_of_a_run_s() -> None:
    """Nodes, slots, what they work on, what waits for them, and layers; no word of layers where there is none."""
    there = FleetStanding(nodes=3, slots=6, grading=5, waiting=2, layers=0)
    text = "3 nodes with 6 slots, 5 at work, 2 waiting there"
    assert text + ", about" in standing_words(NOW.but(fleet=there))
    there = there.but(layers=4, arriving=1)
    assert f"{text}, 4 layers from node to node, 1 on their way" in standing_words(NOW.but(fleet=there))


def test_the_same_failure_of_the_infrastructure_is_told_once() -> None:
    """Each try says that it failed; why is said again only where it is another reason."""
    lines: list[str] = []
    tell = _plain(lines.append, verbose=False)
    for message in ("no net", "no net", "disk full"):
        tell(ended(Status.INFRASTRUCTURE, None, Reason(stage=Stage.ENVIRONMENT, message=message), again=True))
    assert [line.partition("(")[2].partition(")")[0] for line in lines] == [
        "environment: no net",
        "environment: as before",
        "environment: disk full",
    ]


def test_the_live_line_has_the_end_of_what_the_newest_model_writes() -> None:
    """On one line, without what would move a terminal's cursor; when none writes any more there is none."""
    writing = Writing()
    writing.hear(AttemptSays(attempt=AttemptKey(task="a"), text="def f():\n    return 1"))
    writing.hear(AttemptSays(attempt=AttemptKey(task="b", index=1), text="x" * 100 + "\x1b[2J end"))
    assert writing.words().startswith("\nb/1 writes: ...xxx")
    assert writing.words().endswith(" end")
    assert "\x1b" not in writing.words()
    writing.hear(AttemptSays(attempt=AttemptKey(task="b", index=1), text=""))
    assert writing.words() == "\na/0 writes: ...def f(): return 1"
    writing.hear(AttemptSays(attempt=AttemptKey(task="a"), text=""))
    assert writing.words() == ""


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (99.9, "100 s"), (100, "2 min"), (5969, "99 min"), (5970, "1 h 40 min"), (7170, "2 h 0 min")],
)
def test_a_time_changes_its_unit_at_a_hundred(seconds: float, told: str) -> None:
    """Whichever unit it is in, it has at most two digits and a little."""
    assert duration(seconds) == told


def test_what_is_not_known_of_a_run_is_not_told() -> None:
    """No mean before a verdict, no kinds of which there are none, and no time left at the end."""
    bare = Standing(
        total=2, settled=0, running=0, graded=0, tampered=0, not_attempted=0, infrastructure=0, solved=0
    )
    assert standing_words(bare) == "0/2 done, 0 running"
    assert standing_words(bare.but(made=1, mean=0.0)) == "0/2 done, 1 made, 0 running, 0 solved, mean 0.0 %"
    assert standing_words(bare.but(left_s=0.0)) == "0/2 done, 0 running, about 0 s left"
    assert standing_words(bare.but(settled=2, left_s=9.0)) == "2/2 done, 0 running"


def test_what_an_attempt_does_and_made_is_one_line() -> None:
    """With what it took, as far as that is known."""
    key = AttemptKey(task="a")
    assert words(AttemptBegan(attempt=key, standing=NOW)) == "a/0 began"
    assert words(AttemptAt(attempt=key, step="at work")) == "a/0: at work"
    assert words(AttemptSays(attempt=key, text="hm")) == "a/0 writes: hm"
    assert words(RunEnded(standing=NOW, interrupted=False)).startswith("ended: 5/10 done")
    assert "left" not in words(RunEnded(standing=NOW, interrupted=False))
    assert words(RunBegan(run_id="r", folder="runs/r", standing=NOW.but(settled=0, total=1))) == "run r: 1 attempt"


def test_without_a_verdict_an_attempt_is_told_where_all_is() -> None:
    """Usually nobody wants to read of each that was not attempted, or began."""
    made = ended(Status.GRADED, None, None)
    absent = made.but(line=made.line.but(verdict=None))
    for verbose, told in ((False, []), (True, ["a/0 began", "[5/10] a/0 not attempted"])):
        lines: list[str] = []
        tell = _plain(lines.append, verbose=verbose)
        tell(AttemptBegan(attempt=AttemptKey(task="a"), standing=NOW))
        tell(absent)
        assert lines == told


def test_troubles_are_warnings_and_causes_of_lacking_verdicts_each_once() -> None:
    """Of a try that is followed by another nothing is told; of one cause the first attempt is."""
    lines: list[str] = []
    tell = _troubles(lines.append)
    broken = ended(Status.INFRASTRUCTURE, None, Reason(stage=Stage.ENVIRONMENT, message="no net"))
    tell(Warned(message="slow"))
    tell(broken.but(again=True))
    tell(ended(Status.GRADED, Score(numerator=0, denominator=1), None))
    tell(broken)
    tell(broken.but(line=broken.line.but(attempt=AttemptKey(task="b"))))
    assert lines == ["warning: slow", "[5/10] a/0 infrastructure (environment: no net) in 2.0 s"]


def test_attempts_without_a_verdict_are_counted() -> None:
    """With the command that finishes them, where one does."""
    assert unfinished_words(1, None) == "1 attempt has no verdict"
    assert unfinished_words(2, "groundup resume r") == (
        "2 attempts have no verdict; finish with `groundup resume r`"
    )
