"""Tests of groundup.inside.stopwatch: what counts as time that a guest had."""

import math
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.inside.stopwatch import PATIENCE, Reading, Stopwatch, idle_s, seen_s

CORES = 2.0


@dataclass
class Machine:
    """A machine with two processors and one guest, moved on by hand."""

    now: Reading = field(default_factory=lambda: Reading(0.0, 0.0, 0.0))

    def read(self) -> Reading:
        """Tell how things stand."""
        return self.now

    def run(self, seconds: float, own: float, others: float, owed: float = 0.0) -> None:
        """Let *seconds* pass in which guest and others used so many processors each."""
        idle, used = max(0.0, CORES - own - others), self.now
        assert used.idle_s is not None
        assert used.own_s is not None
        self.now = Reading(
            used.moment_s + seconds,
            used.idle_s + idle * seconds,
            used.own_s + own * seconds,
            used.owed_s + owed * seconds,
        )


def watched(machine: Machine, *parts: tuple[float, float, float], processors: float = 1.0) -> Stopwatch:
    """Return a stopwatch that was looked at after each of *parts*: seconds, own and others' processors."""
    stopwatch = Stopwatch(machine.read, processors)
    for seconds, own, others in parts:
        for _ in range(round(seconds / 0.5)):
            machine.run(0.5, own, others)
            stopwatch.passed_s()
    return stopwatch


@pytest.mark.parametrize(
    ("own", "others", "rate"),
    [
        (1.0, 0.0, 1.0),
        (1.0, 1.0, 1.0),
        (0.5, 1.5, 0.5),
        (0.05, 1.95, 0.05),
        (0.5, 0.5, 1.0),
    ],
    ids=["quiet", "half of the machine is others'", "shared fairly", "load 40", "waiting for a disk"],
)
def test_time_counts_as_far_as_processors_are_there(own: float, others: float, rate: float) -> None:
    """What is idle or the guest's own counts in full, what others take not at all."""
    stopwatch = watched(Machine(), (10.0, own, others))
    assert stopwatch.passed_s() == pytest.approx(10 * rate)
    assert stopwatch.starved_s() == pytest.approx(10 * (1 - rate))


def test_a_guest_cannot_stop_its_clock_by_its_own_work() -> None:
    """However many processes it starts, what they use is its own."""
    assert watched(Machine(), (10.0, 2.0, 0.0)).passed_s() == pytest.approx(10)
    assert watched(Machine(), (10.0, 2.0, 0.0), processors=2.0).passed_s() == pytest.approx(10)


def test_a_guest_that_waits_is_not_starved() -> None:
    """Who sleeps beside a busy machine loses two seconds, not the whole wait; who works again is starved again."""
    machine = Machine()
    assert watched(machine, (20.0, 0.0, 2.0)).passed_s() == pytest.approx(18.5)
    machine = Machine()
    assert watched(machine, (20.0, 0.0, 2.0), (10.0, 0.1, 1.9)).passed_s() == pytest.approx(18.5 + 1, abs=0.5)


def test_a_guest_whose_figures_come_late_is_seen_to_wait() -> None:
    """An ordinary user's guest has no processor time on record when its first command begins."""
    machine = Machine(Reading(0.0, 0.0, None))
    stopwatch = Stopwatch(machine.read)
    machine.now = Reading(0.5, 0.0, 0.3)
    for _ in range(40):
        stopwatch.passed_s()
        machine.run(0.5, 0.0, 2.0)
    assert stopwatch.passed_s() == pytest.approx(18.5, abs=0.5)


