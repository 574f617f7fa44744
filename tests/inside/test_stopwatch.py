"""Tests of groundup.inside.stopwatch: what counts as time that a guest had."""

import math
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.inside.stopwatch import PATIENCE, PERIOD_S, Reading, RunQueue, Stopwatch, idle_s, seen_s

CORES = 2.0


@dataclass
class Machine:
    """A machine with two processors and one guest, moved on by hand."""

    now: Reading = field(default_factory=lambda: Reading(0.0, 0.0, 0.0))

    def read(self) -> Reading:
        """Tell how things stand."""
        return self.now

    def run(
        self, seconds: float, own: float, others: float, owed: float = 0.0, queued: float | None = None
    ) -> None:
        """Let *seconds* pass in which guest and others used so many processors each."""
        idle, used = max(0.0, CORES - own - others), self.now
        assert used.idle_s is not None
        assert used.own_s is not None
        self.now = Reading(
            used.moment_s + seconds,
            used.idle_s + idle * seconds,
            used.own_s + own * seconds,
            used.owed_s + owed * seconds,
            queued_s=None if queued is None else (used.queued_s or 0.0) + queued * seconds,
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


@pytest.mark.parametrize(
    ("own", "others", "queued", "rate"),
    [
        (0.0, 2.0, 0.0, 1.0),
        (0.05, 1.95, 0.95, 0.05),
        (0.05, 1.95, 0.2, 0.8),
        (0.05, 0.0, 0.9, 1.0),
        (1.0, 1.0, 0.9, 1.0),
    ],
    ids=["sleeper", "starved", "starved now and then", "in the queue of an idle machine", "in its own way"],
)
def test_only_time_in_the_run_queue_is_excused(own: float, others: float, queued: float, rate: float) -> None:
    """What others take is left out as far as the guest stood in line for it, from the first moment on."""
    machine = Machine(Reading(0.0, 0.0, 0.0, queued_s=0.0))
    stopwatch = Stopwatch(machine.read)
    for _ in range(40):
        machine.run(0.5, own, others, queued=queued)
        stopwatch.passed_s()
    assert stopwatch.passed_s() == pytest.approx(20 * rate, abs=0.01)
    assert stopwatch.starved_s() == pytest.approx(20 * (1 - rate), abs=0.01)


class Kernel:
    """A folder like /proc, with threads whose figures are written by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now_s = folder, 100.0
        self.threads: tuple[str, ...] = ("1",)
        self.queue = RunQueue(str(folder), lambda: self.now_s)

    def waited_s(self, own_s: float) -> float | None:
        """Look at the threads that there are."""
        return self.queue.waited_s(own_s, self.threads)

    def says(self, thread: str, ran_s: float, waited_s: float) -> None:
        """Write what a thread had."""
        (self.folder / thread).mkdir(exist_ok=True)
        (self.folder / thread / "schedstat").write_text(f"{ran_s * 1e9:.0f} {waited_s * 1e9:.0f} 7\n")


def test_waiting_of_threads_adds_up_and_stays(tmp_path: Path) -> None:
    """Of those that began and of those that ended; without figures of the kernel nothing is known."""
    kernel = Kernel(tmp_path)
    assert kernel.waited_s(0.0) is None
    kernel.says("1", 1.0, 2.0)
    assert kernel.waited_s(1.0) == pytest.approx(2.0)
    kernel.threads = ("1", "2")
    kernel.says("2", 0.5, 0.25)
    assert kernel.waited_s(1.5) == pytest.approx(2.25)
    kernel.threads = ("1",)
    assert kernel.waited_s(1.5) == pytest.approx(2.25)


def test_what_groundup_starts_beside_a_guest_waits_for_nobody(tmp_path: Path) -> None:
    """Its own looks are starved, too, and that excuses no sleeper."""
    kernel = Kernel(tmp_path)
    kernel.says("1", 0.0, 0.0)
    kernel.waited_s(0.0)
    kernel.queue.is_ours = True
    kernel.says("1", 0.1, 3.0)
    assert kernel.waited_s(0.1) == 0
    kernel.queue.is_ours = False
    kernel.says("1", 0.1, 3.5)
    assert kernel.waited_s(0.1) == pytest.approx(0.5)


def test_threads_that_nobody_saw_count_as_starved(tmp_path: Path) -> None:
    """A chain of short commands leaves no figures, only processor time that none of the seen ones used."""
    kernel = Kernel(tmp_path)
    kernel.says("1", 0.0, 0.0)
    kernel.waited_s(0.0)
    for own_s in (0.1, 0.2, 0.3):
        kernel.now_s += PERIOD_S
        waited_s = kernel.waited_s(own_s)
    assert waited_s == pytest.approx(3 * PERIOD_S)
    for _ in range(3):
        kernel.now_s += PERIOD_S
        waited_s = kernel.waited_s(0.3)
    assert waited_s == pytest.approx(3 * PERIOD_S)


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
