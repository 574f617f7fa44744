"""Numbers and events of a server, to the letter."""

import json

from groundup.serving.metrics import Log, Metrics


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
