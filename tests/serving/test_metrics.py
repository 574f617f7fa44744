"""Numbers and events of a server, to the letter."""

import json
from typing import cast

import pytest

from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.serving.metrics import Log, Metrics, Watching
from groundup.serving.session import Session


def test_numbers_are_as_prometheus_reads_them() -> None:
    """Gauges as they are now, counters by their labels, histograms with their bounds, which belong below."""
    metrics = Metrics({"open": lambda: 2})
    metrics.gauge("waiting", lambda: 0.5)
    for how in ("b", "a", 'x"\\\n'):
        metrics.count("calls", tool="bash", how=how)
    metrics.count("calls", tool="bash", how="a")
    metrics.count("ends")
    for reward in (0.0, 0.25, 0.26, 1.0):
        metrics.rewarded(reward)
    assert metrics.text().splitlines() == [
        "# TYPE groundup_open gauge",
        "groundup_open 2",
        "# TYPE groundup_waiting gauge",
        "groundup_waiting 0.5",
        "# TYPE groundup_calls_total counter",
        'groundup_calls_total{how="a",tool="bash"} 2',
        'groundup_calls_total{how="b",tool="bash"} 1',
        'groundup_calls_total{how="x\\"\\\\ ",tool="bash"} 1',
        "# TYPE groundup_ends_total counter",
        "groundup_ends_total 1",
        "# TYPE groundup_reward histogram",
        'groundup_reward_bucket{le="0"} 1',
        'groundup_reward_bucket{le="0.25"} 2',
        'groundup_reward_bucket{le="0.5"} 3',
        'groundup_reward_bucket{le="0.75"} 3',
        'groundup_reward_bucket{le="0.999"} 3',
        'groundup_reward_bucket{le="1"} 4',
        'groundup_reward_bucket{le="+Inf"} 4',
        "groundup_reward_sum 1.510000",
        "groundup_reward_count 4",
    ]


def test_times_have_bounds_from_a_moment_to_an_hour() -> None:
    """Each kind apart."""
    metrics = Metrics()
    metrics.took("call_seconds", 0.01, tool="b")
    metrics.took("call_seconds", 3600.5, tool="b")
    metrics.took("call_seconds", 5, tool="a")
    counts = [line.rpartition(" ")[2] for line in metrics.text().splitlines() if 'tool="b"' in line]
    assert counts == ["1"] * 9 + ["2", "3600.510000", "2"]
    assert metrics.text().splitlines()[1] == 'groundup_call_seconds_bucket{tool="a",le="0.01"} 0'


def test_events_leave_out_what_is_not_known() -> None:
    """One line of JSON each, in letters that any terminal has."""
    lines: list[str] = []
    Log(lines.append).event("opened", session="ä", client=None, seconds=0.0)
    assert lines[0].isascii()
    event = json.loads(lines[0])
    assert event.pop("at").endswith("+00:00")
    assert event == {"event": "opened", "session": "ä", "seconds": 0.0}


class Seen:
    """What a session is for who watches it."""

    name = "n" * 50
    client = "token-1"
    task = Task(id="a", suite="toy", instruction="")

    def __init__(self, key: str | None, *, finished: bool = False) -> None:
        self.key = key
        self.finished = finished


def test_what_happens_in_sessions_is_counted_and_told() -> None:
    """Names are cut; before an episode is open the task stands for the attempt; an end has one of three kinds."""
    metrics, lines = Metrics(), list[str]()
    watch = Watching(metrics, Log(lines.append))
    opened, waiting, done = (cast("Session", one) for one in (Seen("a/0"), Seen(None), Seen("a/1", finished=True)))
    grader = GraderIdentity(name="strict", version="1")
    watch.opened(opened, 0.12345)
    watch.called(opened, "bash", "answered", 2.00049)
    half = Score(numerator=1, denominator=2)
    watch.graded(done, Verdict(status=Status.GRADED, score=half, grader=grader))
    watch.graded(done, Verdict(status=Status.INFRASTRUCTURE, score=None, grader=grader))
    for session in (opened, waiting, done):
        watch.ended(session, "its client was silent")
    told = [{key: value for key, value in json.loads(line).items() if key != "at"} for line in lines]
    assert {one.pop("session") for one in told} == {"n" * 40}
    assert {one.pop("client") for one in told} == {"token-1"}
    assert told == [
        {"event": "opened", "attempt": "a/0", "seconds": 0.123},
        {"event": "called", "attempt": "a/0", "tool": "bash", "how": "answered", "seconds": 2.0},
        {"event": "graded", "attempt": "a/1", "status": "graded", "score": 0.5},
        {"event": "graded", "attempt": "a/1", "status": "infrastructure"},
        {"event": "ended", "attempt": "a/0", "how": "its client was silent"},
        {"event": "ended", "attempt": "a", "how": "its client was silent"},
        {"event": "ended", "attempt": "a/1", "how": "finished"},
    ]
    text = metrics.text()
    for line in (
        'groundup_calls_total{how="answered",tool="bash"} 1',
        'groundup_sessions_total{how="finished"} 1',
        'groundup_sessions_total{how="left"} 1',
        'groundup_sessions_total{how="waited"} 1',
        "groundup_opening_seconds_count 1",
        'groundup_call_seconds_count{tool="bash"} 1',
        "groundup_reward_count 1",
    ):
        assert f"{line}\n" in text


def test_events_go_to_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each, where nobody else takes them."""
    Log().event("stopped")
    out, err = capsys.readouterr()
    assert (out, json.loads(err)["event"], err[-1]) == ("", "stopped", "\n")