def test_what_groundup_owes_does_not_count() -> None:
    """While a package is fetched for it, only what the guest computes counts."""
    machine = Machine()
    stopwatch = Stopwatch(machine.read, 1.0)
    machine.run(10.0, 0.2, 0.0, owed=1.0)
    assert stopwatch.passed_s() == pytest.approx(2.0)
    machine.run(10.0, 0.2, 0.0, owed=0.5)
    assert stopwatch.passed_s() == pytest.approx(7.0)
    assert stopwatch.starved_s() == pytest.approx(0.0), "a machine that lay idle kept nothing from it"
    assert stopwatch.uncounted_s() == pytest.approx(13.0)
    assert stopwatch.asked_s() == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("own", "others", "starved"),
    [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 2.0, 0.0), (0.5, 1.5, 0.5), (0.05, 1.95, 0.95)],
    ids=["quiet", "one thread beside another", "waiting", "half of one", "load 40"],
)
def test_who_has_one_processor_is_not_starved(own: float, others: float, starved: float) -> None:
    """Who may use two, and has one thread, lacks nothing when somebody else uses the other."""
    stopwatch = watched(Machine(), (30.0, own, others), processors=2.0)
    assert stopwatch.starved_s() == pytest.approx(starved * 30.0, abs=2.5)


def test_no_one_waits_for_ever() -> None:
    """A starved guest has its limit so many times on the wall, and no more."""
    machine = Machine()
    stopwatch = Stopwatch(machine.read, 1.0)
    machine.run(PATIENCE * 10 - 1, 0.01, 1.99)
    assert stopwatch.left_s(10) == pytest.approx(1)
    machine.run(1.0, 0.01, 1.99)
    assert stopwatch.left_s(10) <= 0


def test_a_quota_counts_as_a_small_machine() -> None:
    """In a container that may use one processor, what others in it use is missing, however idle the host is."""
    at = [Reading(0.0, 0.0, 0.0), Reading(10.0, 600.0, 2.0, metered_s=10.0)]
    stopwatch = Stopwatch(lambda: at[0], 2.0, quota=1.0)
    at.pop(0)
    assert stopwatch.passed_s() == pytest.approx(2.0)


def test_without_figures_it_is_an_ordinary_clock() -> None:
    """Where the machine tells nothing, seconds are seconds."""
    at = [Reading(0.0), Reading(7.0)]
    stopwatch = Stopwatch(lambda: at[0])
    at.pop(0)
    assert stopwatch.passed_s() == 7.0


_PARTS = st.lists(
    st.tuples(st.floats(0.01, 5.0), st.floats(0, 2.0), st.floats(0, 2.0), st.floats(0, 1.0)), max_size=30
)


@given(parts=_PARTS, processors=st.sampled_from([0.5, 1.0, 2.0]))
def test_it_never_runs_backwards_nor_faster_than_the_wall(
    parts: list[tuple[float, float, float, float]], processors: float
) -> None:
    """Whatever happens, a look adds between what the guest used of its processors and what passed on the wall."""
    machine = Machine()
    stopwatch = Stopwatch(machine.read, processors)
    for seconds, own, others, owed in parts:
        before, wall_s = stopwatch.passed_s(), stopwatch.wall_s()
        machine.run(seconds, own, min(others, CORES - own), owed)
        added, passed_s = stopwatch.passed_s() - before, stopwatch.wall_s() - wall_s
        assert added <= passed_s + 1e-9
        assert added >= min(passed_s, own * passed_s / processors) - 1e-9
    assert math.isclose(stopwatch.passed_s() + stopwatch.uncounted_s(), stopwatch.wall_s(), abs_tol=1e-6)
    assert 0 <= stopwatch.starved_s() <= stopwatch.asked_s() + 1e-9
    assert stopwatch.asked_s() <= stopwatch.wall_s() + 1e-9


def test_processor_time_is_read_of_the_allowed_processors(tmp_path: Path) -> None:
    """Idle time is that of processors this process may use; what cannot be read is unknown."""
    stat = tmp_path / "stat"
    stat.write_text("cpu  9 9 9 9 9\n" + "".join(f"cpu{n} 1 2 3 400 50 6\n" for n in range(4096)) + "intr 1\n")
    value = idle_s(str(stat))
    assert value is not None
    assert value > 0
    assert idle_s(str(tmp_path / "absent")) is None
    used = seen_s()
    assert used is not None
    assert used > 0
